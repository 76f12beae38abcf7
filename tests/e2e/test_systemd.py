# SPDX-License-Identifier: MIT
"""The protocol between the responder and systemd: the passed socket, and readiness."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess

from adit import fastcgi, fd_store, stack
from adit.case import Case, until
from adit.programs import Peer

PROGRAM = os.path.join(stack.BUILD, "adit.fcgi")
DEADLINE_S = 60

# systemd does this between fork and exec.
AS_SYSTEMD = 'export LISTEN_PID=${PID:-$$}; exec "$0" "$@" 3<&"$FD"'


class Systemd(Case):
    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "adit.sock")

    def listening(self):
        """A listening socket, as systemd holds it."""
        sock = socket.socket(socket.AF_UNIX)
        self.addCleanup(sock.close)
        sock.bind(self.path)
        sock.listen(100)
        return sock

    def is_listened_on(self):
        """Whether a program listens.  A connection would already count as a request."""
        with open("/proc/net/unix", encoding="utf-8") as file:
            rows = [line.split() for line in file]
        accepts = "00010000"
        return any(row[-1] == self.path and row[3] == accepts for row in rows)

    def start(self, *arguments, passed, env=None):
        """Starts the responder with a socket on descriptor 3."""
        process = subprocess.Popen(
            ["/bin/bash", "-c", AS_SYSTEMD, PROGRAM, "-c", self.stack.conf_path, *arguments],
            env={**stack.CLEAN_ENV, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "adit.socket",
                 "FD": str(passed.fileno()), **(env or {})},
            pass_fds=[passed.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        self.addCleanup(self.stop, process)
        return process

    def stop(self, process):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=DEADLINE_S)[1]
        return process.returncode, said.decode()

    def receiver(self, address):
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(receiver.close)
        receiver.bind(address)
        receiver.settimeout(DEADLINE_S)
        return receiver

    def ask(self):
        answer = fastcgi.ask(self.path, {"REQUEST_METHOD": "GET", "PATH_INFO": "/readyz",
                                         "HTTP_HOST": "adit.test"})
        return answer.status


class Socket(Systemd):
    def test_passed_socket(self):
        """All workers serve the backlog.  The responder does not remove the socket."""
        sock = self.listening()
        with fastcgi.connect(self.path) as early, early.makefile("rb") as file:
            early.sendall(fastcgi.records({"REQUEST_METHOD": "GET", "PATH_INFO": "/livez"}))
            process = self.start(passed=sock)
            self.assertEqual(fastcgi.read_answer(file).status, 200)
        self.assertEqual(self.ask(), 200)
        until(lambda: len(self.stack.children(process.pid)) == self.stack.n_workers(), "all workers")
        self.assertEqual(self.stop(process), (0, ""))
        self.assertTrue(os.path.exists(self.path))

    def test_one_worker(self):
        """A single worker runs without a supervisor."""
        process = self.start("--workers", "1", passed=self.listening())
        self.assertEqual(self.ask(), 200)
        self.assertEqual(self.stack.children(process.pid), [])
        self.assertEqual(self.stop(process), (0, ""))

    def test_socket_activate(self):
        """systemd's own tool starts the responder at the first request."""
        process = subprocess.Popen(
            ["systemd-socket-activate", "-l", self.path, PROGRAM, "-c", self.stack.conf_path],
            env=stack.CLEAN_ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)
        self.addCleanup(self.stop, process)
        until(self.is_listened_on, "the tool's socket")
        self.assertEqual(self.ask(), 200)
        until(lambda: len(self.stack.children(process.pid)) == self.stack.n_workers(), "all workers")
        self.assertEqual(self.stop(process)[0], 0)

    def test_refused(self):
        """Anything other than one listening socket stops the start, with the reason."""
        plain = socket.socket(socket.AF_UNIX)
        self.addCleanup(plain.close)
        null = open("/dev/null", "rb")
        self.addCleanup(null.close)
        sock = self.listening()
        no_socket = "descriptor 3 is not a listening socket"
        one = "LISTEN_FDS: must be 1"
        for name, passed, env, arguments, says in (
                ("not listening", plain, {}, (), no_socket),
                ("not a socket", null, {}, (), no_socket),
                ("two", sock, {"LISTEN_FDS": "2"}, (), one),
                ("more than the store holds", sock, {"LISTEN_FDS": "1026"}, (), one),
                ("no number", sock, {"LISTEN_FDS": "x"}, (), one),
                ("negative", sock, {"LISTEN_FDS": "-1"}, (), one),
                ("more than a number holds", sock, {"LISTEN_FDS": "9" * 30}, (), one),
                ("an empty number", sock, {"LISTEN_FDS": ""}, (), one),
                ("a socket of its own too", sock, {},
                 ("--listen", "unix:" + self.path + ".2"), "--listen names a socket")):
            with self.subTest(name):
                process = self.start(*arguments, passed=passed, env=env)
                said = process.communicate(timeout=DEADLINE_S)[1].decode()
                self.assertEqual(process.returncode, 1, said)
                self.assertIn(says, said)
                self.assertEqual(said.count("\n"), 1, said)

    def test_not_for_this_process(self):
        """Variables of another process are ignored: the socket on descriptor 0 serves."""
        sock = self.listening()
        null = open("/dev/null", "rb")
        self.addCleanup(null.close)
        for name, pid in (("another's", "1"), ("no number", "x"), ("nobody's", "0")):
            with self.subTest(name):
                process = self.start(passed=null, env={"PID": pid})
                # Without a socket it runs as CGI, and the environment has no request.
                said = process.communicate(timeout=DEADLINE_S)[1].decode()
                self.assertEqual(process.returncode, 1)
                self.assertIn("no CGI request", said)
        process = subprocess.Popen(
            [PROGRAM, "-c", self.stack.conf_path], stdin=sock, stderr=subprocess.PIPE,
            env={**stack.CLEAN_ENV, "LISTEN_PID": "1", "LISTEN_FDS": "1"})
        self.addCleanup(self.stop, process)
        self.assertEqual(self.ask(), 200)
        self.assertEqual(self.stop(process), (0, ""))


class Readiness(Systemd):
    def test_told_once(self):
        for name, address, variable in (
                ("a path", self.path + ".notify", self.path + ".notify"),
                ("an abstract name", "\0adit-%d" % os.getpid(), "@adit-%d" % os.getpid())):
            with self.subTest(name):
                receiver = self.receiver(address)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path)
                process = self.start(passed=self.listening(), env={"NOTIFY_SOCKET": variable})
                self.assertEqual(receiver.recv(100), b"READY=1")
                self.assertEqual(self.ask(), 200)
                self.assertEqual(self.stop(process), (0, ""))
                receiver.setblocking(False)
                self.assertRaises(BlockingIOError, receiver.recv, 100)

    def test_on_a_socket_of_its_own(self):
        receiver = self.receiver(self.path + ".notify")
        process = subprocess.Popen(
            [PROGRAM, "-c", self.stack.conf_path, "--listen", "unix:" + self.path],
            stderr=subprocess.PIPE, env={**stack.CLEAN_ENV, "NOTIFY_SOCKET": self.path + ".notify"})
        self.addCleanup(self.stop, process)
        self.assertEqual(receiver.recv(100), b"READY=1")
        self.assertEqual(self.ask(), 200)

    def test_drain(self):
        """After SIGTERM the responder tells systemd how long it goes on.  SIGINT ends that."""
        settings = os.path.join(self.folder, "adit.conf")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(self.stack.read_conf() + "\n[service]\ndrain = 200s\n"
                       "[secrets]\nkey_file = %s/adit.key\n" % self.stack.state)
        for n_workers in ("1", "2"):
            with self.subTest(n_workers=n_workers):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path)
                    os.unlink(self.path + ".notify")
                receiver = self.receiver(self.path + ".notify")
                process = self.start("-c", settings, "--workers", n_workers,
                                     passed=self.listening(),
                                     env={"NOTIFY_SOCKET": self.path + ".notify"})
                self.assertEqual(receiver.recv(100), b"READY=1")
                self.assertEqual(self.ask(), 200)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(receiver.recv(100), b"STOPPING=1\nEXTEND_TIMEOUT_USEC=215000000")
                until(lambda: self.ask() == 503, "the workers drain")
                process.send_signal(signal.SIGINT)
                said = process.communicate(timeout=DEADLINE_S)[1].decode()
                self.assertIn('"event":"draining","duration_ms":"200000"', said)
                self.assertNotIn("error", said)
                self.assertEqual(process.returncode, 0, said)

    def test_not_told_where_it_cannot_start(self):
        receiver = self.receiver(self.path + ".notify")
        receiver.setblocking(False)
        settings = os.path.join(self.folder, "adit.conf")
        with open(settings, "w", encoding="utf-8") as file:
            file.write("[secrets]\nkey_file = missing\n")
        process = self.start("-c", settings, passed=self.listening(),
                             env={"NOTIFY_SOCKET": self.path + ".notify"})
        said = process.communicate(timeout=DEADLINE_S)[1].decode()
        self.assertEqual(process.returncode, 1)
        self.assertIn(os.path.join(self.folder, "missing"), said)
        self.assertRaises(BlockingIOError, receiver.recv, 100)

    def test_nobody_listens(self):
        """If no one listens for readiness, the responder logs that and serves."""
        for name, value in (("nobody", self.path + ".none"), ("too long", "/" + "x" * 200),
                            ("empty", "")):
            with self.subTest(name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path)
                process = self.start(passed=self.listening(), env={"NOTIFY_SOCKET": value})
                self.assertEqual(self.ask(), 200)
                status, said = self.stop(process)
                self.assertEqual(status, 0)
                self.assertIn("cannot tell systemd", said)


class Store(Systemd):
    """systemd's store of file descriptors: connections outlive the responder."""

    ASK = fastcgi.records({"REQUEST_METHOD": "GET", "PATH_INFO": "/livez"}, keep=True)
    ASK_ONCE = fastcgi.records({"REQUEST_METHOD": "GET", "PATH_INFO": "/livez"})

    def setUp(self):
        super().setUp()
        self.store = fd_store.Store(self.listening(), self.path + ".notify")
        self.addCleanup(self.store.close)

    def start_workers(self, n):
        process = self.store.start([PROGRAM, "-c", self.stack.conf_path, "--workers", str(n)])
        self.addCleanup(self.stop, process)
        return process

    def connect(self, n):
        peers = [Peer(self.path) for _ in range(n)]
        for peer in peers:
            self.addCleanup(peer.close)
            self.assertEqual(peer.ask(self.ASK).status, 200)
        return peers

    def test_restart(self):
        """A restart closes no kept connection, and loses no request that arrives meanwhile."""
        for n_workers in (1, 2):
            with self.subTest(n_workers=n_workers):
                process = self.start_workers(n_workers)
                peers = self.connect(9)
                for _ in range(3):
                    self.assertEqual(self.store.stop(process), (0, ""))
                    self.assertEqual(len(self.store.fds), len(peers))
                    peers[0].sock.sendall(self.ASK)
                    process = self.start_workers(n_workers)
                    self.assertEqual(fastcgi.read_answer(peers[0].file).status, 200)
                    for peer in peers:
                        self.assertEqual(peer.ask(self.ASK).status, 200)
                until(lambda process=process, n_workers=n_workers:
                      len(self.stack.children(process.pid)) == n_workers, "all workers")
                # No other process has a connection that its worker closes.
                for peer in peers:
                    self.assertEqual(peer.ask(self.ASK_ONCE).status, 200)
                    self.assertEqual(peer.file.read(1), b"")
                    peer.close()
                self.assertEqual(self.store.stop(process), (0, ""))

    def strangers(self):
        """Connections that the responder's socket has not accepted: (its end, the peer's end)."""
        for family, address in (socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, self.path + ".2"):
            listener = socket.socket(family)
            self.addCleanup(listener.close)
            listener.bind(address)
            listener.listen()
            peer = socket.socket(family)
            peer.connect(listener.getsockname())
            yield listener.accept()[0], peer
        yield socket.socketpair()

    def test_strange_connections(self):
        """Those that no responder has accepted are closed, and leave the store."""
        strangers = list(self.strangers())
        process = self.start_workers(1)
        peers = self.connect(2)
        for are_alone in False, True:
            with self.subTest(are_alone=are_alone):
                self.assertEqual(self.store.stop(process), (0, ""))
                self.assertEqual(len(self.store.fds), len(peers))
                self.store.fds += [os.dup(own.fileno()) for own, _ in strangers]
                process = self.start_workers(1)
                for peer in peers:
                    self.assertEqual(peer.ask(self.ASK).status, 200)
                while peers:
                    peer = peers.pop()
                    self.assertEqual(peer.ask(self.ASK_ONCE).status, 200)
                    peer.close()
        for own, peer in strangers:
            own.close()
            peer.settimeout(DEADLINE_S)
            self.assertEqual(peer.recv(1), b"")
            peer.close()

    def test_sockets_of_all_addresses(self):
        """Their connections have an address each, and are kept."""
        for family, any_address, address in ((socket.AF_INET, "0.0.0.0", "127.0.0.2"),
                                             (socket.AF_INET6, "::", "127.0.0.3"),
                                             (socket.AF_INET6, "::", "::1")):
            with self.subTest(any_address, address=address):
                listener = socket.create_server((any_address, 0), family=family,
                                                dualstack_ipv6=family == socket.AF_INET6)
                self.addCleanup(listener.close)
                self.store.close()
                self.store = fd_store.Store(listener, self.path + ".notify")
                process = self.start_workers(1)
                peer = Peer((address, listener.getsockname()[1]))
                self.assertEqual(peer.ask(self.ASK).status, 200)
                self.assertEqual(self.store.stop(process), (0, ""))
                self.assertEqual(len(self.store.fds), 1)
                process = self.start_workers(1)
                self.assertEqual(peer.ask(self.ASK_ONCE).status, 200)
                peer.close()
                self.assertEqual(self.store.stop(process), (0, ""))

    def test_one_worker_stops(self):
        """The connections of a worker that is told to stop go to the next one."""
        process = self.start_workers(2)
        peers = self.connect(9)
        for _ in range(3):
            workers = self.stack.children(process.pid)
            for pid in workers:
                os.kill(pid, signal.SIGTERM)
            for peer in peers:
                self.assertEqual(peer.ask(self.ASK).status, 200)
            until(lambda: not set(workers) & set(self.stack.children(process.pid)), "new workers")
