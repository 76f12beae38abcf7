/* SPDX-License-Identifier: MIT */
/* Tests of the ACL rules: their grammar, and which targets a list of them permits. */
#include "model/acl_cover.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases.h"
#include "suites.h"

#define RULES_MAX 8
#define LISTS_MAX 4
#define MADE_RULES 12
#define MADE_SIZE 24

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

/* ---- several lists ---- */

START_TEST(rule_that_permits)
{
    struct text items[] = {text_of("bind:k=v"), text_of("bind:*.example"),
                           text_of("bind:a.example")};
    struct text_list rules = {.items = items, .n = 3, .given = true};
    struct text rule;

    ck_assert(acl_permitting(rules, text_of("a.example"), &rule));
    ck_assert_ptr_eq(rule.s, items[1].s);
    ck_assert(acl_permitting(rules, text_of("k=v"), &rule));
    ck_assert_ptr_eq(rule.s, items[0].s);
    ck_assert(!acl_permitting(rules, text_of("b"), &rule));
    ck_assert_ptr_null(rule.s);
    ck_assert(acl_permitting((struct text_list){0}, text_of("b"), &rule));
    ck_assert_ptr_null(rule.s);
}
END_TEST

/* Splits words at single spaces. */
static struct text_list words_of(struct text words, struct text *items)
{
    struct text_list list = {.items = items, .given = true};
    size_t from = 0;

    for (size_t to = 0; to <= words.len; to++) {
        if (to < words.len && words.s[to] != ' ')
            continue;
        ck_assert_uint_lt(list.n, RULES_MAX);
        if (to > from)
            items[list.n++] = text_part(words, from, to);
        from = to + 1;
    }
    return list;
}

static bool covers(struct text_list now, struct text_list before)
{
    struct acl_cover cover;
    bool includes;

    ck_assert(acl_cover_read(now, &cover));
    includes = acl_cover_includes(&cover, before);
    acl_cover_free(&cover);
    return includes;
}

static void check_cover(const struct test_case *test)
{
    const char *arrow = find_arrow(test);
    struct text input = {test->input, test->input_len};
    size_t at = (size_t)(arrow - test->input);
    struct text items[2][RULES_MAX];
    struct text_list now = words_of(text_part(input, 0, at), items[0]);
    struct text_list before = words_of(text_part(input, at + 3, input.len), items[1]);
    bool wanted = strcmp(test->expected, "covers") == 0;

    ck_assert_msg(wanted || strcmp(test->expected, "lacks") == 0, "%s:%d: expects nothing known",
                  test->file, test->line);
    ck_assert_msg(covers(now, before) == wanted, "%s:%d: is not: %s (%s)", test->file, test->line,
                  test->expected, test->why);
}

START_TEST(covers_of_case_file)
{
    cases_run("acl_covers.cases", check_cover);
}
END_TEST

static size_t split_lists(const struct test_case *test, struct text_list *lists,
                          struct text items[][RULES_MAX])
{
    struct text input = {test->input, test->input_len};
    size_t from = 0;
    size_t n = 0;

    for (size_t to = 0; to <= input.len; to++) {
        if (to < input.len && input.s[to] != '|')
            continue;
        ck_assert_uint_lt(n, LISTS_MAX);
        lists[n] = words_of(text_part(input, from, to), items[n]);
        from = to + 1;
        n++;
    }
    return n;
}

static void check_union(const struct test_case *test)
{
    struct text items[LISTS_MAX][RULES_MAX];
    struct text_list lists[LISTS_MAX];
    size_t n = split_lists(test, lists, items);
    struct arena arena = {0};
    struct text_list united;
    struct buf words = {0};

    ck_assert(acl_unite(lists, n, &arena, &united));
    ck_assert(united.given);
    for (size_t i = 0; i < united.n; i++) {
        buf_puts(&words, i > 0 ? " " : "");
        buf_add(&words, united.items[i].s, united.items[i].len);
    }
    ck_assert_msg(text_eq(buf_text(&words), text_of(test->expected)), "%s:%d: %s (%s)", test->file,
                  test->line, buf_text(&words).s, test->why);
    buf_free(&words);
    arena_free(&arena);
}

START_TEST(unions_of_case_file)
{
    cases_run("acl_unite.cases", check_union);
}
END_TEST

/* An array in PostgreSQL may have NULL.  A list of it permits nothing, and so does the union. */
START_TEST(union_of_absent_rules)
{
    struct text items[] = {{0}, text_of(""), {0}};
    struct text_list list = {.items = items, .n = 3, .given = true};
    struct arena arena = {0};
    struct text_list united;

    ck_assert(acl_unite(&list, 1, &arena, &united));
    ck_assert_uint_eq(united.n, 2);
    ck_assert_ptr_null(united.items[0].s);
    ck_assert(!acl_permits(united, text_of("a.example")));
    ck_assert(covers(united, list));
    ck_assert(!covers(united, (struct text_list){0}));
    arena_free(&arena);
}
END_TEST

static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245 + 12345;
    return *state >> 16;
}

/* Fills the list with rules that a simple generator makes of few letters, so that many of them
 * meet.
 */
static void make_rules(struct text *items, char texts[][MADE_SIZE], size_t n, unsigned *state)
{
    static const char *const ends[] = {"", "", ":1", ":2"};

    for (size_t i = 0; i < n; i++) {
        char *at = texts[i] + snprintf(texts[i], MADE_SIZE, "bind:");
        unsigned n_labels = 1 + next_random(state) % 3;
        bool any_below = next_random(state) % 4 == 0;

        if (any_below)
            at += snprintf(at, 3, "*.");
        for (unsigned label = 0; label < n_labels; label++)
            at += snprintf(at, 4, "%s%c", label ? "." : "", "abA"[next_random(state) % 3]);
        snprintf(at, 3, "%s", any_below ? "" : ends[next_random(state) % 4]);
        items[i] = text_of(texts[i]);
    }
}

/* acl_cover_includes() finds sorted targets; acl_permits() looks at all rules. */
START_TEST(covers_as_permits)
{
    static char texts[2][MADE_RULES][MADE_SIZE];
    struct text items[2][MADE_RULES];
    unsigned state = 1;
    int n_covered = 0;

    for (int round = 0; round < 20000; round++) {
        struct text_list now = {items[0], 1 + next_random(&state) % MADE_RULES, true};
        struct text_list before = {items[1], 1 + next_random(&state) % 3, true};
        bool wanted = true;

        make_rules(items[0], texts[0], now.n, &state);
        make_rules(items[1], texts[1], before.n, &state);
        for (size_t i = 0; i < before.n; i++)
            wanted = wanted && acl_permits(now, text_part(items[1][i], 5, items[1][i].len));
        ck_assert_msg(covers(now, before) == wanted, "round %d, first rules %s, %s", round,
                      items[0][0].s, items[1][0].s);
        n_covered += wanted;
    }
    ck_assert_int_gt(n_covered, 1000);
    ck_assert_int_lt(n_covered, 19000);
}
END_TEST

Suite *acl_suite(void)
{
    TCase *lists = tcase_create("lists");
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
    tcase_add_test(lists, rule_that_permits);
    tcase_add_test(lists, covers_of_case_file);
    tcase_add_test(lists, unions_of_case_file);
    tcase_add_test(lists, union_of_absent_rules);
    tcase_add_test(lists, covers_as_permits);
    suite_add_tcase(suite, matches);
    suite_add_tcase(suite, lists);
    return suite;
}
