/* SPDX-License-Identifier: MIT */
/* How to wait for a descriptor, for whoever must not know what else is waited for meanwhile. */
#ifndef ADIT_BASE_WAIT_H
#define ADIT_BASE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct wait {
    /* Waits until one of poll()'s events is there on fd, or its end; with fd -1, for wake() alone.
     * Returns false once the deadline, on the steady clock, has passed. */
    bool (*until)(void *context, int fd, short events, int64_t deadline_ms);
    /* Ends the wait of somebody else; nothing where it does not wait. */
    void (*wake)(void *context);
    /* Has the loop tell those who share fd whenever something can be read from it, and again until
     * all of it has been, as long as it is open (serve_callbacks.on_input).  Returns false where
     * that cannot be. */
    bool (*watch)(void *context, int fd);
    void *context;
};

/* The wait of a process that has nothing else to do: only until() is there. */
extern const struct wait wait_alone;

#endif
