/* SPDX-License-Identifier: MIT */
/* What a new account means for the others. */
#ifndef ADIT_CTL_ACCOUNTS_H
#define ADIT_CTL_ACCOUNTS_H

#include "ctl/ctl.h"

/* Warns if the database has just one account, before another one is created.  Returns false with
 * *err as pg_run(). */
MUST_CHECK bool accounts_warn_second(const struct ctl *ctl, struct error *err);

#endif
