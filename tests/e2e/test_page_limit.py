# SPDX-License-Identifier: MIT
"""doc/operate/limit.md, the chapter about the disk.  machine_hosts follows the others."""
from adit import samples
from adit.case import Case
from adit.page import Page


class Disk(Case):
    def test_the_page(self):
        account = self.stack.account("disk")
        client = self.stack.client(account.admin.key)
        made = self.assert_ok(client.post("/ssh_credentials", samples.credential(
            metadata="m" * 4000)), 201)
        for n in range(20):
            self.assert_ok(client.patch("/ssh_credentials/" + made["id"], {"description": str(n)}))
        key_id = self.stack.psql("SELECT max(api_key_id) FROM adit.audit_event WHERE resource = '%s'"
                                 % made["id"])
        old = self.stack.psql("INSERT INTO adit.audit_event (at, event, account_id, resource)"
                              " VALUES (now() - interval '91 days', 'user_updated', '%s', 'usr_x')"
                              " RETURNING id" % account.id)
        page = Page(self, "limit.md")
        page.add_runuser(self.stack)
        see, purge, delete, shrink = page.scripts["Disk"]
        shown = page.run(see)
        self.assertRegex(shown, r"(?m)^ %s +\| +21 \| [0-9]+ kB$" % key_id)
        self.assertRegex(shown, r"(?m)^[0-9]+ (kB|MB)$")
        page.run(purge)
        self.assertEqual(self.events("id = %s" % old), "0")
        self.assertNotEqual(self.events("api_key_id IS NULL"), "0")
        page.run("leaked='%s'" % key_id)
        self.assertIn("DELETE 21\n", page.run(delete))
        self.assertEqual(self.events("resource = '%s'" % made["id"]), "0")
        self.assertEqual(page.run(shrink), "VACUUM\n")
        self.assert_ok(client.get("/ssh_credentials/" + made["id"]))

    def events(self, condition):
        return self.stack.psql("SELECT count(*) FROM adit.audit_event WHERE " + condition)
