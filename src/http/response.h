/* SPDX-License-Identifier: MIT */
/* Filling in an answer. */
#ifndef ADIT_HTTP_RESPONSE_H
#define ADIT_HTTP_RESPONSE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/must_check.h"
#include "http/names.h"
#include "serve/request.h"

/* Makes room in an empty response, once for all requests that it will answer, for saying that there
 * is no memory.  Returns false where there is none for that. */
MUST_CHECK bool response_reserve(struct response *response);

/* Empties the response and gives it the headers that every answer has. */
void response_start(struct response *response, const struct http_names *names,
                    const char *operation_id);

/* Appends a header.  The value must not hold control characters. */
void response_header(struct response *response, const char *name, const char *value);

/* Completes an answer whose body is JSON and has been written already; statuses 204 and 304 have
 * none. */
void response_finish(struct response *response, int status);

/* Turns what is there into the answer that the error stands for.  Returns false where there is no
 * memory even for that. */
MUST_CHECK bool response_error(struct response *response, const struct http_names *names,
                               const char *operation_id, const struct error *err);

#endif
