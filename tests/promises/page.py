# SPDX-License-Identifier: MIT
"""doc/promises.md.  The text before the mark is written by hand.  The rest is generated from the
docstrings and figures of the tests."""
import importlib
import inspect
import os
import re

from adit.stack import ROOT

PATH = os.path.join(ROOT, "doc", "promises.md")
MARK = "<!-- From here on made by tests/promises/run --long --write-figures. -->\n"


def _read():
    with open(PATH, encoding="utf-8") as file:
        before, mark, after = file.read().partition(MARK)
    if not mark:
        raise AssertionError("%s lacks the line %s" % (PATH, MARK))
    return before, after


def _words(module):
    """The title of a module and the text below it."""
    title, _, text = inspect.getdoc(importlib.import_module(module)).partition("\n")
    return title.rstrip("."), text.strip()


def _tables(figures):
    """One table for all tests with the same figures: a row for each test, a column for each
    figure."""
    tests, tables = {}, {}
    for figure in figures:
        tests.setdefault(figure.test, []).append(figure)
    for taken in tests.values():
        columns = tuple(" ".join(("%s, %s" % (figure.what, figure.unit) if figure.unit else
                                  figure.what, "(%s)" % figure.bound)) for figure in taken)
        tables.setdefault(columns, []).append(taken)
    for columns, rows in tables.items():
        yield "| test | %s |" % " | ".join(columns)
        yield "|---|%s" % ("---:|" * len(columns))
        for taken in rows:
            yield "| `%s`: %s | %s |" % (taken[0].test, " ".join(taken[0].title.split()),
                                         " | ".join(figure.shown for figure in taken))
        yield ""


def _listed(text):
    """The (test, figure) pairs in the tables of a section."""
    columns = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| test |"):
            columns = [re.sub(r"(, [^,(]+)? \([^)]*\)$", "", cell) for cell in cells[1:]]
        elif line.startswith("| `"):
            test = re.match(r"`(\w+)`", cells[0]).group(1)
            yield from ((test, column) for column in columns)


def write(modules, figures, is_long):
    before, _ = _read()
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(before + MARK + "\nFigures of the %s form on %d processors.\n" % (
            "full" if is_long else "short", os.cpu_count()))
        for module in modules:
            title, text = _words(module)
            file.write("\n## %s\n\n`%s.py`. %s\n\n" % (title, module, text))
            file.write("\n".join(_tables([figure for figure in figures
                                          if figure.module == module])))


def compare(modules, figures, left_out):
    """Returns the differences between the page and the figures of a run of these modules.  Ignores
    the tests that the run left out."""
    _, text = _read()
    listed = {}
    for section in re.split(r"(?m)^## ", text)[1:]:
        module = re.search(r"^`(\w+)\.py`", section, re.M).group(1)
        listed[module] = list(_listed(section))
    faults = []
    for module in modules:
        taken = [(figure.test, figure.what) for figure in figures if figure.module == module]
        faults += ["lacks %s.%s: %s" % (module, *row) for row in taken
                   if row not in listed.get(module, [])]
        faults += ["%s.%s: %s was not taken" % (module, *row) for row in listed.get(module, [])
                   if row not in taken and row[0] not in left_out]
    return faults
