/* SPDX-License-Identifier: MIT */
/* What an operator's transactions set. */
#ifndef ADIT_PG_OPERATOR_H
#define ADIT_PG_OPERATOR_H

#include "pg/own.h"

/* For each transaction, of one statement or more.  A pooler may run it on a session that the setup
 * has not reached: there, whoever may create a function or an operator in a schema of the search
 * path, such as public, would have it called with the operator's rights. */
#define PG_OPERATOR_PATH "SET LOCAL search_path = pg_catalog, pg_temp"

/* In the transaction that is open, sets the search path and names the operator to the triggers.
 * Returns as pg_own_collect() does. */
MUST_CHECK enum pg_outcome pg_operator_enter(struct pg_own *own, const char *operator_name,
                                             int64_t deadline_ms, struct error *err);

#endif
