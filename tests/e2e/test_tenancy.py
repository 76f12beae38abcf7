# SPDX-License-Identifier: MIT
"""Accounts cannot see, change or detect each other's resources (section 3)."""
from adit import samples
from adit.case import Case, without_operation_id

CREDENTIALS = "/ssh_credentials"
APP = {"provider": {"provider_a": {"client_id": "mine", "client_secret": "mine"}}}


class Tenancy(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.owner = cls.stack.client(cls.stack.account("owner").admin.key)
        cls.stranger = cls.stack.client(cls.stack.account("stranger").admin.key)
        cls.credential = cls.owner.post(CREDENTIALS, samples.credential(
            description="theirs")).json["id"]
        cls.owner.put("/edges/https/their-edge/routes/their-route/oauth", APP)
        cls.owner.put("/edges/tls/their-edge/mutual_tls", {"certificate_authority_ids": ["ca"]})

    def test_like_unknown_ones(self):
        """The answers are equal byte for byte, except for the operation id."""
        unknown = samples.unknown_id()
        before = self.stack.dump()
        for method, theirs, none, body in (
                ("GET", CREDENTIALS + "/" + self.credential, CREDENTIALS + "/" + unknown, None),
                ("HEAD", CREDENTIALS + "/" + self.credential, CREDENTIALS + "/" + unknown, None),
                ("PATCH", CREDENTIALS + "/" + self.credential, CREDENTIALS + "/" + unknown, {}),
                ("PATCH", CREDENTIALS + "/" + self.credential, CREDENTIALS + "/" + unknown,
                 {"description": "taken"}),
                ("DELETE", CREDENTIALS + "/" + self.credential, CREDENTIALS + "/" + unknown, None),
                ("GET", "/edges/https/their-edge/routes/their-route/oauth",
                 "/edges/https/no-edge/routes/no-route/oauth", None),
                ("DELETE", "/edges/https/their-edge/routes/their-route/oauth",
                 "/edges/https/no-edge/routes/no-route/oauth", None),
                ("GET", "/edges/tls/their-edge/mutual_tls", "/edges/tls/no-edge/mutual_tls", None),
                ("DELETE", "/edges/tls/their-edge/mutual_tls", "/edges/tls/no-edge/mutual_tls",
                 None)):
            with self.subTest("%s %s" % (method, theirs)):
                seen = self.stranger.call(method, theirs, body)
                self.assertIn(seen.status, (404, 204))
                self.assertEqual(without_operation_id(seen), without_operation_id(
                    self.stranger.call(method, none, body)))
        self.assertEqual(self.stack.dump(), before)

    def test_lists_show_none(self):
        for query in ("", "?limit=1", "?before_id=~", "?before_id=" + self.credential + "~"):
            with self.subTest(query):
                page = self.assert_ok(self.stranger.get(CREDENTIALS + query))
                self.assertEqual(page["ssh_credentials"], [])
                self.assertIsNone(page["next_page_uri"])

    def test_modules_of_the_same_name_are_apart(self):
        for path, mine, theirs in (
                ("/edges/https/same/routes/same/oauth", {"maximum_duration": 1},
                 {"maximum_duration": 2, **APP}),
                ("/edges/tls/same/mutual_tls", {"certificate_authority_ids": ["ca_1"]},
                 {"certificate_authority_ids": ["ca_2"]})):
            with self.subTest(path):
                stored = self.assert_ok(self.owner.put(path, theirs))
                self.assertNotEqual(self.assert_ok(self.stranger.put(path, mine)), stored)
                self.assertEqual(self.assert_ok(self.owner.get(path)), stored)
                self.assert_ok(self.stranger.delete(path), 204)
                self.assertEqual(self.assert_ok(self.owner.get(path)), stored)
                self.assertEqual(self.stranger.get(path).status, 404)

    def test_a_secret_moved_to_another_row_stays_shut(self):
        """The secret is sealed for its account, its route and its provider."""
        path = "/edges/https/moved/routes/%s/oauth"
        self.assert_ok(self.owner.put(path % "from", APP))
        self.assert_ok(self.owner.put(path % "to", {"provider": {"provider_a": {
            "client_id": "other", "client_secret": "other"}}}))
        self.stack.psql(
            "UPDATE adit.oauth_module AS t SET client_secret_sealed = f.client_secret_sealed"
            " FROM adit.oauth_module AS f WHERE t.account_id = f.account_id"
            " AND t.edge_id = 'moved' AND t.route_id = 'to'"
            " AND f.edge_id = 'moved' AND f.route_id = 'from'")
        self.assert_error(self.owner.get(path % "to"), 9036)
        self.assert_ok(self.owner.get(path % "from"))
        self.stack.psql("UPDATE adit.oauth_module SET provider = 2 WHERE edge_id = 'moved'"
                        " AND route_id = 'from'")
        self.assert_error(self.owner.get(path % "from"), 9036)
