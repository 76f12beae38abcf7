# SPDX-License-Identifier: MIT
"""aditctl session list and session end: with a gateway, and with sockets that misbehave."""
import os
import re
import socket
import threading

from adit import stack
from adit.case import Case
from adit.ssh_gateway import SOCKET, GatewayCase, have_ended, stay

COLUMNS = ["PID", "SINCE", "FINGERPRINT", "ACCOUNT", "CREDENTIALS"]
SESSION = "12\t1700000000\tSHA256:x\tac_x\tsshcr_a,sshcr_b"
UNKNOWN = "that this program does not know; install the same version of both"


class SessionCase(Case):
    def ctl(self, socket_path, *words, status=0):
        """Runs aditctl with that socket.  Returns its standard output, or its message."""
        path = os.path.join(self.stack.folder, "session.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[gateway]\nsocket = %s\n" % socket_path)
        done = stack.run([os.path.join(stack.BUILD, "aditctl"), "-c", path, "session", *words],
                         check=False)
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(done.stderr.count("\n"), 1 if status else 0, done)
        return done.stderr if status else done.stdout

    def rows(self, socket_path):
        names, *rows = [line.split("\t") for line in self.ctl(socket_path, "list").splitlines()]
        self.assertEqual(names, COLUMNS)
        return rows


class Gateway(SessionCase, GatewayCase):
    def setUp(self):
        self.socket = self.gateway.inside.path(SOCKET)

    def session(self, *rules):
        """A key with two credentials, a tunnel on it, and the row of the session."""
        key = self.new_key(*rules)
        self.credential(key, *rules)
        tunnel, = self.standing(self.gateway.tunnel(key))
        return key, tunnel, next(row for row in self.rows(self.socket) if row[2] == key.fingerprint)

    def test_list(self):
        self.assertEqual(self.rows(self.socket), [])
        before = self.now()
        key, _, (pid, since, _, account, idents) = self.session("bind:a.example.com")
        self.assertEqual({int(pid): (key.fingerprint, account, idents.split(","))},
                         self.gateway.sessions())
        self.assertEqual(account, self.home.id)
        self.assertRegex(idents, r"^sshcr_\w{27},sshcr_\w{27}$")
        self.assertRegex(since, r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(before <= since <= self.now(), since)

    @staticmethod
    def now():
        return stack.run(["date", "-u", "+%FT%TZ"]).stdout.strip()

    def test_end(self):
        """It ends that session and no other.  The key may log in again."""
        key, tunnel, (pid, *_) = self.session()
        _, other, (other_pid, *_) = self.session()
        self.assertEqual(self.ctl(self.socket, "end", pid), "")
        self.assertTrue(have_ended([tunnel]))
        self.assertTrue(stay(other))
        self.assertEqual([row[0] for row in self.rows(self.socket)], [other_pid])
        self.standing(self.gateway.tunnel(key))
        self.assertIn("is not a session that the gateway let in",
                      self.ctl(self.socket, "end", pid, status=1))

    def test_only_sessions_end(self):
        _, tunnel, _ = self.session()
        for pid in (1, self.gateway.sshd.inner_pid, self.gateway.daemon.inner_pid, 2**31 - 1):
            with self.subTest(pid):
                self.assertEqual(self.ctl(self.socket, "end", str(pid), status=1), (
                    "aditctl: process %d is not a session that the gateway let in; 'aditctl"
                    " session list' shows those\n" % pid))
        self.assertTrue(stay(tunnel) and self.gateway.sshd.runs() and self.gateway.daemon.runs())


class Answers(SessionCase):
    """A server in place of the daemon."""
    stack_name = "aditctl"

    def answered(self, answer, *words, status=0):
        """Runs aditctl against a socket that gives this answer.  Returns the question, too."""
        path = os.path.join(self.stack.folder, "answers.sock")
        asked = []

        def serve(server):
            with server.accept()[0] as peer, peer.makefile("rb") as file:
                asked.append(file.read().decode())
                peer.sendall(answer.encode())

        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen(1)
            server.settimeout(30)
            thread = threading.Thread(target=serve, args=(server,))
            thread.start()
            try:
                said = self.ctl(path, *words, status=status)
            finally:
                thread.join()
                os.remove(path)
        return asked[0], said

    def test_list(self):
        self.assertEqual(self.answered("ok\n%s\n.\n" % SESSION, "list"), ("list\n", (
            "\t".join(COLUMNS) + "\n12\t2023-11-14T22:13:20Z\tSHA256:x\tac_x\tsshcr_a,sshcr_b\n")))
        self.assertEqual(self.answered("ok\n.\n", "list")[1], "\t".join(COLUMNS) + "\n")

    def test_end(self):
        self.assertEqual(self.answered("ok\n.\n", "end", "12"), ("end\n12\n", ""))

    def test_other_answers(self):
        self.each([(answer, answer, words, said) for answer, words, said in (
            ("misuse\nonly root\n.\n", ["list"], "adit-gateway answers: only root"),
            ("misuse\nonly root\n.\n", ["end", "1"], "adit-gateway answers: only root"),
            ("none\n.\n", ["list"], "adit-gateway answers: none"),
            ("what\n.\n", ["end", "1"], "adit-gateway answers: what"),
            ("ok\n%s\n.\n" % SESSION.replace("17", "-17"), ["list"], UNKNOWN),
            ("ok\n%s\tx\n.\n" % SESSION, ["list"], UNKNOWN),
            ("ok\n12\n.\n", ["list"], UNKNOWN),
            ("ok\n", ["list"], "the answer was cut off"),
            ("", ["end", "1"], "the answer was cut off"),
        )], lambda answer, words, said: self.assertIn(
            said, self.answered(answer, *words, status=1)[1]))

    def test_no_answer_in_time(self):
        """A daemon that hangs, with room for another asker and without."""
        path = os.path.join(self.stack.folder, "hangs.sock")
        says = ("aditctl: cannot ask adit-gateway: %s: no answer in time; to restart it, run:"
                " systemctl restart adit-gateway\n" % path)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            self.addCleanup(os.remove, path)
            server.listen(0)
            self.assertEqual(self.ctl(path, "list", status=1), says)
            # The first one still waits to be accepted.
            self.assertEqual(self.ctl(path, "list", status=1), says)

    def test_no_daemon(self):
        for words in (["list"], ["end", "1"]):
            self.assertEqual(self.ctl("/nonexistent/ssh.sock", *words, status=1), (
                "aditctl: cannot ask adit-gateway: /nonexistent/ssh.sock: No such file or"
                " directory; to start it, run: systemctl start adit-gateway; only root and its own"
                " user may ask it\n"))

    def test_not_a_process(self):
        for word in ("x", "", "0", "-1", "2147483648", "1\n2"):
            with self.subTest(word):
                done = stack.run([os.path.join(stack.BUILD, "aditctl"), "session", "end", "--",
                                  word], check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(re.search("is not a process id", done.stderr), done)
