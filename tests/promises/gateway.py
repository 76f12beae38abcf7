# SPDX-License-Identifier: MIT
"""SSH gateway.

A stock sshd asks adit-gateway, with a poll of 100 ms and a sweep of 2 s.  One second after a
credential was deleted, no tunnel stands on it, and 3 seconds after if the gateway's connection to
the database was cut or hangs.  Nothing else ends a tunnel.  While the gateway cannot tell, it lets
nobody in."""
import concurrent.futures
import os
import random
import signal
import threading
import time

from adit.case import until
from adit.programs import memory, signal_all
from adit.ssh_gateway import PROGRAMS, SOCKET, STEPS, GatewayCase, Program
from promise import PromiseCase, scaled

NEEDS_ROOT = True

# What a tunnel may take to end if the gateway's connection was cut or hangs: sweep + 1 s.
CUT_S = 3


class Login:
    """A credential and the tunnel that stands on it."""

    def __init__(self, test, **options):
        self._test = test
        self.key = test.gateway.key()
        self.path = test.credential(self.key)
        self.tunnel = test.gateway.tunnel(self.key, **options)

    def delete(self):
        """Returns when the answer came."""
        self._test.assert_ok(self._test.admin.delete(self.path), 204)
        return time.monotonic()

    def ended_after(self, since, seconds=10):
        """How long after that moment the tunnel ended, in seconds."""
        until(lambda: not self.tunnel.stands(), "the end of a tunnel", seconds)
        return time.monotonic() - since


class GatewayPromise(GatewayCase, PromiseCase):
    settings = {"poll": "100ms", "sweep": "2s"}

    def logins(self, n):
        """n tunnels that stand."""
        found = [Login(self) for _ in range(n)]
        self.standing(*(login.tunnel for login in found))
        return found

    def terminate(self):
        self.stack.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE usename = 'gateway'")

    def backends(self):
        return [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'gateway'").split()]

    def restart(self):
        self.gateway.daemon.stop(signal.SIGKILL)
        self.gateway.start_daemon()

    def figures_of(self, took, at_most, others):
        self.figure("tunnels whose credential was deleted", len(took), at_least=1)
        self.figure("slowest end of a tunnel", max(took), "s", at_most=at_most)
        self.figure("other tunnels that ended", sum(
            not login.tunnel.stands() for login in others), exactly=0)


class Deletes(GatewayPromise):
    def rounds(self, fault, n, at_most):
        """In each round a credential is deleted right after a fault."""
        others, took = self.logins(3), []
        for _ in range(n):
            login, = self.logins(1)
            time.sleep(random.uniform(0, 0.2))
            undo = fault()
            since = login.delete()
            took.append(login.ended_after(since))
            if undo:
                undo()
        self.figures_of(took, at_most, others)

    def test_deletes(self):
        """Credentials are deleted at random moments."""
        self.rounds(lambda: None, scaled(10, 200), 1)

    def test_many_tunnels_of_a_key(self):
        """50 tunnels stand on one credential."""
        first, others = Login(self), self.logins(2)
        tunnels = [first.tunnel] + [self.gateway.tunnel(first.key) for _ in range(49)]
        self.standing(*tunnels)
        since = first.delete()
        took = []
        for tunnel in tunnels:
            until(lambda: not tunnel.stands(), "the end of a tunnel")
            took.append(time.monotonic() - since)
        self.figures_of(took, 1, others)

    def test_connection_cut(self):
        """The gateway's database session is terminated before each delete."""
        self.rounds(self.terminate, scaled(4, 100), CUT_S)

    def test_connection_hung(self):
        """The gateway's database session is stopped (SIGSTOP) before each delete."""
        def fault():
            pids = self.backends()
            signal_all(pids, signal.SIGSTOP)
            return lambda: signal_all(pids, signal.SIGCONT)
        self.rounds(fault, scaled(2, 20), CUT_S)

    def test_gateway_killed(self):
        """The gateway is killed, and the credential deleted before it starts again."""
        def fault():
            self.gateway.daemon.stop(signal.SIGKILL)
            # The delete comes first, because the daemon needs longer to start.
            start = threading.Thread(target=self.gateway.start_daemon)
            start.start()
            return start.join
        self.rounds(fault, scaled(4, 60), 1)


class Races(GatewayPromise):
    def test_racing_deletes(self):
        """Clients log in while their credentials are deleted, 20 at a time."""
        n, let_in = scaled(20, 400), 0
        survivors, slow = 0, []
        for _ in range(n // 20):
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                logins = [call.result() for call in [pool.submit(self.race) for _ in range(20)]]
            deleted = time.monotonic()
            # A login that has not ended by now is refused, or ends.
            for login in logins:
                slow.append(login.ended_after(deleted))
            let_in += sum(login.tunnel.was_let_in() for login in logins)
            survivors += len(self.gateway.sessions())
            self.gateway.close_tunnels()
        self.figure("logins", n, exactly=n)
        self.figure("let in before the delete", let_in, at_least=1)
        self.figure("sessions left", survivors, exactly=0)
        self.figure("slowest end after the last delete", max(slow), "s", at_most=3)

    def race(self):
        """Deletes the credential when the login has come as far as chance will have it."""
        login = Login(self)
        login.tunnel.reach(random.choice(STEPS))
        time.sleep(random.uniform(0, 0.02))
        login.delete()
        return login


class Faults(GatewayPromise):
    def test_kills_at_random(self):
        """The gateway and its database session are killed at random moments, while clients log in
        and half of the credentials are deleted"""
        n, least, logins, deleted = scaled(24, 300), scaled(3, 30), [], []
        stop = threading.Event()
        kills = {"n": 0}

        def kill():
            while not stop.is_set():
                time.sleep(random.uniform(0, 0.6))
                random.choice((self.terminate, self.restart))()
                kills["n"] += 1
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            killer = pool.submit(kill)
            try:
                while len(logins) < n or kills["n"] < least:
                    logins.append(Login(self))
                    if len(logins) % 2 == 0:
                        login = random.choice([login for login in logins if login not in deleted])
                        login.delete()
                        deleted.append(login)
                    time.sleep(random.uniform(0, 0.1))
            finally:
                stop.set()
                killer.result()
        since = time.monotonic()
        took = [login.ended_after(since) for login in deleted]
        # A login that met a fault was refused.
        kept = [login for login in logins if login not in deleted]
        let_in = [login for login in kept if login.tunnel.was_let_in()]
        known = {fingerprint for fingerprint, _, _ in self.gateway.sessions().values()}
        self.figure("kills", kills["n"], at_least=least)
        self.figure("deletes", len(deleted), at_least=n // 2)
        self.figure("slowest end after the last kill", max(took), "s", at_most=1)
        self.figure("tunnels on other credentials", len(let_in), at_least=1)
        self.figure("those that ended", sum(
            not login.tunnel.stands() for login in let_in), exactly=0)
        self.figure("those that the gateway does not know", sum(
            login.key.fingerprint not in known for login in let_in), exactly=0)

    def test_database_stopped(self):
        """The database is stopped and started while clients log in."""
        others, let_in, refused = self.logins(3), 0, 0
        for _ in range(scaled(1, 10)):
            self.stack.cluster.stop()
            try:
                tries = [self.gateway.tunnel(login.key) for login in others for _ in range(3)]
                for client in tries:
                    refused += client.was_refused()
                    let_in += client.stands()
            finally:
                self.stack.cluster.start()
            until(lambda: self.gateway.tunnel(others[0].key).is_in(), "a login")
        until(lambda: self.admin.get(others[0].path).status == 200, "the responder")
        self.figure("logins refused", refused, at_least=scaled(9, 90))
        self.figure("logins let in meanwhile", let_in, exactly=0)
        self.figure("tunnels that ended", sum(
            not login.tunnel.stands() for login in others), exactly=0)
        login = others.pop()
        self.figure("end of a tunnel after a delete", login.ended_after(login.delete()), "s",
                    at_most=1)


class Memory(GatewayPromise):
    # A shell that is called sshd looks like a monitor, and so does each of its copies.
    LOGINS = """for ((i = 0; i < $1; i++)); do
    ("$0.sh" "${@:2}" >"$0.line"; :)
    [ -s "$0.line" ] || exit 1
done"""

    def test_memory(self):
        """Sessions come and go, and the gateway's resident
        memory stays as it is"""
        key = self.gateway.key()
        for i in range(5):
            self.credential(key, *("bind:h%d-%d.example.com" % (i, j) for j in range(100)))
        self.login_often(key, 100)
        before = memory(self.gateway.daemon.pid)["Rss"]
        n = scaled(400, 10000)
        self.login_often(key, n)
        until(lambda: not self.gateway.sessions(), "no session")
        after = memory(self.gateway.daemon.pid)["Rss"]
        self.figure("sessions", n, exactly=n)
        self.figure("resident before", before / 2**20, "MiB", at_most=16)
        self.figure("growth", (after - before) / 2**20, "MiB", at_most=0.5)

    def login_often(self, key, n):
        inside, shell = self.gateway.inside, "/run/copies/sshd"
        os.makedirs(inside.path("/run/copies"), exist_ok=True)
        with open("/bin/bash", "rb") as file, open(inside.path(shell), "wb") as copy:
            copy.write(file.read())
        os.chmod(inside.path(shell), 0o755)
        helper = "setpriv --reuid=adit-ssh-keys --regid=adit-ssh-keys --clear-groups"
        inside.write(shell + ".sh", '#!/bin/sh\nexec %s %s/adit-ssh-keys --socket %s "$@"\n' % (
            helper, PROGRAMS, SOCKET), mode=0o755)
        done = Program(self.gateway, inside.command(
            shell, "-c", self.LOGINS, shell, str(n), "tunnel", key.fingerprint, key.type,
            key.blob), self.gateway.daemon_log)
        until(lambda: not done.runs(), "the logins", 600)
        self.assertEqual(done.stop(), 0, self.gateway.log()[-600:])
