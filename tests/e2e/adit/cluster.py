# SPDX-License-Identifier: MIT
"""PostgreSQL servers that tests may stop, start and break.  A stack's own server cannot be used for
this, because a stack stops with its database."""
import atexit
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time

from adit.stack import CLEAN_ENV, PG_BIN, as_service, make_folder, run


class Cluster:
    """A primary server, or a standby of the given primary."""

    programs = PG_BIN
    settings = ()

    def __init__(self, primary=None):
        self.folder = make_folder()
        self.port = 5432
        self.data = os.path.join(self.folder, "data")
        self.run_folder = self.folder
        self.is_running = False
        self._frozen = []
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        atexit.register(self.remove)
        if primary:
            self.copy(primary)
        else:
            self._run("initdb", "-D", self.data, "--username=postgres", "--auth=trust",
                      "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions", "--no-sync")
        self.start()

    def copy(self, primary):
        """Deletes the data and makes it anew, as a standby's."""
        shutil.rmtree(self.data, ignore_errors=True)
        self._run("pg_basebackup", "-D", self.data, "--write-recovery-conf", "--checkpoint=fast",
                  "--no-sync", "-d", "host=%s port=5432 user=postgres application_name=standby"
                  % primary.run_folder)

    def promote(self):
        """Promotes the standby.  Returns once it takes writes."""
        self._run("pg_ctl", "-D", self.data, "-w", "-s", "promote")

    def _run(self, program, *arguments):
        return run(as_service([os.path.join(self.programs, program), *arguments]), cwd="/")

    def start(self):
        """Starts the server.  Returns once it accepts connections."""
        self._start("-w")

    def start_detached(self):
        """Starts the server and returns at once, so that waiting programs see it become ready."""
        self._start("-W")

    def _start(self, wait):
        options = ("-k %s -c listen_addresses= -c port=%d -c fsync=off -c max_connections=60"
                   " -c dynamic_shared_memory_type=mmap" % (self.run_folder, self.port))
        options += "".join(" -c " + setting for setting in self.settings)
        # The server inherits the output.  With a pipe, run() would not return before the server
        # ends.
        subprocess.run(as_service([os.path.join(self.programs, "pg_ctl"), "-D", self.data, wait, "-s",
                                   "-o", options, "-l", self.log_path, "start"]),
                       check=True, cwd="/", env=CLEAN_ENV, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        self.is_running = True

    def stop(self, mode="fast"):
        self.is_running = False
        self._run("pg_ctl", "-D", self.data, "-w", "-s", "-m", mode, "stop")

    def remove(self):
        if os.path.exists(os.path.join(self.data, "postmaster.pid")):
            try:
                self.thaw()
                self.signal(signal.SIGCONT)
                self.stop("immediate")
            except (AssertionError, OSError):
                pass  # the server has already ended
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def postmaster(self):
        with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
            return int(file.readline())

    def is_alive(self):
        """Whether the postmaster runs.  It ends if it cannot recover."""
        try:
            return os.path.exists("/proc/%d/exe" % self.postmaster)
        except (OSError, ValueError):
            return False

    def signal(self, number):
        os.kill(self.postmaster, number)

    def processes(self):
        """The server's processes, the postmaster first. /proc lists them, because the server may be
        unable to answer."""
        master = self.postmaster
        found = [master]
        for name in os.listdir("/proc"):
            if name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    with open("/proc/%s/stat" % name, encoding="utf-8") as file:
                        state, parent = file.read().rpartition(")")[2].split()[:2]
                    if int(parent) == master and state != "Z":
                        found.append(int(name))
        return found

    def kill(self):
        """Kills the postmaster.  Returns once its children have ended, because a new postmaster
        cannot start before that."""
        pids = self.processes()
        self.is_running = False
        os.kill(pids[0], signal.SIGKILL)
        self.thaw()
        deadline = time.monotonic() + 60
        # The postmaster has an entry in /proc until its parent reaps it: this process, with --times.
        while self._reap(pids[0]) or os.path.exists("/proc/%d" % pids[0]) or any(
                os.path.exists("/proc/%d/exe" % pid) for pid in pids):
            if time.monotonic() > deadline:
                raise AssertionError("these processes of the server did not end: %s" % pids)
            time.sleep(0.01)

    @staticmethod
    def _reap(pid):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)

    def freeze(self):
        """Stops all processes, as if the machine hung.  The postmaster is stopped first, so that it
        starts no others."""
        self.signal(signal.SIGSTOP)
        self._frozen = self.processes()
        self._signal_frozen(signal.SIGSTOP)

    def thaw(self):
        self._signal_frozen(signal.SIGCONT)
        self._frozen = []

    def _signal_frozen(self, number):
        for pid in self._frozen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    @property
    def log_path(self):
        return os.path.join(self.folder, "log")

    @property
    def socket_path(self):
        return os.path.join(self.run_folder, ".s.PGSQL.%d" % self.port)



def attach(stack, *clusters):
    """Replaces a stack's database by new servers, with a new account.  The first server is the
    primary.  Returns it."""
    clusters = clusters or (Cluster(),)
    cluster = clusters[0]
    conninfo = "host=%s port=5432 dbname=adit user=" % ",".join(one.run_folder for one in clusters)
    stack.set_conf("database", "conninfo", conninfo + "adit")
    stack.set_conf("database", "admin_conninfo", conninfo + "postgres")
    stack.elsewhere = {"PGHOST": cluster.run_folder}
    stack.env.update(stack.elsewhere, PGDATABASE="postgres")
    stack.psql("CREATE DATABASE adit")
    stack.env["PGDATABASE"] = "adit"
    stack.ctl("migrate")
    stack.psql("CREATE ROLE adit LOGIN IN ROLE adit_responder")
    stack.restart()
    stack.forget_home()
    return cluster
