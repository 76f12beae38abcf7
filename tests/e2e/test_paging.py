# SPDX-License-Identifier: MIT
"""The list and its pages (section 5)."""
import random
import threading
import time
import urllib.parse

from adit import samples
from adit.case import Case
from adit.large import PAGE_ITEMS_MAX, PAGE_MAX

CREDENTIALS = "/ssh_credentials"


class Paging(Case):
    def fill(self, n):
        """Makes an account with n credentials.  Returns its client and their ids, newest first."""
        client = self.stack.client(self.stack.account().admin.key)
        made = [client.post(CREDENTIALS, samples.credential(description=str(i))).json["id"]
                for i in range(n)]
        # Identifiers of the same millisecond have a random order.  Later ones must sort after
        # these.
        time.sleep(0.002)
        return client, sorted(made, reverse=True)

    def path_of(self, uri):
        self.assertTrue(uri.startswith(self.stack.url + CREDENTIALS), uri)
        return uri[len(self.stack.url):]

    def walk(self, client, target=CREDENTIALS, between=lambda page: None):
        """Follows next_page_uri to the end.  Returns the pages."""
        pages, seen = [], []
        while target:
            self.assertNotIn(target, seen)
            seen.append(target)
            page = self.assert_ok(client.get(target))
            self.assertEqual(sorted(page), ["next_page_uri", "ssh_credentials", "uri"])
            self.assertEqual(page["uri"], self.stack.url + CREDENTIALS)
            pages.append([row["id"] for row in page["ssh_credentials"]])
            target = page["next_page_uri"] and self.path_of(page["next_page_uri"])
            between(pages)
        return pages

    def flat(self, pages):
        return [ident for page in pages for ident in page]

    def test_empty(self):
        client, _ = self.fill(0)
        self.assertEqual(self.walk(client), [[]])

    def test_full_walks(self):
        client, made = self.fill(23)
        for limit in (1, 2, 3, 7, 11, 22, 23, 24, PAGE_ITEMS_MAX):
            with self.subTest(limit):
                pages = self.walk(client, "%s?limit=%d" % (CREDENTIALS, limit))
                self.assertEqual(self.flat(pages), made)
                self.assertEqual([len(page) for page in pages[:-1]],
                                 [limit] * (len(pages) - 1))
                self.assertEqual(len(pages), -(-23 // limit))

    def test_default_limit(self):
        client, made = self.fill(PAGE_ITEMS_MAX + 1)
        self.assertEqual([len(page) for page in self.walk(client)], [PAGE_ITEMS_MAX, 1])
        self.assertEqual(self.flat(self.walk(client)), made)
        client.delete(CREDENTIALS + "/" + made[PAGE_ITEMS_MAX // 2])
        self.assertEqual([len(page) for page in self.walk(client)], [PAGE_ITEMS_MAX])

    def test_rows_are_whole(self):
        client, made = self.fill(3)
        for row in client.get(CREDENTIALS).json["ssh_credentials"]:
            self.assertEqual(client.get(CREDENTIALS + "/" + row["id"]).json, row)

    def test_next_page_uri(self):
        client, made = self.fill(5)
        for query, wanted in (("?limit=2", {"before_id": [made[1]], "limit": ["2"]}),
                              ("?limit=002", {"before_id": [made[1]], "limit": ["2"]}),
                              ("?limit=2&beforeId=" + made[0],
                               {"before_id": [made[2]], "limit": ["2"]})):
            with self.subTest(query):
                uri = client.get(CREDENTIALS + query).json["next_page_uri"]
                self.assertEqual(urllib.parse.parse_qs(urllib.parse.urlsplit(uri).query), wanted)

    def test_no_limit_in_the_next_page_uri_where_none_was_given(self):
        client, made = self.fill(PAGE_ITEMS_MAX + 1)
        uri = client.get(CREDENTIALS).json["next_page_uri"]
        self.assertEqual(uri, "%s%s?before_id=%s" % (self.stack.url, CREDENTIALS,
                                                     made[PAGE_ITEMS_MAX - 1]))

    def test_before_id(self):
        client, made = self.fill(5)
        for name, before, wanted in (
                ("the newest", made[0], made[1:]), ("one in the middle", made[2], made[3:]),
                ("the oldest", made[4], []), ("before all", "0", []), ("after all", "~", made),
                ("another account's", self.admin.post(CREDENTIALS,
                                                      samples.credential()).json["id"], made),
                ("between two", made[2] + "0", made[2:])):
            with self.subTest(name):
                page = self.assert_ok(client.get("%s?before_id=%s" % (CREDENTIALS, before)))
                self.assertEqual([row["id"] for row in page["ssh_credentials"]], wanted)
                self.assertIsNone(page["next_page_uri"])

    def test_boundary_survives_its_row(self):
        client, made = self.fill(6)
        page = client.get(CREDENTIALS + "?limit=2").json
        self.assert_ok(client.delete(CREDENTIALS + "/" + made[1]), 204)
        page = self.assert_ok(client.get(self.path_of(page["next_page_uri"])))
        self.assertEqual([row["id"] for row in page["ssh_credentials"]], made[2:4])

    def test_last_page_is_never_empty(self):
        client, made = self.fill(4)
        self.assertEqual([len(page) for page in self.walk(client, CREDENTIALS + "?limit=2")],
                         [2, 2])

    def test_newest_first(self):
        client, made = self.fill(2)
        newest = client.post(CREDENTIALS, samples.credential()).json["id"]
        self.assertEqual(self.walk(client)[0][0], newest)

    def test_large_pages(self):
        """A page ends before the credential that would make it larger than 1 MiB, with escapes."""
        client = self.stack.client(self.stack.account().admin.key)
        key = samples.ED25519 + " " + "x" * 10000
        for _ in range(100):
            client.post(CREDENTIALS, {"public_key": key, "metadata": "\x01" * 4096,
                                      "description": "ä" * 127})
        sizes, rows, uri = [], [], CREDENTIALS
        while uri:
            answer = client.get(uri)
            page = self.assert_ok(answer)
            sizes.append(len(answer.body))
            self.assertTrue(page["ssh_credentials"])
            rows += page["ssh_credentials"]
            uri = page["next_page_uri"] and self.path_of(page["next_page_uri"])
        self.assertEqual(len({row["id"] for row in rows}), 100)
        self.assertEqual(len(rows), 100)
        self.assertTrue(all(row["public_key"] == key for row in rows))
        self.assertLessEqual(max(sizes), PAGE_MAX)
        self.assertGreater(min(sizes[:-1]), PAGE_MAX - 40000)

    def test_walk_while_others_write(self):
        """The walk yields each lasting row exactly once."""
        client, standing = self.fill(40)
        stop = threading.Event()
        faults = []

        def disturb():
            passing = []
            try:
                while not stop.is_set():
                    passing.append(client.post(CREDENTIALS, samples.credential()).json["id"])
                    if len(passing) > 5:
                        victim = passing.pop(random.randrange(len(passing)))
                        client.delete(CREDENTIALS + "/" + victim)
            except Exception as fault:  # the test reports it
                faults.append(fault)
        # Rows between the lasting ones, which are deleted during the walk.
        between = [client.post(CREDENTIALS, samples.credential()).json["id"] for _ in range(10)]
        threads = [threading.Thread(target=disturb) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for limit in (1, 3, 10):
                with self.subTest("limit %d" % limit):
                    def delete_one(pages):
                        if between:
                            client.delete(CREDENTIALS + "/" + between.pop())
                    seen = self.flat(self.walk(client, "%s?limit=%d" % (CREDENTIALS, limit),
                                               delete_one))
                    self.assertEqual(len(seen), len(set(seen)))
                    self.assertEqual([ident for ident in seen if ident in standing], standing)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(faults, [])
