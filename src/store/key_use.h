/* SPDX-License-Identifier: MIT */
/* When and from where each API key was last used.  A worker notes it in memory and writes it in
 * batches, so that it costs no request anything. */
#ifndef ADIT_STORE_KEY_USE_H
#define ADIT_STORE_KEY_USE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/must_check.h"
#include "base/text.h"
#include "pg/pg.h"

/* What was noted since the last write: the last use of each of at most KEY_USES_MAX keys. */
struct key_uses;

#define KEY_USES_MAX 768

/* Returns an empty table, or NULL if there is no memory.  key_uses_free() frees it; NULL is fine.
 */
MUST_CHECK struct key_uses *key_uses_new(void);
void key_uses_free(struct key_uses *uses);

/* Notes a use of a key at a time, in milliseconds on the steady clock.  Both identifiers are
 * assigned ones.  The address is an IP address; NULL: it is not known.  A full table notes no more
 * keys until it is written. */
void key_uses_note(struct key_uses *uses, struct text account_id, struct text key_id,
                   const char *address, int64_t at_ms);

/* Returns when the uses are to be written, in milliseconds on the steady clock; INT64_MAX: there
 * are none.  That is 4 minutes after the first, or earlier if many keys are used, but at least 10 s
 * after the last write. */
MUST_CHECK int64_t key_uses_due_ms(const struct key_uses *uses);

/* Writes what is noted and forgets it: in one statement, or where each account has a place of its
 * own in one for each.  The latest use of a key wins, whoever notes it; one less than 30 s after
 * the stored one is not written.  Returns false with *err as pg_run(): the uses that were not
 * written are kept for the next write.  The arena holds the parameters.  While this runs, other
 * lanes may note more. */
MUST_CHECK bool key_uses_write(struct key_uses *uses, struct pg *pg, int64_t now_ms,
                               struct arena *arena, struct error *err);

#endif
