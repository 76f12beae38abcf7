// SPDX-License-Identifier: MIT
// The deployment's names of the identity providers, in their order.
import { ApiError, call, path, randomName } from "./client";
import type { ListedOauthModule } from "./types";

const UNKNOWN_MEMBER = "214";
const NONE = "?";

// Each module has all names.  If there is no module, the refusal of a name that no provider has says
// which it takes.  No edge has this random name and no module this tag, so nothing is stored.
export async function readProviders(): Promise<string[]> {
    const { value } = await call<{ oauth_modules: ListedOauthModule[] }>("GET", "oauth_modules", {
        query: { limit: "1" },
    });
    const module = value.oauth_modules[0];
    if (module) {
        return Object.keys(module.provider);
    }
    try {
        const body = { provider: { [NONE]: null } };
        await call("PUT", path`edges/https/${randomName()}/routes/${randomName()}/oauth`, { body, ifMatch: '"0"' });
    } catch (refused) {
        const names = refused instanceof ApiError && refused.number === UNKNOWN_MEMBER && /: ([a-z0-9_, ]+)\.$/.exec(refused.message);
        if (!names) {
            throw refused;
        }
        return (names[1] ?? "").split(", ");
    }
    return [];
}
