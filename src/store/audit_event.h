/* SPDX-License-Identifier: MIT */
/* The record of changes, for aditctl. */
#ifndef ADIT_STORE_AUDIT_EVENT_H
#define ADIT_STORE_AUDIT_EVENT_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* Deletes the events older than so many days, up to 5000 per statement.  Only the owner of the
 * tables may.  Sets *n to the number of deleted events, also on failure.  Returns false with *err
 * as pg_run(). */
MUST_CHECK bool audit_event_purge(struct pg *pg, int64_t days, int64_t *n, struct error *err);

#endif
