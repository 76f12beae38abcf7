-- Made from distributed.sql.in and src/model/: "make regen" makes it again.
-- The writes of callers for a database whose accounts are on several nodes ([database] distributed).
--
-- Citus sends a statement to one node as it is, but for an INSERT within a larger statement.  So each write
-- is a function of the account, which Citus calls on the account's node (create_distributed_function).
-- There it runs single statements, each for that account alone.  Each function does what the statement in
-- src/store does that calls it, and returns the same columns.
--
-- A key that may not write reads no row: the time until its 403 would tell what the rows hold.
--
-- citus.sql runs this.  The functions also run on a plain PostgreSQL.  Run it again after an upgrade.

SET search_path = pg_catalog, pg_temp;
SET client_min_messages = warning;

-- Those of an earlier version may take or return something else.
DO $$
DECLARE
    former pg_catalog.regprocedure;
BEGIN
    FOR former IN
        SELECT p.oid FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'adit'::pg_catalog.regnamespace AND p.proargnames[1] = 'p_account'
    LOOP
        EXECUTE pg_catalog.format('DROP FUNCTION %s', former);
    END LOOP;
END
$$;

-- Every function of this file names what it looks for, so that rights to columns are enough.
CREATE OR REPLACE FUNCTION adit.note_caller(
    p_account text, p_digest bytea, p_request text,
    OUT id text, OUT principal_id text, OUT scope text, OUT read_only boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- A kind that this file does not know writes nothing.
    SELECT k.id, k.principal_id, k.scope, k.read_only OR k.scope <> 'account'
    INTO id, principal_id, scope, read_only
    FROM adit.api_key AS k
    WHERE k.account_id = p_account AND k.digest = p_digest AND k.revoked_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > now());
    IF FOUND THEN
        PERFORM set_config('adit.caller', concat_ws(' ', principal_id, id, p_request), true),
            set_config('adit.scope', scope, true); -- for adit.own_key_of_caller() of citus.sql
        -- The COMMIT waits for the synchronous standby, even if nothing is changed.
        IF NOT read_only OR scope = 'own' THEN
            PERFORM pg_logical_emit_message(true, 'adit', '');
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION adit.note_caller(text, bytea, text) IS
    'Finds a good API key of the account, and tells the triggers that record changes who makes them.';

-- Whether a row meets If-Match and If-None-Match.
CREATE OR REPLACE FUNCTION adit.meets(revision bigint, p_match bigint[], p_none bigint[])
RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN (p_match IS NULL OR ARRAY[-1, revision] && p_match)
    AND (p_none IS NULL OR NOT ARRAY[-1, revision] && p_none);
COMMENT ON FUNCTION adit.meets(bigint, bigint[], bigint[]) IS
    'Whether a revision meets If-Match and If-None-Match; -1 in them is any.';

-- ---- SSH credentials ----

-- With an Idempotency-Key (p_key), an earlier answer to it is returned instead.
CREATE OR REPLACE FUNCTION adit.create_ssh_credential(
    p_account text, p_digest bytea, p_request text,
    p_id text, p_description text, p_metadata text, p_public_key text, p_key_type text, p_fingerprint text,
        p_acl text[], p_owner_id text, p_enabled boolean,
    p_ms double precision, p_key text, p_request_digest bytea)
RETURNS TABLE (r_account_id text, r_read_only boolean, r_key_id text, r_scope text,
    r_id text, r_created_at timestamptz, r_description text, r_metadata text, r_public_key text, r_acl text[],
        r_owner_id text, r_enabled boolean, r_revision bigint,
    r_may_own boolean, r_owner_is_there boolean, r_owner_is_enabled boolean, r_now timestamptz,
    r_same_request boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    earlier record;
    c adit.ssh_credential;
    owner_id text;
    same_request boolean;
    may_write boolean;
    may_own boolean := true;
    is_there boolean := true;
    is_enabled boolean := true;
    made adit.ssh_credential;
BEGIN
    k := adit.note_caller(p_account, p_digest, p_request);
    IF k.id IS NULL THEN
        RETURN;
    END IF;
    owner_id := coalesce(p_owner_id, k.principal_id);
    may_write := NOT k.read_only OR k.scope = 'own';
    IF p_owner_id <> k.principal_id THEN
        may_own := NOT k.read_only;
        IF may_own THEN
            PERFORM FROM adit.principal AS p
            WHERE p.account_id = p_account AND p.id = k.principal_id AND p.is_admin;
            may_own := FOUND;
        END IF;
    END IF;
    IF p_owner_id IS NOT NULL AND may_own AND may_write THEN
        SELECT p.disabled_at IS NULL INTO is_enabled
        FROM adit.principal AS p WHERE p.account_id = p_account AND p.id = p_owner_id;
        is_there := FOUND;
    END IF;
    SELECT i.answer, i.request_digest INTO earlier
    FROM adit.idempotency_key AS i
    WHERE i.account_id = p_account AND i.principal_id = k.principal_id AND i.key = p_key
    AND may_write AND (may_own OR k.scope <> 'own');
    IF NOT FOUND AND (NOT k.read_only OR k.scope = 'own' AND owner_id = k.principal_id)
       AND may_own AND is_there AND is_enabled AND abs(p_ms - date_part('epoch', now()) * 1000) <= 1000 THEN
        SELECT p_account, clock_timestamp(), adit.new_revision(),
            p_id, coalesce(p_description, ''), coalesce(p_metadata, ''), p_public_key, p_key_type,
                p_fingerprint, coalesce(p_acl, '{}'), owner_id, p_enabled
        INTO made.account_id, made.created_at, made.revision,
            made.id, made.description, made.metadata, made.public_key, made.key_type, made.fingerprint,
                made.acl, made.owner_id, made.enabled;
        IF p_key IS NOT NULL THEN
            INSERT INTO adit.idempotency_key AS i (account_id, principal_id, key, request_digest,
                answer)
            VALUES (p_account, k.principal_id, p_key, p_request_digest, to_jsonb(made))
            ON CONFLICT DO NOTHING;
        END IF;
        IF p_key IS NULL OR FOUND THEN
            INSERT INTO adit.ssh_credential (account_id, is_timely, created_at, revision,
                id, description, metadata, public_key, key_type, fingerprint, acl, owner_id, enabled)
            VALUES (made.account_id, true, made.created_at, made.revision,
                made.id, made.description, made.metadata, made.public_key, made.key_type, made.fingerprint,
                    made.acl, made.owner_id, made.enabled);
            c := made;
            same_request := true;
        END IF;
    ELSIF earlier.answer IS NOT NULL THEN
        c := jsonb_populate_record(NULL::adit.ssh_credential, earlier.answer);
        same_request := earlier.request_digest = p_request_digest;
    END IF;
    RETURN QUERY SELECT p_account, k.read_only, k.id, k.scope,
        c.id::text, c.created_at::timestamptz, c.description::text, c.metadata::text, c.public_key::text,
            c.acl::text[], c.owner_id::text, c.enabled::boolean, c.revision::bigint,
        may_own, is_there, is_enabled, clock_timestamp(), same_request;
END
$$;
COMMENT ON FUNCTION adit.create_ssh_credential(text, bytea, text,
    text, text, text, text, text, text, text[], text, boolean,
    double precision, text, bytea) IS 'POST /ssh_credentials.';

CREATE OR REPLACE FUNCTION adit.update_ssh_credential(
    p_account text, p_digest bytea, p_request text, p_id text,
    p_description text, p_metadata text, p_acl text[], p_enabled boolean,
    p_match bigint[], p_none bigint[])
RETURNS TABLE (r_account_id text, r_read_only boolean, r_key_id text, r_scope text,
    r_id text, r_created_at timestamptz, r_description text, r_metadata text, r_public_key text, r_acl text[],
        r_owner_id text, r_enabled boolean, r_revision bigint,
    r_is_there boolean, r_is_others boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    c record;
    owner_id text;
    is_there boolean := false;
BEGIN
    k := adit.note_caller(p_account, p_digest, p_request);
    IF k.id IS NULL THEN
        RETURN;
    END IF;
    UPDATE adit.ssh_credential AS s
    SET description = coalesce(p_description, s.description), metadata = coalesce(p_metadata, s.metadata),
        acl = coalesce(p_acl, s.acl), enabled = coalesce(p_enabled, s.enabled)
    WHERE s.account_id = p_account AND s.id = p_id
    AND (NOT k.read_only OR k.scope = 'own')
    AND (NOT k.read_only OR s.owner_id = k.principal_id)
    AND adit.meets(s.revision, p_match, p_none)
    RETURNING s.id::text, s.created_at::timestamptz, s.description::text, s.metadata::text,
        s.public_key::text, s.acl::text[], s.owner_id::text, s.enabled::boolean, s.revision::bigint
    INTO c;
    IF NOT FOUND AND (NOT k.read_only OR k.scope = 'own') THEN
        SELECT s.owner_id INTO owner_id
        FROM adit.ssh_credential AS s WHERE s.account_id = p_account AND s.id = p_id;
        is_there := FOUND;
    END IF;
    RETURN QUERY SELECT p_account, k.read_only, k.id, k.scope,
        c.id::text, c.created_at::timestamptz, c.description::text, c.metadata::text, c.public_key::text,
            c.acl::text[], c.owner_id::text, c.enabled::boolean, c.revision::bigint,
        is_there, is_there AND k.scope = 'own' AND owner_id <> k.principal_id;
END
$$;
COMMENT ON FUNCTION adit.update_ssh_credential(text, bytea, text, text,
    text, text, text[], boolean,
    bigint[], bigint[]) IS 'PATCH /ssh_credentials/{id}.';

CREATE OR REPLACE FUNCTION adit.delete_ssh_credential(
    p_account text, p_digest bytea, p_request text, p_id text, p_match bigint[], p_none bigint[])
RETURNS TABLE (r_account_id text, r_read_only boolean, r_key_id text, r_scope text,
    r_id text, r_is_there boolean, r_is_others boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    gone_id text;
    owner_id text;
    is_there boolean := false;
BEGIN
    k := adit.note_caller(p_account, p_digest, p_request);
    IF k.id IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM adit.ssh_credential AS s
    WHERE s.account_id = p_account AND s.id = p_id
    AND (NOT k.read_only OR k.scope = 'own')
    AND (NOT k.read_only OR s.owner_id = k.principal_id)
    AND adit.meets(s.revision, p_match, p_none)
    RETURNING s.id INTO gone_id;
    IF NOT FOUND AND (NOT k.read_only OR k.scope = 'own') THEN
        SELECT s.owner_id INTO owner_id
        FROM adit.ssh_credential AS s WHERE s.account_id = p_account AND s.id = p_id;
        is_there := FOUND;
    END IF;
    RETURN QUERY SELECT p_account, k.read_only, k.id, k.scope,
        gone_id, is_there, is_there AND k.scope = 'own' AND owner_id <> k.principal_id;
END
$$;
COMMENT ON FUNCTION adit.delete_ssh_credential(text, bytea, text, text, bigint[], bigint[]) IS
    'DELETE /ssh_credentials/{id}.';

-- ---- modules ----

-- p_sealed_for, if there is one, is the account that the secret is sealed for.
CREATE OR REPLACE FUNCTION adit.put_oauth_module(
    p_account text, p_digest bytea, p_request text,
    p_edge_id text, p_route_id text, p_enabled boolean, p_provider smallint, p_client_id text,
        p_client_secret_key_id text, p_client_secret_sealed bytea, p_scopes text[], p_email_addresses text[],
        p_email_domains text[], p_teams text[], p_organizations text[], p_options_passthrough boolean,
        p_cookie_prefix text, p_inactivity_timeout bigint, p_maximum_duration bigint,
        p_auth_check_interval bigint,
    p_sealed_for text, p_match bigint[], p_none bigint[])
RETURNS TABLE (r_account_id text, r_read_only boolean, r_key_id text, r_scope text,
    r_revision bigint, r_right_account boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    made_revision bigint;
    is_right boolean := coalesce(p_sealed_for = p_account, true);
BEGIN
    k := adit.note_caller(p_account, p_digest, p_request);
    IF k.id IS NULL THEN
        RETURN;
    END IF;
    -- The INSERT cannot check that the row is there and stays.
    PERFORM FROM adit.oauth_module AS m
    WHERE m.account_id = p_account AND m.edge_id = p_edge_id AND m.route_id = p_route_id
    AND p_match IS NOT NULL AND NOT k.read_only
    FOR UPDATE;
    IF NOT k.read_only AND is_right AND (p_match IS NULL OR FOUND) THEN
        INSERT INTO adit.oauth_module AS m (account_id,
            edge_id, route_id, enabled, provider, client_id, client_secret_key_id, client_secret_sealed,
                scopes, email_addresses, email_domains, teams, organizations, options_passthrough,
                cookie_prefix, inactivity_timeout, maximum_duration, auth_check_interval)
        VALUES (p_account,
            p_edge_id, p_route_id, p_enabled, p_provider, p_client_id, p_client_secret_key_id,
                p_client_secret_sealed, coalesce(p_scopes, '{}'), coalesce(p_email_addresses, '{}'),
                coalesce(p_email_domains, '{}'), coalesce(p_teams, '{}'), coalesce(p_organizations, '{}'),
                p_options_passthrough, p_cookie_prefix, p_inactivity_timeout, p_maximum_duration,
                p_auth_check_interval)
        ON CONFLICT (account_id, edge_id, route_id) DO UPDATE
        SET enabled = excluded.enabled, provider = excluded.provider, client_id = excluded.client_id,
            client_secret_key_id = excluded.client_secret_key_id,
            client_secret_sealed = excluded.client_secret_sealed, scopes = excluded.scopes,
            email_addresses = excluded.email_addresses, email_domains = excluded.email_domains,
            teams = excluded.teams, organizations = excluded.organizations,
            options_passthrough = excluded.options_passthrough, cookie_prefix = excluded.cookie_prefix,
            inactivity_timeout = excluded.inactivity_timeout, maximum_duration = excluded.maximum_duration,
            auth_check_interval = excluded.auth_check_interval
        WHERE adit.meets(m.revision, p_match, p_none)
        RETURNING m.revision INTO made_revision;
    END IF;
    RETURN QUERY SELECT p_account, k.read_only, k.id, k.scope,
        made_revision, is_right;
END
$$;
COMMENT ON FUNCTION adit.put_oauth_module(text, bytea, text,
    text, text, boolean, smallint, text, text, bytea, text[], text[], text[], text[], text[], boolean, text,
        bigint, bigint, bigint,
    text, bigint[], bigint[]) IS 'PUT of a row of oauth_module.';

CREATE OR REPLACE FUNCTION adit.delete_oauth_module(
    p_account text, p_digest bytea, p_request text, p_edge_id text, p_route_id text,
    p_match bigint[], p_none bigint[])
RETURNS TABLE (r_account_id text, r_read_only boolean, r_key_id text, r_scope text,
    r_edge_id text, r_is_there boolean, r_is_others boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    gone_id text;
    is_there boolean := false;
BEGIN
    k := adit.note_caller(p_account, p_digest, p_request);
    IF k.id IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM adit.oauth_module AS m
    WHERE m.account_id = p_account AND m.edge_id = p_edge_id AND m.route_id = p_route_id
    AND NOT k.read_only AND adit.meets(m.revision, p_match, p_none)
    RETURNING m.edge_id INTO gone_id;
    IF NOT FOUND AND NOT k.read_only THEN
        PERFORM FROM adit.oauth_module AS m
        WHERE m.account_id = p_account AND m.edge_id = p_edge_id AND m.route_id = p_route_id;
        is_there := FOUND;
    END IF;
    RETURN QUERY SELECT p_account, k.read_only, k.id, k.scope,
        gone_id, is_there, false;
END
$$;
COMMENT ON FUNCTION adit.delete_oauth_module(text, bytea, text, text, text, bigint[], bigint[]) IS
    'DELETE of a row of oauth_module.';

-- p_sealed_for, if there is one, is the account that the secret is sealed for.
CREATE OR REPLACE FUNCTION adit.put_mutual_tls_module(
    p_account text, p_digest bytea, p_request text,
    p_edge_id text, p_enabled boolean, p_certificate_authority_ids text[],
    p_match bigint[], p_none bigint[])
RETURNS TABLE (r_account_id text, r_read_only boolean, r_key_id text, r_scope text,
    r_revision bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    made_revision bigint;
    is_right boolean := true;
BEGIN
    k := adit.note_caller(p_account, p_digest, p_request);
    IF k.id IS NULL THEN
        RETURN;
    END IF;
    -- The INSERT cannot check that the row is there and stays.
    PERFORM FROM adit.mutual_tls_module AS m
    WHERE m.account_id = p_account AND m.edge_id = p_edge_id
    AND p_match IS NOT NULL AND NOT k.read_only
    FOR UPDATE;
    IF NOT k.read_only AND is_right AND (p_match IS NULL OR FOUND) THEN
        INSERT INTO adit.mutual_tls_module AS m (account_id,
            edge_id, enabled, certificate_authority_ids)
        VALUES (p_account,
            p_edge_id, p_enabled, p_certificate_authority_ids)
        ON CONFLICT (account_id, edge_id) DO UPDATE
        SET enabled = excluded.enabled, certificate_authority_ids = excluded.certificate_authority_ids
        WHERE adit.meets(m.revision, p_match, p_none)
        RETURNING m.revision INTO made_revision;
    END IF;
    RETURN QUERY SELECT p_account, k.read_only, k.id, k.scope,
        made_revision;
END
$$;
COMMENT ON FUNCTION adit.put_mutual_tls_module(text, bytea, text,
    text, boolean, text[],
    bigint[], bigint[]) IS 'PUT of a row of mutual_tls_module.';

CREATE OR REPLACE FUNCTION adit.delete_mutual_tls_module(
    p_account text, p_digest bytea, p_request text, p_edge_id text,
    p_match bigint[], p_none bigint[])
RETURNS TABLE (r_account_id text, r_read_only boolean, r_key_id text, r_scope text,
    r_edge_id text, r_is_there boolean, r_is_others boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    k record;
    gone_id text;
    is_there boolean := false;
BEGIN
    k := adit.note_caller(p_account, p_digest, p_request);
    IF k.id IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM adit.mutual_tls_module AS m
    WHERE m.account_id = p_account AND m.edge_id = p_edge_id
    AND NOT k.read_only AND adit.meets(m.revision, p_match, p_none)
    RETURNING m.edge_id INTO gone_id;
    IF NOT FOUND AND NOT k.read_only THEN
        PERFORM FROM adit.mutual_tls_module AS m
        WHERE m.account_id = p_account AND m.edge_id = p_edge_id;
        is_there := FOUND;
    END IF;
    RETURN QUERY SELECT p_account, k.read_only, k.id, k.scope,
        gone_id, is_there, false;
END
$$;
COMMENT ON FUNCTION adit.delete_mutual_tls_module(text, bytea, text, text, bigint[], bigint[]) IS
    'DELETE of a row of mutual_tls_module.';

-- ---- the last use of keys ----

-- Row by row: key, age in ms, address ('': unknown).
CREATE OR REPLACE FUNCTION adit.note_key_uses(
    p_account text, p_key_ids text[], p_ages bigint[], p_addresses text[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n bigint := 0;
    used timestamptz;
    stale timestamptz; -- Citus subtracts no interval in ON CONFLICT
BEGIN
    FOR i IN 1 .. cardinality(p_key_ids) LOOP
        used := now() - p_ages[i] * interval '1 millisecond';
        stale := used - interval '30 seconds';
        PERFORM FROM adit.api_key AS k WHERE k.account_id = p_account AND k.id = p_key_ids[i];
        CONTINUE WHEN NOT FOUND;
        INSERT INTO adit.api_key_use AS u (account_id, api_key_id, used_at, client_address)
        VALUES (p_account, p_key_ids[i], used,
                nullif(p_addresses[i], '')::inet)
        ON CONFLICT (account_id, api_key_id) DO UPDATE
        SET used_at = excluded.used_at, client_address = excluded.client_address
        WHERE u.used_at <= stale;
        IF FOUND THEN
            n := n + 1;
        END IF;
    END LOOP;
    RETURN n;
END
$$;
COMMENT ON FUNCTION adit.note_key_uses(text, text[], bigint[], text[]) IS
    'Stores when and from where API keys of an account were last used.';

-- The responder calls them, with its own rights.
DO $$
DECLARE
    called regprocedure;
BEGIN
    FOR called IN
        SELECT p.oid FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'adit'::regnamespace
        AND (p.proargnames[1] = 'p_account' OR p.proname = 'meets')
    LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', called);
        IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'adit_responder') THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO adit_responder', called);
        END IF;
    END LOOP;
END
$$;
