# SPDX-License-Identifier: MIT
"""Mutual TLS edges.

adit-gateway is killed (SIGKILL) at random moments while modules change.  Every file that web
servers include is whole all the time, so that they can reload, and after the last start all of them
obey what is stored."""
import random
import signal
import time

from adit.case import until
from adit.tls_edges import TlsEdges, run_unchecked
from promise import PromiseCase, scaled

SERVERS = ("nginx", "nginx stream", "Apache", "HAProxy")
EDGES = ("edge-1", "edge-2", "edge-3")
AUTHORITIES = ("ca-1", "ca-2")
SEED = 20261122


class MutualTls(PromiseCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.stack.psql("CREATE ROLE gateway LOGIN IN ROLE adit_gateway")
        self.addCleanup(self.stack.psql, "DROP ROLE gateway")
        self.edges = TlsEdges(self.stack, EDGES, self.home.id)
        self.addCleanup(self.edges.remove)
        made = self.edges.certificates
        for ident in AUTHORITIES:
            made.make(ident, is_authority=True)
            made.make("client of " + ident, ident)
            self.edges.authority(ident, ident)
        for edge in EDGES:
            made.make(edge)
            self.store(edge, {})
        self.edges.start()
        self.nobody = self.edges.read("edge-1", "pem")
        self.certificates = [open(made.path(ident + ".crt"), encoding="ascii").read()
                             for ident in AUTHORITIES]

    def store(self, edge, module):
        self.assertIn(self.admin.put("/edges/tls/%s/mutual_tls" % edge, module).status, (200, 201))

    def random_module(self):
        idents = self.random.sample(AUTHORITIES, self.random.randint(0, 2))
        return {"enabled": self.random.random() < 0.8, "certificate_authority_ids": idents}

    def is_whole(self, edge):
        """Whether each file of an edge is one of those that some module makes."""
        one, two = self.certificates
        return (self.edges.read(edge, "pem") in (self.nobody, one, two, one + two, two + one)
                and self.edges.read(edge, "haproxy") in ("verify required\n", "verify none\n")
                and self.edges.read(edge, "nginx").endswith(
                    ("ssl_verify_depth 100;\n", "\nssl_verify_client off;\n"))
                and self.edges.read(edge, "apache").endswith(
                    ("SSLVerifyDepth 101\n", "\nSSLVerifyClient none\n")))

    def obeys(self, server, edge, module):
        """Whether the server lets the right clients pass."""
        trusted = module["certificate_authority_ids"] if module["enabled"] else (*AUTHORITIES, None)
        return all((self.edges.visit(server, edge, ident and "client of " + ident) == edge)
                   == (ident in trusted) for ident in (*AUTHORITIES, None))

    def test_killed_at_random_moments(self):
        """SIGKILL within 150 ms after a change, again and again"""
        not_whole = refused = 0
        n_kills = scaled(20, 400)
        modules = {}
        for _ in range(n_kills):
            for edge in self.random.sample(EDGES, self.random.randint(1, 3)):
                modules[edge] = self.random_module()
                self.store(edge, modules[edge])
            time.sleep(self.random.uniform(0, 0.15))
            self.edges.stop_daemon(signal.SIGKILL)
            not_whole += sum(not self.is_whole(edge) for edge in EDGES)
            refused += run_unchecked([*self.edges.nginx_command(), "-t"])[0] != 0
            self.edges.start_daemon()
        until(self.edges.is_settled, "the servers obey")
        for edge, module in modules.items():
            for server in SERVERS:
                until(lambda server=server, edge=edge, module=module:
                      self.obeys(server, edge, module), "%s, %s" % (server, edge))
        self.figure("kills", n_kills, at_least=20)
        self.figure("files that were not whole", not_whole, exactly=0)
        self.figure("configurations that nginx refused", refused, exactly=0)
