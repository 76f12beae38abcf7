/* SPDX-License-Identifier: MIT */
/* The JSON writer.  It escapes only what RFC 8259 requires. */
#include "json/write.h"

#include <string.h>

static bool needs_comma(const struct buf *out)
{
    char last = out->len > 0 && !out->failed ? out->data[out->len - 1] : '[';

    return last != '[' && last != '{' && last != ':';
}

static void comma(struct buf *out)
{
    if (needs_comma(out))
        buf_add(out, ",", 1);
}

/* Returns the letter that follows the backslash in the escape of a byte, or 0 if it needs none. */
static char escape_of(unsigned char c)
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
        return c < 0x20 ? 'u' : 0;
    }
}

/* Returns the number of bytes before the first one that needs an escape.  Nearly no byte of an
 * answer does, so it tests eight at a time.  Subtracting n from each byte of a word sets the top
 * bit of the bytes below n.  A borrow from the next byte can only come from a byte that needs an
 * escape. */
static size_t plain_len(struct text value)
{
    const uint64_t each = 0x0101010101010101u;
    size_t len = 0;

    for (uint64_t word; value.len - len >= sizeof word; len += sizeof word) {
        uint64_t below_space;
        uint64_t quote;
        uint64_t backslash;

        memcpy(&word, value.s + len, sizeof word);
        below_space = word - each * ' ';
        quote = (word ^ each * '"') - each;
        backslash = (word ^ each * '\\') - each;
        if ((below_space | quote | backslash) & ~word & each * 0x80)
            break;
    }
    while (len < value.len && !escape_of((unsigned char)value.s[len]))
        len++;
    return len;
}

static void put_escaped(struct buf *out, struct text value)
{
    static const char hex[] = "0123456789abcdef";
    size_t start = 0;

    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.s[i];
        char escape = escape_of(c);

        if (!escape)
            continue;
        buf_add(out, value.s + start, i - start);
        start = i + 1;
        if (escape == 'u') {
            char code[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

            buf_add(out, code, sizeof code);
        } else {
            buf_add(out, (char[]){'\\', escape}, 2);
        }
    }
    buf_add(out, value.s + start, value.len - start);
}

/* Writes a comma if one is needed, a quote, the string, and `end`. */
static void quoted(struct buf *out, struct text value, const char *end)
{
    size_t n_plain = plain_len(value);
    char *room = buf_room(out, value.len + 4);
    char *at = room;

    if (!room)
        return;
    if (needs_comma(out))
        *at++ = ',';
    *at++ = '"';
    memcpy(at, value.s, n_plain);
    at += n_plain;
    *at = '\0';
    out->len += (size_t)(at - room);
    if (n_plain < value.len)
        put_escaped(out, (struct text){.s = value.s + n_plain, .len = value.len - n_plain});
    buf_puts(out, end);
}

void json_open(struct buf *out, char bracket)
{
    comma(out);
    buf_add(out, &bracket, 1);
}

void json_close(struct buf *out, char bracket)
{
    buf_add(out, &bracket, 1);
}

void json_put_name(struct buf *out, const char *name)
{
    quoted(out, text_of(name), "\":");
}

void json_put_text(struct buf *out, struct text value)
{
    if (value.s) {
        quoted(out, value, "\"");
        return;
    }
    comma(out);
    buf_puts(out, "null");
}

void json_put_bool(struct buf *out, bool value)
{
    comma(out);
    buf_puts(out, value ? "true" : "false");
}

void json_put_uint(struct buf *out, uint64_t value)
{
    comma(out);
    buf_uint(out, value);
}

void json_put_null(struct buf *out)
{
    json_put_text(out, (struct text){0});
}

void json_put_texts(struct buf *out, struct text_list list)
{
    json_open(out, '[');
    for (size_t i = 0; i < list.n; i++)
        json_put_text(out, list.items[i]);
    json_close(out, ']');
}
