# SPDX-License-Identifier: MIT
"""The forms in which published clients send a module (section 4), for both modules."""
from adit.case import Case

OAUTH = "/edges/https/the-edge/routes/the-route/oauth"
MUTUAL_TLS = "/edges/tls/the-edge/mutual_tls"


class Wrapped(Case):
    # The target, the identifiers of the path, and a module's body.
    MODULES = [
        (OAUTH, {"edge_id": "the-edge", "id": "the-route"},
         {"enabled": False, "maximum_duration": 5, "provider": {"provider_a": {"teams": ["a/b"]}}}),
        (MUTUAL_TLS, {"edge_id": "the-edge", "id": "the-edge"},
         {"enabled": False, "certificate_authority_ids": ["ca_1", "ca_0"]}),
    ]

    def each_module(self, function):
        for target, ids, module in self.MODULES:
            with self.subTest(target):
                self.assert_ok(self.admin.delete(target), 204)
                wanted = self.assert_ok(self.admin.put(target, module))
                default = self.assert_ok(self.admin.put(target, {}))
                self.assertNotEqual(wanted, default)
                function(target, ids, module, wanted, default)

    def assert_stores(self, target, body, wanted):
        with self.subTest(str(body)):
            self.admin.delete(target)
            self.assertEqual(self.assert_ok(self.admin.put(target, body)), wanted)
            self.assertEqual(self.assert_ok(self.admin.get(target)), wanted)

    def test_accepted(self):
        def check(target, ids, module, wanted, default):
            nothing = {name: None for name in module}
            for body in (module, {**ids, **module}, {"id": ids["id"], **module},
                         {"edge_id": ids["edge_id"], **module},
                         {"edge_id": None, "id": None, **module},
                         {**ids, "module": module}, {"module": module},
                         {"id": ids["id"], "module": module},
                         {"edge_id": None, "id": None, "module": module},
                         {**ids, "module": None, **module}, {"module": None, **module},
                         {**ids, **nothing, "module": module}):
                self.assert_stores(target, body, wanted)
            for body in ({}, ids, {**ids, "module": {}}, {"module": {}}, {"module": None},
                         {**ids, "module": None}, {"module": nothing}, nothing):
                self.assert_stores(target, body, default)
        self.each_module(check)

    def test_identifiers_that_differ(self):
        def check(target, ids, module, wanted, default):
            for name in ids:
                for other in ("other", "", "THE-EDGE", ids[name] + " ", "x" * 300, "ä"):
                    for body in ({**module, name: other}, {"module": module, name: other},
                                 {"module": None, name: other}, {**ids, **module, name: other}):
                        with self.subTest("%s %s %s" % (target, name, other[:20])):
                            self.assert_error(self.admin.put(target, body), 9013, name)
            self.assertEqual(self.admin.get(target).json, default)
        self.each_module(check)

    def test_identifiers_inside_the_module_are_unknown(self):
        def check(target, ids, module, wanted, default):
            for name in (*ids, "module"):
                for value in ("the-edge", None):
                    with self.subTest("%s %s %s" % (target, name, value)):
                        self.assert_error(self.admin.put(
                            target, {"module": {**module, name: value}}), 214, "module." + name)
        self.each_module(check)

    def test_fields_in_two_places(self):
        """The contract does not say which place counts, so a body with both is refused."""
        def check(target, ids, module, wanted, default):
            for beside in ({"enabled": True}, {"enabled": False}, module):
                with self.subTest("%s %s" % (target, beside)):
                    self.assert_error(self.admin.put(target, {"module": module, **beside}), 9025)
            self.assertEqual(self.admin.get(target).json, default)
        self.each_module(check)

    def test_paths_of_errors_begin_at_the_body(self):
        self.each([(str(body), target, body, number, field) for target, body, number, field in (
            (OAUTH, {"module": {"provider": {"provider_a": {"teams": ["a/b", "c/d", "x"]}}}}, 7040,
             "module.provider.provider_a.teams[2]"),
            (OAUTH, {"provider": {"provider_a": {"teams": ["a/b", "c/d", "x"]}}}, 7040,
             "provider.provider_a.teams[2]"),
            (OAUTH, {"module": {"enabled": "x"}}, 215, "module.enabled"),
            (OAUTH, {"module": {"cookie_prefix": "a b"}}, 7042, "module.cookie_prefix"),
            (MUTUAL_TLS, {"module": {"certificate_authority_ids": ["a b"]}}, 228,
             "module.certificate_authority_ids[0]"),
            (MUTUAL_TLS, {"module": []}, 215, "module"),
        )], lambda target, body, number, field: self.assert_error(
            self.admin.put(target, body), number, field))
