# SPDX-License-Identifier: MIT
"""Prometheus' text format: reads the answer to /metrics, and has promtool check it."""
import re
import subprocess

LINE = re.compile(r'([a-z_]+)(?:\{(.*)\})? ([0-9.]+)\Z')
LABEL = re.compile(r'([a-z_]+)="([^"\\]*)"(?:,|\Z)')


class Metrics:
    """The samples of one scrape: {(name, labels): value}, where labels are sorted pairs."""

    def __init__(self, text):
        self.samples = {}
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            name, labels, value = LINE.match(line).groups()
            key = name, tuple(sorted(LABEL.findall(labels or "")))
            if key in self.samples:
                raise AssertionError("twice: %s" % line)
            self.samples[key] = float(value)

    def sum(self, name, **labels):
        """The sum of the samples that have these labels."""
        wanted = set(labels.items())
        return sum(value for (known, pairs), value in self.samples.items()
                   if known == name and wanted <= set(pairs))

    def names(self):
        return {name for name, _ in self.samples}

    def labels(self):
        """Every pair of a label and its value, limits of buckets left out."""
        return {pair for _, pairs in self.samples for pair in pairs if pair[0] != "le"}


def scrape(client):
    answer = client.get("/metrics", version=None)
    if answer.status != 200:
        raise AssertionError("/metrics: %r" % answer)
    return Metrics(answer.body.decode())


def promtool(*arguments, text=None):
    """Runs promtool.  Returns what it printed; it must find nothing."""
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True,
                          timeout=120)
    if done.returncode != 0:
        raise AssertionError("promtool %s: %s%s" % (" ".join(arguments), done.stdout, done.stderr))
    return done.stdout + done.stderr
