// SPDX-License-Identifier: MIT
// The deployment's names of the identity providers, in their order.
import { ApiError, call, path, randomName } from "./client";
import type { ListedOauthModule } from "./types";

const UNKNOWN_MEMBER = "214";
const NONE = "?";

// The names as a module has them, or none if there is no module.
export async function readKnownProviders(): Promise<string[]> {
    const { value } = await call<{ oauth_modules: ListedOauthModule[] }>("GET", "oauth_modules", {
        query: { limit: "1" },
    });
    return Object.keys(value.oauth_modules[0]?.provider ?? {});
}

// Each module has all names.  If there is no module, the refusal of a name that no provider has says
// which it takes.  No edge has this random name and no module this tag, so nothing is stored.
export async function readProviders(): Promise<string[]> {
    const known = await readKnownProviders();
    if (known.length > 0) {
        return known;
    }
    try {
        const body = { provider: { [NONE]: null } };
        await call("PUT", path`edges/https/${randomName()}/routes/${randomName()}/oauth`, { body, ifMatch: '"0"', isProbe: true });
    } catch (refused) {
        const names = refused instanceof ApiError && refused.number === UNKNOWN_MEMBER && /: ([^:]+)\.$/.exec(refused.message);
        if (!names) {
            throw refused;
        }
        return (names[1] ?? "").split(", ").map((name) => name.replace(/ \(.*/, ""));
    }
    return [];
}
