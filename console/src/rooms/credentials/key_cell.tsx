// SPDX-License-Identifier: MIT
// The type and the fingerprint of a key.
import type { ComponentChildren, JSX } from "preact";
import { quote } from "../../model/filter";
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
        key = readPublicKey(text);
        known.set(text, key);
    }
    return key;
}

// narrow makes a value a link that narrows the list.
type Narrowing = (clause: string, children: ComponentChildren) => ComponentChildren;

export function KeyCell({ text, narrow = (_, children) => children }: { text: string; narrow?: Narrowing }): JSX.Element {
    const key = readKey(text);
    if ("fault" in key) {
        return <span>{t("credentials.key_unread")}</span>;
    }
    return (
        <>
            {narrow(
                `obj.key_type == ${quote(key.type)}`,
                <span>{key.bits ? t("credentials.bits", { type: key.type, n: key.bits }) : key.type}</span>,
            )}
            {narrow(`obj.fingerprint == ${quote(key.fingerprint)}`, <code class="fingerprint">{key.fingerprint}</code>)}
        </>
    );
}
