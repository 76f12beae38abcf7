# SPDX-License-Identifier: MIT
"""A headless Chromium, controlled through a pipe with the DevTools protocol."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

# Debian's package of the same name.  It draws as the whole browser does, and takes about a third of
# its processor time.
PROGRAM = "chromium-headless-shell"
FLAGS = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--remote-debugging-pipe",
         # Threads that compile beside the page take a sixth of the processor time, and save none.
         "--js-flags=--single-threaded"]

# No answer and no part of the page takes longer, on a busy machine either, in seconds.
DEADLINE_S = 120


class Refused(AssertionError):
    """Chromium did not run a command."""


class Browser:
    """hosts are names of this machine.  The browser resolves no others, so that it reaches only
    this machine.  look_s: how long until() waits before it looks again, in seconds."""

    def __init__(self, *hosts, look_s=0.1):
        self.look_s = look_s
        self.hosts = hosts
        self.profile = tempfile.mkdtemp(prefix="adit-chromium-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        self._buffer = b""
        self._next = 0
        self.events = []
        # What to answer if the page asks whether to leave it, and how often it asked.
        self.leaves, self.asked = True, 0
        self._session = None
        self._process = self._start(to_browser, from_browser)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def _start(self, to_browser, from_browser):
        """Chromium reads from descriptor 3 and writes to 4."""
        program = shutil.which(PROGRAM)
        if not program:
            raise AssertionError("%s is missing; install the package of that name" % PROGRAM)
        rules = ["MAP %s 127.0.0.1" % host for host in self.hosts]
        rules += ["MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"]
        command = [program, *FLAGS, "--user-data-dir=" + self.profile,
                   "--host-resolver-rules=" + ", ".join(rules)]
        if os.getuid() == 0:
            command.append("--no-sandbox")
        script = 'exec 3<&%d 4>&%d; exec "$@"' % (to_browser, from_browser)
        process = subprocess.Popen(
            ["bash", "-c", script, "bash", *command], pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self.profile))
        os.close(to_browser)
        os.close(from_browser)
        return process

    def close(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)
        # Its processes end after it, and write to the last.
        deadline = time.monotonic() + DEADLINE_S
        while os.path.exists(self.profile) and time.monotonic() < deadline:
            shutil.rmtree(self.profile, ignore_errors=True)
            time.sleep(0.05)

    def _read(self, deadline):
        """Returns the next message, or None after a timeout."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                return None
            data = os.read(self._in, 1 << 16)
            if not data:
                raise AssertionError("Chromium ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _send(self, method, parameters):
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._next

    def call(self, method, **parameters):
        """Sends a command and returns its result.  Keeps the events that arrive before it."""
        number = self._send(method, parameters)
        deadline = time.monotonic() + DEADLINE_S
        while True:
            answer = self._read(deadline)
            if answer is None:
                raise AssertionError("%s: no answer from Chromium" % method)
            if answer.get("method") == "Page.javascriptDialogOpening":
                # The command may wait for this.
                self.asked += 1
                self._send("Page.handleJavaScriptDialog", {"accept": self.leaves})
            if "id" not in answer:
                self.events.append(answer)
            elif answer["id"] != number:
                continue
            elif "error" in answer:
                raise Refused("%s: %s" % (method, answer["error"]["message"]))
            else:
                return answer["result"]

    def evaluate(self, expression):
        """Returns the value of a JavaScript expression in the page."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in done:
            raise AssertionError("%s: %s" % (expression, done["exceptionDetails"]["text"]))
        return done["result"].get("value")

    def draw(self):
        """Waits until the page has been drawn with all that it has now."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, expression, what, meanwhile=None):
        deadline, said = time.monotonic() + DEADLINE_S, ""
        while True:
            # While one page goes and the next one comes, there is none.
            try:
                if self.evaluate("Boolean(%s)" % expression):
                    return
            except Refused as refusal:
                said = "; " + str(refusal)
            if meanwhile:
                meanwhile()
            if time.monotonic() > deadline:
                raise AssertionError("%s: not within %g s%s" % (what, DEADLINE_S, said))
            time.sleep(self.look_s)

    def open(self, url, width, height, is_phone=False):
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=is_phone)
        self.call("Page.navigate", url=url)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call(
                "Page.captureScreenshot", optimizeForSpeed=True)["data"]))

    def requests(self):
        """Returns the URLs that the page requested."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def methods(self):
        """Returns the methods of these requests."""
        return [event["params"]["request"]["method"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """Returns the errors and warnings of the console: exceptions, policy violations, missing
        files."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters["exceptionDetails"])[:400])
            elif event["method"] == "Runtime.consoleAPICalled" and \
                    parameters["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(parameters["args"])[:400])
            elif event["method"] == "Log.entryAdded" and \
                    parameters["entry"]["level"] in ("error", "warning"):
                found.append(json.dumps(parameters["entry"])[:400])
        return found
