# SPDX-License-Identifier: MIT
"""The console at /console, used as a person does: in a headless Chromium."""
import base64
import json
import os
import time

from adit import chromium, npm
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
        with open(os.path.join(npm.install("tests/console"), "node_modules", "axe-core", "axe.min.js"),
                  encoding="utf-8") as file:
            cls.axe = file.read()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.browser.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH_POLICY)

    def setUp(self):
        self.addCleanup(self.check_page)

    def check_page(self):
        self.browser.call("Fetch.disable")
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
        """Keeps a picture of the view, in which axe-core finds no violation, light or dark."""
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.screenshot(os.path.join(SCREENSHOTS, "%s-%s.png" % (name, scheme)))
            self.check_accessible("%s, %s" % (name, scheme))

    def check_accessible(self, what):
        if not self.browser.evaluate("'axe' in window"):
            self.browser.evaluate(self.axe)
        found = self.browser.evaluate("""axe.run().then((result) => result.violations.map((one) =>
            one.id + ": " + one.nodes.map((node) => node.html.slice(0, 200) + " " +
            node.failureSummary).slice(0, 2).join(" | ")))""")
        self.assertEqual(found, [], what)

    # ---- answers that go wrong ----

    def answer_instead(self, method, status=None, error=None, headers=()):
        """Answers the next request of that method, instead of the service.  Without a status, the
        connection breaks."""
        self.browser.call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        self.replacement = (method, status, error, dict(headers), len(self.paused()))

    def paused(self):
        return [event["params"] for event in self.browser.events
                if event["method"] == "Fetch.requestPaused"]

    def let_answer(self):
        """Lets requests pass until the one to replace, and answers that one."""
        method, status, error, headers, seen = self.replacement
        deadline = time.monotonic() + chromium.DEADLINE_S
        while time.monotonic() < deadline:
            self.browser.evaluate("1")  # takes the events that have arrived
            for event in self.paused()[seen:]:
                seen += 1
                request = event["requestId"]
                if event["request"]["method"] != method:
                    self.browser.call("Fetch.continueRequest", requestId=request)
                    continue
                if status is None:
                    self.browser.call("Fetch.failRequest", requestId=request,
                                      errorReason="ConnectionReset")
                else:
                    self.browser.call(
                        "Fetch.fulfillRequest", requestId=request, responseCode=status,
                        responseHeaders=[{"name": name, "value": value} for name, value in
                                         headers.items()],
                        body=base64.b64encode(json.dumps(error).encode()).decode())
                self.browser.call("Fetch.disable")
                return
            time.sleep(0.02)
        raise AssertionError("no %s within %g s" % (method, chromium.DEADLINE_S))
