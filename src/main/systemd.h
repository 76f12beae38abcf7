/* SPDX-License-Identifier: MIT */
/* What systemd and a service say to each other by way of the environment. */
#ifndef ADIT_MAIN_SYSTEMD_H
#define ADIT_MAIN_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>

/* Takes over the listening socket that systemd, or systemd-socket-activate, has passed to this
 * process: sets *fd to it, or to -1 where none was passed.  Returns false with a reason where what
 * was passed is not just one listening socket.  The variables are gone afterwards, and the socket
 * is closed on exec. */
bool systemd_listen_fd(int *fd, char *reason, size_t size);

/* Tells systemd the state, "READY=1" say, where it wants to know.  Nobody is told twice.  Returns
 * false with errno set where it could not be told. */
bool systemd_notify(const char *state);

#endif
