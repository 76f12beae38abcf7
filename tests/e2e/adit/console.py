# SPDX-License-Identifier: MIT
"""The console at /console, used as a person does: in a headless Chromium."""
import json
import os

from adit.case import Case
from adit.chromium import Browser
from adit.stack import BUILD

SCREENSHOTS = os.path.join(BUILD, "console-tests")
SIZES = {"desktop": (1280, 900, False), "phone": (360, 740, True)}

# Also what a policy forbids without an entry in the log.
WATCH_POLICY = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
    window.violations.push(event.violatedDirective + " " + event.blockedURI);
});
"""


class ConsoleCase(Case):
    """Each class has a browser, and each test a page.  A test fails if the page violates its policy
    or throws an exception."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not os.path.exists(os.path.join(cls.stack.state, "console", "index.html")):
            raise AssertionError("the stack has no console; run 'make console', which needs npm")
        os.makedirs(SCREENSHOTS, exist_ok=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH_POLICY)

    def setUp(self):
        self.addCleanup(self.check_page)

    def check_page(self):
        # Refused requests are in the log too, and are part of the tests.
        found = [text for text in self.browser.complaints() if '"source": "network"' not in text]
        violations = self.browser.evaluate("window.violations || []")
        # The next test begins as a new person.
        self.browser.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.assertEqual((found, violations), ([], []))

    # ---- pages ----

    def open(self, view="", size="desktop"):
        """Opens the console anew, so nobody is signed in."""
        self.browser.open("about:blank", *SIZES[size])
        self.browser.open(self.stack.url + "/console" + view, *SIZES[size])
        self.until("document.querySelector('h1')", "the console")

    def sign_in(self, key, view="", size="desktop"):
        self.open(view, size)
        self.type("input[type=password]", key)
        self.click(".sign-in button.main")
        self.until("document.querySelector('.sign-out')", "signed in")

    def until(self, expression, what):
        self.browser.until(expression, what)

    def see(self, text, within="body"):
        self.until("(document.querySelector(%s)?.innerText ?? '').includes(%s)"
                   % (json.dumps(within), json.dumps(text)), "%r in %s" % (text, within))

    def text(self, selector):
        self.until("document.querySelector(%s)" % json.dumps(selector), selector)
        return self.browser.evaluate("document.querySelector(%s).innerText" % json.dumps(selector))

    def value(self, selector):
        return self.browser.evaluate("document.querySelector(%s).value" % json.dumps(selector))

    def click(self, selector):
        self.until("document.querySelector(%s)?.disabled === false || document.querySelector(%s)"
                   "?.href" % (json.dumps(selector), json.dumps(selector)), "enabled: " + selector)
        self.browser.evaluate("document.querySelector(%s).click()" % json.dumps(selector))

    def type(self, selector, text):
        """Replaces the text of a field, as a paste does."""
        name = json.dumps(selector)
        self.until("document.querySelector(%s)" % name, selector)
        self.browser.evaluate("document.querySelector(%s).select()" % name)
        if text:
            self.browser.call("Input.insertText", text=text)
        else:
            self.browser.evaluate("document.execCommand('delete')")

    def rows(self):
        """The texts of the rows in the page."""
        return self.browser.evaluate(
            "[...document.querySelectorAll('.table .body .row')].map((row) => row.innerText)")

    def screenshot(self, name):
        self.browser.screenshot(os.path.join(SCREENSHOTS, name + ".png"))
