# SPDX-License-Identifier: MIT
"""aditctl permits and who: what the stored rules let keys bind."""
import os
import re
import subprocess

from adit import samples, stack
from test_aditctl import CtlCase

COLUMNS = ["ID", "ACCOUNT", "OWNER", "FINGERPRINT", "RULE"]
MADE = "SHA256:" + "m" * 43
UNKNOWN = "SHA256:" + "A" * 43


class WhoCase(CtlCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = os.path.join(cls.stack.folder, cls.__name__)
        os.mkdir(cls.folder)
        cls.account = cls.stack.account()
        cls.client = cls.stack.client(cls.account.admin.key)
        cls.keys = list(samples.accepted_keys())

    def make(self, *acl, key=samples.ED25519, **members):
        made = self.client.post("/ssh_credentials", samples.credential(
            public_key=key, acl=list(acl), **members))
        self.assertEqual(made.status, 201, made)
        self.addCleanup(self.client.delete, "/ssh_credentials/" + made.json["id"])
        return made.json["id"]

    def ctl(self, *arguments, status=0, **options):
        """Runs aditctl, which has nothing to say if it answers no."""
        done = self.stack.ctl_run(*arguments, **options)
        self.assertEqual(done.returncode, status, done)
        return done

    def rows(self, text):
        names, *rows = [line.split("\t") for line in text.splitlines()]
        self.assertEqual(names, COLUMNS)
        return rows

    def row(self, ident, rule, fingerprint=samples.ED25519_FINGERPRINT, owner=None):
        return [ident, self.account.id, owner or self.account.admin.id, fingerprint, rule]

    def who(self, target, *options):
        return self.rows(self.ctl("who", target, "-a", self.account.id, *options).stdout)

    def permits(self, target, key=samples.ED25519_FINGERPRINT, account=None, **options):
        return self.ctl("permits", "-a", account or self.account.id, key, target, **options)

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path


class Who(WhoCase):
    def test_every_kind_of_rule(self):
        both = self.make("bind:k=v", "bind:*.example", "bind:a.example")
        everything = self.make()
        star = self.make("bind:b.example", "*")
        address = self.make("bind:A.example:22", "bind:[::1]:22")
        free = [self.row(everything, "no rules"), self.row(star, "*")]
        self.each([(target, target, *rows) for target, *rows in (
            ("a.example", self.row(both, "bind:*.example")),
            ("k=v", self.row(both, "bind:k=v")),
            ("a.EXAMPLE:22", self.row(address, "bind:A.example:22")),
            ("[0::1]:22", self.row(address, "bind:[::1]:22")),
            ("*.b.example", self.row(both, "bind:*.example")),
            ("example",),
        )], lambda target, *rows: self.assertEqual(sorted(self.who(target)),
                                                   sorted([*rows, *free])))

    def test_names_on_domain_ports(self):
        """A gateway opens a name on these ports, so its rule counts."""
        name = self.make("bind:vm")
        below = self.make("bind:*.vm", "bind:*.0.1")
        address = self.make("bind:vm:8443")
        for target, rows in (
                ("vm:8443", [self.row(name, "bind:vm"), self.row(address, "bind:vm:8443")]),
                ("a.vm:8080", [self.row(below, "bind:*.vm")]),
                ("vm:8444", []), ("127.0.0.1:8443", []), ("vm", [self.row(name, "bind:vm")])):
            with self.subTest(target):
                self.assertEqual(sorted(self.who(target)), sorted(rows))

    def test_the_first_rule_that_permits(self):
        ident = self.make("bind:b.example", "bind:*", "*")
        self.assertEqual(self.who("b.example"), [self.row(ident, "bind:b.example")])
        self.assertEqual(self.who("a.example"), [self.row(ident, "bind:*")])

    def test_nobody(self):
        self.make("bind:a.example")
        self.assertEqual(self.who("b.example"), [])

    def test_owner_and_account(self):
        other = self.stack.account()
        foreign = self.stack.client(other.admin.key).post(
            "/ssh_credentials", samples.credential(acl=["bind:shared.example"])).json["id"]
        own = self.make("bind:shared.example", owner_id=self.account.bot.id)
        row = self.row(own, "bind:shared.example", owner=self.account.bot.id)
        self.assertEqual(self.who("shared.example"), [row])
        shown = self.rows(self.ctl("who", "shared.example").stdout)
        self.assertEqual(sorted(line for line in shown if line[4] == "bind:shared.example"),
                         sorted([row, [foreign, other.id, other.admin.id,
                                       samples.ED25519_FINGERPRINT, "bind:shared.example"]]))

    def test_malformed_rules_permit_nothing(self):
        ident = self.make("bind:a.example")
        self.stack.psql("UPDATE adit.ssh_credential SET acl = '{BIND:a.example,bind:a..example,"
                        "\"bind:a.example \"}' WHERE id = '%s'" % ident)
        self.assertEqual(self.who("a.example"), [])

    def test_controls_in_a_rule_do_not_reach_the_terminal(self):
        ident = self.make("bind:a.example")
        self.stack.psql(r"UPDATE adit.ssh_credential SET acl = ARRAY[E'bind:a=b\x1b[2J', '*']"
                        " WHERE id = '%s'" % ident)
        self.assertEqual(self.who("a.example"), [self.row(ident, "*")])

    def test_malformed_targets(self):
        self.each([(target, target, *says) for target, *says in (
            ("bind:a.example", "'bind:a.example' is a rule; give its target, without 'bind:':"
             " a.example"),
            ("a..b", "'a..b' is not a target: ", "A target is <domain>, *.<domain>, <host>:<port>"
             " or <key>=<value>"),
            ("https://a.example/", "is a URL; give its host, or its host and port"),
            ("", "'' is not a target"),
            ("*", "'*' is not a target"),
            ("a.example:0", "the port must be a number from 1 to 65535"),
            ("a b", "is not a target"),
        )], self.assert_misused)

    def assert_misused(self, target, *says):
        for words in (["who", target], ["permits", samples.ED25519_FINGERPRINT, target]):
            done = self.ctl(*words, status=2)
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
            for part in says:
                self.assertIn(part, done.stderr)

    def test_unknown_account(self):
        for words, status in ((["who", "a.example"], 1), (["permits", MADE, "a.example"], 3)):
            done = self.ctl(*words, "-a", "ac_x", status=status)
            self.assertEqual((done.stdout, done.stderr), ("", (
                "aditctl: there is no account with the id 'ac_x', or it has no User and no Bot;"
                " 'aditctl account list' shows the ids\n")))


class Many(WhoCase):
    """Pages of credentials."""
    N = 20000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Without the triggers, which record each change.
        cls.stack.psql(
            "SET session_replication_role = replica; INSERT INTO adit.ssh_credential (account_id,"
            " id, owner_id, public_key, key_type, fingerprint, acl) SELECT '%s', 'sshcr_' ||"
            " lpad(i::text, 27, '0'), '%s', 'x', 'ssh-ed25519', '%s', ARRAY['bind:made.example',"
            " 'bind:n' || i || '.example'] FROM generate_series(1, %d) AS i" % (
                cls.account.id, cls.account.admin.id, MADE, cls.N))

    @classmethod
    def tearDownClass(cls):
        cls.stack.psql("SET session_replication_role = replica; DELETE FROM adit.ssh_credential"
                       " WHERE account_id = '%s'" % cls.account.id)
        super().tearDownClass()

    def peak_kib(self, *words):
        """Runs aditctl.  Returns its output and the most memory that it had."""
        with open(os.path.join(self.folder, "out"), "w+", encoding="utf-8") as out:
            with subprocess.Popen([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, *words],
                                  stdout=out, env=stack.CLEAN_ENV) as process:
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            out.seek(0)
            return out.read(), usage.ru_maxrss

    def test_all_pages_in_flat_memory(self):
        for words in (["who", "made.example"], ["permits", MADE, "made.example"]):
            with self.subTest(words[0]):
                shown, most = self.peak_kib(*words, "-a", self.account.id)
                self.assertEqual([row[0] for row in self.rows(shown)],
                                 ["sshcr_%027d" % i for i in range(1, self.N + 1)])
                _, least = self.peak_kib("who", "none.example", "-a", self.home.id)
                if not stack.is_sanitized():
                    self.assertLess(most - least, 2048)

    def test_the_last_one(self):
        self.assertEqual(self.who("n%d.example" % self.N),
                         [self.row("sshcr_%027d" % self.N, "bind:n%d.example" % self.N, MADE)])

    def test_none(self):
        self.assertEqual(self.permits("a.example", MADE, status=1).stdout, (
            "not permitted: %d credentials have the key %s, and no rule permits a.example\n" % (
                self.N, MADE)))


class Permits(WhoCase):
    def test_answers(self):
        ident = self.make("bind:b.example", "bind:a.example:22", "bind:*.example")
        done = self.permits("a.example")
        self.assertEqual((self.rows(done.stdout), done.stderr),
                         ([self.row(ident, "bind:*.example")], ""))
        done = self.permits("a.example:23", status=1)
        self.assertEqual((done.stdout, done.stderr), (
            "not permitted: 1 credential has the key %s, and no rule permits a.example:23\n"
            % samples.ED25519_FINGERPRINT, ""))
        done = self.permits("a.example", UNKNOWN, status=1)
        self.assertEqual((done.stdout, done.stderr),
                         ("not permitted: no credential has the key %s\n" % UNKNOWN, ""))

    def test_a_name_on_a_domain_port(self):
        """A rule for a domain does not permit the address, but sshd opens it."""
        self.make("bind:vm", "bind:*.vm", "bind:*.0.1", "bind:k=v", "bind:other.example:8443")
        opens = "; but the rule '%s' permits the name %s, which adit-gateway opens on this port\n"
        self.each([(target, target, says) for target, says in (
            ("vm:8443", opens % ("bind:vm", "vm")),
            ("VM:8080", opens % ("bind:vm", "VM")),
            ("a.vm:8080", opens % ("bind:*.vm", "a.vm")),
            ("vm:8444", "\n"),
            ("avm:8443", "\n"),
            ("127.0.0.1:8443", "\n"),
            ("[::1]:8443", "\n"),
            ("b.example", "\n"),
        )], lambda target, says: self.assertEqual(self.permits(target, status=1).stdout, (
            "not permitted: 1 credential has the key %s, and no rule permits %s%s" % (
                samples.ED25519_FINGERPRINT, target, says))))
        self.make("bind:vm:8443")
        self.assertEqual(self.permits("vm:8443").stdout.count("\n"), 2)

    def test_all_credentials_of_the_key_count(self):
        self.make("bind:a.example")
        second = self.make("bind:b.example")
        self.make("bind:c.example", key=self.keys[0][1])
        self.assertEqual(self.rows(self.permits("b.example").stdout),
                         [self.row(second, "bind:b.example")])
        self.permits("c.example", status=1)

    def test_another_account_does_not_count(self):
        self.make("bind:mine.example")
        another = self.stack.account("without credentials").id
        self.assertIn("no credential has",
                      self.permits("mine.example", account=another, status=1).stdout)
        self.assertIn("mine.example", self.ctl(
            "permits", samples.ED25519_FINGERPRINT, "mine.example").stdout)

    def test_every_form_of_a_public_key(self):
        """A file or standard input, in each form that the interface accepts."""
        for name, text, _, fingerprint in self.keys:
            with self.subTest(name):
                path = self.write("key", text)
                for done in (self.permits("a.example", path, status=1),
                             self.permits("a.example", "-", status=1, input=text)):
                    self.assertEqual((done.stdout, done.stderr), (
                        "not permitted: no credential has the key %s\n" % fingerprint, ""))

    def test_ssh_keygen(self):
        path = os.path.join(self.folder, "made")
        stack.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", path])
        with open(path + ".pub", encoding="utf-8") as file:
            ident = self.make("bind:a.example", key=file.read())
        shown = stack.run(["ssh-keygen", "-lf", path + ".pub"]).stdout.split()[1]
        for key in (path + ".pub", shown):
            self.assertEqual(self.rows(self.permits("a.example", key).stdout),
                             [self.row(ident, "bind:a.example", shown)])
        with open(path, encoding="utf-8") as file:
            self.assert_secret_stays(file.read())

    def assert_secret_stays(self, secret):
        """A private key, in a file, on standard input and as the argument, is not shown."""
        path = self.write("secret", secret)
        for done in (self.permits("a.example", path, status=3),
                     self.permits("a.example", "-", status=3, input=secret)):
            self.assertRegex(done.stderr, "^aditctl: (%s|standard input) holds a private key; give its"
                             " public key, which is usually in FILE.pub\n$" % re.escape(path))
            self.assert_not_shown(secret, done)
        self.assert_not_shown(secret, self.ctl("permits", secret, "a.example", status=2))
        self.assert_not_shown(secret, self.ctl("permits", "--", secret, "a.example", status=2))

    def assert_not_shown(self, secret, done):
        for line in secret.splitlines()[1:-1]:
            self.assertNotIn(line[:20], done.stdout + done.stderr)

    def test_refused_keys(self):
        self.each([(name, text, says) for name, text, says in samples.refused_keys()
                   if not says.startswith("holds a private key")][::20], self.assert_refused)

    def assert_refused(self, text, says):
        """The message names the file, and no member of a request."""
        path = self.write("bad", text)
        said = self.permits("a.example", path, status=3).stderr
        self.assertTrue(said.startswith("aditctl: %s " % path), said)
        self.assertIn(says.removeprefix("public_key").strip(), said)
        self.assertNotIn("public_key", said)

    def test_files(self):
        for key, status, says in (
                ("/nonexistent", 2, "is neither a fingerprint, SHA256: and 43 characters"),
                ("SHA256:short", 2, "is neither a fingerprint"),
                (MADE + "=", 2, "is neither a fingerprint"),
                ("MD5:00:11", 2, "is neither a fingerprint"),
                (self.folder, 3, "cannot read: Is a directory"),
                (self.write("empty", ""), 3, "empty is empty. "),
                (self.write("long", "x" * 20000), 3, "long is longer than 16384 bytes."),
                (samples.ED25519, 2, "write it to standard input and give '-'")):
            with self.subTest(key):
                done = self.permits("a.example", key, status=status)
                self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1))
                self.assertIn(says, done.stderr)

    def test_failures_are_no_answer(self):
        """Status 3: nobody can tell."""
        for conf in ("/nonexistent", self.write(
                "away.conf", "[database]\nconninfo = host=/nonexistent\n")):
            done = self.ctl("permits", MADE, "a.example", conf=conf, status=3)
            self.assertEqual(done.stdout, "")
            self.assertIn("aditctl: ", done.stderr)
        done = stack.run(["sh", "-c", '"$@" >/dev/full', "sh", self.stack.env["ADITCTL"], "-c",
                          self.stack.conf_path, "permits", MADE, "a.example"], check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (3, "aditctl: cannot write to standard output: No space left on device\n"))
