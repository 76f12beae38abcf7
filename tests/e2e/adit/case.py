# SPDX-License-Identifier: MIT
"""The base class of all test cases, and the functions that wait for a condition."""
import re
import time
import unittest

from adit import covered, stack
from adit.client import check_answer

DEADLINE_S = 60

# Seconds between a lane's failed attempt to connect to the database and its next one, at most
# (src/pg/README.md).
LONGEST_PAUSE_S = 0.15


class Case(unittest.TestCase):
    """Tests against the stack named in stack_name.  self.admin, self.member and self.bot are
    clients of the home account."""

    stack_name = "main"
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.stack = stack.get(cls.stack_name)
        cls.home = cls.stack.home
        cls.admin = cls.stack.client(cls.home.admin.key)
        cls.nobody = cls.stack.client(None)

    @property
    def member(self):
        return self.stack.client(self.home.member.key)

    @property
    def bot(self):
        return self.stack.client(self.home.bot.key)

    @property
    def reader(self):
        return self.stack.client(self.home.read_only_key)

    def each(self, rows, function):
        """Runs the function for each row; the first column names it."""
        for row in rows:
            with self.subTest(str(row[0])):
                function(*row[1:])

    def assert_ok(self, answer, status=200):
        self.assertEqual(answer.status, status, answer)
        return answer.json if status != 204 else None

    def assert_error(self, answer, number, field=None, says=()):
        """Checks the error's number and status, details.field, and parts of msg."""
        symbol, status = covered.catalogue[number]
        self.assertEqual((answer.code, answer.status), (number, status),
                         "expected %s, not %r" % (symbol, answer))
        error = answer.json
        if field is not None:
            self.assertEqual(error["details"].get("field"), field, answer)
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, error["msg"])
        return error

    def assert_ident(self, value, prefix):
        self.assertRegex(value, "^%s_[0-9A-Za-z]{27}$" % re.escape(prefix))


def until(condition, what, seconds=DEADLINE_S):
    """Calls condition until its result is true.  Returns that result."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError("%s: not within %g s" % (what, seconds))
        time.sleep(0.01)


def until_back(is_good, what="the service is good again"):
    """Waits until is_good holds again and again, after a fault of the database.  Requests may all go
    to one worker, by kept connections.  Another one that could not connect fails statements until
    its pause ends.  So each try comes after a pause without requests."""
    def once():
        time.sleep(LONGEST_PAUSE_S)
        return all(is_good() for _ in range(4))
    until(once, what)


def until_answer(ask, is_wanted, what):
    """Calls ask until is_wanted accepts the answer.  Returns that answer."""
    def once():
        answer = ask()
        return answer if is_wanted(answer) else None
    return until(once, what)


def until_its_turn(ask):
    """Calls ask until its request did not wait too long, for a lane or for a row that others change:
    a busy machine may let it, and then it has changed nothing.  Returns the answer."""
    return until_answer(ask, lambda answer: answer.code not in (9032, 9063), "its turn")


def without_operation_id(answer):
    """The answer as bytes, without the parts that differ between any two answers."""
    operation_id = next(value for name, value in answer.headers
                        if name.lower().endswith("-operation-id"))
    headers = [(name, "" if name == "ETag" else value) for name, value in answer.headers
               if name.lower() != "date"]
    whole = "\n".join("%s: %s" % pair for pair in headers).encode() + b"\n\n" + answer.body
    return whole.replace(operation_id.encode(), b"op_")


__all__ = ["Case", "check_answer", "until", "until_answer", "until_back", "until_its_turn",
           "without_operation_id"]
