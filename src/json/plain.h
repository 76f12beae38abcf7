/* SPDX-License-Identifier: MIT */
/* Copying the plain bytes of a string: those of ASCII that JSON takes as they are (RFC 8259,
 * section 7) and terminals show: all from the space to '~' but '"' and '\'. */
#ifndef ADIT_JSON_PLAIN_H
#define ADIT_JSON_PLAIN_H

#include <stddef.h>

/* Copies bytes up to the first that is not plain, or all len of them.  Returns how many it copied.
 * It may write any bytes into the rest of the len bytes at to. */
size_t json_copy_plain(char *to, const char *from, size_t len);

/* The same without vectors.  json_copy_plain() uses it for short strings, and where the compiler
 * has no vectors. */
size_t json_copy_plain_words(char *to, const char *from, size_t len);

#endif
