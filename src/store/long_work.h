/* SPDX-License-Identifier: MIT */
/* Long work: who wants to know how far it is, and its transactions. */
#ifndef ADIT_STORE_LONG_WORK_H
#define ADIT_STORE_LONG_WORK_H

#include <stdint.h>

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"

/* After each step, done gets the number of rows handled so far.  NULL instead of a struct
 * long_work: nobody wants to know. */
struct long_work {
    void (*done)(void *context, int64_t n);
    void *context;
};

static inline void long_work_show(const struct long_work *work, int64_t n)
{
    if (work)
        work->done(work->context, n);
}

/* Begins a transaction whose statements may take 10 minutes: the limits of the session are those of
 * requests.  More settings may follow. */
#define LONG_WORK_BEGIN "BEGIN; SET LOCAL statement_timeout = '10min'"

/* For pg_set_timeout() before it. */
#define LONG_WORK_TIMEOUT_MS (11 * 60 * 1000)

/* Runs a statement in a transaction of its own, which begin (LONG_WORK_BEGIN, or more) begins.
 * Later calls of the driver have its time, too.  Returns true with *result, which the caller frees,
 * and false with *err as pg_run() or pg_commit(). */
MUST_CHECK bool long_work_run(struct pg *pg, const char *begin,
                              const struct pg_statement *statement, const struct pg_params *params,
                              struct pg_result **result, struct error *err);

#endif
