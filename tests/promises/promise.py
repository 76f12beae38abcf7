# SPDX-License-Identifier: MIT
"""Shared by the tests of promises: figures with their bounds, and the scale of a test."""
import concurrent.futures
import functools
import inspect
import threading

from adit.case import Case

# Whether the full form runs.  The runner sets it.
is_long = False

# All figures of the run, in the order in which they were taken.
figures = []


# Tests that run only in the full form.
long_only = set()


def only_long(test):
    """Marks a test that runs only in the full form.  The short form has a quicker test of its
    kind."""
    long_only.add(test.__name__.removeprefix("test_"))

    @functools.wraps(test)
    def run(self):
        if is_long:
            test(self)
    return run


def scaled(short, full):
    """Returns the value for the form that runs."""
    return full if is_long else short


def at_once(function, n, arguments=None):
    """Calls the function in n threads that start together, each with one of the arguments if there
    are any.  Raises the first exception of a thread."""
    barrier = threading.Barrier(n)

    def run(*argument):
        barrier.wait()
        return function(*argument)
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        calls = [pool.submit(run, *([arguments[i]] if arguments else [])) for i in range(n)]
        for call in calls:
            call.result()


class Figure:
    """A measured value and its bound."""

    def __init__(self, test, what, value, unit, bound, ok):
        self.module, self.test = type(test).__module__, test._testMethodName.removeprefix("test_")
        self.title = inspect.getdoc(getattr(test, test._testMethodName)) or self.test
        self.what, self.value, self.unit, self.bound, self.ok = what, value, unit, bound, ok

    @property
    def name(self):
        return "%s.%s: %s" % (self.module, self.test, self.what)

    @property
    def shown(self):
        return "%.2f" % self.value if isinstance(self.value, float) else str(self.value)

    def line(self):
        return "\t".join(("figure", self.name, self.shown, self.unit, self.bound,
                          "pass" if self.ok else "FAIL"))


class PromiseCase(Case):
    """Tests that record figures.  Their docstrings are their titles in doc/promises.md."""

    stack_name = "promises"

    def figure(self, what, value, unit="", at_most=None, at_least=None, exactly=None, why=""):
        """Records a figure.  A figure out of its bound is a failure, but the test continues."""
        self.assertNotIn(", ", what, "the page separates the name from the unit with it")
        bounds = [(sign, bound, ok) for sign, bound, ok in (
            ("<=", at_most, at_most is None or value <= at_most),
            (">=", at_least, at_least is None or value >= at_least),
            ("=", exactly, exactly is None or value == exactly)) if bound is not None]
        figure = Figure(self, what, value, unit, ", ".join("%s %s" % row[:2] for row in bounds),
                        all(row[2] for row in bounds))
        figures.append(figure)
        print(figure.line(), flush=True)
        with self.subTest(what):
            self.assertTrue(figure.ok, "%s %s is not %s; %s" % (
                figure.shown, figure.unit, figure.bound, why))
