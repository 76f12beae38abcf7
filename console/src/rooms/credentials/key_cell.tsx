// SPDX-License-Identifier: MIT
// The type and the fingerprint of a key.
import type { JSX } from "preact";
import { readPublicKey } from "../../model/public_key";
import { t } from "../../text";

// By the key's text: rows are drawn again while they scroll.
const known = new Map<string, ReturnType<typeof readPublicKey>>();

export function readKey(text: string): ReturnType<typeof readPublicKey> {
    let key = known.get(text);
    if (!key) {
        if (known.size > 2000) {
            known.clear();
        }
        known.set(text, (key = readPublicKey(text)));
    }
    return key;
}

export function KeyCell({ text }: { text: string }): JSX.Element {
    const key = readKey(text);
    if ("fault" in key) {
        return <span>{t("credentials.key_unread")}</span>;
    }
    return (
        <>
            <span>{key.bits ? t("credentials.bits", { type: key.type, n: key.bits }) : key.type}</span>
            <code class="fingerprint">{key.fingerprint}</code>
        </>
    );
}
