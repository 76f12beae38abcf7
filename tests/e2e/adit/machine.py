# SPDX-License-Identifier: MIT
"""A throw-away copy of this machine on which systemd runs, with loopback as its only network."""
import contextlib
import os
import subprocess
import time

from adit.stack import CLEAN_ENV, ROOT, run

START_TIMEOUT_S = 60

# systemd wants a hierarchy of its own.
BOOT = 'echo $$ >"$0/cgroup.procs" && exec unshare --cgroup "$1/tests/machine" "$1/tests/boot"'

AS_ROOT = [] if os.geteuid() == 0 else ["sudo", "-n"]


def _cgroup_mount():
    with open("/proc/mounts", encoding="ascii") as file:
        for line in file:
            _, path, kind, *_ = line.split()
            if kind == "cgroup2":
                return path
    raise AssertionError("no cgroup2 is mounted, which systemd needs")


def _child(pid):
    with contextlib.suppress(OSError, IndexError):
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return int(file.read().split()[0])
    return 0


class Machine:
    def __init__(self):
        self._group = os.path.join(_cgroup_mount(), "adit-machine-%d" % os.getpid())
        self._process = None
        self._enter = None

    def boot(self):
        run([*AS_ROOT, "mkdir", self._group])
        self._process = subprocess.Popen([*AS_ROOT, "/bin/bash", "-c", BOOT, self._group, ROOT],
                                         env=CLEAN_ENV, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._has_booted():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("systemd does not come up")
            time.sleep(0.05)

    def _has_booted(self):
        pid = self._first_process()
        if not pid:
            return False
        self._enter = [*AS_ROOT, "nsenter", "--target", str(pid), "--mount", "--uts", "--ipc",
                       "--net", "--pid", "--cgroup", "--root", "--wd"]
        state = self.run("systemctl is-system-running", check=False).stdout.strip()
        if state == "degraded":
            raise AssertionError(self.run("systemctl --failed", check=False).stdout)
        return state == "running"

    def _first_process(self):
        """The process that is number 1 in there: where the chain of first children ends."""
        pid = self._process.pid
        while pid:
            with contextlib.suppress(OSError):
                with open("/proc/%d/comm" % pid, encoding="ascii") as file:
                    if file.read().strip() == "systemd":
                        return pid
            pid = _child(pid)
        return 0

    def command(self, *arguments):
        """A command line that runs a command in there, for whoever wants the process itself."""
        return [*self._enter, *arguments]

    def run(self, script, check=True, folder="/", **options):
        """Runs a shell script as root.  Returns what became of it."""
        return run(self.command("/bin/bash", "-euo", "pipefail", "-c", "cd '%s'\n%s" % (
            folder, script)), check=check, env={**CLEAN_ENV, "HOME": "/root"}, **options)

    def stop(self):
        if self._process:
            pid = self._first_process()
            # The kernel ends whatever runs in there with it.
            run([*AS_ROOT, "kill", "-KILL", str(pid or self._process.pid)], check=False)
            self._process.wait(START_TIMEOUT_S)
            self._process = None
        for folder, _, _ in os.walk(self._group, topdown=False):
            self._remove(folder)

    def _remove(self, group):
        """A group stays for as long as the kernel takes to forget its processes."""
        for _ in range(100):
            if run([*AS_ROOT, "rmdir", group], check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError("%s cannot be removed" % group)
