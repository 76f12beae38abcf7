/* SPDX-License-Identifier: MIT */
/* Looking over a text before a key is read out of it: for what must not be there. */
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

/* None of these texts needs a NUL behind it. */

/* Returns whether the text holds what marks a private key, wherever it stands: the words PRIVATE
 * KEY, the fields of PuTTY's files, or the beginning of OpenSSH's format in base64. */
bool key_scan_private(struct text text);

/* Returns whether the text holds the BEGIN line of an X.509 certificate or of a request for one. */
bool key_scan_certificate(struct text text);

/* Returns how many keys begin in the text, and in *first at which byte the first one does: a BEGIN
 * line of any sort, or the name of an SSH key's type and base64 behind it, as one line has them. */
size_t key_scan_keys(struct text text, size_t *first);

/* Returns whether the text holds the other one. */
bool key_scan_has(struct text text, const char *needle);

/* Returns the word at the front, up to a space or tab or the end, and takes it and what blanks
 * follow it off *text. */
struct text key_scan_word(struct text *text);

#endif
