# SPDX-License-Identifier: MIT
"""Clients that write, record each answer, and compare the record with the tables."""
import collections
import itertools
import json
import random
import secrets
import threading
import time

from adit import samples
from adit.case import until
from adit.client import check_answer, check_server_answer

N_CLIENTS = 32
RATE = 200

# Errors that leave the outcome unknown: the responder's own, and the web server's when a worker
# ended or took too long.
UNKNOWN = (9033, 9055, 9056)

# Temporary refusals.  They are no bug and have no effect.
REFUSED = (9030, 9031, 9032, 9035, 9037, 9063)

# How long a client repeats a write before it gives up.
PATIENCE_S = 20


class Result:
    """The outcome of a request."""

    def __init__(self, what):
        self.what, self.begin, self.end = what, time.monotonic(), None
        self.status = self.code = self.fault = None
        self.is_done_before = False  # 404 to a repeated deletion

    def __repr__(self):
        return "%s: %s %s %s, %.2f s" % (self.what, self.status, self.code, self.fault or "",
                                         self.end - self.begin)


def takes_idempotency_keys(client):
    """Whether a POST repeated under one Idempotency-Key creates one row."""
    more = [("Idempotency-Key", '"%s"' % secrets.token_hex(8))]
    ids = {client.post("/ssh_credentials", samples.credential(), more=more).json["id"]
           for _ in range(2)}
    for ident in ids:
        client.delete("/ssh_credentials/" + ident)
    return len(ids) == 1


class Ledger:
    """The writes, by key.  A key is the kind of the resource and its name in the table."""

    def __init__(self):
        self.allowed = {}  # key -> the states it may have; None: no row
        self.refused = collections.defaultdict(set)  # key -> states that it must not have
        self.n_acknowledged = 0

    def acknowledged(self, key, state):
        self.allowed[key] = {state}
        self.n_acknowledged += 1

    def unknown(self, key, state):
        self.allowed.setdefault(key, {None}).add(state)

    def refuse(self, key, state):
        self.allowed.setdefault(key, {None})
        self.refused[key].add(state)

    def compare(self, rows):
        """Takes the (key, state) of all rows.  Returns the lost writes, the duplicates, and the
        refused writes that were stored."""
        found = collections.defaultdict(list)
        for key, state in rows:
            found[key].append(state)
        lost, doubled, traces = [], [], []
        for key in set(self.allowed) | set(found):
            states = found[key] or [None]
            if len(states) > 1:
                doubled.append((key, states))
            elif states[0] in self.allowed.get(key, ()):
                continue
            elif states[0] in self.refused[key]:
                traces.append((key, states[0]))
            else:
                lost.append((key, "found %s, expected one of %s" % (
                    states[0], self.allowed.get(key))))
        return lost, doubled, traces


class Writers:
    """Clients that write at a steady rate, each to its own resources, until they are stopped.  They
    repeat a write whose outcome is unknown.  They do not repeat a refused one."""

    def __init__(self, stack, n_clients=N_CLIENTS, rate=RATE):
        self.stack = stack
        self.client = stack.client(stack.home.admin.key)
        self.run = "w" + secrets.token_hex(5)  # marks the rows of this run
        self.has_keys = takes_idempotency_keys(self.client)
        self.ledger = Ledger()
        self.results = []
        self._stop = threading.Event()
        self._pause_s = n_clients / rate
        self._threads = [threading.Thread(target=_Writer(self, i).work) for i in range(n_clients)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        self.wait_for(40)
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def is_stopped(self):
        return self._stop.is_set()

    def pause(self):
        return self._stop.wait(self._pause_s * random.uniform(0.5, 1.5))

    def wait_for(self, n):
        """Waits until n more requests are answered."""
        wanted = len(self.results) + n
        until(lambda: len(self.results) >= wanted, "%d more requests" % n, 60)

    def go_on(self, seconds):
        """Lets the clients write for this long."""
        time.sleep(seconds)

    # ---- one request ----

    def ask(self, method, target, body, key=None):
        """Sends a request and records the outcome.  Returns its Result, and the answer if it is
        valid."""
        result = Result("%s %s" % (method, target))
        answer = None
        try:
            answer = self._send(method, target, body, key)
            result.status, result.code = answer.status, answer.code
            # The responder answers 9063 itself, with an operation id.
            is_server = (9050 <= (answer.code or 0) < 9100 and
                         not answer.all("Service-Operation-Id"))
            (check_server_answer if is_server else check_answer)(answer)
        except (OSError, AssertionError, ValueError) as error:
            result.fault = repr(error)
        result.end = time.monotonic()
        self.results.append(result)
        return result, None if result.fault else answer

    def _send(self, method, target, body, key):
        data = None if body is None else json.dumps(body).encode()
        headers = self.client.headers(method, data, self.client.key, "2",
                                      None if data is None else "application/json")
        if key and self.has_keys:
            headers.append(("Idempotency-Key", '"%s"' % key))
        answer = self.client.send(method, target, headers, data or b"")
        return answer

    # ---- after the run ----

    def rows(self):
        """The rows of this run in the tables."""
        def read(kind, sql):
            for line in self.stack.psql(sql % {"run": self.run}).splitlines():
                name, _, state = line.partition("|")
                yield (kind, name), state
        return itertools.chain(
            read("credential", "SELECT description, metadata FROM adit.ssh_credential"
                 " WHERE description LIKE '%(run)s%%'"),
            read("oauth", "SELECT edge_id, cookie_prefix FROM adit.oauth_module"
                 " WHERE edge_id LIKE '%(run)s%%'"),
            read("tls", "SELECT edge_id, certificate_authority_ids[1] FROM adit.mutual_tls_module"
                 " WHERE edge_id LIKE '%(run)s%%'"))

    def compare(self):
        return self.ledger.compare(self.rows())

    @property
    def slowest_s(self):
        return max(result.end - result.begin for result in self.results)

    def not_of_contract(self, allowed=REFUSED + UNKNOWN[:1]):
        """Requests without a valid answer: neither 2xx nor one of these errors in the contract's
        shape."""
        return [result for result in self.results if result.fault or (
            result.status >= 300 and not result.is_done_before and result.code not in allowed)]

    def errors(self):
        return [result for result in self.results if not result.is_done_before
                and (result.status is None or result.status >= 300)]

    def good(self):
        return [result for result in self.results if result.status and result.status < 300]

    def first_good_after(self, moment):
        """Seconds from a moment until the next 2xx.  Infinite if there is none."""
        return min((result.end - moment for result in self.good() if result.end > moment),
                   default=float("inf"))

    def bad_begun_after(self, moment):
        return [result for result in self.errors() if result.begin > moment]


class _Writer:
    """One client."""

    def __init__(self, writers, number):
        self._writers, self._ledger = writers, writers.ledger
        self._name = "%s-%d" % (writers.run, number)
        self._random = random.Random(self._name)
        self._credentials = {}  # id -> name of existing credentials
        self._n = 0

    def work(self):
        steps = [self._create, self._create, self._change, self._change, self._delete,
                 self._put_tls, self._put_tls, self._delete_tls, self._put_oauth,
                 self._delete_oauth]
        while not self._writers.pause():
            self._random.choice(steps)()

    def _next(self):
        self._n += 1
        return "%s-%d" % (self._name, self._n)

    def _write(self, method, target, body, key, state, idempotency_key=None, gone=()):
        """Writes, repeats while the outcome is unknown, and records the outcome.  Returns the
        answer if it acknowledges the write."""
        deadline = time.monotonic() + PATIENCE_S
        may_repeat = method != "POST" or self._writers.has_keys
        was_unknown = False
        while True:
            result, answer = self._writers.ask(method, target, body, idempotency_key)
            result.is_done_before = was_unknown and result.status in gone
            if answer and (answer.status < 300 or result.is_done_before):
                self._ledger.acknowledged(key, state)
                return answer
            # A missing or invalid answer leaves the outcome unknown too.
            if result.fault or result.code in UNKNOWN:
                was_unknown = True
                self._ledger.unknown(key, state)
            elif not was_unknown:
                self._ledger.refuse(key, state)
                return None
            if not may_repeat or time.monotonic() > deadline:
                return None
            time.sleep(0.05)

    def _create(self):
        name = self._next()
        answer = self._write("POST", "/ssh_credentials", samples.credential(description=name,
                                                                      public_key=samples.new_key()),
                             ("credential", name), "", idempotency_key=name)
        if answer:
            self._credentials[answer.json["id"]] = name

    def _pick(self):
        return self._random.choice(list(self._credentials)) if self._credentials else None

    def _change(self):
        ident = self._pick()
        if ident:
            state = self._next()
            self._write("PATCH", "/ssh_credentials/" + ident, {"metadata": state},
                        ("credential", self._credentials[ident]), state)

    def _delete(self):
        ident = self._pick()
        if ident:
            key = ("credential", self._credentials[ident])
            self._write("DELETE", "/ssh_credentials/" + ident, None, key, None, gone=(404,))
            # Also if the client has given up: the credential may be gone.
            if None in self._ledger.allowed[key]:
                del self._credentials[ident]

    def _edge(self):
        return "%s-e%d" % (self._name, self._random.randrange(3))

    def _put_tls(self):
        edge, state = self._edge(), self._next()
        self._write("PUT", "/edges/tls/%s/mutual_tls" % edge, {"certificate_authority_ids": [state]},
                    ("tls", edge), state)

    def _delete_tls(self):
        edge = self._edge()
        self._write("DELETE", "/edges/tls/%s/mutual_tls" % edge, None, ("tls", edge), None)

    def _put_oauth(self):
        edge, state = self._edge(), self._next()
        body = {"cookie_prefix": state, "provider": {"provider_a": {
            "client_id": state, "client_secret": "secret " + state}}}
        self._write("PUT", "/edges/https/%s/routes/r/oauth" % edge, body, ("oauth", edge), state)

    def _delete_oauth(self):
        edge = self._edge()
        self._write("DELETE", "/edges/https/%s/routes/r/oauth" % edge, None, ("oauth", edge), None)
