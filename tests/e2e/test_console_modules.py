# SPDX-License-Identifier: MIT
"""The console's room of routes and edges, in a browser against the stack."""
import json

from adit.console import FAULTS, HOSTILE, ConsoleCase
from adit.reference import openapi

EMOJI = "\U0001f600" * 63 + "abc"  # 255 bytes
SECRET = "hush-hush-hush"
SAVE = "form.edit button.main"


class Kind:
    """A kind of module: its views, its requests, and a field to type into."""

    def __init__(self, name, route, body, field, typed):
        self.name, self.route, self.body, self.field, self.typed = name, route, body, field, typed
        self.list = "#/modules/" + name
        self.new = "#/modules/new/" + name

    def view(self, edge):
        return "%s/%s%s" % (self.list, edge, "/r" if self.route else "")

    def path(self, edge):
        return "/edges/https/%s/routes/r/oauth" % edge if self.route else "/edges/tls/%s/mutual_tls" % edge


OAUTH = Kind("oauth", True, {"enabled": True, "provider": {"provider_a": {
    "client_id": "app", "client_secret": SECRET, "scopes": ["user"], "email_addresses": ["u@a.example"],
    "email_domains": ["a.example"], "teams": ["o/t"], "organizations": ["o"]}},
    "options_passthrough": True, "cookie_prefix": "x", "inactivity_timeout": 60,
    "maximum_duration": 86400, "auth_check_interval": 1}, ".organizations textarea", "o\ntyped")
MUTUAL_TLS = Kind("mutual_tls", False, {"enabled": True, "certificate_authority_ids": ["ca-1", "ca-2"]},
                  ".certificate_authority_ids textarea", "ca-1\ntyped")
KINDS = (OAUTH, MUTUAL_TLS)


class Modules(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.account = self.stack.account("modules")
        self.client = self.stack.client(self.account.admin.key)

    def put(self, kind, edge="e", **changes):
        return self.assert_ok(self.client.put(kind.path(edge), {**kind.body, **changes}))

    def stored(self, kind, edge="e"):
        return self.assert_ok(self.client.get(kind.path(edge)))

    def enter(self, view, size="desktop", key=None):
        self.sign_in(key or self.account.admin.key, view, size)

    def open_module(self, kind, edge="e"):
        self.enter(kind.view(edge))
        self.until("document.querySelector(%s)" % json.dumps(kind.field), "the form")

    def check_secret(self, secret=SECRET):
        """The secret is in no element, field, address or storage of the page."""
        self.assertNotIn(secret, self.browser.evaluate("""[
            document.documentElement.outerHTML, location.href,
            JSON.stringify(sessionStorage) + JSON.stringify(localStorage),
            ...[...document.querySelectorAll("input, textarea")].map((field) => field.value)].join()"""))

    # ---- lists ----

    def test_lists(self):
        self.put(OAUTH)
        self.put(OAUTH, "closed", provider=None)
        self.put(OAUTH, "off", enabled=False)
        self.put(OAUTH, "anyone", provider={"provider_c": {}})
        self.put(OAUTH, "several", provider={"provider_c": {
            "email_domains": ["%s.example" % name for name in "abcde"]}})
        self.put(OAUTH, "unverified", provider={"provider_b": {"email_domains": ["a.example"]}})
        self.put(OAUTH, "scoped", provider={"provider_a": {
            "client_id": "app", "client_secret": SECRET, "scopes": ["repo"], "teams": ["o/t"],
            "organizations": ["o"]}})
        self.put(MUTUAL_TLS)
        self.put(MUTUAL_TLS, "closed", certificate_authority_ids=[])
        self.put(MUTUAL_TLS, "off", enabled=False)
        self.put(MUTUAL_TLS, "several", certificate_authority_ids=["ca_%d" % n for n in range(5)])
        self.enter("#/modules")
        for words in ("Lets nobody in: no provider", "Disabled: lets everybody in",
                      "Open to everybody: anyone with an account at Microsoft",
                      "Lets nobody in: Facebook verifies no addresses",
                      "Lets in: team o/t; Organizations let nobody in: the module's scopes do not let the service read what is needed",
                      "Lets in: address u@a.example; email domain a.example; team o/t; organization o",
                      "Lets in: email domains a.example, b.example and 3 more"):
            self.see(words, ".table")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.passing.nobody').length"), 2)
        self.check_secret()
        self.screenshot("modules-oauth")
        self.see("provider_c (Microsoft)", ".table .body")
        self.click("a.closed")
        self.narrowed(2, 'obj.admits == "nobody"')
        self.click("a.open")
        self.narrowed(2, 'obj.admits == "anyone" || obj.enabled == false')
        self.click(".filter a.button")
        self.see("anyone", ".table")
        # Clicks narrow the list further.
        self.go('#/modules?filter=obj.edge_id == "anyone"')
        self.narrowed(1, 'obj.edge_id == "anyone"')
        self.click(".table .provider a")
        self.narrowed(1, 'obj.edge_id == "anyone" && obj.provider == "provider_c"')
        self.go('#/modules?filter=obj.provider == "provider_c"')
        self.narrowed(2, 'obj.provider == "provider_c"')
        self.click(".table .state a")
        self.click(".table .route .narrow")
        self.narrowed(1, 'obj.provider == "provider_c" && obj.enabled == true && obj.edge_id == "anyone"')
        self.bad_filter()
        self.click(".kinds a[href='#/modules/mutual_tls']")
        self.see("Lets nobody in: no authority", ".table")
        self.see("Lets in: certificates of 2 authorities", ".table")
        self.see("Disabled: lets everybody in", ".table")
        self.see("ca_0, ca_1, ca_2 and 2 more", ".table")
        self.screenshot("modules-mutual-tls")
        self.click(".table .authorities a")
        self.narrowed(2, '"ca-1" in obj.certificate_authority_ids')
        self.click(".kinds a[href='#/modules/mutual_tls']")
        self.click("a.closed")
        self.narrowed(1, "obj.enabled == true && size(obj.certificate_authority_ids) == 0")
        self.bad_filter()

    def narrowed(self, n, filter_text):
        self.until("document.querySelector('.filter input').value === %s" % json.dumps(filter_text),
                   "the filter " + filter_text)
        self.until("document.querySelector('.table').ariaRowCount === '%d'" % (n + 1), "%d rows" % n)

    def bad_filter(self):
        self.type(".filter input", "obj.nothing == 1")
        self.click(".filter button")
        self.see("obj.nothing", ".filter .fault")
        self.see("Error 250.", ".filter .fault")
        self.assertEqual(self.value(".filter input"), "obj.nothing == 1")

    def test_many_rows(self):
        """Pages arrive without a jump."""
        for kind, table, columns, select in (
                (OAUTH, "oauth_module", "edge_id, route_id, enabled, options_passthrough, inactivity_timeout,"
                 " maximum_duration, auth_check_interval", "'e' || lpad(n::text, 3, '0'), 'r', true, false, 0, 0, 0"),
                (MUTUAL_TLS, "mutual_tls_module", "edge_id, enabled", "'e' || lpad(n::text, 3, '0'), true")):
            with self.subTest(kind.name):
                self.stack.psql("INSERT INTO adit.%s (account_id, %s) SELECT '%s', %s"
                                " FROM generate_series(0, 229) AS n" % (
                                    table, columns, self.account.id, select))
                self.enter(kind.list)
                self.see("e000", ".table")
                self.assertLess(len(self.rows()), 60)
                self.until("(document.querySelector('.table .body').scrollTo(0, 1e6), "
                           "document.querySelector('.table').ariaRowCount === '231')", "all pages")
                self.see("e229", ".table .body")
                self.browser.evaluate("document.querySelector('.table .body').scrollTo(0, 56 * 100)")
                self.until("""[...document.querySelectorAll('.body .row')].some((row) =>
                    row.innerText.includes('e100') && row.ariaRowIndex === '102')""", "the row in its place")
                self.assertLess(len(self.rows()), 60)

    # ---- forms ----

    def test_creating_oauth(self):
        # An account without a module, so the names of the providers come from the service.
        self.enter(OAUTH.list)
        self.see("There are no OAuth modules.", ".table-box")
        self.click("a.main")
        self.until("document.querySelector('.provider select')?.options.length === %d"
                   % (1 + len(openapi.PROVIDERS)), "the providers")
        self.see("Lets nobody in: no provider", ".passing")
        # Nothing is accepted where nothing is typed.
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.says').length"), 0)
        self.type(".edge_id input", "e/1")
        self.see("Error 9070: e/1: an identifier has", ".edge_id .fault")
        self.assertTrue(self.browser.evaluate("document.querySelector(%s).disabled" % json.dumps(SAVE)))
        self.type(".edge_id input", "edge-1")
        self.type("form .id input", "r")
        self.choose(".provider select", "provider_b")
        self.until("!document.querySelector('.teams')", "no teams")
        self.choose(".provider select", "provider_a")
        self.see("anyone with an account at GitHub", ".passing")
        self.see("provider_a (GitHub)", ".provider select")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.provider ~ * .says').length"), 0)
        # A label is in words, and the member's name is beside it.
        self.assertEqual(self.text(".client_id label"), "Client ID of your OAuth application client_id")
        self.assertEqual(self.text(".client_id label .member"), "client_id")
        self.live_checks()
        self.screenshot("module-oauth-new")
        members = OAUTH.body["provider"]["provider_a"]
        self.type(".client_id input", "app")
        self.see("Error 383", ".client_secret .fault")
        self.type(".client_secret input", SECRET)
        self.see("Accepted: 14 of at most 1,024 bytes", ".client_secret")
        for name in ("scopes", "email_addresses", "email_domains", "teams", "organizations"):
            self.type(".%s textarea" % name, "\n".join(members[name]))
            self.see("Accepted: 1 of at most 1,000 entries", "." + name)
        for name, text, says in (("inactivity_timeout", "60", "1 minute"), ("maximum_duration", "8.64E+4", "1 day"),
                                 ("auth_check_interval", "1", "1 second")):
            self.type(".%s input" % name, text)
            self.see("Accepted: " + says, "." + name)
        self.type(".cookie_prefix input", "x")
        self.choose(".options_passthrough input", True)
        self.click(SAVE)
        self.see("The module is created.", ".notice")
        self.see("A secret is stored. Leave the field empty to keep it.", ".client_secret")
        stored = self.stored(OAUTH, "edge-1")
        self.assertEqual(stored["provider"]["provider_a"], members)
        self.assertEqual({name: stored[name] for name in OAUTH.body if name != "provider"},
                         {name: value for name, value in OAUTH.body.items() if name != "provider"})
        self.check_secret()
        self.screenshot("module-oauth")
        # Nothing of it is left for the next one.
        self.go(OAUTH.new)
        self.until("document.querySelector('.edge_id input')?.value === ''", "an empty form")

    def live_checks(self):
        """What the server would refuse, by its numbers, while one types."""
        for name, text, says in (
                ("email_addresses textarea", "u@a.example\nu@v@w", "Error 7043: u@v@w: an address"),
                ("organizations textarea", "x" * 1025, "the entry has 1,025 bytes; at most 1,024"),
                ("client_secret input", "s", "Error 384"),
                ("inactivity_timeout input", "4294967296", "Error 215")):
            field = name.split()[0]
            self.type("." + name, text)
            # The number of client_secret without client_id stands at the member that is missing.
            self.see(says, ".client_id .fault" if says == "Error 384" else ".%s .fault" % field)
            self.check_blocked(True)
            if text == "x" * 1025:
                self.type("." + name, "\n".join("%04d" % n + "x" * 1020 for n in range(70)))
                self.see("Error 9006", ".fault.body")
            self.type("." + name, "")
            self.until("!document.querySelector('.%s .fault')" % field, "no fault")
        self.check_blocked(False)

    def check_blocked(self, is_blocked):
        """What the server would refuse is not sent."""
        self.until("document.querySelector(%s).disabled === %s && Boolean(document.querySelector('.blocked')) === %s"
                   % (json.dumps(SAVE), *(json.dumps(is_blocked),) * 2), "blocked: %s" % is_blocked)

    def test_creating_mutual_tls(self):
        self.enter(MUTUAL_TLS.list)
        self.see("There are no mutual TLS modules.", ".table-box")
        self.click("a.main")
        self.type(".edge_id input", "e")
        self.see("Lets nobody in: no authority", ".passing")
        self.type(MUTUAL_TLS.field, "a b")
        self.see("Error 228: a b", ".certificate_authority_ids .fault")
        self.check_blocked(True)
        self.screenshot("module-mutual-tls-new")
        self.type(MUTUAL_TLS.field, "ca-2\nca-1")
        self.choose(".enabled input", False)
        self.see("Disabled: lets everybody in", ".passing")
        self.click(SAVE)
        self.see("The module is created.", ".notice")
        stored = self.stored(MUTUAL_TLS)
        self.assertEqual((stored["enabled"], [one["id"] for one in stored["certificate_authorities"]]),
                         (False, ["ca-2", "ca-1"]))
        self.screenshot("module-mutual-tls")

    def test_secrets(self):
        """A secret that is left alone stays.  Another client_id or provider needs another one."""
        before = self.put(OAUTH)
        self.open_module(OAUTH)
        self.type(".organizations textarea", "o\np")
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.assertEqual(self.stored(OAUTH)["provider"]["provider_a"],
                         {**before["provider"]["provider_a"], "organizations": ["o", "p"]})
        self.type(".client_id input", "app-2")
        self.see("Error 383: enter the secret again.", ".client_secret .fault")
        self.check_blocked(True)
        self.screenshot("module-oauth-refused")
        self.type(".client_id input", "app")
        self.see("Leave the field empty to keep it", ".client_secret")
        self.type(".client_secret input", "another-one")
        self.see("It replaces the stored secret.", ".client_secret")
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.until("document.querySelector('.client_secret input').value === ''", "an empty field")
        self.assertEqual(self.stored(OAUTH)["provider"]["provider_a"]["client_secret"], "another-one")
        self.check_secret("another-one")
        self.type(".client_id input", "")
        self.type(".scopes textarea", "")
        self.click(SAVE)
        self.until("!document.querySelector('.discard')", "saved")
        self.assertEqual(self.stored(OAUTH)["provider"]["provider_a"]["client_secret"], None)

    def test_lost_secret(self):
        """The service cannot decrypt a secret.  The rest is shown, and the secret is asked for."""
        self.put(OAUTH)
        self.stack.psql("UPDATE adit.oauth_module SET client_secret_key_id = 'gone'"
                        " WHERE account_id = '%s'" % self.account.id)
        self.open_module(OAUTH)
        self.see("Error 383: enter the secret again.", ".client_secret .fault")
        self.assertEqual(self.value(".organizations textarea"), "o")
        self.click("button.delete")
        self.see("the secret, which has to be entered again", ".notice")
        self.click("button.undo")
        self.see("Enter the secret", ".notice")
        self.see("Error 383", ".client_secret .fault")
        self.assertEqual((self.value(".edge_id input"), self.value("form .id input")), ("e", "r"))
        self.type(".client_secret input", "typed again")
        self.click(SAVE)
        self.see("The module is created.", ".notice")
        self.assertEqual(self.stored(OAUTH)["provider"]["provider_a"],
                         {**OAUTH.body["provider"]["provider_a"], "client_secret": "typed again"})

    def test_hostile_rows(self):
        """In every member, also what only psql can store."""
        self.put(OAUTH, "e" * 255, provider={"provider_a": {
            "client_id": HOSTILE, "client_secret": HOSTILE, "scopes": [HOSTILE, " two\nlines ", EMOJI, "user"],
            "email_addresses": ["<b>\"'&lt;@a.example"], "teams": ["<b>/\"'"],
            "organizations": [HOSTILE, EMOJI, "\u05d0\u05d1\u05d2 " * 30, "e" + "\u0301" * 120, "\"x\""]}},
            cookie_prefix="&'`|")
        before = self.stored(OAUTH, "e" * 255)
        self.put(OAUTH, "psql")
        self.put(MUTUAL_TLS, "psql")
        self.stack.psql(
            "UPDATE adit.oauth_module SET email_addresses = ARRAY[$t$%s$t$],"
            " email_domains = ARRAY[$t$%s$t$], teams = ARRAY[$t$%s$t$] WHERE edge_id = 'psql';"
            "UPDATE adit.mutual_tls_module SET certificate_authority_ids = ARRAY[$t$%s$t$]"
            " WHERE edge_id = 'psql'" % ((HOSTILE,) * 4))
        for size in ("desktop", "phone"):
            for kind, edge in ((OAUTH, "e" * 255), (OAUTH, "psql"), (MUTUAL_TLS, "psql")):
                self.enter(kind.list, size)
                self.see("psql", ".table")
                self.check_calm(".table")
                self.screenshot("modules-hostile-%s-%s" % (kind.name, size))
                self.go(kind.view(edge))
                self.until("document.querySelector(%s)" % json.dumps(kind.field), "the form")
                self.check_calm("form")
                self.screenshot("module-hostile-%s-%s-%s" % (kind.name, edge[:4], size))
        # A change of one member leaves the others as they are.
        self.go(OAUTH.view("e" * 255))
        self.until("document.querySelector('.client_id')", "the form")
        self.type(".maximum_duration input", "7")
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.assertEqual(self.stored(OAUTH, "e" * 255), {**before, "maximum_duration": 7})

    def test_keys_that_may_not_write(self):
        self.put(OAUTH)
        self.put(MUTUAL_TLS)
        for name, key in (("read-only", self.account.read_only_key), ("own", self.account.own_key)):
            for kind in KINDS:
                with self.subTest(name + " " + kind.name):
                    self.enter(kind.list, key=key)
                    self.see("Lets in", ".table")
                    self.assertFalse(self.browser.evaluate("!!document.querySelector('a.main')"))
                    self.go(kind.view("e"))
                    self.see("This API key may not change modules", "form")
                    self.assertFalse(self.browser.evaluate("!!document.querySelector('form button, form .fault')"))
                    self.assertEqual(self.browser.evaluate(
                        "[...document.querySelectorAll('form :is(input[type=text], textarea)')].filter((one) =>"
                        " !one.readOnly).length + document.querySelectorAll('form :is([type=checkbox], select):enabled').length"), 0)
                    self.go(kind.new)
                    self.see("This API key may not change modules", ".edit")
                    self.absent("form.edit")
        self.screenshot("module-read-only")

    def test_keyboard(self):
        for edge in ("e1", "e2"):
            self.put(MUTUAL_TLS, edge)
        self.enter(MUTUAL_TLS.list)
        self.see("e2", ".table")
        self.browser.evaluate("document.querySelector('.table .row a').focus()")
        self.press("ArrowDown", 40)
        self.until("document.activeElement.innerText === 'e2'", "the second row")
        self.press("Enter", 13, "\r")
        self.until("document.querySelector('.enabled input')", "the form")
        self.browser.evaluate("document.querySelector('.enabled input').focus()")
        self.press(" ", 32, " ")
        self.see("Disabled: lets everybody in", ".passing")
        self.press("Enter", 13, "\r")
        self.see("The changes are saved.", ".notice")
        self.assertEqual(self.stored(MUTUAL_TLS, "e2")["enabled"], False)

    def test_german(self):
        self.put(OAUTH)
        self.open_module(OAUTH)
        self.choose(".language", "de")
        self.see("Ein Geheimnis ist gespeichert.", ".client_secret")
        self.see("Angenommen: 1 Tag", ".maximum_duration")
        self.screenshot("module-oauth-german")
        self.go(OAUTH.list)
        self.see("Lässt ein: Adresse u@a.example", ".table")

    # ---- two people ----

    def test_two_people(self):
        for choice, oauth, tls in (
                ("take-theirs", ("theirs", 60, ["o", "t"]), (False, ["ca-1", "t"])),
                ("take-yours", ("x", 7, ["o", "y"]), (True, ["ca-1", "y"])),
                ("take-both", ("theirs", 7, ["o", "t", "y"]), (False, ["ca-1", "t", "y"]))):
            with self.subTest(choice):
                self.two_at_oauth(choice, oauth)
                self.two_at_tls(choice, tls)

    def resolve(self, choice):
        self.see("Changed meanwhile", ".conflict")
        self.screenshot("module-conflict")
        self.click("." + choice)
        self.until("!document.querySelector('.conflict')", "the form again")
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")

    def two_at_oauth(self, choice, wanted):
        self.put(OAUTH)
        self.open_module(OAUTH)
        self.type(".organizations textarea", "o\ny")
        self.type(".inactivity_timeout input", "7")
        config = {**OAUTH.body["provider"]["provider_a"], "organizations": ["o", "t"], "client_secret": "theirs too"}
        self.put(OAUTH, cookie_prefix="theirs", provider={"provider_a": config})
        self.click(SAVE)
        self.see("theirs", ".conflict")
        self.check_secret("theirs too")
        self.resolve(choice)
        stored = self.stored(OAUTH)
        self.assertEqual((stored["cookie_prefix"], stored["inactivity_timeout"],
                          stored["provider"]["provider_a"]["organizations"]), wanted)
        self.assertEqual(stored["provider"]["provider_a"]["client_secret"], "theirs too")

    def two_at_tls(self, choice, wanted):
        self.put(MUTUAL_TLS, certificate_authority_ids=["ca-1"])
        self.open_module(MUTUAL_TLS)
        self.type(MUTUAL_TLS.field, "ca-1\ny")
        self.put(MUTUAL_TLS, enabled=False, certificate_authority_ids=["ca-1", "t"])
        self.click(SAVE)
        self.resolve(choice)
        stored = self.stored(MUTUAL_TLS)
        self.assertEqual((stored["enabled"], [one["id"] for one in stored["certificate_authorities"]]), wanted)

    def test_others_meanwhile(self):
        """Somebody else deletes, creates or changes the module while a person works on it."""
        for kind in KINDS:
            with self.subTest(kind.name):
                self.others_meanwhile(kind)

    def others_meanwhile(self, kind):
        self.put(kind)
        self.open_module(kind)
        self.type(kind.field, kind.typed)
        self.assert_ok(self.client.delete(kind.path("e")), 204)
        self.click(SAVE)
        self.see("Somebody else deleted it meanwhile.", "form .warning")
        self.screenshot("module-gone")
        self.assertEqual(self.value(kind.field), kind.typed)
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.assertIn("typed", json.dumps(self.stored(kind)))
        # Deleting what somebody else changed, and creating what somebody else created.
        self.put(kind, enabled=False)
        self.click("button.delete")
        self.see("Not done: somebody else changed it", ".spared")
        self.absent(".error")
        self.until("!document.querySelector('.enabled input').checked", "what is stored")
        self.click("button.delete")
        self.see("Deleted: ", ".notice")
        self.see("The route is open to everybody now" if kind is OAUTH else "The edge asks for no client certificate now",
                 ".notice")
        self.assertNotIn("members", self.text(".notice"))
        self.put(kind)
        self.click("button.undo")
        self.see("There is one already", ".conflict")
        self.click(".take-yours")
        self.until("!document.querySelector('.conflict')", "the form")
        self.assertEqual(self.stored(kind)["enabled"], True)
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.assertEqual(self.stored(kind)["enabled"], False)

    def test_creating_what_exists(self):
        """A new module replaces none.  The person may open the one that is there."""
        for kind in KINDS:
            for choice, n in (("cancel", 2), ("take-theirs", 2), ("take-both", 3), ("take-yours", 1)):
                with self.subTest("%s, %s" % (kind.name, choice)):
                    self.put(kind, **({"provider": {"provider_a": {"organizations": ["o", "p"]}}} if kind is OAUTH else {}))
                    self.creating_what_exists(kind, choice, n)

    def creating_what_exists(self, kind, choice, n):
        before = self.stored(kind)
        self.enter(kind.new)
        self.type(".edge_id input", "e")
        if kind is OAUTH:
            self.type("form .id input", "r")
            self.choose(".provider select", "provider_a")
        self.type(kind.field, "typed")
        self.click(SAVE)
        self.see("There is one already", ".conflict")
        self.assertNotIn("Changed meanwhile", self.text("body"))
        self.screenshot("module-exists")
        self.click(".conflict ." + choice)
        self.absent(".conflict")
        view = kind.new if choice == "cancel" else kind.view("e")
        self.until("location.hash === %s" % json.dumps(view), view)
        self.until("document.querySelector(%s)?.value.split('\\n').length === %d"
                   % (json.dumps(kind.field), 1 if choice == "cancel" else n), "the entries")
        if choice == "take-theirs":
            # What was typed is still in the form for a new one.
            self.go(kind.new)
            self.until("document.querySelector(%s)?.value === 'typed'" % json.dumps(kind.field), "what was typed")
        self.assertEqual(self.stored(kind), before)

    def test_spaces_in_identifiers(self):
        """They are an error, and stay as they are typed."""
        for kind in KINDS:
            with self.subTest(kind.name):
                self.enter(kind.new)
                for text in ("a b", " a", "a "):
                    self.type(".edge_id input", text)
                    self.see("an identifier has no spaces", ".edge_id .fault")
                    self.kept(".edge_id input", text)()
                self.type(".edge_id input", "a")
                self.absent(".edge_id .fault")

    # ---- answers that go wrong ----

    def each_fault(self, check):
        self.enter("#/credentials")
        for kind in KINDS:
            self.each([("%s %s" % (kind.name, name), kind, (status, number)) for name, status, number in FAULTS],
                      check)

    def test_list_goes_wrong(self):
        for kind in KINDS:
            self.put(kind)
        self.each_fault(self.list_goes_wrong)

    def list_goes_wrong(self, kind, fault):
        self.go("#/credentials")
        self.see("Credentials", "h1")
        self.go(kind.list)
        self.see("Lets in", ".table .body")
        self.until("document.querySelector('.table-box > .state').innerText === ''", "the whole list")
        self.type(".filter input", "typed")
        self.check_fault(fault, "GET", lambda: self.click(".title button"), ".error",
                         self.kept(".filter input", "typed"))
        self.see("Lets in", ".table .body")
        self.until("!document.querySelector('.error')", "no error")
        self.kept(".filter input", "typed")()

    def test_opening_goes_wrong(self):
        for kind in KINDS:
            self.put(kind)
        self.each_fault(self.opening_goes_wrong)

    def opening_goes_wrong(self, kind, fault):
        # What is typed in another form stays too.
        self.go("#/credentials/new")
        self.type(".description input", "typed")
        acts = iter([lambda: self.go(kind.view("e")),
                     lambda: fault[0] == 401 or self.click(".error button")])
        self.check_fault(fault, "GET", lambda: next(acts)(), ".error", lambda: None)
        self.until("document.querySelector(%s)" % json.dumps(kind.field), "the form")
        self.go("#/credentials/new")
        self.until("document.querySelector('.description input')?.value === 'typed'", "what was typed")

    def test_creating_goes_wrong(self):
        self.each_fault(self.creating_goes_wrong)

    def creating_goes_wrong(self, kind, fault):
        edge = "e-%s" % fault[0]
        self.go(kind.new)
        self.type(".edge_id input", edge)
        if kind is OAUTH:
            self.type("form .id input", "r")
            self.choose(".provider select", "provider_a")
        self.type(kind.field, kind.typed)
        self.check_fault(fault, "PUT", lambda: self.click(SAVE), "form .error", self.kept(kind.field, kind.typed))
        self.see("The module is created.", ".notice")
        self.assertIn("typed", json.dumps(self.stored(kind, edge)))

    def test_saving_goes_wrong(self):
        self.each_fault(self.saving_goes_wrong)

    def saving_goes_wrong(self, kind, fault):
        edge = "s-%s" % fault[0]
        self.put(kind, edge)
        self.go(kind.view(edge))
        self.type(kind.field, kind.typed)
        typed = [kind.typed]
        if fault[0] == "slow":
            # What is typed while the request runs stays too.
            self.answer_instead("PUT")
            self.click(SAVE)
            held = self.hold_answer()
            typed.append(kind.typed + "\nlater")
            self.type(kind.field, typed[1])
            self.release(held)
            self.see("The changes are saved.", ".notice")
            self.kept(kind.field, typed[1])()
            self.assertNotIn("later", json.dumps(self.stored(kind, edge)))
            self.click(SAVE)
            self.until("!document.querySelector('.discard')", "saved")
        else:
            self.check_fault(fault, "PUT", lambda: self.click(SAVE), "form .error",
                             self.kept(kind.field, kind.typed), conflicts=True)
            self.see("The changes are saved.", ".notice")
        self.assertIn(typed[-1].split("\n")[-1], json.dumps(self.stored(kind, edge)))

    def test_answer_that_is_lost(self):
        """The change is made, and its answer does not arrive.  Saving again finds nothing to settle."""
        for kind in KINDS:
            self.put(kind)
            self.open_module(kind)
            self.type(kind.field, kind.typed)
            self.answer_instead("PUT")
            self.click(SAVE)
            config = {**OAUTH.body["provider"]["provider_a"], "organizations": ["o", "typed"]}
            self.put(kind, **({"provider": {"provider_a": config}} if kind is OAUTH
                              else {"certificate_authority_ids": ["ca-1", "typed"]}))
            self.let_answer()
            self.see("The service cannot be reached.", ".error")
            self.click(SAVE)
            self.see("The changes are saved.", ".notice")

    def test_deleting_goes_wrong(self):
        self.each_fault(self.deleting_goes_wrong)

    def deleting_goes_wrong(self, kind, fault):
        edge = "d-%s" % fault[0]
        self.put(kind, edge)
        self.go(kind.view(edge))
        self.type(kind.field, kind.typed)
        self.check_fault(fault, "DELETE", lambda: self.click("button.delete"), "form .error",
                         self.kept(kind.field, kind.typed), conflicts=True)
        self.see("Deleted: %s" % edge, ".notice")
        self.assertEqual(self.client.get(kind.path(edge)).status, 404)

    def test_undoing_goes_wrong(self):
        self.each_fault(self.undoing_goes_wrong)
        self.screenshot("module-undone")

    def undoing_goes_wrong(self, kind, fault):
        edge = "u-%s" % fault[0]
        before = self.put(kind, edge)
        self.go(kind.view(edge))
        self.click("button.delete")
        self.see("Deleted: %s" % edge, ".notice")
        self.type(".filter input", "typed")
        self.check_fault(fault, "PUT", lambda: self.click("button.undo"), ".notice .error",
                         self.kept(".filter input", "typed"))
        self.see("The module exists again.", ".notice")
        self.until("document.querySelector(%s)" % json.dumps(kind.field), "its view")
        self.assertEqual(self.stored(kind, edge), before)
