# SPDX-License-Identifier: MIT
"""The order of the checks (section 3): of two faults, the earlier gate reports its own.  A sample:
api/dispatch of the unit tests has every two faults of every operation."""
from adit import samples
from adit.case import Case

CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/order/routes/r/oauth"
MUTUAL_TLS = "/edges/tls/order/mutual_tls"
JSON = "application/json"

UNKNOWN = samples.unknown_id()


class Order(Case):
    def setUp(self):
        self.unknown = self.stack.client(samples.well_formed_key())

    def ask(self, client, method, target, version, content_type, body):
        return client.call(method, target, body, version=version, content_type=content_type)

    # Requests that fail two neighbouring gates, and the number of the gate that answers.
    PAIRS = [
        ("version before host", "GET", CREDENTIALS, None, None, None, 218),
        ("version before query", "GET", CREDENTIALS + "?x=1", None, None, None, 218),
        ("unsupported version before query", "GET", CREDENTIALS + "?x=1", "3", None, None, 217),
        ("version before body", "POST", CREDENTIALS, None, None, b"{", 218),
        ("version before an unexpected body", "DELETE", OAUTH, None, JSON, b"{", 218),
        ("version before existence", "GET", CREDENTIALS + "/" + UNKNOWN, None, None, None, 218),
        ("query before an unexpected body", "GET", CREDENTIALS + "?x=1", "2", JSON, b"{", 231),
        ("query before content type", "POST", CREDENTIALS + "?x=1", "2", None, b"{", 231),
        ("query before JSON", "PUT", OAUTH + "?x=1", "2", JSON, b"{", 231),
        ("query before an empty body", "PATCH", CREDENTIALS + "/x?x=1", "2", JSON, b"", 231),
        ("content type before JSON", "POST", CREDENTIALS, "2", "text/plain", b"{", 210),
        ("no content type before JSON", "PUT", MUTUAL_TLS, "2", None, b"{", 216),
        ("JSON before members", "POST", CREDENTIALS, "2", JSON, b'{"x": 1', 213),
        ("query before existence", "GET", CREDENTIALS + "/" + UNKNOWN + "?x=1", "2", None, None,
         231),
        ("body before existence", "PATCH", CREDENTIALS + "/" + UNKNOWN, "2", JSON, b'{"x": 1}',
         214),
        ("body before a malformed identifier", "PATCH", CREDENTIALS + "/a%20b", "2", JSON, b"{",
         213),
        ("version before a malformed identifier", "GET", CREDENTIALS + "/a%20b", None, None, None,
         218),
        ("unexpected body before existence", "DELETE", CREDENTIALS + "/" + UNKNOWN, "2", JSON,
         b"{}", 211),
    ]

    def test_pairs(self):
        self.each(self.PAIRS, lambda *row: self.assert_error(self.ask(self.admin, *row[:-1]), row[-1]))

    def test_keys(self):
        """Whoever has none learns nothing of the rest, and input comes before permission."""
        self.each([
            ("path before key", self.nobody, "GET", "/nothing", None, JSON, None, 9000),
            ("method before key", self.nobody, "PUT", CREDENTIALS, None, JSON, b"{", 9001),
            ("key before version and body", self.nobody, "POST", CREDENTIALS + "?x=1", None, None, b"{", 200),
            ("unknown key before the same", self.unknown, "POST", CREDENTIALS + "?x=1", None, None, b"{", 203),
            ("body before permission", self.reader, "POST", CREDENTIALS, "2", JSON, b"{", 213),
            ("permission before existence", self.reader, "PATCH", CREDENTIALS + "/" + UNKNOWN, "2", JSON,
             b"{}", 9005),
        ], lambda *row: self.assert_error(self.ask(*row[:-1]), row[-1]))
