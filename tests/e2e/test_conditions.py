# SPDX-License-Identifier: MIT
"""Conditional requests: ETag, If-Match, If-None-Match."""
import re
import threading

from adit import samples
from adit.case import Case, until_its_turn

ETAG = re.compile(r'"[0-9]+"\Z')


def if_match(etag):
    return {"more": [("If-Match", etag)]}


def if_none_match(etag):
    return {"more": [("If-None-Match", etag)]}


class Resource:
    """How the tests make, change and replace a resource.  All bodies in changes differ."""

    def __init__(self, name, path, method, body):
        self.name, self.path, self.method, self.body = name, path, method, body
        self.count = 0

    def next_body(self):
        self.count += 1
        return self.body(self.count)


def resources(client):
    made = client.post("/ssh_credentials", {"public_key": samples.ED25519}).json
    oauth = Resource("oauth", "/edges/https/cond/routes/r/oauth", "PUT",
                     lambda n: {"inactivity_timeout": n})
    mutual_tls = Resource("mutual tls", "/edges/tls/cond/mutual_tls", "PUT",
                          lambda n: {"certificate_authority_ids": ["ca_%d" % n]})
    for resource in oauth, mutual_tls:
        client.put(resource.path, resource.next_body())
    return [Resource("credential", "/ssh_credentials/" + made["id"], "PATCH",
                     lambda n: {"description": "change %d" % n}), oauth, mutual_tls]


class Conditions(Case):
    def setUp(self):
        self.resources = resources(self.admin)

    def change(self, resource, **options):
        return self.admin.call(resource.method, resource.path, resource.next_body(), **options)

    def for_all(self, function):
        self.each([(resource.name, resource) for resource in self.resources], function)

    def etag_of(self, answer):
        self.assertEqual(len(answer.all("ETag")), 1, answer.headers)
        self.assertRegex(answer.header("ETag"), ETAG)
        return answer.header("ETag")

    def test_every_answer_has_the_tag(self):
        def check(resource):
            first = self.etag_of(self.admin.get(resource.path))
            self.assertEqual(self.etag_of(self.admin.call("HEAD", resource.path)), first)
            changed = self.etag_of(self.change(resource))
            self.assertNotEqual(changed, first)
            self.assertEqual(self.etag_of(self.admin.get(resource.path)), changed)
            self.assertFalse(self.admin.delete(resource.path).all("ETag"))
        self.for_all(check)
        made = self.admin.post("/ssh_credentials", {"public_key": samples.ED25519})
        self.assertEqual(self.etag_of(made),
                         self.etag_of(self.admin.get("/ssh_credentials/" + made.json["id"])))
        self.assertFalse(self.admin.get("/ssh_credentials").all("ETag"))
        self.assertFalse(self.admin.get("/ssh_credentials/none").all("ETag"))

    def test_nothing_changed_nothing_new(self):
        path = self.resources[0].path
        first = self.etag_of(self.admin.get(path))
        self.assertEqual(self.etag_of(self.admin.patch(path, {})), first)
        self.assertEqual(self.etag_of(self.admin.patch(path, {"metadata": ""})), first)
        self.assertNotEqual(self.etag_of(self.admin.patch(path, {"metadata": "x"})), first)

    def test_a_tag_never_comes_again(self):
        def check(resource):
            seen = {self.etag_of(self.admin.get(resource.path))}
            for _ in range(3):
                self.admin.delete(resource.path)
                etag = self.etag_of(self.admin.put(resource.path, {}))
                self.assertNotIn(etag, seen)
                seen.add(etag)
        self.each([(r.name, r) for r in self.resources[1:]], check)

    def test_change_by_hand_is_seen(self):
        path = self.resources[0].path
        first = self.etag_of(self.admin.get(path))
        self.stack.psql("UPDATE adit.ssh_credential SET description = 'by hand' WHERE id = '%s'"
                        % path.rpartition("/")[2])
        self.assert_error(self.admin.patch(path, {"metadata": "m"}, **if_match(first)), 9038)

    def test_not_modified(self):
        def check(resource):
            etag = self.etag_of(self.admin.get(resource.path))
            for method in "GET", "HEAD":
                for given in (etag, "W/" + etag, "*", '"0", %s' % etag, '"x",' + etag):
                    answer = self.admin.call(method, resource.path, **if_none_match(given))
                    self.assertEqual(answer.status, 304, (method, given))
                    self.assertEqual(self.etag_of(answer), etag)
                    self.assertEqual(answer.body, b"")
            for given in ('"0"', '"x"', 'W/"0"', '""', etag.replace('"', '"0', 1)):
                self.assert_ok(self.admin.get(resource.path, **if_none_match(given)))
            self.change(resource)
            self.assert_ok(self.admin.get(resource.path, **if_none_match(etag)))
            self.assert_error(self.admin.get(resource.path, **if_match(etag)), 9038)
        self.for_all(check)

    def test_stale_writes_change_nothing(self):
        def check(resource):
            stale = self.etag_of(self.admin.get(resource.path))
            fresh = self.etag_of(self.change(resource, **if_match(stale)))
            stored = self.admin.get(resource.path).json
            for given in (stale, '"0"', '"x"', "W/" + fresh, '""', ""):
                self.assert_error(self.change(resource, **if_match(given)), 9038)
                self.assert_error(self.admin.delete(resource.path, **if_match(given)), 9038)
            for given in (fresh, "*", "W/" + fresh):
                self.assert_error(self.change(resource, **if_none_match(given)), 9038)
                self.assert_error(self.admin.delete(resource.path, **if_none_match(given)), 9038)
            found = self.admin.get(resource.path)
            self.assertEqual((found.json, found.header("ETag")), (stored, fresh))
            self.assert_ok(self.change(resource, **if_none_match(stale)))
            self.assert_ok(self.change(resource, **if_match("*")))
            last = self.admin.get(resource.path).header("ETag")
            self.assert_ok(self.admin.delete(resource.path, **if_match(last)), 204)
        self.for_all(check)

    def test_what_is_not_there(self):
        credential = "/ssh_credentials/" + samples.unknown_id()
        self.assert_error(self.admin.patch(credential, {}, **if_match("*")), 9002)
        self.assert_error(self.admin.delete(credential, **if_match('"1"')), 9002)
        for path in "/edges/https/none/routes/r/oauth", "/edges/tls/none/mutual_tls":
            with self.subTest(path):
                self.assert_error(self.admin.put(path, {}, **if_match("*")), 9038)
                self.assert_error(self.admin.put(path, {}, **if_match('"1"')), 9038)
                self.assert_error(self.admin.delete(path, **if_match("*")), 9038)
                self.assertEqual(self.admin.get(path).status, 404)
                self.assert_ok(self.admin.delete(path, **if_none_match("*")), 204)
                self.assert_ok(self.admin.put(path, {}, **if_none_match("*")))
                self.assert_error(self.admin.put(path, {}, **if_none_match("*")), 9038)
                self.assert_ok(self.admin.delete(path), 204)

    def test_secret_survives_a_stale_put(self):
        path = self.resources[1].path
        body = {"provider": {"provider_b": {"client_id": "a", "client_secret": "first secret"}}}
        etag = self.etag_of(self.admin.put(path, body))
        body["provider"]["provider_b"]["client_secret"] = "second secret"
        self.assert_error(self.admin.put(path, body, **if_match('"1"')), 9038)
        found = self.admin.get(path)
        self.assertEqual(found.json["provider"]["provider_b"]["client_secret"], "first secret")
        self.assertEqual(found.header("ETag"), etag)
        self.assert_ok(self.admin.put(path, body, **if_match(etag)))

    def test_order(self):
        path = self.resources[0].path
        stale = if_match('"1"')
        self.assert_error(self.nobody.patch(path, {}, **stale), 200)
        self.assert_error(self.reader.patch(path, {}, **stale), 9005)
        self.assert_error(self.admin.patch(path, {"x": 1}, **stale), 214)
        self.assert_error(self.admin.patch(path + "x", {}, **stale), 9002)

    def test_malformed(self):
        for value in ("1", '"1', '"1" "2"', "*, *", 'w/"1"', '"a b"'):
            for name in "If-Match", "If-None-Match":
                with self.subTest("%s: %s" % (name, value)):
                    for method, body in (("GET", None), ("PATCH", {}), ("DELETE", None)):
                        answer = self.admin.call(method, self.resources[0].path, body,
                                                 more=[(name, value)])
                        self.assert_error(answer, 9039, says=name)
        self.assert_ok(self.admin.get(self.resources[0].path))

    def test_one_of_many_wins(self):
        """If many writes name the same revision, exactly one succeeds."""
        def check(resource):
            etag = self.admin.get(resource.path).header("ETag")
            bodies = [resource.next_body() for _ in range(8)]
            answers = []

            def write(body):
                answers.append(until_its_turn(lambda: self.admin.call(
                    resource.method, resource.path, body, **if_match(etag))))
            threads = [threading.Thread(target=write, args=(body,)) for body in bodies]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(answer.status for answer in answers), [200] + [412] * 7)
            won = next(answer for answer in answers if answer.status == 200)
            found = self.admin.get(resource.path)
            self.assertEqual((found.json, found.header("ETag")), (won.json, won.header("ETag")))
        for _ in range(5):
            self.for_all(check)

    def test_one_of_many_creates(self):
        path = "/edges/tls/created-once/mutual_tls"
        for _ in range(5):
            answers = []
            threads = [threading.Thread(target=lambda: answers.append(until_its_turn(
                lambda: self.admin.put(path, {}, **if_none_match("*"))))) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sorted(answer.status for answer in answers), [200] + [412] * 7)
            self.admin.delete(path)
