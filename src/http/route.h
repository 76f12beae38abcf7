/* SPDX-License-Identifier: MIT */
/* Which operation a method and a path name, by a table of routes. */
#ifndef ADIT_HTTP_ROUTE_H
#define ADIT_HTTP_ROUTE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "http/query.h"

struct call; /* one request on its way; the handlers' business */

enum route_body { ROUTE_NO_BODY, ROUTE_JSON_BODY };

/* What an answer takes of the database. */
enum route_work {
    ROUTE_LONG,   /* anything: it may wait for others */
    ROUTE_SHORT,  /* one row, read by its key */
    ROUTE_INSTANT /* nothing */
};

/* A row of the route table.  The zero value of every column is the strictest. */
struct route {
    const char *method;
    const char *path; /* segments; "{name}" stands for an identifier */
    bool is_public;   /* needs no API key and no version header */
    bool reads_only;  /* a read-only API key may use it */
    enum route_body body;
    enum route_work work;
    bool takes_idempotency_key;
    const struct query_param *query; /* NULL: none */
    enum error_code missing;         /* what a malformed identifier in the path amounts to */
    bool (*read)(struct call *call, struct error *err); /* input that is checked without the
                                                           database; may be NULL */
    bool (*run)(struct call *call, struct error *err);  /* does the work and fills the answer */
};

#define ROUTE_MAX_IDS 2

struct route_match {
    const struct route *route; /* NULL: the path has no such method */
    bool is_options;
    bool is_head;
    struct text ids[ROUTE_MAX_IDS]; /* in the path's order and memory: no NUL follows */
    bool ids_valid;                 /* else nothing can be there */
};

/* Finds the route of a method and a path in a table that ends with a row whose method is NULL. HEAD
 * finds what GET finds.  Returns false with ERR_PATH_UNKNOWN or ERR_METHOD_NOT_ALLOWED; for
 * OPTIONS, true without a route.  In these two cases the methods of the path are appended to
 * *allow, and it is false with ERR_OUT_OF_MEMORY where they cannot be. */
bool route_find(const struct route *routes, const char *method, const char *path,
                struct route_match *match, struct buf *allow, struct error *err);

#endif
