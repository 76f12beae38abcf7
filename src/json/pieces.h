/* SPDX-License-Identifier: MIT */
/* Walking a JSON text that is too large for one tree: an object or a list gives the text of each
 * member or element, which the caller walks or parses in turn. */
#ifndef ADIT_JSON_PIECES_H
#define ADIT_JSON_PIECES_H

#include <stdbool.h>

#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"

/* A walk over one object or list. */
struct json_pieces {
    struct text whole; /* the text that offsets count in */
    const char *at;
    const char *end; /* of the object or list */
    bool is_list;
    bool has_begun;
};

/* Takes the value of the whole text, with only white space around it.  No NUL follows a piece.
 * Only brackets and quotes are looked at: the walk or the parser of the piece finds other faults.
 * Returns false with *err = ERR_BODY_NOT_JSON and an offset. */
MUST_CHECK bool json_whole_piece(struct text whole, struct text *piece, struct error *err);

/* Begins to walk a piece of the whole text: an object, or a list if is_list.  Returns false with
 * *err = ERR_WRONG_VALUE if it is none. */
MUST_CHECK bool json_pieces_begin(struct json_pieces *pieces, struct text whole, struct text piece,
                                  bool is_list, struct error *err);

/* Takes the next element, or the next member and its name, which must be without escapes.  At the
 * end, sets an absent *value.  Does not find names that occur twice.  Returns false with *err =
 * ERR_BODY_NOT_JSON and an offset. */
MUST_CHECK bool json_pieces_next(struct json_pieces *pieces, struct text *name, struct text *value,
                                 struct error *err);

#endif
