-- What the responder may do: no more than its statements do, and no DDL.  Run after every migration.
-- The role exists from the first migration on where whoever migrates may create roles; elsewhere (a
-- shared host with one database user) the responder connects as the owner of the tables.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'adit_responder')
       AND EXISTS (SELECT FROM pg_catalog.pg_roles
                   WHERE rolname = current_user AND (rolcreaterole OR rolsuper)) THEN
        CREATE ROLE adit_responder NOLOGIN;
        COMMENT ON ROLE adit_responder IS
            'What Adit''s responders may do; grant it to the role that they log in as.';
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'adit_responder') THEN
        REVOKE ALL ON ALL TABLES IN SCHEMA adit FROM adit_responder;
        GRANT USAGE ON SCHEMA adit TO adit_responder;
        GRANT SELECT ON adit.migration, adit.principal, adit.api_key TO adit_responder;
        GRANT SELECT, INSERT, DELETE ON adit.ssh_credential TO adit_responder;
        GRANT UPDATE (description, metadata, acl) ON adit.ssh_credential TO adit_responder;
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON adit.oauth_module, adit.mutual_tls_module TO adit_responder;
    END IF;
END
$$;
