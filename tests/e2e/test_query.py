# SPDX-License-Identifier: MIT
"""Query parameters (section 3)."""
from adit import samples
from adit.case import Case, without_operation_id
from adit.large import PAGE_ITEMS_MAX

CREDENTIALS = "/ssh_credentials"


class Parameters(Case):
    def ask(self, query):
        return self.admin.get(CREDENTIALS + query)

    def test_refused(self):
        self.each([(row[0], *row) for row in (
            ("?limit=", 244, "empty"),
            ("?limit", 244, "empty"),
            ("?limit=x", 244, "x"),
            ("?limit=1x", 244, "1x"),
            ("?limit=-1", 233, "-1"),
            ("?limit=1.0", 244, "1.0"),
            ("?limit=1e1", 244, "1e1"),
            ("?limit=0x10", 244, "0x10"),
            ("?limit=+5", 244, "limit is ' 5'"),
            ("?limit=%205", 244, "limit is ' 5'"),
            ("?limit=5+", 244, "limit is '5 '"),
            ("?limit=null", 244, "null"),
            ("?limit=%D9%A5", 244, "\u0665"),
            ("?limit=0", 233, "0"),
            ("?limit=00", 233, "00"),
            ("?limit=%d" % (PAGE_ITEMS_MAX + 1), 233, str(PAGE_ITEMS_MAX + 1)),
            ("?limit=4294967297", 233, "4294967297"),
            ("?limit=18446744073709551617", 233, "18446744073709551617"),
            ("?limit=" + "9" * 300, 233, ()),
            ("?before_id=a+b", 9009, "'a b'"),
            ("?before_id=a%20b", 9009, "'a b'"),
            ("?before_id=.", 9009, ()),
            ("?before_id=..", 9009, ()),
            ("?before_id=%00", 9010, "U+0000"),
            ("?before_id=a%0A", 9009, ()),
            ("?before_id=" + "i" * 256, 9009, ()),
            ("?before_id=%C3%A4", 9009, "\u00e4"),
            ("?beforeId=a%2Fb", 9009, "a/b"),
            ("?x=1", 231, ["x", "limit", "before_id", "filter"]),
            ("?x", 231, "x"),
            ("?=1", 231, ()),
            ("?=", 231, ()),
            ("?Limit=1", 231, "Limit"),
            ("?LIMIT=1", 231, "LIMIT"),
            ("?limit[]=1", 231, "limit[]"),
            ("?limit%20=1", 231, "limit "),
            ("?before-id=x", 231, "before-id"),
            ("?beforeid=x", 231, "beforeid"),
            ("?page=2", 231, "page"),
            ("?owner_id=usr_1", 231, "owner_id"),
            ("?limit=5&x=1", 231, "x"),
            ("?a+b=1", 231, "a b"),
            ("?a%20b=1", 231, "a b"),
            ("?limit=1&limit=1", 232, "limit"),
            ("?limit=1&limit=2", 232, "limit"),
            ("?limit=1&%6Cimit=2", 232, "limit"),
            ("?before_id=a&before_id=a", 232, "before_id"),
            ("?before_id=a&beforeId=b", 232, "before_id"),
            ("?beforeId=&before_id=", 232, "before_id"),
            ("?limit=%", 9010, ()),
            ("?limit=%4", 9010, ()),
            ("?limit=%zz", 9010, ()),
            ("?limit=%4g", 9010, ()),
            ("?%zz=1", 9010, ()),
            ("?before_id=%ff", 9010, ()),
            ("?before_id=%ed%a0%80", 9010, ()),
            ("?%ff=1", 9010, ()),
        )], lambda query, number, says: self.assert_error(self.ask(query), number, says=says))

    def test_accepted(self):
        self.each([(query, query) for query in (
            "?", "?limit=1", "?limit=%d" % PAGE_ITEMS_MAX, "?limit=001", "?%6C%69mit=%35", "?before_id=",
            "?beforeId=", "?before_id", "?before_id=x", "?beforeId=x", "?before_id=%78",
            "?before_id=x&limit=5", "?limit=5&beforeId=x", "?before_id=zzzz~", "?before_id=...",
            "?before_id=" + "i" * 255,
        )], lambda query: self.assert_ok(self.ask(query)))

    def test_plus_and_percent_20_are_the_same(self):
        self.assertEqual(without_operation_id(self.ask("?before_id=a+b")),
                         without_operation_id(self.ask("?before_id=a%20b")))

    def test_an_empty_before_id_means_the_first_page(self):
        self.admin.post(CREDENTIALS, samples.credential())
        first = self.assert_ok(self.ask("?limit=3"))
        self.assertEqual(self.assert_ok(self.ask("?limit=3&before_id=")), first)
        self.assertEqual(self.assert_ok(self.ask("?limit=3&beforeId=")), first)

    def test_no_other_operation_takes_any(self):
        rows = [(method, path, body) for method, path, body in (
            ("POST", CREDENTIALS, samples.credential()),
            ("GET", CREDENTIALS + "/x", None),
            ("PATCH", CREDENTIALS + "/x", {}),
            ("DELETE", CREDENTIALS + "/x", None),
            ("PUT", "/edges/https/e/routes/r/oauth", {}),
            ("GET", "/edges/https/e/routes/r/oauth", None),
            ("DELETE", "/edges/https/e/routes/r/oauth", None),
            ("PUT", "/edges/tls/t/mutual_tls", {}),
            ("GET", "/edges/tls/t/mutual_tls", None),
            ("DELETE", "/edges/tls/t/mutual_tls", None),
            ("GET", "/livez", None),
            ("GET", "/readyz", None))]
        for query in ("?limit=5", "?before_id=x", "?beforeId=x", "?x"):
            for method, path, body in rows:
                with self.subTest("%s %s%s" % (method, path, query)):
                    self.assert_error(self.admin.call(method, path + query, body), 231)

    def test_nothing_is_changed_by_a_refused_one(self):
        before = self.stack.dump()
        self.assert_error(self.admin.post(CREDENTIALS + "?x=1", samples.credential()), 231)
        self.assert_error(self.admin.put("/edges/tls/q/mutual_tls?x=1", {}), 231)
        self.assertEqual(self.stack.dump(), before)
