/* SPDX-License-Identifier: MIT */
/* Stored answers to Idempotency-Keys, for aditctl. */
#ifndef ADIT_STORE_IDEMPOTENCY_KEY_H
#define ADIT_STORE_IDEMPOTENCY_KEY_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"
#include "store/long_work.h"

/* Deletes the answers older than 24 hours, 500 pages of the table per statement, so that no request
 * waits.  Sets *n to the number of deleted rows, also on failure.  Returns false with *err as
 * pg_run(). */
MUST_CHECK bool idempotency_key_purge(struct pg *pg, const struct long_work *work, int64_t *n,
                                      struct error *err);

/* A step.  Steps run in transactions, where nothing is prepared: for the test of all statements. */
extern const struct pg_statement idempotency_key_purge_statement;

#endif
