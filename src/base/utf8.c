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
    /* The second byte shows overlong forms, surrogates and values past U+10FFFF (RFC 3629, 4). */
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

size_t utf8_whole(const char *s, size_t len)
{
    const unsigned char *begin = (const unsigned char *)s;
    size_t last = len;

    while (last > 0 && (begin[last - 1] & 0xC0) == 0x80)
        last--;
    if (last > 0)
        last--;
    return last + utf8_char_len(begin + last, begin + len);
}

uint32_t utf8_decode(const unsigned char *s, size_t *len)
{
    uint32_t point = *s;

    *len = 1;
    if (point < 0x80)
        return point;
    *len = point < 0xE0 ? 2 : point < 0xF0 ? 3 : 4;
    point &= 0xFFu >> (*len + 1);
    for (size_t i = 1; i < *len; i++)
        point = point << 6 | (s[i] & 0x3F);
    return point;
}

bool utf8_is_control(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x061C || point == 0x200E ||
           point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
           (point >= 0x2066 && point <= 0x2069);
}

uint32_t utf8_find_control(const char *s, size_t len)
{
    const unsigned char *at = (const unsigned char *)s;
    const unsigned char *end = at + len;
    size_t char_len;

    for (; at < end; at += char_len) {
        uint32_t point = utf8_decode(at, &char_len);

        if (utf8_is_control(point))
            return point;
    }
    return 0;
}

size_t utf8_encode(unsigned char *out, uint32_t point)
{
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (unsigned char)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    out[0] = (unsigned char)(len == 1 ? point : (0xF0u << (4 - len) & 0xFF) | point);
    return len;
}
