# SPDX-License-Identifier: MIT
"""Tunnels under names, on a copy of the machine that systemd has booted.

The tests follow doc/install/names.md word for word.  They depend on each other and run in the order of
their names."""
from adit import package, recipe
from machine_gateway import install_adit

PAGE = "names"
OPEN = ("ssh -N %s -i ~/device-1.key -o ExitOnForwardFailure=yes "
        "-R %s.devices.example.com:8080:localhost:880 tunnel@localhost")
NO_TUNNEL = "No tunnel serves %s.devices.example.com now.\n"
READY = '{"status":"ready"}'


class Names(package.Story):
    pages = ("debian", "ssh-gateway", "oauth-route", PAGE)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_adit(cls)
        # As in machine_gateway.py.
        cls.machine.run("rm -f /etc/ssh/sshd_not_to_be_run && "
                        "systemctl start systemd-user-sessions.service ssh.service")
        cls.run_chapter("ssh-gateway", "Install", folder=cls.tree)
        for heading in ("Database", "Settings", "sshd"):
            cls.run_chapter("ssh-gateway", heading)

    def opening(self, name, options=""):
        """What ssh says that opens no tunnel under this name."""
        done = self.machine.run(OPEN % (options, name), check=False)
        self.assertEqual(done.returncode, 255, done.stdout)
        return done.stdout + done.stderr

    def visit(self, name):
        """Runs the page's function "visit"."""
        function, end, _ = self.chapters[PAGE]["A first tunnel"][2].partition("\n}\n")
        return self.ask("%s%svisit %s.devices.example.com" % (function, end, name))

    def test_01_addresses(self):
        self.run_chapter(PAGE, "sshd")
        self.assertIn("permitlisten *.devices.example.com:8080 *.devices.example.com:8443\n",
                      self.ask("sshd -T -C user=tunnel,host=h,addr=192.0.2.1") + "\n")
        self.run_chapter(PAGE, "Addresses")
        # Names keep their addresses.  A removed one in the middle is not given again.
        self.machine.run("printf '%s\\n' device-2.devices.example.com device-3.devices.example.com "
                         "| tunnel-names; sed -i /device-2/d /etc/hosts; "
                         "printf '%s\\n' device-4.devices.example.com "
                         "device-2.devices.example.com | tunnel-names")
        self.assertEqual(self.ask("cat /etc/nginx/tunnel-names").splitlines(), [
            "device-%d.devices.example.com 127.64.0.%d:8080;" % pair
            for pair in ((1, 1), (3, 3), (4, 4), (2, 5))])
        # The bytes of an address go to 255.
        self.machine.run("seq 300 | sed 's/.*/n&.devices.example.com/' | tunnel-names")
        self.assertEqual(self.ask("grep -c '^127\\.64\\.[01]\\.[0-9]* ' /etc/hosts"), "304")
        self.assertEqual(self.ask("getent hosts n251.devices.example.com"),
                         "127.64.1.0      n251.devices.example.com")

    def test_02_a_first_tunnel(self):
        self.run_chapter(PAGE, "nginx")
        said = self.machine.run(recipe.keep_key(self.key) + "".join(
            self.chapters[PAGE]["A first tunnel"])).stdout
        self.assertIn('"acl":["bind:device-1.devices.example.com"]', said)
        self.assertTrue(said.endswith("%s\n%s\n" % (READY, NO_TUNNEL % "device-2")), said)
        self.assertIn("404 Not Found", self.visit("other"))

    def test_03_when_a_tunnel_does_not_open(self):
        """Each cause has the line that the page says."""
        refused = "Remote: port forwarding refused"
        self.assertNotIn(refused, self.opening("device-1", "-v"))
        self.assertIn(refused, self.opening("device-2", "-v"))
        self.machine.run("sed -i /device-1/d /etc/hosts")
        self.assertNotIn(refused, self.opening("device-1", "-v"))
        for line in ("remote forward to host device-2.devices.example.com port 8080, but the request "
                     "was denied", "bind [127.64.0.1]:8080: Address already in use",
                     "getaddrinfo(device-1.devices.example.com): "):
            with self.subTest(line):
                self.assert_logged(line, "ssh.service")
        [said] = self.run_chapter(PAGE, "When a tunnel does not open")
        self.assertEqual(len(said.splitlines()), 3, said)

    def test_04_a_dead_session(self):
        """The page's way to free a name."""
        self.machine.run("echo 127.64.0.1 device-1.devices.example.com >>/etc/hosts; "
                         "aditctl session end \"$(aditctl session list | awk 'END { print $1 }')\"")
        self.machine.run("until %s 2>/dev/null; do sleep 0.1; done" % OPEN % ("-f", "device-1"))
        self.assertEqual(self.visit("device-1"), READY)

    def test_05_visitors_sign_in(self):
        self.run_chapter("oauth-route", "Install", folder=self.tree)
        self.run_chapter("oauth-route", "Database")
        self.run_chapter("oauth-route", "Start")
        [ask, sign_in] = self.chapters[PAGE]["Visitors sign in"]
        self.machine.run(ask)
        self.machine.run("tunnel-names </dev/null")
        self.assertEqual(self.visit("device-1"), READY)
        said = self.machine.run(recipe.keep_key(self.key) + sign_in).stdout
        self.assertTrue(said.endswith("\n302\n"), said)
        # Another name stays open, and has no tunnel.
        self.assertIn("502 Bad Gateway", self.visit("device-2"))
        self.assertIn("404 Not Found", self.visit("other"))
