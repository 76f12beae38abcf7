/* SPDX-License-Identifier: MIT */
/* One worker. */
#ifndef ADIT_MAIN_WORKER_H
#define ADIT_MAIN_WORKER_H

#include "main/process.h"

/* Answers requests that come over FastCGI on the process's socket, until SIGTERM.  Takes a struct
 * process, as workers_run() hands it on.  Returns an exit status. */
int worker_serve_fcgi(void *process_of_worker);

/* Answers the one request of a CGI program.  Returns an exit status. */
int worker_serve_cgi(const struct process *process);

#endif
