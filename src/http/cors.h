/* SPDX-License-Identifier: MIT */
/* Requests that browsers send for pages of other origins (the Fetch standard, "CORS protocol"). */
#ifndef ADIT_HTTP_CORS_H
#define ADIT_HTTP_CORS_H

#include "base/must_check.h"
#include "base/text.h"
#include "http/names.h"
#include "serve/request.h"

/* Bytes of the longest origin: an answer without memory has room for it. */
#define CORS_ORIGIN_MAX 300

/* Returns why a text is not an origin as browsers send it, scheme://host or scheme://host:port, or
 * NULL: a constant. */
MUST_CHECK const char *cors_origin_fault(struct text origin);

/* Appends the headers of an answer.  allowed: the origins whose pages may read it, separated by
 * blanks, or "*"; if it is NULL or "", nothing is appended.  A lack of memory sets
 * response->headers.failed. */
void cors_answer(const char *allowed, const struct request *request, const struct http_names *names,
                 struct response *response);

/* Appends what the answer to OPTIONS has besides, if a browser asks on behalf of an allowed origin
 * whether it may send a request.  methods: those of the path, separated by commas.  allowed and a
 * lack of memory: as above. */
void cors_preflight(const char *allowed, const struct request *request,
                    const struct http_names *names, const char *methods, struct response *response);

#endif
