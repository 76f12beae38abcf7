/* SPDX-License-Identifier: MIT */
/* A scripted PostgreSQL (protocol 3.0) on a Unix socket, in the process of the test itself. */
#ifndef ADIT_TESTS_PG_BACKEND_H
#define ADIT_TESTS_PG_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

/* What the driver sends. */
enum backend_on {
    ON_STARTUP,
    ON_SETUP, /* the query that sets a session up */
    ON_QUERY, /* any other simple query */
    ON_PARSE, /* a statement is prepared */
    ON_RUN,   /* a statement is run */
    ON_SYNC   /* it ends */
};

/* What the backend does then.  Without a step for it, it does ANSWER. */
enum backend_act {
    ANSWER,        /* the right thing: a row with the number 42, as a bigint */
    REFUSE,        /* an error with that SQLSTATE; detail: the constraint or the message */
    WARN,          /* a notice from that function (detail), then the right thing */
    OTHER_COLUMNS, /* a row with a text */
    POOLED,        /* the setup tells of another session, as behind a pooler */
    NO_RESULT,     /* an empty answer: the end without a result */
    NO_COLUMNS,    /* success without rows and columns */
    STANDBY,       /* the session is read-only */
    CUT,           /* half an answer, then the end of the connection */
    CLOSE,         /* the end of the connection */
    SILENCE        /* nothing, now and later on this session */
};

struct backend_step {
    enum backend_on on;
    enum backend_act act;
    const char *sqlstate;
    const char *detail;
};

/* Starts the backend in a folder of its own.  Each test is a process of its own. */
void backend_start(void);
void backend_stop(void);

/* Returns the conninfo of the backend. */
const char *backend_conninfo(void);

/* Appends a step.  The first unused step for what is sent decides. */
void backend_expect(enum backend_on on, enum backend_act act, const char *sqlstate,
                    const char *detail);

/* Fails the test unless the driver has sent exactly this since the last call.  A word each, after
 * the number of the session (from 1): "1:start", "1:setup", "2:terminate:1", "1:query:WORD",
 * "1:parse:NAME", "1:run:NAME" (without the hash; "-": no name), "1:end".  A sync is "|". */
void backend_sent(const char *expected);

/* Returns how often the driver has sent something since the last call of these two: without the
 * number of the session, as in "run:put". */
int backend_n_sent(const char *word);

/* Closes a session from the server's side. */
void backend_close(int session);

/* The same, after the message that an administrator ended it. */
void backend_end(int session);

/* Sends a notice on a session, which nobody asked for. */
void backend_notice(int session);

/* How far the server's clock is ahead of the test's, in microseconds; 0 at the start. */
void backend_set_ahead(int64_t us);

/* Takes connections and answers what was sent.  Returns whether there was anything. */
bool backend_serve(void);

#endif
