# SPDX-License-Identifier: MIT
"""Sealing all client secrets anew, and the fate of secrets that were moved or altered."""
import os
import pwd
import re
import threading

from adit.case import Case

SECRET = "hush, says the test number %d"


def path(n):
    return "/edges/https/rekeyed/routes/r%d/oauth" % n


def body(n):
    return {"provider": {"provider_c": {"client_id": "app", "client_secret": SECRET % n}}}


class Rekey(Case):
    stack_name = "rekey"

    def key_file(self):
        return os.path.join(self.stack.state, "adit.key")

    def key_ids(self):
        with open(self.key_file(), encoding="utf-8") as file:
            return [line.split()[0] for line in file if line.strip()]

    def keep_first_key(self):
        with open(self.key_file(), encoding="utf-8") as file:
            first = file.readline()
        with open(self.key_file(), "w", encoding="utf-8") as file:
            file.write(first)
        self.stack.restart()

    def used_keys(self):
        return self.stack.psql("SELECT DISTINCT client_secret_key_id FROM adit.oauth_module"
                               " WHERE client_secret_sealed IS NOT NULL").split()

    def secret(self, n):
        answer = self.admin.get(path(n))
        self.assert_ok(answer)
        return answer.json["provider"]["provider_c"]["client_secret"]

    def test_while_requests_run(self):
        count = 250
        for n in range(count):
            self.assert_ok(self.admin.put(path(n), body(n)))
        tags = {n: self.admin.get(path(n)).header("ETag") for n in range(0, count, 10)}
        stop = threading.Event()
        faults = []

        def work(first):
            n = first
            while not stop.is_set():
                try:
                    answer = self.admin.put(path(n), body(n)) if n % 10 == 1 else None
                    if answer:
                        self.assert_ok(answer)
                    self.assertEqual(self.secret(n), SECRET % n)
                except AssertionError as error:
                    faults.append(str(error))
                n = (n + 7) % count
        threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        try:
            before = os.stat(self.key_file())
            old = self.key_ids()
            self.assertEqual(self.stack.ctl("secrets", "add-key"), self.key_file())
            after = os.stat(self.key_file())
            self.assertEqual((before.st_mode, before.st_uid, before.st_gid),
                             (after.st_mode, after.st_uid, after.st_gid))
            new = self.key_ids()
            self.assertEqual(new[1:], old)
            for _ in range(20):
                done = self.stack.ctl_run("secrets", "rekey")
                if done.returncode == 0:
                    break
                self.assertRegex(done.stderr, r"\d+ secrets? (is|are) still sealed under an old key; give every"
                                 " responder the new key file, then run again: aditctl secrets rekey")
            self.assertRegex(done.stdout, "secrets? sealed under key " + new[0])
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(faults, [])
        self.stack.ctl_run("secrets", "rekey", check=True)
        self.assertEqual(self.used_keys(), [new[0]])
        for n in range(count):
            self.assertEqual(self.secret(n), SECRET % n)
        # Callers see no change.  The audit record shows the rekeying, and who did it.
        for n, tag in tags.items():
            self.assertEqual(self.admin.get(path(n)).header("ETag"), tag)
        me = pwd.getpwuid(os.geteuid()).pw_name
        self.assertRegex(self.stack.psql("SELECT DISTINCT operator FROM adit.audit"
                                         " WHERE event = 'oauth_module_rekeyed'"),
                         "^%s( \\(sudo by .+\\))?$" % re.escape(me))
        # Nothing needs the old key any more.
        self.keep_first_key()
        self.assertEqual(self.secret(3), SECRET % 3)
        self.assert_ok(self.admin.put(path(0), body(0)))

    def test_what_was_moved_or_altered(self):
        for n in 900, 901:
            self.assert_ok(self.admin.put(path(n), body(n)))
        self.assert_ok(self.admin.put(path(902), {"provider": {"provider_d": {
            "client_id": "app", "client_secret": "another"}}}))
        stranger = self.stack.account()
        other = self.stack.client(stranger.admin.key)
        self.assert_ok(other.put(path(900), body(900)))
        row = "UPDATE adit.oauth_module AS m SET %s FROM adit.oauth_module AS o WHERE"
        mine = " m.account_id = '%s' AND m.route_id = 'r900'" % self.home.id
        sealed = "client_secret_sealed = o.client_secret_sealed"
        flip = "client_secret_sealed = set_byte(m.client_secret_sealed, %d," \
            " get_byte(m.client_secret_sealed, %d) # 1)"
        from_other = " AND o.account_id = '%s' AND o.route_id = 'r900'" % stranger.id
        same = " AND o.account_id = m.account_id AND o.route_id = "
        length = 28 + len(SECRET % 900)
        for name, sql in [
                ("another row", row % sealed + mine + same + "'r901'"),
                ("another provider's", row % sealed + mine + same + "'r902'"),
                ("another account", row % sealed + mine + from_other),
                ("provider changed", row % "provider = 4" + mine + same + "'r900'"),
                ("unknown key id", row % "client_secret_key_id = 'none'" + mine + same + "'r900'"),
                ("cut", row % "client_secret_sealed = substr(m.client_secret_sealed, 1, 29)"
                 + mine + same + "'r900'"),
                ("first byte cut", row % "client_secret_sealed = substr(m.client_secret_sealed, 2)"
                 + mine + same + "'r900'")] + [
                ("bit of byte %d" % at, row % (flip % (at, at)) + mine + same + "'r900'")
                for at in (0, 11, 12, length - 17, length - 16, length - 1)]:
            with self.subTest(name):
                self.assert_ok(self.admin.put(path(900), body(900)))
                self.assertEqual(self.secret(900), SECRET % 900)
                self.stack.psql(sql)
                answer = self.admin.get(path(900))
                self.assert_error(answer, 9036)
                self.assertNotIn(b"hush", answer.body)
        self.assertEqual(self.secret(901), SECRET % 901)
        # A damaged secret does not stop the rekeying of the others, and rekey names it.
        self.stack.ctl("secrets", "add-key")
        done = self.stack.ctl_run("doctor")
        self.assertRegex(done.stdout, r"note +sealed +\d{2,} secrets are still sealed under an old key;"
                         " run: aditctl secrets rekey")
        # Its key is there, and does not open it.
        [line] = [line for line in done.stdout.splitlines() if line.startswith("trouble")]
        self.assertRegex(line, "^trouble +opened +account %s, edge rekeyed, route r900: secrets: .* was not"
                         " sealed for this row under key" % self.home.id)
        self.assertRegex(done.stdout, r"note +opened +1 of \d+ secrets cannot be opened")
        self.assertNotIn("hush", done.stdout + done.stderr)
        done = self.stack.ctl_run("secrets", "rekey")
        self.assertEqual(done.returncode, 1)
        self.assertIn("edge rekeyed, route r900: ", done.stderr)
        self.assertIn("1 secret is damaged; PUT the modules named above again, with client_secret", done.stderr)
        self.assertNotIn("run again", done.stderr)
        self.assertNotIn("hush", done.stderr + done.stdout)
        self.assert_ok(self.admin.put(path(900), body(900)))
        self.assertEqual(self.stack.ctl_run("secrets", "rekey").returncode, 0)
        self.assertRegex(self.stack.ctl("doctor"), "ok +sealed +every secret is sealed under the first key")

    def test_another_role(self):
        """The record of changes would take what it seals for new secrets, so it seals none."""
        self.assert_ok(self.admin.put(path(905), body(905)))
        self.stack.psql("CREATE ROLE sealer LOGIN IN ROLE adit_responder")
        self.addCleanup(self.stack.psql, "DROP ROLE sealer")
        conf = os.path.join(os.path.dirname(self.stack.conf_path), "sealer.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(re.sub("(?m)^admin_conninfo *=.*$", "admin_conninfo = user=sealer",
                              self.stack.read_conf()))
        self.stack.ctl("secrets", "add-key")
        before = self.stack.dump()
        done = self.stack.ctl_run("secrets", "rekey", conf=conf, env=self.stack.pg_env("sealer"))
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("nothing was changed: this must connect as the owner of the tables", done.stderr)
        self.assertIn("admin_conninfo", done.stderr)
        self.assertEqual(self.stack.dump(), before)
        self.stack.psql("GRANT postgres TO sealer")  # who may then act as the owner
        done = self.stack.ctl_run("secrets", "rekey", conf=conf, env=self.stack.pg_env("sealer"))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_among_many(self):
        """Many modules come before the only secret to rekey.  Each statement must read a limited
        number of them: a row-level policy counts."""
        self.assert_ok(self.admin.put(path(999), body(999)))
        self.stack.psql(
            "INSERT INTO adit.oauth_module (account_id, edge_id, route_id, enabled,"
            " options_passthrough, inactivity_timeout, maximum_duration, auth_check_interval)"
            " SELECT '%s', 'many', 'r' || i, true, false, 0, 0, 0"
            " FROM generate_series(1, 25000) AS i;"
            "ANALYZE adit.oauth_module;"
            "CREATE FUNCTION public.look() RETURNS boolean LANGUAGE plpgsql COST 0.000001 AS $$"
            "DECLARE n integer := 1 + coalesce(nullif(current_setting('test.n', true), ''), '0')"
            "::integer; BEGIN PERFORM set_config('test.n', n::text, true);"
            " IF n > 12000 THEN RAISE 'looks at too many'; END IF; RETURN true; END$$;"
            "CREATE POLICY look ON adit.oauth_module USING (public.look());"
            "ALTER TABLE adit.oauth_module ENABLE ROW LEVEL SECURITY" % self.home.id)
        try:
            self.stack.ctl("secrets", "add-key")
            self.assertRegex(self.stack.ctl("doctor"), "note +sealed +[1-9]")
            self.stack.ctl_run("secrets", "rekey", check=True)
        finally:
            self.stack.psql("ALTER TABLE adit.oauth_module DISABLE ROW LEVEL SECURITY;"
                            "DROP FUNCTION public.look CASCADE;"
                            "DELETE FROM adit.oauth_module WHERE edge_id = 'many'")
        self.assertEqual(self.used_keys(), self.key_ids()[:1])
        self.assertEqual(self.secret(999), SECRET % 999)

    def test_a_new_key_seals_at_once(self):
        """Every worker seals under the new key at once, even one that has not read a secret under
        it.  A secret under the old key would be lost with that key."""
        for n in range(920, 940):
            self.assert_ok(self.admin.put(path(n), body(n)))
        self.stack.ctl("secrets", "add-key")
        self.assertEqual(self.stack.ctl_run("secrets", "rekey").returncode, 0)
        for n in range(920, 960):
            self.assert_ok(self.admin.put(path(n), body(n)))
        self.assertEqual(self.used_keys(), self.key_ids()[:1])
        self.keep_first_key()
        self.assertEqual(self.secret(959), SECRET % 959)

    def refuses_to_seal(self, cause):
        """Workers open secrets with the keys that they have.  They do not seal, because they cannot
        know which key is still in the file."""
        before = self.stack.dump()
        self.assert_error(self.admin.put(path(911), body(912)), 9042)
        self.assertEqual(self.stack.dump(), before)
        self.assertIn(cause.encode(), b"".join(self.stack.logs().values()))
        self.assertEqual(self.secret(911), SECRET % 911)
        self.refuses_callers_first()

    def refuses_callers_first(self):
        """Whether the key may write is asked before whether the secret can be sealed, also in lanes
        that have seen the key."""
        revoked = self.stack.client(self.home.admin.issue())
        for client in (self.reader, revoked):
            for _ in range(2 * self.stack.n_at_once()):
                self.assert_ok(client.get(path(911)))
        self.stack.psql("UPDATE adit.api_key SET revoked_at = now()"
                        " WHERE digest = sha256('%s'::bytea)" % revoked.key)
        for _ in range(2 * self.stack.n_at_once()):
            self.assert_error(self.reader.put(path(911), body(911)), 9005)
            self.assert_error(revoked.put(path(911), body(911)), 203)

    def test_a_leftover_of_a_new_key_file(self):
        """What a killed aditctl left."""
        leftover = self.key_file() + ".new"
        with open(leftover, "x", encoding="ascii"):
            done = self.stack.ctl_run("secrets", "add-key")
        self.assertEqual(done.returncode, 1)
        self.assertIn("File exists; unless another aditctl runs just now, delete that file",
                      done.stderr)
        os.unlink(leftover)
        self.stack.ctl("secrets", "add-key")
        self.assertEqual(self.stack.ctl_run("secrets", "rekey").returncode, 0)
        self.keep_first_key()

    def test_key_file_missing_or_full(self):
        key_file = self.key_file()
        self.assert_ok(self.admin.put(path(911), body(911)))
        self.stack.restart()  # so that each worker has the key that sealed it
        os.rename(key_file, key_file + ".away")
        try:
            for command in ("rekey", "add-key"):
                done = self.stack.ctl_run("secrets", command)
                self.assertEqual(done.returncode, 1)
                self.assertIn("there is no such file", done.stderr)
            self.refuses_to_seal("there is no such file")
            with open(key_file, "w", encoding="ascii") as file:
                file.write("nonsense\n")
            self.refuses_to_seal("others may read or write it")
        finally:
            os.rename(key_file + ".away", key_file)
        self.assert_ok(self.admin.put(path(910), body(910)))
        self.assertEqual(self.secret(910), SECRET % 910)
        while len(self.key_ids()) < 16:
            self.stack.ctl("secrets", "add-key")
        done = self.stack.ctl_run("secrets", "add-key")
        self.assertEqual(done.returncode, 1)
        self.assertIn("contains 16 keys", done.stderr)
        self.assertEqual(self.stack.ctl_run("secrets", "rekey").returncode, 0)
        self.keep_first_key()
        self.assertEqual(self.secret(910), SECRET % 910)
