/* SPDX-License-Identifier: MIT */
/* Tests of the clocks and of times as text. */
#include "base/clock.h"

#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "suites.h"

struct known_time {
    int64_t seconds;
    const char *text;
};

static const struct known_time known_times[] = {
    {0, "1970-01-01T00:00:00Z"},
    {-1, "1969-12-31T23:59:59Z"},
    {951782400, "2000-02-29T00:00:00Z"},
    {1709164799, "2024-02-28T23:59:59Z"},
    {1709164800, "2024-02-29T00:00:00Z"},
    {1735689599, "2024-12-31T23:59:59Z"},
    {2147483647, "2038-01-19T03:14:07Z"},
    {2147483648, "2038-01-19T03:14:08Z"},
    {4107542400, "2100-03-01T00:00:00Z"},
    {-30610224000, "1000-01-01T00:00:00Z"},
    {253402300799, "9999-12-31T23:59:59Z"},
};

static void expect_known_times(void)
{
    for (size_t i = 0; i < sizeof known_times / sizeof known_times[0]; i++) {
        char text[CLOCK_RFC3339_SIZE];

        ck_assert(clock_rfc3339(text, known_times[i].seconds));
        ck_assert_str_eq(text, known_times[i].text);
    }
}

START_TEST(times_as_text)
{
    expect_known_times();
}
END_TEST

/* Times are in UTC, in every time zone of the process. */
START_TEST(time_zone_has_no_say)
{
    setenv("TZ", "XYZ-05:30", 1);
    tzset();
    expect_known_times();
}
END_TEST

START_TEST(years_that_do_not_fit)
{
    char text[CLOCK_RFC3339_SIZE];

    ck_assert(!clock_rfc3339(text, 253402300800));
    ck_assert(!clock_rfc3339(text, -62167219201));
    ck_assert(!clock_rfc3339(text, INT64_MAX));
    ck_assert(!clock_rfc3339(text, INT64_MIN));
}
END_TEST

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

    tcase_add_test(tests, times_as_text);
    tcase_add_test(tests, time_zone_has_no_say);
    tcase_add_test(tests, years_that_do_not_fit);
    tcase_add_test(tests, wall_clock_is_the_system_s);
    tcase_add_test(tests, steady_clock_goes_forward);
    tcase_add_test(tests, time_left);
    suite_add_tcase(suite, tests);
    return suite;
}
