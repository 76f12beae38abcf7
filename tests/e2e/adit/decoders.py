# SPDX-License-Identifier: MIT
"""What the published clients need from an answer: each decodes it in its own way, and fails over
what does not suit it.  A client's rules say what it does not bear."""
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

# absent: members that need not be there; null: kinds of value that may be null, beside those of
# MAY_BE_NULL; largest: number, where numbers have to be integers without a fraction or an exponent.
Rules = collections.namedtuple("Rules", "absent null largest")

ALL_MEMBERS = {name for members in OBJECTS.values() for name in members}
LISTS = {"texts", "[credential]", "[ref]"}
ALL_KINDS = {kind for members in OBJECTS.values() for kind in members.values()}
ROWS = {"[credential]"}

CLIENTS = {
    # encoding/json leaves alone what is absent or null, and is strict about every type.
    "Go": Rules(ALL_MEMBERS, ALL_KINDS, 2 ** 32 - 1),
    # Properties index a dictionary: a member that is absent is a KeyError.  Objects inside others
    # are made of their own, at once.
    "Python": Rules({"error_code"}, ALL_KINDS - {"[credential]", "[ref]", "provider", "map"}, None),
    # Constructors require what is neither an Optional nor a list; those of an error nothing.
    "Java": Rules(MAY_BE_NULL | LIST_MEMBERS | set(OBJECTS["error"]) | {"enabled", "owner_id"},
                  LISTS | {"map"}, None),
    # The rows of a list are mapped; the rest stays a hash.
    "Ruby": Rules(ALL_MEMBERS - {"ssh_credentials"}, ALL_KINDS - ROWS, None),
    # No null in a plain bool or int, which has 31 bits and a sign.
    ".NET": Rules(ALL_MEMBERS, ALL_KINDS - {"flag", "number"}, 2 ** 31 - 1),
    # Iterates over the rows of a list, and over the entries of an error's details.
    "npm": Rules(ALL_MEMBERS - {"ssh_credentials", "details"}, ALL_KINDS - ROWS - {"map"}, None),
}


class NotDecoded(AssertionError):
    """The client would fail over the answer."""


def need(condition, path, what):
    if not condition:
        raise NotDecoded("%s: %s" % (path, what))


def decode(client, kind, body):
    """Decodes an answer as the client does.  Returns it."""
    value = json.loads(body.decode("utf-8"))
    _object(CLIENTS[client], kind, value, kind)
    return value


def _object(rules, kind, value, path):
    need(isinstance(value, dict), path, "is no object")
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
        need(isinstance(value, list), path, "is no list")
        for i, item in enumerate(value):
            _object(rules, kind[1:-1], item, "%s[%d]" % (path, i))
    elif kind in OBJECTS:
        _object(rules, kind, value, path)
    elif kind == "texts":
        need(isinstance(value, list) and all(isinstance(item, str) for item in value), path,
             "is no list of texts")
    elif kind == "map":
        need(isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
             path, "is no map from text to text")
    elif kind == "flag":
        need(isinstance(value, bool), path, "is no boolean")
    elif kind == "number":
        need(isinstance(value, (int, float)) and not isinstance(value, bool), path, "is no number")
        need(rules.largest is None or type(value) is int and 0 <= value <= rules.largest, path,
             "is no integer that fits")
    else:
        _text(kind, value, path)


def _text(kind, value, path):
    need(isinstance(value, str), path, "is no text")
    if kind == "uri":
        parts = urllib.parse.urlsplit(value)
        need(parts.scheme in ("http", "https") and parts.netloc and not set(value) & set(' <>"{}'),
             path, "is no absolute URI")
    elif kind == "time":
        try:
            datetime.datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ")
        except ValueError as error:
            raise NotDecoded("%s: is no time of RFC 3339" % path) from error
