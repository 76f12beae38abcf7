# SPDX-License-Identifier: MIT
"""aditctl's messages, word for word: its help, and the errors of a wrong call."""
import re

from adit import samples, stack
from test_aditctl import CHOICES, COMMANDS, VERBS, CtlCase

NOUNS = list(dict.fromkeys(words.split()[0] for words in COMMANDS))


def choices(noun):
    return "choose one of: " + ", ".join(words.split()[1] for words in COMMANDS
                                         if words.startswith(noun + " "))


class Help(CtlCase):
    def assert_tidy(self, text):
        self.assertNotRegex(text, r"(?m)[ \t]$")
        self.assertNotRegex(text, r"\n\n\n|^\n|[^\n]\Z")

    def test_of_every_verb(self):
        """A verb's help shows its words, argument and options, and needs no settings."""
        for words, argument in VERBS:
            with self.subTest(words):
                shown = self.ctl(*words.split(), "--help", conf="/nonexistent").stdout
                usage = "Usage: aditctl %s [OPTION]..." % words
                self.assertEqual(shown.splitlines()[0],
                                 usage + (" " + argument if argument else ""))
                self.assertRegex(shown.splitlines()[1], r"^[A-Z].*[^.]\.$")
                for option in ("--conf FILE", "--json", "--help"):
                    self.assertIn(option, shown)
                self.assert_tidy(shown)
                for other in (["help", *words.split()], ["-h", *words.split()],
                              [*words.split(), "-h"]):
                    self.assertEqual(self.ctl(*other).stdout, shown)

    def test_options_of_a_verb(self):
        self.assertEqual(re.findall(r"^  -\w, (--\S+(?: [A-Z]+)?)", self.ctl(
            "key", "issue", "--help").stdout, re.M), [
                "--account ID", "--for ID", "--read-only", "--own", "--gateway", "--expires TIME",
                "--description TEXT", "--conf FILE", "--json", "--help"])

    def test_of_every_noun(self):
        """A noun's help lists its verbs with their summaries."""
        everything = self.ctl("--help").stdout
        for noun in NOUNS:
            verbs = [words for words in COMMANDS if words.startswith(noun + " ")]
            with self.subTest(noun):
                shown = self.ctl(noun, "--help").stdout
                self.assert_tidy(shown)
                for words in verbs:
                    line = re.search(r"(?m)^  %s .*$" % words, shown).group()
                    self.assertIn(line, everything)
                if verbs:
                    self.assertEqual(re.findall(r"(?m)^  (\w\S* \S+)", shown), verbs)
                    for other in ([noun, "-h"], [noun, "help"], ["help", noun], ["-h", noun]):
                        self.assertEqual(self.ctl(*other).stdout, shown)

    def test_of_aditctl(self):
        shown = self.ctl("--help").stdout
        self.assert_tidy(shown)
        self.assertEqual(re.findall(r"(?m)^  (\S+(?: \S+)?)  +\S", shown.partition("\nOptions:")[0]),
                         COMMANDS)
        for words in (["help"], ["-h"], ["-h", "--nonsense"]):
            self.assertEqual(self.ctl(*words).stdout, shown)


class Misuse(CtlCase):
    """Each message is one line, and says what is accepted or what to do."""

    def assert_says(self, words, *lines, status=2):
        done = self.ctl(*words, status=status)
        self.assertEqual((done.stdout, done.stderr),
                         ("", "".join("aditctl: %s\n" % line for line in lines)))

    def test_verbs(self):
        nouns = "choose one of: " + ", ".join(NOUNS)
        self.each([(words, words, said) for words, said in (
            (["users"], "unknown command 'users'; " + nouns),
            (["list", "--help"], "unknown command 'list'; " + nouns),
            (["help", "list"], "unknown command 'list'; " + nouns),
            (["user"], "'user' needs a verb; " + choices("user")),
            (["key", "--name", "x"], "'key' needs a verb; " + choices("key")),
            (["account", "add"], "'account' has no verb 'add'; " + choices("account")),
            (["user", "add", "--help"], "'user' has no verb 'add'; " + choices("user")),
            (["secrets", "rotate"], "'secrets' has no verb 'rotate'; " + choices("secrets")),
        )], self.assert_says)

    def test_options(self):
        takes = "'account create' takes: --yes, --name, --conf, --json, --help"
        self.each([(words, words, said) for words, said in (
            (["account", "create", "--nonsense"], "unknown option '--nonsense'; " + takes),
            (["account", "create", "--nonsense=x"], "unknown option '--nonsense'; " + takes),
            (["account", "create", "-x"], "unknown option '-x'; " + takes),
            (["account", "create", "-xn"], "unknown option '-x'; " + takes),
            (["account", "create", "--admin"], "unknown option '--admin'; " + takes),
            (["user", "create", "--a"], "ambiguous option '--a'; 'user create' takes: --account,"
             " --name, --admin, --conf, --json, --help"),
            (["account", "create", "--name", "a", "-n", "b"], "--name is given twice; give it once"),
            (["account", "create", "--name"], "--name needs a value: --name TEXT"),
            (["account", "create", "-n"], "--name needs a value: --name TEXT"),
            (["user", "create", "--admin=yes"], "--admin takes no value"),
            (["--nonsense"], "unknown option '--nonsense'; before the command, aditctl takes:"
             " --conf, --json, --help, --print-settings, --effective, --version"),
            (["--expires", "1d", "key", "issue"], "unknown option '--expires'; before the command,"
             " aditctl takes: --conf, --json, --help, --print-settings, --effective, --version"),
        )], self.assert_says)

    def test_revoking(self):
        self.each([(words, ["key", "revoke", *words], said) for words, said in (
            ([], "'key revoke' needs the id of a key, or --for ID for all keys of a User or Bot"),
            (["ak_x", "--for", "usr_x"], "'key revoke' takes the id of a key or --for, not both"),
        )], self.assert_says)

    def test_arguments(self):
        self.each([(words, words, said) for words, said in (
            (["user", "show"], "'user show' needs an argument; run: aditctl user show USER-ID"),
            *((["%s" % noun, "rename"], "'%s rename' needs an argument; run: aditctl %s rename %s-ID "
               "--name TEXT" % (noun, noun, noun.upper())) for noun in ("account", "user", "bot")),
            (["openapi"], "'openapi' needs an argument; run: aditctl openapi FILE"),
            (["web-server"], "'web-server' needs an argument; choose one of: "
             + ", ".join(CHOICES["web-server"])),
            (["permits", "x"], "'permits' needs two arguments; run: aditctl permits KEY TARGET"),
            (["permits", "x", "a", "b"],
             "'permits' takes two arguments; run: aditctl permits KEY TARGET"),
            (["key", "list", "x"], "unexpected argument 'x'; 'key list' takes none"),
            (["key", "revoke", "a", "b"],
             "'key revoke' takes one argument; run: aditctl key revoke [KEY-ID]"),
        )], self.assert_says)

    def test_long_and_odd(self):
        """Messages repeat the beginning of a long word, and no control character."""
        said = "unexpected argument '%s'; 'key list' takes none"
        self.assert_says(["key", "list", "ä" * 50000], said % ("ä" * 39 + "..."))
        self.assert_says(["key", "list", "\u202ex\x1b[2J"], said % "?x?[2J")
        shown = self.ctl("who", "x " * 40000, status=2).stderr
        self.assertRegex(shown, "^aditctl: 'x x [x ]* [.]{3} [x ]* x ' is not a target: ")
        self.assertLess(len(shown), 4200)

    def test_values(self):
        time = "is not accepted; expected a number and s, m, h, d or w, such as 90d, of at most 3660d"
        path = ("is not accepted; expected the absolute path of %s: at most %d letters, digits, '/',"
                " '.', '_', '+' and '-', no '/' at the end")
        self.each([(words, words, said) for words, said in (
            (["key", "issue", "--expires", "90"], "--expires '90' " + time),
            (["migrate", "--wait", "1y"], "--wait '1y' " + time),
            (["purge", "--audit-days", "0"],
             "--audit-days '0' is not accepted; expected a number of days, 1 to 36500"),
            (["account", "create", "--name", "x" * 256],
             "--name has 256 bytes; at most 255 are accepted"),
            (["account", "create", "--name", "a\nb"], "--name contains the control character U+000A;"
             " expected UTF-8 without control characters"),
            (["user", "create", "--name", "a\u202eb"], "--name contains the control character"
             " U+202E; expected UTF-8 without control characters"),
            (["user", "create", "--name", "\u009b31m"], "--name contains the control character"
             " U+009B; expected UTF-8 without control characters"),
            (["user", "create", "--name", " "], "--name has no character that shows; give it a"
             " value"),
            (["account", "rename", "--name", "\u200b\ufe0f", "x"], "--name has no character that"
             " shows; give it a value"),
            (["user", "create", "--name", ""], "--name is empty; give it a value: --name TEXT"),
            (["user", "create", "--name", "--admin"], "--name needs a value before '--admin'; for"
             " that value itself, write --name=--admin"),
            (["account", "create", "--name", b"\xff"], "--name is not valid UTF-8; expected UTF-8"
             " without control characters"),
            (["web-server", "nginx", "--socket", "x"],
             "--socket 'x' " + path % ("a unix socket", 107)),
            (["web-server", "nginx", "--docs", "x"],
             "--docs 'x' " + path % ("the folder of the reference", 1023)),
            (["web-server", "nginx", "--console", "x"],
             "--console 'x' " + path % ("the folder of the console", 1023)),
            (["web-server", "apache-cgid", "--program", "x"],
             "--program 'x' " + path % ("adit.fcgi", 1023)),
            (["web-server", "nginx", "--prefix", "x"], "--prefix 'x' is not accepted; expected a"
             " path such as /adit: at most 255 letters, digits, '/', '.', '_' and '-', no '/' at"
             " the end"),
            (["web-server", "apache-cgid", "--socket", "/x"], "'apache-cgid' takes no --socket: it"
             " starts the program itself; use --program"),
            (["web-server", "nginx", "--program", "/x"], "'nginx' takes no --program: it connects"
             " to a running responder; use --socket"),
            (["web-server", "nginx", "--no-limits"],
             "'nginx' takes no --no-limits: 'nginx-upstream' alone has limits"),
            (["gateway-config", "nginx-sign-ins", "--url", "https://a.example"],
             "'nginx-sign-ins' takes no --url"),
            (["web-server", "nginx-upstream", "--docs", "/x"],
             "'nginx-upstream' takes no --docs: it has no paths"),
            (["web-server", "nginx-upstream", "--console", "/x"],
             "'nginx-upstream' takes no --console: it has no paths"),
            (["web-server", "nginx-upstream", "--prefix", "/x"],
             "'nginx-upstream' takes no --prefix: it has no paths"),
        )], self.assert_says)

    def test_ids(self):
        account, holder = samples.unknown_id("ac"), samples.unknown_id("usr")
        empty = self.stack.ctl("account", "create", "--name", "empty")
        self.each([(words, words, said) for words, said in (
            (["user", "create", "--account", account], "there is no account with the id '%s';"
             " 'aditctl account list' shows the ids" % account),
            (["key", "issue", "--for", holder], "there is no User or Bot with the id '%s'; 'aditctl"
             " user list' and 'aditctl bot list' show the ids" % holder),
            (["key", "revoke", samples.unknown_id("ak")],
             "there is no API key with this id; 'aditctl key list' shows the ids"),
            (["key", "issue", "--account", empty], "there is no User or Bot in that"
             " account; run: aditctl user create --account " + empty),
        )], lambda words, said: self.assert_says(words, said, status=1))
        self.assert_says(["key", "revoke", "x y"], "this is not the id of an API key; expected ak_"
                         " and 27 letters and digits, as 'aditctl key list' shows it")

    def test_a_key_in_any_place(self):
        """An API key instead of an id, in either form: no command repeats it."""
        said = ("an API key is on the command line, and no command takes one; 'aditctl key list'"
                " shows the ids of keys; the key may now be in the history of your shell")
        key, long_key = samples.well_formed_key(), samples.well_formed_key(
            account_id=samples.unknown_id("ac"))
        self.each([(words, words, said) for words in (
            [key], ["--nonsense=" + key], ["--conf", key, "doctor"], ["key", key], ["x" + long_key],
            *([*words.split(), key] for words in COMMANDS),
            *([*words.split(), "--%s=%s" % (option, long_key)] for words in COMMANDS
              for option in ("account", "for", "owner", "by", "give-to", "event")),
            ["key", "revoke", key], ["key", "list", "-f" + key], ["history", "EDGE/" + key],
            ["account", "rename", "ac_x", "--name", long_key + "\n"],
        )], self.assert_says)


class Failures(CtlCase):
    def test_standard_output_is_full(self):
        """Before a new thing is committed, its id or key is printed.  What was changed otherwise is
        said to be."""
        account, user = self.stack.account("full"), self.home.person("user")
        counts = "SELECT (SELECT count(*) FROM adit.%s)" % ") + (SELECT count(*) FROM adit.".join(
            ("account", "principal", "api_key"))
        before = self.stack.psql(counts)
        self.each([(words, words, said) for words, said in (
            (["account", "list"], ""),
            (["--help"], ""),
            (["--version"], ""),
            (["--print-settings", "--effective"], ""),
            (["key", "--help"], ""),
            (["key", "issue", "--help"], ""),
            (["export"], ""),
            (["account", "create"], "; nothing was changed"),
            (["user", "create", "--account", account.id], "; nothing was changed"),
            (["bot", "create", "--account", account.id, "--json"], "; nothing was changed"),
            (["key", "issue", "--for", account.admin.id], "; nothing was changed"),
            (["user", "disable", user.id], "; the change was made"),
        )], self.assert_output_is_full)
        self.assertEqual(self.stack.psql(counts), before)

    def assert_output_is_full(self, words, said):
        done = stack.run(["sh", "-c", '"$@" >/dev/full', "sh", self.stack.env["ADITCTL"], "-c",
                          self.stack.conf_path, *words], check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "aditctl: cannot write to standard output: No space left on device%s\n" % said))

    def test_session_that_is_lost_during_a_write(self):
        account = self.stack.account("lost")
        self.stack.psql("""
            CREATE FUNCTION public.end_session() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
            CREATE TRIGGER end_session BEFORE UPDATE ON adit.account
            FOR EACH ROW WHEN (NEW.name = 'ends') EXECUTE FUNCTION public.end_session()""")
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.end_session() CASCADE")
        done = self.ctl("account", "rename", account.id, "--name", "ends", status=1)
        self.assertEqual(done.stderr.splitlines()[1:], [
            "aditctl: the outcome is unknown: look whether the change was made before you run this"
            " again"], done.stderr)

    def test_issued(self):
        done = self.ctl("key", "issue", "--for", self.home.admin.id)
        self.assertRegex(done.stderr, r"^aditctl: issued ak_\w{27} to %s; the key is not shown"
                         r" again\n$" % self.home.admin.id)
