/* SPDX-License-Identifier: MIT */
/* What a new account means for the others. */
#ifndef ADIT_CTL_ACCOUNTS_H
#define ADIT_CTL_ACCOUNTS_H

#include "base/ident.h"
#include "ctl/ctl.h"

/* What a second account means; the format takes the id of the first. */
#define ACCOUNTS_SECOND                                                                            \
    "this makes a second account beside %s: commands that need an account then need --account, "   \
    "and gateways without the setting account refuse logins"

/* A change leaves no admin; the format takes the id of the account twice. */
#define ACCOUNTS_NO_ADMIN                                                                          \
    "this leaves the account %s without an enabled admin; to create one, run: aditctl user "       \
    "create --admin --account %s"

/* Returns the command that creates the first User, static: it fails without an account, and where
 * there are several without --account. */
const char *accounts_first_user(struct pg *pg);

/* Writes the id of the account that another one would be the second beside; "" if there is not just
 * one account.  Returns false with *err as pg_run(). */
MUST_CHECK bool accounts_find_second(const struct ctl *ctl, char only[IDENT_SIZE],
                                     struct error *err);

/* Asks on a terminal whether to make a second account, once it was said what that means.  Without a
 * terminal it goes on: a new account takes nothing away that 'account delete' does not bring back,
 * and programs make accounts.  Returns CTL_OK, or the exit status after a message. */
MUST_CHECK int accounts_confirm_second(const struct ctl *ctl);

#endif
