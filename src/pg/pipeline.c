/* SPDX-License-Identifier: MIT */
/* The shared session, and the reads that wait for it. */
#include "pg/pipeline.h"

#include <stdlib.h>

#include "base/clock.h"
#include "pg/answer.h"
#include "pg/connect.h"
#include "pg/outage.h"
#include "pg/session.h"

/* The limit on rows.  A short read that takes longer waits for a lock or a slow server, and blocks
 * the reads behind it. */
#define ROWS_TIMEOUT_MS 250

/* The limit on opening the session, and how long it stays closed after a failure. */
#define OPEN_TIMEOUT_MS 1000
#define PAUSE_MS 5000

/* The end of the last answers, and an error, each with the NULL that libpq puts behind a result. */
#define FAREWELL_RESULTS 4

/* A read, on the stack of the lane that waits for it. */
struct run {
    const struct wait *wait;
    const struct pg_params *params;
    struct pg_answer answer;
    struct run *next;
};

struct pg_pipeline {
    const char *conninfo;
    struct metrics_slot *counts; /* NULL: nothing is counted */
    struct pg_outage *outage;    /* NULL: nobody waits for a database that is away */
    struct pg_session session;
    int64_t retry_at_ms; /* no attempt to open before, on the steady clock */
    struct run *first;   /* the reads that wait, in the order in which the server answers */
    struct run *last;
    struct run *unsent; /* the first of those that were not sent yet */
};

struct pg_pipeline *pg_pipeline_new(const char *conninfo)
{
    struct pg_pipeline *pipeline = calloc(1, sizeof *pipeline);

    if (pipeline)
        pipeline->conninfo = conninfo;
    return pipeline;
}

void pg_pipeline_free(struct pg_pipeline *pipeline)
{
    if (pipeline)
        pg_session_move(&pipeline->session, PG_SESSION_CLOSES);
    free(pipeline);
}

void pg_pipeline_count_in(struct pg_pipeline *pipeline, struct metrics_slot *counts)
{
    pipeline->counts = counts;
}

void pg_pipeline_share_outage(struct pg_pipeline *pipeline, struct pg_outage *outage)
{
    pipeline->outage = outage;
}

static void count_event(const struct pg_pipeline *pipeline, enum metrics_database_event event)
{
    if (pipeline->counts)
        metrics_add(&pipeline->counts->database_events[event], 1);
}

static bool is_open(const struct pg_pipeline *pipeline)
{
    return pipeline->session.state == PG_SESSION_SHARED;
}

/* ---- the queue ---- */

static void append_run(struct pg_pipeline *pipeline, struct run *run)
{
    if (pipeline->first)
        pipeline->last->next = run;
    else
        pipeline->first = run;
    pipeline->last = run;
    if (!pipeline->unsent)
        pipeline->unsent = run;
}

static void finish_first(struct pg_pipeline *pipeline)
{
    struct run *run = pipeline->first;

    pipeline->first = run->next;
    run->wait->wake(run->wait->context);
}

/* Ends all waits; none of them gets rows. */
static void drop_all(struct pg_pipeline *pipeline)
{
    pipeline->unsent = NULL;
    while (pipeline->first) {
        pg_answer_drop(&pipeline->first->answer);
        finish_first(pipeline);
    }
}

void pg_pipeline_leave(struct pg_pipeline *pipeline)
{
    pg_session_move(&pipeline->session, PG_SESSION_IS_LEFT);
    drop_all(pipeline);
}

static void fail(struct pg_pipeline *pipeline)
{
    pg_session_move(&pipeline->session, PG_SESSION_CLOSES);
    drop_all(pipeline);
    pipeline->retry_at_ms = clock_steady_ms() + PAUSE_MS;
    count_event(pipeline, METRICS_DATABASE_SHARED_FAILED);
}

/* ---- opening ---- */

/* While nobody waits, libpq takes the error that ends the session for a notice. */
static void take_notice(void *context, const PGresult *notice)
{
    const struct pg_pipeline *pipeline = context;

    pg_outage_note_error(pipeline->outage, PQresultErrorField(notice, PG_DIAG_SQLSTATE));
}

static bool start_pipeline_mode(struct pg_pipeline *pipeline, const struct wait *wait,
                                int64_t deadline_ms)
{
    PGconn *conn = pipeline->session.conn;

    PQsetNoticeReceiver(conn, take_notice, pipeline);
    if (PQsetnonblocking(conn, 1) != 0 || !PQsendQuery(conn, pg_setup_sql))
        return false;
    for (;;) {
        PGresult *result;
        bool failed;

        if (!pg_await(conn, wait, deadline_ms))
            return false;
        result = PQgetResult(conn);
        if (!result)
            return PQenterPipelineMode(conn) && wait->watch(wait->context, PQsocket(conn));
        failed = PQresultStatus(result) == PGRES_FATAL_ERROR;
        PQclear(result);
        if (failed)
            return false;
    }
}

/* The lane that opens the session waits; no other lane waits for that. */
static void open_session(struct pg_pipeline *pipeline, const struct wait *wait, int64_t deadline_ms)
{
    struct pg_session *session = &pipeline->session;
    struct pg_refusal refusal;

    pg_session_move(session, PG_SESSION_OPENS);
    session->conn = pg_connect(pipeline->conninfo, wait, deadline_ms, &refusal);
    if (session->conn && start_pipeline_mode(pipeline, wait, deadline_ms))
        pg_session_move(session, PG_SESSION_IS_SHARED);
    if (is_open(pipeline))
        count_event(pipeline, METRICS_DATABASE_OPENED);
    else
        fail(pipeline);
}

/* ---- asking ---- */

static bool send_one(struct pg_pipeline *pipeline, struct run *run)
{
    struct pg_session *session = &pipeline->session;
    const struct pg_statement *statement = run->answer.statement;
    const struct pg_params *params = run->params;
    const char *name = pg_prepared_name(&session->prepared, statement);
    char new_name[PG_NAME_SIZE];

    run->answer.state = name ? PG_ANSWER_ROWS : PG_ANSWER_PREPARE;
    if (!name) {
        pg_make_name(new_name, statement, statement->sql);
        name = new_name;
        if (!PQsendPrepare(session->conn, name, statement->sql, 0, NULL))
            return false;
        pg_note_prepared(&session->prepared, statement, name);
    }
    return PQsendQueryPrepared(session->conn, name, params->n - params->has_place, params->values,
                               params->lengths, params->formats, 1);
}

/* Nobody waits until the socket takes it: any socket takes this much at once. */
static bool send_all(struct pg_pipeline *pipeline)
{
    PGconn *conn = pipeline->session.conn;

    for (; pipeline->unsent; pipeline->unsent = pipeline->unsent->next) {
        if (!send_one(pipeline, pipeline->unsent))
            return false;
    }
    return PQpipelineSync(conn) && PQflush(conn) == 0;
}

void pg_pipeline_send(struct pg_pipeline *pipeline)
{
    if (pipeline->unsent && !send_all(pipeline))
        fail(pipeline);
}

/* ---- answers ---- */

/* The server may have said why it ends the connection.  The end of the last answers comes first. */
static void take_farewell(const struct pg_pipeline *pipeline)
{
    PGconn *conn = pipeline->session.conn;

    for (int i = 0; i < FAREWELL_RESULTS && !PQisBusy(conn); i++) {
        PGresult *result = PQgetResult(conn);

        pg_outage_note_error(pipeline->outage, PQresultErrorField(result, PG_DIAG_SQLSTATE));
        PQclear(result);
    }
}

/* While nobody waits, only three things can come.  The end of the last answers stays with libpq
 * until the next read takes it.  A notice is dropped.  The end of the session is seen here. */
static bool receive_all(struct pg_pipeline *pipeline)
{
    PGconn *conn = pipeline->session.conn;
    bool ok = pg_receive(conn);
    PGresult *result;

    while (!PQisBusy(conn) && pipeline->first != pipeline->unsent) {
        result = PQgetResult(conn);
        pg_outage_note_error(pipeline->outage, PQresultErrorField(result, PG_DIAG_SQLSTATE));
        switch (pg_answer_take(&pipeline->first->answer, result)) {
        case PG_TAKEN_PART:
        case PG_TAKEN_SYNC:
            break;
        case PG_TAKEN_END:
            finish_first(pipeline);
            break;
        case PG_TAKEN_WRONG:
            return false;
        }
    }
    if (!ok)
        take_farewell(pipeline);
    return ok;
}

void pg_pipeline_receive(struct pg_pipeline *pipeline)
{
    if (is_open(pipeline) && !receive_all(pipeline))
        fail(pipeline);
}

static bool may_open_now(const struct pg_pipeline *pipeline, int64_t now_ms)
{
    return pipeline->session.state == PG_SESSION_CLOSED && now_ms >= pipeline->retry_at_ms;
}

PGresult *pg_pipeline_run(struct pg_pipeline *pipeline, const struct wait *wait, bool may_open,
                          const struct pg_statement *statement, const struct pg_params *params,
                          int64_t deadline_ms)
{
    struct run run = {.wait = wait, .params = params, .answer = {.statement = statement}};
    int64_t now_ms = clock_steady_ms();

    if (may_open && may_open_now(pipeline, now_ms)) {
        open_session(pipeline, wait, clock_earlier(deadline_ms, now_ms + OPEN_TIMEOUT_MS));
        now_ms = clock_steady_ms();
    }
    /* A read with little time left must not take a good server for a slow one. */
    if (!is_open(pipeline) || deadline_ms < now_ms + ROWS_TIMEOUT_MS)
        return NULL;
    append_run(pipeline, &run);
    /* Rows may come in the same turn of the loop in which the time is over. */
    (void)!wait->until(wait->context, -1, 0, now_ms + ROWS_TIMEOUT_MS);
    if (run.answer.state != PG_ANSWER_OVER)
        fail(pipeline);
    return run.answer.rows;
}
