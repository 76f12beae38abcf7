-- What was removed from the record of changes is noted also after a restore, and by every TRUNCATE.

-- A dump brings numbers of transactions from another cluster.  If that was ahead, its numbers would
-- hide the lower ones of this cluster: a number that this cluster has not reached counts as 0, and so
-- does an event without one.  Only a snapshot that is younger than the lock has reached what another
-- session noted.
CREATE OR REPLACE FUNCTION adit.note_pruned() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    reached xid8;
    latest xid8;
BEGIN
    IF TG_OP = 'TRUNCATE'
       AND current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE 'TRUNCATE of adit.% needs READ COMMITTED', TG_TABLE_NAME USING ERRCODE = '25001',
            DETAIL = 'It would not note the events that the snapshot does not show.';
    END IF;
    PERFORM FROM adit.audit_pruned FOR UPDATE;
    reached := greatest(pg_snapshot_xmax(pg_current_snapshot()), pg_current_xact_id());
    IF TG_OP = 'TRUNCATE' THEN
        SELECT coalesce((SELECT e.transaction FROM adit.audit_event AS e
                         WHERE e.transaction <= reached ORDER BY e.transaction DESC LIMIT 1), '0')
            INTO latest FROM adit.audit_event LIMIT 1;
    ELSE
        SELECT CASE WHEN g.transaction <= reached THEN g.transaction ELSE '0' END AS transaction
            INTO latest FROM gone AS g ORDER BY transaction DESC LIMIT 1;
    END IF;
    UPDATE adit.audit_pruned AS p SET transaction = latest
        WHERE latest IS NOT NULL AND (p.transaction BETWEEN latest AND reached) IS NOT TRUE;
    RETURN NULL;
END
$$;
COMMENT ON COLUMN adit.audit_pruned.transaction IS
    'The latest transaction of this cluster among the events that were removed, 0 if only others were; NULL: none was.';
