// SPDX-License-Identifier: MIT
// Filters for what needs somebody's attention.  The overview counts what the lists show with them.
import { quote } from "./filter";
import { UNVERIFIED } from "./oauth_module";

export const BINDS_EVERYTHING = '(size(obj.acl) == 0 || "*" in obj.acl || "bind:*" in obj.acl)';

export const DISABLED = "obj.enabled == false";

export const NO_AUTHORITY = "obj.enabled == true && size(obj.certificate_authority_ids) == 0";

// OAuth modules that let nobody in, as passageOf() has it.  providers are the deployment's names.
export function lettingNobodyIn(providers: string[]): string {
    const names = UNVERIFIED.flatMap((at) => providers[at] ?? []);
    if (names.length === 0) {
        return 'obj.enabled == true && obj.provider == ""';
    }
    const lists = "(size(obj.email_addresses) > 0 || size(obj.email_domains) > 0)";
    return `obj.enabled == true && (obj.provider == "" || obj.provider in [${names.map(quote).join(", ")}] && ${lists})`;
}
