/* SPDX-License-Identifier: MIT */
/* Runs statements: on the shared session or on the lane's own, within a deadline, and again where
 * that is safe. */
#include "pg/pg.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pg/fence.h"
#include "pg/operator.h"
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
    uint32_t caller;           /* who sent the request, as a number */
    const char *operator_name; /* NULL: there is none */
    int64_t transaction;  /* which session has the open transaction, by own.n_opened; 0: none */
    bool is_aborted;      /* a statement of the transaction has failed */
    bool has_uncommitted; /* the transaction has written */
    bool has_written;
};

struct pg *pg_new(const char *conninfo, const struct wait *wait)
{
    struct pg *pg = calloc(1, sizeof *pg);

    if (pg) {
        pg->own.conninfo = conninfo;
        pg->own.wait = *wait;
        pg->own.placement = &pg_plain;
        pg->timeout_ms = RUN_TIMEOUT_MS;
    }
    return pg;
}

void pg_name_operator(struct pg *pg, const char *name)
{
    pg->operator_name = name;
}

void pg_place(struct pg *pg, const struct pg_placement *placement, void *lane)
{
    pg->own.placement = placement;
    pg->own.place_lane = lane;
}

bool pg_turn_to(struct pg *pg, const char *account_id, struct error *err)
{
    return !pg->own.place_lane || pg->own.placement->turn_to(pg->own.place_lane, account_id, err);
}

unsigned pg_turn_silent(const struct pg *pg)
{
    return pg->own.place_lane ? pg->own.placement->turn_silent(pg->own.place_lane) : 0;
}

void pg_turn_end(struct pg *pg, bool ok, const struct error *err)
{
    if (pg->own.place_lane)
        pg->own.placement->turn_end(pg->own.place_lane, ok, err);
}

void pg_refuse_nothing(struct pg *pg)
{
    pg->shed.is_off = true;
}

void pg_ask_patience(struct pg *pg, bool (*goes_on)(void *context), void *context)
{
    pg->own.goes_on = goes_on;
    pg->own.patience = context;
}

void pg_share_outage(struct pg *pg, struct pg_outage *outage)
{
    pg->own.outage = outage;
}

bool pg_is_by_account(const struct pg *pg)
{
    return pg->own.placement->is_by_account;
}

void pg_use_pipeline(struct pg *pg, struct pg_pipeline *pipeline)
{
    pg->own.pipeline = pipeline;
}

void pg_count_in(struct pg *pg, struct metrics_slot *counts)
{
    pg->own.counts = counts;
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
    pg->caller = 0;
    pg->deadline_ms = clock_steady_ms() + pg->timeout_ms;
}

void pg_tell_caller(struct pg *pg, uint32_t caller)
{
    pg->caller = caller;
}

/* ---- one attempt ---- */

/* Another client of the same pooled session has prepared the statement.  In a transaction, which
 * has failed now, the statement runs again without a name. */
static enum pg_outcome use_taken_name(struct pg_own *own)
{
    if (PQtransactionStatus(own->session.conn) == PQTRANS_IDLE)
        return PG_DONE;
    own->session.n_lost_names = MAX_LOST_NAMES;
    return PG_NO_EFFECT;
}

static enum pg_outcome prepare(struct pg_own *own, const struct pg_statement *statement,
                               const char *sql, int64_t deadline_ms, struct error *err)
{
    char name[PG_NAME_SIZE];
    PGresult *result;
    enum pg_outcome outcome;

    pg_make_name(name, statement, sql);
    if (!PQsendPrepare(own->session.conn, name, sql, 0, NULL))
        return pg_own_not_sent(own, err);
    outcome = pg_own_collect(own, statement, deadline_ms, &result, err);
    PQclear(result);
    if (outcome == PG_LOST)
        outcome = PG_NO_EFFECT;
    if (outcome == PG_FAILED && strcmp(err->sqlstate, "42P05") == 0)
        outcome = use_taken_name(own);
    if (outcome == PG_DONE)
        pg_note_prepared(&own->session.prepared, statement, name);
    return outcome;
}

/* In one piece with what it needs, so that it takes one round trip. */
static bool send_ad_hoc(PGconn *conn, const struct pg_statement *statement,
                        const struct pg_params *params)
{
    char limit[12];
    const char *const values[] = {limit};

    snprintf(limit, sizeof limit, "%d", statement->ad_hoc_ms);
    return PQenterPipelineMode(conn) &&
           PQsendQueryParams(conn, pg_ad_hoc_sql, 1, NULL, values, NULL, NULL, 0) &&
           PQsendQueryParams(conn, statement->sql, params->n, NULL, params->values, params->lengths,
                             params->formats, 1) &&
           PQpipelineSync(conn);
}

static bool send_statement(struct pg_own *own, const struct pg_statement *statement,
                           const struct pg_params *params, bool named)
{
    const struct pg_form form = own->placement->form(statement, params);
    const char *const *values = params->values + form.first;
    const int *lengths = params->lengths + form.first;
    const int *formats = params->formats + form.first;
    PGconn *conn = own->session.conn;

    own->sent_us = clock_steady_us();
    if (statement->ad_hoc_ms)
        return send_ad_hoc(conn, statement, params);
    if (named)
        return PQsendQueryPrepared(conn, pg_prepared_name(&own->session.prepared, statement),
                                   form.n, values, lengths, formats, 1);
    return PQsendQueryParams(conn, form.sql, form.n, NULL, values, lengths, formats, 1);
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
    return pg_own_is_once(statement) ? PG_LOST : PG_FAILED;
}

static enum pg_outcome run_once(struct pg_own *own, const struct pg_statement *statement,
                                const struct pg_params *params, int64_t deadline_ms,
                                PGresult **rows, struct error *err)
{
    bool named = !statement->ad_hoc_ms && own->session.n_lost_names < MAX_LOST_NAMES;
    enum pg_outcome outcome;

    if (named && !pg_prepared_name(&own->session.prepared, statement)) {
        outcome =
            prepare(own, statement, own->placement->form(statement, params).sql, deadline_ms, err);
        if (outcome != PG_DONE)
            return outcome;
    }
    if (!send_statement(own, statement, params, named))
        return pg_own_not_sent(own, err);
    own->is_unreplicated = false;
    return collect_rows(own, statement, deadline_ms, rows, err);
}

/* Runs an operator's statement in a transaction of its own, which sets the search path and, for a
 * write, names the operator.  Settings of the session would not do: a pooler may run the statement
 * on another session, and lend this one to others. */
static enum pg_outcome run_for_operator(struct pg *pg, const struct pg_statement *statement,
                                        const struct pg_params *params, int64_t deadline_ms,
                                        PGresult **rows, struct error *err)
{
    struct pg_own *own = &pg->own;
    struct error ignored;
    enum pg_outcome outcome = pg_own_run_sql(
        own, statement->writes ? "BEGIN" : "BEGIN; " PG_OPERATOR_PATH, NULL, deadline_ms, err);

    if (outcome == PG_DONE && statement->writes)
        outcome = pg_operator_enter(own, pg->operator_name, deadline_ms, err);
    if (outcome == PG_LOST)
        outcome = PG_NO_EFFECT;
    if (outcome == PG_DONE)
        outcome = run_once(own, statement, params, deadline_ms, rows, err);
    if (outcome == PG_DONE)
        return pg_own_run_sql(own, "COMMIT", statement, deadline_ms, err);
    if (own->session.conn)
        (void)pg_own_run_sql(own, "ROLLBACK", NULL, clock_steady_ms() + ROLLBACK_TIMEOUT_MS,
                             &ignored);
    return outcome;
}

static enum pg_outcome run_attempt(struct pg *pg, const struct pg_statement *statement,
                                   const struct pg_params *params, int64_t deadline_ms,
                                   PGresult **rows, struct error *err)
{
    struct pg_own *own = &pg->own;
    bool is_alone = PQtransactionStatus(own->session.conn) == PQTRANS_IDLE;
    enum pg_outcome outcome = pg->operator_name && is_alone
                                  ? run_for_operator(pg, statement, params, deadline_ms, rows, err)
                                  : run_once(own, statement, params, deadline_ms, rows, err);

    if (outcome == PG_DONE && statement->writes && own->is_unreplicated) {
        error_cause(err, ERR_OUTCOME_UNKNOWN,
                    "database: committed, but the standby has not confirmed it");
        outcome = PG_FAILED;
    }
    return outcome;
}

/* ---- all attempts ---- */

/* If a write times out, or its connection is lost, the server may still run it: its session is
 * ended before the client is told. */
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

/* Opens the session unless it is open.  While the database is away for a moment, tries again after
 * each pause: nothing has been sent, so nothing is sent twice.  A quarter of the time is left to
 * the statement. */
static bool open_in_time(struct pg *pg, bool looks_ahead, int64_t deadline_ms, struct error *err)
{
    struct pg_own *own = &pg->own;
    int64_t latest_ms = deadline_ms - pg->timeout_ms / 4;

    while (!pg_own_open(own, looks_ahead, deadline_ms, err)) {
        int64_t now_ms = clock_steady_ms();

        if (!own->outage || !pg_outage_is_on(own->outage, now_ms) || now_ms >= own->retry_at_ms ||
            own->retry_at_ms >= latest_ms)
            return false;
        (void)own->wait.until(own->wait.context, -1, 0, own->retry_at_ms);
    }
    return true;
}

static struct pg_shed_statement to_shed(const struct pg *pg, const struct pg_statement *statement)
{
    return (struct pg_shed_statement){.writes = statement->writes, .caller = pg->caller};
}

/* Returns the rows, or NULL with *err. */
static PGresult *run_until_done(struct pg *pg, const struct pg_statement *statement,
                                const struct pg_params *params, int64_t deadline_ms,
                                struct error *err)
{
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        PGresult *rows = NULL;
        enum pg_outcome outcome;

        if (!open_in_time(pg, statement->writes, deadline_ms, err) ||
            !may_send(pg, statement, deadline_ms, err))
            return NULL;
        outcome = run_attempt(pg, statement, params, deadline_ms, &rows, err);
        if (outcome == PG_DONE)
            return rows;
        PQclear(rows);
        if (err->code == ERR_DATABASE_TIMEOUT)
            pg_shed_begin(&pg->shed, to_shed(pg, statement), clock_steady_ms());
        if (outcome == PG_LOST && pg_own_is_once(statement)) {
            lose_write(pg, err);
            return NULL;
        }
        if (outcome == PG_FAILED || clock_left_ms(deadline_ms) < pg->timeout_ms / 2)
            return NULL;
        pg_own_count(&pg->own, METRICS_DATABASE_RETRIED);
    }
    return NULL;
}

static PGresult *run_on_own(struct pg *pg, const struct pg_statement *statement,
                            const struct pg_params *params, int64_t deadline_ms, struct error *err)
{
    PGresult *rows = NULL;

    if (!pg_is_by_account(pg) &&
        pg_shed_refuses(&pg->shed, to_shed(pg, statement), clock_steady_ms()))
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

/* ---- transactions ---- */

/* Returns whether the session of the transaction is there.  Another one would run the statement by
 * itself. */
static bool has_transaction(const struct pg *pg, struct error *err)
{
    if (pg->is_aborted)
        return error_cause(err, ERR_INTERNAL, "database: the transaction has failed");
    return (pg->own.session.state == PG_SESSION_OWN && pg->own.n_opened == pg->transaction) ||
           error_cause(err, ERR_DATABASE_UNAVAILABLE,
                       "database: the session of the transaction was lost");
}

/* Sends no name: preparing would take another round trip, and a pooler may know other names. */
static PGresult *run_in_transaction(struct pg *pg, const struct pg_statement *statement,
                                    const struct pg_params *params, int64_t deadline_ms,
                                    struct error *err)
{
    PGresult *rows = NULL;

    if (!has_transaction(pg, err))
        return NULL;
    if (!send_statement(&pg->own, statement, params, false))
        (void)pg_own_not_sent(&pg->own, err);
    else if (collect_rows(&pg->own, statement, deadline_ms, &rows, err) != PG_DONE)
        rows = NULL;
    pg->is_aborted = !rows;
    return rows;
}

bool pg_begin(struct pg *pg, const char *sql, struct error *err)
{
    if (!pg_script(pg, sql, pg->timeout_ms, err)) {
        pg_rollback(pg);
        return false;
    }
    pg->transaction = pg->own.n_opened;
    pg->is_aborted = false;
    pg->has_uncommitted = false;
    return true;
}

bool pg_commit(struct pg *pg, struct error *err)
{
    static const struct pg_statement commit = {.name = "commit", .writes = true};
    int64_t deadline_ms = clock_steady_ms() + pg->timeout_ms;
    PGresult *last = NULL;
    bool ok = false;

    if (!has_transaction(pg, err)) {
        pg_rollback(pg);
        return false;
    }
    pg->transaction = 0;
    pg->own.is_unreplicated = false;
    if (!PQsendQuery(pg->own.session.conn, "COMMIT")) {
        (void)pg_own_not_sent(&pg->own, err);
        return false;
    }
    switch (pg_own_collect(&pg->own, &commit, deadline_ms, &last, err)) {
    case PG_DONE:
        ok = strcmp(PQcmdStatus(last), "COMMIT") == 0 ||
             error_cause(err, ERR_INTERNAL, "database: the transaction was rolled back");
        if (ok && pg->own.is_unreplicated)
            ok = error_cause(err, ERR_OUTCOME_UNKNOWN,
                             "database: committed, but the standby has not confirmed it");
        break;
    case PG_LOST:
        lose_write(pg, err);
        break;
    default:
        break;
    }
    PQclear(last);
    pg->has_written = pg->has_written || (ok && pg->has_uncommitted);
    return ok;
}

static bool run_now(struct pg *pg, const struct pg_statement *statement,
                    const struct pg_params *params, struct pg_result **result, struct error *err)
{
    struct pg_own *own = &pg->own;
    int64_t deadline_ms = deadline_of(pg);
    PGresult *rows = NULL;

    if (pg->transaction)
        rows = run_in_transaction(pg, statement, params, deadline_ms, err);
    else if (statement->is_short && own->pipeline && !pg_is_by_account(pg))
        rows = pg_pipeline_run(own->pipeline, &own->wait, own->session.state == PG_SESSION_OWN,
                               statement, params, deadline_ms);
    if (!rows && !pg->transaction)
        rows = run_on_own(pg, statement, params, deadline_ms, err);
    if (rows && statement->writes && pg->transaction)
        pg->has_uncommitted = true;
    else if (rows && statement->writes)
        pg->has_written = true;
    *result = (struct pg_result *)(void *)rows;
    return rows != NULL;
}

/* Sends the settings that a statement needs, each by itself: it is in a transaction. */
static bool send_settings(struct pg *pg, const struct pg_form *form, struct error *err)
{
    for (size_t i = 0; form->settings && form->settings[i]; i++) {
        if (!pg_script(pg, form->settings[i], pg->timeout_ms, err))
            return false;
    }
    return true;
}

/* In a transaction of its own, which has those settings. */
static bool run_with_settings(struct pg *pg, const struct pg_form *form,
                              const struct pg_statement *statement, const struct pg_params *params,
                              struct pg_result **result, struct error *err)
{
    return pg_begin(pg, "BEGIN", err) &&
           pg_end(pg, send_settings(pg, form, err) && run_now(pg, statement, params, result, err),
                  result, err);
}

static bool run_uncounted(struct pg *pg, const struct pg_statement *statement,
                          const struct pg_params *params, struct pg_result **result,
                          struct error *err)
{
    const struct pg_form form = pg->own.placement->form(statement, params);

    *result = NULL;
    if (params->failed)
        return error_set(err, ERR_OUT_OF_MEMORY);
    if (form.settings && !pg->transaction)
        return run_with_settings(pg, &form, statement, params, result, err);
    return send_settings(pg, &form, err) && run_now(pg, statement, params, result, err);
}

/* A key that exists already, a peer that has gone and a statement that a client makes slow are no
 * fault of the database. */
static bool is_failure(const struct pg_statement *statement, enum error_code code)
{
    return error_row(code)->status >= 500 && code != ERR_CLIENT_GONE && code != statement->on_slow;
}

bool pg_run(struct pg *pg, const struct pg_statement *statement, const struct pg_params *params,
            struct pg_result **result, struct error *err)
{
    struct metrics_slot *counts = pg->own.counts;
    int64_t began_us;
    bool ok;

    if (!counts)
        return run_uncounted(pg, statement, params, result, err);
    began_us = clock_steady_us();
    ok = run_uncounted(pg, statement, params, result, err);
    metrics_observe(&counts->database_wait[statement->writes], clock_steady_us() - began_us);
    if (!ok && is_failure(statement, err->code))
        metrics_add(&counts->database_failures[err->code], 1);
    return ok;
}

/* ---- scripts and the clock ---- */

bool pg_script(struct pg *pg, const char *sql, int timeout_ms, struct error *err)
{
    int64_t deadline_ms = clock_steady_ms() + timeout_ms;
    enum pg_outcome outcome;

    if (pg->transaction ? !has_transaction(pg, err)
                        : !pg_own_open(&pg->own, true, deadline_ms, err))
        return false;
    outcome = pg_own_run_sql(&pg->own, sql, NULL, deadline_ms, err);
    if (outcome == PG_DONE && pg->operator_name && !pg->transaction &&
        PQtransactionStatus(pg->own.session.conn) == PQTRANS_INTRANS)
        outcome = pg_operator_enter(&pg->own, pg->operator_name, deadline_ms, err);
    return outcome == PG_DONE;
}

void pg_rollback(struct pg *pg)
{
    struct error ignored;

    pg->transaction = 0;
    (void)!pg_script(pg, "ROLLBACK", ROLLBACK_TIMEOUT_MS, &ignored);
}

bool pg_clock(struct pg *pg, int64_t *ms, struct error *err)
{
    const struct pg_own *own = &pg->own;

    if (!own->knows_clock && !open_in_time(pg, false, deadline_of(pg), err))
        return false;
    *ms = (clock_steady_us() + own->ahead_us) / 1000;
    return own->knows_clock ||
           error_cause(err, ERR_INTERNAL, "database: the server did not return its time");
}

bool pg_has_written(const struct pg *pg)
{
    return pg->has_written;
}

int64_t pg_n_opened(const struct pg *pg)
{
    return pg->own.n_opened;
}

void pg_note_time(struct pg *pg, int64_t database_us)
{
    pg_own_note_time(&pg->own, database_us);
}
