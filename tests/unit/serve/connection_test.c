/* SPDX-License-Identifier: MIT */
/* Tests of connections: their states, deadlines and places, and what their answers hold. */
#include <check.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/faults.h"
#include "serve/worker.h"
#include "suites.h"

/* ---- states ---- */

/* What README.md draws: all that may follow each state. */
static const bool follows[SERVE_CONNECTION_N_STATES][SERVE_CONNECTION_N_STATES] = {
    [SERVE_CONNECTION_FREE] = {[SERVE_CONNECTION_NEW] = true,
                               [SERVE_CONNECTION_WAITING] = true,
                               [SERVE_CONNECTION_IDLE] = true},
    [SERVE_CONNECTION_NEW] = {[SERVE_CONNECTION_READING] = true,
                              [SERVE_CONNECTION_WAITING] = true,
                              [SERVE_CONNECTION_FREE] = true},
    [SERVE_CONNECTION_IDLE] = {[SERVE_CONNECTION_READING] = true,
                               [SERVE_CONNECTION_WAITING] = true,
                               [SERVE_CONNECTION_FREE] = true},
    [SERVE_CONNECTION_READING] =
        {[SERVE_CONNECTION_WAITING] = true, [SERVE_CONNECTION_FREE] = true},
    [SERVE_CONNECTION_WAITING] =
        {[SERVE_CONNECTION_WORKING] = true, [SERVE_CONNECTION_FREE] = true},
    [SERVE_CONNECTION_WORKING] =
        {[SERVE_CONNECTION_SENDING] = true, [SERVE_CONNECTION_FREE] = true},
    [SERVE_CONNECTION_SENDING] = {[SERVE_CONNECTION_IDLE] = true, [SERVE_CONNECTION_FREE] = true},
};

START_TEST(moves_are_limited)
{
    for (int from = 0; from < SERVE_CONNECTION_N_STATES; from++) {
        for (int to = 0; to < SERVE_CONNECTION_N_STATES; to++)
            ck_assert_msg(serve_connection_may_move((enum serve_connection_state)from,
                                                    (enum serve_connection_state)to) ==
                              follows[from][to],
                          "from %d to %d", from, to);
    }
}
END_TEST

START_TEST(a_wrong_move_is_logged)
{
    struct worker worker;

    worker_open(&worker, 1);
    serve_connection_move(&worker.serve->connections[0], SERVE_CONNECTION_SENDING);
    ck_assert_int_eq(logged_times("a connection went from state 0 to 6"), 1);
    ck_assert_uint_eq(worker.serve->n_wrong_moves, 1);
    serve_connection_move(&worker.serve->connections[0], SERVE_CONNECTION_FREE);
    ck_assert_uint_eq(worker.serve->n_wrong_moves, 1);
    worker.serve->n_wrong_moves = 0;
    worker_close(&worker);
}
END_TEST

/* The counts of places fit the states, and so does the line. */
static void expect_state(const struct worker *worker, enum serve_connection_state state)
{
    const struct serve *serve = worker->serve;
    size_t n_used = state == SERVE_CONNECTION_FREE ? 0 : 1;

    ck_assert_int_eq(serve->connections[0].state, state);
    ck_assert_uint_eq(serve->n_in[SERVE_CONNECTION_FREE], SERVE_MAX_CONNECTIONS - n_used);
    ck_assert_uint_eq(serve->n_in[state], n_used ? 1 : SERVE_MAX_CONNECTIONS);
    ck_assert_uint_eq(serve->n_line, state == SERVE_CONNECTION_WAITING);
}

START_TEST(the_way_of_a_kept_connection)
{
    struct worker worker;
    struct serve_connection *connection;
    struct buf wire = {0};

    worker_open(&worker, 100);
    connection = &worker.serve->connections[0];
    client_connect(0);
    worker_accept(&worker, 1);
    expect_state(&worker, SERVE_CONNECTION_NEW);
    client_write_request(&wire, "/a", 0, true);
    client_send(0, wire.data, 10);
    serve_connection_attend(connection);
    expect_state(&worker, SERVE_CONNECTION_READING);
    client_send(0, wire.data + 10, wire.len - 10);
    serve_connection_attend(connection);
    expect_state(&worker, SERVE_CONNECTION_WAITING);
    serve_connection_attend(connection); /* changes nothing */
    serve_lanes_start(worker.serve);
    expect_state(&worker, SERVE_CONNECTION_IDLE);
    client_expect(0, "/a");
    serve_connection_attend(connection); /* without a byte */
    expect_state(&worker, SERVE_CONNECTION_IDLE);
    client_ask_again(0, "/stuck");
    serve_connection_attend(connection);
    expect_state(&worker, SERVE_CONNECTION_WAITING);
    serve_lanes_start(worker.serve);
    expect_state(&worker, SERVE_CONNECTION_WORKING);
    worker.n_due = 0;
    serve_lanes_sweep(worker.serve, INT64_MAX);
    expect_state(&worker, SERVE_CONNECTION_IDLE);
    client_expect(0, "/stuck");
    client_send(0, wire.data, 1);
    serve_connection_attend(connection);
    expect_state(&worker, SERVE_CONNECTION_READING);
    shutdown(clients[0], SHUT_RDWR);
    serve_connection_attend(connection);
    expect_state(&worker, SERVE_CONNECTION_FREE);
    ck_assert_str_eq(logged, "");
    buf_free(&wire);
    worker_close(&worker);
}
END_TEST

/* Lets a request with a large answer be answered, of which only a part fits into the socket. */
static struct serve_connection *send_large(struct worker *worker)
{
    worker_open(worker, 100);
    worker->padding = (size_t)1024 * 1024;
    client_connect(0);
    client_ask_again(0, "/large");
    worker_accept(worker, 1);
    serve_lanes_start(worker->serve);
    expect_state(worker, SERVE_CONNECTION_SENDING);
    return &worker->serve->connections[0];
}

START_TEST(large_answers_go_out_in_parts)
{
    static char read_at_once[65536];
    struct worker worker;
    struct serve_connection *connection = send_large(&worker);
    size_t n_read = 0;

    ck_assert_uint_gt(worker.serve->answers_held, worker.padding);
    ck_assert(worker.serve->has_grown);
    for (ssize_t n = 1; connection->state == SERVE_CONNECTION_SENDING; n_read += (size_t)n) {
        n = recv(clients[0], read_at_once, sizeof read_at_once, MSG_DONTWAIT);
        ck_assert_int_gt(n, 0);
        serve_connection_attend(connection);
    }
    expect_state(&worker, SERVE_CONNECTION_IDLE);
    ck_assert_uint_gt(n_read, worker.padding / 2);
    ck_assert_uint_eq(worker.serve->answers_held, 0);
    worker_close(&worker);
}
END_TEST

/* The socket takes the first part of an answer of one record; the rest is copied. */
START_TEST(answers_that_do_not_fit_are_whole)
{
    static char all[65536];
    static const size_t paddings[] = {10, 20000, 65000};
    const int small = 1;

    for (size_t i = 0; i < sizeof paddings / sizeof paddings[0]; i++) {
        struct worker worker;
        struct serve_connection *connection;
        size_t n_read = 0;
        size_t n_padding = 0;

        worker_open(&worker, 100);
        connection = &worker.serve->connections[0];
        worker.padding = paddings[i];
        client_connect(0);
        client_ask_again(0, "/");
        worker_accept(&worker, 1);
        ck_assert_int_eq(setsockopt(connection->peer.fd, SOL_SOCKET, SO_SNDBUF, &small, 4), 0);
        serve_lanes_start(worker.serve);
        ck_assert((connection->state == SERVE_CONNECTION_SENDING) == (i > 0));
        for (;;) {
            ssize_t n = recv(clients[0], all + n_read, sizeof all - n_read, MSG_DONTWAIT);

            if (n <= 0)
                break;
            n_read += (size_t)n;
            if (connection->state == SERVE_CONNECTION_SENDING)
                serve_connection_attend(connection);
        }
        expect_state(&worker, SERVE_CONNECTION_IDLE);
        for (size_t at = 0; at < n_read; at++)
            n_padding += all[at] == 'x';
        ck_assert_uint_eq(n_padding, paddings[i]);
        ck_assert_mem_eq(all + n_read - 24, "\1\6\0\1\0\0\0\0\1\3\0\1\0\10\0\0\0\0\0\0\0\0\0\0",
                         24);
        ck_assert_uint_eq(worker.serve->answers_held, 0);
        worker_close(&worker);
    }
}
END_TEST

START_TEST(a_client_goes_while_its_answer_is_sent)
{
    struct worker worker;
    struct serve_connection *connection = send_large(&worker);

    shutdown(clients[0], SHUT_RDWR);
    serve_connection_attend(connection);
    expect_state(&worker, SERVE_CONNECTION_FREE);
    ck_assert_uint_eq(worker.serve->answers_held, 0);
    worker_close(&worker);
}
END_TEST

START_TEST(a_connection_that_is_not_kept_ends)
{
    struct worker worker;

    worker_open(&worker, 100);
    client_ask(0, "/a");
    worker_accept(&worker, 1);
    serve_lanes_start(worker.serve);
    expect_state(&worker, SERVE_CONNECTION_FREE);
    client_expect(0, "/a");
    ck_assert(client_is_closed(0));
    worker_close(&worker);
}
END_TEST

/* ---- deadlines ---- */

/* The connection ends at that time and no sooner, and the log says why; NULL: it says nothing. */
static void expect_end(struct worker *worker, int64_t at_ms, const char *cause)
{
    enum serve_connection_state state = worker->serve->connections[0].state;

    serve_connections_sweep(worker->serve, at_ms - 1);
    expect_state(worker, state);
    ck_assert_str_eq(logged, "");
    serve_connections_sweep(worker->serve, at_ms);
    expect_state(worker, SERVE_CONNECTION_FREE);
    ck_assert_int_eq(logged_times("connection dropped"), cause != NULL);
    ck_assert(!cause || logged_times(cause) == 1);
    logged[0] = '\0';
}

START_TEST(requests_have_deadlines)
{
    static const char cause[] = "the request was not whole in time";
    struct worker worker;
    struct serve_connection *connection;

    worker_open(&worker, 100);
    connection = &worker.serve->connections[0];
    client_connect(0);
    worker_accept(&worker, 1);
    expect_end(&worker, connection->moved_ms + 10000, NULL);
    for (int i = 1; i <= 2; i++) {
        client_connect(i);
        client_send(i, "\1", 1);
        worker_accept(&worker, 1);
        expect_state(&worker, SERVE_CONNECTION_READING);
        if (i == 1) {
            expect_end(&worker, connection->moved_ms + 10000, cause);
        } else {
            connection->moved_ms = connection->since_ms + 59000;
            expect_end(&worker, connection->since_ms + 60000, cause);
        }
        ck_assert(client_is_closed(i));
    }
    worker_close(&worker);
}
END_TEST

START_TEST(an_answer_may_stand_still)
{
    struct worker worker;
    struct serve_connection *connection = send_large(&worker);

    expect_end(&worker, connection->moved_ms + 30000, "the answer was not read in time");
    worker_close(&worker);
}
END_TEST

START_TEST(an_answer_may_take_long)
{
    struct worker worker;
    struct serve_connection *connection = send_large(&worker);

    connection->moved_ms = connection->since_ms + 599000;
    expect_end(&worker, connection->since_ms + 600000, "the answer was not read in time");
    worker_close(&worker);
}
END_TEST

START_TEST(idle_connections_have_no_deadline)
{
    struct worker worker;

    worker_open(&worker, 100);
    client_connect(0);
    client_ask_again(0, "/a");
    worker_accept(&worker, 1);
    serve_lanes_start(worker.serve);
    serve_connections_sweep(worker.serve, clock_steady_ms() + 86400 * 1000);
    expect_state(&worker, SERVE_CONNECTION_IDLE);
    worker_close(&worker);
}
END_TEST

/* A request for which no lane becomes free gets 503. */
START_TEST(requests_wait_four_seconds)
{
    struct worker worker;
    int64_t since_ms;

    worker_open(&worker, 100);
    client_ask(0, "/a");
    worker_accept(&worker, 1);
    since_ms = worker.serve->connections[0].since_ms;
    serve_connections_sweep(worker.serve, since_ms + 3999);
    expect_state(&worker, SERVE_CONNECTION_WAITING);
    serve_connections_sweep(worker.serve, since_ms + 4000);
    expect_state(&worker, SERVE_CONNECTION_FREE);
    ck_assert_int_eq(worker.n_at_once, 1);
    client_expect(0, "Status: 503");
    worker_close(&worker);
}
END_TEST

/* ---- faults ---- */

START_TEST(broken_requests_are_logged)
{
    struct worker worker;

    worker_open(&worker, 100);
    client_connect(0);
    client_send(0, "GET / HTTP/1.1\r\n\r\n", 18);
    worker_accept(&worker, 1);
    expect_state(&worker, SERVE_CONNECTION_FREE);
    ck_assert_int_eq(logged_times("FastCGI version 1"), 1);
    ck_assert(client_is_closed(0));
    worker_close(&worker);
}
END_TEST

START_TEST(epoll_takes_no_more)
{
    struct worker worker;

    worker_open(&worker, 100);
    faults.n_epoll_ctl = 1;
    client_connect(0);
    worker_accept(&worker, 1);
    expect_state(&worker, SERVE_CONNECTION_FREE);
    ck_assert_int_eq(logged_times("epoll_ctl"), 1);
    worker_close(&worker);
}
END_TEST

START_TEST(no_memory_for_an_answer)
{
    struct worker worker;

    worker_open(&worker, 100);
    client_ask(0, "/a");
    worker_accept(&worker, 1);
    worker.padding = 100000;
    faults.n_malloc = 1;
    faults.least = worker.padding + 1000; /* not the lane's, but the copy */
    serve_lanes_start(worker.serve);
    ck_assert_int_eq(faults.n_malloc, 0);
    expect_state(&worker, SERVE_CONNECTION_FREE);
    ck_assert_int_eq(logged_times("out of memory"), 1);
    ck_assert(client_is_closed(0));
    worker_close(&worker);
}
END_TEST

/* A web server gives a request up by closing, or by sending anything at all. */
START_TEST(requests_are_given_up)
{
    struct worker worker;
    struct request request;

    worker_open(&worker, 100);
    for (int i = 0; i < 2; i++) {
        client_ask(i, "/a");
        worker_accept(&worker, 1);
        serve_connection_request(&worker.serve->connections[i], &request);
        ck_assert(!request.peer_gone(request.peer));
        if (i == 0)
            shutdown(clients[i], SHUT_RDWR);
        else
            client_send(i, "\1\2\0\1\0\0\0\0", 8);
        ck_assert(request.peer_gone(request.peer));
    }
    worker_close(&worker);
}
END_TEST

/* ---- memory and places ---- */

/* An account may hold as much as is still free. */
START_TEST(answers_are_charged_to_accounts)
{
    const size_t mib = 1024 * 1024;
    struct worker worker;
    struct request request;
    struct serve_connection *first;
    struct serve_connection *second;

    worker_open(&worker, 1);
    client_ask(0, "/long");
    client_ask(1, "/long");
    worker_accept(&worker, 2);
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

/* A body may hold a secret, and all connections share the room that it is read into. */
START_TEST(what_was_read_is_wiped)
{
    static const struct serve_chunk empty;
    struct worker worker;

    worker_open(&worker, 1);
    client_ask(0, "/long");
    worker_accept(&worker, 1);
    ck_assert_uint_eq(worker.serve->n_line, 1);
    ck_assert_mem_eq(&worker.serve->chunk, &empty, sizeof empty);
    worker_close(&worker);
}
END_TEST

/* If all places are taken, idle connections go first.  A connection that moves never goes, nor does
 * an idle one on which the web server may just be sending a request. */
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
    ck_assert_uint_eq(serve->n_in[SERVE_CONNECTION_NEW], SERVE_MAX_CONNECTIONS);
    ck_assert(!serve_connection_has_place(serve));
    /* Two have stood still for a while, and one is idle. */
    serve->connections[3].moved_ms -= 2000;
    serve->connections[1].moved_ms -= 1500;
    serve->connections[5].state = SERVE_CONNECTION_IDLE;
    serve->n_in[SERVE_CONNECTION_NEW]--;
    serve->n_in[SERVE_CONNECTION_IDLE]++;
    ck_assert(serve_connection_has_place(serve));
    serve->connections[3].moved_ms += 2000;
    serve->connections[1].moved_ms += 1500;
    ck_assert(!serve_connection_has_place(serve));
    serve->connections[3].moved_ms -= 2000;
    serve->connections[1].moved_ms -= 1500;
    serve->connections[5].moved_ms -= SERVE_LEAVE_MS;
    for (int i = 5; i >= 1; i -= 2) {
        ck_assert(serve_connection_has_place(serve));
        ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, one_more), 0);
        serve_connection_open(serve, one_more[0]);
        ck_assert_int_eq(recv(pairs[i][1], &(char){0}, 1, 0), 0);
        ck_assert_int_eq(logged_times("too many connections"), (7 - i) / 2);
        close(one_more[1]);
    }
    ck_assert(!serve_connection_has_place(serve));
    for (size_t i = 0; i < SERVE_MAX_CONNECTIONS; i++)
        close(pairs[i][1]);
    worker_close(&worker);
}
END_TEST

/* A kept connection ends after its answer if no place is free, or if half of them are idle. */
START_TEST(kept_connections_make_room)
{
    static const enum serve_connection_state others[] = {
        SERVE_CONNECTION_WORKING, SERVE_CONNECTION_IDLE, SERVE_CONNECTION_IDLE};
    static const size_t numbers[] = {SERVE_MAX_CONNECTIONS - 1, SERVE_MAX_CONNECTIONS / 2,
                                     SERVE_MAX_CONNECTIONS / 2 - 1};
    struct worker worker;
    size_t n = numbers[_i];

    worker_open(&worker, 100);
    client_connect(0);
    worker_accept(&worker, 1);
    client_ask_again(0, "/a");
    worker.serve->n_in[SERVE_CONNECTION_FREE] -= n;
    worker.serve->n_in[others[_i]] += n;
    serve_connection_attend(&worker.serve->connections[0]);
    serve_lanes_start(worker.serve);
    worker.serve->n_in[SERVE_CONNECTION_FREE] += n;
    worker.serve->n_in[others[_i]] -= n;
    expect_state(&worker, _i < 2 ? SERVE_CONNECTION_FREE : SERVE_CONNECTION_IDLE);
    client_expect(0, "/a");
    worker_close(&worker);
}
END_TEST

Suite *serve_connection_suite(void)
{
    Suite *suite = suite_create("serve/connection");
    TCase *states = tcase_create("states");
    TCase *deadlines = tcase_create("deadlines");
    TCase *limits = tcase_create("limits");

    tcase_add_checked_fixture(states, worker_set_up, worker_tear_down);
    tcase_set_timeout(states, 60);
    tcase_add_checked_fixture(deadlines, worker_set_up, worker_tear_down);
    tcase_set_timeout(deadlines, 60);
    tcase_add_checked_fixture(limits, worker_set_up, worker_tear_down);
    tcase_set_timeout(limits, 60);
    tcase_add_test(states, moves_are_limited);
    tcase_add_test(states, a_wrong_move_is_logged);
    tcase_add_test(states, the_way_of_a_kept_connection);
    tcase_add_test(states, large_answers_go_out_in_parts);
    tcase_add_test(states, answers_that_do_not_fit_are_whole);
    tcase_add_test(states, a_client_goes_while_its_answer_is_sent);
    tcase_add_test(states, a_connection_that_is_not_kept_ends);
    tcase_add_test(deadlines, requests_have_deadlines);
    tcase_add_test(deadlines, an_answer_may_stand_still);
    tcase_add_test(deadlines, an_answer_may_take_long);
    tcase_add_test(deadlines, idle_connections_have_no_deadline);
    tcase_add_test(deadlines, requests_wait_four_seconds);
    tcase_add_test(limits, broken_requests_are_logged);
    tcase_add_test(limits, epoll_takes_no_more);
    tcase_add_test(limits, no_memory_for_an_answer);
    tcase_add_test(limits, requests_are_given_up);
    tcase_add_test(limits, answers_are_charged_to_accounts);
    tcase_add_test(limits, what_was_read_is_wiped);
    tcase_add_test(limits, places_are_kept_for_what_moves);
    tcase_add_loop_test(limits, kept_connections_make_room, 0, 3);
    suite_add_tcase(suite, states);
    suite_add_tcase(suite, deadlines);
    suite_add_tcase(suite, limits);
    return suite;
}
