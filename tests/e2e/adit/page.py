# SPDX-License-Identifier: MIT
"""Follows a page of doc/operate in one shell, as an operator does."""
import os
import re
import shlex
import shutil
import subprocess

from adit import recipe, stack

END = "=== end of the block ==="

# The stack's superuser is the owner of its tables.
RUNUSER = """#!/bin/sh
[ "$1 $2 $3" = '-u postgres --' ] || { echo "unexpected: $*" >&2; exit 1; }
shift 3
[ "$1 $2 $3" != 'psql -d adit' ] || { shift 3; set -- psql -X "$@"; }
exec env %s "$@"
"""


class Page:
    """A page over a stack.  Its shell finds aditctl, and works in a folder of its own.  The variables
    that the page's first block sets get other values.  Without values, that block does not run yet."""

    def __init__(self, case, name, values=None, env=()):
        self.folder, home = stack.make_folder(), stack.make_folder()
        for folder in self.folder, home:
            case.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.mkdir(self.path("bin"))
        os.symlink(case.stack.env["ADITCTL"], self.path("bin", "aditctl"))
        self.scripts = dict(recipe.chapters(name))
        # pylint: disable=consider-using-with
        self._shell = subprocess.Popen(
            ["bash", "-eu", "-o", "pipefail"], cwd=self.folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={
                **stack.CLEAN_ENV, "ADIT_CONF": case.stack.conf_path,
                "HOME": home,
                "PATH": self.path("bin") + ":" + os.environ["PATH"], **dict(env)})
        case.addCleanup(self._shell.communicate)
        if values is None:
            return
        first = re.search(r"(?ms)^```sh\n(.*?)^```$", recipe.read(name)).group(1)
        for variable, value in values.items():
            first, n = re.subn(r"(?m)^%s=.*$" % variable, "%s='%s'" % (variable, value), first)
            case.assertEqual(n, 1, "%s sets %s" % (name, variable))
        self.run(first)

    def add_runuser(self, on_stack):
        """The shell finds a runuser, which becomes postgres in the stack's database alone."""
        values = on_stack.pg_env("postgres")
        with open(self.path("bin", "runuser"), "w", encoding="utf-8") as file:
            file.write(RUNUSER % " ".join(shlex.quote("%s=%s" % pair) for pair in values.items()
                                          if pair[0].startswith("PG")))
        os.chmod(file.name, 0o755)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, *names):
        with open(self.path(*names), encoding="utf-8") as file:
            return file.read()

    def run(self, script, status=0):
        """Runs one block, which ends with this status.  Returns what it prints."""
        if status:
            script = "set +e\n(set -e\n%s)\n[ $? = %d ] || exit\nset -e" % (script, status)
        self._shell.stdin.write("%s\necho; echo '%s'\n" % (script, END))
        self._shell.stdin.flush()
        lines = []
        for line in iter(self._shell.stdout.readline, END + "\n"):
            if not line:
                raise AssertionError("the shell ended: %s\n%s" % (script, "".join(lines)))
            lines.append(line)
        return "".join(lines)[:-1]

    def follow(self, heading):
        """Runs the blocks of a chapter.  Returns what each prints."""
        return [self.run(script) for script in self.scripts[heading]]
