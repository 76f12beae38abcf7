/* SPDX-License-Identifier: MIT */
/* Identifiers: those that the service assigns, those that come in, and the form of API keys. */
#ifndef ADIT_BASE_IDENT_H
#define ADIT_BASE_IDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/text.h"

/* Prefixes of assigned identifiers. */
#define IDENT_CREDENTIAL "sshcr"
#define IDENT_ACCOUNT "ac"
#define IDENT_USER "usr"
#define IDENT_BOT "bot"
#define IDENT_API_KEY "ak"
#define IDENT_OPERATION "op"

/* Room for an assigned identifier: the longest prefix, '_', 27 digits, NUL. */
#define IDENT_SIZE 34

/* Bytes of the longest identifier that is accepted. */
#define IDENT_MAX 255

/* Writes <prefix>_<27 base62 digits>: 48 bits of milliseconds since 1970 and 112 random bits, so
 * that the order of bytes is the order of age.  What is sorted takes its time from one clock, the
 * database's (pg_clock()).  Returns false where the system has no random numbers. */
MUST_CHECK bool ident_make(char out[IDENT_SIZE], const char *prefix, int64_t ms);

/* Returns whether the text is an identifier as callers may name one: 1 to 255 characters out of
 * A-Z a-z 0-9 . _ ~ -, and neither "." nor "..". */
MUST_CHECK bool ident_valid(struct text id);

/* Returns why the text is no identifier, as the clause that follows "because", static; NULL where
 * it is one. */
const char *ident_fault(struct text id);

/* Room for an API key and its NUL. */
#define API_KEY_SIZE 55

/* Writes a new API key: "adit_", 43 random base62 digits, and six digits of their CRC-32, by which
 * a scanner tells a key from noise.  Returns false where the system has no random numbers. */
MUST_CHECK bool api_key_make(char out[API_KEY_SIZE]);

/* Returns whether the text has the form of an API key, its check digits included. */
MUST_CHECK bool api_key_valid(struct text key);

#endif
