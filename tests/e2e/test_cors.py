# SPDX-License-Identifier: MIT
"""Pages of other origins: the setting allowed_origins, through every web server and in a real
browser."""
import http.client
import http.server
import json
import threading

from adit import fronts, samples
from adit.case import Case
from adit.chromium import Browser

CREDENTIALS = "/ssh_credentials"
EXPOSED = "ETag, Idempotent-Replayed, Retry-After, Service-Operation-Id"
PREFLIGHT = {
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-Match, "
                                    "If-None-Match, Service-Version",
    "Access-Control-Max-Age": "600"}
OTHER = "https://other.example"


class Page(http.server.BaseHTTPRequestHandler):
    """An empty page, on any path."""

    def do_GET(self):
        body = b"<!doctype html><title>page</title>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_page():
    """Serves pages until the run ends.  Returns their origin."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "http://127.0.0.1:%d" % server.server_address[1]


class CorsCase(Case):
    stack_name = "settings"  # test_settings changes more of its settings, later
    origins = ()
    allowed = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not CorsCase.origins:
            CorsCase.origins = serve_page(), serve_page()
        cls.listed, cls.unlisted = CorsCase.origins
        cls.allow("%s https://b.example" % cls.listed)

    @classmethod
    def allow(cls, origins):
        """Sets the setting.  All classes share the stack, so it is restarted only for a change."""
        if origins != CorsCase.allowed:
            cls.stack.set_conf("service", "allowed_origins", origins)
            cls.stack.restart()
            CorsCase.allowed = origins


class Headers(CorsCase):
    def check(self, answer, origin):
        """The answer is for the page of that origin; None: for no page."""
        self.assertEqual(answer.all("Access-Control-Allow-Origin"), [origin] if origin else [])
        self.assertEqual(answer.all("Access-Control-Expose-Headers"), [EXPOSED] if origin else [])
        self.assertEqual(answer.all("Vary"), ["Origin"])
        self.assertEqual(answer.all("Access-Control-Allow-Credentials"), [])

    def test_every_answer(self):
        for client, method, target, body, status in (
                (self.admin, "GET", CREDENTIALS, None, 200),
                (self.admin, "HEAD", CREDENTIALS, None, 200),
                (self.admin, "POST", CREDENTIALS, samples.credential(), 201),
                (self.admin, "POST", CREDENTIALS, {}, 400),
                (self.nobody, "GET", CREDENTIALS, None, 401),
                (self.reader, "DELETE", CREDENTIALS + "/x", None, 403),
                (self.admin, "GET", CREDENTIALS + "/x", None, 404),
                (self.nobody, "GET", "/nothing", None, 404),
                (self.admin, "PUT", CREDENTIALS, {}, 405),
                (self.nobody, "GET", "/readyz", None, 200)):
            with self.subTest("%s %s %d" % (method, target, status)):
                for origin in (self.listed, "https://b.example"):
                    answer = client.call(method, target, body, more=[("Origin", origin)])
                    self.assertEqual(answer.status, status)
                    self.check(answer, origin)
                for more in ([], [("Origin", OTHER)], [("Origin", self.listed + ".x")],
                             [("Origin", "null")], [("Origin", "*")],
                             [("Origin", self.listed.upper())]):
                    self.check(client.call(method, target, body, more=more), None)

    def preflight(self, target, origin, method="PATCH"):
        return self.nobody.call("OPTIONS", target, version=None, more=[
            ("Origin", origin), ("Access-Control-Request-Method", method),
            ("Access-Control-Request-Headers", "authorization,content-type,service-version")])

    def test_preflight(self):
        for target in (CREDENTIALS, CREDENTIALS + "/x", "/edges/tls/e/mutual_tls", "/livez"):
            with self.subTest(target):
                answer = self.preflight(target, self.listed)
                self.assertEqual(answer.status, 204)
                self.check(answer, self.listed)
                self.assertEqual(answer.header("Access-Control-Allow-Methods"),
                                 answer.header("Allow"))
                for name, value in PREFLIGHT.items():
                    self.assertEqual(answer.all(name), [value])
                self.assert_no_preflight(self.preflight(target, OTHER), 204)
        self.assert_no_preflight(self.preflight("/nothing", self.listed), 404)

    def assert_no_preflight(self, answer, status):
        self.assertEqual(answer.status, status)
        for name in (*PREFLIGHT, "Access-Control-Allow-Methods"):
            self.assertEqual(answer.all(name), [])

    def test_through_every_web_server(self):
        """The origin reaches the program, and the headers reach the page."""
        servers = fronts.start_all(self.stack)
        try:
            for front in (front for server in servers for front in server.fronts):
                with self.subTest(front.name):
                    self.check_front(front)
        finally:
            for server in servers:
                server.stop()

    def check_front(self, front):
        for headers, origin in (({"Origin": self.listed}, self.listed), ({"Origin": OTHER}, None)):
            for method, path in (("OPTIONS", CREDENTIALS), ("GET", CREDENTIALS)):
                connection = http.client.HTTPConnection("127.0.0.1", front.port, timeout=60)
                connection.request(method, front.prefix + path, headers={
                    **headers, "Access-Control-Request-Method": "POST"})
                answer = connection.getresponse()
                connection.close()
                self.assertEqual(answer.status, 204 if method == "OPTIONS" else 401)
                self.assertEqual(answer.headers["Access-Control-Allow-Origin"], origin)
                self.assertEqual(answer.headers["Vary"], "Origin")
                self.assertEqual(answer.headers["Access-Control-Max-Age"],
                                 "600" if origin and method == "OPTIONS" else None)


class OtherSettings(CorsCase):
    """Comes last, because each test restarts the service."""

    def test_a_star(self):
        self.allow("*")
        answer = self.admin.get(CREDENTIALS, more=[("Origin", OTHER)])
        self.assertEqual(answer.all("Access-Control-Allow-Origin"), ["*"])
        self.assertEqual(answer.all("Access-Control-Allow-Credentials"), [])

    def test_nothing_without_the_setting(self):
        self.allow("")
        answer = self.admin.get(CREDENTIALS, more=[("Origin", self.listed)])
        self.assertEqual([name for name, _ in answer.headers
                          if name.lower() == "vary" or name.lower().startswith("access-")], [])


SCRIPT = """
(async () => {
    const seen = [];
    const ask = async (method, path, body, headers) => {
        try {
            const answer = await fetch(%(url)s + path, {
                method, body, %(options)s
                headers: {"Authorization": "Bearer " + %(key)s, "Service-Version": "2",
                          ...(body ? {"Content-Type": "application/json"} : {}), ...headers}});
            const text = await answer.text();
            const found = {status: answer.status, body: text ? JSON.parse(text) : null};
            for (const name of ["ETag", "Service-Operation-Id", "Idempotent-Replayed",
                                "WWW-Authenticate"])
                found[name] = answer.headers.get(name);
            seen.push(found);
            return found;
        } catch (error) {
            seen.push({refused: error.name});
            return {body: {}};
        }
    };
    const once = {"Idempotency-Key": "from a page " + %(nonce)s};
    const made = await ask("POST", "/ssh_credentials", %(credential)s, once);
    await ask("POST", "/ssh_credentials", %(credential)s, once);
    const path = "/ssh_credentials/" + made.body.id;
    const read = await ask("GET", path);
    await ask("PATCH", path, '{"metadata": "by a page"}', {"If-Match": read.ETag || "x"});
    await ask("PATCH", path, '{"metadata": "again"}', {"If-Match": read.ETag || "x"});
    await ask("GET", "/ssh_credentials?limit=0");
    await ask("GET", "/ssh_credentials", null, {"Authorization": "Bearer x"});
    await ask("DELETE", path);
    await ask("GET", path);
    return JSON.stringify(seen);
})()
"""


class InABrowser(CorsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def run_page(self, origin, options=""):
        """What a page of that origin sees of nine requests."""
        self.browser.open(origin + "/", 800, 600)
        self.browser.until("location.origin === %s && document.title === 'page'"
                           % json.dumps(origin), "the page")
        script = SCRIPT % {
            "url": json.dumps("http://127.0.0.1:%d" % self.stack.port),
            "key": json.dumps(self.home.admin.key), "options": options,
            "nonce": json.dumps(origin), "credential": json.dumps(json.dumps(samples.credential()))}
        return json.loads(self.browser.evaluate(script))

    def test_a_page_that_is_listed(self):
        seen = self.run_page(self.listed)
        self.assertEqual([found.get("status") for found in seen],
                         [201, 201, 200, 200, 412, 400, 401, 204, 404], seen)
        made, again, read, changed, stale = seen[:5]
        self.assertEqual((made["Idempotent-Replayed"], again["Idempotent-Replayed"]),
                         (None, "true"))
        self.assertRegex(read["ETag"], '^"[0-9]+"$')
        self.assertNotEqual(read["ETag"], changed["ETag"])
        self.assertEqual(stale["body"]["error_code"], "ERR_SERVICE_9038")
        for found in seen:
            self.assertRegex(found["Service-Operation-Id"], "^op_")
            self.assertIsNone(found["WWW-Authenticate"])  # not exposed

    def test_a_page_that_is_not(self):
        before = self.admin.get(CREDENTIALS).json
        self.assertEqual(self.run_page(self.unlisted), [{"refused": "TypeError"}] * 9)
        self.assertEqual(self.admin.get(CREDENTIALS).json, before)

    def test_credentials_are_refused(self):
        self.assertEqual(self.run_page(self.listed, 'credentials: "include",'),
                         [{"refused": "TypeError"}] * 9)
