# SPDX-License-Identifier: MIT
"""The lists of the console: finding rows by words, expressions and clicks."""
import json

from adit import samples
from adit.console import ConsoleCase

FIELD = ".filter-text input"


class ListsCase(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.account = self.stack.account("lists")
        self.client = self.stack.client(self.account.admin.key)

    def make(self, **members):
        return self.assert_ok(self.client.post("/ssh_credentials", samples.credential(**members)), 201)

    def enter(self, view="#/credentials", size="desktop"):
        self.sign_in(self.account.admin.key, view, size)
        self.until("document.querySelector(%s)" % json.dumps(FIELD), "the list")

    def filter(self, text):
        self.type(FIELD, text)
        self.click(".filter button")

    def narrowed(self, n, text):
        self.until("document.querySelector(%s)?.value === %s" % (json.dumps(FIELD), json.dumps(text)),
                   "the filter " + text)
        self.until("document.querySelector('.table').ariaRowCount === '%d'" % (n + 1), "%d rows" % n)


class Finding(ListsCase):
    def test_words(self):
        """A word that is no expression is searched for, and the list shows the filter that does so."""
        made = self.make(description="the laptop of ada", acl=["bind:a.example"])
        self.make(description="a server", metadata="rack of the laptop's dock")
        key = samples.generate("-t", "ed25519")[1]
        self.make(description='odd " \\\\ one', public_key=key)
        self.enter()
        self.see("A word to search for, or an expression.", ".filter")
        for word, n, text in (
                ("laptop", 2, 'obj.description.contains("laptop") || obj.metadata.contains("laptop")'),
                ("the laptop of", 1, None), ("nothing", 0, None),
                (made["id"], 1, 'obj.id == "%s"' % made["id"]),
                (self.account.admin.id, 3, 'obj.owner_id == "%s"' % self.account.admin.id),
                (samples.ED25519_FINGERPRINT, 2, 'obj.fingerprint == "%s"' % samples.ED25519_FINGERPRINT),
                ("bind:a.example", 1, '"bind:a.example" in obj.acl')):
            with self.subTest(word):
                self.filter(word)
                self.narrowed(n, text or 'obj.description.contains("%s") || obj.metadata.contains("%s")' % (word, word))
        for view, word, n in (("#/modules/oauth", "edge", 1), ("#/modules/oauth", "rou", 1),
                              ("#/modules/mutual_tls", "ca-1", 1), ("#/modules/mutual_tls", "edge-2", 1),
                              ("#/history", "mutual_tls", 2), ("#/history", "edge-1", 2)):
            with self.subTest(view + " " + word):
                self.client.put("/edges/https/edge-1/routes/route-1/oauth", {})
                self.client.put("/edges/tls/edge-2/mutual_tls", {"certificate_authority_ids": ["ca-1"]})
                self.go(view)
                self.until("location.hash === %s && document.querySelector(%s)?.value === ''" % (
                    json.dumps(view), json.dumps(FIELD)), "the list")
                self.filter(word)
                self.until("document.querySelector('.table')?.ariaRowCount === '%d'" % (n + 1), "%d rows" % n)

    def test_malformed(self):
        """The reason is said once, with what one may name, and an example to click."""
        self.make(description="laptop")
        for view, member in (("#/credentials", "obj.key_type"), ("#/modules/oauth", "obj.email_domains"),
                             ("#/modules/mutual_tls", "obj.certificate_authority_ids"),
                             ("#/history", "obj.principal.id")):
            with self.subTest(view):
                self.enter(view)
                self.filter("obj.nothing ==")
                self.see("Error 250.", ".filter .fault")
                self.see(member, ".filter-help")
                said = self.browser.evaluate("document.querySelector('.filter .fault').innerText.split('Error')[0]")
                self.assertEqual(self.browser.evaluate("document.body.innerText.split(%s).length" % json.dumps(said)), 2)
                self.assertFalse(self.browser.evaluate("!!document.querySelector('.error')"))
                self.screenshot("filter-malformed" + view.replace("#", "").replace("/", "-"))
                # It goes as soon as the text is another one.
                self.type(FIELD, "obj.n")
                self.absent(".filter .fault")
                self.type(FIELD, "obj.nothing ==")
                self.see("Error 250.", ".filter .fault")
                example = self.text(".filter-help code")
                self.click(".filter-help a")
                self.until("document.querySelector(%s).value === %s" % (json.dumps(FIELD), json.dumps(example)),
                           "the example")
                self.absent(".filter .fault")
                self.until("document.querySelector('.table-box > .state').innerText !== 'Reading more \u2026'", "the rows")
                self.absent(".error")

    def test_placeholder(self):
        """Nothing of it is cut: an underscore differs from a space."""
        self.enter()
        self.browser.evaluate("document.activeElement.blur()")
        pictures = set()
        for text in ("____", "    "):
            self.browser.evaluate("document.querySelector(%s).placeholder = %s" % (json.dumps(FIELD), json.dumps(text)))
            pictures.add(self.browser.call("Page.captureScreenshot")["data"])
        self.assertEqual(len(pictures), 2)

    def test_clicks(self):
        """Each value that rows share narrows the list, and the filter is shown as text."""
        rsa = samples.generate("-t", "rsa", "-b", "2048")[1]
        self.make(description="one", acl=["bind:a.example", "bind:b.example"])
        self.make(description="two", acl=[])
        self.make(description="three", acl=["*"], public_key=rsa)
        self.make(description="four", acl=["bind:c.example", "bind:d.example"], public_key=rsa)
        owner = self.account.admin.id
        self.enter()
        self.see("four", ".table")
        everything = '(size(obj.acl) == 0 || "*" in obj.acl || "bind:*" in obj.acl)'
        for cell, of, n, text in (
                (".key a:first-child", "three", 2, 'obj.key_type == "ssh-rsa"'),
                (".key a:nth-child(2)", "one", 2, 'obj.fingerprint == "%s"' % samples.ED25519_FINGERPRINT),
                (".acl a", "two", 2, everything),
                (".owner a", "one", 4, 'obj.owner_id == "%s"' % owner)):
            with self.subTest(cell + " of " + of):
                self.click_cell(of, cell)
                self.narrowed(n, text)
                self.click(".filter a.button")
                self.narrowed(4, "")
        # The day of the reader's zone.
        self.set_zone("Pacific/Kiritimati")
        self.go("#/overview")
        self.see("Overview", "h1")
        self.go("#/credentials")
        self.click_cell("two", ".created a")
        self.until("document.querySelector(%s).value.startsWith('obj.created_at >= timestamp(')" % json.dumps(FIELD), "the day")
        self.until("document.querySelector('.table').ariaRowCount === '5'", "all rows")
        self.click(".filter a.button")
        self.narrowed(4, "")
        # One click after the other.
        self.click_cell("three", ".key a:first-child")
        self.narrowed(2, 'obj.key_type == "ssh-rsa"')
        self.click_cell("three", ".acl a")
        self.narrowed(1, 'obj.key_type == "ssh-rsa" && ' + everything)
        self.screenshot("credentials-narrowed")

    def test_rules_of_a_row(self):
        """The number of rules leads to the rules, and each of them to others with it."""
        self.make(description="one", acl=["bind:a.example", "bind:<b>=x"])
        self.make(description="two", acl=["bind:a.example"])
        for size in ("desktop", "phone"):
            self.enter(size=size)
            self.see("two", ".table")
            self.assertEqual(self.browser.evaluate("document.querySelectorAll('.acl button')[1].title"),
                             "bind:a.example\nbind:<b>=x")
            self.click_cell("one", ".acl button")
            self.see("bind:a.example permits the name a.example", "dialog[open]")
            self.see("bind:<b>=x", "dialog[open]")
            self.screenshot("credentials-rules-" + size)
            self.press("Escape", 27)
            self.absent("dialog")
            self.click_cell("one", ".acl button")
            self.click("dialog li:last-child a")
            self.narrowed(1, '"bind:<b>=x" in obj.acl')
            self.absent("dialog")

    def click_cell(self, description, selector):
        self.until("""(() => {
            const row = [...document.querySelectorAll(".table .body .row")].find(
                (one) => one.querySelector(".description").innerText === %s);
            row?.querySelector(%s).click();
            return row;
        })()""" % (json.dumps(description), json.dumps(selector)), "the row " + description)


class Returning(ListsCase):
    def test_filter_after_deleting(self):
        """A form that was opened from a filtered list leads back to it."""
        self.assert_ok(self.client.put("/edges/https/e/routes/r/oauth", {}))
        self.assert_ok(self.client.put("/edges/tls/t/mutual_tls", {}))
        for name in ("keep 1", "keep 2", "other"):
            self.make(description=name)
        self.enter()
        for view, text, row, n in (
                ("#/credentials", 'obj.description.startsWith("keep")', ".description a", 1),
                ("#/modules/oauth", 'obj.edge_id == "e"', ".route a", 0),
                ("#/modules/mutual_tls", 'obj.edge_id == "t"', ".edge a", 0)):
            with self.subTest(view):
                self.go(view)
                self.until("document.querySelector(%s)?.value === '' && document.querySelector('.table .body .row')"
                           % json.dumps(FIELD), "the list")
                self.filter(text)
                self.until("document.querySelector('.filter a.button') && document.querySelector('.table .body .row')",
                           "the filtered list")
                self.click(".table .body " + row)
                self.click("button.delete")
                self.narrowed(n, text)
                # What leads to the list itself shows all of it.
                self.go(view)
                self.until("document.querySelector(%s)?.value === ''" % json.dumps(FIELD), "the whole list")
        self.filter('obj.edge_id == "t"')
        self.until("document.querySelector('.filter a.button')", "the filtered list")
        self.go("#/modules/new/mutual_tls")
        self.click("form.edit .actions a.button")
        self.until("location.hash.startsWith('#/modules/mutual_tls?filter=')", "the list")


    def test_back(self):
        """Back leads to the rows that were in sight, also if they were on a later page."""
        self.stack.psql("INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
                        " SELECT '%s', 'e' || lpad(n::text, 3, '0'), true FROM generate_series(0, 449) AS n"
                        % self.account.id)
        for size, scrolls in (("desktop", ".table .body"), ("phone", "main")):
            with self.subTest(size):
                self.enter("#/modules/mutual_tls", size)
                self.see("e000", ".table")
                scroll = "document.querySelector(%s).scrollTop" % json.dumps(scrolls)
                self.until("(%s = 1e6, document.querySelector('.table').ariaRowCount === '451')" % scroll, "all rows")
                self.browser.evaluate("%s = document.querySelector('.table .all').clientHeight * 0.9" % scroll)
                # The row may be there before the console has seen that the list scrolled.
                self.browser.draw()
                self.until("document.querySelector('.table').innerText.includes('e406')", "a later row")
                place = self.browser.evaluate(scroll)
                self.until("""(() => {
                    const row = [...document.querySelectorAll(".body .row")].find((one) => one.innerText.includes("e406"));
                    row?.querySelector("a").click();
                    return row;
                })()""", "the row")
                self.see("e406", "h1")
                # A view begins at its top, and the window has its name.
                self.assertEqual(self.browser.evaluate("document.querySelector('main').scrollTop"), 0)
                self.assertEqual(self.browser.evaluate("document.title"), "Mutual TLS module of edge e406 \u2013 Adit")
                self.browser.evaluate("history.back()")
                self.until("document.querySelector('.table') && Math.abs(%s - %d) < 2" % (scroll, place), "the same place")
                self.until("document.querySelector('.table').innerText.includes('e406')", "the same rows")
                self.assertEqual(self.browser.evaluate("document.title"), "Routes and edges \u2013 Adit")
                # A link to the list begins at its top.
                self.go("#/overview")
                self.see("Overview", "h1")
                self.go("#/modules/mutual_tls")
                self.see("e000", ".table")
                self.assertEqual(self.browser.evaluate(scroll), 0)


class Descriptions(ListsCase):
    def test_long_and_blank(self):
        """A long description ends with an ellipsis inside its row, and one of spaces has a link."""
        self.make(description="   ")
        self.make(description="x" * 255)
        self.make(description="eine Maschine im Rechenzentrum " * 8)
        for size in ("desktop", "phone"):
            with self.subTest(size):
                self.enter(size=size)
                self.see("Rechenzentrum", ".table")
                self.see("No description", ".table")
                self.assertEqual(self.browser.evaluate("""
                    [...document.querySelectorAll(".table .body .description a")].map((one) => {
                        const [own, row] = [one, one.closest(".row")].map((each) => each.getBoundingClientRect());
                        const isInside = own.top >= row.top && own.bottom <= row.bottom;
                        const isShort = own.height < 60 && getComputedStyle(one).webkitLineClamp === "2";
                        return isInside && isShort && own.width > 10;
                    })"""), [True] * 3)
                self.screenshot("credentials-long-" + size)


class Empty(ListsCase):
    def test_empty(self):
        """What an empty list says stands where the first row would be."""
        for view, says in (("#/credentials", "There are no credentials."), ("#/modules", "There are no OAuth modules."),
                           ("#/credentials?filter=obj.id==%22x%22", "No credential matches the filter.")):
            for size in ("desktop", "phone"):
                self.enter(view, size)
                self.see(says, ".table-box")
                distance = self.browser.evaluate("""document.querySelector(".table-box > .state").getBoundingClientRect().top
                    - document.querySelector(".table .head").getBoundingClientRect().bottom""")
                self.assertTrue(0 <= distance < 56, distance)
        self.screenshot("credentials-empty")
