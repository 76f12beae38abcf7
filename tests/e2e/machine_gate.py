# SPDX-License-Identifier: MIT
"""The package adit-gate and its units, on a copy of the machine that systemd has booted.

The tests follow doc/install/oauth-route.md word for word, with a provider that is a mock.  They depend
on each other and run in the order of their names."""
import os

from adit import package, recipe, stack
from adit.case import until
from machine_gateway import install_adit

UNIT = "adit-gate.service"
MOST_EXPOSED = 2.0
PAGE = "oauth-route"
SITE = "https://app.example.com"
MOCK = os.path.join(stack.ROOT, "tests", "e2e", "adit", "mock_provider.py")
CLIENT = {"client_id": "the-client", "client_secret": "a+secret/of=it"}

# The application tells what it sees.  The system trusts the mock's certificate.
PREPARE = """
cat >/etc/nginx/conf.d/application.conf <<'END'
server {
    listen 127.0.0.1:3000;
    location / {
        default_type text/plain;
        return 200 "user=$http_x_adit_user host=$http_host cookie=$http_cookie\\n";
    }
}
END
cd /root
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 2 \
    -addext subjectAltName=DNS:localhost -keyout mock.key -out mock.crt 2>/dev/null
cat mock.crt mock.key >mock.pem
cat mock.crt >>/etc/ssl/certs/ca-certificates.crt
"""

# Does what a browser does whose user signs in: prints what the application saw.
SIGN_IN = """
rm -f /root/jar
way=$(visit -c /root/jar -o /dev/null -w '%%{redirect_url}' '%(site)s/page?x=1')
back=$(curl -sS --cacert /root/mock.crt -o /dev/null -w '%%{redirect_url}' "$way&as=%(user)s")
visit -b /root/jar -c /root/jar -L -w '%%{http_code} %%{url_effective}' "$back"
"""


class Gate(package.Story):
    pages = ("debian", PAGE)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_adit(cls)
        cls.machine.run(PREPARE)
        cls.machine.run("systemd-run -q --unit=mock python3 '%s' --provider github --port 8443 "
                        "--certificate /root/mock.pem --client-id '%s' --client-secret '%s'"
                        % (MOCK, *CLIENT.values()))

    def visit(self, script):
        """Runs a script after the page's function "visit"."""
        function, end, _ = self.chapters[PAGE]["Try it"][0].partition("\n}\n")
        return self.ask(function + end + script)

    def status(self):
        """The status that a visitor gets who has signed in."""
        return self.visit("visit -b /root/jar -o /dev/null -w '%%{http_code}' %s/" % SITE)

    def sign_in(self, user):
        return self.visit(SIGN_IN % {"site": SITE, "user": user})

    def store(self, **words):
        """Runs the page's chapter with other words in the module.  Returns what was answered."""
        [script] = self.chapters[PAGE]["The module"]
        for old, new in words.items():
            self.assertIn(old, script)
            script = script.replace(old, new)
        said = self.machine.run("%sclient_id='%s'\nclient_secret='%s'\n%s" % (
            recipe.keep_key(self.key), *CLIENT.values(), script)).stdout
        self.assertIn('"enabled":true', said)

    def check_route(self, away):
        """Whom the route lets in; away: the status while adit-gate is down."""
        first, second, log = self.chapters[PAGE]["Try it"]
        # A web server reads its configuration a moment after systemctl has asked it to.
        until(lambda: self.ask(first) != "000", "the web server's port")
        way = self.ask(first)
        self.assertTrue(way.startswith("302 https://localhost:8443/login/oauth/authorize?"), way)
        self.assertIn("client_id=the-client&redirect_uri=https%3A%2F%2Fapp.example.com%2F_adit%2F"
                      "callback", way)
        self.assertEqual(self.visit(second), "401")
        said = self.sign_in("alice")
        self.assertIn("user=alice@example.com host=app.example.com cookie=\n", said)
        self.assertTrue(said.endswith("200 %s/page?x=1" % SITE), said)
        until(lambda: '"event":"signed in"' in self.ask(log), "the log of a visitor")
        said = self.sign_in("bob")
        self.assertIn("You are signed in as <bdi>bob</bdi>.", said)
        self.assertEqual(self.status(), "403")
        self.sign_in("alice")
        self.assertEqual(self.status(), "200")
        self.check_away(away)
        self.assertIn("Signed out", self.visit("visit -X POST -b /root/jar %s/_adit/logout" % SITE))
        self.assertEqual(self.status(), "302")

    def check_away(self, away):
        self.machine.run("systemctl stop adit-gate.socket " + UNIT)
        self.assertEqual(self.status(), away)
        self.machine.run("systemctl start " + UNIT)
        self.assertEqual(self.status(), "200")

    # ---- the package ----

    def test_01_installation(self):
        self.assertIn("/usr/share/doc/adit/install/oauth-route.md",
                      self.run_chapter(PAGE, "Install", folder=self.tree)[0])
        for name, script, wanted in (
                ("user", "getent passwd adit-gate | cut -d: -f 1,6,7",
                 "adit-gate:/:/usr/sbin/nologin"),
                ("program", "stat -c '%U:%G %a' /usr/libexec/adit/adit-gate.fcgi", "root:root 755"),
                ("not enabled", "systemctl is-enabled " + UNIT, "disabled"),
                ("not started", "systemctl is-active adit-gate.socket " + UNIT,
                 "inactive\ninactive"),
                ("the page", "ls /usr/share/doc/adit/install/oauth-route.md",
                 "/usr/share/doc/adit/install/oauth-route.md")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)

    # ---- oauth-route.md ----

    def test_02_page(self):
        self.run_chapter(PAGE, "Database")
        self.run_chapter(PAGE, "Start")
        gate, provider = recipe.settings(PAGE + ".md")[0].split("\n\n")
        self.change_settings(gate)
        provider = provider.replace("https://github.example.com/api/v3", "https://localhost:8443")
        provider = provider.replace("https://github.example.com", "https://localhost:8443")
        self.assertEqual(provider.count("localhost:8443"), 3)
        self.machine.run("cat >>/etc/adit/adit.conf <<'END'\n%sEND" % provider)
        self.run_chapter(PAGE, "Another address of a provider")
        self.store()

    def test_02_units(self):
        """The other tests run in a sandbox that kills who makes a forbidden system call."""
        self.check_unit(UNIT, "systemd.md", MOST_EXPOSED)
        self.assertEqual(self.ask("systemd-analyze verify --man=no adit-gate.socket 2>&1"), "")
        self.machine.run("""
            mkdir /etc/systemd/system/adit-gate.service.d
            printf '[Service]\\nSystemCallErrorNumber=kill\\n' \\
                >/etc/systemd/system/adit-gate.service.d/strict.conf
            systemctl daemon-reload
            systemctl restart adit-gate.service
        """)
        self.assertIn("SystemCallErrorNumber=kill", self.ask("systemctl cat " + UNIT))
        pid = self.ask("systemctl show -P MainPID " + UNIT)
        for process in self.ask("echo %s; pgrep -P %s" % (pid, pid)).split():
            status = dict(line.split(":\t", 1) for line in
                          self.ask("cat /proc/%s/status" % process).splitlines() if ":\t" in line)
            self.assertEqual([status[name] for name in ("CapEff", "NoNewPrivs", "Seccomp")],
                             ["0" * 16, "1", "2"])
            self.assertEqual(set(status["Uid"].split()), {self.ask("id -u adit-gate")})

    def test_02_who_gets_in(self):
        """Only the web server's group may connect to the socket."""
        self.assertEqual(self.ask("stat -c '%U:%G %a' /run/adit-gate/gate.sock"),
                         "root:www-data 660")
        connect = ("runuser -u %s -- python3 -c 'import socket; "
                   "socket.socket(socket.AF_UNIX).connect(\"/run/adit-gate/gate.sock\")'")
        for user, wanted in (("www-data", 0), ("adit-gate", 1), ("adit", 1), ("nobody", 1)):
            with self.subTest(user):
                self.assertEqual(self.machine.run(connect % user, check=False).returncode, wanted)

    def test_03_nginx(self):
        self.run_chapter(PAGE, "nginx")
        self.check_route("502")
        self.assertEqual(self.ask("grep -c _adit /var/log/nginx/access.log"), "1")
        self.assertEqual(self.ask("grep -c 'code=' /var/log/nginx/*.log"),
                         "/var/log/nginx/access.log:0\n/var/log/nginx/error.log:0")

    def test_04_managed_application(self):
        script, restart = self.chapters[PAGE]["One application for many modules"]
        self.machine.run("client_secret='%s'\n%s" % (CLIENT["client_secret"], script))
        self.assertEqual(self.ask("stat -c '%U:%G %a' /etc/adit/provider_a.secret"),
                         "root:adit-gate 640")
        self.machine.run("cat >>/etc/adit/adit.conf <<'END'\nclient_id = %s\n"
                         "client_secret_file = /etc/adit/provider_a.secret\nEND\n"
                         % CLIENT["client_id"])
        self.assertRegex(self.ask(restart), "(?m)^ok +provider +.provider.provider_a. has an"
                         " application at GitHub for modules that name none$")
        self.store(**{'"client_id": "$client_id", "client_secret": "$client_secret",\n': "\n"})
        self.assertIn("user=alice@example.com", self.sign_in("alice"))
        self.store()

    def test_04_secret_that_others_may_read(self):
        """doctor's advice repairs what keeps the program from starting, or opens the secret."""
        file = "/etc/adit/provider_a.secret"
        for fault, starts, wanted in (
                ("chgrp root " + file, False, "adit-gate may not read it; run: chgrp adit-gate"),
                ("chmod 600 " + file, False, "adit-gate may not read it; run: chmod 640"),
                ("chmod 644 " + file, False, "others may read or write it; run: chmod o="),
                ("chgrp adit " + file, False, "its group may read or write it, and is not adit-gate;"
                 " run: chgrp adit-gate"),
                ("chown adit " + file, True, "it belongs to a user other than root and adit-gate; run:"
                 " chown root")):
            with self.subTest(fault):
                restart = "%s; systemctl restart %s" % (fault, UNIT)
                self.assertEqual(self.machine.run(restart, check=False).returncode == 0, starts)
                found = self.ask("aditctl doctor | sed -n 's/^trouble *provider *//p'")
                self.assertEqual(found, "%s: %s %s" % (file, wanted, file))
                self.machine.run("%s; systemctl restart %s" % (found.partition("run: ")[2], UNIT))
                self.assertEqual(self.ask("stat -c '%U:%G %a' " + file), "root:adit-gate 640")

    def test_04_doctor(self):
        [script] = self.chapters[PAGE]["When something fails"]
        said = self.machine.run(script).stdout
        self.assertNotIn("trouble", said)
        for line in ("gate +adit-gate decides at /run/adit-gate/gate.sock", "user +adit, for adit.service",
                     "user +adit-gate, for adit-gate.service",
                     "grants +the responder's role has the rights that it needs",
                     "gate-role +the gate's role has the rights that it needs", "routes +looked at 1"
                     " module", "visitors +no row is left of an ended session"):
            self.assertRegex(said, "(?m)^ok +%s$" % line)

    def test_05_upgrade(self):
        """An upgrade restarts the program.  Visitors stay signed in."""
        self.sign_in("alice")
        before = self.ask("systemctl show -P MainPID " + UNIT)
        self.machine.run("cd '%s' && dpkg -i adit-gate_*.deb" % self.folder)
        until(lambda: self.ask("systemctl show -P MainPID " + UNIT) not in (before, "0"),
              "the new program")
        self.assertEqual(self.status(), "200")

    def test_05_new_key(self):
        first, second = self.chapters[PAGE]["A new key"]
        self.sign_in("alice")
        self.machine.run(first)
        self.assertEqual(self.status(), "200")
        self.machine.run(second)
        self.assertEqual(self.ask("wc -l </etc/adit/adit.key"), "1")
        self.assertEqual(self.status(), "302")
        self.assertIn("user=alice@example.com", self.sign_in("alice"))

    def test_06_apache(self):
        self.machine.run("rm /etc/nginx/sites-enabled/app /etc/nginx/sites-enabled/default && "
                         "systemctl restart nginx.service")
        self.run_chapter(PAGE, "Apache")
        self.check_route("500")
        log = self.ask("cat /var/log/apache2/*.log")
        self.assertIn("/_adit/logout", log)
        self.assertNotIn("code=", log)

    def test_07_log(self):
        self.assert_logged('"event":"signed out"', UNIT)
        log = self.journal(UNIT)
        self.assertNotRegex(log, "SIGSYS|signal 31|status=31")
        # systemd also writes code=exited.
        for secret in (CLIENT["client_secret"], "?code=", "&code=", "token-"):
            self.assertNotIn(secret, log)

    def test_08_removal(self):
        self.run_chapter(PAGE, "Remove")
        for name, script, wanted in (
                ("stopped", "systemctl is-active adit-gate.socket " + UNIT, "inactive\ninactive"),
                ("program", "ls /usr/libexec/adit", "adit.fcgi"),
                ("units", "find /lib/systemd -name 'adit-gate.*'", ""),
                ("the web server's files", "grep -rlEi 'adit-?gate|app.example.com' /etc/nginx "
                 "/etc/apache2 /etc/systemd", ""),
                ("the secret", "ls /etc/adit/*.secret 2>/dev/null", ""),
                ("the role", "runuser -u postgres -- psql -Atc "
                 "\"SELECT 1 FROM pg_roles WHERE rolname = 'adit-gate'\"", "")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)
