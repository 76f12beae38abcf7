// SPDX-License-Identifier: MIT
// A value that views watch.
import { useLayoutEffect, useState } from "preact/hooks";

export interface Value<T> {
    get(): T;
    set(next: T): void;
    watch(watcher: () => void): () => void;
}

export function value<T>(first: T): Value<T> {
    let now = first;
    const watchers = new Set<() => void>();
    return {
        get: () => now,
        set(next) {
            if (next !== now) {
                now = next;
                for (const watcher of [...watchers]) {
                    watcher();
                }
            }
        },
        watch(watcher) {
            watchers.add(watcher);
            return () => watchers.delete(watcher);
        },
    };
}

// Returns the value.  The view is drawn again when it changes.  A layout effect runs with the first
// drawing; other effects run after the next frame, and would miss a change before that.
export function useSyncedValue<T>(watched: Value<T>): T {
    const [, draw] = useState({});
    useLayoutEffect(() => watched.watch(() => draw({})), [watched]);
    return watched.get();
}
