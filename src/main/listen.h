/* SPDX-License-Identifier: MIT */
/* The socket that the program makes itself. */
#ifndef ADIT_MAIN_LISTEN_H
#define ADIT_MAIN_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "main/process.h"

/* Listens on a Unix socket at path with this mode, in place of one that an earlier run has left,
 * and sets process->listen_fd.  Returns false after it has logged why not. */
bool listen_open(struct process *process, const char *path, mode_t mode);

#endif
