/* SPDX-License-Identifier: MIT */
/* Notices that another process of HAProxy answers than before.
 *
 * When HAProxy reloads, the new process may have read an edge's files before a change, while the
 * old one was told of the change.  Then the new one has to be told, too.
 */
#ifndef ADIT_GATEWAY_HAPROXY_WATCH_H
#define ADIT_GATEWAY_HAPROXY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Zero it, set the path, and call haproxy_watch_init(). */
struct haproxy_watch {
    const char *path; /* of the stats socket */

    uint64_t pid;      /* the process that answered last; 0: none yet */
    int64_t begun_ms;  /* when it began, or earlier (steady clock) */
    int fd;            /* a question; -1: none */
    int64_t due_ms;    /* when the next question is asked, or this one is given up */
    struct buf answer; /* to the question, as far as it came */
};

void haproxy_watch_init(struct haproxy_watch *watch);

/* Asks HAProxy for its process, each second, and never waits for the answer.  Returns whether
 * another process has answered than before, or the first one.  It knows no change of files that was
 * made after begun_ms, unless it was told since; the old one may take commands for some
 * milliseconds more.  Without an answer it asks again. */
bool haproxy_watch_tick(struct haproxy_watch *watch, int64_t now_ms);

/* Returns when haproxy_watch_tick() is due next. */
int64_t haproxy_watch_next(const struct haproxy_watch *watch, int64_t now_ms);

void haproxy_watch_free(struct haproxy_watch *watch);

#endif
