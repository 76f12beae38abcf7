-- The rights of the responder: those of its statements, and no DDL.  Run this after every
-- migration.
--
-- Roles belong to the cluster, not to the database.  A role that may create roles creates
-- adit_responder and grants it these rights.  Without that right (on a shared host with one role
-- for each customer) the responder connects as the owner of the tables.  There adit_responder may
-- belong to another customer.  It gets these rights only if it already has USAGE on this schema, or
-- if the owner is a member of it.
DO $$
DECLARE
    -- What the role may do with each table and function.  A table with "fixed" may be updated, but
    -- not in these columns: a new column needs no line here unless it is fixed.  'aditctl doctor'
    -- compares a role with the same rows (sql/embed.awk copies them).
    rights CONSTANT jsonb := '[
        {"table": "migration", "may": ["SELECT"]},
        {"table": "principal", "may": ["SELECT"]},
        {"table": "api_key", "may": ["SELECT"]},
        {"table": "idempotency_key", "may": ["SELECT", "INSERT", "DELETE"]},
        {"table": "ssh_credential", "may": ["SELECT", "INSERT", "DELETE"],
         "fixed": ["account_id", "id", "owner_id", "key_type", "fingerprint", "public_key",
                   "created_at", "revision"]},
        {"table": "oauth_module", "may": ["SELECT", "INSERT", "DELETE"],
         "fixed": ["account_id", "edge_id", "route_id", "revision"]},
        {"table": "mutual_tls_module", "may": ["SELECT", "INSERT", "DELETE"],
         "fixed": ["account_id", "edge_id", "revision"]},
        {"function": "new_revision"},
        {"function": "is_rekeying"}
    ]';
    makes_roles boolean := (SELECT rolcreaterole OR rolsuper FROM pg_catalog.pg_roles
                            WHERE rolname = current_user);
    command text;
BEGIN
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
                AS r ("table" text, "function" text, may text[], fixed text[]))
        SELECT pg_catalog.format('GRANT %s ON %s TO adit_responder',
                                 pg_catalog.array_to_string(r.may, ', '), r.relation)
        FROM r WHERE r."table" IS NOT NULL
        UNION ALL
        SELECT pg_catalog.format('GRANT UPDATE (%s) ON %s TO adit_responder',
                                 pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', '),
                                 r.relation)
        FROM r JOIN pg_catalog.pg_attribute AS a ON a.attrelid = r.relation
        WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attname <> ALL (r.fixed)
        GROUP BY r.relation
        UNION ALL
        -- Everybody may execute functions, unless default privileges took that from PUBLIC.
        SELECT pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO adit_responder',
                                 p.oid::regprocedure)
        FROM r JOIN pg_catalog.pg_proc AS p ON p.proname = r."function"
        WHERE p.pronamespace = 'adit'::regnamespace
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;
