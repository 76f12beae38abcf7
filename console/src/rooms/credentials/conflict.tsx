// SPDX-License-Identifier: MIT
// Somebody else changed the credential since it was read.  Each choice only fills the form: the person
// sees the result before it is saved.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { mergeRules, mergeText } from "../../model/merge";
import { Value } from "../../parts/value";
import { type Key, t } from "../../text";
import { rulesOf } from "./rules";

// What can be changed, as the form has it.
export interface Form {
    description: string;
    metadata: string;
    acl: string;
}

const MEMBERS: [keyof Form, Key][] = [
    ["description", "credentials.description"],
    ["acl", "credentials.acl"],
    ["metadata", "credentials.metadata"],
];

interface Properties {
    before: Form;
    theirs: Form;
    yours: Form;
    choose(form: Form): void;
}

function both({ before, theirs, yours }: Properties): Form {
    return {
        description: mergeText(before.description, theirs.description, yours.description, " / "),
        metadata: mergeText(before.metadata, theirs.metadata, yours.metadata, "\n"),
        acl: mergeRules(rulesOf(before.acl), rulesOf(theirs.acl), rulesOf(yours.acl)).join("\n"),
    };
}

export function Conflict(given: Properties): JSX.Element {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        dialog.current?.showModal();
    }, []);
    const { theirs, yours } = given;
    return (
        <dialog class="conflict" ref={dialog} aria-labelledby="conflict" onCancel={(event) => event.preventDefault()}>
            <h2 id="conflict">{t("conflict.title")}</h2>
            <p>{t("conflict.about")}</p>
            <table>
                <thead>
                    <tr>
                        <td />
                        <th scope="col">{t("conflict.theirs")}</th>
                        <th scope="col">{t("conflict.yours")}</th>
                    </tr>
                </thead>
                <tbody>
                    {MEMBERS.filter(([name]) => theirs[name] !== yours[name]).map(([name, title]) => (
                        <tr key={name}>
                            <th scope="row">{t(title)}</th>
                            <td class="given">
                                <Value text={theirs[name]} />
                            </td>
                            <td class="given">
                                <Value text={yours[name]} />
                            </td>
                        </tr>
                    ))}
                </tbody>
            </table>
            <div class="actions">
                <button type="button" class="take-theirs" onClick={() => given.choose(theirs)}>
                    {t("conflict.take_theirs")}
                </button>
                <button type="button" class="take-yours" onClick={() => given.choose(yours)}>
                    {t("conflict.take_yours")}
                </button>
                <button type="button" class="take-both" onClick={() => given.choose(both(given))}>
                    {t("conflict.take_both")}
                </button>
            </div>
        </dialog>
    );
}
