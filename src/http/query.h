/* SPDX-License-Identifier: MIT */
/* Reading a query string by the table of an operation's parameters. */
#ifndef ADIT_HTTP_QUERY_H
#define ADIT_HTTP_QUERY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/must_check.h"

/* A row: one parameter.  The last row of a table has the name NULL. */
struct query_param {
    const char *name;
    const char *alias; /* another accepted name, or NULL */
};

/* The most parameters of one operation. */
#define QUERY_MAX_PARAMS 4

/* Reads a query string (application/x-www-form-urlencoded) into values[], which has an element for
 * each row of params.  params may be NULL: no parameters.  The elements of absent parameters stay
 * unchanged.  Values belong to the arena.  Returns false at the first error, with
 * ERR_QUERY_MALFORMED, ERR_QUERY_UNKNOWN, ERR_QUERY_REPEATED or ERR_OUT_OF_MEMORY. */
MUST_CHECK bool query_read(const char *query, const struct query_param *params, struct arena *arena,
                           struct text *values, struct error *err);

/* Returns whether a query string, which need not be well-formed, gives a parameter of this name,
 * whatever its encoding. */
MUST_CHECK bool query_gives(struct text query, const char *name);

#endif
