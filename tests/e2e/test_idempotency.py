# SPDX-License-Identifier: MIT
"""Idempotency-Key on POST."""
import json
import threading

from adit import samples
from adit.case import Case, until_its_turn

PATH = "/ssh_credentials"
BODY = {"public_key": samples.ED25519, "description": "once", "acl": ["bind:*.example.com"]}


def once(key):
    return {"more": [("Idempotency-Key", key)]}


class Idempotency(Case):
    def setUp(self):
        self.account = self.stack.account()
        self.client = self.stack.client(self.account.admin.key)

    def rows(self):
        return int(self.stack.psql("SELECT count(*) FROM adit.ssh_credential WHERE account_id = '%s'"
                                   % self.account.id))

    def assert_same(self, answer, first):
        self.assertEqual((answer.status, answer.body, answer.header("ETag")),
                         (first.status, first.body, first.header("ETag")))

    def test_repeat_is_answered_as_the_first(self):
        first = self.client.post(PATH, BODY, **once("a-key"))
        self.assert_ok(first, 201)
        for _ in range(3):
            self.assert_same(self.client.post(PATH, BODY, **once("a-key")), first)
        self.assertEqual(self.rows(), 1)
        found = self.client.get(PATH + "/" + first.json["id"])
        self.assertEqual((found.body, found.header("ETag")), (first.body, first.header("ETag")))

    def test_repeat_says_so(self):
        def replayed(*arguments, **options):
            return self.client.post(PATH, *arguments, **options).all("Idempotent-Replayed")
        self.assertEqual(replayed(BODY), [])
        self.assertEqual(replayed(BODY, **once("k")), [])
        for _ in range(2):
            self.assertEqual(replayed(BODY, **once("k")), ["true"])
        self.assertEqual(replayed(dict(BODY, description="another"), **once("k")), [])
        self.assertEqual(replayed(BODY, **once("another")), [])

    def test_first_answer_outlives_the_credential(self):
        first = self.client.post(PATH, BODY, **once("k"))
        path = PATH + "/" + first.json["id"]
        self.assert_ok(self.client.patch(path, {"description": "changed"}))
        self.assert_same(self.client.post(PATH, BODY, **once("k")), first)
        self.assert_ok(self.client.delete(path), 204)
        self.assert_same(self.client.post(PATH, BODY, **once("k")), first)
        self.assertEqual(self.rows(), 0)

    def test_host_is_that_of_the_request(self):
        """Otherwise, a key that may do less could send the client of another one elsewhere, with its
        key."""
        weak = self.stack.client(self.account.admin.issue("--own"))
        first = self.assert_ok(weak.post(PATH, BODY, host="one.example", **once("k")), 201)
        self.assertIn("//one.example/", first["uri"])
        again = self.client.post(PATH, BODY, host="two.example", **once("k"))
        self.assertEqual(again.all("Idempotent-Replayed"), ["true"])
        self.assertEqual(self.assert_ok(again, 201), dict(
            first, uri=first["uri"].replace("one.example", "two.example")))

    def test_repeat_with_another_key(self):
        """A key may be replaced between a request and its repetition."""
        old = self.account.admin.issue()
        first = self.stack.client(old).post(PATH, BODY, **once("k"))
        self.assert_ok(first, 201)
        self.stack.psql("UPDATE adit.api_key SET revoked_at = now() WHERE digest = sha256('%s')"
                        % old)
        self.assert_error(self.stack.client(old).post(PATH, BODY, **once("k")), 203)
        self.assert_same(self.client.post(PATH, BODY, **once("k")), first)
        self.assertEqual(self.rows(), 1)

    def test_every_member_comes_back(self):
        body = dict(BODY, metadata='"\\,{}\u00e9\n', description="",
                    acl=["*", "bind:a=b", "bind:NULL", "bind:*.x.example"],
                    owner_id=self.account.member.id, public_key=samples.ED25519 + "\n")
        first = self.client.post(PATH, body, **once("k"))
        self.assertEqual(self.assert_ok(first, 201)["acl"], body["acl"])
        self.assert_same(self.client.post(PATH, body, **once("k")), first)

    def test_another_body(self):
        self.assert_ok(self.client.post(PATH, BODY, **once("k")), 201)
        other = dict(BODY, description="another")
        self.assert_error(self.client.post(PATH, other, **once("k")), 9041)
        # The bodies are compared as bytes, not as JSON values.
        self.assert_error(self.client.post(PATH, json.dumps(BODY, indent=1).encode(), **once("k")),
                          9041)
        self.assertEqual(self.rows(), 1)
        self.assert_ok(self.client.post(PATH, other, **once("k2")), 201)

    def test_keys_are_each_principals_own(self):
        member = self.stack.client(self.account.member.key)
        stranger = self.stack.account()
        ids = {self.assert_ok(client.post(PATH, BODY, **once("k")), 201)["id"]
               for client in (self.client, member, self.stack.client(stranger.admin.key))}
        self.assertEqual(len(ids), 3)
        # Idempotency keys belong to the principal, not to the API key.
        second = self.stack.client(self.account.admin.issue())
        self.assertIn(second.post(PATH, BODY, **once("k")).json["id"], ids)

    def test_refusals_take_no_key(self):
        bad = dict(BODY, acl=["nonsense"])
        self.assert_error(self.client.post(PATH, bad, **once("k")), 600)
        member = self.stack.client(self.account.member.key)
        foreign = dict(BODY, owner_id=self.account.admin.id)
        self.assert_error(member.post(PATH, foreign, **once("k")), 630)
        unknown = dict(BODY, owner_id="usr_" + "0" * 27)
        self.assert_error(self.client.post(PATH, unknown, **once("k")), 9011)
        reader = self.stack.client(self.account.read_only_key)
        self.assert_error(reader.post(PATH, BODY, **once("k")), 9005)
        self.assert_ok(self.client.post(PATH, BODY, **once("k")), 201)
        self.assert_error(reader.post(PATH, BODY, **once("k")), 9005)
        self.assertEqual(self.rows(), 1)

    def test_form(self):
        for key in ("x", "8e03978e-40d5-43dd-bc93-6894a57f9324", '"quoted"', "k" * 255, "a b",
                    "~!@#$%^&*()_+"):
            with self.subTest(key[:40]):
                first = self.client.post(PATH, BODY, **once(key))
                self.assert_ok(first, 201)
                self.assert_same(self.client.post(PATH, BODY, **once(key)), first)
        for key in ("", "k" * 256, "\u00e9", "a\tb", "\x7f", "a, b", ","):
            with self.subTest(repr(key[:40])):
                before = self.rows()
                self.assert_error(self.client.post(PATH, BODY, **once(key)), 9040)
                self.assertEqual(self.rows(), before)
        for first, second in (("k", "k"), ("k", ""), ("", "k")):
            with self.subTest("%s, %s" % (first, second)):
                before = self.rows()
                headers = once(first)["more"] + once(second)["more"]
                self.assert_error(self.client.post(PATH, BODY, more=headers), 9040)
                self.assertEqual(self.rows(), before)
        # Other methods ignore the header.
        self.assert_ok(self.client.put("/edges/tls/e/mutual_tls", {}, **once("k" * 300)))
        self.assert_error(self.nobody.post(PATH, BODY, **once("k" * 256)), 200)

    def at_once(self, count, key, bodies):
        """Sends count requests in parallel.  Returns their answers."""
        answers = []
        barrier = threading.Barrier(count)

        def send(body):
            barrier.wait()
            answers.append(until_its_turn(lambda: self.client.post(PATH, body, **once(key))))
        threads = [threading.Thread(target=send, args=(bodies[i % len(bodies)],))
                   for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def test_fifty_in_parallel_make_one(self):
        for turn in range(4):
            before = self.rows()
            answers = self.at_once(50, "turn-%d" % turn, [BODY])
            self.assertEqual({answer.status for answer in answers}, {201})
            self.assertEqual(len({answer.body for answer in answers}), 1)
            self.assertEqual(sum(answer.header("Idempotent-Replayed") == "true"
                                 for answer in answers), 49)
            self.assertEqual(self.rows(), before + 1)

    def test_parallel_with_two_bodies(self):
        answers = self.at_once(24, "two", [BODY, dict(BODY, description="two")])
        self.assertEqual({answer.status for answer in answers}, {201, 422})
        self.assertEqual(sum(answer.status == 201 for answer in answers), 12)
        self.assertEqual(self.rows(), 1)

    def test_purge(self):
        self.assert_ok(self.client.post(PATH, BODY, **once("old")), 201)
        self.assert_ok(self.client.post(PATH, BODY, **once("young")), 201)
        self.stack.psql("UPDATE adit.idempotency_key SET created_at = now()"
                        " - interval '24 hours 1 minute' WHERE key = 'old' AND account_id = '%s'"
                        % self.account.id)
        self.assertRegex(self.stack.ctl("purge"), "^[0-9]+ idempotency keys? removed$")
        self.assertEqual(self.stack.psql(
            "SELECT key FROM adit.idempotency_key WHERE account_id = '%s'" % self.account.id),
            "young")
        self.assert_ok(self.client.post(PATH, BODY, **once("old")), 201)
        self.assertEqual(self.rows(), 3)
