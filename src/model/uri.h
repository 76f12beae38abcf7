/* SPDX-License-Identifier: MIT */
/* The URIs of resources in JSON. */
#ifndef ADIT_MODEL_URI_H
#define ADIT_MODEL_URI_H

#include "base/buf.h"

/* Appends the member "uri": the base URL, the path and the identifier together.  They have no
 * characters that JSON escapes.  A lack of memory sets out->failed. */
void uri_write(struct buf *out, struct text base_url, const char *path, struct text id);

/* The same for an identifier that the tables do not check: percent-encodes it. */
void uri_write_unchecked(struct buf *out, struct text base_url, const char *path, struct text id);

#endif
