# SPDX-License-Identifier: MIT
"""The test bed of tools/bench --gate: a private Adit with routes, adit-gate, nginx with the
configuration that aditctl prints, and an identity provider."""
import contextlib
import http.client
import json
import os
import re
import selectors
import shutil
import socket
import ssl
import threading
import time
import urllib.parse

from adit import fastcgi, mock_provider, stack
from adit.certificates import Certificates
from adit.gate import Browser

import bed as beds
import measure
import operations
from gateway_bed import await_true, built, end, spawn

HERE = os.path.dirname(os.path.realpath(__file__))

ROLE = "bench_gate"
EDGE = "edge-1"
PROVIDER = "github"
USER = "alice"
WHO = "alice@example.com"
DOMAINS = ["example.com", "example.net", "example.org", "private.example.org"]
SYSTEM_AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"

TIMEOUT_S = 30

# The bed's credentials: no request of this benchmark reads one.
N_CREDENTIALS = 400

# Locations of nginx.  "gate" and "renewed" ask adit-gate: the module of the second one has an
# inactivity_timeout, so every answer has a new cookie.  "echo" asks the bare echo in its place, and
# "open" asks nobody.
LOCATIONS = ("open", "echo", "gate", "renewed")
ROUTES = {"gate": "route-1", "renewed": "route-2"}
HOST = "app.test"

# Routes with other modules, and sessions that have ended: their rows stay until they would have
# ended by themselves.
OTHERS = """
INSERT INTO adit.oauth_module
    (account_id, edge_id, route_id, enabled, provider, email_domains, options_passthrough,
     inactivity_timeout, maximum_duration, auth_check_interval)
SELECT '{account}', 'edge-' || (n % 100), 'other-' || n, true, 1, '{{example.com,example.org}}',
    false, 3600, 0, 0
FROM generate_series(1, {rows}) AS n;
INSERT INTO adit.gate_session (id, ends_at)
SELECT left(translate(encode(sha256(n::text::bytea), 'base64'), '+/', '-_'), 22),
    now() + interval '1 day'
FROM generate_series(1, {rows}) AS n;
VACUUM (ANALYZE) adit.oauth_module;
VACUUM (ANALYZE) adit.gate_session;
"""

SCANS = """
SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables
WHERE schemaname = 'adit' AND relname = 'oauth_module'
"""

NGINX = """
worker_processes {processors};
worker_cpu_affinity auto;
pid {folder}/nginx.pid;
error_log stderr;
daemon off;
events {{ worker_connections 512; }}
http {{
    access_log off;
    # A connection that ends would disturb the measurement.
    keepalive_requests 100000000;
{temporary}{servers}}}
"""


def is_asking(line):
    return re.match(r"\s*auth_request(_set)?\s", line)


class Bed(beds.Bed):
    def __init__(self, n_rows, slow_s):
        super().__init__(N_CREDENTIALS, n_accounts=1)
        self.slow_s = slow_s
        self.run_folder = os.path.join(self.stack.folder, "gate")
        os.mkdir(self.run_folder, 0o700)
        if os.getuid() == 0:
            shutil.chown(self.run_folder, "postgres", "postgres")
            # nginx, adit-gate and the echo are this user's.
            os.chmod(self.folder, 0o755)
        # Only wrk connects to ports; visitors come to doors.
        self.ports = {name: stack.free_port() for name in LOCATIONS}
        self.doors = {name: stack.free_port() for name in LOCATIONS}
        self.mock_port = stack.free_port()
        self.gate = self.nginx = self.mock = self.echo = None
        self.stack.psql("CREATE ROLE %s LOGIN IN ROLE adit_gate" % ROLE)
        self.stack.psql(OTHERS.format(account=self.account, rows=n_rows))
        self._make_certificates()
        self.provider = (self.stack.providers or ["provider_a"])[0]
        for name, inactivity_timeout in (("gate", 0), ("renewed", 3600)):
            self._put_module(ROUTES[name], inactivity_timeout)

    def path(self, name):
        return os.path.join(self.run_folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def read_log(self, name):
        with contextlib.suppress(OSError), open(self.path(name), encoding="utf-8",
                                                errors="replace") as file:
            return "".join(file.readlines()[-20:])
        return ""

    # ---- what there is ----

    def _make_certificates(self):
        """adit-gate trusts the system's authorities, as it does by default, and one more."""
        certificates = Certificates(self.run_folder)
        certificates.make("authority", is_authority=True)
        certificates.make("provider", "authority", subject="localhost",
                          more=["-addext", "subjectAltName=DNS:localhost"])
        with open(SYSTEM_AUTHORITIES, encoding="utf-8") as file:
            known = file.read()
        with open(certificates.path("authority.crt"), encoding="utf-8") as file:
            self.write("authorities.pem", known + file.read())
        self.trust = ssl.create_default_context(cafile=certificates.path("authority.crt"))

    def _put_module(self, route, inactivity_timeout):
        body = {"provider": {self.provider: {
            "client_id": "client-of-" + PROVIDER, "client_secret": "secret+of/" + PROVIDER + "=",
            "email_domains": DOMAINS}}, "inactivity_timeout": inactivity_timeout}
        connection = http.client.HTTPConnection("127.0.0.1", self.stack.port, timeout=10)
        connection.request("PUT", "/edges/https/%s/routes/%s/oauth" % (EDGE, route),
                           json.dumps(body), {"Authorization": "Bearer " + self.keys["reader"],
                                              "Service-Version": "2",
                                              "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status != 200:
            raise measure.Broken("PUT of a module: %d %r" % (answer.status, text))

    def _write_settings(self):
        """A login asks three times.  The first two answers together take slow_s."""
        slow = ":slow:%g" % (self.slow_s / 2)
        base = "https://localhost:%d" % self.mock_port
        paths = mock_provider.load(PROVIDER)["paths"]
        env = self.stack.env
        key_file = os.path.join(os.path.dirname(self.stack.conf_path), "adit.key")
        text = re.sub(r"(?m)^key_file *=.*\n", "", self.stack.read_conf())
        self.conf = self.write("adit.conf", text + (
            "\n[secrets]\nkey_file = %s\n"
            "\n[gate]\nconninfo = host=%s port=%s dbname=%s user=%s\naccount = %s\nca_file = %s\n"
            "\n[provider.%s]\nauthorize_url = %s\ntoken_url = %s\nuser_url = %s\n" % (
                key_file, env["PGHOST"], env["PGPORT"], env["PGDATABASE"], ROLE, self.account,
                self.path("authorities.pem"), self.provider, base + paths["authorize"],
                base + "/!token" + slow + paths["token"], base + "/!user" + slow + paths["user"])))

    # ---- programs ----

    def start(self):
        self._write_settings()
        self.mock = self._spawn("mock", "/usr/bin/python3", "-B", mock_provider.__file__,
                                "--provider", PROVIDER, "--cases", mock_provider.CASES,
                                "--port", str(self.mock_port),
                                "--certificate", self.path("provider.pem"))
        self.start_gate()
        self._start_nginx()
        for name, port in (("the provider", self.mock_port), ("nginx", self.doors["open"])):
            await_true(lambda port=port: self._answers(port), name + " does not start:\n"
                       + self.read_log("mock") + self.read_log("nginx"))
        self.cookies = {name: self._sign_in(name) for name in ROUTES}
        self._start_echo()
        self.check()

    def _spawn(self, name, *command):
        return spawn(stack.as_service(command), self.path(name))

    @staticmethod
    def _answers(place):
        with socket.socket(socket.AF_INET if isinstance(place, int) else socket.AF_UNIX) as probe:
            return probe.connect_ex(("127.0.0.1", place) if isinstance(place, int) else place) == 0

    def start_gate(self):
        self.gate = self._spawn("gate", built("adit-gate.fcgi"), "-c", self.conf,
                                "-l", "unix:" + self.path("gate.sock"))
        await_true(lambda: self._answers(self.path("gate.sock")), "adit-gate does not start:\n"
                   + self.read_log("gate"))

    def restart_gate(self):
        """A new program has read nothing yet."""
        end(self.gate)
        self.start_gate()

    def _start_echo(self):
        """The echo gives the answer that adit-gate gave to nginx."""
        with fastcgi.connect(self.path("gate.sock")) as sock, sock.makefile("rb") as file:
            sock.sendall(fastcgi.records({
                "ADIT_CHECK": "1", "ADIT_EDGE": EDGE, "ADIT_ROUTE": ROUTES["gate"],
                "REQUEST_METHOD": "GET", "REQUEST_URI": "/", "HTTP_COOKIE": self.cookies["gate"]}))
            answer = fastcgi.read_output(file)
        if not answer.startswith(b"Status: 200") or WHO.encode() not in answer:
            raise measure.Broken("adit-gate lets nobody pass: %r\n%s" % (
                answer, self.read_log("gate")))
        with open(self.path("answer"), "wb") as file:
            file.write(answer)
        n_workers = len(self.gate_workers())
        self.echo = self._spawn("echo", built("bench-echo"), self.path("answer"),
                                self.path("echo.sock"), str(n_workers))
        await_true(lambda: self._answers(self.path("echo.sock")), "the echo does not start")

    def gate_workers(self):
        return sorted(measure.families({"gate": self.gate.pid})["gate"] - {self.gate.pid})

    def stop(self):
        for process in (self.nginx, self.gate, self.echo, self.mock):
            end(process)

    def roots(self):
        return {"nginx": self.nginx.pid, "gate": self.gate.pid, "echo": self.echo.pid,
                "PostgreSQL": self.stack.postmaster()}

    # ---- nginx ----

    def _printed(self, name):
        """What aditctl prints.  The application costs nothing: nginx answers itself."""
        text = self.stack.ctl_run(
            "gateway-config", "nginx-oauth", "--route", "%s/%s" % (EDGE, ROUTES[name]),
            "--url", self.url(name), "--application", "127.0.0.1:1",
            "--socket", self.path("gate.sock"), conf=self.conf, check=True).stdout
        text, n = re.subn(r"proxy_pass http://\S+;", "empty_gif;", text)
        if n != 1:
            raise measure.Broken("aditctl prints another configuration:\n" + text)
        return text

    def _location(self, name):
        if name in ROUTES:
            return self._printed(name)
        text = self._printed("gate")
        if name == "echo":
            return text.replace(self.path("gate.sock"), self.path("echo.sock"))
        return "".join(line for line in text.splitlines(True) if not is_asking(line))

    def _start_nginx(self):
        temporary = "".join("    %s_temp_path %s;\n" % (name, self.path(name))
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        servers = "".join(
            "    server {\n        listen 127.0.0.1:%d;\n        listen 127.0.0.1:%d;\n"
            "        include %s;\n    }\n" % (
                self.ports[name], self.doors[name],
                self.write(name + ".conf", self._location(name)))
            for name in LOCATIONS)
        conf = self.write("nginx.conf", NGINX.format(
            processors=os.cpu_count(), folder=self.run_folder, temporary=temporary,
            servers=servers))
        self.nginx = self._spawn("nginx", "/usr/sbin/nginx", "-e", "stderr", "-p", self.run_folder,
                                 "-c", conf)

    def url(self, name):
        return "http://%s:%d" % (HOST, self.doors[name])

    # ---- visitors ----

    def browser(self, name):
        return Browser(self.doors[name], HOST)

    def _to_provider(self, browser):
        """Lets the visitor sign in at the provider.  Returns the path that it sends back to."""
        answer = browser.ask("/")
        if answer.status != 302:
            raise measure.Broken("no way to the provider: %d\n%s" % (
                answer.status, self.read_log("gate")))
        url = urllib.parse.urlsplit(answer.location)
        connection = http.client.HTTPSConnection("localhost", self.mock_port, context=self.trust,
                                                 timeout=30)
        connection.request("GET", "%s?%s&as=%s" % (url.path, url.query, USER))
        answer = connection.getresponse()
        answer.read()
        connection.close()
        url = urllib.parse.urlsplit(answer.headers["Location"])
        return url.path + "?" + url.query

    def _sign_in(self, name):
        """Returns the cookie of somebody who is signed in."""
        browser = self.browser(name)
        answer = browser.ask(self._to_provider(browser))
        if answer.status != 302 or not browser.session()[1]:
            raise measure.Broken("nobody can sign in: %d\n%s" % (answer.status,
                                                                 self.read_log("gate")))
        return browser.cookie_header("/")

    def request(self, name):
        return "GET / HTTP/1.1\r\nHost: %s\r\nUser-Agent: wrk\r\nAccept: */*\r\n%s\r\n" % (
            HOST, "Cookie: %s\r\n" % self.cookies["gate" if name in ("open", "echo") else name])

    def ask_once(self, name, cookie=True):
        """Asks on a connection of its own."""
        headers = {"Host": HOST, **({"Cookie": self.cookies[name]} if cookie else {})}
        connection = http.client.HTTPConnection("127.0.0.1", self.doors[name], timeout=10)
        connection.request("GET", "/", headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer

    def check(self):
        """Fails unless adit-gate decides."""
        # A cookie is renewed once a second.
        await_true(lambda: self.ask_once("renewed").headers.get("Set-Cookie"),
                   "no answer has a new cookie")
        for name in ROUTES:
            found = [self.ask_once(name, cookie) for cookie in (True, False)]
            renews = found[0].headers.get("Set-Cookie") is not None
            if [answer.status for answer in found] != [200, 302] or \
                    renews != (name == "renewed"):
                raise measure.Broken("adit-gate does not decide about %s: %d, %d\n%s" % (
                    name, *(answer.status for answer in found), self.read_log("gate")))

    def wrk_at(self, name, seconds, n_clients):
        path = self.write(name + ".request", self.request(name))
        # A late answer is a figure, too.
        return measure.wrk(HERE, self.ports[name], path, (operations.FIRST_ROW, 1), n_clients,
                           seconds, 200, TIMEOUT_S)

    # ---- queries ----

    def n_scans(self):
        """How often the table of modules was read.  Each statement of a check reads it once."""
        return int(self.stack.psql(SCANS))

    def await_scans(self, wanted):
        """PostgreSQL's sessions report what they did after a while."""
        await_true(lambda: self.n_scans() >= wanted,
                   "there were fewer queries than checks: %d of %d" % (self.n_scans(), wanted))

    # ---- logins ----

    def logins(self, n, during):
        """Sends n visitors back from the provider at once, and runs during() meanwhile.  Returns
        how long the logins took, in seconds."""
        ready = []
        for _ in range(n):
            browser = self.browser("gate")
            path = self._to_provider(browser)
            ready.append("GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s\r\nConnection: close\r\n\r\n"
                         % (path, HOST, browser.cookie_header("/_adit/callback")))
        self.restart_gate()
        # Every worker connects to the database.
        self.wrk_at("gate", 1, 8)
        failed = []

        def run():
            try:
                during()
            except measure.Broken as error:
                failed.append(error)
        thread = threading.Thread(target=run)
        thread.start()
        try:
            time.sleep(0.5)
            took = self._finish_logins(ready)
        finally:
            thread.join()
        if failed:
            raise failed[0]
        return took

    def _finish_logins(self, ready):
        began = time.monotonic()
        took, heads = [], {}
        with contextlib.ExitStack() as opened, selectors.DefaultSelector() as selector:
            for request in ready:
                sock = opened.enter_context(
                    socket.create_connection(("127.0.0.1", self.doors["gate"]), 30))
                sock.sendall(request.encode())
                heads[sock] = b""
                selector.register(sock, selectors.EVENT_READ)
            while selector.get_map():
                events = selector.select(30)
                if not events:
                    raise measure.Broken("%d logins do not end" % len(selector.get_map()))
                for key, _ in events:
                    data = key.fileobj.recv(65536)
                    heads[key.fileobj] += data
                    if not data:
                        selector.unregister(key.fileobj)
                        took.append(time.monotonic() - began)
        n_in = sum(head.startswith(b"HTTP/1.1 302") and b"session=" in head
                   for head in heads.values())
        if n_in != len(ready):
            raise measure.Broken("%d of %d logins succeeded\n%s" % (
                n_in, len(ready), self.read_log("gate")))
        return took
