# SPDX-License-Identifier: MIT
"""People come and go: API keys for own credentials, Users and Bots that are disabled and deleted,
and when their keys were last used."""
import json
import os
import re
import signal
import subprocess
import threading
import time

from adit import samples
from adit.case import Case, until, until_back
from adit.programs import signal_all

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/people/routes/%s/oauth"
MUTUAL_TLS = "/edges/tls/people/mutual_tls"
NOT_STORED = b"cannot store when keys were last used"
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"


class PeopleCase(Case):
    stack_name = "people"

    def ctl(self, *arguments, status=0):
        done = self.stack.ctl_run(*arguments)
        self.assertEqual(done.returncode, status, done)
        return done.stdout if status == 0 else done.stderr

    def json_of(self, *arguments):
        return json.loads(self.ctl(*arguments, "--json"))

    def keys_of(self, person):
        return self.json_of("key", "list", "--for", person.id)["api_keys"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.account = cls.stack.account("people")
        cls.admin = cls.stack.client(cls.account.admin.key)

    def person(self, *options, kind="user"):
        person = self.account.person(kind, *options)
        person.client = self.stack.client(person.key)
        return person

    def credential_of(self, person):
        return self.assert_ok(person.client.post(CREDENTIALS, samples.credential()), 201)["id"]


class Session:
    """A psql session that keeps a transaction open."""

    def __init__(self, case, sql):
        self.psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                     env=case.stack.pg_env())
        case.addCleanup(self.psql.communicate)
        self.send("BEGIN; %s; \\echo open" % sql)
        assert self.psql.stdout.readline() == "open\n"

    def send(self, sql):
        self.psql.stdin.write(sql + "\n")
        self.psql.stdin.flush()

    def commit_during(self, case, run):
        """Commits once run() waits for this transaction.  Returns what run() returns.  This session
        looks: a statement waits for 4 s at most, and another psql may take longer to start."""
        result = []
        thread = threading.Thread(target=lambda: result.append(run()))
        thread.start()
        self.send("DO $$BEGIN FOR i IN 1..3000 LOOP IF (%s) > 0 THEN RETURN; END IF;"
                  " PERFORM pg_sleep(0.01); END LOOP; RAISE 'nothing waits'; END$$;"
                  " \\echo waits" % case.stack.waiting())
        case.assertEqual(self.psql.stdout.readline(), "waits\n")
        self.send("COMMIT;")
        thread.join()
        return result[0]


class OwnKeys(PeopleCase):
    def setUp(self):
        super().setUp()
        self.user = self.person("--admin")
        self.own = self.stack.client(self.user.issue("--own"))

    def test_reads_all_but_secrets(self):
        secret = {"provider": {"provider_a": {"client_id": "id", "client_secret": "hush"}}}
        ident = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)["id"]
        wanted = self.assert_ok(self.admin.put(OAUTH % "own", secret))
        wanted["provider"]["provider_a"]["client_secret"] = None
        self.assert_ok(self.own.get(CREDENTIALS + "/" + ident))
        self.assertEqual(self.assert_ok(self.own.get(CREDENTIALS))["ssh_credentials"][0]["id"],
                         ident)
        self.assertEqual(self.assert_ok(self.own.get(OAUTH % "own")), wanted)
        listed = self.assert_ok(self.own.get("/oauth_modules"))["oauth_modules"]
        self.assertEqual([module["provider"] for module in listed], [wanted["provider"]])
        self.assert_ok(self.own.post("/ssh_decisions", {"public_key": samples.ED25519}))

    def test_writes_credentials_of_its_own(self):
        for body in ({}, {"owner_id": self.user.id}):
            made = self.assert_ok(self.own.post(CREDENTIALS, samples.credential(
                public_key=samples.new_key(), **body)), 201)
            path = CREDENTIALS + "/" + made["id"]
            self.assertEqual(made["owner_id"], self.user.id)
            self.assert_ok(self.own.patch(path, {"description": "x"}))
            self.assert_ok(self.own.delete(path), 204)
            self.assert_error(self.own.patch(path, {}), 9002)

    def test_owner_of_an_earlier_key(self):
        """A full key and one for own credentials share what they own."""
        ident = self.assert_ok(self.user.client.post(CREDENTIALS, samples.credential(
            public_key=samples.new_key())), 201)["id"]
        self.assert_ok(self.own.delete(CREDENTIALS + "/" + ident), 204)

    def test_nothing_else(self):
        ident = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)
        path = CREDENTIALS + "/" + ident["id"]
        before = self.stack.dump()
        answer = self.own.post(CREDENTIALS, samples.credential(owner_id=self.account.admin.id))
        self.assert_error(answer, 9080)
        self.assertEqual(answer.json["details"]["field"], "owner_id")
        self.each([
            ("change", lambda: self.own.patch(path, {"description": "taken"})),
            ("change of nothing", lambda: self.own.patch(path, {})),
            ("delete", lambda: self.own.delete(path)),
            ("permission before the condition",
             lambda: self.own.delete(path, more=[("If-Match", '"0"')])),
            ("OAuth module", lambda: self.own.put(OAUTH % "own", {})),
            ("OAuth module, delete", lambda: self.own.delete(OAUTH % "own")),
            ("mutual TLS module", lambda: self.own.put(MUTUAL_TLS, {})),
            ("mutual TLS module, delete", lambda: self.own.delete(MUTUAL_TLS)),
            ("permission before existence", lambda: self.own.delete("/edges/tls/a%20b/mutual_tls")),
        ], lambda call: self.assert_error(call(), 9080))
        self.assertEqual(self.stack.dump(), before)

    def test_owner_changes_meanwhile(self):
        """A write that waits until its credential is another's, or deleted, says so."""
        for name, write in (("change", lambda path: self.own.patch(path, {"description": "x"})),
                            ("delete", self.own.delete)):
            for sql, code in (("UPDATE adit.ssh_credential SET owner_id = '%s' WHERE id = '%%s'"
                               % self.account.admin.id, 9080),
                              ("DELETE FROM adit.ssh_credential WHERE id = '%s'", 9002)):
                with self.subTest(name, sql=sql):
                    ident = self.credential_of(self.user)
                    path = CREDENTIALS + "/" + ident
                    session = Session(self, sql % ident)
                    answer = session.commit_during(self, lambda: write(path))
                    self.assert_error(answer, code)

    def test_idempotency_key_of_a_full_key(self):
        body = samples.credential(owner_id=self.account.admin.id)
        once = [("Idempotency-Key", "shared")]
        for _ in range(2):
            self.assert_error(self.own.post(CREDENTIALS, body, more=once), 9080)
            self.assert_ok(self.user.client.post(CREDENTIALS, body, more=once), 201)

    def test_earlier_responders_see_a_read_only_key(self):
        self.assertEqual(self.stack.psql(
            "SELECT DISTINCT read_only FROM adit.api_key WHERE scope = 'own'"), "t")
        done = self.stack.psql_run("UPDATE adit.api_key SET read_only = false WHERE scope = 'own'")
        self.assertIn("api_key_own_reads", done.stderr)

    def test_one_kind_of_key(self):
        for others in (["--read-only"], ["--gateway"], ["--read-only", "--gateway"]):
            message = self.ctl("key", "issue", "--for", self.user.id, "--own", *others, status=2)
            self.assertIn("give one of them", message)
        modes = [key["mode"] for key in self.keys_of(self.user)]
        self.assertEqual(modes, ["read-write", "own"])


class Disable(PeopleCase):
    def setUp(self):
        super().setUp()
        self.user = self.person()
        self.own = self.stack.client(self.user.issue("--own"))

    def states(self):
        return [key["state"] for key in self.keys_of(self.user)]

    def test_refuses_all_keys_at_once(self):
        revoked = self.keys_of(self.user)[0]["id"]
        self.credential_of(self.user)
        self.ctl("key", "revoke", revoked)
        done = self.json_of("user", "disable", self.user.id)
        self.assertRegex(done["disabled_at"], TIME)
        self.assertEqual((done["keys"], done["credentials"], done["deleted_credentials"]),
                         (1, 1, 0))
        for client in (self.user.client, self.own):
            self.assert_error(client.get(CREDENTIALS), 203)
        self.assertEqual(self.states(), ["revoked", "disabled"])
        self.assert_ok(self.admin.get(CREDENTIALS))
        # Again: the time stays.
        since = "SELECT disabled_at FROM adit.principal WHERE id = '%s'" % self.user.id
        before = self.stack.psql(since)
        self.assertEqual(self.ctl("user", "disable", self.user.id).splitlines()[0],
                         "%s is disabled since %s: 1 API key stays refused" % (
                             self.user.id, done["disabled_at"]))
        self.assertEqual(self.stack.psql(since), before)
        self.assertIn("1 API key accepted again", self.ctl("user", "enable", self.user.id))
        self.assertEqual(self.ctl("user", "enable", self.user.id),
                         "%s is not disabled: 1 API key stays accepted\n" % self.user.id)
        self.assert_ok(self.own.get(CREDENTIALS))
        self.assert_error(self.user.client.get(CREDENTIALS), 203)
        self.assertEqual(self.states(), ["revoked", "active"])

    def test_prints_what_stands(self):
        for _ in range(2):
            self.credential_of(self.user)
        shown = self.ctl("user", "disable", self.user.id)
        self.assertIn("2 API keys refused", shown)
        self.assertIn("2 SSH credentials still permit tunnels", shown)
        shown = self.ctl("user", "disable", "--with-credentials", "--yes", self.user.id)
        self.assertIn("deleted 2 SSH credentials\n0 SSH credentials still", shown)
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM adit.audit_event WHERE event = 'ssh_credential_deleted'"
            " AND before ->> 'owner_id' = '%s'" % self.user.id), "2")

    def test_public_keys_of_others(self):
        """What others have stored with the same public key still grants, or grants again."""
        self.assert_ok(self.user.client.post(CREDENTIALS, samples.credential()), 201)
        words = ("user", "disable", "--with-credentials", "--yes", self.user.id)
        done = self.stack.ctl_run(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        other = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)
        self.addCleanup(self.admin.delete, "%s/%s" % (CREDENTIALS, other["id"]))
        self.ctl("user", "enable", self.user.id)
        self.assert_ok(self.user.client.post(CREDENTIALS, samples.credential()), 201)
        done = self.stack.ctl_run(*words)
        self.assertEqual(done.returncode, 0)
        self.assertIn("others have SSH credentials with the same public keys", done.stderr)
        self.assertIn(other["id"], done.stderr)

    def test_many_credentials(self):
        """They go some at a time, so that the first tunnels end at once, and what fails later takes
        none of it back."""
        made = self.credential_of(self.user)
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, public_key, key_type,"
            " fingerprint) SELECT c.account_id, 'sshcr_' || left(md5(c.id || i), 27), c.owner_id,"
            " c.public_key, c.key_type, c.fingerprint"
            " FROM adit.ssh_credential AS c, generate_series(1, 449) AS i WHERE c.id = '%s'"
            % made)
        drop = "DROP FUNCTION IF EXISTS public.stand CASCADE"
        self.addCleanup(self.stack.psql, drop)
        self.stack.psql("CREATE FUNCTION public.stand() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                        " IF (SELECT count(*) FROM adit.ssh_credential AS c WHERE c.owner_id ="
                        " OLD.owner_id) <= 250 THEN RAISE EXCEPTION 'stand'; END IF; RETURN OLD;"
                        " END $$; CREATE TRIGGER stand BEFORE DELETE ON adit.ssh_credential"
                        " FOR EACH ROW EXECUTE FUNCTION public.stand()")
        words = ("user", "disable", "--with-credentials", "--yes", self.user.id)
        self.assertIn("deleted 200 of its SSH credentials, but others stand", self.ctl(*words, status=1))
        self.stack.psql(drop)
        self.assertIn("deleted 250 SSH credentials\n0 SSH credentials still", self.ctl(*words))

    def test_credentials_that_stand_at_first(self):
        """Running it again ends the credentials of somebody who is disabled already."""
        self.assert_ok(self.user.client.post(CREDENTIALS, samples.credential()), 201)
        words = ("user", "disable", "--with-credentials", "--yes", self.user.id)
        drop = "DROP FUNCTION IF EXISTS public.stand CASCADE"
        self.addCleanup(self.stack.psql, drop)
        self.stack.psql("CREATE FUNCTION public.stand() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                        " RAISE EXCEPTION 'stand'; END $$; CREATE TRIGGER stand BEFORE DELETE ON"
                        " adit.ssh_credential FOR EACH ROW EXECUTE FUNCTION public.stand()")
        self.assertIn("disabled %s, and deleted 0 of its SSH credentials, but others stand; run this"
                      " again" % self.user.id,
                      self.ctl(*words, status=1))
        self.assertTrue(self.json_of("user", "show", self.user.id)["disabled_at"])
        self.stack.psql(drop)
        said = self.ctl(*words)
        self.assertIn("%s is disabled since " % self.user.id, said)
        self.assertRegex(said, "deleted [1-9][0-9]* SSH credentials?\n0 SSH credentials still")

    def test_keys_issued_while_disabled(self):
        self.ctl("user", "disable", self.user.id)
        client = self.stack.client(self.user.issue())
        self.assert_error(client.get(CREDENTIALS), 203, says="its User or Bot is disabled")
        self.ctl("user", "enable", self.user.id)
        self.assert_ok(client.get(CREDENTIALS))

    def test_by_hand(self):
        """A change with psql counts as well, and nothing but enabling brings a key back."""
        sql = "UPDATE adit.principal SET disabled_at = %s WHERE id = '%s'"
        key = "UPDATE adit.api_key SET %s WHERE principal_id = '%s'"
        self.stack.psql(sql % ("now()", self.user.id))
        self.assert_error(self.own.get(CREDENTIALS), 203)
        for change in ("digest = disabled_digest", "disabled_digest = NULL", "revoked_at = NULL",
                       "expires_at = NULL"):
            self.stack.psql(key % (change, self.user.id))
            self.assert_error(self.own.get(CREDENTIALS), 203)
        self.stack.psql(sql % ("NULL", self.user.id))
        self.assert_ok(self.own.get(CREDENTIALS))

    def test_issue_and_disable_wait_for_each_other(self):
        first = Session(self, "UPDATE adit.principal SET disabled_at = now() WHERE id = '%s'"
                        % self.user.id)
        key = first.commit_during(self, self.user.issue)
        self.assert_error(self.stack.client(key).get(CREDENTIALS), 203)
        self.ctl("user", "enable", self.user.id)
        first = Session(self, "INSERT INTO adit.api_key (account_id, id, principal_id, digest)"
                        " VALUES ('%s', 'ak_%s', '%s', sha256(random()::text::bytea))"
                        % (self.account.id, samples.unknown_id("ak")[3:], self.user.id))
        first.commit_during(self, lambda: self.ctl("user", "disable", self.user.id))
        self.assertEqual(self.states(), ["disabled"] * 4)

    def test_an_older_snapshot_does_not_disable(self):
        """It would not see the key that was issued meanwhile."""
        older = Session(self, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
                        " CREATE TEMPORARY TABLE seen AS SELECT 1")
        client = self.stack.client(self.user.issue())
        older.send("UPDATE adit.principal SET disabled_at = now() WHERE id = '%s'; COMMIT;"
                   % self.user.id)
        self.assertEqual(older.psql.wait(), 3)
        self.assert_ok(client.get(CREDENTIALS))
        self.ctl("user", "disable", self.user.id)
        self.assert_error(client.get(CREDENTIALS), 203)

    def test_with_credentials_of_a_request_in_flight(self):
        self.credential_of(self.user)
        session = Session(self, "INSERT INTO adit.ssh_credential (account_id, id, owner_id,"
                          " key_type, fingerprint, public_key) SELECT account_id, '%s', owner_id,"
                          " key_type, fingerprint, public_key FROM adit.ssh_credential"
                          " WHERE owner_id = '%s' LIMIT 1"
                          % (samples.unknown_id(), self.user.id))
        self.disable_during(session, "COMMIT;")

    def test_with_credentials_of_a_request_that_found_it_enabled(self):
        session = Session(self, "LOCK TABLE adit.ssh_credential IN ROW EXCLUSIVE MODE")
        self.disable_during(session, "INSERT INTO adit.ssh_credential (account_id, id, owner_id,"
                            " key_type, fingerprint, public_key)"
                            " VALUES ('%s', '%s', '%s', 'ssh-ed25519',"
                            " 'SHA256:' || repeat('x', 43), 'x'); COMMIT;"
                            % (self.account.id, samples.unknown_id(), self.user.id))

    def disable_during(self, session, sql):
        """The session runs the SQL once the user is disabled."""
        thread = threading.Thread(target=lambda: self.ctl("user", "disable", "--with-credentials",
                                                          "--yes", self.user.id))
        thread.start()
        until(lambda: self.json_of("user", "show", self.user.id)["disabled_at"], "it is disabled")
        thread.join(0.2)
        self.assertTrue(thread.is_alive(), "nothing waits")
        session.send(sql)
        thread.join()
        self.assertEqual(self.json_of("user", "show", self.user.id)["credentials"], 0)

    def test_no_digest_in_the_record(self):
        self.ctl("user", "disable", self.user.id)
        self.ctl("user", "enable", self.user.id)
        rows = self.stack.psql("SELECT before::text || after::text FROM adit.audit_event"
                               " WHERE event = 'api_key_updated'")
        self.assertNotEqual(rows, "")
        self.assertNotIn("digest", rows)

    def test_last_admin(self):
        """There are several accounts, and the line that the warning suggests works."""
        account = self.stack.account("one admin")
        wanted = "this leaves the account %s without an enabled admin; to create one, run: aditctl" \
            " (user create --admin --account %s)\n$" % (account.id, account.id)
        done = self.stack.ctl_run("user", "disable", account.admin.id)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, wanted)
        self.ctl("user", "enable", account.admin.id)
        done = self.stack.ctl_run("user", "delete", account.admin.id)
        self.assertEqual(done.returncode, 0)
        self.ctl(*re.search(wanted, done.stderr).group(1).split())
        self.assertEqual(self.stack.ctl_run("user", "disable", self.user.id).stderr, "")

    def test_kinds_are_apart(self):
        bot = self.account.bot
        self.ctl("user", "disable", bot.id, status=1)
        self.assertIn("'%s' is the id of a Bot; run: aditctl bot show %s\n" % (bot.id, bot.id),
                      self.ctl("user", "show", bot.id, status=1))
        self.assertIn("run: aditctl user delete " + self.user.id,
                      self.ctl("bot", "delete", self.user.id, status=1))
        self.assertIn("there is no Bot", self.ctl("bot", "show", "x", status=1))
        self.assertRegex(self.ctl("bot", "disable", bot.id), "^disabled bot_")
        self.assertRegex(self.ctl("bot", "enable", bot.id), "^enabled bot_")
        self.assertIn("read-write", self.ctl("bot", "show", bot.id))
        self.ctl("bot", "rename", "--name", "robot", bot.id)
        self.ctl("bot", "delete", bot.id)

    def test_lists_show_it(self):
        self.assertIsNone(self.json_of("user", "show", self.user.id)["disabled_at"])
        self.ctl("user", "disable", self.user.id)
        row = next(row for row in self.json_of("user", "list")["users"]
                   if row["id"] == self.user.id)
        self.assertRegex(row["disabled_at"], TIME)
        self.assertEqual(row["valid_keys"], 0)


class Delete(PeopleCase):
    def setUp(self):
        super().setUp()
        self.user = self.person("--name", "Mallory")
        self.idents = {self.credential_of(self.user) for _ in range(3)}

    def test_wants_to_know_about_credentials(self):
        message = self.ctl("user", "delete", self.user.id, status=1)
        self.assertIn("owns 3 SSH credentials", message)
        self.ctl("user", "delete", "--with-credentials", "--give-to", self.account.admin.id,
                 self.user.id, status=2)
        self.assert_ok(self.user.client.get(CREDENTIALS))

    def test_heirs_that_are_none(self):
        gone, other = self.person(), self.stack.account("other")
        self.ctl("user", "disable", gone.id)
        for heir in (self.user.id, gone.id, other.admin.id, samples.unknown_id("usr"), "x"):
            message = self.ctl("user", "delete", "--give-to", heir, self.user.id, status=1)
            self.assertIn("not another User or Bot of the same account", message)
        self.assert_ok(self.user.client.get(CREDENTIALS))

    def test_gives_credentials(self):
        self.assert_ok(self.user.client.post(CREDENTIALS, samples.credential(),
                                             more=[("Idempotency-Key", "x")]), 201)
        etag = {ident: self.admin.get(CREDENTIALS + "/" + ident).header("ETag")
                for ident in self.idents}
        done = self.json_of("user", "delete", "--give-to", self.account.bot.id, self.user.id)
        self.assertEqual(done, {"id": self.user.id, "keys": 1, "credentials": 4,
                                "given_to": self.account.bot.id})
        for ident in self.idents:
            answer = self.admin.get(CREDENTIALS + "/" + ident)
            self.assertEqual(self.assert_ok(answer)["owner_id"], self.account.bot.id)
            self.assertNotEqual(answer.header("ETag"), etag[ident])
        self.assert_error(self.user.client.get(CREDENTIALS), 203)
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM adit.audit_event WHERE event = 'ssh_credential_updated'"
            " AND changed = '{owner_id}' AND after ->> 'owner_id' = '%s'" % self.account.bot.id),
            "4")

    def test_asks_before_credentials_go(self):
        for verb in "disable", "delete":
            message = self.ctl("user", verb, "--with-credentials", self.user.id, status=2)
            self.assertIn("nothing was changed: without a terminal to ask on, this needs --yes",
                          message)
            shown, status = self.on_terminal(b"no\n", "user", verb, "--with-credentials",
                                             self.user.id)
            self.assertEqual(status, 1)
            self.assertIn("%s %s and delete its 3 SSH credentials? Type yes"
                          % (verb.capitalize(), self.user.id), shown)
        person = self.json_of("user", "show", self.user.id)
        self.assertEqual((person["disabled_at"], person["credentials"]), (None, 3))
        self.assertEqual(self.on_terminal(b"yes\n", "user", "delete", "--with-credentials",
                                          self.user.id)[1], 0)
        # Nothing to ask about.
        self.ctl("user", "delete", "--with-credentials", self.person().id)

    def on_terminal(self, answer, *words):
        """Answers the question of a command.  Returns what it asked, and its exit status."""
        ours, theirs = os.openpty()
        with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, *words],
                              stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            while b"Type yes" not in shown:
                shown += os.read(ours, 4096)
            os.write(ours, answer)
            status = process.wait()
        os.close(ours)
        return shown.decode(), status

    def test_deletes_credentials(self):
        self.ctl("user", "disable", self.user.id)
        shown = self.ctl("user", "delete", "--with-credentials", "--yes", self.user.id)
        self.assertEqual(shown, "deleted %s and 1 API key\ndeleted 3 SSH credentials\n"
                         % self.user.id)
        for ident in self.idents:
            self.assert_error(self.admin.get(CREDENTIALS + "/" + ident), 9002)
        self.assertEqual(self.stack.psql(
            "SELECT string_agg(n::text, ' ') FROM (SELECT count(*) AS n FROM adit.principal"
            " WHERE id = '{0}' UNION ALL SELECT count(*) FROM adit.api_key"
            " WHERE principal_id = '{0}') AS x".format(self.user.id)), "0 0")

    def test_the_record_names_them(self):
        key = self.keys_of(self.user)[0]["id"]
        self.ctl("user", "delete", "--give-to", self.account.admin.id, self.user.id)
        self.assertEqual(self.stack.psql(
            "SELECT DISTINCT principal, api_key FROM adit.audit"
            " WHERE principal_id = '%s' AND api_key_id = '%s'" % (self.user.id, key)), "Mallory|")

    def test_two_at_once(self):
        """Who comes second finds nobody to delete."""
        heir = self.person()
        session = Session(self, "SELECT FROM adit.ssh_credential WHERE account_id = '%s'"
                          " AND owner_id = '%s' FOR UPDATE" % (self.account.id, self.user.id))
        done = []

        def delete(*words):
            done.append(self.stack.ctl_run("user", "delete", *words, self.user.id))

        threads = [threading.Thread(target=delete, args=words)
                   for words in (("--with-credentials", "--yes"), ("--give-to", heir.id))]
        for n, thread in enumerate(threads, 1):
            thread.start()
            until(lambda n=n: self.stack.n_waiting() >= n, "the wait of number %d" % n)
        session.send("COMMIT;")
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(one.returncode for one in done), [0, 1], done)
        self.assertIn("there is no User with the id", "".join(one.stderr for one in done))
        left = self.stack.psql("SELECT count(*) FROM adit.ssh_credential WHERE owner_id = '%s'"
                               % heir.id)
        said = "".join(one.stdout for one in done)
        self.assertIn("gave 3 " if left == "3" else "deleted 3 SSH credentials", said)

    def test_a_credential_made_meanwhile(self):
        user = self.person()
        session = Session(self, "INSERT INTO adit.ssh_credential (account_id, id, owner_id,"
                          " key_type, fingerprint, public_key) SELECT account_id, '%s', '%s',"
                          " key_type, fingerprint, public_key FROM adit.ssh_credential"
                          " WHERE owner_id = '%s' LIMIT 1"
                          % (samples.unknown_id(), user.id, self.user.id))
        done = session.commit_during(self, lambda: self.stack.ctl_run("user", "delete", user.id))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("owns 1 SSH credential;", done.stderr)

    def test_a_credential_for_somebody_who_is_disabled(self):
        """As 'apply' and 'restore' refuse it: a User or Bot that is disabled gets no credential."""
        wanted = samples.credential(owner_id=self.user.id)
        keys = {"more": [("Idempotency-Key", "given")]}
        self.ctl("user", "disable", self.user.id)
        n = self.n_credentials()
        for how in ({}, keys):
            with self.subTest(how):
                self.assert_error(self.admin.post(CREDENTIALS, wanted, **how), 9087, "owner_id")
        self.assertEqual(self.n_credentials(), n)
        self.ctl("user", "enable", self.user.id)
        made = self.assert_ok(self.admin.post(CREDENTIALS, wanted, **keys), 201)
        # The answer to a POST that was made stays, whatever becomes of the owner.
        self.ctl("user", "disable", self.user.id)
        self.assertEqual(self.assert_ok(self.admin.post(CREDENTIALS, wanted, **keys), 201), made)
        self.ctl("user", "enable", self.user.id)

    def n_credentials(self):
        return self.stack.psql("SELECT count(*) FROM adit.ssh_credential WHERE owner_id = '%s'"
                               % self.user.id)

    def test_a_credential_for_somebody_who_is_deleted(self):
        user = self.person()
        session = Session(self, "DELETE FROM adit.api_key WHERE principal_id = '{0}';"
                          " DELETE FROM adit.principal WHERE id = '{0}'".format(user.id))
        answer = session.commit_during(self, lambda: self.admin.post(
            CREDENTIALS, samples.credential(owner_id=user.id)))
        self.assert_error(answer, 9011)
        user = self.person()
        session = Session(self, "DELETE FROM adit.api_key WHERE principal_id = '{0}';"
                          " DELETE FROM adit.principal WHERE id = '{0}'".format(user.id))
        answer = session.commit_during(self, lambda: user.client.post(
            CREDENTIALS, samples.credential()))
        self.assert_error(answer, 203)


class Names(PeopleCase):
    def setUp(self):
        super().setUp()
        self.account = self.stack.account("people")
        self.admin = self.stack.client(self.account.admin.key)

    def test_rename(self):
        self.ctl("user", "rename", "--name", "Ada", self.account.admin.id)
        self.assertEqual(self.json_of("user", "show", self.account.admin.id)["name"], "Ada")
        self.ctl("account", "rename", self.account.id, "--name", "Lovelace")
        self.assertEqual(self.json_of("user", "show", self.account.admin.id)["account"],
                         "Lovelace")
        for noun, ident in (("user", samples.unknown_id("usr")), ("account", "ac_x")):
            self.ctl(noun, "rename", ident, status=2)
            self.ctl(noun, "rename", ident, "--name", "a\nb", status=2)
            self.ctl(noun, "rename", ident, "--name", "x", status=1)

    def test_delete_an_account(self):
        self.assert_ok(self.admin.put(MUTUAL_TLS, {}))
        self.assert_ok(self.admin.put(OAUTH % "r", {}))
        message = self.ctl("account", "delete", self.account.id, status=1)
        self.assertIn("Users and Bots: 1, OAuth modules: 1, mutual TLS modules: 1", message)
        self.assert_ok(self.admin.delete(MUTUAL_TLS), 204)
        self.assert_ok(self.admin.delete(OAUTH % "r"), 204)
        self.ctl("user", "delete", self.account.admin.id)
        self.ctl("account", "delete", self.account.id)
        self.assertIn("there is no account", self.ctl("account", "delete", self.account.id,
                                                      status=1))
        self.assertEqual(self.stack.psql(
            "SELECT DISTINCT account FROM adit.audit WHERE account_id = '%s'" % self.account.id),
            "people")


class Keys(PeopleCase):
    def test_revoke_one(self):
        user = self.person()
        [key] = self.keys_of(user)
        self.assertEqual(self.ctl("key", "revoke", key["id"]), "revoked %s\n" % key["id"])
        self.assertRegex(self.ctl("key", "revoke", key["id"]),
                         r"^%s is revoked since [-0-9]+T[:0-9]+Z\n$" % key["id"])

    def test_revoke_all(self):
        user = self.person()
        second = self.stack.client(user.issue("--read-only"))
        self.assertEqual(self.ctl("key", "revoke", "--for", user.id),
                         "revoked 2 API keys of %s\n" % user.id)
        for client in (user.client, second):
            self.assert_error(client.get(CREDENTIALS), 203)
        self.assertEqual(self.json_of("key", "revoke", "--for", user.id),
                         {"holder_id": user.id, "revoked": 0})
        self.assert_ok(self.admin.get(CREDENTIALS))
        self.ctl("key", "revoke", "--for", samples.unknown_id("usr"), status=1)
        self.ctl("key", "revoke", "--for", user.id, "ak_x", status=2)
        self.ctl("key", "revoke", status=2)

    def test_list_of_nobody(self):
        gone = self.person()
        self.ctl("user", "delete", gone.id)
        self.assertEqual(self.keys_of(gone), [])
        self.assertIn("there is and was no User or Bot with the id",
                      self.ctl("key", "list", "--for", samples.unknown_id("usr"), status=1))
        self.assertIn("--for is empty", self.ctl("key", "list", "--for", "", status=2))

    def test_issued_to_the_disabled(self):
        bot = self.person(kind="bot")
        self.ctl("bot", "disable", bot.id)
        done = self.stack.ctl_run("key", "issue", "--for", bot.id)
        self.assertIn("%s is disabled: the key is refused until you run: aditctl bot enable %s\n"
                      % (bot.id, bot.id), done.stderr)

    def used(self, person):
        return [(key["used_at"] is not None, key["used_from"]) for key in self.keys_of(person)]

    def test_last_use(self):
        """A worker writes what it has noted when it ends."""
        # A new one writes nothing in its first minutes.
        self.stack.restart()
        user = self.person()
        user.issue()
        gone = self.person()
        self.stack.client(samples.well_formed_key()).get(CREDENTIALS)
        for client in (user.client, gone.client):
            self.assert_ok(client.get(CREDENTIALS))
        self.assertEqual(self.used(user), [(False, None), (False, None)])
        self.ctl("user", "delete", gone.id)

        def stored():
            """A worker that ends tries for half a second only."""
            self.stack.restart()
            if not self.used(user)[0][0]:
                self.assertIn(NOT_STORED, b"".join(self.stack.logs().values()))
                self.assert_ok(user.client.get(CREDENTIALS))
            return self.used(user)[0][0]
        until(stored, "a worker that ends has stored the uses")
        self.assertEqual(self.used(user), [(True, "127.0.0.1"), (False, None)])
        used_at = self.keys_of(user)[0]["used_at"]
        self.assertRegex(used_at, TIME)
        self.assertIn(used_at, self.ctl("user", "show", user.id))
        # The person of the key that nobody has is unknown, so nothing else was written.
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM adit.api_key_use AS u LEFT JOIN adit.api_key AS k"
            " ON k.account_id = u.account_id AND k.id = u.api_key_id WHERE k.id IS NULL"), "0")

    def test_a_stop_without_the_database(self):
        """The uses are lost, and the stop takes at most a second more.  A worker stores its last
        ones on a connection of its own, and the stopped server takes none."""
        self.assert_ok(self.admin.get(CREDENTIALS))
        master, workers = self.stack.responder()
        postmaster = self.stack.postmaster()
        os.kill(postmaster, signal.SIGSTOP)
        try:
            started = time.monotonic()
            signal_all(workers, signal.SIGINT)  # which leaves no idle connection to nginx
            while set(workers) & set(self.stack.children(master)):
                self.assertLess(time.monotonic() - started, 10, "the workers do not end")
                time.sleep(0.02)
        finally:
            os.kill(postmaster, signal.SIGCONT)
        self.assertIn(NOT_STORED, b"".join(self.stack.logs().values()))
        until_back(lambda: self.admin.get(CREDENTIALS).status == 200)
