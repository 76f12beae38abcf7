/* SPDX-License-Identifier: MIT */
/* Opens connections, one host after the other, within a deadline. */
#ifndef ADIT_PG_CONNECT_H
#define ADIT_PG_CONNECT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/wait.h"

#define PG_REASON_SIZE 400

/* Why no host took a connection. */
struct pg_refusal {
    char reason[PG_REASON_SIZE]; /* each host's message, for the log */
    bool is_read_only;           /* a host answered, but takes no writes */
    bool is_for_now;             /* a host shuts down, starts or recovers, or is a standby */
    bool is_closed;              /* a host closed the connection without a message */
    bool is_own_memory;          /* libpq lacked memory, which says nothing about a server */
};

/* Connects to the first host of a valid conninfo that takes a connection for writing.  Each host
 * has connect_timeout, or 2 seconds where the conninfo does not set it, but at most its share of
 * the time until the deadline (steady clock).  libpq's own limit starts anew for each host and is
 * at least 2 seconds.  Returns the connection, which the caller finishes, or NULL with *refusal. */
MUST_CHECK PGconn *pg_connect(const char *conninfo, const struct wait *wait, int64_t deadline_ms,
                              struct pg_refusal *refusal);

#endif
