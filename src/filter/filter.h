/* SPDX-License-Identifier: MIT */
/* The parameter `filter` of lists: a subset of CEL (https://cel.dev).  The tree that the parser
 * makes is typed and ready for SQL: every operator fits the types of its operands. */
#ifndef ADIT_FILTER_FILTER_H
#define ADIT_FILTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"

/* Limits.  Operators are those of the text and calls of functions; depth counts brackets. */
#define FILTER_MAX_BYTES 4096
#define FILTER_MAX_OPERATORS 64
#define FILTER_MAX_DEPTH 16

/* The most nodes from the root of a tree to a leaf: a comparison of times may become two. */
#define FILTER_MAX_HEIGHT (FILTER_MAX_OPERATORS + 2)

enum filter_type {
    FILTER_BOOL,
    FILTER_INT,
    FILTER_STRING,
    FILTER_TIME,
    FILTER_STRINGS,
    FILTER_OBJECT,
    FILTER_NULL,
};

/* One member that a filter may name; the last row of a table has the name NULL. */
struct filter_member {
    const char *name; /* may hold dots: "resource.id" */
    enum filter_type type;
    const char *sql; /* the store's expression, which is never NULL; the parser ignores it */
};

enum filter_op {
    FILTER_LITERAL,
    FILTER_MEMBER,
    FILTER_NOT,
    FILTER_AND,
    FILTER_OR,
    FILTER_EQ,
    FILTER_NE,
    FILTER_LT,
    FILTER_LE,
    FILTER_GT,
    FILTER_GE,
    FILTER_IN,
    FILTER_SIZE,
    FILTER_STARTS_WITH,
    FILTER_ENDS_WITH,
    FILTER_CONTAINS,
};

/* clang-format off */
/* What the operators hold:
 *   LITERAL                            any type but OBJECT: text, number or texts
 *   MEMBER                             member
 *   NOT, AND, OR                       left, right: BOOL.  NOT has no right.
 *   EQ, NE                             left, right: both BOOL, INT, STRING, TIME or STRINGS; or the
 *                                      left is a MEMBER of type OBJECT, the right a LITERAL of type
 *                                      NULL
 *   LT, LE, GT, GE                     left, right: both BOOL, INT, STRING or TIME
 *   IN                                 left: STRING; right: STRINGS
 *   SIZE                               left: STRING (code points) or STRINGS (elements)
 *   STARTS_WITH, ENDS_WITH, CONTAINS   left, right: STRING
 *
 * Strings are compared by code point.  A TIME is compared to the second, as the API shows it: the
 * parser rewrites the comparison of a member with a literal into GE and LT of whole seconds, the
 * member at the left. */
/* clang-format on */
struct filter_node {
    enum filter_op op;
    enum filter_type type; /* of the result: INT for SIZE, BOOL for other operators */
    size_t offset;         /* byte of the source where it begins */
    const struct filter_node *left;
    const struct filter_node *right;
    const struct filter_member *member;
    struct text text;       /* of a STRING */
    int64_t number;         /* INT; BOOL: 0 or 1; TIME: microseconds since 1970, years 1 to 10000 */
    struct text_list texts; /* of STRINGS: given, perhaps empty */
};

/* Parses and types a filter, which need not be valid UTF-8.  now_us is time.now, in microseconds
 * since 1970.  The result is of type BOOL.  The tree and its texts belong to the arena; it points
 * to members, too.  An unset string equals null and "", and an empty list equals null and "": such
 * literals become the empty string or list that the other side needs, so null is only beside an
 * OBJECT.
 *
 * Returns false with ERR_FILTER, a message and the offset in bytes of what is wrong, or with
 * ERR_OUT_OF_MEMORY. */
MUST_CHECK bool filter_parse(struct text source, const struct filter_member *members,
                             int64_t now_us, struct arena *arena, const struct filter_node **root,
                             struct error *err);

/* Overwrites *err with ERR_FILTER, the offset, and a message that names it.  Returns false. */
bool filter_refuse(struct error *err, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Finds the first text that the member of that name is compared with, by == or != or in a list, and
 * for which is_wanted() returns true.  Returns it, with the byte of the source where it or its list
 * begins in *offset; or an absent text. */
MUST_CHECK struct text filter_find_text(const struct filter_node *root, const char *member,
                                        bool (*is_wanted)(const void *context, struct text text),
                                        const void *context, size_t *offset);

#endif
