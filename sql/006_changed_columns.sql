-- An update's audit event names the columns that it changed.  renew_revision() gets its own
-- search_path.

-- renew_revision() runs as the role that changes a row.  Without its own search_path, it would
-- prefer public.to_jsonb(adit.oauth_module), if one exists, to PostgreSQL's function, and call it
-- with that role's rights.
CREATE OR REPLACE FUNCTION adit.renew_revision() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'oauth_module'
       AND adit.is_rekeying(pg_catalog.to_jsonb(OLD), pg_catalog.to_jsonb(NEW)) THEN
        RETURN NEW;
    END IF;
    NEW.revision := adit.new_revision();
    RETURN NEW;
END
$$;

ALTER TABLE adit.audit_event ADD COLUMN changed text[] COLLATE "C";
COMMENT ON COLUMN adit.audit_event.changed IS
    'The columns that an update changed, without revision, which every update changes.  client_secret stands for the sealed one, which changes whenever a secret is set, also to what it was.  NULL: not an update, or recorded by an earlier version.';

-- The arguments are the columns that hold secrets.  The responder's statements set adit.caller to
-- "<principal> <API key> <operation>".  The function runs as the owner of the tables, so no other
-- role needs the right to write events.
CREATE OR REPLACE FUNCTION adit.record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secrets text[] := coalesce(TG_ARGV, '{}');
    caller text[] := string_to_array(nullif(current_setting('adit.caller', true), ''), ' ');
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
                                  operation_id, before, after, changed)
        VALUES (event, account, resource, caller[1], caller[2], caller[3], before, after, changed);
    IF current_setting('adit.notify', true) IS DISTINCT FROM 'off' THEN
        PERFORM pg_notify('adit_change',
            json_build_object('event', event, 'account_id', account, 'resource', resource,
                              'revision', key -> 'revision')::text);
    END IF;
    RETURN NULL;
END
$$;

-- The new column comes last, so that the view and its grants stay.
CREATE OR REPLACE VIEW adit.audit AS
SELECT e.at, e.event, e.resource, e.account_id, a.name AS account,
    e.principal_id, p.name AS principal, e.api_key_id, k.description AS api_key,
    e.operation_id, e.database_user, e.before, e.after, e.id, e.changed
FROM adit.audit_event AS e
LEFT JOIN adit.account AS a ON a.id = e.account_id
LEFT JOIN adit.principal AS p ON p.account_id = e.account_id AND p.id = e.principal_id
LEFT JOIN adit.api_key AS k ON k.account_id = e.account_id AND k.id = e.api_key_id;
COMMENT ON COLUMN adit.audit.changed IS
    'The columns that an update changed; a secret goes by its name in the interface.';
