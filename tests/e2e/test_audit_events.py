# SPDX-License-Identifier: MIT
"""Audit events over HTTP: what an admin sees of each change, pages, filters and accounts."""
import calendar
import pwd
import os
import random
import threading
import time
import urllib.parse

from adit import samples
from adit.case import Case
from adit.large import PAGE_ITEMS_MAX

EVENTS = "/audit_events"
OAUTH = "/edges/https/e/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/e/mutual_tls"
SECRET = "a secret that no event shows"
MEMBERS = ["id", "uri", "created_at", "event", "resource", "principal", "api_key_id",
           "operation_id", "client_address", "operator", "database_user", "changed", "before", "after"]


def module(secret=SECRET, **more):
    return {"provider": {"provider_a": {"client_id": "app", "client_secret": secret,
                                        "teams": ["org/team"]}}, **more}


def seconds(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))


class AuditEvents(Case):
    def setUp(self):
        self.account = self.stack.account("audited")
        self.client = self.stack.client(self.account.admin.key)

    def ask(self, query="", client=None):
        return self.assert_ok((client or self.client).get(EVENTS + query))

    def walk(self, query="", between=lambda: None):
        """Follows next_page_uri to the end.  Returns the events, newest first."""
        events, target = [], EVENTS + query
        while target:
            page = self.assert_ok(self.client.get(target))
            self.assertEqual(list(page), ["audit_events", "uri", "next_page_uri"])
            events += page["audit_events"]
            if page["next_page_uri"]:
                self.assertTrue(page["audit_events"])
            target = page["next_page_uri"] and page["next_page_uri"][len(self.stack.url):]
            between()
        return events

    def filtered(self, expression):
        return self.walk("?limit=3&filter=" + urllib.parse.quote(expression))

    def latest(self, n=1):
        """The latest events, oldest first."""
        return self.ask("?limit=%d" % n)["audit_events"][::-1]

    def key_id(self):
        return self.stack.psql("SELECT id FROM adit.api_key WHERE principal_id = '%s'"
                               % self.account.admin.id)

    def change_all(self):
        """One event and more of each kind."""
        made = self.client.post("/ssh_credentials", samples.credential(description='"\\\n\u00e9'))
        path = "/ssh_credentials/" + made.json["id"]
        self.client.patch(path, {"acl": ["bind:*.example.com"], "metadata": "m"})
        self.client.delete(path)
        self.client.put(OAUTH, module())
        self.client.put(OAUTH, module("other", cookie_prefix="c."))
        self.client.put(OAUTH, {})
        self.client.delete(OAUTH)
        self.client.put(MUTUAL_TLS, {"certificate_authority_ids": ["ca_1", "ca_2"]})
        self.client.put(MUTUAL_TLS, {"enabled": False})
        self.client.delete(MUTUAL_TLS)
        return made.json["id"]

    def test_a_credential(self):
        made = self.client.post("/ssh_credentials", samples.credential(description='"\\\n\u00e9'))
        path = "/ssh_credentials/" + made.json["id"]
        changed = self.client.patch(path, {"metadata": "m", "acl": ["*"]})
        gone = self.client.delete(path)
        events = self.latest(3)
        for event, answer in zip(events, (made, changed, gone)):
            self.assertEqual(list(event), MEMBERS)
            self.assertEqual(event["uri"], self.stack.url + EVENTS + "/" + event["id"])
            self.assertEqual(event["resource"], {"id": made.json["id"],
                                                 "uri": self.stack.url + path})
            self.assertEqual(event["principal"], {
                "id": self.account.admin.id,
                "uri": self.stack.url + "/users/" + self.account.admin.id})
            self.assertEqual(event["api_key_id"], self.key_id())
            self.assertEqual(event["operation_id"], answer.header("Service-Operation-Id"))
            self.assertEqual((event["client_address"], event["operator"]), ("127.0.0.1", None))
            self.assertRegex(event["created_at"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual([(event["event"], event["changed"], event["before"], event["after"])
                          for event in events],
                         [("ssh_credential_created", [], None, made.json),
                          ("ssh_credential_updated", ["acl", "metadata"], made.json, changed.json),
                          ("ssh_credential_deleted", [], changed.json, None)])

    def test_modules(self):
        shown = []
        for path, body in ((OAUTH, module()), (OAUTH, {"provider": {"provider_b": {}}}),
                           (OAUTH, {}),
                           (MUTUAL_TLS, {"certificate_authority_ids": ["ca_1", "ca_2"]}),
                           (MUTUAL_TLS, {"enabled": False})):
            self.assert_ok(self.client.put(path, body))
            shown.append(self.stack.client(self.account.read_only_key).get(path).json)
        events = [event for event in self.latest(6) if "module" in event["event"]]
        self.assertEqual([event["after"] for event in events], shown)
        self.assertEqual([event["before"] for event in events],
                         [None, shown[0], shown[1], None, shown[3]])
        self.assertEqual([sorted(event["changed"]) for event in events], [
            [], ["provider", "provider.client_id", "provider.client_secret", "provider.teams"],
            ["provider"], [], ["certificate_authorities", "enabled"]])
        self.assertEqual([event["resource"] for event in events],
                         [{"id": "e/r", "uri": self.stack.url + OAUTH}] * 3
                         + [{"id": "e", "uri": self.stack.url + MUTUAL_TLS}] * 2)

    def test_no_secrets(self):
        self.client.put(OAUTH, module())
        self.client.put(OAUTH, module(SECRET + "2"))
        self.account.admin.issue("--description", "another")
        text = self.client.get(EVENTS).body.decode()
        for hidden in (SECRET, "client_secret_sealed", "client_secret_key_id", "digest",
                       "audited"):
            self.assertNotIn(hidden, text)
        self.assertIn("provider.client_secret", text)

    def test_what_aditctl_does(self):
        """Accounts, Users and keys have no address that answers, and no name that is shown."""
        self.account.admin.issue("--read-only", "--description", "a laptop")
        event, = self.latest()
        me = pwd.getpwuid(os.geteuid()).pw_name
        self.assertEqual([event[name] for name in MEMBERS[5:12]], [
            None, None, None, None, event["operator"], "postgres", []])
        self.assertTrue(event["operator"].startswith(me))
        self.assertEqual(event["resource"]["uri"],
                         self.stack.url + "/api_keys/" + event["resource"]["id"])
        # The event is later than its transaction's beginning.  On nodes of Citus, the clocks of two
        # nodes gave these times.
        created_at = event["after"]["created_at"]
        self.assertLess(abs(seconds(event["created_at"]) - seconds(created_at)), 10)
        self.assertEqual(event["after"], {
            "id": event["resource"]["id"], "created_at": created_at,
            "principal_id": self.account.admin.id, "description": "a laptop", "read_only": True,
            "scope": "account", "expires_at": None, "revoked_at": None})
        first = self.walk()[-2:]
        self.assertEqual([event["event"] for event in first],
                         ["principal_created", "account_created"])
        self.assertEqual(list(first[0]["after"]),
                         ["id", "created_at", "kind", "is_admin", "disabled_at"])
        self.assertEqual(list(first[1]["after"]), ["id", "created_at"])
        self.assertEqual(first[0]["resource"]["uri"],
                         self.stack.url + "/users/" + self.account.admin.id)

    def test_times_of_another_zone(self):
        self.stack.psql("SET timezone = 'Asia/Kathmandu'; INSERT INTO adit.principal"
                        " (account_id, id, kind, created_at) VALUES ('%s', 'bot_' || repeat('0', 20)"
                        " || substr(md5(random()::text), 1, 7), 'bot', '2026-01-01 00:00:00.9Z')"
                        % self.account.id)
        event, = self.latest()
        self.assertEqual(event["after"]["created_at"], "2026-01-01T00:00:00Z")
        self.assertEqual(event["resource"]["uri"],
                         self.stack.url + "/bot_users/" + event["resource"]["id"])

    def test_one_event(self):
        self.client.put(MUTUAL_TLS, {})
        event, = self.latest()
        answer = self.client.get(EVENTS + "/" + event["id"])
        self.assertEqual(self.assert_ok(answer), event)
        self.assertEqual(self.client.get(
            EVENTS + "/" + event["id"], more=[("If-None-Match", answer.header("ETag"))]).status, 304)
        number = event["id"].removeprefix("ae_").lstrip("0")
        self.assertEqual(self.assert_ok(self.client.get(EVENTS + "/ae_" + number)), event)
        self.assertEqual(self.filtered('obj.id == "%s"' % event["id"]), [event])
        self.assertEqual(self.filtered('obj.id == "ae_%s"' % number), [])
        for ident in ("ae_9223372036854775807", "ae_0", "ae_", "ae_x", "ae_-1", "ae_1" + "0" * 19,
                      number, "sshcr_1"):
            self.assert_error(self.client.get(EVENTS + "/" + ident), 9083)
        self.assert_error(self.client.get(EVENTS + "/a%20b"), 9070)

    def test_admins_only(self):
        self.client.put(MUTUAL_TLS, {})
        event, = self.latest()
        other = self.stack.account("stranger")
        reader = self.account.admin.issue("--read-only")
        for target in EVENTS, EVENTS + "/" + event["id"], EVENTS + "/x", EVENTS + "/a%20b":
            for key, number in ((self.account.member.key, 9078), (self.account.bot.key, 9078),
                                (self.account.gateway_key, 9071)):
                self.assert_error(self.stack.client(key).get(target), number)
        self.assert_ok(self.stack.client(reader).get(EVENTS + "/" + event["id"]))
        stranger = self.stack.client(other.admin.key)
        self.assert_error(stranger.get(EVENTS + "/" + event["id"]), 9083)
        self.assertNotIn(self.account.id.encode(), stranger.get(EVENTS).body)
        self.assertNotIn(event["id"], [row["id"] for row in self.ask(client=stranger)[
            "audit_events"]])
        # Who is an admin is asked each time.
        self.stack.psql("UPDATE adit.principal SET is_admin = false WHERE id = '%s'"
                        % self.account.admin.id)
        self.assert_error(self.client.get(EVENTS), 9078)

    def test_pages(self):
        for i in range(12):
            self.client.put(MUTUAL_TLS, {"enabled": i % 2 == 0})
        all_events = self.walk()
        idents = [event["id"] for event in all_events]
        self.assertEqual(idents, sorted(set(idents), reverse=True))
        for limit in (1, 4, len(idents) - 1, len(idents), PAGE_ITEMS_MAX):
            self.assertEqual(self.walk("?limit=%d" % limit), all_events)
        self.assertEqual(self.walk("?before_id=" + idents[3]), all_events[4:])
        self.assertEqual(self.walk("?beforeId=ae_" + idents[3][3:].lstrip("0")), all_events[4:])
        self.assertEqual(self.walk("?before_id="), all_events)
        for value in ("1", "ae_", "ae_x", "sshcr_1", "ae_1.5", "a%20b"):
            self.assert_error(self.client.get(EVENTS + "?before_id=" + value), 9009)
        for query, number in (("limit=0", 233), ("limit=x", 244), ("after_id=a", 231),
                              ("limit=1&limit=1", 232)):
            self.assert_error(self.client.get(EVENTS + "?" + query), number)

    def test_pages_while_changes_are_made(self):
        for i in range(20):
            self.client.put(MUTUAL_TLS, {"enabled": i % 2 == 0})
        before = [event["id"] for event in self.walk()]
        stop = threading.Event()

        def change():
            client = self.stack.client(self.account.admin.key)
            while not stop.is_set():
                client.put(MUTUAL_TLS, {"enabled": bool(random.getrandbits(1))})
        worker = threading.Thread(target=change)
        worker.start()
        try:
            for _ in range(3):
                seen = [event["id"] for event in self.walk("?limit=5")]
                self.assertEqual(seen, sorted(set(seen), reverse=True))
                self.assertEqual(seen[-len(before):], before)
        finally:
            stop.set()
            worker.join()

    def test_filters(self):
        ident = self.change_all()
        events = self.walk()
        mine = self.account.admin.id
        for expression, holds in (
                ('obj.id == "%s"' % events[2]["id"], lambda e: e == events[2]),
                ('obj.id >= "%s"' % events[4]["id"], lambda e: e["id"] >= events[4]["id"]),
                ('obj.event == "ssh_credential_updated"',
                 lambda e: e["event"] == "ssh_credential_updated"),
                ('obj.event.startsWith("oauth_module_") && !(obj.before == null)',
                 lambda e: e["event"].startswith("oauth_") and e["before"] is not None),
                ('obj.resource.id == "%s"' % ident, lambda e: e["resource"]["id"] == ident),
                ('obj.resource.id in ["e", "e/r"]', lambda e: e["resource"]["id"] in ("e", "e/r")),
                ('obj.resource != null', lambda e: e["resource"]),
                ('obj.principal == null', lambda e: e["principal"] is None),
                ('obj.principal.id == "%s"' % mine, lambda e: e["principal"]),
                ('obj.principal.id == null', lambda e: e["principal"] is None),
                ('obj.api_key_id != ""', lambda e: e["api_key_id"]),
                ('obj.operation_id == "%s"' % events[0]["operation_id"],
                 lambda e: e["operation_id"] == events[0]["operation_id"]),
                ('obj.client_address == "127.0.0.1"', lambda e: e["client_address"]),
                ('obj.operator != null', lambda e: e["operator"]),
                ('obj.database_user == "adit"', lambda e: e["database_user"] == "adit"),
                ('"provider.client_secret" in obj.changed',
                 lambda e: "provider.client_secret" in e["changed"]),
                ('"certificate_authorities" in obj.changed',
                 lambda e: "certificate_authorities" in e["changed"]),
                ('obj.changed == null', lambda e: not e["changed"]),
                ('size(obj.changed) == 2', lambda e: len(e["changed"]) == 2),
                ('obj.after == null', lambda e: e["after"] is None),
                ('obj.created_at > timestamp(time.now).subtract("1h")', lambda e: True),
                ('obj.created_at < timestamp("2020-01-01T00:00:00Z")', lambda e: False)):
            with self.subTest(expression):
                wanted = [event for event in events if holds(event)]
                self.assertEqual(self.filtered(expression), wanted)
                if expression.startswith("obj.created_at <"):
                    continue
                self.assertTrue(wanted)
        for event in events:
            for name in event["changed"]:
                self.assertIn(event, self.filtered('"%s" in obj.changed' % name))
        for bad in ("obj.uri == 'x'", "obj.before == 'x'", "obj.account_id == 'x'"):
            self.assert_error(self.client.get(EVENTS + "?filter=" + urllib.parse.quote(bad)), 250)
        answer = self.stack.client(self.account.member.key).get(
            EVENTS + "?filter=" + urllib.parse.quote('obj.event == "x"'))
        self.assert_error(answer, 9078)
