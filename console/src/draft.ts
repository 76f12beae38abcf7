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

export function getDraft<T extends object>(name: string): T | undefined {
    return drafts.get(name) as T | undefined;
}

// For a view that is opened next.
export function setDraft(name: string, draft: object): void {
    drafts.set(name, draft);
}

// Members to change, or what they are after a look at the draft as it is by then.
export type Change<T> = Partial<T> | ((now: T) => Partial<T>);

// Returns the draft, which is first as long as nothing was typed, and a function that changes members
// of it.  Keep first the same object.
export function useDraft<T extends object>(name: string, first: T): [T, (change: Change<T>) => void] {
    const [, draw] = useState({});
    const draft = getDraft<T>(name) ?? first;
    const change = useCallback(
        (members: Change<T>) => {
            const now = getDraft<T>(name) ?? first;
            drafts.set(name, { ...now, ...(typeof members === "function" ? members(now) : members) });
            draw({});
        },
        [name, first],
    );
    return [draft, change];
}
