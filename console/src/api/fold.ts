// SPDX-License-Identifier: MIT
// What is known of a list from its pages, without keeping its rows: a count, for example.
import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "../session";
import { useSyncedValue } from "../value";
import { call } from "./client";
import type { ApiError } from "./error";
import { type Page, nextQuery } from "./list";

export interface Folded<S> {
    state: S;
    // All pages were read, or enough of them.
    isWhole: boolean;
    isLoading: boolean;
    error: ApiError | null;
    // Reads on to the end, until stop().
    more(): void;
    stop(): void;
}

interface Given<T, S> {
    path: string;
    // The answer's member with the rows.
    member: string;
    filter: string;
    first: S;
    fold(state: S, rows: T[]): S;
    isEnough?(state: S): boolean;
    // How many pages are read at once.
    pages: number;
}

export function useFold<T, S>(given: Given<T, S>): Folded<S> {
    const keyNumber = useSyncedValue(session.state).keyNumber;
    const first: Omit<Folded<S>, "more" | "stop"> = { state: given.first, isWhole: false, isLoading: true, error: null };
    const [known, setKnown] = useState(first);
    const next = useRef<Record<string, string> | null>(null);
    const state = useRef(given.first);
    const reading = useRef<AbortController | null>(null);

    async function read(pages: number): Promise<void> {
        const own = new AbortController();
        reading.current?.abort();
        reading.current = own;
        setKnown((before) => ({ ...before, isLoading: true, error: null }));
        try {
            for (let n = 0; n < pages && next.current; n++) {
                const answer = await call<Page<T>>("GET", given.path, { query: next.current, signal: own.signal });
                own.signal.throwIfAborted();
                state.current = given.fold(state.current, answer.value[given.member] ?? []);
                next.current = given.isEnough?.(state.current) ? null : nextQuery(answer.value.next_page_uri);
                setKnown({ state: state.current, isWhole: !next.current, isLoading: true, error: null });
            }
            setKnown((before) => ({ ...before, isLoading: false }));
        } catch (failed) {
            if (!own.signal.aborted) {
                setKnown((before) => ({ ...before, isLoading: false, error: failed as ApiError }));
            }
        }
    }

    function stop(): void {
        reading.current?.abort();
        reading.current = null;
        setKnown((before) => ({ ...before, isLoading: false }));
    }

    useEffect(() => {
        next.current = given.filter ? { filter: given.filter } : {};
        state.current = given.first;
        setKnown(first);
        void read(given.pages);
        return () => reading.current?.abort();
    }, [given.path, given.filter, keyNumber]);

    return { ...known, more: () => void read(Infinity), stop };
}
