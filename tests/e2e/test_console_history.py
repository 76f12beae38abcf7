# SPDX-License-Identifier: MIT
"""The console's history: who changed what, and the ways back."""
import json
import shlex
import urllib.parse

from adit import samples
from adit.console import FAULTS, HOSTILE, ConsoleCase

OAUTH = "/edges/https/%s/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/%s/mutual_tls"
SECRET = "a secret that no page shows"
EMOJI = "\U0001f600" * 63


def oauth(client_id="app", secret=SECRET, **more):
    return {"provider": {"provider_a": {"client_id": client_id, "client_secret": secret, **more}}}


class HistoryCase(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.account = self.stack.account("history")
        self.client = self.stack.client(self.account.admin.key)

    def make(self, **members):
        return self.assert_ok(self.client.post("/ssh_credentials", samples.credential(**members)), 201)

    def path(self, made):
        return "/ssh_credentials/" + made["id"]

    def events(self, expression):
        """Those that match, newest first."""
        return self.assert_ok(self.client.get("/audit_events?filter=" + urllib.parse.quote(expression)))[
            "audit_events"]

    def event_of(self, resource, verb):
        """The latest event of that resource."""
        return next(event for event in self.events("obj.resource.id == %s" % json.dumps(resource))
                    if event["event"].endswith(verb))

    def view(self, view, size="desktop"):
        self.sign_in(self.account.admin.key, view, size)

    def view_restore(self, resource, verb, side):
        event = self.event_of(resource, verb)
        self.view("#/history/%s/%s" % (event["id"], side))
        return event

    def filter_text(self, text):
        self.until("document.querySelector('.filter-text input')?.value === %s" % json.dumps(text),
                   "the filter " + text)


class History(HistoryCase):
    def test_timeline(self):
        """Grouped by the reader's days, which begin and end in the reader's zone."""
        made = self.make(description="of two days")
        self.client.patch(self.path(made), {"acl": ["bind:a.example"], "metadata": "m"})
        created, changed = self.event_of(made["id"], "_created"), self.event_of(made["id"], "_updated")
        for event, at in ((created, "2026-03-28T22:59:59Z"), (changed, "2026-03-28T23:00:00Z")):
            self.stack.psql("UPDATE adit.audit_event SET at = '%s' WHERE id = %d"
                            % (at, int(event["id"][3:])))
        self.set_zone("Europe/Berlin")
        self.view("#/history?resource=" + made["id"])
        self.filter_text('obj.resource.id == "%s"' % made["id"])
        self.see("Credential created", ".timeline")
        self.assertEqual([row.split("\n")[0] for row in self.rows()], [
            "Sunday, March 29, 2026", "12:00:00 AM", "Saturday, March 28, 2026", "11:59:59 PM"])
        self.see("May bind, Metadata", ".timeline")
        self.screenshot("history")
        # The day has 23 hours.
        self.click(".timeline .day")
        self.filter_text('obj.resource.id == "%s" && obj.created_at >= timestamp("2026-03-28T23:00:00Z")'
                         ' && obj.created_at < timestamp("2026-03-29T22:00:00Z")' % made["id"])
        self.until("document.querySelectorAll('.body .row').length === 2", "the one event")
        self.see("As in the filter", ".when option:checked")
        self.choose_text(".when select", "Any time")
        self.until("document.querySelectorAll('.body .row').length === 4", "both events")

    def test_filters(self):
        """Each choice and click replaces a clause of the text, which can be edited."""
        made = self.make()
        self.client.patch(self.path(made), {"metadata": "m"})
        self.client.put(MUTUAL_TLS % "e", {})
        self.view("#/history")
        self.see("Mutual TLS module created", ".timeline")
        self.choose_text(".what select", "Credentials: all")
        self.filter_text('obj.event.startsWith("ssh_credential_")')
        self.choose_text(".what select", "Credential changed")
        self.filter_text('obj.event == "ssh_credential_updated"')
        self.until("document.querySelectorAll('.body .row').length === 2", "one event")
        self.choose_text(".when select", "The last 7 days")
        self.filter_text('obj.event == "ssh_credential_updated" && '
                         'obj.created_at > timestamp(time.now).subtract("7d")')
        self.choose_text(".what select", "Anything")
        self.choose_text(".when select", "Today")
        self.see("Mutual TLS module created", ".timeline")
        self.choose_text(".when select", "Any time")
        self.filter_text("")
        # What happened, to things of all kinds.
        self.client.delete(MUTUAL_TLS % "e")
        self.choose_text(".what select", "Everything deleted")
        self.filter_text('obj.event.endsWith("_deleted")')
        self.see("Mutual TLS module deleted", ".timeline")
        self.until("document.querySelectorAll('.body .row').length === 2", "one event")
        self.choose_text(".what select", "Anything")
        # Who did it.
        named = self.account.admin.issue("--description", "laptop")
        self.stack.client(named).put(MUTUAL_TLS % "named", {})
        self.view("#/history")
        self.choose_text(".who select", "laptop (%s)" % self.account.admin.id)
        self.filter_text('obj.principal.id == "%s"' % self.account.admin.id)
        self.see("laptop · 127.0.0.1", ".timeline")
        self.assertNotIn("(aditctl)", self.text(".timeline .body"))
        self.choose_text(".who select", "Operators (aditctl)")
        self.filter_text("obj.operator != null")
        self.see("Account created", ".timeline")
        self.assertNotIn("Mutual TLS", self.text(".timeline .body"))
        self.choose_text(".who select", "Anybody")
        self.filter_text("")
        self.choose_text(".what select", "Mutual TLS modules: all")
        self.until("document.querySelector('.body .row a[href*=ae_]')?.innerText.startsWith('Mutual TLS')", "those only")
        self.filter_text('obj.event.startsWith("mutual_tls_module_")')
        self.choose_text(".what select", "Anything")
        self.see("Account created", ".timeline")
        self.click(".timeline .row:has(.event a[href*='%s']) .resource a" % self.event_of("e", "_created")["id"])
        self.filter_text('obj.resource.id == "e"')
        self.choose_text(".what select", "Mutual TLS module created")
        self.filter_text('obj.resource.id == "e" && obj.event == "mutual_tls_module_created"')
        self.click(".filter a.button")
        self.filter_text("")
        self.go('#/history?filter=obj.event == "mutual_tls_module_created" %26%26 obj.resource.id == "e"')
        self.until("document.querySelectorAll('.body .row').length === 2", "one event")
        self.click(".timeline .maker a")
        self.filter_text('obj.event == "mutual_tls_module_created" && obj.resource.id == "e" &&'
                         ' obj.principal.id == "%s"' % self.account.admin.id)
        self.until("document.querySelectorAll('.body .row').length === 2", "one event")
        # An operator's change has no principal.
        self.click(".filter a.button")
        self.filter_text("")
        self.choose_text(".what select", "Account created")
        self.until("document.querySelectorAll('.body .row').length === 2", "the one event")
        self.see("(aditctl)", ".timeline .body")
        self.click(".timeline .maker a")
        self.until("document.querySelector('.filter-text input').value.startsWith("
                   "'obj.event == \\\"account_created\\\" && obj.operator == ')", "the filter")
        self.see("Account created", ".timeline")
        self.type(".filter-text input", "obj.event == 1")
        self.click(".filter button")
        self.see("Error 250.", ".filter .fault")
        self.assertEqual(self.value(".filter-text input"), "obj.event == 1")
        self.screenshot("history-bad-filter")
        self.type(".filter-text input", 'obj.event == "nothing"')
        self.click(".filter button")
        self.see("No change matches the filter.", ".timeline")

    def test_names(self):
        """Rows say what things are called, where the interface tells it."""
        made = self.make(description="Ada's laptop")
        nameless = self.make()
        key = self.account.admin.issue("--description", "deploy pipeline")
        self.stack.client(key).put(OAUTH % "shop", {})
        self.client.put(MUTUAL_TLS % "front", {})
        self.view("#/history")
        self.see("Mutual TLS module created", ".timeline")
        self.see("deploy pipeline · 127.0.0.1", ".timeline")
        found = self.texts(".timeline .resource.cell")
        for name, ident in (("Ada's laptop", made["id"]), ("No description", nameless["id"]),
                            ("Route r of edge shop", "shop/r"), ("Edge front", "front"),
                            ("deploy pipeline", "ak_"), ("User", self.account.admin.id),
                            ("Account", self.account.id)):
            self.assertTrue([text for text in found if text.startswith("%s\n%s" % (name, ident))], name)
        self.go("#/history/" + self.event_of("shop/r", "_created")["id"])
        self.see("Route r of edge shop", ".facts .resource")
        self.see("deploy pipeline", ".facts")

    def test_links_to_histories(self):
        """From each resource to its own history."""
        made = self.make(description="linked")
        for path in (OAUTH % "linked", MUTUAL_TLS % "linked"):
            self.client.put(path, {})
        self.account.admin.issue("--description", "linked key", "--expires", "5d")
        key = self.events('obj.event == "api_key_created"')[0]["resource"]["id"]
        self.view("#/credentials")
        for view, part, resource, says in (
                ("#/credentials/" + made["id"], ".history-link", made["id"], "Credential created"),
                ("#/modules/oauth/linked/r", ".history-link", "linked/r", "OAuth module created"),
                ("#/modules/mutual_tls/linked", ".history-link", "linked", "Mutual TLS module created"),
                ("#/overview", ".keys li a", key, "API key issued"),
                ("#/history/" + self.event_of(self.account.admin.id, "_created")["id"], ".facts .resource a",
                 self.account.admin.id, "User or Bot created")):
            with self.subTest(view):
                self.go(view)
                self.click(part)
                self.filter_text('obj.resource.id == "%s"' % resource)
                self.see(says, ".timeline")
                self.until("document.querySelectorAll('.body .row').length === 2", "the one event")

    def test_opening(self):
        """Only what exists can be opened."""
        made = self.make(description="to open")
        for path in (OAUTH % "open", MUTUAL_TLS % "open"):
            self.client.put(path, {})
        self.view("#/history")
        for resource, part in ((made["id"], ".description input"), ("open/r", ".cookie_prefix input"),
                               ("open", ".certificate_authority_ids textarea")):
            with self.subTest(resource):
                self.go("#/history/" + self.event_of(resource, "_created")["id"])
                self.click(".facts a.open")
                self.until("document.querySelector(%s)" % json.dumps(part), "its view")
        for resource, path in ((made["id"], self.path(made)), ("open/r", OAUTH % "open"),
                               ("open", MUTUAL_TLS % "open")):
            with self.subTest("deleted " + resource):
                self.assert_ok(self.client.delete(path), 204)
                self.go("#/history/" + self.event_of(resource, "_deleted")["id"])
                self.see("It no longer exists.", ".facts .gone")
                self.assertEqual(self.browser.evaluate("document.querySelector('.facts a.open')"), None)
        self.screenshot("history-change-deleted")

    def test_times_and_truths(self):
        """Times of a state are in the reader's zone too."""
        path = MUTUAL_TLS % "times"
        made = self.make()
        event = self.event_of(made["id"], "_created")
        self.stack.psql("UPDATE adit.audit_event SET after = jsonb_set(after, '{created_at}',"
                        " '\"2026-03-28T23:30:00Z\"') WHERE id = %d" % int(event["id"][3:]))
        self.client.put(path, {})
        self.client.put(path, {"enabled": False})
        self.set_zone("Europe/Berlin")
        self.view("#/history/" + event["id"])
        self.see("March 29, 2026 at 12:30:00 AM GMT+1", ".difference")
        self.go("#/history/" + self.event_of("times", "_updated")["id"])
        self.see("Enabled", ".difference")
        self.assertEqual(self.texts(".difference del, .difference ins"), ["Yes", "No"])

    def test_many(self):
        """Pages arrive without a jump."""
        self.stack.psql("INSERT INTO adit.audit_event (event, account_id, resource, at, after)"
                        " SELECT 'mutual_tls_module_created', '%s', 'edge-' || n,"
                        " now() - n * interval '1 hour', '{\"enabled\": true}'"
                        " FROM generate_series(229, 0, -1) AS n" % self.account.id)
        self.view('#/history?filter=obj.event.startsWith("mutual")')
        self.see("edge-0\n", ".timeline")
        self.assertLess(len(self.rows()), 60)
        first = self.rows()[:5]
        self.until("(document.querySelector('.body').scrollTo(0, 1e6), "
                   "Number(document.querySelector('.table').ariaRowCount) > 231)", "all pages")
        self.browser.evaluate("document.querySelector('.body').scrollTo(0, 1e6)")
        self.see("edge-229", ".timeline")
        self.browser.evaluate("document.querySelector('.body').scrollTo(0, 0)")
        self.see("edge-0\n", ".timeline")
        self.assertEqual(self.rows()[:5], first)

    def test_keyboard(self):
        self.make()
        self.view("#/history")
        self.see("Credential created", ".timeline")
        self.browser.evaluate("document.querySelector('.timeline .day').focus()")
        self.press("ArrowDown")
        self.assertIn("Credential created", self.browser.evaluate("document.activeElement.innerText"))
        self.press("Enter")
        self.see("Credential created", "h1")

    def press(self, key):
        code = {"Enter": 13, "ArrowDown": 40}[key]
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                              windowsVirtualKeyCode=code, text="\r" if key == "Enter" else "")

    def test_one_change(self):
        made = self.make(description="before", metadata="one\ntwo\nthree", acl=["bind:a.example"])
        self.client.patch(self.path(made), {"description": "after", "metadata": "one\n2\nthree",
                                            "acl": ["bind:a.example", "bind:b.example"]})
        # From the credential to its history, and to the change.
        self.view("#/credentials/" + made["id"])
        self.click(".history-link")
        self.filter_text('obj.resource.id == "%s"' % made["id"])
        self.see("Credential changed", ".timeline")
        self.click(".timeline .event a")
        self.see("What changed", ".change")
        self.assertEqual(self.texts(".difference del"), ["before", "two"])
        self.assertEqual(self.texts(".difference ins"), ["after", "2", "bind:b.example"])
        self.assertEqual(self.texts(".difference tbody th"), ["Description", "Metadata", "May bind"])
        for part in ("127.0.0.1", self.account.admin.id, "op_", "ak_", "ae_"):
            self.see(part, ".facts")
        self.browser.evaluate("document.querySelector('.tick input').click()")
        self.see("Public key", ".difference")
        self.screenshot("history-change")
        operation = self.event_of(made["id"], "_updated")["operation_id"]
        self.click(".facts a[href*=operation_id]")
        self.filter_text('obj.operation_id == "%s"' % operation)
        self.until("document.querySelectorAll('.body .row').length === 2", "the one event")

    def test_secrets(self):
        path = OAUTH % "secret"
        for secret in (SECRET, SECRET + "2"):
            self.assert_ok(self.client.put(path, oauth(secret=secret)))
        self.view("#/history/" + self.event_of("secret/r", "_updated")["id"])
        self.see("Client secret\tSent again with this change, perhaps the same as before. No change records it.", ".difference")
        self.assertNotIn(SECRET, self.text("body"))
        self.view_restore("secret/r", "_updated", "before")
        self.see("Only the client secret may differ", ".restore")
        self.assertNotIn(SECRET, self.browser.evaluate("document.documentElement.outerHTML"))
        self.assertEqual(self.browser.evaluate("document.querySelector('.restore .main').disabled"), True)
        self.type(".secret input", SECRET)
        self.click(".restore .main")
        self.see("It is restored.", ".notice")
        self.assertEqual(self.client.get(path).json["provider"]["provider_a"]["client_secret"], SECRET)

    def test_hostile(self):
        made = self.make(description=EMOJI, metadata=HOSTILE + "\n" + EMOJI,
                         public_key=samples.ED25519 + " " + HOSTILE,
                         acl=["bind:<script>alert(1)</script>=\"'&lt;"])
        self.client.patch(self.path(made), {"description": "\u05d0\u05d1\u05d2 " * 30, "metadata": HOSTILE})
        self.client.put(OAUTH % "hostile", oauth(HOSTILE, SECRET, scopes=[HOSTILE, EMOJI],
                                                 organizations=[HOSTILE]))
        self.client.put(OAUTH % "hostile", {})
        self.account.admin.issue("--description", "hostile")
        self.stack.psql("UPDATE adit.api_key SET description = $text$%s$text$ WHERE description = 'hostile'"
                        % HOSTILE)
        key = self.events('obj.event == "api_key_updated"')[0]
        long = "a" * 255
        self.client.put(MUTUAL_TLS % long, {"certificate_authority_ids": ["ca_" + long[:250]]})
        views = [("change", self.event_of(made["id"], "_updated")["id"], ".difference"),
                 ("created", self.event_of(made["id"], "_created")["id"], ".difference"),
                 ("module", self.event_of("hostile/r", "_updated")["id"], ".difference"),
                 ("key", key["id"], ".difference"),
                 ("edge", self.event_of(long, "_created")["id"], ".difference"),
                 ("restore", self.event_of(made["id"], "_updated")["id"] + "/before", ".restore"),
                 ("restore-module", self.event_of("hostile/r", "_updated")["id"] + "/before", ".restore")]
        for size in ("desktop", "phone"):
            self.view("#/history", size)
            self.see("API key issued", ".timeline")
            self.check_fits()
            self.screenshot("history-hostile-" + size)
            for name, view, part in views:
                self.go("#/history/" + view)
                self.until("document.querySelector(%s)" % json.dumps(part), part)
                if name in ("change", "created", "module", "key"):
                    self.see("U+202E", ".difference")
                    self.see("<script>", ".difference")
                self.check_fits()
                self.screenshot("history-%s-%s" % (name, size))

    def test_who_may_read(self):
        made = self.make(description="before")
        self.client.patch(self.path(made), {"description": "after"})
        event = self.event_of(made["id"], "_updated")
        for key in (self.account.member.key, self.account.own_key):
            self.sign_in(key, "#/history")
            self.see("only an admin's key may read who changed what", "main")
        self.screenshot("history-not-admin")
        # A key that only reads sees what would change.
        self.sign_in(self.account.admin.issue("--read-only"), "#/history/%s/before" % event["id"])
        self.see("This key may change nothing.", ".restore")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.restore button').length"), 0)
        # It was an admin's key when the person signed in.
        self.view("#/history")
        self.see("Credential changed", ".timeline")
        self.stack.psql("UPDATE adit.principal SET is_admin = false WHERE id = '%s'"
                        % self.account.admin.id)
        self.click("button.reload")
        self.see("Error 9078.", ".error")

    def test_language(self):
        self.make()
        self.view("#/history")
        self.choose_text(".language", "Deutsch")
        self.see("Zugang angelegt", ".timeline")
        self.screenshot("history-german")

    def test_what_is_gone(self):
        for view in ("#/history/ae_9223372036854775807", "#/history/ae_9223372036854775807/before"):
            self.view(view)
            self.see("Error 9083.", ".error")

    def each_fault(self, check):
        self.make(description="in the history")
        self.view("#/history")
        self.see("Credential created", ".timeline")
        self.each([(name, (status, number)) for name, status, number in FAULTS], check)

    def test_list_goes_wrong(self):
        """Whatever the answer, the filter stays, and trying again succeeds."""
        self.each_fault(self.list_goes_wrong)

    def list_goes_wrong(self, fault):
        self.until("document.querySelector('.table-box > .state').innerText === ''", "the whole list")
        typed = 'obj.event != "%s"' % fault[0]
        self.type(".filter-text input", typed)
        acts = iter([lambda: self.click(".filter button"),
                     lambda: fault[0] == 401 or self.click(".error button")])
        self.check_fault(fault, "GET", lambda: next(acts)(), ".error", lambda: self.filter_text(typed))
        self.see("Credential created", ".timeline")
        self.filter_text(typed)
        self.until("!document.querySelector('.error')", "no error")

    def test_opening_goes_wrong(self):
        """A change, and the way to restore it.  What is typed in another view stays."""
        self.each_fault(self.opening_goes_wrong)

    def opening_goes_wrong(self, fault):
        event = self.events('obj.event == "ssh_credential_created"')[0]["id"]
        for view, says in ((event, "What changed"), (event + "/before", "This will change")):
            self.go("#/credentials/new")
            self.type(".description input", "typed")
            acts = iter([lambda view=view: self.go("#/history/" + view),
                         lambda: fault[0] == 401 or self.click(".error button")])
            self.check_fault(fault, "GET", lambda acts=acts: next(acts)(), ".error", lambda: None)
            self.see(says, ".change")
            self.until("!document.querySelector('.error')", "no error")
            self.go("#/credentials/new")
            self.until("document.querySelector('.description input')?.value === 'typed'", "what was typed")


class Restore(HistoryCase):
    def test_credential(self):
        made = self.make(description="then", metadata="kept", acl=["bind:a.example"])
        self.client.patch(self.path(made), {"description": "later", "acl": []})
        event = self.view_restore(made["id"], "_updated", "before")
        self.see("This will change", ".restore")
        self.assertEqual(self.texts(".difference tbody th"), ["Description", "May bind"])
        self.screenshot("history-restore-credential")
        # Somebody changes it meanwhile: it is shown as it is now, and nothing is overwritten.
        self.client.patch(self.path(made), {"metadata": "meanwhile"})
        self.click(".restore .main")
        self.see("somebody else changed it meanwhile", ".restore .meanwhile")
        self.see("meanwhile", ".difference")
        self.assertEqual(self.client.get(self.path(made)).json["description"], "later")
        self.click(".restore .main")
        self.see("It is restored.", ".notice")
        self.see("Credential changed", ".timeline")
        found = self.client.get(self.path(made)).json
        self.assertEqual(found, made)
        self.click(".notice a")
        self.until("document.querySelector('.description input')?.value === 'then'", "what is restored")
        self.view("#/history/%s/before" % event["id"])
        self.see("It is like that now.", ".same-now")
        self.assertEqual(self.browser.evaluate("document.querySelector('.actions a.open').getAttribute('href')"),
                         "#/credentials/" + made["id"])
        self.screenshot("history-restore-same")
        # What did not exist before it was created is deleted.
        self.view_restore(made["id"], "_created", "before")
        self.see("Does not exist", ".difference")
        self.screenshot("history-restore-delete")
        self.click(".restore .main")
        self.see("It is deleted, as it was then.", ".notice")
        self.assert_error(self.client.get(self.path(made)), 9002)

    def run_command(self, *more):
        """Runs the command that the page shows."""
        words = shlex.split(self.text(".command"))
        self.assertEqual(words[0], "aditctl")
        return self.stack.ctl_run(words[1], *more, *words[2:])

    def test_deleted_credential(self):
        owner = self.account.person("user")
        made = self.make(description="gone", metadata="m", acl=["bind:a.example"], owner_id=owner.id)
        # A command that names a time leads back to the end of that second.
        self.stack.psql("UPDATE adit.audit_event SET at = at - interval '1 hour' WHERE resource = '%s'"
                        % made["id"])
        self.assert_ok(self.client.delete(self.path(made)), 204)
        for side, verb in (("before", "_deleted"), ("after", "_created")):
            self.view_restore(made["id"], verb, side)
            self.see("so it gets a new one, and a new time of creation", ".hindered")
            self.see("Identifier\tDoes not exist\tA new identifier", ".difference")
            self.see("Created\tThe time of restoring", ".difference")
            self.see(owner.id, ".difference")
            done = self.run_command("--dry-run")
            self.assertIn(made["id"], done.stdout, done.stderr)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.screenshot("history-restore-deleted")
        self.click(".restore .main")
        self.see("The credential exists again, with a new identifier.", ".notice")
        self.until("document.querySelector('.description input')?.value === 'gone'", "its view")
        new = self.browser.evaluate("location.hash").rpartition("/")[2]
        found = self.client.get("/ssh_credentials/" + new).json
        self.assertNotEqual(new, made["id"])
        for name in ("description", "metadata", "acl", "public_key", "owner_id"):
            self.assertEqual(found[name], made[name])
        # Its owner is gone: it goes to the caller.
        self.stack.ctl("user", "delete", "--with-credentials", "--yes", owner.id)
        self.view_restore(made["id"], "_deleted", "before")
        self.click(".restore .main")
        self.see("Error 9011.", ".restore .error")
        self.browser.evaluate("document.querySelector('.own input').click()")
        self.see("Owner\tThe User or Bot of this key", ".difference")
        self.click(".restore .main")
        self.see("The credential exists again", ".notice")
        new = self.browser.evaluate("location.hash").rpartition("/")[2]
        self.assertEqual(self.client.get("/ssh_credentials/" + new).json["owner_id"],
                         self.account.admin.id)

    def test_modules(self):
        path = OAUTH % "back"
        self.assert_ok(self.client.put(path, oauth(teams=["o/t"], scopes=["s"])))
        then = self.client.get(path).json
        self.assert_ok(self.client.put(path, {**oauth(secret="another"), "enabled": False}))
        # The stored secret is of the same client.
        self.view_restore("back/r", "_updated", "before")
        self.see("Leave this empty to keep the one that is stored now", ".secret")
        self.screenshot("history-restore-oauth")
        self.click(".restore .main")
        self.see("It is restored.", ".notice")
        then["provider"]["provider_a"]["client_secret"] = "another"
        self.assertEqual(self.client.get(path).json, then)
        self.assert_ok(self.client.delete(path), 204)
        self.view_restore("back/r", "_deleted", "before")
        self.see("so type that of this client ID", ".secret")
        self.assertEqual(self.browser.evaluate("document.querySelector('.restore .main').disabled"), True)
        self.type(".secret input", SECRET)
        self.screenshot("history-restore-oauth-deleted")
        # Somebody creates it meanwhile.  What was typed stays.
        self.assert_ok(self.client.put(path, {}))
        self.click(".restore .main")
        self.see("somebody else changed it meanwhile", ".restore .meanwhile")
        self.assertEqual(self.value(".secret input"), SECRET)
        self.click(".restore .main")
        self.see("It is restored.", ".notice")
        then["provider"]["provider_a"]["client_secret"] = SECRET
        self.assertEqual(self.client.get(path).json, then)
        path = MUTUAL_TLS % "back"
        self.assert_ok(self.client.put(path, {"certificate_authority_ids": ["ca_2", "ca_1"]}))
        self.assert_ok(self.client.put(path, {"enabled": False}))
        self.view_restore("back", "_updated", "before")
        self.click(".restore .main")
        self.see("It is restored.", ".notice")
        found = self.client.get(path).json
        self.assertEqual((found["enabled"], [one["id"] for one in found["certificate_authorities"]]),
                         (True, ["ca_2", "ca_1"]))

    def test_what_cannot_be_restored(self):
        person = self.account.person("user")
        self.stack.ctl("user", "disable", person.id)
        self.view_restore(person.id, "_updated", "before")
        self.see("The interface cannot change accounts, Users and Bots.", ".hindered")
        self.assertIn(person.id, self.run_command("--dry-run").stdout)
        self.screenshot("history-restore-user")
        key = self.events('obj.event == "api_key_created"')[0]
        self.view("#/history/%s/after" % key["id"])
        self.see("An API key is never restored", ".hindered")
        self.assertRegex(self.run_command().stdout, "^adit_")
        # The interface cannot change who owns a credential.
        made = self.make(description="then")
        self.stack.ctl("user", "enable", person.id)
        self.client.patch(self.path(made), {"description": "later"})
        self.stack.psql("UPDATE adit.ssh_credential SET owner_id = '%s' WHERE id = '%s'"
                        % (person.id, made["id"]))
        self.view_restore(made["id"], "_created", "after")
        self.see("so they stay as they are now: Owner.", ".hindered")
        self.see("Stays as it is now", ".difference")
        self.screenshot("history-restore-owner")
        self.click(".restore .main")
        self.see("It is restored.", ".notice")
        found = self.client.get(self.path(made)).json
        self.assertEqual((found["description"], found["owner_id"]), ("then", person.id))
        # Only the owner differs now: there is nothing that this could write.
        self.view_restore(made["id"], "_created", "after")
        self.see("so they stay as they are now: Owner.", ".hindered")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.restore button').length"), 0)

    def test_faults(self):
        """Whatever the answer, nothing is lost, and the same click succeeds later."""
        for name in ("patch", "post", "put", "delete"):
            with self.subTest(name):
                getattr(self, "faults_of_" + name)()

    def check_faults(self, method, check):
        def act():
            self.click(".restore .main")
        self.fail_in_all_ways(act, method, check, self.account.admin.key, ".restore .error")
        # The service takes its time.
        self.browser.call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        self.answer_instead(method, 503, {}, {})
        act()
        self.see("Saving", ".restore .main")
        self.assertEqual(self.browser.evaluate("document.querySelector('.restore .main').disabled"), True)
        check()
        self.browser.call("Fetch.disable")

    def faults_of_patch(self):
        made = self.make(description="then")
        self.client.patch(self.path(made), {"description": "later"})
        self.view_restore(made["id"], "_updated", "before")
        self.check_faults("PATCH", lambda: self.see("later", ".difference del"))
        self.see("It is restored.", ".notice")
        self.assertEqual(self.client.get(self.path(made)).json, made)

    def faults_of_post(self):
        made = self.make(description="posted once", owner_id=self.account.member.id)
        self.assert_ok(self.client.delete(self.path(made)), 204)
        self.view_restore(made["id"], "_deleted", "before")
        self.until("document.querySelector('.own input')", "the form")
        self.browser.evaluate("document.querySelector('.own input').click()")
        self.check_faults("POST", lambda: self.until(
            "document.querySelector('.own input')?.checked", "what was ticked"))
        self.see("The credential exists again", ".notice")
        found = self.client.get("/ssh_credentials?filter=" + urllib.parse.quote(
            'obj.description == "posted once"')).json["ssh_credentials"]
        self.assertEqual([one["owner_id"] for one in found], [self.account.admin.id])

    def faults_of_put(self):
        path = OAUTH % "faults"
        self.assert_ok(self.client.put(path, oauth()))
        self.assert_ok(self.client.delete(path), 204)
        self.view_restore("faults/r", "_deleted", "before")
        self.type(".secret input", "typed")
        self.check_faults("PUT", lambda: self.until(
            "document.querySelector('.secret input')?.value === 'typed'", "what was typed"))
        self.see("It is restored.", ".notice")
        self.assertEqual(self.client.get(path).json["provider"]["provider_a"]["client_secret"], "typed")

    def faults_of_delete(self):
        self.assert_ok(self.client.put(MUTUAL_TLS % "faults", {"enabled": False}))
        self.view_restore("faults", "_created", "before")
        self.check_faults("DELETE", lambda: self.see("Does not exist", ".difference"))
        self.see("It is deleted", ".notice")
        self.assert_error(self.client.get(MUTUAL_TLS % "faults"), 9004)
