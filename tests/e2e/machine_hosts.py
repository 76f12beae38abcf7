# SPDX-License-Identifier: MIT
"""Two hosts behind HAProxy and nginx, on a copy of the machine that systemd has booted.

The tests follow doc/operate/limit.md, drain.md and upgrade.md word for word, most under load.  They depend
on each other and run in the order of their names."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from adit import package, stack
from adit.case import until
from machine_gateway import install_adit

BALANCERS = {"HAProxy": "127.0.0.1:881", "nginx": "127.0.0.1:882"}
HOSTS = {"host-a": "127.0.0.2", "host-b": "127.0.0.3"}
N_CLIENTS = 2

DRAIN_S = 5

# Requests that a balancer may still send after the second 503.  One that does not notice sends
# hundreds before the responder ends.
MOST_LATE = 20

# The web server of one host: a process of its own, which the reloads of the balancer leave alone.
FRONT = """
pid /run/%(name)s.pid;
error_log /var/log/nginx/%(name)s.error.log;
user www-data;
worker_processes 2;
events { }
http {
    log_format timed '$msec $request_uri $status $server_protocol';
    access_log /var/log/nginx/%(name)s.log timed;
    include %(name)s.upstream;
    server {
        listen %(address)s:880;
        include snippets/adit.conf;
    }
}
"""


class Load:
    """Clients that write and read through both balancers for as long as the "with" block runs."""

    def __init__(self, machine, key):
        self._commands = {name: machine.command(
            "python3", os.path.join(stack.ROOT, "tests", "e2e", "adit", "load.py"), server, key,
            str(N_CLIENTS), "keep") for name, server in BALANCERS.items()}
        self.results = {}

    def __enter__(self):
        self._processes = {name: subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for name, command in self._commands.items()}
        for name, process in self._processes.items():
            if process.stdout.readline() != "ready\n":
                raise AssertionError(name + ": a client got no answer")
        return self

    def __exit__(self, *_):
        for name, process in self._processes.items():
            self.results[name] = json.loads(process.communicate(timeout=60)[0])


class Hosts(package.Story):
    pages = ("debian", "limit", "drain", "upgrade")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_adit(cls)

    def count(self, sql):
        return int(self.ask("runuser -u postgres -- psql -Atd adit -c \"%s\"" % sql))

    def asked(self, name):
        """[time, path, status, protocol] of each request that the host's web server has answered."""
        rows = [line.split() for line in
                self.ask("cat /var/log/nginx/%s.log" % name).splitlines()]
        return [[float(row[0]), *row[1:]] for row in rows]

    def check_load(self, load, before=0):
        """No request failed, and each POST that was acknowledged is stored once."""
        for name, result in load.results.items():
            print("     %s: %d requests, %d failed" % (name, result["n"], len(result["failures"])))
            self.assertEqual(result["failures"], [])
            self.assertGreater(result["n"], 200)
        made = before + sum(result["made"] for result in load.results.values())
        self.assertEqual(self.count("SELECT count(*) FROM adit.ssh_credential"), made)

    def balanced(self, since):
        """How many requests each balancer has sent to host-a since then."""
        protocols = {"HAProxy": "HTTP/1.1", "nginx": "HTTP/1.0"}
        rows = [row for row in self.asked("host-a") if row[0] > since and not row[1].endswith("z")]
        return {name: sum(row[3] == protocol for row in rows)
                for name, protocol in protocols.items()}

    # ---- limit.md, on one host ----

    def asks(self, server, target, n, key=None):
        """Sends so many requests.  Returns the number of each status."""
        said = self.ask(
            "curl -sSZ -o /dev/null -w '%%{http_code}\\n' %s 'http://%s%s#[1-%d]' | sort | uniq -c" % (
                "-H 'Authorization: Bearer %s'" % key if key else "", server, target, n))
        return {int(line.split()[1]): int(line.split()[0]) for line in said.splitlines()}

    def check_refusal(self, server, key):
        said = self.ask("curl -sSi -H 'Authorization: Bearer %s' 'http://%s/nothing#[1-400]' | "
                        "tr -d '\\r'" % (key, server))
        head, _, body = said[said.index("HTTP/1.1 429"):].partition("\n\n")
        for line in "Content-Type: application/json", "Retry-After: 1", "Cache-Control: no-store":
            self.assertIn(line.lower(), head.lower())
        self.assertEqual(json.JSONDecoder().raw_decode(body)[0], {
            "error_code": "ERR_SERVICE_9053", "status_code": 429, "details": {},
            "msg": "Too many requests arrived. Send fewer, and retry later."})

    def check_limits(self, server, pause_s):
        """A key has its limit, and an address.  Another key, and health, are not touched.  The path
        is unknown, so that the answers need no database and come fast.  Requests before the pause
        no longer count against the address."""
        key, other = (self.ask("runuser -u postgres -- aditctl key issue") for _ in range(2))
        found = self.asks(server, "/nothing", 150, key)
        self.assertEqual(set(found), {404, 429})
        self.assertLessEqual(40, found[404])
        time.sleep(pause_s)
        self.assertEqual(self.asks(server, "/nothing", 30, other), {404: 30})
        self.check_refusal(server, key)
        time.sleep(pause_s)
        self.assertEqual(set(self.asks(server, "/nothing", 1500)), {404, 429})
        self.assertEqual(self.asks(server, "/readyz", 50), {200: 50})

    def test_01_limit(self):
        self.run_chapter("limit", "nginx")
        script = "".join(self.chapters["limit"]["Try it"]).replace("key=adit_...", "key=" + self.key)
        done = []

        def is_refused():
            done.append(self.machine.run(script, check=False))
            return done[-1].stdout.endswith(" 127.0.0.1\n")
        # The last line has the refused requests of this machine's address.  It is missing where a busy
        # machine was slower than the limit.
        until(is_refused, "429")
        table, n = done[-1].stdout.rstrip().rsplit("\n", 1)
        found = dict(reversed(line.split()) for line in table.splitlines())
        self.assertEqual((set(found), [found["429"], "127.0.0.1"]), ({"200", "429"}, n.split()))
        self.check_limits("127.0.0.1:880", 0)
        # Neither the key nor the digits that name it.
        self.assertEqual(self.ask("grep -rl %s /var/log" % self.key[5:21]), "")

    # ---- drain.md, with two hosts ----

    def make_hosts(self):
        """The second host's units differ from the first one's in names and in the socket's path."""
        self.machine.run("rm -f /etc/nginx/sites-enabled/*")
        for name, address in HOSTS.items():
            self.machine.run("echo '%s %s' >>/etc/hosts" % (address, name))
        self.machine.run("""
            cd /etc/systemd/system
            for kind in service socket; do
                sed -e 's/adit\\.socket/adit-b.socket/' -e 's,/run/adit/adit,/run/adit-b/adit,' \\
                    /lib/systemd/system/adit.$kind >adit-b.$kind
            done
            systemctl daemon-reload
            systemctl start adit-b.service
            aditctl web-server nginx-upstream --no-limits >/etc/nginx/host-a.upstream
            sed 's,/run/adit/adit,/run/adit-b/adit,' /etc/nginx/host-a.upstream \\
                >/etc/nginx/host-b.upstream
        """)
        for name, address in HOSTS.items():
            self.machine.run("cat >/etc/nginx/%s.conf <<'END'\n%sEND\nnginx -c /etc/nginx/%s.conf" % (
                name, FRONT % {"name": name, "address": address}, name))

    def test_02_balancers(self):
        self.make_hosts()
        self.run_chapter("drain", "Each host")
        self.run_chapter("drain", "HAProxy")
        self.run_chapter("drain", "nginx")
        for name, server in BALANCERS.items():
            with self.subTest(name):
                until(lambda: self.ask("curl -s http://%s/readyz" % server) ==
                      '{"status":"ready"}', "an answer")
        self.machine.run("systemctl restart adit-b.service")
        self.assertLessEqual({"nginx.service", "apache2.service"}, set(
            self.ask("systemctl show -P After adit.service").split()))

    def test_03_drain(self):
        """A host goes and comes back under load."""
        with Load(self.machine, self.key) as load:
            until(lambda: min(self.balanced(0).values()) > 25, "both send requests")
            [told, stop] = self.chapters["drain"]["Drain"]
            self.machine.run(told)
            stopping = time.time()
            with subprocess.Popen(self.machine.command("/bin/bash", "-ec", stop)) as drain:
                until(lambda: '_9081"' in self.ask("curl -s http://host-a:880/readyz"), "503")
                self.assertIn("live", self.ask("curl -s http://host-a:880/livez"))
                self.assertEqual(drain.wait(60), 0)
            stopped = time.time()
            [ready, back] = self.chapters["drain"]["Come back"]
            self.assertIn("ready", self.machine.run(ready).stdout)
            self.machine.run(back)
            back = time.time()
            until(lambda: min(self.balanced(back).values()) > 25, "both send requests again")
        self.check_load(load)
        rows = self.asked("host-a")
        # HAProxy asks with HTTP/1.0.
        noticed = [at for at, path, status, protocol in rows
                   if (path, status, protocol) == ("/readyz", "503", "HTTP/1.0")][1]
        asked = [at for at, path, *_ in rows if not path.endswith("z")]
        self.assertLess(sum(noticed < at < stopped for at in asked), MOST_LATE)
        self.assertGreaterEqual(stopped - stopping, DRAIN_S)

    # ---- upgrade.md, with two hosts ----

    def build_newer(self):
        """Packages of a version with one migration more.  Returns their folder."""
        folder = tempfile.mkdtemp(prefix="adit-newer-", dir="/var/tmp")
        self.addClassCleanup(shutil.rmtree, folder)
        tree = os.path.join(folder, "adit")
        shutil.copytree(self.tree, tree, symlinks=True)
        with open(os.path.join(tree, "sql", "999_newer.sql"), "w", encoding="utf-8") as file:
            file.write("ALTER TABLE adit.ssh_credential ADD COLUMN newer text NOT NULL DEFAULT '';\n"
                       "COMMENT ON COLUMN adit.ssh_credential.newer IS 'Of a later version.';\n")
        with open(os.path.join(tree, "debian", "changelog"), "r+", encoding="utf-8") as file:
            old = file.read()
            version = re.match(r"adit \((.*?)\) ", old).group(1)
            file.seek(0)
            file.write(old.replace(version, version + "+1", 1) + "\n" + old)
        # debhelper would configure again, and compile everything.
        stack.run(["make", "-C", os.path.join(tree, "_build"), "-j", str(os.cpu_count())],
                  timeout=package.BUILD_TIMEOUT_S)
        package.build(folder, "newer", "-nc")
        return version, os.path.join(folder, "newer")

    def version(self):
        return self.ask("dpkg-query -W -f '${Version}' adit")

    def test_04_upgrade_and_go_back(self):
        """Both hosts go to a version with a migration, one after the other, and back.  The responder
        of the second host is of the old version until it is restarted."""
        # test_03 has shown the drain: from here on, each restart takes less.
        self.machine.run("sed -i 's/^\\(; \\)\\?drain = .*/drain = 1s/' /etc/adit/adit.conf;"
                         " systemctl kill --signal=INT adit.service adit-b.service")
        old, newer = self.build_newer()
        self.run_chapter("upgrade", "Back up")
        made = self.count("SELECT count(*) FROM adit.ssh_credential")
        install, trouble, migrate = self.chapters["upgrade"]["One host"]
        with Load(self.machine, self.key) as load:
            self.assertIn("aditctl migrate", self.machine.run(install, folder=newer).stdout)
            said = self.machine.run(trouble, check=False)
            self.assertEqual(said.returncode, 1)
            self.assertRegex(said.stdout, r"trouble\s+schema")
            self.assertNotRegex(self.machine.run(migrate).stdout, "trouble")
            self.assertEqual(self.version(), old + "+1")
            for name in HOSTS:
                self.assertIn("ready", self.ask("curl -s http://%s:880/readyz" % name))
            time.sleep(1)
            self.machine.run("systemctl restart adit-b.service")
        self.check_load(load, made)
        self.assertIn("999_newer", self.ask(
            "runuser -u postgres -- psql -Atd adit -c 'SELECT name FROM adit.migration'"))
        # Stop and install on every host, restore on one, start every host.
        stop, restore, start = self.chapters["upgrade"]["Go back"]
        self.machine.run("systemctl stop adit-b.socket adit-b.service")
        self.machine.run(stop, folder=os.path.join(self.folder, "new"))
        self.machine.run(restore)
        self.assertNotRegex(self.machine.run(start).stdout, "trouble")
        self.machine.run("systemctl start adit-b.service")
        self.assertEqual(self.version(), old)
        self.assertEqual(self.count("SELECT count(*) FROM adit.ssh_credential"), made)
        self.assertNotIn("999_newer", self.ask(
            "runuser -u postgres -- psql -Atd adit -c 'SELECT name FROM adit.migration'"))

    def test_05_limit_on_the_balancer(self):
        self.run_chapter("limit", "HAProxy")
        until(lambda: self.ask("curl -s http://%s/readyz" % BALANCERS["HAProxy"]) ==
              '{"status":"ready"}', "an answer")
        # HAProxy counts those of the second before, too.
        self.check_limits(BALANCERS["HAProxy"], 2.1)
        shown = self.ask("ls /var/log; grep -rl %s /var/log" % self.key[5:21])
        self.assertNotIn("haproxy", shown)
