# SPDX-License-Identifier: MIT
"""The settings that the interface depends on (section 1)."""
import os
import signal

from adit import samples
from adit.case import Case, until
from adit.client import check_server_answer
from adit.reference import openapi

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/set/routes/%s/oauth"
DEFAULTS = openapi.PROVIDERS
REAL = ["github", "facebook", "microsoft", "google", "linkedin", "gitlab", "twitch", "amazon"]
BASE_URL = "https://adit.example/api"
APP = {"client_id": "id", "client_secret": "secret"}


class Settings(Case):
    """A stack that stores resources under the default names and then gets a deployment's names."""

    stack_name = "settings"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in DEFAULTS:
            cls.admin.put(OAUTH % name, {"provider": {name: APP}})
        cls.admin.put(OAUTH % "none", {})
        cls.admin.put(OAUTH % "spelt", {"cookie_prefix": "service."})
        cls.admin.put(OAUTH % "own", {"cookie_prefix": "own."})
        cls.credential = cls.admin.post(CREDENTIALS, samples.credential()).json
        cls.stack.set_conf("service", "name", "ngrok")
        cls.stack.set_conf("service", "providers", " ".join(REAL))
        cls.stack.set_conf("service", "base_url", BASE_URL + "/")
        cls.stack.restart()
        # This client checks every answer for the new operation header and error codes.
        cls.admin = cls.stack.client(cls.home.admin.key)
        cls.nobody = cls.stack.client(None)

    def test_version_header(self):
        self.assert_ok(self.admin.get(CREDENTIALS))
        self.assert_error(self.admin.get(CREDENTIALS, version=None), 218, says="Ngrok-Version")
        self.assert_error(self.admin.get(CREDENTIALS, version=None,
                                         more=[("Service-Version", "2")]), 218)
        self.assert_error(self.admin.get(CREDENTIALS, version="1"), 217, says="Ngrok-Version")

    def test_error_codes(self):
        answer = self.nobody.get(CREDENTIALS)
        self.assertEqual(answer.json["error_code"], "ERR_NGROK_200")
        self.assertEqual(answer.all("Service-Operation-Id"), [])

    def test_error_codes_of_the_web_server(self):
        for line, status in ((b"GET /livez HTTP/1.1", 400), (b"nonsense", 400),
                             (b"GET /%s HTTP/1.1" % (b"a" * 9000), 414)):
            with self.subTest(status):
                answer = self.nobody.raw(line + b"\r\nConnection: close\r\n\r\n")
                self.assertEqual(check_server_answer(answer, "ngrok").status, status)

    def test_modules_are_stored_by_position(self):
        for before, name in zip(DEFAULTS, REAL):
            with self.subTest(name):
                provider = self.assert_ok(self.admin.get(OAUTH % before))["provider"]
                self.assertEqual(list(provider), REAL)
                self.assertEqual({other for other in provider if provider[other]}, {name})
                self.assertEqual(provider[name]["client_secret"], "secret")
                self.assertEqual("teams" in provider[name], name == "github")

    def test_default_cookie_prefix_is_not_stored(self):
        for route, wanted in (("none", "ngrok."), ("spelt", "ngrok."), ("own", "own.")):
            with self.subTest(route):
                self.assertEqual(self.assert_ok(self.admin.get(OAUTH % route))["cookie_prefix"],
                                 wanted)

    def test_new_modules(self):
        for name in REAL:
            with self.subTest(name):
                stored = self.assert_ok(self.admin.put(OAUTH % "new", {"provider": {name: APP}}))
                self.assertEqual(stored["provider"][name]["client_id"], "id")
                self.assertEqual(stored["cookie_prefix"], "ngrok.")
                self.assertEqual(self.assert_ok(self.admin.get(OAUTH % "new")), stored)

    def test_former_names_are_unknown(self):
        for name in DEFAULTS:
            with self.subTest(name):
                self.assert_error(self.admin.put(OAUTH % "new", {"provider": {name: {}}}), 214,
                                  "provider." + name, REAL)
        self.assert_error(self.admin.put(OAUTH % "new", {
            "provider": {"github": APP, "google": APP}}), 7036, "provider", ["github", "google"])

    def test_members_of_the_first(self):
        self.assert_ok(self.admin.put(OAUTH % "new", {"provider": {"github": {"teams": ["a/b"]}}}))
        self.assert_error(self.admin.put(OAUTH % "new", {
            "provider": {"gitlab": {"teams": ["a/b"]}}}), 214, "provider.gitlab.teams")

    def test_base_url(self):
        ident = self.credential["id"]
        for host in ("adit.test", "a_b", "127.0.0.1:9"):
            with self.subTest(host):
                row = self.assert_ok(self.admin.get(CREDENTIALS + "/" + ident, host=host))
                self.assertEqual(row["uri"], "%s/ssh_credentials/%s" % (BASE_URL, ident))
        self.admin.post(CREDENTIALS, samples.credential())
        page = self.assert_ok(self.admin.get(CREDENTIALS + "?limit=1"))
        self.assertEqual(page["uri"], BASE_URL + CREDENTIALS)
        self.assertTrue(page["next_page_uri"].startswith(BASE_URL + CREDENTIALS + "?before_id="))
        module = self.assert_ok(self.admin.put("/edges/tls/t/mutual_tls",
                                               {"certificate_authority_ids": ["ca"]}))
        self.assertEqual(module["certificate_authorities"][0]["uri"],
                         BASE_URL + "/certificate_authorities/ca")

    def test_what_published_clients_do(self):
        """Published clients' walk through the three resources, with their own requests."""
        agent = [("User-Agent", "ngrok-api-python/0.0.0:3.11"), ("Accept", "application/json")]
        made = self.assert_ok(self.admin.post(CREDENTIALS, {
            "description": "", "metadata": "", "acl": [], "public_key": samples.ED25519 + "\n"},
            more=agent), 201)
        self.assertEqual(made["public_key"], samples.ED25519 + "\n")
        self.assert_ok(self.admin.patch(CREDENTIALS + "/" + made["id"], {
            "id": made["id"], "description": "x", "metadata": None, "acl": None}, more=agent))
        page = self.assert_ok(self.admin.get(CREDENTIALS + "?beforeId=&limit=100", more=agent))
        self.assertIn(made["id"], [row["id"] for row in page["ssh_credentials"]])
        empty = {"client_id": "", "client_secret": "", "scopes": [], "email_addresses": [],
                 "email_domains": []}
        provider = {name: dict(empty) for name in REAL}
        provider["github"].update(teams=[], organizations=[])
        provider["google"].update(email_domains=["example.com"])
        body = {"edge_id": "edghts_1", "id": "edghtsrt_1", "module": {
            "enabled": True, "provider": provider, "options_passthrough": False,
            "cookie_prefix": "", "inactivity_timeout": 0.0, "maximum_duration": 8.64e4,
            "auth_check_interval": 0}}
        path = "/edges/https/edghts_1/routes/edghtsrt_1/oauth"
        self.assert_ok(self.admin.delete(path, content_type="application/json"), 204)
        stored = self.assert_ok(self.admin.put(path, body))
        self.assertEqual([name for name, config in stored["provider"].items() if config],
                         ["google"])
        self.assertEqual(stored["maximum_duration"], 86400)
        self.assert_ok(self.admin.get(path, content_type="application/json"))
        self.assert_ok(self.admin.delete(CREDENTIALS + "/" + made["id"],
                                         content_type="application/json"), 204)

    def test_x_required_rules(self):
        """[service] require_acl: no credential comes to be without a rule."""
        before = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)
        self.assertEqual(before["acl"], [])
        self.stack.set_conf("service", "require_acl", "yes")
        self.stack.restart()
        for members in ({}, {"acl": None}, {"acl": []}):
            with self.subTest(members):
                self.assert_error(self.admin.post(CREDENTIALS, samples.credential(**members)), 9096,
                                  "acl", ['["*"]'])
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(acl=["*"])), 201)
        one = "%s/%s" % (CREDENTIALS, made["id"])
        self.assert_error(self.admin.patch(one, {"acl": []}), 9096, "acl")
        self.assertEqual(self.assert_ok(self.admin.get(one))["acl"], ["*"])
        self.assert_ok(self.admin.patch(one, {"acl": ["bind:a.example"]}))
        for body in ({}, {"acl": None}, {"description": "d"}):
            self.assertEqual(self.assert_ok(self.admin.patch(one, body))["acl"], ["bind:a.example"])
        # One that has no rules stays as it is until a change gives it some.
        old = "%s/%s" % (CREDENTIALS, before["id"])
        self.assertEqual(self.assert_ok(self.admin.patch(old, {"metadata": "m"}))["acl"], [])
        self.assert_ok(self.admin.patch(old, {"acl": ["*"]}))
        for path in (one, old):
            self.assert_ok(self.admin.delete(path), 204)
        self.stack.set_conf("service", "require_acl", "no")
        self.stack.restart()

    def test_x_account_in_key(self):
        """[service] require_account_in_key: a key of the earlier form is refused without a look."""
        bare = self.stack.client(self.home.admin.issue_bare())
        self.assert_ok(bare.get(CREDENTIALS))
        self.stack.set_conf("service", "require_account_in_key", "yes")
        self.stack.restart()
        for client in (bare, self.stack.client(samples.well_formed_key("a" * 43))):
            error = self.assert_error(client.get(CREDENTIALS), 203)
            self.assertIn("earlier form", error["msg"])
        self.assert_ok(self.admin.get(CREDENTIALS))
        self.stack.set_conf("service", "require_account_in_key", "no")
        self.stack.restart()
        self.assert_ok(bare.get(CREDENTIALS))

    def test_y_drain(self):
        """After SIGTERM only /readyz changes, for the time of the setting."""
        self.stack.set_conf("service", "drain", "250s")
        self.stack.restart()
        until(lambda: len(self.stack.responder()[1]) == self.stack.n_workers(), "all workers")
        supervisor, workers = self.stack.responder()
        os.kill(supervisor, signal.SIGTERM)
        until(lambda: all(self.nobody.get("/readyz").code == 9081 for _ in range(10)),
              "all workers drain")
        self.assert_ok(self.nobody.get("/livez"))
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)
        self.assert_ok(self.admin.delete("%s/%s" % (CREDENTIALS, made["id"])), 204)
        self.assertEqual(self.stack.responder(), (supervisor, workers))
        self.stack.set_conf("service", "drain", "0s")
        os.kill(supervisor, signal.SIGINT)
        self.stack.restart()
        self.assert_ok(self.nobody.get("/readyz"))
