/* SPDX-License-Identifier: MIT */
/* Waiting for a descriptor.  The caller does not know what else the process waits for. */
#ifndef ADIT_BASE_WAIT_H
#define ADIT_BASE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

struct wait {
    /* Waits until fd has one of the events of poll(), an error or a hangup, or until wake().  With
     * fd -1 it waits for wake() alone.  Returns false if the deadline, in milliseconds on the
     * steady clock, passes first. */
    bool (*until)(void *context, int fd, short events, int64_t deadline_ms);
    /* Ends the wait that began with this context.  Does nothing if there is none. */
    void (*wake)(void *context);
    /* Makes the loop call its on_input callback whenever fd is readable, until fd is closed.
     * Returns false if the loop cannot watch fd. */
    bool (*watch)(void *context, int fd);
    void *context;
};

/* The wait of a process that has nothing else to do.  It has until() only. */
extern const struct wait wait_alone;

#endif
