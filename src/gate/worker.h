/* SPDX-License-Identifier: MIT */
/* A worker of the gate: answers requests. */
#ifndef ADIT_GATE_WORKER_H
#define ADIT_GATE_WORKER_H

#include <stddef.h>

#include "base/must_check.h"
#include "serve/request.h"

/* Answers FastCGI requests until SIGTERM.  gate is a struct gate, passed on by workers_run().
 * Returns the exit status. */
MUST_CHECK int worker_run(void *gate, size_t which);

/* Answers one request in a lane, a struct gate_lane, which keeps the response. */
struct response *worker_answer(void *lane, const struct request *request);

#endif
