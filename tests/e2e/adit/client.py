# SPDX-License-Identifier: MIT
"""HTTP over plain sockets, so that a test controls every byte that it sends, and the checks that
hold for every answer."""
import json
import re
import socket

from adit import covered, reference

# A request that takes longer hangs, on a busy machine too.  tests/promises measures what faults cost.
DEADLINE_S = 30

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPERATION_ID = re.compile(r"op_[0-9A-Za-z]{27}\Z")


class Answer:
    """One answer, as received."""

    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.version, status, *reason = lines[0].split(" ", 2)
        self.status = int(status)
        self.reason = reason[0] if reason else ""
        self.headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]
        self.body = body

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name):
        found = self.all(name)
        return found[0] if found else None

    @property
    def json(self):
        return json.loads(self.body.decode("utf-8"), object_pairs_hook=_no_duplicates)

    @property
    def code(self):
        """The number of the error, or None if the answer is no error."""
        if self.status < 400 or not self.body:
            return None
        return int(self.json["error_code"].rpartition("_")[2])

    @property
    def allow(self):
        return sorted(method.strip() for method in (self.header("Allow") or "").split(","))

    def __repr__(self):
        return "%d %s" % (self.status, self.body[:600].decode("utf-8", "replace"))


def _no_duplicates(pairs):
    if len(dict(pairs)) != len(pairs):
        raise AssertionError("repeated members: %s" % [name for name, _ in pairs])
    return dict(pairs)


def read_answer(stream, head_only=False, asked=None):
    """Reads one answer from a socket's file and checks it against the OpenAPI document.  asked is
    the request, or None if any operation's answer will do.  Returns None at the end of the file."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            if head:
                raise AssertionError("the answer ends within its headers: %r" % head)
            return None
        head += line
    answer = Answer(head[:-4], b"")
    if answer.header("Transfer-Encoding"):
        raise AssertionError("the answer has no Content-Length")
    length = int(answer.header("Content-Length") or 0)
    if not head_only and answer.status not in (204, 304):
        answer.body = stream.read(length)
        if len(answer.body) != length:
            raise AssertionError("the body ends after %d of %d bytes" % (len(answer.body), length))
    reference.hold(answer, asked or reference.Asked(), head_only)
    return answer


def check(condition, answer, what):
    if not condition:
        raise AssertionError("%s: %d %s %s" % (what, answer.status, answer.headers,
                                               answer.body[:400]))


def check_error_shape(answer, service):
    check(answer.header("Content-Type") == "application/json", answer, "Content-Type of an error")
    error = answer.json
    check(sorted(error) == ["details", "error_code", "msg", "status_code"], answer, "members")
    check(re.fullmatch("ERR_%s_[0-9]+" % service.upper(), error["error_code"]), answer, "code")
    check(type(error["status_code"]) is int and error["status_code"] == answer.status, answer,
          "status_code")
    check(isinstance(error["msg"], str) and error["msg"], answer, "msg")
    check(isinstance(error["details"], dict) and
          all(isinstance(value, str) for value in error["details"].values()), answer, "details")


def check_answer(answer, service="service", head_only=False):
    """Checks that hold for every answer of the program."""
    operation_id = answer.all("%s-Operation-Id" % service.capitalize())
    check(len(operation_id) == 1 and OPERATION_ID.match(operation_id[0]), answer, "operation id")
    check(answer.all("Cache-Control") == ["no-store"], answer, "Cache-Control")
    check(answer.status < 300 or answer.status == 304 or answer.status >= 400, answer,
          "a redirect")
    check(not answer.all("Location"), answer, "Location")
    check(len(answer.all("WWW-Authenticate")) == (answer.status == 401), answer,
          "WWW-Authenticate")
    check(len(answer.all("Retry-After")) == (answer.status == 503), answer, "Retry-After")
    if answer.status in (204, 304):
        check(not answer.all("Content-Type") and not answer.all("Content-Length"), answer,
              "headers of an absent body")
    elif answer.all("Content-Type") != [METRICS_TYPE]:  # the document says where that may come
        check(answer.all("Content-Type") == ["application/json"], answer, "Content-Type")
    if head_only or answer.status in (204, 304):
        return answer
    check(answer.all("Content-Length") == [str(len(answer.body))], answer, "Content-Length")
    if answer.all("Content-Type") == [METRICS_TYPE]:
        return answer
    check(isinstance(answer.json, dict), answer, "an object")
    if answer.status >= 400:
        check_error_shape(answer, service)
        check(answer.json["details"].get("operation_id") == operation_id[0], answer,
              "details.operation_id")
        covered.error(answer.code)
    return answer


def check_server_answer(answer, service="service"):
    """Checks that hold for every error that the web server makes."""
    check(answer.all("Cache-Control") == ["no-store"], answer, "Cache-Control")
    check(answer.all("Content-Length") == [str(len(answer.body))], answer, "Content-Length")
    check(answer.status >= 400 and not answer.all("Location"), answer, "status")
    check_error_shape(answer, service)
    check(answer.json["details"] == {}, answer, "details")
    return answer


NOT_GIVEN = object()


class Client:
    prefixes = ("",)  # the paths below which the interface is

    def __init__(self, host, port, key=None, service="service", providers=None):
        self.host, self.port, self.key, self.service = host, port, key, service
        self.providers = providers
        self.version_header = "%s-Version" % service.capitalize()

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=DEADLINE_S)

    def raw(self, data, head_only=False, is_held=True):
        """Sends bytes and returns the one answer.  The server must then close the connection.
        Answers outside the interface are not checked against the OpenAPI document."""
        asked = reference.NOTHING
        if is_held:
            asked = reference.Asked.of_bytes(data, self.prefixes, self.service, self.providers)
        with self.connect() as sock:
            try:
                sock.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the server answered before the end of the request
            with sock.makefile("rb") as stream:
                answer = read_answer(stream, head_only, asked)
                if answer is None:
                    raise AssertionError("no answer to %r" % data[:200])
                rest = self._read_rest(sock, stream)
        if rest:
            raise AssertionError("bytes after the answer: %r" % rest[:200])
        return answer

    def _read_rest(self, sock, stream):
        """Ends the sending side first: nginx waits for more bytes of the client until it does."""
        try:
            sock.shutdown(socket.SHUT_WR)
            return stream.read()
        except OSError:
            return b""

    def send(self, method, target, headers=(), body=b"", protocol="HTTP/1.1", host=NOT_GIVEN,
             is_held=True):
        """Sends a request with exactly these headers, plus Host and Connection."""
        lines = ["%s %s %s" % (method, target, protocol)]
        if host is NOT_GIVEN:
            host = "%s:%d" % (self.host, self.port)
        if host is not None:
            lines.append("Host: " + host)
        lines += ["%s: %s" % pair for pair in headers]
        lines.append("Connection: close")
        head = "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"
        return self.raw(head + body, head_only=method == "HEAD", is_held=is_held)

    def headers(self, method, body, key, version, content_type):
        """The headers of an ordinary request."""
        headers = []
        if key is not None:
            headers.append(("Authorization", "Bearer " + key))
        if version is not None:
            headers.append((self.version_header, version))
        if content_type is not None:
            headers.append(("Content-Type", content_type))
        if body is not None:
            headers.append(("Content-Length", str(len(body))))
        return headers

    def call(self, method, target, body=None, key=NOT_GIVEN, version="2",
             content_type=NOT_GIVEN, more=(), **options):
        """Sends an ordinary request.  A body that is not bytes is sent as JSON.  Runs the checks
        that hold for every answer."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        key = self.key if key is NOT_GIVEN else key
        if content_type is NOT_GIVEN:
            content_type = "application/json" if body is not None else None
        headers = self.headers(method, body, key, version, content_type)
        answer = self.send(method, target, [*headers, *more], body or b"", **options)
        check_answer(answer, self.service, head_only=method == "HEAD")
        covered.route(method, target, answer.status)
        return answer

    def get(self, target, **options):
        return self.call("GET", target, **options)

    def post(self, target, body, **options):
        return self.call("POST", target, body, **options)

    def put(self, target, body, **options):
        return self.call("PUT", target, body, **options)

    def patch(self, target, body, **options):
        return self.call("PATCH", target, body, **options)

    def delete(self, target, **options):
        return self.call("DELETE", target, **options)
