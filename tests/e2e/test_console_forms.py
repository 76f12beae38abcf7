# SPDX-License-Identifier: MIT
"""What all forms of the console share: unsaved changes, notices, and where buttons are."""
import json

from adit import samples
from adit.console import ConsoleCase

OAUTH = "/edges/https/e/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/e/mutual_tls"
DESCRIPTION = ".description input"
AUTHORITIES = ".certificate_authority_ids textarea"
SAVE = "form.edit button.main"


class FormsCase(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.account = self.stack.account("forms")
        self.client = self.stack.client(self.account.admin.key)

    def make(self, **members):
        return self.assert_ok(self.client.post("/ssh_credentials", samples.credential(**members)), 201)

    def stored(self, made):
        return self.assert_ok(self.client.get("/ssh_credentials/" + made["id"]))

    def enter(self, view, size="desktop"):
        self.sign_in(self.account.admin.key, view, size)

    def open_credential(self, size="desktop", **members):
        made = self.make(**members)
        self.enter("#/credentials/" + made["id"], size)
        self.until("document.querySelector(%s)" % json.dumps(DESCRIPTION), "the form")
        return made


class Unsaved(FormsCase):
    def forms(self):
        """The view, a field, and the name of each form."""
        made = self.make(description="of ada")
        config = {"client_id": "app", "client_secret": "s"}
        self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_a": config}}))
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        self.assert_ok(self.client.put(OAUTH, {}))
        events = self.assert_ok(self.client.get("/audit_events"))["audit_events"]
        event = next(one["id"] for one in events if one["event"] == "oauth_module_updated")
        return [("#/credentials/" + made["id"], DESCRIPTION, "Credential of ada"),
                ("#/credentials/new", DESCRIPTION, "New credential"),
                ("#/modules/oauth/e/r", ".cookie_prefix input", "OAuth module e / r"),
                ("#/modules/new/oauth", ".edge_id input", "New OAuth module"),
                ("#/modules/mutual_tls/e", AUTHORITIES, "Mutual TLS module e"),
                ("#/modules/new/mutual_tls", AUTHORITIES, "New mutual TLS module"),
                ("#/history/%s/before" % event, ".secret input", "Restore")]

    def test_leaving(self):
        """What is typed into any form stays, and each view says that it is not saved."""
        forms = self.forms()
        self.enter("#/overview")
        self.absent(".unsaved p")
        for view, field, _ in forms:
            self.go(view)
            self.type(field, "typed")
            self.see("The changes in this form are not saved.", ".unsaved")
        self.go("#/overview")
        self.see("Overview", "h1")
        for _, _, name in forms:
            self.see(name, ".unsaved")
        self.screenshot("unsaved")
        for view, field, _ in forms:
            self.click(".unsaved a[href='%s']" % view)
            self.until("document.querySelector(%s)?.value === 'typed'" % json.dumps(field), view)
            self.see("The changes in this form are not saved.", ".unsaved")
            self.assertFalse(self.browser.evaluate("!!document.querySelector(\".unsaved a[href='%s']\")" % view))
            self.browser.evaluate("history.back()")
            self.until("location.hash !== %s" % json.dumps(view), "the view before")
            self.until("document.querySelector(\".unsaved a[href='%s']\")" % view, "the form's name")
        # The browser asks before the page goes.
        self.point(self.place("h1"))
        self.browser.leaves = False
        self.addCleanup(setattr, self.browser, "leaves", True)
        asked = self.browser.asked
        self.browser.call("Page.reload")
        self.until("true", "the question")
        self.until("!document.querySelector('input[type=password]')", "the same page")
        self.assertEqual(self.browser.asked, asked + 1)
        self.see("Credential of ada", ".unsaved")
        self.browser.leaves = True
        self.browser.call("Page.reload")
        self.until("document.querySelector('main.sign-in')", "a new page")

    def test_saved_forms_are_left_freely(self):
        made = self.open_credential(description="before")
        self.type(DESCRIPTION, "after")
        self.see("not saved", ".unsaved")
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.absent(".unsaved p")
        # Back to what is stored.
        self.type(DESCRIPTION, "other")
        self.see("not saved", ".unsaved")
        self.type(DESCRIPTION, "after")
        self.absent(".unsaved p")
        self.point(self.place("h1"))
        asked = self.browser.asked
        self.browser.call("Page.reload")
        self.until("document.querySelector('main.sign-in')", "a new page")
        self.assertEqual(self.browser.asked, asked)
        self.assertEqual(self.stored(made)["description"], "after")

    def test_discarding(self):
        """Undo brings back what was discarded, and what was typed since can be brought back too."""
        self.open_credential(description="before")
        here = self.browser.evaluate("location.hash")
        self.type(DESCRIPTION, "first")
        self.click(".discard")
        self.see("What was typed is discarded.", ".notice")
        self.assertEqual(self.value(DESCRIPTION), "before")
        self.absent(".unsaved p")
        self.type(DESCRIPTION, "second")
        self.go("#/credentials")
        self.see("Credentials", "h1")
        self.click(".notice .undo")
        self.until("location.hash === %s" % json.dumps(here), "the form")
        self.until("document.querySelector(%s)?.value === 'first'" % json.dumps(DESCRIPTION), "the first text")
        self.see("not saved", ".unsaved")
        self.click(".notice .undo")
        self.until("document.querySelector(%s)?.value === 'second'" % json.dumps(DESCRIPTION), "the second text")
        self.go("#/credentials/new")
        self.type(DESCRIPTION, "new")
        self.click("form.edit .actions a.button")
        self.see("Credentials", "h1")
        self.click(".notice p:first-child .undo")
        self.until("document.querySelector(%s)?.value === 'new'" % json.dumps(DESCRIPTION), "what was cancelled")

    def test_deleting(self):
        """Undo of a deletion also brings back what was typed and not saved."""
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        self.open_credential(description="before")
        self.type(DESCRIPTION, "typed")
        for field in (DESCRIPTION, AUTHORITIES):
            self.click("button.delete")
            self.see("Deleted: ", ".notice")
            self.absent(".unsaved p")
            self.click(".notice .undo")
            self.until("document.querySelector(%s)?.value === 'typed'" % json.dumps(field), "what was typed")
            self.see("The changes in this form are not saved.", ".unsaved")
            self.click(SAVE)
            self.see("The changes are saved.", ".notice")
            self.go("#/modules/mutual_tls/e")
            self.type(AUTHORITIES, "typed")

    def test_signing_out(self):
        self.open_credential()
        self.type(DESCRIPTION, "<b>typed</b>")
        self.click(".sign-out")
        self.see("Sign out without saving?", "dialog.leave")
        self.see("Credential", "dialog.leave li")
        self.screenshot("unsaved-sign-out")
        self.click("dialog .stay")
        self.absent("dialog")
        self.assertEqual(self.value(DESCRIPTION), "<b>typed</b>")
        self.click(".sign-out")
        self.click("dialog .discard")
        self.see("Sign in", "h1")
        # The next person finds nothing of it.
        self.type("input[type=password]", self.account.admin.key)
        self.click(".sign-in button.main")
        self.until("document.querySelector('.description input')?.value === ''", "what is stored")
        self.absent(".unsaved p")
        self.click(".sign-out")
        self.see("Sign in", "h1")


class Notices(FormsCase):
    def in_sight(self, selector):
        """Nothing covers the element, and no scrolling hides a part of it."""
        self.until("document.querySelector(%s)" % json.dumps(selector), selector)
        return self.browser.evaluate("""(() => {
            const one = document.querySelector(%s), box = one.getBoundingClientRect();
            const found = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && one.contains(found);
        })()""" % json.dumps(selector))

    def test_in_sight(self):
        """After a save at the end of a long form, the notice is where the person looks."""
        for size in ("desktop", "phone"):
            self.open_credential(size, acl=["bind:n%d.example" % n for n in range(90)])
            self.until("document.querySelectorAll('.rules li').length === 90", "the rules")
            # Screen readers read aloud what comes into a live region that was there before.
            self.browser.evaluate("window.region = document.querySelector('.notice[role=status]')")
            lines = []
            for text in ("first", "second"):
                self.type(DESCRIPTION, text)
                self.absent(".notice p")
                self.browser.evaluate("document.querySelector('main').scrollTo(0, 1e6)")
                self.point(self.place(SAVE))
                self.see("The changes are saved.", ".notice")
                self.assertTrue(self.in_sight(".notice p"))
                # The same words are read aloud again, as a new element.
                lines.append(self.browser.evaluate("""(() => {
                    const isNew = window.line !== document.querySelector(".notice p");
                    window.line = document.querySelector(".notice p");
                    return isNew && window.region.contains(window.line);
                })()"""))
            self.assertEqual(lines, [True, True])
            self.screenshot("notice-" + size)

    def test_moving_on(self):
        """A notice goes with the next view, and the one about a new credential comes with its list."""
        self.open_credential()
        self.type(DESCRIPTION, "typed")
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.go("#/overview")
        self.absent(".notice p")
        self.go("#/credentials/new")
        self.type(".public-key textarea", samples.ED25519)
        self.click(SAVE)
        self.see("The credential is created.", ".notice")
        self.until("location.hash === '#/credentials'", "the list")
        self.assertTrue(self.in_sight(".notice p"))
        self.type(".filter input", "x")
        self.absent(".notice p")

    def test_undo_stays(self):
        """Through other views, what is typed and saved there, and other deletions."""
        first, second = self.make(description="first"), self.make(description="second")
        third = self.open_credential(description="third")
        for made in (first, second):
            self.go("#/credentials/" + made["id"])
            self.see("Credential " + made["description"], "h1")
            self.click("button.delete")
            self.see("Deleted: " + made["description"], ".notice")
            self.until("location.hash === '#/credentials'", "the list")
        self.see("third", ".table")
        self.screenshot("notice-undo")
        self.go("#/credentials/" + third["id"])
        self.type(DESCRIPTION, "3")
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.go("#/history")
        self.see("History", "h1")
        self.assertEqual(self.browser.evaluate(
            "[...document.querySelectorAll('.notice bdi')].map((one) => one.innerText.slice(0, 16))"),
            ["Deleted: second.", "Deleted: first. "])
        self.assertTrue(self.in_sight(".notice p:last-child .undo"))
        self.click(".notice p:last-child .undo")
        self.see("Credential first", "h1")
        self.see("exists again", ".notice")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.notice .undo').length"), 1)
        self.click(".notice p:last-child .close")
        self.until("!document.querySelector('.notice .undo')", "closed")


class Places(FormsCase):
    def test_second_click(self):
        """A second click where a button was deletes nothing."""
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        self.assert_ok(self.client.put(OAUTH, {}))
        made = self.make(description="stays", acl=["bind:a.example"])
        for size in ("desktop", "phone"):
            for view, field in (("#/credentials/" + made["id"], DESCRIPTION), ("#/modules/oauth/e/r", ".cookie_prefix input"),
                                ("#/modules/mutual_tls/e", AUTHORITIES)):
                with self.subTest(size + view):
                    self.second_click(view, field, size)
        self.assertEqual(self.stored(made)["description"], "typed0")
        for path in (OAUTH, MUTUAL_TLS):
            self.assert_ok(self.client.get(path))

    def second_click(self, view, field, size):
        self.enter(view, size)
        before = self.browser.methods().count("DELETE")
        for n, button in enumerate((SAVE, ".discard")):
            self.type(field, "typed%d" % n)
            self.until("document.querySelector('.discard')", "the buttons")
            self.browser.evaluate("document.querySelector(%s).scrollIntoView()" % json.dumps(button))
            place = self.place(button)
            self.point(place)
            self.point(place)
            self.absent(".discard")
            self.point(place)
            self.until("document.querySelector('button.delete')?.disabled === false", "the end of the request")
            self.assertEqual(self.browser.methods().count("DELETE"), before)
        # It stands apart: at the title, above all fields.
        self.assertTrue(self.browser.evaluate("""document.querySelector(".title .delete").getBoundingClientRect().bottom
            < document.querySelector("form input, form textarea").getBoundingClientRect().top"""))


class SameKey(FormsCase):
    """A key in several credentials may bind what any of them permits."""

    def ask(self, target, *says):
        self.type(".ask input", target)
        for words in says:
            self.see(words, ".answer-box")

    def decide(self, target):
        """What the service says."""
        return self.assert_ok(self.client.post("/ssh_decisions", {
            "public_key": samples.ED25519, "target": target}))["permitted"]

    def test_creating(self):
        first = self.make(description="the first", acl=["bind:a.example"])
        self.enter("#/credentials/new")
        self.type(".public-key textarea", samples.generate("-t", "ed25519")[1])
        self.see("ssh-ed25519", ".key-type")
        self.type(".acl textarea", "bind:b.example")
        self.ask("a.example", "No: no rule permits it.")
        self.absent(".same-key .warning")
        self.type(".public-key textarea", samples.ED25519)
        self.see("This key is stored already, in 1 credential.", ".same-key")
        self.ask("a.example", "Yes: not by these rules, but by 1 other credential", "the first bind:a.example")
        self.assertFalse(self.browser.evaluate("!!document.querySelector('.until')"))
        self.ask("b.example", "Yes: bind:b.example permits it.", "Until you save, the answer is no.")
        self.screenshot("credential-same-key")
        self.assertEqual([self.decide("a.example"), self.decide("b.example")], [True, False])
        self.ask("c.example", "No: no rule permits it, neither here nor in 1 other credential")
        self.click(".same-key a")
        self.see("Credential the first", "h1")
        self.absent(".same-key .warning")
        self.browser.evaluate("history.back()")
        self.until("document.querySelector('.acl textarea')?.value === 'bind:b.example'", "what was typed")
        self.click(SAVE)
        self.see("The credential is created.", ".notice")
        self.assertEqual([self.decide(name) for name in ("a.example", "b.example", "c.example")],
                         [True, True, False])
        self.assertEqual(self.stored(first)["acl"], ["bind:a.example"])

    def test_changing(self):
        for n in range(6):
            self.make(description="<b>%d</b>" % n, acl=["bind:a.example", "bind:n%d.example" % n])
        made = self.open_credential(description="mine", acl=["bind:b.example"])
        self.see("6 other credentials have the same key.", ".same-key")
        self.see("<b>5</b>", ".same-key")
        self.ask("a.example", "6 other credentials with this key:")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('.also li').length"), 6)
        self.ask("n3.example", "by 1 other credential with this key:", "<b>3</b> bind:n3.example")
        self.type(".acl textarea", "bind:n3.example")
        self.ask("n3.example", "Yes: bind:n3.example permits it.", "1 other credential with this key permits it too")
        self.ask("b.example", "nor in 6 other credentials", "Until you save, the answer is yes.")
        self.assertTrue(self.decide("b.example"))
        self.click(SAVE)
        self.see("The changes are saved.", ".notice")
        self.until("!document.querySelector('.until')", "the stored answer")
        self.assertFalse(self.decide("b.example"))
        # All of them, as a list.
        self.click(".same-key li:last-child a")
        self.until("document.querySelector('.table')?.ariaRowCount === '8'", "the list")
        self.go("#/credentials/" + made["id"])
        self.see("6 other", ".same-key")
        self.click("button.delete")
        self.see("The key may still bind what 6 other credentials permit.", ".notice")
        self.assertTrue(self.decide("a.example"))

    def test_unread(self):
        """As long as the others are not known, the answer is not no."""
        self.make(description="another", acl=["bind:a.example"])
        self.enter("#/credentials/new")
        self.type(".acl textarea", "bind:b.example")
        self.type(".ask input", "a.example")
        self.answer_badly(lambda: self.type(".public-key textarea", samples.ED25519), "GET", 503, 9030,
                          ".acl-editor .error")
        self.see("Whether another credential with this key does is not known yet.", ".answer.unknown")
        self.ask("b.example", "Yes: bind:b.example permits it.")
        self.ask("a.example", "not known yet")
        self.click(".acl-editor .error button")
        self.see("Yes: not by these rules, but by 1 other", ".answer.yes")
        self.absent(".error")


class Errors(FormsCase):
    """The service's reason goes once the person has changed what it is about."""

    def refuse(self, method, status, field):
        """The next request gets a refusal of that member."""
        self.answer_instead(method, status, {
            "error_code": "ERR_SERVICE_604", "status_code": status, "details": {"field": field} if field else {},
            "msg": "The words of the refusal"}, {"Content-Type": "application/json"})

    def refused(self, method, status, field, act):
        self.refuse(method, status, field)
        act()
        self.let_answer()
        self.see("The words of the refusal", "form .error")
        self.in_view("form .error")

    def in_view(self, selector):
        self.until("""(() => {
            const box = document.querySelector(%s).getBoundingClientRect();
            const all = document.querySelector("main").getBoundingClientRect();
            return box.top >= all.top && box.bottom <= all.bottom;
        })()""" % json.dumps(selector), selector + " in view")

    def test_fields(self):
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        self.assert_ok(self.client.put(OAUTH, {}))
        made = self.make(acl=["bind:a.example"])
        self.enter("#/overview")
        self.each([
            ("new credential", "#/credentials/new", "POST", "description", DESCRIPTION, ".metadata textarea"),
            ("credential", "#/credentials/" + made["id"], "PATCH", "acl", ".acl textarea", DESCRIPTION),
            ("oauth", "#/modules/oauth/e/r", "PUT", "cookie_prefix", ".cookie_prefix input", ".maximum_duration input"),
            ("mutual TLS", "#/modules/mutual_tls/e", "PUT", "certificate_authority_ids[0]", AUTHORITIES, None),
            ("new mutual TLS", "#/modules/new/mutual_tls", "PUT", "certificate_authority_ids[0]", AUTHORITIES, None)],
            self.check_fields)

    def check_fields(self, view, method, field, wrong, other):
        fault = "." + wrong.split()[0].strip(".") + " .fault"
        form = "bind:%s.example" if "acl" in wrong else "%s"
        self.go(view)
        self.type(wrong, form % "typed")
        if view.endswith("new"):
            self.type(".public-key textarea", samples.ED25519)
            # What comes above the error later would move it.
            self.see("This key is stored already", ".same-key")
        if view.endswith("new/mutual_tls"):
            self.type(".edge_id input", "new")
        self.refused(method, 400, field, lambda: self.click(SAVE))
        self.see("The words of the refusal", fault)
        if other:
            self.type(other, "7")
            self.see("The words of the refusal", fault)
        self.type(wrong, form % "mended")
        self.absent(fault)
        self.absent("form .error")
        # One without a field goes with any change; what the person cannot mend stays.
        self.refused(method, 413, "", lambda: self.click(SAVE))
        self.type(wrong, form % "shorter")
        self.absent("form .error")
        self.refused(method, 503, "", lambda: self.click(SAVE))
        self.type(wrong, form % "again")
        self.see("The words of the refusal", "form .error")

    def test_restoring(self):
        self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_a": {"client_id": "app", "client_secret": "s"}}}))
        self.assert_ok(self.client.put(OAUTH, {}))
        event = self.assert_ok(self.client.get("/audit_events"))["audit_events"][0]
        self.enter("#/history/%s/before" % event["id"])
        self.type(".secret input", "typed")
        self.refused("PUT", 400, "provider.provider_a.client_secret", lambda: self.click(".restore .main"))
        self.type(".secret input", "mended")
        self.absent("form .error")

    def test_deleting(self):
        """Delete is at the top of a long form, and the reason comes into view."""
        self.open_credential("phone", acl=["bind:n%d.example" % n for n in range(50)])
        self.refused("DELETE", 409, "", lambda: self.click("button.delete"))

    def test_signing_in(self):
        self.open()
        self.type("input[type=password]", samples.well_formed_key())
        self.click(".sign-in button.main")
        self.see("Error 203.", ".error")
        self.type("input[type=password]", "a")
        self.absent(".error")
