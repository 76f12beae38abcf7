/* SPDX-License-Identifier: MIT */
/* Tells whether to try again, and when. */
#include "ctl/retry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl/message.h"
#include "store/document_write.h"

#define MAX_TRIES 5
#define FIRST_PAUSE_MS 50L

bool ctl_is_beaten(const struct error *err)
{
    /* Serialization failure, deadlock, foreign key, unique key. */
    static const char *const states[] = {"40001", "40P01", "23503", "23505"};
    bool found = false;

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        found = found || strcmp(err->sqlstate, states[i]) == 0;
    return found && err->code != ERR_OUTCOME_UNKNOWN;
}

bool ctl_set_beaten(struct error *err)
{
    error_set(err, ERR_DATABASE_UNAVAILABLE);
    snprintf(err->sqlstate, sizeof err->sqlstate, "40001");
    return false;
}

bool ctl_try_again(const struct error *err, int *n_tries)
{
    struct timespec pause = {.tv_nsec = (FIRST_PAUSE_MS << *n_tries) * 1000000L};

    if ((err && !ctl_is_beaten(err)) || *n_tries == MAX_TRIES || ++*n_tries == MAX_TRIES)
        return false;
    nanosleep(&pause, NULL);
    return true;
}

int ctl_supersede(struct ctl *ctl)
{
    struct error err;

    if (document_supersede(ctl->pg, &err))
        return CTL_OK;
    (void)ctl_fail_error(&err);
    return ctl_fail("the changes are made, but what an API key for own credentials has stored of a "
                    "public key meanwhile may count beside them; each run of 'aditctl apply' "
                    "looks for such");
}
