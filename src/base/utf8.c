/* SPDX-License-Identifier: MIT */
/* Characters of UTF-8. */
#include "base/utf8.h"

size_t utf8_char_len(const unsigned char *s, const unsigned char *end)
{
    size_t room = (size_t)(end - s);
    size_t len;

    if (room == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    len = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || room < len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    }
    /* Overlong, a surrogate, or past the last code point: told by the second byte (RFC 3629, 4). */
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return len;
}

bool utf8_valid(const char *s, size_t len)
{
    const unsigned char *at = (const unsigned char *)s;
    const unsigned char *end = at + len;

    while (at < end) {
        size_t char_len = *at ? utf8_char_len(at, end) : 0;

        if (char_len == 0)
            return false;
        at += char_len;
    }
    return true;
}
