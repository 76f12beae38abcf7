# SPDX-License-Identifier: MIT
"""How much of adit-gate, of its database and of its providers one visitor may take."""
import contextlib
import os
import threading

from adit.case import until
from adit.clock import Clock
from adit.gate import HOST, ROUTES, Program
from adit.gate_cases import START, GateCase

ACME = {"organizations": ["acme"]}
MANY = ["an-organization-with-a-rather-long-name-%03d" % n for n in range(80)]

# Counts how often the module of an account is read: once a question.
COUNT_QUESTIONS = """
    CREATE SEQUENCE public.questions;
    GRANT USAGE ON SEQUENCE public.questions TO PUBLIC;
    ALTER TABLE adit.oauth_module ENABLE ROW LEVEL SECURITY;
    CREATE POLICY counted ON adit.oauth_module USING (
        CASE WHEN account_id = '%s' THEN nextval('public.questions') > 0 ELSE true END)"""
COUNT_NO_MORE = """
    ALTER TABLE adit.oauth_module DISABLE ROW LEVEL SECURITY;
    DROP POLICY counted ON adit.oauth_module;
    DROP SEQUENCE public.questions"""


class Limits(GateCase):
    front = "nginx"

    @contextlib.contextmanager
    def one_worker(self):
        """A gate whose clocks a test sets.  It gives providers 50 s instead of 5."""
        folder = self.gate.path("clock-of-" + self.id())
        os.makedirs(folder, exist_ok=True)
        self.clock = Clock(folder)
        self.clock.slow_down(10)
        with Program(self.gate, ("-w", "1"), self.clock.env()) as gate:
            yield gate

    def test_checks_of_strangers(self):
        """Nothing ends such a session.  So an address may have the provider asked so often only."""
        self.gate.module(auth_check_interval=30)
        self.gate.clock.set(START)
        lost = self.signed_in("carol")
        self.gate.module(auth_check_interval=30, config={"email_addresses": ["alice@example.com"]})
        listed, other = self.signed_in("alice"), self.signed_in("bob")
        self.gate.mock.requests.clear()
        with self.one_worker() as gate:
            statuses = []
            for n in range(1, 1011):
                self.clock.set(START + 30 * n)
                statuses.append(gate.ask(other, REMOTE_ADDR="192.0.2.1")[0])
            self.assertEqual(statuses, [403] * 1000 + [503] * 10)
            self.assertEqual(self.gate.mock.requests.count("user"), 1000)
            # That is the matter of neither another address nor of who is let in, or was.
            self.assertEqual(gate.ask(listed, REMOTE_ADDR="192.0.2.1")[0], 200)
            self.assertEqual(gate.ask(lost, REMOTE_ADDR="192.0.2.1")[0], 403)
            self.assertEqual(gate.ask(other, REMOTE_ADDR="192.0.2.2")[0], 403)
            self.assertEqual(self.gate.mock.requests.count("user"), 1003)
            self.assertIn("too many checks of this address in 10 minutes",
                          {line.get("cause") for line in gate.events()})

    def test_requests_that_wait_for_one_answer(self):
        """They count for the address that sends them: when a check is due, and if a list comes that names more than
        a session keeps, although the module checks nobody again."""
        alice = self.gate.mock.users["alice"]
        before = alice["orgs"]
        self.addCleanup(alice.update, orgs=before)
        self.addCleanup(self.gate.mock.released.set)
        alice["orgs"] = [dict(before[0], login=name) for name in ["acme", "more", *MANY]]
        for name, then in (("due", {"auth_check_interval": 30}),
                           ("a list", {"auth_check_interval": 0, "config": {"organizations": ["more"]}})):
            with self.subTest(name):
                self.gate.module(auth_check_interval=30, config=ACME)
                self.gate.clock.set(START)
                browser = self.signed_in("alice")
                self.gate.module(**{"config": ACME, **then})
                # What is new is asked for once more.
                self.wait_for_one_answer(browser, 1 if name == "due" else 2)

    def wait_for_one_answer(self, browser, n_questions):
        self.gate.mock.requests.clear()
        self.gate.mock.released.clear()
        self.gate.mock.faults["user"] = ("held",)
        found = []
        with self.one_worker() as gate:
            self.clock.set(START + 30)
            threads = [threading.Thread(target=lambda: found.append(
                gate.ask(browser, REMOTE_ADDR="192.0.2.1")[0])) for _ in range(40)]
            for thread in threads:
                thread.start()
            until(lambda: len(found) == 12, "the refusals of 12 of 40")
            self.assertEqual(found, [503] * 12)
            self.gate.mock.released.set()
            for thread in threads:
                thread.join()
        self.gate.mock.faults.clear()
        self.assertEqual(found.count(200), 28)
        self.assertEqual(self.gate.mock.requests.count("user"), n_questions)

    def test_one_visitor_of_many_sessions_and_addresses(self):
        """However many there are, they leave room for the checks and sign-ins of others."""
        self.gate.module(auth_check_interval=30)
        self.gate.clock.set(START)
        browsers = [self.signed_in("alice") for _ in range(32)]
        other = self.signed_in("bob")
        self.gate.mock.requests.clear()
        self.gate.mock.released.clear()
        self.addCleanup(self.gate.mock.released.set)
        self.gate.mock.faults["user"] = ("held",)
        found, found_of_other = [], []

        def ask_all(gate, browsers, found):
            threads = [threading.Thread(target=lambda n=n, browser=browser: found.append(
                gate.ask(browser, REMOTE_ADDR="192.0.2.%d" % n)[0]))
                for n, browser in enumerate(browsers)]
            for thread in threads:
                thread.start()
            return threads
        with self.one_worker() as gate:
            self.clock.set(START + 30)
            threads = ask_all(gate, browsers, found)
            until(lambda: len(found) == 4, "the refusals of 4 of 32")
            self.assertEqual(found, [503] * 4)
            until(lambda: self.gate.mock.requests.count("user") == 28, "28 questions")
            threads += ask_all(gate, [other], found_of_other)
            until(lambda: self.gate.mock.requests.count("user") == 29, "the other's question")
            self.gate.mock.released.set()
            for thread in threads:
                thread.join()
        self.assertEqual((found.count(200), found_of_other), (28, [200]))

    def sign_in_at(self, gate, user, host=HOST):
        """Signs in without a browser.  Returns the status."""
        route = {"ADIT_ROUTE": ROUTES[host], "ADIT_URL": self.gate.url(host)}
        _, headers = gate.ask(HTTP_SEC_FETCH_MODE="navigate", **route)
        path = self.gate.callback(headers["X-Adit-Location"], user, host)
        return gate.ask(ADIT_CHECK="", REQUEST_URI=path, QUERY_STRING=path.partition("?")[2],
                        HTTP_COOKIE=headers["Set-Cookie"].partition(";")[0], **route)[0]

    def answer_sign_out(self, gate, browser):
        return gate.ask(browser, ADIT_CHECK="", REQUEST_URI="/_adit/logout", REQUEST_METHOD="POST",
                        HTTP_SEC_FETCH_SITE="same-origin")

    def sign_out_at(self, gate, browser):
        return self.answer_sign_out(gate, browser)[0]

    def test_sign_ins_of_one_visitor(self):
        """Sessions in rows are so many for each route; a page of one spends those of no other."""
        for host in (HOST, "two.test"):
            self.gate.module(host, auth_check_interval=3000)
        with Program(self.gate, ("-w", "1")) as gate:
            statuses = {self.sign_in_at(gate, "alice") for _ in range(202)}
            self.assertEqual(statuses, {302})
            self.in_rows()
            statuses = [self.sign_in_at(gate, "alice") for _ in range(202)]
            self.assertEqual(statuses, [302] * 200 + [503] * 2)
            self.assertEqual(self.sign_in_at(gate, "bob"), 302)
            self.assertEqual(self.sign_in_at(gate, "alice", "two.test"), 302)
            self.assertIn("too many sign-ins or sign-outs of this visitor in 10 minutes",
                          {line.get("cause") for line in gate.events()})
            # Who needs no row still signs in.
            self.gate.mock.padding = 0
            self.assertEqual(self.sign_in_at(gate, "alice"), 302)

    def test_another_visitors_cookie_beside(self):
        """Another host of the domain may set the cookie of a visitor whose share of rows is used up.  The
        answer says that not all have ended, but the browser's own session has."""
        self.gate.module()
        with Program(self.gate, ("-w", "1")) as gate:
            for _ in range(200):
                self.assertEqual(self.sign_out_at(gate, self.signed_in("carol")), 200)
            tossed = self.signed_in("carol").session()
            for place in (0, 1):
                own = self.signed_in("alice")
                values = [own.session()]
                values.insert(place, tossed)
                both = self.with_cookies(["%s=%s" % value for value in values])
                self.assertEqual(gate.ask(own)[0], 200)
                status, headers = self.answer_sign_out(gate, both)
                self.assertEqual((status, "Max-Age=0" in headers["Set-Cookie"]), (503, True))
                self.assertEqual(gate.ask(own, HTTP_SEC_FETCH_MODE="cors")[0], 401)

    def test_sign_outs_of_one_visitor(self):
        """Each leaves a row, although the session had none."""
        self.gate.module()
        with Program(self.gate, ("-w", "1")) as gate:
            statuses = [self.sign_out_at(gate, self.signed_in("alice")) for _ in range(202)]
            self.assertEqual(statuses, [200] * 200 + [503] * 2)
            self.assertEqual(self.sign_out_at(gate, self.signed_in("bob")), 200)

    def test_how_long_an_end_is_kept(self):
        """The database deletes it by its own clock, which may be ahead, and the session lasts by the gate's."""
        self.gate.module()
        self.gate.clock.set(START)
        browser = self.signed_in("alice")
        row = browser.session()[1][:22]
        self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.assertEqual(self.stack.psql("SELECT ends_at >= to_timestamp(%d) + interval '31 days'"
                                         " FROM adit.gate_session WHERE id = '%s'" % (START, row)), "t")

    def count_questions(self):
        """Returns what tells how many questions there were; that counts, too."""
        self.stack.psql(COUNT_QUESTIONS % self.gate.account.id)
        self.addCleanup(self.stack.psql, COUNT_NO_MORE)
        return lambda: int(self.stack.psql("SELECT nextval('public.questions')"))

    def test_an_interval_shorter_than_an_answer_takes(self):
        """Whoever has waited while a question began needs no other one."""
        self.gate.module(auth_check_interval=1)
        self.gate.clock.set(START)
        browser, other = self.signed_in("alice"), self.signed_in("bob")
        mock, found = self.gate.mock, []
        mock.requests.clear()
        mock.released.clear()
        self.addCleanup(mock.released.set)
        self.addCleanup(mock.faults.clear)
        self.count_questions()
        with self.one_worker() as gate:
            threads = [threading.Thread(target=lambda: found.append(gate.ask(browser.copy())[0]))
                       for _ in range(7)]
            mock.faults["user"] = ("held",)
            for n, thread in enumerate(threads, 1):
                self.clock.set(START + n)
                thread.start()
                if n == 1:
                    until(lambda: mock.requests.count("user") == 1, "the first question")
                until(lambda n=n: int(self.stack.psql("SELECT last_value FROM public.questions")) == n, "its turn")
            # The worker has answered this after it has read what the others came for.
            self.clock.set(START)
            self.assertEqual(gate.ask(other)[0], 200)
            self.clock.set(START + 7)
            mock.faults["user"] = ("slow", "0.3")
            mock.released.set()
            for thread in threads:
                thread.join()
        self.assertEqual(found, [200] * 7)
        self.assertEqual(mock.requests.count("user"), 2)

    def in_rows(self):
        """Tokens are too large for cookies; modules that check keep them."""
        self.gate.mock.padding = 15000
        self.addCleanup(setattr, self.gate.mock, "padding", 0)

    def with_cookies(self, cookies):
        """A browser that has several cookies of one name."""
        browser = self.gate.browser()
        browser.cookies = {(cookies[0].partition("=")[0], "/"): "; ".join(cookies).partition(
            "=")[2]}
        return browser

    def test_many_sessions_in_rows(self):
        """Nobody reads the rows of those that do not last; of others, those seen last count."""
        self.in_rows()
        self.gate.module(auth_check_interval=3000, inactivity_timeout=600)
        cookies = []
        for n in range(36):
            self.gate.clock.set(START + n)
            cookies.append("%s=%s" % self.signed_in("carol").session())
        n_questions = self.count_questions()
        self.gate.clock.set(START + 700)
        before = n_questions()
        self.is_stopped(self.with_cookies(cookies).ask(method="POST"), 401)
        self.assertEqual(n_questions() - before - 1, 1)
        self.gate.clock.set(START + 50)
        self.gate.module(auth_check_interval=3000, inactivity_timeout=600,
                         config={"email_addresses": ["alice@example.com"]})
        self.is_stopped(self.with_cookies(cookies).ask(method="POST"), 403)
        last = "%s=%s" % self.signed_in("alice").session()
        self.passes(self.with_cookies([*cookies, last]).ask())
        # Whoever signs out ends all of them, and also those that do not last now.
        self.gate.module(auth_check_interval=3000, inactivity_timeout=600)
        self.gate.clock.set(START + 700)
        self.shows(self.with_cookies(cookies).ask("/_adit/logout", "POST", body=b""), 200,
                   "Signed out")
        self.gate.clock.set(START + 50)
        for one in cookies:
            self.is_stopped(self.with_cookies([one]).ask(method="POST"), 401)
        self.passes(self.with_cookies([last]).ask())

    def test_many_sessions(self):
        """However many good sessions a request has, the gate asks for their rows at once."""
        self.gate.module()
        browsers = [self.signed_in("alice") for _ in range(24)]
        name, _ = browsers[0].session()
        cookies = ["%s=%s" % browser.session() for browser in browsers]
        browser = browsers[0]
        browser.cookies = {(name, "/"): "; ".join(cookies).partition("=")[2]}
        self.passes(browser.ask())
        n_questions = self.count_questions()
        # All of them end, and each of them is no session then.
        before = n_questions()
        self.shows(browser.copy().ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.assertLessEqual(n_questions() - before - 1, 2)
        for one in cookies:
            browser.cookies = {(name, "/"): one.partition("=")[2]}
            self.is_stopped(browser.ask(method="POST"), 401)
        browser.cookies = {(name, "/"): "; ".join(cookies).partition("=")[2]}
        before = n_questions()
        self.is_stopped(browser.ask(method="POST"), 401)
        self.assertLessEqual(n_questions() - before - 1, 2)
        # A session behind so many that have ended still counts.
        last = self.signed_in("alice")
        browser.cookies = {(name, "/"): "; ".join([*cookies, "%s=%s" % last.session()]).partition(
            "=")[2]}
        self.passes(browser.ask())
