/* SPDX-License-Identifier: MIT */
/* How a lane waits in these tests, and their clock.
 *
 * The backend works whenever the driver waits.  The clock stands still meanwhile, and jumps to the
 * deadline when nothing can happen any more.  So tests neither wait nor depend on load. */
#ifndef ADIT_TESTS_PG_LANE_H
#define ADIT_TESTS_PG_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/wait.h"
#include "pg/pipeline.h"

struct lane {
    struct pg_pipeline *pipeline; /* served as the loop does; NULL: none */
    bool is_woken;
    bool refuses_watch;
    void (*on_wait)(struct lane *lane); /* called once, when it waits for rows; NULL: nothing */
    void (*on_io)(struct lane *lane);   /* called once, when it waits for a descriptor */
};

/* Returns the wait of a lane, which must outlive it. */
struct wait lane_wait(struct lane *lane);

/* Moves the clock on. */
void clock_pass_ms(int64_t ms);

#endif
