# SPDX-License-Identifier: MIT
"""The shell blocks of the pages in doc/install, which tests run unchanged."""
import os
import re

from adit.stack import ROOT


def chapters(name):
    """[(heading, [script])] of a page: the ```sh blocks of each chapter."""
    with open(os.path.join(ROOT, "doc", "install", name), encoding="utf-8") as file:
        text = file.read()
    found = []
    for part in re.split(r"(?m)^## ", text)[1:]:
        heading, _, rest = part.partition("\n")
        found.append((heading, re.findall(r"(?ms)^```sh\n(.*?)^```$", rest)))
    if not any(scripts for _, scripts in found):
        raise AssertionError("%s has no shell block" % name)
    return found


def settings(name):
    """[text] of a page's ```ini blocks."""
    with open(os.path.join(ROOT, "doc", "install", name), encoding="utf-8") as file:
        return re.findall(r"(?ms)^```ini\n(.*?)^```$", file.read())
