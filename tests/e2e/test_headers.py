# SPDX-License-Identifier: MIT
"""The version, the content type, the host, and bodies where none is allowed (sections 1 and 3)."""
from adit import samples
from adit.case import Case
from adit.client import check_answer, read_answer

CREDENTIALS = "/ssh_credentials"
JSON = "application/json"


class ContentEncoding(Case):
    def test_values(self):
        body = samples.credential()

        def check(value, is_good):
            answer = self.admin.post(CREDENTIALS, body, more=[("Content-Encoding", value)])
            if is_good:
                self.assert_ok(answer, 201)
            else:
                self.assertEqual(self.assert_error(answer, 9088)["status_code"], 415)
        self.each([("identity", "identity", True), ("in capitals", "Identity", True),
                   ("gzip", "gzip", False), ("two", "gzip, identity", False),
                   ("unknown", "x", False)], check)


class Version(Case):
    def test_values(self):
        def check(value, number):
            answer = self.admin.get(CREDENTIALS, version=value)
            if number:
                self.assert_error(answer, number, says="Service-Version")
            else:
                self.assert_ok(answer)
        self.each([
            ("2", "2", None),
            ("blanks around, which HTTP strips", "  2  ", None),
            ("missing", None, 218),
            ("empty", "", 218),
            ("1", "1", 217),
            ("3", "3", 217),
            ("2.0", "2.0", 217),
            ("02", "02", 217),
            ("+2", "+2", 217),
            ("v2", "v2", 217),
            ("22", "22", 217),
            ("2 and more", "2 x", 217),
            ("a list", "2, 2", 217),
            ("quoted", '"2"', 217),
            ("a long one", "2" * 2000, 217),
            ("a superscript two", "\u00b2", 217),
        ], check)

    def test_name_in_any_case(self):
        for name in ("service-version", "SERVICE-VERSION", "sErViCe-VeRsIoN"):
            with self.subTest(name):
                self.assert_ok(self.admin.get(CREDENTIALS, version=None, more=[(name, "2")]))

    def test_other_names_are_none(self):
        for name in ("Version", "Ngrok-Version", "X-Service-Version", "Service_Version"):
            with self.subTest(name):
                self.assert_error(self.admin.get(CREDENTIALS, version=None, more=[(name, "2")]),
                                  218)

    def test_twice(self):
        for first, second in (("2", "2"), ("2", "1"), ("1", "2"), ("2", ""), ("", "2")):
            with self.subTest("%s, %s" % (first, second)):
                self.assert_error(self.admin.get(CREDENTIALS, version=first,
                                                 more=[("Service-Version", second)]), 217)

    def test_is_needed_on_every_route(self):
        self.each([("%s %s" % row[:2], *row) for row in (
            ("GET", CREDENTIALS, None),
            ("POST", CREDENTIALS, samples.credential()),
            ("GET", CREDENTIALS + "/x", None),
            ("PATCH", CREDENTIALS + "/x", {}),
            ("DELETE", CREDENTIALS + "/x", None),
            ("GET", "/edges/https/e/routes/r/oauth", None),
            ("PUT", "/edges/https/e/routes/r/oauth", {}),
            ("DELETE", "/edges/https/e/routes/r/oauth", None),
            ("GET", "/edges/tls/t/mutual_tls", None),
            ("PUT", "/edges/tls/t/mutual_tls", {}),
            ("DELETE", "/edges/tls/t/mutual_tls", None))],
            lambda method, target, body: self.assert_error(
                self.admin.call(method, target, body, version=None), 218))

    def test_health_needs_none(self):
        for target in ("/livez", "/readyz"):
            with self.subTest(target):
                self.assert_ok(self.nobody.get(target, version=None))
                self.assert_ok(self.nobody.get(target, version="9"))


class ContentType(Case):
    def test_values(self):
        def check(value, number):
            for method, target, body in (("POST", CREDENTIALS, samples.credential()),
                                         ("PUT", "/edges/tls/ct/mutual_tls", {}),
                                         ("PUT", "/edges/https/ct/routes/r/oauth", {})):
                answer = self.admin.call(method, target, body, content_type=value)
                if number:
                    self.assert_error(answer, number)
                else:
                    self.assertIn(answer.status, (200, 201), answer)
        self.each([
            ("plain", JSON, None),
            ("with a charset", JSON + "; charset=utf-8", None),
            ("with a charset and no space", JSON + ";charset=UTF-8", None),
            ("with two parameters", JSON + "; charset=utf-8; profile=x", None),
            ("a space before the semicolon", JSON + " ; charset=utf-8", None),
            ("upper case", "APPLICATION/JSON", None),
            ("mixed case", "Application/Json", None),
            ("a bare semicolon", JSON + ";", None),
            ("missing", None, 216),
            ("empty", "", 216),
            ("text", "text/plain", 210),
            ("a form", "application/x-www-form-urlencoded", 210),
            ("a longer subtype", "application/jsonp", 210),
            ("a suffix", "application/json+x", 210),
            ("a patch", "application/merge-patch+json", 210),
            ("text/json", "text/json", 210),
            ("json alone", "json", 210),
            ("any", "*/*", 210),
            ("two", "application/json, text/plain", 210),
            ("a type in front", "x application/json", 210),
        ], check)

    def test_for_changes(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json
        path = CREDENTIALS + "/" + made["id"]
        self.assert_error(self.admin.patch(path, {}, content_type="text/plain"), 210)
        self.assert_error(self.admin.patch(path, {}, content_type=None), 216)

    def test_without_a_body_is_ignored(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json
        path = CREDENTIALS + "/" + made["id"]
        for value in (JSON, "text/plain", "nonsense"):
            with self.subTest(value):
                self.assert_ok(self.admin.get(path, content_type=value))
                self.assert_ok(self.admin.get(CREDENTIALS, content_type=value))
                self.assert_ok(self.admin.delete("/edges/tls/ct/mutual_tls", content_type=value),
                               204)
        self.assert_ok(self.admin.delete(path, content_type=JSON), 204)


class Bodies(Case):
    TARGETS = [
        ("POST", CREDENTIALS),
        ("PATCH", CREDENTIALS + "/" + samples.unknown_id()),
        ("PUT", "/edges/https/e/routes/r/oauth"),
        ("PUT", "/edges/tls/t/mutual_tls"),
    ]
    NO_BODY_TARGETS = [
        ("GET", CREDENTIALS),
        ("GET", CREDENTIALS + "/" + samples.unknown_id()),
        ("DELETE", CREDENTIALS + "/" + samples.unknown_id()),
        ("GET", "/edges/https/e/routes/r/oauth"),
        ("DELETE", "/edges/https/e/routes/r/oauth"),
        ("GET", "/edges/tls/t/mutual_tls"),
        ("DELETE", "/edges/tls/t/mutual_tls"),
    ]

    def test_missing(self):
        for method, target in self.TARGETS:
            for name, body, content_type in (("no length", None, JSON), ("length 0", b"", JSON),
                                             ("no type either", None, None),
                                             ("length 0 and no type", b"", None),
                                             ("another type", b"", "text/plain")):
                with self.subTest("%s %s: %s" % (method, target, name)):
                    self.assert_error(self.admin.call(method, target, body,
                                                      content_type=content_type), 9007)

    def test_an_empty_chunked_body_is_missing(self):
        for method, target in self.TARGETS:
            with self.subTest(method + target):
                self.assert_error(self.chunked(method, target, []), 9007)

    def test_not_expected(self):
        for method, target in self.NO_BODY_TARGETS:
            for body in (b"{}", b" ", b"x", b"\0"):
                with self.subTest("%s %s: %r" % (method, target, body)):
                    self.assert_error(self.admin.call(method, target, body), 211)
                    self.assert_error(self.chunked(method, target, [body]), 211)

    def test_not_expected_by_head(self):
        answer = self.admin.call("HEAD", CREDENTIALS, b"{}")
        self.assertEqual(answer.status, 400)

    def test_length_0_is_no_body(self):
        self.assert_ok(self.admin.get(CREDENTIALS, body=b""))
        self.assert_ok(self.admin.delete("/edges/tls/none/mutual_tls", body=b""), 204)

    def chunked(self, method, target, chunks):
        headers = self.admin.headers(method, None, self.admin.key, "2", JSON)
        data = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
        answer = self.admin.send(method, target, [*headers, ("Transfer-Encoding", "chunked")],
                                 data)
        return check_answer(answer)

    def test_chunked(self):
        body = b'{"description": "in pieces", "public_key": "%s"}' % samples.ED25519.encode()
        for name, size in (("one piece", 1000), ("seven bytes each", 7), ("a byte each", 1)):
            with self.subTest(name):
                chunks = [body[at:at + size] for at in range(0, len(body), size)]
                made = self.assert_ok(self.chunked("POST", CREDENTIALS, chunks), 201)
                self.assertEqual(made["description"], "in pieces")

    def padded(self, size):
        body = b'{"public_key": "%s"' % samples.ED25519.encode()
        return body + b" " * (size - len(body) - 1) + b"}"

    def test_64_kib_are_accepted(self):
        self.assert_ok(self.admin.post(CREDENTIALS, self.padded(65536)), 201)
        body = self.padded(65536)
        self.assert_ok(self.chunked("POST", CREDENTIALS, [body[:30000], body[30000:]]), 201)

    def test_expect_100_continue(self):
        """curl sends Expect: 100-continue with larger bodies."""
        body = self.padded(40000)
        headers = self.admin.headers("POST", body, self.admin.key, "2", JSON)
        lines = "".join("%s: %s\r\n" % pair for pair in headers)
        with self.admin.connect() as sock, sock.makefile("rb") as stream:
            sock.sendall(("POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                          "Connection: close\r\n%s\r\n" % (CREDENTIALS, lines)).encode())
            self.assertTrue(stream.readline().startswith(b"HTTP/1.1 100"))
            self.assertEqual(stream.readline(), b"\r\n")
            sock.sendall(body)
            self.assertEqual(check_answer(read_answer(stream)).status, 201)


class Host(Case):
    def ask(self, host, **options):
        return self.admin.get(CREDENTIALS, host=host, **options)

    def test_is_what_links_begin_with(self):
        for host in ("adit.example", "adit.example:8443", "ADIT.Example", "127.0.0.1:1", "[::1]",
                     "[::1]:8080", "localhost", "a-b.c"):
            with self.subTest(host):
                self.assertEqual(self.assert_ok(self.ask(host))["uri"],
                                 "http://%s%s" % (host, CREDENTIALS))

    def test_malformed(self):
        for host in ("a_b", "a b", "a,b", "a@b", "a\"b", "a'b", "a<b>", "\u00e4.example", "a%41",
                     "a;b", "(a)", "a+b", "x" * 256, "a\\b"):
            with self.subTest(host[:20]):
                # The web server refuses some of these hosts itself.
                answer = self.admin.send("GET", CREDENTIALS, self.admin.headers(
                    "GET", None, self.admin.key, "2", None), host=host)
                self.assertEqual(answer.status, 400, answer)
                self.assertIn(answer.code, (9024, 9050))

    def test_malformed_and_passed_on(self):
        for host in "a_b", "a:b", "a:65536":
            with self.subTest(host):
                self.assert_error(self.ask(host), 9024)

    def test_http_1_0_needs_none(self):
        answer = self.assert_ok(self.ask(None, protocol="HTTP/1.0"))
        self.assertRegex(answer["uri"], r"^http://[a-z.]+:%d/ssh_credentials$" % self.stack.port)

    def test_is_in_every_link(self):
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(), host="one.test"),
                              201)
        self.assertEqual(made["uri"], "http://one.test/ssh_credentials/" + made["id"])
        page = self.assert_ok(self.admin.get(CREDENTIALS + "?limit=1", host="two.test"))
        self.assertEqual(page["ssh_credentials"][0]["uri"],
                         "http://two.test/ssh_credentials/" + page["ssh_credentials"][0]["id"])
        self.admin.post(CREDENTIALS, samples.credential())
        page = self.assert_ok(self.admin.get(CREDENTIALS + "?limit=1", host="two.test"))
        self.assertTrue(page["next_page_uri"].startswith("http://two.test/ssh_credentials?"))
        module = self.assert_ok(self.admin.put("/edges/tls/t/mutual_tls", {
            "certificate_authority_ids": ["ca_1"]}, host="three.test"))
        self.assertEqual(module["certificate_authorities"],
                         [{"id": "ca_1", "uri": "http://three.test/certificate_authorities/ca_1"}])

    def test_forwarded_headers_change_nothing(self):
        answer = self.admin.get(CREDENTIALS, host="a.test", more=[
            ("X-Forwarded-Host", "evil.test"), ("X-Forwarded-Proto", "https"),
            ("Forwarded", "host=evil.test;proto=https")])
        self.assertEqual(self.assert_ok(answer)["uri"], "http://a.test/ssh_credentials")

    def test_proxy_header_changes_nothing(self):
        self.assert_ok(self.admin.get(CREDENTIALS, more=[("Proxy", "http://evil.test:1")]))
