/* SPDX-License-Identifier: MIT */
/* Finding characters that do not show. */
#include "base/invisible.h"

#include "base/utf8.h"

static const struct row {
    uint32_t first;
    uint32_t last;
    enum invisible_kind kind;
    const char *name;
} rows[] = {
/* clang-format off */
#define INVISIBLE(first, last, kind, name) {first, last, INVISIBLE_##kind, name},
#include "base/invisible_table.h"
    /* clang-format on */
};

/* Returns the row of a code point, or INVISIBLE_UTF16. */
static size_t row_of_point(uint32_t point)
{
    size_t row = 0;

    while (row < INVISIBLE_UTF16 && (point < rows[row].first || point > rows[row].last))
        row++;
    return row;
}

enum invisible_kind invisible_kind(uint32_t point)
{
    size_t row = point < 0x80 ? INVISIBLE_UTF16 : row_of_point(point);

    if (row < INVISIBLE_UTF16)
        return rows[row].kind;
    return point < ' ' || point == 0x7F ? INVISIBLE_NOTHING
           : point == ' '               ? INVISIBLE_BLANK
                                        : INVISIBLE_SHOWS;
}

bool invisible_shows(struct text text)
{
    const unsigned char *at = (const unsigned char *)text.s;
    const unsigned char *end = at + text.len;
    bool shows = false;

    while (at < end && !shows) {
        size_t len = utf8_char_len(at, end);

        shows = len > 0 && invisible_kind(utf8_decode(at, &len)) == INVISIBLE_SHOWS;
        at += len > 0 ? len : 1;
    }
    return shows;
}

static bool is_utf16(struct text text)
{
    return text_begins(text, "\xFF\xFE") || text_begins(text, "\xFE\xFF");
}

/* Looks at the characters that begin before `end`. */
static bool find_before(struct text text, size_t end, struct invisible *found)
{
    const unsigned char *bytes = (const unsigned char *)text.s;

    if (end > 0 && is_utf16(text)) {
        *found = (struct invisible){.row = INVISIBLE_UTF16, .what = "a byte order mark of UTF-16"};
        return true;
    }
    for (size_t i = 0; i < end;) {
        size_t len = bytes[i] < 0x80 ? 1 : utf8_char_len(bytes + i, bytes + text.len);
        size_t row = INVISIBLE_UTF16;

        if (len > 1)
            row = row_of_point(utf8_decode(bytes + i, &len));
        if (row < INVISIBLE_UTF16) {
            *found = (struct invisible){.offset = i, .row = row, .what = rows[row].name};
            return true;
        }
        i += len ? len : 1;
    }
    return false;
}

bool invisible_find(struct text text, struct invisible *found)
{
    return find_before(text, text.len, found);
}

bool invisible_at_start(struct text text, struct invisible *found)
{
    return find_before(text, text.len < 1 ? text.len : 1, found);
}
