# SPDX-License-Identifier: MIT
"""How the test runners count and print."""
import os
import sys
import time
import traceback
import unittest

# A test that takes longer is slow, in seconds.
SLOW_S = 1


class Result(unittest.TestResult):
    """Counts cases.  Each row of a table is one, and each test without a table.  For a failure it
    prints the lines of the traceback that are in the folder."""

    def __init__(self, folder):
        super().__init__()
        self.passed = self.failed = 0
        self.slow = []
        self._folder = folder
        self._rows = 0

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        self._rows = 0

    def _fail(self, name, error):
        self.failed += 1
        text = "%s: %s" % (error[0].__name__, str(error[1]).strip())
        print("FAIL %s: %s" % (name, text.replace("\n", "\n     ")))
        for frame in traceback.extract_tb(error[2]):
            if frame.filename.startswith(self._folder):
                print("     %s:%d: %s" % (os.path.relpath(frame.filename, self._folder),
                                          frame.lineno, frame.line))
        sys.stdout.flush()

    def stopTest(self, test):
        super().stopTest(test)
        seconds = time.monotonic() - self._started
        if seconds > SLOW_S:
            self.slow.append("%s %.1f s" % (test.id().partition(".")[2], seconds))

    def addSubTest(self, test, subtest, error):
        self._rows += 1
        if error is None:
            self.passed += 1
        else:
            self._fail(subtest.id(), error)

    def addSuccess(self, test):
        if self._rows == 0:
            self.passed += 1

    def addFailure(self, test, error):
        self._fail(test.id(), error)

    addError = addFailure
