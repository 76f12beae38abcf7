# SPDX-License-Identifier: MIT
"""Statements that the server understands differently: prepared by another version behind a pooler,
or on a schema whose columns have other types."""
import concurrent.futures
import re
import subprocess

from adit import cluster, samples, stack
from adit.case import Case, until
from adit.pg_relay import PgRelay

MUTUAL_TLS = "/edges/tls/stated/mutual_tls"

# Statements of an earlier version, under the names of this one.  The first lacks a column.  The
# columns of the second have the right types and another meaning.
OLD_VERSION = """
PREPARE ssh_credential_get (bytea, text) AS SELECT k.account_id, k.read_only, c.id, c.created_at,
    c.description, c.metadata, c.public_key, c.acl, c.owner_id FROM adit.api_key AS k
    LEFT JOIN adit.ssh_credential AS c ON c.account_id = k.account_id AND c.id = $2
    WHERE k.digest = $1;
PREPARE mutual_tls_module_get (bytea, text) AS SELECT k.account_id, k.read_only, NOT m.enabled,
    '{}'::text[], m.revision FROM adit.api_key AS k LEFT JOIN adit.mutual_tls_module AS m
    ON m.account_id = k.account_id AND m.edge_id = $2 WHERE k.digest = $1;
"""

# A command that returns no rows and takes the parameters of a read.
NO_ROWS = ("DELETE FROM adit.idempotency_key WHERE request_digest = $1::bytea"
           " AND account_id = $2::text AND key = $3::text AND false")


class Statements(Case):
    stack_name = "statements"
    N_TIMES = 6  # reaches every worker, on sessions of both kinds

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        server = cluster.attach(shared)
        cls.relay = PgRelay(server.socket_path)
        cls.addClassCleanup(cls.relay.close)
        shared.set_conf("database", "conninfo", cls.relay.conninfo("adit"))
        shared.set_conf("log", "level", "debug")  # which omits no lines
        shared.restart()
        shared.env["PGHOST"] = server.run_folder
        super().setUpClass()
        made = cls.admin.post("/ssh_credentials", samples.credential())
        cls.credential, cls.etag = "/ssh_credentials/" + made.json["id"], made.header("ETag")
        cls.module = cls.admin.put(MUTUAL_TLS, {"certificate_authority_ids": ["a"]})

    def begin(self, before="", change=None):
        """Makes all sessions start again, through a relay with these changes."""
        self.relay.before, self.relay.change = before, change
        self.relay.cut()
        n_begun = self.relay.n_begun
        self.addCleanup(lambda: self.assertGreater(self.relay.n_begun, n_begun))

    def tearDown(self):
        self.begin()
        self.assert_ok(self.admin.get(self.credential))
        super().tearDown()

    def test_names_of_an_earlier_version(self):
        self.begin(before=OLD_VERSION)
        for _ in range(self.N_TIMES):
            answer = self.admin.get(self.credential)
            self.assert_ok(answer)
            self.assertEqual(answer.header("ETag"), self.etag)
            answer = self.admin.get(MUTUAL_TLS)
            self.assertEqual(answer.json, self.module.json)
            self.assertEqual(answer.header("ETag"), self.module.header("ETag"))

    def test_reads_of_other_columns(self):
        for what, path, name, changes in (
                ("one is missing", self.credential, "ssh_credential_get",
                 {", c.revision FROM": " FROM"}),
                ("one is too many", self.credential, "ssh_credential_get",
                 {", c.revision FROM": ", c.revision, 1 FROM"}),
                ("text for a number", self.credential, "ssh_credential_get",
                 {", c.revision FROM": ", c.revision::text FROM"}),
                ("a time of another kind", self.credential, "ssh_credential_get",
                 {"c.created_at": "c.created_at::timestamp"}),
                ("a number for a boolean", MUTUAL_TLS, "mutual_tls_module_get",
                 {"m.enabled": "m.enabled::int"}),
                ("no rows", MUTUAL_TLS, "mutual_tls_module_get", None),
                ("of a list", "/ssh_credentials", "ssh_credential_list",
                 {"c.acl": "c.acl::text", "NULL::text[]": "NULL::text"})):
            def change(sql, changes=changes):
                if not sql.startswith("SELECT k.account_id"):
                    return sql
                for old, new in (changes or {}).items():
                    sql = sql.replace(old, new)
                return NO_ROWS if changes is None else sql
            with self.subTest(what):
                self.begin(change=change)
                for _ in range(self.N_TIMES):
                    answer = self.admin.get(path)
                    self.assert_error(answer, 9034)
                self.assert_logged(answer, name + " returned other columns")

    def test_a_column_of_another_type_in_the_table(self):
        """PostgreSQL refuses to put its values below others."""
        self.begin(change=lambda sql: sql.replace("c.acl, c.owner_id", "c.acl::text, c.owner_id"))
        answer = self.admin.get("/ssh_credentials")
        self.assert_error(answer, 9034)
        self.assert_logged(answer, "42804")

    def test_round_trips(self):
        """Each request takes one round trip once its statement is prepared.  A POST does not ask
        for the time first."""
        def create():
            return self.assert_ok(self.admin.post("/ssh_credentials", samples.credential()), 201)
        n_sessions = self.stack.n_at_once()
        for _ in range(4 * n_sessions):
            create()
        before = self.relay.n_round_trips
        for _ in range(20):
            create()
        # A few more than the requests, for sessions that prepare the statement for its first use.
        self.assertLess(self.relay.n_round_trips - before, 30)

    def test_a_write_of_other_columns(self):
        """The outcome of the write is unknown."""
        self.begin(change=lambda sql: re.sub(r"(RETURNING .*, m\.revision)$", r"\1::text", sql))
        answer = self.admin.put(MUTUAL_TLS, {"certificate_authority_ids": ["a"]})
        self.assert_error(answer, 9033)
        self.assert_logged(answer, "mutual_tls_module_quick_put returned other columns")

    def test_a_write_whose_connection_is_cut(self):
        """The server still waits for a lock then.  The write has no effect once the client has its
        answer."""
        lock = subprocess.Popen(["psql", "-X", "-q", "-o", "/dev/null"], text=True,
                                env=self.stack.pg_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(lock.wait)
        self.addCleanup(lock.stdin.close)
        self.addCleanup(lock.stdout.close)
        lock.stdin.write("BEGIN; SELECT FROM adit.mutual_tls_module WHERE edge_id = 'stated'"
                         " FOR UPDATE;\n\\echo held\n")
        lock.stdin.flush()
        self.assertEqual(lock.stdout.readline(), "held\n")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.admin.put, MUTUAL_TLS, {"enabled": False})
            until(lambda: self.n_sessions("NOT granted"), "the write waits")
            self.begin()
            self.assert_error(answer.result(), 9033)
        until(lambda: not self.n_sessions("NOT granted"), "the write has ended")
        lock.stdin.write("ROLLBACK;\n")
        lock.stdin.flush()
        until(lambda: not self.n_sessions("true"), "nothing is locked")
        self.assertEqual(self.admin.get(MUTUAL_TLS).json, self.module.json)

    def n_sessions(self, condition):
        """How many sessions hold locks of the module's row, or wait for them."""
        return int(self.stack.psql(
            "SELECT count(DISTINCT pid) FROM pg_locks WHERE (locktype = 'transactionid' OR"
            " relation = 'adit.mutual_tls_module'::regclass) AND pid <> pg_backend_pid() AND "
            + condition))

    def assert_logged(self, answer, cause):
        """The log has the cause, under the operation's id."""
        operation = answer.header("Service-Operation-Id")
        text = b"".join(self.stack.logs().values()).decode()
        lines = [line for line in text.splitlines() if operation in line]
        self.assertTrue(any(cause in line for line in lines), lines)
