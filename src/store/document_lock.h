/* SPDX-License-Identifier: MIT */
/* Locking the rows that a document changes, in a transaction that document_begin() began with
 * DOCUMENT_WRITE_LOCKED: until it ends, others wait that write them.  Each call locks rows of one
 * kind in one account, in the order of their identifiers.  Returns false with *err as pg_run();
 * err->sqlstate is 40P01 after a deadlock, and 55P03 if another session held a lock for too long.
 */
#ifndef ADIT_STORE_DOCUMENT_LOCK_H
#define ADIT_STORE_DOCUMENT_LOCK_H

#include "store/document.h"

/* Locks rows that are to be updated, or deleted unless they are principals. */
MUST_CHECK bool document_lock_rows(struct pg *pg, enum document_kind kind, struct text account_id,
                                   const struct document_keys *keys, struct error *err);

/* Locks principals that are to be deleted, and their credentials: nobody can make them any more. */
MUST_CHECK bool document_lock_leavers(struct pg *pg, struct text account_id, struct text_list ids,
                                      struct error *err);

#endif
