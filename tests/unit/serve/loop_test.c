/* SPDX-License-Identifier: MIT */
/* Tests of the loop: what it starts first, when it accepts, and how it ends. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
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

static void end_the_drain(struct worker *worker)
{
    if (worker->serve->is_stopping && ++n_turns_stopping == 2)
        worker->serve->drain_until_ms = 0;
}

/* A connection that brings no request delays the end by the drain timeout. */
START_TEST(the_drain_ends)
{
    struct worker worker;

    worker_open(&worker, 1);
    client_connect(0);
    worker_accept(&worker, 1);
    ck_assert_int_eq(raise(SIGTERM), 0);
    worker.turn = end_the_drain;
    worker_run(&worker);
    ck_assert_int_eq(n_turns_stopping, 2);
    worker_close(&worker);
    ck_assert(client_is_closed(0));
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
    ck_assert_ptr_null(serve_open(-1, handover, "HTTP_SERVICE_VERSION", NULL));
    faults.n_epoll_ctl = 1;
    ck_assert_ptr_null(serve_open(listen_fd, handover, "HTTP_SERVICE_VERSION", NULL));
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
    tcase_add_test(tcase, sigterm_lets_requests_finish);
    tcase_add_test(tcase, the_drain_ends);
    tcase_add_loop_test(tcase, accept_fails_for_a_time, 0, n_errors);
    tcase_add_test(tcase, shared_input_wakes_a_lane);
    tcase_add_test(tcase, opening_fails);
    tcase_add_test(tcase, lanes_are_limited);
    tcase_add_loop_test(tcase, cgi_is_told_from_fastcgi, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
