/* SPDX-License-Identifier: MIT */
/* The store: all that is kept in PostgreSQL.  Every statement for a caller looks up the API key in
 * the same round trip, so a revoked or expired key fails on the next request. */
#ifndef ADIT_STORE_STORE_H
#define ADIT_STORE_STORE_H

#include <stdint.h>

#include "base/error.h"
#include "base/ident.h"
#include "base/must_check.h"
#include "pg/pg.h"
#include "store/key_use.h"
#include "keyring/keyring.h"
#include "store/late.h"
#include "store/page_rows.h"
#include "store/request.h"

struct store;

/* Returns a store over a connection and a keyring, or NULL if there is no memory.  The caller frees
 * it with store_free() and keeps both alive until then. */
MUST_CHECK struct store *store_new(struct pg *pg, struct keyring *keyring);

/* Frees the store, not its connection or keyring.  NULL is fine. */
void store_free(struct store *store);

/* Has the store note each use of a key that it finds.  The uses must outlive the store; they may
 * belong to several stores of one thread. */
void store_note_uses(struct store *store, struct key_uses *uses);

/* The filters that run at a time, of all stores of a thread. */
#define STORE_MOST_FILTERS 2
struct store_filter_place {
    bool is_taken;
    uint64_t scans_for;
};
struct store_filters {
    struct store_filter_place places[STORE_MOST_FILTERS];
};

/* Has the store run at most STORE_MOST_FILTERS filters at a time, and one for each that a request
 * scans for, together with other stores of one thread.  *filters, all zero at first, must outlive
 * the store. */
void store_share_filters(struct store *store, struct store_filters *filters);

/* Has the store ask for fewer rows a page for callers whose rows are large, as it and other stores
 * of one thread have seen.  *rows, all zero at first, must outlive the store. */
void store_share_page_rows(struct store *store, struct page_rows *rows);

/* Has the store refuse accounts whose node did not answer, together with other stores of one
 * thread.  *late must outlive the store. */
void store_share_late(struct store *store, struct late_nodes *late);

/* Makes an identifier from the database's time, which may differ from the host's.  Sets *ms to that
 * time, in milliseconds since 1970, unless ms is NULL.  Returns false with *err as pg_clock(), or
 * with ERR_INTERNAL if the system has no random numbers. */
MUST_CHECK bool store_make_ident(struct pg *pg, const char *prefix, char id[IDENT_SIZE],
                                 int64_t *ms, struct error *err);

/* Begins a transaction of short writes; pg_commit() ends it.  Returns false with *err as
 * pg_begin().
 */
MUST_CHECK bool store_begin(struct pg *pg, struct error *err);

/* Runs a statement that returns at most one identifier, which it copies; "": there is none.
 * Returns false with *err as pg_run(). */
MUST_CHECK bool store_find_id(struct pg *pg, const struct pg_statement *statement,
                              const struct pg_params *params, char id[IDENT_SIZE],
                              struct error *err);

/* Runs a statement that returns at most two identifiers.  Returns true with the only one, or false:
 * with *n rows, 0 or 2, or with *n 0 and *err as pg_run(). */
MUST_CHECK bool store_find_only(struct pg *pg, const struct pg_statement *statement,
                                const struct pg_params *params, char id[IDENT_SIZE], int *n,
                                struct error *err);

/* Sets the caller's digest and account from an API key, and nothing else.  Returns false with
 * ERR_OUT_OF_MEMORY. */
MUST_CHECK bool store_caller(const struct store *store, struct text key, struct caller *caller,
                             struct error *err);

/* Finds the account of a key that names none, where the rows are on several nodes: every statement
 * then runs on one.  An unknown key has none.  Returns false with *err as pg_run(). */
MUST_CHECK bool store_find_account(struct store *store, struct caller *caller, struct error *err);

/* Checks that the API key is good, whatever it may do.  Returns false with ERR_KEY_UNKNOWN or as
 * pg_run(). */
MUST_CHECK bool store_authenticate(struct store *store, const struct store_request *request,
                                   struct error *err);

/* Checks the API key, and that it may do what the request asks, which is a change if writes is
 * true. Returns false as store_authenticate(), or with ERR_KEY_GATEWAY or ERR_KEY_READ_ONLY. */
MUST_CHECK bool store_authorize(struct store *store, const struct store_request *request,
                                bool writes, struct error *err);

/* Checks that the database answers, accepts writes and has the schema of this build.  Returns false
 * with the 503 condition otherwise. */
MUST_CHECK bool store_ready(struct store *store, struct error *err);

#endif
