# SPDX-License-Identifier: MIT
"""adit.fcgi --check-confinement: one verdict for each trial, and an exit status that fits them.

Builds with sanitizers are not confined.  tests/promises/hardening.py checks that others are."""
import os
import re
import subprocess

from adit import stack
from adit.certificates import Certificates
from test_conf import ConfCase

REFUSED = ("running a program", "starting a process", "tracing a process",
           "signalling by a descriptor", "slowing a process", "scheduling a process",
           "limiting a process", "sharing memory with a process", "reading keys of the kernel",
           "reading a file outside the list", "listing a folder outside the list", "making a file",
           "writing into a file", "listening on a port", "receiving UDP on a port",
           "opening a socket of netlink", "opening a pair of such sockets")
WORKS = ("reading the key file", "resolving a name", "looking a user up")


class CheckConfinement(ConfCase):
    def check(self, **environment):
        """Runs the check and tests its summary.  Returns its rows."""
        self.write("")
        done = self.start("-c", self.conf, "--check-confinement", **environment)
        self.assertEqual(done.stderr, "")
        rows = dict(re.split(r"  +", line, maxsplit=1) for line in done.stdout.splitlines()
                    if "  " in line)
        self.assertEqual(tuple(rows), ("Landlock", "seccomp") + REFUSED + WORKS)
        good = (rows["Landlock"].isdigit() and rows["seccomp"] == "yes" and
                all(rows[name] == "refused" for name in REFUSED) and
                all(rows[name] == "works" for name in WORKS))
        self.assertEqual(done.returncode, 0 if good else 1, done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1].startswith("A worker is confined"), good)
        self.assertEqual("<--" in done.stdout, any(
            rows[name] != "refused" for name in REFUSED))
        return rows

    def test_verdicts(self):
        rows = self.check()
        self.assertEqual([rows[name] for name in WORKS], ["works"] * len(WORKS))

    def test_files_of_kerberos_are_allowed(self):
        """Kerberos's variables open the files that they name, here those of the trials."""
        rows = self.check(KRB5CCNAME="DIR:/", KRB5_CONFIG="/nonexistent:/proc/self/environ",
                          KRB5_CLIENT_KTNAME="FILE:" + self.key_file)
        for name in ("reading a file outside the list", "listing a folder outside the list"):
            self.assertTrue(rows[name].startswith("works"), rows)


class CheckGate(ConfCase):
    """adit-gate.fcgi confines itself likewise, and can read its authorities."""

    def check(self, settings):
        self.write("[secrets]\nkey_file = %s\n[gate]\n%s" % (self.key_file, settings))
        done = subprocess.run([os.path.join(stack.BUILD, "adit-gate.fcgi"), "-c", self.conf,
                               "--check-confinement"], stdin=subprocess.DEVNULL, timeout=60,
                              capture_output=True, text=True, check=False, env=stack.CLEAN_ENV)
        self.assertEqual(done.stderr, "")
        rows = dict(re.split(r"  +", line, maxsplit=1) for line in done.stdout.splitlines()
                    if "  " in line)
        good = (rows["Landlock"].isdigit() and rows["seccomp"] == "yes" and
                all(rows[name] == "refused" for name in REFUSED))
        self.assertEqual(done.returncode, 0 if good else 1, done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1].startswith("A worker is confined"), good)
        self.assertEqual(good or stack.is_sanitized() or rows["Landlock"] == "no" or
                         rows["seccomp"] == "no", True, done.stdout)
        return rows

    def test_authorities(self):
        works = WORKS[:1] + ("reading the authorities",) + WORKS[1:]
        folder = os.path.join(self.folder, "authorities")
        os.mkdir(folder)
        certificates = Certificates(folder)
        certificates.make("authority", is_authority=True)
        rows = self.check("ca_file = " + certificates.path("authority.crt"))
        self.assertEqual(tuple(rows), ("Landlock", "seccomp") + REFUSED + works)
        self.assertEqual([rows[name] for name in works], ["works"] * len(works))

    def test_without_authorities(self):
        self.assertEqual(tuple(self.check("")), ("Landlock", "seccomp") + REFUSED + WORKS)
