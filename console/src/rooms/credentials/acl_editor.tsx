// SPDX-License-Identifier: MIT
// The rules of a credential: each is explained as it is typed, and the person can ask what they permit.
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { judge, permitsEverything, readRule, readTarget } from "../../model/acl";
import { Field } from "../../parts/field";
import { Value } from "../../parts/value";
import { t } from "../../text";
import { explain, faultText, rulesOf } from "./rules";

function Explained({ rules }: { rules: string[] }): JSX.Element {
    if (rules.length === 0) {
        return <p class="rules warning">{t("acl.no_rule")}</p>;
    }
    return (
        <ul class="rules" aria-live="polite">
            {rules.map((rule, n) => {
                const reading = readRule(rule);
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

function answer(rules: string[], target: string): [string, string] {
    const { isPermitted, rule } = judge(rules, target);
    const asked = readTarget(target);
    if ("fault" in asked) {
        return ["unknown", target + " " + faultText(asked.fault)];
    }
    if (!isPermitted) {
        return ["no", t("acl.no")];
    }
    return ["yes", rule === null ? t("acl.yes_no_rule") : t("acl.yes", { rule })];
}

export function AclEditor(given: { text: string; setText(text: string): void; fault: string }): JSX.Element {
    const [asked, setAsked] = useState("");
    const id = useId();
    const rules = rulesOf(given.text);
    const target = asked.trim();
    const [kind, words] = target ? answer(rules, target) : ["", ""];
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
            <p class={"answer " + kind} id={id} role="status">
                <Value text={words} />
            </p>
        </fieldset>
    );
}
