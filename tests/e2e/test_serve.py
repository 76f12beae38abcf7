# SPDX-License-Identifier: MIT
"""tools/serve where all is running already, or the cluster is another version's."""
import os
import shutil
import tempfile
import unittest

from adit import stack
from adit.case import Case


class Running(Case):
    def serve(self, port):
        done = stack.run([os.path.join(stack.ROOT, "tools", "serve"), "--detach"], check=False,
                         env=dict(stack.CLEAN_ENV, ADIT_STATE=self.stack.given_state,
                                  ADIT_PORT=str(port)))
        return done.returncode, done.stdout + done.stderr

    def test_once_more(self):
        status, said = self.serve(self.stack.port)
        self.assertEqual(status, 0, said)
        self.assertIn("already running", said)

    def test_on_another_port(self):
        status, said = self.serve(stack.free_port())
        self.assertNotEqual(status, 0, said)
        self.assertIn("already running", said)
        self.assertIn("on port %d" % self.stack.port, said)


class AnotherVersion(unittest.TestCase):
    def test_cluster_of_a_missing_version(self):
        state = tempfile.mkdtemp(prefix="adit-e2e-")
        self.addCleanup(shutil.rmtree, state)
        os.mkdir(state + "/data", 0o700)
        with open(state + "/data/PG_VERSION", "w") as file:
            file.write("9\n")
        done = stack.run([os.path.join(stack.ROOT, "tools", "serve"), "--detach"], check=False,
                         env=dict(stack.CLEAN_ENV, ADIT_STATE=state, ADIT_BUILD=stack.BUILD,
                                  ADIT_PORT=str(stack.free_port())))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("PostgreSQL 9 made the cluster %s/data and is missing: install postgresql-9"
                      % state, done.stderr)
        self.assertEqual(os.listdir(state + "/data"), ["PG_VERSION"])
