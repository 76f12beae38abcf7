/* SPDX-License-Identifier: MIT */
/* The record of changes, for aditctl: who changed what.  Only the owner of the tables may read it.
 * Every function returns false with *err as pg_run(). */
#ifndef ADIT_STORE_HISTORY_H
#define ADIT_STORE_HISTORY_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* Begins a transaction that only reads, with limits for large records: a minute per statement.  The
 * caller ends it with pg_rollback(). */
MUST_CHECK bool history_begin(struct pg *pg, struct error *err);

/* Where the record begins. */
struct history_start {
    bool is_pruned;   /* events were removed from it */
    int64_t first_id; /* of the first event that is left; 0: there is none */
    int64_t first_us; /* its time in microseconds since 1970 */
};

MUST_CHECK bool history_read_start(struct pg *pg, struct history_start *start, struct error *err);

/* The columns of history_find(), all PG_TEXT. */
enum history_place_column {
    HISTORY_PLACE_KIND, /* the table */
    HISTORY_PLACE_ACCOUNT_ID,
    HISTORY_PLACE_RESOURCE,
    HISTORY_PLACE_EVENT, /* of history_find_event() only */
    HISTORY_PLACE_N_COLUMNS
};

/* Finds what a resource's name refers to: rows, and what the record has, of the account or, if that
 * is absent, of all.  Finds at most 10.  The caller frees *result with pg_result_free(). */
MUST_CHECK bool history_find(struct pg *pg, struct text resource, struct text account_id,
                             struct pg_result **result, struct error *err);

/* Finds the routes of an edge that have, or had, an OAuth module: the column is "EDGE/ROUTE".  At
 * most 10, in the form of history_find(). */
MUST_CHECK bool history_find_routes(struct pg *pg, struct text edge_id, struct text account_id,
                                    struct pg_result **result, struct error *err);

/* Sets *is_known to whether the record has changes by the name: of an operator. */
MUST_CHECK bool history_has_operator(struct pg *pg, struct text name, bool *is_known,
                                     struct error *err);

/* Finds which of some Users and Bots the record says were deleted in the account: the columns are
 * PG_TEXT, the id and the time of its last deletion in RFC 3339. */
MUST_CHECK bool history_find_deleted(struct pg *pg, struct text account_id, struct text_list ids,
                                     struct pg_result **result, struct error *err);

/* Rows of an account, and the owners of others. */
struct history_suspects {
    struct text account_id;
    struct text_list resources;
    struct text_list owners;
};

/* Finds the latest of the account's last 1000 changes that was made in the last milliseconds and
 * was one of these rows, or of a credential of these owners.  The columns are PG_TEXT: the event,
 * its resource, who made it, and the API key or NULL.  One row, or none. */
MUST_CHECK bool history_find_latest(struct pg *pg, const struct history_suspects *suspects,
                                    int64_t last_ms, struct pg_result **result, struct error *err);

/* Finds what an event is about: one row, or none if there is no such event. */
MUST_CHECK bool history_find_event(struct pg *pg, int64_t id, struct pg_result **result,
                                   struct error *err);

/* What to list. */
struct history_page {
    struct text kind; /* these three: of one resource, or of all that are absent */
    struct text account_id;
    struct text resource;
    int64_t since_us; /* microseconds since 1970; only events from then on */
    struct text by;   /* absent, or the User, Bot, API key or operator that made the change */
    int64_t after_id; /* only later events */
    struct text_list providers; /* their names, in the order of their positions */
};

/* The columns of history_list(), all PG_TEXT. */
enum history_column {
    HISTORY_ID,
    HISTORY_CREATED_AT, /* RFC 3339 */
    HISTORY_EVENT,
    HISTORY_RESOURCE,
    HISTORY_WHO,     /* for people: the User or Bot, the operator or the database role */
    HISTORY_KEY,     /* the API key */
    HISTORY_ADDRESS, /* the client's */
    HISTORY_CHANGE,  /* for people: what differs */
    HISTORY_ACCOUNT_ID,
    HISTORY_PRINCIPAL_ID,
    HISTORY_OPERATOR,
    HISTORY_DATABASE_USER,
    HISTORY_OPERATION_ID,
    HISTORY_CHANGED, /* JSON: a list of names, or absent */
    HISTORY_BEFORE,  /* JSON: the row, without secrets, or absent */
    HISTORY_AFTER,
    HISTORY_N_COLUMNS
};

/* The most rows of a page. */
#define HISTORY_PAGE_SIZE 200

/* Reads a page of events, the oldest first.  The caller frees *result with pg_result_free(). */
MUST_CHECK bool history_list(struct pg *pg, const struct history_page *page,
                             struct pg_result **result, struct error *err);

#endif
