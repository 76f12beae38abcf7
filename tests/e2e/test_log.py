# SPDX-License-Identifier: MIT
"""The log's line of a request: the caller, the address, the outcome, the duration."""
import json

from adit import samples
from adit.case import Case, until

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/log/routes/log/oauth"
COMMON = {"time", "level", "event", "operation_id", "method", "status", "duration_ms",
          "client_address"}
WHO = {"api_key_id", "account_id"}
FAULT = {"error", "number"}


class Log(Case):
    stack_name = "log"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.set_conf("log", "level", "debug")
        cls.stack.restart()

    def find(self, operation_id):
        for text in self.stack.logs().values():
            for line in text.splitlines():
                if operation_id.encode() in line and line.startswith(b'{"time"'):
                    return json.loads(line)
        return None

    def logged(self, answer):
        """The only event of the answer's operation.  Checks the members that every event has."""
        operation_id = answer.header("Service-Operation-Id")
        event = until(lambda: self.find(operation_id), "an event of " + operation_id)
        self.assertEqual((event["event"], event["client_address"], event["status"]),
                         ("request", "127.0.0.1", str(answer.status)), event)
        self.assertLess(int(event["duration_ms"]), 5000)
        return event

    def key_id(self, key):
        return self.stack.psql("SELECT id FROM adit.api_key WHERE digest = sha256('%s')" % key)

    def assert_logged(self, answer, level, number, members, key=None):
        event = self.logged(answer)
        self.assertEqual(set(event), COMMON | members, event)
        self.assertEqual((event["level"], event.get("number")), (level, number))
        if key:
            self.assertEqual((event["api_key_id"], event["account_id"]),
                             (self.key_id(key), self.home.id))

    def test_members(self):
        reader, admin = self.home.read_only_key, self.home.admin.key
        member = samples.credential(owner_id=self.home.admin.id)
        path = {"route"}
        for name, answer, level, number, members, key in (
                ("done", self.admin.get(CREDENTIALS), "debug", None, path | WHO, admin),
                ("changed", self.admin.put(OAUTH, {}), "debug", None, path | WHO, admin),
                ("missing", self.admin.get(CREDENTIALS + "/x"), "debug", "9002",
                 path | WHO | FAULT, admin),
                ("refused input", self.admin.put(OAUTH, {"x": 1}), "debug", "214",
                 path | WHO | FAULT, admin),
                ("a read-only key writes", self.reader.put(OAUTH, {}), "warning", "9005",
                 path | WHO | FAULT, reader),
                ("an owner", self.member.post(CREDENTIALS, member), "warning", "630",
                 path | WHO | FAULT, self.home.member.key),
                ("no key", self.nobody.get(CREDENTIALS), "warning", "200", path | FAULT, None),
                ("a malformed key", self.stack.client("x").get(CREDENTIALS), "warning", "202",
                 path | FAULT, None),
                ("an unknown key", self.stack.client(samples.well_formed_key()).get(CREDENTIALS),
                 "warning", "203", path | FAULT, None),
                ("no such path", self.admin.get("/nothing"), "debug", "9000", FAULT, None),
                ("public", self.nobody.get("/readyz"), "debug", None, path, None)):
            with self.subTest(name):
                self.assert_logged(answer, level, number, members, key)

    def test_fault_of_the_service(self):
        self.stack.psql("ALTER TABLE adit.oauth_module ADD CONSTRAINT broken CHECK (false)"
                        " NOT VALID")
        try:
            answer = self.admin.put(OAUTH, {})
        finally:
            self.stack.psql("ALTER TABLE adit.oauth_module DROP CONSTRAINT broken")
        # The failed statement returned no caller, so the log names none.
        self.assert_logged(answer, "error", "10000", FAULT | {"route", "cause"})
