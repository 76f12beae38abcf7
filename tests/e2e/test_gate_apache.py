# SPDX-License-Identifier: MIT
"""A route with an OAuth module behind Apache: who passes, and what the application sees."""
from adit import gate_attacks, gate_cases, gate_faults, gate_providers


class Apache(gate_cases.Passing, gate_attacks.Attacks, gate_faults.Lasting, gate_faults.Away,
             gate_providers.Providers, gate_cases.GateCase):
    front = "apache"


class AmongOthers(gate_cases.LargeHeaders, gate_cases.Malformed, gate_cases.GateCase):
    """What the server's configuration may say for all sites."""

    front = "apache"
    settings = """
        LoadModule cache_module MODULES/mod_cache.so
        LoadModule cache_socache_module MODULES/mod_cache_socache.so
        LoadModule socache_shmcb_module MODULES/mod_socache_shmcb.so
        CacheSocache shmcb
        CacheEnable socache /
        CacheIgnoreNoLastMod On
        LoadModule access_compat_module MODULES/mod_access_compat.so
        <Location "/">
            Order allow,deny
            Allow from 127.0.0.0/8
            Satisfy any
        </Location>
        LimitRequestFieldSize 16000
        """ + "\n".join("ErrorDocument %d /error" % status for status in (
            400, 401, 403, 404, 405, 408, 413, 414, 417, 421, 431, 500, 501, 503, 505))

    def test_no_page_of_the_application_for_refusals(self):
        """Apache would ask for it with GET, without a question to the gate."""
        self.gate.module(config={"teams": ["acme/deploy"]})
        nobody, other, listed = self.gate.browser(), self.signed_in("carol"), self.signed_in("alice")
        before = self.gate.application.n_requests
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            self.is_stopped(nobody.ask("/page", method), 401)
        self.is_stopped(nobody.ask(headers={"Sec-Fetch-Mode": "cors"}), 401)
        for path in ("/a%2fb", "/%00", "/%zz"):
            self.is_stopped(nobody.ask(path, headers={"Sec-Fetch-Mode": "cors"}), 400, 401, 404)
        for method in ("GET", "HEAD", "POST"):
            self.is_stopped(other.ask("/page", method), 403)
        self.gate.stop_gate()
        try:
            for visitor in nobody, other, listed:
                for method in ("GET", "HEAD", "POST"):
                    self.is_stopped(visitor.ask("/page", method), 500)
        finally:
            self.gate.start_gate()
        self.assertEqual(self.gate.application.n_requests, before)
        self.passes(listed.ask())

    def test_no_cache_answers(self):
        """mod_cache would answer before the gate is asked, and with the session of another."""
        self.gate.module(inactivity_timeout=60)
        self.gate.clock.set(gate_cases.START)
        browser = self.signed_in("alice")
        self.gate.clock.set(gate_cases.START + 1)
        for path in ("/", "/page"):
            self.assertEqual(self.passes(browser.ask(path)).seen["path"], path)
            self.is_sent_to_provider(self.gate.browser().ask(path))
            answer = self.passes(self.gate.sign_in("bob", path)[1])
            self.assertEqual(answer.seen_header("X-Adit-User"), [self.gate.provider + ":583232"])
