# SPDX-License-Identifier: MIT
"""Accounts on three nodes of Citus: what runs where, and what a lost node takes with it."""
import re
import threading
import time

from adit import samples, stack
from adit.case import Case, until
from adit.citus import Citus

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/e/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/e/mutual_tls"

# An answer that waited for a lost node takes longer, also on a busy machine.
QUICK_S = 2
BACK_S = 1


class Nodes(Case):
    stack_name = "nodes"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        cls.citus = shared.citus = getattr(shared, "citus", None) or Citus()
        cls.citus.attach(shared)
        super().setUpClass()
        cls.workers = cls.citus.workers
        # An account on each worker.
        cls.accounts = [cls.account_on(node) for node in cls.workers]

    @classmethod
    def account_on(cls, node):
        while True:
            account = cls.stack.account()
            if cls.citus.node_of(account.id) is node:
                return account

    def of(self, account):
        return self.stack.client(account.admin.key)

    def make(self, client):
        return self.assert_ok(client.post(CREDENTIALS, samples.credential()), 201)["id"]


class Load:
    """Reads and writes of accounts, one thread each, until it ends."""

    def __init__(self, test, accounts):
        self.test, self.accounts = test, accounts
        self.answers = {account.id: [] for account in accounts}  # (when, seconds, what, status)
        self.made = {account.id: [] for account in accounts}
        self.wrong = []
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(account,))
                         for account in accounts]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, account, what, *arguments):
        began = time.monotonic()
        answer = getattr(self.client[account.id], what)(*arguments)
        self.answers[account.id].append((began, time.monotonic() - began, what, answer.status))
        return answer

    def _run(self, account):
        self.client = getattr(self, "client", {})
        self.client[account.id] = self.test.of(account)
        made = self.made[account.id]
        while not self._ends.is_set():
            answer = self._ask(account, "post", CREDENTIALS, samples.credential())
            if answer.status == 201:
                made.append(answer.json["id"])
            if made:
                answer = self._ask(account, "get", CREDENTIALS + "/" + made[-1])
                if answer.status == 200 and answer.json["id"] != made[-1]:
                    self.wrong.append(answer)
            time.sleep(0.005)

    def statuses(self, account, since=0):
        return {status for began, _, _, status in self.answers[account.id] if began >= since}

    def slow(self, account):
        return [one for one in self.answers[account.id] if one[1] > QUICK_S]


class Placement(Nodes):
    def test_every_statement_is_one_task(self):
        """The coordinator's log has the plan of each statement."""
        account = self.accounts[0]
        client = self.of(account)
        self.citus.explain()
        self.addCleanup(self.stack.restart)
        self.addCleanup(self.citus.explain, False)
        self.stack.restart()
        place = self.citus.log_end()
        one = self.make(client)
        path = CREDENTIALS + "/" + one
        once = {"more": [("Idempotency-Key", "k")]}
        answer = client.get(path)
        tag = {"more": [("If-Match", answer.header("ETag"))]}
        there = {"more": [("If-Match", "*")]}
        for _ in range(8):  # PostgreSQL may make a generic plan from the sixth time on
            client.get(path)
        for answer in (
                client.post(CREDENTIALS, samples.credential(owner_id=account.admin.id)),
                client.post(CREDENTIALS, samples.credential(), **once),
                client.post(CREDENTIALS, samples.credential(), **once),
                client.get(CREDENTIALS),
                client.get(CREDENTIALS + "?filter=obj.description%20%3D%3D%20'x'"),
                client.get(CREDENTIALS + "?filter=obj.owner_id%20%3D%3D%20'x'"),
                client.patch(path, {"description": "x"}, **tag),
                client.patch(path, {"description": "y"}),
                client.put(OAUTH, {"enabled": True}),
                client.put(OAUTH, {"enabled": False}, **there),
                client.get(OAUTH), client.get("/oauth_modules"), client.delete(OAUTH),
                client.put(MUTUAL_TLS, {"certificate_authority_ids": ["a"]}),
                client.put(MUTUAL_TLS, {"certificate_authority_ids": []}, **there),
                client.get(MUTUAL_TLS), client.get("/mutual_tls_modules"),
                client.delete(MUTUAL_TLS),
                client.post("/ssh_decisions", {"public_key": samples.ED25519}),
                client.get("/audit_events"), client.delete(path)):
            self.assertLess(answer.status, 300, answer)
        plans = self.citus.plans(place)
        found = [sql for sql, _ in plans]
        for part in ("ssh_credential", "oauth_module", "mutual_tls_module", "audit_event"):
            self.assertTrue(any(part in sql for sql in found), part)
        for sql, plan in plans:
            with self.subTest(sql[:90]):
                self.assertEqual(re.findall(r"Task Count: (\d+)", plan), ["1"], sql + plan)

    def test_any_node(self):
        """Each node takes requests for all accounts, and records who made them."""
        self.addCleanup(self.citus.attach, self.stack)
        for node in self.citus.nodes:
            self.citus.attach(self.stack, node)
            for account in self.accounts:
                with self.subTest("%s by %s" % (self.citus.node_of(account.id).port, node.port)):
                    client = self.of(account)
                    path = CREDENTIALS + "/" + self.make(client)
                    self.assert_ok(client.patch(path, {"description": "x"}))
                    self.assert_ok(client.get(path))
                    self.assert_ok(client.put(OAUTH, {"enabled": True}))
                    self.assert_ok(client.delete(path), 204)
                    events = self.assert_ok(client.get(
                        "/audit_events?filter=obj.resource.id%%20%%3D%%3D%%20'%s'"
                        % path.rpartition("/")[2]))["audit_events"]
                    self.assertEqual(
                        [(one["event"], one["principal"]["id"]) for one in events],
                        [("ssh_credential_deleted", account.admin.id),
                         ("ssh_credential_updated", account.admin.id),
                         ("ssh_credential_created", account.admin.id)])

    def test_shards_move_under_load(self):
        account = self.accounts[0]
        place = "'127.0.0.1', %d"
        for _ in range(2):
            there = self.citus.node_of(account.id)
            elsewhere = next(node for node in self.workers if node is not there)
            with Load(self, self.accounts) as load:
                time.sleep(0.3)
                self.citus.psql(
                    self.citus.coordinator,
                    "SELECT citus_move_shard_placement(get_shard_id_for_distribution_column("
                    "'adit.account', '%s'), %s, %s)" % (
                        account.id, place % there.port, place % elsewhere.port))
                time.sleep(0.3)
            self.assertIs(self.citus.node_of(account.id), elsewhere)
            for one in self.accounts:
                self.assertEqual(load.statuses(one), {200, 201})
                self.assertEqual(load.wrong, [])
                ids = {item["id"] for item in self._all(self.of(one))}
                self.assertLessEqual(set(load.made[one.id]), ids)

    def _all(self, client):
        items, target = [], CREDENTIALS + "?limit=100"
        while target:
            page = self.assert_ok(client.get(target))
            items += page["ssh_credentials"]
            target = page["next_page_uri"] and CREDENTIALS + "?" + page["next_page_uri"].split("?")[1]
        return items

    def test_the_script_again(self):
        """It changes nothing that is there."""
        def shape():
            return [self.citus.psql(node, "SELECT c.oid::regclass, c.relacl, t.tgname"
                                    " FROM pg_class AS c LEFT JOIN pg_trigger AS t ON tgrelid = c.oid"
                                    " WHERE relnamespace = 'adit'::regnamespace ORDER BY 1, 3")
                    for node in self.citus.nodes]
        before = shape()
        self.assertEqual(self.citus.distribute(), "")
        self.stack.ctl("migrate")
        self.assertEqual(shape(), before)
        self.assertEqual(self.of(self.accounts[0]).get("/readyz").status, 200)


class Rights(Nodes):
    """Citus has no rights to columns: a trigger keeps them."""

    def test_columns_that_stay(self):
        account = self.accounts[0]
        one = self.make(self.of(account))
        for column, value in (("owner_id", "'%s'" % account.member.id),
                              ("public_key", "'x'"), ("fingerprint", "'x'"),
                              ("created_at", "now() - interval '1 hour'")):
            for where in self.citus.nodes:
                done = self.citus.psql_run(
                    where, "UPDATE adit.ssh_credential SET %s = %s WHERE account_id = '%s'"
                    " AND id = '%s'" % (column, value, account.id, one), user="adit")
                self.assertIn("42501", done.stderr, (column, done.stdout))
        self.citus.psql(self.citus.coordinator,
                        "UPDATE adit.ssh_credential SET description = 'x' WHERE account_id = '%s'"
                        " AND id = '%s'" % (account.id, one), user="adit")

    def test_the_record_stays(self):
        for sql in ("INSERT INTO adit.audit_event (event, account_id, resource) VALUES ('x', 'x', 'x')",
                    "DELETE FROM adit.audit_event", "UPDATE adit.audit_event SET event = 'x'",
                    "DELETE FROM adit.api_key", "TRUNCATE adit.ssh_credential"):
            done = self.citus.psql_run(self.citus.coordinator, sql, user="adit")
            self.assertIn("42501", done.stderr, sql)
        done = self.citus.psql_run(self.citus.coordinator, "TRUNCATE adit.ssh_credential")
        self.assertIn("0A000", done.stderr)


class Operator(Nodes):
    """aditctl on the nodes."""

    def test_who_made_it(self):
        account = self.accounts[1]
        self.stack.ctl("account", "rename", account.id, "--name", "renamed")
        event = self.citus.psql(self.citus.coordinator,
                                "SELECT event, operator FROM adit.audit_event WHERE account_id = '%s'"
                                " ORDER BY id DESC LIMIT 1" % account.id)
        self.assertRegex(event, r"^account_updated\|\S+")

    def test_purge(self):
        account = self.accounts[0]
        self.make(self.of(account))
        self.citus.psql(self.citus.coordinator,
                        "UPDATE adit.audit_event SET at = '2026-01-01'"
                        " WHERE account_id = '%s'" % account.id)
        self.of(account).post(CREDENTIALS, samples.credential(), more=[("Idempotency-Key", "old")])
        self.citus.psql(self.citus.coordinator,
                        "UPDATE adit.idempotency_key SET created_at = '2026-01-01'"
                        " WHERE account_id = '%s'" % account.id)
        self.stack.ctl("purge", "--audit-days", "40")
        counts = self.citus.psql(self.citus.coordinator, (
            "SELECT (SELECT count(*) FROM adit.audit_event WHERE account_id = '%s'"
            " AND at < now() - interval '40 days'), (SELECT count(*) FROM adit.idempotency_key"
            " WHERE account_id = '%s')") % (account.id, account.id))
        self.assertEqual(counts, "0|0")


class LostNode(Nodes):
    def test_killed(self):
        here, elsewhere = self.accounts
        node = self.citus.node_of(here.id)
        with Load(self, self.accounts) as load:
            time.sleep(1)
            killed = time.monotonic()
            node.kill()
            time.sleep(2)
            node.start()
            back = time.monotonic()
            until(lambda: load.statuses(here, back) & {201}, "writes are back")
            time.sleep(BACK_S + 0.5)
        self.assertEqual(load.statuses(elsewhere), {200, 201})
        self.assertEqual(load.wrong, [])
        self.assertIn(503, load.statuses(here, killed))
        self.assertLessEqual(load.statuses(here), {200, 201, 503})
        self.assertEqual(load.statuses(here, back + BACK_S), {200, 201})
        self.assertEqual(load.slow(elsewhere), [])
        ids = {item["id"] for item in Placement._all(self, self.of(here))}
        self.assertLessEqual(set(load.made[here.id]), ids)

    def test_a_key_is_revoked_while_another_node_is_down(self):
        here, elsewhere = self.accounts
        key = elsewhere.admin.issue()
        ident = self.stack.ctl("key", "list", "--for",
                               elsewhere.admin.id).splitlines()[-1].split("\t")[0]
        client = self.stack.client(key)
        self.assert_ok(client.get(CREDENTIALS))
        node = self.citus.node_of(here.id)
        node.kill()
        try:
            self.stack.ctl("key", "revoke", ident, "--account", elsewhere.id)
            self.assert_error(client.get(CREDENTIALS), 203)
        finally:
            node.start()
