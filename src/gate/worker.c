/* SPDX-License-Identifier: MIT */
/* A worker of the gate: its lanes, and which room answers a request. */
#include "gate/worker.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/process.h"
#include "confined/confined.h"
#include "gate/check.h"
#include "gate/login.h"
#include "gate/stored.h"
#include "serve/serve.h"

/* Requests at once.  Most lanes may wait for slow providers (waiting.c); a check needs one for a
 * moment. */
#define LANES 64

/* How often rows of sessions that have ended are deleted: by one worker of each host. */
#define PURGE_MS ((int64_t)600 * 1000)

/* ... and how soon again while there are more. */
#define PURGE_MORE_MS ((int64_t)1000)

struct worker {
    struct gate_worker of;
    int64_t purge_due_ms;
    struct gate_lane lanes[LANES];
    struct gate_lane at_once;
};

static const struct request_wants wants = {
    .others = gate_variables, .n_others = GATE_N_VARIABLES, .authorizers = true};

/* A lane that waits for a provider is counted apart, so all work is short. */
static enum request_work sort_call(struct text method, struct text path, struct text query)
{
    (void)method;
    (void)path;
    (void)query;
    return REQUEST_SHORT;
}

static void answer_call(struct gate_call *call)
{
    bool is_own = call->voice == CALL_BROWSER;

    if (!stored_look_up(call))
        return;
    if (is_own && text_eq(call->path, text_of(GATE_CALLBACK)))
        login_finish(call);
    else if (is_own && text_eq(call->path, text_of(GATE_LOGOUT)))
        login_end(call);
    else
        check_answer(call);
}

/* Other answers to browsers are pages of checks that were counted. */
static void count_call(const struct gate_call *call)
{
    struct counts *counts = call->lane->worker->counts;

    if (call->voice != CALL_BROWSER)
        counts_check(counts, call->outcome);
    else if (call->is_back)
        counts_login(counts, call->outcome);
}

static void decide(struct gate_lane *lane, const struct request *request)
{
    struct gate_call call;

    if (gate_call_begin(&call, lane, request))
        answer_call(&call);
    gate_call_end(&call);
    count_call(&call);
}

static void show_metrics(struct gate_lane *lane)
{
    const struct counts_of_all *all = lane->worker->gate->counts;
    struct response *response = &lane->response;

    if (!all)
        return;
    buf_puts(&response->headers, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                                 "Cache-Control: no-store\r\n");
    counts_write(&response->body, all);
    if (!response->headers.failed && !response->body.failed)
        response->status = 200;
}

struct response *worker_answer(void *context, const struct request *request)
{
    struct gate_lane *lane = context;

    lane->response.status = 500;
    lane->response.omit_body = false;
    if (gate_call_is_for_metrics(request))
        show_metrics(lane);
    else
        decide(lane, request);
    lane->response.omit_body =
        lane->response.omit_body || text_eq(text_of(request->method), text_of("HEAD"));
    arena_reset(&lane->arena);
    return &lane->response;
}

/* All lanes are taken. */
static struct response *answer_when_full(void *context, const struct request *request)
{
    struct worker *worker = context;

    (void)request;
    counts_check(worker->of.counts, COUNTS_PAGE(HTML_PAGE_NOT_READY));
    worker->at_once.response.status = 503;
    return &worker->at_once.response;
}

static void before_wait(void *context)
{
    database_send(((struct worker *)context)->of.database);
}

static void on_input(void *context)
{
    database_receive(((struct worker *)context)->of.database);
}

/* ---- the chore ---- */

static int64_t purge_due_ms(void *context)
{
    return ((struct worker *)context)->purge_due_ms;
}

static void purge(void *context)
{
    struct gate_lane *lane = context;
    struct worker *worker = (struct worker *)lane->worker;
    struct error err = {.code = ERR_NONE};
    bool is_done = true;
    struct pg *pg;
    bool ok;

    /* While this lane waits for a session, no other is to begin the same. */
    worker->purge_due_ms = clock_steady_ms() + PURGE_MS;
    pg = database_take(worker->of.database, &lane->wait, text_of(""), &err);
    ok = pg && store_gate_purge(pg, &is_done, &err);
    if (pg)
        database_give(worker->of.database, pg, ok, &err);
    if (!ok) {
        const struct log_pair pairs[] = {{"cause", error_reason(&err)}, {NULL, NULL}};

        log_often(&worker->of.gate->conf.log, LOG_LEVEL_WARNING,
                  "cannot delete sessions that have ended", NULL, pairs);
    }
    if (!is_done)
        worker->purge_due_ms = clock_steady_ms() + PURGE_MORE_MS;
}

/* ---- running ---- */

static bool lanes_open(struct worker *worker, struct serve *serve)
{
    for (size_t i = 0; i < LANES; i++) {
        worker->lanes[i].worker = &worker->of;
        if (!serve_add_lane(serve, worker_answer, &worker->lanes[i], &worker->lanes[i].wait))
            return false;
    }
    return worker->of.database != NULL;
}

static void lane_close(struct gate_lane *lane)
{
    arena_free(&lane->arena);
    buf_free(&lane->response.headers);
    buf_free(&lane->response.body);
}

static void lanes_close(struct worker *worker)
{
    for (size_t i = 0; i < LANES; i++)
        lane_close(&worker->lanes[i]);
    lane_close(&worker->at_once);
    database_free(worker->of.database);
    rechecks_free(&worker->of.rechecks);
    free(worker);
}

static void serve_until_end(struct worker *worker, struct serve *serve)
{
    const struct gate *gate = worker->of.gate;
    const struct serve_callbacks callbacks = {.sort = sort_call,
                                              .answer_at_once = answer_when_full,
                                              .before_wait = before_wait,
                                              .on_input = on_input,
                                              .context = worker,
                                              .chore_due_ms = purge_due_ms,
                                              .do_chore = purge};
    const struct confined_needs needs = gate_needs(gate);

    process_let_others_finish();
    /* Before it reads a client's first byte, and after it has opened what it needs. */
    confined_enter(&needs);
    serve_pass_on(serve, gate->kept.pair[0]);
    for (size_t i = 0; i < gate->kept.n; i++)
        serve_adopt(serve, gate->kept.fds[i]);
    serve_run(serve, &callbacks);
}

int worker_run(void *gate_of_workers, size_t which)
{
    const struct gate *gate = gate_of_workers;
    struct worker *worker = calloc(1, sizeof *worker);
    struct serve *serve = serve_open(gate->listen_fd, gate->handover, &wants, &gate->conf.log);
    bool ok = false;

    if (worker) {
        worker->of.gate = gate;
        worker->of.counts = &gate->counts->of[which];
        worker->of.database = database_new(gate->conf.gate.conninfo, gate->conf.is_by_account);
        worker->purge_due_ms = which == 0 ? clock_steady_ms() + PURGE_MS : INT64_MAX;
    }
    if (!serve) {
        process_cannot_start(&gate->conf.log, "the socket cannot be used");
    } else if (!worker || !lanes_open(worker, serve)) {
        process_cannot_start(&gate->conf.log, "out of memory");
    } else {
        serve_until_end(worker, serve);
        ok = true;
    }
    if (worker)
        lanes_close(worker);
    serve_close(serve);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
