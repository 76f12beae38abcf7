# SPDX-License-Identifier: MIT
"""aditctl doctor on the machine of adit-gate: what it finds, with a real gate behind nginx."""
import contextlib
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import threading

from adit import stack
from adit.case import Case, until_back
from adit.enclosure import Enclosure
from adit.gate import Gate
from adit.programs import ENV
from adit.reference import openapi

NEEDS_ROOT = True

# adit-gate is another name of the user that may reach the database.
GATE, STRANGER = pwd.getpwnam("postgres").pw_uid, 4202
USERS = (("adit-gate", GATE, ()), ("stranger", STRANGER, ()))
# The record that ends a request of FastCGI.
END = b"\1\5\0\1\0\0\0\0"
CHECKS = ["user", "settings", "responder", "user", "gate-role", "gate", "provider", "secrets", "opened",
          "routes", "visitors"]


# Answers "200" at Apache's port, so many times; then it accepts no connection.
AT_PORT = """import socket, sys
with socket.create_server(("127.0.0.1", 918)) as server:
    print("ready", flush=True)
    for _ in range(int(sys.argv[1])):
        peer, _ = server.accept()
        with peer:
            request = b""
            while not request.endswith(%r):
                request += peer.recv(1 << 16)
            peer.sendall(b"\\1\\6\\0\\1\\0\\x0f\\0\\0Status: 200\\r\\n\\r\\n")
""" % END


@contextlib.contextmanager
def at_apaches_port(inside, n_answers):
    with subprocess.Popen(inside.on_network(sys.executable, "-c", AT_PORT, str(n_answers)),
                          stdout=subprocess.PIPE, text=True) as server:
        try:
            if server.stdout.readline() != "ready\n":
                raise AssertionError("nobody listens at Apache's port")
            yield
        finally:
            server.kill()


class GateDoctor(Case):
    stack_name = "gate-doctor"  # doctor looks at the modules of all accounts

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gate = Gate(stack.get(cls.stack_name))
        cls.addClassCleanup(cls.gate.remove)

    def doctor(self, *arguments, conf=None):
        """The exit status, and the lines as (verdict, what, text)."""
        done = self.stack.ctl_run("doctor", *(arguments or ("--socket", self.gate.socket)),
                                  conf=conf or self.gate.conf)
        self.assertEqual(done.stderr, "")
        return done.returncode, [tuple(line.split(None, 2)) for line in done.stdout.splitlines()]

    def assert_found(self, verdict, what, text, *arguments, conf=None):
        """Returns the texts of all troubles."""
        status, lines = self.doctor(*arguments, conf=conf)
        self.assertTrue([line for line in lines if line[:2] == (verdict, what)
                         and re.search(text, line[2])], "\n".join(map(str, lines)))
        troubles = [line[2] for line in lines if line[0] == "trouble"]
        self.assertEqual(status, 1 if troubles else 0)
        return troubles

    def assert_only_trouble(self, what, text, *arguments, conf=None):
        self.assertEqual(len(self.assert_found("trouble", what, text, *arguments, conf=conf)), 1)

    @contextlib.contextmanager
    def sql(self, before, after):
        self.stack.psql(before)
        try:
            yield
        finally:
            self.stack.psql(after)

    def changed(self, old, new):
        """A file of the settings with a change."""
        with open(self.gate.conf, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(len(re.findall(old, text)), 1, text)
        return self.gate.write("changed.conf", re.sub(old, new, text))

    # ---- the program ----

    def test_all_is_well(self):
        self.gate.module(config={"organizations": ["acme"]})
        self.addCleanup(self.gate.delete)
        status, lines = self.doctor()
        self.assertEqual((status, [line[1] for line in lines]), (0, CHECKS), lines)
        found = {what: text for _, what, text in lines}
        self.assertEqual(found["gate"], "adit-gate decides at " + self.gate.socket)
        self.assertEqual(found["gate-role"], "the gate's role has the rights that it needs")
        self.assertRegex(found["provider"], r"^\[provider\.%s\] has an application at [A-Z]\w+ for"
                         " modules that name none$" % self.gate.provider)
        self.assertRegex(found["opened"], r"^[1-9]\d* secrets? (was|were) opened$")
        self.assertRegex(found["routes"], r"^looked at [1-9]\d* modules?$")
        self.assertEqual(found["visitors"], "no row is left of an ended session")

    def test_no_gate(self):
        """Without a setting of the gate, its socket and --socket, nothing of it is checked."""
        def checks(conf=None):
            return [line.split()[1] for line in self.stack.ctl_run("doctor", conf=conf)
                    .stdout.splitlines()]
        self.assertEqual([check for check in checks() if check in CHECKS[4:7] + CHECKS[9:]], [])
        for setting in ("[gate]\naccount = " + self.gate.account.id,
                        "[provider.%s]\ntoken_url = https://localhost/" % self.gate.other_provider):
            with self.subTest(setting):
                conf = self.gate.write("due.conf", "%s\n%s\n" % (self.stack.read_conf(), setting))
                self.assertIn("gate", checks(conf))

    def test_never_started(self):
        """Without a setting of its own, an enabled unit shows that it should run."""
        for unit, wanted_by in (("adit-gate.service", "multi-user.target"),
                                ("adit-gate.socket", "sockets.target")):
            with self.subTest(unit), self.inside() as inside:
                def found(inside=inside):
                    done = stack.run(inside.command(
                        os.path.join(stack.BUILD, "aditctl"), "-c", self.stack.conf_path, "doctor"),
                        check=False, env=ENV)
                    return [line for line in done.stdout.splitlines() if re.match(
                        r"trouble +gate +cannot ask adit-gate at /\S+/gate\.sock: No such"
                        " file", line)]
                stack.run(inside.command("mount", "-t", "tmpfs", "units", "/etc/systemd/system"))
                self.assertEqual(found(), [])
                inside.write("/etc/systemd/system/" + unit, "[Service]\nExecStart=/bin/true\n[Socket]\n"
                             "ListenStream=/run/gate.sock\n[Install]\nWantedBy=%s\n"
                             % wanted_by)
                stack.run(inside.command("systemctl", "enable", unit))
                self.assertEqual(len(found()), 1)

    @contextlib.contextmanager
    def inside(self):
        """A part of the machine that has users of its own."""
        enclosure = Enclosure(USERS)
        try:
            yield enclosure
        finally:
            enclosure.remove()

    def test_nobody_answers(self):
        missing = self.gate.path("run", "missing.sock")
        self.assert_only_trouble("gate", "^cannot ask adit-gate at %s: No such file or directory; to"
                                 " start it, run: systemctl start adit-gate.socket adit-gate$"
                                 % missing, "--socket", missing)

    def served(self, answer):
        """The path of a socket whose server answers one request, and then closes."""
        path = self.gate.path("run", "another-server.sock")
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(1)
        server.settimeout(60)

        def serve():
            peer, _ = server.accept()
            with peer:
                request = b""
                while not request.endswith(END):
                    request += peer.recv(1 << 16)
                if answer is not None:
                    peer.sendall(answer)
                else:
                    done.wait(60)
        done = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()

        def end():
            done.set()
            thread.join()
            server.close()
            os.remove(path)
        self.addCleanup(end)
        return path

    def test_another_answer(self):
        self.assert_only_trouble("gate", "the answer is not one of adit-gate; to start",
                                 "--socket", self.served(b"HTTP/1.1 400 Bad Request\r\n\r\n"))

    def test_the_responder_answers(self):
        text = b"Status: 401 Unauthorized\r\nContent-Type: application/json\r\n\r\n{}"
        self.assert_only_trouble("gate", "the answer is not one of adit-gate; to start", "--socket",
                                 self.served(b"\1\6\0\1\0" + bytes([len(text)]) + b"\0\0" + text))

    def test_cut_answer(self):
        self.assert_only_trouble("gate", "the answer is not one of adit-gate; to start",
                                 "--socket", self.served(b"\1\6\0\1\0\4\0\0Stat"))

    def test_no_answer(self):
        self.assert_only_trouble("gate", "no answer in time; to start", "--socket", self.served(None))

    def test_database_away(self):
        """The gate says so, and doctor cannot connect as the gate either."""
        with self.sql("ALTER ROLE gate NOLOGIN; SELECT pg_terminate_backend(pid, 10000) FROM"
                      " pg_stat_activity WHERE usename = 'gate'", "ALTER ROLE gate LOGIN"):
            self.assert_only_trouble("gate", "^adit-gate answers 503 at %s, so nobody passes; see its"
                                     " log: journalctl -u adit-gate$" % self.gate.socket)
            self.assert_found("note", "gate-role", "^not checked: .*; to check the gate's role, run"
                              " this as the daemon's user: runuser -u adit-gate -- aditctl doctor$")
        until_back(lambda: self.doctor()[0] == 0)

    # ---- account and role ----

    def test_account(self):
        unknown = self.changed("(?m)^account = ac_.*$", "account = ac_" + "0" * 27)
        self.assert_found("trouble", "account", "^account ac_0+ of .gate. does not exist, so nobody"
                          " passes; correct the setting$", conf=unknown)
        several = self.changed("(?m)^account = ac_.*\n", "")
        self.assert_found("note", "account", "^there are several accounts, and the setting account of"
                          " .gate. is empty; .*gateway-config --account$", conf=several)

    def test_role(self):
        for break_sql, mend_sql, verdict, text in (
                ("GRANT adit_responder TO gate", "REVOKE adit_responder FROM gate", "trouble",
                 "^the gate's role also has the rights of adit_responder, which it must not; "),
                ("GRANT SELECT (name) ON adit.account TO gate",
                 "REVOKE ALL (name) ON adit.account FROM gate", "note",
                 "^the gate's role has adit.account: SELECT of name, which it does not need$"),
                ("REVOKE DELETE ON adit.gate_session FROM adit_gate",
                 "GRANT DELETE ON adit.gate_session TO adit_gate", "trouble",
                 "^the gate's role lacks adit.gate_session: DELETE; make it a member of adit_gate,"
                 " then run: aditctl migrate$")):
            with self.subTest(break_sql), self.sql(break_sql, mend_sql):
                self.assert_found(verdict, "gate-role", text)

    # ---- applications ----

    def secret_file(self, text="a secret\n", mode=0o640, user=0, group=0):
        """Settings that name a file with a managed application's secret, and its path."""
        path = self.gate.write("another-secret", text, 0o600)
        os.chown(path, user, group)
        os.chmod(path, mode)
        return self.changed("(?m)^client_secret_file = .*$", "client_secret_file = " + path), path

    def test_secret_file(self):
        for text, mode, wanted in (
                ("a secret\n", 0o644, "others may read or write it; run: chmod o= FILE$"),
                ("a secret\n", 0o642, "others may read or write it; run: chmod o= FILE$"),
                ("", 0o600, "which "), ("two\nlines\n", 0o600, "which has more than one line"),
                ("x" * 1025, 0o600, "which ")):
            with self.subTest(text[:10], mode=oct(mode)):
                conf, path = self.secret_file(text, mode)
                self.assert_only_trouble("provider", "%s.* ?%s" % (
                    re.escape(path), wanted.replace("FILE", re.escape(path))), conf=conf)

    def test_no_secret_file(self):
        missing = self.gate.path("no-such-file")
        conf = self.changed("(?m)^client_secret_file = .*$", "client_secret_file = " + missing)
        self.assert_only_trouble("provider", "^%s: No such file or directory; write the client secret"
                                 " of .provider.%s. into it$" % (missing, self.gate.provider),
                                 conf=conf)

    def test_half_an_application(self):
        for missing, other in (("client_id", "client_secret_file"), ("client_secret_file", "client_id")):
            with self.subTest(missing):
                conf = self.changed("(?m)^%s = .*\n" % missing, "")
                self.assert_found("trouble", "provider", "^.provider.%s. has no %s, so adit-gate does"
                                  " not start; set both or none$" % (self.gate.provider, missing),
                                  conf=conf)

    def as_gate(self, conf, user=GATE, n_answers=None):
        """Where there is a user adit-gate, to whom the key file belongs, or to another one: the exit
        status, and the lines as (verdict, what, text).  n_answers: a program at Apache's port answers
        so many questions."""
        key = self.gate.path("key-of-the-gate")
        shutil.copy(self.gate.key_file, key)
        os.chown(key, user, user)
        os.chmod(key, 0o600)
        with open(conf, encoding="utf-8") as file:
            text = file.read()
        conf = self.gate.write("as-gate.conf", re.sub("(?m)^key_file = .*$", "key_file = " + key, text))
        with self.inside() as inside, contextlib.ExitStack() as others:
            where = ["--socket", self.gate.socket]
            if n_answers is not None:
                where = []
                others.enter_context(at_apaches_port(inside, n_answers))
            done = stack.run(inside.command(
                os.path.join(stack.BUILD, "aditctl"), "-c", conf, "doctor", *where),
                             check=False, env=ENV)
        return done.returncode, [tuple(line.split(None, 2)) for line in done.stdout.splitlines()]

    def test_the_service_user(self):
        """Root checks as adit-gate.  What this user cannot do, adit-gate cannot do either."""
        conf, _ = self.secret_file(group=GATE)
        with open(conf, encoding="utf-8") as file:
            text = file.read()
        self.gate.write("changed.conf", re.sub("(?m)^account = ac_.*\n", "", text))
        status, lines = self.as_gate(conf)
        self.assertEqual((status, [line for line in lines if line[0] == "trouble"]), (0, []))
        self.assertIn(("ok", "user", "postgres, for adit-gate.service"), lines)
        with self.sql("ALTER ROLE gate NOLOGIN; SELECT pg_terminate_backend(pid, 10000) FROM"
                      " pg_stat_activity WHERE usename = 'gate'", "ALTER ROLE gate LOGIN"):
            status, lines = self.as_gate(conf)
        troubles = [line[1:] for line in lines if line[0] == "trouble"]
        self.assertEqual((status, [what for what, _ in troubles]), (1, ["gate-role", "gate"]), lines)
        self.assertRegex(troubles[0][1], "^the gate's role was not checked: .*gate")
        self.assertNotIn("run this as", troubles[0][1])
        self.assertRegex(troubles[1][1], "^adit-gate answers 503 at .*, so nobody passes;")
        until_back(lambda: self.doctor()[0] == 0)

    def test_who_may_connect(self):
        """Apache's port is everybody's, unless a firewall keeps others than root from it."""
        conf, _ = self.secret_file(group=GATE)
        for n_answers, notes in (
                (1, []),
                (2, ["no firewall keeps them out: other users than the web server's may connect to "
                     "127.0.0.1:918, and say there which address a visitor has; see adit-gate(8)"])):
            with self.subTest(n_answers):
                status, lines = self.as_gate(conf, n_answers=n_answers)
                self.assertEqual(status, 0, lines)
                self.assertIn(("ok", "gate", "adit-gate decides at 127.0.0.1:918"), lines)
                self.assertEqual([text for verdict, what, text in lines
                                  if (verdict, what) == ("note", "gate")], notes)

    def test_a_key_file_of_another_user(self):
        """Without systemd, nobody hands adit-gate a file that it may not read."""
        conf, _ = self.secret_file(group=GATE)
        status, lines = self.as_gate(conf, user=STRANGER)
        troubles = [line for line in lines if line[0] == "trouble"]
        self.assertEqual((status, [line[1] for line in troubles]), (1, ["secrets"]), lines)
        self.assertIn("may not read it", troubles[0][2])

    def test_readers_of_a_secret_file(self):
        """Where there is a user adit-gate, that user may read the file, and nobody else but root."""
        for user, group, mode, wanted in (
                (0, GATE, 0o640, None), (GATE, GATE, 0o400, None), (GATE, 0, 0o640, None),
                (0, 0, 0o600, "adit-gate may not read it; run: chgrp adit-gate FILE$"),
                (0, 0, 0o640, "adit-gate may not read it; run: chgrp adit-gate FILE$"),
                (0, GATE, 0o600, "adit-gate may not read it; run: chmod 640 FILE$"),
                (GATE, 0, 0o040, "adit-gate may not read it; run: chgrp adit-gate FILE$"),
                (STRANGER, GATE, 0o640,
                 "it belongs to a user other than root and adit-gate; run: chown root FILE$"),
                (0, STRANGER, 0o640, "its group may read or write it, and is not adit-gate; run:"
                 " chgrp adit-gate FILE$"),
                (GATE, STRANGER, 0o620, "its group may read or write it, and is not adit-gate; run:"
                 " chgrp adit-gate FILE$"),
                (0, GATE, 0o644, "others may read or write it; run: chmod o= FILE$")):
            with self.subTest(user=user, group=group, mode=oct(mode)):
                conf, path = self.secret_file(mode=mode, user=user, group=group)
                status, lines = self.as_gate(conf)
                troubles = [line[1:] for line in lines if line[0] == "trouble"]
                self.assertEqual((len(troubles), status), (bool(wanted),) * 2, lines)
                if wanted:
                    self.assertEqual(troubles[0][0], "provider")
                    self.assertRegex(troubles[0][1], "^%s: %s" % (
                        re.escape(path), wanted.replace("FILE", re.escape(path))))

    # ---- authorities ----

    def test_authorities(self):
        path = self.gate.path("authorities.pem")
        conf = self.changed("(?m)^ca_file = .*$", "ca_file = " + path)
        self.assert_only_trouble("provider", "^ca_file %s: No such file or directory, so nobody can sign"
                                 " in; put" % path, conf=conf)
        for text, wanted in (("", "it has no certificate"), ("no PEM\n", "it has no certificate"),
                             ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                              "it is not PEM, or damaged")):
            with self.subTest(text):
                self.gate.write("authorities.pem", text)
                self.assert_only_trouble("provider", "^ca_file %s: %s, so nobody can sign in" % (
                    path, wanted), conf=conf)
        # A certificate that signs no others is one of a provider itself.
        shutil.copy(self.gate.certificates.path("provider.crt"), path)
        self.assertEqual(self.doctor(conf=conf)[0], 0)

    # ---- rows ----

    def test_closed_routes(self):
        where = "^account %s, edge edge-1, route route-1: " % self.gate.account.id
        github, facebook = self.provider_name(1), self.provider_name(2)
        self.addCleanup(self.gate.delete)
        for body, verdict, wanted in (
                ({}, "note", "nobody passes: the module is enabled without a provider$"),
                ({"provider": {self.gate.other_provider: {}}}, "trouble",
                 r"nobody can sign in: the module has no client_id; PUT it with one, or set client_id"
                 r" and client_secret_file in \[provider.%s\]$" % self.gate.other_provider),
                ({"provider": {facebook: {"client_id": "a", "client_secret": "b",
                                          "email_domains": ["example.com"]}}}, "trouble",
                 "nobody passes by email_domains: Facebook verifies no addresses; choose another"
                 " provider$"),
                ({"provider": {github: {"client_id": "a", "client_secret": "b", "scopes": ["user"],
                                        "teams": ["o/t"]}}}, "ok", "^looked at"),
                ({"provider": {github: {"client_id": "a", "client_secret": "b", "scopes": ["email"],
                                        "teams": ["o/t"]}}}, "trouble",
                 "nobody passes by teams: the module's scopes have none of these: read:org, .*; add"
                 " one of them, or leave the module's scopes empty$"),
                ({"provider": {github: {"client_id": "a", "client_secret": "b", "scopes": ["repo"],
                                        "teams": ["o/t"], "organizations": ["o"]}}}, "note",
                 "visitors pass by teams; nobody passes by organizations: the module's scopes"),
                ({"provider": {facebook: {"client_id": "a", "client_secret": "b"}}}, "note",
                 "anyone with an account at Facebook passes; if it should not be open to everybody,"
                 " fill in one of its lists$"),
                ({"provider": {self.gate.provider: {}}}, "note",
                 "anyone with an account at .* passes; if")):
            with self.subTest(wanted):
                self.gate.put(body)
                troubles = self.assert_found(
                    verdict, "routes", wanted if verdict == "ok" else where + wanted)
                self.assertEqual(len(troubles), verdict == "trouble")
                # A disabled module lets everybody pass.
                self.gate.put({**body, "enabled": False})
                self.assert_found("ok", "routes", "looked at")

    def test_cookies_of_other_hosts(self):
        """Two edges are names below one domain, and one module takes cookies from the other."""
        name = ("UPDATE adit.oauth_module SET edge_id = 'a.tunnels.example' WHERE edge_id = 'edge-1';"
                "INSERT INTO adit.oauth_module SELECT (jsonb_populate_record(m, jsonb_build_object("
                "'edge_id', '%s', 'cookie_prefix', '__Host-x.'))).* FROM adit.oauth_module AS m"
                " WHERE m.edge_id = 'a.tunnels.example'")
        undo = ("DELETE FROM adit.oauth_module WHERE edge_id NOT IN ('edge-1', 'a.tunnels.example');"
                "UPDATE adit.oauth_module SET edge_id = 'edge-1', cookie_prefix = NULL"
                " WHERE edge_id = 'a.tunnels.example'")
        self.gate.module(config={"organizations": ["acme"]})
        self.addCleanup(self.gate.delete)
        for other, is_noted in (("b.tunnels.example", True), ("b.a.tunnels.example", False),
                                ("b.example", False)):
            with self.subTest(other), self.sql(name % other, undo):
                noted = [line[2] for line in self.doctor()[1] if line[:2] == ("note", "cookies")]
                self.assertEqual([line.partition(";")[2] for line in noted], is_noted * [
                    " the first is account %s, edge a.tunnels.example, route route-1; PUT a"
                    " cookie_prefix that begins with __Host-" % self.gate.account.id])
                self.stack.psql("UPDATE adit.oauth_module SET cookie_prefix = '__host-y.'"
                                " WHERE edge_id = 'a.tunnels.example'")
                self.assertNotIn("cookies", [line[1] for line in self.doctor()[1]])

    def provider_name(self, position):
        names = self.stack.providers or openapi.PROVIDERS
        return names[position - 1]

    def test_many_closed_routes(self):
        insert = ("INSERT INTO adit.oauth_module SELECT (jsonb_populate_record(m, jsonb_build_object("
                  "'route_id', 'many-' || n))).* FROM adit.oauth_module AS m,"
                  " generate_series(1, 25) AS n WHERE m.route_id = 'route-1' AND m.account_id = '%s'"
                  % self.gate.account.id)
        self.gate.put({})
        self.addCleanup(self.gate.delete)
        with self.sql(insert, "DELETE FROM adit.oauth_module WHERE route_id LIKE 'many-%'"):
            lines = [line for line in self.doctor()[1] if line[1] == "routes"]
        self.assertEqual(len(lines), 21)
        self.assertEqual(lines[-1], ("note", "routes", "more routes are closed or open to everybody; 20 are named"))

    def test_ended_sessions(self):
        """adit-gate deletes rows soon after their end.  One that stays shows that it does not."""
        for age, verdict, text in (
                ("50 minutes", "ok", "^no row is left of an ended session$"),
                ("61 minutes", "trouble", "^1 session ended over an hour ago and still has a row;"
                 " adit-gate deletes 1000 of them every 10 minutes: see its log: journalctl -u"
                 " adit-gate$")):
            with self.subTest(age), self.sql(
                    "INSERT INTO adit.gate_session (id, ends_at) VALUES ('%s', now() - interval '%s')"
                    % ("A" * 22, age), "DELETE FROM adit.gate_session WHERE id = '%s'" % ("A" * 22)):
                troubles = self.assert_found(verdict, "visitors", text)
                self.assertEqual(len(troubles), verdict == "trouble")

    # ---- keys ----

    def test_another_key(self):
        """The key file of another machine opens no secret of the modules."""
        self.gate.module()
        self.addCleanup(self.gate.delete)
        another = self.gate.path("another-key")
        conf = self.changed("(?m)^key_file = .*/key$", "key_file = " + another)
        self.assert_found("trouble", "secrets", "^%s: there is no such file$" % another, conf=conf)
        self.assertEqual(self.stack.ctl_run("secrets", "init", conf=conf).returncode, 0)
        self.assert_found("trouble", "opened", "^account %s, edge edge-1, route route-1: "
                          % self.gate.account.id, conf=conf)
