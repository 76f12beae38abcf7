/* SPDX-License-Identifier: MIT */
/* A lane's own session. */
#include "pg/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "pg/connect.h"
#include "pg/failure.h"
#include "pg/fence.h"
#include "pg/pipeline.h"

/* An answer of a node that works takes less. */
#define LONG_WAIT_MS 250

#define SETUP_TIMEOUT_MS 2000

/* The pause after a failed attempt to connect, give or take a random half. */
#define BACKOFF_MS 100

void pg_own_count(const struct pg_own *own, enum metrics_database_event event)
{
    if (own->counts)
        metrics_add(&own->counts->database_events[event], 1);
}

/* ---- closing ---- */

static void leave_shared(struct pg_own *own)
{
    if (own->pipeline)
        pg_pipeline_leave(own->pipeline);
}

void pg_own_close(struct pg_own *own)
{
    pg_session_move(&own->session, PG_SESSION_CLOSES);
}

void pg_own_leave_server(struct pg_own *own)
{
    pg_own_close(own);
    leave_shared(own);
}

enum pg_outcome pg_own_not_sent(struct pg_own *own, struct error *err)
{
    error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: cannot send: %s",
                PQerrorMessage(own->session.conn));
    pg_own_leave_server(own);
    return PG_NO_EFFECT;
}

/* ---- answers ---- */

static enum pg_outcome judge(struct pg_own *own, const PGresult *result,
                             const struct pg_statement *statement, struct error *err)
{
    enum pg_verdict verdict = pg_judge(result, own->placement);

    if (verdict != PG_VERDICT_DONE)
        pg_describe(err, result, statement, own->placement);
    switch (verdict) {
    case PG_VERDICT_DONE:
        return PG_DONE;
    case PG_VERDICT_FAILED:
        return PG_FAILED;
    case PG_VERDICT_RETRY:
        return PG_NO_EFFECT;
    case PG_VERDICT_UNPREPARED:
        own->session.prepared.n = 0;
        own->session.n_lost_names++;
        return PG_NO_EFFECT;
    case PG_VERDICT_LEAVE:
        pg_own_leave_server(own);
        return PG_NO_EFFECT;
    case PG_VERDICT_ELSEWHERE:
        if (pg_own_is_once(statement))
            err->code = ERR_OUTCOME_UNKNOWN;
        return PG_FAILED;
    case PG_VERDICT_LOST:
        pg_outage_note_error(own->outage, err->sqlstate);
        own->lacked_memory = !err->sqlstate[0] && pg_is_own_memory(PQresultErrorMessage(result));
        break;
    }
    return PG_LOST;
}

/* The server did not answer, or the connection was lost.  A write may still run then, as one that
 * is late. */
static enum pg_outcome no_answer(struct pg_own *own, const struct pg_statement *statement,
                                 int64_t deadline_ms, struct error *err)
{
    const char *message = PQerrorMessage(own->session.conn);
    bool late = clock_left_ms(deadline_ms) == 0;

    own->lacked_memory = !late && pg_is_own_memory(message);
    if (late)
        error_cause(err, ERR_DATABASE_TIMEOUT, "database: no answer in time");
    else
        error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: connection lost: %s", message);
    pg_session_move(&own->session,
                    late || pg_own_is_once(statement) ? PG_SESSION_IS_LATE : PG_SESSION_CLOSES);
    leave_shared(own);
    return PG_LOST;
}

/* Waits for an answer until the deadline.  Returns false if none came, or the connection was lost.
 * If the owner has lost patience before the deadline, moves it to now. */
static bool await_answer(struct pg_own *own, bool is_patient, int64_t *deadline_ms)
{
    int64_t patience_ms = clock_steady_ms() + LONG_WAIT_MS;

    for (; !is_patient && patience_ms < *deadline_ms; patience_ms += LONG_WAIT_MS) {
        if (pg_await(own->session.conn, &own->wait, patience_ms))
            return true;
        if (clock_left_ms(patience_ms) > 0)
            return false;
        if (!own->goes_on(own->patience)) {
            *deadline_ms = patience_ms;
            return false;
        }
    }
    return pg_await(own->session.conn, &own->wait, *deadline_ms);
}

/* Ends pipeline mode. */
static void end_pipeline(struct pg_own *own, PGresult *sync)
{
    PQclear(sync);
    if (!PQexitPipelineMode(own->session.conn))
        pg_own_close(own);
}

/* Keeps the last result.  NULL comes after the last one; in pipeline mode it comes after each
 * query's, and a sync after the last. */
static enum pg_outcome take_results(struct pg_own *own, const struct pg_statement *statement,
                                    int64_t deadline_ms, PGresult **last, struct error *err)
{
    enum pg_outcome outcome = PG_DONE;
    bool is_over = false;

    while (own->session.conn) {
        int64_t given_ms = deadline_ms;
        PGresult *result;

        if (!await_answer(own, !statement || !own->goes_on, &given_ms)) {
            outcome = no_answer(own, statement, given_ms, err);
            /* Sent again, a read would wait as long again. */
            return statement && !statement->writes && given_ms < deadline_ms ? PG_FAILED : outcome;
        }
        result = PQgetResult(own->session.conn);
        if (!result && (is_over || PQpipelineStatus(own->session.conn) == PQ_PIPELINE_OFF))
            break;
        is_over = !result;
        if (is_over)
            continue;
        if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
            end_pipeline(own, result);
            break;
        }
        PQclear(*last);
        *last = result;
        if (outcome == PG_DONE)
            outcome = judge(own, result, statement, err);
    }
    return outcome;
}

enum pg_outcome pg_own_collect(struct pg_own *own, const struct pg_statement *statement,
                               int64_t deadline_ms, PGresult **last, struct error *err)
{
    enum pg_outcome outcome;

    *last = NULL;
    own->lacked_memory = false;
    outcome = take_results(own, statement, deadline_ms, last, err);
    if (outcome == PG_DONE && !*last) {
        error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: the server sent no result");
        outcome = PG_LOST;
    }
    if (own->session.conn && (outcome == PG_LOST || PQstatus(own->session.conn) != CONNECTION_OK))
        pg_own_leave_server(own);
    if (outcome != PG_DONE) {
        PQclear(*last);
        *last = NULL;
    }
    return outcome;
}

/* ---- the database's clock ---- */

/* The host's clock is used unless the bounds prove it wrong.  Where it is right, all workers make
 * identifiers by the same clock. */
void pg_own_note_time(struct pg_own *own, int64_t database_us)
{
    int64_t now_us = clock_steady_us();

    if (!own->knows_clock)
        own->ahead_us = clock_wall_us() - now_us;
    if (own->ahead_us < database_us - now_us)
        own->ahead_us = database_us - now_us;
    if (own->ahead_us > database_us - own->sent_us)
        own->ahead_us = database_us - own->sent_us;
    own->knows_clock = true;
}

/* ---- opening ---- */

static void back_off(struct pg_own *own)
{
    unsigned char random = 0;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    own->retry_at_ms = clock_steady_ms() + BACKOFF_MS / 2 + BACKOFF_MS * random / 256;
}

/* Notes the code that statements get during the pause.  A lack of memory here says nothing about
 * the server: then there is no pause. */
static bool cannot_open(struct pg_own *own, const struct error *err, bool is_own_memory)
{
    own->refused_with = err->code;
    pg_own_count(own, METRICS_DATABASE_NOT_OPENED);
    if (!is_own_memory)
        back_off(own);
    pg_own_leave_server(own);
    return false;
}

/* When an operator ends the wait for a synchronous standby, the server reports success with a
 * warning.  The end of an idle session is a notice too. */
static void note_notice(void *context, const PGresult *notice)
{
    struct pg_own *own = context;
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    pg_outage_note_error(own->outage, PQresultErrorField(notice, PG_DIAG_SQLSTATE));
    if (function && strcmp(function, "SyncRepWaitForLSN") == 0)
        own->is_unreplicated = true;
}

/* Takes the answer to the setup.  A pooler runs it on another session than the one that it
 * announced: then the identity stays unknown. */
static void note_setup(struct pg_own *own, const PGresult *result)
{
    struct pg_session *session = &own->session;
    const char *started;

    if (PQntuples(result) != 1)
        return;
    own->knows_clock = false; /* it may be another server's */
    pg_own_note_time(own, strtoll(PQgetvalue(result, 0, 0), NULL, 10));
    started = PQgetvalue(result, 0, 2);
    if (strtol(PQgetvalue(result, 0, 1), NULL, 10) != PQbackendPID(session->conn) ||
        strspn(started, "0123456789.") != strlen(started))
        return;
    session->identity.pid = PQbackendPID(session->conn);
    snprintf(session->identity.started, sizeof session->identity.started, "%s", started);
}

static bool set_up_session(struct pg_own *own, int64_t deadline_ms, struct error *err)
{
    PGconn *conn = own->session.conn;
    PGresult *result;

    own->sent_us = clock_steady_us();
    PQsetNoticeReceiver(conn, note_notice, own);
    if (PQsetnonblocking(conn, 1) != 0 || !PQsendQuery(conn, own->placement->setup_sql)) {
        error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: cannot connect: %s",
                    PQerrorMessage(conn));
        return cannot_open(own, err, pg_is_own_memory(PQerrorMessage(conn)));
    }
    if (pg_own_collect(own, NULL, clock_earlier(deadline_ms, clock_steady_ms() + SETUP_TIMEOUT_MS),
                       &result, err) != PG_DONE)
        return cannot_open(own, err, own->lacked_memory);
    note_setup(own, result);
    PQclear(result);
    own->retry_at_ms = 0;
    return true;
}

static bool connect_now(struct pg_own *own, int64_t deadline_ms, struct error *err)
{
    struct pg_refusal refusal;

    if (clock_steady_ms() < own->retry_at_ms)
        return error_cause(err, own->refused_with,
                           "database: the last attempt to connect failed; the next is due in %d ms",
                           clock_left_ms(own->retry_at_ms));
    pg_session_move(&own->session, PG_SESSION_OPENS);
    own->session.conn = pg_connect(own->conninfo, &own->wait, deadline_ms, &refusal);
    if (!own->session.conn) {
        error_cause(err, refusal.is_read_only ? ERR_DATABASE_READ_ONLY : ERR_DATABASE_UNAVAILABLE,
                    "database: cannot connect: %s", refusal.reason);
        if (own->outage && refusal.is_for_now)
            pg_outage_announce(own->outage, clock_steady_ms());
        else if (own->outage && refusal.is_closed)
            pg_outage_guess(own->outage, clock_steady_ms());
        return cannot_open(own, err, refusal.is_own_memory);
    }
    if (!set_up_session(own, deadline_ms, err))
        return false;
    /* The shared one may still be with another host, which this one has found to be wrong. */
    leave_shared(own);
    if (own->session.state == PG_SESSION_FENCING)
        pg_fence(own, deadline_ms);
    if (!own->session.conn)
        return error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: connection lost");
    pg_session_move(&own->session, PG_SESSION_IS_READY);
    own->n_opened++;
    if (own->outage)
        pg_outage_note_open(own->outage);
    pg_own_count(own, METRICS_DATABASE_OPENED);
    return true;
}

/* A server that went away while the session was idle has left its last message, or the end of the
 * stream, in the socket.  Seen before a statement is sent, it costs the client nothing. */
static bool is_alive(PGconn *conn)
{
    char byte;

    for (int i = 0; i < 16; i++) {
        ssize_t n = recv(PQsocket(conn), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0 || !PQconsumeInput(conn) || PQstatus(conn) != CONNECTION_OK)
            return false;
        (void)PQisBusy(conn); /* which hands what was read to note_notice() */
    }
    return false;
}

bool pg_own_open(struct pg_own *own, bool looks_ahead, int64_t deadline_ms, struct error *err)
{
    if (own->session.state == PG_SESSION_OWN && looks_ahead && !is_alive(own->session.conn))
        pg_own_leave_server(own);
    return own->session.state == PG_SESSION_OWN || connect_now(own, deadline_ms, err);
}

enum pg_outcome pg_own_run_sql(struct pg_own *own, const char *sql,
                               const struct pg_statement *statement, int64_t deadline_ms,
                               struct error *err)
{
    PGresult *last;
    enum pg_outcome outcome;

    if (!PQsendQuery(own->session.conn, sql))
        return pg_own_not_sent(own, err);
    outcome = pg_own_collect(own, statement, deadline_ms, &last, err);
    PQclear(last);
    return outcome;
}
