/* SPDX-License-Identifier: MIT */
/* Tests of whose lines the gate's log limits apart, and of the end of a call. */
#include "gate/check.h"

#include <check.h>
#include <fcntl.h>
#include <unistd.h>

#include "suites.h"

static struct gate gate;
static struct gate_worker worker;
static struct gate_lane lane;
static struct request request;
static struct gate_call call;
static struct text domain;
static int pipe_ends[2];

static void start(void)
{
    gate = (struct gate){.conf.log = {.level = LOG_LEVEL_INFO, .limit = &gate.log_limit}};
    worker = (struct gate_worker){.gate = &gate};
    lane = (struct gate_lane){.worker = &worker};
    request = (struct request){.remote_addr = "192.0.2.1"};
    call = (struct gate_call){
        .lane = &lane,
        .request = &request,
        .question.account_id = text_of("ac_1"),
        .question.route = {.edge_id = text_of("edge-1"), .route_id = text_of("route-1")},
        .place.account_id = text_of("ac_1"),
        .stored.has_module = true};
    domain = text_of("example.com");
    call.stored.module.config.email_domains =
        (struct text_list){.items = &domain, .n = 1, .given = true};
    ck_assert_int_eq(pipe2(pipe_ends, O_NONBLOCK), 0);
    ck_assert_int_ge(dup2(pipe_ends[1], STDERR_FILENO), 0);
}

/* Returns how many of these lines are written; the pipe has room for all. */
static int count_lines(enum log_level level, const char *event, const struct identity *who)
{
    char bytes[4096];
    int n_lines = 0;

    for (int i = 0; i < 2 * LOG_BURST; i++) {
        gate_call_log(&call, level, event, NULL, who);
        n_lines += read(pipe_ends[0], bytes, sizeof bytes) > 0;
    }
    return n_lines;
}

static int count_sign_ins(const char *subject, const char *address)
{
    struct text email = text_of(address);
    const struct identity who = {.known = IDENTITY_ALL,
                                 .subject = text_of(subject),
                                 .emails = {.items = &email, .n = 1, .given = true}};

    return count_lines(LOG_LEVEL_INFO, "signed in", &who);
}

/* Whom no list lets in signs in again and again, under any number of names. */
START_TEST(strangers_hide_no_visitor)
{
    ck_assert_int_eq(count_sign_ins("1", "a@example.net"), LOG_BURST);
    ck_assert_int_eq(count_sign_ins("2", "b@example.net"), 0);
    ck_assert_int_eq(count_sign_ins("1", "a@example.com"), LOG_BURST);
    ck_assert_int_eq(count_sign_ins("2", "b@example.com"), LOG_BURST);
    ck_assert_int_eq(count_sign_ins("2", "b@example.com"), 0);
    request.remote_addr = "192.0.2.2";
    ck_assert_int_eq(count_sign_ins("3", "c@example.net"), LOG_BURST);
    call.question.route.route_id = text_of("route-2");
    ck_assert_int_eq(count_sign_ins("3", "c@example.net"), 0);
}
END_TEST

/* A fault is the route's, from wherever it is provoked. */
START_TEST(faults_hide_none_of_another_route)
{
    ck_assert_int_eq(count_lines(LOG_LEVEL_ERROR, "cannot sign in", NULL), LOG_BURST);
    ck_assert_int_eq(count_lines(LOG_LEVEL_INFO, "cannot sign in", NULL), LOG_BURST);
    request.remote_addr = "192.0.2.2";
    ck_assert_int_eq(count_lines(LOG_LEVEL_ERROR, "cannot sign in", NULL), 0);
    ck_assert_int_eq(count_lines(LOG_LEVEL_INFO, "cannot sign in", NULL), LOG_BURST);
    call.question.route.route_id = text_of("route-2");
    ck_assert_int_eq(count_lines(LOG_LEVEL_ERROR, "cannot sign in", NULL), LOG_BURST);
    call.question.account_id = text_of("ac_2");
    ck_assert_int_eq(count_lines(LOG_LEVEL_ERROR, "cannot sign in", NULL), LOG_BURST);
}
END_TEST

static int count_without_module(const char *route, int n)
{
    char bytes[4096];
    int n_lines = 0;

    call.question.route.route_id = text_of(route);
    for (int i = 0; i < n; i++) {
        check_answer(&call);
        n_lines += read(pipe_ends[0], bytes, sizeof bytes) > 0;
        buf_free(&lane.response.headers);
        buf_free(&lane.response.body);
    }
    return n_lines;
}

/* A route that is open on purpose is asked for all the time. */
START_TEST(each_route_without_a_module_is_told)
{
    call.stored.has_module = false;
    ck_assert_int_eq(count_without_module("route-1", 5), 1);
    ck_assert_int_eq(count_without_module("route-2", 5), 1);
    ck_assert_int_eq(count_without_module("route-1", 5), 0);
}
END_TEST

/* A room that forgets to answer must not leave what the lane answered before. */
START_TEST(a_call_without_an_answer_is_refused)
{
    lane.response.status = 200;
    call.phase = CALL_LOOKED_UP;
    gate_call_end(&call);
    ck_assert_int_eq(lane.response.status, 503);
    ck_assert_int_eq(call.phase, CALL_ANSWERED);
    gate_call_end(&call);
    ck_assert_int_eq(lane.response.status, 503);
    buf_free(&lane.response.headers);
    buf_free(&lane.response.body);
}
END_TEST

Suite *gate_call_suite(void)
{
    Suite *suite = suite_create("gate/gate_call");
    TCase *tcase = tcase_create("gate_call");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, strangers_hide_no_visitor);
    tcase_add_test(tcase, faults_hide_none_of_another_route);
    tcase_add_test(tcase, each_route_without_a_module_is_told);
    tcase_add_test(tcase, a_call_without_an_answer_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
