# SPDX-License-Identifier: MIT
"""The test bed of tools/bench --console: a private Adit with a long list, and a headless Chromium
that traces what it draws."""
import json
import os
import shutil
import time

from adit import npm, stack
from adit.chromium import DEADLINE_S, PROGRAM, Browser

import bed as beds
import measure

# A phone's processor, as Chromium emulates it: so many times slower.
SLOWER = 4

# How fast the list scrolls, in pixels a second, and for how many seconds.  A row has 56 pixels.
SPEEDS = (1000, 5000, 40000)
SCROLL_S = 4

PHONE = (360, 740, True)
DESKTOP = (1280, 900)

# What the trace has: navigations and paints, and the frames that were drawn.
TRACED = ("blink.user_timing,loading,rail,devtools.timeline,"
          "disabled-by-default-devtools.timeline.frame,devtools.timeline.frame")

LIST = "#/credentials"
BODY = "document.querySelector('.table .body')"
N_ROWS = "Number(document.querySelector('.table').getAttribute('aria-rowcount'))"

CATEGORIES = ("performance", "accessibility", "best-practices")


class Bed(beds.Bed):
    def __init__(self, n_rows):
        super().__init__(n_rows, n_accounts=1, is_quick=True)
        self.url = self.stack.url + "/console/"
        self.browser = Browser()

    def close(self):
        self.browser.close()

    def version(self):
        return self.browser.call("Browser.getVersion")["product"].rpartition("/")[2]

    # ---- the trace ----

    def _trace(self, action):
        """Returns the events of the browser's trace while action() runs."""
        browser = self.browser
        browser.events.clear()
        browser.call("Tracing.start", categories=TRACED, transferMode="ReportEvents")
        action()
        browser.call("Tracing.end")
        deadline = time.monotonic() + DEADLINE_S
        while not any(event["method"] == "Tracing.tracingComplete" for event in browser.events):
            if time.monotonic() > deadline:
                raise measure.Broken("Chromium does not end its trace")
            browser.evaluate("1")  # takes the events that have arrived
        return [event for message in browser.events
                if message["method"] == "Tracing.dataCollected"
                for event in message["params"]["value"]]

    def _leave(self, size):
        """From the console itself, one of its views would be no new page."""
        self.browser.open("about:blank", *size)
        # After a trace, a navigation that comes sooner does not end.
        self.browser.until("location.href === 'about:blank' && document.readyState === 'complete'",
                           "the empty page")

    def _painted_ms(self, view, seen):
        """Opens a view with a slow processor.  Returns when the largest part of the view was
        painted, in milliseconds from the navigation on."""
        browser = self.browser
        self._leave(PHONE)
        browser.call("Network.clearBrowserCache")
        browser.call("Emulation.setCPUThrottlingRate", rate=SLOWER)

        def show():
            browser.open(self.url + view, *PHONE)
            browser.until(seen, "the view")
            # The trace learns of a paint when the frame is on the screen.
            browser.evaluate(
                "new Promise((done) => new PerformanceObserver(() => setTimeout(() => done(1), 500))"
                ".observe({type: 'largest-contentful-paint', buffered: true}))")
        try:
            return painted_ms(self._trace(show), self.url)
        finally:
            browser.call("Emulation.setCPUThrottlingRate", rate=1)

    # ---- first views ----

    def _sign_in(self):
        """In a tab that stays signed in."""
        browser = self.browser
        self._leave(DESKTOP)
        browser.open(self.url + LIST, *DESKTOP)
        browser.until("document.querySelector('input[type=password]')", "the field of the key")
        browser.evaluate("document.querySelector('input[type=checkbox]').click()")
        browser.evaluate("document.querySelector('input[type=password]').focus()")
        browser.call("Input.insertText", text=self.keys["reader"])
        browser.evaluate("document.querySelector('.sign-in button.main').click()")
        self._await_rows()

    def _await_rows(self):
        self.browser.until("document.querySelector('.table .body .row .cell')", "the list")

    def _sign_out(self):
        self.browser.evaluate("sessionStorage.clear()")

    def warm_up(self):
        """The first page of a new browser is slower, whatever it shows."""
        self._sign_in()
        self._sign_out()

    def first_view_ms(self):
        return self._painted_ms("", "document.querySelector('.sign-in button.main')")

    def list_ms(self):
        """The list, where the tab knows the key."""
        self._sign_in()
        try:
            return self._painted_ms(LIST, "document.querySelector('.table .body .row .cell')")
        finally:
            self._sign_out()

    # ---- the list ----

    def _read_all(self):
        """Scrolls to the end until the list is complete."""
        self._sign_in()
        self.browser.evaluate(BODY + ".scrollIntoView()")
        deadline = time.monotonic() + DEADLINE_S
        while self.browser.evaluate(N_ROWS) < self.n_rows:
            if time.monotonic() > deadline:
                raise measure.Broken("the list does not end")
            self.browser.evaluate("%s.scrollTop = %s.scrollHeight" % (BODY, BODY))
        self.browser.evaluate(BODY + ".scrollTop = 0")

    def scroll(self, speed):
        """Scrolls as a finger does.  Returns the frames a second and the longest time between two,
        in milliseconds."""
        self._read_all()
        x, y = self.browser.evaluate(
            "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
            "(%s.getBoundingClientRect())" % BODY)
        height = self.browser.evaluate("%s.scrollHeight - %s.clientHeight" % (BODY, BODY))
        wanted = min(height, speed * SCROLL_S)
        found = frames(self._trace(lambda: self.browser.call(
            "Input.synthesizeScrollGesture", x=x, y=y, yDistance=-wanted, speed=speed,
            preventFling=True, gestureSourceType="mouse")))
        at = self.browser.evaluate(BODY + ".scrollTop")
        self._sign_out()
        if abs(at - wanted) > 2:
            raise measure.Broken("the list scrolled to %d instead of %d" % (at, wanted))
        return {"speed": speed, **found}

    # ---- Lighthouse ----

    def lighthouse(self):
        """Returns its scores of the first view, from 0 to 100."""
        folder = npm.install("bench/lighthouse")
        flags = "--headless --no-sandbox" if os.getuid() == 0 else "--headless"
        done = stack.run(
            ["node", os.path.join(folder, "node_modules", "lighthouse", "cli", "index.js"),
             self.url, "--quiet", "--no-enable-error-reporting", "--output=json", "--only-categories=" + ",".join(CATEGORIES),
             "--chrome-flags=" + flags],
            env=dict(os.environ, CHROME_PATH=shutil.which(PROGRAM)), timeout=300)
        categories = json.loads(done.stdout)["categories"]
        return {name: categories[name]["score"] * 100 for name in CATEGORIES}


def painted_ms(events, url):
    """When the largest part of the page was painted, as the trace of its navigation tells."""
    began = [event["ts"] for event in events if event["name"] == "navigationStart"
             and event["args"].get("data", {}).get("documentLoaderURL", "").startswith(url)]
    painted = [event["ts"] for event in events
               if event["name"] == "largestContentfulPaint::Candidate"]
    if not began or not painted or painted[-1] < began[-1]:
        raise measure.Broken("the trace has no paint of the page")
    return (painted[-1] - began[-1]) / 1000


def frames(events):
    """How many frames a second were drawn, and the longest time between two."""
    drawn = sorted(event["ts"] for event in events if event["name"] == "DrawFrame")
    if len(drawn) < 10:
        raise measure.Broken("the trace has %d frames" % len(drawn))
    gaps = [after - before for before, after in zip(drawn, drawn[1:])]
    return {"per_s": len(gaps) * 1e6 / (drawn[-1] - drawn[0]), "longest_ms": max(gaps) / 1000}
