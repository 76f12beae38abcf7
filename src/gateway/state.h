/* SPDX-License-Identifier: MIT */
/* A file for each session, from which the next run of the daemon knows whom this one let in. */
#ifndef ADIT_GATEWAY_STATE_H
#define ADIT_GATEWAY_STATE_H

#include "base/buf.h"
#include "base/must_check.h"
#include "gateway/proc.h"
#include "gateway/ssh_session.h"

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

/* Writes the file of a session, whole or not at all.  Returns false with errno set; EFBIG: it could
 * not be read back. */
MUST_CHECK bool state_write(const struct state *state, const struct ssh_session *session);

/* Removes the file of the session of a process, if there is one. */
void state_remove(const struct state *state, pid_t pid);

/* Adds the sessions of the files whose processes still are what they were, and removes the other
 * files.  The session of a file that does not make sense is added too, and begins to end: nobody
 * knows what it stands on.  It is found by what there is in the file: its process by id and start,
 * or by id alone if it is below a process of sshd.  Returns false with errno set if the folder
 * cannot be read or memory runs out. */
MUST_CHECK bool state_read_all(const struct state *state, struct ssh_sessions *sessions,
                               const struct log *log);

#endif
