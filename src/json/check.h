/* SPDX-License-Identifier: MIT */
/* The strict check of JSON text (RFC 8259).  All parsers read a text that passes it alike. */
#ifndef ADIT_JSON_CHECK_H
#define ADIT_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/must_check.h"

/* Limits beyond the grammar. */
#define JSON_MAX_DEPTH 16
#define JSON_MAX_VALUES 4000

/* What answers and documents add to the values that a body brought: members at their defaults,
 * identifiers, providers that are null.  Who reads those takes as many values more. */
#define JSON_ADDED_VALUES 64

/* Checks that len bytes are one JSON object in UTF-8, with only white space around it.  Beyond the
 * RFC's grammar it requires
 *   - that no object has two members of one name, however they are escaped,
 *   - no lone surrogate escapes and no \u0000,
 *   - at most JSON_MAX_DEPTH levels; the object itself is the first,
 *   - at most JSON_MAX_VALUES values: objects, lists, strings, numbers and literals, but not member
 *     names.
 * The time is proportional to len, and the memory is at most 128 KiB.
 *
 * Returns false with *err = ERR_BODY_NOT_JSON, a message and the offset of the first byte that is
 * not accepted, or with ERR_OUT_OF_MEMORY. */
MUST_CHECK bool json_check(const char *text, size_t len, struct error *err);

/* The same, with JSON_ADDED_VALUES more. */
MUST_CHECK bool json_check_answer(const char *text, size_t len, struct error *err);

/* Checks in the same way that len bytes are one JSON object or list, with at most max_values
 * values. The memory is at most 64 bytes for each of them. */
MUST_CHECK bool json_check_large(const char *text, size_t len, size_t max_values,
                                 struct error *err);

/* Decodes a string of a text that passed json_check().  *at points behind the opening quote, and
 * afterwards behind the closing one.  Writes no NUL, and at most as many bytes as it reads.
 * Returns their number. */
size_t json_unescape(const char **at, char *out);

#endif
