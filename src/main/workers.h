/* SPDX-License-Identifier: MIT */
/* A supervisor over worker processes. */
#ifndef ADIT_MAIN_WORKERS_H
#define ADIT_MAIN_WORKERS_H

#include <stdbool.h>

#include "base/log.h"

#define WORKERS_MAX 256

/* Runs n workers, each a child process that returns the exit status of run(context), and replaces
 * any that ends at once, always.  SIGTERM, SIGINT and SIGHUP, which must be blocked before, end it:
 * the workers get SIGTERM and 10 seconds.  Returns true once they have all ended; in a child, false
 * with *status set to run()'s answer, for main() to return. */
bool workers_run(int n, int (*run)(void *context), void *context, const struct log *log,
                 int *status);

#endif
