# SPDX-License-Identifier: MIT
"""Measures the rates of wrk and pgbench, and the CPU time and memory of processes."""
import json
import os
import re
import secrets
import subprocess
import time


# Before the end of pgbench.
AT_END_S = 0.1


class Broken(Exception):
    """A measurement failed."""


# ---- CPU time ----

def families(roots):
    """{name: process ids of roots[name] and all its descendants}."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                    parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                pass  # the process has ended
    found = {}
    for name, root in roots.items():
        found[name] = family = {root}
        while True:
            more = {pid for pid, parent in parents.items() if parent in family} - family
            if not more:
                break
            family |= more
    return found


def processor_ns(pid):
    """CPU time of a process from the scheduler.  /proc/PID/stat counts only hundredths of a
    second."""
    try:
        with open("/proc/%d/schedstat" % pid, encoding="utf-8") as file:
            return int(file.read().split()[0])
    except OSError:
        return 0


def ended_ns(pid):
    """CPU time of children that have ended.  The kernel counts it in hundredths of a second."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[13]) + int(fields[14])) * 10**9 // os.sysconf("SC_CLK_TCK")


class Processor:
    """CPU time of process families since this object was created."""

    def __init__(self, roots):
        self.roots = roots
        self.before = self._read()

    def _read(self):
        return {name: {pid: processor_ns(pid) + ended_ns(pid) for pid in family}
                for name, family in families(self.roots).items()}

    def us_per(self, n):
        """Microseconds for each of n requests, by name."""
        return {name: sum(max(0, ns - self.before[name].get(pid, 0))
                          for pid, ns in family.items()) / 1000 / n
                for name, family in self._read().items()}


def pss_kib(pid):
    """Proportional set size: a page that n processes share counts 1/n for each."""
    with open("/proc/%d/smaps_rollup" % pid, encoding="utf-8") as file:
        return int(re.search(r"^Pss: +(\d+)", file.read(), re.M).group(1))


# ---- wrk ----

def sent_bytes(port):
    """The bytes that each connection to the port has sent.  Only wrk connects to it."""
    listed = subprocess.run(["ss", "-Htin", "state", "established", "dst", "127.0.0.1:%d" % port],
                            capture_output=True, text=True, check=True).stdout
    return [int(sent) for sent in re.findall(r"\bbytes_sent:(\d+)", listed)]


def wrk(here, port, request_file, rows, n_clients, seconds, status, timeout_s=2):
    """Runs wrk and returns its figures, with the rate and the fairness: the requests of the fastest
    connection divided by those of the slowest."""
    first_row, n_rows = rows
    command = ["wrk", "-t1", "-c%d" % n_clients, "-d%ds" % seconds, "--timeout", "%ds" % timeout_s,
               "-s",
               os.path.join(here, "wrk.lua"), "http://127.0.0.1:%d" % port, "--", request_file,
               str(first_row), str(n_rows), str(secrets.randbits(30))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        # All requests have the same length, so bytes count requests.  The last complete sample
        # counts: on a busy machine, a later one may come after wrk has closed its connections.
        sent = []
        for pause in (0.5, 0.25, 0.2):
            time.sleep(seconds * pause)
            sample = sent_bytes(port)
            sent = sample if len(sample) == n_clients else sent
        output = process.communicate(timeout=seconds + 30)[0]
    finally:
        process.kill()
    found = re.search(r"^figures (.*)$", output, re.M)
    if process.returncode != 0 or not found:
        raise Broken("%s\n%s" % (" ".join(command), output))
    figures = json.loads(found.group(1))
    refused = figures["requests"] if status >= 400 else 0
    if figures["requests"] == 0 or figures["refused"] != refused or figures["broken"]:
        raise Broken("an answer was not %d: %s\n%s" % (status, " ".join(command), output))
    if not sent:
        raise Broken("found no connections of wrk to port %d" % port)
    figures["rate"] = figures["requests"] / figures["us"] * 1e6
    figures["fairness"] = max(sent) / max(1, min(sent))
    return figures


# ---- pgbench ----

def pgbench(program, script_file, variables, seconds, env, roots, warm_up_s=0):
    """Runs a script with eight connections.  Returns the rate, how often it ran, and the CPU time of
    each run by the names of roots.

    A new session loads catalogs and plans, and maps memory, for thousands of runs.  The rate and the
    CPU time are those after the warm-up, if there is one."""
    command = [program, "-n", "-M", "prepared", "-c", "8", "-j", "2",
               "-T", str(warm_up_s + seconds), "-P", "1", "-f", script_file]
    for name, value in variables.items():
        command += ["-D", "%s=%s" % (name, value)]
    processor = Processor(roots)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=env, stdin=subprocess.DEVNULL)
    cpu_us = {}
    try:
        if warm_up_s:
            time.sleep(warm_up_s)
            processor = Processor(roots)
            # The kernel adds the CPU time of sessions that have ended to PostgreSQL's, also that of
            # the warm-up.
            time.sleep(seconds - AT_END_S)
            cpu_us = processor.us_per(1)
        out, err = process.communicate(timeout=warm_up_s + seconds + 60)
    finally:
        process.kill()
    rate = re.search(r"^tps = ([\d.]+)", out, re.M)
    n = re.search(r"^number of transactions actually processed: (\d+)", out, re.M)
    failed = re.search(r"^number of failed transactions: (\d+)", out, re.M)
    if process.returncode != 0 or not rate or int(failed.group(1)):
        raise Broken("pgbench -f %s\n%s%s" % (script_file, out, err))
    n = int(n.group(1))
    if not warm_up_s:
        return float(rate.group(1)), n, processor.us_per(n)
    rates = [float(one) for one in re.findall(r"^progress: [\d.]+ s, ([\d.]+) tps", err, re.M)]
    rates = rates[warm_up_s:warm_up_s + seconds]
    if len(rates) < seconds - 1:
        raise Broken("pgbench -f %s showed no progress\n%s" % (script_file, err))
    rate = sum(rates) / len(rates)
    return rate, n, {name: us / (rate * (seconds - AT_END_S)) for name, us in cpu_us.items()}
