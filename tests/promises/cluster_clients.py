# SPDX-License-Identifier: MIT
"""Clients of a cluster that read, ask for decisions and follow the changes while a part fails."""
import collections
import contextlib
import secrets
import shutil
import subprocess
import tempfile
import threading
import time

from adit import samples
from adit.client import Client
from adit.patroni import ADDRESSES, HOSTS
from adit.ssh_gateway import SSH, Key

# No command runs: the gateway permits no sessions.  What counts is whether the key logs in.
LOGIN = (*(word for word in SSH if word != "-N"), "-o", "ConnectTimeout=5", "-o",
         "IdentitiesOnly=yes")
CONNINFO = ("host=adit-database hostaddr=127.0.0.1 dbname=adit user=adit-gateway sslmode=verify-full "
            "sslrootcert=/etc/adit/database-ca.pem passfile=/etc/adit/gateway.pgpass "
            "connect_timeout=3")


class Background:
    """Threads that repeat work() until the block ends."""

    def __init__(self, n=1):
        self.is_over = threading.Event()
        self._threads = [threading.Thread(target=self._repeat) for _ in range(n)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self):
        while not self.is_over.is_set():
            self.work()

    def work(self):
        raise NotImplementedError


class Readers(Background):
    """Clients that together GET one resource 100 times a second."""

    def __init__(self, cluster):
        super().__init__(10)
        self.client = cluster.client(cluster.home.admin.key)
        self.path = "/ssh_credentials/" + self.client.post(
            "/ssh_credentials", samples.credential()).json["id"]
        self.answers = []  # (when it was asked, seconds, its body or what went wrong; None: 200)

    def work(self):
        begin = time.monotonic()
        try:
            answer = self.client.get(self.path)
            said = None if answer.status == 200 else answer.body
        except (OSError, AssertionError) as error:
            said = repr(error)
        self.answers.append((begin, time.monotonic() - begin, said))
        self.is_over.wait(0.1)

    def bad(self):
        return [answer for answer in self.answers if answer[2] is not None]


class Deciders(Background):
    """Stores a key, deletes it, and asks all who decide about it: the gateway of each web host, and
    POST /ssh_decisions of each web host and of the balancer.  Once the DELETE is acknowledged, nobody
    may permit the key."""

    def __init__(self, cluster):
        super().__init__()
        self.cluster = cluster
        self.client = cluster.client(cluster.home.admin.key)
        self.n_revoked, self.wrong = 0, []
        self.permits = collections.defaultdict(list)  # decider -> when it permitted a key
        self._folder = tempfile.mkdtemp(prefix="adit-deciders-")
        self._deciders = {"balancer": self.client.post}
        for name in HOSTS:
            self._deciders[name] = Client(ADDRESSES[name], 880, self.client.key).post

    def __exit__(self, *_):
        super().__exit__()
        shutil.rmtree(self._folder)

    def _ask(self, key):
        """Returns the deciders that permit the key."""
        found = []
        for name, post in self._deciders.items():
            with contextlib.suppress(OSError, AssertionError):
                answer = post("/ssh_decisions", {"public_key": key.public})
                if answer.status == 200 and answer.json["permitted"]:
                    found.append(name)
        for name in HOSTS:
            with contextlib.suppress(subprocess.TimeoutExpired):
                said = subprocess.run(
                    [*LOGIN, "-i", key.path, "tunnel@" + ADDRESSES[name], "true"], timeout=10,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    check=False).stderr
                if b"Authenticated to" in said:
                    found.append("gateway of " + name)
        return found

    def _insist(self, send, statuses):
        """Repeats a request until it is acknowledged or the test is over."""
        while not self.is_over.wait(0.05):
            with contextlib.suppress(OSError, AssertionError):
                answer = send()
                if answer.status in statuses:
                    return answer
        return None

    def work(self):
        key = Key(self._folder, secrets.token_hex(8))
        more = [("Idempotency-Key", '"%s"' % secrets.token_hex(8))]
        stored = self._insist(lambda: self.client.post(
            "/ssh_credentials", samples.credential(public_key=key.public), more=more), (201,))
        if stored:
            for name in self._ask(key):
                self.permits[name].append(time.monotonic())
            if self._insist(lambda: self.client.delete("/ssh_credentials/" + stored.json["id"]),
                            (204, 404)):
                self.n_revoked += 1
                self.wrong += self._ask(key)

    def back_after(self, moment):
        """Seconds until the last decider permitted a stored key again."""
        return max(min((at - moment for at in self.permits[name] if at > moment),
                       default=float("inf"))
                   for name in (*self._deciders, *("gateway of " + name for name in HOSTS)))


class Follower(Background):
    """A gateway of its own on a web host: it reads the identifiers of all credentials, and follows
    adit.changes().  After a lost connection it begins anew."""

    def __init__(self, cluster, host):
        super().__init__()
        self.cluster, self.host = cluster, host
        self.known = set()
        self.is_done = False

    def _repeat(self):
        # A last poll after the end sees all that was written until then.
        while not self.is_done:
            self.work()

    def work(self):
        command = self.cluster.machines[self.host].command(
            "runuser", "-u", "adit-gateway", "--", "timeout", "120", "psql", "-XqAt", "-F", " ",
            "-v", "ON_ERROR_STOP=1", CONNINFO)
        with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as psql:
            with contextlib.suppress(BrokenPipeError, EOFError):
                self._follow(psql)
            psql.kill()
        self.is_over.wait(0.3)

    @staticmethod
    def _rows(psql, sql):
        psql.stdin.write(sql + ";\n\\echo end\n")
        psql.stdin.flush()
        rows = []
        while (line := psql.stdout.readline()) != "end\n":
            if not line:
                raise EOFError
            rows.append(line.split())
        return rows

    def _follow(self, psql):
        [[snapshot, *_]] = self._rows(psql, "SELECT snapshot FROM adit.changes(NULL)")
        self.known = {row[0] for row in self._rows(psql, "SELECT id FROM adit.ssh_credential")}
        while True:
            is_last = self.is_over.is_set()
            rows = self._rows(psql, "SELECT snapshot, resource, event FROM adit.changes('%s')"
                              % snapshot)
            snapshot = rows[0][0]
            for _, ident, event in (row for row in rows if len(row) == 3):
                if event.startswith("ssh_credential_"):
                    self._read_again(psql, ident)
            if is_last:
                self.is_done = True
                return
            time.sleep(0.1)

    def _read_again(self, psql, ident):
        found = self._rows(psql, "SELECT 1 FROM adit.ssh_credential WHERE id = '%s'" % ident)
        (self.known.add if found else self.known.discard)(ident)

    def differs(self):
        """Identifiers that it believes wrongly to be there, or to be gone."""
        return self.known ^ set(self.cluster.psql("SELECT id FROM adit.ssh_credential").split())
