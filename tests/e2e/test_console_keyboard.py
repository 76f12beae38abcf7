# SPDX-License-Identifier: MIT
"""The console with the keyboard alone."""
import json

from adit import samples
from adit.console import ConsoleCase

CODES = {"Tab": 9, "Enter": 13, "PageDown": 34, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
         "ArrowRight": 39, "ArrowDown": 40}
# A page has fewer places for the focus.
STOPS_MAX = 40


class KeyboardCase(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.account = self.stack.account("keyboard")
        self.client = self.stack.client(self.account.admin.key)
        self.browser.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def make(self, **members):
        return self.assert_ok(self.client.post("/ssh_credentials", samples.credential(**members)), 201)

    def key(self, name, shift=False):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                              windowsVirtualKeyCode=CODES[name], modifiers=8 if shift else 0,
                              text="\r" if name == "Enter" and kind == "keyDown" else "")

    def insert(self, text):
        """As a paste does."""
        self.browser.call("Input.insertText", text=text)

    def focused(self, selector):
        return self.browser.evaluate("document.activeElement.matches(%s)" % json.dumps(selector))

    def until_focused(self, selector):
        self.until("document.activeElement.matches(%s)" % json.dumps(selector), "the focus on " + selector)

    def seen(self):
        """What has the focus, if a person does not see that: it has no mark, or something hides a part."""
        return self.browser.evaluate("""(() => {
            const one = document.activeElement, style = getComputedStyle(one);
            const outline = one.closest(".file") ? getComputedStyle(one.closest(".file")) : style;
            const width = parseFloat(outline.outlineWidth), offset = parseFloat(outline.outlineOffset);
            const box = (one.closest(".file") ?? one).getBoundingClientRect(), out = Math.max(0, width + offset);
            const faults = [];
            if (outline.outlineStyle === "none" || width < 2) {
                faults.push("no mark");
            }
            for (let around = one.parentElement; around; around = around.parentElement) {
                if (getComputedStyle(around).overflow === "visible") {
                    continue;
                }
                const all = around.getBoundingClientRect();
                if (box.left - out < all.left - 1 || box.right + out > all.right + 1
                        || box.top < all.top - 1 || box.bottom > all.bottom + 1) {
                    faults.push("cut by " + around.className);
                }
            }
            return faults.length > 0 ? faults.join() + ": " + one.outerHTML.slice(0, 150) : "";
        })()""")

    def tab_to(self, selector, shift=False):
        """Presses Tab until it has the focus.  Each stop on the way is seen, and none is stayed at."""
        for _ in range(STOPS_MAX):
            self.key("Tab", shift)
            self.assertEqual(self.seen(), "")
            if self.focused(selector):
                return
        self.fail("Tab does not reach %s; it ends at %s" % (selector, self.browser.evaluate(
            "document.activeElement.outerHTML.slice(0, 200)")))

    def in_sight(self, selector):
        self.until("""(() => {
            const box = document.querySelector(%s).getBoundingClientRect();
            const all = document.querySelector("main").getBoundingClientRect();
            return box.height > 0 && box.top >= all.top - 1 && box.bottom <= all.bottom + 1;
        })()""" % json.dumps(selector), selector + " in sight")

    def enter(self, view, size="desktop"):
        self.open(view, size)
        self.until_focused("input[type=password]")
        self.insert(self.account.admin.key)
        self.key("Enter")
        self.until("document.querySelector('header') && !document.querySelector('input[type=password]')",
                   "signed in")


class Walk(KeyboardCase):
    def test_main_task(self):
        """Stores a key, limits it, checks a name, opens it, deletes it and takes that back."""
        for size in ("desktop", "phone"):
            with self.subTest(size):
                self.main_task(size)

    def main_task(self, size):
        public = samples.generate("-t", "ed25519")[1].split()
        self.enter("#/credentials", size)
        self.until_focused("#content")
        self.tab_to(".title a.main")
        self.key("Enter")
        self.until_focused(".public-key textarea")
        self.assertEqual(self.seen(), "")
        self.in_sight(".public-key textarea")
        self.insert(" ".join(public[:2] + ["ada@laptop"]))
        self.see("ssh-ed25519", ".key-type")
        self.tab_to(".acl textarea")
        self.insert("bind:*.a.example")
        self.tab_to(".ask input")
        for name, says in (("x.a.example", "Yes: bind:*.a.example permits it."), ("a.example", "No: no rule")):
            self.browser.evaluate("document.activeElement.select()")
            self.insert(name)
            self.see(says, ".answer")
            self.in_sight(".answer")
            self.in_sight(".ask input")
        self.key("Enter")
        self.screenshot("keyboard-answer-" + size)
        self.tab_to("form.edit button.main")
        self.key("Enter")
        self.see("The credential is created.", ".notice")
        self.until_focused("#content")
        self.see("ada@laptop", ".table")
        [made] = self.assert_ok(self.client.get("/ssh_credentials"))["ssh_credentials"]
        self.assertEqual(made["acl"], ["bind:*.a.example"])
        self.tab_to(".table .description a")
        self.key("Enter")
        self.see("Credential ada@laptop", "h1")
        self.until_focused("#content")
        self.tab_to("button.delete")
        self.key("Enter")
        self.see("Deleted: ada@laptop.", ".notice")
        self.until_focused("#content")
        self.see("There are no credentials.", ".table-box")
        self.tab_to(".notice .undo")
        self.key("Enter")
        self.see("exists again", ".notice")
        self.see("Credential ada@laptop", "h1")
        [made] = self.assert_ok(self.client.get("/ssh_credentials"))["ssh_credentials"]
        self.assertEqual(made["acl"], ["bind:*.a.example"])
        self.assert_ok(self.client.delete("/ssh_credentials/" + made["id"]), 204)

    def test_answer_in_sight(self):
        """Also below many rules, and with the credentials that permit it."""
        for n in range(5):
            self.make(description="other %d" % n)
        made = self.make(description="mine", acl=["bind:n%d.example" % n for n in range(60)])
        for size in ("desktop", "phone"):
            self.enter("#/credentials/" + made["id"], size)
            self.see("5 other credentials", ".same-key")
            self.tab_to(".ask input")
            self.insert("other.example")
            self.see("other 4", ".answer-box")
            self.in_sight(".answer")
            self.in_sight(".also li:last-child")
            self.in_sight(".ask input")

    def test_first_fields(self):
        """A form for something new opens with the focus in its first field."""
        self.enter("#/overview")
        for view, field in (("#/credentials/new", ".public-key textarea"),
                            ("#/modules/new/oauth", ".edge_id input"),
                            ("#/modules/new/mutual_tls", ".edge_id input")):
            self.go(view)
            self.until_focused(field)
            self.assertEqual(self.seen(), "")
        self.go("#/history")
        self.until_focused("#content")


class Lists(KeyboardCase):
    def row(self):
        return self.browser.evaluate(
            "Number(document.activeElement.closest('[aria-rowindex]')?.ariaRowIndex) - 2")

    def test_rows(self):
        """The list is one stop of Tab, and keys lead to each link of each row."""
        made = self.make()
        self.stack.psql(
            "CREATE TEMP TABLE first AS SELECT * FROM adit.ssh_credential WHERE id = '%s';"
            "DELETE FROM adit.ssh_credential WHERE id = '%s';"
            "INSERT INTO adit.ssh_credential SELECT r.* FROM generate_series(0, 149) AS n,"
            " first AS f, jsonb_populate_record(f, jsonb_build_object('id',"
            " left(f.id, -3) || lpad(n::text, 3, '0'), 'description', 'row ' || n)) AS r"
            % (made["id"], made["id"]))
        self.enter("#/credentials")
        self.until("document.querySelector('.table').ariaRowCount === '151'", "all rows")
        self.tab_to(".table .description a")
        self.assertEqual(self.row(), 0)
        for key, row, cell in (
                ("ArrowUp", 0, ".description"), ("ArrowDown", 1, ".description"), ("ArrowRight", 1, ".key"),
                ("ArrowRight", 1, ".key"), ("ArrowRight", 1, ".acl"), ("ArrowRight", 1, ".owner"),
                ("ArrowDown", 2, ".owner"), ("ArrowRight", 2, ".created"), ("ArrowRight", 2, ".created"),
                ("End", 149, ".created"), ("ArrowUp", 148, ".created"), ("Home", 0, ".created"),
                ("ArrowLeft", 0, ".owner")):
            with self.subTest(key + " to %d%s" % (row, cell)):
                self.key(key)
                self.until("document.activeElement.closest('[aria-rowindex]')?.ariaRowIndex === '%d'" % (row + 2),
                           "the row %d" % row)
                self.assertTrue(self.focused(cell + " a"))
                self.assertEqual(self.seen(), "")
        self.key("PageDown")
        self.until("Number(document.activeElement.closest('[aria-rowindex]')?.ariaRowIndex) > 7", "a page below")
        row = self.row()
        # Out, and back to the same link.
        self.key("Tab", shift=True)
        self.assertFalse(self.focused(".table *"))
        self.key("Tab")
        self.assertEqual((self.row(), self.focused(".owner a")), (row, True))
        self.key("Tab")
        self.assertFalse(self.focused(".table *, .table"))
        # The row with the focus has left the page: another one takes its place.
        self.browser.evaluate("document.querySelector('.table .body').scrollTo(0, 1e6)")
        self.until("document.querySelectorAll('.table .body [tabindex=\"0\"]').length === 1", "one stop")
        self.check_accessible("a list with the focus")

    def test_every_list(self):
        self.make()
        self.client.put("/edges/https/%s/routes/r/oauth" % ("e" * 200), {})
        self.client.put("/edges/tls/e/mutual_tls", {"certificate_authority_ids": ["ca-1", "c" * 200]})
        for size in ("desktop", "phone"):
            for view in ("#/credentials", "#/modules", "#/modules/mutual_tls", "#/history"):
                with self.subTest(view + " " + size):
                    self.enter(view, size)
                    self.until("document.querySelector('.table .body .row a')", "a row")
                    self.tab_to(".table .body a")
                    for _ in range(6):
                        self.key("ArrowRight")
                        self.assertEqual(self.seen(), "")
                    for _ in range(2):
                        self.key("ArrowDown")
                        self.assertEqual(self.seen(), "")
                    self.key("Tab")
                    self.assertFalse(self.focused(".table *, .table"))
