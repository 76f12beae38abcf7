# SPDX-License-Identifier: MIT
"""Idempotency-Key.

A request that repeats a key creates nothing and gets the first answer.  This holds for concurrent
requests too.  It also holds if no client got the first answer, because the worker or the database
session was killed."""
import concurrent.futures
import json
import random
import signal
import threading
import time

from adit import samples
from adit.case import until
from adit.client import check_answer, check_server_answer
from adit.programs import signal_all, timed
from promise import PromiseCase, at_once, scaled

PATH = "/ssh_credentials"
N_PARALLEL = 50

# How long a request may take during a purge.
BESIDE_PURGE_S = 1


class Idempotency(PromiseCase):
    def once(self, key, body):
        data = json.dumps(body).encode()
        headers = self.admin.headers("POST", data, self.admin.key, "2", "application/json")
        answer = self.admin.send("POST", PATH, [*headers, ("Idempotency-Key", key)], data)
        (check_server_answer if 9050 <= (answer.code or 0) < 9100 else check_answer)(answer)
        return answer

    def rows(self, mark):
        return int(self.stack.psql("SELECT count(*) FROM adit.ssh_credential"
                                   " WHERE description = '%s'" % mark))

    def until_made(self, key, body, answers):
        """Repeats a request while its outcome is unknown, as a careful client does."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            answer = self.once(key, body)
            if answer.status not in (502, 503, 504):
                answers.append(answer)
                return
            time.sleep(0.02)

    def judge(self, rounds, n_rows, n_answers, wrong):
        self.figure("rounds of 50 requests", rounds, "rounds", at_least=scaled(4, 40))
        self.figure("answers of 201", n_answers, "answers", exactly=N_PARALLEL * rounds,
                    why=wrong[:3])
        self.figure("rows created", n_rows, "rows", exactly=rounds)
        self.figure("rounds with answers that differ", len(wrong), "rounds", exactly=0,
                    why=wrong[:3])

    def run_rounds(self, name, rounds, is_over=lambda: True):
        """Runs so many rounds, and others until it is over."""
        n_rows = n_answers = n_rounds = 0
        wrong = []
        while n_rounds < rounds or not is_over():
            n_rounds += 1
            mark = "%s-%d" % (name, n_rounds)
            answers = []
            body = samples.credential(description=mark, public_key=samples.new_key())
            at_once(lambda: self.until_made(mark, body, answers), N_PARALLEL)
            n_rows += self.rows(mark)
            n_answers += sum(answer.status == 201 for answer in answers)
            if len({(answer.status, answer.body, answer.header("ETag"))
                    for answer in answers}) != 1:
                wrong.append(answers[:2])
        self.judge(n_rounds, n_rows, n_answers, wrong)

    def test_parallel(self):
        """50 requests at once under one key"""
        self.run_rounds("parallel", scaled(4, 40))

    def test_parallel_and_killed(self):
        """The same while workers and their database sessions are killed"""
        done, n_killed = threading.Event(), [0, 0]
        n_workers = self.stack.n_workers()

        def kill():
            while not done.wait(random.uniform(0.02, 0.15)):
                workers = self.stack.responder()[1]
                if workers:
                    signal_all([random.choice(workers)], signal.SIGKILL)
                    n_killed[0] += 1
                n_killed[1] += int(self.stack.psql(
                    "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
                    " WHERE usename = 'adit' ORDER BY random() LIMIT 2) AS them"))
        least = scaled(2, 20)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            self.run_rounds("killed", scaled(4, 40),
                            lambda: min(n_killed) >= least or not killer.is_alive())
        finally:
            done.set()
            killer.join()
        until(lambda: len(self.stack.responder()[1]) == n_workers, "all workers are back")
        self.figure("workers killed", n_killed[0], at_least=least)
        self.figure("sessions ended", n_killed[1], at_least=least)

    def test_purge(self):
        """Keys older than a day are purged while requests go on.  Younger keys stay"""
        n = scaled(20000, 200000)
        self.stack.restart()  # workers may not know yet that their sessions were ended
        self.assert_ok(self.once("first", samples.credential()), 201)
        self.stack.psql(
            "INSERT INTO adit.idempotency_key SELECT account_id, principal_id, 'old ' || n,"
            " request_digest, answer, now() - interval '24 hours 1 second' FROM adit.idempotency_key,"
            " generate_series(1, %d) AS n WHERE key = 'first' AND account_id = '%s'"
            % (n, self.home.id))
        self.stack.psql(
            "INSERT INTO adit.idempotency_key SELECT account_id, principal_id, 'young ' || n,"
            " request_digest, answer, now() - interval '23 hours 59 minutes' FROM adit.idempotency_key,"
            " generate_series(1, 1000) AS n WHERE key = 'first' AND account_id = '%s'"
            % self.home.id)
        done, taken = threading.Event(), []

        def ask():
            while not done.is_set() or len(taken) < 20:
                answer, seconds = timed(self.once, "beside %d" % len(taken), samples.credential())
                self.assert_ok(answer, 201)
                taken.append(seconds)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            asking = pool.submit(ask)
            try:
                said = self.stack.ctl("purge")
            finally:
                done.set()
            asking.result()
        left = int(self.stack.psql("SELECT count(*) FROM adit.idempotency_key"
                                   " WHERE key LIKE 'old %'"))
        young = int(self.stack.psql("SELECT count(*) FROM adit.idempotency_key"
                                    " WHERE key LIKE 'young %'"))
        self.figure("old keys purged", n - left, "keys", exactly=n, why=said)
        self.figure("younger keys left", young, "keys", exactly=1000)
        self.figure("requests during the purge", len(taken), at_least=20)
        self.figure("slowest request", max(taken), "s", at_most=BESIDE_PURGE_S)
