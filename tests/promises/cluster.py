# SPDX-License-Identifier: MIT
"""Cluster.

The cluster of install/cluster.md, set up word for word on six copies of the machine: three database
nodes with Patroni and etcd, two web hosts and a balancer.  Clients write 200 times a second through
the balancer while a part fails.  These tests run with `--long` only.
"There is a leader" is the moment when a node's Patroni says so.
"""
import http.client
import ssl
import time

import ledger
from adit.case import until
from adit.patroni import ADDRESSES, NODES, Cluster
from promise import PromiseCase, only_long, scaled

NEEDS_ROOT = True

BACK_S = 3

# A request that began before may wait 4 s for its answer, and those behind it are refused.
GOOD_S = 6

# Errors of the balancer and of nginx, when a web host or a worker is lost.
ALLOWED = ledger.REFUSED + ledger.UNKNOWN + (9059,)

N_ROUNDS = 20


def says_primary(name):
    """Whether the Patroni of a node says that it is the leader."""
    there = http.client.HTTPSConnection(ADDRESSES[name], 8008, timeout=1,
                                        context=ssl._create_unverified_context())
    try:
        there.request("GET", "/primary")
        return there.getresponse().status == 200
    except OSError:
        return False
    finally:
        there.close()


class Promise(PromiseCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.set_up()

    def setUp(self):
        self.cluster.wait_until_whole()
        until(self.cluster.is_ready, "the balancer answers")

    # ---- faults of a node ----

    def lose(self, name):
        """A machine without power: it sends nothing any more, and all its programs are killed."""
        self.cluster.lan.cut(name)
        self.cluster.kill(name, "postgres", "patroni", "etcd")
        self.cluster.on(name, "systemctl stop patroni etcd", check=False)

    def find(self, name):
        self.cluster.lan.join(name)
        self.cluster.on(name, "systemctl start --no-block etcd patroni")

    # ---- rounds ----

    def one_round(self, take_away, put_back):
        """Returns the writers, what their ledger says, the fault's moment and the leader's."""
        old = self.cluster.leader()
        with ledger.Writers(self.cluster) as writers:
            broken = time.monotonic()
            take_away(old)
            until(lambda: any(says_primary(name) for name in NODES if name != old), "a leader")
            there = time.monotonic()
            writers.go_on(GOOD_S + 1)
            put_back(old)
            writers.go_on(1)
        self.cluster.wait_until_whole(but=old)
        return writers, writers.compare(), broken, there

    def judge(self, rounds):
        self.figure("rounds", len(rounds), at_least=1)
        self.figure("acknowledged writes", sum(one[0].ledger.n_acknowledged for one in rounds),
                    "writes", at_least=100)
        self.figure("until there is a leader", max(there - broken for *_, broken, there in rounds),
                    "s", at_most=60)
        self.figure("first 2xx after that",
                    max(writers.first_good_after(there) for writers, _, _, there in rounds), "s",
                    at_most=BACK_S)
        late = sum((writers.bad_begun_after(there + GOOD_S) for writers, _, _, there in rounds), [])
        self.figure("errors %d s after that" % GOOD_S, len(late), "requests", exactly=0,
                    why=late[:3])
        wrong = sum((one[0].not_of_contract(ALLOWED) for one in rounds), [])
        self.figure("answers that break the contract", len(wrong), "requests", exactly=0,
                    why=wrong[:3])
        self.judge_ledger([one[1] for one in rounds])

    def judge_ledger(self, compared):
        for number, what in enumerate(("acknowledged but lost", "stored twice",
                                       "refused but stored")):
            found = sum((one[number] for one in compared), [])
            self.figure(what, len(found), "writes", exactly=0, why=found[:3])

    def test_leader_lost(self):
        """The leader's machine is lost in each of these ways in turn: it loses its power, or it is cut
        off from all others."""
        lan = self.cluster.lan
        ways = ((self.lose, self.find), (lan.cut, lan.join))
        self.judge([self.one_round(*ways[i % len(ways)]) for i in range(scaled(1, N_ROUNDS))])

    def test_switch_over(self):
        """The leader is changed on purpose, as the page says."""
        [script] = self.cluster.chapters["Switch over"]
        self.judge([self.one_round(lambda old: self.cluster.on(old, script), lambda _: None)
                    for _ in range(scaled(1, 5))])

    def steady(self, take_away, put_back, seconds):
        """Something fails that changes no leader.  Returns the writers and their ledger."""
        with ledger.Writers(self.cluster) as writers:
            take_away()
            writers.go_on(seconds)
            put_back()
            writers.go_on(2)
        self.cluster.wait_until_whole()
        return writers, writers.compare()

    def judge_steady(self, writers, compared, longest_s):
        times = sorted(result.end for result in writers.good())
        self.figure("acknowledged writes", writers.ledger.n_acknowledged, "writes", at_least=100)
        self.figure("longest time without a 2xx", max(b - a for a, b in zip(times, times[1:])), "s",
                    at_most=longest_s)
        wrong = writers.not_of_contract(ALLOWED)
        self.figure("answers that break the contract", len(wrong), "requests", exactly=0,
                    why=wrong[:3])
        self.judge_ledger([compared])

    def test_web_host_lost(self):
        """A web host loses its power, and comes back."""
        def lose():
            self.cluster.lan.cut("web-1")
        self.judge_steady(*self.steady(lose, lambda: self.cluster.lan.join("web-1"), 6), 3)

    @only_long
    def test_etcd_majority_lost(self):
        """Two of the three etcd stop, and start again after 30 s."""
        leader = self.cluster.leader()
        names = [name for name in NODES if name != leader]

        def every(verb):
            for name in names:
                self.cluster.on(name, "systemctl %s --no-block etcd" % verb)
        self.judge_steady(*self.steady(lambda: every("stop"), lambda: every("start"), 30), 10)
