# SPDX-License-Identifier: MIT
"""doc/operate/off-board.md: follows the page for two people who leave."""
import itertools
import json

from adit import samples
from adit.case import Case
from adit.page import Page

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/off-board/routes/%s/oauth"


class OffBoard(Case):
    stack_name = "pages"
    numbers = itertools.count(1)

    def setUp(self):
        super().setUp()
        self.account = self.stack.account("acme")
        self.admin = self.stack.client(self.account.admin.key)
        self.heir = self.account.person("user", "--name", "ada")
        self.name = "mallory-%d" % next(self.numbers)
        self.user = self.account.person("user", "--name", self.name)
        self.user.client = self.stack.client(self.user.key)
        self.idents = [self.assert_ok(self.user.client.post(CREDENTIALS, samples.credential()),
                                      201)["id"] for _ in range(2)]
        for route, address in (("a", self.name + "@example.com"), ("b", "ada@example.com")):
            self.assert_ok(self.user.client.put(OAUTH % route, {
                "provider": {"provider_b": {"email_addresses": [address]}}}))

    def follow_to_the_end(self, last):
        page = Page(self, "off-board.md", {"name": self.name, "url": self.stack.url,
                                           "key": self.account.admin.key})
        [shown] = page.follow("Find the person")
        self.assertIn("\t%s\tactive\tread-write\t" % self.user.id, shown)
        [shown] = page.follow("Refuse the keys")
        self.assertIn("2 SSH credentials still permit tunnels", shown)
        self.assert_error(self.user.client.get(CREDENTIALS), 203)
        credentials, modules, changes = page.follow("Find what the person owns and did")
        self.assertEqual({row["id"] for row in json.loads(credentials)["ssh_credentials"]},
                         set(self.idents))
        self.assertEqual([row["id"] for row in json.loads(modules)["oauth_modules"]], ["a"])
        for ident in self.idents:
            self.assertEqual(changes.count(ident), 2, changes)
        [shown] = page.follow(last)
        self.assertIn("deleted %s and 1 API key\n" % self.user.id, shown)
        [shown] = page.follow("Check")
        self.assertNotIn("\tactive\t", shown)
        self.assertIn('{"ssh_credentials":[],', shown)
        self.assertIn(self.name, shown)

    def test_given_to_somebody_else(self):
        self.follow_to_the_end("Give it to somebody else")
        for ident in self.idents:
            self.assertEqual(self.assert_ok(self.admin.get(CREDENTIALS + "/" + ident))["owner_id"],
                             self.heir.id)

    def test_deleted(self):
        self.stack.ctl("user", "rename", "--name", "Ada", self.heir.id)
        self.follow_to_the_end("Or delete it")
        for ident in self.idents:
            self.assert_error(self.admin.get(CREDENTIALS + "/" + ident), 9002)
