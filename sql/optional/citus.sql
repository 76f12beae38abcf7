-- Spread the accounts over the nodes of Citus.  All rows of an account are on one node, and every
-- statement of a request is for one account, so it runs on that node alone.
--
-- Run this with psql as a superuser on the coordinator, after the nodes were added and after "aditctl
-- migrate", with no responder running.  Run it again after you add a node.  A second run changes
-- nothing that is there already.  There is no way back but a dump.
--
-- From then on, "aditctl migrate" itself runs what is here between BEGIN and COMMIT, in the transaction
-- of the migrations.

\set ON_ERROR_STOP on
\pset tuples_only on
-- Where every role may create functions in the schema public, one may fit better than PostgreSQL's own.
SET search_path = pg_catalog, pg_temp;
SET client_min_messages = warning;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') THEN
        RAISE 'the extension citus is missing: run CREATE EXTENSION citus on every node';
    ELSIF (SELECT groupid FROM pg_dist_local_group) <> 0 THEN
        RAISE 'this node is a worker: run this on the coordinator';
    ELSIF NOT EXISTS (SELECT FROM pg_dist_node WHERE shouldhaveshards AND isactive) THEN
        RAISE 'no node takes shards: run SELECT pg_catalog.citus_set_coordinator_host(...) and pg_catalog.citus_add_node(...)';
    ELSIF to_regclass('adit.account') IS NULL THEN
        RAISE 'the schema adit is missing: run aditctl migrate';
    END IF;
END
$$;

-- Citus creates triggers on shards only with this setting.  All nodes and later sessions need it.
SELECT nodeid, result FROM run_command_on_all_nodes(format(
    'ALTER DATABASE %I SET citus.enable_unsafe_triggers = on', current_database())) WHERE NOT success;
SET citus.enable_unsafe_triggers = on;

BEGIN;

SET LOCAL citus.multi_shard_modify_mode = sequential;

-- ---- before the tables are distributed ----

-- A truncation of all shards is no single statement of one node, which could record its rows.
CREATE OR REPLACE FUNCTION adit.record_truncation() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE 'TRUNCATE of adit.% is not recorded on a distributed database; use DELETE',
        regexp_replace(TG_TABLE_NAME, '_[0-9]+$', '') USING ERRCODE = '0A000';
END
$$;

-- A trigger of a shard may not ask the table, whose rows may be on other nodes, but the shard.  So
-- adit.note_caller() of distributed.sql tells it the scope of the caller's key.
CREATE OR REPLACE FUNCTION adit.public_key_owners(
    relation regclass, account text, key text, most bigint)
RETURNS TABLE (owner_id text, standing text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT c.owner_id, c.standing::text FROM %s AS c WHERE c.fingerprint = $1'
        ' AND c.account_id || '''' = $2 LIMIT $3', relation) USING key, account, most;
END
$$;
CREATE OR REPLACE FUNCTION adit.own_key_of_caller(account text)
RETURNS SETOF text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT split_part(current_setting('adit.caller', true), ' ', 2)
    WHERE current_setting('adit.scope', true) = 'own'
$$;

-- Snapshots and numbers of transactions are a node's own.
CREATE OR REPLACE FUNCTION adit.changes(since pg_snapshot)
RETURNS TABLE (snapshot pg_snapshot, complete boolean, id bigint, at timestamptz, event text,
               account_id text, resource text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE 'adit.changes() does not work on a distributed database' USING ERRCODE = '0A000';
END
$$;

-- A visitor's session is on the node of the account.  A row without an account was of no use.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'adit.gate_session'::regclass
               AND attname = 'account_id') THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_dist_partition
               WHERE logicalrelid = 'adit.gate_session'::regclass) THEN
        PERFORM undistribute_table('adit.gate_session');
    END IF;
    DELETE FROM adit.gate_session;
    ALTER TABLE adit.gate_session DROP CONSTRAINT gate_session_pkey;
    ALTER TABLE adit.gate_session ADD COLUMN account_id text COLLATE "C" NOT NULL,
        ADD CONSTRAINT gate_session_pkey PRIMARY KEY (account_id, id);
    COMMENT ON COLUMN adit.gate_session.account_id IS 'The account of the route, for its node.';
END
$$;

-- Citus has no rights to columns.  Instead, triggers that grants.sql makes compare those that stay.
CREATE OR REPLACE FUNCTION adit.keep_columns() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    column_name text;
BEGIN
    IF pg_has_role(current_user, (SELECT c.relowner FROM pg_class AS c WHERE c.oid = TG_RELID),
                   'USAGE') THEN
        RETURN NEW;
    END IF;
    FOREACH column_name IN ARRAY TG_ARGV LOOP
        IF to_jsonb(OLD) -> column_name IS DISTINCT FROM to_jsonb(NEW) -> column_name THEN
            RAISE 'column % of adit.% never changes', column_name,
                regexp_replace(TG_TABLE_NAME, '_[0-9]+$', '') USING ERRCODE = '42501';
        END IF;
    END LOOP;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.keep_columns() IS
    'Refuses an update of the columns that are its arguments, unless the owner of the table makes it.';

-- Numbers of events ascend within an account wherever it is: microseconds since 1970, times 512, and
-- what tells apart the sessions that write in the same microsecond.
CREATE OR REPLACE FUNCTION adit.new_event_number() RETURNS bigint LANGUAGE sql VOLATILE
RETURN (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint * 512
    + pg_catalog.pg_backend_pid() % 512;
COMMENT ON FUNCTION adit.new_event_number() IS 'The number of an event that is written now.';

-- ---- the tables ----

CREATE TEMPORARY TABLE foreign_key ON COMMIT DROP AS
SELECT c.conrelid::regclass AS name, c.conname, pg_get_constraintdef(c.oid) AS definition
FROM pg_constraint AS c
WHERE c.contype = 'f' AND c.connamespace = 'adit'::regnamespace
AND c.conparentid = 0 AND NOT relation_is_a_known_shard(c.conrelid)
AND NOT EXISTS (SELECT FROM pg_dist_partition AS d WHERE d.logicalrelid = c.conrelid);

DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', f.name, f.conname) FROM foreign_key AS f
    LOOP
        EXECUTE command;
    END LOOP;
    IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'adit.account'::regclass) THEN
        RETURN;
    END IF;
    -- A right to columns cannot go to the nodes.  grants.sql gives all rights anew, below.
    FOR command IN
        SELECT format('REVOKE ALL ON ALL TABLES IN SCHEMA adit FROM %I', r.rolname)
        FROM pg_roles AS r WHERE r.rolname IN ('adit_responder', 'adit_gateway', 'adit_gate')
    LOOP
        EXECUTE command;
    END LOOP;
    ALTER TABLE adit.principal DROP CONSTRAINT principal_id_unique;
    ALTER TABLE adit.api_key DROP CONSTRAINT api_key_digest_unique;
    -- Serves the search by digest too, which a key of the old form needs.
    ALTER TABLE adit.api_key ADD CONSTRAINT api_key_digest_unique UNIQUE (digest, account_id);
    DROP INDEX adit.audit_event_account;
    ALTER TABLE adit.audit_event DROP CONSTRAINT audit_event_pkey;
    ALTER TABLE adit.audit_event ADD CONSTRAINT audit_event_pkey PRIMARY KEY (account_id, id);
    ALTER TABLE adit.audit_event ALTER COLUMN id DROP IDENTITY;
    ALTER TABLE adit.audit_event ALTER COLUMN id SET DEFAULT adit.new_event_number();
END
$$;

-- The rows of a table that has account_id in its primary key are those of accounts.
DO $$
DECLARE
    name regclass;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'adit.account'::regclass) THEN
        PERFORM create_distributed_table('adit.account', 'id', colocate_with => 'none');
    END IF;
    FOR name IN
        SELECT c.oid FROM pg_class AS c
        JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey) AND a.attname = 'account_id'
        WHERE c.relnamespace = 'adit'::regnamespace AND NOT relation_is_a_known_shard(c.oid)
        AND NOT EXISTS (SELECT FROM pg_dist_partition AS d WHERE d.logicalrelid = c.oid)
        ORDER BY c.relname
    LOOP
        PERFORM create_distributed_table(name, 'account_id', colocate_with => 'adit.account');
    END LOOP;
    IF NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = 'adit.migration'::regclass) THEN
        -- A worker compares the version, so each node has it.
        PERFORM create_reference_table('adit.migration');
    END IF;
END
$$;

DO $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', f.name, f.conname, f.definition)
        FROM foreign_key AS f
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;

-- ---- functions ----

\ir distributed.sql

-- The changes of one account, for adit-gateway.  Snapshots and numbers of transactions are a node's own,
-- so Citus calls this on the account's node, and it reads the shard there.  The table's name would be
-- looked up in the metadata, which may lead to another node: the shard may just have moved.
--
-- A cursor names the server, since its start or its last crash, and the shard, by its oid: a move and a
-- split make new tables.  A cursor of another server or shard says nothing here, and the reader begins
-- anew.  After a crash the server gives numbers of transactions again that its log does not have.  If one
-- process crashes, the server starts the others again and keeps its start time, but the end of the log
-- that it replayed is new.
CREATE OR REPLACE FUNCTION adit.account_changes(p_account text, p_since text)
RETURNS TABLE (mark text, complete boolean, id bigint, at timestamptz, event text, resource text)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 10
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    shard CONSTANT regclass := to_regclass(
        'adit.audit_event_'
        || get_shard_id_for_distribution_column('adit.audit_event', p_account));
    present CONSTANT pg_snapshot := pg_current_snapshot();
    old CONSTANT text[] := string_to_array(p_since, ' ');
    started CONSTANT text :=
        concat_ws('+', extract(epoch FROM pg_postmaster_start_time()), pg_last_wal_replay_lsn());
    since pg_snapshot;
BEGIN
    IF shard IS NULL THEN
        RAISE 'the account is on another node' USING ERRCODE = '08000';
    ELSIF pg_is_in_recovery() THEN
        RAISE 'adit.account_changes() needs the primary server' USING ERRCODE = '25006';
    ELSIF pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE 'adit.account_changes() cannot run in a transaction that writes'
            USING ERRCODE = '25001';
    END IF;
    mark := concat_ws(' ', started, shard::oid, extract(epoch FROM now())::bigint, present);
    complete := coalesce(old[1] = started AND old[2]::oid = shard::oid
                         AND now() - to_timestamp(old[3]::bigint) < interval '1 hour', false);
    since := CASE WHEN complete THEN old[4] END;
    -- The same snapshot sees the same rows.
    IF NOT complete OR since::text = present::text THEN
        RETURN NEXT;
        RETURN;
    END IF;
    -- As adit.changes() does it; the expression keeps the planner on the index by transaction.
    RETURN QUERY EXECUTE format($sql$
        SELECT $1, true, n.id, n.at, n.event, n.resource
        FROM (SELECT) AS one
        LEFT JOIN (
            SELECT e.*, e.xmin FROM %1$s AS e
            WHERE e.transaction >= $2 AND e.transaction < $3 AND e.account_id || '' = $5
            UNION ALL
            SELECT e.*, e.xmin FROM %1$s AS e
            WHERE e.transaction = ANY ($4) AND e.transaction IS NOT NULL
            AND e.account_id || '' = $5) AS n
            ON age(n.xmin) <= age(n.transaction::xid)
        ORDER BY n.id $sql$, shard)
        USING mark, pg_snapshot_xmax(since), pg_snapshot_xmax(present),
            ARRAY(SELECT x FROM pg_snapshot_xip(since) AS x
                  WHERE pg_visible_in_snapshot(x, present)), p_account;
END
$$;
COMMENT ON FUNCTION adit.account_changes(text, text) IS
    'The changes of an account that have committed since a call, each once, and the text for the next call.  complete is false if the reader must read everything anew.';
REVOKE ALL ON FUNCTION adit.account_changes(text, text) FROM PUBLIC;

-- Citus cannot see which functions a trigger calls.  The writes of callers run on the node of their
-- account.
DO $$
DECLARE
    routine regprocedure;
BEGIN
    FOR routine IN
        SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = 'adit'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_dist_object AS d
                        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid)
    LOOP
        PERFORM create_distributed_function(routine);
    END LOOP;
    FOR routine IN
        SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = 'adit'::regnamespace
        AND p.proargnames[1] = 'p_account' AND p.proname <> 'note_caller'
    LOOP
        PERFORM create_distributed_function(routine, 'p_account', colocate_with => 'adit.account');
    END LOOP;
END
$$;

-- ---- rights ----

\ir ../grants.sql

COMMIT;

-- ---- what each node has of its own ----

-- How far events were removed, on each node for itself.
SELECT nodename, nodeport, result FROM run_command_on_workers($$
DO $do$
BEGIN
    IF pg_catalog.to_regclass('adit.audit_pruned') IS NULL THEN
        SET LOCAL citus.enable_ddl_propagation = off;
        CREATE TABLE adit.audit_pruned (
            is_only boolean PRIMARY KEY DEFAULT true,
            transaction xid8,
            CONSTRAINT audit_pruned_is_only CHECK (is_only));
        INSERT INTO adit.audit_pruned DEFAULT VALUES;
    END IF;
END
$do$
$$) WHERE NOT success;
