/* SPDX-License-Identifier: MIT */
/* Tests of the supervisor: what a worker writes into the memory that they share. */
#include "serve/workers.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "suites.h"

#define N 2

/* Numbers that a worker has written over the number of workers. */
static const size_t numbers[] = {0, N + 1, 300, 2000, (size_t)1 << 40};

struct writing {
    struct metrics *metrics;
    size_t number;
};

/* The first worker of each place writes it, and ends; a later one ends the supervisor. */
static int write_and_end(void *context, size_t which)
{
    const struct writing *writing = context;

    writing->metrics->n_slots = writing->number;
    if (metrics_get(&writing->metrics->workers_started) > N && which == 0)
        kill(getppid(), SIGTERM);
    return 0;
}

START_TEST(a_worker_writes_over_the_number_of_workers)
{
    struct log log = {.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};
    struct kept kept = {0};
    struct workers_plan plan = {
        .n = N, .metrics = metrics_new(N), .run = write_and_end, .log = &log, .kept = &kept};
    struct writing writing = {plan.metrics, numbers[_i]};
    int status = -1;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    ck_assert(null >= 0 && dup2(null, STDERR_FILENO) >= 0);
    close(null);
    kept.pair[0] = kept.pair[1] = -1;
    plan.context = &writing;
    if (!workers_run(&plan, &status))
        _exit(status);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_ge(metrics_get(&plan.metrics->workers_started), N + 1);
    ck_assert_uint_le(metrics_get(&plan.metrics->workers_started), 200);
    metrics_free(plan.metrics, N);
}
END_TEST

Suite *serve_workers_suite(void)
{
    Suite *suite = suite_create("serve/workers");
    TCase *tcase = tcase_create("workers");

    tcase_add_loop_test(tcase, a_worker_writes_over_the_number_of_workers, 0,
                        (int)(sizeof numbers / sizeof numbers[0]));
    suite_add_tcase(suite, tcase);
    return suite;
}
