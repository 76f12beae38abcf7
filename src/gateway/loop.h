/* SPDX-License-Identifier: MIT */
/* The loop: questions over the socket, polls of the database, sessions that exit. */
#ifndef ADIT_GATEWAY_LOOP_H
#define ADIT_GATEWAY_LOOP_H

#include "base/must_check.h"
#include "gateway/gateway.h"

/* What the loop watches. */
enum loop_kind {
    LOOP_LISTENER,
    LOOP_SIGNALS,
    LOOP_CLIENT,  /* see gateway/client.h */
    LOOP_PROCESS, /* the monitor of a session, which has exited */
    LOOP_LOGIN    /* see gateway/login.h */
};

/* Returns what names a descriptor in the data of epoll_ctl(2). */
uint64_t loop_tag(int fd, enum loop_kind kind);

/* Watches a descriptor for input until it is closed.  Returns false with errno set. */
MUST_CHECK bool loop_watch(int epoll, int fd, enum loop_kind kind);

/* Runs until SIGTERM or SIGINT, which must be blocked, as SIGCHLD must be.  The sessions of
 * gateway->sessions are watched from now on.  Returns false with errno set if it cannot begin. */
MUST_CHECK bool loop_run(struct gateway *gateway, int listen_fd);

#endif
