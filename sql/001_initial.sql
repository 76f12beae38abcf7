-- Accounts, the Users and Bots in them, their API keys, and the three resources of the API.
--
-- Every key starts with the account, so no query reaches across accounts.  Identifiers are compared
-- byte by byte (COLLATE "C"), so assigned ones sort by age.

CREATE TABLE adit.account (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT account_id_form CHECK (id ~ '^ac_[0-9A-Za-z]{27}$'),
    CONSTRAINT account_name_length CHECK (octet_length(name) <= 255)
);
COMMENT ON TABLE adit.account IS 'An account: the boundary of everything that a caller sees.';
COMMENT ON COLUMN adit.account.id IS 'Assigned identifier, ac_ and 27 base62 digits.';
COMMENT ON COLUMN adit.account.name IS 'What the operator calls it; not shown to callers.';
COMMENT ON COLUMN adit.account.created_at IS 'When it was created.';

CREATE TABLE adit.principal (
    account_id text COLLATE "C" NOT NULL REFERENCES adit.account (id),
    id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    name text NOT NULL DEFAULT '',
    is_admin boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, id),
    CONSTRAINT principal_id_unique UNIQUE (id),
    CONSTRAINT principal_kind CHECK (kind IN ('user', 'bot')),
    CONSTRAINT principal_id_form
        CHECK (id ~ ('^' || CASE kind WHEN 'user' THEN 'usr' ELSE 'bot' END || '_[0-9A-Za-z]{27}$')),
    CONSTRAINT principal_name_length CHECK (octet_length(name) <= 255)
);
COMMENT ON TABLE adit.principal IS 'A User or a Bot: who holds API keys and owns credentials.';
COMMENT ON COLUMN adit.principal.account_id IS 'The account it belongs to.';
COMMENT ON COLUMN adit.principal.id IS 'Assigned identifier, usr_ or bot_ and 27 base62 digits.';
COMMENT ON COLUMN adit.principal.kind IS 'user or bot.';
COMMENT ON COLUMN adit.principal.name IS 'What the operator calls it; not shown to callers.';
COMMENT ON COLUMN adit.principal.is_admin IS
    'Whether it may name another User or Bot as the owner of a credential.';
COMMENT ON COLUMN adit.principal.created_at IS 'When it was created.';

CREATE TABLE adit.api_key (
    account_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    description text NOT NULL DEFAULT '',
    read_only boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT api_key_digest_unique UNIQUE (digest),
    CONSTRAINT api_key_principal FOREIGN KEY (account_id, principal_id)
        REFERENCES adit.principal (account_id, id),
    CONSTRAINT api_key_id_form CHECK (id ~ '^ak_[0-9A-Za-z]{27}$'),
    CONSTRAINT api_key_digest_length CHECK (octet_length(digest) = 32),
    CONSTRAINT api_key_description_length CHECK (octet_length(description) <= 255)
);
COMMENT ON TABLE adit.api_key IS 'An API key, of which only the digest is kept.';
COMMENT ON COLUMN adit.api_key.account_id IS 'The account of the User or Bot that holds it.';
COMMENT ON COLUMN adit.api_key.id IS 'Assigned identifier, ak_ and 27 base62 digits; not the key.';
COMMENT ON COLUMN adit.api_key.principal_id IS 'The User or Bot that holds it.';
COMMENT ON COLUMN adit.api_key.digest IS 'SHA-256 of the key.';
COMMENT ON COLUMN adit.api_key.description IS 'What the operator says it is for.';
COMMENT ON COLUMN adit.api_key.read_only IS 'Whether it may only read.';
COMMENT ON COLUMN adit.api_key.created_at IS 'When it was issued.';
COMMENT ON COLUMN adit.api_key.expires_at IS 'From when on it is refused; NULL: never.';
COMMENT ON COLUMN adit.api_key.revoked_at IS 'When it was revoked; NULL: it was not.';

CREATE TABLE adit.ssh_credential (
    account_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    owner_id text COLLATE "C" NOT NULL,
    key_type text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    description text NOT NULL DEFAULT '',
    metadata text NOT NULL DEFAULT '',
    acl text[] NOT NULL DEFAULT '{}',
    public_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, id),
    CONSTRAINT ssh_credential_owner FOREIGN KEY (account_id, owner_id)
        REFERENCES adit.principal (account_id, id),
    CONSTRAINT ssh_credential_id_form CHECK (id ~ '^sshcr_[0-9A-Za-z]{27}$'),
    CONSTRAINT ssh_credential_fingerprint_form CHECK (fingerprint ~ '^SHA256:[0-9A-Za-z+/]{43}$'),
    CONSTRAINT ssh_credential_description_length CHECK (octet_length(description) <= 255),
    CONSTRAINT ssh_credential_metadata_length CHECK (octet_length(metadata) <= 4096),
    CONSTRAINT ssh_credential_public_key_length
        CHECK (octet_length(public_key) BETWEEN 1 AND 16384),
    CONSTRAINT ssh_credential_acl_shape
        CHECK (CASE WHEN coalesce(array_ndims(acl), 1) <> 1 THEN false
               ELSE cardinality(acl) <= 1000 AND array_position(acl, NULL) IS NULL END)
);
CREATE INDEX ssh_credential_owner ON adit.ssh_credential (account_id, owner_id);
CREATE INDEX ssh_credential_fingerprint ON adit.ssh_credential (fingerprint);
COMMENT ON TABLE adit.ssh_credential IS
    'An SSH credential: a public key that may open tunnels, and what it may bind.';
COMMENT ON COLUMN adit.ssh_credential.account_id IS 'The account it belongs to.';
COMMENT ON COLUMN adit.ssh_credential.id IS 'Assigned identifier, sshcr_ and 27 base62 digits.';
COMMENT ON COLUMN adit.ssh_credential.owner_id IS 'The User or Bot that owns it.';
COMMENT ON COLUMN adit.ssh_credential.key_type IS 'SSH name of the type of the key.';
COMMENT ON COLUMN adit.ssh_credential.fingerprint IS
    'SHA-256 of the key''s wire form, as ssh-keygen -l prints it: the same key has one fingerprint, whichever form it was given in.';
COMMENT ON COLUMN adit.ssh_credential.description IS 'Who or what uses it; at most 255 bytes.';
COMMENT ON COLUMN adit.ssh_credential.metadata IS 'Whatever the caller keeps here; at most 4096 bytes.';
COMMENT ON COLUMN adit.ssh_credential.acl IS
    'ACL rules, which add up; without one there is no restriction.';
COMMENT ON COLUMN adit.ssh_credential.public_key IS 'The public key, byte for byte as it was given.';
COMMENT ON COLUMN adit.ssh_credential.created_at IS 'When it was created.';

CREATE TABLE adit.oauth_module (
    account_id text COLLATE "C" NOT NULL REFERENCES adit.account (id),
    edge_id text COLLATE "C" NOT NULL,
    route_id text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    provider smallint,
    client_id text,
    client_secret_key_id text COLLATE "C",
    client_secret_sealed bytea,
    scopes text[] NOT NULL DEFAULT '{}',
    email_addresses text[] NOT NULL DEFAULT '{}',
    email_domains text[] NOT NULL DEFAULT '{}',
    teams text[] NOT NULL DEFAULT '{}',
    organizations text[] NOT NULL DEFAULT '{}',
    options_passthrough boolean NOT NULL,
    cookie_prefix text,
    inactivity_timeout bigint NOT NULL,
    maximum_duration bigint NOT NULL,
    auth_check_interval bigint NOT NULL,
    PRIMARY KEY (account_id, edge_id, route_id),
    CONSTRAINT oauth_module_edge_id_form
        CHECK (edge_id ~ '^[A-Za-z0-9._~-]{1,255}$' AND edge_id NOT IN ('.', '..')),
    CONSTRAINT oauth_module_route_id_form
        CHECK (route_id ~ '^[A-Za-z0-9._~-]{1,255}$' AND route_id NOT IN ('.', '..')),
    CONSTRAINT oauth_module_provider CHECK (provider BETWEEN 1 AND 8),
    CONSTRAINT oauth_module_client
        CHECK ((client_id IS NULL) = (client_secret_sealed IS NULL)
               AND (client_secret_sealed IS NULL) = (client_secret_key_id IS NULL)),
    CONSTRAINT oauth_module_scopes_need_client
        CHECK (client_id IS NOT NULL OR cardinality(scopes) = 0),
    CONSTRAINT oauth_module_config_needs_provider
        CHECK (provider IS NOT NULL
               OR (client_id IS NULL AND cardinality(email_addresses) = 0
                   AND cardinality(email_domains) = 0)),
    CONSTRAINT oauth_module_hosting_fields
        CHECK (provider IS NOT DISTINCT FROM 1
               OR (cardinality(teams) = 0 AND cardinality(organizations) = 0)),
    CONSTRAINT oauth_module_lengths
        CHECK (octet_length(client_id) BETWEEN 1 AND 1024
               AND octet_length(client_secret_sealed) BETWEEN 29 AND 1052
               AND octet_length(cookie_prefix) BETWEEN 1 AND 100),
    CONSTRAINT oauth_module_lists
        CHECK (cardinality(scopes) <= 1000 AND cardinality(email_addresses) <= 1000
               AND cardinality(email_domains) <= 1000 AND cardinality(teams) <= 1000
               AND cardinality(organizations) <= 1000
               AND array_position(scopes || email_addresses || email_domains || teams
                                  || organizations, NULL) IS NULL),
    CONSTRAINT oauth_module_uint32
        CHECK (inactivity_timeout BETWEEN 0 AND 4294967295
               AND maximum_duration BETWEEN 0 AND 4294967295
               AND auth_check_interval BETWEEN 0 AND 4294967295)
);
COMMENT ON TABLE adit.oauth_module IS
    'The OAuth module of a route of an HTTPS edge: who may pass the route.';
COMMENT ON COLUMN adit.oauth_module.account_id IS 'The account it belongs to.';
COMMENT ON COLUMN adit.oauth_module.edge_id IS 'The HTTPS edge; edges are managed elsewhere.';
COMMENT ON COLUMN adit.oauth_module.route_id IS 'The route of the edge.';
COMMENT ON COLUMN adit.oauth_module.enabled IS 'Whether the module applies to traffic.';
COMMENT ON COLUMN adit.oauth_module.provider IS
    'Position of the identity provider in the settings, 1 to 8; NULL: none is selected.';
COMMENT ON COLUMN adit.oauth_module.client_id IS
    'Client of the OAuth app; NULL: the managed application is used.';
COMMENT ON COLUMN adit.oauth_module.client_secret_key_id IS
    'Which key of the key file the client secret is sealed under.';
COMMENT ON COLUMN adit.oauth_module.client_secret_sealed IS
    'The client secret under AES-256-GCM, bound to this row: nonce, ciphertext, tag.';
COMMENT ON COLUMN adit.oauth_module.scopes IS 'OAuth scopes requested.';
COMMENT ON COLUMN adit.oauth_module.email_addresses IS 'Email addresses of users who are let in.';
COMMENT ON COLUMN adit.oauth_module.email_domains IS 'Email domains of users who are let in.';
COMMENT ON COLUMN adit.oauth_module.teams IS
    'Teams, <org>/<team>, whose members are let in; first provider only.';
COMMENT ON COLUMN adit.oauth_module.organizations IS
    'Organizations whose members are let in; first provider only.';
COMMENT ON COLUMN adit.oauth_module.options_passthrough IS
    'Whether HTTP OPTIONS requests pass without authentication.';
COMMENT ON COLUMN adit.oauth_module.cookie_prefix IS
    'Prefix of the session cookie; NULL: the default of the settings.';
COMMENT ON COLUMN adit.oauth_module.inactivity_timeout IS
    'Seconds of inactivity after which a session ends; 0: unset.';
COMMENT ON COLUMN adit.oauth_module.maximum_duration IS 'Seconds that a session lasts; 0: unset.';
COMMENT ON COLUMN adit.oauth_module.auth_check_interval IS
    'Seconds after which authorization is checked again; 0: unset.';

CREATE TABLE adit.mutual_tls_module (
    account_id text COLLATE "C" NOT NULL REFERENCES adit.account (id),
    edge_id text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    certificate_authority_ids text[] COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (account_id, edge_id),
    CONSTRAINT mutual_tls_module_edge_id_form
        CHECK (edge_id ~ '^[A-Za-z0-9._~-]{1,255}$' AND edge_id NOT IN ('.', '..')),
    CONSTRAINT mutual_tls_module_list
        CHECK (cardinality(certificate_authority_ids) <= 1000
               AND array_position(certificate_authority_ids, NULL) IS NULL)
);
COMMENT ON TABLE adit.mutual_tls_module IS
    'The mutual TLS module of a TLS edge: whose client certificates it trusts.';
COMMENT ON COLUMN adit.mutual_tls_module.account_id IS 'The account it belongs to.';
COMMENT ON COLUMN adit.mutual_tls_module.edge_id IS 'The TLS edge; edges are managed elsewhere.';
COMMENT ON COLUMN adit.mutual_tls_module.enabled IS 'Whether the module applies to traffic.';
COMMENT ON COLUMN adit.mutual_tls_module.certificate_authority_ids IS
    'Certificate authorities that client certificates are checked against, in the given order.';
