/* SPDX-License-Identifier: MIT */
/* Asks the database for a key that is offered.  Notes whether it answers, and logs when it goes
 * away and comes back. */
#ifndef ADIT_GATEWAY_ASKING_H
#define ADIT_GATEWAY_ASKING_H

#include "base/must_check.h"
#include "gateway/gateway.h"

#define ASKING_KEY_LATE "the key was not read in time; it is asked for again soon"

/* Notes how statements that began then have ended, and logs when the database goes away and comes
 * back.  Returns ok. */
bool asking_note_outcome(struct gateway *gateway, bool ok, const struct error *err,
                         int64_t begun_ms);

/* Returns whether the database answers, for nobody's key. */
MUST_CHECK bool asking_for_others(struct gateway *gateway, struct text account_id,
                                  struct error *err);

/* Returns why an account cannot be obeyed, static, or NULL.  n_accounts is how many it names. */
const char *asking_account_fault(int n_accounts);

/* Has a key wait.  Returns why, static. */
const char *asking_note_late_key(struct gateway *gateway, const struct gateway_key *key);

/* A statement about keys. */
typedef bool asking_statement(struct gateway *gateway, struct arena *arena,
                              struct gateway_keys keys, void *out, struct error *err);

/* What one key has: *out is a struct gateway_credentials. */
asking_statement asking_look_up;

/* What each key has at a glance: *out is a struct gateway_glance *. */
asking_statement asking_glance;

/* Returns how many keys the next statement for logins may glance at. */
size_t asking_glance_most(const struct gateway *gateway);

/* Asks about keys, which are of one account where gateway->by_account is set.  If only these are
 * late, only they have to wait: whoever offers them has proved nothing yet.  Returns false with the
 * reason, static. */
MUST_CHECK bool asking_about(struct gateway *gateway, struct arena *arena, struct gateway_keys keys,
                             asking_statement *statement, void *out, const char **why);

#endif
