/* SPDX-License-Identifier: MIT */
/* The listening socket that --listen names. */
#ifndef ADIT_MAIN_LISTEN_H
#define ADIT_MAIN_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/must_check.h"
#include "main/process.h"

/* Listens on a Unix socket at path with this mode, and sets process->listen_fd, which stays open
 * until the process ends.  Replaces a stale socket file.  Returns false after it has logged why. */
MUST_CHECK bool listen_open(struct process *process, const char *path, mode_t mode);

#endif
