# SPDX-License-Identifier: MIT
"""doc/gateways.md, word for word: the statements, the program that follows changes, and the decision
over HTTP."""
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile

from adit import samples, stack
from adit.case import Case, until, until_back

PAGE = os.path.join(stack.ROOT, "doc", "gateways.md")
ROLE = "my_gateway"
# Debian's interpreter, which has the driver.
PYTHON = "/usr/bin/python3"
ACL = ["bind:localhost:9000"]


def chapters():
    with open(PAGE, encoding="utf-8") as file:
        parts = re.split(r"^## (.*)\n", file.read(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def blocks(title, kind):
    return re.findall(r"(?ms)^```%s\n(.*?)^```$" % kind, chapters()[title])


class Page(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made, granted, cls.look_up, cls.modules = blocks("Your own gateway, by SQL", "sql")
        cls.stack.psql(made + granted)
        cls.addClassCleanup(cls.stack.psql, "DROP OWNED BY %s; DROP ROLE %s" % (ROLE, ROLE))

    def setUp(self):
        _, public_key = samples.generate("-t", "ed25519")
        self.credential = self.assert_ok(self.admin.post("/ssh_credentials", {
            "public_key": public_key, "acl": ACL}), 201)
        self.fingerprint = self.stack.psql("SELECT fingerprint FROM adit.ssh_credential"
                                           " WHERE id = '%s'" % self.credential["id"])

    def ask(self, sql):
        """Runs the page's SQL in the role of its gateway, in this test's account."""
        return self.stack.psql(sql.replace("ac_...", self.home.id).replace(
            "SHA256:...", self.fingerprint), ROLE)

    def test_look_up(self):
        self.assertEqual(self.ask(self.look_up), "%s|{%s}" % (self.credential["id"], ACL[0]))
        self.stack.psql("UPDATE adit.ssh_credential SET standing = 'superseded' WHERE id = '%s'"
                        % self.credential["id"])
        self.assertEqual(self.ask(self.look_up), "")
        self.fingerprint = "SHA256:" + "A" * 43
        self.assertEqual(self.ask(self.look_up), "")

    def test_modules(self):
        self.assert_ok(self.admin.put("/edges/tls/edge-2/mutual_tls", {
            "certificate_authority_ids": ["ca-1"]}))
        self.assert_ok(self.admin.put("/edges/https/edge-1/routes/route-1/oauth", {
            "provider": {"provider_a": {"teams": ["acme/ops"]}}}))
        self.assertEqual(self.ask(self.modules).splitlines(), [
            "{ca-1}", "1||{}|{}|{}|{acme/ops}|{}|f||0|0|0"])

    def test_what_the_role_may_not(self):
        """The role reads no secret and changes nothing."""
        for sql in ("SELECT client_secret_sealed FROM adit.oauth_module",
                    "SELECT * FROM adit.api_key", "DELETE FROM adit.ssh_credential"):
            with self.subTest(sql):
                self.assertIn("42501", self.stack.psql_run(sql, ROLE).stderr)

    @contextlib.contextmanager
    def program(self):
        """The program runs, and has polled once."""
        [program] = blocks("Your own gateway, by SQL", "python")
        conninfo = "host=%s port=%s dbname=%s user=%s" % (
            *(self.stack.env[name] for name in ("PGHOST", "PGPORT", "PGDATABASE")), ROLE)
        with tempfile.NamedTemporaryFile("r") as self.said, open(self.said.name, "w") as output, \
                subprocess.Popen([PYTHON, "-c", program, conninfo], env=stack.CLEAN_ENV, cwd="/",
                                 stdin=subprocess.DEVNULL, stdout=output,
                                 stderr=subprocess.STDOUT) as process:
            try:
                self.wait_for(1)
                yield process
            finally:
                process.kill()

    def wait_for(self, n):
        until(lambda: len(self.printed()) == n, "%d lines of the program" % n)

    def pid_of(self, condition):
        """Returns the process of PostgreSQL for which this holds."""
        return int(self.stack.psql("SELECT pid FROM pg_stat_activity WHERE " + condition))

    def test_program(self):
        """The program prints each change once, and begins anew after it lost its connection."""
        with self.program():
            path = "/ssh_credentials/" + self.credential["id"]
            self.assert_ok(self.admin.patch(path, {"acl": ["*"]}))
            self.wait_for(2)
            self.stack.psql("SELECT pg_terminate_backend(%d)" % self.pid_of(
                "usename = '%s'" % ROLE))
            self.wait_for(3)
            self.assert_ok(self.admin.delete(path), 204)
            self.wait_for(4)
            printed = self.printed()
        ident = self.credential["id"]
        self.assertEqual(printed, [
            "read everything anew",
            "ssh_credential_updated %s ('%s', ['*'])" % (ident, self.fingerprint),
            "read everything anew",
            "ssh_credential_deleted %s None" % ident])

    def test_program_after_a_crash(self):
        """PostgreSQL restarts all sessions, and the program goes on."""
        with self.program() as process:
            # A killed session ends differently: the driver raises an error of another class.
            os.kill(self.pid_of("backend_type = 'checkpointer'"), signal.SIGKILL)
            self.wait_for(2)
            self.assertEqual(self.printed(), ["read everything anew"] * 2)
            self.assertIsNone(process.poll())
        until_back(lambda: self.admin.get("/ssh_credentials").status == 200)

    def printed(self):
        """The lines about this test's credential, and the one that all has to be read."""
        self.said.seek(0)
        return [line for line in self.said.read().splitlines()
                if line.startswith("read") or self.credential["id"] in line]

    def test_decision(self):
        issue, ask = blocks("Your own gateway, over HTTP", "sh")
        script = "%s\n%s" % (issue.replace("ac_...", self.home.id),
                             ask.replace("SHA256:...", self.fingerprint))
        with tempfile.TemporaryDirectory() as home:
            done = stack.run(["bash", "-eu", "-c", script], env=dict(
                stack.CLEAN_ENV, HOME=home, ADITCTL=self.stack.env["ADITCTL"],
                ADIT_URL=self.stack.url, ADIT_CONF=self.stack.conf_path))
        listed, brace, answer = done.stdout.partition("{")
        self.assertIn(self.home.id, listed)
        answer = json.loads(brace + answer)
        self.assertEqual((answer["permitted"], answer["rule"], answer["acl"]), (True, ACL[0], ACL))
        self.assertEqual([ref["id"] for ref in answer["credentials"]], [self.credential["id"]])
