# SPDX-License-Identifier: MIT
"""aditctl --json: every command prints one JSON object.  aditctl's line of progress."""
import contextlib
import json
import os
import re
import socket
import subprocess
import threading

from adit import samples, stack
from adit.reference import openapi
from test_aditctl import COMMANDS, CREDENTIALS, KEY, CtlCase

FINGERPRINT = "SHA256:" + 43 * "A"
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"


class JsonCase(CtlCase):
    def shown(self, *words, status=0, **options):
        """The object that a command prints with --json, and nothing else."""
        done = self.stack.ctl_run(*words, "--json", **options)
        self.assertEqual(done.returncode, status, done)
        value = json.loads(done.stdout)
        self.assertIsInstance(value, dict)
        return value

    @contextlib.contextmanager
    def settings(self, **lines):
        """A copy of the settings with other values: section.key=value."""
        path = os.path.join(self.stack.folder, "json.conf")
        with open(self.stack.conf_path, encoding="utf-8") as file:
            text = file.read()
        for name, value in lines.items():
            section, key = name.split("__")
            text = re.sub(r"(?m)^%s *=.*\n" % key, "", text) if "[%s]" % section in text else \
                text + "\n[%s]\n" % section
            text = text.replace("[%s]\n" % section, "[%s]\n%s = %s\n" % (section, key, value), 1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        yield path

    @contextlib.contextmanager
    def gateway(self, answer):
        """A daemon that gives this answer to each question.  Yields the settings."""
        path = os.path.join(self.stack.folder, "gateway.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()

            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        with listener.accept()[0] as asker:
                            while asker.recv(4096):
                                pass
                            asker.sendall(answer.encode())

            thread = threading.Thread(target=serve)
            thread.start()
            try:
                with self.settings(gateway__socket=path) as conf:
                    yield conf
            finally:
                listener.shutdown(socket.SHUT_RDWR)
                thread.join()
                os.unlink(path)


class Everything(JsonCase):
    def calls(self):
        """A call of each command that succeeds: its words after the command."""
        key_id = json.loads(self.ctl("key", "issue", "--for", self.home.admin.id,
                                     "--json").stdout)["id"]
        document = os.path.join(self.stack.folder, "json-openapi.json")
        with open(document, "w", encoding="utf-8") as file:
            file.write(openapi.make())
        exported = os.path.join(self.stack.folder, "json-exported.json")
        with open(exported, "w", encoding="utf-8") as file:
            file.write(self.ctl("export", "--account", self.home.id).stdout)
        state = os.path.join(self.stack.folder, "json-state.json")
        with open(state, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "accounts": [{"id": self.home.id}]}, file)
        account = ["--account", self.home.id]
        own = self.ctl("account", "create").stdout.strip()
        user, bot, leaving = (self.ctl(noun, "create", "--account", own).stdout.strip()
                              for noun in ("user", "bot", "user"))
        calls = {
            "migrate": [], "account create": [], "account list": [],
            "account rename": [own, "--name", "x"], "account delete": [
                self.ctl("account", "create").stdout.strip()],
            "key issue": ["--for", self.home.admin.id], "key list": [], "key revoke": [key_id],
            "permits": [FINGERPRINT, "a.example"], "who": ["a.example"], "session list": [],
            "session end": ["1"], "secrets init": [], "secrets add-key": [],
            "secrets rekey": [], "export": account, "diff": [exported], "apply": [exported],
            "history": [key_id], "restore": [self.home.admin.id, "--at", self.now(), "--yes"],
            "purge": [], "openapi": [document], "doctor": [], "web-server": ["nginx"],
            "gateway-config": ["haproxy"],
        }
        for noun, holder, gone in (("user", user, leaving), (
                "bot", bot, self.ctl("bot", "create", "--account", own).stdout.strip())):
            calls |= {noun + " create": account, noun + " list": [], noun + " show": [holder],
                      noun + " rename": [holder, "--name", "x"], noun + " disable": [holder],
                      noun + " enable": [holder], noun + " delete": [gone, "--give-to", holder]}
        return calls

    def now(self):
        return self.stack.psql("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")

    def test_every_command(self):
        calls = self.calls()
        self.assertEqual(sorted(calls), sorted(COMMANDS), "this test has a call of each command")
        new_key = os.path.join(self.stack.folder, "json.key")
        for command, words in calls.items():
            with self.subTest(command), contextlib.ExitStack() as kept:
                options = {}
                if command.startswith("session"):
                    options["conf"] = kept.enter_context(self.gateway("ok\n.\n"))
                elif command in ("secrets init", "secrets add-key"):
                    options["conf"] = kept.enter_context(self.settings(secrets__key_file=new_key))
                elif command == "gateway-config":
                    options["conf"] = kept.enter_context(self.settings(mutual_tls__edges="e1"))
                self.shown(*command.split(), *words, **options,
                           status=1 if command == "permits" else 0)

    def test_in_front_of_the_command(self):
        done = stack.run([self.stack.env["ADITCTL"], "--json", "-c", self.stack.conf_path,
                          "account", "list"])
        self.assertIn("accounts", json.loads(done.stdout))

    def test_failures_are_text(self):
        for words, status in ((["key", "revoke", samples.unknown_id("ak")], 1),
                              (["key", "revoke", "a b"], 2), (["key", "revoke"], 2),
                              (["permits", "x", "a.example"], 2), (["nonsense"], 2)):
            with self.subTest(" ".join(words)):
                done = self.stack.ctl_run("--json", *words)
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertTrue(done.stderr.startswith("aditctl: "), done.stderr)


class Values(JsonCase):
    """The members, and that they say what the table says."""

    def table(self, noun):
        names, *rows = [line.split("\t") for line in self.ctl(noun, "list").stdout.splitlines()]
        return [dict(zip(names, row)) for row in rows]

    @staticmethod
    def cell(value):
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "-" if value is None else re.sub("[\0-\x1f\x7f]", "?", str(value))

    def test_lists(self):
        account = self.shown("account", "create", "--name", 'Größe "x"\\')["id"]
        user = self.shown("user", "create", "--account", account, "--admin")["id"]
        self.shown("bot", "create", "--account", account, "--name", "b")
        key = self.shown("key", "issue", "--for", user, "--expires", "1d", "--read-only")
        self.assertEqual((list(key), key["holder_id"]), (["id", "holder_id", "key"], user))
        self.assertRegex(key["key"], "^%s$" % KEY)
        self.assertEqual(self.shown("key", "revoke", key["id"]), {"id": key["id"]})
        for noun, name, members in (
                ("account", "accounts", {"ID": "id", "CREATED": "created_at", "NAME": "name"}),
                ("user", "users", {"ID": "id", "ACCOUNT": "account_id", "ADMIN": "admin",
                                   "KEYS": "valid_keys", "CREATED": "created_at",
                                   "NAME": "name"}),
                ("key", "api_keys", {"ID": "id", "ACCOUNT": "account_id", "HOLDER": "holder_id",
                                     "STATE": "state", "MODE": "mode", "CREATED": "created_at",
                                     "EXPIRES": "expires_at", "DESCRIPTION": "description"})):
            with self.subTest(noun):
                rows = self.shown(noun, "list")
                self.assertEqual(list(rows), [name])
                as_table = [{heading: self.cell(row[members[heading]]) for heading in members}
                            for row in rows[name]]
                self.assertEqual(as_table, [{heading: row[heading] for heading in members}
                                            for row in self.table(noun)])
        found = {row["id"]: row for row in self.shown("account", "list")["accounts"]}[account]
        self.assertEqual(found["name"], 'Größe "x"\\')
        self.assertRegex(found["created_at"], TIME)
        found = {row["id"]: row for row in self.shown("user", "list")["users"]}[user]
        self.assertEqual((found["admin"], found["valid_keys"]), (True, 0))

    def test_controls_in_a_name(self):
        account = self.shown("account", "create")["id"]
        self.stack.psql("UPDATE adit.account SET name = E'a\\tb\\n\\x1b[2J' WHERE id = '%s'"
                        % account)
        rows = {row["id"]: row["name"] for row in self.shown("account", "list")["accounts"]}
        self.assertEqual(rows[account], "a\tb\n\x1b[2J")
        self.ctl("account", "rename", account, "--name", "plain")  # no document may have that

    def test_rules(self):
        account = self.stack.account("json")
        client = self.stack.client(account.admin.key)
        made = self.assert_ok(client.post("/ssh_credentials", samples.credential(
            public_key=samples.generate("-t", "ed25519")[1], acl=["bind:json.example"])), 201)
        free = self.assert_ok(client.post("/ssh_credentials", samples.credential(
            public_key=samples.generate("-t", "ed25519")[1])), 201)
        rows = self.shown("who", "json.example", "--account", account.id)["credentials"]
        self.assertEqual([(row["id"], row["account_id"], row["owner_id"], row["rule"])
                          for row in rows],
                         [(made["id"], account.id, account.admin.id, "bind:json.example"),
                          (free["id"], account.id, account.admin.id, None)])
        verdict = self.shown("permits", rows[0]["fingerprint"], "json.example")
        self.assertEqual((verdict["permitted"], verdict["credentials_with_key"],
                          [row["id"] for row in verdict["credentials"]]), (True, 1, [made["id"]]))
        verdict = self.shown("permits", rows[0]["fingerprint"], "json.example:8443", status=1)
        self.assertEqual(verdict, {
            "credentials": [], "permitted": False, "fingerprint": rows[0]["fingerprint"],
            "credentials_with_key": 1, "rule_for_name": "bind:json.example"})
        self.assertEqual(self.shown("who", "nobody.example", "--account", account.id), {
            "credentials": [dict(rows[1])]})

    def test_sessions(self):
        line = "7\t0\t%s\tac_1\tsshcr_1,sshcr_2\n" % FINGERPRINT
        with self.gateway("ok\n%s.\n" % line) as conf:
            self.assertEqual(self.shown("session", "list", conf=conf), {"sessions": [{
                "pid": 7, "since": "1970-01-01T00:00:00Z", "fingerprint": FINGERPRINT,
                "account_id": "ac_1", "credential_ids": ["sshcr_1", "sshcr_2"]}]})
            self.assertEqual(self.shown("session", "end", "7", conf=conf), {"pid": 7})

    def test_doctor(self):
        found = self.shown("doctor")
        lines = [line.split(None, 2) for line in self.ctl("doctor").stdout.splitlines()]
        self.assertEqual(list(found), ["findings", "troubles"])
        self.assertEqual(found["troubles"], 0)
        self.assertEqual([[row["level"], row["check"]] for row in found["findings"]],
                         [line[:2] for line in lines])
        with self.settings(secrets__key_file="/nonexistent") as conf:
            found = self.shown("doctor", conf=conf, status=1)
        troubles = [row["check"] for row in found["findings"] if row["level"] == "trouble"]
        self.assertEqual(troubles[0], "secrets")
        self.assertEqual(len(troubles), found["troubles"])

    def test_work(self):
        self.assertEqual(self.shown("migrate")["applied"], [])
        self.assertEqual(self.shown("purge"), {"idempotency_keys": 0, "audit_events": None})
        self.assertEqual(self.shown("purge", "--audit-days", "36500"),
                         {"idempotency_keys": 0, "audit_events": 0})
        self.shown("secrets", "rekey")  # other tests leave secrets under older keys
        done = self.shown("secrets", "rekey")
        self.assertEqual((done["sealed"], done["damaged"]), (0, 0))

    def test_files(self):
        for words in (["web-server", "nginx"], ["gateway-config", "sshd"]):
            with self.subTest(words[0]):
                self.assertEqual(self.shown(*words), {"configuration": self.ctl(*words).stdout})


class Progress(CtlCase):
    """A lock on a table makes commands wait."""

    def on_terminal(self, table, *words, shows=True, stdout=None, term="xterm"):
        """What a command shows on a terminal that is its standard error, while it waits for the table:
        until it shows that it waits, or for more than a second."""
        ours, theirs = os.openpty()
        with subprocess.Popen(["psql", "-X", "-q"], env=self.stack.pg_env(), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as locker:
            print("BEGIN; LOCK adit.%s;\n\\echo locked" % table, file=locker.stdin, flush=True)
            self.assertEqual(locker.stdout.readline(), "locked\n")
            with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, *words],
                                  stdin=subprocess.DEVNULL, stdout=stdout or theirs, stderr=theirs,
                                  env=dict(stack.CLEAN_ENV, TERM=term)) as process:
                os.close(theirs)
                # A command that never waits for the table gets an end after half a minute.
                print("DO $$BEGIN FOR i IN 1..3000 LOOP EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE"
                      " relation = 'adit.%s'::regclass AND NOT granted); PERFORM pg_sleep(0.01);"
                      " END LOOP; PERFORM pg_sleep(1.1); END$$;" % table,
                      file=locker.stdin, flush=True)
                shown = b""
                with contextlib.suppress(OSError):
                    while shows and b"waiting" not in shown and (piece := os.read(ours, 4096)):
                        shown += piece
                    print("COMMIT;", file=locker.stdin, flush=True)
                    while piece := os.read(ours, 4096):
                        shown += piece
            locker.communicate()
        os.close(ours)
        self.assertEqual(process.returncode, 0, shown)
        return shown.decode()

    def test_shown_and_erased(self):
        account = self.stack.account("progress")
        gone, owner = account.person("user"), account.person("user")
        self.assert_ok(self.stack.client(owner.key).post(CREDENTIALS, samples.credential()), 201)
        words = ["who", "nobody.example", "--account", account.id]
        with open(os.devnull, "wb") as nothing:
            for table, words, options, counted in (
                    ("ssh_credential", words, {"stdout": nothing}, "credentials read"),
                    ("ssh_credential", [*words, "--json"], {"stdout": nothing}, None),
                    ("ssh_credential", words, {"term": "dumb"}, None),
                    ("ssh_credential", ["export", "--account", account.id], {"stdout": nothing},
                     "entries written"),
                    ("audit_event", ["history", "--account", account.id, "--since", "1d"],
                     {"stdout": nothing}, "events read"),
                    ("ssh_credential", ["user", "delete", gone.id], {}, "")):
                with self.subTest("%s %s" % (words, options)):
                    shown = self.on_terminal(table, *words, shows=counted is not None, **options)
                    if counted is None:
                        self.assertNotIn("\x1b", shown)
                        continue
                    lines = "waiting for the database, [0-9] s", counted, "deleted " + gone.id
                    self.assertRegex(shown.replace("\r\x1b[K", "|"),
                                     r"^(\|%s)+\|(\|\d+ %s)*(\|$|%s)" % lines)
                    self.assertIn(counted, shown)

    def test_only_a_terminal(self):
        done = self.ctl("who", "nobody.example", "--account", self.stack.account().id)
        self.assertEqual(done.stderr, "")
