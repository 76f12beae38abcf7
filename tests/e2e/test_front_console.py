# SPDX-License-Identifier: MIT
"""The console at /console, through every web server, at the root of a host and below a path."""
from adit import fronts
import test_front_docs


class Console(test_front_docs.Docs):
    name = "console"
    last_made, large = "index.html", "console.js"
    n_files, n_links = 6, 3
    policy = test_front_docs.Docs.policy.replace("img-src data:", "img-src 'self'")

    def test_turned_off(self):
        """--console /none turns it off, and nothing else."""
        for kinds in fronts.GROUPS:
            server = fronts.KINDS[kinds[0]](self.stack)
            self.addCleanup(server.stop)
            server.console = "/none"
            for kind in kinds:
                server.add(kind, fronts.PREFIX)
            server.start()
            for front in server.fronts:
                for path in ("/console", "/console/", "/console/console.js"):
                    with self.subTest("%s: %s" % (front.name, path)):
                        self.check_error(self.ask(front, path), 404, 9000)
                self.assertEqual(self.ask(front, "/livez")[0], 200)
