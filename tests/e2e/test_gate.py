# SPDX-License-Identifier: MIT
"""adit-gate itself: its variables, accounts, keys and logs, whatever the web server."""
import base64
import json
import os
import re
import threading
import time

from adit import cluster, fastcgi, programs, stack
from adit.case import LONGEST_PAUSE_S, Case, until
from adit.clock import Clock
from adit.gate import HOST, ROUTES, Gate, Program
from adit.gate_cases import START, GateCase
from adit.gate_faults import in_threads

UNKNOWN = "ac_" + "0" * 27

# How often rows of sessions that have ended are deleted.
PURGE_S = 600

# Notes each DELETE of rows of sessions.
NOTE_PURGES = """
    CREATE TABLE public.purge (at timestamptz);
    CREATE FUNCTION public.note_purge() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
    $$ BEGIN INSERT INTO public.purge VALUES (now()); RETURN NULL; END $$;
    CREATE TRIGGER note_purge AFTER DELETE ON adit.gate_session
    FOR EACH STATEMENT EXECUTE FUNCTION public.note_purge()"""
# Reading a module of an account takes long, so the gate's sessions are all in use.  Those of other
# tests do not: a plan may read all.
SLOW_MODULES = """;
    ALTER TABLE adit.oauth_module ENABLE ROW LEVEL SECURITY;
    CREATE POLICY slow ON adit.oauth_module USING (
        CASE WHEN account_id = '%s' THEN pg_sleep(1.5) IS NOT NULL ELSE true END)"""


class Itself(GateCase):
    front = "nginx"

    def test_accounts(self):
        self.gate.module()
        browser = self.signed_in("alice")
        with Program(self.gate, account="") as gate:
            for name, account, wanted in (
                    ("none", "", 503), ("unknown", UNKNOWN, 503),
                    ("this one", self.gate.account.id, 200),
                    ("another, without a module", self.gate.other_account.id, 200)):
                with self.subTest(name):
                    self.assertEqual(gate.ask(browser, ADIT_ACCOUNT=account)[0], wanted)
            _, headers = gate.ask(browser, ADIT_ACCOUNT=self.gate.account.id)
            self.assertEqual(headers["X-Adit-User"], "alice@example.com")
            _, headers = gate.ask(browser, ADIT_ACCOUNT=self.gate.other_account.id)
            self.assertNotIn("X-Adit-User", headers)
            self.assertIn(b"there are several accounts", gate.log())
        with Program(self.gate, account=UNKNOWN) as gate:
            self.assertEqual(gate.ask(browser)[0], 503)
            self.assertEqual(gate.ask(browser, ADIT_ACCOUNT=self.gate.account.id)[0], 200)

    def test_variables(self):
        self.gate.module()
        browser = self.signed_in("alice")
        with Program(self.gate) as gate:
            self.assertEqual(gate.ask(browser)[0], 200)
            for variables in ({"ADIT_EDGE": ""}, {"ADIT_ROUTE": ""},
                              {"ADIT_EDGE": "", "ADIT_ROUTE": ""}):
                with self.subTest(**variables):
                    self.assertEqual(gate.ask(browser, **variables)[0], 503)
            # Routes without a module are open, also those with ids that none can have.
            self.assertEqual(gate.ask(browser, ADIT_ROUTE="route-9")[0], 200)
            for url in ("", "app.test", "https://", "http://", "ftp://app.test",
                        "https://app.test/path", "https://app.test?a", "https://a@app.test",
                        "https://app.test\r\nX: y", "https://app test", "javascript:alert(1)"):
                with self.subTest(url):
                    status, headers = gate.ask(ADIT_URL=url)
                    self.assertEqual(status, 503)
                    self.assertNotIn("X-Adit-Location", headers)
                    # Who is signed in passes.
                    self.assertEqual(gate.ask(browser, ADIT_URL=url)[0], 200)

    def test_route_without_a_module(self):
        """The settings say who passes a route that has no module, and the log names it."""
        self.gate.module(enabled=False)
        with Program(self.gate, without_module="refuse") as gate:
            for method in ("GET", "POST", "OPTIONS"):
                with self.subTest(method):
                    status, headers = gate.ask(ADIT_ROUTE="route-9", REQUEST_METHOD=method,
                                               HTTP_X_ADIT_USER="root@example.com")
                    self.assertEqual(status, 403)
                    self.assertNotIn("X-Adit-User", headers)
            self.assertEqual(gate.ask()[0], 200)  # disabled
            self.gate.delete()
            self.assertEqual(gate.ask()[0], 403)
            refused = [line for line in gate.events() if line["event"] == "the route has no module"]
            self.assertEqual({(line["edge"], line["level"]) for line in refused},
                             {(Gate.EDGE, "warning")})
            self.assertEqual(refused[0]["route"], "route-9")
        with Program(self.gate) as gate:
            self.assertEqual(gate.ask()[0], 200)
            self.assertEqual({line["cause"] for line in gate.events()
                              if line["event"] == "the route has no module"}, {"everybody passes"})

    def test_no_check_is_for_metrics(self):
        """An answer with metrics would let it pass, whatever a web server sets for all its sites."""
        self.gate.module()
        with Program(self.gate) as gate:
            self.assertEqual(gate.ask(ADIT_METRICS="1")[0], 401)
            status, headers = gate.ask(ADIT_METRICS="1", ADIT_CHECK="")
            self.assertEqual((status, headers["Content-Type"]),
                             (200, "text/plain; version=0.0.4; charset=utf-8"))
            status, _ = gate.ask(records=fastcgi.check_records, ADIT_METRICS="1", ADIT_CHECK="")
            self.assertEqual(status, 302)

    def test_token_that_another_host_renews(self):
        """Each refresh token is good once.  Who comes second waits for what the first one got."""
        self.gate.mock.expiring = True
        self.addCleanup(setattr, self.gate.mock, "expiring", False)
        self.stack.psql("CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS"
                        " 'BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END'; CREATE TRIGGER slow BEFORE"
                        " INSERT OR UPDATE ON adit.gate_session FOR EACH ROW EXECUTE FUNCTION public.slow()")
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.slow() CASCADE")
        self.gate.module(auth_check_interval=1)
        browser = self.signed_in("alice")
        self.gate.mock.expire()
        folder = self.gate.path("later")
        os.mkdir(folder)
        clock = Clock(folder)
        clock.slow_down(10)  # it waits for 1 s, and a busy machine may need longer
        with Program(self.gate, ("-w", "1"), clock.env(), name="first") as first, \
                Program(self.gate, ("-w", "1"), clock.env(), name="second") as second:
            clock.set(int(time.time()) + 10)
            self.gate.mock.requests.clear()
            answers = in_threads(2, lambda n: (first, second)[n].ask(browser)[0])
            self.assertEqual(answers, [200, 200])
            # Both have used the same one.
            self.assertEqual(self.gate.mock.requests.count("token"), 2)

    def test_not_cached(self):
        """No web server may keep an answer of the gate: the next visitor would get it."""
        self.gate.module(config={"teams": ["acme/deploy"]})
        alice, carol = self.signed_in("alice"), self.signed_in("carol")
        with Program(self.gate) as gate:
            for wanted, browser, variables in (
                    (200, alice, {}), (401, None, {}), (401, None, {"REQUEST_METHOD": "POST"}),
                    (403, carol, {}), (503, alice, {"ADIT_ROUTE": ""}),
                    (200, None, {"ADIT_ROUTE": "route-9"}),
                    (302, alice, {"ADIT_CHECK": "", "ADIT_PAGE": "1"}),
                    (503, alice, {"ADIT_CHECK": "", "ADIT_PAGE": "1", "REQUEST_METHOD": "POST"}),
                    (403, carol, {"ADIT_CHECK": "", "ADIT_PAGE": "1"}),
                    (302, None, {"ADIT_CHECK": "", "ADIT_PAGE": "1"}),
                    (200, alice, {"ADIT_CHECK": "", "REQUEST_URI": "/_adit/logout"}),
                    (403, None, {"ADIT_CHECK": "", "REQUEST_URI": "/_adit/callback"})):
                with self.subTest(wanted=wanted, **variables):
                    status, headers = gate.ask(browser, **variables)
                    self.assertEqual((status, headers["Cache-Control"]), (wanted, "no-store"))

    def test_one_purge_at_a_time(self):
        """A purge that waits for a session with the database is not begun by the next lane, too."""
        self.gate.module()
        self.stack.psql(NOTE_PURGES + SLOW_MODULES % self.gate.account.id)
        self.addCleanup(self.stack.psql, """
            ALTER TABLE adit.oauth_module DISABLE ROW LEVEL SECURITY;
            DROP POLICY slow ON adit.oauth_module;
            DROP FUNCTION public.note_purge() CASCADE;
            DROP TABLE public.purge""")
        folder = self.gate.path("ahead")
        os.mkdir(folder)
        clock = Clock(folder)
        with Program(self.gate, ("-w", "1"), clock.env()) as gate:
            self.assertEqual(gate.ask(ADIT_ROUTE="route-9")[0], 200)  # the worker has started
            visitors = [threading.Thread(target=gate.ask) for _ in range(12)]
            clock.go_ahead(PURGE_S - 1)
            for visitor in visitors:
                visitor.start()
            for visitor in visitors:
                visitor.join()
            n_purges = "SELECT count(*) FROM public.purge"
            until(lambda: self.stack.psql(n_purges) != "0", "a purge")
            time.sleep(0.5)
            self.assertEqual(self.stack.psql(n_purges), "1")

    def test_secure(self):
        """Under https, cookies go back by https only."""
        self.gate.module(inactivity_timeout=60)
        browser = self.signed_in("alice")
        self.gate.clock.set(0)
        with Program(self.gate) as gate:
            _, headers = gate.ask(ADIT_URL="https://app.test")
            self.assertIn("Secure", headers["Set-Cookie"])
            self.assertIn("redirect_uri=https%3A%2F%2Fapp.test%2F_adit%2Fcallback",
                          headers["X-Adit-Location"])
            until(lambda: "Set-Cookie" in gate.ask(browser, ADIT_URL="https://app.test")[1],
                  "a cookie with a new time")
            _, headers = gate.ask(ADIT_URL="http://app.test")
            self.assertNotIn("Secure", headers["Set-Cookie"])

    def test_prefixes_of_browsers(self):
        """Browsers take cookies of some names only under https, and "__Host-" only on the path "/"."""
        with Program(self.gate) as gate:
            for prefix, path in (("__Host-app.", "/"), ("__host-", "/"), ("__Secure-", "/_adit/")):
                with self.subTest(prefix):
                    self.gate.module(cookie_prefix=prefix)
                    status, headers = gate.ask(ADIT_URL="https://app.test")
                    self.assertEqual(status, 401)
                    pair, *attributes = headers["Set-Cookie"].split("; ")
                    self.assertTrue(pair.startswith(prefix + "state."))
                    self.assertIn("Path=" + path, attributes)
                    self.assertIn("Secure", attributes)
                    # The application does not see it.
                    self.gate.module(cookie_prefix=prefix, enabled=False)
                    _, headers = gate.ask(HTTP_COOKIE="a=b; " + pair)
                    self.assertEqual(headers["X-Adit-Cookie"], "a=b")
                    # Under http, nobody could ever sign in.
                    self.gate.module(cookie_prefix=prefix)
                    self.assertEqual(gate.ask()[0], 503)
                    self.shows(self.gate.browser().ask(), 503, "Nobody can sign in")
            self.assertIn(b"change the module's cookie_prefix", gate.log())

    def test_two_gates(self):
        """Gates that share the key file and the database share sessions, and their ends."""
        self.gate.module()
        browser = self.signed_in("alice")
        thief = browser.copy()
        with Program(self.gate) as gate:
            self.assertEqual(gate.ask(browser)[0], 200)
            self.shows(browser.ask("/_adit/logout", "POST", body=b""), 200, "Signed out")
            self.assertEqual(gate.ask(thief)[0], 401)

    def test_confined(self):
        """A worker that signs visitors in may not write, run programs or read what it likes."""
        def states():
            found = []
            for pid in programs.children(self.gate.gate.process.pid):
                with open("/proc/%d/status" % pid, encoding="utf-8") as file:
                    found.append(re.findall(r"(?m)^(?:NoNewPrivs|Seccomp):\t(\d)", file.read()))
            return found
        # Builds with sanitizers are not confined.
        wanted = ["0", "0"] if stack.is_sanitized() else ["1", "2"]
        until(lambda: states() == [wanted] * 2, "two confined workers")
        self.gate.module()
        self.passes(self.gate.sign_in("alice")[1])

    def test_stored_ways_back_of_one_address(self):
        """Who is not signed in fills no table.  A login without its way back leads to "/"."""
        self.gate.module()
        self.stack.psql("DELETE FROM adit.gate_session")
        with Program(self.gate, ("-w", "1")) as gate:
            for address, n_rows in (("192.0.2.1", 20), ("192.0.2.2", 25), ("192.0.2.1", 25)):
                for n in range(25 if n_rows == 20 else 5):
                    self.assertEqual(gate.ask(REMOTE_ADDR=address,
                                              REQUEST_URI="/%d?%s" % (n, "q" * 2000))[0], 401)
                self.assertEqual(self.stack.psql(
                    "SELECT count(*) FROM adit.gate_session WHERE sealed IS NOT NULL"
                    " AND ends_at < now() + interval '11 min'"), str(n_rows))
            self.assertIn("cannot keep the way back", {line["event"] for line in gate.events()})

    def test_other_scheme(self):
        """Under http, browsers keep no cookie of a host that is reached by https."""
        self.gate.module()
        with Program(self.gate) as gate:
            https = {"ADIT_URL": "https://app.test", "HTTP_HOST": "app.test",
                     "REQUEST_URI": "/page?a=1"}
            _, headers = gate.ask(**https, REQUEST_SCHEME="http")
            self.assertEqual(headers["X-Adit-Location"],
                             "https://app.test/_adit/callback?begin=/page?a=1")
            self.assertNotIn("Set-Cookie", headers)
            # There it goes on, also where https ends at another server.
            _, headers = gate.ask(**{**https, "ADIT_CHECK": "", "QUERY_STRING": "begin=/page?a=1",
                                     "REQUEST_URI": "/_adit/callback?begin=/page?a=1"},
                                  REQUEST_SCHEME="http")
            self.assertTrue(headers["Location"].startswith(self.gate.mock.base_url))
            self.assertIn("Secure", headers["Set-Cookie"])
            _, headers = gate.ask(**https, REQUEST_SCHEME="https")
            self.assertTrue(headers["X-Adit-Location"].startswith(self.gate.mock.base_url))

    def test_one_address(self):
        """Whoever has one address leaves lanes for sign-ins from elsewhere."""
        self.gate.module()

        def begins(address):
            """What a visitor's browser sends when it comes back from the provider."""
            browser = self.gate.browser()
            back = self.gate.callback(browser.ask("/page").location, "alice")
            return {"ADIT_CHECK": "", "REQUEST_URI": back, "REMOTE_ADDR": address,
                    "QUERY_STRING": back.partition("?")[2],
                    "HTTP_COOKIE": browser.cookie_header("/_adit/")}
        folder = self.gate.path("slow")
        os.mkdir(folder)
        clock = Clock(folder)
        clock.slow_down(10)  # the gate gives the provider 50 s instead of 5
        for many, other in (("192.0.2.1", "192.0.2.2"), ("2001:db8::%x", "2001:db8:0:1::1")):
            with self.subTest(many), Program(self.gate, ("-w", "1"), clock.env()) as gate:
                crowd = [begins(many.replace("%x", "%x" % n)) for n in range(58)]
                honest = begins(other)
                self.gate.mock.requests.clear()
                self.gate.mock.released.clear()
                self.addCleanup(self.gate.mock.released.set)
                self.gate.mock.faults["token"] = ("held",)
                found = []

                def come(n, gate=gate, crowd=crowd, found=found):
                    found.append(gate.ask(**crowd[n])[0])
                threads = [threading.Thread(target=come, args=(n,)) for n in range(len(crowd))]
                for thread in threads:
                    thread.start()
                until(lambda found=found: self.gate.mock.requests.count("token") == 28 and
                      len(found) == 30, "28 logins under way, and refusals of 30")
                self.assertEqual(found, [503] * 30)
                self.gate.mock.faults.clear()
                status, headers = gate.ask(**honest)
                self.assertEqual((status, headers.get("Location")), (302, "/page"))
                self.gate.mock.released.set()
                for thread in threads:
                    thread.join()
                self.assertEqual(found.count(302), 28)

    # ---- keys ----

    def keys(self):
        with open(self.gate.key_file, encoding="ascii") as file:
            return [line for line in file if line.strip()]

    def keep_keys(self, lines):
        # In place, so that the file keeps its owner.
        with open(self.gate.key_file, "w", encoding="ascii") as file:
            file.write("".join(lines))

    def add_key(self):
        """Adds a key, and returns its line.  Gates seal with it from then on."""
        self.gate.stack.ctl_run("secrets", "add-key", conf=self.gate.conf, check=True)
        return self.keys()[0]

    def test_rotation(self):
        self.gate.mock.padding = 8000
        self.addCleanup(setattr, self.gate.mock, "padding", 0)
        self.gate.module(auth_check_interval=3600, config={"teams": ["globex/team-1"]})
        original = self.keys()
        self.addCleanup(self.gate.start_gate)
        self.addCleanup(self.gate.stop_gate)
        self.addCleanup(self.keep_keys, original)
        # Her session is in a row, for the token.
        old = self.signed_in("carol")
        second = self.add_key()
        self.passes(old.ask())
        self.gate.stop_gate()
        self.gate.start_gate()
        self.passes(old.ask())
        new = self.signed_in("carol")
        # The cookie and the row are sealed with the new key, which is removed now.
        self.keep_keys([self.add_key(), *original])
        self.assertNotIn(second, self.keys())
        self.gate.stop_gate()
        self.gate.start_gate()
        self.is_sent_to_provider(new.ask())
        self.passes(old.ask())
        self.passes(self.gate.sign_in("carol", browser=new)[1])

    def sealed_with(self, cookie):
        """The id of the key that sealed a cookie's value: behind its length, at the beginning."""
        data = base64.urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4))
        return data[1:1 + data[0]].decode()

    def session_sealed_with(self, browser):
        return self.sealed_with(browser.session()[1][22:])

    def test_new_key_while_it_runs(self):
        """A new key seals from the next session on.  Sessions and logins of the old one go on, and
        move to the new one when they are sealed again."""
        original = self.keys()
        old_id = original[0].split()[0]
        self.addCleanup(self.gate.start_gate)
        self.addCleanup(self.gate.stop_gate)
        self.addCleanup(self.keep_keys, original)
        self.gate.module(inactivity_timeout=3600, auth_check_interval=3600, config={
            "teams": ["globex/team-1"], "email_domains": ["example.com"]})
        self.gate.clock.set(START)
        self.addCleanup(setattr, self.gate.mock, "padding", 0)
        small = self.signed_in("alice")
        self.gate.mock.padding = 8000  # its session is in a row
        large = self.signed_in("carol")
        self.gate.mock.padding = 0
        waiting = self.gate.browser()
        back = self.gate.callback(waiting.ask("/page").location, "alice")
        for browser in small, large:
            self.assertEqual(self.session_sealed_with(browser), old_id)
        new_id = self.add_key().split()[0]
        self.assertNotEqual(new_id, old_id)
        # Nothing is sealed: the time has not moved.
        self.passes(small.ask())
        self.assertEqual(self.session_sealed_with(small), old_id)
        # Both workers take the new key.
        for _ in range(8):
            browser = self.gate.browser()
            browser.ask()
            (_, _), state = next(iter(browser.cookies.items()))
            self.assertEqual(self.sealed_with(state), new_id)
        self.assertEqual(waiting.ask(back).location, "/page")
        self.assertEqual(self.session_sealed_with(waiting), new_id)
        kept = small.copy()
        self.gate.clock.set(START + 1)
        for browser in small, large:
            self.passes(browser.ask())
            self.assertEqual(self.session_sealed_with(browser), new_id)
        # Its row is still sealed with the old one.
        for _ in range(4):
            self.passes(large.copy().ask())
            self.passes(kept.copy().ask())
        # Without the old key, from the next request on, what it sealed is no session.
        self.keep_keys(self.keys()[:1])
        for _ in range(4):  # at both workers
            self.passes(small.copy().ask())
            self.is_sent_to_provider(kept.copy().ask())
            self.is_sent_to_provider(large.copy().ask())

    def test_unreadable_key_file(self):
        """Of a file that cannot be read nobody knows which keys count, and nobody passes."""
        original = self.keys()
        self.gate.module(inactivity_timeout=3600)
        self.gate.clock.set(START)
        browser = self.signed_in("alice")
        self.addCleanup(self.keep_keys, original)
        self.keep_keys(["not a key\n"])
        self.shows(browser.copy().ask(), 503, "Not ready")
        self.gate.clock.set(START + 1)
        self.shows(browser.copy().ask(), 503, "Not ready")
        self.shows(self.gate.browser().ask(), 503, "Not ready")
        self.assertIn(b"the key is not 64 hexadecimal digits", self.gate.gate.log())
        self.assertNotIn(b"not a key", self.gate.gate.log())
        self.keep_keys(original)
        until(lambda: browser.copy().ask().status == 200, "the key file")
        self.is_sent_to_provider(self.gate.browser().ask())

    def test_settings_after_a_restart(self):
        """Settings hold from the next start on, and sessions outlive it."""
        self.gate.module(config={"client_id": None, "client_secret": None})
        browser = self.signed_in("alice")
        text = self.gate.make_conf()
        self.addCleanup(self.gate.start_gate)
        self.addCleanup(self.gate.write, "adit.conf", text)
        self.addCleanup(self.gate.stop_gate)
        self.gate.write("adit.conf", text.replace("client_id = managed", "client_id = another"))
        self.passes(browser.copy().ask())
        self.gate.stop_gate()
        self.gate.start_gate()
        # Another application signs visitors in now.
        self.assertIn("client_id=another", self.is_sent_to_provider(browser.copy().ask()).location)
        self.gate.stop_gate()
        self.gate.write("adit.conf", text)
        self.gate.start_gate()
        self.passes(browser.ask())

    def test_key_file_away(self):
        """Without keys nobody knows who a visitor is, and nobody passes: at once."""
        original = self.keys()
        self.gate.module()
        browser = self.signed_in("alice")
        self.addCleanup(self.keep_keys, original)
        for _ in range(4):  # at both workers
            self.passes(browser.copy().ask())
        self.keep_keys(["2026 " + "1" * 64 + "\n"])
        for _ in range(8):
            self.is_sent_to_provider(browser.copy().ask())
        with Program(self.gate) as gate:
            self.assertEqual(gate.ask(browser)[0], 401)
            self.assertEqual(gate.ask(browser, HTTP_SEC_FETCH_MODE="cors")[0], 401)
        self.keep_keys(original)
        for _ in range(4):
            self.passes(browser.copy().ask())
        os.rename(self.gate.key_file, self.gate.key_file + ".away")
        try:
            for _ in range(8):
                self.shows(browser.copy().ask(), 503, "Not ready")
                self.is_stopped(browser.ask(method="POST"), 503)
        finally:
            os.rename(self.gate.key_file + ".away", self.gate.key_file)
        self.passes(browser.ask())

    def test_what_ends_sessions_of_an_application(self):
        """Whoever changes it, and in whatever way.  New keys and other rules end none."""
        self.gate.module()

        def changes(to):
            self.stack.psql("UPDATE adit.oauth_module SET client_id = '%s' WHERE account_id = '%s'"
                            % (to, self.gate.account.id))
        browser = self.signed_in("alice")
        self.gate.module(config={"email_domains": ["example.com"]})
        original = self.keys()
        self.addCleanup(self.keep_keys, original)
        new = self.add_key()

        def rekey(*lines):
            self.keep_keys(lines)
            self.gate.stack.ctl_run("secrets", "rekey", conf=self.gate.conf, check=True)
        self.addCleanup(rekey, *original, new)
        rekey(new, *original)
        changes(self.gate.mock.client_id)
        self.passes(browser.ask())
        changes("another")
        changes(self.gate.mock.client_id)
        self.is_sent_to_provider(browser.copy().ask())
        browser = self.signed_in("alice")
        self.gate.module(config={"client_id": "another"})
        self.gate.stack.ctl_run(
            "restore", Gate.EDGE + "/" + ROUTES[HOST], "--event",
            self.stack.psql("SELECT max(id) FROM adit.audit_event"),
            "--account", self.gate.account.id, "--client-secret-file",
            self.gate.write("client-secret", self.gate.mock.client_secret + "\n", 0o600),
            "--yes", conf=self.gate.conf, check=True)
        self.is_sent_to_provider(browser.copy().ask())
        # The record of changes names what people choose.
        listed = self.gate.stack.ctl_run(
            "history", Gate.EDGE + "/" + ROUTES[HOST], "--account", self.gate.account.id,
            conf=self.gate.conf, check=True).stdout
        self.assertIn("client_id", listed)
        self.assertNotIn("incarnation", listed)
        self.assertEqual(self.stack.psql(
            "SELECT count(*) FROM adit.audit_event WHERE 'incarnation' = ANY (changed)"
            " OR before ? 'incarnation' OR after ? 'incarnation'"), "0")

    # ---- secrets ----

    def test_names_in_logs(self):
        """Who signs in is named by the provider's id, for the route of this host."""
        self.gate.module()
        self.signed_in("carol")
        entry = [row for row in self.gate.log() if row["event"] == "signed in"][-1]
        self.assertEqual((entry["edge"], entry["route"], entry["subject"], entry["name"]),
                         (self.gate.EDGE, "route-1", "9007199254740993", "carol"))
        self.assertEqual(entry["account"], self.gate.account.id)
        self.assertEqual(entry["address"], "127.0.0.1")

    def test_only_an_address_is_logged_as_one(self):
        """Some web servers are told to take REMOTE_ADDR from a header, which may hold any text."""
        with Program(self.gate) as gate:
            for address in ("2001:db8::1", "a visitor's text", "192.0.2.1, 192.0.2.2", ""):
                gate.ask(ADIT_EDGE="", REMOTE_ADDR=address)
            rows = [json.loads(line) for line in gate.log().decode().splitlines()]
        self.assertEqual([row.get("address") for row in rows if row["event"] == "cannot decide"],
                         ["2001:db8::1", None, None, None])


class DatabaseRestarts(Case):
    stack_name = "gate database restarts"

    def test_visitors_wait(self):
        """PostgreSQL is restarted, as pg_ctl restart -m fast does.  They wait 3 s for it, if the worker
        had an answer within a second before."""
        database = cluster.attach(self.stack)
        gate = Gate(self.stack)
        self.addCleanup(gate.remove)
        # For 30 s, and if it had one within 10 s: a busy machine restarts slowly.
        gate.restart_gate(10)
        gate.module()
        browser, _ = gate.sign_in("alice")
        seen, outages, is_over = [], [], threading.Event()

        def visit(visitor):
            while not is_over.is_set():
                since = time.monotonic()
                seen.append((visitor.ask().status, since, time.monotonic()))

        visitors = [threading.Thread(target=visit, args=(browser.copy(),)) for _ in range(4)]
        for visitor in visitors:
            visitor.start()
        try:
            for _ in range(3):
                wanted = len(seen) + 20
                until(lambda wanted=wanted: len(seen) >= wanted, "visits")
                since = time.monotonic()
                database.stop("fast")
                database.start()
                # A worker that could not connect fails requests until its pause ends.
                outages.append((since, time.monotonic() + 20 * LONGEST_PAUSE_S))
        finally:
            is_over.set()
            for visitor in visitors:
                visitor.join()
        failed = [visit for visit in seen if visit[0] != 200]
        hurt = [[visit for visit in failed if visit[1] < over and since < visit[2]]
                for since, over in outages]
        self.assertEqual([visit for visit in failed if not any(visit in some for some in hurt)], [])
        # A worker may not have been asked before.
        self.assertIn([], hurt)
