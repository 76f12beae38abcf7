# SPDX-License-Identifier: MIT
"""Directives that an operator has for other sites, in the whole web server or around Adit's
configuration.  They change none of Adit's answers."""
import contextlib
import json
import os
import socket

from adit import fronts, metrics, samples
from adit.front_case import FrontCase

APACHE = next(kinds for kinds in fronts.GROUPS if fronts.KINDS[kinds[0]] is fronts.Apache)
CREDENTIALS = "/ssh_credentials"


class Surrounded(FrontCase):
    def start(self, kinds, more="", site="", behind=""):
        """Starts a server whose configuration has these lines, and the site's before and behind
        Adit's."""
        server = fronts.KINDS[kinds[0]](self.stack)
        self.addCleanup(server.stop)
        server.console = os.path.join(self.stack.state, "console")
        cache = os.path.join(server.folder, "cache")
        os.mkdir(cache)
        os.chmod(cache, 0o777)
        server.more += "\n" + more.replace("CACHE", cache)
        server.site, server.behind = site, behind
        for kind in kinds:
            server.add(kind, "")
            server.add(kind, fronts.PREFIX)
        server.start()
        return server


class Nginx(Surrounded):
    CACHE = """
        fastcgi_cache_path CACHE keys_zone=all:1m;
        fastcgi_cache all;
        fastcgi_cache_key $request_method$request_uri;
        fastcgi_cache_valid any 1m;
        fastcgi_ignore_headers Cache-Control Expires Set-Cookie Vary;"""

    def test_a_cache_keeps_no_answer(self):
        """nginx asks the program each time, so nobody sees what another account has."""
        front = self.start(("nginx",), self.CACHE).fronts[0]
        mine, others = (self.stack.account(name) for name in ("cached", "not cached"))
        made, _, body = self.ask(front, CREDENTIALS, "POST", json.dumps(
            {"public_key": samples.ED25519}), mine.admin.key, Content_Type="application/json")
        self.assertEqual(made, 201, body)
        self.assertIn(b"sshcr_", self.ask(front, CREDENTIALS, key=mine.admin.key)[2])
        status, _, body = self.ask(front, CREDENTIALS, key=others.admin.key)
        self.assertEqual((status, json.loads(body)["ssh_credentials"]), (200, []))
        self.check_error(self.ask(front, CREDENTIALS), 401, 200)

    def test_answers_are_not_dated(self):
        front = self.start(("nginx",), "expires 1h;").fronts[0]
        for path, wanted in ((CREDENTIALS, "no-store"), ("/livez", "no-store"),
                             ("/console", "no-cache")):
            with self.subTest(path):
                status, headers, _ = self.ask(front, path, key=self.home.admin.key)
                self.assertEqual((status, headers.get_all("Cache-Control"), headers["Expires"]),
                                 (200, [wanted], None))

    def test_texts_of_callers_are_not_obeyed(self):
        """A description may look like a directive of server-side includes."""
        front = self.start(("nginx",), "ssi on; ssi_types application/json;").fronts[0]
        text = "<!--#echo var='http_host' -->"
        status, _, body = self.ask(front, CREDENTIALS, "POST", json.dumps(
            {"public_key": samples.ED25519, "description": text}), self.home.admin.key,
            Content_Type="application/json")
        self.assertEqual((status, json.loads(body)["description"]), (201, text))

    SORRY = ("error_page 400 403 404 405 413 414 429 494 500 502 503 504 =200 /sorry; "
             "location = /sorry { return 200 sorry; } ")

    def test_failures_stay_failures(self):
        """The site has an error page of its own, which says 200."""
        server = self.start(("nginx",), site=self.SORRY)
        large = b"x" * 2_000_000
        for front in server.fronts:
            for path, method, body, status, number in (
                    ("/livez", "POST", large, 413, 9006), ("/console", "POST", large, 413, 9006),
                    ("/console/console.js", "POST", large, 413, 9006),
                    ("/console", "POST", b"{}", 405, 9001), ("/console/x", "GET", None, 404, 9000)):
                with self.subTest("%s: %s %s" % (front.name, method, path)):
                    self.check_error(self.ask(front, path, method, body), status, number)

    def test_a_lost_responder_is_no_success(self):
        server = fronts.KINDS["nginx"](self.stack)
        self.addCleanup(server.stop)
        server.faults, server.site = (502,), self.SORRY
        server.socket = os.path.join(server.folder, "nobody.sock")
        for prefix in ("", fronts.PREFIX):
            server.add("nginx", prefix)
        server.start()
        for front in server.fronts:
            for method in ("GET", "POST", "PUT", "DELETE"):
                with self.subTest("%s: %s" % (front.name, method)):
                    self.check_error(self.ask(front, CREDENTIALS, method), 502, 9055)

    def test_slow_clients_reach_no_responder(self):
        """A request whose body is not whole occupies no connection to the responder."""
        front = self.start(("nginx",), "fastcgi_request_buffering off; fastcgi_buffering off;"
                           ).fronts[0]
        before = metrics.scrape(self.nobody).sum("adit_connections")
        with contextlib.ExitStack() as stack:
            for _ in range(40):
                sock = stack.enter_context(socket.create_connection(("127.0.0.1", front.port)))
                sock.sendall(b"POST /ssh_credentials HTTP/1.1\r\nHost: x\r\n"
                             b"Content-Length: 9\r\n\r\n{")
            for _ in range(40):
                self.assertEqual(self.ask(front, "/livez")[0], 200)
            after = metrics.scrape(self.nobody).sum("adit_connections")
        self.assertLess(after - before, 40)

    def test_limits_of_all_sites(self):
        """Files beside the interface are limited as it is."""
        front = self.start(("nginx",), "limit_req_zone $uri zone=one:1m rate=1r/m;",
                           "limit_req zone=one; " + self.SORRY).fronts[0]
        for path in (CREDENTIALS, "/console/console.js"):
            with self.subTest(path):
                self.ask(front, path)
                answer = self.ask(front, path)
                self.check_error(answer, 429, 9053)
                self.assertEqual(answer[1].get_all("Retry-After"), ["1"])


class Apache(Surrounded):
    MODULES = "\n".join("LoadModule %s_module %s/mod_%s.so" % (name, fronts.MODULES, name)
                        for name in ("cache", "cache_disk", "access_compat", "remoteip")) + "\n"
    CACHE = """
        CacheEnable disk /
        CacheRoot CACHE
        CacheStoreNoStore On
        CacheIgnoreNoLastMod On
        Header set Cache-Control "public, max-age=600"
        """

    def test_a_cache_keeps_no_answer(self):
        server = self.start(APACHE, self.MODULES + self.CACHE)
        for front in server.fronts:
            for path in ("/livez", "/readyz", CREDENTIALS):
                with self.subTest("%s: %s" % (front.name, path)):
                    ids = {self.ask(front, path)[1]["Service-Operation-Id"] for _ in range(3)}
                    self.assertEqual(len(ids), 3)

    def test_metrics_stay_here(self):
        """Nothing that the site has around Adit shows the metrics to other machines."""
        more = self.MODULES + "RemoteIPHeader X-Address\nRemoteIPInternalProxy 127.0.0.1\n"
        open_to_all = "<Location />\nRequire all granted\nSatisfy any\n</Location>"
        for name, of_all, site, behind in (("Satisfy", "", open_to_all, ""),
                                           ("Satisfy behind it", "", "", open_to_all),
                                           ("a cache", self.CACHE, "", "")):
            for front in self.start(APACHE, more + of_all, site, behind).fronts:
                with self.subTest("%s: %s" % (front.name, name)):
                    self.ask(front, "/metrics")
                    self.check_error(self.ask(front, "/metrics", X_Address="192.0.2.7"), 403, 9082)

    SORRY = "".join("ErrorDocument %d /sorry\n" % status for status in (
        400, 401, 403, 404, 405, 412, 413, 414, 417, 429, 431, 500, 501, 502, 503, 504))

    def test_errors_stay_json(self):
        """The site has error pages of its own, and leaves out the character set of Apache's."""
        site = self.SORRY + "SetEnvIf Request_URI ^ suppress-error-charset"
        for front in self.start(APACHE, site=site).fronts:
            large = b"x" * 100_000
            for path, method, body, status, number in (
                    (CREDENTIALS, "GET", None, 401, 200), ("/nothing", "GET", None, 404, 9000),
                    (CREDENTIALS, "POST", large, 413, 9006), ("/console", "POST", b"{}", 405, 9001),
                    ("/console/none.js", "GET", None, 404, 9000),
                    ("/" + "x" * 9000, "GET", None, 414, 9052)):
                with self.subTest("%s: %s %s" % (front.name, method, path[:40])):
                    self.check_error(self.ask(front, path, method, body), status, number)
