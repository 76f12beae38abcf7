# SPDX-License-Identifier: MIT
"""adit-gateway with many accounts on a node of Citus that is frozen."""
import os
import signal

from adit import stack
from adit.case import until
from adit.citus import attach_new
from adit.ssh_gateway import STATE, have_ended
from citus_gateways import Gateways, NoSweep

NEEDS_ROOT = True

N_ACCOUNTS = 12

# It is there once: the first statement that the node does not answer takes 1 s.
NOTICED_S = 5


class Crowd(NoSweep, Gateways):
    """As many accounts on the one worker, with a tunnel each, and "other" on the other one."""

    stack_name = "citus_gateways_crowd"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not shared.citus:
            attach_new(shared)
            shared.cluster = shared.citus.coordinator
            shared.citus.psql(shared.citus.coordinator,
                              "CREATE ROLE gateway LOGIN IN ROLE adit_gateway")
            here = shared.citus.node_of(shared.home.id)
            shared.other = cls.account_elsewhere(shared, here)
        super().setUpClass()

    def accounts_of(self, node):
        """New accounts on a node."""
        return [self.citus.account_on(node, lambda: self.stack.account("crowd")).id
                for _ in range(N_ACCOUNTS)]

    def test_frozen(self):
        """All are known to be away once one was asked for in vain."""
        node = self.citus.node_of(self.home.id)
        tunnels = [self.opened()[2] for _ in range(N_ACCOUNTS)]
        self.standing(*tunnels)
        self.gateway.daemon.stop(signal.SIGKILL)
        folder = self.gateway.inside.path(STATE)
        names = sorted(name for name in os.listdir(folder) if name != ".lock")
        for name, account in zip(names, self.accounts_of(node), strict=True):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(text.count(self.home.id), 1)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(self.home.id, account))
        node.freeze()
        try:
            self.gateway.start_daemon()
            until(lambda: int(self.gateway.status()["accounts_away"]) == 1 + N_ACCOUNTS,
                  "all accounts of the node", NOTICED_S)
            path, _, tunnel = self.opened(account="other")
            self.standing(tunnel)
            self.assert_ok(self.elsewhere.delete(path), 204)
            self.assertTrue(have_ended([tunnel]))
            self.assertTrue(all(tunnel.stands() for tunnel in tunnels))
        finally:
            node.thaw()
        until(lambda: int(self.gateway.status()["accounts_away"]) == 0, "the accounts")
        # The accounts that the files name now have no such keys.
        self.assertTrue(have_ended(tunnels))
