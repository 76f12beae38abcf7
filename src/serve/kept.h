/* SPDX-License-Identifier: MIT */
/* Idle connections on their way from workers that stop to those that start, also in the next run.
 */
#ifndef ADIT_SERVE_KEPT_H
#define ADIT_SERVE_KEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "base/must_check.h"
#include "base/systemd.h"

struct kept {
    int pair[2]; /* workers pass into the first; the supervisor takes from the second; -1: nobody */
    int fds[SYSTEMD_STORED_MAX];
    size_t n;
    int listen_fd;   /* all are connections of this socket */
    bool was_stored; /* systemd had stored some for this run */
};

/* Opens the pair if systemd stores connections for the next run.  Returns false with errno set. */
MUST_CHECK bool kept_open(struct kept *kept);

/* Adds a connection.  Closes it if there are too many, and if it is no connection of the socket: a
 * worker that was taken over could pass anything on, which would outlive it. */
void kept_add(struct kept *kept, int fd);

/* Adds the connections that workers have passed. */
void kept_receive(struct kept *kept);

/* In a worker: closes all but its share.  n_workers: how many have yet to start, with this one. */
void kept_share(struct kept *kept, size_t n_workers);

/* In the supervisor: closes that worker's share. */
void kept_give(struct kept *kept, size_t n_workers);

/* Has systemd store them for the next run, and closes them.  If systemd does not take one within 2
 * s, the rest is not stored. */
void kept_store(struct kept *kept, const struct log *log);

#endif
