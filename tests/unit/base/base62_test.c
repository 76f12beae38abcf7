/* SPDX-License-Identifier: MIT */
/* Tests of base 62 and of the CRC. */
#include "base/base62.h"

#include <check.h>
#include <string.h>

#include "suites.h"

static void expect_digits(const char *wanted, const unsigned char *number, size_t len)
{
    char out[64];
    size_t n = strlen(wanted);

    memset(out, '#', sizeof out);
    base62_write(out, n, number, len);
    ck_assert_msg(memcmp(out, wanted, n) == 0, "%.*s is not %s", (int)n, out, wanted);
    ck_assert_int_eq(out[n], '#');
}

/* The long ones were computed with Python's integers. */
START_TEST(known_numbers)
{
    unsigned char all_set[32];

    memset(all_set, 0xFF, sizeof all_set);
    expect_digits("0", (unsigned char[]){0}, 1);
    expect_digits("9", (unsigned char[]){9}, 1);
    expect_digits("A", (unsigned char[]){10}, 1);
    expect_digits("Z", (unsigned char[]){35}, 1);
    expect_digits("a", (unsigned char[]){36}, 1);
    expect_digits("z", (unsigned char[]){61}, 1);
    expect_digits("10", (unsigned char[]){62}, 1);
    expect_digits("47", (unsigned char[]){0xFF}, 1);
    expect_digits("0047", (unsigned char[]){0, 0, 0xFF}, 3);
    expect_digits("00048", (unsigned char[]){1, 0}, 2);
    expect_digits("4gfFC3", all_set, 4);
    expect_digits("aWgEPTl1tmebfsQzFP4bxwgy80V", all_set, 20);
    expect_digits("yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1", all_set, 32);
}
END_TEST

START_TEST(digits_that_do_not_fit_are_lost)
{
    expect_digits("7", (unsigned char[]){0xFF}, 1);
    expect_digits("", (unsigned char[]){0xFF}, 1);
}
END_TEST

START_TEST(order_of_bytes_is_order_of_numbers)
{
    char last[4] = "";

    for (unsigned n = 0; n < 0x10000; n++) {
        char out[4] = "";

        base62_write(out, 3, (unsigned char[]){(unsigned char)(n >> 8), (unsigned char)n}, 2);
        if (strcmp(out, last) <= 0)
            ck_abort_msg("%s comes after %s", out, last);
        memcpy(last, out, sizeof last);
    }
}
END_TEST

/* The check value of the CRC catalogues, and values computed by zlib. */
START_TEST(known_crcs)
{
    ck_assert_uint_eq(crc32_of("123456789", 9), 0xCBF43926);
    ck_assert_uint_eq(crc32_of("", 0), 0);
    ck_assert_uint_eq(crc32_of("a", 1), 0xE8B7BE43);
    ck_assert_uint_eq(crc32_of("abc", 3), 0x352441C2);
    ck_assert_uint_eq(crc32_of("\0\0\0\0", 4), 0x2144DF1C);
    ck_assert_uint_eq(crc32_of("\xFF\xFF\xFF\xFF", 4), 0xFFFFFFFF);
    ck_assert_uint_eq(crc32_of("The quick brown fox jumps over the lazy dog", 43), 0x414FA339);
}
END_TEST

Suite *base62_suite(void)
{
    Suite *suite = suite_create("base/base62");
    TCase *tests = tcase_create("base62");

    tcase_add_test(tests, known_numbers);
    tcase_add_test(tests, digits_that_do_not_fit_are_lost);
    tcase_add_test(tests, order_of_bytes_is_order_of_numbers);
    tcase_add_test(tests, known_crcs);
    suite_add_tcase(suite, tests);
    return suite;
}
