-- Made from grants.sql.in and src/model/: "make regen" makes it again.
-- The rights of the responder, of gateways and of the gate: those of their statements, and no DDL.  'aditctl
-- migrate' runs this after the migrations.
--
-- Roles belong to the cluster, not to the database.  A role that may create roles creates these roles
-- and grants them these rights.  Without that right (on a shared host with one role for each
-- customer) the responder connects as the owner of the tables.  There the roles may belong to
-- another customer.  A role gets these rights only if it already has USAGE on
-- this schema, or if the owner is a member of it.
DO $$
DECLARE
    -- What each role may do with tables and functions: "select" and "update" name the columns that it
    -- may read and change.  'aditctl doctor' compares a role with the same rows (sql/embed.awk copies
    -- them).  A list without columns makes it look for rights that are too many.  What bodies change of a
    -- credential or a module is in src/model/member_table.h, and texts of events in audit_event.h there.
    -- A gateway reads only the columns that it judges by.
    rights CONSTANT jsonb := '{
        "adit_responder": [
            {"table": "migration", "may": ["SELECT"]},
            {"table": "principal", "may": ["SELECT"]},
            {"table": "api_key", "may": ["SELECT"]},
            {"table": "api_key_use", "may": ["SELECT", "INSERT"],
             "update": ["used_at", "client_address"]},
            {"table": "idempotency_key", "may": ["SELECT", "INSERT", "DELETE"]},
            {"table": "ssh_credential", "may": ["SELECT", "INSERT", "DELETE"],
             "update": ["description", "metadata", "acl", "enabled"]},
            {"table": "oauth_module", "may": ["SELECT", "INSERT", "DELETE"],
             "update": ["enabled", "provider", "client_id", "client_secret_key_id", "client_secret_sealed",
                 "scopes", "email_addresses", "email_domains", "teams", "organizations",
                 "options_passthrough", "cookie_prefix", "inactivity_timeout", "maximum_duration",
                 "auth_check_interval"]},
            {"table": "mutual_tls_module", "may": ["SELECT", "INSERT", "DELETE"],
             "update": ["enabled", "certificate_authority_ids"]},
            {"table": "audit_event", "update": [],
             "select": ["id", "at", "event", "account_id", "resource", "principal_id", "before", "after", "changed",
                 "api_key_id", "operation_id", "client_address", "operator", "database_user"]},
            {"function": "new_revision"},
            {"function": "is_rekeying"},
            {"function": "public_key_owners"},
            {"function": "own_key_of_caller"},
            {"function": "is_timely"},
            {"function": "refuse_shared_key"},
            {"function": "next_standing"}
        ],
        "adit_gateway": [
            {"table": "migration", "may": ["SELECT"]},
            {"table": "account", "select": ["id"]},
            {"table": "ssh_credential", "update": [],
             "select": ["account_id", "id", "owner_id", "fingerprint", "acl", "enabled", "standing", "revision"]},
            {"table": "oauth_module", "select": [], "update": []},
            {"table": "mutual_tls_module", "may": ["SELECT"], "update": []},
            {"table": "audit_event", "select": [], "update": []},
            {"function": "changes"},
            {"function": "account_changes"}
        ],
        "adit_gate": [
            {"table": "migration", "may": ["SELECT"]},
            {"table": "account", "select": ["id"]},
            {"table": "oauth_module", "update": [],
             "select": ["account_id", "edge_id", "route_id", "enabled", "provider", "client_id",
                 "client_secret_key_id", "client_secret_sealed", "scopes", "email_addresses", "email_domains",
                 "teams", "organizations", "options_passthrough", "cookie_prefix", "inactivity_timeout",
                 "maximum_duration", "auth_check_interval", "incarnation"]},
            {"table": "gate_session", "may": ["SELECT", "INSERT", "DELETE"],
             "update": ["key_id", "sealed", "ends_at"]}
        ]
    }';
    makes_roles boolean := (SELECT rolcreaterole OR rolsuper FROM pg_catalog.pg_roles
                            WHERE rolname = current_user);
    -- Citus has no rights to columns.  A trigger with this function of sql/optional/citus.sql refuses a
    -- change of the others instead.
    is_distributed boolean := pg_catalog.to_regprocedure('adit.keep_columns()') IS NOT NULL;
    -- On Citus, each node has a database of its own.
    owns_database boolean := NOT is_distributed AND (
        SELECT pg_catalog.pg_has_role(datdba, 'USAGE') FROM pg_catalog.pg_database
        WHERE datname = pg_catalog.current_database());
    grantee text;
    command text;
BEGIN
    -- Operators and casts of others do not count here, wherever this is run.
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    -- The older role comes first, so that a dump is the same after an upgrade.
    FOREACH grantee IN ARRAY '{adit_responder,adit_gateway,adit_gate}'::text[] LOOP
        IF makes_roles
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = grantee) THEN
            EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', grantee);
            EXECUTE pg_catalog.format(
                'COMMENT ON ROLE %I IS %L', grantee, 'What Adit''s '
                || CASE grantee WHEN 'adit_gateway' THEN 'gateways'
                                WHEN 'adit_gate' THEN 'gate' ELSE 'responders' END
                || ' may do; grant it to the role that they log in as.');
        END IF;
        CONTINUE WHEN NOT EXISTS (
            SELECT FROM pg_catalog.pg_roles WHERE rolname = grantee
            AND (makes_roles OR pg_catalog.has_schema_privilege(oid, 'adit', 'USAGE')
                 OR pg_catalog.pg_has_role(oid, 'MEMBER')));
        EXECUTE pg_catalog.format('REVOKE ALL ON ALL TABLES IN SCHEMA adit FROM %I', grantee);
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA adit TO %I', grantee);
        -- Everybody may connect, unless the database's owner took that from PUBLIC.
        IF owns_database THEN
            EXECUTE pg_catalog.format('GRANT CONNECT ON DATABASE %I TO %I',
                                      pg_catalog.current_database(), grantee);
        END IF;
        FOR command IN
            WITH r AS (
                SELECT r.*, ('adit.' || r."table")::regclass AS relation
                FROM pg_catalog.jsonb_to_recordset(rights -> grantee)
                    AS r ("table" text, "function" text, may text[], "select" text[],
                          "update" text[]))
            SELECT pg_catalog.format('GRANT %s ON %s TO %I',
                                     pg_catalog.array_to_string(r.may, ', '), r.relation, grantee)
            FROM r WHERE r.may IS NOT NULL
            UNION ALL
            SELECT pg_catalog.format('GRANT %s %s ON %s TO %I', c.privilege,
                                     CASE WHEN NOT is_distributed
                                     THEN pg_catalog.format(
                                         '(%s)', pg_catalog.array_to_string(c.columns, ', ')) END,
                                     r.relation, grantee)
            FROM r, LATERAL (VALUES ('SELECT', r."select"), ('UPDATE', r."update"))
                AS c (privilege, columns)
            WHERE pg_catalog.cardinality(c.columns) > 0
            UNION ALL
            -- Everybody may execute functions, unless default privileges took that from PUBLIC.
            SELECT pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %I', p.oid::regprocedure,
                                     grantee)
            FROM r JOIN pg_catalog.pg_proc AS p ON p.proname = r."function"
            WHERE p.pronamespace = 'adit'::regnamespace::oid
        LOOP
            EXECUTE command;
        END LOOP;
    END LOOP;
    IF is_distributed THEN
        FOR command IN
            WITH r AS (
                SELECT ('adit.' || r."table")::regclass AS relation, r."update"
                FROM pg_catalog.jsonb_each(rights) AS g (grantee, found), pg_catalog.jsonb_to_recordset(g.found)
                    AS r ("table" text, "update" text[])
                WHERE pg_catalog.cardinality(r."update") > 0)
            SELECT pg_catalog.format('CREATE OR REPLACE TRIGGER keep_columns BEFORE UPDATE ON %s'
                                     ' FOR EACH ROW EXECUTE FUNCTION adit.keep_columns(%s)',
                                     a.attrelid::regclass,
                                     pg_catalog.string_agg(pg_catalog.quote_literal(a.attname), ', '
                                                           ORDER BY a.attnum))
            FROM pg_catalog.pg_attribute AS a
            WHERE a.attrelid IN (SELECT r.relation FROM r) AND a.attnum > 0 AND NOT a.attisdropped
            AND NOT EXISTS (SELECT FROM r WHERE r.relation = a.attrelid AND a.attname = ANY (r."update"))
            GROUP BY a.attrelid
            HAVING pg_catalog.string_agg(pg_catalog.convert_to(a.attname, 'UTF8') || '\x00', ''
                                         ORDER BY a.attnum)
                IS DISTINCT FROM (SELECT t.tgargs FROM pg_catalog.pg_trigger AS t
                                  WHERE t.tgrelid = a.attrelid AND t.tgname = 'keep_columns')
        LOOP
            EXECUTE command;
        END LOOP;
    END IF;
END
$$;
