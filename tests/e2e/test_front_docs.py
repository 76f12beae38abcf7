# SPDX-License-Identifier: MIT
"""The reference at /docs, through every web server, at the root of a host and below a path."""
import gzip
import os
import re
import shutil
import urllib.parse

from adit import fronts
from adit.front_case import FrontCase

TYPES = {"html": "text/html; charset=utf-8", "css": "text/css", "json": "application/json",
         "js": "application/javascript; charset=utf-8", "txt": "text/plain; charset=utf-8",
         "svg": "image/svg+xml"}
SECURITY = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}


class Docs(FrontCase):
    # test_front_console runs these tests for the console.
    name = "docs"
    # A file that the folder has when it is complete, and one to be packed.
    last_made, large = "openapi.json", "swagger-ui-bundle.js"
    n_files, n_links = 9, 5
    policy = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
              "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = os.path.join(cls.stack.state, cls.name)
        if not os.path.exists(os.path.join(made, cls.last_made)):
            raise AssertionError("%s does not exist; run 'make %s', which needs npm"
                                 % (made, cls.name))
        cls.files = {}
        for name in os.listdir(made):
            with open(os.path.join(made, name), "rb") as file:
                cls.files[name] = file.read()
        cls.fronts = []
        cls.folders = []
        for kinds in fronts.GROUPS:
            server = fronts.KINDS[kinds[0]](cls.stack)
            cls.addClassCleanup(server.stop)
            # The plus and the dot must not act as regular expressions.
            folder = os.path.join(server.folder, cls.name + "+1.0")
            setattr(server, cls.name, folder)
            shutil.copytree(made, folder)
            server.write("outside.txt", "secret")
            for kind in kinds:
                server.add(kind, "")
                server.add(kind, fronts.PREFIX)
            server.start()
            cls.fronts += server.fronts
            cls.folders.append(folder)

    def each_front(self, rows, function):
        for front in self.fronts:
            for row in rows:
                with self.subTest("%s: %s" % (front.name, row)):
                    function(front, row)

    def paths(self):
        """{path: file} of the pages and their files."""
        root = "/" + self.name
        pages = {"index.html": root, "folder.html": root + "/"}
        return {pages.get(name, root + "/" + name): name for name in self.files}

    def test_files(self):
        paths = self.paths()
        self.assertGreaterEqual(len(paths), self.n_files)
        self.each_front(paths, lambda front, path: self.check_file(front, path, paths[path]))

    def check_file(self, front, path, name):
        status, headers, body = self.ask(front, path)
        self.assertEqual((status, headers.get_all("Content-Type")),
                         (200, [TYPES[name.rpartition(".")[2]]]))
        self.assertTrue(body == self.files[name], "the answer differs from " + name)
        self.check_headers(headers)
        head = self.ask(front, path, "HEAD")
        self.assertEqual((head[0], head[2]), (200, b""))
        for same in ("Content-Type", "Content-Length", "ETag"):
            self.assertEqual(head[1].get_all(same), headers.get_all(same))
        self.check_headers(head[1])
        # A key and a query change nothing.  A server may honour a Range.
        more = self.ask(front, path + "?x", Authorization="Bearer x", Range="bytes=0-3")
        length = {200: len(body), 206: 4}[more[0]]
        self.assertTrue(more[2] == self.files[name][:length])

    def check_headers(self, headers):
        for header, value in SECURITY.items():
            self.assertEqual(headers.get_all(header), [value])
        self.assertEqual(headers.get_all("Content-Security-Policy"), [self.policy])
        self.assertEqual(headers.get_all("Cache-Control"), ["no-cache"])

    def test_asked_for_again(self):
        """An unchanged file gets 304, compressed or not."""
        self.each_front(self.paths().items(), lambda front, row: self.check_again(front, *row))

    def check_again(self, front, path, name):
        for coding in ("identity", "gzip"):
            status, headers, body = self.ask(front, path, Accept_Encoding=coding)
            self.assertEqual(status, 200)
            if headers["Content-Encoding"]:
                self.assertEqual((coding, headers["Content-Encoding"]), ("gzip", "gzip"))
                body = gzip.decompress(body)
            self.assertTrue(body == self.files[name])
            again = self.ask(front, path, Accept_Encoding=coding, If_None_Match=headers["ETag"])
            self.assertEqual((again[0], again[2], again[1].get_all("Cache-Control")),
                             (304, b"", ["no-cache"]))
        other = self.ask(front, path, If_None_Match='"other"')
        self.assertEqual((other[0], other[2] == self.files[name]), (200, True))

    def test_large_files_are_packed(self):
        self.each_front(["/%s/%s" % (self.name, self.large)], lambda front, path: self.assertLess(
            len(self.ask(front, path, Accept_Encoding="gzip")[2]),
            len(self.files[path.rpartition("/")[2]]) / 2))

    def test_a_cache_tells_packed_files_from_others(self):
        self.each_front(
            [("/%s/%s" % (self.name, self.large), coding) for coding in ("identity", "gzip")],
            lambda front, row: self.assertEqual(
                self.ask(front, row[0], Accept_Encoding=row[1])[1].get_all("Vary"),
                ["Accept-Encoding"]))

    def test_what_is_not_there(self):
        self.each_front(
            [path.replace("docs", self.name).replace("FILE", self.large) for path in (
                "/docs/index.html", "/docs/folder.html", "/docs/nonsense", "/docs/none.js",
                "/docs/../", "/docs/..", "/docs/../outside.txt", "/docs/docs/", "/docs/%0a",
                "/docs/%2e%2e/outside.txt", "/docs/..%2foutside.txt",
                "/docs/FILE/", "/docs/FILE/x.js", "/docs/FILE%0a",
                "/docs%0a", "/docs%0a/FILE", "/docsx", "/docs.json", "/x/docs")] +
            ["/" + self.name.upper()],
            lambda front, path: self.check_error(self.ask(front, path), 404, 9000))

    def test_links_of_the_pages(self):
        """Both pages link to files that exist."""
        root = "/" + self.name
        for page, name in ((root, "index.html"), (root + "/", "folder.html")):
            links = re.findall(rb'(?:src|href)="(?!data:)([^"]+)"', self.files[name])
            self.assertGreaterEqual(len(links), self.n_links)
            self.each_front({urllib.parse.urljoin(page, link.decode()) for link in links},
                            lambda front, path: self.assertEqual(self.ask(front, path)[0], 200))

    def test_methods(self):
        root = "/" + self.name
        rows = [(method, path) for path in (root, root + "/", "%s/%s" % (root, self.large))
                for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")]
        self.each_front(rows, lambda front, row: self.check_method(front, *row))

    def check_method(self, front, method, path):
        answer = self.ask(front, path, method, b"{}" if method == "POST" else None)
        self.check_error(answer, 405, 9001)
        # Apache adds an empty Allow header, which adds no method (RFC 9110, 5.6.1).
        self.assertEqual([value for value in answer[1].get_all("Allow") if value], ["GET, HEAD"])

    def test_where_it_is_not_installed(self):
        for folder in self.folders:
            os.rename(folder, folder + ".away")
        try:
            self.each_front(self.paths(), lambda front, path: self.check_error(
                self.ask(front, path), 404, 9000))
        finally:
            for folder in self.folders:
                os.rename(folder + ".away", folder)

    def test_where_it_cannot_be_read(self):
        """A file that the web server's user may not read gets 404."""
        files = [os.path.join(folder, name) for folder in self.folders for name in self.files]
        for path in files:
            os.chmod(path, 0o600 if os.getuid() == 0 else 0)
        try:
            self.each_front(self.paths(), lambda front, path: self.check_error(
                self.ask(front, path), 404, 9000))
        finally:
            for path in files:
                os.chmod(path, 0o644)

    def test_the_interface_beside_it(self):
        self.each_front(["/livez"], lambda front, path: self.assertEqual(
            self.ask(front, path)[0], 200))
        self.each_front(["/ssh_credentials"], lambda front, path: self.check_error(
            self.ask(front, path, Service_Version="2"), 401, 200))
