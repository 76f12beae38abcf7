/* SPDX-License-Identifier: MIT */
/* Long work, and who wants to know how far it is. */
#ifndef ADIT_STORE_WORK_H
#define ADIT_STORE_WORK_H

#include <stdint.h>

/* After each step, done gets the number of rows handled so far.  NULL instead of a struct work:
 * nobody wants to know. */
struct work {
    void (*done)(void *context, int64_t n);
    void *context;
};

static inline void work_show(const struct work *work, int64_t n)
{
    if (work)
        work->done(work->context, n);
}

#endif
