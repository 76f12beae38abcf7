/* SPDX-License-Identifier: MIT */
/* A worker: answers requests. */
#ifndef ADIT_MAIN_WORKER_H
#define ADIT_MAIN_WORKER_H

#include "base/must_check.h"
#include "main/process.h"

/* Answers FastCGI requests on the process's socket until SIGTERM.  process_of_worker is a struct
 * process, passed on by workers_run(); the worker counts in slot which of its metrics.  Returns the
 * exit status. */
MUST_CHECK int worker_serve_fcgi(void *process_of_worker, size_t which);

/* Answers the one request of a CGI program.  Returns the exit status. */
MUST_CHECK int worker_serve_cgi(const struct process *process);

#endif
