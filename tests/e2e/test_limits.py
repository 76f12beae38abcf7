# SPDX-License-Identifier: MIT
"""The limits for one client that aditctl prints for nginx, in the shipped files as they are."""
import http.client
import io
import json
import re
import socket

from adit import fronts, samples, slow
from adit.case import until
from adit.front_case import FrontCase

# An unknown path needs no database, so that the answers come fast.
NOWHERE = "/nothing"
# nginx ends a connection after 1,000 requests.
AT_ONCE = 900
STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")


class LowLimit(fronts.Nginx):
    """A busy machine answers too few requests to meet the limit of an address, or of writes."""
    LOW = (("rate=400r/s", "rate=1r/s"), ("burst=2000", "burst=200"))

    def configuration(self, kind, prefix=None):
        text = super().configuration(kind, prefix)
        if kind == "nginx-upstream":
            for shipped, low in self.LOW:
                assert shipped in text, text
                text = text.replace(shipped, low)
        return text


class FewWrites(LowLimit):
    LOW = (("zone=adit_writes_of_key:10m rate=20r/s", "zone=adit_writes_of_key:10m rate=1r/m"),
           ("zone=adit_writes_of_key burst=2000", "zone=adit_writes_of_key burst=20"))


class FewWithoutKey(LowLimit):
    LOW = (("zone=adit_requests_without_key:10m rate=100r/s",
            "zone=adit_requests_without_key:10m rate=1r/m"),
           ("zone=adit_requests_without_key burst=500", "zone=adit_requests_without_key burst=20"))


class Limits(FrontCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = fronts.Nginx(cls.stack)
        cls.addClassCleanup(cls.server.stop)
        cls.server.has_limits = True
        for prefix in ("", fronts.PREFIX):
            cls.server.add("nginx", prefix)
        # A site beside Adit, with a file of its own.
        cls.server.behind = "location ^~ /other/ { root /nonexistent; }"
        cls.server.start()

    def exchange(self, front, path, n, key=None, method="GET"):
        """Sends n requests on one connection, before it reads an answer.  Returns what came."""
        line = "%s %s%s HTTP/1.1\r\nHost: localhost\r\n" % (method, front.prefix, path)
        if method not in ("GET", "HEAD"):
            line += "Content-Length: 0\r\n"
        if key:
            line += "Authorization: Bearer %s\r\nService-Version: 2\r\n" % key
        data = (line + "\r\n") * (n - 1) + line + "Connection: close\r\n\r\n"
        received = b""
        with socket.create_connection(("127.0.0.1", front.port), timeout=60) as sock:
            sock.sendall(data.encode())
            while part := sock.recv(1 << 20):
                received += part
        return received

    def send(self, front, path, n, key=None, method="GET"):
        """The same.  Returns the statuses."""
        found = STATUS.findall(self.exchange(front, path, n, key, method))
        self.assertEqual(len(found), n)
        return [int(status) for status in found]

    def use_up(self, front, path, key=None, method="GET"):
        """Sends until a request is refused.  Returns its answer, as check_error() takes it."""
        received = until(lambda: next((
            received for received in [self.exchange(front, path, AT_ONCE, key, method)]
            if b"HTTP/1.1 429 " in received), None), "429 at " + path, 300)
        answer = received[received.index(b"HTTP/1.1 429 "):]
        status, _, answer = answer.partition(b"\r\n")
        headers = http.client.parse_headers(io.BytesIO(answer))
        body = answer.partition(b"\r\n\r\n")[2][:int(headers["Content-Length"])]
        return int(status.split()[1]), headers, body

    def test_01_a_key(self):
        """A key has its limit.  Another key of the same address does not meet it."""
        front, below = self.server.fronts
        key, other = (self.home.admin.issue() for _ in range(2))
        self.assertEqual(set(self.send(front, NOWHERE, 400, key)), {404})
        refused = self.use_up(front, NOWHERE, key)
        self.check_error(refused, 429, 9053)
        self.assertEqual(refused[1].get_all("Retry-After"), ["1"])
        self.assertEqual(json.loads(refused[2])["details"], {})
        self.assertEqual(self.ask(front, "/ssh_credentials", key=other)[0], 200)
        # It is the same limit below a path.  Health, files and other sites are not limited.
        self.use_up(below, NOWHERE, key)
        for path in ("/livez", "/readyz", "/docs/", "/console/"):
            with self.subTest(path):
                self.assertNotIn(429, self.send(below, path, 50, key))
        beside = fronts.Front("nginx", "", below.port)
        self.assertEqual(set(self.send(beside, "/other/x", AT_ONCE, key)), {404})

    def test_02_an_address(self):
        """Who has no key, or makes up a key for each request, meets the limit of the address."""
        server = LowLimit(self.stack)
        self.addCleanup(server.stop)
        server.has_limits = True
        front = server.add("nginx", "")
        server.start()
        self.check_error(self.use_up(front, NOWHERE), 429, 9053)
        for path in (NOWHERE, "/ssh_credentials/livez"):
            with self.subTest(path):  # the second ends as one that has no limit
                self.assertIn(429, self.send(front, path, 50, samples.well_formed_key()))
        for path in ("/livez", "/readyz", "/metrics"):
            with self.subTest(path):
                self.assertEqual(set(self.send(front, path, 50)), {200})

    def test_03_writes(self):
        """A key's writes have a limit of their own.  Reads and questions do not count."""
        server = FewWrites(self.stack)
        self.addCleanup(server.stop)
        server.has_limits = True
        front = server.add("nginx", "")
        server.start()
        key, other = (self.home.admin.issue() for _ in range(2))
        self.assertEqual(self.send(front, NOWHERE, 10, key, "PATCH"), [404] * 10)
        self.assertEqual([self.send(front, NOWHERE, 1, key, method) for method in
                          ("POST", "PUT", "DELETE")], [[404]] * 3)
        self.check_error(self.use_up(front, NOWHERE, key, "PATCH"), 429, 9053)
        for method in "POST", "PUT", "DELETE":
            with self.subTest(method):
                self.assertEqual(self.send(front, NOWHERE, 1, key, method), [429])
        self.assertEqual(set(self.send(front, NOWHERE, 50, key)), {404})
        # Without a body, both are 4xx.
        for path in "/ssh_decisions", "/oauth_admissions":
            with self.subTest(path):
                self.assertNotIn(429, self.send(front, path, 50, key, "POST"))
        self.assertEqual(self.send(front, NOWHERE, 5, other, "DELETE"), [404] * 5)

    def test_04_a_site_sets_its_own(self):
        """A limit in the site takes the place of those that are printed."""
        server = fronts.Nginx(self.stack)
        self.addCleanup(server.stop)
        server.has_limits = True
        server.more += "\nlimit_req_zone $adit_limit_address zone=own:1m rate=1r/m;"
        server.site = ("limit_req zone=own burst=2 nodelay; set_real_ip_from 127.0.0.1; "
                       "real_ip_header X-Client;")
        front = server.add("nginx", "")
        server.start()
        self.assertEqual(self.send(front, NOWHERE, 5), [404] * 3 + [429] * 2)
        self.assertEqual(set(self.send(front, "/readyz", 5)), {200})
        # Whoever has an IPv6 address has all of its /64.
        for address, wanted in (("2001:db8::1", 404), ("2001:db8::2", 404), ("2001:db8::1", 404),
                                ("2001:db8::ffff:ffff:ffff:ffff", 429), ("2001:db8::3", 429),
                                ("2001:db8:0:1::1", 404), ("192.0.2.1", 404),
                                ("2001:db8:0:a0a::a", 404)):
            with self.subTest(address):
                self.assertEqual(self.ask(front, NOWHERE, X_Client=address)[0], wanted)

    def test_05_none(self):
        """--no-limits prints the upstream alone."""
        text = self.stack.ctl("web-server", "nginx-upstream", "--no-limits")
        self.assertIn(" --no-limits'", text.splitlines()[0])
        self.assertNotIn("limit_", text)
        self.assertTrue(self.stack.ctl("web-server", "nginx-upstream").split("\n", 1)[1].startswith(
            text.split("\n", 1)[1].rstrip("\n")))

    def test_06_without_a_key(self):
        """Requests without a key leave those with a key of the same address their limit."""
        server = FewWithoutKey(self.stack)
        self.addCleanup(server.stop)
        server.has_limits = True
        front = server.add("nginx", "")
        server.start()
        key = self.home.admin.issue()
        self.check_error(self.use_up(front, NOWHERE), 429, 9053)
        self.assertEqual(set(self.send(front, NOWHERE, 100, key)), {404})
        self.assertEqual(set(self.send(front, NOWHERE, 5, key + "x")), {429})
        self.assertEqual(set(self.send(front, "/readyz", 5)), {200})

    def test_07_slow_clients(self):
        """An address that sends slowly, on more connections than nginx has, leaves others room."""
        server = fronts.Nginx(self.stack)
        self.addCleanup(server.stop)
        server.has_limits = True
        front = server.add("nginx", "")
        server.start()
        for name, begin in (("headers", slow.HEADER + b"X-Slow: "), ("bodies", slow.BODY),
                            ("health", slow.BODY.replace(b"/ssh_credentials", b"/livez"))):
            with self.subTest(name), slow.Crowd(front.port, 2000, begin):
                until(lambda: self.are_answered(front), "answers", 30)

    def are_answered(self, front):
        """Whether clients of another address are served, each on a connection of its own."""
        try:
            return all(self.ask(front, "/readyz")[0] == 200 for _ in range(20))
        except (OSError, http.client.HTTPException):
            return False

    def test_08_the_log(self):
        """Refused requests leave no line in the log of errors, which would fill the disk."""
        server = fronts.Nginx(self.stack)
        self.addCleanup(server.stop)
        server.has_limits = True
        front = server.add("nginx", "")
        server.start()
        self.use_up(front, NOWHERE, self.home.admin.issue())
        with open(server.folder + "/log", encoding="utf-8") as file:
            self.assertEqual(file.read().count("limiting"), 0)
