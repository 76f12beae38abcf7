# SPDX-License-Identifier: MIT
"""Mutual TLS: which client certificates nginx (HTTP and TCP), Apache and HAProxy let pass, and what
a change does."""
import contextlib
import os
import re
import shutil
import signal
import ssl
import stat
import subprocess
import time
import unittest

from adit import metrics, programs
from adit.case import Case, until
from adit.tls_edges import VERSIONS, Http2Visit, SlowVisit, TlsEdges, Visit, run_unchecked, visit

LONG = "edge-" + 50 * "x"

# The module of each edge; None: there is none.  "ca-9" has no file.  "leaf" is no authority.
MODULES = {
    "one": {"certificate_authority_ids": ["ca-1"]},
    "two": {"certificate_authority_ids": ["ca-2"]},
    "both": {"certificate_authority_ids": ["ca-1", "ca-2"]},
    "half": {"certificate_authority_ids": ["ca-9", "leaf", "ca-1"]},
    "nobody": {"certificate_authority_ids": []},
    "unknown": {"certificate_authority_ids": ["ca-9"]},
    "not-ca": {"certificate_authority_ids": ["leaf"]},
    "disabled": {"enabled": False, "certificate_authority_ids": ["ca-1"]},
    "absent": None,
    "deleted": None,
    LONG: None,
    "moving": {"certificate_authority_ids": ["ca-1"]},
    "rotating": {"certificate_authority_ids": ["ca-3"]},
}

# The visitors' certificates, and the authorities under which each is valid; None: none is shown.
CLIENTS = {
    None: (), "allowed": ("ca-1",), "other": ("ca-2",), "below": ("ca-1",), "expired": (),
    "self-signed": (), "impostor": (), "of another site": (),
}
OPEN = ("disabled", "absent", "deleted", LONG)
TRUSTED = {"one": {"ca-1"}, "two": {"ca-2"}, "both": {"ca-1", "ca-2"}, "half": {"ca-1"},
           "nobody": set(), "unknown": set(), "not-ca": set()}
SERVERS = ("nginx", "nginx stream", "Apache", "HAProxy")

# Requests of visitors who have no certificate.
REFUSED = {name: line + b" HTTP/1.1\r\nConnection: close\r\n" + lines + b"\r\n"
           for name, line, lines in (
    ("no certificate", b"GET /", b"Host: one.test\r\n"), ("no host", b"GET /", b""),
    ("two hosts", b"GET /", b"Host: one.test\r\nHost: two.test\r\n"),
    ("large header", b"GET /", b"Host: one.test\r\nX: " + 40000 * b"x" + b"\r\n"),
    ("malformed header", b"GET /", b"Host: one.test\r\nX : y\r\n"),
    ("expectation", b"GET /", b"Host: one.test\r\nExpect: all\r\n"),
    ("coding", b"POST /", b"Host: one.test\r\nTransfer-Encoding: gzip\r\n"),
    ("trace", b"TRACE /", b"Host: one.test\r\n"),
    ("zero", b"GET /%00", b"Host: one.test\r\n"),
    ("long path", b"GET /" + 40000 * b"x", b"Host: one.test\r\n"))}

# Hosts in place of one.test, and headers that ask for another protocol.
HOSTS = ("one.test,two.test", "two.test,one.test", "two.test, one.test", "one.test:,two.test",
         "one.test:1@two.test", "one.test:1 two.test", "one.test\r\nHost: two.test", "one.test.")
UPGRADES = ("h2c", "websocket, h2c", "h2c, websocket", "websocket\r\nUpgrade: h2c",
            "h2c\r\nUpgrade: websocket")

# The servers end idle connections by themselves, nginx after 75 s and HAProxy after 60 s.
KEPT_S = 40


def make_certificates(edges):
    made = edges.certificates
    for name in ("ca-1", "ca-2"):
        made.make(name, is_authority=True)
    made.make("leaf")
    made.make("below-ca", "ca-1", is_authority=True)
    # Another key under the name of ca-1.
    made.make("false-ca", subject="ca-1", is_authority=True)
    made.make("allowed", "ca-1")
    made.make("other", "ca-2")
    made.make("below", "below-ca", chain=["below-ca"])
    made.make("impostor", "false-ca", subject="allowed", chain=["false-ca"])
    made.make("self-signed", subject="allowed")
    made.make("of another site", "site-ca")
    made.make_expired("expired", "ca-1")
    for edge in MODULES:
        made.make(edge)
    for ident, certificate in (("ca-1", "ca-1"), ("ca-2", "ca-2"), ("leaf", "leaf"),
                               ("ca-3", "ca-1")):
        edges.authority(ident, certificate)


class TlsCase(Case):
    stack_name = "tls edges"

    edges = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if TlsCase.edges is None:
            TlsCase.edges = cls.start()

    @classmethod
    def start(cls):
        """Starts the servers, for all classes of this module."""
        cls.stack.psql("CREATE ROLE gateway LOGIN IN ROLE adit_gateway")
        edges = TlsEdges(cls.stack, MODULES, cls.home.id)
        unittest.addModuleCleanup(edges.remove)
        make_certificates(edges)
        for edge, module in MODULES.items():
            if module:
                cls.admin.put(cls.path(edge), module)
        cls.admin.put(cls.path("deleted"), MODULES["one"])
        cls.admin.delete(cls.path("deleted"))
        edges.start()
        return edges

    @staticmethod
    def path(edge):
        return "/edges/tls/%s/mutual_tls" % edge

    def store(self, edge, module):
        """Stores the module of an edge; None: deletes it."""
        if module is None:
            self.assert_ok(self.admin.delete(self.path(edge)), 204)
        else:
            self.assert_ok(self.admin.put(self.path(edge), module))

    def passes(self, server, edge, client=None):
        return self.edges.visit(server, edge, client) == edge


class Certificates(TlsCase):
    def test_every_certificate(self):
        for server in SERVERS:
            for edge in [*TRUSTED, *OPEN]:
                for client, valid in CLIENTS.items():
                    wanted = edge if edge in OPEN or TRUSTED[edge] & set(valid) else None
                    for name, version in VERSIONS.items():
                        with self.subTest("%s, %s, %s, %s" % (server, edge, client, name)):
                            self.assertEqual(
                                self.edges.visit(server, edge, client, version=version), wanted)


class Names(TlsCase):
    def test_without_sni(self):
        """A Host header chooses no edge, with or without a certificate of another one."""
        for server in SERVERS:
            for host in ("one.test", "two.test", "absent.test", "nobody.test"):
                for client in (None, "allowed"):
                    with self.subTest("%s, %s, %s" % (server, host, client)):
                        self.assertIsNone(visit(self.edges.ports[server], None,
                                                self.edges.client(client), host=host))

    def test_unknown_name(self):
        for server in SERVERS:
            for host in ("unknown-name.test", "one.test", "absent.test"):
                with self.subTest("%s, %s" % (server, host)):
                    self.assertIsNone(visit(self.edges.ports[server], "unknown-name.test",
                                            self.edges.client("allowed"), host=host))

    def test_foreign_host(self):
        """No certificate for one edge opens another one by the Host header."""
        for server in SERVERS:
            for edge, host in (("one", "two"), ("absent", "one"), ("absent", "nobody"), ("one", "absent"),
                               ("one", "both")):
                with self.subTest("%s, %s, %s" % (server, edge, host)):
                    # What is in the connection is no concern of nginx's stream.
                    self.assertEqual(self.edges.visit(server, edge, "allowed", host=host + ".test"),
                                     edge if server == "nginx stream" else None)

    def test_a_site_that_is_the_default_server(self):
        """nginx would choose the edge by the Host header."""
        port = self.edges.port_beside
        for name in (None, "unknown-name.test", "site.test"):
            for host in ("one.test", "absent.test", "nobody.test"):
                for client in (None, "allowed", "of another site"):
                    with self.subTest("%s, %s, %s" % (name, host, client)):
                        self.assertIsNone(visit(port, name, self.edges.client(client), host=host))
        self.assertEqual(visit(port, "ONE.test", self.edges.client("allowed"), host="one.test"),
                         "one")

    def seen_by_one(self, server, lines):
        """The headers that its application gets when a visitor of the edge sends these lines."""
        application = self.edges.applications[self.edges.edges.index("one")]
        application.headers.clear()
        with contextlib.closing(Visit(self.edges.ports[server], "one.test",
                                      self.edges.client("allowed"))) as one:
            one.say(b"GET / HTTP/1.1\r\n%s\r\n\r\n" % lines.encode())
        return list(application.headers)

    def test_hosts_that_the_application_sees(self):
        """One that chooses by the Host header cannot be told another name."""
        for server in ("nginx", "Apache", "HAProxy"):
            for host in HOSTS:
                with self.subTest("%s, %s" % (server, host)):
                    for headers in self.seen_by_one(server, "Host: %s\r\nConnection: close" % host):
                        self.assertEqual(len(headers.get_all("Host")), 1)
                        self.assertRegex(headers["Host"], r"\Aone\.test\.?(:\d+)?\Z")

    def test_other_protocols(self):
        """Behind an upgrade, a server would not see which hosts a visitor asks for."""
        for server in ("nginx", "Apache", "HAProxy"):
            for upgrade in UPGRADES:
                with self.subTest("%s, %s" % (server, upgrade)):
                    for headers in self.seen_by_one(server, (
                            "Host: one.test\r\nConnection: close, upgrade, http2-settings\r\n"
                            "HTTP2-Settings: AAMAAABkAAQAAP__\r\nUpgrade: " + upgrade)):
                        self.assertNotIn("h2c", " ".join(headers.get_all("Upgrade", [])))

    def test_headers_of_a_connection(self):
        """A visitor's list of them could have a proxy behind the edge drop what the edge sets."""
        for server in ("nginx", "Apache", "HAProxy"):
            with self.subTest(server):
                seen = self.seen_by_one(server, "Host: one.test\r\n"
                                        "Connection: close, X-Forwarded-For, X-Adit-User")
                self.assertEqual(len(seen), 1)
                self.assertEqual(seen[0].get_all("X-Forwarded-For"), ["127.0.0.1"])
                self.assertNotIn("x-", ", ".join(seen[0].get_all("Connection", [])).lower())

    def test_requests_that_are_refused(self):
        """The application is not asked for the pages of refusals."""
        for server in SERVERS:
            for edge in ("one", "absent", "nobody-knows"):
                for name, request in REFUSED.items():
                    with self.subTest("%s, %s, %s" % (server, edge, name)):
                        self.assert_asks_nobody(server, edge, request)

    def assert_asks_nobody(self, server, edge, request):
        asked = [one.n_asked for one in self.edges.applications]
        with contextlib.suppress(ssl.SSLError, ConnectionError), contextlib.closing(
                Visit(self.edges.ports[server], edge + ".test")) as one:
            one.say(request)
        # Without a module, the stream takes all that it gets to the edge's application.
        if (server, edge) != ("nginx stream", "absent"):
            self.assertEqual([one.n_asked for one in self.edges.applications], asked)

    def test_names_in_any_case(self):
        for server in SERVERS:
            with self.subTest(server):
                self.assertEqual(visit(self.edges.ports[server], "ONE.test",
                                       self.edges.client("allowed"), host="one.test"), "one")
                self.assertIsNone(visit(self.edges.ports[server], "ONE.test",
                                        self.edges.client("other"), host="one.test"))


class Http2(TlsCase):
    """The rules hold for each request of a connection, too."""

    SERVERS = ("nginx", "Apache", "HAProxy")

    def open(self, server, edge="one", client="allowed"):
        one = Http2Visit(self.edges.ports[server], edge + ".test", self.edges.client(client))
        self.addCleanup(one.close)
        return one

    def answering(self, server, edge="one", client="allowed"):
        """A connection on which the edge has answered, or None."""
        try:
            one = self.open(server, edge, client)
            return one if one.ask(edge + ".test") == edge else None
        except OSError:
            return None

    def opened(self, *arguments, **options):
        """The same, in the end.  A server that has just read its files anew may end some first."""
        return until(lambda: self.answering(*arguments, **options), "an answer of the edge")

    def test_certificates(self):
        for server in self.SERVERS:
            for client in CLIENTS:
                with self.subTest("%s, %s" % (server, client)):
                    if "ca-1" in CLIENTS[client]:
                        self.opened(server, client=client)
                    else:
                        self.assertIsNone(self.answering(server, client=client))

    def test_foreign_names(self):
        """Browsers ask several hosts over one connection.  The certificate was for the first."""
        for server in self.SERVERS:
            for edge, host in (("one", "two"), ("one", "absent"), ("absent", "one"),
                               ("one", "nobody"), ("absent", "nobody")):
                with self.subTest("%s, %s, %s" % (server, edge, host)):
                    self.assertIsNone(self.opened(server, edge).ask(host + ".test"))

    def test_a_second_name(self):
        """The application sees the edge's, whatever the header Host says."""
        application = self.edges.applications[self.edges.edges.index("one")]
        for server in self.SERVERS:
            with self.subTest(server):
                application.headers.clear()
                with contextlib.suppress(ConnectionError):
                    self.open(server).ask("one.test", ("host", "two.test"))
                for headers in application.headers:
                    self.assertEqual(headers.get_all("Host"), ["one.test"])

    def test_kept_connections(self):
        self.store("moving", MODULES["one"])
        for server in self.SERVERS:
            until(lambda server=server: self.passes(server, "moving", "allowed"), server)
        until(self.edges.is_settled, "the rule of before")
        kept = {server: self.opened(server, "moving") for server in self.SERVERS}
        self.store("moving", MODULES["two"])
        for server, one in kept.items():
            until(lambda one=one: not one.is_open(), server + " ends its connection", KEPT_S)
        self.store("moving", MODULES["one"])
        for server in self.SERVERS:
            until(lambda server=server: self.passes(server, "moving", "allowed"), server)


class Resumption(TlsCase):
    def ask(self, server, edge, version, *options):
        """Whether openssl's client reaches an application."""
        done = subprocess.run(
            ["openssl", "s_client", "-quiet", "-connect", "127.0.0.1:%d" % self.edges.ports[server],
             "-servername", edge + ".test", version, *options],
            input="GET / HTTP/1.0\r\nHost: %s.test\r\n\r\n" % edge, capture_output=True, text=True,
            timeout=60, check=False)
        return "application of" in done.stdout

    def test_sessions_are_not_resumed(self):
        for server in SERVERS:
            for version in ("-tls1_2", "-tls1_3"):
                with self.subTest(server + version):
                    kept = self.edges.path("kept")
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(kept)
                    self.assertTrue(self.ask(server, "one", version, "-cert",
                                             self.edges.client("allowed"), "-key",
                                             self.edges.client("allowed"), "-sess_out", kept))
                    # Without a ticket, openssl may keep nothing.
                    if not os.path.exists(kept):
                        continue
                    for edge in ("one", "two", "nobody"):
                        self.assertFalse(self.ask(server, edge, version, "-sess_in", kept), edge)


class Changes(TlsCase):
    def until_all(self, edge, client, is_wanted):
        for server in SERVERS:
            until(lambda server=server: self.passes(server, edge, client) == is_wanted,
                  "%s, %s: %s" % (server, client, is_wanted))

    def test_every_change(self):
        for module, wanted in (
                (MODULES["two"], {"allowed": False, "other": True, None: False}),
                (MODULES["nobody"], {"allowed": False, "other": False, None: False}),
                (MODULES["disabled"], {"allowed": True, "other": True, None: True}),
                (MODULES["both"], {"allowed": True, "other": True, None: False}),
                (MODULES["unknown"], {"allowed": False, "other": False, None: False}),
                (None, {"allowed": True, "self-signed": True, None: True}),
                (MODULES["one"], {"allowed": True, "other": False, None: False})):
            with self.subTest(str(module)):
                self.store("moving", module)
                for client, is_wanted in wanted.items():
                    self.until_all("moving", client, is_wanted)

    def opened(self, server, begin):
        """A connection to the edge "moving" on which begin() has begun, or None."""
        with contextlib.suppress(OSError):
            one = Visit(self.edges.ports[server], "moving.test", self.edges.client("allowed"))
            self.addCleanup(one.close)
            return one if begin(one) else None

    def open_connections(self, begin=lambda one: one.ask("moving.test") == "moving"):
        # The last step of a change ends connections in HAProxy.
        until(self.edges.is_settled, "the change before")
        # A server that has just read its files anew may end some first.
        return {server: until(lambda server=server: self.opened(server, begin), server)
                for server in SERVERS}

    def test_kept_connections(self):
        """Those that a narrower rule does not cover end.  HAProxy keeps the others."""
        connections = self.open_connections()
        self.store("moving", MODULES["both"])
        self.until_all("moving", "other", True)
        self.assertEqual(connections["HAProxy"].ask("moving.test"), "moving")
        elsewhere = Visit(self.edges.ports["HAProxy"], "one.test", self.edges.client("allowed"))
        self.addCleanup(elsewhere.close)
        self.assertEqual(elsewhere.ask("one.test"), "one")
        connections = self.open_connections()
        self.store("moving", MODULES["two"])
        for server, one in connections.items():
            until(lambda one=one: not one.is_open(), server + " ends its connection", KEPT_S)
        self.assertEqual(elsewhere.ask("one.test"), "one")
        self.store("moving", MODULES["one"])
        self.until_all("moving", "allowed", True)

    def test_connections_in_use(self):
        """An answer that does not end keeps no connection.  (Apache waits for its end.)"""
        def begin(one):
            one.sock.sendall(b"GET /endless HTTP/1.1\r\nHost: moving.test\r\n\r\n")
            return b" 200 " in one.sock.recv(4096)
        connections = self.open_connections(begin)
        self.store("moving", MODULES["two"])
        for server in ("HAProxy", "nginx", "nginx stream"):
            until(lambda server=server: not connections[server].is_open(), server, KEPT_S)
        self.assertTrue(connections["Apache"].is_open())
        self.store("moving", MODULES["one"])
        self.until_all("moving", "allowed", True)

    @staticmethod
    def serving(workers):
        """Those of nginx's workers that have not been told to end."""
        def is_serving(pid):
            try:
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    return file.read().startswith(b"nginx: worker process\0")
            except OSError:
                return False
        return list(filter(is_serving, workers))

    def test_half_a_handshake(self):
        """A visitor who waits in the handshake does not pass by the rule of before.  (Apache lets
        connections end that it has accepted.)"""
        def begin():
            slow = {server: SlowVisit(self.edges.ports[server], "moving.test",
                                      self.edges.client("allowed")) for server in SERVERS}
            for one in slow.values():
                self.addCleanup(one.close)
            return slow
        self.assertTrue(self.serving(programs.children(self.edges.running["nginx"].process.pid)))
        # Old processes of a server that has just read its files anew may end some.
        until(lambda: all([one.finish("moving.test") for one in begin().values()]), "handshakes")
        old = programs.children(self.edges.running["nginx"].process.pid)
        slow = begin()
        self.store("moving", MODULES["two"])
        self.until_all("moving", "allowed", False)
        until(lambda: not self.serving(old), "the end of nginx's old workers")
        # They end their connections 1 s later.
        time.sleep(2)
        for server in ("nginx", "nginx stream", "HAProxy"):
            self.assertFalse(slow[server].finish("moving.test"), server)
        self.store("moving", MODULES["one"])
        self.until_all("moving", "allowed", True)

    def test_metrics(self):
        """An edge without a module is open, and says so to who watches."""
        def shows(name, wanted):
            with open(self.edges.path("metrics", "adit-gateway.prom"), encoding="utf-8") as file:
                return metrics.Metrics(file.read()).sum("adit_gateway_edges" + name) == wanted
        states = ((MODULES["one"], 0, 0), ({"certificate_authority_ids": ["ca-9"]}, 0, 1),
                  ({**MODULES["one"], "enabled": False}, 1, 0), (None, 1, 0))
        status = self.edges.status()
        open_before, nobody_before = (int(status["edges_" + name]) for name in ("open", "nobody"))
        # "deleted" is one of those that are open.
        for module, is_open, is_nobody in states:
            with self.subTest(module):
                self.store("deleted", module)
                for name, wanted in (("", len(MODULES)), ("_open", open_before - 1 + is_open),
                                     ("_nobody", nobody_before + is_nobody)):
                    until(lambda: shows(name, wanted), "%s edges%s" % (wanted, name))

    def test_a_new_certificate_of_an_authority(self):
        self.until_all("rotating", "allowed", True)
        self.edges.authority("ca-3", "ca-2")
        self.until_all("rotating", "other", True)
        self.until_all("rotating", "allowed", False)
        os.unlink(self.edges.path("authorities", "ca-3"))
        self.until_all("rotating", "other", False)
        self.edges.authority("ca-3", "ca-1")
        self.until_all("rotating", "allowed", True)


class Faults(TlsCase):
    def setUp(self):
        super().setUp()
        self.store("moving", MODULES["one"])
        for server in SERVERS:
            until(lambda server=server: self.passes(server, "moving", "allowed"), server)
        until(self.edges.is_settled, "all servers obey")

    def test_a_missing_file(self):
        """The server does not start without it."""
        checks = {"nginx": [*self.edges.nginx_command(), "-t"],
                  "apache": [*self.edges.apache_command(), "-t"],
                  "haproxy": [*self.edges.haproxy_command(), "-c"]}
        for server, command in checks.items():
            self.assertEqual(run_unchecked(command)[0], 0, server)
            for suffix in (server, "pem"):
                path = self.edges.file("one", suffix)
                os.rename(path, path + ".away")
                try:
                    status, said = run_unchecked(command)
                finally:
                    os.rename(path + ".away", path)
                with self.subTest("%s, %s" % (server, suffix)):
                    self.assertNotEqual(status, 0)
                    self.assertIn(path, said)

    def test_the_daemon_is_killed(self):
        """A change while it was down, or before it could reload, holds after the next start."""
        self.edges.stop_daemon(signal.SIGKILL)
        self.store("moving", MODULES["two"])
        self.assertTrue(self.passes("nginx", "moving", "allowed"))
        self.edges.start_daemon()
        for server in SERVERS:
            until(lambda server=server: self.passes(server, "moving", "other"), server)
        self.store("moving", MODULES["one"])
        until(lambda: "verify required" in self.edges.read("moving", "haproxy")
              and os.path.exists(self.edges.path("output", ".reload-due")), "a reload that is due")
        self.edges.stop_daemon(signal.SIGKILL)
        self.edges.start_daemon()
        for server in SERVERS:
            until(lambda server=server: self.passes(server, "moving", "allowed"), server)
            until(lambda server=server: not self.passes(server, "moving", "other"), server)

    def store_too_large_for_haproxy(self, edge):
        """Stores a module that HAProxy does not take over."""
        self.edges.certificates.make("large", is_authority=True, more=(
            "-addext", "nsComment=" + 60000 * "a"))
        shutil.copy(self.edges.certificates.path("large.crt"),
                    self.edges.path("authorities", "large"))
        self.store(edge, {"certificate_authority_ids": ["large", "ca-2"]})

    def n_failed_reloads(self):
        return self.edges.daemon.log().count(b'"event":"reload failed"')

    def test_another_edge_is_refused_by_haproxy(self):
        """It is told of that one again and again.  Connections of others stay."""
        self.store_too_large_for_haproxy("moving")
        until(lambda: b"tune.bufsize" in self.edges.daemon.log(), "a refusal")
        self.store("rotating", MODULES["two"])
        until(lambda: self.passes("HAProxy", "rotating", "other"), "the other edge's change")
        self.assertFalse(self.passes("HAProxy", "rotating", "allowed"))
        # HAProxy ends connections as the last step of the change.
        n_before = self.n_failed_reloads()
        until(lambda: self.n_failed_reloads() > n_before, "the end of the change")
        with contextlib.closing(Visit(self.edges.ports["HAProxy"], "rotating.test",
                                      self.edges.client("other"))) as kept:
            self.assertEqual(kept.ask("rotating.test"), "rotating")
            n_before = self.n_failed_reloads()
            until(lambda: self.n_failed_reloads() > n_before + 1, "two more tries")
            self.assertEqual(kept.ask("rotating.test"), "rotating")
        self.store("moving", MODULES["one"])
        self.store("rotating", MODULES["rotating"])
        until(self.edges.is_settled, "all servers obey")

    def test_authorities_too_large_for_haproxy(self):
        """It cannot be told of them.  It must not go on with those of before."""
        self.store_too_large_for_haproxy("moving")
        for server in ("nginx", "nginx stream", "Apache"):
            until(lambda server=server: self.passes(server, "moving", "other"), server)
        for client in CLIENTS:
            until(lambda client=client: not self.passes("HAProxy", "moving", client), client)
        until(lambda: b"tune.bufsize" in self.edges.daemon.log(), "a line in the log")
        self.assertEqual(self.edges.status().get("haproxy"), "due")
        self.store("moving", MODULES["one"])
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the next change")
        until(self.edges.is_settled, "all servers obey")

    def test_haproxy_starts_again(self):
        """It reads the files, which say what the running one was told."""
        self.store("moving", MODULES["two"])
        until(lambda: self.passes("HAProxy", "moving", "other"), "the change")
        self.edges.running["HAProxy"].stop()
        self.store("moving", MODULES["disabled"])
        self.edges.start_haproxy()
        until(lambda: self.passes("HAProxy", "moving", None), "the next change")
        until(self.edges.is_settled, "HAProxy is told")
        self.store("moving", MODULES["one"])
        until(lambda: not self.passes("HAProxy", "moving", "other"), "the last change")
        # A visit just before "shutdown sessions" is ended though it obeyed the new rule.
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the last change, all of it")
        until(self.edges.is_settled, "all servers obey")

    def test_haproxy_reloads(self):
        """adit-gateway cannot reach the old process, so its connections end by themselves."""
        with contextlib.closing(Visit(self.edges.ports["HAProxy"], "moving.test",
                                      self.edges.client("allowed"))) as kept:
            kept.sock.sendall(b"GET /endless HTTP/1.1\r\nHost: moving.test\r\n\r\n")
            self.assertIn(b" 200 ", kept.sock.recv(4096))
            self.edges.reload_haproxy()
            self.store("moving", MODULES["two"])
            until(lambda: self.passes("HAProxy", "moving", "other"), "the change")
            until(lambda: not kept.is_open(), "the end of the connection", 15)
        self.store("moving", MODULES["one"])
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the last change")
        until(self.edges.is_settled, "all servers obey")

    def test_haproxy_reloads_without_a_master(self):
        """A new process takes over, and the old one ends by itself."""
        self.edges.running["HAProxy"].stop()
        self.edges.start_haproxy("-db")
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the start")
        old = self.edges.running["HAProxy"]
        self.edges.start_haproxy("-db", "-sf", str(old.process.pid))
        self.assertEqual(old.process.wait(KEPT_S), 0)
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the new process")
        self.edges.running["HAProxy"].stop()
        self.edges.start_haproxy()
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the last start")
        until(self.edges.is_settled, "all servers obey")

    def test_haproxy_has_its_sockets_for_itself(self):
        """Another user could act for a visitor, or take the name of a socket before HAProxy does."""
        printed = self.edges.printed("haproxy")
        sockets = set(re.findall(r"(?m)^    (?:bind|server tls) (\S+)", printed)) - {":443"}
        self.assertEqual(len(sockets), 2 * len(MODULES))
        for path in sockets:
            self.assertEqual(os.path.dirname(path), self.edges.folder)
            self.assertEqual(oct(os.stat(path).st_mode), oct(stat.S_IFSOCK | 0o600))
        self.assertEqual(printed.count(" mode 600 user haproxy "), len(sockets))

    def test_haproxy_missed_a_change(self):
        """A new process may have read the files before a change, of which the old one was told."""
        before = {suffix: self.edges.read("moving", suffix) for suffix in ("pem", "haproxy")}
        self.store("moving", MODULES["two"])
        until(lambda: self.passes("HAProxy", "moving", "other"), "the change")
        until(self.edges.is_settled, "the change, all of it")
        now = {suffix: self.edges.read("moving", suffix) for suffix in before}
        self.edges.running["HAProxy"].stop()
        self.put_files(before)
        # Until the files are as they were, or it would tell the new process of the old ones.
        self.edges.daemon.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.edges.daemon.process.send_signal, signal.SIGCONT)
        self.edges.start_haproxy()
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the old rule")
        with contextlib.closing(Visit(self.edges.ports["HAProxy"], "moving.test",
                                      self.edges.client("allowed"))) as kept:
            self.assertEqual(kept.ask("moving.test"), "moving")
            self.put_files(now)
            self.edges.daemon.process.send_signal(signal.SIGCONT)
            until(lambda: self.passes("HAProxy", "moving", "other"), "the change")
            until(lambda: not kept.is_open(), "the end of the connection", KEPT_S)
        self.assertFalse(self.passes("HAProxy", "moving", "allowed"))
        self.store("moving", MODULES["one"])
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the last change")
        until(self.edges.is_settled, "all servers obey")

    def put_files(self, texts):
        for suffix, text in texts.items():
            os.rename(self.edges.write("next", text), self.edges.file("moving", suffix))

    def test_haproxy_has_an_open_transaction(self):
        """Somebody began to change another edge by hand, and left it at that."""
        with open(self.edges.certificates.path("ca-2.crt"), encoding="ascii") as file:
            self.assertIn("transaction created", self.edges.ask_haproxy(
                "set ssl ca-file %s <<\n%s" % (self.edges.file("one", "pem"), file.read())))
        self.store("moving", MODULES["two"])
        until(lambda: self.passes("HAProxy", "moving", "other"), "the change")
        self.assertFalse(self.passes("HAProxy", "moving", "allowed"))
        self.assertTrue(self.passes("HAProxy", "one", "allowed"))
        until(lambda: b"ended the transaction that was open in HAProxy for %s" %
              self.edges.file("one", "pem").encode() in self.edges.daemon.log(), "a line in the log")
        self.store("moving", MODULES["one"])
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the last change")
        until(self.edges.is_settled, "all servers obey")

    def test_two_daemons(self):
        """The second one leaves the files alone until the first one has ended."""
        conf = self.edges.write("second.conf", self.edges.settings(
            socket=self.edges.path("second.sock"), state=self.edges.path("second-sessions")))
        first = self.edges.daemon
        self.edges.start_daemon(conf)
        try:
            until(lambda: b"output: another adit-gateway uses the folder" in
                  self.edges.daemon.log(), "a line in the log")
        finally:
            self.edges.stop_daemon()
            self.edges.daemon = first
        self.store("moving", MODULES["two"])
        until(lambda: self.passes("nginx", "moving", "other"), "the change")
        self.store("moving", MODULES["one"])
        until(self.edges.is_settled, "all servers obey")

    def lock_as_nobody(self, path):
        """Another user locks a path for as long as the test lasts.  Returns whether it can."""
        process = subprocess.Popen(
            ["flock", "--exclusive", "--nonblock", "--no-fork", path, "cat"], bufsize=0, cwd="/",
            user=65534, group=65534, extra_groups=[], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"locked\n")
        return process.stdout.readline() == b"locked\n"

    @unittest.skipIf(os.getuid() != 0, "only root can act for another user")
    def test_others_lock_what_they_can(self):
        """A restarted daemon takes up its sessions and writes the edges."""
        os.chmod(self.edges.folder, 0o755)
        os.chmod(self.edges.path("sessions"), 0o755)
        self.edges.stop_daemon()
        folders = [self.edges.path(name) for name in ("output", "sessions")]
        locked = {path for path in folders if self.lock_as_nobody(path)}
        self.assertEqual(locked, set(folders))
        for path in [os.path.join(folder, name) for folder in folders for name in os.listdir(folder)]:
            self.assertEqual(self.lock_as_nobody(path), os.path.basename(path)[0] != ".", path)
        self.edges.start_daemon()
        self.store("moving", MODULES["two"])
        until(lambda: self.passes("nginx", "moving", "other"), "the change")
        self.store("moving", MODULES["one"])
        until(self.edges.is_settled, "all servers obey")

    def test_a_file_in_the_way(self):
        """What somebody left under the name of a new file."""
        os.symlink("/nonexistent", self.edges.path("output", ".new"))
        self.store("moving", MODULES["two"])
        until(lambda: self.passes("nginx", "moving", "other"), "the change")
        self.store("moving", MODULES["one"])
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the last change")
        until(self.edges.is_settled, "all servers obey")

    def test_the_database_goes_away(self):
        """Visitors pass as before.  A change holds once the database is back."""
        self.stack.psql("ALTER ROLE gateway NOLOGIN")
        self.stack.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE usename = 'gateway'")
        until(lambda: self.edges.status().get("database") == "away", "the daemon notices")
        self.store("moving", MODULES["two"])
        time.sleep(0.5)
        for server in SERVERS:
            self.assertTrue(self.passes(server, "moving", "allowed"), server)
        self.stack.psql("ALTER ROLE gateway LOGIN")
        for server in SERVERS:
            until(lambda server=server: self.passes(server, "moving", "other"), server)
        self.store("moving", MODULES["one"])
        until(lambda: self.passes("HAProxy", "moving", "allowed"), "the last change")
        until(self.edges.is_settled, "all servers obey")

    def test_a_start_without_a_database(self):
        """All are refused, and files that are there stay."""
        conf = self.edges.write("away.conf", self.edges.settings(
            output="away", conninfo="host=/nonexistent dbname=adit",
            socket=self.edges.path("away.sock"), state=self.edges.path("away-sessions")))
        before = {edge: self.edges.read(edge, "pem") for edge in MODULES}
        self.edges.stop_daemon()
        self.edges.start_daemon(conf)
        for edge in MODULES:
            until(lambda edge=edge: os.path.exists(self.edges.path("away", edge + ".haproxy")), edge)
            with open(self.edges.path("away", edge + ".nginx"), encoding="ascii") as file:
                self.assertIn("ssl_verify_client on;", file.read())
            with open(self.edges.path("away", edge + ".pem"), encoding="ascii") as file:
                self.assertEqual(file.read(), self.edges.read("nobody", "pem"))
        self.edges.stop_daemon()
        conf = self.edges.write("away.conf", self.edges.settings(
            conninfo="host=/nonexistent dbname=adit"))
        self.edges.start_daemon(conf)
        until(lambda: self.edges.status().get("database") == "away", "the start")
        time.sleep(0.3)
        self.assertEqual({edge: self.edges.read(edge, "pem") for edge in MODULES}, before)
        self.edges.stop_daemon()
        self.edges.start_daemon()
        until(self.edges.is_settled, "the start")


class Accounts(TlsCase):
    """Without its account, an edge that has a module would seem to have none."""

    def test_no_account(self):
        """The files stay.  An edge without files refuses all."""
        before = {edge: self.edges.read(edge, "nginx") for edge in MODULES}
        for account, says in (("ac_000000000000000000000000000", "does not exist"),
                              ("", "there are several accounts")):
            for output in ("output", "lost"):
                with self.subTest(account=account, output=output):
                    self.edges.stop_daemon()
                    self.edges.start_daemon(self.edges.write("lost.conf", self.edges.settings(
                        output=output, account=account)))
                    until(lambda says=says: says in self.edges.status().get(
                        "account_problem", ""), "the daemon's status")
                    self.assert_refuses_or_stays(output, before)
        self.edges.stop_daemon()
        self.edges.start_daemon()
        until(self.edges.is_settled, "the start")

    def assert_refuses_or_stays(self, output, before):
        until(lambda: all(os.path.exists(self.edges.path(output, edge + ".nginx"))
                          for edge in before), "the files")
        time.sleep(0.3)
        for edge, text in before.items():
            with open(self.edges.path(output, edge + ".nginx"), encoding="ascii") as file:
                now = file.read()
            if output == "lost":
                self.assertIn("ssl_verify_client on;", now)
            else:
                self.assertEqual(now, text)


class Printed(Case):
    """aditctl gateway-config."""
    stack_name = "tls edges"

    def printed(self, settings, *arguments, status=0):
        path = os.path.join(self.stack.state, "printed.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(settings)
        done = self.stack.ctl_run("gateway-config", *arguments, conf=path)
        self.assertEqual(done.returncode, status, done)
        return done.stderr if status else done.stdout

    def test_sshd(self):
        text = self.printed("", "sshd")
        self.assertIn("\nMatch User tunnel\n", text)
        self.assertRegex(text, r"\n    AuthorizedKeysCommand \S+/adit-ssh-keys %u %f %t %k\n")
        self.assertIn("\n    # PermitListen *.example.com:8080 *.example.com:8443\n", text)
        one, other = "ac_" + 27 * "1", "ac_" + 27 * "2"
        text = self.printed("[gateway]\nsocket = /run/x.sock\ndomain_ports = *\naccount = " + one,
                            "sshd", "--user", "tunnel-2", "--domain", "example.org")
        self.assertIn("\nMatch User tunnel-2\n", text)
        self.assertIn("adit-ssh-keys --account %s --socket /run/x.sock %%u %%f %%t %%k\n" % one, text)
        self.assertIn("\n    PermitListen *.example.org:*\n", text)
        self.assertIn("--account %s " % other, self.printed("", "sshd", "--account", other))

    def test_accounts_that_share_a_gateway(self):
        """Who names an account without a domain is told what the account may take."""
        account = ["--account", "ac_" + 27 * "1"]
        for arguments, says in ([], ""), ([*account, "--domain", "a.example"], ""), (
                account, "aditctl: warning: the account %s can take names and ports of other"
                " accounts" % account[1]):
            done = self.stack.ctl_run("gateway-config", "sshd", *arguments)
            self.assertEqual((done.returncode, done.stderr[:len(says) or None]), (0, says))

    def test_edges(self):
        settings = "[mutual_tls]\nedges = edge-1  Edge_2\noutput = /out\nhaproxy = /run/h.sock\n"
        for kind, wanted in (
                ("nginx-tls", ["server_name edge-1;", "server_name edge_2;",
                               "include /out/Edge_2.nginx;"]),
                ("apache-tls", ["ServerName edge-1\n", "Include /out/Edge_2.apache\n"]),
                ("haproxy", ["stats socket /run/h.sock ", "-i edge_2 }", "backend Edge_2:on\n"])):
            text = self.printed(settings, kind, "--certificates", "/certs")
            for part in [*wanted, "/certs/Edge_2.pem"]:
                self.assertIn(part, text)
            self.assertNotRegex(text, "@[A-Z_]+@")

    def test_misuse(self):
        edge = "[mutual_tls]\nedges = %s\n"
        self.each([(" ".join(arguments), settings, status, says, arguments)
                   for settings, status, says, arguments in (
            ("", 2, "choose one of: sshd, sshd-logins, nginx-tls, apache-tls, haproxy", ["traefik"]),
            ("", 2, "needs an argument", []),
            ("", 1, "name no edges", ["nginx-tls"]),
            (edge % "~a", 1, "cannot be a server's name", ["haproxy"]),
            (edge % ".a", 1, "cannot be a server's name", ["nginx-tls"]),
            (edge % "a", 2, "takes no --user", ["haproxy", "--user", "x"]),
            (edge % "a", 2, "--certificates '/a b'", ["haproxy", "--certificates", "/a b"]),
            (edge % "a", 2, "--domain 'a b'", ["haproxy", "--domain", "a b"]),
            ("", 2, "takes no --certificates", ["sshd", "--certificates", "/x"]),
            # A server would not get what was given.
            (edge % "a", 2, "takes no --application", ["nginx-tls", "--application", "127.0.0.1:1"]),
            (edge % "a", 2, "takes no --socket", ["apache-oauth", "--socket", "/x"]),
            ("", 2, "takes no --user", ["sshd-logins", "--user", "x"]),
            ("", 2, "takes no --url", ["sshd", "--url", "https://a.example"]),
            ("", 2, "--user '*'", ["sshd", "--user", "*"]),
            ("", 2, "--account 'a b'", ["sshd", "--account", "a b"]))],
            lambda settings, status, says, arguments: self.assertIn(
                says, self.printed(settings, *arguments, status=status)))
