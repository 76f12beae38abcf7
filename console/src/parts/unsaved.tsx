// SPDX-License-Identifier: MIT
// Which forms have changes that are not saved, and the question before these are discarded.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { unsaved } from "../draft";
import { link } from "../router";
import { session } from "../session";
import { t } from "../text";
import { useSyncedValue } from "../value";
import { Value } from "./value";

// open is the name of the view's draft.
export function UnsavedBar({ open }: { open: string }): JSX.Element {
    const all = useSyncedValue(unsaved);
    const others = all.filter((one) => one.name !== open);
    return (
        <div class="unsaved" role="status">
            {others.length < all.length && <p class="here">{t("unsaved.here")}</p>}
            {others.length > 0 && (
                <p>
                    {t("unsaved.others")}
                    {others.map(({ name, title }) => (
                        <a key={name} href={link(name.split("/"))}>
                            <Value text={title} />
                        </a>
                    ))}
                </p>
            )}
        </div>
    );
}

// Asks before signing out.
export function Leave({ stay }: { stay(): void }): JSX.Element {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        dialog.current?.showModal();
    }, []);
    return (
        <dialog class="leave" ref={dialog} aria-labelledby="leave" onClose={stay}>
            <h2 id="leave">{t("unsaved.title")}</h2>
            <p>{t("unsaved.about")}</p>
            <ul>
                {unsaved.get().map(({ name, title }) => (
                    <li key={name}>
                        <Value text={title} />
                    </li>
                ))}
            </ul>
            <div class="actions">
                <button type="button" class="stay" onClick={stay}>
                    {t("unsaved.stay")}
                </button>
                <button type="button" class="discard" onClick={session.end}>
                    {t("unsaved.leave")}
                </button>
            </div>
        </dialog>
    );
}
