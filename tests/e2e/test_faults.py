# SPDX-License-Identifier: MIT
"""Faults of the service (section 8): the answers while the database or a worker fails, and how soon
the service recovers."""
import concurrent.futures
import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time

from adit import cluster, samples, stack
from adit.case import LONGEST_PAUSE_S, Case, until, until_answer, until_back

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/fault/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/fault/mutual_tls"
APP = {"provider": {"provider_a": {"client_id": "id", "client_secret": "secret"}}}

# A short page, which is written at once, so that killing a worker cannot truncate it.
READS = [("GET", CREDENTIALS + "?limit=10", None), ("GET", OAUTH, None), ("GET", MUTUAL_TLS, None)]
WRITES = [("POST", CREDENTIALS, samples.credential()), ("PUT", OAUTH, APP),
          ("PUT", MUTUAL_TLS, {}), ("DELETE", "/edges/tls/other/mutual_tls", None)]


# Requests wait 3 s for a PostgreSQL that said that it shuts down.  On a busy machine, a restart may take
# about as long, or a request that begins with it.
LONG_S = 2.5
# Then a worker that could not connect fails others until its pause ends.
PAUSE_S = 10 * LONGEST_PAUSE_S

# Ends the first session that waits for a lock, within a minute.
END_WAITING = """
\\set ON_ERROR_STOP
DO $$BEGIN
    FOR i IN 1..6000 LOOP
        PERFORM pg_stat_clear_snapshot();
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE usename = 'adit' AND wait_event_type = 'Lock';
        EXIT WHEN FOUND;
        PERFORM pg_sleep(0.01);
        IF i = 6000 THEN RAISE 'nothing waits'; END IF;
    END LOOP;
END$$;
"""


class FaultCase(Case):
    stack_name = "faults"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not hasattr(shared, "cluster"):
            # At any other level the log omits some of many similar lines.
            shared.set_conf("log", "level", "debug")
            shared.cluster = cluster.attach(shared)
        cls.cluster = shared.cluster
        super().setUpClass()

    def setUp(self):
        for method, target, body in WRITES:
            answer = self.admin.call(method, target, body)
            self.assertLess(answer.status, 300, answer)

    def is_good(self):
        """Whether every worker serves, as far as requests can show."""
        return all(self.admin.call(*request).status < 300 for request in READS + WRITES)

    def tearDown(self):
        until_back(self.is_good)

    def ask_all(self, requests):
        """Sends the requests in parallel, because each may wait."""
        with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(lambda request: self.admin.call(*request), requests))

    def check_fault(self, answer, *numbers):
        """The answer is one of these errors and hides the cause.  The log names the cause."""
        self.assertIn(answer.code, numbers, answer)
        error = self.assert_error(answer, answer.code)
        if answer.status == 503:
            self.assertRegex(answer.header("Retry-After"), "^[0-9]+$")
        for word in ("/tmp", self.cluster.folder, "socket", "relation", "SELECT", "INSERT",
                     "FATAL", "ERROR:", "server closed", "libpq", "5432", "role ", "constraint"):
            self.assertNotIn(word, error["msg"])
        self.check_logged(error["details"]["operation_id"])

    def check_logged(self, operation_id):
        logs = self.stack.logs()
        lines = [line for name, text in logs.items() if "responder" in name
                 for line in text.decode().splitlines() if operation_id in line]
        self.assertEqual(len(lines), 1, "expected one line of the log")
        entry = json.loads(lines[0])
        self.assertTrue(entry.get("cause") or entry.get("error"), lines[0])

    def session(self, sql):
        """A psql that holds the statement's locks until it is closed."""
        psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        psql.stdin.write("BEGIN;\n%s;\n\\echo held\n" % sql)
        psql.stdin.flush()
        self.assertEqual(psql.stdout.readline(), "held\n")
        return psql

    def close(self, psql):
        psql.stdin.close()
        psql.wait(60)
        psql.stdout.close()

    def backends(self):
        return [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'adit'").split()]


class Database(FaultCase):
    def test_stopped(self):
        self.cluster.stop()
        try:
            for method, target, body in READS + WRITES + [("GET", "/readyz", None)]:
                with self.subTest("%s %s" % (method, target)):
                    self.check_fault(self.admin.call(method, target, body), 9030)
            with self.subTest("livez"):
                self.assert_ok(self.nobody.get("/livez"))
            with self.subTest("requests that need no database"):
                self.assert_error(self.nobody.get(CREDENTIALS), 200)
                self.assert_error(self.admin.get("/nothing"), 9000)
                self.assert_error(self.admin.call("PUT", CREDENTIALS), 9001)
                self.assert_ok(self.nobody.call("OPTIONS", CREDENTIALS), 204)
            with self.subTest("refused requests without a key are alike"):
                unknown = self.stack.client(samples.well_formed_key())
                self.assertEqual(unknown.get(CREDENTIALS + "?x=1").status, 503)
        finally:
            self.cluster.start()

    def test_read_only(self):
        self.stack.psql("ALTER SYSTEM SET default_transaction_read_only = on")
        self.stack.psql("SELECT pg_reload_conf()")
        try:
            until(lambda: self.nobody.get("/readyz").code == 9031, "readyz says so")
            for method, target, body in WRITES:
                with self.subTest("%s %s" % (method, target)):
                    self.check_read_only(method, target, body)
            for method, target, body in READS:
                with self.subTest("%s %s" % (method, target)):
                    answer = self.admin.call(method, target, body)
                    if answer.status != 200:
                        self.check_fault(answer, 9030, 9031)
        finally:
            self.stack.psql("SET default_transaction_read_only = off;"
                            "ALTER SYSTEM RESET default_transaction_read_only")
            self.stack.psql("SELECT pg_reload_conf()")
            until(lambda: self.stack.psql("SHOW default_transaction_read_only") == "off",
                  "new sessions may write")

    def check_read_only(self, method, target, body):
        """Between two attempts to connect, a worker may know only that it has no connection."""
        def ask():
            answer = self.admin.call(method, target, body)
            self.check_fault(answer, 9030, 9031)
            return answer
        until_answer(ask, lambda answer: answer.code == 9031, "the answer names the reason")

    def test_locked(self):
        psql = self.session("LOCK TABLE adit.ssh_credential, adit.oauth_module,"
                            " adit.mutual_tls_module IN ACCESS EXCLUSIVE MODE")
        try:
            requests = [READS[0], READS[1], WRITES[0], WRITES[1]]
            for request, answer in zip(requests, self.ask_all(requests)):
                with self.subTest("%s %s" % request[:2]):
                    self.check_fault(answer, 9032)
        finally:
            self.close(psql)

    def test_locked_row(self):
        """Who waits for a row has the later writes of its account refused, and nobody else's."""
        other = self.stack.client(self.stack.account("faults of a row").admin.key)
        method, target, body = WRITES[0]
        row = self.assert_ok(self.admin.call(method, target, body), 201)["id"]
        path = CREDENTIALS + "/" + row
        psql = self.session("UPDATE adit.ssh_credential SET metadata = 'held' WHERE id = '%s'"
                            % row)
        try:
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                waiting = [pool.submit(self.stack.client(self.home.admin.key).patch, path,
                                       {"metadata": str(i)}) for i in range(8)]
                n = 0
                while not all(future.done() for future in waiting) or n == 0:
                    n += 1
                    self.assert_ok(other.call("PUT", "/edges/tls/free/mutual_tls", {}))
                for future in waiting:
                    self.check_fault(future.result(), 9032)
        finally:
            self.close(psql)

    def test_backends_that_do_not_answer(self):
        stopped = self.backends()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            # The client's timeout bounds each request.
            for request, answer in zip(READS, self.ask_all(READS)):
                with self.subTest("%s %s" % request[:2]):
                    if answer.status != 200:
                        self.check_fault(answer, 9030, 9032)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)

    def test_server_that_takes_no_connections(self):
        self.cluster.signal(signal.SIGSTOP)
        try:
            for pid in self.backend_processes():
                os.kill(pid, signal.SIGTERM)
            until(lambda: not self.backend_processes(), "the backends are gone")
            for request, answer in zip(READS, self.ask_all(READS)):
                with self.subTest("%s %s" % request[:2]):
                    self.check_fault(answer, 9030, 9032)
        finally:
            self.cluster.signal(signal.SIGCONT)

    def backend_processes(self):
        """The backends that /proc lists, because the server cannot answer.  Zombies of a stopped
        parent are left out."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/cmdline" % name, "rb") as file:
                        command = file.read()
                    with open("/proc/%s/stat" % name, encoding="utf-8") as file:
                        parent = int(file.read().rpartition(")")[2].split()[1])
                except OSError:
                    continue
                if command.startswith(b"postgres: adit adit") and parent == self.postmaster():
                    found.append(int(name))
        return found

    def postmaster(self):
        with open(os.path.join(self.cluster.data, "postmaster.pid"), encoding="utf-8") as file:
            return int(file.readline())

    def test_connection_lost_while_idle(self):
        """The client sees no fault."""
        # A worker that looks at the database by itself may have a new one at once.
        ended = self.stack.psql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                                " WHERE usename = 'adit'").split()
        self.assertEqual(set(ended), {"t"})
        for i, (method, target, body) in enumerate((READS + WRITES) * 3):
            with self.subTest("%d %s %s" % (i, method, target)):
                self.assertLess(self.admin.call(method, target, body).status, 300)

    def test_too_many_connections(self):
        self.stack.psql("ALTER ROLE adit CONNECTION LIMIT 0;"
                        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
                        " WHERE usename = 'adit'")
        try:
            for method, target, body in READS[:1] + WRITES[:1]:
                self.check_fault(self.admin.call(method, target, body), 9030)
        finally:
            self.stack.psql("ALTER ROLE adit CONNECTION LIMIT -1")

    @contextlib.contextmanager
    def lose_while_it_waits(self, request):
        """Sends a request.  Ends its database session as soon as that waits for a lock, and yields
        the future answer then.  A session that is there before looks: a statement waits for 4 s at
        most, and psql may take longer to start."""
        psql = self.session("SET application_name = 'looks'")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            psql.stdin.write(END_WAITING + "\\echo ended\n")
            psql.stdin.flush()
            waiting = pool.submit(self.admin.call, *request)
            said = psql.stdout.readline()
            self.close(psql)
            self.assertEqual(said, "ended\n", "nothing waited")
            yield waiting

    def test_connection_lost_during_a_write(self):
        """The outcome of the write is unknown, so the answer is neither 2xx nor 4xx."""
        for (method, target, body), rows in (
                (WRITES[0], "adit.principal"), (WRITES[1], "adit.oauth_module"),
                (WRITES[2], "adit.mutual_tls_module")):
            with self.subTest("%s %s" % (method, target)):
                # Row locks: a statement may wait for a table lock before it is prepared.
                psql = self.session("\\o /dev/null\nSELECT FROM %s FOR UPDATE;\n\\o\n" % rows)
                try:
                    with self.lose_while_it_waits((method, target, body)) as waiting:
                        self.check_fault(waiting.result(), 9033)
                finally:
                    self.close(psql)

    def test_connection_lost_during_a_read(self):
        """A read is retried, or gets 503."""
        psql = self.session("LOCK TABLE adit.ssh_credential IN ACCESS EXCLUSIVE MODE")
        try:
            with self.lose_while_it_waits(READS[0]) as waiting:
                self.close(psql)
                answer = waiting.result()
        finally:
            self.close(psql)
        if answer.status != 200:
            self.check_fault(answer, 9030, 9032)

    def test_statements_prepared_before_a_change_of_the_schema(self):
        """The statements are prepared again, and every request succeeds."""
        for _ in range(2):
            self.is_good()
        self.stack.psql("ALTER TABLE adit.ssh_credential ADD COLUMN e2e text DEFAULT 'x';"
                        "ALTER TABLE adit.api_key ADD COLUMN e2e text")
        try:
            for i, (method, target, body) in enumerate((READS + WRITES) * 3):
                with self.subTest("%d %s %s" % (i, method, target)):
                    self.assertLess(self.admin.call(method, target, body).status, 300)
        finally:
            self.stack.psql("ALTER TABLE adit.ssh_credential DROP COLUMN e2e;"
                            "ALTER TABLE adit.api_key DROP COLUMN e2e")

    def test_deadlocks_are_run_again(self):
        """Many concurrent writes to the same rows all succeed."""
        def put(i):
            return self.admin.put("/edges/tls/same/mutual_tls",
                                  {"certificate_authority_ids": ["ca_%d" % i]})
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for answer in pool.map(put, range(80)):
                self.assert_ok(answer)


class Schema(FaultCase):
    def test_missing(self):
        self.stack.psql("ALTER SCHEMA adit RENAME TO adit_away")
        try:
            for method, target, body in READS + WRITES + [("GET", "/readyz", None)]:
                with self.subTest("%s %s" % (method, target)):
                    self.check_fault(self.admin.call(method, target, body), 9034)
        finally:
            self.stack.psql("ALTER SCHEMA adit_away RENAME TO adit")

    def test_rights_are_missing(self):
        """As after pg_restore, before 'aditctl migrate' grants them."""
        self.stack.psql("REVOKE USAGE ON SCHEMA adit FROM adit_responder")
        try:
            for method, target, body in READS + WRITES + [("GET", "/readyz", None)]:
                with self.subTest("%s %s" % (method, target)):
                    self.check_fault(self.admin.call(method, target, body), 9034)
        finally:
            self.stack.ctl("migrate")
        self.assert_ok(self.nobody.get("/readyz"))

    def test_a_table_is_missing(self):
        self.stack.psql("ALTER TABLE adit.mutual_tls_module RENAME TO away")
        try:
            self.check_fault(self.admin.get(MUTUAL_TLS), 9034)
            self.check_fault(self.admin.put(MUTUAL_TLS, {}), 9034)
        finally:
            self.stack.psql("ALTER TABLE adit.away RENAME TO mutual_tls_module")

    def test_older(self):
        self.stack.psql("BEGIN; CREATE TABLE public.kept AS SELECT * FROM adit.migration;"
                        "UPDATE adit.migration SET version = -version; COMMIT")
        try:
            self.check_fault(self.nobody.get("/readyz"), 9034)
            self.assert_ok(self.nobody.get("/livez"))
        finally:
            self.stack.psql("BEGIN; UPDATE adit.migration SET version = -version;"
                            "DROP TABLE public.kept; COMMIT")
        self.assert_ok(self.nobody.get("/readyz"))

    def test_newer(self):
        """An older program keeps serving while a newer schema is rolled out."""
        self.stack.psql("INSERT INTO adit.migration (version, name) VALUES (9999, 'e2e')")
        try:
            self.assert_ok(self.nobody.get("/readyz"))
        finally:
            self.stack.psql("DELETE FROM adit.migration WHERE version = 9999")

    def test_a_constraint_that_the_program_does_not_know(self):
        self.stack.psql("ALTER TABLE adit.mutual_tls_module"
                        " ADD CONSTRAINT e2e CHECK (edge_id <> 'refused')")
        try:
            self.check_fault(self.admin.put("/edges/tls/refused/mutual_tls", {}), 10000)
        finally:
            self.stack.psql("ALTER TABLE adit.mutual_tls_module DROP CONSTRAINT e2e")

    def test_a_grant_that_is_missing(self):
        self.stack.psql("REVOKE DELETE ON adit.mutual_tls_module FROM adit_responder")
        try:
            self.check_fault(self.admin.delete(MUTUAL_TLS), 9034)
        finally:
            self.stack.psql("GRANT DELETE ON adit.mutual_tls_module TO adit_responder")


class Secrets(FaultCase):
    def test_altered(self):
        for name, change in (
                ("the last byte", "set_byte(client_secret_sealed, length(client_secret_sealed)-1,"
                 " get_byte(client_secret_sealed, length(client_secret_sealed)-1) # 1)"),
                ("the first byte", "set_byte(client_secret_sealed, 0,"
                 " get_byte(client_secret_sealed, 0) # 128)"),
                ("longer", "client_secret_sealed || '\\x00'::bytea"),
                ("rubbish", "decode(repeat('00', 40), 'hex')")):
            with self.subTest(name):
                self.assert_ok(self.admin.put(OAUTH, APP))
                self.stack.psql("UPDATE adit.oauth_module SET client_secret_sealed = %s"
                                " WHERE edge_id = 'fault'" % change)
                self.check_fault(self.admin.get(OAUTH), 9036)
        self.assert_ok(self.admin.put(OAUTH, APP))
        self.assert_ok(self.admin.get(OAUTH))

    def test_key_is_not_in_the_key_file(self):
        self.stack.psql("UPDATE adit.oauth_module SET client_secret_key_id = 'gone'"
                        " WHERE edge_id = 'fault'")
        self.check_fault(self.admin.get(OAUTH), 9036)
        self.assert_ok(self.admin.put(OAUTH, APP))

    def test_does_not_keep_it_from_being_deleted(self):
        self.stack.psql("UPDATE adit.oauth_module SET client_secret_key_id = 'gone'"
                        " WHERE edge_id = 'fault'")
        self.assert_ok(self.admin.delete(OAUTH), 204)
        self.assert_ok(self.admin.put(OAUTH, APP))


class Load:
    """Requests of several threads until the end of the block, with their results."""

    def __init__(self, client, n_threads=4, requests=READS + WRITES):
        self.client, self._requests = client, requests
        self.results = []  # (begin, end, answer or exception)
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(i,)) for i in range(n_threads)]

    def _work(self, i):
        requests = self._requests * 2
        random.Random(i).shuffle(requests)
        while not self._stop.is_set():
            for method, target, body in requests:
                begin = time.monotonic()
                try:
                    answer = self._ask(method, target, body)
                except Exception as fault:  # the test reports it
                    answer = fault
                self.results.append((begin, time.monotonic(), answer))
                if self._stop.is_set():
                    break

    def _ask(self, method, target, body):
        data = None if body is None else json.dumps(body).encode()
        headers = self.client.headers(method, data, self.client.key, "2",
                                      None if data is None else "application/json")
        return self.client.send(method, target, headers, data or b"")

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        self.wait_for(20)
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, n):
        """Waits until n more requests have been answered."""
        wanted = len(self.results) + n
        until(lambda: len(self.results) >= wanted, "%d more requests" % n)



class UnderLoad(FaultCase):
    """Stops under load.  tests/promises has kills and database faults under load."""

    def check(self, load, may_be_unknown=False, outages=()):
        for begin, end, answer in load.results:
            if isinstance(answer, Exception):
                raise AssertionError("a request failed: %r" % answer)
            if may_be_unknown and answer.code == 9033:
                self.check_fault(answer, 9033)
            elif answer.code == 9030 and any(
                    begin < over + PAUSE_S and since < end and
                    LONG_S < max(over - since, end - begin) for since, over in outages):
                self.check_fault(answer, 9030)
            else:
                self.assertLess(answer.status, 300, answer)
            # A statement waits 4 s at most, and no request hangs.
            self.assertLess(end - begin, 30)

    def restart(self, load):
        """Restarts PostgreSQL, as pg_ctl restart -m fast does.  Returns begin and end of each."""
        outages = []
        for _ in range(3):
            load.wait_for(30)
            since = time.monotonic()
            self.cluster.stop("fast")
            self.cluster.start()
            outages.append((since, time.monotonic()))
            load.wait_for(30)
        return outages

    def test_restart_under_reads(self):
        """No read fails: one that gets no answer is sent again, and all wait for the next session."""
        with Load(self.admin, requests=READS) as load:
            outages = self.restart(load)
        self.check(load, outages=outages)

    def test_restart_under_writes(self):
        """Those that were not sent yet wait.  Only a write that was sent may fail, since it is not
        sent again: its outcome is unknown."""
        with Load(self.admin, requests=WRITES) as load:
            outages = self.restart(load)
        self.check(load, may_be_unknown=True, outages=outages)

    def test_workers_are_told_to_stop(self):
        """A stopping worker answers its accepted requests.  The supervisor starts another
        worker."""
        with Load(self.admin) as load:
            for _ in range(12):
                _, workers = self.stack.responder()
                if workers:
                    # The chosen worker may have ended in the meantime.
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(random.choice(workers), signal.SIGTERM)
                load.wait_for(10)
            load.wait_for(20)
        self.check(load)

    def test_responder_is_told_to_stop(self):
        """All accepted requests are answered.  Nothing remains, and a new start works."""
        with Load(self.admin) as load:
            self.stack.stop()
            load._stop.set()
        for _, _, answer in load.results:
            if isinstance(answer, Exception):
                # No one listens any more.  A truncated answer would be a fault.
                self.assertRegex(repr(answer), "ConnectionRefused|ConnectionReset|no answer")
            elif answer.status >= 300:
                self.assertIn(answer.status, (502, 503), answer)
        self.stack.start()
        self.stack.env["PGHOST"] = self.cluster.run_folder
