/* SPDX-License-Identifier: MIT */
/* The strict reading of JSON text (RFC 8259), in front of the parser: what passes here, any parser
 * reads alike. */
#ifndef ADIT_JSON_CHECK_H
#define ADIT_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/must_check.h"

/* What a text may hold beside the grammar's own rules. */
#define JSON_MAX_DEPTH 16
#define JSON_MAX_VALUES 4000

/* Checks that len bytes are one JSON object in UTF-8, with nothing but white space around it:
 * strictly the RFC's grammar, no duplicate member names however they are escaped, no lone surrogate
 * escapes, no \u0000, nested at most JSON_MAX_DEPTH deep (the object itself is the first level), at
 * most JSON_MAX_VALUES values (each object, list, string, number and literal counts, member names
 * do not).  Takes time in proportion to len and at most 128 KiB of memory.
 *
 * Returns true, or false with *err: ERR_BODY_NOT_JSON with the offset of the first byte that cannot
 * be accepted and a message, or ERR_OUT_OF_MEMORY. */
MUST_CHECK bool json_check(const char *text, size_t len, struct error *err);

/* Decodes a string of a text that json_check() has passed: *at is behind its opening quote, and
 * behind its closing one afterwards.  Writes no more bytes than were read, and no NUL.  Returns
 * their number. */
size_t json_unescape(const char **at, char *out);

#endif
