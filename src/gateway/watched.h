/* SPDX-License-Identifier: MIT */
/* The descriptors that the loop watches, and what each is of. */
#ifndef ADIT_GATEWAY_WATCHED_H
#define ADIT_GATEWAY_WATCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"

enum watched_kind {
    WATCHED_LISTENER,
    WATCHED_SIGNALS,
    WATCHED_CLIENT,  /* see gateway/client.h */
    WATCHED_PROCESS, /* the monitor of a session, which has exited */
    WATCHED_LOGIN    /* see gateway/login.h */
};

/* Returns what names a descriptor in the data of epoll_ctl(2). */
uint64_t watched_tag(int fd, enum watched_kind kind);

/* Watches a descriptor for input until it is closed.  Returns false with errno set. */
MUST_CHECK bool watched_add(int epoll, int fd, enum watched_kind kind);

#endif
