# SPDX-License-Identifier: MIT
"""What API keys for own credentials have stored of a public key grants nothing once another owner gets
the key from somebody who may change everything."""
import json
import os
import subprocess
import threading

from adit import samples, stack
from adit.case import Case, until, until_its_turn

CREDENTIALS = "/ssh_credentials"
OF_OTHERS = 9098


class OwnCase(Case):
    stack_name = "aditctl"

    def setUp(self):
        self.account = self.stack.account("own")
        self.client = self.stack.client(self.account.admin.key)
        self.person = self.account.person("user")
        self.own_key = self.person.issue("--own")
        self.own = self.stack.client(self.own_key)

    def tearDown(self):
        # Other tests of the stack count credentials.
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE account_id = '%s'" % self.account.id)

    def store(self, client, rule, **members):
        made = self.assert_ok(client.post(CREDENTIALS, samples.credential(acl=[rule], **members)), 201)
        return "%s/%s" % (CREDENTIALS, made["id"])

    def supersede(self):
        """Returns the paths of the person's own credential, and of the admin's with the same key."""
        return self.store(self.own, "bind:own"), self.store(self.client, "bind:given")

    def assert_rules(self, *rules):
        decision = self.assert_ok(self.client.post("/ssh_decisions",
                                                   {"public_key": samples.ED25519}))
        self.assertEqual(sorted(decision["acl"]), sorted("bind:" + rule for rule in rules))

    def assert_nothing(self):
        decision = self.assert_ok(self.client.post("/ssh_decisions",
                                                   {"public_key": samples.ED25519}))
        self.assertEqual(decision["credentials"], [])

    def standings(self):
        return self.stack.psql("SELECT standing FROM adit.ssh_credential WHERE account_id = '%s'"
                               " ORDER BY standing" % self.account.id).split()

    def ctl(self, *arguments):
        done = self.stack.ctl_run(*arguments)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def export(self):
        return json.loads(self.ctl("export", "-a", self.account.id))

    def apply(self, document, *options):
        path = os.path.join(stack.make_folder(), "adit.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return self.ctl("apply", *options, path)

    def restore(self, path):
        event = self.stack.psql("SELECT max(id) FROM adit.audit_event WHERE resource = '%s'"
                                % os.path.basename(path))
        self.ctl("restore", "--event", event, "--yes")


class Requests(OwnCase):
    def test_for_good(self):
        """The other's key does not get these rules when the other's credential goes."""
        path, given = self.supersede()
        self.assert_rules("given")
        self.assert_ok(self.client.delete(given), 204)
        self.assert_nothing()
        self.assert_ok(self.own.patch(path, {"acl": ["bind:more"]}))
        self.assert_ok(self.client.patch(path, {"description": "x"}))
        self.assert_nothing()
        self.assert_error(self.stack.client(self.account.own_key).post(
            CREDENTIALS, samples.credential()), OF_OTHERS)

    def test_an_admin_decides_its_rules(self):
        path, given = self.supersede()
        self.assert_ok(self.client.patch(path, {"acl": ["bind:decided"]}))
        self.assert_rules("decided", "given")
        self.assert_ok(self.client.delete(given), 204)
        self.assert_rules("decided")
        self.assertEqual(self.standings(), ["given"])
        # Given, it stands beside what comes later.
        self.store(self.client, "bind:later")
        self.assert_rules("decided", "later")

    def test_an_admin_takes_rules_away(self):
        """Whoever wants less does not wake it: an answer does not say that it grants nothing."""
        path = self.store(self.own, "bind:own")
        self.assert_ok(self.own.patch(path, {"acl": ["bind:a", "bind:b"]}))
        self.store(self.client, "bind:given")
        for rules in ["bind:b"], ["bind:b", "bind:b"], ["bind:b"]:
            self.assert_ok(self.client.patch(path, {"acl": rules}))
            self.assert_rules("given")
        self.assert_ok(self.client.patch(path, {"acl": []}))
        self.assertEqual(self.standings(), ["given", "given"])

    def test_rules_that_others_share(self):
        """Whoever could change them could end the sessions of others."""
        mine = self.store(self.client, "bind:mine", owner_id=self.person.id)
        self.assert_ok(self.own.patch(mine, {"acl": ["bind:alone"]}))
        given = self.store(self.client, "bind:given")
        for condition in (), (("If-Match", self.own.get(mine).header("ETag")),):
            with self.subTest(condition=condition):
                self.assert_error(self.own.patch(mine, {"acl": []}, more=condition), OF_OTHERS)
                self.assert_error(self.own.patch(mine, {"enabled": False}, more=condition), OF_OTHERS)
                self.assert_error(self.own.delete(mine, more=condition), OF_OTHERS)
        self.assert_rules("alone", "given")
        self.assert_ok(self.own.patch(mine, {"description": "mine", "acl": ["bind:alone"]}))
        self.assert_ok(self.client.delete(given), 204)
        self.assert_ok(self.own.patch(mine, {"acl": ["bind:mine"]}))
        # What grants nothing keeps nobody from it.
        self.assert_ok(self.own.delete(mine), 204)
        superseded, given = self.supersede()
        self.assert_error(self.own.delete(given), 9080)
        self.assert_ok(self.client.patch(given, {"acl": ["bind:later"]}))
        self.assert_ok(self.own.patch(superseded, {"acl": ["bind:a"]}))
        self.assert_ok(self.own.delete(superseded), 204)

    def test_another_credential_of_the_owner(self):
        """An owner has no rival in an admin who gives the owner more."""
        self.store(self.own, "bind:own")
        self.store(self.client, "bind:given", owner_id=self.person.id)
        self.assert_rules("given", "own")

    def test_its_revision(self):
        """No caller reads the mark: it keeps its revision, and nothing is recorded.  A change does more."""
        path = self.store(self.own, "bind:own")
        before = self.own.get(path)
        self.store(self.client, "bind:given")
        self.assertEqual(self.own.get(path).header("ETag"), before.header("ETag"))
        self.assert_ok(self.client.patch(path, {"acl": ["bind:decided"]}))
        self.assertNotEqual(self.own.get(path).header("ETag"), before.header("ETag"))
        events = self.stack.psql(
            "SELECT event, changed, principal_id, before ->> 'standing', after ->> 'standing'"
            " FROM adit.audit_event WHERE resource = '%s' ORDER BY id" % os.path.basename(path))
        self.assertEqual(events.splitlines(), [
            "ssh_credential_created||%s||own" % self.person.id,
            "ssh_credential_updated|{acl,standing}|%s|superseded|given" % self.account.admin.id])

    def test_two_at_the_same_moment(self):
        """The second waits for the first, and sees it."""
        key_id = self.stack.psql("SELECT id FROM adit.api_key WHERE principal_id = '%s'"
                                 " AND scope = 'own'" % self.person.id)
        other = self.stack.client(self.account.own_key)
        self.store(self.own, "bind:own")
        first = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(), text=True,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(first.communicate)
        first.stdin.write(
            "CREATE TEMPORARY TABLE c AS SELECT * FROM adit.ssh_credential WHERE account_id = '%s';"
            " DELETE FROM adit.ssh_credential WHERE account_id = '%s';"
            " BEGIN; SET LOCAL adit.caller = '%s %s';"
            " INSERT INTO adit.ssh_credential SELECT * FROM c; SELECT 'stored';\n"
            % (self.account.id, self.account.id, self.person.id, key_id))
        first.stdin.flush()
        self.assertEqual(first.stdout.readline(), "stored\n")
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            other.post(CREDENTIALS, samples.credential())))
        thread.start()
        until(lambda: answers or self.stack.n_waiting() > 0, "the request waits")
        first.stdin.write("COMMIT;\n")
        first.stdin.flush()
        thread.join()
        self.assert_error(answers[0], OF_OTHERS)


class Operators(OwnCase):
    def test_documents_keep_it(self):
        path, given = self.supersede()
        document = self.export()
        self.assertEqual(sorted(row.get("standing", "") for row
                                in document["accounts"][0]["ssh_credentials"]), ["", "superseded"])
        for gone in path, given:
            self.assert_ok(self.client.delete(gone), 204)
        self.apply(document)
        self.assert_rules("given")
        self.assert_ok(self.client.delete(given), 204)
        self.assert_nothing()
        self.assert_ok(self.client.delete(path), 204)
        self.store(self.own, "bind:own")
        document = self.export()
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE account_id = '%s'" % self.account.id)
        self.apply(document)
        self.assertEqual(self.standings(), ["own"])
        self.assertEqual(self.apply(document), "")

    def test_an_old_document_wakes_nothing_up(self):
        path = self.store(self.own, "bind:own")
        document = self.export()
        given = self.store(self.client, "bind:given")
        document["accounts"][0]["ssh_credentials"][0]["acl"] = ["bind:else"]
        self.apply(document)
        self.assert_rules("given")
        self.assert_ok(self.client.delete(given), 204)
        document["accounts"][0]["ssh_credentials"][0]["acl"] = ["bind:more"]
        self.apply(document)
        self.assert_nothing()
        # Without a standing, the document gives the credential.
        del document["accounts"][0]["ssh_credentials"][0]["standing"]
        self.apply(document)
        self.assert_rules("more")
        self.assert_ok(self.client.get(path))

    def test_a_document_gives_a_key(self):
        """In whichever order, and to another owner."""
        self.store(self.own, "bind:own")
        document = self.export()
        rows = document["accounts"][0]["ssh_credentials"]
        for ident in "sshcr_" + 27 * "0", "sshcr_" + 27 * "z":
            rows.append({"id": ident, "owner_id": self.account.admin.id, "acl": ["bind:given"],
                         "public_key": samples.ED25519})
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE account_id = '%s'" % self.account.id)
        self.apply(document)
        self.assertEqual(self.standings(), ["given", "given", "superseded"])

    def test_a_change_of_owner(self):
        """Another owner gets the key of an own credential."""
        self.store(self.own, "bind:own")
        given = self.store(self.client, "bind:given", owner_id=self.person.id)
        document = self.export()
        for row in document["accounts"][0]["ssh_credentials"]:
            if row["id"] == os.path.basename(given):
                row["owner_id"] = self.account.admin.id
        self.apply(document)
        self.assert_rules("given")

    def test_restore(self):
        """It comes back as it was."""
        path, given = self.supersede()
        self.assert_ok(self.client.delete(given), 204)
        self.assert_ok(self.own.delete(path), 204)
        self.restore(path)
        self.assert_nothing()
        # What was own is superseded if another owner has the key.
        self.assert_ok(self.own.delete(path), 204)
        path = self.store(self.own, "bind:own")
        self.assert_ok(self.own.delete(path), 204)
        self.store(self.client, "bind:given")
        self.restore(path)
        self.assert_rules("given")
        self.assertEqual(self.standings(), ["given", "superseded"])

    def test_an_old_event_wakes_nothing_up(self):
        path = self.store(self.own, "bind:own")
        self.assert_ok(self.own.patch(path, {"acl": ["bind:more"]}))
        event = self.stack.psql("SELECT max(id) FROM adit.audit_event WHERE resource = '%s'"
                                % os.path.basename(path))
        given = self.store(self.client, "bind:given")
        self.assert_ok(self.client.delete(given), 204)
        self.assertNotIn("standing", self.ctl("restore", "--event", event, "--yes"))
        self.assertEqual(self.assert_ok(self.client.get(path))["acl"], ["bind:own"])
        self.assert_nothing()

    def test_stored_while_it_was_given(self):
        """A transaction does not see what is stored while it runs: apply and restore look again."""
        document = self.export()
        del document["accounts"][0]["ssh_credentials"]
        deleted = self.store(self.client, "bind:deleted")
        self.assert_ok(self.client.delete(deleted), 204)
        self.supersede()
        for act in (lambda: self.apply(document), lambda: self.restore(deleted)):
            self.stack.psql("SET session_replication_role = replica; UPDATE adit.ssh_credential"
                            " SET standing = 'own' WHERE owner_id = '%s'" % self.person.id)
            self.assertEqual(self.standings(), ["given", "own"])
            act()
            self.assertIn("superseded", self.standings())

    def test_both_in_one_statement(self):
        """In either order, by an operator, and for a caller that shares the other's statement."""
        values = ("'sshcr_' || repeat('%s', 27), '%s', 'own'", "'sshcr_' || repeat('%s', 27), '%s', 'given'")
        for setting in "", "usr_x ak_x op_x 192.0.2.1":
            for order in (0, 1), (1, 0):
                with self.subTest(setting=setting, order=order):
                    owners = self.person.id, self.account.admin.id
                    self.stack.psql(
                        "BEGIN; SET LOCAL adit.caller = '%s'; INSERT INTO adit.ssh_credential (account_id,"
                        " key_type, fingerprint, public_key, id, owner_id, standing) SELECT '%s', 't',"
                        " 'SHA256:' || repeat('x', 43), 'k', r.* FROM (VALUES %s) AS r; COMMIT"
                        % (setting, self.account.id, ", ".join(
                            "(%s)" % (values[i] % (i, owners[i])) for i in order)))
                    self.assertEqual(self.standings(), ["given", "superseded"])
                    self.tearDown()

    def test_what_was_given_comes_back(self):
        given = self.store(self.client, "bind:given")
        self.assert_ok(self.client.delete(given), 204)
        self.store(self.own, "bind:own")
        self.restore(given)
        self.assert_rules("given")

    def test_a_change_beside_it(self):
        """An operator supersedes a credential and changes its rules: that is recorded."""
        path = self.store(self.own, "bind:own")
        before = self.own.get(path)
        document = self.export()
        document["accounts"][0]["ssh_credentials"][0].update(standing="superseded", acl=["bind:a"])
        self.apply(document)
        self.assert_nothing()
        self.assertNotEqual(self.own.get(path).header("ETag"), before.header("ETag"))
        self.assertEqual(self.stack.psql(
            "SELECT changed FROM adit.audit_event WHERE resource = '%s' ORDER BY id DESC LIMIT 1"
            % os.path.basename(path)), "{acl,standing}")

    def test_many_large_ones(self):
        """An admin gives the key to another owner, however much an own key has stored of it."""
        self.store(self.own, "bind:own")
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, public_key, key_type,"
            " fingerprint, standing, acl) SELECT c.account_id, 'sshcr_' || left(md5(c.id || i), 27),"
            " c.owner_id, c.public_key, c.key_type, c.fingerprint, 'own',"
            " (SELECT array_agg('bind:' || md5(concat(i, ' ', j)) || repeat('x', 20))"
            " FROM generate_series(1, 1000) AS j)"
            " FROM adit.ssh_credential AS c, generate_series(1, 499) AS i WHERE c.account_id = '%s'"
            % self.account.id)
        # A busy machine may need longer for that than a statement may take.
        self.assert_ok(until_its_turn(lambda: self.client.post(
            CREDENTIALS, samples.credential(acl=["bind:given"]))), 201)
        self.assert_rules("given")

    def test_who_and_permits(self):
        self.supersede()
        words = "permits", "-a", self.account.id, samples.ED25519_FINGERPRINT
        done = self.stack.ctl_run(*words, "own")
        self.assertEqual((done.returncode, done.stdout), (
            1, "not permitted: 1 credential has the key %s, and no rule permits own; 1 more does not"
            " count: paused, or superseded by another owner's\n" % samples.ED25519_FINGERPRINT))
        self.assertIn("bind:given", self.ctl(*words, "given"))
        self.assertNotIn("bind:own", self.ctl("who", "own", "-a", self.account.id))
