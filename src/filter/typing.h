/* SPDX-License-Identifier: MIT */
/* Makes the nodes of a filter, and checks the types of their operands. */
#ifndef ADIT_FILTER_TYPING_H
#define ADIT_FILTER_TYPING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "filter/filter.h"

/* What the functions here need besides the operands.  They return NULL with ERR_FILTER, the offset
 * of the operand that does not fit, or with ERR_OUT_OF_MEMORY.  While a filter is parsed, a MEMBER
 * of type TIME holds in number what .add() and .subtract() moved it by, in microseconds. */
struct filter_maker {
    struct arena *arena;
    struct error *err;
};

/* Returns a copy of the node. */
MUST_CHECK struct filter_node *filter_make(const struct filter_maker *maker,
                                           struct filter_node node);

/* Return the node of an operator: one operand, a logical one, an equality or an order, `in`, or a
 * function of strings. */
MUST_CHECK struct filter_node *filter_make_not(const struct filter_maker *maker, size_t offset,
                                               const struct filter_node *operand);
MUST_CHECK struct filter_node *filter_make_binary(const struct filter_maker *maker,
                                                  enum filter_op op, const struct filter_node *left,
                                                  const struct filter_node *right);
MUST_CHECK struct filter_node *filter_make_size(const struct filter_maker *maker, size_t offset,
                                                const struct filter_node *operand);

/* Returns a time moved by a duration, which may be negative. */
MUST_CHECK struct filter_node *filter_make_moved(const struct filter_maker *maker,
                                                 const struct filter_node *time, int64_t us);

/* Checks that a node is of a type.  Returns false with ERR_FILTER. */
MUST_CHECK bool filter_expect(const struct filter_maker *maker, const struct filter_node *node,
                              enum filter_type type);

/* Returns a type in words: "a string". */
const char *filter_type_words(enum filter_type type);

#endif
