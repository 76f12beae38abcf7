/* SPDX-License-Identifier: MIT */
/* Tests of authorizers: a role of FastCGI that only some programs answer. */
#include <check.h>
#include <string.h>
#include <unistd.h>

#include "serve/faults.h"
#include "serve/worker.h"
#include "suites.h"

static void send_check(int client)
{
    struct buf wire = {0};

    client_write_check(&wire, "/check", true);
    client_send(client, wire.data, wire.len);
    buf_free(&wire);
}

START_TEST(authorizers_are_refused)
{
    struct worker worker;

    worker_open(&worker, 100);
    client_connect(0);
    send_check(0);
    worker_accept(&worker, 1);
    ck_assert_int_eq(worker.serve->connections[0].state, SERVE_CONNECTION_FREE);
    ck_assert_int_eq(logged_times("the role is not the responder's"), 1);
    ck_assert(client_is_closed(0));
    worker_close(&worker);
}
END_TEST

/* Their requests have no body, whatever the variables announce. */
START_TEST(authorizers_are_answered)
{
    struct worker worker;
    struct request request;

    wants.authorizers = true;
    worker_open(&worker, 100);
    client_connect(0);
    send_check(0);
    worker_accept(&worker, 1);
    ck_assert_int_eq(worker.serve->connections[0].state, SERVE_CONNECTION_WAITING);
    serve_lanes_start(worker.serve);
    client_expect(0, "/check");
    ck_assert_int_eq(worker.serve->connections[0].state, SERVE_CONNECTION_IDLE);
    client_ask_again(0, "/asked");
    serve_connection_attend(&worker.serve->connections[0]);
    ck_assert(!worker.serve->connections[0].peer.intake.is_authorizer);
    serve_lanes_start(worker.serve);
    client_expect(0, "/asked");
    send_check(0);
    serve_connection_attend(&worker.serve->connections[0]);
    buf_add(&worker.serve->connections[0].peer.intake.params, "\16\1CONTENT_LENGTH5", 17);
    serve_connection_request(&worker.serve->connections[0], &request);
    ck_assert(request.is_authorizer && !request.peer_gone(request.peer));
    ck_assert_str_eq(request.path, "/check");
    ck_assert(request.body_state == BODY_WHOLE && request.body.len == 0);
    worker_close(&worker);
    wants.authorizers = false;
}
END_TEST

Suite *serve_authorizer_suite(void)
{
    Suite *suite = suite_create("serve/authorizer");
    TCase *tcase = tcase_create("authorizer");

    tcase_add_checked_fixture(tcase, worker_set_up, worker_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, authorizers_are_refused);
    tcase_add_test(tcase, authorizers_are_answered);
    suite_add_tcase(suite, tcase);
    return suite;
}
