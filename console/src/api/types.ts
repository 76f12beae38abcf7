// SPDX-License-Identifier: MIT
// What the interface answers: doc/openapi.yaml.

export interface Ref {
    id: string;
    uri: string;
}

// before and after are the resource as the interface shows it, without secrets.
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

export interface Credential {
    id: string;
    uri: string;
    created_at: string;
    description: string;
    metadata: string;
    public_key: string;
    acl: string[];
    owner_id: string;
}

export interface OauthProvider {
    client_id: string | null;
    // Null too if the key may not write modules, and in lists if the service cannot decrypt it.
    client_secret: string | null;
    scopes: string[];
    email_addresses: string[];
    email_domains: string[];
    // Of a provider that has teams.
    teams?: string[];
    organizations?: string[];
}

export interface OauthModule {
    enabled: boolean;
    // By the deployment's names of the providers, in their order.  At most one is not null.
    provider: Record<string, OauthProvider | null>;
    options_passthrough: boolean;
    cookie_prefix: string;
    inactivity_timeout: number;
    maximum_duration: number;
    auth_check_interval: number;
}

export type OauthListName = "email_addresses" | "email_domains" | "teams" | "organizations";

export interface OauthFlaw {
    // Null: nobody can sign in.
    list: OauthListName | null;
    why: "no_provider" | "no_application" | "unverified" | "no_teams" | "scope";
}

// Whom a module lets in, as the service says.
export interface OauthAdmission {
    whom: "nobody" | "listed" | "anyone" | "everybody";
    // Those by which visitors pass.
    lists: OauthListName[];
    flaws: OauthFlaw[];
    text: string;
}

export interface ListedOauthModule extends OauthModule {
    edge_id: string;
    // The route.
    id: string;
    admits: OauthAdmission;
}

export interface ProviderName {
    name: string;
    title: string;
}

export interface MutualTlsModule {
    enabled: boolean;
    certificate_authorities: { id: string; uri: string }[];
}

export interface ListedMutualTlsModule extends MutualTlsModule {
    edge_id: string;
}
