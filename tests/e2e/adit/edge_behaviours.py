# SPDX-License-Identifier: MIT
"""What every server with a printed configuration does: the rows of the table.

Each function tries one behaviour with one server (adit/edge_servers.py) and returns in a few words
what it found.  ROWS has what must be found.  tests/cases/edges.differences lists what a server
forces."""
import contextlib
import http.client
import itertools
import json
import ssl
import subprocess
import tempfile

from adit.case import until
from adit.edge_servers import INTERMEDIATES, KEPT, PATIENCE_S, SHORT_S

LARGE = 5_000_000
VERY_LARGE = 1_000_000_000
PATHS = ("/a%2Fb", "/a|b", "/a%3Ab", "/a//b", "//a", "/a%2Bb+c", "/a%20b", "/a%5Cb", "/%7Ea/%41", "/a;b=c",
         "/a%C3%BC", "/a%25b", "/a/./b/../c", "/a/%2E%2E/b", "/a?b=%2F//|%7C", "/a?", "/a%22%3Cb", "/a[b]",
         "/a^b{c}", "/a%0Ab")
ERRORS = (400, 401, 403, 404, 405, 409, 410, 413, 418, 421, 429, 431, 499, 500, 502, 503, 504)
# What a visitor may try in place of the server.
FALSE = "evil.test"
# Programs that give headers to applications as variables take some or all of these for "-".
SEPARATORS = "!#$%&'*+-.^_`|~"
HEADERS = ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "Forwarded")

ROWS = []


def row(name, wanted):
    """Adds a row.  The function may take arguments after the server: one row for each."""
    def add(function):
        ROWS.append((name, wanted, function))
        return function
    return add


class Reader:
    """Answers on a connection."""

    def __init__(self, connection):
        self.file = connection.makefile("rb")

    def head(self):
        """The status and the headers of the next answer."""
        line = self.file.readline(65536)
        if not line:
            raise ConnectionResetError("no answer")
        return int(line.split()[1]), http.client.parse_headers(self.file)

    def body(self, headers):
        if headers.get("Transfer-Encoding"):
            return b"".join(self.chunks())
        length = headers.get("Content-Length")
        return self.file.read(int(length)) if length else self.file.read()

    def chunks(self):
        while size := int(self.file.readline(), 16):
            yield self.file.read(size)
            self.file.readline()
        self.trailers = []
        while (line := self.file.readline().strip()):
            self.trailers.append(line.decode())


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def seen(self):
        return json.loads(self.body)

    def seen_values(self, *names):
        return [value for name, value in self.seen()["headers"]
                if name.lower().replace("_", "-").replace(".", "-") in names]


def read_answer(connection, has_body=True):
    reader = Reader(connection)
    status, headers = reader.head()
    while status == 100:
        status, headers = reader.head()
    return Answer(status, headers, reader.body(headers) if has_body else b"")


def ask(server, line="GET /", *headers, body=b"", **options):
    with server.connect(**options) as connection:
        connection.sendall(server.head(line, *headers, "Connection: close") + body)
        return read_answer(connection, not line.startswith("HEAD"))


def curl(server, path, *options):
    """Asks over HTTP/2, if the server speaks it.  Returns the protocol, the status and the body."""
    command = ["curl", "-q", "-sS", "-k", "--noproxy", "*", "--http2", "-w", "\n%{http_version} %{http_code}",
               "--connect-to", "%s:443:127.0.0.1:%d" % (server.host, server.tls_port), *options]
    command += ["-H", "Cookie: " + server.cookie] if server.cookie else [
        "--cert", server.client()]
    done = subprocess.run([*command, "https://%s%s" % (server.host, path)], capture_output=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise AssertionError("curl: " + done.stderr.decode())
    body, _, said = done.stdout.rpartition(b"\n")
    version, status = said.decode().split()
    return version, int(status), body


# ---- what the application is told ----

def told(server, name, answer, address="127.0.0.1"):
    """Whether the application got the one right value."""
    rfc7239 = "[%s]" % address if ":" in address else address
    right = {"X-Forwarded-For": address, "X-Forwarded-Proto": server.scheme,
             "X-Forwarded-Host": server.host, "X-Forwarded-Port": server.listens,
             "Forwarded": 'for="%s";host="%s";proto=%s' % (rfc7239, server.host, server.scheme)}
    found = answer.seen_values(name.lower())
    if found == [right[name]]:
        return "the server's"
    if not found:
        return "none"
    return "the visitor's" if all(FALSE in value for value in found) else ", ".join(found)


def tell(name):
    def try_it(server):
        """Whatever a visitor sends under the name, and under names that look alike."""
        alike = {other for c in "_." for other in (
            name.replace("-", c), name.replace("-", c, 1), name[::-1].replace("-", c, 1)[::-1])}
        found = {told(server, name, ask(server, "GET /", *lines)) for lines in (
            [], ["%s: %s" % (name, FALSE)], ["%s: %s" % (name.lower(), FALSE)] * 2,
            *(["%s: %s" % (other, FALSE)] for other in sorted(alike)),
            ["%s: %s" % (name, FALSE), "Connection: close, " + name],
            ["Connection: %s" % name.lower()])}
        found.add(told(server, name, ask(server, address="::1"), "::1")
                  if server.name != "nginx-stream" else "none")
        return ", ".join(sorted(found))
    return try_it


for header in HEADERS:
    row(header, "the server's")(tell(header))


@row("Host", "its own name")
def try_host(server):
    return "its own name" if ask(server).seen_values("host") == [server.host] else "another"


@row("Host, of a visitor with a port", "its own name")
def try_host_with_port(server):
    """A port, and another case, change nothing."""
    with server.connect() as connection:
        connection.sendall(server.head("GET /", "Connection: close").replace(
            server.host.encode(), server.host.upper().encode() + b":12"))
        found = read_answer(connection).seen_values("host")
    return "its own name" if found == [server.host] else "as the visitor writes it"


@row("X-Adit-User, of a visitor", "removed")
def try_user(server):
    names = ["X%sAdit%sUser" % pair for pair in itertools.product(SEPARATORS, repeat=2)]
    found = []
    for at in range(0, len(names), 50):  # servers take 100 headers
        lines = ["%s: %s" % (name, FALSE) for name in names[at:at + 50]]
        found += [value for _, value in ask(server, "GET /", *lines).seen()["headers"]]
    return "the visitor's" if FALSE in found else "removed"


# ---- bytes as they come ----

@row("WebSockets", "101, and bytes both ways")
def try_web_socket(server):
    with server.connect() as connection:
        connection.sendall(server.head(
            "GET /ws", "Connection: keep-alive, Upgrade", "Upgrade: WebSocket",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
        reader = Reader(connection)
        status, headers = reader.head()
        if status != 101 or headers["Upgrade"].lower() != "websocket":
            return "%d" % status
        for data in (b"\x81\x03one", b"x" * 100_000):
            connection.sendall(data)
            if reader.file.read(len(data)) != data:
                return "101, other bytes"
    return "101, and bytes both ways"


@row("other upgrades", "not passed on")
def try_other_upgrades(server):
    for value in ("h2c", "websocket, h2c", "TLS/1.0"):
        if ask(server, "GET /", "Upgrade: " + value).seen_values("upgrade"):
            return "passed on"
    return "not passed on"


@row("server-sent events", "each at once")
def try_events(server):
    """The application sends the next one only after the visitor has the one before."""
    with server.connect() as connection:
        connection.sendall(server.head("GET /events/" + server.name, "Accept: text/event-stream"))
        received = b""
        for n in range(3):
            connection.settimeout(PATIENCE_S)
            while b"data: %d\n\n" % n not in received:
                try:
                    part = connection.recv(65536)
                except TimeoutError:
                    return "kept back"
                if not part:
                    return "only %d" % n
                received += part
            server.application.events[server.name].release()
    return "each at once"


@row("silence on a connection", "kept open")
def try_silence(server):
    """For longer than the rest of the configuration waits."""
    with server.connect() as connection:
        connection.sendall(server.head("GET /silence/%g" % (2 * SHORT_S), "Connection: close"))
        return "kept open" if read_answer(connection).body == b"not silent" else "closed"


def upload(server, line, head, first, rest, last=b""):
    """Sends a body.  The second part goes only after the application has received of the first."""
    received = server.application.received
    with server.connect() as connection:
        connection.sendall(server.head(line + " /upload/" + server.name, *head, "Connection: close")
                           + first)
        try:
            until(lambda: received.get(server.name), "bytes of the upload", PATIENCE_S)
        except AssertionError:
            return "kept back"
        for part in rest:
            connection.sendall(part)
        connection.sendall(last)
        answer = read_answer(connection)
    received.pop(server.name)
    return "%d %s" % (answer.status, answer.body.decode())


def pieces(size, of=1 << 20):
    whole = bytes(of)
    while size > 0:
        yield whole[:min(size, of)]
        size -= of


@row("an upload of 5 MB", "200 5000000")
def try_upload(server):
    return upload(server, "POST", ["Content-Length: %d" % LARGE], bytes(100_000),
                  pieces(LARGE - 100_000))


@row("an upload of 5 MB in chunks", "200 5000000")
def try_upload_in_chunks(server):
    def chunk(data):
        return b"%x\r\n%s\r\n" % (len(data), data)
    return upload(server, "PUT", ["Transfer-Encoding: chunked"], chunk(bytes(100_000)),
                  map(chunk, pieces(LARGE - 100_000)), b"0\r\n\r\n")


@row("an upload of 1 GB", "200 1000000000")
def try_large_upload(server):
    return upload(server, "POST", ["Content-Length: %d" % VERY_LARGE], bytes(100_000),
                  pieces(VERY_LARGE - 100_000))


def path(target):
    def try_it(server):
        answer = ask(server, "GET " + target)
        return "as it is" if answer.status == 200 and answer.seen()["path"] == target else \
            "%d" % answer.status if answer.status != 200 else answer.seen()["path"]
    return try_it


for wanted_path in PATHS:
    row("path " + wanted_path, "as it is")(path(wanted_path))


# ---- answers ----

@row("headers of the rest of the configuration", "on every answer")
def try_kept_headers(server):
    asked = ["GET /", "GET /error/404", "GET /error/500", "POST /"]
    answers = {line: ask(server, line) for line in asked}
    if server.is_route:
        with visitor_without_session(server) as other:
            for line in ("GET /", "POST /", "GET /_adit/logout", "GET /_adit/callback"):
                answers["nobody: " + line] = ask(other, line)
    missing = [line for line, answer in answers.items()
               if answer.headers.get_all(KEPT[0]) != [KEPT[1]]]
    return "on every answer" if not missing else \
        "on none" if len(missing) == len(answers) else "not on " + ", ".join(missing)


@contextlib.contextmanager
def visitor_without_session(server):
    cookie, server.cookie = server.cookie, None
    try:
        yield server
    finally:
        server.cookie = cookie


@row("errors of the application", "as they are")
def try_errors(server):
    for status in ERRORS:
        for method in ("GET", "POST"):
            answer = ask(server, "%s /error/%d" % (method, status))
            if (answer.status, answer.body) != (status, b"the application's own %d" % status):
                return "%d for %s %d" % (answer.status, method, status)
    return "as they are"


@row("redirects of the application", "as they are")
def try_redirect(server):
    answer = ask(server, "GET /moved")
    return "as they are" if (answer.status, answer.headers["Location"].encode()) == (
        302, answer.body) else answer.headers["Location"]


@row("an application that asks for what is the server's", "its own")
def try_other(server):
    return ask(server, "GET /other").body.decode()


@row("cookies of the application", "all")
def try_cookies(server):
    found = ask(server, "GET /cookies").headers.get_all("Set-Cookie")
    return "all" if {"a=1; Path=/", "b=2"} <= set(found) else ", ".join(found)


@row("HEAD", "no body, and its length")
def try_head(server):
    with server.connect() as connection:
        connection.sendall(server.head("HEAD /range") + server.head("GET /range", "Connection: close"))
        reader = Reader(connection)
        status, headers = reader.head()
        length = headers["Content-Length"]
        # The next answer begins where the head of this one ends.
        status = status, reader.head()[0]
    return "no body, and its length" if (status, length) == ((200, 200), "10") else \
        "%s %s" % (status, length)


@row("OPTIONS and other methods", "passed on")
def try_methods(server):
    for method in ("OPTIONS", "PUT", "PATCH", "DELETE", "PROPFIND"):
        answer = ask(server, method + " /")
        if answer.status != 200 or answer.seen()["method"] != method:
            return "%s: %d" % (method, answer.status)
    return "passed on"


@row("TRACE", "405")
def try_trace(server):
    return "%d" % ask(server, "TRACE /").status


@row("Range", "206 bytes 2-4/10 234")
def try_range(server):
    answer = ask(server, "GET /range", "Range: bytes=2-4")
    return "%d %s %s" % (answer.status, answer.headers["Content-Range"], answer.body.decode())


@row("Expect: 100-continue", "100 200")
def try_continue(server):
    with server.connect() as connection:
        connection.sendall(server.head("POST /upload/" + server.name, "Content-Length: 3",
                                       "Expect: 100-continue"))
        reader = Reader(connection)
        first, _ = reader.head()
        connection.sendall(b"a=1")
        return "%d %d" % (first, reader.head()[0])


@row("several requests on a connection", "200 200 200")
def try_several(server):
    with server.connect() as connection:
        reader, found = Reader(connection), []
        for line in ("GET /range", "GET /cookies", "GET /range"):
            connection.sendall(server.head(line))
            status, headers = reader.head()
            reader.body(headers)
            found.append(str(status))
    return " ".join(found)


@row("trailers of a request", "left out")
def try_trailers_of_a_request(server):
    answer = ask(server, "POST /trailers", "Transfer-Encoding: chunked", "Trailer: X-Sum",
                 body=b"3\r\nabc\r\n0\r\nX-Sum: 17\r\n\r\n")
    return "passed on" if any("17" in line for line in json.loads(answer.body)) else "left out"


@row("trailers of an answer", "left out")
def try_trailers_of_an_answer(server):
    with server.connect() as connection:
        connection.sendall(server.head("GET /trailers", "TE: trailers"))
        reader = Reader(connection)
        _, headers = reader.head()
        if not headers.get("Transfer-Encoding"):
            return "left out"
        list(reader.chunks())
    return "passed on" if any("17" in line for line in reader.trailers) else "left out"


@row("a header of 8,000 bytes", "passed on")
def try_long_header(server):
    return long_header(server, 8_000)


@row("a header of 20,000 bytes", "passed on")
def try_longer_header(server):
    return long_header(server, 20_000)


def long_header(server, length):
    try:
        answer = ask(server, "GET /", "X-Long: " + "x" * length)
    except ConnectionError:
        return "no answer"
    if answer.status != 200:
        return "%d" % answer.status
    return "passed on" if answer.seen_values("x-long") == ["x" * length] else "cut"


@row("a path of 20,000 bytes", "passed on")
def try_long_path(server):
    target = "/" + "x" * 20_000
    answer = ask(server, "GET " + target)
    return "passed on" if answer.status == 200 and answer.seen()["path"] == target else \
        "%d" % answer.status


@row("an answer with a header of 20,000 bytes", "passed on")
def try_long_line(server):
    answer = ask(server, "GET /line/20000")
    return "passed on" if answer.headers.get("X-Long") == "x" * 20_000 else "%d" % answer.status


@row("an answer with 30,000 bytes of headers", "passed on")
def try_long_answer(server):
    answer = ask(server, "GET /long")
    return "passed on" if answer.status == 200 and len(answer.headers.get("X-Long-3", "")) == 7_500 \
        else "%d" % answer.status


# ---- HTTP/2 ----

@row("HTTP/2", "2 200")
def try_http2(server):
    return "%s %d" % curl(server, "/")[:2]


@row("HTTP/2: what the application is told", "the server's")
def try_http2_headers(server):
    _, status, body = curl(server, "/", *(word for name in HEADERS for word in (
        "-H", "%s: %s" % (name, FALSE))))
    found = {told(server, name, Answer(status, None, body)) for name in HEADERS}
    return ", ".join(sorted(found))


@row("HTTP/2: an upload of 5 MB", "200 5000000")
def try_http2_upload(server):
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(LARGE))
        file.flush()
        _, status, body = curl(server, "/upload/" + server.name, "--data-binary", "@" + file.name)
    return "%d %s" % (status, body.decode())


# ---- who is let in ----

@row("intermediate authorities of a visitor's certificate", "up to 100")
def try_intermediates(server):
    passing = [n for n in INTERMEDIATES if passes(server, n)]
    if passing == list(INTERMEDIATES):
        return "any"
    return "up to %d" % max(passing) if passing == [n for n in INTERMEDIATES if n <= max(passing)] \
        else repr(passing)


def passes(server, n_intermediates):
    try:
        return ask(server, tls=server.context(n_intermediates)).status == 200
    except (OSError, http.client.HTTPException):
        return False


@row("a visitor who is not let in", "closed")
def try_stranger(server):
    before = server.application.n_asked
    found = stranger(server)
    return found if server.application.n_asked == before else found + ", and the application is asked"


def stranger(server):
    if server.is_route:
        with visitor_without_session(server) as other:
            return "%d" % ask(other).status
    try:
        return "%d" % ask(server, tls=server.context(has_certificate=False)).status
    except (ssl.SSLError, ConnectionError):
        return "closed"


@row("an upload of a visitor who is not let in", "closed")
def try_stranger_upload(server):
    """The application sees none of it."""
    before = server.application.n_asked
    options = {} if server.is_route else {"tls": server.context(has_certificate=False)}
    cookie, server.cookie = server.cookie, None
    try:
        found = "%d" % ask(server, "POST /upload/stranger", "Content-Length: %d" % LARGE,
                           body=bytes(LARGE), **options).status
    except (ssl.SSLError, ConnectionError):
        found = "closed"
    finally:
        server.cookie = cookie
    return found if server.application.n_asked == before else "the application is asked"
