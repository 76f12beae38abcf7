# SPDX-License-Identifier: MIT
"""Failover.

The conninfo names two hosts: the primary and its synchronous standby.  The primary is killed while
clients write, and the standby is promoted.  The two then swap roles for the next round.  Nothing
else is restarted or notified.
"""
import concurrent.futures
import time

import ledger
from adit import cluster, samples, stack
from adit.case import until
from promise import PromiseCase, only_long, scaled

BACK_S = 3

# A statement that gets no answer waits until its deadline.
HANGS_S = 6
SLOWEST_S = 6


class Failover(PromiseCase):
    stack_name = "failover"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not hasattr(shared, "clusters"):
            primary = cluster.Cluster()
            shared.clusters = [primary, cluster.Cluster(primary)]
            cluster.attach(shared, *shared.clusters)
        super().setUpClass()

    def setUp(self):
        self.primary, self.standby = self.stack.clusters
        self.replicate()

    def replicate(self):
        """Makes replication synchronous: PostgreSQL acknowledges a write when the standby has
        it."""
        self.stack.env["PGHOST"] = self.primary.run_folder
        self.stack.psql("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self.stack.psql("SELECT pg_reload_conf()")
        until(lambda: self.stack.psql("SELECT sync_state FROM pg_stat_replication") == "sync",
              "the standby is synchronous")
        until(lambda: all(self.nobody.get("/readyz").status == 200 for _ in range(10)),
              "the stack is ready")

    def change_roles(self):
        """Rebuilds the former primary as the standby of the new one."""
        self.stack.clusters.reverse()
        self.primary, self.standby = self.stack.clusters
        self.standby.copy(self.primary)
        self.standby.start()
        self.replicate()

    def fail_over(self, back_s, take_away, put_away=lambda: None):
        """Takes the primary away under load.  Returns the writers and the moment at which the
        promotion began."""
        with ledger.Writers(self.stack) as writers:
            take_away()
            time.sleep(scaled(0.5, 2))
            promoted = time.monotonic()
            self.standby.promote()
            self.stack.env["PGHOST"] = self.standby.run_folder
            writers.go_on(promoted + back_s + scaled(0.4, 2) - time.monotonic())
            put_away()
        return writers, promoted

    def judge(self, rounds, back_s):
        """Records the worst figures of all rounds."""
        writers = [one for one, _ in rounds]
        self.figure("rounds", len(rounds), exactly=scaled(1, 5))
        self.figure("acknowledged writes", sum(one.ledger.n_acknowledged for one in writers),
                    "writes", at_least=100)
        self.figure("slowest answer", max(one.slowest_s for one in writers), "s",
                    at_most=SLOWEST_S)
        self.figure("first 2xx after the promotion has begun",
                    max(one.first_good_after(promoted) for one, promoted in rounds), "s",
                    at_most=back_s)
        late = sum((one.bad_begun_after(promoted + back_s) for one, promoted in rounds), [])
        self.figure("errors after recovery", len(late), "requests", exactly=0, why=late[:3])
        wrong = sum((one.not_of_contract() for one in writers), [])
        self.figure("answers that break the contract", len(wrong), "requests", exactly=0,
                    why=wrong[:3])
        compared = self.compared
        for number, what in enumerate(("acknowledged but lost", "stored twice",
                                       "refused but stored")):
            found = sum((one[number] for one in compared), [])
            self.figure(what, len(found), "writes", exactly=0, why=found[:3])

    def run_rounds(self, back_s, one_round):
        rounds, self.compared = [], []
        for _ in range(scaled(1, 5)):
            rounds.append(one_round())
            self.compared.append(rounds[-1][0].compare())
            self.change_roles()
        self.judge(rounds, back_s)

    def test_primary_killed(self):
        """The primary's postmaster is killed, and the standby promoted."""
        self.run_rounds(BACK_S, lambda: self.fail_over(BACK_S, self.primary.kill))

    @only_long
    def test_primary_stopped(self):
        """The primary is stopped (SIGSTOP), like a machine that hangs, and the standby promoted.
        The old primary is killed later."""
        self.run_rounds(HANGS_S, lambda: self.fail_over(HANGS_S, self.primary.freeze,
                                                        self.primary.kill))

    def test_commit_without_standby(self):
        """The standby is down, and an operator cancels a commit's wait for it.  No client gets an
        acknowledgement of that write."""
        self.standby.freeze()
        try:
            answers = self.write_and_cancel()
        finally:
            self.standby.thaw()
        self.figure("acknowledged without a standby",
                    sum(1 for answer in answers if answer.status < 300), "writes", exactly=0)
        self.figure("answers of 9033",
                    sum(1 for answer in answers if answer.code == 9033), "requests",
                    exactly=len(answers))
        until(lambda: self.nobody.get("/readyz").status == 200, "the stack is ready")

    def test_repeated_without_standby(self):
        """The same, and the clients repeat the write.  The first attempt is stored on one server
        only, so the repetition is not acknowledged either."""
        more = [("Idempotency-Key", '"alone"')]
        path = "/ssh_credentials/" + self.admin.post("/ssh_credentials",
                                                     samples.credential()).json["id"]
        writes = (lambda: self.admin.post("/ssh_credentials", samples.credential(), more=more),
                  lambda: self.admin.delete(path))
        self.standby.freeze()
        try:
            for write in writes:
                self.assert_error(self.cancelled(write), 9033)
            answers = [write() for write in writes]
        finally:
            self.standby.thaw()
        self.figure("acknowledged without a standby", sum(
            1 for answer in answers if answer.code != 9033), "writes", exactly=0, why=answers)
        self.replicate()

    def cancelled(self, write):
        """Runs a write and cancels its wait for the standby.  Returns the answer."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(write)
            until(lambda: self.stack.psql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                                          " WHERE wait_event = 'SyncRep'"), "the commit waits")
            return waiting.result()

    def write_and_cancel(self):
        """Writes one after the other: commits that send notifications wait for each other."""
        return [self.cancelled(lambda number=i: self.admin.put(
            "/edges/tls/alone-%d/mutual_tls" % number, {})) for i in range(scaled(1, 5))]
