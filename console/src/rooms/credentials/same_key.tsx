// SPDX-License-Identifier: MIT
// Other credentials of the account with the same key.  Grants add up, so the key may bind what any of
// them permits.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client";
import type { ApiError } from "../../api/error";
import { type Page, nextQuery } from "../../api/list";
import type { SshCredential } from "../../api/types";
import { quote } from "../../model/filter";
import { seen } from "../../model/text";
import { Value } from "../../parts/value";
import { link } from "../../router";
import { session } from "../../session";
import { t, tn } from "../../text";
import { useSyncedValue } from "../../value";
import { readKey } from "./key_cell";

// As many as a decision unites: src/store/ssh_decision.c.
const OTHERS_MAX = 1000;
// So many are named.
const SHOWN_MAX = 5;

export interface SameKey {
    filter: string;
    others: SshCredential[];
    // All others are known.
    isWhole: boolean;
    error: ApiError | null;
    again(): void;
}

async function readOthers(filter: string, ownId: string, signal: AbortSignal): Promise<SshCredential[]> {
    const others: SshCredential[] = [];
    let query: Record<string, string> | null = { filter };
    while (query && others.length < OTHERS_MAX) {
        const { value }: { value: Page<SshCredential> } = await call("GET", "ssh_credentials", { query, signal });
        others.push(...(value["ssh_credentials"] ?? []).filter((one) => one.id !== ownId));
        query = nextQuery(value.next_page_uri);
    }
    return others;
}

// ownId is the credential in question, or "".  round changes when they are to be read again.
export function useSameKey(key: string, ownId: string, round: unknown = 0): SameKey {
    const keyNumber = useSyncedValue(session.state).keyNumber;
    const [others, setOthers] = useState<SshCredential[] | null>(null);
    const [error, setError] = useState<ApiError | null>(null);
    const [tries, setTries] = useState(0);
    const read = readKey(key);
    const filter = "fault" in read ? "" : `obj.fingerprint == ${quote(read.fingerprint)}`;

    useEffect(() => setOthers(null), [filter]);
    useEffect(() => {
        const own = new AbortController();
        setError(null);
        if (filter) {
            readOthers(filter, ownId, own.signal).then(
                (found) => own.signal.aborted || setOthers(found),
                (failed: unknown) => own.signal.aborted || setError(failed as ApiError),
            );
        }
        return () => own.abort();
    }, [filter, ownId, round, keyNumber, tries]);

    return { filter, others: others ?? [], isWhole: others !== null, error, again: () => setTries((n) => n + 1) };
}

function nameOf(credential: SshCredential): string {
    return seen(credential.description) || credential.id;
}

// Links to credentials.  rules: with the rule of each, where there is one.
export function CredentialLinks(given: { credentials: SshCredential[]; filter: string; rules?: (string | null)[] }): JSX.Element {
    return (
        <ul class="credential-links">
            {given.credentials.slice(0, SHOWN_MAX).map((one, n) => (
                <li key={one.id}>
                    <a href={link(["credentials", one.id])}>
                        <Value text={nameOf(one)} />
                    </a>{" "}
                    {given.rules && <Value text={given.rules[n] ?? t("acl.without_rule")} />}
                </li>
            ))}
            {given.credentials.length > SHOWN_MAX && (
                <li>
                    <a href={link(["credentials"], { filter: given.filter })}>{t("credentials.same_key_all")}</a>
                </li>
            )}
        </ul>
    );
}

// The warning that the key is in other credentials too.  isNew: it is about to be stored once more.
export function SameKeyWarning({ same, isNew }: { same: SameKey; isNew: boolean }): JSX.Element {
    const n = same.others.length;
    return (
        <div class="same-key" role="status">
            {n > 0 && (
                <div class="warning">
                    <p>{isNew ? tn("credentials.same_key_new", n) : tn("credentials.same_key", n)}</p>
                    <CredentialLinks credentials={same.others} filter={same.filter} />
                </div>
            )}
        </div>
    );
}
