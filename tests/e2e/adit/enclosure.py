# SPDX-License-Identifier: MIT
"""A part of the machine with users, processes and a network of its own, for servers that need root.
It shares the machine's other files, so that it can reach a stack's database."""
import contextlib
import ipaddress
import os
import subprocess

from adit.programs import children
from adit.stack import CLEAN_ENV, for_others

# The copies of /etc change nothing outside.  /run holds what servers put there.  Process 1 reaps
# orphans, and ends with the test's end of the pipe.  The kernel then kills all others.
BEGIN = """set -eu
mount -t tmpfs -o mode=0755 enclosure /run
mkdir /run/etc /run/sshd /run/sshd_config.d
for name in passwd group shadow hosts; do
    cp -p "/etc/$name" /run/etc/
    mount --bind "/run/etc/$name" "/etc/$name"
done
mount --bind /run/sshd_config.d /etc/ssh/sshd_config.d
ip link set lo up
echo ready
read -r _ || true
"""


class Enclosure:
    def __init__(self, users=(), hosts=()):
        """users are (name, uid, groups), where groups are names of other users.  hosts are
        (address, name)."""
        self._keeper = subprocess.Popen(
            ["unshare", "--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child",
             "--mount-proc", "--propagation", "private", "/bin/bash", "-c", BEGIN],
            env=CLEAN_ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        if self._keeper.stdout.readline() != "ready\n":
            raise AssertionError("no enclosure: " + self._keeper.stderr.read())
        self.first = children(self._keeper.pid)[0]
        self._append("/etc/passwd", ("%s:x:%d:%d::/nonexistent:/bin/sh" % (name, uid, uid)
                                     for name, uid, _ in users))
        self._append("/etc/shadow", ("%s:*:19000::::::" % name for name, _, _ in users))
        self._append("/etc/group", ("%s:x:%d:%s" % (
            name, uid, ",".join(other for other, _, groups in users if name in groups))
            for name, uid, _ in users))
        self._append("/etc/hosts", ("%s %s" % pair for pair in hosts))

    def _append(self, path, lines):
        with open(self.path(path), "a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    def remove(self):
        self._keeper.stdin.close()
        self._keeper.wait(60)
        self._keeper.stdout.close()
        self._keeper.stderr.close()

    def path(self, path):
        """The path from outside."""
        return "/proc/%d/root%s" % (self.first, path)

    def write(self, path, text, mode=0o644):
        with open(self.path(path), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)

    def read(self, path):
        with open(self.path(path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def command(self, *arguments, user=None, group=None, capabilities=None):
        """The command line that runs a command inside, as root or as another user, with these
        capabilities at most."""
        inside = list(arguments)
        if user:
            sets = "-all,%s" % capabilities if capabilities else "-all"
            inside = ["setpriv", "--reuid=" + user, "--regid=" + (group or user), "--init-groups",
                      "--inh-caps=" + sets, "--bounding-set=" + sets, "--no-new-privs",
                      *(["--ambient-caps=" + capabilities] if capabilities else []), "--",
                      *for_others(inside)]
        return ["nsenter", "--target", str(self.first), "--mount", "--net", "--ipc", "--pid",
                "--wdns=/", "--", *inside]

    def on_network(self, *arguments):
        """The command line that runs a command outside, on this network."""
        return ["nsenter", "--net=/proc/%d/ns/net" % self.first, "--", *arguments]

    def inner_pid(self, pid):
        with open("/proc/%d/status" % pid, encoding="ascii") as file:
            return int(next(line for line in file if line.startswith("NSpid:")).split()[-1])

    def processes(self):
        """(process id outside, process id inside, user id, command line) of all processes."""
        space = os.readlink("/proc/%d/ns/pid" % self.first)
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError, StopIteration, ValueError):
                if name.isdigit() and os.readlink("/proc/%s/ns/pid" % name) == space:
                    with open("/proc/%s/cmdline" % name, "rb") as file:
                        line = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                    yield (int(name), self.inner_pid(int(name)),
                           os.stat("/proc/" + name).st_uid, line)

    def listeners(self):
        """Where TCP servers listen on this network: "127.0.0.1:80", "[::1]:80"."""
        found = []
        for name, decode in ("tcp", _ipv4), ("tcp6", _ipv6):
            with open("/proc/%d/net/%s" % (self.first, name), encoding="ascii") as file:
                rows = [line.split() for line in file.readlines()[1:]]
            for row in rows:
                address, port = row[1].split(":")
                if row[3] == "0A":
                    found.append("%s:%d" % (decode(bytes.fromhex(address)), int(port, 16)))
        return sorted(found)


def _ipv4(data):
    return ".".join(str(byte) for byte in data[::-1])


def _ipv6(data):
    words = b"".join(data[at:at + 4][::-1] for at in range(0, 16, 4))
    return "[%s]" % ipaddress.IPv6Address(words)

