// SPDX-License-Identifier: MIT
// Somebody else changed the resource since it was read, or made it first.  Each choice only fills the
// form: the person sees the result before it is saved.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import type { AuditEvent } from "../api/types";
import { quote } from "../model/filter";
import { session } from "../session";
import { type Key, dateTime, t } from "../text";
import { Value } from "./value";

// A member in words: as it was read, and as both have it.
export interface Difference {
    name: string;
    title: string;
    before: string;
    theirs: string;
    yours: string;
}

export type Choice = "theirs" | "yours" | "both";

interface Properties {
    // Its identifier in events.
    resource: string;
    members: Difference[];
    // They made it, where the person wants to.
    isNew?: boolean;
    choose(choice: Choice): void;
    cancel(): void;
}

// Who changed it last, as far as the key may read that.
function useMaker(resource: string): string {
    const [maker, setMaker] = useState("");
    const isAdmin = session.state.get().rights?.isAdmin;
    useEffect(() => {
        if (isAdmin) {
            const query = { filter: `obj.resource.id == ${quote(resource)}`, limit: "1" };
            call<{ audit_events: AuditEvent[] }>("GET", "audit_events", { query }).then(
                ({
                    value: {
                        audit_events: [event],
                    },
                }) => {
                    const who = event?.principal?.id ?? event?.operator;
                    setMaker(event && who ? t("conflict.maker", { who, time: dateTime(event.created_at) }) : "");
                },
                // The dialog works without it.
                () => setMaker(""),
            );
        }
    }, [resource]);
    return maker;
}

function changerOf({ before, theirs, yours }: Difference): Key {
    return theirs === before ? "conflict.changed_yours" : yours === before ? "conflict.changed_theirs" : "conflict.changed_both";
}

const CHOICES: [Choice, Key, Key, Key, Key][] = [
    ["theirs", "conflict.take_theirs", "conflict.about_theirs", "conflict.open_theirs", "conflict.about_open"],
    ["yours", "conflict.take_yours", "conflict.about_yours", "conflict.replace", "conflict.about_replace"],
    ["both", "conflict.take_both", "conflict.about_both", "conflict.take_both", "conflict.about_both_new"],
];

export function Conflict(given: Properties): JSX.Element {
    const dialog = useRef<HTMLDialogElement>(null);
    const maker = useMaker(given.resource);
    useEffect(() => {
        dialog.current?.showModal();
        // Enter chooses nothing that was not read.
        dialog.current?.querySelector("h2")?.focus();
    }, []);
    const differing = given.members.filter((member) => member.theirs !== member.yours);
    return (
        <dialog
            class="conflict"
            ref={dialog}
            aria-labelledby="conflict"
            onCancel={(event) => {
                event.preventDefault();
                given.cancel();
            }}
        >
            <h2 id="conflict" tabIndex={-1}>
                {t(given.isNew ? "conflict.exists" : "conflict.title")}
            </h2>
            <p>{t(given.isNew ? "conflict.about_exists" : "conflict.about")}</p>
            {maker && (
                <p class="maker">
                    <Value text={maker} />
                </p>
            )}
            {differing.length === 0 ? (
                <p class="same">{t("conflict.same")}</p>
            ) : (
                <table>
                    <thead>
                        <tr>
                            <td />
                            <th scope="col">{t("conflict.theirs")}</th>
                            <th scope="col">{t("conflict.yours")}</th>
                        </tr>
                    </thead>
                    <tbody>
                        {differing.map((member) => (
                            <tr key={member.name}>
                                <th scope="row">
                                    {member.title}
                                    {!given.isNew && <span class="small changer">{t(changerOf(member))}</span>}
                                </th>
                                <td class="given" data-title={t("conflict.theirs")}>
                                    {member.theirs ? (
                                        <Value text={member.theirs} />
                                    ) : (
                                        <span class="small">{t("conflict.empty")}</span>
                                    )}
                                </td>
                                <td class="given" data-title={t("conflict.yours")}>
                                    {member.yours ? (
                                        <Value text={member.yours} />
                                    ) : (
                                        <span class="small">{t("conflict.empty")}</span>
                                    )}
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            )}
            <dl class="choices">
                {CHOICES.map(([choice, label, about, newLabel, newAbout]) => (
                    <div key={choice}>
                        <dt>
                            <button
                                type="button"
                                class={"take-" + choice}
                                aria-describedby={"about-" + choice}
                                onClick={() => given.choose(choice)}
                            >
                                {t(given.isNew ? newLabel : label)}
                            </button>
                        </dt>
                        <dd class="small" id={"about-" + choice}>
                            {t(given.isNew ? newAbout : about)}
                        </dd>
                    </div>
                ))}
                <div>
                    <dt>
                        <button type="button" class="cancel" aria-describedby="about-cancel" onClick={given.cancel}>
                            {t("form.cancel")}
                        </button>
                    </dt>
                    <dd class="small" id="about-cancel">
                        {t("conflict.about_cancel")}
                    </dd>
                </div>
            </dl>
        </dialog>
    );
}
