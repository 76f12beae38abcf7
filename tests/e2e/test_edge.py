# SPDX-License-Identifier: MIT
"""tools/edge as the caller and as an ordinary user, at the same time: what it prints, word for word;
restarts, programs that are killed, and calls that cannot work."""
import concurrent.futures
import functools
import itertools
import json
import os
import pwd
import re
import shlex
import shutil
import signal
import socket
import subprocess
import unittest

from adit import stack
from adit.case import until
from adit.chromium import Browser

PROGRAMS = "adit.fcgi", "aditctl", "adit-gate.fcgi", "adit-gateway", "adit-ssh-keys"
SCRIPTS = "edge", "keeper.sh", "lib.sh", "serve"
PROVIDER = "tests/e2e/adit/mock_provider.py", "tests/cases/providers/github.json"
VARIABLES = "ADIT_EDGE_SSH_PORT", "ADIT_EDGE_TLS_PORT", "ADIT_EDGE_PROVIDER_PORT"
# An account of every Debian system, with a shell that exists.  sshd demands that.
ORDINARY_USER = "sync"

# What the shell waits for, instead of a second: the end of the tunnel, and the rule of the edge.
# While nginx reloads, its old processes may take a connection after a new one has.
UNTIL_GONE = "until curl -so /dev/null http://localhost:%d/livez; [ $? = 7 ]; do sleep 0.1; done"
UNTIL_DEMANDED = """n=0; until [ $n = 10 ]; do sleep 0.1
        n=$((n + 1))
        [ "$(curl -so /dev/null -w '%{http_code}' --cacert "$EDGE_DIR/authority.pem" \\
            "$EDGE_URL")" = 400 ] || n=0
    done"""

clones = {}


class Clone:
    """A clone with built programs, whose tools one user runs."""

    def __init__(self, user, state):
        self.folder = stack.make_folder()
        self.tools, build = os.path.join(self.folder, "tools"), os.path.join(self.folder, "build")
        os.mkdir(self.tools)
        os.mkdir(build)
        for name in SCRIPTS:
            shutil.copy(os.path.join(stack.ROOT, "tools", name), self.tools)
        for name in PROGRAMS:
            shutil.copy(os.path.join(stack.BUILD, name), build)
        for name in PROVIDER:
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)))
            shutil.copy(os.path.join(stack.ROOT, name), os.path.join(self.folder, name))
        self.prefix = []
        self.env = dict(stack.CLEAN_ENV, HOME=self.folder, ADIT_BUILD=build,
                        ADIT_PORT=str(stack.free_port()))
        if user:
            shutil.chown(self.folder, user)
            self.prefix = ["setpriv", "--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid),
                           "--clear-groups", "--"]
        self.state = os.path.join(self.folder, ".adit")
        if state:
            self.state = self.env["ADIT_STATE"] = os.path.join(self.folder, state)
        self.take_ports()

    def take_ports(self):
        self.bound, self.other = stack.free_port(), stack.free_port()
        self.ports = self.ssh_port, self.tls_port, _ = [stack.free_port() for _ in VARIABLES]
        self.env.update(zip(VARIABLES, map(str, self.ports)),
                        ADIT_EDGE_BIND_PORTS="%d %d" % (self.bound, self.other))

    def is_up(self):
        """Whether all servers of the edge answer (True), or none of them (False)."""
        [up] = {answers(port) for port in self.ports}
        return up

    def run(self, *command, check=True, **env):
        return stack.run([*self.prefix, *command], check=check, cwd="/", env={**self.env, **env})

    def edge(self, *arguments, check=True, **env):
        return self.run(os.path.join(self.tools, "edge"), *arguments, check=check, **env)

    def serve(self, *arguments, check=True):
        return self.run(os.path.join(self.tools, "serve"), *arguments, check=check)

    def start(self):
        # Another program may take a port first.
        for attempt in range(3):
            done = self.edge("--detach", check=attempt == 2)
            if done.returncode == 0:
                self._read(done.stdout)
                break
            if "in use" not in done.stderr:
                raise AssertionError(done.stdout + done.stderr)
            self.take_ports()

    def begin(self):
        """Starts both."""
        self.serve("--detach")
        self.start()

    def _read(self, said):
        """Reads what tools/edge prints: the commands, and the variables."""
        blocks = [block for block in said.split("\n\n") if block.startswith("    ")]
        # A busy machine takes longer than the second after which a reader looks.
        blocks[3], blocks[4] = (wait.join(block.split("sleep 1")) for block, wait in (
            (blocks[3], UNTIL_GONE % self.bound), (blocks[4], UNTIL_DEMANDED)))
        self.blocks = blocks
        lines = [shlex.split(line) for line in self.edge("--env").stdout.splitlines()]
        self.values = dict(line[1].split("=", 1) for line in lines)

    def shell(self, script, check=True):
        """Runs a script in a shell that has the variables, and the function of the first block."""
        function = self.blocks[0].partition("\n")[2]
        return self.run("bash", "-c", "%s\n%s" % (function, script), check=check, **self.values)

    def follow(self):
        """Runs all that tools/edge prints, in one shell.  Returns the output and the exit status of
        each block."""
        script = [self.blocks[0]]
        script += ["%s\nprintf '\\n== %%d\\n' $?" % block for block in self.blocks[1:]]
        parts = re.split(r"(?m)^== (\d+)\n", self.run("bash", "-c", "\n".join(script)).stdout)
        return list(zip(map(str.strip, parts[::2]), map(int, parts[1::2])))

    def keeper(self):
        with open(os.path.join(self.state, "edge", "lock"), encoding="ascii") as file:
            return int(file.read())

    def programs(self):
        """{name: process id} of the keeper's children."""
        found = {}
        keeper = self.keeper()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid, encoding="utf-8") as file:
                    name, rest = re.search(r"\((.*)\) (.*)", file.read()).groups()
            except OSError:
                continue
            if int(rest.split()[1]) == keeper:
                found[name] = int(pid)
        return found

    def store(self):
        """Stores the key with a rule for the port, and opens the tunnel."""
        # ssh goes on in the background with the output that it was given.
        self.shell('exec >"$HOME/said" 2>&1\n' + self.blocks[1])

    def delete_all(self):
        self.shell("psql -q -c 'DELETE FROM adit.ssh_credential'")

    def end_tunnel(self):
        self.delete_all()
        until(lambda: not self.answers(), "the end of the tunnel")

    def answers(self):
        return answers(self.bound)

    def sessions(self):
        """The process ids of the sessions; none while the gateway does not answer."""
        listed = self.shell('"$ADITCTL" -c "$EDGE_DIR/adit.conf" session list', check=False).stdout
        return re.findall(r"(?m)^(\d+)\s", listed)

    def remove(self):
        self.edge("--stop", check=False)
        self.serve("--stop", check=False)
        state = os.path.realpath(self.state)
        shutil.rmtree(state, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def setUpModule():
    users = [("caller", None, "my state")]
    if os.getuid() == 0:
        users.append(("ordinary", ORDINARY_USER, None))
    for name, user, state in users:
        clones[name] = Clone(user, state)
        unittest.addModuleCleanup(clones[name].remove)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(Clone.begin, clones.values()))


def for_each_clone(test):
    """Makes a test with a clone a test of all clones."""
    @functools.wraps(test)
    def run(self):
        for name, clone in clones.items():
            with self.subTest(name):
                test(self, clone)
    return run


class Printed(unittest.TestCase):
    maxDiff = 4000

    def test_a_key_without_rules(self):
        """It binds the ports that the edge offers, and none that a server may want."""
        clone = clones["caller"]
        clone.shell('api "$ADIT_URL/ssh_credentials" -d "{\\"public_key\\": '
                    '\\"$(cat "$EDGE_DIR/key.pub")\\"}"')
        done = clone.shell('ssh -F "$EDGE_DIR/ssh_config" -i "$EDGE_DIR/key" -N -R %d:localhost:1 edge'
                           % stack.free_port(), check=False)
        self.assertEqual(done.returncode, 255)
        self.assertIn("remote port forwarding failed", done.stderr)
        clone.shell('ssh -F "$EDGE_DIR/ssh_config" -i "$EDGE_DIR/key" -f -N '
                    '-R %d:localhost:1 edge >"$HOME/said" 2>&1' % clone.other)
        until(lambda: answers(clone.other), "the tunnel")
        clone.delete_all()
        until(lambda: not answers(clone.other), "the end of the tunnel")

    @for_each_clone
    def test_every_block(self, clone):
        """Everything that tools/edge prints works, or is refused, as it says."""
        tunnel, refused, deleted, tls, route, signed_in = clone.follow()
        self.assertEqual(tunnel[1], 0, tunnel)
        [made, alive, _, session] = tunnel[0].split("\n")
        self.assertEqual(json.loads(made)["acl"], ["bind:localhost:%d" % clone.bound])
        self.assertEqual(json.loads(alive), {"status": "live"})
        self.assertIn(json.loads(made)["id"], session)
        self.assertEqual(refused, ("", 255))
        self.assertEqual(deleted[0], "")
        self.assertEqual(deleted[1], 7, "curl connected")
        module, passes, stranger = tls[0].split("\n", 2)
        self.assertIn('"ca-1"', module)
        self.assertEqual(passes, "edge-2 let you in: CN=a client")
        self.assertIn("400 The SSL certificate error", stranger)
        self.assertFalse(answers(clone.other))
        provider = json.loads(route[0])["provider"]["provider_a"]
        self.assertEqual(provider["email_addresses"], ["alice@example.com"])
        alice, carol = signed_in[0].split("\n", 2)[:2], signed_in[0].split("\n", 2)[2]
        self.assertEqual(alice, ["route-1 let you in: alice@example.com",
                                 "To sign out, open %s/_adit/logout" % clone.values["EDGE_ROUTE_URL"]])
        self.assertIn("You are signed in as <bdi>carol@example.com</bdi>.", carol)
        self.assertNotIn("alice", carol)
        self.assertNotIn("route-1", carol)

    @for_each_clone
    def test_no_certificate(self, clone):
        clone.shell(clone.blocks[4])
        said = clone.shell('curl -sS --cacert "$EDGE_DIR/authority.pem" "$EDGE_URL"').stdout
        self.assertIn("400 No required SSL certificate", said)

    @for_each_clone
    def test_env(self, clone):
        self.assertEqual(clone.values["EDGE_URL"], "https://edge-2.localhost:%d" % clone.tls_port)
        self.assertEqual(clone.values["EDGE_ROUTE_URL"], "https://app.localhost:%d" % clone.tls_port)
        self.assertEqual(os.path.realpath(clone.values["EDGE_DIR"]),
                         os.path.realpath(os.path.join(clone.state, "edge")))
        self.assertEqual(clone.values["ADIT_URL"], "http://127.0.0.1:" + clone.env["ADIT_PORT"])

    @for_each_clone
    def test_no_shell(self, clone):
        """The key opens tunnels, and no shell."""
        clone.store()
        self.addCleanup(clone.delete_all)
        done = clone.shell('ssh -F "$EDGE_DIR/ssh_config" -i "$EDGE_DIR/key" edge id',
                           check=False)
        self.assertEqual((done.returncode, done.stdout), (255, ""))


class Route(unittest.TestCase):
    """The route whose visitors sign in."""

    def curl(self, clone, *arguments):
        """What curl prints, with what the identity provider's authority signed."""
        return clone.shell('curl -sS --cacert "$EDGE_DIR/authority.pem" ' + " ".join(arguments)).stdout

    def protect(self, clone):
        """Stores the module that tools/edge prints."""
        clone.shell(clone.blocks[5])
        self.addCleanup(clone.shell, "psql -q -c 'DELETE FROM adit.oauth_module'")

    @for_each_clone
    def test_without_a_module(self, clone):
        """Everybody passes, and nobody by a name of their own choice."""
        self.assertEqual(self.curl(clone, '-H "X-Adit-User: alice" "$EDGE_ROUTE_URL"').split("\n")[0],
                         "route-1 let you in: ")

    @for_each_clone
    def test_way_to_the_provider(self, clone):
        """A visitor without a session gets to a page with everybody's name and addresses."""
        self.protect(clone)
        page = self.curl(clone, '-L -w "%{url_effective}" "$EDGE_ROUTE_URL/page"')
        self.assertIn("<p>Who are you?</p>", page)
        for name in ("alice</a>, alice@private.example.org, alice@example.com,",
                     "bob</a>, bob@example.com (not verified)</li>",
                     "carol</a>, carol@example.com, team globex/team-1",
                     ">Refuse</a></li>"):
            self.assertIn(name, page)
        self.assertIn("https://localhost:%d/login/oauth/authorize?" % clone.ports[2], page)
        self.assertEqual(self.curl(clone, "-o /dev/null -w '%{http_code}' -d x=1 \"$EDGE_ROUTE_URL\""),
                         "401")

    @for_each_clone
    def test_sign_out(self, clone):
        self.protect(clone)
        clone.shell(clone.blocks[6].replace("sign_in carol", ""))
        visit = '-b "$EDGE_DIR/cookies" -o /dev/null -w "%{http_code}" "$EDGE_ROUTE_URL'
        self.assertEqual(self.curl(clone, visit + '"'), "200")
        self.assertEqual(self.curl(clone, visit + '/_adit/logout" -X POST'), "200")
        # A copy of the cookie is good no more.
        self.assertEqual(self.curl(clone, visit + '"'), "302")

    def test_in_a_browser(self):
        """A person opens the printed URL, and chooses who to be."""
        clone = clones["caller"]
        self.protect(clone)
        url = clone.values["EDGE_ROUTE_URL"]
        self.assertIn("Open %s in a browser." % url, clone.edge("--detach").stdout)
        browser = Browser("app.localhost", "localhost")

        def shows(words):
            browser.until("document.body?.innerText.includes('%s')" % words, words)
        self.addCleanup(browser.close)
        # The edge's authority is not in the browser's store.
        browser.call("Security.setIgnoreCertificateErrors", ignore=True)
        for name, shown in (("alice", "route-1 let you in: alice@example.com"),
                            ("carol", "You are signed in as carol@example.com."),
                            ("bob", "You are signed in as bob."), ("Refuse", "Sign-in failed")):
            with self.subTest(name):
                browser.open(url, 1000, 800)
                shows("Who are you?")
                browser.evaluate("[...document.querySelectorAll('a')].find("
                                 "link => link.innerText === '%s').click()" % name)
                shows(shown)
                browser.call("Network.clearBrowserCookies")

    @for_each_clone
    def test_killed_gate(self, clone):
        """tools/edge restarts adit-gate.  Visitors stay signed in."""
        self.protect(clone)
        clone.shell(clone.blocks[6].replace("sign_in carol", ""))
        before = clone.programs()["adit-gate.fcgi"]
        os.kill(before, signal.SIGKILL)
        until(lambda: clone.programs().get("adit-gate.fcgi", before) != before, "another gate")
        visit = '-b "$EDGE_DIR/cookies" "$EDGE_ROUTE_URL"'
        until(lambda: "let you in: alice@example.com" in self.curl(clone, visit), "its answer")


class Life(unittest.TestCase):
    maxDiff = 4000

    @for_each_clone
    def test_once_more(self, clone):
        said = clone.edge("--detach").stdout
        self.assertIn("edge: already running\n", said)
        self.assertIn("SSH: 127.0.0.1:%d\n" % clone.ssh_port, said)
        done = clone.edge("--detach", check=False, ADIT_EDGE_BIND_PORTS=str(stack.free_port()))
        self.assertEqual(done.returncode, 1)
        self.assertIn("tunnels may bind %d %d; to stop it" % (clone.bound, clone.other), done.stderr)
        done = clone.edge("--detach", check=False, ADIT_EDGE_SSH_PORT=str(stack.free_port()))
        self.assertEqual(done.returncode, 1)
        self.assertIn("on ports %d, %d and %d; to stop it, run: tools/edge --stop" % (*clone.ports,),
                      done.stderr)

    def test_in_the_foreground(self):
        """Without --detach, tools/edge prints the same, and Ctrl-C stops it."""
        clone = clones["caller"]
        expected = clone.edge("--detach").stdout.partition("\n")[2]
        clone.edge("--stop")
        with subprocess.Popen([os.path.join(clone.tools, "edge")], env=clone.env, cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(clone.start)
            self.addCleanup(process.kill)
            said = "".join(process.stdout.readline() for _ in range(expected.count("\n")))
            self.assertTrue(clone.is_up())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), 0)
        self.assertEqual(said, expected)
        self.assertFalse(clone.is_up())

    @for_each_clone
    def test_stop_ends_its_own_tunnels_alone(self, clone):
        for each in clones.values():
            each.end_tunnel()
            each.store()
            self.addCleanup(each.end_tunnel)
        others = [other for other in clones.values() if other is not clone]
        self.assertEqual(clone.edge("--stop").stdout, "edge: stopped\n")
        self.assertFalse(clone.answers() or clone.is_up())
        self.assertEqual(clone.edge("--stop").stdout, "edge: not running with the state folder %s\n"
                         % os.path.realpath(clone.state))
        self.assertIn("not running: start it with --detach", clone.edge("--env").stderr)
        self.assertEqual([other.answers() for other in others], [True] * len(others))
        # Its credential and its keys are there after the next start.
        clone.start()
        clone.shell('ssh -F "$EDGE_DIR/ssh_config" -i "$EDGE_DIR/key" -f -N -R '
                    '%d:localhost:1 edge >"$HOME/said" 2>&1' % clone.bound)
        self.assertTrue(clone.answers())

    @for_each_clone
    def test_killed_gateway(self, clone):
        """tools/edge restarts adit-gateway, which knows the session that it let in before."""
        clone.store()
        before = clone.programs()["adit-gateway"]
        os.kill(before, signal.SIGKILL)
        until(lambda: clone.programs().get("adit-gateway", before) != before, "another gateway")
        self.assertTrue(clone.answers())
        until(clone.sessions, "the session")
        clone.end_tunnel()

    @for_each_clone
    def test_killed_keeper(self, clone):
        """If the keeper is killed, its programs end.  The next run knows the sessions."""
        clone.store()
        programs = clone.programs()
        os.kill(clone.keeper(), signal.SIGKILL)
        until(lambda: not any(os.path.exists("/proc/%d/exe" % pid) for pid in programs.values()),
              "the end of the programs")
        self.assertTrue(clone.answers())
        clone.start()
        self.assertEqual(len(clone.sessions()), 1)
        clone.delete_all()
        until(lambda: not clone.answers(), "the end of the tunnel")

    def test_database_away(self):
        """While tools/serve is stopped, the tunnel stays and nobody else gets in."""
        clone = clones["caller"]
        clone.store()
        clone.serve("--stop")
        self.assertTrue(clone.answers())
        config = os.path.join(clone.state, "edge", "ssh_config")
        done = clone.run("ssh", "-F", config, "-i", os.path.join(clone.state, "edge", "key"), "-N",
                         "-R", "%d:localhost:1" % clone.other, "edge", check=False)
        self.assertEqual(done.returncode, 255)
        self.assertIn("Permission denied", done.stderr)
        clone.serve("--detach")
        self.assertTrue(clone.answers())
        clone.delete_all()
        until(lambda: not clone.answers(), "the end of the tunnel")


class Refused(unittest.TestCase):
    maxDiff = 4000

    def assert_refused(self, message, state=None, **env):
        clone = clones["caller"]
        done = clone.edge("--detach", check=False,
                          **dict(env, **({"ADIT_STATE": state} if state else {})))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "edge: %s\n" % message))

    def test_ports(self):
        for port in "abc", "0", "65536", "022", "22 23":
            for variable in VARIABLES:
                with self.subTest("%s %s" % (variable, port)):
                    self.assert_refused("%s is '%s'; set it to a port, 1 to 65535" % (variable, port),
                                        **{variable: port})
        for two in itertools.combinations(VARIABLES, 2):
            with self.subTest(two):
                self.assert_refused("%s and %s are both 2200: set them to two ports" % two,
                                    **dict.fromkeys(two, "2200"))

    def test_bind_ports(self):
        """No tunnel may bind the port of a server that runs here."""
        clone = clones["caller"]
        for name, port in ("ADIT_EDGE_TLS_PORT", clone.tls_port), (
                "tools/serve's ADIT_PORT", clone.env["ADIT_PORT"]):
            with self.subTest(name):
                self.assert_refused("ADIT_EDGE_BIND_PORTS and %s are both %s: set them to two ports"
                                    % (name, port), ADIT_EDGE_BIND_PORTS="9000 %s" % port)

        for port in "9001,9002", "9001,", "x":
            with self.subTest(port):
                self.assert_refused("ADIT_EDGE_BIND_PORTS is '%s'; set it to ports, 1 to 65535, with"
                                    " blanks between them" % port,
                                    ADIT_EDGE_BIND_PORTS="9000 " + port)

    def test_taken_port(self):
        clone = clones["caller"]
        clone.edge("--stop")
        for variable in *VARIABLES, "ADIT_EDGE_BIND_PORTS":
            with self.subTest(variable), socket.create_server(("127.0.0.1", 0)) as taken:
                port = taken.getsockname()[1]
                self.assert_refused("port %d on 127.0.0.1 is in use: set %s to another port" % (
                    port, variable), **{variable: str(port)})
        clone.start()

    def test_locked_user(self):
        """tools/edge warns, since sshd will let nobody in."""
        clone = clones["caller"]
        clone.edge("--stop")
        user = "postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        bin_folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, bin_folder)
        os.chmod(bin_folder, 0o755)
        getent = os.path.join(bin_folder, "getent")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            refused = "port %d on 127.0.0.1 is in use: set ADIT_EDGE_SSH_PORT to another port" % port
            for entry, warning in (
                    ("%s:!*:1::::::", "sshd refuses user %s: the account is locked (getent shadow %s):"
                     " run this as another user\nedge: " % (user, user)),
                    ("%s:*:1::::::", "")):
                with open(getent, "w", encoding="ascii") as file:
                    file.write("#!/bin/sh\necho '%s'\n" % (entry % user))
                os.chmod(getent, 0o755)
                with self.subTest(entry):
                    self.assert_refused(warning + refused, ADIT_EDGE_SSH_PORT=str(port), PATH="%s:%s" % (
                        bin_folder, clone.env["PATH"]))
        clone.start()

    def test_without_serve(self):
        empty = os.path.join(clones["caller"].folder, "empty")
        self.assert_refused("the state folder %s does not exist: start with tools/serve first" % empty,
                            empty)
        os.mkdir(empty)
        self.assert_refused("tools/serve does not run with the state folder %s: run: tools/serve"
                            " --detach" % empty, empty)
        self.assertEqual(os.listdir(empty), [])

    def test_usage(self):
        done = clones["caller"].edge("--nonsense", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage: tools/edge", done.stderr)
