# SPDX-License-Identifier: MIT
"""doc/operate/limit.md, the chapters about the disk and about HAProxy's limits.  machine_hosts follows
the others."""
import contextlib
import http.client
import http.server
import re
import shutil
import socket
import threading

from adit import programs, recipe, samples, stack
from adit.case import Case, until
from adit.page import Page


class Disk(Case):
    def test_the_page(self):
        account = self.stack.account("disk")
        client = self.stack.client(account.admin.key)
        made = self.assert_ok(client.post("/ssh_credentials", samples.credential(
            metadata="m" * 4000)), 201)
        for n in range(20):
            self.assert_ok(client.patch("/ssh_credentials/" + made["id"], {"description": str(n)}))
        key_id = self.stack.psql("SELECT max(api_key_id) FROM adit.audit_event WHERE resource = '%s'"
                                 % made["id"])
        old = self.stack.psql("INSERT INTO adit.audit_event (at, event, account_id, resource)"
                              " VALUES (now() - interval '91 days', 'user_updated', '%s', 'usr_x')"
                              " RETURNING id" % account.id)
        page = Page(self, "limit.md")
        page.add_runuser(self.stack)
        see, purge, delete, shrink = page.scripts["Disk"]
        shown = page.run(see)
        self.assertRegex(shown, r"(?m)^ %s +\| +21 \| [0-9]+ kB$" % key_id)
        self.assertRegex(shown, r"(?m)^[0-9]+ (kB|MB)$")
        page.run(purge)
        self.assertEqual(self.events("id = %s" % old), "0")
        self.assertNotEqual(self.events("api_key_id IS NULL"), "0")
        page.run("leaked='%s'" % key_id)
        self.assertIn("DELETE 21\n", page.run(delete))
        self.assertEqual(self.events("resource = '%s'" % made["id"]), "0")
        self.assertEqual(page.run(shrink), "VACUUM\n")
        self.assert_ok(client.get("/ssh_credentials/" + made["id"]))

    def events(self, condition):
        return self.stack.psql("SELECT count(*) FROM adit.audit_event WHERE " + condition)


class Application(http.server.ThreadingHTTPServer):
    """It answers each request with 200."""
    daemon_threads = True

    def handle_error(self, *_):
        """A balancer that ends a connection is no error."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Balancer(Case):
    """The limits of HAProxy, in the frontend of drain.md, for a minute instead of a second: a busy
    machine answers too few requests in a second to meet them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        application = Application(("127.0.0.1", 0), Handler)
        threading.Thread(target=application.serve_forever, args=(0.05,), daemon=True).start()
        cls.addClassCleanup(application.server_close)
        cls.addClassCleanup(application.shutdown)
        cls.port = stack.free_port()
        path = cls.folder() + "/haproxy.cfg"
        with open(path, "w", encoding="utf-8") as file:
            file.write(cls.configuration(application.server_address[1]))
        cls.program = programs.Program(cls.stack, lambda _: ["haproxy", "-f", path], "balancer",
                                       dict(programs.ENV, PATH="/usr/sbin:/usr/bin:/bin"))
        cls.addClassCleanup(cls.program.stop)
        until(cls.listens, "HAProxy")

    @classmethod
    def folder(cls):
        made = stack.make_folder()
        cls.addClassCleanup(shutil.rmtree, made, ignore_errors=True)
        return made

    @classmethod
    def configuration(cls, application):
        """What the two pages make of /etc/haproxy/haproxy.cfg."""
        whole = re.search(r"(?ms)^cat >/etc/haproxy/haproxy.cfg <<'END'\n(.*?)^END$",
                          "".join(dict(recipe.chapters("drain.md"))["HAProxy"])).group(1)
        inside, behind = re.findall(r"(?ms)<<'END'\n(.*?)^END$",
                                    "".join(dict(recipe.chapters("limit.md"))["HAProxy"]))
        whole = whole.replace("    default_backend adit\n", "    default_backend adit\n" + inside) + behind
        for old, new in (("    user haproxy\n    group haproxy\n", ""), ("    log /dev/log local0\n", ""),
                         ("127.0.0.1:881", "127.0.0.1:%d" % cls.port),
                         ("    server host-b host-b:880 check\n", ""),
                         ("http_req_rate(1s)", "http_req_rate(60s)"),
                         ("host-a:880 check", "127.0.0.1:%d" % application)):
            assert old in whole, old
            whole = whole.replace(old, new)
        return whole

    @classmethod
    def listens(cls):
        try:
            socket.create_connection(("127.0.0.1", cls.port)).close()
        except OSError:
            return False
        return True

    def send(self, source, n, key):
        """The statuses of n requests of an address."""
        statuses = []
        with contextlib.closing(http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=30, source_address=(source, 0))) as connection:
            for _ in range(n):
                connection.request("GET", "/ssh_credentials",
                                   headers={"Authorization": "Bearer " + key})
                answer = connection.getresponse()
                answer.read()
                statuses.append(answer.status)
        return statuses

    def test_one_key_in_a_loop(self):
        """Its requests are refused.  Those of other keys of its address are not."""
        self.assertEqual(self.send("127.0.0.5", 300, samples.well_formed_key()),
                         [200] * 40 + [429] * 260)
        self.assertEqual(self.send("127.0.0.5", 1, samples.well_formed_key()), [200])

    def test_one_address(self):
        """Keys that are made up, one for each request, meet the limit of the address."""
        statuses = [self.send("127.0.0.6", 1, samples.well_formed_key())[0] for _ in range(220)]
        self.assertEqual(statuses, [200] * 200 + [429] * 20)
        self.assertEqual(self.send("127.0.0.7", 1, samples.well_formed_key()), [200])

    def is_answered(self, source):
        try:
            return self.send(source, 1, samples.well_formed_key()) == [200]
        except (http.client.HTTPException, OSError):
            return False

    def test_connections(self):
        """An address has 200 connections, and gets no more of them.  Others do."""
        with contextlib.ExitStack() as held:
            def is_refused():
                # The request before may have had the place of one of these.
                for _ in range(220):
                    held.enter_context(socket.create_connection(
                        ("127.0.0.1", self.port), source_address=("127.0.0.8", 0)))
                return not self.is_answered("127.0.0.8")
            until(is_refused, "refusals")
            self.assertTrue(self.is_answered("127.0.0.9"))
        until(lambda: self.is_answered("127.0.0.8"), "an answer after the connections have ended")
