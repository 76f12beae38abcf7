// SPDX-License-Identifier: MIT
// Somebody else changed the resource since it was read.  Each choice only fills the form: the person
// sees the result before it is saved.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../text";
import { Value } from "./value";

// A member as both have it, in words.
export interface Difference {
    name: string;
    title: string;
    theirs: string;
    yours: string;
}

export type Choice = "theirs" | "yours" | "both";

export function Conflict(given: { members: Difference[]; choose(choice: Choice): void }): JSX.Element {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        dialog.current?.showModal();
    }, []);
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
                    {given.members
                        .filter((member) => member.theirs !== member.yours)
                        .map((member) => (
                            <tr key={member.name}>
                                <th scope="row">{member.title}</th>
                                <td class="given">
                                    <Value text={member.theirs} />
                                </td>
                                <td class="given">
                                    <Value text={member.yours} />
                                </td>
                            </tr>
                        ))}
                </tbody>
            </table>
            <div class="actions">
                <button type="button" class="take-theirs" onClick={() => given.choose("theirs")}>
                    {t("conflict.take_theirs")}
                </button>
                <button type="button" class="take-yours" onClick={() => given.choose("yours")}>
                    {t("conflict.take_yours")}
                </button>
                <button type="button" class="take-both" onClick={() => given.choose("both")}>
                    {t("conflict.take_both")}
                </button>
            </div>
        </dialog>
    );
}
