# SPDX-License-Identifier: MIT
"""Cluster.

The cluster of install/cluster.md, set up word for word on six copies of the machine: three database
nodes with Patroni and etcd, two web hosts with a gateway each, and a balancer.  Clients write 200
times a second through the balancer while a part fails.  These tests run with `--long` only.
"There is a leader" is the moment when a node's Patroni says so.  A decision is wrong if somebody
permits a key after its deletion was acknowledged: one of the two gateways, or POST /ssh_decisions of
a web host or of the balancer.  A follower reads adit.changes() on a web host.  After the fault it must
know exactly the credentials that there are.
"""
import collections
import contextlib
import http.client
import ssl
import time
import unittest

import ledger
from adit.case import until
from adit.client import Client
from adit.patroni import ADDRESSES, HOSTS, NODES, Cluster
from cluster_clients import Deciders, Follower, Readers
from promise import PromiseCase, only_long, scaled

NEEDS_ROOT = True

BACK_S = 3

# A request that began before may wait 4 s for its answer, and those behind it are refused.
GOOD_S = 6

# Errors of the balancer and of nginx, when a web host or a worker is lost.
ALLOWED = ledger.REFUSED + ledger.UNKNOWN + (9059,)

N_ROUNDS = 20

MIGRATION = "ALTER TABLE adit.ssh_credential %s; ALTER TABLE adit.oauth_module %s;"


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


class Side:
    """What ledger.Writers needs of a stack, with a web host in place of the balancer."""

    def __init__(self, cluster, name):
        self.home, self.psql = cluster.home, cluster.psql
        self._name = name

    def client(self, key):
        return Client(ADDRESSES[self._name], 880, key)


class Round:
    """What clients saw while the leader changed."""

    def __init__(self, writers, deciders, broken, there):
        self.writers, self.deciders = writers, deciders
        self.broken, self.there = broken, there
        self.compared, self.wrong_rules = [], set()


_shared = []


def setUpModule():
    cluster = Cluster()
    try:
        cluster.set_up()
    except BaseException:  # also SystemExit, for which unittest cleans nothing up
        cluster.close()
        raise
    unittest.addModuleCleanup(cluster.close)
    _shared[:] = [cluster]


class ClusterCase(PromiseCase):
    def setUp(self):
        [self.cluster] = _shared
        self.cluster.wait_until_whole()
        until(self.cluster.is_ready, "the balancer answers")

    def lose_power(self, name):
        """A machine without power: it sends nothing any more, and all its programs are killed."""
        self.cluster.lan.cut(name)
        self.cluster.kill(name, "postgres", "patroni", "etcd")
        self.cluster.on(name, "systemctl stop patroni etcd", check=False)

    def get_power(self, name):
        self.cluster.lan.join(name)
        self.cluster.on(name, "systemctl start --no-block etcd patroni")

    def judge_ledger(self, compared):
        for number, what in enumerate(("acknowledged but lost", "stored twice",
                                       "refused but stored")):
            found = sum((one[number] for one in compared), [])
            self.figure(what, len(found), "writes", exactly=0, why=found[:3])

    def judge_contract(self, writers):
        wrong = sum((one.not_of_contract(ALLOWED) for one in writers), [])
        self.figure("answers that break the contract", len(wrong), "requests", exactly=0,
                    why=wrong[:3])


class LeaderChanges(ClusterCase):
    # ---- faults of the leader ----

    def kill(self, name):
        self.cluster.on(name, "systemctl kill --kill-whom=all -s KILL patroni; systemctl stop patroni")
        self.cluster.kill(name, "postgres")

    def start(self, name):
        self.cluster.on(name, "systemctl start --no-block patroni")

    def freeze(self, name):
        self.cluster.machines[name].freeze()

    def thaw(self, name):
        self.cluster.machines[name].freeze(False)

    def mute(self, name):
        self.cluster.block(name, sends="drop")

    def deafen(self, name):
        self.cluster.block(name, takes="drop")

    def split(self, name):
        """The leader and a web host on one side, all others on the other one."""
        for one in (name, HOSTS[0]):
            self.cluster.part(one, [other for other in ADDRESSES if other not in (name, HOSTS[0])])

    def unsplit(self, name):
        for one in (name, HOSTS[0]):
            self.cluster.unblock(one)

    # ---- rounds ----

    def one_round(self, take_away, put_back, side=None):
        """Some clients also write through a web host of their own, the side."""
        old = self.cluster.leader()
        with contextlib.ExitStack() as stack:
            follower = stack.enter_context(Follower(self.cluster, "web-2"))
            all_writers = [stack.enter_context(ledger.Writers(self.cluster))]
            if side:
                all_writers.append(stack.enter_context(
                    ledger.Writers(Side(self.cluster, side), 8, 50)))
            deciders = stack.enter_context(Deciders(self.cluster))
            broken = time.monotonic()
            take_away(old)
            until(lambda: any(says_primary(name) for name in NODES if name != old), "a leader")
            there = time.monotonic()
            all_writers[0].go_on(GOOD_S + 1)
            put_back(old)
            all_writers[0].go_on(3)
        self.cluster.wait_until_whole(but=old)
        done = Round(all_writers, deciders, broken, there)
        done.wrong_rules = follower.differs()
        done.compared = [writers.compare() for writers in all_writers]
        print("%s %s: a leader after %.1f s, a 2xx %.2f s later, decisions %.1f s later" % (
            old, take_away.__name__, there - broken, all_writers[0].first_good_after(there),
            deciders.back_after(there)), flush=True)
        return done

    def histories(self):
        """How many timelines have two histories: two leaders have begun such a timeline."""
        found = collections.defaultdict(set)
        for name in NODES:
            for line in self.cluster.on(
                    name, "cd /var/lib/postgresql/adit/pg_wal && "
                    "sha256sum *.history 2>/dev/null || true").splitlines():
                digest, history = line.split()
                found[history].add(digest)
        return sum(len(digests) > 1 for digests in found.values())

    def judge(self, rounds, leader_s):
        everything = [writers for one in rounds for writers in one.writers]
        self.figure("rounds", len(rounds), at_least=1)
        self.figure("acknowledged writes", sum(one.ledger.n_acknowledged for one in everything),
                    "writes", at_least=100)
        self.figure("until there is a leader", max(one.there - one.broken for one in rounds),
                    "s", at_most=leader_s)
        self.figure("first 2xx after that",
                    max(one.writers[0].first_good_after(one.there) for one in rounds), "s",
                    at_most=BACK_S)
        late = sum((one.writers[0].bad_begun_after(one.there + GOOD_S) for one in rounds), [])
        self.figure("errors %d s after that" % GOOD_S, len(late), "requests", exactly=0,
                    why=late[:3])
        self.judge_contract(everything)
        self.judge_ledger(sum((one.compared for one in rounds), []))
        self.figure("timelines of two leaders", self.histories(), exactly=0)
        self.figure("keys revoked", sum(one.deciders.n_revoked for one in rounds), at_least=1)
        wrong = sum((one.deciders.wrong for one in rounds), [])
        self.figure("wrong decisions", len(wrong), exactly=0, why=wrong[:3])
        self.figure("rules that a follower has wrong", sum(
            len(one.wrong_rules) for one in rounds), exactly=0)

    def test_leader_lost(self):
        """The leader is lost in each of these ways in turn: its machine loses its power; its programs
        are killed; they hang, and go on later; the machine is cut off from all others; it sends
        nothing any more; it receives nothing any more."""
        lan, unblock = self.cluster.lan, self.cluster.unblock
        ways = ((self.lose_power, self.get_power), (self.freeze, self.thaw), (lan.cut, lan.join),
                (self.kill, self.start), (self.mute, unblock), (self.deafen, unblock))
        self.judge([self.one_round(*ways[i % len(ways)])
                    for i in range(scaled(len(ways), N_ROUNDS))], 40)

    def test_partition(self):
        """The leader and a web host are on one side, all others on the other one.  Clients write on
        both sides."""
        self.judge([self.one_round(self.split, self.unsplit, HOSTS[0])
                    for _ in range(scaled(1, 4))], 40)

    def test_switch_over(self):
        """The leader is changed on purpose, as the page says."""
        [script] = self.cluster.chapters["Switch over"]
        rounds, reads = [], []
        for _ in range(scaled(1, 5)):
            with Readers(self.cluster) as readers:
                rounds.append(self.one_round(lambda old: self.cluster.on(old, script),
                                             lambda _: None))
            reads.append(readers)
        self.judge(rounds, 20)
        # Those that were sent and not answered are never sent again.
        self.figure("writes that failed in a round", max(
            len(one.writers[0].errors()) for one in rounds), "writes", at_most=ledger.RATE)
        bad = sum((readers.bad() for readers in reads), [])
        self.figure("reads", sum(len(readers.answers) for readers in reads), at_least=100)
        self.figure("reads that failed", len(bad), exactly=0, why=bad[:3])


class LeaderStays(ClusterCase):
    """Faults after which nobody else has to lead."""

    def steady(self, take_away, put_back, seconds):
        """Returns the writers and the deciders."""
        with ledger.Writers(self.cluster) as writers, Deciders(self.cluster) as deciders:
            take_away()
            writers.go_on(seconds)
            put_back()
            writers.go_on(5)
        self.cluster.wait_until_whole()
        return writers, deciders

    def judge(self, writers, deciders, longest_s):
        times = sorted(result.end for result in writers.good())
        self.figure("acknowledged writes", writers.ledger.n_acknowledged, "writes", at_least=100)
        self.figure("longest time without a 2xx", max(b - a for a, b in zip(times, times[1:])), "s",
                    at_most=longest_s)
        self.judge_contract([writers])
        self.judge_ledger([writers.compare()])
        self.figure("wrong decisions", len(deciders.wrong), exactly=0, why=deciders.wrong[:3])

    def services(self, verb, names, services):
        for name in names:
            self.cluster.on(name, "systemctl %s --no-block %s" % (verb, services))

    def others(self):
        """The nodes that do not lead, the synchronous standby first."""
        standby = self.cluster.standby()
        return [standby, *(name for name, role in self.cluster.members().items()
                           if role == "Replica")]

    def test_postgresql_killed(self):
        """The leader's PostgreSQL is killed, and Patroni starts it again."""
        leader = self.cluster.leader()
        self.judge(*self.steady(lambda: self.cluster.kill(leader, "postgres"), lambda: None, 10), 20)

    def test_standby_lost(self):
        """The machine of the synchronous standby is cut off, and joins again."""
        standby = self.cluster.standby()
        self.judge(*self.steady(lambda: self.cluster.lan.cut(standby),
                                lambda: self.cluster.lan.join(standby), 20), 20)

    def test_web_host_lost(self):
        """A web host loses its power, and comes back."""
        self.judge(*self.steady(lambda: self.cluster.lan.cut("web-1"),
                                lambda: self.cluster.lan.join("web-1"), 6), 3)

    def test_web_host_killed(self):
        """All programs of a web host are killed.  systemd starts them again."""
        self.judge(*self.steady(
            lambda: self.cluster.kill("web-1", "nginx", "adit.fcgi", "haproxy"),
            lambda: self.services("start", ["web-1"], "nginx adit haproxy"), 6), 3)

    def test_web_host_drained(self):
        """A web host is taken out and put back, as the page says."""
        out, back = self.cluster.chapters["Take a web host out"]
        writers, deciders = self.steady(lambda: self.cluster.on("web-1", out),
                                        lambda: self.cluster.on("web-1", back), 5)
        self.judge(writers, deciders, 3)
        errors = writers.errors()
        self.figure("errors", len(errors), "requests", exactly=0, why=errors[:3])

    def test_etcd_majority_lost(self):
        """Two of the three etcd stop, and start again after 30 s."""
        names = self.others()
        self.judge(*self.steady(lambda: self.services("stop", names, "etcd"),
                                lambda: self.services("start", names, "etcd"), 30), 10)

    def test_leader_without_etcd(self):
        """The leader reaches everybody, but no etcd of another node, for 30 s."""
        leader, ports = self.cluster.leader(), "tcp dport { 2379, 2380 } drop"
        self.judge(*self.steady(lambda: self.cluster.block(leader, ports, ports),
                                lambda: self.cluster.unblock(leader), 30), 30)

    def test_standbys_lost(self):
        """PostgreSQL of both standbys stops for 20 s.  No write is acknowledged from one copy."""
        names = self.others()
        with ledger.Writers(self.cluster) as writers:
            self.services("stop", names, "patroni")
            until(lambda: self.cluster.n_streams() == "0", "the standbys are gone")
            gone = time.monotonic()
            writers.go_on(20)
            back = time.monotonic()
            self.services("start", names, "patroni")
            writers.go_on(20)
        self.cluster.wait_until_whole()
        alone = [result for result in writers.good()
                 if gone < result.begin and result.end < back and not result.what.startswith("GET")]
        self.figure("acknowledged with one copy", len(alone), "writes", exactly=0, why=alone[:3])
        self.figure("first 2xx after they are back", writers.first_good_after(back), "s",
                    at_most=20)
        self.judge_contract([writers])
        self.judge_ledger([writers.compare()])

    def test_disk_full_of_leader(self):
        """The disk of the leader's PostgreSQL and etcd is full for 20 s."""
        self.disk_full(self.cluster.leader())

    def test_disk_full_of_standby(self):
        """The disk of the synchronous standby's PostgreSQL and etcd is full for 20 s."""
        self.disk_full(self.cluster.standby())

    def disk_full(self, name):
        def take_away():
            self.cluster.fill(name)
            # A segment of the log that has room would last for long.
            self.cluster.on(self.cluster.leader(), "runuser -u postgres -- timeout 10 psql -Xqc "
                            "'SELECT pg_switch_wal()'", check=False)

        def put_back():
            self.cluster.make_room(name)
            self.services("start", [name], "etcd patroni")
        self.judge(*self.steady(take_away, put_back, 20), 40)

    def test_schema_migrated(self):
        """The schema is migrated on the leader, as the page says, and columns come and go."""
        [script] = self.cluster.chapters["Migrate"]

        def migrate():
            for _ in range(scaled(2, 10)):
                self.cluster.on(self.cluster.leader(), script)
                for change in "ADD COLUMN later text DEFAULT 'x'", "DROP COLUMN later":
                    self.cluster.psql("SET lock_timeout = '1s'; " + MIGRATION % (change, change))
        writers, deciders = self.steady(migrate, lambda: None, 1)
        self.judge(writers, deciders, 3)

    def test_minor_version(self):
        """PostgreSQL is restarted on all nodes, one after the other, as the page says."""
        install, restart = self.cluster.chapters["A minor version of PostgreSQL"]
        [switch] = self.cluster.chapters["Switch over"]

        def upgrade():
            old = self.cluster.leader()
            for name in NODES:
                self.cluster.on(name, install)
            for name in self.others():
                self.cluster.on(name, restart)
                self.cluster.wait_until_whole()
            self.cluster.on(old, switch)
            self.cluster.wait_until_whole(but=old)
            self.cluster.on(old, restart)
        self.judge(*self.steady(upgrade, lambda: None, 5), 20)

    def test_two_nodes_lost(self):
        """Two database nodes lose their power at once for 15 s: first the leader and its synchronous
        standby, then both standbys.  Nobody may lead, so nothing is acknowledged."""
        all_writers, alone, after = [], [], []
        for take in (lambda: [self.cluster.leader(), self.cluster.standby()]), self.others:
            names = take()
            with ledger.Writers(self.cluster) as writers:
                self.cluster.everywhere(names, self.lose_power)
                lost = time.monotonic()
                writers.go_on(15)
                back = time.monotonic()
                self.cluster.everywhere(names, self.get_power)
                until(lambda: writers.first_good_after(back) < 60, "a write is acknowledged", 60)
                writers.go_on(5)
            self.cluster.wait_until_whole()
            all_writers.append(writers)
            alone += [result for result in writers.good() if lost < result.begin
                      and result.end < back and not result.what.startswith("GET")]
            after.append(writers.first_good_after(back))
        self.figure("acknowledged by one node", len(alone), "writes", exactly=0, why=alone[:3])
        self.figure("first 2xx after they are back", max(after), "s", at_most=40)
        self.judge_contract(all_writers)
        self.judge_ledger([writers.compare() for writers in all_writers])

    def test_leader_cut_off_from_web_hosts(self):
        """The web hosts do not reach the leader, and all others do.  Patroni sees nothing, and after
        15 s somebody switches over, as the page says."""
        leader = self.cluster.leader()
        [script] = self.cluster.chapters["Switch over"]
        with ledger.Writers(self.cluster) as writers:
            self.cluster.part(leader, HOSTS)
            cut = time.monotonic()
            writers.go_on(15)
            self.figure("leaders meanwhile", len({leader, self.cluster.leader()}), exactly=1)
            switched = time.monotonic()
            self.cluster.on(self.others()[0], script)
            until(lambda: any(says_primary(name) for name in NODES if name != leader), "a leader")
            there = time.monotonic()
            writers.go_on(GOOD_S + 1)
            self.cluster.unblock(leader)
            writers.go_on(3)
        self.cluster.wait_until_whole(but=leader)
        meanwhile = [result for result in writers.good()
                     if cut < result.begin and result.end < switched]
        self.figure("answers of 2xx meanwhile", len(meanwhile), "requests", exactly=0,
                    why=meanwhile[:3])
        self.figure("until there is a leader", there - switched, "s", at_most=20)
        self.figure("first 2xx after that", writers.first_good_after(there), "s", at_most=BACK_S)
        late = writers.bad_begun_after(there + GOOD_S)
        self.figure("errors %d s after that" % GOOD_S, len(late), "requests", exactly=0,
                    why=late[:3])
        self.judge_contract([writers])
        self.judge_ledger([writers.compare()])

    @only_long
    def test_new_disk(self):
        """A new machine takes the place of a database node that was lost with its disk, as the page
        says."""
        cluster = self.cluster
        leader, lost = cluster.leader(), self.others()[0]
        forget, copy = cluster.chapters["A node that comes back"]
        with ledger.Writers(cluster) as writers:
            cluster.machines[lost].stop()
            cluster.on(leader, "lost=%s\n%s" % (lost, forget))
            cluster.replace(lost)
            cluster.wait_until_whole()
            cluster.on(cluster.leader(), "lost=%s\n%s" % (lost, copy))
            cluster.wait_until_whole()
        self.figure("acknowledged writes", writers.ledger.n_acknowledged, "writes", at_least=100)
        self.judge_contract([writers])
        self.judge_ledger([writers.compare()])
