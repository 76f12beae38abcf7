/* SPDX-License-Identifier: MIT */
/* Tests of reading and writing numbers. */
#include "base/number.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suites.h"

static void expect_number(const char *digits, unsigned base, uint64_t most, uint64_t wanted)
{
    uint64_t value = 1;

    ck_assert_msg(number_read(text_of(digits), base, most, &value), "%s is refused", digits);
    ck_assert_msg(value == wanted, "%s is read as %ju", digits, (uintmax_t)value);
}

static void expect_refused(const char *digits, unsigned base, uint64_t most)
{
    uint64_t value;

    ck_assert_msg(!number_read(text_of(digits), base, most, &value), "%s is read as %ju", digits,
                  (uintmax_t)value);
}

START_TEST(numbers_up_to_the_limit)
{
    expect_number("0", 10, 0, 0);
    expect_number("1", 10, 1, 1);
    expect_number("9", 10, 9, 9);
    expect_number("65535", 10, 65535, 65535);
    expect_number("00042", 10, 42, 42);
    expect_number("0777", 8, 0777, 0777);
    expect_number("18446744073709551615", 10, UINT64_MAX, UINT64_MAX);
    expect_number("1777777777777777777777", 8, UINT64_MAX, UINT64_MAX);
}
END_TEST

START_TEST(numbers_above_the_limit)
{
    expect_refused("1", 10, 0);
    expect_refused("9", 10, 8);
    expect_refused("10", 10, 9);
    expect_refused("65536", 10, 65535);
    expect_refused("0001000", 8, 0777);
    expect_refused("18446744073709551616", 10, UINT64_MAX);
    expect_refused("99999999999999999999999", 10, UINT64_MAX);
    expect_refused("2000000000000000000000", 8, UINT64_MAX);
}
END_TEST

START_TEST(other_texts)
{
    expect_refused(NULL, 10, 9);
    expect_refused("", 10, 9);
    expect_refused(" 1", 10, 9);
    expect_refused("1 ", 10, 9);
    expect_refused("+1", 10, 9);
    expect_refused("-0", 10, 9);
    expect_refused("1/", 10, 99);
    expect_refused("1:", 10, 99);
    expect_refused("0x1", 10, 99);
    expect_refused("8", 8, 99);
}
END_TEST

START_TEST(numbers_are_written)
{
    static const uint64_t numbers[] = {0, 9, 10, 1234567890, UINT64_MAX};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char wanted[NUMBER_MAX + 1];
        char written[NUMBER_MAX];

        snprintf(wanted, sizeof wanted, "%llu", (unsigned long long)numbers[i]);
        ck_assert_uint_eq(number_write(written, numbers[i]), strlen(wanted));
        ck_assert_mem_eq(written, wanted, strlen(wanted));
    }
}
END_TEST

/* Bytes after the text are not read. */
START_TEST(part_of_a_text)
{
    uint64_t value;

    ck_assert(number_read((struct text){.s = "123d", .len = 2}, 10, 99, &value));
    ck_assert_uint_eq(value, 12);
}
END_TEST

Suite *number_suite(void)
{
    Suite *suite = suite_create("base/number");
    TCase *tests = tcase_create("number");

    tcase_add_test(tests, numbers_up_to_the_limit);
    tcase_add_test(tests, numbers_above_the_limit);
    tcase_add_test(tests, other_texts);
    tcase_add_test(tests, numbers_are_written);
    tcase_add_test(tests, part_of_a_text);
    suite_add_tcase(suite, tests);
    return suite;
}
