# SPDX-License-Identifier: MIT
"""Whom OAuth modules let in: POST /oauth_admissions, the lists, their filter, and the names of
providers."""
import urllib.parse

from adit import cases, samples
from adit.case import Case
from adit.reference import openapi

ADMISSIONS, PROVIDERS = "/oauth_admissions", "/oauth_providers"
OAUTH = "/edges/https/e/routes/%s/oauth"
WORDS = ("nobody", "listed", "anyone", "everybody")
TITLES = openapi.TITLES_OF_PROVIDERS


class Admissions(Case):
    def setUp(self):
        self.account = self.stack.account()
        self.client = self.stack.client(self.account.admin.key)

    def walk(self, filter=None):
        """{route: admits} of the list."""
        found = {}
        target = "/oauth_modules" + ("?" + urllib.parse.urlencode({"filter": filter}) if filter else "")
        while target:
            page = self.assert_ok(self.client.get(target))
            found.update((item["id"], item["admits"]) for item in page["oauth_modules"])
            target = page["next_page_uri"] and page["next_page_uri"][len(self.stack.url):]
        return found

    def ask(self, body):
        return self.assert_ok(self.client.post(ADMISSIONS, body))

    def test_question_list_and_filter_agree(self):
        """SQL and C say the same of each module, and the module itself has no such member."""
        wanted = {}
        for number, (_, body, why, _) in enumerate(cases.read("oauth_admission.cases")):
            route = "r%d" % number
            with self.subTest(why):
                answer = self.client.call("PUT", OAUTH % route, body)
                self.assertNotIn("admits", self.assert_ok(answer))
                asked = self.client.call("POST", ADMISSIONS, body)
                wanted[route] = self.assert_ok(asked)
        self.assertEqual(self.walk(), wanted)
        self.assertEqual({one["whom"] for one in wanted.values()}, set(WORDS))
        self.assertGreater(len(wanted), 30)
        for word in WORDS:
            with self.subTest(word):
                self.assertEqual(self.walk('obj.admits == "%s"' % word),
                                 {route: one for route, one in wanted.items() if one["whom"] == word})

    def test_nothing_is_stored(self):
        self.ask({"provider": {"provider_a": {"client_id": "a", "client_secret": "kept nowhere"}}})
        self.assertEqual(self.walk(), {})
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM adit.oauth_module WHERE account_id = '%s'" % self.account.id), "0")

    def test_forms_of_the_body(self):
        """Those of a PUT.  Without a path, identifiers say nothing."""
        plain = self.ask({"provider": {"provider_a": {}}})
        for body in ({"module": {"provider": {"provider_a": {}}}},
                     {"edge_id": "e", "id": "r", "provider": {"provider_a": {}}}):
            self.assertEqual(self.ask(body), plain)

    def test_faults_of_the_body(self):
        """The same as those of a PUT: one of each number.  model/oauth_module of the unit tests has all."""
        rows = {}
        for expected, body, why, _ in cases.read("oauth_module.cases"):
            number, _, field = expected.partition(" ")
            if number.isdigit() and number != "9013":
                rows.setdefault(int(number), (why, body, int(number), field))
        self.each(rows.values(), lambda body, number, field: self.assert_error(
            self.client.call("POST", ADMISSIONS, body), number, field))
        self.assertGreater(len(rows), 10)

    def test_limits_of_the_body(self):
        """Also the same as those of a PUT."""
        long, many = "x" * 1025, range(1001)
        for member, value, number in (
                ("scopes", ["s%d" % i for i in many], 7056), ("scopes", ["s", "s"], 9017),
                ("scopes", [""], 9018), ("scopes", [long], 9019),
                ("teams", ["o/t%d" % i for i in many], 7057),
                ("organizations", ["o%d" % i for i in many], 7058),
                ("organizations", [long], 9020),
                ("email_addresses", ["u%d@a.example" % i for i in many], 7060),
                ("email_domains", ["d%d.example" % i for i in many], 7061),
                ("client_id", long, 9021), ("client_secret", long, 9022)):
            with self.subTest(member, number=number):
                members = {"client_id": "c", "client_secret": "s", member: value}
                self.assert_error(
                    self.client.post(ADMISSIONS, {"provider": {"provider_a": members}}), number)

    def test_keys(self):
        read_only = self.stack.client(self.account.admin.issue("--read-only"))
        own = self.stack.client(self.account.admin.issue("--own"))
        gateway = self.stack.client(self.account.gateway_key)
        for client in (read_only, own):
            self.assertEqual(self.assert_ok(client.post(ADMISSIONS, {}))["whom"], "nobody")
            self.assertEqual(len(self.assert_ok(client.get(PROVIDERS))["providers"]), len(openapi.PROVIDERS))
        for answer in (gateway.post(ADMISSIONS, {}), gateway.get(PROVIDERS)):
            self.assert_error(answer, 9071)
        for answer in (self.stack.client(samples.well_formed_key()).post(ADMISSIONS, {}),
                       self.stack.client(samples.well_formed_key()).get(PROVIDERS)):
            self.assert_error(answer, 203)


class ProviderNames(Case):
    def setUp(self):
        self.account = self.stack.account()
        self.client = self.stack.client(self.account.admin.key)

    def names(self):
        return self.stack.providers or openapi.PROVIDERS

    def test_list(self):
        found = self.assert_ok(self.client.get(PROVIDERS))["providers"]
        self.assertEqual(found, [{"name": name, "title": title}
                                 for name, title in zip(self.names(), TITLES)])

    def test_titles_in_bodies(self):
        """A body that says "github" is told which member to use, in whatever case."""
        for name, title in zip(self.names(), TITLES):
            for word in {title, title.lower(), title.upper()} - set(self.names()):
                with self.subTest(word):
                    for method, path in (("PUT", OAUTH % "r"), ("POST", ADMISSIONS)):
                        answer = self.client.call(method, path, {"provider": {word: {}}})
                        self.assert_error(answer, 214, "provider." + word,
                                          says=["%s is %s. This object takes: " % (title, name),
                                                "%s (%s)" % (name, title)])
                        self.assert_error(self.client.call(method, path, {"provider": word}), 215,
                                          "provider", says='{"%s": {}}' % name)

    def test_titles_in_filters(self):
        """Without that they would find nothing, as if there was no such module."""
        name = self.names()[0]
        for filter, offset in (
                ('obj.provider == "github"', 16), ('obj.enabled && obj.provider != "GitHub"', 31),
                ('"github" == obj.provider', 0), ('obj.provider in ["x", "GITHUB"]', 16),
                ('obj.provider.github == null', 4), ('!(obj.id == "x" || obj.provider.GitHub)', 23)):
            with self.subTest(filter):
                answer = self.client.get("/oauth_modules?" + urllib.parse.urlencode({"filter": filter}))
                self.assert_error(answer, 250,
                                  says='GitHub is "%s"; write: obj.provider == "%s"' % (name, name))
                self.assertEqual(answer.json["details"]["offset"], str(offset))
        for filter in ('obj.provider == "%s"' % name, 'obj.provider == "okta"', 'obj.provider == ""',
                       'obj.id == "github"', 'obj.provider in ["%s"]' % name,
                       'obj.provider.contains("github")', '"github" in obj.organizations'):
            with self.subTest(filter):
                self.assert_ok(self.client.get(
                    "/oauth_modules?" + urllib.parse.urlencode({"filter": filter})))
        self.assert_error(self.client.get("/oauth_modules?filter=obj.provider.okta"), 250,
                          says="obj has: ")
