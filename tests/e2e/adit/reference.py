# SPDX-License-Identifier: MIT
"""Checks answers against the OpenAPI document: status, headers, body, and the errors that an
operation may answer with.  If a request succeeded, its query and body are checked too."""
import json
import os
import re
import sys
from urllib.parse import parse_qsl, unquote

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("tests/e2e: the Python module jsonschema is missing; install python3-jsonschema")

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "doc"))
import openapi  # noqa: E402  (set the path first)

# Headers of HTTP itself, which the document need not list.
HTTP_HEADERS = {"server", "date", "connection", "content-length", "content-type"}

# Optional headers of the program.  Any other optional header is absent only from answers of the web
# server.
OCCASIONAL_HEADERS = {"idempotent-replayed", "vary", "access-control-allow-origin",
                      "access-control-expose-headers", "access-control-allow-methods",
                      "access-control-allow-headers", "access-control-max-age"}

# Statuses that the web server and the program both answer with.
SERVERS_STATUSES = {404, 405, 413}

# The number of answers checked against the document, and the seen pairs of operation id and error
# number (or status, if the answer is no error).
n_held = 0
seen = set()

_documents = {}


def document(service=openapi.SERVICE, providers=None):
    """The document with a deployment's names."""
    names = (service, tuple(providers or openapi.PROVIDERS))
    if names not in _documents:
        _documents[names] = Document(json.loads(openapi.make(service, list(names[1]))), service)
    return _documents[names]


class Document:
    def __init__(self, tree, service):
        self.tree = self._inline(tree, tree)
        self.service = service
        rows = [row for row in openapi.read_rows().values() if row.is_servers]
        self.servers_statuses = {row.status for row in rows}
        self.servers_numbers = {row.number for row in rows}
        self.elsewhere = Operation(self, None, "", "elsewhere", {
            "responses": self.tree["x-answers-elsewhere"]})
        self.operations = {}
        for path, item in self.tree["paths"].items():
            for method, operation in item.items():
                if method == "parameters":
                    continue
                shared = item.get("parameters", [])
                operation["parameters"] = shared + operation.get("parameters", [])
                self.operations[path, method.upper()] = Operation(
                    self, path, method.upper(), operation["operationId"], operation)
        self._patterns = [(path, re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + r"\Z"))
                          for path in self.tree["paths"]]

    def _inline(self, node, root):
        """The tree with references replaced by their targets, because following them is slow."""
        if isinstance(node, list):
            return [self._inline(entry, root) for entry in node]
        if not isinstance(node, dict):
            return node
        rest = {name: self._inline(value, root) for name, value in node.items() if name != "$ref"}
        if "$ref" not in node:
            return rest
        target = root
        for name in node["$ref"].lstrip("#/").split("/"):
            target = target[name]
        target = self._inline(target, root)
        return {**rest, "allOf": [target]} if rest else target

    def methods(self, path):
        return {method for known, method in self.operations if known == path}

    def find(self, method, path):
        """The operation of a request, and whether the path is already in normal form."""
        for read in (path, _normal(path)):
            for known, pattern in self._patterns:
                if pattern.match(read):
                    found = self.operations.get((known, method))
                    return found or self.elsewhere, path == _normal(path)
        return self.elsewhere, False


def _normal(path):
    """The path as the web server normalises it."""
    out = []
    for part in re.sub("/+", "/", unquote(path)).split("/"):
        if part == "..":
            out = out[:-1]
        elif part != ".":
            out.append(part)
    return "/".join(out)


def _split(target):
    """Path and query of a request's target.  The target may be a whole URL."""
    path, _, query = target.partition("#")[0].partition("?")
    return re.sub("^[a-z]+://[^/]*", "", path), query


class Operation:
    def __init__(self, owner, path, method, ident, tree):
        self.document, self.path, self.method, self.ident = owner, path, method, ident
        self.responses = {status: Response(response)
                          for status, response in tree["responses"].items()}
        self.query = {parameter["name"] for parameter in tree.get("parameters", [])
                      if parameter["in"] == "query"}
        self.body = None
        if "requestBody" in tree:
            self.body = _validator(tree["requestBody"])

    def response(self, status):
        found = self.responses.get(str(status))
        return found or (self.responses["default"] if status in self.document.servers_statuses
                         else None)

    def numbers(self):
        """Every error number that the operation documents."""
        return set().union(*(response.numbers for response in self.responses.values()))

    def own_numbers(self):
        """The same, without the errors of groups and of the web server."""
        return self.numbers() - openapi.grouped() - self.document.servers_numbers


class Response:
    def __init__(self, tree):
        self.headers = {name.lower(): (Draft202012Validator(header["schema"]),
                                       header.get("required", False))
                        for name, header in tree.get("headers", {}).items()}
        self.types = set(tree.get("content", {}))
        self.body = _validator(tree)
        errors = tree.get("content", {}).get("application/json", {}).get("schema", {}).get(
            "properties", {})
        codes = errors.get("error_code", {}).get("enum", [])
        self.numbers = {int(code.rpartition("_")[2]) for code in codes}


def _validator(tree):
    content = tree.get("content")
    if not content:
        return None
    return Draft202012Validator(content.get("application/json", {"schema": {}})["schema"])


class Asked:
    """The request of an answer.  If the request is unknown, an answer of any operation is valid."""

    def __init__(self, method=None, path="", query="", body=b"", names=()):
        self.method, self.path, self.query, self.body = method, path, query, body
        self.document = document(*names)

    @classmethod
    def of_bytes(cls, data, prefixes, *names):
        """Parses one HTTP request.  Removes the first of prefixes that begins its path."""
        head, _, body = data.partition(b"\r\n\r\n")
        line = re.match(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n", head + b"\r\n")
        method, target = (part.decode("latin-1") for part in line.groups()) if line else ("", "")
        if re.search(rb"(?i)\r\ntransfer-encoding:", head):
            body = None
        path, query = _split(target)
        prefix = next((prefix for prefix in prefixes if path.startswith(prefix + "/")), "")
        return cls(method, path.removeprefix(prefix), query, body, names)


# Stands for a request that is not to the interface.
NOTHING = object()


def hold(answer, asked, head_only=False):
    """Raises an AssertionError if the answer differs from the document."""
    global n_held
    if asked is NOTHING:
        return
    n_held += 1
    fault = _fault_anywhere(answer, asked, head_only) if asked.method is None else \
        _fault(answer, asked, head_only)
    if fault:
        raise AssertionError("differs from the OpenAPI document: %s: %r, headers %s" % (
            fault, answer, answer.headers))


def _fault_anywhere(answer, asked, head_only):
    fault = None
    for operation in [*asked.document.operations.values(), asked.document.elsewhere]:
        fault = _fault_of(answer, operation, head_only)
        if not fault:
            return None
    return fault


def _fault(answer, asked, head_only):
    operation, is_plain = asked.document.find(asked.method, asked.path)
    number = answer.code
    # The web server or the program read the path as another one.
    if number in (9000, 9001) and not is_plain:
        operation = asked.document.elsewhere
    fault = _fault_of(answer, operation, head_only)
    if fault:
        return "%s: %s" % (operation.ident, fault)
    seen.add((operation.ident, number or answer.status))
    if answer.status < 300:
        return _fault_of_accepted(asked, operation)
    return None


def _fault_of(answer, operation, head_only):
    response = operation.response(answer.status)
    if not response:
        return "no such status"
    fault = _fault_of_headers(answer, operation, response)
    if fault or head_only:
        return fault
    if response.body is None or operation.method == "HEAD":
        return "a body" if answer.body else None
    if answer.header("Content-Type") not in response.types:
        return "Content-Type"
    if answer.header("Content-Type") != "application/json":
        return None
    error = next(response.body.iter_errors(answer.json), None)
    if error:
        return "%s: %s" % (error.json_path, error.message)
    return None


def _fault_of_headers(answer, operation, response):
    names = {name.lower() for name, _ in answer.headers}
    is_servers = "%s-operation-id" % operation.document.service not in names
    if is_servers and answer.status not in SERVERS_STATUSES | operation.document.servers_statuses:
        return "the answer has no operation id and is no error of the web server"
    if names - HTTP_HEADERS - set(response.headers):
        return "a header that is not documented"
    for name, (validator, is_required) in response.headers.items():
        values = answer.all(name)
        if not values and (is_required or not (is_servers or name in OCCASIONAL_HEADERS)):
            return "no %s" % name
        if values and (len(values) > 1 or not validator.is_valid(values[0])):
            return "%s: %s" % (name, values)
    allowed = {method.strip() for method in (answer.header("Allow") or "").split(",")}
    if operation.method == "OPTIONS" and answer.status == 204 and \
            allowed != operation.document.methods(operation.path):
        return "Allow"
    return None


def _fault_of_accepted(asked, operation):
    """Checks that the document permits the query and the body of a request that succeeded."""
    names = {name for name, _ in parse_qsl(asked.query, keep_blank_values=True)}
    if names - operation.query:
        return "accepted a query parameter that is not documented: %s" % asked.query
    if operation.body is None or asked.body is None:
        return None
    error = next(operation.body.iter_errors(json.loads(asked.body)), None)
    if error:
        return "accepted a body that is not documented: %s: %s" % (error.json_path, error.message)
    return None
