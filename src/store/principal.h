/* SPDX-License-Identifier: MIT */
/* Users and Bots, for aditctl.  Every function that returns bool returns false with *err as
 * pg_run(), unless it says otherwise. */
#ifndef ADIT_STORE_PRINCIPAL_H
#define ADIT_STORE_PRINCIPAL_H

#include "base/error.h"
#include "base/ident.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* A User or Bot to create. */
struct principal_new {
    struct text account_id;
    const char *kind; /* "user" or "bot" */
    struct text name;
    bool is_admin;
};

/* Creates one.  Sets id to its identifier, or to "" if there is no such account. */
MUST_CHECK bool principal_create(struct pg *pg, const struct principal_new *made,
                                 char id[IDENT_SIZE], struct error *err);

/* The columns of principal_list(). */
enum principal_column {
    PRINCIPAL_ID,
    PRINCIPAL_ACCOUNT_ID,
    PRINCIPAL_ADMIN,  /* "yes" or "no" */
    PRINCIPAL_N_KEYS, /* API keys that are accepted now */
    PRINCIPAL_CREATED_AT,
    PRINCIPAL_DISABLED_AT, /* absent: it is enabled */
    PRINCIPAL_NAME,
    PRINCIPAL_N_COLUMNS
};

/* Reads all Users or all Bots, in the form of account_list(). */
MUST_CHECK bool principal_list(struct pg *pg, const char *kind, struct pg_result **result,
                               struct error *err);

/* Finds the only User or Bot, of an account or (absent) of all; returns as account_find_only(). */
MUST_CHECK bool principal_find_only(struct pg *pg, struct text account_id, char id[IDENT_SIZE],
                                    int *n, struct error *err);

/* Finds the first User or Bot of the account with the name, but for one ("": for none).
 * Sets id to "" if there is none. */
MUST_CHECK bool principal_find_named(struct pg *pg, struct text account_id, struct text name,
                                     struct text but_id, char id[IDENT_SIZE], struct error *err);

/* Finds the account of a User or Bot, in the given account if there is one.  Sets account_id to ""
 * if there is no such User or Bot. */
MUST_CHECK bool principal_find_account(struct pg *pg, struct text id, struct text within,
                                       char account_id[IDENT_SIZE], struct error *err);

/* Names a User or a Bot. */
struct principal {
    struct text id;
    const char *kind; /* "user" or "bot": one of the other kind is not found */
};

/* The columns of principal_show(). */
enum principal_show_column {
    PRINCIPAL_SHOW_ID,
    PRINCIPAL_SHOW_NAME,
    PRINCIPAL_SHOW_ACCOUNT_ID,
    PRINCIPAL_SHOW_ACCOUNT,
    PRINCIPAL_SHOW_ADMIN, /* "yes" or "no" */
    PRINCIPAL_SHOW_CREATED_AT,
    PRINCIPAL_SHOW_DISABLED_AT, /* absent: it is enabled */
    PRINCIPAL_SHOW_N_CREDENTIALS,
    PRINCIPAL_SHOW_N_KEYS, /* API keys that are accepted now */
    PRINCIPAL_SHOW_N_COLUMNS
};

/* Reads the facts of one, in the form of account_list(); no row: there is none. */
MUST_CHECK bool principal_show(struct pg *pg, const struct principal *principal,
                               struct pg_result **result, struct error *err);

/* Gives one another name.  Sets *found to whether there is one. */
MUST_CHECK bool principal_rename(struct pg *pg, const struct principal *principal, struct text name,
                                 bool *found, struct error *err);

/* What became of a User or Bot.  If found is false, nothing else is set. */
struct principal_end {
    bool found;
    bool is_deleted;
    bool is_as_before;  /* principal_disable() had nothing to change */
    bool is_last_admin; /* no other admin of the account is enabled */
    char account_id[IDENT_SIZE];
    char disabled_at[32];  /* RFC 3339; "": it is enabled */
    int64_t n_keys;        /* API keys that are neither revoked nor expired; if deleted, all keys */
    int64_t n_credentials; /* that it owns, or owned before it was deleted */
    int64_t n_ended;       /* credentials that principal_end_credentials() deleted */
    char same_keys[3 * IDENT_SIZE]; /* others' with their public keys, at most 3; "": none */
};

/* Disables one, which refuses its API keys from the next request on, or enables it, which accepts
 * them again.  One that is disabled already keeps its time. */
MUST_CHECK bool principal_disable(struct pg *pg, const struct principal *principal, bool disable,
                                  struct principal_end *end, struct error *err);

/* Deletes the credentials that a User or Bot owns, some at a time, each time in a transaction of
 * its own: adds to end->n_ended what is gone, also if it fails, and sets end->n_credentials.  Waits
 * up to 10 s for transactions that are writing credentials.  If the User or Bot was disabled
 * before, requests of its own create no more. */
MUST_CHECK bool principal_end_credentials(struct pg *pg, struct text id, struct principal_end *end,
                                          struct error *err);

/* A step.  Steps run in transactions, where nothing is prepared: for the test of all statements. */
extern const struct pg_statement principal_end_credentials_statement;

/* Begins a transaction for principal_delete(), which may take minutes.  pg_commit() ends it. */
MUST_CHECK bool principal_begin(struct pg *pg, struct error *err);

/* Deletes one, with its API keys and its answers to Idempotency-Keys.  Its credentials go to the
 * heir, or are deleted if with_credentials is true.  Deletes nothing if there are credentials and
 * neither is given, or if the heir is disabled or not in the account.  An absent heir_id: none.  If
 * somebody creates something of it meanwhile, err->sqlstate is 23503: try again. */
MUST_CHECK bool principal_delete(struct pg *pg, const struct principal *principal,
                                 struct text heir_id, bool with_credentials,
                                 struct principal_end *end, struct error *err);

#endif
