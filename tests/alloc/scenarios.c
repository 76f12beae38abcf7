/* SPDX-License-Identifier: MIT */
/* The table of requests: every operation and every kind of error. */
#include "scenarios.h"

#include <stddef.h>

#define CREDENTIALS "/ssh_credentials"
#define CREDENTIAL CREDENTIALS "/{credential}"
#define DECISIONS "/ssh_decisions"
#define OAUTH(route) "/edges/https/edge/routes/" route "/oauth"
#define MUTUAL_TLS(edge) "/edges/tls/" edge "/mutual_tls"

#define ED25519 "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHwYM2ismwmcyQlR7ZdXz+m1x6pOQUEZ/r0pgqV/GGPj"
#define KEY "\"public_key\":\"" ED25519 "\""
#define APP "\"client_id\":\"app\",\"client_secret\":\"a secret of the app\""

/* Text too long for the initial size of a library's buffer. */
#define LONG40 "0123456789abcdefghijklmnopqrstuvwxyz-_.~"
#define LONG400 LONG40 LONG40 LONG40 LONG40 LONG40 LONG40 LONG40 LONG40 LONG40 LONG40
#define ZEROS "0000000000000000000000000000000000000000"

/* clang-format off */
const struct scenario scenarios[] = {
    /* The operations */
    {.name = "create", .method = "POST", .path = CREDENTIALS, .body = "{" KEY "}", .status = 201},
    {.name = "create, all fields", .method = "POST", .path = CREDENTIALS,
     .body = "{" KEY ",\"description\":\"d\\u00e9j\\u00e0 vu\",\"metadata\":\"" LONG400 LONG400 LONG400 "\","
             "\"acl\":[\"*\",\"bind:*.example.com\",\"bind:[2001:db8::1]:443\",\"bind:team=*\","
             "\"bind:" LONG40 ".example=1\"],\"owner_id\":\"{member}\"}",
     .status = 201},
    {.name = "create, 40 rules", .method = "POST", .path = CREDENTIALS,
     .body = "{" KEY ",\"acl\":[" "\"bind:a\",\"bind:b\",\"bind:c\",\"bind:d\",\"bind:e\",\"bind:f\","
             "\"bind:g\",\"bind:h\",\"bind:i\",\"bind:j\",\"bind:k\",\"bind:l\",\"bind:m\",\"bind:n\","
             "\"bind:o\",\"bind:p\",\"bind:q\",\"bind:r\",\"bind:s\",\"bind:t\",\"bind:u\",\"bind:v\","
             "\"bind:w\",\"bind:x\",\"bind:y\",\"bind:z\",\"bind:aa\",\"bind:bb\",\"bind:cc\","
             "\"bind:dd\",\"bind:ee\",\"bind:ff\",\"bind:gg\",\"bind:hh\",\"bind:ii\",\"bind:jj\","
             "\"bind:kk\",\"bind:ll\",\"bind:mm\",\"bind:nn\"]}",
     .status = 201},
    {.name = "list", .method = "GET", .path = CREDENTIALS, .status = 200},
    {.name = "list, a page", .method = "GET", .path = CREDENTIALS, .query = "limit=1",
     .no_base_url = true, .status = 200},
    {.name = "list, the next page", .method = "GET", .path = CREDENTIALS,
     .query = "limit=2&before_id=%73shcr_zzzzzzzzzzzzzzzzzzzzzzzzzzz", .status = 200},
    {.name = "list, filtered", .method = "GET", .path = CREDENTIALS,
     .query = "limit=1&filter=obj.created_at+>%3D+timestamp(time.now).subtract(%271h%27)"
              "%26%26(obj.description+!%3D+%27" LONG400 LONG400 "%27||obj.id+in+[%27a%27,%27b%27])"
              "%26%26!(size(obj.acl)+>+1000||obj.metadata.endsWith(%27%5Cu00e9%27))",
     .status = 200},
    {.name = "list, filter malformed", .method = "GET", .path = CREDENTIALS,
     .query = "filter=obj.description+%3D%3D+null%26%26obj.nothing+%3D%3D+1", .status = 400,
     .number = 250},
    {.name = "list, 100 of 101", .method = "GET", .path = CREDENTIALS, .who = WHO_HOARDER,
     .status = 200},
    {.name = "get", .method = "GET", .path = CREDENTIAL, .status = 200},
    {.name = "get, read-only key", .method = "GET", .path = CREDENTIAL, .who = WHO_READER,
     .status = 200},
    {.name = "head", .method = "HEAD", .path = CREDENTIAL, .status = 200},
    {.name = "update", .method = "PATCH", .path = CREDENTIAL,
     .body = "{\"id\":\"{credential}\",\"description\":\"new\",\"metadata\":\"\","
             "\"acl\":[\"bind:new.example\"]}",
     .status = 200},
    {.name = "update, nothing", .method = "PATCH", .path = CREDENTIAL, .body = "{}", .status = 200},
    {.name = "delete", .method = "DELETE", .path = CREDENTIAL, .status = 204},

    {.name = "list OAuth modules", .method = "GET", .path = "/oauth_modules", .status = 200},
    {.name = "list mutual TLS modules", .method = "GET", .path = "/mutual_tls_modules",
     .query = "after_id=a", .status = 200},
    {.name = "list audit events", .method = "GET", .path = "/audit_events", .query = "limit=5",
     .status = 200},
    {.name = "get no audit event", .method = "GET", .path = "/audit_events/ae_0", .status = 404,
     .number = 9083},

    {.name = "decide", .method = "POST", .path = DECISIONS, .body = "{" KEY "}",
     .who = WHO_GATEWAY, .status = 200},
    {.name = "decide, a target", .method = "POST", .path = DECISIONS,
     .body = "{" KEY ",\"target\":\"a.example:22\"}", .no_base_url = true, .status = 200},
    {.name = "decide, unknown key", .method = "POST", .path = DECISIONS,
     .body = "{\"fingerprint\":\"SHA256:" ZEROS "000\",\"target\":\"a=b\"}", .status = 200},

    {.name = "oauth put, secret", .method = "PUT", .path = OAUTH("new"),
     .body = "{\"enabled\":false,\"options_passthrough\":true,\"cookie_prefix\":\"c.\","
             "\"inactivity_timeout\":60,\"maximum_duration\":86400." ZEROS ","
             "\"auth_check_interval\":0." ZEROS "36e43,\"provider\":{\"provider_b\":null,"
             "\"provider_a\":{" APP ",\"scopes\":[\"s1\",\"s2\"],"
             "\"email_addresses\":[\"a@example.com\",\"b@example.com\"],"
             "\"email_domains\":[\"example.com\",\"0123456789abcdefghijklmnopqrstuvwxyz.example\"],\"teams\":[\"o/t\"],"
             "\"organizations\":[\"o\"]}}}",
     .status = 200},
    {.name = "oauth put, managed", .method = "PUT", .path = OAUTH("secret"),
     .body = "{\"provider\":{\"provider_h\":{\"email_domains\":[\"example.com\"]}}}", .status = 200},
    {.name = "oauth put, wrapped", .method = "PUT", .path = OAUTH("secret"),
     .body = "{\"edge_id\":\"edge\",\"id\":\"secret\",\"module\":{\"provider\":"
             "{\"provider_c\":{" APP "},\"provider_d\":{}}}}",
     .status = 200},
    {.name = "oauth put, empty", .method = "PUT", .path = OAUTH("new"), .body = "{}", .status = 200},
    {.name = "oauth get, secret", .method = "GET", .path = OAUTH("secret"), .status = 200},
    {.name = "oauth get, managed", .method = "GET", .path = OAUTH("managed"), .status = 200},
    {.name = "oauth delete", .method = "DELETE", .path = OAUTH("secret"), .status = 204},
    {.name = "oauth delete, absent", .method = "DELETE", .path = OAUTH("none"), .status = 204},

    {.name = "mutual tls put", .method = "PUT", .path = MUTUAL_TLS("new"),
     .body = "{\"enabled\":false,\"certificate_authority_ids\":[\"ca_2\",\"ca_1\"]}", .status = 200},
    {.name = "mutual tls put, wrapped", .method = "PUT", .path = MUTUAL_TLS("edge"),
     .body = "{\"id\":\"edge\",\"module\":{}}", .status = 200},
    {.name = "mutual tls get", .method = "GET", .path = MUTUAL_TLS("edge"), .status = 200},
    {.name = "mutual tls delete", .method = "DELETE", .path = MUTUAL_TLS("edge"), .status = 204},

    {.name = "mutual tls put, where it is there", .method = "PUT", .path = MUTUAL_TLS("edge"),
     .body = "{}", .if_match = "*", .status = 200},
    {.name = "mutual tls put, stale", .method = "PUT", .path = MUTUAL_TLS("edge"),
     .body = "{}", .if_match = "\"0\", W/\"1\"", .status = 412, .number = 9038},
    {.name = "create under a key", .method = "POST", .path = CREDENTIALS, .body = "{" KEY "}",
     .idempotency_key = "8e03978e-40d5-43dd-bc93-6894a57f9324", .status = 201},

    /* The forms of keys, and their refusals */
    {.name = "key, PEM RSA", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/rsa2048-e3.info", .status = 201},
    {.name = "key, PKCS#1", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/rsa2048-e3.pkcs1", .status = 201},
    {.name = "key, RFC 4716", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/ecdsa384.ssh2", .status = 201},
    {.name = "key, PEM P-256", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/ecdsa256.info", .status = 201},
    {.name = "key, P-384", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/ecdsa384.line", .status = 201},
    {.name = "key, P-521", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/ecdsa521.line", .status = 201},
    {.name = "key, security key", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/sk-ecdsa.line", .status = 201},
    {.name = "key, off the curve", .method = "POST", .path = CREDENTIALS,
     .key = "point-off/ecdsa256-swapped.line", .status = 400, .number = 612},
    {.name = "key, past the field", .method = "POST", .path = CREDENTIALS,
     .key = "point-off/ecdsa384-field.ssh2", .status = 400, .number = 612},
    {.name = "key, private", .method = "POST", .path = CREDENTIALS,
     .body = "{\"public_key\":\"-----BEGIN PRIVATE KEY-----\\n\"}", .status = 400, .number = 612},

    /* The gates, in their order */
    {.name = "path unknown", .method = "GET", .path = "/none", .status = 404, .number = 9000},
    {.name = "method not allowed", .method = "DELETE", .path = CREDENTIALS, .status = 405,
     .number = 9001},
    {.name = "options", .method = "OPTIONS", .path = CREDENTIAL, .who = WHO_NOBODY, .status = 204},
    {.name = "body too large", .method = "POST", .path = CREDENTIALS,
     .body_state = BODY_TOO_LARGE, .status = 413, .number = 9006},
    {.name = "no key", .method = "GET", .path = CREDENTIALS, .who = WHO_NOBODY, .status = 401,
     .number = 200},
    {.name = "not a bearer", .method = "GET", .path = CREDENTIALS, .who = WHO_NOBODY,
     .authorization = "Basic YTpi", .status = 401, .number = 201},
    {.name = "key malformed", .method = "GET", .path = CREDENTIALS, .who = WHO_NOBODY,
     .authorization = "Bearer adit_0", .status = 401, .number = 202},
    {.name = "key unknown", .method = "PATCH", .path = CREDENTIAL, .body = "{}",
     .who = WHO_UNKNOWN, .status = 401, .number = 203},
    {.name = "key revoked", .method = "DELETE", .path = CREDENTIAL, .who = WHO_REVOKED,
     .status = 401, .number = 203},
    {.name = "key expired, broken body", .method = "PUT", .path = MUTUAL_TLS("edge"), .body = "{",
     .who = WHO_EXPIRED, .status = 401, .number = 203},
    {.name = "no version", .method = "GET", .path = CREDENTIALS, .version = "", .status = 400,
     .number = 218},
    {.name = "version unsupported", .method = "GET", .path = CREDENTIALS "/..", .no_base_url = true,
     .version = "3", .status = 400, .number = 217},
    {.name = "query unknown", .method = "GET", .path = CREDENTIALS, .query = "limit=1&page=%32",
     .status = 400, .number = 231},
    {.name = "query repeated", .method = "GET", .path = CREDENTIALS,
     .query = "before_id=&beforeId=x", .status = 400, .number = 232},
    {.name = "limit out of range", .method = "GET", .path = CREDENTIALS, .query = "limit=99999",
     .status = 400, .number = 233},
    {.name = "no body", .method = "PUT", .path = MUTUAL_TLS("edge"), .status = 400, .number = 9007},
    {.name = "another content type", .method = "PUT", .path = MUTUAL_TLS("edge"), .body = "{}",
     .content_type = "text/plain", .status = 415, .number = 210},
    {.name = "body not JSON", .method = "POST", .path = CREDENTIALS, .body = "{\"acl\":[[[[[1,]]]]]}",
     .status = 400, .number = 213},
    {.name = "duplicate member", .method = "POST", .path = CREDENTIALS,
     .body = "{" KEY ",\"" LONG400 "\":1,\"" LONG400 "\":2}", .status = 400, .number = 213},
    {.name = "unknown member", .method = "PUT", .path = OAUTH("new"),
     .body = "{\"provider\":{\"provider_b\":{\"email_domain\":[\"example.com\"]}}}",
     .status = 400, .number = 214},
    {.name = "unknown members, many", .method = "PATCH", .path = CREDENTIAL,
     .body = "{\"description\":\"d\",\"b\":1,\"c\":[{}],\"d\":\"text\",\"e\":2,\"f\":{},\"g\":3,\"h\":4,"
             "\"i\":5,\"j\":6,\"k\":7,\"l\":8,\"m\":9,\"n\":null,\"o\":true,\"p\":[],\"q\":0}",
     .status = 400, .number = 214},
    {.name = "wrong type", .method = "PUT", .path = OAUTH("new"),
     .body = "{\"maximum_duration\":1." ZEROS "1}", .status = 400, .number = 215},
    {.name = "description too long", .method = "PATCH", .path = CREDENTIAL,
     .body = "{\"description\":\"" LONG400 "\"}", .status = 400, .number = 604},
    {.name = "rule malformed", .method = "PATCH", .path = CREDENTIAL,
     .body = "{\"acl\":[\"bind:example.com\",\"bind:-\"]}", .status = 400, .number = 600},
    {.name = "public key fixed", .method = "PATCH", .path = CREDENTIAL, .body = "{" KEY "}",
     .status = 400, .number = 9014},
    {.name = "several providers", .method = "PUT", .path = OAUTH("new"),
     .body = "{\"provider\":{\"provider_a\":{" APP "},\"provider_b\":{" APP "}}}", .status = 400,
     .number = 7036},
    {.name = "secret without id", .method = "PUT", .path = OAUTH("new"),
     .body = "{\"provider\":{\"provider_a\":{\"client_secret\":\"alone\"}}}", .status = 400,
     .number = 384},
    {.name = "email address repeated", .method = "PUT", .path = OAUTH("new"),
     .body = "{\"provider\":{\"provider_a\":{\"email_addresses\":[\"a@b.example\",\"c@b.example\","
             "\"a@b.example\"]}}}",
     .status = 400, .number = 7046},
    {.name = "authority malformed", .method = "PUT", .path = MUTUAL_TLS("edge"),
     .body = "{\"certificate_authority_ids\":[\"a\",\"b/c\"]}", .status = 400, .number = 228},
    {.name = "key read-only", .method = "PUT", .path = OAUTH("secret"),
     .body = "{\"provider\":{\"provider_a\":{" APP "}}}", .who = WHO_READER, .status = 403,
     .number = 9005},
    {.name = "key of a gateway", .method = "GET", .path = CREDENTIAL, .who = WHO_GATEWAY,
     .status = 403, .number = 9071},
    {.name = "no key to decide about", .method = "POST", .path = DECISIONS, .body = "{}",
     .status = 400, .number = 9072},
    {.name = "target malformed", .method = "POST", .path = DECISIONS,
     .body = "{" KEY ",\"target\":\"a:0\"}", .status = 400, .number = 9075},
    {.name = "not an admin", .method = "POST", .path = CREDENTIALS,
     .body = "{" KEY ",\"owner_id\":\"usr_another\"}", .who = WHO_MEMBER, .status = 403,
     .number = 630},
    {.name = "owner unknown", .method = "POST", .path = CREDENTIALS,
     .body = "{" KEY ",\"owner_id\":\"usr_another\"}", .status = 400, .number = 9011},
    {.name = "another account's", .method = "PATCH", .path = CREDENTIAL, .body = "{}",
     .who = WHO_HOARDER, .status = 404, .number = 9002},
    {.name = "identifier malformed", .method = "DELETE", .path = CREDENTIALS "/a b", .status = 404,
     .number = 9070},
    {.name = "oauth absent", .method = "GET", .path = OAUTH("none"), .status = 404, .number = 9003},
    {.name = "mutual tls absent", .method = "GET", .path = MUTUAL_TLS("none"), .status = 404,
     .number = 9004},
    {.name = "public key exists", .method = "POST", .path = CREDENTIALS,
     .key = "accepted/ed25519.line", .status = 409, .number = 609},
    {.name = "secret unreadable", .method = "GET", .path = OAUTH("broken"), .status = 500,
     .number = 9036},

    /* Health, and a process's first requests */
    {.name = "live", .method = "GET", .path = "/livez", .who = WHO_NOBODY, .status = 200},
    {.name = "ready", .method = "GET", .path = "/readyz", .who = WHO_NOBODY, .status = 200},
    {.name = "metrics", .method = "GET", .path = "/metrics", .who = WHO_NOBODY, .status = 200},
    {.name = "preflight", .method = "OPTIONS", .path = CREDENTIAL, .who = WHO_NOBODY,
     .status = 204},
    {.name = "first: get", .method = "GET", .path = CREDENTIAL, .cold = true, .status = 200},
    {.name = "first: create", .method = "POST", .path = CREDENTIALS, .body = "{" KEY "}",
     .cold = true, .status = 201},
    {.name = "first: oauth put, secret", .method = "PUT", .path = OAUTH("new"),
     .body = "{\"provider\":{\"provider_e\":{" APP "}}}", .cold = true, .status = 200},
    {.name = "first: ready", .method = "GET", .path = "/readyz", .who = WHO_NOBODY, .cold = true,
     .status = 200},
    {.name = NULL},
};
/* clang-format on */
