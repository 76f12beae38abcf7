# SPDX-License-Identifier: MIT
"""Broken answers.

Behind each web server, the program is killed in the middle of a large answer.  The client keeps its
connection and sends a second request on it.  Each answer is complete or an error in the contract's
shape, or the connection closes.  A client never waits for bytes that do not come, and never takes
part of an answer for the whole."""
import collections
import random
import signal
import socket
import statistics
import time

from adit import fronts, samples
from adit.client import Answer, check_answer, check_server_answer
from adit.programs import signal_all
from promise import PromiseCase, scaled

# A list of almost 1 MiB, and one that a program sends in one piece.
N_CREDENTIALS, N_SMALL = 80, 2
COMMENT_LEN, METADATA_LEN = 8000, 4000

# A whole answer takes about 20 ms.  The web servers give up after 10 s.
STALL_S = 15

# The small window makes the web server wait for its client.
WINDOW = 4096

# Time for the program to fill the 208 KiB of buffers between it and the web server.
HELD_UP_S = 0.03

SECOND = b"GET /livez HTTP/1.1\r\nHost: adit.test\r\n\r\n"

# By default mod_fcgid starts a program at most every three seconds.
MORE = {"apache-fcgid": "FcgidSpawnScoreUpLimit 1000000"}


class Stall(Exception):
    """The connection stays open but no byte arrives."""


class Client:
    """One kept connection."""

    def __init__(self, port):
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW)
        self.sock.settimeout(STALL_S)
        self.sock.connect(("127.0.0.1", port))
        self._file = self.sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self.sock.close()

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            pass  # closed: read() notices

    def wait(self):
        """Waits for the first byte."""
        self._file.peek(1)

    def read(self):
        """Returns the answer, or None if the connection closes first."""
        try:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = self._file.readline()
                if not line.endswith(b"\n"):
                    return None
                head += line
            answer = Answer(head[:-4], b"")
            # Without a length, a client cannot tell a cut answer from a complete one.
            length = answer.header("Content-Length")
            if length is None or answer.header("Transfer-Encoding"):
                raise AssertionError("no length: %r" % head)
            answer.body = self._file.read(int(length))
            return answer if len(answer.body) == int(length) else None
        except TimeoutError as error:
            raise Stall from error
        except ConnectionError:
            return None


class Trials:
    """The outcomes of one web server's answers."""

    def __init__(self, test, server):
        self.test, self.server = test, server
        self.found = collections.Counter()
        self.faults = []
        self.time_one()
        self.begins_s = statistics.median(self.time_one() for _ in range(5))

    def connect(self):
        return Client(self.server.fronts[0].port)

    def time_one(self):
        """Reads a whole answer.  Returns the seconds until its first byte."""
        with self.connect() as client:
            started = time.monotonic()
            client.send(self.test.request(N_CREDENTIALS))
            client.wait()
            began_s = time.monotonic() - started
            client.read()
            return began_s

    def run(self, n_listed, sends_both):
        """Sends the second request together with the first, or after its answer."""
        self.time_one()  # waits until killed programs are back
        servers, programs = self.server.processes()
        workers = programs or self.test.stack.responder()[1]
        with self.connect() as client:
            client.send(self.test.request(n_listed) + (SECOND if sends_both else b""))
            # The rest of an answer follows within milliseconds.
            time.sleep(random.uniform(0, 1.5 * self.begins_s))
            self.kill(servers, workers)
            first = self.read(client, "first", lambda answer: check_list(answer, n_listed))
            if first and not sends_both:
                client.send(SECOND)
            if first:
                self.read(client, "second", check_answer)

    def kill(self, servers, workers):
        """Stops the web server briefly, and kills the program, whose answer fills the buffers."""
        signal_all(servers, signal.SIGSTOP)
        try:
            time.sleep(HELD_UP_S)
            # mod_cgid starts its program for the request, so look again.
            signal_all(self.server.processes()[1] or workers, signal.SIGKILL)
        finally:
            signal_all(servers, signal.SIGCONT)

    def read(self, client, what, check):
        """Returns the answer, or None if the connection closed."""
        answer, outcome = None, "whole"
        try:
            answer = client.read()
            if answer is None:
                outcome = "closed"
            elif answer.status >= 500:
                outcome = "5xx"
                check_server_answer(answer)
            else:
                check(answer)
        except Stall:
            outcome = "stall"
        except (AssertionError, ValueError, IndexError) as error:
            outcome = "wrong"
            self.faults.append("%s: %.500s" % (what, error))
        self.found[what, outcome] += 1
        return answer


def check_list(answer, n_listed):
    check_answer(answer)
    if answer.status != 200 or len(answer.json["ssh_credentials"]) != n_listed:
        raise AssertionError("not the list: %r" % answer)


class BrokenAnswers(PromiseCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        account = cls.stack.account()
        client = cls.stack.client(account.admin.key)
        for _ in range(N_CREDENTIALS):
            answer = client.post("/ssh_credentials", samples.credential(
                public_key=samples.ED25519 + " " + "c" * COMMENT_LEN, metadata="m" * METADATA_LEN))
            assert answer.status == 201, answer
        cls.key = account.admin.key

    def request(self, limit):
        return ("GET /ssh_credentials?limit=%d HTTP/1.1\r\nHost: adit.test\r\n"
                "Service-Version: 2\r\nAuthorization: Bearer %s\r\n\r\n"
                % (limit, self.key)).encode()

    def check(self, kind):
        n_kills, n_small = scaled(20, 200), scaled(5, 50)
        n_broken = n_kills // 10
        server = fronts.start_one(self.stack, kind, MORE.get(kind, ""))
        self.addCleanup(server.stop)
        trials = Trials(self, server)
        found = trials.found
        n = 0
        # On a busy machine some kills come after the answer.
        while n < n_kills or (found["first", "closed"] < n_broken and n < 5 * n_kills):
            trials.run(N_CREDENTIALS, n % 2 == 0)
            n += 1
        for number in range(n_small):
            trials.run(N_SMALL, number % 2 == 0)
        self.figure("kills", n + n_small, at_least=n_kills + n_small)
        self.figure("answers cut short", found["first", "closed"], at_least=n_broken)
        self.figure("stalls", found["first", "stall"] + found["second", "stall"], exactly=0)
        self.figure("answers neither complete nor an error of the contract",
                    len(trials.faults), exactly=0, why=trials.faults[:3])

    def test_nginx(self):
        """nginx."""
        self.check("nginx")

    def test_apache_proxy_fcgi(self):
        """Apache with mod_proxy_fcgi."""
        self.check("apache-proxy-fcgi")

    def test_apache_fcgid(self):
        """Apache with mod_fcgid."""
        self.check("apache-fcgid")

    def test_apache_cgid(self):
        """Apache with mod_cgid."""
        self.check("apache-cgid")
