/* SPDX-License-Identifier: MIT */
/* Reading the headers of a request. */
#ifndef ADIT_HTTP_HEADER_H
#define ADIT_HTTP_HEADER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/must_check.h"
#include "serve/request.h"

/* Reads "Bearer <API key>" (RFC 6750), the value of an Authorization header.  The scheme may be in
 * any case, and blanks and tabs may stand around both.  The key is a part of the value; no NUL
 * follows it.  Returns false with ERR_AUTH_MISSING, ERR_AUTH_NOT_BEARER or ERR_KEY_MALFORMED. */
MUST_CHECK bool header_key(struct text authorization, struct text *key, struct error *err);

/* The same for the header of a request, which must not be repeated. */
MUST_CHECK bool header_bearer(const struct request *request, struct text *key, struct error *err);

/* Checks that the version header is exactly "2".  header is its name, for the message.  Returns
 * false with ERR_VERSION_MISSING or ERR_VERSION_UNSUPPORTED. */
MUST_CHECK bool header_version(const struct request *request, const char *header,
                               struct error *err);

/* Checks that Content-Type is application/json (RFC 9110, 8.3), with or without parameters.
 * Returns false with ERR_CONTENT_TYPE_MISSING or ERR_CONTENT_TYPE_UNSUPPORTED. */
MUST_CHECK bool header_content_type(const struct request *request, struct error *err);

/* Reads the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): 1 to 255 printable
 * ASCII bytes, including quotes.  A key has no comma, since some servers join repeated headers by
 * one.  The key belongs to the request.  Returns false with ERR_IDEMPOTENCY_KEY_MALFORMED. */
MUST_CHECK bool header_idempotency_key(const struct request *request, struct text *key,
                                       struct error *err);

/* Returns the client's address as the web server gives it, or NULL if that is no IP address. */
const char *header_client_address(const struct request *request);

/* Appends the path of the base URL, percent-encoded and without a trailing slash.  A lack of memory
 * sets url->failed. */
void header_base_path(const struct request *request, struct buf *url);

/* Appends the base URL of the request: scheme, host and script name, without a trailing slash.
 * Returns false with ERR_HOST_MALFORMED if the Host header cannot be part of an answer.  A lack of
 * memory sets url->failed. */
MUST_CHECK bool header_base_url(const struct request *request, struct buf *url, struct error *err);

#endif
