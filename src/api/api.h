/* SPDX-License-Identifier: MIT */
/* The interface: turns a request into its answer. */
#ifndef ADIT_API_API_H
#define ADIT_API_API_H

#include "base/arena.h"
#include "base/ident.h"
#include "base/log.h"
#include "base/metrics.h"
#include "http/names.h"
#include "http/route.h"
#include "model/oauth_admission.h"
#include "serve/request.h"
#include "store/store.h"

/* Settings of the interface.  Constant; they must outlive the calls. */
struct api_settings {
    struct http_names names;
    struct oauth_names oauth;
    /* Of each provider, whether the operator has one, for modules without. */
    enum oauth_application oauth_applications[OAUTH_N_PROVIDERS];
    const char *base_url;        /* without a trailing slash; NULL: derived from the request */
    bool require_acl;            /* a credential needs a rule */
    bool require_account_in_key; /* an API key of the earlier form is refused */
    const char *allowed_origins; /* of browsers, as cors_answer() takes them; NULL: none */
    struct log log;
    const struct metrics *metrics; /* of all workers; NULL: the answer to /metrics is 404 */
    struct metrics_slot *counts;   /* of this worker; NULL: nothing is counted */
    struct ident_random *random;   /* of this worker, for operation ids; NULL: there is none */
};

/* The routes; a row whose method is NULL ends them. */
extern const struct route api_routes[];

/* Returns whether a route, with its row, changes nothing: keys that write nothing may use it. */
bool api_route_reads_only(const struct route *route);

/* Returns how much database work a request stands for: REQUEST_INSTANT if method and path match no
 * route, REQUEST_LONG if they are too long to tell, REQUEST_SCAN for a list with a filter. */
enum request_work api_work(struct text method, struct text path, struct text query);

/* Returns numbers of the key in the header Authorization, of the account that it names, and of the
 * client's address, REMOTE_ADDR.  Anybody can make such a key.  Headers without a well-formed key
 * share both numbers: their requests are refused without the database. */
struct request_caller api_caller(struct text authorization, struct text address);

/* Answers one request.  Never fails: a fault of the service becomes 500 or 503.  The response lacks
 * a body only if memory ran out and response_reserve() was not called for it.  Empties the arena at
 * the end.
 * Logs every request with the caller and the duration: 5xx as an error, with its cause, but
 * ERR_DRAINING as debug; 401 and 403 as a warning; others as debug.  503, 401 and 403 go through
 * log_often(), which limits them for each account, or for each address if no key is known. */
void api_answer(const struct api_settings *settings, struct store *store, struct arena *arena,
                const struct request *request, struct response *response);

#endif
