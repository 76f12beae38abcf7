# SPDX-License-Identifier: MIT
"""Fairness.

Many clients of one web server, which keeps its connections to two workers, read without a pause.
Neither idle nor busy kept connections keep another client waiting.
"""
import io
import selectors
import socket
import time

from adit import samples
from adit.client import check_answer, read_answer
from adit.programs import Nginx, Responder, at_socket, one_process
from promise import PromiseCase, scaled

DEADLINE_S = 60


class Client:
    """Parsing would take longer than answering: all answers have the same length."""

    def __init__(self, port, data, length):
        self.data, self.length, self.n, self._received = data, length, 0, b""
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self.send()

    def send(self):
        self._sent = time.monotonic()
        self.sock.sendall(self.data)

    def receive(self):
        """Returns the seconds that the answer took, or None before its end."""
        part = self.sock.recv(65536)
        self._received += part
        if not part or not self._received.startswith(b"HTTP/1.1 200 ") or \
                len(self._received) > self.length:
            raise ValueError(self._received)
        if len(self._received) < self.length:
            return None
        self._received = b""
        self.n += 1
        return time.monotonic() - self._sent


class Fairness(PromiseCase):
    def test_64_clients(self):
        """64 clients"""
        self.share_out(64, scaled(300, 600), at_most=1.5)

    def test_500_clients(self):
        """500 clients, more than the workers have places for connections"""
        self.share_out(500, scaled(120, 240), at_most=2)

    def share_out(self, n_clients, n_each, at_most):
        """Counts what each client gets until all together have n_each answers on average."""
        made = self.admin.post("/ssh_credentials", samples.credential())
        data = ("GET /ssh_credentials/%s HTTP/1.1\r\nHost: adit.example\r\nAuthorization: Bearer %s"
                "\r\nService-Version: 2\r\n\r\n" % (made.json["id"], self.home.admin.key)).encode()
        with Responder(self.stack, 2) as responder, \
                Nginx(self.stack, lambda text: one_process(
                    at_socket(self.stack, responder.socket)(text))) as nginx, \
                selectors.DefaultSelector() as selector:
            length = self.length_of(nginx.port, data)
            clients = [Client(nginx.port, data, length) for _ in range(n_clients)]
            try:
                for client in clients:
                    selector.register(client.sock, selectors.EVENT_READ, client)
                # The first answers open nginx's connections, and a session of the database for each
                # lane.  All that was asked meanwhile has to be over, too.
                first, wrong = [], []
                for _ in range(2):
                    for client in clients:
                        client.n = 0
                    taken, failed = self.exchange(
                        selector, lambda _: all(client.n > 0 for client in clients))
                    first += taken
                    wrong += failed
                self.assertEqual(wrong, [])
                for client in clients:
                    client.n = 0
                longest, wrong = self.exchange(selector, lambda n: n >= n_clients * n_each)
            finally:
                for client in clients:
                    client.sock.close()
        # No request waits longer in a worker.
        self.figure("slowest of the first answers", max(first), "s", at_most=4)
        counts = sorted(client.n for client in clients)
        self.figure("answers", sum(counts), at_least=n_clients * n_each)
        self.figure("failed requests", len(wrong), exactly=0, why=wrong[:3])
        self.figure("answers of the fastest client divided by those of the slowest",
                    counts[-1] / max(counts[0], 0.1), at_most=at_most)
        self.figure("slowest answer divided by the mean", longest[-1] * len(longest) / sum(longest),
                    at_most=10)

    def length_of(self, port, data):
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as sock:
            sock.sendall(data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            with sock.makefile("rb") as stream:
                received = stream.read()
        check_answer(read_answer(io.BytesIO(received)))
        # "keep-alive" instead of "close".
        return len(received) + len("keep-alive") - len("close")

    def exchange(self, selector, is_enough):
        """Goes on until is_enough(the number of answers).  Returns the seconds of all answers in order,
        and what failed."""
        taken, wrong = [], []
        deadline = time.monotonic() + DEADLINE_S
        while not is_enough(len(taken)) and not wrong and time.monotonic() < deadline:
            for key, _ in selector.select(1):
                try:
                    took = key.data.receive()
                    if took is not None:
                        taken.append(took)
                        key.data.send()
                except (OSError, ValueError) as fault:
                    wrong.append(repr(fault))
        return sorted(taken), wrong
