# SPDX-License-Identifier: MIT
"""adit-gate with accounts on nodes of Citus, while many visitors come to a node that is frozen."""
import contextlib
import time

from adit import stack
from adit.citus import attach_new
from adit.gate import ELSEWHERE
from citus_gate import GateOnNodes, Visits

# More than the sessions of all workers.
N_VISITORS = 24
FROZEN_S = 8


class Crowd(GateOnNodes):
    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not shared.citus:
            attach_new(shared)
        super().setUpClass()

    def test_frozen(self):
        """The accounts of other nodes do not wait for it."""
        self.gate.module()
        self.gate.module(ELSEWHERE)
        visitor = self.signed_in()
        node = self.citus.node_of(self.gate.account.id)
        with contextlib.ExitStack() as running:
            elsewhere = running.enter_context(Visits(self.signed_in(host=ELSEWHERE)))
            time.sleep(0.5)
            node.freeze()
            running.callback(node.thaw)
            crowd = [running.enter_context(Visits(visitor)) for _ in range(N_VISITORS)]
            time.sleep(FROZEN_S)
        self.assertEqual(elsewhere.statuses(), {200})
        self.assertEqual(elsewhere.slow(), [])
        for visits in crowd:
            self.assertLessEqual(visits.statuses(), {200, 503})
