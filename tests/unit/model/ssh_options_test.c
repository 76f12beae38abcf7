/* SPDX-License-Identifier: MIT */
/* Tests of the options of a line of authorized_keys(5). */
#include "model/ssh_options.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "suites.h"

#define RULES_MAX 8
#define RULE_SIZE 300

/* Splits at a separator.  Empty parts are left out. */
static struct text_list parts_of(struct text text, char separator, struct text *items)
{
    struct text_list list = {.items = items, .given = true};
    size_t from = 0;

    for (size_t to = 0; to <= text.len; to++) {
        if (to < text.len && text.s[to] != separator)
            continue;
        ck_assert_uint_lt(list.n, RULES_MAX);
        if (to > from)
            items[list.n++] = text_part(text, from, to);
        from = to + 1;
    }
    return list;
}

static void check_options(const struct test_case *test)
{
    struct text input = {test->input, test->input_len};
    const char *arrow = strstr(test->input, "-> ");
    struct text items[RULES_MAX];
    struct ssh_domain_ports ports;
    struct buf out = {0};
    const char *why;
    size_t at;

    ck_assert_msg(arrow != NULL, "%s:%d: no arrow", test->file, test->line);
    at = (size_t)(arrow - test->input);
    for (size_t i = 0; i < at; i++) {
        if (test->input[i] == ',')
            test->input[i] = ' ';
    }
    ck_assert(ssh_domain_ports_read(text_part(input, 0, at), &ports, &why));
    buf_puts(&out, "before ");
    ck_assert(ssh_options_write(&out, parts_of(text_part(input, at + 3, input.len), ' ', items),
                                &ports, &why));
    ck_assert_msg(text_begins(buf_text(&out), "before restrict"), "%s:%d: %s", test->file,
                  test->line, out.data);
    ck_assert_msg(strcmp(out.data + 15, test->expected) == 0, "%s:%d: %s", test->file, test->line,
                  out.data);
    ck_assert_uint_eq(strlen(out.data), out.len);
    buf_free(&out);
}

START_TEST(options_of_case_file)
{
    cases_run("ssh_options.cases", check_options);
}
END_TEST

/* Without ports a domain opens nothing, and "port-forwarding" alone would open everything. */
START_TEST(domain_without_ports)
{
    struct text rule = text_of("bind:a.example");
    struct text_list rules = {.items = &rule, .n = 1, .given = true};
    struct buf out = {0};
    const char *why;

    ck_assert(ssh_options_write(&out, rules, &(struct ssh_domain_ports){0}, &why));
    ck_assert_str_eq(out.data, "restrict");
    buf_free(&out);
}
END_TEST

START_TEST(rules_not_given)
{
    struct text none[] = {{0}, text_of("")};
    struct text_list rules = {.items = none, .n = 2, .given = true};
    struct buf out = {0};
    const char *why;

    ck_assert(ssh_options_write(&out, rules, &(struct ssh_domain_ports){.any = true}, &why));
    ck_assert_str_eq(out.data, "restrict");
    buf_free(&out);
}
END_TEST

/* ---- limits ---- */

/* Makes the rules "bind:PREFIX<i>:1", with and without capitals in turn for the same i. */
static struct text_list many_rules(size_t n, size_t n_distinct, const char *prefix)
{
    struct text_list rules = {.items = calloc(n, sizeof(struct text)), .n = n, .given = true};
    char *texts = calloc(n, RULE_SIZE);

    ck_assert(rules.items && texts);
    for (size_t i = 0; i < n; i++) {
        char *text = texts + i * RULE_SIZE;

        snprintf(text, RULE_SIZE, "bind:%c%s%zu:1", i < n_distinct ? 'a' : 'A', prefix,
                 i % n_distinct);
        rules.items[i] = text_of(text);
    }
    return rules;
}

static void free_rules(struct text_list rules)
{
    free((char *)rules.items[0].s);
    free(rules.items);
}

static void check_limit(size_t n, size_t n_distinct, const char *prefix, const char *reason)
{
    struct text_list rules = many_rules(n, n_distinct, prefix);
    struct buf out = {0};
    const char *why = NULL;
    bool written;

    buf_puts(&out, "before");
    written = ssh_options_write(&out, rules, &(struct ssh_domain_ports){0}, &why);
    ck_assert_int_eq(written, reason == NULL);
    if (reason) {
        ck_assert_ptr_nonnull(strstr(why, reason));
        ck_assert_str_eq(out.data, "before");
    } else {
        ck_assert_uint_le(out.len, strlen("before") + SSH_OPTIONS_MAX);
    }
    buf_free(&out);
    free_rules(rules);
}

START_TEST(listens_limited)
{
    check_limit(4096, 4096, "", NULL);
    check_limit(8192, 4096, "", NULL);
    check_limit(4097, 4097, "", "4096 distinct");
}
END_TEST

/* How much of what sshd takes. */
START_TEST(measured)
{
    static const struct {
        size_t n, n_ports;
        bool is_too_much;
    } cases[] = {{2048, 1, false}, {1024, 2, false}, {1366, 3, true}, {1500, 3, true}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ssh_domain_ports ports = {.ports = {1, 2, 3}, .n = cases[i].n_ports};
        struct text_list rules = many_rules(cases[i].n, cases[i].n, "");
        double share;

        for (size_t j = 0; j < rules.n; j++)
            rules.items[j].len -= 2; /* a domain */
        ck_assert(ssh_options_measure(rules, &ports, &share));
        ck_assert(cases[i].is_too_much ? share > 1 : share == 0.5);
        ck_assert(ssh_options_share(rules) == (double)rules.n / SSH_LISTENS_MAX);
        free_rules(rules);
    }
}
END_TEST

START_TEST(bytes_limited)
{
    char label[59] = "";

    memset(label, 'b', sizeof label - 1);
    check_limit(2200, 2200, label, NULL);
    check_limit(2600, 2600, label, "200 KiB");
}
END_TEST

/* ---- ports ---- */

static void check_ports(const char *words, size_t n, bool any)
{
    struct ssh_domain_ports ports;
    const char *why;

    ck_assert_msg(ssh_domain_ports_read(text_of(words), &ports, &why), "%s", words);
    ck_assert_uint_eq(ports.n, n);
    ck_assert_int_eq(ports.any, any);
}

START_TEST(ports_read)
{
    struct ssh_domain_ports ports;
    const char *why;

    check_ports("8080", 1, false);
    check_ports("8080 8443", 2, false);
    check_ports("  1\t65535 ", 2, false);
    check_ports("8080 8443 8080", 2, false);
    check_ports("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16", 16, false);
    check_ports("*", 0, true);
    ck_assert(ssh_domain_ports_read(text_of("80 443"), &ports, &why));
    ck_assert_uint_eq(ports.ports[0], 80);
    ck_assert_uint_eq(ports.ports[1], 443);
}
END_TEST

START_TEST(ports_refused)
{
    static const char *const refused[] = {
        "",       " ",       "0",      "65536", "080",
        "80,443", "80 *",    "* ",     "-1",    "+80",
        "http",   "80\n443", "8080 x", "80 0",  "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"};
    struct ssh_domain_ports ports;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const char *why = NULL;

        ck_assert_msg(!ssh_domain_ports_read(text_of(refused[i]), &ports, &why), "%s", refused[i]);
        ck_assert_ptr_nonnull(why);
    }
    ck_assert(!ssh_domain_ports_read((struct text){0}, &ports, &(const char *){NULL}));
}
END_TEST

Suite *ssh_options_suite(void)
{
    Suite *suite = suite_create("model/ssh_options");
    TCase *options = tcase_create("options");
    TCase *ports = tcase_create("ports");

    tcase_add_test(options, options_of_case_file);
    tcase_add_test(options, domain_without_ports);
    tcase_add_test(options, rules_not_given);
    tcase_add_test(options, listens_limited);
    tcase_add_test(options, measured);
    tcase_add_test(options, bytes_limited);
    tcase_add_test(ports, ports_read);
    tcase_add_test(ports, ports_refused);
    suite_add_tcase(suite, options);
    suite_add_tcase(suite, ports);
    return suite;
}
