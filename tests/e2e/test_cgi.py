# SPDX-License-Identifier: MIT
"""The program as plain CGI: variables in the environment, the body on a pipe."""
import json
import os
import subprocess

from adit import fastcgi, samples, stack
from adit.case import Case
from adit.client import DEADLINE_S, check_answer

PROGRAM = os.path.join(stack.BUILD, "adit.fcgi")
CREDENTIALS = "/ssh_credentials"


class Cgi(Case):
    def run_program(self, variables, body=b"", arguments=(), **options):
        if not options:
            options = {"input": body}
        return subprocess.run([PROGRAM, *arguments], env=variables,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE_S,
                              **options)

    def variables(self, method, path, query="", body=b"", **changes):
        variables = {
            **{name: value for name, value in stack.CLEAN_ENV.items()
               if name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")},
            "ADIT_CONF": self.stack.conf_path, "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": method, "PATH_INFO": path,
            "QUERY_STRING": query, "SCRIPT_NAME": "/cgi-bin/adit", "SERVER_NAME": "adit.test",
            "SERVER_PORT": "80", "HTTP_HOST": "adit.test", "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_AUTHORIZATION": "Bearer " + self.home.admin.key, "HTTP_SERVICE_VERSION": "2"}
        if body:
            variables.update(CONTENT_LENGTH=str(len(body)), CONTENT_TYPE="application/json")
        variables.update(changes)
        return {name: value for name, value in variables.items() if value is not None}

    def ask(self, method="GET", path=CREDENTIALS, query="", body=b"", sent=None, options=None,
            **changes):
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        variables = self.variables(method, path, query, body, **changes)
        done = self.run_program(variables, body if sent is None else sent, **(options or {}))
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = fastcgi.parse(done.stdout, fastcgi.asked_by(variables, body))
        self.assertEqual(answer.body != b"", method != "HEAD" and answer.status != 204)
        return check_answer(answer, head_only=method == "HEAD")

    def test_life_of_a_credential(self):
        made = self.assert_ok(self.ask("POST", body=samples.credential(description="cgi")), 201)
        path = CREDENTIALS + "/" + made["id"]
        self.assertEqual(made["uri"], "http://adit.test/cgi-bin/adit" + path)
        self.assertEqual(self.assert_ok(self.ask("GET", path)), made)
        changed = self.assert_ok(self.ask("PATCH", path, body={"description": "x"}))
        self.assertEqual(changed["description"], "x")
        self.assertEqual(self.ask("HEAD", path).status, 200)
        self.assert_ok(self.ask("DELETE", path), 204)
        self.assert_error(self.ask("GET", path), 9002)

    def test_list(self):
        self.ask("POST", body=samples.credential())
        page = self.assert_ok(self.ask(query="limit=1"))
        self.assertEqual(len(page["ssh_credentials"]), 1)
        self.assertEqual(page["uri"], "http://adit.test/cgi-bin/adit/ssh_credentials")

    def test_modules(self):
        module = {"provider": {"provider_b": {"client_id": "a", "client_secret": "b"}}}
        self.assert_ok(self.ask("PUT", "/edges/https/cgi/routes/r/oauth", body=module))
        stored = self.assert_ok(self.ask("GET", "/edges/https/cgi/routes/r/oauth"))
        self.assertEqual(stored["provider"]["provider_b"]["client_secret"], "b")
        # The responder behind nginx sees the same rows.
        self.assertEqual(self.admin.get("/edges/https/cgi/routes/r/oauth").json, stored)
        self.assert_ok(self.ask("DELETE", "/edges/https/cgi/routes/r/oauth"), 204)
        self.assert_ok(self.ask("PUT", "/edges/tls/cgi/mutual_tls", body=b"{}"))

    def test_errors(self):
        self.each([
            ("no key", 200, dict(HTTP_AUTHORIZATION=None)),
            ("an unknown key", 203, dict(HTTP_AUTHORIZATION="Bearer "
                                         + samples.well_formed_key())),
            ("no version", 218, dict(HTTP_SERVICE_VERSION=None)),
            ("unknown path", 9000, dict(path="/nothing")),
            ("no path", 9000, dict(path="")),
            ("method", 9001, dict(method="PUT")),
            ("query", 231, dict(query="x=1")),
            ("no body", 9007, dict(method="POST")),
            ("an empty body and its length", 9007, dict(method="POST", CONTENT_LENGTH="0")),
            ("no JSON", 213, dict(method="POST", body=b"{")),
            ("a short body", 212, dict(method="POST", body=b'{"a": 1}', sent=b'{"a"')),
            ("nothing of a body", 212, dict(method="POST", body=b'{"a": 1}', sent=b"")),
            ("too large", 9006, dict(method="POST", body=b" " * 65537)),
            ("a body for GET", 211, dict(body=b"{}")),
            ("a bad host", 9024, dict(HTTP_HOST="a/b")),
        ], lambda number, changes: self.assert_error(self.ask(**changes), number))

    def test_reads_no_further_than_announced(self):
        """RFC 3875, 4.2: the program must not read past CONTENT_LENGTH."""
        self.assert_ok(self.ask("POST", body=samples.credential(), sent=json.dumps(
            samples.credential()).encode() + b"more"), 201)

    def test_a_pipe_that_stays_open_keeps_nobody_waiting(self):
        read_end, write_end = os.pipe()
        try:
            self.assert_ok(self.ask("GET", "/livez", options={"stdin": read_end}))
            body = json.dumps(samples.credential()).encode()
            os.write(write_end, body)
            self.assert_ok(self.ask("POST", body=body, options={"stdin": read_end}), 201)
        finally:
            os.close(read_end)
            os.close(write_end)

    def test_other_descriptors_0(self):
        with open(os.devnull, "rb") as nothing:
            self.assert_ok(self.ask("GET", options={"stdin": nothing}))

    def test_arguments_are_the_client_s(self):
        """RFC 3875, 4.4: a server turns a query without '=' into arguments."""
        for words in (["x"], ["-c", "/nonexistent"], ["--conf=/nonexistent"], ["-V"], ["--help"],
                      ["--print-settings"], ["--print-settings", "--effective"], ["--listen", "unix:/tmp/adit-e2e-never"]):
            with self.subTest(" ".join(words)):
                self.assert_error(self.ask("GET", "/ssh_credentials", query="+".join(words),
                                           options={"arguments": words, "input": b""}), 231)

    def test_closed_descriptor_0(self):
        done = subprocess.run(["sh", "-c", 'exec "$0" <&-', PROGRAM],
                              env=self.variables("GET", "/livez"), capture_output=True,
                              timeout=DEADLINE_S, close_fds=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(check_answer(fastcgi.parse(done.stdout)).status, 200)

    def test_options_and_health(self):
        self.assert_ok(self.ask("OPTIONS", HTTP_AUTHORIZATION=None), 204)
        self.assert_ok(self.ask("GET", "/readyz", HTTP_AUTHORIZATION=None))

    def test_no_request(self):
        variables = {name: value for name, value in self.variables("GET", "/livez").items()
                     if not name.startswith(("REQUEST_", "PATH_INFO", "GATEWAY"))}
        done = self.run_program(variables)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"no CGI request", done.stderr)
