/* SPDX-License-Identifier: MIT */
/* The only room that knows libpq: connecting, preparing, running, and telling failures apart. */
#include "pg/pg.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "pg/connect.h"
#include "pg/failure.h"
#include "pg/pipeline.h"
#include "pg/session.h"

/* From the beginning of a request, or of a statement where there is no request, until its last
 * answer. */
#define RUN_TIMEOUT_MS 4000
#define SETUP_TIMEOUT_MS 2000

/* How long it may take, after that, to end a session that was given up. */
#define FENCE_TIMEOUT_MS 700

#define ROLLBACK_TIMEOUT_MS 1000

#define MAX_ATTEMPTS 4

/* After a failed connection nobody tries again for this long, give or take a random half. */
#define BACKOFF_MS 100

/* While statements take too long, requests queue up behind them, and each would wait for its turn
 * and then as long again.  So those that were waiting when a statement had taken too long are
 * refused at once: all that come without a pause, and no longer than this. */
#define SHED_MS 50
#define SHED_PAUSE_MS 2

/* Names of statements that the server lost so often are not used again on a connection: something
 * between here and the server hands out another session each time. */
#define MAX_LOST_NAMES 3

/* A session on the server.  A process id alone may be another's by the time it is used. */
struct session {
    int pid; /* 0: none, or a pooler's */
    char started[32];
};

/* Times are on the steady clock; 0: never, or at once. */
struct pg {
    const char *conninfo;
    struct wait wait;
    struct pg_pipeline *pipeline; /* NULL: none */
    PGconn *conn;
    struct session session;
    struct session given_up; /* may still run what it was sent last */
    int64_t deadline_ms;     /* of the request */
    bool (*peer_gone)(void *peer);
    void *peer;
    int64_t retry_at_ms;          /* when to connect again */
    enum error_code refused_with; /* what the last try to connect failed with */
    int64_t shed_until_ms;
    bool sheds_reads; /* too: it was a read that took too long */
    int64_t last_run_ms;
    int64_t sent_us;      /* when the latest statement was sent */
    bool knows_clock;     /* a session has told the time: */
    int64_t ahead_us;     /* the database's clock shows so much more than the steady one */
    bool is_unreplicated; /* the server has committed without its standby */
    struct pg_prepared prepared;
    int n_lost_names;
};

/* What became of a try. */
enum outcome {
    DONE,
    FAILED,    /* for good, as *err says */
    NO_EFFECT, /* for a passing reason, and without effect */
    LOST       /* nobody knows whether it had effect */
};

/* Where somebody ends the wait for a synchronous standby, the server says that all is well, and
 * warns that it may not be. */
static void note_notice(void *context, const PGresult *notice)
{
    struct pg *pg = context;
    const char *function = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);

    if (function && strcmp(function, "SyncRepWaitForLSN") == 0)
        pg->is_unreplicated = true;
}

struct pg *pg_new(const char *conninfo, const struct wait *wait)
{
    struct pg *pg = calloc(1, sizeof *pg);

    if (pg)
        *pg = (struct pg){.conninfo = conninfo, .wait = *wait};
    return pg;
}

void pg_use_pipeline(struct pg *pg, struct pg_pipeline *pipeline)
{
    pg->pipeline = pipeline;
}

static void disconnect(struct pg *pg)
{
    if (pg->pipeline)
        pg_pipeline_leave(pg->pipeline);
    PQfinish(pg->conn);
    pg->conn = NULL;
    pg->session.pid = 0;
    pg->prepared.n = 0;
    pg->n_lost_names = 0;
}

void pg_free(struct pg *pg)
{
    if (!pg)
        return;
    disconnect(pg);
    free(pg);
}

bool pg_conninfo_valid(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);

    PQconninfoFree(options);
    return options != NULL;
}

/* ---- answers ---- */

static enum outcome judge(struct pg *pg, const PGresult *result,
                          const struct pg_statement *statement, struct error *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY)
        return DONE;
    if (!state)
        state = "";
    pg_describe(err, result, statement);
    /* The server ends the session with these; libpq may not have seen the end of it yet. */
    if (!state[0] || pg_state_has_class(state, "08") ||
        pg_state_is_one_of(state, "57P01 57P02 57P03 57P05"))
        return LOST;
    if (strcmp(state, "26000") == 0) {
        pg->prepared.n = 0;
        pg->n_lost_names++;
        return NO_EFFECT;
    }
    if (pg_state_is_one_of(state, "25006 0A000")) {
        disconnect(pg);
        return NO_EFFECT;
    }
    return pg_state_is_one_of(state, "40001 40P01") ? NO_EFFECT : FAILED;
}

/* Takes the answers to what was sent, keeps the last and judges the worst.  A connection that did
 * not answer is closed, also where it ended without any result. */
static enum outcome collect(struct pg *pg, const struct pg_statement *statement,
                            int64_t deadline_ms, PGresult **last, struct error *err)
{
    enum outcome outcome = DONE;

    *last = NULL;
    for (;;) {
        PGresult *result;

        if (!pg_await(pg->conn, &pg->wait, deadline_ms)) {
            bool late = clock_left_ms(deadline_ms) == 0;

            error_cause(err, late ? ERR_DATABASE_TIMEOUT : ERR_DATABASE_UNAVAILABLE,
                        late ? "database: no answer in time" : "database: connection lost: %s",
                        PQerrorMessage(pg->conn));
            outcome = LOST;
            if (late && pg->session.pid)
                pg->given_up = pg->session;
            break;
        }
        result = PQgetResult(pg->conn);
        if (!result)
            break;
        PQclear(*last);
        *last = result;
        if (outcome == DONE)
            outcome = judge(pg, result, statement, err);
        if (!pg->conn)
            break;
    }
    if (outcome == DONE && !*last) {
        error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: there is no result");
        outcome = LOST;
    }
    if (pg->conn && (outcome == LOST || PQstatus(pg->conn) != CONNECTION_OK))
        disconnect(pg);
    if (outcome != DONE) {
        PQclear(*last);
        *last = NULL;
    }
    return outcome;
}

static enum outcome not_sent(struct pg *pg, struct error *err)
{
    error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: cannot send: %s",
                PQerrorMessage(pg->conn));
    disconnect(pg);
    return NO_EFFECT;
}

/* ---- connecting ---- */

static void back_off(struct pg *pg)
{
    unsigned char random = 0;

    (void)!getrandom(&random, sizeof random, GRND_NONBLOCK);
    pg->retry_at_ms = clock_steady_ms() + BACKOFF_MS / 2 + BACKOFF_MS * random / 256;
}

static bool cannot_connect(struct pg *pg, const char *reason, struct error *err)
{
    bool read_only = strstr(reason, "session is read-only") || strstr(reason, "hot standby");

    pg->refused_with = read_only ? ERR_DATABASE_READ_ONLY : ERR_DATABASE_UNAVAILABLE;
    error_cause(err, pg->refused_with, "database: cannot connect: %s", reason);
    if (!pg_is_own_memory(reason))
        back_off(pg);
    disconnect(pg);
    return false;
}

/* The database read its clock after the statement was sent, and before now.  The host's clock is
 * believed as far as that proves nothing else: where it is right, all workers make identifiers by
 * the very same clock. */
void pg_note_time(struct pg *pg, int64_t database_us)
{
    int64_t now_us = clock_steady_us();

    if (!pg->knows_clock)
        pg->ahead_us = clock_wall_us() - now_us;
    if (pg->ahead_us < database_us - now_us)
        pg->ahead_us = database_us - now_us;
    if (pg->ahead_us > database_us - pg->sent_us)
        pg->ahead_us = database_us - pg->sent_us;
    pg->knows_clock = true;
}

/* A pooler hands out other sessions than those that it speaks of. */
static void note_session(struct pg *pg, const PGresult *result)
{
    const char *started;

    if (PQntuples(result) != 1)
        return;
    pg->knows_clock = false; /* it may be another server's */
    pg_note_time(pg, strtoll(PQgetvalue(result, 0, 0), NULL, 10));
    started = PQgetvalue(result, 0, 2);
    if (strtol(PQgetvalue(result, 0, 1), NULL, 10) != PQbackendPID(pg->conn) ||
        strspn(started, "0123456789.") != strlen(started))
        return;
    pg->session.pid = PQbackendPID(pg->conn);
    snprintf(pg->session.started, sizeof pg->session.started, "%s", started);
}

static bool set_up(struct pg *pg, int64_t deadline_ms, struct error *err)
{
    PGresult *result;

    pg->sent_us = clock_steady_us();
    PQsetNoticeReceiver(pg->conn, note_notice, pg);
    if (PQsetnonblocking(pg->conn, 1) != 0 || !PQsendQuery(pg->conn, pg_setup_sql))
        return cannot_connect(pg, PQerrorMessage(pg->conn), err);
    if (collect(pg, NULL, clock_earlier(deadline_ms, clock_steady_ms() + SETUP_TIMEOUT_MS), &result,
                err) != DONE) {
        disconnect(pg);
        pg->refused_with = err->code;
        if (!pg_is_own_memory(err->cause))
            back_off(pg);
        return false;
    }
    note_session(pg, result);
    PQclear(result);
    pg->retry_at_ms = 0;
    return true;
}

/* What a session that was given up has been sent it would still run, whenever it comes to it: after
 * a later change, which it would undo.  A session that is to be ended runs nothing more.  Where
 * nobody says that it is, the next connection tries again. */
static void end_given_up(struct pg *pg)
{
    const struct session given_up = pg->given_up;
    char sql[200];
    PGresult *result;
    struct error ignored;

    if (!pg->given_up.pid)
        return;
    snprintf(sql, sizeof sql,
             "SELECT pg_catalog.pg_terminate_backend(a.pid)"
             " FROM pg_catalog.pg_stat_get_activity(%d) AS a"
             " WHERE extract(epoch FROM a.backend_start)::text = '%s'",
             given_up.pid, given_up.started);
    if (!PQsendQuery(pg->conn, sql)) {
        disconnect(pg);
        return;
    }
    if (collect(pg, NULL, clock_steady_ms() + FENCE_TIMEOUT_MS, &result, &ignored) == LOST)
        pg->given_up = given_up;
    else
        pg->given_up.pid = 0;
    PQclear(result);
}

static bool connect_now(struct pg *pg, int64_t deadline_ms, struct error *err)
{
    char reason[PG_REASON_SIZE];

    if (clock_steady_ms() < pg->retry_at_ms)
        return error_cause(err, pg->refused_with,
                           "database: waiting before the next try to connect");
    pg->conn = pg_connect(pg->conninfo, &pg->wait, deadline_ms, reason);
    if (!pg->conn)
        return cannot_connect(pg, reason, err);
    if (!set_up(pg, deadline_ms, err))
        return false;
    /* The shared one may still be with another host, which this one has found to be out of place.
     */
    if (pg->pipeline)
        pg_pipeline_leave(pg->pipeline);
    end_given_up(pg);
    return pg->conn || error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: connection lost");
}

/* A server that went away while the connection was idle has left its farewell, or the end of the
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
    }
    return false;
}

/* What only reads is simply sent again where the server has gone: it needs no look ahead. */
static bool ensure_connected(struct pg *pg, bool looks_ahead, int64_t deadline_ms,
                             struct error *err)
{
    if (pg->conn && looks_ahead && !is_alive(pg->conn))
        disconnect(pg);
    return pg->conn || connect_now(pg, deadline_ms, err);
}

/* ---- running ---- */

static enum outcome prepare(struct pg *pg, const struct pg_statement *statement,
                            int64_t deadline_ms, struct error *err)
{
    char name[PG_NAME_SIZE];
    PGresult *result;
    enum outcome outcome;

    pg_make_name(name, statement);
    if (!PQsendPrepare(pg->conn, name, statement->sql, 0, NULL))
        return not_sent(pg, err);
    outcome = collect(pg, statement, deadline_ms, &result, err);
    PQclear(result);
    if (outcome == LOST)
        outcome = NO_EFFECT;
    if (outcome == FAILED && strcmp(err->sqlstate, "42P05") == 0)
        outcome = DONE; /* another client of the same pooled session has prepared it */
    if (outcome == DONE)
        pg_note_prepared(&pg->prepared, statement, name);
    return outcome;
}

/* Takes what a statement answered, where it is what the statement declares. */
static enum outcome collect_rows(struct pg *pg, const struct pg_statement *statement,
                                 int64_t deadline_ms, PGresult **rows, struct error *err)
{
    enum outcome outcome = collect(pg, statement, deadline_ms, rows, err);

    if (outcome != DONE || pg_has_types(*rows, statement))
        return outcome;
    PQclear(*rows);
    *rows = NULL;
    error_cause(err, ERR_SCHEMA_MISMATCH,
                "database: %s returned other columns than those that it declares", statement->name);
    return statement->writes ? LOST : FAILED;
}

static enum outcome run_once(struct pg *pg, const struct pg_statement *statement,
                             const struct pg_params *params, int64_t deadline_ms, PGresult **result,
                             struct error *err)
{
    bool named = pg->n_lost_names < MAX_LOST_NAMES;
    int sent;

    if (named && !pg_prepared_name(&pg->prepared, statement)) {
        enum outcome outcome = prepare(pg, statement, deadline_ms, err);

        if (outcome != DONE)
            return outcome;
    }
    pg->sent_us = clock_steady_us();
    if (named)
        sent = PQsendQueryPrepared(pg->conn, pg_prepared_name(&pg->prepared, statement), params->n,
                                   params->values, params->lengths, params->formats, 1);
    else
        sent = PQsendQueryParams(pg->conn, statement->sql, params->n, NULL, params->values,
                                 params->lengths, params->formats, 1);
    if (!sent)
        return not_sent(pg, err);
    pg->is_unreplicated = false;
    return collect_rows(pg, statement, deadline_ms, result, err);
}

static bool is_done(const struct pg *pg, const struct pg_statement *statement,
                    enum outcome *outcome, struct error *err)
{
    if (*outcome == DONE && statement->writes && pg->is_unreplicated) {
        error_cause(err, ERR_OUTCOME_UNKNOWN, "database: committed, but not on the standby");
        *outcome = LOST;
    }
    return *outcome == DONE;
}

void pg_start_request(struct pg *pg, bool (*peer_gone)(void *peer), void *peer)
{
    pg->peer_gone = peer_gone;
    pg->peer = peer;
    pg->deadline_ms = clock_steady_ms() + RUN_TIMEOUT_MS;
}

/* Whether the statement comes right behind one that took too long.  A read does not wait for what a
 * write waits for. */
static bool must_shed(const struct pg *pg, const struct pg_statement *statement, struct error *err)
{
    int64_t now_ms = clock_steady_ms();

    if (now_ms >= pg->shed_until_ms || now_ms - pg->last_run_ms > SHED_PAUSE_MS ||
        (!statement->writes && !pg->sheds_reads))
        return false;
    error_cause(err, ERR_DATABASE_TIMEOUT,
                "database: waited behind a statement that took too long");
    return true;
}

/* Where the server did not answer in time, it may yet: its session is ended before the client is
 * told. */
static PGresult *lost_write(struct pg *pg, struct error *err)
{
    struct error ignored;

    err->code = ERR_OUTCOME_UNKNOWN;
    if (pg->given_up.pid)
        connect_now(pg, clock_steady_ms() + FENCE_TIMEOUT_MS, &ignored);
    return NULL;
}

/* It may have taken long to get a session, or to lose the one before it. */
static bool may_send(const struct pg *pg, const struct pg_statement *statement, int64_t deadline_ms,
                     struct error *err)
{
    if (clock_left_ms(deadline_ms) == 0)
        return error_cause(err, ERR_DATABASE_TIMEOUT,
                           "database: no time was left for the statement");
    if (statement->writes && pg->peer_gone && pg->peer_gone(pg->peer))
        return error_set(err, ERR_CLIENT_GONE);
    return true;
}

/* Returns the result, or NULL with *err. */
static PGresult *run_until_done(struct pg *pg, const struct pg_statement *statement,
                                const struct pg_params *params, int64_t deadline_ms,
                                struct error *err)
{
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        PGresult *rows = NULL;
        enum outcome outcome;

        if (!ensure_connected(pg, statement->writes, deadline_ms, err))
            return NULL;
        if (!may_send(pg, statement, deadline_ms, err))
            return NULL;
        outcome = run_once(pg, statement, params, deadline_ms, &rows, err);
        if (is_done(pg, statement, &outcome, err))
            return rows;
        PQclear(rows);
        if (err->code == ERR_DATABASE_TIMEOUT) {
            pg->shed_until_ms = clock_steady_ms() + SHED_MS;
            pg->sheds_reads = !statement->writes;
        }
        if (outcome == LOST && statement->writes)
            return lost_write(pg, err);
        if (outcome == FAILED || clock_left_ms(deadline_ms) < RUN_TIMEOUT_MS / 2)
            return NULL;
    }
    return NULL;
}

/* On a session of its own. */
static PGresult *run_alone(struct pg *pg, const struct pg_statement *statement,
                           const struct pg_params *params, int64_t deadline_ms, struct error *err)
{
    PGresult *rows = must_shed(pg, statement, err)
                         ? NULL
                         : run_until_done(pg, statement, params, deadline_ms, err);

    pg->last_run_ms = clock_steady_ms();
    return rows;
}

static int64_t deadline_of(const struct pg *pg)
{
    return pg->deadline_ms ? pg->deadline_ms : clock_steady_ms() + RUN_TIMEOUT_MS;
}

bool pg_clock(struct pg *pg, int64_t *ms, struct error *err)
{
    if (!pg->knows_clock && !ensure_connected(pg, false, deadline_of(pg), err))
        return false;
    *ms = (clock_steady_us() + pg->ahead_us) / 1000;
    return pg->knows_clock || error_cause(err, ERR_INTERNAL, "database: it tells no time");
}

bool pg_run(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
            struct pg_result **result, struct error *err)
{
    int64_t deadline_ms = deadline_of(pg);
    PGresult *rows = NULL;

    *result = NULL;
    if (params->failed)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (statement->is_short && pg->pipeline)
        rows = pg_pipeline_run(pg->pipeline, &pg->wait, pg->conn, statement, params, deadline_ms);
    if (!rows)
        rows = run_alone(pg, statement, params, deadline_ms, err);
    *result = (struct pg_result *)(void *)rows;
    return rows != NULL;
}

bool pg_script(struct pg *pg, const char *sql, int timeout_ms, struct error *err)
{
    int64_t deadline_ms = clock_steady_ms() + timeout_ms;
    PGresult *last = NULL;
    bool ok;

    if (!ensure_connected(pg, true, deadline_ms, err))
        return false;
    if (!PQsendQuery(pg->conn, sql))
        return not_sent(pg, err) == DONE;
    ok = collect(pg, NULL, deadline_ms, &last, err) == DONE;
    PQclear(last);
    return ok;
}

void pg_rollback(struct pg *pg)
{
    struct error ignored;

    pg_script(pg, "ROLLBACK", ROLLBACK_TIMEOUT_MS, &ignored);
}
