# SPDX-License-Identifier: MIT
"""The errors and routes that the run has provoked, and those that exist: the catalogue of errors
and the route table, read from the sources."""
import os
import re

from adit.reference import openapi

SOURCES = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "..", "src"))

errors = set()
routes = set()

# Whether all modules run in full.  Only then is missing coverage a fault.
is_whole_run = False


def _source(path):
    with open(os.path.join(SOURCES, path), encoding="utf-8") as file:
        return file.read()


def _read_catalogue():
    rows = re.findall(r"^ERROR\((\w+),\s*(\d+),\s*(\d+),\s*\"", _source("base/error_table.h"), re.M)
    return {int(number): (symbol, int(status)) for symbol, number, status in rows}


def _read_routes():
    text = _source("api/routes.c")
    paths = dict(re.findall(r"^#define (\w+) (\"[^\"]+\")", text, re.M))
    rows = re.findall(r"\.method = \"(\w+)\", \.path = (\w+|\(path_\)|\"[^\"]+\")(?: #name)?", text)
    modules = openapi.resource_rows.modules()
    table = []
    for method, path in rows:
        if path == "(path_)":
            table += [(method, module.path) for module in modules]
        elif path == '"/"':
            table += [(method, "/%ss" % module.name) for module in modules]
        else:
            table.append((method, paths.get(path, path).strip('"')))
    return table


catalogue = _read_catalogue()
route_table = _read_routes()
_patterns = [(method, path, re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + r"\Z"))
             for method, path in route_table]


def error(number):
    errors.add(number)


def route(method, target, status):
    """Records a route that answered with success."""
    path = target.partition("?")[0]
    for known_method, known_path, pattern in _patterns:
        if method == known_method and status < 300 and pattern.match(path):
            routes.add((method, known_path))
