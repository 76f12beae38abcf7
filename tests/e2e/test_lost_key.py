# SPDX-License-Identifier: MIT
"""doctor and rekey on client secrets whose key is lost: only a copy of the key helps."""
import os

from adit.case import Case


def path(n):
    return "/edges/https/lost/routes/r%d/oauth" % n


BODY = {"provider": {"provider_c": {"client_id": "app", "client_secret": "hush"}}}


class LostKey(Case):
    stack_name = "rekey"

    def setUp(self):
        self.key_file = os.path.join(self.stack.state, "adit.key")
        with open(self.key_file, encoding="utf-8") as file:
            self.keys = file.read()
        self.first = self.keys.split()[0]
        self.clear()
        self.addCleanup(self.clear)
        self.addCleanup(self.write, self.keys)
        for n in range(3):
            self.assert_ok(self.admin.put(path(n), BODY))

    def clear(self):
        self.stack.psql("DELETE FROM adit.oauth_module")

    def write(self, text):
        # Written in place, so that the file keeps its owner and mode.
        with open(self.key_file, "w", encoding="utf-8") as file:
            file.write(text)

    def remove(self):
        os.rename(self.key_file, self.key_file + ".away")
        self.addCleanup(os.rename, self.key_file + ".away", self.key_file)

    def lost(self, n, key_id=None):
        return "%d secret%s sealed under key %s, which %s lacks; restore this key from your copy of the" \
            " file" % (n, " is" if n == 1 else "s are", key_id or self.first, self.key_file)

    def doctor(self, status=1):
        done = self.stack.ctl_run("doctor")
        self.assertEqual(done.returncode, status, done)
        return done.stdout

    def rekey(self):
        done = self.stack.ctl_run("secrets", "rekey")
        self.assertEqual(done.returncode, 1, done)
        self.assertNotIn("run again", done.stderr)
        self.assertNotIn("secrets init", done.stderr)
        return done.stderr

    def test_a_new_file(self):
        """'secrets init' makes it, and says which secrets it does not open."""
        self.remove()
        self.addCleanup(os.remove, self.key_file)
        done = self.stack.ctl_run("secrets", "init", check=True)
        self.assertEqual((done.stdout, done.stderr),
                         (self.key_file + "\n", "aditctl: note: %s\n" % self.lost(3)))

    def test_another_file(self):
        """A restored database on a machine where 'secrets init' made a new key."""
        self.write("other %s\n" % ("5a" * 32))
        said = self.doctor()
        self.assertRegex(said, "trouble +sealed +" + self.lost(3))
        self.assertNotRegex(said, "secrets (init|rekey)")
        self.assertIn(self.lost(3), self.rekey())

    def test_no_file(self):
        self.remove()
        said = self.doctor()
        self.assertRegex(said, "trouble +secrets +%s: there is no such file" % self.key_file)
        self.assertRegex(said, "trouble +sealed +" + self.lost(3))
        self.assertNotRegex(said, "secrets (init|rekey)")
        said = self.rekey()
        self.assertIn(self.lost(3), said)
        self.assertIn(self.key_file + ": there is no such file", said)

    def test_some_lost(self):
        """Secrets under an existing key can be rekeyed.  Secrets under a lost key cannot."""
        self.stack.psql("UPDATE adit.oauth_module SET client_secret_key_id = 'gone'"
                        " WHERE route_id = 'r1'")
        self.write("other %s\n%s" % ("5a" * 32, self.keys))
        said = self.doctor()
        self.assertRegex(said, "trouble +sealed +" + self.lost(1, "gone"))
        self.assertRegex(said, "note +sealed +2 secrets are still sealed under an old key; run: aditctl"
                         " secrets rekey\n")
        done = self.stack.ctl_run("secrets", "rekey")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "2 secrets sealed under key other\n"), done)
        self.assertIn(self.lost(1, "gone"), done.stderr)
        self.assertNotIn("run again", done.stderr)

    def test_each_lost_key_is_named(self):
        for n in range(3):
            self.stack.psql("UPDATE adit.oauth_module SET client_secret_key_id = E'gone-\\x07%d'"
                            " WHERE route_id = 'r%d'" % (n, n))
        said = self.doctor()
        for n in range(3):
            self.assertIn(self.lost(1, "gone-?%d" % n), said)

    def test_more_keys_than_rows(self):
        self.stack.psql(
            "CREATE TABLE public.copies AS SELECT m.* FROM adit.oauth_module AS m,"
            " generate_series(1, 70) AS i WHERE m.route_id = 'r0';"
            "UPDATE public.copies SET route_id = translate(ctid::text, '(,)', 'x.'),"
            " client_secret_key_id = 'gone-' || ctid;"
            "INSERT INTO adit.oauth_module SELECT * FROM public.copies; DROP TABLE public.copies")
        said = self.doctor()
        lines = [line for line in said.splitlines() if line.startswith("trouble  sealed ")]
        self.assertEqual(len(lines), 64, said)
        self.assertEqual(sum(int(line.split()[2]) for line in lines), 70)
        self.assertEqual(said.count("trouble  opened "), 20)
        self.assertIn("note     opened    70 of 73 secrets cannot be opened (at most 20 are named)", said)

    def test_nothing_sealed(self):
        """A new installation has nothing to restore."""
        self.clear()
        self.remove()
        self.assertRegex(self.doctor(), "note +sealed +no secret is sealed; .*aditctl secrets init")
        done = self.stack.ctl_run("secrets", "rekey")
        self.assertEqual(done.returncode, 1)
        self.assertIn("aditctl secrets init", done.stderr)

    def test_no_database(self):
        """Without the database, doctor cannot know whether a key must be restored."""
        conf = os.path.join(self.stack.folder, "lost.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write("[database]\nconninfo = host=/nonexistent\n")
        said = self.stack.ctl_run("doctor", conf=conf).stdout
        self.assertRegex(said, "note +sealed +not checked: first mend the database and its schema; if"
                         " secrets are sealed, restore the key file from your copy")
        self.assertNotIn("secrets init", said)
