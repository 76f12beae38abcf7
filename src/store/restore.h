/* SPDX-License-Identifier: MIT */
/* Making rows as they were, from the record of changes, for aditctl.  Only the owner of the tables
 * may.  Every function returns false with *err as pg_run(). */
#ifndef ADIT_STORE_RESTORE_H
#define ADIT_STORE_RESTORE_H

#include "base/error.h"
#include "base/ident.h"
#include "base/must_check.h"
#include "pg/pg.h"
#include "keyring/keyring.h"

/* What to undo.  For each row, the first event that fits, and every later one. */
struct restore_order {
    struct text kind; /* these three: of one row, or absent */
    struct text account_id;
    struct text resource;
    int64_t event_id; /* 0, or the event to begin with */
    int64_t after_us; /* only events later than this, in microseconds since 1970 */
    struct text by;   /* absent, or the User, Bot, API key or operator that made the change */
    bool enables;     /* also enable a User or Bot that is disabled, and give it credentials */
    struct text_list providers; /* their names, in the order of their positions */
};

/* The columns of restore_plan(). */
enum restore_column {
    RESTORE_KIND, /* the table */
    RESTORE_ACCOUNT_ID,
    RESTORE_RESOURCE,
    RESTORE_EVENT,          /* PG_BIGINT: the first event that is undone */
    RESTORE_CURRENT,        /* the row as JSON; absent: there is none */
    RESTORE_WANTED,         /* the same as it was */
    RESTORE_CHANGE,         /* for people: what differs; "" or absent: nothing that they see */
    RESTORE_LACKS,          /* its owner or account that is gone and is not restored; or absent */
    RESTORE_DISABLED_OWNER, /* who would get the credential and is disabled; or absent */
    RESTORE_IS_SAME,        /* PG_BOOL from here on: nothing differs */
    RESTORE_STAYS_DISABLED, /* it was enabled, and is or was last disabled: RESTORE_WANTED is so */
    RESTORE_GIVES,          /* somebody who has to be enabled gets a credential */
    RESTORE_BY_OTHERS,      /* others than `by` changed it later */
    RESTORE_HAS_CLIENT,     /* an OAuth module with a client secret */
    RESTORE_KEEPS_SECRET,   /* the present row has the secret of that time */
    RESTORE_PROVIDER,       /* PG_SMALLINT, of the module as it was */
    RESTORE_N_RULES,        /* PG_INTEGER: of the credential as it was; or absent */
    RESTORE_N_RULES_NOW,    /* PG_INTEGER: of the present credential; or absent */
    RESTORE_N_ADMINS,       /* PG_BIGINT: enabled admins that the account has now */
    RESTORE_MORE_ADMINS,    /* PG_INTEGER: so many more it has with the row: -1, 0 or 1 */
    RESTORE_N_COLUMNS
};

/* Reads what would have to change, within history_begin().  The caller frees *result with
 * pg_result_free(). */
MUST_CHECK bool restore_plan(struct pg *pg, const struct restore_order *order,
                             struct pg_result **result, struct error *err);

/* Begins the transaction to write in. */
MUST_CHECK bool restore_begin(struct pg *pg, struct error *err);

/* A client secret, sealed for the module. */
struct restore_secret {
    struct text key_id;
    struct text sealed; /* any bytes */
};

/* A statement takes so many rows, and so many bytes of them but for one row.  A statement for each
 * would take ten times as long. */
#define RESTORE_BATCH_MAX 100
#define RESTORE_BATCH_BYTES (1024 * 1024)

/* Rows of a plan that one statement restores.  All zero: none. */
struct restore_batch {
    int rows[RESTORE_BATCH_MAX];
    int n;
    size_t len; /* bytes */
};

/* Adds a row of the plan.  Returns false if it does not belong to the batch any more: it is of
 * another kind or deletes while others do not, or the batch is full.  An empty batch takes every
 * row. */
MUST_CHECK bool restore_batch_add(struct restore_batch *batch, const struct pg_result *plan,
                                  int row);

/* Makes the rows of a batch, of which there is one, as they were, if they are as the plan says.
 * secret is for the only row of the batch, or NULL: keep that of each row.  Sets *done to whether
 * it did so for all.  Without *done, or after a failure, the caller rolls back. */
MUST_CHECK bool restore_rows(struct pg *pg, const struct pg_result *plan,
                             const struct restore_batch *batch, const struct restore_secret *secret,
                             bool *done, struct error *err);

/* Holds those who get a credential of the batch, which may be empty, as they are until the end of
 * the transaction.  Copies the id of one who was disabled since restore_rows(); "": nobody was.
 * After one, the caller rolls back. */
MUST_CHECK bool restore_hold_owners(struct pg *pg, const struct pg_result *plan,
                                    const struct restore_batch *batch, char disabled[IDENT_SIZE],
                                    struct error *err);

#endif
