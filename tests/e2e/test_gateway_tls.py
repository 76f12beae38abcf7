# SPDX-License-Identifier: MIT
"""Mutual TLS: which client certificates nginx (HTTP and TCP), Apache and HAProxy let pass, and what
a change does."""
import contextlib
import os
import shutil
import signal
import subprocess
import time
import unittest

from adit import programs
from adit.case import Case, until
from adit.tls_edges import VERSIONS, SlowVisit, TlsEdges, Visit, run_unchecked, visit

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
    "moving": {"certificate_authority_ids": ["ca-1"]},
    "rotating": {"certificate_authority_ids": ["ca-3"]},
}

# The visitors' certificates, and the authorities under which each is valid; None: none is shown.
CLIENTS = {
    None: (), "allowed": ("ca-1",), "other": ("ca-2",), "below": ("ca-1",), "expired": (),
    "self-signed": (), "impostor": (),
}
OPEN = ("disabled", "absent", "deleted")
TRUSTED = {"one": {"ca-1"}, "two": {"ca-2"}, "both": {"ca-1", "ca-2"}, "half": {"ca-1"},
           "nobody": set(), "unknown": set(), "not-ca": set()}
SERVERS = ("nginx", "nginx stream", "Apache", "HAProxy")

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
            for edge, host in (("one", "two"), ("absent", "one"), ("absent", "nobody"),
                               ("one", "both")):
                with self.subTest("%s, %s, %s" % (server, edge, host)):
                    self.assertIn(self.edges.visit(server, edge, "allowed", host=host + ".test"),
                                  (None, edge))

    def test_names_in_any_case(self):
        for server in SERVERS:
            with self.subTest(server):
                self.assertEqual(visit(self.edges.ports[server], "ONE.test",
                                       self.edges.client("allowed"), host="one.test"), "one")
                self.assertIsNone(visit(self.edges.ports[server], "ONE.test",
                                        self.edges.client("other"), host="one.test"))


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

    def open_connections(self, edge, client):
        connections = {}
        for server in SERVERS:
            one = Visit(self.edges.ports[server], edge + ".test", self.edges.client(client))
            self.addCleanup(one.close)
            self.assertEqual(one.ask(edge + ".test"), edge)
            connections[server] = one
        return connections

    def test_kept_connections(self):
        """Those that a narrower rule does not cover end.  HAProxy keeps the others."""
        connections = self.open_connections("moving", "allowed")
        self.store("moving", MODULES["both"])
        self.until_all("moving", "other", True)
        self.assertEqual(connections["HAProxy"].ask("moving.test"), "moving")
        elsewhere = Visit(self.edges.ports["HAProxy"], "one.test", self.edges.client("allowed"))
        self.addCleanup(elsewhere.close)
        self.assertEqual(elsewhere.ask("one.test"), "one")
        connections = self.open_connections("moving", "allowed")
        self.store("moving", MODULES["two"])
        for server, one in connections.items():
            until(lambda one=one: not one.is_open(), server + " ends its connection", KEPT_S)
        self.assertEqual(elsewhere.ask("one.test"), "one")
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
        for server, one in begin().items():
            self.assertTrue(one.finish("moving.test"), server)
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

    def test_authorities_too_large_for_haproxy(self):
        """It cannot be told of them.  It must not go on with those of before."""
        self.edges.certificates.make("large", is_authority=True, more=(
            "-addext", "nsComment=" + 60000 * "a"))
        shutil.copy(self.edges.certificates.path("large.crt"),
                    self.edges.path("authorities", "large"))
        self.store("moving", {"certificate_authority_ids": ["large", "ca-2"]})
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
        self.assertTrue(self.passes("HAProxy", "moving", "allowed"))
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
            ("", 2, "choose one of: sshd, nginx-tls, apache-tls, haproxy", ["traefik"]),
            ("", 2, "needs an argument", []),
            ("", 1, "name no edges", ["nginx-tls"]),
            (edge % "~a", 1, "cannot be a server's name", ["haproxy"]),
            (edge % ".a", 1, "cannot be a server's name", ["nginx-tls"]),
            (edge % "a", 2, "takes no --user", ["haproxy", "--user", "x"]),
            (edge % "a", 2, "--certificates '/a b'", ["haproxy", "--certificates", "/a b"]),
            (edge % "a", 2, "--domain 'a b'", ["haproxy", "--domain", "a b"]),
            ("", 2, "takes no --certificates", ["sshd", "--certificates", "/x"]),
            ("", 2, "--user '*'", ["sshd", "--user", "*"]),
            ("", 2, "--account 'a b'", ["sshd", "--account", "a b"]))],
            lambda settings, status, says, arguments: self.assertIn(
                says, self.printed(settings, *arguments, status=status)))
