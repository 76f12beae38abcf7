/* SPDX-License-Identifier: MIT */
/* Asks the database: may a key log in, and do the sessions still have what they were granted?
 *
 * The look-up of a key and the reading of changes are in one thread, and the caller registers the
 * session before the next poll.  So a change either precedes the look-up's snapshot, or a later
 * poll returns it when the session is known.  What was seen before a poll permits nothing. */
#ifndef ADIT_GATEWAY_JUDGE_H
#define ADIT_GATEWAY_JUDGE_H

#include "base/arena.h"
#include "base/must_check.h"
#include "gateway/gateway.h"
#include "gateway/grant.h"

enum judge_verdict {
    JUDGE_PERMITTED,
    JUDGE_NONE,
    JUDGE_OVER, /* the key has more than is read, or than sshd takes */
    JUDGE_AWAY, /* the database does not answer */
    JUDGE_FAULT /* the settings name no account, or memory runs out */
};

/* Returns the key as it is looked up.  It holds the texts, and may hold one of the settings. */
struct gateway_key judge_key_named(const struct gateway *gateway, struct text account_id,
                                   struct text fingerprint);

/* Looks a key up in an account; "": the one of the settings.  *grant is in the arena, or valid
 * until the next call.  But for JUDGE_PERMITTED and JUDGE_NONE, *why is the reason, static. */
MUST_CHECK enum judge_verdict judge_key(struct gateway *gateway, struct arena *arena,
                                        struct text account_id, struct text fingerprint,
                                        struct judge_grant *grant, const char **why);

/* Reads the changes since the last time and judges the sessions that they concern, or all sessions
 * if it cannot tell; the same for the edges of mutual TLS.  Does nothing while the database is away
 * and it is too early to try again.  Returns false if some are left after a turn, and the caller
 * calls again soon.
 */
bool judge_changes(struct gateway *gateway);

/* Marks the sessions and edges that changes concern, or all if they are not complete. */
void judge_mark_changed(struct gateway *gateway, const struct gateway_changes *changes);

/* Has the next calls of judge_changes() judge all sessions and edges. */
void judge_sweep(struct gateway *gateway);

#endif
