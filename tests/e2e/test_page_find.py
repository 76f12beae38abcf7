# SPDX-License-Identifier: MIT
"""doc/operate/find.md: follows the page."""
import json

from adit import recipe, samples
from adit.case import Case
from adit.page import Page


def ids(page, name="ssh_credentials"):
    return [item["id"] for item in json.loads(page)[name]]


class Find(Case):
    def setUp(self):
        self.account = self.stack.account("find")
        self.client = self.stack.client(self.account.admin.key)
        self.page = Page(self, "find.md", {"url": self.stack.url, "key": self.account.admin.key})
        for _ in range(3):
            self.make("server", ["bind:db.example.org"])
        self.laptop = self.make("ada's laptop", ["bind:*.example.com"], "laptop.pub")
        self.unlimited = self.make("rack", [])

    def make(self, description, acl, file_name=None):
        _, public_key = samples.generate("-t", "ed25519")
        if file_name:
            with open(self.page.path(file_name), "w", encoding="utf-8") as file:
                file.write(public_key)
        return self.assert_ok(self.client.post("/ssh_credentials", {
            "public_key": public_key, "description": description, "acl": acl}), 201)["id"]

    def test_credentials(self):
        by_key, by_word, unlimited = self.page.follow("The credential of a key")
        self.assertEqual(ids(by_key), [self.laptop])
        self.assertEqual(ids(by_word), [self.laptop])
        self.assertEqual(ids(unlimited), [self.unlimited])
        who, = self.page.follow("Who may bind a name")
        self.assertEqual(who.count(self.laptop), 2)
        self.assertIn(self.unlimited, who)

    def test_keys_in_several_credentials(self):
        """Also with another comment and in other forms; different keys of one form are left out."""
        self.page.add_runuser(self.stack)
        keys = {name: (text, fingerprint) for name, text, _, fingerprint in samples.accepted_keys()}
        made = {name: self.assert_ok(self.client.post("/ssh_credentials", {
            "public_key": keys[name][0]}), 201)["id"] for name in (
                "ed25519.line", "ed25519.comment-utf8", "ed25519.ssh2", "rsa2048.info",
                "rsa2048.pkcs1", "ecdsa256.info", "ecdsa384.info")}
        printed, = self.page.follow("Keys in several credentials")
        rows = [[cell.strip() for cell in line.split("|")] for line in printed.splitlines()]
        self.assertCountEqual([row[1:] for row in rows if row[0] == self.account.id], [
            [keys[names[0]][1], " ".join(sorted(made[name] for name in names))] for names in (
                ("ed25519.line", "ed25519.comment-utf8", "ed25519.ssh2"),
                ("rsa2048.info", "rsa2048.pkcs1"))])

    def test_modules(self):
        for edge, authorities in ("edge-2", ["ca-0", "ca-1"]), ("edge-3", ["ca-2"]):
            self.assert_ok(self.client.put("/edges/tls/%s/mutual_tls" % edge, {
                "certificate_authority_ids": authorities}))
        protected, found, admitted, trusting = self.page.follow("Protected routes")
        by_edge, by_domain, off = found.split("\n")[:3]
        for page in protected.split("\n")[1], by_edge, by_domain:
            self.assertEqual(ids(page, "oauth_modules"), ["route-1"])
        for page in off, *admitted.split("\n")[:2]:
            self.assertEqual(ids(page, "oauth_modules"), [])
        self.assertEqual(ids(trusting, "mutual_tls_modules"), ["edge-2"])

    def test_all_pages(self):
        printed, = self.page.follow("All pages")
        self.assertEqual(len(printed.splitlines()), 5)
        self.assertIn("%s\tada's laptop" % self.laptop, printed)

    def test_all_pages_with_a_wrong_key(self):
        """The loop ends, and says what is wrong."""
        self.page.run(recipe.keep_key("wrong"))
        printed, = self.page.follow("All pages")
        self.assertIn('"error_code"', printed)
