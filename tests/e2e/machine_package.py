# SPDX-License-Identifier: MIT
"""The Debian package and the units, on a copy of the machine that systemd has booted.

The tests build and inspect the package.  They then follow doc/install/debian.md and systemd.md word
for word.  The tests depend on each other and run in the order of their names."""
import json
import os
import re
import shutil
import subprocess
import time

from adit import package, stack
from adit.case import until

N_CLIENTS = 8
N_RESTARTS = 12
N_CRASHES = 4
SERVER = "127.0.0.1:880"
MOST_EXPOSED = 2.0

# Build dependencies outside build_packages, and packages that every Debian build machine has.
ONLY_PACKAGE = {"debhelper-compat", "groff-base", "mandoc", "openssl", "postgresql", "python3"}
BUILD_ESSENTIAL = {"autoconf", "automake", "gcc", "libc6-dev", "make"}


class Load:
    """Clients that load the responder for as long as the "with" block runs."""

    def __init__(self, machine, key):
        self._command = machine.command(
            "python3", os.path.join(stack.ROOT, "tests", "e2e", "adit", "load.py"), SERVER, key,
            str(N_CLIENTS))
        self.n = self.failures = None

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        if self._process.stdout.readline() != "ready\n":
            raise AssertionError("no client got an answer")
        return self

    def __exit__(self, *_):
        result = json.loads(self._process.communicate(timeout=60)[0])
        self.n, self.failures = result["n"], result["failures"]


class Story(package.Story):
    pages = ("debian", "systemd")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.lintian = package.start_lintian(os.path.join(cls.folder, "new"))
        cls.addClassCleanup(cls.lintian.wait)
        with open(os.path.join(cls.tree, "debian", "changelog"), "r+", encoding="utf-8") as file:
            old = file.read()
            cls.version = re.match(r"adit \((.*?)\) ", old).group(1)
            file.seek(0)
            file.write(old.replace(cls.version, cls.version + "+1", 1) + "\n" + old)
        package.build(cls.folder, "newer", "-nc")
        # The page's commands expect only the first ones beside the tree.
        shutil.copytree(os.path.join(cls.folder, "new"), cls.folder, dirs_exist_ok=True)
        # Without the file, packages do not rebuild the index of manuals, which takes seconds.  apt
        # starts these services on an ordinary machine.
        cls.machine.run("rm -f /var/lib/man-db/auto-update && systemctl start postgresql nginx")

    def install(self, version):
        return self.machine.run("cd '%s/%s' && dpkg -i adit_*.deb adit-common_*.deb" % (
            self.folder, version)).stdout

    def ready(self):
        return self.ask("curl -sS -o /dev/null -w '%%{http_code}' http://%s/readyz" % SERVER)

    def log(self, *since):
        return self.journal("adit.service", *since)

    def main_pid(self):
        return self.ask("systemctl show -P MainPID adit.service")

    def doctor(self, output):
        states = {line.split()[1]: line.split()[0] for line in output.splitlines()}
        # Before there is a User or Bot, doctor cannot try a change, and says so in a note.
        self.assertIn(states.pop("writes"), ("ok", "note"), output)
        self.assertEqual(set(states.values()), {"ok"}, output)
        self.assertLessEqual({"settings", "secrets", "database", "schema", "grants"}, set(states))

    # ---- the package ----

    def test_01_build_dependencies(self):
        """Apart from these two sets, debian/control lists the build packages of tools/lib.sh."""
        with open(os.path.join(self.tree, "debian", "control"), encoding="utf-8") as file:
            field = re.search(r"(?ms)^Build-Depends:(.*?)^\S", file.read()).group(1)
        wanted = {part.split()[0] for part in field.split(",")}
        packages = stack.run(["bash", "-c", ". '%s/tools/lib.sh'; echo ${build_packages[*]}"
                              % stack.ROOT]).stdout.split()
        self.assertEqual(wanted - ONLY_PACKAGE, set(packages) - BUILD_ESSENTIAL)

    def test_02_installation(self):
        said = self.machine.run(
            "cd '%s' && dpkg --unpack ../adit_*.deb ../adit-common_*.deb >/dev/null && "
            "dpkg --configure -a" % self.tree).stdout
        commands = [line.strip() for line in said.splitlines() if line.startswith(" " * 8)]
        self.assertEqual(commands, ["aditctl secrets init",
                                    "runuser -u postgres -- createdb adit"])
        page = re.search(r"/usr/share/doc/\S+\.md", said).group(0)
        for name, script, wanted in (
                ("user", "getent passwd adit | cut -d: -f 1,6,7", "adit:/:/usr/sbin/nologin"),
                ("system user", "test $(id -u adit) -lt 1000 && echo yes", "yes"),
                ("settings", "stat -c '%U:%G %a' /etc/adit /etc/adit/*",
                 "root:root 755\nroot:root 644"),
                ("settings are the sample",
                 "/usr/libexec/adit/adit.fcgi --print-settings | cmp - /etc/adit/adit.conf", ""),
                ("no key", "ls /etc/adit", "adit.conf"),
                ("not enabled", "systemctl is-enabled adit.service adit.socket",
                 "disabled\ndisabled"),
                ("not started", "systemctl is-active adit.service adit.socket",
                 "inactive\ninactive"),
                ("the named page", "test -s %s && echo yes" % page, "yes"),
                ("the programs' version", "aditctl --version", "aditctl " + self.version),
                ("SQL", "ls /usr/share/adit/sql/grants.sql", "/usr/share/adit/sql/grants.sql"),
                ("NEWS", "head -n 1 /usr/share/doc/adit-common/NEWS | grep -c '^%s '"
                 % self.version, "1"),
                ("console", "ls /usr/share/adit/console/index.html",
                 "/usr/share/adit/console/index.html"),
                ("alerts", "ls /usr/share/adit/monitoring/adit.rules.yml",
                 "/usr/share/adit/monitoring/adit.rules.yml")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)

    # ---- debian.md ----

    def test_03_page(self):
        self.run_chapter("debian", "Install", folder=self.tree)
        self.run_chapter("debian", "Key")
        self.assertEqual(self.ask("stat -c '%U:%G %a' /etc/adit/adit.key"), "root:root 600")
        self.run_chapter("debian", "Database")
        self.doctor(self.run_chapter("debian", "Start")[1])
        self.run_chapter("debian", "Web server")
        for path, text in (("/console/", "<script"), ("/docs/", "reference.js"),
                           ("/docs/openapi.json", '"openapi"')):
            # nginx reads its configuration a moment after systemctl has asked it to.
            until(lambda: text in self.ask("curl -sL http://127.0.0.1:880%s || true" % path), path)
        [said] = self.run_chapter("debian", "First key")
        self.assertEqual(json.loads(said.splitlines()[-1])["ssh_credentials"], [])
        self.assertEqual(self.ready(), "200")
        type(self).key = self.ask("runuser -u postgres -- aditctl key issue")

    def test_04_who_gets_in(self):
        """Only the web server's group may connect to the socket."""
        self.assertEqual(self.ask("stat -c '%U:%G %a' /run/adit/adit.sock"), "root:www-data 660")
        connect = ("runuser -u %s -- python3 -c 'import socket; "
                   "socket.socket(socket.AF_UNIX).connect(\"/run/adit/adit.sock\")'")
        for user, wanted in (("www-data", 0), ("postgres", 1), ("nobody", 1), ("adit", 1)):
            with self.subTest(user):
                self.assertEqual(self.machine.run(connect % user, check=False).returncode, wanted)
        for path in ("/etc/adit/adit.key", "/run/credentials/adit.service/adit.key"):
            with self.subTest(path):
                self.assertNotEqual(
                    self.machine.run("runuser -u www-data -- cat " + path, check=False).returncode,
                    0)

    # ---- the units ----

    def purge(self):
        since = self.cursor()
        self.machine.run("systemctl start adit-purge.service")
        self.assert_logged("0 idempotency keys removed", "adit-purge.service", since)

    def test_05_units(self):
        self.assertEqual(self.ask("systemd-analyze verify --man=no adit.socket "
                                  "adit-purge.service adit-purge.timer 2>&1"), "")
        self.check_unit("adit.service", "systemd.md", MOST_EXPOSED)
        self.assertEqual(self.ask("systemctl is-active adit-purge.timer"), "active")
        self.purge()

    def test_06_sandbox(self):
        """The sandbox covers the supervisor and all workers."""
        pids = self.ask("systemctl show -P MainPID adit.service; pgrep -P $(systemctl show "
                        "-P MainPID adit.service)").split()
        self.assertEqual(len(pids), 1 + min(max(os.cpu_count(), 2), 8))
        for pid in pids:
            status = dict(line.split(":\t", 1) for line in
                          self.ask("cat /proc/%s/status" % pid).splitlines() if ":\t" in line)
            with self.subTest(pid):
                self.assertEqual([status[name] for name in ("CapEff", "NoNewPrivs", "Seccomp")],
                                 ["0" * 16, "1", "2"])
                self.assertEqual(set(status["Uid"].split()), {self.ask("id -u adit")})
                # One byte: with any other limit, the kernel also runs a core_pattern program.
                self.assertRegex(self.ask("cat /proc/%s/limits" % pid),
                                 r"(?m)^Max core file size +1 +1 +bytes")

    def test_07_restarts_under_load(self):
        """No request fails if systemctl restarts the responder or sends it SIGTERM."""
        begun = time.monotonic()
        with Load(self.machine, self.key) as load:
            for i in range(N_RESTARTS):
                before = self.main_pid()
                self.machine.run("systemctl restart adit.service" if i % 2 else
                                 "systemctl kill --kill-who=main adit.service")
                until(lambda: self.main_pid() not in (before, "0"), "the next responder")
                time.sleep(0.2)
        print("     %d restarts in %.1f s: %d requests, %d failed" % (
            N_RESTARTS, time.monotonic() - begun, load.n, len(load.failures)))
        self.assertEqual(load.failures, [])
        self.assertGreater(load.n, 10 * N_RESTARTS)

    def test_08_crashes_under_load(self):
        """Only requests that were in flight while processes died fail.  systemd starts the responder
        again."""
        kills = []
        with Load(self.machine, self.key) as load:
            for i in range(N_CRASHES):
                before, begun = self.main_pid(), time.monotonic()
                # The kernel ends a process some time after the signal, and workers without a
                # supervisor end by themselves.
                self.machine.run(
                    "pids=\"%s $(pgrep -P %s | tr '\\n' ' ')\"\n"
                    "systemctl kill --signal=KILL --kill-who=%s adit.service\n"
                    "while kill -0 $pids 2>/dev/null; do sleep 0.01; done"
                    % (before, before, "all" if i % 2 else "main"))
                kills.append((begun, time.monotonic()))
                until(lambda: self.main_pid() not in (before, "0"), "the next responder")
                time.sleep(0.2)
        print("     %d crashes: %d requests, %d failed" % (
            N_CRASHES, load.n, len(load.failures)))
        self.assertEqual([what for begun, ended, what in load.failures if not any(
            begun <= last and ended >= first for first, last in kills)], [])
        self.assertLessEqual(len(load.failures), N_CRASHES * N_CLIENTS)
        self.assertGreater(load.n, 20 * N_CRASHES)

    def test_09_wrong_settings(self):
        """A start with wrong settings fails and logs the reason.  A request waits until it
        works."""
        for name, broken, says, mended in (
                ("settings", "cp /etc/adit/adit.conf /var/tmp/; echo x >>/etc/adit/adit.conf",
                 "expected '[section]'", "cp /var/tmp/adit.conf /etc/adit/"),
                ("a wrong key", "cp -p /etc/adit/adit.key /var/tmp/; echo x >/etc/adit/adit.key",
                 "adit.key", "cp -p /var/tmp/adit.key /etc/adit/"),
                ("no key", "mv /etc/adit/adit.key /var/tmp/", "CREDENTIALS",
                 "mv /var/tmp/adit.key /etc/adit/")):
            with self.subTest(name):
                since = self.cursor()
                self.machine.run(broken)
                done = self.machine.run("systemctl restart adit.service", check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assert_logged(says, "adit.service", since)
                with subprocess.Popen(self.machine.command(
                        "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "60",
                        "http://%s/readyz" % SERVER), stdout=subprocess.PIPE) as waiting:
                    time.sleep(1)  # about ten start attempts
                    self.machine.run(mended)
                    self.assertEqual(waiting.communicate(timeout=60)[0], b"200")

    def test_10_stop(self):
        self.machine.run("systemctl stop adit.socket adit.service")
        self.assertEqual(self.ask("ls /run/adit"), "")
        self.assertEqual(self.ready(), "502")
        self.machine.run("systemctl start adit.service")
        self.assertEqual(self.ready(), "200")

    def test_10a_new_key(self):
        """After the page's steps, no secret needs the old key."""
        module = ("curl -sS http://%s/edges/https/e/routes/r/oauth -H 'Service-Version: 2' "
                  "-H 'Authorization: Bearer %s' " % (SERVER, self.key))
        self.assertIn("hush", self.ask(
            module + "-X PUT -H 'Content-Type: application/json' -d '{\"provider\": {\"provider_b\":"
            " {\"client_id\": \"c\", \"client_secret\": \"hush\"}}}'"))
        [said] = self.run_chapter("systemd", "A new key for client secrets")
        new = self.ask("head -n 1 /etc/adit/adit.key").split()[0]
        self.assertIn("1 secret sealed under key " + new, said)
        self.machine.run("sed -i 1q /etc/adit/adit.key && systemctl restart adit.service")
        self.assertIn("hush", self.ask(module))

    # ---- upgrade and removal ----

    def test_11_upgrade(self):
        """An upgrade restarts the responder, under load too, and keeps the operator's files."""
        self.machine.run("echo '; mine' >>/etc/adit/adit.conf")
        before = self.main_pid()
        with Load(self.machine, self.key) as load:
            said = self.install("newer")
            until(lambda: self.main_pid() not in (before, "0"), "the new responder")
            time.sleep(0.2)
        self.assertEqual(load.failures, [])
        self.assertNotIn("aditctl", said)
        for name, script, wanted in (
                ("version", "dpkg-query -W -f '${Version}' adit", self.version + "+1"),
                ("settings", "tail -n 1 /etc/adit/adit.conf", "; mine"),
                ("enabled", "systemctl is-enabled adit.service", "enabled")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)

    def test_12_upgrade_with_a_migration_due(self):
        """The package reports the pending migration.  It does not migrate or restart anything."""
        psql = "runuser -u postgres -- psql -qAt -d adit -c "
        versions = self.ask(psql + "'SELECT * FROM adit.migration'")
        self.machine.run(psql + "'ALTER TABLE adit.migration RENAME TO aside; "
                         "CREATE TABLE adit.migration (LIKE adit.aside); "
                         "GRANT SELECT ON adit.migration TO adit_responder'")
        before = self.main_pid()
        said = self.install("new")
        [script] = self.chapters["debian"]["Upgrade"]
        self.assertEqual([line.strip() for line in said.splitlines() if line.startswith(" " * 8)],
                         script.splitlines())
        self.assertEqual(self.main_pid(), before)
        self.assertEqual(self.ask(psql + "'SELECT * FROM adit.migration'"), "")
        self.machine.run(psql + "'DROP TABLE adit.migration; "
                         "ALTER TABLE adit.aside RENAME TO migration'")
        self.assertEqual(self.ask(psql + "'SELECT * FROM adit.migration'"), versions)
        self.run_chapter("debian", "Upgrade")
        self.assertNotEqual(self.main_pid(), before)
        self.assertEqual(self.ready(), "200")

    def test_12_z_going_back(self):
        """A package older than the schema restarts nothing.  The backup restores the old
        version."""
        psql = "runuser -u postgres -- psql -qAt -d adit -c "
        versions = self.ask(psql + "'SELECT max(version) FROM adit.migration'")
        self.run_chapter("debian", "Backup")
        self.machine.run(psql + "\"INSERT INTO adit.migration (version, name) VALUES (999, 'x')\"")
        before = self.main_pid()
        said = self.install("new")
        self.assertIn("the database's schema is newer than this version knows", said)
        self.assertNotIn("aditctl migrate", said)
        self.assertEqual(self.main_pid(), before)
        self.run_chapter("debian", "Go back a version")
        self.assertEqual(self.ask(psql + "'SELECT max(version) FROM adit.migration'"), versions)
        self.assertEqual(self.ready(), "200")

    def test_13_removal(self):
        self.machine.run("apt-get -q -y remove adit adit-common")
        for name, script, wanted in (
                ("stopped", "systemctl is-active adit.service adit.socket", "inactive\ninactive"),
                ("programs", "ls /usr/libexec/adit /usr/bin/aditctl", ""),
                ("files", "ls /etc/adit", "adit.conf\nadit.key"),
                ("database", "runuser -u postgres -- psql -d adit -Atc "
                 "'SELECT count(*) FROM adit.account'", "1")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)

    def test_14_purge(self):
        said = self.machine.run("apt-get -q -y purge adit adit-common").stdout
        self.assertIn("/etc/adit/adit.key", said)
        self.assertIn("dropdb adit", said)
        for name, script, wanted in (
                ("the key stays", "ls /etc/adit", "adit.key"),
                ("the database stays", "runuser -u postgres -- psql -d adit -Atc "
                 "'SELECT count(*) FROM adit.account'", "1"),
                ("units", "find /etc/systemd/system /lib/systemd/system -name 'adit*'", ""),
                ("package", "dpkg-query -W adit adit-common 2>/dev/null", ""),
                ("the rest", "find /usr /var/lib/systemd -name '*adit*' -not -path '*/auditd*' "
                 "-path '*/adit*' -not -path '/usr/src/*'", "")):
            with self.subTest(name):
                self.assertEqual(self.ask(script), wanted)

    # ---- systemd.md, after make install ----

    def test_15_from_source(self):
        self.machine.run("make -C '%s/_build' install >/dev/null" % self.tree)
        self.run_chapter("systemd", "User and settings")
        self.run_chapter("systemd", "Start, restart, stop")
        self.machine.run("chmod 600 /etc/adit/adit.conf")
        self.doctor(self.run_chapter("systemd", "Files that only root reads")[0])
        self.assertEqual(self.ready(), "200")
        self.purge()
        self.machine.run("chmod 644 /etc/adit/adit.conf")

    def test_16_without_a_network(self):
        [_] = self.run_chapter("systemd", "The sandbox")
        self.assertEqual(self.ready(), "200")
        network = "readlink /proc/%s/ns/net"
        self.assertNotEqual(self.ask(network % self.main_pid()), self.ask(network % 1))
        self.machine.run("rm /etc/systemd/system/adit.service.d/local.conf")

    def test_17_over_the_network(self):
        """A password, TLS, a host name to resolve, and a system call filter that kills."""
        package.serve_over_tls(self.machine)
        self.machine.run("""
            runuser -u postgres -- psql -q -c "ALTER ROLE adit PASSWORD 'p4ss'"
            echo 'localhost:5432:adit:adit:p4ss' >/etc/adit/pgpass
            mkdir -p /etc/systemd/system/adit.service.d
            printf '[Service]\\nSystemCallErrorNumber=kill\\n' \\
                >/etc/systemd/system/adit.service.d/strict.conf
            systemctl daemon-reload
        """)
        self.change_settings(
            "[database]\n"
            "conninfo = host=localhost dbname=adit user=adit passfile=/etc/adit/pgpass "
            "sslmode=verify-full sslrootcert=/etc/adit/database.crt\n"
            "admin_conninfo = dbname=adit\n")
        since = self.cursor()
        self.run_chapter("systemd", "A database on another machine")
        self.assertEqual(self.ready(), "200", self.log(since))
        self.purge()  # works with the password too
        with Load(self.machine, self.key) as load:
            time.sleep(1)
        self.assertEqual(load.failures, [])
        self.assertEqual(self.ask(
            "runuser -u postgres -- psql -Atc \"SELECT bool_and(ssl) FROM pg_stat_ssl JOIN "
            "pg_stat_activity USING (pid) WHERE usename = 'adit'\""), "t")
        self.assertIn("SystemCallErrorNumber", self.ask("systemctl cat adit.service"))
        self.assertNotRegex(self.log(since), "SIGSYS|signal 31|status=31|p4ss")

    def test_18_leaving_nothing(self):
        self.machine.run("systemctl disable --now adit.socket adit.service 2>&1")
        self.run_chapter("debian", "Remove")
        self.assertEqual(self.ask("ls -d /etc/adit; runuser -u postgres -- psql -Atc "
                                  "\"SELECT 1 FROM pg_roles WHERE rolname ~ 'adit'\""), "")

    def test_19_lintian(self):
        said = self.lintian.communicate(timeout=package.BUILD_TIMEOUT_S)[0]
        self.assertEqual((said, self.lintian.returncode), ("", 0))
