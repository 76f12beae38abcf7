/* SPDX-License-Identifier: MIT */
/* Refusing what waited behind a statement that took too long. */
#include "pg/shed.h"

#define SHED_MS 50
#define PAUSE_MS 2

/* Late writes of two callers in this time have one cause.  Each may take 4 s. */
#define SAME_CAUSE_MS 5000

static enum pg_shedding sheds(const struct pg_shed *shed, struct pg_shed_statement late,
                              int64_t now_ms)
{
    bool was_write = shed->what == PG_SHED_OWN_WRITES || shed->what == PG_SHED_WRITES;

    if (!late.writes)
        return PG_SHED_ALL;
    return was_write && shed->caller != late.caller && now_ms - shed->until_ms < SAME_CAUSE_MS
               ? PG_SHED_WRITES
               : PG_SHED_OWN_WRITES;
}

void pg_shed_begin(struct pg_shed *shed, struct pg_shed_statement late, int64_t now_ms)
{
    shed->what = sheds(shed, late, now_ms);
    shed->caller = late.caller;
    shed->until_ms = now_ms + SHED_MS;
}

bool pg_shed_refuses(const struct pg_shed *shed, struct pg_shed_statement statement, int64_t now_ms)
{
    if (shed->is_off || now_ms >= shed->until_ms || now_ms - shed->last_run_ms > PAUSE_MS)
        return false;
    switch (shed->what) {
    case PG_SHED_NOTHING:
        return false;
    case PG_SHED_OWN_WRITES:
        return statement.writes && statement.caller == shed->caller;
    case PG_SHED_WRITES:
        return statement.writes;
    case PG_SHED_ALL:
        return true;
    }
    return false;
}

void pg_shed_note_end(struct pg_shed *shed, int64_t now_ms)
{
    shed->last_run_ms = now_ms;
}
