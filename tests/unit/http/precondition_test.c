/* SPDX-License-Identifier: MIT */
/* Tests of entity tags and conditions, from a case file. */
#include "http/precondition.h"

#include <check.h>
#include <string.h>

#include "../cases.h"
#include "../suites.h"

static const char *outcome(const struct request *request)
{
    static const char *const words[] = {
        [PRECONDITION_FAILED] = "failed",
        [PRECONDITION_NOT_MODIFIED] = "not_modified",
        [PRECONDITION_HOLDS] = "holds",
    };
    struct precondition condition;
    struct error err = {.code = ERR_NONE};

    if (!precondition_read(request, &condition, &err)) {
        ck_assert_int_eq(error_row(err.code)->status, 400);
        return error_row(err.code)->symbol;
    }
    ck_assert(precondition_given(&condition));
    return words[precondition_check(&condition, 42)];
}

static void check_case(const struct test_case *test)
{
    static const char match[] = "If-Match: ";
    static const char none_match[] = "If-None-Match: ";
    struct request request = {.if_match = NULL};

    if (strncmp(test->input, match, strlen(match)) == 0)
        request.if_match = test->input + strlen(match);
    else if (strncmp(test->input, none_match, strlen(none_match)) == 0)
        request.if_none_match = test->input + strlen(none_match);
    ck_assert_msg(strcmp(outcome(&request), test->expected) == 0, "%s:%d: %s (%s)", test->file,
                  test->line, outcome(&request), test->why);
}

START_TEST(conditions_of_case_file)
{
    cases_run("preconditions.cases", check_case);
}
END_TEST

START_TEST(both_headers)
{
    struct request request = {.if_match = NULL};
    struct precondition condition;
    struct error err;

    ck_assert(precondition_read(&request, &condition, &err));
    ck_assert(!precondition_given(&condition));
    ck_assert_int_eq(precondition_check(&condition, 42), PRECONDITION_HOLDS);
    /* If-Match goes first (RFC 9110, 13.2.2). */
    request.if_match = "\"41\"";
    request.if_none_match = "\"42\"";
    ck_assert_str_eq(outcome(&request), "failed");
    request.if_match = "\"42\"";
    ck_assert_str_eq(outcome(&request), "not_modified");
}
END_TEST

START_TEST(tags_come_back)
{
    static const int64_t revisions[] = {0, 1, 9, 10, 4294967296, INT64_MAX};

    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        struct request request = {.if_match = NULL};
        struct precondition condition;
        struct error err;
        char etag[ETAG_SIZE];

        etag_write(etag, revisions[i]);
        request.if_match = etag;
        ck_assert(precondition_read(&request, &condition, &err));
        ck_assert_uint_eq(condition.match.n, 1);
        ck_assert_int_eq(condition.match.items[0], revisions[i]);
    }
}
END_TEST

Suite *precondition_suite(void)
{
    Suite *suite = suite_create("http/precondition");
    TCase *tests = tcase_create("precondition");

    tcase_add_test(tests, conditions_of_case_file);
    tcase_add_test(tests, both_headers);
    tcase_add_test(tests, tags_come_back);
    suite_add_tcase(suite, tests);
    return suite;
}
