# SPDX-License-Identifier: MIT
"""The console's frame and its credentials, in a browser against the stack."""
import json

from adit import samples
from adit.console import ConsoleCase

HOSTILE = ("<script>document.title = 'hostile'</script><img src=x onerror=\"document.title="
           "'hostile'\"> javascript:alert(1) \"quoted\" 'quoted' \u202egnp.exe\u202c & &lt;")


class Console(ConsoleCase):
    def test_signing_in(self):
        self.open()
        self.screenshot("sign-in")
        self.type("input[type=password]", samples.well_formed_key())
        self.click(".sign-in button.main")
        self.see("The API key is unknown, expired or revoked", ".error")
        self.see("Error 203.", ".error")
        self.see("op_", ".error code")
        self.screenshot("sign-in-refused")
        self.type("input[type=password]", self.home.admin.key)
        self.click(".sign-in button.main")
        self.see("This key is an admin's. It may change everything of its account.", ".holder")
        self.assertEqual(self.browser.evaluate("sessionStorage.length"), 0)
        self.check_secret(self.home.admin.key)

    def check_secret(self, key):
        """The key is in no address."""
        addresses = self.browser.requests() + [self.browser.evaluate("location.href")]
        self.assertEqual([address for address in addresses if key in address], [])
        self.assertGreater(len(addresses), 5)

    def test_what_keys_may_do(self):
        self.each([("member", self.home.member.key, "is not an admin's. It may change everything"),
                   ("read-only", self.home.read_only_key, "may read and change nothing"),
                   ("own", self.home.own_key, "credentials of its User or Bot")], self.check_rights)

    def check_rights(self, key, says):
        self.sign_in(key)
        self.see(says, ".holder")

    def test_gateway_key(self):
        self.open()
        self.type("input[type=password]", self.home.gateway_key)
        self.click(".sign-in button.main")
        self.see("Error 9071.", ".error")

    def test_staying_signed_in(self):
        self.open()
        self.browser.evaluate("document.querySelector('.tick input').click()")
        self.type("input[type=password]", self.home.admin.key)
        self.click(".sign-in button.main")
        self.see("Sign out", "header")
        self.browser.call("Page.reload")
        self.see("Sign out", "header")
        self.check_secret(self.home.admin.key)
        self.click(".sign-out")
        self.see("Sign in", "h1")
        self.assertEqual(self.browser.evaluate("sessionStorage.length"), 0)
        self.browser.call("Page.reload")
        self.see("Sign in", "h1")

    def test_many_rows(self):
        """Pages arrive without a jump, and only the rows in sight are in the page."""
        account = self.stack.account("many")
        client = self.stack.client(account.admin.key)
        made = self.assert_ok(client.post("/ssh_credentials", samples.credential()), 201)["id"]
        self.stack.psql(
            "CREATE TEMP TABLE first AS SELECT * FROM adit.ssh_credential WHERE id = '%s';"
            "DELETE FROM adit.ssh_credential WHERE id = '%s';"
            "INSERT INTO adit.ssh_credential SELECT r.* FROM generate_series(0, 229) AS n,"
            " first AS f, jsonb_populate_record(f, jsonb_build_object('id',"
            " left(f.id, -3) || lpad(n::text, 3, '0'), 'description', 'row ' || n)) AS r"
            % (made, made))
        self.sign_in(account.admin.key)
        self.see("row 229", ".table")
        self.see(samples.ED25519_FINGERPRINT, ".table")
        self.assertLess(len(self.rows()), 60)
        self.screenshot("credentials")
        self.until("(document.querySelector('.table .body').scrollTo(0, 1e6), "
                   "document.querySelector('.table').ariaRowCount === '231')", "all pages")
        self.browser.evaluate("document.querySelector('.table .body').scrollTo(0, 1e6)")
        self.see("row 0\n", ".table .body")
        self.assertLess(len(self.rows()), 60)
        self.assertEqual(self.browser.evaluate(
            "Math.max(...[...document.querySelectorAll('.body .row')].map((row) => row.ariaRowIndex))"), 231)
        # Each row is where it was, and comes into sight within two frames.
        self.assertEqual(self.browser.evaluate("""(async () => {
            const body = document.querySelector(".table .body");
            const frame = () => new Promise((done) => requestAnimationFrame(done));
            const missing = [];
            for (let n = 229; n >= 0; n -= 7) {
                body.scrollTo(0, (229 - n) * 56);
                await frame();
                await frame();
                await frame();
                const row = [...body.querySelectorAll(".row")].find(
                    (one) => one.querySelector("a").innerText === "row " + n);
                const [own, all] = [row?.getBoundingClientRect(), body.getBoundingClientRect()];
                if (!row || own.bottom <= all.top || own.top >= all.bottom) {
                    missing.push(n);
                }
            }
            return missing;
        })()"""), [])
        self.filter('obj.description.startsWith("row 22")')
        self.until("document.querySelector('.table').ariaRowCount === '12'", "the filtered rows")
        self.assertIn("filter=", self.browser.evaluate("location.hash"))
        self.filter("obj.nothing == 1")
        self.see("obj.nothing", ".filter .fault")
        self.see("Error 250.", ".error")
        self.assertEqual(self.value(".filter input"), "obj.nothing == 1")
        self.screenshot("credentials-bad-filter")
        self.click(".filter a.button")
        self.see("row 229", ".table")

    def filter(self, text):
        self.type(".filter input", text)
        self.click(".filter button")

    def test_creating(self):
        self.sign_in(self.home.admin.key, "#/credentials/new")
        private, public = samples.generate("-t", "ed25519")
        before = self.n_posts()
        self.type(".public-key textarea", private)
        self.see("This was a private key.", ".public-key .fault")
        self.assertEqual(self.value(".public-key textarea"), "")
        self.screenshot("credential-private-key")
        self.type(".public-key textarea", samples.ED25519 + " ada@laptop")
        self.see("ssh-ed25519", ".key-type")
        self.see(samples.ED25519_FINGERPRINT, ".facts .fingerprint")
        self.assertEqual(self.value(".description input"), "ada@laptop")
        self.screenshot("credential-new")
        self.type(".description input", "\u00e9" * 128)
        self.click("button.main")
        self.see("255", ".description .fault")
        self.see("Error 604.", ".error")
        self.type(".description input", "created in the console")
        self.type(".acl textarea", "bind:*.a.example\nbind:b.example:22")
        self.click("button.main")
        self.see("created in the console", ".table")
        self.assertEqual(self.n_posts() - before, 2)
        self.assertNotIn(private.splitlines()[1], json.dumps(self.browser.events))
        found = self.assert_ok(self.admin.get("/ssh_credentials?limit=1"))["ssh_credentials"][0]
        self.assertEqual((found["public_key"], found["description"], found["acl"]),
                         (samples.ED25519 + " ada@laptop", "created in the console",
                          ["bind:*.a.example", "bind:b.example:22"]))
        # Nothing of it is left for the next one.
        self.click("a.main")
        self.see("New credential", "h1")
        self.assertEqual(self.value(".description input"), "")
        self.assertIn("ssh-ed25519", public)

    def n_posts(self):
        return sum(event["params"]["request"]["method"] == "POST" for event in self.browser.events
                   if event["method"] == "Network.requestWillBeSent")

    def test_dropping_a_file(self):
        self.sign_in(self.home.admin.key, "#/credentials/new")
        for name, text in (("key.pub", samples.ED25519), ("key", samples.generate("-t", "ed25519")[0])):
            self.until("document.querySelector('form.edit')", "the form")
            self.browser.evaluate("""{
                const data = new DataTransfer();
                data.items.add(new File([%s], %s));
                document.querySelector("form.edit").dispatchEvent(
                    new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
            }""" % (json.dumps(text), json.dumps(name)))
            if name == "key.pub":
                self.see(samples.ED25519_FINGERPRINT, ".facts .fingerprint")
            else:
                self.see("This was a private key.", ".public-key .fault")
                self.assertEqual(self.value(".public-key textarea"), "")

    def test_hostile_rows(self):
        account = self.stack.account("hostile")
        client = self.stack.client(account.admin.key)
        for description in (HOSTILE, "\U0001f600" * 63, "\u05d0\u05d1\u05d2 " * 30,
                            "e" + "\u0301" * 120, ""):
            self.assert_ok(client.post("/ssh_credentials", {
                "public_key": samples.ED25519 + " " + HOSTILE, "description": description,
                "metadata": HOSTILE, "acl": ["bind:<script>alert(1)</script>=\"'&lt;"]}), 201)
        for size in ("desktop", "phone"):
            self.sign_in(account.admin.key, size=size)
            self.see("U+202E", ".table")
            self.see("<script>", ".table")
            self.assertEqual(self.browser.evaluate(
                "document.querySelectorAll('.table script, .table img').length"), 0)
            self.assertEqual(self.browser.evaluate("document.title"), "Credentials \u2013 Adit")
            # Nothing is wider than the page.
            self.assertEqual(self.browser.evaluate(
                "document.scrollingElement.scrollWidth <= innerWidth"), True)
            self.screenshot("credentials-hostile-" + size)

    def test_refused_in_the_middle(self):
        """After 401 a person goes on where they were."""
        person = self.home.person("user")
        self.sign_in(person.key, "#/credentials/new")
        self.type(".public-key textarea", samples.ED25519)
        self.type(".description input", "typed before the key was revoked")
        self.type(".acl textarea", "bind:a.example")
        self.stack.ctl("key", "revoke", "--for", person.id)
        self.click("form.edit button.main")
        self.see("Signed out", "dialog")
        self.see("Error 203.", "dialog")
        self.screenshot("signed-out")
        self.type("dialog input[type=password]", person.issue())
        self.click("dialog button.main")
        self.until("!document.querySelector('dialog')", "signed in again")
        self.assertEqual(self.value(".description input"), "typed before the key was revoked")
        self.assertEqual(self.value(".acl textarea"), "bind:a.example")
        self.click("form.edit button.main")
        self.see("typed before the key was revoked", ".table")

    def test_language(self):
        self.sign_in(self.home.admin.key)
        self.choose_language("de")
        self.see("Abmelden", "header")
        self.assertEqual(self.browser.evaluate("document.documentElement.lang"), "de")
        self.screenshot("credentials-german")
        # It is kept.
        self.open()
        self.see("Anmelden", "h1")
        self.choose_language("en")
        self.see("Sign in", "h1")

    def choose_language(self, name):
        self.browser.evaluate("""{
            const choice = document.querySelector(".language");
            choice.value = %s;
            choice.dispatchEvent(new Event("change", {bubbles: true}));
        }""" % json.dumps(name))
