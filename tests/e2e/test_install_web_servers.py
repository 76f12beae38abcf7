# SPDX-License-Identifier: MIT
"""The pages of doc/install/ about web servers, word for word.  Each chapter runs on a disposable
machine."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from adit import stack

PAGES = os.path.join(stack.ROOT, "doc", "install")

# The pages expect the README's steps up to a running responder.
READY = r"""
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
unset "${!PG@}" "${!ADIT@}" TMPDIR
get_ready() {
    set -eux
    make -C "$1" install
    install -d -o postgres /run/postgresql
    su postgres -c "PG_BIN/initdb -D /tmp/data --auth=peer --no-sync"
    su postgres -c "PG_BIN/pg_ctl -D /tmp/data -w \
        -o '-k /run/postgresql -c listen_addresses=' -l /tmp/postgres.log start"
    useradd --system --home /nonexistent --shell /usr/sbin/nologin adit
    mkdir -p /etc/adit
    /usr/libexec/adit/adit.fcgi --print-settings |
        sed 's/^; admin_conninfo =.*/admin_conninfo = dbname=adit user=postgres/' > /etc/adit/adit.conf
    aditctl secrets init
    chgrp adit /etc/adit/adit.key && chmod 640 /etc/adit/adit.key
    su postgres -c 'createdb adit'
    su postgres -c 'aditctl migrate'
    su postgres -c 'psql -d adit -c "REVOKE CONNECT ON DATABASE adit FROM PUBLIC"'
    su postgres -c 'psql -d adit -c "CREATE ROLE adit LOGIN IN ROLE adit_responder"'
    install -d -o adit -g www-data -m 2750 /run/adit
    setpriv --reuid=adit --regid=adit --init-groups \
        /usr/libexec/adit/adit.fcgi --listen unix:/run/adit/adit.sock &
    for i in $(seq 600); do
        [ ! -S /run/adit/adit.sock ] || break
        sleep 0.1
    done
    [ -S /run/adit/adit.sock ]
    # Debian's packages made these folders when they were installed, but /run is empty here.
    mkdir -p /run/lock
    install -d -o www-data /run/lighttpd
}
# A process of its own, because "set -e" has no effect in a function before "||".
export -f get_ready
bash -c 'get_ready "$1"' bash "$1" > /tmp/ready.log 2>&1 < /dev/null || {
    cat /tmp/ready.log
    exit 1
}
""".replace("PG_BIN", stack.PG_BIN)

# After the page's steps, a request with a key must succeed.
WITH_A_KEY = """
{
    su postgres -c 'aditctl account create --name acme'
    su postgres -c 'aditctl user create --admin --name ada'
} > /tmp/made.log
echo; echo '== list'
%s -H "Authorization: Bearer $(su postgres -c 'aditctl key issue')" -H 'Service-Version: 2'
"""

# Neither the build nor a page takes longer, on a busy machine too, in seconds.
BUILD_TIMEOUT_S = 600
FOLLOW_TIMEOUT_S = 300

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def chapters(page):
    """[(title, text)] of a page's chapters."""
    with open(os.path.join(PAGES, page), encoding="utf-8") as file:
        parts = re.split(r"^## (.*)\n", file.read(), flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def steps(text):
    """A chapter's steps in order: ("run", commands), ("write", path, content), or ("see", the
    output of the commands before it)."""
    found = []
    end = 0
    for block in BLOCK.finditer(text):
        kind, content = block.groups()
        if kind == "sh":
            found.append(("run", content))
        elif kind == "json":
            found.append(("see", content))
        else:
            paths = re.findall(r"`(/[^`]+)`", text[end:block.start()])
            if not paths:
                raise AssertionError("the page names no path for:\n" + content)
            found.append(("write", paths[-1], content))
        end = block.end()
    return found


def script(wanted):
    """A shell script of the steps.  It prints a mark before each run's output."""
    lines = [READY]
    for number, (kind, *rest) in enumerate(wanted):
        if kind == "write":
            lines.append("printf %%s %s > %s" % (shlex.quote(rest[1]), shlex.quote(rest[0])))
        elif kind == "run":
            lines.append("echo; echo '== %d'; bash -eu -o pipefail -c %s 2> /tmp/errors < /dev/null || "
                         "{ echo \"failed with $?\"; cat /tmp/errors /var/log/*/error.log; exit 1; }"
                         % (number, shlex.quote(rest[0])))
    asked = [line for step in wanted if step[0] == "run" for line in step[1].splitlines()
             if line.startswith("curl ")]
    if asked:
        lines.append(WITH_A_KEY % asked[-1].replace("/readyz", "/ssh_credentials"))
    return "\n".join(lines) + "\necho; echo '== end'\n"


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Builds for the folders that the README names."""
        # In the source tree, because the machine has a /tmp of its own.
        cls.build = tempfile.mkdtemp(prefix="install-", dir=os.path.join(stack.ROOT, "build"))
        cls.addClassCleanup(shutil.rmtree, cls.build, ignore_errors=True)
        stack.run([os.path.join(stack.ROOT, "configure"), "-q", "--prefix=/usr",
                   "--sysconfdir=/etc", "--localstatedir=/var", "CFLAGS=-O0"], cwd=cls.build)
        stack.run(["make", "-j", str(os.cpu_count()), "--no-print-directory"], cwd=cls.build,
                  timeout=BUILD_TIMEOUT_S)

    def follow(self, page):
        for title, text in chapters(page):
            with self.subTest("%s: %s" % (page, title)):
                wanted = steps(text)
                self.assertTrue(any(step[0] == "see" for step in wanted), "no output to compare")
                done = subprocess.run(
                    [os.path.join(stack.ROOT, "tests", "machine"), "bash", "-c", script(wanted),
                     "bash", self.build], capture_output=True, text=True, timeout=FOLLOW_TIMEOUT_S,
                    stdin=subprocess.DEVNULL)
                printed = dict(re.findall(r"^== (\w+)\n(.*?)(?=^== |\Z)", done.stdout,
                                          re.M | re.S))
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                if "curl " in text:
                    self.assertIn('"ssh_credentials":[]', printed["list"])
                for number, step in enumerate(wanted):
                    if step[0] == "see":
                        before = printed[str(number - 1)]
                        self.assertEqual(before.split()[-1:], step[1].split(), before)

    def test_nginx(self):
        self.follow("nginx.md")

    def test_apache(self):
        self.follow("apache.md")

    def test_cgi(self):
        self.follow("cgi.md")
