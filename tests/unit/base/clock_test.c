/* SPDX-License-Identifier: MIT */
/* Tests of the clocks. */
#include "base/clock.h"

#include <check.h>
#include <limits.h>
#include <time.h>

#include "suites.h"

START_TEST(wall_clock_is_the_system_s)
{
    int64_t before = (int64_t)time(NULL) * 1000;
    int64_t now = clock_wall_ms();

    /* time() may be a tick behind clock_gettime(). */
    ck_assert_int_ge(now, before);
    ck_assert_int_le(now, ((int64_t)time(NULL) + 2) * 1000);
}
END_TEST

START_TEST(steady_clock_goes_forward)
{
    int64_t last = clock_steady_ms();
    int64_t end = last + 5;

    ck_assert_int_gt(last, 0);
    while (last < end) {
        int64_t now = clock_steady_ms();

        ck_assert_int_ge(now, last);
        last = now;
    }
}
END_TEST

START_TEST(time_left)
{
    int64_t now = clock_steady_ms();

    ck_assert_int_eq(clock_left_ms(now - 1), 0);
    ck_assert_int_eq(clock_left_ms(0), 0);
    ck_assert_int_eq(clock_left_ms(now - 100000), 0);
    ck_assert_int_le(clock_left_ms(now + 1000000), 1000000);
    ck_assert_int_gt(clock_left_ms(now + 1000000), 900000);
    ck_assert_int_eq(clock_left_ms(INT64_MAX), INT_MAX);
}
END_TEST

Suite *clock_suite(void)
{
    Suite *suite = suite_create("base/clock");
    TCase *tests = tcase_create("clock");

    tcase_add_test(tests, wall_clock_is_the_system_s);
    tcase_add_test(tests, steady_clock_goes_forward);
    tcase_add_test(tests, time_left);
    suite_add_tcase(suite, tests);
    return suite;
}
