# SPDX-License-Identifier: MIT
"""[database] distributed = yes on one PostgreSQL: the statements and functions for accounts on several
nodes answer as the others do.  test_auth, test_key_limit and test_tenancy_matrix have the requests."""
import os

import test_auth
import test_key_limit
import test_tenancy_matrix
from adit import samples, stack
from adit.case import until

FUNCTIONS = os.path.join(stack.ROOT, "sql", "optional", "distributed.sql")
CREDENTIALS = "/ssh_credentials"


class Distributed:
    """Gives the stack the functions and the setting."""

    stack_name = "distributed"

    @classmethod
    def setUpClass(cls):
        here = stack.get(cls.stack_name)
        if "distributed = yes" not in here.read_conf():
            with open(FUNCTIONS, encoding="utf-8") as file:
                here.psql(file.read())
            here.set_conf("database", "distributed", "yes")
            here.restart()
        super().setUpClass()


class Forms(Distributed, test_auth.Forms):
    """Every operation, with keys of both forms."""


class Matrix(Distributed, test_tenancy_matrix.Matrix):
    """Who may do what to whose resources: a sample."""

    tried = test_tenancy_matrix.SAMPLE


class KeyLimit(Distributed, test_key_limit.Requests):
    """How many credentials may have a key.  Their thousands of rows are not for the matrix, which
    compares all rows of its stack with each request."""

    stack_name = "distributed-limit"


class Functions(Distributed, test_auth.Case):
    def test_no_statement_of_one_database_writes(self):
        """The responder writes by the functions alone: without its rights to the tables' functions, every
        write fails, and reads go on."""
        self.assert_ok(self.admin.put("/edges/tls/d/mutual_tls", {}))
        revoke = "REVOKE EXECUTE ON FUNCTION adit.%s FROM adit_responder"
        functions = self.stack.psql(
            "SELECT p.oid::regprocedure FROM pg_proc AS p WHERE p.pronamespace = 'adit'::regnamespace"
            " AND p.proname ~ '^(create|update|delete|put)_(ssh_cred|oauth_mod|mutual_tls_mod)'").splitlines()
        self.assertEqual(len(functions), 7)
        self.stack.psql(";".join((revoke % name).replace("adit.adit.", "adit.")
                                 for name in functions))
        try:
            for method, target, body in (
                    ("POST", CREDENTIALS, samples.credential()),
                    ("PATCH", CREDENTIALS + "/" + samples.unknown_id(), {}),
                    ("DELETE", CREDENTIALS + "/" + samples.unknown_id(), None),
                    ("PUT", "/edges/https/d/routes/r/oauth", {}),
                    ("DELETE", "/edges/https/d/routes/r/oauth", None),
                    ("PUT", "/edges/tls/d/mutual_tls", {}),
                    ("DELETE", "/edges/tls/d/mutual_tls", None)):
                with self.subTest("%s %s" % (method, target)):
                    self.assert_error(self.admin.call(method, target, body), 9034)
            self.assert_ok(self.admin.get("/edges/tls/d/mutual_tls"))
            done = self.stack.ctl_run("doctor")
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, r"(?m)^trouble +nodes +the responder's role cannot call these"
                             r" functions of the schema adit: create_ssh_credential, delete_")
        finally:
            self.stack.psql(";".join(("GRANT EXECUTE ON FUNCTION adit.%s TO adit_responder" % name)
                                     .replace("adit.adit.", "adit.") for name in functions))
        self.assertRegex(self.stack.ctl("doctor"), r"(?m)^ok +nodes +")

    def test_record_of_changes(self):
        """The record names the caller, and aditctl's operator."""
        self.assert_ok(self.admin.put("/edges/tls/recorded/mutual_tls", {}))
        seen = self.stack.psql("SELECT event, principal_id FROM adit.audit_event"
                               " WHERE resource = 'recorded'")
        self.assertEqual(seen, "mutual_tls_module_created|" + self.home.admin.id)
        key_id = self.stack.psql("SELECT id FROM adit.api_key WHERE digest = sha256('%s'::bytea)"
                                 % self.home.admin.issue())
        self.stack.ctl("key", "revoke", "--account", self.home.id, key_id)
        operators = self.stack.psql("SELECT DISTINCT operator <> '' FROM adit.audit_event"
                                    " WHERE resource = '%s'" % key_id)
        self.assertEqual(operators, "t")

    def test_last_use(self):
        """A responder that ends stores the uses of each account."""
        key = self.home.admin.issue()
        self.assert_ok(self.stack.client(key).get(CREDENTIALS))
        self.stack.restart()
        until(lambda: self.stack.psql(
            "SELECT count(*) FROM adit.api_key_use AS u JOIN adit.api_key AS k ON k.id = u.api_key_id"
            " WHERE k.digest = sha256('%s'::bytea)" % key) == "1", "the use was stored")
