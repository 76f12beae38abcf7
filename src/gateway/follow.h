/* SPDX-License-Identifier: MIT */
/* The accounts whose changes are read one after the other (by_account.c): those of the sessions,
 * and the one of the settings.  Each has a mark of its own. */
#ifndef ADIT_GATEWAY_FOLLOW_H
#define ADIT_GATEWAY_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/ident.h"
#include "base/must_check.h"
#include "gateway/ssh_session.h"

struct follow {
    char account_id[IDENT_SIZE];
    struct buf mark; /* of the last call; empty: everything is to be judged anew */
    bool is_wanted;
    bool is_away; /* the last statement failed, or could not be sent */
};

/* All zero: none. */
struct follows {
    struct follow *items; /* ordered by account: each session looks for its own, every turn */
    size_t n;
    size_t cap;
    size_t at; /* the next one to be asked for */
};

/* Adds the accounts of the sessions and the one of the settings ("": none), and removes all others.
 * The next one to be asked for stays the next, or the one behind it if it is removed.  Returns
 * false if memory ran out; then some are missing. */
MUST_CHECK bool follows_renew(struct follows *follows, const struct ssh_sessions *sessions,
                              const char *account_id);

/* Returns the account's, or NULL. */
struct follow *follows_find(const struct follows *follows, const char *account_id);

/* Notes an answer, with its mark. */
void follow_note_answer(struct follow *follow, struct text mark);

/* Notes that the account could not be asked for.  Meanwhile its place may go back to what the mark
 * does not know of. */
void follow_note_failure(struct follow *follow);

/* Returns how many accounts could not be asked for. */
size_t follows_count_away(const struct follows *follows);

void follows_free(struct follows *follows);

#endif
