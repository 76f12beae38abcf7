/* SPDX-License-Identifier: MIT */
/* One request on its way through the interface: what handlers work with. */
#ifndef ADIT_API_CALL_H
#define ADIT_API_CALL_H

#include "api/api.h"
#include "http/response.h"
#include "model/mutual_tls_module.h"
#include "model/ssh_credential.h"

/* Input of the list operation. */
struct page {
    struct text before_id; /* not given: the first page */
    int limit;
    bool limit_given;
};

struct call {
    const struct api_settings *settings;
    struct store *store;
    struct arena *arena;
    const struct request *request;
    struct response *response;
    struct route_match match;
    int64_t started_ms; /* on the steady clock */
    struct caller caller;
    struct caller_identity identity;
    struct text base_url;
    struct text query[QUERY_MAX_PARAMS]; /* in the order of the route's table */
    struct json_node body;

    /* What the handler's read() made of the input. */
    union {
        struct page page;
        struct ssh_credential_input credential;
        struct oauth_module oauth;
        struct mutual_tls_module mutual_tls;
    } input;
};

/* Completes the answer, whose body has been written.  Returns true. */
bool call_answer(struct call *call, int status);

/* Writes the body of an answer about one resource. */
typedef void call_write(struct call *call, const void *resource);

/* Answers with one resource at a revision: its ETag and its body, or, where it was asked for under
 * a condition, 304 without a body.  Returns false with ERR_PRECONDITION_FAILED. */
bool call_answer_resource(struct call *call, int status, int64_t revision, call_write *write,
                          const void *resource, struct error *err);

/* The handlers, by resource: read() functions check the input, run() functions do the work. */
extern const struct query_param ssh_credentials_query[];
bool ssh_credentials_read_create(struct call *call, struct error *err);
bool ssh_credentials_create(struct call *call, struct error *err);
bool ssh_credentials_read_list(struct call *call, struct error *err);
bool ssh_credentials_list(struct call *call, struct error *err);
bool ssh_credentials_get(struct call *call, struct error *err);
bool ssh_credentials_read_update(struct call *call, struct error *err);
bool ssh_credentials_update(struct call *call, struct error *err);
bool ssh_credentials_delete(struct call *call, struct error *err);

bool oauth_module_read_put(struct call *call, struct error *err);
bool oauth_module_put(struct call *call, struct error *err);
bool oauth_module_get(struct call *call, struct error *err);
bool oauth_module_delete(struct call *call, struct error *err);

bool mutual_tls_module_read_put(struct call *call, struct error *err);
bool mutual_tls_module_put(struct call *call, struct error *err);
bool mutual_tls_module_get(struct call *call, struct error *err);
bool mutual_tls_module_delete(struct call *call, struct error *err);

bool health_live(struct call *call, struct error *err);
bool health_ready(struct call *call, struct error *err);

#endif
