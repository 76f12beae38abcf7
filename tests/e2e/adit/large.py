# SPDX-License-Identifier: MIT
"""The largest credentials that the interface takes, and clients that read slowly or not at all."""
import json
import socket
import time

from adit import fastcgi, samples
from adit.programs import Peer, variables
from adit.reference import openapi

CREDENTIALS = "/ssh_credentials"
KEY_MAX, METADATA_MAX, BODY_MAX = 16384, 4096, 65536

# The largest page, in items and in bytes.
PAGE_ITEMS_MAX = openapi.page_items_max()
PAGE_MAX = 1024 * 1024


def rules():
    """About as many rules as fit into a body."""
    return ["bind:%s-%04d.%s.example" % ("r" * 50, i, "s" * 40) for i in range(550)]


def fill(path, key, n):
    """Makes n of the largest credentials through a responder's socket."""
    peer = Peer(path)
    comment = "c" * (KEY_MAX - len(samples.ED25519) - 1)
    body = json.dumps(samples.credential(public_key=samples.ED25519 + " " + comment,
                                         metadata="m" * METADATA_MAX)).encode()
    wide = json.dumps({"acl": rules()}).encode()
    assert BODY_MAX * 9 // 10 < len(wide) <= BODY_MAX
    for _ in range(n):
        made = peer.ask(fastcgi.records(variables(key, "POST", body=body), body, keep=True))
        assert made.status == 201, made
        changed = variables(key, "PATCH", CREDENTIALS + "/" + made.json["id"], wide)
        assert peer.ask(fastcgi.records(changed, wide, keep=True)).status == 200
    peer.close()


def ask_unread(path, said):
    """Sends a request and leaves the answer unread.  Returns the socket, whose buffer is small."""
    sock = fastcgi.connect(path)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.settimeout(60)
    sock.sendall(fastcgi.records(said))
    return sock


class Slow:
    """A client that reads an answer at rate bytes per second."""

    def __init__(self, path, said, rate):
        self.sock = ask_unread(path, said)
        self.rate = rate

    def read(self, n):
        found = b""
        while len(found) < n:
            piece = self.sock.recv(min(n - len(found), max(1, self.rate // 20)))
            if not piece:
                break
            time.sleep(len(piece) / self.rate)
            found += piece
        return found

    def answer(self):
        """Returns the answer, or None if the worker broke it off."""
        try:
            return fastcgi.read_answer(self)
        except (EOFError, OSError):
            return None
        finally:
            self.sock.close()
