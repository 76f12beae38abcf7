# SPDX-License-Identifier: MIT
"""A later version of the schema: a migration that is made up, and an aditctl that knows it."""
import os
import shlex
import subprocess

from adit.stack import BUILD, ROOT, run

SQL = os.path.join(ROOT, "sql")
VERSION = 900
NAME = "%d_newer.sql" % VERSION

# What a migration may do with a table of accounts' rows.
NEWER_SQL = """
ALTER TABLE adit.ssh_credential ADD COLUMN note text NOT NULL DEFAULT 'none';
COMMENT ON COLUMN adit.ssh_credential.note IS 'Made up; it holds ; and $$.';
SELECT adit.make_recorder('ssh_credential', '{}');
UPDATE adit.ssh_credential SET note = id WHERE description <> '';
ALTER TABLE adit.ssh_credential
    ADD CONSTRAINT ssh_credential_note_length CHECK (octet_length(note) <= 255);
CREATE INDEX ssh_credential_note ON adit.ssh_credential (account_id, note);
ALTER TABLE adit.mutual_tls_module ALTER COLUMN edge_id SET DEFAULT '';
CREATE FUNCTION adit.record_made_up() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('adit.made_up', 'x;', true);
    RETURN NULL;
END
$$;
CREATE TRIGGER record_made_up AFTER DELETE ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.record_made_up();
CREATE TABLE adit.made_up (
    account_id text COLLATE "C" PRIMARY KEY,
    word text NOT NULL
);
"""


def latest():
    """The version that this tree's programs know."""
    return max([1, *(int(name.split("_")[0]) for name in os.listdir(SQL) if name[0].isdigit())])


def make_aditctl(folder, sql=NEWER_SQL):
    """Builds an aditctl in a folder that knows one more migration.  Returns its path."""
    with open(os.path.join(folder, NAME), "w", encoding="utf-8") as file:
        file.write(sql)
    program = os.path.join(folder, "aditctl")
    table = os.path.join(folder, "migrations.c")
    names = ["schema.sql", *sorted(name for name in os.listdir(SQL) if name[0].isdigit())]
    with open(table, "w", encoding="utf-8") as file:
        subprocess.run(["awk", "-f", os.path.join(SQL, "embed.awk"),
                        *(os.path.join(SQL, name) for name in names), os.path.join(folder, NAME),
                        os.path.join(SQL, "grants.sql"), os.path.join(SQL, "optional", "citus.sql")],
                       stdout=file, check=True)
    rule = ("%s: ; $(COMPILE) -c -o $@.o %s && $(LINK) $(aditctl_OBJECTS) $@.o $(aditctl_LDADD)"
            " $(LIBS)" % (program, shlex.quote(table)))
    run(["make", "-s", "-C", BUILD, "--eval=" + rule, program])
    os.chmod(program, 0o755)
    return program
