// SPDX-License-Identifier: MIT
// What was typed and not saved.  It outlives the view, until it is saved or discarded, or the person
// signs out.
import { useCallback, useState } from "preact/hooks";
import { session } from "./session";

const drafts = new Map<string, unknown>();

session.state.watch(() => {
    if (session.state.get().phase === "out") {
        drafts.clear();
    }
});

export function forgetDraft(name: string): void {
    drafts.delete(name);
}

// Returns the draft, which is first as long as nothing was typed, and a function that changes members
// of it.  Keep first the same object.
export function useDraft<T extends object>(name: string, first: T): [T, (change: Partial<T>) => void] {
    const [, draw] = useState({});
    const draft = (drafts.get(name) as T | undefined) ?? first;
    const change = useCallback(
        (members: Partial<T>) => {
            drafts.set(name, { ...((drafts.get(name) as T | undefined) ?? first), ...members });
            draw({});
        },
        [name, first],
    );
    return [draft, change];
}
