// SPDX-License-Identifier: MIT
// A list of the interface, page by page.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { session } from "../session";
import { useSyncedValue } from "../value";
import { call } from "./client";
import type { ApiError } from "./error";

export interface List<T> {
    rows: T[];
    isLoading: boolean;
    hasMore: boolean;
    error: ApiError | null;
    // Reads the next page, unless one is being read.  After an error, tries again.
    more(): void;
    // Starts again from the first page.
    reload(): void;
}

export type Page<T> = { next_page_uri: string | null } & Record<string, T[]>;

// The query of the next page, or null.  The address may name another host than the page's: the
// operator sets it.  The key goes to the page's own origin only.
export function nextQuery(uri: string | null): Record<string, string> | null {
    return uri === null ? null : Object.fromEntries(new URL(uri, location.href).searchParams);
}

const NO_ROWS: never[] = [];

// member is the answer's member with the rows.
export function useList<T>(path: string, member: string, query: Record<string, string>): List<T> {
    const keyNumber = useSyncedValue(session.state).keyNumber;
    const [round, setRound] = useState(0);
    const asked = JSON.stringify([path, query, keyNumber, round]);
    const [found, setFound] = useState<{ of: string; rows: T[] }>({ of: "", rows: [] });
    const [error, setError] = useState<ApiError | null>(null);
    const [isLoading, setLoading] = useState(true);
    const next = useRef<Record<string, string> | null>(query);
    const reading = useRef<AbortController | null>(null);

    const more = useCallback(() => {
        if (reading.current || !next.current) {
            return;
        }
        const own = new AbortController();
        reading.current = own;
        setLoading(true);
        setError(null);
        call<Page<T>>("GET", path, { query: next.current, signal: own.signal })
            .then(({ value: page }) => {
                own.signal.throwIfAborted();
                next.current = nextQuery(page.next_page_uri);
                setFound((before) => ({ ...before, rows: [...before.rows, ...(page[member] ?? [])] }));
            })
            .catch((reason: unknown) => {
                if (!own.signal.aborted) {
                    setError(reason as ApiError);
                }
            })
            .finally(() => {
                if (reading.current === own) {
                    reading.current = null;
                    setLoading(false);
                }
            });
    }, [path, member]);

    useEffect(() => {
        next.current = query;
        setFound({ of: asked, rows: [] });
        more();
        return () => {
            reading.current?.abort();
            reading.current = null;
        };
    }, [asked]);

    const reload = useCallback(() => setRound((n) => n + 1), []);
    // Right after the question has changed, there are still the rows of the last one.
    const isOld = found.of !== asked;
    return {
        rows: isOld ? NO_ROWS : found.rows,
        isLoading: isLoading || isOld,
        hasMore: isOld || next.current !== null,
        error: isOld ? null : error,
        more,
        reload,
    };
}
