/* SPDX-License-Identifier: MIT */
/* Tests of the handover: which requests workers offer to each other, and how they take them. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/faults.h"
#include "serve/worker.h"
#include "suites.h"

/* Bytes of a body whose request is read at once. */
#define LARGE_BODY 60000

/* A worker with stuck lanes has this many requests in its line, of client 2 on. */
static void fill_line(struct worker *stuck, int n, size_t body_len)
{
    worker_open(stuck, 100);
    client_ask(0, "/stuck/1");
    client_ask(1, "/stuck/2");
    for (int i = 2; i < 2 + n; i++)
        client_ask_with_body(i, "/long", body_len);
    worker_accept(stuck, 2 + n);
    /* Not for a long time: it cannot be due yet. */
    for (size_t i = 0; i < stuck->serve->n_line; i++)
        stuck->serve->line[i]->since_ms += 60000;
    serve_lanes_start(stuck->serve);
    ck_assert_int_eq(stuck->n_stuck, 2);
    ck_assert_int_eq((int)stuck->serve->n_line, n);
}

/* Each request of the line has waited for this long. */
static void age_line(struct worker *stuck, int64_t waited_ms)
{
    for (size_t i = 0; i < stuck->serve->n_line; i++)
        stuck->serve->line[i]->since_ms = clock_steady_ms() - waited_ms;
}

/* Another worker answers a request that has waited for 50 ms. */
START_TEST(waiting_requests_are_handed_over)
{
    struct worker stuck;
    struct worker idle;

    fill_line(&stuck, 1, 0);
    worker_open(&idle, 1);
    ck_assert_int_gt(serve_lanes_wait_ms(stuck.serve, 1000), 0);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert_uint_eq(stuck.serve->n_line, 0);
    ck_assert_uint_eq(stuck.serve->n_in[SERVE_CONNECTION_WORKING], 2);
    ck_assert(stuck.serve->is_offered && !client_is_answered(2));
    worker_run(&idle);
    client_expect(2, "/long");
    worker_close(&idle);
    worker_close(&stuck);
}
END_TEST

START_TEST(an_authorizer_is_handed_over)
{
    struct worker stuck;
    struct worker idle;

    fill_line(&stuck, 1, 0);
    worker_open(&idle, 100);
    stuck.serve->line[0]->peer.intake.is_authorizer = true;
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert(serve_handover_receive(idle.serve));
    ck_assert_uint_eq(idle.serve->n_line, 1);
    ck_assert(idle.serve->line[0]->peer.intake.is_authorizer);
    worker_close(&idle);
    worker_close(&stuck);
}
END_TEST

/* A worker whose lanes are busy with short work takes a request in the last one. */
START_TEST(busy_workers_take_requests)
{
    struct worker stuck;
    struct worker busy;

    fill_line(&stuck, 1, 0);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    worker_open(&busy, 100);
    client_ask(3, "/short/stuck");
    client_ask(4, "/short/stuck");
    worker_accept(&busy, 2);
    serve_lanes_start(busy.serve);
    ck_assert_uint_eq(busy.serve->n_free, 1);
    busy.serve->is_offered = true;
    client_ask(5, "/short");
    worker_accept(&busy, 1);
    serve_lanes_start(busy.serve);
    client_expect(2, "/long");
    client_expect(5, "/short");
    worker_close(&busy);
    worker_close(&stuck);
}
END_TEST

/* A body may hold a secret, and all offered requests share the room that they are read into. */
START_TEST(what_was_offered_is_wiped)
{
    static const char empty[SERVE_MESSAGE_MAX];
    struct worker stuck;
    struct worker idle;

    fill_line(&stuck, 1, LARGE_BODY);
    worker_open(&idle, 100);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert(serve_handover_receive(idle.serve));
    ck_assert_uint_eq(idle.serve->n_in[SERVE_CONNECTION_WAITING], 1);
    ck_assert_uint_eq(idle.serve->line[0]->peer.intake.body.len, LARGE_BODY);
    ck_assert_mem_eq(idle.serve->offered, empty, sizeof empty);
    ck_assert(!serve_handover_receive(idle.serve));
    worker_close(&idle);
    worker_close(&stuck);
}
END_TEST

/* Its age decides the place of a request in the line. */
START_TEST(the_oldest_stands_first)
{
    struct worker stuck;
    struct worker other;

    fill_line(&stuck, 1, 0);
    worker_open(&other, 100);
    client_ask(3, "/own");
    worker_accept(&other, 1);
    age_line(&stuck, 1000);
    serve_lanes_start(stuck.serve);
    ck_assert(serve_handover_receive(other.serve));
    ck_assert_uint_eq(other.serve->n_line, 2);
    ck_assert_int_lt(other.serve->line[0]->since_ms, other.serve->line[1]->since_ms);
    worker_close(&other);
    worker_close(&stuck);
}
END_TEST

START_TEST(an_overdue_request_gets_503)
{
    struct worker stuck;
    struct worker idle;

    fill_line(&stuck, 1, 0);
    worker_open(&idle, 100);
    age_line(&stuck, 4000);
    serve_lanes_start(stuck.serve);
    ck_assert(serve_handover_receive(idle.serve));
    ck_assert_int_eq(idle.n_at_once, 1);
    ck_assert_uint_eq(idle.serve->n_line, 0);
    client_expect(2, "Status: 503");
    worker_close(&idle);
    worker_close(&stuck);
}
END_TEST

/* The kernel queues some 200 KiB: of six requests of 60 KiB, some stay in the line. */
START_TEST(a_full_handover_leaves_requests_in_the_line)
{
    struct worker stuck;

    fill_line(&stuck, 6, LARGE_BODY);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert_uint_gt(stuck.serve->n_line, 0);
    ck_assert_uint_lt(stuck.serve->n_line, 6);
    ck_assert_uint_eq(stuck.serve->n_in[SERVE_CONNECTION_WAITING], stuck.serve->n_line);
    worker_close(&stuck);
}
END_TEST

/* Of many small ones, too: others may be in a hurry. */
START_TEST(a_handover_holds_few)
{
    struct worker stuck;

    fill_line(&stuck, 40, 0);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert_uint_ge(stuck.serve->n_line, 10);
    ck_assert_uint_lt(stuck.serve->n_line, 40);
    worker_close(&stuck);
}
END_TEST

START_TEST(some_requests_stay)
{
    struct worker stuck;
    struct serve_connection *waiting;
    struct buf *params;

    fill_line(&stuck, 1, 0);
    waiting = stuck.serve->line[0];
    params = &waiting->peer.intake.params;
    ck_assert(serve_handover_fits(waiting));
    waiting->peer.said_more = true;
    ck_assert(!serve_handover_fits(waiting));
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert_uint_eq(stuck.serve->n_line, 1);
    waiting->peer.said_more = false;
    waiting->peer.intake.is_too_much = true;
    ck_assert(!serve_handover_fits(waiting));
    waiting->peer.intake.is_too_much = false;
    memset(buf_room(params, SERVE_MESSAGE_MAX), 0, SERVE_MESSAGE_MAX);
    params->len += SERVE_MESSAGE_MAX;
    ck_assert(!serve_handover_fits(waiting));
    worker_close(&stuck);
}
END_TEST

/* ---- scans ---- */

/* Scans of the accounts a and b run; one of a waits, and one of c, of client 3, is offered. */
static void offer_scan(struct worker *full)
{
    worker_open(full, 100);
    worker_add_lane(full);
    worker_know(full, "a1");
    worker_know(full, "b1");
    worker_know(full, "c1");
    client_scan(0, "/stuck/a", "a1");
    client_scan(1, "/stuck/b", "b1");
    client_scan(2, "/of/a", "a1");
    client_scan(3, "/of/c", "c1");
    worker_accept(full, 4);
    serve_lanes_start(full->serve);
    age_line(full, 50);
    serve_lanes_start(full->serve);
    ck_assert(serve_line_may_start_long(full->serve));
}

START_TEST(a_scan_that_waits_for_others_is_offered)
{
    struct worker full;
    struct worker idle;

    offer_scan(&full);
    ck_assert(full.serve->is_offered);
    worker_open(&idle, 1);
    worker_run(&idle);
    client_expect(3, "/of/c");
    ck_assert_uint_eq(full.serve->n_line, 1);
    ck_assert(!client_is_answered(2));
    worker_close(&idle);
    worker_close(&full);
}
END_TEST

START_TEST(an_offered_scan_is_left_to_others)
{
    struct worker full;
    struct worker idle;

    offer_scan(&full);
    clock_pass_ms(SERVE_SCAN_LEFT_MS - 1);
    ck_assert(!serve_handover_receive(full.serve) && full.serve->is_offered);
    worker_open(&idle, 100);
    ck_assert(serve_handover_receive(idle.serve));
    worker_close(&idle);
    worker_close(&full);
}
END_TEST

START_TEST(a_scan_is_offered_once)
{
    struct worker full;

    offer_scan(&full);
    clock_pass_ms(SERVE_SCAN_LEFT_MS);
    serve_lanes_start(full.serve);
    ck_assert_uint_eq(full.serve->n_line, 2);
    ck_assert(!full.serve->is_offered);
    age_line(&full, 1000);
    serve_lanes_start(full.serve);
    ck_assert_uint_eq(full.serve->n_line, 2);
    worker_close(&full);
}
END_TEST

START_TEST(a_scan_keeps_no_other_offer_waiting)
{
    struct worker stuck;
    struct worker other;

    worker_open(&stuck, 100);
    client_ask(0, "/stuck/1");
    client_ask(1, "/stuck/2");
    worker_accept(&stuck, 2);
    serve_lanes_start(stuck.serve);
    client_scan(2, "/of/a", "a1");
    client_ask(3, "/long");
    worker_accept(&stuck, 2);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert_uint_eq(stuck.serve->n_line, 0);
    clock_pass_ms(SERVE_SCAN_LEFT_MS);
    worker_open(&other, 100);
    client_scan(4, "/stuck/a", "a2");
    worker_accept(&other, 1);
    serve_lanes_start(other.serve);
    other.serve->is_offered = true;
    serve_lanes_start(other.serve);
    client_expect(3, "/long");
    ck_assert_uint_eq(other.serve->n_line, 1);
    worker_close(&other);
    worker_close(&stuck);
}
END_TEST

/* The request of a connection that epoll has reported in between. */
START_TEST(a_watched_connection_is_handed_over)
{
    struct worker stuck;
    struct worker idle;
    struct serve_connection *reading;
    struct buf wire = {0};

    fill_line(&stuck, 0, 0);
    worker_open(&idle, 1);
    client_write_request(&wire, "/long", 0, false);
    client_connect(2);
    client_send(2, wire.data, 20);
    worker_accept(&stuck, 1);
    reading = &stuck.serve->connections[2];
    ck_assert(reading->is_watched && reading->state == SERVE_CONNECTION_READING);
    client_send(2, wire.data + 20, wire.len - 20);
    serve_connection_attend(reading);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert_int_eq(reading->state, SERVE_CONNECTION_FREE);
    worker_run(&idle);
    client_expect(2, "/long");
    worker_close(&idle);
    worker_close(&stuck);
    buf_free(&wire);
}
END_TEST

/* Without a descriptor or a place for it, an offered request stays with the kernel. */
START_TEST(a_worker_without_descriptors_takes_nothing)
{
    struct worker stuck;
    struct worker idle;
    struct rlimit limit;
    rlim_t usual;

    fill_line(&stuck, 1, 0);
    worker_open(&idle, 100);
    age_line(&stuck, 50);
    serve_lanes_start(stuck.serve);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    usual = limit.rlim_cur;
    limit.rlim_cur = 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert(!serve_handover_receive(idle.serve));
    limit.rlim_cur = usual;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert(serve_handover_receive(idle.serve));
    ck_assert_uint_eq(idle.serve->n_line, 1);
    worker_close(&idle);
    worker_close(&stuck);
}
END_TEST

/* Sends bytes as a worker would, and a descriptor with them; -1: none. */
static void offer(const char *data, size_t len, int fd)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec part = {(char *)(uintptr_t)data, len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        struct cmsghdr *passed;

        message.msg_control = control;
        message.msg_controllen = sizeof control;
        passed = CMSG_FIRSTHDR(&message);
        passed->cmsg_level = SOL_SOCKET;
        passed->cmsg_type = SCM_RIGHTS;
        passed->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(passed), &fd, sizeof fd);
    }
    ck_assert_int_eq(sendmsg(handover[0], &message, 0), (ssize_t)len);
}

START_TEST(malformed_offers_are_dropped)
{
    static const char data[100] = {1};
    static const size_t lens[] = {5, sizeof data};
    struct worker worker;
    int n = 0;

    worker_open(&worker, 100);
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        int pair[2];

        offer(data, lens[i], -1);
        ck_assert(serve_handover_receive(worker.serve));
        ck_assert_int_eq(logged_times("malformed"), ++n);
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        offer(data, lens[i], pair[0]);
        close(pair[0]);
        ck_assert(serve_handover_receive(worker.serve));
        ck_assert_int_eq(logged_times("malformed"), ++n);
        ck_assert_int_eq(recv(pair[1], &(char){0}, 1, 0), 0);
        close(pair[1]);
    }
    ck_assert_uint_eq(worker.serve->n_in[SERVE_CONNECTION_FREE], SERVE_MAX_CONNECTIONS);
    worker_close(&worker);
}
END_TEST

/* A worker that stops passes its kept connections on, one of them after its answer.  The next
 * worker gets a request that came in between. */
START_TEST(kept_connections_are_passed_on)
{
    struct worker old;
    struct worker next;
    int pair[2];

    ck_assert(serve_handover_open(pair));
    worker_open(&old, 2);
    serve_pass_on(old.serve, pair[0]);
    for (int i = 0; i < 2; i++) {
        client_connect(i);
        client_ask_again(i, "/old");
    }
    worker_run(&old);
    worker_close(&old);
    client_expect(0, "/old");
    client_expect(1, "/old");
    client_ask_again(1, "/between");
    worker_open(&next, 2);
    for (int i = 0; i < 2; i++) {
        int fd = serve_handover_take(pair[1]);

        ck_assert_int_ge(fd, 0);
        serve_adopt(next.serve, fd);
    }
    ck_assert_int_eq(serve_handover_take(pair[1]), -1);
    client_ask_again(0, "/next");
    worker_run(&next);
    worker_close(&next);
    client_expect(0, "/next");
    client_expect(1, "/between");
    close(pair[0]);
    close(pair[1]);
}
END_TEST

static bool has_asked;

/* SIGTERM comes while a request is stuck.  Then a kept connection brings one, and a client comes.
 */
static void ask_behind_stuck(struct worker *worker)
{
    if (worker->n_stuck == 1 && worker->n_answered == 1 && !worker->serve->is_stopping)
        ck_assert_int_eq(raise(SIGTERM), 0);
    if (!worker->serve->is_stopping || has_asked)
        return;
    has_asked = true;
    client_ask_again(0, "/second");
    client_ask(2, "/late");
}

/* As long as a request keeps the worker from its end, it goes on with others. */
START_TEST(kept_connections_stay_with_a_busy_worker)
{
    struct worker worker;
    int pair[2];
    int fd;

    has_asked = false;
    ck_assert(serve_handover_open(pair));
    worker_open(&worker, 3);
    serve_pass_on(worker.serve, pair[0]);
    worker.turn = ask_behind_stuck;
    client_connect(0);
    client_ask_again(0, "/first");
    client_ask(1, "/stuck");
    worker_run(&worker);
    client_expect(0, "/second");
    client_expect(1, "/stuck");
    client_expect(2, "/late");
    fd = serve_handover_take(pair[1]);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(serve_handover_take(pair[1]), -1);
    worker_close(&worker);
    ck_assert(client_is_closed(0));
    close(pair[0]);
    close(pair[1]);
}
END_TEST

/* Nobody takes them: the worker leaves them open for a while.  A worker without places closes one.
 */
START_TEST(kept_connections_that_nobody_takes)
{
    struct worker worker;
    struct serve_connection *connection;
    int pair[2];

    worker_open(&worker, 100);
    connection = &worker.serve->connections[0];
    serve_pass_on(worker.serve, silent[0]);
    client_connect(0);
    worker_accept(&worker, 1);
    client_ask_again(0, "/a");
    serve_connection_attend(connection);
    serve_lanes_start(worker.serve);
    ck_assert_int_eq(connection->state, SERVE_CONNECTION_IDLE);
    while (send(silent[0], connection, sizeof *connection, MSG_DONTWAIT) > 0)
        ;
    serve_connections_pass_on(worker.serve);
    ck_assert_int_eq(connection->state, SERVE_CONNECTION_IDLE);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    worker.serve->n_in[SERVE_CONNECTION_FREE] = 0;
    serve_adopt(worker.serve, pair[0]);
    worker.serve->n_in[SERVE_CONNECTION_FREE] = SERVE_MAX_CONNECTIONS - 1;
    ck_assert_int_eq(recv(pair[1], &(char){0}, 1, 0), 0);
    close(pair[1]);
    worker_close(&worker);
}
END_TEST

Suite *serve_handover_suite(void)
{
    Suite *suite = suite_create("serve/handover");
    TCase *tcase = tcase_create("handover");

    tcase_add_checked_fixture(tcase, worker_set_up, worker_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, waiting_requests_are_handed_over);
    tcase_add_test(tcase, an_authorizer_is_handed_over);
    tcase_add_test(tcase, busy_workers_take_requests);
    tcase_add_test(tcase, what_was_offered_is_wiped);
    tcase_add_test(tcase, the_oldest_stands_first);
    tcase_add_test(tcase, an_overdue_request_gets_503);
    tcase_add_test(tcase, a_full_handover_leaves_requests_in_the_line);
    tcase_add_test(tcase, a_handover_holds_few);
    tcase_add_test(tcase, some_requests_stay);
    tcase_add_test(tcase, a_scan_that_waits_for_others_is_offered);
    tcase_add_test(tcase, an_offered_scan_is_left_to_others);
    tcase_add_test(tcase, a_scan_is_offered_once);
    tcase_add_test(tcase, a_scan_keeps_no_other_offer_waiting);
    tcase_add_test(tcase, a_watched_connection_is_handed_over);
    tcase_add_test(tcase, a_worker_without_descriptors_takes_nothing);
    tcase_add_test(tcase, malformed_offers_are_dropped);
    tcase_add_test(tcase, kept_connections_are_passed_on);
    tcase_add_test(tcase, kept_connections_stay_with_a_busy_worker);
    tcase_add_test(tcase, kept_connections_that_nobody_takes);
    suite_add_tcase(suite, tcase);
    return suite;
}
