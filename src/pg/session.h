/* SPDX-License-Identifier: MIT */
/* For wrap/pg: what all sessions have in common, a connection's own and the one that is shared. */
#ifndef ADIT_PG_SESSION_H
#define ADIT_PG_SESSION_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wait.h"
#include "pg/pg.h"

#define PG_MAX_PREPARED 48

/* Room for the name of a prepared statement: the server cuts names that are longer. */
#define PG_NAME_SIZE 64

/* What a session is set up with: a query of several statements, of which the last one tells the
 * database's time in microseconds since 1970, and who the session is, its process id and when it
 * began. */
extern const char pg_setup_sql[];

/* Takes what has come from the server, to the end of a TLS record that has begun: libpq before its
 * releases of 2026 leaves bytes of a full record where no wait for the socket finds them.  Returns
 * false where the connection has gone. */
bool pg_receive(PGconn *conn);

/* Returns whether all was sent and a result, or the lack of one, can be had without waiting; false
 * once the deadline has passed, or the connection has gone. */
bool pg_await(PGconn *conn, const struct wait *wait, int64_t deadline_ms);

/* The statements that are prepared on a session, and their names there.  All zero: none. */
struct pg_prepared {
    struct {
        const struct pg_statement *statement;
        char name[PG_NAME_SIZE];
    } items[PG_MAX_PREPARED];
    size_t n;
};

/* Writes the name to prepare a statement under: its own, and a hash of its text.  A pooler hands
 * out sessions on which other versions of this program have prepared their statements. */
void pg_make_name(char name[PG_NAME_SIZE], const struct pg_statement *statement);

/* Returns the name that a statement was prepared under, or NULL: it is not prepared. */
const char *pg_prepared_name(const struct pg_prepared *prepared,
                             const struct pg_statement *statement);

/* Adds a statement, unless there is no room. */
void pg_note_prepared(struct pg_prepared *prepared, const struct pg_statement *statement,
                      const char name[PG_NAME_SIZE]);

/* Returns whether the rows of a result have the columns that the statement declares, in binary
 * form.  Nothing of a row may be read where they do not. */
bool pg_has_types(const PGresult *rows, const struct pg_statement *statement);

#endif
