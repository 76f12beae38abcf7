# SPDX-License-Identifier: MIT
"""aditctl purge on large tables: the rows that it deletes, and those that it keeps."""
import re

from adit.case import Case, until

# Fills thousands of pages, so that the purge needs many steps.
N_KEYS = 40000


class PurgeCase(Case):
    stack_name = "aditctl"

    def setUp(self):
        self.account = self.stack.account("purged")

    def count(self, table, where="true"):
        return int(self.stack.psql("SELECT count(*) FROM adit.%s WHERE account_id = '%s' AND %s"
                                   % (table, self.account.id, where)))


    def delay_deletions(self, table, condition):
        """Each row of the account that is deleted, and meets the condition, takes the server 4 s: more
        than a request has."""
        self.stack.psql("CREATE FUNCTION public.delay() RETURNS trigger LANGUAGE plpgsql AS"
                        " $$BEGIN PERFORM pg_catalog.pg_sleep(4); RETURN OLD; END$$;"
                        " CREATE TRIGGER delay BEFORE DELETE ON adit.%s FOR EACH ROW"
                        " WHEN (OLD.account_id = '%s' AND %s) EXECUTE FUNCTION public.delay()"
                        % (table, self.account.id, condition))
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.delay() CASCADE")


class Keys(PurgeCase):
    def setUp(self):
        super().setUp()
        if not self.stack.citus:
            # Autovacuum would read the table, too, and this session reports what it has read.
            self.stack.psql("ALTER TABLE adit.idempotency_key SET (autovacuum_enabled = off)")
            self.addCleanup(self.stack.psql,
                            "ALTER TABLE adit.idempotency_key RESET (autovacuum_enabled)")
        self.stack.psql(
            "INSERT INTO adit.idempotency_key (account_id, principal_id, key, request_digest,"
            " answer, created_at)"
            " SELECT '%s', '%s', 'k' || i, sha256(''), to_jsonb(repeat('x', 500)), now() - CASE WHEN i %% 10 = 0 THEN '23 hours'::interval"
            " ELSE '25 hours' END FROM generate_series(1, %d) AS i;"
            " ANALYZE adit.idempotency_key; SELECT pg_stat_force_next_flush()"
            % (self.account.id, self.account.admin.id, N_KEYS))
        self.addCleanup(self.stack.psql, "DELETE FROM adit.idempotency_key WHERE account_id = '%s'"
                        % self.account.id)

    def blocks(self):
        """The number of the table's blocks that sessions have read so far; on nodes, 0."""
        return int(self.stack.psql(
            "SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables"
            " WHERE relid = 'adit.idempotency_key'::regclass"))

    def test_all_that_are_old(self):
        pages = int(self.stack.psql("SELECT pg_relation_size('adit.idempotency_key') / 8192"))
        if not self.stack.citus:  # there the shards have the pages
            self.assertGreater(pages, 2000)
        before = self.blocks()
        n = N_KEYS * 9 // 10
        self.assertRegex(self.stack.ctl("purge"), "^%d idempotency keys removed$" % n)
        self.assertEqual(self.count("idempotency_key"), N_KEYS // 10)
        self.assertEqual(self.count("idempotency_key", "created_at < now() - interval '1 day'"), 0)
        if not self.stack.citus:
            # Sessions report their statistics when they end.
            looked = until(lambda: self.blocks() - before - n, "the statistics count the purge")
            # Each deleted row costs one read.  Each page is scanned once.
            self.assertLess(looked, n + 4 * pages)
        self.assertEqual(self.stack.ctl("purge"), "0 idempotency keys removed")

    def test_step_that_takes_longer_than_a_request(self):
        if self.stack.citus:
            self.skipTest("nodes have no triggers of others")
        self.delay_deletions("idempotency_key", "OLD.key = 'k1'")
        self.assertRegex(self.stack.ctl("purge"), "^%d idempotency keys" % (N_KEYS * 9 // 10))


class Events(PurgeCase):
    def setUp(self):
        super().setUp()
        # Older than the events of other tests, because events are numbered in order.
        self.stack.psql("UPDATE adit.audit_event SET at = timezone('UTC', timezone('UTC', at)"
                        " - interval '100 days')")
        self.account.person("bot")

    def test_default_keeps_all(self):
        before = self.count("audit_event")
        self.assertGreater(before, 2)
        self.assertNotIn("event", self.stack.ctl("purge"))
        self.assertEqual(self.count("audit_event"), before)

    def test_days(self):
        # Where several nodes number events, the clock must go on in between.
        number, column = (("adit.new_event_number() + 512 * i,", "id,") if self.stack.citus
                          else ("", ""))
        self.stack.psql("INSERT INTO adit.audit_event (%s at, event, account_id, resource)"
                        " SELECT %s now() - interval '50 days', 'x', '%s', 'x'"
                        " FROM generate_series(1, 12000) AS i" % (column, number, self.account.id))
        self.account.person("bot")
        old = self.count("audit_event", "at < now() - interval '99 days'")
        young = self.count("audit_event", "at > now() - interval '1 day'")
        self.assertGreater(old, 2)
        self.assertGreater(young, 0)
        self.stack.ctl("purge", "--audit-days", "60")
        self.assertEqual(self.count("audit_event", "at < now() - interval '99 days'"), 0)
        self.assertEqual(self.count("audit_event", "event = 'x'"), 12000)
        young = self.count("audit_event", "at > now() - interval '1 day'")
        said = self.stack.ctl("purge", "--audit-days", "40")
        self.assertTrue(re.search("^12000 events removed from the record of changes$", said, re.M),
                        said)
        self.assertEqual((self.count("audit_event"), young > 0), (young, True))

    def test_young_events_in_front_of_old_ones(self):
        """While a clock is ahead, or behind, numbers do not ascend with time."""
        number, column = (("adit.new_event_number() + 512 * i,", "id,") if self.stack.citus
                          else ("", ""))
        ages = {"young": (0, 5000), "old": (50, 2001)}
        for name, (days, n) in ages.items():
            self.stack.psql("INSERT INTO adit.audit_event (%s at, event, account_id, resource)"
                            " SELECT %s now() - interval '%d days', '%s', '%s', 'x'"
                            " FROM generate_series(1, %d) AS i"
                            % (column, number, days, name, self.account.id, n))
        self.stack.ctl("purge", "--audit-days", "40")
        self.assertEqual([self.count("audit_event", "event = '%s'" % name) for name in ages],
                         [5000, 0])

    def test_step_that_takes_longer_than_a_request(self):
        if self.stack.citus:
            self.skipTest("nodes have no triggers of others")
        self.stack.psql("INSERT INTO adit.audit_event (at, event, account_id, resource)"
                        " VALUES (now() - interval '100 days', 'slow', '%s', 'x')" % self.account.id)
        self.delay_deletions("audit_event", "OLD.event = 'slow'")
        self.stack.ctl("purge", "--audit-days", "60")
        self.assertEqual(self.count("audit_event", "event = 'slow'"), 0)

    def test_not_by_the_responder(self):
        conf = self.stack.folder + "/responder.conf"
        text = self.stack.read_conf()
        with open(conf, "w", encoding="utf-8") as file:
            file.write(re.sub(r"(?m)^admin_conninfo *=.*\n", "", text))
        done = self.stack.ctl_run("purge", "--audit-days", "1", conf=conf)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("42501", done.stderr)
        self.assertIn("connect as the owner of the tables, or set admin_conninfo", done.stderr)
        self.assertGreater(self.count("audit_event"), 0)

    def test_wrong_numbers(self):
        for value in "0", "-1", "x", "1d", "", "36501", "99999999999999999999":
            with self.subTest(value):
                self.assertEqual(
                    self.stack.ctl_run("purge", "--audit-days=" + value).returncode, 2)
