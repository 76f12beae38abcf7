/* SPDX-License-Identifier: MIT */
/* Tests of finding characters that do not show. */
#include "base/invisible.h"

#include <check.h>

#include "base/utf8.h"
#include "suites.h"

static const struct row {
    uint32_t first;
    uint32_t last;
    const char *name;
} rows[] = {
/* clang-format off */
#define INVISIBLE(first, last, kind, name) {first, last, name},
#include "base/invisible_table.h"
    /* clang-format on */
};

/* Returns the row that a code point between two letters is found in, or INVISIBLE_UTF16. */
static size_t find(uint32_t point)
{
    char bytes[8] = "a";
    size_t len = 1 + utf8_encode((unsigned char *)bytes + 1, point);
    struct invisible found;

    bytes[len++] = 'b';
    if (!invisible_find((struct text){.s = bytes, .len = len}, &found))
        return INVISIBLE_UTF16;
    ck_assert_uint_eq(found.offset, 1);
    ck_assert_str_eq(found.what, rows[found.row].name);
    ck_assert(!invisible_at_start((struct text){.s = bytes, .len = len}, &found));
    ck_assert(invisible_at_start(text_part(text_of(bytes), 1, len), &found));
    ck_assert_uint_eq(found.offset, 0);
    return found.row;
}

START_TEST(every_row_is_found_and_nothing_beside_it)
{
    size_t n_found = 0;

    for (uint32_t point = 1; point <= 0x10FFFF; point++) {
        size_t wanted = 0;

        if (point >= 0xD800 && point <= 0xDFFF)
            continue;
        while (wanted < INVISIBLE_UTF16 &&
               (point < rows[wanted].first || point > rows[wanted].last))
            wanted++;
        ck_assert_uint_eq(find(point), wanted);
        n_found += wanted < INVISIBLE_UTF16;
    }
    ck_assert_uint_ge(n_found, INVISIBLE_UTF16);
}
END_TEST

START_TEST(controls_beyond_ascii_and_marks_of_direction_are_in_the_table)
{
    for (uint32_t point = 0x80; point <= 0x10FFFF; point++) {
        if (utf8_is_control(point))
            ck_assert_msg(find(point) < INVISIBLE_UTF16, "U+%04X", point);
    }
}
END_TEST

START_TEST(text_in_utf16_is_known_by_its_mark)
{
    struct invisible found;

    ck_assert(invisible_find(text_of("\xFF\xFE{"), &found));
    ck_assert_uint_eq(found.row, INVISIBLE_UTF16);
    ck_assert(invisible_at_start(text_of("\xFE\xFF"), &found));
    ck_assert_uint_eq(found.row, INVISIBLE_UTF16);
    ck_assert(!invisible_find(text_of("a\xFF\xFE"), &found));
}
END_TEST

START_TEST(what_shows)
{
    static const struct {
        const char *text;
        bool shows;
    } cases[] = {
        {"", false},
        {" ", false},
        {"\t", false},
        {"\xE2\x80\x8B", false},                      /* U+200B */
        {" \xEF\xBB\xBF\xC2\xA0\xE3\x80\x80", false}, /* U+FEFF, U+00A0, U+3000 */
        {"\xE2\x80\x8D\xEF\xB8\x8F", false},          /* U+200D, U+FE0F */
        {"\xF3\xA0\x81\x81", false},                  /* U+E0041 */
        {"\xE3\x85\xA4", false},                      /* U+3164 */
        {"\xFF", false},
        {" a", true},
        {"\xE2\x80\x8B.", true},
        {"\xC3\xA9", true},                     /* U+00E9 */
        {"\xD9\x85\xE2\x80\x8C\xD9\x85", true}, /* U+0645 U+200C U+0645 */
        {"\xF0\x9F\x91\xA9", true},             /* U+1F469 */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(invisible_shows(text_of(cases[i].text)) == cases[i].shows, "%zu", i);
    ck_assert(!invisible_shows((struct text){0}));
}
END_TEST

START_TEST(bytes_that_are_not_utf8_are_passed_over)
{
    struct invisible found;

    ck_assert(!invisible_find((struct text){0}, &found));
    ck_assert(!invisible_find(text_of(""), &found));
    ck_assert(!invisible_find(text_of("\x80\xC2"), &found));
    /* The text ends within the character. */
    ck_assert(!invisible_find((struct text){.s = "\xEF\xBB\xBF", .len = 2}, &found));
    ck_assert(invisible_find(text_of("\xE2\x80\xE2\x80\x8B"), &found));
    ck_assert_uint_eq(found.offset, 2);
}
END_TEST

Suite *invisible_suite(void)
{
    Suite *suite = suite_create("base/invisible");
    TCase *tests = tcase_create("invisible");

    tcase_add_test(tests, every_row_is_found_and_nothing_beside_it);
    tcase_add_test(tests, controls_beyond_ascii_and_marks_of_direction_are_in_the_table);
    tcase_add_test(tests, text_in_utf16_is_known_by_its_mark);
    tcase_add_test(tests, what_shows);
    tcase_add_test(tests, bytes_that_are_not_utf8_are_passed_over);
    suite_add_tcase(suite, tests);
    return suite;
}
