// SPDX-License-Identifier: MIT
// What a key may do.  The interface has no request that says so, so this asks for things that only
// some keys get, and that change nothing.
import * as ERR from "../model/errors";
import type { Rights } from "../session";
import { call, randomName, path } from "./client";
import { isRefusal } from "./error";

// Returns the refusal's number, or null if the request was granted.
async function refused(ask: Promise<unknown>): Promise<number | null> {
    try {
        await ask;
        return null;
    } catch (error) {
        if (isRefusal(error, [ERR.KEY_READ_ONLY, ERR.KEY_OWN, ERR.AUDIT_NOT_ADMIN])) {
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
    const writes = written === ERR.KEY_READ_ONLY ? "nothing" : written === ERR.KEY_OWN ? "own" : "all";
    return { isAdmin: audit === null, writes };
}
