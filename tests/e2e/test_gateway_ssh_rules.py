# SPDX-License-Identifier: MIT
"""What a stock sshd opens for each form of ACL rule.

A request that is allowed opens a listener at exactly its address.  Any other request opens none."""
import concurrent.futures
import queue

from adit.case import until
from adit.ssh_gateway import GatewayCase, Master

NEEDS_ROOT = True

LOCALHOST = ["127.0.0.1:9100", "[::1]:9100"]
ANY = ["0.0.0.0:9100", "[::]:9100"]

# Where each request of "ssh -R" listens if the rules permit it.  None: sshd never opens it, because
# the port is below 1024, or because the request is no TCP forward.
REQUESTS = {
    "localhost:9100": LOCALHOST,
    "LocalHost:9100": LOCALHOST,
    "9100": LOCALHOST,
    "localhost:9101": ["127.0.0.1:9101", "[::1]:9101"],
    "127.0.0.1:9100": ["127.0.0.1:9100"],
    "127.1:9100": ["127.0.0.1:9100"],
    "2130706433:9100": ["127.0.0.1:9100"],
    "0x7f000001:9100": ["127.0.0.1:9100"],
    "127.0.0.1:9101": ["127.0.0.1:9101"],
    "[::1]:9100": ["[::1]:9100"],
    "[0:0:0:0:0:0:0:1]:9100": ["[::1]:9100"],
    "[::0001]:9100": ["[::1]:9100"],
    "[::0.0.0.1]:9100": ["[::1]:9100"],
    "[::1%1]:9100": ["[::1]:9100"],
    "[::0.0.0.1]:8080": ["[::1]:8080"],
    "a.example.com:8080": ["127.0.0.11:8080"],
    "A.EXAMPLE.com:8080": ["127.0.0.11:8080"],
    "a.example.com:8443": ["127.0.0.11:8443"],
    "a.example.com:8081": ["127.0.0.11:8081"],
    "a.example.com:9100": ["127.0.0.11:9100"],
    "127.0.0.11:8080": ["127.0.0.11:8080"],
    "b.a.example.com:8080": ["127.0.0.12:8080"],
    "example.com:8080": ["127.0.0.13:8080"],
    "a.example.net:8080": ["127.0.0.14:8080"],
    "xexample.com:8080": ["127.0.0.15:8080"],
    "both.example.com:8080": ["127.0.0.16:8080", "[::1]:8080"],
    ":9100": ANY,
    "*:9100": ANY,
    "0.0.0.0:9100": ["0.0.0.0:9100"],
    "[::]:9100": ["[::]:9100"],
    "*.example.com:8080": None,
    "localhost:80": None,
    "80": None,
    "a.example.com:443": None,
    "/run/forward": None,
}
EVERYTHING = [request for request, opened in REQUESTS.items() if opened]
NAMED_LOCALHOST = ["localhost:9100", "LocalHost:9100", "9100"]
NAMED_A = ["a.example.com:8080", "A.EXAMPLE.com:8080", "a.example.com:8443"]
BELOW_EXAMPLE = [*NAMED_A, "b.a.example.com:8080", "both.example.com:8080"]

# The rules of a credential, and the requests that they permit.
RULES = [
    ([], EVERYTHING),
    (["bind:localhost:9100"], NAMED_LOCALHOST),
    (["bind:LOCALHOST:9100"], NAMED_LOCALHOST),
    (["bind:localhost:80"], []),
    (["bind:localhost"], []),
    (["bind:127.0.0.1:9100"], ["127.0.0.1:9100"]),
    (["bind:127.0.0.1"], []),
    (["bind:127.0.0.11"], ["127.0.0.11:8080"]),
    (["bind:*.0.1"], []),
    (["bind:*.0.0.11"], []),
    (["bind:[::1]:9100"], ["[::1]:9100"]),
    (["bind:[0:0:0:0:0:0:0:1]:9100"], ["[::1]:9100", "[0:0:0:0:0:0:0:1]:9100"]),
    (["bind:[::0001]:9100"], ["[::1]:9100", "[::0001]:9100"]),
    (["bind:[::2]:9100"], []),
    (["bind:0.0.0.0:9100"], ["0.0.0.0:9100"]),
    (["bind:[::]:9100"], ["[::]:9100"]),
    (["bind:a.example.com"], NAMED_A),
    (["bind:A.Example.Com"], NAMED_A),
    (["bind:a.example.com:9100"], ["a.example.com:9100"]),
    (["bind:*.example.com"], BELOW_EXAMPLE),
    (["bind:*.EXAMPLE.COM"], BELOW_EXAMPLE),
    (["bind:*.a.example.com"], ["b.a.example.com:8080"]),
    (["bind:example.com"], ["example.com:8080"]),
    (["bind:k=v"], []),
    (["bind:*=*"], []),
    (["bind:a.example.com", "bind:k=v", "bind:[::1]:9100", "bind:a.example.com"],
     [*NAMED_A, "[::1]:9100"]),
]


class RulesCase(GatewayCase):
    def check_all(self, rows, gateways=()):
        """Checks each row of name, rules, requests and user.  The gateways share the rows."""
        free = queue.SimpleQueue()
        for gateway in gateways or [self.gateway]:
            free.put(gateway)

        def check(rules, requests, user="tunnel"):
            gateway = free.get()
            try:
                self.check(gateway, rules, requests, user)
            finally:
                gateway.close_tunnels()
                free.put(gateway)
        with concurrent.futures.ThreadPoolExecutor(free.qsize()) as pool:
            calls = [(name, pool.submit(check, *row)) for name, *row in rows]
            for name, call in calls:
                with self.subTest(name):
                    call.result()

    def check(self, gateway, rules, permitted, user):
        key = self.new_key(*rules)
        forwards = [request + ":localhost:1" for request in REQUESTS if request not in permitted]
        client = gateway.tunnel(key, *forwards, user=user)
        self.assertTrue(client.is_in(), client.log())
        self.assertEqual(client.refused(), forwards)
        self.assertEqual(gateway.listeners(), [])
        client.close()
        client = Master(gateway, key, user=user)
        self.assertTrue(client.is_in(), client.log())
        for request in permitted:
            forward = request + ":localhost:1"
            self.assertEqual((request, client.forward(forward)), (request, True))
            self.assertEqual((request, gateway.listeners()), (request, sorted(REQUESTS[request])))
            client.cancel(forward)
            until(lambda: not gateway.listeners(), "the end of the listener")


class Rules(RulesCase):
    def test_every_rule_against_every_request(self):
        gateways = [self.gateway]
        for _ in range(2):
            gateways.append(self.new_gateway())
            self.addCleanup(gateways[-1].remove)
        self.check_all([(" ".join(rules) or "none", rules, permitted)
                        for rules, permitted in RULES], gateways)

    def test_rules_that_permit_everything(self):
        """They work like an empty list, which permits each of these requests."""
        requests = ["localhost:9100", "[::1]:9100", "a.example.net:8080", ":9100"]
        for rules in ["*"], ["bind:*"], ["bind:k=v", "bind:localhost:9100", "*"]:
            with self.subTest(rules):
                client = Master(self.gateway, self.new_key(*rules))
                self.assertTrue(client.is_in(), client.log())
                for request in requests:
                    self.assertTrue(client.forward(request + ":localhost:1"), request)
                    self.assertEqual(self.gateway.listeners(), sorted(REQUESTS[request]))
                    client.cancel(request + ":localhost:1")
                    until(lambda: not self.gateway.listeners(), "the end of the listener")
                client.close()

    def test_sshd_bounds_what_the_rules_permit(self):
        """With PermitListen *.example.com:8080 *.example.com:8443, both must permit."""
        self.check_all([(" ".join(rules) or "none", rules, requests, "bounded")
                        for rules, requests in (
            ([], BELOW_EXAMPLE), (["bind:*"], BELOW_EXAMPLE), (["bind:a.example.com"], NAMED_A),
            (["bind:localhost:9100"], []), (["bind:a.example.com:9100"], []))])

    def test_port_0(self):
        """sshd chooses a port only for those who may use any."""
        for rules, n in ([], 2), (["bind:localhost:9100"], 0), (["bind:localhost"], 0), (
                ["bind:k=v"], 0):
            with self.subTest(rules):
                client = Master(self.gateway, self.new_key(*rules))
                self.assertTrue(client.is_in(), client.log())
                self.assertEqual(client.forward("localhost:0:localhost:1"), n > 0)
                listeners = self.gateway.listeners()
                self.assertEqual([at.rpartition(":")[0] for at in listeners],
                                 ["127.0.0.1", "[::1]"][:n])
                client.close()
                until(lambda: not self.gateway.listeners(), "the end of the listeners")

    def test_dynamic_forward(self):
        """A SOCKS forward (ssh -R PORT) obeys the rules too."""
        for rule, listeners in ("bind:localhost:9100", LOCALHOST), ("bind:localhost:9101", []):
            with self.subTest(rule):
                client = Master(self.gateway, self.new_key(rule))
                self.assertTrue(client.is_in(), client.log())
                self.assertEqual(client.forward("9100"), bool(listeners))
                self.assertEqual(self.gateway.listeners(), listeners)
                client.close()
                until(lambda: not self.gateway.listeners(), "the end of the listeners")

    def test_traffic_goes_through(self):
        """A visitor of the listener reaches the client's side."""
        client, = self.standing(self.gateway.tunnel(
            self.new_key("bind:localhost:9100"), "localhost:9100:127.0.0.1:22"))
        self.assertEqual(self.gateway.visit("127.0.0.1:9100")[:8], "SSH-2.0-")
        client.close()

    def test_texts_that_are_no_rules(self):
        """Whoever writes with psql can store any text.  It permits nothing, and adds nothing to
        what sshd reads."""
        texts = ['bind:a.example.com",permitlisten="*:*', "bind:a.example.com:8080\nrestrict",
                 "bind:*:9100", "bind:*.*", "bind:localhost:0", "bind:localhost:*", "BIND:*", "",
                 " *", "bind:?.example.com", "bind:", 'permitlisten="*:*"', "bind:[*]:9100"]
        for rules, listeners in (texts, []), ([*texts, "bind:localhost:9100"], LOCALHOST):
            with self.subTest(rules[-1]):
                key = self.gateway.key()
                ident = self.credential(key, "bind:k=v").rpartition("/")[2]
                self.stack.psql("UPDATE adit.ssh_credential SET acl = ARRAY[%s] WHERE id = '%s'" % (
                    ", ".join("E'%s'" % text.replace("\n", "\\n") for text in rules), ident))
                client = self.gateway.tunnel(key, *(
                    request + ":localhost:1" for request in REQUESTS if request not in (
                        "LocalHost:9100", "9100", "127.0.0.1:9100", "127.1:9100")))
                self.assertTrue(client.is_in(), client.log())
                self.assertEqual(self.gateway.listeners(), listeners)
                self.gateway.close_tunnels()

    def test_many_rules(self):
        """sshd takes 4,096 addresses from all credentials of a key.  A key with more may not log
        in."""
        key = self.gateway.key()
        for host in "a", "b", "c", "d":
            self.credential(key, *("bind:%s:%d" % (host, port) for port in range(1000, 2000)))
        path = self.credential(key, *("bind:e:%d" % port for port in range(1000, 1095)),
                               "bind:localhost:9100")
        self.standing(self.gateway.tunnel(key, "localhost:9100:localhost:1"))
        self.assertEqual(self.gateway.listeners(), LOCALHOST)
        self.gateway.close_tunnels()
        rules = ["bind:e:%d" % port for port in range(1000, 1096)]
        self.assert_ok(self.admin.patch(path, {"acl": [*rules, "bind:localhost:9100"]}))
        self.assertTrue(self.gateway.tunnel(key).was_refused())
        # A repeated rule and a label need no address.
        self.assert_ok(self.admin.patch(path, {"acl": [*rules, "bind:a:1000", "bind:k=v"]}))
        self.standing(self.gateway.tunnel(key))

    def test_many_domains(self):
        """A domain takes an address for each of the two domain ports."""
        key = self.gateway.key()
        for suffix in "a", "b":
            self.credential(key, *("bind:h%d.%s.test" % (i, suffix) for i in range(1000)))
        path = self.credential(key, *("bind:h%d.c.test" % i for i in range(49)))
        self.assertTrue(self.gateway.tunnel(key).was_refused())
        self.assert_ok(self.admin.patch(path, {"acl": ["bind:h%d.c.test" % i for i in range(48)]}))
        self.standing(self.gateway.tunnel(key))


class AnyPort(RulesCase):
    """domain_ports = *: a domain opens each port that sshd permits."""

    settings = {"domain_ports": "*"}

    def test_domains(self):
        self.check_all([(rule, [rule], requests) for rule, requests in (
            ("bind:a.example.com", [*NAMED_A, "a.example.com:8081", "a.example.com:9100"]),
            ("bind:*.a.example.com", ["b.a.example.com:8080"]),
            ("bind:localhost", [*NAMED_LOCALHOST, "localhost:9101"]),
            ("bind:localhost:9100", NAMED_LOCALHOST))])

    def test_port_0(self):
        client = Master(self.gateway, self.new_key("bind:a.example.com"))
        self.assertTrue(client.is_in(), client.log())
        self.assertFalse(client.forward("b.a.example.com:0:localhost:1"))
        self.assertTrue(client.forward("a.example.com:0:localhost:1"))
        self.assertEqual([at.rpartition(":")[0] for at in self.gateway.listeners()],
                         ["127.0.0.11"])
