# SPDX-License-Identifier: MIT
"""Slow clients.

A client that reads or sends slowly has time.  One that stands still, or never ends, does not hold
its place for ever."""
import concurrent.futures
import time

from adit import fastcgi
from adit.case import until
from adit.large import Slow, ask_unread, fill
from adit.programs import Responder, timed, variables
from promise import PromiseCase


class Deadlines(PromiseCase):
    def test_slow_readers(self):
        """One client reads a page at 25 KB/s, another reads nothing of its page, and a third sends
        a request at a byte every 20 ms, all at the same time"""
        account = self.stack.account("slow")
        with Responder(self.stack) as responder:
            fill(responder.socket, account.admin.key, 15)
            said = variables(account.admin.key)
            idle = ask_unread(responder.socket, said)
            started = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                slow = pool.submit(timed, Slow(responder.socket, said, 25000).answer)
                drip = pool.submit(self.drip, responder.socket)
                until(lambda: b"was not read in time" in responder.log(), "a dropped reader",
                      seconds=45)
                dropped = time.monotonic() - started
                answer, seconds = slow.result()
                dripped = drip.result()
            idle.close()
        self.figure("unread connection dropped after", dropped, "s", at_least=29, at_most=35)
        self.figure("slow page read after", seconds, "s", at_least=32)
        self.figure("size of the slow page", len(answer.body) if answer else 0, "bytes",
                    at_least=900000)
        self.figure("slow request dropped after", dripped, "s", at_least=58,
                    at_most=64)

    @staticmethod
    def drip(path):
        data = fastcgi.records(variables(None, HTTP_X="x" * 60000))
        started = time.monotonic()
        with fastcgi.connect(path) as sock:
            try:
                for byte in data:
                    sock.send(bytes([byte]))
                    time.sleep(0.02)
                    if time.monotonic() - started > 70:
                        break
            except OSError:
                pass
        return time.monotonic() - started
