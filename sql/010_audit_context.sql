-- Audit events name the client's address and the operator, and a page of one account's events is
-- read by an index.
--
-- An operator may run these two parts ahead of an upgrade, with CREATE INDEX CONCURRENTLY where the
-- table of events is large.  What is there already stays.

ALTER TABLE adit.audit_event
    ADD COLUMN IF NOT EXISTS client_address text COLLATE "C",
    ADD COLUMN IF NOT EXISTS operator text COLLATE "C";
COMMENT ON COLUMN adit.audit_event.client_address IS
    'The address that the request came from, as the web server says; NULL: it did not come through the interface.';
COMMENT ON COLUMN adit.audit_event.operator IS
    'The system user that ran aditctl, as aditctl says; NULL: it was not aditctl.';
CREATE INDEX IF NOT EXISTS audit_event_account ON adit.audit_event (account_id, id);

-- The arguments are the columns that hold secrets.  The responder's statements set adit.caller to
-- "<principal> <API key> <operation> <client's address>", and aditctl sets adit.operator.  A caller's
-- change has no operator: a pooler may have left another session's setting.  The function runs as
-- the owner of the tables, so no other role needs the right to write events.  PostgreSQL commits
-- notifying transactions one after the other.
CREATE OR REPLACE FUNCTION adit.record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secrets text[] := coalesce(TG_ARGV, '{}');
    caller text[] := string_to_array(nullif(current_setting('adit.caller', true), ''), ' ');
    operator text := CASE WHEN caller IS NULL
                     THEN nullif(current_setting('adit.operator', true), '') END;
    verb text := CASE TG_OP WHEN 'INSERT' THEN 'created' WHEN 'DELETE' THEN 'deleted'
                 ELSE 'updated' END;
    event text;
    before jsonb;
    after jsonb;
    changed text[];
    key jsonb;
    account text;
    resource text;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        before := to_jsonb(OLD);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        after := to_jsonb(NEW);
    END IF;
    IF TG_OP = 'UPDATE' THEN
        changed := ARRAY(SELECT regexp_replace(n.key, '_sealed$', '') COLLATE "C"
                         FROM jsonb_each(after) AS n
                         WHERE n.value <> before -> n.key AND n.key <> 'revision' ORDER BY 1);
        IF TG_TABLE_NAME = 'oauth_module' AND adit.is_rekeying(before, after) THEN
            verb := 'rekeyed';
            changed := array_remove(changed, 'client_secret');
        END IF;
    END IF;
    before := before - secrets;
    after := after - secrets;
    event := TG_TABLE_NAME || '_' || verb;
    key := coalesce(after, before);
    account := coalesce(key ->> 'account_id', key ->> 'id');
    resource := coalesce(key ->> 'id', concat_ws('/', key ->> 'edge_id', key ->> 'route_id'));
    INSERT INTO adit.audit_event (event, account_id, resource, principal_id, api_key_id,
                                  operation_id, client_address, operator, before, after, changed)
        VALUES (event, account, resource, caller[1], caller[2], caller[3], caller[4], operator,
                before, after, changed);
    IF current_setting('adit.notify', true) = 'on' THEN
        PERFORM pg_notify('adit_change',
            json_build_object('event', event, 'account_id', account, 'resource', resource,
                              'revision', key -> 'revision')::text);
    END IF;
    RETURN NULL;
END
$$;

-- The new columns come last, so that the view and its grants stay.
CREATE OR REPLACE VIEW adit.audit AS
SELECT e.at, e.event, e.resource, e.account_id, a.name AS account,
    e.principal_id, p.name AS principal, e.api_key_id, k.description AS api_key,
    e.operation_id, e.database_user, e.before, e.after, e.id, e.changed, e.client_address,
    e.operator
FROM adit.audit_event AS e
LEFT JOIN adit.account AS a ON a.id = e.account_id
LEFT JOIN adit.principal AS p ON p.account_id = e.account_id AND p.id = e.principal_id
LEFT JOIN adit.api_key AS k ON k.account_id = e.account_id AND k.id = e.api_key_id;
COMMENT ON COLUMN adit.audit.client_address IS 'The address that the request came from.';
COMMENT ON COLUMN adit.audit.operator IS 'The system user that ran aditctl.';
