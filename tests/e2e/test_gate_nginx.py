# SPDX-License-Identifier: MIT
"""A route with an OAuth module behind nginx: who passes, and what the application sees."""
import contextlib
import itertools
import os
import socket

from adit import fastcgi, gate_attacks, gate_cases, gate_faults, gate_providers, stack
from adit.case import until
from adit.edge_behaviours import HEADERS, SEPARATORS
from adit.gate_cases import START
from adit.listener import Listener

IS_CHECK = fastcgi.pairs({"ADIT_CHECK": "1"})
CANNOT_TELL = (fastcgi.stream(fastcgi.STDOUT, b"Status: 503\r\n\r\n") +
               fastcgi.record(fastcgi.END, bytes(8)))


class Nginx(gate_cases.Passing, gate_attacks.Attacks, gate_faults.Lasting, gate_faults.Away,
            gate_providers.Providers, gate_cases.GateCase):
    front = "nginx"

    @contextlib.contextmanager
    def checks_that_fail(self):
        """The gate answers everything but checks."""
        kept = self.gate.socket + ".kept"

        def serve(client):
            with client, fastcgi.connect(kept) as gate:
                request = b""
                while not request.endswith(fastcgi.record(fastcgi.STDIN)):
                    request += client.recv(65536)
                if IS_CHECK in request:
                    client.sendall(CANNOT_TELL)
                    return
                gate.sendall(request)
                while answer := gate.recv(65536):
                    client.sendall(answer)
        os.rename(self.gate.socket, kept)
        relay = socket.socket(socket.AF_UNIX)
        try:
            relay.bind(self.gate.socket)
            os.chmod(self.gate.socket, 0o666)
            relay.listen()
            listener = Listener(relay, serve)
            yield
            listener.close()
        finally:
            os.rename(kept, self.gate.socket)

    def test_pass_after_a_failed_check(self):
        """Going back brings a page.  What a request wanted to change would only seem done."""
        self.gate.module()
        browser = self.signed_in("alice")
        with self.checks_that_fail():
            for method, status, location in (
                    ("GET", 302, "/page?a"), ("HEAD", 302, "/page?a"),
                    ("POST", 503, None), ("PUT", 503, None), ("DELETE", 503, None)):
                with self.subTest(method):
                    answer = self.is_stopped(browser.copy().ask("/page?a", method), status)
                    self.assertEqual(answer.location, location)
            self.shows(browser.copy().ask("/page?a", "POST", body=b"x"), 503, "Not ready")
            # Who is not signed in is told so, and not that it is the gate's fault.
            self.is_sent_to_provider(self.gate.browser().ask())
            self.is_stopped(self.gate.browser().ask("/", "POST"), 401)
        self.passes(browser.ask(method="POST", body=b"x"))

    def test_several_cookie_headers(self):
        """Proxies that speak HTTP/2 to browsers may send each cookie in a header of its own."""
        self.gate.module()
        browser = self.signed_in("alice")
        session = "%s=%s" % browser.session()
        browser.cookies.clear()
        cookies = [b"Cookie: a=b", b"Cookie: " + session.encode(), b"Cookie: c=d; e=f"]
        for lines in (cookies, cookies[::-1]):
            answer = self.passes(browser.ask_raw(b"GET / HTTP/1.1", *lines))
            seen, = answer.seen_header("Cookie")
            self.assertEqual(sorted(seen.split("; ")), ["a=b", "c=d", "e=f"])

    def test_many_wait_for_one_answer(self):
        """Checks of others go on while the requests of one visitor wait for the provider."""
        alice = self.start(auth_check_interval=30,
                           config={"email_addresses": ["carol@example.com"]}, user="alice")
        self.gate.clock.set(START + 20)
        carol = self.signed_in("carol")
        self.gate.clock.set(START + 30)
        self.gate.mock.requests.clear()
        self.gate.mock.released.clear()
        self.addCleanup(self.gate.mock.released.set)
        self.gate.mock.faults["user"] = ("held",)
        request = ("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nCookie: %s\r\n\r\n" % (
            alice.host, alice.cookie_header("/"))).encode()
        with self.gate.patience(), contextlib.ExitStack() as opened:
            # More than the gate's two workers have lanes.
            waiting = [opened.enter_context(socket.create_connection(
                ("127.0.0.1", self.gate.port), timeout=60)) for _ in range(160)]
            for connection in waiting:
                connection.sendall(request)
            until(lambda: "user" in self.gate.mock.requests, "a question")
            for _ in range(20):
                self.passes(carol.copy().ask())
                self.is_sent_to_provider(self.gate.browser().ask())
            self.gate.mock.released.set()
            found = {connection.recv(12) for connection in waiting}
        self.assertEqual(found, {b"HTTP/1.1 403", b"HTTP/1.1 503"})


class AmongOthers(gate_cases.LargeHeaders, gate_cases.Malformed, gate_cases.GateCase):
    """What the server's configuration may say for all sites."""

    front = "nginx"
    settings = """
        fastcgi_cache_path FOLDER/cache keys_zone=cache:1m;
        fastcgi_cache cache;
        fastcgi_cache_key $request_uri;
        fastcgi_cache_valid any 1m;
        fastcgi_ignore_headers Cache-Control Expires Set-Cookie;
        proxy_cache_path FOLDER/pages keys_zone=pages:1m;
        proxy_cache pages;
        proxy_cache_key $host$request_uri;
        proxy_cache_valid any 1m;
        proxy_ignore_headers Set-Cookie;
        expires 1h;
        proxy_intercept_errors on;
        underscores_in_headers on;
        ignore_invalid_headers off;
        large_client_header_buffers 4 32k;
        error_page 400 401 403 404 405 413 414 494 501 505 =200 /error;
        error_page 500 502 503 504 =200 /error;
        recursive_error_pages on;
        satisfy any;
        allow 127.0.0.0/8;
        deny all;
    """

    def test_answers_of_the_application(self):
        """How long a visitor's page may be kept is the application's word."""
        self.gate.module()
        answer = self.passes(self.signed_in("alice").ask("/page"))
        self.assertIsNone(answer.headers["Expires"])
        self.assertIsNone(answer.headers["Cache-Control"])

    def test_no_page_of_the_application_for_refusals(self):
        """nginx would ask for it with GET, and a refused POST would seem to be a visit."""
        self.gate.module(config={"teams": ["acme/deploy"]})
        nobody, other, listed = self.gate.browser(), self.signed_in("carol"), self.signed_in("alice")
        before = self.gate.application.n_requests
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            answer = self.is_stopped(nobody.ask("/page", method), 401)
            self.assertIsNone(answer.headers["Set-Cookie"])
        self.is_stopped(nobody.ask(headers={"Sec-Fetch-Mode": "cors"}), 401)
        self.is_stopped(nobody.ask("/_adit/other", "POST"), 401, 404)
        for method in ("GET", "HEAD", "POST"):
            self.is_stopped(other.ask("/page", method), 403)
        self.gate.stop_gate()
        try:
            for visitor in nobody, other, listed:
                for method in ("GET", "HEAD", "POST"):
                    self.is_stopped(visitor.ask("/page", method), 500, 502)
        finally:
            self.gate.start_gate()
        self.assertEqual(self.gate.application.n_requests, before)
        self.passes(listed.ask())

    def test_large_cookies(self):
        """The application gets as many cookies as nginx takes, beside a large session."""
        self.gate.module(inactivity_timeout=60)
        self.gate.clock.set(START)
        browser = self.signed_in("carol")
        browser.cookies["large", "/"] = "x" * 28000
        for seconds in range(2):
            self.gate.clock.set(START + seconds)
            answer = self.passes(browser.ask())
            self.assertEqual(answer.seen_header("Cookie"), ["large=" + "x" * 28000])

    def test_no_cache_answers(self):
        """A cache would answer with the pass of another visitor, or with another visitor's page."""
        self.gate.module()
        browser = self.signed_in("alice")
        for path in ("/", "/page"):
            self.assertEqual(self.passes(browser.ask(path)).seen["path"], path)
            self.is_sent_to_provider(self.gate.browser().ask(path))
            answer = self.passes(self.gate.sign_in("bob", path)[1])
            self.assertEqual(answer.seen_header("X-Adit-User"), [self.gate.provider + ":583232"])

    def test_no_cache_keeps(self):
        """No browser keeps what the gate answers."""
        self.gate.module()
        browser = self.gate.browser()
        started = browser.ask()
        back = self.gate.callback(started.location, "alice")
        for answer in (started, browser.ask(back), browser.ask(back), browser.ask("/_adit/logout"),
                       browser.ask("/_adit/logout", "POST", body=b"")):
            self.assertIn(answer.status, (200, 302))
            self.assertEqual(answer.headers.get_all("Cache-Control"), ["no-store"])
            self.assertIsNone(answer.headers["Expires"])

    def test_errors_of_the_application(self):
        """The gate's pages are not for what the application refuses."""
        self.gate.module()
        browser = self.signed_in("alice")
        for status in (401, 403, 404, 500, 503):
            for method in ("GET", "POST"):
                with self.subTest("%s %d" % (method, status)):
                    answer = browser.ask("/status/%d" % status, method)
                    self.assertEqual(answer.status, status)
                    self.assertEqual(answer.seen["method"], method)

    def test_other_spellings(self):
        """Applications may take other characters for "-"."""
        self.gate.module()
        names = ["%sadit%suser" % pair for pair in itertools.product(
            ["x" + c for c in SEPARATORS], SEPARATORS)]
        for visitor, wanted in ((self.signed_in("alice"), ["alice@example.com"]),
                                (self.gate.browser(), [])):
            for at in range(0, len(names), 45):
                sent = dict.fromkeys(names[at:at + 45], "root@example.com")
                answer = self.passes(visitor.ask(headers=sent))
                self.assertEqual([value for key, value in answer.seen["headers"]
                                  if "adit" in key.lower()], wanted)
            for name in HEADERS[:-1]:
                for c in "_.":
                    answer = self.passes(visitor.ask(headers={
                        name.replace("-", c): "evil.test", name.replace("-", c, 1): "evil.test"}))
                    self.assertNotIn("evil.test", [value for _, value in answer.seen["headers"]])
            self.gate.delete()


class SignIns(gate_cases.GateCase):
    """The limit that aditctl prints for sign-ins, as it is."""

    front = "nginx"
    AT_ONCE = 51

    @classmethod
    def setUpClass(cls):
        cls.settings = stack.get().ctl("gateway-config", "nginx-sign-ins") + "\n"
        super().setUpClass()

    def test_one_address(self):
        """Junk codes reach the gate as often as the limit says.  Checks go on, and sign-ins later."""
        self.gate.module()
        browser = self.signed_in("alice")
        junk = "/_adit/callback?code=junk&state=junk"
        statuses = []

        def is_refused():
            statuses.append(self.gate.browser().ask(junk).status)
            return statuses[-1] == 429
        until(is_refused, "429")
        self.assertEqual(set(statuses), {403, 429})
        self.assertGreaterEqual(len(statuses), self.AT_ONCE - 2)
        for _ in range(2 * self.AT_ONCE):
            self.passes(browser.ask())
        # The limit is of the address, not of a route or a method.
        until(lambda: self.gate.browser("two.test").ask(junk, "POST").status == 429, "429")
        until(lambda: self.gate.sign_in("bob")[1].status == 200, "a sign-in again")
