/* SPDX-License-Identifier: MIT */
/* The listening socket of a program and its workers. */
#ifndef ADIT_SERVE_LISTEN_H
#define ADIT_SERVE_LISTEN_H

#include <stdint.h>
#include <sys/types.h>

#include "base/log.h"
#include "base/must_check.h"
#include "serve/kept.h"

/* Where the operator has a program listen.  All zero: nowhere. */
struct serve_place {
    const char *path; /* of a Unix socket; NULL: none */
    mode_t mode;      /* of its file */
    uint16_t port;    /* of a TCP socket on 127.0.0.1; 0: none */
};

/* Takes over the socket that systemd passes, and adds the connections that it has stored to *kept;
 * or listens at the place.  Sets *fd, to -1 if there is neither.  Returns false after it has logged
 * why, also if there are both. */
MUST_CHECK bool serve_listen(const struct serve_place *place, struct kept *kept,
                             const struct log *log, int *fd);

/* Tells systemd that the program is ready, and that its store may drop the connections that
 * serve_listen() took.  To be called after everything that can fail: a failed start must not look
 * like a service that ends a moment later.  Logs a failure. */
void serve_tell_ready(const struct kept *kept, const struct log *log);

#endif
