# SPDX-License-Identifier: MIT
"""What stands between two programs listens for the first of them."""
import socket
import threading


class Listener:
    """Serves each connection in a thread of its own, until it is closed."""

    def __init__(self, listener, serve):
        self._listener, self._serve = listener, serve
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # Whoever waits in accept() wakes up only for the first of these.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()
