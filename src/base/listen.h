/* SPDX-License-Identifier: MIT */
/* Listening sockets that only this host reaches. */
#ifndef ADIT_BASE_LISTEN_H
#define ADIT_BASE_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/must_check.h"

/* Listens on a Unix socket at path with this mode, and sets *fd, which is closed on exec.  Replaces
 * a stale socket file.  Returns false with errno set and the reason in *what, static. */
MUST_CHECK bool listen_unix(const char *path, mode_t mode, int *fd, const char **what);

/* Listens on a TCP port of 127.0.0.1, and sets *fd, which is closed on exec.  Every user of the
 * host may connect.  Port 0: the kernel chooses one.  Returns false with errno set and the reason
 * in *what, static. */
MUST_CHECK bool listen_loopback(uint16_t port, int *fd, const char **what);

#endif
