/* SPDX-License-Identifier: MIT */
/* What the name of a resource refers to, for aditctl history and restore. */
#ifndef ADIT_CTL_HISTORY_H
#define ADIT_CTL_HISTORY_H

#include "ctl/ctl.h"
#include "model/oauth_module.h"
#include "store/history.h"

/* One row of a table, which may be gone.  Its texts belong to the result. */
struct history_place {
    struct pg_result *result; /* the caller frees it; NULL: no place was found */
    struct text kind;         /* the table */
    struct text account_id;
    struct text resource;
};

/* Finds what the resource's name refers to, in --account or anywhere.  Returns CTL_OK, or the exit
 * status after a message: there is none, or there are several. */
MUST_CHECK int history_find_place(const struct ctl *ctl, struct history_place *place);

/* Checks that somebody or something has the name: the User, Bot, API key or operator of --by, the
 * User or Bot of --for, and the account of --account, now or in the record.  Commands that would
 * find nothing call it within history_begin(), so that a mistyped name does not look like peace.
 * Absent: passes.  Returns CTL_OK, or the exit status after a message. */
MUST_CHECK int history_check_maker(const struct ctl *ctl, const char *by);
MUST_CHECK int history_check_holder(const struct ctl *ctl, const char *holder);
MUST_CHECK int history_check_account(const struct ctl *ctl, const char *account);

/* Room for the names of the providers.  A name has at most 32 bytes. */
struct history_names {
    struct text texts[OAUTH_N_PROVIDERS];
    char labels[OAUTH_N_PROVIDERS][64];
};

/* Returns the settings' names of the providers, in room.  For people, each has beside it how the
 * provider is called. */
struct text_list history_providers(const struct ctl *ctl, struct history_names *room);

/* Prints how far back the record goes if that is not back to the time.  Returns CTL_OK, or
 * CTL_FAILED after a message. */
int history_check_start(const struct ctl *ctl, int64_t time_us);

#endif
