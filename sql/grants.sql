-- The rights of the responder: those of its statements, and no DDL.  'aditctl migrate' runs this
-- after the migrations.
--
-- Roles belong to the cluster, not to the database.  A role that may create roles creates
-- adit_responder and grants it these rights.  Without that right (on a shared host with one role
-- for each customer) the responder connects as the owner of the tables.  There adit_responder may
-- belong to another customer.  It gets these rights only if it already has USAGE on this schema, or
-- if the owner is a member of it.
DO $$
DECLARE
    -- What the role may do with each table and function: "update" names the columns that it may
    -- change.  'aditctl doctor' compares a role with the same rows (sql/embed.awk copies them).
    rights CONSTANT jsonb := '[
        {"table": "migration", "may": ["SELECT"]},
        {"table": "principal", "may": ["SELECT"]},
        {"table": "api_key", "may": ["SELECT"]},
        {"table": "idempotency_key", "may": ["SELECT", "INSERT", "DELETE"]},
        {"table": "ssh_credential", "may": ["SELECT", "INSERT", "DELETE"],
         "update": ["description", "metadata", "acl"]},
        {"table": "oauth_module", "may": ["SELECT", "INSERT", "DELETE"],
         "update": ["enabled", "provider", "client_id", "client_secret_key_id",
                    "client_secret_sealed", "scopes", "email_addresses", "email_domains", "teams",
                    "organizations", "options_passthrough", "cookie_prefix", "inactivity_timeout",
                    "maximum_duration", "auth_check_interval"]},
        {"table": "mutual_tls_module", "may": ["SELECT", "INSERT", "DELETE"],
         "update": ["enabled", "certificate_authority_ids"]},
        {"function": "new_revision"},
        {"function": "is_rekeying"}
    ]';
    makes_roles boolean := (SELECT rolcreaterole OR rolsuper FROM pg_catalog.pg_roles
                            WHERE rolname = current_user);
    command text;
BEGIN
    -- Operators and casts of others do not count here, wherever this is run.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    IF makes_roles
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'adit_responder') THEN
        CREATE ROLE adit_responder NOLOGIN;
        COMMENT ON ROLE adit_responder IS
            'What Adit''s responders may do; grant it to the role that they log in as.';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'adit_responder'
                   AND (makes_roles OR pg_catalog.has_schema_privilege(oid, 'adit', 'USAGE')
                        OR pg_catalog.pg_has_role(oid, 'MEMBER'))) THEN
        RETURN;
    END IF;
    REVOKE ALL ON ALL TABLES IN SCHEMA adit FROM adit_responder;
    GRANT USAGE ON SCHEMA adit TO adit_responder;
    FOR command IN
        WITH r AS (
            SELECT r.*, ('adit.' || r."table")::regclass AS relation
            FROM pg_catalog.jsonb_to_recordset(rights)
                AS r ("table" text, "function" text, may text[], "update" text[]))
        SELECT pg_catalog.format('GRANT %s ON %s TO adit_responder',
                                 pg_catalog.array_to_string(r.may, ', '), r.relation)
        FROM r WHERE r."table" IS NOT NULL
        UNION ALL
        SELECT pg_catalog.format('GRANT UPDATE (%s) ON %s TO adit_responder',
                                 pg_catalog.array_to_string(r."update", ', '), r.relation)
        FROM r WHERE r."update" IS NOT NULL
        UNION ALL
        -- Everybody may execute functions, unless default privileges took that from PUBLIC.
        SELECT pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO adit_responder',
                                 p.oid::regprocedure)
        FROM r JOIN pg_catalog.pg_proc AS p ON p.proname = r."function"
        WHERE p.pronamespace = 'adit'::regnamespace::oid
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;
