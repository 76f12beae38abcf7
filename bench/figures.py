# SPDX-License-Identifier: MIT
"""Computes the table and the targets from the raw figures of a run.  Measures nothing.

The figures are a dictionary, as run --json writes it.  In each round, each operation has the rates
echo, pgbench and adit, per second.
"""
import statistics

import operations
import verdicts


def limit(echo, pgbench):
    """The rate of a responder that needs no time itself: one that costs as much as the web server
    with the echo and the database together."""
    return 1 / (1 / echo + 1 / pgbench)


class Run:
    def __init__(self, raw):
        self.raw = raw
        self.rounds = raw["rounds"]

    def each(self, name, figure):
        """The figures of an operation in all rounds."""
        return [figure(one["operations"][name]) for one in self.rounds]

    def median(self, name, figure):
        return statistics.median(self.each(name, figure))

    def share(self, name):
        """A/L.  A round measures its three rates right after each other."""
        return self.median(name, lambda f: f["adit"] / limit(f["echo"], f["pgbench"]))

    def over_plain(self, name):
        """PostgreSQL's CPU time of a write, divided by that of the plain statement."""
        return self.median(name, lambda f: f["pgbench_us"] / f["plain_us"])

    def fairness(self):
        return max(self.median(operation.name, lambda f: f["fairness"])
                   for operation in operations.OPERATIONS)

    def longest_ms(self):
        return max(max(self.each(operation.name, lambda f: f["longest_us"]))
                   for operation in operations.OPERATIONS) / 1000

    def many(self, figure):
        return [figure(one["many_clients"]) for one in self.rounds]

    def times(self, slow, fast):
        """How many times as long slow takes as fast."""
        return statistics.median(one[fast] / one[slow] for one in self.rounds)

    def page_times(self, name):
        """How many times as long a page of that list takes as one of credentials."""
        return self.times(name, name + "_beside")

    def byte_times(self, name):
        """The same, for as many bytes."""
        sizes = self.raw["page_bytes"]
        return self.page_times(name) * sizes["list"] / sizes[name]

    def counting_share(self):
        """The metrics' share of the CPU time of GET one."""
        return statistics.median(self.raw["counting_ns"]) / 1000 / self.median(
            "get", lambda f: f["adit_us"]["responder"])

    def filter_ms(self, name):
        return statistics.median(one["filters"][name]["p99_us"] for one in self.rounds) / 1000

    def responder_share(self, name):
        """The worker's CPU time, divided by that of the echo of the same answer."""
        return self.median(name, lambda f: f["adit_us"]["responder"] / f["echo_us"]["echo"])


# Of a page, and of each byte.  A page of audit events has 3 to 4 times as many bytes as one of
# credentials.
LIST_BOUNDS = {"list_events": (4.0, 1.2), "list_oauth": (3.0, 1.5), "list_edges": (2.0, 2.0)}

# name: (what, bound, "least" or "most", figure, unit)
TARGETS = {
    "share_get": ("A/L, GET one", 0.70, "least", lambda run: run.share("get"), ""),
    "share_unknown_key": ("A/L, 401", 0.70, "least", lambda run: run.share("unknown_key"), ""),
    "share_list": ("A/L, list of 100", 0.65, "least", lambda run: run.share("list"), ""),
    "share_post": ("A/L, POST", 0.75, "least", lambda run: run.share("post"), ""),
    "share_patch": ("A/L, PATCH", 0.75, "least", lambda run: run.share("patch"), ""),
    "share_put": ("A/L, PUT module", 0.75, "least", lambda run: run.share("put_module"), ""),
    **{"plain_" + short: ("PostgreSQL's CPU time, %s, divided by a plain %s's" % words, bound, "most",
                          lambda run, name=name: run.over_plain(name), "")
       for short, name, bound, words in (("post", "post", 2.6, ("POST", "INSERT")),
                                         ("patch", "patch", 2.6, ("PATCH", "UPDATE")),
                                         ("put", "put_module", 3.0, ("PUT module", "upsert")))},
    "owners": ("POST statements of 8 sessions under one owner, divided by 8 owners", 0.95, "least",
               lambda run: run.times("own_owners", "one_owner"), ""),
    "responder": ("CPU time, GET one, divided by the echo's", 45 / 22, "most",
                  lambda run: run.responder_share("get"), ""),
    "responder_list": ("CPU time, list of 100, divided by the echo's", 2.5, "most",
                       lambda run: run.responder_share("list"), ""),
    "metrics": ("CPU time of counting a GET, divided by that of GET one", 0.01, "most",
                Run.counting_share, ""),
    "fairness_8": ("fairness, 8 clients, worst operation", 1.5, "most", Run.fairness, ""),
    "longest_8": ("longest request, 8 clients, any operation", 100, "most", Run.longest_ms, " ms"),
    "fairness_64": ("fairness, 64 clients of one nginx process, GET one", 1.5, "most",
                    lambda run: statistics.median(run.many(lambda f: f["fairness"])), ""),
    "longest_64": ("longest request, 64 clients, GET one", 100, "most",
                   lambda run: max(run.many(lambda f: f["longest_us"])) / 1000, " ms"),
    **{"restarts_" + name: ("requests failed, {restarts} restarts under load behind %s" % title, 0,
                            "most", lambda run, name=name: run.raw["restarts"][name]["failed"], "")
       for name, title in (("nginx", "nginx"), ("apache", "Apache"))},
    "decide": ("time of a decision, divided by GET one", 1.2, "most",
               lambda run: run.times("decide", "get_beside"), ""),
    "rows_get": ("time of GET one at {rows} rows, divided by {few_rows} rows", 1.2, "most",
                 lambda run: run.times("get_many_rows", "get_few_rows"), ""),
    "rows_list": ("time of list at {rows} rows, divided by {few_rows} rows", 1.2, "most",
                  lambda run: run.times("list_many_rows", "list_few_rows"), ""),
    "small_get": ("GET one of {small_accounts} small accounts, beside {rows} rows and {few_rows}",
                  1.2, "most", lambda run: run.times("small_get_many_rows", "small_get_few_rows"),
                  ""),
    "small_list": ("list of such an account, the same", 1.2, "most",
                   lambda run: run.times("small_list_many_rows", "small_list_few_rows"), ""),
    "page": ("time of page {page} of a list, divided by page 1", 1.1, "most",
             lambda run: run.times("last_page", "first_page"), ""),
    **{name: ("list with a filter by %s, 99 %% of requests" % what, 10, "most",
              lambda run, name=name: run.filter_ms(name), " ms")
       for name, what in (("filter_id", "id"), ("filter_key", "fingerprint"),
                          ("filter_owner", "owner_id"), ("filter_time", "created_at, one second"),
                          ("filter_older", "created_at, half of all, and owner"))},
    "list_filtered": ("time of a list of 100 with a filter, divided by one without", 1.5, "most",
                      lambda run: run.times("list_filtered", "list_beside"), ""),
    **{name: ("time of a page of 100 %s, divided by credentials" % operation.title,
              LIST_BOUNDS[name][0], "most", lambda run, name=name: run.page_times(name), "")
       for name, operation in operations.OTHER_LISTS.items()},
    **{name + "_byte": ("the same for each byte, %s" % operation.title,
                        LIST_BOUNDS[name][1], "most",
                        lambda run, name=name: run.byte_times(name), "")
       for name, operation in operations.OTHER_LISTS.items()},
    "export": ("aditctl export, 100,000 credentials", 5, "most",
               lambda run: run.raw["documents"]["export_s"], " s"),
    "export_memory": ("memory of aditctl export at {rows} rows, divided by {few_rows} rows", 1.2,
                      "most", lambda run: run.raw["documents"]["export_growth"], ""),
    "apply": ("aditctl apply, 10,000 credentials, 100 of them changed", 5, "most",
              lambda run: run.raw["documents"]["apply_s"], " s"),
    "restore": ("aditctl restore, 10,000 credentials", 6, "most",
                lambda run: run.raw["documents"]["restore_s"], " s"),
    "memory": ("proportional memory (PSS) of an idle worker", 8, "most",
               lambda run: max(run.raw["worker_pss_kib"]) / 1024, " MiB"),
    "cgi": ("one request as plain CGI, from start to exit", 25, "most",
            lambda run: statistics.median(run.raw["cgi_ms"]), " ms"),
}


def judge(raw, bounds):
    return verdicts.judge(TARGETS, Run(raw), bounds, {
        "rows": "{:,}".format(raw["rows"]), "few_rows": "{:,}".format(raw["few_rows"]),
        "page": "{:,}".format(raw["page"]), "restarts": raw["restarts"]["nginx"]["n"],
        "small_accounts": "{:,}".format(raw["small_accounts"])})


def machine_line(raw):
    machine = raw["machine"]
    return ("{processors} processors ({model}), {memory_gib} GiB, Linux {kernel}, nginx {nginx}, "
            "PostgreSQL {postgresql}; load before: {load_before:.1f}").format(**machine)


def table(raw):
    """Yields the lines of the table of operations."""
    run = Run(raw)
    row = "%-12s %8s %8s %8s %8s %5s | %6s %6s %7s %5s %5s | %5s %5s %5s | %5s %5s"
    yield row % ("", "E", "P", "L", "A", "A/L", "p50", "p99", "longest", "fair", "of E", "nginx",
                 "Adit", "PG", "echo", "P's")
    yield row % ("", "1/s", "1/s", "1/s", "1/s", "", "ms", "ms", "ms", "", "", "us", "us", "us",
                 "us", "us")
    for operation in operations.OPERATIONS:
        name = operation.name
        whole = [run.median(name, figure) for figure in (
            lambda f: f["echo"], lambda f: f["pgbench"],
            lambda f: limit(f["echo"], f["pgbench"]), lambda f: f["adit"])]
        cost = [run.median(name, figure) for figure in (
            lambda f: f["adit_us"]["nginx"], lambda f: f["adit_us"]["responder"],
            lambda f: f["adit_us"]["PostgreSQL"], lambda f: f["echo_us"]["echo"],
            lambda f: f["pgbench_us"])]
        yield row % (
            operation.title, *("%.0f" % rate for rate in whole), "%.2f" % run.share(name),
            "%.2f" % (run.median(name, lambda f: f["p50_us"]) / 1000),
            "%.2f" % (run.median(name, lambda f: f["p99_us"]) / 1000),
            "%.1f" % (max(run.each(name, lambda f: f["longest_us"])) / 1000),
            "%.2f" % run.median(name, lambda f: f["fairness"]),
            "%.2f" % run.median(name, lambda f: f["echo_fairness"]),
            *("%.0f" % us for us in cost))


LEGEND = """\
E: nginx with a bare FastCGI echo; P: pgbench with the responder's statement; L = 1/(1/E + 1/P);
A: Adit.  All with 8 clients.  fair: requests of the fastest client divided by those of the slowest,
for A and for E.  us: CPU time per request of nginx, Adit and PostgreSQL during A, of the echo
during E, and of PostgreSQL during P."""


def report(raw, bounds):
    """Returns the lines of the report, and whether every target is met."""
    lines, all_met = verdicts.verdict_lines(judge(raw, bounds))
    return [machine_line(raw),
            "%d credentials; medians of %d rounds; %d s per measurement" % (
                raw["rows"], len(raw["rounds"]), raw["seconds"]), "",
            *table(raw), "", *LEGEND.splitlines(), "", *lines], all_met
