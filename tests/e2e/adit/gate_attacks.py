# SPDX-License-Identifier: MIT
"""What must not pass a route with an OAuth module, behind every web server."""
import copy
import urllib.parse

from adit.gate import ELSEWHERE, HOST, ROUTES
from adit.gate_cases import START
from adit.gate_faults import in_threads

# What clients may send as a request's target.  None may lead a browser to another host.
TARGETS = [
    b"//evil.test", b"//evil.test/", b"///evil.test", b"////evil.test/%2e%2e", b"/\\evil.test",
    b"/\\/evil.test", b"\\\\evil.test", b"/%09/evil.test", b"/%0a/evil.test",
    b"/%0d%0aX:/evil.test",
    b"/%2fevil.test", b"/%2F%2Fevil.test", b"/%5cevil.test", b"/..//evil.test",
    b"/.//evil.test", b"/a/..//evil.test", b"/%2e%2e//evil.test", b"/a/%2e%2e/%2fevil.test",
    b"http://evil.test/", b"https://evil.test", b"//evil.test@app.test/", b"/;//evil.test",
    b"/?//evil.test", b"/#//evil.test", b"/\x01/evil.test", b"/%00/evil.test", b"/\xe3\x80\x82evil",
    b"/javascript:alert(1)", b"javascript:alert(1)", b"*", b"/_adit//evil.test",
    b"/" + b"a" * 1100,
]

# Paths that some part of a web server may take for one that the gate answers itself.
OWN = [
    b"/_adit/callback", b"//_adit/callback", b"/_adit//callback", b"/./_adit/callback",
    b"/a/../_adit/callback", b"/_adit/callback/", b"/_adit/callback/a", b"/_adit/callback;a",
    b"/_adit/callback%2f", b"/_adit/callback%00", b"/%5fadit/callback", b"/_adit%2fcallback",
    b"/_adit/callbackx", b"/_adit/logout/../../a", b"/_adit/logout/..%2f..%2fa",
    b"/_adit/logout%3f",
    b"/_ADIT/callback", b"/_adit/check", b"/_adit/page", b"/_adit/login", b"/_adit/", b"/_adit",
    b"/_adit/callback?a", b"/_adit/other", b"//_adit/logout", b"/_adit/logout//",
    b"http://app.test/_adit/callback", b"http://two.test/", b"/_adit/callback%0a",
    b"/_adit/callback%0d%0a", b"/_adit/logout%0a/a", b"/a%0a/_adit/callback", b"/%0a_adit/callback",
]


def flipped(value):
    """The value with one bit changed, at many places.  The last character of base64url may have
    bits without a meaning."""
    for at in range(0, len(value) - 1, 7):
        other = chr(ord(value[at]) ^ 1)
        yield value[:at] + (other if other.isalnum() or other in "-_" else "B") + value[at + 1:]


class Attacks:
    """Mixed into the cases of each web server."""

    # ---- cookies ----

    def test_altered_cookies(self):
        self.gate.module()
        browser = self.signed_in("alice")
        name, value = browser.session()
        before = self.gate.application.n_requests
        for wrong in [*flipped(value), "", "a", "=", "." * 40, value[:-1], value + "A",
                      value[:22], value[22:], "A" * 22 + value[22:], value * 2, "A" * 7000]:
            browser.cookies[name, "/"] = wrong
            answer = browser.ask(headers={"Sec-Fetch-Mode": "cors"})
            self.is_stopped(answer, 400, 401)
        self.assertEqual(self.gate.application.n_requests, before)
        # A good one behind a wrong one of the same name, as with another path.
        browser.cookies = {(name, "/"): "wrong; %s=%s" % (name, value)}
        self.passes(browser.ask())

    def test_foreign_cookies(self):
        """Other hosts of the domain can set cookies.  However many they are, whoever is signed in
        passes, and whoever has signed out does not."""
        for prefix in (None, "team."):
            with self.subTest(prefix):
                self.gate.module(**({"cookie_prefix": prefix} if prefix else {}))
                browser = self.signed_in("alice")
                name, value = browser.session()
                for foreign in ("A" * 60, next(flipped(value))):
                    browser.cookies = {("x%d-session" % n, "/"): foreign[:5] + "%02d" % n +
                                       foreign[7:] for n in range(24)}
                    browser.cookies[name, "/"] = value
                    self.passes(browser.ask())
                thief = browser.copy()
                browser.ask("/_adit/logout", "POST", body=b"")
                self.is_sent_to_provider(thief.ask())

    def test_copies_from_before_a_loss(self):
        """What the provider has taken away comes back with no copy of an older cookie, although a module
        without an interval checks none."""
        for padding, lists, is_listed in (
                (0, {"organizations": ["acme"]}, False), (15000, {"organizations": ["acme"]}, False),
                (0, {"organizations": ["acme"], "email_domains": ["example.com"]}, True)):
            with self.subTest(padding=padding, lists=lists):
                self.addCleanup(self.gate.mock.users.update, copy.deepcopy(self.gate.mock.users))
                self.addCleanup(setattr, self.gate.mock, "padding", 0)
                self.gate.mock.padding = padding
                self.gate.module(auth_check_interval=60, config=lists)
                self.gate.clock.set(START)
                browser = self.signed_in("alice")
                old = browser.copy()
                for member in ("orgs", "teams"):
                    self.gate.mock.users["alice"][member] = []
                self.gate.clock.set(START + 61)
                if is_listed:
                    self.passes(browser.ask())
                else:
                    self.shows(browser.ask(), 403, "Not allowed")
                self.gate.module(auth_check_interval=0, config={"organizations": ["acme"]})
                self.is_stopped(old.ask(), 403)
                self.is_stopped(browser.ask(), 403)
                self.doCleanups()

    def test_other_cookies_stay(self):
        """The application gets every byte of the others, whatever they are."""
        self.gate.module()
        browser = self.signed_in("alice")
        own = ("%s=%s" % browser.session()).encode()
        browser.cookies.clear()
        others = [b"one=1; note=a\tb; two=2", b'a="x; y"; b=\'2', b"a=\xff\xfe\x80; b=\xc3\xbc",
                  b"=; =1; b", b";; a=1 ;;b=2;", b"a=1,b=2", b"$Version=1; a=%00; a=2", b"a = 1"]
        if self.front == "nginx":  # Apache refuses these
            others.append(b"a=\x01\x1b; b=\x7f")
        for other in others:
            for lines in ([own + b"; " + other], [other + b"; " + own], [own, other], [other, own]):
                with self.subTest(lines):
                    answer = browser.ask_raw(
                        b"GET / HTTP/1.1", *(b"Cookie: " + line for line in lines))
                    # Apache joins headers with a comma and a blank.
                    self.assertEqual(self.passes(answer).seen_header("Cookie"),
                                     [other.decode("latin-1")])

    def test_refused_session_beside_another(self):
        """Another host of the domain may set a cookie of the same name, which the browser sends first."""
        self.gate.module(config={"email_addresses": ["alice@example.com"]})
        browser = self.signed_in("alice")
        name, session = browser.session()
        _, refused = self.signed_in("bob").session()
        for values in (refused, session), (session, refused):
            browser.cookies = {(name, path): value for path, value in zip(("/page", "/"), values)}
            answer = self.passes(browser.ask("/page"))
            self.assertEqual(answer.seen_header("X-Adit-User"), ["alice@example.com"])
        browser.cookies = {(name, "/"): refused}
        self.is_stopped(browser.ask("/page"), 403)

    def test_dead_session_beside_another(self):
        self.gate.module(inactivity_timeout=60)
        self.gate.clock.set(START)
        name, dead = self.signed_in("alice").session()
        self.gate.clock.set(START + 100)
        browser = self.signed_in("alice")
        _, session = browser.session()
        for values in (dead, session), (session, dead):
            browser.cookies = {(name, path): value for path, value in zip(("/page", "/"), values)}
            self.passes(browser.ask("/page"))
        browser.cookies = {(name, "/"): dead}
        self.is_sent_to_provider(browser.ask("/page"))

    def test_sign_out_behind_a_dead_session(self):
        """Another host of the domain may set a cookie that proves nothing any more, which the browser sends
        first, while the lists let nobody in."""
        nobody, alice = {"email_addresses": ["nobody@example.com"]}, {
            "email_addresses": ["alice@example.com"]}
        for dead in ("signed out", "of a module that was deleted"):
            with self.subTest(dead):
                self.gate.module(config=nobody)
                name, other = self.gate.sign_in("bob")[0].session()
                if dead == "signed out":
                    signs_out = self.gate.browser()
                    signs_out.cookies[name, "/"] = other
                    signs_out.ask("/_adit/logout", "POST", body=b"")
                else:
                    self.gate.delete()
                self.gate.module(config=alice)
                browser = self.signed_in("alice")
                thief = browser.copy()
                self.gate.module(config=nobody)
                browser.cookies = {(name, "/_adit/"): other, **browser.cookies}
                self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
                self.gate.module(config=alice)
                self.is_sent_to_provider(thief.ask())

    def test_sign_out_of_a_row_that_cannot_be_read(self):
        """Its key may come back."""
        self.gate.mock.padding = 15000
        self.addCleanup(setattr, self.gate.mock, "padding", 0)
        self.gate.module(auth_check_interval=3600)
        browser = self.signed_in("alice")
        thief = browser.copy()
        row = "key_id = %s WHERE id = '" + browser.session()[1][:22] + "'"
        self.gate.stack.psql("UPDATE adit.gate_session SET " + row % "'x' || key_id")
        self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.gate.stack.psql("UPDATE adit.gate_session SET " + row % "substr(key_id, 2)")
        self.is_sent_to_provider(thief.ask())

    def test_cookies_of_another_purpose(self):
        self.gate.module()
        name, session = self.signed_in("alice").session()
        browser = self.gate.browser()
        location = browser.ask().location
        (state_name, _), state = next(iter(browser.cookies.items()))
        as_session = self.gate.browser()
        for wrong in (state, session[:22] + state):
            as_session.cookies[name, "/"] = wrong
            self.is_stopped(as_session.ask(headers={"Sec-Fetch-Mode": "cors"}), 401)
        as_state = self.gate.browser()
        back = self.gate.callback(location, "alice")
        for wrong in (session, session[22:]):
            as_state.cookies[state_name, "/_adit/"] = wrong
            self.shows(as_state.ask(back), 403, "Sign-in failed")

    def begin_from_elsewhere(self, browser, path):
        """Where a link of another site leads to."""
        answer = self.is_stopped(browser.ask(path, headers={
            "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "cross-site"}), 302)
        begin = self.gate.url() + "/_adit/callback?begin="
        self.assertTrue(answer.location.startswith(begin), answer.location)
        return self.is_sent_to_provider(browser.ask(answer.location[len(self.gate.url()):]))

    def test_logins_that_other_sites_begin(self):
        """They fill neither the browser's jar nor the header, and the last one still ends."""
        self.gate.module()
        for fill in ("", "q" * 900):
            with self.subTest(len(fill)):
                browser = self.gate.browser()
                browser.ask()
                (name, _), = browser.cookies
                browser.cookies = {(name[:-8] + "%08d" % n, "/_adit/"): "junk" for n in range(3)}
                for n in range(12):
                    path = "/page%d?%s&a=%%2F+%%23" % (n, fill)
                    answer = self.begin_from_elsewhere(browser, path)
                states = [name + value for (name, _), value in browser.cookies.items()
                          if ".state." in name]
                self.assertIn(len(states), range(1, 5))
                self.assertLess(sum(map(len, states)), 4096)
                self.assertFalse([value for value in browser.cookies.values() if value == "junk"])
                back = browser.ask(self.gate.callback(answer.location, "alice"))
                self.assertEqual((back.status, back.location), (302, path))
                self.assertEqual(self.passes(browser.ask(path)).seen["path"], path)

    def test_long_ways_back(self):
        """A login leads back to a page however long its URL is, from other sites, too."""
        self.gate.module()
        for length in (513, 1024, 1025, 4000, 7500):
            path = "/deep/" + "p" * (length - 7) + "?"
            for begin in (lambda browser, path: browser.ask(path), self.begin_from_elsewhere):
                with self.subTest(length, begin=begin):
                    browser = self.gate.browser()
                    location = self.is_sent_to_provider(begin(browser, path)).location
                    self.assertLess(len(browser.cookie_header("/_adit/")), 1800)
                    back = browser.ask(self.gate.callback(location, "alice"))
                    self.assertEqual((back.status, back.location), (302, path))
                    self.passes(browser.ask(path))
        # The page of a refusal leads back, too.
        self.gate.module(config={"teams": ["nobody/else"]})
        self.assertIn('href=""', self.shows(self.gate.sign_in("alice", path)[1], 403,
                                            "Not allowed").text)

    # ---- states and codes ----

    def test_states(self):
        """The provider gets a code only for a state of this browser and this route."""
        for host in (HOST, ELSEWHERE):
            self.gate.module(host)
        browser = self.gate.browser()
        back = self.gate.callback(browser.ask("/page").location, "alice")
        query = dict(urllib.parse.parse_qsl(back.partition("?")[2]))
        elsewhere = browser.copy()
        elsewhere.host = ELSEWHERE
        asked = len(self.gate.mock.requests)

        def ask(visitor, **parameters):
            return visitor.ask("/_adit/callback?" + urllib.parse.urlencode(parameters))
        for name, visitor, parameters in (
                ("another browser", self.gate.browser(), query),
                ("another account", elsewhere, query),
                ("nothing", browser, {}),
                ("no state", browser, {"code": query["code"]}),
                ("empty state", browser, {**query, "state": ""}),
                ("unknown state", browser, {**query, "state": "A" * 22}),
                ("the state's beginning", browser, {**query, "state": query["state"][:8]}),
                ("another end", browser, {**query, "state": query["state"][:8] + "A" * 14}),
                ("no code", browser, {"state": query["state"]}),
                ("empty code", browser, {**query, "code": ""}),
                ("refused", browser, {"state": query["state"], "error": "access_denied",
                                      "error_description": "<b>no</b>"})):
            with self.subTest(name):
                page = self.shows(ask(visitor, **parameters), 403, "Sign-in failed").text
                self.assertNotIn("<b>no", page)
                self.assertEqual(visitor.session(), (None, None))
        with self.subTest("twice"):
            self.shows(browser.ask(back + "&state=" + query["state"]), 403, "Sign-in failed")
        self.assertEqual(len(self.gate.mock.requests), asked)
        before = browser.copy()
        self.assertEqual(browser.ask(back).location, "/page")
        with self.subTest("gone back to, by who is signed in"):
            answer = browser.ask(back)
            self.assertEqual((answer.status, answer.location), (302, "/"))
        with self.subTest("replayed"):
            without_session = self.gate.browser()
            without_session.cookies = {key: value for key, value in browser.cookies.items()
                                       if key[0] != browser.session()[0]}
            self.shows(without_session.ask(back), 403, "Sign-in failed")
        # The browser kept the state: it was used.
        asked = len(self.gate.mock.requests)
        with self.subTest("code replayed"):
            self.shows(before.ask(back), 403, "Sign-in failed")
            self.assertEqual(before.session(), (None, None))
        self.assertEqual(len(self.gate.mock.requests), asked)
        self.passes(browser.ask())

    def test_state_is_used_once(self):
        """The provider gets one code for each login that has begun, whoever comes back how often,
        at whichever worker."""
        self.gate.module()
        browser = self.gate.browser()
        location = browser.ask("/page").location
        good = [self.gate.callback(location, "alice") for _ in range(4)]
        backs = good + [good[0].replace("code=", "code=junk")] * 12
        self.gate.mock.requests.clear()
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        visitors = [browser.copy() for _ in backs]
        answers = in_threads(len(backs), lambda n: visitors[n].ask(backs[n]))
        self.assertEqual(self.gate.mock.requests.count("token"), 1)
        self.assertEqual(len([a for a in answers if a.status == 302]),
                         self.gate.mock.requests.count("user"))
        for answer in answers:
            if answer.status != 302:
                self.shows(answer, 403, "Sign-in failed")
        # What a state is remembered by goes with it.
        self.assertEqual(self.gate.stack.psql(
            "SELECT count(*) FROM adit.gate_session WHERE key_id IS NULL AND sealed IS NULL"
            " AND ends_at BETWEEN now() + interval '8 min' AND now() + interval '10 min'"), "1")

    def test_code_of_another_login(self):
        """The code of somebody else's login is of no use: the verifier is another one."""
        self.gate.module()
        thief, victim = self.gate.browser(), self.gate.browser()
        stolen = self.gate.callback(victim.ask().location, "alice")
        code = dict(urllib.parse.parse_qsl(stolen.partition("?")[2]))["code"]
        own = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(thief.ask().location).query))
        self.shows(thief.ask("/_adit/callback?" + urllib.parse.urlencode(
            {"state": own["state"], "code": code})), 403, "Sign-in failed")

    def test_state_expires(self):
        self.gate.module()
        for seconds, is_good in ((599, True), (600, False)):
            with self.subTest(seconds):
                self.gate.clock.set(START)
                browser = self.gate.browser()
                back = self.gate.callback(browser.ask("/page").location, "alice")
                self.gate.clock.set(START + seconds)
                answer = browser.ask(back)
                if is_good:
                    self.assertEqual((answer.status, answer.location), (302, "/page"))
                else:
                    self.shows(answer, 403, "Sign-in failed")

    def test_refused_at_the_provider(self):
        self.gate.module()
        browser = self.gate.browser()
        answer = browser.ask(self.gate.callback(browser.ask().location, ""))
        self.shows(answer, 403, "Sign-in failed")
        self.is_sent_to_provider(browser.ask())

    def test_two_tabs(self):
        self.gate.module()
        browser = self.gate.browser()
        locations = [browser.ask("/tab-%d" % n).location for n in range(3)]
        for n in (1, 0, 2):
            answer = browser.ask(self.gate.callback(locations[n], "alice"))
            self.assertEqual(answer.location, "/tab-%d" % n)
            self.assertEqual(self.passes(browser.ask(answer.location)).seen["path"], "/tab-%d" % n)

    def test_module_removed_while_signing_in(self):
        self.gate.module()
        browser = self.gate.browser()
        back = self.gate.callback(browser.ask("/page").location, "alice")
        self.gate.delete()
        answer = browser.ask(back)
        self.assertEqual((answer.status, answer.location), (302, "/"))
        self.gate.put({"enabled": True})
        self.is_stopped(browser.ask(back), 302)
        self.is_stopped(browser.ask("/"), 403)

    # ---- ways back ----

    def test_open_redirects(self):
        self.gate.module()
        n_tried = 0
        for target in TARGETS:
            with self.subTest(target[:40]):
                browser = self.gate.browser()
                answer = browser.ask_raw(b"GET " + target + b" HTTP/1.1")
                own = self.gate.url()
                if answer.status == 302 and answer.location.startswith(own + "/_adit/callback?"):
                    # The target names another host.
                    answer = browser.ask(answer.location[len(own):])
                if answer.status == 302:
                    self.is_sent_to_provider(answer)
                    n_tried += 1
                    answer = browser.ask(self.gate.callback(answer.location, "alice"))
                    self.assertEqual(answer.status, 302)
                    self._stays(answer.location)
                else:
                    self.is_stopped(answer, 400, 403, 404, 405, 414)
        self.assertGreater(n_tried, len(TARGETS) // 2)

    def _stays(self, location):
        self.assertRegex(location, r"\A/(?![/\\])[!-\[\]-~]*\Z")
        self.assertNotIn("\\", location)
        self.assertEqual(urllib.parse.urlsplit(location)[:2], ("", ""))
        path = location.partition("?")[0].partition("#")[0]
        self.assertNotRegex(urllib.parse.unquote(path), r"\A/[/\\\s]|/\.\.?(/|\Z)")

    def test_pages_link_nowhere_else(self):
        self.gate.module(config={"email_domains": ["example.org"]})
        browser = self.signed_in("carol")
        for target in TARGETS:
            with self.subTest(target[:40]):
                answer = browser.ask_raw(b"GET " + target + b" HTTP/1.1")
                self.is_stopped(answer, 400, 403, 404, 405, 414)
                for part in answer.text.split('href="')[1:]:
                    # "" is the page itself.
                    self._stays(part.partition('"')[0] or "/")

    def test_own_paths(self):
        """The paths of the gate are no way to the application."""
        before = self.gate.application.n_requests
        for name, store in (("module", self.gate.module),
                            ("no provider", lambda host: self.gate.put({"enabled": True}, host))):
            for host in ROUTES:
                store(host)
            for target in OWN:
                with self.subTest("%s: %s" % (name, target)):
                    answer = self.gate.browser().ask_raw(b"GET " + target + b" HTTP/1.1")
                    self.assertIsNone(answer.seen)
                    self.assertGreaterEqual(answer.status, 200)
        self.assertEqual(self.gate.application.n_requests, before)
        # A visitor who may pass is not sent round in circles.
        self.gate.module()
        browser = self.signed_in("alice")
        for target in OWN:
            with self.subTest("signed in: %s" % target):
                answer = browser.copy().ask_raw(b"GET " + target + b" HTTP/1.1")
                if answer.status == 302:
                    self.assertNotEqual(answer.location.encode(), target)

    def test_methods_of_the_server(self):
        """What a web server would answer itself shows nothing of the application, either."""
        self.gate.module()
        before = self.gate.application.n_requests
        for line in (b"TRACE / HTTP/1.1", b"CONNECT app.test:80 HTTP/1.1",
                     b"CONNECT / HTTP/1.1", b"TRACE /_adit/check HTTP/1.1", b"TRACK / HTTP/1.1"):
            with self.subTest(line):
                answer = self.gate.browser().ask_raw(line, b"Cookie: a=b")
                self.assertIsNone(answer.seen)
                self.assertNotIn(b"a=b", answer.body)
        self.assertEqual(self.gate.application.n_requests, before)

    # ---- headers ----

    def test_upgrades(self):
        """An upgrade but to a WebSocket would let later requests pass unasked."""
        self.gate.module()
        browser = self.signed_in("alice")
        for value in ("h2c", "h2c, websocket", "websocket, h2c", "TLS/1.0", "websocketx", "xwebsocket", ""):
            with self.subTest(value):
                answer = self.passes(browser.ask(headers={
                    "Connection": "Upgrade, HTTP2-Settings", "Upgrade": value,
                    "HTTP2-Settings": "AAMAAABkAARAAAAAAAIAAAAA"}))
                self.assertEqual(answer.seen_header("Upgrade"), [])

    def test_host(self):
        """The application sees the host of the route that decided."""
        self.gate.module()
        before = self.gate.application.n_requests
        for lines in ([b"GET / HTTP/1.1"], [b"GET http://two.test/ HTTP/1.1"],
                      [b"GET http://app.test/ HTTP/1.1"]):
            for host in ROUTES:
                with self.subTest("%s %s" % (lines, host)):
                    answer = self.gate.browser(host).ask_raw(*lines)
                    if answer.seen:
                        self.assertNotIn(HOST, answer.seen_header("Host")[0])
        self.assertGreater(self.gate.application.n_requests, before)
        browser = self.signed_in("alice")
        browser.host = "unknown.test"
        answer = browser.ask()
        if answer.seen:
            self.assertEqual(answer.seen_header("Host"), [self.gate.url().partition("://")[2]])

    def test_smuggled_headers(self):
        """The application trusts X-Adit-User: it comes from the gate, or not at all."""
        smuggled = [
            [b"X-Adit-User: root@example.com"], [b"x-adit-user: root@example.com"],
            [b"X-ADIT-USER: root@example.com"], [b"X_Adit_User: root@example.com"],
            [b"X-Adit_User: root@example.com"], [b"X_Adit-User: root@example.com"],
            [b"X-Adit-User: root@example.com", b"X-Adit-User: admin@example.com"],
            [b"X-Adit-User:"], [b"X-Adit-User: root@example.com", b"Connection: X-Adit-User"],
            [b"Connection: close, X-Adit-User, Cookie"], [b"Connection: x-adit-user"],
            [b"Connection: x-aditx-adit-user-user"],
            [b"Connection: close,x-adx-adit-userit-user ,X-Adit-User"],
            [b"Variable-ADIT_USER: root@example.com"], [b"Variable-User: root@example.com"],
            [b"ADIT_USER: root@example.com"], [b"ADIT-USER: root@example.com"],
            [b"ADIT_EDGE: edge-2", b"ADIT_ROUTE: route-2", b"ADIT_ACCOUNT: ac_0"],
            [b"ADIT-EDGE: edge-2", b"ADIT-ROUTE: route-2", b"ADIT-CHECK: 0", b"ADIT-PAGE: 1"],
            [b"X-Adit-Cookie: a=b"], [b"X-Original-URL: /_adit/callback"],
            [b"X-Rewrite-URL: /_adit/callback"], [b"X-HTTP-Method-Override: OPTIONS"],
            [b"X-Forwarded-Host: evil.test", b"X-Forwarded-Proto: https"],
            [b"Transfer-Encoding: chunked", b"Trailer: X-Adit-User"],
        ]
        self.gate.module()
        browser = self.signed_in("alice")
        for name, visitor, wanted in (("open", self.gate.browser(), []),
                                      ("protected", browser, ["alice@example.com"])):
            self.gate.module(enabled=name == "protected")
            for lines in smuggled:
                with self.subTest("%s: %s" % (name, lines)):
                    if lines[0].startswith(b"Transfer"):
                        answer = visitor.ask_raw(
                            b"POST / HTTP/1.1", *lines,
                            body=b"3\r\na=1\r\n0\r\nX-Adit-User: root@example.com\r\n\r\n")
                    else:
                        answer = visitor.ask_raw(b"GET / HTTP/1.1", *lines)
                    self.passes(answer)
                    self.assertEqual(answer.seen_header("X-Adit-User"), wanted)
                    for key, value in answer.seen["headers"]:
                        if key.lower().replace("_", "-") == "x-adit-user":
                            self.assertEqual([key, value], ["X-Adit-User", *wanted])
                    self.assertEqual(answer.seen_header("Cookie"), [])
        self.gate.module()
        for lines in smuggled[:-1]:
            with self.subTest("nobody: %s" % lines):
                self.is_sent_to_provider(self.gate.browser().ask_raw(b"GET / HTTP/1.1", *lines))
