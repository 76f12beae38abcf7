/* SPDX-License-Identifier: MIT */
/* The supervisor of the worker processes. */
#ifndef ADIT_SERVE_WORKERS_H
#define ADIT_SERVE_WORKERS_H

#include <stdbool.h>

#include "base/log.h"
#include "base/metrics.h"
#include "base/must_check.h"
#include "serve/kept.h"

#define WORKERS_MAX 256

/* What the supervisor does.  All of it must outlive workers_run(). */
struct workers_plan {
    size_t n; /* workers: at most WORKERS_MAX */
    /* Has a slot for each.  A worker may write anything there, so the supervisor trusts no number
     * of it. */
    struct metrics *metrics;
    int drain_ms; /* how long a worker goes on after SIGTERM */
    /* What each worker does, in a child process.  which is its number, from 0; its successor has
     * the same.  Returns its exit status. */
    int (*run)(void *context, size_t which);
    void *context;
    const struct log *log;
    /* Connections that workers pass on when they stop, for those that start after them.  At the end
     * systemd stores them.  A child has its share of them. */
    struct kept *kept;
};

/* Returns the number of workers for this machine, if the operator names none: one for each
 * processor, 2 to 8. */
MUST_CHECK size_t workers_default(void);

/* Runs the workers.  Replaces each worker that ends.  SIGTERM ends the supervisor: it sends SIGTERM
 * to the workers, tells systemd how long they may take, and sends SIGKILL 10 s after drain_ms.
 * SIGINT or SIGHUP, also while they drain, sends them SIGINT, and SIGKILL after 10 s.  SIGTERM must
 * be blocked before; the supervisor blocks the others.  Returns true with *status 0 once all
 * workers have ended.  In a child it returns false, with run()'s result in *status for main() to
 * return. */
MUST_CHECK bool workers_run(const struct workers_plan *plan, int *status);

#endif
