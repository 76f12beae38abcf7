# SPDX-License-Identifier: MIT
"""aditctl doctor: what it looks at, what it calls trouble, and what it says to do."""
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
        for what in ("settings", "secrets", "database", "schema", "grants", "writes", "clock"):
            self.assertIn(what, done.stdout)

    def assert_trouble(self, word, break_sql, mend_sql):
        self.stack.psql(break_sql)
        try:
            done = self.doctor()
            self.assertEqual(done.returncode, 1, done)
            lines = [line for line in done.stdout.splitlines() if line.startswith("trouble")]
            self.assertTrue(any(word in line for line in lines), done.stdout)
        finally:
            self.stack.psql(mend_sql)
        self.assertEqual(self.doctor().returncode, 0)

    def test_troubles(self):
        self.each([
            ("a grant is missing", "grants", "REVOKE INSERT ON adit.ssh_credential FROM"
             " adit_responder", "GRANT INSERT ON adit.ssh_credential TO adit_responder"),
            ("a function's is", "grants",
             "REVOKE EXECUTE ON FUNCTION adit.new_revision() FROM PUBLIC, adit_responder",
             "GRANT EXECUTE ON FUNCTION adit.new_revision() TO PUBLIC, adit_responder"),
            ("the schema is older", "schema", "UPDATE adit.migration SET version = -version",
             "UPDATE adit.migration SET version = -version"),
            ("the schema is missing", "schema", "ALTER SCHEMA adit RENAME TO away",
             "ALTER SCHEMA away RENAME TO adit"),
            ("no room on the disk", "writes",
             "CREATE FUNCTION public.full() RETURNS trigger LANGUAGE plpgsql AS"
             " $$BEGIN RAISE 'could not extend file' USING ERRCODE = '53100'; END$$;"
             "CREATE TRIGGER full_disk BEFORE INSERT ON adit.mutual_tls_module"
             " FOR EACH STATEMENT EXECUTE FUNCTION public.full()",
             "DROP FUNCTION public.full CASCADE"),
            ("the role may not log in", "database", "ALTER ROLE adit NOLOGIN",
             "ALTER ROLE adit LOGIN"),
        ], self.assert_trouble)

    def test_leaves_nothing(self):
        self.stack.home.admin.issue()
        before = self.stack.dump()
        self.assertRegex(self.doctor().stdout, r"ok +writes ")
        after = self.stack.dump()
        # Numbers of events may be missing.
        last = r"(?m)^SELECT pg_catalog.setval.*$"
        self.assertEqual(re.sub(last, "", after), re.sub(last, "", before))

    def test_more_than_needed(self):
        """A responder that could make keys is worth a word; whether it is trouble is left open."""
        self.stack.psql("GRANT INSERT ON adit.api_key TO adit_responder")
        try:
            self.assertIn("adit.api_key", self.doctor().stdout)
        finally:
            self.stack.psql("REVOKE INSERT ON adit.api_key FROM adit_responder")

    def test_key_file(self):
        path = os.path.join(self.stack.state, "adit.key")
        os.rename(path, path + ".away")
        try:
            done = self.doctor()
            self.assertEqual(done.returncode, 1)
            self.assertIn(path, done.stdout)
        finally:
            os.rename(path + ".away", path)

    def test_key_file_that_may_not_be_read(self):
        """A file that is there needs no 'secrets init' but the right to read it."""
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
        """aditctl at a place that every user reaches."""
        return shutil.copy(self.stack.env["ADITCTL"], os.path.join(folder, "aditctl"))

    def test_says_whom_it_runs_as(self):
        shown = self.doctor().stdout.splitlines()
        if os.getuid() == 0:
            self.assertRegex(shown[0], r"^note +user +root .*setpriv .*aditctl doctor$")
        else:
            self.assertRegex(shown[0], r"^ok +user +%s$" % pwd.getpwuid(os.getuid()).pw_name)
