# SPDX-License-Identifier: MIT
"""The rows of src/model/resource_table.h, for programs that need them beside the compiler."""
import collections
import os
import re

_TABLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "src", "model", "resource_table.h")

# place: ROUTE or EDGE; form: PLAIN or PROVIDER; path: with identifiers in "{}"; brief: in names of statements.
Module = collections.namedtuple("Module", "name place form path brief")


def modules():
    """Returns a Module for each row."""
    with open(_TABLE, encoding="utf-8") as file:
        rows = re.findall(r'^ +MODULE\(with, \w+, (\w+), (\w+), (\w+),[\s\\]*"([^"]+)", \w+, "(\w+)",',
                          file.read(), re.MULTILINE)
    return [Module(*row) for row in rows]
