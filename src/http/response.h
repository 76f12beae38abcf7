/* SPDX-License-Identifier: MIT */
/* Writing an answer. */
#ifndef ADIT_HTTP_RESPONSE_H
#define ADIT_HTTP_RESPONSE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/must_check.h"
#include "http/names.h"
#include "serve/request.h"

/* Reserves room in an empty response for the answer ERR_OUT_OF_MEMORY.  One call serves all
 * requests that the response is used for.  Returns false if memory runs out. */
MUST_CHECK bool response_reserve(struct response *response);

/* Empties the response and appends the headers that every answer has. */
void response_start(struct response *response, const struct http_names *names,
                    const char *operation_id);

/* Appends a header.  The value must not contain control characters.  A lack of memory sets
 * response->headers.failed. */
void response_header(struct response *response, const char *name, const char *value);

/* Sets the status, and the Content-Type of the JSON body, which is written already.  Statuses 204
 * and 304 have no body. */
void response_finish(struct response *response, int status);

/* The same for a body of another type. */
void response_finish_as(struct response *response, int status, const char *content_type);

/* Replaces the answer by that of an error.  Returns false if memory runs out; the answer is
 * incomplete then. */
MUST_CHECK bool response_error(struct response *response, const struct http_names *names,
                               const char *operation_id, const struct error *err);

#endif
