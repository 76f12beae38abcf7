# SPDX-License-Identifier: MIT
"""Database faults.

PostgreSQL fails in each of these ways while clients write 200 times a second.  Every answer follows
the contract: 2xx, or 503 with Retry-After, within 7 seconds.  One second after the database is
ready again, every write succeeds.
"""
import concurrent.futures
import os
import shutil
import signal
import subprocess
import time

import ledger
import wire
from adit import cluster, samples, stack
from adit.case import until, until_answer
from adit.programs import signal_all
from promise import PromiseCase, only_long, scaled

TABLES = ("ssh_credential", "oauth_module", "mutual_tls_module")
MIGRATION = "BEGIN; %s INSERT INTO adit.migration (version, name) VALUES (9999, 'later'); COMMIT" % (
    "".join("ALTER TABLE adit.%s ADD COLUMN later text DEFAULT 'x';"
            "CREATE INDEX later_%s ON adit.%s (later);" % (table, table, table)
            for table in (*TABLES, "api_key")))
MIGRATION_UNDONE = "BEGIN; %s DELETE FROM adit.migration WHERE version = 9999; COMMIT" % (
    "".join("ALTER TABLE adit.%s DROP COLUMN later;" % table for table in (*TABLES, "api_key")))

SLOWEST_S = 7  # 4 s in the line, and 3 s for a statement
BACK_S = 1


def open_session(stack):
    return subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=stack.pg_env(),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def lock(psql, tables=TABLES):
    """Returns once a psql holds exclusive locks on the tables."""
    hold(psql, "LOCK TABLE %s IN ACCESS EXCLUSIVE MODE"
         % ", ".join("adit." + table for table in tables))


def hold(psql, sql):
    """Returns once a psql holds the locks of a statement, in a transaction that stays open."""
    psql.stdin.write("\\set ON_ERROR_STOP\nBEGIN; %s;\n\\echo held\n" % sql)
    psql.stdin.flush()
    if psql.stdout.readline() != "held\n":
        raise AssertionError("psql did not get the locks")


def close(psql):
    psql.stdin.close()
    psql.wait(20)
    psql.stdout.close()


class DatabaseCase(PromiseCase):
    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not hasattr(shared, "cluster"):
            shared.cluster = cluster.attach(shared)
        cls.cluster = shared.cluster
        super().setUpClass()

    def setUp(self):
        until(lambda: all(self.nobody.get("/readyz").status == 200 for _ in range(10)),
              "the stack is ready")

    def under_load(self, fault, **errors):
        """Runs the fault while clients write, and records the figures.  The fault returns the
        moment at which the database was ready again.  errors bounds the answers of 503: by default
        there is one at least."""
        with ledger.Writers(self.stack) as self.writers:
            writers = self.writers
            self.connect_all_workers(writers)
            ready = fault()
            writers.go_on(BACK_S + scaled(0.4, 2))
        self.judge(writers, ready, errors or {"at_least": 1})

    def connect_all_workers(self, writers):
        """Makes the writers wait for a lock, so that each worker fills all its lanes."""
        psql = open_session(self.stack)
        try:
            lock(psql)
            until(lambda: len(self.backends()) >= self.stack.n_at_once(),
                  "all workers are connected")
        finally:
            close(psql)
        writers.wait_for(ledger.N_CLIENTS)

    def judge(self, writers, ready, limit):
        lost, doubled, traces = writers.compare()
        refused = writers.errors()
        self.figure("answers of 503", len(refused), "requests", why=refused[:3], **limit)
        self.figure("acknowledged writes", writers.ledger.n_acknowledged, "writes", at_least=100)
        self.figure("slowest answer", writers.slowest_s, "s", at_most=SLOWEST_S)
        self.figure("first 2xx after the database is ready", writers.first_good_after(ready), "s",
                    at_most=BACK_S)
        late = writers.bad_begun_after(ready + BACK_S)
        self.figure("errors after recovery", len(late), "requests", exactly=0, why=late[:3])
        wrong = writers.not_of_contract()
        self.figure("answers that break the contract", len(wrong), "requests", exactly=0,
                    why=wrong[:3])
        self.figure("acknowledged but lost", len(lost), "writes", exactly=0, why=lost[:3])
        self.figure("stored twice", len(doubled), "writes", exactly=0, why=doubled[:3])
        self.figure("refused but stored", len(traces), "writes", exactly=0, why=traces[:3])

    def backends(self, order="pid"):
        return [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'adit' ORDER BY " + order).split()]

    def until_ready(self):
        """Returns the moment at which the database accepts connections again."""
        until(lambda: wire.takes_connections(self.cluster.socket_path), "the database is ready", 60)
        return time.monotonic()


class Restarts(DatabaseCase):
    """PostgreSQL ends the sessions with the message that it goes, and is back within 3 s: requests
    wait for it.  Writes fail that were sent and not answered, and those that come first where the
    message was lost."""

    FEW = ledger.RATE
    def restart(self, mode):
        def fault():
            self.cluster.stop(mode)
            time.sleep(scaled(0.3, 2))
            self.cluster.start_detached()
            return self.until_ready()
        self.under_load(fault, at_most=self.FEW)

    def test_restart_fast(self):
        """PostgreSQL is restarted (fast)."""
        self.restart("fast")

    def test_restart_immediate(self):
        """PostgreSQL is restarted (immediate), and recovers."""
        self.restart("immediate")

    def test_postmaster_killed(self):
        """The postmaster is killed.  Its backends end, and it is started again."""
        def fault():
            self.cluster.kill()
            time.sleep(scaled(0.3, 2))
            self.cluster.start_detached()
            return self.until_ready()
        self.under_load(fault, at_most=self.FEW)

    def test_backend_killed(self):
        """A backend is killed: PostgreSQL ends all sessions and recovers."""
        def fault():
            for _ in range(scaled(1, 5)):
                pid = self.backends()[0]
                os.kill(pid, signal.SIGKILL)
                until(lambda pid=pid: not os.path.exists("/proc/%d" % pid),
                      "the postmaster knows that it has ended")
                ready = self.until_ready()
                until(self.backends, "the responder has come back")
            return ready
        self.under_load(fault, at_most=self.FEW)


class Refusals(DatabaseCase):
    def for_a_while(self, begin, end, seconds=None, **options):
        """Runs a fault that begins, lasts and ends."""
        def fault():
            begin()
            try:
                time.sleep(seconds or scaled(1, 5))
            finally:
                end()
            return time.monotonic()
        self.under_load(fault, **options)

    def sql(self, *statements):
        def run():
            for statement in statements:
                self.stack.psql(statement)
        return run

    def test_connections_exhausted(self):
        """All the responder's connections are ended, and PostgreSQL accepts no others."""
        self.for_a_while(
            self.sql("ALTER ROLE adit CONNECTION LIMIT 0", "SELECT pg_terminate_backend(pid)"
                     " FROM pg_stat_activity WHERE usename = 'adit'"),
            self.sql("ALTER ROLE adit CONNECTION LIMIT -1"), seconds=scaled(4, 5))

    def test_read_only(self):
        """The database is read-only."""
        self.for_a_while(
            self.sql("ALTER SYSTEM SET default_transaction_read_only = on",
                     "SELECT pg_reload_conf()"),
            self.sql("SET default_transaction_read_only = off;"
                     "ALTER SYSTEM RESET default_transaction_read_only",
                     "SELECT pg_reload_conf()"))

    def test_lock_held(self):
        """A session holds locks on all tables for longer than a request may wait."""
        psql = open_session(self.stack)
        self.for_a_while(lambda: lock(psql), lambda: close(psql), seconds=scaled(2.5, 8))

    def test_statement_too_slow(self):
        """A trigger makes every write take ten seconds."""
        self.for_a_while(
            self.sql("CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS"
                     " 'BEGIN PERFORM pg_sleep(10); RETURN NULL; END';" + "".join(
                         "CREATE TRIGGER slow BEFORE INSERT OR UPDATE OR DELETE ON adit.%s"
                         " FOR EACH STATEMENT EXECUTE FUNCTION public.slow();" % table
                         for table in TABLES)),
            self.sql("DROP FUNCTION public.slow CASCADE"), seconds=scaled(3.5, 10))


class Changes(DatabaseCase):
    def test_answers_lost(self):
        """A proxy between responder and PostgreSQL drops every tenth connection after a write:
        at once, or when the answer to its COMMIT has arrived."""
        with wire.Interposed(self.cluster.socket_path) as proxy:
            self.end_backends()

            def fault():
                proxy.lose_every = 10
                time.sleep(scaled(3, 20))
                proxy.lose_every = 0
                return time.monotonic()
            self.under_load(fault)
            self.figure("answers lost", proxy.n_lost, "writes", at_least=10)
        self.end_backends()

    def end_backends(self):
        self.stack.psql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                        " WHERE usename = 'adit'")

    def test_schema_migrated(self):
        """The schema is migrated under the running responders, again and again: new columns,
        indexes, and the row of a newer version."""
        def fault():
            end = time.monotonic() + scaled(2, 20)
            while time.monotonic() < end:
                for migration in (MIGRATION, MIGRATION_UNDONE):
                    # PostgreSQL may cancel the migration to resolve a deadlock.
                    until(lambda: self.stack.psql_run(migration).returncode == 0, "it is migrated")
                    time.sleep(0.1)
            return time.monotonic()
        self.under_load(fault, exactly=0)

    def test_disk_full(self):
        """The disk of the tables is full, and then has room again."""
        with SmallDisk(self.cluster) as disk:
            location = disk.make_folder("tables")
            self.stack.psql("CREATE TABLESPACE small LOCATION '%s'" % location)
            self.move_tables("small")
            try:
                self.under_load(lambda: self.fill(disk))
            finally:
                self.move_tables("pg_default")
                self.stack.psql("DROP TABLESPACE small")

    def fill(self, disk):
        disk.fill()
        try:
            # Deleted rows leave room.  Use it up first: large rows, then small ones.
            for size in 4000, 0:
                refused = until_answer(lambda: self.admin.post(
                    "/ssh_credentials", samples.credential(metadata="x" * size)),
                    lambda answer: answer.status != 201, "a write is refused")
                self.assert_error(refused, 9031)
            self.assertRegex(self.stack.ctl_run("doctor").stdout, "trouble +writes .*53100")
            until(lambda: any(result.code == 9031 for result in self.writers.results),
                  "a writer is refused")
            time.sleep(scaled(0.5, 5))
        finally:
            disk.clear()
        return time.monotonic()

    def move_tables(self, tablespace):
        for table in TABLES:
            self.stack.psql("ALTER TABLE adit.%s SET TABLESPACE %s" % (table, tablespace))


class WalDisk(DatabaseCase):
    def test_wal_disk_full(self):
        """The disk of the write-ahead log is full, so PostgreSQL stops itself.  The disk then has
        room again, and PostgreSQL is started if it has not recovered."""
        size = 24 + self.wal_size_mb()
        with SmallDisk(self.cluster, "%dm" % size) as disk:
            self.move_wal(disk.make_folder("wal"))
            try:
                self.setUp()
                self.under_load(lambda: self.fill(disk))
                self.figure("PANICs of PostgreSQL", self.n_panics(), at_least=1)
            finally:
                self.move_wal(None)

    @property
    def wal(self):
        return os.path.join(self.cluster.data, "pg_wal")

    def wal_size_mb(self):
        return int(self.stack.psql("SELECT sum(size)::bigint / 1048576 FROM pg_ls_waldir()"))

    def move_wal(self, folder):
        """Moves the write-ahead log to a folder and leaves a link.  Without a folder, moves it
        back."""
        self.cluster.stop()
        if folder:
            stack.run(["cp", "-a", self.wal + "/.", folder])
            os.rename(self.wal, self.wal + ".kept")
            os.symlink(folder, self.wal)
        else:
            linked = os.readlink(self.wal)
            os.unlink(self.wal)
            shutil.rmtree(self.wal + ".kept")
            shutil.copytree(linked, self.wal, copy_function=shutil.copy2)
            stack.run(["chown", "-R", "--reference=" + self.cluster.data, self.wal])
        self.cluster.start()

    def n_panics(self):
        with open(os.path.join(self.cluster.folder, "log"), encoding="utf-8") as file:
            return file.read().count("PANIC:")

    def fill(self, disk):
        disk.fill()
        try:
            # Each switch takes a segment.  PostgreSQL may have some recycled ones left.
            until(lambda: self.stack.psql_run("SELECT pg_switch_wal(), txid_current()").returncode,
                  "there is no segment left")
            time.sleep(scaled(4, 5))
        finally:
            disk.clear()
        until(self.is_back, "the database is ready", 60)
        return time.monotonic()

    def is_back(self):
        if not self.cluster.is_alive():
            self.cluster.start_detached()
            until(self.cluster.is_alive, "the postmaster has written its pid file")
        return wire.takes_connections(self.cluster.socket_path)


class SmallDisk:
    """A file system of a few megabytes for a cluster's user.  Needs root, or sudo without a
    password."""

    def __init__(self, cluster, size="24m"):
        self.folder = os.path.join(cluster.folder, "small")
        self._as_root = [] if os.getuid() == 0 else ["sudo", "-n"]
        self._owner = os.stat(cluster.folder).st_uid
        self._size = size

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        stack.run([*self._as_root, "mount", "-t", "tmpfs", "-o",
                   "size=%s,mode=0700,uid=%d" % (self._size, self._owner), "adit", self.folder])
        return self

    def __exit__(self, *_):
        stack.run([*self._as_root, "umount", "-l", self.folder])

    def make_folder(self, name):
        path = os.path.join(self.folder, name)
        stack.run([*self._as_root, "install", "-d", "-m", "0700", "-o", str(self._owner), path])
        return path

    @property
    def _filler(self):
        return os.path.join(self.folder, "filler")

    def fill(self):
        stack.run([*self._as_root, "dd", "if=/dev/zero", "of=" + self._filler, "bs=64k"],
                  check=False)

    def clear(self):
        stack.run([*self._as_root, "rm", self._filler])


class Frozen(DatabaseCase):
    def test_backend_stopped(self):
        """Half of the backends are stopped (SIGSTOP), and resume later."""
        def fault():
            # Of those that writers use, too: lanes that are not needed keep their backends.
            stopped = self.backends("state_change DESC")[::2]
            signal_all(stopped, signal.SIGSTOP)
            try:
                time.sleep(scaled(5, 12))
            finally:
                signal_all(stopped, signal.SIGCONT)
            return time.monotonic()
        self.under_load(fault)

    @only_long
    def test_write_given_up(self):
        """Every backend is stopped (SIGSTOP) before it runs a write.  The write is repeated with
        another value, and the backends resume.  They no longer run the old write."""
        edges = ["/edges/tls/given-up-%d/mutual_tls" % n for n in range(self.stack.n_at_once())]
        stopped = self.stop_backends()
        with concurrent.futures.ThreadPoolExecutor(len(edges)) as pool:
            first = list(pool.map(lambda edge: self.put(edge, "old"), edges))
            last = [until_answer(lambda edge=edge: self.put(edge, "new"),
                                 lambda answer: answer.status == 200, "the write is acknowledged")
                    for edge in edges]
        signal_all(stopped, signal.SIGCONT)
        until(lambda: not any(os.path.exists("/proc/%d/exe" % pid) for pid in stopped),
              "the backends have ended")
        self.figure("writes with an unknown outcome",
                    sum(1 for answer in first if answer.code == 9033), "writes", at_least=1)
        self.figure("acknowledged but undone", sum(
            1 for edge, answer in zip(edges, last) if self.admin.get(edge).json != answer.json),
            "writes", exactly=0)

    def put(self, edge, value):
        return self.admin.put(edge, {"certificate_authority_ids": [value]})

    def stop_backends(self):
        """Stops all backends.  Under load, every worker has one."""
        with ledger.Writers(self.stack) as writers:
            self.connect_all_workers(writers)
        stopped = self.backends()
        signal_all(stopped, signal.SIGSTOP)
        return stopped

    @only_long
    def test_server_stopped(self):
        """The whole server is stopped (SIGSTOP), like a machine that hangs, and resumes later."""
        def fault():
            self.cluster.freeze()
            try:
                time.sleep(15)
            finally:
                self.cluster.thaw()
            return time.monotonic()
        self.under_load(fault)
