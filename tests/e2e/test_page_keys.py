# SPDX-License-Identifier: MIT
"""doc/operate/keys.md: follows the page: 200 devices, then an API key and an SSH key that are replaced
without a gap."""
import base64
import json
import os
import secrets

from adit import recipe, samples
from adit.case import Case
from adit.page import Page

CREDENTIALS = "/ssh_credentials"
N_DEVICES = 200


def public_key():
    """The line of an Ed25519 key: any 32 bytes."""
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + secrets.token_bytes(32)
    return "ssh-ed25519 %s a \"device\"\n" % base64.b64encode(blob).decode()


class Keys(Case):
    stack_name = "pages"

    def setUp(self):
        super().setUp()
        self.account = self.stack.account("acme")
        self.key = self.account.admin.issue("--description", "another")
        self.admin = self.stack.client(self.key)
        self.page = Page(self, "keys.md", {"url": self.stack.url, "key": self.key})
        os.mkdir(self.page.path("devices"))
        for name in ["devices/device-%d.pub" % i for i in range(N_DEVICES)] + ["new.pub"]:
            with open(self.page.path(name), "w", encoding="utf-8") as file:
                file.write(public_key())

    def n_credentials(self):
        return int(self.stack.psql("SELECT count(*) FROM adit.ssh_credential"
                                   " WHERE account_id = '%s'" % self.account.id))

    def permits(self, key):
        return self.stack.ctl_run("permits", self.page.path(key),
                                  "device-7.devices.example.com").returncode == 0

    def test_find_a_leaked_key(self):
        account_id = self.account.id
        keys = [samples.well_formed_key(account_id=account_id), samples.well_formed_key(), self.key]
        others = [key[:-1] + ("0" if key[-1] != "0" else "1") for key in keys]
        with open(self.page.path("devices", "notes.txt"), "w", encoding="utf-8") as file:
            file.write("key=%s\n%s %s\nx" % ("\nx=".join(keys), " ".join(others), keys[0] + "0"))
        found = self.page.follow("Find a leaked key")[-1]
        self.assertEqual(found.splitlines(), [
            "devices/notes.txt %s %s" % pair for pair in zip(keys, (account_id, "-", account_id))])

    def test_the_page(self):
        page = self.page
        # A revoked key of the same description does not count.
        self.account.admin.issue("--description", "revoked")
        self.stack.psql("UPDATE adit.api_key SET description = 'build server',"
                        " revoked_at = CASE description WHEN 'revoked' THEN now() END WHERE"
                        " description IN ('another', 'revoked') AND account_id = '%s'"
                        % self.account.id)
        sent, count, shown = page.follow("Onboard 200 devices")
        self.assertEqual((sent, int(count)), ("", N_DEVICES))
        self.assertEqual(self.n_credentials(), N_DEVICES)
        made = json.loads(page.read("devices", "device-7.json"))
        self.assertEqual((made["description"], made["acl"], made["public_key"]),
                         ("device-7", ["bind:device-7.devices.example.com"],
                          " ".join(page.read("devices", "device-7.pub").split()[:2])))
        # Of 'who' and of 'permits'.
        self.assertEqual(shown.count(made["id"]), 2)
        self.replace_api_key()
        self.replace_ssh_key(CREDENTIALS + "/" + made["id"])

    def replace_api_key(self):
        issue, look, revoke = self.page.scripts["Replace an API key"]
        self.page.run(issue)
        client = self.stack.client(self.page.read("new.key").strip())
        self.assert_ok(client.get(CREDENTIALS))
        self.assert_ok(self.admin.get(CREDENTIALS))
        shown = self.page.run(look)
        self.assertEqual([row.split("\t")[9] for row in shown.splitlines()[1:]],
                         ["", *2 * ["build server"], "build server, 2nd"])
        self.page.run(revoke)
        self.assert_error(self.admin.get(CREDENTIALS), 203)
        self.admin = client
        self.page.run(recipe.keep_key(self.page.read("new.key").strip()))

    def replace_ssh_key(self, path):
        make, delete = self.page.scripts["Replace an SSH key"]
        old = self.assert_ok(self.admin.get(path))
        good = self.page.read("new.pub")
        self.page.run("echo broken >new.pub")
        self.assertIn('device-7: failed: {"error_code":', self.page.run(make))
        self.page.run(delete)
        self.assert_ok(self.admin.get(path))
        self.page.run("echo '%s' >new.pub" % good.strip())
        self.page.run(make)
        new = json.loads(self.page.read("new.json"))
        self.assertEqual(new["public_key"], " ".join(self.page.read("new.pub").split()[:2]))
        for member in ("acl", "description", "metadata", "owner_id"):
            self.assertEqual(new[member], old[member])
        self.assertTrue(self.permits("devices/device-7.pub") and self.permits("new.pub"))
        self.page.run("cp devices/device-7.pub old.pub")
        self.page.run(delete)
        self.assertTrue(self.permits("devices/device-7.pub") and not self.permits("old.pub"))
        self.assertEqual(json.loads(self.page.read("devices", "device-7.json")), new)

    def test_again_after_a_failure(self):
        """No device gets a second credential."""
        self.page.run("mkdir kept; mv devices/device-1??.pub devices/device-??.pub kept;"
                      " echo broken >devices/device-3.pub")
        onboard = self.page.scripts["Onboard 200 devices"][0]
        self.assertIn('device-3: failed: {"error_code":', self.page.run(onboard))
        self.assertEqual(self.n_credentials(), 9)
        self.page.run("cp new.pub devices/device-3.pub")
        self.assertEqual(self.page.run(onboard), "")
        self.assertEqual(self.n_credentials(), 10)
