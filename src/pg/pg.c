/* SPDX-License-Identifier: MIT */
/* Runs statements: on the shared session or on the lane's own, within a deadline, and again where
 * that is safe. */
#include "pg/pg.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pg/fence.h"
#include "pg/own.h"
#include "pg/pipeline.h"
#include "pg/shed.h"

/* From the start of a request to its last answer; without a request, of one statement.
 * pg_set_timeout() changes it. */
#define RUN_TIMEOUT_MS 4000

#define ROLLBACK_TIMEOUT_MS 1000

#define MAX_ATTEMPTS 4

/* After this many lost names a session's statements are sent without names: a pooler hands out
 * another session each time. */
#define MAX_LOST_NAMES 3

struct pg {
    struct pg_own own;
    struct pg_shed shed;
    int timeout_ms;
    int64_t deadline_ms; /* of the request, on the steady clock; 0: there is none */
    bool (*peer_gone)(void *peer);
    void *peer;
};

struct pg *pg_new(const char *conninfo, const struct wait *wait)
{
    struct pg *pg = calloc(1, sizeof *pg);

    if (pg) {
        pg->own.conninfo = conninfo;
        pg->own.wait = *wait;
        pg->timeout_ms = RUN_TIMEOUT_MS;
    }
    return pg;
}

void pg_use_pipeline(struct pg *pg, struct pg_pipeline *pipeline)
{
    pg->own.pipeline = pipeline;
}

void pg_free(struct pg *pg)
{
    if (pg)
        pg_own_close(&pg->own);
    free(pg);
}

void pg_set_timeout(struct pg *pg, int timeout_ms)
{
    pg->timeout_ms = timeout_ms;
}

void pg_start_request(struct pg *pg, bool (*peer_gone)(void *peer), void *peer)
{
    pg->peer_gone = peer_gone;
    pg->peer = peer;
    pg->deadline_ms = clock_steady_ms() + pg->timeout_ms;
}

/* ---- one attempt ---- */

static enum pg_outcome prepare(struct pg_own *own, const struct pg_statement *statement,
                               int64_t deadline_ms, struct error *err)
{
    char name[PG_NAME_SIZE];
    PGresult *result;
    enum pg_outcome outcome;

    pg_make_name(name, statement);
    if (!PQsendPrepare(own->session.conn, name, statement->sql, 0, NULL))
        return pg_own_not_sent(own, err);
    outcome = pg_own_collect(own, statement, deadline_ms, &result, err);
    PQclear(result);
    if (outcome == PG_LOST)
        outcome = PG_NO_EFFECT;
    if (outcome == PG_FAILED && strcmp(err->sqlstate, "42P05") == 0)
        outcome = PG_DONE; /* another client of the same pooled session has prepared it */
    if (outcome == PG_DONE)
        pg_note_prepared(&own->session.prepared, statement, name);
    return outcome;
}

static bool send_statement(struct pg_own *own, const struct pg_statement *statement,
                           const struct pg_params *params, bool named)
{
    PGconn *conn = own->session.conn;

    own->sent_us = clock_steady_us();
    if (named)
        return PQsendQueryPrepared(conn, pg_prepared_name(&own->session.prepared, statement),
                                   params->n, params->values, params->lengths, params->formats, 1);
    return PQsendQueryParams(conn, statement->sql, params->n, NULL, params->values, params->lengths,
                             params->formats, 1);
}

/* Takes the rows.  They must have the columns that the statement declares. */
static enum pg_outcome collect_rows(struct pg_own *own, const struct pg_statement *statement,
                                    int64_t deadline_ms, PGresult **rows, struct error *err)
{
    enum pg_outcome outcome = pg_own_collect(own, statement, deadline_ms, rows, err);

    if (outcome != PG_DONE || pg_has_types(*rows, statement))
        return outcome;
    PQclear(*rows);
    *rows = NULL;
    error_cause(err, ERR_SCHEMA_MISMATCH, "database: %s returned other columns than it declares",
                statement->name);
    return statement->writes ? PG_LOST : PG_FAILED;
}

static enum pg_outcome run_once(struct pg_own *own, const struct pg_statement *statement,
                                const struct pg_params *params, int64_t deadline_ms,
                                PGresult **rows, struct error *err)
{
    bool named = own->session.n_lost_names < MAX_LOST_NAMES;
    enum pg_outcome outcome;

    if (named && !pg_prepared_name(&own->session.prepared, statement)) {
        outcome = prepare(own, statement, deadline_ms, err);
        if (outcome != PG_DONE)
            return outcome;
    }
    if (!send_statement(own, statement, params, named))
        return pg_own_not_sent(own, err);
    own->is_unreplicated = false;
    outcome = collect_rows(own, statement, deadline_ms, rows, err);
    if (outcome == PG_DONE && statement->writes && own->is_unreplicated) {
        error_cause(err, ERR_OUTCOME_UNKNOWN,
                    "database: committed, but the standby has not confirmed it");
        outcome = PG_LOST;
    }
    return outcome;
}

/* ---- all attempts ---- */

/* If a write times out, the server may still run it: its session is ended before the client is
 * told. */
static void lose_write(struct pg *pg, struct error *err)
{
    struct error ignored;

    err->code = ERR_OUTCOME_UNKNOWN;
    if (pg->own.session.state == PG_SESSION_GIVEN_UP)
        (void)!pg_own_open(&pg->own, false, clock_steady_ms() + PG_FENCE_TIMEOUT_MS, &ignored);
}

/* Opening a session, or losing the one before it, may have taken long. */
static bool may_send(const struct pg *pg, const struct pg_statement *statement, int64_t deadline_ms,
                     struct error *err)
{
    if (clock_left_ms(deadline_ms) == 0)
        return error_cause(err, ERR_DATABASE_TIMEOUT,
                           "database: the deadline passed before the statement was sent");
    if (statement->writes && pg->peer_gone && pg->peer_gone(pg->peer))
        return error_set(err, ERR_CLIENT_GONE);
    return true;
}

/* Returns the rows, or NULL with *err. */
static PGresult *run_until_done(struct pg *pg, const struct pg_statement *statement,
                                const struct pg_params *params, int64_t deadline_ms,
                                struct error *err)
{
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        PGresult *rows = NULL;
        enum pg_outcome outcome;

        if (!pg_own_open(&pg->own, statement->writes, deadline_ms, err) ||
            !may_send(pg, statement, deadline_ms, err))
            return NULL;
        outcome = run_once(&pg->own, statement, params, deadline_ms, &rows, err);
        if (outcome == PG_DONE)
            return rows;
        PQclear(rows);
        if (err->code == ERR_DATABASE_TIMEOUT)
            pg_shed_begin(&pg->shed, statement->writes, clock_steady_ms());
        if (outcome == PG_LOST && statement->writes) {
            lose_write(pg, err);
            return NULL;
        }
        if (outcome == PG_FAILED || clock_left_ms(deadline_ms) < pg->timeout_ms / 2)
            return NULL;
    }
    return NULL;
}

static PGresult *run_on_own(struct pg *pg, const struct pg_statement *statement,
                            const struct pg_params *params, int64_t deadline_ms, struct error *err)
{
    PGresult *rows = NULL;

    if (pg_shed_refuses(&pg->shed, statement->writes, clock_steady_ms()))
        error_cause(err, ERR_DATABASE_TIMEOUT,
                    "database: refused, because the statement before it took too long");
    else
        rows = run_until_done(pg, statement, params, deadline_ms, err);
    pg_shed_note_end(&pg->shed, clock_steady_ms());
    return rows;
}

static int64_t deadline_of(const struct pg *pg)
{
    return pg->deadline_ms ? pg->deadline_ms : clock_steady_ms() + pg->timeout_ms;
}

bool pg_run(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
            struct pg_result **result, struct error *err)
{
    struct pg_own *own = &pg->own;
    int64_t deadline_ms = deadline_of(pg);
    PGresult *rows = NULL;

    *result = NULL;
    if (params->failed)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (statement->is_short && own->pipeline)
        rows = pg_pipeline_run(own->pipeline, &own->wait, own->session.state == PG_SESSION_OWN,
                               statement, params, deadline_ms);
    if (!rows)
        rows = run_on_own(pg, statement, params, deadline_ms, err);
    *result = (struct pg_result *)(void *)rows;
    return rows != NULL;
}

/* ---- scripts and the clock ---- */

bool pg_script(struct pg *pg, const char *sql, int timeout_ms, struct error *err)
{
    int64_t deadline_ms = clock_steady_ms() + timeout_ms;
    PGresult *last;
    enum pg_outcome outcome;

    if (!pg_own_open(&pg->own, true, deadline_ms, err))
        return false;
    if (!PQsendQuery(pg->own.session.conn, sql))
        outcome = pg_own_not_sent(&pg->own, err);
    else {
        outcome = pg_own_collect(&pg->own, NULL, deadline_ms, &last, err);
        PQclear(last);
    }
    return outcome == PG_DONE;
}

void pg_rollback(struct pg *pg)
{
    struct error ignored;

    (void)!pg_script(pg, "ROLLBACK", ROLLBACK_TIMEOUT_MS, &ignored);
}

bool pg_clock(struct pg *pg, int64_t *ms, struct error *err)
{
    const struct pg_own *own = &pg->own;

    if (!own->knows_clock && !pg_own_open(&pg->own, false, deadline_of(pg), err))
        return false;
    *ms = (clock_steady_us() + own->ahead_us) / 1000;
    return own->knows_clock ||
           error_cause(err, ERR_INTERNAL, "database: the server did not return its time");
}

int64_t pg_n_opened(const struct pg *pg)
{
    return pg->own.n_opened;
}

void pg_note_time(struct pg *pg, int64_t database_us)
{
    pg_own_note_time(&pg->own, database_us);
}
