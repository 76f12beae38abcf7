/* SPDX-License-Identifier: MIT */
/* Characters in a text that a person does not see. */
#ifndef ADIT_BASE_INVISIBLE_H
#define ADIT_BASE_INVISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/text.h"

/* The words after the name of what holds such a character; %s is .what.  The advice is in them. */
#define INVISIBLE_FORMAT "contains " INVISIBLE_WORDS("%s")
#define INVISIBLE_WORDS(what) what ", which does not show; remove it"

struct invisible {
    size_t offset;    /* bytes before it */
    size_t row;       /* of invisible_table.h; INVISIBLE_UTF16 for a text in UTF-16 */
    const char *what; /* its name and code point; static */
};

/* clang-format off */
/* The number of rows of invisible_table.h. */
enum {
    INVISIBLE_UTF16 = 0
#define INVISIBLE(first, last, kind, name) +1
#include "base/invisible_table.h"
};
/* clang-format on */

enum invisible_kind {
    INVISIBLE_SHOWS, /* a person sees it */
    INVISIBLE_BLANK, /* looks like a space */
    INVISIBLE_JOINS, /* changes or joins the characters beside it, as Persian, Hindi and emoji do */
    INVISIBLE_NOTHING, /* shows nothing */
};

/* Returns what a person sees of a character. */
MUST_CHECK enum invisible_kind invisible_kind(uint32_t point);

/* Returns whether a character of the text shows.  An absent text has none. */
MUST_CHECK bool invisible_shows(struct text text);

/* Finds the first character of invisible_table.h in the text, or the byte order mark of UTF-16 at
 * its begin.  Bytes that are not UTF-8 are passed over.  The text needs no NUL and may be absent.
 * Returns false if there is none. */
MUST_CHECK bool invisible_find(struct text text, struct invisible *found);

/* Returns whether the text begins with such a character, as invisible_find() does. */
MUST_CHECK bool invisible_at_start(struct text text, struct invisible *found);

#endif
