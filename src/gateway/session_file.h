/* SPDX-License-Identifier: MIT */
/* A file for each session, from which the next run of the daemon knows whom this one let in. */
#ifndef ADIT_GATEWAY_SESSION_FILE_H
#define ADIT_GATEWAY_SESSION_FILE_H

#include "base/must_check.h"
#include "gateway/ssh_session.h"
#include "gateway/state.h"

/* Writes the file of a session, whole or not at all.  Returns false with errno set; EFBIG: it could
 * not be read back. */
MUST_CHECK bool session_file_write(const struct state *state, const struct ssh_session *session);

/* Adds the sessions of the files whose processes still are what they were, and removes the other
 * files.  The session of a file that does not make sense is added too, and begins to end: nobody
 * knows what it stands on.  It is found by what there is in the file: its process by id and start,
 * or by id alone if it is below a process of sshd.  Returns false with errno set if the folder
 * cannot be read or memory runs out. */
MUST_CHECK bool session_files_read(const struct state *state, struct ssh_sessions *sessions,
                                   const struct log *log);

#endif
