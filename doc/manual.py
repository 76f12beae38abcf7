#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the parts of man/adit-api.7 that doc/openapi.yaml and src/base/error_table.h say.

A part stands between the comments 'begin PART' and 'end'.  The parts are:
- operations: all of them
- query: the parameters of their queries
- members NAME: those of a schema, or of an object in it, NAME.MEMBER
- text NAME: what the description of a schema or of a parameter says
- errors: the catalogue

usage: doc/manual.py
"""
import json
import os
import re
import sys

import openapi

PAGE = os.path.join(openapi.HERE, "..", "man", "adit-api.7")
SOURCE = openapi.read_source()
SCHEMAS = SOURCE["components"]["schemas"]

# Programs that have a manual.
PROGRAMS = {"aditctl": "aditctl 8", "adit-gate": "adit-gate 8"}
# What has a section of its own.
SECTIONS = {"AclRule": "ACL rules"}
UINT32_MAX = 4294967295


# ---- Markdown as mdoc ----

def escape(text):
    """An apostrophe in a word stays one; other quotes are straight."""
    text = text.replace("\\", "\\e").replace("…", "...")
    return re.sub(r"(?<!\w)'|'(?!\w)", r"\\(aq", text)


def argument(word):
    """A word behind a macro, which would be read as punctuation or as another macro."""
    word = escape(word).replace('"', "\\(dq")
    return "\\&" + word if re.fullmatch(r"[.,:;()\[\]?!|]|[A-Z][a-z]", word) else word


def code(text):
    """Macros for code: a member's name, or words in which <names> stand for others."""
    if text in NAMES:
        return "Va " + text
    if not re.search(r"\w", text):
        return "Ql " + argument(text)
    parts = re.split(r"(<[^<>]+>)", text)
    return " Ns ".join("Ar " + part[1:-1] if part[0] == "<" else
                       "Li " + " ".join(map(argument, part.split())) for part in parts if part)


def macros(word):
    """A line for a word that has code in it."""
    found = re.fullmatch(r"([(\[]*)`([^`]+)`([.,:;)\]?!]*)", word)
    if not found:
        return "." + " Ns ".join(code(part[1:-1]) if part[0] == "`" else "No " + argument(part)
                                 for part in re.split("(`[^`]+`)", word) if part)
    macro, *arguments = code(found[2]).split(" ")
    return "." + " ".join([macro, *found[1], *arguments, *found[3]])


def program(word):
    """A reference to a program's manual, or None."""
    name = word.rstrip(".,:;)")
    return " ".join([".Xr", PROGRAMS[name], *word[len(name):]]) if name in PROGRAMS else None


def is_end(line, word):
    """Whether a sentence ends with the line.  Each begins a line."""
    return re.search(r"\w['\")]*\.$", line) and re.match(r"[A-Z0-9'\"\[]", word)


def paragraph(text):
    lines = [""]
    text = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text.replace("**", ""))
    for word in re.findall(r"(?:`[^`]*`|[^\s`])+", text):
        line = lines[-1]
        macro = macros(word) if "`" in word else program(word)
        if macro:
            lines += [macro, ""]
        elif not line or len(line) + 1 + len(word) > 78 or is_end(line, word):
            lines.append(re.sub(r"^(?=[.'])", r"\\&", escape(word)))
        else:
            lines[-1] += " " + escape(word)
    return [line for line in lines if line]


def mdoc(text):
    lines = []
    for part in re.split(r"\n\s*\n", text.strip()):
        if part.startswith("- "):
            items = [[".It", *paragraph(entry)] for entry in re.split(r"^- ", part, flags=re.M)[1:]]
            lines += [".Bl -dash", *sum(items, []), ".El"]
        else:
            lines += [".Pp"] * bool(lines) + paragraph(part)
    return lines


def tagged(lines):
    return [".Bl -tag -width Ds", *lines, ".El"]


# ---- schemas ----

def resolved(schema):
    """The schema with what it refers to.  Its own words come first."""
    if "$ref" in schema:
        target = SOURCE
        for step in schema["$ref"].split("/")[1:]:
            target = target[step]
        schema = {**resolved(target), **schema}
    return schema


def properties(schema):
    """Those of a schema and of what it extends."""
    found = dict(schema.get("properties", {}))
    for other in schema.get("allOf", []):
        found.update(properties(resolved(other)))
    return found


def all_names():
    """The names of members and of query parameters."""
    names = {name for schema in SCHEMAS.values() for name in properties(schema)}
    return names | {name for name, _ in query_parameters()}


def types(schema):
    """The types of a value, "null" too."""
    schema = resolved(schema)
    if "anyOf" in schema:
        return sorted(set().union(*(types(one) for one in schema["anyOf"])))
    listed = schema.get("type", "object")
    return listed if isinstance(listed, list) else [listed]


def kind(schema):
    """The type of a value that is not null, and its limits."""
    schema = resolved(schema)
    name = next((name for name in types(schema) if name != "null"), "null")
    if name == "array":
        one, _, limit = kind(schema["items"]).partition(", ")
        return "list of %ss" % one + (", each " + limit if limit else "")
    if name == "integer" and "maximum" in schema:
        return "uint32" if schema["maximum"] == UINT32_MAX else \
            "integer, %(minimum)d to %(maximum)d" % schema
    return name + (", at most %(x-max-bytes)d bytes" % schema if "x-max-bytes" in schema else "")


def referred(schema):
    """What is said of the schema that a member's value, or an entry of a list, refers to."""
    parts = [schema.get("items", schema), *schema.get("anyOf", [])]
    names = [part["$ref"].rpartition("/")[2] for part in parts if "$ref" in part]
    for name in names:
        if name in SECTIONS:
            return ["See", ".Sx %s ." % SECTIONS[name]]
        if name.endswith("Ref"):
            members = ["`%s`" % member for member in SCHEMAS[name]["properties"]]
            return mdoc("%s %s and %s." % ("Each has" if "items" in schema else "It has",
                                           ", ".join(members[:-1]), members[-1]))
        if "items" in schema and "string" in types(SCHEMAS[name]):
            text = SCHEMAS[name]["description"].strip()
            return mdoc("An entry is " + text[0].lower() + text[1:])
    return []


def item(name, schema, is_required, is_answer):
    """A member or a parameter.  Null is a value only in answers."""
    whole = resolved(schema)
    or_null = " or null" if is_answer and "null" in types(whole) else ""
    lines = [".It Va %s Pq %s%s" % (name, kind(whole), or_null)]
    if is_required and not is_answer:
        lines.append("Required.")
    lines += mdoc(schema.get("description") or whole["description"]) + referred(schema)
    if "uniqueItems" in whole and not is_answer:
        lines.append("No entry may be given twice.")
    # Of what the deployment names, the description tells.
    if "default" in whole and "service" not in str(whole["default"]):
        lines += mdoc("The default is `%s`." % json.dumps(whole["default"]))
    return lines


def find(name):
    top, *rest = name.split(".")
    schema = {**SOURCE["components"]["parameters"], **SCHEMAS}[top]
    for step in rest:
        schema = schema["properties"][step]
    return schema


def members(name):
    """Answers require all members.  A member that can only be null is refused."""
    schema = find(name)
    required = schema.get("required", [])
    shown = properties(schema)
    lines = []
    for member, value in shown.items():
        if types(value) != ["null"]:
            lines += item(member, value, member in required, len(required) == len(shown))
    return tagged(lines)


# ---- operations ----

def operations():
    lines = []
    for path, methods in SOURCE["paths"].items():
        for method, operation in methods.items():
            if method in openapi.METHODS:
                lines += [".It Li %s %s" % (method.upper(), path), operation["summary"] + "."]
                for status, response in operation["responses"].items():
                    text = response["description"]
                    lines += mdoc("Answers %s: %s%s" % (status, text[0].lower(), text[1:]))
                if operation.get("security") == []:
                    lines.append("Needs neither key nor version.")
                lines += mdoc(operation.get("description", ""))
    return tagged(lines)


def query_parameters():
    """(name, parameter) of each, once."""
    found = {}
    for methods in SOURCE["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", []) if isinstance(operation, dict) else ():
                parameter = resolved(parameter)
                name = parameter["name"]
                if parameter["in"] == "query" and found.setdefault(name, parameter)["description"] != \
                        parameter["description"]:
                    sys.exit("doc/manual.py: %s has another description elsewhere" % name)
    return found.items()


def query():
    """Of a long description, the first paragraph."""
    lines = []
    for name, parameter in query_parameters():
        text = parameter["description"].partition("\n\n")[0]
        lines += item(name, {**resolved(parameter["schema"]), "description": text}, False, False)
    return tagged(lines)


# ---- the catalogue of errors ----

def errors():
    lines = []
    for heading, rows in openapi.read_sections():
        lines += [".Ss " + heading, '.Bl -tag -width "10000 (500)"']
        for row in rows:
            lines += [".It %d Pq %d" % (row.number, row.status), *paragraph(row.text)]
        lines.append(".El")
    return lines


NAMES = all_names()
PARTS = {"operations": operations, "query": query, "errors": errors, "members": members,
         "text": lambda name: mdoc(find(name)["description"])}


def written(match):
    part, *arguments = match[1].split()
    if part not in PARTS:
        sys.exit("doc/manual.py: there is no part '%s'" % part)
    return '.\\" begin %s\n%s\n.\\" end' % (match[1], "\n".join(PARTS[part](*arguments)))


def main():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    made, n = re.subn(r'^\.\\" begin (.*)\n(?:(?!\.\\" (?:begin|end)).*\n)*\.\\" end$', written, page,
                      flags=re.M)
    if n != page.count('.\\" begin '):
        sys.exit("doc/manual.py: a part of man/adit-api.7 does not end")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(made)


if __name__ == "__main__":
    main()
