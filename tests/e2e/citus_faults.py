# SPDX-License-Identifier: MIT
"""What a node of Citus that is lost takes with it: one that is killed, one that is frozen, and one whose
packets are dropped, each under load.

Times depend on the machine, which may be busy.  So a stack with one PostgreSQL is under load too, and
tells how busy the machine is at each moment.
"""
import contextlib
import subprocess
import time

from adit import samples, stack
from adit.case import until
from citus_nodes import CREDENTIALS, Load, Nodes

NEEDS_ROOT = True  # to drop packets

CALM_S, FAULT_S, AFTER_S = 2, 6, 1
QUICK_S, BACK_S = 0.1, 1
# What takes a while takes longer by this many of the requests to one PostgreSQL at that time.
BUSY = 5
# What a statement may take, and then the end of its session (src/pg/README.md).
LONGEST_S = 4 + 0.7
# Until all lanes have another entry node: 2 s more for the host that does not let them in.
FIND_S = LONGEST_S + 2

DROP = """
table inet %(table)s {
    chain input {
        type filter hook input priority 0
        tcp dport %(port)d drop
        tcp sport %(port)d drop
    }
}
"""


@contextlib.contextmanager
def killed(node):
    node.kill()
    try:
        yield
    finally:
        node.start()


@contextlib.contextmanager
def frozen(node):
    node.freeze()
    try:
        yield
    finally:
        node.thaw()


@contextlib.contextmanager
def cut_off(node):
    """No packet reaches the node or comes from it.  Its socket in the file system is there."""
    table = "adit_test_%d" % node.port

    def nft(commands):
        subprocess.run(["nft", "-f", "-"], input=commands, text=True, check=True)
    nft(DROP % {"table": table, "port": node.port})
    try:
        yield
    finally:
        nft("delete table inet %s\n" % table)


class Faults(Nodes):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.here, cls.elsewhere = cls.accounts
        cls.node = cls.citus.node_of(cls.here.id)
        cls.plain = stack.get("plain").account()

    def of(self, account):
        return account.stack.client(account.admin.key)

    def fault(self, fault, node, n_each=1, fault_s=FAULT_S):
        """Puts accounts of both nodes under load before, during and after a fault of a node.  Notes when
        the fault began and ended."""
        with Load(self, [self.here, self.elsewhere, self.plain], n_each) as load:
            time.sleep(CALM_S)
            self.began = time.monotonic()
            with fault(node):
                time.sleep(fault_s)
            self.ended = time.monotonic()
            until(lambda: load.statuses(self.here, self.ended) & {201}, "writes are back")
            until(lambda: time.monotonic() > self.ended + self.back_s(load) + AFTER_S, "a while passes")
        self.assertEqual(load.wrong, [])
        self.assertEqual(load.statuses(self.plain), {200, 201})
        for account in self.accounts:
            self.assertLessEqual(load.statuses(account), {200, 201, 503})
            ids = {item["id"] for item in self.all_of(self.of(account))}
            self.assertLessEqual(set(load.made[account.id]), ids)
        return load

    def busy_s(self, load, since, end):
        """The longest that a request to one PostgreSQL took meanwhile."""
        return max([one[1] for one in load.answers[self.plain.id]
                    if one[0] < end and one[0] + one[1] > since], default=0)

    def slow(self, load, account, quick_s):
        """The requests that took longer.  One to Citus takes some times as long as one to PostgreSQL, and
        longer on a busy machine."""
        return [one for one in load.between(account, self.began - CALM_S / 2)
                if one[1] > quick_s + BUSY * self.busy_s(load, one[0], one[0] + one[1])]

    def back_s(self, load):
        return BACK_S + BUSY * self.busy_s(load, self.ended, self.ended + BACK_S)

    def assert_lost(self, load, longest_s=LONGEST_S):
        """The node's accounts get 503 in time, and are back by themselves."""
        lost = load.between(self.here, self.began, self.ended)
        self.assertIn(503, {one[3] for one in lost})
        for one in lost:
            self.assertLess(one[1], longest_s + QUICK_S + BUSY * self.busy_s(
                load, one[0], one[0] + one[1]), one)
        self.assertEqual(load.statuses(self.here, self.ended + self.back_s(load)), {200, 201})

    def assert_others_go_on(self, load):
        self.assertEqual(load.statuses(self.elsewhere), {200, 201})
        calm = len(load.between(self.elsewhere, self.began - CALM_S / 2, self.began)) / (CALM_S / 2)
        during = len(load.between(self.elsewhere, self.began, self.ended)) / (
            self.ended - self.began)
        self.assertGreater(during, calm / 4)


class LostWorker(Faults):
    def test_killed(self):
        load = self.fault(killed, self.node)
        self.assert_lost(load)
        self.assert_others_go_on(load)
        self.assertLessEqual(len(self.slow(load, self.elsewhere, QUICK_S)), 1)

    # More clients than there are lanes: all of them would wait for the node.

    def test_frozen(self):
        load = self.fault(frozen, self.node, self.stack.n_at_once() + 2)
        self.assert_lost(load)
        self.assert_others_go_on(load)

    def test_cut_off(self):
        load = self.fault(cut_off, self.node, self.stack.n_at_once() + 2)
        self.assert_lost(load)
        self.assert_others_go_on(load)

    def test_what_waits_on_the_entry_node(self):
        """Citus cannot cancel what it sent to a frozen node.  Few sessions wait for it there."""
        def sessions():
            return int(self.citus.psql(
                self.citus.coordinator,
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'adit'"))
        found = []

        @contextlib.contextmanager
        def watched(node):
            with frozen(node):
                yield
                found.append(sessions())
        self.fault(watched, self.node, self.stack.n_at_once())
        # Each lane has one that waits, and a new one.
        self.assertLessEqual(found[0], 2 * (self.stack.n_at_once() + self.stack.n_workers()))
        until(lambda: sessions() <= self.stack.n_at_once() + self.stack.n_workers(), "they have ended")


class LostEntryNode(Faults):
    """The first node that conninfo names."""

    def setUp(self):
        self.citus.attach(self.stack, self.node, self.citus.coordinator)
        self.addCleanup(self.citus.attach, self.stack)

    def test_killed(self):
        load = self.fault(killed, self.node)
        self.assert_lost(load)
        # A statement that waited on the node gets 503, and a lane pauses after a failed attempt.
        self.assertEqual(load.statuses(self.elsewhere, self.began + self.back_s(load)), {200, 201})

    def test_frozen(self):
        load = self.fault(frozen, self.node, self.stack.n_at_once(), 3 + FIND_S)
        self.assert_lost(load, 2 * LONGEST_S)  # all lanes wait, and then other requests for the lanes
        self.assertEqual(load.statuses(self.elsewhere, self.began + FIND_S + self.back_s(load)),
                         {200, 201})


class LostCoordinator(Faults):
    """With a worker as the entry node, requests do not need the coordinator."""

    def setUp(self):
        self.citus.attach(self.stack, self.node)
        self.addCleanup(self.citus.attach, self.stack)

    def assert_nothing_lost(self, load):
        for account in self.accounts:
            self.assertEqual(load.statuses(account), {200, 201})
            self.assertLessEqual(len(self.slow(load, account, QUICK_S)), 1)

    def test_killed(self):
        self.assert_nothing_lost(self.fault(killed, self.citus.coordinator))

    def test_frozen(self):
        self.assert_nothing_lost(self.fault(frozen, self.citus.coordinator))


class Revocation(Faults):
    def test_while_any_other_node_is_down(self):
        """The responder and aditctl ask the first node that lets them in."""
        nodes = self.citus.nodes
        self.addCleanup(self.citus.attach, self.stack)
        self.citus.attach(self.stack, *nodes)
        self.stack.set_conf("database", "admin_conninfo",
                            self.citus.conninfo(*nodes) + " user=postgres")
        self.stack.restart()
        for fault in killed, frozen:
            for node in nodes:
                account = self.elsewhere if node is self.node else self.here
                with self.subTest("%s %s" % (fault.__name__, node.port)):
                    key = account.admin.issue()
                    ident = self.stack.ctl("key", "list", "--for",
                                           account.admin.id).splitlines()[-1].split("\t")[0]
                    client = self.stack.client(key)
                    self.assert_ok(client.post(CREDENTIALS, samples.credential()), 201)
                    with fault(node):
                        self.stack.ctl("key", "revoke", ident, "--account", account.id)
                        answer = until(lambda: self.refusal(client), "the key is refused")
                        self.assert_error(answer, 203)
                    self.assert_error(client.get(CREDENTIALS), 203)

    def refusal(self, client):
        """Returns the answer to a key, unless it is 503: the entry node may be the one that is down."""
        answer = client.get(CREDENTIALS)
        return answer if answer.status != 503 else None
