# SPDX-License-Identifier: MIT
"""Clients that fail to log in, or do not try, keep nobody else from logging in: a real sshd with the
limits that aditctl prints."""
import subprocess
import threading

from adit import stack
from adit.case import until
from adit.pg_relay import PgRelay
from adit.ssh_gateway import GatewayCase, LimitedGateway

NEEDS_ROOT = True

# More than sshd's places.
SILENT = 110

# Connects from another address, and says nothing until its input ends.
STRANGER = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", 22), source_address=("127.0.0.2", 0))
        for _ in range(int(sys.argv[1]))]
print("here", flush=True)
sys.stdin.read()
"""

# From three on, penalties of OpenSSH's defaults are long enough that sshd obeys them.
FAILURES = 5


# From two addresses, as many as sshd lets each have, which offer as many keys as it tries.
STRANGERS = 20
KEYS = 5


class Logins(GatewayCase):
    gateway_type = LimitedGateway

    def logged_in(self, *keys):
        return [tunnel.is_in() for tunnel in [self.gateway.tunnel(key) for key in keys]]

    def test_silent_stranger(self):
        key = self.new_key()
        with subprocess.Popen(
                self.gateway.inside.on_network("python3", "-c", STRANGER, str(SILENT)),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stranger:
            self.assertEqual(stranger.stdout.readline(), "here\n")
            self.assertEqual(self.logged_in(*[key] * 8), [True] * 8)
            self.assertIsNone(stranger.poll())

    def test_keys_without_a_credential(self):
        """They have the address of a client that has one."""
        key, unknown = self.new_key(), self.gateway.key()
        for _ in range(FAILURES):
            self.assertTrue(self.gateway.tunnel(unknown).was_refused())
        self.assertEqual(self.logged_in(key), [True])

    def test_gateway_away(self):
        """Its clients log in as soon as it is back."""
        key = self.new_key()
        self.gateway.daemon.stop()
        try:
            for _ in range(FAILURES):
                self.assertTrue(self.gateway.tunnel(key).was_refused())
        finally:
            self.gateway.start_daemon()
        self.assertEqual(self.logged_in(key), [True])


class DistantDatabase(GatewayCase):
    """Each answer of the database takes 70 ms."""

    @classmethod
    def new_gateway(cls):
        cls.relay = PgRelay(cls.stack.cluster.socket_path, folder=stack.make_folder())
        cls.addClassCleanup(cls.relay.close)
        return cls.gateway_type(cls.stack, cls.stack.other.id,
                                {"conninfo": cls.relay.conninfo("gateway")}, {})

    def n_unknown(self):
        return self.gateway.log().count('"unknown key"')

    def test_strangers_offer_many_keys(self):
        """Adit's helper gives up after 1.5 seconds, so a login cannot wait for all of them in turn."""
        key = self.new_key()
        # The daemon has prepared its statements by then.
        self.assertTrue(self.gateway.tunnel(self.new_key()).is_in())
        first, *others = [self.gateway.key() for _ in range(KEYS)]
        more = [word for other in others for word in ("-i", other.path)]
        stop = threading.Event()

        def offer():
            while not stop.is_set():
                self.gateway.tunnel(first, options=more).process.wait()

        strangers = [threading.Thread(target=offer) for _ in range(STRANGERS)]
        self.relay.delay_s = 0.07
        try:
            for stranger in strangers:
                stranger.start()
            until(lambda: self.n_unknown() > 0, "an unknown key")
            self.assertEqual([self.gateway.tunnel(key).is_in() for _ in range(3)], [True] * 3)
        finally:
            stop.set()
            self.relay.delay_s = 0
            for stranger in strangers:
                stranger.join()
