# SPDX-License-Identifier: MIT
"""A database that Citus spreads over nodes: a coordinator and two workers.

CITUS_SOURCE names a folder with the source of Citus.  It is built in the build folder, and installed
into a copy of PostgreSQL: the machine's own PostgreSQL stays as it is.
"""
import atexit
import os
import re
import shutil
import subprocess

from adit.cluster import Cluster
from adit.stack import BUILD, CLEAN_ENV, PG_BIN, ROOT, free_port, make_folder, run

N_WORKERS = 2
BUILD_S = 3600
SCRIPT = os.path.join(ROOT, "sql", "optional", "citus.sql")

# PostgreSQL finds its files from the place of its programs.
PG_LIB = os.path.dirname(PG_BIN)
PG_SHARE = PG_LIB.replace("/lib/", "/share/")

_programs = []


def build():
    """Builds Citus, unless it is built already.  Returns the folder that it is installed into."""
    folder = os.path.join(BUILD, "citus")
    installed = os.path.join(folder, "installed")
    if os.path.isdir(installed):
        return installed
    source = os.path.realpath(os.environ["CITUS_SOURCE"])
    objects = os.path.join(folder, "objects")
    shutil.rmtree(objects, ignore_errors=True)
    os.makedirs(objects)
    with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log:
        for command in (
                [source + "/configure", "--without-libcurl", "PG_CONFIG=%s/pg_config" % PG_BIN],
                ["make", "-s", "-j%d" % os.cpu_count()],
                ["make", "-s", "install", "DESTDIR=" + installed + ".new"]):
            try:
                subprocess.run(["nice", *command], cwd=objects, env=CLEAN_ENV, check=True,
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=BUILD_S)
            except subprocess.CalledProcessError as error:
                raise AssertionError("Citus does not build; read " + log.name) from error
    os.rename(installed + ".new", installed)
    return installed


def programs():
    """The folder of the programs of a PostgreSQL that has Citus."""
    if not _programs:
        folder = make_folder()
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        for part in (PG_LIB, PG_SHARE):
            os.makedirs(folder + os.path.dirname(part))
            run(["cp", "-aL", part, folder + part])
        run(["cp", "-a", build() + "/.", folder])
        _programs.append(folder + PG_BIN)
    return _programs[0]


class Node(Cluster):
    """One node.  The others reach it on a port of 127.0.0.1."""

    settings = ("shared_preload_libraries=citus", "listen_addresses=127.0.0.1", "wal_level=logical",
                "max_connections=200", "max_prepared_transactions=400", "max_worker_processes=32",
                "citus.node_conninfo=sslmode=disable")

    def start(self):
        self.programs = programs()
        if self.port == 5432:
            self.port = free_port()
        super().start()


class Citus:
    """The nodes, and the database on them."""

    def __init__(self, n_workers=N_WORKERS):
        self.nodes = [Node() for _ in range(1 + n_workers)]
        self.coordinator, *self.workers = self.nodes
        for node in self.nodes:
            self.psql(node, "CREATE DATABASE adit", database="postgres")
            self.psql(node, "CREATE EXTENSION citus")
        self.psql(self.coordinator,
                  "SELECT citus_set_coordinator_host('127.0.0.1', %d);\n" % self.coordinator.port)
        for node in self.workers:
            self.psql(self.coordinator, "SELECT citus_add_node('127.0.0.1', %d);\n" % node.port)

    def conninfo(self, *nodes):
        """The first of the nodes that lets a program in."""
        return "host=%s port=%s dbname=adit" % (
            ",".join(node.run_folder for node in nodes), ",".join(str(node.port) for node in nodes))

    def attach(self, stack, *nodes):
        """Makes the nodes the database of a stack.  Its responder and aditctl ask the first of the
        given nodes, or the coordinator."""
        stack.set_conf("database", "conninfo",
                       self.conninfo(*(nodes or [self.coordinator])) + " user=adit")
        stack.set_conf("database", "admin_conninfo",
                       self.conninfo(self.coordinator) + " user=postgres")
        stack.set_conf("database", "distributed", "yes")
        stack.elsewhere = {"PGHOST": self.coordinator.run_folder,
                           "PGPORT": str(self.coordinator.port)}
        stack.env.update(stack.elsewhere)
        if not self.psql(self.coordinator, "SELECT to_regclass('adit.account')"):
            stack.ctl("migrate")
            self.distribute()
            self.psql(self.coordinator, "CREATE ROLE adit LOGIN IN ROLE adit_responder")
        stack.restart()
        stack.forget_home()

    def distribute(self):
        """Runs the script, as its comment says."""
        return self.psql(self.coordinator, "\\i " + SCRIPT)

    def node_of(self, account_id, asked=None):
        """The node that has the rows of an account."""
        port = self.psql(asked or self.coordinator, (
            "SELECT n.nodeport FROM pg_dist_placement AS p JOIN pg_dist_node AS n USING (groupid)"
            " WHERE p.shardid = get_shard_id_for_distribution_column('adit.account', '%s')"
            % account_id))
        return next(node for node in self.nodes if node.port == int(port))

    # ---- plans ----

    def explain(self, is_on=True):
        """Makes the coordinator log the plan of each statement of new sessions."""
        for setting, value in (("session_preload_libraries", "auto_explain"),
                               ("auto_explain.log_min_duration", "0")):
            self.psql(self.coordinator, "LOAD 'auto_explain';\nALTER SYSTEM %s" % (
                "SET %s = '%s'" % (setting, value) if is_on else "RESET %s" % setting))
        self.psql(self.coordinator, "SELECT pg_reload_conf()")

    def log_end(self):
        return os.path.getsize(self.coordinator.log_path)

    def plans(self, place):
        """The statements with their plans, from a place of the coordinator's log on."""
        with open(self.coordinator.log_path, encoding="utf-8") as file:
            file.seek(place)
            entries = re.split(r"(?m)^(?=\d{4}-)", file.read())
        found = (re.search(r"LOG:  duration: .*?plan:\s+Query Text: (.*?)\n(.*)", entry, re.S)
                 for entry in entries)
        return [one.groups() for one in found if one and re.search(r"\badit\.(?!migration)", one[1])]

    # ---- SQL ----

    def psql_run(self, node, sql, database="adit", user="postgres"):
        return run([node.programs + "/psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
                    "-v", "VERBOSITY=verbose", "-h", node.run_folder, "-p", str(node.port),
                    "-U", user, "-d", database], check=False, input=sql)

    def psql(self, node, sql, **options):
        done = self.psql_run(node, sql, **options)
        if done.returncode != 0:
            raise AssertionError("psql: %s\n%s" % (sql, done.stderr))
        return done.stdout.rstrip("\n")


def attach_new(stack):
    """Gives a stack three new nodes."""
    stack.citus = Citus()
    stack.citus.attach(stack)
