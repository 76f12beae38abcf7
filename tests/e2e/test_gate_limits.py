# SPDX-License-Identifier: MIT
"""How much of adit-gate, of its database and of its providers one visitor may take."""
from adit.gate_cases import GateCase

# Counts how often the module of an account is read: once a question.
COUNT_QUESTIONS = """
    CREATE SEQUENCE public.questions;
    GRANT USAGE ON SEQUENCE public.questions TO PUBLIC;
    ALTER TABLE adit.oauth_module ENABLE ROW LEVEL SECURITY;
    CREATE POLICY counted ON adit.oauth_module USING (
        CASE WHEN account_id = '%s' THEN nextval('public.questions') > 0 ELSE true END)"""
COUNT_NO_MORE = """
    ALTER TABLE adit.oauth_module DISABLE ROW LEVEL SECURITY;
    DROP POLICY counted ON adit.oauth_module;
    DROP SEQUENCE public.questions"""


class Limits(GateCase):
    front = "nginx"

    def test_many_sessions(self):
        """However many good sessions a request has, the gate asks for their rows at once."""
        self.gate.module()
        browsers = [self.signed_in("alice") for _ in range(24)]
        name, _ = browsers[0].session()
        cookies = ["%s=%s" % browser.session() for browser in browsers]
        browser = browsers[0]
        browser.cookies = {(name, "/"): "; ".join(cookies).partition("=")[2]}
        self.passes(browser.ask())
        self.stack.psql(COUNT_QUESTIONS % self.gate.account.id)
        self.addCleanup(self.stack.psql, COUNT_NO_MORE)

        def n_questions():
            return int(self.stack.psql("SELECT nextval('public.questions')"))
        # All of them end, and each of them is no session then.
        before = n_questions()
        self.shows(browser.copy().ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
        self.assertLessEqual(n_questions() - before - 1, 2)
        for one in cookies:
            browser.cookies = {(name, "/"): one.partition("=")[2]}
            self.is_stopped(browser.ask(method="POST"), 401)
        browser.cookies = {(name, "/"): "; ".join(cookies).partition("=")[2]}
        before = n_questions()
        self.is_stopped(browser.ask(method="POST"), 401)
        self.assertLessEqual(n_questions() - before - 1, 2)
        # A session behind so many that have ended still counts.
        last = self.signed_in("alice")
        browser.cookies = {(name, "/"): "; ".join([*cookies, "%s=%s" % last.session()]).partition(
            "=")[2]}
        self.passes(browser.ask())
