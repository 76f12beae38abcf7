/* SPDX-License-Identifier: MIT */
/* Tests of times as text. */
#include "base/time.h"

#include <check.h>
#include <stdio.h>
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
        char text[TIME_SIZE];

        ck_assert(time_write(text, known_times[i].seconds));
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

/* The C library agrees about the first and the last second of every day of the first 400 years,
 * after which the calendar repeats, and of the last year. */
START_TEST(every_day_of_the_calendar)
{
    const int64_t day = 86400;
    const int64_t first = -62167219200;
    const int64_t last = 253402300799;

    for (int64_t from = first; from < last; from += day) {
        if (from == first + 146097 * day)
            from = last + 1 - 365 * day;
        for (int64_t seconds = from; seconds < from + day; seconds += day - 1) {
            time_t t = (time_t)seconds;
            char text[TIME_SIZE];
            char wanted[64];
            struct tm tm;

            ck_assert(time_write(text, seconds) && gmtime_r(&t, &tm));
            snprintf(wanted, sizeof wanted, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
            if (strcmp(text, wanted) != 0)
                ck_abort_msg("%lld: %s is not %s", (long long)seconds, text, wanted);
        }
    }
}
END_TEST

START_TEST(every_second_of_a_day)
{
    for (int64_t second = 0; second < 86400; second++) {
        char text[TIME_SIZE];
        char wanted[64];

        ck_assert(time_write(text, second - 86400));
        snprintf(wanted, sizeof wanted, "1969-12-31T%02d:%02d:%02dZ", (int)(second / 3600),
                 (int)(second / 60 % 60), (int)(second % 60));
        if (strcmp(text, wanted) != 0)
            ck_abort_msg("%s is not %s", text, wanted);
    }
}
END_TEST

START_TEST(years_that_do_not_fit)
{
    char text[TIME_SIZE];

    ck_assert(!time_write(text, 253402300800));
    ck_assert(!time_write(text, -62167219201));
    ck_assert(!time_write(text, INT64_MAX));
    ck_assert(!time_write(text, INT64_MIN));
}
END_TEST

Suite *time_suite(void)
{
    Suite *suite = suite_create("base/time");
    TCase *tests = tcase_create("time");

    tcase_add_test(tests, times_as_text);
    tcase_add_test(tests, time_zone_has_no_say);
    tcase_add_test(tests, every_day_of_the_calendar);
    tcase_add_test(tests, every_second_of_a_day);
    tcase_add_test(tests, years_that_do_not_fit);
    suite_add_tcase(suite, tests);
    return suite;
}
