# SPDX-License-Identifier: MIT
"""The pages of doc/install: their shell blocks, which tests run as they stand."""
import os
import re

from adit.stack import ROOT


def chapters(name):
    """[(heading, [script])] of a page: what stands between ```sh and ```, by chapter."""
    with open(os.path.join(ROOT, "doc", "install", name), encoding="utf-8") as file:
        text = file.read()
    found = []
    for part in re.split(r"(?m)^## ", text)[1:]:
        heading, _, rest = part.partition("\n")
        found.append((heading, re.findall(r"(?ms)^```sh\n(.*?)^```$", rest)))
    if not any(scripts for _, scripts in found):
        raise AssertionError("%s has no shell block" % name)
    return found
