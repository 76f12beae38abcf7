# SPDX-License-Identifier: MIT
"""doc/operate/backup.md, followed word for word on a copy of the machine: everything is saved and moves
to a new cluster, whose roles are others.  Then the database alone is restored.  An edge moves, too."""
import json
import re

from adit import package, recipe, samples
from adit.case import until
from machine_gateway import install_adit

SECRET = "a client secret in the backup"
PATHS = ("/ssh_credentials", "/edges/https/edge/routes/route/oauth", "/edges/tls/edge/mutual_tls")


class Backup(package.Story):
    pages = ("debian", "backup")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_adit(cls)

    def call(self, path, *options):
        return self.ask(
            "curl -sS -H 'Authorization: Bearer %s' -H 'Service-Version: 2' -H 'Content-Type: "
            "application/json' %s http://127.0.0.1:880%s" % (self.key, " ".join(options), path))

    def read_all(self):
        """The answers, with their ETags, but for what differs between two requests."""
        return [[line for line in self.call(path, "-i").splitlines()
                 if not line.lower().startswith(("date:", "service-operation-id:"))]
                for path in PATHS]

    def doctor(self):
        """What is wrong: {check: message}."""
        [script] = self.chapters["backup"]["What doctor says"][:1]
        found = json.loads(self.ask(script.replace("doctor", "doctor --json || true")))["findings"]
        return {row["check"]: row["message"] for row in found if row["level"] == "trouble"}

    def test_01_back_up(self):
        bodies = ({"public_key": samples.ED25519, "acl": ["bind:*.a.example"],
                   "description": "Größe"},
                  {"provider": {"provider_a": {"client_id": "app", "client_secret": SECRET}}},
                  {"certificate_authority_ids": ["b", "a"]})
        for path, method, body in zip(PATHS, ("POST", "PUT", "PUT"), bodies):
            said = self.call(path, "-X", method, "-d", "'%s'" % json.dumps(body))
            self.assertNotIn("error_code", said)
        type(self).before = self.read_all()
        self.assertIn(SECRET, self.before[1][-1])
        self.run_chapter("backup", "Back up")
        self.run_chapter("backup", "Back up the key file")
        self.assertEqual(self.ask("grep -ac '%s' /var/backups/adit/adit.dump" % SECRET), "0")
        self.assertEqual(self.ask("stat -c %a /var/backups/adit/* /root/safe/*").split(),
                         ["644", "600", "600"])
        self.assertEqual(self.ask("ls /var/backups/adit"), "adit.conf\nadit.dump")

    def test_02_the_old_machine_stops(self):
        """Nothing stays but the packages and the web server: the cluster is a new one."""
        self.assertIn('"description":"moved"', self.call(
            json.loads(self.before[0][-1])["ssh_credentials"][0]["uri"].split(":880")[1],
            "-X", "PATCH", "-d", "'{\"description\": \"moved\"}'"))
        type(self).before = self.read_all()
        self.run_chapter("backup", "Move")
        self.assertIn("_9055", self.call(PATHS[0]))
        self.run_chapter("backup", "Back up")
        version = self.ask("pg_lsclusters -h | awk '{print $1; exit}'")
        self.machine.run("""
            rm -r /etc/adit/*
            pg_dropcluster --stop %s main
            pg_createcluster %s main
            systemctl start postgresql
        """ % (version, version))
        self.assertIn('role "adit" does not exist', self.doctor()["database"])

    def test_03_restore(self):
        roles, grants = self.chapters["backup"]["Restore: the database"]
        _, create, database, restore = roles.splitlines()
        self.machine.run(create)
        self.assertIn('database "adit" does not exist', self.doctor()["database"])
        self.machine.run(database)
        self.assertIn("run: aditctl migrate", self.doctor()["schema"])
        self.machine.run(restore)
        self.assertIn("permission denied for schema adit", self.doctor()["schema"])
        self.machine.run(grants)
        self.run_chapter("backup", "Restore: the settings")

    def test_04_the_key_file_is_forgotten(self):
        found = self.doctor()
        self.assertEqual(sorted(found), ["sealed", "secrets"])
        self.assertIn("there is no such file", found["secrets"])
        self.assertIn("1 secret is sealed under key ", found["sealed"])
        self.assertIn("restore this key from your copy", found["sealed"])
        self.machine.run("aditctl secrets init; chmod 644 /etc/adit/adit.key; "
                         "chgrp adit /etc/adit/adit.key; chmod 640 /etc/adit/adit.key")
        self.assertIn("which /etc/adit/adit.key lacks", self.doctor()["sealed"])

    def test_05_all_is_as_it_was(self):
        self.run_chapter("backup", "Restore: the key file")
        self.machine.run(self.chapters["backup"]["What doctor says"][1])
        self.assertEqual(self.read_all(), self.before)
        self.assertEqual(self.ask("runuser -u postgres -- psql -Atd adit -c 'SELECT count(*) FROM"
                                  " adit.audit_event WHERE resource = $$edge/route$$'"), "1")
        said = self.call(PATHS[2], "-X", "PUT", "-d", "'{\"enabled\": false}'")
        self.assertIn('"enabled":false', said)
        self.assertNotEqual(self.read_all(), self.before)
        self.assertEqual(self.ask(
            "runuser -u postgres -- psql -Atd adit -c 'SELECT complete FROM adit.changes("
            "$$9999999:9999999:$$)'"), "f")

    def test_06_the_same_machine(self):
        self.run_chapter("backup", "Restore on the same machine")
        self.machine.run(self.chapters["backup"]["What doctor says"][1])
        self.assertEqual(self.read_all(), self.before)


class Edge(package.Story):
    """Adit, a gateway and a gate on one machine move to a new cluster, and to packages as installed."""

    pages = ("debian", "ssh-gateway", "tls-edge", "oauth-route", "backup")
    PROVIDER = """
[provider.provider_a]
client_id = the-application
client_secret_file = /etc/adit/provider_a.secret
"""
    LOST = ("/etc/adit/*", "/etc/ssh/ssh_host_*", "/etc/ssh/sshd_config.d/adit.conf",
            "/etc/nginx/conf.d/*", "/etc/nginx/snippets/*", "/etc/nginx/sites-*/*",
            "/var/lib/adit-gateway/*")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install_adit(cls)
        cls.machine.run("rm -f /etc/ssh/sshd_not_to_be_run && "
                        "systemctl start systemd-user-sessions.service")

    def put(self, path, body):
        said = self.ask(
            "curl -sS -X PUT -H 'Authorization: Bearer %s' -H 'Service-Version: 2' -H 'Content-Type: "
            "application/json' -d '%s' http://127.0.0.1:880%s" % (self.key, json.dumps(body), path))
        self.assertNotIn("error_code", said)

    def location(self):
        """Where the gate sends a visitor."""
        return self.ask("curl -sk -o /dev/null -w '%{http_code} %{redirect_url}' --connect-to "
                        "app.example.com:443:localhost:443 https://app.example.com/")

    def check(self):
        """The edge obeys: the route, the edge's authorities, and the tunnel of a key."""
        until(lambda: re.match("302 https://.*client_id=the-application&", self.location()),
              "the way to the provider")
        until(lambda: self.ask("grep -c BEGIN /var/lib/adit-gateway/edges/edge-1.pem") == "1" and
              "on;" in self.ask("cat /var/lib/adit-gateway/edges/edge-1.nginx"), "the edge's files")
        self.open_tunnel()
        self.assertEqual(self.ask("curl -s http://localhost:9000/readyz"), '{"status":"ready"}')

    def open_tunnel(self):
        """The page's, without making the key again.  The client knows the host by its key."""
        make, connect, *_ = self.chapters["ssh-gateway"]["A first tunnel"]
        if self.ask("ls /root/tunnel.key 2>/dev/null"):
            connect = connect.replace("StrictHostKeyChecking=accept-new", "StrictHostKeyChecking=yes")
            make = ""
        self.machine.run(recipe.keep_key(self.key) + make + connect)

    def test_01_the_edge(self):
        for page in ("ssh-gateway", "oauth-route"):
            self.run_chapter(page, "Install", folder=self.tree)
            self.run_chapter(page, "Database")
        self.run_chapter("tls-edge", "Authorities and certificates")
        self.change_settings("[mutual_tls]\nedges = edge-1\n")
        self.machine.run("install -m 640 -g adit-gate /dev/null /etc/adit/provider_a.secret\n"
                         "echo secret >/etc/adit/provider_a.secret\n"
                         "cat >>/etc/adit/adit.conf <<'END'%sEND" % self.PROVIDER)
        self.put("/edges/https/edge-1/routes/route-1/oauth",
                 {"provider": {"provider_a": {"email_domains": ["example.com"]}}})
        self.put("/edges/tls/edge-1/mutual_tls", {"certificate_authority_ids": ["ca-1"]})
        self.run_chapter("ssh-gateway", "Settings")
        self.machine.run("systemctl start ssh.service")
        self.run_chapter("ssh-gateway", "sshd")
        self.run_chapter("oauth-route", "Start")
        self.run_chapter("oauth-route", "nginx")
        self.check()
        self.run_doctor()

    def run_doctor(self):
        """It exits with 1 if there is trouble."""
        self.machine.run(self.chapters["backup"]["What doctor says"][1])

    def test_02_the_old_machine_stops(self):
        for heading in "Move", "Back up", "Back up the key file", "Back up the edge", "Move the edge":
            self.run_chapter("backup", heading)
        self.assertEqual(self.ask("stat -c '%U %a' /root/safe/edge.tar"), "root 600")
        until(lambda: self.ask("curl -s http://localhost:9000/readyz") == "", "the tunnel's end")
        version = self.ask("pg_lsclusters -h | awk '{print $1; exit}'")
        self.machine.run("""
            systemctl stop ssh nginx
            while pgrep -u tunnel >/dev/null; do sleep 0.2; done
            userdel tunnel
            rm -r %s
            pg_dropcluster --stop %s main
            pg_createcluster %s main
            ssh-keygen -q -A
            systemctl start postgresql ssh
        """ % (" ".join(self.LOST), version, version))

    def test_03_the_new_machine(self):
        for heading in ("Restore: the database", "Restore: the settings", "Restore: the key file",
                        "Restore: the edge"):
            self.run_chapter("backup", heading)
        self.check()
        self.run_doctor()
        self.assertEqual(self.ask("stat -c '%U:%G %a' /etc/adit/provider_a.secret"),
                         "root:adit-gate 640")
