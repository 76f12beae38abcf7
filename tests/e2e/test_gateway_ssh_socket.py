# SPDX-License-Identifier: MIT
"""Who may ask adit-gateway, and whom it signals: sessions of sshd that it let in, and nothing
else."""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time

from adit import programs, stack
from adit.case import DEADLINE_S, until
from adit.fronts import process_name
from adit.ssh_gateway import (CONF, PROGRAMS, SOCKET, STATE, GatewayCase, OwnGateway,
                              Program, have_ended, stay)

NEEDS_ROOT = True

HELPER = PROGRAMS + "/adit-ssh-keys"
ANSWERED, CANNOT_TELL, MISUSE = range(3)

ASK = """
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
sock.sendall(sys.argv[2].encode())
sock.shutdown(socket.SHUT_WR)
print(sock.makefile().read(), end="")
"""


class SocketCase(GatewayCase):
    def helper(self, key, *options, user="adit-ssh-keys", around=(), **changes):
        """Runs the helper by hand.  Returns the completed process."""
        login = {"user": "tunnel", "fingerprint": key.fingerprint, "type": key.type,
                 "blob": key.blob, **changes}
        return stack.run(self.gateway.inside.command(
            *around, HELPER, "--socket", SOCKET, *options, *login.values(), user=user),
            check=False)

    def copied(self, program, name):
        """The path of a program under another name."""
        path = "/run/copies/" + name
        os.makedirs(self.gateway.inside.path("/run/copies"), exist_ok=True)
        if not os.path.exists(self.gateway.inside.path(path)):
            shutil.copy(program, self.gateway.inside.path(path))
        return path

    def victim(self, user, name):
        """A process of a user that is called so, and has nothing to do with sshd."""
        return Program(self.gateway, self.gateway.inside.command(
            self.copied("/bin/sleep", name), "600", user=user), os.devnull)

    def delete(self, path):
        self.assert_ok(self.admin.delete(path), 204)


class Askers(SocketCase):
    def check_refused(self, done, status):
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertEqual(self.gateway.sessions(), {})

    def test_other_users(self):
        """Only the socket's group may connect."""
        key = self.new_key()
        for user in "stranger", "tunnel":
            with self.subTest(user):
                done = self.helper(key, user=user)
                self.check_refused(done, CANNOT_TELL)
                self.assertIn("Permission denied", done.stderr)

    def test_helper_without_sshd(self):
        """The parent of the helper has to be root's sshd.  Any other gets no answer, and lives on
        when the credential goes."""
        key = self.gateway.key()
        path = self.credential(key)
        sshd = self.copied("/bin/bash", "sshd")
        for name, user, around in (
                ("a shell", "adit-ssh-keys", ("/bin/bash", "-c", '"$@"; exit $?', "-")),
                ("called sshd", "adit-ssh-keys", (sshd, "-c", '"$@"; exit $?', "-")),
                ("root's, not sshd", None, ("/bin/bash", "-c", '"$@"; exit $?', "-", "setpriv",
                                            "--reuid=adit-ssh-keys", "--regid=adit-ssh-keys",
                                            "--clear-groups"))):
            with self.subTest(name):
                done = self.helper(key, user=user, around=around)
                self.check_refused(done, MISUSE)
                self.assertIn("only sshd may ask", done.stderr)
        with self.subTest("an asker that stays"):
            shell = Program(self.gateway, self.gateway.inside.command(
                sshd, "-c", '"$@"; sleep 600; exit', "-", HELPER, "--socket", SOCKET,
                "tunnel", key.fingerprint, key.type, key.blob, user="adit-ssh-keys"), os.devnull)
            until(lambda: "sleep" in map(process_name, programs.children(shell.pid)),
                  "the end of the helper")
            self.delete(path)
            time.sleep(0.8)
            self.assertTrue(shell.runs())
            shell.stop()

    def test_administrators(self):
        """The helper's user may not list or end sessions."""
        key = self.gateway.key()
        self.credential(key)
        tunnel, = self.standing(self.gateway.tunnel(key))
        pid, = self.gateway.sessions()
        for question in "list\n", "status\n", "end\n%d\n" % pid:
            with self.subTest(question):
                ask = ("/usr/bin/python3", "-c", ASK, SOCKET, question)
                done = stack.run(self.gateway.inside.command(*ask, user="adit-ssh-keys"))
                self.assertEqual(done.stdout.splitlines()[0], "misuse")
                done = stack.run(self.gateway.inside.command(*ask, user="stranger"), check=False)
                self.assertIn("PermissionError", done.stderr)
                done = stack.run(self.gateway.inside.command(*ask, user="adit-gateway"))
                self.assertEqual(done.stdout.splitlines()[0], "ok")
        self.assertTrue(have_ended([tunnel]))

    def test_arguments_of_the_helper(self):
        key, other = self.new_key(), self.new_key()
        for name, status, changes in (
                ("another key's fingerprint", MISUSE, {"fingerprint": other.fingerprint}),
                ("no fingerprint", MISUSE, {"fingerprint": ""}),
                ("an MD5", MISUSE, {"fingerprint": "MD5:00:11:22:33:44:55:66:77:88:99:aa:bb:cc"}),
                ("a certificate", ANSWERED, {"type": "ssh-ed25519-cert-v01@openssh.com"}),
                ("no key", MISUSE, {"blob": "AAAA"}),
                ("a line break", MISUSE, {"blob": key.blob + "\nrestrict"}),
                ("a blank", MISUSE, {"type": key.type + " x"}),
                ("a line break in the type", MISUSE, {"type": "ssh-ed25519\nlist"})):
            with self.subTest(name):
                self.check_refused(self.helper(key, **changes), status)
        with self.subTest("an account that is none"):
            self.check_refused(self.helper(key, "--account", "x"), MISUSE)
        with self.subTest("no socket"):
            done = self.helper(key, "--socket", "")
            self.check_refused(done, MISUSE)
            self.assertIn("--socket is empty", done.stderr)
        with self.subTest("too few"):
            done = stack.run(self.gateway.inside.command(HELPER, "tunnel"), check=False)
            self.assertEqual((done.returncode, done.stdout), (MISUSE, ""))

    def test_daemon_that_hangs_or_is_away(self):
        key = self.new_key()
        self.gateway.daemon.freeze()
        try:
            done = self.helper(key)
            self.assertEqual((done.returncode, done.stdout), (CANNOT_TELL, ""))
        finally:
            self.gateway.daemon.thaw()
        self.gateway.daemon.stop()
        for path, says in ((SOCKET, SOCKET + ": No such file or directory; is adit-gateway running?"),
                           (PROGRAMS + "/adit-ssh-keys/x", "Not a directory")):
            with self.subTest(path):
                done = self.helper(key, "--socket", path)
                self.assertEqual((done.returncode, done.stdout), (CANNOT_TELL, ""))
                self.assertTrue(done.stderr.endswith(says + "\n"), done.stderr)
        self.gateway.start_daemon()

    def test_a_folder_that_cannot_be_made(self):
        """The daemon says what to do."""
        self.gateway.inside.write("/run/missing.conf", "[gateway]\nstate = /run/missing/sessions\n")
        done = stack.run(self.gateway.inside.command(
            PROGRAMS + "/adit-gateway", "-c", "/run/missing.conf"), check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/run/missing/sessions: cannot make the folder: No such file or directory; make"
                      " its parent folder for the user of adit-gateway, or set state in [gateway] to"
                      " another folder", done.stderr)


class Garbage(SocketCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key = cls.gateway.key()
        cls.credential(cls(), cls.key)

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(DEADLINE_S)
        sock.connect(self.gateway.inside.path(SOCKET))
        self.addCleanup(sock.close)
        return sock

    def test_questions(self):
        """Whatever comes, the daemon refuses it and goes on."""
        for question in (b"", b"\n", b"x", b"list", b"list \n", b"LIST\n", b"keys\n", b"keys",
                         b"keys\n\n\n\n\n\n", b"keys\n" + b"\n" * 2000, b"\0" * 1000,
                         b"keys\n\0\n\0\n\0\n\0\n\0\n", bytes(range(256)) * 100, b"end\n",
                         b"end\n0\n", b"end\n1\n", b"end\n-1\n", b"end\n%d\n" % (1 << 31),
                         b"end\n%d\n" % (1 << 64), b"end\nx\n", b"keys\nx\nx\n" + b"x" * 40000,
                         b"y" * (1 << 20)):
            with self.subTest(question[:20]):
                sock = self.connect()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    sock.sendall(question)
                    sock.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    with sock.makefile("rb") as file:
                        self.assertNotEqual(file.read()[:3], b"ok\n")
        self.assertTrue(self.gateway.answers())
        self.standing(self.gateway.tunnel(self.key))

    def test_askers_that_hang_up(self):
        for question in b"", b"status\n", b"keys\n":
            for _ in range(50):
                with self.connect() as sock:
                    sock.sendall(question)
        self.assertTrue(self.gateway.answers())

    def test_mute_connections(self):
        """200 connections that say nothing keep nobody from logging in, and are closed."""
        mute = [self.connect() for _ in range(200)]
        self.standing(self.gateway.tunnel(self.key))
        for sock in mute:
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(sock.recv(1), b"")

    def test_slow_bytes(self):
        """A connection that sends a byte now and then is closed all the same."""
        sock = self.connect()
        self.standing(self.gateway.tunnel(self.key))
        started = time.monotonic()
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while time.monotonic() - started < DEADLINE_S:
                sock.sendall(b"k")
                time.sleep(0.05)
        self.assertTrue(self.gateway.answers())

    def test_unread_answer(self):
        """An asker that does not read its answer holds nothing up."""
        for _ in range(20):
            self.connect().sendall(b"status\n")
        self.standing(self.gateway.tunnel(self.key))

    def test_flood(self):
        """Connections come and go without a pause while a client logs in."""
        flood = Program(self.gateway, self.gateway.inside.command(
            "/usr/bin/python3", "-c", "import socket\nwhile True:\n"
            "    s = socket.socket(socket.AF_UNIX)\n"
            "    try:\n        s.connect('%s')\n    except OSError:\n        pass\n"
            "    s.close()" % SOCKET, user="adit-ssh-keys"), os.devnull)
        try:
            until(lambda: programs.cpu_seconds([flood.pid]) > 0.2, "the flood")
            tunnels = [self.gateway.tunnel(self.key) for _ in range(5)]
            self.standing(*tunnels)
            self.assertTrue(flood.runs())
        finally:
            flood.stop(signal.SIGKILL)


class Pids(SocketCase):
    def opened(self):
        """A credential, its tunnel, and the process id of its monitor, inside."""
        key = self.gateway.key()
        path = self.credential(key)
        before = set(self.gateway.sessions())
        tunnel, = self.standing(self.gateway.tunnel(key))
        pid, = set(self.gateway.sessions()) - before
        return path, tunnel, pid

    def started(self, pid):
        """When a process started, as /proc tells."""
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[19])

    def forge(self, name, text):
        path = self.gateway.inside.path(STATE + "/" + name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chown(path, 4102, 4102)

    def test_forged_files(self):
        """Files of sessions that name other processes.  The daemon forgets them."""
        _, tunnel, pid = self.opened()
        _, mistaken, mistaken_pid = self.opened()
        with open(self.gateway.inside.path("%s/%d" % (STATE, pid)), encoding="ascii") as file:
            text = file.read()
        own_start = next(line for line in text.splitlines() if line.startswith("started "))
        boot = next(line for line in text.splitlines() if line.startswith("boot "))
        fingerprint = next(line for line in text.splitlines() if line.startswith("fingerprint "))
        text = text.replace(fingerprint, "fingerprint SHA256:" + 43 * "A")
        victims = [self.victim(*row) for row in (
            ("stranger", "sleep"), ("root", "sleep"), ("stranger", "sshd"),
            ("adit-ssh-keys", "sshd-session"), ("root", "xsshd"))]
        keeper = self.victim("root", "sshd")
        self.gateway.daemon.stop()

        def said(started):
            return text.replace(own_start, "started %d" % started)
        for victim in victims:
            self.forge(str(victim.inner_pid), said(self.started(victim.pid)))
        # A process that could be a monitor, but started at another time or before the boot.
        sshd = self.gateway.sshd
        self.forge(str(sshd.inner_pid), said(self.started(sshd.pid) + 1))
        self.forge(str(keeper.inner_pid), said(self.started(keeper.pid)).replace(
            boot, "boot 00000000-0000-0000-0000-000000000000"))
        self.forge(str(mistaken_pid), text)
        # Names and texts that are none.
        for name in "0", "1", "-1", "99999999999", "x", "1x", "1.new", str(1 << 32):
            self.forge(name, said(self.started(self.gateway.inside.first)))
        os.mkdir(self.gateway.inside.path(STATE + "/2"))
        os.symlink("1", self.gateway.inside.path(STATE + "/3"))
        self.gateway.start_daemon()
        time.sleep(0.8)
        self.assertEqual([victim.runs() for victim in [*victims, keeper, sshd]], [True] * 7)
        self.assertTrue(tunnel.stands() and mistaken.stands())
        self.assertEqual(list(self.gateway.sessions()), [pid])
        os.rmdir(self.gateway.inside.path(STATE + "/2"))
        self.assertEqual(self.gateway.session_files(), [str(pid)])
        for victim in [*victims, keeper]:
            victim.stop()

    def test_cut_files(self):
        """What a session stands on is not known if its file was cut, wherever: the session ends."""
        _, other, _ = self.opened()
        for cut in (lambda text: "", lambda text: text[:1], lambda text: text[:len(text) // 3],
                    lambda text: text[:len(text) // 2], lambda text: text[:-1],
                    lambda text: text + "x" * (4 << 20)):
            _, tunnel, pid = self.opened()
            with open(self.gateway.inside.path("%s/%d" % (STATE, pid)), encoding="ascii") as file:
                text = cut(file.read())
            with self.subTest(text[-100:]):
                self.gateway.daemon.stop()
                self.forge(str(pid), text)
                self.gateway.start_daemon()
                self.assertTrue(have_ended([tunnel]))
                self.assertIn('"file":"%d"' % pid, self.gateway.log())
        self.assertTrue(other.stands())

    def test_folder_that_others_may_write(self):
        """Others could name processes there, so the daemon does not start."""
        folder = self.gateway.inside.path(STATE)
        self.gateway.daemon.stop()
        for mode, owner in (0o770, 4102), (0o702, 4102), (0o700, 4106):
            with self.subTest("%o" % mode):
                os.chmod(folder, mode)
                os.chown(folder, owner, 4102)
                done = stack.run(self.gateway.inside.command(
                    PROGRAMS + "/adit-gateway", "-c", CONF, user="adit-gateway"), check=False)
                self.assertEqual(done.returncode, 1)
                self.assertIn(STATE, done.stderr)
        os.chmod(folder, 0o700)
        os.chown(folder, 4102, 4102)
        self.gateway.start_daemon()

    def use_again(self, pid, user, name):
        """Starts a process that has this process id inside, of a user and with a name."""
        program = self.copied("/bin/sleep", name)
        script = ('for _ in 1 2 3 4 5; do echo $(($0 - 1)) >/proc/sys/kernel/ns_last_pid; '
                  'setpriv --reuid={0} --regid={0} --clear-groups {1} 600 & '
                  '[ $! != "$0" ] || break; done; wait').format(user, program)
        around = subprocess.Popen(self.gateway.inside.command("/bin/bash", "-c", script, str(pid)),
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  env=stack.CLEAN_ENV)
        self.addCleanup(around.wait, 20)
        found = until(lambda: [outer for outer, inner, _, line in self.gateway.inside.processes()
                               if inner == pid and line == program + " 600"],
                      "a process with the id %d" % pid)
        self.addCleanup(os.kill, found[0], signal.SIGKILL)
        return found[0]

    def check_used_again(self, stop, go_on):
        """Sessions end while the daemon cannot see it, and other processes get their ids."""
        opened = [self.opened() for _ in range(3)]
        stop()
        for _, tunnel, _ in opened:
            tunnel.close()
        pids = {pid for _, _, pid in opened}
        until(lambda: not pids & {pid for _, pid, _, _ in self.gateway.inside.processes()},
              "the end of sshd's processes")
        others = [self.use_again(pid, *row) for pid, row in zip(sorted(pids), (
            ("stranger", "sleep"), ("root", "sleep"), ("root", "sshd")))]
        for path, _, _ in opened:
            self.delete(path)
        go_on()
        time.sleep(0.8)
        self.assertEqual([os.path.exists("/proc/%d/exe" % pid) for pid in others], [True] * 3)
        self.assertEqual(self.gateway.sessions(), {})
        self.assertEqual(self.gateway.ask("end\n%d\n" % min(pids)), ["none"])

    def test_pid_is_used_again(self):
        """While the daemon is frozen."""
        self.check_used_again(self.gateway.daemon.freeze, self.gateway.daemon.thaw)

    def test_pid_is_used_again_between_two_runs(self):
        self.check_used_again(lambda: self.gateway.daemon.stop(signal.SIGKILL),
                              self.gateway.start_daemon)

    def test_reload_of_sshd(self):
        """sshd is stopped and started.  Tunnels stand, and stay known."""
        path, tunnel, pid = self.opened()
        self.gateway.sshd.stop()
        self.gateway.start_sshd()
        self.assertEqual(list(self.gateway.sessions()), [pid])
        other, other_tunnel, _ = self.opened()
        self.assertTrue(stay(tunnel, other_tunnel))
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))
        self.delete(other)
        self.assertTrue(have_ended([other_tunnel]))
        until(lambda: not self.gateway.session_files(), "no file of a session")


class OwnUser(SocketCase):
    """sshd and the daemon run as one ordinary user, as tools/edge starts them."""

    gateway_type = OwnGateway

    def test_sessions(self):
        """Rules count, changes end sessions, and a restart forgets none."""
        key = self.gateway.key()
        path = self.credential(key, "bind:localhost:9100")
        tunnel = self.gateway.tunnel(key, "localhost:9100:localhost:1",
                                     "localhost:9101:localhost:1")
        self.assertTrue(tunnel.is_in())
        self.assertEqual(self.gateway.listeners(), ["127.0.0.1:9100", "[::1]:9100"])
        self.assertTrue(self.gateway.tunnel(self.gateway.key()).was_refused())
        self.gateway.daemon.stop(signal.SIGKILL)
        self.gateway.start_daemon()
        (fingerprint, _, _), = self.gateway.sessions().values()
        self.assertEqual(fingerprint, key.fingerprint)
        other, = self.standing(self.gateway.tunnel(self.new_key()))
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))
        self.assertTrue(stay(other))
        until(lambda: not self.gateway.listeners(), "the end of the listeners")

    def test_helper_of_another_user(self):
        """The daemon trusts sshd of its own user and of root, and no other."""
        self.assertEqual(self.gateway.status()["may_signal"], "no")
        key = self.new_key()
        shell = self.copied("/bin/bash", "sshd")
        os.chmod(self.gateway.inside.path(SOCKET), 0o666)
        done = self.helper(key, user="stranger", around=(shell, "-c", '"$@"; exit $?', "-"))
        self.assertEqual((done.returncode, done.stdout), (MISUSE, ""))
        self.assertEqual(self.gateway.sessions(), {})
