# SPDX-License-Identifier: MIT
"""Bodies: strict JSON, types, numbers, members and lists (section 4)."""
import json

from adit import samples
from adit.case import Case
from adit.reference import openapi

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/json/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/json/mutual_tls"


class Grammar(Case):
    """A body is one JSON object, or gets 213.  Good JSON gets as far as 214 here.  The unit tests of
    src/json have the grammar, and api/dispatch that each operation asks for it."""

    def test_what_does_not_show_is_named(self):
        """Editors and web pages leave such characters in bodies, names and values."""
        key = samples.credential()["public_key"]
        for what, data, number, says in (
                ("a mark in front", "\ufeff{}", 213, "a byte order mark (U+FEFF)"),
                ("UTF-16 with its mark", b"\xff\xfe{\0}\0", 213, "a byte order mark of UTF-16"),
                ("a no-break space between", '{"acl":\u00a0[]}', 213, "a no-break space (U+00A0)"),
                ("in a name", '{"acl\u200b": []}', 214, "a zero-width space (U+200B)"),
                ("in an escaped name", '{"acl\\u200b": []}', 214, "a zero-width space (U+200B)"),
                ("in a rule", '{"acl": ["bind:a\u00ad.example"]}', 600, "a soft hyphen (U+00AD)"),
                ("in front of a key", json.dumps({"public_key": "\ufeff" + key}), 612,
                 "a byte order mark (U+FEFF)"),
                ("in an owner", json.dumps({"public_key": key, "owner_id": "usr\u2060"}), 9012,
                 "a word joiner or an invisible operator (U+2060 to U+2065)")):
            with self.subTest(what):
                body = data if isinstance(data, bytes) else data.encode()
                answer = self.admin.send("POST", CREDENTIALS, self.admin.headers(
                    "POST", body, self.admin.key, "2", "application/json"), body)
                self.assert_error(answer, number, says=says + ", which does not show; remove it.")

    def test_messages_differ(self):
        """Each kind of fault has its own message, and the offset of the byte."""
        bodies = {"grammar": (b"{x}", 1), "UTF-8": (b'{"a":"\xff"}', 6), "escape": (b'{"a":"\\x"}', 6),
                  "surrogate": (b'{"a":"\\ud800"}', 6), "NUL": (b'{"a":"\\u0000"}', 6),
                  "duplicate": (b'{"a":1,"a":1}', 7), "depth": (b'{"a":' * 17 + b"1" + b"}" * 17, 80),
                  "count": (b'{"a":[' + b"1," * 4000 + b"1]}", 8002), "object": (b"[]", 0)}
        messages = set()
        for name, (body, offset) in bodies.items():
            with self.subTest(name):
                error = self.assert_error(self.admin.post(CREDENTIALS, body), 213)
                self.assertEqual(error["details"]["offset"], str(offset))
                messages.add(error["msg"])
        self.assertEqual(len(messages), len(bodies), messages)

    def test_depth(self):
        def check(opening, closing, depth, number):
            body = b'{"a":' + opening * (depth - 1) + b"1" + closing * (depth - 1) + b"}"
            self.assert_error(self.admin.post(CREDENTIALS, body), number)
        self.each([
            ("16 objects", b'{"a":', b"}", 16, 214),
            ("17 objects", b'{"a":', b"}", 17, 213),
            ("16 lists", b"[", b"]", 16, 214),
            ("17 lists", b"[", b"]", 17, 213),
            ("10000 lists", b"[", b"]", 10000, 213),
        ], check)

    def test_depth_not_closed(self):
        self.assert_error(self.admin.post(CREDENTIALS, b'{"a":' * 10000), 213)
        self.assert_error(self.admin.post(CREDENTIALS, b'{"a":' + b"[" * 60000), 213)

    def test_number_of_values(self):
        """The limit may or may not count the outermost object."""
        def check(n, number):
            body = b'{"acl":[' + b",".join([b'"*"'] * n) + b"]}"
            self.assert_error(self.admin.post(CREDENTIALS, body), number)
        self.each([("3998 in a list", 3998, 9016), ("4000 in a list", 4000, 213),
                   ("12000 in a list", 12000, 213)], check)

    def test_many_small_objects(self):
        self.assert_error(self.admin.post(CREDENTIALS, b'{"a":[' + b"{}," * 20000 + b"{}]}"), 213)


CREATE_MEMBERS = ("description", "metadata", "acl", "public_key", "owner_id")
PATCH_MEMBERS = ("id", "description", "metadata", "acl")
MODULE_MEMBERS = ("enabled", "provider", "options_passthrough", "cookie_prefix",
                  "inactivity_timeout", "maximum_duration", "auth_check_interval")
CONFIG_MEMBERS = ("client_id", "client_secret", "scopes", "email_addresses", "email_domains")
HOSTING_MEMBERS = CONFIG_MEMBERS + ("teams", "organizations")
PROVIDERS = tuple(openapi.PROVIDERS)
WITHOUT_TEAMS = [name for name, (_, has_teams) in openapi.PROVIDER_ROWS.items() if not has_teams]
MUTUAL_TLS_MEMBERS = ("enabled", "certificate_authority_ids")


def nest(path, value):
    """{"a": {"b": value}} for "a.b"."""
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


class Members(Case):
    # An object of each kind: its request, the path to it, and its members.
    OBJECTS = [
        ("POST", CREDENTIALS, "", CREATE_MEMBERS),
        ("PATCH", CREDENTIALS + "/x", "", PATCH_MEMBERS),
        ("PUT", OAUTH, "", MODULE_MEMBERS),
        ("PUT", OAUTH, "module", MODULE_MEMBERS),
        ("PUT", OAUTH, "provider", PROVIDERS),
        ("PUT", OAUTH, "module.provider", PROVIDERS),
        ("PUT", OAUTH, "provider.provider_a", HOSTING_MEMBERS),
        ("PUT", OAUTH, "module.provider.provider_a", HOSTING_MEMBERS),
        *[("PUT", OAUTH, "provider." + name, CONFIG_MEMBERS) for name in WITHOUT_TEAMS],
        ("PUT", MUTUAL_TLS, "", MUTUAL_TLS_MEMBERS),
        ("PUT", MUTUAL_TLS, "module", MUTUAL_TLS_MEMBERS),
    ]
    UNKNOWN = ["email_domain", "Enabled", "enabled ", "descriptions", "x.y", "é", "a" * 300,
               "created_at", "uri", "certificate_authorities", "__proto__"]

    def test_unknown(self):
        for method, target, path, known in self.OBJECTS:
            for name in self.UNKNOWN:
                for value in (None, 1, {}, []):
                    with self.subTest("%s %s %s.%s: %s" % (method, target, path, name[:20], value)):
                        body = nest(path, {name: value}) if path else {name: value}
                        error = self.assert_error(self.admin.call(method, target, body), 214,
                                                  says=known)
                        self.check_name(error, path, name)

    def check_name(self, error, path, name):
        field = path + "." + name if path else name
        if len(name) < 100:
            self.assertEqual(error["details"]["field"], field)
            self.assertIn(name, error["msg"])
        else:
            self.assertIn(field[:40], error["details"]["field"])

    def test_unknown_and_without_a_name(self):
        for method, target, path, known in self.OBJECTS:
            with self.subTest("%s %s %s" % (method, target, path)):
                body = nest(path, {"": 1}) if path else {"": 1}
                error = self.assert_error(self.admin.call(method, target, body), 214, says=known)
                self.assertEqual(error["details"].get("field"), path + "." if path else "")

    def test_of_other_providers(self):
        """Not all providers have teams and organizations."""
        for name in WITHOUT_TEAMS:
            for member in ("teams", "organizations"):
                for value in (None, [], ["a/b"]):
                    with self.subTest("%s %s %s" % (name, member, value)):
                        body = {"provider": {name: {member: value}}}
                        self.assert_error(self.admin.put(OAUTH, body), 214,
                                          "provider.%s.%s" % (name, member))

    def test_of_other_resources(self):
        for method, target, member in (
                ("POST", CREDENTIALS, "id"), ("POST", CREDENTIALS, "created_at"),
                ("POST", CREDENTIALS, "cookie_prefix"), ("PUT", MUTUAL_TLS, "provider"),
                ("PUT", MUTUAL_TLS, "cookie_prefix"), ("PUT", OAUTH, "certificate_authority_ids"),
                ("PUT", OAUTH, "teams"), ("PATCH", CREDENTIALS + "/x", "module"),
                ("POST", CREDENTIALS, "edge_id")):
            with self.subTest("%s %s %s" % (method, target, member)):
                self.assert_error(self.admin.call(method, target, {member: None}), 214, member)

    def test_a_misspelt_member_leaves_the_module_as_it_was(self):
        route = "/edges/https/json/routes/misspelt/oauth"
        body = {"provider": {"provider_b": {"email_domains": ["example.com"]}}}
        stored = self.assert_ok(self.admin.put(route, body))
        self.assert_error(self.admin.put(
            route, {"provider": {"provider_b": {"email_domain": ["example.com"]}}}), 214)
        self.assertEqual(self.admin.get(route).json, stored)


WRONG = [1, 0, 1.5, -1, True, False, "x", "", "true", "1", [], ["x"], {}, {"x": 1}]


def is_right(kind, value):
    return {"text": isinstance(value, str), "bool": isinstance(value, bool),
            "object": isinstance(value, dict),
            "texts": isinstance(value, list) and all(isinstance(x, str) for x in value),
            "uint32": type(value) is int and value >= 0}[kind]


class Types(Case):
    # A member's request, path and type.
    MEMBERS = [
        *[("POST", CREDENTIALS, name, kind) for name, kind in (
            ("description", "text"), ("metadata", "text"), ("public_key", "text"),
            ("owner_id", "text"), ("acl", "texts"), ("enabled", "bool"))],
        *[("PATCH", CREDENTIALS + "/x", name, kind) for name, kind in (
            ("id", "text"), ("description", "text"), ("metadata", "text"), ("acl", "texts"),
            ("enabled", "bool"))],
        *[("PUT", OAUTH, name, kind) for name, kind in (
            ("edge_id", "text"), ("id", "text"), ("module", "object"), ("enabled", "bool"),
            ("provider", "object"), ("options_passthrough", "bool"), ("cookie_prefix", "text"),
            ("inactivity_timeout", "uint32"), ("maximum_duration", "uint32"),
            ("auth_check_interval", "uint32"), ("provider.provider_a", "object"),
            ("provider.provider_h", "object"), ("module.enabled", "bool"),
            ("module.provider", "object"), ("module.provider.provider_c", "object"),
            ("module.maximum_duration", "uint32"))],
        *[("PUT", OAUTH, "provider.%s.%s" % (provider, name), kind)
          for provider in ("provider_a", "provider_e") for name, kind in (
              ("client_id", "text"), ("client_secret", "text"), ("scopes", "texts"),
              ("email_addresses", "texts"), ("email_domains", "texts"))],
        ("PUT", OAUTH, "provider.provider_a.teams", "texts"),
        ("PUT", OAUTH, "provider.provider_a.organizations", "texts"),
        ("PUT", MUTUAL_TLS, "enabled", "bool"),
        ("PUT", MUTUAL_TLS, "certificate_authority_ids", "texts"),
        ("PUT", MUTUAL_TLS, "module", "object"),
        ("PUT", MUTUAL_TLS, "module.enabled", "bool"),
        ("PUT", MUTUAL_TLS, "module.certificate_authority_ids", "texts"),
    ]

    def test_no_conversions(self):
        for method, target, path, kind in self.MEMBERS:
            for value in WRONG:
                if is_right(kind, value):
                    continue
                with self.subTest("%s %s %s: %s" % (method, target, path, json.dumps(value))):
                    self.assert_error(self.admin.call(method, target, nest(path, value)), 215,
                                      path, path)

    def test_entries_of_lists(self):
        for method, target, path, kind in self.MEMBERS:
            if kind != "texts":
                continue
            for value in (None, 1, True, [], {}, 0.5):
                with self.subTest("%s %s %s[1]: %s" % (method, target, path, json.dumps(value))):
                    good = {"acl": "*", "teams": "a/b", "email_addresses": "a@b.example"}.get(
                        path.rpartition(".")[2], "b.example")
                    body = nest(path, [good, value])
                    self.assert_error(self.admin.call(method, target, body), 215, path + "[1]")

    def test_null_means_not_given(self):
        self.assert_error(self.admin.post(CREDENTIALS, {"public_key": None}), 611, "public_key")
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
            description=None, metadata=None, acl=None, owner_id=None)), 201)
        self.assertEqual((made["description"], made["metadata"], made["acl"], made["owner_id"]),
                         ("", "", [], self.home.admin.id))
        defaults = self.assert_ok(self.admin.put(OAUTH, {}))
        nulls = {name: None for name in MODULE_MEMBERS + ("edge_id", "id", "module")}
        self.assertEqual(self.assert_ok(self.admin.put(OAUTH, nulls)), defaults)
        self.assertEqual(self.assert_ok(self.admin.put(
            OAUTH, {"provider": {name: None for name in PROVIDERS}})), defaults)
        empty = self.assert_ok(self.admin.put(OAUTH, {"provider": {"provider_a": {}}}))
        self.assertEqual(self.assert_ok(self.admin.put(
            OAUTH, {"provider": {"provider_a": {name: None for name in HOSTING_MEMBERS}}})), empty)
        self.assertEqual(self.assert_ok(self.admin.put(MUTUAL_TLS, {
            "enabled": None, "certificate_authority_ids": None})),
            self.assert_ok(self.admin.put(MUTUAL_TLS, {})))


class Numbers(Case):
    MEMBERS = ("inactivity_timeout", "maximum_duration", "auth_check_interval")
    GOOD = [("0", 0), ("1", 1), ("4294967295", 4294967295), ("2147483648", 2147483648),
            ("0.0", 0), ("-0", 0), ("-0.0", 0), ("0e0", 0), ("0e999999", 0), ("0.000e-5", 0),
            ("8.64E+4", 86400), ("8.64e4", 86400), ("86400.0", 86400), ("86400.000000", 86400),
            ("1e0", 1), ("1E9", 1000000000), ("4294967295.0", 4294967295),
            ("4.294967295e9", 4294967295), ("42949672950e-1", 4294967295),
            ("429496729500E-2", 4294967295), ("1.5e1", 15), ("100e-2", 1), ("0.1e1", 1),
            ("10000000000000000000000e-22", 1)]
    BAD = ["1.5", "0.1", "-1", "-0.5", "-1e0", "4294967296", "4294967296.0", "4294967295.5",
           "4294967295.00000001", "1e10", "1e400", "-1e400", "1e99999999999999999999", "1e-1",
           "1e-400", "15e-1", "18446744073709551616", "9223372036854775808",
           "99999999999999999999999999", "-4294967296", "0.00000000000000000000000001"]

    def body(self, name, number):
        return ('{"%s": %s}' % (name, number)).encode()

    def test_good(self):
        for name in self.MEMBERS:
            for text, value in self.GOOD:
                with self.subTest("%s: %s" % (name, text)):
                    answer = self.assert_ok(self.admin.put(OAUTH, self.body(name, text)))
                    self.assertEqual(repr(answer[name]), repr(value))
                    self.assertEqual(self.admin.get(OAUTH).json[name], value)

    def test_bad(self):
        for name in self.MEMBERS:
            for text in self.BAD:
                with self.subTest("%s: %s" % (name, text)):
                    self.assert_error(self.admin.put(OAUTH, self.body(name, text)), 215, name)


class Lists(Case):
    # The member's path, a function for the n-th entry, and the error numbers for too many entries,
    # a repeated one and an empty one.
    LISTS = [
        ("POST", CREDENTIALS, "acl", lambda n: "bind:k=%d" % n, 9016, None, 600),
        ("PATCH", CREDENTIALS + "/%s", "acl", lambda n: "bind:k=%d" % n, 9016, None, 600),
        ("PUT", OAUTH, "provider.provider_a.scopes", lambda n: "s%d" % n, 7056, 9017, 9018),
        ("PUT", OAUTH, "provider.provider_a.email_addresses", lambda n: "u%d@a.example" % n, 7060,
         7046, 7051),
        ("PUT", OAUTH, "provider.provider_a.email_domains", lambda n: "d%d.example" % n, 7061,
         7047, 7052),
        ("PUT", OAUTH, "provider.provider_a.teams", lambda n: "o/t%d" % n, 7057, 7048, 7053),
        ("PUT", OAUTH, "provider.provider_a.organizations", lambda n: "o%d" % n, 7058, 7049, 7054),
        ("PUT", OAUTH, "provider.provider_g.scopes", lambda n: "s%d" % n, 7056, 9017, 9018),
        ("PUT", OAUTH, "provider.provider_g.email_addresses", lambda n: "u%d@a.example" % n, 7060,
         7046, 7051),
        ("PUT", OAUTH, "provider.provider_g.email_domains", lambda n: "d%d.example" % n, 7061,
         7047, 7052),
        ("PUT", OAUTH, "module.provider.provider_a.teams", lambda n: "o/t%d" % n, 7057, 7048,
         7053),
        ("PUT", MUTUAL_TLS, "certificate_authority_ids", lambda n: "ca_%d" % n, 7075, 9023, 228),
        ("PUT", MUTUAL_TLS, "module.certificate_authority_ids", lambda n: "ca_%d" % n, 7075, 9023,
         228),
    ]

    def send(self, method, target, path, entries):
        holder, _, name = path.rpartition(".")
        members = {name: entries}
        if "provider" in holder:
            members.update(client_id="c", client_secret="s")
        if method == "POST":
            members = samples.credential(**members)
        return self.admin.call(method, target.replace("%s", self.made),
                               nest(holder, members) if holder else members)

    def setUp(self):
        self.made = self.admin.post(CREDENTIALS, samples.credential()).json["id"]

    def test_limits(self):
        for method, target, path, entry, too_many, _, _ in self.LISTS:
            for n, number in ((0, None), (1, None), (1000, None), (1001, too_many),
                              (1500, too_many)):
                with self.subTest("%s: %d" % (path, n)):
                    answer = self.send(method, target, path, [entry(i) for i in range(n)])
                    if number:
                        self.assert_error(answer, number, path)
                    else:
                        self.assertIn(answer.status, (200, 201), answer)

    def test_repeated(self):
        for method, target, path, entry, _, repeated, _ in self.LISTS:
            with self.subTest(path):
                entries = [entry(1), entry(2), entry(3), entry(2), entry(1)]
                answer = self.send(method, target, path, entries)
                if repeated:
                    self.assert_error(answer, repeated, path + "[3]", entry(2))
                else:
                    self.assertIn(answer.status, (200, 201), answer)

    def test_repeated_at_the_end_of_a_long_one(self):
        for method, target, path, entry, _, repeated, _ in self.LISTS:
            if repeated:
                with self.subTest(path):
                    entries = [entry(i) for i in range(999)] + [entry(0)]
                    answer = self.send(method, target, path, entries)
                    self.assert_error(answer, repeated, path + "[999]")

    def test_empty_entry(self):
        for method, target, path, entry, _, _, empty in self.LISTS:
            with self.subTest(path):
                answer = self.send(method, target, path, [entry(1), ""])
                self.assert_error(answer, empty, path + "[1]")

    def test_the_body_comes_first(self):
        """A body that is too large gets 413, even if a list in it is too long."""
        body = json.dumps({"acl": ["bind:" + "x" * 60] * 1001}).encode()
        self.assertGreater(len(body), 65536)
        answer = self.admin.send("POST", CREDENTIALS, self.admin.headers(
            "POST", body, self.admin.key, "2", "application/json"), body)
        self.assertEqual(answer.status, 413)
