# SPDX-License-Identifier: MIT
"""Tenants.

One account's load does not starve another account.  Pages have a limit in bytes.  Unread answers of
one account take no memory from other accounts.  Requests that wait in the database leave a lane
free for short ones.  They do not delay requests that another worker could answer."""
import concurrent.futures
import json
import os
import signal
import threading
import time

from adit import fastcgi, samples
from adit.large import PAGE_MAX, Slow, ask_unread, fill
from adit.programs import Peer, Responder, signal_all, timed, variables
from database_faults import close, hold, open_session
from promise import PromiseCase, scaled

CREDENTIALS = "/ssh_credentials"


class Pages(PromiseCase):
    def test_pages(self):
        """A client lists a hundred of the largest credentials, page by page"""
        account = self.stack.account("large")
        with Responder(self.stack) as responder:
            fill(responder.socket, account.admin.key, 100)
            sizes, idents, query = [], [], "limit=100"
            while True:
                page = fastcgi.ask(responder.socket, variables(account.admin.key,
                                                               QUERY_STRING=query))
                self.assertEqual(page.status, 200)
                sizes.append(len(page.body))
                rows = page.json["ssh_credentials"]
                self.assertTrue(rows)
                idents += [row["id"] for row in rows]
                if page.json["next_page_uri"] is None:
                    break
                query = page.json["next_page_uri"].partition("?")[2]
        self.figure("pages", len(sizes), at_least=8)
        self.figure("largest page", max(sizes), "bytes", at_most=PAGE_MAX,
                    at_least=PAGE_MAX - 100000)
        self.figure("credentials listed exactly once", len(set(idents)) * (len(idents) == 100),
                    exactly=100)


class Hoards(PromiseCase):
    def setUp(self):
        self.responder = Responder(self.stack, 1)
        self.addCleanup(self.responder.stop)
        self.hoarder = self.stack.account("hoarder")
        fill(self.responder.socket, self.hoarder.admin.key, 15)
        self.page = variables(self.hoarder.admin.key)

    def test_parallel_lists(self):
        """32 clients of one account request the largest page at the same moment and read it at 2
        MB/s, while another account reads pages and uploads 20 KB slowly"""
        other = self.stack.account("other")
        fill(self.responder.socket, other.admin.key, 15)
        body = json.dumps(samples.credential(
            public_key=samples.ED25519 + " " + "c" * 16000, metadata="m" * 4000)).encode()
        upload = fastcgi.records(variables(other.admin.key, "POST", body=body), body)
        sock = fastcgi.connect(self.responder.socket)
        stop = threading.Event()

        def read_pages():
            statuses = []
            while not stop.is_set() or len(statuses) < 3:
                answer = Slow(self.responder.socket, variables(other.admin.key), 8000000).answer()
                statuses.append(answer and answer.status)
            return statuses
        with concurrent.futures.ThreadPoolExecutor(34) as pool:
            reader = pool.submit(read_pages)
            hoard = [pool.submit(Slow(self.responder.socket, self.page, 2000000).answer)
                     for _ in range(32)]
            try:
                for at in range(0, len(upload), 1000):
                    sock.sendall(upload[at:at + 1000])
                    time.sleep(0.05)
                with sock.makefile("rb") as file:
                    made = fastcgi.read_answer(file)
                answers = [each.result() for each in hoard]
            finally:
                stop.set()
                sock.close()
            others = reader.result()
        whole = [answer for answer in answers if answer]
        self.assertTrue(all(len(answer.body) > 900000 for answer in whole if answer.status == 200))
        self.figure("answers cut short", len(answers) - len(whole), exactly=0)
        self.figure("complete pages", sum(answer.status == 200 for answer in whole), at_least=4)
        self.figure("answers of 503", sum(answer.status == 503 for answer in whole))
        self.figure("pages of the other account", len(others), at_least=3)
        self.figure("failed pages of the other account",
                    sum(status != 200 for status in others), exactly=0)
        self.figure("status of the upload", made.status, exactly=201)

    def test_unread(self):
        """One account requests 60 of the largest pages and reads none of them, while others read
        theirs"""
        held = []
        for _ in range(60):
            held.append(ask_unread(self.responder.socket, self.page))
        other = self.stack.account("reader")
        fill(self.responder.socket, other.admin.key, 15)
        statuses = [fastcgi.ask(self.responder.socket, variables(other.admin.key)).status
                    for _ in range(scaled(10, 100))]
        refused = 0
        for sock in held:
            with sock, sock.makefile("rb") as file:
                answer = fastcgi.read_answer(file)
                self.assertIn(answer.status, (200, 503))
                if answer.status == 503:
                    self.assertEqual(answer.json["error_code"], "ERR_SERVICE_9064")
                    refused += 1
        self.figure("answers of 503", refused, at_least=40, at_most=56)
        self.figure("failed pages of other accounts", sum(status != 200 for status in statuses),
                    exactly=0)


class StuckLanes(PromiseCase):
    """Writes that wait for a lock occupy all lanes that writes may use."""

    N_WORKERS = 2

    def setUp(self):
        self.responder = Responder(self.stack, self.N_WORKERS)
        self.addCleanup(self.responder.stop)
        self.account = self.stack.account("stuck")
        self.body = b'{"metadata": "m"}'
        self.ident = self.make(self.account.admin.key)
        self.held = []
        self.addCleanup(self.let_go)

    def make(self, key):
        body = json.dumps(samples.credential()).encode()
        answer = fastcgi.ask(self.responder.socket, variables(key, "POST", body=body), body)
        self.assertEqual(answer.status, 201)
        return answer.json["id"]

    def let_go(self):
        for sock in self.held:
            sock.close()

    def patch(self):
        sock = fastcgi.connect(self.responder.socket)
        sock.sendall(fastcgi.records(variables(
            self.account.admin.key, "PATCH", CREDENTIALS + "/" + self.ident, self.body), self.body))
        self.held.append(sock)

    def worst(self, key, path, status=200, seconds=1):
        """Returns the longest time of the requests."""
        worst, until_s = 0, time.monotonic() + seconds
        while time.monotonic() < until_s:
            answer, took = timed(fastcgi.ask, self.responder.socket, variables(key, path=path))
            self.assertEqual(answer.status, status)
            worst = max(worst, took)
            time.sleep(0.01)
        return worst

    def stuck(self, n):
        holder = open_session(self.stack)
        self.addCleanup(close, holder)
        hold(holder, "UPDATE adit.ssh_credential SET metadata = 'held' WHERE id = '%s'"
             % self.ident)
        for _ in range(n):
            self.patch()
        time.sleep(0.1)

    def test_behind_a_lock(self):
        """PATCHes of one row, more than there are lanes, wait for its lock while another account
        reads"""
        other = self.stack.account("bystander").admin.key
        ident = self.make(other)
        # Connects the lanes to the database.
        self.worst(other, CREDENTIALS + "/" + ident)
        self.stuck(scaled(16, 60))
        self.figure("longest GET of another account", self.worst(other, CREDENTIALS + "/" + ident),
                    "s", at_most=0.25)
        self.figure("longest GET of /livez", self.worst(None, "/livez", seconds=0.5), "s",
                    at_most=0.05)

    def patch_on(self, is_over):
        while not is_over.is_set():
            fastcgi.ask(self.responder.socket, variables(
                self.account.admin.key, "PATCH", CREDENTIALS + "/" + self.ident, self.body),
                self.body)

    def test_behind_locks(self):
        """20 clients of one account PATCH a locked row again and again, while another account
        lists"""
        other = self.stack.account("neighbour").admin.key
        self.make(other)
        self.worst(other, CREDENTIALS)
        is_over = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            self.stuck(0)
            try:
                clients = [pool.submit(self.patch_on, is_over) for _ in range(20)]
                # The first take all lanes, until PostgreSQL gives up on the lock.
                time.sleep(2.5)
                worst = self.worst(other, CREDENTIALS, seconds=scaled(4, 20))
            finally:
                is_over.set()
        for client in clients:
            client.result()
        self.figure("longest list of another account", worst, "s", at_most=0.5)

    def test_behind_a_database(self):
        """PATCHes, more than there are lanes, wait for a database that does not answer, while a
        client reads /livez"""
        postmaster = self.stack.postmaster()
        self.stuck(0)
        backends = [int(pid) for pid in self.stack.psql(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'adit'").split()]
        try:
            signal_all([postmaster, *backends], signal.SIGSTOP)
            for _ in range(scaled(16, 60)):
                self.patch()
            time.sleep(0.1)
            worst = self.worst(None, "/livez", seconds=scaled(1, 6))
        finally:
            signal_all([postmaster, *backends], signal.SIGCONT)
        self.figure("longest GET of /livez", worst, "s", at_most=0.05)

    def test_idle_worker(self):
        """A write arrives on a kept connection of a worker without a free lane, while the other
        worker is idle"""
        first, second = self.responder.workers()
        os.kill(second, signal.SIGSTOP)
        try:
            peer = Peer(self.responder.socket)
            said = variables(None, path="/livez")
            self.assertEqual(peer.ask(fastcgi.records(said, keep=True)).status, 200)
            self.stuck(5)
        finally:
            os.kill(second, signal.SIGCONT)
        path = "/edges/tls/idle/mutual_tls"
        records = fastcgi.records(variables(self.account.admin.key, "PUT", path, b"{}"), b"{}",
                                  keep=True)
        slowest = 0
        for _ in range(scaled(3, 10)):
            answer, took = timed(peer.ask, records)
            self.assertEqual(answer.status, 200)
            slowest = max(slowest, took)
        self.figure("longest PUT", slowest, "s", at_most=0.25)
        self.assertEqual(self.responder.workers(), [first, second])
        peer.close()


class Busy(PromiseCase):
    """More clients than places.  Each sends its next request as soon as it has an answer."""

    N_KEPT, N_NEW = 48, 8

    @staticmethod
    def read_raw(file):
        """Reads an answer without parsing it, so that the clients are not the bottleneck."""
        out = b""
        while True:
            head = fastcgi.read_exactly(file, 8)
            content = fastcgi.read_exactly(file, int.from_bytes(head[4:6], "big") + head[6])
            if head[1] == fastcgi.END:
                return out
            out = out or content[:11]

    def ask_new(self):
        with fastcgi.connect(self.responder.socket) as sock, sock.makefile("rb") as file:
            sock.sendall(self.once)
            return self.read_raw(file)

    def ask_kept(self, peer):
        peer.sock.sendall(self.kept)
        return self.read_raw(peer.file)

    def ask_until(self, seconds, ask):
        took = []
        self.together.wait()
        stop = time.monotonic() + seconds
        while not took or time.monotonic() < stop:
            answer, seconds = timed(ask)
            self.assertEqual(answer, b"Status: 200")
            took.append(seconds)
        return took

    def test_more_clients_than_places(self):
        """48 clients on kept connections list without a pause, while 8 others open a new connection
        for each request"""
        key = self.stack.account("busy").admin.key
        body = json.dumps(samples.credential()).encode()
        self.together = threading.Barrier(self.N_KEPT + self.N_NEW)
        with Responder(self.stack, 2) as self.responder:
            for _ in range(50):
                fastcgi.ask(self.responder.socket, variables(key, "POST", body=body), body)
            self.once = fastcgi.records(variables(key))
            self.kept = fastcgi.records(variables(key), keep=True)
            peers = [Peer(self.responder.socket) for _ in range(self.N_KEPT)]
            for peer in peers:
                self.ask_kept(peer)
            asks = [lambda peer=peer: self.ask_kept(peer) for peer in peers]
            asks += [self.ask_new] * self.N_NEW
            with concurrent.futures.ThreadPoolExecutor(len(asks)) as pool:
                took = [call.result() for call in [
                    pool.submit(self.ask_until, scaled(4, 20), ask) for ask in asks]]
            for peer in peers:
                peer.close()
        self.figure("requests", sum(map(len, took)), at_least=scaled(1000, 5000))
        self.figure("slowest on a kept connection", max(map(max, took[:self.N_KEPT])), "s",
                    at_most=2)
        self.figure("slowest on a new connection", max(map(max, took[self.N_KEPT:])), "s",
                    at_most=2)
