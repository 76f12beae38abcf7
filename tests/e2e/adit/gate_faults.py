# SPDX-License-Identifier: MIT
"""How long sessions of a route with an OAuth module last, and what happens while the provider, the
database or the gate is away, behind every web server."""
import contextlib
import copy
import re
import signal
import ssl
import threading

from adit import stack
from adit.case import until, until_back
from adit.gate import HOST
from adit.gate_cases import START
from adit.mock_provider import MockProvider

DAY_S = 24 * 3600


def in_threads(n, function):
    """Returns what n calls return that run side by side."""
    found = []
    threads = [threading.Thread(target=lambda n=n: found.append(function(n))) for n in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


class Lasting:
    """Mixed into the cases of each web server."""

    def start(self, user="alice", **module):
        """A browser whose user signs in at START."""
        self.gate.module(**module)
        self.gate.clock.set(START)
        return self.signed_in(user)

    def at(self, seconds, browser):
        self.gate.clock.set(START + seconds)
        return browser.ask("/")

    def test_no_duration(self):
        browser = self.start()
        value = browser.session()
        self.passes(self.at(30 * DAY_S - 1, browser))
        self.assertEqual(browser.session(), value)
        self.is_sent_to_provider(self.at(30 * DAY_S, browser))

    def test_inactivity_timeout(self):
        browser = self.start(inactivity_timeout=60)
        first = browser.copy()
        for seconds in (59, 118, 118, 177):
            self.passes(self.at(seconds, browser))
        self.is_sent_to_provider(self.at(237, browser.copy()))
        self.passes(self.at(236, browser.copy()))
        # A cookie from before tells nothing of the later requests.
        self.is_sent_to_provider(self.at(60, first.copy()))
        self.passes(self.at(59, first.copy()))
        # A changed duration holds from the next request on.
        self.gate.module(inactivity_timeout=10)
        self.is_sent_to_provider(self.at(187, browser.copy()))
        self.passes(self.at(186, browser.copy()))

    def test_maximum_duration(self):
        browser = self.start(maximum_duration=100, inactivity_timeout=90)
        self.passes(self.at(60, browser))
        self.passes(self.at(99, browser))
        self.shows(browser.ask("/_adit/logout"), 200, "Sign out of this site?")
        self.is_sent_to_provider(self.at(100, browser))
        self.assertNotIn("signed in as", self.shows(browser.ask("/_adit/logout"), 200,
                                                    "Signed out").text)
        self.gate.module()
        self.passes(self.at(100, browser))

    def test_clock_set_back(self):
        browser = self.start()
        self.passes(self.at(-60, browser))
        self.is_sent_to_provider(self.at(-61, browser))

    def test_clock_set_back_after_a_check(self):
        """What the provider said at a later time is of no use for an old cookie."""
        browser = self.start(auth_check_interval=30)
        old = browser.copy()
        for _ in range(8):
            self.passes(self.at(5000, old.copy()))
        self.gate.mock.revoke("alice")
        for _ in range(4):
            self.is_sent_to_provider(self.at(1000, old.copy()))

    def test_auth_check_interval(self):
        browser = self.start(auth_check_interval=30)
        self.gate.mock.requests.clear()
        self.passes(self.at(29, browser))
        self.assertEqual(self.gate.mock.requests, [])
        value = browser.session()
        self.passes(self.at(30, browser))
        self.assertIn("user", self.gate.mock.requests)
        self.assertNotEqual(browser.session(), value)
        self.gate.mock.revoke("alice")
        self.passes(self.at(59, browser))
        kept = browser.copy()
        self.is_sent_to_provider(self.at(60, browser))
        # That is final, also for cookies that are not due.
        self.gate.module(auth_check_interval=3600)
        self.is_sent_to_provider(kept.ask())

    def test_another_identity(self):
        """The provider's new answer counts: teams, addresses, organizations."""
        self.addCleanup(self.gate.mock.users.update, copy.deepcopy(self.gate.mock.users))
        browser = self.start("alice", auth_check_interval=30, config={
            "teams": ["acme/deploy"], "email_domains": ["changed.example"]})
        self.passes(self.at(1, browser))
        self.gate.mock.users["alice"]["teams"] = []
        self.passes(self.at(29, browser))
        self.shows(self.at(30, browser), 403, "Not allowed")
        for entry in self.gate.mock.users["alice"]["emails"]:
            if entry["primary"]:
                entry["email"] = "alice@changed.example"
        self.assertEqual(self.passes(self.at(60, browser)).seen_header("X-Adit-User"),
                         ["alice@changed.example"])
        # The token is another user's.
        self.gate.mock.users["alice"]["user"]["id"] = 1
        self.is_sent_to_provider(self.at(90, browser))

    def test_interval_set_later(self):
        """Who signed in without a token has to sign in again."""
        browser = self.start()
        self.gate.module(auth_check_interval=30)
        self.passes(self.at(29, browser))
        self.is_sent_to_provider(self.at(30, browser))

    def test_requests_of_a_page(self):
        """28 requests with the same old cookie ask the provider once a worker.  That is a visitor's share of
        one worker's lanes, which may get them all."""
        browser = self.start(auth_check_interval=30)
        self.gate.mock.requests.clear()
        self.gate.mock.faults["user"] = ("slow", "0.3")
        self.gate.clock.set(START + 30)
        for answer in in_threads(28, lambda n: browser.copy().ask("/%d" % n)):
            self.passes(answer)
        self.assertIn(self.gate.mock.requests.count("user"), (1, 2))

    def test_provider_away_at_a_check(self):
        browser = self.start(auth_check_interval=30)
        self.gate.mock.faults["user"] = ("status", "500")
        self.shows(self.at(30, browser), 503, "Your sign-in cannot be checked now")
        self.is_stopped(browser.ask(method="POST", body=b"x"), 503)
        self.gate.mock.faults.clear()
        until(lambda: browser.ask().status == 200, "the provider's answer")
        self.passes(browser.ask())

    # ---- sessions that do not fit into a cookie ----

    def rows(self, condition="true"):
        return int(self.gate.stack.psql(
            "SELECT count(*) FROM adit.gate_session WHERE " + condition))

    def long_tokens(self, padding):
        self.addCleanup(setattr, self.gate.mock, "padding", 0)
        self.gate.mock.padding = padding

    def test_large_session(self):
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        self.long_tokens(16000)
        browser = self.start("carol", inactivity_timeout=60, auth_check_interval=30,
                             config={"teams": ["globex/team-230"]})
        self.assertEqual(self.rows("sealed IS NOT NULL"), 1)
        self.assertLess(len(browser.session()[1]), 1000)
        self.assertNotIn("team-230", self.gate.stack.psql("TABLE adit.gate_session"))
        self.passes(self.at(29, browser))
        self.passes(self.at(59, browser))
        thief = browser.copy()
        self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        # One says that the session has ended, and one that its login has come back.
        self.assertEqual((self.rows(), self.rows("sealed IS NOT NULL")), (2, 0))
        self.is_sent_to_provider(thief.ask())
        # A row that somebody removes or alters opens nothing.
        for sql in ("DELETE FROM adit.gate_session",
                    "UPDATE adit.gate_session SET sealed = set_byte(sealed, 40,"
                    " get_byte(sealed, 40) # 1)",
                    "UPDATE adit.gate_session SET key_id = 'none' WHERE key_id IS NOT NULL"):
            with self.subTest(sql[:30]):
                browser = self.signed_in("carol")
                self.passes(browser.ask())
                self.gate.stack.psql(sql)
                self.is_sent_to_provider(browser.ask())

    def test_large_session_becomes_small(self):
        self.addCleanup(self.gate.mock.users.update, copy.deepcopy(self.gate.mock.users))
        self.long_tokens(2200)
        teams = self.gate.mock.users["carol"]["teams"]
        teams["repeat"] = 60
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        browser = self.start("carol", auth_check_interval=30,
                             config={"organizations": ["globex"], "teams": ["a/b"]})
        self.assertEqual(self.rows("sealed IS NOT NULL"), 1)
        self.gate.mock.users["carol"]["teams"] = []
        self.passes(self.at(30, browser))
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        self.passes(self.at(31, browser))


    # ---- visitors with many memberships ----

    def test_many_memberships(self):
        """A session keeps what the lists name of them.  Nobody fills the table with the rest."""
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        browser = self.start("carol", config={"teams": ["acme/deploy"]})
        self.shows(browser.ask(), 403, "Not allowed")
        self.assertLess(len(browser.session()[1]), 400)
        # Whom other lists let in has to say who it is: the session does not know.
        for team in ("globex/team-230", "globex/team-1"):
            with self.subTest(team):
                self.gate.module(config={"teams": ["acme/deploy", team]})
                self.is_stopped(browser.ask(method="POST"), 401)
                self.passes(self.gate.sign_in("carol", browser=browser)[1])
                self.passes(browser.ask(method="POST"))
                self.assertLess(len(browser.session()[1]), 400)
        # What it knows still counts.
        self.gate.module(config={"teams": ["globex/team-1"], "organizations": ["none"]})
        self.passes(browser.ask())
        # Who has left the lists is not let in, and learns it from the provider's new answer.
        self.gate.module(config={"teams": ["globex/team-0"]})
        self.is_sent_to_provider(browser.copy().ask())
        self.shows(self.gate.sign_in("carol", browser=browser)[1], 403, "Not allowed")
        self.is_stopped(browser.ask(method="POST"), 403)
        self.assertEqual(self.rows("sealed IS NOT NULL"), 0)

    def test_many_memberships_with_a_token(self):
        """If there is a token, the provider is asked at once what the new lists name."""
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        browser = self.start("carol", auth_check_interval=3600, config={"teams": ["globex/team-2"]})
        for team in ("globex/team-230", "globex/team-1"):
            with self.subTest(team):
                self.gate.module(auth_check_interval=3600, config={"teams": [team]})
                for _ in range(4):  # at both workers
                    self.passes(browser.copy().ask(method="POST"))
        self.gate.module(auth_check_interval=3600, config={"teams": ["globex/team-0"]})
        self.gate.mock.requests.clear()
        for _ in range(8):
            self.shows(browser.copy().ask(), 403, "Not allowed")
        # One worker asks, and again since it was told something new.  What the row holds has changed with the
        # lists.
        self.assertEqual(self.gate.mock.requests.count("user"), 2)
        self.assertEqual(self.rows("sealed IS NOT NULL"), 1)

    def test_refusal_is_remembered(self):
        """The provider is not asked again at each request of who is not let in, by no worker."""
        for config in ({"teams": ["globex/team-231"]}, {"email_domains": ["example.org"]}):
            with self.subTest(**config):
                browser = self.start("carol", auth_check_interval=30,
                                     config={"teams": ["globex/team-1"]})
                # It may be one of those that the session left out.
                self.gate.module(auth_check_interval=30, config=config)
                self.shows(self.at(1, browser), 403, "Not allowed")
                self.gate.stop_gate()
                self.gate.start_gate()
                self.gate.mock.requests.clear()
                for _ in range(4):
                    self.shows(browser.ask(), 403, "Not allowed")
                    self.is_stopped(browser.ask("/p", "POST", body=b"x"), 403)
                self.assertEqual(self.gate.mock.requests, [])
                self.shows(self.at(31, browser), 403, "Not allowed")
                self.assertIn("user", self.gate.mock.requests)
                # Nobody is locked out for good.
                self.gate.module(auth_check_interval=30, config={"teams": ["globex/team-2"]})
                answer = self.at(32, browser)
                if answer.status == 302:
                    answer = self.gate.sign_in("carol", browser=browser)[1]
                self.passes(answer)

    def test_no_row_for_who_is_not_let_in(self):
        """Not even a long token makes one."""
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        self.long_tokens(8000)
        browser = self.start("alice", auth_check_interval=30, config={"teams": ["nobody/else"]})
        self.shows(browser.ask(), 403, "Not allowed")
        self.assertEqual(self.rows("sealed IS NOT NULL"), 0)
        # The one row says that the login has come back.
        self.assertEqual(self.rows(), 1)
        self.gate.module(auth_check_interval=30)
        self.is_sent_to_provider(self.at(29, browser))

    def test_end_of_who_is_not_let_in(self):
        """A copy of the cookie is refused, also once the lists let the visitor in."""
        self.gate.stack.psql("DELETE FROM adit.gate_session")
        browser = self.start("alice", auth_check_interval=30, config={"teams": ["nobody/else"]})
        self.shows(browser.ask(), 403, "Not allowed")
        thief = browser.copy()
        self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.assertEqual((self.rows(), self.rows("sealed IS NOT NULL")), (1, 0))
        self.gate.module(auth_check_interval=30)
        self.is_sent_to_provider(self.at(29, thief))

    # ---- the module that a session is of ----

    def test_module_made_anew(self):
        """A PUT keeps the sessions, if its lists do.  They end when the module is deleted."""
        browser = self.start(inactivity_timeout=60)
        self.gate.module(config={"email_domains": ["example.com"]})
        self.passes(self.at(1, browser))
        self.gate.delete()
        self.passes(self.at(2, browser))
        self.gate.module()
        self.is_sent_to_provider(self.at(2, browser.copy()))
        self.passes(self.gate.sign_in("alice", browser=browser)[1])

    def test_another_cookie_prefix(self):
        """A session counts under the name that its cookie began with, until the module has another."""
        browser = self.start(cookie_prefix="one.")
        kept = browser.copy()
        name, value = browser.session()
        self.assertEqual(name, "one.session")
        self.gate.module(cookie_prefix="two.")
        browser.cookies = {("two.session", "/"): value}
        self.is_sent_to_provider(browser.ask())
        self.is_sent_to_provider(kept.copy().ask())
        # The gate sees no session here, and so ends none.
        self.shows(kept.copy().ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.gate.module(cookie_prefix="one.")
        self.is_sent_to_provider(kept.ask())


class Away:
    """Mixed into the cases of each web server."""

    def _tries_to_sign_in(self, host=HOST):
        browser = self.gate.browser(host)
        answer = browser.ask(self.gate.callback(browser.ask().location, "alice", host))
        self.assertEqual(browser.session(), (None, None))
        return answer

    def test_wrong_answers_of_the_provider(self):
        self.gate.module(config={"teams": ["acme/deploy"]})
        away, failed = (503, "You cannot sign in now"), (403, "Sign-in failed")
        not_set_up = (503, "Nobody can sign in")
        before = self.gate.application.n_requests
        for endpoint, fault, wanted in (
                *((endpoint, (kind, *value), away)
                  for endpoint in ("token", "user")
                  for kind, *value in (("status", "500"), ("status", "429"), ("huge",), ("text",),
                                       ("type",), ("redirect",), ("cut",), ("json", "[]"),
                                       ("json", "{}"), ("json", ""), ("json", "null"))),
                ("user", ("json", '{"id":null,"login":"alice"}'), away),
                ("user", ("json", '{"id":"583231"'), away),
                ("user", ("status", "401"), failed),
                ("user", ("status", "404"), not_set_up), ("token", ("status", "404"), not_set_up),
                ("emails", ("status", "500"), away), ("emails", ("json", "{}"), away),
                ("orgs", ("status", "502"), away), ("teams", ("text",), away),
                ("teams", ("endless",), away), ("teams", ("elsewhere",), away)):
            with self.subTest("%s %s" % (endpoint, fault)):
                self.gate.mock.faults = {endpoint: fault}
                self.shows(self._tries_to_sign_in(), *wanted)
        self.gate.mock.faults = {}
        self.assertEqual(self.gate.application.n_requests, before)
        self.passes(self.gate.sign_in("alice")[1])

    def test_wrong_certificates(self):
        made = self.gate.certificates
        name = ["-addext", "subjectAltName=DNS:localhost"]
        made.make("stranger", subject="localhost", more=name)
        made.make("elsewhere", "authority", subject="elsewhere.test",
                  more=["-addext", "subjectAltName=DNS:elsewhere.test"])
        made.make_expired("localhost", "authority")
        self.gate.module()
        kept = self.gate.mock.server.context
        for wrong in ("stranger", "elsewhere", "localhost"):
            with self.subTest(wrong):
                self.gate.mock.server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self.gate.mock.server.context.load_cert_chain(made.path(wrong + ".pem"))
                asked = len(self.gate.mock.requests)
                try:
                    self.shows(self._tries_to_sign_in(), 503, "You cannot sign in now")
                finally:
                    self.gate.mock.server.context = kept
                self.assertEqual(len(self.gate.mock.requests), asked)
        self.passes(self.gate.sign_in("alice")[1])

    def test_no_connection(self):
        self.gate.other_module()
        mock = self.gate.other_mock
        browser = self.gate.browser()
        back = self.gate.callback(browser.ask().location, "alice")
        mock.close()
        self.shows(browser.ask(back), 503, "You cannot sign in now")
        self.gate.other_mock = MockProvider(
            mock.name, self.gate.certificates.path("provider.pem"), mock.server.server_address[1])
        self.passes(self.gate.sign_in("alice")[1])

    def test_slow_provider(self):
        """40 logins wait for the provider, and checks go on."""
        self.gate.module()
        with self.gate.patience():
            browser = self.signed_in("alice")
            visitors = [self.gate.browser() for _ in range(40)]
            backs = [self.gate.callback(visitor.ask().location, "alice") for visitor in visitors]
            self.gate.mock.released.clear()
            self.gate.mock.faults["token"] = ("held", "500")
            asked = len(self.gate.mock.requests)
            found = []
            logins = threading.Thread(target=lambda: found.extend(
                in_threads(40, lambda n: visitors[n].ask(backs[n]))))
            logins.start()
            try:
                until(lambda: len(self.gate.mock.requests) >= asked + 40, "40 questions")
                for _ in range(20):
                    self.passes(browser.ask())
                    self.is_sent_to_provider(self.gate.browser().ask())
                self.assertEqual(found, [])
            finally:
                self.gate.mock.released.set()
                logins.join()
        self.assertEqual(len(found), 40)
        for answer in found:
            self.shows(answer, 503, "You cannot sign in now")
        for visitor in visitors:
            self.assertEqual(visitor.session(), (None, None))
        # It does not wait for ever.
        self.gate.mock.faults["token"] = ("slow", "7")
        self.shows(self._tries_to_sign_in(), 503, "You cannot sign in now")

    # ---- the database ----

    @contextlib.contextmanager
    def no_database(self):
        self.gate.stack.psql("ALTER ROLE gate NOLOGIN")
        try:
            self.gate.stack.psql("SELECT count(pg_terminate_backend(pid, 10000))"
                                 " FROM pg_stat_activity WHERE usename = 'gate'")
            yield
        finally:
            self.gate.stack.psql("ALTER ROLE gate LOGIN")

    def test_database_away(self):
        for is_protected in (True, False):
            with self.subTest(is_protected):
                self.gate.delete()
                if is_protected:
                    self.gate.module()
                    visitor = self.signed_in("alice")
                else:
                    visitor = self.gate.browser()
                self.passes(visitor.ask())
                before = self.gate.application.n_requests
                with self.no_database():
                    for method, path in (("GET", "/"), ("POST", "/"), ("OPTIONS", "/"),
                                         ("GET", "/_adit/callback?state=a&code=b"),
                                         ("GET", "/_adit/logout")):
                        self.is_stopped(visitor.copy().ask(path, method), 503)
                    self.shows(visitor.ask(), 503, "Not ready")
                self.assertEqual(self.gate.application.n_requests, before)
                until_back(lambda visitor=visitor: visitor.ask().status == 200)

    def test_database_hangs(self):
        """A statement that does not end ends as one that failed."""
        self.gate.module()
        browser = self.signed_in("alice")
        before = self.gate.application.n_requests
        holder = threading.Thread(target=self.gate.stack.psql_run, args=(
            "BEGIN; LOCK TABLE adit.oauth_module; SELECT pg_sleep(600)",))
        holder.start()
        holds = " FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
        try:
            until(lambda: self.gate.stack.psql("SELECT count(*)" + holds) == "1", "a lock")
            for visitor in browser, self.gate.browser():
                self.is_stopped(visitor.ask(), 500, 503)
        finally:
            self.gate.stack.psql("SELECT pg_terminate_backend(pid, 10000)" + holds)
            holder.join()
        self.assertEqual(self.gate.application.n_requests, before)
        until_back(lambda: browser.ask().status == 200)

    def test_secret_that_cannot_be_read(self):
        """The log says why, in the database's own words."""
        # A new gate, whose log leaves out nothing yet.
        self.gate.stop_gate()
        self.gate.start_gate()
        self.gate.module()
        browser = self.gate.browser()
        back = self.gate.callback(browser.ask().location, "alice")
        column = "SELECT (client_secret_sealed) ON adit.oauth_module %s adit_gate"
        self.gate.stack.psql("REVOKE " + column % "FROM")
        try:
            self.shows(browser.ask(back), 503, "Not ready")
        finally:
            self.gate.stack.psql("GRANT " + column % "TO")
        causes = [line["cause"] for line in self.gate.log() if line["event"] == "cannot sign in"]
        self.assertEqual(causes[-1:], ["database: 42501 permission denied for table oauth_module"])
        self.passes(self.gate.sign_in("alice")[1])

    # ---- memory ----

    def test_out_of_memory(self):
        """A gate without memory lets nobody pass whom it would not let pass with it."""
        self.gate.module(auth_check_interval=1, config={"teams": ["acme/deploy"]})
        listed, other = self.signed_in("alice"), self.signed_in("carol")
        name = listed.session()[0]
        visitors = []
        for _ in range(12):
            visitor = self.gate.browser()
            visitors.append((visitor, self.gate.callback(visitor.ask().location, "carol")))
        found = set()
        for every, (visitor, back) in enumerate(visitors, 1):
            before = self.gate.application.n_requests
            self.gate.clock.fail_allocations(every ** 2)
            try:
                for answer, *right in (
                        (visitor.ask(back), 302), (visitor.ask(), 302, 403),
                        (self.gate.browser().ask(), 302), (other.copy().ask(), 403),
                        (self.gate.browser().ask(headers={
                            "Cookie": "a=b; %s=%s" % (name, "A" * 3000)}), 302, 400)):
                    self.is_stopped(answer, *right, 500, 502, 503)
                    found.add(answer.status)
                self.assertEqual(self.gate.application.n_requests, before)
                # Who may pass is not sent to the provider, and passes with a name or not at all.
                # nginx asks for the page of a refusal: if there is memory then, the gate sends back.
                for _ in range(3):
                    answer = listed.copy().ask("/page")
                    self.assertIn((answer.status, answer.location), (
                        (200, None), (500, None), (502, None), (503, None), (302, "/page")))
                    if answer.seen:
                        self.assertEqual(answer.seen_header("X-Adit-User"), ["alice@example.com"])
            finally:
                self.gate.clock.fail_allocations(0)
        self.assertTrue(stack.is_sanitized() or found & {500, 502, 503}, found)
        until(lambda: listed.ask().status == 200, "adit-gate with memory")

    # ---- the gate ----

    def test_gate_away(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how):
                self.gate.module()
                browser = self.signed_in("alice")
                before = self.gate.application.n_requests
                self.gate.stop_gate(how)
                try:
                    for method, path in (("GET", "/"), ("POST", "/"), ("OPTIONS", "/"),
                                         ("GET", "/_adit/callback?state=a&code=b"),
                                         ("GET", "/_adit/logout")):
                        self.is_stopped(browser.ask(path, method), 500, 502, 503)
                    # Nor is a route open then that asks nothing.
                    self.gate.module(enabled=False)
                    self.is_stopped(self.gate.browser().ask(), 500, 502, 503)
                    self.assertEqual(self.gate.application.n_requests, before)
                finally:
                    self.gate.start_gate()
                # Sessions outlive the gate.
                self.gate.module()
                until(lambda browser=browser: browser.copy().ask().status == 200, "adit-gate")

    # ---- logs ----

    def test_no_secret_in_logs(self):
        """Logs name visitors, and nothing that lets somebody in."""
        self.gate.module(auth_check_interval=30, inactivity_timeout=60)
        values = set()
        pages = b""
        for fault in (None, ("user", ("status", "500")), ("token", ("text",)),
                      ("user", ("redirect",))):
            self.gate.mock.faults = dict([fault] if fault else [])
            browser = self.gate.browser()
            location = browser.ask("/page?secret=of-the-url").location
            back = self.gate.callback(location, "alice")
            values |= set(browser.cookies.values())
            answer = browser.ask(back)
            values |= set(browser.cookies.values()) | set(re.findall(r"[?&]code=([\w-]+)", back))
            pages += answer.body + browser.ask("/_adit/logout", "POST", body=b"").body
            browser.cookies["wrong-session", "/"] = "x" * 60
            browser.ask()
        log = self.gate.gate.log()
        # The web server cannot ask.
        back = self.gate.callback(self.gate.browser().ask("/page").location, "alice")
        values |= set(re.findall(r"[?&]code=([\w-]+)", back))
        self.gate.stop_gate()
        try:
            self.is_stopped(self.gate.browser().ask(back), 502, 503)
        finally:
            self.gate.start_gate()
        self.assertIn(b'"signed in"', log)
        self.assertIn(b'"signed out"', log)
        self.assertIn(b'"the provider does not answer"', log)
        self.assertGreater(len(self.gate.mock.secrets), 2)
        with open(self.gate.key_file, encoding="ascii") as file:
            sealing_key = file.readline().split()[1]
        found = values | self.gate.mock.secrets | {
            self.gate.mock.client_secret, self.gate.MANAGED_SECRET, "of-the-url", sealing_key}
        logs = [program.log() for program in self.gate.running]
        with open(self.gate.path("server", "access"), "rb") as file:
            access = file.read()
        self.assertIn(b"GET /page?secret=of-the-url", access)
        self.assertIn(b"POST /_adit/logout", access)
        for value in found:
            # The way back to the visitor's own page is in pages.
            for log in [*logs, *([access, pages] if value != "of-the-url" else [])]:
                self.assertNotIn(value.encode(), log)
