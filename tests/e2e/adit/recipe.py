# SPDX-License-Identifier: MIT
"""The shell blocks of the pages in doc/install and doc/operate, which tests run unchanged."""
import os
import re

from adit.stack import ROOT


def read(name):
    for folder in "install", "operate":
        path = os.path.join(ROOT, "doc", folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    raise AssertionError("there is no page " + name)


def chapters(name):
    """[(heading, [script])] of a page: the ```sh blocks of each chapter."""
    text = read(name)
    found = []
    for part in re.split(r"(?m)^## ", text)[1:]:
        heading, _, rest = part.partition("\n")
        found.append((heading, re.findall(r"(?ms)^```sh\n(.*?)^```$", rest)))
    if not any(scripts for _, scripts in found):
        raise AssertionError("%s has no shell block" % name)
    return found


def keep_key(key):
    """The command that keeps an API key in the file that the pages read it from."""
    return "(umask 077; printf 'Authorization: Bearer %%s\\n' '%s' >~/adit-key)\n" % key


def settings(name):
    """[text] of a page's ```ini blocks."""
    return re.findall(r"(?ms)^```ini\n(.*?)^```$", read(name))
