#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how fast adit-gateway answers sshd, and how fast sshd and nginx obey a change.
tools/bench --gateway runs this."""
import argparse
import os
import random
import signal
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "e2e")]
sys.dont_write_bytecode = True

import gateway_figures  # noqa: E402  (the path has to be set first)
import measure  # noqa: E402
import report  # noqa: E402
import bed as beds  # noqa: E402
import gateway_bed  # noqa: E402
import gateway_tls  # noqa: E402
from report import say  # noqa: E402

POLL_S = 0.1
WARM_UP_LOGINS = 1000


def read_arguments():
    parser = argparse.ArgumentParser(
        prog="tools/bench --gateway", epilog=report.EPILOG,
        description="Measures how fast adit-gateway answers sshd, and how fast sshd and nginx obey"
                    " a change.")
    parser.add_argument("--gateway", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=20, metavar="N",
                        help="ends of one session, and changes of an edge; of 50 sessions, and"
                             " with a lost database, a quarter (20)")
    parser.add_argument("--rows", type=int, default=100000, metavar="N",
                        help="SSH credentials (100000)")
    parser.add_argument("--logins", type=int, default=100000, metavar="N",
                        help="logins between two readings of the memory (100000)")
    parser.add_argument("--quick", action="store_true",
                        help="two rounds, 500 logins, 10 sessions, 10 edges")
    report.add_options(parser)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds, arguments.logins = 2, 500
    if min(arguments.rounds, arguments.logins) < 1 or not 400 <= arguments.rows <= 89999999:
        parser.error("out of range: give at least 1 round, 1 login, and 400 to 89999999 rows")
    arguments.bounds = report.read_bounds(parser, arguments, gateway_figures.TARGETS)
    return arguments


class Bench:
    def __init__(self, arguments):
        self.n_rounds = arguments.rounds
        self.n_few = max(1, arguments.rounds // 4)
        self.n_runs = 100 if arguments.quick else 2000
        self.poll_s = 1 if arguments.quick else 4
        self.raw = {"machine": beds.machine(), "openssh": gateway_bed.sshd_version(),
                    "rows": arguments.rows, "logins": arguments.logins,
                    "sessions": 10 if arguments.quick else 50,
                    "edges": 10 if arguments.quick else 100}
        say("loading {:,} credentials".format(arguments.rows))
        self.bed = gateway_bed.Bed(arguments.rows)

    def run(self):
        try:
            self.bed.start()
            self._measure_polls()
            self._measure_look_ups()
            self._measure_ends()
            self._measure_memory()
        finally:
            self.bed.stop()
        self._measure_edges()
        return self.raw

    def _measure_polls(self):
        say("polls")
        bed, raw = self.bed, self.raw
        bed.read_poll()
        raw["poll_us"], raw["seldom_us"] = [], []
        for _ in range(self.n_few):
            raw["poll_us"].append(bed.poll_us(self.poll_s))
            (backend,) = bed.backends()
            before_ns, began = measure.processor_ns(backend), time.monotonic()
            time.sleep(self.poll_s)
            n_polls = (time.monotonic() - began) / POLL_S
            raw["seldom_us"].append((measure.processor_ns(backend) - before_ns) / 1000 / n_polls)

    def _measure_look_ups(self):
        say("look-ups")
        bed = self.bed
        bed.logins("ask", str(WARM_UP_LOGINS), bed.socket)
        first, second = bed.logins("ask", str(self.n_runs), bed.socket)
        self.raw["look_up_ms"] = first + second
        self.raw["helper_ms"], self.raw["empty_ms"] = bed.logins(
            "exec", str(self.n_runs), bed.socket, gateway_bed.built("adit-ssh-keys"),
            gateway_bed.built("bench-empty"))

    # ---- ends of sessions ----

    def _measure_ends(self):
        for name, n_rounds, n_sessions, before in (
                ("end_one_ms", self.n_rounds, 1, lambda: None),
                ("end_many_ms", self.n_few, self.raw["sessions"], lambda: None),
                ("end_cut_ms", self.n_few, 1, self.bed.cut_off),
                ("end_hung_ms", self.n_few, 1, self._hang)):
            say("DELETE to ssh gone: " + name)
            self.raw[name] = [self._end(n_sessions, before) for _ in range(n_rounds)]

    def _end(self, n_sessions, before):
        self.stopped = []
        try:
            # The DELETE comes at any time between two polls.
            return self.bed.end_ms(n_sessions, lambda: (time.sleep(random.random() * POLL_S),
                                                        before()))
        finally:
            for pid in self.stopped:
                os.kill(pid, signal.SIGCONT)
            gateway_bed.await_true(self.bed.is_up, "adit-gateway does not reconnect")
            self.bed.await_no_session()

    def _hang(self):
        for pid in self.bed.backends():
            os.kill(pid, signal.SIGSTOP)
            self.stopped.append(pid)

    def _measure_edges(self):
        for name, n_edges in (("tls_one_ms", 1), ("tls_many_ms", self.raw["edges"])):
            say("mutual TLS: {:,} edges".format(n_edges))
            self.raw[name] = gateway_tls.times_ms(self.bed, n_edges, self.n_rounds)

    # ---- memory ----

    def _measure_memory(self):
        bed, raw = self.bed, self.raw
        # All that the daemon keeps is there by now: each of the others needs as much.
        bed.logins("ask", str(WARM_UP_LOGINS), bed.socket)
        bed.await_no_session()
        raw["resident_before_kib"], n_before = bed.memory_kib("VmRSS"), bed.n_descriptors()
        say("{:,} logins".format(raw["logins"]))
        bed.logins("ask", str(raw["logins"]), bed.socket)
        bed.await_no_session()
        raw["resident_after_kib"] = bed.memory_kib("VmRSS")
        raw["resident_most_kib"] = bed.memory_kib("VmHWM")
        if bed.n_descriptors() > n_before:
            raise measure.Broken("adit-gateway keeps descriptors: %d before, %d after" % (
                n_before, bed.n_descriptors()))


def main():
    arguments = read_arguments()
    return report.main(arguments, lambda: Bench(arguments).run(),
                       lambda raw: gateway_figures.report(raw, arguments.bounds))


if __name__ == "__main__":
    sys.exit(main())
