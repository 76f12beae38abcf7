/* SPDX-License-Identifier: MIT */
/* Accounts, and the Users and Bots in them, for aditctl.  Every function that returns bool returns
 * false with *err as pg_run(), unless it says otherwise. */
#ifndef ADIT_STORE_ACCOUNT_H
#define ADIT_STORE_ACCOUNT_H

#include "base/error.h"
#include "base/ident.h"
#include "base/must_check.h"
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

/* Creates a User or a Bot; kind is "user" or "bot".  Sets id to its identifier, or to "" if there
 * is no such account. */
MUST_CHECK bool principal_create(struct pg *pg, struct text account_id, const char *kind,
                                 struct text name, bool is_admin, char id[IDENT_SIZE],
                                 struct error *err);

/* The columns of principal_list(). */
enum principal_column {
    PRINCIPAL_ID,
    PRINCIPAL_ACCOUNT_ID,
    PRINCIPAL_ADMIN,  /* "yes" or "no" */
    PRINCIPAL_N_KEYS, /* API keys that are neither expired nor revoked */
    PRINCIPAL_CREATED_AT,
    PRINCIPAL_NAME,
    PRINCIPAL_N_COLUMNS
};

/* Reads all Users or all Bots, in the form of account_list(). */
MUST_CHECK bool principal_list(struct pg *pg, const char *kind, struct pg_result **result,
                               struct error *err);

/* Finds the only User or Bot; returns as account_find_only(). */
MUST_CHECK bool principal_find_only(struct pg *pg, char id[IDENT_SIZE], int *n, struct error *err);

#endif
