# SPDX-License-Identifier: MIT
"""doc/operate/monitor.md: follows the page with a real Prometheus, and checks the alerts and the
dashboard that the package installs."""
import json
import os
import re
import shutil
import subprocess
import urllib.request

from adit import metrics, recipe, samples, stack
from adit.case import Case, until
from adit.page import Page
from adit.programs import Nginx, Responder

MONITORING = os.path.join(stack.ROOT, "monitoring")
RULES = os.path.join(MONITORING, "adit.rules.yml")
DASHBOARD = os.path.join(MONITORING, "adit-dashboard.json")
# Metrics that Prometheus makes itself.
OWN = {"up"}

# Stand for the machine's services.  Prometheus is started with the page's settings, but looks and
# fires after 1 second.
SYSTEMCTL = """#!/bin/sh
echo "$@" >>'%(folder)s/systemctl'
sed -i 's/: 15s/: 1s/' '%(folder)s/prometheus.yml'
sed -i 's/for: 1m$/for: 1s/' '%(folder)s/adit.rules.yml'
"""
JOURNALCTL = """#!/bin/sh
[ "$*" = '-u adit.service -o cat --since=-1h' ] || { echo "unexpected: $*" >&2; exit 1; }
cat '%(log)s'
"""
APT_GET = """#!/bin/sh
[ "$*" = 'install -y curl jq prometheus' ] && command -v curl jq prometheus >/dev/null
"""


class Monitor(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.responder = Responder(cls.stack, n_workers=2)
        cls.addClassCleanup(cls.responder.stop)
        cls.nginx = Nginx(cls.stack, lambda text: re.sub(
            r"unix:[^;]*/adit\.sock", "unix:" + cls.responder.socket, text))
        cls.addClassCleanup(cls.nginx.stop)
        cls.admin = cls.stack.client(cls.home.admin.key)
        cls.admin.port = cls.nginx.port
        cls.port = stack.free_port()

    def setUp(self):
        self.page = Page(self, "monitor.md", {
            "adit": "127.0.0.1:%d" % self.nginx.port, "prometheus": "127.0.0.1:%d" % self.port,
            "settings": ".", "monitoring": MONITORING})
        for name, text in (("systemctl", SYSTEMCTL), ("journalctl", JOURNALCTL),
                           ("apt-get", APT_GET)):
            with open(self.page.path("bin", name), "w", encoding="utf-8") as file:
                file.write(text % {"folder": self.page.folder, "log": self.responder.log_path})
            os.chmod(file.name, 0o755)

    def start_prometheus(self):
        with open(self.page.path("prometheus.log"), "wb") as file:
            process = subprocess.Popen(
                ["prometheus", "--config.file=" + self.page.path("prometheus.yml"),
                 "--storage.tsdb.path=" + self.page.path("data"),
                 "--web.listen-address=127.0.0.1:%d" % self.port],
                stdout=file, stderr=file, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def firing(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/alerts" % self.port,
                                    timeout=60) as answer:
            return {alert["labels"]["alertname"] for alert in json.load(answer)["data"]["alerts"]
                    if alert["state"] == "firing"}

    def test_the_page(self):
        self.admin.post("/ssh_credentials", samples.credential())
        _, shown = self.page.follow("Look at the metrics")
        self.assertIn('adit_http_requests_total{route="/ssh_credentials",method="POST",'
                      'status="201"} 1\n', shown)
        configure, reach = self.page.scripts["Scrape them"]
        self.assertIn("SUCCESS", self.page.run(configure))
        self.start_prometheus()
        self.assertRegex(self.page.run(reach), r'(?m)^up\{.*job="adit"\} => 1 ')
        see, check = self.page.scripts["Get alerts"]
        # A busy machine may have missed the second that a scrape may take here.
        until(lambda: self.page.run(see) == "", "no alert")
        self.assertIn("21 rules found", self.page.run(check))
        self.assertEqual(self.page.read("systemctl").splitlines(), [
            "restart prometheus.service", "reload prometheus.service"])
        self.check_log()
        self.responder.stop()
        until(lambda: "AditDown" in self.firing(), "the alert AditDown")
        self.assertRegex(self.page.run(see),
                         r"(?m)^firing  AditDown  Adit on 127\.0\.0\.1:\d+ does not answer\.$")

    def check_log(self):
        refused = self.stack.client(samples.well_formed_key())
        refused.port = self.nginx.port
        for _ in range(3):
            self.assert_error(refused.get("/ssh_credentials"), 203)
        reader = self.stack.client(self.home.read_only_key)
        reader.port = self.nginx.port
        last = self.assert_error(reader.delete("/ssh_credentials/x"), 9005)
        os.kill(self.responder.workers()[0], 9)
        until(lambda: b"worker ended" in self.responder.log(), "the log of a worker that ended")
        (_, errors, addresses, one, key, others, left_out,
         slowest) = self.page.follow("Ask the log")
        self.assertEqual(errors, "")
        self.assertEqual(addresses.split(), ["3", "127.0.0.1"])
        self.assertEqual(json.loads(one)["operation_id"], last["details"]["operation_id"])
        self.assertRegex(key, r"^\S+  DELETE  /ssh_credentials/\{id\}  403\n$")
        self.assertRegex(others, r"(?m)  error  worker ended  signal 9$")
        self.assertEqual(left_out, "0\n")
        self.assertEqual(len(slowest.splitlines()), 4)


class Files(Case):
    def test_the_rules(self):
        metrics.promtool("check", "rules", RULES)
        metrics.promtool("test", "rules", os.path.join(MONITORING, "adit.rules.test.yml"))

    def test_the_page_lists_every_alert(self):
        with open(RULES, encoding="utf-8") as file:
            alerts = re.findall(r"(?m)^ +- alert: (\w+)$", file.read())
        self.assertEqual(re.findall(r"(?m)^\| (Adit\w+) \|", recipe.read("monitor.md")), alerts)
        self.assertIn("turns on %d alerts" % len(alerts), recipe.read("monitor.md"))

    def test_what_ends(self):
        """adit-expiry tells of active keys with an end, and of the first certificate of a file."""
        account = self.stack.account("expiry")
        key_ids = []
        for options in ["--expires", "30d"], [], ["--expires", "40d"]:
            account.admin.issue(*options)
            key_ids.append(self.stack.psql("SELECT max(id) FROM adit.api_key WHERE account_id = '%s'"
                                           % account.id))
        self.stack.ctl("key", "revoke", key_ids[2])
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        text = ""
        for days in 700, 500, 600:
            path = os.path.join(folder, "ca-%d" % days)
            stack.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                       "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-days", str(days),
                       "-keyout", path + ".key", "-out", path])
            with open(path, encoding="utf-8") as file:
                text += file.read()
        several, without = os.path.join(folder, 'a "file"'), os.path.join(folder, "without")
        for path, content in (several, text), (without, "no certificate\n"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
        done = subprocess.run(
            [os.path.join(MONITORING, "adit-expiry"), several, without,
             os.path.join(folder, "ca-700")], input=self.stack.ctl("key", "list"), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "adit-expiry: %s has no certificate that openssl reads\n" % without)
        metrics.promtool("check", "metrics", text=done.stdout)
        self.assertIn('adit_api_key_expires_time_seconds{account="%s",key="%s"} %s\n' % (
            account.id, key_ids[0], self.stack.psql(
                "SELECT floor(extract(epoch FROM expires_at)) FROM adit.api_key WHERE id = '%s'"
                % key_ids[0])), done.stdout)
        for key_id in key_ids[1:]:
            self.assertNotIn(key_id, done.stdout)
        ends = dict(re.findall(r'(?m)^adit_certificate_expires_time_seconds\{file="(.*)"\} (\d+)$',
                               done.stdout))
        self.assertEqual(list(ends), [several.replace('"', '\\"'), os.path.join(folder, "ca-700")])
        first, last = map(int, ends.values())
        self.assertAlmostEqual(last - first, 200 * 86400, delta=60)

    def shown(self):
        """The names in /metrics, with the metrics of which they are parts."""
        answer = self.nobody.get("/metrics").body.decode()
        return set(re.findall(r"(?m)^# TYPE (\w+) ", answer)) | metrics.Metrics(answer).names()

    def test_the_page_lists_every_metric(self):
        answer = self.nobody.get("/metrics").body.decode()
        listed = re.findall(r"`(adit_\w+)`", "".join(
            re.findall(r"(?m)^\| (`adit_.*?) \|", recipe.read("monitor.md"))))
        # test_gateway_metrics compares those of adit-gateway, and gate_cases those of adit-gate.
        listed = [name for name in listed
                  if not name.startswith(("adit_gateway_", "adit_gate_"))
                  and not name.endswith("_expires_time_seconds")]
        self.assertEqual(sorted(listed), sorted(re.findall(r"(?m)^# TYPE (\w+) ", answer)))

    def used(self, expression):
        return set(re.findall(r"\b(adit_\w+|up)\b(?=[{\[) ]|$)", expression))

    def test_rules_use_metrics_that_exist(self):
        with open(RULES, encoding="utf-8") as file:
            text = re.sub(r"(?m)^ *(#|summary:|action:).*$", "", file.read())
        used = set(re.findall(r"\b(adit_[a-z_]+)\b", text))
        self.assertGreater(len(used), 8)
        # test_what_ends has those of adit-expiry.
        of_edge = {name for name in used if name.startswith(
            ("adit_gateway_", "adit_gate_")) or name.endswith("_expires_time_seconds")}
        self.assertEqual(used - of_edge - self.shown(), set())
        self.assertEqual(of_edge - set(re.findall(r"`(adit_\w+)`",
                                                  recipe.read("monitor.md"))), set())

    def test_the_dashboard(self):
        with open(DASHBOARD, encoding="utf-8") as file:
            dashboard = json.load(file)
        expressions = [target["expr"] for panel in dashboard["panels"]
                       for target in panel["targets"]]
        expressions += [entry["expr"] for entry in dashboard["annotations"]["list"]]
        # test_gateway_metrics and gate_cases compare these with what the programs say.
        of_edge = set(re.findall(r"`(adit_gate(?:way)?_\w+)`", recipe.read("monitor.md")))
        self.assertGreater(len(of_edge), 15)
        shown = self.shown() | OWN | of_edge | {name + "_bucket" for name in of_edge
                                                if name.endswith("_duration_seconds")}
        for expression in expressions:
            with self.subTest(expression):
                used = self.used(expression)
                self.assertTrue(used)
                self.assertEqual(used - shown, set())
        # Every metric has a place on it.
        used = {re.sub("_(bucket|sum|count)$", "", name) for expression in expressions
                for name in self.used(expression)}
        self.assertEqual({name for name in re.findall(
            r"(?m)^# TYPE (\w+) ", self.nobody.get("/metrics").body.decode())} - used, set())
        self.assertEqual(of_edge - used, set())
        self.check_promql(expressions)
        for panel in dashboard["panels"]:
            with self.subTest(panel["title"]):
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])
                self.assertIn(panel["type"], ("stat", "timeseries"))
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}),
                         len(dashboard["panels"]))

    def check_promql(self, expressions):
        """promtool parses every expression, with a value for each of Grafana's variables."""
        rules = [{"record": "dashboard:%d" % number,
                  "expr": expression.replace("$__rate_interval", "5m").replace("$instance", ".*")}
                 for number, expression in enumerate(expressions)]
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "dashboard.json")  # JSON is YAML
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        self.assertIn("%d rules found" % len(rules), metrics.promtool("check", "rules", path))
