# SPDX-License-Identifier: MIT
"""What tests and tools run as another user works in a tree that only root can enter, such as a clone
in /root."""
import json
import os
import shutil
import tempfile
import unittest

from adit import stack

NEEDS_ROOT = True

# Runs commands in the tree, as the service's user and in an enclosure, and prints
# [how, status, output, errors] of each.
RUNS = """
import json, subprocess, sys
sys.path.insert(0, "tests/e2e")
from adit import stack
from adit.enclosure import Enclosure
inside = Enclosure()
for command in json.loads(sys.argv[1]):
    for how, line in (
            ("service", stack.as_service(command)),
            ("enclosure", inside.command(*command, user="nobody", group="nogroup"))):
        done = subprocess.run(line, cwd="/", capture_output=True, text=True)
        print(json.dumps([how, done.returncode, done.stdout, done.stderr]))
inside.remove()
"""


class PrivateTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Its mode is 0700.
        folder = tempfile.mkdtemp(prefix="adit-private-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, folder)
        cls.root = os.path.join(folder, "tree")
        shutil.copytree(os.path.join(stack.ROOT, "tests", "e2e", "adit"),
                        cls.path("tests", "e2e", "adit"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name in "src", "doc":  # which root reads
            os.symlink(os.path.join(stack.ROOT, name), cls.path(name))
        os.mkdir(cls.path("build"))
        shutil.copy("/bin/cat", cls.path("build", "program"))
        with open(cls.path("build", "text"), "w", encoding="ascii") as file:
            file.write("read\n")

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.root, *names)

    def run_there(self, *commands):
        done = stack.run(["/usr/bin/python3", "-B", "-c", RUNS, json.dumps(commands)],
                         cwd=self.root, env={**stack.CLEAN_ENV, "ADIT_BUILD": self.path("build")})
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_others_cannot_enter_it(self):
        """Otherwise the next test shows nothing."""
        done = stack.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--",
                          "cat", self.path("build", "text")], check=False)
        self.assertIn("Permission denied", done.stderr)

    def test_what_others_run(self):
        """A program, which the kernel opens; a script, which an interpreter without rights opens; and
        the files and folders that both are given."""
        script = self.path("tests", "e2e", "adit", "mock_provider.py")
        tried = (((self.path("build", "program"), self.path("build", "text")), "read\n"),
                 (("/usr/bin/python3", "-B", script, "--help"), "usage: mock_provider.py"),
                 (("ls", self.path("build")), "program\ntext\n"))
        done = self.run_there(*(command for command, _ in tried))
        wanted = [(command, how, says) for command, says in tried for how in ("service", "enclosure")]
        self.assertEqual(len(done), len(wanted))
        for (command, how, says), (ran, status, said, errors) in zip(wanted, done):
            with self.subTest("%s, %s" % (command[-1], how)):
                self.assertEqual((ran, status, errors), (how, 0, ""))
                self.assertTrue(said.startswith(says), said)
