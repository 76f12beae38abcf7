# SPDX-License-Identifier: MIT
"""What one worker of adit-gate has heard of a visitor's losses counts at another one."""
import contextlib
import copy
import os
import threading

from adit.case import until
from adit.clock import Clock
from adit.gate import Program
from adit.gate_cases import START, GateCase
from adit.gate_faults import in_threads

ACME = {"organizations": ["acme"]}
MANY = ["an-organization-with-a-rather-long-name-%03d" % n for n in range(80)]


class Losses(GateCase):
    front = "nginx"

    def setUp(self):
        super().setUp()
        mock = self.gate.mock
        self.addCleanup(mock.users.update, copy.deepcopy(mock.users))
        self.addCleanup(mock.released.set)
        self.organization = mock.users["alice"]["orgs"][0]
        folder = self.gate.path("clock-of-" + self.id())
        os.mkdir(folder)
        self.clock = Clock(folder)
        self.gates = [self.start(name) for name in "ab"]
        self.gate.module(auth_check_interval=60, config=ACME)
        self.at(0)

    def start(self, name):
        program = Program(self.gate, ("-w", "1"), self.clock.env(), name=name + self.id()[-6:])
        return self.enterContext(program)

    def at(self, seconds):
        self.clock.set(START + seconds)
        self.gate.clock.set(START + seconds)

    def ask(self, gate, browser):
        status, headers = gate.ask(browser, HTTP_SEC_FETCH_MODE="cors")
        if "Set-Cookie" in headers:
            browser.take(headers["Set-Cookie"])
        return status

    def join(self, *organizations):
        """Alice is in these and no others."""
        alice = self.gate.mock.users["alice"]
        alice["teams"] = []
        alice["orgs"] = [dict(self.organization, login=name) for name in organizations]

    @contextlib.contextmanager
    def asking(self, endpoint, browser):
        """The first worker asks the provider about the browser's visitor, which answers at the end.  Yields the
        list that the worker's answer comes to."""
        mock = self.gate.mock
        mock.requests.clear()
        mock.released.clear()
        mock.faults[endpoint] = ("held",)
        self.at(61)
        found = []
        thread = threading.Thread(target=lambda: found.append(self.ask(self.gates[0], browser)))
        thread.start()
        try:
            until(lambda: mock.requests.count(endpoint) == 1, "the question")
            mock.faults.clear()
            yield found
        finally:
            mock.released.set()
            thread.join()

    def test_checked_while_the_answer_came(self):
        """Another worker that asked before the loss does not make up for it."""
        for seconds in (61, 62):
            with self.subTest(seconds):
                self.join("acme")
                self.gate.module(auth_check_interval=60, config=ACME)
                self.at(0)
                slow = self.signed_in("alice")
                quick = slow.copy()
                with self.asking("orgs", slow) as found:
                    self.at(seconds)
                    self.assertEqual(self.ask(self.gates[1], quick), 200)
                    self.join()
                    self.at(63)
                self.gate.module(auth_check_interval=0, config=ACME)
                self.assertEqual(found + [self.ask(gate, quick.copy()) for gate in self.gates], [403] * 3)

    def test_an_older_answer(self):
        """A list that comes asks for more; the answer that a worker has kept is from before the loss."""
        self.join("acme", *MANY)
        first, second = self.gates
        old = self.signed_in("alice")
        self.at(61)
        self.assertEqual(self.ask(first, old.copy()), 200)
        self.join(*MANY)
        self.at(62)
        refused = old.copy()
        self.assertEqual(self.ask(second, refused), 403)
        self.gate.module(auth_check_interval=86400, config={"organizations": ["acme", "more"]})
        for browser in (old, refused):
            self.assertEqual([self.ask(gate, browser.copy()) for gate in self.gates], [403, 403])

    def test_lost_while_it_waits_for_tokens(self):
        """Another worker has the new tokens, and what the visitor has lost."""
        mock = self.gate.mock
        mock.expiring = True
        self.addCleanup(setattr, mock, "expiring", False)
        first, second = self.gates
        self.join("acme")
        slow, other = self.signed_in("alice"), self.signed_in("carol")
        quick = slow.copy()
        mock.expire("alice")
        self.join()
        with self.asking("token", slow) as found:
            self.assertEqual(self.ask(second, quick), 403)
        self.assertEqual(found, [403])
        self.gate.module(auth_check_interval=0)
        self.assertEqual(self.ask(first, other), 200)
        self.assertEqual([line for line in first.events() if line["event"] == "worker ended"], [])

    def test_the_older_answer_comes_last(self):
        """The other way round: the worker that asked first has its answer last, and does not write it into the
        row of a large session, since it tells nothing new."""
        self.addCleanup(setattr, self.gate.mock, "padding", 0)
        for padding in (0, 15000):
            with self.subTest(padding):
                self.gate.mock.padding = padding
                self.join("acme")
                self.gate.module(auth_check_interval=60, config=ACME)
                self.at(0)
                slow = self.signed_in("alice")
                quick = slow.copy()
                with self.asking("teams", slow):
                    self.join()
                    self.at(62)
                    self.assertEqual(self.ask(self.gates[1], quick), 403)
                self.everywhere(403, slow, quick)

    def everywhere(self, status, *browsers):
        """What copies of cookies get at each worker, however seldom the module checks."""
        for interval in (0, 86400):
            self.gate.module(auth_check_interval=interval, config=ACME)
            self.assertEqual({self.ask(gate, browser.copy()) for browser in browsers for gate in self.gates},
                             {status}, interval)

    def test_lost_again(self):
        """The row of a session holds what the provider said last, and not only what it took away first."""
        first, second = self.gates
        for at_last in (403, 200):
            with self.subTest(at_last):
                self.gate.module(auth_check_interval=60, config=ACME)
                self.join("acme")
                self.at(0)
                browser = self.signed_in("alice")
                oldest = browser.copy()
                self.join()
                self.at(61)
                self.assertEqual(self.ask(first, browser), 403)
                without = browser.copy()
                self.join("acme")
                self.at(122)
                self.assertEqual(self.ask(first, browser), 200)
                # It is back at every worker and for every copy, at once.
                self.assertEqual([self.ask(second, one.copy()) for one in (oldest, without)], [200] * 2)
                if at_last == 403:
                    self.join()
                self.at(190)
                self.assertEqual(self.ask(second, without.copy()), at_last)
                self.everywhere(at_last, oldest, without, browser)

    def test_new_tokens_meanwhile(self):
        """Tokens that a worker keeps put nothing back that another one has heard since, also if the worker's
        question fails then."""
        mock = self.gate.mock
        self.addCleanup(setattr, mock, "data", mock.data)
        mock.data = copy.deepcopy(mock.data)
        mock.data["refresh"]["rotates"] = False
        self.addCleanup(setattr, mock, "expiring", mock.expiring)
        mock.expiring = True
        for then, status in (((), 403), (("acme", "corp"), 200)):
            with self.subTest(status):
                self.gate.module(auth_check_interval=30, config=ACME)
                self.join("acme")
                self.at(0)
                browser = self.signed_in("alice")
                self.join(*(("acme", "more") if status == 403 else ()))
                self.at(30)
                self.assertEqual(self.ask(self.gates[0], browser), 403 if status == 200 else 200)
                mock.expire("alice")
                other = browser.copy()
                with self.asking("token", browser.copy()) as found:
                    self.join(*then)
                    self.assertEqual(self.ask(self.gates[1], other), status)
                    mock.faults["user"] = ("status", "502")
                self.assertEqual(found, [503])
                mock.faults.clear()
                self.everywhere(status, browser, other)

    def test_regained_behind_another_cookie(self):
        """What the row says counts also if a cookie of somebody who is not let in comes first."""
        other = self.signed_in("bob")
        self.join("acme")
        browser = self.signed_in("alice")
        self.join()
        self.at(61)
        self.assertEqual(self.ask(self.gates[0], browser), 403)
        self.join("acme")
        self.at(122)
        # The answer does not reach the browser.
        self.assertEqual(self.ask(self.gates[0], browser.copy()), 200)
        name, own = browser.session()
        for first, last in ((own, other.session()[1]), (other.session()[1], own)):
            browser.cookies = {(name, "/"): "%s; %s=%s" % (first, name, last)}
            for gate in self.gates:
                self.assertEqual(gate.ask(browser, HTTP_SEC_FETCH_MODE="cors")[0], 200)

    def test_got_and_lost(self):
        """What a cookie got at a check ends with what another one of the session is told."""
        first, second = self.gates
        self.gate.module(auth_check_interval=60, config={"email_domains": ["example.com"], **ACME})
        self.join()
        self.at(0)
        browser = self.signed_in("alice")
        without = browser.copy()
        self.join("acme")
        self.at(61)
        self.assertEqual(self.ask(first, browser), 200)
        self.join()
        self.at(122)
        self.assertEqual(self.ask(second, without.copy()), 200)
        self.everywhere(403, without, browser)

    def test_lost_while_no_list_named_it(self):
        """What a session forgets is in its older cookies still."""
        first, second = self.gates
        domain = {"email_domains": ["example.com"]}
        for name, before, then, lists in (
                ("another kind", ["acme"], ["acme"], domain),
                ("another name", ["acme", "corp", *MANY], ["acme", "corp", *MANY], {"organizations": ["corp"]}),
                ("more than a session keeps", ["acme"], ["acme", *MANY], {**domain, "organizations": ["corp"]})):
            with self.subTest(name):
                self.join(*before)
                self.gate.module(auth_check_interval=60, config=ACME)
                self.at(0)
                browser = self.signed_in("alice")
                old = browser.copy()
                self.gate.module(auth_check_interval=60, config=lists)
                self.join(*then)
                self.at(61)
                self.assertEqual(self.ask(first, browser), 200)
                self.join(*[one for one in then if one != "acme"])
                self.at(122)
                self.assertEqual(self.ask(second, browser), 200)
                # Whom a session does not know the lists of has to sign in again, or gets 403.
                for interval in (0, 86400):
                    self.gate.module(auth_check_interval=interval, config=ACME)
                    for gate in self.gates:
                        self.assertIn(self.ask(gate, old.copy()), (401, 403))

    def test_an_answer_that_others_share(self):
        """It counts for a cookie that holds more as if the provider had been asked about that."""
        lists = {"email_domains": ["example.com"], **ACME}
        self.gate.module(auth_check_interval=60, config=lists)
        self.join()
        self.at(0)
        browser = self.signed_in("alice")
        poor = browser.copy()
        self.join("acme")
        self.at(61)
        self.assertEqual(self.ask(self.gates[0], browser), 200)
        rich = browser.copy()
        self.join()
        self.at(122)
        self.gate.mock.requests.clear()
        for one in (poor, browser):
            self.assertEqual(self.ask(self.gates[0], one), 200)
        # What is new is asked for once more.
        self.assertEqual(self.gate.mock.requests.count("user"), 2)
        self.everywhere(403, poor, browser, rich)

    def test_clocks_of_hosts(self):
        """A host whose clock is ahead has not heard of a loss before it came."""
        folder = self.gate.path("clock-ahead")
        os.mkdir(folder)
        ahead = Clock(folder)
        program = self.enterContext(Program(self.gate, ("-w", "1"), ahead.env(), name="ahead"))
        self.join("acme")
        browser = self.signed_in("alice")
        old = browser.copy()
        ahead.set(START + 61)
        self.assertEqual(self.ask(program, browser), 200)
        self.join()
        self.at(60)
        self.assertEqual(self.ask(self.gates[0], old.copy()), 403)
        self.everywhere(403, old, browser)

    def test_an_answer_from_before_a_loss(self):
        """It serves nobody whose row tells another worker's, however the clocks differ and whatever list comes."""
        second = self.gates[1]
        folder = self.gate.path("clock-before")
        os.mkdir(folder)
        ahead = Clock(folder)
        first = self.enterContext(Program(self.gate, ("-w", "1"), ahead.env(), name="before"))
        for skew, lists, asked_again in ((0, ["acme", "more"], 183), (30, ["acme", "more"], 190), (30, ["acme"], 217)):
            def at(seconds):
                self.at(seconds)
                ahead.set(START + seconds + skew)
            with self.subTest((skew, lists)):
                self.gate.module(auth_check_interval=60, config=ACME)
                at(0)
                self.join("acme", *MANY)
                browser = self.signed_in("alice")
                for seconds, organizations, status in ((61, [], 403), (122, ["acme"], 200)):
                    at(seconds)
                    self.join(*organizations, *MANY)
                    self.assertEqual(self.ask(second, browser.copy()), status)
                at(183)
                self.assertEqual(self.ask(first, browser.copy()), 200)
                self.join(*MANY)
                self.assertEqual(self.ask(second, browser.copy()), 403)
                at(asked_again)
                self.gate.module(auth_check_interval=86400 if "more" in lists else 60,
                                 config={"organizations": lists})
                self.assertEqual([self.ask(gate, browser.copy()) for gate in (first, second)], [403, 403])

    def test_answers_that_cross(self):
        """Of two workers that were told something new at the same time, one asks again: no clock says which answer
        is the later one."""
        for name, early, late in (("the slow one is told before", ("acme", "corp"), ()),
                                  ("the slow one is told after", (), ("acme", "corp"))):
            for seconds in (61, 63):
                with self.subTest((name, seconds)):
                    self.gate.module(auth_check_interval=60, config=ACME)
                    self.join("acme")
                    self.at(0)
                    slow = self.signed_in("alice")
                    quick = slow.copy()
                    self.join(*early)
                    with self.asking("teams", slow) as found:
                        self.join(*late)
                        self.assertEqual(self.ask(self.gates[1], quick), 200 if late else 403)
                        self.at(seconds)
                        if late:
                            self.join()
                    self.assertEqual(found, [403])
                    self.everywhere(403, slow, quick)

    def test_an_answer_that_confirms_another(self):
        """It writes no row, and yet an older one does not replace it."""
        self.addCleanup(setattr, self.gate.mock, "padding", 0)
        for padding, had_row, late, status, fails in (
                (0, True, [], 403, False), (15000, True, [], 403, False), (0, False, [], 403, False),
                (0, False, ["acme"], 200, False), (15000, False, ["acme"], 200, False),
                (0, True, [], 403, True), (15000, False, ["acme"], 200, True)):
            with self.subTest((padding, had_row, late, fails)):
                self.gate.mock.padding = padding
                self.gate.module(auth_check_interval=60, config={"email_domains": ["example.com"], **ACME})
                self.join(*([] if had_row or not late else ["acme"]))
                self.at(-122 if had_row else 0)
                browser = self.signed_in("alice")
                for seconds, organizations in ((-61, ["acme"]), (0, [])) if had_row else ():
                    self.join(*organizations)
                    self.at(seconds)
                    self.assertEqual(self.ask(self.gates[0], browser), 200)
                self.join(*([] if late else ["acme"]))
                slow, quick = browser.copy(), browser.copy()
                with self.asking("teams", slow) as found:
                    self.join(*late)
                    self.assertEqual(self.ask(self.gates[1], quick), 200)
                    if fails:  # ... the question that confirms the older answer
                        self.gate.mock.faults["user"] = ("status", "502")
                self.assertEqual(found, [503 if fails else 200])
                if fails:
                    self.assertEqual(self.ask(self.gates[1], quick.copy()), 503)
                    self.gate.mock.faults.clear()
                    for gate in self.gates:
                        until(lambda gate=gate: self.ask(gate, slow.copy()) != 503, "the next question")
                self.everywhere(status, browser, slow, quick)

    def test_strangers_stay_strangers(self):
        """Nothing is stored of whom no list lets in at the sign-in: neither a sign-out, nor what a check tells.  So
        such a session lets nobody in, whatever lists come and whatever the provider says."""
        others = {"organizations": ["other"]}
        for name, gains in (("a list", False), ("an organization", True)):
            with self.subTest(name):
                self.gate.module(auth_check_interval=60, config=ACME if gains else others)
                self.join(*([] if gains else ["acme"]))
                self.at(0)
                browser = self.signed_in("alice")
                thief = browser.copy()
                self.assertEqual(self.ask(self.gates[0], browser), 403)
                self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
                self.join("acme")
                self.gate.module(auth_check_interval=60, config=ACME)
                for seconds in (59, 61):
                    self.at(seconds)
                    status = 403 if gains and seconds == 59 else 401
                    self.assertEqual([self.ask(gate, thief.copy()) for gate in self.gates], [status] * 2)
                self.assertEqual(self.row_of(thief), "")
                self.passes(self.gate.sign_in("alice", browser=thief)[1])
                self.everywhere(200, thief)

    def test_strangers_cookies_of_several_paths(self):
        """The newest counts, so that a sign-in always changes something: an older one neither sends the visitor
        to sign in for ever, nor hides one that a list names by now."""
        sessions = []
        for seconds, organizations in enumerate(([], ["acme"], [])):
            self.gate.module(auth_check_interval=60, config={"organizations": ["other"]})
            self.join(*organizations)
            self.at(seconds)
            sessions.append(self.signed_in("alice"))
        self.gate.module(auth_check_interval=60, config=ACME)
        self.at(60)  # the oldest is due
        self.gate.mock.revoke("alice")
        both = self.gate.browser()
        for older, newer, status in ((0, 1, 401), (1, 2, 403), (0, 2, 403)):
            name, older = sessions[older].session()
            newer = sessions[newer].session()[1]
            for first, last in ((older, newer), (newer, older)):
                both.cookies = {(name, "/"): "%s; %s=%s" % (first, name, last)}
                self.assertEqual([self.ask(gate, both.copy()) for gate in self.gates], [status] * 2)

    def test_a_loss_behind_a_strangers_cookie(self):
        """A newer cookie of a stranger, of another host maybe, hides nobody whom the provider may let in again: who
        is due, and whoever has heard something wrong that is not confirmed."""
        mock = self.gate.mock
        for name, fails in (("due", False), ("unconfirmed", True)):
            with self.subTest(name):
                self.gate.module(auth_check_interval=60, config=ACME)
                self.join("acme")
                self.at(0)
                browser = self.signed_in("alice")
                self.at(1)
                stranger = self.signed_in("bob")
                self.join()
                self.at(61)
                if fails:
                    with self.asking("teams", browser.copy()) as found:
                        mock.faults["user"] = ("status", "502")
                    self.assertEqual(found, [503])
                    mock.faults.clear()
                    self.gate.module(auth_check_interval=86400, config=ACME)
                else:
                    self.assertEqual(self.ask(self.gates[0], browser.copy()), 403)
                    self.at(122)
                self.join("acme")
                self.assertEqual(self.both(browser, stranger, worker=1), [200] * 2)

    def both(self, one, other, worker=0):
        """What a visitor gets whose cookies are those of two sessions, in either order."""
        name, first = one.session()
        browser = one.copy()
        found = []
        for values in ((first, other.session()[1]), (other.session()[1], first)):
            browser.cookies = {(name, "/"): "%s; %s=%s" % (values[0], name, values[1])}
            found.append(self.ask(self.gates[worker], browser.copy()))
        return found

    def test_tokens_behind_another_cookie(self):
        """The tokens of a session that does not count are kept, too."""
        mock = self.gate.mock
        self.addCleanup(mock.users["carol"].update, orgs=mock.users["carol"]["orgs"])
        mock.expiring = True
        self.addCleanup(setattr, mock, "expiring", False)
        mock.users["carol"]["orgs"] = [dict(self.organization, login="acme")]
        self.join("acme")
        for n_others in (1, 5):
            with self.subTest(n_others):
                self.gate.module(auth_check_interval=60, config=ACME)
                self.at(0)
                browser = self.signed_in("alice")
                self.at(1)
                others = [self.signed_in("carol") for _ in range(n_others)]
                self.gate.module(auth_check_interval=60, config={"organizations": ["other"]})
                mock.expire()
                name, own = browser.session()
                both = browser.copy()
                both.cookies = {(name, "/"): ("; %s=" % name).join([one.session()[1] for one in others] + [own])}
                for seconds, gate in zip((62, 200), self.gates):
                    self.at(seconds)
                    self.assertEqual(self.ask(gate, both.copy()), 403)
                self.gate.module(auth_check_interval=60, config=ACME)
                self.assertEqual([self.ask(gate, browser.copy()) for gate in self.gates], [200] * 2)

    def test_somebody_elses_loss(self):
        """The cookie of somebody who was let in once, of another host maybe, hides no loss that is due, no stranger
        who has signed in later and is listed by now, and sends no such stranger to sign in again and again."""
        mock = self.gate.mock
        self.addCleanup(mock.users["carol"].update, orgs=mock.users["carol"]["orgs"])
        mock.users["carol"]["orgs"] = [dict(self.organization, login="acme")]
        self.join("acme")
        self.at(0)
        browser = self.signed_in("alice")
        self.at(1)
        other = self.signed_in("carol")
        self.join()
        mock.users["carol"]["orgs"] = []
        self.at(62)
        self.assertEqual([self.ask(self.gates[0], one) for one in (browser, other)], [403] * 2)
        self.assertEqual(self.both(browser, other), [403] * 2)
        self.join("acme")
        self.at(123)
        self.assertEqual(self.both(browser, other), [200] * 2)
        self.join()
        self.at(124)
        stranger = self.signed_in("alice")
        self.join("acme")
        self.assertEqual(self.both(stranger, other), [403] * 2)
        self.at(185)
        self.assertEqual(self.both(stranger, other), [401] * 2)
        self.gate.module(auth_check_interval=3600, config={"email_addresses": ["carol@example.com"]})
        other = self.signed_in("carol")
        self.gate.module(auth_check_interval=3600, config=ACME)
        self.assertEqual(self.ask(self.gates[0], other.copy()), 401)
        self.join()
        self.at(186)
        stranger = self.signed_in("alice")
        self.assertEqual(self.both(stranger, other), [403] * 2)

    def test_tokens_that_no_row_takes(self):
        """The worker that has got them has the only ones."""
        mock = self.gate.mock
        mock.expiring = True
        self.addCleanup(setattr, mock, "expiring", False)
        self.join("acme")
        for fails in (False, True):
            with self.subTest(fails=fails):
                self.at(0)
                browser = self.signed_in("alice")
                old = browser.copy()
                mock.expire("alice")
                self.refuse_rows()
                if fails:
                    mock.faults["teams"] = ("status", "502")
                self.at(61)
                self.assertEqual(self.ask(self.gates[0], browser), 503 if fails else 200)
                mock.faults.clear()
                self.stack.psql("DROP FUNCTION public.refuse() CASCADE")
                self.at(500)
                until(lambda: self.ask(self.gates[0], old) != 503, "the next question")
                self.assertEqual([self.ask(gate, old.copy()) for gate in self.gates], [200] * 2)

    def test_a_session_that_outgrows_its_cookie(self):
        """All requests of a page make its row at once, and pass."""
        mock = self.gate.mock
        self.addCleanup(setattr, mock, "data", mock.data)
        mock.data = copy.deepcopy(mock.data)
        mock.data["refresh"]["rotates"] = False
        self.addCleanup(mock.__dict__.update, expiring=mock.expiring, padding=mock.padding)
        mock.expiring = True
        self.join("acme")
        browser = self.signed_in("alice")
        mock.expire("alice")
        mock.padding = 15000
        mock.faults["teams"] = ("slow", "0.3")
        self.at(61)
        self.assertEqual(in_threads(12, lambda n: self.ask(self.gates[n % 2], browser.copy())), [200] * 12)
        self.everywhere(200, browser)

    def renew_at_two_workers(self):
        """Both get new tokens for a session with a row, one of them while the other waits for its own.  The refresh
        token stays.  Returns the browser of the quick one, and what the slow one answered."""
        mock = self.gate.mock
        self.addCleanup(mock.__dict__.update, data=mock.data, expiring=mock.expiring)
        mock.data = copy.deepcopy(mock.data)
        mock.data["refresh"]["rotates"] = False
        mock.expiring = True
        self.join("acme")
        self.at(-61)
        slow = self.signed_in("alice")
        self.join("acme", "more")
        self.at(0)
        self.assertEqual(self.ask(self.gates[0], slow), 200)
        quick = slow.copy()
        mock.expire("alice")
        with self.asking("token", slow) as found:
            self.assertEqual(self.ask(self.gates[1], quick), 200)
        return quick, found

    def test_tokens_of_two_workers(self):
        """Both have got some at the same time: the row has those that count, and each check asks once."""
        mock = self.gate.mock
        quick, found = self.renew_at_two_workers()
        self.at(122)
        row = self.row_of(quick)
        mock.requests.clear()
        self.assertEqual(found + [self.ask(self.gates[1], quick)], [200] * 2)
        self.assertEqual((mock.requests.count("user"), self.row_of(quick)), (1, row))

    def test_a_refresh_token_is_used_once(self):
        """A worker that has asked with a token that has ended looks whether another one has got new ones meanwhile."""
        mock = self.gate.mock
        mock.expiring = True
        self.addCleanup(setattr, mock, "expiring", False)
        self.join("acme")
        slow = self.signed_in("alice")
        quick = slow.copy()
        mock.expire("alice")
        with self.asking("user", slow) as found:
            self.assertEqual(self.ask(self.gates[1], quick), 200)
        self.assertEqual((found, mock.requests.count("token")), ([200], 1))
        self.everywhere(200, slow, quick)

    def test_a_provider_that_keeps_one_token(self):
        """One that another worker's question has ended tells nothing of the visitor."""
        mock = self.gate.mock
        mock.keeps_one = True
        self.addCleanup(setattr, mock, "keeps_one", False)
        quick, found = self.renew_at_two_workers()
        self.assertEqual(found, [200])
        self.everywhere(200, quick)

    def test_a_page_that_is_told_something_new(self):
        """A request that has read what is not confirmed yet waits for that, and asks nobody."""
        mock = self.gate.mock
        self.join("acme")
        browser = self.signed_in("alice")
        self.join("acme", "more")
        found = []
        with self.asking("teams", browser.copy()) as first:
            mock.faults["user"] = ("slow", "0.5")
        # The question that confirms it has ended: nobody else asks.
        self.assertEqual((first, mock.requests.count("user")), ([200], 2))
        self.join("acme")
        self.at(122)
        mock.requests.clear()
        threads = [threading.Thread(target=lambda: found.append(self.ask(self.gates[0], browser.copy())))
                   for _ in range(2)]
        threads[0].start()
        until(lambda: mock.requests.count("user") == 2, "the question that confirms it")
        threads[1].start()
        for thread in threads:
            thread.join()
        self.assertEqual((found, mock.requests.count("user")), ([200] * 2, 2))

    def test_lists_in_another_order(self):
        """They tell nothing new."""
        names = ["acme", *"abcde"]
        self.join(*names)
        browser = self.signed_in("alice")
        row = None
        for n in range(1, 5):
            names.reverse()
            self.join("more", *names)
            self.at(61 * n)
            self.gate.mock.requests.clear()
            self.assertEqual(self.ask(self.gates[n % 2], browser), 200)
            self.assertEqual(self.gate.mock.requests.count("user"), 1 if row else 2)
            row = row or self.row_of(browser)
        self.assertEqual(self.row_of(browser), row)

    def test_an_end_that_is_not_stored(self):
        """Whom the provider does not know any more is not sent to sign in before all cookies have ended."""
        browser = self.signed_in("alice")
        old = browser.copy()
        self.refuse_rows()
        self.gate.mock.revoke("alice")
        self.at(61)
        self.assertEqual([self.ask(gate, browser.copy()) for gate in self.gates], [503] * 2)
        self.stack.psql("DROP FUNCTION public.refuse() CASCADE")
        until(lambda: self.ask(self.gates[0], browser) == 401, "the end")
        self.gate.module(auth_check_interval=0, config=ACME)
        self.assertEqual([self.ask(gate, old.copy()) for gate in self.gates], [401] * 2)

    def refuse_rows(self):
        self.stack.psql("CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS"
                        " 'BEGIN RAISE EXCEPTION ''full''; END'; CREATE TRIGGER refuse BEFORE INSERT OR UPDATE"
                        " ON adit.gate_session EXECUTE FUNCTION public.refuse()")
        self.addCleanup(self.stack.psql, "DROP FUNCTION IF EXISTS public.refuse() CASCADE")

    def row_of(self, browser):
        """Which row there is, and which change of it."""
        return self.stack.psql("SELECT xmin FROM adit.gate_session WHERE id = '%s'" %
                               browser.session()[1][:22])

    def test_rows_are_written_for_news_only(self):
        """Whoever has got and lost nothing has none, however often the module checks."""
        first, second = self.gates
        self.join("acme", "more")
        browser = self.signed_in("alice")
        for n, gate in enumerate((first, second, second), 1):
            self.at(61 * n)
            self.assertEqual(self.ask(gate, browser), 200)
        for interval in (0, 86400):
            self.gate.module(auth_check_interval=interval, config={"organizations": ["acme", "more"]})
            self.assertEqual([self.ask(gate, browser) for gate in self.gates], [200] * 2)
        self.assertEqual(self.row_of(browser), "")
        self.gate.module(auth_check_interval=60, config=ACME)
        self.join("acme")
        self.at(300)
        self.assertEqual(self.ask(first, browser), 200)
        row = self.row_of(browser)
        self.assertNotEqual(row, "")
        for seconds in (361, 422):
            self.at(seconds)
            self.assertEqual([self.ask(gate, browser.copy()) for gate in self.gates], [200] * 2)
        self.assertEqual(self.row_of(browser), row)

    def test_sign_out_beside_an_unreadable_row(self):
        name, value = self.signed_in("bob").session()
        self.stack.psql("INSERT INTO adit.gate_session (id, key_id, sealed, ends_at) VALUES ('%s', 'gone',"
                        " decode(repeat('00', 200), 'hex'), now() + interval '30 days')" % value[:22])
        own = self.signed_in("alice")
        both = own.copy()
        both.cookies = {(name, "/_adit/"): value, **own.cookies}
        self.shows(both.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.is_sent_to_provider(own.ask())
