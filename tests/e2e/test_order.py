# SPDX-License-Identifier: MIT
"""The order of the checks (section 3): of two faults, the earlier gate reports its own."""
from adit import covered, samples
from adit.case import Case

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/order/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/order/mutual_tls"
JSON = "application/json"

UNKNOWN = samples.unknown_id()
NO_KEY = [
    ("no Authorization", None, 200),
    ("no Bearer", "Basic eDp5", 201),
    ("a malformed key", "Bearer x", 202),
    ("an unknown key", "Bearer " + samples.well_formed_key(), 203),
]

# Faults after authentication: method, target, version, Content-Type, body, number.
FAULTS = [
    ("no version", "GET", CREDENTIALS, None, None, None, 218),
    ("another version", "GET", CREDENTIALS, "1", None, None, 217),
    ("unknown parameter", "GET", CREDENTIALS + "?x=1", "2", None, None, 231),
    ("repeated parameter", "GET", CREDENTIALS + "?limit=1&limit=1", "2", None, None, 232),
    ("limit out of range", "GET", CREDENTIALS + "?limit=0", "2", None, None, 233),
    ("limit no number", "GET", CREDENTIALS + "?limit=x", "2", None, None, 244),
    ("before_id malformed", "GET", CREDENTIALS + "?before_id=a%20b", "2", None, None, 9009),
    ("query malformed", "GET", CREDENTIALS + "?limit=%zz", "2", None, None, 9010),
    ("a body where none is due", "GET", CREDENTIALS, "2", JSON, b"{}", 211),
    ("no body", "POST", CREDENTIALS, "2", JSON, b"", 9007),
    ("no content type", "POST", CREDENTIALS, "2", None, b"{}", 216),
    ("another content type", "POST", CREDENTIALS, "2", "text/plain", b"{}", 210),
    ("no JSON", "POST", CREDENTIALS, "2", JSON, b"{", 213),
    ("unknown member", "POST", CREDENTIALS, "2", JSON, b'{"x": 1}', 214),
    ("wrong type", "POST", CREDENTIALS, "2", JSON, b'{"acl": 1}', 215),
    ("no public key", "POST", CREDENTIALS, "2", JSON, b"{}", 611),
    ("no key to decide about", "POST", "/ssh_decisions", "2", JSON, b"{}", 9072),
    ("two keys to decide about", "POST", "/ssh_decisions", "2", JSON,
     b'{"fingerprint": "SHA256:%s", "public_key": "x"}' % (b"a" * 43), 9073),
    ("malformed fingerprint", "POST", "/ssh_decisions", "2", JSON, b'{"fingerprint": "x"}', 9074),
    ("malformed target", "POST", "/ssh_decisions", "2", JSON,
     b'{"fingerprint": "SHA256:%s", "target": "x:0"}' % (b"a" * 43), 9075),
    ("a query of a decision", "POST", "/ssh_decisions?x=1", "2", JSON, b"{}", 231),
    ("no JSON for a change", "PATCH", CREDENTIALS + "/" + UNKNOWN, "2", JSON, b"[]", 213),
    ("unknown member of a module", "PUT", OAUTH, "2", JSON, b'{"x": 1}', 214),
    ("no body for a module", "PUT", MUTUAL_TLS, "2", JSON, b"", 9007),
    ("a body for a deletion", "DELETE", MUTUAL_TLS, "2", JSON, b"{}", 211),
    ("unknown parameter of a deletion", "DELETE", OAUTH + "?limit=1", "2", None, None, 231),
    ("unknown credential", "GET", CREDENTIALS + "/" + UNKNOWN, "2", None, None, 9002),
    ("malformed identifier", "GET", CREDENTIALS + "/a%20b", "2", None, None, 9070),
]


class Order(Case):
    def ask(self, client, method, target, version, content_type, body, more=()):
        return client.call(method, target, body, version=version, content_type=content_type,
                           more=more)

    def test_each_fault_alone(self):
        """Each fault alone gets its number.  The other tests rely on this."""
        self.each(FAULTS, lambda *row: self.assert_error(self.ask(self.admin, *row[:-1]), row[-1]))

    def test_authentication_before_all_that_follows(self):
        rows = [("%s, %s" % (key[0], fault[0]), key, fault) for key in NO_KEY for fault in FAULTS]

        def check(key, fault):
            more = [("Authorization", key[1])] if key[1] else []
            self.assert_error(self.ask(self.nobody, *fault[1:-1], more=more), key[2])
        self.each(rows, check)

    def test_revoked_key_before_all_that_follows(self):
        key = self.home.admin.issue()
        client = self.stack.client(key)
        self.assert_ok(client.get(CREDENTIALS))
        self.stack.psql("UPDATE adit.api_key SET revoked_at = now()"
                        " WHERE digest = sha256('%s'::bytea)" % key)
        self.each(FAULTS, lambda *row: self.assert_error(self.ask(client, *row[:-1]), 203))

    def test_path_before_method_and_all(self):
        def check(method, client):
            for version in ("2", None):
                answer = client.call(method, "/nothing", b"{" if method == "POST" else None,
                                     version=version)
                if method == "HEAD":
                    self.assertEqual(answer.status, 404)
                else:
                    self.assert_error(answer, 9000)
        self.each([("%s %s" % (method, name), method, client)
                   for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
                                  "FOO")
                   for name, client in (("with a key", self.admin), ("without", self.nobody))],
                  check)

    def test_method_before_authentication_and_all(self):
        def check(method, target, allow, client):
            answer = client.call(method, target, b"{", version=None, content_type=None)
            self.assert_error(answer, 9001)
            self.assertEqual(answer.allow, allow)
        self.each([("%s %s %s" % (method, target, name), method, target, sorted(allow), client)
                   for method, target, allow in (
                       ("PUT", CREDENTIALS, ["GET", "HEAD", "OPTIONS", "POST"]),
                       ("DELETE", CREDENTIALS + "?x=1", ["GET", "HEAD", "OPTIONS", "POST"]),
                       ("POST", OAUTH, ["DELETE", "GET", "HEAD", "OPTIONS", "PUT"]),
                       ("GET", "/ssh_decisions", ["OPTIONS", "POST"]),
                       ("GET", "/oauth_admissions", ["OPTIONS", "POST"]),
                       ("PATCH", MUTUAL_TLS, ["DELETE", "GET", "HEAD", "OPTIONS", "PUT"]),
                       ("PUT", CREDENTIALS + "/a%20b",
                        ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH"]))
                   for name, client in (("with a key", self.admin), ("without", self.nobody))],
                  check)

    # Requests that fail two neighbouring gates, and the number of the gate that answers.
    PAIRS = [
        ("version before host", "GET", CREDENTIALS, None, None, None, 218),
        ("version before query", "GET", CREDENTIALS + "?x=1", None, None, None, 218),
        ("unsupported version before query", "GET", CREDENTIALS + "?x=1", "3", None, None, 217),
        ("version before body", "POST", CREDENTIALS, None, None, b"{", 218),
        ("version before an unexpected body", "DELETE", OAUTH, None, JSON, b"{", 218),
        ("version before existence", "GET", CREDENTIALS + "/" + UNKNOWN, None, None, None, 218),
        ("query before an unexpected body", "GET", CREDENTIALS + "?x=1", "2", JSON, b"{", 231),
        ("query before content type", "POST", CREDENTIALS + "?x=1", "2", None, b"{", 231),
        ("query before JSON", "PUT", OAUTH + "?x=1", "2", JSON, b"{", 231),
        ("query before an empty body", "PATCH", CREDENTIALS + "/x?x=1", "2", JSON, b"", 231),
        ("content type before JSON", "POST", CREDENTIALS, "2", "text/plain", b"{", 210),
        ("no content type before JSON", "PUT", MUTUAL_TLS, "2", None, b"{", 216),
        ("JSON before members", "POST", CREDENTIALS, "2", JSON, b'{"x": 1', 213),
        ("query before existence", "GET", CREDENTIALS + "/" + UNKNOWN + "?x=1", "2", None, None,
         231),
        ("body before existence", "PATCH", CREDENTIALS + "/" + UNKNOWN, "2", JSON, b'{"x": 1}',
         214),
        ("body before a malformed identifier", "PATCH", CREDENTIALS + "/a%20b", "2", JSON, b"{",
         213),
        ("version before a malformed identifier", "GET", CREDENTIALS + "/a%20b", None, None, None,
         218),
        ("unexpected body before existence", "DELETE", CREDENTIALS + "/" + UNKNOWN, "2", JSON,
         b"{}", 211),
    ]

    def test_pairs(self):
        self.each(self.PAIRS, lambda *row: self.assert_error(
            self.ask(self.admin, *row[:-1]), row[-1]))

    def test_input_before_permission_of_a_read_only_key(self):
        rows = [row for row in FAULTS + self.PAIRS if row[1] not in ("GET", "HEAD")]
        self.each(rows, lambda *row: self.assert_error(self.ask(self.reader, *row[:-1]), row[-1]))

    def test_input_before_permission_of_a_gateway_key(self):
        gateway = self.stack.client(self.home.gateway_key)
        missing = (9002, 9003, 9004, 9070)
        self.each(FAULTS + self.PAIRS, lambda *row: self.assert_error(
            self.ask(gateway, *row[:-1]), 9071 if row[-1] in missing else row[-1]))

    def test_permission_before_existence(self):
        self.each([
            ("change of an unknown credential", "PATCH", CREDENTIALS + "/" + UNKNOWN, {}),
            ("deletion of an unknown credential", "DELETE", CREDENTIALS + "/" + UNKNOWN, None),
            ("change at a malformed identifier", "PATCH", CREDENTIALS + "/a%20b", {}),
            ("deletion at a malformed identifier", "DELETE", CREDENTIALS + "/a%20b", None),
            ("a module at a malformed identifier", "PUT", "/edges/tls/a%20b/mutual_tls", {}),
            ("deletion of a module that is not there", "DELETE", "/edges/tls/none/mutual_tls",
             None),
        ], lambda method, target, body: self.assert_error(
            self.reader.call(method, target, body), 9005))

    def test_input_before_permission_to_name_an_owner(self):
        other = self.home.admin.id
        self.each([
            ("unknown member", {"x": 1}, 214),
            ("wrong type", {"acl": 1}, 215),
            ("rule", {"acl": ["x"]}, 600),
            ("description", {"description": "x" * 256}, 604),
            ("no key", {"public_key": None}, 611),
            ("bad key", {"public_key": "x"}, 612),
        ], lambda members, number: self.assert_error(
            self.member.post(CREDENTIALS, samples.credential(owner_id=other, **members)), number))

    def test_options_needs_neither_key_nor_version(self):
        for _, path in covered.route_table:
            target = path.replace("{id}", "a").replace("{edge_id}", "b")
            with self.subTest(target):
                answer = self.nobody.call("OPTIONS", target, version=None)
                self.assert_ok(answer, 204)
                self.assertIn("OPTIONS", answer.allow)
