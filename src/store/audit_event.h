/* SPDX-License-Identifier: MIT */
/* The record of changes: the operator's side of it. */
#ifndef ADIT_STORE_AUDIT_EVENT_H
#define ADIT_STORE_AUDIT_EVENT_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* Removes the events that are older than this, in small steps; only the owner of the tables may.
 * Returns true with their number. */
MUST_CHECK bool audit_event_purge(struct pg *pg, int64_t days, int64_t *n, struct error *err);

#endif
