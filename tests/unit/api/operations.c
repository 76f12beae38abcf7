/* SPDX-License-Identifier: MIT */
/* The operations of the API. */
#include "api/operations.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

char operations_credential_path[64];
char operations_event_path[64];

/* Each finds its resource, also when all run one after the other. */
const struct operation operations[] = {
    {"POST", "/ssh_credentials", CLIENT_CREDENTIAL, 201, true, 0, NULL, 0, NULL},
    {"GET", "/ssh_credentials", "", 200, false, 0, NULL, 0, NULL},
    {"GET", operations_credential_path, "", 200, false, 9002, "/ssh_credentials/x", 9070,
     "/ssh_credentials/a b"},
    {"HEAD", operations_credential_path, "", 200, false, 9002, "/ssh_credentials/x", 9070,
     "/ssh_credentials/a b"},
    {"PATCH", operations_credential_path, "{}", 200, true, 9002, "/ssh_credentials/x", 9070,
     "/ssh_credentials/.."},
    {"DELETE", operations_credential_path, "", 204, true, 9002, "/ssh_credentials/x", 9070,
     "/ssh_credentials/%"},
    {"POST", "/ssh_decisions", CLIENT_DECISION, 200, false, 0, NULL, 0, NULL},
    {"PUT", CLIENT_OAUTH, "{}", 200, true, 0, NULL, 9070, "/edges/https/a b/routes/r/oauth"},
    {"GET", CLIENT_OAUTH, "", 200, false, 9003, "/edges/https/e/routes/x/oauth", 9070,
     "/edges/https/e/routes/../oauth"},
    {"DELETE", CLIENT_OAUTH, "", 204, true, 0, NULL, 9070, "/edges/https/e/routes/a,b/oauth"},
    {"GET", "/oauth_modules", "", 200, false, 0, NULL, 0, NULL},
    {"POST", "/oauth_admissions", "{}", 200, false, 0, NULL, 0, NULL},
    {"GET", "/oauth_providers", "", 200, false, 0, NULL, 0, NULL},
    {"PUT", CLIENT_MUTUAL_TLS, "{}", 200, true, 0, NULL, 9070, "/edges/tls/a b/mutual_tls"},
    {"GET", CLIENT_MUTUAL_TLS, "", 200, false, 9004, "/edges/tls/x/mutual_tls", 9070,
     "/edges/tls/./mutual_tls"},
    {"GET", "/mutual_tls_modules", "", 200, false, 0, NULL, 0, NULL},
    {"GET", "/audit_events", "", 200, false, 0, NULL, 0, NULL},
    {"GET", operations_event_path, "", 200, false, 9083, "/audit_events/ae_9000000000000000000",
     9070, "/audit_events/a b"},
    {"DELETE", CLIENT_MUTUAL_TLS, "", 204, true, 0, NULL, 9070, "/edges/tls/a\nb/mutual_tls"},
};

const size_t operations_n = sizeof operations / sizeof operations[0];

void operations_open(struct client *client)
{
    static const char front[] = "/ssh_credentials/";
    const size_t len = sizeof front - 1;

    client_open(client);
    ck_assert_int_eq(client_ask(client, "POST", "/ssh_credentials", CLIENT_CREDENTIAL), 201);
    memcpy(operations_credential_path, front, len);
    client_member(client, "id", operations_credential_path + len,
                  sizeof operations_credential_path - len);
    ck_assert_int_eq(client_ask(client, "PUT", CLIENT_OAUTH, "{}"), 200);
    ck_assert_int_eq(client_ask(client, "PUT", CLIENT_MUTUAL_TLS, "{}"), 200);
    snprintf(operations_event_path, sizeof operations_event_path, "/audit_events/ae_%" PRId64,
             client_changes(client));
}

void fault_no_version(struct request *request)
{
    request->version = "";
}

void fault_no_key(struct request *request)
{
    request->authorization = "";
}

void fault_other_scheme(struct request *request)
{
    request->authorization = "Basic eDp5";
}

void fault_malformed_key(struct request *request)
{
    request->authorization = "Bearer x";
}

void fault_unknown_key(struct request *request)
{
    request->authorization = "Bearer " CLIENT_UNKNOWN_KEY;
}

void fault_revoked_key(struct request *request)
{
    request->authorization = "Bearer " CLIENT_REVOKED_KEY;
}
