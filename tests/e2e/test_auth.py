# SPDX-License-Identifier: MIT
"""API keys: their form, their life, and how requests present them (section 3)."""
import secrets

from adit import samples
from adit.case import Case, without_operation_id


class Presented(Case):
    def ask(self, *authorizations):
        headers = [("Authorization", value) for value in authorizations]
        answer = self.nobody.call("GET", "/ssh_credentials", more=headers)
        return answer

    def test_accepted(self):
        key = self.home.admin.key
        self.each([
            ("as documented", "Bearer " + key),
            ("lower case", "bearer " + key),
            ("upper case", "BEARER " + key),
            ("mixed case", "bEaReR " + key),
            ("two spaces", "Bearer  " + key),
            ("trailing spaces", "Bearer " + key + "  "),
            ("a tab", "Bearer\t" + key),
        ], lambda value: self.assert_ok(self.ask(value)))

    def test_refused(self):
        key = self.home.admin.key
        other = samples.well_formed_key()
        flipped = key[:-1] + ("0" if key[-1] != "0" else "1")
        # Swap two digits that differ: in one key of 62 the first two are equal.
        at = next(at for at in range(5, 47) if key[at] != key[at + 1])
        exchanged = key[:at] + key[at + 1] + key[at] + key[at + 2:]
        self.each([
            ("empty", "", 200),
            ("another scheme", "Basic dXNlcjpwYXNz", 201),
            ("the key alone", key, 201),
            ("a longer word", "Bearers " + key, 201),
            ("no space", "Bearer" + key, 201),
            ("Token", "Token " + key, 201),
            ("a digest", 'Digest username="x"', 201),
            ("the scheme alone", "Bearer", 202),
            ("the scheme and spaces", "Bearer   ", 202),
            ("noise", "Bearer xyz", 202),
            ("wrong check digits", "Bearer " + flipped, 202),
            ("one digit short", "Bearer " + key[:-1], 202),
            ("one digit long", "Bearer " + key + "0", 202),
            ("another prefix", "Bearer Adit" + key[4:], 202),
            ("without its prefix", "Bearer " + key[5:], 202),
            ("a wrong digit inside", "Bearer " + key[:20] + "_" + key[21:], 202),
            ("two digits exchanged", "Bearer " + exchanged, 202),
            ("two keys", "Bearer %s, Bearer %s" % (key, key), 202),
            ("a key and more", "Bearer " + key + " x", 202),
            ("in quotes", 'Bearer "%s"' % key, 202),
            ("lower case", "Bearer " + key.lower(), 202),
            ("unknown", "Bearer " + other, 203),
        ], lambda value, number: self.assert_error(self.ask(value), number))

    def test_missing(self):
        self.assert_error(self.ask(), 200)

    def test_twice(self):
        """nginx 1.22 answers a repeated Authorization with 400 itself.  Other servers pass it on:
        test_fastcgi has the responder's answer."""
        value = "Bearer " + self.home.admin.key
        for first, second in ((value, value), (value, "Bearer x"), ("Basic eDp5", value)):
            with self.subTest(first[:10] + second[:10]):
                answer = self.nobody.send("GET", "/ssh_credentials", [
                    ("Authorization", first), ("Authorization", second), ("Service-Version", "2")])
                self.assertIn(answer.status, (400, 401))

    def test_challenge(self):
        key = samples.well_formed_key()
        self.each([
            ("missing", (), "Bearer"),
            ("another scheme", ("Basic eDp5",), "Bearer"),
            ("malformed", ("Bearer xyz",), 'Bearer error="invalid_token"'),
            ("unknown", ("Bearer " + key,), 'Bearer error="invalid_token"'),
        ], lambda values, wanted: self.assertEqual(
            self.ask(*values).header("WWW-Authenticate"), wanted))

    def test_message_for_a_missing_header_names_the_web_server(self):
        """Apache passes on the header only if configured to.  The error names this cause."""
        self.assertIn("web server", self.ask().json["msg"])

    def test_key_in_the_query_is_none(self):
        answer = self.nobody.call("GET", "/ssh_credentials?api_key=" + self.home.admin.key)
        self.assert_error(answer, 200)

    def test_answers_quote_no_key(self):
        key = self.home.admin.key
        for value in ("Bearer " + key + "x", "Basic " + key, key, "Bearer " + key[:-1]):
            self.assertNotIn(key[:30].encode(), self.ask(value).body)


class Forms(Case):
    """A new key names its account.  One of the earlier form stays valid."""

    def test_new_key(self):
        account_id = self.home.id
        for person in (self.home.admin, self.home.bot):
            self.assertRegex(person.key, "^adit_%s[0-9A-Za-z]{49}$" % account_id[3:])
            self.assertEqual(samples.well_formed_key(person.key[32:75], account_id), person.key)

    def drive(self, client):
        """Calls every operation, with and without conditions."""
        route, edge = "/edges/https/forms/routes/r/oauth", "/edges/tls/forms/mutual_tls"
        secret = {"provider": {"provider_a": {"client_id": "a", "client_secret": "b"}}}
        made = client.post("/ssh_credentials", samples.credential()).json
        target = "/ssh_credentials/" + made["id"]
        again = client.call("POST", "/ssh_credentials", samples.credential(),
                            more=[("Idempotency-Key", secrets.token_hex(8))])
        self.assert_ok(again, 201)
        named = client.post("/ssh_credentials",
                            samples.credential(owner_id=self.home.admin.id))
        self.assert_ok(named, 201)
        for method, path, body in (
                ("PATCH", target, {"description": "x"}), ("GET", target, None),
                ("GET", "/ssh_credentials?limit=1", None),
                ("GET", "/ssh_credentials?filter=obj.id%20%3D%3D%20%22" + made["id"] + "%22", None),
                ("GET", "/ssh_credentials?filter=obj.owner_id%20%3D%3D%20%22"
                 + self.home.admin.id + "%22", None),
                ("PUT", route, secret), ("GET", route, None), ("PUT", edge, {}), ("GET", edge, None),
                ("POST", "/ssh_decisions", {"public_key": samples.ED25519}),
                ("POST", "/oauth_admissions", {}), ("GET", "/oauth_providers", None),
                ("GET", "/audit_events?limit=2", None)):
            with self.subTest("%s %s" % (method, path)):
                self.assertLess(client.call(method, path, body).status, 300)
        for path, body in ((route, secret), (edge, {}), (target, {"description": "y"})):
            tag = client.get(path).header("ETag")
            method = "PATCH" if path == target else "PUT"
            for method, value in ((method, tag), ("DELETE", '"1"')):
                with self.subTest("%s %s If-Match %s" % (method, path, value)):
                    answer = client.call(method, path, body if method != "DELETE" else None,
                                         more=[("If-Match", value)])
                    self.assertEqual(answer.status < 300, value == tag, answer.body)
            self.assert_ok(client.call("DELETE", path), 204)
        for answer in (again, named):
            client.call("DELETE", "/ssh_credentials/" + answer.json["id"])

    def test_every_operation(self):
        for form, key in (("new", self.home.admin.key), ("earlier", self.home.admin.issue_bare())):
            with self.subTest(form):
                self.drive(self.stack.client(key))

    def test_other_account(self):
        """The account in a key gives no right: the digest is of the whole key."""
        key = self.home.admin.key
        bare = self.home.admin.issue_bare()
        for what, wrong in (
                ("an account that is there", samples.well_formed_key(key[32:75], self.stack.account("away").id)),
                ("one that is not", samples.well_formed_key(key[32:75], samples.unknown_id("ac"))),
                ("no account", samples.well_formed_key(key[32:75])),
                ("the right one before an earlier key",
                 samples.well_formed_key(bare[5:48], self.home.id))):
            client = self.stack.client(wrong)
            with self.subTest(what):
                self.assert_error(client.get("/ssh_credentials"), 203)
                self.assert_error(client.post("/ssh_credentials", samples.credential()), 203)
                self.assert_error(client.put("/edges/tls/forms/mutual_tls", {}), 203)
        at = 5 + next(at for at in range(27) if key[5 + at] != "0")
        changed = key[:at] + "0" + key[at + 1:]
        self.assert_error(self.stack.client(changed).get("/ssh_credentials"), 202)


class Life(Case):
    def setUp(self):
        self.key = self.home.admin.issue()
        self.client = self.stack.client(self.key)

    def key_id(self):
        """The identifier of the newest key."""
        return self.stack.psql("SELECT id FROM adit.api_key WHERE digest = sha256('%s'::bytea)"
                               % self.key)

    def assert_refused_everywhere(self):
        """Every worker refuses the key, even if it has accepted the key before."""
        for _ in range(12):
            self.assert_error(self.client.get("/ssh_credentials"), 203)
        for method, target, body in (
                ("POST", "/ssh_credentials", samples.credential()),
                ("GET", "/ssh_credentials/" + samples.unknown_id(), None),
                ("PATCH", "/ssh_credentials/" + samples.unknown_id(), {}),
                ("DELETE", "/ssh_credentials/" + samples.unknown_id(), None),
                ("PUT", "/edges/https/e/routes/r/oauth", {"provider": {"provider_a": {
                    "client_id": "a", "client_secret": "b"}}}),
                ("GET", "/edges/https/e/routes/r/oauth", None),
                ("DELETE", "/edges/https/e/routes/r/oauth", None),
                ("PUT", "/edges/tls/t/mutual_tls", {}),
                ("GET", "/edges/tls/t/mutual_tls", None),
                ("DELETE", "/edges/tls/t/mutual_tls", None)):
            with self.subTest("%s %s" % (method, target)):
                self.assert_error(self.client.call(method, target, body), 203)

    def use(self):
        """Makes the workers accept the key, so that a cached result would show."""
        for _ in range(12):
            self.assert_ok(self.client.get("/ssh_credentials"))
            self.assert_ok(self.client.put("/edges/https/e/routes/life/oauth", {
                "provider": {"provider_a": {"client_id": "a", "client_secret": "b"}}}))

    def test_revoked(self):
        self.use()
        self.stack.ctl("key", "revoke", self.key_id())
        self.assert_refused_everywhere()

    def test_expired(self):
        self.use()
        self.stack.psql("UPDATE adit.api_key SET expires_at = now() WHERE id = '%s'"
                        % self.key_id())
        self.assert_refused_everywhere()

    def test_not_expired_yet(self):
        self.stack.psql("UPDATE adit.api_key SET expires_at = now() + interval '1 hour'"
                        " WHERE id = '%s'" % self.key_id())
        self.use()

    def test_deleted(self):
        self.use()
        self.stack.psql("DELETE FROM adit.api_key WHERE id = '%s'" % self.key_id())
        self.assert_refused_everywhere()

    def test_made_read_only(self):
        self.use()
        self.stack.psql("UPDATE adit.api_key SET read_only = true WHERE id = '%s'" % self.key_id())
        self.assert_ok(self.client.get("/ssh_credentials"))
        self.assert_error(self.client.post("/ssh_credentials", samples.credential()), 9005)

    def test_unknown_expired_and_revoked_look_alike(self):
        unknown = self.stack.client(samples.well_formed_key()).get("/ssh_credentials")
        self.stack.ctl("key", "revoke", self.key_id())
        revoked = self.client.get("/ssh_credentials")
        self.key = self.home.admin.issue()
        self.stack.psql("UPDATE adit.api_key SET expires_at = now() WHERE id = '%s'"
                        % self.key_id())
        expired = self.stack.client(self.key).get("/ssh_credentials")
        self.assertEqual(without_operation_id(unknown), without_operation_id(revoked))
        self.assertEqual(without_operation_id(unknown), without_operation_id(expired))


class ReadOnly(Case):
    def test_reads(self):
        made = self.admin.post("/ssh_credentials", samples.credential()).json
        self.admin.put("/edges/https/ro/routes/r/oauth", {})
        self.admin.put("/edges/tls/ro/mutual_tls", {})
        for target in ("/ssh_credentials", "/ssh_credentials/" + made["id"],
                       "/edges/tls/ro/mutual_tls", "/edges/https/ro/routes/r/oauth"):
            for method in ("GET", "HEAD"):
                with self.subTest("%s %s" % (method, target)):
                    self.assertEqual(self.reader.call(method, target).status, 200)

    def test_options(self):
        self.assert_ok(self.reader.call("OPTIONS", "/ssh_credentials"), 204)

    def test_does_not_write(self):
        made = self.admin.post("/ssh_credentials", samples.credential()).json
        self.admin.put("/edges/https/ro2/routes/r/oauth", {})
        self.admin.put("/edges/tls/ro2/mutual_tls", {})
        reader = self.reader
        before = self.stack.dump()

        def check(method, target, body):
            self.assert_error(reader.call(method, target, body), 9005)
        secret = {"provider": {"provider_a": {"client_id": "a", "client_secret": "b"}}}
        self.each([("%s %s" % row[:2], *row) for row in (
            ("POST", "/ssh_credentials", samples.credential()),
            ("PATCH", "/ssh_credentials/" + made["id"], {"description": "x"}),
            ("PATCH", "/ssh_credentials/" + made["id"], {}),
            ("DELETE", "/ssh_credentials/" + made["id"], None),
            ("PUT", "/edges/https/ro2/routes/r/oauth", {"enabled": False}),
            ("PUT", "/edges/https/ro2/routes/new/oauth", secret),
            ("DELETE", "/edges/https/ro2/routes/r/oauth", None),
            ("PUT", "/edges/tls/ro2/mutual_tls", {"enabled": False}),
            ("DELETE", "/edges/tls/ro2/mutual_tls", None),
            ("DELETE", "/edges/tls/not-there/mutual_tls", None))], check)
        self.assertEqual(self.stack.dump(), before)
