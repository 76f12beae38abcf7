/* SPDX-License-Identifier: MIT */
/* The URIs of resources in JSON.  What comes from a row is written so that it stays in its place,
 * whatever somebody with psql has stored there. */
#ifndef ADIT_MODEL_URI_H
#define ADIT_MODEL_URI_H

#include "base/buf.h"

/* Appends a base URL.  Percent-encodes what no URL has and what would end a text of JSON. */
void uri_add_base(struct buf *out, struct text base_url);

/* Appends an identifier.  Percent-encodes all but the unreserved characters (RFC 3986, 2.3). */
void uri_add_id(struct buf *out, struct text id);

/* Appends the member "uri": the base URL, the path and the identifier together.  A lack of memory
 * sets out->failed. */
void uri_write(struct buf *out, struct text base_url, const char *path, struct text id);

#endif
