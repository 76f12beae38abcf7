# SPDX-License-Identifier: MIT
"""Identifiers follow the database's clock and ignore the host's.  The tests run a responder, a CGI
program and an aditctl whose clock is a day slow or fast."""
import json
import os
import subprocess
import time

from adit import fastcgi, programs, samples, stack
from adit.case import Case
from adit.client import check_answer
from test_ids_times_text import milliseconds_of

# The monotonic clock stays right, as on a host with a wrong clock.
SHIFT = r"""
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    const char *shift = getenv("SHIFT_S");
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && shift)
        now->tv_sec += atol(shift);
    return status;
}
"""
DAY_S = 24 * 3600
# Much less than a day, and longer than a busy machine takes between two looks at the clock.
TOLERANCE_MS = 60000


class Clock(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.library = os.path.join(cls.stack.run_folder, "shift.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", cls.library, "-xc", "-"],
                       input=SHIFT.encode(), check=True)
        cls.addClassCleanup(os.unlink, cls.library)
        os.chmod(cls.library, 0o755)

    def setUp(self):
        self.account = self.stack.account("clock")

    def env(self, shift_s, **more):
        # AddressSanitizer's library demands to be loaded first, but works without that.
        options = ":".join(filter(None, (programs.ENV.get("ASAN_OPTIONS"),
                                         "verify_asan_link_order=0")))
        return dict(programs.ENV, LD_PRELOAD=self.library, SHIFT_S=str(shift_s),
                    ASAN_OPTIONS=options, **more)

    def now_ms(self):
        return int(float(self.stack.psql("SELECT extract(epoch FROM clock_timestamp())")) * 1000)

    def create(self, responder):
        body = json.dumps(samples.credential()).encode()
        answer = check_answer(fastcgi.ask(responder.socket, programs.variables(
            self.account.admin.key, "POST", body=body), body))
        return self.assert_ok(answer, 201)["id"], answer.header("Service-Operation-Id")

    def test_list_is_in_the_order_of_creation(self):
        with programs.Responder(self.stack, env=self.env(-DAY_S)) as behind, \
                programs.Responder(self.stack) as right, \
                programs.Responder(self.stack, env=self.env(DAY_S)) as ahead:
            made, longest_s = [], 0
            for responder in (right, behind, right, ahead, behind, right, ahead, ahead, right):
                before = self.now_ms()
                (ident, _), took_s = programs.timed(self.create, responder)
                made.append(ident)
                self.assertLess(abs(milliseconds_of(ident) - before), TOLERANCE_MS)
                # A worker knows the database's clock as well as an answer of it came fast.
                longest_s = max(longest_s, took_s)
                time.sleep(0.05 + longest_s)
            # The operation id shows that the shifted clock took effect.
            operation = self.create(behind)[1]
            self.assertLess(milliseconds_of(operation), self.now_ms() - DAY_S * 1000 + 60000)
        self.stack.psql("DELETE FROM adit.ssh_credential WHERE id > '%s'" % made[-1])
        listed = self.stack.client(self.account.admin.key).get("/ssh_credentials").json
        self.assertEqual([row["id"] for row in listed["ssh_credentials"]], made[::-1])

    def test_cgi(self):
        body = json.dumps(samples.credential()).encode()
        for shift_s in -DAY_S, DAY_S:
            with self.subTest(shift_s):
                variables = self.env(shift_s, ADIT_CONF=self.stack.conf_path,
                                     GATEWAY_INTERFACE="CGI/1.1", **programs.variables(
                                         self.account.admin.key, "POST", body=body))
                done = subprocess.run([os.path.join(stack.BUILD, "adit.fcgi")], env=variables,
                                      input=body, capture_output=True, timeout=60)
                answer = check_answer(fastcgi.parse(done.stdout,
                                                    fastcgi.asked_by(variables, body)))
                ident = self.assert_ok(answer, 201)["id"]
                self.assertLess(abs(milliseconds_of(ident) - self.now_ms()), TOLERANCE_MS)

    def test_aditctl(self):
        def ctl(*arguments):
            done = stack.run([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, *arguments],
                             env=self.env(-DAY_S))
            return done.stdout.split()[-1]
        account = ctl("account", "create")
        user = ctl("user", "create", "--account", account)
        bot = ctl("bot", "create", "--account", account)
        ctl("key", "issue", "--for", user)
        key = self.stack.psql("SELECT id FROM adit.api_key WHERE principal_id = '%s'" % user)
        for ident in account, user, bot, key:
            with self.subTest(ident):
                self.assertLess(abs(milliseconds_of(ident) - self.now_ms()), TOLERANCE_MS)

    def test_doctor(self):
        """It says the difference as people do."""
        done = stack.run([self.stack.env["ADITCTL"], "-c", self.stack.conf_path, "doctor"],
                         env=self.env(-DAY_S), check=False)
        self.assertRegex(done.stdout, "(?m)^note +clock +24 h from the database's clock, which ids"
                         " follow; synchronise both clocks$")
