/* SPDX-License-Identifier: MIT */
/* A worker: answers requests. */
#ifndef ADIT_MAIN_WORKER_H
#define ADIT_MAIN_WORKER_H

#include "base/must_check.h"
#include "main/responder.h"

/* Answers FastCGI requests on the responder's socket until SIGTERM.  responder_of_worker is a
 * struct responder, passed on by workers_run(); the worker counts in slot which of its metrics.
 * Returns the exit status. */
MUST_CHECK int worker_serve_fcgi(void *responder_of_worker, size_t which);

/* Answers the one request of a CGI program.  Returns the exit status. */
MUST_CHECK int worker_serve_cgi(const struct responder *responder);

#endif
