# SPDX-License-Identifier: MIT
"""The whole run must provoke every row of the catalogue of errors and every route.

This module runs last.  In a run of some modules it checks only that the catalogue and routes
exist."""
import unittest

from adit import covered, reference

# Rows that no test can provoke, with the reason.
NOT_PROVOKED = {
    9035: "a test cannot exhaust one worker's memory; the unit tests make allocations fail",
}


class Guards(unittest.TestCase):
    def test_there_is_a_catalogue(self):
        self.assertGreater(len(covered.catalogue), 60)
        self.assertIn(10000, covered.catalogue)

    def test_there_are_routes(self):
        self.assertGreater(len(covered.route_table), 18)
        self.assertEqual(len(set(covered.route_table)), len(covered.route_table))

    def test_every_error_was_provoked(self):
        for number, (symbol, _) in sorted(covered.catalogue.items()):
            if covered.is_whole_run and number not in NOT_PROVOKED:
                with self.subTest("%d %s" % (number, symbol)):
                    self.assertIn(number, covered.errors)

    def test_exceptions_are_none_that_was_provoked(self):
        self.assertEqual(set(NOT_PROVOKED) & covered.errors, set())
        self.assertEqual(set(NOT_PROVOKED) - set(covered.catalogue), set())

    def test_no_error_is_missing_in_the_catalogue(self):
        self.assertEqual(covered.errors - set(covered.catalogue), set())

    def test_every_route_answered(self):
        for method, path in covered.route_table:
            if covered.is_whole_run:
                with self.subTest("%s %s" % (method, path)):
                    self.assertIn((method, path), covered.routes)

    def test_answers_were_held_against_the_reference(self):
        self.assertGreater(reference.n_held, 10000 if covered.is_whole_run else -1)

    def test_every_documented_condition_came(self):
        """Every operation answers with each of its own errors.  Errors of groups come from the
        gates and the database: tests/reference/guard compares them with the route table."""
        for operation in reference.document().operations.values():
            if covered.is_whole_run and operation.method not in ("HEAD", "OPTIONS"):
                for number in sorted(operation.own_numbers()):
                    with self.subTest("%s %d" % (operation.ident, number)):
                        self.assertIn(number, {seen for ident, seen in reference.seen
                                               if ident == operation.ident})
