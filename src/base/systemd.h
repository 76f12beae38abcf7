/* SPDX-License-Identifier: MIT */
/* systemd's protocols for services: a listening socket that it passes, and readiness. */
#ifndef ADIT_BASE_SYSTEMD_H
#define ADIT_BASE_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/must_check.h"

/* Takes over the listening socket that systemd or systemd-socket-activate has passed, and sets it
 * to be closed on exec.  *fd is the socket, or -1 if none was passed.  Removes the variables that
 * name it.  Returns false, with a reason of up to size bytes, if anything but one listening socket
 * was passed. */
MUST_CHECK bool systemd_listen_fd(int *fd, char *reason, size_t size);

/* Tells systemd the state, such as "READY=1", if NOTIFY_SOCKET is set.  Removes the variable: a
 * second call tells nothing.  Returns false with errno set if systemd could not be told. */
MUST_CHECK bool systemd_notify(const char *state);

#endif
