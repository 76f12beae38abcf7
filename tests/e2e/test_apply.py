# SPDX-License-Identifier: MIT
"""aditctl export, diff and apply: the round trip, matching, secrets, what is deleted, and what happens
under faults."""
import base64
import contextlib
import copy
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import threading

import jsonschema

from adit import cases, samples, stack
from adit.case import Case, until

SCHEMA = os.path.join(stack.ROOT, "doc", "document.schema.json")
ID = re.compile(r"(ac|usr|bot|sshcr)_[0-9A-Za-z]{27}")
KEYS = [text for name, text, kind, _ in samples.accepted_keys() if "BEGIN" in text][:2]
OTHER_KEY = [text for name, text, kind, _ in samples.accepted_keys() if "BEGIN" in text][-1]


def bot_id(letter):
    return "bot_" + 27 * letter


def credential_id(letter):
    return "sshcr_" + 27 * letter


class ApplyCase(Case):
    stack_name = "aditctl"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = stack.make_folder()
        with open(SCHEMA, encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        cls.schema = jsonschema.Draft202012Validator(schema)

    def setUp(self):
        self.account = self.stack.account("declared")
        self.client = self.stack.client(self.account.admin.key)

    def tearDown(self):
        # Other tests of the stack count credentials and secrets.
        self.stack.psql("DELETE FROM adit.oauth_module WHERE account_id = '%s';"
                        " DELETE FROM adit.ssh_credential WHERE account_id = '%s'" % (
                            self.account.id, self.account.id))

    def path(self, name="adit.json"):
        return os.path.join(self.folder, name)

    def write(self, document, name="adit.json"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            if isinstance(document, str):
                file.write(document)
            else:
                json.dump(document, file, indent=2)
        return self.path(name)

    def ctl(self, *arguments, status=0, **options):
        done = self.stack.ctl_run(*arguments, **options)
        self.assertEqual(done.returncode, status, done)
        return done

    def export(self, *options, **more):
        """The text of an account's document."""
        text = self.ctl("export", "--account", self.account.id, *options, **more).stdout
        self.schema.validate(json.loads(text))
        return text

    def document(self, **members):
        """A document of the account with these members."""
        return {"version": 1, "accounts": [{"id": self.account.id, **members}]}

    def run_on(self, verb, document, *options, status=0, env=None, **more):
        """Runs diff or apply, which may read the variables and files of the test.  Returns the rows
        [change, resource, id, members, name]."""
        path = document if isinstance(document, str) else self.write(document)
        if "--secret-files" not in options:
            options += ("--secret-files", self.folder)
        if "--secret-env" not in options:
            options += ("--secret-env", "SECRET")
        done = self.ctl(verb, "--json", *options, path, status=status,
                        env=dict(stack.CLEAN_ENV, **(env or {})), **more)
        if not done.stdout:
            return done.stderr
        found = json.loads(done.stdout)
        self.assertEqual(found["applied"], verb == "apply" and "--dry-run" not in options)
        self.assertTrue(all(row["account_id"].startswith("ac_") for row in found["changes"]))
        return [[row["change"], row["resource"], row["id"], row["members"] or [], row["name"]]
                for row in found["changes"]]

    def apply(self, document, *options, **more):
        return self.run_on("apply", document, *options, **more)

    def diff(self, document, *options, **more):
        return self.run_on("diff", document, *options, **more)

    def permit_keys_once(self):
        with open(os.path.join(stack.ROOT, "sql/optional/unique_public_keys.sql"),
                  encoding="utf-8") as file:
            self.stack.psql(file.read())
        self.addCleanup(self.stack.psql, "DROP INDEX adit.ssh_credential_unique_public_key")

    def fill(self):
        """Has some of everything.  Returns the id of a credential."""
        made = self.assert_ok(self.client.post("/ssh_credentials", samples.credential(
            description="läptop \"1\"\n", metadata="{}\t\\", acl=["bind:a.example", "bind:*=x"])), 201)
        self.assert_ok(self.client.post("/ssh_credentials", {
            "public_key": KEYS[0], "owner_id": self.account.bot.id}), 201)
        self.assert_ok(self.client.put("/edges/https/e1/routes/r1/oauth", {
            "provider": {"provider_a": {"teams": ["a/b"], "email_domains": ["a.example"]}},
            "cookie_prefix": "x.", "inactivity_timeout": 4294967295}))
        self.assert_ok(self.client.put("/edges/https/e1/routes/r2/oauth", {"enabled": False}))
        self.assert_ok(self.client.put("/edges/tls/t1/mutual_tls", {
            "certificate_authority_ids": ["ca_2", "ca_1"]}))
        return made["id"]


def lists_of(n):
    """Four lists with n entries together."""
    shapes = {"scopes": "s%d", "teams": "o/t%d", "organizations": "o%d", "email_domains": "d%d.a"}
    return {name: [shape % i for i in range(n) if i // 1000 == place]
            for place, (name, shape) in enumerate(shapes.items())}


class RoundTrip(ApplyCase):
    def test_stored_values_that_are_taken_no_more(self):
        """What a row has had since before stays in a document.  What differs is checked."""
        made = self.fill()
        key = "ssh-rsa a-key-of-former-times"
        self.stack.psql(
            "UPDATE adit.ssh_credential SET acl = '{bind:9000,bind:a.example}', public_key = '%s'"
            " WHERE id = '%s';"
            "UPDATE adit.oauth_module SET teams = '{x,x}', email_domains = '{a b}',"
            " cookie_prefix = 'a;b' WHERE account_id = '%s' AND route_id = 'r1';"
            "UPDATE adit.mutual_tls_module SET certificate_authority_ids = '{a/b}'"
            " WHERE account_id = '%s'" % (key, made, self.account.id, self.account.id))
        document = json.loads(self.ctl("export", "--account", self.account.id).stdout)
        self.assertEqual(self.diff(document), [])
        self.assertEqual(self.apply(document), [])
        account = document["accounts"][0]
        credential = next(row for row in account["ssh_credentials"] if row["id"] == made)
        oauth = next(row for row in account["oauth_modules"] if row["id"] == "r1")
        credential["metadata"] = "other"
        oauth["inactivity_timeout"] = 5
        account["mutual_tls_modules"][0]["enabled"] = False
        self.assertEqual(sorted(row[3] for row in self.apply(document)), [
            ["enabled"], ["inactivity_timeout"], ["metadata"]])
        self.assertEqual(self.diff(document), [])

        def refused(entry, member, value, says):
            before = entry.pop(member)
            entry[member] = value
            self.assertRegex(self.diff(document, status=3), says + ".*\n$")
            entry[member] = before
        refused(credential, "acl", ["bind:9000"], r"acl\[0\] is 'bind:9000'")
        refused(credential, "public_key", key + "x", "public_key")
        refused(credential, "public_key", KEYS[0], "is another key")
        refused(credential, "id", None, r"public_key(.|\n)*")
        refused(credential, "id", credential_id("a"), r"acl\[0\](.|\n)*key")
        refused(oauth, "cookie_prefix", "a;c", "cookie_prefix is 'a;c'")
        refused(oauth["provider"]["provider_a"], "teams", ["x"], r"provider_a.teams\[0\]")
        refused(account["mutual_tls_modules"][0], "certificate_authority_ids", ["a/b", "c"],
                r"certificate_authority_ids\[0\]")
        refused(account["mutual_tls_modules"][0], "id", "other", r"certificate_authority_ids\[0\]")

    def test_largest_module(self):
        """What the interface takes goes out in a document and an answer, and comes back in."""
        path = "/edges/https/e1/routes/r1/oauth"
        client = {"client_id": "c", "client_secret": "s"}
        for n, own in ((3991, client), (3992, {}), (3993, {})):
            lists = lists_of(n)
            if not own:
                lists["email_addresses"] = [name + "@a" for name in lists.pop("scopes")]
            stored = self.assert_ok(self.client.put(
                path, {"provider": {"provider_a": {**lists, **own}}}))
            self.assertEqual(self.apply(json.loads(self.export())), [])
            self.assertEqual(self.assert_ok(self.client.put(path, stored)), stored)
            self.assert_ok(self.client.post("/oauth_admissions", stored))
            listed = self.assert_ok(self.client.get("/oauth_modules"))["oauth_modules"]
            self.assertEqual(self.assert_ok(self.client.put(path, {
                "edge_id": "e1", "id": "r1", "module": listed[0].get("module", stored)})), stored)
        document = json.loads(self.export())
        self.ctl("apply", "--yes", "--prune", self.write(self.document(oauth_modules=[])))
        self.assertEqual(self.apply(document), [
            ["create", "oauth_module", "e1/r1", [], None]])
        stored["provider"]["provider_a"]["email_domains"].append("one-more.a")
        self.assert_error(self.client.put(path, stored), 213)
        self.assert_error(self.client.put(path, {"provider": {"provider_a": {
            "email_addresses": ["a@b"] * 4010}}}), 213)
        config = document["accounts"][0]["oauth_modules"][0]["provider"]["provider_a"]
        config["email_domains"].append("one-more.a")
        self.assertIn("3993 entries", self.stack.ctl_run("diff", self.write(json.dumps(document))).stderr)

    def other_database(self, name):
        """Settings for a new, empty database beside the stack's."""
        self.stack.psql("DROP DATABASE IF EXISTS %s" % name)
        self.stack.psql("CREATE DATABASE %s" % name)
        path = os.path.join(self.stack.state, name + ".conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r"dbname=\S+", "dbname=" + name, self.stack.read_conf()))
        self.addCleanup(os.remove, path)
        self.addCleanup(self.stack.psql, "DROP DATABASE %s" % name)
        self.ctl("migrate", conf=path)
        return path

    def test_many_into_an_empty_database(self):
        """A session that plans while a table is empty reads no more for each new row later."""
        conf = self.other_database("many_at_once")
        account = self.ctl("account", "create", conf=conf).stdout.strip()
        bot = self.ctl("bot", "create", "--name", "many", conf=conf).stdout.split()[0]
        n_read = self.stack.psql(
            "\\connect many_at_once\nBEGIN;"
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
            " public_key) SELECT '%s', 'sshcr_' || lpad(i::text, 27, '0'), '%s', 'ssh-ed25519',"
            " 'SHA256:' || lpad(i::text, 43, '0'), 'k' FROM generate_series(1, 2000) AS i;"
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables"
            " WHERE relid = 'adit.ssh_credential'::regclass; COMMIT" % (account, bot))
        self.assertLess(int(n_read), 10000)

    def test_into_an_empty_database(self):
        self.fill()
        self.stack.ctl("bot", "create", "--account", self.account.id, "--name", "never used")
        conf = self.other_database("apply_empty")
        text = self.export()
        self.assertEqual(text, self.export())
        rows = self.apply(self.write(text), conf=conf)
        self.assertEqual({row[0] for row in rows}, {"create"})
        self.assertEqual(self.ctl("export", conf=conf).stdout, text)
        self.assertEqual(self.diff(self.write(text), "--prune", conf=conf), [])
        # The key of the credentials is known to the gateway's look-up there.
        self.assertIn(samples.ED25519_FINGERPRINT, self.ctl("who", "a.example", conf=conf).stdout)

    def test_whole_deployment(self):
        self.fill()
        self.assertIn(self.account.id, self.ctl("export").stdout)
        self.assertEqual(self.diff(self.write(self.ctl("export").stdout), "--prune"), [])

    def test_standard_input(self):
        self.fill()
        self.ctl("apply", "-", input=self.export())

    def test_with_a_secret(self):
        self.assert_ok(self.client.put("/edges/https/e/routes/r/oauth", {
            "provider": {"provider_b": {"client_id": "app", "client_secret": "hush 1"}}}))
        text = self.export()
        self.assertNotIn("hush", text)
        conf = self.other_database("apply_secret")
        said = self.apply(self.write(text), conf=conf, status=1)
        self.assertIn("client_secret is only a digest, and none is stored", said)
        document = json.loads(text)
        module = document["accounts"][0]["oauth_modules"][0]
        module["provider"]["provider_b"]["client_secret"]["env"] = "SECRET"
        self.assertIn("another digest than the given secret", self.apply(
            document, conf=conf, status=1, env={"SECRET": "hush 2"}))
        self.apply(document, conf=conf, env={"SECRET": "hush 1"})
        self.assertEqual(self.ctl("export", conf=conf).stdout, text)

    def test_people_who_are_disabled(self):
        self.fill()
        before = self.export()
        person = self.account.bot.id
        self.stack.psql("UPDATE adit.principal SET disabled_at = now() WHERE id = '%s'" % person)
        after = self.export()
        self.assertIn('"is_disabled": true', after)
        self.assertNotIn("is_disabled", before)
        # An old document lets nobody in again.
        self.assertEqual(self.diff(self.write(before), "--prune"), [])
        document = json.loads(after)
        for entry in document["accounts"][0]["principals"]:
            entry["is_disabled"] = False
        self.assertEqual(self.apply(document),
                         [["update", "principal", person, ["is_disabled"], None]])
        self.assertEqual(self.export(), before)
        self.apply(self.write(after))
        self.assertEqual(self.export(), after)

    def test_an_older_document(self):
        """It gives nobody a credential who was disabled since, and says who was deleted."""
        person = self.account.person("user")
        made = self.assert_ok(self.stack.client(person.key).post(
            "/ssh_credentials", samples.credential()), 201)["id"]
        older = self.write(self.export(), "older.json")
        created = ["create", "ssh_credential", made, [], None]
        self.stack.ctl("user", "disable", "--with-credentials", "--yes", person.id)
        for verb, words, status in (("diff", [], 3), ("apply", ["--dry-run"], 1), ("apply", [], 1),
                                    ("apply", ["--prune", "--yes"], 1)):
            said = self.run_on(verb, older, *words, status=status)
            self.assertIn("The owner of %s is %s, which is disabled." % (made, person.id), said)
            self.assertIn("or add --enable", said)
        self.assertEqual(self.diff(older, "--enable", status=1), [created])
        self.assertEqual(self.apply(older, "--enable"), [created])
        # What it has stays as it is, and can be given away, but not back.
        self.assertEqual(self.diff(older), [])
        update = "UPDATE adit.ssh_credential SET owner_id = '%s' WHERE id = '%s'"
        self.stack.psql(update % (self.account.admin.id, made))
        self.assertIn("which is disabled", self.apply(older, status=1))
        # The document may enable its owner.
        document = json.loads(self.export())
        [principal] = [found for found in document["accounts"][0]["principals"]
                       if found["id"] == person.id]
        [credential] = document["accounts"][0]["ssh_credentials"]
        credential["owner_id"] = person.id
        self.assertIn("which is disabled", self.apply(document, status=1))
        principal["is_disabled"] = False
        self.assertEqual(len(self.apply(document)), 2)
        self.stack.ctl("user", "delete", "--with-credentials", "--yes", person.id)
        for verb, words, status in (("diff", [], 1), ("apply", ["--dry-run"], 0), ("apply", [], 0)):
            said = self.ctl(verb, *words, older, status=status).stderr
            self.assertRegex(said, "^aditctl: warning: %s was deleted at [-0-9]+T[:0-9]+Z, and this "
                                   "creates it again; [^\n]*\n$" % person.id)
        self.assertEqual(self.ctl("diff", older).stderr, "")

    def test_disabled_people_move_with_their_credentials(self):
        self.fill()
        self.stack.ctl("bot", "disable", self.account.bot.id)
        text = self.export()
        conf = self.other_database("apply_disabled")
        self.apply(self.write(text), conf=conf)
        self.assertEqual(self.ctl("export", conf=conf).stdout, text)

    def test_second_account(self):
        conf = self.other_database("apply_accounts")
        entries = [{"id": "ac_" + 27 * letter, "name": letter} for letter in "ABCD"]

        def said(verb, *ids, **more):
            document = {"version": 1, "accounts": [entries["ABCD".index(i)] for i in ids]}
            return self.ctl(verb, self.write(document), conf=conf, **more).stderr
        warning = "^aditctl: warning: this makes a second account beside ac_A{27}: [^\n]*\n$"
        self.assertEqual(said("apply", "A"), "")
        self.assertRegex(said("diff", "A", "B", "C", status=1), warning)
        self.assertRegex(self.ctl("account", "create", conf=conf).stderr, warning)
        self.assertEqual(said("apply", "D"), "")
        self.assertEqual(self.ctl("account", "create", conf=conf).stderr, "")

    def answer(self, word, *arguments, conf, n_questions=1):
        """Runs aditctl on a terminal and types a word at each question.  Returns its exit status, and
        what it said before."""
        ours, theirs = os.openpty()
        with subprocess.Popen([self.stack.env["ADITCTL"], "-c", conf, *arguments], stdin=theirs,
                              stdout=subprocess.PIPE, stderr=theirs, env=stack.CLEAN_ENV) as process:
            os.close(theirs)
            shown = b""
            for i in range(n_questions):
                while shown.count(b"Type yes") == i:
                    shown += os.read(ours, 4096)
                os.write(ours, word.encode() + b"\n")
            process.stdout.read()
            status = process.wait()
        os.close(ours)
        return status, shown.decode()

    def test_second_account_is_asked_for(self):
        """On a terminal, and before anything is changed."""
        conf = self.other_database("asked_accounts")
        path = self.write({"version": 1, "accounts": [{"id": "ac_" + 27 * "B"}]})

        def accounts():
            return len(json.loads(self.ctl("account", "list", "--json", conf=conf).stdout)["accounts"])
        self.ctl("account", "create", conf=conf)
        for words in ["account", "create"], ["apply", path]:
            with self.subTest(words):
                status, shown = self.answer("no", *words, conf=conf)
                self.assertEqual((status, accounts()), (1, 1))
                self.assertRegex(shown, "^aditctl: warning: this makes a second account beside ac_[^\n]*"
                                 "\nMake a second account\\? Type yes to go on: $")
        self.assertEqual(self.answer("yes", "apply", path, conf=conf)[0], 0)
        self.assertEqual(accounts(), 2)
        self.ctl("account", "delete", "ac_" + 27 * "B", conf=conf)
        self.ctl("account", "create", "--yes", conf=conf)
        self.assertEqual(accounts(), 2)

    def test_second_account_that_comes_back(self):
        conf = self.other_database("restored_accounts")
        self.ctl("account", "create", conf=conf)
        gone = self.ctl("account", "create", conf=conf).stdout.strip()
        self.ctl("account", "delete", gone, conf=conf)
        found = json.loads(self.ctl("history", gone, "--json", conf=conf).stdout)["events"]
        said = self.ctl("restore", "--event", found[-1]["id"], "--yes", conf=conf).stderr
        self.assertIn("warning: this makes a second account beside ac_", said)

    def test_more_than_is_read(self):
        """export writes no document that diff and apply do not read."""
        said = "has more than 256 MiB"
        path = self.path("large.json")
        with open(path, "wb") as file:
            file.truncate(256 * 1024 * 1024 + 1)
        self.addCleanup(os.remove, path)
        self.assertIn(said, self.ctl("diff", path, status=3).stderr)
        self.stack.psql("INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
                        " public_key, acl) SELECT '%s', 'sshcr_' || lpad(i::text, 27, '0'), '%s',"
                        " 'ssh-ed25519', '%s', 'k', array_fill('bind:k=' || repeat('x', 250),"
                        " ARRAY[1000]) FROM generate_series(1, 1000) AS i" % (
                            self.account.id, self.account.admin.id, samples.ED25519_FINGERPRINT))
        done = subprocess.run([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "export",
                               "--account", self.account.id], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, env=stack.CLEAN_ENV, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the document %s, which 'aditctl diff' and 'aditctl apply' do not read; export"
                      " parts of it, with --account or --owner\n" % said, done.stderr)
        self.assertLess(len(self.ctl("export", "--owner", self.account.member.id).stdout), 1000)

    def test_owner(self):
        self.fill()
        bot = self.account.bot.id
        text = self.export("--owner", bot)
        entry = json.loads(text)["accounts"][0]
        self.assertEqual(entry["owners"], [bot])
        self.assertEqual([found["id"] for found in entry["principals"]], [bot])
        self.assertEqual([found["owner_id"] for found in entry["ssh_credentials"]], [bot])
        self.assertNotIn("oauth_modules", entry)
        self.assertEqual(self.diff(self.write(text), "--prune"), [])
        document = json.loads(text)
        credential = document["accounts"][0]["ssh_credentials"].pop()
        self.assertEqual(self.apply(document, "--prune", "--yes"),
                         [["delete", "ssh_credential", credential["id"], [], None]])
        self.assertEqual(len(json.loads(self.export())["accounts"][0]["ssh_credentials"]), 1)

    def test_keys_of_other_owners(self):
        """A document for one owner is not about another's credential with the same key."""
        bot, member = self.account.bot.id, self.account.member.id
        body = {"public_key": KEYS[0], "description": "shared", "acl": ["bind:a.example.com"]}
        theirs = self.assert_ok(self.client.post(
            "/ssh_credentials", dict(body, owner_id=member)), 201)["id"]

        def document(owners, **members):
            return self.document(owners=owners, ssh_credentials=[dict(
                body, acl=["bind:b.example.com"], **members)])
        self.assertIn("%s belongs to %s, which is not in the account's owners." % (theirs, member),
                      self.diff(document([bot], id=theirs), status=3))
        for options in [], ["--prune", "--yes"]:
            rows = self.apply(document([bot]), *options)
            self.assertEqual([row[:2] for row in rows],
                             [["create", "ssh_credential"]] if not options else [])
        stored = {found["id"]: (found["owner_id"], found["acl"]) for found in
                  json.loads(self.export())["accounts"][0]["ssh_credentials"]}
        self.assertEqual(stored.pop(theirs), (member, ["bind:a.example.com"]))
        self.assertEqual(list(stored.values()), [(bot, ["bind:b.example.com"])])
        # Among the owners of the document, the key names it.
        self.assertEqual([row[:3] for row in self.apply(document([member], owner_id=member))],
                         [["update", "ssh_credential", theirs]])

    def test_credential_of_another_that_is_alike(self):
        """An entry without an id is not about a credential that another owner has put in its place, nor
        about a later one of its owner."""
        bot, member = self.account.bot.id, self.account.member
        own = self.stack.client(member.issue())
        body = {"public_key": KEYS[0], "description": "build"}
        document = self.document(ssh_credentials=[dict(body, owner_id=bot, acl=["bind:a.example"])])
        others = {self.assert_ok(own.post("/ssh_credentials", body), 201)["id"]}
        warned = "%s of %s has the key and description of ssh_credentials[0] in accounts[0], which"
        done = self.ctl("apply", self.write(document))
        self.assertIn(warned % (min(others), member.id), done.stderr)
        [made] = [found for found in json.loads(self.export())["accounts"][0]["ssh_credentials"]
                  if found["owner_id"] == bot]
        self.assertEqual(self.diff(document), [])
        # A second one of the owner, and more of the other.
        others.add(self.assert_ok(own.post("/ssh_credentials", body), 201)["id"])
        twin = self.assert_ok(self.client.post("/ssh_credentials", dict(body, owner_id=bot)), 201)["id"]
        self.assertEqual(self.diff(document), [])
        document["accounts"][0]["ssh_credentials"][0]["acl"] = ["bind:b.example"]
        self.assertEqual(self.apply(document), [["update", "ssh_credential", made["id"], ["acl"], "build"]])
        self.assertEqual({row[2] for row in self.apply(document, "--prune", "--yes")}, others | {twin})
        # Whose is one without an owner?
        del document["accounts"][0]["ssh_credentials"][0]["owner_id"]
        self.assertIn("owner_id is missing, and the account has not just one",
                      self.diff(document, status=3))
        document["accounts"][0]["owners"] = [bot]
        self.assertEqual(self.diff(document), [])
        # Where two have the same key and description, each has an entry.
        document["accounts"][0].pop("owners")
        document["accounts"][0]["ssh_credentials"] = [dict(body, owner_id=bot, acl=["bind:b.example"]),
                                                      dict(body, owner_id=member.id)]
        self.assertEqual([row[:2] for row in self.apply(document)], [["create", "ssh_credential"]])
        self.assertEqual(self.ctl("diff", "--prune", self.path()).stderr, "")

    def test_export_of_nobody(self):
        for option, ident, says in (("--account", "ac_x", "no account with the id 'ac_x'"),
                                    ("--owner", "usr_x", "no User or Bot with the id 'usr_x'")):
            self.assertIn(says, self.ctl("export", option, ident, status=1).stderr)
        other = self.stack.account("other")
        self.ctl("export", "--account", other.id, "--owner", self.account.admin.id, status=1)


class Changes(ApplyCase):
    def test_small_file(self):
        document = self.document(ssh_credentials=[samples.credential(description="laptop")])
        self.assertEqual(self.diff(document, status=1),
                         [["create", "ssh_credential", None, [], "laptop"]])
        [[_, _, ident, _, _]] = self.apply(document)
        self.assert_ident(ident, "sshcr")
        self.assertEqual(self.diff(document), [])
        found = self.assert_ok(self.client.get("/ssh_credentials/" + ident))
        self.assertEqual((found["owner_id"], found["acl"]), (self.account.admin.id, []))
        # The key and the description find it again.
        document["accounts"][0]["ssh_credentials"][0]["acl"] = ["bind:b.example"]
        self.assertEqual(self.apply(document),
                         [["update", "ssh_credential", ident, ["acl"], "laptop"]])
        document["accounts"][0]["ssh_credentials"][0]["description"] = "desktop"
        self.assertEqual(self.diff(document, "--prune", status=1),
                         [["create", "ssh_credential", None, [], "desktop"],
                          ["delete", "ssh_credential", ident, [], "laptop"]])

    def test_every_member(self):
        ident = self.fill()
        document = json.loads(self.export())
        entry = document["accounts"][0]
        entry["name"] = "renamed"
        for person in entry["principals"]:
            person["name"], person["is_admin"] = "p", not person["is_admin"]
        credential = next(found for found in entry["ssh_credentials"] if found["id"] == ident)
        credential.update(description="d", metadata="m", acl=["*"], owner_id=self.account.bot.id,
                          public_key=credential["public_key"] + "\n")
        entry["oauth_modules"][0].update(
            enabled=False, options_passthrough=True, cookie_prefix=None, inactivity_timeout=1,
            maximum_duration=2, auth_check_interval=3, provider={"provider_h": {
                "client_id": "c", "client_secret": {"env": "SECRET"}, "scopes": ["s"],
                "email_addresses": ["a@b.example"]}})
        entry["mutual_tls_modules"][0].update(enabled=False, certificate_authority_ids=["ca_9"])
        rows = self.apply(document, env={"SECRET": "s"})
        members = {(row[1], row[2]): set(row[3]) for row in rows}
        self.assertEqual({row[0] for row in rows}, {"update"})
        self.assertEqual(members["account", self.account.id], {"name"})
        self.assertEqual(members["principal", self.account.bot.id], {"name", "is_admin"})
        self.assertEqual(members["ssh_credential", ident],
                         {"description", "metadata", "acl", "owner_id", "public_key"})
        self.assertEqual(members["oauth_module", "e1/r1"], {
            "enabled", "provider", "options_passthrough", "cookie_prefix", "inactivity_timeout",
            "maximum_duration", "auth_check_interval", "client_id", "client_secret", "scopes",
            "email_addresses", "email_domains", "teams"})
        self.assertEqual(members["mutual_tls_module", "t1"], {"enabled", "certificate_authority_ids"})
        digest = json.loads(self.export())["accounts"][0]["oauth_modules"][0]["provider"][
            "provider_h"]["client_secret"]
        entry["oauth_modules"][0]["provider"]["provider_h"]["client_secret"] = digest
        self.assertEqual(self.diff(document, "--prune"), [])

    def test_only_what_differs_is_written(self):
        ident = self.fill()
        tags = [self.client.get(path).header("ETag") for path in (
            "/ssh_credentials/" + ident, "/edges/https/e1/routes/r1/oauth")]
        document = json.loads(self.export())
        document["accounts"][0]["oauth_modules"][0]["enabled"] = False
        last = self.stack.psql("SELECT max(id) FROM adit.audit_event")
        self.apply(document)
        self.assertEqual(self.stack.psql(
            "SELECT event, resource, changed FROM adit.audit_event WHERE id > %s" % last),
            "oauth_module_updated|e1/r1|{enabled}")
        self.assertNotEqual(self.stack.psql("SELECT operator FROM adit.audit_event"
                                            " ORDER BY id DESC LIMIT 1"), "")
        after = [self.client.get(path).header("ETag") for path in (
            "/ssh_credentials/" + ident, "/edges/https/e1/routes/r1/oauth")]
        self.assertEqual(after[0], tags[0])
        self.assertNotEqual(after[1], tags[1])
        last = self.stack.psql("SELECT max(id) FROM adit.audit_event")
        self.assertEqual(self.apply(document), [])
        self.assertEqual(self.stack.psql("SELECT max(id) FROM adit.audit_event"), last)

    def test_lines(self):
        self.fill()
        path = self.write(self.document(mutual_tls_modules=[{"id": "t1"}, {"id": "t2"}]))
        done = self.ctl("diff", "--prune", path, status=1)
        self.assertEqual([line.split("\t") for line in done.stdout.splitlines()], [
            ["CHANGE", "RESOURCE", "ID", "NAME", "ACCOUNT", "VALUES"],
            ["update", "mutual_tls_module", "t1", "-", self.account.id,
             'certificate_authority_ids: ["ca_2","ca_1"] -> []'],
            ["create", "mutual_tls_module", "t2", "-", self.account.id, "-"]])
        self.assertEqual(self.ctl("apply", "--dry-run", path).stdout, done.stdout)
        self.assertEqual(self.ctl("diff", path, status=1).stdout, done.stdout)
        self.ctl("apply", path)
        self.assertEqual(self.ctl("diff", path).stdout, "")

    def values(self, document, **more):
        """What diff shows of the first change: to people, and to programs."""
        options = ("--secret-env", "SECRET", self.write(document))
        shown = self.ctl("diff", *options, status=1, **more).stdout.splitlines()[1].split("\t")[-1]
        row = json.loads(self.ctl("diff", "--json", *options, status=1, **more).stdout)["changes"][0]
        return shown, row["before"], row["after"]

    def test_values(self):
        """diff shows the old and the new value of each member that differs, and no secret."""
        self.fill()
        self.assert_ok(self.client.put("/edges/https/e3/routes/r3/oauth", {
            "provider": {"provider_b": {"client_id": "app", "client_secret": "hush old"}}}))
        document = json.loads(self.export())
        [credential, _] = document["accounts"][0]["ssh_credentials"]
        credential["acl"] = ["bind:a.example"]
        credential["metadata"] = ""
        self.assertEqual(self.values(document), (
            r'metadata: "{}\t\\" -> ""; acl: ["bind:a.example","bind:*=x"] -> ["bind:a.example"]',
            {"metadata": "{}\t\\", "acl": ["bind:a.example", "bind:*=x"]},
            {"metadata": "", "acl": ["bind:a.example"]}))
        document = json.loads(self.export())
        module = document["accounts"][0]["oauth_modules"][2]
        module["provider"] = {"provider_c": {"client_id": "app",
                                             "client_secret": {"env": "SECRET"}}}
        env = dict(stack.CLEAN_ENV, SECRET="hush new")
        self.assertEqual(self.values(document, env=env), (
            'provider: "provider_b" (Facebook) -> "provider_c" (Microsoft); client_secret: set from the'
            ' variable SECRET',
            {"provider": "provider_b"}, {"provider": "provider_c"}))
        module["provider"] = {}
        self.assertEqual(self.values(document)[0], 'provider: "provider_b" (Facebook) -> null;'
                         ' client_id: "app" -> null; client_secret: removed')

    def test_warnings_of_modules(self):
        """A route that a document opens, or a list by which nobody passes, is named before it is so."""
        module = {"edge_id": "e", "id": "r", "provider": {"provider_a": {
            "client_id": "app", "client_secret": {"env": "SECRET"}}}}
        config = module["provider"]["provider_a"]
        document = {"version": 1, "accounts": [{"id": self.account.id, "oauth_modules": [module]}]}
        env = dict(stack.CLEAN_ENV, SECRET="hush")
        for members, words in (
                ({}, "anyone with an account at GitHub passes"),
                ({"scopes": ["x"], "teams": ["o/t"]},
                 "nobody passes by teams: the module's scopes have none of these: read:org,"),
                ({"scopes": [], "teams": ["o/t"]}, None)):
            with self.subTest(words):
                config.update(members)
                said = self.ctl("diff", "--secret-env", "SECRET", self.write(document), status=1,
                                env=env).stderr
                if words:
                    self.assertTrue(said.startswith("aditctl: warning: edge e, route r: " + words), said)
                else:
                    self.assertEqual(said, "")
        module["enabled"] = False
        said = self.ctl("diff", "--secret-env", "SECRET", self.write(document), status=1, env=env)
        self.assertEqual(said.stderr, "aditctl: warning: edge e, route r: everybody passes: the module"
                         " is disabled\n")
        self.ctl("apply", "--yes", "--secret-env", "SECRET", self.write(document), env=env)
        document["accounts"][0]["oauth_modules"] = []
        said = self.ctl("diff", "--prune", self.write(document), status=1).stderr
        self.assertTrue(said.startswith("aditctl: warning: edge e, route r: everybody passes a route"
                                        " without a module"), said)

    def test_warnings_of_edges_and_rules(self):
        made = self.assert_ok(self.client.post("/ssh_credentials", samples.credential(acl=["bind:a.example"])), 201)
        self.assert_ok(self.client.put("/edges/tls/e/mutual_tls", {"certificate_authority_ids": ["ca_1"]}))
        document = json.loads(self.export())
        account = document["accounts"][0]
        edge, credential = account["mutual_tls_modules"][0], account["ssh_credentials"][0]

        def said(*options):
            return self.ctl("diff", *options, self.write(document), status=1).stderr
        edge["enabled"] = False
        self.assertEqual(said(), "aditctl: warning: TLS edge e: everybody passes: the module is disabled\n")
        edge.update(enabled=True, certificate_authority_ids=[])
        self.assertEqual(said(), "aditctl: warning: TLS edge e: nobody passes: the module has no certificate"
                         " authority\n")
        account["mutual_tls_modules"] = []
        self.assertEqual(said("--prune"), "aditctl: warning: TLS edge e: everybody passes an edge without a"
                         " module\n")
        account["mutual_tls_modules"] = [dict(edge, certificate_authority_ids=["ca_1", "ca_2"])]
        credential["acl"] = ["bind:b.example"]
        self.assertEqual(said(), "")
        credential["acl"] = []
        self.assertEqual(said(), "aditctl: warning: credential %s loses its rules, and may bind everything\n"
                         % made["id"])

    def test_warnings_of_rules_undone(self):
        """Undoing a change that brought rules warns; the other way round is no news."""
        made = self.assert_ok(self.client.post("/ssh_credentials", samples.credential(acl=["bind:a.example"])), 201)
        path = "/ssh_credentials/" + made["id"]
        warning = "aditctl: warning: credential %s loses its rules, and may bind everything\n" % made["id"]
        for acl, wanted in ([], []), (["bind:c.example"], [warning]):
            self.assert_ok(self.client.patch(path, {"acl": acl}))
            event = self.stack.psql("SELECT max(id) FROM adit.audit_event WHERE resource = '%s'" % made["id"])
            done = self.ctl("restore", "--event", event, "--dry-run")
            self.assertEqual([line for line in done.stderr.splitlines(True) if "warning" in line], wanted, done)

    def test_long_values(self):
        """People see what differs in a long value; programs see all of it."""
        long = {"description": "d", "acl": ["bind:d%d.example" % n for n in range(100)]}
        self.assert_ok(self.client.post("/ssh_credentials", samples.credential(**long)), 201)
        wanted = dict(long, acl=list(long["acl"]))
        wanted["acl"][50] = "bind:x.example"
        shown, before, after = self.values(self.document(
            ssh_credentials=[samples.credential(**wanted)]))
        self.assertEqual((before, after), ({"acl": long["acl"]}, {"acl": wanted["acl"]}))
        self.assertRegex(shown, '^acl: [.]{3}.{,20}"bind:d50[.]example".{,20}[.]{3}'
                         ' -> [.]{3}.{,20}"bind:x[.]example".{,20}[.]{3}$')
        shown, _, _ = self.values(self.document(ssh_credentials=[samples.credential(
            description="d", acl=[], metadata="ä" * 2000)]))
        self.assertRegex(shown, r'^metadata: "" -> "ä{99,100}[.]{3}; acl: .{200}[.]{3} -> \[\]$')

    def test_ids_of_the_file(self):
        when = "2001-02-03T04:05:06Z"
        document = self.document(
            principals=[{"id": bot_id("a"), "name": "n", "is_admin": True}],
            ssh_credentials=[samples.credential(id=credential_id("a"), created_at=when,
                                                owner_id=bot_id("a"))])
        self.addCleanup(self.stack.psql, "DELETE FROM adit.ssh_credential WHERE owner_id = '%s';"
                        " DELETE FROM adit.principal WHERE id = '%s'" % (bot_id("a"), bot_id("a")))
        self.apply(document)
        found = self.assert_ok(self.client.get("/ssh_credentials/" + credential_id("a")))
        self.assertEqual((found["created_at"], found["owner_id"]), (when, bot_id("a")))
        other = self.stack.account("other")
        document["accounts"][0]["id"] = other.id
        self.assertIn("is in the account %s already" % self.account.id,
                      self.apply(document, status=1))

    def test_only_account(self):
        said = self.apply({"version": 1, "accounts": [{"mutual_tls_modules": []}]}, status=1)
        self.assertIn("id is missing, and there is not just one account", said)

    def test_file_for_one_account(self):
        other = self.stack.account("other")
        both = {"version": 1, "accounts": [
            {"id": account.id, "mutual_tls_modules": [{"id": "t9"}]} for account in (self.account, other)]}
        said = self.apply(both, "--account", self.account.id, status=1)
        self.assertIn("accounts[1]: The account is %s, and --account permits only %s."
                      % (other.id, self.account.id), said)
        del both["accounts"][1]
        self.assertIn("--account permits only", self.apply(both, "--account", other.id, status=1))
        for account in (self.account, other):
            self.assert_error(self.stack.client(account.admin.key).get("/edges/tls/t9/mutual_tls"), 9004)
        self.assertEqual(len(self.apply(both, "--account", self.account.id)), 1)
        del both["accounts"][0]["id"]
        self.assertIn("id is missing. With --account, the file names it.",
                      self.apply(both, "--account", other.id, status=1))


class Pruning(ApplyCase):
    def test_within_the_file(self):
        ident = self.fill()
        other = self.stack.account("other")
        self.stack.client(other.admin.key).put("/edges/tls/t1/mutual_tls", {})
        document = self.document(mutual_tls_modules=[])
        self.assertEqual(self.apply(document), [])
        self.assertIn("this needs --yes", self.apply(document, "--prune", status=2))
        self.assertEqual(self.apply(document, "--prune", "--yes"),
                         [["delete", "mutual_tls_module", "t1", [], None]])
        self.assert_ok(self.client.get("/ssh_credentials/" + ident))
        self.assert_ok(self.stack.client(other.admin.key).get("/edges/tls/t1/mutual_tls"))

    def test_everything(self):
        self.fill()
        self.account.bot.issue()
        document = self.document(principals=[{"id": self.account.admin.id, "is_admin": True}],
                                 ssh_credentials=[], oauth_modules=[], mutual_tls_modules=[])
        rows = self.apply(document, "--prune", "--yes")
        self.assertEqual([row[0:3] for row in rows if row[0] == "delete"][0],
                         ["delete", "principal", self.account.bot.id])
        self.assertEqual(len(rows), 6)
        left = json.loads(self.export())["accounts"][0]
        self.assertEqual([left["ssh_credentials"], left["oauth_modules"], left["mutual_tls_modules"]],
                         [[], [], []])
        self.assertEqual(self.diff(document, "--prune"), [])

    def test_owner_that_is_deleted(self):
        """diff finds what apply could not do: credentials stay, and their owner goes."""
        ident = self.fill()
        bot = self.account.bot.id
        before = self.export()
        document = json.loads(before)
        entry = document["accounts"][0]
        entry["principals"] = [{"id": self.account.admin.id, "is_admin": True}]
        kept = next(found["id"] for found in entry["ssh_credentials"] if found["id"] != ident)
        for run, status in (self.diff, 3), (self.apply, 1):
            with self.subTest(run.__name__):
                said = run(document, "--prune", status=status)
                self.assertRegex(said, r"ssh_credentials\[\d\]: The owner of %s is %s, which is not in"
                                 " principals, so --prune deletes it." % (kept, bot))
                self.assertEqual(said.count("\n"), 1)
        del entry["ssh_credentials"]
        self.assertIn("accounts[0]: %s is not in principals, so --prune deletes it, but it owns"
                      " credentials that the file is not about, such as %s. Add it there, or first"
                      " run: aditctl bot delete --give-to ID %s\n" % (bot, kept, bot),
                      self.diff(document, "--prune", status=3))
        entry["ssh_credentials"] = [samples.credential(owner_id=bot)]
        self.assertIn("owner_id names no User or Bot", self.diff(document, "--prune", status=3))
        self.assertEqual(self.export(), before)
        # Neither a new owner nor a deletion leaves anything of it.
        other = self.stack.client(self.account.bot.key)
        self.assert_ok(other.post("/ssh_credentials", samples.credential(description="2nd")), 201)
        entry["ssh_credentials"] = [{"id": kept, "public_key": KEYS[0],
                                     "owner_id": self.account.admin.id}]
        rows = self.apply(document, "--prune", "--yes")
        self.assertIn(["update", "ssh_credential", kept, ["owner_id"], None], rows)
        self.assertIn(["delete", "ssh_credential", ident, [], 'läptop "1"\n'], rows)
        self.assertIn(["delete", "principal", bot, [], None], rows)

    def test_members_of_people_that_are_left_out(self):
        """They stay as they are; a User or Bot that is created has no name and is no admin."""
        admin, new = self.account.admin.id, bot_id("m")
        self.stack.ctl("user", "rename", admin, "--name", "ada")
        for entry, changes in (({"id": admin}, []), ({"id": admin, "name": None, "is_admin": None}, []),
                               ({"id": admin, "is_admin": True}, []), ({"id": admin, "name": "ada"}, []),
                               ({"id": admin, "name": "eva"}, ["name"]),
                               ({"id": admin, "is_admin": False}, ["is_admin"])):
            with self.subTest(entry):
                self.assertEqual([row[3] for row in self.apply(self.document(principals=[entry]))],
                                 [changes] if changes else [])
        self.apply(self.document(principals=[{"id": new}]))
        people = {found["id"]: found for found in json.loads(self.export())["accounts"][0]["principals"]}
        self.assertEqual(people[admin], {"id": admin, "name": "eva", "is_admin": False})
        self.assertEqual(people[new], {"id": new, "name": "", "is_admin": False})

    def test_last_admin(self):
        admin, bot = self.account.admin.id, self.account.bot.id
        warning = "warning: this leaves the account %s without an enabled admin; to create one," \
            " run: aditctl user create --admin --account %s\n" % (self.account.id, self.account.id)
        people = {"admin": {"id": admin, "is_admin": True}, "no more": {"id": admin, "is_admin": False},
                  "disabled": {"id": admin, "is_admin": True, "is_disabled": True},
                  "bot": {"id": bot}, "another": {"id": bot, "is_admin": True},
                  "new": {"id": bot_id("n"), "is_admin": True}}
        for names, options, is_last in (
                (["admin"], [], False), (["no more"], [], True), (["disabled"], [], True),
                (["admin"], ["--prune"], False), (["bot"], ["--prune"], True),
                (["no more", "another"], [], False), (["disabled", "new"], [], False),
                ([], ["--prune"], True), ([], [], False)):
            with self.subTest("%s %s" % (names, options)):
                path = self.write(self.document(principals=[people[name] for name in names]))
                for words in ["diff"], ["apply", "--dry-run"]:
                    said = self.stack.ctl_run(*words, *options, path).stderr
                    self.assertEqual(said, "aditctl: " + warning if is_last else "")
        # One without an admin loses none.
        self.apply(self.document(principals=[people["no more"]]))
        self.assertEqual(self.ctl("diff", self.write(self.document(
            principals=[dict(people["no more"], name="n")])), status=1).stderr, "")

    def test_asks_on_a_terminal(self):
        """The question says what is deleted; the result is printed once, and only if it was done."""
        self.fill()
        path = self.write(self.document(mutual_tls_modules=[]))
        for options, answer, status in ([], b"no\n", 1), ([], b"\x04", 1), (["--json"], b"no\n", 1), \
                (["--json"], b"yes\n", 0):
            ours, theirs = os.openpty()
            with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "apply",
                                   "--prune", *options, path], stdin=theirs, stdout=subprocess.PIPE,
                                  stderr=theirs, env=stack.CLEAN_ENV) as process:
                os.close(theirs)
                shown = b""
                while b"Type yes" not in shown:
                    shown += os.read(ours, 4096)
                os.write(ours, answer)
                result = process.stdout.read()
                self.assertEqual(process.wait(), status)
            os.close(ours)
            self.assertIn(b"delete mutual_tls_module t1\r\nDelete 1 resource? Type yes", shown)
            self.assertEqual(self.client.get("/edges/tls/t1/mutual_tls").status, 404 if status == 0 else 200)
            if status == 0:
                found = json.loads(result)  # one value, and nothing else
                self.assertEqual((found["applied"], len(found["changes"])), (True, 1))
            else:
                self.assertEqual(result, b"")

    def test_without_a_terminal(self):
        self.fill()
        path = self.write(self.document(mutual_tls_modules=[], oauth_modules=[]))
        done = self.ctl("apply", "--prune", path, status=2)
        self.assertEqual(done.stdout, "")
        for said in ("delete oauth_module e1/r1\n", "delete mutual_tls_module t1\n",
                     "nothing was changed: without a terminal to ask on, this needs --yes"):
            self.assertIn(said, done.stderr)


class Secrets(ApplyCase):
    ROUTE = "/edges/https/e/routes/r/oauth"

    def module(self, secret, provider="provider_c", **members):
        return self.document(oauth_modules=[{"edge_id": "e", "id": "r", "provider": {
            provider: {"client_id": "app", "client_secret": secret, **members}}}])

    def stored(self, provider="provider_c"):
        return self.assert_ok(self.client.get(self.ROUTE))["provider"][provider]["client_secret"]

    def test_from_the_environment(self):
        document = self.module({"env": "SECRET"})
        self.assertEqual(self.apply(document, env={"SECRET": "hush é"})[0][0], "create")
        self.assertEqual(self.stored(), "hush é")
        self.assertEqual(self.apply(document, env={"SECRET": "hush é"}), [])
        self.assertEqual(self.apply(document, env={"SECRET": "new"}),
                         [["update", "oauth_module", "e/r", ["client_secret"], None]])
        self.assertEqual(self.stored(), "new")

    def test_from_a_file(self):
        path = self.write("from a file\n", "secret")
        os.chmod(path, 0o600)
        self.apply(self.module({"file": "secret"}))
        self.assertEqual(self.stored(), "from a file")
        link = self.path("link")
        os.symlink("secret", link)
        self.assertEqual(self.apply(self.module({"file": "link"})), [])
        os.chmod(path, 0o644)
        self.assertIn("others may read or write; run: chmod o= on it",
                      self.apply(self.module({"file": "secret"}), status=1))
        self.assertIn("is not a regular file", self.apply(self.module({"file": "."}), status=1))
        os.mkfifo(self.path("fifo"))
        self.assertIn("is not a regular file", self.apply(self.module({"file": "fifo"}), status=1))
        self.assertIn("cannot be opened: No such file", self.apply(
            self.module({"file": "missing"}), status=1))

    def refuse_source(self, secret, says, *options, hidden="hush", **more):
        """Neither diff nor apply reads it, and neither shows it."""
        for verb, status in (("diff", 3), ("apply", 1)):
            said = self.run_on(verb, self.module(secret), *options, status=status, **more)
            self.assertIn("client_secret is from the", said)
            self.assertIn(says, said)
            self.assertNotIn(hidden, said)
        self.assert_error(self.client.get(self.ROUTE), 9003)

    def test_nothing_is_read_without_the_options(self):
        os.chmod(self.write("hush\n", "secret"), 0o600)
        for secret, option in (({"env": "SECRET"}, "--secret-env PREFIX"),
                               ({"file": "secret"}, "--secret-files FOLDER")):
            for verb, status in (("diff", 3), ("apply", 1)):
                done = self.ctl(verb, self.write(self.module(secret)), status=status,
                                env=dict(stack.CLEAN_ENV, SECRET="hush"), cwd=self.folder)
                self.assertIn("which needs %s: without it, no" % option, done.stderr)
        self.assert_error(self.client.get(self.ROUTE), 9003)

    def test_no_variable_but_those_of_the_prefix(self):
        env = {"OTHER": "hush", "ADIT_SECRET": "hush", "PGPASSWORD": "hush", "SECRET": "hush"}
        self.refuse_source({"env": "OTHER"}, "does not begin with the PREFIX", env=env)
        for name, prefix in (("ADIT_SECRET", "ADIT_"), ("ADIT_SECRET", "A"), ("PGPASSWORD", "PG"),
                             ("PGPASSWORD", "P")):
            self.refuse_source({"env": name}, "is refused: variables that begin with",
                               "--secret-env", prefix, env=env)

    def test_no_file_but_those_below_the_folder(self):
        os.chmod(self.write("hush\n", "outside"), 0o600)
        below = self.path("below")
        os.mkdir(below)
        self.addCleanup(shutil.rmtree, below)
        os.symlink("../outside", os.path.join(below, "up"))
        os.symlink(self.path("outside"), os.path.join(below, "absolute"))
        os.symlink("..", os.path.join(below, "folder"))
        for name in ("../outside", self.path("outside"), "x/../../outside", "..", "/"):
            self.refuse_source({"file": name}, "is not below the FOLDER of --secret-files",
                               "--secret-files", below)
        for name in ("up", "absolute", "folder/outside"):
            self.refuse_source({"file": name}, "leads out of the FOLDER of --secret-files",
                               "--secret-files", below)
        self.refuse_source({"file": "x"}, "cannot be opened: the FOLDER of --secret-files: No such file",
                           "--secret-files", self.path("nowhere"))
        # A link that stays below the folder, as some systems mount secrets.
        os.mkdir(os.path.join(below, "v1"))
        os.rename(self.path("outside"), os.path.join(below, "v1", "app"))
        os.symlink("v1", os.path.join(below, "now"))
        self.assertEqual(self.apply(self.module({"file": "now/app"}), "--secret-files", below)[0][0],
                         "create")
        self.assertEqual(self.stored(), "hush")

    def test_no_file_of_adit(self):
        """By none of its names: the key file, the settings, and what libpq reads."""
        key_file = self.path("adit.key")
        managed = self.write("hush\n", "managed")
        conf = os.path.join(self.stack.state, "sources.conf")
        shutil.copy(os.path.join(self.stack.state, "adit.key"), key_file)
        with open(conf, "w", encoding="utf-8") as file:
            file.write(self.stack.read_conf() + "\n[secrets]\nkey_file = %s\n"
                       "[provider.provider_c]\nclient_id = app\nclient_secret_file = %s\n"
                       % (key_file, managed))
        self.addCleanup(os.remove, conf)
        home = self.path("home")
        os.mkdir(home)
        files = {"key": key_file, "managed": managed,
                 "pgpass": self.write("*:*:*:*:hush\n", "home/.pgpass"),
                 "passfile": self.write("*:*:*:*:hush\n", "passfile"),
                 "service": self.write("[hush]\n", "service")}
        for name, path in files.items():
            os.chmod(path, 0o600)
            os.link(path, self.path("linked-" + name))
            for file in os.path.relpath(path, self.folder), "linked-" + name:
                self.refuse_source({"file": file}, "is refused: the settings or libpq use it",
                                   conf=conf, env={"HOME": home, "PGPASSFILE": files["passfile"],
                                                   "PGSERVICEFILE": files["service"]})

    def test_no_secret_of_adit(self):
        """A copy of the key file, or an API key: whoever may read the module would read it."""
        with open(os.path.join(self.stack.state, "adit.key"), encoding="utf-8") as file:
            sealing_key = file.readlines()[-1]
        for what, value, says in (
                ("sealing key", sealing_key, "a key of a key file"),
                ("another", "old.key-1 \t%s\r\n" % ("aB" * 32), "a key of a key file"),
                ("API key", self.account.admin.key + "\n", "an API key of Adit"),
                ("earlier API key", samples.well_formed_key(), "an API key of Adit")):
            os.chmod(self.write(value, "copied"), 0o600)
            line = value.rstrip("\r\n")
            for secret, name in (({"file": "copied"}, "file copied"),
                                 ({"env": "SECRET"}, "variable SECRET")):
                with self.subTest("%s, %s" % (what, name)):
                    self.refuse_source(secret, "the %s, which is refused: it is %s" % (name, says),
                                       hidden=line.split()[-1], env={"SECRET": line})
        # What is only alike is a client secret.
        for value in "ab" * 32, "key %s" % ("ab" * 31), "# %s" % ("ab" * 32), "adit_" + "0" * 49:
            self.apply(self.module({"env": "SECRET"}), env={"SECRET": value})
            self.assertEqual(self.stored(), value)

    def test_diff_names_the_source(self):
        os.chmod(self.write("one\n", "secret"), 0o600)
        options = ("--secret-files", self.folder, "--secret-env", "SECRET")
        env = dict(stack.CLEAN_ENV, SECRET_1="one", SECRET_2="two")
        for secret, says in (({"file": "secret"}, "client_secret: from the file secret"),
                             ({"env": "SECRET_1"}, "client_secret: from the variable SECRET_1")):
            path = self.write(self.module(secret))
            self.assertIn("\t%s\n" % says, self.ctl("diff", *options, path, status=1, env=env).stdout)
            found = json.loads(self.ctl("diff", "--json", *options, path, status=1, env=env).stdout)
            self.assertEqual(found["changes"][0]["client_secret_from"], secret)
        self.ctl("apply", *options, path, env=env)
        path = self.write(self.module({"env": "SECRET_2"}))
        self.assertIn("\tclient_secret: set from the variable SECRET_2\n",
                      self.ctl("diff", *options, path, status=1, env=env).stdout)
        # What is stored already, or stays, has no source.
        path = self.write(self.module({"env": "SECRET_1"}, scopes=["s"]))
        found = json.loads(self.ctl("diff", "--json", *options, path, status=1, env=env).stdout)
        self.assertIsNone(found["changes"][0]["client_secret_from"])

    def test_values(self):
        for value, says in ((None, "which is not set"), ("", "which is empty"),
                            ("x" * 1025, "which has more than 1024 bytes"),
                            (b"\xff hush", "which is not UTF-8 text")):
            env = {} if value is None else {"SECRET": value}
            if isinstance(value, bytes):
                env = {"SECRET": os.fsdecode(value)}
            said = self.apply(self.module({"env": "SECRET"}), status=1, env=env)
            self.assertIn("client_secret is from the variable SECRET, " + says, said)
            self.assertNotIn("hush", said)

    def test_kept(self):
        self.assert_ok(self.client.put(self.ROUTE, {"provider": {"provider_c": {
            "client_id": "app", "client_secret": "kept"}}}))
        sealed = "SELECT client_secret_sealed FROM adit.oauth_module WHERE account_id = '%s'" \
            % self.account.id
        before = self.stack.psql(sealed)
        self.assertEqual(self.apply(self.module(None, scopes=["s"])),
                         [["update", "oauth_module", "e/r", ["scopes"], None]])
        self.assertEqual(self.stack.psql(sealed), before)
        # A secret is of one provider.
        self.assertIn("client_secret is missing, and none is stored",
                      self.apply(self.module(None, provider="provider_d"), status=1))
        document = self.module(None)
        del document["accounts"][0]["oauth_modules"][0]["provider"]["provider_c"]["client_id"]
        self.assertEqual(self.apply(document)[0][3], ["client_id", "scopes", "client_secret"])
        self.assertIsNone(self.stored())
        self.assertIn("client_secret is missing, and none is stored",
                      self.apply(self.module(None), status=1))

    def test_digest(self):
        self.assert_ok(self.client.put(self.ROUTE, {"provider": {"provider_c": {
            "client_id": "app", "client_secret": "first"}}}))
        text = self.export()
        # A new key would seal from now on; the digest stays.
        conf = os.path.join(self.stack.state, "two-keys.conf")
        shutil.copy(os.path.join(self.stack.state, "adit.key"), self.path("two.key"))
        with open(conf, "w", encoding="utf-8") as file:
            file.write(self.stack.read_conf() + "\n[secrets]\nkey_file = %s\n" % self.path("two.key"))
        self.addCleanup(os.remove, conf)
        self.ctl("secrets", "add-key", conf=conf)
        self.assertEqual(self.export(conf=conf), text)
        self.assert_ok(self.client.put(self.ROUTE, {"provider": {"provider_c": {
            "client_id": "app", "client_secret": "second"}}}))
        self.assertNotEqual(self.export(), text)
        self.assertIn("client_secret has another digest than the stored secret",
                      self.diff(self.write(text), status=3))
        unknown = text.replace(re.search(r'"digest": "(\w+):', text).group(1) + ":", "gone:")
        self.assertIn("has a digest that was made with the key gone, which",
                      self.diff(self.write(unknown), status=3))
        # The same secret elsewhere has another digest.
        document = json.loads(text)
        module = copy.deepcopy(document["accounts"][0]["oauth_modules"][0])
        module["id"] = "r2"
        module["provider"]["provider_c"]["client_secret"]["env"] = "SECRET"
        document["accounts"][0]["oauth_modules"] = [module]
        self.assertIn("another digest than the given secret",
                      self.diff(document, status=3, env={"SECRET": "first"}))

    def test_no_secret_is_printed(self):
        said = self.diff(self.module("hush"), status=3)
        self.assertIn("provider.provider_c.client_secret is text. Secrets do not belong", said)
        self.assertNotIn("hush", said)


class Faults(ApplyCase):
    def test_all_with_their_lines(self):
        text = """{
  "version": 1,
  "accounts": [
    {
      "id": "%s",
      "ssh_credentials": [
        {"public_key": "ssh-ed25519 x"},
        {"public_key": "%s",
         "acl": ["bind:ok.example", "bind:"]},
        {"public_key": "%s", "owner": "usr"},
        {"public_key": "%s", "description" "x"}
      ],
      "mutual_tls_modules": [{"id": "t", "module": {}}]
    }
  ]
}""" % (self.account.id, samples.ED25519, samples.ED25519, samples.ED25519)
        path = self.write(text)
        lines = self.apply(path, status=1).splitlines()
        for line, (number, place, says) in zip(lines, (
                (7, "ssh_credentials[0]", "public_key"), (8, "ssh_credentials[1]", "acl[1] is 'bind:'"),
                (10, "ssh_credentials[2]", "The member owner is unknown. This object takes: id, created_at"),
                (11, "ssh_credentials[3]", "A colon is missing here."),
                (13, "mutual_tls_modules[0]", "The member module is unknown"))):
            self.assertIn("aditctl: %s:%d: accounts[0].%s: " % (path, number, place), line)
            self.assertIn(says, line)
        self.assertEqual(len(lines), 5)

    def test_whole_documents(self):
        for text, says in (
                ("", ":1: The text ends before its JSON is complete."),
                ("[]", ":1: This must be an object."),
                ('{"accounts": []}', ":1: version is missing. Give 1."),
                ('{"version": 2, "accounts": []}', "version is 2; this program reads version 1."),
                ('{"version": 1}', "accounts is missing"),
                ('{"version": 1, "accounts": {}}', "accounts must be a list."),
                ('{"version": 1, "accounts": [], "accounts": []}', "accounts is given twice."),
                ('{"version": 1, "account": []}', "The member account is unknown."),
                ('{"version": 1,\n "accounts": [{]}', ":2: "),
                ('{"version": 1, "accounts": []} x', "Something follows the JSON value."),
                ("\ufeff{}", "begins with a byte order mark (U+FEFF); save it as UTF-8 without one")):
            with self.subTest(text):
                self.assertIn(says, self.apply(self.write(text), status=1))
        self.assertIn("cannot be opened: No such file", self.ctl(
            "apply", self.path("none"), status=1).stderr)
        self.assertIn("'': cannot be opened: No such file", self.ctl("apply", "", status=1).stderr)
        self.assertIn("cannot be read: Is a directory", self.ctl(
            "diff", self.folder, status=3).stderr)

    def test_hostile_files(self):
        """Neither a FIFO without a writer nor a device without an end holds the command up."""
        os.mkfifo(self.path("silent"))
        self.assertIn("silent:1: The text ends before", self.diff(self.path("silent"), status=3))
        self.assertIn("/dev/zero: has more than 256 MiB", self.diff("/dev/zero", status=3))
        for data, says in ((b"\xff\xfe{\0}\0", ": begins with a byte order mark of UTF-16"),
                           (b'{"version": 1, "accounts": [{"name": "\xff"}]}', "not UTF-8"),
                           (b"\0" * 100, ":1: ")):
            with open(self.path(), "wb") as file:
                file.write(data)
            self.assertIn(says, self.diff(self.path(), status=3))

    def test_pipe(self):
        """A document may come from another program."""
        text = json.dumps(self.document())
        done = stack.run(["bash", "-c", '"$0" -c "$1" diff <(sleep 0.1; printf %s "$2")',
                          self.stack.env["ADITCTL"], self.stack.conf_path, text], check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_escapes_are_not_printed(self):
        said = self.apply(self.document(ssh_credentials=[samples.credential(
            acl=["\x1b[2J\x7f"])]), status=1)
        self.assertIn("acl[0] is '?[2J?', which is not valid", said)
        made = self.assert_ok(self.client.post("/ssh_credentials", samples.credential(
            description="a\u202eb\u2028")), 201)["id"]
        said = self.ctl("apply", "--prune", self.write(self.document(ssh_credentials=[])),
                        status=2).stderr
        self.assertIn("delete ssh_credential %s  a?b?\n" % made, said)

    def test_nothing_is_hidden(self):
        made = self.assert_ok(self.client.post("/ssh_credentials", samples.credential(
            description="a")), 201)
        del made["uri"]
        document = self.document(ssh_credentials=[dict(made, description="a\u200b\U000e0041")])
        self.assertIn('description: "a" -> "a??"',
                      self.ctl("diff", self.write(document), status=1).stdout)

    def test_many(self):
        document = self.document(ssh_credentials=[{"public_key": "x"}] * 30)
        lines = self.apply(document, status=1).splitlines()
        self.assertEqual((len(lines), lines[-1].split(": ")[-1]), (21, "10 more faults"))

    def test_the_same_twice(self):
        for members, says in (
                ({"ssh_credentials": [samples.credential()] * 2},
                 "the same as ssh_credentials[0]: both have the same key, description and"
                 " owner, and no id"),
                ({"ssh_credentials": [samples.credential(id=credential_id("x"), description=text)
                                      for text in "ab"]}, "both have the same id"),
                ({"oauth_modules": [{"edge_id": "e", "id": "r"}] * 2}, "both have the same id"),
                ({"principals": [{"id": bot_id("c")}] * 2}, "both have the same id")):
            self.assertIn(says, self.apply(self.document(**members), status=1))
        document = self.document()
        document["accounts"] *= 2
        self.assertIn("This is the same as accounts[0]", self.apply(document, status=1))

    def test_against_the_database(self):
        ident = self.fill()
        for members, says in (
                ({"id": ident, "public_key": KEYS[0]},
                 "public_key is another key than that of " + ident),
                ({"id": ident, "created_at": "2001-02-03T04:05:06Z"}, "but %s was created at" % ident),
                ({"owner_id": bot_id("d")}, "owner_id names no User or Bot of the account."),
                ({}, "owner_id is missing, and the account has not just one User or Bot.")):
            self.assertIn(says, self.apply(self.document(
                ssh_credentials=[{"public_key": samples.ED25519, **members}]), status=1))

    def test_key_that_is_permitted_once(self):
        self.stack.psql("DELETE FROM adit.ssh_credential")
        self.permit_keys_once()
        twice = [samples.credential(description=text) for text in "ab"]
        said = "%s has this public key %s, and the database permits each key in one credential"
        for verb, status in ("diff", 3), ("apply", 1):
            self.assertIn("ssh_credentials[1]: " + said % ("ssh_credentials[0]", "too"),
                          self.run_on(verb, self.document(ssh_credentials=twice), status=status))
        self.apply(self.document(ssh_credentials=twice[:1]))
        ident = self.client.get("/ssh_credentials").json["ssh_credentials"][0]["id"]
        another = self.document(ssh_credentials=twice[1:])
        self.assertIn(said % (ident, "already"), self.diff(another, status=3))
        # The one that it replaces goes first.
        self.assertEqual([row[0] for row in self.apply(another, "--prune", "--yes")],
                         ["create", "delete"])
        self.assertEqual(self.diff(another), [])

    def test_required_rules(self):
        """[service] require_acl: nothing is changed if a credential would come to have no rule."""
        conf = os.path.join(self.stack.state, "rules.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write("[service]\nrequire_acl = yes\n".join(
                self.stack.read_conf().partition("[service]\n")[::2]))
        self.addCleanup(os.remove, conf)
        bot = self.account.bot.id
        has_none, has_one = (self.assert_ok(self.client.post("/ssh_credentials", {
            "public_key": key, "owner_id": bot, "acl": acl}), 201)["id"]
            for key, acl in zip(KEYS, ([], ["bind:a.example"])))
        before = self.export()
        new = {"public_key": OTHER_KEY, "owner_id": bot}
        good = {**new, "description": "good", "acl": ["*"]}
        for name, item in (
                ("new, left out", new), ("new, null", {**new, "acl": None}), ("new, none", {**new, "acl": []}),
                ("emptied", {"id": has_one, "public_key": KEYS[1], "owner_id": bot, "acl": []})):
            document = self.document(ssh_credentials=[good, item])
            for verb, status in ("diff", 3), ("apply", 1):
                with self.subTest("%s, %s" % (name, verb)):
                    said = self.run_on(verb, document, status=status, conf=conf)
                    self.assertIn("ssh_credentials[1]: acl has no rule. This service requires", said)
                    self.assertEqual(self.export(), before)
        # One that has none stays as it is, and "*" is a rule.
        stays = {"id": has_none, "public_key": KEYS[0], "owner_id": bot, "acl": [], "metadata": "m"}
        self.assertEqual([row[:4:3] for row in self.apply(
            self.document(ssh_credentials=[good, stays]), conf=conf)],
            [["create", []], ["update", ["metadata"]]])

    def test_without_a_database(self):
        conf = os.path.join(self.stack.state, "nowhere.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(re.sub(r"port=\d+", "port=1", self.stack.read_conf()))
        self.addCleanup(os.remove, conf)
        for verb, status in ("apply", 1), ("diff", 3):
            self.assertIn("cannot connect", self.run_on(verb, self.document(), conf=conf,
                                                        status=status))
        self.ctl("export", conf=conf, status=1)


class Schema(ApplyCase):
    """The cases that a unit test has given to the reader."""

    def test_cases(self):
        rows = list(cases.read("document.cases"))
        self.assertGreater(len(rows), 100)
        for row in rows:
            text = row.input.decode()
            with self.subTest(row.why + ": " + text):
                self.check(row.expected.split()[0], *text.split(" ", 1))

    def check(self, verdict, name, text):
        entry = json.loads(text)
        if name == "accounts":
            entry = {"version": 1, "accounts": [entry]}
        elif name != "document":
            entry = {"version": 1, "accounts": [{name: [entry]}]}
        self.assertEqual(self.schema.is_valid(entry), verdict != "no")


class Concurrency(ApplyCase):
    def setUp(self):
        super().setUp()
        self.ident = self.fill()
        self.before = self.export()
        document = json.loads(self.before)
        for credential in document["accounts"][0]["ssh_credentials"]:
            credential["description"] = "changed"
        document["accounts"][0]["mutual_tls_modules"].append({
            "id": "made", "certificate_authority_ids": ["ca_1"]})
        self.file = self.write(document)

    def hold(self, sql=None):
        """A session that holds the row that apply changes first, or what the statement makes."""
        holder = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(),
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(holder.communicate)
        holder.stdin.write("BEGIN; %s;\n" % (sql or (
            "SELECT 'held' FROM adit.ssh_credential WHERE id = '%s' FOR UPDATE" % self.ident)))
        holder.stdin.flush()
        self.assertEqual(holder.stdout.readline(), "held\n")
        return holder

    def start(self):
        """Starts apply, and waits until its statement waits for that row."""
        process = subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "apply",
                                    self.file], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=stack.CLEAN_ENV)
        until(lambda: self.waiting() != "0", "apply waits for the row")
        return process

    def waiting(self):
        return self.stack.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                               " AND query ~ 'adit.put_rows'")

    def end(self, holder, sql):
        holder.stdin.write(sql + ";\n")
        holder.communicate()

    def test_killed(self):
        holder = self.hold()
        process = self.start()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.end(holder, "ROLLBACK")
        until(lambda: self.waiting() == "0", "the session ends")
        self.assertEqual(self.export(), self.before)

    def test_session_that_is_lost(self):
        holder = self.hold()
        process = self.start()
        self.stack.psql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                        " WHERE wait_event_type = 'Lock' AND query ~ 'adit.put_rows'")
        _, said = process.communicate()
        self.end(holder, "ROLLBACK")
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("nothing was changed", said)
        self.assertEqual(self.export(), self.before)

    def test_change_of_the_same_row(self):
        """The second try compares with what the other session made."""
        holder = self.hold()
        process = self.start()
        self.end(holder, "UPDATE adit.ssh_credential SET metadata = 'new' WHERE id = '%s'; COMMIT"
                 % self.ident)
        out, said = process.communicate()
        self.assertEqual((process.returncode, said), (0, ""))
        self.assertIn("metadata: \"new\" -> ", out)
        self.assertEqual(self.diff(self.file), [])

    def beat(self, sqlstate, n):
        """Has the first n writes of credentials fail, as if another session were quicker."""
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.beaten CASCADE;"
                        " DROP SEQUENCE public.n_beaten")
        self.stack.psql("CREATE SEQUENCE public.n_beaten;"
                        "CREATE FUNCTION public.beaten() RETURNS trigger LANGUAGE plpgsql AS $$"
                        " BEGIN IF nextval('public.n_beaten') <= %d THEN"
                        " RAISE EXCEPTION 'beaten' USING ERRCODE = '%s'; END IF; RETURN NULL; END $$;"
                        "CREATE TRIGGER beaten AFTER INSERT OR UPDATE OR DELETE ON adit.ssh_credential"
                        " FOR EACH STATEMENT EXECUTE FUNCTION public.beaten()" % (n, sqlstate))

    def n_tries(self):
        return int(self.stack.psql("SELECT last_value FROM public.n_beaten"))

    def test_tries(self):
        """Four failures are passed over, a fifth is said, and other failures at once."""
        for sqlstate, n, n_tries, said in (
                ("40P01", 5, 5, "nothing was changed: another session changed the same resources at"
                 " the same time, in each of 5 tries; look at 'aditctl diff'"),
                ("23503", 9, 5, "created or deleted something at the same time that the changes refer"
                 " to, in each of 5 tries;"),
                ("55P03", 1, 1, "nothing was changed: another session held a lock for too long; look"),
                ("22012", 1, 1, "aditctl: nothing was changed\n"),
                # The fifth try writes.  Then a statement supersedes what own keys stored meanwhile.
                ("40001", 4, 6, None)):
            with self.subTest(sqlstate):
                self.beat(sqlstate, n)
                if said:
                    self.assertIn(said, self.apply(self.file, status=1))
                    self.assertEqual(self.export(), self.before)
                else:
                    self.assertEqual(self.ctl("apply", self.file).stderr, "")
                    self.assertEqual(self.diff(self.file), [])
                self.assertEqual(self.n_tries(), n_tries)
                self.doCleanups()

    def test_warnings_are_printed_once(self):
        document = self.document(principals=[
            {"id": self.account.admin.id, "is_admin": False}, {"id": bot_id("w"), "name": "new"}])
        document["accounts"][0]["ssh_credentials"] = [
            {"owner_id": bot_id("w"), "public_key": OTHER_KEY}]
        self.beat("40001", 2)
        said = self.ctl("apply", self.write(document)).stderr
        self.assertEqual(said.count("aditctl: warning: this leaves the account"), 1, said)
        self.assertEqual(said.count("\n"), 1, said)

    def test_operators_delete_with_other_writers(self):
        """'user delete' is as patient."""
        self.beat("40P01", 4)
        self.ctl("bot", "delete", "--with-credentials", "--yes", self.account.bot.id)
        self.assertGreater(self.n_tries(), 4)

    def test_asks_again(self):
        """Whoever agreed to deletions is asked about others, and not twice about the same."""
        path = self.write(self.document(principals=[{"id": self.account.admin.id},
                                                    {"id": self.account.bot.id}],
                                        mutual_tls_modules=[]))
        module = {"certificate_authority_ids": ["ca_3"]}
        for adds, asks in ([], False), (["bot", "create", "--account", self.account.id], True):
            ours, theirs = os.openpty()
            with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "apply",
                                   "--prune", path], stdin=theirs, stdout=subprocess.PIPE,
                                  stderr=theirs, env=stack.CLEAN_ENV) as process:
                os.close(theirs)
                shown = b""
                while b"Type yes" not in shown:
                    shown += os.read(ours, 4096)
                # Its transaction saw t1 as it was.
                self.assert_ok(self.client.put("/edges/tls/t1/mutual_tls", module))
                added = self.ctl(*adds).stdout.split()[-1] if adds else ""
                os.write(ours, b"yes\n")
                if asks:
                    while shown.count(b"Type yes") < 2:
                        shown += os.read(ours, 4096)
                    os.write(ours, b"no\n")
                result = process.stdout.read()
                self.assertEqual(process.wait(), 1 if asks else 0)
            os.close(ours)
            if asks:
                again = shown.split(b"Type yes")[1]
                self.assertIn(b"Another session changed something at the same time", again)
                self.assertIn(("delete principal %s\r\ndelete mutual_tls_module t1\r\n"
                               "Delete 2 resources?" % added).encode(), again)
                self.assertEqual(result, b"")
            else:
                self.assertEqual(shown.count(b"Delete 1 resource?"), 1)
                self.assertIn(b"t1", result)
            self.assertEqual(self.client.get("/edges/tls/t1/mutual_tls").status, 200 if asks else 404)
            self.assert_ok(self.client.put("/edges/tls/t1/mutual_tls", module))

    def test_module_that_is_made_meanwhile(self):
        """What was not there when the command began stays."""
        path = self.write(self.document(mutual_tls_modules=[]))
        ours, theirs = os.openpty()
        with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "apply",
                               "--prune", path], stdin=theirs, stdout=subprocess.PIPE,
                              stderr=theirs, text=True, env=stack.CLEAN_ENV) as process:
            os.close(theirs)
            shown = b""
            while b"Type yes" not in shown:
                shown += os.read(ours, 4096)
            for name in "t1", "t2":
                self.assert_ok(self.client.put("/edges/tls/%s/mutual_tls" % name, {
                    "certificate_authority_ids": ["ca_3"]}))
            os.write(ours, b"yes\n")
            while b"diff' shows" not in shown:
                shown += os.read(ours, 4096)
            self.assertEqual(process.stdout.read().count("delete"), 1)
            self.assertEqual(process.wait(), 0)
        os.close(ours)
        self.assertIn(b"warning: another session changed t2 after the command began", shown)
        self.assertNotIn(b"TLS edge t2", shown)
        self.assertEqual([self.client.get("/edges/tls/%s/mutual_tls" % name).status
                          for name in ("t1", "t2")], [404, 200])

    @contextlib.contextmanager
    def busy(self, key, write):
        """Has others write with a key, each as soon as the last answer is there.  Yields the list of
        statuses."""
        ends = threading.Event()
        statuses = []

        def work():
            client = self.stack.client(key)
            while not ends.is_set():
                statuses.append(write(client).status)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            until(lambda: len(statuses) > 5, "others write")
            yield statuses
        finally:
            ends.set()
            for thread in threads:
                thread.join()

    def add_many(self, owner):
        """Gives the account 900 credentials, so that a comparison takes a while."""
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
            " public_key) SELECT '%s', 'sshcr_' || lpad(i::text, 27, '0'), '%s', c.key_type,"
            " c.fingerprint, c.public_key FROM generate_series(1, 900) AS i,"
            " (SELECT * FROM adit.ssh_credential WHERE id = '%s') AS c" % (
                self.account.id, owner, self.ident))

    def patch_of(self, ident):
        numbers = itertools.count()
        return lambda client: client.patch("/ssh_credentials/" + ident,
                                           {"metadata": "n%d" % next(numbers)})

    def test_owner_who_goes_on_writing(self):
        """Whoever may only write their own keeps nobody from the rest: from the second try on, they
        wait."""
        member = self.account.member
        key = member.issue("--own")
        theirs = self.assert_ok(self.stack.client(key).post(
            "/ssh_credentials", {"public_key": OTHER_KEY, "metadata": "of the file"}), 201)["id"]
        self.add_many(self.account.bot.id)
        document = json.loads(self.export())
        path = self.write(document)
        with self.busy(key, self.patch_of(theirs)) as statuses:
            for _ in range(3):
                done = self.ctl("apply", path)
                self.assertRegex(done.stdout, 'update\tssh_credential\t%s' % theirs)
            n = len(statuses)
            until(lambda: len(statuses) > n + 10, "they write again")
        self.assertLessEqual(set(statuses), {200, 503})

    def test_leaver_who_goes_on_writing(self):
        """Nobody keeps themselves from being deleted."""
        member = self.account.member
        key = member.issue("--own")
        self.add_many(self.account.bot.id)
        document = json.loads(self.export())
        people = document["accounts"][0]["principals"]
        people.remove(next(person for person in people if person["id"] == member.id))
        path = self.write(document)

        def post(client):
            blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + os.urandom(32)
            return client.post("/ssh_credentials", {
                "public_key": "ssh-ed25519 " + base64.b64encode(blob).decode()})
        with self.busy(key, post) as statuses:
            self.apply(path, "--prune", "--yes")
            until(lambda: statuses[-1] == 401, "the key is refused")
        self.assertEqual(self.diff(path, "--prune"), [])
        self.assertLessEqual(set(statuses), {201, 401, 503})
        self.assertNotIn(member.id, self.export())

    def test_who_was_quicker(self):
        """If all tries fail, the message says who changed what."""
        key = self.account.member.issue("--own")
        theirs = self.assert_ok(self.stack.client(key).post(
            "/ssh_credentials", {"public_key": OTHER_KEY}), 201)["id"]
        path = self.write(json.loads(self.export()))
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.beaten CASCADE")
        self.stack.psql("CREATE FUNCTION public.beaten() RETURNS trigger LANGUAGE plpgsql AS $$"
                        " BEGIN IF current_setting('adit.operator', true) <> '' THEN"
                        " RAISE EXCEPTION 'beaten' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$;"
                        "CREATE TRIGGER beaten AFTER UPDATE ON adit.ssh_credential"
                        " FOR EACH STATEMENT EXECUTE FUNCTION public.beaten()")
        with self.busy(key, self.patch_of(theirs)):
            said = self.ctl("apply", path, status=1).stderr
        self.assertRegex(said, "same time, in each of 5 tries; the latest change was"
                         " ssh_credential_updated of %s, by %s with the API key ak_[0-9A-Za-z]{27};"
                         " look at 'aditctl diff'" % (theirs, self.account.member.id))

    def add_credential(self):
        with open(self.file, encoding="utf-8") as file:
            document = json.load(file)
        document["accounts"][0]["ssh_credentials"].append(
            {"owner_id": self.account.bot.id, "description": "given", "public_key": OTHER_KEY})
        self.write(document)

    def test_key_that_another_gets_meanwhile(self):
        self.permit_keys_once()
        self.add_credential()
        holder = self.hold()
        process = self.start()
        self.assert_ok(self.client.post("/ssh_credentials", {"public_key": OTHER_KEY}), 201)
        self.end(holder, "ROLLBACK")
        _, said = process.communicate()
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("has this public key already, and the database permits each key in one", said)

    def test_owner_who_is_disabled_meanwhile(self):
        self.add_credential()
        holder = self.hold()
        process = self.start()
        self.ctl("bot", "disable", self.account.bot.id)
        self.end(holder, "ROLLBACK")
        _, said = process.communicate()
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("which is disabled. Take the credential out of the file, or add --enable", said)
        self.assertNotIn("changed", self.export())

    def test_owner_who_is_disabled_in_a_later_try(self):
        """Its snapshot is no longer that of the plan."""
        self.add_credential()
        self.beat("40001", 1)
        holder = self.hold("INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
                           " VALUES ('%s', 'made', true) RETURNING 'held'" % self.account.id)
        process = self.start()
        self.ctl("bot", "disable", self.account.bot.id)
        self.end(holder, "ROLLBACK")
        _, said = process.communicate()
        self.assertEqual(process.returncode, 1, said)
        self.assertIn("which is disabled. Take the credential out of the file, or add --enable", said)
        self.assertNotIn("changed", self.export())

    def test_two(self):
        holder = self.hold()
        process = self.start()
        self.assertIn("another 'aditctl apply' is running; nothing was changed",
                      self.apply(self.file, status=1))
        self.diff(self.file, status=1)
        self.end(holder, "ROLLBACK")
        process.communicate()
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.diff(self.file), [])
