# SPDX-License-Identifier: MIT
"""The cluster of doc/install/cluster.md: six copies of this machine, set up word for word."""
import concurrent.futures
import json
import shlex
import types

from adit import package, recipe
from adit.case import until
from adit.client import Client
from adit.lan import Lan
from adit.machine import Machine

PAGE = "cluster.md"
ADDRESSES = {"db-1": "192.0.2.11", "db-2": "192.0.2.12", "db-3": "192.0.2.13",
             "web-1": "192.0.2.21", "web-2": "192.0.2.22", "balancer": "192.0.2.31"}
NODES, HOSTS = ("db-1", "db-2", "db-3"), ("web-1", "web-2")
EVERYWHERE = tuple(ADDRESSES)
CTL = "patronictl -c /etc/patroni/config.yml "

# The packages are there already, but nothing of the services may be: each test starts them.
PREPARE = """
hostname %s
echo %s >/etc/hostname
rm -f /var/lib/man-db/auto-update /etc/systemd/system/etcd.service
echo 'APT::Get::Assume-Yes "true"; APT::Get::Upgrade "false";' >/etc/apt/apt.conf.d/yes
"""

# The disk of a database node.  etcd and PostgreSQL share it.  PostgreSQL keeps more than 1 GB of its log
# when the leader often changes.
DISK = """
mkdir /disk
mount -t tmpfs -o mode=0755,size=2000M disk /disk
for name in postgresql etcd; do
    mkdir -p /var/lib/$name
    cp -a /var/lib/$name /disk/
    mount --bind /disk/$name /var/lib/$name
done
"""

# Packets that one machine sends nowhere, or takes from nobody.
BLOCK = """
nft -f - <<'END'
table inet block {
    chain input { type filter hook input priority 0; iifname lan %s; }
    chain output { type filter hook output priority 0; oifname lan %s; }
}
END
"""
NOTHING = "accept"


class Cluster:
    """Offers what ledger.Writers needs of a stack: client(), home and psql()."""

    def __init__(self):
        self.machines, self.lan = {}, Lan()
        self.chapters = dict(recipe.chapters(PAGE))
        self.home = None

    def everywhere(self, names, function):
        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            return list(pool.map(function, names))

    def on(self, name, script, check=True, folder="/"):
        return self.machines[name].run(script, check=check, folder=folder).stdout

    def follow(self, heading, names, blocks=slice(None), folder="/"):
        script = "".join(self.chapters[heading][blocks])
        if not script:
            raise AssertionError("%s: '%s' has no script" % (PAGE, heading))
        return self.everywhere(names, lambda name: self.on(name, script, folder=folder))

    # ---- the page ----

    def boot(self, name):
        machine = self.machines[name] = Machine()
        machine.boot()
        self.lan.attach(name, machine.first_process(), ADDRESSES[name])
        machine.run(PREPARE % (name, name) + (DISK if name in NODES else ""))

    def give(self, names, files, source="db-1"):
        """Copies files of /root/cluster from a database node."""
        data = self.on(source, "cd /root/cluster && tar cz %s | base64 -w0" % files)
        self.everywhere(names, lambda name: self.on(
            name, "mkdir -p /root/cluster && echo %s | base64 -d | tar xz -C /root/cluster" % data))

    def replace(self, name):
        """Puts a new machine in the place of a database node that was stopped, and is lost with its
        disk.  Another node has forgotten it in etcd."""
        self.boot(name)
        self.follow("Names", [name])
        self.give([name], ".", next(other for other in NODES if other != name))
        self.follow("Packages of the database nodes", [name], folder=package.built() + "/adit")
        self.on(name, "".join(self.chapters["etcd"]).replace(
            "ETCD_INITIAL_CLUSTER_TOKEN",
            "ETCD_INITIAL_CLUSTER_STATE=existing\nETCD_INITIAL_CLUSTER_TOKEN"))
        self.follow("Patroni", [name], slice(1))

    def set_up(self):
        folder = package.built() + "/adit"
        self.everywhere(EVERYWHERE, self.boot)
        self.follow("Names", EVERYWHERE)
        self.follow("Certificates and passwords", ["db-1"])
        self.give(NODES[1:], ".")
        self.give(HOSTS, "ca.crt pgpass gateway.pgpass")
        self.follow("Packages of the database nodes", NODES, folder=folder)
        self.follow("etcd", NODES)
        self.follow("Patroni", NODES[:1], slice(1))
        until(lambda: self.leader() == "db-1", "a first leader")
        self.follow("Patroni", NODES[1:], slice(1))
        self.wait_until_whole()
        self.follow("The database", [self.leader()])
        self.follow("Web hosts", HOSTS, slice(2), folder=folder)
        for name in HOSTS:
            self._change_settings(name, recipe.settings(PAGE)[0])
        self.follow("Web hosts", HOSTS[:1], slice(2, 3))
        key = self.on("web-1", "base64 -w0 /etc/adit/adit.key")
        self.on("web-2", "umask 077; echo %s | base64 -d >/etc/adit/adit.key" % key)
        for said in self.follow("Web hosts", HOSTS, slice(3, None)):
            if "trouble" in said:
                raise AssertionError(said)
        self.follow("Gateways", HOSTS, slice(1), folder=folder)
        for name in HOSTS:
            self._change_settings(name, recipe.settings(PAGE)[1])
        self.follow("Gateways", HOSTS, slice(1, None))
        sshd = "rm -f /run/nologin /etc/ssh/sshd_not_to_be_run; systemctl start ssh\n" + "".join(
            dict(recipe.chapters("ssh-gateway.md"))["sshd"])
        self.everywhere(HOSTS, lambda name: self.on(name, sshd))
        self.follow("Balancer", ["balancer"])
        key = self.on(self.leader(), "runuser -u postgres -- aditctl key issue").strip()
        self.home = types.SimpleNamespace(admin=types.SimpleNamespace(key=key))
        self.lan.enter()
        until(self.is_ready, "the balancer answers")

    def _change_settings(self, name, text):
        section = None
        for line in text.splitlines():
            key, is_setting, _ = line.partition(" = ")
            if is_setting:
                self.on(name, "sed -i '/^\\[%s\\]$/,/^\\[/s|^\\(; \\)\\?%s =.*|%s|' /etc/adit/adit.conf\n"
                        "grep -qxF %s /etc/adit/adit.conf" % (section, key, line, shlex.quote(line)))
            else:
                section = line.strip("[]")

    def close(self):
        self.lan.leave()
        for machine in self.machines.values():
            machine.stop()
        self.lan.close()

    # ---- what tests ask ----

    def client(self, key):
        return Client(ADDRESSES["balancer"], 880, key)

    def is_ready(self):
        return self.client(None).get("/readyz").status == 200

    def members(self, last=None):
        """{name: role} of the nodes that run, as the first node that answers says.  A node that has
        just come back may say what was true before, so it is asked last."""
        for name in sorted(NODES, key=lambda name: name == last):
            said = self.on(name, "timeout 5 %s list -f json 2>/dev/null" % CTL, check=False)
            if said.strip().startswith("["):
                return {row["Member"]: row["Role"] for row in json.loads(said)
                        if row["State"] in ("running", "streaming")}
        return {}

    def leader(self):
        return next((name for name, role in self.members().items() if role == "Leader"), None)

    def standby(self):
        return next(name for name, role in self.members().items() if role == "Sync Standby")

    def n_streams(self):
        """How many standbys follow the leader, as the leader's PostgreSQL says."""
        leader = self.leader()
        return leader and self.on(leader, "runuser -u postgres -- psql -XAtc \"SELECT count(*) FROM "
                                  "pg_stat_replication WHERE state = 'streaming'\"", check=False).strip()

    def state(self):
        """What each database node says of all, and what it did last."""
        return "\n".join("%s:\n%s" % (name, self.on(
            name, "timeout 5 %s list 2>&1; journalctl -q -o cat -n 12 -u patroni 2>&1" % CTL,
            check=False)) for name in NODES)

    def wait_until_whole(self, but=None):
        """Waits for a leader, which is not this node, and two standbys that follow it."""
        def is_whole():
            members = self.members(but)
            return (members.get(but) != "Leader" and
                    sorted(members.values()) == ["Leader", "Replica", "Sync Standby"] and
                    self.n_streams() == "2")
        try:
            until(is_whole, "a leader and two standbys", 120)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, self.state())) from None
        until(lambda: self.members().get(but) != "Leader", "the node knows it too", 120)

    def psql(self, sql):
        return self.on(self.leader(), "runuser -u postgres -- psql -XAtd adit -c %s" %
                       shlex.quote(sql)).rstrip("\n")

    # ---- what breaks it ----

    def block(self, name, takes=NOTHING, sends=NOTHING):
        """Drops packets of a machine, which rules of nft name."""
        self.on(name, BLOCK % (takes, sends))

    def part(self, name, others):
        """No packet passes between a machine and the others, in either direction."""
        listed = ", ".join(ADDRESSES[other] for other in others)
        self.block(name, "ip saddr { %s } drop" % listed, "ip daddr { %s } drop" % listed)

    def unblock(self, name):
        self.on(name, "nft delete table inet block")

    def fill(self, name):
        """Fills the disk of a database node."""
        self.on(name, "fallocate -l $(($(df -B1 --output=avail /disk | tail -n 1) - 4000000)) "
                "/disk/full; dd if=/dev/zero of=/disk/more bs=64k 2>/dev/null || true")

    def make_room(self, name):
        self.on(name, "rm /disk/full /disk/more")

    def kill(self, name, *programs):
        """Kills programs of one machine, as the loss of its power does."""
        self.on(name, "pkill -KILL -x '%s' || true" % "|".join(programs))
