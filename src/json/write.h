/* SPDX-License-Identifier: MIT */
/* Writing JSON (RFC 8259) in one pass.  These functions write the commas between values, but they
 * do not check the nesting.  A lack of memory sets out->failed. */
#ifndef ADIT_JSON_WRITE_H
#define ADIT_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"

/* Open and close an object or a list.  The bracket is one of {}[]. */
void json_open(struct buf *out, char bracket);
void json_close(struct buf *out, char bracket);

/* Writes a comma if one is needed, into the room at the end of the buffer.  Returns the end, which
 * is not part of the buffer yet. */
static inline char *json_write_comma(const struct buf *out, char *to)
{
    char last = out->len > 0 ? to[-1] : '[';

    if (last != '[' && last != '{' && last != ':')
        *to++ = ',';
    return to;
}

/* Writes the name of a member, which has no character that JSON escapes.  Its value has to be
 * written next.  Inline, since most names are constants. */
static inline void json_put_name(struct buf *out, const char *name)
{
    size_t len = strlen(name);
    char *to = buf_room(out, len + 4);

    if (!to)
        return;
    to = json_write_comma(out, to);
    *to++ = '"';
    memcpy(to, name, len + 1); /* the quote takes the place of the NUL */
    to += len;
    *to++ = '"';
    *to++ = ':';
    out->len = (size_t)(to - out->data);
}

/* Write a value.  Text must be UTF-8.  What utf8_is_control() names is escaped.  An absent text is
 * written as null. */
void json_put_text(struct buf *out, struct text value);
void json_put_bool(struct buf *out, bool value);
void json_put_uint(struct buf *out, uint64_t value);
void json_put_null(struct buf *out);

/* Writes a member whose value is a text. */
static inline void json_put_member(struct buf *out, const char *name, struct text value)
{
    json_put_name(out, name);
    json_put_text(out, value);
}

/* Appends JSON of another writer, such as PostgreSQL, whose strings may have control characters
 * raw: escapes those from U+007F on, which no JSON has outside of strings. */
void json_add_raw(struct buf *out, struct text json);

/* Writes such a value. */
void json_put_raw(struct buf *out, struct text json);

/* Writes a list of strings.  An absent list is written as []. */
void json_put_texts(struct buf *out, struct text_list list);

#endif
