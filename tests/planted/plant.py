#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds the member "planted" to credentials, in a copy of the tree: what HACKING lists for a member.

usage: plant.py TREE
"""
import pathlib
import re
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


def plant(tree):
    for name, before, after, times in STEPS:
        path = tree / name
        text = path.read_text(encoding="utf-8")
        if text.count(before) != times:
            sys.exit("plant.py: %s has this %d times, not %d: %s" % (name, text.count(before), times, before))
        path.write_text(text.replace(before, before + after), encoding="utf-8")
    # The schemas of the answer, of POST and of PATCH.
    path = tree / "doc/openapi.yaml"
    text, n = re.subn(r"        metadata:\n((?:          .*\n)+)",
                      lambda found: found.group(0) + "        planted:\n"
                      + found.group(1).replace("4096", "100"), path.read_text(encoding="utf-8"))
    if n != 3:
        sys.exit("plant.py: doc/openapi.yaml has %d schemas with metadata, not 3" % n)
    text = text.replace("        metadata: rack 7\n        public_key", '        metadata: rack 7\n        planted: ""\n        public_key')
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    plant(pathlib.Path(sys.argv[1]))
