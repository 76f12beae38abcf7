# SPDX-License-Identifier: MIT
"""Computes the report of tools/bench --console from the raw figures of a run.  Measures nothing.

The figures are a dictionary, as console.py --json writes it.  Each round has the milliseconds of the
first views (first_ms, list_ms), and the frames by speed (scroll).  "lighthouse" has the scores of
each of its runs.
"""
import statistics

import figures
import verdicts


class Run:
    def __init__(self, raw):
        self.raw = raw
        self.rounds = raw["rounds"]

    def median(self, figure):
        return statistics.median(figure(one) for one in self.rounds)

    def frames(self, n):
        return self.median(lambda one: one["scroll"][n]["per_s"])

    def fewest_frames(self):
        return min(self.frames(n) for n in range(len(self.raw["speeds"])))

    def score(self, name):
        return statistics.median(one[name] for one in self.raw["lighthouse"])


# name: (what, bound, "least" or "most", figure, unit)
TARGETS = {
    "first_view": ("the first view, processor {slower} times slower", 1000, "most",
                   lambda run: run.median(lambda one: one["first_ms"]), " ms"),
    "list": ("the list of {rows} credentials, the same", 1000, "most",
             lambda run: run.median(lambda one: one["list_ms"]), " ms"),
    # Chromium draws 60 frames a second.  Its clock is not exact.
    "frames": ("frames a second while the list scrolls, slowest speed of {n_speeds}", 59, "least",
               Run.fewest_frames, ""),
}

SCORES = {
    "performance": ("Lighthouse: performance", 95, "least",
                    lambda run: run.score("performance"), ""),
    "accessibility": ("Lighthouse: accessibility", 95, "least",
                      lambda run: run.score("accessibility"), ""),
    "best_practices": ("Lighthouse: best practices", 95, "least",
                       lambda run: run.score("best-practices"), ""),
}

TARGETS.update(SCORES)


def words(raw):
    return {"rows": "{:,}".format(raw["rows"]), "slower": raw["slower"],
            "n_speeds": len(raw["speeds"])}


def judge(raw, bounds):
    """A quick run has no scores."""
    targets = {name: target for name, target in TARGETS.items()
               if raw["lighthouse"] or name not in SCORES}
    return verdicts.judge(targets, Run(raw), bounds, words(raw))


def table(run):
    yield "%-12s %9s %12s" % ("pixels/s", "frames/s", "longest, ms")
    for n, speed in enumerate(run.raw["speeds"]):
        yield "%-12d %9.1f %12.1f" % (
            speed, run.frames(n), max(one["scroll"][n]["longest_ms"] for one in run.rounds))


def report(raw, bounds):
    """Returns the lines of the report, and whether every target is met."""
    lines, all_met = verdicts.verdict_lines(judge(raw, bounds))
    return [figures.machine_line(raw),
            "Chromium %s; %s credentials; medians of %d rounds" % (
                raw["chromium"], words(raw)["rows"], len(raw["rounds"])), "",
            *table(Run(raw)), "", *lines], all_met
