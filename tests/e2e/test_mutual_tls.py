# SPDX-License-Identifier: MIT
"""The mutual TLS module (section 7)."""
import json
import urllib.parse
import urllib.request

from adit.case import Case

MUTUAL_TLS = "/edges/tls/mutual-edge/mutual_tls"


class MutualTls(Case):
    def module(self, enabled=True, ids=()):
        return {"enabled": enabled, "certificate_authorities": [
            {"id": ident, "uri": "%s/certificate_authorities/%s" % (self.stack.url, ident)}
            for ident in ids]}

    def read(self, key, target):
        """The OpenAPI document does not know what only psql stores."""
        request = urllib.request.Request(self.stack.url + target, headers={
            "Authorization": "Bearer " + key, "Service-Version": "2"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def test_stored(self):
        def check(body, wanted):
            self.assertEqual(self.assert_ok(self.admin.put(MUTUAL_TLS, body)), wanted)
            self.assertEqual(self.assert_ok(self.admin.get(MUTUAL_TLS)), wanted)
        ids = ["ca_%d" % i for i in range(1000)]
        self.each([(json.dumps(body)[:60], body, wanted) for body, wanted in (
            ({}, self.module()),
            ({"enabled": True}, self.module()),
            ({"enabled": False}, self.module(False)),
            ({"enabled": None}, self.module()),
            ({"certificate_authority_ids": []}, self.module()),
            ({"certificate_authority_ids": None}, self.module()),
            ({"certificate_authority_ids": ["ca_1"]}, self.module(ids=["ca_1"])),
            ({"certificate_authority_ids": ["z", "a", "M"]}, self.module(ids=["z", "a", "M"])),
            ({"certificate_authority_ids": ["a", "A"]}, self.module(ids=["a", "A"])),
            ({"certificate_authority_ids": ["NULL", "null", "~", "-", "_", "0"]},
             self.module(ids=["NULL", "null", "~", "-", "_", "0"])),
            ({"enabled": False, "certificate_authority_ids": ids[::-1]},
             self.module(False, ids[::-1])),
        )], check)

    def test_stored_by_hand(self):
        """An identifier that no PUT stores is shown as it is.  Its account is of this test alone:
        what others read of the account for all is held against the OpenAPI document."""
        account = self.stack.account("by hand")
        ids = ['"', "\\", "a\nb", '"], [{', "\u202e\u00e9\U0001f600", "<a>", "", "a", "%"]
        self.stack.client(account.admin.key).put(MUTUAL_TLS, {})
        self.stack.psql("UPDATE adit.mutual_tls_module SET certificate_authority_ids = ARRAY[%s]"
                        " WHERE account_id = '%s'" % (
                            ", ".join("$t$%s$t$" % ident for ident in ids), account.id))
        wanted = [{"id": ident, "uri": "%s/certificate_authorities/%s" % (
            self.stack.url, urllib.parse.quote(ident, safe=""))} for ident in ids]
        key = account.admin.key
        found = (self.read(key, MUTUAL_TLS),
                 *self.read(key, "/mutual_tls_modules")["mutual_tls_modules"],
                 self.read(key, "/audit_events?limit=1")["audit_events"][0]["after"])
        self.assertEqual([member["certificate_authorities"] for member in found], [wanted] * 3)

    def test_put_replaces_all(self):
        self.admin.put(MUTUAL_TLS, {"enabled": False, "certificate_authority_ids": ["a"]})
        self.assertEqual(self.assert_ok(self.admin.put(MUTUAL_TLS, {})), self.module())
        self.assertEqual(self.assert_ok(self.admin.get(MUTUAL_TLS)), self.module())

    def test_refused(self):
        stored = self.assert_ok(self.admin.put(MUTUAL_TLS, {"certificate_authority_ids": ["a"]}))
        for body, number, field, *says in (
                ({"certificate_authority_ids": ["a", "b", "a"]}, 9023,
                 "certificate_authority_ids[2]"),
                ({"certificate_authority_ids": ["a b"]}, 228, "certificate_authority_ids[0]"),
                ({"certificate_authority_ids": "a"}, 215, "certificate_authority_ids"),
                ({"certificate_authorities": [{"id": "a"}]}, 214, "certificate_authorities",
                 "Give certificate_authority_ids instead."),
                ({"enabled": "true"}, 215, "enabled")):
            with self.subTest(str(body)):
                self.assert_error(self.admin.put(MUTUAL_TLS, body), number, field, says)
                self.assertEqual(self.admin.get(MUTUAL_TLS).json, stored)

    def test_life(self):
        path = "/edges/tls/mutual-life/mutual_tls"
        self.assert_error(self.admin.get(path), 9004)
        self.assert_ok(self.admin.delete(path), 204)
        self.assert_ok(self.admin.put(path, {}))
        self.assert_ok(self.admin.put(path, {}))
        self.assert_ok(self.admin.get(path))
        self.assert_ok(self.admin.delete(path), 204)
        self.assert_ok(self.admin.delete(path), 204)
        self.assert_error(self.admin.get(path), 9004)

    def test_edges_are_apart(self):
        names = ("m1", "M1", "m1.", "m1-", "m")
        for i, name in enumerate(names):
            self.admin.put("/edges/tls/%s/mutual_tls" % name,
                           {"certificate_authority_ids": ["ca_%d" % i]})
        for i, name in enumerate(names):
            with self.subTest(name):
                self.assertEqual(self.assert_ok(self.admin.get("/edges/tls/%s/mutual_tls" % name)),
                                 self.module(ids=["ca_%d" % i]))
