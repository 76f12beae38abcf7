# SPDX-License-Identifier: MIT
"""The printed configurations say the same on every server: a row a behaviour, a column a server.
tests/cases/edges.differences has what a server forces, and doc/web-servers.md says so."""
import os

from adit import edge_behaviours, stack
from adit.case import Case
from adit.edge_servers import Servers

DIFFERENCES = os.path.join(stack.ROOT, "tests", "cases", "edges.differences")
SERVERS = {"nginx-oauth", "nginx-tls", "nginx-stream", "apache-oauth", "apache-tls", "haproxy"}


class Difference:
    """A row of the list of differences."""

    def __init__(self, line):
        servers, self.behaviour, self.usual, self.there, self.why = line.split("\t")
        self.servers = servers.split()
        self.tried = set()


def read_differences():
    with open(DIFFERENCES, encoding="utf-8") as file:
        return [Difference(line.rstrip("\n")) for line in file
                if line.strip() and not line.startswith("#")]


class EdgeServers(Case):
    stack_name = "edge servers"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.psql("CREATE ROLE gateway LOGIN IN ROLE adit_gateway")
        cls.all = Servers(cls.stack, cls.home.id, cls.admin)
        cls.addClassCleanup(cls.all.remove)

    def test_every_behaviour(self):
        """Every cell is tried.  Each listed difference exists."""
        self.assertEqual({server.name for server in self.all.servers}, SERVERS)
        listed = read_differences()
        for name, wanted, function in edge_behaviours.ROWS:
            for server in self.all.servers:
                with self.subTest("%s: %s" % (name, server.name)):
                    self.compare(name, wanted, function, server, listed)
        for one in listed:
            with self.subTest("listed: %s: %s" % (" ".join(one.servers), one.behaviour)):
                self.assertEqual(one.tried, set(one.servers), "no behaviour has this name")
                self.assertTrue(one.why)

    def compare(self, name, wanted, function, server, listed):
        rows = [one for one in listed if one.behaviour == name and server.name in one.servers]
        self.assertLessEqual(len(rows), 1, "listed twice")
        for one in rows:
            one.tried.add(server.name)
            self.assertEqual(one.usual, wanted, "the list has another usual result")
            self.assertNotEqual(one.there, wanted, "this is no difference")
        self.assertEqual(function(server), rows[0].there if rows else wanted)


