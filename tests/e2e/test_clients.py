# SPDX-License-Identifier: MIT
"""An unmodified published client of the interface that Adit mirrors: the npm package
@ngrok/ngrok-api.  It runs against a stack with the names that it expects, and calls all its methods
for the three resources.  test_client_shapes has the requests of clients of other languages."""
import json
import re

from adit import covered, npm, reference, samples, shapes
from adit.case import Case
from adit.large import PAGE_ITEMS_MAX
from adit.relay import Relay

CREDENTIALS = "/ssh_credentials"
PROVIDERS = shapes.PROVIDERS

# Characters that are special in JSON, UTF-8 or UTF-16.
UNICODE = "Zürich \U0001f511 \u202e\u2028 \u00e9e\u0301 \"\\/\b\t\n' <&> \ufeff\uffff \U0010fffd"


def camel(value):
    """The npm package's form of an answer."""
    if isinstance(value, dict):
        return {re.sub("_([a-z])", lambda match: match.group(1).upper(), name): camel(part)
                for name, part in value.items()}
    return [camel(part) for part in value] if isinstance(value, list) else value


class Clients(Case):
    """A stack with the service name and the provider names that published clients expect."""

    stack_name = "clients"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.stack.service != "ngrok":
            cls.stack.set_conf("service", "name", "ngrok")
            cls.stack.set_conf("service", "providers", " ".join(PROVIDERS))
            cls.stack.restart()
        cls.account = cls.stack.account()
        cls.admin = cls.stack.client(cls.account.admin.key)

    def fill(self, client, n):
        """Makes n credentials.  Returns their ids, newest first."""
        return sorted((client.post(CREDENTIALS, samples.credential(description=str(i))).json["id"]
                       for i in range(n)), reverse=True)


class Npm(Clients):
    """The npm package, behind a relay that records its requests."""

    OAUTH = "edgeModules.edgeRouteOAuthModule."
    MUTUAL_TLS = "edgeModules.tlsEdgeMutualTlsModule."
    ROUTE = {"edgeId": "edghts_1", "id": "edghtsrt_1"}
    OAUTH_PATH = "/edges/https/edghts_1/routes/edghtsrt_1/oauth"
    EDGE = "edgtls_1"
    MUTUAL_TLS_PATH = "/edges/tls/edgtls_1/mutual_tls"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = npm.install("tests/clients")
        cls.relay = Relay("127.0.0.1", cls.stack.port)
        cls.addClassCleanup(cls.relay.close)
        cls.driver = cls.drive(cls.account.admin.key)

    @classmethod
    def drive(cls, key):
        driver = npm.Driver(cls.folder, "tests/clients/ngrok-api.mjs",
                            {"baseUrl": cls.relay.url, "apiToken": key})
        cls.addClassCleanup(driver.close)
        return driver

    def setUp(self):
        self.relay.take()

    def returned(self, name, *arguments, driver=None):
        outcome = (driver or self.driver).call(name, *arguments)
        self.assertEqual(list(outcome), ["returned"], outcome)
        return outcome["returned"]

    def rejected(self, name, *arguments, driver=None):
        """The error in the form that the client defines."""
        outcome = (driver or self.driver).call(name, *arguments)
        self.assertEqual(list(outcome), ["rejected"], outcome)
        error = outcome["rejected"]
        self.assertEqual(sorted(error), ["details", "errorCode", "isMap", "msg", "statusCode"])
        self.assertTrue(error["isMap"])
        return error

    def assert_rejected(self, number, field, name, *arguments, driver=None):
        error = self.rejected(name, *arguments, driver=driver)
        self.assertEqual((error["errorCode"], error["statusCode"]),
                         ("ERR_NGROK_%d" % number, covered.catalogue[number][1]), error)
        self.assertEqual(error["details"].get("field"), field, error)
        self.assertRegex(error["details"]["operationId"], "^op_[0-9A-Za-z]{27}$")
        self.assertTrue(error["msg"])
        return error

    def assert_deletes(self, name, argument):
        """The package parses the empty body of a 204 as JSON and rejects with a SyntaxError.  The
        deletion has taken effect."""
        self.relay.take()
        self.assertEqual(self.driver.call(name, argument), {"broken": "SyntaxError"})
        self.assertEqual(self.sent().method, "DELETE")

    def sent(self):
        """The only request since the last call."""
        requests = self.relay.take()
        self.assertEqual(len(requests), 1, requests)
        return requests[0]

    # ---- SSH credentials ----

    def test_create_with_all_fields(self):
        members = {
            "description": UNICODE, "metadata": '{"rack": 7}\n' + "ü" * 2000,
            "acl": ["bind:example.com", "bind:*.example.com", "bind:[::1]:22", "bind:env=*", "*"],
            "publicKey": samples.ED25519 + " a comment\n", "ownerId": self.account.member.id}
        made = self.returned("sshCredentials.create", members)
        request = self.sent()
        self.assertEqual(json.loads(request.body), {
            re.sub("[A-Z]", lambda match: "_" + match.group(0).lower(), name): value
            for name, value in members.items()})
        self.assertEqual({name: made[name] for name in members}, members)
        # The client shows every member, under the client's own name.
        schema = reference.document().tree["components"]["schemas"]["SshCredential"]
        self.assertEqual(sorted(made), sorted(
            re.sub("_([a-z])", lambda match: match.group(1).upper(), name)
            for name in schema["properties"]))
        self.assert_ident(made["id"], "sshcr")
        self.assertEqual(made["uri"], "%s%s/%s" % (self.relay.url, CREDENTIALS, made["id"]))
        self.assertRegex(made["createdAt"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(self.returned("sshCredentials.get", made["id"]), made)
        stored = camel(self.admin.get(CREDENTIALS + "/" + made["id"]).json)
        self.assertEqual({**stored, "uri": made["uri"]}, made)

    def test_create_with_little(self):
        for members in ({}, {"description": None, "metadata": None, "acl": None, "ownerId": None},
                        {"description": "", "metadata": "", "acl": []}):
            with self.subTest(members):
                made = self.returned("sshCredentials.create",
                                     {"publicKey": samples.ED25519, **members})
                self.assertEqual([made[name] for name in
                                  ("description", "metadata", "acl", "ownerId")],
                                 ["", "", [], self.account.admin.id])

    def test_every_form_of_a_key(self):
        wanted = {}
        for name, text, _, fingerprint in samples.accepted_keys():
            with self.subTest(name):
                made = self.returned("sshCredentials.create", {"publicKey": text})
                self.assertEqual(made["publicKey"], text)
                self.assertEqual(self.returned("sshCredentials.get", made["id"]), made)
                wanted[made["id"]] = fingerprint
        stored = self.stack.psql("SELECT id, fingerprint FROM adit.ssh_credential").splitlines()
        stored = dict(line.split("|") for line in stored)
        self.assertEqual({ident: stored[ident] for ident in wanted}, wanted)

    def test_update(self):
        made = self.returned("sshCredentials.create",
                             {"publicKey": samples.ED25519, "description": "d", "metadata": "m",
                              "acl": ["bind:a.example"]})
        wanted = dict(made)
        for change in ({}, {"description": UNICODE}, {"metadata": "other"}, {"acl": ["*"]},
                       {"description": None, "metadata": None, "acl": None},
                       {"description": "", "metadata": "", "acl": []},
                       {"description": "a", "metadata": "b", "acl": ["bind:b.example", "*"]}):
            with self.subTest(change):
                self.relay.take()
                wanted.update((name, value) for name, value in change.items() if value is not None)
                self.assertEqual(self.returned("sshCredentials.update",
                                               {"id": made["id"], **change}), wanted)
                # The package sends the path's id, and every null that it was given.
                self.assertEqual(json.loads(self.sent().body), {"id": made["id"], **change})
                self.assertEqual(self.returned("sshCredentials.get", made["id"]), wanted)

    def test_delete(self):
        ident = self.returned("sshCredentials.create", {"publicKey": samples.ED25519})["id"]
        self.assert_deletes("sshCredentials.delete", ident)
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM adit.ssh_credential WHERE id = '%s'" % ident), "0")
        for name in ("get", "delete"):
            self.assert_rejected(9002, None, "sshCredentials." + name, ident)
        self.assert_rejected(9002, None, "sshCredentials.update", {"id": ident, "metadata": ""})

    def test_list(self):
        person = self.stack.account().admin
        driver = self.drive(person.key)
        self.assertEqual(self.returned("sshCredentials.list", driver=driver), [])
        made = self.fill(self.stack.client(person.key), 257)
        # Arguments, the number of newest rows to skip, and the queries that the package sends.
        for arguments, skipped, queries in (
                ([], 0, ["limit=100", "beforeId=%s&limit=100" % made[99],
                         "beforeId=%s&limit=100" % made[199]]),
                (["", "100"], 0, 3), ([None, "100"], 0, 3), (["", 64], 0, 5),
                ([made[0]], 1, 3), ([made[56]], 57, 2),
                ([made[155], str(PAGE_ITEMS_MAX + 1)], None, None),
                ([made[251], "1"], 252, 5), ([made[256]], 257, 1), (["", "7"], 0, 37)):
            with self.subTest(str(arguments)):
                self.relay.take()
                if queries is None:
                    self.assert_rejected(233, None, "sshCredentials.list", *arguments,
                                         driver=driver)
                    continue
                rows = self.returned("sshCredentials.list", *arguments, driver=driver)
                self.assertEqual([row["id"] for row in rows], made[skipped:])
                asked = [request.target.partition("?")[2] for request in self.relay.take()]
                if isinstance(queries, list):
                    self.assertEqual(asked, queries)
                self.assertEqual(len(asked), queries if isinstance(queries, int) else len(queries))
                self.assertTrue(all("beforeId=" in query for query in asked[1:]), asked)
                self.assertNotIn("before_id", str(asked))
        self.assertEqual(rows[0], self.returned("sshCredentials.get", made[0], driver=driver))

    # ---- errors ----

    def test_errors(self):
        create, listing = "sshCredentials.create", "sshCredentials.list"
        key = {"publicKey": samples.ED25519}
        self.each([
            ("no key", 611, "public_key", create, {}),
            ("an empty key", 611, "public_key", create, {"publicKey": ""}),
            ("a broken key", 612, "public_key", create, {"publicKey": "ssh-ed25519 AAAA"}),
            ("a rule", 600, "acl[1]", create, {**key, "acl": ["*", "bind:-x"]}),
            ("a number as text", 215, "description", create, {**key, "description": 1}),
            ("a null in a list", 215, "acl[0]", create, {**key, "acl": [None]}),
            ("a long text", 604, "description", create, {**key, "description": "ü" * 128}),
            ("a longer text", 605, "metadata", create, {**key, "metadata": "x" * 4097}),
            ("a lone surrogate", 213, None, create, {**key, "metadata": "\ud800"}),
            ("a misspelt member", 214, "description_", create, {**key, "description_": "x"}),
            ("a malformed owner", 9011, "owner_id", create, {**key, "ownerId": "usr_1"}),
            ("a limit of 0", 233, None, listing, "", "0"),
            ("a limit that is no number", 244, None, listing, "", "many"),
            ("an empty limit", 244, None, listing, "", ""),
            ("a limit of null", 244, None, listing, "", None),
            ("no identifier", 9009, None, listing, "a b"),
            ("another id in the body", 9013, "id", self.MUTUAL_TLS + "replace",
             {"id": "a%62", "module": {}}),
            ("no identifier in the path", 9070, "id", "sshCredentials.get", "a b"),
            ("two parts of a path", 9000, None, "sshCredentials.get", "a/b"),
        ], self.assert_rejected)

    def test_error_of_the_web_server(self):
        error = self.rejected("sshCredentials.create", {"metadata": "x" * 70000})
        self.assertEqual((error["errorCode"], error["statusCode"], error["details"]),
                         ("ERR_NGROK_9006", 413, {}))

    def test_errors_of_keys(self):
        read_only = self.drive(self.account.read_only_key)
        member = self.drive(self.account.member.key)
        key = {"publicKey": samples.ED25519}
        for name, number, driver, call, *arguments in (
                ("no key of this service", 202, self.drive("2abc_def"), "list"),
                ("an unknown key", 203, self.drive(samples.well_formed_key()), "list"),
                ("a read-only key creates", 9005, read_only, "create", key),
                ("a read-only key deletes", 9005, read_only, "delete", "sshcr_1"),
                ("a member names an owner", 630, member, "create",
                 {**key, "ownerId": self.account.admin.id})):
            with self.subTest(name):
                field = "owner_id" if number == 630 else None
                self.assert_rejected(number, field, "sshCredentials." + call, *arguments,
                                     driver=driver)
        self.assertIsInstance(self.returned("sshCredentials.list", driver=read_only), list)

    # ---- the OAuth module ----

    def replace(self, service, ids, module):
        self.relay.take()
        stored = self.returned(service + "replace", {**ids, "module": module})
        request = self.sent()
        self.assertEqual(sorted(json.loads(request.body)),
                         sorted(["module", *(re.sub("I", "_i", name) for name in ids)]))
        return stored

    def test_oauth_of_every_provider(self):
        for provider in PROVIDERS:
            with self.subTest(provider):
                config = {"clientId": "id " + provider, "clientSecret": "secret " + UNICODE,
                          "scopes": ["a", "b:c"], "emailAddresses": ["ada@example.com"],
                          "emailDomains": ["example.com", "xn--zrich-kva.example"]}
                if provider == "github":
                    config.update(teams=["acme/ops"], organizations=["acme"])
                module = {"enabled": False, "optionsPassthrough": True, "cookiePrefix": "own.",
                          "inactivityTimeout": 60, "maximumDuration": 4294967295,
                          "authCheckInterval": 1, "provider": {provider: config}}
                stored = self.replace(self.OAUTH, self.ROUTE, module)
                wanted = {**module, "provider": {**dict.fromkeys(PROVIDERS), provider: config}}
                self.assertEqual(stored, wanted)
                self.assertEqual(self.returned(self.OAUTH + "get", self.ROUTE), wanted)
                self.assertEqual(camel(self.admin.get(self.OAUTH_PATH).json), wanted)
                # An answer can be sent back unchanged, nulls included.
                self.assertEqual(self.replace(self.OAUTH, self.ROUTE, stored), wanted)

    def test_oauth_with_little(self):
        default = {"enabled": True, "optionsPassthrough": False, "cookiePrefix": "ngrok.",
                   "inactivityTimeout": 0, "maximumDuration": 0, "authCheckInterval": 0,
                   "provider": dict.fromkeys(PROVIDERS)}
        empty = {"clientId": None, "clientSecret": None, "scopes": [], "emailAddresses": [],
                 "emailDomains": []}
        for module, provider in (
                ({}, {}), ({name: None for name in default}, {}), ({"provider": {}}, {}),
                ({"provider": dict.fromkeys(PROVIDERS)}, {}),
                ({"provider": {name: {} for name in PROVIDERS}}, {}),
                ({"provider": {"google": {}}}, {"google": empty}),
                ({"provider": {**dict.fromkeys(PROVIDERS), "twitch": {"emailDomains": None}}},
                 {"twitch": empty}),
                ({"provider": {**dict.fromkeys(PROVIDERS, {}), "github": {"teams": ["a/b"]}}},
                 {"github": {**empty, "teams": ["a/b"], "organizations": []}})):
            with self.subTest(str(module)):
                wanted = {**default, "provider": {**default["provider"], **provider}}
                self.assertEqual(self.replace(self.OAUTH, self.ROUTE, module), wanted)
                # Callers who ignore the declared types may omit the wrapping.
                self.assertEqual(self.returned(self.OAUTH + "replace", {**self.ROUTE, **module}),
                                 wanted)

    def test_oauth_errors(self):
        for module, number, field in (
                ({"provider": {"google": {"emailDomain": ["example.com"]}}}, 214,
                 "provider.google.email_domain"),
                ({"provider": {"provider_a": {}}}, 214, "provider.provider_a"),
                ({"provider": {"google": {"teams": ["a/b"]}}}, 214, "provider.google.teams"),
                ({"provider": {"github": {"teams": ["ab"]}}}, 7040, "provider.github.teams[0]"),
                ({"provider": {"google": {"clientId": "x"}}}, 383,
                 "provider.google.client_secret"),
                ({"provider": {"google": {"scopes": ["x"]}}}, 390, "provider.google.scopes"),
                ({"provider": {"github": {"teams": ["a/b"]}, "google": {"emailDomains": ["b.c"]}}},
                 7036, "provider"),
                ({"cookiePrefix": "ü"}, 7042, "cookie_prefix"),
                ({"maximumDuration": 1.5}, 215, "maximum_duration"),
                ({"maximumDuration": "60"}, 215, "maximum_duration"),
                ({"maximumDuration": 4294967296}, 215, "maximum_duration"),
                ({"enabled": "true"}, 215, "enabled")):
            with self.subTest(str(module)):
                arguments = {**self.ROUTE, "module": module}
                error = self.assert_rejected(number, field and "module." + field,
                                             self.OAUTH + "replace", arguments)
                self.assertNotIn("provider_a.", error["msg"])

    def test_oauth_delete(self):
        self.replace(self.OAUTH, self.ROUTE, {})
        for _ in range(2):
            self.assert_deletes(self.OAUTH + "delete", self.ROUTE)
            self.assert_error(self.admin.get(self.OAUTH_PATH), 9003)
            self.assert_rejected(9003, None, self.OAUTH + "get", self.ROUTE)

    # ---- the mutual TLS module ----

    def test_mutual_tls(self):
        ids = {"id": self.EDGE}
        for module, enabled, authorities in (
                ({}, True, []), ({"enabled": None, "certificateAuthorityIds": None}, True, []),
                ({"enabled": False}, False, []),
                ({"enabled": True, "certificateAuthorityIds": ["ca_2", "ca_1"]}, True,
                 ["ca_2", "ca_1"])):
            with self.subTest(str(module)):
                wanted = {"enabled": enabled, "certificateAuthorities": [
                    {"id": ident, "uri": "%s/certificate_authorities/%s" % (self.relay.url, ident)}
                    for ident in authorities]}
                self.assertEqual(self.replace(self.MUTUAL_TLS, ids, module), wanted)
                self.assertEqual(self.returned(self.MUTUAL_TLS + "get", self.EDGE), wanted)
                self.assertEqual(self.returned(self.MUTUAL_TLS + "replace", {**ids, **module}),
                                 wanted)

    def test_mutual_tls_errors(self):
        for module, number, field in (
                ({"certificateAuthorities": []}, 214, "certificate_authorities"),
                ({"certificateAuthorityIds": ["a", ""]}, 228, "certificate_authority_ids[1]"),
                ({"certificateAuthorityIds": ["a", "a"]}, 9023, "certificate_authority_ids[1]"),
                ({"certificateAuthorityIds": "a"}, 215, "certificate_authority_ids")):
            with self.subTest(str(module)):
                self.assert_rejected(number, "module." + field, self.MUTUAL_TLS + "replace",
                                     {"id": self.EDGE, "module": module})

    def test_mutual_tls_delete(self):
        self.replace(self.MUTUAL_TLS, {"id": self.EDGE}, {"certificateAuthorityIds": ["ca"]})
        for _ in range(2):
            self.assert_deletes(self.MUTUAL_TLS + "delete", self.EDGE)
            self.assert_error(self.admin.get(self.MUTUAL_TLS_PATH), 9004)
            self.assert_rejected(9004, None, self.MUTUAL_TLS + "get", self.EDGE)

    # ---- requests ----

    def test_headers(self):
        made = self.returned("sshCredentials.create", {"publicKey": samples.ED25519})
        self.returned("sshCredentials.get", made["id"])
        self.assertEqual(self.returned("sshCredentials.list", "before-all"), [])
        self.assertEqual(self.driver.call("sshCredentials.delete", made["id"]),
                         {"broken": "SyntaxError"})
        requests = self.relay.take()
        self.assertEqual([request.method for request in requests],
                         ["POST", "GET", "GET", "DELETE"])
        for request in requests:
            with self.subTest(request.method):
                self.assertEqual(request.headers["ngrok-version"], "2")
                # The client sends a Content-Type even without a body.
                self.assertEqual(request.headers["content-type"], "application/json")
                self.assertEqual(bool(request.body), request.method == "POST")
