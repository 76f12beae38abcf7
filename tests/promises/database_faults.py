# SPDX-License-Identifier: MIT
"""Database faults.

PostgreSQL is broken in each of these ways while clients write 200 times a second.  Every answer is
the contract's: 2xx, or 503 with Retry-After, in 6 seconds at most.  The first write is
acknowledged within a second of the moment at which the database is ready again, and from then on
all are.
"""
import os
import signal
import subprocess
import time

import ledger
import wire
from adit import cluster, stack
from adit.case import until
from promise import PromiseCase, scaled

SLOWEST_S = 6
BACK_S = 1


def lock(psql):
    """Returns once a psql holds locks that no write gets past."""
    psql.stdin.write("BEGIN; LOCK TABLE adit.ssh_credential, adit.oauth_module,"
                     " adit.mutual_tls_module IN ACCESS EXCLUSIVE MODE;\n\\echo held\n")
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

    def under_load(self, fault, expects_errors=True):
        """Runs the fault, which returns when the database was ready again, while clients write, and
        takes the figures."""
        with ledger.Writers(self.stack) as writers:
            self.connect_all_workers(writers)
            ready = fault()
            writers.go_on(BACK_S + 1)
        self.judge(writers, ready, expects_errors)

    def connect_all_workers(self, writers):
        """Keeps the writers waiting for a moment, so that each worker gets one of them."""
        psql = self.open_session()
        lock(psql)
        until(lambda: len(self.backends()) >= self.stack.n_workers(), "all workers are connected")
        close(psql)
        writers.wait_for(ledger.N_CLIENTS)

    def open_session(self):
        return subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def judge(self, writers, ready, expects_errors=True):
        lost, doubled, traces = writers.compare()
        refused = writers.of_status(503)
        if expects_errors:
            self.figure("answers of 503", len(refused), "requests", at_least=1)
        self.figure("acknowledged writes", writers.ledger.n_acknowledged, "writes", at_least=100)
        self.figure("slowest answer", writers.slowest_s, "s", at_most=SLOWEST_S)
        self.figure("first 2xx after the database is ready", writers.first_good_after(ready), "s",
                    at_most=BACK_S)
        late = writers.bad_begun_after(ready + BACK_S)
        self.figure("errors after that second", len(late), "requests", exactly=0, why=late[:3])
        wrong = [result for result in writers.results if result.fault or (
            result.status >= 300 and result.code not in ledger.REFUSED + ledger.UNKNOWN[:1])]
        self.figure("answers that are not the contract's", len(wrong), "requests", exactly=0,
                    why=wrong[:3])
        self.figure("acknowledged and lost", len(lost), "writes", exactly=0, why=lost[:3])
        self.figure("doubled", len(doubled), "writes", exactly=0, why=doubled[:3])
        self.figure("refused and yet there", len(traces), "writes", exactly=0, why=traces[:3])

    def backends(self):
        return [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'adit'").split()]

    def until_ready(self):
        """Returns the moment at which the database takes a connection again."""
        until(lambda: wire.takes_connections(self.cluster.socket_path), "the database is ready", 60)
        return time.monotonic()


class Restarts(DatabaseCase):
    def restart(self, mode):
        def fault():
            self.cluster.stop(mode)
            time.sleep(scaled(0.3, 2))
            self.cluster.start_detached()
            return self.until_ready()
        self.under_load(fault)

    def test_restart_fast(self):
        """PostgreSQL is restarted (fast)."""
        self.restart("fast")

    def test_restart_immediate(self):
        """PostgreSQL is restarted (immediate), and recovers."""
        self.restart("immediate")

    def test_postmaster_killed(self):
        """The postmaster is killed; its backends end, and it is started again."""
        def fault():
            self.cluster.kill()
            time.sleep(scaled(0.3, 2))
            self.cluster.start_detached()
            return self.until_ready()
        self.under_load(fault)

    def test_backend_killed(self):
        """A backend is killed: PostgreSQL ends all sessions and recovers."""
        def fault():
            for _ in range(scaled(1, 5)):
                os.kill(self.backends()[0], signal.SIGKILL)
                time.sleep(0.02)
                ready = self.until_ready()
                until(self.backends, "the responder has come back")
            return ready
        self.under_load(fault)


class Refusals(DatabaseCase):
    def for_a_while(self, begin, end, seconds=None, **options):
        """A fault that lasts."""
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
        """No connection is left for the responder, and those that it had are ended."""
        self.for_a_while(
            self.sql("ALTER ROLE adit CONNECTION LIMIT 0", "SELECT pg_terminate_backend(pid)"
                     " FROM pg_stat_activity WHERE usename = 'adit'"),
            self.sql("ALTER ROLE adit CONNECTION LIMIT -1"))

    def test_read_only(self):
        """The database takes no writes."""
        self.for_a_while(
            self.sql("ALTER SYSTEM SET default_transaction_read_only = on",
                     "SELECT pg_reload_conf()"),
            self.sql("SET default_transaction_read_only = off;"
                     "ALTER SYSTEM RESET default_transaction_read_only",
                     "SELECT pg_reload_conf()"))

    def test_lock_held(self):
        """A session holds locks on all tables for longer than a request may wait."""
        psql = self.open_session()
        self.for_a_while(lambda: lock(psql), lambda: close(psql), seconds=scaled(3, 8))

    def test_statement_too_slow(self):
        """Every write takes ten seconds, by a trigger."""
        tables = ("ssh_credential", "oauth_module", "mutual_tls_module")
        self.for_a_while(
            self.sql("CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS"
                     " 'BEGIN PERFORM pg_sleep(10); RETURN NULL; END';" + "".join(
                         "CREATE TRIGGER slow BEFORE INSERT OR UPDATE OR DELETE ON adit.%s"
                         " FOR EACH STATEMENT EXECUTE FUNCTION public.slow();" % table
                         for table in tables)),
            self.sql("DROP FUNCTION public.slow CASCADE"), seconds=scaled(4, 10))


class Frozen(DatabaseCase):
    def test_backend_stopped(self):
        """Half of the backends are stopped (SIGSTOP), and go on later."""
        def fault():
            stopped = self.backends()[::2]
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(scaled(6, 12))
            finally:
                for pid in stopped:
                    os.kill(pid, signal.SIGCONT)
            return time.monotonic()
        self.under_load(fault)

    def test_server_stopped(self):
        """The whole server is stopped (SIGSTOP), as on a machine that hangs, and goes on later."""
        def fault():
            self.cluster.freeze()
            try:
                time.sleep(scaled(7, 15))
            finally:
                self.cluster.thaw()
            return time.monotonic()
        self.under_load(fault)
