/* SPDX-License-Identifier: MIT */
/* Tests of the strict JSON check. */
#include "json/check.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cases.h"
#include "suites.h"

/* Checks a copy in memory of its exact size, so that a sanitizer sees a read past its end. */
static bool check_copy(const char *s, size_t len, struct error *err)
{
    char *copy = malloc(len ? len : 1);
    bool ok;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, s, len);
    memset(err, 0xA5, sizeof *err);
    ok = json_check(copy, len, err);
    free(copy);
    return ok;
}

static void check_refusal(const struct test_case *test, const struct error *err)
{
    char at[32];

    snprintf(at, sizeof at, "bad@%zu", err->offset);
    ck_assert_msg(err->code == ERR_BODY_NOT_JSON && err->has_offset, "%s:%d: the error is %s",
                  test->file, test->line, error_row(err->code)->symbol);
    ck_assert_msg(strcmp(at, test->expected) == 0, "%s:%d: %s, not %s: %s (%s)", test->file,
                  test->line, at, test->expected, err->msg, test->why);
    ck_assert_msg(strchr(err->msg, '.') > err->msg && utf8_valid(err->msg, strlen(err->msg)),
                  "%s:%d: the message is: %s", test->file, test->line, err->msg);
}

/* A body that is cut anywhere is refused, with an offset inside it. */
static void check_cuts(const struct test_case *test)
{
    const char *brace = memrchr(test->input, '}', test->input_len);
    struct error err;

    for (size_t len = 0; len <= (size_t)(brace - test->input); len++) {
        bool ok = check_copy(test->input, len, &err);

        if (ok || err.offset > len)
            ck_abort_msg("%s:%d: cut at %zu: %s", test->file, test->line, len,
                         ok ? "accepted" : err.msg);
    }
}

static void check_case(const struct test_case *test)
{
    struct error err;
    bool ok = check_copy(test->input, test->input_len, &err);

    if (strcmp(test->expected, "ok") != 0) {
        ck_assert_msg(!ok, "%s:%d: accepted (%s)", test->file, test->line, test->why);
        check_refusal(test, &err);
        return;
    }
    ck_assert_msg(ok, "%s:%d: refused: %s (%s)", test->file, test->line, err.msg, test->why);
    if (test->input_len <= 300)
        check_cuts(test);
}

START_TEST(cases_of_file)
{
    cases_run("json.cases", check_case);
}
END_TEST

/* The table of names has room for the shortest members.  If it were too small, a search for a free
 * slot would never end. */
START_TEST(many_shortest_members)
{
    for (int n = 1; n < 200; n++) {
        struct buf body = {0};
        struct error err;

        buf_puts(&body, "{\"a\":[");
        for (int i = 0; i < n; i++)
            buf_puts(&body, i ? ",{\"\":0}" : "{\"\":0}");
        buf_puts(&body, "]}");
        ck_assert_msg(json_check(body.data, body.len, &err), "%d: %s", n, err.msg);
        buf_free(&body);
    }
}
END_TEST

static void add_members(struct buf *body, int n)
{
    buf_puts(body, "{");
    for (int i = 0; i < n; i++)
        buf_printf(body, "%s\"%d\":0", i ? "," : "", i);
}

START_TEST(as_many_names_as_values)
{
    struct buf body = {0};
    struct error err;
    size_t len;

    add_members(&body, JSON_MAX_VALUES - 1);
    len = body.len;
    buf_puts(&body, "}");
    ck_assert_msg(json_check(body.data, body.len, &err), "%s", err.msg);
    body.len = len;
    buf_puts(&body, ",\"1234\":0}");
    ck_assert(!json_check(body.data, body.len, &err));
    ck_assert_msg(err.offset == len + 1, "%zu: %s", err.offset, err.msg);
    body.len = len;
    buf_puts(&body, ",\"last\":0}");
    ck_assert(!json_check(body.data, body.len, &err));
    ck_assert_msg(err.offset == len + 8, "%zu: %s", err.offset, err.msg);
    buf_free(&body);
}
END_TEST

/* An answer may have more values than the body that it is from. */
START_TEST(an_answer_as_a_body)
{
    struct buf body = {0};
    struct error err;
    size_t len;

    add_members(&body, JSON_MAX_VALUES + JSON_ADDED_VALUES - 1);
    len = body.len;
    buf_puts(&body, "}");
    ck_assert(!json_check(body.data, body.len, &err));
    ck_assert_msg(json_check_answer(body.data, body.len, &err), "%s", err.msg);
    body.len = len;
    buf_puts(&body, ",\"last\":0}");
    ck_assert(!json_check_answer(body.data, body.len, &err));
    ck_assert_msg(err.offset == len + 8, "%zu: %s", err.offset, err.msg);
    ck_assert(!json_check_answer("[]", 2, &err));
    buf_free(&body);
}
END_TEST

/* Names that differ only in the first or the last byte are different names. */
START_TEST(names_that_differ_in_one_byte)
{
    struct buf body = {0};
    struct error err;

    buf_puts(&body, "{\"");
    for (int i = 0; i < 90; i++) {
        char c = (char)('!' + i);

        if (c != '"' && c != '\\')
            buf_printf(&body, "%caaaaaaaaaaaaaaaa\":0,\"aaaaaaaaaaaaaaaa %c\":0,\"", c, c);
    }
    buf_puts(&body, "\":0}");
    ck_assert_msg(json_check(body.data, body.len, &err), "%s", err.msg);
    buf_free(&body);
}
END_TEST

Suite *json_check_suite(void)
{
    Suite *suite = suite_create("json/check");
    TCase *json = tcase_create("json");

    tcase_set_timeout(json, 60);
    tcase_add_test(json, cases_of_file);
    tcase_add_test(json, many_shortest_members);
    tcase_add_test(json, as_many_names_as_values);
    tcase_add_test(json, an_answer_as_a_body);
    tcase_add_test(json, names_that_differ_in_one_byte);
    suite_add_tcase(suite, json);
    return suite;
}
