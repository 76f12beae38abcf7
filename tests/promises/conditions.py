# SPDX-License-Identifier: MIT
"""Conditional requests.

A conditional write changes only the state that its tag names, whatever other clients write at the
same time.  The statement that writes also compares the tag."""
import collections
import random
import threading

from adit import samples
from adit.client import check_answer
from promise import PromiseCase, at_once, scaled

N_CLIENTS = 12


class Counter:
    """A resource that stores a number, and how to read and write it."""

    def __init__(self, path, method, body, read):
        self.path, self.method, self.body, self.read = path, method, body, read


class Conditions(PromiseCase):
    def counters(self):
        made = self.admin.post("/ssh_credentials", samples.credential(metadata="0")).json
        found = [
            Counter("/ssh_credentials/" + made["id"], "PATCH", lambda n: {"metadata": str(n)},
                    lambda json: int(json["metadata"])),
            Counter("/edges/https/counted/routes/r/oauth", "PUT",
                    lambda n: {"inactivity_timeout": n}, lambda json: json["inactivity_timeout"]),
            Counter("/edges/tls/counted/mutual_tls", "PUT",
                    lambda n: {"certificate_authority_ids": [str(n)]},
                    lambda json: int(json["certificate_authorities"][0]["id"]))]
        for counter in found[1:]:
            self.assert_ok(self.admin.put(counter.path, counter.body(0)))
        return found

    def test_lost_updates(self):
        """Clients increment numbers in the same three resources.  Each reads a number and writes
        the next one with If-Match.  A client retries until its write succeeds"""
        counters = self.counters()
        rounds = scaled(5, 60)
        statuses, lock = collections.Counter(), threading.Lock()

        def count_up():
            for counter in counters * rounds:
                while True:
                    read = self.admin.get(counter.path)
                    answer = check_answer(self.admin.call(
                        counter.method, counter.path, counter.body(counter.read(read.json) + 1),
                        more=[("If-Match", read.header("ETag"))]))
                    with lock:
                        statuses[answer.status] += 1
                    if answer.status == 200:
                        break
                    self.assert_error(answer, 9038)
        at_once(count_up, N_CLIENTS)
        counted = [counter.read(self.admin.get(counter.path).json) for counter in counters]
        self.figure("writes acknowledged", statuses[200], "writes", exactly=3 * N_CLIENTS * rounds)
        self.figure("writes refused as stale", statuses[412], "writes", at_least=N_CLIENTS)
        self.figure("writes lost", statuses[200] - sum(counted), "writes", exactly=0, why=counted)

    def test_creates_only(self):
        """Clients put one module at the same moment with If-None-Match: * and different bodies.
        The module is deleted after each round"""
        path = "/edges/tls/created-once/mutual_tls"
        n_good, n_wrong = 0, []
        for turn in range(scaled(10, 200)):
            answers = {}

            def create(name):
                answers[name] = self.admin.put(path, {"certificate_authority_ids": [name]},
                                               more=[("If-None-Match", "*")])
            at_once(create, N_CLIENTS, ["t%d-%d" % (turn, i) for i in range(N_CLIENTS)])
            won = [name for name, answer in answers.items() if answer.status == 200]
            stored = [row["id"] for row in self.admin.get(path).json["certificate_authorities"]]
            statuses = sorted(answer.status for answer in answers.values())
            if statuses == [200] + [412] * (N_CLIENTS - 1) and stored == won:
                n_good += 1
            else:
                n_wrong.append((statuses, won, stored))
            self.assert_ok(self.admin.delete(path), 204)
        self.figure("rounds with one winner", n_good, "rounds", exactly=scaled(10, 200))
        self.figure("rounds with another outcome", len(n_wrong), "rounds", exactly=0,
                    why=n_wrong[:3])

    def test_not_modified(self):
        """A reader sends its tag while a writer changes the resource.  The answer is 304 only while
        nothing has changed"""
        path = "/edges/tls/watched/mutual_tls"
        self.assert_ok(self.admin.put(path, {}))
        n_same = n_new = n_wrong = 0
        tag, stored = None, None
        for turn in range(scaled(100, 2000)):
            changed = tag is None or random.random() < 0.3
            if changed:
                stored = self.assert_ok(self.admin.put(
                    path, {"certificate_authority_ids": ["c%d" % turn]}))
            answer = self.admin.get(path, more=[("If-None-Match", tag)] if tag else [])
            if answer.status == 304 and not changed:
                n_same += 1
            elif answer.status == 200 and changed and answer.json == stored:
                n_new += 1
            else:
                n_wrong += 1
            tag = answer.header("ETag")
        self.figure("answers of 304", n_same, at_least=scaled(30, 800))
        self.figure("answers of 200", n_new, at_least=scaled(10, 300))
        self.figure("wrong answers", n_wrong, exactly=0)
