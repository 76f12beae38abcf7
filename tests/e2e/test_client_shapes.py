# SPDX-License-Identifier: MIT
"""Requests of published clients of the interface that Adit mirrors, each in the client's own shape.
The tests also read the answers and walk through lists as each client does.  doc/clients.md names
the versions."""
import json
import os
import re

from adit import decoders, samples, shapes, stack
from adit.client import check_answer, check_server_answer
from test_clients import CREDENTIALS, PROVIDERS, UNICODE, Clients


class Shapes(Clients):
    """Requests as clients of other languages send them, and answers as those clients read them."""

    def send(self, client, method, target, body=None, key=None):
        """Sends a request with exactly the client's own headers."""
        sender = shapes.SENDERS[client]
        headers = [("Authorization", "Bearer " + (key or self.admin.key)), *sender.always]
        if body is not None:
            headers += [*sender.with_body, ("Content-Length", str(len(body)))]
        elif method != "GET" or client == "npm":
            headers += sender.without_body
        answer = check_answer(self.admin.send(method, target, headers, body or b""), "ngrok")
        self.assert_decoded(client, method, target, answer)
        return answer

    def assert_decoded(self, client, method, target, answer):
        """Checks that the client can decode the answer."""
        path = target.partition("?")[0]
        kind = ("error" if answer.status >= 400 else "oauth" if path.endswith("/oauth") else
                "mutual_tls" if path.endswith("/mutual_tls") else
                "credentials" if path == CREDENTIALS and method == "GET" else "credential")
        if answer.status == 204:
            self.assertEqual(answer.body, b"")
        elif not self.is_beyond_dotnet(client, kind, answer):
            decoders.decode(client, kind, answer.body)

    @staticmethod
    def is_beyond_dotnet(client, kind, answer):
        """.NET's durations are signed 32-bit numbers.  The interface's are unsigned."""
        return client == ".NET" and kind == "oauth" and answer.json["maximum_duration"] >= 2 ** 31

    def member(self, answer, path):
        value = answer.json
        for part in path.split("."):
            value = value[int(part)] if isinstance(value, list) else value.get(part)
        return value

    def test_table(self):
        ident = self.admin.post(CREDENTIALS, samples.credential()).json["id"]
        for shape in shapes.SHAPES:
            with self.subTest("%s: %s %s %s" % (shape.point, shape.client, shape.target,
                                                str(shape.body)[:100])):
                answer = self.send(shape.client, shape.method, shape.target.replace("{id}", ident),
                                   shapes.body_of(shape, ident))
                if shape.number is None:
                    self.assert_ok(answer, shape.status)
                else:
                    self.assert_error(answer, shape.number)
                for path, wanted in shape.members.items():
                    self.assertEqual(self.member(answer, path),
                                     ident if wanted == "{id}" else wanted, path)
                if shape.number is None and shape.method == "PUT":
                    self.assertEqual(self.send(shape.client, "GET", shape.target).json, answer.json)

    def test_table_is_whole(self):
        """Each point has rows that are accepted and rows that are refused.  Each client has
        rows."""
        for point in shapes.POINTS:
            with self.subTest(point):
                rows = [shape for shape in shapes.SHAPES if shape.point == point]
                self.assertEqual({shape.number is None for shape in rows}, {True, False})
        self.assertEqual({shape.point for shape in shapes.SHAPES}, set(shapes.POINTS))
        self.assertEqual({shape.client for shape in shapes.SHAPES}, set(decoders.CLIENTS))
        self.assertEqual(set(shapes.SENDERS), set(decoders.CLIENTS))

    def test_spaces_have_one_reason(self):
        reasons = {self.send(client, "GET", CREDENTIALS + query).json["msg"] for client, query in (
            ("npm", "?beforeId=a+b"), ("Java", "?before_id=a%20b"), (".NET", "?before_id=a+b"))}
        self.assertEqual(len(reasons), 1, reasons)

    # ---- answers ----

    def answers(self):
        """Yields an answer of each kind, with and without its optional members."""
        admin = self.admin
        oauth, mutual_tls = shapes.OAUTH, shapes.MUTUAL_TLS
        full = {"client_id": "i", "client_secret": "s", "scopes": ["s"],
                "email_addresses": ["a@b.example"], "email_domains": ["b.example"]}
        made = admin.post(CREDENTIALS, samples.credential(description=UNICODE, acl=["*"]))
        yield "credential", made
        yield "credential", admin.post(CREDENTIALS, samples.credential())
        yield "credential", admin.get("%s/%s" % (CREDENTIALS, made.json["id"]))
        yield "credential", admin.patch("%s/%s" % (CREDENTIALS, made.json["id"]), {"acl": []})
        yield "credentials", admin.get(CREDENTIALS)
        yield "credentials", admin.get(CREDENTIALS + "?limit=1")
        yield "credentials", admin.get(CREDENTIALS + "?before_id=before-all")
        yield "oauth", admin.put(oauth, {})
        for provider in PROVIDERS:
            yield "oauth", admin.put(oauth, {"provider": {provider: {}}})
            yield "oauth", admin.put(oauth, {"provider": {provider: full}, "maximum_duration":
                                             2 ** 31 - 1})
            yield "oauth", admin.get(oauth)
        yield "mutual_tls", admin.put(mutual_tls, {})
        yield "mutual_tls", admin.put(mutual_tls, {"certificate_authority_ids": ["a", "~._-9"]})
        yield "mutual_tls", admin.get(mutual_tls)
        yield "error", self.nobody.get(CREDENTIALS)
        yield "error", admin.get(CREDENTIALS, version=None)
        yield "error", admin.get(CREDENTIALS, version="1")
        yield "error", admin.get("/ssh_credentials/sshcr_1")
        yield "error", admin.get("/nothing")
        yield "error", admin.call("PUT", CREDENTIALS, {})
        yield "error", admin.post(CREDENTIALS, b"{")
        yield "error", admin.post(CREDENTIALS, {"acl": ["x"]})
        yield "error", admin.send("POST", CREDENTIALS, [("Content-Length", "70000")], b"x" * 70000)

    def test_every_client_decodes_every_answer(self):
        for i, (kind, answer) in enumerate(self.answers()):
            self.assertEqual(answer.status >= 400, kind == "error", answer)
            for client in decoders.CLIENTS:
                with self.subTest("%d %s %s" % (i, kind, client)):
                    decoders.decode(client, kind, answer.body)

    # The change to an answer, and the clients that cannot decode it.  ... removes a member.
    BROKEN = [
        ("null rows", "credentials", {"ssh_credentials": None}, "Python Ruby npm"),
        ("no rows", "credentials", {"ssh_credentials": ...}, "Python Ruby npm"),
        ("rows of strings", "credentials", {"ssh_credentials": ["x"]},
         "Go Python Java Ruby .NET npm"),
        ("no uri", "credentials", {"uri": ...}, "Python Java"),
        ("no next page", "credentials", {"next_page_uri": ...}, "Python"),
        ("a null string", "credential", {"description": None}, "Java"),
        ("no text", "credential", {"metadata": ...}, "Python Java"),
        ("a null boolean", "oauth", {"options_passthrough": None}, "Java .NET"),
        ("a null number", "oauth", {"maximum_duration": None}, "Java .NET"),
        ("a fraction", "oauth", {"maximum_duration": 1.0}, "Go .NET"),
        ("32 bits", "oauth", {"maximum_duration": 2 ** 31}, ".NET"),
        ("33 bits", "oauth", {"maximum_duration": 2 ** 32}, "Go .NET"),
        ("no provider", "oauth", {"provider": ...}, "Python Java"),
        ("a null provider", "oauth", {"provider": None}, "Python Java"),
        ("a provider less", "oauth", {"provider": {}}, "Python"),
        ("null authorities", "mutual_tls", {"certificate_authorities": None}, "Python"),
        ("no details", "error", {"details": ...}, "Python npm"),
        ("null details", "error", {"details": None}, "Python npm"),
        ("no code", "error", {"error_code": ...}, ""),
    ]

    def test_decoders_fail(self):
        """The decoders refuse wrong answers: a decoder that accepts everything proves nothing."""
        found = {}
        for kind, answer in self.answers():
            found.setdefault(kind, answer.json)
        for name, kind, change, wanted in self.BROKEN:
            answer = {member: value for member, value in {**found[kind], **change}.items()
                      if value is not ...}
            with self.subTest(name):
                failed = [client for client in decoders.CLIENTS
                          if not self.decodes(client, kind, answer)]
                self.assertEqual(failed, wanted.split())

    @staticmethod
    def decodes(client, kind, answer):
        try:
            decoders.decode(client, kind, json.dumps(answer).encode())
        except decoders.NotDecoded:
            return False
        return True

    # ---- walks ----

    def test_walks(self):
        """Each client pages in its own way, and finds every row once."""
        key = self.stack.account().admin.key
        made = self.fill(self.stack.client(key), 23)
        for limit in (1, 2, 7, 22, 23, 24, None):
            for client, walk in (("Go", self.walk_to_an_empty_page), ("Go", self.walk_by_uri),
                                 (".NET", self.walk_of_dotnet), ("Python", self.walk_by_uri),
                                 ("Java", self.walk_by_uri), ("Ruby", self.walk_by_uri)):
                with self.subTest("%s %s %s" % (client, walk.__name__, limit)):
                    self.assertEqual(list(walk(client, key, limit)), made)

    def test_filtered_walks(self):
        key = self.stack.account().admin.key
        made = self.fill(self.stack.client(key), 23)
        for client, target in (
                ("Go", "?filter=obj.description.endsWith%28%222%22%29+%7C%7C+size%28obj.description"
                       "%29+%3D%3D+1&limit=5"),
                ("Java", "?limit=5&filter=obj.description.endsWith(%222%22)%20%7C%7C%20"
                         "size(obj.description)%20%3D%3D%201")):
            with self.subTest(client):
                found = list(self.walk_by_uri(client, key, target=CREDENTIALS + target))
                # Those that were made as 0 to 9, 12 and 22; the newest comes first.
                self.assertEqual(found, [made[0], made[10], *made[13:]])

    def rows(self, client, key, target):
        answer = self.assert_ok(self.send(client, "GET", target, key=key))
        return [row["id"] for row in answer["ssh_credentials"]], answer["next_page_uri"]

    def walk_to_an_empty_page(self, client, key, limit):
        """Go before 5.4.1 ignores next_page_uri."""
        last = None
        while True:
            query = "&".join("%s=%s" % pair for pair in (("before_id", last), ("limit", limit))
                             if pair[1] is not None)
            page, _ = self.rows(client, key, "%s?%s" % (CREDENTIALS, query))
            if not page:
                return
            yield from page
            last = page[-1]

    def walk_of_dotnet(self, client, key, limit):
        """.NET ignores next_page_uri too, and begins with an empty before_id.  Because of a bug it
        continues after the last row but one of a page."""
        last, seen = "", []
        while True:
            page, _ = self.rows(client, key, "%s?before_id=%s%s" % (
                CREDENTIALS, last, "&limit=%d" % limit if limit else ""))
            if not page:
                return
            yield from (ident for ident in page if ident not in seen)
            seen += page
            last = page[-2] if len(page) > 1 else page[0]

    def walk_by_uri(self, client, key, limit=None, target=None):
        """These clients request next_page_uri.  Ruby removes its base URL and adds it again."""
        target = target or CREDENTIALS + ("?limit=%d" % limit if limit else "")
        while target:
            page, following = self.rows(client, key, target)
            yield from page
            self.assertTrue(following is None or following.startswith(self.stack.url), following)
            target = following and following[len(self.stack.url):]

    def test_http_2_is_declined_at_once(self):
        """Java's HTTP library starts with HTTP/2 without encryption.  It falls back at the first
        answer in HTTP/1.1."""
        answer = self.nobody.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                                 b"\0\0\0\4" + b"\0\0\0\0\0")
        self.assertEqual((answer.version, answer.header("Connection")), ("HTTP/1.1", "close"))
        check_server_answer(answer, "ngrok")


class Page(Clients):
    """doc/clients.md describes the versions that are tested."""

    def setUp(self):
        with open(os.path.join(stack.ROOT, "doc", "clients.md"), encoding="utf-8") as file:
            self.page = file.read()

    def test_versions(self):
        rows = dict(re.findall(r"(?m)^\| ([\w.]+) \| `[^`|]+` ([0-9.]+) \|", self.page))
        rows["npm"] = rows.pop("JavaScript")
        self.assertEqual(rows, shapes.VERSIONS)
        with open(os.path.join(stack.ROOT, "tests", "clients", "package.json"),
                  encoding="utf-8") as file:
            self.assertEqual(json.load(file)["dependencies"],
                             {"@ngrok/ngrok-api": shapes.VERSIONS["npm"]})

    def test_what_is_refused(self):
        """For each error of the chapter, a request in a client's shape gets it."""
        chapter = re.search(r"(?s)\n## What a current client sends that Adit refuses\n(.*?)\n## ",
                            self.page).group(1)
        numbers = {int(number) for number in re.findall(r"error\s+(\d+)", chapter)}
        self.assertEqual(numbers, {9000, 9007})
        self.assertLessEqual(numbers, {shape.number for shape in shapes.SHAPES})
