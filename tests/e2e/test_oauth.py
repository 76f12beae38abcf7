# SPDX-License-Identifier: MIT
"""The OAuth module (section 6)."""
import json

from adit import samples
from adit.case import Case
from adit.reference import openapi

OAUTH = "/edges/https/oauth-edge/routes/oauth-route/oauth"
PROVIDERS = openapi.PROVIDERS
MEMBERS = ["auth_check_interval", "cookie_prefix", "enabled", "inactivity_timeout",
           "maximum_duration", "options_passthrough", "provider"]
CONFIG = {"client_id": None, "client_secret": None, "scopes": [], "email_addresses": [],
          "email_domains": []}
HOSTING = {**CONFIG, "teams": [], "organizations": []}
APP = {"client_id": "id", "client_secret": "secret"}
DOMAIN_253 = ".".join(["a" * 63] * 3 + ["b" * 61])


def empty_config(name):
    return dict(HOSTING if name == "provider_a" else CONFIG)


def module(**changes):
    """The module that an empty PUT makes, with these changes."""
    return {"enabled": True, "provider": dict.fromkeys(PROVIDERS), "options_passthrough": False,
            "cookie_prefix": "service.", "inactivity_timeout": 0, "maximum_duration": 0,
            "auth_check_interval": 0, **changes}


def selected(name="provider_a", **members):
    return {**dict.fromkeys(PROVIDERS), name: {**empty_config(name), **members}}


class OauthCase(Case):
    def put(self, body):
        return self.admin.put(OAUTH, body)

    def put_config(self, name="provider_a", **members):
        return self.put({"provider": {name: members}})

    def assert_stored(self, body, wanted):
        """The PUT's answer and a later GET are equal, with one form for each value."""
        self.assertEqual(self.assert_ok(self.put(body)), wanted)
        self.assertEqual(self.assert_ok(self.admin.get(OAUTH)), wanted)

    def assert_refused(self, body, number, field, says=()):
        self.put({"cookie_prefix": "before"})
        self.assert_error(self.put(body), number, field, says)
        self.assertEqual(self.assert_ok(self.admin.get(OAUTH)), module(cookie_prefix="before"))


class Defaults(OauthCase):
    def test_all_members_are_there(self):
        answer = self.assert_ok(self.put({}))
        self.assertEqual(sorted(answer), MEMBERS)
        self.assertEqual(sorted(answer["provider"]), PROVIDERS)

    def test_stored(self):
        self.each([(json.dumps(body), body, wanted) for body, wanted in (
            ({}, module()),
            ({"enabled": False}, module(enabled=False)),
            ({"enabled": True}, module()),
            ({"options_passthrough": True}, module(options_passthrough=True)),
            ({"options_passthrough": False}, module()),
            ({"inactivity_timeout": 7}, module(inactivity_timeout=7)),
            ({"maximum_duration": 4294967295}, module(maximum_duration=4294967295)),
            ({"auth_check_interval": 60}, module(auth_check_interval=60)),
            ({"provider": {}}, module()),
            ({"provider": None}, module()),
            ({"cookie_prefix": ""}, module()),
            ({"cookie_prefix": "service."}, module()),
            ({"cookie_prefix": "x"}, module(cookie_prefix="x")),
        )], self.assert_stored)

    def test_put_replaces_all(self):
        full = {"enabled": False, "options_passthrough": True, "cookie_prefix": "x",
                "inactivity_timeout": 1, "maximum_duration": 2, "auth_check_interval": 3,
                "provider": {"provider_a": {**APP, "scopes": ["s"], "email_addresses": ["a@b.c"],
                                            "email_domains": ["b.c"], "teams": ["o/t"],
                                            "organizations": ["o"]}}}
        wanted = module(**{**full, "provider": selected(**full["provider"]["provider_a"])})
        self.assert_stored(full, wanted)
        for body in ({}, {"provider": {"provider_b": {}}}, {"enabled": False}):
            self.put(full)
            with self.subTest(str(body)):
                provider = selected("provider_b") if "provider" in body else module()["provider"]
                self.assert_stored(body, module(enabled=body.get("enabled", True),
                                                provider=provider))

    def test_an_answer_can_be_sent_again(self):
        """A PUT accepts the body of a GET, and changes nothing."""
        for name in PROVIDERS:
            with self.subTest(name):
                stored = self.assert_ok(self.put_config(name, **APP, scopes=["s"],
                                                        email_domains=["a.example"]))
                self.assert_stored(stored, stored)


class Life(OauthCase):
    def test_not_there(self):
        route = "/edges/https/e/routes/never/oauth"
        self.assert_error(self.admin.get(route), 9003)
        self.assert_ok(self.admin.delete(route), 204)
        self.assert_ok(self.admin.delete(route), 204)

    def test_put_get_delete(self):
        self.assert_ok(self.put({}))
        self.assert_ok(self.put({}))
        self.assert_ok(self.admin.delete(OAUTH), 204)
        self.assert_error(self.admin.get(OAUTH), 9003)
        self.assert_ok(self.admin.delete(OAUTH), 204)

    def test_routes_and_edges_are_apart(self):
        places = [("e1", "r1"), ("e1", "r2"), ("e2", "r1"), ("E1", "r1"), ("r1", "e1"),
                  ("e1.", "r1")]
        for i, place in enumerate(places):
            self.admin.put("/edges/https/%s/routes/%s/oauth" % place, {"maximum_duration": i})
        for i, place in enumerate(places):
            with self.subTest(place):
                answer = self.admin.get("/edges/https/%s/routes/%s/oauth" % place)
                self.assertEqual(self.assert_ok(answer)["maximum_duration"], i)
        self.assert_ok(self.admin.delete("/edges/https/e1/routes/r1/oauth"), 204)
        self.assert_ok(self.admin.get("/edges/https/e1/routes/r2/oauth"))
        self.assert_ok(self.admin.get("/edges/https/E1/routes/r1/oauth"))


class ReadOnlyKey(OauthCase):
    """A read-only key reads everything except the secret."""

    def setUp(self):
        self.written = self.put_config("provider_b", **APP, scopes=["s"])
        self.assert_ok(self.written)

    def test_secret_is_null(self):
        seen = self.reader.get(OAUTH)
        wanted = self.written.json
        self.assertEqual(wanted["provider"]["provider_b"]["client_secret"], APP["client_secret"])
        wanted["provider"]["provider_b"]["client_secret"] = None
        self.assertEqual(self.assert_ok(seen), wanted)

    def test_tag_is_the_same(self):
        tag = self.written.header("ETag")
        self.assertEqual(self.reader.get(OAUTH).header("ETag"), tag)
        unchanged = self.reader.get(OAUTH, more=[("If-None-Match", tag)])
        self.assertEqual((unchanged.status, unchanged.body), (304, b""))

    def test_what_it_saw_cannot_be_put(self):
        seen = self.reader.get(OAUTH).json
        self.assert_error(self.admin.put(OAUTH, seen), 383, "provider.provider_b.client_secret")
        self.assertEqual(self.admin.get(OAUTH).body, self.written.body)

    def test_secret_is_not_opened(self):
        self.stack.psql("UPDATE adit.oauth_module SET client_secret_key_id = 'gone'"
                        " WHERE client_secret_key_id IS NOT NULL")
        self.assert_error(self.admin.get(OAUTH), 9036)
        seen = self.assert_ok(self.reader.get(OAUTH))["provider"]["provider_b"]
        self.assertEqual((seen["client_id"], seen["client_secret"]), (APP["client_id"], None))


class Selection(OauthCase):
    def test_each_provider(self):
        for name in PROVIDERS:
            for members in ({}, APP, {"email_domains": ["a.example"]},
                            {**APP, "scopes": ["one", "two"], "email_addresses": ["a@b.example"]}):
                with self.subTest("%s %s" % (name, members)):
                    self.assert_stored({"provider": {name: members}},
                                       module(provider=selected(name, **members)))

    def test_a_single_empty_one_is_selected(self):
        empties = [{}, dict(CONFIG), {"client_id": ""}, {"client_id": "", "client_secret": ""},
                   {"scopes": []}, dict.fromkeys(CONFIG), {"client_id": "", "scopes": None}]
        for name in ("provider_a", "provider_f"):
            for empty in empties:
                for others in ({}, {"provider_c": None}):
                    with self.subTest("%s %s %s" % (name, empty, others)):
                        self.assert_stored({"provider": {name: empty, **others}},
                                           module(provider=selected(name)))

    def test_several_of_which_one_has_content(self):
        for filler in ({}, dict(CONFIG), dict.fromkeys(CONFIG), {"client_id": ""}):
            for name, members in (("provider_a", {"teams": ["o/t"]}), ("provider_d", APP),
                                  ("provider_h", {"email_domains": ["a.example"]}),
                                  ("provider_b", {"email_addresses": ["a@b.example"]}),
                                  ("provider_a", {"organizations": ["o"]})):
                with self.subTest("%s among %s" % (name, filler)):
                    body = {other: filler for other in PROVIDERS}
                    body[name] = members
                    self.assert_stored({"provider": body},
                                       module(provider=selected(name, **members)))

    def test_several_without_content(self):
        for names in (PROVIDERS, PROVIDERS[:2], PROVIDERS[6:]):
            for filler in ({}, dict(CONFIG), {"email_domains": []}):
                with self.subTest("%s %s" % (names, filler)):
                    self.assert_stored({"provider": {name: filler for name in names}}, module())

    def test_several_with_content(self):
        for given in ({"provider_a": APP, "provider_b": APP},
                      {"provider_c": {"email_domains": ["a.example"]}, "provider_g": APP},
                      {name: APP for name in PROVIDERS},
                      {"provider_a": {"teams": ["o/t"]}, "provider_h": {"client_id": "x"}}):
            with self.subTest(str(sorted(given))):
                names = sorted(given)
                self.assert_refused({"provider": given}, 7036, "provider", names)
        error = self.put({"provider": {"provider_a": APP, "provider_b": {}, "provider_c": APP}})
        self.assertNotIn("provider_b", error.json["msg"])

    def test_one_with_content_is_checked(self):
        self.assert_refused({"provider": {"provider_a": {}, "provider_b": {"client_id": "x"}}},
                            383, "provider.provider_b.client_secret")

    def test_an_empty_one_is_still_checked_for_types(self):
        self.assert_refused({"provider": {"provider_a": APP, "provider_b": {"scopes": 1}}}, 215,
                            "provider.provider_b.scopes")
        self.assert_refused({"provider": {"provider_a": APP, "provider_b": {"x": None}}}, 214,
                            "provider.provider_b.x")


class App(OauthCase):
    def test_together_or_not_at_all(self):
        path = "provider.provider_a."
        self.each([
            ("no secret", {"client_id": "x"}, 383, path + "client_secret"),
            ("a null secret", {"client_id": "x", "client_secret": None}, 383,
             path + "client_secret"),
            ("an empty secret", {"client_id": "x", "client_secret": ""}, 383,
             path + "client_secret"),
            ("no id", {"client_secret": "x"}, 384, path + "client_id"),
            ("a null id", {"client_id": None, "client_secret": "x"}, 384, path + "client_id"),
            ("an empty id", {"client_id": "", "client_secret": "x"}, 384, path + "client_id"),
            ("scopes alone", {"scopes": ["s"]}, 390, path + "scopes"),
            ("scopes and nulls", {"scopes": ["s"], "client_id": None, "client_secret": None}, 390,
             path + "scopes"),
            ("scopes and empty texts", {"scopes": ["s"], "client_id": "", "client_secret": ""},
             390, path + "scopes"),
        ], lambda members, number, field: self.assert_refused(
            {"provider": {"provider_a": members}}, number, field))

    def test_scopes_and_half_of_the_app(self):
        """The body has two faults, and the error may name either."""
        for members in ({"scopes": ["s"], "client_id": "x"},
                        {"scopes": ["s"], "client_secret": "x"}):
            self.assertIn(self.put_config(**members).code, (383, 384, 390))

    def test_lengths(self):
        def check(members, number, field):
            body = {"provider": {"provider_a": members}}
            if number:
                self.assert_refused(body, number, "provider.provider_a." + field)
            else:
                self.assert_stored(body, module(provider=selected(**members)))
        self.each([
            ("client_id of 1024", {"client_id": "x" * 1024, "client_secret": "s"}, None, None),
            ("client_id of 1025", {"client_id": "x" * 1025, "client_secret": "s"}, 9021,
             "client_id"),
            ("client_id of 1024 in UTF-8", {"client_id": "é" * 512, "client_secret": "s"}, None,
             None),
            ("client_id of 1026 in UTF-8", {"client_id": "é" * 513, "client_secret": "s"}, 9021,
             "client_id"),
            ("client_secret of 1", {"client_id": "i", "client_secret": "s"}, None, None),
            ("client_secret of 1024", {"client_id": "i", "client_secret": "x" * 1024}, None, None),
            ("client_secret of 1025", {"client_id": "i", "client_secret": "x" * 1025}, 9022,
             "client_secret"),
            ("a scope of 1024", {**APP, "scopes": ["x" * 1024]}, None, None),
            ("a scope of 1025", {**APP, "scopes": ["s", "x" * 1025]}, 9019, "scopes[1]"),
            ("an organization of 1024", {"organizations": ["x" * 1024]}, None, None),
            ("an organization of 1025", {"organizations": ["x" * 1025]}, 9020,
             "organizations[0]"),
            ("an organization as it is mentioned", {"organizations": ["acme", "@acme"]}, 9095,
             "organizations[1]"),
            ("a team as it is mentioned", {"teams": ["@acme/ops"]}, 7040, "teams[0]"),
            ("an organization with the sign inside", {"organizations": ["a@b"]}, None, None),
        ], check)

    def test_texts_come_back(self):
        for text in ("plain", "ünï", "\U0001F511", "with \"quotes\" and \\", "\x01\n\t", " x ",
                     "{a,b}", "NULL", "null", "''", "a,b", "%s"):
            with self.subTest(repr(text)):
                members = {"client_id": text, "client_secret": text, "scopes": [text, text + "2"],
                           "organizations": [text]}
                self.assert_stored({"provider": {"provider_a": members}},
                                   module(provider=selected(**members)))

    def test_order_of_lists_is_kept(self):
        members = {**APP, "scopes": ["c", "a", "b"], "email_domains": ["z.example", "a.example"],
                   "email_addresses": ["z@a.example", "a@a.example"], "teams": ["z/z", "a/a"],
                   "organizations": ["z", "a"]}
        self.assert_stored({"provider": {"provider_a": members}},
                           module(provider=selected(**members)))

    def test_secret_is_quoted_in_no_error(self):
        secret = "s3cr3t-" + samples.unknown_id()
        for members in ({"client_secret": secret}, {"client_id": "x" * 1025,
                                                    "client_secret": secret},
                        {"client_id": "x", "client_secret": secret * 50},
                        {"client_id": "x", "client_secret": secret, "scopes": [""]},
                        {"client_id": "x", "client_secret": [secret]},
                        {"client_id": "x", "client_secret": {secret: 1}}):
            answer = self.put_config(**members)
            self.assertEqual(answer.status, 400)
            self.assertNotIn(secret.encode(), answer.body)


class Entries(OauthCase):
    def check(self, member, entry, number):
        good = {"email_addresses": "ok@a.example", "email_domains": "ok.example",
                "teams": "ok/ok"}[member]
        if number is None:
            members = {member: [good, entry]}
            self.assert_stored({"provider": {"provider_a": members}},
                               module(provider=selected(**members)))
            return
        answer = self.put_config(**{member: [good, entry]})
        error = self.assert_error(answer, number, "provider.provider_a.%s[1]" % member)
        if 0 < len(entry) < 40:
            self.assertIn(entry, error["msg"])

    def check_rows(self, member, number, good, bad):
        self.each([(repr(entry[:50]), member, entry, None) for entry in good] +
                  [(repr(entry[:50]), member, entry, number) for entry in bad], self.check)

    def test_email_addresses(self):
        self.check_rows("email_addresses", 7043, [
            "a@b", "a@b.example", "A.B+c@Sub.Example", "a" * 64 + "@b.example", "\"q\"@b.example",
            "!#$%&'*+-/=?^_`{|}~@b.example", "a..b@c.example", "1@2.3", "a@" + DOMAIN_253,
            "a@xn--bcher-kva.example", "a@_x.example", "a@1.2.3.4",
        ], [
            "a", "@", "a@", "@b.example", "a@b@c.example", "a b@c.example", " a@b.example",
            "a@b.example ", "a\t@b.example", "a@b .example", "a" * 65 + "@b.example",
            "a@b.example.", "a@.example", "a@b..example", "a@-b.example", "a@b-.example",
            "a@*.example", "a@*", "a@b_c.example", "ä@b.example", "a@ä.example",
            "a@" + DOMAIN_253 + "b", "a\x7f@b.example", "a\n@b.example", "a@b.example\n",
            "Me <a@b.example>", "a@b.example,c@d.example", "a@[1.2.3.4]", "a@b:25",
        ])

    def test_email_domains(self):
        self.check_rows("email_domains", 7039, [
            "example.com", "EXAMPLE.com", "localhost", "a.b.c.d", "1.2.3.4", "_x.example",
            "xn--bcher-kva.example", "a-b.example", DOMAIN_253, "a" * 63,
        ], [
            "*", "*.example.com", "example.com.", ".example.com", "a..b", "-a.example",
            "a-.example", "a_b.example", "ä.example", "a b", " a", "a ", "@example.com",
            "me@example.com", "http://example.com", "example.com/", "example.com:80",
            "a" * 64, DOMAIN_253 + "b", "a\n", "[::1]", "a,b", ".", "_",
        ])

    def test_teams(self):
        self.check_rows("teams", 7040, [
            "o/t", "org/team", "Org/Team-1", "o_/t.", "o/" + "t" * 1022, "o@/t",
        ], [
            "@o/t", "o", "/", "o/", "/t", "o//t", "o/t/x", "/o/t", "o/t/", "o t/x", "o/ t", "o/t ",
            "ö/t", "o/t\n", "o/" + "t" * 1023, "o\\t",
        ])

    def test_case_counts_in_lists(self):
        """The contract forbids repeated entries.  Entries that differ in case are not equal."""
        members = {"email_domains": ["a.example", "A.example"], "teams": ["a/b", "A/b"],
                   "organizations": ["a", "A"], "email_addresses": ["a@b.c", "A@b.c"]}
        self.assert_stored({"provider": {"provider_a": members}},
                           module(provider=selected(**members)))


class CookiePrefix(OauthCase):
    def test_good(self):
        self.each([(prefix[:40], prefix) for prefix in (
            "a", "a.", "A_b-c.", "!#$%&'*+-.^_`|~", "0", "x" * 100, "__Host-", "service",
            "Service.",
        )], lambda prefix: self.assert_stored({"cookie_prefix": prefix},
                                              module(cookie_prefix=prefix)))

    def test_bad(self):
        self.each([(repr(prefix[:40]), prefix) for prefix in (
            "x" * 101, " ", "a b", "a=", "a;", "a,", "a\"", "a\\", "a/", "a:", "a<", "a>", "a?",
            "a@", "a[", "a]", "a{", "a}", "(a", "a)", "ä", "a\t", "a\n", "\x01", "a\x7f",
            "é" * 50,
        )], lambda prefix: self.assert_refused({"cookie_prefix": prefix}, 7042, "cookie_prefix"))
