# SPDX-License-Identifier: MIT
"""The database by itself: the rights of the responder's role, and the rows that the tables refuse
from any writer."""
import os

from adit import samples, stack
from adit.case import Case

SEALED = "decode(repeat('00', 40), 'hex')"


def literal(value):
    return "'%s'" % value.replace("'", "''")


class Role(Case):
    """What an attacker could do with a responder's database session."""

    # Each is refused for a missing privilege: SQLSTATE 42501.
    FORBIDDEN = [
        "CREATE TABLE adit.x (a int)", "CREATE TABLE public.x (a int)", "CREATE SCHEMA x",
        "CREATE ROLE x", "CREATE DATABASE x", "CREATE FUNCTION adit.f() RETURNS int LANGUAGE sql"
        " AS 'SELECT 1'", "CREATE EXTENSION pgcrypto", "CREATE INDEX ON adit.ssh_credential (acl)",
        "DROP TABLE adit.mutual_tls_module", "DROP SCHEMA adit CASCADE",
        "ALTER TABLE adit.ssh_credential ADD COLUMN x int",
        "ALTER TABLE adit.ssh_credential DROP CONSTRAINT ssh_credential_owner",
        "ALTER TABLE adit.ssh_credential DISABLE TRIGGER ALL", "ALTER ROLE adit SUPERUSER",
        "ALTER ROLE postgres PASSWORD 'x'", "ALTER DATABASE adit SET search_path = x",
        "COMMENT ON TABLE adit.api_key IS 'x'",
        "TRUNCATE adit.ssh_credential", "TRUNCATE adit.oauth_module",
        "BEGIN; LOCK TABLE adit.principal IN ACCESS EXCLUSIVE MODE",
        "SELECT * FROM adit.account", "INSERT INTO adit.account (id) VALUES ('x')",
        "UPDATE adit.account SET name = 'x'", "DELETE FROM adit.account",
        "INSERT INTO adit.principal (account_id, id, kind) VALUES ('a', 'b', 'user')",
        "UPDATE adit.principal SET is_admin = true", "DELETE FROM adit.principal",
        "INSERT INTO adit.api_key (account_id, id, principal_id, digest) VALUES"
        " ('a', 'b', 'c', 'd')", "UPDATE adit.api_key SET revoked_at = NULL",
        "UPDATE adit.api_key SET read_only = false", "UPDATE adit.api_key SET digest = 'x'",
        "UPDATE adit.api_key SET scope = 'account'",
        "DELETE FROM adit.api_key", "INSERT INTO adit.migration VALUES (2, 'x')",
        "UPDATE adit.migration SET version = 9", "DELETE FROM adit.migration",
        "UPDATE adit.ssh_credential SET public_key = 'x'",
        "UPDATE adit.ssh_credential SET owner_id = 'x'",
        "UPDATE adit.ssh_credential SET account_id = 'x'",
        "UPDATE adit.ssh_credential SET id = 'x'",
        "UPDATE adit.ssh_credential SET fingerprint = 'x'",
        "UPDATE adit.ssh_credential SET created_at = now()",
        "SET ROLE postgres", "SET SESSION AUTHORIZATION postgres",
        "COPY adit.ssh_credential TO PROGRAM 'id'", "COPY adit.ssh_credential TO '/tmp/x'",
        "SELECT pg_read_file('/etc/passwd')", "SELECT * FROM pg_authid",
        "SELECT pg_reload_conf()", "ALTER SYSTEM SET log_statement = 'all'",
        "SELECT lo_import('/etc/passwd')", "SELECT pg_ls_dir('/')",
    ]
    NEEDED = [
        "SELECT * FROM adit.migration", "SELECT * FROM adit.principal",
        "SELECT * FROM adit.api_key", "SELECT * FROM adit.ssh_credential",
        "SELECT * FROM adit.oauth_module", "SELECT * FROM adit.mutual_tls_module",
        "UPDATE adit.ssh_credential SET description = '', metadata = '', acl = '{}' WHERE false",
        "DELETE FROM adit.ssh_credential WHERE false", "DELETE FROM adit.oauth_module WHERE false",
        "UPDATE adit.oauth_module SET enabled = true WHERE false",
        "DELETE FROM adit.mutual_tls_module WHERE false",
    ]

    def test_forbidden(self):
        before = self.stack.dump()

        def check(statement):
            # No surrounding transaction: some statements cannot run in one.
            done = self.stack.psql_run(statement, user="adit")
            self.assertNotEqual(done.returncode, 0, "was allowed")
            self.assertIn("42501", done.stderr)
        self.each([(statement[:60], statement) for statement in self.FORBIDDEN], check)
        self.assertEqual(self.stack.dump(), before)

    def test_needed(self):
        self.each([(statement[:60], statement) for statement in self.NEEDED],
                  lambda statement: self.stack.psql(statement, user="adit"))

    def test_owns_nothing_and_is_no_superuser(self):
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM pg_class WHERE relowner = 'adit'::regrole"
            " OR relowner = 'adit_responder'::regrole"), "0")
        self.assertEqual(self.stack.psql(
            "SELECT bool_or(rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication"
            " OR rolbypassrls) FROM pg_roles WHERE rolname LIKE 'adit%'"), "f")
        self.assertEqual(self.stack.psql(
            "SELECT string_agg(rolname, ',') FROM pg_roles WHERE rolname NOT IN ('adit',"
            " 'adit_responder') AND pg_has_role('adit', oid, 'MEMBER')"), "")

    def test_grants_are_exactly_these(self):
        rows = self.stack.psql(
            "SELECT table_name, string_agg(privilege_type, ',' ORDER BY privilege_type)"
            " FROM information_schema.table_privileges WHERE grantee = 'adit_responder'"
            " GROUP BY 1 ORDER BY 1")
        self.assertEqual(rows.splitlines(), [
            "api_key|SELECT", "api_key_use|INSERT,SELECT",
            "idempotency_key|DELETE,INSERT,SELECT", "migration|SELECT",
            "mutual_tls_module|DELETE,INSERT,SELECT", "oauth_module|DELETE,INSERT,SELECT",
            "principal|SELECT", "ssh_credential|DELETE,INSERT,SELECT"])
        # Columns without UPDATE, in tables where the role may update another column.
        rows = self.stack.psql(
            "SELECT c.relname, string_agg(a.attname, ',' ORDER BY a.attname)"
            " FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
            " WHERE c.relnamespace = 'adit'::regnamespace AND c.relkind IN ('r', 'v')"
            " AND has_any_column_privilege('adit_responder', c.oid, 'UPDATE')"
            " AND NOT has_column_privilege('adit_responder', c.oid, a.attnum, 'UPDATE')"
            " GROUP BY 1 ORDER BY 1")
        self.assertEqual(rows.splitlines(), [
            "api_key_use|account_id,api_key_id",
            "mutual_tls_module|account_id,edge_id,revision",
            "oauth_module|account_id,edge_id,incarnation,revision,route_id",
            "ssh_credential|account_id,created_at,fingerprint,id,is_timely,key_type,owner_id,public_key,"
            "revision,standing"])

    def test_grants_of_a_gateway_are_exactly_these(self):
        rows = self.stack.psql(
            "SELECT p.table_name, p.privilege_type, CASE WHEN count(*) = (SELECT count(*)"
            " FROM information_schema.columns AS c WHERE c.table_schema = 'adit'"
            " AND c.table_name = p.table_name) THEN 'all'"
            " ELSE string_agg(p.column_name, ',' ORDER BY p.column_name) END"
            " FROM information_schema.column_privileges AS p WHERE p.grantee = 'adit_gateway'"
            " GROUP BY 1, 2 ORDER BY 1, 2")
        self.assertEqual(rows.splitlines(), [
            "account|SELECT|id", "migration|SELECT|all", "mutual_tls_module|SELECT|all",
            "ssh_credential|SELECT|account_id,acl,enabled,fingerprint,id,owner_id,revision,standing"])
        rows = self.stack.psql(
            "SELECT table_name, privilege_type FROM information_schema.table_privileges"
            " WHERE grantee = 'adit_gateway' ORDER BY 1, 2")
        self.assertEqual(rows.splitlines(), ["migration|SELECT", "mutual_tls_module|SELECT"])
        self.assertEqual(self.stack.psql(
            "SELECT routine_name FROM information_schema.routine_privileges"
            " WHERE grantee = 'adit_gateway'"), "changes")
        # Nobody but the owner and gateways may run it.
        self.assertEqual(self.stack.psql(
            "SELECT string_agg(grantee, ',' ORDER BY grantee COLLATE \"C\")"
            " FROM information_schema.routine_privileges WHERE routine_name = 'changes'"),
            "adit_gateway,postgres")

    def test_keys_stay(self):
        """The role cannot move a row to another account, edge or route."""
        columns = self.stack.psql(
            "SELECT c.conrelid::regclass, a.attname FROM pg_constraint AS c JOIN pg_attribute AS a"
            " ON a.attrelid = c.conrelid AND a.attnum = ANY(c.conkey) WHERE c.contype = 'p'"
            " AND c.connamespace = 'adit'::regnamespace").splitlines()
        self.assertGreater(len(columns), 12)
        for column in columns:
            table, name = column.split("|")
            with self.subTest(column):
                done = self.stack.psql_run("UPDATE %s SET %s = DEFAULT" % (table, name), user="adit")
                self.assertIn("42501", done.stderr)

    def test_functions_that_are_not_public(self):
        """ALTER DEFAULT PRIVILEGES may have revoked EXECUTE from PUBLIC.  Adit works without it."""
        self.stack.psql("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA adit FROM PUBLIC")
        try:
            made = self.assert_ok(self.admin.post("/ssh_credentials", samples.credential()), 201)
            path = "/ssh_credentials/" + made["id"]
            self.assert_ok(self.admin.patch(path, {"description": "x"}))
            # No caller's row, and of another standing.
            self.stack.psql(
                "BEGIN; INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
                " public_key, standing) SELECT account_id, 'sshcr_' || repeat('x', 27), owner_id, key_type,"
                " fingerprint, public_key, 'own' FROM adit.ssh_credential WHERE id = '%s';"
                " UPDATE adit.ssh_credential SET acl = '{bind:a.example}' WHERE standing = 'own'; ROLLBACK"
                % made["id"], user="adit")
            self.assert_ok(self.admin.delete(path), 204)
        finally:
            self.stack.psql("GRANT EXECUTE ON FUNCTION adit.new_revision(), adit.renew_revision(),"
                            " adit.is_rekeying(jsonb, jsonb), adit.own_key_of_caller(text),"
                            " adit.is_timely(text, timestamptz),"
                            " adit.refuse_shared_key(regclass, text, text, text),"
                            " adit.next_standing(regclass, text, text, text, text, text, text[], text[]),"
                            " adit.public_key_owners(regclass, text, text, bigint) TO PUBLIC")

    def test_nobody_else_connects(self):
        """Whoever connects may hold the locks of "aditctl apply" and "aditctl migrate"."""
        self.stack.psql("CREATE ROLE neighbour LOGIN")
        self.addCleanup(self.stack.psql, "DROP ROLE neighbour")
        self.assertIn("permission denied for database", self.stack.psql_run(
            "SELECT pg_advisory_lock(1633970549)", user="neighbour").stderr)
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM unnest('{adit_responder,adit_gateway,adit_gate}'::text[]) AS r"
            " WHERE has_database_privilege(r, current_database(), 'CONNECT')"), "3")

    def test_nothing_is_public(self):
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM information_schema.table_privileges WHERE grantee = 'PUBLIC'"
            " AND table_schema = 'adit'"), "0")
        self.assertEqual(self.stack.psql(
            "SELECT has_schema_privilege('pg_monitor', 'adit', 'USAGE')"), "f")


class Functions(Case):
    """A superuser may change rows, and functions of the schema then run in the superuser's session.
    They must not resolve names by that session's search_path."""

    TABLES = (("ssh_credential", "description = description || 'x'"),
              ("oauth_module", "enabled = NOT enabled"),
              ("mutual_tls_module", "enabled = NOT enabled"), ("account", "name = name || 'x'"),
              ("principal", "name = name || 'x'"), ("api_key", "description = description || 'x'"))

    # What records a change takes no time for a search_path of its own.
    RECORDED = tuple(table for table, _ in TABLES)

    def test_paths_are_pinned(self):
        """Every function pins its search_path, or its SQL body was parsed when it was made.
        test_unpinned_functions tests the others."""
        rows = self.stack.psql(
            "SELECT proname, prosqlbody IS NOT NULL OR coalesce("
            "'search_path=pg_catalog, pg_temp' = ANY(proconfig), false) FROM pg_proc"
            " WHERE pronamespace = 'adit'::regnamespace ORDER BY 1").splitlines()
        self.assertGreaterEqual(len(rows), 19)
        unpinned = ["record_%s_%s" % (table, verb) for table in self.RECORDED
                    for verb in ("created", "deleted", "updated")]
        self.assertEqual(sorted(row for row in rows if not row.endswith("|t")),
                         sorted(name + "|f" for name in [*unpinned, "renew_revision", "renew_credential",
                                                 "renew_oauth_module", "limit_public_key",
                                                 "public_key_owners", "own_key_of_caller",
                                                 "supersede"]))

    def test_recorders_know_every_column(self):
        """A migration that adds a column, or lets one be NULL, calls adit.make_recorder() again."""
        for table in self.RECORDED:
            code = self.stack.psql("SELECT prosrc FROM pg_proc WHERE oid ="
                                   " 'adit.record_%s_updated'::regproc" % table)
            columns = self.stack.psql(
                "SELECT attname, attnotnull FROM pg_attribute WHERE attrelid = 'adit.%s'::regclass"
                " AND attnum > 0 AND NOT attisdropped"
                " AND attname NOT IN ('revision', 'incarnation', 'is_timely')" % table).split()
            self.assertGreaterEqual(len(columns), 3)
            for row in columns:
                column, not_null = row.split("|")
                differs = "OLD.%s OPERATOR(pg_catalog.<>) NEW.%s" % (column, column)
                if not_null == "f":
                    differs = ("(%s) IS NOT FALSE AND NOT (OLD.%s IS NULL AND NEW.%s IS NULL)"
                               % (differs, column, column))
                with self.subTest(table + "." + column):
                    self.assertIn("CASE WHEN %s" % differs, code)

    def test_unpinned_functions(self):
        """They name the schema of each function, operator and type.  The owner's rights are theirs,
        so a name that they left to the search_path would give these rights away."""
        self.assert_ok(self.admin.post("/ssh_credentials", samples.credential()), 201)
        self.assert_ok(self.admin.put("/edges/https/g/routes/g/oauth", {"provider": {"provider_a": {
            "client_id": "app", "client_secret": "hidden"}}}))
        self.assert_ok(self.admin.put("/edges/tls/g/mutual_tls", {}))
        self.addCleanup(self.stack.psql, "DROP SCHEMA hostile CASCADE")
        self.stack.psql(
            "CREATE SCHEMA hostile;"
            + "".join("CREATE FUNCTION hostile.called(%s, %s) RETURNS boolean LANGUAGE plpgsql"
                      " AS $$BEGIN RAISE 'hostile'; END$$;" % types
                      + "".join("CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %s,"
                                " FUNCTION = hostile.called);" % (operator, *types)
                                for operator in ("=", "<>", "-", "||"))
                      for types in (("text", "text"), ("text[]", "text[]"), ("bigint", "bigint"),
                                    ("smallint", "smallint"), ("boolean", "boolean"),
                                    ("bytea", "bytea"), ("timestamptz", "timestamptz"),
                                    ("jsonb", "text[]")))
            + "".join("CREATE FUNCTION hostile.%s RETURNS %s LANGUAGE plpgsql"
                      " AS $$BEGIN RAISE 'hostile'; END$$;" % function for function in (
                          ("current_setting(text, boolean)", "text"),
                          ("string_to_array(text, text)", "text[]"),
                          ("substring(text, text)", "text"), ("to_jsonb(anyelement)", "jsonb"),
                          ("array_remove(text[], text)", "text[]"),
                          ("concat(VARIADIC text[])", "text"), ("random()", "float8"),
                          ("floor(float8)", "float8"), ("pg_notify(text, text)", "void")))
            + "".join("CREATE DOMAIN hostile.%s AS int;" % name for name in ("text", "bool")))
        begin = ("SET search_path = hostile, pg_catalog; SET adit.notify = 'on';"
                 " SET adit.rekey = 'on'; SET adit.operator = 'ada'; BEGIN; ")
        for sql in "SELECT 1::pg_catalog.int8 = 1::pg_catalog.int8", "SELECT 'x'::text":
            self.assertNotEqual(self.stack.psql_run(begin + sql).returncode, 0)
        for table, change in self.TABLES[:3]:
            change = change.split(" = ")[0] + (" = 'new'" if table == "ssh_credential" else
                                               " = NOT enabled")
            with self.subTest(table):
                shown = self.stack.psql(
                    begin + "CREATE TEMP TABLE kept AS SELECT * FROM adit.%s; UPDATE adit.%s SET %s;"
                    " DELETE FROM adit.%s; INSERT INTO adit.%s SELECT * FROM kept; ROLLBACK;"
                    " SELECT 'done'::pg_catalog.text" % (table, table, change, table, table))
                self.assertTrue(shown.endswith("done"), shown)
        for table, _ in self.TABLES[3:]:
            column = "description" if table == "api_key" else "name"
            with self.subTest(table):
                shown = self.stack.psql(begin + "UPDATE adit.%s SET %s = 'new'; ROLLBACK;"
                                        " SELECT 'done'::pg_catalog.text" % (table, column))
                self.assertTrue(shown.endswith("done"), shown)

    def test_names_were_resolved_to_postgresqls(self):
        """Checks conditions of triggers, bodies of functions, views, defaults and constraints."""
        self.assertEqual(self.stack.psql(
            "SELECT pg_describe_object(d.classid, d.objid, 0), pg_describe_object(d.refclassid,"
            " d.refobjid, 0) FROM pg_depend AS d"
            " LEFT JOIN pg_proc AS p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid"
            " LEFT JOIN pg_operator AS o ON d.refclassid = 'pg_operator'::regclass"
            " AND o.oid = d.refobjid WHERE coalesce(p.pronamespace, o.oprnamespace)"
            " NOT IN ('pg_catalog'::regnamespace, 'adit'::regnamespace,"
            " 'information_schema'::regnamespace)"), "")

    def test_a_function_of_somebody_elses(self):
        """Up to PostgreSQL 14 every role could create functions in public.  Such a function may fit
        better than PostgreSQL's own.  A superuser's change must not call it."""
        self.assert_ok(self.admin.post("/ssh_credentials", samples.credential()), 201)
        self.assert_ok(self.admin.put("/edges/https/f/routes/f/oauth", {}))
        self.assert_ok(self.admin.put("/edges/tls/f/mutual_tls", {}))
        self.addCleanup(self.stack.psql, "ALTER ROLE adit NOSUPERUSER; REVOKE CREATE ON SCHEMA"
                        " public FROM adit; DROP OWNED BY adit")
        self.stack.psql("GRANT CREATE ON SCHEMA public TO adit")
        for table, _ in self.TABLES:
            self.stack.psql(
                "CREATE FUNCTION public.to_jsonb(adit.%s) RETURNS jsonb LANGUAGE plpgsql AS $$"
                "BEGIN IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN"
                " ALTER ROLE adit SUPERUSER; END IF; RETURN pg_catalog.to_jsonb($1); END$$"
                % table, user="adit")
        for path in '"$user", public', "public, pg_catalog":
            for table, column in self.TABLES:
                with self.subTest(table, path=path):
                    # Other tests may have left texts as long as may be.
                    self.stack.psql("SET search_path = %s; UPDATE adit.%s SET %s WHERE %s = '%s'" % (
                        path, table, column, "id" if table == "account" else "account_id",
                        self.home.id))
                    self.assertEqual(self.stack.psql(
                        "SELECT rolsuper FROM pg_roles WHERE rolname = 'adit'"), "f")

    def test_operators_of_somebody_elses(self):
        """The package installs grants.sql.  A superuser may run it with any search_path."""
        types = ("regclass", "regnamespace", "regproc")
        self.addCleanup(self.stack.psql, "DROP TABLE public.evil_calls; " + "; ".join(
            "DROP FUNCTION public.evil(oid, %s) CASCADE" % of_type for of_type in types))
        self.stack.psql("CREATE TABLE public.evil_calls (n int)")
        for of_type in types:
            self.stack.psql(
                "CREATE FUNCTION public.evil(oid, %s) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN"
                " INSERT INTO public.evil_calls VALUES (1); RETURN true; END$$;"
                "CREATE OPERATOR public.= (LEFTARG = oid, RIGHTARG = %s, FUNCTION = public.evil)"
                % (of_type, of_type))
        with open(os.path.join(stack.ROOT, "sql", "grants.sql"), encoding="utf-8") as file:
            grants = file.read()
        self.stack.psql("SET search_path = public; " + grants)
        self.assertEqual(self.stack.psql("SELECT count(*) FROM public.evil_calls"), "0")


class Constraints(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.other = cls.stack.account()
        cls.account = cls.home.id

    def refused(self, sql, name):
        """The statement violates the constraint of this name, or fails with this SQLSTATE."""
        done = self.stack.psql_run("BEGIN; %s; ROLLBACK" % sql)
        self.assertNotEqual(done.returncode, 0, "was accepted")
        self.assertIn(name, done.stderr)

    def accepted(self, sql):
        self.stack.psql("BEGIN; %s; ROLLBACK" % sql)

    def credential(self, **columns):
        row = {"account_id": literal(self.account), "id": literal(samples.unknown_id()),
               "owner_id": literal(self.home.admin.id), "key_type": "'ssh-ed25519'",
               "fingerprint": literal(samples.ED25519_FINGERPRINT),
               "public_key": literal(samples.ED25519), **columns}
        return insert("ssh_credential", row)

    def oauth(self, **columns):
        row = {"account_id": literal(self.account), "edge_id": "'direct'", "route_id": "'r'",
               "enabled": "true", "options_passthrough": "false", "inactivity_timeout": "0",
               "maximum_duration": "0", "auth_check_interval": "0", **columns}
        return insert("oauth_module", row)

    def mutual_tls(self, **columns):
        row = {"account_id": literal(self.account), "edge_id": "'direct'", "enabled": "true",
               **columns}
        return insert("mutual_tls_module", row)

    def check_rows(self, make, rows):
        for name, columns, constraint in rows:
            with self.subTest(name):
                if constraint:
                    self.refused(make(**columns), constraint)
                else:
                    self.accepted(make(**columns))

    def test_credentials(self):
        self.check_rows(self.credential, [
            ("good", {}, None),
            ("description of 255", {"description": "repeat('x', 255)"}, None),
            ("description of 256", {"description": "repeat('x', 256)"},
             "ssh_credential_description_length"),
            ("description of 256 bytes in 128 characters", {"description": "repeat('é', 128)"},
             "ssh_credential_description_length"),
            ("metadata of 4096", {"metadata": "repeat('x', 4096)"}, None),
            ("metadata of 4097", {"metadata": "repeat('x', 4097)"},
             "ssh_credential_metadata_length"),
            ("an empty key", {"public_key": "''"}, "ssh_credential_public_key_length"),
            ("a key of 16384", {"public_key": "repeat('x', 16384)"}, None),
            ("a key of 16385", {"public_key": "repeat('x', 16385)"},
             "ssh_credential_public_key_length"),
            ("made at no time", {"created_at": "'infinity'"}, "ssh_credential_created_at_finite"),
            ("made before all time", {"created_at": "'-infinity'"}, "ssh_credential_created_at_finite"),
            ("an owner of another account", {"owner_id": literal(self.other.admin.id)},
             "ssh_credential_owner"),
            ("an unknown owner", {"owner_id": "'x'"}, "ssh_credential_owner"),
            ("no owner", {"owner_id": "NULL"}, "23502"),
            ("an unknown account", {"account_id": "'x'"}, "ssh_credential_owner"),
            ("an id of another form", {"id": "'x'"}, "ssh_credential_id_form"),
            ("an id with a newline", {"id": literal(samples.unknown_id() + "\n")},
             "ssh_credential_id_form"),
            ("a fingerprint of another form", {"fingerprint": "'MD5:x'"},
             "ssh_credential_fingerprint_form"),
            ("1000 rules", {"acl": "array_fill('*'::text, ARRAY[1000])"}, None),
            ("1001 rules", {"acl": "array_fill('*'::text, ARRAY[1001])"},
             "ssh_credential_acl_shape"),
            ("NULL among the rules", {"acl": "ARRAY['*', NULL]"}, "ssh_credential_acl_shape"),
            ("rules in two dimensions", {"acl": "ARRAY[['*'], ['*']]"}, "ssh_credential_acl_shape"),
            ("NULL for rules", {"acl": "NULL"}, "23502"),
            ("NULL for metadata", {"metadata": "NULL"}, "23502"),
        ])

    def test_oauth_modules(self):
        client = {"provider": "1", "client_id": "'c'", "client_secret_key_id": "'k'",
                  "client_secret_sealed": SEALED}
        self.check_rows(self.oauth, [
            ("good", {}, None),
            ("with a client", client, None),
            ("2^32 - 1", {"maximum_duration": "4294967295"}, None),
            ("2^32", {"maximum_duration": "4294967296"}, "uint32_range"),
            ("2^32 elsewhere", {"inactivity_timeout": "4294967296"}, "uint32_range"),
            ("less than 0", {"auth_check_interval": "-1"}, "uint32_range"),
            ("provider 0", {"provider": "0"}, "oauth_module_provider"),
            ("provider 33", {"provider": "33"}, "oauth_module_provider"),
            ("an id without a secret", {"provider": "1", "client_id": "'c'"},
             "oauth_module_client"),
            ("a secret without an id", {**client, "client_id": "NULL"}, "oauth_module_client"),
            ("a secret without its key's name", {**client, "client_secret_key_id": "NULL"},
             "oauth_module_client"),
            ("a client without a provider", {**client, "provider": "NULL"},
             "oauth_module_config_needs_provider"),
            ("domains without a provider", {"email_domains": "'{a}'"},
             "oauth_module_config_needs_provider"),
            ("scopes without a client", {"provider": "1", "scopes": "'{a}'"},
             "oauth_module_scopes_need_client"),
            ("teams of the second", {"provider": "2", "teams": "'{a/b}'"},
             "oauth_module_hosting_fields"),
            ("organizations of none", {"organizations": "'{a}'"}, "oauth_module_hosting_fields"),
            ("teams of the first", {"provider": "1", "teams": "'{a/b}'"}, None),
            ("an empty id", {**client, "client_id": "''"}, "oauth_module_client_id_length"),
            ("a long id", {**client, "client_id": "repeat('x', 1025)"}, "oauth_module_client_id_length"),
            ("a short secret", {**client, "client_secret_sealed": "'x'"}, "oauth_module_client_secret_length"),
            ("an empty prefix", {"cookie_prefix": "''"}, "oauth_module_cookie_prefix_length"),
            ("a long prefix", {"cookie_prefix": "repeat('x', 101)"}, "oauth_module_cookie_prefix_length"),
            ("too many domains", {"provider": "1", "email_domains":
                                  "array_fill('a'::text, ARRAY[1001])"}, "text_list_shape"),
            ("NULL in a list", {"provider": "1", "email_addresses": "ARRAY[NULL::text]"},
             "text_list_shape"),
            ("an edge of another form", {"edge_id": "'a b'"}, "edge_part_form"),
            ("an empty edge", {"edge_id": "''"}, "edge_part_form"),
            ("two dots", {"edge_id": "'..'"}, "edge_part_form"),
            ("an edge of 255", {"edge_id": "'aZ09._~-' || repeat('x', 247)"}, None),
            ("a long edge", {"edge_id": "repeat('x', 256)"}, "edge_part_form"),
            ("an edge that is not ASCII", {"edge_id": "'é'"}, "edge_part_form"),
            ("an edge with a newline", {"edge_id": "E'a\\n'"}, "edge_part_form"),
            ("a route with a slash", {"route_id": "'a/b'"}, "edge_part_form"),
            ("a route of 255", {"route_id": "repeat('x', 255)"}, None),
            ("an empty route", {"route_id": "''"}, "edge_part_form"),
            ("a long route", {"route_id": "repeat('x', 256)"}, "edge_part_form"),
            ("one dot", {"route_id": "'.'"}, "edge_part_form"),
            ("an unknown account", {"account_id": "'x'"}, "oauth_module_account_id_fkey"),
            ("NULL for enabled", {"enabled": "NULL"}, "23502"),
        ])

    def test_mutual_tls_modules(self):
        self.check_rows(self.mutual_tls, [
            ("good", {}, None),
            ("1000 authorities", {"certificate_authority_ids":
                                  "array_fill('a'::text, ARRAY[1000])"}, None),
            ("1001 authorities", {"certificate_authority_ids":
                                  "array_fill('a'::text, ARRAY[1001])"}, "text_list_shape"),
            ("NULL in the list", {"certificate_authority_ids": "ARRAY[NULL::text]"},
             "text_list_shape"),
            ("an edge of another form", {"edge_id": "'a/b'"}, "edge_part_form"),
            ("an edge of 255", {"edge_id": "repeat('~', 255)"}, None),
            ("a long edge", {"edge_id": "repeat('x', 256)"}, "edge_part_form"),
            ("an empty edge", {"edge_id": "''"}, "edge_part_form"),
            ("two dots", {"edge_id": "'..'"}, "edge_part_form"),
            ("an unknown account", {"account_id": "'x'"}, "mutual_tls_module_account_id_fkey"),
        ])

    def test_accounts_and_keys(self):
        user = literal(self.home.admin.id)
        account = literal(self.account)
        digest = "sha256('%s'::bytea)" % samples.unknown_id()
        key = literal(samples.unknown_id("ak"))
        self.each([(name, sql, constraint) for name, sql, constraint in (
            ("an account's id", "INSERT INTO adit.account (id) VALUES ('x')", "account_id_form"),
            ("an account's name", "UPDATE adit.account SET name = repeat('x', 256)",
             "account_name_length"),
            ("a kind", "INSERT INTO adit.principal (account_id, id, kind) VALUES (%s, %s, 'robot')"
             % (account, literal(samples.unknown_id("bot"))), "principal_kind"),
            ("a bot with a user's id", "INSERT INTO adit.principal (account_id, id, kind) VALUES"
             " (%s, %s, 'bot')" % (account, literal(samples.unknown_id("usr"))),
             "principal_id_form"),
            ("a user of two accounts", "INSERT INTO adit.principal (account_id, id, kind) VALUES"
             " (%s, %s, 'user')" % (literal(self.other.id), user), "principal_id_unique"),
            ("a key of another account's user", "INSERT INTO adit.api_key (account_id, id,"
             " principal_id, digest) VALUES (%s, %s, %s, %s)"
             % (literal(self.other.id), key, user, digest), "api_key_principal"),
            ("a malformed digest", "INSERT INTO adit.api_key (account_id, id, principal_id,"
             " digest) VALUES (%s, %s, %s, 'x')" % (account, key, user), "api_key_digest_length"),
            ("a digest twice", "INSERT INTO adit.api_key (account_id, id, principal_id, digest)"
             " SELECT account_id, %s, principal_id, digest FROM adit.api_key LIMIT 1" % key,
             "api_key_digest_unique"),
            ("a key's description", "UPDATE adit.api_key SET description = repeat('x', 256)",
             "api_key_description_length"),
            ("an account that has users", "DELETE FROM adit.account WHERE id = %s" % account,
             "23503"),
            ("a user that has keys", "DELETE FROM adit.principal WHERE id = %s" % user, "23503"),
        )], self.refused)


def insert(table, row):
    return "INSERT INTO adit.%s (%s) VALUES (%s)" % (table, ", ".join(row),
                                                     ", ".join(row.values()))


class Comments(Case):
    def test_every_table_and_column_has_one(self):
        rows = self.stack.psql(
            "SELECT c.relname, coalesce(a.attname, ''), d.description FROM pg_class AS c"
            " JOIN LATERAL (SELECT 0 AS attnum, NULL AS attname UNION ALL SELECT attnum, attname"
            " FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS a"
            " ON true LEFT JOIN pg_description AS d ON d.objoid = c.oid AND d.objsubid = a.attnum"
            " AND d.classoid = 'pg_class'::regclass WHERE c.relnamespace = 'adit'::regnamespace"
            " AND c.relkind = 'r'")
        self.assertGreater(len(rows.splitlines()), 40)
        for row in rows.splitlines():
            table, column, comment = row.split("|", 2)
            with self.subTest("%s.%s" % (table, column)):
                self.assertTrue(comment)

    def test_schema_and_role_have_one(self):
        self.assertTrue(self.stack.psql("SELECT obj_description('adit'::regnamespace)"))
        for role in "responder", "gateway":
            self.assertIn(role + "s may do", self.stack.psql(
                "SELECT shobj_description('adit_%s'::regrole, 'pg_authid')" % role))
