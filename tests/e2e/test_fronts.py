# SPDX-License-Identifier: MIT
"""The same requests through every web server.  The answers are equal, except for the differences in
tests/cases/fronts.differences."""
import concurrent.futures
import io
import json
import os
import re
import time

from adit import front_cases, fronts, reference, stack
from adit.case import Case
from adit.client import check_server_answer, read_answer

DIFFERENCES = os.path.join(stack.ROOT, "tests", "cases", "fronts.differences")

# These headers may differ even between two answers of one server.  The tests compare the number of
# answers and the end of each.
UNCOMPARED = {"date", "server", "connection", "keep-alive"}

OPERATION_ID = "header service-operation-id"
# Apache's answers outside Adit's paths.  The list of differences has each of them.
OTHER_PAGES = {("200", "an asterisk"), ("404", "a path with NUL"), ("404", "a path with NUL alone"),
               ("404", "a path with NUL in an identifier")}

IDENTS = re.compile(r"\b(op|sshcr|ac|usr|bot|ak)_[0-9A-Za-z]{27}\b")
ETAG = re.compile(r'"[0-9]+"')
TIMES = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def plain(text, front):
    """The text without the parts that must differ."""
    text = text.replace(front.names["prefix"] + "/", "/") if front.prefix else text
    text = text.replace(":" + front.names["port"], ":PORT")
    return TIMES.sub("TIME", IDENTS.sub(r"\1_ID", text))


class Seen:
    """A front's answers to a case, in a form to compare."""

    def __init__(self, front, case, data):
        self.data = data
        self.answers = []
        self.rest = data
        for method in case.methods:
            if self.rest:
                self._take(front, method)

    def _take(self, front, method):
        head, separator, rest = self.rest.partition(b"\r\n\r\n")
        if not separator or not head.startswith(b"HTTP/"):
            self.answers.append({"status": "none", "body": plain(self.rest.decode("latin-1"),
                                                                 front)})
            self.rest = b""
            return
        lines = head.decode("latin-1").split("\r\n")
        version, status, *_ = lines[0].split(" ", 2)
        if status == "100":
            self.rest = rest
            self._take(front, method)
            return
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers.setdefault(name.lower(), []).append(value.strip())
        body, self.rest = self._body(headers, rest, method, status)
        answer = {"status": status, "line": lines[0].partition(" ")[2], "version": version,
                  "body": plain(body.decode("utf-8", "replace"), front)}
        for name, values in headers.items():
            if name == "content-length":
                values = ["the body's" if int(values[0]) == len(body) or method == "HEAD"
                          else values[0]]
            if name == "etag":
                values = [ETAG.sub('"TAG"', value) for value in values]
            if name not in UNCOMPARED:
                answer["header " + name] = plain(" | ".join(values), front)
        self.answers.append(answer)

    @staticmethod
    def _body(headers, rest, method, status):
        if method == "HEAD" or status in ("204", "304"):
            return b"", rest
        if "content-length" in headers:
            length = int(headers["content-length"][0])
            return rest[:length], rest[length:]
        if "transfer-encoding" in headers:
            body = b""
            while True:
                size, _, rest = rest.partition(b"\r\n")
                size = int(size, 16)
                body, rest = body + rest[:size], rest[size + 2:]
                if size == 0:
                    return body, rest
        return rest, b""

    @property
    def short(self):
        """Statuses and error numbers: '413 9006, 404 9000'."""
        found = []
        for answer in self.answers:
            number = re.search(r'"error_code":"ERR_[A-Z]+_(\d+)"', answer["body"])
            found.append(answer["status"] + (" " + number.group(1) if number else ""))
        return ", ".join(found + (["bytes behind it"] if self.rest else [])) or "nothing"

    def difference(self, reference):
        """The difference from the reference in a few words, or None."""
        if self.short != reference.short:
            return self.short
        names = set()
        for mine, other in zip(self.answers, reference.answers):
            names |= {name for name in set(mine) | set(other) if mine.get(name) != other.get(name)}
            if OPERATION_ID not in mine:
                names.discard("line")  # the web server has its own reason phrases
        return "other " + ", ".join(sorted(names)) if names else None


class Difference:
    """A row of the list of differences."""

    def __init__(self, line):
        fronts_there, self.request, self.usual, self.there, self.why = line.split("\t")
        self.fronts = fronts_there.split()
        self.covered = set()  # kinds of front that the row has matched

    def covers(self, front, case):
        pattern = ".*".join(re.escape(part) for part in self.request.split("*"))
        found = front.kind in self.fronts and re.fullmatch(pattern, case.name)
        if found:
            self.covered.add(front.kind)
        return found


def read_differences():
    with open(DIFFERENCES, encoding="utf-8") as file:
        return [Difference(line.rstrip("\n")) for line in file
                if line.strip() and not line.startswith("#")]


class Fronts(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cases = front_cases.all_cases()
        servers = fronts.start_all(cls.stack)
        for server in servers:
            cls.addClassCleanup(server.stop)
        cls.fronts = [front for server in servers for front in server.fronts]
        with concurrent.futures.ThreadPoolExecutor(len(cls.fronts)) as pool:
            for front in cls.fronts:
                front.settle_in(cls.stack)
            seen = list(pool.map(cls.ask_all, cls.fronts))
        cls.seen = dict(zip((front.name for front in cls.fronts), seen))

    @classmethod
    def ask_all(cls, front):
        return {case.name: cls.ask(front, case) for case in cls.cases
                if not (front.is_bare and case.is_wire)}

    @classmethod
    def ask(cls, front, case):
        seen = Seen(front, case, front.exchange(case.data(front.names)))
        # Identifiers of the same millisecond have a random order.
        time.sleep(0.002)
        if case.save:
            head, _, body = seen.data.partition(b"\r\n\r\n")
            front.names[case.save] = json.loads(body).get("id", "")
            front.names[case.save + "_etag"] = ETAG.search(head.decode("latin-1")).group()
        return seen

    def test_there_are_enough(self):
        self.assertLessEqual({kind for kind, form in fronts.FORMS.items() if form != "UPSTREAM"},
                             set(fronts.EVERY))
        for front in self.fronts:
            self.assertGreaterEqual(len(self.seen[front.name]), 300, front.name)

    def test_answers_are_equal(self):
        """Every front answers like the first one, except for the listed differences.  Each listed
        difference exists."""
        rows = read_differences()
        for front in self.fronts[1:]:
            for case in self.cases:
                if case.name in self.seen[front.name]:
                    with self.subTest("%s: %s" % (front.name, case.name)):
                        self.compare(front, case, rows)
        for row in rows:
            with self.subTest("listed: %s: %s" % (" ".join(row.fronts), row.request)):
                self.assertEqual(row.covered, set(row.fronts) & set(fronts.KINDS),
                                 "no case matches this row")
                self.assertTrue(row.why)

    def compare(self, front, case, rows):
        reference = self.fronts[0]
        usual, seen = self.seen[reference.name][case.name], self.seen[front.name][case.name]
        found = seen.difference(usual)
        listed = [row for row in rows if row.covers(front, case)]
        told = "\n".join([
            "", "request: %r" % case.data(front.names)[:2000],
            "%s: %r" % (reference.name, usual.data[:3000]),
            "%s: %r" % (front.name, seen.data[:3000])])
        self.assertLessEqual(len(listed), 1, "several rows" + told)
        if listed:
            self.assertEqual((usual.short, found), (listed[0].usual, listed[0].there),
                             "differs from the list" + told)
        else:
            self.assertIsNone(found, "not listed" + told)

    def test_every_answer_is_one_of_ours(self):
        """Every answer is JSON or has no body, and none is a redirect."""
        for front in self.fronts:
            with self.subTest(front.name):
                for case in self.cases:
                    seen = self.seen[front.name].get(case.name)
                    for answer in seen.answers if seen else []:
                        self.check_answer(front, case, answer)

    def check_answer(self, front, case, answer):
        status = answer["status"]
        answer = {"front": front.name, "request": case.name, **answer}
        self.assertNotIn("header location", answer)
        self.assertFalse(status.startswith("3") and status != "304", answer)
        if case.methods[0] == "HEAD" or status in ("204", "304"):
            return
        if (front.kind.startswith("apache") and (status, case.name) in OTHER_PAGES) or \
                status == "none":
            return
        self.assertEqual(answer.get("header content-type"), "application/json", answer)
        self.assertEqual(answer.get("header cache-control"), "no-store", answer)
        self.assertIsInstance(json.loads(answer["body"]), dict)


class Compressing(Case):
    """A server that compresses JSON, except Adit's answers.  Compression would change the ETag, and
    If-Match would then name a tag that the responder never issued."""

    MORE = {"nginx": "gzip on; gzip_types application/json; gzip_min_length 1;",
            "apache": "AddOutputFilterByType DEFLATE application/json"}

    def test_tags_come_back(self):
        path = "/edges/tls/compressed/mutual_tls"
        self.assert_ok(self.admin.put(path, {"certificate_authority_ids": ["ca"]}))
        etag = self.admin.get(path).header("ETag")
        for kinds in fronts.GROUPS:
            server = fronts.KINDS[kinds[0]](self.stack)
            self.addCleanup(server.stop)
            server.more += "\n" + self.MORE[kinds[0].partition("-")[0]]
            for kind in kinds:
                server.add(kind, fronts.PREFIX)
            server.start()
            for front in server.fronts:
                for more, status in (((), 200), ((("If-None-Match", etag),), 304),
                                     ((("If-Match", etag),), 200)):
                    with self.subTest("%s: %s" % (front.kind, more)):
                        request = front_cases.Request(
                            "", path=path, key=None, more=(
                                ("Authorization", "Bearer " + self.home.admin.key),
                                ("Accept-Encoding", "gzip"), *more))
                        received = front.exchange(request.data(front.names))
                        answer = read_answer(io.BytesIO(received),
                                             asked=reference.Asked("GET", path))
                        self.assertEqual((answer.status, answer.header("ETag"),
                                          answer.header("Content-Encoding")),
                                         (status, etag, None))


class Limited(Case):
    """More requests than the server's rate limit permits."""

    MORE = {"nginx": "limit_req_zone $server_name zone=one:1m rate=1r/m; limit_req zone=one;",
            "apache": '<LocationMatch "/limited$">\nRedirect 429 "/"\n</LocationMatch>'}

    def test_says_when_to_try_again(self):
        for kinds in fronts.GROUPS:
            server = fronts.KINDS[kinds[0]](self.stack)
            self.addCleanup(server.stop)
            server.more += "\n" + self.MORE[kinds[0].partition("-")[0]]
            server.faults = (429,)
            for kind in kinds:
                server.add(kind, fronts.PREFIX)
            server.start()
            for front in server.fronts:
                with self.subTest(front.kind):
                    received = front.exchange(front_cases.Request(
                        "", path="/limited", key=None).data(front.names))
                    answer = read_answer(io.BytesIO(received))
                    check_server_answer(answer)
                    self.assertEqual((answer.status, answer.code, answer.all("Retry-After")),
                                     (429, 9053, ["1"]))


class Away(Case):
    """A responder that does not run, and a program that does not start."""

    def test_answers(self):
        for kinds in fronts.GROUPS:
            server = fronts.KINDS[kinds[0]](self.stack)
            self.addCleanup(server.stop)
            server.faults = (500, 502, 503)
            server.socket = os.path.join(server.folder, "nobody.sock")
            server.program = server.write("broken.fcgi", "#!/bin/false\n")
            os.chmod(server.program, 0o755)
            for kind in kinds:
                server.add(kind, fronts.PREFIX)
            server.start()
            for front in server.fronts:
                with self.subTest(front.kind):
                    # mod_fcgid pauses between its attempts to start the program.
                    received = front.exchange(front_cases.Request("", key=None).data(front.names))
                    answer = read_answer(io.BytesIO(received))
                    check_server_answer(answer)
                    self.assertEqual((answer.status, answer.code),
                                     server.BROKEN if front.starts_program else server.AWAY)
