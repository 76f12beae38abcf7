# SPDX-License-Identifier: MIT
"""aditctl doctor: its checks, the faults that it reports as trouble, and its advice."""
import os
import pwd
import re
import shutil

from adit import stack
from adit.case import Case


class Doctor(Case):
    stack_name = "aditctl"

    def doctor(self):
        return self.stack.ctl_run("doctor")

    def test_all_is_well(self):
        done = self.doctor()
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("trouble", done.stdout)
        self.assertEqual([line.split()[1] for line in done.stdout.splitlines()],
                         ["user", "settings", *["user"] * (os.getuid() == 0), "secrets", "database",
                          "schema", "grants", "writes", "clock", "sealed", "opened"])
        for line in (r"ok +settings +%s" % self.stack.conf_path,
                     r"ok +secrets +\S+/adit\.key",
                     r"ok +database +PostgreSQL \d+\.\d+, with a session that may write",
                     r"ok +schema +version \d+",
                     r"ok +grants +the responder's role has the rights that it needs",
                     r"ok +writes +a change was made and rolled back",
                     r"ok +clock +\d+ ms from the database's clock",
                     # Earlier tests may have added a key.
                     r"(ok +sealed +every secret is sealed under the first key, \S+|note +sealed"
                     r" +\d+ secrets? (is|are) still sealed under an old key; run: aditctl secrets"
                     r" rekey)", r"ok +opened +\d+ secrets? (was|were) opened"):
            self.assertRegex(done.stdout, "(?m)^%s$" % line)

    def assert_trouble(self, wanted, break_sql, mend_sql):
        self.stack.psql(break_sql)
        try:
            done = self.doctor()
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stdout, "(?m)^trouble +" + wanted)
            self.assertRegex(done.stdout, "(?m)^(ok|note) +sealed +")
        finally:
            self.stack.psql(mend_sql)
        self.assertEqual(self.doctor().returncode, 0)

    def test_troubles(self):
        self.each([
            ("a grant is missing", "grants +the responder's role lacks adit.ssh_credential: INSERT; make"
             " it a member of adit_responder, then run: aditctl migrate$", "REVOKE INSERT ON adit.ssh_credential FROM"
             " adit_responder", "GRANT INSERT ON adit.ssh_credential TO adit_responder"),
            ("a function's is", r"grants +the responder's role lacks adit.new_revision\(\): EXECUTE;",
             "REVOKE EXECUTE ON FUNCTION adit.new_revision() FROM PUBLIC, adit_responder",
             "GRANT EXECUTE ON FUNCTION adit.new_revision() TO PUBLIC, adit_responder"),
            ("the schema is older", r"schema +version -\d+ is older than this program, which needs"
             r" \d+; run: aditctl migrate$", "UPDATE adit.migration SET version = -version",
             "UPDATE adit.migration SET version = -version"),
            ("the schema is missing", "schema +version 0 is older", "ALTER SCHEMA adit RENAME TO away",
             "ALTER SCHEMA away RENAME TO adit"),
            ("the accounts are on nodes", r"nodes +the accounts are spread over the nodes of Citus; set"
             r" distributed = yes in \[database\] of the settings$", "CREATE FUNCTION adit.keep_columns() RETURNS"
             " trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'", "DROP FUNCTION adit.keep_columns()"),
            ("no room on the disk", r"writes +the database's disk is full: make room there \(database: 53100 ",
             "CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS"
             " $$BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END$$;"
             "CREATE TRIGGER full_disk BEFORE INSERT ON adit.mutual_tls_module"
             " FOR EACH STATEMENT EXECUTE FUNCTION public.full()",
             "DROP FUNCTION public.full CASCADE"),
            ("the role may not log in", "database +database: cannot connect: ", "ALTER ROLE adit NOLOGIN",
             "ALTER ROLE adit LOGIN"),
        ], self.assert_trouble)

    def test_leaves_nothing(self):
        self.stack.home.admin.issue()
        before = self.stack.dump()
        self.assertRegex(self.doctor().stdout, r"ok +writes ")
        after = self.stack.dump()
        # Sequences may have advanced, because a rollback does not reset them.
        last = r"(?m)^SELECT pg_catalog.setval.*$"
        self.assertEqual(re.sub(last, "", after), re.sub(last, "", before))

    def test_more_than_needed(self):
        """Rights beyond need, such as making keys, are a note and no trouble."""
        self.stack.psql("GRANT INSERT ON adit.api_key TO adit_responder")
        try:
            self.assertRegex(self.doctor().stdout, "(?m)^note +grants +the responder's role has"
                             " adit.api_key: INSERT, which it does not need$")
        finally:
            self.stack.psql("REVOKE INSERT ON adit.api_key FROM adit_responder")

    def test_no_author(self):
        """Without a User or Bot no change can be tried.  doctor says what to do."""
        self.stack.psql("CREATE DATABASE fresh")
        self.addCleanup(self.stack.psql, "DROP DATABASE fresh")
        with open(self.stack.conf_path, encoding="utf-8") as file:
            text = file.read().replace("dbname=adit", "dbname=fresh")
        conf = os.path.join(self.stack.folder, "fresh.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(self.stack.ctl_run("migrate", conf=conf).returncode, 0)
        said = ("(?m)^note +writes +not checked: there is no User or Bot yet; run: aditctl user create"
                " --name NAME, with --account ID if there are several accounts$")
        for command in ("account create --name NAME", "user create --name NAME",
                        "user create --account ID --name NAME ('aditctl account list' shows the"
                        " ids)"):
            self.assertRegex(self.stack.ctl_run("doctor", conf=conf).stdout, said)
            self.assertEqual(self.stack.ctl_run("key", "issue", conf=conf).stderr,
                             "aditctl: there is no User or Bot; run: aditctl %s\n" % command)
            self.stack.ctl_run("account", "create", "--yes", conf=conf)

    def test_key_file(self):
        path = os.path.join(self.stack.state, "adit.key")
        os.rename(path, path + ".away")
        try:
            done = self.doctor()
            self.assertEqual(done.returncode, 1)
            self.assertIn(path, done.stdout)
        finally:
            os.rename(path + ".away", path)

    def with_conf(self, text):
        conf = os.path.join(self.stack.folder, "doctor.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(text)
        return self.stack.ctl_run("doctor", conf=conf).stdout

    def test_sealed_that_cannot_be_known(self):
        """doctor prints this line even if the key file is garbage or the database is down."""
        key = os.path.join(self.stack.folder, "garbage.key")
        with open(key, "w", encoding="ascii") as file:
            file.write("garbage\n")
        os.chmod(key, 0o600)
        with open(self.stack.conf_path, encoding="utf-8") as file:
            text = file.read()
        away = "[database]\nconninfo = host=/nonexistent\n"
        for name, conf, said in (
                ("garbage", text + "[secrets]\nkey_file = %s\n" % key,
                 "not checked: first mend the key file"),
                ("garbage, no database", away + "[secrets]\nkey_file = %s\n" % key,
                 "not checked: first mend the key file"),
                ("no database", away + "[secrets]\nkey_file = %s/adit.key\n" % self.stack.state,
                 "not checked: first mend the database and its schema")):
            with self.subTest(name):
                self.assertRegex(self.with_conf(conf), "(?m)^note +sealed +%s$" % said)

    def test_key_file_that_may_not_be_read(self):
        """For a file that exists, the advice is the right to read it, and not 'secrets init'."""
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        conf = os.path.join(folder, "adit.conf")
        with open(self.stack.conf_path, encoding="utf-8") as source, \
                open(conf, "w", encoding="utf-8") as file:
            file.write(source.read())
        os.chmod(conf, 0o644)
        key = os.path.join(folder, "adit.key")
        shutil.copy(os.path.join(self.stack.state, "adit.key"), key)
        os.chmod(key, 0o000)
        as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] \
            if os.getuid() == 0 else []
        done = stack.run([*as_nobody, self.reachable_ctl(folder), "-c", conf, "doctor"],
                         check=False)
        line = next(line for line in done.stdout.splitlines() if key in line)
        self.assertEqual(done.returncode, 1, done)
        self.assertTrue(line.startswith("trouble"), done)
        self.assertIn("the user %s" % ("nobody" if as_nobody else pwd.getpwuid(os.getuid()).pw_name),
                      line)
        self.assertIn("640", line)
        self.assertNotIn("secrets init", line)

    def reachable_ctl(self, folder):
        """A copy of aditctl that every user can reach."""
        return shutil.copy(self.stack.env["ADITCTL"], os.path.join(folder, "aditctl"))

    def test_says_whom_it_runs_as(self):
        shown = self.doctor().stdout.splitlines()
        if os.getuid() == 0:
            self.assertRegex(shown[0], "^ok +user +root$")
            self.assertRegex(shown[2], "^note +user +there is no system user adit, so root itself"
                             " checks: .*; to check as another user, run: setpriv .* aditctl doctor$")
        else:
            self.assertRegex(shown[0], r"^ok +user +%s$" % pwd.getpwuid(os.getuid()).pw_name)
