/* SPDX-License-Identifier: MIT */
/* The request's headers that mean something here. */
#ifndef ADIT_HTTP_HEADER_H
#define ADIT_HTTP_HEADER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/must_check.h"
#include "serve/request.h"

/* Reads "Bearer <API key>" (RFC 6750), the scheme in any case, from the Authorization header.  The
 * key belongs to the request.  Returns false with one of the 401 conditions where there is no key
 * of the right form. */
MUST_CHECK bool header_bearer(const struct request *request, struct text *key, struct error *err);

/* Checks that the version header is exactly "2".  header is its name, for the message. */
MUST_CHECK bool header_version(const struct request *request, const char *header,
                               struct error *err);

/* Checks that Content-Type is application/json (RFC 9110, 8.3), with or without parameters. */
MUST_CHECK bool header_content_type(const struct request *request, struct error *err);

/* Reads the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): 1 to 255 printable
 * ASCII bytes, taken as they are, quotes too.  Some servers join headers that stand twice by a
 * comma, so that there is none in a key.  The key belongs to the request.  Returns false with
 * ERR_IDEMPOTENCY_KEY_MALFORMED. */
MUST_CHECK bool header_idempotency_key(const struct request *request, struct text *key,
                                       struct error *err);

/* Appends the path of the base URL, percent-encoded, without a trailing slash. */
void header_base_path(const struct request *request, struct buf *url);

/* Appends the base URL of the request, scheme, host and script name, without a trailing slash.
 * Returns false with ERR_HOST_MALFORMED where the Host header cannot be part of an answer. */
MUST_CHECK bool header_base_url(const struct request *request, struct buf *url, struct error *err);

#endif
