# SPDX-License-Identifier: MIT
"""Sealed secrets.

A client secret decrypts only in its own row, and only if it was not altered.  Only answers to
callers with the right to read it have it in the clear."""
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading

from adit import fastcgi, stack
from adit.case import until
from adit.programs import Responder, as_service, variables
from promise import PromiseCase, scaled

EDGE = "sealed"
SERVER_LOG = {"log_min_messages": "debug5", "log_statement": "all", "log_duration": "on",
              "log_min_error_statement": "debug5", "log_error_verbosity": "verbose",
              "log_parameter_max_length": "-1", "log_parameter_max_length_on_error": "-1",
              "debug_print_parse": "on", "debug_print_rewritten": "on", "debug_print_plan": "on"}


def path(route):
    return "/edges/https/%s/routes/%s/oauth" % (EDGE, route)


def comm(pid):
    with open("/proc/%d/comm" % pid, "rb") as file:
        return file.read()


class SecretsCase(PromiseCase):
    def put(self, route, secret, provider="provider_b", client=None):
        return self.assert_ok((client or self.admin).put(path(route), {"provider": {provider: {
            "client_id": "app", "client_secret": secret}}}))

    def read(self, route):
        found = self.assert_ok(self.admin.get(path(route)))["provider"]
        return next(one["client_secret"] for one in found.values() if one)


class Altered(SecretsCase):
    SECRET = "hush, it is sealed"

    def where(self, route, account=None):
        return "account_id = '%s' AND edge_id = '%s' AND route_id = '%s'" % (
            account or self.home.id, EDGE, route)

    def try_all(self, tries):
        """Applies each change to the row, reads it, and restores the row.  Returns how many reads
        were refused, and how many answers revealed a secret."""
        n_refused = n_shown = 0
        columns = "(client_secret_sealed, client_secret_key_id, provider)"
        kept = self.stack.psql(
            "SELECT format('(%%L::bytea, %%L, %%L::smallint)', client_secret_sealed,"
            " client_secret_key_id, provider) FROM adit.oauth_module WHERE %s" % self.where("r"))
        for change in tries:
            self.stack.psql("UPDATE adit.oauth_module SET %s WHERE %s" % (change, self.where("r")))
            answer = self.admin.get(path("r"))
            n_refused += answer.code == 9036
            n_shown += b"hush" in answer.body or answer.status < 300
            self.stack.psql("UPDATE adit.oauth_module SET %s = %s WHERE %s" % (
                columns, kept, self.where("r")))
        self.assertEqual(self.read("r"), self.SECRET)
        return n_refused, n_shown

    def judge(self, tries):
        n_refused, n_shown = self.try_all(tries)
        self.figure("tries", len(tries), at_least=1)
        self.figure("answers of 9036", n_refused, exactly=len(tries))
        self.figure("answers that reveal a secret", n_shown, exactly=0)

    def test_flipped_bits(self):
        """Each bit of the stored secret is flipped (in the short form, each byte's lowest bit)"""
        self.put("r", self.SECRET)
        n = int(self.stack.psql("SELECT length(client_secret_sealed) FROM adit.oauth_module"
                                " WHERE %s" % self.where("r")))
        self.judge(["client_secret_sealed = set_bit(client_secret_sealed, %d,"
                    " 1 - get_bit(client_secret_sealed, %d))" % (bit, bit)
                    for bit in range(0, 8 * n, scaled(8, 1))])

    def test_moved(self):
        """The stored secret is taken from another row, another provider or another account, is cut
        or extended, or is marked with another key"""
        stranger = self.stack.account("stranger")
        self.put("r", self.SECRET)
        self.put("other", "hush, another row")
        self.put("provider", "hush, another provider", "provider_d")
        self.put("r", "hush, another account", client=self.stack.client(stranger.admin.key))
        from_row = ("client_secret_sealed = (SELECT o.client_secret_sealed FROM adit.oauth_module"
                    " AS o WHERE %s)")
        sealed = "client_secret_sealed = "
        self.judge([from_row % self.where("other"), from_row % self.where("provider"),
                    from_row % self.where("r", stranger.id), "provider = 5",
                    "client_secret_key_id = 'another'",
                    sealed + "substr(client_secret_sealed, 2)",
                    sealed + "substr(client_secret_sealed, 1, length(client_secret_sealed) - 1)",
                    sealed + "substr(client_secret_sealed, 1, 29)",
                    sealed + "client_secret_sealed || '\\x00'"])

    def test_key_file(self):
        """A worker starts without a key file, with one that others may read, and with another
        key"""
        self.put("r", self.SECRET)
        key_file = os.path.join(self.stack.state, "adit.key")
        with open(key_file, encoding="ascii") as file:
            key = file.read()
        owner = os.stat(key_file)
        n_refused = n_named = 0
        for content, mode in ((None, 0), (key, 0o644), ("", 0o640), (key[:40] + "\n", 0o640)):
            os.rename(key_file, key_file + ".away")
            try:
                if content is not None:
                    with open(key_file, "w", encoding="ascii") as file:
                        file.write(content)
                    os.chmod(key_file, mode)
                    os.chown(key_file, owner.st_uid, owner.st_gid)
                done = subprocess.run(
                    [os.path.join(stack.BUILD, "adit.fcgi"), "-c", self.stack.conf_path],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                    check=False, env=stack.CLEAN_ENV)
            finally:
                os.replace(key_file + ".away", key_file)
            n_refused += done.returncode == 1 and "cannot start" in done.stderr
            n_named += key_file in done.stderr and key.split()[1][:16] not in done.stderr
        self.figure("starts refused", n_refused, exactly=4)
        self.figure("messages that name the file but not the key", n_named, exactly=4)
        self.assertEqual(self.read("r"), self.SECRET)


class Rekey(SecretsCase):
    def key_ids(self):
        """The ids of the keys, newest first."""
        with open(os.path.join(self.stack.state, "adit.key"), encoding="ascii") as file:
            return [line.split()[0] for line in file]

    def test_rekey(self):
        """All secrets are sealed under a new key, again and again, while clients read and write
        them"""
        n = scaled(40, 400)
        for i in range(n):
            self.put("k%d" % i, "secret %d" % i)
        done, wrong, counts = threading.Event(), [], [0] * 4

        def work(number):
            i = number
            while not done.is_set():
                i = (i + 7) % n
                try:
                    if i % 5 == 0:
                        self.put("k%d" % i, "secret %d" % i)
                    self.assertEqual(self.read("k%d" % i), "secret %d" % i)
                except AssertionError as fault:
                    wrong.append(str(fault))
                counts[number] += 1
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        before = self.key_ids()
        try:
            for _ in range(scaled(2, 8)):
                self.stack.ctl("secrets", "add-key")
                until(lambda: self.stack.ctl_run("secrets", "rekey").returncode == 0, "a rekey")
            until(lambda: sum(counts) >= 100, "a hundred requests")
        finally:
            done.set()
            for thread in threads:
                thread.join()
        under = self.stack.psql("SELECT string_agg(DISTINCT client_secret_key_id, ' ') FROM"
                                " adit.oauth_module WHERE client_secret_sealed IS NOT NULL").split()
        after = self.key_ids()
        bad = [i for i in range(n) if self.read("k%d" % i) != "secret %d" % i]
        self.figure("new keys", len(after) - len(before), exactly=scaled(2, 8))
        self.figure("requests meanwhile", sum(counts), at_least=100)
        self.figure("wrong answers", len(wrong), exactly=0, why=wrong[:3])
        self.figure("secrets that differ afterwards", len(bad), exactly=0)
        self.figure("secrets not under the newest key",
                    sum(name != after[0] for name in under), exactly=0)


class Nowhere(SecretsCase):
    """PostgreSQL and the responder log as much as they can."""

    stack_name = "nowhere"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.set_conf("log", "level", "debug")
        for name, value in SERVER_LOG.items():
            cls.stack.psql("ALTER SYSTEM SET %s = '%s'" % (name, value))
        cls.stack.restart()

    def memory_of(self, pid):
        """The memory that a core file of the process would contain."""
        found = []
        with open("/proc/%d/maps" % pid, encoding="ascii") as maps, \
                open("/proc/%d/mem" % pid, "rb", buffering=0) as memory:
            for line in maps:
                match = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
                if match and "[v" not in line:
                    begin, end = (int(part, 16) for part in match.groups())
                    try:
                        memory.seek(begin)
                        found.append(memory.read(end - begin))
                    except OSError:
                        continue  # a mapped device cannot be read
        return b"".join(found)

    def test_nowhere(self):
        """Clients use secrets and API keys, some in statements that PostgreSQL refuses and in
        requests that Adit refuses.  Then the test searches the dump, logs, files and memory of
        PostgreSQL for them"""
        issued = [self.home.admin.issue() for _ in range(scaled(2, 10))]
        client_secrets = ["S3cr3t" + secrets.token_hex(12) for _ in range(scaled(5, 50))]
        for i, secret in enumerate(client_secrets):
            client = self.stack.client(issued[i % len(issued)])
            self.put("n%d" % i, secret, client=client)
            for body in ({"client_secret": secret}, {"client_id": "a", "client_secret": secret,
                                                     "scopes": [""]}):
                self.assertEqual(client.put(path("bad"), {"provider": {"provider_a": body}}).status,
                                 400)
        self.stack.psql("ALTER TABLE adit.oauth_module ADD CONSTRAINT refused CHECK (false)"
                        " NOT VALID")
        try:
            for secret in client_secrets:
                answer = self.admin.put(path("refused"), {"provider": {"provider_a": {
                    "client_id": "a", "client_secret": secret}}})
                self.assertEqual(answer.status, 500)
        finally:
            self.stack.psql("ALTER TABLE adit.oauth_module DROP CONSTRAINT refused")
        self.search(client_secrets + issued, [key[5:48] for key in issued])

    def search(self, words, parts):
        backends = [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'adit'").split()]
        places = {"memory of %d" % pid: self.memory_of(pid) for pid in backends}
        # Proves that this is the memory that runs the statements.
        for name, text in places.items():
            self.assertIn(b"oauth_module", text, name)
        self.stack.psql("CHECKPOINT")
        places["the dump"] = self.stack.dump(whole=True).encode()
        places.update((name, text) for name, text in self.stack.logs().items())
        for folder, _, names in os.walk(os.path.join(self.stack.state, "data")):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        places[os.path.join(folder, name)] = file.read()
                except FileNotFoundError:
                    continue  # the server removed it
        log = b"".join(self.stack.logs().values())
        self.assertIn(b"client_secret_sealed", log, "PostgreSQL's log shows statements")
        found = []
        for word in words + parts:
            for shown in (word.encode(), word.encode().hex().encode()):
                found += [(name, word[:10]) for name, text in places.items() if shown in text]
        self.figure("words searched for", len(words + parts), at_least=9)
        self.figure("lines of PostgreSQL's log", log.count(b"LOG:") + log.count(b"DEBUG:"),
                    at_least=1000)
        self.figure("backends whose memory was searched", len(backends), at_least=1)
        self.figure("files and dumps searched", len(places) - len(backends), at_least=100)
        self.figure("places with a secret", len(found), exactly=0, why=found[:5])


class Cores(SecretsCase):
    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o777)

    def allow_cores(self, command):
        """Returns the command, run in a folder where it may write core files."""
        return ["/bin/sh", "-c", 'ulimit -c "$(ulimit -H -c)"; cd "$0" && exec "$@"', self.folder,
                *as_service(command)]

    def n_ended(self, responder):
        """How many workers ended by a signal, according to the supervisor's log."""
        return len(re.findall(rb'"cause":"signal \d+"', responder.log()))

    def cores(self):
        """Counts the core files, and removes them."""
        names = os.listdir(self.folder)
        for name in names:
            os.unlink(os.path.join(self.folder, name))
        return len(names)

    def test_cores(self):
        """Workers are ended by signals that write a core, just after they handled a secret.  So is
        a program without protection, for comparison"""
        n_killed = n_others = 0
        signals = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL)
        body = (b'{"provider": {"provider_b": {"client_id": "app", "client_secret": "in memory just'
                b' now"}}}')
        said = variables(self.home.admin.key, "PUT", path("core"), body)
        with Responder(self.stack, 2, around=self.allow_cores) as responder:
            for sent in signals:
                for _ in range(4):
                    self.assertEqual(fastcgi.ask(responder.socket, said, body).status, 200)
                for pid in responder.workers():
                    os.kill(pid, sent)
                    n_killed += 1
                until(lambda: self.n_ended(responder) == n_killed
                      and len(responder.workers()) == 2, "new workers")
            n_cores = self.cores()
        for sent in signals:
            with subprocess.Popen(self.allow_cores(["sleep", "60"])) as other:
                until(lambda: b"sleep" in comm(other.pid), "a program")
                other.send_signal(sent)
            n_others += self.cores()
        self.figure("workers killed", n_killed, exactly=2 * len(signals))
        self.figure("core files", n_cores, exactly=0)
        self.figure("core files of the other program", n_others)
