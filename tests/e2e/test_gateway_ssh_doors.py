# SPDX-License-Identifier: MIT
"""A client of the gateway opens remote forwards and nothing else.  Its key may bind everything."""
import os
import re
import socket
import subprocess

from adit import programs, stack
from adit.case import until
from adit.ssh_gateway import SSH, GatewayCase

NEEDS_ROOT = True


class Doors(GatewayCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key = cls.gateway.key()
        cls.path = cls.credential(cls(), cls.key)

    def ssh(self, *arguments, env=None):
        """Runs an ssh client that takes all the options but -N.  Returns the completed process."""
        options = [word for word in SSH if word != "-N"]
        return stack.run(self.gateway.inside.on_network(
            *options, "-o", "IdentitiesOnly=yes", "-i", self.key.path, *arguments), check=False,
            env=dict(programs.ENV, **(env or {})), timeout=60)

    def check_closed(self):
        """No program runs as the login user but sshd, and no forward listens."""
        others = [line for _, _, uid, line in self.gateway.inside.processes()
                  if uid == 4103 and line and not re.match("sshd(-session)?: tunnel", line)]
        self.assertEqual(others, [])
        self.assertEqual(self.gateway.listeners(), [])

    def test_programs(self):
        """A shell, a command and a subsystem are refused after the login, and nothing runs."""
        mark = self.gateway.inside.path("/tmp/adit-door-%d" % os.getpid())
        touch = "touch /tmp/" + os.path.basename(mark)
        self.each([(" ".join(row), row) for row in (
            ("tunnel@127.0.0.1",), ("-tt", "tunnel@127.0.0.1"), ("tunnel@127.0.0.1", touch),
            ("-tt", "tunnel@127.0.0.1", touch), ("-s", "tunnel@127.0.0.1", "sftp"),
            ("-A", "tunnel@127.0.0.1", touch), ("-X", "tunnel@127.0.0.1", touch),
            ("-Y", "tunnel@127.0.0.1", touch),
            ("-o", "SetEnv=LC_ALL=C", "tunnel@127.0.0.1", touch))], self.check_program)
        self.assertFalse(os.path.exists(mark))

    def check_program(self, arguments):
        done = self.ssh(*arguments, env={"DISPLAY": ":99", "SSH_AUTH_SOCK": "/nonexistent"})
        self.assertEqual((done.returncode, done.stdout), (255, ""))
        self.assertIn("Authenticated to 127.0.0.1", done.stderr)
        self.assertRegex(done.stderr, "open failed|session request failed")
        self.check_closed()

    def test_sftp(self):
        done = stack.run(self.gateway.inside.on_network(
            "sftp", "-F", "none", "-b", "-", "-o", "StrictHostKeyChecking=no", "-o",
            "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes", "-i", self.key.path,
            "tunnel@127.0.0.1"), check=False, input="ls /\n", timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("etc", done.stdout)

    def test_local_forwards(self):
        """The client's own listener opens, but sshd refuses each connection: to a port, by SOCKS,
        and to a Unix socket."""
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        path = os.path.join(self.gateway.folder, "door")
        server.bind(path)
        os.chmod(path, 0o777)
        server.listen(1)
        server.setblocking(False)
        tunnel, = self.standing(self.gateway.tunnel(
            self.key, options=("-L", "127.0.0.1:9300:127.0.0.1:22", "-L", "127.0.0.1:9301:[::1]:22",
                               "-L", "127.0.0.1:9302:" + path, "-D", "127.0.0.1:9303")))
        until(lambda: len(self.gateway.listeners()) == 4, "the client's listeners")
        for port in 9300, 9301, 9302:
            with self.subTest(port):
                self.assertEqual(self.gateway.visit("127.0.0.1:%d" % port), "")
        with self.subTest("SOCKS"):
            done = stack.run(self.gateway.inside.on_network(
                "curl", "-s", "-m", "60", "--socks5", "127.0.0.1:9303", "telnet://127.0.0.1:22"),
                check=False)
            self.assertEqual((done.stdout, done.returncode != 0), ("", True))
        self.assertTrue(tunnel.stands())
        self.assertEqual(len(re.findall("(?m)^channel .: open failed", tunnel.log())), 4,
                         tunnel.log())
        self.assertRaises(BlockingIOError, server.accept)

    def test_standard_forward(self):
        """ssh -W"""
        for to in "127.0.0.1:22", "[::1]:22":
            with self.subTest(to):
                done = self.ssh("-W", to, "tunnel@127.0.0.1")
                self.assertEqual((done.returncode, done.stdout), (255, ""))
                self.assertIn("open failed", done.stderr)
                self.check_closed()

    def test_network_device(self):
        """ssh -w"""
        done = self.ssh("-w", "any:any", "-o", "ExitOnForwardFailure=yes", "-N",
                        "tunnel@127.0.0.1")
        self.assertNotEqual(done.returncode, 0)
        names = os.listdir(self.gateway.inside.path("/sys/class/net"))
        self.assertEqual([name for name in names if name.startswith("tun")], [])
        self.check_closed()

    def test_agent_and_display(self):
        """Options that come with a session open nothing beside a tunnel."""
        agent = os.path.join(self.gateway.folder, "agent")
        with subprocess.Popen(["ssh-agent", "-D", "-a", agent],
                              stdout=subprocess.DEVNULL) as keeper:
            try:
                until(lambda: os.path.exists(agent), "the agent")
                self.standing(self.gateway.tunnel(
                    self.key, options=("-A", "-X"),
                    env={"SSH_AUTH_SOCK": agent, "DISPLAY": ":99"}))
                self.check_closed()
                found = [name for name in os.listdir(self.gateway.inside.path("/tmp"))
                         if name.startswith("ssh-") and os.stat(
                             self.gateway.inside.path("/tmp/" + name)).st_uid == 4103]
                self.assertEqual(found, [])
            finally:
                keeper.terminate()

    def test_unix_sockets(self):
        paths = ["/tmp/adit-door-%d-%d" % (os.getpid(), i) for i in range(2)]
        client = self.gateway.tunnel(self.key, paths[0] + ":127.0.0.1:22",
                                     paths[1] + ":" + paths[0])
        self.assertTrue(client.is_in())
        self.assertEqual(len(client.refused()), 2)
        self.assertEqual([path for path in paths if os.path.lexists(path)], [])

    def test_other_ways_in(self):
        """No password, no other method, and no other user of the machine by a stored key."""
        for options in ("-o", "PubkeyAuthentication=no"), (
                "-o", "PreferredAuthentications=password,keyboard-interactive,hostbased"):
            with self.subTest(options[1]):
                self.assertTrue(self.gateway.tunnel(self.key, options=options).was_refused())
        for user in "root", "stranger", "nobody-of-this-name":
            with self.subTest(user):
                self.assertTrue(self.gateway.tunnel(self.key, user=user).was_refused())
