// SPDX-License-Identifier: MIT
// What was just done, below every view, with a way to undo it.
import { forgetDraft, getDraft, isUnsaved, setDraft } from "./draft";
import { go, link } from "./router";
import { session } from "./session";
import { t } from "./text";
import { value } from "./value";

// What can be done instead of what failed, and why.
export interface Otherwise {
    why: string;
    label: string;
    act(): Promise<void>;
}

export interface Notice {
    // A function gives the words in the language of the moment.
    text: string | (() => string);
    // The address of what it is about.
    open?: string;
    // Undoes it.  Throws what ErrorBox shows.
    undo?: () => Promise<void>;
    // Another way, where undo() failed like that.
    otherwise?: (failed: unknown) => Otherwise | null;
}

export interface Shown extends Notice {
    id: number;
    // The address of its view: go() may follow set().
    at?: string;
}

// More would leave no place for the view.
const UNDO_MAX = 3;

const shown = value<Shown[]>([]);
let lastId = 0;

function keep(isKept: (one: Shown) => boolean): void {
    const kept = shown.get().filter(isKept);
    if (kept.length < shown.get().length) {
        shown.set(kept);
    }
}

export const notice = {
    shown,
    set(given: Notice): void {
        const one: Shown = { ...given, id: ++lastId };
        queueMicrotask(() => (one.at = location.hash));
        const others = shown.get().filter((other) => other.undo);
        shown.set([one, ...others.slice(0, given.undo ? UNDO_MAX - 1 : UNDO_MAX)]);
    },
    close(id: number): void {
        keep((one) => one.id !== id);
    },
};

// At the start of something new.  What can still be undone stays.
export function clearNotice(): void {
    keep((one) => one.undo !== undefined);
}

addEventListener("hashchange", () => keep((one) => one.undo !== undefined || one.at === undefined || one.at === location.hash));
// What is typed next is not saved.
addEventListener("input", clearNotice);

session.state.watch(() => {
    if (session.state.get().phase === "out") {
        shown.set([]);
    }
});

// Puts next in the place of the draft.  "Undo" swaps them again.
function replaceDraft(name: string, next: object | null): void {
    const draft = getDraft(name);
    const isLost = isUnsaved(name);
    forgetDraft(name);
    if (next) {
        setDraft(name, next);
    }
    if (draft && isLost) {
        notice.set({
            text: () => t("form.discarded"),
            undo: () => {
                replaceDraft(name, draft);
                go(link(name.split("/")));
                return Promise.resolve();
            },
        });
    }
}

// The person discards what was typed.  next is what the form goes on with.
export function discardDraft(name: string, next: object | null = null): void {
    replaceDraft(name, next);
}
