/* SPDX-License-Identifier: MIT */
/* Tests of the JSON writer. */
#include "json/write.h"

#include <check.h>

#include "base/utf8.h"
#include "json/check.h"
#include "suites.h"

/* Compares the output, and empties it. */
static void expect(struct buf *out, const char *wanted)
{
    ck_assert(!out->failed);
    ck_assert_str_eq(buf_text(out).s, wanted);
    buf_free(out);
}

START_TEST(commas)
{
    struct buf out = {0};

    json_open(&out, '{');
    json_put_name(&out, "a");
    json_put_uint(&out, 1);
    json_put_name(&out, "b");
    json_open(&out, '[');
    json_put_bool(&out, true);
    json_put_bool(&out, false);
    json_put_null(&out);
    json_open(&out, '{');
    json_close(&out, '}');
    json_open(&out, '[');
    json_close(&out, ']');
    json_put_text(&out, text_of(""));
    json_close(&out, ']');
    json_put_name(&out, "c");
    json_open(&out, '{');
    json_put_name(&out, "d");
    json_put_text(&out, text_of("e"));
    json_close(&out, '}');
    json_put_name(&out, "f");
    json_put_null(&out);
    json_close(&out, '}');
    expect(&out, "{\"a\":1,\"b\":[true,false,null,{},[],\"\"],\"c\":{\"d\":\"e\"},\"f\":null}");
}
END_TEST

/* A comma follows a string even if it ends in a character of the grammar. */
START_TEST(commas_behind_strings)
{
    static const char *const values[] = {"[", "{", ":", ",", "\"", "\\"};
    struct buf out = {0};

    json_open(&out, '[');
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        json_put_text(&out, text_of(values[i]));
    json_close(&out, ']');
    expect(&out, "[\"[\",\"{\",\":\",\",\",\"\\\"\",\"\\\\\"]");
}
END_TEST

START_TEST(escapes)
{
    struct buf out = {0};

    json_put_text(&out, text_of("\"\\/\b\f\n\r\t\x01\x1F\x7F<>&'"));
    expect(&out, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f<>&'\"");
    json_put_text(&out, (struct text){"a\0b", 3});
    expect(&out, "\"a\\u0000b\"");
    json_put_text(&out, text_of("\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80"));
    expect(&out, "\"\xC3\xA9\\u2028\xF0\x9F\x98\x80\"");
}
END_TEST

/* Each control character is escaped, in a string and in JSON of others, and nothing else beyond
 * ASCII is, at each place in a text. */
START_TEST(control_characters)
{
    for (uint32_t point = 0x7F; point < 0x3000; point++) {
        for (size_t before = 0; before < 34; before++) {
            unsigned char bytes[4];
            size_t len = utf8_encode(bytes, point);
            struct buf value = {0};
            struct buf wanted = {0};
            struct buf out = {0};

            buf_printf(&value, "\xC3\xA9%.*s%.*s%.*sz", (int)before,
                       "0123456789012345678901234567890123456789", (int)len, (char *)bytes,
                       (int)len, (char *)bytes);
            buf_printf(&wanted, "\"\xC3\xA9%.*s", (int)before,
                       "0123456789012345678901234567890123456789");
            for (int i = 0; i < 2; i++) {
                if (utf8_is_control(point))
                    buf_printf(&wanted, "\\u%04x", (unsigned)point);
                else
                    buf_add(&wanted, (char *)bytes, len);
            }
            buf_puts(&wanted, "z\"");
            json_put_text(&out, buf_text(&value));
            ck_assert_str_eq(buf_text(&out).s, buf_text(&wanted).s);
            buf_free(&out);
            buf_printf(&out, "\"%s\"", buf_text(&value).s);
            buf_free(&value);
            json_add_raw(&value, buf_text(&out));
            ck_assert_str_eq(buf_text(&value).s, buf_text(&wanted).s);
            buf_free(&out);
            buf_free(&value);
            buf_free(&wanted);
        }
    }
}
END_TEST

/* The output passes the strict check with all characters in it. */
START_TEST(every_character_passes_the_check)
{
    for (int c = 1; c < 128; c++) {
        struct buf out = {0};
        struct error err;
        char value[] = {(char)c, 'x', (char)c, '\0'};

        json_open(&out, '{');
        json_put_member(&out, "a", text_of(value));
        json_close(&out, '}');
        ck_assert_msg(json_check(out.data, out.len, &err), "%d: %s: %s", c, out.data, err.msg);
        buf_free(&out);
    }
}
END_TEST

START_TEST(length_decides)
{
    struct buf out = {0};

    json_put_text(&out, (struct text){"abcdef", 3});
    expect(&out, "\"abc\"");
    json_put_text(&out, (struct text){"", 0});
    expect(&out, "\"\"");
    json_put_text(&out, (struct text){0});
    expect(&out, "null");
}
END_TEST

START_TEST(numbers)
{
    struct buf out = {0};

    json_open(&out, '[');
    json_put_uint(&out, 0);
    json_put_uint(&out, 10);
    json_put_uint(&out, UINT32_MAX);
    json_put_uint(&out, UINT64_MAX);
    json_close(&out, ']');
    expect(&out, "[0,10,4294967295,18446744073709551615]");
}
END_TEST

START_TEST(lists_of_texts)
{
    struct text items[] = {text_of("a"), text_of(""), text_of("\"")};
    struct buf out = {0};

    json_put_texts(&out, (struct text_list){.items = items, .n = 3, .given = true});
    expect(&out, "[\"a\",\"\",\"\\\"\"]");
    json_put_texts(&out, (struct text_list){.given = true});
    expect(&out, "[]");
    json_put_texts(&out, (struct text_list){0});
    expect(&out, "[]");
    json_open(&out, '[');
    json_put_texts(&out, (struct text_list){0});
    json_put_texts(&out, (struct text_list){.items = items, .n = 1, .given = true});
    json_close(&out, ']');
    expect(&out, "[[],[\"a\"]]");
}
END_TEST

/* A member is its name and its value. */
START_TEST(text_members)
{
    static const char *const values[] = {"",
                                         "b",
                                         "\"",
                                         "a long value with\nan escape in it",
                                         "a long value that ends in an escape\\",
                                         NULL};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct buf out = {0};
        struct buf wanted = {0};

        json_open(&out, '{');
        json_open(&wanted, '{');
        for (int k = 0; k < 2; k++) {
            json_put_member(&out, "name", text_of(values[i]));
            json_put_name(&wanted, "name");
            json_put_text(&wanted, text_of(values[i]));
        }
        ck_assert(!wanted.failed);
        expect(&out, buf_text(&wanted).s);
        buf_free(&wanted);
    }
}
END_TEST

/* Most of this string is escapes, so it takes more room than its bytes. */
START_TEST(string_of_escapes)
{
    struct buf out = {0};
    char value[300];

    memset(value, '\x02', sizeof value);
    json_put_text(&out, (struct text){value, sizeof value});
    ck_assert(!out.failed);
    ck_assert_uint_eq(out.len, 2 + 6 * sizeof value);
    for (size_t at = 1; at + 1 < out.len; at += 6)
        ck_assert(memcmp(out.data + at, "\\u0002", 6) == 0);
    ck_assert_int_eq(out.data[out.len], 0);
    buf_free(&out);
}
END_TEST

START_TEST(raw_values)
{
    struct buf out = {0};

    json_open(&out, '[');
    json_put_raw(&out, text_of("{\"a\": 1}"));
    json_put_raw(&out, text_of("-1"));
    json_close(&out, ']');
    expect(&out, "[{\"a\": 1},-1]");
}
END_TEST

START_TEST(failure_is_kept)
{
    struct buf out = {.failed = true};

    json_open(&out, '{');
    json_put_name(&out, "a");
    json_put_uint(&out, 1);
    json_close(&out, '}');
    ck_assert(out.failed);
    ck_assert_uint_eq(out.len, 0);
}
END_TEST

Suite *json_write_suite(void)
{
    Suite *suite = suite_create("json/write");
    TCase *tests = tcase_create("json_write");

    tcase_add_test(tests, commas);
    tcase_add_test(tests, commas_behind_strings);
    tcase_add_test(tests, escapes);
    tcase_add_test(tests, control_characters);
    tcase_add_test(tests, every_character_passes_the_check);
    tcase_add_test(tests, length_decides);
    tcase_add_test(tests, numbers);
    tcase_add_test(tests, lists_of_texts);
    tcase_add_test(tests, text_members);
    tcase_add_test(tests, string_of_escapes);
    tcase_add_test(tests, raw_values);
    tcase_add_test(tests, failure_is_kept);
    suite_add_tcase(suite, tests);
    return suite;
}
