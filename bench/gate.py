#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what adit-gate adds to a request of nginx, and whether logins at a slow provider stop
checks.  tools/bench --gate runs this."""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "e2e")]
sys.dont_write_bytecode = True

import gate_figures  # noqa: E402  (the path has to be set first)
import measure  # noqa: E402
import report  # noqa: E402
import bed as beds  # noqa: E402
import gate_bed  # noqa: E402
from report import say  # noqa: E402

N_CLIENTS = 8


def read_arguments():
    parser = argparse.ArgumentParser(
        prog="tools/bench --gate", epilog=report.EPILOG,
        description="Measures what adit-gate adds to a request of nginx, and whether logins at a"
                    " slow provider stop checks.")
    parser.add_argument("--gate", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds (5)")
    parser.add_argument("--seconds", type=int, default=4, metavar="N",
                        help="seconds of each measurement (4)")
    parser.add_argument("--rows", type=int, default=100000, metavar="N",
                        help="other routes with a module, and sessions that have ended (100000)")
    parser.add_argument("--logins", type=int, default=50, metavar="N",
                        help="logins at once (50)")
    parser.add_argument("--quick", action="store_true",
                        help="one round, one second each, 10 logins of a second")
    report.add_options(parser)
    arguments = parser.parse_args()
    arguments.slow_s = 5
    if arguments.quick:
        arguments.rounds = arguments.seconds = arguments.slow_s = 1
        arguments.logins = 10
    if min(arguments.rounds, arguments.seconds, arguments.rows) < 1 or \
            not 1 <= arguments.logins <= 100:
        parser.error("out of range: give at least 1 round, 1 second and 1 row, and 1 to 100 logins")
    arguments.bounds = report.read_bounds(parser, arguments, gate_figures.TARGETS)
    return arguments


class Bench:
    def __init__(self, arguments):
        self.seconds = arguments.seconds
        self.n_rounds = arguments.rounds
        self.is_quick = arguments.quick
        self.raw = {"machine": beds.machine(), "seconds": arguments.seconds,
                    "rows": arguments.rows, "logins": arguments.logins,
                    "slow_s": arguments.slow_s, "rounds": []}
        say("loading {:,} routes".format(arguments.rows))
        self.bed = gate_bed.Bed(arguments.rows, arguments.slow_s)

    def run(self):
        bed = self.bed
        try:
            bed.start()
            for name in gate_bed.LOCATIONS:
                bed.wrk_at(name, 1, N_CLIENTS)
            self._measure_queries()
            for number in range(1, self.n_rounds + 1):
                say("round %d of %d" % (number, self.n_rounds))
                self.raw["rounds"].append(self._round())
        finally:
            bed.stop()
        return self.raw

    def _measure_queries(self):
        """Fails if a check reads no row: it would seem too fast."""
        before = self.bed.n_scans()
        n = self.bed.wrk_at("gate", 1, N_CLIENTS)["requests"]
        self.bed.await_scans(before + n)
        self.raw["queries"] = n

    def _round(self):
        found = {"one": self._one_client(),
                 "many": {name: self._many_clients(name) for name in gate_bed.LOCATIONS}}
        found["logins"] = self._logins()
        return found

    def _one_client(self):
        """Milliseconds of a request by location.  The order is there and back, so that other load
        on the machine slows all alike.  A quick run measures each once."""
        names = list(gate_bed.LOCATIONS)
        order = names if self.is_quick else names + names[::-1]
        found = {name: [] for name in names}
        for name in order:
            found[name].append(self.bed.wrk_at(name, max(1, self.seconds // 2), 1)["p50_us"] / 1000)
        return {name: sum(values) / len(values) for name, values in found.items()}

    def _many_clients(self, name):
        processor = measure.Processor(self.bed.roots())
        found = self.bed.wrk_at(name, self.seconds, N_CLIENTS)
        return {"us": processor.us_per(found["requests"]),
                **{key: found[key] for key in ("rate", "p50_us", "p99_us", "longest_us",
                                               "fairness")}}

    def _logins(self):
        """The longest check while visitors sign in at a slow provider."""
        bed, raw = self.bed, self.raw
        found = {}

        def during():
            found.update(bed.wrk_at("gate", raw["slow_s"] + 2, N_CLIENTS))
        took = bed.logins(raw["logins"], during)
        workers = bed.gate_workers()
        return {"shortest_s": min(took), "longest_s": max(took), "rate": found["rate"],
                "longest_us": found["longest_us"], "p99_us": found["p99_us"],
                "worker_pss_kib": [measure.pss_kib(pid) for pid in workers]}


def main():
    arguments = read_arguments()
    return report.main(arguments, lambda: Bench(arguments).run(),
                       lambda raw: gate_figures.report(raw, arguments.bounds))


if __name__ == "__main__":
    sys.exit(main())
