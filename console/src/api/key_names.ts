// SPDX-License-Identifier: MIT
// What API keys are called.  The interface lists no keys, but their events hold their descriptions.  It
// names neither Users nor Bots.
import { useMemo } from "preact/hooks";
import { addKeys, type Keys } from "../model/record";
import { useFold } from "./fold";
import type { AuditEvent } from "./types";

const PAGES = 5;
const NO_KEYS: Keys = new Map();

export interface KeyNames {
    // What the key is called, or "".
    nameOf(id: string | null): string;
    // The Users and Bots that have keys, and what these are called.
    holders: Map<string, string[]>;
}

function holdersOf(keys: Keys): Map<string, string[]> {
    const holders = new Map<string, string[]>();
    for (const key of keys.values()) {
        const holder = key?.["principal_id"];
        if (key && typeof holder === "string") {
            const name = String(key["description"] ?? "");
            holders.set(holder, [...(holders.get(holder) ?? []), ...(name ? [name] : [])]);
        }
    }
    return holders;
}

// Names are an addition: without them, views work as well.
export function useKeyNames(): KeyNames {
    const { state } = useFold<AuditEvent, Keys>({
        path: "audit_events",
        member: "audit_events",
        filter: 'obj.event.startsWith("api_key_")',
        first: NO_KEYS,
        fold: addKeys,
        pages: PAGES,
    });
    return useMemo(
        () => ({
            nameOf: (id) => String((id !== null && state.get(id)?.["description"]) || ""),
            holders: holdersOf(state),
        }),
        [state],
    );
}
