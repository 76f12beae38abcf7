# SPDX-License-Identifier: MIT
"""aditctl doctor on the machine of a gateway: what it finds, with a real daemon and sshd."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading

from adit import stack
from adit.case import Case, until
from adit.programs import ENV
from adit.ssh_gateway import (CONF, LOGINS_CONF, PROGRAMS, SOCKET, STATE, GatewayCase,
                              LimitedGateway, openssh_version)

SSHD_CONF = "/etc/ssh/sshd_config.d/adit.conf"
NGINX_CONF = "/etc/nginx/nginx.conf"
UNIT = "adit-gateway.service"
USERS = ("bounded", "other", "tunnel")

# In place of sshd: one that knows penalties, and writes names as newer ones do.
NEWER_SSHD = """#!/bin/bash
set -eu -o pipefail
case $1 in
-G) shift; set -- -T -h /run/host_key "$@" ;;
esac
/run/real-sshd "$@" | sed -e /^persourcepenalties/Id -e 's/^[a-z0-9]*/\\U&/'
echo 'PerSourcePenalties crash:90.000000 authfail:%s grace-exceeded:%s noauth:1.000000 max:600.000000'
"""

# What sshd must not be told in place of what aditctl prints.
OTHER_VALUES = {
    "GatewayPorts": "yes", "AuthenticationMethods": "any",
    "AuthorizedKeysFile": ".ssh/authorized_keys", "AllowStreamLocalForwarding": "yes",
    "AllowTcpForwarding": "yes", "PermitOpen": "any", "MaxSessions": "1", "PermitTTY": "yes",
    "AllowAgentForwarding": "yes", "X11Forwarding": "yes", "PermitTunnel": "yes",
    "PermitUserRC": "yes", "TrustedUserCAKeys": "/etc/ssh/ca.pub"}


class GatewayDoctor(GatewayCase):
    gateway_type = LimitedGateway

    def doctor(self, status=0, user=None, conf=CONF):
        """Runs doctor as root.  Returns its lines, as (verdict, what, text)."""
        done = stack.run(self.gateway.inside.command(
            os.path.join(stack.BUILD, "aditctl"), "-c", conf, "doctor", user=user),
            check=False, env=ENV)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return [tuple(line.split(None, 2)) for line in done.stdout.splitlines()]

    def assert_found(self, verdict, what, text, **options):
        """Returns the texts of all troubles."""
        lines = self.doctor(status=1 if verdict == "trouble" else 0, **options)
        self.assertTrue([line for line in lines if line[:2] == (verdict, what)
                         and re.search(text, line[2])], "\n".join(map(str, lines)))
        return [line[2] for line in lines if line[0] == "trouble"]

    @contextlib.contextmanager
    def sshd_conf(self, change, path=SSHD_CONF):
        """sshd's block, or another file of it, with a change."""
        before = self.gateway.inside.read(path)
        after = change(before)
        self.assertNotEqual(after, before)
        self.gateway.inside.write(path, after)
        try:
            yield
        finally:
            self.gateway.inside.write(path, before)

    @contextlib.contextmanager
    def newer_sshd(self, authfail, silence="0"):
        inside = self.gateway.inside
        shutil.copy("/usr/sbin/sshd", inside.path("/run/real-sshd"))
        inside.write("/run/newer-sshd", NEWER_SSHD % (authfail, silence), mode=0o755)
        stack.run(inside.command("mount", "--bind", "/run/newer-sshd", "/usr/sbin/sshd"))
        try:
            yield
        finally:
            stack.run(inside.command("umount", "/usr/sbin/sshd"))

    def test_all_is_well(self):
        lines = self.doctor()
        self.assertEqual([line[:2] for line in lines], [
            ("ok", "user"), ("ok", "settings"), ("note", "responder"), ("ok", "gateway"),
            ("ok", "polls"), ("ok", "signals"), ("ok", "sessions"), ("ok", "helper"),
            ("ok", "logins"), *[("ok", "sshd")] * 3, ("note", "sshd"), ("ok", "ports"),
            ("ok", "settings"), ("ok", "user"), ("ok", "role")])
        found = {what: text for _, what, text in lines}
        self.assertRegex(found["responder"], r"^not checked: /\S+/adit\.fcgi is not installed$")
        self.assertRegex(found["gateway"], r"^adit-gateway answers; \d+ SSH sessions?$")
        self.assertRegex(found["polls"], r"^the daemon asked the database \d+ ms ago$")
        self.assertTrue(found["helper"].startswith(PROGRAMS + "/adit-ssh-keys"))
        self.assertEqual([line[2] for line in lines if line[:2] == ("ok", "sshd")], [
            "user %s: sshd asks the gateway and obeys it" % user for user in USERS])

    def test_role(self):
        """It may read what a gateway needs, and nothing else."""
        stranger = "^the gateway's role also has the rights of adit_responder, which it must not"
        for grant, revoke, found in (
                ("GRANT adit_responder TO gateway", "REVOKE adit_responder FROM gateway",
                 ("trouble", stranger)),
                ("GRANT SELECT (before) ON adit.audit_event TO gateway",
                 "REVOKE ALL (before) ON adit.audit_event FROM gateway",
                 ("note", "^the gateway's role has adit.audit_event: SELECT of before, which it does"
                  " not need$")),
                ("REVOKE adit_gateway FROM gateway", "GRANT adit_gateway TO gateway",
                 ("trouble", "^the gateway's role lacks .*; make it a member of adit_gateway"))):
            with self.subTest(grant):
                self.stack.psql(grant)
                try:
                    self.assert_found(found[0], "role", found[1])
                finally:
                    self.stack.psql(revoke)

    def test_the_service_user(self):
        """It checks its own role, and nothing that others need."""
        lines = self.doctor(user="adit-gateway")
        self.assertEqual({line[0] for line in lines}, {"ok", "note"})
        self.assertIn(("ok", "role", "the gateway's role has the rights that it needs"), lines)
        self.assertEqual([line for line in lines if line[1] in ("grants", "secrets", "database")], [])

    def test_sessions(self):
        self.standing(self.gateway.tunnel(self.new_key()))
        self.assert_found("ok", "gateway", "; 1 SSH session$")

    def test_sessions_that_the_machine_bears(self):
        """By default, they take half of its memory."""
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
        most = pages // 2 // (2560 * 1024)
        self.assert_found("ok", "sessions", "^adit-gateway lets in %d SSH sessions at most" % most)
        settings = self.gateway.inside.read(CONF)
        for number, verdict, says in (
                (most // 2, "ok", "lets in %d SSH sessions at most, which take" % (most // 2)),
                (most * 2, "trouble", "take .* MiB, and three quarters of the machine's memory is"),
                (0, "note", r"^\[gateway\] sessions is 0: SSH sessions may take all memory")):
            self.gateway.inside.write("/run/other.conf", settings + "sessions = %d\n" % number)
            with self.subTest(number):
                self.assert_found(verdict, "sessions", says, conf="/run/other.conf")

    def test_settings_of_sshd(self):
        """Each wrong value is one trouble, which names the line to write."""
        block = self.gateway.inside.read(SSHD_CONF).partition("\n\n")[0]
        wanted = {line.split()[0]: line.strip() for line in block.splitlines()[1:]}
        for name, value in OTHER_VALUES.items():
            with self.subTest(name), self.sshd_conf(lambda text, name=name, value=value: re.sub(
                    "(?m)^ *%s .*" % name, "%s %s" % (name, value), text, count=1)):
                troubles = self.assert_found("trouble", "sshd", (
                    r"^user tunnel: %s is %s, so .*; write '%s' into its Match block$" % (
                        name.lower(), re.escape(value), wanted[name])))
                self.assertEqual(len(troubles), 1)

    def test_the_command(self):
        self.each([(says, old, new, says) for old, new, says in (
            (" %u %f %t %k", " %u %t %k", "AuthorizedKeysCommand does not end with '%u %f %t %k'$"),
            ("CommandUser adit-ssh-keys", "CommandUser root", "AuthorizedKeysCommandUser is root;"),
            ("CommandUser adit-ssh-keys", "CommandUser other", "AuthorizedKeysCommandUser is other;"),
            ("CommandUser adit-ssh-keys", "CommandUser ghost", "user ghost, whom"
             " AuthorizedKeysCommandUser names, does not exist"),
            ("User other", "User ghost", "^user ghost, whom Match names, does not exist; run:"
             " useradd --system ghost$"),
            ("PermitTTY no", "PermitTTY maybe", "'/usr/sbin/sshd -T' fails: .*unsupported option"),
        )], self.assert_command)

    def assert_command(self, old, new, says):
        with self.sshd_conf(lambda text: text.replace(old, new)):
            self.assert_found("trouble", "sshd", says)

    def test_vanished_clients(self):
        with self.sshd_conf(lambda text: text.replace("ClientAliveInterval 5", "")):
            self.assert_found("note", "sshd", "^user tunnel: .*write 'ClientAliveInterval 5'")

    def test_limits_of_logins(self):
        """They hold for the machine, so one line tells."""
        prints = "; aditctl gateway-config sshd-logins prints what to set$"
        for old, new, says in (
                ("PerSourceMaxStartups 10\n", "", "^PerSourceMaxStartups is none, so one address that"
                 " stays silent keeps everybody from logging in" + prints),
                ("MaxStartups 60:", "MaxStartups 10:", "^MaxStartups is 10:30:100, so one address with"
                 " PerSourceMaxStartups connections hinders others" + prints),
                ("PerSourceNetBlockSize 32:48\n", "", "^PerSourceNetBlockSize is 32:128, so a client of"
                 " IPv6 has PerSourceMaxStartups connections from each of its addresses" + prints),
                ("PerSourceNetBlockSize 32:48", "PerSourceNetBlockSize 32:65",
                 "^PerSourceNetBlockSize is 32:65, so"),
                ("LoginGraceTime 30", "LoginGraceTime 61", "^LoginGraceTime is 61, so"),
                ("LoginGraceTime 30", "LoginGraceTime 0", "^LoginGraceTime is 0, so")):
            with self.subTest(new or old), self.sshd_conf(
                    lambda text, old=old, new=new: text.replace("\n" + old, "\n" + new), LOGINS_CONF):
                self.assert_found("note", "logins", says)
                self.assertEqual(len([line for line in self.doctor() if line[1] == "logins"]), 1)

    def test_penalties(self):
        """OpenSSH 9.8 has them.  Newer ones write the names of settings in another case."""
        with self.newer_sshd("5.000000"):
            self.assert_found("note", "logins", "^PerSourcePenalties is crash:90.* authfail:5.*, so sshd"
                              " refuses all clients of an address at which a key has no credential;")
            self.assert_found("ok", "sshd", "^user tunnel: sshd asks the gateway and obeys it$")
        with self.newer_sshd("0", "20.000000"):
            self.assert_found("note", "logins", "^PerSourcePenalties is .*grace-exceeded:20.*, so sshd"
                              " refuses all clients of an address at which one stays silent;")
        for authfail in "0.000000", "0":
            with self.newer_sshd(authfail):
                self.assert_found("ok", "logins", "^one address has at most 10 of sshd's places$")

    def test_penalties_are_printed(self):
        """Only for an sshd that knows them: another one would not start."""
        command = self.gateway.inside.command(
            os.path.join(stack.BUILD, "aditctl"), "gateway-config", "sshd-logins")
        with self.newer_sshd("5"):
            self.assertRegex(stack.run(command, env=ENV).stdout,
                             r"\nPerSourcePenalties authfail:0 noauth:0 grace-exceeded:0\n")
        if openssh_version() < (9, 8):
            self.assertRegex(stack.run(command, env=ENV).stdout,
                             r"\n# From OpenSSH 9\.8 on: PerSourcePenalties authfail:0 noauth:0"
                             r" grace-exceeded:0\n")

    @contextlib.contextmanager
    def server(self, port, host="0.0.0.0"):
        """A server of the machine, as root."""
        inside = self.gateway.inside
        program = subprocess.Popen(inside.command(
            "sh", "-c", "echo $$; exec python3 -m http.server --bind %s %d 2>&1" % (host, port)),
            stdout=subprocess.PIPE, text=True)
        try:
            pid = program.stdout.readline().strip()
            until(lambda: any(place.endswith(":%d" % port) for place in inside.listeners()),
                  "the server")
            yield
        finally:
            stack.run(inside.command("kill", pid))
            program.communicate()

    def test_ports(self):
        """A server has a port that tunnels may bind."""
        with self.server(8080):
            troubles = self.assert_found("trouble", "ports", (
                r"^python3\S* has port 8080, which tunnels may bind: .*; let the server listen on a"
                r" port below 1024, or take this one out of domain_ports and PermitListen$"))
            self.assertEqual(len(troubles), 1)
        with self.server(8444, "127.0.0.1"):
            self.assert_found("note", "ports", r"^a key without rules may bind .*: 8444 \(python3")
        with self.server(880):
            self.assert_found("ok", "ports", "^no server has a port that tunnels are offered$")

    def test_ports_of_tunnels(self):
        """A tunnel at such a port is no server."""
        self.standing(self.gateway.tunnel(self.new_key()))
        self.assert_found("ok", "ports", "^no server has")

    def test_ports_that_sshd_limits(self):
        """PermitListen of the users says what tunnels may bind."""
        with self.server(8444), self.sshd_conf(
                lambda text: text.replace("PermitTTY no", "PermitTTY no\nPermitListen localhost:9000")):
            self.assertEqual([line for line in self.doctor() if line[:2] == ("note", "ports")], [])
        with self.server(9000), self.sshd_conf(
                lambda text: text.replace("PermitTTY no", "PermitTTY no\nPermitListen localhost:9000")):
            self.assert_found("trouble", "ports", "has port 9000, which")

    def test_ports_of_nginx(self):
        """Its configuration counts also while it does not run."""
        before = self.gateway.inside.read(NGINX_CONF)
        self.gateway.inside.write(NGINX_CONF, (
            "events {}\nhttp {\n    server {\n        listen 127.0.0.1:8443 ssl;\n        "
            "ssl_reject_handshake on;\n    }\n    server {\n        listen [::1]:1080;\n"
            "        location /adit { return 200; }\n    }\n    server {\n        listen 8447;\n"
            "        server_name tradition.example adits.example;\n    }\n"
            "    server { listen 127.0.0.1:8080; return 200; } # server { listen 8448; }\n"
            "    server\n    {\n        listen 9443; location / { return 200; }\n    }\n}\n"))
        settings = self.gateway.inside.read(CONF)
        self.gateway.inside.write(CONF, settings.replace("8080 8443", "8080 8443 9443"))
        try:
            troubles = self.assert_found("trouble", "ports", "^nginx has port 8443, which")
            self.assertEqual(sorted(re.search(r"has port (\d+)", line).group(1) for line in troubles),
                             ["1080", "8080", "8443", "9443"])
            self.assert_found("trouble", "ports", r"^nginx \(a site of Adit's own\) has port 1080,")
        finally:
            self.gateway.inside.write(CONF, settings)
            self.gateway.inside.write(NGINX_CONF, before)

    def test_no_block(self):
        with self.sshd_conf(lambda text: "Match User tunnel\n    MaxSessions 0\n"):
            self.assert_found("note", "sshd", "^no block 'Match User NAME' .* runs adit-ssh-keys;"
                              " to print one, run: aditctl gateway-config sshd$")

    def test_accounts_without_bounds(self):
        """One account may take what another one's tunnels bind, unless PermitListen bounds it."""
        self.assert_found("note", "sshd", "^user other: nothing bounds what its account binds, so it"
                          " can take names and ports of the accounts of other users; ")
        for old, new in (("PermitTTY no", "PermitTTY no\nPermitListen *.example.org:8080"),
                         (r" --account \S+", "")):
            with self.subTest(new), self.sshd_conf(lambda text, old=old, new=new: re.sub(
                    old, new, text)):
                self.assertNotIn("nothing bounds", str(self.doctor()))

    def test_several_names_in_a_block(self):
        with self.sshd_conf(lambda text: text.replace(
                "Match User tunnel", "match Address * user=nobody,tunn*,tunnel")):
            lines = self.doctor()
        self.assertEqual([line[2].split(":")[0] for line in lines if line[:2] == ("ok", "sshd")],
                         ["user bounded", "user nobody", "user other", "user tunnel"])

    def test_blocks_for_some_connections(self):
        """A block before the user's own one counts more, wherever the connection is from."""
        for criteria, connection in (
                ("Address 192.0.2.0/24", "host=localhost,addr=192.0.2.0,laddr=127.0.0.1,lport=22"),
                ("Address !192.0.2.7,192.0.2.0/24,10.0.0.0/8", "addr=192.0.2.0,"),
                ("Address 2001:db8::/32", "addr=2001:db8::,"), ("Address 10.*", "addr=10.1.1.1,"),
                ('User=tun* Address="10.2.*.3"', "addr=10.2.1.3,"), ("Address !127.0.0.1,*", "addr=1.1.1.1,"),
                ("LocalPort 2222", "lport=2222"), ("LocalAddress 192.0.2.1", "laddr=192.0.2.1,"),
                ("Host *.example.org,x", "host=x.example.org,"), ("RDomain v*", "rdomain=vx"),
                ("host a.example localport 23",
                 "host=a.example,addr=127.0.0.1,laddr=127.0.0.1,lport=23")):
            with self.subTest(criteria), self.sshd_conf(
                    lambda text, criteria=criteria: "Match %s\n MaxSessions 10\n%s" % (
                        criteria, text)):
                troubles = self.assert_found("trouble", "sshd", (
                    r"^user tunnel: with \S*%s\S*, maxsessions is 10, so clients get a shell; put the"
                    r" Match block that says so behind the user's$" % re.escape(connection)))
                self.assertEqual(len([line for line in troubles if "user tunnel" in line]), 1)
        block = "Match Address 192.0.2.0/24\n MaxSessions 10\n"
        with self.sshd_conf(lambda text: text + block):
            self.doctor()
        with self.sshd_conf(lambda text: "Match Address 192.0.2.0/24\n AuthorizedKeysCommand none\n"
                            + text):
            self.assert_found("trouble", "sshd", r"^user other: with \S*addr=192\.0\.2\.0,\S*,"
                              " authorizedkeyscommand is none, so other rules hold; ")

    def test_what_blocks_change(self):
        """doctor compares each directive that aditctl prints."""
        others = {**OTHER_VALUES, "AuthorizedKeysCommand": "none", "PermitListen": "any",
                  "AuthorizedKeysCommandUser": "other"}
        minor = {"ClientAliveInterval": "30", "ClientAliveCountMax": "9"}
        printed = re.findall(r"(?m)^ +(\w+) ", self.gateway.inside.read(SSHD_CONF))
        self.assertEqual(set(printed), {*others, *minor})
        for name, value in {**others, **minor}.items():
            verdict = "note" if name in minor else "trouble"
            with self.subTest(name), self.sshd_conf(
                    lambda text, line="Match Address 192.0.2.0/24\n %s %s\n" % (name, value): line + text):
                troubles = self.assert_found(verdict, "sshd", (
                    r"^user bounded: with \S*addr=192\.0\.2\.0,\S*, %s is %s, so .*; put the Match"
                    % (name.lower(), re.escape(value))))
                self.assertEqual(len([line for line in troubles if "user bounded:" in line]),
                                 int(verdict == "trouble"))
        with self.sshd_conf(lambda text: "Match Address 192.0.2.0/24\n PermitListen localhost:9000\n"
                            + text):
            troubles = self.assert_found("trouble", "sshd", "^user bounded: .* permitlisten is")
            self.assertEqual(len(troubles), 1)

    def test_path_of_the_helper(self):
        """sshd runs it only if nobody but root may replace it."""
        helper = PROGRAMS + "/adit-ssh-keys" + (".sh" if stack.is_sanitized() else "")
        for path, mode, says in (
                (PROGRAMS, 0o775, "%s is writable by its group or by others; run: chmod go-w %s"),
                (PROGRAMS, 0o757, "%s is writable by its group or by others; run: chmod go-w %s"),
                (helper, 0o777, "%s is writable by its group or by others; run: chmod go-w %s"),
                ("/run", 0o777, "%s is writable by its group or by others; run: chmod go-w %s"),
                (helper, None, "%s is not root's; run: chown root %s"),
                (PROGRAMS, None, "%s is not root's; run: chown root %s")):
            with self.subTest(path, mode=mode):
                outside = self.gateway.inside.path(path)
                before = os.stat(outside).st_mode & 0o7777
                try:
                    os.chown(outside, 0 if mode else 4101, 0)
                    os.chmod(outside, mode or before)
                    self.assert_found("trouble", "helper", "^sshd does not run %s: %s$" % (
                        helper, says % (path, path)))
                finally:
                    os.chown(outside, 0, 0)
                    os.chmod(outside, before)

    def test_no_helper(self):
        with self.sshd_conf(lambda text: text.replace(PROGRAMS, "/run/nowhere")):
            self.assert_found("trouble", "helper", "^/run/nowhere/adit-ssh-keys.*: No such file or"
                              " directory; install the package adit-gateway$")

    def test_database_away(self):
        self.stack.psql("ALTER ROLE gateway NOLOGIN; SELECT pg_terminate_backend(pid) FROM"
                        " pg_stat_activity WHERE usename = 'gateway'")
        try:
            until(lambda: self.gateway.status()["database"] == "away", "the loss")
            self.assert_found("trouble", "polls", "^the daemon cannot ask the database, so it"
                              " refuses new logins; see its log: journalctl -u adit-gateway$")
        finally:
            self.stack.psql("ALTER ROLE gateway LOGIN")
        until(lambda: self.gateway.status()["database"] == "up", "the database")
        self.doctor()

    def test_another_user(self):
        """The daemon and sshd answer root only."""
        lines = self.doctor(user="stranger")
        self.assertEqual([line[:2] for line in lines], [
            ("ok", "user"), ("ok", "settings"), ("note", "responder"), ("note", "gateway"),
            ("ok", "sessions"), ("note", "sshd"), ("ok", "role")])
        for what in ("gateway", "sshd"):
            self.assertRegex({line[1]: line[2] for line in lines}[what], "^not checked: ")

    def test_daemon_down(self):
        """What it left behind shows that there is a gateway."""
        self.gateway.daemon.stop()
        try:
            self.assert_found("trouble", "gateway", "^cannot ask adit-gateway: %s: .*; to start it,"
                              " run: systemctl start adit-gateway" % SOCKET)
        finally:
            self.gateway.start_daemon()

    def test_never_started(self):
        """After a boot, /run has nothing of the daemon.  Its settings, its unit and sshd each show
        that it should run."""
        inside = self.gateway.inside
        plain, units = "/run/plain.conf", "/etc/systemd/system/"
        inside.write(plain, "[log]\nlevel = info\n")
        stack.run(inside.command("mount", "-t", "tmpfs", "units", units))
        self.gateway.daemon.stop()
        shutil.rmtree(inside.path(STATE))
        self.assertFalse(os.path.exists(inside.path(SOCKET)))
        try:
            fault = "^cannot ask adit-gateway: %s: No such file or directory; to start it" % SOCKET
            self.assert_found("trouble", "gateway", fault, conf=plain)
            with self.sshd_conf(lambda text: "Match User tunnel\n    MaxSessions 0\n"):
                self.assert_found("trouble", "gateway", fault)
                self.assert_found("trouble", "gateway", fault, user="stranger")
                self.assertNotIn("gateway", [line[1] for line in self.doctor(status=1, conf=plain)])
                inside.write(units + UNIT, "[Service]\nExecStart=/bin/true\n"
                             "[Install]\nWantedBy=multi-user.target\n")
                stack.run(inside.command("systemctl", "enable", UNIT))
                self.assert_found("trouble", "gateway", fault, conf=plain)
        finally:
            stack.run(inside.command("umount", units))
            self.gateway.start_daemon()

    def test_no_right_to_signal(self):
        self.gateway.daemon.stop()
        command = self.gateway.inside.command

        def without(*arguments, **options):
            options.pop("capabilities", None)
            return command(*arguments, **options)
        self.gateway.inside.command = without
        try:
            self.gateway.start_daemon()
        finally:
            self.gateway.inside.command = command
        try:
            self.assert_found("trouble", "signals", "^the daemon may not end sessions of sshd; give"
                              " its unit AmbientCapabilities=CAP_KILL")
            with self.sshd_conf(lambda text: "Match User tunnel\n    MaxSessions 0\n"):
                self.assert_found("note", "signals", "^the daemon may end sessions only of an sshd"
                                  " that its own user runs$")
        finally:
            self.gateway.daemon.stop()
            self.gateway.start_daemon()


class Status(Case):
    """What doctor makes of the daemon's status: a server in place of the daemon."""

    def answered(self, answer, ask):
        """What ask(path) returns while the socket has this answer to one question."""
        path = os.path.join(self.stack.folder, "status.sock")

        def serve(server):
            with server.accept()[0] as peer, peer.makefile("rb") as file:
                file.read()
                peer.sendall(answer + b".\n")

        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.settimeout(60)
            server.listen(1)
            thread = threading.Thread(target=serve, args=(server,))
            thread.start()
            done = ask(path)
            thread.join()
            os.remove(path)
        return done

    def doctor(self, path):
        conf = path + ".conf"
        with open(conf, "w", encoding="utf-8") as file:
            file.write("%s\n[gateway]\nsocket = %s\n" % (self.stack.read_conf(), path))
        return self.stack.ctl_run("doctor", conf=conf)

    def found(self, status):
        """Returns the lines of doctor, as (verdict, what, text)."""
        done = self.answered(b"ok\n%s" % status.encode(), self.doctor)
        return [tuple(line.split(None, 2)) for line in done.stdout.splitlines()]

    def test_edges_and_account(self):
        lines = self.found("edges 3\nedges_open 1\nedges_nobody 2\nedges_due 0\n"
                           "account_problem there are several accounts\n")
        for line in (
                ("ok", "edges", "the files of 3 TLS edges are in force"),
                ("note", "edges", "1 of 3 TLS edges ask for no certificate: they have no enabled"
                 " module"),
                ("note", "edges", "2 of 3 TLS edges let nobody pass: their modules name no authority"
                 " that this machine has"),
                ("trouble", "account", "there are several accounts")):
            self.assertIn(line, lines)

    def test_text_moves_no_cursor(self):
        """The daemon is another user than who reads what it says."""
        self.assertIn(("trouble", "account", "?]0;pwn? ?[2J ???"),
                      self.found("account_problem \x1b]0;pwn\a \x1b[2J \x9b\u202e\r\n"))

        def helper(path):
            return stack.run([os.path.join(stack.BUILD, "adit-ssh-keys"), "-s", path, "tunnel",
                              "SHA256:x", "ssh-ed25519", "AAAA"], check=False)
        for word in b"away", b"misuse":
            done = self.answered(word + b"\n\x1b]0;pwn\a\n", helper)
            self.assertEqual(done.stderr, "adit-ssh-keys: ?]0;pwn?\n")

    def test_nothing_to_say(self):
        """A daemon whose edges are all in order, and an older one, which does not tell."""
        for status in ("edges 1\nedges_open 0\nedges_nobody 0\nedges_due 0\n", "edges 1\n"):
            with self.subTest(status):
                lines = self.found(status)
                self.assertEqual([line for line in lines if line[1] in ("edges", "account")],
                                 [("ok", "edges", "the files of 1 TLS edge are in force")])
