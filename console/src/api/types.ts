// SPDX-License-Identifier: MIT
// What the interface answers, and how large texts may be.  "make regen" makes this file from doc/openapi.yaml.

// Some providers have teams.
export type AnyOauthProvider = OauthProvider & Partial<OauthHostingProvider>;

// By the deployment's names of the providers, in their order.  At most one is not null.
export type OauthProviders = Record<string, AnyOauthProvider | null>;

export interface SshCredential {
    id: string;
    uri: string;
    created_at: string;
    description: string;
    metadata: string;
    public_key: string;
    acl: string[];
    owner_id: string;
    enabled: boolean;
}

export interface SshCredentialList {
    ssh_credentials: SshCredential[];
    uri: string;
    next_page_uri: string | null;
}

export interface SshCredentialRef {
    id: string;
    uri: string;
    owner_id: string;
}

export interface SshDecision {
    permitted: boolean;
    credentials: SshCredentialRef[];
    acl: string[];
    rule: string | null;
}

export interface OauthModule {
    enabled: boolean;
    provider: OauthProviders;
    options_passthrough: boolean;
    cookie_prefix: string;
    inactivity_timeout: number;
    maximum_duration: number;
    auth_check_interval: number;
}

export interface OauthProvider {
    client_id: string | null;
    client_secret: string | null;
    scopes: string[];
    email_addresses: string[];
    email_domains: string[];
}

export interface OauthHostingProvider {
    client_id: string | null;
    client_secret: string | null;
    scopes: string[];
    email_addresses: string[];
    email_domains: string[];
    teams: string[];
    organizations: string[];
}

export interface OauthModuleList {
    oauth_modules: ListedOauthModule[];
    uri: string;
    next_page_uri: string | null;
}

export interface ListedOauthModule {
    edge_id: string;
    id: string;
    uri: string;
    enabled: boolean;
    provider: OauthProviders;
    options_passthrough: boolean;
    cookie_prefix: string;
    inactivity_timeout: number;
    maximum_duration: number;
    auth_check_interval: number;
    admits: OauthAdmission;
}

export interface OauthAdmission {
    whom: "nobody" | "listed" | "anyone" | "everybody";
    lists: OauthListName[];
    flaws: OauthFlaw[];
    text: string;
}

export type OauthListName = "email_addresses" | "email_domains" | "teams" | "organizations";

export interface OauthFlaw {
    list: OauthListName | null;
    why: "no_provider" | "no_application" | "unverified" | "no_teams" | "scope";
}

export interface OauthProviderNames {
    providers: OauthProviderName[];
}

export interface OauthProviderName {
    name: string;
    title: string;
}

export interface MutualTlsModule {
    enabled: boolean;
    certificate_authorities: CertificateAuthorityRef[];
}

export interface CertificateAuthorityRef {
    id: string;
    uri: string;
}

export interface MutualTlsModuleList {
    mutual_tls_modules: ListedMutualTlsModule[];
    uri: string;
    next_page_uri: string | null;
}

export interface ListedMutualTlsModule {
    edge_id: string;
    id: string;
    uri: string;
    enabled: boolean;
    certificate_authorities: CertificateAuthorityRef[];
}

export interface AuditEventList {
    audit_events: AuditEvent[];
    uri: string;
    next_page_uri: string | null;
}

export interface AuditEvent {
    id: string;
    uri: string;
    created_at: string;
    event: string;
    resource: Ref | null;
    principal: Ref | null;
    api_key_id: string | null;
    operation_id: string | null;
    client_address: string | null;
    operator: string | null;
    database_user: string;
    changed: string[];
    before: Record<string, unknown> | null;
    after: Record<string, unknown> | null;
}

export interface Ref {
    id: string;
    uri: string;
}

export interface AuditedAccount {
    id: string;
    created_at: string;
}

export interface AuditedPrincipal {
    id: string;
    created_at: string;
    kind: "user" | "bot";
    is_admin: boolean;
    disabled_at: string | null;
}

export interface AuditedApiKey {
    id: string;
    created_at: string;
    principal_id: string;
    description: string;
    read_only: boolean;
    scope: string | null;
    expires_at: string | null;
    revoked_at: string | null;
}

export interface Live {
    status: "live";
}

export interface Ready {
    status: "ready";
}

export interface Error {
    error_code: string;
    status_code: number;
    msg: string;
    details: { operation_id?: string; field?: string; offset?: string };
}

// Of each member, or of each of its entries.
export const MAX_BYTES = {
    SshCredential: { description: 255, metadata: 4096, public_key: 16384 },
    OauthModule: { cookie_prefix: 100 },
    OauthProvider: { client_id: 1024, client_secret: 1024, scopes: 1024 },
    OauthHostingProvider: { client_id: 1024, client_secret: 1024, scopes: 1024, teams: 1024, organizations: 1024 },
    ListedOauthModule: { cookie_prefix: 100 },
};

// What a filter of the resource's list may name.
export const FILTERED = {
    ssh_credential: ["id", "created_at", "description", "metadata", "key_type", "fingerprint", "acl", "owner_id", "enabled"],
    oauth_module: ["edge_id", "enabled", "email_addresses", "email_domains", "teams", "organizations", "id", "provider", "admits"],
    mutual_tls_module: ["edge_id", "enabled", "certificate_authority_ids", "id"],
    audit_event: ["id", "created_at", "event", "resource", "resource.id", "principal", "principal.id", "api_key_id", "operation_id", "client_address", "operator", "database_user", "changed", "before", "after"],
};

// What a POST and a PATCH take.
export const TAKEN = {
    SshCredentialCreate: ["description", "metadata", "acl", "public_key", "owner_id", "enabled"],
    SshCredentialUpdate: ["description", "metadata", "acl", "enabled"],
};
