/* SPDX-License-Identifier: MIT */
/* Transactions that other sessions were quicker than, or wrote beside. */
#ifndef ADIT_CTL_RETRY_H
#define ADIT_CTL_RETRY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/must_check.h"
#include "ctl/ctl.h"

/* Returns whether a transaction failed because another session was quicker: it changed the same
 * rows, or created or deleted what these refer to.  Nothing has taken effect. */
bool ctl_is_beaten(const struct error *err);

/* Sets *err as if another session had been quicker.  Returns false. */
bool ctl_set_beaten(struct error *err);

/* Returns whether to run such a transaction again, of which n_tries have failed.  Counts this one,
 * and waits: 50 ms after the first, then twice as long each time.  The fifth is the last.  err is
 * NULL if no statement failed, but a row was not as expected. */
MUST_CHECK bool ctl_try_again(const struct error *err, int *n_tries);

/* To be called after credentials were written: supersedes what API keys for own credentials have
 * stored of their public keys meanwhile.  Returns CTL_OK, or CTL_FAILED after a message. */
MUST_CHECK int ctl_supersede(struct ctl *ctl);

#endif
