/* SPDX-License-Identifier: MIT */
/* Refusing what waited behind a statement that took too long. */
#include "pg/shed.h"

#define SHED_MS 50
#define PAUSE_MS 2

void pg_shed_begin(struct pg_shed *shed, bool writes, int64_t now_ms)
{
    shed->what = writes ? PG_SHED_WRITES : PG_SHED_ALL;
    shed->until_ms = now_ms + SHED_MS;
}

bool pg_shed_refuses(const struct pg_shed *shed, bool writes, int64_t now_ms)
{
    if (now_ms >= shed->until_ms || now_ms - shed->last_run_ms > PAUSE_MS)
        return false;
    switch (shed->what) {
    case PG_SHED_NOTHING:
        return false;
    case PG_SHED_WRITES:
        return writes;
    case PG_SHED_ALL:
        return true;
    }
    return false;
}

void pg_shed_note_end(struct pg_shed *shed, int64_t now_ms)
{
    shed->last_run_ms = now_ms;
}
