# SPDX-License-Identifier: MIT
"""A relay between responders and PostgreSQL that speaks the server's protocol.  It runs SQL on each
session before the responder gets it, as other clients of a pooler do.  It can also change the
statements that the responder prepares, and the texts that it sends without preparing, and have the
server far away."""
import contextlib
import os
import socket
import struct
import threading
import time

from adit.listener import Listener


def read_exactly(sock, n):
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def read_message(sock):
    """Returns a message's type and body."""
    head = read_exactly(sock, 5)
    return head[:1], read_exactly(sock, struct.unpack("!I", head[1:])[0] - 4)


def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body


class PgRelay:
    """Relays to a server's Unix socket.  before is SQL that runs first on each session.
    change(sql) returns the SQL to prepare instead, change_text(sql) that to run at once.  Each
    answer takes delay_s.  It listens on a Unix socket if there is a folder for it."""

    def __init__(self, to, before="", change=None, change_text=None, folder=None):
        self._to, self.before, self.change, self.delay_s = to, before, change, 0
        self.change_text = change_text
        self._lock = threading.Lock()
        self._open = set()
        self.n_begun = 0
        self.n_round_trips = 0
        listener = self._listen(folder)
        self._listener = Listener(listener, self._serve)

    def _listen(self, folder):
        self._host = folder or "127.0.0.1"
        if not folder:
            listener = socket.create_server((self._host, 0))
            self.port = listener.getsockname()[1]
            return listener
        self.port = 5432
        path = os.path.join(folder, ".s.PGSQL.%d" % self.port)
        listener = socket.create_server(path, family=socket.AF_UNIX)
        os.chmod(path, 0o777)
        return listener

    def conninfo(self, user):
        return ("host=%s port=%d dbname=adit user=%s sslmode=disable gssencmode=disable"
                % (self._host, self.port, user))

    def close(self):
        self._listener.close()
        self.cut()

    def cut(self):
        """Ends all sessions."""
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def _serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            with self._lock:
                self._open |= {client, server}
                self.n_begun += 1
            try:
                server.connect(self._to)
                self._begin(client, server)
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()
                self._ask(client, server)
            except (EOFError, OSError):
                pass  # one side has closed
            finally:
                with self._lock:
                    self._open -= {client, server}
                with contextlib.suppress(OSError):
                    server.shutdown(socket.SHUT_RDWR)

    def _begin(self, client, server):
        length = read_exactly(client, 4)
        server.sendall(length + read_exactly(client, struct.unpack("!I", length)[0] - 4))
        kind = b""
        while kind != b"Z":
            kind, body = read_message(server)
            if kind != b"Z":
                client.sendall(message(kind, body))
        ready = message(kind, body)
        if self.before:
            server.sendall(message(b"Q", self.before.encode() + b"\0"))
            kind = b""
            while kind != b"Z":
                kind, body = read_message(server)
                if kind == b"E":
                    raise AssertionError("%s: %r" % (self.before, body))
        client.sendall(ready)

    def _ask(self, client, server):
        while True:
            kind, body = read_message(client)
            with self._lock:
                self.n_round_trips += kind in (b"Q", b"S")
            if kind == b"P" and self.change:
                name, sql, rest = body.split(b"\0", 2)
                body = b"\0".join((name, self.change(sql.decode()).encode(), rest))
            if kind == b"Q" and self.change_text:
                body = self.change_text(body[:-1].decode()).encode() + b"\0"
            server.sendall(message(kind, body))

    def _answer(self, server, client):
        with contextlib.suppress(OSError):
            while True:
                data = server.recv(65536)
                if not data:
                    break
                time.sleep(self.delay_s)
                client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
