/* SPDX-License-Identifier: MIT */
/* Identifiers that the service assigns, identifiers from callers, and the form of API keys. */
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

/* Bytes of the longest identifier that is accepted from a caller. */
#define IDENT_MAX 255

/* Writes <prefix>_<27 base62 digits>: 48 bits of milliseconds since 1970 and 112 random bits.  So
 * identifiers sort by age.  Identifiers that are sorted need the time of one clock, the database's
 * (pg_clock()).  Returns false if the prefix has more than 5 bytes or the system has no random
 * numbers. */
MUST_CHECK bool ident_make(char out[IDENT_SIZE], const char *prefix, int64_t ms);

/* Random bytes for the next identifiers: a system call draws them for 18 at once.  Each byte is
 * used once, and wiped.  All zero: none.  A process that forks must not pass it on. */
struct ident_random {
    unsigned char bytes[18 * 14];
    size_t left;
};

/* The same with random bytes from there; NULL: from the system. */
MUST_CHECK bool ident_make_from(struct ident_random *random, char out[IDENT_SIZE],
                                const char *prefix, int64_t ms);

/* Writes the first of all identifiers of that prefix and time, which ident_make() may give.  A time
 * before 1970 counts as 1970.  The prefix has at most 5 bytes. */
void ident_first(char out[IDENT_SIZE], const char *prefix, int64_t ms);

/* Returns whether the text is an identifier that a caller may use: 1 to 255 characters of
 * A-Z a-z 0-9 . _ ~ -, and neither "." nor "..". */
MUST_CHECK bool ident_valid(struct text id);

/* Returns whether the text has the form that ident_make() gives an identifier of that prefix. */
MUST_CHECK bool ident_assigned(struct text id, const char *prefix);

/* Returns NULL if the text is an identifier.  If not, returns why, static. */
const char *ident_fault(struct text id);

/* Room for an API key and its NUL, and for one of the earlier form, which names no account. */
#define API_KEY_SIZE 82
#define API_KEY_BARE_SIZE 55

/* Writes a new API key of an account: "adit_", the 27 digits of the account's identifier, 43 random
 * base62 digits, and the CRC-32 of the digits before in six digits, by which secret scanners know a
 * key.  Returns false if that is no assigned identifier of an account, or the system has no random
 * numbers. */
MUST_CHECK bool api_key_make(char out[API_KEY_SIZE], struct text account_id);

/* Returns whether the text has the form of an API key and its check digits are right.  The earlier
 * form, without the account's digits, stays valid. */
MUST_CHECK bool api_key_valid(struct text key);

/* Writes the account that a valid API key names, and returns true.  Returns false with "" if the
 * key has the earlier form.  It grants no access: anybody can make such a text. */
bool api_key_account(struct text key, char account_id[IDENT_SIZE]);

#endif
