# SPDX-License-Identifier: MIT
"""Up to PostgreSQL 14, and in databases that come from it, every role may create functions in the schema
public.  A responder that was taken over makes some there that fit better than PostgreSQL's own, and waits
for an operator to call them with the operator's rights."""
import os
import re

from adit import cluster, samples, stack
from adit.case import Case
from adit.pg_relay import PgRelay

CALLED = "a function of somebody else was called"

# For each function of PostgreSQL that the pattern matches, one in public of the same name and types.
SHADOW = """DO $$
DECLARE of record;
BEGIN
    FOR of IN SELECT p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid) AS types,
                     pg_catalog.pg_get_function_result(p.oid) AS result
        FROM pg_catalog.pg_proc AS p
        WHERE p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND p.prokind = 'f'
        AND p.proname = ANY ('{%s}'::text[])
    LOOP
        BEGIN
            EXECUTE pg_catalog.format('CREATE FUNCTION public.%%I(%%s) RETURNS %%s LANGUAGE plpgsql AS'
                ' ''BEGIN RAISE ''''""" + CALLED + """: %%s''''; END''',
                of.proname, of.types, of.result, of.proname);
        EXCEPTION WHEN undefined_object OR invalid_function_definition OR feature_not_supported THEN NULL; -- of types that PL/pgSQL does not know
        END;
    END LOOP;
END $$"""


def calls(sql):
    """The names of the functions that SQL calls, in order."""
    return sorted(set(re.findall(r"\b([a-z_][a-z_0-9]+)\(", sql)))


def read(*path):
    with open(os.path.join(stack.ROOT, *path), encoding="utf-8") as file:
        return file.read()


class SearchPath(Case):
    stack_name = "search_path"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        cls.server = cluster.attach(shared)
        shared.env["PGHOST"] = cls.server.run_folder
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.addCleanup(self.stack.psql, "DROP OWNED BY adit; REVOKE CREATE ON SCHEMA public FROM adit;"
                        " GRANT adit_responder TO adit")
        self.stack.psql("GRANT CREATE ON SCHEMA public TO adit")


class Aditctl(SearchPath):
    """Behind a pooler in transaction mode, the session of a statement may be another than that which
    aditctl has set up.  Here that has a search path with public in front."""

    def setUp(self):
        super().setUp()
        self.stack.psql(SHADOW % ",".join(calls(read("tests", "cases", "statements.golden"))),
                        user="adit")
        n = self.stack.psql("SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace")
        self.assertGreater(int(n), 100)
        relay = PgRelay(self.server.socket_path, "SET search_path = public, pg_catalog",
                        change_text=lambda sql: sql.replace(
                            "SET search_path = pg_catalog, pg_temp;SET client", "SET client"))
        self.addCleanup(relay.close)
        self.conf = os.path.join(self.stack.folder, "pooled.conf")
        text = re.sub(r"(?m)^(admin_)?conninfo *=.*\n", "", self.stack.read_conf())
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(text.replace("[database]\n", "[database]\nconninfo = %s\n"
                                    % relay.conninfo("postgres"), 1))
        self.assertIn(CALLED, self.stack.psql_run("SET search_path = public, pg_catalog;"
                                                  " SELECT to_char(now(), 'YYYY')").stderr)

    def test_reads_and_writes(self):
        made = self.assert_ok(self.admin.post("/ssh_credentials", samples.credential()), 201)
        self.assert_ok(self.admin.patch("/ssh_credentials/" + made["id"], {"description": "x"}))
        bot = self.home.person("bot").id
        file = os.path.join(self.stack.folder, "exported")
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.stack.ctl("export") + "\n")
        for words in (("account", "list"), ("user", "list"), ("key", "list"),
                      ("key", "issue", "--for", bot),
                      ("user", "rename", "--name", "x", self.home.admin.id),
                      ("bot", "disable", "--yes", bot), ("bot", "enable", bot),
                      ("history", "--since", "1h"), ("history", made["id"]),
                      ("restore", "--dry-run", "--since", "1h", "--by", self.home.admin.id),
                      ("export",), ("apply", "--yes", file), ("diff", file), ("purge", "--audit-days", "90"),
                      ("permits", samples.ED25519_FINGERPRINT, "www.example.com"),
                      ("who", "www.example.com"), ("migrate",), ("bot", "delete", "--yes", bot)):
            with self.subTest(" ".join(words)):
                done = self.stack.ctl_run(*words, conf=self.conf)
                self.assertNotIn(CALLED, done.stderr)
                self.assertEqual(done.returncode, 0, done)


class Scripts(SearchPath):
    def hostile(self, name):
        """Makes functions for what the script calls.  Returns what psql says of it, as a superuser."""
        script = os.path.join(stack.ROOT, "sql", *name.split("/"))
        self.stack.psql(SHADOW % ",".join(calls(read("sql", *name.split("/")))) + ";" + "".join(
            "CREATE FUNCTION public.format(text, %s) RETURNS text LANGUAGE plpgsql"
            " AS $$BEGIN RAISE '%s'; END$$;" % (of_type, CALLED)
            for of_type in ("name", "regprocedure")), user="adit")
        done = self.stack.psql_run("SET search_path = public, pg_catalog;\n\\i " + script)
        self.assertNotIn(CALLED, done.stderr)
        return done

    def test_functions_of_nodes(self):
        self.assertEqual(self.hostile("optional/distributed.sql").returncode, 0)

    def test_unique_keys(self):
        self.addCleanup(self.stack.psql, "DROP INDEX adit.ssh_credential_unique_public_key")
        self.assertEqual(self.hostile("optional/unique_public_keys.sql").returncode, 0)

    def test_citus(self):
        """Without Citus it ends soon."""
        self.assertIn("the extension citus is missing", self.hostile("optional/citus.sql").stderr)

    def test_grants(self):
        self.assertEqual(self.hostile("grants.sql").returncode, 0)


class Pages(SearchPath):
    def test_commands_for_psql(self):
        """The superuser's path has public behind PostgreSQL's own schema, as is the default, and in
        front."""
        found = [sql for name in ("operate/limit.md", "operate/find.md")
                 for sql in re.findall(r'psql -d adit [^"\n]*(?:\\\n *)?"(SELECT .*?)"\n',
                                       read("doc", *name.split("/")), re.S)]
        self.assertEqual(len(found), 3)
        self.stack.psql(SHADOW % ",".join(calls("\n".join(found))) + ";"
                        "CREATE FUNCTION public.pg_total_relation_size(text) RETURNS bigint LANGUAGE plpgsql"
                        " AS $$BEGIN RAISE '" + CALLED + "'; END$$;"
                        "CREATE FUNCTION public.pg_column_size(jsonb) RETURNS integer LANGUAGE plpgsql"
                        " AS $$BEGIN RAISE '" + CALLED + "'; END$$", user="adit")
        for path in '"$user", public', "public, pg_catalog":
            for sql in found:
                with self.subTest(sql, path=path):
                    self.stack.psql("SET search_path = %s; %s" % (path, sql))
