# SPDX-License-Identifier: MIT
"""Fronts: web servers in front of one stack's responder and database.  Each server has fronts at
the root of a host and below a path."""
import atexit
import http.client
import os
import posixpath
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

from adit import samples
from adit.programs import children
from adit.stack import CLEAN_ENV, ROOT, as_service, free_port, make_folder

# Whether "run --short" began this.
IS_SHORT = "ADIT_SHORT" in os.environ
# The dot also tests that the configurations escape it in regular expressions.
PREFIX = "/adit.d/v1"
START_TIMEOUT_S = 60
DEADLINE_S = 60
PATIENCE_S = 12
# After this, a server that has begun an answer waits for the client.  One that is merely slow would
# take the end of the sending side for the end of the client.
SILENCE_S = 3
MODULES = "/usr/lib/apache2/modules"
# What aditctl prints: {kind: how it reaches the service}.
with open(os.path.join(ROOT, "src/ctl/front_table.h"), encoding="utf-8") as table:
    FORMS = dict(re.findall(r'^ +WEB_SERVER\("([\w-]+)", +\w+, +(\w+)\)', table.read(), re.M))


class Front:
    """One way to the service.  names holds the keys and identifiers that differ between fronts."""

    def __init__(self, kind, prefix, port):
        self.kind, self.prefix, self.port = kind, prefix, port
        self.is_bare = kind not in FORMS
        self.names = {"prefix": prefix, "port": str(port)}

    @property
    def starts_program(self):
        return FORMS.get(self.kind) == "STARTS"

    @property
    def name(self):
        return self.kind + (" below a path" if self.prefix else "")

    def settle_in(self, stack):
        """Makes an account for this front, so that no front sees another one's resources."""
        account = stack.account(self.name)
        self.names.update(
            key=account.admin.key, admin=account.admin.id, member=account.member.key,
            member_id=account.member.id, read_only=account.read_only_key,
            gateway=account.gateway_key,
            unknown=samples.well_formed_key())
        for name, change in (("expired", "expires_at"), ("revoked", "revoked_at")):
            self.names[name] = account.admin.issue("--description", name + self.name)
            stack.psql("UPDATE adit.api_key SET %s = now() WHERE description = '%s'"
                       % (change, name + self.name))

    def exchange(self, data):
        """Sends bytes and returns everything received until the server closes.  Ends the sending
        side where a server waits for that."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S) as sock:
            try:
                sock.sendall(data)
            except OSError:
                pass  # the server answered before the end of the request
            received = b""
            deadline = time.monotonic() + DEADLINE_S
            while time.monotonic() < deadline:
                try:
                    part = sock.recv(65536)
                except TimeoutError:
                    sock.shutdown(socket.SHUT_WR)
                    continue
                except ConnectionResetError:
                    return received
                if not part:
                    return received
                received += part
                sock.settimeout(SILENCE_S)
            raise AssertionError("%s: the answer to %r does not end" % (self.name, data[:200]))


def service_user():
    """The user who runs the stack's programs."""
    return "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name


def process_name(pid):
    """The name of the process, or an empty string if it does not exist."""
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


class Server:
    """A web server with a folder of its own and several fronts."""

    # Configuration around Adit's, such as other sites on the server may have.
    SURROUNDINGS = ""
    # Its answer while the service is away, and that of a front whose program does not start.
    AWAY, BROKEN = None, (500, 9057)

    def __init__(self, stack):
        self.stack = stack
        self.folder = make_folder()
        self.process = None
        self.fronts = []
        self.socket = os.path.join(stack.run_folder, "adit.sock")
        self.program = os.path.join(stack.state, "bin", "adit.fcgi")
        self.docs = None  # the folder of the reference, or None for the installed one
        self.console = None  # the folder of the console, likewise
        self.has_limits = False  # the tests send more than a client may
        self.more = self.SURROUNDINGS  # the server's own configuration, for all fronts
        self.site = ""  # what the operator has in each site, before Adit's configuration
        self.behind = ""  # and behind it
        self.faults = ()  # statuses other than 200 that also show that the server is up
        if os.getuid() == 0:
            user = pwd.getpwnam(service_user())
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        atexit.register(self.stop)

    def add(self, kind, prefix):
        front = Front(kind, prefix, free_port())
        self.fronts.append(front)
        return front

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def configuration(self, kind, prefix=None):
        """The configuration that aditctl prints for the operator."""
        options = ["--prefix", prefix] if prefix else []
        if self.docs and prefix is not None:
            options += ["--docs", self.docs]
        if self.console and prefix is not None:
            options += ["--console", self.console]
        if FORMS[kind] == "STARTS":
            options += ["--program", self.program]
        else:
            options += ["--socket", self.socket]
        if FORMS[kind] == "UPSTREAM" and not self.has_limits:
            options.append("--no-limits")
        return self.stack.ctl("web-server", kind, *options) + "\n"

    def spawn(self, command):
        log = os.path.join(self.folder, "log")
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, cwd="/", env=CLEAN_ENV, stdout=file,
                                            stderr=file, stdin=subprocess.DEVNULL,
                                            start_new_session=True)
        deadline = time.monotonic() + START_TIMEOUT_S
        for front in self.fronts:
            while not self._answers(front):
                if self.process.poll() is not None or time.monotonic() > deadline:
                    with open(log, encoding="utf-8", errors="replace") as file:
                        raise AssertionError("%s did not start:\n%s" % (command[0], file.read()))
                time.sleep(0.02)

    def _answers(self, front):
        connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=30)
        try:
            connection.request("GET", front.prefix + "/livez")
            return connection.getresponse().status in (200, *self.faults)
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def processes(self):
        """The ids of the server's process and of the programs that it started."""
        servers, programs, above = [], [], [self.process.pid]
        while above:
            pid = above.pop()
            name = process_name(pid)
            if name:
                (programs if name == os.path.basename(self.program) else servers).append(pid)
                above += children(pid)
        return servers, programs

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Nginx(Server):
    """nginx."""

    SURROUNDINGS = "fastcgi_intercept_errors on;"
    AWAY = (502, 9055)

    def start(self):
        servers = []
        for number, front in enumerate(self.fronts):
            path = self.write("adit-%d.conf" % number,
                              self.configuration(front.kind, front.prefix))
            servers.append("server { listen 127.0.0.1:%d; server_name localhost; %s include %s; %s }"
                           % (front.port, self.site, path, self.behind))
        self.write("upstream.conf", self.configuration("nginx-upstream"))
        user = "user %s;\n" % service_user() if os.getuid() == 0 else ""
        self.write("nginx.conf", user + """
worker_processes 2;
pid %(folder)s/nginx.pid;
error_log stderr;
events {
}
http {
    access_log off;
    client_body_temp_path %(folder)s/body;
    fastcgi_temp_path %(folder)s/fastcgi;
    proxy_temp_path %(folder)s/proxy;
    scgi_temp_path %(folder)s/scgi;
    uwsgi_temp_path %(folder)s/uwsgi;
    include %(folder)s/upstream.conf;
    %(more)s
    %(servers)s
}
""" % {"folder": self.folder, "more": self.more, "servers": "\n    ".join(servers)})
        self.spawn(["nginx", "-e", "stderr", "-p", self.folder, "-c",
                    os.path.join(self.folder, "nginx.conf"), "-g", "daemon off;"])


class Apache(Server):
    """Apache with all its modules in one server, each in a virtual host."""

    MODULES = ("mpm_event", "authz_core", "authz_host", "alias", "env", "headers", "setenvif",
               "mime", "dir", "negotiation", "reqtimeout", "deflate", "filter", "fcgid", "cgid",
               "proxy", "proxy_fcgi")
    SURROUNDINGS = "ProxyErrorOverride On"
    AWAY = (503, 9059)

    def start(self):
        lines = ["ServerRoot %s" % self.folder, "ServerName localhost",
                 "PidFile %s/pid" % self.folder, "DefaultRuntimeDir %s" % self.folder,
                 "ErrorLog /dev/stderr", "Mutex posixsem",
                 "TypesConfig /etc/mime.types" if os.path.exists("/etc/mime.types") else ""]
        lines += ["LoadModule %s_module %s/mod_%s.so" % (name, MODULES, name)
                  for name in self.MODULES]
        if os.getuid() == 0:
            lines += ["User " + service_user(), "Group " + service_user()]
        lines += ["ScriptSock %s/cgid.sock" % self.folder,
                  "FcgidIPCDir %s/fcgid" % self.folder,
                  "FcgidProcessTableFile %s/fcgid.shm" % self.folder,
                  # As in Debian's /etc/apache2/apache2.conf.
                  "<Directory />", "Options FollowSymLinks", "AllowOverride None",
                  "Require all denied", "</Directory>",
                  # As in Debian's mods-available/deflate.conf.
                  "AddOutputFilterByType DEFLATE text/html text/plain text/css "
                  "application/javascript", self.more]
        for number, front in enumerate(self.fronts):
            path = self.write("adit-%d.conf" % number,
                              self.configuration(front.kind, front.prefix))
            lines += ["Listen 127.0.0.1:%d" % front.port, "<VirtualHost *:%d>" % front.port,
                      self.site, "Include %s" % path, self.behind, "</VirtualHost>"]
        conf = self.write("apache.conf", "\n".join(lines) + "\n")
        self.spawn(["apache2", "-DFOREGROUND", "-f", conf])


class ReusingApache(Apache):
    """Apache that keeps its connections to the responder."""

    def configuration(self, kind, prefix=None):
        text = super().configuration(kind, prefix)
        assert "enablereuse=off" in text, text
        return text.replace("enablereuse=off", "enablereuse=on ttl=3")


class Cgi(Server):
    """A minimal CGI server: it sets only the variables that RFC 3875 requires."""

    def __init__(self, stack):
        super().__init__(stack)
        self.listeners = []

    def start(self):
        for front in self.fronts:
            listener = socket.create_server(("127.0.0.1", front.port), backlog=64)
            self.listeners.append(listener)
            threading.Thread(target=self._serve, args=(listener, front), daemon=True).start()

    def stop(self):
        for listener in self.listeners:
            listener.close()
        super().stop()

    def _serve(self, listener, front):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as stream:
                connection.settimeout(10)
                try:
                    try:
                        answer = self._answer(stream, front)
                    except (AssertionError, ValueError, subprocess.TimeoutExpired) as error:
                        answer = b"HTTP/1.1 500 No CGI\r\n\r\n" + repr(error).encode()
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
                except OSError:
                    pass

    def _answer(self, stream, front):
        variables, body = read_request(stream, front.prefix)
        words = variables["QUERY_STRING"]
        # RFC 3875, 4.4: a query string without '=' becomes arguments.
        words = [] if b"=" in words or not words else words.split(b"+")
        done = subprocess.run(as_service([self.program, *words]), input=body,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", timeout=60,
                              env={"PATH": "/usr/bin:/bin", "ADIT_CONF": self.stack.conf_path,
                                   **variables})
        head, _, text = done.stdout.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        if done.returncode != 0 or not lines[0].startswith(b"Status: "):
            raise AssertionError("adit.fcgi ended with %d: %r %r" % (
                done.returncode, done.stdout, done.stderr))
        lines[0] = b"HTTP/1.1 " + lines[0][8:]
        return b"\r\n".join(lines) + b"\r\n\r\n" + text


def read_request(stream, prefix):
    """Reads a request.  Returns the CGI variables and the body."""
    method, target, protocol = stream.readline().decode("latin-1").split()
    if target.startswith("http://"):
        target = "/" + target.split("/", 3)[3]
    path, _, query = target.partition("?")
    variables = {
        "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": protocol, "REQUEST_METHOD": method,
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_SOFTWARE": "bare",
        "REMOTE_ADDR": "127.0.0.1", "QUERY_STRING": query, "SCRIPT_NAME": prefix,
    }
    length, is_chunked = None, False
    for line in iter(stream.readline, b"\r\n"):
        name, _, value = line.decode("latin-1").partition(":")
        name, value = name.upper(), value.strip(" \t\r\n")
        if not name.replace("-", "").isalnum():
            continue
        variable = "HTTP_" + name.replace("-", "_")
        if name == "CONTENT-LENGTH":
            length = int(value)
            variables["CONTENT_LENGTH"] = value
        elif name == "CONTENT-TYPE":
            variables["CONTENT_TYPE"] = value
        elif name != "PROXY":
            # RFC 3875, 4.1.18: repeated headers become one variable.
            if variable in variables:
                value = variables[variable] + ", " + value
            variables[variable] = value
            is_chunked = is_chunked or name == "TRANSFER-ENCODING"
    variables["PATH_INFO"] = path_info(path, prefix)
    variables = {name: value.encode("latin-1") for name, value in variables.items()}
    return variables, read_chunks(stream) if is_chunked else stream.read(length or 0)


def path_info(path, prefix):
    """The decoded path without dot segments and doubled slashes, as servers pass it."""
    path = urllib.parse.unquote(path, "latin-1")
    plain = posixpath.normpath(path).replace("//", "/")
    if path.endswith(("/", "/.", "/..")) and plain != "/":
        plain += "/"
    return plain[len(prefix):] if plain.startswith(prefix + "/") else plain


def read_chunks(stream):
    body = b""
    while True:
        size = int(stream.readline().partition(b";")[0], 16)
        body += stream.read(size)
        stream.readline()
        if size == 0:
            return body


EVERY = {"nginx": Nginx, "apache-fcgid": Apache, "apache-proxy-fcgi": Apache,
         "apache-cgid": Apache, "cgi": Cgi}
_FIRST = {server: kind for kind, server in reversed(EVERY.items())}
# The kinds that are tried: in the short form the first of each server.
KINDS = {kind: server for kind, server in EVERY.items() if not IS_SHORT or _FIRST[server] == kind}
# The kinds with a printed configuration, those of one server together.
GROUPS = [tuple(kind for kind in KINDS if KINDS[kind] is server and kind in FORMS)
          for server in dict.fromkeys(KINDS[kind] for kind in KINDS if kind in FORMS)]


def start_all(stack):
    """Starts all fronts that are tried.  Returns the servers.  The first front is nginx at the root of a
    host."""
    servers = {kind: None for kind in KINDS.values()}
    for kind, server in KINDS.items():
        servers[server] = servers[server] or server(stack)
        for prefix in ("", PREFIX) if kind == "nginx" or not IS_SHORT else (PREFIX,):
            servers[server].add(kind, prefix)
    for server in servers.values():
        server.start()
    return list(servers.values())


def start_one(stack, kind, more=""):
    """Starts one front at the root of a host.  Returns its server, which has no other front."""
    server = EVERY[kind](stack)
    server.more += "\n" + more
    server.add(kind, "")
    server.start()
    return server


__all__ = ["Front", "PREFIX", "start_all", "start_one"]
