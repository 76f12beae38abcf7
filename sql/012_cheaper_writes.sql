-- A change of a credential or a module costs less: a trigger function for each table and kind of
-- change knows the columns, and does what it needs in one INSERT.  TRUNCATE is recorded too.
--
-- CREATE OR REPLACE TRIGGER waits for writes of the tables and keeps out others until the migrations
-- end.  Reads go on.  A trigger that somebody disabled, or set to ALWAYS, is as new.
--
-- The trigger functions of this file run for every change.  Each thing that they leave out saves time
-- (doc/performance.md, "What a write costs"):
--   - They have no SET search_path, which PostgreSQL sets and resets for each call.  So every name in
--     them is qualified, also operators and types.  Some forms use the operator "=" of the search path
--     without naming it: IS DISTINCT FROM, NULLIF, IN, BETWEEN and CASE x WHEN y.
--     tests/e2e/test_database.py runs them under a hostile search path.
--   - Triggers have no WHEN, which PostgreSQL reads from text, plans and compiles for each statement.
--   - Each expression in plpgsql is compiled for each transaction that runs it.

-- Writes and replaces adit.record_<kind>_created(), _updated() and _deleted(), each of which writes the
-- event of that name.  A migration that adds a column to one of the tables, takes one away, or lets
-- one be NULL, calls this again.  "secrets" are the columns that the record must not hold: their names in "changed" lose
-- "_sealed".
--
-- The responder's statements set adit.caller to "<principal> <API key> <operation> <client's
-- address>", and aditctl sets adit.operator.  A caller's change has no operator: a pooler may have
-- left another session's setting.  The functions run as the owner of the tables, so no other role
-- needs the right to write events.  PostgreSQL commits notifying transactions one after the other.
CREATE FUNCTION adit.make_recorder(kind text, secrets text[] DEFAULT '{}') RETURNS void
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
COMMENT ON FUNCTION adit.make_recorder(text, text[]) IS
    'Writes the functions that record the changes of a table of credentials or modules.';
REVOKE ALL ON FUNCTION adit.make_recorder(text, text[]) FROM PUBLIC;

SELECT adit.make_recorder('ssh_credential');
CREATE OR REPLACE TRIGGER record_change AFTER INSERT ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.record_ssh_credential_created();
CREATE OR REPLACE TRIGGER record_update AFTER UPDATE ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.record_ssh_credential_updated();
CREATE TRIGGER record_deletion AFTER DELETE ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.record_ssh_credential_deleted();
CREATE OR REPLACE TRIGGER renew_revision BEFORE UPDATE ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.renew_revision();
SELECT adit.make_recorder('oauth_module', '{client_secret_sealed}');
CREATE OR REPLACE TRIGGER record_change AFTER INSERT ON adit.oauth_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_oauth_module_created();
CREATE OR REPLACE TRIGGER record_update AFTER UPDATE ON adit.oauth_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_oauth_module_updated();
CREATE TRIGGER record_deletion AFTER DELETE ON adit.oauth_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_oauth_module_deleted();
CREATE OR REPLACE TRIGGER renew_revision BEFORE UPDATE ON adit.oauth_module
    FOR EACH ROW EXECUTE FUNCTION adit.renew_revision();
SELECT adit.make_recorder('mutual_tls_module');
CREATE OR REPLACE TRIGGER record_change AFTER INSERT ON adit.mutual_tls_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_mutual_tls_module_created();
CREATE OR REPLACE TRIGGER record_update AFTER UPDATE ON adit.mutual_tls_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_mutual_tls_module_updated();
CREATE TRIGGER record_deletion AFTER DELETE ON adit.mutual_tls_module
    FOR EACH ROW EXECUTE FUNCTION adit.record_mutual_tls_module_deleted();
CREATE OR REPLACE TRIGGER renew_revision BEFORE UPDATE ON adit.mutual_tls_module
    FOR EACH ROW EXECUTE FUNCTION adit.renew_revision();

-- is_rekeying() gets two whole rows.  Few sessions set adit.rekey.
CREATE OR REPLACE FUNCTION adit.renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD OPERATOR(pg_catalog.=) NEW THEN
        RETURN NEW;
    END IF;
    IF pg_catalog.current_setting('adit.rekey', true) OPERATOR(pg_catalog.=) 'on' THEN
        IF adit.is_rekeying(pg_catalog.to_jsonb(OLD), pg_catalog.to_jsonb(NEW)) THEN
            RETURN NEW;
        END IF;
    END IF;
    NEW.revision := adit.new_revision();
    RETURN NEW;
END
$$;

-- A rekeying is aditctl's, so a caller's change never counts as one.
CREATE OR REPLACE FUNCTION adit.is_rekeying(before jsonb, after jsonb) RETURNS boolean
LANGUAGE sql STABLE
RETURN coalesce(pg_catalog.current_setting('adit.rekey', true) = 'on', false)
    AND coalesce(pg_catalog.current_setting('adit.caller', true), '') = ''
    AND before -> 'client_secret_key_id' IS DISTINCT FROM after -> 'client_secret_key_id'
    AND before - '{client_secret_key_id,client_secret_sealed}'::text[]
        = after - '{client_secret_key_id,client_secret_sealed}'::text[];

-- ---- TRUNCATE ----

-- The arguments are the columns that hold secrets.  TRUNCATE runs no trigger for each row, and it
-- takes rows that its snapshot does not show, unless that is younger than its lock.
CREATE FUNCTION adit.record_truncation() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    secrets CONSTANT text[] := coalesce(TG_ARGV, '{}');
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE 'TRUNCATE of adit.% needs READ COMMITTED', TG_TABLE_NAME USING ERRCODE = '25001',
            DETAIL = 'Its record would lack the rows that the snapshot does not show.';
    END IF;
    EXECUTE format($record$
        WITH e AS (
            INSERT INTO adit.audit_event AS e (event, account_id, resource, operator, before)
            SELECT %L, coalesce(r.row ->> 'account_id', r.row ->> 'id'),
                coalesce(r.row ->> 'id',
                         concat_ws('/', r.row ->> 'edge_id', r.row ->> 'route_id')),
                nullif(current_setting('adit.operator', true), ''), r.row - $1
            FROM (SELECT to_jsonb(t) AS row FROM %s AS t) AS r
            RETURNING e.event, e.account_id, e.resource, e.before)
        SELECT pg_notify('adit_change',
            json_build_object('event', e.event, 'account_id', e.account_id, 'resource', e.resource,
                              'revision', e.before -> 'revision')::text)
        FROM e WHERE current_setting('adit.notify', true) = 'on'$record$,
        TG_TABLE_NAME || '_deleted', TG_RELID::regclass) USING secrets;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.record_truncation() IS
    'Writes an audit event for each row that TRUNCATE deletes.';
REVOKE ALL ON FUNCTION adit.record_truncation() FROM PUBLIC;
CREATE TRIGGER record_truncation BEFORE TRUNCATE ON adit.api_key
    FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation('digest', 'disabled_digest');
CREATE TRIGGER record_truncation BEFORE TRUNCATE ON adit.principal
    FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation();
CREATE TRIGGER record_truncation BEFORE TRUNCATE ON adit.account
    FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation();
CREATE TRIGGER record_truncation BEFORE TRUNCATE ON adit.ssh_credential
    FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation();
CREATE TRIGGER record_truncation BEFORE TRUNCATE ON adit.oauth_module
    FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation('client_secret_sealed');
CREATE TRIGGER record_truncation BEFORE TRUNCATE ON adit.mutual_tls_module
    FOR EACH STATEMENT EXECUTE FUNCTION adit.record_truncation();
