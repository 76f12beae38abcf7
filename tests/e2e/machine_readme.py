# SPDX-License-Identifier: MIT
"""The README, word for word: "A session" and "An edge to try" with a stack of tools/serve and
tools/edge, and "Installing for real" from the source, without systemd and behind nginx, on a
disposable machine.

Run it with tests/machine tests/e2e/run MODULE.  It runs all commands of these chapters in order,
with two exceptions.  It only reads the apt-get commands, and "make check" gets an empty list of
tests."""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from adit import covered, stack
from adit.client import OPERATION_ID
from test_install_web_servers import chapters as chapters_of_page, steps

# Nothing takes longer, with the build and on a busy machine, in seconds.
TIMEOUT_S = 600

# Debian's PostgreSQL package does this when apt-get installs it.  The folders in /run come from
# other packages: /run is empty in the copy.
READY = r"""
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
unset "${!PG@}" "${!ADIT@}" TMPDIR
{
    mkdir -p /run/lock
    install -d -o postgres /run/postgresql
    su postgres -c "PG_BIN/initdb -D /tmp/data --auth=peer --no-sync"
    su postgres -c "PG_BIN/pg_ctl -D /tmp/data -w -l /tmp/postgres.log \
        -o '-k /run/postgresql -c listen_addresses= -c fsync=off' start"
} > /tmp/ready.log 2>&1 < /dev/null || { cat /tmp/ready.log; exit 1; }
""".replace("PG_BIN", stack.PG_BIN)

# Skip the tests, and save the time of the optimiser.
MAKEFLAGS = "-j%d -- TESTS= check_PROGRAMS= CFLAGS=-O0" % os.cpu_count()

# Runs after the README's steps, with the key that they issued.
AFTERWARDS = r"""
mark list
curl -sS --connect-to ::localhost: http://adit.example/ssh_credentials \
    -H "Authorization: Bearer $(grep '^adit_' /tmp/all_printed)" -H 'Service-Version: 2'
mark stranger
setpriv --reuid=nobody --regid=nogroup --clear-groups python3 -c '
import socket
socket.socket(socket.AF_UNIX).connect("/run/adit/adit.sock")' 2>&1 | tail -n 1
responder=$(pgrep -o -x adit.fcgi)
mark workers
pgrep -c -P "$responder"
mark stopped
kill "$responder"
wait "$job" && echo "ended with 0"
ls -A /run/adit
mark documents
ls -d $DOCUMENTS 2>&1 || true
mark end
"""


def chapter(title):
    """The text of a chapter of the README."""
    with open(os.path.join(stack.ROOT, "README"), encoding="utf-8") as file:
        text = file.read()
    parts = re.split(r"(?m)^(\S.*)\n-+\n", text)
    return dict(zip(parts[1::2], parts[2::2]))[title]


def blocks(text, indent=4):
    """The paragraphs with this indentation, without it."""
    found = []
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):
        lines = paragraph.split("\n")
        if all(line.startswith(" " * indent) for line in lines):
            found.append("\n".join(line[indent:] for line in lines))
    return found


def printed_by(output):
    """{mark: the text printed after it}."""
    return dict(re.findall(r"(?ms)^== (\w+)\n(.*?)(?=^== |\Z)", output))


def setUpModule():
    if os.uname().nodename != "machine" or os.getuid() != 0:
        raise AssertionError("this module changes the machine; run: tests/machine tests/e2e/run "
                             + __name__)


class Session(unittest.TestCase):
    """The chapters "Two commands", "A session" and "An edge to try", in one shell."""
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.folder = stack.make_folder()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.env = {**stack.CLEAN_ENV, "ADIT_STATE": os.path.join(cls.folder, "my state"),
                   "ADIT_PORT": str(stack.free_port()), "ADIT_BUILD": stack.BUILD,
                   "TMPDIR": cls.folder}
        for tool in "tools/serve", "tools/edge":
            cls.addClassCleanup(stack.run, [tool, "--stop"], cwd=stack.ROOT, env=cls.env)
        [start] = [block for block in blocks(chapter("Two commands")) if "--detach" in block]
        # The chapter also shows an answer, which is no command.
        shown = [block for block in blocks(chapter("A session")) if block.startswith("{")]
        cls.commands = [block for block in blocks(chapter("A session")) if block not in shown]
        cls.commands += blocks(chapter("What it promises"))
        [cls.shown] = shown
        script = [start] + ["echo; echo '== %d'\n%s" % (n, block)
                            for n, block in enumerate(cls.commands)]
        cls.edge = blocks(chapter("An edge to try"))
        # The chapter shows what some commands say before they fail.
        script += ["set +e; exec 2>&1"]
        script += ["echo; echo '== edge%d'\n%s\nprintf '\\nstatus %%d\\n' $?" % (n, block)
                   for n, block in enumerate(cls.edge) if not cls.is_said(block)]
        script += ["echo; echo '== end'"]
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", "\n".join(script)],
                              cwd=stack.ROOT, env=cls.env, text=True, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        if done.returncode != 0 or "\n== end\n" not in done.stdout:
            raise AssertionError("the session ended with %d\n%s%s" % (
                done.returncode, done.stdout, done.stderr))
        cls.printed = printed_by(done.stdout)

    @staticmethod
    def is_said(block):
        """Whether a block of the edge's chapter is what a program says."""
        return block.startswith(("Error: ", "curl: "))

    def edge_block(self, words):
        """The output of the only such block of the edge's chapter, and its exit status."""
        [n] = [n for n, block in enumerate(self.edge) if words in block and not self.is_said(block)]
        said, status = re.fullmatch(r"(?s)(.*)\nstatus (\d+)\n\s*", self.printed["edge%d" % n]).groups()
        return said, int(status)

    def block(self, words):
        """The output of the only block that contains these words."""
        [n] = [n for n, block in enumerate(self.commands) if words in block]
        return self.printed[str(n)]

    def answers(self, words):
        return [json.loads(line) for line in self.block(words).splitlines() if line]

    def test_every_answer_is_good(self):
        """Every answer is a success, except the one that shows an error."""
        for n, block in enumerate(self.commands):
            with self.subTest(block.partition("\n")[0]):
                self.assertEqual("error_code" in self.printed[str(n)], '"enable"' in block)

    def test_credential(self):
        [public_key] = glob.glob(os.path.join(self.folder, "*", "example.pub"))
        with open(public_key, encoding="utf-8") as file:
            public_key_text = file.read().strip()
        [made] = self.answers("ssh-keygen -q")
        self.assertEqual((made["public_key"], made["description"], made["acl"]), (
            public_key_text, "build server", ["bind:*.example.com", "bind:env=staging"]))
        [page, changed] = self.answers("?limit=10")
        self.assertEqual((page["ssh_credentials"], page["next_page_uri"]), ([made], None))
        self.assertEqual(changed, {**made, "metadata": "rack 7"})
        [found] = self.answers("filter=")
        self.assertEqual(found["ssh_credentials"], [changed])
        self.assertRegex(self.block('"$ADITCTL" history'),
                         r"(?m)^ae_\d{19}\t.*rack 7.*$(.|\n)*^change\tssh_credential\t%s\t" % made["id"])
        [decision] = self.answers("/ssh_decisions")
        self.assertEqual(decision, {
            "permitted": True, "rule": "bind:*.example.com", "acl": made["acl"],
            "credentials": [{name: made[name] for name in ("id", "uri", "owner_id")}]})
        fingerprint = stack.run(["ssh-keygen", "-lf", public_key]).stdout.split()[1]
        for value in (made["id"], "ssh-ed25519", fingerprint, "{bind:*.example.com,bind:env=staging}"):
            self.assertRegex(self.block("key_type, fingerprint"), r"(?m) \| %s *$" % re.escape(value))
        self.assertEqual(self.block("-X DELETE").split(), [])

    def test_modules(self):
        [oauth, mutual_tls] = self.answers("/oauth")
        provider = oauth["provider"]["provider_a"]
        self.assertEqual((provider["teams"], provider["client_id"], provider["client_secret"],
                          oauth["inactivity_timeout"], oauth["enabled"]), (
            ["acme/ops"], "app", "not told to anybody", 3600, True))
        self.assertEqual([ref["id"] for ref in mutual_tls["certificate_authorities"]], ["ca-1"])
        stored = self.block("adit.oauth_module")
        self.assertRegex(stored, r"(?m)^client_secret_sealed \| \\x[0-9a-f]{94} *$")
        # psql shows bytes in hexadecimal.
        for shown in ("not told to anybody", b"not told to anybody".hex()):
            self.assertNotIn(shown, stored)

    def test_error(self):
        """The README shows the error on several lines, without its operation's identifier."""
        [answer] = self.answers('"enable"')
        self.assertRegex(answer["details"]["operation_id"], OPERATION_ID)
        answer["details"]["operation_id"] = "op_..."
        self.assertEqual(json.loads(re.sub(r"\s+", " ", self.shown)), answer)

    def test_identities(self):
        said = self.block("user create")
        keys = [line.split("\t") for line in said.splitlines() if line.startswith("ak_")]
        self.assertEqual([key[3:5] for key in keys], [
            ["active", "read-write"], ["active", "gateway"], ["active", "read-only"]])
        self.assertRegex(said, r"(?m)^ok +database ")
        self.assertNotIn("trouble", said)
        self.assertNotIn("adit_", said)

    def test_edge(self):
        """What the chapter shows as working works, and what it shows as failing fails so."""
        said = {block: self.edge[n - 1] for n, block in enumerate(self.edge) if self.is_said(block)}
        self.assertEqual(len(said), 2)
        for block, command in said.items():
            with self.subTest(command):
                printed, status = self.edge_block(command)
                self.assertNotEqual(status, 0)
                self.assertIn(block.removesuffix(" ..."), printed)
        for n, block in enumerate(self.edge):
            if block not in said and block not in said.values():
                with self.subTest(block):
                    self.assertEqual(self.edge_block(block)[1], 0)
        self.assertIn('{"status":"live"}\n', self.edge_block("-f -N")[0])
        self.assertRegex(self.edge_block("-f -N")[0], r"(?m)^\d+\t.*\tsshcr_\w{27}$")
        # curl prints its progress too, because it does not print to a terminal.
        self.assertRegex(self.edge_block("stranger.pem")[0],
                         "(?s)edge-2 let you in: CN=a client\n.*400 The SSL certificate error")
        self.assertRegex(self.edge_block("sign_in alice")[0],
                         "(?s)^route-1 let you in: alice@example.com\n.*"
                         "You are signed in as <bdi>carol@example.com</bdi>")

    def test_audit(self):
        said = self.block("adit.audit")
        for event in ("ssh_credential_created", "ssh_credential_updated", "ssh_credential_deleted",
                      "oauth_module_created", "mutual_tls_module_created", "api_key_created"):
            with self.subTest(event):
                self.assertRegex(said, r"\| %s +\| \S+ +\|" % event)

    def test_table_of_operations(self):
        """The chapter "The interface" names every operation."""
        [table] = [block for block in blocks(chapter("The interface")) if "/livez" in block]
        named = {tuple(line.split()[:2]) for line in table.splitlines()}
        self.assertEqual(named, {(method, path) for method, path in covered.route_table
                                 if method not in ("HEAD", "OPTIONS")})


class Install(unittest.TestCase):
    """The chapter "Installing for real", starting with the source."""
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        # Not below /tmp, because the copy has a /tmp of its own.
        cls.folder = tempfile.mkdtemp(prefix="adit-readme-", dir="/var/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.tree = os.path.join(cls.folder, "adit")
        # The tree that an archive of "make dist" unpacks to.
        stack.run(["make", "-C", stack.BUILD, "distdir", "distdir=" + cls.tree])
        cls.read()
        cls.said = subprocess.run(
            [os.path.join(stack.ROOT, "tests", "machine"), "bash", "-eu", "-c", cls.script()],
            cwd="/", env=stack.CLEAN_ENV, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
        cls.printed = printed_by(cls.said)

    @classmethod
    def read(cls):
        text = re.split(r"From\s+the\s+source,\s+as\s+root:", chapter("Installing for real"))[1]
        source, without_systemd = re.split(r"\bWithout:", text)
        [cls.source] = blocks(source)
        cls.steps = re.split(r"(?m)^ \d\. ", without_systemd)[1:]

    @classmethod
    def script(cls):
        apt, cls.build = re.fullmatch(r"(?s)(apt-get update\napt-get install .*?[^\\]\n)(.*)",
                                      cls.source).groups()
        cls.packages = apt.partition("install")[2].replace("\\\n", " ").split()
        lines = [READY, "mark() { echo; echo \"== $1\"; }",
                 cls.follow("source", "export MAKEFLAGS='%s'\n%s" % (MAKEFLAGS, cls.build),
                            cls.tree)]
        [web_server] = [step for step in cls.steps if step.startswith("Set up a web server")]
        for number, step in enumerate(cls.steps, 1):
            if step is web_server:
                lines.append(cls.nginx())
            for part, block in enumerate(blocks(step, 8)):
                name = "step%d%s" % (number, "abc"[part])
                lines.append(cls.supervise(name, block) if "--listen" in block
                             else cls.follow(name, block))
        documents = re.findall(r"\bdoc/([\w/-]+\.md)", "".join(
            chapter(title) for title in ("The interface", "Installing for real",
                                         "What it promises")))
        lines.append("DOCUMENTS='%s'" % " ".join("/usr/share/doc/adit/" + path
                                                 for path in documents))
        return "\n".join(lines) + AFTERWARDS

    @staticmethod
    def follow(name, block, folder="/"):
        """Runs a block in a shell of its own.  If it fails, prints its output and stops."""
        path = "/tmp/block"
        return ("mark %s\ncat > %s <<'END OF BLOCK'\n%s\nEND OF BLOCK\n"
                "(cd '%s' && exec bash -eu %s) > /tmp/printed 2> /tmp/errors < /dev/null || "
                "{ echo \"failed with $?\"; tail -n 40 /tmp/printed /tmp/errors; exit 1; }\n"
                "tee -a /tmp/all_printed < /tmp/printed" % (name, path, block, folder, path))

    @staticmethod
    def supervise(name, block):
        """Runs a block that ends with a program that keeps running, in the background."""
        return ("mark %s\ncat > /tmp/%s <<'END OF BLOCK'\n%s\nEND OF BLOCK\n"
                "bash -eu /tmp/%s < /dev/null & job=$!\n"
                "for _ in {1..200}; do [ ! -S /run/adit/adit.sock ] || break; sleep 0.05; done"
                % (name, name, block, name))

    @classmethod
    def nginx(cls):
        """The commands of the first chapter of nginx.md."""
        lines = []
        for number, (kind, *rest) in enumerate(steps(chapters_of_page("nginx.md")[0][1])):
            if kind == "write":
                lines.append("cat > %s <<'END OF FILE'\n%sEND OF FILE" % tuple(rest))
            elif kind == "run":
                lines.append(cls.follow("nginx%d" % number, rest[0]))
        return "\n".join(lines)

    def test_it_works_to_the_end(self):
        self.assertIn("end", self.printed, self.said[-6000:])
        self.assertEqual(json.loads(self.printed["list"])["ssh_credentials"], [])

    def test_packages(self):
        """The packages that the README names are installed when the tests run."""
        self.assertGreater(len(self.packages), 10)
        for package in self.packages:
            with self.subTest(package):
                said = stack.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", package],
                                 check=False)
                self.assertEqual(said.stdout, "installed")

    def test_responder(self):
        least, most = map(int, re.search(r"a worker for each processor, (\d+) to (\d+)",
                                         chapter("Installing for real")).groups())
        self.assertEqual(self.printed["workers"].split(),
                         [str(min(max(os.cpu_count(), least), most))])
        self.assertIn("PermissionError", self.printed["stranger"])
        self.assertEqual(self.printed["stopped"].strip(), "ended with 0")

    def test_doctor_finds_nothing(self):
        [found] = [said for name, said in self.printed.items()
                   if name.startswith("step") and re.search(r"(?m)^ok +settings ", said)]
        verdicts = [line.split()[0] for line in found.splitlines() if "  " in line]
        self.assertEqual(verdicts, ["ok"] * 12, found)

    def test_documents_are_installed(self):
        self.assertNotIn("cannot access", self.printed["documents"])
        self.assertIn("/install/nginx.md", self.printed["documents"])


class Paths(unittest.TestCase):
    def test_what_it_names_is_there(self):
        """The tree has the files and folders that the README names."""
        with open(os.path.join(stack.ROOT, "README"), encoding="utf-8") as file:
            named = set(re.findall(r"(?<![\w/.$])((?:doc|man|sql|src|tests|tools)/[\w./-]*\w)",
                                   file.read()))
        self.assertGreater(len(named), 20)
        for path in sorted(named):
            with self.subTest(path):
                self.assertTrue(os.path.exists(os.path.join(stack.ROOT, path)))
