# SPDX-License-Identifier: MIT
"""A database that Citus spreads over nodes: a coordinator and two workers.

CITUS_SOURCE names a folder with the source of Citus.  It is built in the build folder, and installed
into a copy of PostgreSQL: the machine's own PostgreSQL stays as it is.
"""
import os
import re
import shutil
import subprocess
import unittest

from adit.cluster import Cluster
from adit.stack import BUILD, CLEAN_ENV, PG_BIN, ROOT, free_port, make_folder, run

N_WORKERS = 2
BUILD_S = 3600
SCRIPT = os.path.join(ROOT, "sql", "optional", "citus.sql")

# Moves an account from the node of a port to that of another one.
MOVE = ("SELECT citus_move_shard_placement(get_shard_id_for_distribution_column("
        "'adit.account', '%s'), '127.0.0.1', %d, '127.0.0.1', %d)")

# PostgreSQL finds its files from the place of its programs.
PG_LIB = os.path.dirname(PG_BIN)
PG_SHARE = PG_LIB.replace("/lib/", "/share/")

# What "tests/e2e/run --citus" runs.
MODULES = (
    "test_aditctl", "test_aditctl_json", "test_apply", "test_audit", "test_audit_events",
    "test_auth", "test_conditions", "test_filter", "test_filter_lists", "test_history",
    "test_ids_times_text", "test_idempotency", "test_lists", "test_lost_key", "test_module_bodies",
    "test_mutual_tls", "test_oauth", "test_oauth_admission", "test_paging", "test_paths_methods",
    "test_people", "test_purge", "test_query", "test_rekey", "test_ssh_credentials",
    "test_ssh_decisions", "test_tenancy", "test_tenancy_matrix", "test_tenants", "test_who",
)

_OWN_SQL = "its own SQL is none that Citus runs"
_OTHER_SESSION = "its session holds locks on the coordinator; citus_nodes has one on a node"
_ITS_SERVERS = "its subject is one server of PostgreSQL, which it starts, breaks or lends"
_GATEWAY = "its gateway reads the feed of changes"
_GATE = "its gate reads the tables itself"
_PAGE = "it follows a page for one server"
_RESTORE = "aditctl restore does not work there"
_ELSEWHERE = "what it tests is outside of the database"

# Why not the others: modules, classes and tests.
LEFT_OUT = {
    "test_aditctl_messages": _ELSEWHERE,
    "test_cgi": _ELSEWHERE,
    "test_client_shapes": _ELSEWHERE,
    "test_clients": _ELSEWHERE,
    "test_conf": _ELSEWHERE,
    "test_conf_effective": _ELSEWHERE,
    "test_confinement": _ELSEWHERE,
    "test_console": _ELSEWHERE,
    "test_console_forms": _ELSEWHERE,
    "test_console_history": _ELSEWHERE,
    "test_console_keyboard": _ELSEWHERE,
    "test_console_lists": _ELSEWHERE,
    "test_console_looks": _ELSEWHERE,
    "test_console_modules": _ELSEWHERE,
    "test_console_overview": _ELSEWHERE,
    "test_cors": _ELSEWHERE,
    "test_fastcgi": _ELSEWHERE,
    "test_filter_oracle": _ELSEWHERE,
    "test_front_console": _ELSEWHERE,
    "test_front_docs": _ELSEWHERE,
    "test_fronts": _ELSEWHERE,
    "test_guards": _ELSEWHERE,
    "test_headers": _ELSEWHERE,
    "test_install_web_servers": _ELSEWHERE,
    "test_json": _ELSEWHERE,
    "test_limits": _ELSEWHERE,
    "test_log": _ELSEWHERE,
    "test_metrics": _ELSEWHERE,
    "test_order": _ELSEWHERE,
    "test_private_tree": _ELSEWHERE,
    "test_reference": _ELSEWHERE,
    "test_secrecy": _ELSEWHERE,
    "test_surroundings": _ELSEWHERE,
    "test_web_server": _ELSEWHERE,
    "test_admin_conninfo": _ITS_SERVERS,
    "test_clock": _ITS_SERVERS,
    "test_database": _ITS_SERVERS,
    "test_database_tls": _ITS_SERVERS,
    "test_faults": _ITS_SERVERS,
    "test_migrate": _ITS_SERVERS,
    "test_statements": _ITS_SERVERS,
    "test_search_path": _ITS_SERVERS,
    "test_distributed": _ITS_SERVERS,
    "test_doctor": _ITS_SERVERS,
    "test_serve": _ITS_SERVERS,
    "test_systemd": _ITS_SERVERS,
    "test_settings": _ITS_SERVERS,
    "test_feed": _GATEWAY,
    "test_gateway_doctor": _GATEWAY,
    "test_gateway_logins": _GATEWAY,
    "test_gateway_metrics": _GATEWAY,
    "test_gateway_ssh_changes": _GATEWAY,
    "test_gateway_ssh_doors": _GATEWAY,
    "test_gateway_ssh_faults": _GATEWAY,
    "test_gateway_ssh_keys": _GATEWAY,
    "test_gateway_ssh_rules": _GATEWAY,
    "test_gateway_ssh_socket": _GATEWAY,
    "test_gateway_ssh_volume": _GATEWAY,
    "test_key_limit": _OWN_SQL,
    "test_own_keys": _OWN_SQL,
    "test_gateway_tls": _GATEWAY,
    "test_gateways_page": _GATEWAY,
    "test_session": _GATEWAY,
    "test_edge": _GATEWAY,
    "test_edge_servers": _GATE,
    "test_gate": _GATE,
    "test_gate_apache": _GATE,
    "test_gate_browser": _GATE,
    "test_gate_doctor": _GATE,
    "test_gate_limits": _GATE,
    "test_gate_losses": _GATE,
    "test_gate_nginx": _GATE,
    "test_slow_visitors": _GATE,
    "test_page_history": _PAGE,
    "test_page_find": _PAGE,
    "test_page_off_board": _PAGE,
    "test_page_git": _PAGE,
    "test_page_keys": _PAGE,
    "test_page_limit": _PAGE,
    "test_page_container": _PAGE,
    "test_page_monitor": _PAGE,
    "test_aditctl.Migrate": _ITS_SERVERS,
    "test_aditctl_json.Everything.test_every_command": _RESTORE,
    "test_aditctl_json.Progress.test_shown_and_erased": _OTHER_SESSION,
    "test_apply.Changes.test_warnings_of_rules_undone": _RESTORE,
    "test_apply.Concurrency": _OWN_SQL,
    "test_apply.RoundTrip.test_second_account_that_comes_back": _RESTORE,
    "test_audit.Audit.test_members_of_the_owner_are_believed": _OWN_SQL,
    "test_audit.Audit.test_nobody_rewrites_it": "Citus has no rights to columns",
    "test_audit.Audit.test_notification": "there are no notifications",
    "test_audit.Audit.test_operator_of_another_session": _OWN_SQL,
    "test_audit.Audit.test_truncate": "TRUNCATE is refused",
    "test_audit.Audit.test_who_is_what_the_responder_says": _OWN_SQL,
    "test_filter_lists.FilterLists.test_slow_filters_leave_lanes": _OWN_SQL,
    "test_filter_lists.FilterLists.test_too_slow": _OWN_SQL,
    "test_history.History.test_gaps": "numbers of events come from the time there",
    "test_history.History.test_nothing_by_somebody_known": _RESTORE,
    "test_history.History.test_providers_by_name": _RESTORE,
    "test_history.Purged": _OWN_SQL,
    "test_history.Restore": _RESTORE,
    "test_history.Secrets": _RESTORE,
    "test_people.Disable.test_an_older_snapshot_does_not_disable":
        "a node takes its snapshot when it is asked first",
    "test_people.Disable.test_with_credentials_of_a_request_in_flight": _OTHER_SESSION,
    "test_people.Disable.test_with_credentials_of_a_request_that_found_it_enabled": _OTHER_SESSION,
    "test_rekey.Rekey.test_among_many": _OWN_SQL,
    "test_rekey.Rekey.test_what_was_moved_or_altered": _OWN_SQL,
    "test_tenants.Tenants.test_overdue": "few requests wait for a node that takes long",
}

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
        folder = make_folder(stays=True)
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

    def __init__(self, primary=None):
        programs()  # before the node: at the end, what was made last goes first
        super().__init__(primary)

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

    def account_on(self, node, make):
        """Calls make() until it has made an account on the node.  Returns that one."""
        while True:
            account = make()
            if self.node_of(account.id) is node:
                return account

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
        asks_rows = re.compile(r"\badit\.(?!migration|account')")
        return [one.groups() for one in found if one and asks_rows.search(one[1])]

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


def without_left_out(suite):
    """The tests of a suite that nodes can run."""
    kept = unittest.TestSuite()
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            kept.addTest(without_left_out(test))
        elif not any((test.id() + ".").startswith(name + ".") for name in LEFT_OUT):
            kept.addTest(test)
    return kept
