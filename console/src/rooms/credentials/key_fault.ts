// SPDX-License-Identifier: MIT
// What is wrong with a text that the console does not read as one public key.
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client";
import { ApiError } from "../../api/error";
import { isOfPublicKeys, looksPrivate } from "../../model/public_key";

const NOTHING = { of: "", says: "" };

// Returns the service's words, or "" for a text that may hold a secret: that is not sent.
export function useKeyFault(text: string): string {
    const [found, setFound] = useState(NOTHING);
    useEffect(() => {
        if (!isOfPublicKeys(text) || looksPrivate(text)) {
            return;
        }
        const own = new AbortController();
        call("POST", "ssh_decisions", { body: { public_key: text }, isProbe: true, signal: own.signal }).catch(
            (failed: unknown) => {
                if (failed instanceof ApiError && failed.details["field"] === "public_key") {
                    setFound({ of: text, says: failed.message });
                }
            },
        );
        return () => own.abort();
    }, [text]);
    return found.of === text ? found.says : "";
}
