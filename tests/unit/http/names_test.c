/* SPDX-License-Identifier: MIT */
/* Tests of the names that contain the service's own name. */
#include "http/names.h"

#include <check.h>

#include "suites.h"

#define LETTERS_32 "abcdefghijklmnopqrstuvwxyz012345"

START_TEST(valid_names)
{
    static const char *const good[] = {"a", "service", "ngrok", "a1", "z9z", LETTERS_32};
    static const char *const bad[] = {"",    "1a", "A",  "aB",  "a-b",  "a_b", "a b",
                                      "a.b", " a", "a ", "a\n", "\xC3", "a\"", (LETTERS_32 "x"),
                                      "9"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(names_valid(text_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!names_valid(text_of(bad[i])), "%s", bad[i]);
    ck_assert(!names_valid((struct text){0}));
    ck_assert(!names_valid((struct text){.s = "a\0b", .len = 3}));
}
END_TEST

START_TEST(names_of_the_default_service)
{
    struct http_names names;

    names_fill(&names, "service");
    ck_assert_str_eq(names.version_header, "Service-Version");
    ck_assert_str_eq(names.version_variable, "HTTP_SERVICE_VERSION");
    ck_assert_str_eq(names.operation_header, "Service-Operation-Id");
    ck_assert_str_eq(names.error_prefix, "ERR_SERVICE_");
    ck_assert_str_eq(names.cookie_prefix, "service.");
}
END_TEST

START_TEST(names_of_the_shortest_and_the_longest)
{
    struct http_names names;

    names_fill(&names, "x");
    ck_assert_str_eq(names.version_header, "X-Version");
    ck_assert_str_eq(names.cookie_prefix, "x.");
    names_fill(&names, LETTERS_32);
    ck_assert_str_eq(names.version_header, "Abcdefghijklmnopqrstuvwxyz012345-Version");
    ck_assert_str_eq(names.version_variable, "HTTP_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345_VERSION");
    ck_assert_str_eq(names.operation_header, "Abcdefghijklmnopqrstuvwxyz012345-Operation-Id");
    ck_assert_str_eq(names.error_prefix, "ERR_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345_");
    ck_assert_str_eq(names.cookie_prefix, LETTERS_32 ".");
}
END_TEST

Suite *names_suite(void)
{
    Suite *suite = suite_create("http/names");
    TCase *tcase = tcase_create("names");

    tcase_add_test(tcase, valid_names);
    tcase_add_test(tcase, names_of_the_default_service);
    tcase_add_test(tcase, names_of_the_shortest_and_the_longest);
    suite_add_tcase(suite, tcase);
    return suite;
}
