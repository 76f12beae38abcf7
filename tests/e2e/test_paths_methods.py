# SPDX-License-Identifier: MIT
"""Paths, methods, HEAD and OPTIONS (sections 2 and 3), and the two routes for supervisors."""
from adit import covered, samples
from adit.case import Case
from adit.client import check_answer, check_server_answer, read_answer

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/pm/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/pm/mutual_tls"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


def allowed_methods(wanted_path):
    """The methods of a path in the route table."""
    methods = {method for method, path in covered.route_table if path == wanted_path}
    return methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set())


def target_of(path):
    return path.replace("{edge_id}", "pm").replace("{id}", "none")


PATHS = sorted({path for _, path in covered.route_table})


class Methods(Case):
    def test_every_path_by_every_method(self):
        for path in PATHS:
            for method in (*METHODS, "FOO", "GETT", "PROPFIND", "LOCK", "MKCOL", "M-SEARCH", "A_B",
                           "X" * 200):
                with self.subTest("%s %s" % (method[:20], path)):
                    self.check_method(method, path)

    def check_method(self, method, path):
        allowed = allowed_methods(path)
        body = b"{}" if method in ("POST", "PUT", "PATCH") else None
        answer = self.admin.call(method, target_of(path), body)
        if method in allowed:
            self.assertNotEqual(answer.status, 405, answer)
            self.assertLess(answer.status, 500, answer)
        elif method == "HEAD":
            self.assertEqual((answer.status, answer.body), (405, b""))
        else:
            self.assert_error(answer, 9001)
        if method == "OPTIONS" or answer.status == 405:
            self.assertEqual(set(answer.allow), allowed)
        else:
            self.assertEqual(answer.all("Allow"), [])

    def test_methods_are_told_apart_by_case(self):
        answer = self.admin.send("get", CREDENTIALS)
        self.assertEqual(answer.status, 400)
        check_server_answer(answer)

    def test_trace_and_connect(self):
        """The web server refuses these methods itself, and echoes nothing."""
        for method in ("TRACE", "CONNECT"):
            for target in (CREDENTIALS, "/nothing"):
                with self.subTest("%s %s" % (method, target)):
                    answer = self.admin.send(method, target, [("X-Secret", "s3cr3t")])
                    self.assertIn(answer.status, (400, 405))
                    self.assertEqual(len(answer.all("Allow")), answer.status == 405)
                    self.assertNotIn(b"s3cr3t", answer.body)
                    if answer.header("Service-Operation-Id"):
                        check_answer(answer)
                    else:
                        check_server_answer(answer)

    def test_method_override_is_none(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json
        path = CREDENTIALS + "/" + made["id"]
        for name in ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"):
            with self.subTest(name):
                self.assert_ok(self.admin.get(path, more=[(name, "DELETE")]))
        self.assert_ok(self.admin.get(path))


class Head(Case):
    def same_but_for_the_body(self, get, head):
        dropped = ("date", "content-length", "service-operation-id")
        self.assertEqual(head.status, get.status)
        self.assertEqual(*[sorted((name.lower(), value) for name, value in answer.headers
                                  if name.lower() not in dropped) for answer in (get, head)])
        self.assertIn(head.header("Content-Length"), (None, get.header("Content-Length")))

    def test_answers_like_get(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json
        self.admin.put(OAUTH, {})
        self.admin.put(MUTUAL_TLS, {})
        for target in (CREDENTIALS, CREDENTIALS + "?limit=1", CREDENTIALS + "/" + made["id"],
                       OAUTH, MUTUAL_TLS, "/livez", "/readyz", CREDENTIALS + "/none",
                       CREDENTIALS + "?x=1", "/nothing", "/edges/tls/none/mutual_tls",
                       CREDENTIALS + "/a%20b"):
            for name, client in (("a key", self.admin), ("none", self.nobody)):
                with self.subTest("%s with %s" % (target, name)):
                    self.same_but_for_the_body(client.get(target), client.call("HEAD", target))

    def test_leaves_the_connection_usable(self):
        """The answer to HEAD has no body, so the next answer begins right after its headers."""
        request = ("HEAD /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 2 +
                   "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        with self.nobody.connect() as sock, sock.makefile("rb") as stream:
            sock.sendall(request.encode())
            for head_only in (True, True, False):
                answer = read_answer(stream, head_only)
                self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json["status"], "live")
            self.assertEqual(stream.read(), b"")


class Paths(Case):
    UNKNOWN = [
        "/", "/nothing", "/ssh_credentials/", "/ssh_credential", "/ssh_credentialss",
        "/SSH_CREDENTIALS", "/Ssh_credentials", "/ssh-credentials", "/ssh_credentials/a/b",
        "/ssh_credentials/a/", "/edges", "/edges/", "/edges/https", "/edges/https/e",
        "/edges/https/e/routes", "/edges/https/e/routes/r", "/edges/https/e/routes/r/oauth/",
        "/edges/https/e/routes/r/OAuth", "/edges/https/e/routes/r/oauth/x",
        "/edges/https/e/route/r/oauth", "/edges/http/e/routes/r/oauth", "/edges/tls/t",
        "/edges/tls/t/mutual_tls/", "/edges/tls/t/mutual-tls", "/edges/tls/t/oauth",
        "/edges/tcp/t/mutual_tls", "/certificate_authorities/ca_1", "/api_keys", "/livez/",
        "/readyz/", "/Livez", "/live", "/healthz", "/.nginx-error/400",
        "/.nginx-error", "/index.html", "/favicon.ico", "/robots.txt", "/.well-known/x",
        "/v2/ssh_credentials", "/api/ssh_credentials", "/adit.fcgi", "/ssh_credentials;a",
        "/ssh_credentials%20", "/ssh_credentials%0A", "/%0Assh_credentials", "/livez%0A",
        "/ssh_credentials%2Fa%2Fb", "/ssh_credentials/a%2Fb", "/ssh_credentials/a%2F",
        "/%2e%2e%2e", "/%E2%82%AC", "/%FF", "/" + "a" * 4000, "/a" * 1000,
    ]

    def test_unknown(self):
        for target in self.UNKNOWN:
            with self.subTest(target[:60]):
                for client in (self.admin, self.nobody):
                    answer = client.send("GET", target, client.headers(
                        "GET", None, client.key, "2", None))
                    self.assertEqual(answer.status, 404, answer)
                    self.assertEqual(answer.code, 9000)
                    self.assertEqual(answer.all("Location"), [])

    def test_root_names_the_reference(self):
        self.assert_error(self.nobody.get("/", version=None), 9000, says="is at /docs")

    # These get 404, or the answer of the path that the web server normalises them to.
    NORMALISED = [
        ("//ssh_credentials", CREDENTIALS),
        ("///ssh_credentials", CREDENTIALS),
        ("/./ssh_credentials", CREDENTIALS),
        ("/x/../ssh_credentials", CREDENTIALS),
        ("/x/%2e%2e/ssh_credentials", CREDENTIALS),
        ("/%2e/ssh_credentials", CREDENTIALS),
        ("/ssh_credentials/.", "/ssh_credentials/"),
        ("/ssh_credentials/..", "/"),
        ("/ssh_credentials/%2e", "/ssh_credentials/"),
        ("/ssh_credentials/%2E%2E", "/"),
        ("/ssh_credentials//x", "/ssh_credentials/x"),
        ("/ssh_credentials/x/..", "/ssh_credentials/"),
        ("/edges/tls//t/mutual_tls", "/edges/tls/t/mutual_tls"),
        ("/edges//tls/t/mutual_tls", "/edges/tls/t/mutual_tls"),
        ("/edges/tls/../tls/t/mutual_tls", "/edges/tls/t/mutual_tls"),
        ("/edges/tls/./mutual_tls", "/edges/tls/mutual_tls"),
        ("/edges/https//routes/r/oauth", "/edges/https/routes/r/oauth"),
        ("/edges/https/e/routes/../oauth", "/edges/https/e/oauth"),
        ("/edges/https/e/routes//oauth", "/edges/https/e/routes/oauth"),
        ("//", "/"),
    ]

    def test_normalised_or_not_there(self):
        headers = self.admin.headers("GET", None, self.admin.key, "2", None)
        for target, same in self.NORMALISED:
            with self.subTest(target):
                answer = self.admin.send("GET", target, headers)
                check_answer(answer)
                like = self.admin.send("GET", same, headers)
                if answer.status != 404:
                    self.assertEqual((answer.status, answer.json), (like.status, like.json))

    def test_never_above_the_root(self):
        for target in ("/../ssh_credentials", "/..", "/%2e%2e/etc/passwd", "/x/../../etc/passwd"):
            with self.subTest(target):
                answer = self.admin.send("GET", target)
                self.assertIn(answer.status, (400, 401, 404))

    def test_nul_in_a_path(self):
        for target in ("/ssh_credentials%00", "/ssh_credentials/a%00b", "/livez%00x"):
            with self.subTest(target):
                answer = self.admin.send("GET", target, self.admin.headers(
                    "GET", None, self.admin.key, "2", None))
                self.assertIn(answer.status, (400, 404), answer)

    def test_encoded_newline_hides_no_path(self):
        """nginx once passed an empty PATH_INFO for such paths."""
        for target in ("/ssh_credentials/%0A", "/ssh_credentials/a%0Ab",
                       "/edges/tls/%0A/mutual_tls"):
            with self.subTest(target):
                self.assertEqual(self.admin.get(target).status, 404)
                self.assertEqual(self.nobody.get(target).status, 401)

    def test_absolute_form(self):
        answer = self.admin.call("GET", "http://other.test" + CREDENTIALS, host="other.test")
        self.assert_ok(answer)

    def test_fragment_is_no_part_of_the_path(self):
        answer = self.admin.send("GET", CREDENTIALS + "#x", self.admin.headers(
            "GET", None, self.admin.key, "2", None))
        self.assertIn(answer.status, (200, 400))


class Health(Case):
    def test_answers_without_a_key(self):
        self.assertEqual(self.assert_ok(self.nobody.get("/livez", version=None)),
                         {"status": "live"})
        self.assertEqual(self.assert_ok(self.nobody.get("/readyz", version=None)),
                         {"status": "ready"})

    def test_answers_with_any_key(self):
        for target in ("/livez", "/readyz"):
            for value in ("Bearer x", "Basic eDp5", "Bearer " + samples.well_formed_key()):
                with self.subTest("%s %s" % (target, value[:8])):
                    self.assert_ok(self.nobody.call("GET", target,
                                                    more=[("Authorization", value)]))

    def test_other_methods(self):
        for target in ("/livez", "/readyz"):
            for method in ("POST", "PUT", "PATCH", "DELETE"):
                with self.subTest("%s %s" % (method, target)):
                    answer = self.nobody.call(method, target)
                    self.assert_error(answer, 9001)
                    self.assertEqual(answer.allow, ["GET", "HEAD", "OPTIONS"])

    def test_body(self):
        self.assert_error(self.nobody.call("GET", "/livez", b"{}"), 211)
