/* SPDX-License-Identifier: MIT */
/* UTF-8 (RFC 3629). */
#ifndef ADIT_BASE_UTF8_H
#define ADIT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/must_check.h"

/* Returns the length in bytes of the character that begins at s and ends at or before end.  Returns
 * 0 if there is none: the bytes run out, or they are an overlong form, a surrogate or a value past
 * U+10FFFF. */
size_t utf8_char_len(const unsigned char *s, const unsigned char *end);

/* Returns whether len bytes are UTF-8 without NUL. */
MUST_CHECK bool utf8_valid(const char *s, size_t len);

/* Returns how many of the first len bytes of a UTF-8 text are whole characters: less than len if
 * the cut is inside a character. */
size_t utf8_whole(const char *s, size_t len);

/* Returns the code point of the valid character at s, and its length in bytes in *len. */
uint32_t utf8_decode(const unsigned char *s, size_t *len);

/* Returns whether the character is a control: it shows nothing, and may move the cursor, break the
 * line or turn the direction of the text around it (C0, DEL, C1, U+2028, U+2029, Bidi_Control). */
bool utf8_is_control(uint32_t point);

/* Returns the first character of len bytes of valid UTF-8 that utf8_is_control() names, or 0. */
uint32_t utf8_find_control(const char *s, size_t len);

/* Writes the character of a code point up to U+10FFFF, without a NUL.  Returns its length in bytes.
 * Needs room for that length only. */
size_t utf8_encode(unsigned char *out, uint32_t point);

#endif
