# SPDX-License-Identifier: MIT
"""The metrics that adit-gateway writes for node_exporter."""
import os
import re
import time

from adit import metrics, recipe
from adit.case import until
from adit.ssh_gateway import FOLDER, GatewayCase

NEEDS_ROOT = True

METRICS = FOLDER + "/metrics"
FILE = METRICS + "/adit-gateway.prom"


class GatewayMetrics(GatewayCase):
    settings = {"metrics": METRICS}

    def text(self):
        return self.gateway.inside.read(FILE)

    def found(self):
        return metrics.Metrics(self.text())

    def value(self, name, **labels):
        return self.found().sum("adit_gateway_" + name, **labels)

    def until(self, is_wanted, what):
        """The file is written every 5 seconds."""
        return until(lambda: is_wanted(self.found()), what)

    def test_the_format(self):
        self.assertEqual(metrics.promtool("check", "metrics", text=self.text()), "")
        written = self.value("written_time_seconds")
        self.assertAlmostEqual(written, time.time(), delta=60)
        self.until(lambda found: found.sum("adit_gateway_written_time_seconds") > written, "a new file")
        # node_exporter runs as another user.
        self.assertEqual(os.stat(self.gateway.inside.path(FILE)).st_mode & 0o777, 0o644)
        self.assertEqual(os.stat(self.gateway.inside.path(METRICS)).st_mode & 0o777, 0o755)

    def test_the_page_lists_every_metric(self):
        listed = re.findall(r"`(adit_gateway_\w+)`", "".join(
            re.findall(r"(?m)^\| (`adit_gateway_.*?) \|", recipe.read("monitor.md"))))
        # These exist where accounts are on several nodes.
        made = re.findall(r"(?m)^# TYPE (\w+) ", self.text()) + [
            "adit_gateway_accounts", "adit_gateway_accounts_away"]
        self.assertEqual(sorted(listed), sorted(made))

    def test_logins_and_ends(self):
        """What sshd was told, and the end of a session, are counted by outcome."""
        before = self.found()

        def more(found, name, **labels):
            return (found.sum("adit_gateway_" + name, **labels) -
                    before.sum("adit_gateway_" + name, **labels))
        key = self.gateway.key()
        path = self.credential(key, "bind:localhost:9000")
        tunnel, = self.standing(self.gateway.tunnel(key, "localhost:9000:localhost:1"))
        self.until(lambda found: found.sum("adit_gateway_sessions") == 1, "a session")
        self.admin.delete(path)
        until(lambda: not tunnel.stands(), "the end of the tunnel")
        self.assertTrue(self.gateway.tunnel(self.gateway.key()).was_refused())
        found = self.until(lambda found: found.sum("adit_gateway_sessions") == 0 and more(
            found, "look_ups_total", outcome="unknown") > 0 and found, "no session")
        self.assertGreaterEqual(more(found, "look_ups_total", outcome="granted"), 1)
        self.assertEqual(more(found, "sessions_ended_total", cause="revoked"), 1)
        self.assertEqual(more(found, "sessions_ended_total"), 1)
        self.assertEqual(more(found, "look_up_duration_seconds_count"),
                         more(found, "look_ups_total"))

    def test_the_database_is_away(self):
        self.until(lambda found: found.sum("adit_gateway_database_up") == 1, "polls")
        self.assertAlmostEqual(self.value("polled_time_seconds"), time.time(), delta=60)
        self.stack.cluster.stop()
        try:
            found = self.until(lambda found: found.sum("adit_gateway_database_up") == 0 and found,
                               "failing polls")
            self.assertGreater(found.sum("adit_gateway_poll_failures_total"), 0)
            polled = found.sum("adit_gateway_polled_time_seconds")
            key = self.gateway.key()
            self.assertTrue(self.gateway.tunnel(key).was_refused())
            self.until(lambda found: found.sum("adit_gateway_look_ups_total",
                                               outcome="no_database") > 0, "a refused login")
        finally:
            self.stack.cluster.start()
        self.until(lambda found: found.sum("adit_gateway_database_up") == 1 and
                   found.sum("adit_gateway_polled_time_seconds") > polled, "polls again")

    def test_the_folder_is_away(self):
        """The daemon goes on, says so once, and writes again."""
        inside = self.gateway.inside.path(METRICS)
        os.rename(inside, inside + ".away")
        with open(inside, "w", encoding="utf-8"):
            pass
        try:
            until(lambda: "cannot write the metrics" in self.gateway.log(), "the log")
            self.new_key("bind:localhost:9000")
        finally:
            os.remove(inside)
            os.rename(inside + ".away", inside)
        until(lambda: "the metrics are written again" in self.gateway.log(), "the log")
        self.assertEqual(self.gateway.log().count("cannot write the metrics"), 1)
