/* SPDX-License-Identifier: MIT */
/* Which statements are refused at once because one before them took too long.
 *
 * While statements take too long, requests queue up behind them.  Each would wait for its turn and
 * then wait as long again.  So the requests that were waiting are refused: those that come without
 * a pause of 2 ms, and for at most 50 ms.
 *
 * A late write has mostly waited for a lock.  Nobody but those who want the same waits for that:
 * only writes of its caller are refused, unless one of another caller was late shortly before. */
#ifndef ADIT_PG_SHED_H
#define ADIT_PG_SHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"

enum pg_shedding {
    PG_SHED_NOTHING,
    PG_SHED_OWN_WRITES, /* a write of the caller took too long */
    PG_SHED_WRITES,     /* so did one of another: a read does not wait for what writes wait for */
    PG_SHED_ALL         /* a read took too long */
};

/* A statement.  Callers are told apart by a number. */
struct pg_shed_statement {
    bool writes;
    uint32_t caller;
};

/* Times are milliseconds on the steady clock.  All zero: nothing is shed. */
struct pg_shed {
    bool is_off; /* nothing is shed, whatever was late */
    enum pg_shedding what;
    uint32_t caller; /* of the latest write that was late */
    int64_t until_ms;
    int64_t last_run_ms; /* when the latest statement ended, or was refused */
};

/* A statement has taken too long: sheds what waits behind it. */
void pg_shed_begin(struct pg_shed *shed, struct pg_shed_statement late, int64_t now_ms);

/* Returns whether a statement is refused. */
MUST_CHECK bool pg_shed_refuses(const struct pg_shed *shed, struct pg_shed_statement statement,
                                int64_t now_ms);

/* A statement has ended or was refused. */
void pg_shed_note_end(struct pg_shed *shed, int64_t now_ms);

#endif
