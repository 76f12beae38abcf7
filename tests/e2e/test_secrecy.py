# SPDX-License-Identifier: MIT
"""Places that must not contain secrets: tables, logs, errors (sections 3, 5, 6 and 8)."""
import os
import shutil
import signal
import socket
import subprocess

from adit import samples, stack
from adit.case import Case, until

CREDENTIALS = "/ssh_credentials"


class Secrecy(Case):
    """A stack whose programs log as much as they can."""

    stack_name = "secrecy"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.set_conf("log", "level", "debug")
        cls.stack.psql("ALTER SYSTEM SET log_statement = 'mod';"
                       "ALTER SYSTEM SET log_min_error_statement = 'info';"
                       "ALTER SYSTEM SET log_error_verbosity = 'verbose';")
        cls.stack.restart()

    def assert_nowhere(self, *secrets):
        dump = self.stack.dump(whole=True).encode()
        for secret in secrets:
            variants = {secret.encode(), secret.encode().hex().encode()}
            for variant in variants:
                self.assertNotIn(variant, dump, "a table contains it")
                for name, text in self.stack.logs().items():
                    if name.endswith("first-key"):
                        continue
                    self.assertNotIn(variant, text, "in " + name)

    def assert_not_in_files(self, secret):
        """Checks the database's files, with deleted rows and the write-ahead log."""
        self.stack.psql("CHECKPOINT")
        n_files = 0
        for folder, _, names in os.walk(os.path.join(self.stack.state, "data")):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        self.assertNotIn(secret.encode(), file.read(), name)
                except FileNotFoundError:
                    continue  # the server has removed the file
                n_files += 1
        self.assertGreater(n_files, 100)

    def test_logs_are_there(self):
        """Shows that the logs exist.  Otherwise the other tests would find nothing in any case."""
        answer = self.admin.get(CREDENTIALS + "?x=1")
        operation_id = answer.json["details"]["operation_id"].encode()
        self.assertTrue(any(operation_id in text for text in self.stack.logs().values()))

    def test_client_secret(self):
        secret = "s3cr3t-" + samples.unknown_id()
        config = {"client_id": "id", "client_secret": secret}
        route = "/edges/https/secret/routes/r/oauth"
        stored = self.assert_ok(self.admin.put(route, {"provider": {"provider_a": config}}))
        self.assertEqual(stored["provider"]["provider_a"]["client_secret"], secret)
        for body in ({"provider": {"provider_a": {"client_secret": secret}}},
                     {"provider": {"provider_a": {**config, "scopes": [""]}}},
                     {"provider": {"provider_a": {**config, "x": 1}}},
                     {"provider": {"provider_a": config, "provider_b": config}},
                     {"provider": {"provider_a": {"client_secret": secret * 40}}},
                     {"provider": {"provider_a": {"client_secret": [secret]}}}):
            answer = self.admin.put(route, body)
            self.assertEqual(answer.status, 400)
            self.assertNotIn(secret.encode(), answer.body)
        self.assert_nowhere(secret)
        # A statement that fails in the database, which may then log it.
        self.stack.psql("ALTER TABLE adit.oauth_module ADD CONSTRAINT e2e CHECK (false) NOT VALID")
        try:
            answer = self.admin.put(route, {"provider": {"provider_a": config}})
            self.assert_error(answer, 10000)
            self.assertNotIn(secret.encode(), answer.body)
        finally:
            self.stack.psql("ALTER TABLE adit.oauth_module DROP CONSTRAINT e2e")
        self.assert_nowhere(secret)
        self.assert_ok(self.admin.delete(route), 204)
        self.assert_nowhere(secret)
        self.assert_not_in_files(secret)

    def test_sealed_differently_each_time(self):
        body = {"provider": {"provider_a": {"client_id": "id", "client_secret": "same"}}}
        seen = set()
        for _ in range(4):
            self.assert_ok(self.admin.put("/edges/https/seal/routes/r/oauth", body))
            seen.add(self.stack.psql("SELECT encode(client_secret_sealed, 'hex')"
                                     " FROM adit.oauth_module WHERE edge_id = 'seal'"))
        self.assertEqual(len(seen), 4)

    def test_api_keys(self):
        key = self.home.admin.issue()
        client = self.stack.client(key)
        self.assert_ok(client.get(CREDENTIALS))
        self.assert_ok(client.post(CREDENTIALS, samples.credential()), 201)
        unknown = samples.well_formed_key()
        for value in (key, unknown):
            for shown in ("Bearer " + value, "Basic " + value, value, "Bearer %sx" % value):
                answer = self.nobody.call("GET", CREDENTIALS, more=[("Authorization", shown)])
                if answer.status >= 400:
                    self.assertNotIn(value.encode(), answer.body)
        self.assert_nowhere(key, key[5:48], unknown, unknown[5:48])

    def test_private_keys(self):
        private, _ = samples.generate("-t", "ed25519")
        rsa, _ = samples.generate("-t", "rsa", "-b", "2048", "-m", "PEM")
        for text in (private, rsa, "comment\n" + private, private.replace("\n", " ")):
            answer = self.admin.post(CREDENTIALS, samples.credential(public_key=text))
            self.assert_error(answer, 612, "public_key", "private")
            for line in text.splitlines()[1:-1]:
                self.assertNotIn(line.encode(), answer.body)
        self.assert_nowhere(*private.splitlines()[1:-1], *rsa.splitlines()[1:-1])

    def test_a_private_key_in_the_wrong_place(self):
        """An answer may quote short values of other members, but no part of a private key."""
        private, _ = samples.generate("-t", "ed25519")
        line = private.splitlines()[2]
        for body in (samples.credential(acl=[private]), {"public_key": [private]},
                     samples.credential(description=private * 2)):
            self.assertEqual(self.admin.post(CREDENTIALS, body).status, 400)
        self.assert_nowhere(line)

    def test_first_key_is_nobodys_business(self):
        mode = os.stat(os.path.join(self.stack.state, "first-key")).st_mode & 0o077
        self.assertEqual(mode, 0)
        self.assertEqual(os.stat(os.path.join(self.stack.state, "adit.key")).st_mode & 0o007, 0)

    def test_processes_show_no_secret(self):
        shown = self.stack.command_lines()
        with open(os.path.join(self.stack.state, "adit.key"), encoding="utf-8") as file:
            sealing_key = file.read().split()[1]
        self.assertNotIn(sealing_key, shown)
        self.assertNotIn(self.stack.key, shown)

    def test_cores(self):
        """A worker that dies leaves no core file, because it would contain secrets."""
        folder = self.stack.run_folder
        path = "/edges/https/cored/routes/r/oauth"
        self.assert_ok(self.admin.put(path, {"provider": {"provider_b": {
            "client_id": "app", "client_secret": "in memory just now"}}}))
        # For comparison: the same limits and signal on an ordinary program.
        master, workers = self.stack.responder()
        for pid in (master, *workers):
            with open("/proc/%d/limits" % pid, encoding="utf-8") as file:
                limit = next(line.split()[4:6] for line in file if line.startswith("Max core"))
            self.assertIn(limit, (["1", "1"], ["0", "0"]))
        script = ("cd %s && ulimit -c unlimited && exec %s -c %s --listen unix:%s/core.sock"
                  % (folder, os.path.join(self.stack.state, "bin", "adit.fcgi"),
                     self.stack.conf_path, folder))
        for program, sock, wanted in (("exec sleep 60", None, True), (None, "core.sock", False)):
            if program:
                program = "cd %s && ulimit -c unlimited && %s" % (folder, program)
            before = set(os.listdir(folder))
            process = subprocess.Popen(["bash", "-c", program or script],
                                       stderr=subprocess.DEVNULL)
            try:
                if sock:
                    until(lambda: sock in os.listdir(folder), "a responder")
                else:
                    until(lambda: b"sleep" in open("/proc/%d/comm" % process.pid, "rb").read(),
                          "a program")
            finally:
                process.send_signal(signal.SIGABRT)
                process.wait(60)
            cores = [name for name in set(os.listdir(folder)) - before if name != sock]
            with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
                makes_files = not file.read().startswith(("|", "/"))
            self.assertEqual(bool(cores), wanted and makes_files, cores)
            for name in cores:
                os.unlink(os.path.join(folder, name))

    def test_logs_are_one_line_an_event(self):
        """A client's bytes cannot forge a line of the log."""
        self.admin.get(CREDENTIALS + "?x%0Aforged%0D%0Alevel=error=1")
        self.admin.get("/edges/tls/a%0Aforged/mutual_tls")
        self.admin.send("FORGED", "/edges/tls/a%0Aforged%1b[31m/mutual_tls")
        for name, text in self.stack.logs().items():
            if "responder" in name:
                for line in text.splitlines():
                    self.assertFalse(line.startswith((b"forged", b"level=error=1")), line)
                self.assertNotIn(b"\x1b", text)


class ClosedOutput(Case):
    """No file or connection gets the number of a closed standard descriptor, and its output."""

    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def socket(self, name, kind):
        made = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(made.close)
        made.bind(self.path(name))
        made.settimeout(stack.START_TIMEOUT_S)
        return made

    @staticmethod
    def closed(*command):
        return ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]

    def test_aditctl(self):
        count = "SELECT count(*) FROM adit.api_key"
        before = self.stack.psql(count)
        done = stack.run(["sh", "-c", '"$@" >&-', "sh", self.stack.env["ADITCTL"], "-c",
                          self.stack.conf_path, "key", "issue", "--for", self.home.admin.id],
                         check=False)
        self.assertEqual((done.returncode, done.stderr), (
            1, "aditctl: cannot write to standard output: Bad file descriptor; nothing was"
            " changed\n"))
        self.assertEqual(self.stack.psql(count), before)

    def test_services(self):
        with open(self.path("conf"), "w", encoding="utf-8") as file:
            file.write("[database]\nconninfo = host=/nonexistent\n[gateway]\nsocket = %s\n"
                       "state = %s\n" % (self.path("gateway"), self.path("state")))
        systemd = self.socket("notify", socket.SOCK_DGRAM)
        for name, options in (
                ("adit.fcgi", [self.stack.conf_path, "--listen", "unix:" + self.path("fcgi")]),
                ("adit-gateway", [self.path("conf")])):
            with self.subTest(name), subprocess.Popen(
                    self.closed(os.path.join(stack.BUILD, name), "-c", *options),
                    env={**stack.CLEAN_ENV, "NOTIFY_SOCKET": self.path("notify")}) as process:
                try:
                    self.assertEqual(systemd.recv(100), b"READY=1")
                    for number in range(3):
                        self.assertRegex(os.readlink("/proc/%d/fd/%d" % (process.pid, number)),
                                         "^pipe:")
                finally:
                    process.terminate()

    def test_ssh_keys(self):
        """The gateway would get the line, and sshd would take the missing one for an answer."""
        gateway = self.socket("gateway", socket.SOCK_STREAM)
        gateway.listen()
        with subprocess.Popen(self.closed(
                os.path.join(stack.BUILD, "adit-ssh-keys"), "--socket", self.path("gateway"),
                "user", "SHA256:x", "ssh-ed25519", "AAAA"), env=stack.CLEAN_ENV) as process:
            asking, _ = gateway.accept()
            with asking:
                asking.recv(1000)
                asking.sendall(b"ok\nrestrict\n")
            self.assertEqual(process.wait(stack.START_TIMEOUT_S), 1)
