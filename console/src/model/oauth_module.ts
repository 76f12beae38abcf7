// SPDX-License-Identifier: MIT
// OAuth modules: the form, the body of a PUT, and the server's checks.  The server's code is
// src/model/oauth_module.c; both are tested with the same cases.
import { type AnyOauthProvider, MAX_BYTES, type OauthListName, type OauthModule } from "../api/types";
import { domainFault } from "./domain";
import { readEntries, writeEntries } from "./entries";
import * as ERR from "./errors";
import { mergeList, mergeOne, mergePermits } from "./merge";
import { type Fault, type Finding, type ListRules, checkBody, checkList, checkText, finding } from "./module";
import { PROVIDERS } from "./providers";
import { sizeOf } from "./text";
import { readUint32 } from "./uint32";

const DURATIONS = ["inactivity_timeout", "maximum_duration", "auth_check_interval"] as const;
const LISTS = ["scopes", "email_addresses", "email_domains", "teams", "organizations"] as const;
// All of them empty: everybody who signs in may pass.
const PERMITS = ["email_addresses", "email_domains", "teams", "organizations"] as const;
export type Duration = (typeof DURATIONS)[number];
export type ListName = (typeof LISTS)[number];

// What is typed.  A list has an entry a line.
export interface OauthForm extends Record<Duration | ListName, string> {
    enabled: boolean;
    options_passthrough: boolean;
    cookie_prefix: string;
    // A name, or "" for none.
    provider: string;
    client_id: string;
    // "" keeps the stored one, if there is one for this client_id.
    client_secret: string;
}

export type OauthMember = keyof OauthForm;

const MAX = MAX_BYTES.OauthHostingProvider;
const EMAIL_LOCAL_MAX = 64;

// ---- the module and the form ----

// A module that nobody has stored yet.
export function freshOauth(providers: string[]): OauthModule {
    return {
        enabled: true,
        provider: Object.fromEntries(providers.map((name) => [name, null])),
        options_passthrough: false,
        cookie_prefix: "",
        inactivity_timeout: 0,
        maximum_duration: 0,
        auth_check_interval: 0,
    };
}

export function selected(module: OauthModule): [string, AnyOauthProvider | null] {
    const found = Object.entries(module.provider).find(([, config]) => config !== null);
    return found ?? ["", null];
}

// Whether it has teams and organizations.
export function hasTeams(module: OauthModule, provider: string): boolean {
    return PROVIDERS[Object.keys(module.provider).indexOf(provider)]?.hasTeams ?? false;
}

export function oauthFormOf(module: OauthModule): OauthForm {
    const [provider, config] = selected(module);
    return {
        enabled: module.enabled,
        options_passthrough: module.options_passthrough,
        cookie_prefix: module.cookie_prefix,
        inactivity_timeout: String(module.inactivity_timeout),
        maximum_duration: String(module.maximum_duration),
        auth_check_interval: String(module.auth_check_interval),
        provider,
        client_id: config?.client_id ?? "",
        client_secret: "",
        scopes: writeEntries(config?.scopes ?? []),
        email_addresses: writeEntries(config?.email_addresses ?? []),
        email_domains: writeEntries(config?.email_domains ?? []),
        teams: writeEntries(config?.teams ?? []),
        organizations: writeEntries(config?.organizations ?? []),
    };
}

// ---- the secret ----

// "kept": the stored one goes with the form's client_id.  "foreign": there is one, for another client
// or provider.  "lost": there should be one, and the service does not tell it.
export type StoredSecret = "none" | "kept" | "foreign" | "lost";

export function storedSecret(form: OauthForm, stored: OauthModule): StoredSecret {
    const [provider, config] = selected(stored);
    if (!config || config.client_id === null) {
        return "none";
    }
    if (provider !== form.provider || config.client_id !== form.client_id) {
        return "foreign";
    }
    return config.client_secret === null ? "lost" : "kept";
}

function secretOf(form: OauthForm, stored: OauthModule): string | null {
    const isKept = form.client_secret === "" && storedSecret(form, stored) === "kept";
    return isKept ? (selected(stored)[1]?.client_secret ?? null) : form.client_secret || null;
}

// ---- the body ----

// Returns what is no number as it is: the server says what is wrong with it.
function durationOf(text: string): number | string {
    const given = text.trim();
    return given === "" ? 0 : (readUint32(given) ?? given);
}

function configOf(form: OauthForm, stored: OauthModule): Partial<AnyOauthProvider> {
    const lists = hasTeams(stored, form.provider) ? LISTS : LISTS.slice(0, 3);
    return {
        client_id: form.client_id || null,
        client_secret: secretOf(form, stored),
        ...Object.fromEntries(lists.map((name) => [name, readEntries(form[name])])),
    };
}

// The whole module, since a PUT replaces all of it.
export function oauthBodyOf(form: OauthForm, stored: OauthModule): Record<string, unknown> {
    return {
        enabled: form.enabled,
        provider: form.provider ? { [form.provider]: configOf(form, stored) } : null,
        options_passthrough: form.options_passthrough,
        cookie_prefix: form.cookie_prefix,
        ...Object.fromEntries(DURATIONS.map((name) => [name, durationOf(form[name])])),
    };
}

// ---- checks ----

function isVisible(text: string): boolean {
    return /^[!-~]*$/.test(text);
}

function emailFault(address: string): Fault | null {
    const [local = "", domain, more] = address.split("@");
    if (domain === undefined || more !== undefined || !isVisible(address)) {
        return "email";
    }
    if (local === "" || local.length > EMAIL_LOCAL_MAX) {
        return "email_local";
    }
    return domainFaultOf(domain);
}

function domainFaultOf(domain: string): Fault | null {
    const fault = domainFault(domain);
    return fault && `domain_${fault}`;
}

function teamFault(team: string): Fault | null {
    if (team.startsWith("@")) {
        return "mention";
    }
    const parts = team.split("/");
    return parts.length === 2 && parts.every(Boolean) && isVisible(team) ? null : "team";
}

function organizationFault(organization: string): Fault | null {
    return organization.startsWith("@") ? "mention" : null;
}

const RULES: Record<ListName, ListRules> = {
    scopes: {
        tooMany: ERR.SCOPES_TOO_MANY,
        empty: ERR.SCOPE_EMPTY,
        repeated: ERR.SCOPE_REPEATED,
        max: MAX.scopes,
        tooLong: ERR.SCOPE_TOO_LONG,
    },
    email_addresses: {
        tooMany: ERR.EMAIL_ADDRESSES_TOO_MANY,
        empty: ERR.EMAIL_ADDRESS_EMPTY,
        repeated: ERR.EMAIL_ADDRESS_REPEATED,
        malformed: ERR.EMAIL_ADDRESS_MALFORMED,
        faultOf: emailFault,
    },
    email_domains: {
        tooMany: ERR.EMAIL_DOMAINS_TOO_MANY,
        empty: ERR.EMAIL_DOMAIN_EMPTY,
        repeated: ERR.EMAIL_DOMAIN_REPEATED,
        malformed: ERR.EMAIL_DOMAIN_MALFORMED,
        faultOf: domainFaultOf,
    },
    teams: {
        tooMany: ERR.TEAMS_TOO_MANY,
        empty: ERR.TEAM_EMPTY,
        repeated: ERR.TEAM_REPEATED,
        max: MAX.teams,
        tooLong: ERR.TEAM_MALFORMED,
        malformed: ERR.TEAM_MALFORMED,
        faultOf: teamFault,
    },
    organizations: {
        tooMany: ERR.ORGANIZATIONS_TOO_MANY,
        empty: ERR.ORGANIZATION_EMPTY,
        repeated: ERR.ORGANIZATION_REPEATED,
        max: MAX.organizations,
        tooLong: ERR.ORGANIZATION_TOO_LONG,
        malformed: ERR.ORGANIZATION_MALFORMED,
        faultOf: organizationFault,
    },
};

function checkCookie(prefix: string): Finding | null {
    const n = sizeOf(prefix);
    const max = MAX_BYTES.OauthModule.cookie_prefix;
    if (n > max) {
        return finding(ERR.COOKIE_PREFIX_MALFORMED, "long", { n, max });
    }
    return /^[!#$%&'*+.^_`|~0-9A-Za-z-]*$/.test(prefix) ? null : finding(ERR.COOKIE_PREFIX_MALFORMED, "cookie");
}

function checkSecret(form: OauthForm, stored: OauthModule): Finding | null {
    if (form.client_id === "" || secretOf(form, stored) !== null) {
        return checkText(form.client_secret, MAX.client_secret, ERR.CLIENT_SECRET_TOO_LONG);
    }
    return finding(ERR.CLIENT_SECRET_MISSING, storedSecret(form, stored) === "none" ? "secret_missing" : "secret_again");
}

function checkClient(form: OauthForm): Finding | null {
    return form.client_id === "" && form.client_secret !== ""
        ? finding(ERR.CLIENT_ID_MISSING, "id_missing")
        : checkText(form.client_id, MAX.client_id, ERR.CLIENT_ID_TOO_LONG);
}

export type Findings<Member extends string> = Partial<Record<Member | "body", Finding | null>>;

// What the server would refuse, by member.  It names one at a time.
export function checkOauth(form: OauthForm, stored: OauthModule): Findings<OauthMember> {
    const found: Findings<OauthMember> = {
        cookie_prefix: checkCookie(form.cookie_prefix),
        body: checkBody(oauthBodyOf(form, stored)),
    };
    for (const name of DURATIONS) {
        found[name] = typeof durationOf(form[name]) === "string" ? finding(ERR.WRONG_VALUE, "number") : null;
    }
    if (form.provider !== "") {
        for (const name of hasTeams(stored, form.provider) ? LISTS : LISTS.slice(0, 3)) {
            found[name] = checkList(readEntries(form[name]), RULES[name]);
        }
        found.client_id = checkClient(form);
        found.client_secret = checkSecret(form, stored);
        if (!found.scopes && form.client_id === "" && form.client_secret === "" && readEntries(form.scopes).length > 0) {
            found.scopes = finding(ERR.SCOPES_MANAGED, "scopes_managed");
        }
    }
    return found;
}

// ---- two people ----

export function mergeOauth(before: OauthForm, theirs: OauthForm, yours: OauthForm): OauthForm {
    const merged = { ...yours };
    const one = <Name extends OauthMember>(name: Name) => {
        merged[name] = mergeOne(before[name], theirs[name], yours[name]);
    };
    (Object.keys(yours) as OauthMember[]).forEach(one);
    const listsOf = (form: OauthForm) => PERMITS.map((name) => readEntries(form[name]));
    const permits = mergePermits(listsOf(before), listsOf(theirs), listsOf(yours));
    for (const [n, name] of PERMITS.entries()) {
        merged[name] = writeEntries(permits[n] ?? []);
    }
    merged.scopes = writeEntries(mergeList(readEntries(before.scopes), readEntries(theirs.scopes), readEntries(yours.scopes)));
    return merged;
}

// ---- who may pass ----

// A secret that is as good as any other one: whom a module lets in does not depend on it.
const ANY_SECRET = "-";

// The question whom the module that the form stands for lets in.  It holds no secret.
export function questionOf(form: OauthForm, stored: OauthModule): Record<string, unknown> {
    const isOwn = form.client_id !== "";
    const config = {
        ...configOf(form, stored),
        client_secret: isOwn ? ANY_SECRET : null,
        ...(isOwn ? {} : { scopes: [] }),
    };
    return { enabled: form.enabled, provider: form.provider ? { [form.provider]: config } : null };
}

// The entries of the list by which visitors pass.
export function namesOf(module: OauthModule, list: OauthListName): string[] {
    return selected(module)[1]?.[list] ?? [];
}

// The module that the form stands for.
export function moduleOf(form: OauthForm, stored: OauthModule): OauthModule {
    const module = freshOauth(Object.keys(stored.provider));
    if (form.provider !== "") {
        module.provider[form.provider] = configOf(form, stored) as AnyOauthProvider;
    }
    return { ...module, enabled: form.enabled };
}
