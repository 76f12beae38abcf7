# SPDX-License-Identifier: MIT
"""nginx with mutual TLS and an adit-gateway of its own, for tools/bench --gateway."""
import shutil
import time

from adit.case import until
from adit.tls_edges import TlsEdges

import measure

# A change is in force when every visitor for so long meets the new rule.
SETTLED_S = 0.3
PATIENCE_S = 20

EDGE = "edge-0"
AUTHORITY = "ca"


class Edges(TlsEdges):
    """The changes are of the first edge, and all have its application."""

    def __init__(self, bed, n_edges):
        super().__init__(bed.stack, [EDGE], bed.account)
        self.bed = bed
        self.edges = ["edge-%d" % number for number in range(n_edges)]
        self.conninfo = bed.conninfo
        self.certificates.make(AUTHORITY, is_authority=True)
        self.authority(AUTHORITY, AUTHORITY)
        self.certificates.make(EDGE)
        for edge in self.edges[1:]:
            shutil.copy(self.certificates.path(EDGE + ".pem"),
                        self.certificates.path(edge + ".pem"))

    def settings(self, output="output", **gateway):
        """As an operator would have them: without HAProxy, and nginx is reloaded directly."""
        text, _, _ = super().settings(output, **gateway).partition("reload = ")
        return "%sreload = /usr/sbin/%s -s reload\n" % (text, " ".join(self.nginx_command()))

    def start(self):
        for edge in self.edges:
            self._put(edge, False)
        # The first reload fails: nginx starts afterwards.
        self.start_daemon(self.write("adit.conf", self.settings()))
        until(lambda: self.status().get("edges_due") == "0", "the edges' files")
        self.start_nginx()
        until(lambda: self._listens("nginx", self.ports["nginx"]), "nginx")
        until(lambda: self.status().get("reload") == "done", "nginx is reloaded")
        until(lambda: self._is_let_in(), "the application answers")

    def _put(self, edge, enabled):
        self.bed.call("PUT", "/edges/tls/%s/mutual_tls" % edge,
                      {"enabled": enabled, "certificate_authority_ids": [AUTHORITY]})

    def _is_let_in(self):
        """Whether a visitor without a certificate reaches the application."""
        return self.visit("nginx", EDGE) is not None

    def change_ms(self, asks):
        """Milliseconds from the PUT that makes the edge ask for certificates, or ask no more, until
        it is in force: from then on, every visitor meets the new rule."""
        began = time.monotonic()
        self._put(EDGE, asks)
        since = None
        while since is None or time.monotonic() < since + SETTLED_S:
            visited = time.monotonic()
            if self._is_let_in() == asks:
                since = None
            elif since is None:
                since = visited
            if visited > began + PATIENCE_S:
                raise measure.Broken("the rule of an edge is not in force:\n"
                                     + self.daemon.log().decode())
        return (since - began) * 1000


def times_ms(bed, n_edges, n_rounds):
    """The times until a change is in force.  The first two changes do not count."""
    edges = Edges(bed, n_edges)
    try:
        edges.start()
        found = [edges.change_ms(number % 2 == 0) for number in range(2 + n_rounds)]
    finally:
        edges.remove()
    return found[2:]
