# SPDX-License-Identifier: MIT
"""A listening socket for programs that sit between a client and a server."""
import socket
import threading


class Listener:
    """Serves each connection in a thread of its own, until the listener is closed."""

    def __init__(self, listener, serve):
        self._listener, self._serve = listener, serve
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # shutdown() wakes the thread in accept(); close() alone does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()
