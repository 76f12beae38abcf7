# SPDX-License-Identifier: MIT
"""TLS edges: nginx, Apache and HAProxy with the configurations that aditctl prints, adit-gateway
that makes them obey, an application behind each edge, and visitors with client certificates."""
import contextlib
import http.server
import itertools
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

from adit import programs, stack
from adit.case import until
from adit.certificates import Certificates

MODULES = "/usr/lib/apache2/modules"
VERSIONS = {"TLS 1.2": ssl.TLSVersion.TLSv1_2, "TLS 1.3": ssl.TLSVersion.TLSv1_3}
PATIENCE_S = 10

# What operators write for all sites of a server.  "site-ca" is an authority of another site.
FOR_ALL_SITES = {
    "nginx": ("ssl_trusted_certificate {made}/site-ca.crt;",),
    "nginx http": ("server {{ listen 127.0.0.1:{beside} ssl; server_name site.test; location / "
                   "{{ return 200 site; }} ssl_client_certificate {made}/site-ca.crt; "
                   "ssl_verify_client optional; ssl_certificate {made}/site.pem; "
                   "ssl_certificate_key {made}/site.pem; }}",
                   "error_page 400 404 405 413 414 421 494 495 496 497 501 505 =200 /page;",
                   "proxy_cache_path {made}/cache keys_zone=site:1m;", "proxy_cache site;",
                   "proxy_cache_key $scheme$request_uri;", "proxy_cache_valid 10m;"),
    "Apache": ("SSLCACertificatePath {made}/hashed", *(
        "ErrorDocument %d /page" % status for status in (
            400, 403, 404, 405, 413, 414, 417, 421, 501))),
}


class Application(http.server.ThreadingHTTPServer):
    """Answers with the name of its edge."""

    daemon_threads = True

    def __init__(self, edge):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                with self.server.counting:
                    self.server.n_asked += 1
                self.server.headers.append(self.headers)
                if self.path == "/endless":
                    self.do_endless()
                    return
                body = ("application of %s\n" % edge).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_endless(self):
                """Sends a byte now and then, until the visitor is gone."""
                self.close_connection = True
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):
                    while True:
                        self.wfile.write(b".")
                        time.sleep(0.1)

            def log_message(self, *_):
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.n_asked = 0
        self.counting = threading.Lock()
        self.headers = []
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_):
        """A server that ends a connection is no error."""


class Visit:
    """A connection to an edge.  name is what the visitor asks for in the handshake."""

    ALPN = None

    def __init__(self, port, name, client=None, version=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if version:
            context.minimum_version = context.maximum_version = version
        if client:
            context.load_cert_chain(client)
        if self.ALPN:
            context.set_alpn_protocols(self.ALPN)
        plain = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        try:
            self.sock = context.wrap_socket(plain, server_hostname=name)
        except (OSError, ssl.SSLError):
            plain.close()
            raise

    def ask(self, host):
        """Sends a request.  Returns the edge whose application answers, or None."""
        self.sock.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
        received = b""
        while b"application of" not in received or not received.endswith(b"\n"):
            part = self.sock.recv(4096)
            if not part:
                return None
            received += part
            # An error of the web server has another body.
            if not received.startswith(b"HTTP/1.1 200") and b"\r\n\r\n" in received:
                return None
        return re.search(rb"application of (\S+)", received).group(1).decode()

    def say(self, request):
        """Sends bytes, and reads until the server ends the connection."""
        with contextlib.suppress(OSError):
            self.sock.sendall(request)
            while self.sock.recv(4096):
                pass

    def is_open(self):
        """Whether the server has not closed the connection."""
        self.sock.setblocking(False)
        try:
            return self.sock.recv(65536) != b""
        except (ssl.SSLWantReadError, BlockingIOError):
            return True
        except OSError:
            return False
        finally:
            self.sock.setblocking(True)
            self.sock.settimeout(PATIENCE_S)

    def close(self):
        self.sock.close()


class Http2Visit(Visit):
    """A connection that speaks HTTP/2 (RFC 9113)."""

    DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
    ALPN = ["h2"]

    def __init__(self, port, name, client=None):
        super().__init__(port, name, client)
        if self.sock.selected_alpn_protocol() != "h2":
            raise AssertionError("no HTTP/2")
        self.stream = -1
        self.sock.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self._send(self.SETTINGS, 0, 0)

    def _send(self, kind, flags, stream, payload=b""):
        self.sock.sendall(len(payload).to_bytes(3, "big") + bytes([kind, flags])
                          + stream.to_bytes(4, "big") + payload)

    def _read(self, length):
        data = b""
        while len(data) < length:
            part = self.sock.recv(length - len(data))
            if not part:
                raise ConnectionResetError("the server ended the connection")
            data += part
        return data

    def ask(self, host, *more):
        """As Visit's.  more are pairs of a header and its value."""
        self.stream += 2
        fields = ((":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", host))
        # Each is a literal without a place in the table (RFC 7541, 6.2.2).
        block = b"".join(b"\0%c%s%c%s" % (len(name), name.encode(), len(value), value.encode())
                         for name, value in (*fields, *more))
        self._send(self.HEADERS, 0x5, self.stream, block)
        body = b""
        while True:
            head = self._read(9)
            payload = self._read(int.from_bytes(head[:3], "big"))
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
            if kind in (self.SETTINGS, self.PING) and not flags & 1:
                self._send(kind, 1, 0, b"" if kind == self.SETTINGS else payload)
            if kind == self.GOAWAY or (kind == self.RESET and stream == self.stream):
                return None
            if stream == self.stream and kind in (self.DATA, self.HEADERS):
                body += payload if kind == self.DATA else b""
                if flags & 1:
                    found = re.search(rb"application of (\S+)", body)
                    return found and found.group(1).decode()

    def is_open(self):
        """Whether the server has not closed the connection.  Its frames do not matter."""
        self.sock.setblocking(False)
        try:
            while self.sock.recv(65536):
                pass
            return False
        except (ssl.SSLWantReadError, BlockingIOError):
            return True
        except OSError:
            return False
        finally:
            self.sock.setblocking(True)
            self.sock.settimeout(PATIENCE_S)


class SlowVisit:
    """A connection whose handshake begins at once, and goes on in finish()."""

    def __init__(self, port, name, client):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(client)
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=name)
        with contextlib.suppress(ssl.SSLWantReadError):
            self._tls.do_handshake()
        self.sock.sendall(self._out.read())
        self._received = self.sock.recv(65536)

    def _until_done(self, step):
        """Repeats a step until it needs no more from the server.  Returns its result."""
        while True:
            try:
                found = step()
            except ssl.SSLWantReadError:
                found = None
            self.sock.sendall(self._out.read())
            if found is not None:
                return found
            self._in.write(self._received or self.sock.recv(65536) or _ended())
            self._received = b""

    def finish(self, host):
        """Ends the handshake and asks.  Returns whether an application answers."""
        try:
            self._until_done(lambda: self._tls.do_handshake() or True)
            self._tls.write(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
            return b" 200 " in self._until_done(lambda: self._tls.read(65536))
        except TimeoutError:
            raise
        except OSError:
            return False

    def close(self):
        self.sock.close()


def _ended():
    raise ConnectionResetError("the server ended the connection")


def visit(port, name, client=None, host=None, version=None):
    """Asks once.  Returns the edge whose application answers, or None if the visitor is refused."""
    try:
        with contextlib.closing(Visit(port, name, client, version)) as one:
            return one.ask(host or name or "nobody.test")
    except TimeoutError:
        raise
    except OSError:  # ssl.SSLError is one
        return None


class TlsEdges:
    """The servers, by name: nginx, nginx stream, Apache, HAProxy.  ports has theirs."""

    def __init__(self, stack_, edges, account):
        self.stack = stack_
        self.edges = list(edges)
        self.folder = stack.make_folder()
        self.certificates = Certificates(self.path("made"))
        for name in ("made", "authorities", "metrics", "nginx", "apache"):
            os.mkdir(self.path(name))
        self._make_site_authority()
        self.applications = [self.make_application(edge) for edge in self.edges]
        self.daemon = None
        self.running = {}
        self.ports = {name: stack.free_port()
                      for name in ("nginx", "nginx stream", "Apache", "HAProxy")}
        self.inner_port = stack.free_port()
        # Where another site of nginx is the default server.
        self.port_beside = stack.free_port()
        self.conninfo = "host=%s port=%s dbname=%s user=gateway" % tuple(
            stack_.env[name] for name in ("PGHOST", "PGPORT", "PGDATABASE"))
        self.account = account

    def make_application(self, edge):
        return Application(edge)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def file(self, edge, suffix):
        return self.path("output", edge + "." + suffix)

    def read(self, edge, suffix):
        with open(self.file(edge, suffix), encoding="ascii") as file:
            return file.read()

    # ---- certificates ----

    def _make_site_authority(self):
        made = self.certificates
        made.make("site-ca", is_authority=True)
        made.make("site")
        os.mkdir(made.path("hashed"))
        shutil.copy(made.path("site-ca.crt"), made.path("hashed"))
        stack.run(["openssl", "rehash", made.path("hashed")])

    def authority(self, ident, certificate):
        """Puts a certificate into the folder of authorities, as a new file."""
        shutil.copy(self.certificates.path(certificate + ".crt"), self.path("next"))
        os.rename(self.path("next"), self.path("authorities", ident))

    # ---- adit-gateway ----

    def settings(self, output="output", **gateway):
        values = {"conninfo": self.conninfo, "account": self.account,
                  "socket": self.path("socket"), "state": self.path("sessions"), **gateway}
        return "[gateway]\n%s\n[mutual_tls]\nedges = %s\nauthorities = %s\noutput = %s\n" \
            "reload = %s\nhaproxy = %s\n" % (
                "\n".join("%s = %s" % pair for pair in values.items()), " ".join(self.edges),
                self.path("authorities"), self.path(output), self.path("reload"),
                self.path("haproxy.sock"))

    def start_daemon(self, conf=None):
        """Starts adit-gateway with the settings or others."""
        if not conf:
            self.write("reload", "#!/bin/sh\ntest -e %s/reloads || exit 0\n. %s/reloads\n"
                       % (self.folder, self.folder), 0o755)
            conf = self.write("adit.conf", self.settings(metrics=self.path("metrics")))
        self.daemon = programs.Program(
            self.stack, lambda _: [os.path.join(stack.BUILD, "adit-gateway"), "-c", conf],
            "gateway")

    def stop_daemon(self, how=signal.SIGTERM):
        self.daemon.stop(how)
        self.daemon = None

    def status(self):
        """What the daemon says of itself, or nothing if it does not answer."""
        with socket.socket(socket.AF_UNIX) as sock, contextlib.suppress(OSError):
            sock.settimeout(PATIENCE_S)
            sock.connect(self.path("socket"))
            sock.sendall(b"status\n")
            sock.shutdown(socket.SHUT_WR)
            with sock.makefile("r") as file:
                return dict(line.rstrip("\n").partition(" ")[::2] for line in file)
        return {}

    def is_settled(self):
        status = self.status()
        return (status.get("edges_due"), status.get("reload"), status.get("haproxy")) == \
            ("0", "done", "done")

    # ---- servers ----

    def printed(self, kind):
        """The configuration of aditctl, with an application for each edge."""
        text = self.stack.ctl_run("gateway-config", kind, "--domain", "test", "--certificates",
                                  self.path("made"), conf=self.path("adit.conf"), check=True).stdout
        ports = itertools.cycle(one.server_address[1] for one in self.applications)
        return re.sub(r"127\.0\.0\.1:3000", lambda _: "127.0.0.1:%d" % next(ports), text)

    def replaced(self, text, *pairs):
        for old, new in pairs:
            if old not in text:
                raise AssertionError("the configuration has no '%s'" % old)
            text = text.replace(old, new)
        return text

    def _spawn(self, name, command):
        self.running[name] = programs.Program(
            self.stack, lambda _: command, name.replace(" ", "-"),
            dict(programs.ENV, PATH=os.environ["PATH"] + ":/usr/sbin"))

    def nginx_command(self):
        return ["nginx", "-c", self.path("nginx.conf"), "-e", "stderr"]

    def for_all_sites(self, server):
        return "".join("    %s\n" % line.format(made=self.path("made"), beside=self.port_beside)
                       for line in FOR_ALL_SITES[server])

    def start_nginx(self):
        temporary = "".join("    %s_temp_path %s;\n" % (name, self.path("nginx", name)) for name in (
            "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.write("nginx.conf", self.replaced(
            self.printed("nginx-tls"),
            ("worker_processes auto;", "worker_processes 2;\npid %s;\ndaemon off;"
             % self.path("nginx", "pid")),
            ("http {\n", "http {\n    access_log off;\n" + temporary + self.for_all_sites("nginx")
             + self.for_all_sites("nginx http")),
            ("stream {\n", "stream {\n" + self.for_all_sites("nginx")),
            ("listen 443 ssl http2;",
             "listen 443 ssl http2; listen 127.0.0.1:%d ssl;" % self.port_beside),
            ("listen 443 ", "listen 127.0.0.1:%d " % self.ports["nginx"]),
            ("listen 444;", "listen 127.0.0.1:%d;" % self.ports["nginx stream"]),
            (":844", ":%d" % self.inner_port)))
        self._spawn("nginx", self.nginx_command())

    def apache_command(self):
        return ["apache2", "-f", self.path("apache.conf")]

    def start_apache(self):
        lines = ["ServerRoot " + self.path("apache"), "ServerName localhost",
                 "PidFile " + self.path("apache", "pid"),
                 "DefaultRuntimeDir " + self.path("apache"), "ErrorLog /dev/stderr",
                 "Mutex posixsem", "Listen 127.0.0.1:%d" % self.ports["Apache"]]
        lines += ["LoadModule %s_module %s/mod_%s.so" % (name, MODULES, name) for name in (
            "mpm_event", "authz_core", "headers", "http2", "ssl", "proxy", "proxy_http",
            "reqtimeout")]
        lines.append(self.for_all_sites("Apache"))
        if os.getuid() == 0:
            lines += ["User nobody", "Group nogroup"]
        self.write("apache.conf", "\n".join(lines) + "\n" + self.replaced(
            self.printed("apache-tls"), ("*:443", "*:%d" % self.ports["Apache"])))
        self._spawn("Apache", [*self.apache_command(), "-DFOREGROUND"])

    def haproxy_command(self):
        return ["haproxy", "-f", self.path("haproxy.conf")]

    def ask_haproxy(self, command):
        """Says something to HAProxy's stats socket.  Returns its answer."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PATIENCE_S)
            sock.connect(self.path("haproxy.sock"))
            sock.sendall(command.encode() + b"\n")
            with sock.makefile("r") as file:
                return file.read()

    def start_haproxy(self, *options):
        """Starts HAProxy with a master process, or with other options."""
        self.write("haproxy.conf", self.replaced(
            self.printed("haproxy"), ("    user haproxy\n    group haproxy\n", ""),
            (" mode 660 group adit-gateway", ""),
            ("bind :443", "bind 127.0.0.1:%d" % self.ports["HAProxy"]),
            (" mode 600 user haproxy ", " mode 600 ")))
        self._spawn("HAProxy", [*self.haproxy_command(), *(options or ["-W"])])

    def reload_haproxy(self):
        """As systemd does it: the master starts a new process, which takes over the sockets.  The old
        one goes on with its connections."""
        master = self.running["HAProxy"].process
        old = programs.children(master.pid)
        master.send_signal(signal.SIGUSR2)
        until(lambda: set(programs.children(master.pid)) - set(old), "a new process")

    def start(self):
        """Starts adit-gateway, and then the servers, which need its files."""
        self.start_daemon()
        until(lambda: self.status().get("edges_due") == "0", "the edges' files")
        self.start_nginx()
        self.start_apache()
        self.start_haproxy()
        for name, port in self.ports.items():
            until(lambda port=port, name=name: self._listens(name, port), name)
        self.write("reloads", "set -e\n%s -s reload\n%s -k graceful\n" % (
            " ".join(self.nginx_command()), " ".join(self.apache_command())))
        until(self.is_settled, "HAProxy is told")

    def _listens(self, name, port):
        program = self.running[name.split()[0]]
        if program.process.poll() is not None:
            raise AssertionError("%s has ended: %s" % (name, program.log().decode()))
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        return False

    def client(self, name):
        return name and self.certificates.path(name + ".pem")

    def visit(self, server, edge, client=None, **options):
        """Whose application the visitor of an edge reaches; None: refused."""
        return visit(self.ports[server], edge + ".test", self.client(client), **options)

    def remove(self):
        for program in (*self.running.values(), self.daemon):
            if program:
                program.stop()
        for application in self.applications:
            application.shutdown()
            application.server_close()
        shutil.rmtree(self.folder)


def run_unchecked(command):
    """Runs a server's own check of its configuration.  Returns its exit status and output."""
    done = subprocess.run(command, env=dict(programs.ENV, PATH=os.environ["PATH"] + ":/usr/sbin"),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=False)
    return done.returncode, done.stdout + done.stderr
