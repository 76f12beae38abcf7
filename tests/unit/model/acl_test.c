/* SPDX-License-Identifier: MIT */
/* Tests of the ACL rules: their grammar, and which targets a list of them permits. */
#include "model/acl.h"

#include <check.h>
#include <stdlib.h>

#include "cases.h"
#include "suites.h"

#define RULES_MAX 8

static void check_rule(const struct test_case *test)
{
    const char *why = NULL;
    bool valid = acl_rule_valid((struct text){.s = test->input, .len = test->input_len}, &why);

    if (strcmp(test->expected, "ok") == 0) {
        ck_assert_msg(valid, "%s:%d: refused: %s", test->file, test->line, why);
        return;
    }
    ck_assert_msg(strncmp(test->expected, "bad: ", 5) == 0, "%s:%d: expects nothing known",
                  test->file, test->line);
    ck_assert_msg(!valid, "%s:%d: accepted (%s)", test->file, test->line, test->why);
    ck_assert_msg(why && strstr(why, test->expected + 5), "%s:%d: the reason is: %s", test->file,
                  test->line, why);
    ck_assert_msg(strstr(why, "A rule is '*', 'bind:<domain>'") != NULL,
                  "%s:%d: the reason does not show a rule: %s", test->file, test->line, why);
    ck_assert_msg(!(why[0] >= 'A' && why[0] <= 'Z'), "%s:%d: the reason follows a colon: %s",
                  test->file, test->line, why);
}

START_TEST(rules_of_case_file)
{
    cases_run("acl_rules.cases", check_rule);
}
END_TEST

START_TEST(rule_not_given)
{
    const char *why = NULL;

    ck_assert(!acl_rule_valid((struct text){0}, &why));
    ck_assert_ptr_nonnull(why);
}
END_TEST

/* Copies to memory of the exact size, so that a sanitizer sees a read past its end. */
static struct text exact_copy(struct text text)
{
    char *copy = malloc(text.len ? text.len : 1);

    ck_assert_ptr_nonnull(copy);
    if (text.len > 0)
        memcpy(copy, text.s, text.len);
    return (struct text){.s = copy, .len = text.len};
}

static const char *find_arrow(const struct test_case *test)
{
    for (const char *s = test->input; s + 3 <= test->input + test->input_len; s++) {
        if (memcmp(s, "-> ", 3) == 0 && (s == test->input || s[-1] == ' '))
            return s;
    }
    ck_abort_msg("%s:%d: no arrow", test->file, test->line);
}

static size_t split_rules(struct text *rules, const char *s, const char *end)
{
    size_t n = 0;

    while (s < end) {
        const char *space = memchr(s, ' ', (size_t)(end - s));

        ck_assert_uint_lt(n, RULES_MAX);
        rules[n++] = exact_copy((struct text){.s = s, .len = (size_t)(space - s)});
        s = space + 1;
    }
    return n;
}

static void check_match(const struct test_case *test)
{
    const char *arrow = find_arrow(test);
    const char *end = test->input + test->input_len;
    struct text items[RULES_MAX];
    struct text_list rules = {.items = items, .given = true};
    struct text target =
        exact_copy((struct text){.s = arrow + 3, .len = (size_t)(end - arrow - 3)});
    bool wanted = strcmp(test->expected, "permit") == 0;

    ck_assert_msg(wanted || strcmp(test->expected, "deny") == 0, "%s:%d: expects nothing known",
                  test->file, test->line);
    rules.n = split_rules(items, test->input, arrow);
    ck_assert_msg(acl_permits(rules, target) == wanted, "%s:%d: is not: %s (%s)", test->file,
                  test->line, test->expected, test->why);
    for (size_t i = 0; i < rules.n; i++)
        free((char *)items[i].s);
    free((char *)target.s);
}

START_TEST(matches_of_case_file)
{
    cases_run("acl_match.cases", check_match);
}
END_TEST

START_TEST(texts_not_given)
{
    struct text rule = text_of("bind:a.example");
    struct text none = {0};

    ck_assert(acl_permits((struct text_list){0}, text_of("a.example")));
    ck_assert(acl_permits((struct text_list){0}, none));
    ck_assert(!acl_permits((struct text_list){.items = &rule, .n = 1}, none));
    ck_assert(!acl_permits((struct text_list){.items = &none, .n = 1}, text_of("a.example")));
    ck_assert(!acl_permits((struct text_list){.items = &none, .n = 1}, none));
}
END_TEST

/* With any byte at any place of the target, an exact rule permits only the same name in any case.
 */
START_TEST(one_byte_changed)
{
    static const char name[] = "ab.example";
    struct text rule = text_of("bind:ab.example");
    struct text_list rules = {.items = &rule, .n = 1, .given = true};

    for (size_t at = 0; at < sizeof name - 1; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char target[sizeof name];
            bool same;

            memcpy(target, name, sizeof name);
            target[at] = (char)byte;
            same = byte == name[at] || (name[at] != '.' && byte == name[at] - 'a' + 'A');
            ck_assert_msg(acl_permits(rules, (struct text){target, sizeof name - 1}) == same,
                          "byte %d at %zu", byte, at);
        }
    }
}
END_TEST

/* A rule permits its own target. */
static void check_rule_permits_itself(const struct test_case *test)
{
    struct text rule = {.s = test->input, .len = test->input_len};
    struct text_list rules = {.items = &rule, .n = 1, .given = true};

    if (strcmp(test->expected, "ok") == 0 && rule.len > 5)
        ck_assert_msg(acl_permits(rules, (struct text){rule.s + 5, rule.len - 5}), "%s:%d",
                      test->file, test->line);
}

START_TEST(rules_permit_themselves)
{
    cases_run("acl_rules.cases", check_rule_permits_itself);
}
END_TEST

Suite *acl_suite(void)
{
    Suite *suite = suite_create("model/acl");
    TCase *rules = tcase_create("rules");
    TCase *matches = tcase_create("matches");

    tcase_add_test(rules, rules_of_case_file);
    tcase_add_test(rules, rule_not_given);
    tcase_add_test(matches, matches_of_case_file);
    tcase_add_test(matches, texts_not_given);
    tcase_add_test(matches, one_byte_changed);
    tcase_add_test(matches, rules_permit_themselves);
    suite_add_tcase(suite, rules);
    suite_add_tcase(suite, matches);
    return suite;
}
