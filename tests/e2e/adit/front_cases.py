# SPDX-License-Identifier: MIT
"""The requests that every front gets, in this order.

"<<name>>" is a placeholder for a value that differs between fronts: a key, an identifier, the path
of the interface, the port.  A case may save a value under a name, for the cases after it."""
import json

from adit import samples
from adit.large import PAGE_ITEMS_MAX

KEY = samples.ED25519
CREDENTIALS = "/ssh_credentials"
OAUTH = "/edges/https/e1/routes/r1/oauth"
TLS = "/edges/tls/e1/mutual_tls"
MAX_BODY = 65536
USUAL = object()


class Request:
    """One case: the bytes to send, and the number of answers to expect."""

    def __init__(self, name, method="GET", path="/livez", body=None, *, key="key", version="2",
                 content_type=USUAL, more=(), chunks=None, length=USUAL, protocol="HTTP/1.1",
                 host="adit.test:8080", save=None, is_wire=False, raw=None, target=None,
                 then=None, connection="close"):
        self.name, self.method, self.save = name, method, save
        self.is_wire = is_wire or raw is not None
        self.methods = [method, *([then.method] if then else [])]
        self._raw, self._then = raw, then
        self._line = "%s %s %s" % (method, target or "<<prefix>>" + path, protocol)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        self._body = body
        self._chunks, self._length = chunks, length
        if content_type is USUAL:
            content_type = None if body is None else "application/json"
        headers = [("Host", host), ("Authorization", key and "Bearer <<%s>>" % key),
                   ("Service-Version", version), ("Content-Type", content_type)]
        self._headers = [pair for pair in headers if pair[1] is not None] + list(more)
        self._headers.append(("Connection", "keep-alive" if then else connection))

    def data(self, names):
        """The bytes for a front, with its names filled in."""
        if self._raw is not None:
            return fill(self._raw, names)
        body = fill(self._body, names) if self._body is not None else None
        headers = list(self._headers)
        if self._chunks:
            headers.append(("Transfer-Encoding", "chunked"))
            body = chunked(body, self._chunks)
        elif body is not None and self._length is not None:
            headers.append(("Content-Length",
                            len(body) if self._length is USUAL else self._length))
        head = "\r\n".join([self._line, *("%s: %s" % pair for pair in headers
                                          if pair[1] is not None), "", ""])
        data = fill(head, names) + (body or b"")
        return data + (self._then.data(names) if self._then else b"")


def fill(text, names):
    text = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    for name, value in names.items():
        text = text.replace(b"<<%s>>" % name.encode(), value.encode())
    if b"<<" in text:
        raise AssertionError("unknown name: %r" % text[text.index(b"<<"):][:40])
    return text


def chunked(body, size):
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def padded(size):
    """The body of a credential, padded to this length."""
    body = json.dumps({"public_key": KEY})
    return body + " " * (size - len(body))


def conditions(item):
    def on(name, value):
        return {"more": [(name, value)]}
    yield Request("change, to have a tag", "PATCH", item, {"metadata": "tagged"}, save="tagged")
    tag = "<<tagged_etag>>"
    for method in "GET", "HEAD":
        for name, value in (("If-None-Match", tag), ("If-None-Match", "W/" + tag),
                            ("If-None-Match", '"x", ' + tag), ("If-None-Match", "*"),
                            ("If-None-Match", '"0"'), ("If-Match", tag), ("If-Match", '"0"'),
                            ("If-Match", "0"), ("If-Modified-Since",
                                                "Sat, 29 Oct 2044 19:43:31 GMT"),
                            ("If-Unmodified-Since", "Sat, 29 Oct 1994 19:43:31 GMT"),
                            ("Range", "bytes=0-9"), ("If-Range", tag)):
            yield Request("%s on %s: %s" % (method.lower(), name, value), method, item,
                          **on(name, value))
    for name, value in (("If-Match", '"0"'), ("If-None-Match", tag), ("If-None-Match", "*"),
                        ("If-Match", "x")):
        yield Request("change on %s: %s" % (name, value), "PATCH", item, {}, **on(name, value))
        yield Request("delete on %s: %s" % (name, value), "DELETE", item, **on(name, value))
    yield Request("change on two If-Match", "PATCH", item, {}, more=[("If-Match", tag)] * 2)
    yield Request("change on its tag", "PATCH", item, {}, **on("If-Match", tag))
    yield Request("put on If-None-Match: *", "PUT", TLS, {}, **on("If-None-Match", "*"))
    yield Request("put again on If-None-Match: *", "PUT", TLS, {}, **on("If-None-Match", "*"))
    yield Request("put on If-Match: *", "PUT", OAUTH, {}, **on("If-Match", "*"))
    yield Request("delete on If-Match: *", "DELETE", TLS, **on("If-Match", "*"))
    once = on("Idempotency-Key", "the key of <<prefix>>")
    for name, body in (("create once", {"public_key": KEY}), ("create once more",
                                                             {"public_key": KEY}),
                       ("create another once", {"public_key": KEY, "metadata": "x"})):
        yield Request(name, "POST", CREDENTIALS, body, **once)
    yield Request("create under a long key", "POST", CREDENTIALS, {"public_key": KEY},
                  **on("Idempotency-Key", "k" * 256))
    yield Request("create under two keys", "POST", CREDENTIALS, {"public_key": KEY},
                  more=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")])


def credentials():
    item = CREDENTIALS + "/<<credential>>"
    other = CREDENTIALS + "/sshcr_000000000000000000000000000"
    yield Request("an empty list", path=CREDENTIALS)
    yield Request("create", "POST", CREDENTIALS, {"public_key": KEY}, save="credential")
    yield Request("create with all members", "POST", CREDENTIALS, {
        "public_key": KEY + " a comment", "description": "d \u00e9\u20ac\U0001f600 \"\\/",
        "metadata": "m\n", "acl": ["bind:*.example.com", "bind:a=b", "*"],
        "owner_id": "<<member_id>>"}, save="second")
    yield Request("create as a member", "POST", CREDENTIALS, {"public_key": KEY}, key="member")
    yield Request("create with a null owner", "POST", CREDENTIALS,
                  {"public_key": KEY, "owner_id": None})
    yield Request("read", path=item)
    yield Request("read with a body's type", path=item, content_type="application/json")
    yield Request("read with an escaped letter", path=CREDENTIALS.replace("s", "%73") +
                  "/<<credential>>")
    yield Request("head", "HEAD", item)
    yield Request("head of a list", "HEAD", CREDENTIALS)
    yield Request("list", path=CREDENTIALS)
    for query in ("limit=1", "limit=2&before_id=<<second>>", "before_id=", "beforeId=<<second>>",
                  "limit=%d" % PAGE_ITEMS_MAX, "limit=%31", "limit=1&before_id=sshcr_000000000000000000000000000"):
        yield Request("list ?" + query.replace("<<second>>", "ID"), path=CREDENTIALS + "?" + query)
    for query in ("limit=0", "limit=%d" % (PAGE_ITEMS_MAX + 1), "limit=", "limit=x", "limit=1&limit=2", "x=1", "x", "=",
                  "&", "before_id=%00", "before_id=..", "limit=1;x=2", "limit=+1", "limit=1%20",
                  "before_id=a%2Fb", "before_id=%zz", "before_id=%", "before_id=%ff", "a=b=c", "?",
                  "limit=1&&", "limit[]=1", "-c+/nonexistent", "--help", "-V"):
        yield Request("refused ?" + query, path=CREDENTIALS + "?" + query)
    yield Request("a fragment behind a query", path=CREDENTIALS + "?limit=1#", is_wire=True)
    yield Request("an empty query", path=CREDENTIALS + "?")
    yield Request("change", "PATCH", item, {"description": "x", "acl": ["bind:a.example:22"]})
    yield Request("change nothing", "PATCH", item, {})
    yield Request("change with its id", "PATCH", item, {"id": "<<credential>>", "metadata": ""})
    yield Request("change with another id", "PATCH", item, {"id": "x"})
    yield Request("change the key", "PATCH", item, {"public_key": KEY})
    yield Request("change the owner", "PATCH", item, {"owner_id": "<<admin>>"})
    yield Request("change what is not there", "PATCH", other, {})
    yield Request("read what is not there", path=other)
    yield Request("head of what is not there", "HEAD", other)
    yield Request("delete what is not there", "DELETE", other)
    yield Request("delete with a read-only key", "DELETE", item, key="read_only")
    yield Request("read with a read-only key", path=item, key="read_only")
    yield from conditions(item)
    yield Request("delete", "DELETE", item)
    yield Request("delete again", "DELETE", item)
    yield Request("delete the second", "DELETE", CREDENTIALS + "/<<second>>")
    yield Request("delete and keep the connection", "DELETE", CREDENTIALS + "/<<second>>",
                  is_wire=True, then=Request("", path="/livez"))
    for name, body in (
            ("no key", {}), ("an empty key", {"public_key": ""}), ("no key at all",
                                                                 {"public_key": "x"}),
            ("a null key", {"public_key": None}), ("a number", {"public_key": 1}),
            ("a long description", {"public_key": KEY, "description": "x" * 256}),
            ("long metadata", {"public_key": KEY, "metadata": "x" * 4097}),
            ("a rule", {"public_key": KEY, "acl": ["bind:"]}),
            ("rules of a wrong type", {"public_key": KEY, "acl": "x"}),
            ("a null rule", {"public_key": KEY, "acl": [None]}),
            ("many rules", {"public_key": KEY, "acl": ["*"] * 1001}),
            ("an unknown member", {"public_key": KEY, "descriptions": "x"}),
            ("an unknown member of null", {"public_key": KEY, "x": None}),
            ("an unknown owner", {"public_key": KEY, "owner_id": "usr_x"}),
            ("a malformed owner", {"public_key": KEY, "owner_id": "a/b"}),
            ("a long key", {"public_key": KEY + " " + "x" * 16384})):
        yield Request("create with " + name, "POST", CREDENTIALS, body)
    yield Request("another owner as a member", "POST", CREDENTIALS,
                  {"public_key": KEY, "owner_id": "<<admin>>"}, key="member")


def modules():
    oauth = {"provider": {"provider_a": {"client_id": "c", "client_secret": "s", "teams": ["a/b"]}},
             "inactivity_timeout": 8.64e4}
    for what, path, body in (("OAuth", OAUTH, oauth),
                             ("mutual TLS", TLS, {"certificate_authority_ids": ["ca-1", "ca~2"]})):
        for method in ("GET", "HEAD", "DELETE"):
            yield Request("%s of no %s" % (method, what), method, path)
        yield Request("put " + what, "PUT", path, body)
        yield Request("put %s with chunks" % what, "PUT", path, body, chunks=7)
        yield Request("put %s wrapped" % what, "PUT", path, {"module": body})
        yield Request("put %s with nothing" % what, "PUT", path, {})
        yield Request("put an unknown member of " + what, "PUT", path, {"enable": True})
        yield Request("put a wrong type of " + what, "PUT", path, {"enabled": "true"})
        yield Request("put %s with a read-only key" % what, "PUT", path, {}, key="read_only")
        for method in ("GET", "HEAD", "OPTIONS", "DELETE"):
            yield Request("%s %s" % (method, what), method, path)
        yield Request("GET %s that is deleted" % what, "GET", path)
    for name, provider in (
            ("two", {"provider_a": {}, "provider_b": {"email_domains": ["a.example"]},
                     "provider_c": {"email_domains": ["b.example"]}}),
            ("an id alone", {"provider_b": {"client_id": "x"}}),
            ("a secret alone", {"provider_b": {"client_secret": "x"}}),
            ("scopes alone", {"provider_b": {"scopes": ["x"]}}),
            ("a domain", {"provider_b": {"email_domains": ["-"]}}),
            ("an address", {"provider_b": {"email_addresses": ["x"]}}),
            ("a team", {"provider_a": {"teams": ["x"]}}),
            ("an empty team", {"provider_a": {"teams": [""]}}),
            ("a repeated team", {"provider_a": {"teams": ["a/b", "a/b"]}}),
            ("teams elsewhere", {"provider_b": {"teams": ["a/b"]}})):
        yield Request("providers: " + name, "PUT", OAUTH, {"provider": provider})
    yield Request("a cookie prefix", "PUT", OAUTH, {"cookie_prefix": "a b"})
    yield Request("a duration", "PUT", OAUTH, {"maximum_duration": 4294967296})
    yield Request("another edge's id", "PUT", OAUTH, {"edge_id": "x", "module": {}})
    yield Request("an authority", "PUT", TLS, {"certificate_authority_ids": ["a b"]})
    yield Request("a repeated authority", "PUT", TLS, {"certificate_authority_ids": ["a", "a"]})


def bodies():
    for name, body in (
            ("no object", "[]"), ("a word", "nonsense"), ("nothing but space", "  "),
            ("an open object", "{"), ("bytes behind it", "{} x"), ("a comment", "{/**/}"),
            ("a repeated member", '{"acl": [], "acl": []}'), ("NaN", '{"acl": NaN}'),
            ("a control character", '{"description": "\n"}'), ("invalid UTF-8", b'{"a": "\xff"}'),
            ("a lone surrogate", '{"a": "\\ud800"}'), ("an escaped NUL", '{"a": "\\u0000"}'),
            ("a NUL", b'{"a": "\x00"}'), ("depth", "[" * 17 + "]" * 17),
            ("a byte order mark", b'\xef\xbb\xbf{}'), ("a forged record", b"\x01\x01\x00\x01" * 9)):
        yield Request("a body: " + name, "POST", CREDENTIALS, body)
        yield Request("a body in chunks: " + name, "POST", CREDENTIALS, body, chunks=5)
    for method, path in (("POST", CREDENTIALS), ("PATCH", CREDENTIALS + "/x"), ("PUT", OAUTH),
                         ("PUT", TLS)):
        yield Request("no body for %s %s" % (method, path), method, path)
        yield Request("an empty body for %s %s" % (method, path), method, path, "")
        yield Request("no type for %s %s" % (method, path), method, path, "{}", content_type=None)
        yield Request("a type for %s %s" % (method, path), method, path, "{}",
                      content_type="text/plain")
    yield Request("an empty body in chunks", "POST", CREDENTIALS, "", chunks=5)
    for method, path in (("GET", CREDENTIALS), ("DELETE", TLS), ("HEAD", OAUTH), ("GET", "/livez"),
                         ("OPTIONS", CREDENTIALS)):
        yield Request("a body for %s %s" % (method, path), method, path, "{}")
        yield Request("a body in chunks for %s %s" % (method, path), method, path, "{}", chunks=1)
    for kind in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/json;",
                 "application/jsonx", "application/x-www-form-urlencoded", "multipart/form-data",
                 "", "application/json, application/json", "a/b; c=\"d\\\"e\""):
        yield Request("type '%s'" % kind, "POST", CREDENTIALS, {"public_key": KEY},
                      content_type=kind)
    for size in (MAX_BODY - 1, MAX_BODY):
        yield Request("a body of %d bytes" % size, "POST", CREDENTIALS, padded(size))
        yield Request("a body of %d bytes in chunks" % size, "POST", CREDENTIALS, padded(size),
                      chunks=8000)
    for size in (MAX_BODY + 1, 2 * MAX_BODY, 300000, 2500000):
        yield Request("a body of %d bytes" % size, "POST", CREDENTIALS, padded(size),
                      is_wire=True)
        yield Request("a body of %d bytes without a key" % size, "PUT", TLS, padded(size), key=None,
                      is_wire=True)
        for chunk in (1024, size):
            yield Request("too large in chunks: %d bytes in pieces of %d" % (size, chunk), "POST", CREDENTIALS,
                          padded(size), chunks=chunk)
    yield Request("a body of a gigabyte that does not come", "POST", CREDENTIALS, "{}",
                  length=10 ** 9, is_wire=True)
    yield Request("a body of 10^18 bytes that does not come", "POST", CREDENTIALS, "{}",
                  length=10 ** 18, is_wire=True)
    yield Request("Expect: 100-continue", "POST", CREDENTIALS, {"public_key": KEY},
                  more=[("Expect", "100-continue")])
    yield Request("another expectation", "GET", CREDENTIALS,
                  more=[("Expect", "x")], is_wire=True)


def access():
    for path in (CREDENTIALS, OAUTH, TLS):
        yield Request("no key for " + path, path=path, key=None)
        yield Request("no version for " + path, path=path, version=None)
        for key in ("unknown", "expired", "revoked"):
            yield Request("an %s key for %s" % (key, path), path=path, key=key)
    for value in ("Bearer", "Bearer ", "Bearer x", "bearer <<key>>", "BEARER   <<key>>",
                  "Bearer <<key>> x", "Bearer <<key>>,", "Basic YTpi", "<<key>>", "Token <<key>>",
                  "Bearer\t<<key>>", "Bearer " + "a" * 4000, "", "Bearer \u00e9", "Digest a=b"):
        yield Request("Authorization '%s'" % value[:20].replace("<<key>>", "KEY"),
                      path=CREDENTIALS, key=None, more=[("Authorization", value)])
    yield Request("two Authorizations", path=CREDENTIALS, more=[("Authorization", "Bearer <<key>>")])
    yield Request("two different Authorizations", path=CREDENTIALS,
                  more=[("authorization", "Bearer <<unknown>>")])
    yield Request("an Authorization in the query", path=CREDENTIALS + "?Authorization=<<key>>",
                  key=None)
    yield Request("REDIRECT_HTTP_AUTHORIZATION as a header", path=CREDENTIALS, key=None,
                  more=[("Redirect-Http-Authorization", "Bearer <<key>>"),
                        ("X-Authorization", "Bearer <<key>>")])
    for version in ("1", "3", "02", "2.0", "2 ", "", "two", "2, 2", "v2"):
        yield Request("version '%s'" % version, path=CREDENTIALS, version=version)
    yield Request("two versions", path=CREDENTIALS, more=[("Service-Version", "2")])
    yield Request("a version in small letters", path=CREDENTIALS, version=None,
                  more=[("service-version", "2")])
    yield Request("a version with an underscore", path=CREDENTIALS, version=None,
                  more=[("Service_Version", "2")])
    yield Request("no key and a broken body", "POST", CREDENTIALS, "{", key=None)
    yield Request("no key and a wrong method", "PUT", CREDENTIALS, "{", key=None)
    yield Request("a member's key", path=CREDENTIALS, key="member")
    yield Request("a read-only key that creates", "POST", CREDENTIALS, {"public_key": KEY},
                  key="read_only")
    yield Request("a read-only key and a broken body", "POST", CREDENTIALS, "{", key="read_only")
    yield Request("a gateway's key that reads", path=CREDENTIALS, key="gateway")
    yield Request("a gateway's key that decides", "POST", "/ssh_decisions",
                  {"fingerprint": "SHA256:" + "A" * 43, "target": "[::1]:22"}, key="gateway")
    yield Request("a decision about nothing", "POST", "/ssh_decisions", {}, key="gateway")


def paths():
    for path in ("/livez", "/readyz"):
        yield Request("GET " + path, path=path, key=None, version=None)
        yield Request("HEAD " + path, "HEAD", path, key=None, version=None)
        yield Request("POST " + path, "POST", path, "{}", key=None, version=None)
        yield Request("a query for " + path, path=path + "?x=1", key=None, version=None)
    for method in ("HEAD", "POST", "OPTIONS"):
        yield Request(method + " /metrics", method, "/metrics", key=None, version=None)
    for path in ("/", "/nothing", "/ssh_credentials/", "/ssh_credentials/x/y", "/SSH_CREDENTIALS",
                 "/edges", "/edges/https", "/edges/https/e/routes/r", "/edges/tls/e",
                 "/edges/tls/e/mutual_tls/", "/edges/https/e/routes/r/oauth/x", "/livez/",
                 "/index.html", "/favicon.ico", "/adit.fcgi", "/cgi-bin/adit.fcgi", "/.htaccess",
                 "/.nginx-error/400", "/adit.conf", "/~root", "/edges/tls/" + "e" * 255 +
                 "/mutual_tls", "/edges/tls/" + "e" * 256 + "/mutual_tls", "/server-status"):
        yield Request("path " + (path if len(path) < 60 else "with %d e" % path.count("e")),
                      path=path)
    for segment in ("a%20b", "a+b", "%61", "a%2Fb", "a%2fb", "%2e", "%2E%2E", "a%0Ab", "%0A",
                    "a%0D%0Ab", "%09", "%7F", "%C3%A9", "%FF", "a%25b", "a%252Fb", "a%3Fb", "a%23b",
                    "a;b", "a=b", "a:b", "a,b", "a'b", "a%22b", "a|b", "a%5Cb", "~a", "a*b", "(a)",
                    "$a", "@a", "[a]", "%7Ea", "a%26b", "{a}", "a%3Cb%3E", "a^b", "a`b", "...",
                    "a!b", "-", "_", "a\\b", "<a>", "%E2%82%AC", "a.", ".a", "a..b"):
        yield Request("identifier " + segment, path="/edges/tls/%s/mutual_tls" % segment)
    for path in ("/edges//tls/e1/mutual_tls", "//livez", "/livez//", "/./livez", "/x/../livez",
                 "/edges/tls/./e1/mutual_tls", "/edges/tls/x/../e1/mutual_tls", "/livez/.",
                 "/livez/..", "/livez/../livez", "/%2e/livez", "/x/%2e%2e/livez", "/edges/tls//mutual_tls",
                 "/%2Flivez", "/livez%2F", "/livez%2f..", "///livez", "/edges/tls/e1/mutual_tls/./"):
        yield Request("path " + path, path=path)
    yield Request("a path in bytes over 127", path="/edges/tls/\u00e9/mutual_tls")
    yield Request("an absolute target", target="http://adit.test:8080<<prefix>>/livez")
    yield Request("an absolute target of another host", target="http://b.test<<prefix>>/edges/tls/e1/mutual_tls")
    for name, target in (("%zz", "/%zz"), ("%", "/%"), ("%0", "/a%0"), ("NUL", "/a%00b"),
                         ("NUL alone", "/%00"), ("NUL in an identifier",
                                                 "/edges/tls/a%00/mutual_tls")):
        yield Request("a path with " + name, target="<<prefix>>" + target, is_wire=True)
    yield Request("a path up out of the root", target="/../../etc/passwd", is_wire=True)
    yield Request("a path up, escaped", target="/%2e%2e/%2e%2e/etc/passwd", is_wire=True)
    # Apache looks for a file of that name: with its folder it has less than the 4,096 bytes of PATH_MAX.
    yield Request("a long identifier", path="/edges/tls/" + "a" * 3900 + "/mutual_tls")
    yield Request("a long path of short names", path="/a" * 2500)
    yield Request("a long query", path=CREDENTIALS + "?limit=" + "1" * 6000)


def methods():
    for path in (CREDENTIALS, CREDENTIALS + "/x", OAUTH, TLS, "/livez", "/nothing"):
        for method in ("OPTIONS", "POST", "PUT", "PATCH", "DELETE"):
            if (method, path) in (("POST", CREDENTIALS), ("PUT", OAUTH), ("PUT", TLS),
                                  ("PATCH", CREDENTIALS + "/x")):
                continue
            yield Request("%s %s without a key" % (method, path), method, path, key=None,
                          version=None)
    for method in ("FOO", "PROPFIND", "LINK", "GETS", "BREW-X", "PURGE", "LOCK", "MKCOL", "SEARCH",
                   "X" * 100):
        yield Request("method " + method[:20], method, CREDENTIALS)
    for method in ("TRACE", "CONNECT"):
        yield Request("method " + method, method, CREDENTIALS, is_wire=True)
    yield Request("method TRACE without a key", "TRACE", "/livez", key=None, is_wire=True)
    yield Request("a method in small letters", "get", CREDENTIALS, is_wire=True)
    yield Request("a method of odd letters", "G@T", CREDENTIALS, is_wire=True)
    yield Request("a preflight", "OPTIONS", CREDENTIALS, key=None, version=None,
                  more=[("Origin", "http://a.test"), ("Access-Control-Request-Method", "POST")])
    yield Request("a method override", "POST", CREDENTIALS, {"public_key": KEY},
                  more=[("X-HTTP-Method-Override", "DELETE")])


def headers():
    list_one = CREDENTIALS + "?limit=1"
    for name, value in (
            ("Proxy", "http://evil.test"), ("Range", "bytes=0-3"), ("If-Range", "x"),
            ("If-None-Match", "*"), ("If-Match", "*"), ("If-Match", '"x"'),
            ("If-Modified-Since", "Sat, 21 Nov 2026 00:00:00 GMT"),
            ("If-Unmodified-Since", "Sat, 21 Nov 2000 00:00:00 GMT"),
            ("Accept", "text/html"), ("Accept-Encoding", "gzip, br"), ("Accept-Language", "de"),
            ("Accept-Charset", "utf-7"), ("TE", "trailers"), ("Cookie", "a=b"),
            ("Origin", "http://a.test"), ("X-Forwarded-Host", "evil.test"),
            ("X-Forwarded-Proto", "https"), ("X-Forwarded-Prefix", "/evil"),
            ("Forwarded", "host=evil.test"), ("X-Original-URL", "/livez"),
            ("X-Rewrite-URL", "/livez"), ("Script-Name", "/evil"), ("Path-Info", "/livez"),
            ("X-Empty", ""), ("X-Tab", "a\tb"), ("X-High", "\u00e9"), ("X-Long", "a" * 4000),
            ("Upgrade", "h2c"), ("Content-Encoding", "gzip"), ("Max-Forwards", "0"),
            ("Keep-Alive", "timeout=5"), ("Trailer", "X"), ("Pragma", "no-cache"),
            ("Status", "500"), ("Https", "on"), ("Request-Scheme", "https")):
        yield Request("header %s: %s" % (name, value[:20]), path=list_one, more=[(name, value)])
    yield Request("sixty headers", path=list_one,
                  more=[("X-%d" % number, "a" * 20) for number in range(60)])
    for host in ("adit.test", "127.0.0.1:<<port>>", "[::1]:8080", "ADIT.test", "a_b.test", "x" * 200,
                 "adit.test.", "1.2.3.4", "adit.test:80", "adit.test:443"):
        yield Request("Host %s" % host[:20].replace("<<port>>", "PORT"), path=list_one, host=host)
    yield Request("the uri of what is made at a port", "POST", CREDENTIALS, {"public_key": KEY},
                  host="127.0.0.1:<<port>>", save="third")
    yield Request("the uri of the next page", path=list_one, host="127.0.0.1:<<port>>")
    for host in ("a/b", "a b", "", ":80"):
        yield Request("malformed Host '%s'" % host, path=list_one, host=host, is_wire=True)
    for host in ("a@b", "a,b", "\u00e9", "a\"b", "<a>", "a%41"):
        yield Request("a Host with odd letters: " + host, path=list_one, host=host, is_wire=True)
    for host in ("a:b", "a:99999", "[::1"):
        yield Request("a Host with no port: " + host, path=list_one, host=host, is_wire=True)
    yield Request("no Host over HTTP/1.0", path=list_one, host=None, protocol="HTTP/1.0",
                  is_wire=True)
    yield Request("no Host", path=list_one, host=None, is_wire=True)
    yield Request("two Hosts", path=list_one, more=[("Host", "b")], is_wire=True)


def connections():
    """Connections: whether a server keeps them, and how it reads the bytes after an error."""
    follower = Request("", path="/nothing", key=None, version=None)
    for name, first in (
            ("an answer", Request("", path=CREDENTIALS, then=follower)),
            ("a head", Request("", "HEAD", CREDENTIALS, then=follower)),
            ("an empty answer", Request("", "OPTIONS", CREDENTIALS, then=follower)),
            ("404", Request("", path="/nothing", then=follower)),
            ("401 with a body", Request("", "POST", CREDENTIALS, "{}", key=None, then=follower)),
            ("401 with chunks", Request("", "POST", CREDENTIALS, "{}", chunks=1, key=None,
                                        then=follower)),
            ("405 with a body", Request("", "POST", "/livez", "{}", then=follower)),
            ("405 with a request as its body", Request(
                "", "POST", "/livez", "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", then=follower)),
            ("404 with chunks", Request("", "PUT", "/nothing", "x" * 9000, chunks=100,
                                        then=follower)),
            ("400", Request("", "POST", CREDENTIALS, "{", then=follower)),
            ("415", Request("", "POST", CREDENTIALS, "{}", content_type="x", then=follower)),
            ("a body of the most bytes", Request("", "POST", CREDENTIALS, " " * MAX_BODY,
                                                 then=follower))):
        first.name, first.is_wire = "a request behind " + name, True
        yield first
    for name, size, chunk in (("413", MAX_BODY + 1, None), ("413 with chunks", MAX_BODY + 1, 4096),
                              ("413 of much", 200000, None), ("413 of many chunks", 200000, 4096)):
        first = Request("a request behind " + name, "POST", CREDENTIALS, " " * size, chunks=chunk,
                        then=follower)
        first.is_wire = True
        yield first
    yield Request("HTTP/1.0", path="/livez", protocol="HTTP/1.0", connection=None)
    yield Request("HTTP/1.0 for a list", path=CREDENTIALS, protocol="HTTP/1.0", connection=None)
    yield Request("HTTP/1.0 for 204", "OPTIONS", CREDENTIALS, protocol="HTTP/1.0", connection=None)
    yield Request("HTTP/1.0 for 404", path="/nothing", protocol="HTTP/1.0", connection=None)
    yield Request("HTTP/1.0 with a body", "POST", CREDENTIALS, {"public_key": KEY},
                  protocol="HTTP/1.0", connection=None)
    for name, method, path in (("an answer", "GET", "/livez"), ("a head", "HEAD", "/livez"),
                               ("404", "GET", "/nothing"), ("204", "OPTIONS", "/livez")):
        first = Request("HTTP/1.0 that keeps the connection behind " + name, method, path,
                        protocol="HTTP/1.0", then=follower)
        first.is_wire = True
        yield first


def raw(name, data, answers=1):
    request = Request(name, raw=data)
    request.methods = ["GET"] * answers
    return request


def malformed():
    post = "POST <<prefix>>/ssh_credentials HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    for name, line in (("no request line", "nonsense"), ("no path", "GET"),
                       ("no version", "GET <<prefix>>/livez"),
                       ("a relative path", "GET livez HTTP/1.1"),
                       ("two spaces", "GET  <<prefix>>/livez HTTP/1.1"),
                       ("a space in the path", "GET <<prefix>>/li vez HTTP/1.1"),
                       ("a word too many", "GET <<prefix>>/livez HTTP/1.1 x"),
                       ("HTTP/2.0", "GET <<prefix>>/livez HTTP/2.0"),
                       ("HTTP/9.9", "GET <<prefix>>/livez HTTP/9.9"),
                       ("HTTP/1.2", "GET <<prefix>>/livez HTTP/1.2"),
                       ("HTTP/x", "GET <<prefix>>/livez HTTP/x"),
                       ("ICY/1.1", "GET <<prefix>>/livez ICY/1.1"),
                       ("an asterisk", "OPTIONS * HTTP/1.1"),
                       ("GET of an asterisk", "GET * HTTP/1.1"),
                       ("an authority as the path", "GET adit.test:80 HTTP/1.1"),
                       ("a fragment", "GET <<prefix>>/livez#x HTTP/1.1"),
                       ("a long request line", "GET <<prefix>>/%s HTTP/1.1" % ("a" * 9000)),
                       ("a long query line", "GET <<prefix>>/livez?%s HTTP/1.1" % ("a" * 9000))):
        yield raw(name, line + "\r\nHost: x\r\nConnection: close\r\n\r\n")
    yield raw("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
    yield raw("an empty line first", "\r\nGET <<prefix>>/livez HTTP/1.1\r\nHost: x\r\n"
              "Connection: close\r\n\r\n")
    yield raw("bare line feeds", "GET <<prefix>>/livez HTTP/1.1\nHost: x\nConnection: close\n\n")
    for name, lines in (
            ("a header without a colon", "nonsense\r\n"), ("a header without a name", ": x\r\n"),
            ("a space before the colon", "X-A : b\r\n"), ("a folded header", "X-A: b\r\n c\r\n"),
            ("a control character in a name", "X\x01: b\r\n"), ("a NUL in a header", "X: a\x00b\r\n"),
            ("a control character in a header", "X: a\x01b\r\n"),
            ("a carriage return in a header", "X: a\rb\r\n"),
            ("a length that is no number", "Content-Length: x\r\n"),
            ("a negative length", "Content-Length: -1\r\n"),
            ("a signed length", "Content-Length: +2\r\n"),
            ("an empty length", "Content-Length:\r\n"),
            ("a length of 30 digits", "Content-Length: %s\r\n" % ("9" * 30)),
            ("two lengths", "Content-Length: 1\r\nContent-Length: 2\r\n"),
            ("the same length twice", "Content-Length: 2\r\nContent-Length: 2\r\n"),
            ("a list of lengths", "Content-Length: 2, 2\r\n"),
            ("an unknown coding", "Transfer-Encoding: foo\r\n"),
            ("identity", "Transfer-Encoding: identity\r\n"),
            ("a large header", "X: %s\r\n" % ("a" * 9000)),
            ("a large Authorization", "Authorization: Bearer %s\r\n" % ("a" * 9000)),
            ("many large headers", "".join("X-%d: %s\r\n" % (n, "a" * 4000) for n in range(20))),
            ("very many headers", "".join("X-%d: a\r\n" % n for n in range(150)))):
        yield raw(name, post + lines + "\r\n{}")
    for name, lines in (
            ("a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"),
            ("chunks and gzip", "Transfer-Encoding: gzip, chunked\r\n"),
            ("chunks in capitals", "Transfer-Encoding: CHUNKED\r\n"),
            ("chunks twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")):
        yield raw(name, post + lines + "\r\n2\r\n{}\r\n0\r\n\r\n")
    for name, body in (("no chunk size", b"zz\r\n"), ("a negative chunk", b"-1\r\n"),
                       ("a chunk that is too long", b"5\r\nabcdefghij\r\n0\r\n\r\n"),
                       ("a chunk with an extension", b"2;a=b\r\n{}\r\n0\r\n\r\n"),
                       ("trailers", b"2\r\n{}\r\n0\r\nX: y\r\n\r\n"),
                       ("a chunk of 2^64 bytes", b"10000000000000000\r\n{}\r\n0\r\n\r\n")):
        yield raw(name, post.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + body)


def all_cases():
    cases = [case for group in (credentials, modules, bodies, access, paths, methods, headers,
                                connections, malformed) for case in group()]
    names = [case.name for case in cases]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise AssertionError("repeated names: %s" % sorted(repeated))
    return cases
