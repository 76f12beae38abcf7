-- The schema of Adit, from top to bottom: people and their keys, what they manage, what else is kept, the
-- record of changes, the triggers, and what aditctl writes rows with.  "aditctl migrate" applies this file as
-- version 1, the migrations 002_*.sql and later after it, and grants.sql at the end, which says what each role
-- may do.
--
-- Every key starts with the account, so no query reaches across accounts.  Identifiers are compared byte
-- by byte (COLLATE "C"), so assigned ones sort by age.

CREATE SCHEMA IF NOT EXISTS adit;
COMMENT ON SCHEMA adit IS 'Adit: who may open a tunnel, pass a route, and be trusted by an edge.';

CREATE TABLE adit.migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE adit.migration IS 'The migrations that were applied to this schema.';
COMMENT ON COLUMN adit.migration.version IS 'Number of the migration.';
COMMENT ON COLUMN adit.migration.name IS 'Name of its file.';
COMMENT ON COLUMN adit.migration.applied_at IS 'When it was applied.';

-- ---- people and their keys ----

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
    disabled_at timestamptz,
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
COMMENT ON COLUMN adit.principal.disabled_at IS
    'From when on all of its API keys are refused; NULL: they are not.';
COMMENT ON COLUMN adit.principal.created_at IS 'When it was created.';

CREATE TABLE adit.api_key (
    account_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    disabled_digest bytea,
    description text NOT NULL DEFAULT '',
    read_only boolean NOT NULL DEFAULT false,
    scope text NOT NULL DEFAULT 'account',
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    PRIMARY KEY (account_id, id),
    CONSTRAINT api_key_digest_unique UNIQUE (digest),
    CONSTRAINT api_key_principal FOREIGN KEY (account_id, principal_id)
        REFERENCES adit.principal (account_id, id),
    CONSTRAINT api_key_id_form CHECK (id ~ '^ak_[0-9A-Za-z]{27}$'),
    CONSTRAINT api_key_digest_length CHECK (octet_length(digest) = 32),
    CONSTRAINT api_key_disabled_digest_length CHECK (octet_length(disabled_digest) = 32),
    CONSTRAINT api_key_description_length CHECK (octet_length(description) <= 255),
    CONSTRAINT api_key_scope CHECK (scope IN ('account', 'gateway', 'own')),
    -- Most statements that change something ask only for read_only.
    CONSTRAINT api_key_gateway_reads CHECK (scope <> 'gateway' OR read_only),
    CONSTRAINT api_key_own_reads CHECK (scope <> 'own' OR read_only)
);
COMMENT ON TABLE adit.api_key IS 'An API key, of which only the digest is kept.';
COMMENT ON COLUMN adit.api_key.account_id IS 'The account of the User or Bot that holds it.';
COMMENT ON COLUMN adit.api_key.id IS 'Assigned identifier, ak_ and 27 base62 digits; not the key.';
COMMENT ON COLUMN adit.api_key.principal_id IS 'The User or Bot that holds it.';
COMMENT ON COLUMN adit.api_key.digest IS 'SHA-256 of the key.';
COMMENT ON COLUMN adit.api_key.disabled_digest IS
    'While its User or Bot is disabled: SHA-256 of the key.  digest then belongs to no key.  NULL: it is not disabled.';
COMMENT ON COLUMN adit.api_key.description IS 'What the operator says it is for.';
COMMENT ON COLUMN adit.api_key.read_only IS 'Whether it may only read.';
COMMENT ON COLUMN adit.api_key.scope IS
    'What it may ask: account, everything that read_only permits; gateway, only decisions; own, reads, and changes of the SSH credentials that its User or Bot owns.';
COMMENT ON COLUMN adit.api_key.created_at IS 'When it was issued.';
COMMENT ON COLUMN adit.api_key.expires_at IS 'From when on it is refused; NULL: never.';
COMMENT ON COLUMN adit.api_key.revoked_at IS 'When it was revoked; NULL: it was not.';

-- A table of its own: every request reads api_key, and every change of that is recorded.
CREATE TABLE adit.api_key_use (
    account_id text COLLATE "C" NOT NULL,
    api_key_id text COLLATE "C" NOT NULL,
    used_at timestamptz NOT NULL,
    client_address inet,
    PRIMARY KEY (account_id, api_key_id),
    CONSTRAINT api_key_use_key FOREIGN KEY (account_id, api_key_id)
        REFERENCES adit.api_key (account_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON TABLE adit.api_key_use IS
    'When and from where each API key was last used, to within five minutes.';
COMMENT ON COLUMN adit.api_key_use.account_id IS 'The account of the key.';
COMMENT ON COLUMN adit.api_key_use.api_key_id IS 'The key.';
COMMENT ON COLUMN adit.api_key_use.used_at IS 'When it was last used.';
COMMENT ON COLUMN adit.api_key_use.client_address IS
    'The client''s address, as the web server told it; NULL: it told none.';

-- ---- what they manage ----

-- A random number below 2^53, not a counter.  A shared counter would tell each account how much
-- the others change.  A counter for each resource would repeat after a delete and a new create.
CREATE FUNCTION adit.new_revision() RETURNS bigint LANGUAGE sql VOLATILE
RETURN floor(pg_catalog.random() * 9007199254740992)::bigint;
COMMENT ON FUNCTION adit.new_revision() IS 'A revision: a random number.';

-- Each of these tables has the conditions that name one column in the domain of that column.  PostgreSQL reads
-- and plans the CHECKs of a table for each statement, and those of a domain once a session, and an UPDATE checks
-- only the columns that it sets.  No form has {27} or {1,255}: for them, PostgreSQL builds a
-- state for each character anew, for each row.
CREATE DOMAIN adit.text_list AS text[]
    CONSTRAINT text_list_shape CHECK (cardinality(VALUE) <= 1000 AND array_position(VALUE, NULL) IS NULL);
COMMENT ON DOMAIN adit.text_list IS 'At most 1000 texts.';
CREATE DOMAIN adit.ssh_credential_id AS text COLLATE "C"
    CONSTRAINT ssh_credential_id_form
        CHECK (octet_length(VALUE) = 33 AND VALUE ~ '^sshcr_[0-9A-Za-z]+$');
COMMENT ON DOMAIN adit.ssh_credential_id IS 'sshcr_ and 27 base62 digits.';
CREATE DOMAIN adit.ssh_fingerprint AS text COLLATE "C"
    CONSTRAINT ssh_credential_fingerprint_form
        CHECK (octet_length(VALUE) = 50 AND VALUE ~ '^SHA256:[0-9A-Za-z+/]+$');
COMMENT ON DOMAIN adit.ssh_fingerprint IS 'SHA256: and 43 base64 digits.';
CREATE DOMAIN adit.ssh_credential_description AS text
    CONSTRAINT ssh_credential_description_length CHECK (octet_length(VALUE) <= 255);
COMMENT ON DOMAIN adit.ssh_credential_description IS 'At most 255 bytes.';
CREATE DOMAIN adit.ssh_credential_metadata AS text
    CONSTRAINT ssh_credential_metadata_length CHECK (octet_length(VALUE) <= 4096);
COMMENT ON DOMAIN adit.ssh_credential_metadata IS 'At most 4096 bytes.';
CREATE DOMAIN adit.ssh_public_key AS text
    CONSTRAINT ssh_credential_public_key_length CHECK (octet_length(VALUE) BETWEEN 1 AND 16384);
COMMENT ON DOMAIN adit.ssh_public_key IS '1 to 16384 bytes.';
CREATE DOMAIN adit.ssh_credential_standing AS text COLLATE "C"
    CONSTRAINT ssh_credential_standing CHECK (VALUE IN ('given', 'own', 'superseded'));
COMMENT ON DOMAIN adit.ssh_credential_standing IS 'given, own or superseded.';
CREATE DOMAIN adit.ssh_credential_acl AS text[]
    CONSTRAINT ssh_credential_acl_shape
        CHECK (CASE WHEN coalesce(array_ndims(VALUE), 1) <> 1 THEN false
               ELSE cardinality(VALUE) <= 1000 AND array_position(VALUE, NULL) IS NULL END);
COMMENT ON DOMAIN adit.ssh_credential_acl IS 'A list of at most 1000 rules.';
CREATE DOMAIN adit.edge_part AS text COLLATE "C"
    CONSTRAINT edge_part_form
        CHECK (octet_length(VALUE) BETWEEN 1 AND 255 AND VALUE !~ '[^A-Za-z0-9._~-]'
               AND VALUE NOT IN ('.', '..'));
COMMENT ON DOMAIN adit.edge_part IS 'The name of an edge or of a route, as it stands in a URL.';
CREATE DOMAIN adit.oauth_provider AS smallint
    CONSTRAINT oauth_module_provider CHECK (VALUE BETWEEN 1 AND 32);
COMMENT ON DOMAIN adit.oauth_provider IS 'Position of an identity provider, from 1.';
CREATE DOMAIN adit.oauth_client_id AS text
    CONSTRAINT oauth_module_client_id_length CHECK (octet_length(VALUE) BETWEEN 1 AND 1024);
COMMENT ON DOMAIN adit.oauth_client_id IS '1 to 1024 bytes.';
CREATE DOMAIN adit.oauth_client_secret AS bytea
    CONSTRAINT oauth_module_client_secret_length CHECK (octet_length(VALUE) BETWEEN 29 AND 1052);
COMMENT ON DOMAIN adit.oauth_client_secret IS 'A sealed secret of 1 to 1024 bytes.';
CREATE DOMAIN adit.cookie_prefix AS text
    CONSTRAINT oauth_module_cookie_prefix_length CHECK (octet_length(VALUE) BETWEEN 1 AND 100);
COMMENT ON DOMAIN adit.cookie_prefix IS '1 to 100 bytes.';
CREATE DOMAIN adit.uint32 AS bigint
    CONSTRAINT uint32_range CHECK (VALUE BETWEEN 0 AND 4294967295);
COMMENT ON DOMAIN adit.uint32 IS '0 to 4294967295.';

CREATE TABLE adit.ssh_credential (
    account_id text COLLATE "C" NOT NULL,
    id adit.ssh_credential_id NOT NULL,
    owner_id text COLLATE "C" NOT NULL,
    key_type text COLLATE "C" NOT NULL,
    fingerprint adit.ssh_fingerprint NOT NULL,
    description adit.ssh_credential_description NOT NULL DEFAULT '',
    metadata adit.ssh_credential_metadata NOT NULL DEFAULT '',
    acl adit.ssh_credential_acl NOT NULL DEFAULT '{}',
    public_key adit.ssh_public_key NOT NULL,
    enabled boolean NOT NULL DEFAULT true,
    standing adit.ssh_credential_standing NOT NULL DEFAULT 'given',
    is_timely boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revision bigint NOT NULL DEFAULT adit.new_revision(),
    PRIMARY KEY (account_id, id),
    CONSTRAINT ssh_credential_owner FOREIGN KEY (account_id, owner_id)
        REFERENCES adit.principal (account_id, id)
);
-- Finds the credentials of one account with a key, in the order of their identifiers, however many
-- other accounts have that key.  It also serves queries by the fingerprint alone.
CREATE INDEX ssh_credential_fingerprint_account
    ON adit.ssh_credential (fingerprint, account_id, id);
-- Finds the credentials of an owner in the order of their identifiers.  It also serves the foreign key.
CREATE INDEX ssh_credential_owner_id ON adit.ssh_credential (account_id, owner_id, id);
-- A filter by created_at reads only the identifiers of that time.  This index has the other credentials: rows
-- that came from elsewhere.  In most databases it is empty.
CREATE INDEX ssh_credential_untimely ON adit.ssh_credential (account_id, created_at, id) WHERE NOT is_timely;
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
COMMENT ON COLUMN adit.ssh_credential.enabled IS
    'Whether it grants anything; false: it is paused, as if it were not there.';
COMMENT ON COLUMN adit.ssh_credential.standing IS
    'given: from somebody who may change everything.  own: from an API key for own credentials alone.  superseded: own, and another owner has got the public key from somebody who may change everything since: it grants nothing.';
COMMENT ON COLUMN adit.ssh_credential.is_timely IS
    'Whether created_at is at most 1.5 s from the time in id, as far as that was looked at.';
COMMENT ON COLUMN adit.ssh_credential.created_at IS 'When it was created.';
COMMENT ON COLUMN adit.ssh_credential.revision IS 'Changes whenever the row does: its ETag.';

CREATE TABLE adit.oauth_module (
    account_id text COLLATE "C" NOT NULL REFERENCES adit.account (id),
    edge_id adit.edge_part NOT NULL,
    route_id adit.edge_part NOT NULL,
    enabled boolean NOT NULL,
    provider adit.oauth_provider,
    client_id adit.oauth_client_id,
    client_secret_key_id text COLLATE "C",
    client_secret_sealed adit.oauth_client_secret,
    scopes adit.text_list NOT NULL DEFAULT '{}',
    email_addresses adit.text_list NOT NULL DEFAULT '{}',
    email_domains adit.text_list NOT NULL DEFAULT '{}',
    teams adit.text_list NOT NULL DEFAULT '{}',
    organizations adit.text_list NOT NULL DEFAULT '{}',
    options_passthrough boolean NOT NULL,
    cookie_prefix adit.cookie_prefix,
    inactivity_timeout adit.uint32 NOT NULL,
    maximum_duration adit.uint32 NOT NULL,
    auth_check_interval adit.uint32 NOT NULL,
    revision bigint NOT NULL DEFAULT adit.new_revision(),
    incarnation bigint NOT NULL DEFAULT adit.new_revision(),
    PRIMARY KEY (account_id, edge_id, route_id),
    CONSTRAINT oauth_module_client
        CHECK ((client_id IS NULL) = (client_secret_sealed IS NULL)
               AND (client_secret_sealed IS NULL) = (client_secret_key_id IS NULL)),
    CONSTRAINT oauth_module_scopes_need_client
        CHECK (client_id IS NOT NULL OR cardinality(scopes) = 0),
    CONSTRAINT oauth_module_config_needs_provider
        CHECK (provider IS NOT NULL
               OR (client_id IS NULL AND cardinality(email_addresses) = 0
                   AND cardinality(email_domains) = 0)),
    -- The positions of the providers that have teams: tests/guards compares them with the table.
    CONSTRAINT oauth_module_hosting_fields
        CHECK (coalesce(provider, 0) IN (1)
               OR (cardinality(teams) = 0 AND cardinality(organizations) = 0))
);
COMMENT ON TABLE adit.oauth_module IS
    'The OAuth module of a route of an HTTPS edge: who may pass the route.';
COMMENT ON COLUMN adit.oauth_module.account_id IS 'The account it belongs to.';
COMMENT ON COLUMN adit.oauth_module.edge_id IS 'The HTTPS edge; edges are managed elsewhere.';
COMMENT ON COLUMN adit.oauth_module.route_id IS 'The route of the edge.';
COMMENT ON COLUMN adit.oauth_module.enabled IS 'Whether the module applies to traffic.';
COMMENT ON COLUMN adit.oauth_module.provider IS
    'Position of the identity provider in the settings, from 1; NULL: none is selected.';
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
    'Teams, <org>/<team>, whose members are let in; of a provider that has teams.';
COMMENT ON COLUMN adit.oauth_module.organizations IS
    'Organizations whose members are let in; of a provider that has teams.';
COMMENT ON COLUMN adit.oauth_module.options_passthrough IS
    'Whether HTTP OPTIONS requests pass without authentication.';
COMMENT ON COLUMN adit.oauth_module.cookie_prefix IS
    'Prefix of the session cookie; NULL: the default of the settings.';
COMMENT ON COLUMN adit.oauth_module.inactivity_timeout IS
    'Seconds of inactivity after which a session ends; 0: unset.';
COMMENT ON COLUMN adit.oauth_module.maximum_duration IS 'Seconds that a session lasts; 0: unset.';
COMMENT ON COLUMN adit.oauth_module.auth_check_interval IS
    'Seconds after which authorization is checked again; 0: unset.';
COMMENT ON COLUMN adit.oauth_module.revision IS 'Changes whenever the row does: its ETag.';
COMMENT ON COLUMN adit.oauth_module.incarnation IS
    'A random number, which changes with provider, client_id and cookie_prefix.  Sessions of visitors are valid for it.';

CREATE TABLE adit.mutual_tls_module (
    account_id text COLLATE "C" NOT NULL REFERENCES adit.account (id),
    edge_id adit.edge_part NOT NULL,
    enabled boolean NOT NULL,
    certificate_authority_ids adit.text_list COLLATE "C" NOT NULL DEFAULT '{}',
    revision bigint NOT NULL DEFAULT adit.new_revision(),
    PRIMARY KEY (account_id, edge_id)
);
COMMENT ON TABLE adit.mutual_tls_module IS
    'The mutual TLS module of a TLS edge: whose client certificates it trusts.';
COMMENT ON COLUMN adit.mutual_tls_module.account_id IS 'The account it belongs to.';
COMMENT ON COLUMN adit.mutual_tls_module.edge_id IS 'The TLS edge; edges are managed elsewhere.';
COMMENT ON COLUMN adit.mutual_tls_module.enabled IS 'Whether the module applies to traffic.';
COMMENT ON COLUMN adit.mutual_tls_module.certificate_authority_ids IS
    'Certificate authorities that client certificates are checked against, in the given order.';
COMMENT ON COLUMN adit.mutual_tls_module.revision IS 'Changes whenever the row does: its ETag.';

-- ---- what else is kept ----

CREATE TABLE adit.idempotency_key (
    account_id text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    request_digest bytea NOT NULL,
    answer jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, principal_id, key),
    CONSTRAINT idempotency_key_principal FOREIGN KEY (account_id, principal_id)
        REFERENCES adit.principal (account_id, id),
    CONSTRAINT idempotency_key_length CHECK (octet_length(key) BETWEEN 1 AND 255),
    CONSTRAINT idempotency_key_digest_length CHECK (octet_length(request_digest) = 32)
);
COMMENT ON TABLE adit.idempotency_key IS
    'What was made by requests with an Idempotency-Key, as they were answered; ''aditctl purge'' removes old ones.';
COMMENT ON COLUMN adit.idempotency_key.account_id IS 'The account of the User or Bot.';
COMMENT ON COLUMN adit.idempotency_key.principal_id IS 'The User or Bot that sent it.';
COMMENT ON COLUMN adit.idempotency_key.key IS 'The value of the header.';
COMMENT ON COLUMN adit.idempotency_key.request_digest IS 'SHA-256 of the request''s body.';
COMMENT ON COLUMN adit.idempotency_key.answer IS 'The row that was made, as it was then.';
COMMENT ON COLUMN adit.idempotency_key.created_at IS
    'When it was created, and from when on the key is kept for a day at least.';

-- A session is in a cookie of the visitor.  A row is here if it does not fit into one, and if the
-- visitor has signed out: whoever has a copy of the cookie does not pass then.
CREATE TABLE adit.gate_session (
    id text COLLATE "C" PRIMARY KEY,
    key_id text COLLATE "C",
    sealed bytea,
    ends_at timestamptz NOT NULL,
    CONSTRAINT gate_session_id_form CHECK (id ~ '^[A-Za-z0-9_-]{22}$'),
    CONSTRAINT gate_session_sealed CHECK ((key_id IS NULL) = (sealed IS NULL))
);
CREATE INDEX gate_session_ends_at ON adit.gate_session (ends_at);
COMMENT ON TABLE adit.gate_session IS
    'Sessions of visitors of routes that do not fit into a cookie, and those that were signed out.';
COMMENT ON COLUMN adit.gate_session.id IS 'The session''s random id, which its cookie names.';
COMMENT ON COLUMN adit.gate_session.key_id IS
    'The key of the key file that seals the row; NULL: the visitor has signed out.';
COMMENT ON COLUMN adit.gate_session.sealed IS
    'Who the visitor is, encrypted: addresses, organizations, teams, the provider''s token.';
COMMENT ON COLUMN adit.gate_session.ends_at IS
    'A day after the session ends at the latest.  adit-gate deletes the row then.';

-- ---- the record of changes ----

CREATE TABLE adit.audit_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    event text COLLATE "C" NOT NULL,
    account_id text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C",
    api_key_id text COLLATE "C",
    operation_id text COLLATE "C",
    client_address text COLLATE "C",
    operator text COLLATE "C",
    database_user text NOT NULL DEFAULT session_user,
    before jsonb,
    after jsonb,
    changed text[] COLLATE "C",
    transaction xid8 DEFAULT pg_current_xact_id()
);
CREATE INDEX audit_event_account ON adit.audit_event (account_id, id);
CREATE INDEX audit_event_resource ON adit.audit_event (account_id, resource);
CREATE INDEX audit_event_transaction ON adit.audit_event (transaction) WHERE transaction IS NOT NULL;
COMMENT ON TABLE adit.audit_event IS
    'Every change: who made it, and the row before and after it.  The responder cannot write here, nor change what is here.';
COMMENT ON COLUMN adit.audit_event.id IS
    'Numbers the events of all accounts together, with gaps: a change that is rolled back uses up a number, and so does a check of aditctl doctor.';
COMMENT ON COLUMN adit.audit_event.at IS 'When the change was made.';
COMMENT ON COLUMN adit.audit_event.event IS
    'What happened: the table''s name and _created, _updated, _deleted or _rekeyed.';
COMMENT ON COLUMN adit.audit_event.account_id IS 'The account that it happened in.';
COMMENT ON COLUMN adit.audit_event.resource IS
    'Identifier of what was changed: its id, or edge_id, or edge_id/route_id.';
COMMENT ON COLUMN adit.audit_event.principal_id IS
    'The User or Bot that asked for it; NULL: it did not come through the interface.';
COMMENT ON COLUMN adit.audit_event.api_key_id IS 'The API key that it was asked for with.';
COMMENT ON COLUMN adit.audit_event.operation_id IS 'The operation id of the request.';
COMMENT ON COLUMN adit.audit_event.client_address IS
    'The address that the request came from, as the web server says; NULL: it did not come through the interface.';
COMMENT ON COLUMN adit.audit_event.operator IS
    'The system user that ran aditctl, as aditctl says; NULL: the session may not act as the owner of the tables, or it was not aditctl.';
COMMENT ON COLUMN adit.audit_event.database_user IS
    'The role that the session logged in as.  No setting changes it.';
COMMENT ON COLUMN adit.audit_event.before IS
    'The row before the change, secrets left out; NULL: there was none.';
COMMENT ON COLUMN adit.audit_event.after IS
    'The row after the change, secrets left out; NULL: there is none.';
COMMENT ON COLUMN adit.audit_event.changed IS
    'The columns that an update changed, without revision, which every update changes.  client_secret stands for the sealed one, which changes whenever a secret is set, also to what it was.  NULL: not an update.';
COMMENT ON COLUMN adit.audit_event.transaction IS
    'The transaction that made the change, for adit.changes().  NULL: it came from a database whose transactions are not those of this one.';

-- PostgreSQL accepts no writes through a view with a join.  A name that no table has any more is in the
-- record of the deletion.
CREATE VIEW adit.audit AS
SELECT e.at, e.event, e.resource, e.account_id,
    coalesce(a.name, (SELECT d.before ->> 'name' FROM adit.audit_event AS d
                      WHERE d.account_id = e.account_id AND d.resource = e.account_id
                      AND d.event = 'account_deleted' ORDER BY d.id DESC LIMIT 1)) AS account,
    e.principal_id,
    coalesce(p.name, (SELECT d.before ->> 'name' FROM adit.audit_event AS d
                      WHERE d.account_id = e.account_id AND d.resource = e.principal_id
                      AND d.event = 'principal_deleted' ORDER BY d.id DESC LIMIT 1)) AS principal,
    e.api_key_id,
    coalesce(k.description, (SELECT d.before ->> 'description' FROM adit.audit_event AS d
                             WHERE d.account_id = e.account_id AND d.resource = e.api_key_id
                             AND d.event = 'api_key_deleted' ORDER BY d.id DESC LIMIT 1)) AS api_key,
    e.operation_id, e.client_address, e.operator, e.database_user, e.before, e.after, e.changed, e.id
FROM adit.audit_event AS e
LEFT JOIN adit.account AS a ON a.id = e.account_id
LEFT JOIN adit.principal AS p ON p.account_id = e.account_id AND p.id = e.principal_id
LEFT JOIN adit.api_key AS k ON k.account_id = e.account_id AND k.id = e.api_key_id;
COMMENT ON VIEW adit.audit IS
    'Every change, with the names of whoever made it; for reading: SELECT * FROM adit.audit ORDER BY id.';
COMMENT ON COLUMN adit.audit.at IS 'When the change was made.';
COMMENT ON COLUMN adit.audit.event IS 'What happened.';
COMMENT ON COLUMN adit.audit.resource IS 'Identifier of what was changed.';
COMMENT ON COLUMN adit.audit.account_id IS 'The account that it happened in.';
COMMENT ON COLUMN adit.audit.account IS 'The account''s name.';
COMMENT ON COLUMN adit.audit.principal_id IS
    'The User or Bot that asked for it; NULL: it did not come through the interface.';
COMMENT ON COLUMN adit.audit.principal IS 'Its name.';
COMMENT ON COLUMN adit.audit.api_key_id IS 'The API key that it was asked for with.';
COMMENT ON COLUMN adit.audit.api_key IS 'The key''s description.';
COMMENT ON COLUMN adit.audit.operation_id IS 'The operation id of the request.';
COMMENT ON COLUMN adit.audit.client_address IS 'The address that the request came from.';
COMMENT ON COLUMN adit.audit.operator IS 'The system user that ran aditctl.';
COMMENT ON COLUMN adit.audit.database_user IS 'The role of the database session.';
COMMENT ON COLUMN adit.audit.before IS 'The row before the change, secrets left out.';
COMMENT ON COLUMN adit.audit.after IS 'The row after the change, secrets left out.';
COMMENT ON COLUMN adit.audit.changed IS
    'The columns that an update changed; a secret goes by its name in the interface.';
COMMENT ON COLUMN adit.audit.id IS 'Number of the event.';

-- How far events were removed.  A reader whose snapshot does not have all of those must begin anew.
CREATE TABLE adit.audit_pruned (
    is_only boolean PRIMARY KEY DEFAULT true,
    transaction xid8,
    CONSTRAINT audit_pruned_is_only CHECK (is_only)
);
COMMENT ON TABLE adit.audit_pruned IS
    'One row: how far events were removed from the record of changes.';
COMMENT ON COLUMN adit.audit_pruned.is_only IS 'Always true, so that there is one row.';
COMMENT ON COLUMN adit.audit_pruned.transaction IS
    'The latest transaction of this cluster among the events that were removed, 0 if only others were; NULL: none was.';
INSERT INTO adit.audit_pruned DEFAULT VALUES;

-- A dump brings numbers of transactions from another cluster.  If that was ahead, its numbers would
-- hide the lower ones of this cluster: a number that this cluster has not reached counts as 0, and so
-- does an event without one.  Only a snapshot that is younger than the lock has reached what another
-- session noted.
CREATE FUNCTION adit.note_pruned() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    reached xid8;
    latest xid8;
BEGIN
    IF TG_OP = 'TRUNCATE'
       AND current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE 'TRUNCATE of adit.% needs READ COMMITTED', TG_TABLE_NAME USING ERRCODE = '25001',
            DETAIL = 'It would not note the events that the snapshot does not show.';
    END IF;
    PERFORM FROM adit.audit_pruned FOR UPDATE;
    reached := greatest(pg_snapshot_xmax(pg_current_snapshot()), pg_current_xact_id());
    IF TG_OP = 'TRUNCATE' THEN
        SELECT coalesce((SELECT e.transaction FROM adit.audit_event AS e
                         WHERE e.transaction <= reached ORDER BY e.transaction DESC LIMIT 1), '0')
            INTO latest FROM adit.audit_event LIMIT 1;
    ELSE
        SELECT CASE WHEN g.transaction <= reached THEN g.transaction ELSE '0' END AS transaction
            INTO latest FROM gone AS g ORDER BY transaction DESC LIMIT 1;
    END IF;
    UPDATE adit.audit_pruned AS p SET transaction = latest
        WHERE latest IS NOT NULL AND (p.transaction BETWEEN latest AND reached) IS NOT TRUE;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.note_pruned() IS 'Notes how far events were removed.';
REVOKE ALL ON FUNCTION adit.note_pruned() FROM PUBLIC;
CREATE TRIGGER note_pruned AFTER DELETE ON adit.audit_event REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION adit.note_pruned();
CREATE TRIGGER note_truncated BEFORE TRUNCATE ON adit.audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION adit.note_pruned();

-- The record as a feed.  A reader keeps the snapshot of its last call, and each change that commits comes
-- to it once, whatever order commits have.
--
-- An event that the snapshot "since" does not have is of a transaction that began after it, or of
-- one that was open then and has ended.  These two ranges are read.  A scan from the snapshot's xmin
-- would read all events again for as long as any transaction of the cluster stays open.  Snapshots
-- and audit_event.transaction name no subtransactions.
--
-- pg_restore brings rows with the transactions of another cluster.  Those are no changes here: their
-- row was written before the transaction of that number began, which age() compares.  Rows of
-- adit.migration are as old as the schema, its last migration or its restore.
--
-- The planner does not know that the ranges are short: the settings keep it on the index.
CREATE FUNCTION adit.changes(since pg_snapshot)
RETURNS TABLE (snapshot pg_snapshot, complete boolean, id bigint, at timestamptz, event text,
               account_id text, resource text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    present CONSTANT pg_snapshot := pg_current_snapshot();
    first CONSTANT xid8 := pg_snapshot_xmax(since);
    last CONSTANT xid8 := pg_snapshot_xmax(present);
    ended xid8[];
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE 'adit.changes() needs the primary server' USING ERRCODE = '25006',
            DETAIL = 'Snapshots of a standby do not name the transactions in progress.';
    ELSIF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE 'adit.changes() cannot run in a transaction that writes' USING ERRCODE = '25001',
            DETAIL = 'A snapshot does not say whether it has changes of its own transaction.';
    END IF;
    -- The same snapshot sees the same rows.  This is what a poll of an idle server takes.
    IF since::text = present::text THEN
        snapshot := present;
        complete := true;
        RETURN NEXT;
        RETURN;
    END IF;
    -- Nothing to go on from; of another cluster; events are gone; the schema is younger.
    IF since IS NULL OR first > last
       OR EXISTS (SELECT FROM adit.audit_pruned AS p
                  WHERE p.transaction >= pg_snapshot_xmin(since) AND p.transaction < last)
       OR EXISTS (SELECT FROM adit.migration AS m
                  WHERE age(m.xmin) BETWEEN 0 AND age(first::xid)
                     OR m.xmin IN (SELECT x::xid FROM pg_snapshot_xip(since) AS x)) THEN
        RETURN QUERY SELECT present, false, NULL::bigint, NULL::timestamptz, NULL, NULL, NULL;
        RETURN;
    END IF;
    ended := ARRAY(SELECT x FROM pg_snapshot_xip(since) AS x
                   WHERE pg_visible_in_snapshot(x, present));
    -- "IS NOT NULL" names the partial index, where the planner cannot conclude it.
    RETURN QUERY
        SELECT present, true, n.id, n.at, n.event, n.account_id, n.resource
        FROM (SELECT) AS one
        LEFT JOIN (
            SELECT e.id, e.at, e.event, e.account_id, e.resource, e.transaction, e.xmin
            FROM adit.audit_event AS e
            WHERE e.transaction >= first AND e.transaction < last
            UNION ALL
            SELECT e.id, e.at, e.event, e.account_id, e.resource, e.transaction, e.xmin
            FROM adit.audit_event AS e
            WHERE e.transaction = ANY (ended) AND e.transaction IS NOT NULL) AS n
            ON age(n.xmin) <= age(n.transaction::xid)
        ORDER BY n.id;
END
$$;
COMMENT ON FUNCTION adit.changes(pg_snapshot) IS
    'The changes that have committed since a snapshot, each once, and the next snapshot.  complete is false if the reader must read everything anew; aditctl(8) says when.';
REVOKE ALL ON FUNCTION adit.changes(pg_snapshot) FROM PUBLIC;

-- ---- what records a change ----

-- Only who may act as the owner of the tables is believed to be aditctl.  Any session may set
-- adit.operator and adit.rekey: a responder that was taken over could record its changes as the operator's,
-- and replace client secrets without a new revision.  So both settings count only if session_user is a
-- member of the tables' owner: pg_has_role() says so of the owner, of its members and of superusers, and of
-- no role that has only the rights in grants.sql.  The functions that ask run as the owner, who is
-- current_user in them.  A caller that adit.caller names cannot be checked; audit_event.database_user is the
-- role that wrote, which no setting changes.

-- "aditctl secrets rekey" changes nothing that a caller sees.  It counts only if the secret's key has
-- changed and no other column has.  Without the keys, PostgreSQL cannot tell whether the secret is the same.
-- A caller's change never counts.
CREATE FUNCTION adit.is_rekeying(before jsonb, after jsonb) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
RETURN coalesce(pg_catalog.current_setting('adit.rekey', true) = 'on', false)
    AND pg_catalog.pg_has_role(session_user, current_user, 'MEMBER')
    AND coalesce(pg_catalog.current_setting('adit.caller', true), '') = ''
    AND before -> 'client_secret_key_id' IS DISTINCT FROM after -> 'client_secret_key_id'
    AND before - '{client_secret_key_id,client_secret_sealed}'::text[]
        = after - '{client_secret_key_id,client_secret_sealed}'::text[];
COMMENT ON FUNCTION adit.is_rekeying(jsonb, jsonb) IS
    'Whether an update of a row does nothing but seal its secret under another key.';

-- The functions of triggers that run for every change leave out what costs time (doc/performance.md, "What
-- a write costs"):
--   - They have no SET search_path, which PostgreSQL sets and resets for each call.  So every name in
--     them is qualified, also operators and types.  Some forms use the operator "=" of the search path
--     without naming it: IS DISTINCT FROM, NULLIF, IN, BETWEEN and CASE x WHEN y.
--     tests/e2e/test_database.py runs them under a hostile search path.
--   - Triggers have no WHEN, which PostgreSQL reads from text, plans and compiles for each statement.
--   - Each expression in plpgsql is compiled for each transaction that runs it.

-- Writes and replaces adit.record_<kind>_created(), _updated() and _deleted(), each of which writes the
-- event of that name in one INSERT, and the triggers that call them.  A migration that adds a column to one
-- of the tables, takes one away, or lets one be NULL, calls this again.  "secrets" are the columns that the
-- record must not hold: their names in "changed" lose "_sealed".  No reader of the record knows incarnation and
-- is_timely, and every update changes revision, so "changed" names none of them.
--
-- The responder's statements set adit.caller to "<principal> <API key> <operation> <client's
-- address>", and aditctl sets adit.operator.  A caller's change has no operator: a pooler may have
-- left another session's setting.  The functions run as the owner of the tables, so no other role
-- needs the right to write events.  PostgreSQL commits notifying transactions one after the other.
CREATE FUNCTION adit.make_recorder(kind text, secrets text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $make$
DECLARE
    columns CONSTANT text[] := ARRAY(
        SELECT a.attname FROM pg_attribute AS a
        WHERE a.attrelid = ('adit.' || kind)::regclass AND a.attnum > 0 AND NOT a.attisdropped);
    changed CONSTANT text := (
        SELECT string_agg(format(CASE WHEN a.attnotnull
                                 THEN 'CASE WHEN OLD.%1$I OPERATOR(pg_catalog.<>) NEW.%1$I%2$s'
                                 ELSE 'CASE WHEN (OLD.%1$I OPERATOR(pg_catalog.<>) NEW.%1$I) IS NOT FALSE'
                                      ' AND NOT (OLD.%1$I IS NULL AND NEW.%1$I IS NULL)%2$s' END
                                 || ' THEN %3$L END', a.attname,
                                 CASE WHEN a.attname = 'client_secret_sealed' THEN ' AND NOT rekeyed' END,
                                 regexp_replace(a.attname, '_sealed$', '')), E',\n'
                          ORDER BY regexp_replace(a.attname, '_sealed$', '') COLLATE "C")
        FROM pg_attribute AS a
        WHERE a.attrelid = ('adit.' || kind)::regclass AND a.attname = ANY (columns)
        AND a.attname <> ALL ('{revision,incarnation,is_timely}'));
    account CONSTANT text := CASE WHEN 'account_id' = ANY (columns) THEN 'ROW.account_id' ELSE 'ROW.id' END;
    resource CONSTANT text := CASE WHEN 'id' = ANY (columns) THEN 'ROW.id'
                              WHEN 'route_id' = ANY (columns)
                              THEN 'pg_catalog.concat(ROW.edge_id, ''/'', ROW.route_id)'
                              ELSE 'ROW.edge_id' END;
    revision CONSTANT text := CASE WHEN 'revision' = ANY (columns) THEN 'ROW.revision' ELSE 'NULL' END;
    content CONSTANT text := CASE WHEN secrets = '{}' THEN 'pg_catalog.to_jsonb(ROW)'
                             ELSE format('pg_catalog.to_jsonb(ROW)'
                                         ' OPERATOR(pg_catalog.-) %L::pg_catalog.text[]', secrets) END;
    -- Two revisions are compared sooner than two rows.
    unchanged CONSTANT text := format($$
    IF %sOLD OPERATOR(pg_catalog.=) NEW THEN
        RETURN NULL;
    END IF;%s$$, CASE WHEN 'revision' = ANY (columns)
               THEN 'OLD.revision OPERATOR(pg_catalog.=) NEW.revision AND ' END,
               CASE WHEN 'standing' = ANY (columns) THEN $$
    -- renew_credential()
    IF OLD.revision OPERATOR(pg_catalog.=) NEW.revision
       AND NEW.standing OPERATOR(pg_catalog.=) 'superseded' THEN
        RETURN NULL;
    END IF;$$ END);
    is_sealed CONSTANT boolean := 'client_secret_sealed' = ANY (columns);
    rekeying CONSTANT text := $$
    IF pg_catalog.current_setting('adit.rekey', true) OPERATOR(pg_catalog.=) 'on' THEN
        rekeyed := adit.is_rekeying(pg_catalog.to_jsonb(OLD), pg_catalog.to_jsonb(NEW));
    END IF;$$;
    event text;
    verb text;
    is_update boolean;
BEGIN
    FOREACH verb IN ARRAY '{created,updated,deleted}'::text[] LOOP
        event := kind || '_' || verb;
        is_update := verb = 'updated';
        EXECUTE replace(format($record$
CREATE OR REPLACE FUNCTION adit.record_%1$s() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $recorder$
DECLARE
    caller CONSTANT pg_catalog.text[] :=
        pg_catalog.string_to_array(pg_catalog.current_setting('adit.caller', true), ' ');
    operator pg_catalog.text;%2$s
BEGIN%3$s
    IF caller[1] IS NULL THEN
        operator := pg_catalog.substring(pg_catalog.current_setting('adit.operator', true), '.+');
        IF operator IS NOT NULL
           AND NOT pg_catalog.pg_has_role(session_user, current_user, 'MEMBER') THEN
            operator := NULL;
        END IF;
    END IF;
    INSERT INTO adit.audit_event (event, account_id, resource, principal_id, api_key_id,
                                  operation_id, client_address, operator, %4$s)
        VALUES (%5$s, %6$s, %7$s, caller[1], caller[2],
                caller[3], caller[4], operator, %8$s);
    IF pg_catalog.current_setting('adit.notify', true) OPERATOR(pg_catalog.=) 'on' THEN
        PERFORM pg_catalog.pg_notify('adit_change', pg_catalog.json_build_object(
            'event', %5$s::pg_catalog.text, 'account_id', %6$s, 'resource', %7$s,
            'revision', %9$s)::pg_catalog.text);
    END IF;
    RETURN NULL;
END
$recorder$;
$record$, event,
            CASE WHEN is_update AND is_sealed THEN E'\n    rekeyed pg_catalog.bool := false;' END,
            CASE WHEN is_update THEN unchanged || CASE WHEN is_sealed THEN rekeying ELSE '' END END,
            CASE verb WHEN 'created' THEN 'after' WHEN 'deleted' THEN 'before'
            ELSE 'before, after, changed' END,
            CASE WHEN is_update AND is_sealed
            THEN format('CASE WHEN rekeyed THEN %L ELSE %L END', kind || '_rekeyed', event)
            ELSE quote_literal(event) END,
            account, resource,
            CASE WHEN is_update
            THEN format(E'%s, %s,\n                pg_catalog.array_remove(ARRAY[%s], NULL)',
                        replace(content, 'ROW', 'OLD'), content, changed)
            ELSE content END, revision), 'ROW', CASE verb WHEN 'deleted' THEN 'OLD' ELSE 'NEW' END);
        EXECUTE format('REVOKE ALL ON FUNCTION adit.record_%s() FROM PUBLIC', event);
        EXECUTE format('COMMENT ON FUNCTION adit.record_%s() IS %L', event,
            'Writes the audit event of a change.  If adit.notify is on, also notifies the channel adit_change.  Made by adit.make_recorder().');
    END LOOP;
    EXECUTE format('CREATE OR REPLACE TRIGGER record_change AFTER INSERT ON adit.%1$I'
                   ' FOR EACH ROW EXECUTE FUNCTION adit.record_%1$s_created()', kind);
    EXECUTE format('CREATE OR REPLACE TRIGGER record_update AFTER UPDATE ON adit.%1$I'
                   ' FOR EACH ROW EXECUTE FUNCTION adit.record_%1$s_updated()', kind);
    EXECUTE format('CREATE OR REPLACE TRIGGER record_deletion AFTER DELETE ON adit.%1$I'
                   ' FOR EACH ROW EXECUTE FUNCTION adit.record_%1$s_deleted()', kind);
    EXECUTE format('CREATE OR REPLACE TRIGGER record_truncation BEFORE TRUNCATE ON adit.%1$I'
                   ' FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation(%2$s)', kind,
                   (SELECT string_agg(quote_literal(s), ', ') FROM unnest(secrets) AS s));
END
$make$;
COMMENT ON FUNCTION adit.make_recorder(text, text[]) IS
    'Writes the functions and triggers that record the changes of a table.';
REVOKE ALL ON FUNCTION adit.make_recorder(text, text[]) FROM PUBLIC;

-- The arguments are the columns that hold secrets.  TRUNCATE runs no trigger for each row, and it
-- takes rows that its snapshot does not show, unless that is younger than its lock.
CREATE FUNCTION adit.record_truncation() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secrets CONSTANT text[] := coalesce(TG_ARGV, '{}');
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE 'TRUNCATE of adit.% needs READ COMMITTED', TG_TABLE_NAME USING ERRCODE = '25001',
            DETAIL = 'Its record would lack the rows that the snapshot does not show.';
    END IF;
    EXECUTE format($record$
        WITH e AS (
            INSERT INTO adit.audit_event AS e (event, account_id, resource, operator, before)
            SELECT %L, coalesce(r.row ->> 'account_id', r.row ->> 'id'),
                coalesce(r.row ->> 'id',
                         concat_ws('/', r.row ->> 'edge_id', r.row ->> 'route_id')),
                nullif(current_setting('adit.operator', true), ''), r.row - $1
            FROM (SELECT to_jsonb(t) AS row FROM %s AS t) AS r
            RETURNING e.event, e.account_id, e.resource, e.before)
        SELECT pg_notify('adit_change',
            json_build_object('event', e.event, 'account_id', e.account_id, 'resource', e.resource,
                              'revision', e.before -> 'revision')::text)
        FROM e WHERE current_setting('adit.notify', true) = 'on'$record$,
        TG_TABLE_NAME || '_deleted', TG_RELID::regclass) USING secrets;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.record_truncation() IS
    'Writes an audit event for each row that TRUNCATE deletes.';
REVOKE ALL ON FUNCTION adit.record_truncation() FROM PUBLIC;

SELECT adit.make_recorder('account', '{}');
SELECT adit.make_recorder('principal', '{}');
SELECT adit.make_recorder('api_key', '{digest,disabled_digest}');
SELECT adit.make_recorder('ssh_credential', '{}');
SELECT adit.make_recorder('oauth_module', '{client_secret_sealed,incarnation}');
SELECT adit.make_recorder('mutual_tls_module', '{}');

-- ---- what a change does besides ----

-- A trigger, so that a change with psql also gives the row a new revision.  is_rekeying() gets two whole
-- rows; few sessions set adit.rekey.
CREATE FUNCTION adit.renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD OPERATOR(pg_catalog.=) NEW THEN
        RETURN NEW;
    END IF;
    IF pg_catalog.current_setting('adit.rekey', true) OPERATOR(pg_catalog.=) 'on' THEN
        IF adit.is_rekeying(pg_catalog.to_jsonb(OLD), pg_catalog.to_jsonb(NEW)) THEN
            RETURN NEW;
        END IF;
    END IF;
    NEW.revision := adit.new_revision();
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.renew_revision() IS 'Gives a module that changes its next revision.';
CREATE TRIGGER renew_revision BEFORE UPDATE ON adit.mutual_tls_module
    FOR EACH ROW EXECUTE FUNCTION adit.renew_revision();

-- A session of a visitor is valid for one OAuth application, and under one name.  If the module selects
-- another application or cookie_prefix, and then the first one again, sessions from before stay ended: the
-- module has another incarnation each time.  Whoever has signed out in between would be signed in again
-- otherwise, wherever there is a copy of the cookie: the gate did not see it.
--
-- "aditctl secrets rekey" changes none of these columns, so it signs nobody out.  "aditctl restore" and
-- "aditctl apply" change them as everybody does.  The trigger comes after keep_columns of
-- sql/optional/citus.sql: triggers run in the order of their names.
CREATE FUNCTION adit.renew_oauth_module() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD OPERATOR(pg_catalog.=) NEW THEN
        RETURN NEW;
    END IF;
    IF pg_catalog.current_setting('adit.rekey', true) OPERATOR(pg_catalog.=) 'on' THEN
        IF adit.is_rekeying(pg_catalog.to_jsonb(OLD), pg_catalog.to_jsonb(NEW)) THEN
            RETURN NEW;
        END IF;
    END IF;
    IF (OLD.provider OPERATOR(pg_catalog.<>) NEW.provider) IS NOT FALSE
       AND NOT (OLD.provider IS NULL AND NEW.provider IS NULL)
       OR (OLD.client_id OPERATOR(pg_catalog.<>) NEW.client_id) IS NOT FALSE
       AND NOT (OLD.client_id IS NULL AND NEW.client_id IS NULL)
       OR (OLD.cookie_prefix OPERATOR(pg_catalog.<>) NEW.cookie_prefix) IS NOT FALSE
       AND NOT (OLD.cookie_prefix IS NULL AND NEW.cookie_prefix IS NULL) THEN
        NEW.incarnation := adit.new_revision();
    END IF;
    NEW.revision := adit.new_revision();
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.renew_oauth_module() IS
    'Gives a module that changes its next revision, and ends the sessions of visitors when it selects another application or cookie_prefix.';
REVOKE ALL ON FUNCTION adit.renew_oauth_module() FROM PUBLIC;
CREATE TRIGGER renew_oauth_module BEFORE UPDATE ON adit.oauth_module
    FOR EACH ROW EXECUTE FUNCTION adit.renew_oauth_module();

-- Identifiers begin with the time at which they were made: milliseconds since 1970, of which the first 7 of 27
-- digits count units of 62^20 / 2^112.
CREATE FUNCTION adit.is_timely(id text, created_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    units float8 := 0;
BEGIN
    IF NOT isfinite(created_at) THEN
        RAISE 'created_at is no time: "ssh_credential_created_at_finite"'
            USING ERRCODE = '23514', CONSTRAINT = 'ssh_credential_created_at_finite',
            SCHEMA = 'adit', TABLE = 'ssh_credential';
    END IF;
    FOR i IN 7..13 LOOP
        units := units * 62
            + strpos('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', substr(id, i, 1)) - 1;
    END LOOP;
    RETURN abs(units * 0.13566701687887962 - extract(epoch FROM created_at)) <= 1.5;
END
$$;
COMMENT ON FUNCTION adit.is_timely(text, timestamptz) IS
    'Whether a credential''s created_at is at most 1.5 s from the time in its identifier.';

-- A caller's statement says that its credential is timely once it has compared the time in the identifier with
-- now(): they are at most 1 s apart (src/store/ssh_credential.c).  limit_public_key() believes that if
-- created_at is right after now(), and looks at the rows of others.  So it trusts sessions of the responder,
-- which could store a credential that no filter by created_at finds, but each other list and the record.
CREATE FUNCTION adit.mark_timely() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.is_timely := adit.is_timely(NEW.id, NEW.created_at);
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.mark_timely() IS
    'Looks whether a credential''s new identifier or created_at is timely.';
REVOKE ALL ON FUNCTION adit.mark_timely() FROM PUBLIC;
CREATE TRIGGER mark_timely BEFORE UPDATE OF id, created_at, is_timely ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.mark_timely();

-- The credentials with a public key, of at most so many.  PostgreSQL makes it a part of the query that
-- calls it.  sql/optional/citus.sql replaces it, and the next one: there, a trigger is of a shard, and asks
-- no table.
--
-- The account's condition fits no index, on purpose: a session that plans this while the table is empty
-- would take one of the account's, and read the whole account for each row that it inserts.
CREATE FUNCTION adit.public_key_owners(
    relation pg_catalog.regclass, account text, key text, most pg_catalog.int8)
RETURNS TABLE (owner_id text, standing text) LANGUAGE sql STABLE AS $$
    SELECT c.owner_id, c.standing FROM adit.ssh_credential AS c
    WHERE c.fingerprint OPERATOR(pg_catalog.=) key
    AND (c.account_id OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) account
    LIMIT most
$$;
COMMENT ON FUNCTION adit.public_key_owners(regclass, text, text, bigint) IS
    'The owner and the standing of each credential in a relation that has a public key, up to a number.';

CREATE FUNCTION adit.own_key_of_caller(account text)
RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT k.id FROM adit.api_key AS k
    WHERE k.account_id OPERATOR(pg_catalog.=) account
    AND k.id OPERATOR(pg_catalog.=)
        pg_catalog.split_part(pg_catalog.current_setting('adit.caller', true), ' ', 2)
    AND k.scope OPERATOR(pg_catalog.=) 'own'
$$;
COMMENT ON FUNCTION adit.own_key_of_caller(text) IS
    'The API key that makes the change which is under way, if it is for own credentials alone.';

-- At most 1,000 credentials of an account have the same public key: a decision and adit-gateway read no
-- more of one key (src/model/ssh_decision.h), so more would only lock the key out.
--
-- A public key is no secret, and whoever adds a grant to somebody else's key can take it away again, which
-- ends the sessions that stand on it.  So whoever has an API key for own credentials alone adds none to a
-- key that is in a credential of another owner, and has at most 500 of a key, so that others come in.  What
-- such an API key has stored is marked by next_standing() and supersede(), below.  A User or Bot has at
-- most 1,000 credentials from such keys (more by as many as are inserted at the same moment): each may have
-- 60 KB, and whoever revokes, exports or prunes waits for all of them.  Operators, and API keys that may change
-- everything, are not bound by that.
--
-- A new row costs one look at the index.  A caller's transaction holds a lock for its key, so that each sees
-- what the one before it has committed.  An operator's may insert many keys, and holds locks from 500
-- credentials of a key on.  So the limit is exact unless more than 500 transactions insert the same key at
-- once.  A transaction that is not READ COMMITTED counts what its snapshot shows, and its own rows.  So an
-- operator's may miss what an own key stores at the same moment: "aditctl apply" and "restore" look for that
-- once they have committed, and next_standing() marks it when its owner changes it.
CREATE FUNCTION adit.limit_public_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    n_all pg_catalog.int8;
    n_others pg_catalog.int8;
    is_limited pg_catalog.bool;
    is_believed pg_catalog.bool := false;
BEGIN
    PERFORM FROM adit.own_key_of_caller(NEW.account_id);
    is_limited := FOUND;
    IF pg_catalog.current_setting('adit.caller', true) OPERATOR(pg_catalog.<>) '' THEN
        PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
            pg_catalog.concat(NEW.account_id, ' ', NEW.fingerprint), 0));
        is_believed := NEW.created_at OPERATOR(pg_catalog.>=) pg_catalog.now()
            AND NEW.created_at OPERATOR(pg_catalog.<)
                (pg_catalog.now() OPERATOR(pg_catalog.+) '0.5 s'::pg_catalog.interval);
    END IF;
    IF NOT is_believed THEN
        NEW.is_timely := adit.is_timely(NEW.id, NEW.created_at);
    END IF;
    IF is_limited THEN
        NEW.standing := 'own';
        -- Planned anew each time: a plan from when the table was empty would read the whole account.
        EXECUTE pg_catalog.format('SELECT pg_catalog.count(*) FROM (SELECT FROM %s AS c'
            ' WHERE c.account_id OPERATOR(pg_catalog.=) $1 AND c.owner_id OPERATOR(pg_catalog.=) $2'
            ' AND c.standing OPERATOR(pg_catalog.<>) ''given'' LIMIT 1000) AS c', TG_RELID::pg_catalog.regclass)
        INTO n_all USING NEW.account_id, NEW.owner_id;
        IF n_all OPERATOR(pg_catalog.>=) 1000 THEN
            RAISE 'too many credentials of the owner from own keys: "ssh_credential_own_limit"'
                USING ERRCODE = '23514', CONSTRAINT = 'ssh_credential_own_limit',
                SCHEMA = 'adit', TABLE = 'ssh_credential';
        END IF;
    END IF;
    PERFORM FROM adit.public_key_owners(TG_RELID, NEW.account_id, NEW.fingerprint, 1);
    IF NOT FOUND THEN
        RETURN NEW;
    END IF;
    PERFORM pg_catalog.set_config('adit.shared_key', 'on', true); -- for supersede()
    SELECT pg_catalog.count(*),
        pg_catalog.count(*) FILTER (WHERE c.owner_id OPERATOR(pg_catalog.<>) NEW.owner_id)
    INTO n_all, n_others
    FROM adit.public_key_owners(TG_RELID, NEW.account_id, NEW.fingerprint, 500) AS c;
    IF is_limited AND n_others OPERATOR(pg_catalog.>) 0 AND n_all OPERATOR(pg_catalog.<) 500 THEN
        RAISE 'another owner has a credential with the public key: "ssh_credential_key_of_others"'
            USING ERRCODE = '23514', CONSTRAINT = 'ssh_credential_key_of_others',
            SCHEMA = 'adit', TABLE = 'ssh_credential';
    END IF;
    IF n_all OPERATOR(pg_catalog.>=) 500 THEN
        PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
            pg_catalog.concat(NEW.account_id, ' ', NEW.fingerprint), 0));
        SELECT pg_catalog.count(*) INTO n_all
        FROM adit.public_key_owners(TG_RELID, NEW.account_id, NEW.fingerprint, 1000) AS c;
        IF is_limited OR n_all OPERATOR(pg_catalog.>=) 1000 THEN
            RAISE 'too many credentials of the account have the public key: "ssh_credential_key_limit"'
                USING ERRCODE = '23514', CONSTRAINT = 'ssh_credential_key_limit',
                SCHEMA = 'adit', TABLE = 'ssh_credential';
        END IF;
    END IF;
    NEW.standing := adit.next_standing(TG_RELID, NEW.account_id, NEW.fingerprint, NEW.owner_id,
                                       NEW.standing, NEW.standing, NEW.acl, NEW.acl);
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.limit_public_key() IS
    'Refuses a credential whose public key is in 1,000 others of its account, or, from an API key for own credentials, in 500 or in one of another owner, or whose owner has 1,000 from such keys.';
REVOKE ALL ON FUNCTION adit.limit_public_key() FROM PUBLIC;
CREATE TRIGGER limit_public_key BEFORE INSERT ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.limit_public_key();

-- Where several owners have a key, each login has the rules of all, and ends if one of them goes.  So an API
-- key for own credentials neither changes nor deletes what others share.
CREATE FUNCTION adit.refuse_shared_key(relation regclass, account text, key text, owner text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM adit.own_key_of_caller(account))
       AND EXISTS (SELECT FROM adit.public_key_owners(relation, account, key, 1000) AS c
                   WHERE c.owner_id <> owner AND c.standing <> 'superseded') THEN
        RAISE 'another owner has a credential with the public key: "ssh_credential_key_of_others"'
            USING ERRCODE = '23514', CONSTRAINT = 'ssh_credential_key_of_others',
            SCHEMA = 'adit', TABLE = 'ssh_credential';
    END IF;
END
$$;
COMMENT ON FUNCTION adit.refuse_shared_key(regclass, text, text, text) IS
    'Refuses that an API key for own credentials changes a credential whose public key another owner has, too.';

CREATE FUNCTION adit.leave_shared_key() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM adit.refuse_shared_key(TG_RELID, OLD.account_id, OLD.fingerprint, OLD.owner_id);
    RETURN OLD;
END
$$;
COMMENT ON FUNCTION adit.leave_shared_key() IS
    'Refuses that an API key for own credentials deletes a credential while another owner has the public key, too.';
REVOKE ALL ON FUNCTION adit.leave_shared_key() FROM PUBLIC;
CREATE TRIGGER leave_shared_key BEFORE DELETE ON adit.ssh_credential
    FOR EACH ROW WHEN (OLD.standing <> 'superseded')
    EXECUTE FUNCTION adit.leave_shared_key();

-- While another owner has a key from somebody who may change everything, what an API key for own credentials
-- has stored of it grants nothing, and it stays so when the other's credential goes: otherwise the owner's key
-- would suddenly carry rules of somebody else.  KEY_COUNTS in src/store/key_walk.h reads this.
--
-- A superseded credential grants again once an API key that may change everything gives it more, or an
-- operator writes another standing.  Whoever takes a rule out of it wants less, and no answer says that it is
-- superseded.
CREATE FUNCTION adit.next_standing(relation regclass, account text, key text, owner text,
                                   old_standing text, new_standing text, old_acl text[], new_acl text[])
RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF old_standing = new_standing AND old_acl <> new_acl
       AND (new_acl = '{}' OR old_acl <> '{}' AND NOT new_acl <@ old_acl)
       AND current_setting('adit.caller', true) <> ''
       AND NOT EXISTS (SELECT FROM adit.own_key_of_caller(account)) THEN
        RETURN 'given';
    ELSIF new_standing = 'own'
       AND EXISTS (SELECT FROM adit.public_key_owners(relation, account, key, 1000) AS c
                   WHERE c.owner_id <> owner AND c.standing <> 'superseded') THEN
        RETURN 'superseded';
    END IF;
    RETURN new_standing;
END
$$;
COMMENT ON FUNCTION adit.next_standing(regclass, text, text, text, text, text, text[], text[]) IS
    'The standing of a credential that is made or changes: it may get more from somebody who may change everything, or be one from an API key for own credentials beside one of another owner.';

-- One trigger does all of it, since each costs an update some microseconds, and more with a WHEN.
--
-- There may be 500 own credentials of 60 KB, which an admin's request supersedes: to record them takes longer
-- than a request may.  No caller reads the mark, so they keep their revision, and no event says more than the
-- one of the other owner's credential does.
CREATE FUNCTION adit.renew_credential() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.acl OPERATOR(pg_catalog.<>) NEW.acl OR OLD.enabled OPERATOR(pg_catalog.<>) NEW.enabled)
       AND OLD.standing OPERATOR(pg_catalog.<>) 'superseded' THEN
        PERFORM adit.refuse_shared_key(TG_RELID, OLD.account_id, OLD.fingerprint, OLD.owner_id);
    END IF;
    IF OLD.standing OPERATOR(pg_catalog.<>) 'given' OR NEW.standing OPERATOR(pg_catalog.<>) 'given' THEN
        NEW.standing := adit.next_standing(TG_RELID, NEW.account_id, NEW.fingerprint, NEW.owner_id,
                                           OLD.standing, NEW.standing, OLD.acl, NEW.acl);
        IF OLD.standing OPERATOR(pg_catalog.=) 'own' AND NEW.standing OPERATOR(pg_catalog.=) 'superseded' THEN
            OLD.standing := NEW.standing;
        END IF;
    END IF;
    IF OLD OPERATOR(pg_catalog.=) NEW THEN
        RETURN NEW;
    END IF;
    NEW.revision := adit.new_revision();
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.renew_credential() IS
    'Gives a credential that changes its next standing, and its next revision unless it is only superseded.';
REVOKE ALL ON FUNCTION adit.renew_credential() FROM PUBLIC;
CREATE TRIGGER renew_credential BEFORE UPDATE ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.renew_credential();

-- It runs after the statement, which may change these credentials itself.  The responder may not write the
-- column.
--
-- A caller's transaction holds a lock for the key when limit_public_key() looks for others with it.  So the
-- only ones of callers that come later are of the same statement, and limit_public_key() finds this row when
-- they come.  An operator's transaction holds no lock, and looks itself.  One that a hand at psql commits
-- during this statement is looked for when anything of it changes next: next_standing().
CREATE FUNCTION adit.supersede() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    IF NEW.standing OPERATOR(pg_catalog.<>) 'given'
       OR TG_OP OPERATOR(pg_catalog.=) 'INSERT'
       AND pg_catalog.current_setting('adit.caller', true) OPERATOR(pg_catalog.<>) ''
       AND (pg_catalog.current_setting('adit.shared_key', true) OPERATOR(pg_catalog.=) 'on') IS NOT TRUE THEN
        RETURN NULL;
    END IF;
    -- Mostly there is none, and this is planned once.
    IF EXISTS (SELECT FROM adit.public_key_owners(TG_RELID, NEW.account_id, NEW.fingerprint, 1000) AS c
               WHERE c.owner_id OPERATOR(pg_catalog.<>) NEW.owner_id
               AND c.standing OPERATOR(pg_catalog.=) 'own') THEN
        EXECUTE pg_catalog.format('UPDATE %s AS c SET standing = ''superseded'''
            ' WHERE c.fingerprint OPERATOR(pg_catalog.=) $1'
            ' AND (c.account_id OPERATOR(pg_catalog.||) '''') OPERATOR(pg_catalog.=) $2'
            ' AND c.owner_id OPERATOR(pg_catalog.<>) $3 AND c.standing OPERATOR(pg_catalog.=) ''own''',
            TG_RELID::pg_catalog.regclass) USING NEW.fingerprint, NEW.account_id, NEW.owner_id;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.supersede() IS
    'Marks what API keys for own credentials have stored of a public key that another owner got from somebody who may change everything.';
REVOKE ALL ON FUNCTION adit.supersede() FROM PUBLIC;
CREATE TRIGGER supersede AFTER INSERT ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.supersede();
CREATE TRIGGER supersede_again AFTER UPDATE ON adit.ssh_credential
    FOR EACH ROW WHEN (NEW.standing = 'given'
                       AND (OLD.standing <> 'given' OR OLD.owner_id <> NEW.owner_id))
    EXECUTE FUNCTION adit.supersede();

-- A key is found by its digest.  If that is put aside, no version of the responder finds the key,
-- and no request has to look at its User or Bot.
--
-- The issue of a key and a change of its User or Bot wait for each other: otherwise neither would see
-- the other's row.  A key's issue makes a new version of that row, so that a transaction with an
-- older snapshot fails when it changes the row.
CREATE FUNCTION adit.put_digest_aside() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_disabled boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE adit.principal AS p SET disabled_at = p.disabled_at
            WHERE p.account_id = NEW.account_id AND p.id = NEW.principal_id
            RETURNING p.disabled_at IS NOT NULL INTO is_disabled;
    ELSE
        SELECT p.disabled_at IS NOT NULL INTO is_disabled FROM adit.principal AS p
            WHERE p.account_id = NEW.account_id AND p.id = NEW.principal_id FOR SHARE;
    END IF;
    IF is_disabled THEN
        NEW.disabled_digest := coalesce(NEW.disabled_digest, OLD.disabled_digest, NEW.digest);
        NEW.digest := sha256('disabled '::bytea || NEW.disabled_digest);
    ELSIF NEW.disabled_digest IS NOT NULL THEN
        NEW.digest := NEW.disabled_digest;
        NEW.disabled_digest := NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.put_digest_aside() IS
    'Puts the digest of a key aside while its User or Bot is disabled, and back afterwards.';
CREATE TRIGGER put_digest_aside
    BEFORE INSERT OR UPDATE OF account_id, principal_id, digest, disabled_digest ON adit.api_key
    FOR EACH ROW EXECUTE FUNCTION adit.put_digest_aside();

CREATE FUNCTION adit.follow_holder() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE adit.api_key AS k SET disabled_digest = k.disabled_digest
        WHERE k.account_id = NEW.account_id AND k.principal_id = NEW.id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.follow_holder() IS
    'Runs put_digest_aside() for the keys of a User or Bot that was disabled or enabled.';
CREATE TRIGGER follow_holder AFTER UPDATE ON adit.principal
    FOR EACH ROW WHEN ((OLD.disabled_at IS NULL) <> (NEW.disabled_at IS NULL))
    EXECUTE FUNCTION adit.follow_holder();

-- ---- rows as they were, and as a document wants them ----

-- Whatever the columns of the table are, if none is generated: "aditctl restore" and "aditctl apply" name
-- none.  A row is
-- {"present": ..., "wanted": ...} with columns as members, the table's key in both: without "present" it is
-- made, without "wanted" it is deleted.  What "wanted" leaves out stays, or has its default.  A row that is
-- not as "present" says, as far as that goes, is left alone.
--
-- Each statement reads the rows as w: the columns of "wanted" (or of the key), and the row itself as w.row_.
-- Citus permits no other function there that takes a column of the rows.
CREATE FUNCTION adit.put_rows(kind text, rows jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $put$
DECLARE
    key CONSTANT text[] := ARRAY(
        SELECT a.attname FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid
        WHERE i.indrelid = ('adit.' || kind)::regclass AND i.indisprimary AND a.attnum = ANY (i.indkey));
    is_it text := (SELECT string_agg(format('t.%1$I = w.%1$I', k), ' AND ') FROM unnest(key) AS k);
    records CONSTANT jsonb := (SELECT jsonb_agg(coalesce(r -> 'wanted', r -> 'present') || jsonb_build_object('row_', r))
                               FROM jsonb_array_elements(rows) AS r);
    names text[];
    source text;
    columns text;
    made text;
    changed text;
    n bigint;
    n_in_all bigint := 0;
BEGIN
    SELECT array_agg(a.attname),
        format('jsonb_to_recordset($1) AS w (%s, row_ jsonb)', string_agg(
            format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod))
            || coalesce(' COLLATE ' || nullif(a.attcollation, 0)::regcollation, ''), ', ')),
        string_agg(format('%I', a.attname), ', '),
        string_agg(format(CASE WHEN d.oid IS NULL THEN 'w.%1$I' WHEN a.attnotnull THEN 'coalesce(w.%1$I, %2$s)'
                          ELSE 'CASE WHEN w.row_ -> ''wanted'' ? %1$L THEN w.%1$I ELSE %2$s END' END,
                          a.attname, pg_get_expr(d.adbin, d.adrelid)), ', '),
        string_agg(format('%1$I = CASE WHEN w.row_ -> ''wanted'' ? %1$L THEN w.%1$I ELSE t.%1$I END',
                          a.attname), ', ') FILTER (WHERE a.attname <> ALL (key))
    INTO names, source, columns, made, changed
    FROM pg_attribute AS a LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = ('adit.' || kind)::regclass AND a.attnum > 0 AND NOT a.attisdropped;
    IF EXISTS (SELECT FROM jsonb_array_elements(rows) AS r, jsonb_object_keys(r -> 'present') AS k
               WHERE k <> ALL (key)) THEN
        is_it := is_it || ' AND to_jsonb(t) - ARRAY(SELECT c FROM unnest($2) AS c'
            ' WHERE NOT w.row_ -> ''present'' ? c) = w.row_ -> ''present''';
    END IF;
    IF rows @? '$[*] ? (!exists(@.wanted))' THEN
        EXECUTE format('DELETE FROM adit.%I AS t USING %s WHERE NOT w.row_ ? ''wanted'' AND %s',
                       kind, source, is_it) USING records, names;
        GET DIAGNOSTICS n = ROW_COUNT;
        n_in_all := n;
    END IF;
    IF rows @? '$[*] ? (exists(@.present) && exists(@.wanted))' THEN
        EXECUTE format('UPDATE adit.%I AS t SET %s FROM %s WHERE w.row_ ?& ''{present,wanted}'' AND %s',
                       kind, changed, source, is_it) USING records, names;
        GET DIAGNOSTICS n = ROW_COUNT;
        n_in_all := n_in_all + n;
    END IF;
    IF rows @? '$[*] ? (!exists(@.present))' THEN
        EXECUTE format('INSERT INTO adit.%I (%s) SELECT %s FROM %s WHERE NOT w.row_ ? ''present''',
                       kind, columns, made, source) USING records;
        GET DIAGNOSTICS n = ROW_COUNT;
        n_in_all := n_in_all + n;
    END IF;
    RETURN n_in_all;
END
$put$;
COMMENT ON FUNCTION adit.put_rows(text, jsonb) IS
    'Makes, changes and deletes rows of a table, for aditctl.  Returns the number of rows.';
REVOKE ALL ON FUNCTION adit.put_rows(text, jsonb) FROM PUBLIC;
