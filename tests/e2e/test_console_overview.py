# SPDX-License-Identifier: MIT
"""The console's overview: counts, changes a day, and what needs attention."""
import datetime
import zoneinfo

from adit import samples
from adit.console import ConsoleCase
from adit.large import PAGE_ITEMS_MAX
from test_console import HOSTILE

MODULES = ["oauth", "oauth-nobody", "oauth-anyone", "oauth-open", "mutual-tls", "mutual-tls-nobody", "mutual-tls-open"]


class Overview(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.account = self.stack.account("overview")
        self.client = self.stack.client(self.account.admin.key)

    def view(self, size="desktop"):
        self.sign_in(self.account.admin.key, "", size)
        self.see("Overview", "h1")

    def number(self, name, wanted):
        self.see(wanted, ".count.%s .number" % name)
        self.assertEqual(self.text(".count.%s .number" % name), wanted)

    def fill(self):
        for acl in ([], ["*"], ["bind:a.example", "bind:*"], ["bind:a.example"]):
            self.assert_ok(self.client.post("/ssh_credentials", samples.credential(acl=acl)), 201)
        for route, body in (("a", {}), ("b", {"enabled": False}), ("c", {"provider": {"provider_b": {}}})):
            self.assert_ok(self.client.put("/edges/https/e/routes/%s/oauth" % route, body))
        for edge, body in (("a", {}), ("b", {"enabled": False}), ("c", {}),
                           ("d", {"certificate_authority_ids": ["ca_1"]})):
            self.assert_ok(self.client.put("/edges/tls/%s/mutual_tls" % edge, body))

    def test_counts(self):
        self.view()
        for name in ["credentials", "unlimited", *MODULES]:
            self.number(name, "0")
        self.screenshot("overview-empty")
        self.fill()
        # This provider verifies no addresses.
        config = {"provider": {"provider_b": {"email_domains": ["a.example"]}}}
        self.assert_ok(self.client.put("/edges/https/e/routes/d/oauth", config))
        self.view()
        for name, wanted in (("credentials", "4"), ("unlimited", "3"), ("oauth", "4"),
                             ("oauth-nobody", "2"), ("oauth-anyone", "1"), ("oauth-open", "1"),
                             ("mutual-tls", "4"),
                             ("mutual-tls-nobody", "2"), ("mutual-tls-open", "1")):
            self.number(name, wanted)
        self.see("Changes of the last 14 days", ".changes")
        self.screenshot("overview")
        # The filter of each line is one that the interface takes.
        for name, n, mark, room in (
                ("unlimited", 3, "", "credentials"), ("credentials", 4, "", "credentials"),
                ("oauth", 4, "", "modules/oauth"), ("oauth-nobody", 2, ".nobody", "modules/oauth"),
                ("oauth-anyone", 1, ".anyone", "modules/oauth"),
                ("oauth-open", 1, ".everybody", "modules/oauth"), ("mutual-tls", 4, "", "modules/mutual_tls"),
                ("mutual-tls-nobody", 2, ".nobody", "modules/mutual_tls"),
                ("mutual-tls-open", 1, ".everybody", "modules/mutual_tls")):
            with self.subTest(name):
                self.go("#/overview")
                self.number(name, str(n))
                self.click(".count.%s a" % name)
                self.until("location.hash.startsWith('#/%s')" % room, room)
                self.until("document.querySelectorAll('.body .row').length === %d" % n, name)
                if mark:
                    self.assertEqual(self.browser.evaluate(
                        "document.querySelectorAll('.table .passing%s').length" % mark), n)
        # Every module that is marked as such in the list is counted.
        self.go("#/modules/oauth")
        self.until("document.querySelectorAll('.body .row').length === 4", "all modules")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.passing.nobody').length"), 2)
        self.click("a.closed")
        self.until("document.querySelectorAll('.body .row').length === 2", "those that let nobody in")

    def test_many(self):
        """What has more than one page is counted when the person asks."""
        made = self.assert_ok(self.client.post("/ssh_credentials", samples.credential()), 201)["id"]
        self.stack.psql(
            "INSERT INTO adit.ssh_credential SELECT r.* FROM generate_series(0, %d) AS n,"
            " adit.ssh_credential AS f, jsonb_populate_record(f, jsonb_build_object('id',"
            " left(f.id, -3) || lpad(n::text, 3, '0'))) AS r WHERE f.id = '%s' AND"
            " left(f.id, -3) || lpad(n::text, 3, '0') <> f.id"
            % (2 * PAGE_ITEMS_MAX + 29, made))
        wanted = self.stack.psql("SELECT count(*) FROM adit.ssh_credential WHERE account_id = '%s'"
                                 % self.account.id)
        self.view()
        self.number("credentials", "more than %d" % PAGE_ITEMS_MAX)
        self.screenshot("overview-many")
        self.click(".count.credentials button")
        self.number("credentials", wanted)
        self.number("unlimited", "more than %d" % PAGE_ITEMS_MAX)
        # It is still counted after a look at the list.
        self.click(".count.credentials a")
        self.see("Credentials", "h1")
        self.browser.evaluate("history.back()")
        self.number("credentials", wanted)
        self.number("unlimited", "more than %d" % PAGE_ITEMS_MAX)

    def test_changes(self):
        """Days begin and end in the reader's zone, also where clocks change."""
        self.set_zone("Asia/Kathmandu")
        self.fill()
        self.stack.psql("UPDATE adit.audit_event SET at ="
                        " (date_trunc('day', now() AT TIME ZONE 'Asia/Kathmandu') - interval '2 days')"
                        " AT TIME ZONE 'Asia/Kathmandu'"
                        " - CASE WHEN event LIKE 'ssh%%' THEN interval '1 second' ELSE interval '0' END"
                        " WHERE account_id = '%s' AND event ~ 'ssh|mutual'" % self.account.id)
        self.view()
        # A User, an account, a key and three modules today; the rest before.
        self.until("document.querySelectorAll('.changes tbody tr').length === 14", "the days")
        self.until("[...document.querySelectorAll('.changes td')].slice(0, 4).map((one) =>"
                   " one.innerText).join() === '6,0,4,4'", "the numbers")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.chart rect').length"), 14)
        self.assertEqual(self.browser.evaluate(
            "[...document.querySelectorAll('.chart rect')].map((bar) => Number(bar.getAttribute('height')))"
            ".slice(-4)"), [85, 85, 0, 128])
        # The scale has its numbers and dates.
        self.assertEqual(self.texts(".tick-number"), ["6", "3", "0"])
        now = datetime.datetime.now(zoneinfo.ZoneInfo("Asia/Kathmandu"))
        self.assertEqual(self.texts(".dates span"), [
            "%s %d" % (day.strftime("%b"), day.day)
            for day in (now - datetime.timedelta(days=back) for back in (13, 6, 0))])
        self.assertEqual(self.browser.evaluate("""[...document.querySelectorAll(".chart rect")].map((bar) => {
            const [own, all] = [bar, bar.ownerSVGElement].map((one) => one.getBoundingClientRect());
            return own.left >= all.left && own.right <= all.right && own.bottom <= all.bottom;
        }).every(Boolean)"""), True)
        # Screen readers get the same numbers as a table.
        self.assertEqual(self.texts(".changes thead th"), ["Day", "Changes"])
        self.assertEqual(self.browser.evaluate("document.querySelector('.chart').ariaHidden"), "true")
        self.browser.evaluate("document.querySelectorAll('.changes tbody a')[3].click()")
        self.until("document.querySelectorAll('.timeline .body .row').length === 5", "that day's changes")
        self.assertIn("18:15:00Z", self.value(".filter-text input"))

    def test_more_changes_than_are_read(self):
        self.stack.psql("INSERT INTO adit.audit_event (event, account_id, resource, after)"
                        " SELECT 'mutual_tls_module_created', '%s', 'edge-' || n, '{\"enabled\": true}'"
                        " FROM generate_series(1, %d) AS n" % (self.account.id, 12 * PAGE_ITEMS_MAX))
        self.view()
        self.see("{:,} or more".format(10 * PAGE_ITEMS_MAX), ".changes tbody tr")
        self.see("not read", ".changes")
        self.click(".changes .read-on")
        self.see("{:,}".format(12 * PAGE_ITEMS_MAX + 3), ".changes tbody tr")
        self.assertNotIn("not read", self.text(".changes"))

    def test_keys_that_expire(self):
        self.account.admin.issue("--description", "hostile", "--expires", "5d")
        self.stack.psql("UPDATE adit.api_key SET description = $text$%s$text$ WHERE description = 'hostile'"
                        % HOSTILE)
        self.account.admin.issue("--description", "far", "--expires", "60d")
        self.account.admin.issue("--description", "first", "--expires", "2d")
        self.account.admin.issue("--description", "revoked", "--expires", "3d")
        revoked = self.stack.psql("SELECT id FROM adit.api_key WHERE description = 'revoked'"
                                  " AND principal_id = '%s'" % self.account.admin.id)
        self.stack.ctl("key", "revoke", revoked)
        for size in ("desktop", "phone"):
            self.view(size)
            self.see("U+202E", ".keys")
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('.keys li').length"), 2)
            self.see("first", ".keys li")
            self.see(self.account.admin.id, ".keys li")
            self.number("mutual-tls-nobody", "0")
            self.check_fits()
            self.screenshot("overview-hostile-" + size)
        self.click(".keys a")
        self.see("API key issued", ".timeline")
        self.stack.psql("UPDATE adit.api_key SET expires_at = NULL WHERE principal_id = '%s'"
                        % self.account.admin.id)
        self.view()
        self.see("No key expires within 30 days.", ".keys")

    def test_other_keys(self):
        self.sign_in(self.account.member.key, "")
        self.see("only an admin's key may read", ".admins-only")
        self.number("credentials", "0")
        self.assertEqual(self.browser.evaluate("document.querySelector('.changes')"), None)
        self.screenshot("overview-not-admin")

    def test_language(self):
        self.view()
        self.choose_text(".language", "Deutsch")
        self.see("Überblick", "h1")
        self.see("Änderungen der letzten 14 Tage", ".changes")
        self.number("mutual-tls-nobody", "0")
        self.screenshot("overview-german")

    def test_outage(self):
        """Every request fails for the same reason, which is said once, and says nothing of changes."""
        self.view()
        self.number("credentials", "0")
        self.go("#/credentials/new")
        self.until("document.querySelector('form.edit')", "another room")
        self.browser.call("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1,
                          uploadThroughput=-1)
        self.addCleanup(self.browser.call, "Network.emulateNetworkConditions", offline=False, latency=0,
                        downloadThroughput=-1, uploadThroughput=-1)
        self.go("#/overview")
        self.number("mutual-tls-open", "not read")
        self.see("The service cannot be reached.", ".overview > .error")
        self.assertNotIn("may or may not", self.text("body"))
        self.until("document.querySelectorAll('.error').length === 1", "one box")
        self.screenshot("overview-outage")
        self.browser.call("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1,
                          uploadThroughput=-1)
        self.click(".overview > .error button")
        self.absent(".error")
        for name in ["credentials", "unlimited", *MODULES]:
            self.number(name, "0")

    def test_faults(self):
        """A line that cannot be read says so, the reason is said above, and all can be tried again."""
        self.view()
        self.number("credentials", "0")
        for status, number in ((403, 9071), (429, 9053), (503, 9030), (None, 0)):
            with self.subTest(status):
                self.go("#/credentials/new")
                self.until("document.querySelector('form.edit')", "another room")
                self.answer_badly(lambda: self.go("#/overview"), "GET", status, number, ".overview > .error")
                self.assertEqual(self.browser.evaluate("document.querySelectorAll('.error').length"), 1)
                self.click(".overview > .error button")
                self.until("!document.querySelector('.error')", "no error")
                self.number("credentials", "0")
        self.go("#/credentials/new")
        self.until("document.querySelector('form.edit')", "another room")
        self.answer_badly(lambda: self.go("#/overview"), "GET", 401, 203, "dialog[open]")
        self.type("dialog input[type=password]", self.account.admin.key)
        self.click("dialog button.main")
        self.until("!document.querySelector('dialog')", "signed in again")
        self.number("credentials", "0")
