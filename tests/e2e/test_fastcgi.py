# SPDX-License-Identifier: MIT
"""The responder's own socket: requests of web servers other than nginx, and hostile ones."""
import json
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time

from adit import fastcgi, samples, stack
from adit.case import DEADLINE_S, Case, until
from adit.client import check_answer

CREDENTIALS = "/ssh_credentials"


class Fastcgi(Case):
    @property
    def socket(self):
        return os.path.join(self.stack.run_folder, "adit.sock")

    def variables(self, method="GET", path=CREDENTIALS, body=b"", **changes):
        variables = {
            "REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": "", "SCRIPT_NAME": "",
            "REQUEST_SCHEME": "http", "HTTP_HOST": "adit.test", "SERVER_NAME": "adit.test",
            "SERVER_PORT": "80", "HTTP_AUTHORIZATION": "Bearer " + self.home.admin.key,
            "HTTP_SERVICE_VERSION": "2", "CONTENT_LENGTH": str(len(body)) if body else "",
            "CONTENT_TYPE": "application/json" if body else "", **changes}
        return {name: value for name, value in variables.items() if value is not None}

    def ask(self, method="GET", path=CREDENTIALS, body=b"", **changes):
        answer = fastcgi.ask(self.socket, self.variables(method, path, body, **changes), body)
        return check_answer(answer, head_only=method == "HEAD")

    def body(self, **members):
        return json.dumps(samples.credential(**members)).encode()


class Variables(Fastcgi):
    def test_plain(self):
        self.assert_ok(self.ask())
        self.assert_ok(self.ask("POST", body=self.body()), 201)
        self.assertEqual(self.ask("HEAD").status, 200)
        self.assert_ok(self.ask("OPTIONS"), 204)

    def test_repeated_authorization(self):
        """Two headers get 401, even if one is good."""
        good = "Bearer " + self.home.admin.key
        for second in (good, "Bearer x", "Basic eDp5"):
            for order in ((good, second), (second, good)):
                with self.subTest(str(order.index(good)) + second[:8]):
                    variables = [*self.variables(HTTP_AUTHORIZATION=None).items(),
                                 *(("HTTP_AUTHORIZATION", value) for value in order)]
                    answer = check_answer(fastcgi.ask(self.socket, variables))
                    self.assertEqual(answer.status, 401, answer)

    def test_authorization_as_apache_renames_it(self):
        good = "Bearer " + self.home.admin.key
        self.assert_ok(self.ask(HTTP_AUTHORIZATION=None, REDIRECT_HTTP_AUTHORIZATION=good))
        # This variable counts only if HTTP_AUTHORIZATION is absent.
        self.assert_error(self.ask(HTTP_AUTHORIZATION="Bearer x",
                                   REDIRECT_HTTP_AUTHORIZATION=good), 202)

    def test_repeated_version(self):
        variables = [*self.variables().items(), ("HTTP_SERVICE_VERSION", "2")]
        self.assert_error(check_answer(fastcgi.ask(self.socket, variables)), 217)

    def test_script_name_is_part_of_links(self):
        self.each([(name, changes, wanted) for name, changes, wanted in (
            ("a folder", {"SCRIPT_NAME": "/adit"}, "http://adit.test/adit"),
            ("a program", {"SCRIPT_NAME": "/cgi-bin/adit.fcgi"},
             "http://adit.test/cgi-bin/adit.fcgi"),
            ("a decoded space", {"SCRIPT_NAME": "/my api"}, "http://adit.test/my%20api"),
            ("https by scheme", {"REQUEST_SCHEME": "https"}, "https://adit.test"),
            ("https by HTTPS", {"REQUEST_SCHEME": None, "HTTPS": "on"}, "https://adit.test"),
            ("HTTPS off", {"REQUEST_SCHEME": None, "HTTPS": "off"}, "http://adit.test"),
            ("a port in Host", {"HTTP_HOST": "adit.test:8080", "SERVER_PORT": "8080"},
             "http://adit.test:8080"),
            ("no Host, another port", {"HTTP_HOST": None, "SERVER_PORT": "8080"},
             "http://adit.test:8080"),
            ("no Host", {"HTTP_HOST": None}, "http://adit.test"),
            ("no Host, https", {"HTTP_HOST": None, "SERVER_PORT": "443",
                                "REQUEST_SCHEME": "https"}, "https://adit.test"),
        )], lambda changes, wanted: self.assertEqual(
            self.assert_ok(self.ask(**changes))["uri"], wanted + CREDENTIALS))

    def test_bad_hosts(self):
        for host in ("a/b", "a b", "a\nb", "a\"b", "a\\b", "a?b", "a#b", "a@b", "a%41", "<a>",
                     "ä", "a\x7f", "a\x01", "x" * 300):
            with self.subTest(repr(host[:20])):
                self.assert_error(self.ask(HTTP_HOST=host), 9024)

    def test_no_host_at_all(self):
        self.assert_error(self.ask(HTTP_HOST=None, SERVER_NAME=""), 9024)

    def test_host_is_of_no_interest_before_authentication(self):
        self.assert_error(self.ask(HTTP_HOST="a/b", HTTP_AUTHORIZATION=None), 200)

    def test_paths(self):
        self.each([
            ("empty", "", 404), ("missing", None, 404), ("no slash", "ssh_credentials", 404),
            ("doubled slash", "//ssh_credentials", 404), ("dot", "/./ssh_credentials", 404),
            ("a newline", "/ssh_credentials\n", 404),
            ("an empty identifier", "/edges/tls//mutual_tls", 404),
            ("a dot for an identifier", "/edges/tls/./mutual_tls", 404),
            ("dots for an identifier", "/edges/tls/../mutual_tls", 404),
            ("a newline in an identifier", "/edges/tls/a\nb/mutual_tls", 404),
            ("not UTF-8", b"/edges/tls/\xff/mutual_tls", 404),
            ("a query in it", "/ssh_credentials?x", 404),
        ], lambda path, status: self.assertEqual(self.ask(path=path).status, status))

    def test_dot_identifiers_are_404_after_401(self):
        for ident in (".", ".."):
            for path in ("/edges/tls/%s/mutual_tls", "/ssh_credentials/%s",
                         "/edges/https/%s/routes/r/oauth"):
                with self.subTest(path % ident):
                    self.assertEqual(self.ask(path=path % ident).status, 404)
                    self.assertEqual(self.ask(path=path % ident,
                                              HTTP_AUTHORIZATION=None).status, 401)

    def test_odd_environments(self):
        for name, changes in (("no method", {"REQUEST_METHOD": None}),
                              ("an empty method", {"REQUEST_METHOD": ""}),
                              ("a long method", {"REQUEST_METHOD": "X" * 10000}),
                              ("many variables", {"HTTP_X_%d" % i: "x" for i in range(500)}),
                              ("a long variable", {"HTTP_X": "x" * 100000}),
                              ("a huge query", {"QUERY_STRING": "limit=" + "1" * 60000})):
            with self.subTest(name):
                answer = fastcgi.ask(self.socket, self.variables(**changes))
                self.assertLess(check_answer(answer).status, 500)


class Bodies(Fastcgi):
    def test_short(self):
        body = self.body()
        for sent in (body[:-1], body[:10], b""):
            with self.subTest(len(sent)):
                answer = fastcgi.ask(self.socket, self.variables("POST", body=body), sent)
                self.assert_error(check_answer(answer), 212)

    def test_long(self):
        body = self.body()
        for sent in (body + b" ", body + b"x" * 1000, body + body):
            with self.subTest(len(sent)):
                answer = fastcgi.ask(self.socket, self.variables("POST", body=body), sent)
                self.assert_error(check_answer(answer), 9008)

    def test_length_not_announced(self):
        """Some servers pass chunked bodies without a length."""
        for value in (None, ""):
            with self.subTest(str(value)):
                self.assert_ok(self.ask("POST", body=self.body(), CONTENT_LENGTH=value), 201)

    def test_too_large(self):
        for name, body, announced in (("announced", b" " * 65537, "65537"),
                                      ("not announced", b" " * 65537, ""),
                                      ("much", b" " * 500000, ""),
                                      ("announced and not sent", b"", "99999999999999999999"),
                                      ("announced and cut", b"{}", "65537")):
            for key in ("Bearer " + self.home.admin.key, None):
                with self.subTest("%s, %s" % (name, "a key" if key else "none")):
                    answer = self.ask("POST", body=body, CONTENT_LENGTH=announced,
                                      CONTENT_TYPE="application/json", HTTP_AUTHORIZATION=key)
                    if announced == "99999999999999999999":
                        # This number is no valid length, so any refusal will do.
                        self.assertIn(answer.status, (400, 401, 413))
                    else:
                        self.assert_error(answer, 9006)

    def test_path_and_method_come_before_413(self):
        self.assert_error(self.ask("POST", "/nothing", b" " * 65537), 9000)
        self.assert_error(self.ask("PUT", CREDENTIALS, b" " * 65537), 9001)

    def test_in_pieces(self):
        body = self.body(description="in pieces")
        with fastcgi.connect(self.socket) as sock, sock.makefile("rb") as file:
            for byte in fastcgi.records(self.variables("POST", body=body), body):
                sock.sendall(bytes([byte]))
            made = self.assert_ok(check_answer(fastcgi.read_answer(file)), 201)
        self.assertEqual(made["description"], "in pieces")

    def test_kept_connection_reads_each_body_to_its_end(self):
        """An unread rest of a body would be parsed as the next request's records."""
        forged = fastcgi.records(self.variables("GET", "/livez"), keep=True)
        with fastcgi.connect(self.socket) as sock, sock.makefile("rb") as file:
            for name, variables, body, status in (
                    ("401", self.variables("POST", HTTP_AUTHORIZATION=None), forged * 50, 401),
                    ("404", self.variables("POST", "/nothing"), forged * 50, 404),
                    ("405", self.variables("PUT"), forged * 50, 405),
                    ("short", self.variables("POST", CONTENT_LENGTH="99999"), forged, 413),
                    ("long", self.variables("POST", CONTENT_LENGTH="5"), forged, 400),
                    ("unexpected", self.variables("GET"), forged, 400),
                    ("good", self.variables("GET"), b"", 200)):
                with self.subTest(name):
                    sock.sendall(fastcgi.records(variables, body, keep=True))
                    self.assertEqual(check_answer(fastcgi.read_answer(file)).status, status)

    def test_too_large_on_a_kept_connection_harms_nobody(self):
        """The responder reads the whole body or closes the connection."""
        forged = fastcgi.records(self.variables("GET", "/livez"), keep=True)
        for size in (70000, 2000000):
            with self.subTest(size):
                body = (forged * (size // len(forged) + 1))[:size]
                with fastcgi.connect(self.socket) as sock, sock.makefile("rb") as file:
                    try:
                        sock.sendall(fastcgi.records(self.variables("POST"), body, keep=True))
                        self.assertEqual(check_answer(fastcgi.read_answer(file)).status, 413)
                        sock.sendall(fastcgi.records(self.variables("GET"), keep=True))
                        self.assertEqual(check_answer(fastcgi.read_answer(file)).status, 200)
                    except (EOFError, BrokenPipeError, ConnectionResetError):
                        pass


class Peers(Fastcgi):
    def ask_and_leave(self, method, target, body):
        """Sends a request that waits in the backlog until its web server has given up."""
        _, workers = self.stack.responder()
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        try:
            sock = fastcgi.connect(self.socket)
            sock.sendall(fastcgi.records(self.variables(method, target, body), body))
            sock.shutdown(socket.SHUT_WR)
        finally:
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
        with sock, sock.makefile("rb") as file:
            return check_answer(fastcgi.read_answer(file))

    def test_gone_before_a_write(self):
        """If the web server has given up, the request changes nothing."""
        made = self.admin.post(CREDENTIALS, samples.credential()).json
        before = self.stack.dump()
        path = CREDENTIALS + "/" + made["id"]
        for method, target, body in (("POST", CREDENTIALS, self.body()),
                                     ("PATCH", path, b'{"description": "x"}'),
                                     ("DELETE", path, b""),
                                     ("PUT", "/edges/tls/gone/mutual_tls", b"{}"),
                                     ("PUT", "/edges/https/gone/routes/r/oauth", b"{}"),
                                     ("DELETE", "/edges/tls/gone/mutual_tls", b"")):
            with self.subTest("%s %s" % (method, target)):
                self.assert_error(self.ask_and_leave(method, target, body), 9037)
        self.assertEqual(self.stack.dump(), before)

    def test_reset_before_a_write(self):
        """The same if the connection was reset, with an earlier answer unread."""
        path = "/edges/tls/reset/mutual_tls"
        _, workers = self.stack.responder()
        sock = fastcgi.connect(self.socket)
        sock.sendall(fastcgi.records(self.variables(), keep=True))
        select.select([sock], [], [])
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        try:
            sock.sendall(fastcgi.records(self.variables("PUT", path, b"{}"), b"{}"))
            sock.close()
        finally:
            before = self.gone()
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
        until(lambda: self.gone() > before or self.admin.get(path).status == 200, "the request")
        self.assert_error(self.admin.get(path), 9004)

    def gone(self):
        """The number of requests that the log reports as not run because the client was gone."""
        return sum(log.count(b"CLIENT_GONE") for log in self.stack.logs().values())

    def test_gone_before_a_read(self):
        self.assert_ok(self.ask_and_leave("GET", CREDENTIALS, b""))

    def test_silence_and_rubbish_hold_nobody(self):
        """Silent and half-finished connections, several for each worker, delay no request."""
        begin = fastcgi.record(fastcgi.BEGIN, struct.pack(">HB5x", 1, 1))
        _, workers = self.stack.responder()
        held = []
        try:
            for data in [b""] * 30 + [b"\x01", begin] * (len(workers) // 2):
                sock = fastcgi.connect(self.socket)
                sock.sendall(data)
                held.append(sock)
            # ask() fails at the socket's timeout.
            self.assert_ok(self.ask())
            self.assert_ok(self.admin.get(CREDENTIALS))
        finally:
            for sock in held:
                sock.close()
        self.assert_ok(self.ask())

    def test_hostile_records(self):
        """The socket is a security boundary.  If a worker dies, the next one serves."""
        begin = fastcgi.record(fastcgi.BEGIN, struct.pack(">HB5x", 1, 1))
        rubbish = [
            b"\x00" * 64, b"\xff" * 64, b"GET / HTTP/1.0\r\n\r\n",
            struct.pack(">BBHHBx", 2, 1, 1, 8, 0) + b"\0\1\0\0\0\0\0\0",
            fastcgi.record(fastcgi.BEGIN, struct.pack(">HB5x", 2, 0)),
            fastcgi.record(fastcgi.BEGIN, struct.pack(">HB5x", 3, 0)),
            begin + fastcgi.stream(fastcgi.PARAMS, b"\xff\xff\xff\xff\xff\xff\xff\xffab"),
            begin + fastcgi.stream(fastcgi.PARAMS, b"\x80\x00\x00\x05\x01A"),
            begin + fastcgi.record(fastcgi.ABORT),
            begin + fastcgi.record(fastcgi.STDIN, b"x" * 100),
            begin + begin, fastcgi.record(fastcgi.PARAMS, b"x"),
            fastcgi.records(self.variables())[:40],
            struct.pack(">BBHHBx", 1, 99, 0, 0, 0),
            struct.pack(">BBHHBx", 1, 9, 0, 8, 0) + b"\x0f\x00FCGI_MA",
            struct.pack(">BBHHBx", 1, 9, 0, 65535, 255) + b"\xff" * 65790,
        ]
        for i, data in enumerate(rubbish):
            with self.subTest(i):
                with fastcgi.connect(self.socket) as sock:
                    try:
                        sock.sendall(data)
                        sock.shutdown(socket.SHUT_WR)
                        while sock.recv(65536):
                            pass
                    except OSError:
                        pass
                until(lambda: self.nobody.send("GET", "/livez").status == 200, "an answer")

    def test_many_at_once(self):
        faults = []

        def work():
            try:
                for _ in range(15):
                    self.assert_ok(self.ask())
            except Exception as fault:
                faults.append(fault)
        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])


class Tcp(Fastcgi):
    """The socket on descriptor 0, as spawn-fcgi or a web server passes it.  Here it is TCP."""

    def setUp(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            self.process = subprocess.Popen(
                [os.path.join(stack.BUILD, "adit.fcgi"), "-c", self.stack.conf_path],
                env=stack.CLEAN_ENV, stdin=listener, stderr=subprocess.DEVNULL)
        self.addCleanup(self.process.wait, DEADLINE_S)
        self.addCleanup(self.process.terminate)

    def exchange(self, *pieces, wait_s=0):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as sock, \
                sock.makefile("rb") as file:
            for piece in pieces:
                sock.sendall(piece)
            time.sleep(wait_s)
            return check_answer(fastcgi.read_answer(file))

    def test_bodies(self):
        good = self.body(description="over TCP")
        for name, body, status in (("none", b"", 400), ("small", good, 201),
                                   ("the largest", good + b" " * (65536 - len(good)), 201),
                                   ("one byte more", good + b" " * (65537 - len(good)), 413),
                                   ("much more", b" " * 4000000, 413)):
            with self.subTest(name):
                data = fastcgi.records(self.variables("POST", body=body), body)
                self.assertEqual(self.exchange(data).status, status)

    def test_in_pieces(self):
        body = self.body(description="over TCP")
        data = fastcgi.records(self.variables("POST", body=body), body)
        pieces = [data[at:at + 7] for at in range(0, len(data), 7)]
        self.assert_ok(self.exchange(*pieces), 201)

    def test_answer_read_late(self):
        for _ in range(3):
            self.admin.post(CREDENTIALS, samples.credential(metadata="m" * 4096))
        wanted = self.assert_ok(self.ask())
        self.assertEqual(self.assert_ok(self.exchange(fastcgi.records(self.variables()),
                                                      wait_s=0.3)), wanted)
