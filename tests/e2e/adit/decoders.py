# SPDX-License-Identifier: MIT
"""Decoders that accept the same answers as the published clients.  A client's rules list the
answers that it cannot decode."""
import collections
import datetime
import json
import urllib.parse

PROVIDERS = ["github", "facebook", "microsoft", "google", "linkedin", "gitlab", "twitch", "amazon"]
CONFIG = {"client_id": "text", "client_secret": "text", "scopes": "texts",
          "email_addresses": "texts", "email_domains": "texts"}

# The members of each object that clients decode.  "[x]" is a list of x.
OBJECTS = {
    "credential": {"id": "text", "uri": "uri", "created_at": "time", "description": "text",
                   "metadata": "text", "public_key": "text", "acl": "texts", "owner_id": "text"},
    "credentials": {"ssh_credentials": "[credential]", "uri": "uri", "next_page_uri": "uri"},
    "oauth": {"enabled": "flag", "provider": "provider", "options_passthrough": "flag",
              "cookie_prefix": "text", "inactivity_timeout": "number",
              "maximum_duration": "number", "auth_check_interval": "number"},
    "provider": {"github": "github", **{name: "config" for name in PROVIDERS[1:]}},
    "config": CONFIG,
    "github": {**CONFIG, "teams": "texts", "organizations": "texts"},
    "mutual_tls": {"enabled": "flag", "certificate_authorities": "[ref]"},
    "ref": {"id": "text", "uri": "uri"},
    "error": {"error_code": "text", "status_code": "number", "msg": "text", "details": "map"},
}
LIST_MEMBERS = {name for members in OBJECTS.values() for name, kind in members.items()
                if kind == "texts" or kind.startswith("[")}
MAY_BE_NULL = {"next_page_uri", "client_id", "client_secret", *PROVIDERS}

# absent: members that may be absent.  null: kinds of value that may be null, in addition to
# MAY_BE_NULL.  largest: the largest number, if the client accepts only integers without a fraction
# or an exponent.
Rules = collections.namedtuple("Rules", "absent null largest")

ALL_MEMBERS = {name for members in OBJECTS.values() for name in members}
LISTS = {"texts", "[credential]", "[ref]"}
ALL_KINDS = {kind for members in OBJECTS.values() for kind in members.values()}
ROWS = {"[credential]"}

CLIENTS = {
    # encoding/json skips absent and null members, and checks every type.
    "Go": Rules(ALL_MEMBERS, ALL_KINDS, 2 ** 32 - 1),
    # Properties read a dictionary, so an absent member is a KeyError.  Inner objects are
    # constructed at once.
    "Python": Rules({"error_code"}, ALL_KINDS - {"[credential]", "[ref]", "provider", "map"}, None),
    # Constructors require every member that is neither an Optional nor a list, except in errors.
    "Java": Rules(MAY_BE_NULL | LIST_MEMBERS | set(OBJECTS["error"]) | {"enabled", "owner_id"},
                  LISTS | {"map"}, None),
    # The client maps the rows of a list.  Everything else stays a hash.
    "Ruby": Rules(ALL_MEMBERS - {"ssh_credentials"}, ALL_KINDS - ROWS, None),
    # A plain bool or int cannot be null, and an int is signed with 32 bits.
    ".NET": Rules(ALL_MEMBERS, ALL_KINDS - {"flag", "number"}, 2 ** 31 - 1),
    # The client iterates over the rows of a list and over the entries of an error's details.
    "npm": Rules(ALL_MEMBERS - {"ssh_credentials", "details"}, ALL_KINDS - ROWS - {"map"}, None),
}


class NotDecoded(AssertionError):
    """The client cannot decode the answer."""


def need(condition, path, what):
    if not condition:
        raise NotDecoded("%s: %s" % (path, what))


def decode(client, kind, body):
    """Decodes an answer as the client does.  Returns the decoded answer."""
    value = json.loads(body.decode("utf-8"))
    _object(CLIENTS[client], kind, value, kind)
    return value


def _object(rules, kind, value, path):
    need(isinstance(value, dict), path, "is not an object")
    for name, member_kind in OBJECTS[kind].items():
        inside = "%s.%s" % (path, name)
        if name not in value:
            need(name in rules.absent, inside, "is absent")
        elif value[name] is None:
            need(name in MAY_BE_NULL or member_kind in rules.null, inside, "is null")
        else:
            _value(rules, member_kind, value[name], inside)


def _value(rules, kind, value, path):
    if kind.startswith("["):
        need(isinstance(value, list), path, "is not a list")
        for i, item in enumerate(value):
            _object(rules, kind[1:-1], item, "%s[%d]" % (path, i))
    elif kind in OBJECTS:
        _object(rules, kind, value, path)
    elif kind == "texts":
        need(isinstance(value, list) and all(isinstance(item, str) for item in value), path,
             "is not a list of strings")
    elif kind == "map":
        need(isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
             path, "is not a map from string to string")
    elif kind == "flag":
        need(isinstance(value, bool), path, "is not a boolean")
    elif kind == "number":
        need(isinstance(value, (int, float)) and not isinstance(value, bool), path,
             "is not a number")
        need(rules.largest is None or type(value) is int and 0 <= value <= rules.largest, path,
             "is not an integer in range")
    else:
        _text(kind, value, path)


def _text(kind, value, path):
    need(isinstance(value, str), path, "is not a string")
    if kind == "uri":
        parts = urllib.parse.urlsplit(value)
        need(parts.scheme in ("http", "https") and parts.netloc and not set(value) & set(' <>"{}'),
             path, "is not an absolute URI")
    elif kind == "time":
        try:
            datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
        except ValueError as error:
            raise NotDecoded("%s: is not an RFC 3339 time" % path) from error
