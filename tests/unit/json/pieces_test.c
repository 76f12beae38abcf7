/* SPDX-License-Identifier: MIT */
/* Tests of walking JSON piece by piece, and of indenting it. */
#include "json/pieces.h"

#include <check.h>

#include "json/indent.h"
#include "suites.h"

/* Walks an object or a list.  Returns the pieces with '|' behind each, or the error at its offset.
 */
static const char *walk(struct buf *out, const char *text)
{
    struct json_pieces pieces;
    struct text whole = text_of(text);
    struct text piece = {0};
    struct text name = {0};
    struct error err;

    buf_clear(out);
    if (!json_whole_piece(whole, &piece, &err) ||
        !json_pieces_begin(&pieces, whole, piece, piece.s[0] == '[', &err))
        goto wrong;
    for (;;) {
        if (!json_pieces_next(&pieces, &name, &piece, &err))
            goto wrong;
        if (!piece.s)
            return buf_text(out).s;
        if (!pieces.is_list)
            buf_printf(out, "%.*s=", (int)name.len, name.s);
        buf_printf(out, "%.*s|", (int)piece.len, piece.s);
    }
wrong:
    buf_clear(out);
    buf_printf(out, "%zu %s", err.has_offset ? err.offset : 0, err.msg);
    return buf_text(out).s;
}

START_TEST(pieces)
{
    struct buf out = {0};

    ck_assert_str_eq(walk(&out, "[]"), "");
    ck_assert_str_eq(walk(&out, " { } "), "");
    ck_assert_str_eq(walk(&out, "[1, \"a]\\\"\" ,[[],{\"]\":\"}\"}], null\n]"),
                     "1|\"a]\\\"\"|[[],{\"]\":\"}\"}]|null|");
    ck_assert_str_eq(walk(&out, "{\"a\" : {\"b\":[1]} , \"\":2}"), "a={\"b\":[1]}|=2|");
    buf_free(&out);
}
END_TEST

START_TEST(faults)
{
    struct buf out = {0};

    ck_assert_str_eq(walk(&out, ""), "0 The text ends before its JSON is complete.");
    ck_assert_str_eq(walk(&out, "1"), "0 This must be an object.");
    ck_assert_str_eq(walk(&out, "[] []"), "3 Something follows the JSON value.");
    ck_assert_str_eq(walk(&out, "[1"), "2 The text ends before its JSON is complete.");
    ck_assert_str_eq(walk(&out, "[1 2]"), "3 A comma or ']' is missing here.");
    ck_assert_str_eq(walk(&out, "[1}"), "2 A comma or ']' is missing here.");
    ck_assert_str_eq(walk(&out, "[1,]"), "3 There is no JSON value here.");
    ck_assert_str_eq(walk(&out, "[,1]"), "1 There is no JSON value here.");
    ck_assert_str_eq(walk(&out, "{\"a\"}"), "4 A colon is missing here.");
    ck_assert_str_eq(walk(&out, "{a:1}"), "1 A member's name, in quotes, is missing here.");
    ck_assert_str_eq(walk(&out, "{\"\\u0061\":1}"),
                     "1 A member's name has an escape; give it without.");
    ck_assert_str_eq(walk(&out, "{\"a\":1 \"b\":2}"), "7 A comma or '}' is missing here.");
    ck_assert_str_eq(walk(&out, "{\"a"), "3 The text ends before its JSON is complete.");
    ck_assert_str_eq(walk(&out, "[\"a\\"), "4 The text ends before its JSON is complete.");
    buf_free(&out);
}
END_TEST

static void expect_indented(const char *written, size_t depth, const char *wanted)
{
    struct buf out = {0};

    json_indent(&out, text_of(written), depth);
    ck_assert_str_eq(buf_text(&out).s, wanted);
    buf_free(&out);
}

START_TEST(indented)
{
    expect_indented("{}", 0, "{}");
    expect_indented("{\"a\":[],\"b\":{}}", 0, "{\n  \"a\": [],\n  \"b\": {}\n}");
    expect_indented("[1,{\"a\":true}]", 1, "[\n    1,\n    {\n      \"a\": true\n    }\n  ]");
    expect_indented("[\"{,}:[]\\\"\\\\\",\"\"]", 0, "[\n  \"{,}:[]\\\"\\\\\",\n  \"\"\n]");
}
END_TEST

Suite *json_pieces_suite(void)
{
    Suite *suite = suite_create("json/pieces");
    TCase *tcase = tcase_create("pieces");

    tcase_add_test(tcase, pieces);
    tcase_add_test(tcase, faults);
    tcase_add_test(tcase, indented);
    suite_add_tcase(suite, tcase);
    return suite;
}
