#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds members to credentials, a fourth resource and the front "apache-planted", in a copy of the tree:
what HACKING lists for each.

usage: plant.py TREE
"""
import pathlib
import re
import shutil
import sys

import resource_text

# File, what stands there, what follows it then, how often.  All are the neighbours of "metadata".
# No code knows "unknown_column".
MEMBER = [
    ("sql/schema.sql", "    metadata adit.ssh_credential_metadata NOT NULL DEFAULT '',\n",
     "    planted text NOT NULL DEFAULT '' CONSTRAINT ssh_credential_planted_length\n"
     "        CHECK (octet_length(planted) <= 100),\n    paused boolean NOT NULL DEFAULT false,\n"
     "    weight bigint NOT NULL DEFAULT 0,\n    ends_at timestamptz,\n"
     "    unknown_column text NOT NULL DEFAULT '',\n", 1),
    ("src/model/member_table.h", r"""    MEMBER(with, metadata, TEXT, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                         \
           .max = 4096, .too_long = ERR_METADATA_TOO_LONG)                                         \
""", r"""    MEMBER(with, planted, TEXT, CHANGE, ERR_NONE, SHOWN, FILTERED, EMPTY,                          \
           .max = 100, .too_long = ERR_METADATA_TOO_LONG)                                          \
    MEMBER(with, paused, BOOL, CHANGE, ERR_NONE, SHOWN, FILTERED, ASIS)                            \
    MEMBER(with, weight, UINT32, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS)                        \
    MEMBER(with, ends_at, TIME_OR_NULL, CHANGE, ERR_NONE, SHOWN, UNFILTERED, ASIS)                 \
""", 1),
    ("doc/document.schema.json", '        "metadata": {"type": ["string", "null"], "maxLength": 4096},\n',
     '        "planted": {"type": ["string", "null"], "maxLength": 100},\n'
     '        "paused": {"type": ["boolean", "null"]},\n        "weight": {"type": ["integer", "null"]},\n'
     '        "ends_at": {"type": ["string", "null"]},\n', 1),
    ("doc/openapi.yaml", "required: [id, uri, created_at, description, metadata, ",
     "planted, paused, weight, ends_at, ", 1),
    ("doc/openapi.yaml", '        metadata: ""\n',
     '        planted: ""\n        paused: false\n        weight: 0\n        ends_at: null\n', 2),
    ("doc/openapi.yaml", "        metadata: rack 7\n",
     '        planted: ""\n        paused: false\n        weight: 0\n        ends_at: null\n', 2),
]
OTHER_KINDS = """        paused:
          description: Whether it is paused.
          type: [boolean, "null"]
        weight:
          description: How much it weighs.
          type: [integer, "null"]
          minimum: 0
          maximum: 4294967295
        ends_at:
          description: When it ends.
          type: [string, "null"]
          format: date-time
"""

# The neighbours of the mutual TLS module.
RESOURCE = [
    ("sql/schema.sql", "-- ---- what else is kept ----\n", resource_text.TABLE, 1),
    ("sql/schema.sql", "SELECT adit.make_recorder('mutual_tls_module', '{}');\n",
     "SELECT adit.make_recorder('planted_module', '{}');\n", 1),
    ("sql/schema.sql", "CREATE TRIGGER renew_revision BEFORE UPDATE ON adit.mutual_tls_module\n"
     "    FOR EACH ROW EXECUTE FUNCTION adit.renew_revision();\n", resource_text.TRIGGER, 1),
    ("src/model/resource_table.h", 'ERR_MUTUAL_TLS_NOT_FOUND, "mutual_tls", "mutual TLS module")',
     resource_text.ROW, 1),
    ("src/model/member_table.h", "/* clang-format off */\n", resource_text.MEMBERS, 1),
    # The last of our numbers.
    ("src/base/error_table.h", "/* Bugs */\n",
     'ERROR(PLANTED_NOT_FOUND, 9999, 404, "There is no planted module on this route.")\n', -1),
    ("doc/document.schema.json",
     '"mutual_tls_modules": {"type": ["array", "null"], "items": {"$ref": "#/$defs/mutual_tls_module"}}',
     ',\n        "planted_modules": {"type": ["array", "null"]}', 1),
    ("doc/openapi.yaml", "  /mutual_tls_modules:\n", resource_text.PATHS, -1),
    ("doc/openapi.yaml", "    MutualTlsModule:\n", resource_text.SCHEMAS, -1),
    ("doc/openapi.yaml", "pattern: ^(ssh_credential|oauth_module|mutual_tls_module|", "planted_module|", 1),
    ("doc/openapi.yaml", '            - $ref: "#/components/schemas/MutualTlsModule"\n',
     '            - $ref: "#/components/schemas/PlantedModule"\n', 1),
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

def edit(tree, steps):
    """Times -1: in front of the only one."""
    for name, before, after, times in steps:
        path = tree / name
        text = path.read_text(encoding="utf-8")
        if text.count(before) != abs(times):
            sys.exit("plant.py: %s has this %d times, not %d: %s" % (name, text.count(before), abs(times), before))
        text = text.replace(before, after + before if times < 0 else before + after)
        path.write_text(text, encoding="utf-8")


def plant_schemas(tree):
    """The members in the schemas of the answer, of POST and of PATCH."""
    path = tree / "doc/openapi.yaml"
    text, n = re.subn(r"        metadata:\n((?:          .*\n)+)",
                      lambda found: found.group(0) + "        planted:\n"
                      + found.group(1).replace("4096", "100") + OTHER_KINDS, path.read_text(encoding="utf-8"))
    if n != 3:
        sys.exit("plant.py: doc/openapi.yaml has %d schemas with metadata, not 3" % n)
    path.write_text(text, encoding="utf-8")


def plant_front(tree):
    shutil.copyfile(tree / "apache/proxy-fcgi.conf.in", tree / "apache/planted.conf.in")
    edit(tree, FRONT_STEPS)
    # It differs from nginx as its model does.
    path = tree / "tests/cases/fronts.differences"
    text = re.sub(r"^(apache-[a-z -]*)(apache-proxy-fcgi)\b", r"\1\2 apache-planted",
                  path.read_text(encoding="utf-8"), flags=re.M)
    text = re.sub(r"^apache-proxy-fcgi\b", "apache-proxy-fcgi apache-planted", text, flags=re.M)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    edit(pathlib.Path(sys.argv[1]), MEMBER)
    plant_schemas(pathlib.Path(sys.argv[1]))
    edit(pathlib.Path(sys.argv[1]), RESOURCE)
    plant_front(pathlib.Path(sys.argv[1]))
