# SPDX-License-Identifier: MIT
"""Signing in, being refused and signing out in a headless Chromium, behind nginx and Apache."""
import json

from adit import stack
from adit.case import Case
from adit.chromium import Browser
from adit.gate import HOST, Gate


class InBrowser:
    """Mixed into the cases of each web server.  What the browser keeps is its own: cookies with
    SameSite, redirects between sites, the policy of a page."""

    front = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gate = Gate(stack.get(), cls.front)
        cls.addClassCleanup(cls.gate.remove)
        cls.browser = Browser(HOST, "localhost")
        cls.addClassCleanup(cls.browser.close)
        # The mock's authority is not in the browser's store.
        cls.browser.call("Security.setIgnoreCertificateErrors", ignore=True)

    def shows(self, what, *texts):
        """Waits for a page with that title, heading or part of its text."""
        self.browser.until("document.readyState === 'complete' && "
                           "(document.title + document.body.innerText).includes(%s)"
                           % json.dumps(what), what)
        text = self.browser.evaluate("document.body.innerText")
        for wanted in texts:
            self.assertIn(wanted, text)
        return text

    def click(self, words):
        """Clicks on the link or the button with these words."""
        self.browser.evaluate(
            "[...document.querySelectorAll('a, button')].find("
            "element => element.innerText === %s).click()" % json.dumps(words))

    def seen(self):
        """What the application saw."""
        return json.loads(self.browser.evaluate("document.body.innerText"))

    def web_socket(self):
        """The first message of a WebSocket, or "refused"."""
        return self.browser.evaluate(
            "new Promise(resolve => {"
            " const socket = new WebSocket(location.origin.replace('http', 'ws') + '/ws');"
            " socket.onmessage = message => { resolve(message.data); socket.close(); };"
            " socket.onerror = () => resolve('refused'); })")

    def has_no_fault(self):
        """The page breaks none of its own rules, and can be read on a phone."""
        self.assertEqual([row for row in self.browser.complaints() if "violates" in row], [])
        self.assertEqual(self.browser.evaluate("document.documentElement.lang"), "en")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('h1').length"), 1)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('script').length"), 0)
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 390)
        # The style is not refused by the policy.
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.body).marginTop"), "0px")

    def test_visit(self):
        self.gate.module(config={"email_addresses": ["alice@example.com"]}, inactivity_timeout=600)
        url = self.gate.url()
        self.browser.open(url + "/page?a=1", 390, 844, True)
        self.shows("Who are you?")
        self.click("alice")
        self.shows('"method"')
        seen = self.seen()
        self.assertEqual(seen["path"], "/page?a=1")
        self.assertIn(["X-Adit-User", "alice@example.com"], seen["headers"])
        self.assertNotIn("Cookie", [name for name, _ in seen["headers"]])
        self.assertEqual(self.browser.evaluate("location.href"), url + "/page?a=1")
        self.assertEqual(self.browser.evaluate("document.cookie"), "")
        # Other pages, and a script's requests, go with the same session.
        self.assertEqual(self.browser.evaluate(
            "fetch('/data', {method: 'POST', body: 'x'}).then(answer => answer.status)"), 200)
        self.assertIn(["X-Adit-User", "alice@example.com"], json.loads(self.web_socket()))
        # Another site's image, link and form sign nobody out.
        for element in ('<img src="%s/_adit/logout" onerror="document.title = 1">',
                        '<a href="%s/_adit/logout">Go</a>',
                        '<form method="post" action="%s/_adit/logout"><button>Go</button></form>'):
            self.browser.open("data:text/html,<p>Elsewhere</p>" + element % url, 390, 844, True)
            self.shows("Elsewhere")
            if "Go" in element:
                self.click("Go")
                self.shows("Sign out of this site?" if "href" in element else "Signed out")
                self.has_no_fault()
            else:
                self.browser.until("document.title === '1'", "the image's fault")
            self.browser.open(url + "/", 390, 844, True)
            self.shows('"method"')
        self.browser.open(url + "/_adit/logout", 390, 844, True)
        self.shows("Sign out of this site?", "alice@example.com", "Stay signed in")
        self.has_no_fault()
        self.click("Stay signed in")
        self.shows('"method"')
        self.browser.open(url + "/_adit/logout", 390, 844, True)
        self.shows("Sign out of this site?")
        self.click("Sign out")
        self.shows("Signed out", "You may still be signed in at GitHub.")
        self.has_no_fault()
        self.click("Sign in")
        self.shows("Who are you?")
        self.click("Refuse")
        self.shows("Sign-in failed")
        self.has_no_fault()
        self.click("Try again")
        self.shows("Who are you?")
        # Somebody who is not listed, and goes.
        self.click("carol")
        self.shows("Not allowed", "carol@example.com", "Sign out")
        self.assertNotIn("alice", self.browser.evaluate("document.documentElement.outerHTML"))
        self.has_no_fault()
        self.click("Sign out")
        self.shows("Signed out")
        self.browser.open(url + "/", 390, 844, True)
        self.shows("Who are you?")
        self.gate.mock.faults["token"] = ("status", "500")
        self.click("alice")
        self.shows("You cannot sign in now", "GitHub does not answer.")
        self.has_no_fault()
        self.gate.mock.faults.clear()
        self.click("Try again")
        self.shows("Who are you?")
        self.click("alice")
        self.shows('"method"')
        # Without a session, a script gets nothing.  Chromium does not say under http that it is one
        # (Sec-Fetch-Mode), and does not let it follow to the provider.
        self.assertIs(self.browser.evaluate(
            "fetch('/_adit/logout', {method: 'POST'}).then(() => fetch('/data'))"
            ".then(answer => answer.ok, () => false)"), False)
        self.assertEqual(self.web_socket(), "refused")


class InNginx(InBrowser, Case):
    front = "nginx"


class InApache(InBrowser, Case):
    front = "apache"
