# SPDX-License-Identifier: MIT
"""How the test runners run modules: one, or several beside each other."""
import atexit
import contextlib
import ctypes
import functools
import io
import multiprocessing
import multiprocessing.util
import os
import resource
import signal
import sys
import time
import unittest

from adit.result import Result

# prctl(2): descendants whose parents end become children of this process.
_PR_SET_CHILD_SUBREAPER = 36


def stop_on_sigterm():
    """SIGTERM interrupts, as Ctrl-C does: unittest takes SystemExit for an error of the test, and
    goes on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def count_daemons():
    """From now on processor_s() counts daemons, too, that processes of this one start."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def processor_s():
    """The seconds that processors have spent on this process and what it started and has ended.  Reaps
    what has ended: to be called where nothing that runs is waited for."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    return sum(used.ru_utime + used.ru_stime for used in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Options:
    """What a command line says of each module: a pattern for the names of its tests, whether to list
    the slow ones, whether to say what processors spent on it."""

    def __init__(self, arguments):
        self.pattern, self.slow, self.times = arguments.pattern, arguments.slow, arguments.times


def add_options(parser):
    """Adds the options that the runners share."""
    parser.add_argument("-j", dest="jobs", type=int, default=1, help="processes; 1 by default")
    parser.add_argument("-k", dest="pattern", help="only tests whose name contains this")
    parser.add_argument("--slow", action="store_true", help="list the slow tests")
    parser.add_argument("--times", action="store_true",
                        help="say what processors spent on each module")


def run(name, options, folder, what="cases", choose=None, clean=None):
    """Runs one module of the folder.  choose() may take tests from the suite, and clean() runs at the
    end.  Returns its result, or None if no test matches the pattern."""
    loader = unittest.TestLoader()
    if options.pattern:
        loader.testNamePatterns = ["*%s*" % options.pattern]
    suite = loader.loadTestsFromName(name)
    if choose:
        suite = choose(suite)
    if options.pattern and suite.countTestCases() == 0:
        return None
    result = Result(folder)
    if options.times:
        count_daemons()
    started, spent = time.monotonic(), processor_s() if options.times else 0
    try:
        suite.run(result)
    finally:
        if clean:
            clean()
    if result.passed + result.failed == 0:
        print("FAIL %s: ran no case" % name)
        result.failed = 1
    print("%-24s %5d %s, %d failed, %.1f s" % (
        name, result.passed + result.failed, what, result.failed, time.monotonic() - started) +
        (", %.1f s of processors" % (processor_s() - spent) if options.times else ""), flush=True)
    if options.slow:
        for line in result.slow:
            print("     slow: " + line)
    return result


def _start_worker():
    stop_on_sigterm()
    # Such a process ends without the functions that stacks and clusters register.
    multiprocessing.util.Finalize(None, atexit._run_exitfuncs, exitpriority=0)


def _run_apart(task, name):
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            result = task(name)
    except KeyboardInterrupt:
        print("FAIL %s: took too long\n%s" % (name, output.getvalue()), file=sys.stderr, flush=True)
        raise
    return result, output.getvalue()


def beside_each_other(n_processes, task, names, limit_s):
    """Yields what task(name) returns for each name, as the processes end them, and prints what they
    printed.  None may take longer than limit_s seconds."""
    with multiprocessing.Pool(n_processes, _start_worker) as pool:
        results = pool.imap_unordered(functools.partial(_run_apart, task), names)
        for _ in names:
            # A worker that was killed never answers.
            result, output = results.next(timeout=limit_s)
            print(output, end="", flush=True)
            yield result
        pool.close()
        pool.join()
