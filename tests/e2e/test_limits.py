# SPDX-License-Identifier: MIT
"""The limits for one client that aditctl prints for nginx, in the shipped files as they are."""
import http.client
import io
import json
import re
import socket

from adit import fronts, samples
from adit.case import until
from adit.front_case import FrontCase

# An unknown path needs no database, so that the answers come fast.
NOWHERE = "/nothing"
# nginx ends a connection after 1,000 requests.
AT_ONCE = 900
STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")


class LowLimit(fronts.Nginx):
    """A busy machine answers too few requests to meet the limit of an address."""

    def configuration(self, kind, prefix=None):
        text = super().configuration(kind, prefix)
        if kind == "nginx-upstream":
            for shipped, low in (("rate=400r/s", "rate=1r/s"), ("burst=2000", "burst=200")):
                assert shipped in text, text
                text = text.replace(shipped, low)
        return text


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

    def exchange(self, front, path, n, key=None):
        """Sends n requests on one connection, before it reads an answer.  Returns what came."""
        line = "GET %s%s HTTP/1.1\r\nHost: localhost\r\n" % (front.prefix, path)
        if key:
            line += "Authorization: Bearer %s\r\nService-Version: 2\r\n" % key
        data = (line + "\r\n") * (n - 1) + line + "Connection: close\r\n\r\n"
        received = b""
        with socket.create_connection(("127.0.0.1", front.port), timeout=60) as sock:
            sock.sendall(data.encode())
            while part := sock.recv(1 << 20):
                received += part
        return received

    def send(self, front, path, n, key=None):
        """The same.  Returns the statuses."""
        found = STATUS.findall(self.exchange(front, path, n, key))
        self.assertEqual(len(found), n)
        return [int(status) for status in found]

    def use_up(self, front, path, key=None):
        """Sends until a request is refused.  Returns its answer, as check_error() takes it."""
        received = until(lambda: next((
            received for received in [self.exchange(front, path, AT_ONCE, key)]
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

    def test_03_a_site_sets_its_own(self):
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

    def test_04_none(self):
        """--no-limits prints the upstream alone."""
        text = self.stack.ctl("web-server", "nginx-upstream", "--no-limits")
        self.assertIn(" --no-limits'", text.splitlines()[0])
        self.assertNotIn("limit_", text)
        self.assertTrue(self.stack.ctl("web-server", "nginx-upstream").split("\n", 1)[1].startswith(
            text.split("\n", 1)[1].rstrip("\n")))
