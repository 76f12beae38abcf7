// SPDX-License-Identifier: MIT
// Creating a credential.  A request may be sent again after an answer that did not arrive: the same body
// has the same key.
import * as ERR from "../model/errors";
import { type Answer, call, randomName } from "./client";
import { isRefusal } from "./error";
import type { SshCredential } from "./types";

const keys = new Map<string, string>();

export async function createCredential(body: object): Promise<Answer<SshCredential>> {
    const text = JSON.stringify(body);
    const idempotencyKey = keys.get(text) ?? randomName();
    keys.set(text, idempotencyKey);
    const made = await call<SshCredential>("POST", "ssh_credentials", { body, idempotencyKey });
    keys.delete(text);
    return made;
}

// Whether the caller may not give it to that owner, but may own it.
export function isOwnerRefused(failed: unknown): boolean {
    return isRefusal(failed, [ERR.NOT_ADMIN, ERR.OWNER_UNKNOWN]);
}
