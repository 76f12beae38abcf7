# SPDX-License-Identifier: MIT
"""The test beds: a private Adit with data, and the same web server in front of an echo program."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from adit import samples, stack
from adit.client import read_answer

import measure
import operations
import pgbench
import plain

HERE = os.path.dirname(os.path.realpath(__file__))
ECHO = os.path.join(stack.BUILD, "bench-echo")
COUNT = os.path.join(stack.BUILD, "bench-count")

# The row and the number of the sample requests, from which the statements are read.
SAMPLE_ROW = operations.FIRST_ROW + 17
SAMPLE_NONCE = 73190246

# PostgreSQL's write-ahead log files, enough for one run.
LOG_FILES = 120
LOG_FILE_MB = 16

# Sessions of pgbench that write run so long before they are measured.
WARM_UP_S = 3

N_OWNERS = 8

# A statement that reads or writes a whole table of 10,000,000 rows takes minutes.
WHOLE_TABLE_S = 1800


def counting_ns():
    """CPU time that the metrics of one GET take."""
    return float(subprocess.run([COUNT], capture_output=True, text=True, check=True).stdout)


class Bed:
    """Adit as tools/serve sets it up, with n_rows credentials in one account, and n_accounts small
    accounts beside it."""

    def __init__(self, n_rows, n_accounts, is_quick=False):
        self.n_rows = n_rows
        self.n_all_rows = n_rows + n_accounts * operations.PAGE
        self.stack = stack.get("bench-%d" % n_rows)
        self.folder = os.path.join(self.stack.folder, "bench")
        os.mkdir(self.folder, 0o700)
        self._configure(is_quick)
        reader, writer, small = (self.stack.account(name) for name in ("reader", "writer", "small"))
        self.keys = {"reader": reader.admin.key, "writer": writer.admin.key,
                     "small": small.admin.key, "unknown": samples.well_formed_key()}
        self.account, self.owner = reader.id, reader.admin.id
        self._load(reader, small, n_accounts)

    def _configure(self, is_quick):
        """Waits for the disk, as PostgreSQL does by default, unless the run is quick.  Sets
        shared_buffers to a quarter of the memory, as PostgreSQL's manual recommends (default: 128
        MB).  Makes the write-ahead log large enough for a run.  Turns off autovacuum, which would
        disturb some measurements and not others."""
        kib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4096
        # The tests' clusters have fsync off.
        for name, value in (("fsync", "off" if is_quick else "on"), ("shared_buffers", "%dkB" % kib),
                            ("min_wal_size", "%dMB" % (LOG_FILES * LOG_FILE_MB)),
                            ("max_wal_size", "%dMB" % (2 * LOG_FILES * LOG_FILE_MB)),
                            ("autovacuum", "off")):
            self.stack.psql("ALTER SYSTEM SET %s = '%s'" % (name, value))
        self.stack.restart()

    def _load(self, account, small, n_accounts):
        started = time.monotonic()
        done = subprocess.run(
            ["psql", "-X", "-q", "-v", "rows=%d" % self.n_rows, "-v", "account=" + account.id,
             "-v", "owner=" + account.admin.id, "-v", "small_account=" + small.id,
             "-v", "small_owner=" + small.admin.id, "-v", "accounts=%d" % n_accounts,
             "-f", os.path.join(HERE, "load.sql")],
            env=self.stack.pg_env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        if done.returncode != 0:
            raise measure.Broken("cannot load the data: " + done.stderr)
        self.load_s = time.monotonic() - started

    def load_modules(self):
        """Creates the OAuth modules through the API, which seals their secrets."""
        operation = operations.BY_NAME["put_module"]
        # A crash may lose these rows, so need not wait for the disk.
        self._set_role("SET synchronous_commit = off")
        for row in range(operations.FIRST_ROW, operations.FIRST_ROW + 2 * operations.MODULES):
            self.ask(operation, row, 1 + SAMPLE_NONCE)
        self._set_role("RESET synchronous_commit")

    def load_lists(self):
        """Makes a page of audit events and one of mutual TLS modules.  Returns all lists."""
        self._set_role("SET synchronous_commit = off")
        for row in range(operations.FIRST_ROW, operations.FIRST_ROW + operations.PAGE):
            self.ask(operations.PUT_EDGE, row)
        for row in range(operations.FIRST_ROW, operations.FIRST_ROW + operations.PAGE):
            self.ask(operations.BY_NAME["patch"], row)
        self._set_role("RESET synchronous_commit")
        before_id = "ae_%019d" % (1 + int(self.stack.psql("SELECT max(id) FROM adit.audit_event")))
        return {name: operation._replace(path=operation.path.replace("{before_id}", before_id))
                for name, operation in operations.OTHER_LISTS.items()}

    def fill_log(self):
        """Creates write-ahead log files in advance.  A server that has run for some time recycles
        old files.  A new server creates each file when it needs it, and commits wait for that."""
        self.stack.psql("SELECT count(pg_logical_emit_message(false, '', '')),"
                        " count(pg_switch_wal()) FROM generate_series(1, %d)" % LOG_FILES)
        self.stack.psql("CHECKPOINT", timeout=WHOLE_TABLE_S)

    def vacuum(self):
        self.stack.psql("VACUUM ANALYZE", timeout=WHOLE_TABLE_S)

    def _set_role(self, what):
        """Changes a setting of the responders' sessions, and ends them so that new ones have it."""
        self.stack.psql("ALTER ROLE adit " + what)
        self.stack.psql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                        " WHERE usename = 'adit'")

    # ---- requests ----

    @property
    def host(self):
        return "127.0.0.1:%d" % self.stack.port

    def request(self, operation):
        return operations.request(operation, self.host, self.keys[operation.key])

    def ask(self, operation, row=SAMPLE_ROW, nonce=SAMPLE_NONCE, port=None):
        """Sends the request once.  Returns the answer, and fails if its status is wrong."""
        text = operations.fill(self.request(operation), row, nonce)
        with socket.create_connection(("127.0.0.1", port or self.stack.port), 10) as sock:
            sock.sendall(text.encode())
            with sock.makefile("rb") as stream:
                answer = read_answer(stream)
        if answer is None or answer.status != operation.status:
            raise measure.Broken("%s: %r" % (operation.title, answer))
        return answer

    def rows_of(self, operation):
        return {"credentials": self.n_rows, "small": operations.PAGE,
                "modules": operations.MODULES, "none": 1}[operation.rows]

    def wrk(self, operation, seconds, n_clients=8, port=None):
        path = os.path.join(self.folder, operation.name + ".request")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.request(operation))
        return measure.wrk(HERE, port or self.stack.port, path,
                           (operations.FIRST_ROW, self.rows_of(operation)), n_clients, seconds,
                           operation.status)

    # ---- processes ----

    def roots(self):
        return {"nginx": self.stack.nginx_master(), "responder": self.stack.responder()[0],
                "PostgreSQL": self.stack.postmaster()}

    def worker_pss_kib(self):
        return [measure.pss_kib(pid) for pid in self.stack.responder()[1]]

    def cgi_ms(self, operation):
        """Milliseconds from the start to the end of the program as plain CGI."""
        path = operations.fill(operation.path, SAMPLE_ROW, SAMPLE_NONCE)
        variables = {
            "PATH": os.environ["PATH"], "ADIT_CONF": self.stack.conf_path,
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REQUEST_METHOD": operation.method, "PATH_INFO": path, "QUERY_STRING": "",
            "SCRIPT_NAME": "", "SERVER_NAME": "localhost", "SERVER_PORT": "80",
            "HTTP_HOST": "localhost", "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_AUTHORIZATION": "Bearer " + self.keys[operation.key],
            "HTTP_SERVICE_VERSION": "2"}
        program = os.path.join(self.stack.state, "bin", "adit.fcgi")
        started = time.monotonic()
        done = subprocess.run([program], env=variables, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        ms = (time.monotonic() - started) * 1000
        if not done.stdout.startswith(b"Status: %d" % operation.status):
            raise measure.Broken("as plain CGI: %r %r" % (done.stdout[:200], done.stderr[:400]))
        return ms

    # ---- the responder's own statements ----

    def read_statements(self):
        """Logs the statements of the responders while it sends each operation once.  Writes them as
        pgbench scripts."""
        self._set_role("SET log_statement = 'all'")
        self.stack.psql(plain.TABLES, timeout=WHOLE_TABLE_S)
        self.scripts, self.plain, settings = {}, {}, {}
        for operation in operations.OPERATIONS:
            self._write_script(operation, self._statement_of(operation, settings))
        self._set_role("RESET log_statement")
        if "plan_cache_mode" not in settings:
            raise measure.Broken("PostgreSQL's log lacks the responder's session settings")
        self._write_owners()
        self.pgbench_env = dict(self.stack.pg_env("adit"), PGOPTIONS=pgbench.options_of(settings))

    def _statement_of(self, operation, settings):
        """Returns the one statement that the operation runs.  A worker that seals a secret for a
        key that it has not seen runs another statement first, so tries again."""
        log = os.path.join(self.stack.state, "log", "postgres.log")
        for _ in range(1 + len(self.stack.responder()[1])):
            begin = os.path.getsize(log)
            self.ask(operation)
            with open(log, encoding="utf-8") as file:
                file.seek(begin)
                statements, set_here = pgbench.read_log(file.read())
            settings.update(set_here)
            if len(statements) == 1:
                return statements[0]
        raise measure.Broken("%s: %d statements instead of one: %s" % (
            operation.title, len(statements), [name for name, _, _ in statements]))

    def _write_script(self, operation, statement):
        script, variables = pgbench.make_script(statement, SAMPLE_ROW, SAMPLE_NONCE)
        path = os.path.join(self.folder, operation.name + ".pgbench")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        first = operations.FIRST_ROW
        if operation.rows == "modules":
            first += operations.MODULES
        variables.update(first_row=first, last_row=first + self.rows_of(operation) - 1)
        self.scripts[operation.name] = path, variables
        if operation.name in plain.STATEMENTS:
            self._write_plain(operation, script, variables)

    def _write_plain(self, operation, own, variables):
        path = os.path.join(self.folder, operation.name + ".plain.pgbench")
        with open(path, "w", encoding="utf-8") as file:
            file.write(plain.script(operation.name, own))
        account, owner = self.stack.psql(
            "SELECT account_id, principal_id FROM adit.api_key WHERE digest = '%s'"
            % variables["p1"]).split("|")
        last_row = min(variables["last_row"], variables["first_row"] + plain.MOST_ROWS - 1)
        self.plain[operation.name] = path, dict(variables, last_row=last_row, account=account,
                                                owner=owner)

    def pgbench(self, operation, seconds, serial, is_quick):
        """Returns the rate and PostgreSQL's CPU time."""
        before = self._changes()
        warm_up_s = 0 if is_quick or operation.name not in self.plain else WARM_UP_S
        rate, n, us = self._pgbench(self.scripts[operation.name], seconds, serial, warm_up_s)
        # A script that does less than the responder's statement would seem too fast.
        changed = self._changes() - before
        if changed != (0 if operations.is_read(operation) else n):
            raise measure.Broken("%s: pgbench ran %d times, but %d changes were recorded" % (
                operation.title, n, changed))
        return rate, us

    def pgbench_plain(self, operation, seconds, serial, is_quick):
        """Returns PostgreSQL's CPU time."""
        return self._pgbench(self.plain[operation.name], seconds, serial,
                             0 if is_quick else WARM_UP_S)[2]

    def pgbench_owners(self, n_owners, seconds, serials):
        """Returns the rate of a POST by eight sessions, under one owner or one for each."""
        path, variables = self.owners
        script = path, dict(variables, n_owners=n_owners)
        return {"rate": self._pgbench(script, seconds, next(serials))[0]}

    def _pgbench(self, script, seconds, serial, warm_up_s=0):
        path, variables = script
        rate, n, us = measure.pgbench(
            os.path.join(stack.PG_BIN, "pgbench"), path, dict(variables, serial=serial), seconds,
            self.pgbench_env, {"PostgreSQL": self.stack.postmaster()}, warm_up_s)
        return rate, n, us["PostgreSQL"]

    def _write_owners(self):
        """Makes the Users and API keys of pgbench_owners(), and its script: each session has a
        statement of its own."""
        path, variables = self.scripts["post"]
        with open(path, encoding="utf-8") as file:
            *head, statement = file.read().splitlines()
        account = self.stack.psql("SELECT account_id FROM adit.api_key WHERE digest = '%s'"
                                  % variables["p1"])
        self.stack.psql("".join(
            "INSERT INTO adit.principal (account_id, id, kind) VALUES ('{0}', 'usr_{1}', 'user');"
            "INSERT INTO adit.api_key (account_id, id, principal_id, digest)"
            " VALUES ('{0}', 'ak_{1}', 'usr_{1}', '{2}');".format(
                account, "owner".ljust(26, "0") + str(number), self._digest_of(number))
            for number in range(N_OWNERS)))
        path = os.path.join(self.folder, "owners.pgbench")
        lines = head + ["\\set owner :client_id % :n_owners"]
        for number in range(N_OWNERS):
            lines += ["\\%s :owner = %d" % ("elif" if number else "if", number),
                      re.sub(r":p1\b", ":digest%d" % number, statement)]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines + ["\\endif"]) + "\n")
        self.owners = path, dict(variables, **{"digest%d" % number: self._digest_of(number)
                                               for number in range(N_OWNERS)})

    @staticmethod
    def _digest_of(number):
        return "\\x" + "%064x" % number

    def _changes(self):
        return int(self.stack.psql("SELECT count(*) FROM adit.audit_event", timeout=WHOLE_TABLE_S))


class Echo:
    """A second nginx with the settings of the bed's, in front of as many echo workers.  They give
    every request the answer that Adit gave."""

    def __init__(self, bed):
        self.bed = bed
        self.folder = os.path.join(bed.stack.folder, "echo")
        self.socket = os.path.join(self.folder, "adit.sock")
        self.port = stack.free_port()
        self.n_workers = len(bed.stack.responder()[1])
        self.nginx = self.program = None
        # If this program is killed, the kernel ends its children.
        self._setpriv = ["setpriv", "--pdeathsig", "TERM"]
        os.mkdir(self.folder, 0o700)
        if os.getuid() == 0:
            self._setpriv += ["--reuid=postgres", "--regid=postgres", "--init-groups"]
            shutil.chown(self.folder, "postgres", "postgres")
        shutil.copy(ECHO, self.folder)

    def start(self):
        for name in ("nginx.conf", "nginx-adit.conf", "nginx-upstream.conf"):
            with open(os.path.join(self.bed.stack.state, name), encoding="utf-8") as file:
                text = file.read()
            text = text.replace(self.bed.stack.run_folder, self.folder)
            text = text.replace(self.bed.host, "127.0.0.1:%d" % self.port)
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.nginx = self._spawn("nginx", "-e", "stderr", "-p", self.folder, "-c",
                                 os.path.join(self.folder, "nginx.conf"), "-g", "daemon off;")

    def _spawn(self, *command):
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            return subprocess.Popen([*self._setpriv, "--", *command], stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, cwd="/")

    def answer_as(self, operation):
        """Restarts the workers with the answer of an operation."""
        self._end(self.program)
        path = os.path.join(self.folder, operation.name + ".answer")
        answer = self.bed.ask(operation)
        lines = ["Status: %d %s" % (answer.status, answer.reason)]
        lines += ["%s: %s" % header for header in answer.headers
                  if header[0] not in ("Server", "Date", "Connection")]
        with open(path, "wb") as file:
            file.write(("\r\n".join(lines) + "\r\n\r\n").encode() + answer.body)
        self.program = self._spawn(os.path.join(self.folder, "bench-echo"), path, self.socket,
                                   str(self.n_workers))
        self._await(operation, answer)

    def _await(self, operation, wanted):
        deadline = time.monotonic() + 10
        while True:
            try:
                answer = self.bed.ask(operation, port=self.port)
                if answer.body != wanted.body:
                    raise measure.Broken("the echo gave another answer: %r" % answer)
                return
            except (OSError, measure.Broken):
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def roots(self):
        return {"nginx": self.nginx.pid, "echo": self.program.pid}

    @staticmethod
    def _end(process):
        if process:
            process.send_signal(signal.SIGTERM)
            process.wait(10)

    def stop(self):
        self._end(self.program)
        self._end(self.nginx)


def machine():
    """Describes this machine."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory_kib = int(file.readline().split()[1])
    versions = [stack.run(["/usr/sbin/nginx", "-v"]).stderr.rpartition("/")[2].strip(),
                stack.run([os.path.join(stack.PG_BIN, "postgres"), "--version"]).stdout.split()[2]]
    return {"processors": os.cpu_count(), "model": model[0] if model else os.uname().machine,
            "memory_gib": round(memory_kib / 1024 / 1024), "kernel": os.uname().release,
            "nginx": versions[0], "postgresql": versions[1],
            "load_before": os.getloadavg()[0]}
