#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the OpenAPI document from doc/openapi.yaml and src/base/error_table.h, and prints it as
JSON.

In doc/openapi.yaml, PAGE_ITEMS_MAX is a page's size (src/api/page.h), and FILTERED(oauth_module) what
filters of that resource's list may name (src/model/member_table.h, and more in src/store).

usage: doc/openapi.py [--service NAME] [--providers "NAME..."]

The options replace the default names with those of a deployment.
"""
import argparse
import copy
import functools
import json
import os
import re
import sys

try:
    import yaml
except ImportError:
    sys.exit("doc/openapi.py: PyYAML is missing: install python3-yaml")

import resource_rows

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.path.join(HERE, "openapi.yaml")
TABLE = os.path.join(HERE, "..", "src", "base", "error_table.h")
PROVIDER_TABLE = os.path.join(HERE, "..", "src", "model", "provider_table.h")
MEMBER_TABLE = os.path.join(HERE, "..", "src", "model", "member_table.h")
# The columns of events that are texts.
EVENT_TABLE = os.path.join(HERE, "..", "src", "model", "audit_event.h")
PAGE = os.path.join(HERE, "..", "src", "api", "page.h")


def read_filter_tables():
    """Returns the files of src/store that have a list's table of what filters may name; None: a plain module,
    of which they also name the id."""
    return {"ssh_credential": "ssh_credential_filter.c",
            **{module.name: None if module.form == "PLAIN" else module.name + ".c"
               for module in resource_rows.modules()},
            "audit_event": "audit_event.c"}


FILTER_TABLES = read_filter_tables()

METHODS = ("post", "get", "put", "patch", "delete")
SERVICE = "service"

# Conditions that both the program and the web server detect, under the same number.
SHARED = {9000, 9001, 9006}


class Row:
    """A row of the error catalogue."""

    def __init__(self, number, status, text, is_servers):
        self.number, self.status, self.text = number, status, text
        self.is_servers = is_servers


def read_sections():
    """Returns (heading, rows) of the catalogue, in the order of the file."""
    pattern = r'^/\* ([A-Z].*) \*/$|^(SERVER_)?ERROR\((?:[A-Z][A-Z0-9_]*, +)?(\d+), (\d+), "(.+)"\)$'
    sections = []
    with open(TABLE, encoding="utf-8") as file:
        for heading, servers, number, status, text in re.findall(pattern, file.read(), re.M):
            if heading:
                sections.append((heading, []))
            else:
                sections[-1][1].append(Row(int(number), int(status), text.replace('\\"', '"'),
                                           bool(servers)))
    return [(heading, rows) for heading, rows in sections if rows]


def read_rows():
    """Returns the catalogue by number, in the order of the file."""
    return {row.number: row for _, rows in read_sections() for row in rows}


def read_providers():
    """Returns (how people call it, whether it has teams) by the default names of the providers, in
    their order."""
    pattern = r'^IDENTITY_PROVIDER\(\w+, "(\w+)", "([^"]+)",\s*(HAS_TEAMS|HAS_NO_TEAMS)\b'
    with open(PROVIDER_TABLE, encoding="utf-8") as file:
        text = file.read()
    rows = {name: (title, teams == "HAS_TEAMS") for name, title, teams in
            re.findall(pattern, text, re.M)}
    if not rows or len(rows) != len(re.findall(r"^IDENTITY_PROVIDER\(", text, re.M)):
        sys.exit("doc/openapi.py: cannot read " + PROVIDER_TABLE)
    return rows


PROVIDER_ROWS = read_providers()
PROVIDERS = list(PROVIDER_ROWS)
TITLES_OF_PROVIDERS = [title for title, _ in PROVIDER_ROWS.values()]


def filtered(resource):
    """Returns the kinds of the members that a filter of the resource's list may name, by name."""
    with open(MEMBER_TABLE, encoding="utf-8") as file:
        _, _, rows = file.read().partition("#define %s_MEMBERS(" % resource.upper())
    found = re.findall(r"MEMBER\(with, (\w+), (\w+), [^)]*? FILTERED,", rows.partition("\n\n")[0])
    if not FILTER_TABLES[resource]:
        return {**dict(found), "id": "STRING"}
    with open(os.path.join(HERE, "..", "src", "store", FILTER_TABLES[resource]), encoding="utf-8") as file:
        text = file.read()
    with open(EVENT_TABLE, encoding="utf-8") as file:
        texts = re.findall(r"^ {4}ROW\((\w+)\)", file.read(), re.M)
    text = text.replace("    AUDIT_EVENT_TEXTS(TEXT_MEMBER)\n",
                        "".join('    {"%s", FILTER_STRING\n' % name for name in texts))
    found += re.findall(r'^ {4}\{"([a-z_.]+)", FILTER_(\w+)', text, re.M)
    if not found:
        sys.exit("doc/openapi.py: cannot read what filters of %s may name" % resource)
    return dict(found)


def page_items_max():
    """Returns how many items a page has at most."""
    with open(PAGE, encoding="utf-8") as file:
        return int(re.search(r"^#define API_PAGE_ITEMS_MAX (\d+)$", file.read(), re.M).group(1))


def listed(names):
    names = ["`obj.%s`" % name for name in names]
    return " and ".join([", ".join(names[:-1]), names[-1]])


def plain(text):
    """Escapes the characters that Markdown would interpret."""
    return re.sub(r"([\\`*<>|])", r"\\\1", text)


def table(rows, with_status):
    """Returns conditions as a Markdown table."""
    head = ["Number", "Status", "Meaning"] if with_status else ["Number", "Meaning"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        status = [str(row.status)] if with_status else []
        lines.append([str(row.number), *status, plain(row.text)])
    return "".join("| %s |\n" % " | ".join(line) for line in lines)


def mark_additions(tree):
    """Says in the description of each part that has x-addition what it is."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, (dict, list)):
            mark_additions(value)
    if isinstance(tree, dict) and "x-addition" in tree:
        text = "**An addition of Adit's.** " + tree.get("description", "")
        tree["description"] = text.rstrip(" ")


def add_nulls(tree):
    """Adds to each module the providers that are not selected."""
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, (dict, list)):
            add_nulls(value)
    if isinstance(tree, dict) and "inactivity_timeout" in tree:
        tree["provider"] = {name: tree["provider"].get(name) for name in PROVIDERS}


def ref(kind, name):
    return {"$ref": "#/components/%s/%s" % (kind, name)}


class Expander:
    def __init__(self, document, rows):
        self.document, self.rows = document, rows
        self.groups = document.pop("x-error-groups")
        self.elsewhere = document.pop("x-errors-elsewhere")
        self.headers = document["components"]["headers"]
        self.server_rows = [row for row in rows.values() if row.is_servers]

    # ---- headers ----

    def common_headers(self, is_servers_too=False):
        """Headers of every answer.  The web server's own answers have no operation id."""
        operation_id = ref("headers", "OperationId")
        if is_servers_too:
            operation_id = dict(self.headers["OperationId"], required=False)
        return {"Service-Operation-Id": operation_id,
                "Cache-Control": ref("headers", "CacheControl"),
                "Vary": ref("headers", "Vary"),
                "Access-Control-Allow-Origin": ref("headers", "AllowOrigin"),
                "Access-Control-Expose-Headers": ref("headers", "ExposeHeaders")}

    def error_headers(self, status, is_mixed):
        headers = self.common_headers(is_mixed)
        if status == 401:
            headers["WWW-Authenticate"] = ref("headers", "WwwAuthenticate")
        if status == 405:
            headers["Allow"] = ref("headers", "Allow")
        # None means several of the web server's errors, including 429.
        if status in (503, None):
            headers["Retry-After"] = ref("headers", "RetryAfter")
        return headers

    # ---- errors ----

    def numbers(self, listed):
        """The numbers that a list gives directly and by the names of groups."""
        found = set()
        for entry in listed:
            found.update(self.groups[entry] if isinstance(entry, str) else [entry])
        unknown = found - set(self.rows)
        if unknown:
            raise SystemExit("%s: unknown error %s" % (SOURCE, sorted(unknown)))
        return found

    def error_response(self, title, rows):
        """The response for conditions of one status, or for the web server's errors of several."""
        rows = sorted(rows, key=lambda row: (row.status, row.number))
        statuses = sorted({row.status for row in rows})
        is_mixed = any(row.is_servers or row.number in SHARED for row in rows)
        example = {"error_code": "ERR_SERVICE_%d" % rows[0].number, "status_code": rows[0].status,
                   "msg": rows[0].text, "details": {}}
        if not rows[0].is_servers:
            example["details"]["operation_id"] = "op_0Ck4Ev3QnU8sYt5jVw2Lx6PzRkM"
        return {
            "description": title + "\n\n" + table(rows, len(statuses) > 1),
            "headers": self.error_headers(statuses[0] if len(statuses) == 1 else None, is_mixed),
            "content": {"application/json": {
                "schema": dict(ref("schemas", "Error"), properties={
                    "error_code": {"enum": ["ERR_SERVICE_%d" % row.number for row in rows]},
                    "status_code": {"enum": statuses}}),
                "example": example}}}

    def error_responses(self, listed):
        """The responses of an operation by status, and the web server's other errors."""
        numbers = self.numbers(["always", *listed])
        own = [row for row in self.rows.values() if row.number in numbers]
        statuses = sorted({row.status for row in own})
        responses = {}
        for status in statuses:
            rows = [row for row in own + self.server_rows if row.status == status]
            responses[str(status)] = self.error_response(TITLES[status], rows)
        rest = [row for row in self.server_rows if row.status not in statuses]
        responses["default"] = self.error_response("The web server's own errors.",
                                                   rest)
        return responses

    # ---- operations ----

    def add_conditions(self, operation, is_read):
        """Adds the ETag and the condition headers of an operation on one resource."""
        etag = {"ETag": ref("headers", "ETag")}
        for response in operation["responses"].values():
            if "content" in response:
                response["headers"] = {**etag, **response.get("headers", {})}
        if is_read:
            operation["responses"]["304"] = {
                "description": "The resource still has the tag in If-None-Match.", "headers": etag}
        operation.setdefault("parameters", []).extend(
            [ref("parameters", "IfMatch"), ref("parameters", "IfNoneMatch")])

    def expand_operation(self, method, operation):
        if "condition" in operation["x-errors"]:
            self.add_conditions(operation, method == "get")
        for response in operation["responses"].values():
            response["headers"] = {**self.common_headers(), **response.get("headers", {})}
        operation["responses"].update(self.error_responses(operation.pop("x-errors")))
        if operation.get("security") != []:
            operation.setdefault("parameters", []).append(ref("parameters", "Version"))

    def make_head(self, get):
        head = copy.deepcopy(get)
        head["operationId"] = re.sub("^[a-z]+", "head", get["operationId"])
        head["summary"] = "Like GET, without the body"
        head["tags"] = ["HEAD and OPTIONS"]
        head.pop("description", None)
        for response in head["responses"].values():
            response.pop("content", None)
        return head

    def make_options(self, operation):
        responses = {"204": {"description": "The methods of the path are in Allow.",
                             "headers": {
                                 **self.common_headers(), "Allow": ref("headers", "Allow"),
                                 "Access-Control-Allow-Methods": ref("headers", "AllowMethods"),
                                 "Access-Control-Allow-Headers": ref("headers", "AllowHeaders"),
                                 "Access-Control-Max-Age": ref("headers", "MaxAge")}}}
        responses.update(self.error_responses([]))
        return {"operationId": re.sub("^[a-z]+", "options", operation["operationId"]),
                "summary": "List the methods of the path",
                "tags": ["HEAD and OPTIONS"],
                "security": [],
                "responses": responses}

    def name_providers(self):
        """Says beside the neutral name of each provider how people call it."""
        named = ["`%s` (%s)" % (name, title) for name, (title, _) in PROVIDER_ROWS.items()]
        for tag in self.document["tags"]:
            tag["description"] = tag["description"].replace(
                "@PROVIDERS@", ", ".join(named[:-1]) + " and " + named[-1])

    def list_providers(self):
        """Writes the providers where the source has none: in schemas and in examples of answers."""
        schemas = self.document["components"]["schemas"]
        for name, end in ("OauthProviders", ""), ("OauthProvidersPut", "Put"):
            schemas[name]["properties"] = {
                provider: {"description": title + ".", "anyOf": [
                    ref("schemas", ("OauthHostingProvider" if has_teams else "OauthProvider") + end),
                    {"type": "null"}]}
                for provider, (title, has_teams) in PROVIDER_ROWS.items()}
        schemas["OauthProviders"]["required"] = PROVIDERS
        schemas["OauthProviderNames"]["properties"]["providers"].update(
            minItems=len(PROVIDERS), maxItems=len(PROVIDERS))
        examples = self.document["components"]["examples"]
        examples["providersAnswer"]["value"]["providers"] = [
            {"name": name, "title": title} for name, (title, _) in PROVIDER_ROWS.items()]
        for name, example in examples.items():
            if name.endswith("Answer"):
                add_nulls(example["value"])

    def expand(self):
        self.list_providers()
        self.name_providers()
        mark_additions(self.document)
        for item in self.document["paths"].values():
            for method in METHODS:
                if method in item:
                    self.expand_operation(method, item[method])
            if "get" in item:
                item["head"] = self.make_head(item["get"])
            item["options"] = self.make_options(item.get("get") or item["post"])
            # swagger-ui loses the parameters of a path when a link opens one of its operations.
            shared = item.pop("parameters", [])
            for operation in item.values():
                if shared:
                    operation["parameters"] = copy.deepcopy(shared) + operation.get("parameters", [])
        self.document["x-answers-elsewhere"] = self.error_responses(self.elsewhere)
        return self.document


TITLES = {
    400: "The request is invalid.",
    401: "The request has no valid API key.",
    403: "The key may not do this.",
    404: "The resource does not exist.",
    405: "The path does not take the method.",
    409: "The request conflicts with what is stored.",
    413: "The body is too large.",
    412: "The resource does not match the condition.",
    415: "The Content-Type of the body is missing or not supported.",
    422: "The Idempotency-Key was used with another body.",
    500: "The service failed.",
    503: "The service cannot serve the request at the moment.",
}


def rename(text, service, providers):
    """Replaces the default names in the document's JSON with those of a deployment, as
    "aditctl openapi" does."""
    names = {"Service-Version": service.capitalize() + "-Version",
             "Service-Operation-Id": service.capitalize() + "-Operation-Id",
             "ERR_SERVICE_": "ERR_%s_" % service.upper(),
             '"service."': '"%s."' % service,
             **dict(zip(PROVIDERS, providers))}
    return re.sub(r'\b(Service-(Version|Operation-Id)|%s)\b|\bERR_SERVICE_|"service\."'
                  % "|".join(PROVIDERS), lambda match: names[match.group()], text)


def read_source():
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read().replace("PAGE_ITEMS_MAX", str(page_items_max()))
    text = re.sub(r"FILTERED\((\w+)\)", lambda found: listed(filtered(found.group(1))), text)
    document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    # YAML anchors share one object.  Each place needs its own copy.
    return json.loads(json.dumps(document))


@functools.lru_cache(maxsize=None)
def grouped():
    """The numbers in groups: checks before an operation and faults below it give them."""
    return set().union(*read_source()["x-error-groups"].values())


def make(service=SERVICE, providers=None):
    """Returns the document as JSON."""
    document = Expander(read_source(), read_rows()).expand()
    text = json.dumps(document, indent=1, ensure_ascii=False)
    return rename(text, service, providers or PROVIDERS)


def main():
    parser = argparse.ArgumentParser(description="Prints the OpenAPI document as JSON.")
    parser.add_argument("--service", default=SERVICE)
    parser.add_argument("--providers", type=str.split, default=PROVIDERS)
    arguments = parser.parse_args()
    if len(arguments.providers) != len(PROVIDERS):
        parser.error("--providers needs %d names" % len(PROVIDERS))
    print(make(arguments.service, arguments.providers))


if __name__ == "__main__":
    main()
