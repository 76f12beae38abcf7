/* SPDX-License-Identifier: MIT */
/* Which statements are refused at once because one before them took too long.
 *
 * While statements take too long, requests queue up behind them.  Each would wait for its turn and
 * then wait as long again.  So the requests that were waiting are refused: those that come without
 * a pause of 2 ms, and for at most 50 ms. */
#ifndef ADIT_PG_SHED_H
#define ADIT_PG_SHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"

enum pg_shedding {
    PG_SHED_NOTHING,
    PG_SHED_WRITES, /* a write took too long: a read does not wait for what a write waits for */
    PG_SHED_ALL     /* a read took too long */
};

/* Times are milliseconds on the steady clock.  All zero: nothing is shed. */
struct pg_shed {
    enum pg_shedding what;
    int64_t until_ms;
    int64_t last_run_ms; /* when the latest statement ended, or was refused */
};

/* A read or a write has taken too long: sheds what waits behind it. */
void pg_shed_begin(struct pg_shed *shed, bool writes, int64_t now_ms);

/* Returns whether a statement is refused. */
MUST_CHECK bool pg_shed_refuses(const struct pg_shed *shed, bool writes, int64_t now_ms);

/* A statement has ended or was refused. */
void pg_shed_note_end(struct pg_shed *shed, int64_t now_ms);

#endif
