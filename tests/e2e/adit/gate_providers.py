# SPDX-License-Identifier: MIT
"""What providers say of visitors, and what a module makes of it, behind every web server."""
import copy
import re
import urllib.parse

from adit.case import until
from adit.gate import HOST
from adit.gate_cases import START


class Providers:
    """Mixed into the cases of each web server."""

    def kept_users(self):
        """The users, for a test that changes them."""
        for mock in self.gate.mock, self.gate.other_mock:
            self.addCleanup(mock.users.update, copy.deepcopy(mock.users))
        return self.gate.mock.users

    def logs(self, ask, *words):
        """Asks until the log has a line whose cause has all words: it leaves lines out if there are
        many."""
        def is_there():
            ask()
            return any(all(word in line.get("cause", "") for word in words)
                       for line in self.gate.log())
        until(is_there, "a line with " + " and ".join(words))

    def comes_back(self, user="alice", path="/page"):
        """The browser, and the answer to its way back from the provider."""
        browser = self.gate.browser()
        return browser, browser.ask(self.gate.callback(browser.ask(path).location, user))

    def comes_back_with(self, error):
        browser = self.gate.browser()
        query = urllib.parse.urlsplit(browser.ask("/deep/page?a=1").location).query
        return browser.ask("/_adit/callback?" + urllib.parse.urlencode({
            "error": error, "error_description": "<script>",
            "state": urllib.parse.parse_qs(query)["state"][0]}))

    # ---- refusals ----

    def test_list_that_no_rule_needs(self):
        """A GitHub App without the permission for addresses."""
        self.gate.module(config={"teams": ["acme/deploy"]})
        self.gate.mock.faults["emails"] = ("status", "403")
        answer = self.passes(self.gate.sign_in("alice")[1])
        self.assertEqual(answer.seen_header("X-Adit-User"), [self.gate.provider + ":583231"])
        self.shows(self.gate.sign_in("bob")[1], 403, "Not allowed")

    def test_name_stays(self):
        """GitHub gives and takes the list of addresses.  The application knows nobody by another
        name than at the sign-in."""
        self.gate.clock.set(START)
        self.gate.module(config={"teams": ["acme/deploy"]}, auth_check_interval=30)
        by_address = self.signed_in("alice")
        self.gate.mock.faults["emails"] = ("status", "404")
        by_subject = self.signed_in("alice")
        self.gate.clock.set(START + 30)
        self.shows(by_address.ask(), 503, "Nobody can sign in")
        self.is_stopped(by_address.ask("/p", "POST", body=b"x"), 503)
        self.logs(by_address.ask, "emails endpoint: ", "(status 404)")
        self.assertEqual(self.passes(by_subject.ask()).seen_header("X-Adit-User"),
                         [self.gate.provider + ":583231"])
        self.gate.mock.faults.clear()
        until(lambda: by_address.ask().status == 200, "the provider's answer")
        self.assertEqual(self.passes(by_address.ask()).seen_header("X-Adit-User"),
                         ["alice@example.com"])
        self.gate.clock.set(START + 60)
        self.is_stopped(by_subject.ask("/p", "POST", body=b"x"), 401)
        self.is_sent_to_provider(by_subject.ask())
        answer = self.gate.sign_in("alice", browser=by_subject)[1]
        self.assertEqual(self.passes(answer).seen_header("X-Adit-User"), ["alice@example.com"])

    def test_list_that_a_rule_needs(self):
        for config, endpoint, words in (
                ({"email_domains": ["example.com"]}, "emails", "emails endpoint: "),
                ({"teams": ["acme/deploy"]}, "teams", "teams endpoint: "),
                ({"organizations": ["acme"]}, "orgs", "orgs endpoint: ")):
            with self.subTest(endpoint):
                self.gate.module(config=config)
                self.gate.mock.faults = {endpoint: ("status", "403")}
                browser, answer = self.comes_back()
                self.shows(answer, 503, "Nobody can sign in")
                self.assertIn('href="/page"', answer.text)
                self.assertEqual(browser.session(), (None, None))
                self.logs(self.comes_back, words, "(status 403)")
                # As soon as the list is given, the visitor passes.
                self.gate.mock.faults = {}
                self.passes(self.gate.sign_in("alice", browser=browser)[1])

    def test_scope_that_is_missing(self):
        self.gate.module(config={"scopes": ["user:email"], "teams": ["acme/deploy"]})
        self.shows(self.comes_back()[1], 503, "Nobody can sign in")
        self.logs(self.comes_back,
                  "wants one of: read:org, user, repo; the token has: user:email")

    def test_admission_is_what_visitors_meet(self):
        """What POST /oauth_admissions says is what happens to alice, who is in each of these lists."""
        lists = {"email_addresses": ["alice@example.com"], "email_domains": ["example.com"],
                 "teams": ["acme/deploy"], "organizations": ["acme"]}
        for scopes in ([], ["user:email"], ["read:org"], ["repo"], ["read:user"], ["user"],
                       ["read:user user:email"]):
            for name, entries in lists.items():
                with self.subTest(scopes=scopes, list=name):
                    config = {"client_id": self.gate.mock.client_id, "client_secret": "x",
                              "scopes": scopes, name: entries}
                    admits = self.assert_ok(self.gate.judge({"provider": {self.gate.provider: config}}))
                    self.gate.module(config={"scopes": scopes, name: entries})
                    answer = self.gate.sign_in("alice")[1]
                    self.assertEqual((admits["whom"], admits["lists"]),
                                     ("listed", [name]) if answer.status == 200 else ("nobody", []),
                                     answer)

    def test_refusals_and_outages(self):
        not_set_up, away, failed = ((503, "Nobody can sign in"), (503, "You cannot sign in now"),
                                    (403, "Sign-in failed"))
        self.gate.module(config={"teams": ["acme/deploy"]})
        limit = {"Retry-After": "60"}
        for endpoint, status, body, headers, wanted in (
                ("token", 200, {"error": "incorrect_client_credentials"}, {}, not_set_up),
                ("token", 200, {"error": "redirect_uri_mismatch"}, {}, not_set_up),
                ("token", 200, {"error": "bad_verification_code"}, {}, failed),
                ("token", 404, {"error": "Not Found"}, {}, not_set_up),
                ("token", 429, {}, {}, away), ("token", 403, {}, limit, away),
                ("user", 403, {"message": "Forbidden"}, {}, not_set_up),
                ("user", 403, {"message": "Sorry. Your account was suspended."}, {}, failed),
                ("user", 403, {"message": "Forbidden"}, limit, away),
                ("user", 403, {"message": "x"}, {"X-RateLimit-Remaining": "0"}, away),
                ("user", 403, {"message": "x"}, {"X-RateLimit-Remaining": "59"}, not_set_up),
                ("user", 404, {"message": "Not Found"}, {}, not_set_up),
                ("user", 503, {}, {}, away),
                ("emails", 403, {"message": "x"}, limit, away),
                ("teams", 403, {"message": "You have exceeded a secondary rate limit."}, {}, away),
                ("teams", 404, {"message": "Not Found"}, {}, not_set_up),
                ("orgs", 401, {"message": "Bad credentials"}, {}, failed)):
            with self.subTest("%s %d %s %s" % (endpoint, status, body, headers)):
                self.gate.mock.faults = {endpoint: (
                    "answer", (status, body, "application/json", headers))}
                browser, answer = self.comes_back()
                self.shows(answer, *wanted)
                self.assertEqual(browser.session(), (None, None))
                self.assertIn('href="/page"', answer.text)

    def test_errors_of_the_authorize_endpoint(self):
        self.gate.module()
        for error, words, *wanted in (
                ("access_denied", "access_denied", 403, "Sign-in failed"),
                ("redirect_uri_mismatch", "redirect_uri_mismatch", 503, "Nobody can sign in"),
                ("application_suspended", "application_suspended", 503, "Nobody can sign in"),
                ("temporarily_unavailable", "temporarily_unavailable", 503,
                 "You cannot sign in now"),
                ("server_error", "server_error", 503, "You cannot sign in now"),
                ("<script>\n", "does not know", 403, "Sign-in failed")):
            with self.subTest(error):
                answer = self.shows(self.comes_back_with(error), *wanted)
                self.assertEqual(re.findall('href="([^"]*)"', answer.text), ["/deep/page?a=1"])
                self.logs(lambda error=error: self.comes_back_with(error), "authorize endpoint: ",
                          words)
        self.assertNotIn(b"script", self.gate.gate.log())
        # An error that anybody may send says nothing.
        answer = self.gate.browser().ask("/_adit/callback?error=server_error&state=x")
        self.shows(answer, 403, "Sign-in failed")

    # ---- whom a list names ----

    def test_nested_teams(self):
        """GitHub counts the members of a team to those of the teams above it."""
        self.kept_users()["alice"]["teams"] = [{
            "slug": "child", "organization": {"login": "acme"}, "parent": {"slug": "parent"}}]
        for team, wanted in (("acme/parent", 200), ("acme/child", 200), ("globex/parent", 403)):
            with self.subTest(team):
                self.gate.module(config={"teams": [team]})
                self.is_answered(self.gate.sign_in("alice")[1], wanted)

    def is_answered(self, answer, status):
        if status == 200:
            self.passes(answer)
        else:
            self.is_stopped(answer, status)

    def test_hosted_domains(self):
        """Google answers for a domain only if it manages the account."""
        client = {"client_id": self.gate.other_mock.client_id,
                  "client_secret": self.gate.other_mock.client_secret}
        for config, let_in in (({"email_domains": ["example.com"]}, ("alice",)),
                               ({"email_addresses": ["carol@example.com"]}, ("carol",))):
            for user in ("alice", "carol"):
                with self.subTest(user=user, **config):
                    self.gate.put({"provider": {self.gate.other_provider: {**client, **config}}})
                    self.is_answered(self.gate.sign_in(user)[1], 200 if user in let_in else 403)

    def test_letters_beyond_ascii(self):
        emails = self.kept_users()["bob"]["emails"]
        emails[:] = [{"email": "j\u00f6rg@EXAMPLE.com", "verified": True, "primary": True}]
        self.gate.module(config={"email_domains": ["example.com"]})
        answer = self.passes(self.gate.sign_in("bob")[1])
        self.assertEqual([value.encode("latin-1").decode().lower()
                          for value in answer.seen_header("X-Adit-User")],
                         ["j\u00f6rg@example.com"])

    # ---- tokens ----

    def test_token_that_ends(self):
        """The end of a token is no revocation, where the provider gives another one."""
        self.gate.mock.expiring = True
        try:
            self.gate.module(auth_check_interval=30)
            self.gate.clock.set(START)
            browser = self.signed_in("alice")
            for n in range(1, 4):
                self.gate.clock.set(START + 30 * n)
                self.gate.mock.expire()
                self.passes(browser.ask("/p", "POST", body=b"x"))
            self.gate.clock.set(START + 120)
            self.gate.mock.revoke()
            self.is_sent_to_provider(browser.ask())
            self.is_stopped(browser.ask("/p", "POST", body=b"x"), 401)
        finally:
            self.gate.mock.expiring = False

    def test_token_that_is_renewed_while_the_provider_fails(self):
        """The new refresh token is the only one that is good, and nothing else has come."""
        self.gate.mock.expiring = True
        self.addCleanup(setattr, self.gate.mock, "expiring", False)
        self.gate.module(auth_check_interval=30)
        self.gate.clock.set(START)
        browser = self.signed_in("alice")
        old = browser.copy()  # as a browser that the answer does not reach
        self.gate.clock.set(START + 30)
        self.gate.mock.expire()
        self.gate.mock.faults["user"] = ("granted", "500")
        self.gate.mock.requests.clear()
        self.shows(browser.ask(), 503, "Your sign-in cannot be checked now")
        self.assertEqual(self.gate.mock.requests.count("token"), 1)
        self.gate.mock.faults.clear()
        # Each worker asks again after 2 s.
        for visitor in old, browser:
            until(lambda visitor=visitor: visitor.ask("/p", "POST", body=b"x").status == 200,
                  "the provider's answer")
        # So it goes on, as often as tokens end.
        for n in range(2, 4):
            self.gate.clock.set(START + 30 * n)
            self.gate.mock.expire()
            until(lambda: old.copy().ask("/p", "POST", body=b"x").status == 200,
                  "the other worker's answer")

    def test_token_without_another(self):
        self.gate.module(auth_check_interval=30)
        self.gate.clock.set(START)
        browser = self.signed_in("alice")
        self.gate.mock.expire()
        self.passes(browser.ask())
        self.gate.clock.set(START + 30)
        self.is_sent_to_provider(browser.ask())

    # ---- other hosts ----

    def test_other_host(self):
        """A login begins at the host that the provider sends back to."""
        self.gate.module()
        browser = self.gate.browser()
        browser.host = "www." + HOST
        answer = self.is_stopped(browser.ask("/page?a=1&b=%2F"), 302)
        self.assertEqual(browser.cookies, {})
        self.assertTrue(answer.location.startswith(self.gate.url() + "/_adit/"), answer.location)
        self.logs(lambda: browser.ask("/page"), "%s is not the host of ADIT_URL, %s" % (
            browser.host, HOST))
        for host in (HOST, browser.host):  # the second one: a proxy names another host each time
            browser.host = host
            found = self.is_sent_to_provider(browser.ask(answer.location[len(self.gate.url()):]))
            back = browser.ask(self.gate.callback(found.location, "alice", HOST))
            self.assertEqual((back.status, back.location), (302, "/page?a=1&b=%2F"))
            self.passes(browser.ask(back.location))
        for host in (HOST.upper(), HOST + ":80", HOST + ":%d" % self.gate.port):
            browser = self.gate.browser()
            browser.host = host
            self.is_sent_to_provider(browser.ask())
        # A way back to another host is none.
        browser = self.gate.browser()
        found = browser.ask("/_adit/callback?begin=%2F%2Fevil.test")
        back = browser.ask(self.gate.callback(found.location, "alice"))
        self.assertEqual(back.location, "/")

    # ---- modules that ask for more ----

    def test_module_that_asks_for_more(self):
        """Who is signed in signs in again, and is not locked out."""
        self.gate.clock.set(START)
        for interval in (0, 30):
            for before, config in (
                    ({}, {"teams": ["acme/deploy"]}), ({}, {"organizations": ["acme"]}),
                    ({"scopes": ["read:org"]}, {"email_domains": ["example.com"]}),
                    ({"email_domains": ["example.com"]}, {"teams": ["acme/deploy"]})):
                with self.subTest(interval=interval, before=before, **config):
                    self.gate.clock.set(START)
                    self.gate.module(config=before, auth_check_interval=interval)
                    browsers = {user: self.signed_in(user) for user in ("alice", "bob")}
                    self.gate.module(config=config, auth_check_interval=interval)
                    self.gate.clock.set(START + 31)
                    for user, browser in browsers.items():
                        self.is_stopped(browser.ask("/p", "POST", body=b"x"), 401)
                        self.is_sent_to_provider(browser.ask())
                        answer = self.gate.sign_in(user, browser=browser)[1]
                        self.is_answered(answer, 200 if user == "alice" else 403)
                    self.passes(browsers["alice"].ask("/p", "POST", body=b"x"))
                    # Nobody is sent in circles.
                    self.shows(browsers["bob"].ask(), 403, "Not allowed")

    def test_module_that_asks_for_more_and_another_rule(self):
        """Who passes without it goes on."""
        self.gate.module(config={"email_domains": ["example.com"]})
        browser = self.signed_in("alice")
        self.gate.module(config={"email_domains": ["example.com"], "teams": ["acme/deploy"]})
        self.passes(browser.ask("/p", "POST", body=b"x"))
