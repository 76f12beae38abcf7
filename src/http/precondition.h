/* SPDX-License-Identifier: MIT */
/* Entity tags, and the conditions that requests make of them (RFC 9110, 8.8.3 and 13). */
#ifndef ADIT_HTTP_PRECONDITION_H
#define ADIT_HTTP_PRECONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/must_check.h"
#include "serve/request.h"

/* Entity tags in one header that can be told apart. */
#define PRECONDITION_MAX_TAGS 16

/* What stands among revisions for "*". */
#define REVISION_ANY (-1)

/* The revisions that a header names.  Tags that are none of this service's match nothing and are
 * left out.  Not given: there is no such header. */
struct revisions {
    int64_t items[PRECONDITION_MAX_TAGS];
    size_t n;
    bool given;
};

struct precondition {
    struct revisions match;      /* If-Match */
    struct revisions none_match; /* If-None-Match */
};

enum precondition_result { PRECONDITION_FAILED, PRECONDITION_NOT_MODIFIED, PRECONDITION_HOLDS };

/* Room for an entity tag. */
#define ETAG_SIZE 24

/* Writes the entity tag of a revision: '"42"'. */
void etag_write(char out[ETAG_SIZE], int64_t revision);

/* Reads the conditions of a request.  Returns false with ERR_CONDITION_MALFORMED. */
MUST_CHECK bool precondition_read(const struct request *request, struct precondition *condition,
                                  struct error *err);

/* Returns whether there is any condition. */
bool precondition_given(const struct precondition *condition);

/* Returns what the conditions make of reading a resource at that revision. */
enum precondition_result precondition_check(const struct precondition *condition, int64_t revision);

#endif
