-- A session of a visitor is valid for one OAuth application.  If the module selects another one, and then
-- the first one again, sessions from before stay ended: the module has another incarnation each time.
--
-- "aditctl secrets rekey" changes neither column, so it signs nobody out.  "aditctl restore" and
-- "aditctl apply" change them as everybody does.  The trigger comes after keep_columns of
-- sql/optional/citus.sql and before renew_revision: triggers run in the order of their names.
CREATE FUNCTION adit.renew_incarnation() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.provider IS DISTINCT FROM NEW.provider OR OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        NEW.incarnation := adit.new_revision();
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.renew_incarnation() IS
    'Ends the sessions of visitors when a module selects another application.';
REVOKE ALL ON FUNCTION adit.renew_incarnation() FROM PUBLIC;
COMMENT ON COLUMN adit.oauth_module.incarnation IS
    'A random number, which changes with provider and client_id.  Sessions of visitors are valid for it.';

-- It waits for writes of the table and keeps out others until the migrations end.  Reads go on.
CREATE TRIGGER renew_incarnation BEFORE UPDATE OF provider, client_id ON adit.oauth_module
    FOR EACH ROW EXECUTE FUNCTION adit.renew_incarnation();

-- No reader of the record of changes knows the column, so "changed" does not name it.
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
        AND a.attname <> ALL ('{revision,incarnation}'));
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

SELECT adit.make_recorder('oauth_module', '{client_secret_sealed,incarnation}');
CREATE OR REPLACE TRIGGER record_truncation BEFORE TRUNCATE ON adit.oauth_module
    FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation('client_secret_sealed', 'incarnation');
