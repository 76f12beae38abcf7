# SPDX-License-Identifier: MIT
"""The lists of modules: order, pages, secrets and accounts."""
import json
import random
import threading
import urllib.parse

from adit.case import Case
from adit.large import PAGE_ITEMS_MAX

OAUTH = "/edges/https/%s/routes/%s/oauth"
MUTUAL_TLS = "/edges/tls/%s/mutual_tls"
SECRET = {"provider": {"provider_a": {"client_id": "app", "client_secret": "hidden",
                                      "email_domains": ["example.com"]}}}
# Byte order, which differs from that of any language.
NAMES = sorted(["a", "B", "a.b", "a-b", "a_b", "a~", "A", "0", "~", "zz", "a0"])


class Lists(Case):
    def setUp(self):
        self.account = self.stack.account("listed")
        self.client = self.stack.client(self.account.admin.key)

    def put(self, path, body=None):
        return self.assert_ok(self.client.put(path, body or {}))

    def walk(self, name, query="", between=lambda: None, client=None):
        """Follows next_page_uri to the end.  Returns the pages."""
        pages, target = [], "/%s?%s" % (name, query)
        while target:
            page = self.assert_ok((client or self.client).get(target))
            self.assertEqual(sorted(page), sorted(["next_page_uri", name, "uri"]))
            self.assertEqual(page["uri"], self.stack.url + "/" + name)
            pages.append(page[name])
            if page["next_page_uri"]:
                self.assertTrue(page["next_page_uri"].startswith(page["uri"] + "?"))
                self.assertTrue(page[name])
            target = page["next_page_uri"] and page["next_page_uri"][len(self.stack.url):]
            between()
        return pages

    def oauth_ids(self, pages):
        return [(row["edge_id"], row["id"]) for page in pages for row in page]

    def test_none(self):
        for name in "oauth_modules", "mutual_tls_modules":
            self.assertEqual(self.walk(name), [[]])

    def test_oauth_in_byte_order(self):
        wanted = [(edge, route) for edge in NAMES[:3] for route in NAMES[:7]]
        for edge, route in random.sample(wanted, len(wanted)):
            self.put(OAUTH % (edge, route))
        for limit in (1, 5, 20, 21, PAGE_ITEMS_MAX):
            with self.subTest(limit):
                pages = self.walk("oauth_modules", "limit=%d" % limit)
                self.assertEqual(self.oauth_ids(pages), wanted)
                self.assertEqual({len(page) for page in pages[:-1]} - {limit}, set())
        self.assertEqual(self.oauth_ids(self.walk("oauth_modules", "after_id=")), wanted)
        after = "%s/%s" % wanted[17]
        for query in ("after_id=", "afterId="):
            self.assertEqual(self.oauth_ids(self.walk(
                "oauth_modules", query + urllib.parse.quote(after))), wanted[18:])

    def test_mutual_tls_in_byte_order(self):
        for edge in random.sample(NAMES, len(NAMES)):
            self.put(MUTUAL_TLS % edge, {"certificate_authority_ids": [edge]})
        for limit in (1, 4, 11, 12):
            with self.subTest(limit):
                pages = self.walk("mutual_tls_modules", "limit=%d" % limit)
                self.assertEqual([row["edge_id"] for page in pages for row in page], NAMES)
        self.assertEqual([row["id"] for page in self.walk("mutual_tls_modules", "after_id=a")
                          for row in page], NAMES[NAMES.index("a") + 1:])

    def test_items_are_the_modules(self):
        self.put(OAUTH % ("e", "r"), SECRET)
        self.put(MUTUAL_TLS % "e", {"certificate_authority_ids": ["ca_2", "ca_1"]})
        for name, path, more in (
                ("oauth_modules", OAUTH % ("e", "r"), {"edge_id": "e", "id": "r"}),
                ("mutual_tls_modules", MUTUAL_TLS % "e", {"edge_id": "e", "id": "e"})):
            row, = self.walk(name)[0]
            # Of a list alone: a module that is read can be stored again as it is.
            self.assertEqual("admits" in row, name == "oauth_modules")
            row.pop("admits", None)
            self.assertEqual(row["uri"], self.stack.url + path)
            self.assertEqual(row, {**self.client.get(path).json, **more, "uri": row["uri"]})

    def test_secrets(self):
        self.put(OAUTH % ("e", "r"), SECRET)
        self.put(OAUTH % ("e", "s"), SECRET)
        reader = self.stack.client(self.account.read_only_key)
        for client, secrets in ((self.client, ["hidden"] * 2), (reader, [None] * 2)):
            rows = self.walk("oauth_modules", client=client)[0]
            self.assertEqual([row["provider"]["provider_a"]["client_secret"] for row in rows],
                             secrets)
        # A secret that no key opens hides itself, and not the rest of the list.
        self.stack.psql("UPDATE adit.oauth_module SET client_secret_key_id = 'gone'"
                        " WHERE account_id = '%s' AND route_id = 'r'" % self.account.id)
        self.assert_error(self.client.get(OAUTH % ("e", "r")), 9036)
        rows = self.walk("oauth_modules")[0]
        self.assertEqual([row["provider"]["provider_a"]["client_secret"] for row in rows],
                         [None, "hidden"])

    def test_filters_of_oauth_modules(self):
        rows = {"a/r": {"enabled": False}, "a/s": SECRET,
                "b/r": {"provider": {"provider_a": {"client_id": "c", "client_secret": "s",
                                                    "teams": ["org/team"],
                                                    "organizations": ["org"]}}},
                "b/s": {"provider": {"provider_c": {"email_addresses": ["a@b.example"]}}}}
        for name, body in rows.items():
            self.put(OAUTH % tuple(name.split("/")), body)
        for expression, wanted in (
                ("obj.edge_id == 'b'", "b/r b/s"), ("obj.id in ['s', 't']", "a/s b/s"),
                ("obj.enabled", "a/s b/r b/s"), ("!obj.enabled", "a/r"),
                ("obj.provider == 'provider_a'", "a/s b/r"), ("obj.provider == null", "a/r"),
                ("obj.provider > 'provider_a'", "b/s"),
                ("'a@b.example' in obj.email_addresses", "b/s"),
                ("'example.com' in obj.email_domains", "a/s"),
                ("obj.teams == ['org/team']", "b/r"), ("'org/team' in obj.teams", "b/r"),
                ("size(obj.organizations) == 1 && obj.edge_id.startsWith('b')", "b/r"),
                ("obj.enabled == false || obj.provider.endsWith('c')", "a/r b/s")):
            with self.subTest(expression):
                query = "limit=1&filter=" + urllib.parse.quote(expression)
                self.assertEqual(["%s/%s" % ident for ident in
                                  self.oauth_ids(self.walk("oauth_modules", query))],
                                 wanted.split())
        self.assert_error(self.client.get("/oauth_modules?filter=obj.client_secret%20==%20''"), 250)

    def test_filters_of_mutual_tls_modules(self):
        self.put(MUTUAL_TLS % "a", {"certificate_authority_ids": ["ca_1", "ca_2"]})
        self.put(MUTUAL_TLS % "b", {"enabled": False})
        for expression, wanted in (
                ("obj.edge_id == 'b'", ["b"]), ("obj.id != 'b'", ["a"]),
                ("obj.enabled", ["a"]), ("'ca_2' in obj.certificate_authority_ids", ["a"]),
                ("obj.certificate_authority_ids == null", ["b"]),
                ("obj.edge_id == 'x'", [])):
            with self.subTest(expression):
                pages = self.walk("mutual_tls_modules", "filter=" + urllib.parse.quote(expression))
                self.assertEqual([row["edge_id"] for page in pages for row in page], wanted)
        # A page that is not the last repeats the filter.
        for name in "c", "d":
            self.put(MUTUAL_TLS % name, {"enabled": False})
        page = self.assert_ok(self.client.get("/mutual_tls_modules?limit=1&filter=%21obj.enabled"))
        self.assertEqual(page["next_page_uri"],
                         page["uri"] + "?after_id=b&limit=1&filter=%21obj.enabled")

    def test_malformed_queries(self):
        for name, bad in (("oauth_modules", ("e", "e/", "/r", "e/r/x", "a b/r", "e/..", "/")),
                          ("mutual_tls_modules", ("e/r", "a b", "..", "%C3%A9"))):
            for value in bad:
                with self.subTest("%s after %s" % (name, value)):
                    answer = self.client.get("/%s?after_id=%s" % (name, value.replace(" ", "%20")))
                    self.assert_error(answer, 9079)
            for query, number in (("limit=0", 233), ("limit=%d" % (PAGE_ITEMS_MAX + 1), 233), ("limit=x", 244),
                                  ("before_id=a", 231), ("after_id=a&afterId=a", 232),
                                  ("filter=obj.owner_id", 250)):
                self.assert_error(self.client.get("/%s?%s" % (name, query)), number)

    def test_large_modules(self):
        """A page ends before it has more than 1 MiB, and the walk is whole."""
        addresses = ["%05d@%s.example" % (i, "x" * 50) for i in range(500)]
        for i in range(32):
            self.put(OAUTH % ("large", "r%02d" % i),
                     {"provider": {"provider_b": {"email_addresses": addresses}}})
        pages = self.walk("oauth_modules")
        sizes = [len(json.dumps(page, separators=(",", ":"))) for page in pages]
        self.assertLess(max(sizes), 1 << 20)
        self.assertGreater(min(sizes[:-1]), (1 << 20) - sizes[0] / len(pages[0]) - 1000)
        self.assertEqual(self.oauth_ids(pages), [("large", "r%02d" % i) for i in range(32)])

    def test_changes_meanwhile(self):
        """What exists throughout comes once, while others come and go."""
        stay = ["s%03d" % i for i in range(0, 30, 2)]
        for name in stay:
            self.put(OAUTH % ("walked", name))
            self.put(MUTUAL_TLS % name)
        stop = threading.Event()

        def churn():
            client = self.stack.client(self.account.admin.key)
            while not stop.is_set():
                name = "s%03d" % random.randrange(1, 30, 2)
                for path in OAUTH % ("walked", name), MUTUAL_TLS % name:
                    client.delete(path)
                    if random.random() < 0.5:
                        client.put(path, {})
        worker = threading.Thread(target=churn)
        worker.start()
        try:
            for _ in range(2):
                seen = [route for _, route in self.oauth_ids(self.walk("oauth_modules", "limit=3"))]
                self.assertEqual(sorted(set(seen)), seen)
                self.assertLessEqual(set(stay), set(seen))
                seen = [row["id"] for page in self.walk("mutual_tls_modules", "limit=3")
                        for row in page]
                self.assertEqual(sorted(set(seen)), seen)
                self.assertLessEqual(set(stay), set(seen))
        finally:
            stop.set()
            worker.join()

    def test_other_accounts(self):
        other = self.stack.client(self.stack.account("stranger").admin.key)
        self.put(OAUTH % ("mine", "r"))
        self.put(MUTUAL_TLS % "mine")
        for name in "oauth_modules", "mutual_tls_modules":
            self.assertEqual(self.walk(name, client=other), [[]])
            self.assertEqual([row["edge_id"] for row in self.walk(name)[0]], ["mine"])
            self.assert_error(self.stack.client(self.account.gateway_key).get("/" + name), 9071)
            self.assertEqual(self.client.call("HEAD", "/" + name).status, 200)
