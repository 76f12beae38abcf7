# SPDX-License-Identifier: MIT
"""The parts of PostgreSQL's protocol that tests need: a check that the server is ready, and a proxy
that loses answers."""
import os
import select
import socket
import struct
import threading

from adit.listener import Listener

PROTOCOL_3 = 196608


def _read_exactly(sock, n):
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            raise ConnectionResetError("the server closed the connection")
        data += more
    return data


def takes_connections(path, user="postgres", database="adit"):
    """Whether the server on a unix socket starts a session without a password."""
    parameters = b"".join(part.encode() + b"\0" for part in
                          ("user", user, "database", database)) + b"\0"
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(2)
            sock.connect(path)
            sock.sendall(struct.pack("!II", len(parameters) + 8, PROTOCOL_3) + parameters)
            while True:
                kind, size = struct.unpack("!cI", _read_exactly(sock, 5))
                _read_exactly(sock, size - 4)
                if kind == b"Z":
                    sock.sendall(b"X" + struct.pack("!I", 4))
                    return True
                if kind == b"E":
                    return False
    except OSError:
        return False


class Interposed:
    """A proxy that takes the place of a server's unix socket and renames the server's own.  While
    lose_every is not 0, it drops connections after a write.  It does so by turns as soon as it has
    forwarded the write, and when the server has acknowledged the commit."""

    # Names of prepared statements that write end so, followed by the hash of their text.
    WRITES = (b"create", b"update", b"delete", b"put")
    HASH_LEN = 1 + 16

    def __init__(self, path):
        self._path, self._real = path, path + ".real"
        self.lose_every = 0
        self.n_lost = self._n_writes = 0
        self._lock = threading.Lock()

    def __enter__(self):
        os.rename(self._path, self._real)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._path)
        os.chmod(self._path, 0o777)
        listener.listen(64)
        self._listener = Listener(listener, self._serve)
        return self

    def __exit__(self, *_):
        os.rename(self._real, self._path)
        self._listener.close()

    def _serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            try:
                server.connect(self._real)
                self._hand_on(client, server)
            except OSError:
                pass

    def _hand_on(self, client, server):
        start = True
        while True:
            for sock in select.select([client, server], [], [])[0]:
                data = sock.recv(65536)
                if not data:
                    return
                if sock is server:
                    client.sendall(data)
                    continue
                how = None if start else self._how_to_lose(data)
                start = False
                server.sendall(data)
                if how == "late":
                    self._until_ready(server)
                if how:
                    return

    def _how_to_lose(self, data):
        """How to lose the answer to the client's data, or None to forward it.  libpq sends a
        prepared statement in one piece: Bind, Describe, Execute, Sync."""
        if not self.lose_every or data[:1] != b"B":
            return None
        if not data[5:].split(b"\0")[1][:-self.HASH_LEN].endswith(self.WRITES):
            return None
        with self._lock:
            self._n_writes += 1
            if self._n_writes % self.lose_every:
                return None
            self.n_lost += 1
            return "early" if self.n_lost % 2 else "late"

    def _until_ready(self, server):
        while True:
            kind, size = struct.unpack("!cI", _read_exactly(server, 5))
            _read_exactly(server, size - 4)
            if kind == b"Z":
                return
