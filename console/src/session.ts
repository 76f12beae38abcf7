// SPDX-License-Identifier: MIT
// Who is signed in.  The key is in memory, and in sessionStorage only if the person ticked that.
import type { ApiError } from "./api/error";
import { value } from "./value";

// What a key may do.
export interface Rights {
    isAdmin: boolean;
    // What the key may write: everything of the account, only its own credentials, or nothing.
    writes: "all" | "own" | "nothing";
}

export interface State {
    // "again": a request got 401.  Views stay, with what was typed, until there is another key.
    phase: "out" | "in" | "again";
    rights: Rights | null;
    // The server's reason, after 401.
    refusal: ApiError | null;
    // Changes with each key, so that lists are read again.
    keyNumber: number;
}

// Another Adit on the same origin has another path.
const STORED = "adit.console.key " + location.pathname.replace(/\/$/, "");

let currentKey = "";
const state = value<State>({ phase: "out", rights: null, refusal: null, keyNumber: 0 });

export const session = {
    state,
    key: () => currentKey,
    storedKey: () => sessionStorage.getItem(STORED) ?? "",
    begin(key: string, rights: Rights, keep: boolean): void {
        currentKey = key;
        if (keep) {
            sessionStorage.setItem(STORED, key);
        } else {
            sessionStorage.removeItem(STORED);
        }
        state.set({ phase: "in", rights, refusal: null, keyNumber: state.get().keyNumber + 1 });
    },
    // A request with this key got 401.  It may be late: the person may have another key by now.
    refuse(key: string, error: ApiError): void {
        if (key === currentKey && state.get().phase === "in") {
            currentKey = "";
            sessionStorage.removeItem(STORED);
            state.set({ ...state.get(), phase: "again", refusal: error });
        }
    },
    end(): void {
        currentKey = "";
        sessionStorage.removeItem(STORED);
        state.set({ ...state.get(), phase: "out", rights: null, refusal: null });
    },
};
