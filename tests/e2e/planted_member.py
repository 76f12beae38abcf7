# SPDX-License-Identifier: MIT
"""The members of credentials that tests/planted/plant.py adds, in each way there is."""
import json
import os
import urllib.parse

from adit import samples, stack
from adit.case import Case

CREDENTIALS = "/ssh_credentials"


class Planted(Case):
    stack_name = "aditctl"

    def setUp(self):
        self.account = self.stack.account("planted")
        self.client = self.stack.client(self.account.admin.key)

    def post(self, **members):
        return self.assert_ok(self.client.post(CREDENTIALS, samples.credential(**members)), 201)

    def shown(self, made):
        return self.assert_ok(self.client.get(CREDENTIALS + "/" + made["id"]))["planted"]

    def document(self, text):
        path = os.path.join(stack.make_folder(), "document.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_bodies(self):
        made = self.post(planted="one")
        self.assertEqual(made["planted"], "one")
        self.assertEqual(self.post()["planted"], "")
        path = CREDENTIALS + "/" + made["id"]
        self.assertEqual(self.assert_ok(self.client.patch(path, {"metadata": "m"}))["planted"], "one")
        self.assertEqual(self.assert_ok(self.client.patch(path, {"planted": "two"}))["planted"], "two")
        self.assertEqual(self.assert_ok(self.client.patch(
            path, {"planted": "three"}, more=[("If-Match", self.client.get(path).header("ETag"))]))["planted"],
                         "three")
        self.assertEqual(self.shown(made), "three")
        self.assertEqual(self.client.patch(path, {"planted": "x" * 101}).status, 400)

    def test_other_kinds(self):
        """A PATCH keeps what it leaves out; a null is a value for a time alone."""
        def kinds(credential):
            return [credential[name] for name in ("paused", "weight", "ends_at")]
        made = self.post(paused=True, weight=7, ends_at="2030-01-02T03:04:05Z")
        path = CREDENTIALS + "/" + made["id"]
        self.assertEqual(kinds(made), [True, 7, "2030-01-02T03:04:05Z"])
        self.assertEqual(kinds(self.post()), [False, 0, None])
        for body, wanted in [({"metadata": "m"}, [True, 7, "2030-01-02T03:04:05Z"]),
                             ({"paused": False}, [False, 7, "2030-01-02T03:04:05Z"]),
                             ({"weight": 0, "paused": None}, [False, 0, "2030-01-02T03:04:05Z"]),
                             ({"ends_at": "2031-01-02T03:04:05Z"}, [False, 0, "2031-01-02T03:04:05Z"]),
                             ({"ends_at": None}, [False, 0, None])]:
            self.assertEqual(kinds(self.assert_ok(self.client.patch(path, body))), wanted, body)
            self.assertEqual(kinds(self.assert_ok(self.client.get(path))), wanted, body)
        match = [("If-Match", self.client.get(path).header("ETag"))]
        self.assertEqual(kinds(self.assert_ok(self.client.patch(path, {"weight": 3}, more=match))), [False, 3, None])
        for body in ({"ends_at": "soon"}, {"ends_at": 5}, {"weight": -1}, {"paused": 1}):
            self.assertEqual(self.client.patch(path, body).status, 400, body)

    def test_record_of_other_kinds(self):
        made = self.post(ends_at="2030-01-02T03:04:05Z")
        self.assert_ok(self.client.patch(CREDENTIALS + "/" + made["id"], {"ends_at": None, "weight": 7}))
        [event] = self.assert_ok(self.client.get("/audit_events?limit=1"))["audit_events"]
        self.assertEqual(sorted(event["changed"]), ["ends_at", "weight"])
        self.assertEqual((event["before"]["ends_at"], event["after"]["ends_at"]), ("2030-01-02T03:04:05Z", None))
        exported = self.stack.ctl("export", "--account", self.account.id)
        self.stack.ctl("restore", "--event", event["id"], "--yes")
        self.assertEqual(self.assert_ok(self.client.get(CREDENTIALS + "/" + made["id"])), made)
        diff = self.stack.ctl_run("diff", self.document(exported)).stdout
        self.assertIn("weight: 0 -> 7", diff)
        self.assertIn('ends_at: "2030-01-02T03:04:05Z" -> null', diff)
        self.stack.ctl("apply", "--yes", self.document(exported))
        self.assertEqual(self.assert_ok(self.client.get(CREDENTIALS + "/" + made["id"]))["weight"], 7)

    def test_idempotency_key(self):
        body, once = samples.credential(planted="one"), [("Idempotency-Key", "planted")]
        answers = [self.assert_ok(self.client.post(CREDENTIALS, body, more=once), 201) for _ in range(2)]
        self.assertEqual(answers[0], answers[1])
        self.assertEqual(answers[1]["planted"], "one")

    def test_lists_and_filters(self):
        made = self.post(planted="one")
        self.post(planted="two")
        page = self.assert_ok(self.client.get(CREDENTIALS + "?filter=" + urllib.parse.quote(
            'obj.planted == "one"')))["ssh_credentials"]
        self.assertEqual(page, [made])

    def test_record(self):
        made = self.post(planted="one")
        self.assert_ok(self.client.patch(CREDENTIALS + "/" + made["id"], {"planted": "two"}))
        [event] = self.assert_ok(self.client.get("/audit_events?limit=1"))["audit_events"]
        self.assertEqual(event["changed"], ["planted"])
        self.assertEqual((event["before"]["planted"], event["after"]["planted"]), ("one", "two"))

    def test_document(self):
        made = self.post(planted="one")
        exported = self.stack.ctl("export", "--account", self.account.id)
        [stored] = json.loads(exported)["accounts"][0]["ssh_credentials"]
        self.assertEqual(stored["planted"], "one")
        changed = self.document(exported.replace('"one"', '"two"'))
        self.assertIn('planted: "one" -> "two"', self.stack.ctl_run("diff", changed).stdout)
        self.stack.ctl("apply", "--yes", changed)
        self.assertEqual(self.shown(made), "two")

    def test_undo(self):
        made = self.post(planted="one")
        self.assert_ok(self.client.patch(CREDENTIALS + "/" + made["id"], {"planted": "two"}))
        [event] = self.assert_ok(self.client.get("/audit_events?limit=1"))["audit_events"]
        self.stack.ctl("restore", "--event", event["id"], "--yes")
        self.assertEqual(self.shown(made), "one")
        self.assertEqual(self.client.delete(CREDENTIALS + "/" + made["id"]).status, 204)
        [event] = self.assert_ok(self.client.get("/audit_events?limit=1"))["audit_events"]
        self.stack.ctl("restore", "--event", event["id"], "--yes")
        self.assertEqual(self.shown(made), "one")

    def test_column_that_no_code_knows(self):
        made = self.post()
        where = " WHERE id = '%s'" % made["id"]
        self.stack.psql("UPDATE adit.ssh_credential SET unknown_column = 'kept'" + where)
        for change in ("UPDATE adit.ssh_credential SET unknown_column = 'lost'", "DELETE FROM adit.ssh_credential"):
            self.stack.psql(change + where)
            [event] = self.assert_ok(self.client.get("/audit_events?limit=1"))["audit_events"]
            self.stack.ctl("restore", "--event", event["id"], "--yes")
            self.assertEqual(self.stack.psql("SELECT unknown_column FROM adit.ssh_credential" + where), "kept")
