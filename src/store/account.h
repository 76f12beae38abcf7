/* SPDX-License-Identifier: MIT */
/* Accounts, and the Users and Bots in them: the operator's business. */
#ifndef ADIT_STORE_ACCOUNT_H
#define ADIT_STORE_ACCOUNT_H

#include "base/error.h"
#include "base/ident.h"
#include "wrap/pg.h"

/* Creates an account.  Returns true with its identifier. */
bool account_create(struct pg *pg, struct text name, char id[IDENT_SIZE], struct error *err);

/* Finds the one account that there is.  Returns false with *err, or with *n other than 1. */
bool account_find_only(struct pg *pg, char id[IDENT_SIZE], int *n, struct error *err);

/* Creates a User or a Bot ("user", "bot").  Returns true with its identifier, which is "" where
 * there is no such account. */
bool principal_create(struct pg *pg, struct text account_id, const char *kind, struct text name,
                      bool is_admin, char id[IDENT_SIZE], struct error *err);

/* Finds the one User or Bot that there is, as account_find_only() does. */
bool principal_find_only(struct pg *pg, char id[IDENT_SIZE], int *n, struct error *err);

#endif
