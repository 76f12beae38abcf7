# SPDX-License-Identifier: MIT
"""Effects of one account on others: refusals that keep a share of the service for everybody."""
import contextlib
import subprocess

from adit import fastcgi, samples
from adit.case import Case
from adit.large import CREDENTIALS, ask_unread, fill
from adit.programs import Responder, variables


class Tenants(Case):
    def test_answers_that_nobody_reads(self):
        """An account that reads no answers gets no more of them.  Another account does."""
        hoarder, other = self.stack.account().admin.key, self.stack.account().admin.key
        with Responder(self.stack) as responder, contextlib.ExitStack() as held:
            for key in (hoarder, other):
                fill(responder.socket, key, 15)
            unread = [held.enter_context(ask_unread(responder.socket, variables(hoarder)))
                      for _ in range(16)]
            page = fastcgi.ask(responder.socket, variables(other))
            self.assertEqual((page.status, len(page.json["ssh_credentials"]) > 8), (200, True))
            small = fastcgi.ask(responder.socket, variables(hoarder, QUERY_STRING="limit=0"))
            self.assertEqual(small.status, 400)
            answers = []
            for sock in unread:
                with sock.makefile("rb") as file:
                    answers.append(fastcgi.read_answer(file))
            refused = [self.check(answer, 9064) for answer in answers if answer.status != 200]
            self.assertGreater(len(refused), 4)
            self.assertLess(len(refused), 13)
            # Reading the answers frees the account's share.
            self.assertEqual(fastcgi.ask(responder.socket, variables(hoarder)).status, 200)

    def check(self, answer, number):
        self.assert_error(answer, number)
        self.assertEqual(answer.header("Retry-After"), "1")
        return answer

    def slow_rows(self, client, n):
        """Makes credentials whose change takes more than a second each."""
        self.stack.psql("""
            CREATE FUNCTION public.sleep_first() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_catalog.pg_sleep(1.2); RETURN NEW; END';
            CREATE TRIGGER a_sleep BEFORE UPDATE ON adit.ssh_credential FOR EACH ROW
                WHEN (OLD.description = 'slow') EXECUTE FUNCTION public.sleep_first()""")
        self.addCleanup(self.stack.psql, "DROP FUNCTION public.sleep_first() CASCADE")
        return [client.post(CREDENTIALS, samples.credential(description="slow")).json["id"]
                for _ in range(n)]

    def test_overdue(self):
        """A request that waits too long for a lane is refused and does not run."""
        key = self.stack.account().admin.key
        client = self.stack.client(key)
        body, answers = b'{"metadata": "changed"}', []
        with Responder(self.stack) as responder, contextlib.ExitStack() as held:
            waiting = []
            for ident in self.slow_rows(client, 24):
                said = variables(key, "PATCH", CREDENTIALS + "/" + ident, body)
                sock = held.enter_context(fastcgi.connect(responder.socket))
                sock.settimeout(30)
                sock.sendall(fastcgi.records(said, body))
                waiting.append((ident, sock, fastcgi.asked_by(said, body)))
            for ident, sock, asked in waiting:
                with sock.makefile("rb") as file:
                    answers.append((ident, fastcgi.read_answer(file, asked)))
        overdue = [ident for ident, answer in answers if answer.status != 200]
        for ident, answer in answers:
            if ident in overdue:
                self.check(answer, 9063)
            self.assertEqual(client.get(CREDENTIALS + "/" + ident).json["metadata"],
                             "" if ident in overdue else "changed")
        self.assertGreater(len(overdue), 3)
        self.assertLess(len(overdue), 21)

    def lock_oauth_modules(self):
        """A session that keeps everybody from the table until the test ends."""
        psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=self.stack.pg_env(),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(psql.communicate)
        psql.stdin.write("BEGIN; LOCK TABLE adit.oauth_module IN ACCESS EXCLUSIVE MODE;"
                         " \\echo locked\n")
        psql.stdin.flush()
        self.assertEqual(psql.stdout.readline(), "locked\n")

    def test_slow_filters(self):
        """One account's filters, none of which ends, take no lane from other accounts: these write,
        list and filter, and /readyz answers."""
        self.check_slow_filters("HTTP_AUTHORIZATION")

    def test_slow_filters_behind_rewriting(self):
        """The same where Apache's mod_rewrite renames the header."""
        self.check_slow_filters("REDIRECT_HTTP_AUTHORIZATION")

    def check_slow_filters(self, header):
        key = self.stack.account().admin.key
        other = self.stack.account().admin.key
        client = self.stack.client(other)
        made = CREDENTIALS + "/" + client.post(CREDENTIALS, samples.credential()).json["id"]
        edge, body = "/edges/tls/slow/mutual_tls", b'{"certificate_authority_ids": ["a"]}'
        self.lock_oauth_modules()
        with Responder(self.stack) as responder, contextlib.ExitStack() as held:
            def said(key, *arguments, **changes):
                found = variables(None, *arguments, **changes)
                return {**found, header: "Bearer " + key} if key else found

            def ask(key, method="GET", path=CREDENTIALS, body=b"", **changes):
                return fastcgi.ask(responder.socket, said(key, method, path, body, **changes),
                                   body).status
            self.assertEqual(ask(other), 200)
            for i in range(120):
                # However the name is written, it is a filter.
                query = "%s=obj.enabled" % ("filter", "%66ilter", "f%69lter")[i % 3]
                sock = held.enter_context(fastcgi.connect(responder.socket))
                sock.sendall(fastcgi.records(said(key, path="/oauth_modules",
                                                  QUERY_STRING=query)))
            for _ in range(5):
                self.assertEqual(ask(other, "PATCH", made, b'{"metadata": "m"}'), 200)
                self.assertEqual(ask(other, "PUT", edge, body), 200)
                self.assertEqual(ask(other), 200)
                self.assertEqual(ask(other, QUERY_STRING="filter=obj.id+!%3D+%22%22"), 200)
                self.assertEqual(ask(None, path="/readyz"), 200)
            self.assertEqual(ask(other, "DELETE", made), 204)

    def test_filters_of_a_new_key(self):
        """A filter runs beside one that began before anything was known of its key."""
        key = self.stack.account().admin.key
        self.lock_oauth_modules()
        with Responder(self.stack) as responder, contextlib.ExitStack() as held:
            def send(**changes):
                sock = held.enter_context(fastcgi.connect(responder.socket))
                sock.sendall(fastcgi.records(variables(key, **changes)))
                return held.enter_context(sock.makefile("rb"))
            waits = send(path="/oauth_modules", QUERY_STRING="filter=obj.enabled")
            self.assertEqual(fastcgi.read_answer(send()).status, 200)
            beside = fastcgi.read_answer(send(QUERY_STRING="filter=obj.id+!%3D+%22%22"))
            self.assertEqual(beside.status, 200, beside)
            self.assert_error(fastcgi.read_answer(waits), 9032)

    def test_two_paths(self):
        """A web server that sends the path twice cannot run a request without its database
        session."""
        key = self.stack.account().admin.key
        client = self.stack.client(key)
        idents = self.slow_rows(client, 12)
        body = b'{"metadata": "changed"}'
        with Responder(self.stack) as responder, contextlib.ExitStack() as held:
            fastcgi.ask(responder.socket, variables(None, path="/livez"))
            workers = responder.workers()
            for ident in idents:
                sock = held.enter_context(fastcgi.connect(responder.socket))
                sock.sendall(fastcgi.records(
                    variables(key, "PATCH", CREDENTIALS + "/" + ident, body), body))
            for first, last, statuses in (("/livez", CREDENTIALS, (200, 503)),
                                          ("", CREDENTIALS, (200, 503)),
                                          (CREDENTIALS, "/livez", (200,))):
                said = [*variables(key, path=first).items(), ("PATH_INFO", last)]
                with self.subTest("%s %s" % (first, last)):
                    answer = fastcgi.ask_raw(responder.socket, fastcgi.records(said),
                                             fastcgi.asked_by(variables(key, path=last)))
                    self.assertIn(answer.status, statuses)
            self.assertEqual(responder.workers(), workers)
