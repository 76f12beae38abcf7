# SPDX-License-Identifier: MIT
"""Errors that nginx makes itself (section 8), and the connections that it keeps."""
import os
import re
import signal

from adit import fastcgi
from adit.case import Case, until, until_answer
from adit.client import check_answer, check_server_answer, read_answer

CREDENTIALS = "/ssh_credentials"


def request(line="GET /livez HTTP/1.1", *headers):
    return "\r\n".join([line, *headers, "Connection: close", "", ""]).encode("latin-1")


class ServerErrors(Case):
    def check(self, data, *statuses):
        answer = self.nobody.raw(data)
        self.assertIn(answer.status, statuses, answer)
        check_server_answer(answer)
        return answer

    def test_bad_requests(self):
        self.each([
            ("no request line", b"nonsense\r\n\r\n"),
            ("control characters", b"\x16\x03\x01\x02\x00\r\n\r\n"),
            ("no path", request("GET")),
            ("a relative path", request("GET livez HTTP/1.1", "Host: x")),
            ("a lower case method", request("get /livez HTTP/1.1", "Host: x")),
            ("no Host over HTTP/1.1", request()),
            ("two Hosts", request("GET /livez HTTP/1.1", "Host: a", "Host: b")),
            ("a Host with a slash", request("GET /livez HTTP/1.1", "Host: a/b")),
            ("a Content-Length that is no number", request(
                "POST /ssh_credentials HTTP/1.1", "Host: x", "Content-Length: x")),
            ("a negative Content-Length", request(
                "POST /ssh_credentials HTTP/1.1", "Host: x", "Content-Length: -1")),
            ("two lengths", request("POST /ssh_credentials HTTP/1.1", "Host: x",
                                    "Content-Length: 1", "Content-Length: 2")),
            ("a length and chunks", request("POST /ssh_credentials HTTP/1.1", "Host: x",
                                            "Content-Length: 2", "Transfer-Encoding: chunked")),
            ("a bad escape in the path", request("GET /%zz HTTP/1.1", "Host: x")),
            ("NUL in the path", request("GET /a%00b HTTP/1.1", "Host: x")),
            ("an asterisk", request("OPTIONS * HTTP/1.1", "Host: x")),
        ], lambda data: self.check(data, 400))

    def test_bad_chunks(self):
        head = request("POST /ssh_credentials HTTP/1.1", "Host: x",
                       "Transfer-Encoding: chunked", "Content-Type: application/json")
        for body in (b"zz\r\n", b"-1\r\n", b"5\r\nabcdefghij\r\n"):
            with self.subTest(repr(body)):
                self.check(head + body, 400)

    def test_too_large_a_body(self):
        """Only 413 may come before 401."""
        for name, headers in (("with a key", self.admin.headers("POST", None, self.admin.key, "2",
                                                                "application/json")),
                              ("without", [("Content-Type", "application/json")])):
            for size in (65537, 10 ** 6, 10 ** 12, 10 ** 18):
                with self.subTest("%s, %d" % (name, size)):
                    data = request("POST /ssh_credentials HTTP/1.1", "Host: x",
                                   "Content-Length: %d" % size, *["%s: %s" % h for h in headers])
                    self.check(data + b"x" * min(size, 100000), 413)

    def test_too_large_in_chunks(self):
        data = request("POST /ssh_credentials HTTP/1.1", "Host: x", "Transfer-Encoding: chunked")
        self.check(data + b"8000\r\n%s\r\n" % (b"x" * 32768) * 3 + b"0\r\n\r\n", 413)

    def test_long_request_line(self):
        for target in ("/" + "a" * 9000, "/ssh_credentials?limit=" + "1" * 9000):
            with self.subTest(target[:20]):
                answer = self.check(request("GET %s HTTP/1.1" % target, "Host: x"), 414)
                self.assertEqual(answer.code, 9052)

    def test_large_headers(self):
        for name, headers in (("one", ["X-A: " + "a" * 9000]),
                              ("an Authorization", ["Authorization: Bearer " + "a" * 9000]),
                              ("many", ["X-%d: %s" % (i, "a" * 4000) for i in range(20)])):
            with self.subTest(name):
                self.check(request("GET /livez HTTP/1.1", "Host: x", *headers), 431)

    def test_other_versions(self):
        for line in ("GET /livez HTTP/2.0", "GET /livez HTTP/3.0", "GET /livez HTTP/9.9"):
            with self.subTest(line):
                self.check(request(line, "Host: x"), 505)

    def test_unknown_transfer_encoding(self):
        self.check(request("POST /ssh_credentials HTTP/1.1", "Host: x", "Transfer-Encoding: foo"),
                   501, 400)

    def test_error_pages_are_no_paths(self):
        for number in (400, 404, 405, 413, 414, 429, 431, 500, 502, 504, "x"):
            with self.subTest(number):
                answer = self.nobody.send("GET", "/.nginx-error/%s" % number)
                self.assertEqual((answer.status, answer.code), (404, 9000))


class Connections(Case):
    def test_many_requests_on_one(self):
        """Each request gets its own answer, even after an error and an unread body."""
        requests = [
            (b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", 200),
            (b"POST /ssh_credentials HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n12345", 401),
            (b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            (b"POST /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
             b"5\r\nabcde\r\n0\r\n\r\n", 405),
            (b"OPTIONS /livez HTTP/1.1\r\nHost: x\r\n\r\n", 204),
            (b"DELETE /ssh_credentials/x HTTP/1.1\r\nHost: x\r\n\r\n", 401),
        ] * 5
        with self.nobody.connect() as sock, sock.makefile("rb") as stream:
            for data, status in requests:
                sock.sendall(data)
                self.assertEqual(check_answer(read_answer(stream)).status, status)

    def test_pipelined(self):
        wanted = [200, 404, 401, 204] * 10
        data = b"".join(b"%s HTTP/1.1\r\nHost: x\r\n\r\n" % line for line in (
            b"GET /livez", b"GET /nothing", b"GET /ssh_credentials", b"OPTIONS /livez")) * 10
        with self.nobody.connect() as sock, sock.makefile("rb") as stream:
            sock.sendall(data)
            self.assertEqual([read_answer(stream).status for _ in wanted], wanted)

    def test_a_forged_record_in_a_body_is_no_request(self):
        """A refused body remains a body, even if its bytes look like FastCGI records."""
        forged = fastcgi.records({"REQUEST_METHOD": "GET", "PATH_INFO": "/livez"}, b"")
        with self.nobody.connect() as sock, sock.makefile("rb") as stream:
            for _ in range(5):
                sock.sendall(b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
                             % (len(forged), forged))
                self.assertEqual(check_answer(read_answer(stream)).status, 405)
            sock.sendall(b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertEqual(check_answer(read_answer(stream)).status, 404)
            self.assertEqual(stream.read(), b"")

    def test_silent_connections_keep_nobody_waiting(self):
        silent = [self.nobody.connect() for _ in range(40)]
        try:
            for sock in silent[:20]:
                sock.sendall(b"POST /ssh_credentials HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n")
            for _ in range(10):
                self.assert_ok(self.admin.get(CREDENTIALS))
        finally:
            for sock in silent:
                sock.close()


class Upstream(Case):
    """A stack of its own.  Its web server has short timeouts and a limit of requests."""

    stack_name = "upstream"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.conf = os.path.join(cls.stack.state, "nginx-adit.conf")
        with open(cls.conf, encoding="utf-8") as file:
            cls.shipped = file.read()

    def reload(self, text):
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(text)
        old = self.stack.children(self.stack.nginx_master())
        os.kill(self.stack.nginx_master(), signal.SIGHUP)
        until(lambda: not any(self.accepts(pid) for pid in old), "nginx uses the new settings")

    def accepts(self, pid):
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                command = file.read()
        except OSError:
            return False
        return command != b"" and b"shutting down" not in command

    def tearDown(self):
        self.reload(self.shipped)
        until(lambda: self.ask().status == 200, "the service works again")

    def ask(self):
        return self.nobody.send("GET", "/livez")

    def ask_until(self, status):
        return check_server_answer(until_answer(
            self.ask, lambda answer: answer.status == status, "an answer of %d" % status))

    def test_no_responder(self):
        socket = os.path.join(self.stack.run_folder, "adit.sock")
        os.rename(socket, socket + ".away")
        try:
            self.reload(self.shipped)  # ends the connections that nginx has kept
            for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
                with self.subTest(method):
                    answer = check_server_answer(self.nobody.send(method, CREDENTIALS))
                    self.assertEqual((answer.status, answer.code), (502, 9055))
            self.assertEqual(self.nobody.send("HEAD", CREDENTIALS).status, 502)
        finally:
            os.rename(socket + ".away", socket)
        self.assertEqual(self.ask().status, 200)

    def test_no_answer_in_time(self):
        self.reload(re.sub(r"(fastcgi_read_timeout) \w+;", r"\1 200ms;", self.shipped))
        _, workers = self.stack.responder()
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(self.ask_until(504).code, 9056)
        finally:
            for pid in workers:
                os.kill(pid, signal.SIGCONT)

    def test_too_many_requests(self):
        zone = os.path.join(self.stack.state, "nginx.conf")
        with open(zone, encoding="utf-8") as file:
            text = file.read()
        with open(zone, "w", encoding="utf-8") as file:
            file.write(text.replace("http {", "http {\nlimit_req_zone $server_name zone=e2e:1m"
                                              " rate=1r/s;"))
        try:
            self.reload(re.sub(r"(fastcgi_pass [^;]+;)", r"\1 limit_req zone=e2e;", self.shipped))
            answer = self.ask_until(429)
            self.assertEqual((answer.code, answer.all("Retry-After")), (9053, ["1"]))
        finally:
            self.reload(self.shipped)
            with open(zone, "w", encoding="utf-8") as file:
                file.write(text)
