/* SPDX-License-Identifier: MIT */
/* What an operator's transactions set. */
#ifndef ADIT_PG_OPERATOR_H
#define ADIT_PG_OPERATOR_H

#include "pg/own.h"

/* In the transaction that is open, sets the search path and names the operator to the triggers.
 * Returns as pg_own_collect() does. */
MUST_CHECK enum pg_outcome pg_operator_enter(struct pg_own *own, const char *operator_name,
                                             int64_t deadline_ms, struct error *err);

#endif
