# SPDX-License-Identifier: MIT
"""doc/operate/history.md: follows the page."""
import json

from adit import samples
from adit.case import Case
from adit.page import Page

CREDENTIALS = "/ssh_credentials"


class History(Case):
    stack_name = "history"

    def setUp(self):
        self.account = self.stack.account("acme")
        self.client = self.stack.client(self.account.admin.key)
        self.made = self.assert_ok(self.client.post(CREDENTIALS, {
            "public_key": samples.ED25519, "acl": ["bind:a.example"]}), 201)
        self.path = CREDENTIALS + "/" + self.made["id"]
        self.page = Page(self, "history.md", {"id": self.made["id"]})

    def age(self, time):
        """Moves the changes of this account that are younger than an hour to this time."""
        self.stack.psql("UPDATE adit.audit_event SET at = %s WHERE account_id = '%s'"
                        " AND at > now() - interval '1 hour'" % (time, self.account.id))

    def test_who(self):
        self.age("'2026-01-20T10:00Z'")
        self.assert_ok(self.client.patch(self.path, {"acl": ["bind:b.example"]}))
        self.age("'2026-01-27T10:00Z'")
        self.assert_ok(self.client.patch(self.path, {"acl": []}))
        lists, tuesday, also = self.page.follow("Who changed this on Tuesday?")
        rows = [line.split("\t")[2] for line in lists.splitlines()]
        updated = 2 * ["ssh_credential_updated"]
        self.assertEqual(rows, ["WHAT", "ssh_credential_created", *updated]
                         + 2 * ["WHAT", *updated])
        [event] = [json.loads(line) for line in tuesday.splitlines()]
        self.assertEqual((event["principal_id"], event["changed"], event["after"]["acl"]),
                         (self.account.admin.id, ["acl"], ["bind:b.example"]))
        self.assertEqual(len(also.splitlines()), 2)
        self.assertIn(self.made["id"], also)

    def test_undo(self):
        self.age("now() - interval '3 hours'")
        self.assert_ok(self.client.delete(self.path), 204)
        undone, _ = self.page.follow("Undo a change")
        self.assertEqual([line.split("\t")[0] for line in undone.splitlines()],
                         2 * ["ACTION", "create"])
        self.assertEqual(self.assert_ok(self.client.get(self.path)), self.made)

    def test_undo_everything(self):
        self.age("now() - interval '3 hours'")
        self.assert_ok(self.client.patch(self.path, {"acl": []}))
        added = self.assert_ok(self.client.post(CREDENTIALS, {"public_key": samples.ED25519}), 201)
        self.page.follow("Undo everything that one key did")
        other = self.stack.client(self.account.member.key)
        self.assertEqual(self.assert_ok(other.get(self.path)), self.made)
        self.assertEqual(other.get(CREDENTIALS + "/" + added["id"]).status, 404)
        self.assert_error(self.client.get(self.path), 203)
