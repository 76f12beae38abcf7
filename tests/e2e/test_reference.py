# SPDX-License-Identifier: MIT
"""The OpenAPI document: the service answers as its examples show, and the check of answers refuses
wrong ones."""
import json
import os
import re

from adit import reference
from adit.case import Case
from adit.client import Answer

OAUTH, MUTUAL_TLS = "/edges/https/{edge_id}/routes/{id}/oauth", "/edges/tls/{id}/mutual_tls"
VALUES = {"edge_id": "edge-1", OAUTH: "route-1", MUTUAL_TLS: "edge-2"}

# Lists whose example is the first of two items.
CUT_LISTS = ("/ssh_credentials", "/oauth_modules", "/audit_events")


def plain(value, base_url):
    """The value without the parts that differ between requests."""
    text = json.dumps(value).replace(base_url, "<base>")
    text = re.sub(r"\b(sshcr|usr|ak)_[0-9A-Za-z]{27}", r"\1_", text)
    text = re.sub(r"\bae_[0-9]{19}", "ae_", text)
    return json.loads(re.sub(r"[0-9-]{10}T[0-9:]{8}Z", "<time>", text))


class Examples(Case):
    def setUp(self):
        self.account = self.stack.account()
        self.client = self.stack.client(self.account.admin.key)
        self.tree = reference.document().tree
        self.created = None

    def fill(self, path):
        target = path.replace("{edge_id}", VALUES["edge_id"])
        if path == "/audit_events/{id}":
            return target.replace("{id}", self.client.get(
                "/audit_events?limit=1").json["audit_events"][0]["id"])
        return target.replace("{id}", VALUES.get(path) or self.created or "")

    def ask(self, path, method, name, examples, wanted, status):
        """Sends one example and compares the answer with the answer example of the same name."""
        if path in CUT_LISTS and method == "get":
            path += "?limit=1"
        body = examples[name]["value"] if examples else None
        answer = self.client.call(method.upper(), self.fill(path), body)
        self.assertEqual(answer.status, int(status), answer)
        if status == "201":
            self.created = answer.json["id"]
        if name:
            self.assertEqual(plain(answer.json, self.stack.url),
                             plain(wanted[name]["value"], "https://api.example.com"))

    def make_items(self, path):
        """Makes what the example of a list shows."""
        if path == "/audit_events":
            key = self.account.admin.issue("--description", "a laptop")
            ident = self.stack.psql("SELECT id FROM adit.api_key WHERE description = 'a laptop'"
                                    " AND account_id = '%s'" % self.account.id)
            self.assertTrue(key)
            self.stack.ctl_run("key", "revoke", ident, check=True,
                               env=dict(os.environ, SUDO_USER="ada"))
        elif path == "/oauth_modules":
            for number in "12":
                self.put(self.fill(OAUTH).replace("route-1", "route-" + number), {
                    "provider": {"provider_d": {"email_domains": ["example.com"]}},
                    "auth_check_interval": 600})
        elif path == "/mutual_tls_modules":
            self.put(self.fill(MUTUAL_TLS), {"certificate_authority_ids": ["ca-1"]})

    def put(self, path, body):
        self.assert_ok(self.client.put(path, body))

    def test_every_example(self):
        """The examples run in the document's order, which makes resources before it reads them."""
        n_examples = 0
        for path, item in self.tree["paths"].items():
            self.make_items(path)
            for method, operation in item.items():
                if method in ("parameters", "head", "options"):
                    continue
                status = next(status for status in operation["responses"] if status[0] == "2")
                content = operation["responses"][status].get("content", {})
                if content and "application/json" not in content:
                    continue
                wanted = content.get("application/json", {}).get("examples", {})
                examples = operation.get("requestBody", {"content": {"application/json": {}}})[
                    "content"]["application/json"].get("examples", {})
                self.assertEqual(bool(content), bool(wanted), "no example")
                self.assertTrue(not examples or set(examples) == set(wanted))
                for name in wanted or [None]:
                    n_examples += name is not None
                    with self.subTest("%s %s" % (operation["operationId"], name)):
                        self.ask(path, method, name, examples, wanted, status)
        self.assertGreater(n_examples, 12)


class Held(Case):
    """The check of answers: the answers that it accepts and those that it refuses."""

    HEADERS = ["Content-Type: application/json", "Cache-Control: no-store",
               "Service-Operation-Id: op_" + "a" * 27]

    def example(self):
        return {"enabled": True, "certificate_authorities": [
            {"id": "ca-1", "uri": "http://x/certificate_authorities/ca-1"}]}

    def hold(self, body, status=200, headers=None, method="GET", sent=b"", query=""):
        headers = [*(headers or self.HEADERS), *(['ETag: "1"'] if status == 200 else [])]
        head = "\r\n".join(["HTTP/1.1 %d x" % status, *headers]).encode()
        before = reference.seen.copy()
        try:
            reference.hold(Answer(head, json.dumps(body).encode() if body is not None else b""),
                           reference.Asked(method, "/edges/tls/x/mutual_tls", query, sent))
        finally:
            # These answers were made up here, so they must not count as seen.
            reference.seen.clear()
            reference.seen.update(before)
            reference.n_held -= 1

    def error(self, number, status, details=None):
        if details is None:
            details = {"operation_id": "op_" + "a" * 27}
        return {"error_code": "ERR_SERVICE_%d" % number, "status_code": status, "msg": "x",
                "details": details}

    def test_passes(self):
        self.hold(self.example())
        self.hold(self.example(), method="PUT", sent=b'{"certificate_authority_ids":["ca-1"]}')
        self.hold(self.error(9004, 404), 404)
        self.hold(None, 204, self.HEADERS[1:], method="DELETE")
        self.hold(self.error(9052, 414, {}), 414, self.HEADERS[:2])

    def test_does_not_pass(self):
        more, fewer, entry = self.example(), self.example(), self.example()
        more["secret"] = 1
        del fewer["enabled"]
        entry["certificate_authorities"][0]["name"] = "x"
        rows = [
            ("another member", {"body": more}, "secret"),
            ("a missing member", {"body": fewer}, "enabled"),
            ("another member of an entry", {"body": entry}, "name"),
            ("a wrong type", {"body": {**self.example(), "enabled": 1}}, "boolean"),
            ("another status", {"body": self.example(), "status": 201}, "no such status"),
            ("a status that the operation lacks", {"body": self.error(609, 409), "status": 409},
             "no such status"),
            ("an error it cannot give", {"body": self.error(600, 400), "status": 400},
             "ERR_SERVICE_600"),
            ("a status that differs", {"body": self.error(9004, 400), "status": 404}, "400"),
            ("details of another kind", {"body": self.error(9004, 404, {"sql": "x"}),
                                         "status": 404}, "sql"),
            ("a missing header", {"body": self.example(), "headers": self.HEADERS[::2]},
             "cache-control"),
            ("without an operation", {"body": self.example(), "headers": self.HEADERS[:2]},
             "operation id"),
            ("another header", {"body": self.example(),
                                "headers": [*self.HEADERS, "X-Powered-By: x"]},
             "not documented"),
            ("a header's value", {"body": self.example(), "headers": [
                *self.HEADERS[::2], "Cache-Control: public"]}, "public"),
            ("no challenge", {"body": self.error(200, 401), "status": 401}, "www-authenticate"),
            ("no Retry-After", {"body": self.error(9030, 503), "status": 503}, "retry-after"),
            ("a body with 204", {"body": {}, "status": 204, "method": "DELETE"}, "a body"),
            ("an accepted member", {"body": self.example(), "method": "PUT",
                                    "sent": b'{"enable":true}'}, "accepted a body"),
            ("an accepted entry", {"body": self.example(), "method": "PUT",
                                   "sent": b'{"certificate_authority_ids":["/"]}'},
             "accepted a body"),
            ("an accepted parameter", {"body": self.example(), "query": "x=1"},
             "accepted a query"),
        ]
        for name, options, says in rows:
            with self.subTest(name), self.assertRaisesRegex(AssertionError, re.escape(says)):
                self.hold(**options)
