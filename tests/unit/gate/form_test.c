/* SPDX-License-Identifier: MIT */
/* Tests of the parameters that a provider's redirect brings. */
#include "gate/form.h"

#include <check.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cases.h"
#include "suites.h"

/* The query has memory of its own, so that a sanitizer sees a read past its end. */
static void expect_state(const struct test_case *test)
{
    char *query = malloc(test->input_len ? test->input_len : 1);
    struct arena arena = {0};
    struct buf found = {0};
    struct buf wanted = {0};
    struct text value;

    ck_assert_ptr_nonnull(query);
    memcpy(query, test->input, test->input_len);
    cases_unescape(&wanted, test->expected);
    if (!form_find((struct text){.s = query, .len = test->input_len}, "state", &arena, &value)) {
        buf_puts(&found, "bad");
    } else if (!value.s) {
        buf_puts(&found, "none");
    } else {
        ck_assert_int_eq(value.s[value.len], '\0');
        buf_puts(&found, "[");
        buf_add(&found, value.s, value.len);
        buf_puts(&found, "]");
    }
    ck_assert_msg(text_eq(buf_text(&found), buf_text(&wanted)), "%s:%d: %s (%s)", test->file,
                  test->line, found.data, test->why);
    buf_free(&found);
    buf_free(&wanted);
    arena_free(&arena);
    free(query);
}

START_TEST(parameters)
{
    cases_run("callbacks.cases", expect_state);
}
END_TEST

Suite *gate_form_suite(void)
{
    Suite *suite = suite_create("gate/form");
    TCase *tcase = tcase_create("form");

    tcase_add_test(tcase, parameters);
    suite_add_tcase(suite, tcase);
    return suite;
}
