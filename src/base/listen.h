/* SPDX-License-Identifier: MIT */
/* A listening socket in the file system. */
#ifndef ADIT_BASE_LISTEN_H
#define ADIT_BASE_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/must_check.h"

/* Listens on a Unix socket at path with this mode, and sets *fd, which is closed on exec.  Replaces
 * a stale socket file.  Returns false with errno set and the reason in *what, static. */
MUST_CHECK bool listen_unix(const char *path, mode_t mode, int *fd, const char **what);

#endif
