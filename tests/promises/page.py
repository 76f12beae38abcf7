# SPDX-License-Identifier: MIT
"""doc/promises.md: its text is written by hand as far as the mark, and made of the tests' own words
and figures from there on."""
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
        raise AssertionError("%s has not the line %s" % (PATH, MARK))
    return before, after


def _words(module):
    """The title of a module and the text below it."""
    title, _, text = inspect.getdoc(importlib.import_module(module)).partition("\n")
    return title.rstrip("."), text.strip()


def _rows(figures):
    shown = None
    for figure in figures:
        title = "" if figure.test == shown else " ".join(figure.title.split())
        shown = figure.test
        yield "| %s | `%s` %s | %s %s | %s |" % (
            title, figure.test, figure.what, figure.shown, figure.unit, figure.bound)


def write(modules, figures, is_long):
    before, _ = _read()
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(before + MARK + "\nFigures of the %s form on %d processors.\n" % (
            "full" if is_long else "short", os.cpu_count()))
        for module in modules:
            title, text = _words(module)
            file.write("\n## %s\n\n`%s.py`. %s\n\n" % (title, module, text))
            file.write("| what is done | figure | measured | promised |\n|---|---|---|---|\n")
            file.writelines(row + "\n" for row in
                            _rows([figure for figure in figures if figure.module == module]))


def compare(modules, figures, left_out):
    """Returns what differs between the page and the figures of a run of these modules, which has
    left out some tests."""
    _, text = _read()
    listed = {}
    for section in re.split(r"(?m)^## ", text)[1:]:
        module = re.search(r"^`(\w+)\.py`", section, re.M).group(1)
        listed[module] = re.findall(r"^\|[^|]*\| `(\w+)` ([^|]*) \|", section, re.M)
    faults = []
    for module in modules:
        taken = [(figure.test, figure.what) for figure in figures if figure.module == module]
        faults += ["has not %s.%s: %s" % (module, *row) for row in taken
                   if row not in listed.get(module, [])]
        faults += ["%s.%s: %s was not taken" % (module, *row) for row in listed.get(module, [])
                   if row not in taken and row[0] not in left_out]
    return faults
