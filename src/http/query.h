/* SPDX-License-Identifier: MIT */
/* The query string, by a table of the parameters that an operation knows. */
#ifndef ADIT_HTTP_QUERY_H
#define ADIT_HTTP_QUERY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/must_check.h"

/* A parameter that an operation knows.  The last row of a table has the name NULL. */
struct query_param {
    const char *name;
    const char *alias; /* another name for it, or NULL */
};

#define QUERY_MAX_PARAMS 4

/* Reads the query string (application/x-www-form-urlencoded) into values[], which has one place for
 * each row of params (NULL: no parameters are known); those not given stay as they are.  Values
 * belong to the arena.  Returns false with the condition that the first fault is. */
MUST_CHECK bool query_read(const char *query, const struct query_param *params, struct arena *arena,
                           struct text *values, struct error *err);

/* Percent-encodes the text, all but unreserved characters (RFC 3986, 2.3), onto out. */
void query_encode(struct buf *out, struct text value);

#endif
