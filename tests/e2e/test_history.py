# SPDX-License-Identifier: MIT
"""aditctl history and aditctl restore: who changed what, and making it as it was."""
import contextlib
import json
import os
import pwd
import subprocess
import time

from adit import samples, stack
from test_aditctl import CtlCase
from test_people import Session

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/undone/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/undone/mutual_tls"
SECRET = "a secret that is not recorded"


class UndoCase(CtlCase):
    stack_name = "history"

    def setUp(self):
        self.account = self.stack.account("undone")
        self.client = self.stack.client(self.account.admin.key)
        self.other = self.stack.client(self.account.member.key)

    def make(self, client=None, **members):
        members.setdefault("public_key", samples.generate("-t", "ed25519")[1])
        return self.assert_ok((client or self.client).post(CREDENTIALS, members), 201)

    def path(self, credential):
        return CREDENTIALS + "/" + credential["id"]

    def read(self, path, client=None):
        """What the interface shows, and its ETag: None if there is nothing."""
        answer = (client or self.client).get(path)
        if answer.status == 404:
            return None, None
        return self.assert_ok(answer), answer.header("ETag")

    def events(self, *words):
        return json.loads(self.ctl("history", *words, "--json").stdout)["events"]

    def event_of(self, resource, name):
        """The id of the last event of this name."""
        return [event["id"] for event in self.events(resource, "--account", self.account.id)
                if event["event"].endswith(name)][-1]

    def restore(self, *words, status=0):
        done = self.stack.ctl_run("restore", *words, "--yes", "--json")
        self.assertEqual(done.returncode, status, done)
        return json.loads(done.stdout)

    def now(self):
        """A time between the changes before and after the call, to the second."""
        self.stack.psql("UPDATE adit.audit_event SET at = timezone('UTC', timezone('UTC', at) - interval '1 hour')"
                        " WHERE account_id = '%s'" % self.account.id)
        return "30m"


class History(UndoCase):
    def test_who_and_what(self):
        made = self.make(acl=["bind:a.example"], description="first")
        self.assert_ok(self.other.get(self.path(made)))
        answer = self.client.patch(self.path(made), {"acl": ["bind:b.example"],
                                                     "description": "second"})
        self.assert_ok(self.client.delete(self.path(made)), 204)
        events = self.events(made["id"])
        self.assertEqual([event["event"] for event in events],
                         ["ssh_credential_created", "ssh_credential_updated",
                          "ssh_credential_deleted"])
        changed = events[1]
        key_id = self.stack.psql("SELECT id FROM adit.api_key WHERE principal_id = '%s'"
                                 % self.account.admin.id)
        self.assertEqual(
            {name: changed[name] for name in ("resource", "account_id", "principal_id",
                                              "api_key_id", "client_address", "operator",
                                              "operation_id", "database_user", "changed")},
            {"resource": made["id"], "account_id": self.account.id,
             "principal_id": self.account.admin.id, "api_key_id": key_id,
             "client_address": "127.0.0.1", "operator": None,
             "operation_id": answer.header("Service-Operation-Id"), "database_user": "adit",
             "changed": ["acl", "description"]})
        self.assertEqual((changed["before"]["acl"], changed["after"]["acl"]),
                         (["bind:a.example"], ["bind:b.example"]))
        self.assertEqual((events[0]["before"], events[2]["after"]), (None, None))

    def table(self, *words):
        names, *rows = [line.split("\t") for line in self.ctl("history", *words)
                        .stdout.splitlines()]
        return [dict(zip(names, row)) for row in rows]

    def test_for_people(self):
        made = self.make(acl=["bind:a.example"])
        self.client.patch(self.path(made), {"acl": ["bind:b.example"], "metadata": "x" * 300})
        created, changed = self.table(made["id"])
        self.assertEqual(changed["WHO"], self.account.admin.id)
        self.assertEqual((changed["WHAT"], changed["RESOURCE"], changed["ADDRESS"]),
                         ("ssh_credential_updated", made["id"], "127.0.0.1"))
        self.assertEqual(changed["CHANGE"], 'acl: ["bind:a.example"] -> ["bind:b.example"]; '
                         'metadata: "" -> "%s...' % ("x" * 198))
        self.assertIn('acl: ["bind:a.example"]; created_at: ', created["CHANGE"])
        self.stack.psql("UPDATE adit.principal SET name = 'Ada' WHERE id = '%s'"
                        % self.account.admin.id)
        self.assertEqual(self.table(made["id"])[1]["WHO"], "Ada (%s)" % self.account.admin.id)
        user = self.ctl("user", "create", "--account", self.account.id).stdout.strip()
        self.assertEqual(self.table(user)[0]["WHO"], pwd.getpwuid(os.geteuid()).pw_name
                         + " (aditctl)")
        self.stack.psql("UPDATE adit.principal SET name = 'Eve' WHERE id = '%s'" % user)
        self.assertEqual((self.table(user)[1]["WHO"], self.table(user)[1]["CHANGE"]),
                         ("postgres (database)", 'name: "" -> "Eve"'))

    def test_deleted_people_keep_their_names(self):
        person = self.account.person("user", "--name", "Ada")
        made = self.make(self.stack.client(person.key))
        self.ctl("user", "delete", "--with-credentials", "--yes", person.id)
        self.assertEqual(self.table(made["id"])[0]["WHO"], "Ada (%s)" % person.id)

    def test_keys_of_the_disabled(self):
        person = self.account.person("user")
        key = json.loads(self.ctl("key", "list", "--for", person.id, "--json").stdout)[
            "api_keys"][0]["id"]
        self.ctl("user", "disable", person.id)
        self.ctl("user", "enable", person.id)
        self.assertEqual([row["CHANGE"] for row in self.table(key)[1:]],
                         ["disabled with its holder", "enabled with its holder"])
        self.assertRegex(self.table(person.id)[1]["CHANGE"], '^disabled_at: null -> "2')

    def test_providers_by_name(self):
        for provider in "provider_b", "provider_c":
            self.assert_ok(self.client.put(OAUTH, {"provider": {provider: {}}}))
        self.assert_ok(self.client.put(OAUTH, {}))
        words = ["undone/r", "--account", self.account.id]
        created, changed, cleared = self.table(*words)
        self.assertIn('provider: "provider_b (Facebook)"', created["CHANGE"])
        self.assertEqual(changed["CHANGE"],
                         'provider: "provider_b (Facebook)" -> "provider_c (Microsoft)"')
        self.assertEqual(cleared["CHANGE"], 'provider: "provider_c (Microsoft)" -> null')
        self.assertIn('provider: null -> "provider_c (Microsoft)"', self.ctl(
            "restore", *words, "--dry-run", "--event",
            self.event_of("undone/r", "_updated")).stdout)

    def test_control_characters_are_not_printed(self):
        """Callers may write them: a terminal would obey."""
        made = self.make(description="a\u202egnp\u009b31m\u2028b\u00e4")
        self.assertIn('description: "a?gnp?31m?bä"', self.table(made["id"])[0]["CHANGE"])

    def test_nothing_is_hidden(self):
        """Characters that join others stay where scripts and emoji use them, but no text of them."""
        joined = "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468 \u0645\u200c\u0645\u3000"
        for text, shown in (("\u200ba\ufeffb\ufff9c\U000e0041d", "?a?b?c?d"),
                            ("a\u200db\ufe0fc\u00add", "a?b?c?d"),
                            (joined, joined),
                            ("\u2764" + "\ufe0f" * 5, "\u2764\ufe0f\ufe0f???"),
                            (" \u200d\u3164", " ??")):
            made = self.make(description=text)
            self.assertIn('description: "%s"' % shown, self.table(made["id"])[0]["CHANGE"])

    def test_edge_with_modules_on_routes_only(self):
        account = self.stack.account("routes")
        client = self.stack.client(account.admin.key)
        for route in "a", "b":
            self.assert_ok(client.put("/edges/https/routed/routes/%s/oauth" % route, {}))
        self.assert_ok(client.delete("/edges/https/routed/routes/b/oauth"), 204)
        self.assertIn("has nothing named 'routed', but modules of its routes; name one: routed/a,"
                      " routed/b\n", self.ctl("history", "routed", status=1).stderr)

    def test_secrets(self):
        for secret in (SECRET, SECRET + "2"):
            self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_a": {
                "client_id": "app", "client_secret": secret}}}))
        shown = self.ctl("history", "undone/r", "--account", self.account.id).stdout
        self.assertIn("\tclient_secret: set\n", shown)
        self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_a": {}}}))
        self.assertIn('client_id: "app" -> null; client_secret: removed\n',
                      self.ctl("history", "undone/r", "--account", self.account.id).stdout)
        self.assertNotIn(SECRET, shown + json.dumps(self.events("undone/r", "--account",
                                                                self.account.id)))

    def test_what_a_name_may_be(self):
        self.assert_ok(self.client.put(OAUTH, {}))
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        key = json.loads(self.ctl("key", "issue", "--for", self.account.admin.id, "--json").stdout)
        for name, event in (("undone/r", "oauth_module_created"),
                            ("undone", "mutual_tls_module_created"),
                            (key["id"], "api_key_created"),
                            (self.account.admin.id, "principal_created"),
                            (self.account.id, "account_created")):
            with self.subTest(event):
                self.assertEqual(self.events(name, "--account", self.account.id)[0]["event"],
                                 event)

    def test_which(self):
        """By time, by who, of one account."""
        first = self.make()
        self.now()
        second = self.make(self.other)
        for words, wanted in (
                (["--since", "30m"], [second["id"]]), (["--since", "1d"], [first["id"],
                                                                          second["id"]]),
                (["--since", time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400))],
                 [first["id"], second["id"]]),
                (["--by", self.account.member.id], [second["id"]]),
                (["--by", self.account.member.id, "--since", "30m"], [second["id"]]),
                (["--by", self.account.admin.id, "--since", "30m"], [])):
            with self.subTest(" ".join(words)):
                self.assertEqual([event["resource"] for event in self.events(
                    *words, "--account", self.account.id)
                    if event["event"].startswith("ssh_cred")], wanted)

    def test_nothing_by_somebody_known(self):
        """One who did nothing, one who is gone, a key, an operator."""
        gone = self.account.person("user")
        self.ctl("user", "delete", gone.id)
        key = json.loads(self.ctl("key", "issue", "--for", self.account.admin.id, "--json").stdout)
        makers = (self.account.member.id, gone.id, key["id"], pwd.getpwuid(os.geteuid()).pw_name)
        self.now()
        for by in makers:
            self.ctl("history", "--by", by, "--account", self.account.id, "--since", "30m")
            done = self.ctl("restore", "--by", by, "--account", self.account.id, "--since", "30m",
                            "--yes")
            self.assertIn("nothing to restore: it has not changed since then", done.stderr)

    def test_several_pages(self):
        made = self.make()
        self.stack.psql("DO $$BEGIN FOR i IN 1..450 LOOP UPDATE adit.ssh_credential SET metadata"
                        " = i::text WHERE id = '%s'; END LOOP; END$$" % made["id"])
        events = self.events(made["id"])
        self.assertEqual([event["after"]["metadata"] for event in events],
                         ["", *[str(i) for i in range(1, 451)]])

    def test_gaps(self):
        """What is rolled back and each doctor use up numbers, and every page for auditors says so."""
        made = self.make()
        update = "UPDATE adit.ssh_credential SET metadata = 'x' WHERE id = '%s'" % made["id"]
        for use_up in (lambda: self.stack.psql("BEGIN; %s; ROLLBACK" % update),
                       lambda: self.stack.ctl_run("doctor")):
            before = self.events(made["id"])
            use_up()
            self.stack.psql(update + "; " + update.replace("'x'", "''"))
            events = self.events(made["id"])
            self.assertEqual(len(events), len(before) + 2)
            first, second, third = (int(event["id"].removeprefix("ae_")) for event in events[-3:])
            self.assertGreater(second, first + 1)
            self.assertEqual(third, second + 1)
        texts = [self.ctl("history", "--help").stdout]
        for name in "doc/operate/history.md", "doc/openapi.yaml", "man/adit-api.7", "man/aditctl.8":
            with open(os.path.join(stack.ROOT, name), encoding="utf-8") as file:
                texts.append(" ".join(file.read().split()))
        for text, says in zip(texts, [r"ids may have gaps"] + 4 * [
                r"A gap alone does not show that an event was deleted|So a gap alone does not show that"
                " an event was deleted"]):
            self.assertRegex(text, says)

    def test_refused(self):
        account = self.stack.account("also")
        for client in (self.client, self.stack.client(account.admin.key)):
            self.assert_ok(client.put(MUTUAL_TLS, {}))
        for words, status, says in (
                ([], 2, "needs a RESOURCE, or --since or --by"),
                (["undone"], 2, "name one account with --account"),
                (["sshcr_x"], 1, "has nothing named 'sshcr_x'"),
                (["--by", "nobody"], 1, "--by 'nobody' names nobody"),
                (["--by", "", "--since", "1d"], 2, "--by is empty"),
                (["--since", "1d", "--account", "ac_x"], 1, "no account with the id 'ac_x'"),
                (["--since", "yesterday"], 2, "--since 'yesterday' is not accepted"),
                (["--since", "2026-13-01"], 2, "is not accepted"),
                (["--since", "2026-01-31 25:00"], 2, "is not accepted"),
                (["--since", "3000-01-01"], 2, "--since '3000-01-01' is in the future"),
                (["--since", "5000d"], 2, "or how long ago, such as 2h, of at most 3660d"),
                (["a", "b"], 2, "takes one argument")):
            with self.subTest(" ".join(words)):
                done = self.ctl("history", *words, status=status)
                self.assertIn(says, done.stderr)
                self.assertEqual(done.stdout, "")


class Restore(UndoCase):
    def test_a_change(self):
        made = self.make(acl=["bind:a.example"], description="first", metadata="m\n\"'ä")
        before, etag = self.read(self.path(made))
        time_before = self.now()
        self.assert_ok(self.client.patch(self.path(made), {"acl": [], "description": "",
                                                           "metadata": ""}))
        dry = json.loads(self.ctl("restore", made["id"], "--at", time_before, "--dry-run",
                                  "--json").stdout)
        self.assertEqual((dry["restored"], dry["changes"][0]["action"]), (0, "change"))
        self.assertEqual(self.read(self.path(made))[0]["acl"], [])
        done = self.restore(made["id"], "--at", time_before)
        self.assertEqual(done["restored"], 1)
        after, new_etag = self.read(self.path(made))
        self.assertEqual(after, before)
        self.assertNotEqual(new_etag, etag)
        events = self.events(made["id"])
        self.assertEqual((events[-1]["event"], events[-1]["operator"]),
                         ("ssh_credential_updated", pwd.getpwuid(os.geteuid()).pw_name))
        # Once more, nothing is left to do.
        done = self.ctl("restore", made["id"], "--at", time_before, "--yes")
        self.assertIn("nothing to restore: it has not changed since then", done.stderr)

    def test_before_it_existed(self):
        time_before = self.now()
        made = self.make()
        self.assert_ok(self.client.delete(self.path(made)), 204)
        done = self.ctl("restore", made["id"], "--at", time_before, "--yes")
        self.assertIn("nothing to restore: it did not exist then, and does not now; to undo a later"
                      " change, such as its deletion, name that with --event\n", done.stderr)

    def test_what_was_deleted(self):
        key = samples.credential()["public_key"]
        made = self.make(self.other, acl=["bind:a.example"], public_key=key)
        self.assert_ok(self.client.put(MUTUAL_TLS, {"certificate_authority_ids": ["b", "a"]}))
        self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_b": {
            "email_domains": ["a.example"]}}, "inactivity_timeout": 4294967295}))
        self.now()
        for path, resource in ((self.path(made), made["id"]), (MUTUAL_TLS, "undone"),
                               (OAUTH, "undone/r")):
            with self.subTest(resource):
                before, _ = self.read(path)
                self.assert_ok(self.client.delete(path), 204)
                self.assertEqual(self.read(path), (None, None))
                done = self.restore("--event", self.event_of(resource, "_deleted"))
                self.assertEqual([row["action"] for row in done["changes"]], ["create"])
                self.assertEqual(self.read(path)[0], before)

    def test_what_was_not_there(self):
        self.now()
        made = self.make()
        done = self.restore(made["id"], "--at", "30m")
        self.assertEqual([(row["action"], row["after"]) for row in done["changes"]],
                         [("delete", None)])
        self.assertEqual(self.read(self.path(made)), (None, None))
        # And back.
        self.restore(made["id"], "--event", self.event_of(made["id"], "_deleted"))
        self.assertEqual(self.read(self.path(made))[0], made)

    def test_an_event(self):
        """It and all later ones are undone."""
        made = self.make()
        for text in ("one", "two", "three"):
            self.assert_ok(self.client.patch(self.path(made), {"metadata": text}))
        _, first, second, _ = [event["id"] for event in self.events(made["id"])]
        self.restore(made["id"], "--event", second)
        self.assertEqual(self.read(self.path(made))[0]["metadata"], "one")
        # As the interface names it, and as a number.
        self.assertEqual(self.read("/audit_events/" + first)[0]["id"], first)
        self.restore("--event", str(int(first[len("ae_"):])))
        self.assertEqual(self.read(self.path(made))[0]["metadata"], "")

    def test_for_people(self):
        made = self.make(metadata="a")
        self.assert_ok(self.client.patch(self.path(made), {"metadata": "b"}))
        event = self.event_of(made["id"], "_updated")
        shown = self.ctl("restore", "--event", event, "--dry-run").stdout.splitlines()
        self.assertEqual([line.split("\t") for line in shown],
                         [["ACTION", "KIND", "RESOURCE", "CHANGE"],
                          ["change", "ssh_credential", made["id"], 'metadata: "b" -> "a"']])
        self.assertIn("needs --yes", self.ctl("restore", "--event", event, status=2).stderr)

    def test_times_are_cut_to_seconds(self):
        """A time from the list includes its second."""
        made = self.make(metadata="a")
        self.now()
        self.assert_ok(self.other.patch(self.path(made), {"metadata": "b"}))
        self.stack.psql("UPDATE adit.audit_event SET at = date_trunc('second', at) - interval"
                        " '100 ms' WHERE resource = '%s'" % made["id"])
        shown = self.events(made["id"])[-1]
        self.assertEqual(self.events(made["id"], "--since", shown["created_at"]), [shown])
        for words in ([made["id"], "--at", shown["created_at"]],
                      ["--by", self.account.member.id, "--since", shown["created_at"]]):
            done = json.loads(self.ctl("restore", *words, "--dry-run", "--json").stdout)
            self.assertEqual([(row["event_id"], row["action"]) for row in done["changes"]],
                             [(shown["id"], "change")])

    def test_warns_of_modules(self):
        """Of each that it writes or deletes, as apply does."""
        lists = {"email_domains": ["a.example"]}
        for before, says in (
                (None, "everybody passes a route without a module, unless [gate] without_module is "
                       "refuse"),
                ({"enabled": False}, "everybody passes: the module is disabled"),
                ({"enabled": True}, "nobody passes: the module is enabled without a provider"),
                ({"provider": {"provider_c": {}}}, "anyone with an account at Microsoft passes"),
                ({"provider": {"provider_b": lists}},
                 "nobody passes by email_domains: Facebook verifies no addresses"),
                ({"provider": {"provider_c": lists}}, None)):
            if before:
                self.assert_ok(self.client.put(OAUTH, before))
            self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_b": {
                "email_domains": ["other.example"]}}}))
            event = self.events("undone/r", "--account", self.account.id)[-1]["id"]
            for option in "--dry-run", "--yes":
                with self.subTest("%s, %s" % (before, option)):
                    said = self.ctl("restore", "--event", event, option).stderr.splitlines()
                    self.assertEqual(len(said), 1 if says else 0, said)
                    self.assertTrue(not says or said[0].startswith(
                        "aditctl: warning: edge undone, route r: " + says), said)

    def test_warns_of_the_last_admin(self):
        """As user disable, user delete and apply do."""
        admin, member = self.account.admin.id, self.account.member.id

        def make_admin(principal, is_admin):
            self.stack.psql("UPDATE adit.principal SET is_admin = %s WHERE account_id = '%s' AND id = '%s'"
                            % (is_admin, self.account.id, principal))
            return self.event_of(principal, "_updated")

        def said(event, option):
            return self.ctl("restore", "--event", event, option).stderr
        warning = ("aditctl: warning: this leaves the account %s without an enabled admin; to create one, "
                   "run: aditctl user create --admin --account %s\n" % (self.account.id, self.account.id))
        event = make_admin(member, True)
        self.assertEqual(said(event, "--dry-run"), "")
        make_admin(admin, False)
        for option in "--dry-run", "--yes":
            self.assertEqual(said(event, option), warning)
        # One that comes back at the same time is left.
        make_admin(admin, True)
        self.now()
        document = os.path.join(self.stack.folder, "people.json")
        with open(document, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "accounts": [{"id": self.account.id, "principals": [
                {"id": admin, "is_admin": False}, {"id": member, "is_admin": True}]}]}, file)
        self.ctl("apply", document)
        done = self.ctl("restore", "--since", "30m", "--by", pwd.getpwuid(os.geteuid()).pw_name,
                        "--account", self.account.id, "--yes")
        self.assertEqual((done.stdout.count("is_admin: "), done.stderr), (2, ""))

    def test_asks_on_a_terminal(self):
        made = self.make(metadata="a")
        self.assert_ok(self.client.patch(self.path(made), {"metadata": "b"}))
        event = self.event_of(made["id"], "_updated")
        for answer, status, value in (("no", 1, "b"), ("yes", 0, "a")):
            ours, theirs = os.openpty()
            with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path,
                                   "restore", "--event", event], stdin=theirs,
                                  stdout=subprocess.DEVNULL, stderr=theirs) as process:
                os.close(theirs)
                shown = b""
                while b"Type yes to go on: " not in shown:
                    shown += os.read(ours, 4096)
                os.write(ours, answer.encode() + b"\n")
                self.assertEqual(process.wait(), status)
            os.close(ours)
            self.assertEqual(self.read(self.path(made))[0]["metadata"], value)

    def test_all_that_one_changed(self):
        mine = self.make(metadata="mine")
        shared = self.make(metadata="shared")
        gone = self.make(metadata="gone")
        self.now()
        for credential in (mine, shared):
            self.assert_ok(self.other.patch(self.path(credential), {"metadata": "bad"}))
        self.assert_ok(self.other.delete(self.path(gone)), 204)
        added = self.make(self.other)
        self.assert_ok(self.other.put(MUTUAL_TLS, {}))
        self.assert_ok(self.client.patch(self.path(shared), {"description": "later"}))
        done = self.restore("--since", "30m", "--by", self.account.member.id, status=1)
        self.assertEqual({row["resource"]: row["action"] for row in done["changes"]}, {
            mine["id"]: "change", shared["id"]: "skip", gone["id"]: "create",
            added["id"]: "delete", "undone": "delete"})
        self.assertEqual(done["restored"], 4)
        self.assertIn("others changed it later",
                      [row["reason"] for row in done["changes"] if row["action"] == "skip"][0])
        for credential, metadata in ((mine, "mine"), (shared, "bad"), (gone, "gone")):
            self.assertEqual(self.read(self.path(credential))[0]["metadata"], metadata)
        self.assertEqual(self.read(self.path(added)), (None, None))
        self.assertEqual(self.read(MUTUAL_TLS), (None, None))

    def test_all_that_a_key_changed(self):
        made = self.make(metadata="a")
        key = json.loads(self.ctl("key", "issue", "--for", self.account.admin.id,
                                  "--json").stdout)
        self.assert_ok(self.stack.client(key["key"]).patch(self.path(made), {"metadata": "b"}))
        self.restore("--since", "1h", "--by", key["id"])
        self.assertEqual(self.read(self.path(made))[0]["metadata"], "a")

    def test_users(self):
        user = self.ctl("user", "create", "--account", self.account.id, "--name",
                        "ada").stdout.strip()
        before = self.stack.psql("SELECT * FROM adit.principal WHERE id = '%s'" % user)
        self.stack.psql("DELETE FROM adit.principal WHERE id = '%s'" % user)
        self.restore(user, "--event", self.event_of(user, "_deleted"))
        self.assertEqual(self.stack.psql("SELECT * FROM adit.principal WHERE id = '%s'" % user),
                         before)
        self.stack.psql("UPDATE adit.principal SET name = 'eve', is_admin = true WHERE id = '%s'"
                        % user)
        self.restore(user, "--event", self.event_of(user, "_updated"))
        self.assertEqual(self.stack.psql("SELECT * FROM adit.principal WHERE id = '%s'" % user),
                         before)
        done = self.restore(user, "--event", self.event_of(user, "_created"), status=1)
        self.assertIn("'restore' deletes no account, User or Bot", done["changes"][0]["reason"])

    def test_all_that_an_operator_changed(self):
        """A User who was deleted with a credential; another credential was handed over."""
        user, other = (self.ctl("user", "create", "--account", self.account.id).stdout.strip()
                       for _ in range(2))
        for options in (["--with-credentials", "--yes"], ["--give-to", other]):
            with self.subTest(options[0]):
                made = self.make(owner_id=user)
                self.now()
                self.ctl("user", "delete", user, *options)
                done = self.restore("--since", "30m", "--by", pwd.getpwuid(os.geteuid()).pw_name,
                                    "--account", self.account.id)
                self.assertEqual([row["resource"] for row in done["changes"]], [user, made["id"]])
                self.assertEqual(self.read(self.path(made))[0], made)
                self.assert_ok(self.client.delete(self.path(made)), 204)

    def disabled_at(self, user):
        return self.stack.psql("SELECT disabled_at FROM adit.principal WHERE id = '%s'" % user)

    def test_disabled_stays_disabled(self):
        """The keys of somebody who left stay refused, unless --enable is given."""
        person = self.account.person("user", "--name", "eve")
        client = self.stack.client(person.key)
        self.now()
        self.ctl("user", "disable", person.id)
        words = ["--since", "30m", "--by", pwd.getpwuid(os.geteuid()).pw_name, "--account",
                 self.account.id]
        done = self.restore(*words, status=1)
        self.assertEqual([(row["action"], row["resource"]) for row in done["changes"]],
                         [("skip", person.id)])
        self.assertIn("add --enable", done["changes"][0]["reason"])
        self.ctl("user", "rename", "--name", "gone", person.id)
        shown = self.ctl("restore", *words, "--yes", status=1)
        self.assertIn('name: "gone" -> "eve"\n', shown.stdout)
        self.assertIn("1 of the restored Users and Bots stayed disabled", shown.stderr)
        self.assert_error(client.get(CREDENTIALS), 203)
        self.assertEqual(self.restore(*words, "--enable")["restored"], 1)
        self.assert_ok(client.get(CREDENTIALS))

    def test_disabled_then_deleted(self):
        person = self.account.person("user")
        self.now()
        self.ctl("user", "disable", person.id)
        since = self.disabled_at(person.id)
        for words, status, wanted in (([], 1, since), (["--enable"], 0, "")):
            self.ctl("user", "delete", person.id)
            done = self.restore(person.id, "--at", "30m", *words, status=status)
            self.assertEqual([row["action"] for row in done["changes"]], ["create"])
            self.assertEqual(self.disabled_at(person.id), wanted)
        # It was enabled when it was deleted last.
        self.ctl("user", "delete", person.id)
        self.restore(person.id, "--at", "30m")
        self.assertEqual(self.disabled_at(person.id), "")

    def test_credentials_of_the_disabled(self):
        """Nobody who was disabled gets a credential back, unless --enable is given."""
        person = self.account.person("user")
        client = self.stack.client(person.key)
        made, given = self.make(client), self.make(client)
        self.now()
        self.stack.psql("UPDATE adit.ssh_credential SET owner_id = '%s' WHERE id = '%s'"
                        % (self.account.admin.id, given["id"]))
        self.ctl("user", "disable", "--with-credentials", "--yes", person.id)
        reason = "its owner %s is disabled; to restore it anyway, add --enable" % person.id
        operator = ["--since", "30m", "--by", pwd.getpwuid(os.geteuid()).pw_name, "--account",
                    self.account.id]
        for ident, words in ((made["id"], ["--event", self.event_of(made["id"], "_deleted")]),
                             (given["id"], ["--event", self.event_of(given["id"], "_updated")]),
                             (made["id"], operator)):
            with self.subTest(words):
                done = self.restore(*words, status=1)
                self.assertEqual(done["restored"], 0)
                self.assertIn((ident, "skip", reason), [
                    (row["resource"], row["action"], row["reason"]) for row in done["changes"]])
        # Deleted since: it would come back disabled.
        self.ctl("user", "delete", person.id)
        done = self.restore(*operator, status=1)
        self.assertEqual({row["resource"]: row["action"] for row in done["changes"]},
                         {person.id: "create", made["id"]: "skip"})
        self.assertEqual(self.read(self.path(made)), (None, None))
        self.restore("--enable", "--event", self.event_of(made["id"], "_deleted"))
        self.assertEqual(self.read(self.path(made))[0], made)
        # Its owner is enabled again.
        self.assert_ok(self.client.delete(self.path(made)), 204)
        self.ctl("user", "enable", person.id)
        self.restore("--event", self.event_of(made["id"], "_deleted"))
        self.assertEqual(self.read(self.path(made))[0], made)

    def test_disabled_while_it_asks(self):
        """An owner who is disabled before the answer gets nothing."""
        person = self.account.person("user")
        made = self.make(self.stack.client(person.key))
        self.assert_ok(self.client.delete(self.path(made)), 204)
        ours, theirs = os.openpty()
        with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "restore",
                               "--event", self.event_of(made["id"], "_deleted")], stdin=theirs,
                              stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            while b"Type yes to go on: " not in shown:
                shown += os.read(ours, 4096)
            self.ctl("user", "disable", person.id)
            os.write(ours, b"yes\n")
            self.assertEqual(process.wait(), 1)
        os.close(ours)
        self.assertEqual(self.read(self.path(made)), (None, None))

    def test_operators_with_sudo(self):
        """Each name of the operator finds it, and what WHO shows."""
        made = self.make(metadata="a")
        self.now()
        self.stack.psql("SET adit.operator = 'deploy (sudo by ada)';"
                        " UPDATE adit.ssh_credential SET metadata = 'b' WHERE id = '%s'"
                        % made["id"])
        event = self.events(made["id"])[-1]
        self.assertEqual(event["operator"], "deploy (sudo by ada)")
        for by, finds in (("deploy", True), ("ada", True), ("deploy (sudo by ada)", True),
                          ("deploy (sudo by ada) (aditctl)", True), ("ada (aditctl)", False),
                          ("deplo", False), ("sudo by ada", False)):
            with self.subTest(by):
                words = ["--by", by, "--account", self.account.id, "--since", "30m"]
                done = self.ctl("restore", *words, "--dry-run", "--json", status=0 if finds else 1)
                if finds:
                    self.assertEqual([event], self.events(made["id"], "--by", by))
                    self.assertIn(made["id"], done.stdout)
                else:
                    self.assertIn("names nobody", done.stderr)

    def test_output_is_lost(self):
        """Nothing is restored if nothing can be shown."""
        made = self.make(metadata="a")
        self.assert_ok(self.client.patch(self.path(made), {"metadata": "b"}))
        done = stack.run(["sh", "-c", '"$@" >/dev/full', "sh", self.stack.env["ADITCTL"], "-c",
                          self.stack.conf_path, "restore", "--yes", "--event",
                          self.event_of(made["id"], "_updated")], check=False)
        self.assertEqual((done.returncode, done.stderr), (
            1, "aditctl: cannot write to standard output: No space left on device; nothing was"
            " changed\n"))
        self.assertEqual(self.read(self.path(made))[0]["metadata"], "b")

    def test_owner_is_gone(self):
        user = self.ctl("user", "create", "--account", self.account.id).stdout.strip()
        made = self.make(owner_id=user)
        self.assert_ok(self.client.delete(self.path(made)), 204)
        self.stack.psql("DELETE FROM adit.principal WHERE id = '%s'" % user)
        event = self.event_of(made["id"], "_deleted")
        done = self.restore(made["id"], "--event", event, status=1)
        self.assertEqual("its owner %s is gone; restore that first" % user,
                         done["changes"][0]["reason"])
        self.restore(user, "--event", self.event_of(user, "_deleted"))
        self.restore(made["id"], "--event", event)
        self.assertEqual(self.read(self.path(made))[0], made)

    def test_required_rules(self):
        """[service] require_acl: no credential comes to be without a rule."""
        changed, gone, stays = (self.make(description="-") for _ in range(3))
        time_before = self.now()
        self.assert_ok(self.client.patch(self.path(changed), {"acl": ["*"]}))
        self.assert_ok(self.client.delete(self.path(gone)), 204)
        self.assert_ok(self.client.patch(self.path(stays), {"description": "new"}))
        self.stack.set_conf("service", "require_acl", "yes")
        self.addCleanup(self.stack.set_conf, "service", "require_acl", "no")
        skipped = {made["id"]: "it had no rule, and [service] require_acl is yes; to permit "
                               "everything, " + remedy
                   for made, remedy in ((changed, "give it the rule *"),
                                        (gone, "create another with the rule *"))}
        for made in changed, gone:
            found = self.restore(made["id"], "--at", time_before, status=1)
            self.assertEqual([(row["action"], row["reason"]) for row in found["changes"]],
                             [("skip", skipped[made["id"]])])
        # With others, only these are left out: one that has no rule already is restored.
        found = self.restore("--since", time_before, "--by", self.account.admin.id, status=1)
        self.assertEqual({row["resource"]: row["reason"] for row in found["changes"]},
                         {**skipped, stays["id"]: None})
        self.assertEqual(self.read(self.path(changed))[0]["acl"], ["*"])
        self.assertEqual(self.read(self.path(gone)), (None, None))
        self.assertEqual(self.read(self.path(stays))[0]["description"], "-")
        # One that gets a rule back is restored, too.
        self.assert_ok(self.client.patch(self.path(changed), {"acl": ["bind:a.example"]}))
        self.assertEqual(self.restore("--event", self.event_of(changed["id"], "_updated"))["restored"], 1)
        self.assertEqual(self.read(self.path(changed))[0]["acl"], ["*"])

    def test_columns_that_the_event_lacks(self):
        """Those that were added since get their default; those that were dropped are ignored."""
        user = self.ctl("user", "create", "--account", self.account.id).stdout.strip()
        self.stack.psql("DELETE FROM adit.principal WHERE id = '%s'" % user)
        self.stack.psql("UPDATE adit.audit_event SET before = before - 'disabled_at' ||"
                        " '{\"dropped\": [1]}' WHERE resource = '%s'" % user)
        self.restore(user, "--event", self.event_of(user, "_deleted"))
        self.assertEqual(self.stack.psql("SELECT disabled_at IS NULL FROM adit.principal"
                                         " WHERE id = '%s'" % user), "t")

    def test_refused(self):
        made = self.make()
        event = self.event_of(made["id"], "_created")
        key = json.loads(self.ctl("key", "issue", "--for", self.account.admin.id,
                                  "--json").stdout)["id"]
        for words, status, says in (
                ([], 2, "give --event ID, --at TIME with a RESOURCE, or --since TIME with --by ID"),
                ([made["id"]], 2, "needs to know what to undo"),
                (["--since", "1h", "--by", "x"], 1, "--by 'x' names nobody"),
                (["--since", "1h", "--by", ""], 2, "--by is empty"),
                (["--since", "1h", "--by", self.account.admin.id, "--account", "ac_x"], 1,
                 "no account with the id 'ac_x'"),
                (["--at", "1h"], 2, "needs a RESOURCE"), (["--since", "1h"], 2, "also needs --by ID"),
                (["--by", "x"], 2, "also needs --since TIME"),
                ([made["id"], "--at", "1h", "--event", event], 2, "exclude each other"),
                ([made["id"], "--at", "3000-01-01"], 2, "is in the future"),
                ([made["id"], "--event", "x"], 2, "--event 'x' is not accepted"),
                ([made["id"], "--event", "99999999999"], 1, 
                 "there is no event ae_0000000099999999999; 'aditctl history' shows the ids"),
                (["undone", "--event", event], 2, "is a change of " + made["id"]),
                (["sshcr_x", "--at", "1h"], 1, "has nothing named"),
                ([key, "--at", "1h"], 1, "an API key cannot be restored")):
            with self.subTest(" ".join(words)):
                self.assertIn(says, self.ctl("restore", *words, "--yes", status=status).stderr)

    def test_an_event_of_another_account(self):
        made = self.make()
        self.assert_ok(self.client.patch(self.path(made), {"metadata": "changed"}))
        event = self.event_of(made["id"], "_updated")
        other = self.stack.account("other")
        done = self.ctl("restore", "--event", event, "--account", other.id, "--yes", status=2)
        self.assertIn("event %s is a change in the account %s, not in '%s'"
                      % (event, self.account.id, other.id), done.stderr)
        self.assertEqual(self.read(self.path(made))[0]["metadata"], "changed")
        self.restore("--event", event, "--account", self.account.id)
        self.assertEqual(self.read(self.path(made))[0]["metadata"], "")

    def test_no_member_is_lost(self):
        """Columns that no code knows, in the table of each kind: one that the event has comes back, and
        one that was added since stays, or has its default."""
        made = self.make()
        self.assert_ok(self.client.put(MUTUAL_TLS, {}))
        self.assert_ok(self.client.put(OAUTH, {"enabled": False}))
        rows = (("account", "id = '%s'" % self.account.id, self.account.id),
                ("principal", "id = '%s'" % self.account.member.id, self.account.member.id),
                ("ssh_credential", "id = '%s'" % made["id"], made["id"]),
                ("oauth_module", "account_id = '%s'" % self.account.id, "undone/r"),
                ("mutual_tls_module", "account_id = '%s'" % self.account.id, "undone"))
        for table, where, resource in rows:
            shown = "SELECT planted, later FROM adit.%s WHERE %s" % (table, where)
            change = "UPDATE adit.%s SET %%s WHERE %s" % (table, where)
            self.stack.psql("ALTER TABLE adit.%s ADD COLUMN planted text" % table)
            self.stack.psql(change % "planted = 'first'")
            self.stack.psql(change % "planted = 'second'")
            event = self.event_of(resource, "_updated")
            self.stack.psql("ALTER TABLE adit.%s ADD COLUMN later integer NOT NULL DEFAULT 7" % table)
            self.addCleanup(self.stack.psql, "ALTER TABLE adit.%s DROP COLUMN planted, DROP COLUMN later"
                            % table)
            self.stack.psql(change % "later = 8")
            with self.subTest(table):
                self.restore("--event", event, "--account", self.account.id)
                self.assertEqual(self.stack.psql(shown), "first|8")
        for table, where, resource in rows[2:]:
            shown = "SELECT planted, later FROM adit.%s WHERE %s" % (table, where)
            self.stack.psql("DELETE FROM adit.%s WHERE %s" % (table, where))
            self.stack.psql("UPDATE adit.audit_event SET before = before - 'later' WHERE resource = '%s'"
                            % resource)
            with self.subTest(table + ", deleted"):
                self.restore("--event", self.event_of(resource, "_deleted"), "--account", self.account.id)
                self.assertEqual(self.stack.psql(shown), "first|7")

    def test_right_after_a_large_change(self):
        """Without statistics, what is to be undone is found within the time limit: no part of the
        plan is quadratic.  Half of the credentials are of a User who was deleted since."""
        n = 15000
        tables = ("adit.ssh_credential", "adit.audit_event")
        for table in tables:
            self.stack.psql("ALTER TABLE %s SET (autovacuum_enabled = off)" % table)
            self.addCleanup(self.stack.psql, "ALTER TABLE %s RESET (autovacuum_enabled)" % table)
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint,"
            " description, metadata, acl, public_key, created_at)"
            " SELECT '%s', 'sshcr_' || lpad(i::text, 27, '0'),"
            " CASE WHEN i %% 2 = 0 THEN '%s' ELSE '%s' END, 'ssh-ed25519', 'SHA256:' || lpad(i::text, 43, '0'), '', '', '{}',"
            " 'ssh-ed25519 AAAA' || i, now() FROM generate_series(1, %d) AS i"
            % (self.account.id, self.account.admin.id, self.account.member.id, n))
        time_before = self.now()
        self.stack.psql("SET adit.operator = 'mistaken';"
                        " UPDATE adit.ssh_credential SET metadata = 'x' WHERE account_id = '%s';"
                        " DELETE FROM adit.ssh_credential WHERE account_id = '%s'"
                        % (self.account.id, self.account.id))
        self.ctl("user", "delete", self.account.member.id, "--yes")
        done = self.ctl("restore", "--since", time_before, "--by", "mistaken", "--dry-run", "--json",
                        status=1)
        changes = json.loads(done.stdout)["changes"]
        self.assertEqual(len(changes), n)
        self.assertEqual({(row["action"], row["reason"]) for row in changes}, {
            ("create", None),
            ("skip", "its owner %s is gone; restore that first" % self.account.member.id)})
        self.ctl("restore", "--since", time_before, "--by", "mistaken", "--yes", status=1)
        self.assertEqual(self.stack.psql(
            "SELECT count(*), min(metadata), max(metadata) FROM adit.ssh_credential"
            " WHERE account_id = '%s'" % self.account.id).strip(), "%d||" % (n / 2))

    def test_changed_meanwhile(self):
        """Nothing is restored if a row has changed since the plan was shown."""
        first, second = self.make(metadata="a"), self.make(metadata="a")
        for credential in (first, second):
            self.assert_ok(self.other.patch(self.path(credential), {"metadata": "b"}))
        ours, theirs = os.openpty()
        with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "restore",
                               "--since", "1h", "--by", self.account.member.id], stdin=theirs,
                              stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            while b"Type yes" not in shown:
                shown += os.read(ours, 4096)
            self.assert_ok(self.client.patch(self.path(second), {"metadata": "c"}))
            os.write(ours, b"yes\n")
            shown = b""
            with contextlib.suppress(OSError):  # EIO: the terminal has no other end any more
                while piece := os.read(ours, 4096):
                    shown += piece
        os.close(ours)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"%s was changed meanwhile; nothing was restored"
                      % second["id"].encode(), shown)
        self.assertEqual([self.read(self.path(credential))[0]["metadata"]
                          for credential in (first, second)], ["b", "c"])

    def test_changed_meanwhile_and_nobody_asked(self):
        """With --yes, the plan is made anew: it leaves alone what others have changed."""
        first, second = self.make(metadata="a"), self.make(metadata="a")
        for credential in (first, second):
            self.assert_ok(self.other.patch(self.path(credential), {"metadata": "b"}))
        session = Session(self, "SET LOCAL adit.operator = 'else'; UPDATE adit.ssh_credential"
                          " SET metadata = 'c' WHERE id = '%s'" % second["id"])
        done = session.commit_during(self, lambda: self.stack.ctl_run(
            "restore", "--since", "1h", "--by", self.account.member.id, "--yes", "--json"))
        self.assertEqual((done.returncode, done.stderr),
                         (1, "aditctl: 1 of 2 were left as they are\n"))
        shown = json.loads(done.stdout)
        self.assertEqual(shown["restored"], 1)
        self.assertCountEqual(
            [(row["resource"], row["action"], row["before"]["metadata"])
             for row in shown["changes"]],
            [(first["id"], "change", "b"), (second["id"], "skip", "c")])
        self.assertEqual([self.read(self.path(credential))[0]["metadata"]
                          for credential in (first, second)], ["a", "c"])

    def beat(self, action, n):
        """Has the first n updates of a credential's row do this instead."""
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.beaten CASCADE;"
                        " DROP SEQUENCE public.n_beaten")
        self.stack.psql("CREATE SEQUENCE public.n_beaten;"
                        "CREATE FUNCTION public.beaten() RETURNS trigger LANGUAGE plpgsql AS $$"
                        " BEGIN IF nextval('public.n_beaten') <= %d THEN %s; END IF; RETURN NEW;"
                        " END $$; CREATE TRIGGER beaten BEFORE UPDATE ON adit.ssh_credential"
                        " FOR EACH ROW EXECUTE FUNCTION public.beaten()" % (n, action))

    def test_tries(self):
        """Four failures are passed over, a fifth is said, and other failures at once."""
        made = self.make(metadata="a")
        others, fails = "RETURN NULL", "RAISE EXCEPTION 'beaten' USING ERRCODE = '%s'"
        for action, n, n_tries, said in (
                (others, 4, 5, None), (fails % "40P01", 4, 5, None),
                (others, 5, 5, "%s was changed meanwhile; nothing was restored in 5 tries, run this"
                 " again\n"),
                (fails % "40P01", 5, 5, "nothing was restored in 5 tries: %s: "),
                (fails % "22012", 1, 1, "nothing was restored: %s: ")):
            with self.subTest(action, n=n):
                self.assert_ok(self.client.patch(self.path(made), {"metadata": "b"}))
                event = self.event_of(made["id"], "_updated")
                self.beat(action, n)
                done = self.ctl("restore", "--event", event, "--yes", status=1 if said else 0)
                self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()],
                                 ["ACTION", "change"])
                if said:
                    self.assertIn("aditctl: " + said % made["id"], done.stderr)
                else:
                    self.assertEqual(done.stderr, "")
                self.assertEqual(self.read(self.path(made))[0]["metadata"], "b" if said else "a")
                self.assertEqual(self.stack.psql("SELECT last_value FROM public.n_beaten"),
                                 str(n_tries))
                self.doCleanups()
                self.stack.psql("UPDATE adit.ssh_credential SET metadata = 'a' WHERE id = '%s'"
                                % made["id"])

    def test_owner_who_is_disabled_meanwhile(self):
        """Between the statement that restores the credential and the commit."""
        made = self.make()
        self.assert_ok(self.client.delete(self.path(made)), 204)
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.held CASCADE")
        self.stack.psql("CREATE FUNCTION public.held() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                        " PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$;"
                        " CREATE TRIGGER held AFTER INSERT ON adit.ssh_credential"
                        " FOR EACH STATEMENT EXECUTE FUNCTION public.held()")
        session = Session(self, "SELECT FROM pg_advisory_xact_lock(77); UPDATE adit.principal"
                          " SET disabled_at = now() WHERE id = '%s'" % made["owner_id"])
        self.addCleanup(self.stack.psql, "UPDATE adit.principal SET disabled_at = NULL"
                        " WHERE id = '%s'" % made["owner_id"])
        done = session.commit_during(self, lambda: self.stack.ctl_run(
            "restore", made["id"], "--event", self.event_of(made["id"], "_deleted"), "--yes"))
        self.assertEqual((done.returncode, done.stderr),
                         (1, "aditctl: 1 of 1 were left as they are\n"))
        self.assertIn("its owner %s is disabled" % made["owner_id"], done.stdout)
        self.assertEqual(self.stack.psql("SELECT count(*) FROM adit.ssh_credential WHERE id = '%s'"
                                         % made["id"]), "0")

    def test_key_that_another_has(self):
        """No other try would end otherwise."""
        made = self.make(metadata="a")
        self.assert_ok(self.client.delete(self.path(made)), 204)
        self.make(public_key=made["public_key"])
        with open(os.path.join(stack.ROOT, "sql/optional/unique_public_keys.sql"),
                  encoding="utf-8") as file:
            self.stack.psql(file.read())
        self.addCleanup(self.stack.psql, "DROP INDEX adit.ssh_credential_unique_public_key")
        done = self.ctl("restore", made["id"], "--event", self.event_of(made["id"], "_deleted"),
                        "--yes", status=1)
        self.assertEqual(done.stderr, "aditctl: nothing was restored: %s: The account already has a"
                         " credential with this public key. Use that credential, or delete it"
                         " first.\n" % made["id"])

    def test_tries_of_several_rows(self):
        """After the fifth, each row is written alone, to name the one that is in the way."""
        rows = [self.make(metadata="a") for _ in range(2)]
        for credential in rows:
            self.assert_ok(self.other.patch(self.path(credential), {"metadata": "b"}))
        self.beat("RETURN NULL", 1000)
        done = self.ctl("restore", "--since", "1h", "--by", self.account.member.id, "--yes",
                        "--json", status=1)
        self.assertRegex(done.stderr, "^aditctl: (%s) was changed meanwhile; nothing was restored in"
                         " 5 tries, run this again\n$" % "|".join(row["id"] for row in rows))
        shown = json.loads(done.stdout)
        self.assertEqual((shown["restored"], len(shown["changes"])), (0, 2))
        self.assertEqual(self.stack.psql("SELECT last_value FROM public.n_beaten"), "11")


class Secrets(UndoCase):
    def put(self, secret, **members):
        self.assert_ok(self.client.put(OAUTH, {"provider": {"provider_a": {
            "client_id": "app", "client_secret": secret, **members}}}))

    def secret_file(self, text):
        path = os.path.join(self.stack.folder, "client-secret")
        with open(path, "w", encoding="utf-8") as file:
            os.chmod(path, 0o600)
            file.write(text)
        return path

    def shown(self):
        return self.read(OAUTH)[0]["provider"]["provider_a"]

    def test_listed(self):
        self.put(SECRET, email_domains=["a.example"], scopes=["x"])
        self.put("another", email_domains=["b.example"])
        words = ["restore", "undone/r", "--account", self.account.id, "--event",
                 self.event_of("undone/r", "_updated"), "--dry-run", "--client-secret-file"]
        done = self.ctl(*words, self.secret_file("it\n"))
        self.assertRegex(done.stdout, "email_domains: .*; client_secret: set\n$")
        warning = "aditctl: warning: edge undone, route r: nobody passes by email_domains: "
        self.assertTrue(done.stderr.startswith(warning), done)
        # It stays as it is without the secret.
        self.assertNotIn("warning", self.ctl(*words[:-1], status=1).stderr)
        for text in ("it\nit", "it\n\n", "it\rit\r\n"):
            self.assertIn("which has more than one line",
                          self.ctl(*words, self.secret_file(text), status=1).stderr)

    def test_kept(self):
        """A secret that was never replaced stays."""
        self.put(SECRET)
        self.stack.psql("UPDATE adit.oauth_module SET enabled = false WHERE edge_id = 'undone'"
                        " AND account_id = '%s'" % self.account.id)
        self.assertFalse(self.read(OAUTH)[0]["enabled"])
        self.restore("undone/r", "--account", self.account.id, "--event",
                     self.event_of("undone/r", "_updated"))
        self.assertTrue(self.read(OAUTH)[0]["enabled"])
        self.assertEqual(self.shown()["client_secret"], SECRET)

    def test_gone(self):
        """It has to be given after a later PUT and after DELETE."""
        self.put(SECRET, email_domains=["a.example"])
        for change, event in ((lambda: self.put("another", email_domains=["b.example"]),
                               "_updated"),
                              (lambda: self.assert_ok(self.client.delete(OAUTH), 204),
                               "_deleted")):
            with self.subTest(event):
                change()
                words = ["undone/r", "--account", self.account.id, "--event",
                         self.event_of("undone/r", event)]
                done = self.restore(*words, status=1)
                self.assertEqual((done["restored"], done["changes"][0]["action"]), (0, "skip"))
                self.assertIn("with --client-secret-file", done["changes"][0]["reason"])
                done = self.restore(*words, "--client-secret-file",
                                    self.secret_file(SECRET + "\n"))
                self.assertEqual(done["restored"], 1)
                self.assertNotIn(SECRET, json.dumps(done))
                self.assertEqual((self.shown()["client_secret"], self.shown()["email_domains"]),
                                 (SECRET, ["a.example"]))

    def test_to_no_client(self):
        self.assert_ok(self.client.put(OAUTH, {}))
        self.put(SECRET)
        self.restore("undone/r", "--account", self.account.id, "--event",
                     self.event_of("undone/r", "_updated"))
        self.assertEqual(self.read(OAUTH)[0]["provider"]["provider_a"], None)

    def test_files(self):
        self.put(SECRET)
        self.put("another")
        event = self.event_of("undone/r", "_updated")
        for text, says in (("", "which is empty"), ("\r\n", "which is empty"),
                           ("x" * 1025, "more than 1024 bytes"), ("a\0b", "is not UTF-8 text")):
            with self.subTest(text[:2]):
                done = self.ctl("restore", "--event", event, "--yes", "--client-secret-file",
                                self.secret_file(text), status=1)
                self.assertIn(says, done.stderr)
        public = self.secret_file(SECRET)
        os.chmod(public, 0o604)
        fifo = os.path.join(self.stack.folder, "fifo")
        os.mkfifo(fifo)
        self.addCleanup(os.unlink, fifo)
        for path, says in (("/nonexistent", "No such file"), (public, "others may read or write"),
                           (fifo, "is not a regular file"), ("/dev/zero", "not a regular file"),
                           (self.stack.folder, "is not a regular file")):
            with self.subTest(path):
                self.assertIn(says, self.ctl("restore", "--event", event, "--yes",
                                             "--client-secret-file", path, status=1).stderr)
        self.assertEqual(self.shown()["client_secret"], "another")
        made = self.make()
        self.assertIn("is for an OAuth module that has a client_id, and this restores none", self.ctl(
            "restore", "--event", self.event_of(made["id"], "_created"), "--yes",
            "--client-secret-file", self.secret_file("x"), status=2).stderr)
        self.restore("--event", event, "--client-secret-file", self.secret_file("x" * 1024))
        self.assertEqual(self.shown()["client_secret"], "x" * 1024)


class Purged(UndoCase):
    """The record does not go back far enough."""
    stack_name = "history"

    def test_purged(self):
        made = self.make(metadata="a")
        self.assert_ok(self.client.patch(self.path(made), {"metadata": "b"}))
        event = self.event_of(made["id"], "_updated")
        before = self.stack.psql("SELECT transaction FROM adit.audit_pruned")
        self.addCleanup(self.stack.psql, "UPDATE adit.audit_pruned SET transaction = nullif('%s',"
                        " '')::xid8" % before)
        self.stack.psql("DELETE FROM adit.audit_event WHERE id <= %d" % int(event[3:]))
        self.assert_ok(self.client.patch(self.path(made), {"metadata": "c"}))
        for words in ([made["id"], "--at", "1h"], ["--since", "1h", "--by",
                                                   self.account.admin.id]):
            self.assertIn("the record of changes begins at 2",
                          self.ctl("restore", *words, "--yes", status=1).stderr)
        self.assertIn("has removed it", self.ctl("restore", "--event", event, "--yes",
                                                 status=1).stderr)
        done = self.ctl("history", made["id"])
        self.assertIn("the record of changes begins at 2", done.stderr)
        self.restore("--event", self.event_of(made["id"], "_updated"))
        self.assertEqual(self.read(self.path(made))[0]["metadata"], "b")

    def test_purged_without_a_transaction(self):
        """An earlier version recorded the event, or a cluster that was ahead."""
        before = self.stack.psql("SELECT transaction FROM adit.audit_pruned")
        self.addCleanup(self.stack.psql, "UPDATE adit.audit_pruned SET transaction = nullif('%s',"
                        " '')::xid8" % before)
        for transaction in ("NULL", "'9000000000000000'"):
            with self.subTest(transaction):
                made = self.make()
                self.stack.psql(
                    "UPDATE adit.audit_pruned SET transaction = NULL;"
                    " UPDATE adit.audit_event SET transaction = %s WHERE resource = '%s';"
                    " DELETE FROM adit.audit_event WHERE resource = '%s'"
                    % (transaction, made["id"], made["id"]))
                self.assertIn("the record of changes begins at 2", self.ctl(
                    "restore", made["id"], "--at", "1h", "--yes", status=1).stderr)
