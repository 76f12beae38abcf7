# SPDX-License-Identifier: MIT
"""The test bed of tools/bench --gateway: a private Adit with data, adit-gateway, and a stock sshd
that asks it."""
import http.client
import json
import os
import pwd
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from adit import stack

import bed as beds
import measure
import pgbench

ROLE = "adit-gateway"
START_S = 15
N_KEYS = 5000

GATEWAY = """
[gateway]
conninfo = {conninfo}
account = {account}
socket = {socket}
state = {state}
poll = 100ms
sweep = 2s
"""

# Works as root and as another user.  /usr/bin/env stands before the helper because sshd runs only
# programs in folders of root; it replaces itself by the helper.
SSHD = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
PidFile none
UsePAM no
StrictModes no
MaxStartups 200
MaxSessions 0
AuthenticationMethods publickey
AuthorizedKeysFile none
AuthorizedKeysCommand /usr/bin/env {helper} --socket {socket} %u %f %t %k
AuthorizedKeysCommandUser {asker}
AllowTcpForwarding remote
GatewayPorts clientspecified
PermitOpen none
AllowStreamLocalForwarding no
"""


# load.sql writes the row's number in place of a fingerprint.
FINGERPRINTS = """
SET session_replication_role = replica;
UPDATE adit.ssh_credential SET fingerprint = 'SHA256:' || rtrim(encode(
    sha256(decode(split_part(public_key, ' ', 2), 'base64')), 'base64'), '=');
VACUUM (FULL, ANALYZE) adit.ssh_credential;
"""


def built(name):
    return os.path.join(stack.BUILD, name)


def this_user():
    return pwd.getpwuid(os.getuid()).pw_name


def spawn(command, log):
    """If this program is killed, the kernel ends its children."""
    with open(log, "a", encoding="utf-8") as file:
        return subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "--", *command],
                                stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/")


def end(process):
    if process and process.poll() is None:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def await_true(check, what, seconds=START_S):
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise measure.Broken(what)
        time.sleep(0.01)


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def sshd_version():
    # sshd prints its version with the usage, as all releases of OpenSSH do for a wrong option.
    text = stack.run(["/usr/sbin/sshd", "-?"], check=False).stderr
    found = re.search(r"OpenSSH_(\S+?),? ", text)
    return found.group(1) if found else "unknown"


class Tunnel:
    """An ssh that has a tunnel open."""

    def __init__(self, bed):
        self.bed = bed
        self.log = ""
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "--", "ssh", "-F", "none", "-N", "-i", bed.key_path,
             "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
             "-o", "UserKnownHostsFile=/dev/null", "-o", "ExitOnForwardFailure=yes",
             "-p", str(bed.ssh_port), "-R", "0:localhost:1", bed.ssh_user + "@127.0.0.1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.set_blocking(self.process.stderr.fileno(), False)

    def is_open(self):
        """sshd chooses the port, and ssh prints it once it listens there."""
        self.log += (self.process.stderr.read() or b"").decode("utf-8", "replace")
        if self.process.poll() is not None:
            raise measure.Broken("ssh could not open a tunnel: %s\n%s%s" % (
                self.log, self.bed.read_log("sshd.log"), self.bed.read_log("gateway.log")))
        return "Allocated port" in self.log

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


class Bed(beds.Bed):
    def __init__(self, n_rows):
        super().__init__(n_rows, n_accounts=1)
        self.conninfo = "host=%s port=%s dbname=%s user=%s" % (
            *(self.stack.env[name] for name in ("PGHOST", "PGPORT", "PGDATABASE")), ROLE)
        self.socket = os.path.join(self.folder, "ssh.sock")
        self.ssh_port = stack.free_port()
        # sshd separates the processes of a session for every user but root.
        self.ssh_user = "nobody" if os.getuid() == 0 else this_user()
        self.key_path = os.path.join(self.folder, "key")
        self.daemon = self.sshd = self.state_folder = None
        self.stack.psql('CREATE ROLE "%s" LOGIN IN ROLE adit_gateway' % ROLE)
        for name in ("key", "host_key"):
            stack.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f",
                       os.path.join(self.folder, name)])
        with open(self.key_path + ".pub", encoding="utf-8") as file:
            self.public_key = file.read().strip()
        self._choose_keys()

    def _choose_keys(self):
        self.stack.psql(FINGERPRINTS)
        rows = self.stack.psql(
            "SELECT fingerprint || ' ' || public_key FROM adit.ssh_credential"
            " WHERE account_id = '%s' ORDER BY random() LIMIT %d" % (self.account, N_KEYS))
        self.keys_path = os.path.join(self.folder, "keys")
        with open(self.keys_path, "w", encoding="utf-8") as file:
            file.write(rows + "\n")

    # ---- programs ----

    def start(self):
        conf = os.path.join(self.folder, "gateway.conf")
        # In memory, as /run is.
        self.state_folder = tempfile.mkdtemp(prefix="adit-bench-", dir="/dev/shm")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(GATEWAY.format(
                conninfo=self.conninfo, account=self.account, socket=self.socket,
                state=os.path.join(self.state_folder, "sessions")))
        self.daemon = spawn([built("adit-gateway"), "-c", conf],
                            os.path.join(self.folder, "gateway.log"))
        self._start_sshd()
        await_true(self.is_up, "adit-gateway does not start:\n" + self.read_log("gateway.log"))
        await_true(lambda: answers(self.ssh_port), "sshd does not start:\n"
                   + self.read_log("sshd.log"))

    def _start_sshd(self):
        conf = os.path.join(self.folder, "sshd_config")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(SSHD.format(port=self.ssh_port, folder=self.folder, socket=self.socket,
                                   helper=built("adit-ssh-keys"), asker=this_user()))
        if os.getuid() == 0:
            # Debian's unit makes it when sshd starts.
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self.sshd = spawn(["/usr/sbin/sshd", "-D", "-e", "-f", conf],
                          os.path.join(self.folder, "sshd.log"))

    def stop(self):
        end(self.sshd)
        end(self.daemon)
        if self.state_folder:
            shutil.rmtree(self.state_folder)

    def read_log(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                return "".join(file.readlines()[-20:])
        except OSError:
            return ""

    # ---- the daemon ----

    def status(self):
        """What adit-gateway says of itself, as {name: value}."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5)
            sock.connect(self.socket)
            sock.sendall(b"status\n")
            sock.shutdown(socket.SHUT_WR)
            with sock.makefile(encoding="utf-8") as stream:
                lines = stream.read().splitlines()
        return dict(line.partition(" ")[::2] for line in lines)

    def is_up(self):
        try:
            return self.status().get("database") == "up" and "last_poll_ms" in self.status()
        except OSError:
            if self.daemon.poll() is not None:
                raise measure.Broken("adit-gateway ended:\n" + self.read_log("gateway.log")) \
                    from None
            return False

    def await_no_session(self):
        await_true(lambda: self.status()["sessions"] == "0", "adit-gateway keeps dead sessions")

    def memory_kib(self, name):
        """VmRSS: resident now; VmHWM: the most so far."""
        with open("/proc/%d/status" % self.daemon.pid, encoding="utf-8") as file:
            return int(re.search(r"^%s:\s+(\d+) kB" % name, file.read(), re.M).group(1))

    def n_descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.daemon.pid))

    def backends(self):
        """PostgreSQL's processes that serve adit-gateway."""
        pids = self.stack.psql("SELECT pid FROM pg_stat_activity WHERE usename = '%s'" % ROLE)
        return [int(pid) for pid in pids.split()]

    def cut_off(self):
        """Ends the daemon's connection to PostgreSQL."""
        self.stack.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE usename = '%s'" % ROLE)

    def read_poll(self):
        """Writes the statement of a poll as a pgbench script, from PostgreSQL's log.  The one
        parameter is the snapshot."""
        log = os.path.join(self.stack.state, "log", "postgres.log")
        begin = os.path.getsize(log)
        found, settings = [], {}

        def has_poll():
            with open(log, encoding="utf-8") as file:
                file.seek(begin)
                statements, set_here = pgbench.read_log(file.read())
            settings.update(set_here)
            # The first one has no snapshot.
            found[:] = [one for one in statements if one[0] == "gateway_changes" and one[2].get(1)]
            return found

        self.stack.psql("ALTER ROLE \"%s\" SET log_statement = 'all'" % ROLE)
        self.cut_off()
        await_true(has_poll, "PostgreSQL's log has no poll")
        self.stack.psql('ALTER ROLE "%s" RESET log_statement' % ROLE)
        self.cut_off()
        script, variables = pgbench.make_script(found[0], beds.SAMPLE_ROW, beds.SAMPLE_NONCE)
        path = os.path.join(self.folder, "poll.pgbench")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        self.poll = path, dict(variables, first_row=1, last_row=1, serial=1)
        self.poll_env = dict(self.stack.pg_env(ROLE), PGOPTIONS=pgbench.options_of(settings))
        await_true(self.is_up, "adit-gateway does not reconnect")

    def poll_us(self, seconds):
        """PostgreSQL's CPU time for a poll, under pgbench."""
        path, variables = self.poll
        variables["p1"] = self.stack.psql("SELECT pg_current_snapshot()")
        return measure.pgbench(os.path.join(stack.PG_BIN, "pgbench"), path, variables, seconds,
                               self.poll_env, self.roots())[2]["PostgreSQL"]

    def logins(self, *command):
        """Runs bench-sshd.  Returns its two columns, in milliseconds."""
        with open(self.keys_path, encoding="utf-8") as keys:
            done = subprocess.run([built("bench-sshd"), *command], stdin=keys, capture_output=True,
                                  text=True, check=False)
        if done.returncode != 0:
            raise measure.Broken("bench-sshd %s\n%s%s" % (
                " ".join(command), done.stderr[-2000:], self.read_log("gateway.log")))
        pairs = [line.split() for line in done.stdout.splitlines()]
        return [[int(pair[column]) / 1e6 for pair in pairs] for column in (0, 1)]

    # ---- requests and tunnels ----

    def call(self, method, path, body=None):
        """Sends a request to the API.  Returns the answer's body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.stack.port, timeout=10)
        headers = {"Authorization": "Bearer " + self.keys["reader"], "Service-Version": "2"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise measure.Broken("%s %s: %d %r" % (method, path, answer.status, text))
        return json.loads(text) if text else None

    def open_tunnels(self, n):
        tunnels = []
        try:
            tunnels += (Tunnel(self) for _ in range(n))
            for tunnel in tunnels:
                await_true(tunnel.is_open, "ssh opens no tunnel", 60)
        except BaseException:
            for tunnel in tunnels:
                tunnel.kill()
            raise
        return tunnels

    def end_ms(self, n, before=lambda: None):
        """Milliseconds from the DELETE of a credential until n ssh with its key are gone.  Calls
        before() right before."""
        path = "/ssh_credentials/"
        path += self.call("POST", "/ssh_credentials", {"public_key": self.public_key})["id"]
        tunnels = self.open_tunnels(n)
        waits = select.poll()
        descriptors = [os.pidfd_open(tunnel.process.pid) for tunnel in tunnels]
        try:
            for descriptor in descriptors:
                waits.register(descriptor, select.POLLIN)
            before()
            began = time.monotonic()
            self.call("DELETE", path)
            n_left = n
            while n_left > 0:
                gone = waits.poll(30000)
                if not gone:
                    raise measure.Broken("%d of %d ssh go on after the DELETE" % (n_left, n))
                for descriptor, _ in gone:
                    waits.unregister(descriptor)
                n_left -= len(gone)
            return (time.monotonic() - began) * 1000
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
            for tunnel in tunnels:
                tunnel.kill()
