/* SPDX-License-Identifier: MIT */
/* Tests of UTF-8. */
#include "base/utf8.h"

#include <check.h>
#include <string.h>

#include "suites.h"

START_TEST(length_of_each_first_byte)
{
    for (unsigned first = 0; first < 256; first++) {
        /* A second byte that is valid after every valid first byte. */
        unsigned char second = first == 0xED || first == 0xF4 ? 0x80 : 0xA0;
        unsigned char s[4] = {(unsigned char)first, second, 0x80, 0x80};
        size_t wanted = first < 0x80    ? 1
                        : first < 0xC2  ? 0
                        : first < 0xE0  ? 2
                        : first < 0xF0  ? 3
                        : first <= 0xF4 ? 4
                                        : 0;

        for (size_t len = 0; len <= 4; len++)
            ck_assert_msg(utf8_char_len(s, s + len) == (len < wanted ? 0
                                                        : len        ? wanted
                                                                     : 0),
                          "%02x in %zu bytes", first, len);
    }
}
END_TEST

/* Encodes as RFC 3629 does, but any value that fits into four bytes. */
static size_t encode(unsigned char out[4], uint32_t point)
{
    size_t len = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;

    for (size_t i = len; i-- > 1; point >>= 6)
        out[i] = (unsigned char)(0x80 | (point & 0x3F));
    out[0] = (unsigned char)(len == 1 ? point : (0xF00u >> len & 0xFF) | point);
    return len;
}

/* Of all values up to twice the last code point, only the characters are accepted. */
START_TEST(every_code_point)
{
    for (uint32_t point = 1; point < 0x200000; point++) {
        unsigned char s[4];
        size_t len = encode(s, point);
        bool wanted = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);

        if (utf8_char_len(s, s + len) != (wanted ? len : 0))
            ck_abort_msg("%x", (unsigned)point);
    }
}
END_TEST

START_TEST(every_code_point_there_and_back)
{
    for (uint32_t point = 1; point < 0x110000; point++) {
        unsigned char wanted[4];
        unsigned char s[4];
        size_t wanted_len = encode(wanted, point);
        size_t len = utf8_encode(s, point);
        size_t read_len;

        if (len != wanted_len || memcmp(s, wanted, len) != 0 ||
            utf8_decode(s, &read_len) != point || read_len != len)
            ck_abort_msg("%x", (unsigned)point);
    }
}
END_TEST

/* Overlong forms: all of two bytes, and those of three and four. */
START_TEST(every_overlong_form)
{
    for (unsigned point = 0; point < 0x10000; point++) {
        unsigned char two[2] = {(unsigned char)(0xC0 | point >> 6),
                                (unsigned char)(0x80 | (point & 0x3F))};
        unsigned char three[3] = {0xE0, (unsigned char)(0x80 | (point >> 6 & 0x3F)), two[1]};
        unsigned char four[4] = {0xF0, (unsigned char)(0x80 | point >> 12), three[1], two[1]};

        if ((point < 0x80 && utf8_char_len(two, two + 2) != 0) ||
            (point < 0x800 && utf8_char_len(three, three + 3) != 0) ||
            utf8_char_len(four, four + 4) != 0)
            ck_abort_msg("%x", point);
    }
}
END_TEST

START_TEST(texts)
{
    ck_assert(utf8_valid("", 0));
    ck_assert(utf8_valid("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 10));
    ck_assert(!utf8_valid("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", 9));
    ck_assert(!utf8_valid("a\0b", 3));
    ck_assert(!utf8_valid("\0", 1));
    ck_assert(!utf8_valid("ab\x80", 3));
    ck_assert(!utf8_valid("\xED\xA0\x80", 3));
}
END_TEST

/* At each cut, only a character that lacks bytes is left out. */
START_TEST(cuts_between_characters)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    static const size_t wanted[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};

    for (size_t len = 0; len < sizeof text; len++)
        ck_assert_msg(utf8_whole(text, len) == wanted[len], "%zu bytes", len);
}
END_TEST

Suite *utf8_suite(void)
{
    Suite *suite = suite_create("base/utf8");
    TCase *tests = tcase_create("utf8");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, length_of_each_first_byte);
    tcase_add_test(tests, every_code_point);
    tcase_add_test(tests, every_code_point_there_and_back);
    tcase_add_test(tests, every_overlong_form);
    tcase_add_test(tests, texts);
    tcase_add_test(tests, cuts_between_characters);
    suite_add_tcase(suite, tests);
    return suite;
}
