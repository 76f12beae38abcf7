// SPDX-License-Identifier: MIT
// How an earlier state of a resource is written with the interface's own operations.
import { TAKEN } from "../api/types";
import { type Resource, compare, providerOf } from "./difference";

const KINDS = ["ssh_credential", "oauth_module", "mutual_tls_module", "account", "principal", "api_key"] as const;

export type Kind = (typeof KINDS)[number];
export type Side = "before" | "after";

export interface Known {
    id: string;
    event: string;
    created_at: string;
    resource: { id: string } | null;
    before: Resource | null;
    after: Resource | null;
}

// Null: a later version of the service made it.
export function kindOf(event: string): Kind | null {
    return KINDS.find((kind) => event.startsWith(kind + "_")) ?? null;
}

// Why the console cannot restore it.
export type Hindrance = "kind" | "api_key" | "unseen" | "same";

// What makes the resource as it was.  Members that fixed names stay as they are.
export interface Plan {
    method: "POST" | "PATCH" | "PUT" | "DELETE";
    body: Resource | null;
    fixed: string[];
    // The module has a client secret, which no event holds.  It can be kept if the module has one for
    // the same client.
    secret: "none" | "needed" | "keepable";
}

// Members that are not null, in the order of the resource.
function given(resource: Resource): Resource {
    return Object.fromEntries(Object.entries(resource).filter(([, value]) => value !== null));
}

function planCredential(wanted: Resource, present: Resource | null): Plan | Hindrance {
    if (!present) {
        const body = Object.fromEntries(TAKEN.SshCredentialCreate.map((name) => [name, wanted[name] ?? null]));
        return { method: "POST", body: given(body), fixed: ["id", "created_at"], secret: "none" };
    }
    const changed = compare(present, wanted)
        .filter((member) => !member.isSame)
        .map((member) => member.name);
    const writable = changed.filter((name) => TAKEN.SshCredentialUpdate.includes(name));
    const body = Object.fromEntries(writable.map((name) => [name, wanted[name]]));
    const fixed = changed.filter((name) => !TAKEN.SshCredentialUpdate.includes(name));
    return changed.length === 0 ? "same" : { method: "PATCH", body: given(body), fixed, secret: "none" };
}

function planModule(kind: Kind, wanted: Resource, present: Resource | null): Plan | Hindrance {
    const provider = providerOf(wanted);
    const now = providerOf(present);
    const hasSecret = Boolean(provider?.members["client_id"]);
    const isSame = present !== null && compare(present, wanted).every((member) => member.isSame);
    if (isSame && !hasSecret) {
        return "same";
    }
    if (kind === "mutual_tls_module") {
        const authorities = (wanted["certificate_authorities"] ?? []) as { id: string }[];
        const body = given({ enabled: wanted["enabled"], certificate_authority_ids: authorities.map(({ id }) => id) });
        return { method: "PUT", body, fixed: [], secret: "none" };
    }
    const isKeepable =
        hasSecret &&
        now?.name === provider?.name &&
        now?.members["client_id"] === provider?.members["client_id"] &&
        Boolean(now?.members["client_secret"]);
    const secret = !hasSecret ? "none" : isKeepable ? "keepable" : "needed";
    const body = given({ ...wanted, provider: provider ? { [provider.name]: given(provider.members) } : null });
    return { method: "PUT", body, fixed: [], secret };
}

// wanted and present are null if it did not, or does not, exist.
export function planRestore(kind: Kind | null, wanted: Resource | null, present: Resource | null): Plan | Hindrance {
    switch (kind) {
        case null:
            return "unseen";
        case "api_key":
            return "api_key";
        case "account":
        case "principal":
            return "kind";
        default:
            if (!wanted) {
                return present ? { method: "DELETE", body: null, fixed: [], secret: "none" } : "same";
            }
            return kind === "ssh_credential" ? planCredential(wanted, present) : planModule(kind, wanted, present);
    }
}

// The body with the secret that was typed, or the one that is stored.
export function withSecret(plan: Plan, typed: string, present: Resource | null): Resource | null {
    const provider = providerOf(plan.body);
    if (plan.secret === "none" || !provider) {
        return plan.body;
    }
    const client_secret = typed || (plan.secret === "keepable" ? providerOf(present)?.members["client_secret"] : "");
    return { ...plan.body, provider: { [provider.name]: { ...provider.members, client_secret } } };
}

function shellWord(text: string): string {
    return /^[\w./:][\w./:-]*$/.test(text) ? text : `'${text}'`;
}

// The operator's command for the same, or "" if there is none.
export function commandFor(event: Known, side: Side): string {
    const kind = kindOf(event.event);
    if (kind === "api_key") {
        const holder = (event.after ?? event.before)?.["principal_id"];
        return typeof holder === "string" ? `aditctl key issue --for ${shellWord(holder)}` : "";
    }
    if (!kind || !event.resource || ((kind === "account" || kind === "principal") && !event[side])) {
        return "";
    }
    if (side === "before") {
        return `aditctl restore --event ${shellWord(event.id)}`;
    }
    // The time is cut to seconds, so that the next one is after the change.
    const next = new Date(Date.parse(event.created_at) + 1000).toISOString().replace(".000Z", "Z");
    return `aditctl restore --at ${next} -- ${shellWord(event.resource.id)}`;
}
