/* SPDX-License-Identifier: MIT */
/* Tests of the classes of ASCII characters. */
#include "base/ascii.h"

#include <check.h>
#include <string.h>

#include "suites.h"

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#define HEX "0123456789abcdef0123456789ABCDEF"

/* Returns where the byte is in the set, or -1. */
static int place_in(const char *set, char c)
{
    const char *found = c ? strchr(set, c) : NULL;

    return found ? (int)(found - set) : -1;
}

static bool is_one_of(char c, const char *set)
{
    return place_in(set, c) >= 0;
}

START_TEST(classes_of_each_byte)
{
    for (int i = 0; i < 256; i++) {
        char c = (char)i;

        ck_assert_msg(ascii_is_digit(c) == is_one_of(c, DIGITS), "byte %d", i);
        ck_assert_msg(ascii_is_lower(c) == is_one_of(c, LOWER), "byte %d", i);
        ck_assert_msg(ascii_is_upper(c) == is_one_of(c, UPPER), "byte %d", i);
        ck_assert_msg(ascii_is_alnum(c) == is_one_of(c, DIGITS LOWER UPPER), "byte %d", i);
        ck_assert_msg(ascii_is_visible(c) == (i > 32 && i < 127), "byte %d", i);
        ck_assert_msg(ascii_is_blank(c) == is_one_of(c, " \t"), "byte %d", i);
        ck_assert_msg(ascii_is_space(c) == is_one_of(c, " \t\r\n"), "byte %d", i);
    }
}
END_TEST

START_TEST(letters_and_hexadecimal_digits)
{
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        int in_upper = place_in(UPPER, c);
        int in_lower = place_in(LOWER, c);
        int in_hex = place_in(HEX, c);

        ck_assert_msg(ascii_lower(c) == (in_upper < 0 ? c : LOWER[in_upper]), "byte %d", i);
        ck_assert_msg(ascii_upper(c) == (in_lower < 0 ? c : UPPER[in_lower]), "byte %d", i);
        ck_assert_msg(ascii_hex_value(c) == (in_hex < 0 ? -1 : in_hex % 16), "byte %d", i);
    }
}
END_TEST

Suite *ascii_suite(void)
{
    Suite *suite = suite_create("base/ascii");
    TCase *tests = tcase_create("ascii");

    tcase_add_test(tests, classes_of_each_byte);
    tcase_add_test(tests, letters_and_hexadecimal_digits);
    suite_add_tcase(suite, tests);
    return suite;
}
