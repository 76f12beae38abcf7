# SPDX-License-Identifier: MIT
"""What the tests of promises share: figures with their bounds, and how long a test may take."""
import concurrent.futures
import functools
import inspect
import threading

from adit.case import Case

# Whether the full form runs.  The runner sets it.
is_long = False

# All figures of the run, in the order in which they were taken.
figures = []


# Tests that the full form alone runs.
long_only = set()


def only_long(test):
    """Marks a test that takes too long for the short form, which has another of its kind."""
    long_only.add(test.__name__.removeprefix("test_"))

    @functools.wraps(test)
    def run(self):
        if is_long:
            test(self)
    return run


def scaled(short, full):
    """Returns how much of something the form that runs takes."""
    return full if is_long else short


def at_once(function, n, arguments=None):
    """Calls the function in n threads that begin together, each with one of the arguments where
    there are some.  What one of them raises is raised."""
    barrier = threading.Barrier(n)

    def run(*argument):
        barrier.wait()
        return function(*argument)
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        calls = [pool.submit(run, *([arguments[i]] if arguments else [])) for i in range(n)]
        for call in calls:
            call.result()


class Figure:
    """A measured value and what was promised of it."""

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
    """Tests that take figures.  Their docstrings' first lines name them in doc/promises.md."""

    stack_name = "promises"

    def figure(self, what, value, unit="", at_most=None, at_least=None, exactly=None, why=""):
        """Takes a figure; one out of its bound is a failure of its own and does not end the
        test."""
        self.assertNotIn(", ", what, "the page tells what is measured from its unit by that")
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
