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
                (".acl a", "two", 2, everything), (".acl a", "one", 2, "size(obj.acl) == 2"),
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

    def click_cell(self, description, selector):
        self.until("""(() => {
            const row = [...document.querySelectorAll(".table .body .row")].find(
                (one) => one.querySelector(".description").innerText === %s);
            row?.querySelector(%s).click();
            return row;
        })()""" % (json.dumps(description), json.dumps(selector)), "the row " + description)


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
