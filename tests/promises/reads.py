# SPDX-License-Identifier: MIT
"""Reads.

Clients of many accounts send reads at the same moment, again and again: for their own resources,
for another account's, and with bad keys.  A worker sends the reads of several clients in one
database session.  Each client gets the bytes that it would get alone, whatever happens to that
session.  A slow read does not delay others for long.
"""
import contextlib
import random
import signal
import socket
import threading
import time

from adit import programs, samples
from adit.case import until
from adit.client import read_answer
from adit.reference import NOTHING
from database_faults import close, lock, open_session
from promise import PromiseCase, scaled

N_ACCOUNTS = 8
N_EACH = 4  # clients of an account

# A delayed read is retried on a private session after 250 ms.
SLOWEST_S = 1


class Question:
    """A request, and the expected status and body."""

    def __init__(self, stack, path, key, status):
        self.data = ("GET %s HTTP/1.1\r\nHost: adit.example\r\nAuthorization: Bearer %s\r\n"
                     "Service-Version: 2\r\n\r\n" % (path, key)).encode()
        answer = stack.client(key).send("GET", path, [
            ("Authorization", "Bearer " + key), ("Service-Version", "2")], host="adit.example")
        if answer.status != status:
            raise AssertionError("%s: %r" % (path, answer))
        self.status, self.body = status, answer.body if status == 200 else None

    def is_answered_by(self, answer):
        return answer.status == self.status and self.body in (None, answer.body)


class Bursts:
    """Clients that send at the same moment, wait until all have answers, and send again."""

    def __init__(self, stack, questions, n_clients):
        self.questions = questions
        self.sockets = [socket.create_connection(("127.0.0.1", stack.port), timeout=20)
                        for _ in range(n_clients)]
        self.streams = [sock.makefile("rb") for sock in self.sockets]
        self.n_answers, self.slowest_s, self.refused, self.wrong = 0, 0, [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in (*self.streams, *self.sockets):
            sock.close()

    def burst(self):
        asked = [random.choice(self.questions) for _ in self.sockets]
        started = time.monotonic()
        for sock, question in zip(self.sockets, asked):
            sock.sendall(question.data)
        for stream, question in zip(self.streams, asked):
            answer = read_answer(stream, asked=NOTHING)
            self.slowest_s = max(self.slowest_s, time.monotonic() - started)
            self.n_answers += 1
            if answer.status == 503:
                self.refused.append(answer)
            elif not question.is_answered_by(answer):
                self.wrong.append((question.data, answer))

    def go_on(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.burst()


class Reads(PromiseCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # A module before this one may have killed a worker, whose successor shares no session yet.
        cls.stack.restart()
        accounts = [cls.stack.account("reads %d" % n) for n in range(N_ACCOUNTS)]
        made = [cls.make_resources(account) for account in accounts]
        cls.questions = []
        for n, account in enumerate(accounts):
            revoked = account.admin.issue()
            rows = [Question(cls.stack, path, account.admin.key, 200) for path in made[n]]
            rows += [Question(cls.stack, path, account.admin.key, 404) for path in made[n - 1]]
            rows.append(Question(cls.stack, made[n][0], samples.well_formed_key(), 401))
            cls.questions += [*rows, cls.revoked(revoked, made[n][0])]

    @classmethod
    def make_resources(cls, account):
        """Returns the paths of resources that only this account has."""
        client, name = cls.stack.client(account.admin.key), account.id[-12:]
        made = [client.post("/ssh_credentials", samples.credential(
            description="%s %d" % (name, n), acl=["bind:%s-%d.example.com" % (name, n)])).json
            for n in range(4)]
        modules = ["/edges/https/%s/routes/r/oauth" % name, "/edges/tls/%s/mutual_tls" % name]
        for path, body in zip(modules, ({"inactivity_timeout": random.randrange(10**9)},
                                        {"certificate_authority_ids": ["of-" + name]})):
            if client.put(path, body).status != 200:
                raise AssertionError(path)
        return ["/ssh_credentials/" + row["id"] for row in made] + modules

    @classmethod
    def revoked(cls, key, path):
        asked = Question(cls.stack, path, key, 200)
        ident = cls.stack.psql("UPDATE adit.api_key SET revoked_at = now() WHERE digest ="
                               " sha256('%s') RETURNING id" % key)
        if not ident:
            raise AssertionError("no such key")
        asked.status, asked.body = 401, None
        return asked

    def bursts(self, questions=None):
        return Bursts(self.stack, questions or self.questions, N_ACCOUNTS * N_EACH)

    def judge(self, bursts, at_least, refused_percent=0):
        self.figure("answers", bursts.n_answers, at_least=at_least)
        self.figure("wrong answers", len(bursts.wrong), exactly=0, why=bursts.wrong[:2])
        self.figure("answers of 503", 100 * len(bursts.refused) / bursts.n_answers, "percent",
                    at_most=refused_percent, why=bursts.refused[:2])
        self.figure("slowest answer", bursts.slowest_s, "s", at_most=SLOWEST_S)

    def sessions_since(self, moment):
        """The sessions that have served a read since then."""
        return [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'adit' AND query_start > '%s'"
            " AND query LIKE 'SELECT k.account_id%%'" % moment).split()]

    def shared_sessions(self, bursts):
        """The shared sessions of the workers."""
        def find():
            moment = self.stack.psql("SELECT now()")
            bursts.go_on(0.3)
            found = self.sessions_since(moment)
            return len(found) <= self.stack.n_workers() and found
        return until(find, "reads share a session")

    def test_at_once(self):
        """The clients read, and nothing else happens"""
        with self.bursts() as bursts:
            shared = self.shared_sessions(bursts)
            moment = self.stack.psql("SELECT now()")
            bursts.go_on(scaled(2, 20))
            used = self.sessions_since(moment)
        self.judge(bursts, 500)
        self.figure("private sessions used", len(set(used) - set(shared)),
                    exactly=0)

    def test_sessions_killed(self):
        """Sessions are ended at random, up to fifty times a second"""
        done, n_ended = threading.Event(), [0]

        def end_sessions():
            while not done.wait(random.uniform(0.02, 0.2)):
                n_ended[0] += int(self.stack.psql(
                    "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
                    " WHERE usename = 'adit' ORDER BY query_start DESC LIMIT 1) AS it"))
        ender = threading.Thread(target=end_sessions)
        with self.bursts() as bursts:
            ender.start()
            try:
                # Longer than the 5 s for which a worker replaces a lost shared session by private
                # ones.
                bursts.go_on(scaled(6, 60))
                while n_ended[0] < 20 and ender.is_alive():
                    bursts.go_on(0.5)
            finally:
                done.set()
                ender.join()
        self.judge(bursts, 500)
        self.figure("sessions ended", n_ended[0], at_least=20)

    def test_ended_while_idle(self):
        """The shared sessions of the workers are ended while no client reads"""
        with self.bursts() as bursts:
            shared = self.shared_sessions(bursts)
            n_open = self.n_descriptors() - len(shared)
            for pid in shared:
                self.stack.psql("SELECT pg_terminate_backend(%d)" % pid)
            until(lambda: self.n_descriptors() <= n_open, "the workers have noticed")
            workers, started = self.stack.responder()[1], time.monotonic()
            used_s = -programs.cpu_seconds(workers)
            time.sleep(scaled(0.5, 5))
            used_s += programs.cpu_seconds(workers)
            self.figure("CPU meanwhile", 100 * used_s / (time.monotonic() - started), "%",
                        at_most=5)
            self.shared_sessions(bursts)
        self.judge(bursts, 100)

    def n_descriptors(self):
        return sum(programs.descriptors(pid) for pid in self.stack.responder()[1])

    def test_frozen(self):
        """The shared sessions of the workers stop (SIGSTOP), and resume later"""
        with self.bursts() as bursts:
            stopped = self.shared_sessions(bursts)
            programs.signal_all(stopped, signal.SIGSTOP)
            try:
                bursts.go_on(scaled(1, 5))
            finally:
                programs.signal_all(stopped, signal.SIGCONT)
            bursts.go_on(0.2)
        self.judge(bursts, 100)

    def test_locked(self):
        """Some clients read locked tables again and again, while the others read another table.  A
        worker whose read timed out refuses the reads that have queued up behind it"""
        of_edges = [question for question in self.questions if b"/edges/" in question.data]
        others = [question for question in self.questions if b"/edges/" not in question.data]
        done, n_held_up = threading.Event(), [0]

        def ask_for_locked():
            with Bursts(self.stack, of_edges, 1) as bursts:
                while not done.is_set():
                    bursts.burst()
                n_held_up[0] += len(bursts.refused)
        asking = [threading.Thread(target=ask_for_locked) for _ in range(2)]
        with self.bursts(others) as bursts, contextlib.ExitStack() as held:
            self.shared_sessions(bursts)
            psql = open_session(self.stack)
            held.callback(close, psql)
            lock(psql, ("oauth_module", "mutual_tls_module"))
            for thread in asking:
                thread.start()
            try:
                bursts.go_on(scaled(4, 12))
            finally:
                done.set()
                held.close()
                for thread in asking:
                    thread.join()
        self.judge(bursts, 200, refused_percent=5)
        self.figure("reads of locked tables refused", n_held_up[0], at_least=1)
