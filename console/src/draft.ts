// SPDX-License-Identifier: MIT
// What was typed and not saved.  It outlives the view, until it is saved or discarded, or the person
// signs out.  A draft has the name of its view's address: its parts with "/" between them.
import { useCallback, useLayoutEffect, useState } from "preact/hooks";
import { session } from "./session";
import { value } from "./value";

// A form with changes that are not saved.
export interface Unsaved {
    name: string;
    title: string;
}

const drafts = new Map<string, unknown>();

export const unsaved = value<Unsaved[]>([]);

function mark(name: string, title: string | null): void {
    const others = unsaved.get().filter((one) => one.name !== name);
    if (title !== null || others.length < unsaved.get().length) {
        unsaved.set(title === null ? others : [...others, { name, title }]);
    }
}

session.state.watch(() => {
    if (session.state.get().phase === "out") {
        drafts.clear();
        unsaved.set([]);
    }
});

// The browser asks before the page goes.
addEventListener("beforeunload", (event) => {
    if (unsaved.get().length > 0) {
        event.preventDefault();
    }
});

export function isUnsaved(name: string): boolean {
    return unsaved.get().some((one) => one.name === name);
}

export function forgetDraft(name: string): void {
    drafts.delete(name);
    mark(name, null);
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

// Every form says whether its draft has changes that are not saved.
export function useUnsaved(name: string, hasChanges: boolean, title: string): void {
    useLayoutEffect(() => mark(name, hasChanges ? title : null), [name, hasChanges, title]);
}
