/* SPDX-License-Identifier: MIT */
/* The JSON writer.  It escapes what RFC 8259 requires, and control characters beyond ASCII: who
 * looks at JSON in a terminal must not meet them raw. */
#include "json/write.h"

#include <string.h>

#include "base/utf8.h"
#include "json/plain.h"

#define DEL 0x7F

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

static char *write_code(char *to, uint32_t point)
{
    static const char hex[] = "0123456789abcdef";
    const char escape[ESCAPE_MAX] = {
        '\\', 'u', hex[point >> 12], hex[point >> 8 & 15], hex[point >> 4 & 15], hex[point & 15]};

    return write_bytes(to, escape, sizeof escape);
}

/* Returns the length of the control character (utf8_is_control) of DEL or above that begins at byte
 * `at`, and its code point.  Returns 0 if there is none.  All of them are below U+10000. */
static size_t control_len(struct text value, size_t at, uint32_t *point)
{
    const unsigned char *s = (const unsigned char *)value.s + at;
    size_t len = utf8_char_len(s, (const unsigned char *)value.s + value.len);

    if (len == 0)
        return 0;
    *point = utf8_decode(s, &len);
    return *point >= DEL && utf8_is_control(*point) ? len : 0;
}

/* Copies bytes up to the first character that needs an escape.  Returns how many it copied.  As
 * json_copy_plain(), it may write into the rest. */
static size_t copy_shown(char *to, struct text value)
{
    size_t at = json_copy_plain(to, value.s, value.len);
    uint32_t ignored;

    while (at < value.len) {
        unsigned char c = (unsigned char)value.s[at];

        if (c < 0x80 || control_len(value, at, &ignored) > 0)
            return at;
        /* The other bytes of the character, too: none of them begins a control. */
        do
            to[at] = value.s[at];
        while (++at < value.len && ((unsigned char)value.s[at] & 0xC0) == 0x80);
        at += json_copy_plain(to + at, value.s + at, value.len - at);
    }
    return at;
}

/* Writes the rest of a string, which begins with a character that needs an escape. */
static void put_escaped(struct buf *out, struct text rest)
{
    while (rest.len > 0) {
        char *to = buf_room(out, ESCAPE_MAX + rest.len);
        uint32_t point;
        size_t len;

        if (!to)
            return;
        len = control_len(rest, 0, &point);
        to = len > 0 ? write_code(to, point) : write_escape(to, (unsigned char)rest.s[0]);
        rest = text_part(rest, len > 0 ? len : 1, rest.len);
        len = copy_shown(to, rest);
        rest = text_part(rest, len, rest.len);
        finish_at(out, to + len);
    }
}

void json_add_raw(struct buf *out, struct text json)
{
    size_t from = 0;
    size_t at = 0;

    while (at < json.len) {
        char escape[ESCAPE_MAX];
        uint32_t point;
        size_t len = (unsigned char)json.s[at] < DEL ? 0 : control_len(json, at, &point);

        if (len == 0) {
            at++;
            continue;
        }
        write_code(escape, point);
        buf_add(out, json.s + from, at - from);
        buf_add(out, escape, sizeof escape);
        at += len;
        from = at;
    }
    buf_add(out, json.s + from, json.len - from);
}

/* Writes a string in quotes, and leaves room for a NUL.  Returns the end, or NULL after a failure.
 */
static char *write_quoted(struct buf *out, char *to, struct text value)
{
    size_t n_shown;

    *to++ = '"';
    n_shown = copy_shown(to, value);
    to += n_shown;
    if (n_shown < value.len) {
        finish_at(out, to);
        put_escaped(out, text_part(value, n_shown, value.len));
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
    put_bytes(out, "", 0);
    json_add_raw(out, json);
}

void json_put_texts(struct buf *out, struct text_list list)
{
    json_open(out, '[');
    for (size_t i = 0; i < list.n; i++)
        json_put_text(out, list.items[i]);
    json_close(out, ']');
}
