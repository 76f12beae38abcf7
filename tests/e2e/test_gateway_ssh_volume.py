# SPDX-License-Identifier: MIT
"""One key has much: many credentials, long rules, many sessions.  All others are judged as ever."""
import re
import time

from adit import stack
from adit.case import until
from adit.ssh_gateway import FOLDER, GatewayCase, SshGateway, have_ended, stay

NEEDS_ROOT = True

N_CREDENTIALS = 900
N_RULES = 1000
N_SESSIONS = 12
N_OFFERS = 12

# Resident memory of the daemon, which starts with some 10 MB.
MEMORY_KB = 200 * 1024

# 175 MB of authorities.
EDGES = ["edge-%d" % i for i in range(700)]
N_AUTHORITIES = 1000
AUTHORITY_BYTES = 250
LONG_S = 300


class VolumeCase(GatewayCase):
    def delete(self, path):
        self.assert_ok(self.admin.delete(path), 204)


class Volume(VolumeCase):
    stack_name = "gateway volume"
    settings = {"sweep": "500ms"}

    def volume(self, path, n, n_rules):
        """Copies a credential n times, with so many rules of 60 bytes each."""
        self.stack.psql(
            "INSERT INTO adit.ssh_credential (account_id, id, owner_id, public_key, key_type,"
            " fingerprint, acl) SELECT c.account_id, 'sshcr_' || right(md5(random()::text) ||"
            " lpad(i::text, 7, '0'), 27), c.owner_id, c.public_key, c.key_type, c.fingerprint,"
            " (SELECT array_agg('bind:*.' || md5(i::text) || r || '.example.com')"
            " FROM generate_series(1, %d) AS r)"
            " FROM adit.ssh_credential AS c, generate_series(1, %d) AS i WHERE c.id = '%s'"
            % (n_rules, n, path.rpartition("/")[2]))

    def opened(self, *rules):
        key = self.gateway.key()
        path = self.credential(key, *rules)
        return path, key, self.standing(self.gateway.tunnel(key))[0]

    def memory_kb(self):
        with open("/proc/%d/status" % self.gateway.daemon.pid, encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))

    def check_others(self):
        """A revocation ends its tunnel, and a login succeeds."""
        path, _, tunnel = self.opened()
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))
        self.opened()

    def test_a_key_with_much(self):
        """Beyond the limits the key is refused where it is offered anew.  Sessions stand as long as
        the credentials do that they were permitted by.  Nobody else notices, of this account or
        another."""
        other_admin = self.stack.client(self.stack.other.admin.key)
        other_key = self.gateway.key()
        other_path = self.credential(other_key, client=other_admin)
        other, = self.standing(self.gateway.tunnel(other_key, user="other"))
        standing = self.opened()[2]
        path, key, first = self.opened()
        tunnels = [first, *(self.gateway.tunnel(key) for _ in range(N_SESSIONS - 1))]
        self.standing(*tunnels)
        self.volume(path, N_CREDENTIALS, N_RULES)
        self.check_others()
        self.assertTrue(stay(*tunnels))
        offers = [self.gateway.tunnel(key) for _ in range(N_SESSIONS)]
        self.check_others()
        for offer in offers:
            self.assertTrue(offer.was_refused())
        self.assertIn("its key has more credentials or rules than are read", self.gateway.log())
        self.assertTrue(other.stands() and standing.stands())
        self.assert_ok(other_admin.delete(other_path), 204)
        self.assertTrue(have_ended([other]))
        self.assertTrue(stay(standing))
        self.assert_ok(self.admin.delete(path), 204)
        self.assertTrue(have_ended(tunnels))
        self.assertEqual(self.gateway.status()["database"], "up")
        if not stack.is_sanitized():
            self.assertLess(self.memory_kb(), MEMORY_KB)

    def test_another_owner_with_much(self):
        """Whoever stores somebody else's key with too much locks nobody out of it.  Each session
        goes on for as long as what it was granted, and no longer."""
        key = self.gateway.key()
        theirs = self.credential(key, "bind:a.example.com",
                                 client=self.stack.client(self.home.member.key))
        path = self.credential(key, "bind:a.example.net")
        both, = self.standing(self.gateway.tunnel(key, "a.example.com:8080:localhost:1",
                                                  "a.example.net:8080:localhost:1"))
        self.volume(theirs, 20, N_RULES)
        self.assertTrue(stay(both))
        own, = self.standing(self.gateway.tunnel(key, "a.example.net:8443:localhost:1"))
        other = self.gateway.tunnel(key, "a.example.com:8443:localhost:1")
        self.assertTrue(other.is_in())
        self.assertEqual(other.refused(), ["a.example.com:8443:localhost:1"])
        self.assertRegex(self.gateway.log(), '"event":"an owner\'s credentials were left out[^}]*'
                         '"fingerprint":"%s"[^}]*"owner":"%s"' % (
                             re.escape(key.fingerprint), self.home.member.id))
        self.volume(theirs, 5, N_RULES)
        self.assertTrue(stay(both, own))
        self.delete(theirs)
        self.assertTrue(have_ended([both]))
        self.assertTrue(stay(own))
        self.delete(path)
        self.assertTrue(have_ended([own, other]))
        self.assertTrue(self.gateway.tunnel(key).was_refused())

    def test_sessions_that_share_a_key(self):
        """Their rules are read once, when they change, and not for each session."""
        path, key, first = self.opened("bind:a.example.com")
        tunnels = [first, *(self.gateway.tunnel(key) for _ in range(N_SESSIONS - 1))]
        self.standing(*tunnels)
        self.assert_ok(self.admin.patch(path, {"acl": ["bind:*.example.com"]}))
        self.assertTrue(stay(*tunnels))
        self.assert_ok(self.admin.patch(path, {"acl": ["bind:b.example.com"]}))
        self.assertTrue(have_ended(tunnels))

    def test_a_hung_database(self):
        """Nobody loses a session because the database is late for all."""
        path, key, first = self.opened()
        self.volume(path, N_CREDENTIALS, 10)
        standing = self.opened()[2]
        with self.transaction("LOCK TABLE adit.ssh_credential IN ACCESS EXCLUSIVE MODE") as commit:
            until(lambda: self.gateway.status()["database"] == "away", "a late statement")
            time.sleep(6)
            self.assertTrue(first.stands() and standing.stands())
            commit()
        until(lambda: self.gateway.status()["database"] == "up", "an answer")
        self.assertTrue(stay(first, standing))
        self.check_others()


class Crowds(GatewayCase):
    stack_name = "gateway volume"
    settings = {"sessions_of_key": "3", "sessions_of_account": "8"}

    def test_the_most_sessions(self):
        """A key, and an owner, may have so many sessions at a time.  Those that stand go on, and others
        have room."""
        key, other = self.new_key("bind:a.example.com"), self.new_key()
        tunnels = self.standing(*(self.gateway.tunnel(key) for _ in range(3)))
        self.assertTrue(self.gateway.tunnel(key).was_refused())
        self.assertIn("as many sessions as the setting sessions_of_key permits", self.gateway.log())
        others = self.standing(self.gateway.tunnel(other))
        self.assertTrue(self.gateway.tunnel(other).was_refused())
        self.assertIn("as many sessions as the setting sessions_of_account permits",
                      self.gateway.log())
        theirs = self.gateway.key()
        self.credential(theirs, client=self.stack.client(self.home.own_key))
        others += self.standing(*(self.gateway.tunnel(theirs) for _ in range(2)))
        self.assertTrue(self.gateway.tunnel(theirs).was_refused())
        elsewhere = self.gateway.key()
        self.credential(elsewhere, client=self.stack.client(self.stack.other.admin.key))
        self.standing(self.gateway.tunnel(elsewhere, user="other"))
        self.assertTrue(stay(*tunnels, *others))
        for tunnel in (tunnels[0], others[0]):
            tunnel.close()
        until(lambda: self.gateway.status()["sessions"] == "5", "the end of two sessions")
        self.standing(self.gateway.tunnel(key))

    def test_a_burst(self):
        """Connections that log in at once stay within the bound."""
        key = self.new_key()
        tunnels = [self.gateway.tunnel(key) for _ in range(20)]
        self.assertGreaterEqual(sum(tunnel.was_let_in() for tunnel in tunnels), 3)

        def standing():
            return [tunnel for tunnel in tunnels if tunnel.stands()]
        until(lambda: len(standing()) <= 3, "the end of the others")
        self.assertTrue(stay(*standing()))
        self.assertEqual(len(standing()), 3)
        self.assertIn("as many sessions as the setting sessions_of_key permits", self.gateway.log())

    def test_a_public_key_alone(self):
        """Whoever offers a key without its private half takes no room from its owner, however many
        connections, and neither does a daemon that starts anew meanwhile."""
        key = self.new_key()
        offers = [self.gateway.offer(key) for _ in range(N_OFFERS)]
        for offer in offers:
            offer.reach("Server accepts key")
        first, second = self.standing(self.gateway.tunnel(key), self.gateway.tunnel(key))
        self.gateway.daemon.stop()
        self.gateway.start_daemon()
        third, = self.standing(self.gateway.tunnel(key))
        self.assertTrue(self.gateway.tunnel(key).was_refused())
        self.assertTrue(stay(first, second, third, *offers))
        self.assertEqual(self.gateway.status()["sessions"], str(N_OFFERS + 3))


class EdgesGateway(SshGateway):
    sections = "[mutual_tls]\nedges = %s\nauthorities = %s/authorities\noutput = %s/edges\n" % (
        " ".join(EDGES), FOLDER, FOLDER)


class Edges(VolumeCase):
    """The edges of mutual TLS keep no login waiting."""
    stack_name = "gateway volume"
    gateway_type = EdgesGateway
    settings = {"sweep": "500ms"}

    def asks(self, edge):
        """Whether the files of an edge ask visitors for a certificate."""
        try:
            with open(self.gateway.inside.path("%s/edges/%s.haproxy" % (FOLDER, edge)),
                      encoding="ascii") as file:
                return "required" in file.read()
        except FileNotFoundError:
            return False

    def store(self, edge, is_enabled):
        self.assert_ok(self.admin.put("/edges/tls/%s/mutual_tls" % edge, {
            "enabled": is_enabled, "certificate_authority_ids": ["ca-1"]}))

    def log_in(self):
        """Logs in a few times.  Each must succeed."""
        key = self.new_key()
        for _ in range(5):
            tunnel, = self.standing(self.gateway.tunnel(key))
            tunnel.close()

    def test_many_modules(self):
        """Reading those that changed takes longer than a statement may."""
        self.stack.psql(
            "SET session_replication_role = replica;"  # no audit events
            " INSERT INTO adit.mutual_tls_module"
            " (account_id, edge_id, enabled, certificate_authority_ids)"
            " SELECT '%s', 'edge-' || i, true, (SELECT array_agg(left('ca-' || r || '-' || i || '-'"
            " || repeat(md5(r::text), 8), %d)) FROM generate_series(1, %d) AS r)"
            " FROM generate_series(0, %d) AS i"
            % (self.home.id, AUTHORITY_BYTES, N_AUTHORITIES, len(EDGES) - 1))
        self.log_in()
        # Logins come first, and all those authorities are read and written meanwhile.
        until(lambda: self.asks(EDGES[-1]), "the last edge's files", LONG_S)
        until(lambda: self.gateway.status()["edges_due"] == "0", "all edges' files", LONG_S)
        self.store(EDGES[-1], False)
        self.log_in()
        until(lambda: not self.asks(EDGES[-1]), "a change")
        self.assertEqual(self.gateway.status()["database"], "up")

    def test_late_modules(self):
        """Only logins matter to those who log in."""
        self.store(EDGES[0], True)
        until(lambda: self.asks(EDGES[0]), "the files")
        with self.transaction("LOCK TABLE adit.mutual_tls_module IN ACCESS EXCLUSIVE MODE") as commit:
            until(lambda: "cannot read mutual TLS modules" in self.gateway.log(), "a late statement")
            self.log_in()
            self.assertTrue(self.asks(EDGES[0]))
            commit()
        self.delete("/edges/tls/%s/mutual_tls" % EDGES[0])
        until(lambda: not self.asks(EDGES[0]), "a change")
