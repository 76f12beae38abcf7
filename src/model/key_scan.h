/* SPDX-License-Identifier: MIT */
/* Searching a text for things that must not be there, before a key is read from it. */
#ifndef ADIT_MODEL_KEY_SCAN_H
#define ADIT_MODEL_KEY_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* How the BEGIN line of PEM (RFC 7468) and of RFC 4716 begins. */
#define KEY_SCAN_PEM_BEGIN "-----BEGIN "
#define KEY_SCAN_SSH2_BEGIN "---- BEGIN "

/* How the base64 of a key on the wire begins: with the high bytes of a length, which are zero. */
#define KEY_SCAN_BASE64_BEGIN "AAAA"

/* The texts of these functions need no NUL at the end. */

/* Returns whether a part of the text marks a private key: the words PRIVATE KEY, a field of PuTTY's
 * files, the prefix of age's keys, or the beginning of OpenSSH's format in base64. */
bool key_scan_private(struct text text);

/* Returns whether the text has the BEGIN line of an X.509 certificate or of a request for one. */
bool key_scan_certificate(struct text text);

/* Returns the number of keys in the text, and in *first the offset of the first one.  A key is a
 * BEGIN line of any kind, or the name of an SSH key's type and then base64. */
size_t key_scan_keys(struct text text, size_t *first);

/* Returns whether the text contains the needle. */
bool key_scan_has(struct text text, const char *needle);

/* Returns the word at the front, up to white space or the end.  Removes it and the blanks after it
 * from *text.  No NUL follows the word. */
struct text key_scan_word(struct text *text);

#endif
