#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds the member "planted" to credentials, and the front "apache-planted", in a copy of the tree: what
HACKING lists for a member and for a front.

usage: plant.py TREE
"""
import pathlib
import re
import shutil
import sys

# File, what stands there, what follows it then, how often.  All are the neighbours of "metadata".
STEPS = [
    ("sql/schema.sql", "    metadata text NOT NULL DEFAULT '',\n",
     "    planted text NOT NULL DEFAULT '',\n", 1),
    ("sql/schema.sql", "    CONSTRAINT ssh_credential_metadata_length CHECK (octet_length(metadata) <= 4096),\n",
     "    CONSTRAINT ssh_credential_planted_length CHECK (octet_length(planted) <= 100),\n", 1),
    ("sql/grants.sql", '"update": ["description", "metadata", ', '"planted", ', 1),
    ("src/model/member_table.h", r"""    MEMBER(with, metadata, TEXT, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                         \
           .max = 4096, .too_long = ERR_METADATA_TOO_LONG)                                         \
""", r"""    MEMBER(with, planted, TEXT, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                          \
           .max = 100, .too_long = ERR_METADATA_TOO_LONG)                                          \
""", 1),
    ("src/model/ssh_credential.h", "    struct text metadata;\n", "    struct text planted;\n", 1),
    ("doc/document.schema.json", '        "metadata": {"type": ["string", "null"], "maxLength": 4096},\n',
     '        "planted": {"type": ["string", "null"], "maxLength": 100},\n', 1),
    ("doc/openapi.yaml", "required: [id, uri, created_at, description, metadata, ", "planted, ", 1),
    ("doc/openapi.yaml", '        metadata: ""\n', '        planted: ""\n', 2),
    ("doc/openapi.yaml", "        metadata: rack 7\n        public_key: *public_key\n", "", 1),
]

# The front is mod_proxy_fcgi once more.
FRONT_STEPS = [
    ("src/ctl/config/templates.am", " apache/proxy-fcgi.conf.in", " apache/planted.conf.in", 1),
    ("src/ctl/front_table.h",
     '    WEB_SERVER("apache-proxy-fcgi", apache_proxy_fcgi, CONNECTS)                                   \\\n',
     '    WEB_SERVER("apache-planted",    apache_planted,    CONNECTS)                                   \\\n', 1),
    ("man/aditctl.8", ".It Cm apache-proxy-fcgi\nFor a virtual host of Apache, whose mod_proxy_fcgi connects to the "
     "responder's\nsocket.\n", ".It Cm apache-planted\nThe same once more.\n", 1),
    ("tests/e2e/adit/fronts.py", '"apache-proxy-fcgi": Apache,', ' "apache-planted": Apache,', 1),
]


def insert(tree, steps):
    for name, before, after, times in steps:
        path = tree / name
        text = path.read_text(encoding="utf-8")
        if text.count(before) != times:
            sys.exit("plant.py: %s has this %d times, not %d: %s" % (name, text.count(before), times, before))
        path.write_text(text.replace(before, before + after), encoding="utf-8")


def plant_member(tree):
    insert(tree, STEPS)
    # The schemas of the answer, of POST and of PATCH.
    path = tree / "doc/openapi.yaml"
    text, n = re.subn(r"        metadata:\n((?:          .*\n)+)",
                      lambda found: found.group(0) + "        planted:\n"
                      + found.group(1).replace("4096", "100"), path.read_text(encoding="utf-8"))
    if n != 3:
        sys.exit("plant.py: doc/openapi.yaml has %d schemas with metadata, not 3" % n)
    text = text.replace("        metadata: rack 7\n        public_key", '        metadata: rack 7\n        planted: ""\n        public_key')
    path.write_text(text, encoding="utf-8")


def plant_front(tree):
    shutil.copyfile(tree / "apache/proxy-fcgi.conf.in", tree / "apache/planted.conf.in")
    insert(tree, FRONT_STEPS)
    # It differs from nginx as its model does.
    path = tree / "tests/cases/fronts.differences"
    text = re.sub(r"^(apache-[a-z -]*)(apache-proxy-fcgi)\b", r"\1\2 apache-planted",
                  path.read_text(encoding="utf-8"), flags=re.M)
    text = re.sub(r"^apache-proxy-fcgi\b", "apache-proxy-fcgi apache-planted", text, flags=re.M)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    plant_member(pathlib.Path(sys.argv[1]))
    plant_front(pathlib.Path(sys.argv[1]))
