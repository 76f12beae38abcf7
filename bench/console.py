#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the console in a headless Chromium, by the browser's own trace, and with Lighthouse.
tools/bench --console runs this."""
import argparse
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tests", "e2e")]
sys.dont_write_bytecode = True

import bed as beds  # noqa: E402  (the path has to be set first)
import console_bed  # noqa: E402
import console_figures  # noqa: E402
import report  # noqa: E402
from report import say  # noqa: E402


def read_arguments():
    parser = argparse.ArgumentParser(
        prog="tools/bench --console", epilog=report.EPILOG,
        description="Measures how fast the console's first views come on a slow processor, how many"
                    " frames a second it draws while a long list scrolls, and what Lighthouse says.")
    parser.add_argument("--console", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="rounds (5)")
    parser.add_argument("--rows", type=int, default=10000, metavar="N",
                        help="credentials in the list (10000)")
    parser.add_argument("--quick", action="store_true", help="one round, without Lighthouse")
    report.add_options(parser)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 1
    if arguments.rounds < 1 or arguments.rows < 100:
        parser.error("out of range: give at least 1 round and 100 rows")
    arguments.bounds = report.read_bounds(parser, arguments, console_figures.TARGETS)
    return arguments


def take(arguments):
    raw = {"machine": beds.machine(), "rows": arguments.rows, "slower": console_bed.SLOWER,
           "speeds": list(console_bed.SPEEDS), "rounds": [], "lighthouse": []}
    say("loading {:,} credentials".format(arguments.rows))
    bed = console_bed.Bed(arguments.rows)
    try:
        raw["chromium"] = bed.version()
        bed.warm_up()
        for number in range(1, arguments.rounds + 1):
            say("round %d of %d" % (number, arguments.rounds))
            raw["rounds"].append({"first_ms": bed.first_view_ms(), "list_ms": bed.list_ms(),
                                  "scroll": [bed.scroll(speed) for speed in console_bed.SPEEDS]})
    finally:
        bed.close()
    for number in range(0 if arguments.quick else arguments.rounds):
        say("Lighthouse, %d of %d" % (number + 1, arguments.rounds))
        raw["lighthouse"].append(bed.lighthouse())
    return raw


def main():
    arguments = read_arguments()
    return report.main(arguments, lambda: take(arguments),
                       lambda raw: console_figures.report(raw, arguments.bounds))


if __name__ == "__main__":
    sys.exit(main())
