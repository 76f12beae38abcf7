# SPDX-License-Identifier: MIT
"""A network of copies of this machine.  It has no way out: a bridge in a network namespace of its own."""
import contextlib
import ctypes
import os
import subprocess

from adit.stack import run

ADDRESS = "192.0.2.1/24"
CLONE_NEWNET = 0x40000000


class Lan:
    def __init__(self):
        # The namespace ends with this process, which ends with its standard input.
        # pylint: disable=consider-using-with
        self._holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec cat"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._holder.stdout.readline()
        self._names = {}
        self._outside = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.run("ip link set lo up; ip link add bridge type bridge; "
                 "ip addr add %s dev bridge; ip link set bridge up" % ADDRESS)

    def run(self, script):
        run(["nsenter", "--net", "--target", str(self._holder.pid), "sh", "-ec", script])

    def attach(self, name, pid, address):
        """Connects the network namespace of a process."""
        self.run("ip link add %s type veth peer name lan netns %d; "
                 "ip link set %s master bridge up" % (name, pid, name))
        run(["nsenter", "--net", "--target", str(pid), "sh", "-ec",
             "ip link set lo up; ip addr add %s/24 dev lan; ip link set lan up" % address])

    def cut(self, name):
        """Cuts a machine off from all others.  Nobody is told: packets are dropped."""
        self.run("ip link set %s nomaster" % name)

    def join(self, name):
        self.run("ip link set %s master bridge" % name)

    def enter(self):
        """The calling thread, and threads and processes that it starts, see this network."""
        self._move("/proc/%d/ns/net" % self._holder.pid)

    def leave(self):
        self._move("/proc/self/fd/%d" % self._outside)

    @staticmethod
    def _move(path):
        libc = ctypes.CDLL(None, use_errno=True)
        with open(path, "rb") as file:
            if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def close(self):
        self.leave()
        with contextlib.suppress(OSError):
            self._holder.stdin.close()
        self._holder.wait(60)
        self._holder.stdout.close()
        os.close(self._outside)
