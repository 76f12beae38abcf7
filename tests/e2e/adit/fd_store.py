# SPDX-License-Identifier: MIT
"""systemd's part in a restart: it holds the socket, and the connections that the responder has it
store."""
import fcntl
import os
import signal
import socket
import subprocess

from adit import stack

DEADLINE_S = 20

# systemd does this between fork and exec.  The program has each descriptor once: a connection that it
# closes is closed.
AS_SYSTEMD = ('export LISTEN_PID=$$; n=3; for fd in $FD; do eval "exec $n<&$fd $fd<&-";'
              ' n=$((n + 1)); done; export LISTEN_FDS=$((n - 3)); exec "$0" "$@" </dev/null')

# Above all numbers that the program gets.
PASSED_FROM = 512


class Store:
    """Starts and stops one responder after the other."""

    def __init__(self, listener, path):
        self.fds = []
        self._listener, self._path = listener, path
        self._notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notified.bind(path)
        os.chmod(path, 0o777)
        self._notified.settimeout(DEADLINE_S)

    def close(self):
        self._drop()
        self._notified.close()
        os.unlink(self._path)

    def _drop(self):
        while self.fds:
            os.close(self.fds.pop())

    def start(self, command):
        """Passes the socket and what is stored.  Returns the process once it is ready, and has
        removed what was stored."""
        passed = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PASSED_FROM)
                  for fd in (self._listener.fileno(), *self.fds)]
        process = subprocess.Popen(
            ["/bin/bash", "-c", AS_SYSTEMD, *command], pass_fds=passed, cwd="/",
            env={**stack.CLEAN_ENV, "FD": " ".join(map(str, passed)), "FDSTORE": "1024",
                 "NOTIFY_SOCKET": self._path},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for fd in passed:
            os.close(fd)
        wanted = b"READY=1\nFDSTOREREMOVE=1\nFDNAME=kept" if self.fds else b"READY=1"
        said = self._notified.recv(100)
        if said != wanted:
            raise AssertionError("not %r: %r" % (wanted, said))
        self._drop()
        return process

    def stop(self, process):
        """Stores what the responder passes until it ends.  Returns its exit status and what it
        wrote."""
        process.send_signal(signal.SIGTERM)
        while True:
            said, fds, _, _ = socket.recv_fds(self._notified, 100, 4)
            if said == b"BARRIER=1":
                os.close(fds[0])
                break
            if said != b"FDSTORE=1\nFDNAME=kept":
                raise AssertionError("not a connection: %r" % said)
            self.fds += fds
        said = process.communicate(timeout=DEADLINE_S)[1]
        return process.returncode, said.decode()
