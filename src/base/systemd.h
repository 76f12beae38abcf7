/* SPDX-License-Identifier: MIT */
/* systemd's protocols for services: a listening socket that it passes, readiness, and its store of
 * file descriptors, which holds connections between two runs. */
#ifndef ADIT_BASE_SYSTEMD_H
#define ADIT_BASE_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"

/* Connections that the store may hold: FileDescriptorStoreMax= of the unit. */
#define SYSTEMD_STORED_MAX 1024

/* Their name in the store. */
#define SYSTEMD_STORED_NAME "kept"

/* Takes over the listening socket that systemd or systemd-socket-activate has passed, and sets it
 * to be closed on exec.  *fd is the socket, or -1 if none was passed.  The *n_stored descriptors
 * that follow it are connections from the store; at most SYSTEMD_STORED_MAX.  Removes the variables
 * that name them.  Returns false, with a reason of up to size bytes, if anything else was passed.
 */
MUST_CHECK bool systemd_listen_fd(int *fd, size_t *n_stored, char *reason, size_t size);

/* Tells systemd the state, such as "READY=1", if NOTIFY_SOCKET is set.  Returns false with errno
 * set if systemd could not be told. */
MUST_CHECK bool systemd_notify(const char *state);

/* Returns whether systemd stores descriptors for the next run: FDSTORE is set, as systemd 254 does
 * by itself, and there is a NOTIFY_SOCKET. */
MUST_CHECK bool systemd_has_store(void);

/* Stores a connection, which the caller closes.  Returns false with errno set if systemd could not
 * be told. */
MUST_CHECK bool systemd_store(int fd);

/* Waits until systemd has received all that it was told, at most timeout_ms. */
void systemd_settle(int timeout_ms);

/* Removes NOTIFY_SOCKET: a later systemd_notify() tells nothing, nor does a child. */
void systemd_forget(void);

#endif
