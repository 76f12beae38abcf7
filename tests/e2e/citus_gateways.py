# SPDX-License-Identifier: MIT
"""adit-gateway with accounts on three nodes of Citus: what it decides, through a move of an account,
and while a node is lost."""
import os
import signal
import threading
import time

from adit import stack
from adit.case import until
from adit.citus import MOVE, Citus
from adit.programs import ENV
from adit.ssh_gateway import CONF, GatewayCase, SshGateway, have_ended, stay

NEEDS_ROOT = True


class DistributedGateway(SshGateway):
    sections = "[database]\ndistributed = yes\n"


class Gateways(GatewayCase):
    """The login "tunnel" is of an account on the one worker, "other" of one on the other."""

    stack_name = "citus_gateways"
    gateway_type = DistributedGateway
    sweep = "2s"

    @classmethod
    def setUpClass(cls):
        shared = stack.get(cls.stack_name)
        if not shared.citus:
            shared.citus = Citus()
            shared.citus.attach(shared)
            shared.cluster = shared.citus.coordinator
            shared.citus.psql(shared.citus.coordinator,
                              "CREATE ROLE gateway LOGIN IN ROLE adit_gateway")
        # A test may have made a new account of the stack.
        shared.other = cls.account_elsewhere(shared, shared.citus.node_of(shared.home.id))
        cls.citus = shared.citus
        cls.settings = {"conninfo": cls.citus.conninfo(cls.entry()) + " user=gateway",
                        "sweep": cls.sweep}
        super().setUpClass()

    @classmethod
    def entry(cls):
        """The node that the gateway asks."""
        return cls.citus.coordinator

    @staticmethod
    def account_elsewhere(shared, here):
        elsewhere, = (node for node in shared.citus.workers if node is not here)
        return shared.citus.account_on(elsewhere, lambda: shared.account("other"))

    def setUp(self):
        super().setUp()
        self.home, self.other = self.stack.home, self.stack.other
        self.elsewhere = self.stack.client(self.other.admin.key)

    def opened(self, *rules, account="home"):
        """A new key's credential and tunnel."""
        key = self.gateway.key()
        path = self.credential(key, *rules, client=self.elsewhere if account == "other" else None)
        return path, key, self.enter(key, account)

    def enter(self, key, account="home"):
        return self.gateway.tunnel(key, user="other" if account == "other" else "tunnel")

    def doctor(self, status):
        """The lines of aditctl doctor, as (verdict, what, text)."""
        done = stack.run(self.gateway.inside.command(
            os.path.join(stack.BUILD, "aditctl"), "-c", CONF, "doctor"), check=False, env=ENV)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        return [tuple(line.split(None, 2)) for line in done.stdout.splitlines()]

    def client_of(self, account):
        """Asks the responder that runs now."""
        return self.stack.client((self.other if account == "other" else self.home).admin.key)


class NoSweep:
    """The polls have to find every change: no sweep comes while the tests run."""

    sweep = "3600s"


class Decisions(NoSweep, Gateways):
    def test_right_after_each_change(self):
        for account, client in ("home", self.admin), ("other", self.elsewhere):
            with self.subTest(account):
                path, key, tunnel = self.opened("bind:*.example.com", account=account)
                self.standing(tunnel)
                self.assert_ok(client.patch(path, {"acl": ["*"], "description": "wider"}))
                self.assertTrue(stay(tunnel))
                self.assert_ok(client.patch(path, {"acl": ["bind:a.example.com"]}))
                self.assertTrue(have_ended([tunnel]))
                self.standing(again := self.enter(key, account))
                self.assert_ok(client.delete(path), 204)
                self.assertTrue(have_ended([again]))
                self.assertTrue(self.enter(key, account).was_refused())

    def test_each_node_records(self):
        """A change ends its tunnel, whichever node the writer asks."""
        self.addCleanup(self.citus.attach, self.stack)
        for node in self.citus.nodes:
            self.citus.attach(self.stack, node)
            for account in "home", "other":
                with self.subTest("%s by %s" % (account, node.port)):
                    path, _, tunnel = self.opened(account=account)
                    self.standing(tunnel)
                    self.assert_ok(self.client_of(account).delete(path), 204)
                    self.assertTrue(have_ended([tunnel]))

    def test_a_transaction_that_commits_late(self):
        """Later changes of the account are read before it commits."""
        path, _, tunnel = self.opened()
        later, _, its_tunnel = self.opened()
        self.standing(tunnel, its_tunnel)
        node = self.citus.node_of(self.home.id)
        shown = self.stack.pg_env
        self.addCleanup(setattr, self.stack, "pg_env", shown)
        self.stack.pg_env = lambda: dict(shown(), PGHOST=node.run_folder, PGPORT=str(node.port),
                                         PGUSER="postgres", PGDATABASE="adit")
        with self.transaction("DELETE FROM adit.ssh_credential WHERE account_id = '%s'"
                              " AND id = '%s'" % (self.home.id, path.rpartition("/")[2])) as commit:
            self.assert_ok(self.admin.delete(later), 204)
            self.assertTrue(have_ended([its_tunnel]))
            self.assertTrue(stay(tunnel))
            commit()
        self.assertTrue(have_ended([tunnel]))

    def test_without_an_account(self):
        """Nothing finds the only account there is: that would ask all nodes."""
        asked = "keys\n\nx\n%s\n%s\n%s\n"
        key = self.new_key()
        answer = self.gateway.ask(asked % (key.fingerprint, key.type, key.blob))
        self.assertEqual(answer[0], "misuse")  # only sshd may ask
        self.assertEqual(self.gateway.status()["database"], "up")


    def test_doctor(self):
        lines = self.doctor(0)
        self.assertIn(("ok", "gateway"), [line[:2] for line in lines])
        self.assertIn(("ok", "role", "the gateway's role has the rights that it needs"), lines)
        self.assertRegex(next(text for _, what, text in lines if what == "polls"),
                         r"^the daemon asked the database \d+ ms ago$")


class ByWorker(Decisions):
    """The gateway asks a worker, which has one of the accounts."""

    @classmethod
    def entry(cls):
        return cls.citus.workers[0]


class Moves(NoSweep, Gateways):
    def move(self, account):
        """Moves the account to the other worker while it is used."""
        there = self.citus.node_of(account.id)
        elsewhere = next(node for node in self.citus.workers if node is not there)
        self.citus.psql(self.citus.coordinator, MOVE % (account.id, there.port, elsewhere.port))
        self.assertIs(self.citus.node_of(account.id), elsewhere)

    def test_to_and_fro(self):
        """Changes made before, during and after moves end their tunnels; others stay."""
        stays = self.opened()[2]
        after = [self.opened() for _ in range(4)]
        self.standing(stays, *(one[2] for one in after))
        for _ in range(2):
            opened = [self.opened() for _ in range(12)]
            self.standing(*(one[2] for one in opened))
            moved = threading.Thread(target=self.move, args=(self.home,))
            moved.start()
            for path, _, _ in opened:
                self.assert_ok(self.admin.delete(path), 204)
                time.sleep(0.1)
            moved.join()
            self.assertTrue(have_ended([one[2] for one in opened]))
            for path, key, tunnel in (after.pop(), after.pop()):
                self.assert_ok(self.admin.delete(path), 204)
                self.assertTrue(have_ended([tunnel]))
                self.assertTrue(self.enter(key).was_refused())
        self.assertTrue(stays.stands())


class LostNode(NoSweep, Gateways):
    """The node of the account "home" is lost, and comes back."""

    def setUp(self):
        super().setUp()
        self.node = self.citus.node_of(self.home.id)

    def accounts_away(self):
        return int(self.gateway.status()["accounts_away"])

    def others_go_on(self):
        for _ in range(3):
            path, key, tunnel = self.opened("bind:*.example.com", account="other")
            self.standing(tunnel)
            self.assert_ok(self.elsewhere.delete(path), 204)
            self.assertTrue(have_ended([tunnel]))
            self.assertTrue(self.enter(key, "other").was_refused())

    def until_back(self, key):
        until(lambda: self.accounts_away() == 0, "the account")
        self.standing(self.enter(key))

    def test_killed(self):
        path, key, tunnel = self.opened()
        stays = self.opened()
        elsewhere = self.opened(account="other")[2]
        self.standing(tunnel, stays[2], elsewhere)
        self.node.kill()
        try:
            until(lambda: self.accounts_away() == 1, "the loss")
            self.assertTrue(self.enter(key).was_refused())
            self.assertIn(
                "cannot ask for 1 of 2 accounts",
                next(text for _, what, text in self.doctor(1) if what == "polls"))
            self.others_go_on()
            self.assertTrue(tunnel.stands() and stays[2].stands() and elsewhere.stands())
        finally:
            self.node.start()
        until(lambda: self.admin.delete(path).status == 204, "writes")
        self.assertTrue(have_ended([tunnel]))
        self.until_back(stays[1])
        self.assertTrue(stays[2].stands())

    def test_changed_while_the_gateway_cannot_ask(self):
        """The node answers others first."""
        path, _, tunnel = self.opened()
        stays = self.opened()
        self.standing(tunnel, stays[2])
        self.node.kill()
        until(lambda: self.accounts_away() == 1, "the loss")
        self.gateway.daemon.freeze()
        self.node.start()
        until(lambda: self.admin.delete(path).status == 204, "writes")
        self.gateway.daemon.thaw()
        self.assertTrue(have_ended([tunnel]))
        self.until_back(stays[1])
        self.assertTrue(stays[2].stands())

    def test_one_process_crashes(self):
        """The server starts all others again, and keeps its start time.  What a mark says of its
        transactions may be wrong then."""
        def changes(mark):
            said = self.citus.psql(
                self.citus.coordinator, "SELECT mark, complete FROM adit.account_changes('%s', %s)"
                % (self.home.id, mark))
            return said.split("|")

        def process():
            return self.citus.psql_run(self.node, "SELECT pid FROM pg_stat_activity"
                                       " WHERE backend_type = 'walwriter'").stdout.strip()
        path, _, tunnel = self.opened()
        self.standing(tunnel)
        mark = "'%s'" % changes("NULL")[0]
        self.assertEqual(changes(mark)[1], "t")
        pid = process()
        os.kill(int(pid), signal.SIGKILL)
        until(lambda: process() not in ("", pid), "the server")
        again, complete = changes(mark)
        self.assertEqual(complete, "f")
        self.assertEqual(changes("'%s'" % again)[1], "t")
        until(lambda: self.admin.delete(path).status == 204, "writes")
        self.assertTrue(have_ended([tunnel]))

    def test_frozen(self):
        path, key, tunnel = self.opened()
        stays = self.opened()
        self.standing(tunnel, stays[2])
        self.node.freeze()
        try:
            until(lambda: self.accounts_away() == 1, "the loss")
            self.others_go_on()
            self.assertTrue(self.enter(key).was_refused())
            self.assertTrue(tunnel.stands() and stays[2].stands())
        finally:
            self.node.thaw()
        until(lambda: self.admin.delete(path).status == 204, "writes")
        self.assertTrue(have_ended([tunnel]))
        self.until_back(stays[1])
        self.assertTrue(stays[2].stands())
