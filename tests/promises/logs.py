# SPDX-License-Identifier: MIT
"""Logs.

Each event is one line of JSON with the operation's id, on standard error or in syslog.  No text
from a client breaks a line or reaches a terminal.  No line has a secret."""
import collections
import json
import os
import re
import shutil
import socket
import subprocess

from adit import fastcgi, samples, stack
from adit.programs import Responder, as_service, variables
from promise import PromiseCase

CREDENTIALS = "/ssh_credentials"
LEVELS = ("error", "warning", "info", "debug")

# Text that could end a line, start another, or control a terminal.
INJECTIONS = {
    "CR LF": b"\r\n", "LF": b"\n", "NUL": b"\0", "ESC": b"\x1b[2J\x1b]0;x\x07",
    "U+2028": "\u2028".encode(), "quote": b'","level":"error","event":"forged","x":"',
    "line": b'"}\n{"time":"2026-01-01T00:00:00Z","level":"error","event":"forged"}\n',
    "not UTF-8": b"\xff\xfe\xc0\x80", "U+0085": b"\xc2\x85", "DEL": b"\x7f\x9b2J",
    "long": b"\n" * 5000,
}

# The names of an event's members.  No client can add one.
NAMES = {"time", "level", "event", "left_out", "operation_id", "method", "route", "status", "error",
         "number", "cause", "duration_ms", "api_key_id", "account_id", "client_address", "pid",
         "landlock", "seccomp"}

# For a private mount namespace: a new /dev, whose log is the test's socket.
OWN_DEV = """
set -eu
mount -t tmpfs -o mode=0755 tmpfs "$1"
for name in null zero full random urandom; do
    : >"$1/$name"
    mount --bind "/dev/$name" "$1/$name"
done
# The stack may be there.
if [ -d /dev/shm ]; then
    mkdir "$1/shm"
    mount --bind /dev/shm "$1/shm"
fi
ln -s "$2" "$1/log"
mount --rbind "$1" /dev
shift 2
exec "$@"
"""


def requests(account):
    """(description, variables, body) of each request."""
    key = account.admin.key
    body = json.dumps(samples.credential()).encode()
    names = list(variables(key, "POST", body=body)) + [
        "HTTP_X", "HTTPS", "REMOTE_ADDR", "REDIRECT_HTTP_AUTHORIZATION", "HTTP_TRANSFER_ENCODING"]
    for kind, text in INJECTIONS.items():
        for name in names:
            for around in (b"%s", b"Bearer %s", b"a%sb"):
                said = dict(variables(key, "POST", body=body))
                said[name] = around.replace(b"%s", text)
                yield "%s in %s" % (kind, name), said, body
        path = b"/edges/tls/a%sb/mutual_tls".replace(b"%s", text)
        yield kind + " in a path", dict(variables(key, "GET"), PATH_INFO=path), b""
        said = dict(variables(key))
        said[b"HTTP_" + text] = "x"
        yield kind + " in a variable's name", said, b""
        for method, path, member in (
                ("POST", CREDENTIALS, "public_key"), ("POST", CREDENTIALS, "description"),
                ("POST", CREDENTIALS, "metadata"), ("POST", CREDENTIALS, "owner_id"),
                ("POST", CREDENTIALS, "acl"), ("PUT", "/edges/tls/a/mutual_tls", "enabled"),
                ("PUT", "/edges/https/a/routes/b/oauth", "cookie_prefix")):
            shown = text.decode("utf-8", "replace")
            for whole in (json.dumps({member: shown}), json.dumps({member: [shown]}),
                          json.dumps({shown: member}), '{"%s": "%s"}' % (member, shown)):
                yield "%s in the body's %s" % (kind, member), variables(
                    key, method, path, whole.encode()), whole.encode()
        yield kind + " as a body", variables(key, "POST", body=text), text


class Injection(PromiseCase):
    """All INJECTIONS in each variable, the body and the path of a request, and in the settings."""

    def with_settings(self, *changes):
        path = "%s.%s" % (self.stack.conf_path, self._testMethodName)
        with open(self.stack.conf_path, encoding="utf-8") as file:
            text = file.read()
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        shutil.copymode(self.stack.conf_path, path)
        status = os.stat(self.stack.conf_path)
        os.chown(path, status.st_uid, status.st_gid)
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        return path

    def look_at(self, lines):
        """Checks the lines and returns their events.  Each line is one object in printable ASCII
        with known names and text values.  No line is a forged event."""
        events = []
        for line in lines:
            self.assertRegex(line, rb"^[ -~]+$")
            event = json.loads(line, object_pairs_hook=self.pairs)
            self.assertLessEqual(set(event), NAMES, line)
            self.assertNotEqual(event["event"], "forged", line)
            self.assertIn(event["level"], LEVELS)
            self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            self.assertNotIn(self.home.admin.key.encode(), line)
            events.append(event)
        return events

    def pairs(self, pairs):
        self.assertEqual(len(dict(pairs)), len(pairs), pairs)
        self.assertTrue(all(isinstance(value, str) for _, value in pairs))
        return dict(pairs)

    def send_all(self, path):
        """Returns the operation ids of the answers, how many requests were dropped, and the id of
        the request that failed."""
        answered, dropped = [], 0
        for what, said, body in requests(self.home):
            with self.subTest(what):
                try:
                    answer = fastcgi.ask(path, said, body)
                    answered.append(answer.header("Service-Operation-Id"))
                except (EOFError, ConnectionResetError, BrokenPipeError):
                    dropped += 1
        # A server error, which is logged at every level.
        self.stack.psql("ALTER TABLE adit.mutual_tls_module ADD CONSTRAINT logs CHECK (false)"
                        " NOT VALID")
        try:
            said = variables(self.home.admin.key, "PUT", "/edges/tls/log/mutual_tls", b"{}")
            answer = fastcgi.ask(path, said, b"{}")
            self.assertEqual(answer.status, 500)
        finally:
            self.stack.psql("ALTER TABLE adit.mutual_tls_module DROP CONSTRAINT logs")
        return answered, dropped, answer.header("Service-Operation-Id")

    def check(self, level, lines, answered, dropped, failed):
        events = self.look_at(lines)
        ids = collections.Counter(event["operation_id"] for event in events
                                  if event["event"] == "request")
        self.assertEqual(ids[failed], 1)
        if level == "debug":
            self.assertEqual(ids, collections.Counter([*answered, failed]))
        lost = sum(event["event"] == "connection dropped" for event in events)
        self.assertEqual(lost, 0 if level == "error" else dropped)
        self.assertGreater(dropped, 0)
        return len(events)

    def test_standard_error(self):
        """At each level, on standard error"""
        for level in LEVELS:
            conf = self.with_settings(("level = info", "level = " + level))
            with Responder(self.stack, 2, conf) as responder:
                sent = self.send_all(responder.socket)
            lines = responder.log().splitlines()
            n = self.check(level, lines, *sent)
            self.figure("requests at level " + level, len(sent[0]) + sent[1] + 1, at_least=850)
            self.figure("lines that are one event each at level " + level, n, exactly=len(lines))

    def test_syslog(self):
        """At each level, in syslog, on the test's own /dev/log"""
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        os.mkdir(folder + "/dev")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.bind(folder + "/log")
            os.chmod(folder + "/log", 0o777)
            log.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
            for level in LEVELS:
                self.look_at_syslog(level, log, folder)

    def look_at_syslog(self, level, log, folder):
        def around(command):
            as_caller = ["setpriv", "--reuid=%d" % os.geteuid(), "--regid=%d" % os.getegid(),
                         "--init-groups", "--"]
            inside = as_service(command) if os.geteuid() == 0 else [*as_caller, *command]
            outside = [] if os.geteuid() == 0 else ["sudo", "-n"]
            return [*outside, "unshare", "--mount", "--propagation", "private", "sh", "-c", OWN_DEV,
                    "sh", folder + "/dev", folder + "/log", *inside]
        conf = self.with_settings(("level = info", "level = %s\ntarget = syslog" % level))
        collector = Collector(log)
        collector.start()
        try:
            with Responder(self.stack, 2, conf, around) as responder:
                sent = self.send_all(responder.socket)
        finally:
            messages = collector.stop()
        self.assertEqual(responder.log(), b"")
        lines = []
        for message in messages:
            match = re.match(rb"<(\d+)>\w+ [ \d]\d \d\d:\d\d:\d\d adit\[\d+\]: (.*)\Z", message,
                             re.S)
            self.assertTrue(match, message)
            lines.append(match.group(2))
            self.assertEqual(int(match.group(1)) & 7,
                             {"error": 3, "warning": 4, "info": 6, "debug": 7}[
                                 json.loads(match.group(2))["level"]])
        n = self.check(level, lines, *sent)
        self.figure("messages that are one event each at level " + level, n, exactly=len(messages))

    def test_settings(self):
        """Hostile text in the settings, in their file's name, and in options of the command line"""
        program = os.path.join(self.stack.state, "bin", "adit.fcgi")
        n_started = 0
        n_lines = 0
        for kind, text in INJECTIONS.items():
            shown = text.replace(b"\0", b"\x01").decode("latin-1")[:300]
            conf = self.with_settings()
            with open(conf, "rb") as file:
                settings = file.read()
            rows = [[conf, settings.replace(old, new)] for old, new in (
                (b"name = service", b"name = a" + text + b"b"),
                (b"[service]", b"[service]\nproviders = " + text),
                (b"[service]", b"[service]\nbase_url = https://" + text),
                (b"[service]", b"[service" + text + b"]"),
                (b"[service]", b"[service]\na" + text + b" = b"),
                (b"conninfo = ", b"conninfo = a" + text), (b"level = info", b"level = i" + text),
                (b"[log]", b"[secrets]\nkey_file = /nonexistent/" + text + b"\n[log]"))]
            rows.append([conf + shown, None])
            for path, content in rows:
                with self.subTest(kind):
                    if content is not None:
                        with open(path, "wb") as file:
                            file.write(content)
                    done = subprocess.run(as_service([program, "-c", path, "-w", "1"]),
                                          capture_output=True, env=stack.CLEAN_ENV, cwd="/",
                                          stdin=subprocess.DEVNULL, check=False, timeout=60)
                    lines = done.stderr.splitlines()
                    self.look_at(lines)
                    self.assertEqual(len(lines), 1, done.stderr)
                    self.assertEqual(done.returncode, 1)
                    n_lines += len(lines)
                    n_started += 1
        self.figure("starts refused", n_started, at_least=90)
        self.figure("lines that are one event each", n_lines, exactly=n_started)


class Collector:
    """Collects datagrams in the background.  After stop(), ends once none arrives for 0.2 s."""

    def __init__(self, sock):
        import threading
        self.sock, self.messages, self.done = sock, [], threading.Event()
        self.thread = threading.Thread(target=self.run)
        sock.settimeout(0.2)

    def run(self):
        while True:
            try:
                self.messages.append(self.sock.recv(65536))
            except TimeoutError:
                if self.done.is_set():
                    return

    def start(self):
        self.thread.start()

    def stop(self):
        self.done.set()
        self.thread.join()
        return self.messages
