# SPDX-License-Identifier: MIT
"""Every resource and method on the caller's own, another account's, unknown, malformed and deleted
identifiers, by every kind of key (section 3).  Another account's identifier gets the same answer,
byte for byte, as an unknown one.  The tables change only as the answer says."""
import hashlib
import itertools
import json
import subprocess
import time

from adit import samples
from adit.case import Case, without_operation_id

CREDENTIALS = "/ssh_credentials"
KINDS = ("own", "another's", "unknown", "malformed", "deleted")
CALLERS = ("admin", "member", "read-only", "own", "gateway", "revoked", "expired")
# Where each account has a place of its own: one that is no admin, and one whose rights depend on the
# row.  "distributed permission" of store_tests.pg has every kind.
SAMPLE = ("member", "own")

OAUTH = {"provider": {"provider_a": {"client_id": "id", "client_secret": "secret",
                                     "email_domains": ["example.com"]}}}
MUTUAL_TLS = {"certificate_authority_ids": ["ca_1", "ca_2"]}


class Resource:
    """A kind of resource: its table, its path, and the bodies that a client sends."""

    def __init__(self, table, path, make, methods, missing):
        self.table, self.path, self.make = table, path, make
        self.methods, self.missing = methods, missing


def make_credential(client, _):
    return client.post(CREDENTIALS, samples.credential()).json["id"]


def make_in_order(client):
    """A credential whose identifier follows all earlier ones: within a millisecond the order is
    random."""
    time.sleep(0.002)
    return make_credential(client, None)


def put_module(path, body):
    def make(client, ident):
        answer = client.put(path % ident, body)
        assert answer.status == 200, answer
        return ident
    return make


OAUTH_PATH = "/edges/https/%s/routes/route/oauth"
ROUTE_PATH = "/edges/https/edge/routes/%s/oauth"
MUTUAL_TLS_PATH = "/edges/tls/%s/mutual_tls"

RESOURCES = {
    "credential": Resource(
        "ssh_credential", CREDENTIALS + "/%s", make_credential,
        (("GET", None), ("HEAD", None), ("PATCH", {}), ("PATCH", {"description": "taken"}),
         ("DELETE", None)), 9002),
    "oauth, edge": Resource(
        "oauth_module", OAUTH_PATH, put_module(OAUTH_PATH, OAUTH),
        (("GET", None), ("HEAD", None), ("PUT", {}), ("PUT", OAUTH), ("DELETE", None)), 9003),
    "oauth, route": Resource(
        "oauth_module", ROUTE_PATH, put_module(ROUTE_PATH, OAUTH),
        (("GET", None), ("HEAD", None), ("PUT", {}), ("PUT", OAUTH), ("DELETE", None)), 9003),
    "mutual tls": Resource(
        "mutual_tls_module", MUTUAL_TLS_PATH, put_module(MUTUAL_TLS_PATH, MUTUAL_TLS),
        (("GET", None), ("HEAD", None), ("PUT", {}),
         ("PUT", {"certificate_authority_ids": ["ca_3"]}), ("DELETE", None)), 9004),
}
READS = ("GET", "HEAD")


def expected(resource, method, kind, caller):
    """The status, and the error number if there is one."""
    if caller in ("revoked", "expired"):
        return 401, 203
    if caller == "gateway":
        return 403, 9071
    if caller == "read-only" and method not in READS:
        return 403, 9005
    if caller == "own" and method not in READS and (
            kind == "own" or resource.table != "ssh_credential"):
        return 403, 9080
    if kind == "malformed":
        return 404, 9070
    if method == "PUT":
        return 200, None
    if method == "DELETE" and (kind == "own" or resource.table != "ssh_credential"):
        return 204, None
    return (200, None) if kind == "own" else (404, resource.missing)


class Database:
    """One psql session for all queries, because starting a psql for each is slow."""

    def __init__(self, stack):
        self.psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                     env=stack.pg_env())

    def ask(self, sql):
        self.psql.stdin.write(sql + ";\n\\echo end\n")
        self.psql.stdin.flush()
        lines = []
        for line in iter(self.psql.stdout.readline, "end\n"):
            if not line:
                raise AssertionError("psql ended with %d" % self.psql.wait())
            lines.append(line.rstrip("\n"))
        return lines

    def close(self):
        self.psql.communicate()


class Matrix(Case):
    # A stack with small tables, because every check reads all rows.
    stack_name = "tenancy"
    tried = CALLERS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.stack.citus:
            cls.tried = SAMPLE
        cls.account = cls.stack.account("tenant")
        cls.stranger = cls.stack.account("stranger")
        cls.owner = cls.stack.client(cls.account.admin.key)
        cls.other = cls.stack.client(cls.stranger.admin.key)
        cls.callers = {
            "admin": cls.owner,
            "member": cls.stack.client(cls.account.member.key),
            "read-only": cls.stack.client(cls.account.read_only_key),
            "own": cls.stack.client(cls.account.own_key),
            "gateway": cls.stack.client(cls.account.gateway_key),
            "revoked": cls.stack.client(cls.spoilt_key("revoked_at")),
            "expired": cls.stack.client(cls.spoilt_key("expires_at"))}
        cls.database = Database(cls.stack)
        cls.addClassCleanup(cls.database.close)
        # Workers note there when keys were used, some minutes later.
        cls.tables = cls.database.ask(
            "SELECT c.relname FROM pg_class AS c WHERE c.relkind = 'r' AND c.relname <> 'api_key_use'"
            " AND c.relnamespace = 'adit'::regnamespace ORDER BY 1")
        cls.numbers = itertools.count(1)

    @classmethod
    def spoilt_key(cls, column):
        key = cls.account.admin.issue()
        cls.stack.psql("UPDATE adit.api_key SET %s = now() - interval '1 second'"
                       " WHERE digest = '\\x%s'"
                       % (column, hashlib.sha256(key.encode()).hexdigest()))
        return key

    def setUp(self):
        self.clear()

    # ---- the tables ----

    def clear(self):
        """Leaves few rows: each check reads all of them."""
        for table in ("ssh_credential", "oauth_module", "mutual_tls_module", "audit_event"):
            self.database.ask("DELETE FROM adit." + table)

    def rows(self):
        """All rows of all tables, each as (table, JSON text)."""
        sql = " UNION ALL ".join("SELECT '%s ' || to_jsonb(t)::text FROM adit.%s AS t"
                                 % (table, table) for table in self.tables)
        return set(self.database.ask(sql))

    def assert_changed(self, before, table=None, ident=None):
        """Only the caller's own row with this identifier has changed, and the audit record shows
        the change."""
        after = self.rows()
        for row in before ^ after:
            name, _, text = row.partition(" ")
            row = json.loads(text)
            if name == "audit_event":
                self.assertRegex(row["event"], "^%s_(created|updated|deleted)$" % table)
                name = table
                row.update(row["after"] or row["before"])
            self.assertEqual((name, row.get("account_id")), (table, self.account.id), row)
            self.assertIn(ident, row.values())
        return before != after

    # ---- targets ----

    def fresh_id(self):
        return "thing_%d" % next(self.numbers)

    def target(self, resource, kind):
        """An identifier of this kind, as written in a path."""
        if kind == "own":
            return resource.make(self.owner, self.fresh_id())
        if kind == "another's":
            return resource.make(self.other, self.fresh_id())
        if kind == "malformed":
            return "not%20an%21id"
        if kind == "deleted":
            ident = resource.make(self.owner, self.fresh_id())
            self.assert_ok(self.owner.delete(resource.path % ident), 204)
            return ident
        return samples.unknown_id() if resource.table == "ssh_credential" else self.fresh_id()

    def try_one(self, resource, method, body, kind, caller):
        """Sends one request and checks the answer's number and the tables.  Returns the answer."""
        ident = self.target(resource, kind)
        before = self.rows()
        answer = self.callers[caller].call(method, resource.path % ident, body)
        status, number = expected(resource, method, kind, caller)
        self.assertEqual(answer.status, status, answer)
        if method != "HEAD":
            self.assertEqual(answer.code, number, answer)
        if status >= 400 or method in READS:
            self.assert_changed(before)
        else:
            changed = self.assert_changed(before, resource.table, ident)
            self.assertEqual(changed, self.must_change(method, body, kind), "changes of the tables")
        return answer

    @staticmethod
    def must_change(method, body, kind):
        if method == "PATCH":
            return bool(body)
        return method == "PUT" or kind == "own"

    def try_all_kinds(self, resource, method, body, caller, name):
        answers = {}
        self.clear()
        for kind in KINDS:
            with self.subTest("%s, %s, by %s" % (name, kind, caller)):
                answer = self.try_one(resource, method, body, kind, caller)
                answers[kind] = (answer.status, without_operation_id(answer))
        with self.subTest("%s, by %s: alike" % (name, caller)):
            self.assertEqual(answers["another's"], answers["unknown"])
            self.assertEqual(answers["deleted"], answers["unknown"])

    def test_identifiers_in_paths(self):
        for name, resource in RESOURCES.items():
            for method, body in resource.methods:
                label = "%s %s%s" % (name, method, "" if body is None else " with %d members"
                                     % len(body))
                for caller in self.tried:
                    self.try_all_kinds(resource, method, body, caller, label)

    # ---- identifiers outside paths ----

    def owner_ids(self):
        """{kind: owner_id}, with a User of the same account as a further kind."""
        gone = self.account.person("user")
        self.stack.psql("DELETE FROM adit.api_key WHERE principal_id = '%s';"
                        " DELETE FROM adit.principal WHERE id = '%s'" % (gone.id, gone.id))
        return {"another's": self.stranger.admin.id, "unknown": samples.unknown_id("usr"),
                "deleted": gone.id, "malformed": "not an id", "colleague's": self.account.bot.id}

    def own_id(self, caller):
        return self.account.member.id if caller in ("member", "own") else self.account.admin.id

    @staticmethod
    def expected_owner(kind, caller):
        if caller in ("revoked", "expired"):
            return 203
        if kind == "malformed":
            return 9012
        if caller == "gateway":
            return 9071
        if caller == "read-only":
            return 9005
        if kind == "own":
            return None
        if caller == "own":
            return 9080
        if caller == "member":
            return 630
        return None if kind == "colleague's" else 9011

    def try_owner(self, kind, owner_id, caller):
        before = self.rows()
        answer = self.callers[caller].post(CREDENTIALS, samples.credential(
            public_key=samples.new_key(), owner_id=owner_id))
        number = self.expected_owner(kind, caller)
        self.assertEqual(answer.code, number, answer)
        if number is None:
            self.assertEqual(answer.json["owner_id"], owner_id)
            self.assertTrue(self.assert_changed(before, "ssh_credential", answer.json["id"]))
        else:
            self.assert_changed(before)
        return answer.status, without_operation_id(answer)

    def test_owners(self):
        owner_ids = self.owner_ids()
        for caller in self.tried:
            answers = {}
            for kind, owner_id in {**owner_ids, "own": self.own_id(caller)}.items():
                with self.subTest("owner %s, by %s" % (kind, caller)):
                    answers[kind] = self.try_owner(kind, owner_id, caller)
            with self.subTest("owners by %s: alike" % caller):
                self.assertEqual(answers["another's"], answers["unknown"])
                self.assertEqual(answers["deleted"], answers["unknown"])

    def boundaries(self):
        """{kind: before_id}.  All sort between the account's older and its newer credentials."""
        old = make_in_order(self.owner)
        deleted = make_in_order(self.owner)
        self.assert_ok(self.owner.delete(CREDENTIALS + "/" + deleted), 204)
        another = make_in_order(self.other)
        own = make_in_order(self.owner)
        make_in_order(self.owner)
        unknown = another[:-1] + ("0" if another[-1] != "0" else "1")
        return old, {"own": own, "another's": another, "unknown": unknown, "deleted": deleted,
                     "malformed": "not%20an%20id"}

    def try_boundary(self, method, kind, before_id, caller, first):
        before = self.rows()
        answer = self.callers[caller].call(method, "%s?before_id=%s&limit=1"
                                           % (CREDENTIALS, before_id))
        number = 203 if caller in ("revoked", "expired") else 9009 if kind == "malformed" else \
            9071 if caller == "gateway" else None
        self.assertEqual(answer.status, {203: 401, 9009: 400, 9071: 403, None: 200}[number], answer)
        if method == "GET":
            self.assertEqual(answer.code, number, answer)
        if method == "GET" and number is None:
            self.assertEqual([row["id"] for row in answer.json["ssh_credentials"]], [first])
        self.assert_changed(before)
        return answer.status, without_operation_id(answer)

    def test_page_boundaries(self):
        first, kinds = self.boundaries()
        for method, caller in itertools.product(READS, self.tried):
            answers = {}
            for kind, before_id in kinds.items():
                with self.subTest("%s before %s, by %s" % (method, kind, caller)):
                    answers[kind] = self.try_boundary(method, kind, before_id, caller, first)
            with self.subTest("%s before, by %s: alike" % (method, caller)):
                self.assertEqual(answers["another's"], answers["unknown"])
                self.assertEqual(answers["deleted"], answers["unknown"])

    def test_decisions_know_the_account_alone(self):
        make_credential(self.other, None)
        mine = set(self.database.ask("SELECT id FROM adit.ssh_credential WHERE account_id = '%s'"
                                     % self.account.id))
        for caller in self.tried:
            with self.subTest("decision by %s" % caller):
                before = self.rows()
                answer = self.callers[caller].post("/ssh_decisions",
                                                   {"public_key": samples.ED25519})
                self.assert_changed(before)
                if caller in ("revoked", "expired"):
                    self.assert_error(answer, 203)
                    continue
                seen = {row["id"] for row in self.assert_ok(answer)["credentials"]}
                self.assertEqual(seen, mine)

    def test_lists_hold_the_account_alone(self):
        mine, theirs = make_credential(self.owner, None), make_credential(self.other, None)
        for caller in self.tried:
            with self.subTest("list by %s" % caller):
                before = self.rows()
                answer = self.callers[caller].get(CREDENTIALS)
                self.assert_changed(before)
                if caller in ("revoked", "expired", "gateway"):
                    self.assert_error(answer, 9071 if caller == "gateway" else 203)
                    continue
                seen = [row["id"] for row in self.assert_ok(answer)["ssh_credentials"]]
                self.assertIn(mine, seen)
                self.assertNotIn(theirs, seen)
                self.assertNotIn(self.stranger.admin.id.encode(), answer.body)

    def test_lists_of_modules_hold_the_account_alone(self):
        for name, table in (("oauth_modules", "oauth, edge"), ("mutual_tls_modules", "mutual tls")):
            resource = RESOURCES[table]
            mine = resource.make(self.owner, self.fresh_id())
            theirs = resource.make(self.other, self.fresh_id())
            for caller in self.tried:
                with self.subTest("%s by %s" % (name, caller)):
                    before = self.rows()
                    answer = self.callers[caller].get("/" + name)
                    # Another account's module is as good a boundary as an unknown one.
                    pages = [self.callers[caller].get("/%s?after_id=%s" % (name, ident + end))
                             for ident in (theirs, theirs + "x")
                             for end in ("%2Froute" if "oauth" in name else "",)]
                    self.assert_changed(before)
                    self.assertEqual(without_operation_id(pages[0]), without_operation_id(pages[1]))
                    if caller in ("revoked", "expired", "gateway"):
                        self.assert_error(answer, 9071 if caller == "gateway" else 203)
                        continue
                    seen = [row["edge_id"] for row in self.assert_ok(answer)[name]]
                    self.assertIn(mine, seen)
                    self.assertNotIn(theirs, seen)

    def test_audit_events_are_for_the_accounts_admins(self):
        make_credential(self.other, None)
        make_credential(self.owner, None)
        theirs, = self.other.get("/audit_events?limit=1").json["audit_events"]
        mine, = self.owner.get("/audit_events?limit=1").json["audit_events"]
        unknown = "ae_9000000000000000000"
        for caller in self.tried:
            with self.subTest("audit events by %s" % caller):
                client, before = self.callers[caller], self.rows()
                answers = [client.get("/audit_events"),
                           client.get("/audit_events/" + theirs["id"]),
                           client.get("/audit_events/" + unknown),
                           client.get("/audit_events/" + mine["id"])]
                self.assert_changed(before)
                self.assertEqual(without_operation_id(answers[1]), without_operation_id(answers[2]))
                number = {"revoked": 203, "expired": 203, "gateway": 9071,
                          "member": 9078, "own": 9078}.get(caller)
                if number:
                    for answer in answers:
                        self.assert_error(answer, number)
                    continue
                self.assert_error(answers[1], 9083)
                self.assertEqual(self.assert_ok(answers[3]), mine)
                self.assertNotIn(self.stranger.id.encode(), answers[0].body)
                self.assertNotIn(self.stranger.admin.id.encode(), answers[0].body)
