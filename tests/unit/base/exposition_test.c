/* SPDX-License-Identifier: MIT */
/* Tests of Prometheus' text format. */
#include "base/exposition.h"

#include <check.h>
#include <string.h>

#include "suites.h"

static struct buf out;

static void tear_down(void)
{
    buf_free(&out);
}

START_TEST(values)
{
    exposition_one(&out, "a_total", "counter", "All.", UINT64_MAX);
    ck_assert_str_eq(buf_text(&out).s, "# HELP a_total All.\n# TYPE a_total counter\n"
                                       "a_total 18446744073709551615\n");
}
END_TEST

START_TEST(seconds)
{
    static const struct {
        uint64_t us;
        const char *text;
    } cases[] = {{0, "0.0"},       {1, "0.000001"},    {250, "0.00025"},
                 {1000, "0.001"},  {100000, "0.1"},    {999999, "0.999999"},
                 {1000000, "1.0"}, {8192000, "8.192"}, {1700000000123000, "1700000000.123"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_clear(&out);
        exposition_seconds(&out, cases[i].us);
        ck_assert_str_eq(buf_text(&out).s, cases[i].text);
    }
}
END_TEST

/* What has not happened yet has no value. */
START_TEST(times)
{
    exposition_time(&out, "a_seconds", "When.", 0);
    ck_assert_str_eq(buf_text(&out).s, "# HELP a_seconds When.\n# TYPE a_seconds gauge\n");
    exposition_time(&out, "b_seconds", "When.", 1500);
    ck_assert_ptr_nonnull(strstr(buf_text(&out).s, "\nb_seconds 1.5\n"));
}
END_TEST

START_TEST(histograms)
{
    struct metrics_histogram histogram = {.sum_us = 0};

    metrics_observe(&histogram, 200);
    metrics_observe(&histogram, 60 * 1000000);
    exposition_histogram(&out, "a", "", &histogram);
    exposition_histogram(&out, "b", "kind=\"read\"", &histogram);
    ck_assert_ptr_nonnull(strstr(buf_text(&out).s, "a_bucket{le=\"0.00025\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(buf_text(&out).s, "a_bucket{le=\"8.192\"} 1\n"
                                                   "a_bucket{le=\"+Inf\"} 2\n"
                                                   "a_sum 60.0002\na_count 2\n"));
    ck_assert_ptr_nonnull(strstr(buf_text(&out).s, "b_bucket{kind=\"read\",le=\"+Inf\"} 2\n"
                                                   "b_sum{kind=\"read\"} 60.0002\n"
                                                   "b_count{kind=\"read\"} 2\n"));
}
END_TEST

Suite *exposition_suite(void)
{
    Suite *suite = suite_create("base/exposition");
    TCase *tests = tcase_create("exposition");

    tcase_add_checked_fixture(tests, NULL, tear_down);
    tcase_add_test(tests, values);
    tcase_add_test(tests, seconds);
    tcase_add_test(tests, times);
    tcase_add_test(tests, histograms);
    suite_add_tcase(suite, tests);
    return suite;
}
