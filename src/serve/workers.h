/* SPDX-License-Identifier: MIT */
/* The supervisor of the worker processes. */
#ifndef ADIT_SERVE_WORKERS_H
#define ADIT_SERVE_WORKERS_H

#include <stdbool.h>

#include "base/log.h"
#include "base/must_check.h"

#define WORKERS_MAX 256

/* Runs n workers, at most WORKERS_MAX: each is a child process that calls run(context).  Replaces
 * each worker that ends.  SIGTERM, SIGINT or SIGHUP ends the supervisor; it sends SIGTERM to the
 * workers, and SIGKILL after 10 seconds.  SIGTERM must be blocked before; the supervisor blocks the
 * others.  Returns true with *status 0 once all workers have ended.  In a child it returns false,
 * with run()'s result in *status for main() to return. */
MUST_CHECK bool workers_run(int n, int (*run)(void *context), void *context, const struct log *log,
                            int *status);

#endif
