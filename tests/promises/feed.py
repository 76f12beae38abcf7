# SPDX-License-Identifier: MIT
"""Changes as a feed.

Each reader of adit.changes() gets each change that commits once, whatever order commits have.
Transactions that stay open delay nobody else's changes.  A reader that dies goes on from its last
snapshot."""
import contextlib
import random
import subprocess
import threading
import time

from adit import cluster, stack
from adit.case import until
from promise import PromiseCase, scaled

N_WRITERS = 8
N_TRANSACTIONS = scaled(40, 400)


class Session:
    """A psql that stays open."""

    def __init__(self, env):
        self.process = subprocess.Popen(
            ["psql", "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"], env=env,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def send(self, sql):
        self.process.stdin.write(sql + ";\n\\echo end\n")
        self.process.stdin.flush()

    def ask(self, sql):
        """Returns the rows."""
        self.send(sql)
        rows = []
        while (line := self.process.stdout.readline()) != "end\n":
            if not line:
                raise AssertionError("psql ended: %s" % rows)
            rows.append(line.rstrip("\n").split("\t"))
        return rows

    def kill(self):
        self.process.kill()
        self.close()

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Reader(threading.Thread):
    """Reads changes until stop().  A mortal one dies in the middle of every fifth read, and comes
    back with the snapshot of the read before."""

    def __init__(self, env, pause_s, is_mortal=False):
        super().__init__()
        self.env, self.pause_s, self.is_mortal = env, pause_s, is_mortal
        self.session = Session(env)
        self.snapshot, self.seen, self.n_deaths, self.n_late = None, [], 0, 0
        self.n_incomplete = -1  # the first read begins
        self.error = None
        self.is_stopped = threading.Event()
        self.read()

    def read(self):
        since = "'%s'" % self.snapshot if self.snapshot else "NULL"
        rows = self.session.ask("SELECT snapshot, complete, id FROM adit.changes(%s) ORDER BY id"
                                % since)
        self.snapshot = rows[0][0]
        self.n_incomplete += rows[0][1] != "t"
        ids = [int(row[2]) for row in rows if row[2]]
        self.n_late += sum(bool(self.seen) and ident < max(self.seen) for ident in ids)
        self.seen += ids

    def die(self):
        self.session.send("SELECT count(*) FROM adit.changes('%s')" % self.snapshot)
        self.session.kill()
        self.n_deaths += 1
        time.sleep(random.uniform(0, 0.2))
        self.session = Session(self.env)

    def run(self):
        n = 0
        try:
            while not self.is_stopped.wait(self.pause_s):
                n += 1
                if self.is_mortal and n % 5 == 0:
                    self.die()
                self.read()
        except (AssertionError, OSError) as error:
            self.error = error

    def stop(self):
        """Reads for the last time."""
        self.is_stopped.set()
        self.join()
        if self.error:
            raise self.error
        self.read()

    def close(self):
        self.is_stopped.set()
        if self.is_alive():
            self.join()
        self.session.close()


class Script:
    """The transactions of a writer, and the edges that it changes for good."""

    def __init__(self, account, number):
        self.account, self.number = account, number
        self.lines, self.kept, self.prepared, self.n_edges = [], [], [], 0

    def change(self):
        self.n_edges += 1
        edge = "w%d-%d" % (self.number, self.n_edges)
        self.lines.append("INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
                          " VALUES ('%s', '%s', true);" % (self.account, edge))
        return [edge]

    def savepoint(self):
        self.lines.append("SAVEPOINT s;")
        made = self.change()
        if random.random() < 0.5:
            self.lines.append("RELEASE s;")
            return made
        self.lines.append("ROLLBACK TO s;")
        return []

    def sleep(self):
        if random.random() < 0.6:
            self.lines.append("SELECT pg_sleep(%.4f);" % random.uniform(0, 0.06))

    def end_prepared(self):
        name, made = self.prepared.pop(random.randrange(len(self.prepared)))
        is_kept = random.random() < 0.7
        self.lines.append("%s PREPARED '%s';" % ("COMMIT" if is_kept else "ROLLBACK", name))
        self.kept += made if is_kept else []

    def transaction(self, number):
        made = []
        self.lines.append("BEGIN;")
        for _ in range(random.randint(1, 3)):
            made += random.choice((self.change, self.savepoint))()
            self.sleep()
        end = random.choices(("COMMIT", "ROLLBACK", "PREPARE"), (6, 2, 2))[0]
        if end == "PREPARE":
            self.prepared.append(("w%d-%d" % (self.number, number), made))
            self.lines.append("PREPARE TRANSACTION '%s';" % self.prepared[-1][0])
        else:
            self.lines.append(end + ";")
            self.kept += made if end == "COMMIT" else []
        if len(self.prepared) > 1:
            self.end_prepared()

    def write(self):
        for number in range(N_TRANSACTIONS):
            self.transaction(number)
        while self.prepared:
            self.end_prepared()
        return "\n".join(self.lines)


class Feed(PromiseCase):
    stack_name = "feed"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        server = cluster.attach(shared)
        shared.psql("ALTER SYSTEM SET max_prepared_transactions = %d" % (4 * N_WRITERS))
        server.stop()
        server.start()
        super().setUpClass()

    def hold(self, database, sql):
        """Begins a transaction in a session of its own, and leaves it open."""
        session = Session(dict(self.stack.pg_env(), PGDATABASE=database))
        self.addCleanup(session.close)
        session.ask("BEGIN; " + sql)
        return session

    def start_readers(self):
        env = self.stack.pg_env("feed_reader")
        for pause_s, is_mortal in (0.005, False), (0.1, False), (0.02, True), (0.01, True):
            reader = Reader(env, pause_s, is_mortal)
            self.addCleanup(reader.close)
            yield reader

    def write(self, scripts):
        """Runs all writers at once, each on a session of its own."""
        writers = [subprocess.Popen(
            ["psql", "-X", "-q", "-o", "/dev/null", "-v", "ON_ERROR_STOP=1"],
            env=self.stack.pg_env(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in scripts]
        threads = [threading.Thread(target=lambda writer=writer, script=script: setattr(
            writer, "said", writer.communicate(script.write())[1]))
            for writer, script in zip(writers, scripts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for writer in writers:
            self.assertEqual(writer.returncode, 0, writer.said)

    def events(self, base):
        """The numbers and resources of the table's events."""
        rows = self.stack.psql("SELECT id, resource FROM adit.audit_event WHERE id > %s ORDER BY id"
                               % base).splitlines()
        return {int(ident): resource for ident, resource in (row.split("|") for row in rows)}

    def test_once_for_each_reader(self):
        """8 writers commit, prepare and roll back out of order, beside transactions held open in
        this database and in another, while two of four readers die"""
        self.stack.psql("CREATE ROLE feed_reader LOGIN IN ROLE adit_gateway")
        base = self.stack.psql("SELECT coalesce(max(id), 0) FROM adit.audit_event")
        account = self.home.id
        self.hold("postgres", "SELECT pg_current_xact_id()")
        held = self.hold("adit", "INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
                         " VALUES ('%s', 'held', true)" % account)
        readers = list(self.start_readers())
        for reader in readers:
            reader.start()
        scripts = [Script(account, number) for number in range(N_WRITERS)]
        self.write(scripts)
        until(lambda: sum(reader.n_deaths for reader in readers) >= scaled(10, 50) or
              any(reader.error for reader in readers), "the deaths of readers")
        for reader in readers:
            reader.stop()
        self.judge_waiting(readers, self.events(base))
        held.ask("COMMIT")
        for reader in readers:
            reader.read()
            reader.read()
        events = self.events(base)
        wanted = {"held"}.union(*(script.kept for script in scripts))
        self.assertEqual(sorted(events.values()), sorted(wanted))
        self.judge(readers, events)

    def judge_waiting(self, readers, events):
        self.figure("events that waited for an open transaction",
                    sum(len(set(events) - set(reader.seen)) for reader in readers), exactly=0)

    def judge(self, readers, events):
        self.figure("events", len(events), at_least=N_WRITERS * N_TRANSACTIONS // 2)
        self.figure("events read behind a later one", readers[0].n_late, at_least=scaled(20, 200))
        self.figure("deaths of readers", sum(reader.n_deaths for reader in readers),
                    at_least=scaled(10, 50))
        self.figure("events that a reader missed",
                    sum(len(set(events) - set(reader.seen)) for reader in readers), exactly=0)
        self.figure("events that a reader got twice",
                    sum(len(reader.seen) - len(set(reader.seen)) for reader in readers), exactly=0)
        self.figure("events of rollbacks",
                    sum(len(set(reader.seen) - set(events)) for reader in readers), exactly=0)
        self.figure("reads that told a reader to begin anew",
                    sum(reader.n_incomplete for reader in readers), exactly=0)
