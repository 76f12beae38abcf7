# SPDX-License-Identifier: MIT
"""Computes the table and the targets of tools/bench --gate from the raw figures of a run.  Measures
nothing.

The figures are a dictionary, as gate.py --json writes it.  Each round has the milliseconds of a
request of one client by location (one), the rates of many clients (many), and logins.
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

    def one_ms(self, name):
        return self.median(lambda one: one["one"][name])

    def added_ms(self, name, to="open"):
        """Each round measured both right after each other."""
        return self.median(lambda one: one["one"][name] - one["one"][to])

    def many(self, name, figure):
        return self.median(lambda one: figure(one["many"][name]))

    def rate(self, name):
        return self.many(name, lambda found: found["rate"])

    def worst_during_logins_ms(self):
        return max(one["logins"]["longest_us"] for one in self.rounds) / 1000

    def worst_login_s(self):
        """More than the provider takes."""
        return max(one["logins"]["longest_s"] for one in self.rounds) - self.raw["slow_s"]

    def worker_mib(self):
        return max(max(one["logins"]["worker_pss_kib"]) for one in self.rounds) / 1024


# name: (what, bound, "least" or "most", figure, unit)
TARGETS = {
    "added": ("what a check adds to a request of one client, median", 0.3, "most",
              lambda run: run.added_ms("gate"), " ms"),
    "checks": ("checks with a query each, 8 clients, 1/s", 8000, "least",
               lambda run: run.rate("gate"), ""),
    "renewed": ("the same where each answer has a new cookie", 0.4, "most",
                lambda run: run.added_ms("renewed"), " ms"),
    "slow_logins": ("longest check during {logins} logins of {slow_s} s", 50, "most",
                    Run.worst_during_logins_ms, " ms"),
    "login": ("what a login then takes more than the provider, longest", 1, "most",
              Run.worst_login_s, " s"),
    "memory": ("memory of a worker after them (PSS)", 24, "most", Run.worker_mib, " MiB"),
}

TITLES = {"open": "no auth_request", "echo": "bare echo", "gate": "adit-gate",
          "renewed": "... new cookie each"}


def words(raw):
    return {"rows": "{:,}".format(raw["rows"]), "logins": raw["logins"], "slow_s": raw["slow_s"]}


def judge(raw, bounds):
    return verdicts.judge(TARGETS, Run(raw), bounds, words(raw))


HEAD = "%-20s %8s %8s | %8s %7s %7s %8s | %6s %6s %6s"


def table(run):
    yield HEAD % (
        "", "1 client", "added", "8, 1/s", "p50", "p99", "longest", "nginx", "asked", "PG")
    yield HEAD % (
        "", "ms", "ms", "", "ms", "ms", "ms", "us", "us", "us")
    for name, title in TITLES.items():
        asked = "gate" if name in ("gate", "renewed") else "echo"
        us = {part: run.many(name, lambda found, part=part: found["us"][part])
              for part in ("nginx", asked, "PostgreSQL")}
        yield "%-20s %8.3f %8.3f | %8.0f %7.2f %7.2f %8.1f | %6.0f %6.0f %6.0f" % (
            title, run.one_ms(name), run.added_ms(name), run.rate(name),
            run.many(name, lambda found: found["p50_us"] / 1000),
            run.many(name, lambda found: found["p99_us"] / 1000),
            max(one["many"][name]["longest_us"] for one in run.rounds) / 1000,
            us["nginx"], us[asked], us["PostgreSQL"])


def report(raw, bounds):
    """Returns the lines of the report, and whether every target is met."""
    run = Run(raw)
    lines, all_met = verdicts.verdict_lines(judge(raw, bounds))
    return [figures.machine_line(raw),
            "{rows} routes; medians of {rounds} rounds; {seconds} s per measurement".format(
                rounds=len(raw["rounds"]), seconds=raw["seconds"], rows=words(raw)["rows"]), "",
            *table(run), "",
            "{logins} logins: {rate:.0f} checks/s meanwhile, p99 {p99:.2f} ms".format(
                logins=raw["logins"], rate=run.median(lambda one: one["logins"]["rate"]),
                p99=run.median(lambda one: one["logins"]["p99_us"]) / 1000),
            "", *lines], all_met
