# SPDX-License-Identifier: MIT
"""adit-gate behind nginx, with accounts on three nodes of Citus: whom it lets pass, through a move of
an account, and while a node is lost."""
import re
import threading
import time

from adit import stack
from adit.case import Case, until
from adit.citus import MOVE, Citus
from adit.gate import ELSEWHERE, HOST, ROUTES, Gate

# An answer that waited for a lost node takes longer, also on a busy machine.
QUICK_S = 2

# How often the gate deletes rows of sessions that have ended.
PURGE_S = 600

# 302 to the page itself: the check failed, but the gate knew again when nginx asked for the page.
AGAIN = "/"


class Visits:
    """Requests of a browser, one after the other, until it ends."""

    def __init__(self, browser):
        self.browser = browser
        self.seen = []  # (when, seconds, status)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()

    def _run(self):
        while not self._ends.is_set():
            began = time.monotonic()
            answer = self.browser.copy().ask("/")
            self.seen.append((began, time.monotonic() - began,
                              AGAIN if answer.location == "/" else answer.status))
            time.sleep(0.005)

    def statuses(self, since=0, before=float("inf")):
        return {status for began, _, status in self.seen if since <= began < before}

    def slow(self):
        return [one for one in self.seen if one[1] > QUICK_S]


class GateOnNodes(Case):
    """The route of HOST is of an account on one worker, and the one of ELSEWHERE on the other."""

    stack_name = "citus_gate"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not shared.citus:
            shared.citus = Citus()
            shared.citus.attach(shared)
        cls.citus = shared.citus
        super().setUpClass()
        cls.gate = cls.make_gate(shared)
        cls.addClassCleanup(cls.gate.remove)

    @classmethod
    def make_gate(cls, shared):
        """Its first account is on the first worker, and its second one on the second."""
        workers = iter(cls.citus.workers)

        def account(name):
            return cls.citus.account_on(next(workers), lambda: type(shared).account(shared, name))

        shared.account = account
        try:
            return Gate(shared)
        finally:
            del shared.account

    def setUp(self):
        super().setUp()
        for host in ROUTES:
            self.gate.delete(host)

    def signed_in(self, user="alice", host=HOST):
        # A long token needs a row.
        self.gate.mock.padding = 8000 if user == "carol" else 0
        return self.gate.sign_in(user, browser=self.gate.browser(host))[0]

    def status(self, browser):
        return browser.copy().ask().status


class Decisions(GateOnNodes):
    def test_right_after_each_change(self):
        """Whichever node the writer asks."""
        self.addCleanup(self.citus.attach, self.stack)
        for node in self.citus.nodes:
            self.citus.attach(self.stack, node)
            for host in HOST, ELSEWHERE:
                with self.subTest("%s by %s" % (host, node.port)):
                    self.assertEqual(self.status(self.gate.browser(host)), 200)
                    self.gate.module(host)
                    self.assertEqual(self.status(self.gate.browser(host)), 302)
                    browser = self.signed_in(host=host)
                    self.assertEqual(self.status(browser), 200)
                    self.gate.module(host, config={"email_addresses": ["bob@example.com"]})
                    self.assertEqual(self.status(browser), 403)
                    self.gate.module(host)
                    self.assertEqual(self.status(browser), 200)
                    self.gate.delete(host)
                    self.assertEqual(self.status(self.gate.browser(host)), 200)

    def test_sessions_with_a_row(self):
        for host in HOST, ELSEWHERE:
            with self.subTest(host):
                self.gate.module(host, auth_check_interval=3600, config={"teams": ["globex/team-230"]})
                browser = self.signed_in("carol", host)
                account = self.gate.other_account if host == ELSEWHERE else self.gate.account
                self.assertEqual(self.stack.psql(
                    "SELECT count(*) FROM adit.gate_session WHERE account_id = '%s'"
                    " AND sealed IS NOT NULL" % account.id), "1")
                self.assertEqual(self.status(browser), 200)
                copied = browser.copy()
                self.assertEqual(browser.ask("/_adit/logout", "POST", body=b"").status, 200)
                self.assertEqual(self.status(copied), 302)

    def test_every_statement_is_one_task(self):
        self.citus.explain()
        self.addCleanup(self.restart_gate)
        self.addCleanup(self.citus.explain, False)
        self.restart_gate()
        place = self.citus.log_end()
        self.gate.module(auth_check_interval=3600, config={"teams": ["globex/team-230"]})
        browser = self.signed_in("carol")
        for _ in range(8):  # PostgreSQL may make a generic plan from the sixth time on
            self.assertEqual(self.status(browser), 200)
        # Several sessions in one question.
        twice = browser.copy()
        name, value = browser.session()
        twice.cookies[(name, "/")] = "%s; %s=%s" % (value, name, self.signed_in().session()[1])
        self.assertEqual(self.status(twice), 200)
        browser.ask("/_adit/logout", "POST", body=b"")
        plans = self.citus.plans(place)
        for part in ("LEFT JOIN adit.gate_session AS s ON s.account_id = $1 AND s.id = $4",
                     "s.id = ANY", "client_secret_sealed FROM adit.oauth_module",
                     "INTO adit.gate_session AS s", "INTO adit.gate_session (id"):
            self.assertTrue(any(part in sql for sql, _ in plans), part)
        for sql, plan in plans:
            if "gate_session" in sql or "oauth_module" in sql:
                with self.subTest(sql[:90]):
                    self.assertEqual(re.findall(r"Task Count: (\d+)", plan), ["1"], sql + plan)

    def test_rows_that_have_ended_go_in_pages(self):
        """1000 each second: all at once might take longer than a statement may."""
        made = ("INSERT INTO adit.gate_session (account_id, id, ends_at)"
                " SELECT '%s', lpad(i::text, 22, '%s'), now() %s interval '1 hour'"
                " FROM generate_series(1, %d) AS i")
        self.stack.psql("DELETE FROM adit.gate_session")
        self.addCleanup(self.stack.psql, "DELETE FROM adit.gate_session")
        self.stack.psql(made % (self.gate.account.id, "a", "-", 1400))
        self.stack.psql(made % (self.gate.other_account.id, "a", "-", 1100))
        self.stack.psql(made % (self.gate.account.id, "b", "+", 30))
        self.gate.module()
        self.addCleanup(self.gate.start_gate)
        self.addCleanup(self.gate.clock.go_ahead, 0)
        self.addCleanup(self.gate.stop_gate)
        self.gate.clock.go_ahead(PURGE_S)
        counts = []

        def is_done():
            counts.append(int(self.stack.psql("SELECT count(*) FROM adit.gate_session")))
            return counts[-1] == 30
        # The worker whose duty it is sleeps until a request comes.
        with Visits(self.gate.browser()), Visits(self.gate.browser()), Visits(self.gate.browser()):
            until(is_done, "only sessions that go on")
        # The first page may be gone before anybody looks.
        seen = sorted(set(counts) - {2530}, reverse=True)
        self.assertEqual(seen, [1530, 530, 30])

    def restart_gate(self):
        self.gate.stop_gate()
        self.gate.start_gate()

    def test_doctor(self):
        self.gate.module(config={"organizations": ["acme"]})
        # A row that a purge has missed.
        self.stack.psql("INSERT INTO adit.gate_session (account_id, id, ends_at) VALUES"
                        " ('%s', '%s', now() - interval '2 hours')" % (self.gate.account.id, "A" * 22))
        self.addCleanup(self.stack.psql, "DELETE FROM adit.gate_session")
        done = self.stack.ctl_run("doctor", "--socket", self.gate.socket, conf=self.gate.conf)
        lines = [tuple(line.split(None, 2)) for line in done.stdout.splitlines()]
        found = {what: (verdict, text) for verdict, what, text in lines}
        self.assertEqual(done.stderr, "")
        self.assertEqual([line for line in lines if line[0] == "trouble"],
                         [line for line in lines if line[1] == "visitors"], lines)
        self.assertEqual(found["gate"][0], "ok")
        self.assertEqual(found["gate-role"],
                         ("ok", "the gate's role has the rights that it needs"))
        self.assertNotIn("which it does not need", done.stdout)
        self.assertEqual(found["routes"], ("ok", "looked at 1 module"))

    def test_no_account(self):
        """Nothing finds the only account there is: that would ask all nodes."""
        conf = self.gate.write("no-account.conf", self.gate.make_conf(account=""))
        self.assertNotIn(self.gate.account.id, conf)
        done = self.stack.ctl_run("doctor", "--socket", self.gate.socket, conf=conf)
        self.assertIn("each web server's configuration must name one", done.stdout)


class Moves(GateOnNodes):
    def test_while_visitors_come(self):
        self.gate.module(auth_check_interval=3600, config={"teams": ["globex/team-230"]})
        self.gate.module(ELSEWHERE)
        account = self.gate.account.id
        refused = self.signed_in("carol")
        refused_copy = refused.copy()
        refused.ask("/_adit/logout", "POST", body=b"")
        with Visits(self.signed_in("carol")) as here, \
                Visits(self.signed_in(host=ELSEWHERE)) as elsewhere, \
                Visits(refused_copy) as out:
            for _ in range(2):
                there = self.citus.node_of(account)
                other = next(node for node in self.citus.workers if node is not there)
                time.sleep(0.3)
                self.citus.psql(self.citus.coordinator, MOVE % (account, there.port, other.port))
                time.sleep(0.3)
                self.assertIs(self.citus.node_of(account), other)
        self.assertEqual((here.statuses(), elsewhere.statuses(), out.statuses()),
                         ({200}, {200}, {302}))


class LostNode(GateOnNodes):
    def lose(self, lose, find):
        self.gate.module()
        self.gate.module(ELSEWHERE, auth_check_interval=3600, config={"teams": ["globex/team-230"]})
        visitor = self.signed_in()
        out = self.signed_in()
        out.copy().ask("/_adit/logout", "POST", body=b"")
        with Visits(visitor) as here, Visits(self.signed_in("carol", ELSEWHERE)) as elsewhere, \
                Visits(out) as signed_out:
            time.sleep(0.5)
            lost = time.monotonic()
            lose()
            try:
                until(lambda: here.statuses(lost) & {503}, "the loss")
                # Signing in and out writes rows.
                for _ in range(3):
                    another = self.signed_in("carol", ELSEWHERE)
                    copied = another.copy()
                    self.assertEqual(self.status(another), 200)
                    self.assertEqual(another.ask("/_adit/logout", "POST", body=b"").status, 200)
                    self.assertEqual(self.status(copied), 302)
            finally:
                find()
            # Each worker of the gate tries the node again by itself.
            until(lambda: here.statuses(time.monotonic() - 1) == {200},
                  "the account, from each worker")
        self.assertEqual(elsewhere.statuses(), {200})
        self.assertEqual(elsewhere.slow(), [])
        self.assertLessEqual(here.statuses(), {200, 503, AGAIN})
        self.assertLessEqual(signed_out.statuses(), {302, 503})

    def test_killed(self):
        node = self.citus.node_of(self.gate.account.id)
        self.lose(node.kill, node.start)

    def test_frozen(self):
        node = self.citus.node_of(self.gate.account.id)
        self.lose(node.freeze, node.thaw)
