# SPDX-License-Identifier: MIT
"""The plain statements that the writes are compared with: the same row into a copy of the table with
its checks and indexes, without triggers and foreign keys."""

import operations

# A copy of 10,000,000 rows would take minutes, and the memory of the table that is measured.
MOST_ROWS = 200000

# The responder's role must be able to use them.
TABLES = "CREATE SCHEMA plain; GRANT USAGE ON SCHEMA plain TO adit_responder;" + "".join("""
    CREATE TABLE plain.{0} (LIKE adit.{0} INCLUDING ALL);
    INSERT INTO plain.{0} SELECT * FROM adit.{0} WHERE {1};
    GRANT SELECT, INSERT, UPDATE ON plain.{0} TO adit_responder;""".format(table, condition)
    for table, condition in (
        ("ssh_credential", "id < 'sshcr_00%d'" % (operations.FIRST_ROW + MOST_ROWS)),
        ("oauth_module", "true")))

CREDENTIAL = ("c.id, c.created_at, c.description, c.metadata, c.public_key, c.acl, c.owner_id,"
              " c.revision")
COLUMNS = ("enabled", "provider", "client_id", "client_secret_key_id", "client_secret_sealed",
           "scopes", "email_addresses", "email_domains", "teams", "organizations",
           "options_passthrough", "cookie_prefix", "inactivity_timeout", "maximum_duration",
           "auth_check_interval")

# The variables are those of the operation's own script, with account and owner.
STATEMENTS = {
    "post": "INSERT INTO plain.ssh_credential AS c (account_id, id, owner_id, public_key, key_type,"
            " fingerprint, description, metadata, acl) VALUES (:account, 'sshcr_000000000000' ||"
            " :made::text, :owner, '%s' || :nonce::text || '%s', :p7, 'SHA256:' || :nonce::text ||"
            " repeat('0', 35), 'edge ' || :nonce::text, '', :p11::text[])"
            " RETURNING " % tuple(operations.KEY.split("{nonce}")) + CREDENTIAL,
    "patch": "UPDATE plain.ssh_credential AS c SET description = 'edge ' || :nonce::text"
             " WHERE c.account_id = :account AND c.id = 'sshcr_00' || :row::text || repeat('0', 17)"
             " RETURNING " + CREDENTIAL,
    "put_module":
        "INSERT INTO plain.oauth_module AS m (account_id, edge_id, route_id, " + ", ".join(COLUMNS)
        + ") VALUES (:account, :p4, 'edghtsrt_' || :row::text, :p7::boolean, :p8::smallint, :p9,"
        " :p10, :p11::bytea, :p12::text[], '{}', :p14::text[], :p15::text[], '{}', :p17::boolean,"
        " NULL, :p19::bigint, :nonce::bigint, :p21::bigint)"
        " ON CONFLICT (account_id, edge_id, route_id) DO UPDATE SET "
        + ", ".join("%s = excluded.%s" % (column, column) for column in COLUMNS)
        + " RETURNING m.revision",
}


def script(name, own):
    """The pgbench script of the plain statement: it draws its numbers as the operation's own."""
    return "".join(line + "\n" for line in own.splitlines()[:-1]) + STATEMENTS[name] + ";\n"
