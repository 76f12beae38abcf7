/* SPDX-License-Identifier: MIT */
/* A worker answers requests in lanes.  Each lane has its own access to the database. */
#include "main/worker.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "http/response.h"
#include "confined/confined.h"
#include "nodes/nodes.h"
#include "pg/outage.h"
#include "pg/pipeline.h"
#include "serve/cgi.h"
#include "serve/serve.h"

/* Requests that a worker answers at once; at least one of them is short.  Short reads share one
 * database session.  For other work, each lane has its own session. */
#define LANES 5

/* A CGI program answers one request, and ends after this time in any case. */
#define CGI_TIMEOUT_S 30

/* A process that ends takes at most this long to store when keys were last used. */
#define LAST_USES_TIMEOUT_MS 500

/* Half of the lanes, rounded down, may wait for a node that does not answer.  The others serve the
 * accounts of other nodes. */
#define MOST_LONG_WAITS (LANES / 2)

/* The state for one request at a time. */
struct answerer {
    const struct responder *responder;
    const struct api_settings *settings;
    struct wait wait;
    struct pg *pg;
    struct store *store;
    struct key_uses *uses;         /* of all lanes */
    struct store_filters *filters; /* of all lanes; NULL: there is one lane */
    struct page_rows *page_rows;   /* the same */
    struct nodes *nodes;           /* of all lanes; NULL: there is one lane */
    struct pg_outage *outage;      /* the same */
    struct arena arena;
    struct response response;
};

static bool answerer_open(struct answerer *answerer, struct pg_pipeline *pipeline)
{
    answerer->pg = pg_new(answerer->responder->conf.conninfo, &answerer->wait);
    if (answerer->pg) {
        nodes_place(answerer->pg, answerer->responder->conf.is_by_account);
        pg_use_pipeline(answerer->pg, pipeline);
        pg_count_in(answerer->pg, answerer->settings->counts);
    }
    answerer->store = answerer->pg ? store_new(answerer->pg, answerer->responder->keyring) : NULL;
    if (!answerer->store || !answerer->uses || !response_reserve(&answerer->response))
        return false;
    store_note_uses(answerer->store, answerer->uses);
    store_share_filters(answerer->store, answerer->filters);
    store_share_page_rows(answerer->store, answerer->page_rows);
    if (answerer->outage)
        pg_share_outage(answerer->pg, answerer->outage);
    if (answerer->nodes)
        nodes_join(answerer->nodes, answerer->pg, MOST_LONG_WAITS, LATE_PAUSE_MS);
    return true;
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
    api_answer(answerer->settings, answerer->store, &answerer->arena, request, &answerer->response);
    return &answerer->response;
}

/* A failure loses nothing that a client has been told. */
static void write_uses(const struct answerer *answerer, struct pg *pg)
{
    struct arena arena = {0};
    struct error err = {.code = ERR_NONE};

    pg_start_request(pg, NULL, NULL);
    if (!key_uses_write(answerer->uses, pg, clock_steady_ms(), &arena, &err)) {
        const struct log_pair pairs[] = {{"cause", error_reason(&err)}, {NULL, NULL}};

        log_often(&answerer->responder->conf.log, LOG_LEVEL_WARNING,
                  "cannot store when keys were last used", NULL, pairs);
    }
    arena_free(&arena);
}

/* As /readyz does, but not for a client: it counts as no statement of one. */
static void look_at_database(const struct answerer *answerer)
{
    struct error err = {.code = ERR_NONE};

    pg_start_request(answerer->pg, NULL, NULL);
    pg_count_in(answerer->pg, NULL);
    metrics_put_look(answerer->responder->metrics, store_ready(answerer->store, &err));
    pg_count_in(answerer->pg, answerer->settings->counts);
}

static void do_chore_in_lane(void *context)
{
    const struct answerer *answerer = context;
    struct metrics *metrics = answerer->responder->metrics;

    if (metrics && metrics_take_look(metrics, clock_steady_ms()))
        look_at_database(answerer);
    else if (key_uses_due_ms(answerer->uses) <= clock_steady_ms())
        write_uses(answerer, answerer->pg);
}

/* A worker. */
struct worker {
    const struct responder *responder;
    struct api_settings settings;
    struct ident_random random;
    struct pg_pipeline *pipeline;
    struct key_uses *uses;
    struct store_filters filters;
    struct page_rows page_rows;
    struct nodes nodes;
    struct pg_outage outage;
    struct answerer answerers[LANES];
    struct answerer at_once; /* needs neither a stack nor a database */
};

static struct response *answer_at_once(void *context, const struct request *request)
{
    struct worker *worker = context;
    struct answerer *answerer = &worker->at_once;

    api_answer(&worker->settings, answerer->store, &answerer->arena, request, &answerer->response);
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

static int64_t chore_due_ms(void *context)
{
    const struct worker *worker = context;
    const struct metrics *metrics = worker->responder->metrics;
    int64_t uses_ms = key_uses_due_ms(worker->uses);
    int64_t look_ms = metrics ? (int64_t)metrics_get(&metrics->look_due_ms) : INT64_MAX;

    return uses_ms < look_ms ? uses_ms : look_ms;
}

/* On a session of its own, after those of the lanes are closed: they need the loop. */
static void write_last_uses(const struct worker *worker)
{
    struct pg *pg;

    if (!worker->uses || key_uses_due_ms(worker->uses) == INT64_MAX)
        return;
    pg = pg_new(worker->responder->conf.conninfo, &wait_alone);
    if (pg) {
        pg_set_timeout(pg, LAST_USES_TIMEOUT_MS);
        nodes_place(pg, worker->responder->conf.is_by_account);
        write_uses(&worker->answerers[0], pg);
    }
    pg_free(pg);
}

static bool worker_open(struct worker *worker, struct serve *serve)
{
    const struct responder *responder = worker->responder;

    if (!worker->pipeline)
        return false;
    worker->at_once.store = store_new(NULL, responder->keyring);
    pg_pipeline_count_in(worker->pipeline, worker->settings.counts);
    pg_pipeline_share_outage(worker->pipeline, &worker->outage);
    serve_count_in(serve, worker->settings.counts);
    if (!worker->at_once.store || !response_reserve(&worker->at_once.response))
        return false;
    for (int i = 0; i < LANES; i++) {
        struct answerer *answerer = &worker->answerers[i];

        answerer->responder = responder;
        answerer->uses = worker->uses;
        answerer->filters = &worker->filters;
        answerer->page_rows = &worker->page_rows;
        answerer->nodes = &worker->nodes;
        answerer->outage = &worker->outage;
        answerer->settings = &worker->settings;
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
    write_last_uses(worker);
    key_uses_free(worker->uses);
}

static void confine_worker(const struct responder *responder)
{
    confined_enter(
        &(struct confined_needs){.conf = &responder->conf, .conninfo = responder->conf.conninfo});
}

int worker_serve_fcgi(void *responder_of_worker, size_t which)
{
    const struct responder *responder = responder_of_worker;
    struct worker worker = {.responder = responder,
                            .pipeline = pg_pipeline_new(responder->conf.conninfo),
                            .uses = key_uses_new(),
                            .settings = responder->settings};
    const struct serve_callbacks callbacks = {.sort = api_work,
                                              .caller = api_caller,
                                              .answer_at_once = answer_at_once,
                                              .before_wait = send_pipeline,
                                              .on_input = receive_pipeline,
                                              .context = &worker,
                                              .chore_due_ms = chore_due_ms,
                                              .do_chore = do_chore_in_lane};
    const struct request_wants wants = {.version = responder->settings.names.version_variable};
    struct serve *serve =
        serve_open(responder->listen_fd, responder->handover, &wants, &responder->conf.log);
    bool ok = false;

    worker.settings.random = &worker.random;
    if (responder->metrics)
        worker.settings.counts = &responder->metrics->slots[which];
    if (!serve) {
        process_cannot_start(&responder->conf.log, "the socket cannot be used");
    } else if (!worker_open(&worker, serve)) {
        process_cannot_start(&responder->conf.log, "out of memory");
    } else {
        process_let_others_finish();
        /* Before it reads a client's first byte, and after it has opened what it needs. */
        confine_worker(responder);
        serve_set_drain(serve, responder->drain_ms);
        serve_pass_on(serve, responder->kept.pair[0]);
        for (size_t i = 0; i < responder->kept.n; i++)
            serve_adopt(serve, responder->kept.fds[i]);
        serve_run(serve, &callbacks);
        ok = true;
    }
    worker_close(&worker);
    serve_close(serve);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The web server has the whole answer once standard output is closed. */
static void write_use_of_cgi(const struct answerer *answerer)
{
    close(STDOUT_FILENO);
    if (key_uses_due_ms(answerer->uses) == INT64_MAX)
        return;
    pg_set_timeout(answerer->pg, LAST_USES_TIMEOUT_MS);
    write_uses(answerer, answerer->pg);
}

int worker_serve_cgi(const struct responder *responder)
{
    struct answerer answerer = {.responder = responder,
                                .settings = &responder->settings,
                                .wait = wait_alone,
                                .uses = key_uses_new()};
    const struct request_wants wants = {.version = responder->settings.names.version_variable};
    struct request request;
    struct buf body = {0};
    bool ok = answerer_open(&answerer, NULL) ||
              process_cannot_start(&responder->conf.log, "out of memory");

    alarm(CGI_TIMEOUT_S);
    confine_worker(responder);
    if (ok && serve_cgi_read(&request, &body, &wants)) {
        ok = serve_cgi_answer(answer_in_lane(&answerer, &request));
        write_use_of_cgi(&answerer);
    } else if (ok) {
        ok = process_cannot_start(
            &responder->conf.log,
            "descriptor 0 is not a listening socket, and there is no CGI request; start with "
            "--listen unix:PATH");
    }
    buf_free(&body);
    answerer_close(&answerer);
    key_uses_free(answerer.uses);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
