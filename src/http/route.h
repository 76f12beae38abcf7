/* SPDX-License-Identifier: MIT */
/* Finding the operation of a method and a path in a table of routes. */
#ifndef ADIT_HTTP_ROUTE_H
#define ADIT_HTTP_ROUTE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"
#include "http/query.h"
#include "serve/request.h"

struct call; /* one request; only handlers look into it */

enum route_body {
    ROUTE_NO_BODY,
    ROUTE_JSON_BODY,
    ROUTE_ANSWER_BODY /* JSON too; callers send what an answer held (json_parse_answer()) */
};

/* A row of the route table.  The zero value of every column is the strictest. */
struct route {
    const char *method;
    const char *path; /* segments; "{name}" stands for an identifier */
    bool is_public;   /* needs no API key and no version header, and only reads */
    unsigned keys; /* the kinds of API key that may use it, an enum key_set of model/key_kind.h */
    int resource;  /* the kind of module that it is about, an enum resource_kind of model/resource.h
                    */
    enum route_body body;
    enum request_work work;
    bool takes_idempotency_key;
    bool checks_ids; /* the handler checks the path's identifiers, after the permission */
    const struct query_param *query;                    /* NULL: none */
    bool (*read)(struct call *call, struct error *err); /* input that is checked without the
                                                           database; may be NULL */
    bool (*run)(struct call *call, struct error *err);  /* does the work and fills the answer */
};

#define ROUTE_MAX_IDS 2

struct route_match {
    const struct route *route;   /* NULL: the path has no such method */
    const struct route *of_path; /* the first row of the path; NULL: the path is unknown */
    bool is_options;
    bool is_head;
    struct text ids[ROUTE_MAX_IDS]; /* in the path's order and memory: no NUL follows */
};

/* Checks that no row of the table has more identifiers or query parameters than a route_match and a
 * call have room for.  Returns false with the path of the first such row in *which.  Call this
 * once, before route_find(). */
MUST_CHECK bool route_table_fits(const struct route *routes, const char **which);

/* Finds the route of a method and a path in a table, whose last row has the method NULL.  HEAD
 * finds the route of GET.  Returns true with *match.  OPTIONS on a known path returns true without
 * a route.  Returns false with ERR_PATH_UNKNOWN, ERR_METHOD_NOT_ALLOWED or ERR_OUT_OF_MEMORY.  For
 * OPTIONS and ERR_METHOD_NOT_ALLOWED it appends the methods of the path to *allow. */
MUST_CHECK bool route_find(const struct route *routes, const char *method, const char *path,
                           struct route_match *match, struct buf *allow, struct error *err);

/* Checks the identifiers in the path of a match that has a route.  Returns false with
 * ERR_IDENTIFIER_MALFORMED, which names the first malformed one by its name in the template. */
MUST_CHECK bool route_check_ids(const struct route_match *match, struct error *err);

#endif
