// SPDX-License-Identifier: MIT
// The rules of a credential: each is explained as it is typed, and the person can ask what they permit.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { checkRule, permitsEverything, readTarget, whyNot } from "../../model/acl";
import { judgeGrants } from "../../model/grants";
import { ErrorBox } from "../../parts/error";
import { Field } from "../../parts/field";
import { Value } from "../../parts/value";
import { type Key, t, tn } from "../../text";
import { explain, faultText, reasonText, rulesOf } from "./rules";
import { CredentialLinks, type SameKey } from "./same_key";

function Explained({ rules }: { rules: string[] }): JSX.Element {
    if (rules.length === 0) {
        return <p class="rules warning">{t("acl.no_rule")}</p>;
    }
    return (
        <ul class="rules" aria-live="polite">
            {rules.map((rule, n) => {
                const reading = checkRule(rule);
                return (
                    <li key={n} class={"fault" in reading ? "fault" : ""}>
                        <code>
                            <Value text={rule} />
                        </code>{" "}
                        <Value text={"fault" in reading ? faultText(reading.fault) : explain(reading.target)} />
                    </li>
                );
            })}
        </ul>
    );
}

interface Asked {
    // The rules as they are typed.
    rules: string[];
    // As they are stored; null: the credential does not exist yet.
    stored: string[] | null;
    same: SameKey;
}

// "yes", "no" or "unknown", and why.
function answer({ rules, stored, same }: Asked, target: string): [string, string] {
    const asked = readTarget(target);
    if ("fault" in asked) {
        return ["unknown", target + " " + faultText(asked.fault)];
    }
    const { own, others } = judgeGrants(rules, same.others, target);
    if (own?.isPermitted) {
        return ["yes", own.rule === null ? t("acl.yes_no_rule") : t("acl.yes", { rule: own.rule })];
    }
    if (others.length > 0) {
        return ["yes", tn("acl.only_others", others.length)];
    }
    // A new credential may have no key yet.
    if (!same.isWhole && (same.filter || stored)) {
        return ["unknown", same.filter ? t("acl.others_unread") : t("acl.others_unknown")];
    }
    const no = same.others.length > 0 ? tn("acl.no_others", same.others.length) : t("acl.no");
    return ["no", `${no} ${reasonText(whyNot(rules, target))}`.trim()];
}

// What holds as long as the rules are not saved, if that is another answer.
function untilSaved({ rules, stored, same }: Asked, target: string): Key | null {
    if (!same.isWhole || (!stored && same.others.length === 0)) {
        return null;
    }
    const now = judgeGrants(stored, same.others, target).isPermitted;
    return now === judgeGrants(rules, same.others, target).isPermitted
        ? null
        : now
          ? "acl.until_saved_yes"
          : "acl.until_saved_no";
}

function Answer({ target, ...asked }: Asked & { target: string }): JSX.Element {
    const [kind, words] = target ? answer(asked, target) : ["", ""];
    const { own, others } = judgeGrants(asked.rules, kind === "yes" ? asked.same.others : [], target);
    const box = useRef<HTMLDivElement>(null);
    // While it is asked, it stays in sight.
    useEffect(() => {
        const field = box.current?.parentElement?.querySelector(".ask input");
        if (target && field === document.activeElement) {
            box.current?.scrollIntoView({ block: "nearest" });
        }
    }, [target, words, others.length]);
    const until = kind && kind !== "unknown" ? untilSaved(asked, target) : null;
    return (
        <div class="answer-box" role="status" ref={box}>
            <p class={"answer " + kind}>
                <Value text={words} />
            </p>
            {others.length > 0 && (
                <div class="also">
                    {own?.isPermitted && <p>{tn("acl.also", others.length)}</p>}
                    <CredentialLinks
                        credentials={others.map((one) => one.grant)}
                        rules={others.map((one) => one.rule)}
                        filter={asked.same.filter}
                    />
                </div>
            )}
            {until && <p class="until">{t(until)}</p>}
        </div>
    );
}

interface Properties {
    text: string;
    setText(text: string): void;
    fault: string;
    stored: string[] | null;
    same: SameKey;
}

export function AclEditor(given: Properties): JSX.Element {
    const [asked, setAsked] = useState("");
    const rules = rulesOf(given.text);
    return (
        <fieldset class="acl-editor">
            <legend>{t("acl.title")}</legend>
            <Field
                label={t("credentials.acl")}
                hint={t("credentials.acl_hint")}
                fault={given.fault}
                rows={4}
                text={given.text}
                setText={given.setText}
                class="acl"
            />
            <Explained rules={rules} />
            {rules.length > 1 && permitsEverything(rules) && <p class="warning">{t("acl.others_idle")}</p>}
            <Field label={t("acl.ask")} hint={t("acl.ask_hint")} text={asked} setText={setAsked} class="ask" isQuestion />
            <Answer rules={rules} stored={given.stored} same={given.same} target={asked.trim()} />
            <ErrorBox error={given.same.error} again={given.same.again} isAside />
        </fieldset>
    );
}
