# SPDX-License-Identifier: MIT
"""A relay between a client and a stack that records the client's requests."""
import socket
import threading

from adit.listener import Listener


class Request:
    """One request, as received."""

    def __init__(self, head, body):
        line, *rest = head.decode("latin-1").split("\r\n")
        self.method, self.target, self.protocol = line.split(" ")
        self.headers = {name.lower(): value.strip()
                        for name, value in (header.split(":", 1) for header in rest)}
        self.body = body

    def __repr__(self):
        return "%s %s %s %r" % (self.method, self.target, self.headers, self.body)


class Relay:
    def __init__(self, host, port):
        self._to = (host, port)
        self._lock = threading.Lock()
        self._requests = []
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % listener.getsockname()[1]
        self._listener = Listener(listener, self._serve)

    def close(self):
        self._listener.close()

    def take(self):
        """The requests since the last call."""
        with self._lock:
            taken, self._requests = self._requests, []
        return taken

    def _serve(self, client):
        with client, socket.create_connection(self._to) as server:
            threading.Thread(target=self._answer, args=(server, client), daemon=True).start()
            pending = b""
            while True:
                data = self._read(client)
                pending = self._note(pending + data)
                if not self._write(server, data):
                    return

    def _answer(self, server, client):
        while self._write(client, self._read(server)):
            pass

    @staticmethod
    def _read(sock):
        try:
            return sock.recv(65536)
        except OSError:
            return b""

    @staticmethod
    def _write(sock, data):
        """Passes on the data, or the end of the stream.  Returns whether more may follow."""
        try:
            if data:
                sock.sendall(data)
            else:
                sock.shutdown(socket.SHUT_WR)
        except OSError:
            return False
        return bool(data)

    def _note(self, data):
        """Records the complete requests in the data.  Returns the rest of the data."""
        while b"\r\n\r\n" in data:
            head, _, rest = data.partition(b"\r\n\r\n")
            request = Request(head, b"")
            length = int(request.headers.get("content-length", 0))
            if len(rest) < length:
                break
            request.body, data = rest[:length], rest[length:]
            with self._lock:
                self._requests.append(request)
        return data
