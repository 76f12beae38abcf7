-- A row and a notification for each change through the API or aditctl, in the change's own
-- transaction.

CREATE TABLE adit.audit_event (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    event text COLLATE "C" NOT NULL,
    account_id text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C",
    api_key_id text COLLATE "C",
    operation_id text COLLATE "C",
    database_user text NOT NULL DEFAULT session_user,
    before jsonb,
    after jsonb
);
CREATE INDEX audit_event_resource ON adit.audit_event (account_id, resource);
COMMENT ON TABLE adit.audit_event IS
    'Every change: who made it, and the row before and after it.  The responder cannot write here, nor change what is here.';
COMMENT ON COLUMN adit.audit_event.id IS 'Number of the event; numbers may be missing.';
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
COMMENT ON COLUMN adit.audit_event.database_user IS 'The role of the database session.';
COMMENT ON COLUMN adit.audit_event.before IS
    'The row before the change, secrets left out; NULL: there was none.';
COMMENT ON COLUMN adit.audit_event.after IS
    'The row after the change, secrets left out; NULL: there is none.';

-- The arguments are the columns that hold secrets.  The responder's statements set adit.caller to
-- "<principal> <API key> <operation>".  The function runs as the owner of the tables, so no other
-- role needs the right to write events.  PostgreSQL commits notifying transactions one after the
-- other.  If nothing listens, run ALTER DATABASE ... SET adit.notify = off.
CREATE FUNCTION adit.record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secrets text[] := coalesce(TG_ARGV, '{}');
    caller text[] := string_to_array(nullif(current_setting('adit.caller', true), ''), ' ');
    event text := TG_TABLE_NAME || CASE
        WHEN TG_OP = 'INSERT' THEN '_created'
        WHEN TG_OP = 'DELETE' THEN '_deleted'
        WHEN current_setting('adit.rekey', true) = 'on' THEN '_rekeyed'
        ELSE '_updated' END;
    before jsonb;
    after jsonb;
    key jsonb;
    account text;
    resource text;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        before := to_jsonb(OLD) - secrets;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        after := to_jsonb(NEW) - secrets;
    END IF;
    key := coalesce(after, before);
    account := coalesce(key ->> 'account_id', key ->> 'id');
    resource := coalesce(key ->> 'id', concat_ws('/', key ->> 'edge_id', key ->> 'route_id'));
    INSERT INTO adit.audit_event
        (event, account_id, resource, principal_id, api_key_id, operation_id, before, after)
        VALUES (event, account, resource, caller[1], caller[2], caller[3], before, after);
    IF current_setting('adit.notify', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify('adit_change',
            json_build_object('event', event, 'account_id', account, 'resource', resource,
                              'revision', key -> 'revision')::text);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.record_change() IS
    'Writes the audit event of a change, and notifies the channel adit_change of it.';
REVOKE ALL ON FUNCTION adit.record_change() FROM PUBLIC;

CREATE TRIGGER record_change AFTER INSERT OR DELETE ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_update AFTER UPDATE ON adit.ssh_credential
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_change AFTER INSERT OR DELETE ON adit.oauth_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_change('client_secret_sealed');
CREATE TRIGGER record_update AFTER UPDATE ON adit.oauth_module
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION adit.record_change('client_secret_sealed');
CREATE TRIGGER record_change AFTER INSERT OR DELETE ON adit.mutual_tls_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_update AFTER UPDATE ON adit.mutual_tls_module
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON adit.account
    FOR EACH ROW EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON adit.principal
    FOR EACH ROW EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_change AFTER INSERT OR UPDATE OR DELETE ON adit.api_key
    FOR EACH ROW EXECUTE FUNCTION adit.record_change('digest');

-- PostgreSQL accepts no writes through a view with a join.
CREATE VIEW adit.audit AS
SELECT e.at, e.event, e.resource, e.account_id, a.name AS account,
    e.principal_id, p.name AS principal, e.api_key_id, k.description AS api_key,
    e.operation_id, e.database_user, e.before, e.after, e.id
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
COMMENT ON COLUMN adit.audit.database_user IS 'The role of the database session.';
COMMENT ON COLUMN adit.audit.before IS 'The row before the change, secrets left out.';
COMMENT ON COLUMN adit.audit.after IS 'The row after the change, secrets left out.';
COMMENT ON COLUMN adit.audit.id IS 'Number of the event.';
