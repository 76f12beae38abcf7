/* SPDX-License-Identifier: MIT */
/* A short absence that the database has announced: it shuts down, starts, or waits as a standby for
 * its promotion.  A restart takes about a second, and Patroni's planned switch-over up to 2.5 s. So
 * requests that have sent nothing yet wait for it instead of failing.
 *
 * They wait for at most 3 s after the announcement, three quarters of a request's time.  Then they
 * fail at once again, however long the database goes on to say the same, until a session could be
 * opened: an absence that lasts must not keep all lanes waiting. */
#ifndef ADIT_PG_OUTAGE_H
#define ADIT_PG_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/must_check.h"

/* What the drivers of one thread know.  Times are milliseconds on the steady clock.  All zero:
 * there is no outage. */
struct pg_outage {
    int64_t until_ms; /* requests wait until then; 0: never */
    bool is_over;     /* a session was opened since the announcement */
    bool is_guess;    /* it was not announced: a connection was closed */
};

/* The database has just refused a session for the time being. */
void pg_outage_announce(struct pg_outage *outage, int64_t now_ms);

/* The database has closed a new connection without a word.  A server does that to those that come
 * while its last process ends, after it has ended all sessions.  So requests wait 200 ms for what
 * it says next. */
void pg_outage_guess(struct pg_outage *outage, int64_t now_ms);

/* An error of a session has this SQLSTATE; NULL: there is none.  That an administrator has ended it
 * is an announcement.  The message may have waited for long in the socket of an idle session: then
 * requests wait in vain, once.  outage may be NULL. */
void pg_outage_note_error(struct pg_outage *outage, const char *sqlstate);

/* A session was opened. */
void pg_outage_note_open(struct pg_outage *outage);

/* Returns whether a request that finds no session waits for one. */
MUST_CHECK bool pg_outage_is_on(const struct pg_outage *outage, int64_t now_ms);

#endif
