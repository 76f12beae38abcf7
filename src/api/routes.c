/* SPDX-License-Identifier: MIT */
/* The route table. */
#include "api/call.h"

#define CREDENTIAL_PATH "/ssh_credentials/{id}"
#define OAUTH_PATH "/edges/https/{edge_id}/routes/{id}/oauth"
#define MUTUAL_TLS_PATH "/edges/tls/{id}/mutual_tls"

/* clang-format off */
const struct route api_routes[] = {
    {.method = "POST", .path = "/ssh_credentials", .body = ROUTE_JSON_BODY,
     .takes_idempotency_key = true,
     .read = ssh_credentials_read_create, .run = ssh_credentials_create},
    {.method = "GET", .path = "/ssh_credentials", .reads_only = true,
     .query = ssh_credentials_query,
     .read = ssh_credentials_read_list, .run = ssh_credentials_list},
    {.method = "GET", .path = CREDENTIAL_PATH, .reads_only = true,
     .work = REQUEST_SHORT, .run = ssh_credentials_get},
    {.method = "PATCH", .path = CREDENTIAL_PATH, .body = ROUTE_JSON_BODY,
     .read = ssh_credentials_read_update, .run = ssh_credentials_update},
    {.method = "DELETE", .path = CREDENTIAL_PATH, .run = ssh_credentials_delete},

    {.method = "PUT", .path = OAUTH_PATH, .body = ROUTE_JSON_BODY,
     .read = oauth_module_read_put, .run = oauth_module_put},
    {.method = "GET", .path = OAUTH_PATH, .reads_only = true,
     .work = REQUEST_SHORT, .run = oauth_module_get},
    {.method = "DELETE", .path = OAUTH_PATH, .run = oauth_module_delete},

    {.method = "PUT", .path = MUTUAL_TLS_PATH, .body = ROUTE_JSON_BODY,
     .read = mutual_tls_module_read_put, .run = mutual_tls_module_put},
    {.method = "GET", .path = MUTUAL_TLS_PATH, .reads_only = true,
     .work = REQUEST_SHORT, .run = mutual_tls_module_get},
    {.method = "DELETE", .path = MUTUAL_TLS_PATH, .run = mutual_tls_module_delete},

    {.method = "GET", .path = "/livez", .is_public = true, .reads_only = true,
     .work = REQUEST_INSTANT, .run = health_live},
    {.method = "GET", .path = "/readyz", .is_public = true, .reads_only = true,
     .run = health_ready},
    {.method = NULL},
};
/* clang-format on */
