# SPDX-License-Identifier: MIT
"""filter in lists, over HTTP: what it selects, its pages, and its limit.  tests/unit has more
expressions; the language itself has tests of its own."""
import concurrent.futures
import json
import urllib.parse

from adit import samples
from adit.case import Case
from adit.large import PAGE_ITEMS_MAX

CREDENTIALS = "/ssh_credentials"
KEYS = [(text, fingerprint) for name, text, kind, fingerprint in samples.accepted_keys()
        if kind == "ssh-ed25519"]

# The table of each list, under a filter that nothing meets.
TABLES = {
    CREDENTIALS + "?filter=obj.description.contains(%22none%22)": "ssh_credential",
    "/oauth_modules?filter=%22none%22%20in%20obj.teams": "oauth_module",
    "/mutual_tls_modules?filter=%22none%22%20in%20obj.certificate_authority_ids":
        "mutual_tls_module",
    "/audit_events?filter=obj.event.contains(%22none%22)": "audit_event",
}

# Each is true for the credential whose description it is, and for no other.
STRANGE = [
    "'; DROP TABLE adit.ssh_credential; --", "' OR '1'='1", '" || true || "', "\\", "\\'", "$1",
    "$1::text", "%", "_", "E'\\x41'", "{a,b}", "NULL", "null", "/* x */", "\u00e9", "e\u0301",
    "\U0001f511", "\u2028", "\ufeff", "a\tb\nc", "%s%d", "&filter=x", "+ +", "\x7f",
]


def quoted(text):
    """The text as a literal of the language."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


class FilterLists(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.account = cls.stack.account()
        cls.client = cls.stack.client(cls.account.admin.key)
        cls.made = []

    def create(self, client=None, **members):
        return self.assert_ok((client or self.client).post(
            CREDENTIALS, samples.credential(**members)), 201)

    def find(self, filter, client=None, limit=None):
        """Follows the pages of a filter.  Returns the credentials."""
        query = {"filter": filter}
        if limit:
            query["limit"] = limit
        target = CREDENTIALS + "?" + urllib.parse.urlencode(query)
        found = []
        while target:
            page = self.assert_ok((client or self.client).get(target))
            found += page["ssh_credentials"]
            target = page["next_page_uri"]
            if target:
                self.assertTrue(page["ssh_credentials"], "an empty page has a next_page_uri")
                parts = urllib.parse.urlsplit(target)
                sent = urllib.parse.parse_qs(parts.query)
                self.assertEqual(sent["filter"], [filter])
                self.assertEqual(sent.get("limit"), [str(limit)] if limit else None)
                target = parts.path + "?" + parts.query
        return found

    def assert_found(self, filter, wanted, client=None):
        """Checks the identifiers, newest first."""
        self.assertEqual([one["id"] for one in self.find(filter, client)],
                         sorted(wanted, reverse=True), filter)

    def test_each_member(self):
        client = self.stack.client(self.stack.account().admin.key)
        one = self.create(client, description="one", metadata="rack 7", acl=["bind:a", "bind:*.b"])
        other = self.create(client, public_key=KEYS[0][0])
        kind = self.stack.psql("SELECT key_type FROM adit.ssh_credential WHERE id = '%s'"
                               % one["id"])
        both, first, second = [one["id"], other["id"]], [one["id"]], [other["id"]]
        for filter, wanted in (
                ('obj.id == "%s"' % one["id"], first),
                ('obj.id > "%s"' % one["id"],
                 second if other["id"] > one["id"] else []),
                ('obj.created_at == timestamp("%s") && obj.id == "%s"'
                 % (one["created_at"], one["id"]), first),
                ('obj.created_at >= timestamp(time.now).subtract("1h")', both),
                ('obj.created_at < timestamp(time.now).subtract("1h")', []),
                ('obj.created_at <= timestamp("%s") || false' % other["created_at"], both),
                ('obj.description == "one"', first),
                ("obj.description == ''", second),
                ("obj.description == null", second),
                ('obj.metadata.contains("7")', first),
                ('obj.owner_id == "%s"' % one["owner_id"], both),
                ('obj.owner_id in ["x", "%s"]' % one["owner_id"], both),
                ('"bind:*.b" in obj.acl', first),
                ("obj.acl == null", second),
                ("size(obj.acl) == 2", first),
                ('obj.fingerprint == "%s"' % samples.ED25519_FINGERPRINT, first),
                ('obj.fingerprint == "%s"' % KEYS[0][1], second),
                ('obj.key_type == "%s"' % kind, both),
                ('obj.key_type.startsWith("ecdsa")', []),
                ('!(obj.description == "one") && obj.created_at > timestamp("2001-01-01T00:00:00Z")',
                 second),
                ("", both)):
            with self.subTest(filter):
                self.assert_found(filter, wanted, client)

    def test_strange_text(self):
        client = self.stack.client(self.stack.account().admin.key)
        made = {text: self.create(client, description=text)["id"] for text in STRANGE}
        for text in STRANGE:
            with self.subTest(text):
                literal = quoted(text)
                self.assert_found("obj.description == " + literal, [made[text]], client)
                self.assert_found("obj.description in [%s]" % literal, [made[text]], client)
                self.assert_found("obj.description.startsWith(%s) && obj.description.endsWith(%s)"
                                  " && size(obj.description) == %d" % (literal, literal, len(text)),
                                  [made[text]], client)
                self.assert_found("obj.metadata.contains(%s)" % literal, [], client)
                self.assertEqual([one["description"] for one in
                                  self.find("obj.description == " + literal, client)], [text])
        self.assertEqual(len(self.find("", client)), len(STRANGE))

    def test_pages(self):
        client = self.stack.client(self.stack.account().admin.key)
        made = [self.create(client, description="%d & even?" % (i % 2), metadata="/" * i)["id"]
                for i in range(23)]
        for limit in (1, 2, 6, 11, 12, 13, PAGE_ITEMS_MAX, None):
            with self.subTest(limit):
                found = self.find('obj.description == "1 & even?"', client, limit)
                self.assertEqual([one["id"] for one in found],
                                 sorted(made[1::2], reverse=True))
        # The page that ends the list holds all that is left.
        page = self.assert_ok(client.get(
            CREDENTIALS + "?limit=11&filter=obj.description%20==%20%221%20%26%20even?%22"))
        self.assertEqual(len(page["ssh_credentials"]), 11)
        self.assertIsNone(page["next_page_uri"])

    def test_own_account_only(self):
        theirs = self.create(self.stack.client(self.stack.account().admin.key), description="x")
        mine = self.create(description="x")
        for filter in ("true", 'obj.description == "x"', 'obj.id == "%s"' % theirs["id"],
                       'obj.owner_id == "%s"' % theirs["owner_id"],
                       'obj.fingerprint == "%s"' % samples.ED25519_FINGERPRINT,
                       'obj.created_at > timestamp("2001-01-01T00:00:00Z")'):
            with self.subTest(filter):
                self.assertNotIn(theirs["id"], [one["id"] for one in self.find(filter)])
        self.assert_found('obj.id == "%s"' % mine["id"], [mine["id"]],
                          self.stack.client(self.account.read_only_key))

    def test_refused(self):
        for filter, says in (
                ("obj.nothing == 1", "created_at"), ("obj.id == 1", "string"), ("obj.id", ""),
                ("obj.id == \"\\x00\"", ""), ("obj.id == '", ""), ("1", "")):
            with self.subTest(filter):
                answer = self.client.get(CREDENTIALS + "?"
                                         + urllib.parse.urlencode({"filter": filter}))
                error = self.assert_error(answer, 250, says=says)
                self.assertRegex(error["details"]["offset"], "^[0-9]+$")
        self.assert_error(self.client.get(CREDENTIALS + "?filter=true&filter=true"), 232)

    def test_credentials_whose_identifiers_tell_another_time(self):
        """Rows that did not come from Adit."""
        account = self.stack.account()
        client = self.stack.client(account.admin.key)
        self.create(client)
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
            " public_key, created_at) SELECT '%s', 'sshcr_' || repeat(digit, 27), '%s',"
            " 'ssh-ed25519', '%s', 'k', created FROM (VALUES ('0', timestamptz '2031-05-05Z'),"
            " ('z', '2001-05-05Z'), ('A', '2001-05-05Z')) AS v (digit, created)"
            % (account.id, account.admin.id, samples.ED25519_FINGERPRINT))
        for filter, wanted in (
                ('obj.created_at == timestamp("2031-05-05T00:00:00Z")', "0"),
                ('obj.created_at > timestamp("2030-05-05T00:00:00Z")', "0"),
                ('obj.created_at < timestamp("2002-05-05T00:00:00Z")', "zA"),
                ('obj.created_at < timestamp("2002-05-05T00:00:00Z")'
                 ' && obj.created_at > timestamp("2000-05-05T00:00:00Z")', "zA")):
            with self.subTest(filter):
                self.assert_found(filter, ["sshcr_" + digit * 27 for digit in wanted], client)
        self.assertEqual(len(self.find('obj.created_at > timestamp("2000-01-01T00:00:00Z")',
                                       client)), 4)

    def make_slow(self, account):
        """A policy makes each row of the account take 0.5 s.  Opens the sessions first, since that
        counts as a part of the 4 s that a request may take."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for answer in pool.map(self.stack.client(account.admin.key).get,
                                   [next(iter(TABLES)) + "&limit=1"] * 8):
                self.assert_ok(answer)
        for table in TABLES.values():
            self.addCleanup(self.stack.psql, "ALTER TABLE adit.%s DISABLE ROW LEVEL SECURITY;"
                            "DROP POLICY slow ON adit.%s" % (table, table))
            self.stack.psql("CREATE POLICY slow ON adit.%s USING (account_id <> '%s'"
                            " OR pg_sleep(0.5) IS NOT NULL);"
                            "ALTER TABLE adit.%s ENABLE ROW LEVEL SECURITY" % (
                                table, account.id, table))

    def test_too_slow(self):
        account = self.stack.account()
        client = self.stack.client(account.admin.key)
        for i in range(10):
            self.create(client, description=str(i))
            self.assert_ok(client.put("/edges/https/e/routes/%d/oauth" % i, {}))
            self.assert_ok(client.put("/edges/tls/%d/mutual_tls" % i, {}))
        self.make_slow(account)
        # Two at a time, since a worker gives no more filters 3 s.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = dict(zip(TABLES, pool.map(
                lambda target: client.get(target + "&limit=1"), TABLES)))
        for target, answer in answers.items():
            with self.subTest(target):
                self.assert_error(answer, 9077, says="Narrow the filter")
                self.assertTrue(answer.header("Retry-After"))
        for word in "fingerprint", "created_at":
            self.assertIn(word, answers[next(iter(TABLES))].json["msg"])
        self.assertEqual("0", self.stack.psql(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = 'adit'"
            " AND wait_event = 'PgSleep'"))

    def test_slow_filters_leave_lanes(self):
        """Slow filters of one account do not keep another's requests waiting until they fail."""
        account = self.stack.account()
        client = self.stack.client(account.admin.key)
        for i in range(10):
            self.create(client, description=str(i))
        self.make_slow(account)
        slow = next(iter(TABLES)) + "&limit=1"
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(client.get, slow) for _ in range(8)]
            for i in range(10):
                self.assert_ok(self.admin.put("/edges/tls/beside/mutual_tls", {
                    "certificate_authority_ids": ["ca-%d" % i]}))
            seen = {answer.result().code for answer in answers}
        self.assertEqual(seen, {9063, 9077})
