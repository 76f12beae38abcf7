# SPDX-License-Identifier: MIT
"""The fourth resource, which tests/planted/plant.py adds, in each way there is."""
import json
import os
import urllib.parse

from adit import stack
from adit.case import Case

PATH = "/edges/https/e1/routes/%s/planted"
DEFAULTS = {"enabled": True, "labels": [], "hops": 0, "begins_at": None}
FULL = {"enabled": False, "labels": ["a", "b"], "hops": 3, "begins_at": "2030-01-02T03:04:05Z"}


class PlantedResource(Case):
    stack_name = "aditctl"

    def setUp(self):
        self.account = self.stack.account("planted")
        self.client = self.stack.client(self.account.admin.key)

    def put(self, route, body, **options):
        return self.assert_ok(self.client.put(PATH % route, body, **options))

    def get(self, route):
        return self.assert_ok(self.client.get(PATH % route))

    def latest(self):
        [event] = self.assert_ok(self.client.get("/audit_events?limit=1"))["audit_events"]
        return event

    def document(self, text):
        path = os.path.join(stack.make_folder(), "document.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_bodies(self):
        self.assertEqual(self.put("r1", {}), DEFAULTS)
        self.assertEqual(self.put("r1", FULL), FULL)
        self.assertEqual(self.get("r1"), FULL)
        self.assertEqual(self.put("r1", {"edge_id": "e1", "id": "r1", "module": {"hops": 1}}), {**DEFAULTS, "hops": 1})
        for body in ({"hops": -1}, {"labels": ["a", "a"]}, {"id": "r2"}, {"x": 1}, {"begins_at": "soon"}):
            self.assertEqual(self.client.put(PATH % "r1", body).status, 400, body)

    def test_nothing_there(self):
        answer = self.client.get(PATH % "none")
        self.assertEqual(answer.status, 404)
        self.assertIn("9999", json.dumps(answer.json))
        self.assertEqual(self.client.delete(PATH % "none").status, 204)
        self.put("r1", FULL)
        self.assertEqual(self.client.delete(PATH % "r1").status, 204)
        self.assertEqual(self.client.get(PATH % "r1").status, 404)

    def test_conditions(self):
        self.put("r1", FULL)
        etag = self.client.get(PATH % "r1").header("ETag")
        self.assertEqual(self.client.get(PATH % "r1", more=[("If-None-Match", etag)]).status, 304)
        self.put("r1", {}, more=[("If-Match", etag)])
        self.assertEqual(self.client.put(PATH % "r1", {}, more=[("If-Match", etag)]).status, 412)
        self.assertEqual(self.client.delete(PATH % "r1", more=[("If-Match", etag)]).status, 412)
        self.assertEqual(self.client.put(PATH % "r1", {}, more=[("If-None-Match", "*")]).status, 412)

    def test_lists_and_filters(self):
        for route in ("r1", "r2", "r3"):
            self.put(route, {**FULL, "labels": [route]})
        first = self.assert_ok(self.client.get("/planted_modules?limit=2"))
        self.assertEqual([item["id"] for item in first["planted_modules"]], ["r1", "r2"])
        self.assertTrue(first["planted_modules"][0]["uri"].endswith(PATH % "r1"))
        self.assertIn("after_id=e1%2Fr2&limit=2", first["next_page_uri"])
        rest = self.assert_ok(self.client.get("/planted_modules?after_id=e1%2Fr2"))
        self.assertEqual([item["id"] for item in rest["planted_modules"]], ["r3"])
        self.assertIsNone(rest["next_page_uri"])
        page = self.assert_ok(self.client.get("/planted_modules?filter=" + urllib.parse.quote(
            'obj.id == "r2" && "r2" in obj.labels && !obj.enabled')))
        self.assertEqual(page["planted_modules"], [{"edge_id": "e1", "id": "r2", "uri": page["planted_modules"][0]["uri"],
                                                    **FULL, "labels": ["r2"]}])

    def test_other_accounts(self):
        self.put("r1", FULL)
        other = self.stack.client(self.stack.account("other").admin.key)
        self.assertEqual(other.get(PATH % "r1").status, 404)
        self.assertEqual(self.assert_ok(other.get("/planted_modules"))["planted_modules"], [])

    def test_record_and_undo(self):
        self.put("r1", FULL)
        self.assertEqual(self.latest()["event"], "planted_module_created")
        self.put("r1", DEFAULTS)
        event = self.latest()
        self.assertEqual((event["before"], event["after"]), (FULL, DEFAULTS))
        self.assertEqual(sorted(event["changed"]), sorted(FULL))
        self.assertEqual(event["resource"]["id"], "e1/r1")
        self.assertTrue(event["resource"]["uri"].endswith(PATH % "r1"))
        self.assertIn("hops: 3 -> 0", self.stack.ctl("history", "e1/r1", "--account", self.account.id))
        self.stack.ctl("restore", "--event", event["id"], "--yes")
        self.assertEqual(self.get("r1"), FULL)
        self.client.delete(PATH % "r1")
        self.stack.ctl("restore", "e1/r1", "--account", self.account.id, "--event", self.latest()["id"], "--yes")
        self.assertEqual(self.get("r1"), FULL)

    def test_column_that_no_code_knows(self):
        self.put("r1", FULL)
        where = " WHERE account_id = '%s'" % self.account.id
        self.stack.psql("UPDATE adit.planted_module SET unknown_column = 'kept'" + where)
        self.put("r1", DEFAULTS)
        for change in ("UPDATE adit.planted_module SET unknown_column = 'lost'", "DELETE FROM adit.planted_module"):
            self.stack.psql(change + where)
            self.stack.ctl("restore", "--event", self.latest()["id"], "--yes")
            self.assertEqual(self.stack.psql("SELECT unknown_column FROM adit.planted_module" + where), "kept")

    def test_document(self):
        self.put("r1", FULL)
        self.put("r2", DEFAULTS)
        exported = self.stack.ctl("export", "--account", self.account.id)
        self.assertEqual(json.loads(exported)["accounts"][0]["planted_modules"],
                         [{"edge_id": "e1", "id": "r1", **FULL}, {"edge_id": "e1", "id": "r2", **DEFAULTS}])
        self.assertEqual(self.stack.ctl_run("diff", self.document(exported)).returncode, 0)
        self.put("r1", {**FULL, "hops": 4, "begins_at": None})
        self.client.delete(PATH % "r2")
        self.put("r3", {})
        diff = self.stack.ctl_run("diff", "--prune", self.document(exported)).stdout
        for part in ("hops: 4 -> 3", 'begins_at: null -> "2030-01-02T03:04:05Z"', "planted_module", "e1/r2", "e1/r3"):
            self.assertIn(part, diff)
        self.stack.ctl("apply", "--prune", "--yes", self.document(exported))
        self.assertEqual((self.get("r1"), self.get("r2")), (FULL, DEFAULTS))
        self.assertEqual(self.client.get(PATH % "r3").status, 404)
        faulty = self.document(exported.replace('"hops": 3', '"hops": -3'))
        self.assertIn("hops", self.stack.ctl_run("diff", faulty).stderr)

    def test_account_that_still_has_one(self):
        account = json.loads(self.stack.ctl("account", "create", "--name", "left", "--json"))["id"]
        self.stack.psql("INSERT INTO adit.planted_module (account_id, edge_id, route_id, enabled)"
                        " VALUES ('%s', 'e', 'r', true)" % account)
        self.assertIn("planted modules: 1", self.stack.ctl_run("account", "delete", account).stderr)
