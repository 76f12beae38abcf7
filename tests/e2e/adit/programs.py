# SPDX-License-Identifier: MIT
"""Programs that a test starts beside a stack: further responders and web servers."""
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import time

from adit import fastcgi, stack
from adit.case import until
from adit.stack import as_service

_numbers = iter(range(1000000))

# A service's user has no home, and must not use the caller's.
ENV = dict(stack.CLEAN_ENV, HOME="/nonexistent")


class Program:
    """A program that runs until stop().  Its standard error goes to a file."""

    def __init__(self, stack_, command, name, env=None, **options):
        self.name = "%s-%d-%d" % (name, os.getpid(), next(_numbers))
        self.log_path = os.path.join(stack_.state, "log", self.name + ".log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command(self.name), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, cwd="/",
                                            env=env or ENV, start_new_session=True,
                                            **options)

    def log(self):
        with open(self.log_path, "rb") as file:
            return file.read()

    def stop(self, how=signal.SIGTERM, seconds=60):
        """Stops the program.  Returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Responder(Program):
    """adit.fcgi on a socket of its own, with a stack's settings or others.  All its workers run."""

    def __init__(self, stack_, n_workers=1, conf=None, around=as_service, **options):
        program = os.path.join(stack_.state, "bin", "adit.fcgi")

        def command(name):
            self.socket = os.path.join(stack_.run_folder, name + ".sock")
            return around([program, "-c", conf or stack_.conf_path, "-l", "unix:" + self.socket,
                           "-w", str(n_workers)])
        super().__init__(stack_, command, "r", **options)
        try:
            until(self.listens, "a responder")
            # A supervisor without workers would count as one.
            until(lambda: len(self.workers()) == n_workers, "all workers")
        except AssertionError as error:
            raise AssertionError("%s: %s" % (error, self.log().decode())) from error

    def listens(self):
        if self.process.poll() is not None:
            raise AssertionError("the responder has ended")
        try:
            fastcgi.connect(self.socket).close()
            return True
        except OSError:
            return False

    def workers(self):
        """Process ids of the workers.  The supervisor may be a child of another program."""
        found, above = [], [self.process.pid]
        while above:
            found, above = above, [child for pid in above for child in children(pid)]
        return found


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def signal_all(pids, number):
    """Sends a signal to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def at_socket(stack_, path):
    """Returns a function that changes the configuration of the stack's nginx so that it connects to
    the responder of another socket."""
    def change(text):
        own = "unix:%s/adit.sock" % stack_.run_folder
        assert own in text, text
        return text.replace(own, "unix:" + path)
    return change


def one_process(text):
    """Changes the configuration of the stack's nginx so that many clients get equal shares of it: to
    one process, because several get very different numbers of clients, which accepts all that have
    connected, and not one in each turn."""
    head, _, rest = text.partition("worker_processes ")
    text = head + "worker_processes 1;" + rest.partition(";")[2]
    # Each client takes two connections: its own and one to the responder.
    return "worker_rlimit_nofile 2048;\n" + text.replace("worker_cpu_affinity auto;", "").replace(
        "events {", "events {\nworker_connections 2048;\nmulti_accept on;")


class Nginx(Program):
    """Another nginx like the stack's, on a port of its own.  change() gets the text of the stack's
    configuration and returns the text to use."""

    def __init__(self, stack_, change):
        def command(name):
            self.port = stack.free_port()
            folder = os.path.join(stack_.run_folder, name)
            subprocess.run(as_service(["mkdir", "-p", folder]), check=True)
            def read(name):
                with open(os.path.join(stack_.state, name), encoding="utf-8") as file:
                    return file.read()
            text = read("nginx.conf").replace(stack_.run_folder + "/", folder + "/")
            text = re.sub(r"listen 127\.0\.0\.1:\d+", "listen 127.0.0.1:%d" % self.port, text)
            for included in ("nginx-adit.conf", "nginx-upstream.conf"):
                text = text.replace("include %s;" % included, read(included))
            path = os.path.join(stack_.state, name + ".conf")
            with open(path, "w", encoding="utf-8") as file:
                file.write(change(text))
            os.chmod(path, 0o644)
            return as_service(["nginx", "-p", stack_.state + "/", "-c", path, "-g", "daemon off;"])
        super().__init__(stack_, command, "n", dict(ENV, PATH=os.environ["PATH"] + ":/usr/sbin"))
        until(self.listens, "nginx")

    def listens(self):
        if self.process.poll() is not None:
            raise AssertionError("nginx has ended: " + self.log().decode())
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            return True
        except OSError:
            return False


class Peer:
    """A kept connection to a responder, as web servers use."""

    def __init__(self, place):
        self.sock = fastcgi.connect(place)
        self.file = self.sock.makefile("rb")

    def ask(self, records):
        self.sock.sendall(records)
        return fastcgi.read_answer(self.file)

    def close(self):
        self.file.close()
        self.sock.close()


def without_calls(calls, seccomp=True):
    """Returns a function for subprocess's preexec_fn.  It sets a filter, so that the process
    behaves as on a kernel without these system calls, or without seccomp filters for the process
    itself."""
    ld_call, ld_arg, equal, result = 0x20, 0x20, 0x15, 0x06
    enosys, einval, allow = 0x50000 | 38, 0x50000 | 22, 0x7FFF0000
    steps = [(ld_call, 0, 0, 0)]
    for call in calls:
        steps += [(equal, 0, 1, call), (result, 0, 0, enosys)]
    if not seccomp:
        # prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER): EINVAL.
        number = {"x86_64": 157, "aarch64": 167}[os.uname().machine]
        steps += [(equal, 0, 3, number), (ld_arg, 0, 0, 16), (equal, 0, 1, 22),
                  (result, 0, 0, einval)]
    steps += [(result, 0, 0, allow)]
    program = b"".join(struct.pack("HBBI", *step) for step in steps)

    def apply():
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(program, len(program))
        filter_ = ctypes.create_string_buffer(
            struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer)), 16)
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filter_, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
    return apply


def variables(key, method="GET", path="/ssh_credentials", body=b"", **changes):
    """The variables that a web server sends for a request."""
    found = {
        "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": "",
        "REQUEST_SCHEME": "http", "HTTP_HOST": "adit.test", "SERVER_NAME": "adit.test",
        "SERVER_PORT": "80", "HTTP_AUTHORIZATION": "Bearer " + key if key else None,
        "HTTP_SERVICE_VERSION": "2", "CONTENT_LENGTH": str(len(body)) if body else "",
        "CONTENT_TYPE": "application/json" if body else "", **changes}
    return {name: value for name, value in found.items() if value is not None}


def cpu_seconds(pids):
    """Processor time that the processes have used, in seconds, measured in nanoseconds."""
    total = 0
    for pid in pids:
        with open("/proc/%d/schedstat" % pid, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def memory(pid):
    """The process's memory in bytes, under the kernel's names: Rss, Pss."""
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows}


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def timed(function, *arguments):
    """Calls the function.  Returns its result and the seconds that it took."""
    started = time.monotonic()
    found = function(*arguments)
    return found, time.monotonic() - started
