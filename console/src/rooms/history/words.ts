// SPDX-License-Identifier: MIT
// Events and members in words.
import type { AuditEvent } from "../../api/types";
import { hasSecret } from "../../model/difference";
import { kindOf } from "../../model/restore";
import { seen } from "../../model/text";
import { type Key, t } from "../../text";

export const SECRET = "provider.client_secret";

export const HISTORY = ["history"];

// The kinds of events, by resource, in the order of the choice.
export const EVENTS: [string, Key, [string, Key][]][] = [
    [
        "ssh_credential_",
        "history.credentials",
        [
            ["ssh_credential_created", "history.credential_created"],
            ["ssh_credential_updated", "history.credential_updated"],
            ["ssh_credential_deleted", "history.credential_deleted"],
        ],
    ],
    [
        "oauth_module_",
        "history.oauth_modules",
        [
            ["oauth_module_created", "history.oauth_created"],
            ["oauth_module_updated", "history.oauth_updated"],
            ["oauth_module_deleted", "history.oauth_deleted"],
            ["oauth_module_rekeyed", "history.oauth_rekeyed"],
        ],
    ],
    [
        "mutual_tls_module_",
        "history.mutual_tls_modules",
        [
            ["mutual_tls_module_created", "history.mutual_tls_created"],
            ["mutual_tls_module_updated", "history.mutual_tls_updated"],
            ["mutual_tls_module_deleted", "history.mutual_tls_deleted"],
        ],
    ],
    [
        "api_key_",
        "history.api_keys",
        [
            ["api_key_created", "history.key_created"],
            ["api_key_updated", "history.key_updated"],
            ["api_key_deleted", "history.key_deleted"],
        ],
    ],
    [
        "principal_",
        "history.principals",
        [
            ["principal_created", "history.principal_created"],
            ["principal_updated", "history.principal_updated"],
            ["principal_deleted", "history.principal_deleted"],
        ],
    ],
    [
        "account_",
        "history.accounts",
        [
            ["account_created", "history.account_created"],
            ["account_updated", "history.account_updated"],
            ["account_deleted", "history.account_deleted"],
        ],
    ],
];

const EVENT_WORDS = new Map(EVENTS.flatMap(([, , events]) => events));

export function eventText(event: string): string {
    const key = EVENT_WORDS.get(event);
    return key ? t(key) : event;
}

const MEMBERS: Record<string, Key> = {
    acl: "history.member_acl",
    auth_check_interval: "history.member_auth_check_interval",
    certificate_authorities: "history.member_certificate_authorities",
    cookie_prefix: "history.member_cookie_prefix",
    created_at: "history.member_created_at",
    description: "history.member_description",
    disabled_at: "history.member_disabled_at",
    enabled: "history.member_enabled",
    expires_at: "history.member_expires_at",
    id: "history.member_id",
    inactivity_timeout: "history.member_inactivity_timeout",
    is_admin: "history.member_is_admin",
    kind: "history.member_kind",
    maximum_duration: "history.member_maximum_duration",
    metadata: "history.member_metadata",
    options_passthrough: "history.member_options_passthrough",
    owner_id: "history.member_owner_id",
    principal_id: "history.member_principal_id",
    provider: "history.member_provider",
    "provider.client_id": "history.member_client_id",
    "provider.client_secret": "history.member_client_secret",
    "provider.email_addresses": "history.member_email_addresses",
    "provider.email_domains": "history.member_email_domains",
    "provider.organizations": "history.member_organizations",
    "provider.scopes": "history.member_scopes",
    "provider.teams": "history.member_teams",
    public_key: "history.member_public_key",
    read_only: "history.member_read_only",
    revoked_at: "history.member_revoked_at",
    scope: "history.member_scope",
};

export function memberText(name: string): string {
    const key = Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined;
    return key ? t(key) : name;
}

// A member that a change names.  A module is written with its secret, so this one is named also if it
// stayed the same.
export function changedText(name: string, event: AuditEvent): string {
    if (name !== SECRET) {
        return memberText(name);
    }
    return t(hasSecret(event.after) ? "history.changed_secret" : "history.removed_secret");
}

// What the change was about, as people call it, or "".
export function subjectOf(event: AuditEvent): string {
    const state = event.after ?? event.before;
    const id = event.resource?.id ?? "";
    const [edge = "", route = ""] = id.split("/");
    switch (kindOf(event.event)) {
        case "ssh_credential":
            return seen(String(state?.["description"] ?? "")) || t("history.no_description");
        case "oauth_module":
            return t("history.route_on", { route, edge });
        case "mutual_tls_module":
            return t("history.edge", { edge });
        case "api_key":
            return seen(String(state?.["description"] ?? "")) || t("history.no_description");
        case "principal":
            return state?.["kind"] === "bot" ? t("history.bot") : t("history.user");
        case "account":
            return t("history.account");
        default:
            return "";
    }
}

// Who made the change, for people.
export function makerOf(event: AuditEvent): string {
    return event.principal?.id ?? event.operator ?? t("history.database");
}
