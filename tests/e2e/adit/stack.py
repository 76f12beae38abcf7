# SPDX-License-Identifier: MIT
"""Stacks: PostgreSQL, responders and nginx, started by tools/serve in a folder of their own."""
import atexit
import contextlib
import errno
import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import tempfile

from adit import psql, samples
from adit.client import Client
from adit.psql import PG_BIN

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
BUILD = os.path.realpath(os.environ.get("ADIT_BUILD") or os.path.join(ROOT, "build"))
START_TIMEOUT_S = 300

# Variables that the caller exported for another stack must not reach these programs.
CLEAN_ENV = {name: value for name, value in os.environ.items()
             if not name.startswith(("PG", "ADIT_"))}

# What is done with each stack after its first start.
after_start = []

_stacks = {}
_data = []  # the folder of new_data()
_copies = {}  # of files of the tree: (path, time of its last change), the copy
_copies_folder = []
_folders = []  # of make_folder(): (process, path, whether it stays)
_claims = []  # sockets: a port each


def get(name="main"):
    """Returns the stack of that name.  The first call starts it."""
    if name not in _stacks:
        _stacks[name] = stack = Stack(name)
        stack.start()
        for function in after_start:
            function(stack)
    return _stacks[name]


def stop_stacks():
    """Stops all stacks, and removes temporary folders that do not stay.  The next stacks are new."""
    while _stacks:
        _stacks.popitem()[1].remove()
    _remove_folders(lambda stays: not stays)


def _remove_folders(is_wanted):
    for entry in [entry for entry in _folders if is_wanted(entry[2])]:
        if entry[0] == os.getpid():
            shutil.rmtree(entry[1], ignore_errors=True)
        _folders.remove(entry)


def stop_all():
    stop_stacks()
    _data.clear()
    _copies_folder.clear()
    _copies.clear()
    _remove_folders(lambda stays: True)


atexit.register(stop_all)


def is_sanitized():
    """Whether the tested build uses AddressSanitizer."""
    with open(os.path.join(BUILD, "adit.fcgi"), "rb") as file:
        return b"__asan_init" in file.read()


# Where temporary folders are.  The one that TMPDIR names may be the caller's alone.
SCRATCH = os.environ.get("ADIT_SCRATCH", "/tmp")


def make_folder(stays=False):
    """A temporary folder that the programs' user may enter.  It is gone when this process has stopped its
    stacks, at the end of a module; or, if it stays, when the process ends."""
    folder = tempfile.mkdtemp(prefix="adit-e2e-", dir=SCRATCH)
    os.chmod(folder, 0o711)
    _folders.append((os.getpid(), folder, stays))
    return folder


def free_port():
    """A port that no program uses, and that no other run of the tests gets.

    The kernel takes the port of an outgoing connection from the range of ephemeral ports.  A port
    of that range may be taken before a server binds it, so this one is below.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        ephemeral = int(file.read().split()[0])
    while True:
        port = random.randrange(min(10000, ephemeral // 2), ephemeral)
        claim = socket.socket(socket.AF_UNIX)
        try:
            # The name is free again when this process ends.
            claim.bind("\0adit-test-port-%d" % port)
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError as error:
            claim.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
            continue
        _claims.append(claim)
        return port


def for_others(command):
    """The command, for another user than root.  The tree may be below a folder that only root can
    enter, so each argument that is a file or a folder of the tree is a copy elsewhere.  The copy of
    a folder holds what it held when this process named it first."""
    return [_copy(word) if _is_of_tree(word) else word for word in command]


def _is_of_tree(word):
    # A query may be a word, too, in bytes.
    return isinstance(word, str) and word.startswith((ROOT + "/", BUILD + "/")) and \
        os.path.exists(word)


def _copy(path):
    known = path, os.stat(path).st_mtime_ns
    if known not in _copies:
        if not _copies_folder:
            _copies_folder.append(make_folder(stays=True))
        # Programs find their kind by their name.
        folder = os.path.join(_copies_folder[0], str(len(_copies)))
        os.mkdir(folder, 0o755)
        _copies[known] = os.path.join(folder, os.path.basename(path))
        run(["cp", "-RL", path, folder])
        run(["chmod", "-R", "a+rX", _copies[known]])
    return _copies[known]


def as_service(command):
    """The command, run as the user of the stack's programs."""
    if os.geteuid() != 0:
        return list(command)
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--",
            *for_others(command)]


def new_data():
    """The folder of a cluster as tools/serve makes it, to copy.  Making one takes seconds, so each
    process makes one.  No test survives a crash of the machine, so nothing waits for the disk; and what a
    killed server leaves goes with the folder."""
    if not _data:
        _data.append(make_folder(stays=True))
        data = os.path.join(_data[0], "data")
        if os.geteuid() == 0:
            shutil.chown(_data[0], "postgres", "postgres")
        run(as_service([PG_BIN + "/initdb", "-D", data, "--username=postgres", "--auth=trust",
                        "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions", "--no-sync"]),
            cwd="/")
        with open(os.path.join(data, "postgresql.conf"), "a", encoding="ascii") as file:
            file.write("include 'serve.conf'\nfsync = off\ndynamic_shared_memory_type = mmap\n")
    return os.path.join(_data[0], "data")


def run(command, check=True, **options):
    """Runs a command.  Returns the completed process, with its output as text."""
    options.setdefault("env", CLEAN_ENV)
    options.setdefault("stdin", subprocess.DEVNULL)
    options.setdefault("timeout", START_TIMEOUT_S)
    if "input" in options:
        del options["stdin"]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if check and done.returncode != 0:
        raise AssertionError("%s ended with %d\n%s%s" % (
            " ".join(command), done.returncode, done.stdout, done.stderr))
    return done


class Person:
    """A User or a Bot with an API key."""

    def __init__(self, stack, ident, key):
        self.stack, self.id, self.key = stack, ident, key

    def issue(self, *options):
        """Issues another key."""
        return self.stack.ctl("key", "issue", "--for", self.id, *options)

    def issue_bare(self):
        """Makes a key of the earlier form, which names no account."""
        key = samples.well_formed_key()
        self.stack.psql("INSERT INTO adit.api_key (account_id, id, principal_id, digest)"
                        " SELECT account_id, '%s', id, sha256('%s'::bytea) FROM adit.principal"
                        " WHERE id = '%s'" % (samples.unknown_id("ak"), key, self.id))
        return key


class Account:
    """A new account with an admin.  Other Users and Bots are made on first use."""

    def __init__(self, stack, name="account"):
        self.stack = stack
        self.id = stack.ctl("account", "create", "--name", name)
        self.admin = self.person("user", "--admin")
        self._others = {}

    def person(self, kind, *options):
        ident = self.stack.ctl(kind, "create", "--account", self.id, *options)
        return Person(self.stack, ident, self.stack.ctl("key", "issue", "--for", ident))

    def _once(self, name, make):
        if name not in self._others:
            self._others[name] = make()
        return self._others[name]

    @property
    def member(self):
        return self._once("member", lambda: self.person("user"))

    @property
    def bot(self):
        return self._once("bot", lambda: self.person("bot"))

    @property
    def read_only_key(self):
        return self._once("read_only", lambda: self.admin.issue("--read-only"))

    @property
    def own_key(self):
        """A key of the member, who owns nothing that an admin makes."""
        return self._once("own", lambda: self.member.issue("--own"))

    @property
    def gateway_key(self):
        return self._once("gateway", lambda: self.admin.issue("--gateway"))


class Stack:
    def __init__(self, name):
        self.name = name
        self.folder = make_folder()
        self.given_state = os.path.join(self.folder, "state")
        self.port = free_port()
        self._home = None
        self._sessions = psql.Sessions()
        self.service = "service"
        self.providers = None
        self.citus = None  # the nodes that have its database (adit/citus.py)
        self.elsewhere = {}  # variables of a database that is not the stack's own

    # ---- starting and stopping ----

    def serve(self, *arguments, check=True):
        return run([os.path.join(ROOT, "tools", "serve"), *arguments], check=check,
                   env=dict(CLEAN_ENV, ADIT_STATE=self.given_state, ADIT_PORT=str(self.port),
                            ADIT_BUILD=BUILD, ADIT_LIMITS="off"))

    def start(self):
        if not os.path.exists(self.given_state):
            os.mkdir(self.given_state, 0o700)
            run(["cp", "-a", new_data(), os.path.join(self.given_state, "data")])
        # Another program may take the port before the stack binds it.
        for attempt in range(3):
            done = self.serve("--detach", check=attempt == 2)
            if done.returncode == 0:
                break
            if "in use" not in done.stderr:
                raise AssertionError("the stack did not start\n" + done.stdout + done.stderr)
            self.port = free_port()
        self._read_env()

    def _read_env(self):
        lines = self.serve("--env").stdout.splitlines()
        self.env = {}
        for line in lines:
            name, value = shlex.split(line)[1].split("=", 1)
            self.env[name] = value
        self.run_folder = self.env["PGHOST"]
        self.env.update(self.elsewhere)
        self.state = os.path.dirname(self.env["ADIT_CONF"])
        self.key = self.env["ADIT_KEY"]
        self.url = self.env["ADIT_URL"]

    def stop(self):
        self.serve("--stop")

    def restart(self):
        self.stop()
        self.start()

    def remove(self):
        self._sessions.close()
        try:
            self.stop()
        finally:
            # The state folder may be a link to a folder that the service user can enter.
            real = os.path.realpath(self.given_state)
            shutil.rmtree(real, ignore_errors=True)
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- settings ----

    @property
    def conf_path(self):
        return self.env["ADIT_CONF"]

    def read_conf(self):
        with open(self.conf_path, encoding="utf-8") as file:
            return file.read()

    def write_conf(self, text):
        # Written in place, so that the file keeps its owner and mode.
        with open(self.conf_path, "w", encoding="utf-8") as file:
            file.write(text)
        named = re.search(r"^name *= *(\S+)", text, re.M)
        self.service = named.group(1) if named else "service"
        named = re.search(r"^providers *= *(.*)", text, re.M)
        self.providers = named.group(1).split() if named else None

    def set_conf(self, section, key, value):
        text = self.read_conf()
        line = "%s = %s" % (key, value)
        kept = re.sub(r"(?m)^%s *=.*\n" % re.escape(key), "", text)
        if "[%s]" % section in kept:
            kept = kept.replace("[%s]\n" % section, "[%s]\n%s\n" % (section, line), 1)
        else:
            kept += "\n[%s]\n%s\n" % (section, line)
        self.write_conf(kept)

    # ---- tools ----

    def ctl_run(self, *arguments, check=False, conf=None, **options):
        return run([self.env["ADITCTL"], "-c", conf or self.conf_path, *arguments], check=check,
                   **options)

    def ctl(self, *arguments):
        """Runs aditctl.  Returns its output without the final newline."""
        return self.ctl_run(*arguments, check=True).stdout.rstrip("\n")

    def pg_env(self, user="postgres"):
        options = "-c client_min_messages=error"
        if self.citus:
            options += " -c citus.propagate_set_commands=local"  # SET LOCAL is for triggers on nodes
        return dict(CLEAN_ENV, PGUSER=user, PGHOST=self.env["PGHOST"], PGPORT=self.env["PGPORT"],
                    PGDATABASE=self.env["PGDATABASE"], PGOPTIONS=options)

    def psql_run(self, sql, user="postgres", **options):
        return run(psql.COMMAND, check=False, env=self.pg_env(user), input=sql, **options)

    def psql(self, sql, user="postgres", **options):
        if user == "postgres" and not options and psql.can_share(sql):
            # Whoever has ended the session may have restarted the server.
            with contextlib.suppress(psql.Gone):
                output, error = self._sessions.run(self.pg_env(user), sql, START_TIMEOUT_S)
                if error is not None:
                    raise AssertionError("psql: %s\n%s" % (sql, error))
                return output.rstrip("\n")
        if not psql.can_stay(sql):
            self._sessions.close()
        done = self.psql_run(sql, user, **options)
        if done.returncode != 0:
            raise AssertionError("psql: %s\n%s" % (sql, done.stderr))
        return done.stdout.rstrip("\n")

    def waiting(self):
        """SQL that tells the number of locks that sessions wait for."""
        sql = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        if self.citus:
            sql = "SELECT sum(result::bigint) FROM run_command_on_all_nodes('%s')" % sql
        return sql

    def n_waiting(self):
        return int(self.psql(self.waiting()))

    def set_notify(self, value):
        """Turns notifications of changes on or off.  Only new sessions obey, so the responder's are
        ended."""
        self.psql("SELECT format('ALTER DATABASE %%I SET adit.notify = %s', current_database()) \\gexec\n"
                  "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
                  " WHERE datname = current_database() AND usename = 'adit'" % value)

    def dump(self, whole=False):
        """All rows of all tables, as pg_dump prints them.  Unless whole, without the last uses of
        keys: the responder stores them when it has time."""
        options = [] if whole else ["--exclude-table-data=adit.api_key_use"]
        dump = run(["pg_dump", "--data-only", "--no-comments", *options], env=self.pg_env()).stdout
        # Newer versions of pg_dump add a line with a random word at both ends.
        return re.sub(r"(?m)^\\(un)?restrict .*$", "", dump)

    # ---- accounts, logs and processes ----

    def client(self, key=None):
        return Client("127.0.0.1", self.port, key=key, service=self.service,
                      providers=self.providers)

    @property
    def home(self):
        """The account for tests that need no account of their own."""
        if self._home is None:
            self._home = Account(self, "home")
        return self._home

    def forget_home(self):
        """Call this when the stack has a new database, which does not have that account."""
        self._home = None

    def account(self, name="account"):
        return Account(self, name)

    def logs(self):
        """All logs of the stack's programs, by file."""
        found = {}
        for folder, _, names in os.walk(os.path.join(self.state, "log")):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.state)] = file.read()
        return found

    def _processes(self):
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    command = file.read().decode("utf-8", "replace").split("\0")
                with open("/proc/%s/stat" % name, encoding="utf-8") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            yield int(name), parent, command

    def responder(self):
        """Process ids of the responder's supervisor and of its workers."""
        program = os.path.join(self.state, "bin", "adit.fcgi")
        found = {pid: parent for pid, parent, command in self._processes()
                 if command[0] == program}
        # Workers of a supervisor that was killed live on for a moment.
        masters = sorted((pid for pid, parent in found.items() if parent not in found),
                         key=lambda pid: pid not in found.values())
        return masters[0], [pid for pid, parent in found.items() if parent in masters]

    def command_lines(self):
        """The command lines of all processes, which every user of the machine can read."""
        return "\n".join(" ".join(command) for _, _, command in self._processes())

    def n_workers(self):
        """The number of workers that the responder was told to run."""
        master, _ = self.responder()
        command = next(command for pid, _, command in self._processes() if pid == master)
        if "--workers" in command:
            return int(command[command.index("--workers") + 1])
        return min(max(os.cpu_count(), 2), 8)

    def n_at_once(self):
        """The number of writes that the responder runs at once, each on a session of its own."""
        master, _ = self.responder()
        program = next(command[0] for pid, _, command in self._processes() if pid == master)
        usage = run([program, "--help"]).stdout
        return self.n_workers() * int(re.search(r"(\d+) may write", usage).group(1))

    def children(self, pid):
        return [child for child, parent, _ in self._processes() if parent == pid]

    def postmaster(self):
        """The process that accepts PostgreSQL's connections."""
        child = self.psql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
        with open("/proc/%d/stat" % int(child), encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])

    def nginx_master(self):
        with open(os.path.join(self.run_folder, "nginx.pid"), encoding="utf-8") as file:
            return int(file.read())
