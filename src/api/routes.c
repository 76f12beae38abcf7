/* SPDX-License-Identifier: MIT */
/* The route table. */
#include "api/audit_event.h"
#include "api/health.h"
#include "api/metrics.h"
#include "api/oauth_admission.h"
#include "api/resource.h"
#include "api/ssh_credential.h"
#include "api/ssh_decision.h"
#include "model/key_kind.h"
#include "model/resource.h"

#define CREDENTIAL_PATH "/ssh_credentials/{id}"

/* clang-format off */

/* A module with a provider is answered with more than a body holds. */
#define BODY_PLAIN ROUTE_JSON_BODY
#define BODY_PROVIDER ROUTE_ANSWER_BODY

#define MODULE_ROUTES(with, NAME, name, place, form, path_, ...)                                   \
    {.method = "PUT", .path = (path_), .keys = KEYS_WRITE, .body = BODY_##form,                    \
     .resource = RESOURCE_##NAME, .read = api_resource_read_put, .run = api_resource_put},         \
    {.method = "GET", .path = (path_), .keys = KEYS_READ, .work = REQUEST_SHORT,                   \
     .resource = RESOURCE_##NAME, .run = api_resource_get},                                        \
    {.method = "DELETE", .path = (path_), .keys = KEYS_WRITE,                                      \
     .resource = RESOURCE_##NAME, .run = api_resource_delete},                                     \
    {.method = "GET", .path = "/" #name "s", .keys = KEYS_READ, .query = api_resource_query,       \
     .resource = RESOURCE_##NAME, .read = api_resource_read_list, .run = api_resource_list},

const struct route api_routes[] = {
    {.method = "POST", .path = "/ssh_credentials", .keys = KEYS_WRITE_OWN,
     .body = ROUTE_JSON_BODY, .takes_idempotency_key = true,
     .read = api_ssh_credential_read_create, .run = api_ssh_credential_create},
    {.method = "GET", .path = "/ssh_credentials", .keys = KEYS_READ,
     .query = api_ssh_credential_query,
     .read = api_ssh_credential_read_list, .run = api_ssh_credential_list},
    {.method = "GET", .path = CREDENTIAL_PATH, .keys = KEYS_READ,
     .work = REQUEST_SHORT, .run = api_ssh_credential_get},
    {.method = "PATCH", .path = CREDENTIAL_PATH, .keys = KEYS_WRITE_OWN, .body = ROUTE_JSON_BODY,
     .read = api_ssh_credential_read_update, .run = api_ssh_credential_update},
    {.method = "DELETE", .path = CREDENTIAL_PATH, .keys = KEYS_WRITE_OWN,
     .run = api_ssh_credential_delete},

    {.method = "POST", .path = "/ssh_decisions", .keys = KEYS_ASK,
     .body = ROUTE_JSON_BODY, /* the key may have much */
     .read = api_ssh_decision_read, .run = api_ssh_decision_make},

    MODULES(MODULE_ROUTES, _)

    {.method = "POST", .path = "/oauth_admissions", .keys = KEYS_READ, .body = ROUTE_ANSWER_BODY,
     .work = REQUEST_SHORT, .read = api_oauth_admission_read, .run = api_oauth_admission_make},
    {.method = "GET", .path = "/oauth_providers", .keys = KEYS_READ,
     .work = REQUEST_SHORT, .run = api_oauth_provider_list},

    {.method = "GET", .path = "/audit_events", .keys = KEYS_READ,
     .query = api_audit_event_query,
     .read = api_audit_event_read_list, .run = api_audit_event_list},
    {.method = "GET", .path = "/audit_events/{id}", .keys = KEYS_READ,
     .work = REQUEST_SHORT, .checks_ids = true, .run = api_audit_event_get},

    {.method = "GET", .path = "/livez", .is_public = true,
     .work = REQUEST_INSTANT, .run = api_health_live},
    {.method = "GET", .path = "/readyz", .is_public = true,
     .work = REQUEST_PROBE, .run = api_health_ready},
    {.method = "GET", .path = "/metrics", .is_public = true,
     .work = REQUEST_INSTANT, .run = api_metrics_show},
    {.method = NULL},
};
/* clang-format on */

_Static_assert(sizeof api_routes / sizeof api_routes[0] <= METRICS_MAX_ROUTES,
               "METRICS_MAX_ROUTES holds every row");
