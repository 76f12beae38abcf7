/* SPDX-License-Identifier: MIT */
/* UTF-8 (RFC 3629). */
#ifndef ADIT_BASE_UTF8_H
#define ADIT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length in bytes of the UTF-8 character that begins at s and ends before
 * end, or 0 if there is none: overlong forms, surrogates and values past U+10FFFF are none. */
size_t utf8_char_len(const unsigned char *s, const unsigned char *end);

/* Returns whether len bytes are UTF-8 without NUL. */
bool utf8_valid(const char *s, size_t len);

#endif
