# SPDX-License-Identifier: MIT
"""Slow clients: an address that keeps connections of a server, and sends a byte now and then."""
import contextlib
import socket
import ssl
import threading

HEADER = b"POST /ssh_credentials HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" \
    b"Content-Length: 60000\r\n"
BODY = HEADER + b"\r\n{"
# Bytes between two pauses keep the server from taking the client for one that is gone.
PAUSE_S = 1


def client_hello(name):
    """Half of what a TLS client sends first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    made = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        made.do_handshake()
    whole = outgoing.read()
    return whole[:len(whole) // 2]


class Crowd:
    """n connections of one address, which each send these bytes and then a byte for each pause.  They
    last until the server or close() ends them."""

    def __init__(self, port, n, begin, trickle=b" ", address="127.0.0.2"):
        self.trickle = trickle
        self.connections = []
        for _ in range(n):
            with contextlib.suppress(OSError):
                one = socket.create_connection(("127.0.0.1", port), 10, source_address=(address, 0))
                one.setblocking(False)
                self.connections.append(one)
                one.send(begin)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        for one in self.connections:
            one.close()

    def _run(self):
        while not self._stop.wait(PAUSE_S):
            self.connections = [one for one in self.connections if self._is_kept(one)]

    def _is_kept(self, one):
        """Sends a byte.  Whether the server still has the connection."""
        try:
            if one.recv(65536) == b"":
                one.close()
                return False
        except BlockingIOError:
            pass
        except OSError:
            one.close()
            return False
        with contextlib.suppress(OSError):
            one.send(self.trickle)
        return True
