/* SPDX-License-Identifier: MIT */
/* Tests of counters in memory that processes share. */
#include "base/metrics.h"

#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "suites.h"

static struct metrics *metrics;
static struct metrics_slot total;

static void set_up(void)
{
    metrics = metrics_new(3);
    ck_assert_ptr_nonnull(metrics);
}

static void tear_down(void)
{
    metrics_free(metrics, 3);
}

START_TEST(starts_with_nothing)
{
    static const struct metrics_slot none;

    ck_assert_uint_eq(metrics->n_slots, 3);
    ck_assert_int_gt(metrics->started_ms, 0);
    metrics_add_up(metrics, &total);
    ck_assert_mem_eq(&total, &none, sizeof total);
}
END_TEST

START_TEST(adds_up_all_slots)
{
    for (size_t i = 0; i < 3; i++) {
        metrics_add(&metrics->slots[i].errors[ERR_INTERNAL], i + 1);
        metrics_set(&metrics->slots[i].gauges[METRICS_N_GAUGES - 1], 10);
    }
    metrics_add_up(metrics, &total);
    ck_assert_uint_eq(total.errors[ERR_INTERNAL], 6);
    ck_assert_uint_eq(total.gauges[METRICS_N_GAUGES - 1], 30);
}
END_TEST

/* The supervisor takes the gauges of a worker that has ended away, and nothing else. */
START_TEST(an_ended_worker)
{
    metrics_add(&metrics->slots[1].requests[0][METRICS_GET][0], 7);
    for (size_t i = 0; i < METRICS_N_GAUGES; i++)
        metrics_set(&metrics->slots[1].gauges[i], i + 1);
    metrics_set(&metrics->slots[2].gauges[METRICS_LANES], 5);
    metrics_end(&metrics->slots[1]);
    metrics_add_up(metrics, &total);
    ck_assert_uint_eq(total.requests[0][METRICS_GET][0], 7);
    ck_assert_uint_eq(total.gauges[METRICS_LANES], 5);
    for (size_t i = METRICS_LANES + 1; i < METRICS_N_GAUGES; i++)
        ck_assert_uint_eq(total.gauges[i], 0);
}
END_TEST

/* What a process counted is there after it was killed in the midst of counting. */
START_TEST(a_killed_process)
{
    uint64_t *number = &metrics->slots[0].writes_refused[0];
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        for (;;)
            metrics_add(number, 1);
    }
    while (metrics_get(number) < 1000)
        ;
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    metrics_add_up(metrics, &total);
    ck_assert_uint_ge(total.writes_refused[0], 1000);
    ck_assert_uint_eq(total.writes_refused[0], metrics_get(number));
}
END_TEST

START_TEST(buckets)
{
    static const struct {
        int64_t us;
        size_t bucket;
    } cases[] = {
        {-5, 0},   {0, 0},        {250, 0},      {251, 1},      {500, 1},      {501, 2},
        {1000, 2}, {1024000, 12}, {1024001, 13}, {8192000, 15}, {8192001, 16}, {INT64_MAX, 16},
    };
    struct metrics_histogram histogram;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&histogram, 0, sizeof histogram);
        metrics_observe(&histogram, cases[i].us);
        for (size_t at = 0; at < METRICS_N_BUCKETS; at++)
            ck_assert_uint_eq(histogram.n_in[at], at == cases[i].bucket);
        ck_assert_uint_eq(histogram.sum_us, cases[i].us < 0 ? 0 : (uint64_t)cases[i].us);
    }
}
END_TEST

/* Every status that an error has is counted under its own name. */
START_TEST(statuses)
{
    for (int code = ERR_NONE + 1; code < ERR_N_CODES; code++) {
        int status = error_row((enum error_code)code)->status;

        ck_assert_int_eq(metrics_status_at(metrics_status_place(status)), status);
    }
    ck_assert_int_eq(metrics_status_at(metrics_status_place(200)), 200);
    ck_assert_int_eq(metrics_status_at(metrics_status_place(304)), 304);
    ck_assert_uint_eq(metrics_status_place(299), METRICS_N_STATUSES - 1);
    ck_assert_int_eq(metrics_status_at(METRICS_N_STATUSES - 1), 0);
}
END_TEST

START_TEST(methods)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"};
    static const char *const others[] = {"", "get", "GETS", "TRACE", "other"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_str_eq(metrics_method_name(metrics_method_place(names[i])), names[i]);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_str_eq(metrics_method_name(metrics_method_place(others[i])), "other");
}
END_TEST

/* Of all workers, one looks at a time. */
START_TEST(looks)
{
    int64_t now_ms = clock_steady_ms();

    ck_assert(!metrics_take_look(metrics, now_ms));
    now_ms += METRICS_LOOK_MS + 1000;
    ck_assert(metrics_take_look(metrics, now_ms));
    ck_assert(!metrics_take_look(metrics, now_ms));
    ck_assert(!metrics_take_look(metrics, now_ms + METRICS_LOOK_MS - 1));
    ck_assert_uint_eq(metrics_get(&metrics->looked_ms), 0);
    metrics_put_look(metrics, true);
    ck_assert_uint_gt(metrics_get(&metrics->looked_ms), 0);
    ck_assert_uint_eq(metrics_get(&metrics->is_database_up), 1);
    ck_assert(metrics_take_look(metrics, now_ms + METRICS_LOOK_MS));
    metrics_put_look(metrics, false);
    ck_assert_uint_eq(metrics_get(&metrics->is_database_up), 0);
}
END_TEST

Suite *metrics_suite(void)
{
    Suite *suite = suite_create("base/metrics");
    TCase *tcase = tcase_create("metrics");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, starts_with_nothing);
    tcase_add_test(tcase, adds_up_all_slots);
    tcase_add_test(tcase, an_ended_worker);
    tcase_add_test(tcase, a_killed_process);
    tcase_add_test(tcase, buckets);
    tcase_add_test(tcase, statuses);
    tcase_add_test(tcase, methods);
    tcase_add_test(tcase, looks);
    suite_add_tcase(suite, tcase);
    return suite;
}
