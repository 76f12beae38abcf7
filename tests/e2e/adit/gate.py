# SPDX-License-Identifier: MIT
"""A route behind the gate: adit-gate, an identity provider that is a mock, an application, and nginx
or Apache with the configuration that aditctl prints."""
import base64
import contextlib
import hashlib
import http.client
import http.server
import io
import json
import os
import re
import shutil
import signal
import socket
import threading
import urllib.parse

from adit import fastcgi, programs, recipe, stack
from adit.case import until
from adit.certificates import Certificates
from adit.clock import Clock
from adit.mock_provider import MockProvider
from adit.reference import openapi
from adit.tls_edges import MODULES

HOST = "app.test"
# Routes of the same edge, by host.  The last one is of another account, and is named as the first.
ROUTES = {HOST: "route-1", "two.test": "route-2", "else.test": "route-1"}
ELSEWHERE = "else.test"
WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Application(http.server.ThreadingHTTPServer):
    """Answers with what it saw: method, path, and the headers of the request; at /status/N with
    that status.  It sets a cookie each time.  In a WebSocket (RFC 6455), it says first what it saw,
    and then each short message once more."""

    daemon_threads = True

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self):
                if self.headers.get("Upgrade", "").lower() == "websocket":
                    self.talk()
                    return
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                body = json.dumps({"method": self.command, "path": self.path,
                                   "headers": self.headers.items()}).encode()
                with self.server.counting:
                    self.server.n_requests += 1
                wanted = re.match("/status/([0-9]+)", self.path)
                self.send_response(int(wanted.group(1)) if wanted else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Set-Cookie", "application=yes; Path=/application")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("X-Application", "yes")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def talk(self):
                with self.server.counting:
                    self.server.n_requests += 1
                key = self.headers["Sec-WebSocket-Key"] + WEBSOCKET_GUID
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.send_header("Sec-WebSocket-Accept", base64.b64encode(
                    hashlib.sha1(key.encode()).digest()).decode())
                self.send_header("X-Application", "yes")
                self.end_headers()
                message = json.dumps(self.headers.items()).encode()
                while message is not None:
                    length = len(message)
                    self.wfile.write(bytes([0x81, length] if length < 126 else [
                        0x81, 126, length >> 8, length & 0xFF]) + message)
                    message = self.hear()
                self.close_connection = True

            def hear(self):
                """The next short message of a client; None: it has gone."""
                head = self.rfile.read(6)
                if len(head) < 6 or head[0] != 0x81:
                    return None
                return bytes(byte ^ head[2 + at % 4] for at, byte in enumerate(
                    self.rfile.read(head[1] & 0x7F)))

            do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = answer

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.n_requests = 0
        self.counting = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_):
        """A server that ends a connection is no error."""


class Answer:
    """An answer to a browser."""

    def __init__(self, answer):
        self.status = answer.status
        self.headers = answer.headers
        self.body = answer.read()
        self.location = answer.headers.get("Location")

    @property
    def text(self):
        return self.body.decode()

    @property
    def seen(self):
        """What the application saw; None: it saw nothing."""
        if self.headers.get("X-Application") != "yes":
            return None
        return json.loads(self.body)

    def seen_header(self, name):
        return [value for key, value in self.seen["headers"] if key.lower() == name.lower()]


class RefusedSocket:
    """The head of an answer to a client that wanted a WebSocket."""

    def __init__(self, head):
        self.status = int(head.split()[1])
        self.headers = http.client.parse_headers(io.BytesIO(head.partition(b"\r\n")[2]))
        self.location = self.headers.get("Location")


class WebSocket(RefusedSocket):
    """A client's end of an open WebSocket.  seen is what the application saw of the request."""

    def __init__(self, connection, head):
        super().__init__(head)
        self.connection = connection
        self.seen = json.loads(self.hear())

    def say(self, text):
        """Sends a short message."""
        data = text.encode()
        self.connection.sendall(bytes([0x81, 0x80 | len(data)]) + b"mask" + bytes(
            byte ^ b"mask"[at % 4] for at, byte in enumerate(data)))

    def hear(self):
        length = self._read(2)[1]
        return self._read(int.from_bytes(self._read(2), "big") if length == 126 else length)

    def _read(self, length):
        data = b""
        while len(data) < length:
            more = self.connection.recv(length - len(data))
            if not more:
                raise AssertionError("the WebSocket has ended")
            data += more
        return data


class Browser:
    """Keeps cookies by path, as browsers do.  Follows no redirect by itself."""

    def __init__(self, port, host=HOST):
        self.port = port
        self.host = host
        self.cookies = {}  # (name, path): value

    def copy(self):
        other = Browser(self.port, self.host)
        other.cookies = dict(self.cookies)
        return other

    def cookie_header(self, path):
        return "; ".join("%s=%s" % (name, value) for (name, folder), value in self.cookies.items()
                         if path.startswith(folder))

    def ask(self, path="/", method="GET", headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            cookies = self.cookie_header(path)
            connection.request(method, path, body, {
                "Host": self.host, **({"Cookie": cookies} if cookies else {}), **(headers or {})})
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        for line in answer.headers.get_all("Set-Cookie") or []:
            self.take(line)
        return answer

    def ask_raw(self, *lines, body=b""):
        """Sends the bytes of a request line, of further headers and of a body."""
        cookies = self.cookie_header("/")
        lines = [*lines, b"Host: " + self.host.encode(), b"Connection: close"]
        if cookies:
            lines.append(b"Cookie: " + cookies.encode())
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            answer = Answer(answer)
        for line in answer.headers.get_all("Set-Cookie") or []:
            self.take(line)
        return answer

    @contextlib.contextmanager
    def web_socket(self, path="/ws", headers=None):
        """Opens a WebSocket.  Yields a WebSocket, or the Answer if there is none."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            cookies = self.cookie_header(path)
            lines = ["GET %s HTTP/1.1" % path] + ["%s: %s" % pair for pair in {
                "Host": self.host, "Connection": "Upgrade", "Upgrade": "websocket",
                "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
                **({"Cookie": cookies} if cookies else {}), **(headers or {})}.items()]
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            # The answer reads no byte behind its head.
            with connection.makefile("rb", buffering=0) as file:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    byte = file.read(1)
                    if not byte:
                        raise AssertionError("no answer: %r" % head)
                    head += byte
                if not head.startswith(b"HTTP/1.1 101 "):
                    yield RefusedSocket(head)
                    return
                yield WebSocket(connection, head)

    def take(self, line):
        pair, *rest = line.split(";")
        name, _, value = pair.partition("=")
        attributes = dict(part.strip().partition("=")[::2] for part in rest)
        attributes = {key.lower(): value for key, value in attributes.items()}
        key = (name.strip(), attributes.get("path", "/"))
        if attributes.get("max-age") == "0":
            self.cookies.pop(key, None)
        else:
            self.cookies[key] = value.strip()

    def session(self):
        """The name and the value of the session's cookie."""
        found = [(name, value) for (name, _), value in self.cookies.items()
                 if name.endswith("session")]
        return found[0] if found else (None, None)


class Program(programs.Program):
    """Another adit-gate, which a test asks by FastCGI.  settings are those of [gate]."""

    def __init__(self, gate, options=(), env=None, name="another", **settings):
        conf = gate.write(name + ".conf", gate.make_conf(**settings))
        self.gate = gate
        self.socket = gate.path("run", name + ".sock")
        command = [os.path.join(stack.BUILD, "adit-gate.fcgi"), "-c", conf,
                   "-l", "unix:" + self.socket, *options]
        super().__init__(gate.stack, lambda _: stack.as_service(command), "gate", env)
        until(self._listens, "another adit-gate")

    def _listens(self):
        if self.process.poll() is not None:
            raise AssertionError("adit-gate has ended: " + self.log().decode())
        with contextlib.suppress(OSError):
            fastcgi.connect(self.socket).close()
            return True
        return False

    def events(self):
        """The lines of its log."""
        return [json.loads(line) for line in self.log().decode().splitlines()
                if line.startswith("{")]

    def ask(self, browser=None, records=fastcgi.records, **variables):
        """Asks whether a request may pass, as nginx does.  Returns status and headers."""
        known = {"ADIT_CHECK": "1", "ADIT_EDGE": Gate.EDGE, "ADIT_ROUTE": ROUTES[HOST],
                 "ADIT_URL": self.gate.url(), "REQUEST_METHOD": "GET", "REQUEST_URI": "/",
                 "HTTP_COOKIE": browser.cookie_header("/") if browser else "", **variables}
        with fastcgi.connect(self.socket) as sock, sock.makefile("rb") as file:
            sock.sendall(records(known))
            head = fastcgi.read_output(file).partition(b"\r\n\r\n")[0].decode()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n"))
        return int(headers.pop("Status").split()[0]), headers


class Gate:
    """adit-gate with an application and a provider.  front is "nginx" or "apache"; settings are
    lines of its configuration for all sites."""

    EDGE = "edge-1"
    MANAGED_SECRET = "the secret of the managed application"

    def __init__(self, stack_, front="nginx", settings=""):
        self.stack = stack_
        self.front = front
        self.settings = settings
        self.folder = stack.make_folder()
        self.account = stack_.account("gate")
        self.other_account = stack_.account("another")
        self.running = []
        os.mkdir(self.path("made"))
        os.mkdir(self.path("server"))
        os.mkdir(self.path("run"))
        if os.geteuid() == 0:
            shutil.chown(self.path("run"), "postgres", "postgres")
        self.certificates = Certificates(self.path("made"))
        self.certificates.make("authority", is_authority=True)
        self.certificates.make("provider", "authority", subject="localhost",
                               more=["-addext", "subjectAltName=DNS:localhost"])
        # The code hosting platform has a managed application, too.
        self.provider, self.mock = self._mock(1)
        self.other_provider, self.other_mock = self._mock(4)
        self.mock.managed = ("managed", self.MANAGED_SECRET)
        secret = self.write("managed-secret", self.MANAGED_SECRET + "\n", 0o640)
        if os.geteuid() == 0:
            shutil.chown(secret, "postgres", "postgres")
        self.managed = {"client_id": "managed", "client_secret_file": secret}
        self.clock = Clock(self.folder)
        self.application = self.make_application()
        self.port = stack.free_port()
        self.gate_port = stack.free_port()
        self.metrics_port = stack.free_port()
        self.start()

    def _mock(self, position):
        names = self.stack.providers or openapi.PROVIDERS
        return names[position - 1], MockProvider(position, self.certificates.path("provider.pem"))

    def make_application(self):
        return Application()

    def in_server(self, host):
        """More lines of a host's server block or virtual host."""
        return ""

    def more_servers(self):
        """More servers or virtual hosts, after those of the routes: here, the one of monitor.md."""
        block = re.search(r"(?ms)^```%s\n(.*?)^```$" % self.front, recipe.read("monitor.md")).group(1)
        for old, new in (("127.0.0.1:883", "127.0.0.1:%d" % self.metrics_port),
                         ("127.0.0.1:918", "127.0.0.1:%d" % self.gate_port),
                         ("/run/adit-gate/gate.sock", self.path("run", "gate.sock"))):
            block = block.replace(old, new)
        return block

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def url(self, host=HOST):
        return "http://%s:%d" % (host, self.port)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    # ---- programs ----

    def make_conf(self, **settings):
        if self.stack.psql("SELECT count(*) FROM pg_roles WHERE rolname = 'gate'") == "0":
            self.stack.psql("CREATE ROLE gate LOGIN IN ROLE adit_gate")
        env = self.stack.env
        values = {"conninfo": "host=%s port=%s dbname=%s user=gate" % (
            env["PGHOST"], env["PGPORT"], env["PGDATABASE"]),
            "account": self.account.id, "ca_file": self.certificates.path("authority.crt"),
            **settings}
        text = re.sub(r"(?m)^key_file *=.*\n", "", self.stack.read_conf())
        text += "\n[secrets]\nkey_file = %s\n" % self.key_file
        sections = {"gate": values,
                    "provider." + self.provider: {**self.mock.settings(), **self.managed},
                    "provider." + self.other_provider: self.other_mock.settings()}
        return text + "".join("\n[%s]\n%s\n" % (
            name, "\n".join("%s = %s" % pair for pair in section.items()))
            for name, section in sections.items())

    def start(self):
        # A copy, so that a test can change it.
        self.key_file = self.path("key")
        shutil.copy2(os.path.join(os.path.dirname(self.stack.conf_path), "adit.key"), self.key_file)
        if os.geteuid() == 0:
            shutil.chown(self.key_file, "postgres", "postgres")
        self.conf = self.write("adit.conf", self.make_conf())
        self.start_gate()
        (self.start_nginx if self.front == "nginx" else self.start_apache)()

    def start_gate(self):
        if self.front == "nginx":
            self.socket = self.path("run", "gate.sock")
            listen = "unix:" + self.socket
        else:
            listen = "127.0.0.1:%d" % self.gate_port
        command = [os.path.join(stack.BUILD, "adit-gate.fcgi"), "-c", self.conf, "-l", listen,
                   "-m", "0666", "-w", "2"]
        self.gate = programs.Program(self.stack, lambda _: stack.as_service(command), "gate",
                                     self.clock.env())
        self.running.append(self.gate)
        until(self._gate_listens, "adit-gate")

    def stop_gate(self, how=signal.SIGTERM):
        """Stops all of its processes: a killed supervisor leaves its workers."""
        workers = programs.children(self.gate.process.pid)
        self.gate.stop(how)
        if how == signal.SIGKILL:
            programs.signal_all(workers, how)

    def restart_gate(self, times_slower):
        """Starts it anew, with a steady clock that goes so many times slower."""
        self.stop_gate()
        self.clock.slow_down(times_slower)
        self.start_gate()

    @contextlib.contextmanager
    def patience(self):
        """The gate gives providers 50 s instead of 5: a busy machine takes long to do what a test
        wants done meanwhile."""
        self.restart_gate(10)
        try:
            yield
        finally:
            self.restart_gate(1)

    def _gate_listens(self):
        if self.gate.process.poll() is not None:
            raise AssertionError("adit-gate has ended: " + self.gate.log().decode())
        with contextlib.suppress(OSError):
            if self.front != "nginx":
                socket.create_connection(("127.0.0.1", self.gate_port)).close()
                return True
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(self.socket)
                return True
        return False

    def printed(self, host=HOST):
        """The configuration of a host's route, as aditctl prints it."""
        kind = "nginx-oauth" if self.front == "nginx" else "apache-oauth"
        return self.stack.ctl_run(
            "gateway-config", kind, "--route", "%s/%s" % (self.EDGE, ROUTES[host]),
            "--url", self.url(host),
            "--application", "127.0.0.1:%d" % self.application.server_address[1],
            *(["--account", self.other_account.id] if host == ELSEWHERE else []),
            *(["--socket", self.socket] if self.front == "nginx" else []),
            conf=self.conf, check=True).stdout

    def _spawn(self, name, command):
        program = programs.Program(self.stack, lambda _: command, name,
                                   dict(programs.ENV, PATH=os.environ["PATH"] + ":/usr/sbin"))
        self.running.append(program)
        until(lambda: self._listens(program), name)

    def _listens(self, program):
        if program.process.poll() is not None:
            raise AssertionError("it has ended: " + program.log().decode())
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        return False

    def start_nginx(self):
        temporary = "".join("    %s_temp_path %s;\n" % (name, self.path("server", name))
                            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        servers = "".join(
            "    server {\n        listen 127.0.0.1:%d;\n        server_name %s;\n"
            "%s        include %s;\n    }\n" % (
                self.port, host, self.in_server(host),
                self.write(host + ".conf", self.printed(host)))
            for host in ROUTES) + self.more_servers()
        self.write("nginx.conf", "worker_processes 2;\npid %s;\ndaemon off;\nevents {}\n"
                   "http {\n    access_log %s combined;\n%s%s%s}\n" % (
                       self.path("server", "pid"), self.path("server", "access"), temporary,
                       self.settings.replace("FOLDER", self.path("server")), servers))
        self._spawn("nginx", ["nginx", "-c", self.path("nginx.conf"), "-e", "stderr"])

    def start_apache(self):
        lines = ["ServerRoot " + self.path("server"), "ServerName localhost",
                 "PidFile " + self.path("server", "pid"),
                 "DefaultRuntimeDir " + self.path("server"), "ErrorLog /dev/stderr",
                 "Mutex posixsem", "Listen 127.0.0.1:%d" % self.port]
        lines += ["LoadModule %s_module %s/mod_%s.so" % (name, MODULES, name) for name in (
            "mpm_event", "authn_core", "authz_core", "authnz_fcgi", "env", "headers", "setenvif",
            "proxy", "proxy_http", "proxy_fcgi")]
        # As doc/install/oauth-route.md says: without the callback, whose URL has the code.
        lines += ['LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\"" combined',
                  "CustomLog %s combined \"expr=%%{REQUEST_URI} != '/_adit/callback'\"" % self.path(
                      "server", "access")]
        if os.getuid() == 0:
            lines += ["User nobody", "Group nogroup"]
        lines += ["AuthnzFcgiDefineProvider authnz AditGate fcgi://127.0.0.1:%d/" % self.gate_port]
        lines += [self.settings.replace("MODULES", MODULES)]
        for host in ROUTES:
            route = self.printed(host).replace(":918/", ":%d/" % self.gate_port)
            lines += ["<VirtualHost 127.0.0.1:%d>" % self.port, "ServerName " + host,
                      self.in_server(host), "Include " + self.write(host + ".conf", route),
                      "</VirtualHost>"]
        lines += [self.more_servers()]
        self.write("apache.conf", "\n".join(lines) + "\n")
        self._spawn("apache", ["apache2", "-f", self.path("apache.conf"), "-DFOREGROUND"])

    # ---- the modules ----

    def module(self, host=HOST, **members):
        """Stores a route's module.  config holds the members of the provider; None there leaves a
        member out."""
        config = {"client_id": self.mock.client_id, "client_secret": self.mock.client_secret,
                  **members.pop("config", {})}
        self.put({"provider": {self.provider: {
            name: value for name, value in config.items() if value is not None}}, **members}, host)

    def other_module(self, host=HOST, **members):
        """Stores a module with the other provider."""
        self.put({"provider": {self.other_provider: {
            "client_id": self.other_mock.client_id,
            "client_secret": self.other_mock.client_secret}}, **members}, host)

    def _member(self, host):
        account = self.other_account if host == ELSEWHERE else self.account
        return self.stack.client(account.member.key)

    def _module_path(self, host):
        return "/edges/https/%s/routes/%s/oauth" % (self.EDGE, ROUTES[host])

    def put(self, body, host=HOST):
        answer = self._member(host).put(self._module_path(host), body)
        if answer.status != 200:
            raise AssertionError(answer)

    def judge(self, body):
        """Asks whom a module would let in."""
        return self._member(HOST).post("/oauth_admissions", body)

    def delete(self, host=HOST):
        self._member(host).delete(self._module_path(host))

    # ---- visitors ----

    def browser(self, host=HOST):
        return Browser(self.port, host)

    def sign_in(self, user, path="/", browser=None):
        """Signs a user in.  Returns the browser and the answer to its last request."""
        browser = browser or self.browser()
        answer = browser.ask(path)
        begin = self.url(browser.host) + "/_adit/callback?begin="
        if answer.status == 302 and answer.location.startswith(begin):
            # http behind an https URL: the login begins at the URL's scheme.
            answer = browser.ask(answer.location.removeprefix(self.url(browser.host)))
        if answer.status != 302:
            raise AssertionError("no way to the provider: %d" % answer.status)
        answer = browser.ask(self.callback(answer.location, user, browser.host))
        while answer.status == 302 and answer.location.startswith("/"):
            answer = browser.ask(answer.location)
        return browser, answer

    def callback(self, location, user, host=HOST):
        """Lets a user sign in at the provider.  Returns the path that the provider sends to."""
        mock = self.mock if location.startswith(self.mock.base_url) else self.other_mock
        back = mock.sign_in(location, user)
        parts = urllib.parse.urlsplit(back)
        if "%s://%s" % (parts.scheme, parts.netloc) != self.url(host):
            raise AssertionError("the provider sends to " + back)
        return parts.path + "?" + parts.query

    def log(self):
        """What adit-gate has logged since it was started last."""
        return [json.loads(line) for line in self.gate.log().decode().splitlines()
                if line.startswith("{")]

    def remove(self):
        for program in reversed(self.running):
            program.stop()
        self.application.shutdown()
        self.application.server_close()
        self.mock.close()
        self.other_mock.close()
        shutil.rmtree(self.folder)
