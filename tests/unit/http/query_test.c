/* SPDX-License-Identifier: MIT */
/* Tests of query strings. */
#include "http/query.h"

#include <check.h>

#include "base/percent.h"
#include "cases.h"
#include "suites.h"

static const struct query_param params[] = {
    {.name = "limit"},
    {.name = "before_id", .alias = "beforeId"},
    {.name = NULL},
};

static void show(struct buf *out, struct text value)
{
    if (!value.s) {
        buf_puts(out, "-");
        return;
    }
    buf_puts(out, "[");
    for (size_t i = 0; i < value.len; i++) {
        if ((unsigned char)value.s[i] < 0x80)
            buf_add(out, &value.s[i], 1);
        else
            buf_printf(out, "\\x%02X", (unsigned char)value.s[i]);
    }
    buf_puts(out, "]");
}

static void check_query(const struct test_case *test)
{
    struct arena arena = {0};
    struct text values[2] = {{0}};
    struct error err = {.code = ERR_NONE};
    struct buf shown = {0};

    if (query_read(test->input, params, &arena, values, &err)) {
        show(&shown, values[0]);
        buf_puts(&shown, " ");
        show(&shown, values[1]);
        for (int i = 0; i < 2; i++)
            ck_assert(!values[i].s || values[i].s[values[i].len] == '\0');
    } else {
        buf_puts(&shown, error_row(err.code)->symbol);
        ck_assert_int_eq(error_row(err.code)->status, 400);
    }
    ck_assert_msg(strcmp(shown.data, test->expected) == 0, "%s:%d: %s (%s)", test->file, test->line,
                  shown.data, test->why);
    buf_free(&shown);
    arena_free(&arena);
}

START_TEST(queries_of_case_file)
{
    cases_run("query.cases", check_query);
}
END_TEST

/* Without a table, all well-formed parameters are unknown. */
static void check_without_table(const struct test_case *test)
{
    struct arena arena = {0};
    struct error err = {.code = ERR_NONE};
    bool empty = test->input[strspn(test->input, "&")] == '\0';
    bool ok = query_read(test->input, NULL, &arena, NULL, &err);

    ck_assert_msg(ok == empty, "%s:%d: %s", test->file, test->line, test->why);
    ck_assert(ok || err.code == ERR_QUERY_UNKNOWN || err.code == ERR_QUERY_MALFORMED);
    arena_free(&arena);
}

START_TEST(queries_without_table)
{
    cases_run("query.cases", check_without_table);
}
END_TEST

START_TEST(messages_name_the_parameter)
{
    struct arena arena = {0};
    struct text values[2] = {{0}};
    struct error err;

    ck_assert(!query_read("limt=5", params, &arena, values, &err));
    ck_assert_msg(strstr(err.msg, "'limt'") && strstr(err.msg, "limit, before_id"), "%s", err.msg);
    ck_assert(!query_read("beforeId=a&before_id=b", params, &arena, values, &err));
    ck_assert_msg(strstr(err.msg, "'before_id'") != NULL, "%s", err.msg);
    ck_assert(!query_read("limit=5", NULL, &arena, NULL, &err));
    ck_assert_msg(strstr(err.msg, "takes none") != NULL, "%s", err.msg);
    arena_free(&arena);
}
END_TEST

START_TEST(encoding)
{
    struct buf out = {0};
    struct buf all = {0};
    struct arena arena = {0};
    struct text values[2] = {{0}};
    struct error err;

    percent_encode(&out, text_of("AZaz09-._~"));
    ck_assert_str_eq(out.data, "AZaz09-._~");
    buf_clear(&out);
    percent_encode(&out, text_of(" +&=%/?#\"\xC3\xA9\n"));
    ck_assert_str_eq(out.data, "%20%2B%26%3D%25%2F%3F%23%22%C3%A9%0A");
    buf_clear(&out);
    /* Encoded text decodes to the same bytes. */
    for (char c = 1; c < 0x7F; c++)
        buf_add(&all, &c, 1);
    buf_puts(&out, "before_id=");
    percent_encode(&out, buf_text(&all));
    ck_assert(query_read(out.data, params, &arena, values, &err));
    ck_assert(text_eq(values[1], buf_text(&all)));
    buf_free(&out);
    buf_free(&all);
    arena_free(&arena);
}
END_TEST

Suite *query_suite(void)
{
    Suite *suite = suite_create("http/query");
    TCase *tcase = tcase_create("query");

    tcase_add_test(tcase, queries_of_case_file);
    tcase_add_test(tcase, queries_without_table);
    tcase_add_test(tcase, messages_name_the_parameter);
    tcase_add_test(tcase, encoding);
    suite_add_tcase(suite, tcase);
    return suite;
}
