# SPDX-License-Identifier: MIT
"""Identifiers, times and text (the contract's section 2)."""
import datetime
import time

from adit import samples
from adit.case import Case


def milliseconds_of(ident):
    """The time in the upper 48 bits of an assigned identifier, in milliseconds."""
    number = 0
    for digit in ident.partition("_")[2]:
        number = number * 62 + samples.DIGITS.index(digit)
    return number >> 112


class AssignedIdentifiers(Case):
    def test_prefixes(self):
        credential = self.assert_ok(self.admin.post("/ssh_credentials", samples.credential()), 201)
        issued = self.stack.ctl("key", "list").splitlines()[1].split("\t")
        self.each([
            ("credential", credential["id"], "sshcr"),
            ("account", self.home.id, "ac"),
            ("user", self.home.admin.id, "usr"),
            ("bot", self.home.bot.id, "bot"),
            ("API key", issued[0], "ak"),
        ], self.assert_ident)

    def test_hold_the_time(self):
        before = int(time.time() * 1000)
        credential = self.admin.post("/ssh_credentials", samples.credential()).json
        operation = self.admin.get("/ssh_credentials").header("Service-Operation-Id")
        after = int(time.time() * 1000)
        for name, ident in (("credential", credential["id"]), ("operation", operation)):
            with self.subTest(name):
                self.assertTrue(before <= milliseconds_of(ident) <= after, ident)

    def test_order_of_bytes_is_order_of_age(self):
        made = []
        for _ in range(6):
            made.append(self.admin.post("/ssh_credentials", samples.credential()).json["id"])
            passed = time.time() + 0.002
            while time.time() < passed:
                pass
        self.assertEqual(made, sorted(made, key=str.encode))

    def test_differ(self):
        seen = {self.nobody.get("/livez").header("Service-Operation-Id") for _ in range(50)}
        self.assertEqual(len(seen), 50)


class IncomingIdentifiers(Case):
    GOOD = [
        ("one character", "x"),
        ("255 characters", "i" * 255),
        ("all kinds of characters", "AZaz09._~-"),
        ("three dots", "..."),
        ("a dot in front", ".a"),
        ("a hyphen in front", "-a"),
        ("digits", "0"),
    ]
    # Identifiers as written in a path.
    BAD_IN_PATH = [
        ("256 characters", "i" * 256),
        ("a space", "a%20b"),
        ("a plus", "a+b"),
        ("an encoded newline", "a%0Ab"),
        ("a newline at the end", "a%0A"),
        ("an encoded carriage return", "a%0D"),
        ("a tab", "a%09"),
        ("DEL", "a%7F"),
        ("an umlaut", "%C3%A4"),
        ("bytes that are not UTF-8", "%FF%FE"),
        ("a quote", "a%27"),
        ("a percent sign", "a%25"),
        ("a percent sign and two digits", "a%2541"),
        ("a colon", "a:b"),
        ("a comma", "a,b"),
        ("an at sign", "a@b"),
        ("a semicolon", "a;b"),
        ("a question mark", "a%3Fb"),
        ("a hash", "a%23b"),
        ("a backslash", "a%5Cb"),
        ("brackets", "a%5B%5D"),
        ("an asterisk", "*"),
        ("an exclamation mark", "!"),
        ("a dollar", "$"),
        ("braces", "%7Bid%7D"),
    ]
    BAD_IN_BODY = [
        ("empty", ""),
        ("a dot", "."),
        ("two dots", ".."),
        ("256 characters", "i" * 256),
        ("a space", "a b"),
        ("a slash", "a/b"),
        ("a newline at the end", "a\n"),
        ("an umlaut", "ä"),
        ("a percent sign", "a%41"),
        ("a plus", "a+b"),
    ]

    def test_good_in_paths(self):
        def check(ident):
            self.assert_ok(self.admin.put("/edges/tls/%s/mutual_tls" % ident, {}))
            self.assert_ok(self.admin.get("/edges/tls/%s/mutual_tls" % ident))
            route = "/edges/https/%s/routes/%s/oauth" % (ident, ident)
            self.assert_ok(self.admin.put(route, {}))
            self.assert_ok(self.admin.delete(route), 204)
            self.assert_error(self.admin.get("/ssh_credentials/" + ident), 9002)
        self.each(self.GOOD, check)

    def assert_malformed(self, answer, field, says):
        """The error names the malformed identifier and its fault."""
        self.assert_error(answer, 9070, field, ["%s in the path is " % field, "identifier: " + says])

    def test_bad_in_paths(self):
        def check(ident):
            says = "it is longer" if len(ident) > 255 else "it has a character"
            for target, field in (
                    ("/ssh_credentials/%s" % ident, "id"),
                    ("/edges/tls/%s/mutual_tls" % ident, "id"),
                    ("/edges/https/%s/routes/r/oauth" % ident, "edge_id"),
                    ("/edges/https/e/routes/%s/oauth" % ident, "id"),
                    ("/edges/https/%s/routes/%s/oauth" % (ident, ident), "edge_id")):
                self.assert_malformed(self.admin.get(target), field, says)
                self.assertEqual(self.nobody.get(target).status, 401, target)
        self.each(self.BAD_IN_PATH, check)

    def test_bad_in_paths_of_writes(self):
        for method, target, body, field in (
                ("PATCH", "/ssh_credentials/a%20b", {}, "id"),
                ("DELETE", "/ssh_credentials/a%20b", None, "id"),
                ("PUT", "/edges/tls/a%20b/mutual_tls", {}, "id"),
                ("DELETE", "/edges/tls/a%20b/mutual_tls", None, "id"),
                ("PUT", "/edges/https/a%20b/routes/a/oauth", {}, "edge_id"),
                ("DELETE", "/edges/https/a%20b/routes/a/oauth", None, "edge_id"),
                ("PUT", "/edges/https/a/routes/a%20b/oauth", {}, "id"),
                ("DELETE", "/edges/https/a/routes/a%20b/oauth", None, "id")):
            with self.subTest("%s %s" % (method, target)):
                answer = self.admin.call(method, target, body)
                self.assert_malformed(answer, field, "it has a character")
                self.assertIn("'a b'", answer.json["msg"])
                self.assertEqual(self.nobody.call(method, target, body).status, 401)

    def test_bad_owner(self):
        self.each(self.BAD_IN_BODY, lambda ident: self.assert_error(
            self.admin.post("/ssh_credentials", samples.credential(owner_id=ident)),
            9012, "owner_id"))

    def test_bad_authorities(self):
        self.each(self.BAD_IN_BODY, lambda ident: self.assert_error(
            self.admin.put("/edges/tls/t/mutual_tls",
                           {"certificate_authority_ids": ["good", ident]}),
            228, "certificate_authority_ids[1]"))

    def test_good_authorities(self):
        def check(ident):
            answer = self.assert_ok(self.admin.put("/edges/tls/t/mutual_tls",
                                                   {"certificate_authority_ids": [ident]}))
            self.assertEqual(answer["certificate_authorities"][0]["id"], ident)
        self.each(self.GOOD, check)

    def test_encoded_unreserved_characters_name_the_same(self):
        made = self.admin.post("/ssh_credentials", samples.credential()).json
        encoded = "".join("%%%02X" % ord(character) for character in made["id"])
        self.each([
            ("the whole identifier", "/ssh_credentials/" + encoded),
            ("in lower case", "/ssh_credentials/" + encoded.lower()),
            ("the first character", "/ssh_credentials/%73" + made["id"][1:]),
            ("the underscore", "/ssh_credentials/" + made["id"].replace("_", "%5F")),
            ("in the path's fixed part", "/ssh%5Fcredenti%61ls/" + made["id"]),
        ], lambda target: self.assertEqual(self.assert_ok(self.admin.get(target)), made))


class Times(Case):
    def test_created_at(self):
        before = int(time.time()) - 1
        made = self.admin.post("/ssh_credentials", samples.credential()).json
        self.assertRegex(made["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        at = datetime.datetime.fromisoformat(made["created_at"].replace("Z", "+00:00"))
        self.assertTrue(before <= at.timestamp() <= time.time() + 1)

    def test_is_utc_whatever_the_database_says(self):
        made = self.admin.post("/ssh_credentials", samples.credential()).json
        ident = made["id"]
        for zone_time, shown in (("2024-02-29T23:59:59.999999+05:30", "2024-02-29T18:29:59Z"),
                                 ("2038-01-19T03:14:08+00", "2038-01-19T03:14:08Z"),
                                 ("1999-12-31T23:59:59.5+00", "1999-12-31T23:59:59Z")):
            with self.subTest(shown):
                self.stack.psql("UPDATE adit.ssh_credential SET created_at = '%s' WHERE id = '%s'"
                                % (zone_time, ident))
                self.assertEqual(self.admin.get("/ssh_credentials/" + ident).json["created_at"],
                                 shown)


class Text(Case):
    # Texts that must come back unchanged.
    KEPT = [
        ("plain", "gateway of the lab"),
        ("umlauts", "Größe"),
        ("beyond the first plane", "\U0001F511 key"),
        ("controls", "\x01\x02\t\r\n\x1f\x7f"),
        ("quotes and slashes", "\"'\\/ </script>"),
        ("separators of lines", "\u2028\u2029\u0085"),
        ("not composed", "e\u0301 \u00e9"),
        ("a byte order mark", "\ufeffx"),
        ("noncharacters", "\uffff\ufffe\U0010ffff"),
        ("the replacement character", "\ufffd"),
        ("white space around", "  x  "),
        ("a percent sign and SQL", "100%s'; DROP TABLE adit.account; --"),
        ("a text that looks like a list", "{a,b,NULL}"),
        ("right to left", "\u202eabc"),
    ]
    # Bytes inside a JSON string of the body.
    REFUSED = [
        ("an escaped NUL", b"a\\u0000b"),
        ("a NUL", b"a\x00b"),
        ("a lone high surrogate", b"\\ud800"),
        ("a lone low surrogate", b"\\udc00"),
        ("surrogates the wrong way round", b"\\udc00\\ud800"),
        ("two high surrogates", b"\\ud800\\ud800"),
        ("a high surrogate and a letter", b"\\ud83dx"),
        ("a continuation alone", b"\x80"),
        ("a start alone", b"\xc3"),
        ("a start before a quote", b"\xe2\x82"),
        ("overlong slash", b"\xc0\xaf"),
        ("overlong of three bytes", b"\xe0\x80\xaf"),
        ("overlong of four bytes", b"\xf0\x80\x80\xaf"),
        ("an encoded surrogate", b"\xed\xa0\x80"),
        ("past the last character", b"\xf4\x90\x80\x80"),
        ("a byte that UTF-8 never has", b"\xff"),
        ("Latin-1", b"Gr\xf6\xdfe"),
        ("a raw newline", b"a\nb"),
        ("a raw tab", b"a\tb"),
        ("a raw control", b"a\x1fb"),
        ("an unknown escape", b"\\x41"),
        ("a short escape", b"\\u12"),
        ("a capital escape", b"\\U0041"),
    ]

    def test_comes_back(self):
        def check(text):
            made = self.assert_ok(self.admin.post("/ssh_credentials", samples.credential(
                description=text, metadata=text)), 201)
            for credential in (made, self.admin.get("/ssh_credentials/" + made["id"]).json):
                self.assertEqual(credential["description"], text)
                self.assertEqual(credential["metadata"], text)
        self.each(self.KEPT, check)

    def test_escapes_are_read(self):
        body = (b'{"description": "\\u0041\\u00e9\\ud83d\\udd11\\"\\\\\\/\\b\\f\\n\\r\\t", '
                b'"public_key": "%s"}' % samples.ED25519.encode())
        made = self.assert_ok(self.admin.post("/ssh_credentials", body), 201)
        self.assertEqual(made["description"], "Aé\U0001F511\"\\/\b\f\n\r\t")

    def test_refused_in_values(self):
        def check(text):
            for body in (b'{"description": "%s", "public_key": "x"}' % text,
                         b'{"acl": ["%s"]}' % text,
                         b'{"%s": 1}' % text):
                error = self.assert_error(self.admin.post("/ssh_credentials", body), 213)
                self.assertTrue(0 <= int(error["details"]["offset"]) <= len(body))
        self.each(self.REFUSED, check)

    def test_refused_for_modules(self):
        def check(text):
            self.assert_error(self.admin.put(
                "/edges/https/e/routes/r/oauth", b'{"cookie_prefix": "%s"}' % text), 213)
            self.assert_error(self.admin.put(
                "/edges/tls/t/mutual_tls", b'{"certificate_authority_ids": ["%s"]}' % text), 213)
        self.each(self.REFUSED, check)

    def test_limits_count_bytes(self):
        def check(member, text, number):
            answer = self.admin.post("/ssh_credentials", samples.credential(**{member: text}))
            if number:
                self.assert_error(answer, number, member)
            else:
                self.assertEqual(self.assert_ok(answer, 201)[member], text)
        self.each([
            ("description of 255", "description", "x" * 255, None),
            ("description of 256", "description", "x" * 256, 604),
            ("description of 255 in 127 characters and a letter", "description",
             "é" * 127 + "x", None),
            ("description of 256 in 128 characters", "description", "é" * 128, 604),
            ("description of 255 that is longer escaped", "description", "\"" * 255, None),
            ("description of 252 in 63 characters", "description", "\U0001F511" * 63, None),
            ("description of 256 in 64 characters", "description", "\U0001F511" * 64, 604),
            ("metadata of 4096", "metadata", "m" * 4096, None),
            ("metadata of 4097", "metadata", "m" * 4097, 605),
            ("metadata of 4096 in 2048 characters", "metadata", "é" * 2048, None),
            ("metadata of 4098 in 2049 characters", "metadata", "é" * 2049, 605),
            ("metadata of 4096 that is longer escaped", "metadata", "\n" * 4096, None),
        ], check)

    def test_limits_hold_for_changes(self):
        made = self.admin.post("/ssh_credentials", samples.credential()).json
        path = "/ssh_credentials/" + made["id"]
        self.assert_error(self.admin.patch(path, {"description": "x" * 256}), 604, "description")
        self.assert_error(self.admin.patch(path, {"metadata": "x" * 4097}), 605, "metadata")
        self.assertEqual(self.admin.get(path).json, made)
