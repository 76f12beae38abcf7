#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes console/src/api/types.ts, what the interface answers, its limits and what filters may name, from
doc/openapi.yaml and the tables that doc/openapi.py reads.

usage: doc/console_types.py
"""
import json
import os

import openapi

FILE = os.path.join(openapi.HERE, "..", "console", "src", "api", "types.ts")
SOURCE = openapi.read_source()
SCHEMAS = SOURCE["components"]["schemas"]

HEAD = """\
// SPDX-License-Identifier: MIT
// What the interface answers, and how large texts may be.  "make regen" makes this file from doc/openapi.yaml.

// Some providers have teams.
export type AnyOauthProvider = OauthProvider & Partial<OauthHostingProvider>;

// By the deployment's names of the providers, in their order.  At most one is not null.
export type OauthProviders = Record<string, AnyOauthProvider | null>;
"""
PLAIN = {"string": "string", "integer": "number", "boolean": "boolean", "null": "null"}


def target(ref):
    found = SOURCE
    for step in ref.split("/")[1:]:
        found = found[step]
    return found


def is_object(schema):
    return schema.get("type") == "object"


def union(types):
    """One of several objects has only the members that the reader finds in it."""
    objects = [one for one in types if one in SCHEMAS and is_object(SCHEMAS[one])]
    if len(objects) > 1:
        types = ["Record<string, unknown>", *(one for one in types if one not in objects)]
    return " | ".join(types)


def type_of(schema):
    if "$ref" in schema:
        steps = schema["$ref"].split("/")
        found = target(schema["$ref"])
        is_named = len(steps) == 4 and (is_object(found) or "enum" in found)
        return steps[3] if is_named else type_of(found)
    if "anyOf" in schema:
        return union([type_of(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return union([json.dumps(value) for value in schema["enum"]])
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema["type"] == "array":
        each = type_of(schema["items"])
        return ("(%s)[]" if " | " in each else "%s[]") % each
    if is_object(schema):
        return "{ %s }" % "; ".join(members(schema))
    types = schema["type"]
    return union([PLAIN[name] for name in ([types] if isinstance(types, str) else types)])


def members(schema):
    required = schema.get("required", [])
    return ["%s%s: %s" % (name, "" if name in required else "?", type_of(value))
            for name, value in schema["properties"].items()]


def declaration(name):
    schema = SCHEMAS[name]
    if is_object(schema):
        return "export interface %s {\n%s}\n" % (
            name, "".join("    %s;\n" % member for member in members(schema)))
    return "export type %s = %s;\n" % (name, type_of(schema))


def is_answer(schema):
    """Answers require all their members.  Requests do not, and the head has the providers."""
    return "enum" in schema or is_object(schema) and \
        set(schema.get("required", [])) == set(schema.get("properties", [None]))


def limits(schema):
    """The most bytes of each member, or of each of its entries."""
    parts = ((name, value.get("items", value)) for name, value in schema.get("properties", {}).items())
    parts = [(name, target(part["$ref"]) if "$ref" in part else part) for name, part in parts]
    return ["%s: %d" % (name, part["x-max-bytes"]) for name, part in parts if "x-max-bytes" in part]


def max_bytes(names):
    lines = ["    %s: { %s },\n" % (name, ", ".join(limits(SCHEMAS[name])))
             for name in names if limits(SCHEMAS[name])]
    return "// Of each member, or of each of its entries.\nexport const MAX_BYTES = {\n%s};\n" % "".join(lines)


def filtered():
    lines = ["    %s: %s,\n" % (resource, json.dumps(list(openapi.filtered(resource))))
             for resource in openapi.FILTER_TABLES]
    return "// What a filter of the resource's list may name.\nexport const FILTERED = {\n%s};\n" % "".join(lines)


def taken():
    """The members that a body may give a value."""
    lines = ["    %s: %s,\n" % (name, json.dumps([member for member, value in SCHEMAS[name]["properties"].items()
                                                 if value.get("type") != "null" and member != "id"]))
             for name in ("SshCredentialCreate", "SshCredentialUpdate")]
    return "// What a POST and a PATCH take.\nexport const TAKEN = {\n%s};\n" % "".join(lines)


def main():
    names = [name for name, schema in SCHEMAS.items() if is_answer(schema)]
    with open(FILE, "w", encoding="utf-8") as file:
        file.write("\n".join([HEAD, *map(declaration, names), max_bytes(names), filtered(), taken()]))


if __name__ == "__main__":
    main()
