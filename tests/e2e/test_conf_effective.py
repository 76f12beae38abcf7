# SPDX-License-Identifier: MIT
"""--print-settings --effective of every program that reads the settings file."""
import os
import shutil
import subprocess

from adit import stack
from adit.case import Case


class Effective(Case):
    PROGRAMS = ("adit.fcgi", "aditctl", "adit-gateway", "adit-gate.fcgi")
    FILE = ("[service]\nproviders = a b c d e f g h\nbase_url = https://a.example/api///\n"
            "[provider.c]\n; a comment\nclient_id =;x\n"
            "[database]\nconninfo = host=db password='hush hush'\n"
            "[gateway]\nconninfo = postgresql://me:hush@db/adit?application_name=a%0Ab\nsessions =\n"
            "[gate]\nconninfo = sslpassword=hush host=db\n"
            "[secrets]\nkey_file = keys\n")

    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.conf = os.path.join(self.folder, "test.conf")

    def write(self, text, path=None):
        with open(path or self.conf, "w") as file:
            file.write(text)

    def ask(self, program, *arguments):
        return subprocess.run([os.path.join(stack.BUILD, program), *arguments], timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=stack.CLEAN_ENV)

    def printed(self, program, path):
        """What it prints: {(section, key): (where the value is from, the value)}."""
        done = self.ask(program, "-c", path, "--print-settings", "--effective")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertNotIn("hush", done.stdout)
        found, section, origin = {}, None, None
        for line in filter(None, done.stdout.splitlines()[1:]):
            if line.startswith("["):
                section = line.strip("[]")
            elif line.startswith("; "):
                origin = line[2:]
            else:
                key, value = line.split(" =", 1)
                self.assertNotIn((section, key), found)
                found[section, key] = origin, value.removeprefix(" ")
        return found

    def test_each_program_prints_each_setting(self):
        sample = self.ask("adit.fcgi", "--print-settings").stdout
        keys = [line[2:].split(" =")[0] for line in sample.splitlines()
                if line.startswith("; ") and line[2:].split(" =")[0].replace("_", "").islower()
                and " =" in line]
        self.write(self.FILE)
        for program in self.PROGRAMS:
            with self.subTest(program):
                found = self.printed(program, self.conf)
                self.assertLessEqual(set(keys), {key for _, key in found})
                self.assertEqual(found, self.printed("adit.fcgi", self.conf))
                self.assertEqual(self.ask(program, "--print-settings").stdout, sample)

    def test_values_and_where_they_are_from(self):
        self.write(self.FILE)
        found = self.printed("aditctl", self.conf)
        hidden = "; the password is not shown"
        for place, wanted in {
                ("service", "name"): ("default", "service"),
                ("service", "providers"): (self.conf + ":2", "a b c d e f g h"),
                ("service", "base_url"): (self.conf + ":3", "https://a.example/api"),
                ("service", "require_acl"): ("default", "no"),
                ("provider.b", "client_id"): ("default", ""),
                ("provider.c", "client_id"): (self.conf + ":6", ";x"),
                ("database", "conninfo"): (self.conf + ":8" + hidden, "postgresql://?host=db"),
                ("database", "admin_conninfo"): ("default" + hidden, "postgresql://?host=db"),
                ("gateway", "conninfo"): (
                    self.conf + ":10" + hidden,
                    "postgresql://?user=me&dbname=adit&host=db&application_name=a%0Ab"),
                ("gate", "conninfo"): (self.conf + ":13" + hidden, "postgresql://?host=db"),
                ("secrets", "key_file"): (self.conf + ":15", self.folder + "/keys")}.items():
            with self.subTest(place):
                self.assertEqual(found[place], wanted)
        self.assertEqual(found["gateway", "sessions"][0], self.conf + ":11")
        self.assertGreater(int(found["gateway", "sessions"][1]), 0)

    def test_can_be_read_again(self):
        again = os.path.join(stack.make_folder(), "again.conf")
        self.addCleanup(shutil.rmtree, os.path.dirname(again))
        self.write(self.FILE)
        found = self.printed("aditctl", self.conf)
        self.write(self.ask("aditctl", "-c", self.conf, "-TQ").stdout, again)
        reread = self.printed("aditctl", again)
        self.assertEqual({place: value for place, (_, value) in reread.items()},
                         {place: value for place, (_, value) in found.items()})
        self.assertEqual({origin.rsplit(":", 1)[0] for origin, _ in reread.values()}, {again})

    def test_without_a_file_to_read(self):
        self.write("[service]\nname = WRONG\n")
        for program in self.PROGRAMS:
            for path, said in ((self.conf, self.conf + ":2: [service] name 'WRONG' must"),
                               ("/nonexistent", "/nonexistent: cannot be opened")):
                with self.subTest(program + " " + path):
                    done = self.ask(program, "-c", path, "--print-settings", "--effective")
                    self.assertEqual((done.returncode, done.stdout), (1, ""))
                    self.assertIn("%s: %s" % (program, said), done.stderr)

    def test_effective_alone(self):
        for program in self.PROGRAMS:
            with self.subTest(program):
                done = self.ask(program, "--effective")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--effective needs --print-settings", done.stderr)

    def test_what_aditctl_does_not_print(self):
        for words, said in ((["--print-settings", "--json"], "leave out --json"),
                            (["--json", "--print-settings", "--effective"], "leave out --json"),
                            (["--print-settings", "user", "list"], "takes no command, but got 'user'")):
            with self.subTest(words):
                done = self.ask("aditctl", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(said, done.stderr)

    def test_output_that_cannot_be_written(self):
        self.write("")
        for program in self.PROGRAMS:
            with self.subTest(program), open("/dev/full", "w") as full:
                done = subprocess.run(
                    [os.path.join(stack.BUILD, program), "--print-settings", "--effective"],
                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                    env={**stack.CLEAN_ENV, "ADIT_CONF": self.conf})
                self.assertEqual(done.returncode, 1)
                self.assertIn("cannot write to standard output", done.stderr)
