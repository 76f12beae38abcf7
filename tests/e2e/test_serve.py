# SPDX-License-Identifier: MIT
"""tools/serve where all is running already."""
import os

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
