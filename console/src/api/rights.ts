// SPDX-License-Identifier: MIT
// What a key may do.  The interface has no request that says so, so this asks for things that only
// some keys get, and that change nothing.
import { ApiError, call, randomName, path } from "./client";

export interface Rights {
    isAdmin: boolean;
    // What the key may write: everything of the account, only its own credentials, or nothing.
    writes: "all" | "own" | "nothing";
}

const READ_ONLY = "9005";
const OWN = "9080";
const AUDIT_NOT_ADMIN = "9078";

// Returns the refusal's number, or "" if the request was granted.
async function refused(ask: Promise<unknown>): Promise<string> {
    try {
        await ask;
        return "";
    } catch (error) {
        if (error instanceof ApiError && [READ_ONLY, OWN, AUDIT_NOT_ADMIN].includes(error.number)) {
            return error.number;
        }
        throw error;
    }
}

// Throws ApiError, such as 401 for a key that is not accepted, and 403 for a gateway's.
export async function readRights(key: string): Promise<Rights> {
    await call("GET", "ssh_credentials", { key, query: { limit: "1" } });
    // No edge has this random name, so nothing is deleted, and a key that may write gets 204.
    const write = call("DELETE", path`edges/tls/${randomName()}/mutual_tls`, { key, isProbe: true });
    const [audit, written] = await Promise.all([
        refused(call("GET", "audit_events", { key, query: { limit: "1" } })),
        refused(write),
    ]);
    const writes = written === READ_ONLY ? "nothing" : written === OWN ? "own" : "all";
    return { isAdmin: audit === "", writes };
}
