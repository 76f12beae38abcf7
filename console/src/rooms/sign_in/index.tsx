// SPDX-License-Identifier: MIT
// Signing in, at the start and after 401.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readRights } from "../../api/rights";
import { ErrorBox } from "../../parts/error";
import { Field } from "../../parts/field";
import { session } from "../../session";
import { t } from "../../text";
import { aboutKey, isSendable, malformed } from "./words";

async function begin(key: string, isKept: boolean): Promise<void> {
    if (!isSendable(key)) {
        throw malformed(0, null, "");
    }
    session.begin(key, await readRights(key), isKept);
}

function SignInForm({ reason }: { reason: unknown }): JSX.Element {
    const [key, setKey] = useState("");
    const [keep, setKeep] = useState(false);
    const [error, setError] = useState<unknown>(reason);
    const [isBusy, setBusy] = useState(false);

    async function enter(wanted: string, isKept: boolean): Promise<void> {
        setBusy(true);
        setError(null);
        try {
            await begin(wanted, isKept);
        } catch (failed) {
            setError(aboutKey(failed));
        } finally {
            setBusy(false);
        }
    }

    // The tab was loaded again.
    useEffect(() => {
        const stored = reason ? "" : session.storedKey();
        if (stored) {
            setKeep(true);
            void enter(stored, true);
        }
    }, []);

    return (
        <form
            onSubmit={(event) => {
                event.preventDefault();
                void enter(key.trim(), keep);
            }}
        >
            <Field
                label={t("sign_in.key")}
                hint={t("sign_in.key_hint")}
                type="password"
                text={key}
                setText={(text) => {
                    setKey(text);
                    // It was about another key.
                    setError(null);
                }}
                autofocus
            />
            <label class="tick">
                <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
                {t("sign_in.keep")}
            </label>
            <ErrorBox error={error} />
            <button class="main" type="submit" disabled={isBusy || key.trim() === ""}>
                {isBusy ? t("sign_in.busy") : t("sign_in.enter")}
            </button>
        </form>
    );
}

export function SignIn(): JSX.Element {
    return (
        <main class="sign-in">
            <h1>{t("sign_in.title")}</h1>
            <p>{t("sign_in.about")}</p>
            <SignInForm reason={null} />
        </main>
    );
}

// Over the views, which stay as they are.
export function SignInAgain({ reason }: { reason: unknown }): JSX.Element {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        dialog.current?.showModal();
    }, []);
    return (
        <dialog class="sign-in" ref={dialog} aria-labelledby="sign-in-again" onCancel={(event) => event.preventDefault()}>
            <h1 id="sign-in-again">{t("sign_in.again")}</h1>
            <p>{t("sign_in.nothing_lost")}</p>
            <SignInForm reason={reason} />
            <button type="button" onClick={session.end}>
                {t("sign_in.discard")}
            </button>
        </dialog>
    );
}
