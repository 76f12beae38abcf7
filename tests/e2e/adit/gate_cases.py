# SPDX-License-Identifier: MIT
"""Who passes a route with an OAuth module, behind every web server."""
import contextlib
import copy
import json
import re
import socket
import urllib.parse
import urllib.request

from adit import metrics, recipe, stack
from adit.case import Case
from adit.gate import ELSEWHERE, HOST, ROUTES, Gate

START = 1_800_000_000  # a time at which a test's clock stands


class GateCase(Case):
    """The cases of a web server, front, share a gate, and begin without modules."""

    front = None  # only its subclasses run
    settings = ""  # of the web server, for all sites

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.front:
            cls.gate = Gate(stack.get(), cls.front, cls.settings)
            cls.addClassCleanup(cls.gate.remove)

    def setUp(self):
        super().setUp()
        for host in ROUTES:
            self.gate.delete(host)
        self.gate.mock.faults.clear()
        self.gate.clock.set(0)

    def passes(self, answer):
        self.assertEqual(answer.status, 200, answer.body[-200:])
        self.assertIsNotNone(answer.seen)
        return answer

    def is_stopped(self, answer, *statuses):
        """No byte of the application, and one of the statuses."""
        self.assertIn(answer.status, statuses, answer.body[-200:])
        self.assertIsNone(answer.seen)
        return answer

    def is_sent_to_provider(self, answer, mock=None):
        self.is_stopped(answer, 302)
        self.assertTrue(answer.location.startswith((mock or self.gate.mock).base_url),
                        answer.location)
        return answer

    def shows(self, answer, status, title):
        """A page of the gate."""
        self.is_stopped(answer, status)
        self.assertIn("<h1>%s</h1>" % title, answer.text)
        self.assertIn('<meta charset="utf-8">', answer.text)
        self.assertIn(answer.headers.get_content_charset(), (None, "utf-8"))
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
        return answer

    def signed_in(self, user, **browser):
        """A browser whose user has signed in."""
        return self.gate.sign_in(user, **browser)[0]


class Passing:
    """Mixed into the cases of each web server."""

    def test_absent(self):
        """Without a module, and with a disabled one, everybody passes, and nobody is named."""
        for name in ("absent", "disabled"):
            with self.subTest(name):
                if name == "disabled":
                    self.gate.module(enabled=False)
                answer = self.passes(self.gate.browser().ask(
                    "/page?a=1", headers={"X-Adit-User": "root@example.com"}))
                self.assertEqual(answer.seen["path"], "/page?a=1")
                self.assertEqual(answer.seen_header("X-Adit-User"), [])

    def test_no_provider(self):
        self.gate.put({"enabled": True})
        for method in ("GET", "POST", "OPTIONS"):
            self.is_stopped(self.gate.browser().ask(method=method), 403)
        self.shows(self.gate.browser().ask(), 403, "Nobody is let in")

    def test_sign_in(self):
        self.gate.module()
        browser, answer = self.gate.sign_in("alice", "/page?a=1&b=%2F")
        self.passes(answer)
        self.assertEqual(answer.seen["path"], "/page?a=1&b=%2F")
        self.assertEqual(answer.seen_header("X-Adit-User"), ["alice@example.com"])
        self.assertEqual(answer.seen_header("Cookie"), [])
        browser.cookies["theme", "/"] = "dark"
        self.assertEqual(self.passes(browser.ask()).seen_header("Cookie"), ["theme=dark"])
        # A body reaches the application.
        answer = self.passes(browser.ask("/form", "POST", body=b"a=1"))
        self.assertEqual((answer.seen["method"], answer.seen_header("Content-Length")),
                         ("POST", ["3"]))

    def test_curl(self):
        """curl keeps the cookies as browsers do, and signs in."""
        self.gate.module()
        jar = self.gate.path("jar")

        def curl(*arguments):
            """Returns status, where it is sent, and the body."""
            body, _, rest = stack.run(
                ["curl", "-q", "-sS", "--noproxy", "*", "-b", jar, "-c", jar,
                 "-w", "\n%{http_code} %{redirect_url}",
                 "--cacert", self.gate.certificates.path("authority.crt"),
                 "--resolve", "app.test:%d:127.0.0.1" % self.gate.port, *arguments],
                check=True).stdout.rpartition("\n")
            status, _, location = rest.partition(" ")
            return int(status), location, body
        page = self.gate.url() + "/page"
        status, location, _ = curl(page)
        self.assertEqual(status, 302)
        status, location, _ = curl(location + "&as=alice")
        self.assertEqual(status, 302)
        self.assertEqual(curl(location)[:2], (302, page))
        status, _, body = curl(page)
        self.assertEqual(status, 200)
        self.assertIn(["X-Adit-User", "alice@example.com"], json.loads(body)["headers"])
        status, _, body = curl("-d", "", self.gate.url() + "/_adit/logout")
        self.assertEqual(status, 200)
        self.assertIn("<h1>Signed out</h1>", body)
        self.assertEqual(curl(page)[0], 302)

    def test_application_answers(self):
        """The application's own errors and cookies reach the browser, beside the gate's."""
        self.gate.module(inactivity_timeout=60)
        self.gate.clock.set(START)
        browser = self.signed_in("alice")
        for status in (401, 403, 404, 500, 503):
            with self.subTest(status):
                answer = browser.ask("/status/%d" % status)
                self.assertEqual((answer.status, answer.seen["path"]),
                                 (status, "/status/%d" % status))
        self.gate.clock.set(START + 10)
        cookies = self.passes(browser.ask()).headers.get_all("Set-Cookie")
        self.assertEqual(sorted(line.partition("=")[0] for line in cookies),
                         sorted(["application", browser.session()[0]]))

    def test_cookies_of_others(self):
        """Other applications have cookies that look like sessions."""
        self.gate.module()
        browser = self.signed_in("alice")
        own = dict(browser.cookies)
        browser.cookies = {("app%d_session" % n, "/"): "eyJpdiI6Im%d" % n + "A" * 200
                           for n in range(10, 20)}
        browser.cookies.update(own)
        seen = self.passes(browser.ask()).seen_header("Cookie")
        self.assertEqual(len(seen[0].split("; ")), 10)

    def test_attributes_of_cookies(self):
        self.gate.module()
        browser = self.gate.browser()
        started = browser.ask("/page")
        ended = browser.ask(self.gate.callback(started.location, "alice"))
        state, = started.headers.get_all("Set-Cookie")
        session, removal = ended.headers.get_all("Set-Cookie")
        for line, path in ((state, "/_adit/"), (session, "/"), (removal, "/_adit/")):
            attributes = [part.strip().lower() for part in line.split(";")[1:]]
            for wanted in ("httponly", "samesite=lax", "path=" + path):
                self.assertIn(wanted, attributes, line)
            self.assertNotIn("domain", line.lower())
        self.assertIn("Max-Age=600", state)
        self.assertIn("Max-Age=0", removal)
        self.assertNotIn("Max-Age", session)

    def test_lists(self):
        """A changed rule holds from the next request on.  Whom none let in before signs in again."""
        self.gate.module(config={"teams": ["acme/deploy"]})
        browsers = {user: self.signed_in(user) for user in ("alice", "bob", "carol")}
        must_sign_in = {"bob", "carol"}
        rows = [
            ({"teams": ["acme/deploy"]}, "alice"),
            ({"teams": ["ACME/Deploy"]}, "alice"),
            ({"teams": ["globex/team-230"]}, "carol"),
            ({"teams": ["acme/team-230", "globex/deploy", "globex/team-231"]}, ""),
            ({"organizations": ["acme"]}, "alice carol"),
            ({"organizations": ["globex"]}, "carol"),
            ({"organizations": ["acm", "acme2", "initech"]}, ""),
            ({"email_addresses": ["alice@example.com"]}, "alice"),
            ({"email_addresses": ["alice@private.example.org"]}, "alice"),
            ({"email_addresses": ["Carol@EXAMPLE.com"]}, "carol"),
            # Not verified.
            ({"email_addresses": ["bob@example.com", "alice@unverified.example.net"]}, ""),
            ({"email_domains": ["unverified.example.net"]}, ""),
            ({"email_domains": ["example.com"]}, "alice carol"),
            ({"email_domains": ["private.example.org"]}, "alice"),
            # Neither subdomains nor the domains above.
            ({"email_domains": ["example.org", "com", "private.example", "mail.example.com"]}, ""),
            ({"email_addresses": ["carol@example.com"], "organizations": ["nobody"],
              "teams": ["acme/deploy"]}, "alice carol"),
            ({}, "alice bob carol"),
        ]
        for config, let_in in rows:
            self.gate.module(config=config)
            for user, browser in browsers.items():
                with self.subTest(user=user, **config):
                    answer = browser.ask()
                    # Her session does not know all of so many teams.
                    if answer.status == 302 and user in {"carol", *must_sign_in}:
                        answer = self.gate.sign_in(user, browser=browser)[1]
                        if answer.status == 200:
                            must_sign_in.discard(user)
                    elif user in must_sign_in:
                        self.assertEqual(answer.status, 403)
                    if user in let_in.split():
                        self.passes(answer)
                        continue
                    page = self.shows(answer, 403, "Not allowed").text
                    self.assertIn("signed in as", page)
                    for entry in sum(config.values(), []):
                        if not entry.startswith((user + "@", "com")):
                            self.assertNotIn(entry, page)
                    self.is_stopped(browser.ask("/x", "POST", body=b"x"), 403)
        # Who has no verified address is named by the provider and its id.
        self.assertEqual(browsers["bob"].ask().seen_header("X-Adit-User"),
                         [self.gate.provider + ":583232"])

    def test_not_listed_when_signing_in(self):
        self.addCleanup(self.gate.mock.users.update, copy.deepcopy(self.gate.mock.users))
        self.gate.mock.users["bob"]["user"]["login"] = "Bj\u00f6rn \u05d0"
        self.gate.module(config={"email_domains": ["example.org"]})
        for user, name in (("carol", "carol@example.com"), ("bob", "Bj\u00f6rn \u05d0")):
            page = self.shows(self.gate.sign_in(user)[1], 403, "Not allowed").text
            self.assertIn("signed in as <bdi>%s</bdi>" % name, page)

    def test_one_spelling(self):
        """An address is one visitor, however the provider and the lists spell it."""
        self.addCleanup(self.gate.mock.users.update, copy.deepcopy(self.gate.mock.users))
        for spelling in ("alice@example.com", "ALICE@Example.COM"):
            for entry in self.gate.mock.users["alice"]["emails"]:
                if entry["primary"]:
                    entry["email"] = spelling
            for lists in ({}, {"email_addresses": ["Alice@example.Com"]},
                          {"email_domains": ["EXAMPLE.com"]}):
                with self.subTest(spelling, **lists):
                    self.gate.module(config=lists)
                    answer = self.passes(self.gate.sign_in("alice")[1])
                    self.assertEqual(answer.seen_header("X-Adit-User"), ["alice@example.com"])

    def test_name_that_does_not_show(self):
        """An application that shows names would show two visitors alike."""
        self.addCleanup(self.gate.mock.users.update, copy.deepcopy(self.gate.mock.users))
        self.gate.module()
        for hidden in ("\u200b", "\u00ad"):
            with self.subTest(hidden.encode("unicode_escape")):
                for entry in self.gate.mock.users["alice"]["emails"]:
                    if entry["primary"]:
                        entry["email"] = "al%sice@example.com" % hidden
                answer = self.passes(self.gate.sign_in("alice")[1])
                self.assertEqual(answer.seen_header("X-Adit-User"),
                                 [self.gate.provider + ":%d" % self.gate.mock.users["alice"]["user"]["id"]])

    def test_scopes(self):
        for config, wanted in (
                ({}, "user:email"), ({"email_addresses": ["a@example.com"]}, "user:email"),
                ({"teams": ["acme/deploy"]}, "user:email read:org"),
                ({"organizations": ["acme"]}, "user:email read:org"),
                ({"scopes": ["user", "repo"]}, "user repo"),
                ({"scopes": ["user"], "teams": ["acme/deploy"]}, "user")):
            with self.subTest(**config):
                self.gate.module(config=config)
                url = urllib.parse.urlsplit(self.gate.browser().ask().location)
                query = dict(urllib.parse.parse_qsl(url.query))
                self.assertEqual(sorted(query["scope"].split()), sorted(wanted.split()))
                self.assertEqual(query["redirect_uri"], self.gate.url() + "/_adit/callback")

    def test_cookie_prefix(self):
        self.gate.module()
        browser = self.signed_in("alice")
        default = browser.session()[0]
        self.gate.module(cookie_prefix="team.")
        # The session of another prefix is none, and the application gets a cookie of that name.
        browser.ask()
        self.assertTrue(all(name.startswith((default, "team.state.", "application"))
                            for name, _ in browser.cookies))
        self.gate.sign_in("alice", browser=browser)
        self.assertIn(("team.session", "/"), browser.cookies)
        browser.cookies["teammate", "/"] = "kept"
        seen = self.passes(browser.ask()).seen_header("Cookie")
        self.assertEqual(len(seen), 1)
        self.assertIn("teammate=kept", seen[0])
        self.assertNotIn("team.", seen[0])
        # A browser sends the sessions of all routes of a host.
        self.assertNotIn(default + "=", seen[0])

    def test_another_application_voids_sessions(self):
        self.gate.module()
        browser = self.signed_in("alice")
        self.gate.module(config={"client_id": "another"})
        self.is_sent_to_provider(browser.copy().ask())
        self.gate.other_module()
        self.is_sent_to_provider(browser.copy().ask(), self.gate.other_mock)
        # The first one comes back, and revives no session.
        self.gate.module()
        self.is_sent_to_provider(browser.copy().ask())
        self.passes(self.gate.sign_in("alice", browser=browser)[1])

    def test_two_providers(self):
        """A session of one provider is none when the route has another one."""
        self.gate.other_module()
        browser, answer = self.gate.sign_in("alice")
        self.passes(answer)
        self.gate.module()
        self.is_sent_to_provider(browser.ask())

    def test_managed(self):
        """Modules without a client_id use the application of the settings, if there is one."""
        self.gate.module(config={"client_id": None, "client_secret": None})
        browser, answer = self.gate.sign_in("alice")
        self.passes(answer)
        self.gate.module()
        self.is_sent_to_provider(browser.ask())
        self.gate.put({"provider": {self.gate.other_provider: {}}})
        self.shows(browser.ask(), 503, "Nobody can sign in")
        self.is_stopped(browser.ask("/", "POST"), 401)

    def test_options(self):
        self.gate.module(options_passthrough=True)
        answer = self.passes(self.gate.browser().ask(
            method="OPTIONS", headers={"X-Adit-User": "root@example.com"}))
        self.assertEqual(answer.seen["method"], "OPTIONS")
        self.assertEqual(answer.seen_header("X-Adit-User"), [])
        for method in ("GET", "options", "OPTIONSX", "POST"):
            with self.subTest(method):
                answer = self.gate.browser().ask(method=method)
                self.is_stopped(answer, 302, 400, 401, 403, 405, 501)
        self.gate.module()
        self.is_stopped(self.gate.browser().ask(method="OPTIONS"), 401)

    def test_what_is_no_navigation(self):
        """Scripts, forms and WebSockets are not sent to the provider."""
        self.gate.module()
        before = self.gate.application.n_requests
        for name, method, headers in (
                ("form", "POST", {}), ("put", "PUT", {}), ("delete", "DELETE", {}),
                ("options", "OPTIONS", {}), ("unknown", "PROPFIND", {}), ("patch", "PATCH", {}),
                ("fetch", "GET", {"Sec-Fetch-Mode": "cors"}),
                ("image", "GET", {"Sec-Fetch-Mode": "no-cors"}),
                ("frame", "GET", {"Sec-Fetch-Mode": "no-cors", "Accept": "text/html"}),
                # What browsers send under http, where there is no Sec-Fetch-Mode.
                ("image by http", "GET", {"Accept": "image/avif,image/webp,*/*;q=0.8"}),
                ("style by http", "GET", {"Accept": "text/css,*/*;q=0.1"}),
                ("events by http", "GET", {"Accept": "text/event-stream"}),
                ("JSON by http", "GET", {"Accept": "application/json, text/plain, */*"}),
                ("websocket by http", "GET", {
                    "Connection": "Upgrade", "Upgrade": "websocket",
                    "Sec-WebSocket-Version": "13",
                    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}),
                ("websocket", "GET", {
                    "Connection": "Upgrade", "Upgrade": "websocket",
                    "Sec-Fetch-Mode": "websocket", "Sec-WebSocket-Version": "13",
                    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})):
            with self.subTest(name):
                answer = self.is_stopped(self.gate.browser().ask("/x", method, headers), 401)
                self.assertIsNone(answer.location)
                self.assertIsNone(answer.headers["Set-Cookie"])
        head = self.is_sent_to_provider(self.gate.browser().ask("/x", "HEAD"))
        self.assertEqual(head.body, b"")
        page = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        for headers in ({"Sec-Fetch-Mode": "navigate"}, {"Accept": page}, {"Accept": "*/*"},
                        {"Sec-Fetch-Mode": "navigate", "Accept": page}):
            self.is_sent_to_provider(self.gate.browser().ask("/x", headers=headers))
        self.assertEqual(self.gate.application.n_requests, before)

    def test_web_socket(self):
        """It opens for whom the route lets in, stays open, and is asked about when it opens."""
        self.gate.module(config={"teams": ["acme/deploy"]})
        listed, other = self.signed_in("alice"), self.signed_in("carol")
        listed.cookies["theme", "/"] = "dark"
        smuggled = {"X-Adit-User": "root@example.com"}
        before = self.gate.application.n_requests
        for visitor, statuses in ((self.gate.browser(), (401,)), (other, (403,))):
            with visitor.web_socket(headers=smuggled) as refused:
                self.assertIn(refused.status, statuses)
                self.assertIsNone(refused.headers.get("X-Application"))
        self.assertEqual(self.gate.application.n_requests, before)
        with listed.web_socket("/ws?room=1", smuggled) as opened:
            self.assertEqual(opened.status, 101)
            self.assertIn(["X-Adit-User", "alice@example.com"], opened.seen)
            names = [name.lower() for name, _ in opened.seen]
            self.assertEqual(names.count("x-adit-user"), 1)
            self.assertIn(["Cookie", "theme=dark"], opened.seen)
            # Nobody is asked about an open one, and it is no way to another request.
            self.gate.module(config={"teams": ["nobody/else"]})
            self.is_stopped(listed.ask(), 403)
            opened.say("GET / HTTP/1.1")
            self.assertEqual(opened.hear(), b"GET / HTTP/1.1")
        with listed.web_socket() as refused:
            self.assertEqual(refused.status, 403)
        # On an open route, for everybody, and nobody is named.
        self.gate.delete()
        with self.gate.browser().web_socket(headers=smuggled) as opened:
            self.assertEqual(opened.status, 101)
            self.assertNotIn("x-adit-user", [name.lower() for name, _ in opened.seen])

    def test_signs_out(self):
        self.gate.module()
        browser = self.signed_in("alice")
        thief = browser.copy()
        self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.assertEqual(browser.session(), (None, None))
        self.is_sent_to_provider(browser.ask())
        # A copy of the cookie is no session, either.
        self.is_sent_to_provider(thief.ask())
        self.passes(self.gate.sign_in("alice", browser=browser)[1])
        # All sessions of a request end, whatever path a browser keeps them for.
        one, other = self.signed_in("alice"), self.signed_in("bob")
        name, _ = one.session()
        thieves = one.copy(), other.copy()
        one.cookies[name, "/_adit/"] = other.session()[1]
        self.shows(one.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        for thief in thieves:
            self.is_sent_to_provider(thief.ask())
        # Nobody has to be signed in.
        for method in ("GET", "POST"):
            self.shows(self.gate.browser().ask("/_adit/logout", method), 200, "Signed out")

    def test_signs_out_while_no_list_lets_in(self):
        """Whoever was let in once stays signed out when the lists do so again."""
        lists, others = {"email_domains": ["example.com"]}, {"email_domains": ["example.org"]}
        self.gate.module(config=lists)
        browser = self.signed_in("alice")
        thief = browser.copy()
        self.gate.module(config=others)
        self.shows(browser.ask(), 403, "Not allowed")
        self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.gate.module(config=lists)
        self.is_sent_to_provider(thief.ask())

    def test_signs_out_by_the_button_only(self):
        """A link, an image or a form of another site signs nobody out."""
        self.gate.module()
        browser = self.signed_in("alice")
        own = self.gate.url()
        wrong = [("GET", {}), ("HEAD", {}), ("PUT", {}), ("DELETE", {}), ("OPTIONS", {}),
                 ("GET", {"Sec-Fetch-Site": "same-origin"}), ("GET", {"Origin": own})]
        wrong += [("POST", {"Sec-Fetch-Site": site, "Origin": own})
                  for site in ("cross-site", "same-site", "none", "Same-Origin")]
        wrong += [("POST", {"Origin": origin}) for origin in (
            "null", "http://evil.test", own + "0", own[:-1], own + "/", own.replace("http", "https"),
            own.replace("app", "two"))]
        for method, headers in wrong:
            with self.subTest("%s %s" % (method, headers)):
                kept = dict(browser.cookies)
                answer = browser.ask("/_adit/logout", method, headers)
                self.assertEqual(answer.status, 200)
                self.assertIsNone(answer.headers["Set-Cookie"])
                self.assertEqual(browser.cookies, kept)
                if method != "HEAD":
                    page = self.shows(answer, 200, "Sign out of this site?").text
                    self.assertIn("signed in as <bdi>alice@example.com</bdi>", page)
                    self.assertIn('<form method="post" action="/_adit/logout">', page)
                self.passes(browser.ask())
        # A form of another site comes without the session's cookie, and must not remove it.
        answer = self.gate.browser().ask("/_adit/logout", "POST", {"Origin": "http://evil.test"})
        self.assertIsNone(self.shows(answer, 200, "Signed out").headers["Set-Cookie"])
        for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Origin": own}, {"Origin": own.upper()},
                        {}):
            with self.subTest(**headers):
                visitor = self.signed_in("alice")
                self.shows(visitor.ask("/_adit/logout", "POST", headers), 200, "Signed out")
                self.assertEqual(visitor.session(), (None, None))

    def test_other_routes(self):
        """The cookies of a route are no cookies of another route, or of another account."""
        for host in ROUTES:
            self.gate.module(host)
        for host in ROUTES:
            browser, answer = self.gate.sign_in("alice", browser=self.gate.browser(host))
            self.passes(answer)
            for other in set(ROUTES) - {host}:
                with self.subTest("%s at %s" % (host, other)):
                    thief = browser.copy()
                    thief.host = other
                    self.is_sent_to_provider(thief.ask())
        # The same names in another account.
        self.gate.delete(ELSEWHERE)
        self.passes(self.gate.browser(ELSEWHERE).ask())
        self.is_sent_to_provider(self.gate.browser().ask())


# Requests that a web server may refuse by itself, most of them before it knows the place that they are
# for: the line, and headers behind the cookie.
MALFORMED = {name: (line, lines) for name, line, lines in (
    ("malformed header", b"POST /page HTTP/1.1", b"X : y\r\n"),
    ("no header", b"POST /page HTTP/1.1", b"what\r\n"),
    ("large header", b"POST /page HTTP/1.1", b"X: " + 70000 * b"x" + b"\r\n"),
    ("two hosts", b"POST /page HTTP/1.1", b"Host: two.test\r\n"),
    ("bad length", b"POST /page HTTP/1.1", b"Content-Length: -1\r\n"),
    ("two lengths", b"POST /page HTTP/1.1", b"Content-Length: 1\r\nContent-Length: 2\r\n"),
    ("coding", b"POST /page HTTP/1.1", b"Transfer-Encoding: gzip\r\n"),
    ("expectation", b"POST /page HTTP/1.1", b"Expect: all\r\n"),
    ("encoded slash", b"POST /a%2fb HTTP/1.1", b""),
    ("zero", b"POST /%00 HTTP/1.1", b""),
    ("bad escape", b"POST /%zz HTTP/1.1", b""),
    ("too far up", b"POST /../.. HTTP/1.1", b""),
    ("trace", b"TRACE /page HTTP/1.1", b""),
    ("method", b"PO(ST /page HTTP/1.1", b""),
    ("tunnel", b"CONNECT one.test:80 HTTP/1.1", b""),
    ("version", b"POST /page HTTP/7.1", b""),
    ("long path", b"POST /" + 70000 * b"x" + b" HTTP/1.1", b""),
    # The last one, since it may end the session.
    ("large form", b"POST /_adit/logout HTTP/1.1", b"Content-Length: 70000\r\n\r\n" + 70000 * b"x"))}


class Malformed:
    """Mixed into the cases of web servers whose configuration has an error page for all sites."""

    def test_no_page_of_the_application_for_malformed_requests(self):
        """The web server would ask for it with GET, and a signed-in visitor passes."""
        self.gate.module()
        head = "Host: %s\r\nConnection: close\r\nCookie: %s=%s\r\n" % (
            HOST, *self.signed_in("alice").session())
        self.assertIn(b'"/page"', self.say(b"POST /page HTTP/1.1\r\n" + head.encode() + b"\r\n"))
        for name, (line, lines) in MALFORMED.items():
            with self.subTest(name):
                # The application answers with the path that it was asked for.
                answer = self.say(line + b"\r\n" + head.encode() + lines + b"\r\n")
                self.assertNotIn(b'"/error"', answer)

    def say(self, request):
        """Sends a request.  Returns what comes until the server ends the connection."""
        answer = b""
        with contextlib.suppress(ConnectionError), socket.create_connection(
                ("127.0.0.1", self.gate.port), timeout=60) as sock:
            sock.sendall(request)
            while part := sock.recv(65536):
                answer += part
        return answer


class LargeHeaders:
    """Mixed into the cases of web servers that take more cookies, as the install page says."""

    def metrics(self):
        """What the server of doc/operate/monitor.md says."""
        with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % self.gate.metrics_port,
                                    timeout=60) as answer:
            return answer.read().decode()

    def test_metrics(self):
        """Checks, logins and questions to providers are counted by outcome."""
        text = self.metrics()
        self.assertEqual(metrics.promtool("check", "metrics", text=text), "")
        listed = re.findall(r"`(adit_gate_\w+)`", "".join(
            re.findall(r"(?m)^\| (`adit_gate_.*?) \|", recipe.read("monitor.md"))))
        self.assertEqual(sorted(listed), sorted(re.findall(r"(?m)^# TYPE (\w+) ", text)))
        before = metrics.Metrics(text)
        # No visitor asks for them.
        answer = self.passes(self.gate.browser().ask(headers={"ADIT_METRICS": "1"}))
        self.assertEqual(answer.seen["path"], "/")
        self.gate.module(config={"email_addresses": ["alice@example.com"]})
        self.passes(self.signed_in("alice").ask())
        self.is_stopped(self.signed_in("bob").ask(), 403)
        after = metrics.Metrics(self.metrics())
        for name, outcome, least in (
                ("checks", "without_module", 1), ("checks", "sent", 2), ("checks", "passed", 1),
                ("checks", "not_allowed", 1), ("logins", "signed_in", 2), ("logins", "failed", 0),
                ("provider_questions", "answered", 2), ("provider_questions", "away", 0)):
            with self.subTest(name, outcome=outcome):
                more = after.sum("adit_gate_%s_total" % name, outcome=outcome) - \
                    before.sum("adit_gate_%s_total" % name, outcome=outcome)
                self.assertGreaterEqual(more, least)
                self.assertEqual(more > 0, least > 0)

    def test_many_tabs(self):
        self.gate.module()
        browser = self.gate.browser()
        paths = ["/%d?%s" % (n, "q" * 1000) for n in range(8)]
        backs = [self.gate.callback(browser.ask(path).location, "alice") for path in paths]
        for path, back in zip(paths, backs):
            answer = self.is_stopped(browser.ask(back), 302)
            self.assertEqual(answer.location, path)
            self.assertEqual(self.passes(browser.ask(path)).seen["path"], path)
