# SPDX-License-Identifier: MIT
"""The protocol between the responder and systemd: the passed socket, and readiness."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess

from adit import fastcgi, stack
from adit.case import Case, until

PROGRAM = os.path.join(stack.BUILD, "adit.fcgi")
DEADLINE_S = 20

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
    def receiver(self, address):
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(receiver.close)
        receiver.bind(address)
        receiver.settimeout(DEADLINE_S)
        return receiver

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
