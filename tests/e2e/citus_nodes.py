# SPDX-License-Identifier: MIT
"""Accounts on three nodes of Citus: what runs where.  citus_faults has what a lost node takes with it."""
import re
import subprocess
import threading
import time

from adit import covered, samples, stack
from adit.case import Case, until
from adit.citus import Citus

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/e/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/e/mutual_tls"

# Routes that ask for no row of an account.
NO_STATEMENT = {("GET", "/livez"), ("GET", "/readyz"), ("GET", "/metrics")}


class Nodes(Case):
    stack_name = "nodes"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        cls.citus = shared.citus = shared.citus or Citus()
        cls.citus.attach(shared)
        super().setUpClass()
        cls.workers = cls.citus.workers
        # An account on each worker.
        cls.accounts = [cls.account_on(node) for node in cls.workers]

    @classmethod
    def account_on(cls, node):
        return cls.citus.account_on(node, cls.stack.account)

    def of(self, account):
        return self.stack.client(account.admin.key)

    def make(self, client):
        return self.assert_ok(client.post(CREDENTIALS, samples.credential()), 201)["id"]

    def all_of(self, client):
        items, target = [], CREDENTIALS + "?limit=100"
        while target:
            page = self.assert_ok(client.get(target))
            items += page["ssh_credentials"]
            target = page["next_page_uri"] and CREDENTIALS + "?" + page["next_page_uri"].split("?")[1]
        return items


class Load:
    """Reads and writes of accounts, some threads each, until it ends."""

    def __init__(self, test, accounts, n_each=1):
        self.test, self.accounts = test, accounts
        self.answers = {account.id: [] for account in accounts}  # (when, seconds, what, status)
        self.made = {account.id: [] for account in accounts}
        self.wrong = []  # answers and errors
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(account,))
                         for account in accounts for _ in range(n_each)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, account, what, *arguments):
        client = self.test.of(account)
        began = time.monotonic()
        answer = getattr(client, what)(*arguments)
        self.answers[account.id].append((began, time.monotonic() - began, what, answer.status))
        return answer

    def _run(self, account):
        while not self._ends.is_set():
            try:
                self._ask_twice(account, self.made[account.id])
            except (AssertionError, OSError) as error:
                self.wrong.append(error)
            time.sleep(0.005)

    def _ask_twice(self, account, made):
        # Of one key, an account has at most 1,000 credentials.
        body = samples.credential(public_key=samples.new_key())
        answer = self._ask(account, "post", CREDENTIALS, body)
        if answer.status == 201:
            made.append(answer.json["id"])
        if made:
            wanted = made[-1]
            answer = self._ask(account, "get", CREDENTIALS + "/" + wanted)
            if answer.status == 200 and answer.json["id"] != wanted:
                self.wrong.append(answer)

    def statuses(self, account, since=0, until=float("inf")):
        return {one[3] for one in self.between(account, since, until)}

    def between(self, account, since, until=float("inf")):
        """The requests that began then."""
        return [one for one in self.answers[account.id] if since <= one[0] < until]


class Placement(Nodes):
    def test_every_statement_is_one_task(self):
        """The coordinator's log has the plan of each statement, of every route of the table."""
        account = self.accounts[0]
        client = self.of(account)
        self.citus.explain()
        self.addCleanup(self.stack.restart)
        self.addCleanup(self.citus.explain, False)
        self.stack.restart()
        path = CREDENTIALS + "/" + self.make(client)
        tag = {"more": [("If-Match", client.get(path).header("ETag"))]}
        event = "/audit_events/" + client.get("/audit_events").json["audit_events"][0]["id"]
        asked = self.asked_of_routes(account, path, tag, event)
        self.assertEqual(set(asked), set(covered.route_table) - NO_STATEMENT)
        for (method, _), requests in asked.items():
            for target, *arguments in requests:
                place = self.citus.log_end()
                more = arguments.pop() if arguments and "more" in arguments[-1] else {}
                for _ in range(8 if method == "GET" else 1):  # from the sixth on, plans may be generic
                    answer = getattr(client, method.lower())(target, *arguments, **more)
                with self.subTest("%s %s %s" % (method, target, more)):
                    self.assertLess(answer.status, 300, answer)
                    plans = self.citus.plans(place)
                    self.assertNotEqual(plans, [])
                    for sql, plan in plans:
                        self.assertEqual(re.findall(r"Task Count: (\d+)", plan), ["1"], sql + plan)

    def asked_of_routes(self, account, path, tag, event):
        """The requests for each route: target, body and options."""
        once, there = {"more": [("Idempotency-Key", "k")]}, {"more": [("If-Match", "*")]}
        return {
            ("POST", CREDENTIALS): [
                (CREDENTIALS, samples.credential()), (CREDENTIALS, samples.credential(), once),
                (CREDENTIALS, samples.credential(), once),
                (CREDENTIALS, samples.credential(owner_id=account.admin.id))],
            ("GET", CREDENTIALS): [
                (CREDENTIALS,), (CREDENTIALS + "?limit=1&before_id=" + path.rpartition("/")[2],),
                (CREDENTIALS + "?filter=obj.description%20%3D%3D%20'x'",),
                (CREDENTIALS + "?filter=obj.owner_id%20%3D%3D%20'x'",)],
            ("GET", CREDENTIALS + "/{id}"): [(path,)],
            ("PATCH", CREDENTIALS + "/{id}"): [
                (path, {"description": "x"}, tag), (path, {"description": "y"})],
            ("POST", "/ssh_decisions"): [
                ("/ssh_decisions", {"public_key": samples.ED25519}),
                ("/ssh_decisions", {"public_key": samples.ED25519, "target": "x.example"})],
            ("PUT", "/edges/https/{edge_id}/routes/{id}/oauth"): [
                (OAUTH, {"enabled": True}), (OAUTH, {"enabled": False}, there)],
            ("GET", "/edges/https/{edge_id}/routes/{id}/oauth"): [(OAUTH,)],
            ("GET", "/oauth_modules"): [
                ("/oauth_modules",), ("/oauth_modules?after_id=a%2Fb",),
                ("/oauth_modules?filter=obj.enabled",)],
            ("POST", "/oauth_admissions"): [("/oauth_admissions", {"enabled": True})],
            ("GET", "/oauth_providers"): [("/oauth_providers",)],
            ("DELETE", "/edges/https/{edge_id}/routes/{id}/oauth"): [(OAUTH,)],
            ("PUT", "/edges/tls/{id}/mutual_tls"): [
                (MUTUAL_TLS, {"certificate_authority_ids": ["a"]}),
                (MUTUAL_TLS, {"certificate_authority_ids": []}, there)],
            ("GET", "/edges/tls/{id}/mutual_tls"): [(MUTUAL_TLS,)],
            ("GET", "/mutual_tls_modules"): [
                ("/mutual_tls_modules",), ("/mutual_tls_modules?after_id=a",),
                ("/mutual_tls_modules?filter=obj.enabled",)],
            ("DELETE", "/edges/tls/{id}/mutual_tls"): [(MUTUAL_TLS,)],
            ("GET", "/audit_events"): [
                ("/audit_events",), ("/audit_events?limit=1&before_id=" + event.rpartition("/")[2],),
                ("/audit_events?filter=obj.event%20%3D%3D%20'x'",)],
            ("GET", "/audit_events/{id}"): [(event,)],
            ("DELETE", CREDENTIALS + "/{id}"): [(path,)],
        }

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
                ids = {item["id"] for item in self.all_of(self.of(one))}
                self.assertLessEqual(set(load.made[one.id]), ids)

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
        # The column's domain refuses a value before the trigger sees it.
        for column, value, state in (("owner_id", "'%s'" % account.member.id, "42501"),
                                     ("public_key", "'x'", "42501"),
                                     ("fingerprint", "'SHA256:' || repeat('x', 43)", "42501"),
                                     ("fingerprint", "'x'", "23514"),
                                     ("created_at", "now() - interval '1 hour'", "42501")):
            for where in self.citus.nodes:
                done = self.citus.psql_run(
                    where, "UPDATE adit.ssh_credential SET %s = %s WHERE account_id = '%s'"
                    " AND id = '%s'" % (column, value, account.id, one), user="adit")
                self.assertIn(state, done.stderr, (column, done.stdout))
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

    def test_own_keys_share_no_public_key(self):
        """The trigger of a shard knows the scope of the caller's key."""
        account = self.account_on(self.workers[0])
        own = self.stack.client(account.own_key)
        ways = {}, {"more": [("Idempotency-Key", "own")]}
        self.make(own)
        theirs = self.make(self.of(account))
        for options in ways:
            self.assert_error(own.post(CREDENTIALS, samples.credential(), **options), 9098)
        self.of(account).delete(CREDENTIALS + "/" + theirs)
        for _ in range(499):
            self.make(own)
        for options in ways:
            self.assert_error(own.post(CREDENTIALS, samples.credential(), **options), 9084)

    def test_own_keys_are_superseded(self):
        """The trigger of a shard marks what is in the shard."""
        account = self.account_on(self.workers[0])
        own, admin = self.stack.client(account.own_key), self.of(account)
        def rules():
            return self.assert_ok(admin.post("/ssh_decisions", {"public_key": samples.ED25519}))["acl"]
        paths = [CREDENTIALS + "/" + self.assert_ok(client.post(
            CREDENTIALS, samples.credential(acl=[rule])), 201)["id"]
                 for client, rule in ((own, "bind:own"), (admin, "bind:given"))]
        self.assertEqual(rules(), ["bind:given"])
        self.assert_ok(admin.delete(paths[1]), 204)
        self.assert_ok(own.patch(paths[0], {"acl": ["bind:more"]}))
        self.assertEqual(rules(), [])
        self.assert_ok(admin.patch(paths[0], {"acl": ["bind:decided"]}))
        self.assertEqual(rules(), ["bind:decided"])

    def test_restore_says_that_it_does_not_work(self):
        done = self.stack.ctl_run("restore", "--since", "1h", "--by", self.accounts[0].admin.id)
        self.assertEqual(done.returncode, 1)
        self.assertIn("'aditctl restore' does not work where accounts are on several nodes",
                      done.stderr)

    def test_disabled_while_a_write_runs_on_the_node(self):
        """The write has found its key, and creates a credential once the User is disabled."""
        account = self.accounts[0]
        user = account.person("user")
        node = self.citus.node_of(account.id)
        write = subprocess.Popen(
            [node.programs + "/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
             node.run_folder, "-p", str(node.port), "-U", "adit", "-d", "adit"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=stack.CLEAN_ENV)
        self.addCleanup(write.stdout.close)
        write.stdin.write("BEGIN; SELECT principal_id FROM adit.note_caller('%s', sha256('%s'), 'op');\n"
                          % (account.id, user.key))
        write.stdin.flush()
        self.assertEqual(write.stdout.readline(), user.id + "\n")
        disable = threading.Thread(target=lambda: self.stack.ctl(
            "user", "disable", "--with-credentials", "--yes", user.id))
        disable.start()
        until(lambda: self.citus.psql(
            self.citus.coordinator, "SELECT disabled_at FROM adit.principal WHERE account_id = '%s'"
            " AND id = '%s'" % (account.id, user.id)), "it is disabled")
        disable.join(0.5)
        self.assertTrue(disable.is_alive(), "nothing waits")
        write.stdin.write(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
            " public_key) VALUES ('%s', '%s', '%s', 'ssh-ed25519', 'SHA256:' || repeat('x', 43), 'x');"
            " COMMIT;\n" % (account.id, samples.unknown_id(), user.id))
        write.stdin.close()
        self.assertEqual(write.wait(60), 0)
        disable.join()
        self.assertEqual(self.citus.psql(self.citus.coordinator, (
            "SELECT (SELECT count(*) FROM adit.ssh_credential WHERE account_id = '%s' AND owner_id ="
            " '%s'), (SELECT count(*) FROM adit.audit_event WHERE account_id = '%s'"
            " AND event = 'ssh_credential_deleted' AND before ->> 'owner_id' = '%s')")
            % (account.id, user.id, account.id, user.id)), "0|1")

    def test_purge(self):
        # Old events are in many shards of each node.
        for account in self.accounts + [self.stack.account() for _ in range(4)]:
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
