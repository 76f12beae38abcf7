/* SPDX-License-Identifier: MIT */
/* What Idempotency-Keys were answered with: the operator's side of it. */
#ifndef ADIT_STORE_IDEMPOTENCY_KEY_H
#define ADIT_STORE_IDEMPOTENCY_KEY_H

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* Removes what is older than a day, in small steps that keep nobody waiting.  Returns true with the
 * number of rows. */
MUST_CHECK bool idempotency_key_purge(struct pg *pg, int64_t *n, struct error *err);

#endif
