-- The record of changes as a feed.  A reader keeps the snapshot of its last call, and each change
-- that commits comes to it once, whatever order commits have.  Notifications are off by default.

-- Events of earlier versions have no transaction.  A default that is not constant would rewrite all
-- of them, so it comes after.  An operator may make the column and its index ahead of an upgrade,
-- with CREATE INDEX CONCURRENTLY.
ALTER TABLE adit.audit_event ADD COLUMN IF NOT EXISTS transaction xid8;
ALTER TABLE adit.audit_event ALTER COLUMN transaction SET DEFAULT pg_current_xact_id();
COMMENT ON COLUMN adit.audit_event.transaction IS
    'The transaction that made the change, for adit.changes().  NULL: recorded by an earlier version.';
CREATE INDEX IF NOT EXISTS audit_event_transaction ON adit.audit_event (transaction)
    WHERE transaction IS NOT NULL;

-- How far events were removed.  A reader whose snapshot does not have all of those must begin anew.
CREATE TABLE adit.audit_pruned (
    is_only boolean PRIMARY KEY DEFAULT true,
    transaction xid8,
    CONSTRAINT audit_pruned_is_only CHECK (is_only)
);
COMMENT ON TABLE adit.audit_pruned IS
    'One row: how far events were removed from the record of changes.';
COMMENT ON COLUMN adit.audit_pruned.is_only IS 'Always true, so that there is one row.';
COMMENT ON COLUMN adit.audit_pruned.transaction IS
    'The latest transaction among the events that were removed; NULL: none was.';
INSERT INTO adit.audit_pruned DEFAULT VALUES;

CREATE FUNCTION adit.note_pruned() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
        WHERE latest > coalesce(p.transaction, '0');
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.note_pruned() IS 'Notes how far events were removed.';
REVOKE ALL ON FUNCTION adit.note_pruned() FROM PUBLIC;
CREATE TRIGGER note_pruned AFTER DELETE ON adit.audit_event REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION adit.note_pruned();
CREATE TRIGGER note_truncated BEFORE TRUNCATE ON adit.audit_event
    FOR EACH STATEMENT EXECUTE FUNCTION adit.note_pruned();

-- An event that the snapshot "since" does not have is of a transaction that began after it, or of
-- one that was open then and has ended.  These two ranges are read.  A scan from the snapshot's xmin
-- would read all events again for as long as any transaction of the cluster stays open.  Snapshots
-- and audit_event.transaction name no subtransactions.
--
-- pg_restore brings rows with the transactions of another cluster.  Those are no changes here: their
-- row was written before the transaction of that number began, which age() compares.  Rows of
-- adit.migration are as old as the schema, its last migration or its restore.
--
-- The planner does not know that the ranges are short: the settings keep it on the index.
CREATE FUNCTION adit.changes(since pg_snapshot)
RETURNS TABLE (snapshot pg_snapshot, complete boolean, id bigint, at timestamptz, event text,
               account_id text, resource text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    present CONSTANT pg_snapshot := pg_current_snapshot();
    first CONSTANT xid8 := pg_snapshot_xmax(since);
    last CONSTANT xid8 := pg_snapshot_xmax(present);
    ended xid8[];
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE 'adit.changes() needs the primary server' USING ERRCODE = '25006',
            DETAIL = 'Snapshots of a standby do not name the transactions in progress.';
    ELSIF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE 'adit.changes() cannot run in a transaction that writes' USING ERRCODE = '25001',
            DETAIL = 'A snapshot does not say whether it has changes of its own transaction.';
    END IF;
    -- The same snapshot sees the same rows.  This is what a poll of an idle server takes.
    IF since::text = present::text THEN
        snapshot := present;
        complete := true;
        RETURN NEXT;
        RETURN;
    END IF;
    -- Nothing to go on from; of another cluster; events are gone; the schema is younger.
    IF since IS NULL OR first > last
       OR EXISTS (SELECT FROM adit.audit_pruned AS p
                  WHERE p.transaction >= pg_snapshot_xmin(since) AND p.transaction < last)
       OR EXISTS (SELECT FROM adit.migration AS m
                  WHERE age(m.xmin) BETWEEN 0 AND age(first::xid)
                     OR m.xmin IN (SELECT x::xid FROM pg_snapshot_xip(since) AS x)) THEN
        RETURN QUERY SELECT present, false, NULL::bigint, NULL::timestamptz, NULL, NULL, NULL;
        RETURN;
    END IF;
    ended := ARRAY(SELECT x FROM pg_snapshot_xip(since) AS x
                   WHERE pg_visible_in_snapshot(x, present));
    -- "IS NOT NULL" names the partial index, where the planner cannot conclude it.
    RETURN QUERY
        SELECT present, true, n.id, n.at, n.event, n.account_id, n.resource
        FROM (SELECT) AS one
        LEFT JOIN (
            SELECT e.id, e.at, e.event, e.account_id, e.resource, e.transaction, e.xmin
            FROM adit.audit_event AS e
            WHERE e.transaction >= first AND e.transaction < last
            UNION ALL
            SELECT e.id, e.at, e.event, e.account_id, e.resource, e.transaction, e.xmin
            FROM adit.audit_event AS e
            WHERE e.transaction = ANY (ended) AND e.transaction IS NOT NULL) AS n
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
