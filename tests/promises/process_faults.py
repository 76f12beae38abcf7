# SPDX-License-Identifier: MIT
"""Process faults.

Workers are killed, told to stop and restarted while clients write or read.  The web server answers
502 to requests that it loses with a worker, and the clients send them again.
"""
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

import ledger
from adit import fastcgi, fd_store, fronts, load, samples, stack
from adit.case import until
from adit.client import check_answer
from adit.programs import Nginx, as_service, at_socket, children, signal_all
from promise import PromiseCase, scaled

N_CLIENTS = 4

# From SIGTERM, or from the last answer after it, until the process has exited.
EXIT_S = 1


class WorkersKilled(PromiseCase):
    def test_workers_killed(self):
        """Workers are killed at random, ten in three seconds, while clients write 200 times a
        second."""
        n_workers = self.stack.n_workers()
        seconds = scaled(8, 60)
        n_killed = 0
        with ledger.Writers(self.stack) as writers:
            begin = time.monotonic()
            while time.monotonic() < begin + seconds or n_killed < 2 * seconds:
                time.sleep(random.uniform(0.1, 0.5))
                workers = self.stack.responder()[1]
                if workers:
                    signal_all([random.choice(workers)], signal.SIGKILL)
                    n_killed += 1
            until(lambda: len(self.stack.responder()[1]) == n_workers, "all workers are back")
        took_s = time.monotonic() - begin
        lost, doubled, traces = writers.compare()
        errors = writers.errors()
        good = sorted(result.end for result in writers.good())
        self.figure("workers killed", n_killed, at_least=2 * seconds)
        self.figure("requests a second", len(writers.results) / took_s, "1/s", at_least=50)
        # What the worker was working on; the slower the machine, the more that is.
        self.figure("errors a kill", len(errors) / n_killed, at_most=8)
        self.figure("longest time without a 2xx",
                    max(after - before for before, after in zip(good, good[1:])), "s", at_most=1)
        wrong = writers.not_of_contract(ledger.REFUSED + ledger.UNKNOWN)
        self.figure("answers that break the contract", len(wrong), "requests", exactly=0,
                    why=wrong[:3])
        self.figure("acknowledged but lost", len(lost), "writes", exactly=0, why=lost[:3])
        self.figure("stored twice", len(doubled), "writes", exactly=0, why=doubled[:3])
        self.figure("refused but stored", len(traces), "writes", exactly=0, why=traces[:3])


class Responder:
    """A responder on the test's listening socket, passed as spawn-fcgi does."""

    def __init__(self, shared_stack, listener, n_workers):
        program = os.path.join(shared_stack.state, "bin", "adit.fcgi")
        command = [program, "-c", shared_stack.conf_path, "--workers", str(n_workers)]
        self.started = time.monotonic()
        self.stopped = None
        self._process = subprocess.Popen(
            as_service(command), stdin=listener.fileno(), cwd="/", env=stack.CLEAN_ENV,
            stderr=subprocess.DEVNULL)

    def has_workers(self):
        return children(self._process.pid) != []

    def stop(self):
        """Sends SIGTERM.  Returns when: a moment before."""
        self.stopped = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        return self.stopped

    def wait(self, seconds=10):
        """Returns the exit status and the moment of the exit.  Kills a process that does not
        exit."""
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            status = "no end within %d s" % seconds
        return status, time.monotonic()


class FastcgiClient:
    """Sends requests until stop() is called, each on a new connection or all on a kept one."""

    def __init__(self, path, key, keeps, number):
        self._path, self._key, self._keeps, self._number = path, key, keeps, number
        self._sock = self._file = self._sent = None
        self._stop = threading.Event()
        self.answered = []  # (when it was sent, when it was answered)
        self.faults = []    # (when it was sent, what went wrong)
        # (when it was sent, what went wrong) of requests on a kept connection that closed before
        # the first byte of an answer.  A web server may repeat them.  The time is None if not sent.
        self.untaken = []
        self._is_told = False  # bytes behind an answer: no request may follow
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self):
        self._stop.set()

    def join(self):
        self._stop.set()
        self._thread.join()

    @property
    def is_used(self):
        return self.answered or self.faults or self.untaken

    def _work(self):
        n = 0
        while not self._stop.is_set():
            n += 1
            self._sent = None
            try:
                self._ask(n)
            except (OSError, EOFError, AssertionError, ValueError) as fault:
                self.faults.append((self._sent, repr(fault)))
            if not self._keeps or self.faults or self.untaken:
                self._close()
            # The responder has ended, so a kept connection is useless.
            if self._keeps and (self.faults or self.untaken or self._is_told):
                break
        self._close()

    def _close(self):
        if self._sock:
            self._file.close()
            self._sock.close()
        self._sock = None

    def _ask(self, n):
        if not self._sock:
            self._sock = fastcgi.connect(self._path)
            self._sock.settimeout(20)
            self._file = self._sock.makefile("rb")
        try:
            self._send(n)
            self._sent = time.monotonic()
            if not self._file.peek(1):
                raise EOFError("no answer")
        except (ConnectionError, EOFError) as closed:
            if not self._keeps:
                raise
            self.untaken.append((self._sent, repr(closed)))
            return
        answer = check_answer(fastcgi.read_answer(self._file))
        if answer.status != 200:
            raise AssertionError("%r" % answer)
        self.answered.append((self._sent, time.monotonic()))
        self._sock.settimeout(0)
        self._is_told = self._keeps and bool(self._file.peek(1))
        self._sock.settimeout(20)

    def _send(self, n):
        method, path, body = "GET", "/ssh_credentials", b""
        if n % 3 == 0:
            method, path, body = "PUT", "/edges/tls/stop-%d/mutual_tls" % self._number, b"{}"
        self._sock.sendall(fastcgi.records(variables(self._key, method, path, body), body,
                                           self._keeps))


def variables(key, method, path, body):
    return {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": "",
            "REQUEST_SCHEME": "http", "HTTP_HOST": "adit.test", "SERVER_NAME": "adit.test",
            "SERVER_PORT": "80", "HTTP_AUTHORIZATION": "Bearer " + key,
            "HTTP_SERVICE_VERSION": "2", "CONTENT_LENGTH": str(len(body)) if body else "",
            "CONTENT_TYPE": "application/json" if body else ""}


class OwnSocket(PromiseCase):
    """Tests with responders on a private socket."""

    def setUp(self):
        # Several blocks of 8 KiB, so that an answer could be cut between two writes.
        for _ in range(20):
            self.admin.post("/ssh_credentials", samples.credential(metadata="x" * 2000))
        self.path = os.path.join(stack.make_folder(), "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen(1024)

    def tearDown(self):
        self.listener.close()
        os.unlink(self.path)
        os.rmdir(os.path.dirname(self.path))

    def clients(self, n, keeps):
        return [FastcgiClient(self.path, self.home.admin.key, keeps, i) for i in range(n)]


class Stop(OwnSocket):
    def test_sigterm(self):
        """A responder gets SIGTERM at a random time, with and without kept connections, alone or
        with workers."""
        trials = [self.trial(n % 2 == 0, (1, 2)[n // 2 % 2]) for n in range(scaled(12, 200))]
        lost = [fault for trial in trials for fault in trial["lost"]]
        statuses = [trial["status"] for trial in trials if trial["status"] != 0]
        self.figure("trials", len(trials), exactly=scaled(12, 200))
        self.figure("requests answered", sum(trial["answered"] for trial in trials),
                    at_least=10 * len(trials))
        self.figure("requests answered after SIGTERM", sum(trial["after"] for trial in trials),
                    at_least=1)
        self.figure("answers lost or cut", len(lost), exactly=0, why=lost[:3])
        self.figure("exit statuses other than 0", len(statuses), exactly=0, why=statuses[:3])
        self.figure("slowest exit", max(trial["end_s"] for trial in trials), "s", at_most=EXIT_S)

    def trial(self, keeps, n_workers):
        responder = Responder(self.stack, self.listener, n_workers)
        clients = self.clients(N_CLIENTS, keeps)
        until(lambda: all(client.is_used for client in clients),
              "the clients are answered")
        time.sleep(random.uniform(0, 0.2))
        stopped = responder.stop()
        # Endless requests would keep the responder from ending.  A web server stops sending too.
        time.sleep(random.uniform(0, 0.02))
        for client in clients:
            client.stop()
        status, ended = responder.wait()
        # Connections that were not accepted wait for the next responder.
        successor = Responder(self.stack, self.listener, 1)
        for client in clients:
            client.join()
        successor.stop()
        successor.wait()
        return self.figures_of(clients, stopped, status, ended)

    def figures_of(self, clients, stopped, status, ended):
        answered = [pair for client in clients for pair in client.answered]
        last = max([end for _, end in answered if end < ended], default=stopped)
        lost = [fault for client in clients for fault in client.faults]
        lost += [untaken for client in clients for untaken in client.untaken
                 if untaken[0] and untaken[0] < stopped]
        return {"lost": lost, "status": status, "answered": len(answered),
                "after": sum(1 for sent, _ in answered if sent > stopped),
                "end_s": ended - max(stopped, last)}


class Restart(OwnSocket):
    def test_restart_under_load(self):
        """A responder is stopped and the next one started, again and again, on one socket.  Eight
        clients send requests all the time."""
        clients = self.clients(2 * N_CLIENTS, False)
        n = scaled(5, 40)
        statuses = []
        for _ in range(n):
            responder = Responder(self.stack, self.listener, 4)
            until(responder.has_workers, "the responder")
            time.sleep(random.uniform(0.2, 0.7))
            responder.stop()
            statuses.append(responder.wait()[0])
        last = Responder(self.stack, self.listener, 4)
        time.sleep(0.3)
        for client in clients:
            client.join()
        last.stop()
        last.wait()
        self.assertEqual(statuses, [0] * n)
        times = [end - sent for client in clients for sent, end in client.answered]
        faults = [fault for client in clients for fault in client.faults]
        self.figure("restarts", n, exactly=scaled(5, 40))
        self.figure("requests", len(times), at_least=20 * n)
        self.figure("failed requests", len(faults), exactly=0, why=faults[:3])
        self.figure("median answer", 1000 * statistics.median(times), "ms", at_most=100)
        self.figure("slowest answer", max(times), "s", at_most=3)

    def command(self):
        return as_service([os.path.join(self.stack.state, "bin", "adit.fcgi"), "-c",
                           self.stack.conf_path, "--workers", "2"])

    def restart_behind(self, port, restart):
        """Calls restart() again and again while clients go through the web server at the port."""
        n = scaled(5, 200)
        with subprocess.Popen([sys.executable, load.__file__, "127.0.0.1:%d" % port,
                               self.home.admin.key, str(2 * N_CLIENTS)], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as clients:
            self.assertEqual(clients.stdout.readline(), "ready\n")
            for _ in range(n):
                time.sleep(random.uniform(0.2, 0.5))  # the clients are slow
                restart()
            found = json.loads(clients.communicate(timeout=60)[0])
        self.figure("restarts", n, exactly=scaled(5, 200))
        self.figure("requests", found["n"], at_least=10 * n)
        self.figure("failed requests", len(found["failures"]), exactly=0,
                    why=found["failures"][:3])

    def restart_with_store(self, front):
        """Restarts the responder as systemd does, which stores the connections that are kept."""
        store = fd_store.Store(self.listener, self.path + ".notify")
        processes = [store.start(self.command())]
        n_stored = []

        def restart():
            self.assertEqual(store.stop(processes.pop()), (0, ""))
            n_stored.append(len(store.fds))
            processes.append(store.start(self.command()))
        try:
            with front() as port:
                self.restart_behind(port, restart)
                self.figure("connections kept", sum(n_stored), at_least=len(n_stored))
        finally:
            store.stop(processes.pop())
            store.close()

    @contextlib.contextmanager
    def nginx(self):
        with Nginx(self.stack, at_socket(self.stack, self.path)) as nginx:
            yield nginx.port

    @contextlib.contextmanager
    def apache(self):
        server = fronts.ReusingApache(self.stack)
        server.socket = self.path
        front = server.add("apache-proxy-fcgi", "")
        server.start()
        try:
            yield front.port
        finally:
            server.stop()

    def test_restart_behind_nginx(self):
        """The same behind nginx, under systemd, which stores the connections that nginx keeps. The
        clients write and read."""
        self.restart_with_store(self.nginx)

    def test_restart_behind_apache(self):
        """The same behind Apache with mod_proxy_fcgi, which keeps its connections
        (enablereuse=on)."""
        self.restart_with_store(self.apache)

    def test_restart_without_store(self):
        """The next responder is started before its predecessor is stopped. Nobody stores connections,
        and nginx closes those that are idle."""
        responders = [Responder(self.stack, self.listener, 2)]

        def restart():
            responders.append(Responder(self.stack, self.listener, 2))
            until(responders[-1].has_workers, "the next responder")
            responders[-2].stop()
        with self.nginx() as port:
            self.restart_behind(port, restart)
            self.figure("end of the last but one", responders[-2].wait()[1] - responders[-2].stopped,
                        "s", at_most=5)
        responders[-1].stop()
        self.assertEqual([responder.wait()[0] for responder in responders], [0] * len(responders))
