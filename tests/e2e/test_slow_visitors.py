# SPDX-License-Identifier: MIT
"""Visitors who send slowly, on more connections than a server has places, leave others room.  The
configurations are those that aditctl prints, with fewer places."""
import contextlib
import unittest

from adit import gate, slow, stack, tls_edges
from adit.case import Case, until
from adit.gate_cases import GateCase

EDGE = "one"
CROWD = 2000
# Without a limit, nginx waits 60 s for a handshake and 30 s for the name in it, HAProxy 60 s.
SOON_S = 25
N_OTHERS = 20


class FewPlaces(tls_edges.TlsEdges):
    """Servers that the crowd can fill."""

    PLACES = {"nginx-tls": ("worker_connections 16384;", "worker_connections 512;"),
              "haproxy": ("global\n", "global\n    maxconn 1000\n")}

    def printed(self, kind):
        text = super().printed(kind)
        return self.replaced(text, self.PLACES[kind]) if kind in self.PLACES else text


class Edges(Case):
    stack_name = "slow visitors"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.psql("CREATE ROLE gateway LOGIN IN ROLE adit_gateway")
        cls.edges = FewPlaces(cls.stack, [EDGE], cls.home.id)
        unittest.addModuleCleanup(cls.edges.remove)
        cls.edges.certificates.make(EDGE)
        cls.edges.start()

    def are_served(self, server):
        return all(self.edges.visit(server, EDGE) == EDGE for _ in range(N_OTHERS))

    def test_half_a_client_hello(self):
        half = slow.client_hello(EDGE + ".test")
        for server in "nginx", "nginx stream", "HAProxy":
            with self.subTest(server), slow.Crowd(self.edges.ports[server], CROWD, half, b""):
                until(lambda server=server: self.are_served(server), server, SOON_S)

    def test_half_a_client_hello_to_apache(self):
        """Apache counts no connections.  It ends them after a time, of its own for handshakes."""
        half = slow.client_hello(EDGE + ".test")
        with slow.Crowd(self.edges.ports["Apache"], 1, half, b"") as crowd:
            until(lambda: not crowd.connections, "the end of the connection", SOON_S)


class Route(GateCase):
    front = "nginx"

    @classmethod
    def setUpClass(cls):
        cls.settings = stack.get().ctl("gateway-config", "nginx-sign-ins") + "\n"
        super().setUpClass()

    def test_slow_visitors(self):
        """Headers and bodies, also of a visitor who has signed in."""
        self.gate.module()
        browser = self.signed_in("alice")
        head = "POST / HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\nContent-Length: 60000\r\n" % (
            gate.HOST, *browser.session())

        def are_served():
            with contextlib.suppress(OSError):
                return all(browser.ask().status == 200 for _ in range(N_OTHERS))
            return False
        for name, begin in ("headers", head + "X-Slow: "), ("bodies", head + "\r\n{"):
            with self.subTest(name), slow.Crowd(self.gate.port, CROWD, begin.encode()):
                until(are_served, name, SOON_S)
