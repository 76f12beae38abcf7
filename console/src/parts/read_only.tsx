// SPDX-License-Identifier: MIT
// A form that the key may not save: its fields show what is stored and cannot be changed.
import { type ComponentChildren, type JSX, createContext } from "preact";
import { useContext } from "preact/hooks";

const IsReadOnly = createContext(false);

export function useReadOnly(): boolean {
    return useContext(IsReadOnly);
}

// why: "" if the key may save it.
export function ReadOnly({ why, children }: { why: string; children: ComponentChildren }): JSX.Element {
    return (
        <IsReadOnly.Provider value={why !== ""}>
            {why && <p class="warning read-only">{why}</p>}
            {children}
        </IsReadOnly.Provider>
    );
}
