/* SPDX-License-Identifier: MIT */
/* One request on its way through the interface: what handlers work with. */
#ifndef ADIT_API_CALL_H
#define ADIT_API_CALL_H

#include "api/api.h"
#include "base/must_check.h"
#include "http/response.h"
#include "json/tree.h"

struct call {
    const struct api_settings *settings;
    struct store *store;
    struct arena *arena; /* of the request; also in store_request */
    const struct request *request;
    struct response *response;
    struct route_match match;
    int64_t started_us; /* on the steady clock */
    struct store_request store_request;
    struct caller_identity identity;
    struct text base_url;
    struct text query[QUERY_MAX_PARAMS]; /* in the order of the route's table */
    struct json_node body;
    /* What the handler's read() made of the input, in the arena.  The handler knows its type. */
    void *input;
};

/* Sets call->input to size bytes, all zero, that belong to the arena.  Returns them, or NULL with
 * ERR_OUT_OF_MEMORY. */
MUST_CHECK void *call_input(struct call *call, size_t size, struct error *err);

/* Completes the answer, whose body has been written.  Returns true. */
bool call_answer(struct call *call, int status);

/* Writes the body of an answer about one resource. */
typedef void call_write(struct call *call, const void *resource);

/* Answers with one resource at a revision: its ETag and its body, or 304 without a body if the
 * request's condition says so.  Returns false with ERR_PRECONDITION_FAILED. */
MUST_CHECK bool call_answer_resource(struct call *call, int status, int64_t revision,
                                     call_write *write, const void *resource, struct error *err);

#endif
