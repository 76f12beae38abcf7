# SPDX-License-Identifier: MIT
"""The console's frame and its credentials, in a browser against the stack."""
import json

from adit import samples
from adit.case import until
from adit.console import FAULTS, HOSTILE, ConsoleCase

DESCRIPTION = "form.edit .description input"
SAVE = "form.edit button.main"


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
        for text in ("adit_short", "\u00e9"):
            self.type("input[type=password]", text)
            self.absent(".error")
            self.click(".sign-in button.main")
            self.see("This is no whole API key.", ".error")
            self.assertNotIn("Authorization", self.text("body"))
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

    def test_signing_in_goes_wrong(self):
        """Whatever the answer, the key that was typed stays."""
        self.each([(name, (status, number)) for name, status, number in FAULTS], self.signing_in_goes_wrong)

    def signing_in_goes_wrong(self, fault):
        status, number = fault
        button, error = ".sign-in button.main", ".sign-in .error"
        self.open()
        self.type("input[type=password]", self.home.admin.key)
        words = "The server's words <b>%s</b>" % status
        self.answer_instead("GET", None if status == "slow" else status, {
            "error_code": "ERR_SERVICE_%d" % number, "status_code": status, "details": {}, "msg": words},
            {"Content-Type": "application/json"}, "/ssh_credentials")
        self.click(button)
        if status == "slow":
            held = self.hold_answer()
            self.see("Checking", button)
            self.kept("input[type=password]", self.home.admin.key)()
            self.release(held)
        else:
            self.let_answer()
            if status in (None, 502):
                self.see("The service cannot be reached.", error)
            else:
                self.see(words, error)
                self.see("Error %d." % number, error)
            self.absent(button + ":disabled")
            self.kept("input[type=password]", self.home.admin.key)()
            self.click(button)
        self.see("Sign out", "header")

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
        self.reload()
        self.see("Sign out", "header")
        self.check_secret(self.home.admin.key)
        self.click(".sign-out")
        self.see("Sign in", "h1")
        self.assertEqual(self.browser.evaluate("sessionStorage.length"), 0)
        self.reload()
        self.see("Sign in", "h1")

    def reload(self):
        self.browser.evaluate("window.isOld = true")
        self.browser.call("Page.reload")
        self.until("!window.isOld && document.querySelector('h1')", "the page anew")

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
        self.see("Error 250.", ".filter .fault")
        self.assertEqual(self.value(".filter input"), "obj.nothing == 1")
        self.screenshot("credentials-bad-filter")
        self.click(".filter a.button")
        self.see("row 229", ".table")
        # A click narrows the list, and the filter is shown as text.
        self.filter('obj.description == "row 7" || obj.description == "row 8"')
        self.until("document.querySelectorAll('.body .row').length === 2", "the two rows")
        self.click(".table .owner a")
        self.until("document.querySelector('.filter input').value === %s" % json.dumps(
            '(obj.description == "row 7" || obj.description == "row 8") && obj.owner_id == "%s"'
            % account.admin.id), "the narrower filter")
        self.until("document.querySelectorAll('.body .row').length === 2", "the two rows")

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
        # The service says what is wrong with what holds no secret.
        for text, words in (("restrict " + samples.ED25519, "options or other words in front of the key"),
                            (samples.ED25519 + "\n" + public, "holds several keys")):
            self.type(".public-key textarea", text)
            self.see(words, ".key-unread")
        asked = self.n_posts()
        self.type(".public-key textarea", samples.ED25519 + "\nhunter2")
        self.see("so it sends nothing", ".key-unread")
        self.assertEqual(self.n_posts(), asked)
        before = asked
        self.type(".public-key textarea", samples.ED25519 + " ada@laptop")
        self.see("ssh-ed25519", ".key-type")
        self.see(samples.ED25519_FINGERPRINT, ".facts .fingerprint")
        self.assertEqual(self.value(".description input"), "ada@laptop")
        self.screenshot("credential-new")
        self.type(".description input", "\u00e9" * 128)
        self.see("Error 604: the text has 256 bytes; at most 255 are accepted.", ".description .fault")
        self.until("document.querySelector('form.edit button.main').disabled", "blocked")
        self.type(".description input", "created in the console")
        self.type(".acl textarea", "bind:*.a.example\nbind:b.example:22")
        self.click("button.main")
        self.see("created in the console", ".table")
        self.assertEqual(self.n_posts() - before, 1)
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

    def test_choosing_the_owner(self):
        """An admin may create a credential for somebody else; nobody else is asked."""
        self.sign_in(self.home.admin.key, "#/credentials/new")
        self.type(".public-key textarea", samples.ED25519)
        self.type(".owner input", "a b")
        self.see("Error 9012", ".owner .fault")
        self.type(".owner input", samples.unknown_id("usr"))
        self.click(SAVE)
        self.see("owner_id names no User or Bot", ".owner .fault")
        self.type(".owner input", self.home.member.id)
        self.click(SAVE)
        self.until("location.hash === '#/credentials'", "the list")
        [found] = self.assert_ok(self.admin.get("/ssh_credentials?limit=1"))["ssh_credentials"]
        self.assertEqual(found["owner_id"], self.home.member.id)
        self.sign_in(self.home.member.key, "#/credentials/new")
        self.until("document.querySelector('.metadata textarea')", "the form")
        self.absent(".owner")

    def test_copying_the_key(self):
        made = self.make(description="to copy")
        self.open_credential(made)
        self.browser.evaluate("document.querySelector('details.public-key').open = true")
        self.assertEqual(self.text(".public-key code"), made["public_key"])
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.browser.call("Page.bringToFront")
        self.click("button.copy")
        self.see("Copied", "button.copy")
        self.assertEqual(self.browser.evaluate("navigator.clipboard.readText()"), made["public_key"])
        self.screenshot("credential-key")

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

    def make(self, **members):
        """Creates a credential and returns it."""
        return self.assert_ok(self.admin.post("/ssh_credentials", samples.credential(**members)),
                              201)

    def stored(self, made):
        found = self.assert_ok(self.admin.get("/ssh_credentials/" + made["id"]))
        return found["description"], found["metadata"], found["acl"]

    def open_credential(self, made):
        self.sign_in(self.home.admin.key, "#/credentials/" + made["id"])
        self.until("document.querySelector('.description input')", "the form")

    def test_rules(self):
        """Each rule is explained, and the question is answered while it is typed."""
        self.open_credential(self.make(public_key=samples.generate("-t", "ed25519")[1]))
        self.see("Without a rule, the key may bind everything.", ".acl-editor")
        self.type(".ask input", "x.example")
        self.see("Yes: there is no rule", ".answer")
        self.type(".acl textarea", "bind:*.a.example\nbind:b..c\n<b>\u202ex</b>")
        for words in ("bind:*.a.example permits every name below a.example", "bind:b..c is not a domain",
                      "is no rule: a rule begins with bind:"):
            self.see(words, ".rules")
        for asked, says in (("c.b.a.example", "Yes: bind:*.a.example permits it."),
                            ("a.example", "No: no rule permits it. bind:*.a.example permits the names below it, but not"),
                            ("b.example:0", "the port is")):
            self.type(".ask input", asked)
            self.see(says, ".answer")
        self.screenshot("credential-rules")
        # Enter answers the question, and saves nothing.
        self.browser.evaluate("document.querySelector('.ask input').focus()")
        self.press("Enter", 13, "\r")
        # What the service would refuse is not sent.
        self.see("Error 600: bind:b..c: this rule is not accepted.", ".acl .fault")
        self.until("document.querySelector('form.edit button.main').disabled", "blocked")
        self.assertEqual(self.browser.methods().count("PATCH"), 0)
        self.type(".acl textarea", "*\nbind:a.example")
        self.see("so the others change nothing", ".acl-editor")

    def test_changing(self):
        made = self.make(description="before", metadata="kept", acl=["bind:a.example"])
        self.open_credential(made)
        self.assertEqual(self.value(".description input"), "before")
        self.type(".description input", "after")
        self.type(".acl textarea", "bind:a.example\nbind:b.example")
        self.click("form.edit button.main")
        self.see("The changes are saved.", ".notice")
        self.assertEqual(self.stored(made), ("after", "kept", ["bind:a.example", "bind:b.example"]))

    def test_two_people(self):
        """Both change the same credential.  Each choice fills the form and saves nothing."""
        for choice, wanted in (
                ("take-theirs", ("theirs", "kept", ["bind:a.example", "bind:t.example"])),
                ("take-yours", ("yours", "kept", ["bind:a.example", "bind:y.example"])),
                ("take-both", ("theirs / yours", "kept",
                               ["bind:a.example", "bind:t.example", "bind:y.example"]))):
            with self.subTest(choice):
                self.two_people(choice, wanted)

    def two_people(self, choice, wanted):
        made = self.make(description="before", metadata="kept", acl=["bind:a.example"])
        self.open_credential(made)
        self.type(".description input", "yours")
        self.type(".acl textarea", "bind:a.example\nbind:y.example")
        self.assert_ok(self.admin.patch("/ssh_credentials/" + made["id"], {
            "description": "theirs", "acl": ["bind:a.example", "bind:t.example"]}))
        stored = self.stored(made)
        self.click("form.edit button.main")
        self.see("Changed meanwhile", ".conflict")
        self.see("bind:t.example", ".conflict")
        self.screenshot("credential-conflict")
        self.click("." + choice)
        self.until("!document.querySelector('.conflict')", "the form again")
        self.assertEqual((self.value(".description input"), self.value(".acl textarea").split("\n")),
                         (wanted[0], wanted[2]))
        self.assertEqual(self.stored(made), stored)
        self.click("form.edit button.main")
        self.see("The changes are saved.", ".notice")
        self.assertEqual(self.stored(made), wanted)

    def test_cancelling_the_choice(self):
        """Cancel and Escape lead back to the form, and saving asks again."""
        made = self.make(description="before", acl=["bind:a.example", "bind:b.example"])
        self.open_credential(made)
        self.type(DESCRIPTION, "yours")
        self.type(".acl textarea", "bind:b.example")
        self.assert_ok(self.admin.patch("/ssh_credentials/" + made["id"], {
            "metadata": "theirs", "acl": ["bind:a.example"]}))
        for leave in (lambda: self.click(".conflict .cancel"), lambda: self.press("Escape", 27)):
            self.click(SAVE)
            self.see("Changed meanwhile", ".conflict")
            self.see(self.home.admin.id, ".conflict .maker")
            self.assertEqual([text.split("\n")[-1] for text in self.texts(".conflict tbody th")],
                             ["changed by you", "changed by both", "changed by them"])
            leave()
            self.absent(".conflict")
            self.kept(DESCRIPTION, "yours")()
        self.click(SAVE)
        self.click(".take-both")
        # Each removed the rule that the other kept.  No rule would permit everything.
        self.until("document.querySelector('.acl textarea').value === 'bind:a.example\\nbind:b.example'", "both rules")

    def test_pausing(self):
        """One click, whatever else is typed."""
        made = self.make(description="to pause", acl=["bind:a.example"])
        path = "/ssh_credentials/" + made["id"]
        self.open_credential(made)
        self.type(DESCRIPTION, "typed")
        self.click("button.pause")
        self.see("This credential is paused", ".warning.paused")
        self.assertEqual([self.admin.get(path).json[name] for name in ("enabled", "description")], [False, "to pause"])
        self.kept(DESCRIPTION, "typed")()
        self.click(".discard")
        self.screenshot("credential-paused")
        # What the person has not seen is not resumed.
        self.assert_ok(self.admin.patch(path, {"metadata": "other"}))
        self.click("button.pause")
        self.see("Not done: somebody else changed it", ".spared")
        self.click("button.pause")
        self.absent(".warning.paused")
        self.assertEqual(self.admin.get(path).json["enabled"], True)
        self.assert_ok(self.admin.patch(path, {"enabled": False}))
        self.go("#/credentials")
        self.see("paused", ".table")
        # Undo brings it back as it was.
        self.open_credential(made)
        self.see("This credential is paused", ".warning.paused")
        self.click("button.delete")
        self.see("Deleted: to pause.", ".notice")
        self.click("button.undo")
        self.see("This credential is paused", ".warning.paused")

    def test_deleting(self):
        made = self.make(description="to delete", metadata="m", acl=["bind:a.example"])
        self.open_credential(made)
        self.assert_ok(self.admin.patch("/ssh_credentials/" + made["id"], {"metadata": "other"}))
        # What the person has not seen is not deleted.
        self.click("button.delete")
        self.see("Not done: somebody else changed it", ".spared")
        self.absent(".error")
        self.until("document.querySelector('.metadata textarea').value === 'other'", "what is stored")
        self.click("button.delete")
        self.see("Deleted: to delete.", ".notice")
        self.assert_error(self.admin.get("/ssh_credentials/" + made["id"]), 9002)
        self.screenshot("credential-deleted")
        self.click("button.undo")
        self.see("exists again", ".notice")
        self.until("document.querySelector('.metadata textarea')?.value === 'other'", "its view")
        found = self.browser.evaluate("location.hash").rpartition("/")[2]
        self.assertEqual(self.stored({"id": found}), ("to delete", "other", ["bind:a.example"]))

    def test_deleting_what_is_gone(self):
        made = self.make(description="gone before")
        self.open_credential(made)
        self.assert_ok(self.admin.delete("/ssh_credentials/" + made["id"]), 204)
        self.click("button.delete")
        self.see("Deleted: gone before.", ".notice")

    def test_saving_what_is_gone(self):
        """A credential that somebody else deleted is created again, with a new identifier."""
        made = self.make(description="before", metadata="m", acl=["bind:a.example"])
        self.open_credential(made)
        self.type(DESCRIPTION, "after")
        self.assert_ok(self.admin.delete("/ssh_credentials/" + made["id"]), 204)
        self.click(SAVE)
        self.see("Somebody else deleted it meanwhile.", "form .warning[role=alert]")
        self.absent("button.delete")
        self.screenshot("credential-gone")
        self.click(SAVE)
        self.see("exists again", ".notice")
        self.until("location.hash.startsWith('#/credentials/') && !location.hash.endsWith(%s)"
                   % json.dumps(made["id"]), "its view")
        self.until("document.querySelector(%s)?.value === 'after'" % json.dumps(DESCRIPTION), "the form")
        self.absent(".unsaved p")
        found = self.browser.evaluate("location.hash").rpartition("/")[2]
        self.assertEqual(self.stored({"id": found}), ("after", "m", ["bind:a.example"]))

    def test_what_belongs_to_others(self):
        """Only an admin creates for others.  Somebody else may create it as their own."""
        member = self.home.member
        for act in ("undo", "save"):
            with self.subTest(act):
                made = self.make(description="of an admin", acl=["bind:a.example"])
                self.assertNotEqual(made["owner_id"], member.id)
                self.sign_in(member.key, "#/credentials/" + made["id"])
                self.until("document.querySelector(%s)" % json.dumps(DESCRIPTION), "the form")
                if act == "undo":
                    self.click("button.delete")
                    self.click("button.undo")
                else:
                    self.type(DESCRIPTION, "typed")
                    self.assert_ok(self.admin.delete("/ssh_credentials/" + made["id"]), 204)
                    self.click(SAVE)
                    self.see("Somebody else deleted it", "form")
                    self.click(SAVE)
                place = ".notice" if act == "undo" else "form"
                self.see("It belonged to %s." % made["owner_id"], place)
                self.absent(".error")
                self.screenshot("credential-of-others-" + act)
                self.click("button.otherwise")
                self.see("exists again", ".notice")
                [found] = self.assert_ok(self.admin.get("/ssh_credentials?limit=1"))["ssh_credentials"]
                self.assertEqual((found["owner_id"], found["description"], found["acl"]), (
                    member.id, "of an admin" if act == "undo" else "typed", ["bind:a.example"]))

    def each_fault(self, check):
        self.sign_in(self.home.admin.key)
        self.each([(name, (status, number)) for name, status, number in FAULTS], check)

    def test_list_goes_wrong(self):
        self.make(description="in the list")
        self.each_fault(self.list_goes_wrong)

    def list_goes_wrong(self, fault):
        self.go("#/overview")
        self.see("Overview", "h1")
        self.go("#/credentials")
        self.see("in the list", ".table")
        self.type(".filter input", "typed")
        self.check_fault(fault, "GET", lambda: self.click(".title button"), ".error",
                         self.kept(".filter input", "typed"))
        self.see("in the list", ".table")

    def kept_both(self, description):
        def check():
            self.kept(DESCRIPTION, description)()
            self.kept(".acl textarea", "bind:typed.example")()
        return check

    def test_creating_goes_wrong(self):
        self.each_fault(self.creating_goes_wrong)

    def creating_goes_wrong(self, fault):
        name = "created in spite of %s" % fault[0]
        self.go("#/credentials/new")
        self.type(".public-key textarea", samples.ED25519)
        self.type(DESCRIPTION, name)
        self.type(".acl textarea", "bind:typed.example")
        self.check_fault(fault, "POST", lambda: self.click(SAVE), ".edit .error", self.kept_both(name))
        self.until("location.hash !== '#/credentials/new'", "another view")
        self.assertEqual(self.newest(), (name, "", ["bind:typed.example"]))

    def newest(self):
        [found] = self.assert_ok(self.admin.get("/ssh_credentials?limit=1"))["ssh_credentials"]
        return self.stored(found)

    def test_saving_goes_wrong(self):
        self.each_fault(self.saving_goes_wrong)

    def saving_goes_wrong(self, fault):
        name = "changed in spite of %s" % fault[0]
        made = self.make(description="before", acl=["bind:typed.example"])
        self.go("#/credentials/" + made["id"])
        self.type(DESCRIPTION, name)
        self.check_fault(fault, "PATCH", lambda: self.click(SAVE), ".edit .error", self.kept_both(name),
                         conflicts=True)
        # The notice may be that of the last round.
        until(lambda: self.stored(made)[0] == name, "saved")

    def test_deleting_goes_wrong(self):
        self.each_fault(self.deleting_goes_wrong)

    def deleting_goes_wrong(self, fault):
        made = self.make(description="goes", acl=["bind:typed.example"])
        self.go("#/credentials/" + made["id"])
        self.type(DESCRIPTION, "typed")
        self.check_fault(fault, "DELETE", lambda: self.click("button.delete"), ".edit .error",
                         self.kept_both("typed"), conflicts=True)
        self.until("location.hash === '#/credentials'", "the list")
        self.assert_error(self.admin.get("/ssh_credentials/" + made["id"]), 9002)

    def test_undoing_goes_wrong(self):
        self.each_fault(self.undoing_goes_wrong)

    def undoing_goes_wrong(self, fault):
        name = "comes back from %s" % fault[0]
        made = self.make(description=name, acl=["bind:typed.example"])
        before = self.stored(made)
        self.go("#/credentials/" + made["id"])
        self.click("button.delete")
        self.see("Deleted: " + name, ".notice")
        self.until("location.hash === '#/credentials'", "the list")
        self.type(".filter input", "typed")
        self.check_fault(fault, "POST", lambda: self.click("button.undo"), ".notice .error",
                         self.kept(".filter input", "typed"))
        self.until("location.hash.startsWith('#/credentials/sshcr_')", "its view")
        self.assertEqual(self.newest(), before)

    def test_what_is_gone(self):
        self.sign_in(self.home.admin.key, "#/credentials/" + samples.unknown_id())
        self.see("Error 9002.", ".error")
        self.sign_in(self.home.admin.key, "#/nothing")
        self.see("There is nothing at this address", "h1")

    def test_reading_only(self):
        made = self.make(description="read")
        self.sign_in(self.home.read_only_key, "#/credentials/" + made["id"])
        self.until("document.querySelector('.description input')", "the form")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('form button:not(.copy)').length"), 0)
        self.see("This API key may only read", "form .read-only")
        self.assertEqual(self.browser.evaluate(
            "[...document.querySelectorAll('form.edit :is(input, textarea)')].map((one) => one.readOnly)"),
            [True, True, False, True])  # the third asks a question
        self.go("#/credentials/new")
        self.see("This API key may only read", ".edit .read-only")
        self.absent("form.edit")

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
