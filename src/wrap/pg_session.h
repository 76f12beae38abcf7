/* SPDX-License-Identifier: MIT */
/* For wrap/pg: what all sessions have in common, a connection's own and the one that is shared. */
#ifndef ADIT_WRAP_PG_SESSION_H
#define ADIT_WRAP_PG_SESSION_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wrap/pg.h"
#include "wrap/wait.h"

#define PG_MAX_PREPARED 48

/* What a session is set up with: a query of several statements, of which the last one tells who it
 * is, its process id and when it began. */
extern const char pg_setup_sql[];

/* Takes what has come from the server, all of a TLS record that has begun: libpq before its releases
 * of 2026 leaves bytes of a full record where no wait for the socket finds them.  Returns false where
 * the connection has gone. */
bool pg_receive(PGconn *conn);

/* Returns whether all was sent and a result, or the lack of one, can be had without waiting; false
 * once the deadline has passed, or the connection has gone. */
bool pg_await(PGconn *conn, const struct wait *wait, int64_t deadline_ms);

/* The statements that a session knows by their names.  All zero: none. */
struct pg_prepared {
    const struct pg_statement *items[PG_MAX_PREPARED];
    size_t n;
};

bool pg_is_prepared(const struct pg_prepared *prepared, const struct pg_statement *statement);

/* One that has no room any more is prepared again, which fails. */
void pg_note_prepared(struct pg_prepared *prepared, const struct pg_statement *statement);

#endif
