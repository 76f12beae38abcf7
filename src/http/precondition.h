/* SPDX-License-Identifier: MIT */
/* Entity tags, and conditional requests (RFC 9110, 8.8.3 and 13). */
#ifndef ADIT_HTTP_PRECONDITION_H
#define ADIT_HTTP_PRECONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/must_check.h"
#include "serve/request.h"

/* The highest number of this service's entity tags in one header. */
#define PRECONDITION_MAX_TAGS 16

/* The revision that stands for "*". */
#define REVISION_ANY (-1)

/* The revisions that a header names.  Tags that this service does not make match nothing and are
 * left out.  given is false if the request lacks the header. */
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

/* Room for an entity tag and its NUL. */
#define ETAG_SIZE 24

/* Writes the entity tag of a revision, which is not negative, such as "42" with its quotes. */
void etag_write(char out[ETAG_SIZE], int64_t revision);

/* Reads If-Match and If-None-Match.  Returns false with ERR_CONDITION_MALFORMED. */
MUST_CHECK bool precondition_read(const struct request *request, struct precondition *condition,
                                  struct error *err);

/* Returns whether the request has one of the two headers. */
bool precondition_given(const struct precondition *condition);

/* Returns the result of a request to read a resource at that revision: PRECONDITION_HOLDS if there
 * is no condition. */
enum precondition_result precondition_check(const struct precondition *condition, int64_t revision);

#endif
