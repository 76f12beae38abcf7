# SPDX-License-Identifier: MIT
"""Packages of npm, and the program that drives a published client."""
import json
import os
import select
import subprocess

from adit.stack import CLEAN_ENV, ROOT, run

# No call takes longer, with the start of node before the first, in seconds.
DEADLINE_S = 60

INSTALL_TIMEOUT_S = 600


def install(folder):
    """Installs the packages of the folder's package-lock.json.  Returns their folder."""
    script = '. tools/lib.sh && npm_install "$1" >&2 && echo "$npm_folder"'
    return run(["bash", "-c", script, "npm", folder], cwd=ROOT, env=dict(os.environ),
               timeout=INSTALL_TIMEOUT_S).stdout.strip()


class Driver:
    """A process that calls the methods of a published client, one at a time."""

    def __init__(self, folder, program, options):
        self._process = subprocess.Popen(
            ["node", os.path.join(ROOT, program), folder], env=CLEAN_ENV,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self._write(options)

    def _write(self, value):
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def call(self, name, *arguments):
        """Calls a method.  Returns the program's report of the call."""
        self._write({"call": name, "args": arguments})
        if not select.select([self._process.stdout], [], [], DEADLINE_S)[0]:
            raise AssertionError("%s: no result within %g s" % (name, DEADLINE_S))
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError("%s: the driver ended with %s" % (name, self._process.wait()))
        return json.loads(line)

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(DEADLINE_S)
