# SPDX-License-Identifier: MIT
"""Audit.

Every change has one event, and every event belongs to a change.  The events of a resource form a
chain from nothing to the present row.  Each event begins with the state that the event
before it left."""
import json
import random
import signal
import subprocess
import time

import ledger
from adit.case import until
from adit.programs import signal_all
from promise import PromiseCase, scaled

TABLES = ("ssh_credential", "oauth_module", "mutual_tls_module")


class Chain(PromiseCase):
    def change_by_hand(self, seconds, least):
        """Kills workers and sessions at random, for this long and at least so many.  Returns how
        many."""
        deadline, n_killed = time.monotonic() + seconds, 0
        while time.monotonic() < deadline or n_killed < least:
            time.sleep(random.uniform(0.05, 0.3))
            workers = self.stack.responder()[1]
            if workers:
                signal_all([random.choice(workers)], signal.SIGKILL)
            n_killed += 1 + int(self.stack.psql(
                "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity"
                " WHERE usename = 'adit' ORDER BY random() LIMIT 1) AS them"))
        return n_killed

    def events(self, run):
        """The events of one run of writers, oldest first."""
        text = self.stack.psql(
            "SELECT coalesce(json_agg(e ORDER BY e.id), '[]') FROM adit.audit_event AS e WHERE"
            " coalesce(after, before) ->> 'edge_id' LIKE '%s%%' OR"
            " coalesce(after, before) ->> 'description' LIKE '%s%%'" % (run, run))
        return json.loads(text)

    def rows(self):
        """The stored rows by table and resource, in the form that events have."""
        found = {}
        for table in TABLES:
            for row in json.loads(self.stack.psql(
                    "SELECT coalesce(json_agg("
                    "to_jsonb(t) - '{client_secret_sealed,incarnation}'::text[]), '[]')"
                    " FROM adit.%s AS t" % table)):
                name = row.get("id") or "/".join(filter(None, (row["edge_id"],
                                                               row.get("route_id"))))
                found[table, name] = row
        return found

    def test_every_change_has_one_event(self):
        """Clients write 200 times a second while workers and database sessions are killed"""
        n_workers = self.stack.n_workers()
        self.addCleanup(self.stack.set_notify, "DEFAULT")
        self.stack.set_notify("on")
        listener = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        listener.stdin.write("LISTEN adit_change;\n\\echo listening\n")
        listener.stdin.flush()
        self.assertEqual(listener.stdout.readline(), "listening\n")
        with ledger.Writers(self.stack) as writers:
            n_killed = self.change_by_hand(scaled(4, 30), scaled(10, 80))
            until(lambda: len(self.stack.responder()[1]) == n_workers, "all workers are back")
        heard = [json.loads(line[line.index("{"):line.rindex("}") + 1])
                 for line in listener.communicate("SELECT 1;\n", timeout=60)[0].splitlines()
                 if '"adit_change"' in line]
        self.judge(writers, n_killed, heard)

    def judge(self, writers, n_killed, heard):
        events = self.events(writers.run)
        rows = self.rows()
        last, broken, unknown = {}, [], []
        for event in events:
            table, _, _ = event["event"].rpartition("_")
            key = (table, event["resource"])
            if event["before"] != last.get(key):
                broken.append(event)
            last[key] = event["after"]
            if not (event["principal_id"] == self.home.admin.id and event["api_key_id"]
                    and event["operation_id"]):
                unknown.append(event)
        differs = [key for key, row in last.items() if rows.get(key) != row]
        named = {event["resource"] for event in events}
        n_heard = sum(event["resource"] in named for event in heard)
        self.figure("workers and sessions killed", n_killed, at_least=scaled(10, 80))
        self.figure("events", len(events), at_least=writers.ledger.n_acknowledged // 2)
        self.figure("events that do not continue the chain", len(broken), exactly=0,
                    why=broken[:2])
        self.figure("resources that differ from their last event", len(differs), exactly=0,
                    why=differs[:3])
        self.figure("events without a principal or key or operation", len(unknown), exactly=0,
                    why=unknown[:2])
        self.figure("notifications minus events", n_heard - len(events), exactly=0)
        shown = json.dumps(events)
        self.figure("secrets in events", shown.count("secret w") + shown.count("secret_sealed"),
                    exactly=0)


class AppendOnly(PromiseCase):
    def test_append_only(self):
        """The responder's role tries to write, change, empty and read the record, and to make
        changes without a record"""
        self.assert_ok(self.admin.put("/edges/tls/recorded/mutual_tls", {}))
        before = self.stack.psql("SELECT count(*) FROM adit.audit_event")
        tries = ["INSERT INTO adit.audit_event (event, account_id, resource) VALUES ('a', 'b', 'c')",
                 "UPDATE adit.audit_event SET event = 'x'", "DELETE FROM adit.audit_event",
                 "TRUNCATE adit.audit_event", "SELECT * FROM adit.audit_event",
                 "SELECT * FROM adit.audit", "DROP TABLE adit.audit_event",
                 "ALTER TABLE adit.audit_event DISABLE TRIGGER ALL",
                 "CREATE OR REPLACE FUNCTION adit.record_account_created() RETURNS trigger"
                 " LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
                 "DROP FUNCTION adit.record_account_created() CASCADE",
                 "DROP FUNCTION adit.record_ssh_credential_created() CASCADE",
                 "SELECT adit.make_recorder('ssh_credential', '{}')",
                 "SET session_replication_role = replica", "SET ROLE postgres"]
        for trigger in "record_change", "record_update", "record_deletion", "record_truncation":
            tries += ["ALTER TABLE adit.%s DISABLE TRIGGER %s" % (table, trigger)
                      for table in TABLES]
            tries += ["DROP TRIGGER %s ON adit.%s" % (trigger, table) for table in TABLES]
        tries += ["TRUNCATE adit.%s" % table for table in TABLES]
        refused = [sql for sql in tries if "42501" in self.stack.psql_run(sql, user="adit").stderr]
        self.figure("statements refused", len(refused), exactly=len(tries),
                    why=sorted(set(tries) - set(refused)))
        self.figure("events added or removed",
                    int(self.stack.psql("SELECT count(*) FROM adit.audit_event")) - int(before),
                    exactly=0)
