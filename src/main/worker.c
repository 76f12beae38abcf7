/* SPDX-License-Identifier: MIT */
/* A worker answers requests in lanes.  Each lane has its own access to the database. */
#include "main/worker.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/response.h"
#include "main/confined.h"
#include "pg/pipeline.h"
#include "serve/cgi.h"
#include "serve/serve.h"

/* Requests that a worker answers at once; at least one of them is short.  Short reads share one
 * database session.  For other work, each lane has its own session. */
#define LANES 5

/* A CGI program answers one request, and ends after this time in any case. */
#define CGI_TIMEOUT_S 30

/* The state for one request at a time. */
struct answerer {
    const struct process *process;
    struct wait wait;
    struct pg *pg;
    struct store *store;
    struct arena arena;
    struct response response;
};

static bool answerer_open(struct answerer *answerer, struct pg_pipeline *pipeline)
{
    answerer->pg = pg_new(answerer->process->conf.conninfo, &answerer->wait);
    if (answerer->pg)
        pg_use_pipeline(answerer->pg, pipeline);
    answerer->store = answerer->pg ? store_new(answerer->pg, answerer->process->keyring) : NULL;
    return answerer->store && response_reserve(&answerer->response);
}

static void answerer_close(struct answerer *answerer)
{
    store_free(answerer->store);
    pg_free(answerer->pg);
    arena_free(&answerer->arena);
    buf_free(&answerer->response.headers);
    buf_free(&answerer->response.body);
}

static struct response *answer_in_lane(void *context, const struct request *request)
{
    struct answerer *answerer = context;

    pg_start_request(answerer->pg, request->peer_gone, request->peer);
    api_answer(&answerer->process->settings, answerer->store, &answerer->arena, request,
               &answerer->response);
    return &answerer->response;
}

/* SCHED_BATCH: a worker that wakes up does not preempt PostgreSQL or the web server, which then
 * have more work for it when its turn comes.  Under load, this saves a sixth of its CPU time.
 * A service whose filter forbids the call sets the policy itself. */
static void let_others_finish(void)
{
    const struct sched_param none = {.sched_priority = 0};

    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
}

/* A worker. */
struct worker {
    const struct process *process;
    struct pg_pipeline *pipeline;
    struct answerer answerers[LANES];
    struct answerer at_once; /* needs neither a stack nor a database */
};

static struct response *answer_at_once(void *context, const struct request *request)
{
    struct worker *worker = context;
    struct answerer *answerer = &worker->at_once;

    api_answer(&worker->process->settings, answerer->store, &answerer->arena, request,
               &answerer->response);
    return &answerer->response;
}

static void send_pipeline(void *context)
{
    pg_pipeline_send(((struct worker *)context)->pipeline);
}

static void receive_pipeline(void *context)
{
    pg_pipeline_receive(((struct worker *)context)->pipeline);
}

static bool worker_open(struct worker *worker, struct serve *serve)
{
    const struct process *process = worker->process;

    if (!worker->pipeline)
        return false;
    worker->at_once.store = store_new(NULL, process->keyring);
    if (!worker->at_once.store || !response_reserve(&worker->at_once.response))
        return false;
    for (int i = 0; i < LANES; i++) {
        struct answerer *answerer = &worker->answerers[i];

        answerer->process = process;
        if (!serve_add_lane(serve, answer_in_lane, answerer, &answerer->wait) ||
            !answerer_open(answerer, worker->pipeline))
            return false;
    }
    return true;
}

static void worker_close(struct worker *worker)
{
    for (int i = 0; i < LANES; i++)
        answerer_close(&worker->answerers[i]);
    answerer_close(&worker->at_once);
    pg_pipeline_free(worker->pipeline);
}

int worker_serve_fcgi(void *process_of_worker)
{
    const struct process *process = process_of_worker;
    struct worker worker = {.process = process,
                            .pipeline = pg_pipeline_new(process->conf.conninfo)};
    const struct serve_callbacks callbacks = {api_work, answer_at_once, send_pipeline,
                                              receive_pipeline, &worker};
    struct serve *serve = serve_open(process->listen_fd, process->handover,
                                     process->settings.names.version_variable, &process->conf.log);
    bool ok = false;

    if (!serve) {
        process_cannot_start(&process->conf.log, "the socket cannot be used");
    } else if (!worker_open(&worker, serve)) {
        process_cannot_start(&process->conf.log, "out of memory");
    } else {
        let_others_finish();
        /* Before it reads a client's first byte, and after it has opened what it needs. */
        confined_enter(&process->conf);
        serve_run(serve, &callbacks);
        ok = true;
    }
    worker_close(&worker);
    serve_close(serve);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int worker_serve_cgi(const struct process *process)
{
    struct answerer answerer = {.process = process, .wait = wait_alone};
    struct request request;
    struct buf body = {0};
    bool ok =
        answerer_open(&answerer, NULL) || process_cannot_start(&process->conf.log, "out of memory");

    alarm(CGI_TIMEOUT_S);
    confined_enter(&process->conf);
    if (ok && serve_cgi_read(&request, &body, process->settings.names.version_variable)) {
        ok = serve_cgi_answer(answer_in_lane(&answerer, &request));
    } else if (ok) {
        ok = process_cannot_start(
            &process->conf.log,
            "descriptor 0 is not a listening socket, and there is no CGI request; start with "
            "--listen unix:PATH");
    }
    buf_free(&body);
    answerer_close(&answerer);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
