# SPDX-License-Identifier: MIT
"""What a change of a credential does to the tunnels that stand on it: they end, or they stay."""
import json
import os
import random
import signal
import threading
import time

from adit.case import until
from adit.ssh_gateway import NEVER_S, STEPS, GatewayCase, have_ended, stay

NEEDS_ROOT = True

# What a credential permits, what changes, and whether its tunnel ends.
CHANGES = [
    ("a domain becomes another", ["bind:a.example.com"], {"acl": ["bind:a.example.net"]}, True),
    ("a wildcard becomes a name", ["bind:*.example.com"], {"acl": ["bind:a.example.com"]}, True),
    ("a wildcard becomes a longer one", ["bind:*.example.com"], {"acl": ["bind:*.a.example.com"]},
     True),
    ("an empty list becomes a rule", [], {"acl": ["bind:*.example.com"]}, True),
    ("* becomes a rule", ["*"], {"acl": ["bind:localhost:9100"]}, True),
    ("bind:* becomes a label", ["bind:*"], {"acl": ["bind:k=v"]}, True),
    ("an address gets another port", ["bind:localhost:9100"], {"acl": ["bind:localhost:9101"]},
     True),
    ("an address becomes its name", ["bind:127.0.0.11:8080"], {"acl": ["bind:a.example.com:8080"]},
     True),
    ("an IPv6 address becomes another", ["bind:[::1]:9100"], {"acl": ["bind:[::2]:9100"]}, True),
    ("a rule goes", ["bind:a.example.com", "bind:localhost:9100"],
     {"acl": ["bind:localhost:9100"]}, True),
    ("a domain becomes labels", ["bind:a.example.com"], {"acl": ["bind:k=v"]}, True),
    ("it is paused", ["bind:a.example.com"], {"enabled": False}, True),
    ("it is paused and may bind all", ["bind:a.example.com"], {"enabled": False, "acl": []}, True),
    ("it counts, as before", ["bind:a.example.com"], {"enabled": True}, False),
    ("a name becomes a wildcard", ["bind:a.example.com"], {"acl": ["bind:*.example.com"]}, False),
    ("a rule becomes an empty list", ["bind:a.example.com"], {"acl": []}, False),
    ("a rule becomes *", ["bind:a.example.com", "bind:[::1]:9100"], {"acl": ["*"]}, False),
    ("a rule comes", ["bind:a.example.com"],
     {"acl": ["bind:b.example.com", "bind:a.example.com"]}, False),
    ("an empty list becomes *", [], {"acl": ["*"]}, False),
    ("* becomes bind:*", ["*"], {"acl": ["bind:*"]}, False),
    ("* becomes an empty list", ["*"], {"acl": []}, False),
    ("the order", ["bind:a.example.com", "bind:localhost:9100"],
     {"acl": ["bind:localhost:9100", "bind:a.example.com"]}, False),
    ("a rule twice", ["bind:a.example.com"], {"acl": ["bind:a.example.com"] * 3}, False),
    ("once instead of twice", ["bind:a.example.com"] * 2, {"acl": ["bind:a.example.com"]}, False),
    ("a name's case", ["bind:A.example.com"], {"acl": ["bind:a.EXAMPLE.com"]}, False),
    ("the spelling of an IPv6 address", ["bind:[::1]:9100"],
     {"acl": ["bind:[0:0:0:0:0:0:0:1]:9100"]}, False),
    ("a label goes", ["bind:a.example.com", "bind:k=v"], {"acl": ["bind:a.example.com"]}, False),
    ("a label becomes another", ["bind:k=v"], {"acl": ["bind:k=w"]}, False),
    ("the description", ["bind:a.example.com"], {"description": "other"}, False),
    ("the metadata", [], {"metadata": "other"}, False),
    ("nothing", ["bind:a.example.com"], {}, False),
    ("the same rules", ["bind:a.example.com"], {"acl": ["bind:a.example.com"]}, False),
]


class Changes(GatewayCase):
    def patch(self, path, body):
        self.assert_ok(self.admin.patch(path, body))

    def delete(self, path):
        self.assert_ok(self.admin.delete(path), 204)

    def opened(self, *rules):
        """A new key's credential and tunnel."""
        key = self.gateway.key()
        return self.credential(key, *rules), key, self.gateway.tunnel(key)

    def lost(self, key):
        """The credentials that the log names for the last session of the key that ended."""
        lines = until(lambda: [line for line in self.gateway.log().splitlines()
                               if '"session ended"' in line and '"%s"' % key.fingerprint in line],
                      "the line of the end")
        return json.loads(lines[-1]).get("credentials", "")

    def test_patch(self):
        """Each change in turn, while all tunnels stand."""
        opened = [self.opened(*rules) for _, rules, _, _ in CHANGES]
        self.standing(*(tunnel for _, _, tunnel in opened))
        for (name, _, body, ends), (path, key, tunnel) in zip(CHANGES, opened):
            with self.subTest(name):
                self.patch(path, body)
                if ends:
                    self.assertTrue(have_ended([tunnel]))
                    self.assertEqual(self.lost(key), path.rpartition("/")[2])
        time.sleep(NEVER_S)
        for (name, _, _, ends), (_, _, tunnel) in zip(CHANGES, opened):
            with self.subTest(name + ", later"):
                self.assertEqual(tunnel.stands(), not ends)
        self.assertEqual(sorted(fingerprint for fingerprint, _, _ in
                                self.gateway.sessions().values()),
                         sorted(key.fingerprint for (_, key, _), (*_, ends) in
                                zip(opened, CHANGES) if not ends))

    def test_delete(self):
        """One of several tunnels ends, with its listener.  Then another client takes its place."""
        path, key, first = self.opened("bind:localhost:9100")
        first.close()
        first, second = self.standing(
            self.gateway.tunnel(key, "localhost:9100:localhost:1"), self.gateway.tunnel(key))
        other, = self.standing(self.gateway.tunnel(self.new_key("bind:localhost:9100")))
        self.delete(path)
        self.assertTrue(have_ended([first, second]))
        until(lambda: not self.gateway.listeners(), "the end of the listener")
        self.assertTrue(self.gateway.tunnel(key).was_refused())
        self.standing(self.gateway.tunnel(self.new_key("bind:localhost:9100"),
                                          "localhost:9100:localhost:1"))
        self.assertTrue(other.stands())

    def test_pause(self):
        """A key without another credential is refused until this one comes back."""
        path, key, tunnel = self.opened("bind:localhost:9100")
        self.standing(tunnel)
        self.patch(path, {"enabled": False})
        self.assertTrue(have_ended([tunnel]))
        self.assertTrue(self.gateway.tunnel(key).was_refused())
        self.patch(path, {"enabled": True})
        back = self.gateway.tunnel(key, "localhost:9100:localhost:1")
        self.standing(back)
        self.credential(key, "bind:localhost:9100", "bind:a.example.com")
        self.patch(path, {"enabled": False})
        self.assertTrue(stay(back))

    def test_delete_of_a_key_with_labels_only(self):
        path, _, tunnel = self.opened("bind:k=v")
        self.standing(tunnel)
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))

    def test_twenty_tunnels_of_a_key(self):
        path, key, tunnel = self.opened()
        tunnels = [tunnel]
        while len(tunnels) < 20:
            # Not all at once: a login that waits too long for the gateway's answer is refused.
            n = min(5, 20 - len(tunnels))
            tunnels += self.standing(*[self.gateway.tunnel(key) for _ in range(n)])
        self.assertEqual(len(self.gateway.sessions()), 20)
        self.delete(path)
        self.assertTrue(have_ended(tunnels))
        until(lambda: not self.gateway.sessions(), "no session")

    def test_several_credentials_of_a_key(self):
        """A tunnel stands on all of them together."""
        path, key, tunnel = self.opened("bind:a.example.com")
        tunnel.close()
        copy = self.credential(key, "bind:a.example.com", "bind:k=v")
        more = self.credential(key, "bind:localhost:9100")
        tunnel, = self.standing(self.gateway.tunnel(key))
        with self.subTest("another credential grants the same"):
            self.delete(path)
            self.assertTrue(stay(tunnel))
        with self.subTest("another takes over a rule first"):
            self.patch(copy, {"acl": ["bind:a.example.com", "bind:localhost:9100"]})
            self.delete(more)
            self.assertTrue(stay(tunnel))
        with self.subTest("a credential comes and goes"):
            self.delete(self.credential(key))
            self.assertTrue(stay(tunnel))
        with self.subTest("the only one of a rule"):
            other = self.credential(key, "bind:localhost:9100")
            self.delete(copy)
            self.assertTrue(have_ended([tunnel]))
            self.assertEqual(self.lost(key), copy.rpartition("/")[2])
            self.delete(other)

    def test_other_accounts(self):
        """The same key in another account: its changes end only that account's tunnels."""
        other = self.stack.client(self.stack.other.admin.key)
        path, key, tunnel = self.opened()
        foreign = self.credential(key, client=other)
        beside = self.gateway.tunnel(key, user="other")
        self.standing(tunnel, beside)
        self.assertEqual(sorted(account for _, account, _ in self.gateway.sessions().values()),
                         sorted([self.home.id, self.stack.other.id]))
        self.assert_ok(other.delete(foreign), 204)
        self.assertTrue(have_ended([beside]))
        self.assertTrue(stay(tunnel))
        self.delete(path)
        self.assertTrue(have_ended([tunnel]))

    def test_open_transaction_elsewhere(self):
        """A transaction that stays open holds nothing up, and its own change counts when it
        commits."""
        path, _, tunnel = self.opened()
        late, _, waiting = self.opened()
        self.standing(tunnel, waiting)
        ident = late.rpartition("/")[2]
        with self.transaction(
                "DELETE FROM adit.ssh_credential WHERE id = '%s'" % ident) as commit:
            self.delete(path)
            self.assertTrue(have_ended([tunnel]))
            self.assertTrue(stay(waiting))
            commit()
        self.assertTrue(have_ended([waiting]))

    def test_change_without_an_event(self):
        """A sweep finds what left no event, here because triggers are off."""
        _, _, other = self.opened()
        for change in ("DELETE FROM adit.ssh_credential",
                       "UPDATE adit.ssh_credential SET acl = '{bind:a.example.com}',"
                       " revision = revision + 1"):
            with self.subTest(change):
                path, key, tunnel = self.opened()
                ident = path.rpartition("/")[2]
                self.standing(tunnel)
                self.stack.psql("SET session_replication_role = replica; %s WHERE id = '%s'"
                                % (change, ident))
                self.assertTrue(have_ended([tunnel]))
                self.assertEqual(self.lost(key), ident)
        self.assertTrue(other.stands())

    def test_operator_ends_a_session(self):
        path, key, tunnel = self.opened()
        self.standing(tunnel)
        (pid, (fingerprint, account, idents)), = self.gateway.sessions().items()
        self.assertEqual((fingerprint, account, idents),
                         (key.fingerprint, self.home.id, [path.rpartition("/")[2]]))
        self.assertEqual(self.gateway.ask("end\n%d\n" % pid), ["ok"])
        self.assertTrue(have_ended([tunnel]))
        until(lambda: not self.gateway.sessions(), "no session")
        # An ending session is not listed, and may still be there.
        until(lambda: self.gateway.ask("end\n%d\n" % pid) == ["none"], "no such session")

    def test_processes_of_sshd_that_hang(self):
        """A tunnel ends although both of its processes are stopped, or one of them."""
        for name, stopped in ("the monitor", [True]), ("the other", [False]), (
                "both", [True, False]):
            with self.subTest(name):
                path, _, tunnel = self.opened()
                self.standing(tunnel)
                for pid, (_, is_monitor) in self.gateway.sshd_processes().items():
                    if is_monitor in stopped:
                        os.kill(pid, signal.SIGSTOP)
                self.delete(path)
                self.assertTrue(have_ended([tunnel]))
                until(lambda: not self.gateway.sshd_processes(), "the end of sshd's processes")
                until(lambda: not self.gateway.sessions(), "no session")

    def test_deletes_race_logins(self):
        """20 clients log in while their credentials are deleted.  None is left."""
        opened, threads = [], []
        for _ in range(20):
            key = self.gateway.key()
            opened.append((key, self.credential(key)))
        tunnels = []

        def race(key, path, step):
            tunnel = self.gateway.tunnel(key)
            tunnels.append(tunnel)
            tunnel.reach(step)
            time.sleep(random.uniform(0, 0.02))
            self.delete(path)
        for i, row in enumerate(opened):
            threads.append(threading.Thread(target=race, args=(*row, STEPS[i % len(STEPS)])))
            threads[-1].start()
        for thread in threads:
            thread.join()
        # A client that has come less far is refused, however long that takes on a busy machine.
        let_in = [tunnel for tunnel in tunnels if tunnel.was_let_in()]
        self.assertTrue(have_ended(let_in))
        self.assertTrue(let_in)
        self.assertEqual(len(tunnels), 20)
        self.assertFalse(any(tunnel.stands() for tunnel in tunnels))
        until(lambda: not self.gateway.sessions(), "no session")
