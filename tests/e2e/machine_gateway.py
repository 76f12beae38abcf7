# SPDX-License-Identifier: MIT
"""The package adit-gateway and its units, on a copy of the machine that systemd has booted.

The tests follow doc/install/ssh-gateway.md and tls-edge.md word for word.  They depend on each other
and run in the order of their names."""
import os
import re

from adit import package, recipe, stack
from adit.case import until

MOST_EXPOSED = 2.0
UNIT = "adit-gateway.service"


def install_adit(story):
    """Follows debian.md up to the first API key."""
    # Without the file, packages do not rebuild the index of manuals, which takes seconds.
    story.machine.run("rm -f /var/lib/man-db/auto-update && systemctl start postgresql nginx")
    for heading in ("Install", "Key", "Database", "Start", "Web server", "First key"):
        story.run_chapter("debian", heading, folder=story.tree)
    story.key = story.ask("runuser -u postgres -- aditctl key issue")
    # A reader says yes.
    story.machine.run("echo 'APT::Get::Assume-Yes \"true\";' >/etc/apt/apt.conf.d/yes")


class Ssh(package.Story):
    pages = ("debian", "ssh-gateway", "monitor")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_adit(cls)
        # tools/lib.sh creates the file.  An ordinary boot starts the service, after which others than
        # root may log in.
        cls.machine.run("rm -f /etc/ssh/sshd_not_to_be_run && "
                        "systemctl start systemd-user-sessions.service")

    def main_pid(self):
        return self.ask("systemctl show -P MainPID " + UNIT)

    def sessions(self):
        return self.ask("aditctl session list | sed 1d").splitlines()

    # ---- the package ----

    def test_01_installation(self):
        self.assertIn("/usr/share/doc/adit/install/ssh-gateway.md",
                      self.run_chapter("ssh-gateway", "Install", folder=self.tree)[0])
        for name, script, wanted in (
                ("users", "getent passwd adit-gateway adit-ssh-keys | cut -d: -f 1,6,7",
                 "adit-gateway:/:/usr/sbin/nologin\nadit-ssh-keys:/:/usr/sbin/nologin"),
                ("settings are the sample",
                 "/usr/libexec/adit/adit.fcgi --print-settings | cmp - /etc/adit/adit.conf", ""),
                ("programs", "stat -c '%U:%G %a' /usr/libexec/adit/adit-*",
                 "root:root 755\nroot:root 755"),
                ("not enabled", "systemctl is-enabled " + UNIT, "disabled"),
                ("not started", "systemctl is-active " + UNIT, "inactive"),
                ("the named pages", "cd /usr/share/doc/adit/install && "
                 "ls ssh-gateway.md tls-edge.md", "ssh-gateway.md\ntls-edge.md")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)

    # ---- ssh-gateway.md ----

    def test_02_page(self):
        self.run_chapter("ssh-gateway", "Database")
        self.change_settings(recipe.settings("ssh-gateway.md")[0])
        self.run_chapter("ssh-gateway", "Settings")
        self.machine.run("systemctl start ssh.service")
        self.run_chapter("ssh-gateway", "sshd")
        self.run_chapter("ssh-gateway", "Logins")
        self.run_chapter("ssh-gateway", "How many sessions")

    def test_03_units(self):
        self.check_unit(UNIT, "ssh-gateway.md", MOST_EXPOSED)
        status = dict(line.split(":\t", 1) for line in
                      self.ask("cat /proc/%s/status" % self.main_pid()).splitlines() if ":\t" in line)
        sole_kill = "%016x" % (1 << 5)
        self.assertEqual([status[name] for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")],
                         [sole_kill, sole_kill, "1", "2"])
        self.assertEqual(self.ask("stat -c '%U:%G %a' /run/adit-gateway/ssh.sock"),
                         "adit-gateway:adit-ssh-keys 660")

    def test_04_a_first_tunnel(self):
        """One shell runs the blocks of two chapters, and tells how each ended."""
        chapters = self.chapters["ssh-gateway"]
        blocks = chapters["A first tunnel"] + chapters["A change takes effect"]
        # The last one expects that the tunnel has ended, which takes longer on a busy machine.
        [*first, last] = [block + 'echo "== $?"\n' for block in blocks]
        gone = "until curl -so /dev/null http://localhost:9000/readyz; [ $? = 7 ]; do sleep 0.1; done\n"
        script = "".join([*first, gone, last])
        said = self.machine.run("set +e\n" + recipe.keep_key(self.key) + script).stdout
        stored, _, seen, *_ = re.split(r"(?m)^== .*\n", said)
        # The last tunnel is refused, and curl cannot connect.
        self.assertEqual(re.findall(r"(?m)^== (\d+)$", said), ["0", "0", "0", "255", "0", "7"], said)
        self.assertIn('"acl":["bind:localhost:9000"]', stored)
        self.assertIn('{"status":"ready"}\n', seen)
        self.assertRegex(seen, r"(?m)^\d+\t.*\tsshcr_\w+$")
        until(lambda: self.sessions() == [], "no session")
        self.assert_logged("session ended", UNIT)

    # ---- the units ----

    def tunnel(self):
        """Stores the page's key again and opens its tunnel."""
        script = "".join(self.chapters["ssh-gateway"]["A first tunnel"][:2])
        self.machine.run(recipe.keep_key(self.key) + script.replace("ssh-keygen", "true"))

    def tunnel_stands(self):
        return self.ask("curl -s http://localhost:9000/readyz") == '{"status":"ready"}'

    def delete_credentials(self):
        self.machine.run("runuser -u postgres -- psql -qd adit -c 'DELETE FROM adit.ssh_credential'")

    def test_05_doctor(self):
        said = self.machine.run("".join(self.chapters["ssh-gateway"]["Check"])).stdout
        self.assertNotIn("trouble", said)
        for what in ("gateway", "polls", "signals", "sessions", "helper", "logins", "sshd", "ports", "role", "grants"):
            with self.subTest(what):
                self.assertRegex(said, r"(?m)^ok +%s " % what)

    def test_05_what_ends(self):
        """The chapter of monitor.md.  A file that cannot be read makes the service fail alone."""
        self.ask("runuser -u postgres -- aditctl key issue --expires 20d")
        self.machine.run("mkdir -p /var/lib/prometheus/node-exporter /etc/adit/certificates; "
                         "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                         "-subj /CN=x -days 30 -keyout /dev/null -out /etc/adit/authorities/ca-1")
        heading = "Keys and certificates that end"
        [said] = self.run_chapter("monitor", heading)
        self.assertRegex(said, r'(?m)^adit_api_key_expires_time_seconds\{.*key="ak_\w+"\} \d{10}$')
        self.assertRegex(said, r'(?m)^adit_certificate_.*\{file="/etc/adit/authorities/ca-1"\} \d{10}$')
        self.assertEqual(self.ask("systemctl is-active adit-expiry.timer"), "active")
        self.machine.run("rm /var/lib/prometheus/node-exporter/*; echo >/etc/adit/certificates/x.pem")
        self.machine.run("systemctl start adit-expiry.service", check=False)
        self.assertEqual(self.ask("systemctl is-failed adit-expiry.service"), "failed")
        self.assertIn("ca-1", self.ask("cat /var/lib/prometheus/node-exporter/adit-expiry.prom"))
        self.assert_logged("x.pem has no certificate", "adit-expiry.service")
        self.machine.run("rm /etc/adit/authorities/ca-1 /etc/adit/certificates/x.pem; "
                         "rmdir /etc/adit/certificates; "
                         "systemctl disable --now adit-expiry.timer; "
                         "systemctl reset-failed adit-expiry.service")

    def test_05_limits(self):
        """The page's limits hold for sshd and the user's slice.  doctor compares the settings with
        them."""
        self.assertEqual(self.ask("systemctl show -P OOMPolicy ssh.service"), "continue")
        for unit in ("ssh.service", "user-%s.slice" % self.ask("id -u tunnel")):
            with self.subTest(unit):
                for name in ("TasksMax", "MemoryHigh", "MemoryMax"):
                    self.assertRegex(self.ask("systemctl show -P %s %s" % (name, unit)), r"^\d+$")
                section = "Service" if unit == "ssh.service" else "Slice"
                low = "/etc/systemd/system/%s.d/low.conf" % unit
                self.machine.run("printf '[%s]\nTasksMax=9\nMemoryMax=3M\n' >%s; "
                                 "systemctl daemon-reload" % (section, low))
                said = self.ask("aditctl doctor")
                self.machine.run("rm %s; systemctl daemon-reload" % low)
                for limit in ("TasksMax= of %s is 9;", "MemoryMax= of %s is 3 MiB;"):
                    self.assertRegex(said, r"(?m)^trouble +sessions .* " + re.escape(limit % unit))

    def test_05_restarts(self):
        """A tunnel outlives the daemon, which then still ends it."""
        self.tunnel()
        before = self.main_pid()
        for command in ("systemctl restart " + UNIT, "systemctl kill --signal=KILL " + UNIT,
                        "systemctl stop %s && systemctl start %s" % (UNIT, UNIT)):
            with self.subTest(command):
                self.machine.run(command)
                until(lambda: self.main_pid() not in (before, "0"), "the next daemon")
                before = self.main_pid()
                self.assertTrue(self.tunnel_stands())
        until(lambda: len(self.sessions()) == 1, "the session")
        self.machine.run("systemctl stop " + UNIT)
        self.delete_credentials()
        self.assertTrue(self.tunnel_stands())
        self.machine.run("systemctl start " + UNIT)
        until(lambda: not self.tunnel_stands(), "the end of the tunnel")

    def test_06_wrong_settings(self):
        since = self.cursor()
        self.machine.run("cp /etc/adit/adit.conf /var/tmp/; echo x >>/etc/adit/adit.conf")
        done = self.machine.run("systemctl restart " + UNIT, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assert_logged("expected '[section]'", UNIT, since)
        self.machine.run("cp /var/tmp/adit.conf /etc/adit/ && systemctl restart " + UNIT)

    def test_06_without_systemd(self):
        """The manual's example starts a daemon that ends tunnels."""
        with open(os.path.join(stack.ROOT, "man", "adit-gateway.8"), encoding="utf-8") as file:
            example = re.search(r"(?ms)^(install -d .*?)\n\.Ed", file.read()).group(1)
        self.machine.run("systemctl stop %s && rm -r /run/adit-gateway" % UNIT)
        self.machine.run(example.replace("\\e\n", "") + " >/dev/null 2>&1 & echo $! >/run/pid")
        until(lambda: self.ask("ls /run/adit-gateway/ssh.sock"), "the socket")
        self.tunnel()
        self.delete_credentials()
        until(lambda: not self.tunnel_stands(), "the end of the tunnel")
        self.machine.run("kill $(cat /run/pid) && systemctl start " + UNIT)

    def test_07_database_on_another_machine(self):
        """A password and TLS, in the sandbox."""
        package.serve_over_tls(self.machine)
        self.machine.run("""
            runuser -u postgres -- psql -q -c "ALTER ROLE \\"adit-gateway\\" PASSWORD 'p4ss'"
            echo 'localhost:5432:adit:adit-gateway:p4ss' >/etc/adit/gateway.pgpass
        """)
        [_, elsewhere] = recipe.settings("ssh-gateway.md")
        self.change_settings(elsewhere.replace("db.example.org", "localhost").replace(
            "/etc/ssl/certs/ca-certificates.crt", "/etc/adit/database.crt"))
        self.run_chapter("ssh-gateway", "A database on another machine")
        self.tunnel()
        self.assertTrue(self.tunnel_stands())
        self.assertEqual(self.ask(
            "runuser -u postgres -- psql -Atc \"SELECT bool_and(ssl) FROM pg_stat_ssl JOIN "
            "pg_stat_activity USING (pid) WHERE usename = 'adit-gateway'\""), "t")

    # ---- upgrade and removal ----

    def test_08_upgrade(self):
        """An upgrade restarts the daemon.  The tunnel stays."""
        before = self.main_pid()
        self.machine.run("cd '%s' && dpkg -i adit-gateway_*.deb" % self.folder)
        until(lambda: self.main_pid() not in (before, "0"), "the new daemon")
        self.assertTrue(self.tunnel_stands())

    def test_09_removal(self):
        self.run_chapter("ssh-gateway", "Remove")
        self.assertFalse(self.tunnel_stands())
        for name, script, wanted in (
                ("stopped", "systemctl is-active " + UNIT, "inactive"),
                ("programs", "ls /usr/libexec/adit", "adit.fcgi"),
                ("folders", "ls -d /etc/adit/authorities /var/lib/adit-gateway 2>/dev/null", ""),
                ("units", "find /etc/systemd /lib/systemd -name 'adit-gateway*'", ""),
                ("the settings stay", "grep -c gateway.pgpass /etc/adit/adit.conf", "1"),
                ("the role", "runuser -u postgres -- psql -Atc "
                 "\"SELECT 1 FROM pg_roles WHERE rolname = 'adit-gateway'\"", "")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)


class Tls(package.Story):
    pages = ("debian", "tls-edge")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_adit(cls)
        cls.settings = recipe.settings("tls-edge.md")

    def module(self, request):
        """Changes the edge's module: options of curl."""
        said = self.machine.run(
            "curl -sS -X %s http://127.0.0.1:880/edges/tls/edge-1/mutual_tls -H 'Service-Version: 2' "
            "-H 'Authorization: Bearer %s' -H 'Content-Type: application/json'"
            % (request, self.key)).stdout
        self.assertNotIn("error_code", said)

    def visits(self):
        """The page's two visits: the statuses with a certificate and without."""
        script = self.chapters["tls-edge"]["Check"][0]
        return self.ask("set +e\nvisit() {" + script.partition("visit() {")[2]).split()

    def check_edge(self, without):
        """The edge obeys the module as it changes."""
        script = self.chapters["tls-edge"]["Check"][0]
        said = self.machine.run("%sset +e\n%s true" % (recipe.keep_key(self.key), script)).stdout
        self.assertEqual([len(word) for word in said.split()[-2:]], [3, 3], said)
        # A busy machine takes longer than the second after which the page looks.
        until(lambda: self.visits() == ["200", without], "the page's module")
        for request, wanted in (
                ("PUT -d '{\"certificate_authority_ids\": []}'", [without, without]),
                ("PUT -d '{\"certificate_authority_ids\": [\"ca-1\"]}'", ["200", without]),
                ("PUT -d '{\"enabled\": false}'", ["200", "200"]),
                ("PUT -d '{\"certificate_authority_ids\": [\"ca-2\"]}'", [without, without]),
                ("DELETE", ["200", "200"])):
            with self.subTest(request):
                self.module(request)
                until(lambda: self.visits() == wanted, "the visits %s" % wanted)

    def test_01_page(self):
        self.run_chapter("tls-edge", "Install", folder=self.tree)
        self.run_chapter("tls-edge", "Database")
        self.run_chapter("tls-edge", "Authorities and certificates")

    def test_02_nginx(self):
        self.change_settings(self.settings[0])
        self.run_chapter("tls-edge", "nginx")
        self.check_edge("400")

    def test_03_failed_reload(self):
        """A reload that fails is repeated until it succeeds."""
        self.machine.run("echo 'no directive' >/etc/nginx/modules-enabled/broken.conf")
        self.module("PUT -d '{\"certificate_authority_ids\": [\"ca-1\"]}'")
        until(lambda: "Scheduled restart" in self.journal("adit-gateway-reload@nginx.service"),
              "another reload")
        self.assertEqual(self.visits(), ["200", "200"])
        self.machine.run("rm /etc/nginx/modules-enabled/broken.conf")
        until(lambda: self.visits() == ["200", "400"], "the module")

    def test_04_nginx_stopped(self):
        """A request to reload does not start a server that was stopped."""
        self.machine.run("systemctl stop nginx.service")
        self.machine.run("touch /run/adit-gateway/reload-nginx")
        until(lambda: self.ask("ls /run/adit-gateway/reload-nginx 2>/dev/null") == "", "the request")
        self.assertEqual(self.ask("systemctl is-active nginx.service"), "inactive")
        self.machine.run("mv /etc/nginx/nginx.conf.before /etc/nginx/nginx.conf && "
                         "rm /etc/nginx/sites-enabled/default && systemctl start nginx.service")

    def test_05_apache(self):
        self.change_settings(self.settings[1])
        self.run_chapter("tls-edge", "Apache")
        self.check_edge("000")
        self.machine.run("systemctl stop apache2.service")

    def test_06_haproxy(self):
        self.change_settings("[mutual_tls]\nreload = \n")
        self.change_settings(self.settings[2])
        self.run_chapter("tls-edge", "HAProxy")
        self.check_edge("000")
        self.assertEqual(self.ask("stat -c '%G %a' /run/haproxy/adit.sock"), "adit-gateway 660")
        for choice in "on", "off":
            self.assertEqual(self.ask("stat -c '%%U %%a' /run/haproxy/adit.sock-1-%s" % choice),
                             "haproxy 600")

    def test_07_doctor(self):
        # HAProxy obeys before the daemon knows.
        until(lambda: re.search("(?m)^ok +edges ", self.ask("aditctl doctor || true")),
              "doctor says that the edges are in force")

    def test_08_removal(self):
        self.machine.run("systemctl stop haproxy.service")
        said = "".join(self.run_chapter("tls-edge", "Remove"))
        self.assertIn("kept /var/lib/adit-gateway", said)
        for name, script, wanted in (
                ("folders", "ls -d /var/lib/adit-gateway 2>/dev/null || ls /etc/adit", "adit.conf\nadit.key"),
                ("units", "find /etc/systemd /lib/systemd -name 'adit-gateway*'", ""),
                ("no request is taken up", "systemctl list-units --plain --no-legend "
                 "'adit-gateway*'", "")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)
