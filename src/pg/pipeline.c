/* SPDX-License-Identifier: MIT */
/* The shared session, and who waits for it. */
#include "pg/pipeline.h"

#include <stdlib.h>

#include "base/clock.h"
#include "pg/connect.h"
#include "pg/session.h"

/* How long anybody waits for rows.  A short read that takes longer waits for something, and keeps
 * those behind it waiting. */
#define ROWS_TIMEOUT_MS 250

/* How long anybody waits for the session to open; and how long it stays closed after a failure. */
#define OPEN_TIMEOUT_MS 1000
#define PAUSE_MS 5000

/* What somebody asks, on the stack of whoever waits for it. */
struct run {
    const struct wait *wait;
    const struct pg_statement *statement;
    const struct pg_params *params;
    PGresult *rows;
    bool prepares;   /* the answer that comes next is that to PREPARE, and then come the rows */
    bool has_answer; /* of which the end is still to come */
    bool is_over;
    struct run *next;
};

struct pg_pipeline {
    const char *conninfo;
    PGconn *conn; /* NULL: it is closed */
    bool is_opening;
    bool is_left;        /* since it began to open */
    int64_t retry_at_ms; /* on the steady clock */
    struct run *first;   /* those who wait, in the order in which the server answers */
    struct run *last;
    struct run *unsent; /* the first of those that were not sent yet */
    struct pg_prepared prepared;
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
        PQfinish(pipeline->conn);
    free(pipeline);
}

/* ---- the queue ---- */

static void append(struct pg_pipeline *pipeline, struct run *run)
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
    run->is_over = true;
    run->wait->wake(run->wait->context);
}

void pg_pipeline_leave(struct pg_pipeline *pipeline)
{
    PQfinish(pipeline->conn);
    pipeline->conn = NULL;
    pipeline->is_left = true;
    pipeline->unsent = NULL;
    pipeline->prepared.n = 0;
    while (pipeline->first) {
        PQclear(pipeline->first->rows);
        pipeline->first->rows = NULL;
        finish_first(pipeline);
    }
}

static void fail(struct pg_pipeline *pipeline)
{
    pg_pipeline_leave(pipeline);
    pipeline->retry_at_ms = clock_steady_ms() + PAUSE_MS;
}

/* ---- opening ---- */

static void ignore_notice(void *context, const PGresult *notice)
{
    (void)context;
    (void)notice;
}

static bool set_up(PGconn *conn, const struct wait *wait, int64_t deadline_ms)
{
    PQsetNoticeReceiver(conn, ignore_notice, NULL);
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

/* Nobody else waits for it meanwhile. */
static void open_session(struct pg_pipeline *pipeline, const struct wait *wait, int64_t deadline_ms)
{
    char reason[PG_REASON_SIZE];
    PGconn *conn;

    pipeline->is_opening = true;
    pipeline->is_left = false;
    conn = pg_connect(pipeline->conninfo, wait, deadline_ms, reason);
    if (conn && (!set_up(conn, wait, deadline_ms) || pipeline->is_left)) {
        PQfinish(conn);
        conn = NULL;
    }
    pipeline->is_opening = false;
    pipeline->conn = conn;
    if (!conn)
        fail(pipeline);
}

/* ---- asking ---- */

static bool send_one(struct pg_pipeline *pipeline, struct run *run)
{
    const struct pg_statement *statement = run->statement;
    const struct pg_params *params = run->params;
    const char *name = pg_prepared_name(&pipeline->prepared, statement);
    char new_name[PG_NAME_SIZE];

    run->prepares = !name;
    if (!name) {
        pg_make_name(new_name, statement);
        name = new_name;
        if (!PQsendPrepare(pipeline->conn, name, statement->sql, 0, NULL))
            return false;
        pg_note_prepared(&pipeline->prepared, statement, name);
    }
    return PQsendQueryPrepared(pipeline->conn, name, params->n, params->values, params->lengths,
                               params->formats, 1);
}

/* Nobody waits until a socket takes it: it is less than any of them takes at once. */
static bool send_all(struct pg_pipeline *pipeline)
{
    for (; pipeline->unsent; pipeline->unsent = pipeline->unsent->next) {
        if (!send_one(pipeline, pipeline->unsent))
            return false;
    }
    return PQpipelineSync(pipeline->conn) && PQflush(pipeline->conn) == 0;
}

void pg_pipeline_send(struct pg_pipeline *pipeline)
{
    if (pipeline->unsent && !send_all(pipeline))
        fail(pipeline);
}

/* ---- answers ---- */

/* Takes what comes next, and owns it.  Returns false where it is not what has to come: nobody may
 * be given the rows of somebody else. */
static bool take(struct pg_pipeline *pipeline, PGresult *result)
{
    struct run *run = pipeline->first;
    ExecStatusType status = PQresultStatus(result);

    if (!result && run->has_answer) {
        run->has_answer = false;
        if (!run->prepares)
            finish_first(pipeline);
        run->prepares = false;
        return true;
    }
    if (status == PGRES_TUPLES_OK && !run->prepares && !run->has_answer &&
        pg_has_types(result, run->statement)) {
        run->has_answer = true;
        run->rows = result;
        return true;
    }
    PQclear(result);
    if (!result || run->has_answer)
        return false;
    run->has_answer = status == PGRES_COMMAND_OK && run->prepares;
    return run->has_answer || status == PGRES_PIPELINE_SYNC;
}

/* What comes while nobody waits is the rest of the last answers, which whoever asks next takes
 * first, a notice, or the session's end. */
static bool receive_all(struct pg_pipeline *pipeline)
{
    if (!pg_receive(pipeline->conn))
        return false;
    while (!PQisBusy(pipeline->conn) && pipeline->first != pipeline->unsent) {
        if (!take(pipeline, PQgetResult(pipeline->conn)))
            return false;
    }
    return true;
}

void pg_pipeline_receive(struct pg_pipeline *pipeline)
{
    if (pipeline->conn && !receive_all(pipeline))
        fail(pipeline);
}

PGresult *pg_pipeline_run(struct pg_pipeline *pipeline, const struct wait *wait, bool may_open,
                          const struct pg_statement *statement, const struct pg_params *params,
                          int64_t deadline_ms)
{
    struct run run = {.wait = wait, .statement = statement, .params = params};
    int64_t now_ms = clock_steady_ms();

    if (!pipeline->conn && may_open && !pipeline->is_opening && now_ms >= pipeline->retry_at_ms) {
        open_session(pipeline, wait, clock_earlier(deadline_ms, now_ms + OPEN_TIMEOUT_MS));
        now_ms = clock_steady_ms();
    }
    /* Who has little time left must not take a server for slow that is not. */
    if (!pipeline->conn || deadline_ms < now_ms + ROWS_TIMEOUT_MS)
        return NULL;
    append(pipeline, &run);
    /* Rows may come in the very turn in which the time is over. */
    (void)wait->until(wait->context, -1, 0, now_ms + ROWS_TIMEOUT_MS);
    if (!run.is_over)
        fail(pipeline);
    return run.rows;
}
