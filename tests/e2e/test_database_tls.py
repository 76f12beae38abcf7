# SPDX-License-Identifier: MIT
"""A database over TLS, behind a peer that fills TLS records completely, as some proxies do.  libpq
reads less than a record's 16 KiB at once.  The rest is then buffered, where no poll of the socket
shows it."""
import os
import select
import socket
import ssl
import subprocess

from adit import cluster, samples, stack
from adit.case import Case
from adit.listener import Listener

# The protocol's SSLRequest, with which a client asks for TLS.
SSL_REQUEST = bytes.fromhex("0000000804d2162f")


class TlsPeer:
    """Terminates TLS in front of a server's Unix socket."""

    def __init__(self, folder, to):
        self._to = to
        key, certificate = os.path.join(folder, "peer.key"), os.path.join(folder, "peer.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate, key)
        self.n_served = 0
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self._listener = Listener(listener, self._serve)

    def close(self):
        self._listener.close()

    def _serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            if client.recv(len(SSL_REQUEST), socket.MSG_WAITALL) != SSL_REQUEST:
                return
            client.sendall(b"S")
            server.connect(self._to)
            try:
                with self._tls.wrap_socket(client, server_side=True) as tls:
                    self.n_served += 1
                    self._pump(tls, server)
            except OSError:
                pass  # one side has closed

    @staticmethod
    def _pump(tls, server):
        while True:
            ready = [tls] if tls.pending() else select.select([tls, server], [], [])[0]
            if tls in ready:
                data = tls.recv(65536)
                if not data:
                    return
                server.sendall(data)
            if server in ready:
                data = server.recv(1 << 20)
                # Collects all that comes, so that records are full.
                while select.select([server], [], [], 0.02)[0]:
                    more = server.recv(1 << 20)
                    if not more:
                        break
                    data += more
                if not data:
                    return
                tls.sendall(data)


class Tls(Case):
    stack_name = "database-tls"
    N_ROWS = 30

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        server = cluster.attach(shared)
        cls.peer = TlsPeer(server.folder, server.socket_path)
        cls.addClassCleanup(cls.peer.close)
        shared.set_conf("database", "conninfo",
                        "host=127.0.0.1 port=%d dbname=adit user=adit sslmode=require gssencmode="
                        "disable" % cls.peer.port)
        shared.restart()
        super().setUpClass()
        for n in range(cls.N_ROWS):
            made = cls.admin.post("/ssh_credentials", samples.credential(
                metadata="m" * 4000, description="%d" % n))
            assert made.status == 201, made

    def test_pages_of_any_length(self):
        for limit in (1, 2, 3, 4, 5, 6, 7, 8, 15, 29, 30):
            with self.subTest(limit):
                page = self.assert_ok(self.admin.get("/ssh_credentials?limit=%d" % limit))
                self.assertEqual(len(page["ssh_credentials"]), limit)

    def test_one(self):
        listed = self.assert_ok(self.admin.get("/ssh_credentials?limit=10"))["ssh_credentials"]
        for row in listed:
            with self.subTest(row["id"]):
                self.assertEqual(self.assert_ok(self.admin.get("/ssh_credentials/" + row["id"])),
                                 row)

    def test_it_went_over_tls(self):
        self.assertGreater(self.peer.n_served, 0)
