-- The record of changes as a feed.  A reader keeps the snapshot of its last call, and each change
-- that commits comes to it once, whatever order commits have.  Notifications are off by default.

-- Events of earlier versions have no transaction.  A default that is not constant would rewrite all
-- of them, so it comes after.
ALTER TABLE adit.audit_event ADD COLUMN transaction xid8;
ALTER TABLE adit.audit_event ALTER COLUMN transaction SET DEFAULT pg_current_xact_id();
COMMENT ON COLUMN adit.audit_event.transaction IS
    'The transaction that made the change, for adit.changes().  NULL: recorded by an earlier version.';
CREATE INDEX audit_event_transaction ON adit.audit_event (transaction)
    WHERE transaction IS NOT NULL;

-- What was removed from the record: a reader that has not seen all of it must begin anew.
CREATE TABLE adit.audit_pruned (
    is_only boolean PRIMARY KEY DEFAULT true,
    transaction xid8,
    CONSTRAINT audit_pruned_is_only CHECK (is_only)
);
COMMENT ON TABLE adit.audit_pruned IS
    'One row: how far events were removed from the record of changes.';
COMMENT ON COLUMN adit.audit_pruned.is_only IS 'Always true, so that there is one row.';
COMMENT ON COLUMN adit.audit_pruned.transaction IS
    'The latest transaction of the events that were removed; NULL: none was.';
INSERT INTO adit.audit_pruned DEFAULT VALUES;

CREATE FUNCTION adit.note_pruned() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    latest xid8;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        SELECT e.transaction INTO latest FROM adit.audit_event AS e
            WHERE e.transaction IS NOT NULL ORDER BY e.transaction DESC LIMIT 1;
    ELSE
        SELECT g.transaction INTO latest FROM gone AS g
            WHERE g.transaction IS NOT NULL ORDER BY g.transaction DESC LIMIT 1;
    END IF;
    UPDATE adit.audit_pruned AS p SET transaction = latest
        WHERE latest > p.transaction OR (latest IS NOT NULL AND p.transaction IS NULL);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.note_pruned() IS 'Notes how far events were removed.';
CREATE TRIGGER note_pruned AFTER DELETE ON adit.audit_event REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION adit.note_pruned();
CREATE TRIGGER note_truncated BEFORE TRUNCATE ON adit.audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION adit.note_pruned();

-- The events that became visible after the snapshot are those of transactions that began after it,
-- and of those that were open then and have ended since.  So a transaction that stays open for long
-- makes no call read more.  A transaction of audit_event is never a subtransaction, and neither are
-- those of a snapshot.
--
-- Rows that pg_restore brings name transactions of the cluster that they were recorded in.  Those
-- that lie ahead are no changes of this cluster: their row was written before.
CREATE FUNCTION adit.changes(after pg_snapshot)
RETURNS TABLE (snapshot pg_snapshot, complete boolean, id bigint, at timestamptz, event text,
               account_id text, resource text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    present CONSTANT pg_snapshot := pg_current_snapshot();
    first CONSTANT xid8 := pg_snapshot_xmax(after);
    last CONSTANT xid8 := pg_snapshot_xmax(present);
    ended CONSTANT xid8[] := ARRAY(SELECT x FROM pg_snapshot_xip(after) AS x
                                   WHERE pg_visible_in_snapshot(x, present));
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE 'adit.changes() needs the primary server' USING ERRCODE = '25006',
            DETAIL = 'Snapshots of a standby do not name the transactions in progress.';
    ELSIF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE 'adit.changes() cannot run in a transaction that writes' USING ERRCODE = '25001',
            DETAIL = 'The snapshot would not tell whether it has that transaction''s changes.';
    END IF;
    -- NULL; of another cluster; older than what was removed; older than a migration or a restore of
    -- the database.
    IF after IS NULL OR first > last
       OR EXISTS (SELECT FROM adit.audit_pruned AS p
                  WHERE p.transaction >= pg_snapshot_xmin(after) AND p.transaction < last)
       OR EXISTS (SELECT FROM adit.migration AS m
                  WHERE age(m.xmin) BETWEEN 0 AND age(first::xid)
                     OR m.xmin IN (SELECT x::xid FROM pg_snapshot_xip(after) AS x)) THEN
        RETURN QUERY SELECT present, false, NULL::bigint, NULL::timestamptz, NULL, NULL, NULL;
        RETURN;
    END IF;
    RETURN QUERY
        SELECT present, true, n.id, n.at, n.event, n.account_id, n.resource
        FROM (SELECT) AS one
        LEFT JOIN (
            SELECT e.id, e.at, e.event, e.account_id, e.resource, e.transaction, e.xmin
            FROM adit.audit_event AS e WHERE e.transaction >= first AND e.transaction < last
            UNION ALL
            SELECT e.id, e.at, e.event, e.account_id, e.resource, e.transaction, e.xmin
            FROM adit.audit_event AS e WHERE e.transaction = ANY (ended)) AS n
            ON age(n.xmin) <= age(n.transaction::xid)
        ORDER BY n.id;
END
$$;
COMMENT ON FUNCTION adit.changes(pg_snapshot) IS
    'The changes that have committed since a snapshot, each once, and the next snapshot.  complete is false if the reader must read everything anew; aditctl(8) says when.';
REVOKE ALL ON FUNCTION adit.changes(pg_snapshot) FROM PUBLIC;

-- The arguments are the columns that hold secrets.  The responder's statements set adit.caller to
-- "<principal> <API key> <operation>".  The function runs as the owner of the tables, so no other
-- role needs the right to write events.  PostgreSQL commits notifying transactions one after the
-- other.
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
    IF current_setting('adit.notify', true) = 'on' THEN
        PERFORM pg_notify('adit_change',
            json_build_object('event', event, 'account_id', account, 'resource', resource,
                              'revision', key -> 'revision')::text);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.record_change() IS
    'Writes the audit event of a change.  If adit.notify is on, also notifies the channel adit_change.';
