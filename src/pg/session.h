/* SPDX-License-Identifier: MIT */
/* A session in PostgreSQL and its states.  README.md in this folder draws them. */
#ifndef ADIT_PG_SESSION_H
#define ADIT_PG_SESSION_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/must_check.h"
#include "base/wait.h"
#include "pg/pg.h"

/* ---- prepared statements ---- */

#define PG_MAX_PREPARED 160

/* Room for the name of a prepared statement: the server cuts names that are longer. */
#define PG_NAME_SIZE 64

/* The statements that are prepared on a session, and their names there.  All zero: none. */
struct pg_prepared {
    struct {
        const struct pg_statement *statement;
        char name[PG_NAME_SIZE];
    } items[PG_MAX_PREPARED];
    size_t n;
};

/* Writes the name to prepare a statement under: its own name and a hash of this SQL.  Behind a
 * pooler, other versions of this program may have prepared theirs on the same session. */
void pg_make_name(char name[PG_NAME_SIZE], const struct pg_statement *statement, const char *sql);

/* Returns the name that a statement was prepared under, or NULL: it is not prepared.  The name
 * belongs to *prepared. */
MUST_CHECK const char *pg_prepared_name(const struct pg_prepared *prepared,
                                        const struct pg_statement *statement);

/* Adds a statement.  Once PG_MAX_PREPARED are there, it does nothing. */
void pg_note_prepared(struct pg_prepared *prepared, const struct pg_statement *statement,
                      const char name[PG_NAME_SIZE]);

/* ---- states ---- */

/* What a session is.  Only pg_session_move() changes it. */
enum pg_session_state {
    PG_SESSION_CLOSED,   /* no connection */
    PG_SESSION_OPENING,  /* connecting, then setting up */
    PG_SESSION_FENCING,  /* the same, and then ending the session that was given up */
    PG_SESSION_OWN,      /* open: runs the statements of one lane, one at a time */
    PG_SESSION_SHARED,   /* open, in pipeline mode: runs the short reads of all lanes */
    PG_SESSION_LEFT,     /* still opening, but to be closed then: its server is the wrong one */
    PG_SESSION_GIVEN_UP, /* no connection, but the server may still run the last statement */
    PG_SESSION_N_STATES
};

enum pg_session_event {
    PG_SESSION_OPENS,     /* a lane begins to connect */
    PG_SESSION_IS_READY,  /* set up, and nothing is left to fence: it is its lane's own */
    PG_SESSION_IS_SHARED, /* set up, and in pipeline mode */
    PG_SESSION_IS_LEFT,   /* another session has found that the server is gone or the wrong one */
    PG_SESSION_CLOSES,    /* lost, or not wanted any more */
    PG_SESSION_IS_LATE,   /* no answer in time, or to a write none at all: it may still run */
    PG_SESSION_N_EVENTS
};

/* Identifies a session on its server.  A process id alone may be reused. */
struct pg_identity {
    int pid; /* 0: unknown, or a pooler's */
    char started[32];
};

/* All zero: closed. */
struct pg_session {
    enum pg_session_state state;
    PGconn *conn; /* NULL while it is closed, given up or still connecting */
    struct pg_identity identity;
    struct pg_identity given_up; /* while it is given up or fencing: the session to end */
    struct pg_prepared prepared;
    int n_lost_names; /* how often the server did not know the name of a prepared statement */
};

/* Moves a session to its next state.  A move to a state without a connection closes the connection
 * and forgets what was prepared.  A late session becomes given up only where its identity is known;
 * otherwise it is closed.  An event that means nothing in a state changes nothing. */
void pg_session_move(struct pg_session *session, enum pg_session_event event);

/* ---- what all sessions do ---- */

/* What a session of a database that has all rows is set up with (pg/placement.h). */
extern const char pg_setup_sql[];

/* Returns one row.  Sent ahead of an ad hoc statement in one transaction, it sets that one's limit
 * ($1, in milliseconds), forbids it to write, and has it planned for its values. */
extern const char pg_ad_hoc_sql[];

/* Reads what the server has sent, to the end of a TLS record that has begun: releases of libpq
 * before 2026 leave bytes of a full record where poll() does not find them.  Returns false where
 * the connection is lost. */
MUST_CHECK bool pg_receive(PGconn *conn);

/* Waits until everything is sent and PQgetResult() returns without waiting.  Returns false once the
 * deadline (steady clock) has passed, or the connection is lost. */
MUST_CHECK bool pg_await(PGconn *conn, const struct wait *wait, int64_t deadline_ms);

/* Returns whether the rows of a result have the columns that the statement declares, in binary
 * form.  If not, no value may be read from them. */
MUST_CHECK bool pg_has_types(const PGresult *rows, const struct pg_statement *statement);

#endif
