# SPDX-License-Identifier: MIT
"""Hostile peers.

The responder accepts only complete, well-formed requests.  It never reads a body as FastCGI
records.  No silent, slow or broken peer blocks a worker."""
import json
import os
import signal
import socket
import struct
import threading
import time

from adit import fastcgi, samples
from adit.case import until
from adit.client import Client, check_answer
from adit.programs import (Nginx, Peer, Responder, at_socket, cpu_seconds, timed,
                           variables)
from promise import PromiseCase, scaled

CREDENTIALS = "/ssh_credentials"
BODY_MAX = 65536
MARK = "forged by a body"

# How long a good client may wait, whatever other peers do.
WAIT_S = 3


class Desync(PromiseCase):
    """The attack: on a kept connection, a request that is refused early.  Its body contains FastCGI
    records of another request."""

    def forged(self):
        body = json.dumps(samples.credential(description=MARK)).encode()
        return fastcgi.records(variables(self.home.admin.key, "POST", body=body), body, keep=True)

    def n_made(self):
        return int(self.stack.psql(
            "SELECT count(*) FROM adit.ssh_credential WHERE description = '%s'" % MARK))

    def refusals(self):
        """(status, key, method, path) of requests that Adit refuses before it reads their body."""
        key = self.home.admin.key
        return [(401, None, "POST", CREDENTIALS), (404, key, "POST", "/nothing"),
                (405, key, "PUT", CREDENTIALS), (400, key, "POST", CREDENTIALS),
                (401, samples.well_formed_key(), "POST", CREDENTIALS)]

    def test_records_work_outside_a_body(self):
        """The forged records work outside a body.  Otherwise the other figures would prove
        nothing"""
        with Responder(self.stack) as responder:
            peer = Peer(responder.socket)
            self.assert_ok(check_answer(peer.ask(self.forged())), 201)
            peer.close()
        self.figure("requests run", self.n_made(), exactly=1)
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE description = '%s'" % MARK)

    def attack(self, ask):
        """Sends bodies full of forged records, each shifted by one byte more.  Wherever the
        responder might resume reading, one of the bodies has a record start there."""
        forged = self.forged()
        copies = forged * (BODY_MAX // len(forged) + 1)
        refusals = self.refusals()
        n = 0
        for offset in range(len(forged)):
            for refusal in refusals if scaled(False, True) else [refusals[offset % len(refusals)]]:
                body = (b" " * offset + copies)[:BODY_MAX]
                ask(refusal, body)
                n += 1
        self.figure("bodies with forged records at every offset", n, at_least=len(forged))
        self.figure("forged requests run", self.n_made(), exactly=0)

    def test_directly(self):
        """Forged records in the bodies of refused requests, on a kept connection"""
        with Responder(self.stack) as responder:
            peer = Peer(responder.socket)

            def ask(refusal, body):
                status, key, method, path = refusal
                said = variables(key, method, path, body)
                answer = check_answer(peer.ask(fastcgi.records(said, body, keep=True)))
                self.assertEqual(answer.status, status)
                answer = check_answer(peer.ask(fastcgi.records(
                    variables(None, path="/livez"), keep=True)))
                self.assertEqual(answer.status, 200)
            self.attack(ask)
            peer.close()

    def test_through_nginx(self):
        """The same through nginx, which keeps its connections to the responder"""
        with Responder(self.stack) as responder, \
                Nginx(self.stack, at_socket(self.stack, responder.socket)) as nginx:
            client = Client("127.0.0.1", nginx.port)

            def ask(refusal, body):
                status, key, method, path = refusal
                answer = check_answer(client.call(method, path, body, key=key))
                self.assertEqual(answer.status, status, answer)
                self.assertEqual(client.call("GET", "/livez").status, 200)
            self.attack(ask)

    def test_behind_the_end(self):
        """Forged records after the last record of a request, where no web server sends any"""
        with Responder(self.stack) as responder:
            n_closed = 0
            for keep in (True, False):
                for said in (variables(None), variables(self.home.admin.key)):
                    with fastcgi.connect(responder.socket) as sock, sock.makefile("rb") as file:
                        sock.sendall(fastcgi.records(said, keep=keep) + self.forged())
                        check_answer(fastcgi.read_answer(file))
                        n_closed += file.read() == b""
            self.figure("connections closed after the answer", n_closed, exactly=4)
        self.figure("forged requests run", self.n_made(), exactly=0)


class Crowds(PromiseCase):
    """Peers that hold their connections: as many as there are workers, and five times as many."""

    N_WORKERS = 4

    def setUp(self):
        self.responder = Responder(self.stack, self.N_WORKERS)
        self.addCleanup(self.responder.stop)
        self.held = []
        self.addCleanup(self.let_go)

    def let_go(self):
        for sock in self.held:
            sock.close()
        self.held.clear()

    def ask(self):
        answer = check_answer(fastcgi.ask(self.responder.socket, variables(self.home.admin.key)))
        self.assertEqual(answer.status, 200)

    def hold(self, data, half_closed=False):
        sock = fastcgi.connect(self.responder.socket)
        self.held.append(sock)
        try:
            sock.sendall(data)
            if half_closed:
                sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the responder dropped it already
        return sock

    def wait_beside(self, fill):
        """Records the longest wait of a good client while fill() makes crowds of peers."""
        for times in (1, 5):
            for _ in range(times * self.N_WORKERS):
                fill()
            worst = max(timed(self.ask)[1] for _ in range(scaled(30, 300)))
            self.figure("longest wait of a good client beside %d peers" % (times * self.N_WORKERS),
                        worst, "s", at_most=WAIT_S)
            self.let_go()
        self.assertEqual(len(self.responder.workers()), self.N_WORKERS)
        self.assertNotIn(b"worker ended", self.responder.log())

    def test_silent(self):
        """Peers that connect and send nothing"""
        self.wait_beside(lambda: self.hold(b""))

    def test_one_byte(self):
        """Peers that send one byte and no more"""
        self.wait_beside(lambda: self.hold(b"\x01"))

    def test_within_variables(self):
        """Peers that stop in the middle of a request's variables"""
        data = fastcgi.records(variables(self.home.admin.key))
        self.wait_beside(lambda: self.hold(data[:100]))

    def test_within_body(self):
        """Peers that stop in the middle of a large body"""
        body = b" " * BODY_MAX
        data = fastcgi.records(variables(self.home.admin.key, "POST", body=body), body)
        self.wait_beside(lambda: self.hold(data[:len(data) // 2]))

    def test_half_closed(self):
        """Peers that send half a request and close their side"""
        data = fastcgi.records(variables(self.home.admin.key))
        self.wait_beside(lambda: self.hold(data[:200], half_closed=True))

    def test_broken(self):
        """Peers that send something other than FastCGI"""
        rubbish = iter([b"\0" * 64, b"\xff" * 4096, b"GET / HTTP/1.0\r\n\r\n",
                        struct.pack(">BBHHBx", 1, 9, 0, 65535, 255) + b"\xff" * 65790] * 100)
        self.wait_beside(lambda: self.hold(next(rubbish)))

    def test_dripping(self):
        """Peers that send a byte every 20 ms"""
        data = fastcgi.records(variables(self.home.admin.key, HTTP_X="x" * 10000))
        stop = threading.Event()

        def drip():
            sent = {}
            while not stop.wait(0.02):
                for sock in list(self.held):
                    sent[sock] = sent.get(sock, 0) + 1
                    try:
                        sock.send(data[sent[sock]:sent[sock] + 1])
                    except OSError:
                        pass
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            self.wait_beside(lambda: self.hold(data[:1]))
            for _ in range(5 * self.N_WORKERS):
                self.hold(data[:1])
            before, started = cpu_seconds(self.responder.workers()), time.monotonic()
            time.sleep(scaled(2, 8))
            used = cpu_seconds(self.responder.workers()) - before
            self.assertNotIn(b"dropped", self.responder.log())
            self.figure("CPU with %d peers" % (5 * self.N_WORKERS),
                        100 * used / (time.monotonic() - started), "%", at_most=25)
        finally:
            stop.set()
            thread.join()

    def test_idle_costs_nothing(self):
        """Peers that stop half-way through a request and wait use no CPU time"""
        for _ in range(5 * self.N_WORKERS):
            self.hold(fastcgi.records(variables(self.home.admin.key))[:300])
        time.sleep(0.2)
        before, started = cpu_seconds(self.responder.workers()), time.monotonic()
        time.sleep(scaled(2, 8))
        used = cpu_seconds(self.responder.workers()) - before
        self.figure("CPU", 100 * used / (time.monotonic() - started), "%", at_most=2)

    def test_answer_not_read(self):
        """Peers that ask for the largest lists and read nothing"""
        account = self.stack.account("hoard")
        body = json.dumps(samples.credential(metadata="m" * 4096)).encode()
        made = Peer(self.responder.socket)
        for _ in range(100):
            answer = made.ask(fastcgi.records(variables(account.admin.key, "POST", body=body),
                                              body, keep=True))
            self.assertEqual(answer.status, 201)
        made.close()
        said = variables(account.admin.key, QUERY_STRING="limit=100")
        answer = fastcgi.ask(self.responder.socket, said)
        self.figure("size of the answer", len(answer.body), "bytes", at_least=400000)
        self.wait_beside(lambda: self.hold(fastcgi.records(said)))
        # A client that starts to read late still gets the whole answer.
        sock = self.hold(fastcgi.records(said))
        time.sleep(1)
        with sock.makefile("rb") as file:
            self.assertEqual(fastcgi.read_answer(file).body, answer.body)


class GivenUp(PromiseCase):
    """Requests that the web server abandoned before a worker reads them."""

    def stopped(self, responder):
        for pid in responder.workers():
            os.kill(pid, signal.SIGSTOP)

    def go_on(self, responder):
        for pid in responder.workers():
            os.kill(pid, signal.SIGCONT)

    def status(self, client, method, path, body):
        """Returns the status of an answer, which may be nginx's own."""
        return client.send(method, path, client.headers(
            method, body, client.key, "2", "application/json"), body).status

    def writes(self):
        body = json.dumps(samples.credential(description="given up")).encode()
        return [("POST", CREDENTIALS, body), ("PUT", "/edges/tls/given-up/mutual_tls", b"{}"),
                ("PUT", "/edges/https/given-up/routes/r/oauth", b"{}")]

    def count_run(self, responder, send):
        """Sends writes while the workers are stopped, resumes them, and counts the changed rows."""
        before = self.stack.dump()
        self.stopped(responder)
        try:
            send()
        finally:
            self.go_on(responder)
        # Workers answer queued requests first.
        for _ in range(20):
            check_answer(fastcgi.ask(responder.socket, variables(None, path="/livez")))
        after = self.stack.dump()
        return len(set(after.splitlines()) ^ set(before.splitlines()))

    def test_by_nginx(self):
        """Writes that nginx answers with 504"""
        with Responder(self.stack, 2) as responder:
            def change(text):
                return at_socket(self.stack, responder.socket)(text).replace(
                    "fastcgi_read_timeout 10s", "fastcgi_read_timeout 1s")
            with Nginx(self.stack, change) as nginx:
                client = Client("127.0.0.1", nginx.port, self.home.admin.key)
                statuses = []

                def send():
                    threads = [threading.Thread(target=lambda row=row: statuses.append(
                        self.status(client, *row))) for row in self.writes() * scaled(4, 20)]
                    for thread in threads:
                        thread.start()
                    for thread in threads:
                        thread.join()
                changed = self.count_run(responder, send)
        self.figure("requests answered with 504", statuses.count(504), at_least=12)
        self.assertEqual(set(statuses), {504})
        self.figure("rows that changed later", changed, exactly=0)

    def test_before_a_session(self):
        """Writes whose peer left while the worker waited for a database session"""
        postmaster = self.stack.postmaster()
        before = self.stack.dump()
        with Responder(self.stack, 2) as responder:
            os.kill(postmaster, signal.SIGSTOP)
            try:
                held = []
                for method, path, body in self.writes():
                    held.append(fastcgi.connect(responder.socket))
                    held[-1].sendall(fastcgi.records(
                        variables(self.home.admin.key, method, path, body), body))
                time.sleep(0.5)
                for sock in held:
                    sock.close()
            finally:
                os.kill(postmaster, signal.SIGCONT)
            time.sleep(0.5)
            said = variables(self.home.admin.key)
            until(lambda: fastcgi.ask(responder.socket, said).status == 200, "a session is there")
            changed = set(self.stack.dump().splitlines()) ^ set(before.splitlines())
        self.figure("requests abandoned", len(held), exactly=3)
        self.figure("rows that changed later", len(changed), exactly=0)

    def test_by_peers(self):
        """Writes whose peer closed, closed one side, or sent an abort after them"""
        held = []

        def send():
            for method, path, body in self.writes():
                data = fastcgi.records(variables(self.home.admin.key, method, path, body), body)
                for how in ("close", "shutdown", "abort"):
                    sock = fastcgi.connect(responder.socket)
                    sock.sendall(data)
                    if how == "close":
                        sock.close()
                    elif how == "shutdown":
                        sock.shutdown(socket.SHUT_WR)
                    else:
                        sock.sendall(fastcgi.record(fastcgi.ABORT))
                    held.append(sock)
        with Responder(self.stack, 2) as responder:
            changed = self.count_run(responder, send)
            self.figure("requests abandoned", len(held), exactly=9)
            self.figure("rows that changed later", changed, exactly=0)
            for sock in held:
                sock.close()
