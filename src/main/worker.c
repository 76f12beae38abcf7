/* SPDX-License-Identifier: MIT */
/* What a worker does: it answers in lanes, each with a way to the database of its own. */
#include "main/worker.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/response.h"
#include "main/confined.h"
#include "pg/pipeline.h"
#include "serve/cgi.h"
#include "serve/serve.h"

/* Requests that a worker works on at once, one of them a short read at least.  They share a session
 * in the database for short reads, and have one each for other work. */
#define LANES 5

/* A CGI program is one request's; it may not outlive it by much. */
#define CGI_TIMEOUT_S 30

/* What works on one request at a time. */
struct lane {
    const struct process *process;
    struct wait wait;
    struct pg *pg;
    struct store *store;
    struct arena arena;
    struct response response;
};

static bool lane_open(struct lane *lane, struct pg_pipeline *pipeline)
{
    lane->pg = pg_new(lane->process->conf.conninfo, &lane->wait);
    if (lane->pg)
        pg_use_pipeline(lane->pg, pipeline);
    lane->store = lane->pg ? store_new(lane->pg, lane->process->keyring) : NULL;
    return lane->store && response_reserve(&lane->response);
}

static void lane_close(struct lane *lane)
{
    store_free(lane->store);
    pg_free(lane->pg);
    arena_free(&lane->arena);
    buf_free(&lane->response.headers);
    buf_free(&lane->response.body);
}

static struct response *answer(void *context, const struct request *request)
{
    struct lane *lane = context;

    pg_start_request(lane->pg, request->peer_gone, request->peer);
    api_answer(&lane->process->settings, lane->store, &lane->arena, request, &lane->response);
    return &lane->response;
}

/* A worker that wakes up does not push aside whoever runs, which has more for it when its turn
 * comes: under load, that saves a sixth of its processor time.  A service that may not say so, or
 * ends for it, is started that way. */
static void let_others_finish(void)
{
    const struct sched_param none = {.sched_priority = 0};

    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

/* What all lanes of a worker share. */
struct worker {
    const struct process *process;
    struct pg_pipeline *pipeline;
    struct lane lanes[LANES];
    struct lane at_once; /* no lane: it has neither a stack nor a database */
};

static enum fcgi_work sort(void *context, struct text method, struct text path)
{
    (void)context;
    switch (api_work(method, path)) {
    case ROUTE_INSTANT:
        return FCGI_WORK_INSTANT;
    case ROUTE_SHORT:
        return FCGI_WORK_SHORT;
    case ROUTE_LONG:
        break;
    }
    return FCGI_WORK_LONG;
}

static struct response *answer_at_once(void *context, const struct request *request)
{
    struct worker *worker = context;
    struct lane *lane = &worker->at_once;

    api_answer(&worker->process->settings, lane->store, &lane->arena, request, &lane->response);
    return &lane->response;
}

static void send_pipeline(void *context)
{
    pg_pipeline_send(((struct worker *)context)->pipeline);
}

static void receive_pipeline(void *context)
{
    pg_pipeline_receive(((struct worker *)context)->pipeline);
}

static bool worker_open(struct worker *worker, struct fcgi *fcgi)
{
    const struct process *process = worker->process;

    if (!worker->pipeline)
        return false;
    worker->at_once.store = store_new(NULL, process->keyring);
    if (!worker->at_once.store || !response_reserve(&worker->at_once.response))
        return false;
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &worker->lanes[i];

        lane->process = process;
        if (!fcgi_add_lane(fcgi, answer, lane, &lane->wait) || !lane_open(lane, worker->pipeline))
            return false;
    }
    return true;
}

static void worker_close(struct worker *worker)
{
    for (int i = 0; i < LANES; i++)
        lane_close(&worker->lanes[i]);
    lane_close(&worker->at_once);
    pg_pipeline_free(worker->pipeline);
}

int worker_serve_fcgi(void *process_of_worker)
{
    const struct process *process = process_of_worker;
    struct worker worker = {.process = process,
                            .pipeline = pg_pipeline_new(process->conf.conninfo)};
    const struct fcgi_callbacks callbacks = {sort, answer_at_once, send_pipeline, receive_pipeline,
                                             &worker};
    struct fcgi *fcgi = fcgi_open(process->listen_fd, process->handover,
                                  process->settings.names.version_variable, &process->conf.log);
    bool ok = false;

    if (!fcgi) {
        process_cannot_start(&process->conf.log, "the socket cannot be used");
    } else if (!worker_open(&worker, fcgi)) {
        process_cannot_start(&process->conf.log, "out of memory");
    } else {
        let_others_finish();
        /* Before anything of a client's is read, and after all that it needs is open. */
        confined_enter(&process->conf);
        fcgi_serve(fcgi, &callbacks);
        ok = true;
    }
    worker_close(&worker);
    fcgi_close(fcgi);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int worker_serve_cgi(const struct process *process)
{
    struct lane lane = {.process = process, .wait = wait_alone};
    struct request request;
    struct buf body = {0};
    bool ok = lane_open(&lane, NULL) || process_cannot_start(&process->conf.log, "out of memory");

    alarm(CGI_TIMEOUT_S);
    confined_enter(&process->conf);
    if (ok && cgi_read(&request, &body, process->settings.names.version_variable)) {
        ok = cgi_answer(answer(&lane, &request));
    } else if (ok) {
        ok = process_cannot_start(
            &process->conf.log,
            "descriptor 0 is not a listening socket, and there is no CGI request");
    }
    buf_free(&body);
    lane_close(&lane);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
