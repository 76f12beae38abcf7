# SPDX-License-Identifier: MIT
"""At most 1000 credentials of an account have the same public key, whoever writes them."""
import json
import os
import threading

from adit import samples, stack
from adit.case import Case, until_its_turn

CREDENTIALS = "/ssh_credentials"
MOST = 1000
FULL = 9084
OF_OTHERS = 9098
OWN_FULL = 9099


class LimitCase(Case):
    stack_name = "aditctl"

    def setUp(self):
        self.account = self.stack.account("full")
        self.client = self.stack.client(self.account.admin.key)

    def tearDown(self):
        # Other tests of the stack count credentials.
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE account_id = '%s'" % self.account.id)

    def count(self):
        return int(self.stack.psql("SELECT count(*) FROM adit.ssh_credential"
                                   " WHERE account_id = '%s'" % self.account.id))

    def post(self, **options):
        return self.client.post(CREDENTIALS, samples.credential(), **options)

    def fill(self, n):
        """Has n credentials of one key.  Returns the first."""
        made = self.assert_ok(self.post(), 201)
        self.copy(made, n - 1)
        self.assertEqual(self.count(), n)
        return made

    def copy(self, made, n):
        """Has n more of a credential."""
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, public_key, key_type,"
            " fingerprint) SELECT c.account_id, 'sshcr_' || left(md5(c.id || i), 27), c.owner_id,"
            " c.public_key, c.key_type, c.fingerprint"
            " FROM adit.ssh_credential AS c, generate_series(1, %d) AS i WHERE c.id = '%s'"
            % (n, made["id"]))

    def assert_granted(self, *grants):
        """The owners of the credentials that count, and their rules."""
        decision = self.assert_ok(self.client.post("/ssh_decisions",
                                                   {"public_key": samples.ED25519}))
        self.assertEqual(sorted(ref["owner_id"] for ref in decision["credentials"]),
                         sorted(owner for owner, _ in grants))
        self.assertEqual(sorted(decision["acl"]), sorted(rule for _, rule in grants))


class Requests(LimitCase):
    def test_one_after_the_other(self):
        once = {"more": [("Idempotency-Key", "full")]}
        self.fill(MOST - 1)
        last = self.assert_ok(self.post(**once), 201)
        self.assert_error(self.post(), FULL)
        self.assert_error(self.post(more=[("Idempotency-Key", "more")]), FULL)
        self.assert_error(self.client.post(CREDENTIALS, samples.credential(
            owner_id=self.account.admin.id)), FULL)
        # The first answer to its Idempotency-Key is repeated.
        self.assertEqual(self.assert_ok(self.post(**once), 201)["id"], last["id"])
        self.assertEqual(self.count(), MOST)
        # A decision reads as many.
        decision = self.client.post("/ssh_decisions", {"public_key": samples.ED25519})
        self.assertEqual(len(self.assert_ok(decision)["credentials"]), MOST)
        # Another key, another account, and a change of what is there.
        self.assert_ok(self.client.post(CREDENTIALS, {
            "public_key": next(text for _, text, _, fingerprint in samples.accepted_keys()
                               if fingerprint != samples.ED25519_FINGERPRINT)}), 201)
        self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)
        self.assert_ok(self.client.patch("%s/%s" % (CREDENTIALS, last["id"]), {"acl": ["bind:a"]}))
        self.assert_ok(self.client.delete("%s/%s" % (CREDENTIALS, last["id"])), 204)
        self.assert_ok(self.post(), 201)

    def test_own_keys(self):
        """A public key is no secret.  Whoever may only write own credentials adds nothing to a key
        of somebody else, whose sessions would end once it was taken away again."""
        first, second = (self.stack.client(self.account.person("user").issue("--own"))
                         for _ in range(2))
        ways = {}, {"more": [("Idempotency-Key", "own")]}
        made = self.assert_ok(first.post(CREDENTIALS, samples.credential()), 201)
        self.assert_ok(first.post(CREDENTIALS, samples.credential()), 201)
        for options in ways:
            self.assert_error(second.post(CREDENTIALS, samples.credential(), **options), OF_OTHERS)
        self.copy(made, MOST // 2 - 3)
        self.assert_ok(first.post(CREDENTIALS, samples.credential()), 201)
        for options in ways:
            self.assert_error(first.post(CREDENTIALS, samples.credential(), **options), FULL)
        self.assert_error(first.post(CREDENTIALS, samples.credential(
            owner_id=made["owner_id"])), FULL)
        self.assertEqual(self.count(), MOST // 2)
        # A key that may change everything is not bound by either.
        self.assert_ok(self.post(), 201)
        self.assertEqual(self.count(), MOST // 2 + 1)
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE account_id = '%s' AND id <> '%s'"
                        " AND owner_id = '%s'" % (self.account.id, made["id"], made["owner_id"]))
        for options in ways:
            self.assert_error(first.post(CREDENTIALS, samples.credential(), **options), OF_OTHERS)

    def test_own_keys_with_many(self):
        """Whoever revokes or exports waits for all that somebody has stored."""
        person = self.account.person("user")
        own = self.stack.client(person.issue("--own"))
        keys = [text for _, text, _, fingerprint in samples.accepted_keys()
                if fingerprint != samples.ED25519_FINGERPRINT]
        made = self.assert_ok(own.post(CREDENTIALS, {"public_key": keys[0]}), 201)
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, public_key, key_type,"
            " fingerprint, standing) SELECT c.account_id, 'sshcr_' || left(md5(c.id || i), 27),"
            " c.owner_id, c.public_key, c.key_type, 'SHA256:' || lpad(i::text, 43, '0'), 'own'"
            " FROM adit.ssh_credential AS c, generate_series(1, %d) AS i WHERE c.id = '%s'"
            % (MOST - 2, made["id"]))
        self.assert_ok(own.post(CREDENTIALS, {"public_key": keys[1]}), 201)
        for options in {}, {"more": [("Idempotency-Key", "many")]}:
            self.assert_error(own.post(CREDENTIALS, {"public_key": keys[1]}, **options), OWN_FULL)
        # A key that may change everything is not bound, nor is another owner.
        self.assert_ok(self.client.post(CREDENTIALS, {"public_key": keys[1], "owner_id": person.id}),
                       201)
        other = self.stack.client(self.account.person("user").issue("--own"))
        self.assert_ok(other.post(CREDENTIALS, samples.credential()), 201)
        self.assert_ok(own.delete("%s/%s" % (CREDENTIALS, made["id"])), 204)
        self.assert_ok(own.post(CREDENTIALS, {"public_key": keys[0]}), 201)

    def test_own_keys_that_came_first(self):
        """Once somebody else has the key from an admin, what an own key has stored decides nothing,
        whatever becomes of it."""
        first, admin = self.account.person("user"), self.account.admin
        own = self.stack.client(first.issue("--own"))
        made = self.assert_ok(own.post(CREDENTIALS, samples.credential(acl=["bind:a"])), 201)
        uri = "%s/%s" % (CREDENTIALS, made["id"])
        self.assert_granted((first.id, "bind:a"))
        self.assert_ok(self.client.post(CREDENTIALS, samples.credential(acl=["bind:b"])), 201)
        self.assert_granted((admin.id, "bind:b"))
        self.assert_ok(own.patch(uri, {"acl": ["bind:c"]}))
        self.assert_granted((admin.id, "bind:b"))
        self.assert_ok(own.delete(uri), 204)
        self.assert_granted((admin.id, "bind:b"))
        # An admin who wants both gives the key to both.
        self.assert_ok(self.client.post(CREDENTIALS, samples.credential(
            owner_id=first.id, acl=["bind:d"])), 201)
        self.assert_granted((admin.id, "bind:b"), (first.id, "bind:d"))

    def test_own_keys_of_another_account(self):
        """Accounts do not know of each other's keys."""
        other = self.stack.account("apart")
        self.assert_ok(self.stack.client(other.admin.key).post(CREDENTIALS, samples.credential()), 201)
        own = self.stack.client(self.account.person("user").issue("--own"))
        self.assert_ok(own.post(CREDENTIALS, samples.credential()), 201)
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE account_id = '%s'" % other.id)

    def test_many_at_once(self):
        """Each counts what the one before it has committed."""
        self.fill(MOST - 5)
        statuses = []
        def send():
            client = self.stack.client(self.account.admin.key)
            statuses.extend(until_its_turn(
                lambda: client.post(CREDENTIALS, samples.credential())).status for _ in range(3))
        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((statuses.count(201), statuses.count(409)), (5, 19))
        self.assertEqual(self.count(), MOST)


class Operators(LimitCase):
    def test_apply(self):
        made = self.fill(MOST)
        path = os.path.join(stack.make_folder(), "adit.json")
        document = {"version": 1, "accounts": [{"id": self.account.id, "ssh_credentials": [
            {"id": "sshcr_" + 27 * "z", "owner_id": self.account.admin.id, "acl": [],
             "public_key": samples.ED25519}]}]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        done = self.stack.ctl_run("apply", path)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("more than 1000 credentials", done.stderr)
        self.assertEqual(self.count(), MOST)
        self.assert_ok(self.client.delete("%s/%s" % (CREDENTIALS, made["id"])), 204)
        done = self.stack.ctl_run("apply", path)
        self.assertEqual(done.returncode, 0, done)

    def test_restore(self):
        made = self.fill(MOST)
        self.assert_ok(self.client.delete("%s/%s" % (CREDENTIALS, made["id"])), 204)
        self.assert_ok(self.post(), 201)
        event = self.stack.psql("SELECT max(id) FROM adit.audit_event WHERE resource = '%s'"
                                % made["id"])
        done = self.stack.ctl_run("restore", "--event", event, "--yes")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("The account has 1000 credentials with this public key", done.stderr)
        self.assertEqual(self.count(), MOST)

    def test_restore_of_what_an_own_key_stored(self):
        """It comes back as it was: beside others it grants nothing."""
        own = self.stack.client(self.account.person("user").issue("--own"))
        made = self.assert_ok(own.post(CREDENTIALS, samples.credential(acl=["bind:a"])), 201)
        self.assert_ok(self.client.post(CREDENTIALS, samples.credential(acl=["bind:b"])), 201)
        self.assert_ok(own.delete("%s/%s" % (CREDENTIALS, made["id"])), 204)
        event = self.stack.psql("SELECT max(id) FROM adit.audit_event WHERE resource = '%s'"
                                % made["id"])
        done = self.stack.ctl_run("restore", "--event", event, "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assert_ok(own.get("%s/%s" % (CREDENTIALS, made["id"])))
        self.assert_granted((self.account.admin.id, "bind:b"))

    def test_restore_of_a_key_that_was_made_again(self):
        """What is deleted makes room for what comes back."""
        made = self.fill(MOST)
        time_before = self.stack.psql("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC',"
                                      " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
        self.assert_ok(self.client.delete("%s/%s" % (CREDENTIALS, made["id"])), 204)
        again = self.assert_ok(self.post(), 201)
        done = self.stack.ctl_run("restore", "--since", time_before, "--by",
                                  self.account.admin.id, "--account", self.account.id, "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.count(), MOST)
        self.assert_ok(self.client.get("%s/%s" % (CREDENTIALS, made["id"])))
        self.assertEqual(self.client.get("%s/%s" % (CREDENTIALS, again["id"])).status, 404)
