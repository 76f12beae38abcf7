# SPDX-License-Identifier: MIT
"""Memory.

A worker's memory and descriptors do not grow with the number of requests.  It frees what it
allocates."""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time

from adit import fastcgi, samples, stack
from adit.case import until
from adit.large import BODY_MAX, Slow, fill
from adit.programs import Peer, Responder, descriptors, memory, variables
from database_faults import close, lock, open_session
from promise import PromiseCase, scaled

CREDENTIALS = "/ssh_credentials"
MIB = 1024 * 1024

# Memory that libraries allocate once and keep is not counted as a leak.
VALGRIND = ("--quiet", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect", "--child-silent-after-fork=no",
            "--vgdb=no", "--num-callers=24")


# Valgrind does not know Landlock.  The worker runs without it, as on an older kernel.
UNKNOWN_CALLS = re.compile(r"--\d+-- WARNING: unhandled \S+ syscall: 444\n(--\d+-- .*\n){4}")


# Tests of other programs, and tests that start copies of the program in folders where the wrapper
# around valgrind fails.
NOT_IN_VALGRIND = ("test_fronts", "test_install_web_servers", "test_front_docs",
                   "test_front_console", "test_console", "test_console_forms",
                   "test_console_history", "test_console_keyboard", "test_console_lists",
                   "test_console_looks",
                   "test_console_modules", "test_console_overview", "test_clients",
                   "test_client_shapes", "test_conf", "test_serve")


def valgrind_program():
    """Debian's valgrind is a script, which hides the name that the wrapper sets."""
    found = shutil.which("valgrind.bin") or shutil.which("valgrind")
    if not found:
        raise AssertionError("valgrind is missing")
    return found


class Mix:
    """An endless mix of requests: answered, refused and broken off."""

    def __init__(self, account, path):
        self.key, self.path = account.admin.key, path
        self.peer = Peer(path)
        self.idents = []
        self.n = 0
        plain = json.dumps(samples.credential(description="mixed")).encode()
        module = json.dumps({"provider": {"provider_a": {
            "client_id": "id", "client_secret": "secret", "scopes": ["a", "b"]}}}).encode()
        oauth, tls = "/edges/https/mix/routes/r/oauth", "/edges/tls/mix/mutual_tls"
        self.steps = [
            ("POST", CREDENTIALS, plain, 201, {}), ("GET", CREDENTIALS, b"", 200, {}),
            ("GET", "@", b"", 200, {}), ("PATCH", "@", b'{"metadata": "m"}', 200, {}),
            ("PUT", oauth, module, 200, {}), ("GET", oauth, b"", 200, {}),
            ("PUT", tls, b'{"enabled": true}', 200, {}), ("GET", tls, b"", 200, {}),
            ("GET", "/livez", b"", 200, {}), ("GET", "/readyz", b"", 200, {}),
            ("OPTIONS", CREDENTIALS, b"", 204, {}), ("HEAD", CREDENTIALS, b"", 200, {}),
            ("GET", CREDENTIALS, b"", 200, {"QUERY_STRING": "limit=2"}),
            ("GET", CREDENTIALS, b"", 400, {"QUERY_STRING": "limit=x"}),
            ("POST", CREDENTIALS, b"{", 400, {}), ("POST", CREDENTIALS, b"[[[[[[", 400, {}),
            ("POST", CREDENTIALS, plain, 401, {"HTTP_AUTHORIZATION": None}),
            ("POST", CREDENTIALS, plain, 401,
             {"HTTP_AUTHORIZATION": "Bearer " + samples.well_formed_key()}),
            ("GET", "/nothing", b"", 404, {}), ("PUT", CREDENTIALS, b"{}", 405, {}),
            ("POST", CREDENTIALS, b" " * 70000, 413, {}),
            ("POST", CREDENTIALS, plain, 415, {"CONTENT_TYPE": "text/plain"}),
            ("DELETE", "@", b"", 204, {}), ("GET", "@", b"", 404, {}),
        ]
        self.prepared = [None if "@" in step[1] else self.records(step) for step in self.steps]

    def records(self, step, keep=True):
        method, path, body, _, changes = step
        if path == "@":
            path = CREDENTIALS + "/" + self.ident
        return fastcgi.records(variables(self.key, method, path, body, **changes), body, keep)

    def ask(self):
        """Sends the next request.  Before every hundredth, one breaks off or uses its own
        connection."""
        at = self.n % len(self.steps)
        step = self.steps[at]
        self.n += 1
        if self.n % 100 == 0:
            self.break_off()
        answer = self.peer.ask(self.prepared[at] or self.records(step))
        if answer.status != step[3]:
            raise AssertionError("%s %s: %r instead of %d" % (step[0], step[1], answer, step[3]))
        if answer.status == 201:
            self.ident = answer.json["id"]

    def break_off(self):
        data = self.prepared[0]
        with fastcgi.connect(self.path) as sock:
            if self.n % 300 == 0:
                sock.sendall(data[:len(data) // 2])
            elif self.n % 200 == 0:
                sock.sendall(b"\xff" * 64)
            else:
                sock.sendall(self.records(self.steps[8], keep=False))
                with sock.makefile("rb") as file:
                    fastcgi.read_answer(file)


class Growth(PromiseCase):
    def open_sessions(self, mix):
        """Opens the database session of each lane that may write: a lane opens it once it is needed,
        such as for what the worker does beside a request."""
        psql = open_session(self.stack)
        peers = [Peer(mix.path) for _ in range(self.stack.n_at_once() // self.stack.n_workers())]
        try:
            lock(psql)
            for peer in peers:
                peer.sock.sendall(mix.records(mix.steps[0]))
            until(lambda: int(self.stack.psql(
                "SELECT count(*) FROM pg_stat_activity WHERE usename = 'adit'"
                " AND wait_event_type = 'Lock'")) >= len(peers), "each lane waits for the lock")
        finally:
            close(psql)
        for peer in peers:
            fastcgi.read_answer(peer.file)
            peer.close()

    def test_mixed_requests(self):
        """Mixed requests, some of them broken, on one worker"""
        warm_up, n = scaled(3000, 10000), scaled(12000, 200000)
        # The test measures memory, so it need not wait for the disk.
        self.stack.psql("ALTER ROLE adit SET synchronous_commit = off")
        self.addCleanup(self.stack.psql, "ALTER ROLE adit RESET synchronous_commit")
        with Responder(self.stack) as responder:
            mix = Mix(self.stack.account("mix"), responder.socket)
            worker, = responder.workers()
            self.open_sessions(mix)
            for _ in range(warm_up):
                mix.ask()
            before, n_descriptors = memory(worker), descriptors(worker)
            started = time.monotonic()
            for _ in range(n - warm_up):
                mix.ask()
            seconds = time.monotonic() - started
            after = memory(worker)
            self.assertEqual(responder.workers(), [worker])
            self.figure("requests", n, at_least=n)
            self.figure("requests a second", int((n - warm_up) / seconds))
            self.figure("resident memory after warm-up", before["Rss"] / MIB, "MiB")
            self.figure("growth after warm-up", (after["Rss"] - before["Rss"]) / MIB, "MiB",
                        at_most=1)
            until(lambda: descriptors(worker) <= n_descriptors, "the first descriptors")
            self.figure("added descriptors", max(descriptors(worker) - n_descriptors, 0), exactly=0)
            mix.peer.close()


class Footprint(PromiseCase):
    def large_bodies(self):
        """(name, method, path, body) of the largest bodies allowed, and of larger ones."""
        oauth, tls = "/edges/https/worst/routes/r/oauth", "/edges/tls/worst/mutual_tls"
        post = ("POST", CREDENTIALS)
        fill = {"[{},": b"[" + b"{}," * (BODY_MAX // 3 - 2) + b"{}]",
                "[[[[": b"[" * BODY_MAX, "spaces": b" " * (BODY_MAX - 2) + b"{}",
                "digits": b"[" + b"1" * (BODY_MAX - 2) + b"]",
                "members": json.dumps({"m%d" % i: i for i in range(4500)}).encode(),
                "a string": json.dumps({"public_key": "x" * 65000}).encode(),
                "escapes": b'{"public_key":"' + b"\\u0041" * 10900 + b'"}',
                "rules": json.dumps({"acl": ["bind:a%d.example" % i for i in range(3500)],
                                     "public_key": samples.ED25519}).encode()}
        for name, body in fill.items():
            yield (name, *post, body[:BODY_MAX])
            yield (name + " to a module", "PUT", tls, body[:BODY_MAX])
        texts = ["a%04d.example" % i for i in range(800)]
        yield ("a module", "PUT", oauth, json.dumps({"provider": {"provider_b": {
            "client_id": "i", "client_secret": "s" * 1000, "scopes": texts,
            "email_domains": texts, "email_addresses": ["a@" + text for text in texts],
            "teams": texts, "organizations": texts}}}).encode()[:BODY_MAX])
        yield ("authorities", "PUT", tls, json.dumps(
            {"certificate_authority_ids": ["ca_%05d" % i for i in range(5000)]}).encode())
        yield ("too large", *post, b"[" * 1000000)

    def worst_inputs(self, path):
        """Returns the size of the largest answer."""
        account = self.stack.account("worst")
        peer = Peer(path)

        def ask(*row, **changes):
            return peer.ask(fastcgi.records(variables(account.admin.key, *row, **changes),
                                            row[2] if len(row) > 2 else b"", keep=True))
        for name, *row in self.large_bodies():
            with self.subTest(name):
                self.assertIn(ask(*row).status // 100, (2, 4))
        page = variables(account.admin.key, "GET", CREDENTIALS, QUERY_STRING="limit=100")
        fill(path, account.admin.key, 100)
        # More requests than the worker has lanes.  Some clients read slowly.
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            slow = [pool.submit(Slow(path, page, 1000000).answer) for _ in range(8)]
            pages = list(pool.map(lambda _: fastcgi.ask(path, page), range(80)))
            pages += [each.result() for each in slow]
        self.assertLessEqual({answer.status for answer in pages}, {200, 503})
        self.assertEqual(ask("GET", CREDENTIALS, HTTP_X="x" * 250000).status, 200)
        many = fastcgi.records([*variables(account.admin.key).items()] + [("A", "")] * 60000)
        self.assertEqual(fastcgi.ask_raw(path, many).status, 200)
        peer.close()
        return max(len(answer.body) for answer in pages)

    def test_worker(self):
        """Proportional memory: one of two workers after one request, and a single worker after the
        worst requests"""
        with Responder(self.stack, 2) as responder:
            # Each peer keeps a worker busy, so that the next peer gets the other worker.
            peers = [Peer(responder.socket) for _ in range(2)]
            said = fastcgi.records(variables(self.home.admin.key), keep=True)
            self.assertEqual([peer.ask(said).status for peer in peers], [200] * 2)
            idle = [memory(pid)["Pss"] for pid in responder.workers()]
            for peer in peers:
                peer.close()
            self.assertEqual(len(idle), 2)
            self.figure("idle worker", max(idle) / MIB, "MiB", at_most=8)
        with Responder(self.stack, 1) as responder:
            largest = self.worst_inputs(responder.socket)
            worker, = responder.workers()
            self.figure("largest page", largest / MIB, "MiB", at_least=0.9, at_most=1)
            # The worker returns the memory of large answers within 250 ms.
            time.sleep(1)
            self.figure("after the worst inputs", memory(worker)["Pss"] / MIB, "MiB", at_most=24)


class Valgrind(PromiseCase):
    def wrap(self):
        """Makes a folder of programs whose adit.fcgi runs in valgrind."""
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        reports = os.path.join(folder, "reports")
        os.mkdir(reports)
        os.chmod(reports, 0o777)
        for name in ("adit.fcgi", "aditctl"):
            shutil.copy(os.path.join(stack.BUILD, name), folder)
        os.rename(os.path.join(folder, "adit.fcgi"), os.path.join(folder, "program"))
        path = os.path.join(folder, "adit.fcgi")
        with open(path, "w", encoding="utf-8") as file:
            # Tests find the responder by this name.
            file.write("#!/bin/bash\nexec -a \"$0\" %s %s --log-file=%s/%%p %s/program \"$@\"\n" % (
                valgrind_program(), " ".join(VALGRIND), reports, folder))
        os.chmod(path, 0o755 | stat.S_IXUSR)
        return folder, reports

    def test_end_to_end(self):
        """The end-to-end tests with responders under valgrind's memcheck, which reports errors and
        leaks when they end.  Tests of settings files and of other programs are left out"""
        folder, reports = self.wrap()
        modules = scaled(["test_fastcgi"], ["--without=" + name for name in NOT_IN_VALGRIND])
        done = subprocess.run(
            [sys.executable, os.path.join(stack.ROOT, "tests", "e2e", "run"), *modules],
            env=dict(os.environ, ADIT_BUILD=folder), capture_output=True, text=True, check=False)
        sums = re.search(r"^e2e: (\d+) passed, (\d+) failed$", done.stdout, re.M)
        self.assertTrue(sums, done.stdout + done.stderr)
        self.figure("end-to-end checks", int(sums.group(1)), at_least=scaled(100, 5000))
        self.figure("failed checks", int(sums.group(2)), exactly=0, why=done.stdout)
        texts = {}
        for path in glob.glob(os.path.join(reports, "*")):
            # A test ends a program with SIGABRT, which leaves valgrind's own core.
            if ".core." in path:
                continue
            with open(path, encoding="utf-8", errors="replace") as file:
                texts[path] = UNKNOWN_CALLS.sub("", file.read())
        self.figure("processes watched", len(texts), at_least=scaled(3, 60))
        bad = [text for text in texts.values() if text.strip()]
        self.figure("processes with a report", len(bad), exactly=0, why="\n".join(bad)[:8000])
