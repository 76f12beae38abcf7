# SPDX-License-Identifier: MIT
"""psql programs that stay.  A new program and a new session for each statement would take a tenth of the
tests' processor time."""
import contextlib
import glob
import os
import re
import select
import subprocess
import tempfile
import threading
import time

# The newest version, if several are installed.
PG_BIN = max(glob.glob("/usr/lib/postgresql/*/bin/initdb"),
             key=lambda path: float(path.split("/")[4])).removesuffix("/initdb")

# Debian's psql in the path is a program in Perl, which takes longer than most statements.
PROGRAM = PG_BIN + "/psql"
COMMAND = [PROGRAM, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-v", "VERBOSITY=verbose"]

# What lasts until its session ends, what is about sessions, and psql's own commands.
_OWN_SESSION = re.compile(r"\b(BEGIN|START TRANSACTION|pg_stat_activity|pg_backend_pid|"
                          r"pg_terminate_backend)\b|advisory|\\", re.I)
# No session may be in a database that goes, and none obeys a setting of it that is newer.
_DATABASES = re.compile(r"\bDATABASE\b", re.I)
# Nobody reads the output before all of the input is written, which has to fit into a pipe.
_LENGTH_MAX = 32768

_READY, _DONE = b"--- ready ---\n", b"--- done ---\n"


class Gone(Exception):
    """The session had ended before it got the statements."""


def can_share(sql):
    """Whether the statements may run in a session that others have used, and will use."""
    return len(sql.encode()) < _LENGTH_MAX and not _OWN_SESSION.search(sql) and can_stay(sql)


def can_stay(sql):
    """Whether sessions may stay beside the statements."""
    return not _DATABASES.search(sql)


class Psql:
    """A psql and its session."""

    def __init__(self, env):
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(COMMAND, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=self._errors)

    def run(self, sql, timeout_s):
        """Returns the output and None, or None and the error, after which this psql has ended.  Raises
        Gone."""
        text = "DISCARD ALL;\n\\echo %s%s\n;\n\\echo %s" % (_READY.decode(), sql, _DONE.decode())
        said = self._exchange(text, time.monotonic() + timeout_s)
        if not said.startswith(_READY):
            raise Gone
        if said.endswith(_DONE):
            return said[len(_READY):-len(_DONE)].decode(), None
        self._errors.seek(0)
        return None, self._errors.read().decode()

    def _exchange(self, text, deadline):
        """Writes the text.  Returns what psql prints up to its last line, or before it ends."""
        said = b""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        while not said.endswith(_DONE):
            if not select.select([self._process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError("psql: no answer: %s" % text)
            piece = os.read(self._process.stdout.fileno(), 1 << 16)
            if not piece:
                self._process.wait()
                break
            said += piece
        return said

    def close(self):
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._errors.close()


class Sessions:
    """Those that stay, for each environment: as many as have been used at once."""

    def __init__(self):
        self._idle = []  # (environment, Psql)
        self._lock = threading.Lock()

    def run(self, env, sql, timeout_s):
        """As Psql.run()."""
        one = self._take(env) or Psql(env)
        output = None
        try:
            output, error = one.run(sql, timeout_s)
        finally:
            if output is None:
                one.close()
        if output is not None:
            with self._lock:
                self._idle.append((env, one))
        return output, error

    def _take(self, env):
        with self._lock:
            place = next((i for i, (known, _) in enumerate(self._idle) if known == env), None)
            return None if place is None else self._idle.pop(place)[1]

    def close(self):
        while self._idle:
            self._idle.pop()[1].close()
