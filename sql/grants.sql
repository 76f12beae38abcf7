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
    makes_roles boolean := (SELECT rolcreaterole OR rolsuper FROM pg_catalog.pg_roles
                            WHERE rolname = current_user);
BEGIN
    IF makes_roles
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'adit_responder') THEN
        CREATE ROLE adit_responder NOLOGIN;
        COMMENT ON ROLE adit_responder IS
            'What Adit''s responders may do; grant it to the role that they log in as.';
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'adit_responder'
               AND (makes_roles OR pg_catalog.has_schema_privilege(oid, 'adit', 'USAGE')
                    OR pg_catalog.pg_has_role(oid, 'MEMBER'))) THEN
        REVOKE ALL ON ALL TABLES IN SCHEMA adit FROM adit_responder;
        GRANT USAGE ON SCHEMA adit TO adit_responder;
        GRANT SELECT ON adit.migration, adit.principal, adit.api_key TO adit_responder;
        GRANT SELECT, INSERT, DELETE ON adit.ssh_credential TO adit_responder;
        GRANT UPDATE (description, metadata, acl) ON adit.ssh_credential TO adit_responder;
        GRANT SELECT, INSERT, DELETE ON adit.idempotency_key TO adit_responder;
        GRANT SELECT, INSERT, DELETE
            ON adit.oauth_module, adit.mutual_tls_module TO adit_responder;
        GRANT UPDATE (enabled, provider, client_id, client_secret_key_id, client_secret_sealed,
                      scopes, email_addresses, email_domains, teams, organizations,
                      options_passthrough, cookie_prefix, inactivity_timeout, maximum_duration,
                      auth_check_interval) ON adit.oauth_module TO adit_responder;
        GRANT UPDATE (enabled, certificate_authority_ids) ON adit.mutual_tls_module
            TO adit_responder;
        -- PUBLIC has these rights too, unless default privileges were revoked from it.
        GRANT EXECUTE ON FUNCTION adit.new_revision(), adit.is_rekeying(jsonb, jsonb)
            TO adit_responder;
    END IF;
END
$$;
