# SPDX-License-Identifier: MIT
"""GET /metrics: what is counted, over workers that end too, and who may read it."""
import concurrent.futures
import http.client
import json
import os
import signal
import socket
import subprocess
import threading

from adit import cluster, fastcgi, fronts, metrics, samples, stack
from adit.case import Case, until, until_back
from adit.client import METRICS_TYPE
from adit.programs import Responder, variables

CREDENTIALS = "/ssh_credentials"
REQUESTS = "adit_http_requests_total"
DURATION = "adit_http_request_duration_seconds"
BUCKETS = ["%g" % (0.00025 * 2 ** i) for i in range(16)] + ["+Inf"]


class MetricsCase(Case):
    def scrape(self):
        return metrics.scrape(self.nobody)

    def grown(self, act, name, **labels):
        """By how much act() raises a counter."""
        before = self.scrape().sum(name, **labels)
        act()
        return self.scrape().sum(name, **labels) - before


class Format(MetricsCase):
    def test_promtool_finds_nothing(self):
        self.admin.get(CREDENTIALS)
        self.admin.post(CREDENTIALS, {})
        answer = self.assert_text(self.nobody.get("/metrics", version=None))
        self.assertEqual(metrics.promtool("check", "metrics", text=answer), "")

    def assert_text(self, answer):
        self.assertEqual((answer.status, answer.header("Content-Type")), (200, METRICS_TYPE))
        return answer.body.decode()

    def test_needs_nothing_and_takes_nothing(self):
        self.assert_text(self.nobody.get("/metrics", version="9"))
        self.assert_text(self.admin.get("/metrics"))
        self.assert_error(self.nobody.get("/metrics?x=1"), 231)
        self.assert_error(self.nobody.call("GET", "/metrics", b"{}"), 211)
        self.assert_error(self.nobody.call("POST", "/metrics"), 9001)
        self.assertEqual(self.nobody.call("OPTIONS", "/metrics").allow, ["GET", "HEAD", "OPTIONS"])
        self.assertEqual(self.nobody.call("HEAD", "/metrics").header("Content-Type"), METRICS_TYPE)

    def test_buckets(self):
        self.admin.get(CREDENTIALS)
        seen = self.scrape()
        labels = {"route": CREDENTIALS, "method": "GET"}
        values = [seen.sum(DURATION + "_bucket", le=limit, **labels) for limit in BUCKETS]
        self.assertEqual(values, sorted(values))
        self.assertGreater(values[-1], 0)
        self.assertEqual(values[-1], seen.sum(DURATION + "_count", **labels))
        self.assertEqual({dict(pairs)["le"] for name, pairs in seen.samples
                          if name == DURATION + "_bucket"}, set(BUCKETS))

    def test_one_build(self):
        version = stack.run([os.path.join(stack.BUILD, "adit.fcgi"), "--version"]).stdout.split()[1]
        self.assertEqual(self.scrape().sum("adit_build_info", version=version), 1)


class Counts(MetricsCase):
    def test_requests(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json["id"]
        one = CREDENTIALS + "/" + made
        for method, target, route, status in (
                ("GET", one, CREDENTIALS + "/{id}", 200),
                ("HEAD", one, CREDENTIALS + "/{id}", 200),
                ("GET", CREDENTIALS + "/none", CREDENTIALS + "/{id}", 404),
                ("GET", CREDENTIALS, CREDENTIALS, 200),
                ("PUT", CREDENTIALS, CREDENTIALS, 405),
                ("OPTIONS", one, CREDENTIALS + "/{id}", 204),
                ("GET", "/nothing", "none", 404),
                ("DELETE", one, CREDENTIALS + "/{id}", 204)):
            with self.subTest("%s %s" % (method, target)):
                self.assertEqual(self.grown(
                    lambda: self.admin.call(method, target), REQUESTS, route=route,
                    method=method, status=str(status)), 1)
                if method != "DELETE":
                    self.assertEqual(self.grown(
                        lambda: self.admin.call(method, target), DURATION + "_count", route=route,
                        method=method), 1)

    def test_clients_make_no_series(self):
        """Methods, paths and headers of clients are no labels."""
        self.admin.send("BREW", "/coffee-4711", self.admin.headers("BREW", None, None, "2", None))
        self.admin.call("GET", CREDENTIALS + "/id-4711")
        self.admin.call("GET", CREDENTIALS + "?x4711=1", more=[("User-Agent", "agent-4711")])
        labels = self.scrape().labels()
        self.assertEqual({pair for pair in labels if "4711" in pair[1] or "BREW" in pair[1]}, set())
        self.assertIn(("method", "other"), labels)
        self.assertLess(len(labels), 300)

    def test_latency(self):
        self.assertEqual(self.grown(lambda: self.admin.get(CREDENTIALS), DURATION + "_count",
                                    route=CREDENTIALS, method="GET"), 1)
        seconds = self.grown(lambda: self.admin.get(CREDENTIALS), DURATION + "_sum",
                             route=CREDENTIALS, method="GET")
        self.assertGreater(seconds, 0)
        self.assertLess(seconds, 5)

    def test_errors(self):
        self.assertEqual(self.grown(lambda: self.admin.get(CREDENTIALS + "?limit=0"),
                                    "adit_errors_total", number="233", error="LIMIT_RANGE",
                                    status="400"), 1)
        # Errors of the service are there before they come.
        self.assertIn(("number", "9030"), self.scrape().labels())

    def test_refused_writes(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json["id"]
        one = CREDENTIALS + "/" + made
        for reason, act in (
                ("key", lambda: self.reader.delete(one)),
                ("key", lambda: self.nobody.delete(one)),
                ("input", lambda: self.admin.patch(one, {"x": 1})),
                ("input", lambda: self.admin.put(one, {})),
                ("condition", lambda: self.admin.patch(one, {}, more=[("If-Match", '"0"')]))):
            with self.subTest(reason):
                self.assertEqual(self.grown(act, "adit_writes_refused_total"), 1)
                self.assertEqual(self.grown(act, "adit_writes_refused_total", reason=reason), 1)
        for act in (lambda: self.admin.get(CREDENTIALS + "/none"), lambda: self.admin.patch(one, {}),
                    lambda: self.admin.post("/ssh_decisions", {})):
            self.assertEqual(self.grown(act, "adit_writes_refused_total"), 0)

    def test_waits_for_the_database(self):
        name = "adit_database_wait_seconds_count"
        self.assertEqual(self.grown(lambda: self.admin.get(CREDENTIALS), name, kind="read"), 1)
        self.assertEqual(self.grown(lambda: self.admin.post(CREDENTIALS, samples.credential()),
                                    name, kind="write"), 1)
        # In a worker's fourth minute, its last uses of keys would be one more write.
        self.assertEqual(self.grown(lambda: self.nobody.get("/livez"), name, kind="read"), 0)


class Workers(MetricsCase):
    """Workers that end, on a responder of its own."""

    def setUp(self):
        self.responder = Responder(self.stack, n_workers=3)
        self.addCleanup(self.responder.stop)

    def ask(self, path="/livez", key=None, **options):
        return fastcgi.ask(self.responder.socket, variables(key, path=path), **options)

    def scrape(self):
        return metrics.Metrics(self.ask("/metrics").body.decode())

    def ask_all(self, n):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for _ in pool.map(lambda _: self.ask(), range(n)):
                pass

    def test_counters_survive_their_workers(self):
        self.ask_all(60)
        self.assertEqual(self.scrape().sum(REQUESTS, route="/livez"), 60)
        for round_ in range(1, 4):
            victims = self.responder.workers()
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
            until(lambda: not set(victims) & set(self.responder.workers()) and
                  len(self.responder.workers()) == 3, "three new workers")
            self.ask_all(20)
            # The supervisor counts a worker just after it has started it.
            until(lambda: self.scrape().sum("adit_workers_started_total") == 3 + 3 * round_,
                  "all workers counted")
            seen = self.scrape()
            self.assertEqual(seen.sum(REQUESTS, route="/livez"), 60 + 20 * round_)
            self.assertEqual(seen.sum("adit_workers"), 3)
            self.assertEqual(seen.sum("adit_workers_ended_total"), 3 * round_)

    def test_no_counter_goes_back_while_workers_are_killed(self):
        """Scrapes while requests run and workers are killed at any moment."""
        ends = threading.Event()
        before, killed = {}, set()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            load = [pool.submit(self.load, ends) for _ in range(2)]
            try:
                for i in range(40):
                    if i % 4 == 0:
                        killed.add(self.kill_another(killed))
                    seen = until(self.try_scrape, "a scrape")
                    for key, value in seen.samples.items():
                        if key[0].endswith(("_total", "_count", "_bucket", "_sum")):
                            self.assertGreaterEqual(value, before.get(key, 0), key)
                            before[key] = value
            finally:
                ends.set()
            for done in load:
                done.result()
        until(lambda: (seen := self.try_scrape()) and
              seen.sum("adit_workers_ended_total") == len(killed) == 10, "all of them counted")

    def kill_another(self, killed):
        """Returns the process id.  While no worker runs, the supervisor is found instead."""
        victim = until(lambda: next((pid for pid in self.responder.workers()
                                     if pid not in killed | {self.responder.process.pid}), None),
                       "another worker")
        os.kill(victim, signal.SIGKILL)
        return victim

    def try_scrape(self):
        try:
            return self.scrape()
        except (AssertionError, EOFError, OSError):
            return None  # the worker was killed

    def load(self, ends):
        while not ends.is_set():
            try:
                self.ask()
            except (AssertionError, EOFError, OSError):
                pass

    def test_gauges(self):
        until(lambda: self.scrape().sum("adit_lanes") == 15, "the lanes of three workers")
        # The lane of an answer is free a moment after it.
        until(lambda: self.scrape().sum("adit_lanes_busy") == 0, "free lanes")
        idle = [fastcgi.connect(self.responder.socket) for _ in range(4)]
        until(lambda: self.scrape().sum("adit_connections") >= 4, "four connections")
        # They count no longer once their worker has ended, though nobody has closed them.
        for worker in self.responder.workers():
            os.kill(worker, signal.SIGKILL)
        until(lambda: (seen := self.try_scrape()) and seen.sum("adit_connections") < 4 and
              seen.sum("adit_lanes") == 15, "no connections")
        for connection in idle:
            connection.close()

    def test_held_bytes(self):
        """An answer that nobody reads holds memory."""
        key = self.home.admin.key
        text = "x" * 4000
        for _ in range(100):
            self.admin.post(CREDENTIALS, samples.credential(metadata=text))
        before = self.scrape().sum("adit_answers_held_bytes")
        with socket.socket(socket.AF_UNIX) as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.connect(self.responder.socket)
            lazy.sendall(fastcgi.records(variables(key)))
            until(lambda: self.scrape().sum("adit_answers_held_bytes") > before + 100000, "bytes")
        until(lambda: self.scrape().sum("adit_answers_held_bytes") == before, "no bytes")


class Alone(Case):
    def test_a_program_that_answers_alone_has_no_metrics(self):
        asked = {**variables(None, path="/metrics"), "GATEWAY_INTERFACE": "CGI/1.1"}
        done = subprocess.run([os.path.join(stack.BUILD, "adit.fcgi")], capture_output=True,
                              stdin=subprocess.DEVNULL, check=True, timeout=60,
                              env={**stack.CLEAN_ENV, "ADIT_CONF": self.stack.conf_path, **asked})
        answer = fastcgi.parse(done.stdout, fastcgi.asked_by(asked, b""))
        self.assert_error(answer, 9000, says="answers alone")


class Database(MetricsCase):
    stack_name = "faults"

    def looks(self):
        """Whether a worker has looked at the database, and whether it was up."""
        seen = self.scrape()
        return (seen.sum("adit_database_looked_time_seconds") > 0, seen.sum("adit_database_up"))

    def test_failures(self):
        shared = stack.get(self.stack_name)
        if not hasattr(shared, "cluster"):
            shared.cluster = cluster.attach(shared)
            type(self).setUpClass()
        self.admin.get(CREDENTIALS)
        shared.cluster.stop()
        try:
            self.assertEqual(self.grown(lambda: self.assert_error(self.admin.get(CREDENTIALS), 9030),
                                        "adit_database_failures_total", number="9030"), 1)
            self.assertEqual(self.grown(
                lambda: self.assert_error(self.admin.delete(CREDENTIALS + "/x"), 9030),
                "adit_writes_refused_total", reason="service"), 1)
            self.assertGreater(self.scrape().sum("adit_database_connect_failures_total"), 0)
            # No request asks the database meanwhile.
            until(lambda: self.looks() == (True, 0), "a look that fails")
        finally:
            shared.cluster.start()
        until(lambda: self.looks() == (True, 1), "a look that succeeds")
        until_back(lambda: self.admin.get(CREDENTIALS).status == 200)
        self.assertGreater(self.scrape().sum("adit_database_sessions_opened_total"), 0)


class Access(Case):
    """Behind every shipped configuration, only the machine itself reads the metrics.  The servers
    of this test take the address of a client from a header."""

    STRANGER = "192.0.2.7"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fronts = []
        for kinds in fronts.GROUPS:
            server = fronts.KINDS[kinds[0]](cls.stack)
            cls.addClassCleanup(server.stop)
            if kinds[0] == "nginx":
                server.more += "\nset_real_ip_from 127.0.0.1; real_ip_header X-Address;"
            else:
                server.MODULES += ("remoteip",)
                server.more += "\nRemoteIPHeader X-Address\nRemoteIPInternalProxy 127.0.0.1"
            for kind in kinds:
                server.add(kind, "")
                server.add(kind, fronts.PREFIX)
            server.start()
            cls.fronts += server.fronts

    def ask(self, front, path, address=None, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=60)
        try:
            headers = {"X-Address": address} if address else {}
            connection.request(method, front.prefix + path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def each_front(self, function):
        for front in self.fronts:
            with self.subTest(front.name):
                function(front)

    def shares(self, front):
        """Whether the front's program is a worker of a responder."""
        return not front.starts_program

    def test_the_machine_itself(self):
        def check(front):
            for address in (None, "127.0.0.1", "127.1.2.3", "::1"):
                status, headers, body = self.ask(front, "/metrics", address)
                if self.shares(front):
                    self.assertEqual((status, headers["Content-Type"]), (200, METRICS_TYPE), body)
                    self.assertIn(b"\nadit_workers ", body)
                else:
                    self.assertEqual((status, json.loads(body)["error_code"]),
                                     (404, "ERR_SERVICE_9000"))
        self.each_front(check)

    def test_others(self):
        def check(front):
            for address in (self.STRANGER, "10.0.0.1", "2001:db8::1", "::2", "126.0.0.1"):
                for method in ("GET", "HEAD", "OPTIONS", "POST"):
                    status, headers, body = self.ask(front, "/metrics", address, method)
                    self.assertEqual(status, 403, (address, method, body))
                    self.assertEqual(headers["Content-Type"], "application/json")
                    self.assertEqual(headers["Cache-Control"], "no-store")
                    if method == "GET":
                        self.assertEqual(json.loads(body)["error_code"], "ERR_SERVICE_9082")
                        self.assertEqual(json.loads(body)["details"], {})
        self.each_front(check)

    def test_other_spellings_are_no_way_in(self):
        def check(front):
            for path in ("//metrics", "/./metrics", "/x/../metrics", "/%6detrics", "/metric%73",
                         "/metrics?", "/metrics?x=1", "/metrics/", "/metrics/.", "/metrics/x",
                         "/METRICS", "/metrics%0A", "/metrics;x", "/%2Fmetrics", "/metrics%2f..",
                         "/metrics%20", "/livez/../metrics", "/%2e/metrics", "/x/%2e%2e/metrics"):
                status, _, body = self.ask(front, path, self.STRANGER)
                self.assertIn(status, (400, 403, 404), (path, body))
                self.assertNotIn(b"adit_workers", body)
        self.each_front(check)

    def test_other_paths_are_open(self):
        self.each_front(lambda front: self.assertEqual(
            self.ask(front, "/livez", self.STRANGER)[0], 200))
