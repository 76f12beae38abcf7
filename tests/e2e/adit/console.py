# SPDX-License-Identifier: MIT
"""The console at /console, used as a person does: in a headless Chromium."""
import base64
import contextlib
import json
import os
import time

from adit import chromium, npm
from adit.case import Case
from adit.chromium import Browser
from adit.stack import BUILD

SCREENSHOTS = os.path.join(BUILD, "console-tests")
HOSTILE = ("<script>document.title = 'hostile'</script><img src=x onerror=\"document.title="
           "'hostile'\"> javascript:alert(1) \"quoted\" 'quoted' \u202egnp.exe\u202c & &lt;")
SIZES = {"desktop": (1280, 900, False), "phone": (360, 740, True)}

# What may go wrong in the middle of an action: its name, the status and the error's number.  One of each
# that the console treats in its own way: tests/console/errors.test.mjs has the words of the others.
FAULTS = [("down", None, 0), ("slow", "slow", 0)] + [
    (str(status), status, number) for status, number in (
        (401, 203), (409, 609), (412, 9038), (502, 9055), (503, 9030))]

# A browser takes seconds to insert many lines, and minutes on a busy machine.
MOST_TYPED = 1000

# axe-core's rules for a view in light and in dark colours: all, and those that look at colours.
RULES = {"light": None, "dark": ["color-contrast", "link-in-text-block"]}

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
        self.replacement, self.passed = None, set()
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
        self.until("location.href === 'about:blank'", "the last page to go")
        self.browser.open(self.stack.url + "/console" + view, *SIZES[size])
        self.until("document.querySelector('h1')", "the console")

    def sign_in(self, key, view="#/credentials", size="desktop"):
        self.key = key
        self.open(view, size)
        self.type("input[type=password]", key)
        self.click(".sign-in button.main")
        self.until("document.querySelector('.sign-out')", "signed in")

    def until(self, expression, what):
        self.browser.until(expression, what, self.let_others_pass)

    def see(self, text, within="body"):
        self.until("(document.querySelector(%s)?.innerText ?? '').includes(%s)"
                   % (json.dumps(within), json.dumps(text)), "%r in %s" % (text, within))

    def text(self, selector):
        self.until("document.querySelector(%s)" % json.dumps(selector), selector)
        return self.browser.evaluate("document.querySelector(%s).innerText" % json.dumps(selector))

    def texts(self, selector):
        self.until("document.querySelector(%s)" % json.dumps(selector), selector)
        return self.browser.evaluate("[...document.querySelectorAll(%s)].map((one) => one.innerText)"
                                     % json.dumps(selector))

    def value(self, selector):
        return self.browser.evaluate("document.querySelector(%s).value" % json.dumps(selector))

    def click(self, selector):
        """Clicks as soon as that is possible, in one step: a view may draw it anew at any time."""
        self.until("""(() => {
            const one = document.querySelector(%s);
            const can = one?.disabled === false || Boolean(one?.href);
            if (can) { one.click(); }
            return can;
        })()""" % json.dumps(selector), "enabled: " + selector)

    def type(self, selector, text):
        """Replaces the text of a field, as a paste does."""
        self.until("(document.querySelector(%s)?.select(), document.querySelector(%s))"
                   % ((json.dumps(selector),) * 2), selector)
        if len(text) > MOST_TYPED:
            self.browser.evaluate("""{
                const field = document.querySelector(%s);
                field.value = %s;
                field.dispatchEvent(new InputEvent("input", {bubbles: true}));
            }""" % (json.dumps(selector), json.dumps(text)))
        elif text:
            self.browser.call("Input.insertText", text=text)
        else:
            self.browser.evaluate("document.execCommand('delete')")

    def press(self, key, code, text=""):
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code,
                          text=text)
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def place(self, selector):
        """The middle of an element, for the mouse."""
        self.until("document.querySelector(%s)" % json.dumps(selector), selector)
        return self.browser.evaluate("""(() => {
            const box = document.querySelector(%s).getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        })()""" % json.dumps(selector))

    def point(self, place):
        """Clicks with the mouse, as the browser believes a person did."""
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left",
                              clickCount=1)

    def choose(self, selector, value):
        """Chooses an option, or ticks a box."""
        name = json.dumps(selector)
        self.until("document.querySelector(%s)" % name, selector)
        self.browser.evaluate("""{
            const field = document.querySelector(%s);
            field[field.type === "checkbox" ? "checked" : "value"] = %s;
            field.dispatchEvent(new Event("change", {bubbles: true}));
        }""" % (name, json.dumps(value)))

    def absent(self, selector):
        self.until("!document.querySelector(%s)" % json.dumps(selector), "no " + selector)

    def go(self, view):
        self.browser.evaluate("location.hash = %s" % json.dumps(view))

    def sign_in_again(self, key):
        self.until("document.querySelector('dialog.sign-in[open]')", "the question for a key")
        self.type("dialog.sign-in input[type=password]", key)
        self.click("dialog.sign-in button.main")
        self.until("!document.querySelector('dialog.sign-in')", "signed in again")

    def check_calm(self, within):
        """Hostile texts are texts, and nothing is wider than the page."""
        self.assertEqual(self.browser.evaluate(
            "document.querySelectorAll(%s).length" % json.dumps(
                ", ".join("%s %s" % (within, name) for name in ("script", "img")))), 0)
        self.assertNotIn("hostile", self.browser.evaluate("document.title"))
        self.assertEqual(self.browser.evaluate(
            "document.scrollingElement.scrollWidth <= innerWidth"), True)

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
            self.check_accessible("%s, %s" % (name, scheme), RULES[scheme])

    def check_accessible(self, what, rules=None):
        if not self.browser.evaluate("'axe' in window"):
            self.browser.evaluate(self.axe)
        found = self.browser.evaluate("""axe.run(%s).then((result) => result.violations.map((one) =>
            one.id + ": " + one.nodes.map((node) => node.html.slice(0, 200) + " " +
            node.failureSummary).slice(0, 2).join(" | ")))""" % json.dumps({"runOnly": rules} if rules else {}))
        self.assertEqual(found, [], what)

    def choose_text(self, selector, text):
        """Chooses the option with that text."""
        self.until("[...document.querySelector(%s)?.options ?? []].some((one) => one.text === %s)"
                   % (json.dumps(selector), json.dumps(text)), "%r in %s" % (text, selector))
        self.browser.evaluate("""{
            const choice = document.querySelector(%s);
            choice.value = [...choice.options].find((one) => one.text === %s).value;
            choice.dispatchEvent(new Event("change", {bubbles: true}));
        }""" % (json.dumps(selector), json.dumps(text)))

    def check_fits(self):
        """Nothing is wider than the page, and nothing hostile became a part of it."""
        self.assertEqual(self.browser.evaluate("""(() => {
            const main = document.querySelector("main");
            if (document.scrollingElement.scrollWidth <= innerWidth && main.scrollWidth <= main.clientWidth) {
                return [];
            }
            const isOut = (one) => one.getBoundingClientRect().right > main.clientWidth;
            return [...document.querySelectorAll("body *")].filter(isOut).map((one) => one.outerHTML.slice(0, 120));
        })()"""), [])
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('main script, main img').length"), 0)
        self.assertIn("Adit", self.browser.evaluate("document.title"))

    def set_zone(self, name):
        """Shows times in that zone until the test ends."""
        self.browser.call("Emulation.setTimezoneOverride", timezoneId=name)
        self.addCleanup(self.browser.call, "Emulation.setTimezoneOverride", timezoneId="")

    # ---- answers that go wrong ----

    def answer_badly(self, act, method, status, number, within):
        """Does something whose request gets that error, or whose connection breaks.  Sees the
        server's words, the number and the time to wait."""
        words = "The server's words <b>%s %s</b>" % (method, status)
        self.answer_instead(method, status, {
            "error_code": "ERR_SERVICE_%d" % number, "status_code": status, "details": {},
            "msg": words}, {"Retry-After": "7", "Content-Type": "application/json"})
        act()
        self.let_answer()
        if status is None:
            self.see("The service cannot be reached.", within)
            return
        if status == 412 and ".restore" in within:
            self.see("Nothing is restored", ".restore .meanwhile")
            return
        for part in (words, "Error %d." % number, "Retry after 7 s."):
            self.see(part, within)

    def fail_in_all_ways(self, act, method, check, key, within):
        """Whatever the answer to the request that act() sends, check() finds what was typed.  Goes on
        with the key after 401."""
        rows = [(str(status), status, number) for status, number in (
            (403, 9080), (409, 609), (412, 9038), (413, 9006), (429, 9053), (503, 9030))]

        def fail_once(status, number):
            self.answer_badly(act, method, status, number, within)
            check()

        self.each(rows + [("broken off", None, 0)], fail_once)
        with self.subTest("401"):
            self.answer_badly(act, method, 401, 203, "dialog[open]")
            self.sign_in_again(key)
            check()

    def check_fault(self, fault, method, act, where, kept, conflicts=False):
        """Acts, gets that answer, and still has what was typed.  Then the same act succeeds."""
        status, number = fault
        if status == "slow":
            self.answer_instead(method)
            act()
            held = self.hold_answer()
            kept()
            self.release(held)
            return
        words = "The server's words <b>%s</b>" % status
        self.answer_instead(method, status, {
            "error_code": "ERR_SERVICE_%d" % number, "status_code": status, "details": {}, "msg": words},
            {"Content-Type": "application/json"})
        act()
        self.let_answer()
        if status == 401:
            self.see(words, "dialog")
            kept()
            self.sign_in_again(self.key)
        elif status == 412 and conflicts:
            self.click(".take-yours")
            self.until("!document.querySelector('.conflict')", "the form")
        elif status == 502 and method == "GET":
            # The web server's words are about changes.
            self.see("The service cannot be reached.", where)
            self.see("Error %d." % number, where)
        elif status:
            self.see(words, where)
            self.see("Error %d." % number, where)
        else:
            self.see("The service cannot be reached.", where)
        kept()
        act()

    def kept(self, selector, text):
        return lambda: self.assertEqual(self.value(selector), text)

    def answer_instead(self, method, status=None, error=None, headers=(), url=""):
        """Answers the next request of that method with that part of an address, instead of the
        service.  Without a status, the connection breaks."""
        self.browser.call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        self.replacement = ((method, url), status, error, dict(headers), len(self.paused()))

    def is_replaced(self, event):
        method, url = self.replacement[0]
        return event["request"]["method"] == method and url in event["request"]["url"]

    def let_others_pass(self):
        """Requests of other methods do not wait until the one to replace is sent."""
        if not self.replacement:
            return
        for event in self.paused()[self.replacement[-1]:]:
            if not self.is_replaced(event) and event["requestId"] not in self.passed:
                self.passed.add(event["requestId"])
                self.let_go(event["requestId"])

    def let_go(self, request):
        # One that was held when the last replacement ended has gone on by itself.
        with contextlib.suppress(chromium.Refused):
            self.browser.call("Fetch.continueRequest", requestId=request)

    def paused(self):
        return [event["params"] for event in self.browser.events
                if event["method"] == "Fetch.requestPaused"]

    def let_answer(self):
        """Lets requests pass until the one to replace, and answers that one."""
        _, status, error, headers, _ = self.replacement
        request = self.hold_answer()
        if status is None:
            self.browser.call("Fetch.failRequest", requestId=request, errorReason="ConnectionReset")
        else:
            self.browser.call(
                "Fetch.fulfillRequest", requestId=request, responseCode=status,
                responseHeaders=[{"name": name, "value": value} for name, value in
                                 headers.items()],
                body=base64.b64encode(json.dumps(error).encode()).decode())
        self.browser.call("Fetch.disable")

    def hold_answer(self):
        """Lets requests pass until the one to replace.  That one waits for release()."""
        seen = self.replacement[-1]
        deadline = time.monotonic() + chromium.DEADLINE_S
        while time.monotonic() < deadline:
            self.browser.evaluate("1")  # takes the events that have arrived
            for event in self.paused()[seen:]:
                seen += 1
                request = event["requestId"]
                if self.is_replaced(event):
                    return request
                if request not in self.passed:
                    self.let_go(request)
            time.sleep(0.02)
        raise AssertionError("no %s %s within %g s" % (*self.replacement[0], chromium.DEADLINE_S))

    def release(self, request):
        self.browser.call("Fetch.continueRequest", requestId=request)
        self.browser.call("Fetch.disable")
