# SPDX-License-Identifier: MIT
"""What tests and tools run as another user works in a tree that only root can enter."""
import os
import unittest

from adit import stack
from adit.private import PrivateTree

NEEDS_ROOT = True

AS_SERVICE = """
import subprocess, sys
sys.path.insert(0, "tests/e2e")
from adit import stack
sys.exit(subprocess.run(stack.as_service(["/usr/bin/python3", "-B", sys.argv[1], "--help"]),
                        cwd="/").returncode)
"""


class InPrivateTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tree = PrivateTree()
        cls.addClassCleanup(cls.tree.remove)

    def run_there(self, *command):
        return stack.run(self.tree.command(*command), check=False, timeout=500)

    def test_others_cannot_enter_it(self):
        """Otherwise the next test shows nothing."""
        done = self.run_there("setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups",
                              "--", "test", "-e", os.path.join(self.tree.root, "README"))
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(self.run_there("test", "-e", "README").returncode, 0)

    def test_script(self):
        """A script, unlike a program, is opened by an interpreter that has no rights."""
        script = os.path.join(self.tree.root, "tests", "e2e", "adit", "mock_provider.py")
        done = self.run_there("/usr/bin/python3", "-B", "-c", AS_SERVICE, script)
        self.assertIn("usage: mock_provider.py", done.stdout, done)

    def test_modules(self):
        """Each starts other programs as another user."""
        for module, test in (
                ("test_gateway_doctor", "test_another_user"),  # in an enclosure
                ("test_edge", "test_every_block")):  # tools/serve and tools/edge
            with self.subTest(module):
                done = self.run_there("tests/e2e/run", "-k", test, module)
                self.assertRegex(done.stdout, r"(?m)^e2e: [1-9]\d* passed, 0 failed$",
                                 done.stdout[-3000:] + done.stderr[-1000:])
