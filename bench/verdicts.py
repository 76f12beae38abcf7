# SPDX-License-Identifier: MIT
"""Compares figures with targets.  Measures nothing."""


def judge(targets, run, bounds, words):
    """Returns [(name, text, figure, bound, kind, unit, whether it is met)].  The given bounds
    override those of the targets.  words: for the braces in the targets' texts."""
    verdicts = []
    for name, (text, bound, kind, figure, unit) in targets.items():
        bound = bounds.get(name, bound)
        value = figure(run)
        met = value >= bound if kind == "least" else value <= bound
        verdicts.append((name, text.format(**words), value, bound, kind, unit, met))
    return verdicts


def verdict_lines(verdicts):
    """Returns the lines of the verdicts, and whether every target is met."""
    lines = []
    for name, text, value, bound, kind, unit, met in verdicts:
        lines.append("%-6s %-18s %-62s %7.2f%s, at %s %.4g%s" % (
            "ok" if met else "MISSED", name, text, value, unit, kind, bound, unit))
    missed = sum(not verdict[-1] for verdict in verdicts)
    lines.append("%d targets met, %d missed" % (len(verdicts) - missed, missed))
    return lines, missed == 0
