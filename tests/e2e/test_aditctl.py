# SPDX-License-Identifier: MIT
"""aditctl: its commands, their output, and their exit status: 0 success, 1 failure, 2 wrong
usage."""
import concurrent.futures
import os
import re
import shutil
import subprocess

from adit import samples, stack
from adit.case import Case
from adit.reference import openapi

CREDENTIALS = "/ssh_credentials"
KEY = r"adit_[0-9A-Za-z]{76}"
with open(os.path.join(stack.ROOT, "src/ctl/verb_table.h"), encoding="utf-8") as table:
    VERBS = re.findall(r'^VERB\("([^"]+)",\s*\w+,\s*"[\w!]*",\s*(?:NULL|"([^"]*)"|\w+),', table.read(),
                       re.M)
with open(os.path.join(stack.ROOT, "src/ctl/front_table.h"), encoding="utf-8") as table:
    FRONTS = re.findall(r'^ +(WEB_SERVER|GATEWAY)\("([^"]+)",', table.read(), re.M)
# The arguments that are words to choose from.
CHOICES = {verb: [kind for of, kind in FRONTS if of == symbol]
           for verb, symbol in (("web-server", "WEB_SERVER"), ("gateway-config", "GATEWAY"))}
VERBS = [(words, "|".join(CHOICES.get(words, [argument]))) for words, argument in VERBS]
COMMANDS = [words for words, _ in VERBS]
# Arguments with a form of their own.
RENAME = ["ak_x", "--name", "x"]
ARGUMENTS = {"permits": ["SHA256:" + 43 * "A", "a.example"], "who": ["a.example"],
             "account rename": RENAME, "user rename": RENAME, "bot rename": RENAME,
             "restore": ["ak_x", "--at", "1s"]}
WITHOUT_DATABASE = ("secrets init", "secrets add-key", "openapi", "session list", "session end",
                    "web-server", "gateway-config")


class CtlCase(Case):
    stack_name = "aditctl"

    def ctl(self, *arguments, status=0, **options):
        done = self.stack.ctl_run(*arguments, **options)
        self.assertEqual(done.returncode, status, done)
        if status:
            self.assertIn("aditctl", done.stderr)
        return done

    def listed(self, ident, noun="key"):
        """The list's row with this id, as {column: value}."""
        names, *rows = [line.split("\t") for line in self.ctl(noun, "list").stdout.splitlines()]
        return next(dict(zip(names, row)) for row in rows if row[0] == ident)


class Calls(CtlCase):
    def test_help(self):
        for words in [[]] + [command.split() for command in COMMANDS] + [
                [command.split()[0]] for command in COMMANDS]:
            for option in ("--help", "-h"):
                with self.subTest(" ".join([*words, option])):
                    done = self.ctl(*words, option)
                    self.assertTrue(done.stdout.startswith("Usage: aditctl"), done.stdout)
                    self.assertEqual(done.stderr, "")

    def test_help_names_all_commands(self):
        shown = self.ctl("--help").stdout
        for command in COMMANDS:
            self.assertIn(command, shown)

    def test_help_needs_no_settings(self):
        for words in ([], ["key"], ["key", "issue"], ["migrate"]):
            self.ctl(*words, "--help", conf="/nonexistent")

    def test_misuse(self):
        self.each([(" ".join(arguments), arguments) for arguments in (
            ["nonsense"], ["key"], ["key", "nonsense"], ["account"], ["account", "delete"],
            ["user"], ["bot", "x"], ["secrets"], ["--nonsense"], ["migrate", "--nonsense"],
            ["migrate", "x"], ["doctor", "x"], ["account", "create", "x"],
            ["account", "create", "--admin"], ["user", "create", "--read-only"],
            ["user", "create", "--account"], ["key", "issue", "--expires"],
            ["key", "issue", "--expires", "x"], ["key", "issue", "--expires", "90"],
            ["key", "issue", "--expires", "0d"], ["key", "issue", "--expires", "-1d"],
            ["key", "issue", "--expires", "1y"], ["key", "issue", "--expires", "1d1d"],
            ["key", "issue", "--expires", "99999999999999999999d"],
            ["key", "issue", "--expires", ""], ["key", "issue", "x"], ["key", "revoke"],
            ["account", "list", "x"], ["user", "list", "--admin"], ["bot", "list", "x"],
            ["--conf"], ["--admin", "user", "create"], ["--expires", "1d", "key", "issue"],
            ["key", "revoke", "a", "b"], ["key", "revoke", "a b"], ["key", "list", "x"],
            ["who"], ["who", "a.example", "x"], ["who", "a b"], ["permits", "x"],
            ["permits", "/nonexistent", "a.example"], ["permits", "a", "b", "c"],
            ["account", "create", "--name", "x" * 256], ["account", "create", "--name", "a\nb"],
            ["key", "issue", "--description", "x" * 256], ["secrets", "init", "x"],
        )], lambda arguments: self.assertEqual(self.ctl(*arguments, status=2).stdout, ""))

    def test_nothing_at_all(self):
        done = stack.run([self.stack.env["ADITCTL"]], check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Usage: aditctl", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_failures(self):
        self.each([(" ".join(arguments), arguments) for arguments in (
            ["user", "create", "--account", samples.unknown_id("ac")],
            ["bot", "create", "--account", "x"],
            ["key", "issue", "--for", samples.unknown_id("usr")],
            ["key", "revoke", samples.unknown_id("ak")],
            ["secrets", "init"],
        )], lambda arguments: self.assertEqual(self.ctl(*arguments, status=1).stdout, ""))

    def test_settings(self):
        for arguments in (["migrate"], ["doctor"], ["key", "list"]):
            with self.subTest(" ".join(arguments)):
                done = self.ctl(*arguments, status=1, conf="/nonexistent")
                self.assertIn("/nonexistent", done.stderr)

    def test_conf_may_stand_in_front(self):
        for option in (["-c", self.stack.conf_path], ["--conf", self.stack.conf_path],
                       ["--conf=" + self.stack.conf_path], ["-c" + self.stack.conf_path]):
            with self.subTest(option[0]):
                done = stack.run([self.stack.env["ADITCTL"], *option, "account", "list"])
                self.assertIn("ac_", done.stdout)

    def test_version(self):
        for option in ("--version", "-V"):
            self.assertRegex(self.ctl(option, conf="/nonexistent").stdout, r"^aditctl \d\S*\n$")

    def test_conf_may_stand_behind_the_command(self):
        done = stack.run([self.stack.env["ADITCTL"], "key", "list", "-c", self.stack.conf_path])
        self.assertIn("ak_", done.stdout)
        done = stack.run([self.stack.env["ADITCTL"], "key", "list"],
                         env=dict(stack.CLEAN_ENV, ADIT_CONF=self.stack.conf_path))
        self.assertIn("ak_", done.stdout)

    def test_database_away(self):
        conf = os.path.join(self.stack.folder, "away.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write("[database]\nconninfo = host=/nonexistent password=s3cr3t\n"
                       "[secrets]\nkey_file = %s/adit.key\n" % self.stack.state)
        for command, argument in VERBS:
            if command in WITHOUT_DATABASE:
                continue
            words = command.split() + ARGUMENTS.get(command, ["ak_x"] if argument else [])
            with self.subTest(command):
                done = self.stack.ctl_run(*words, conf=conf)
                self.assertEqual(done.returncode, 3 if command in ("permits", "diff") else 1)
                self.assertTrue(done.stderr or command == "doctor", done)
                self.assertNotIn("s3cr3t", done.stdout + done.stderr)


class Openapi(CtlCase):
    """The OpenAPI document with a deployment's names."""

    def setUp(self):
        self.document = self.write("openapi.json", openapi.make())

    def write(self, name, text):
        path = os.path.join(self.stack.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def renamed(self, service, providers, document=None):
        conf = self.write("names.conf", "[service]\nname = %s\nproviders = %s\n" % (
            service, " ".join(providers)))
        return self.ctl("openapi", document or self.document, conf=conf).stdout

    def test_default_names(self):
        self.assertEqual(self.renamed(openapi.SERVICE, openapi.PROVIDERS), openapi.make())

    def test_other_names(self):
        names = [title.lower() for title in openapi.TITLES_OF_PROVIDERS]
        text = self.renamed("ngrok", names)
        self.assertEqual(text, openapi.make("ngrok", names))
        for name in ("Service-", "ERR_SERVICE", "provider_a"):
            self.assertNotIn(name, text)
        # The new names are default names in another order, or parts of default names.
        for names in (openapi.PROVIDERS[::-1],
                      ["provider"] + [name[-1] for name in openapi.PROVIDERS[:-1]]):
            self.assertEqual(self.renamed("services", names), openapi.make("services", names))

    def test_whole_names_only(self):
        text = '{"openapi": "provider_ab xprovider_a provider_a.x Service-Versions ERR_SERVICE_12"}'
        names = ["name_" + name for name in openapi.PROVIDERS]
        self.assertEqual(
            self.renamed("x", names, self.write("odd", text)),
            '{"openapi": "provider_ab xprovider_a name_provider_a.x Service-Versions ERR_X_12"}')

    def test_no_document(self):
        for path, says in (("/nonexistent", "No such file"), (self.stack.folder, "directory"),
                           (self.stack.conf_path, "is not an OpenAPI document in JSON")):
            with self.subTest(path):
                done = self.ctl("openapi", path, status=1)
                self.assertEqual(done.stdout, "")
                self.assertIn(says, done.stderr)


class Principals(CtlCase):
    def test_print_an_id_alone(self):
        account = self.ctl("account", "create", "--name", "Größe").stdout
        self.assertRegex(account, r"^ac_[0-9A-Za-z]{27}\n$")
        account = account.strip()
        for kind, prefix in (("user", "usr"), ("bot", "bot")):
            for options in ([], ["--admin"], ["--name", "x"], ["--admin", "--name", "y"]):
                with self.subTest("%s %s" % (kind, options)):
                    ident = self.ctl(kind, "create", "--account", account, *options).stdout
                    self.assertRegex(ident, r"^%s_[0-9A-Za-z]{27}\n$" % prefix)
                    row = self.stack.psql("SELECT account_id, kind, is_admin, name FROM"
                                          " adit.principal WHERE id = '%s'" % ident.strip())
                    self.assertEqual(row, "|".join([
                        account, kind, "t" if "--admin" in options else "f",
                        options[-1] if "--name" in options else ""]))

    def test_same_name(self):
        """It is permitted, and said."""
        account = self.ctl("account", "create", "--name", "namesakes").stdout.strip()
        self.assertEqual(self.ctl("account", "rename", account, "--name", "namesakes").stderr, "")
        other = self.ctl("account", "create", "--name", "namesakes")
        self.assertEqual(other.stderr, "aditctl: warning: the account %s has the same name; their ids"
                         " tell them apart\n" % account)
        ada = self.ctl("user", "create", "--account", account, "--name", "ada").stdout.strip()
        said = "aditctl: warning: %s of the account has the same name; their ids tell them apart\n" % ada
        bot = self.ctl("bot", "create", "--account", account, "--name", "ada")
        self.assertEqual(bot.stderr, said)
        self.assertRegex(bot.stdout, r"^bot_[0-9A-Za-z]{27}\n$")
        bot = bot.stdout.strip()
        self.assertEqual(self.ctl("bot", "rename", bot, "--name", "ada").stderr, said)
        for words in (["bot", "rename", bot, "--name", "b"], ["user", "rename", ada, "--name", "ada"],
                      ["user", "create", "--account", account], ["user", "create", "--account", account],
                      ["user", "create", "--account", other.stdout.strip(), "--name", "ada"]):
            self.assertEqual(self.ctl(*words).stderr, "", words)

    def test_one_of_several_has_to_be_named(self):
        self.stack.account()
        self.assertIn("--account", self.ctl("user", "create", status=2).stderr)
        self.assertIn("--for", self.ctl("key", "issue", status=2).stderr)


class Lists(CtlCase):
    def make(self):
        """Makes an account with a User and a Bot.  Returns their ids."""
        account = self.ctl("account", "create", "--name", "Größe").stdout.strip()
        user = self.ctl("user", "create", "--account", account, "--admin", "--name",
                        "ada").stdout.strip()
        bot = self.ctl("bot", "create", "--account", account).stdout.strip()
        return account, user, bot

    def test_rows(self):
        account, user, bot = self.make()
        created = self.listed(account, "account").pop("CREATED")
        self.assertRegex(created, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for noun, wanted in (
                ("account", {"ID": account, "NAME": "Größe"}),
                ("user", {"ID": user, "ACCOUNT": account, "ADMIN": "yes", "KEYS": "0",
                          "DISABLED": "-", "NAME": "ada"}),
                ("bot", {"ID": bot, "ACCOUNT": account, "ADMIN": "no", "KEYS": "0",
                         "DISABLED": "-", "NAME": ""})):
            with self.subTest(noun):
                row = self.listed(wanted["ID"], noun)
                self.assertIn("CREATED", row)
                row.pop("CREATED")
                self.assertEqual(row, wanted)

    def test_each_kind_alone_and_oldest_first(self):
        self.make()
        self.make()
        for noun, prefix in (("account", "ac_"), ("user", "usr_"), ("bot", "bot_")):
            with self.subTest(noun):
                ids = [line.split("\t")[0]
                       for line in self.ctl(noun, "list").stdout.splitlines()[1:]]
                self.assertGreaterEqual(len(ids), 2)
                self.assertEqual({ident[:len(prefix)] for ident in ids}, {prefix})
                self.assertEqual(ids, sorted(ids))

    def test_counts_keys_that_work(self):
        _, user, _ = self.make()
        for _ in range(3):
            self.ctl("key", "issue", "--for", user)
        self.ctl("key", "issue", "--for", user, "--expires", "1d")
        self.assertEqual(self.listed(user, "user")["KEYS"], "4")
        first, second = self.stack.psql("SELECT id FROM adit.api_key WHERE principal_id = '%s'"
                                        " AND expires_at IS NULL ORDER BY id LIMIT 2"
                                        % user).split()
        self.ctl("key", "revoke", first)
        self.stack.psql("UPDATE adit.api_key SET expires_at = now() WHERE id = '%s'" % second)
        self.assertEqual(self.listed(user, "user")["KEYS"], "2")

    def on_terminal(self, *words):
        """The output of a list if standard output is a terminal."""
        ours, theirs = os.openpty()
        with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, *words],
                              stdin=subprocess.DEVNULL, stdout=theirs) as process:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    piece = os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                shown += piece
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        return shown.decode().replace("\r\n", "\n").splitlines()

    def test_aligned_on_a_terminal(self):
        account, user, _ = self.make()
        self.ctl("user", "create", "--account", account, "--name", "Ünïcödé 'x'")
        self.ctl("key", "issue", "--for", user, "--description", "größer")
        for words in (["account", "list"], ["user", "list"], ["bot", "list"], ["key", "list"]):
            with self.subTest(" ".join(words)):
                plain = [line.split("\t") for line in self.ctl(*words).stdout.splitlines()]
                shown = self.on_terminal(*words)
                self.assertNotIn("\t", "".join(shown))
                starts = [shown[0].index(name) for name in plain[0]]
                self.assertEqual(len(shown), len(plain))
                for line, cells in zip(shown, plain):
                    self.assertEqual([line[start:end].rstrip(" ") for start, end in
                                      zip(starts, starts[1:] + [None])], cells)

    def test_controls_in_a_name_do_not_reach_the_terminal(self):
        account, _, _ = self.make()
        self.stack.psql("UPDATE adit.account SET name = E'a\\tb\\n\\x1b[2J' WHERE id = '%s'"
                        % account)
        self.assertEqual(self.listed(account, "account")["NAME"], "a?b??[2J")
        self.ctl("account", "rename", account, "--name", "plain")  # no document may have that


class Keys(CtlCase):
    def issue(self, *options):
        """Issues a key.  Returns the key and its row."""
        done = self.ctl("key", "issue", "--for", self.home.admin.id, *options)
        self.assertRegex(done.stdout, "^%s\n$" % KEY)
        key = done.stdout.strip()
        ident = self.stack.psql("SELECT id FROM adit.api_key WHERE digest = sha256('%s'::bytea)"
                                % key)
        return key, self.listed(ident)

    def test_prints_the_key_alone(self):
        key, row = self.issue()
        self.assertEqual(samples.well_formed_key(key[32:75], self.home.id), key)
        self.assert_ok(self.stack.client(key).get(CREDENTIALS))
        self.assertEqual(row["HOLDER"], self.home.admin.id)

    def test_of_an_account(self):
        """With --account, nothing of another account is looked at."""
        other = self.stack.account("elsewhere").id
        only = self.stack.ctl_run("key", "issue", "--account", other, check=True).stdout.rstrip()
        self.assert_ok(self.stack.client(only).get(CREDENTIALS))
        key, row = self.issue("--account", self.home.id)
        client = self.stack.client(key)
        for words in (("issue", "--for", self.home.admin.id), ("revoke", row["ID"]),
                      ("revoke", "--for", self.home.admin.id)):
            done = self.stack.ctl_run("key", *words, "--account", other)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("there is no", done.stderr)
            self.assertIn("account", done.stderr)
        self.assert_ok(client.get(CREDENTIALS))
        self.assertEqual(self.ctl("key", "revoke", row["ID"], "-a", self.home.id).stdout,
                         "revoked %s\n" % row["ID"])
        self.assert_error(client.get(CREDENTIALS), 203)
        again = self.ctl("key", "revoke", row["ID"], "-a", self.home.id).stdout
        self.assertRegex(again, "^%s is revoked since " % row["ID"])

    def test_options(self):
        _, row = self.issue("--description", "for the tests", "--read-only", "--expires", "90d")
        self.assertEqual((row["DESCRIPTION"], row["MODE"]), ("for the tests", "read-only"))
        self.assertRegex(row["EXPIRES"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        days = self.stack.psql("SELECT round(extract(epoch FROM expires_at - now()) / 8640)"
                               " FROM adit.api_key WHERE id = '%s'" % row["ID"])
        self.assertEqual(days, "900")

    def test_durations(self):
        for text, seconds in (("1s", 1), ("1m", 60), ("2h", 7200), ("1d", 86400), ("1w", 604800)):
            with self.subTest(text):
                _, row = self.issue("--expires", text)
                left = self.stack.psql("SELECT extract(epoch FROM expires_at - created_at)::bigint"
                                       " FROM adit.api_key WHERE id = '%s'" % row["ID"])
                self.assertEqual(left, str(seconds))

    def test_read_only(self):
        key, _ = self.issue("--read-only")
        client = self.stack.client(key)
        self.assert_ok(client.get(CREDENTIALS))
        self.assert_error(client.post(CREDENTIALS, samples.credential()), 9005)

    def test_gateway(self):
        key, row = self.issue("--gateway")
        self.assertEqual(row["MODE"], "gateway")
        client = self.stack.client(key)
        self.assert_ok(client.post("/ssh_decisions", {"public_key": samples.ED25519}))
        self.assert_error(client.get(CREDENTIALS), 9071)

    def test_two_kinds_of_key(self):
        def listed():
            """The identifiers: keys of other tests may expire meanwhile."""
            return [row.partition("\t")[0] for row in self.ctl("key", "list").stdout.splitlines()]
        before = listed()
        done = self.stack.ctl_run("key", "issue", "--gateway", "--read-only", "--for",
                                  self.home.admin.id)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("give one of them", done.stderr)
        self.assertEqual(listed(), before)

    def test_list_shows_no_key(self):
        key, _ = self.issue()
        shown = self.ctl("key", "list").stdout
        self.assertNotIn(key, shown)
        self.assertNotIn(key[5:48], shown)
        self.assertIsNone(re.search(KEY, shown))

    def test_revoke(self):
        key, row = self.issue()
        self.assertEqual(row["STATE"], "active")
        self.ctl("key", "revoke", row["ID"])
        self.assert_error(self.stack.client(key).get(CREDENTIALS), 203)
        self.assertEqual(self.listed(row["ID"])["STATE"], "revoked")
        # Revoking the key again changes nothing, and is not a usage error.
        when = self.stack.psql("SELECT revoked_at FROM adit.api_key WHERE id = '%s'" % row["ID"])
        self.assertIn(self.stack.ctl_run("key", "revoke", row["ID"]).returncode, (0, 1))
        self.assertEqual(self.stack.psql("SELECT revoked_at FROM adit.api_key WHERE id = '%s'"
                                         % row["ID"]), when)

    def test_expired_shows(self):
        _, row = self.issue("--expires", "1h")
        self.stack.psql("UPDATE adit.api_key SET expires_at = now() WHERE id = '%s'" % row["ID"])
        self.assertEqual(self.listed(row["ID"])["STATE"], "expired")


class Secrets(CtlCase):
    def test_init(self):
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        conf = os.path.join(folder, "adit.conf")
        with open(conf, "w", encoding="utf-8"):
            pass
        done = self.ctl("secrets", "init", conf=conf)
        path = os.path.join(folder, "adit.key")
        self.assertEqual(done.stdout, path + "\n")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, r"^\S+ [0-9a-f]{64}\n$")
        self.assertNotIn(text.split()[1], done.stdout + done.stderr)
        # 'secrets init' does not replace a key, because secrets may be sealed under it.
        self.assertIn("to add a key, run: aditctl secrets add-key",
                      self.ctl("secrets", "init", status=1, conf=conf).stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_init_that_fails(self):
        """It leaves no file that is in the way of the next try, and names one that is."""
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        conf, path = os.path.join(folder, "adit.conf"), os.path.join(folder, "adit.key")
        with open(conf, "w", encoding="utf-8"):
            pass
        done = stack.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh",
                          self.stack.env["ADITCTL"], "-c", conf, "secrets", "init"], check=False)
        self.assertEqual((done.returncode, done.stderr), (
            1, "aditctl: %s: cannot be created: File too large\n" % path))
        self.assertFalse(os.path.exists(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("0123")
        self.assertEqual(self.ctl("secrets", "init", status=1, conf=conf).stderr, (
            "aditctl: %s exists and is too short to hold a key; delete it, then run this again\n"
            % path))

    def test_a_new_key_in_front_seals_and_the_old_one_opens(self):
        path = os.path.join(self.stack.state, "adit.key")
        config = {"provider": {"provider_a": {"client_id": "a", "client_secret": "kept"}}}
        self.assert_ok(self.admin.put("/edges/https/turn/routes/old/oauth", config))
        with open(path, encoding="utf-8") as file:
            old = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write("newer %s\n%s" % ("5a" * 32, old))
        self.stack.restart()
        self.assertEqual(self.assert_ok(self.admin.get("/edges/https/turn/routes/old/oauth"))
                         ["provider"]["provider_a"]["client_secret"], "kept")
        self.assert_ok(self.admin.put("/edges/https/turn/routes/new/oauth", config))
        self.assertEqual(self.stack.psql(
            "SELECT client_secret_key_id FROM adit.oauth_module WHERE edge_id = 'turn'"
            " AND route_id = 'new'"), "newer")


class Migrate(CtlCase):
    def test_again_changes_nothing(self):
        def schema():
            dump = stack.run(["pg_dump", "--schema-only"], env=self.stack.pg_env()).stdout
            return re.sub(r"(?m)^\\(un)?restrict .*$", "", dump)
        before, rows = schema(), self.stack.dump()
        for _ in range(2):
            done = self.ctl("migrate")
            self.assertNotIn("applied", done.stdout)
        self.assertEqual(schema(), before)
        self.assertEqual(self.stack.dump(), rows)

    def test_brings_grants_back(self):
        self.stack.psql("REVOKE ALL ON adit.oauth_module FROM adit_responder;"
                        "GRANT ALL ON adit.account TO adit_responder")
        self.ctl("migrate")
        self.assertEqual(self.stack.psql(
            "SELECT has_table_privilege('adit', 'adit.oauth_module', 'DELETE'),"
            " has_table_privilege('adit', 'adit.account', 'SELECT')"), "t|f")

    def test_from_nothing_in_another_database(self):
        self.stack.psql("CREATE DATABASE other")
        conf = os.path.join(self.stack.folder, "other.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write("[database]\nconninfo = host=%s dbname=other user=postgres\n"
                       "[secrets]\nkey_file = %s/adit.key\n" % (
                           self.stack.run_folder, self.stack.state))
        # Before the migration every other command fails and says what to do.
        for words in (["key", "list"], ["account", "create"], ["user", "create"]):
            with self.subTest(" ".join(words)):
                self.assertIn("aditctl migrate", self.ctl(*words, status=1, conf=conf).stderr)
        self.assertEqual(self.stack.ctl_run("doctor", conf=conf).returncode, 1)
        self.assertIn("applied", self.ctl("migrate", conf=conf).stdout)
        # A single account or holder need not be named.
        self.ctl("user", "create", status=1, conf=conf)
        account = self.ctl("account", "create", conf=conf).stdout.strip()
        self.ctl("key", "issue", status=1, conf=conf)
        user = self.ctl("user", "create", "--admin", conf=conf).stdout.strip()
        self.assertRegex(self.ctl("key", "issue", conf=conf).stdout, "^%s\n$" % KEY)
        row = self.ctl("key", "list", conf=conf).stdout.splitlines()[1].split("\t")
        self.assertEqual(row[1:3], [account, user])

    def test_as_an_owner_who_may_not_create_roles(self):
        """In a hoster's cluster, another customer may own adit_responder and adit_gateway.  Then
        they get no rights."""
        self.stack.psql("CREATE ROLE tenant LOGIN")
        self.stack.psql("CREATE DATABASE tenants OWNER tenant")
        conf = os.path.join(self.stack.folder, "tenants.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write("[database]\nconninfo = host=%s dbname=tenants user=tenant\n"
                       % self.stack.run_folder)
        for _ in range(2):
            self.assertIn("as the owner of the tables", self.ctl("migrate", conf=conf).stdout)
        database = self.stack.env["PGDATABASE"]
        self.stack.env["PGDATABASE"] = "tenants"
        try:
            may_use = "SELECT has_schema_privilege('adit_responder', 'adit', 'USAGE')"
            gateway_may_use = may_use.replace("adit_responder", "adit_gateway")
            self.assertEqual(self.stack.psql(may_use), "f")
            self.assertEqual(self.stack.psql(gateway_may_use), "f")
            self.assertEqual(self.stack.psql("SELECT count(*) FROM adit.account", "tenant"), "0")
            # An administrator made the owner a member of the role, so the rights are intended.
            self.stack.psql("GRANT adit_responder TO tenant")
            self.assertNotIn("note", self.ctl("migrate", conf=conf).stdout)
            self.assertEqual(self.stack.psql(may_use), "t")
            self.assertEqual(self.stack.psql(gateway_may_use), "f")
            self.stack.psql("REVOKE adit_responder FROM tenant;"
                            "REVOKE SELECT ON adit.principal FROM adit_responder")
            self.ctl("migrate", conf=conf)
            self.assertEqual(self.stack.psql(
                "SELECT has_table_privilege('adit_responder', 'adit.principal', 'SELECT')"), "t")
        finally:
            self.stack.env["PGDATABASE"] = database

    def test_two_at_once(self):
        self.stack.psql("CREATE DATABASE twice")
        conf = os.path.join(self.stack.folder, "twice.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write("[database]\nconninfo = host=%s dbname=twice user=postgres\n"
                       % self.stack.run_folder)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for done in pool.map(lambda _: self.stack.ctl_run("migrate", conf=conf), range(4)):
                self.assertEqual(done.returncode, 0, done)


class WebServer(CtlCase):
    """test_fronts and test_install_web_servers try the printed configuration with the servers."""

    KINDS = CHOICES["web-server"]

    def kind(self, name, *options, **more):
        return self.ctl("web-server", name, *options, **more).stdout

    def test_every_kind(self):
        for name in self.KINDS:
            with self.subTest(name):
                text = self.kind(name)
                self.assertNotRegex(text, "@[A-Z_]*@")
                self.assertTrue(text.startswith("# Printed by 'aditctl web-server %s --conf %s' for"
                                                % (name, self.stack.conf_path)))

    def test_earlier_name(self):
        """Commands of earlier versions work."""
        self.assertEqual(self.kind("nginx-keepalive"), self.kind("nginx"))

    def test_paths(self):
        for name, socket in (("nginx", "nginx-upstream --socket /tmp/x+y.sock"),
                             ("apache-proxy-fcgi", "unix:/tmp/x+y.sock")):
            text = self.kind(name, "--prefix", "/a.b/c-d_e", "--socket", "/tmp/x+y.sock",
                             "--docs", "/opt/a+b", "--console", "/opt/c+d")
            for part in ("/a.b/c-d_e", r"^/a\.b/c-d_e", socket, "/opt/a+b/", "/opt/c+d/",
                         " --prefix /a.b/c-d_e --socket /tmp/x+y.sock --docs /opt/a+b"
                         " --console /opt/c+d' for"):
                with self.subTest("%s: %s" % (name, part)):
                    self.assertIn(part, text)
        self.assertIn("server unix:/tmp/x+y.sock;",
                      self.kind("nginx-upstream", "--socket", "/tmp/x+y.sock"))
        for name in ("apache-fcgid", "apache-cgid"):
            text = self.kind(name, "--prefix", "/a", "--program", "/opt/adit/adit.fcgi")
            for part in ('ScriptAlias "/a/" "/opt/adit/adit.fcgi/"', "ADIT_CONF",
                         os.path.realpath(self.stack.conf_path)):
                with self.subTest("%s: %s" % (name, part)):
                    self.assertIn(part, text)

    def test_name_of_the_service(self):
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "named.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[service]\nname = ngrok2\n")
        for name in ("nginx", "apache-cgid"):
            text = self.kind(name, conf=path)
            self.assertIn("ERR_NGROK2_9050", text)
            self.assertNotIn("ERR_SERVICE", text)

    def test_refused(self):
        """A server reads the output as root, so these values are refused."""
        bad = ["a", "/", "/a/", "//a", "/a//b", "/a/../b", "/..", "/.", "/a b", "/a;", "/a\nb",
               "/a{", "/a}", "/a$b", '/a"b', "/a'b", "/a\\b", "/a#b", "/a|b", "/a@NAME@", "/a%41",
               "/a*", "/a(b)", "/a?", "/a+b", "/\u00e9", "/" + "a" * 255]
        rows = [("prefix " + path[:20], "nginx", "--prefix", path) for path in bad]
        rows += [("prefix for Apache " + path[:20], "apache-cgid", "--prefix", path)
                 for path in bad]
        bad = ["", "a", "a.sock", "/", "/a/", "/a b", "/a;", "/a|fcgi://x", "/a:b", "/a\nb", '/a"',
               "/a$x", "/a%20", "/a{}", "/" + "a" * 107]
        rows += [("socket " + path[:20], "nginx", "--socket", path) for path in bad]
        bad = ["", "a", "/", "/a b", '/a"', "/a\n", "/a%{x}", "/a${x}", "/" + "a" * 1100]
        rows += [("program " + path[:20], "apache-fcgid", "--program", path) for path in bad]
        rows += [("a socket for a started program", "apache-fcgid", "--socket", "/a"),
                 ("a program for a running responder", "nginx", "--program", "/a"),
                 ("a reference without paths", "nginx-upstream", "--docs", "/a"),
                 ("a console without paths", "nginx-upstream", "--console", "/a"),
                 ("a bad folder of the console", "nginx", "--console", "/a;"),
                 ("a bad folder of the reference", "nginx", "--docs", "/a;"),
                 ("a bad folder for Apache", "apache-cgid", "--docs", "/a%{x}"),
                 ("a prefix without paths", "nginx-upstream", "--prefix", "/a")]
        self.each(rows, lambda name, *options: self.assertEqual(
            self.kind(name, *options, status=2), ""))

    def test_unknown_kind(self):
        """The message lists the kinds of the table of verbs."""
        self.assertEqual(self.ctl("web-server", "iis", status=2).stderr,
                         "aditctl: unknown web server 'iis'; choose one of: %s\n"
                         % ", ".join(self.KINDS))
        self.ctl("web-server", "nginx", "apache-cgid", status=2)

    def test_a_program_needs_its_settings(self):
        """A started program gets the path of its settings.  The file must exist, and its path must
        fit into the configuration."""
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "a b.conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[service]\n")
        self.assertIn(path, self.ctl("web-server", "apache-cgid", status=1, conf=path).stderr)
        self.kind("nginx", conf=path)
