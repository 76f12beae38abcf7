# SPDX-License-Identifier: MIT
"""The servers with the configurations that aditctl prints, each in front of the same application:
two with a route, and four with a TLS edge.

What the rest of a server's configuration says, for other sites, is as hostile as an operator's may
be.  The printed part must not depend on it."""
import base64
import hashlib
import http.server
import json
import re
import socket
import ssl
import threading
import time

from adit import gate, stack, tls_edges

EDGE = "one"
PATIENCE_S = 30
# How long the rest of a configuration waits for an application, in seconds.
SHORT_S = 1
# The header of the surrounding configuration that every answer keeps.
KEPT = ("Strict-Transport-Security", "max-age=31536000")
# Certificates of visitors: how many intermediate authorities are above each.
INTERMEDIATES = (0, 1, 3, 4, 5, 10, 100, 101)
# The sizes of headers, all together, that an answer may have.
LONG_ANSWER = 30_000


class Subject(http.server.ThreadingHTTPServer):
    """An application.  The path says what it does; by default it answers with what it saw."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.n_asked = 0
        self.counting = threading.Lock()
        self.headers = []
        # What /upload/NAME has received, and how many events of /events/NAME may be sent.
        self.received = {}
        self.events = {}
        self.n_requests = 0
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_):
        """A server that ends a connection is no error."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_any(self):
        with self.server.counting:
            self.server.n_asked += 1
        self.raw_path = self.requestline.split(" ")[1]
        name, _, argument = self.path.partition("?")[0].lstrip("/").partition("/")
        serve = getattr(self, "serve_" + name, None)
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self.talk()
        elif serve:
            serve(argument)
        else:
            self.answer_with(200, self.what_it_saw())

    do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do_HEAD = do_PATCH = do_any
    do_PROPFIND = do_TRACE = do_any

    def log_message(self, *_):
        pass

    def talk(self):
        """Says each byte once more that comes over a WebSocket."""
        key = self.headers["Sec-WebSocket-Key"] + gate.WEBSOCKET_GUID
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(
            hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while part := self.rfile.read1(65536):
            self.wfile.write(part)

    def what_it_saw(self, **more):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.dumps({"method": self.command, "path": self.raw_path,
                           "headers": self.headers.items(), **more}).encode()

    def answer_with(self, status, body, *headers):
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body))), ("X-Application", "yes")):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunks(self):
        """The chunks of a request.  Its trailers are in self.trailers afterwards."""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.trailers = []
        while (line := self.rfile.readline().strip()):
            self.trailers.append(line.decode())

    def parts(self):
        """The request's body as it comes."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            yield from self.chunks()
            return
        left = int(self.headers.get("Content-Length") or 0)
        while left:
            part = self.rfile.read1(min(left, 1 << 20))
            if not part:
                return
            left -= len(part)
            yield part

    def serve_upload(self, name):
        received = self.server.received
        received[name] = 0
        for part in self.parts():
            received[name] += len(part)
        self.answer_with(200, b"%d" % received[name])

    def serve_events(self, name):
        """Sends an event each time that the test asks for the next one."""
        may = self.server.events[name] = threading.Semaphore(1)
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for n in range(3):
            if not may.acquire(timeout=PATIENCE_S):
                return
            self.wfile.write(b"data: %d\n\n" % n)

    def serve_silence(self, seconds):
        time.sleep(float(seconds))
        self.answer_with(200, b"not silent")

    def serve_trailers(self, _):
        list(self.parts())
        body = json.dumps(getattr(self, "trailers", [])).encode()
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Trailer", "X-Sum")
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n0\r\nX-Sum: 17\r\n\r\n" % (len(body), body))

    def serve_range(self, _):
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        whole = b"0123456789"
        if not found:
            self.answer_with(200, whole, ("Accept-Ranges", "bytes"))
            return
        first, last = map(int, found.groups())
        self.answer_with(206, whole[first:last + 1],
                         ("Content-Range", "bytes %d-%d/%d" % (first, last, len(whole))))

    def serve_error(self, status):
        self.answer_with(int(status), b"the application's own " + status.encode(),
                         ("Content-Type", "text/plain"))

    def serve_moved(self, _):
        here = "http://127.0.0.1:%d/elsewhere" % self.server.server_address[1]
        self.answer_with(302, here.encode(), ("Location", here))

    def serve_long(self, _):
        line = "x" * 7_500
        self.answer_with(200, b"long", *(
            ("X-Long-%d" % n, line) for n in range(LONG_ANSWER // len(line))))

    def serve_line(self, length):
        self.answer_with(200, b"long", ("X-Long", "x" * int(length)))

    def serve_other(self, _):
        """An answer that would have a server give another one."""
        self.answer_with(200, b"its own", ("X-Accel-Redirect", "/"), ("X-Accel-Limit-Rate", "1"),
                         ("X-Accel-Charset", "latin1"), ("X-Sendfile", __file__))

    def serve_cookies(self, _):
        self.answer_with(200, b"cookies", ("Set-Cookie", "a=1; Path=/"), ("Set-Cookie", "b=2"))


class Server:
    """A column of the table.  name is the kind of "aditctl gateway-config" and, of nginx-tls, the
    part of it."""

    def __init__(self, name, host, port, application, **more):
        self.name, self.host, self.port, self.application = name, host, port, application
        self.scheme, self.listens = "https", "443"
        # What a visitor sends who is let in.
        self.cookie = more.get("cookie")
        self.certificates = more.get("certificates")
        self.tls_port = more.get("tls_port", port)
        self.is_route = self.cookie is not None

    def context(self, n_intermediates=0, has_certificate=True):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
        if has_certificate:
            made.load_cert_chain(self.client(n_intermediates))
        return made

    def client(self, n_intermediates=0):
        return self.certificates.path("visitor-%d.pem" % n_intermediates)

    def connect(self, address="127.0.0.1", tls=None):
        """A connection of a visitor who is let in.  A route has a port without TLS, too."""
        plain = socket.create_connection(
            (address, self.tls_port if tls else self.port), timeout=PATIENCE_S)
        if self.is_route and not tls:
            return plain
        try:
            return (tls or self.context()).wrap_socket(plain, server_hostname=self.host)
        except OSError:
            plain.close()
            raise

    def head(self, line, *headers):
        """The bytes of a request's head.  A visitor of a route has signed in."""
        own = ["Host: " + self.host] + (["Cookie: " + self.cookie] if self.cookie else [])
        return "\r\n".join([line + " HTTP/1.1", *own, *headers, "", ""]).encode()


def make_authorities(made):
    """Makes certificates of visitors below one authority, with more and more others between."""
    made.make("ca", is_authority=True)
    above = ["ca"]
    for n in range(max(INTERMEDIATES) + 1):
        if n in INTERMEDIATES:
            made.make("visitor-%d" % n, above[-1], chain=above[:0:-1])
        if n < max(INTERMEDIATES):
            made.make("between-%d" % n, above[-1], is_authority=True)
            above.append("between-%d" % n)


class Route(gate.Gate):
    """A route, with a port for TLS beside."""

    HOSTILE = {
        "nginx": """
            underscores_in_headers on;
            ignore_invalid_headers off;
            proxy_cache_path FOLDER/pages keys_zone=pages:1m;
            proxy_cache pages;
            proxy_cache_key $request_uri;
            proxy_cache_valid any 1m;
            proxy_intercept_errors on;
            proxy_cookie_path / /other/;
            proxy_cookie_flags ~ httponly;
            proxy_buffers 4 4k;
            proxy_busy_buffers_size 8k;
            fastcgi_busy_buffers_size 8k;
            proxy_read_timeout 1s; fastcgi_read_timeout 1s;
            client_max_body_size 1k;
            error_page 400 401 403 404 500 502 503 504 =200 /error;
        """,
        "apache": """
            LoadModule ssl_module MODULES/mod_ssl.so
            LoadModule http2_module MODULES/mod_http2.so
            LoadModule cache_module MODULES/mod_cache.so
            LoadModule cache_socache_module MODULES/mod_cache_socache.so
            LoadModule socache_shmcb_module MODULES/mod_socache_shmcb.so
            CacheSocache shmcb
            CacheEnable socache /
            CacheIgnoreNoLastMod On
            ProxyErrorOverride On
            ProxyTimeout 1
            LimitRequestBody 1000
            ErrorDocument 404 /error
            ErrorDocument 500 /error
            SSLSessionCache none""",
    }

    def __init__(self, stack_, front, made):
        self.tls_port = stack.free_port()
        self.made = made
        super().__init__(stack_, front, self.HOSTILE[front])
        self.module()

    def make_application(self):
        return Subject()

    def url(self, host=gate.HOST):
        return "https://" + host

    def in_server(self, host):
        lines = ['Header always set %s "%s"' % KEPT] if self.front == "apache" else [
            "add_header %s '%s' always;" % KEPT, "listen [::1]:%d;" % self.port,
            "listen 127.0.0.1:%d ssl http2;" % self.tls_port,
            "ssl_certificate %s;" % self.made.path(EDGE + ".pem"),
            "ssl_certificate_key %s;" % self.made.path(EDGE + ".pem")]
        return "".join("        %s\n" % line for line in lines)

    def more_servers(self):
        if self.front == "nginx":
            return ""
        inside = 'ServerName %s\n%sInclude %s\n</VirtualHost>\n' % (
            gate.HOST, self.in_server(gate.HOST), self.path(gate.HOST + ".conf"))
        return "Listen [::1]:%d\n<VirtualHost [::1]:%d>\n%s" % (self.port, self.port, inside) + \
            "Listen 127.0.0.1:%d\n<VirtualHost 127.0.0.1:%d>\nProtocols h2 http/1.1\n" \
            "SSLEngine on\nSSLCertificateFile %s\n%s" % (
                self.tls_port, self.tls_port, self.made.path(EDGE + ".pem"), inside)

    def server(self):
        """Its column, for a visitor who has signed in."""
        browser, _ = self.sign_in("alice")
        return Server(self.front + "-oauth", gate.HOST, self.port, self.application,
                      cookie="%s=%s" % browser.session(), certificates=self.made,
                      tls_port=self.tls_port)


class Edges(tls_edges.TlsEdges):
    """The four servers of a TLS edge."""

    HOSTILE = {
        "nginx": (), "nginx http": (
            "underscores_in_headers on;", "ignore_invalid_headers off;",
            "proxy_intercept_errors on;", "client_max_body_size 1k;",
            "proxy_cookie_path / /other/;", "proxy_cookie_flags ~ httponly;",
            "proxy_buffers 4 4k;", "proxy_busy_buffers_size 8k;", "proxy_read_timeout 1s;",
            "add_header %s '%s' always;" % KEPT,
            "proxy_cache_path {made}/cache keys_zone=site:1m;", "proxy_cache site;",
            "proxy_cache_key $scheme$request_uri;", "proxy_cache_valid any 10m;",
            "error_page 400 401 403 404 500 502 503 504 =200 /error;"),
        "Apache": ("ProxyErrorOverride On", "LimitRequestBody 1000", "ProxyTimeout 1",
                   'Header always set %s "%s"' % KEPT, "Listen [::1]:{apache}",
                   "ErrorDocument 404 /error", "ErrorDocument 500 /error"),
    }
    NAMES = {"nginx": "nginx-tls", "nginx stream": "nginx-stream", "Apache": "apache-tls",
             "HAProxy": "haproxy"}

    def __init__(self, stack_, account):
        super().__init__(stack_, [EDGE], account)
        self.certificates.make(EDGE)
        make_authorities(self.certificates)
        self.authority("ca", "ca")

    def make_application(self, edge):
        return Subject()

    def for_all_sites(self, server):
        return "".join("    %s\n" % re.sub(r"{(\w+)}", lambda found: {
            "made": self.path("made"), "apache": str(self.ports["Apache"])}[found[1]], line)
            for line in self.HOSTILE[server])

    def printed(self, kind):
        text = super().printed(kind)
        if kind == "nginx-tls":
            return self.replaced(
                text, ("listen 443 ssl http2;", "listen 443 ssl http2; listen [::1]:%d ssl http2;"
                       % self.ports["nginx"]))
        if kind == "haproxy":
            return self.replaced(
                text, ("bind :443\n", "bind :443\n    bind [::1]:%d\n" % self.ports["HAProxy"]),
                ("    mode http\n    bind", "    mode http\n    http-after-response set-header "
                 "%s %s\n    bind" % KEPT))
        return text

    def servers(self):
        return [Server(self.NAMES[name], EDGE + ".test", port, self.applications[0],
                       certificates=self.certificates) for name, port in self.ports.items()]


class Servers:
    """All of them."""

    def __init__(self, stack_, account, client):
        self.started = []
        try:
            self._start(stack_, account, client)
        except BaseException:
            self.remove()
            raise

    def _start(self, stack_, account, client):
        edges = Edges(stack_, account)
        self.started.append(edges)
        answer = client.put("/edges/tls/%s/mutual_tls" % EDGE, {"certificate_authority_ids": ["ca"]})
        if answer.status not in (200, 201):
            raise AssertionError(answer)
        edges.start()
        self.servers = edges.servers()
        for front in ("nginx", "apache"):
            route = Route(stack_, front, edges.certificates)
            self.started.append(route)
            self.servers.append(route.server())

    def remove(self):
        for one in reversed(self.started):
            one.remove()
