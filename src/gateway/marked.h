/* SPDX-License-Identifier: MIT */
/* Judges the marked sessions, key by key: what one key has decides about its own sessions alone.
 *
 * A glance looks at many keys and reads no rules.  It ends the sessions of keys that have nothing
 * left, and shows whose rules are to be read.  Those are read one key at a time.  Both have bounds
 * (model/ssh_decision.h).  A key beyond them loses the sessions that neither the credentials up to
 * there cover, nor those without some owners (model/ssh_share.h), nor those that the session stands
 * on, the smallest first: whoever adds to a key, or to a credential of it, ends nothing. The
 * sessions of one key are judged together, however many there are; those that were granted
 * something else than the others as long as the turn goes on.
 *
 * If a statement is late, smaller ones follow.  A key that is late alone, again and again, and once
 * more right after the database has answered for another one, loses its sessions: it keeps the loop
 * for too long. */
#ifndef ADIT_GATEWAY_MARKED_H
#define ADIT_GATEWAY_MARKED_H

#include "base/must_check.h"
#include "gateway/gateway.h"

/* How often a key may be late alone. */
#define MARKED_STRIKES_MAX 3

/* Milliseconds after which a turn leaves the accounts and keys that are left to the next one. */
#define MARKED_TURN_MS 50

/* Returns when a turn that begins now ends, on the steady clock. */
int64_t marked_turn_end_ms(const struct gateway *gateway);

/* Judges marked sessions of an account, or of all accounts (NULL), for a turn: those that the feed
 * names come first, and each kind comes on in each turn, by age: what is marked again and again
 * keeps nothing from being judged.  Sets *is_left to whether some are still marked.  Returns false
 * with *err if the database did not answer, or memory ran out; marks stay.
 */
MUST_CHECK bool marked_judge(struct gateway *gateway, const char *account_id, bool *is_left,
                             struct error *err);

/* Returns whether the database answers for a key that has nothing.  Returns false with *err as
 * store_gateway_glance() does. */
MUST_CHECK bool marked_answers(struct gateway *gateway, struct text account_id, struct error *err);

#endif
