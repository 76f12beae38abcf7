/* SPDX-License-Identifier: MIT */
/* The rows that plans change, which others changed at the same time: a later try locks them. */
#ifndef ADIT_CTL_DOCUMENT_PLAN_LOCK_H
#define ADIT_CTL_DOCUMENT_PLAN_LOCK_H

#include "ctl/document/plan.h"

/* A stored row. */
struct plan_lock {
    enum document_kind kind;
    bool leaves; /* a principal that is deleted: its credentials are locked, too */
    struct text account_id;
    struct text first; /* its identifiers in the account */
    struct text second;
};

/* All zero: none. */
struct plan_locks {
    struct arena arena;
    struct plan_lock *rows; /* sorted */
    size_t n;
};

/* Adds the rows that a plan updates or deletes, also those that it leaves.  Returns false after a
 * message. */
MUST_CHECK bool plan_locks_add(struct plan_locks *locks, const struct plan *plan);

/* Locks the rows, until the transaction ends.  Returns false with *err as document_lock_rows(). */
MUST_CHECK bool plan_locks_take(const struct plan_locks *locks, struct pg *pg, struct error *err);

/* Takes out of a plan what it would do to rows that are not locked: they were as the document says
 * when the command began, or not there, and have changed since.  Warns of that.  Sets *is_whole to
 * false if one is an account or a principal: then the plan must not be written. */
void plan_locks_heed(const struct plan_locks *locks, struct plan *plan, bool *is_whole);

/* Finds the latest change of these rows in the last milliseconds.  Appends who made it as words of
 * a message, or nothing if the record of changes has none. */
void plan_locks_blame(const struct plan_locks *locks, struct pg *pg, int64_t last_ms,
                      struct buf *out);

void plan_locks_free(struct plan_locks *locks);

#endif
