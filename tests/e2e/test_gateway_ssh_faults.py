# SPDX-License-Identifier: MIT
"""The database, the gateway, its disk and its clock fail.  Logins are refused, tunnels stand, and
everything is judged anew when the fault is over."""
import calendar
import contextlib
import json
import os
import signal
import subprocess
import time

from adit import programs, stack
from adit.case import until, until_back
from adit.ssh_gateway import STATE, GatewayCase, have_ended, stay

NEEDS_ROOT = True

# A login waits at most 1.5 s for the gateway, and then it is refused.  The rest is ssh and a busy
# machine.  sshd's own patience with a login is 120 s.
REFUSED_S = 30

# Longer than the gateway waits before it tries the record of changes again, and finds it locked.
LOCKED_S = 8

# CLOCK_REALTIME runs as far off as the file says, and all other clocks are right.
SHIFT = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long shift_s(void)
{
    char text[32] = "";
    int fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("SHIFT_FILE"), O_RDONLY);
    if (fd >= 0) {
        if (syscall(SYS_read, fd, text, sizeof(text) - 1) < 0)
            text[0] = 0;
        syscall(SYS_close, fd);
    }
    return atol(text);
}
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME)
        now->tv_sec += shift_s();
    return status;
}
time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return out ? (*out = now.tv_sec) : now.tv_sec;
}
int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
"""
DAY_S = 24 * 3600


class Faults(GatewayCase):
    def delete(self, path):
        self.assert_ok(self.admin.delete(path), 204)

    def opened(self, *rules):
        """A credential, its key, and a tunnel that stands on it."""
        key = self.gateway.key()
        path = self.credential(key, *rules)
        return path, key, self.standing(self.gateway.tunnel(key))[0]

    def check_refused(self, key):
        """A login is refused in time."""
        tunnel, started = self.gateway.tunnel(key), time.monotonic()
        self.assertTrue(tunnel.was_refused())
        self.assertLess(time.monotonic() - started, REFUSED_S)

    def until_login(self, key):
        """Logs in again and again until it works."""
        until(lambda: self.gateway.tunnel(key).is_in(), "a login")

    def backends(self):
        return [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'gateway'").split()]


class Database(Faults):
    @contextlib.contextmanager
    def unreachable(self):
        """The gateway cannot connect, while others change credentials."""
        self.stack.psql("ALTER ROLE gateway NOLOGIN")
        try:
            self.stack.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                            " WHERE usename = 'gateway'")
            until(lambda: not self.backends(), "no connection")
            yield
        finally:
            self.stack.psql("ALTER ROLE gateway LOGIN")

    def test_unreachable(self):
        """A tunnel whose credential was deleted meanwhile ends when the database is back."""
        gone, _, first = self.opened()
        narrower, _, second = self.opened()
        wider, key, third = self.opened("bind:a.example.com")
        with self.unreachable():
            self.delete(gone)
            self.assert_ok(self.admin.patch(narrower, {"acl": ["bind:a.example.com"]}))
            self.assert_ok(self.admin.patch(wider, {"acl": ["bind:*.example.com"]}))
            self.check_refused(key)
            self.assertTrue(stay(first))
            self.assertTrue(second.stands() and third.stands())
        self.assertTrue(have_ended([first, second]))
        self.until_login(key)
        self.assertTrue(third.stands())

    def test_backend_terminated(self):
        """A change right after that is found."""
        path, _, tunnel = self.opened()
        _, key, other = self.opened()
        self.stack.psql("SELECT pg_terminate_backend(%d)" % self.backends()[0])
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))
        self.until_login(key)
        self.assertTrue(other.stands())

    def has_logged(self, event):
        """Has the next poll read the record of changes, and looks at the log."""
        self.stack.psql("SELECT pg_current_xact_id()")
        return event in self.gateway.log()

    def test_record_locked(self):
        """Somebody runs VACUUM FULL on the record of changes.  Logins succeed, and what loses its
        credential ends."""
        path, _, tunnel = self.opened()
        _, key, other = self.opened()
        n_away = self.gateway.log().count("cannot ask the database")
        with self.transaction("LOCK TABLE adit.audit_event IN ACCESS EXCLUSIVE MODE") as commit:
            until(lambda: self.has_logged("cannot read the record of changes"), "a late poll")
            end = time.monotonic() + LOCKED_S
            while time.monotonic() < end:
                self.assertFalse(self.has_logged("the record of changes is read again"))
                self.standing(self.gateway.tunnel(key))[0].close()
            self.stack.psql("SET session_replication_role = replica;"  # no event, which would wait
                            " DELETE FROM adit.ssh_credential WHERE id = '%s'"
                            % path.rpartition("/")[2])
            self.assertTrue(have_ended([tunnel]))
            self.assertEqual(self.gateway.status()["database"], "up")
            commit()
        until(lambda: self.has_logged("the record of changes is read again"), "a poll")
        said = self.gateway.log()
        self.assertEqual(said.count("cannot ask the database"), n_away)
        self.assertEqual(said.count("cannot read the record of changes"), 1)
        self.until_login(key)
        self.assertTrue(other.stands())

    def test_backend_frozen(self):
        """The gateway gives up a hung connection and opens another."""
        path, _, tunnel = self.opened()
        _, key, other = self.opened()
        pid, = self.backends()
        os.kill(pid, signal.SIGSTOP)
        try:
            self.delete(path)
            self.assertTrue(have_ended([tunnel]))
            self.until_login(key)
            self.assertTrue(other.stands())
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_server_frozen(self):
        path, _, tunnel = self.opened()
        _, key, other = self.opened()
        self.stack.cluster.freeze()
        try:
            self.check_refused(key)
            self.assertTrue(stay(tunnel, other))
        finally:
            self.stack.cluster.thaw()
        self.until_login(key)
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))
        self.assertTrue(other.stands())

    def test_server_stopped(self):
        path, _, tunnel = self.opened()
        _, key, other = self.opened()
        self.stack.cluster.stop()
        try:
            self.check_refused(key)
            self.assertTrue(stay(tunnel, other))
            self.assertEqual(len(self.gateway.sessions()), 2)
        finally:
            self.stack.cluster.start()
        self.until_login(key)
        self.assertTrue(tunnel.stands() and other.stands())
        until_back(lambda: self.admin.get(path).status == 200)
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))
        self.assertTrue(other.stands())


class Daemon(Faults):
    def test_killed(self):
        """It knows its sessions again, and ends those that lost their grant while it was away."""
        stays, key, first = self.opened("bind:a.example.com")
        gone, _, second = self.opened()
        narrower, _, third = self.opened("bind:*.example.com")
        wider, _, fourth = self.opened("bind:a.example.com")
        known = self.gateway.sessions()
        self.gateway.daemon.stop(signal.SIGKILL)
        self.check_refused(key)
        self.delete(gone)
        self.assert_ok(self.admin.patch(narrower, {"acl": ["bind:a.example.com"]}))
        self.assert_ok(self.admin.patch(wider, {"acl": ["bind:*.example.com"]}))
        self.assertTrue(stay(second))
        self.gateway.start_daemon()
        self.assertTrue(have_ended([second, third]))
        until(lambda: len(self.gateway.sessions()) == 2, "the sessions")
        for pid, session in self.gateway.sessions().items():
            self.assertEqual(session, known[pid])
        self.until_login(key)
        self.assertTrue(first.stands() and fourth.stands())
        self.delete(stays)
        self.assertTrue(have_ended([first]))
        self.assertTrue(stay(fourth))

    def test_stopped_and_started(self):
        """SIGTERM ends the daemon, and no tunnel."""
        path, _, tunnel = self.opened()
        self.assertEqual(self.gateway.daemon.stop(), 0)
        self.assertTrue(tunnel.stands())
        self.gateway.start_daemon()
        self.assertEqual(len(self.gateway.sessions()), 1)
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))

    def test_client_that_ends_meanwhile(self):
        """A session that ended while the daemon was away is no session any more."""
        _, _, tunnel = self.opened()
        _, _, other = self.opened()
        self.gateway.daemon.stop(signal.SIGKILL)
        tunnel.close()
        until(lambda: len(self.gateway.monitors()) == 1, "the end of sshd's process")
        self.gateway.start_daemon()
        self.assertEqual(list(self.gateway.sessions()), self.gateway.monitors())
        self.assertTrue(other.stands())

    def test_frozen(self):
        """Logins are refused while the daemon hangs."""
        path, key, tunnel = self.opened()
        self.gateway.daemon.freeze()
        try:
            self.check_refused(key)
            self.delete(path)
            self.assertTrue(stay(tunnel))
        finally:
            self.gateway.daemon.thaw()
        self.assertTrue(have_ended([tunnel]))


    def test_monitor_killed(self):
        """Somebody kills the process of sshd that watches over a session.  The other one must not
        go on with nobody to end it."""
        _, _, tunnel = self.opened()
        _, _, other = self.opened()
        self.assertTrue(stay(tunnel, other))
        first = self.gateway.monitors()[0]
        os.kill(next(outer for outer, (pid, _) in self.gateway.sshd_processes().items()
                     if pid == first), signal.SIGKILL)
        self.assertTrue(have_ended([tunnel]))
        self.assertTrue(other.stands())


class Clock(Faults):
    @classmethod
    def setUpClass(cls):
        folder = stack.make_folder()
        library, cls.shift = os.path.join(folder, "shift.so"), os.path.join(folder, "shift")
        cls.addClassCleanup(os.rmdir, folder)
        for path in library, cls.shift:
            cls.addClassCleanup(os.unlink, path)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-"],
                       input=SHIFT.encode(), check=True)
        os.chmod(library, 0o755)
        cls.turn(0)
        # AddressSanitizer's library demands to be loaded first, but works without that.
        options = ":".join(filter(None, (programs.ENV.get("ASAN_OPTIONS"),
                                         "verify_asan_link_order=0")))
        cls.daemon_env = {"LD_PRELOAD": library, "SHIFT_FILE": cls.shift, "ASAN_OPTIONS": options}
        super().setUpClass()

    @classmethod
    def turn(cls, seconds):
        with open(cls.shift, "w", encoding="ascii") as file:
            file.write(str(seconds))

    def test_clock_is_turned(self):
        """The daemon's clock jumps a day back and forth.  Tunnels stand, and changes count."""
        self.addCleanup(self.turn, 0)
        _, key, tunnel = self.opened()
        for shift_s in -DAY_S, DAY_S:
            with self.subTest(shift_s):
                path, _, other = self.opened()
                self.turn(shift_s)
                self.assertTrue(stay(tunnel))
                self.delete(path)
                self.assertTrue(have_ended([other]))
                self.until_login(key)
                # The log shows that the clock was turned.
                said = [line for line in self.gateway.log().splitlines() if line[:1] == "{"]
                at = calendar.timegm(time.strptime(json.loads(said[-1])["time"],
                                                   "%Y-%m-%dT%H:%M:%SZ"))
                self.assertLess(abs(at - time.time() - shift_s), 3600)

    def test_restart_with_another_clock(self):
        """The sessions are known again, whatever the clock says."""
        self.addCleanup(self.turn, 0)
        path, _, tunnel = self.opened()
        for shift_s in -DAY_S, DAY_S:
            with self.subTest(shift_s):
                self.gateway.daemon.stop(signal.SIGKILL)
                self.turn(shift_s)
                self.gateway.start_daemon()
                self.assertEqual(len(self.gateway.sessions()), 1)
                self.assertTrue(tunnel.stands())
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))


class Disk(Faults):
    """The folder of the sessions has a small file system of its own."""

    def setUp(self):
        self.gateway.daemon.stop()
        script = ("mkdir -p -m 0700 {0} && mount -t tmpfs -o size=64k,mode=0700 tmpfs {0} &&"
                  "chown adit-gateway: {0}").format(STATE)
        stack.run(self.gateway.inside.command("/bin/sh", "-c", script))
        self.gateway.start_daemon()

    def tearDown(self):
        super().tearDown()
        self.gateway.daemon.stop()
        stack.run(self.gateway.inside.command("umount", STATE))
        self.gateway.start_daemon()

    def fill(self):
        path = self.gateway.inside.path(STATE + "/.filler")
        with contextlib.suppress(OSError):
            with open(path, "wb", buffering=0) as file:
                while True:
                    file.write(b"x" * 4096)
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        return path

    def test_full(self):
        """A login that cannot be recorded is refused.  What stands is known, also after a
        restart."""
        path, key, tunnel = self.opened()
        _, _, other = self.opened()
        filler = self.fill()
        self.check_refused(key)
        self.assertTrue(tunnel.stands() and other.stands())
        self.gateway.daemon.stop(signal.SIGKILL)
        self.gateway.start_daemon()
        self.assertEqual(len(self.gateway.sessions()), 2)
        self.check_refused(key)
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))
        os.unlink(filler)
        self.until_login(self.new_key())
        self.assertTrue(other.stands())
