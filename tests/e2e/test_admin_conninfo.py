# SPDX-License-Identifier: MIT
"""The ways in which aditctl gets the password of the tables' owner.  None is a line of the shared
settings, because the responder reads those too."""
import os
import shutil

from adit import stack
from adit.case import Case

PASSWORD = "the 0wner's s3cret"


class OwnersPassword(Case):
    stack_name = "aditctl"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        hba = os.path.join(cls.stack.state, "data", "pg_hba.conf")
        with open(hba, "r+", encoding="utf-8") as file:
            rules = file.read()
            file.seek(0)
            file.write("local owned owner scram-sha-256\n" + rules)
        cls.stack.psql("CREATE ROLE owner LOGIN PASSWORD '%s'" % PASSWORD.replace("'", "''"))
        cls.stack.psql("CREATE DATABASE owned OWNER owner")
        cls.stack.psql("SELECT pg_reload_conf()")

    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.conf = os.path.join(self.folder, "adit.conf")
        self.place = "host=%s port=%s dbname=owned user=owner" % (
            self.stack.run_folder, self.stack.env["PGPORT"])

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def write_passfile(self, name):
        return self.write(name, "*:*:owned:owner:%s\n" % PASSWORD)

    def migrate(self, conninfo, **environment):
        self.write("adit.conf", "[database]\nconninfo = host=/nonexistent\nadmin_conninfo = %s\n"
                   % conninfo)
        return self.stack.ctl_run("migrate", conf=self.conf,
                                  env={**stack.CLEAN_ENV, "HOME": self.folder, **environment})

    def assert_connects(self, conninfo, **environment):
        done = self.migrate(conninfo, **environment)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("the schema is at version", done.stdout)

    def test_without(self):
        done = self.migrate(self.place)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("password", done.stderr)

    def test_passfile(self):
        self.assert_connects("%s passfile=%s" % (self.place, self.write_passfile("owner.pgpass")))

    def test_passfile_in_a_uri(self):
        self.assert_connects("postgresql://owner@/owned?host=%s&port=%s&passfile=%s" % (
            self.stack.run_folder, self.stack.env["PGPORT"], self.write_passfile("owner.pgpass")))

    def test_passfile_of_the_user(self):
        self.write_passfile(".pgpass")
        self.assert_connects(self.place)

    def test_service(self):
        text = "[adit-owner]\n%s\npassword=%s\n" % (self.place.replace(" ", "\n"), PASSWORD)
        path = self.write("services", text)
        self.assert_connects("service=adit-owner", PGSERVICEFILE=path)
        self.write(".pg_service.conf", text)
        self.assert_connects("service=adit-owner")

    def test_environment(self):
        self.assert_connects(self.place, PGPASSWORD=PASSWORD)

    def test_settings_of_its_own(self):
        """Settings that only aditctl reads may contain the password in conninfo."""
        path = self.write("owner.conf", "[database]\nconninfo = %s password='%s'\n" % (
            self.place, PASSWORD.replace("'", "\\'")))
        done = self.stack.ctl_run("migrate", conf=path)
        self.assertEqual(done.returncode, 0, done)
