/* SPDX-License-Identifier: MIT */
/* Tests of the loop: whose turn it is, what is refused, and what workers hand to each other.
 *
 * A loop runs in the test's own process until its clients have their answers: SIGTERM is raised
 * then, which ends it. */
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/loop.h"
#include "suites.h"

#define N_LANES 3
#define MAX_CLIENTS 8

/* A worker, and what it answers with: the path of each request. */
struct worker {
    struct serve *serve;
    struct lane_of_worker {
        struct worker *worker;
        struct wait wait;
        struct response response;
    } lanes[N_LANES];
    struct response at_once;
    int turns; /* without an answer; many: nothing more comes */
    int n_stuck;
    int n_at_once;
    int n_due; /* answers after which the loop is to end */
    int n_answered;
};

static struct log quiet = {.level = LOG_LEVEL_ERROR};
static int listen_fd;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static int handover[2];
static int silent[2]; /* nothing ever comes here */
static int clients[MAX_CLIENTS];

static void answer_path(struct worker *worker, const struct request *request,
                        struct response *response)
{
    buf_clear(&response->body);
    buf_puts(&response->body, request->path);
    response->status = 200;
    response->payer = (uint32_t)strlen(request->path);
    worker->n_answered++;
    worker->turns = 0;
}

/* "/stuck..." waits until the test is over. */
static struct response *answer(void *context, const struct request *request)
{
    struct lane_of_worker *lane = context;
    struct worker *worker = lane->worker;

    if (strncmp(request->path, "/stuck", 6) == 0) {
        worker->n_stuck++;
        while (worker->n_answered < worker->n_due)
            lane->wait.until(lane->wait.context, silent[0], POLLIN, clock_steady_ms() + 5);
    }
    answer_path(worker, request, &lane->response);
    return &lane->response;
}

static struct response *answer_at_once(void *context, const struct request *request)
{
    struct worker *worker = context;

    worker->n_at_once++;
    answer_path(worker, request, &worker->at_once);
    return &worker->at_once;
}

static enum request_work sort(struct text method, struct text path)
{
    ck_assert_uint_eq(method.len, 3);
    if (path.len > 6 && memcmp(path.s, "/short", 6) == 0)
        return REQUEST_SHORT;
    return path.len == 8 && memcmp(path.s, "/instant", 8) == 0 ? REQUEST_INSTANT : REQUEST_LONG;
}

/* Ends the loop when all is answered, or when nothing comes for long. */
static void before_wait(void *context)
{
    struct worker *worker = context;

    if (worker->n_answered >= worker->n_due || ++worker->turns > 400)
        raise(SIGTERM);
}

static void on_input(void *context)
{
    (void)context;
}

static void worker_open(struct worker *worker, int n_due)
{
    *worker = (struct worker){.n_due = n_due};
    worker->serve = serve_open(listen_fd, handover, "HTTP_SERVICE_VERSION", &quiet);
    ck_assert_ptr_nonnull(worker->serve);
    for (size_t i = 0; i < N_LANES; i++) {
        worker->lanes[i].worker = worker;
        ck_assert(serve_add_lane(worker->serve, answer, &worker->lanes[i], &worker->lanes[i].wait));
    }
}

static void worker_serve(struct worker *worker)
{
    const struct serve_callbacks callbacks = {sort, answer_at_once, before_wait, on_input, worker};

    serve_run(worker->serve, &callbacks);
}

static void worker_close(struct worker *worker)
{
    serve_close(worker->serve);
    for (size_t i = 0; i < N_LANES; i++) {
        buf_free(&worker->lanes[i].response.headers);
        buf_free(&worker->lanes[i].response.body);
    }
    buf_free(&worker->at_once.headers);
    buf_free(&worker->at_once.body);
}

static void set_up(void)
{
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    /* An abstract name, which leaves no file behind. */
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "adit-loop-test-%ld",
             (long)getpid());
    listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listen_fd, MAX_CLIENTS), 0);
    ck_assert(serve_handover_open(handover));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, silent), 0);
    for (size_t i = 0; i < MAX_CLIENTS; i++)
        clients[i] = -1;
}

static void tear_down(void)
{
    close(listen_fd);
    close(handover[0]);
    close(handover[1]);
    close(silent[0]);
    close(silent[1]);
    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        if (clients[i] >= 0)
            close(clients[i]);
    }
}

static void add_variable(struct buf *params, const char *name, const char *value)
{
    char lengths[2] = {(char)strlen(name), (char)strlen(value)};

    buf_add(params, lengths, sizeof lengths);
    buf_puts(params, name);
    buf_puts(params, value);
}

/* Connects a client and sends a GET of the path. */
static void ask(int client, const char *path)
{
    static const char begin[SERVE_RECORD_BEGIN_SIZE] = {1, SERVE_RECORD_BEGIN, 0, 1, 0, 8, 0, 0, 0,
                                                        1};
    struct buf wire = {0};
    struct buf part = {0};

    buf_add(&wire, begin, sizeof begin);
    add_variable(&part, "REQUEST_METHOD", "GET");
    add_variable(&part, "PATH_INFO", path);
    serve_record_frame(&part, SERVE_RECORD_PARAMS, 1);
    buf_add(&wire, part.data, part.len);
    buf_clear(&part);
    serve_record_frame(&part, SERVE_RECORD_STDIN, 1);
    buf_add(&wire, part.data, part.len);
    clients[client] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(clients[client], (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(send(clients[client], wire.data, wire.len, 0), (ssize_t)wire.len);
    buf_free(&wire);
    buf_free(&part);
}

/* The client's answer, all records of it, has this body. */
static void expect(int client, const char *body)
{
    char found[1024] = "";
    ssize_t n = recv(clients[client], found, sizeof found - 1, 0);

    ck_assert_int_gt(n, 0);
    ck_assert_ptr_nonnull(memmem(found, (size_t)n, body, strlen(body)));
}

static bool is_answered(int client)
{
    char byte;

    return recv(clients[client], &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Of three lanes, two are stuck: the third is for what is short. */
START_TEST(short_work_passes)
{
    struct worker worker;

    worker_open(&worker, 2);
    ask(0, "/stuck/1");
    ask(1, "/stuck/2");
    ask(2, "/stuck/3");
    ask(3, "/short/1");
    ask(4, "/short/2");
    worker_serve(&worker);
    expect(3, "/short/1");
    expect(4, "/short/2");
    ck_assert_int_eq(worker.n_at_once, 0);
    /* Answers are copied, and what they were copied from is wiped. */
    for (size_t i = 0; i < N_LANES; i++)
        ck_assert_uint_eq(worker.lanes[i].response.body.len, 0);
    worker_close(&worker);
}
END_TEST

/* What needs no lane is answered though all of them are taken. */
START_TEST(instant_work_passes)
{
    struct worker worker;

    worker_open(&worker, 1);
    ask(0, "/stuck/1");
    ask(1, "/stuck/2");
    ask(2, "/stuck/3");
    ask(3, "/instant");
    worker_serve(&worker);
    expect(3, "/instant");
    ck_assert_int_eq(worker.n_at_once, 1);
    worker_close(&worker);
}
END_TEST

/* A worker's lanes are stuck; what it cannot get to, another one answers. */
START_TEST(waiting_requests_are_handed_over)
{
    struct worker stuck;
    struct worker idle;

    worker_open(&stuck, 1);
    worker_open(&idle, 1);
    ask(0, "/stuck/1");
    ask(1, "/stuck/2");
    ask(2, "/long");
    stuck.serve->callbacks =
        &(struct serve_callbacks){sort, answer_at_once, before_wait, on_input, &stuck};
    for (int i = 0; i < 3; i++)
        serve_connection_open(stuck.serve, accept(listen_fd, NULL, NULL));
    serve_lanes_start(stuck.serve);
    ck_assert_int_eq(stuck.n_stuck, 2);
    /* Its turn may come soon. */
    ck_assert_uint_eq(stuck.serve->n_line, 1);
    usleep(60000);
    serve_lanes_start(stuck.serve);
    ck_assert_uint_eq(stuck.serve->n_line, 0);
    ck_assert_uint_eq(stuck.serve->n_in[SERVE_CONNECTION_WORKING], 2);
    ck_assert(!is_answered(2));
    worker_serve(&idle);
    expect(2, "/long");
    worker_close(&idle);
    worker_close(&stuck);
}
END_TEST

/* An account may hold what is still free, whoever holds the rest. */
START_TEST(answers_are_charged_to_accounts)
{
    const size_t mib = 1024 * 1024;
    struct worker worker;
    struct request request;
    struct serve_connection *first;
    struct serve_connection *second;

    worker_open(&worker, 1);
    ask(0, "/long");
    ask(1, "/long");
    for (int i = 0; i < 2; i++)
        serve_connection_open(worker.serve, accept(listen_fd, NULL, NULL));
    first = worker.serve->line[0];
    second = worker.serve->line[1];
    serve_connection_request(first, &request);
    first->payer = 1;
    first->charged = 8 * mib;
    worker.serve->answers_held = 8 * mib;
    ck_assert(!request.has_room(request.peer, 1, mib));
    ck_assert(request.has_room(request.peer, 1, 1000));
    ck_assert(request.has_room(request.peer, 2, 8 * mib));
    second->payer = 2;
    second->charged = 4 * mib;
    worker.serve->answers_held = 12 * mib;
    ck_assert(!request.has_room(request.peer, 2, mib));
    ck_assert(request.has_room(request.peer, 3, 4 * mib));
    ck_assert(!request.has_room(request.peer, 3, 4 * mib + 1));
    worker_close(&worker);
}
END_TEST

/* A body may hold a secret, and the room that it was read into is everybody's. */
START_TEST(what_was_read_is_wiped)
{
    static const struct serve_chunk empty;
    struct worker worker;

    worker_open(&worker, 1);
    ask(0, "/long");
    serve_connection_open(worker.serve, accept(listen_fd, NULL, NULL));
    ck_assert_uint_eq(worker.serve->n_line, 1);
    ck_assert_mem_eq(&worker.serve->chunk, &empty, sizeof empty);
    worker_close(&worker);
}
END_TEST

/* Where all places are taken, idle connections go first, and none that moves. */
START_TEST(places_are_kept_for_what_moves)
{
    struct worker worker;
    struct serve *serve;
    int pairs[SERVE_MAX_CONNECTIONS][2];
    int one_more[2];

    worker_open(&worker, 1);
    serve = worker.serve;
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++) {
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
        serve_connection_open(serve, pairs[i][0]);
    }
    ck_assert_uint_eq(serve->n_in[SERVE_CONNECTION_READING], SERVE_MAX_CONNECTIONS);
    ck_assert(!serve_connection_has_place(serve));
    /* One has stood still for a while, and one is idle. */
    serve->connections[3].moved_ms -= 1500;
    serve->connections[5].state = SERVE_CONNECTION_IDLE;
    serve->n_in[SERVE_CONNECTION_READING]--;
    serve->n_in[SERVE_CONNECTION_IDLE]++;
    for (int i = 5; i >= 3; i -= 2) {
        ck_assert(serve_connection_has_place(serve));
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, one_more), 0);
        serve_connection_open(serve, one_more[0]);
        ck_assert_int_eq(recv(pairs[i][1], &(char){0}, 1, 0), 0);
        close(one_more[1]);
    }
    ck_assert(!serve_connection_has_place(serve));
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++)
        close(pairs[i][1]);
    worker_close(&worker);
}
END_TEST

Suite *serve_loop_suite(void)
{
    Suite *suite = suite_create("serve/loop");
    TCase *tcase = tcase_create("loop");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, short_work_passes);
    tcase_add_test(tcase, instant_work_passes);
    tcase_add_test(tcase, waiting_requests_are_handed_over);
    tcase_add_test(tcase, answers_are_charged_to_accounts);
    tcase_add_test(tcase, what_was_read_is_wiped);
    tcase_add_test(tcase, places_are_kept_for_what_moves);
    suite_add_tcase(suite, tcase);
    return suite;
}
