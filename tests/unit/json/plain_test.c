/* SPDX-License-Identifier: MIT */
/* Tests of the copy of plain bytes: with vectors and without, it copies as much as a loop over
 * bytes would. */
#include "json/plain.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"

/* More than two blocks of 32 bytes. */
#define MOST 80

static size_t plain_len(const char *s, size_t len)
{
    size_t at = 0;

    while (at < len && (unsigned char)s[at] >= 0x20 && (unsigned char)s[at] < 0x7F &&
           s[at] != '"' && s[at] != '\\')
        at++;
    return at;
}

/* The memory of both texts ends where they end, so that AddressSanitizer sees what is read or
 * written behind them. */
static void expect_copy(size_t (*copy)(char *, const char *, size_t), const char *s, size_t len)
{
    size_t wanted = plain_len(s, len);
    char *from = malloc(len ? len : 1);
    char *to = malloc(len ? len : 1);

    ck_assert(from && to);
    memcpy(from, s, len);
    ck_assert_uint_eq(copy(to, from, len), wanted);
    ck_assert(memcmp(to, s, wanted) == 0);
    free(from);
    free(to);
}

static void expect(const char *s, size_t len)
{
    expect_copy(json_copy_plain, s, len);
    expect_copy(json_copy_plain_words, s, len);
}

START_TEST(every_byte_at_every_place)
{
    char s[MOST];

    for (size_t len = 0; len <= MOST; len++) {
        memset(s, 'a', sizeof s);
        expect(s, len);
        for (size_t at = 0; at < len; at++) {
            for (int c = 0; c < 256; c++) {
                s[at] = (char)c;
                if (len == MOST || c == '"' || c == '\\' || c == 0x1F || c == 0x7F || c == 0x80)
                    expect(s, len);
            }
            s[at] = 'a';
        }
    }
}
END_TEST

/* Neighbours must not hide each other: borrows go from byte to byte. */
START_TEST(pairs_of_bytes)
{
    static const unsigned char bytes[] = {0,   1,    0x1F, ' ',  '!',  '"',  '#',  '[',  '\\',
                                          ']', 0x7F, 0x80, 0x81, 0x9F, 0xA0, 0xA2, 0xDC, 0xFF};
    char s[MOST];

    for (size_t at = 0; at + 1 < MOST; at++) {
        memset(s, '~', sizeof s);
        for (size_t i = 0; i < sizeof bytes; i++) {
            for (size_t j = 0; j < sizeof bytes; j++) {
                s[at] = (char)bytes[i];
                s[at + 1] = (char)bytes[j];
                expect(s, sizeof s);
                expect(s, at + 2);
            }
        }
    }
}
END_TEST

Suite *json_plain_suite(void)
{
    Suite *suite = suite_create("json/plain");
    TCase *tests = tcase_create("json_plain");

    tcase_add_test(tests, every_byte_at_every_place);
    tcase_add_test(tests, pairs_of_bytes);
    suite_add_tcase(suite, tests);
    return suite;
}
