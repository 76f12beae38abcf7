/* SPDX-License-Identifier: MIT */
/* Tests of the turns of the line: one kind of work takes none of another. */
#include <check.h>

#include "base/clock.h"
#include "serve/worker.h"
#include "suites.h"

/* The clients of each test.  One works until its turn ends.  Its key, or its account, waits for one
 * more turn, and so does another one, which does other work meanwhile. */
enum { WORKS, WAITS_AGAIN, WAITS, MEANWHILE, ALSO_WORKS };

static void wait_or_stay(struct worker_lane *lane, const struct request *request)
{
    worker_wait(lane, request);
    worker_stay(lane, request);
}

static struct serve *open_worker(struct worker *worker)
{
    static const char *const keys[] = {"a1", "b1", "v1", "v2"};

    worker_open(worker, 100);
    worker_add_lane(worker);
    worker->serve->handover[0] = -1; /* however long this takes, none is handed over */
    worker->task = wait_or_stay;
    worker_deadline_ms = clock_steady_ms() + 3600 * 1000;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        worker_know(worker, keys[i]);
    return worker->serve;
}

static void scan(struct worker *worker, int client, const char *path, const char *key)
{
    client_scan(client, path, key);
    worker_accept(worker, 1);
    serve_lanes_start(worker->serve);
}

static void ask(struct worker *worker, int client, const char *path, const char *key)
{
    client_ask_from(client, path, key, NULL);
    worker_accept(worker, 1);
    serve_lanes_start(worker->serve);
}

/* Ends the turn of who works.  Who waits, for what does not end, goes next. */
static void expect_turn(struct worker *worker)
{
    const int n_stuck = worker->n_stuck;

    ck_assert_uint_eq(worker->serve->n_line, 2);
    client_expect(MEANWHILE, "/short");
    serve_lanes_sweep(worker->serve, worker_deadline_ms);
    client_expect(WORKS, "/w");
    serve_lanes_start(worker->serve);
    ck_assert_int_eq(worker->n_stuck, n_stuck + 1);
    ck_assert(!client_is_answered(WAITS_AGAIN) && !client_is_answered(WAITS));
    worker_close(worker);
}

START_TEST(keys_keep_the_turns_of_their_scans)
{
    struct worker worker;

    (void)open_worker(&worker);
    scan(&worker, WORKS, "/w", "v1");
    scan(&worker, WAITS_AGAIN, "/again", "v1");
    scan(&worker, WAITS, "/stuck", "v2");
    ask(&worker, MEANWHILE, "/short", "v2");
    expect_turn(&worker);
}
END_TEST

START_TEST(accounts_keep_the_turns_of_their_scans)
{
    struct worker worker;

    (void)open_worker(&worker);
    scan(&worker, WORKS, "/w", "a1");
    scan(&worker, ALSO_WORKS, "/stuck", "b1");
    scan(&worker, WAITS_AGAIN, "/again", "a1");
    scan(&worker, WAITS, "/stuck", "v1");
    ask(&worker, MEANWHILE, "/short", "v1");
    expect_turn(&worker);
}
END_TEST

/* Two accounts keep all lanes that long work may have.  Only starts before others that wait are
 * turns.
 */
START_TEST(accounts_keep_the_turns_of_long_work)
{
    struct worker worker;

    (void)open_worker(&worker);
    ask(&worker, ALSO_WORKS, "/stuck", "b1");
    client_ask_from(WORKS, "/w", "a1", NULL);
    client_ask_from(ALSO_WORKS + 1, "/stuck", "b1", NULL);
    worker_accept(&worker, 2);
    serve_lanes_start(worker.serve);
    ask(&worker, WAITS_AGAIN, "/again", "a1");
    ask(&worker, WAITS, "/stuck", "v1");
    ask(&worker, MEANWHILE, "/short", "v1");
    expect_turn(&worker);
}
END_TEST

/* The numbers of many keys share a turn: a forged one takes no turn of a good one. */
START_TEST(keys_keep_their_turns_from_forged_ones)
{
    struct worker worker;

    (void)open_worker(&worker);
    scan(&worker, WORKS, "/w", "v1");
    scan(&worker, WAITS_AGAIN, "/again", "v1");
    scan(&worker, WAITS, "/stuck", "v2");
    scan(&worker, MEANWHILE, "/short", "f2");
    expect_turn(&worker);
}
END_TEST

/* An account that keeps lanes has half of them for its long work, whatever short work it does. */
START_TEST(short_work_takes_no_lane_of_long_work)
{
    struct worker worker;
    struct serve *serve = open_worker(&worker);

    ask(&worker, 0, "/of/a", "a1");
    ask(&worker, 1, "/short/stuck", "v1");
    ask(&worker, 2, "/short/stuck", "v1");
    serve->kept_ms['v'] = clock_steady_ms();
    ask(&worker, 3, "/long/stuck", "v2");
    ck_assert_uint_eq(serve->n_line, 0);
    ck_assert_int_eq(worker.n_stuck, 3);
    worker_close(&worker);
}
END_TEST

/* The scans of one key leave turns to the other keys of its account. */
START_TEST(keys_of_an_account_take_turns)
{
    struct worker worker;
    struct serve *serve = open_worker(&worker);

    scan(&worker, WORKS, "/w", "v1");
    scan(&worker, WAITS_AGAIN, "/again", "v1");
    scan(&worker, WAITS, "/stuck", "v2");
    ck_assert_uint_eq(serve->n_line, 2);
    serve_lanes_sweep(serve, worker_deadline_ms);
    client_expect(WORKS, "/w");
    serve_lanes_start(serve);
    ck_assert_int_eq(worker.n_stuck, 1);
    ck_assert(!client_is_answered(WAITS_AGAIN));
    worker_close(&worker);
}
END_TEST

Suite *serve_line_turns_suite(void)
{
    Suite *suite = suite_create("serve/line_turns");
    TCase *tcase = tcase_create("line_turns");

    tcase_add_checked_fixture(tcase, worker_set_up, worker_tear_down);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, keys_of_an_account_take_turns);
    tcase_add_test(tcase, keys_keep_the_turns_of_their_scans);
    tcase_add_test(tcase, accounts_keep_the_turns_of_their_scans);
    tcase_add_test(tcase, accounts_keep_the_turns_of_long_work);
    tcase_add_test(tcase, keys_keep_their_turns_from_forged_ones);
    tcase_add_test(tcase, short_work_takes_no_lane_of_long_work);
    suite_add_tcase(suite, tcase);
    return suite;
}
