# SPDX-License-Identifier: MIT
"""The measured operations, as requests in which {row} and {nonce} stand for numbers."""
import collections
import json
import time
import urllib.parse

FIRST_ROW = 10000000
PAGE = 100

# How many routes with an OAuth module the responder uses.  pgbench uses as many others: it writes
# the sample's sealed secret to other rows, where the responder could not decrypt it.
MODULES = 1000

CREDENTIALS = "/ssh_credentials"
CREDENTIAL = CREDENTIALS + "/sshcr_00{row}" + 17 * "0"
DECISIONS = "/ssh_decisions"
MODULE = "/edges/https/edghts_bench/routes/edghtsrt_{row}/oauth"

# Each POST has another key: an account may have 1,000 credentials of one.
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHwYM2is{nonce}Z7dXz+m1x6pOQUEZ/r0pgqV/GGPj"
MODULE_BODY = """{
    "provider": {"provider_a": {
        "client_id": "client-of-the-edge", "client_secret": "secret-of-the-edge",
        "scopes": ["read:org", "user:email"], "email_domains": ["example.com", "example.org"],
        "teams": ["example/operators"]}},
    "inactivity_timeout": 3600, "maximum_duration": {nonce}
}"""

# name: in the figures.  key: one of the bed's API keys.  rows: the rows that {row} is drawn from,
# "credentials", "small" (those of a small account), "modules" or "none".
Operation = collections.namedtuple("Operation", "name title method path body status key rows")

OPERATIONS = [
    Operation("get", "GET one", "GET", CREDENTIAL, "", 200, "reader", "credentials"),
    Operation("decide", "decision", "POST", DECISIONS,
              '{"fingerprint": "SHA256:{row}%s", "target": "a.example.com"}' % (35 * "0"), 200,
              "reader", "credentials"),
    Operation("list", "list of 100", "GET", CREDENTIALS, "", 200, "reader", "none"),
    Operation("patch", "PATCH", "PATCH", CREDENTIAL, '{"description": "edge {nonce}"}', 200,
              "reader", "credentials"),
    # In another account, so that the reader's list does not change.
    Operation("post", "POST", "POST", CREDENTIALS,
              '{"description": "edge {nonce}", "acl": ["bind:*.example.com"], "public_key": "%s"}'
              % KEY, 201, "writer", "none"),
    Operation("put_module", "PUT module", "PUT", MODULE, MODULE_BODY, 200, "reader", "modules"),
    Operation("get_module", "GET module", "GET", MODULE, "", 200, "reader", "modules"),
    Operation("unknown_key", "401", "GET", CREDENTIAL, "", 401, "unknown", "credentials"),
]
BY_NAME = {operation.name: operation for operation in OPERATIONS}

PUT_EDGE = BY_NAME["put_module"]._replace(
    name="put_edge", title="PUT mutual TLS module", path="/edges/tls/edgtls_{row}/mutual_tls",
    body='{"certificate_authority_ids": ["ca_1{row}", "ca_2{row}"]}')

# Lists to compare with that of credentials.  {before_id}: the event after those that are measured.
OTHER_LISTS = {
    name: BY_NAME["list"]._replace(name=name, title=title, path=path)
    for name, title, path in (
        ("list_events", "audit events", "/audit_events?before_id={before_id}"),
        ("list_oauth", "OAuth modules", "/oauth_modules"),
        ("list_edges", "mutual TLS modules", "/mutual_tls_modules"))}


# Requests of a small account, which has one page of credentials.
SMALL_GET = BY_NAME["get"]._replace(name="small_get", key="small", rows="small")
SMALL_LIST = BY_NAME["list"]._replace(name="small_list", key="small")


def is_read(operation):
    return operation.method == "GET" or operation.path == DECISIONS


def page_of(number, n_rows):
    """Returns the operation that lists a page, and the page's number: the last page if there are
    fewer."""
    number = min(number, n_rows // PAGE)
    before = FIRST_ROW + n_rows - (number - 1) * PAGE
    path = CREDENTIALS + "?before_id=sshcr_00%d" % before + 17 * "0"
    return BY_NAME["list"]._replace(name="page", path=path), number


def created_at(row):
    """When load.sql says that a row was created, which is what its identifier tells."""
    units = sum(int(digit) * 62 ** place for place, digit in enumerate(str(row)[4::-1]))
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(units * 0.13566701687887962)))


def filters_of(n_rows, owner):
    """Returns the operations that list under a filter, by name.  owner owns all credentials."""
    middle = created_at(FIRST_ROW + n_rows // 2)
    expressions = {
        "filter_id": 'obj.id == "sshcr_00{row}%s"' % (17 * "0"),
        "filter_key": 'obj.fingerprint == "SHA256:{row}%s"' % (35 * "0"),
        "filter_owner": 'obj.owner_id == "%s"' % owner,
        "filter_time": 'obj.created_at == timestamp("%s")' % middle,
        "filter_older": 'obj.created_at <= timestamp("%s") && obj.owner_id == "%s"'
                        % (middle, owner)}
    return {name: BY_NAME["list"]._replace(
        name=name, title=name, rows="credentials",
        path=CREDENTIALS + "?filter=" + urllib.parse.quote(expression, safe="{}"))
        for name, expression in expressions.items()}


def request(operation, host, key):
    """The text of the request, with {row} and {nonce} in it."""
    body = operation.body
    lines = ["%s %s HTTP/1.1" % (operation.method, operation.path), "Host: " + host,
             "Authorization: Bearer " + key, "Service-Version: 2"]
    if body:
        # All numbers have as many digits as FIRST_ROW.
        length = len(fill(body, FIRST_ROW, FIRST_ROW))
        lines += ["Content-Type: application/json", "Content-Length: %d" % length]
        json.loads(fill(body, FIRST_ROW, FIRST_ROW))
    return "\r\n".join(lines) + "\r\n\r\n" + body


def fill(text, row, nonce):
    return text.replace("{row}", str(row)).replace("{nonce}", str(nonce))
