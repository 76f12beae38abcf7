// SPDX-License-Identifier: MIT
// What was just done, above every view, with a way to undo it.
import { session } from "./session";
import { value } from "./value";

export interface Notice {
    text: string;
    // Undoes it.  Throws what ErrorBox shows.
    undo?: () => Promise<void>;
}

export const notice = value<Notice | null>(null);

// At the start of something new.  What can still be undone stays.
export function clearNotice(): void {
    if (!notice.get()?.undo) {
        notice.set(null);
    }
}

session.state.watch(() => {
    if (session.state.get().phase === "out") {
        notice.set(null);
    }
});
