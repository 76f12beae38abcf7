/* SPDX-License-Identifier: MIT */
/* The record of changes, for aditctl. */
#ifndef ADIT_STORE_AUDIT_PURGE_H
#define ADIT_STORE_AUDIT_PURGE_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"
#include "store/long_work.h"

/* Deletes the events older than so many days, up to 2000 per statement.  Only the owner of the
 * tables may.  Sets *n to the number of deleted events, also on failure.  Returns false with *err
 * as pg_run(). */
MUST_CHECK bool audit_purge(struct pg *pg, int64_t days, const struct long_work *work, int64_t *n,
                            struct error *err);

/* A step.  Steps run in transactions, where nothing is prepared: for the test of all statements. */
extern const struct pg_statement audit_purge_statement;

#endif
