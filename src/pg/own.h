/* SPDX-License-Identifier: MIT */
/* A lane's own session: opens it, runs queries on it, and ends the one that was given up before. */
#ifndef ADIT_PG_OWN_H
#define ADIT_PG_OWN_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/metrics.h"
#include "base/must_check.h"
#include "base/wait.h"
#include "pg/outage.h"
#include "pg/pg.h"
#include "pg/placement.h"
#include "pg/session.h"

/* What became of a query. */
enum pg_outcome {
    PG_DONE,
    PG_FAILED,    /* for good, as *err says */
    PG_NO_EFFECT, /* for a passing reason: it may run again */
    PG_LOST       /* nobody knows whether it had an effect */
};

/* Times are on the steady clock; 0: never, or at once. */
struct pg_own {
    const char *conninfo;
    struct wait wait;
    struct pg_session session;
    struct pg_pipeline *pipeline; /* holds the shared session; NULL: there is none */
    struct metrics_slot *counts;  /* NULL: nothing is counted */
    int64_t retry_at_ms;          /* no attempt to connect before */
    enum error_code refused_with; /* the code of the last failed attempt to connect */
    const struct pg_placement *placement;
    void *place_lane;                /* pg_place() */
    bool (*goes_on)(void *patience); /* pg_ask_patience(); NULL: each statement may wait long */
    void *patience;
    struct pg_outage *outage; /* of several drivers; NULL: nobody waits for its end */
    bool lacked_memory;       /* libpq did, in the latest query that failed */
    bool is_unreplicated;     /* the server has committed without its standby */
    int64_t n_opened;         /* sessions so far */
    int64_t sent_us;          /* when the latest query was sent */
    bool knows_clock;         /* a session has told the database's time */
    int64_t ahead_us;         /* the database's clock minus the steady clock */
};

/* Returns whether the statement must not run twice: after it was sent, only its answer tells
 * whether it took effect.  NULL: no. */
static inline bool pg_own_is_once(const struct pg_statement *statement)
{
    return statement && statement->writes && !statement->is_repeatable;
}

/* Counts an event of the database. */
void pg_own_count(const struct pg_own *own, enum metrics_database_event event);

/* Closes the session.  The shared one stays open. */
void pg_own_close(struct pg_own *own);

/* Closes the session and leaves the shared one too: the server is gone, or is the wrong one. */
void pg_own_leave_server(struct pg_own *own);

/* Opens the session unless it is open.  With looks_ahead, an open session whose server has gone is
 * opened anew: a write needs that, while a read is simply sent again.  After a failure nobody tries
 * again for some 100 ms.  Returns false with *err where there is no session by the deadline. */
MUST_CHECK bool pg_own_open(struct pg_own *own, bool looks_ahead, int64_t deadline_ms,
                            struct error *err);

/* Leaves the server because libpq could not send.  Returns PG_NO_EFFECT with *err. */
enum pg_outcome pg_own_not_sent(struct pg_own *own, struct error *err);

/* Takes all results of what was sent, for a statement or for none (NULL).  Judges the first that
 * failed.  Returns PG_DONE and the last result, which the caller clears; or another outcome with
 * *err and NULL.  A session that gave no answer is left with its server; one that gave none in
 * time, or was lost while it ran a write, is given up. */
MUST_CHECK enum pg_outcome pg_own_collect(struct pg_own *own, const struct pg_statement *statement,
                                          int64_t deadline_ms, PGresult **last, struct error *err);

/* Runs a text; statement: what takes effect with it, or NULL.  Returns as pg_own_collect() does. */
enum pg_outcome pg_own_run_sql(struct pg_own *own, const char *sql,
                               const struct pg_statement *statement, int64_t deadline_ms,
                               struct error *err);

/* Corrects the estimate of the database's clock: it showed database_us (since 1970) at some moment
 * between sent_us and now. */
void pg_own_note_time(struct pg_own *own, int64_t database_us);

#endif
