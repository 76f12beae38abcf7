/* SPDX-License-Identifier: MIT */
/* The loop: questions over the socket, polls of the database, sessions that exit. */
#ifndef ADIT_GATEWAY_LOOP_H
#define ADIT_GATEWAY_LOOP_H

#include "base/must_check.h"
#include "gateway/gateway.h"

/* Runs until SIGTERM or SIGINT, which must be blocked, as SIGCHLD must be.  The sessions of
 * gateway->sessions are watched from now on.  Returns false with errno set if it cannot begin. */
MUST_CHECK bool loop_run(struct gateway *gateway, int listen_fd);

#endif
