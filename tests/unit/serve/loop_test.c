/* SPDX-License-Identifier: MIT */
/* Tests of the loop: what it starts first, when it accepts, and how it ends. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/cgi.h"
#include "serve/faults.h"
#include "serve/worker.h"
#include "suites.h"

/* Two of three lanes are stuck: the third is for short work. */
START_TEST(short_work_passes)
{
    struct worker worker;

    worker_open(&worker, 2);
    client_ask(0, "/stuck/1");
    client_ask(1, "/stuck/2");
    client_ask(2, "/stuck/3");
    client_ask(3, "/short/1");
    client_ask(4, "/short/2");
    worker_run(&worker);
    client_expect(3, "/short/1");
    client_expect(4, "/short/2");
    ck_assert_int_eq(worker.n_at_once, 0);
    /* Answers are copied, and what they were copied from is wiped. */
    for (size_t i = 0; i < N_LANES; i++)
        ck_assert_uint_eq(worker.lanes[i].response.body.len, 0);
    worker_close(&worker);
}
END_TEST

/* Instant work needs no lane. */
START_TEST(instant_work_passes)
{
    struct worker worker;

    worker_open(&worker, 1);
    client_ask(0, "/stuck/1");
    client_ask(1, "/stuck/2");
    client_ask(2, "/stuck/3");
    client_ask(3, "/instant");
    worker_run(&worker);
    client_expect(3, "/instant");
    ck_assert_int_eq(worker.n_at_once, 1);
    worker_close(&worker);
}
END_TEST

/* ---- chores ---- */

static int64_t chore_due_ms;
static int n_chores;

static int64_t tell_due(void *context)
{
    (void)context;
    return chore_due_ms;
}

/* Waits in its lane, as a statement does. */
static void do_chore(void *context_of_lane)
{
    struct worker_lane *lane = context_of_lane;

    n_chores++;
    chore_due_ms = INT64_MAX;
    lane->wait.until(lane->wait.context, silent[0], POLLIN, clock_steady_ms() + 5);
    lane->worker->n_answered++;
}

static void open_with_chore(struct worker *worker, int n_due, int64_t due_ms)
{
    worker_open(worker, n_due);
    worker->callbacks.chore_due_ms = tell_due;
    worker->callbacks.do_chore = do_chore;
    chore_due_ms = due_ms;
}

/* The loop wakes up for it. */
START_TEST(a_chore_is_done_in_time)
{
    struct worker worker;

    open_with_chore(&worker, 1, clock_steady_ms() + 20);
    worker_run(&worker);
    ck_assert_int_eq(n_chores, 1);
    worker_close(&worker);
}
END_TEST

START_TEST(a_chore_keeps_no_request_waiting)
{
    struct worker worker;

    open_with_chore(&worker, 2, 0);
    client_ask(0, "/whole");
    worker_run(&worker);
    client_expect(0, "/whole");
    ck_assert_int_eq(n_chores, 1);
    worker_close(&worker);
}
END_TEST

/* Two of three lanes are stuck: the third is for short reads, not for a chore. */
START_TEST(a_chore_waits_for_a_lane)
{
    struct worker worker;

    open_with_chore(&worker, 100, INT64_MAX);
    client_ask(0, "/stuck/1");
    client_ask(1, "/stuck/2");
    worker_accept(&worker, 2);
    serve_lanes_start(worker.serve);
    chore_due_ms = 0;
    serve_lanes_start_chore(worker.serve, 1);
    ck_assert_int_eq(n_chores, 0);
    worker.n_due = 1;
    client_ask(2, "/short/1");
    worker_run(&worker);
    client_expect(2, "/short/1");
    ck_assert_int_eq(n_chores, 0);
    worker_close(&worker);
}
END_TEST

/* A scan may wait for the turn of its account for seconds, and another one behind it. */
START_TEST(a_chore_waits_for_no_turn)
{
    struct worker worker;

    open_with_chore(&worker, 100, 0);
    worker.serve->handover[0] = -1;
    client_scan(0, "/stuck", "v1");
    client_scan(1, "/waits", "v1");
    worker_accept(&worker, 2);
    serve_lanes_start(worker.serve);
    ck_assert_uint_eq(worker.serve->n_line, 1);
    serve_lanes_start_chore(worker.serve, 1);
    ck_assert_int_eq(n_chores, 1);
    worker_close(&worker);
}
END_TEST

/* A worker that stops begins none. */
START_TEST(no_chore_at_the_end)
{
    struct worker worker;

    open_with_chore(&worker, 1, 0);
    worker.serve->is_stopping = true;
    serve_lanes_start_chore(worker.serve, 1);
    ck_assert_int_eq(n_chores, 0);
    ck_assert_int_eq(serve_lanes_chore_due_ms(worker.serve), INT64_MAX);
    worker_close(&worker);
}
END_TEST

/* ---- the end ---- */

static struct buf rest;

/* Once the loop is stopping, sends the rest of a request and connects one more client. */
static void send_rest(struct worker *worker)
{
    if (!worker->serve->is_stopping || rest.len == 0)
        return;
    client_send(0, rest.data, rest.len);
    buf_clear(&rest);
    client_ask(2, "/late");
    worker->serve->late_ms = INT64_MAX;
}

/* SIGTERM comes while one request has come in part and another one as a whole. */
START_TEST(sigterm_lets_requests_finish)
{
    struct worker worker;

    worker_open(&worker, 3);
    client_write_request(&rest, "/in-part", 0, true);
    client_connect(0);
    client_send(0, rest.data, 20);
    memmove(rest.data, rest.data + 20, rest.len - 20);
    rest.len -= 20;
    client_connect(1);
    client_ask_again(1, "/whole");
    worker_accept(&worker, 2);
    ck_assert_int_eq(raise(SIGTERM), 0);
    worker.turn = send_rest;
    worker_run(&worker);
    client_expect(0, "/in-part");
    client_expect(1, "/whole");
    /* Kept connections end, too, and a new one is left to another worker. */
    ck_assert(client_is_closed(0) && client_is_closed(1));
    ck_assert(!client_is_answered(2) && !client_is_closed(2));
    ck_assert_int_eq(worker.n_answered, 2);
    worker_close(&worker);
    buf_free(&rest);
}
END_TEST

static int n_turns_stopping;

static void end_the_wait(struct worker *worker)
{
    if (worker->serve->is_stopping && ++n_turns_stopping == 2) {
        worker->serve->stopped_ms -= 1000;
        worker->serve->connections[0].since_ms -= 1000;
    }
}

/* A connection that brings no request delays the end by a second. */
START_TEST(a_silent_client_cannot_delay_the_end)
{
    struct worker worker;

    worker_open(&worker, 1);
    client_connect(0);
    worker_accept(&worker, 1);
    ck_assert_int_eq(raise(SIGTERM), 0);
    worker.turn = end_the_wait;
    worker_run(&worker);
    ck_assert_int_eq(n_turns_stopping, 2);
    worker_close(&worker);
    ck_assert(client_is_closed(0));
}
END_TEST

/* Gets SIGTERM after the first answer, with two kept connections and time to leave them.  Asks once
 * more on one of them. */
static void stop_with_kept_connections(struct worker *worker)
{
    if (worker->n_answered == 2 && !worker->serve->is_stopping) {
        ck_assert_int_eq(raise(SIGTERM), 0);
    } else if (worker->n_answered == 2 && worker->n_turns == 3) {
        ck_assert(!client_is_closed(0) && !client_is_closed(1));
        client_ask_again(0, "/last");
    } else if (worker->n_answered == 3) {
        worker->serve->leaves_ms = clock_steady_ms() + (worker->n_turns < 3 ? 100 : 0);
    }
}

/* The next answer on a kept connection is its last.  Bytes follow END_REQUEST, and nginx sends no
 * request on such a connection.  The worker leaves the idle one open. */
START_TEST(sigterm_leaves_kept_connections)
{
    const char end[] = {1, SERVE_RECORD_END, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const char last[] = {1, SERVE_RECORD_STDERR, 0, 1, 0, 0, 0, 0};
    struct worker worker;
    char found[256];
    ssize_t n;

    worker_open(&worker, 4);
    worker.turn = stop_with_kept_connections;
    for (int i = 0; i < 2; i++) {
        client_connect(i);
        client_ask_again(i, "/first");
    }
    worker_run(&worker);
    for (int i = 0; i < 2; i++) {
        n = recv(clients[i], found, sizeof found, MSG_DONTWAIT);
        ck_assert_int_gt(n, (ssize_t)(sizeof end + sizeof last));
        if (i == 0) {
            ck_assert_ptr_nonnull(memmem(found, (size_t)n, "/last", 5));
            ck_assert_mem_eq(found + n - sizeof last, last, sizeof last);
            n -= (ssize_t)sizeof last;
        }
        ck_assert_mem_eq(found + n - sizeof end, end, sizeof end);
        ck_assert_int_eq(client_is_closed(i), i == 0);
    }
    ck_assert_uint_eq(worker.serve->n_in[SERVE_CONNECTION_IDLE], 1);
    worker_close(&worker);
}
END_TEST

static bool has_come_late;

/* After the first answer: SIGTERM, and then a new client. */
static void come_late(struct worker *worker)
{
    if (worker->n_answered == 1 && !worker->serve->is_stopping)
        ck_assert_int_eq(raise(SIGTERM), 0);
    if (worker->serve->is_stopping && !has_come_late)
        client_ask(1, "/late");
    has_come_late = worker->serve->is_stopping;
    if (worker->n_answered == 2)
        worker->serve->leaves_ms = 0;
}

/* As long as it leaves connections open, it accepts what no other worker does. */
START_TEST(a_stopping_worker_accepts_late)
{
    struct worker worker;

    has_come_late = false;
    worker_open(&worker, 3);
    worker.turn = come_late;
    client_connect(0);
    client_ask_again(0, "/first");
    worker_run(&worker);
    client_expect(0, "/first");
    client_expect(1, "/late");
    ck_assert(client_is_closed(1) && !client_is_closed(0));
    ck_assert(!worker.serve->is_listening);
    worker_close(&worker);
}
END_TEST

static void interrupt(struct worker *worker)
{
    if (worker->serve->n_in[SERVE_CONNECTION_IDLE] == 1)
        ck_assert_int_eq(raise(worker->serve->is_stopping ? SIGINT : SIGTERM), 0);
}

/* SIGINT does not wait for idle connections, also after SIGTERM. */
START_TEST(sigint_leaves_no_connections)
{
    struct worker worker;
    sigset_t blocked;
    int64_t started_ms = clock_steady_ms();

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    worker_open(&worker, 2);
    worker.turn = interrupt;
    client_connect(0);
    client_ask_again(0, "/first");
    worker_run(&worker);
    client_expect(0, "/first");
    ck_assert_int_eq(worker.n_answered, 1);
    ck_assert_int_lt(clock_steady_ms() - started_ms, 2000);
    worker_close(&worker);
}
END_TEST

static int n_asked_to_go_on;

/* Asks one more after SIGTERM, which comes twice, and then lets the time of the drain run out. */
static void ask_while_it_drains(struct worker *worker)
{
    if (worker->n_answered == 1)
        ck_assert_int_eq(raise(SIGTERM), 0);
    if (worker->serve->is_draining && n_asked_to_go_on++ == 0)
        client_ask(1, "/draining");
    if (worker->n_answered == 2)
        worker->serve->stop_at_ms = 0;
}

static void expect_draining(struct worker_lane *lane, const struct request *request)
{
    (void)lane;
    ck_assert_int_eq(request->is_draining, strcmp(request->path, "/draining") == 0);
}

START_TEST(a_draining_worker_goes_on)
{
    struct worker worker;

    n_asked_to_go_on = 0;
    worker_open(&worker, 3);
    serve_set_drain(worker.serve, 60000);
    worker.task = expect_draining;
    worker.turn = ask_while_it_drains;
    client_ask(0, "/before");
    worker_accept(&worker, 1);
    worker_run(&worker);
    client_expect(0, "/before");
    client_expect(1, "/draining");
    ck_assert_int_eq(worker.n_answered, 2);
    worker_close(&worker);
}
END_TEST

static void interrupt_the_drain(struct worker *worker)
{
    if (worker->serve->is_draining && !worker->serve->is_stopping)
        ck_assert_int_eq(raise(SIGINT), 0);
}

START_TEST(sigint_ends_the_drain)
{
    struct worker worker;
    sigset_t blocked;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    worker_open(&worker, 1);
    serve_set_drain(worker.serve, 60000);
    worker.turn = interrupt_the_drain;
    ck_assert_int_eq(raise(SIGTERM), 0);
    worker_run(&worker);
    ck_assert(worker.serve->is_stopping);
    worker_close(&worker);
}
END_TEST

/* Its supervisor has ended, so nobody stores its connections. */
START_TEST(an_orphan_does_not_drain)
{
    struct worker worker;

    worker_open(&worker, 1);
    serve_set_drain(worker.serve, 60000);
    serve_pass_on(worker.serve, silent[0]);
    worker.serve->supervisor = -1;
    ck_assert_int_eq(raise(SIGTERM), 0);
    worker_run(&worker);
    ck_assert(!worker.serve->is_draining && worker.serve->is_stopping);
    ck_assert_int_eq(worker.serve->successor, -1);
    ck_assert_int_eq(worker.serve->leaves_ms - worker.serve->stopped_ms, SERVE_LEAVE_MS);
    worker_close(&worker);
}
END_TEST

/* ---- accepting ---- */

static const struct {
    int error;
    bool pauses;
} accept_errors[] = {
    {EMFILE, true}, {ENFILE, true}, {ENOBUFS, true}, {ENOMEM, true}, {ECONNABORTED, false},
};

static bool was_deaf;

static void look_whether_deaf(struct worker *worker)
{
    was_deaf = was_deaf || !worker->serve->is_listening;
}

START_TEST(accept_fails_for_a_time)
{
    struct worker worker;

    worker_open(&worker, 1);
    faults.n_accept = 1;
    faults.accept_errno = accept_errors[_i].error;
    client_ask(0, "/long");
    worker.turn = look_whether_deaf;
    worker_run(&worker);
    client_expect(0, "/long");
    ck_assert_int_eq(faults.n_accept, 0);
    ck_assert_int_eq(was_deaf, accept_errors[_i].pauses);
    worker_close(&worker);
}
END_TEST

/* ---- what lanes share ---- */

static void wait_for_shared_input(struct worker_lane *lane, const struct request *request)
{
    const struct wait *wait = &lane->wait;

    (void)request;
    ck_assert(wait->watch(wait->context, silent[0]));
    ck_assert_int_eq(send(silent[1], "x", 1, 0), 1);
    lane->worker->in_time[0] = wait->until(wait->context, -1, 0, clock_steady_ms() + 60000);
}

START_TEST(shared_input_wakes_a_lane)
{
    struct worker worker;

    worker_open(&worker, 1);
    worker.task = wait_for_shared_input;
    client_ask(0, "/long");
    worker_run(&worker);
    client_expect(0, "/long");
    ck_assert_int_eq(worker.n_inputs, 1);
    ck_assert(worker.in_time[0]);
    worker_close(&worker);
}
END_TEST

/* ---- opening ---- */

START_TEST(opening_fails)
{
    ck_assert_ptr_null(serve_open(-1, handover, &wants, NULL));
    faults.n_epoll_ctl = 1;
    ck_assert_ptr_null(serve_open(listen_fd, handover, &wants, NULL));
    serve_close(NULL);
}
END_TEST

START_TEST(lanes_are_limited)
{
    struct worker worker;
    struct wait wait;

    worker_open(&worker, 1);
    faults.no_mmap = true;
    ck_assert(!serve_add_lane(worker.serve, NULL, NULL, &wait));
    faults.no_mmap = false;
    for (size_t i = N_LANES; i < SERVE_MAX_LANES; i++)
        ck_assert(serve_add_lane(worker.serve, NULL, NULL, &wait));
    ck_assert(!serve_add_lane(worker.serve, NULL, NULL, &wait));
    worker_close(&worker);
}
END_TEST

/* Descriptor 0 is a listening socket, unless a web server runs the program as plain CGI.  libfcgi
 * looks once in a process. */
START_TEST(cgi_is_told_from_fastcgi)
{
    int input = _i == 0 ? dup(listen_fd) : open("/dev/null", O_RDONLY);

    ck_assert_int_ge(input, 0);
    ck_assert_int_eq(dup2(input, STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(serve_is_cgi(), _i);
    close(input);
}
END_TEST

Suite *serve_loop_suite(void)
{
    const int n_errors = sizeof accept_errors / sizeof accept_errors[0];
    Suite *suite = suite_create("serve/loop");
    TCase *tcase = tcase_create("loop");

    tcase_add_checked_fixture(tcase, worker_set_up, worker_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, short_work_passes);
    tcase_add_test(tcase, instant_work_passes);
    tcase_add_test(tcase, a_chore_is_done_in_time);
    tcase_add_test(tcase, a_chore_keeps_no_request_waiting);
    tcase_add_test(tcase, a_chore_waits_for_a_lane);
    tcase_add_test(tcase, a_chore_waits_for_no_turn);
    tcase_add_test(tcase, no_chore_at_the_end);
    tcase_add_test(tcase, sigterm_lets_requests_finish);
    tcase_add_test(tcase, a_silent_client_cannot_delay_the_end);
    tcase_add_test(tcase, sigterm_leaves_kept_connections);
    tcase_add_test(tcase, a_stopping_worker_accepts_late);
    tcase_add_test(tcase, sigint_leaves_no_connections);
    tcase_add_test(tcase, a_draining_worker_goes_on);
    tcase_add_test(tcase, sigint_ends_the_drain);
    tcase_add_test(tcase, an_orphan_does_not_drain);
    tcase_add_loop_test(tcase, accept_fails_for_a_time, 0, n_errors);
    tcase_add_test(tcase, shared_input_wakes_a_lane);
    tcase_add_test(tcase, opening_fails);
    tcase_add_test(tcase, lanes_are_limited);
    tcase_add_loop_test(tcase, cgi_is_told_from_fastcgi, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
