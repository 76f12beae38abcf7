# SPDX-License-Identifier: MIT
"""A disposable copy of this machine that systemd has booted, with loopback as its only network.
Such a copy can itself hold another copy."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

from adit.stack import CLEAN_ENV, ROOT, run

START_TIMEOUT_S = 180

# systemd needs a control group hierarchy of its own.
IN_CGROUPS = 'mount -t cgroup2 cgroup2 "$0" && cd "$0" && '
BOOT = IN_CGROUPS + ('mkdir "$1" && echo $$ >"$1/cgroup.procs" && cd / && '
                     'exec unshare --cgroup "$2/tests/machine" "$2/tests/boot"')
FREEZE = IN_CGROUPS + 'echo %d >"$1/cgroup.freeze"'
CLEAN_UP = IN_CGROUPS + 'find "$1" -depth -type d -exec rmdir {} ";"'


def _privately(*command):
    return ["unshare", "--mount", "--propagation", "private", "/bin/bash", "-c", *command]


def _first_child(pid):
    with contextlib.suppress(OSError, IndexError):
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return int(file.read().split()[0])
    return 0


class Machine:
    def __init__(self):
        if os.geteuid() != 0:
            raise AssertionError("needs root: tests/machine tests/e2e/run MODULE")
        self._folder = tempfile.mkdtemp(prefix="adit-machine-")
        os.mkdir(os.path.join(self._folder, "cgroups"))
        self._group = os.path.basename(self._folder)
        self._mount = os.path.join(self._folder, "cgroups")
        self._process = None
        self._enter = None

    def boot(self):
        with open(os.path.join(self._folder, "said"), "wb") as said:
            self._process = subprocess.Popen(_privately(BOOT, self._mount, self._group, ROOT),
                                             env=CLEAN_ENV, stdin=subprocess.DEVNULL, stdout=said,
                                             stderr=said)
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._has_booted():
            if self._process.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self._folder, "said"), encoding="utf-8") as said:
                    raise AssertionError("systemd did not start\n" + said.read())
            time.sleep(0.05)

    def _has_booted(self):
        pid = self.first_process()
        if not pid:
            return False
        self._enter = ["nsenter", "--target", str(pid), "--mount", "--uts", "--ipc", "--net",
                       "--pid", "--cgroup", "--root", "--wd"]
        state = self.run("systemctl is-system-running", check=False).stdout.strip()
        if state == "degraded":
            raise AssertionError(self.run("systemctl --failed", check=False).stdout)
        return state == "running"

    def first_process(self):
        """The copy's process number 1: the end of the chain of first children."""
        pid = self._process.pid
        while pid:
            with contextlib.suppress(OSError):
                with open("/proc/%d/comm" % pid, encoding="ascii") as file:
                    if file.read().strip() == "systemd":
                        return pid
            pid = _first_child(pid)
        return 0

    def command(self, *arguments):
        """The command line that runs a command in the copy, for tests that start it themselves."""
        return [*self._enter, *arguments]

    def run(self, script, check=True, folder="/"):
        """Runs a shell script as root.  Returns the completed process."""
        return run(self.command("/bin/bash", "-eu", "-o", "pipefail", "-c",
                                "cd '%s'\n%s" % (folder, script)), check=check,
                   env={**CLEAN_ENV, "HOME": "/root"})

    def freeze(self, is_frozen=True):
        """Stops all programs, or lets them go on.  The kernel still takes packets for them."""
        run(_privately(FREEZE % is_frozen, self._mount, self._group))

    def stop(self):
        if self._process:
            # When process 1 ends, the kernel kills all others of its namespace.
            run(["kill", "-KILL", str(self.first_process() or self._process.pid)], check=False)
            self._process.wait(START_TIMEOUT_S)
            self._process = None
            self._clean_up()
        shutil.rmtree(self._folder)

    def _clean_up(self):
        """Removes the control groups.  The kernel keeps them a little longer than their
        processes."""
        for _ in range(1000):
            done = run(_privately(CLEAN_UP, self._mount, self._group), check=False)
            if done.returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError("cannot remove a control group: " + done.stderr)
