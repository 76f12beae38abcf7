#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a responder on one PostgreSQL with one on three nodes of Citus, by turns.  All servers are on
this machine, and do not wait for the disk.  tools/bench --citus runs this."""
import argparse
import os
import statistics
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "e2e")]
sys.dont_write_bytecode = True

import measure  # noqa: E402  (the path has to be set first)
import operations  # noqa: E402
from adit import samples, stack  # noqa: E402
from adit.citus import Citus  # noqa: E402
from report import say  # noqa: E402

N_ROWS = 1000
PAGE = 20

OPERATIONS = [operations.BY_NAME["get"],
              operations.BY_NAME["list"]._replace(
                  title="list of %d" % PAGE, path="%s?limit=%d" % (operations.CREDENTIALS, PAGE)),
              operations.BY_NAME["post"], operations.BY_NAME["patch"]]

ROWS = """
INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint, public_key)
SELECT '%s', 'sshcr_00' || n || repeat('0', 17), '%s', 'ssh-ed25519',
    'SHA256:' || n || repeat('0', 35), '%s' FROM generate_series(%d, %d) AS n
"""


class Side:
    """A stack with two accounts: one with rows, and one that a POST fills."""

    def __init__(self, name, citus=None):
        self.stack = stack.get(name)
        self.citus = self.stack.citus = citus
        if citus:
            citus.attach(self.stack)
        reader, writer = self.stack.account("reader"), self.stack.account("writer")
        self.keys = {"reader": reader.admin.key, "writer": writer.admin.key}
        self.stack.psql(ROWS % (reader.id, reader.admin.id, samples.ED25519, operations.FIRST_ROW,
                                operations.FIRST_ROW + N_ROWS - 1))

    def take(self, operation, n_clients, seconds):
        """Returns the requests per second, and the median in milliseconds.  Fails at any answer but the
        right one."""
        host = "127.0.0.1:%d" % self.stack.port
        path = os.path.join(self.stack.folder, operation.name + ".request")
        with open(path, "w", encoding="utf-8") as file:
            file.write(operations.request(operation, host, self.keys[operation.key]))
        n_rows = N_ROWS if operation.rows == "credentials" else 1
        found = measure.wrk(HERE, self.stack.port, path, (operations.FIRST_ROW, n_rows), n_clients,
                            seconds, operation.status, 10)
        return found["rate"], found["p50_us"] / 1000


def read_arguments():
    parser = argparse.ArgumentParser(
        prog="tools/bench --citus", description="Compares a responder on one PostgreSQL with one on"
        " three nodes of Citus, built from the source folder CITUS_SOURCE.")
    parser.add_argument("--citus", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds (5)")
    parser.add_argument("--seconds", type=int, default=3, metavar="N",
                        help="seconds of each measurement (3)")
    parser.add_argument("--clients", type=int, default=8, metavar="N", help="clients (8)")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    sides = Side("bench-plain"), Side("bench-citus", Citus())
    found = {operation.name: ([], []) for operation in OPERATIONS}
    for i in range(-1, arguments.rounds):
        say("round %d of %d" % (i + 1, arguments.rounds) if i >= 0 else "warming up")
        for operation in OPERATIONS:
            for side, rounds in zip(sides, found[operation.name]):
                figures = side.take(operation, arguments.clients, arguments.seconds)
                if i >= 0:
                    rounds.append(figures)
    print("| request | plain, requests/s | Citus, requests/s | ratio | plain, median | Citus, median |")
    print("|---|---|---|---|---|---|")
    for operation in OPERATIONS:
        plain, citus = ([statistics.median(values) for values in zip(*rounds)]
                        for rounds in found[operation.name])
        ratio = statistics.median(one[0] / other[0] for one, other in zip(
            *reversed(found[operation.name])))
        print("| %s | %s | %s | %.2f | %.1f ms | %.1f ms |" % (
            operation.title, "{:,.0f}".format(plain[0]), "{:,.0f}".format(citus[0]), ratio,
            plain[1], citus[1]))


if __name__ == "__main__":
    try:
        main()
    except measure.Broken as error:
        sys.exit("bench: %s" % error)
    finally:
        stack.stop_all()
