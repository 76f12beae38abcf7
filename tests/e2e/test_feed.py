# SPDX-License-Identifier: MIT
"""adit.changes(): what a reader gets, and when it must begin anew."""
import re
import subprocess

from adit import samples, stack
from adit.case import Case

MUTUAL_TLS = "/edges/tls/fed/mutual_tls"
READS = "SELECT seq_scan, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'audit_event'"


class FeedCase(Case):
    stack_name = "aditctl"
    user = "feed_gateway"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.psql("CREATE ROLE feed_gateway LOGIN IN ROLE adit_gateway")
        cls.addClassCleanup(cls.stack.psql, "DROP ROLE feed_gateway")

    def setUp(self):
        self.account = self.stack.account("fed")
        self.client = self.stack.client(self.account.admin.key)

    def read(self, since=None):
        """Returns the snapshot, whether the reader may go on, and the events."""
        rows = self.stack.psql(
            "SELECT snapshot, complete, event || ' ' || resource FROM adit.changes(%s) ORDER BY id"
            % ("'%s'" % since if since else "NULL"), user=self.user).splitlines()
        rows = [row.split("|") for row in rows]
        self.assertEqual(len({(row[0], row[1]) for row in rows}), 1)
        return rows[0][0], rows[0][1] == "t", [row[2] for row in rows if row[2]]

    def begin(self):
        snapshot, may_go_on, events = self.read()
        self.assertEqual((may_go_on, events), (False, []))
        return snapshot

    def assert_anew(self, since):
        """A reader with this snapshot has to begin anew, and may go on from the new one."""
        snapshot, may_go_on, events = self.read(since)
        self.assertEqual((may_go_on, events), (False, []))
        self.assertEqual(self.read(snapshot)[1:], (True, []))

    def assert_goes_on(self, since, events):
        self.assertEqual(self.read(since)[1:], (True, events))

    def change(self, enabled=True):
        self.assert_ok(self.client.put(MUTUAL_TLS, {"enabled": enabled}))

    def session(self):
        """A psql that stays open, and a function that runs SQL in it."""
        process = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(),
                                   text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)

        def ask(sql):
            process.stdin.write(sql + ";\n\\echo end\n")
            process.stdin.flush()
            return "".join(iter(process.stdout.readline, "end\n"))
        return ask


class Feed(FeedCase):
    def test_what_it_shows(self):
        since = self.begin()
        ident = self.client.post("/ssh_credentials", {"public_key": samples.ED25519}).json["id"]
        self.assert_ok(self.client.patch("/ssh_credentials/" + ident, {"acl": ["bind:a.example"]}))
        self.change()
        self.assert_ok(self.client.delete(MUTUAL_TLS), 204)
        self.assert_goes_on(since, [
            "ssh_credential_created " + ident, "ssh_credential_updated " + ident,
            "mutual_tls_module_created fed", "mutual_tls_module_deleted fed"])
        # It shows no content.
        self.assertEqual(self.stack.psql(
            "SELECT array_to_string(proargnames, ' ') FROM pg_proc WHERE proname = 'changes'"),
            "since snapshot complete id at event account_id resource")

    def test_rolled_back(self):
        since = self.begin()
        insert = ("INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
                  " VALUES ('%s', '%%s', true);" % self.account.id)
        self.stack.psql("BEGIN;" + insert % "a" + "SAVEPOINT s;" + insert % "b" + "ROLLBACK TO s;" +
                        insert % "c" + "SAVEPOINT t;" + insert % "d" + "RELEASE t; COMMIT;"
                        "BEGIN;" + insert % "e" + "ROLLBACK")
        self.assert_goes_on(since, ["mutual_tls_module_created " + edge for edge in "acd"])

    def test_truncated(self):
        """TRUNCATE of what a gateway obeys comes to it as deletions."""
        ident = self.client.post("/ssh_credentials", {"public_key": samples.ED25519}).json["id"]
        self.change()
        self.stack.psql("CREATE TABLE kept AS SELECT * FROM adit.ssh_credential")
        self.addCleanup(self.stack.psql, "INSERT INTO adit.ssh_credential SELECT * FROM kept;"
                        " DROP TABLE kept")
        n_others = int(self.stack.psql("SELECT count(*) FROM kept")) - 1
        since = self.begin()
        self.stack.psql("TRUNCATE adit.ssh_credential")
        events = self.read(since)[2]
        self.assertEqual(len(events), n_others + 1)
        self.assertIn("ssh_credential_deleted " + ident, events)

    def test_open_transaction_costs_nothing(self):
        """Polls do not read old events again while a transaction stays open."""
        ask = self.session()
        ask("BEGIN; SELECT pg_current_xact_id()")
        for i in range(20):
            self.change(enabled=bool(i % 2))
        since = self.begin()
        self.change(enabled=False)
        n_read = self.stack.psql("BEGIN; SELECT count(id) FROM adit.changes('%s'); %s; ROLLBACK"
                                 % (since, READS)).splitlines()
        self.assertEqual(n_read, ["1", "0|1"])
        ask("ROLLBACK")
        self.assert_goes_on(since, ["mutual_tls_module_updated fed"])

    def test_in_a_transaction_that_writes(self):
        """A snapshot cannot tell which changes of its own transaction were read."""
        done = self.stack.psql_run("BEGIN; SELECT pg_current_xact_id();"
                                   " SELECT * FROM adit.changes(NULL)", user=self.user)
        self.assertIn("25001", done.stderr)
        self.assertIn("cannot run in a transaction that writes", done.stderr)

    def test_no_snapshot(self):
        for since in "x", "1:2", "2:1:", "":
            with self.subTest(since):
                self.assertIn("22P02", self.stack.psql_run(
                    "SELECT * FROM adit.changes('%s')" % since, user=self.user).stderr)


class Anew(FeedCase):
    def test_snapshot_of_the_future(self):
        snapshot = self.begin()
        number = int(snapshot.split(":")[1])
        self.assert_anew("%d:%d:" % (number, number + 100000))

    def test_purged(self):
        old = self.begin()
        self.change()
        young = self.read(old)[0]
        self.stack.psql("UPDATE adit.audit_event SET at = at - interval '100 days'")
        self.change(enabled=False)
        self.stack.ctl("purge", "--audit-days", "90")
        self.assert_anew(old)
        self.assert_goes_on(young, ["mutual_tls_module_updated fed"])
        # A purge that removes nothing more changes nothing.
        self.stack.ctl("purge", "--audit-days", "90")
        self.assert_goes_on(young, ["mutual_tls_module_updated fed"])

    def test_purged_while_a_transaction_was_open(self):
        """Its event has a lower number than others that the reader has, and the purge removed
        it."""
        ask = self.session()
        ask("BEGIN; INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
            " VALUES ('%s', 'late', true)" % self.account.id)
        self.change()
        since = self.begin()
        ask("COMMIT")
        self.stack.psql("DELETE FROM adit.audit_event WHERE resource = 'late'")
        self.assert_anew(since)

    def test_removed_by_hand(self):
        for sql in ("TRUNCATE adit.audit_event", "DELETE FROM adit.audit_event"):
            with self.subTest(sql):
                old = self.begin()
                self.change()
                young = self.read(old)[0]
                self.stack.psql(sql)
                self.assert_anew(old)
                self.assert_goes_on(young, [])
                self.assert_ok(self.client.delete(MUTUAL_TLS), 204)

    def test_truncated_behind_the_snapshot(self):
        """Its snapshot does not show which events it would remove."""
        ask = self.session()
        ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        since = self.begin()
        self.change()
        self.assertIn("needs READ COMMITTED", ask("TRUNCATE adit.audit_event"))
        ask("COMMIT")
        self.assert_goes_on(since, ["mutual_tls_module_created fed"])

    def test_removed_after_events_of_a_cluster_that_was_ahead(self):
        """A dump brings its events, and how far it removed others."""
        ahead = ("(pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 100000)::text::xid8")
        self.addCleanup(self.stack.psql, "UPDATE adit.audit_pruned SET transaction = NULL")
        for sql in ("TRUNCATE adit.audit_event", "DELETE FROM adit.audit_event"):
            with self.subTest(sql):
                self.stack.psql(
                    "UPDATE adit.audit_pruned SET transaction = NULL; "
                    "INSERT INTO adit.audit_event (event, account_id, resource, transaction)"
                    " VALUES ('x', 'x', 'ahead', %s)" % ahead)
                old = self.begin()
                self.change()
                young = self.read(old)[0]
                self.stack.psql(sql)
                self.assert_anew(old)
                self.assert_goes_on(young, [])
                self.assert_ok(self.client.delete(MUTUAL_TLS), 204)
                self.stack.psql("UPDATE adit.audit_pruned SET transaction = " + ahead)
                old = self.begin()
                self.change()
                self.stack.psql(sql)
                self.assert_anew(old)
                self.assert_ok(self.client.delete(MUTUAL_TLS), 204)

    def test_migrated(self):
        """A migration may change what the events of before mean."""
        ask = self.session()
        old = self.begin()
        ask("BEGIN; INSERT INTO adit.migration (version, name) VALUES (9999, 'later')")
        self.addCleanup(self.stack.psql, "DELETE FROM adit.migration WHERE version = 9999")
        self.change()
        during = self.begin()
        self.assertIn(ask("SELECT pg_current_xact_id()").strip(), during)
        self.assert_goes_on(during, [])
        ask("COMMIT")
        self.assert_anew(old)
        self.assert_anew(during)

    def test_restored(self):
        """pg_restore brings the events of another database, with its transactions."""
        old = self.begin()
        self.change()
        self.stack.psql("CREATE DATABASE restored")
        self.addCleanup(self.stack.psql, "DROP DATABASE restored")
        dump = stack.run(["pg_dump"], env=self.stack.pg_env()).stdout
        self.addCleanup(self.stack.env.__setitem__, "PGDATABASE", self.stack.env["PGDATABASE"])
        self.stack.env["PGDATABASE"] = "restored"
        self.stack.psql(re.sub(r"(?m)^\\(un)?restrict .*$", "", dump))
        self.assertGreater(int(self.stack.psql(
            "SELECT count(*) FROM adit.audit_event WHERE transaction IS NOT NULL")), 0)
        self.assert_anew(old)
        since = self.begin()
        self.stack.psql("UPDATE adit.account SET name = 'restored' WHERE id = '%s'"
                        % self.account.id)
        self.assert_goes_on(since, ["account_updated " + self.account.id])

    def test_events_of_a_cluster_that_was_ahead(self):
        """They are no changes when this cluster reaches their transactions."""
        ahead = self.stack.psql(
            "INSERT INTO adit.audit_event (event, account_id, resource, transaction)"
            " SELECT 'x', 'x', 'ahead', (pg_current_xact_id()::text::bigint + i)::text::xid8"
            " FROM generate_series(1, 20) AS i RETURNING transaction").splitlines()
        self.stack.psql("UPDATE adit.audit_pruned SET transaction = '%s'" % ahead[9])
        self.addCleanup(self.stack.psql, "UPDATE adit.audit_pruned SET transaction = NULL")
        since, seen, enabled = self.begin(), [], True
        while int(since.split(":")[0]) <= int(ahead[-1]) + 5:
            self.change(enabled)
            enabled = not enabled
            snapshot, may_go_on, events = self.read(since)
            seen += events
            self.assertTrue(may_go_on or int(since.split(":")[0]) <= int(ahead[9]))
            since = snapshot
        self.assertIn("mutual_tls_module_updated fed", seen)
        self.assertNotIn("x ahead", seen)

