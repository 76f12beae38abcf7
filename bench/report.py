# SPDX-License-Identifier: MIT
"""What the benchmarks share: messages, options about targets, the exit status."""
import json
import signal
import sys

import measure
from adit import stack

EPILOG = ("Exits with 0 if every target is met, with 1 if one is missed, and with 2 if the"
          " measurement failed.")


def say(text):
    print("bench: " + text, file=sys.stderr, flush=True)


def add_options(parser):
    parser.add_argument("--json", metavar="FILE", help="write the figures of every round to FILE")
    parser.add_argument("--judge", metavar="FILE",
                        help="measure nothing; report the figures in FILE")
    parser.add_argument("--target", action="append", default=[], metavar="NAME=BOUND",
                        help="set the bound of target NAME of the report")


def read_bounds(parser, arguments, targets):
    return dict(_read_bound(parser, text, targets) for text in arguments.target)


def _read_bound(parser, text, targets):
    name, _, bound = text.partition("=")
    if name not in targets:
        parser.error("unknown target %s; choose one of: %s" % (name, ", ".join(targets)))
    try:
        return name, float(bound)
    except ValueError:
        return parser.error("'%s': expected a number after '=', such as %s=0.8" % (
            text, next(iter(targets))))


def main(arguments, take, report):
    """Takes the figures with take(), or reads them, and prints report(raw).  Returns the exit
    status."""
    # sys.exit() runs the exit handlers, which stop and remove the stacks.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    try:
        if arguments.judge:
            with open(arguments.judge, encoding="utf-8") as file:
                raw = json.load(file)
        else:
            raw = take()
        if arguments.json:
            with open(arguments.json, "w", encoding="utf-8") as file:
                json.dump(raw, file, indent=1)
    except (measure.Broken, AssertionError, OSError) as error:
        say("cannot measure: %s" % error)
        return 2
    except KeyboardInterrupt:
        return 2
    finally:
        stack.stop_all()
    lines, all_met = report(raw)
    print("\n".join(lines))
    return 0 if all_met else 1
