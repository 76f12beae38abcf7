# SPDX-License-Identifier: MIT
"""A stock sshd that asks adit-gateway, in an enclosure, and the ssh clients of tests."""
import base64
import contextlib
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from adit import cluster, programs, stack
from adit.case import DEADLINE_S, Case, until
from adit.enclosure import Enclosure
from adit.psql import PROGRAM

PROGRAMS = "/run/libexec"
FOLDER = "/run/adit-gateway"
SOCKET = FOLDER + "/ssh.sock"
STATE = FOLDER + "/sessions"
CONF = "/run/adit.conf"
CREDENTIALS = "/ssh_credentials"
SSHD_LOG = "/run/sshd.log"
LOGINS_CONF = "/etc/ssh/sshd_config.d/adit-logins.conf"

# tunnel is the login of the home account.  So is bounded, whose forwards sshd itself bounds.  other
# is the login of a second account.  stranger has no rights.
USERS = (("adit-ssh-keys", 4101, ()), ("adit-gateway", 4102, ("adit-ssh-keys",)),
         ("tunnel", 4103, ()), ("bounded", 4104, ()), ("other", 4105, ()), ("stranger", 4106, ()))

# The names that tests bind.  Each has an address of its own, so that listeners tell them apart.
HOSTS = (("::1", "localhost"), ("127.0.0.11", "a.example.com"), ("127.0.0.12", "b.a.example.com"),
         ("127.0.0.13", "example.com"), ("127.0.0.14", "a.example.net"),
         ("127.0.0.15", "xexample.com"), ("127.0.0.16", "both.example.com"),
         ("::1", "both.example.com"))

SETTINGS = {"domain_ports": "8080 8443", "poll": "100ms", "sweep": "300ms"}

SSH = ("ssh", "-F", "none", "-N", "-v", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
       "-o", "UserKnownHostsFile=/dev/null", "-o", "HostKeyAlgorithms=ssh-ed25519",
       "-o", "KexAlgorithms=curve25519-sha256", "-o", "ControlPath=none")

# What the client's log says, step by step, while it logs in.
STEPS = ("Connection established", "SSH2_MSG_SERVICE_ACCEPT", "Offering public key",
         "Server accepts key", "Authenticated to", "Entering interactive session")


def openssh_version():
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", stack.run(["ssh", "-V"]).stderr)
    return int(found.group(1)), int(found.group(2))


class Key:
    """A key pair in a file."""

    def __init__(self, folder, name, *options):
        self.path = os.path.join(folder, name)
        stack.run(["ssh-keygen", "-q", "-N", "", "-C", name, "-f", self.path,
                   *(options or ("-t", "ed25519"))])
        with open(self.path + ".pub", encoding="ascii") as file:
            self.public = file.read().strip()
        self.type, self.blob = self.public.split()[:2]
        digest = hashlib.sha256(base64.b64decode(self.blob)).digest()
        self.fingerprint = "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class Tunnel:
    """An ssh client that asks for forwards and stays until the server ends it."""

    def __init__(self, gateway, key, *forwards, user="tunnel", options=(), env=None):
        self._log = os.path.join(gateway.folder, "ssh-%d.log" % next(gateway.numbers))
        self._forwards = forwards
        identity = ("-o", "IdentitiesOnly=yes", "-i", key.path) if key else ()
        self.process = subprocess.Popen(
            gateway.inside.on_network(
                SSH[0], *options, *SSH[1:], "-E", self._log, *identity, *(word for forward in forwards
                                                               for word in ("-R", forward)),
                "-p", str(gateway.port), user + "@127.0.0.1"),
            env=dict(programs.ENV, **(env or {})), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        gateway.tunnels.append(self)

    def log(self):
        with contextlib.suppress(FileNotFoundError):
            with open(self._log, encoding="utf-8", errors="replace") as file:
                return file.read()
        return ""

    def stands(self):
        return self.process.poll() is None

    def _answers(self):
        return re.findall(r"^debug1: remote forward (success|failure) for", self.log(), re.M)

    def _is_settled(self):
        has_ended = not self.stands()
        return has_ended or ("Authenticated to" in self.log() and
                             len(self._answers()) == len(self._forwards))

    def opened(self):
        """Waits until sshd has answered.  Returns whether the client is logged in and has all its
        forwards."""
        until(self._is_settled, "an answer of sshd")
        return self.stands() and "failure" not in self._answers()

    def refused(self):
        """The forwards that sshd refused.  It answers them in their order."""
        return [forward for forward, answer in zip(self._forwards, self._answers())
                if answer == "failure"]

    def is_in(self):
        """Waits until sshd has answered.  Returns whether the client is logged in."""
        until(self._is_settled, "an answer of sshd")
        return self.stands()

    def was_let_in(self):
        """Waits until sshd has answered.  Returns whether it let the client in, even if it ended
        the session since."""
        until(self._is_settled, "an answer of sshd")
        return "Authenticated to" in self.log()

    def reach(self, step):
        """Waits until the client has come so far, or has ended."""
        until(lambda: step in self.log() or not self.stands(), "a step of a login")

    def was_refused(self):
        """Waits for the end.  Returns whether sshd accepted none of the keys."""
        self.process.wait(60)
        return re.search(r"Permission denied|Too many authentication failures",
                         self.log()) is not None

    def close(self):
        if self.stands():
            self.process.kill()
        self.process.wait()


class Master(Tunnel):
    """An ssh client that opens and closes forwards when it is told to."""

    def __init__(self, gateway, key, **options):
        self._path = os.path.join(gateway.folder, "mux-%d" % next(gateway.numbers))
        super().__init__(gateway, key, options=("-M", "-S", self._path), **options)

    def _is_settled(self):
        return not self.stands() or os.path.exists(self._path)

    def _do(self, what, forward):
        """Returns what the client says, which is nothing if all went well."""
        done = stack.run(["ssh", "-F", "none", "-S", self._path, "-O", what, "-R", forward, "any"],
                         check=False)
        return done.stderr or done.stdout if done.returncode else ""

    def forward(self, forward):
        """Returns whether sshd opened the forward."""
        fault = self._do("forward", forward)
        if fault and "remote port forwarding failed" not in fault:
            raise AssertionError("%s: %s" % (forward, fault))
        return not fault

    def cancel(self, forward):
        fault = self._do("cancel", forward)
        if fault:
            raise AssertionError("%s: %s" % (forward, fault))


class Program:
    """A program inside, as a child of nsenter.  pid is its process outside."""

    def __init__(self, gateway, command, log, env=None):
        with open(log, "ab") as file:
            self._around = subprocess.Popen(command, env=dict(programs.ENV, **(env or {})), cwd="/",
                                            stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        self.pid = until(lambda: programs.children(self._around.pid) or self._ended(),
                         "a program")[0]
        self.inner_pid = gateway.inside.inner_pid(self.pid)
        self.is_frozen = False

    def _ended(self):
        if self._around.poll() is not None:
            raise AssertionError("a program ended at once")

    def runs(self):
        return self._around.poll() is None

    def freeze(self):
        """nsenter stops with the program."""
        self.is_frozen = True
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self):
        self.is_frozen = False
        os.kill(self.pid, signal.SIGCONT)
        self._around.send_signal(signal.SIGCONT)

    def stop(self, number=signal.SIGTERM):
        """Returns the exit status."""
        if self.runs():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)
                # SIGCONT takes back the SIGSTOP with which a leak checker stops an ending program.
                if self.is_frozen:
                    self.thaw()
        return self._around.wait(60)


class SshGateway:
    """As operators run it: sshd as root with Debian's settings, and the daemon as the unit starts
    it."""

    port = 22
    # Who owns the daemon's folder, and what the daemon runs as.
    owner, owner_group = 4102, 4101
    daemon_as = {"user": "adit-gateway", "group": "adit-ssh-keys", "capabilities": "+kill"}

    # Further sections of the settings.
    sections = ""

    def __init__(self, stack_, other_account, settings=None, env=None):
        self.stack = stack_
        self.folder = stack.make_folder()
        self.numbers = iter(range(1000000))
        self.tunnels = []
        self.daemon = self.sshd = None
        self._daemon_env = env
        self.daemon_log = os.path.join(self.folder, "daemon.log")
        self.inside = Enclosure(USERS, HOSTS)
        self.settings = dict(SETTINGS, account=stack_.home.id, socket=SOCKET, state=STATE,
                             conninfo="host=%s port=5432 dbname=adit user=gateway"
                             % stack_.cluster.run_folder)
        self.settings.update(settings or {})
        try:
            self._install()
            self._configure_sshd(other_account)
            self.start_daemon()
            self.start_sshd()
        except BaseException:
            self.remove()
            raise

    def _install(self):
        # sshd runs no helper that others than root could have changed.
        for path, owner, group in (PROGRAMS, 0, 0), (FOLDER, self.owner, self.owner_group):
            os.mkdir(self.inside.path(path))
            os.chown(self.inside.path(path), owner, group)
            os.chmod(self.inside.path(path), 0o755)
        for name in "adit-gateway", "adit-ssh-keys":
            shutil.copy(os.path.join(stack.BUILD, name), self.inside.path(PROGRAMS))
        self.inside.write(CONF, "[gateway]\n%s\n%s" % ("\n".join(
            "%s = %s" % pair for pair in self.settings.items()), self.sections))
        stack.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f",
                   self.inside.path("/run/host_key")])
        os.chown(self.inside.path("/run/host_key"), self.owner, self.owner)

    def _helper(self):
        """The helper's path for sshd's settings."""
        helper = PROGRAMS + "/adit-ssh-keys"
        if not stack.is_sanitized():
            return helper
        # sshd gives the helper no environment, but the sanitizers need theirs.
        lines = ["export %s='%s'" % (name, value) for name, value in programs.ENV.items()
                 if name.startswith(("ASAN_", "LSAN_", "UBSAN_", "GCOV_"))]
        self.inside.write(helper + ".sh", "#!/bin/sh\n%s\nexec %s \"$@\"\n" % (
            "\n".join(lines), helper), mode=0o755)
        return helper + ".sh"

    def _sshd_block(self, *options):
        """The settings that aditctl prints, with this helper."""
        done = stack.run([os.path.join(stack.BUILD, "aditctl"), "-c", self.inside.path(CONF),
                          "gateway-config", *options, "sshd"])
        text, n = re.subn(r"(AuthorizedKeysCommand )\S+", r"\1" + self._helper(), done.stdout)
        if n != 1:
            raise AssertionError("no helper in:\n" + text)
        return text

    def _configure_sshd(self, other_account):
        self.inside.write("/etc/ssh/sshd_config.d/adit.conf", "".join((
            self._sshd_block(), self._sshd_block("--user", "bounded", "--domain", "example.com"),
            self._sshd_block("--user", "other", "--account", other_account))))

    def start_daemon(self):
        self.daemon = Program(self, self.inside.command(
            PROGRAMS + "/adit-gateway", "-c", CONF, **self.daemon_as),
            self.daemon_log, self._daemon_env)
        until(self.answers, "adit-gateway")

    def start_sshd(self):
        # Debian's own settings, which include the block.
        self._start_sshd(("-o", "LogLevel=VERBOSE"))

    def _limits(self):
        """All clients have one address, and many are refused on purpose."""
        penalties = ("-o", "PerSourcePenalties=no") if openssh_version() >= (9, 8) else ()
        return ("-o", "MaxStartups=500", *penalties)

    def _start_sshd(self, options, **run_as):
        options += self._limits()
        self.sshd = Program(self, self.inside.command(
            "/usr/sbin/sshd", "-D", "-E", SSHD_LOG, "-h", "/run/host_key", "-o",
            "ListenAddress=127.0.0.1:%d" % self.port, "-o", "PidFile=none", *options, **run_as),
            self.daemon_log)
        until(lambda: "127.0.0.1:%d" % self.port in self.inside.listeners(), "sshd")

    def remove(self):
        for tunnel in self.tunnels:
            tunnel.close()
        for program in self.sshd, self.daemon:
            if program:
                program.stop()
        self.inside.remove()
        shutil.rmtree(self.folder)

    # ---- asking the daemon ----

    def ask(self, request, seconds=DEADLINE_S):
        """Sends a request to the daemon's socket, as root.  Returns the answer's lines."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(seconds)
            sock.connect(self.inside.path(SOCKET))
            sock.sendall(request.encode())
            sock.shutdown(socket.SHUT_WR)
            with sock.makefile("rb") as file:
                lines = file.read().decode().splitlines()
        if lines[-1:] != ["."]:
            raise AssertionError("the answer was cut off: %s" % lines)
        return lines[:-1]

    def answers(self):
        if not self.daemon.runs():
            raise AssertionError("adit-gateway has ended: " + self.log())
        with contextlib.suppress(OSError):
            return self.ask("status\n")[:1] == ["ok"]

    def status(self):
        return dict(line.split(" ", 1) for line in self.ask("status\n")[1:])

    def sessions(self):
        """{process id inside: (fingerprint, account, credentials)}"""
        found = {}
        for line in self.ask("list\n")[1:]:
            pid, _, fingerprint, account, idents = line.split("\t")
            found[int(pid)] = (fingerprint, account, idents.split(","))
        return found

    def log(self):
        with open(self.daemon_log, encoding="utf-8", errors="replace") as file:
            return file.read()

    # ---- ssh ----

    def key(self, *options):
        return Key(self.folder, "key-%d" % next(self.numbers), *options)

    def tunnel(self, key, *forwards, **options):
        return Tunnel(self, key, *forwards, **options)

    def session_files(self):
        """The names of the daemon's files, one for each session."""
        return [name for name in os.listdir(self.inside.path(STATE)) if name != ".lock"]

    def offer(self, key):
        """A client that waits for the passphrase of a key that the server knows."""
        locked = os.path.join(self.folder, "locked-%d" % next(self.numbers))
        shutil.copy(key.path, locked)
        shutil.copy(key.path + ".pub", locked + ".pub")
        stack.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "a passphrase", "-f", locked])
        ask = os.path.join(self.folder, "ask")
        with open(ask, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\nwhile kill -0 $PPID; do sleep 0.1; done\n")
        os.chmod(ask, 0o755)
        return Tunnel(self, None, options=("-i", locked, "-o", "IdentitiesOnly=yes", "-o",
                                           "BatchMode=no"),
                      env={"SSH_ASKPASS": ask, "SSH_ASKPASS_REQUIRE": "force"})

    def close_tunnels(self):
        """Ends all clients.  Returns once their listeners are gone, and sshd's processes, so that
        no session is left."""
        for tunnel in self.tunnels:
            tunnel.close()
        self.tunnels.clear()
        until(lambda: self.listeners() == [], "no listener")
        until(lambda: not self.sshd_processes(), "the end of sshd's processes")

    def listeners(self):
        """Where forwards listen."""
        return [at for at in self.inside.listeners() if at != "127.0.0.1:%d" % self.port]

    def visit(self, address):
        """What a server inside says first to a TCP client."""
        script = "exec 3<>/dev/tcp/%s; head -n 1 <&3" % "/".join(address.rsplit(":", 1))
        return stack.run(self.inside.on_network("/bin/bash", "-c", script)).stdout

    def sshd_processes(self):
        """{process id outside: (process id inside, whether it is a monitor)} of sshd's processes
        of connections."""
        found = {}
        for pid, inner, _, line in self.inside.processes():
            title = re.fullmatch(r"sshd(?:-session)?: \w+( \[priv\])?", line)
            if title:
                found[pid] = inner, title.group(1) is not None
        return found

    def monitors(self):
        """The monitors' process ids, inside and in order."""
        return sorted(inner for inner, is_monitor in self.sshd_processes().values() if is_monitor)


class OwnGateway(SshGateway):
    """sshd, the helper and the daemon run as the login user, without rights."""

    port = 2222
    owner = owner_group = 4103
    daemon_as = {"user": "tunnel"}

    def _configure_sshd(self, other_account):
        block = self._sshd_block().replace("User adit-ssh-keys", "User tunnel")
        self.inside.write("/run/own.conf", "UsePAM no\nLogLevel VERBOSE\n" + block)
        self.inside.write(SSHD_LOG, "", mode=0o666)

    def start_sshd(self):
        self._start_sshd(("-f", "/run/own.conf"), user="tunnel")


class LimitedGateway(SshGateway):
    """sshd has the limits of logins that aditctl prints."""

    def _configure_sshd(self, other_account):
        super()._configure_sshd(other_account)
        self.inside.write(LOGINS_CONF, stack.run(
            [os.path.join(stack.BUILD, "aditctl"), "gateway-config", "sshd-logins"]).stdout)

    def _limits(self):
        return ()


class GatewayCase(Case):
    """Tests with a gateway of their own.  Their stack has a database that gateways may enter."""

    stack_name = "gateway"
    gateway_type = SshGateway
    settings = {}
    daemon_env = {}

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not hasattr(shared, "cluster"):
            shared.cluster = cluster.attach(shared)
            shared.psql("CREATE ROLE gateway LOGIN IN ROLE adit_gateway")
            shared.other = shared.account("other")
        super().setUpClass()
        cls.gateway = cls.new_gateway()
        cls.addClassCleanup(cls.gateway.remove)

    @classmethod
    def new_gateway(cls):
        return cls.gateway_type(cls.stack, cls.stack.other.id, cls.settings, cls.daemon_env)

    def tearDown(self):
        self.gateway.close_tunnels()

    def credential(self, key, *rules, client=None, **members):
        """Stores a credential.  Returns its path."""
        answer = (client or self.admin).post(CREDENTIALS, {
            "public_key": getattr(key, "public", key), "acl": list(rules), **members})
        return "%s/%s" % (CREDENTIALS, self.assert_ok(answer, 201)["id"])

    def new_key(self, *rules, **members):
        """A key with a credential."""
        key = self.gateway.key()
        self.credential(key, *rules, **members)
        return key

    @contextlib.contextmanager
    def transaction(self, sql):
        """Runs SQL in a transaction that stays open.  Yields the function that commits it."""
        with subprocess.Popen([PROGRAM, "-X", "-q", "-A", "-t"], env=self.stack.pg_env(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as psql:
            def say(text):
                psql.stdin.write("\\set ON_ERROR_STOP\n%s;\n\\echo done\n" % text)
                psql.stdin.flush()
                self.assertEqual(psql.stdout.readline(), "done\n")
            say("BEGIN; " + sql)
            yield lambda: say("COMMIT")

    def standing(self, *tunnels):
        """Checks that the clients are logged in with all their forwards."""
        for tunnel in tunnels:
            self.assertTrue(tunnel.opened(), tunnel.log()[-400:] + self.gateway.log()[-800:])
        return tunnels


# Longer than two sweeps of the gateway, which find what the polls have missed.
NEVER_S = 0.8


def stay(*tunnels):
    """Whether none of the clients ends because of what happened before."""
    time.sleep(NEVER_S)
    return all(tunnel.stands() for tunnel in tunnels)


def have_ended(tunnels):
    """Waits for the end of all the clients.  Returns whether it comes.  tests/promises measures how
    soon."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if not any(tunnel.stands() for tunnel in tunnels):
            return True
        time.sleep(0.005)
    return False
