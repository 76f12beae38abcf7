-- Only who may act as the owner of the tables is believed to be aditctl.
--
-- Any session may set adit.operator and adit.rekey.  A responder that was taken over could so record
-- its changes as the operator's, and replace client secrets without a new revision.  Both settings
-- count only if session_user is a member of the tables' owner: pg_has_role() says so of the owner, of
-- its members and of superusers, and of no role that has only the rights in sql/grants.sql.  The
-- functions below run as the owner, who is current_user in them.  A caller that adit.caller names
-- cannot be checked; audit_event.database_user is the role that wrote, which no setting changes.
--
-- "aditctl secrets rekey" therefore connects as the owner.  sql/012_cheaper_writes.sql says how
-- functions of triggers name what they call.

CREATE OR REPLACE FUNCTION adit.record_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secrets text[] := coalesce(TG_ARGV, '{}');
    caller text[] := string_to_array(nullif(current_setting('adit.caller', true), ''), ' ');
    operator text := CASE WHEN caller IS NULL AND pg_has_role(session_user, current_user, 'MEMBER')
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

CREATE OR REPLACE FUNCTION adit.make_recorder(kind text, secrets text[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $make$
DECLARE
    columns CONSTANT text[] := ARRAY(
        SELECT a.attname FROM pg_attribute AS a
        WHERE a.attrelid = ('adit.' || kind)::regclass AND a.attnum > 0 AND NOT a.attisdropped);
    changed CONSTANT text := (
        SELECT string_agg(format(CASE WHEN a.attnotnull
                                 THEN 'CASE WHEN OLD.%1$I OPERATOR(pg_catalog.<>) NEW.%1$I%2$s'
                                 ELSE 'CASE WHEN (OLD.%1$I OPERATOR(pg_catalog.<>) NEW.%1$I) IS NOT FALSE'
                                      ' AND NOT (OLD.%1$I IS NULL AND NEW.%1$I IS NULL)%2$s' END
                                 || ' THEN %3$L END', a.attname,
                                 CASE WHEN a.attname = ANY (secrets) THEN ' AND NOT rekeyed' END,
                                 regexp_replace(a.attname, '_sealed$', '')), E',\n'
                          ORDER BY regexp_replace(a.attname, '_sealed$', '') COLLATE "C")
        FROM pg_attribute AS a
        WHERE a.attrelid = ('adit.' || kind)::regclass AND a.attname = ANY (columns)
        AND a.attname <> 'revision');
    resource CONSTANT text := CASE WHEN 'id' = ANY (columns) THEN 'ROW.id'
                              WHEN 'route_id' = ANY (columns)
                              THEN 'pg_catalog.concat(ROW.edge_id, ''/'', ROW.route_id)'
                              ELSE 'ROW.edge_id' END;
    content CONSTANT text := CASE WHEN secrets = '{}' THEN 'pg_catalog.to_jsonb(ROW)'
                             ELSE format('pg_catalog.to_jsonb(ROW)'
                                         ' OPERATOR(pg_catalog.-) %L::pg_catalog.text[]', secrets) END;
    unchanged CONSTANT text := $$
    IF OLD.revision OPERATOR(pg_catalog.=) NEW.revision AND OLD OPERATOR(pg_catalog.=) NEW THEN
        RETURN NULL;
    END IF;$$;
    rekeying CONSTANT text := $$
    IF pg_catalog.current_setting('adit.rekey', true) OPERATOR(pg_catalog.=) 'on' THEN
        rekeyed := adit.is_rekeying(pg_catalog.to_jsonb(OLD), pg_catalog.to_jsonb(NEW));
    END IF;$$;
    event text;
    verb text;
BEGIN
    FOREACH verb IN ARRAY '{created,updated,deleted}'::text[] LOOP
        event := kind || '_' || verb;
        EXECUTE format($record$
CREATE OR REPLACE FUNCTION adit.record_%1$s() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $recorder$
DECLARE
    caller CONSTANT pg_catalog.text[] :=
        pg_catalog.string_to_array(pg_catalog.current_setting('adit.caller', true), ' ');
    operator pg_catalog.text;%2$s
BEGIN%3$s
    IF caller[1] IS NULL THEN
        operator := pg_catalog.substring(pg_catalog.current_setting('adit.operator', true), '.+');
        IF operator IS NOT NULL
           AND NOT pg_catalog.pg_has_role(session_user, current_user, 'MEMBER') THEN
            operator := NULL;
        END IF;
    END IF;
    INSERT INTO adit.audit_event (event, account_id, resource, principal_id, api_key_id,
                                  operation_id, client_address, operator, %4$s)
        VALUES (%5$s, %6$s.account_id, %7$s, caller[1], caller[2],
                caller[3], caller[4], operator, %8$s);
    IF pg_catalog.current_setting('adit.notify', true) OPERATOR(pg_catalog.=) 'on' THEN
        PERFORM pg_catalog.pg_notify('adit_change', pg_catalog.json_build_object(
            'event', %5$s::pg_catalog.text, 'account_id', %6$s.account_id, 'resource', %7$s,
            'revision', %6$s.revision)::pg_catalog.text);
    END IF;
    RETURN NULL;
END
$recorder$;
$record$, event,
            CASE WHEN verb = 'updated' AND secrets <> '{}'
            THEN E'\n    rekeyed pg_catalog.bool := false;' END,
            CASE WHEN verb = 'updated'
            THEN unchanged || CASE WHEN secrets <> '{}' THEN rekeying ELSE '' END END,
            CASE verb WHEN 'created' THEN 'after' WHEN 'deleted' THEN 'before'
            ELSE 'before, after, changed' END,
            CASE WHEN verb = 'updated' AND secrets <> '{}'
            THEN format('CASE WHEN rekeyed THEN %L ELSE %L END', kind || '_rekeyed', event)
            ELSE quote_literal(event) END,
            CASE verb WHEN 'deleted' THEN 'OLD' ELSE 'NEW' END,
            replace(resource, 'ROW', CASE verb WHEN 'deleted' THEN 'OLD' ELSE 'NEW' END),
            CASE verb WHEN 'created' THEN replace(content, 'ROW', 'NEW')
            WHEN 'deleted' THEN replace(content, 'ROW', 'OLD')
            ELSE format(E'%s, %s,\n                pg_catalog.array_remove(ARRAY[%s], NULL)',
                        replace(content, 'ROW', 'OLD'), replace(content, 'ROW', 'NEW'), changed) END);
        EXECUTE format('REVOKE ALL ON FUNCTION adit.record_%s() FROM PUBLIC', event);
        EXECUTE format('COMMENT ON FUNCTION adit.record_%s() IS %L', event,
            'Writes the audit event of a change.  If adit.notify is on, also notifies the channel adit_change.  Made by adit.make_recorder().');
    END LOOP;
END
$make$;

SELECT adit.make_recorder('ssh_credential');
SELECT adit.make_recorder('oauth_module', '{client_secret_sealed,incarnation}');
SELECT adit.make_recorder('mutual_tls_module');

-- A rekeying is aditctl's, so a caller's change never counts as one.
CREATE OR REPLACE FUNCTION adit.is_rekeying(before jsonb, after jsonb) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER
RETURN coalesce(pg_catalog.current_setting('adit.rekey', true) = 'on', false)
    AND pg_catalog.pg_has_role(session_user, current_user, 'MEMBER')
    AND coalesce(pg_catalog.current_setting('adit.caller', true), '') = ''
    AND before -> 'client_secret_key_id' IS DISTINCT FROM after -> 'client_secret_key_id'
    AND before - '{client_secret_key_id,client_secret_sealed}'::text[]
        = after - '{client_secret_key_id,client_secret_sealed}'::text[];

COMMENT ON COLUMN adit.audit_event.operator IS
    'The system user that ran aditctl, as aditctl says; NULL: the session may not act as the owner of the tables, or it was not aditctl.';
COMMENT ON COLUMN adit.audit_event.database_user IS
    'The role that the session logged in as.  No setting changes it.';
COMMENT ON COLUMN adit.audit_event.id IS
    'Numbers the events of all accounts together, with gaps: a change that is rolled back uses up a number, and so does a check of aditctl doctor.';
