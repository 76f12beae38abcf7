# SPDX-License-Identifier: MIT
"""Migrations to a later schema, under a responder that serves and behind sessions that hold locks.
Also the schema itself, and the errors for a server and for a schema that are too old."""
import os
import re
import socket
import subprocess
import threading
import time

from adit import newer, samples, stack
from adit.case import DEADLINE_S, Case, until

GOLDEN = os.path.join(stack.ROOT, "tests", "cases", "schema.golden")
TABLES = "adit.account, adit.principal, adit.api_key, adit.ssh_credential, adit.oauth_module"

# The migration makes a request wait for at most 1 s.  The request then gets its answer.  The rest is a
# busy machine.  A request that waits for the lock's holder fails after 4 s.
SLOWEST_S = 3.5


class MigrateCase(Case):
    """The database has the schema of this tree, and there is an aditctl of a later one."""

    stack_name = "migrate"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = stack.make_folder()
        cls.addClassCleanup(stack.run, ["rm", "-r", cls.folder])
        cls.newer = newer.make_aditctl(cls.folder)
        cls.addClassCleanup(cls.begin)
        cls.begin()
        cls.account = cls.stack.account()
        cls.client = cls.stack.client(cls.account.admin.key)

    @classmethod
    def begin(cls):
        cls.stack.psql("DROP SCHEMA adit CASCADE")
        cls.stack.ctl("migrate")

    def migrate(self, *arguments, **how):
        return stack.run([self.newer, "-c", self.stack.conf_path, "migrate", *arguments], check=False,
                         **how)

    def version(self):
        return int(self.stack.psql("SELECT max(version) FROM adit.migration"))

    def hold(self):
        """Holds locks like pg_dump on the tables that it reads.  Returns the psql, which ends when
        its input is closed."""
        psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True,
                                env=dict(self.stack.pg_env(), PGAPPNAME="pg_dump"))
        self.addCleanup(self.end, psql)
        psql.stdin.write("BEGIN; LOCK TABLE %s IN ACCESS SHARE MODE;\n\\echo held\n" % TABLES)
        psql.stdin.flush()
        self.assertEqual(psql.stdout.readline(), "held\n")
        return psql

    def end(self, psql):
        psql.stdin.close()
        psql.wait(60)
        psql.stdout.close()


class Behind(MigrateCase):
    def work(self, stop, n, answers):
        path = "/edges/https/migrated/routes/r%d/oauth" % n
        while not stop.is_set():
            for ask in (lambda: self.client.get("/ssh_credentials"),
                        lambda: self.client.put(path, {"enabled": False}),
                        lambda: self.client.post("/ssh_credentials", samples.credential())):
                started = time.monotonic()
                answer = ask()
                answers.append((time.monotonic() - started, answer.status))
            time.sleep(0.02)

    def test_locks_of_others(self):
        """Requests get answers while the migration waits.  It finishes soon after the lock is
        gone."""
        dump = self.hold()
        stop, answers = threading.Event(), []
        workers = [threading.Thread(target=self.work, args=(stop, n, answers)) for n in range(4)]
        for worker in workers:
            worker.start()
        migrate = subprocess.Popen([self.newer, "-c", self.stack.conf_path, "migrate"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=stack.CLEAN_ENV)
        try:
            time.sleep(6.5)
            until(lambda: len(answers) > 100, "answers")
            self.assertIsNone(migrate.poll())
            self.assertEqual(self.version(), newer.latest())
            meanwhile = list(answers)
            self.end(dump)
            said, complained = migrate.communicate(timeout=60)
        finally:
            stop.set()
            for worker in workers:
                worker.join()
        self.assertEqual({status for _, status in meanwhile} - {200, 201, 503}, set())
        # If the machine stalls at the wrong time, one answer of each client is late or a 503.  A
        # migration that kept its place in the queue would do that to each of them three times.
        bad = [row for row in meanwhile if row[0] >= SLOWEST_S or row[1] == 503]
        self.assertLessEqual(len(bad), len(workers), bad)
        # Later ones wait for the migration itself.  On a busy machine, that may be too long for them.
        self.assertEqual({status for _, status in answers} - {200, 201, 503}, set())
        self.assertEqual(migrate.returncode, 0, complained)
        self.assertIn("applied " + newer.NAME, said)
        self.assertRegex(complained, r"aditctl: waiting for a lock on the tables, probably held by"
                         r" process \d+ \(pg_dump\) of postgres, in a transaction since \d\d:\d\d:\d\d UTC\n")


class GivesUp(MigrateCase):
    def test_patience(self):
        self.hold()
        # Without the option it waits for minutes, and this call fails before.
        done = self.migrate("--wait", "1s", timeout=DEADLINE_S)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"nothing was changed: another session held a lock for too"
                         r" long, probably process \d+ \(pg_dump\) of postgres")
        self.assertEqual(self.version(), newer.latest())

    def test_no_time(self):
        for value in "x", "5", "":
            self.assertEqual(self.stack.ctl_run("migrate", "--wait", value).returncode, 2)


# What a person reviews when the schema changes, as a line each.
SHAPE = """
SELECT * FROM (WITH c AS (SELECT c.oid, c.relname AS name, c.relkind FROM pg_class AS c
           WHERE c.relnamespace = 'adit'::regnamespace AND c.relkind IN ('r', 'v'))
SELECT 'column ' || c.name || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
    || CASE WHEN a.attcollation = '"C"'::regcollation THEN ' collate "C"' ELSE '' END
    || CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END
    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
FROM c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
UNION ALL
SELECT 'constraint ' || c.name || ' ' || k.conname || ' '
    || regexp_replace(pg_get_constraintdef(k.oid), '\s+', ' ', 'g')
FROM c JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f', 'c')
UNION ALL
SELECT 'domain ' || d.typname || ' ' || format_type(d.typbasetype, d.typtypmod)
    || CASE WHEN d.typcollation = '"C"'::regcollation THEN ' collate "C" ' ELSE ' ' END || k.conname || ' '
    || regexp_replace(pg_get_constraintdef(k.oid), '\s+', ' ', 'g')
FROM pg_type AS d JOIN pg_constraint AS k ON k.contypid = d.oid WHERE d.typnamespace = 'adit'::regnamespace
UNION ALL
SELECT 'index ' || pg_get_indexdef(i.indexrelid) FROM c JOIN pg_index AS i ON i.indrelid = c.oid
UNION ALL
SELECT 'trigger ' || pg_get_triggerdef(t.oid) FROM c JOIN pg_trigger AS t ON t.tgrelid = c.oid
WHERE NOT t.tgisinternal
UNION ALL
SELECT 'function ' || p.oid::regprocedure || ' ' || pg_get_function_result(p.oid) || ' ' || p.provolatile::text
    || CASE WHEN p.prosecdef THEN ' security definer' ELSE '' END
    || coalesce(' ' || p.proconfig::text, '') || CASE WHEN p.prosqlbody IS NULL THEN ' ' || md5(p.prosrc) ELSE '' END
FROM pg_proc AS p WHERE p.pronamespace = 'adit'::regnamespace
UNION ALL
SELECT 'right of ' || r.rolname || ' ' || a.privilege_type || ' ' || c.name
FROM c JOIN pg_class AS k ON k.oid = c.oid CROSS JOIN aclexplode(k.relacl) AS a
JOIN pg_roles AS r ON r.oid = a.grantee WHERE r.rolname ~ '^adit_') AS t (line) ORDER BY line COLLATE "C"
"""


class Result(MigrateCase):
    def schema(self):
        dump = stack.run(["pg_dump", "--schema-only", "--schema=adit"],
                         env=self.stack.pg_env()).stdout
        return re.sub(r"(?m)^\\(un)?restrict .*$", "", dump)

    def test_same_as_from_nothing(self):
        self.stack.psql("DROP SCHEMA adit CASCADE")
        self.assertIn("applied schema.sql\n", self.migrate().stdout)
        wanted = self.schema()
        self.assertIn("ssh_credential_note", wanted)
        self.begin()
        self.assertNotIn("ssh_credential_note", self.schema())
        said = self.migrate().stdout
        self.assertIn("applied %s\n" % newer.NAME, said)
        self.assertNotIn("schema.sql", said)
        self.assertEqual(self.schema(), wanted)

    def test_golden(self):
        """ADIT_GOLDEN=write writes the file anew."""
        self.begin()
        found = self.stack.psql(SHAPE) + "\n"
        if os.environ.get("ADIT_GOLDEN") == "write":
            with open(GOLDEN, "w", encoding="utf-8") as file:
                file.write(found)
        with open(GOLDEN, encoding="utf-8") as file:
            self.assertEqual(found.splitlines(), file.read().splitlines())


class BeforeRelease(MigrateCase):
    """A schema that a version before 0.1.0 made, in many migrations."""

    def setUp(self):
        self.stack.psql("UPDATE adit.migration SET name = '001_initial.sql' WHERE version = 1;"
                        "INSERT INTO adit.migration (version, name) VALUES (19, '019_ended_sessions.sql')")
        self.addCleanup(self.begin)

    def test_named_everywhere(self):
        says = ("of a version of Adit before 0.1.0, which this one does not migrate; the page on upgrades"
                " says how to take over its content")
        done = self.stack.ctl_run("migrate")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("the schema is %s: nothing was changed" % says, done.stderr)
        self.assertRegex(self.stack.ctl_run("doctor").stdout, "trouble +schema +it is " + re.escape(says))
        until(lambda: self.client.get("/readyz").status == 503, "the responder looks")
        self.assertTrue(any(
            b"schema is of a version of Adit before 0.1.0" in text for text in self.stack.logs().values()))


class Newer(MigrateCase):
    """A schema that a later version of Adit has migrated, under the programs of this version."""

    def setUp(self):
        self.latest = self.version()
        self.stack.psql("INSERT INTO adit.migration (version, name) VALUES (%d, 'of_a_later_version')"
                        % (self.latest + 3))
        self.addCleanup(self.stack.psql, "DELETE FROM adit.migration WHERE version > %d"
                        % self.latest)

    def test_migrate(self):
        self.stack.psql("GRANT INSERT ON adit.api_key TO adit_responder")
        self.addCleanup(self.stack.psql, "REVOKE INSERT ON adit.api_key FROM adit_responder")
        done = self.stack.ctl_run("migrate")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("the schema is at version %d and this program knows versions up to %d: nothing"
                      " was changed" % (self.latest + 3, self.latest), done.stderr)
        self.assertIn("restore the backup that was made before the upgrade", done.stderr)
        # An older program must not change the later version's grants.
        self.assertEqual(self.stack.psql(
            "SELECT has_table_privilege('adit_responder', 'adit.api_key', 'INSERT')"), "t")

    def test_doctor(self):
        done = self.stack.ctl_run("doctor")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout, "trouble +schema +version %d is newer than this program, which"
                         " knows versions up to %d; install" % (self.latest + 3, self.latest))
        self.assertNotIn("aditctl migrate", done.stdout)
        self.assertRegex(done.stdout, "ok +writes")


class OldServer(Case):
    """A proxy that changes the server's version, so that aditctl sees PostgreSQL 13."""

    stack_name = "migrate"

    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(os.rmdir, self.folder)
        self.path = os.path.join(self.folder, ".s.PGSQL.5432")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen()
        thread = threading.Thread(target=self.serve)
        thread.start()
        self.addCleanup(os.unlink, self.path)
        self.addCleanup(self.listener.close)
        self.addCleanup(thread.join)
        self.addCleanup(self.listener.shutdown, socket.SHUT_RDWR)
        self.number = self.stack.psql("SHOW server_version_num")

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, socket.socket(socket.AF_UNIX) as server:
                server.connect(os.path.join(self.stack.run_folder,
                                            ".s.PGSQL." + self.stack.env["PGPORT"]))
                upstream = threading.Thread(target=self.copy, args=(client, server))
                upstream.start()
                self.copy(server, client, self.number.encode(), b"130018")
                upstream.join()

    @staticmethod
    def copy(source, target, old=b"", new=b""):
        try:
            while data := source.recv(65536):
                target.sendall(data.replace(old, new) if old else data)
        except OSError:
            pass
        for sock in source, target:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def test_named(self):
        conf = os.path.join(self.stack.folder, "old.conf")
        with open(self.stack.conf_path, encoding="utf-8") as file:
            text = file.read()
        with open(conf, "w", encoding="utf-8") as file:
            file.write(re.sub(r"host=\S+", "host=" + self.folder,
                              re.sub(r"port=\d+", "port=5432", text)))
        done = self.stack.ctl_run("migrate", conf=conf)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("the database is PostgreSQL 13.18; Adit needs 14 or newer", done.stderr)
        done = self.stack.ctl_run("doctor", conf=conf)
        self.assertRegex(done.stdout, "trouble +database +.*PostgreSQL 13.18; Adit needs 14")
        until(lambda: self.stack.ctl_run("doctor").returncode == 0, "doctor accepts the server")
