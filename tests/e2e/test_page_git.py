# SPDX-License-Identifier: MIT
"""doc/operate/git.md: its commands, in a git repository of their own."""
import base64
import os
import random
import re

from adit.case import Case
from adit.page import Page

N_DEVICES = 200
SECRET = "hush, says the page"


class GitPage(Case):
    stack_name = "aditctl"

    def setUp(self):
        self.key_file = os.path.join(self.stack.state, "page_git.key")
        self.page = Page(self, "git.md", env={
            "ADIT_CONF": self.make_database("page_git"), "GIT_AUTHOR_NAME": "ada",
            "GIT_AUTHOR_EMAIL": "ada@a.example", "GIT_COMMITTER_NAME": "ada",
            "GIT_COMMITTER_EMAIL": "ada@a.example"}, values={"remote": "../shared.git"})
        self.addCleanup(os.remove, self.key_file)
        self.page.run("export HOME=$PWD\ngit init -q --bare -b main shared.git\naditctl secrets init\naditctl account create --name acme\n"
                      "aditctl user create --name ada --admin")

    def make_database(self, name):
        self.stack.psql("DROP DATABASE IF EXISTS %s" % name)
        self.stack.psql("CREATE DATABASE %s" % name)
        self.addCleanup(self.stack.psql, "DROP DATABASE %s" % name)
        path = os.path.join(self.stack.state, name + ".conf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r"dbname=\S+", "dbname=" + name, self.stack.read_conf()))
            file.write("\n[secrets]\nkey_file = %s\n" % self.key_file)
        self.addCleanup(os.remove, path)
        self.stack.ctl_run("migrate", conf=path, check=True)
        return path

    def follow(self, heading, number=0, status=0):
        """Runs a block of the page.  Returns its output."""
        shown = self.page.run(self.page.scripts[heading][number], status)
        self.assertNotIn(SECRET, shown)
        return shown

    def make_keys(self):
        os.mkdir(self.page.path("keys"))
        for number in range(N_DEVICES):
            blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + random.Random(number).randbytes(32)
            with open(self.page.path("keys", "device-%d.pub" % number), "w",
                      encoding="utf-8") as file:
                file.write("ssh-ed25519 %s\n" % base64.b64encode(blob).decode())

    def rules(self, where):
        return self.stack.psql("\\c page_git\nSELECT acl FROM adit.ssh_credential WHERE " + where)

    def change_key(self):
        """Digests of a key that is gone are refused, and the page says how to apply their file."""
        heading = "Change the key of client secrets"
        old = self.page.read("adit-state", "adit.json")
        self.page.run("aditctl secrets add-key\naditctl secrets rekey\naditctl export | cmp - adit.json\n"
                      "sed -i '2,$d' '%s'" % self.key_file)
        self.follow(heading)
        new = self.page.read("adit-state", "adit.json")
        self.assertNotEqual(new, old)
        digest = r'"digest": "\w+:\w+"'
        self.assertEqual(re.sub(digest, "", new), re.sub(digest, "", old))
        said = self.page.run("git show HEAD~1:adit.json >refused.json\naditctl apply refused.json",
                             status=1)
        self.assertIn("lacks. Export again, or delete the digest to keep the stored secret.", said)
        self.assertEqual(self.follow(heading, 1), "")
        self.assertEqual(self.page.run("aditctl export"), new)

    def test_page(self):
        self.assertEqual(sum(len(scripts) for scripts in self.page.scripts.values()), 13)
        self.follow("Begin")
        self.make_keys()
        shown = self.follow("Onboard devices")
        self.assertEqual(shown.count("create\tssh_credential\t"), 2 * N_DEVICES)
        self.assertEqual(shown.count("create\tssh_credential\t-"), N_DEVICES)
        self.follow("Onboard devices", 1)
        self.follow("Change something")
        shown = self.follow("Change something", 1, status=1)
        self.assertEqual(len(shown.splitlines()), 2)
        self.assertRegex(shown, r"\nupdate\tssh_credential\tsshcr_\w{27}\tdevice-7\tac_\w{27}\t"
                         r'acl: \["bind:device-7.example"\] -> \["bind:seven.example"\]\n')
        self.assertIn("device-7\t", self.follow("Change something", 2))
        self.assertIn("{bind:seven.example}", self.rules("description = 'device-7'"))

        elsewhere = "Find what was changed elsewhere"
        self.assertEqual(self.follow(elsewhere), "")
        self.stack.psql("\\c page_git\nUPDATE adit.ssh_credential SET acl = '{*}'"
                        " WHERE description = 'device-9'")
        self.assertIn('\n+            "*"\n', self.follow(elsewhere, status=1))
        self.follow(elsewhere, 1)
        self.assertIn("{bind:device-9.example}", self.rules("description = 'device-9'"))
        self.follow("Revert")
        self.assertIn("{bind:device-7.example}", self.rules("description = 'device-7'"))

        with open(self.page.path("secret"), "w", encoding="utf-8") as file:
            file.write(SECRET)
        self.follow("Client secrets")
        self.assertIn('"digest": "', self.page.read("adit-state", "adit.json"))
        self.change_key()
        self.page.run("export ADIT_CONF='%s'" % self.make_database("page_git_again"))
        self.follow("Start again in an empty database")
        for name in os.listdir(self.page.path("adit-state")):
            if os.path.isfile(self.page.path("adit-state", name)):
                self.assertNotIn(SECRET, self.page.read("adit-state", name), name)
