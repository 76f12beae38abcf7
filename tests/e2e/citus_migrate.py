# SPDX-License-Identifier: MIT
"""aditctl migrate on three nodes of Citus, to a made-up later schema, while requests run, behind
locks, and with a failure in the middle."""
import subprocess

import citus_nodes
from citus_nodes import CREDENTIALS, Load

from adit import samples
from adit.case import DEADLINE_S, until
from adit.newer import NAME, NEWER_SQL, VERSION, latest, make_aditctl
from adit.stack import CLEAN_ENV, make_folder, run

SHAPE = """
SELECT c.relname || ' ' || a.attname FROM pg_class AS c JOIN pg_attribute AS a ON attrelid = c.oid
WHERE relnamespace = 'adit'::regnamespace AND attnum > 0 UNION ALL
SELECT conname FROM pg_constraint WHERE connamespace = 'adit'::regnamespace UNION ALL
SELECT proname FROM pg_proc WHERE pronamespace = 'adit'::regnamespace UNION ALL
SELECT tgrelid::regclass || ' ' || tgname || ' ' || tgargs FROM pg_trigger ORDER BY 1
"""


class Migrate(citus_nodes.Nodes):
    stack_name = "nodes_migrate"

    def shape(self):
        return [self.citus.psql(node, SHAPE) for node in self.citus.nodes]

    def version(self, node=None):
        return int(self.citus.psql(node or self.citus.coordinator,
                                   "SELECT max(version) FROM adit.migration"))

    def on_shards(self, sql):
        """Runs SQL with %s for each shard of the credentials.  Returns the results."""
        return self.citus.psql(self.citus.coordinator, (
            "SELECT string_agg(DISTINCT result, ',') FROM run_command_on_shards("
            "'adit.ssh_credential', $$ %s $$)" % sql))

    def assert_all_there(self, load):
        for account in self.accounts:
            self.assertEqual(load.wrong, [])
            ids = {item["id"] for item in self.all_of(self.of(account))}
            self.assertLessEqual(set(load.made[account.id]), ids)


class Newer(Migrate):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = make_folder()
        cls.addClassCleanup(run, ["rm", "-r", cls.folder])
        cls.newer = make_aditctl(cls.folder)
        cls.stack.ctl("migrate")

    def migrate(self, *arguments):
        return run([self.newer, "-c", self.stack.conf_path, "migrate", *arguments], check=False)

    def test_1_a_failure_in_the_middle(self):
        """A row of one worker breaks the new constraint.  Nothing is changed on any node."""
        account = self.accounts[0]
        long = self.assert_ok(self.of(account).post(
            CREDENTIALS, samples.credential(description="x")), 201)["id"]
        sql = NEWER_SQL.replace("SET note = id", "SET note = repeat(id, CASE id WHEN '%s' THEN 99"
                                " ELSE 1 END)" % long)
        folder = make_folder()
        self.addCleanup(run, ["rm", "-r", folder])
        before = self.shape()
        done = run([make_aditctl(folder, sql), "-c", self.stack.conf_path, "migrate"],
                   check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("23514", done.stderr)
        self.assertEqual(self.shape(), before)
        self.assertEqual(self.version(), latest())
        self.make(self.of(account))

    def test_2_a_node_that_is_down(self):
        before = self.shape()
        node = self.workers[1]
        node.kill()
        try:
            done = self.migrate()
        finally:
            node.start()
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r"127\.0\.0\.1:%d" % node.port)
        self.assertEqual(self.shape(), before)

    def test_2_an_end_in_the_middle(self):
        """A node, or aditctl itself, ends when all tables are changed, and before the commit."""
        folder = make_folder()
        self.addCleanup(run, ["rm", "-r", folder])
        program = make_aditctl(folder, NEWER_SQL + "SELECT pg_sleep(8);")
        before = self.shape()
        for node in (self.workers[0], None):
            with self.subTest("aditctl" if node is None else "node"):
                migrate = subprocess.Popen([program, "-c", self.stack.conf_path, "migrate"],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                           text=True, env=CLEAN_ENV)
                until(self.n_sleeping, "the tables are changed")
                if node:
                    node.kill()
                    node.start()
                else:
                    migrate.kill()
                _, complained = migrate.communicate(timeout=DEADLINE_S)
                self.assertNotEqual(migrate.returncode, 0, complained)
                until(lambda: not self.n_sleeping(), "the transaction ends")
                self.assertEqual(self.shape(), before)
                for account in self.accounts:
                    until(lambda: self.of(account).post(
                        CREDENTIALS, samples.credential()).status == 201, "writes are back")

    def n_sleeping(self):
        return int(self.citus.psql(self.citus.coordinator, (
            "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND wait_event = 'PgSleep'")))

    def test_3_locks_on_a_node(self):
        """Another session's lock is on a worker, which only the worker's server knows."""
        node, account = self.workers[0], self.accounts[0]
        holder = subprocess.Popen(
            [node.programs + "/psql", "-X", "-q", "-A", "-t", "-h", node.run_folder, "-p",
             str(node.port), "-U", "postgres", "-d", "adit"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=dict(CLEAN_ENV, PGAPPNAME="pg_dump"))
        self.addCleanup(holder.wait)
        self.addCleanup(holder.stdin.close)
        self.addCleanup(holder.stdout.close)
        shard = self.citus.psql(node, (
            "SET citus.show_shards_for_app_name_prefixes = '*';"
            "SELECT 'adit.ssh_credential_' || get_shard_id_for_distribution_column("
            "'adit.ssh_credential', '%s')" % account.id))
        holder.stdin.write("BEGIN; SELECT FROM %s LIMIT 0;\n\\echo held\n" % shard)
        holder.stdin.flush()
        self.assertEqual(holder.stdout.readline(), "held\n")
        done = self.migrate("--wait", "1s")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"nothing was changed: another session held a lock for too"
                         r" long, probably process \d+ \(pg_dump\) of postgres, in a transaction"
                         r" since \d\d:\d\d:\d\d UTC, on 127\.0\.0\.1:%d" % node.port)
        with Load(self, self.accounts) as load:
            waiting = subprocess.Popen([self.newer, "-c", self.stack.conf_path, "migrate"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=CLEAN_ENV)
            try:
                self.assertIn("waiting for a lock", waiting.stderr.readline())
                n = len(load.made[account.id])
                until(lambda: len(load.made[account.id]) > n + 50, "requests")
                self.assertIsNone(waiting.poll())
                meanwhile = [load.statuses(one) for one in self.accounts]
                holder.stdin.close()
                said, complained = waiting.communicate(timeout=DEADLINE_S)
            finally:
                waiting.kill()
                waiting.wait()
                waiting.stdout.close()
                waiting.stderr.close()
        self.assertEqual(meanwhile, [{200, 201}] * len(self.accounts))
        self.assertEqual(waiting.returncode, 0, complained)
        self.assertIn("applied " + NAME, said)
        for one in self.accounts:
            self.assertLessEqual(load.statuses(one), {200, 201, 503})
        self.assert_all_there(load)

    def test_4_what_it_made(self):
        self.migrate()
        for node in self.citus.nodes:
            self.assertEqual(self.version(node), VERSION)
        self.assertEqual(self.on_shards(
            "SELECT count(*) FROM pg_index WHERE indrelid = '%s'::regclass"
            " AND pg_get_indexdef(indexrelid) ~ 'note'"), "1")
        self.assertEqual(self.on_shards(
            "SELECT count(*) FROM pg_constraint WHERE conrelid = '%s'::regclass"
            " AND conname ~ 'note_length'"), "1")
        self.assertEqual(self.citus.psql(
            self.citus.coordinator, "SELECT bool_and(note = CASE description WHEN '' THEN 'none'"
            " ELSE id END) FROM adit.ssh_credential"), "t")
        # The operator's change of the rows is on the record, on each node.
        self.assertRegex(self.citus.psql(
            self.citus.coordinator, "SELECT DISTINCT event, changed, operator IS NOT NULL"
            " FROM adit.audit_event WHERE 'note' = ANY (changed)"),
            r"^ssh_credential_updated\|\{note\}\|t$")
        # Nobody may change the new column but by a right that grants.sql gives.
        account = self.accounts[0]
        done = self.citus.psql_run(
            self.citus.coordinator, "UPDATE adit.ssh_credential SET note = 'x' WHERE account_id ="
            " '%s'" % account.id, user="adit")
        self.assertIn("42501", done.stderr)
        # A change of the responder's is recorded with the new column.
        client = self.of(account)
        one = self.make(client)
        self.assert_ok(client.delete(CREDENTIALS + "/" + one), 204)
        self.assertEqual(self.citus.psql(
            self.citus.coordinator, "SELECT before ->> 'note' FROM adit.audit_event"
            " WHERE account_id = '%s' AND resource = '%s' AND before IS NOT NULL"
            % (account.id, one)), "none")
        self.assertEqual(self.citus.psql(self.citus.coordinator, (
            "SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_class AS c"
            " LEFT JOIN pg_dist_partition AS d ON d.logicalrelid = c.oid"
            " WHERE c.relnamespace = 'adit'::regnamespace AND c.relkind = 'r'"
            " AND d.logicalrelid IS NULL")), "audit_pruned")
        # Nothing is left to do.
        before = self.shape()
        self.assertNotIn("applied", self.migrate().stdout)
        self.assertEqual(self.citus.distribute(), "")
        self.assertEqual(self.shape(), before)
