# SPDX-License-Identifier: MIT
"""The plain statements that the writes are compared with: the same row into a table as others would make it,
with a primary key, for credentials an index of the fingerprint, and nothing else.  These tables stay as they
are, whatever becomes of Adit's own."""

import re

import operations

# A copy of 10,000,000 rows would take minutes, and the memory of the table that is measured.
MOST_ROWS = 200000

CREDENTIAL = ("id", "created_at", "description", "metadata", "public_key", "acl", "owner_id", "revision")
MODULE = ("enabled", "provider", "client_id", "client_secret_key_id", "client_secret_sealed", "scopes",
          "email_addresses", "email_domains", "teams", "organizations", "options_passthrough", "cookie_prefix",
          "inactivity_timeout", "maximum_duration", "auth_check_interval")

# The responder's role must be able to use them.
TABLES = """
    CREATE SCHEMA plain;
    GRANT USAGE ON SCHEMA plain TO adit_responder;
    CREATE TABLE plain.ssh_credential (
        account_id text COLLATE "C", id text COLLATE "C", owner_id text NOT NULL, key_type text NOT NULL,
        fingerprint text COLLATE "C" NOT NULL, description text NOT NULL, metadata text NOT NULL,
        acl text[] NOT NULL, public_key text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
        revision bigint NOT NULL DEFAULT 0, PRIMARY KEY (account_id, id));
    CREATE INDEX ON plain.ssh_credential (fingerprint);
    CREATE TABLE plain.oauth_module (
        account_id text COLLATE "C", edge_id text COLLATE "C", route_id text COLLATE "C", enabled boolean NOT NULL,
        provider smallint, client_id text, client_secret_key_id text, client_secret_sealed bytea,
        scopes text[] NOT NULL, email_addresses text[] NOT NULL, email_domains text[] NOT NULL,
        teams text[] NOT NULL, organizations text[] NOT NULL, options_passthrough boolean NOT NULL,
        cookie_prefix text, inactivity_timeout bigint NOT NULL, maximum_duration bigint NOT NULL,
        auth_check_interval bigint NOT NULL, revision bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (account_id, edge_id, route_id));""" + "".join("""
    INSERT INTO plain.{0} ({1}) SELECT {1} FROM adit.{0} WHERE {2};
    GRANT SELECT, INSERT, UPDATE ON plain.{0} TO adit_responder;""".format(table, ", ".join(columns), which)
    for table, columns, which in (
        ("ssh_credential", ("account_id", "key_type", "fingerprint", *CREDENTIAL),
         "id < 'sshcr_00%d'" % (operations.FIRST_ROW + MOST_ROWS)),
        ("oauth_module", ("account_id", "edge_id", "route_id", *MODULE), "true")))

RETURNED = " RETURNING " + ", ".join("c." + column for column in CREDENTIAL)

# {values}: those of the responder's statement.  The variables are those of its script, with account and owner.
STATEMENTS = {
    "post": "INSERT INTO plain.ssh_credential AS c ({columns}) VALUES ({values})" + RETURNED,
    "patch": "UPDATE plain.ssh_credential AS c SET description = 'edge ' || :nonce::text"
             " WHERE c.account_id = :account AND c.id = 'sshcr_00' || :row::text || repeat('0', 17)" + RETURNED,
    "put_module": "INSERT INTO plain.oauth_module AS m ({columns}) VALUES ({values})"
                  " ON CONFLICT (account_id, edge_id, route_id) DO UPDATE SET "
                  + ", ".join("%s = excluded.%s" % (column, column) for column in MODULE) + " RETURNING m.revision",
}

# What tells who writes, and what only Adit's table has.
OTHERS = {"account_id": ":account", "owner_id": ":owner", "is_timely": None}


def split(values):
    """Splits SQL at the commas that are in no parentheses, brackets or quotes."""
    pieces, depth, quoted = [""], 0, False
    for character in values:
        quoted ^= character == "'"
        depth += 0 if quoted else (character in "([{") - (character in ")]}")
        if character == "," and depth == 0 and not quoted:
            pieces.append("")
        else:
            pieces[-1] += character
    return pieces


def written(sql):
    """What an INSERT of the responder writes, by column."""
    found = re.search(r"INSERT INTO adit\.\w+ AS \w+ \(([^)]*)\) SELECT (.*?) FROM ", sql)
    pairs = zip((column.strip() for column in found[1].split(",")), split(found[2]), strict=True)
    pairs = ((column, OTHERS.get(column, value)) for column, value in pairs)
    return {column: value for column, value in pairs if value}


def script(name, own):
    """The pgbench script of the plain statement: it draws its numbers as the operation's own."""
    *lines, sql = own.splitlines()
    statement = STATEMENTS[name]
    if "{values}" in statement:
        values = written(sql)
        statement = statement.format(columns=", ".join(values), values=", ".join(values.values()))
    return "".join(line + "\n" for line in (*lines, statement + ";"))
