/* SPDX-License-Identifier: MIT */
/* Tests of domains and addresses. */
#include "model/domain.h"

#include <check.h>

#include "cases.h"
#include "suites.h"

static void check_domain(const struct test_case *test, struct text text)
{
    const char *why = NULL;
    bool valid = domain_valid(text, &why);

    if (strcmp(test->expected, "ok") == 0) {
        ck_assert_msg(valid, "%s:%d: refused: %s", test->file, test->line, why);
        return;
    }
    ck_assert_msg(strncmp(test->expected, "bad: ", 5) == 0, "%s:%d: expects nothing known",
                  test->file, test->line);
    ck_assert_msg(!valid, "%s:%d: accepted (%s)", test->file, test->line, test->why);
    ck_assert_msg(why && strstr(why, test->expected + 5), "%s:%d: the reason is: %s", test->file,
                  test->line, why);
}

static void check_case(const struct test_case *test)
{
    struct text text = {.s = test->input, .len = test->input_len};
    unsigned char address[IPV6_SIZE];
    bool valid;

    if (strncmp(test->expected, "ipv", 3) != 0) {
        check_domain(test, text);
        return;
    }
    valid = test->expected[3] == '4' ? ipv4_valid(text) : ipv6_read(text, address);
    ck_assert_msg(valid == (strcmp(test->expected + 4, " ok") == 0), "%s:%d: is not: %s (%s)",
                  test->file, test->line, test->expected, test->why);
}

START_TEST(cases_of_file)
{
    cases_run("domains.cases", check_case);
}
END_TEST

START_TEST(texts_not_given)
{
    const char *why = NULL;
    unsigned char address[IPV6_SIZE];

    ck_assert(!domain_valid((struct text){0}, &why));
    ck_assert_ptr_nonnull(why);
    ck_assert(!domain_looks_like_ipv4((struct text){0}));
    ck_assert(!ipv4_valid((struct text){0}));
    ck_assert(!ipv6_read((struct text){0}, address));
}
END_TEST

/* Bytes after the length are not read. */
START_TEST(length_decides)
{
    const char *why;
    unsigned char address[IPV6_SIZE];

    ck_assert(domain_valid((struct text){"a.b..", 3}, &why));
    ck_assert(ipv4_valid((struct text){"1.2.3.45x", 8}));
    ck_assert(!ipv4_valid((struct text){"1.2.3.4", 6}));
    ck_assert(ipv6_read((struct text){"::1%lo", 3}, address));
    ck_assert(domain_looks_like_ipv4((struct text){"1.2x", 3}));
}
END_TEST

START_TEST(digits_and_dots)
{
    ck_assert(domain_looks_like_ipv4(text_of("1")));
    ck_assert(domain_looks_like_ipv4(text_of(".")));
    ck_assert(domain_looks_like_ipv4(text_of("999.1.2.3.4")));
    ck_assert(!domain_looks_like_ipv4(text_of("")));
    ck_assert(!domain_looks_like_ipv4(text_of("1.2.3.a")));
    ck_assert(!domain_looks_like_ipv4(text_of("1.2.3.4 ")));
    ck_assert(!domain_looks_like_ipv4(text_of("-1")));
    ck_assert(!domain_looks_like_ipv4(text_of("::1")));
}
END_TEST

START_TEST(value_of_ipv6)
{
    static const unsigned char wanted[IPV6_SIZE] = {0x20, 0x01, 0x0D, 0xB8, [14] = 0xFF, 0x01};
    unsigned char value[IPV6_SIZE];

    ck_assert(ipv6_read(text_of("2001:DB8::ff01"), value));
    ck_assert_mem_eq(value, wanted, sizeof value);
    ck_assert(ipv6_read(text_of("2001:0db8:0:0::0:0.0.255.1"), value));
    ck_assert_mem_eq(value, wanted, sizeof value);
}
END_TEST

static void check_ipv6_text(const struct test_case *test)
{
    unsigned char address[IPV6_SIZE];
    unsigned char again[IPV6_SIZE];
    char text[IPV6_TEXT_SIZE];

    ck_assert(ipv6_read((struct text){test->input, test->input_len}, address));
    ipv6_write(address, text);
    ck_assert_msg(strcmp(text, test->expected) == 0, "%s:%d: %s", test->file, test->line, text);
    ck_assert(ipv6_read(text_of(text), again));
    ck_assert_mem_eq(address, again, sizeof address);
}

START_TEST(ipv6_texts_of_case_file)
{
    cases_run("ipv6_texts.cases", check_ipv6_text);
}
END_TEST

Suite *domain_suite(void)
{
    Suite *suite = suite_create("model/domain");
    TCase *tests = tcase_create("domain");

    tcase_add_test(tests, cases_of_file);
    tcase_add_test(tests, texts_not_given);
    tcase_add_test(tests, length_decides);
    tcase_add_test(tests, digits_and_dots);
    tcase_add_test(tests, value_of_ipv6);
    tcase_add_test(tests, ipv6_texts_of_case_file);
    suite_add_tcase(suite, tests);
    return suite;
}
