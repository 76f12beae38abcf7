# SPDX-License-Identifier: MIT
"""Requests in the shapes that the published clients of each language send, and the answer to each.
Data only."""
import collections
import json

from adit import samples
from adit.reference import openapi

# The headers that a client adds to every request, to one with a body, and to one without.
Sender = collections.namedtuple("Sender", "always with_body without_body")

JSON = ("Content-Type", "application/json")
JSON_UTF_8 = ("Content-Type", "application/json; charset=utf-8")

# The version of each client whose requests these are.
VERSIONS = {"Go": "8.0.0", "Python": "0.17.0", "Ruby": "0.27.0", "Java": "0.15.0", ".NET": "0.15.0",
            "npm": "0.11.0"}

SENDERS = {
    "Go": Sender([("User-Agent", "ngrok-api-go/%s/go1.25.0" % VERSIONS["Go"]), ("Ngrok-Version", "2"),
                  ("Accept-Encoding", "gzip")], [JSON], []),
    # Its HTTP library sends the length of an empty body, except on GET.
    "Python": Sender([("User-Agent", "ngrok-api-python/%s/3.11.2" % VERSIONS["Python"]), ("Accept", "*/*"),
                      ("Accept-Encoding", "gzip, deflate"), ("ngrok-version", "2")], [JSON],
                     [("Content-Length", "0")]),
    "Ruby": Sender([("Accept-Encoding", "gzip;q=1.0,deflate;q=0.6,identity;q=0.3"),
                    ("Accept", "*/*"), ("Ngrok-Version", "2"),
                    ("User-Agent", "ngrok-api-ruby//3.1.2-p20")], [JSON], []),
    "Java": Sender([("user-agent", "ngrok-api-java/%s/17.0.9" % VERSIONS["Java"]), ("ngrok-version", "2")],
                   [("content-type", "application/json")], []),
    ".NET": Sender([("ngrok-version", "2")], [JSON_UTF_8], []),
    # It sends a Content-Type even without a body.
    "npm": Sender([("User-Agent", "ngrok-api-typescript/0.10.0/v18.19.0"), ("Ngrok-Version", "2"),
                   ("Accept", "*/*"), ("Accept-Encoding", "gzip,deflate")], [JSON], [JSON]),
}

# Leniencies for clients.  Each has rows that are accepted, and similar rows that are refused.
POINTS = {
    "type": "a Content-Type without a body is ignored",
    "space": "+ and %20 in a query both mean a space",
    "alias": "beforeId is another name of before_id",
    "first": "an empty before_id means the first page",
    "filter": "clients send no absent filter, and a filter selects rows",
    "elsewhere": "clients call other resources, which do not exist here",
    "number": "a whole number may be written in any JSON form",
    "wrapped": "a module may be wrapped, with identifiers beside it",
    "empty": "among several providers, those without a value count as absent",
    "delete": "deleting a module that does not exist succeeds",
    "key": "a public key is kept byte for byte",
    "null": "a null member counts as absent",
    "text": "strings may be escaped or not",
}

# The answer has this status, or the error of this number.  members maps paths in the answer to the
# values there.
Shape = collections.namedtuple("Shape", "point client method target body status number members")

LIST = "/ssh_credentials"
CREDENTIAL = LIST + "/{id}"
OAUTH = "/edges/https/edghts_1/routes/edghtsrt_1/oauth"
MUTUAL_TLS = "/edges/tls/edgtls_1/mutual_tls"
PROVIDERS = [title.lower() for title in openapi.TITLES_OF_PROVIDERS]

KEY = samples.ED25519
NO_CONFIG = {"client_id": None, "client_secret": None, "scopes": None, "email_addresses": None,
             "email_domains": None}
NO_GITHUB = {**NO_CONFIG, "teams": None, "organizations": None}
APP = {**NO_CONFIG, "client_id": "app", "client_secret": "s", "email_domains": ["example.com"]}

NOTHING = {"enabled": True, "options_passthrough": False, "cookie_prefix": "ngrok.",
           "inactivity_timeout": 0, "maximum_duration": 0, "auth_check_interval": 0,
           **{"provider." + name: None for name in PROVIDERS}}


def accepted(point, client, method, target, body=None, **members):
    """A row whose answer is a success."""
    status = {"POST": 201, "DELETE": 204}.get(method, 200)
    return Shape(point, client, method, target, body, status, None,
                 members.get("members", members))


def refused(point, client, method, target, body, number, field=None):
    """A row whose answer is an error."""
    return Shape(point, client, method, target, body, None, number,
                 {} if field is None else {"details.field": field})


def put(point, client, body, members):
    return Shape(point, client, "PUT", OAUTH, body, 200, None, members)


def java_module(duration="0.0", provider="{}", more=""):
    """Java's builder sends every member but enabled, and durations as decimals."""
    return ('{"module":{"provider":%s,"options_passthrough":false,"cookie_prefix":"",'
            '"inactivity_timeout":0,"maximum_duration":%s,"auth_check_interval":0%s}}'
            % (provider, duration, more))


def dotnet_module(provider):
    """.NET sends every member, and null for those that are not set."""
    return {"enabled": None, "provider": provider, "options_passthrough": False,
            "cookie_prefix": None, "inactivity_timeout": 0, "maximum_duration": 0,
            "auth_check_interval": 0}


def selected(provider, **members):
    """The members of the answer if this provider is selected."""
    config = {"client_id": None, "client_secret": None, "scopes": [], "email_addresses": [],
              "email_domains": [], **members}
    if provider == "github":
        config = {"teams": [], "organizations": [], **config}
    return {**NOTHING, "provider." + provider: config}


def in_dotnet(provider, config):
    return dotnet_module({**dict.fromkeys(PROVIDERS), provider: config})


TYPE = [
    accepted("type", "npm", "GET", LIST + "?limit=1"),
    accepted("type", "npm", "GET", CREDENTIAL),
    accepted("type", "npm", "DELETE", OAUTH),
    accepted("type", "npm", "DELETE", MUTUAL_TLS),
    accepted("type", "Python", "DELETE", MUTUAL_TLS),
    accepted("type", "Ruby", "DELETE", OAUTH),
    accepted("type", "Java", "GET", LIST),
    refused("type", "npm", "GET", CREDENTIAL, "{}", 211),
    refused("type", "npm", "DELETE", OAUTH, "{}", 211),
    refused("type", "npm", "PUT", OAUTH, "", 9007),
    # Python's replace() without a module sends an empty body.
    refused("type", "Python", "PUT", OAUTH, "", 9007),
]

QUERY = [
    # No parameter may contain a space, so both spellings are refused for the same reason.  An
    # encoded plus sign is refused for that reason too.
    refused("space", "npm", "GET", LIST + "?limit=7&beforeId=a+b", None, 9009),
    refused("space", "Java", "GET", LIST + "?before_id=a%20b&limit=7", None, 9009),
    refused("space", "Go", "GET", LIST + "?before_id=a%2Bb&limit=7", None, 9009),
    refused("space", ".NET", "GET", LIST + "?before_id=&limit=+7", None, 244),
    refused("space", ".NET", "GET", LIST + "?before_id=&limit=%207", None, 244),
    accepted("space", ".NET", "GET", LIST + "?before_id=&limit=7"),
    accepted("alias", "npm", "GET", LIST + "?beforeId={id}&limit=100",
             members={"next_page_uri": None}),
    accepted("alias", "npm", "GET", LIST + "?limit=7&beforeId={id}"),
    accepted("alias", "Go", "GET", LIST + "?before_id={id}&limit=100"),
    refused("alias", "npm", "GET", LIST + "?beforeId={id}&before_id={id}", None, 232),
    refused("alias", "npm", "GET", LIST + "?beforeId={id}&beforeId={id}", None, 232),
    refused("alias", "npm", "GET", LIST + "?beforeid={id}", None, 231),
    refused("alias", "npm", "GET", LIST + "?before_Id={id}", None, 231),
    # .NET starts every walk with an empty before_id.
    accepted("first", ".NET", "GET", LIST + "?before_id="),
    accepted("first", ".NET", "GET", LIST + "?before_id=&limit=100"),
    accepted("first", "Ruby", "GET", LIST + "?before_id=&limit=1"),
    accepted("first", "npm", "GET", LIST + "?beforeId=&limit=1"),
    # Early releases of Ruby append a question mark to every path.
    accepted("first", "Ruby", "GET", LIST + "?"),
    accepted("first", "Ruby", "GET", CREDENTIAL + "?"),
    refused("first", ".NET", "GET", LIST + "?before_id=&limit=", None, 244),
    refused("first", ".NET", "GET", LIST + "?before_id=%20", None, 9009),
    refused("first", ".NET", "GET", LIST + "?before_id=&before_id=", None, 232),
]

FILTER = [
    accepted("filter", "Go", "GET", LIST + "?limit=7"),
    accepted("filter", "Java", "GET", LIST + "?limit=7"),
    accepted("filter", "Go", "GET", LIST + "?filter=obj.id+%3D%3D+%22{id}%22&limit=7",
             members={"ssh_credentials.0.id": "{id}", "next_page_uri": None}),
    accepted("filter", "Go", "GET", LIST + "?filter=obj.id+%21%3D+%22{id}%22+%26%26+obj.id+%3D%3D"
             "+%22{id}%22", members={"ssh_credentials": [], "next_page_uri": None}),
    accepted("filter", "Java", "GET", LIST + "?limit=7&filter=obj.id%20%3D%3D%20%22{id}%22",
             members={"ssh_credentials.0.id": "{id}"}),
    refused("filter", "Go", "GET", LIST + "?filter=obj.name+%3D%3D+%22x%22&limit=7", None, 250),
    refused("filter", "Go", "GET", LIST + "?filter=obj.id&filter=obj.id", None, 232),
    refused("filter", "Python", "PUT", OAUTH + "?filter=true", "{}", 231),
]

ELSEWHERE = [
    accepted("elsewhere", "Go", "PUT", MUTUAL_TLS, "{}", enabled=True),
    refused("elsewhere", "Go", "PUT", "/edges/https/edghts_1/mutual_tls", "{}", 9000),
    refused("elsewhere", "Python", "GET", "/edges/https/edghts_1/mutual_tls", None, 9000),
    refused("elsewhere", "Ruby", "GET", "/service_users", None, 9000),
]

NUMBER = [
    *(put("number", "Java", java_module(written), {"maximum_duration": number})
      for written, number in (("0.0", 0), ("0", 0), ("0E-9", 0), ("8.64E+4", 86400),
                              ("3.6E+3", 3600), ("6E+1", 60), ("86400.000000000", 86400),
                              ("4294967295", 4294967295), ("4.294967295E+9", 4294967295))),
    *(refused("number", "Java", "PUT", OAUTH, java_module(written), 215, "module.maximum_duration")
      for written in ("0.5", "1.5E+0", "8.64E-1", "-1", "4294967296", "4.3E+9", "1E+400",
                      '"8.64E+4"', '"PT24H"', "86400.000000001")),
]

WRAPPED = [
    put("wrapped", "Java", java_module(), NOTHING),
    # A call without a module.
    put("wrapped", "Java", "{}", NOTHING),
    put("wrapped", "Ruby", {"module": {"enabled": False}}, {**NOTHING, "enabled": False}),
    put("wrapped", "Ruby", {"module": {"provider": {"gitlab": {"email_domains": ["a.example"]}}}},
        selected("gitlab", email_domains=["a.example"])),
    put("wrapped", "Ruby", {}, NOTHING),
    # Early releases of .NET wrap the module.  Later ones do not.
    put("wrapped", ".NET", {"edge_id": "edghts_1", "id": "edghtsrt_1", "module": None}, NOTHING),
    put("wrapped", ".NET", {"edge_id": "edghts_1", "id": "edghtsrt_1",
                            "module": in_dotnet("github", {**NO_GITHUB, "teams": ["a/b"]})},
        selected("github", teams=["a/b"])),
    put("wrapped", ".NET", {"edge_id": None, "id": None, "module": dotnet_module(None)}, NOTHING),
    put("wrapped", ".NET", dotnet_module(None), NOTHING),
    put("wrapped", ".NET", in_dotnet("amazon", APP),
        selected("amazon", client_id="app", client_secret="s", email_domains=["example.com"])),
    put("wrapped", "npm", {"edge_id": "edghts_1", "id": "edghtsrt_1", "module": {
        "provider": {"github": {"organizations": ["acme"]}}, "cookie_prefix": "own."}},
        {**selected("github", organizations=["acme"]), "cookie_prefix": "own."}),
    put("wrapped", "npm", {"edge_id": "edghts_1", "id": "edghtsrt_1",
                           "inactivity_timeout": 5, "enabled": False},
        {**NOTHING, "inactivity_timeout": 5, "enabled": False}),
    put("wrapped", "npm", {"edge_id": "edghts_1", "id": "edghtsrt_1", "module": None,
                           "inactivity_timeout": 5}, {**NOTHING, "inactivity_timeout": 5}),
    # Go and Python send the module without a wrapping.  Go omits empty members, except provider.
    put("wrapped", "Go", '{"provider":{}}', NOTHING),
    put("wrapped", "Go", '{"enabled":true,"provider":{"github":{"teams":["a/b"]}},'
        '"maximum_duration":86400}', {**selected("github", teams=["a/b"]),
                                      "maximum_duration": 86400}),
    # Python cannot send a provider, because of a bug in the client.
    put("wrapped", "Python", {"enabled": False, "maximum_duration": 5},
        {**NOTHING, "enabled": False, "maximum_duration": 5}),
    refused("wrapped", "npm", "PUT", OAUTH,
            {"edge_id": "other", "id": "edghtsrt_1", "module": {}}, 9013, "edge_id"),
    refused("wrapped", ".NET", "PUT", OAUTH,
            {"edge_id": "edghts_1", "id": "other", "module": None}, 9013, "id"),
    refused("wrapped", "npm", "PUT", OAUTH, {"module": {}, "enabled": False}, 9025, "enabled"),
    refused("wrapped", "Ruby", "PUT", OAUTH, {"module": "{}"}, 215, "module"),
    refused("wrapped", "Ruby", "PUT", OAUTH, {"module": {"module": {}}}, 214, "module.module"),
    refused("wrapped", "Java", "PUT", OAUTH, java_module(more=',"max_duration":1'), 214,
            "module.max_duration"),

    accepted("wrapped", "Java", "PUT", MUTUAL_TLS,
             {"module": {"enabled": True, "certificate_authority_ids": ["ca_2", "ca_1"]}},
             members={"enabled": True, "certificate_authorities.0.id": "ca_2",
                      "certificate_authorities.1.id": "ca_1"}),
    accepted("wrapped", "Java", "PUT", MUTUAL_TLS, {}, certificate_authorities=[]),
    accepted("wrapped", ".NET", "PUT", MUTUAL_TLS,
             {"id": "edgtls_1", "module": {"enabled": None, "certificate_authority_ids": None}},
             enabled=True, certificate_authorities=[]),
    accepted("wrapped", ".NET", "PUT", MUTUAL_TLS,
             {"enabled": None, "certificate_authority_ids": ["ca_1"]}, enabled=True),
    accepted("wrapped", "Ruby", "PUT", MUTUAL_TLS, {"module": {"enabled": False}}, enabled=False),
    accepted("wrapped", "Python", "PUT", MUTUAL_TLS, {"certificate_authority_ids": ["ca_1"]},
             members={"certificate_authorities.0.id": "ca_1"}),
    accepted("wrapped", "Go", "PUT", MUTUAL_TLS, "{}", enabled=True),
    refused("wrapped", "npm", "PUT", MUTUAL_TLS, {"id": "other", "module": {}}, 9013, "id"),
    refused("wrapped", "Ruby", "PUT", MUTUAL_TLS, {"module": {"certificate_authorities": []}},
            214, "module.certificate_authorities"),
]

EMPTY = [
    put("empty", ".NET", dotnet_module({name: NO_GITHUB if name == "github" else NO_CONFIG
                                        for name in PROVIDERS}), NOTHING),
    put("empty", ".NET", dotnet_module({**dict.fromkeys(PROVIDERS, NO_CONFIG), "github": NO_GITHUB,
                                        "google": {**NO_CONFIG, "email_domains": ["a.example"]}}),
        selected("google", email_domains=["a.example"])),
    put("empty", ".NET", dotnet_module(dict.fromkeys(PROVIDERS)), NOTHING),
    put("empty", ".NET", in_dotnet("twitch", NO_CONFIG), selected("twitch")),
    put("empty", "Ruby", {"module": {"provider": dict.fromkeys(PROVIDERS, {})}}, NOTHING),
    put("empty", "Ruby", {"module": {"provider": {"google": {}, "gitlab": {"scopes": []}}}},
        NOTHING),
    put("empty", "Go", '{"provider":{"github":{}}}', selected("github")),
    put("empty", "Java", java_module(provider='{"google":{"scopes":[],"email_addresses":[],'
                                              '"email_domains":["a.example"]}}'),
        selected("google", email_domains=["a.example"])),
    put("empty", "npm", {"provider": {**dict.fromkeys(PROVIDERS), "linkedin": {
        "client_id": "", "client_secret": "", "scopes": [], "email_addresses": [],
        "email_domains": []}}}, selected("linkedin")),
    refused("empty", ".NET", "PUT", OAUTH,
            dotnet_module({**dict.fromkeys(PROVIDERS, NO_CONFIG), "github": NO_GITHUB,
                           "google": APP, "amazon": APP}), 7036, "provider"),
    refused("empty", "Ruby", "PUT", OAUTH,
            {"module": {"provider": {"google": {"email_domains": ["a.example"]},
                                     "gitlab": {"email_addresses": ["a@a.example"]}}}}, 7036,
            "module.provider"),
    # No provider has a value, but one has a misspelt member.
    refused("empty", ".NET", "PUT", OAUTH,
            dotnet_module({**dict.fromkeys(PROVIDERS, NO_CONFIG),
                           "google": {**NO_CONFIG, "teams": None}}), 214, "provider.google.teams"),
    refused("empty", "npm", "PUT", OAUTH, {"provider": {"provider_a": None}}, 214,
            "provider.provider_a"),
]

DELETE = [row for client in SENDERS for row in (
    accepted("delete", client, "DELETE", OAUTH),
    accepted("delete", client, "DELETE", OAUTH),
    refused("delete", client, "GET", OAUTH, None, 9003),
    put("delete", client, {}, NOTHING),
    accepted("delete", client, "DELETE", MUTUAL_TLS),
    accepted("delete", client, "DELETE", MUTUAL_TLS),
    refused("delete", client, "GET", MUTUAL_TLS, None, 9004),
    refused("delete", client, "DELETE", LIST + "/sshcr_unknown", None, 9002),
)]

TEXT = [
    *(accepted("key", client, "POST", LIST, {"public_key": text}, public_key=text)
      for client in SENDERS for text in (KEY, KEY + "\n", KEY + " a comment\r\n", "\n" + KEY)),
    refused("key", "Python", "POST", LIST, {"public_key": "%s\n%s\n" % (KEY, KEY)}, 612,
            "public_key"),
    refused("key", "Go", "POST", LIST, "{}", 611, "public_key"),
    # Go and .NET escape characters that could end a script.  .NET also escapes all but ASCII.
    accepted("text", "Go", "POST", LIST, '{"description":"a \\u003c b \\u0026 c","public_key":"%s"}'
             % KEY, description="a < b & c"),
    accepted("text", ".NET", "POST", LIST, '{"description":"Z\\u00FCrich \\uD83D\\uDD11",'
             '"metadata":null,"acl":null,"public_key":"%s","owner_id":null}'
             % KEY.replace("+", "\\u002B"), public_key=KEY, description="Z\u00fcrich \U0001f511"),
    accepted("text", "Python", "POST", LIST, {"public_key": KEY, "description": "\U0001f511 \u00fc",
                                              "metadata": "", "acl": []},
             description="\U0001f511 \u00fc", metadata="", acl=[]),
    *(accepted("text", client, "POST", LIST, '{"public_key":"%s","description":"\U0001f511 \u00fc"}'
               % KEY, description="\U0001f511 \u00fc") for client in ("Ruby", "Java", "npm")),
    refused("text", ".NET", "POST", LIST, '{"public_key":"%s","description":"\\uD83D"}' % KEY, 213),
    refused("text", "Ruby", "POST", LIST, b'{"description":"\xfc"}', 213),
    refused("text", "Java", "POST", LIST, '\ufeff{"public_key":"%s"}' % KEY, 213),
]

NULL = [
    accepted("null", ".NET", "PATCH", CREDENTIAL, {"id": "{id}", "description": None,
                                                   "metadata": None, "acl": None}),
    accepted("null", ".NET", "PATCH", CREDENTIAL, {"id": "{id}", "description": "new",
                                                   "metadata": None, "acl": None},
             description="new"),
    # Go omits from the body an identifier that it puts into the path.
    accepted("null", "Go", "PATCH", CREDENTIAL, "{}", description="new"),
    accepted("null", "Python", "PATCH", CREDENTIAL, {}, description="new"),
    accepted("null", "Ruby", "PATCH", CREDENTIAL, {"acl": ["bind:a.example"]}, description="new",
             acl=["bind:a.example"]),
    accepted("null", "Python", "PATCH", CREDENTIAL, {"acl": []}, description="new", acl=[]),
    accepted("null", "npm", "PATCH", CREDENTIAL, {"id": "{id}", "metadata": "m"}, metadata="m",
             description="new"),
    accepted("null", "Java", "PATCH", CREDENTIAL, {"description": ""}, description="",
             metadata="m"),
    refused("null", ".NET", "PATCH", CREDENTIAL, {"id": "sshcr_other", "description": None}, 9013,
            "id"),
    refused("null", ".NET", "PATCH", CREDENTIAL, {"id": "{id}", "acl": [None]}, 215, "acl[0]"),
    refused("null", ".NET", "PATCH", CREDENTIAL, {"id": "{id}", "descriptions": None}, 214,
            "descriptions"),
    refused("null", "Java", "PATCH", CREDENTIAL, {"public_key": KEY}, 9014, "public_key"),
]

SHAPES = TYPE + QUERY + FILTER + ELSEWHERE + NUMBER + WRAPPED + EMPTY + DELETE + TEXT + NULL


def body_of(shape, ident):
    """The body as bytes, or None without a body."""
    body = shape.body
    if body is None or isinstance(body, bytes):
        return body
    if not isinstance(body, str):
        body = json.dumps(body)
    return body.replace("{id}", ident).encode()
