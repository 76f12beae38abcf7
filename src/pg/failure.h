/* SPDX-License-Identifier: MIT */
/* What a failed result means, for the driver and for the client. */
#ifndef ADIT_PG_FAILURE_H
#define ADIT_PG_FAILURE_H

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/must_check.h"
#include "pg/pg.h"
#include "pg/placement.h"

/* What the driver does after a result. */
enum pg_verdict {
    PG_VERDICT_DONE,       /* it succeeded */
    PG_VERDICT_FAILED,     /* it failed for good */
    PG_VERDICT_RETRY,      /* no effect: run it again */
    PG_VERDICT_UNPREPARED, /* no effect: the server does not know the name; prepare again */
    PG_VERDICT_LEAVE,      /* no effect: run it again on a new session */
    PG_VERDICT_ELSEWHERE,  /* another server was lost; the session goes on; the effect is unknown */
    PG_VERDICT_LOST        /* the session has ended; the effect is unknown */
};

/* Returns the verdict on a result.  A result without a SQLSTATE is libpq's own and means that the
 * connection was lost. */
MUST_CHECK enum pg_verdict pg_judge(const PGresult *result, const struct pg_placement *placement);

/* Sets *err to what a failed result means for its statement (NULL: it has none): the code, the
 * SQLSTATE and a cause for the log. */
void pg_describe(struct error *err, const PGresult *result, const struct pg_statement *statement,
                 const struct pg_placement *placement);

/* Returns whether this text of libpq's says that libpq itself lacked memory.  That says nothing
 * about the server.  libpq has no code for it. */
MUST_CHECK bool pg_is_own_memory(const char *message);

#endif
