-- An update that changes nothing gets no audit event, and 'adit.rekey' no longer hides changes.

-- 'aditctl secrets rekey' changes nothing that a caller sees.  Any session may set adit.rekey.  It
-- counts only if the secret's key has changed and no other column has.  Without the keys, PostgreSQL
-- cannot tell whether the secret is the same.
CREATE FUNCTION adit.is_rekeying(before jsonb, after jsonb) RETURNS boolean LANGUAGE sql STABLE
RETURN coalesce(pg_catalog.current_setting('adit.rekey', true) = 'on', false)
    AND before -> 'client_secret_key_id' IS DISTINCT FROM after -> 'client_secret_key_id'
    AND before - '{client_secret_key_id,client_secret_sealed}'::text[]
        = after - '{client_secret_key_id,client_secret_sealed}'::text[];
COMMENT ON FUNCTION adit.is_rekeying(jsonb, jsonb) IS
    'Whether an update of a row does nothing but seal its secret under another key.';

CREATE OR REPLACE FUNCTION adit.renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'oauth_module' AND adit.is_rekeying(to_jsonb(OLD), to_jsonb(NEW)) THEN
        RETURN NEW;
    END IF;
    NEW.revision := adit.new_revision();
    RETURN NEW;
END
$$;

-- The arguments are the columns that hold secrets.  The responder's statements set adit.caller to
-- "<principal> <API key> <operation>".  The function runs as the owner of the tables, so no other
-- role needs the right to write events.
CREATE OR REPLACE FUNCTION adit.record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secrets text[] := coalesce(TG_ARGV, '{}');
    caller text[] := string_to_array(nullif(current_setting('adit.caller', true), ''), ' ');
    event text := TG_TABLE_NAME || CASE
        WHEN TG_OP = 'INSERT' THEN '_created'
        WHEN TG_OP = 'DELETE' THEN '_deleted'
        WHEN TG_TABLE_NAME = 'oauth_module'
             AND adit.is_rekeying(to_jsonb(OLD), to_jsonb(NEW)) THEN '_rekeyed'
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

-- Lock the tables in the same order as requests do.
DROP TRIGGER record_change ON adit.api_key;
CREATE TRIGGER record_change AFTER INSERT OR DELETE ON adit.api_key
    FOR EACH ROW EXECUTE FUNCTION adit.record_change('digest');
CREATE TRIGGER record_update AFTER UPDATE ON adit.api_key
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION adit.record_change('digest');
DROP TRIGGER record_change ON adit.principal;
CREATE TRIGGER record_change AFTER INSERT OR DELETE ON adit.principal
    FOR EACH ROW EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_update AFTER UPDATE ON adit.principal
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION adit.record_change();
DROP TRIGGER record_change ON adit.account;
CREATE TRIGGER record_change AFTER INSERT OR DELETE ON adit.account
    FOR EACH ROW EXECUTE FUNCTION adit.record_change();
CREATE TRIGGER record_update AFTER UPDATE ON adit.account
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION adit.record_change();
DROP TRIGGER renew_revision ON adit.oauth_module;
CREATE TRIGGER renew_revision BEFORE UPDATE ON adit.oauth_module
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION adit.renew_revision();

-- 'aditctl purge' scans the table without this index.
DROP INDEX adit.idempotency_key_created_at;
