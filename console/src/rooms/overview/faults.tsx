// SPDX-License-Identifier: MIT
// What could not be read for the overview.  Parts that fail for the same reason say so once.
import { type JSX, createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";
import type { ApiError } from "../../api/error";
import { ErrorBox } from "../../parts/error";

interface Fault {
    error: ApiError;
    again(): void;
}

export type Faults = Record<string, Fault>;

type SetFaults = (change: (now: Faults) => Faults) => void;

export const FaultsContext = createContext<SetFaults>(() => undefined);

// The part with that name says what went wrong, or that nothing did.
export function useFault(name: string, error: ApiError | null, again: () => void): void {
    const setFaults = useContext(FaultsContext);
    useEffect(
        () => setFaults(({ [name]: _, ...others }) => (error ? { ...others, [name]: { error, again } } : others)),
        [name, error],
    );
}

function reasonOf({ error }: Fault): string {
    return [error.kind, error.status, error.number, error.message].join(" ");
}

export function FaultBoxes({ faults }: { faults: Faults }): JSX.Element {
    const all = Object.values(faults);
    const reasons = [...new Set(all.map(reasonOf))];
    return (
        <>
            {reasons.map((reason) => {
                const alike = all.filter((one) => reasonOf(one) === reason);
                const again = () => {
                    for (const one of alike) {
                        one.again();
                    }
                };
                return <ErrorBox key={reason} error={alike[0]?.error} again={again} isAside />;
            })}
        </>
    );
}
