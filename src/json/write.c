/* SPDX-License-Identifier: MIT */
/* The JSON writer.  It escapes only what RFC 8259 requires. */
#include "json/write.h"

#include <string.h>

#include "json/plain.h"

/* Bytes of the longest escape. */
#define ESCAPE_MAX 6

/* A comma and two quotes. */
#define MARKS_MAX 3

/* ---- places in the room of buf_room() ---- */

static void finish_at(struct buf *out, char *end)
{
    *end = '\0';
    out->len = (size_t)(end - out->data);
}

static char *write_bytes(char *to, const char *bytes, size_t len)
{
    memcpy(to, bytes, len);
    return to + len;
}

/* ---- strings ---- */

/* Returns the letter that follows the backslash in the escape of a byte that needs one. */
static char escape_letter(unsigned char c)
{
    switch (c) {
    case '"':
    case '\\':
        return (char)c;
    case '\b':
        return 'b';
    case '\f':
        return 'f';
    case '\n':
        return 'n';
    case '\r':
        return 'r';
    case '\t':
        return 't';
    default:
        return 'u';
    }
}

static char *write_escape(char *to, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    const char escape[ESCAPE_MAX] = {'\\', escape_letter(c), '0', '0', hex[c >> 4], hex[c & 15]};

    return write_bytes(to, escape, escape[1] == 'u' ? sizeof escape : 2);
}

/* Writes the rest of a string, which begins with a byte that needs an escape. */
static void put_escaped(struct buf *out, struct text rest)
{
    while (rest.len > 0) {
        char *to = buf_room(out, ESCAPE_MAX + rest.len);
        size_t n_plain;

        if (!to)
            return;
        to = write_escape(to, (unsigned char)rest.s[0]);
        rest = text_part(rest, 1, rest.len);
        n_plain = json_copy_plain(to, rest.s, rest.len);
        rest = text_part(rest, n_plain, rest.len);
        finish_at(out, to + n_plain);
    }
}

/* Writes a string in quotes, and leaves room for a NUL.  Returns the end, or NULL after a failure.
 */
static char *write_quoted(struct buf *out, char *to, struct text value)
{
    size_t n_plain;

    *to++ = '"';
    n_plain = json_copy_plain(to, value.s, value.len);
    to += n_plain;
    if (n_plain < value.len) {
        finish_at(out, to);
        put_escaped(out, text_part(value, n_plain, value.len));
        to = buf_room(out, 1);
        if (!to)
            return NULL;
    }
    *to++ = '"';
    return to;
}

/* ---- values ---- */

static void put_bytes(struct buf *out, const char *bytes, size_t len)
{
    char *to = buf_room(out, len + MARKS_MAX);

    if (to)
        finish_at(out, write_bytes(json_write_comma(out, to), bytes, len));
}

void json_open(struct buf *out, char bracket)
{
    put_bytes(out, &bracket, 1);
}

void json_close(struct buf *out, char bracket)
{
    char *to = buf_room(out, 1);

    if (!to)
        return;
    *to = bracket;
    finish_at(out, to + 1);
}

void json_put_text(struct buf *out, struct text value)
{
    char *to;

    if (!value.s) {
        json_put_null(out);
        return;
    }
    to = buf_room(out, value.len + MARKS_MAX);
    if (to)
        to = write_quoted(out, json_write_comma(out, to), value);
    if (to)
        finish_at(out, to);
}

void json_put_bool(struct buf *out, bool value)
{
    if (value)
        put_bytes(out, "true", 4);
    else
        put_bytes(out, "false", 5);
}

void json_put_uint(struct buf *out, uint64_t value)
{
    put_bytes(out, "", 0);
    buf_uint(out, value);
}

void json_put_null(struct buf *out)
{
    put_bytes(out, "null", 4);
}

void json_put_raw(struct buf *out, struct text json)
{
    put_bytes(out, json.s, json.len);
}

void json_put_texts(struct buf *out, struct text_list list)
{
    json_open(out, '[');
    for (size_t i = 0; i < list.n; i++)
        json_put_text(out, list.items[i]);
    json_close(out, ']');
}
