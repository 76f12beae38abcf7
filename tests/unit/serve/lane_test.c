/* SPDX-License-Identifier: MIT */
/* Tests of lanes: their states, how their waits end, and which request gets one. */
#include <check.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/faults.h"
#include "serve/worker.h"
#include "suites.h"

/* ---- states ---- */

/* What README.md draws: all that may follow each state. */
static const bool follows[SERVE_LANE_N_STATES][SERVE_LANE_N_STATES] = {
    [SERVE_LANE_FREE] = {[SERVE_LANE_RUNNING] = true},
    [SERVE_LANE_RUNNING] = {[SERVE_LANE_PAUSED] = true, [SERVE_LANE_DONE] = true},
    [SERVE_LANE_PAUSED] = {[SERVE_LANE_RUNNING] = true, [SERVE_LANE_WOKEN] = true},
    [SERVE_LANE_WOKEN] = {[SERVE_LANE_RUNNING] = true},
    [SERVE_LANE_DONE] = {[SERVE_LANE_FREE] = true},
};

START_TEST(moves_are_limited)
{
    for (int from = 0; from < SERVE_LANE_N_STATES; from++) {
        for (int to = 0; to < SERVE_LANE_N_STATES; to++)
            ck_assert_msg(serve_lane_may_move((enum serve_lane_state)from,
                                              (enum serve_lane_state)to) == follows[from][to],
                          "from %d to %d", from, to);
    }
}
END_TEST

START_TEST(a_wrong_move_is_logged)
{
    struct worker worker;

    worker_open(&worker, 1);
    serve_lane_move(&worker.serve->lanes[0], SERVE_LANE_WOKEN);
    ck_assert_int_eq(logged_times("a lane went from state 0 to 3"), 1);
    ck_assert_uint_eq(worker.serve->n_wrong_moves, 1);
    worker.serve->n_wrong_moves = 0;
    worker_close(&worker);
}
END_TEST

/* ---- waits ---- */

/* Starts "/w", which waits in the last lane for a byte on silent[0].  Returns the lane. */
static struct serve_lane *start_wait(struct worker *worker)
{
    worker_open(worker, 100);
    worker->task = worker_wait;
    worker_deadline_ms = clock_steady_ms() + 3600 * 1000;
    client_ask(0, "/w");
    worker_accept(worker, 1);
    serve_lanes_start(worker->serve);
    return &worker->serve->lanes[N_LANES - 1];
}

static void expect_answer(struct worker *worker, bool is_in_time)
{
    ck_assert_int_eq(worker->serve->lanes[N_LANES - 1].state, SERVE_LANE_FREE);
    ck_assert_int_eq(worker->in_time[N_LANES - 1], is_in_time);
    ck_assert(serve_lanes_are_idle(worker->serve));
    client_expect(0, "/w");
    worker_close(worker);
}

START_TEST(a_wait_for_a_descriptor)
{
    struct worker worker;
    struct serve_lane *lane = start_wait(&worker);

    ck_assert_int_eq(lane->state, SERVE_LANE_PAUSED);
    ck_assert(!serve_lanes_are_idle(worker.serve));
    /* An event of an earlier wait. */
    serve_lane_attend(lane, lane->serial - 1);
    ck_assert_int_eq(lane->state, SERVE_LANE_PAUSED);
    serve_lane_attend(lane, lane->serial);
    expect_answer(&worker, true);
}
END_TEST

/* The same by way of the loop. */
static void send_to_silent(struct worker *worker)
{
    if (worker->serve->lanes[N_LANES - 1].state == SERVE_LANE_PAUSED)
        ck_assert_int_eq(send(silent[1], "x", 1, 0), 1);
}

START_TEST(the_loop_reports_a_descriptor)
{
    struct worker worker;

    start_wait(&worker);
    worker.n_due = 1;
    worker.turn = send_to_silent;
    worker_run(&worker);
    expect_answer(&worker, true);
}
END_TEST

START_TEST(a_wait_has_a_deadline)
{
    struct worker worker;
    struct serve_lane *lane = start_wait(&worker);

    ck_assert_int_eq(serve_lanes_wait_ms(worker.serve, 250), 250);
    serve_lanes_sweep(worker.serve, worker_deadline_ms - 1);
    ck_assert_int_eq(lane->state, SERVE_LANE_PAUSED);
    lane->deadline_ms = 1;
    ck_assert_int_eq(serve_lanes_wait_ms(worker.serve, 250), 0);
    lane->deadline_ms = worker_deadline_ms;
    serve_lanes_sweep(worker.serve, worker_deadline_ms);
    expect_answer(&worker, false);
}
END_TEST

START_TEST(a_wait_is_ended_by_another_lane)
{
    struct worker worker;
    struct serve_lane *lane = start_wait(&worker);
    const struct wait *wait = &worker.lanes[N_LANES - 1].wait;

    wait->wake(wait->context);
    ck_assert_int_eq(lane->state, SERVE_LANE_WOKEN);
    ck_assert_int_eq(serve_lanes_wait_ms(worker.serve, 250), 0);
    /* Only once, and no event or deadline counts any more. */
    wait->wake(wait->context);
    serve_lane_attend(lane, lane->serial);
    serve_lanes_sweep(worker.serve, INT64_MAX);
    ck_assert_int_eq(lane->state, SERVE_LANE_WOKEN);
    serve_lanes_resume_woken(worker.serve);
    wait->wake(wait->context);
    expect_answer(&worker, true);
}
END_TEST

/* ---- waits that epoll does not take ---- */

static struct serve_lane *start_unwatched(struct worker *worker)
{
    struct serve_lane *lane;

    worker_open(worker, 100);
    worker->task = worker_wait;
    worker_deadline_ms = clock_steady_ms() + 3600 * 1000;
    client_ask(0, "/w");
    client_ask(1, "/other");
    worker_accept(worker, 2);
    faults.n_epoll_ctl = 2; /* neither known to epoll already, nor new */
    lane = &worker->serve->lanes[N_LANES - 1];
    serve_lanes_start(worker->serve);
    /* The wait keeps no other lane from its work. */
    client_expect(1, "/other");
    ck_assert_int_eq(lane->state, SERVE_LANE_PAUSED);
    ck_assert_int_lt(serve_lanes_wait_ms(worker->serve, 250), 250);
    /* It has looked, and goes on waiting. */
    serve_lanes_sweep(worker->serve, lane->deadline_ms);
    ck_assert_int_eq(lane->state, SERVE_LANE_PAUSED);
    return lane;
}

START_TEST(an_unwatched_descriptor_is_looked_at)
{
    struct worker worker;
    struct serve_lane *lane = start_unwatched(&worker);

    ck_assert_int_eq(send(silent[1], "x", 1, 0), 1);
    serve_lanes_sweep(worker.serve, lane->deadline_ms);
    expect_answer(&worker, true);
}
END_TEST

START_TEST(an_unwatched_wait_is_ended_by_another_lane)
{
    struct worker worker;
    const struct wait *wait;

    start_unwatched(&worker);
    wait = &worker.lanes[N_LANES - 1].wait;
    wait->wake(wait->context);
    serve_lanes_resume_woken(worker.serve);
    expect_answer(&worker, true);
}
END_TEST

START_TEST(an_unwatched_wait_has_a_deadline)
{
    struct worker worker;

    worker_open(&worker, 100);
    worker.task = worker_wait;
    worker_deadline_ms = clock_steady_ms();
    client_ask(0, "/w");
    worker_accept(&worker, 1);
    faults.n_epoll_ctl = 2;
    serve_lanes_start(worker.serve);
    expect_answer(&worker, false);
}
END_TEST

Suite *serve_lane_suite(void)
{
    Suite *suite = suite_create("serve/lane");
    TCase *tcase = tcase_create("lane");

    tcase_add_checked_fixture(tcase, worker_set_up, worker_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, moves_are_limited);
    tcase_add_test(tcase, a_wrong_move_is_logged);
    tcase_add_test(tcase, a_wait_for_a_descriptor);
    tcase_add_test(tcase, the_loop_reports_a_descriptor);
    tcase_add_test(tcase, a_wait_has_a_deadline);
    tcase_add_test(tcase, a_wait_is_ended_by_another_lane);
    tcase_add_test(tcase, an_unwatched_descriptor_is_looked_at);
    tcase_add_test(tcase, an_unwatched_wait_is_ended_by_another_lane);
    tcase_add_test(tcase, an_unwatched_wait_has_a_deadline);
    suite_add_tcase(suite, tcase);
    return suite;
}
