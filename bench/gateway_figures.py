# SPDX-License-Identifier: MIT
"""Computes the table and the targets of tools/bench --gateway from the raw figures of a run.
Measures nothing.

The figures are a dictionary, as gateway.py --json writes it: lists of single measurements, and
memory in KiB.
"""
import statistics

import figures
import verdicts


def percentile(values, percent):
    """The least value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[-(-len(ordered) * percent // 100) - 1]


class Run:
    def __init__(self, raw):
        self.raw = raw

    def p95(self, name):
        return percentile(self.raw[name], 95)

    def worst(self, name):
        return max(self.raw[name])

    def over_empty_ms(self):
        """Each login ran both programs right after each other."""
        return statistics.median(helper - empty for helper, empty in
                                 zip(self.raw["helper_ms"], self.raw["empty_ms"]))

    def growth_mib(self):
        return (self.raw["resident_after_kib"] - self.raw["resident_before_kib"]) / 1024


# name: (what, bound, "least" or "most", figure, unit)
TARGETS = {
    "helper": ("adit-ssh-keys at {rows} credentials, 95%", 5, "most",
               lambda run: run.p95("helper_ms"), " ms"),
    "helper_over_empty": ("adit-ssh-keys, more than a program that does nothing, median", 1, "most",
                          Run.over_empty_ms, " ms"),
    "look_up": ("look-up over adit-gateway's socket at {rows} credentials, 95%", 0.5, "most",
                lambda run: run.p95("look_up_ms"), " ms"),
    "end_one": ("DELETE sent to ssh gone, worst", 250, "most",
                lambda run: run.worst("end_one_ms"), " ms"),
    "end_many": ("DELETE sent to {sessions} ssh gone, worst", 750, "most",
                 lambda run: run.worst("end_many_ms"), " ms"),
    "end_cut": ("the same after PostgreSQL cut adit-gateway off, worst", 3000, "most",
                lambda run: run.worst("end_cut_ms"), " ms"),
    "end_hung": ("the same while adit-gateway's PostgreSQL process hangs, worst", 3000, "most",
                 lambda run: run.worst("end_hung_ms"), " ms"),
    "poll": ("PostgreSQL's CPU time for a poll when nothing changes", 100, "most",
             lambda run: statistics.median(run.raw["poll_us"]), " us"),
    "tls_one": ("PUT sent to mutual TLS in force at 1 edge, worst", 450, "most",
                lambda run: run.worst("tls_one_ms"), " ms"),
    "tls_many": ("the same at {edges} edges, worst", 1200, "most",
                 lambda run: run.worst("tls_many_ms"), " ms"),
    "memory": ("adit-gateway's resident memory at its largest", 16, "most",
               lambda run: run.raw["resident_most_kib"] / 1024, " MiB"),
    "memory_growth": ("its growth over {logins} logins", 0.5, "most", Run.growth_mib, " MiB"),
}

# name in the raw figures, title, unit
SERIES = (
    ("helper_ms", "adit-ssh-keys", "ms"),
    ("empty_ms", "a program that does nothing", "ms"),
    ("look_up_ms", "look-up over the socket", "ms"),
    ("end_one_ms", "DELETE to ssh gone", "ms"),
    ("end_many_ms", "... {sessions} sessions", "ms"),
    ("end_cut_ms", "... connection cut", "ms"),
    ("end_hung_ms", "... connection hung", "ms"),
    ("tls_one_ms", "PUT to mutual TLS in force", "ms"),
    ("tls_many_ms", "... {edges} edges", "ms"),
    ("poll_us", "poll, CPU time of PostgreSQL", "us"),
    ("seldom_us", "... ten times a second", "us"),
)


def words(raw):
    return {name: "{:,}".format(raw[name]) for name in ("rows", "logins", "sessions", "edges")}


def judge(raw, bounds):
    return verdicts.judge(TARGETS, Run(raw), bounds, words(raw))


def table(raw):
    row = "%-30s %3s %7s %9s %9s %9s"
    yield row % ("", "", "n", "median", "95%", "worst")
    for name, title, unit in SERIES:
        values = raw[name]
        yield row % (title.format(**words(raw)), unit, len(values),
                     *("%.2f" % value for value in (
                         statistics.median(values), percentile(values, 95), max(values))))


def report(raw, bounds):
    """Returns the lines of the report, and whether every target is met."""
    lines, all_met = verdicts.verdict_lines(judge(raw, bounds))
    return [figures.machine_line(raw) + "; OpenSSH " + raw["openssh"],
            "{rows} credentials, {logins} logins; poll 100 ms, sweep 2 s".format(**words(raw)), "",
            *table(raw), "", *lines], all_met
