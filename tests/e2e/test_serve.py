# SPDX-License-Identifier: MIT
"""tools/serve if everything already runs, if its key is dead, if its responder ends, if another
PostgreSQL version made the cluster, and if it cannot work."""
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from adit import stack
from adit.case import Case, until

CREDENTIALS = "/ssh_credentials"


class ServeCase(Case):
    stack_name = "serve"

    def serve(self, *arguments, port=None):
        done = stack.run([os.path.join(stack.ROOT, "tools", "serve"), *arguments], check=False,
                         env=dict(stack.CLEAN_ENV, ADIT_STATE=self.stack.given_state,
                                  ADIT_PORT=str(port or self.stack.port),
                                  ADIT_BUILD=stack.BUILD))
        return done.returncode, done.stdout + done.stderr


class Running(ServeCase):
    def test_once_more(self):
        status, said = self.serve("--detach")
        self.assertEqual(status, 0, said)
        self.assertIn("already running", said)

    def test_on_another_port(self):
        status, said = self.serve("--detach", port=stack.free_port())
        self.assertNotEqual(status, 0, said)
        self.assertIn("already running", said)
        self.assertIn("on port %d" % self.stack.port, said)

    def test_limits(self):
        """nginx limits clients, unless a load generator asks for none, as the tests do."""
        self.stack.stop()
        self.serve("--detach")
        try:
            self.assertIn("limit_req", self.read("nginx-upstream.conf"))
        finally:
            self.stack.restart()
        self.assertNotIn("limit_req", self.read("nginx-upstream.conf"))

    def read(self, name):
        with open(os.path.join(self.stack.state, name), encoding="utf-8") as file:
            return file.read()

    def test_nginx_has_ended(self):
        os.kill(self.stack.nginx_master(), signal.SIGKILL)
        until(lambda: "http://127.0.0.1:%d does not answer" % self.stack.port
              in self.serve("--env")[1], "a warning")
        self.stack.stop()
        self.stack.start()

    def test_output_is_full(self):
        for argument in "--env", "--detach", "--help":
            with self.subTest(argument), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run(
                    [os.path.join(stack.ROOT, "tools", "serve"), argument], stdout=full,
                    stderr=subprocess.PIPE, text=True, check=False,
                    env=dict(stack.CLEAN_ENV, ADIT_STATE=self.stack.given_state,
                             ADIT_BUILD=stack.BUILD))
                self.assertEqual((done.returncode, done.stderr),
                                 (1, "serve: cannot write to standard output\n"))


class Pages(unittest.TestCase):
    """What /docs and /console are made of is fetched once; a fetch that failed is not repeated soon."""

    # The build folder of a clone, and an npm that fails, or that fetches the renderer of /docs.
    MAKEFILE = ".PHONY: docs console\ndocs:\n\tnpm pack\nconsole:\n\tnpm ci\n"
    NPM = ("#!/bin/sh\necho \"$1 $npm_config_fetch_retries\" >>calls\n"
           "[ -e up ] && mkdir -p docs && cp up docs/renderer.txt\n")

    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in ("Makefile", self.MAKEFILE), ("npm", self.NPM):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(file.name, 0o755)

    def make(self, page, status, **env):
        """Returns what is said, and how npm was called."""
        done = stack.run(
            ["bash", "-euc", '. tools/lib.sh; need_packages() { :; }; make_page "$@"', "tools/serve",
             page, self.folder, self.folder + "/log"], check=False, cwd=stack.ROOT, env=dict(
                 stack.CLEAN_ENV, PATH=self.folder + ":" + os.environ["PATH"], **env))
        self.assertEqual(done.returncode, status, done)
        calls = os.path.join(self.folder, "calls")
        if not os.path.exists(calls):
            return done, []
        with open(calls, encoding="utf-8") as file:
            called = file.read().splitlines()
        os.remove(calls)
        return done, called

    def test_no_network(self):
        for page, call in ("docs", "pack 1"), ("console", "ci 1"):
            with self.subTest(page):
                done, called = self.make(page, 1)
                self.assertEqual((done.stdout, called), (
                    "serve: fetching what /%s is made of from npm's registry, once\n" % page, [call]))
                done, called = self.make(page, 1)
                self.assertEqual((done.stdout, called), ("", []))
                self.assertIn("to try again, set ADIT_FETCH to now", done.stderr)
                self.assertEqual(self.make(page, 1, ADIT_FETCH="now")[1], [call])
                os.utime(self.folder + "/log.failed", (0, 0))
                self.assertEqual(self.make(page, 1)[1], [call])
                os.remove(self.folder + "/log.failed")

    def test_once_fetched(self):
        """The page is made anew at each start, and nothing is fetched."""
        with open(os.path.join(stack.ROOT, "doc/reference/build.py"), encoding="utf-8") as file:
            renderer = re.search('(?m)^RENDERER = "(.*)"$', file.read()).group(1)
        self.make("docs", 1)
        with open(os.path.join(self.folder, "up"), "w", encoding="utf-8") as file:
            file.write(renderer + " sha512-x\n")
        self.assertEqual(self.make("docs", 0, ADIT_FETCH="now")[1], ["pack 1"])
        self.assertFalse(os.path.exists(self.folder + "/log.failed"))
        done, called = self.make("docs", 0)
        self.assertEqual((done.stdout, called), ("", ["pack "]))


class DeadKey(ServeCase):
    """tools/serve issues a new key if the service refuses the key of the first run."""

    def key_of(self, *arguments):
        status, said = self.serve(*arguments)
        self.assertEqual(status, 0, said)
        return re.search("adit_[0-9A-Za-z]{76}", said).group(), said

    def kill_key(self):
        self.stack.psql("UPDATE adit.api_key SET revoked_at = now() WHERE revoked_at IS NULL")

    def assert_another(self, dead, argument, is_start=False):
        key, said = self.key_of(argument)
        self.assertNotEqual(key, dead)
        if not is_start:  # then the keeper says so, in its log
            self.assertIn("was refused; issued another one", said)
        self.assert_ok(self.stack.client(key).get(CREDENTIALS))
        # Later runs use this key.
        self.assertEqual(self.key_of("--detach")[0], key)
        self.assertEqual(self.key_of("--env")[0], key)
        self.assertNotIn("issued another one", self.key_of("--env")[1])

    def test_one_that_works_stays(self):
        self.assertEqual(self.key_of("--detach")[0], self.key_of("--env")[0])
        n = self.stack.psql("SELECT count(*) FROM adit.api_key")
        self.key_of("--detach")
        self.assertEqual(self.stack.psql("SELECT count(*) FROM adit.api_key"), n)

    def test_revoked(self):
        dead = self.key_of("--env")[0]
        self.kill_key()
        before = self.stack.dump()
        key, said = self.key_of("--env")
        # It only prints.
        self.assertEqual((key, self.stack.dump()), (dead, before))
        self.assertIn("first-key is refused; to issue another one, run: tools/serve --detach", said)
        admin = self.stack.psql("SELECT min(id) FROM adit.principal WHERE is_admin")
        self.assert_another(dead, "--detach")
        self.assertEqual(self.stack.psql("SELECT principal_id FROM adit.api_key"
                                         " WHERE revoked_at IS NULL"), admin)

    def test_revoked_before_a_start(self):
        dead = self.key_of("--env")[0]
        self.kill_key()
        self.stack.stop()
        self.assert_another(dead, "--detach", is_start=True)

    def test_restored(self):
        """The database is restored from a backup with other accounts, or from one without any."""
        dead = self.key_of("--env")[0]
        self.stack.psql("DELETE FROM adit.api_key; DELETE FROM adit.principal")
        account = self.stack.psql("SELECT min(id) FROM adit.account")
        self.assert_another(dead, "--detach")
        self.assertEqual(self.stack.psql("SELECT account_id FROM adit.principal"), account)
        dead = self.key_of("--env")[0]
        self.stack.psql("TRUNCATE adit.account CASCADE")
        self.stack.forget_home()
        self.assert_another(dead, "--detach")

    def test_of_a_stack_that_is_stopped(self):
        self.stack.stop()
        key, said = self.key_of("--env")
        self.assertIn("not running: start it with --detach", said)
        self.stack.start()
        self.assertEqual(self.key_of("--env")[0], key)

    def test_others_cannot_read_it(self):
        self.kill_key()
        self.key_of("--detach")
        for name in "first-key", "header":
            self.assertEqual(os.stat(os.path.join(self.stack.state, name)).st_mode & 0o77, 0)

    def test_a_new_key_in_the_header(self):
        """The line that tools/serve prints works, and has no key among curl's arguments."""
        self.kill_key()
        _, said = self.serve("--detach")
        line = re.search("(?m)^try: (.*)", said).group(1)
        self.assertNotIn("adit_", line)
        self.assertIn('"ssh_credentials":[', stack.run(["bash", "-euc", line]).stdout)


class KilledResponder(ServeCase):
    def master(self):
        """The supervisor that has workers, if there is one."""
        try:
            master, workers = self.stack.responder()
        except IndexError:
            return None
        return master if workers else None

    def answers(self):
        try:
            return self.nobody.get("/livez").status == 200
        except (AssertionError, OSError):  # nginx's answer without a responder
            return False

    def test_comes_back(self):
        for sent in signal.SIGKILL, signal.SIGTERM:
            with self.subTest(sent.name):
                before = self.master()
                os.kill(before, sent)
                until(lambda: self.master() not in (None, before), "another responder")
                until(self.answers, "its answers")

    def n_tries(self):
        """How often the responder was started with a bad setting."""
        with open(os.path.join(self.stack.state, "log", "serve.log"), encoding="utf-8") as file:
            return file.read().count("unknown setting nonsense")

    def test_one_that_cannot_start(self):
        """tools/serve tries a start once a second.  It succeeds once the fault is mended."""
        conf, before = self.stack.read_conf(), self.n_tries()
        self.stack.write_conf(conf.replace("[service]", "[service]\nnonsense = x"))
        try:
            os.kill(self.master(), signal.SIGKILL)
            started = time.monotonic()
            until(lambda: self.n_tries() >= before + 4, "four tries")
            n_tries, took = self.n_tries() - before, time.monotonic() - started
        finally:
            self.stack.write_conf(conf)
        # A busy machine makes them fewer.  The first may come at once, the next in the same second.
        self.assertLess(n_tries, took + 3)
        until(self.answers, "its answers")

    def test_stops_in_between(self):
        before = self.n_tries()
        self.stack.write_conf(self.stack.read_conf().replace("[service]", "[service]\nnonsense = x"))
        os.kill(self.master(), signal.SIGKILL)
        until(lambda: self.n_tries() > before, "a try")
        self.stack.write_conf(self.stack.read_conf().replace("nonsense = x\n", ""))
        self.stack.stop()
        self.assertIsNone(self.master())
        self.stack.start()


class Path(Case):
    """A clone at a path that cannot be built in, on a machine without any of the packages."""

    @classmethod
    def setUpClass(cls):
        pass  # needs no stack

    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.bin = os.path.join(self.folder, "bin")
        self.called = os.path.join(self.folder, "called")
        os.mkdir(self.bin)
        for name in "dpkg-query", "apt-get", "sudo", "autoreconf", "make":
            self.write(os.path.join(self.bin, name), "#!/bin/sh\n%s >>'%s'\nexit 1\n" % (
                ":" if name == "dpkg-query" else "echo " + name, self.called))

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def run_in(self, clone, tool, *arguments):
        tools = os.path.join(self.folder, clone, "tools")
        os.makedirs(tools)
        for name in tool, "lib.sh", "keeper.sh":
            shutil.copy(os.path.join(stack.ROOT, "tools", name), tools)
        done = stack.run([os.path.join(tools, tool), *arguments], check=False,
                         env=dict(stack.CLEAN_ENV, ADIT_PORT=str(stack.free_port()),
                                  PATH=self.bin + ":" + os.environ["PATH"]))
        return done, os.listdir(os.path.join(self.folder, clone))

    def test_that_cannot_work(self):
        for tool, *arguments in (["serve"], ["serve", "--detach"], ["check"], ["bench"]):
            for name in "my clone", "it's", 'a"b', "a$b", "a:b", "a#b":
                with self.subTest("%s %s %s" % (tool, arguments, name)):
                    clone = "%s%s/%s" % (tool, "".join(arguments), name)
                    done, made = self.run_in(clone, tool, *arguments)
                    self.assertEqual(done.returncode, 1, done)
                    self.assertIn("cannot build in '%s'" % os.path.join(self.folder, clone),
                                  done.stderr)
                    self.assertIn("move the clone to", done.stderr)
                    self.assertNotIn("installing", done.stdout + done.stderr)
                    self.assertEqual(made, ["tools"])
                    self.assertFalse(os.path.exists(self.called), done)

    def test_that_works(self):
        """These paths work, even if SIGINT is ignored, as in a background job of a shell."""
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGINT, handler)
        done, _ = self.run_in("a=b@c,d~e+f/\u00fc.1_2", "serve")
        self.assertNotIn("cannot build in", done.stderr)
        self.assertTrue(os.path.exists(self.called), done)
        with open(self.called, encoding="utf-8") as file:
            self.assertEqual(file.readline(), "apt-get\n", done)


class State(unittest.TestCase):
    """The places where tools/serve makes its state folder, and those where it refuses."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="adit-e2e-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.state = os.path.join(self.folder, "state")

    def serve(self, argument, port, **more):
        return stack.run([os.path.join(stack.ROOT, "tools", "serve"), *argument], check=False,
                         env={**stack.CLEAN_ENV, "ADIT_STATE": self.state,
                              "ADIT_BUILD": stack.BUILD, "ADIT_PORT": port, **more})

    def test_a_bad_port_leaves_nothing(self):
        for port in "abc", "0", "65536", "080", "-1", "80 81", "8080x":
            for argument in [], ["--detach"]:
                with self.subTest("%s %s" % (port, argument)):
                    done = self.serve(argument, port)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (
                        1, "", "serve: ADIT_PORT is '%s'; set it to a port, 1 to 65535\n" % port))
                    self.assertEqual(os.listdir(self.folder), [])

    def test_a_bad_word_leaves_nothing(self):
        done = self.serve(["--detach"], "8080", ADIT_LIMITS="no")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            1, "", "serve: ADIT_LIMITS is 'no'; set it to on or off\n"))
        done = self.serve(["--detach"], "8080", ADIT_FETCH="no")
        self.assertEqual((done.returncode, done.stderr), (
            1, "serve: ADIT_FETCH is 'no'; set it to now, or not at all\n"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_stop_names_the_folder(self):
        """Another one of this clone may run, with another folder."""
        said = "not running with the state folder %s\n" % self.state
        for make in False, True:
            if make:
                os.makedirs(self.state + "/edge")
            for tool in "serve", "edge":
                with self.subTest("%s %s" % (tool, make)):
                    done = stack.run([os.path.join(stack.ROOT, "tools", tool), "--stop"], check=False,
                                     env={**stack.CLEAN_ENV, "ADIT_STATE": self.state})
                    self.assertEqual((done.returncode, done.stdout), (0, "%s: %s" % (tool, said)))

    def begin(self, tool, argument, port="8080"):
        """Begins to run a tool.  Its output comes line by line."""
        process = subprocess.Popen(
            [os.path.join(stack.ROOT, "tools", tool), argument], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**stack.CLEAN_ENV, "ADIT_STATE": self.state, "ADIT_BUILD": stack.BUILD,
                 "ADIT_PORT": port})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def turn_is_taken(self):
        try:
            with open(self.state + "/turn", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def test_stop_waits_for_a_start(self):
        """A start has nothing that could be stopped until its packages and programs are there."""
        for tool, folder in ("serve", self.state), ("edge", self.state + "/edge"):
            with self.subTest(tool):
                os.makedirs(folder)
                with open(folder + "/turn", "w", encoding="utf-8") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    process = self.begin(tool, "--stop")
                    self.assertEqual(process.stdout.readline(), (
                        "%s: waiting for another tools/%s that starts or stops with the state folder %s\n"
                        % (tool, tool, folder)))
                    self.assertIsNone(process.poll())
                self.assertEqual((process.stdout.read(), process.wait()), (
                    "%s: not running with the state folder %s\n" % (tool, self.state), 0))
                # Other users could lock a file that they may read.
                self.assertEqual(os.stat(folder + "/turn").st_mode & 0o7777, 0o600)

    def test_two_starts_and_a_stop_at_once(self):
        os.chmod(self.folder, 0o711)
        port = str(stack.free_port())  # a start with another one is refused while the first runs
        one = self.begin("serve", "--detach", port)
        until(self.turn_is_taken, "the start")
        processes = [self.begin("serve", "--detach", port), self.begin("serve", "--stop")]
        self.addCleanup(self.serve, ["--stop"], "8080")
        said = [process.communicate(timeout=120)[0] for process in (one, *processes)]
        self.assertEqual([one.returncode, *(process.returncode for process in processes)],
                         [0, 0, 0], said)
        self.assertIn("serve: stopped\n", said[2])
        # The second start came before the stop, or after it.
        still = "serve: " + ("not running with the state folder " + self.state
                             if "already running" in said[1] else "stopped") + "\n"
        self.assertEqual(self.serve(["--stop"], "8080").stdout, still)

    def test_env_of_a_file(self):
        self.state = os.path.join(self.folder, "file")
        with open(self.state, "w", encoding="utf-8"):
            pass
        done = self.serve(["--env"], "8080")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            1, "", "serve: the state folder %s is not a folder: set ADIT_STATE to another path\n"
            % self.state))

    def test_a_folder_without_programs_leaves_nothing(self):
        done = self.serve([], "8080", ADIT_BUILD="/nope")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            1, "", "serve: adit.fcgi or aditctl is missing in /nope: build them there\n"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_file_called_data(self):
        """Such a folder is somebody's own."""
        self.state = self.folder
        with open(os.path.join(self.folder, "data"), "w", encoding="utf-8"):
            pass
        done = self.serve([], "8080")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (
            1, "", "serve: %s/data is not a database cluster: set ADIT_STATE to a new folder\n"
            % self.folder))
        self.assertEqual(os.listdir(self.folder), ["data"])

    @unittest.skipUnless(os.getuid() == 0, "only root makes a link of somebody else")
    def test_a_link_of_somebody_else(self):
        """It leads to a folder of the caller, which stays as it was."""
        target = os.path.join(self.folder, "target")
        os.mkdir(target, 0o700)
        os.chmod(self.folder, 0o1777)
        os.symlink(target, self.state)
        os.chown(self.state, 65534, 65534, follow_symlinks=False)
        for argument in [], ["--detach"], ["--env"], ["--stop"]:
            with self.subTest(argument):
                done = self.serve(argument, "8080")
                self.assertEqual((done.returncode, done.stderr), (
                    1, "serve: the state folder %s is a link of nobody: remove it, or set ADIT_STATE"
                    " to another folder\n" % self.state))
                self.assertEqual(os.listdir(target), [])
                self.assertEqual(os.stat(target).st_mode & 0o777, 0o700)
        os.chown(self.state, 0, 0, follow_symlinks=False)
        self.assertIn("has no key yet", self.serve(["--env"], "8080").stderr)

    def test_a_long_path(self):
        """Its sockets are in a folder of /tmp, which a stop removes."""
        os.chmod(self.folder, 0o711)
        self.state = os.path.join(self.folder, "a" * 80)
        self.addCleanup(self.serve, ["--stop"], "8080")
        done = self.serve(["--detach"], str(stack.free_port()))
        self.assertEqual(done.returncode, 0, done)
        said = self.serve(["--env"], "8080").stdout
        run = re.search(r"PGHOST=(/tmp/adit-\d+-\w+)", said).group(1)
        self.assertEqual(os.stat(run).st_mode & 0o777, 0o700)
        self.assertEqual(self.serve(["--stop"], "8080").stdout, "serve: stopped\n")
        self.assertFalse(os.path.exists(run))

    @unittest.skipUnless(os.getuid() == 0, "only root runs the programs as another user")
    def test_a_parent_that_postgres_cannot_enter(self):
        """tools/serve makes the state folder elsewhere, and says where."""
        # The taken port stops the start: the link is made before any program starts.
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.serve([], str(taken.getsockname()[1]))
        real = os.readlink(self.state)
        self.addCleanup(shutil.rmtree, real)
        self.assertEqual(done.returncode, 1)
        self.assertIn("serve: user postgres cannot enter %s: made the state folder %s, with a link"
                      " to it at %s\n" % (self.folder, real, self.state), done.stderr)


class AnotherVersion(unittest.TestCase):
    def test_cluster_of_a_missing_version(self):
        state = tempfile.mkdtemp(prefix="adit-e2e-")
        self.addCleanup(shutil.rmtree, state)
        os.mkdir(state + "/data", 0o700)
        with open(state + "/data/PG_VERSION", "w") as file:
            file.write("9\n")
        done = stack.run([os.path.join(stack.ROOT, "tools", "serve"), "--detach"], check=False,
                         env=dict(stack.CLEAN_ENV, ADIT_STATE=state, ADIT_BUILD=stack.BUILD,
                                  ADIT_PORT=str(stack.free_port())))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("PostgreSQL 9 made the cluster %s/data and is missing: install postgresql-9"
                      % state, done.stderr)
        self.assertEqual(os.listdir(state + "/data"), ["PG_VERSION"])
