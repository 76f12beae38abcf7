# SPDX-License-Identifier: MIT
"""The language of filter over HTTP: what an error says, and values at the edges.  test_filter_lists
has the lists, and test_filter_oracle compares the language with CEL's own implementations."""
import urllib.parse

from adit import samples
from adit.case import Case
from adit.reference import openapi

CREDENTIALS = "/ssh_credentials"
MEMBERS = ", ".join(openapi.filtered("ssh_credential"))


class Filter(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.client = cls.stack.client(cls.stack.account().admin.key)

    def ask(self, filter_):
        return self.client.get(CREDENTIALS + "?filter=" + urllib.parse.quote(filter_))

    def found(self, filter_):
        """The descriptions of what is listed."""
        return sorted(row["description"]
                      for row in self.assert_ok(self.ask(filter_))["ssh_credentials"])

    def assert_refused(self, filter_, offset, message):
        """The message is the whole one, without the place that it begins with."""
        error = self.assert_error(self.ask(filter_), 250)
        self.assertEqual(error["msg"], "filter, byte %d: %s." % (offset, message))
        self.assertEqual(error["details"], {"operation_id": error["details"]["operation_id"],
                                            "offset": str(offset)})

    def test_messages(self):
        """One of each kind; tests/cases/filter.cases has them all."""
        operand = "an operand: obj.<member>, a literal, a function or '('"
        self.each([(row[0], *row) for row in (
            ("obj.id ==", 9, "expected %s, but the filter ends" % operand),
            ("(obj.id == null", 15, "expected ')', but the filter ends"),
            ("obj.id = 'a'", 7, "expected '==', found '='"),
            ("obj.owner == 'a'", 4, "the member obj.owner is unknown; obj has: " + MEMBERS),
            ("owner_id == 'a'", 0,
             "the name owner_id is unknown; expected obj.<member> or time.now"),
            ("obj.id == 5", 10, "expected a string as at the left, found an integer"),
            ("obj.acl == '*'", 11, "expected a list as at the left, found a string; write \"...\" in "
             "the list"),
            ("obj.created_at > '2026-01-01T00:00:00Z'", 17,
             "expected a time as at the left, found a string; write timestamp(\"...\")"),
            ("obj.created_at > timestamp('2026-01-01')", 27,
             "expected a time such as \"2026-01-31T23:59:59Z\" (RFC 3339)"),
            ("obj.created_at > time.now.subtract('1 day')", 35,
             "expected a duration such as \"7d\" or \"1h30m\" (d, h, m, s)"),
            ("obj.acl.exists(rule, rule == '*')", 8, "the macro exists() is not supported"),
            ("obj.id.matches('a')", 7, "the function matches() is not supported"),
            ("obj.id == 'a' ? true : false", 14,
             "the conditional operator '? :' is not supported"),
            ("obj.description == \"\u00e4\u201c", 25, "expected \" at the end of the string"),
            ("obj.description == \u201ca\u201d", 19,
             "the character \u201c is only accepted inside a string"),
            ("obj.description == '\\u0000'", 20, "a string cannot hold the character U+0000"),
            ("obj.description == '%s'" % ("a" * 4096), 4096,
             "the filter is longer than 4096 bytes"),
        )], self.assert_refused)

    def test_refused_before_the_filter(self):
        """NUL and bytes that are not UTF-8 end with the query string."""
        for raw in ("obj.id%20==%20%22%00%22", "obj.id%20==%20%22%ff%22"):
            self.assert_error(self.client.get(CREDENTIALS + "?filter=" + raw), 9010)

    def test_order_of_checks(self):
        """The key comes before the filter, and the filter before the list."""
        target = CREDENTIALS + "?filter=%3F"
        self.assert_error(self.stack.client(samples.well_formed_key()).get(target), 203)
        self.assert_error(self.client.get(target + "&limit=0"), 233)
        self.assert_error(self.client.get(target + "&filter="), 232, says="filter")
        self.assert_error(self.client.get(target), 250)

    def test_values(self):
        """Strings are compared by code point, not in UTF-16 and not as a language sorts them."""
        texts = ["", "A", "Z", "a", "\u00e9", "\ufffd", "\U0001f600", "\U0010ffff"]
        for text in texts:
            self.assert_ok(self.client.post(CREDENTIALS, samples.credential(description=text)), 201)
        for i, text in enumerate(texts):
            with self.subTest(text):
                escaped = "".join("\\U%08x" % ord(char) for char in text)
                self.assertEqual(self.found('obj.description < "%s"' % escaped), texts[:i])
                self.assertEqual(self.found('obj.description >= "%s"' % text), texts[i:])
        self.assertEqual(self.found("size(obj.description) == 1"), texts[1:])
        self.assertEqual(self.found("obj.description != null && obj.description <= 'Z'"),
                         ["A", "Z"])
        self.assertEqual(self.found("size(obj.description) < 9223372036854775807"), texts)
        self.assertEqual(self.found("size(obj.description) <= -9223372036854775808"), [])

    def test_whole_seconds(self):
        """A time is what the answer shows of it, so a listed time finds its row."""
        client = self.stack.client(self.stack.account().admin.key)
        made = self.assert_ok(client.post(CREDENTIALS, samples.credential()), 201)
        self.stack.psql("UPDATE adit.ssh_credential SET created_at = '2026-01-31T12:00:00.75Z'"
                        " WHERE id = '%s'" % made["id"])
        for relation, time, is_true in (
                ("==", "12:00:00Z", True), ("!=", "12:00:00Z", False), ("<=", "12:00:00Z", True),
                (">=", "12:00:00Z", True), (">", "12:00:00Z", False), ("<", "12:00:01Z", True),
                ("<", "12:00:00.5Z", True), (">", "11:59:59.999Z", True),
                ("==", "12:00:00.75Z", False), ("==", "13:30:00+01:30", True)):
            with self.subTest(relation + time):
                page = self.assert_ok(client.get("%s?filter=%s" % (CREDENTIALS, urllib.parse.quote(
                    'obj.created_at %s timestamp("2026-01-31T%s")' % (relation, time)))))
                self.assertEqual(len(page["ssh_credentials"]), is_true)

    def test_most_of_all(self):
        """Filters at their limits run: 64 operators, 16 levels, 4096 bytes and a long list."""
        client = self.stack.client(self.stack.account().admin.key)
        made = self.assert_ok(client.post(CREDENTIALS, samples.credential(description="d")), 201)
        items = ",".join('"%d"' % i for i in range(650)) + ',"d"'
        pair = 'obj.description == "d"'
        for filter_ in (
                "!" * 64 + "true", "(" * 16 + "true" + ")" * 16,
                " && ".join([pair] * 32), " || ".join(["false"] * 64 + ["true"]),
                " && ".join(["'a' == 'a'"] * 32),
                "obj.description in [%s]" % items,
                ("%s || obj.metadata == '" % pair).ljust(4095, "m") + "'",
                "obj.created_at != timestamp('2026-01-01T00:00:00Z')"
                + " && obj.created_at != timestamp('2026-01-01T00:00:01Z')" * 20):
            with self.subTest(filter_[:60]):
                self.assertLessEqual(len(filter_), 4096)
                page = self.assert_ok(client.get("%s?filter=%s" % (
                    CREDENTIALS, urllib.parse.quote(filter_))))
                self.assertEqual([row["id"] for row in page["ssh_credentials"]], [made["id"]])
