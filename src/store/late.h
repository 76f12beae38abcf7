/* SPDX-License-Identifier: MIT */
/* Accounts whose node did not answer, where the rows are on several nodes.  Their requests are
 * refused for a while, so that they leave lanes to accounts on other nodes. */
#ifndef ADIT_STORE_LATE_H
#define ADIT_STORE_LATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ident.h"

#define LATE_N_PLACES 256

/* Direct-mapped by a hash of the account: a late account replaces the one in its place.  All zero:
 * none. */
struct late_accounts {
    struct {
        char account_id[IDENT_SIZE];
        int64_t until_ms; /* on the steady clock */
    } places[LATE_N_PLACES];
};

/* Notes that a statement for the account got no answer. */
void late_note(struct late_accounts *late, const char *account_id, int64_t now_ms);

/* Returns whether the account is refused now. */
bool late_refuses(const struct late_accounts *late, const char *account_id, int64_t now_ms);

#endif
