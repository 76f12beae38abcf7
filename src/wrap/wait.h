/* SPDX-License-Identifier: MIT */
/* How to wait for a descriptor, for whoever must not know what else is waited for meanwhile. */
#ifndef ADIT_WRAP_WAIT_H
#define ADIT_WRAP_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* Waits until one of poll()'s events is there on fd, or its end.  Returns false once the deadline,
 * on the steady clock, has passed. */
struct wait {
    bool (*until)(void *context, int fd, short events, int64_t deadline_ms);
    void *context;
};

/* The wait of a process that has nothing else to do. */
extern const struct wait wait_alone;

#endif
