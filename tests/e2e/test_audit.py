# SPDX-License-Identifier: MIT
"""The record of changes, and its notifications."""
import json
import os
import pwd
import select
import subprocess

from adit import samples
from adit.case import DEADLINE_S, Case
from adit.stack import CLEAN_ENV

OAUTH = "/edges/https/audited/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/audited/mutual_tls"
SECRET = "a secret that no table shows"


class Audit(Case):
    def setUp(self):
        self.account = self.stack.account("audited")
        self.client = self.stack.client(self.account.admin.key)

    def events(self, where="true"):
        text = self.stack.psql(
            "SELECT coalesce(json_agg(a ORDER BY a.id), '[]') FROM adit.audit AS a"
            " WHERE a.account_id = '%s' AND %s" % (self.account.id, where))
        return json.loads(text)

    def changes(self):
        return self.events("a.event ~ '^(ssh_credential|oauth_module|mutual_tls_module)_'")

    def test_who_did_what(self):
        made = self.client.post("/ssh_credentials", {"public_key": samples.ED25519})
        ident = made.json["id"]
        path = "/ssh_credentials/" + ident
        changed = self.client.patch(path, {"description": "changed"})
        deleted = self.client.delete(path)
        events = self.changes()
        self.assertEqual([event["event"] for event in events],
                         ["ssh_credential_created", "ssh_credential_updated",
                          "ssh_credential_deleted"])
        key_id = self.stack.psql("SELECT id FROM adit.api_key WHERE principal_id = '%s'"
                                 % self.account.admin.id)
        for event, answer in zip(events, (made, changed, deleted)):
            self.assertEqual(event["resource"], ident)
            self.assertEqual(event["principal_id"], self.account.admin.id)
            self.assertEqual(event["api_key_id"], key_id)
            self.assertEqual(event["operation_id"], answer.header("Service-Operation-Id"))
            self.assertEqual(event["account"], "audited")
            self.assertEqual(event["database_user"], "adit")
            self.assertEqual(event["client_address"], "127.0.0.1")
            self.assertIsNone(event["operator"])
        self.assertIsNone(events[0]["before"])
        self.assertEqual(events[0]["after"], events[1]["before"])
        self.assertEqual(events[1]["after"]["description"], "changed")
        self.assertEqual(events[1]["after"], events[2]["before"])
        self.assertIsNone(events[2]["after"])

    def test_modules(self):
        body = {"provider": {"provider_a": {"client_id": "app", "client_secret": SECRET}}}
        for path, bodies, name, resource in (
                (OAUTH, [body, {}], "oauth_module", "audited/r"),
                (MUTUAL_TLS, [{}, {"enabled": False}], "mutual_tls_module", "audited")):
            for body in bodies:
                self.assert_ok(self.client.put(path, body))
            self.assert_ok(self.client.delete(path), 204)
            self.assert_ok(self.client.delete(path), 204)
            events = [event for event in self.changes() if event["event"].startswith(name)]
            self.assertEqual([(event["event"], event["resource"]) for event in events],
                             [(name + verb, resource)
                              for verb in ("_created", "_updated", "_deleted")])
        text = json.dumps(self.events())
        self.assertNotIn(SECRET, text)
        self.assertNotIn("client_secret_sealed", text)
        self.assertIn("client_secret_key_id", text)

    def test_which_columns_changed(self):
        def module(secret, **more):
            return {"provider": {"provider_a": {"client_id": "app", "client_secret": secret}},
                    **more}
        for body in (module(SECRET), module("another secret"),
                     module("another secret", cookie_prefix="c.", maximum_duration=1), {}):
            self.assert_ok(self.client.put(OAUTH, body))
        self.assert_ok(self.client.delete(OAUTH), 204)
        self.assertEqual([event["changed"] for event in self.changes()], [
            None, ["client_secret"], ["client_secret", "cookie_prefix", "maximum_duration"],
            ["client_id", "client_secret", "client_secret_key_id", "cookie_prefix",
             "maximum_duration", "provider"], None])
        path = "/ssh_credentials/" + self.client.post("/ssh_credentials",
                                                      samples.credential()).json["id"]
        self.assert_ok(self.client.patch(path, {"metadata": "m", "acl": ["*"], "description": ""}))
        self.stack.psql("UPDATE adit.principal SET name = 'n', is_admin = NOT is_admin"
                        " WHERE account_id = '%s'" % self.account.id)
        self.assertEqual(self.changes()[-1]["changed"], ["acl", "metadata"])
        self.stack.psql("UPDATE adit.ssh_credential SET created_at = created_at - interval '1 day'"
                        " WHERE account_id = '%s'" % self.account.id)
        self.assertEqual(self.changes()[-1]["changed"], ["created_at"])
        self.assertEqual(self.events("a.event = 'principal_updated'")[-1]["changed"],
                         ["is_admin", "name"])
        text = json.dumps(self.events())
        for hidden in SECRET, "another secret", "client_secret_sealed":
            self.assertNotIn(hidden, text)

    def test_what_changes_nothing_leaves_nothing(self):
        made = self.client.post("/ssh_credentials", {"public_key": samples.ED25519}).json
        path = "/ssh_credentials/" + made["id"]
        before = self.changes()
        self.assert_ok(self.client.get(path))
        self.assert_ok(self.client.patch(path, {}))
        self.assert_ok(self.client.patch(path, {"description": ""}))
        self.assert_error(self.client.patch(path, {"x": 1}), 214)
        self.assert_error(self.client.delete(path, more=[("If-Match", '"1"')]), 9038)
        self.assert_error(self.stack.client(self.account.read_only_key).delete(path), 9005)
        self.assert_ok(self.client.delete(MUTUAL_TLS), 204)
        self.assertEqual(self.changes(), before)

    def test_a_repeat_is_no_change(self):
        for _ in range(3):
            self.client.post("/ssh_credentials", {"public_key": samples.ED25519},
                             more=[("Idempotency-Key", "k")])
        self.assertEqual(len(self.changes()), 1)

    def test_operators_changes(self):
        key_id = self.stack.ctl("key", "list").split()
        self.account.admin.issue("--description", "a second one")
        events = self.events("a.event LIKE 'api_key_%'")
        self.assertEqual({event["event"] for event in events}, {"api_key_created"})
        self.assertTrue(key_id)
        for event in events:
            self.assertIsNone(event["principal_id"])
            self.assertIsNone(event["client_address"])
            self.assertNotIn("digest", event["after"])
        self.stack.psql("UPDATE adit.principal SET name = 'by hand' WHERE account_id = '%s'"
                        % self.account.id)
        event = self.events("a.event = 'principal_updated'")[-1]
        self.assertEqual((event["after"]["name"], event["database_user"]), ("by hand", "postgres"))

    def test_who_ran_aditctl(self):
        """aditctl names the system user, and who became that user by sudo."""
        me = pwd.getpwuid(os.geteuid()).pw_name
        env = {name: value for name, value in CLEAN_ENV.items() if name != "SUDO_USER"}
        for sudo_user, operator in ((None, me), (me, me), ("", me), ("alice", me + " (sudo by alice)"),
                                    ("zo\u00eb", me + " (sudo by zo\u00eb)"), ("a\nb", me),
                                    ("\udcff", me), ("x" * 256, me)):
            with self.subTest(sudo_user):
                more = {} if sudo_user is None else {"SUDO_USER": sudo_user}
                self.stack.ctl_run("key", "issue", "--for", self.account.admin.id, check=True,
                                   env=dict(env, **more))
                event = self.events("a.event = 'api_key_created'")[-1]
                self.assertEqual((event["operator"], event["principal_id"]), (operator, None))

    def test_operator_of_another_session(self):
        """A pooler may hand a session on with its settings."""
        self.stack.psql("SET adit.operator = 'left';"
                        " SELECT set_config('adit.caller', '%s ak_x op_x 192.0.2.1', false);"
                        " INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
                        " VALUES ('%s', 'pooled', true)" % (self.account.admin.id, self.account.id),
                        user="adit")
        event = self.changes()[-1]
        self.assertEqual((event["operator"], event["client_address"]), (None, "192.0.2.1"))

    def test_caller_of_another_session(self):
        """Nobody's setting takes the place of the operator."""
        owner = self.stack.psql("SELECT current_user")
        self.stack.psql('ALTER ROLE "%s" SET adit.caller = \'usr_x ak_x op_x 192.0.2.1\'' % owner)
        try:
            self.stack.ctl("account", "rename", "--name", "pooled", self.account.id)
        finally:
            self.stack.psql('ALTER ROLE "%s" RESET adit.caller' % owner)
        event = self.events("a.event = 'account_updated'")[-1]
        self.assertEqual((event["principal_id"], event["operation_id"]), (None, None))
        self.assertTrue(event["operator"])

    def test_operators_changes_of_nothing(self):
        key_id = self.stack.psql("SELECT id FROM adit.api_key WHERE account_id = '%s'"
                                 % self.account.id)
        for _ in range(3):
            self.stack.ctl("key", "revoke", key_id)
        for table, column in ("account", "id"), ("principal", "account_id"):
            self.stack.psql("UPDATE adit.%s SET name = name WHERE %s = '%s'"
                            % (table, column, self.account.id))
        self.assertEqual([event["event"] for event in self.events("a.event LIKE '%_updated'")],
                         ["api_key_updated"])

    def test_rekeying_hides_nothing(self):
        """Any session may set adit.rekey.  If it then changes something else, makes the change
        for a caller, or is no session of the tables' owner, that is recorded as a change."""
        body = {"provider": {"provider_a": {"client_id": "app", "client_secret": SECRET}}}
        seal = "client_secret_sealed = client_secret_sealed || 'x', client_secret_key_id = 'k'"
        for change, caller, user, event, is_seen, changed in (
                ("enabled = NOT enabled", "", "postgres", "updated", True, ["enabled"]),
                ("client_secret_key_id = 'k', email_domains = '{evil.example}'", "", "postgres", "updated", True,
                 ["client_secret_key_id", "email_domains"]),
                ("client_secret_sealed = client_secret_sealed || 'x'", "", "postgres", "updated", True,
                 ["client_secret"]),
                (seal, "usr_x ak_x op_x", "postgres", "updated", True,
                 ["client_secret", "client_secret_key_id"]),
                (seal, "", "adit", "updated", True, ["client_secret", "client_secret_key_id"]),
                (seal, "", "postgres", "rekeyed", False, ["client_secret_key_id"])):
            with self.subTest(change, caller=caller, user=user):
                etag = self.client.put(OAUTH, body).header("ETag")
                self.stack.psql("BEGIN; SET LOCAL adit.rekey = 'on'; SET LOCAL adit.caller = '%s';"
                                " UPDATE adit.oauth_module SET %s WHERE account_id = '%s'; COMMIT"
                                % (caller, change, self.account.id), user=user)
                self.assertEqual((self.changes()[-1]["event"], self.changes()[-1]["changed"]),
                                 ("oauth_module_" + event, changed))
                self.assertEqual(self.stack.psql(
                    "SELECT revision FROM adit.oauth_module WHERE account_id = '%s'"
                    % self.account.id) != etag.strip('"'), is_seen)

    def test_truncate(self):
        """TRUNCATE by hand records each row, also of the tables that CASCADE reaches."""
        body = {"provider": {"provider_a": {"client_id": "app", "client_secret": SECRET}}}
        made = self.assert_ok(self.client.post("/ssh_credentials",
                                               {"public_key": samples.ED25519}), 201)
        self.assert_ok(self.client.put(OAUTH, body))
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        # The tables are those of all tests of this stack, so they come back.
        for tables, last in (
                ("adit.ssh_credential", ["ssh_credential_deleted " + made["id"]]),
                ("adit.oauth_module, adit.mutual_tls_module",
                 ["mutual_tls_module_deleted audited", "oauth_module_deleted audited/r"]),
                ("adit.account CASCADE",
                 ["account_deleted " + self.account.id, "mutual_tls_module_deleted audited",
                  "oauth_module_deleted audited/r", "principal_deleted " + self.account.admin.id,
                  "ssh_credential_deleted " + made["id"]])):
            with self.subTest(tables):
                shown = self.stack.psql(
                    "BEGIN; SET LOCAL adit.operator = 'ada'; TRUNCATE %s;"
                    "SELECT (SELECT count(*) FROM adit.ssh_credential), e.event || ' ' || e.resource,"
                    " e.operator, e.principal_id IS NULL, e.before IS NOT NULL, e.after IS NULL,"
                    " e.before::text ~ 'sealed|digest' FROM adit.audit_event AS e"
                    " WHERE e.transaction = pg_current_xact_id() AND e.account_id = '%s'"
                    " AND e.event <> 'api_key_deleted' ORDER BY 2; ROLLBACK"
                    % (tables, self.account.id)).splitlines()
                self.assertEqual([row.split("|")[1] for row in shown], last)
                for row in shown:
                    self.assertEqual(row.split("|")[2:], ["ada", "t", "t", "t", "f"])
        self.assertEqual(self.stack.psql(
            "BEGIN; TRUNCATE adit.account CASCADE; SELECT bool_or(before::text ~ 'digest'), count(*)"
            " FROM adit.audit_event WHERE transaction = pg_current_xact_id()"
            " AND event = 'api_key_deleted' AND account_id = '%s'; ROLLBACK" % self.account.id),
            "f|1")
        # An older snapshot does not show rows that TRUNCATE deletes.
        self.assertIn("25001", self.stack.psql_run(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; TRUNCATE adit.ssh_credential").stderr)
        self.assertEqual(self.assert_ok(self.client.get("/ssh_credentials/" + made["id"])), made)

    def test_nobody_rewrites_it(self):
        self.client.put(MUTUAL_TLS, {})
        for sql in ("INSERT INTO adit.audit_event (event, account_id, resource)"
                    " VALUES ('x', 'x', 'x')",
                    "UPDATE adit.audit_event SET event = 'x'", "DELETE FROM adit.audit_event",
                    "TRUNCATE adit.audit_event", "SELECT * FROM adit.audit_event",
                    "SELECT * FROM adit.audit",
                    "ALTER TABLE adit.mutual_tls_module DISABLE TRIGGER record_change",
                    "SET session_replication_role = replica"):
            with self.subTest(sql):
                self.assertIn("42501", self.stack.psql_run(sql, user="adit").stderr)
        # The view is read-only, for its owner too.
        for sql in "DELETE FROM adit.audit", "UPDATE adit.audit SET event = 'x'":
            self.assertIn("55000", self.stack.psql_run(sql).stderr)

    def test_who_is_what_the_responder_says(self):
        """As aditctl(8) says, the responder's role may name any caller.  It cannot omit the row."""
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        other = self.stack.account().admin.id
        self.stack.psql("SELECT set_config('adit.caller', '%s ak_other op_other', false);"
                        "UPDATE adit.mutual_tls_module SET enabled = false"
                        " WHERE account_id = '%s'" % (other, self.account.id), user="adit")
        self.assertEqual(self.stack.psql(
            "SELECT event, principal_id, api_key_id, operation_id, database_user FROM adit.audit"
            " WHERE account_id = '%s' ORDER BY id DESC LIMIT 1" % self.account.id),
            "mutual_tls_module_updated|%s|ak_other|op_other|adit" % other)

    def forge(self, settings, sql):
        """Runs a statement of a responder that was taken over.  Returns its event."""
        self.stack.psql("SELECT %s; %s" % (", ".join(
            "set_config('%s', '%s', false)" % pair for pair in settings.items()), sql), user="adit")
        return self.recorded()

    def recorded(self):
        return json.loads(self.stack.psql(
            "SELECT json_build_object('event', event, 'operator', operator, 'role', database_user,"
            " 'changed', changed) FROM adit.audit WHERE account_id = '%s' ORDER BY id DESC LIMIT 1"
            % self.account.id))

    def test_no_responder_is_aditctl(self):
        """Its role sets adit.operator and adit.rekey in vain, however it tries."""
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_a": {
            "client_id": "app", "client_secret": SECRET}}}))
        self.assert_ok(self.client.put("/edges/tls/other/mutual_tls", {}))
        where = " WHERE account_id = '%s'" % self.account.id
        for sql, name in (
                ("UPDATE adit.mutual_tls_module SET enabled = false" + where
                 + " AND edge_id <> 'other'", "mutual_tls_module_updated"),
                ("DELETE FROM adit.mutual_tls_module" + where + " AND edge_id <> 'other'",
                 "mutual_tls_module_deleted"),
                ("INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled,"
                 " certificate_authority_ids) VALUES ('%s', 'forged', true, '{}')"
                 % self.account.id, "mutual_tls_module_created")):
            with self.subTest(name):
                event = self.forge({"adit.operator": "root"}, sql)
                self.assertEqual((event["event"], event["operator"], event["role"]),
                                 (name, None, "adit"))
        before = self.revision()
        event = self.forge({"adit.operator": "root", "adit.rekey": "on"}, self.seal("forged"))
        self.assertEqual((event["event"], event["operator"]), ("oauth_module_updated", None))
        self.assertIn("client_secret", event["changed"])
        self.assertNotEqual(self.revision(), before)

    def revision(self):
        return self.stack.psql("SELECT revision FROM adit.oauth_module WHERE account_id = '%s'"
                               % self.account.id)

    def seal(self, key_id):
        return ("UPDATE adit.oauth_module SET client_secret_key_id = '%s', client_secret_sealed ="
                " decode(repeat('00', 64), 'hex') WHERE account_id = '%s'" % (key_id, self.account.id))

    def test_members_of_the_owner_are_believed(self):
        """They need not be superusers."""
        self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_a": {
            "client_id": "app", "client_secret": SECRET}}}))
        before = self.revision()
        self.stack.psql("CREATE ROLE operating LOGIN; GRANT postgres TO operating")
        self.addCleanup(self.stack.psql, "DROP ROLE operating")
        self.stack.psql("SET ROLE postgres; SET adit.rekey = 'on'; SET adit.operator = 'ada'; "
                        + self.seal("believed"), user="operating")
        event = self.recorded()
        self.assertEqual((event["event"], event["operator"], event["role"]),
                         ("oauth_module_rekeyed", "ada", "operating"))
        self.assertEqual(self.revision(), before)

    def test_no_room_for_notifications(self):
        """A listener that reads nothing fills the queue, and PostgreSQL refuses the commit.  The
        real queue takes 8 GB, so a trigger that fails at commit replaces it."""
        self.refuse_commits("54000", "too many notifications in the NOTIFY queue", 9031)

    def test_no_room_on_the_disk(self):
        self.refuse_commits("53100", "could not extend file: No space left on device", 9031)

    def test_another_limit(self):
        self.refuse_commits("54001", "stack depth limit exceeded", 9030)

    def refuse_commits(self, state, message, code):
        self.stack.psql(
            "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN RAISE '%s' USING ERRCODE = '%s'; END$$;"
            "CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON adit.mutual_tls_module"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.account_id = '%s')"
            " EXECUTE FUNCTION public.refuse()" % (message, state, self.account.id))
        try:
            answer = self.client.put(MUTUAL_TLS, {})
            self.assert_error(answer, code)
            self.assertTrue(answer.header("Retry-After"))
        finally:
            self.stack.psql("DROP FUNCTION public.refuse CASCADE")
        self.assertEqual(self.changes(), [])
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))

    def test_notification(self):
        """Off by default: only 'on' turns notifications on."""
        listener = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(), bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.stdout.close)
        self.addCleanup(listener.stdin.close)

        def ask(sql):
            listener.stdin.write(sql.encode() + b";\nSELECT 'done';\n")
            lines = []
            while not lines or lines[-1] != "done":
                ready, _, _ = select.select([listener.stdout], [], [], DEADLINE_S)
                self.assertTrue(ready, "psql prints nothing more")
                lines.append(os.fsdecode(listener.stdout.readline()).rstrip("\n"))
            # psql prints notifications after the answer.
            return lines

        def heard():
            lines = ask("SELECT 1") + ask("SELECT 1")
            return [json.loads(line[line.index("{"):line.rindex("}") + 1])
                    for line in lines if "adit_change" in line and self.account.id in line]
        ask("LISTEN adit_change")
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        self.assertEqual(heard(), [])
        self.addCleanup(self.stack.set_notify, "DEFAULT")
        for value in "off", "true", "on":
            self.stack.set_notify(value)
            changed = self.client.put(MUTUAL_TLS, {"enabled": value != "off"})
            self.assert_ok(changed)
            self.assert_ok(self.client.delete(MUTUAL_TLS), 204)
            events = [] if value != "on" else [{
                "event": "mutual_tls_module_" + verb, "account_id": self.account.id,
                "resource": "audited", "revision": int(changed.header("ETag").strip('"'))}
                for verb in ("created", "deleted")]
            self.assertEqual(heard(), events)
