/* SPDX-License-Identifier: MIT */
/* Accounts, for aditctl.  Every function that returns bool returns false with *err as pg_run(),
 * unless it says otherwise. */
#ifndef ADIT_STORE_ACCOUNT_H
#define ADIT_STORE_ACCOUNT_H

#include "base/error.h"
#include "base/ident.h"
#include "base/must_check.h"
#include "model/resource.h"
#include "pg/pg.h"

/* Creates an account and sets id to its identifier. */
MUST_CHECK bool account_create(struct pg *pg, struct text name, char id[IDENT_SIZE],
                               struct error *err);

/* Finds the only account.  Returns true with its id, or false: with *n accounts, 0 or 2 (2 or
 * more), or with *n 0 and *err. */
MUST_CHECK bool account_find_only(struct pg *pg, char id[IDENT_SIZE], int *n, struct error *err);

/* The columns of account_list(). */
enum account_column { ACCOUNT_ID, ACCOUNT_CREATED_AT, ACCOUNT_NAME, ACCOUNT_N_COLUMNS };

/* Reads all accounts, oldest first.  Every column is text; times are RFC 3339.  The caller frees
 * *result with pg_result_free(). */
MUST_CHECK bool account_list(struct pg *pg, struct pg_result **result, struct error *err);

/* Finds the first account with the name, but for one ("": for none).  Sets id to "" if there is
 * none. */
MUST_CHECK bool account_find_named(struct pg *pg, struct text name, struct text but_id,
                                   char id[IDENT_SIZE], struct error *err);

/* Gives an account another name.  Sets *found to whether there is such an account. */
MUST_CHECK bool account_rename(struct pg *pg, struct text id, struct text name, bool *found,
                               struct error *err);

/* What stands in an account. */
struct account_rest {
    bool found; /* there is such an account */
    int64_t principals;
    int64_t modules[RESOURCE_N_KINDS];
};

/* Deletes an account if nothing stands in it.  Sets *rest to what did before. */
MUST_CHECK bool account_delete(struct pg *pg, struct text id, struct account_rest *rest,
                               struct error *err);

#endif
