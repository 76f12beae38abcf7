/* SPDX-License-Identifier: MIT */
/* Tests of what the gate counts. */
#include "gate/counts.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "suites.h"

static struct counts_of_all *all;
static struct buf text;

static void counts_set_up(void)
{
    all = counts_new(2);
    ck_assert_ptr_nonnull(all);
    text = (struct buf){0};
}

static void counts_tear_down(void)
{
    counts_free(all, 2);
    buf_free(&text);
}

static void expect_written(const char *line)
{
    ck_assert_msg(memmem(text.data, text.len, line, strlen(line)), "no '%s' in %.*s", line,
                  (int)text.len, text.data);
}

/* A worker's numbers are its own, and the text has the sums. */
START_TEST(workers_are_added_up)
{
    counts_check(&all->of[0], COUNTS_PASSED);
    counts_check(&all->of[1], COUNTS_PASSED);
    counts_check(&all->of[1], COUNTS_PAGE(HTML_PAGE_NOT_ALLOWED));
    counts_login(&all->of[0], COUNTS_SIGNED_IN);
    counts_question(&all->of[0], PROVIDER_AWAY, clock_steady_us() - 3 * 1000 * 1000);
    counts_question(&all->of[1], PROVIDER_ANSWERED, clock_steady_us());
    counts_write(&text, all);
    ck_assert(!text.failed);
    expect_written("\nadit_gate_checks_total{outcome=\"passed\"} 2\n");
    expect_written("\nadit_gate_checks_total{outcome=\"not_allowed\"} 1\n");
    expect_written("\nadit_gate_checks_total{outcome=\"without_module\"} 0\n");
    expect_written("\nadit_gate_logins_total{outcome=\"signed_in\"} 1\n");
    expect_written("\nadit_gate_provider_questions_total{outcome=\"away\"} 1\n");
    expect_written("\nadit_gate_provider_questions_total{outcome=\"answered\"} 1\n");
    expect_written("_duration_seconds_bucket{le=\"2.048\"} 1\n");
    expect_written("_duration_seconds_count 2\n");
}
END_TEST

/* Whatever is counted has a name. */
START_TEST(every_outcome_has_a_name)
{
    for (size_t i = 0; i < COUNTS_N_OUTCOMES; i++) {
        counts_check(&all->of[0], i);
        counts_login(&all->of[0], i);
    }
    for (int i = 0; i < PROVIDER_N_OUTCOMES; i++)
        counts_question(&all->of[0], (enum provider_outcome)i, clock_steady_us());
    counts_write(&text, all);
    ck_assert(!memmem(text.data, text.len, "(null)", 6));
    ck_assert(!memmem(text.data, text.len, "} 0\n", 4));
}
END_TEST

START_TEST(a_worker_without_counts)
{
    counts_check(NULL, COUNTS_PASSED);
    counts_login(NULL, COUNTS_SIGNED_IN);
    counts_question(NULL, PROVIDER_AWAY, 0);
    counts_free(NULL, 2);
}
END_TEST

Suite *gate_counts_suite(void)
{
    Suite *suite = suite_create("gate/counts");
    TCase *tests = tcase_create("counts");

    tcase_add_checked_fixture(tests, counts_set_up, counts_tear_down);
    tcase_add_test(tests, workers_are_added_up);
    tcase_add_test(tests, every_outcome_has_a_name);
    tcase_add_test(tests, a_worker_without_counts);
    suite_add_tcase(suite, tests);
    return suite;
}
