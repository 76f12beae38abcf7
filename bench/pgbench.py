# SPDX-License-Identifier: MIT
"""Reads the responder's statements from PostgreSQL's log, and turns them into pgbench scripts."""
import re

ENTRY = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[\d+\] (\w+):  ", re.M)
# A statement's name ends in a hash of its text.
EXECUTED = re.compile(r"execute ([a-z_0-9]+)_[0-9a-f]{16}: (.*)", re.S)
PARAMETER = re.compile(r"\$(\d+) = (NULL|'(?:[^']|'')*')(?:, |$)", re.S)
MILLISECONDS = re.compile(r"\d{13}")
SETTING = re.compile(r"SET (\w+) = ([^;]+)")


def read_log(text):
    """Returns the executed statements as [(name, SQL, {number: value})], with None for NULL, and
    the session settings as {name: value}."""
    statements, settings = [], {}
    pieces = ENTRY.split(text)[1:]
    for kind, entry in zip(pieces[::2], pieces[1::2]):
        entry = entry.rstrip("\n").replace("\n\t", "\n")
        executed = EXECUTED.match(entry) if kind == "LOG" else None
        if executed:
            statements.append((executed.group(1), executed.group(2), {}))
        elif kind == "LOG" and entry.startswith("statement: SET "):
            settings.update(SETTING.findall(entry))
        # PostgreSQL 15 writes "parameters:", PostgreSQL 17 "Parameters:".
        elif kind == "DETAIL" and entry.lower().startswith("parameters: "):
            for number, value in PARAMETER.findall(entry.partition(": ")[2]):
                statements[-1][2][int(number)] = \
                    None if value == "NULL" else value[1:-1].replace("''", "'")
    return statements, settings


def options_of(settings):
    """Returns the session settings as PGOPTIONS."""
    return " ".join("-c %s=%s" % (name, re.sub(r"([\\ ])", r"\\\1", value.strip()))
                    for name, value in settings.items())


def make_script(statement, row, nonce):
    """Returns the pgbench script and its variables.  The script replaces the sample's row and nonce
    by random numbers.  It also replaces the identifier, the time and the fingerprint of a new
    credential.

    The script needs the variables first_row, last_row, and serial, a number that differs for each
    run."""
    name, sql, parameters = statement
    variables = {}

    def place(match):
        number = int(match.group(1))
        value = parameters[number]
        if value is None:
            return "NULL"
        for text, variable in ((row, "row"), (nonce, "nonce")):
            if value == str(text):
                return ":" + variable
            if str(text) in value:
                before, _, after = value.partition(str(text))
                return "('%s' || :%s::text || '%s')" % (before.replace("'", "''"), variable,
                                                        after.replace("'", "''"))
        if name.endswith("_create") and value.startswith("sshcr_"):
            # Ascending, like the responder's identifiers.
            return "('%s' || :made::text)" % value[:len("sshcr_") + 12]
        if name.endswith("_create") and value.startswith("SHA256:"):
            return "('SHA256:' || :nonce::text || '%s')" % (35 * "0")
        if name.endswith("_create") and MILLISECONDS.fullmatch(value):
            return "(date_part('epoch', now()) * 1000)"
        variables["p%d" % number] = value
        return ":p%d" % number

    script = ("\\set row random(:first_row, :last_row)\n"
              "\\set nonce random(10000000, 99999999)\n"
              "\\set n :n + 1\n"
              "\\set made 100000000000000 + :serial * 1000000000 + :n * 64 + :client_id\n"
              + re.sub(r"\$(\d+)", place, sql).replace("\n", " ") + ";\n")
    variables["n"] = "0"
    return script, variables
