/* SPDX-License-Identifier: MIT */
/* The folder of the files of sessions (gateway/session_file.h). */
#ifndef ADIT_GATEWAY_STATE_H
#define ADIT_GATEWAY_STATE_H

#include "base/buf.h"
#include "base/must_check.h"
#include "gateway/proc.h"

struct state {
    int folder; /* its descriptor */
    int lock;   /* keeps other daemons out of it while this descriptor is open */
    char boot_id[PROC_BOOT_ID_SIZE];
};

/* Opens the folder of the files for one daemon at a time, and makes it if it does not exist.
 * Returns false with the reason in *what, static, and errno. */
MUST_CHECK bool state_open(struct state *state, const char *path, const char **what);

void state_close(struct state *state);

/* Writes the file of the session of a process, whole or not at all.  Returns false with errno set.
 */
MUST_CHECK bool state_put(const struct state *state, pid_t pid, const struct buf *text);

/* Removes the file of the session of a process, if there is one. */
void state_remove(const struct state *state, pid_t pid);

#endif
