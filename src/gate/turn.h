/* SPDX-License-Identifier: MIT */
/* Turns of a worker's lanes at what keeps its loop busy for a moment.  Between two of them the loop
 * goes round, so checks get through, and each begins in a millisecond of its own. */
#ifndef ADIT_GATE_TURN_H
#define ADIT_GATE_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/wait.h"

/* A lane that takes turns, and for whom: numbers that tell most of them apart. */
struct turn {
    const struct wait *wait;
    uint32_t asks_for; /* the modules of an account with one provider */
    uint32_t from;     /* a network of visitors */
    uint64_t visitor;  /* from wherever; 0: unknown */
    struct turn *next; /* of those that wait */
};

/* All zero: no turn was taken yet. */
struct turns {
    int64_t last_ms;    /* when the last one began, on the steady clock */
    struct turn *first; /* of those that wait, in the order of their turns */
};

/* Waits for a turn, which lasts until the lane waits again.  Modules go round, so do the networks
 * and the visitors of the same modules, and then the lanes: whoever has many keeps nobody else
 * waiting.  Returns false if the deadline, on the steady clock, passes first. */
MUST_CHECK bool turn_await(struct turns *turns, struct turn *turn, int64_t deadline_ms);

#endif
