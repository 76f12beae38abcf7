# SPDX-License-Identifier: MIT
"""Identity providers on this machine: an HTTPS server that answers as one of them does.

tests/cases/providers/NAME.json says how each answers.  It is also a program:

    python3 mock_provider.py --provider github --port 8443 --certificate server.pem

It is at https://localhost:PORT, so its certificate has to be for that name.  The page of the
authorize endpoint lets one choose who one is.  With "&as=USER" in its query it answers at once, and
with "Accept: application/json" the answer is the parameters of the redirect.

A URL may begin with a fault, as in https://localhost:8443/!user:status:500/user: the endpoint
(authorize, token, user, emails, orgs, teams), what goes wrong, and its value.  The members "faults"
of a MockProvider say the same for all URLs; there, the kind "answer" has the arguments of an Answer.
"""
import argparse
import base64
import contextlib
import copy
import hashlib
import hmac
import html
import http.server
import json
import os
import secrets
import socketserver
import ssl
import threading
import time
import urllib.parse

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "cases", "providers")
NAMES = ("github", "facebook", "microsoft", "google", "linkedin", "gitlab", "twitch", "amazon")
HUGE = 3 * 1024 * 1024
JSON = "application/json; charset=utf-8"


def load(name, folder=CASES):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def fill(template, **words):
    """A copy of the template, in which the texts "$NAME" are replaced."""
    if isinstance(template, dict):
        return {name: fill(value, **words) for name, value in template.items()}
    if isinstance(template, list):
        return [fill(value, **words) for value in template]
    if isinstance(template, str) and template[1:] in words and template[0] == "$":
        return words[template[1:]]
    if isinstance(template, str) and "N" in words:
        return template.replace("$N", str(words["N"]))
    return template


def parse_query(text):
    return dict(urllib.parse.parse_qsl(text, keep_blank_values=True))


def expand(entries):
    """The list that {"repeat": n, "of": entry} stands for."""
    if isinstance(entries, list):
        return entries
    return [fill(entries["of"], N=n) for n in range(1, entries["repeat"] + 1)]


class Answer(Exception):
    """What an endpoint answers."""

    def __init__(self, status, body, content_type=JSON, headers=()):
        super().__init__(status)
        self.status = status
        self.body = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
        self.content_type = content_type
        self.headers = dict(headers)


class MockProvider:
    """A provider, which runs until close().  It has a name of NAMES, or a position from 1.

    Members that a test may change while it runs: users, faults ({endpoint: (kind, value)}),
    client_id, client_secret, managed (id and secret of another application), expiring.  requests
    lists the endpoints that were asked."""

    def __init__(self, provider, certificate, port=0, folder=CASES):
        self.name = provider if isinstance(provider, str) else NAMES[provider - 1]
        self.data = load(self.name, folder)
        self.users = copy.deepcopy(self.data["users"])
        self.expiring = False  # GitHub: a GitHub App, whose tokens expire
        self.keeps_one = False  # whether a new access token ends the one before
        self.client_id = "client-of-" + self.name
        self.client_secret = "secret+of/" + self.name + "="
        self.managed = None
        self.padding = 0  # bytes that make tokens longer
        self.faults = {}
        self.released = threading.Event()  # ends the faults "held"
        self.requests = []
        self.lock = threading.Lock()
        self.codes = {}
        self.tokens = {}
        self.refreshes = {}
        self.secrets = set()  # all codes, verifiers and tokens there were
        self.endpoints = {path: endpoint for endpoint, path in self.data["paths"].items()}
        tenant = self.data.get("tenant")
        for endpoint, path in self.data["paths"].items():
            if tenant and path.startswith("/common/"):
                self.endpoints[path.replace("common", tenant)] = endpoint
        for kind in self.data.get("lists", ()):
            self.endpoints[self.data["paths"]["user"] + "/" + kind] = kind
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.provider = self
        self.server.context = context
        self.base_url = "https://localhost:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, endpoint, fault="", tenant=False):
        """The URL of authorize, token or user.  A fault is "ENDPOINT:KIND" or
        "ENDPOINT:KIND:VALUE"."""
        path = self.data["paths"][endpoint]
        if tenant:
            path = path.replace("/common/", "/%s/" % self.data["tenant"])
        return self.base_url + ("/!" + fault if fault else "") + path

    def settings(self, tenant=False):
        """The settings of [provider.NAME] that lead to this one."""
        return {endpoint + "_url": self.url(endpoint, tenant=tenant)
                for endpoint in ("authorize", "token", "user")}

    def sign_in(self, location, user):
        """Does what a browser does whose user is sent to the location, and chooses who to be.
        Returns where it is sent then."""
        url = urllib.parse.urlsplit(location)
        if self.endpoints.get(url.path) != "authorize" or not location.startswith(self.base_url):
            raise AssertionError("this is not the way to the provider: " + location)
        try:
            self.authorize({**parse_query(url.query), "as": user}, None)
        except Answer as answer:
            if answer.status != 302:
                raise AssertionError("the provider refuses: %r" % answer.body) from answer
            return answer.headers["Location"]
        raise AssertionError("no answer")

    def expire(self, user=None):
        """Ends the access tokens of a user, or all of them.  Refresh tokens get others."""
        with self.lock:
            self._end(self.tokens, user)

    def revoke(self, user=None):
        """Ends the access tokens and refresh tokens of a user, or all of them."""
        with self.lock:
            self._end(self.tokens, user)
            self._end(self.refreshes, user)

    @staticmethod
    def _end(tokens, user):
        for token in [t for t, grant in tokens.items() if user in (None, grant["user"])]:
            del tokens[token]

    def applications(self):
        """The secrets of the OAuth applications, by id."""
        return dict([(self.client_id, self.client_secret)] + ([self.managed] if self.managed else []))

    # ---- the authorize endpoint ----

    def authorize(self, query, accept):
        self._check_authorize(query)
        user = query.get("as")
        if user is None:
            raise Answer(200, self._page(query), "text/html; charset=utf-8")
        way_back = {"state": query["state"]} if "state" in query else {}
        if user in self.users:
            code = secrets.token_urlsafe(24)
            with self.lock:
                self.codes[code] = {"user": user, "query": query}
            way_back["code"] = code
        else:
            way_back["error"] = "access_denied"
        if accept == "application/json":
            raise Answer(200, way_back)
        uri = query["redirect_uri"]
        raise Answer(302, b"", "text/plain", {
            "Location": uri + ("&" if "?" in uri else "?") + urllib.parse.urlencode(way_back)})

    def _check_authorize(self, query):
        scopes = query.get("scope", "").split()
        for is_wrong, what in (
                (query.get("response_type") != "code", "response_type"),
                (query.get("client_id") not in self.applications(), "client_id"),
                (not query.get("redirect_uri", "").startswith("http"), "redirect_uri"),
                (not scopes or not set(scopes) <= set(self.data["scopes"]), "scope"),
                (self.data["pkce"] != ("code_challenge" in query), "code_challenge"),
                (self.data["pkce"] and query.get("code_challenge_method") != "S256",
                 "code_challenge_method"),
                ("claims" in query and "asks_claims" not in self.data, "claims")):
            if is_wrong:
                raise Answer(400, b"wrong " + what.encode(), "text/plain")

    def _page(self, query):
        links = []
        for user in [*self.users, ""]:
            href = "?" + urllib.parse.urlencode({**query, "as": user})
            links.append('<li><a href="%s">%s</a>%s</li>' % (
                html.escape(href), html.escape(user) or "Refuse",
                html.escape("".join(", " + what for what in self._described(user)))))
        title = "Sign in at a mock of " + html.escape(self.data["title"])
        return ('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>%s</title></head>'
                "<body><h1>%s</h1><p>Who are you?</p><ul>%s</ul></body></html>"
                % (title, title, "".join(links))).encode()

    def _described(self, user):
        """What the page says of a user's addresses and first teams."""
        known = self.users.get(user, {})
        for entry in expand(known.get("emails", [])):
            yield entry["email"] + ("" if entry["verified"] else " (not verified)")
        for entry in expand(known.get("teams", []))[:3]:
            yield "team %s/%s" % (entry["organization"]["login"], entry["slug"])

    # ---- the token endpoint ----

    def exchange(self, form):
        refusals = self.data["refusals"]
        secret = self.applications().get(form.get("client_id"))
        if not secret or not hmac.compare_digest(form.get("client_secret", ""), secret):
            raise Answer(*refusals["client"])
        if form.get("grant_type") == "refresh_token":
            self._refresh(form)
        with self.lock:
            grant = self.codes.pop(form.get("code"), None)
        if form.get("grant_type") != "authorization_code" or not grant:
            raise Answer(*refusals["code"])
        if form.get("redirect_uri") != grant["query"]["redirect_uri"]:
            raise Answer(*refusals["redirect"])
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if self.data["pkce"] != ("code_verifier" in form) or \
                self.data["pkce"] and challenge != grant["query"]["code_challenge"]:
            raise Answer(*refusals["code"])
        self.secrets |= {form["code"], form.get("code_verifier", form["code"])}
        query = grant["query"]
        self._give({"user": grant["user"], "scopes": query["scope"].split(),
                    "claims": query.get("claims")}, self._gives_refresh(query))

    def _gives_refresh(self, query):
        rule = self.data.get("refresh")
        needs = rule.get("needs") if rule else "nothing that helps"
        if needs == "expiring":
            return self.expiring
        if needs == "scope":
            return rule["value"] in query["scope"].split()
        if needs == "query":
            return rule["value"] in urllib.parse.urlencode(query)
        return needs is None

    def _give(self, grant, gives_refresh):
        """Answers with new tokens."""
        token = "token-" + secrets.token_urlsafe(24) + "-" * self.padding
        refresh = "refresh-" + secrets.token_urlsafe(24)
        scopes = grant["scopes"]
        answer = fill(self.data["token"], TOKEN=token, REFRESH=refresh, SCOPE=" ".join(scopes),
                      SCOPE_COMMAS=",".join(scopes), SCOPE_LIST=scopes)
        self.secrets |= {token, refresh}
        with self.lock:
            self.tokens[token] = grant
            if gives_refresh:
                self.refreshes[refresh] = grant
            else:
                answer.pop("refresh_token", None)
        raise Answer(200, answer)

    def _refresh(self, form):
        rotates = self.data.get("refresh", {}).get("rotates")
        with self.lock:
            grant = self.refreshes.get(form.get("refresh_token"))
            if grant and rotates:
                del self.refreshes[form["refresh_token"]]
        if not grant:
            refusals = self.data["refusals"]
            raise Answer(*refusals.get("refresh", refusals["code"]))
        if self.keeps_one:
            self.expire(grant["user"])
        self._give(grant, rotates)

    # ---- the user's endpoints ----

    def grant_of(self, headers):
        kind, _, token = headers.get("Authorization", "").partition(" ")
        with self.lock:
            grant = self.tokens.get(token) if kind == "Bearer" else None
        if not grant or grant["user"] not in self.users:
            raise Answer(*self.data["unauthorized"])
        if self.data.get("user_agent") and not headers.get("User-Agent"):
            raise Answer(403, {"message": "Request forbidden by administrative rules."})
        return grant

    def user(self, grant, query):
        user = dict(self.users[grant["user"]]["user"])
        needs = self.data.get("members", {})
        asked = json.loads(grant["claims"] or "{}").get("userinfo", {})
        fields = query.get("fields", "id,name").split(",")
        for name in list(user):
            if name in needs and needs[name] not in grant["scopes"] or \
                    name in self.data.get("asks_claims", ()) and name not in asked or \
                    self.data.get("selects_fields") and name not in fields:
                del user[name]
        raise Answer(200, user)

    def list(self, kind, grant, query, path):
        rule = self.data["lists"][kind]
        headers = {"X-OAuth-Scopes": ", ".join(grant["scopes"]),
                   "X-Accepted-OAuth-Scopes": ", ".join(rule["scopes"])} \
            if self.data.get("scope_headers") else {}
        if not set(rule["scopes"]) & set(grant["scopes"]):
            raise Answer(*rule["refusal"], headers=headers)
        entries = expand(self.users[grant["user"]][kind])
        size = min(int(query.get("per_page", 30)), 100)
        page = int(query.get("page", 1))
        n_pages = max(1, (len(entries) + size - 1) // size)
        links = []
        for relation, number, is_there in (("prev", page - 1, page > 1),
                                           ("next", page + 1, page < n_pages),
                                           ("last", n_pages, page < n_pages),
                                           ("first", 1, page > 1)):
            if is_there:
                links.append('<%s%s?per_page=%d&page=%d>; rel="%s"' % (
                    self.base_url, path, size, number, relation))
        raise Answer(200, entries[(page - 1) * size:page * size],
                     headers={**headers, **({"Link": ", ".join(links)} if links else {})})


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def finish_request(self, request, client_address):
        # In the connection's thread, so that a silent client stops nobody.
        request.settimeout(30)
        with self.context.wrap_socket(request, server_side=True) as tls:
            super().finish_request(tls, client_address)

    def shutdown_request(self, request):
        request.close()

    def handle_error(self, request, client_address):
        """Clients that go away are no news."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def _answer(self):
        provider = self.server.provider
        url = urllib.parse.urlsplit(self.path)
        path, faults = url.path, dict(provider.faults)
        if path.startswith("/!"):
            fault, _, path = path[2:].partition("/")
            endpoint, kind, *value = fault.split(":", 2)
            faults[endpoint] = (kind, *value)
            path = "/" + path
        query = parse_query(url.query)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = parse_query(body)
        endpoint = provider.endpoints.get(path)
        provider.requests.append(endpoint or path)
        try:
            if endpoint in faults:
                self._fault(*faults[endpoint])
            if endpoint == "authorize" and self.command == "GET":
                provider.authorize(query, self.headers.get("Accept"))
            if endpoint == "token" and self.command == "POST":
                provider.exchange(form)
            if endpoint in ("user", *provider.data.get("lists", ())) and self.command == "GET":
                grant = provider.grant_of(self.headers)
                if endpoint == "user":
                    provider.user(grant, query)
                provider.list(endpoint, grant, query, self.path.partition("?")[0])
            raise Answer(404, {"message": "Not Found"})
        except Answer as answer:
            self._send(answer)

    def _fault(self, kind, value=None):
        if kind == "slow":
            time.sleep(float(value))
        elif kind == "held":
            self.server.provider.released.wait(60)
            if value:
                raise Answer(int(value), {"message": "a fault"})
        elif kind == "answer":
            raise Answer(*value)
        elif kind == "granted":  # only to those whose token is good
            self.server.provider.grant_of(self.headers)
            raise Answer(int(value), {"message": "a fault"})
        elif kind == "status":
            raise Answer(int(value), {"message": "a fault"})
        elif kind == "huge":
            raise Answer(200, b'{"sub":"' + b"x" * HUGE + b'"}')
        elif kind == "text":
            raise Answer(200, b"This is not JSON.")
        elif kind == "type":
            raise Answer(200, b'{"id":1,"sub":"1","user_id":"1"}', "text/html")
        elif kind == "redirect":
            raise Answer(302, b"", headers={"Location": self.server.provider.base_url + "/elsewhere"})
        elif kind == "elsewhere":
            raise Answer(200, [], headers={
                "Link": '<https://localhost:1/teams?page=2>; rel="next"'})
        elif kind == "endless":
            raise Answer(200, [], headers={
                "Link": '<%s%s>; rel="next"' % (self.server.provider.base_url, self.path)})
        elif kind == "link":
            raise Answer(200, [], headers={"Link": urllib.parse.unquote(value)})
        elif kind == "cut":
            raise Answer(200, b'{"sub":', headers={"Content-Length": "1000", "Connection": "close"})
        elif kind == "json":
            raise Answer(200, urllib.parse.unquote(value).encode())
        else:
            raise Answer(500, {"message": "no such fault"})

    def _send(self, answer):
        headers = {"Content-Type": answer.content_type, "Content-Length": str(len(answer.body)),
                   "Cache-Control": "no-store", **answer.headers}
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        if headers.get("Connection") == "close":
            self.close_connection = True

    do_GET = _answer
    do_POST = _answer


def main():
    parser = argparse.ArgumentParser(description="An identity provider on this machine, for tests.")
    parser.add_argument("--provider", required=True, choices=NAMES)
    parser.add_argument("--port", type=int, default=0, help="0: a free one; the URL is printed")
    parser.add_argument("--certificate", required=True,
                        help="PEM: the server's certificate, its chain and its key")
    parser.add_argument("--cases", default=CASES, help="the folder of the files NAME.json")
    parser.add_argument("--client-id")
    parser.add_argument("--client-secret")
    parser.add_argument("--client-secret-file", help="a file with the secret in its first line")
    options = parser.parse_args()
    provider = MockProvider(options.provider, options.certificate, options.port, options.cases)
    provider.client_id = options.client_id or provider.client_id
    provider.client_secret = options.client_secret or provider.client_secret
    if options.client_secret_file:
        with open(options.client_secret_file, encoding="ascii") as file:
            provider.client_secret = file.readline().rstrip("\n")
    print(provider.base_url, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    main()
