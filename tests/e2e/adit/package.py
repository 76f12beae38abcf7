# SPDX-License-Identifier: MIT
"""The Debian packages, built as doc/install/debian.md says, and tests that follow install pages on a
copy of the machine that systemd has booted."""
import atexit
import functools
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from adit import recipe, stack
from adit.case import until
from adit.machine import Machine

BUILD_TIMEOUT_S = 600


def build(folder, name, *options):
    """Builds the packages of the tree folder/adit.  Moves them to folder/name."""
    [script] = dict(recipe.chapters("debian.md"))["Build"]
    *fetching, line = script.splitlines()
    if [fetch for fetch in fetching if not fetch.startswith("apt-get ")]:
        raise AssertionError("the page has unexpected build commands: " + script)
    for old in glob.glob(os.path.join(folder, "adit[-_]*")):
        os.remove(old)
    stack.run([*line.split(), *options], cwd=os.path.join(folder, "adit"), timeout=BUILD_TIMEOUT_S,
              env={**stack.CLEAN_ENV, "DEB_BUILD_OPTIONS": "nocheck parallel=%d" % os.cpu_count(),
                   "DPKG_DEB_COMPRESSOR_LEVEL": "1"})  # the packages are thrown away
    os.mkdir(os.path.join(folder, name))
    for found in glob.glob(os.path.join(folder, "adit[-_]*")):
        shutil.move(found, os.path.join(folder, name))


@functools.cache
def built():
    """Builds the packages once for all modules.  Returns a folder with the source tree "adit", the
    packages beside it, where the pages expect them, and the same packages in "new"."""
    folder = tempfile.mkdtemp(prefix="adit-package-", dir="/var/tmp")
    atexit.register(shutil.rmtree, folder)
    # The tree that an archive of "make dist" unpacks to.
    stack.run(["make", "-C", stack.BUILD, "distdir", "distdir=" + os.path.join(folder, "adit")])
    build(folder, "new")
    shutil.copytree(os.path.join(folder, "new"), folder, dirs_exist_ok=True)
    return folder


class Story(unittest.TestCase):
    """Tests that depend on each other and run in the order of their names, on one machine."""
    maxDiff = 4000
    pages = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = built()
        cls.tree = os.path.join(cls.folder, "adit")
        cls.chapters = {page: dict(recipe.chapters(page + ".md")) for page in cls.pages}
        cls.machine = Machine()
        cls.addClassCleanup(cls.machine.stop)
        cls.machine.boot()

    @classmethod
    def run_chapter(cls, page, heading, folder="/"):
        """Runs each script of a chapter.  Returns what they printed."""
        scripts = cls.chapters[page][heading]
        if not scripts:
            raise AssertionError("%s: '%s' has no script" % (page, heading))
        return [cls.machine.run(script, folder=folder).stdout for script in scripts]

    @classmethod
    def change_settings(cls, text):
        """Writes settings, given as in the file, into /etc/adit/adit.conf: in place of the comment
        that has the default."""
        section = None
        for line in text.splitlines():
            key, is_setting, value = line.partition(" = ")
            if is_setting:
                cls.machine.run(r"sed -i '/^\[%s\]$/,/^\[/s|^\(; \)\?%s =.*|%s = %s|' /etc/adit/adit.conf"
                                % (section, key, key, value))
                cls.machine.run("grep -qxF '%s' /etc/adit/adit.conf" % line)
            else:
                section = line.strip("[]")

    @classmethod
    def ask(cls, script):
        return cls.machine.run(script, check=False).stdout.strip()

    def journal(self, unit, *since):
        return self.ask("journalctl --no-pager -o cat -u %s %s" % (unit, " ".join(since)))

    def assert_logged(self, text, unit, *since):
        """Waits until the journal has the text: it takes up what a program says some time later."""
        until(lambda: text in self.journal(unit, *since), "the journal of %s: %s" % (unit, text))

    def cursor(self):
        """The journal's current end, as an option of journalctl."""
        return "--after-cursor='%s'" % re.search(
            r"-- cursor: (.*)", self.ask("journalctl -n 0 --show-cursor")).group(1)

    def check_unit(self, unit, page, most):
        """systemd accepts the unit, and finds the exposure that the page names."""
        self.assertEqual(self.ask("systemd-analyze verify --man=no %s 2>&1" % unit), "")
        said = self.ask("systemd-analyze security --offline=true --no-pager "
                        "/lib/systemd/system/" + unit)
        level = float(re.search(r"exposure level for %s: ([0-9.]+)" % unit, said).group(1))
        self.assertLessEqual(level, most, said)
        version = self.ask("systemctl --version").split()[1]
        with open(os.path.join(stack.ROOT, "doc", "install", page), encoding="utf-8") as file:
            self.assertIn("%s with systemd %s" % (level, version), file.read())


def start_lintian(folder):
    """Starts lintian on the packages of a folder, because it is slow.  Returns the process."""
    [changes] = [name for name in os.listdir(folder) if name.endswith(".changes")]
    return subprocess.Popen(
        ["lintian", "--fail-on", "error,warning", "--allow-root", os.path.join(folder, changes)],
        env=stack.CLEAN_ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)


def serve_over_tls(machine):
    """Makes the machine's PostgreSQL speak TLS as localhost.  Its certificate is in
    /etc/adit/database.crt."""
    machine.run("""
        cd "$(runuser -u postgres -- psql -Atc 'SHOW data_directory')"
        openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 \\
            -addext subjectAltName=DNS:localhost -keyout server.key -out server.crt 2>/dev/null
        chown postgres: server.key server.crt
        install -m 644 server.crt /etc/adit/database.crt
        runuser -u postgres -- psql -q -c 'ALTER SYSTEM SET ssl = on' \\
            -c "ALTER SYSTEM SET ssl_cert_file = '$PWD/server.crt'" \\
            -c "ALTER SYSTEM SET ssl_key_file = '$PWD/server.key'"
        systemctl reload postgresql
    """)
