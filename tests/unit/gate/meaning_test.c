/* SPDX-License-Identifier: MIT */
/* Tests of what providers' answers mean, by tests/cases/providers/answers.cases. */
#include "gate/meaning.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "suites.h"

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* Returns the position of a word in a list, from 0. */
static size_t place_of(struct text word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (text_eq(word, text_of(words[i])))
            return i;
    }
    ck_abort_msg("%.*s", (int)word.len, word.s);
    return n;
}

static void expect_meaning(const struct test_case *c)
{
    static const char *const endpoints[] = {"token", "user", "list"};
    static const char *const outcomes[] = {[PROVIDER_AWAY] = "away",
                                           [PROVIDER_REFUSED] = "refused",
                                           [PROVIDER_NOT_SET_UP] = "not set up",
                                           [PROVIDER_NOT_GIVEN] = "not given",
                                           [PROVIDER_ANSWERED] = "read"};
    struct text rest = {c->input, c->input_len};
    int provider = identity_provider_called(text_next_word(&rest));
    size_t endpoint = place_of(text_next_word(&rest), endpoints, N_OF(endpoints));
    struct text status = text_next_word(&rest);
    struct fetch_answer answer = {.status = status.s ? atoi(status.s) : 0};
    struct json_node top = {0};
    struct error err;
    const char *why = NULL;
    enum provider_outcome outcome;

    ck_assert_msg(provider > 0, "%s:%d: no such provider", c->file, c->line);
    answer.is_limited = text_eq(text_next_word(&rest), text_of("limited"));
    while (rest.len > 0 && *rest.s == ' ')
        rest = text_part(rest, 1, rest.len);
    if (!json_parse(rest.s, rest.len, &top, &err))
        top = (struct json_node){0};
    outcome = meaning_of(provider, (enum meaning_endpoint)(1 << endpoint), &answer, &top, &why);
    ck_assert_msg(strcmp(outcomes[outcome], c->expected) == 0, "%s:%d: %s: %s", c->file, c->line,
                  c->input, outcomes[outcome]);
    ck_assert_msg((outcome == PROVIDER_ANSWERED) == !why, "%s:%d", c->file, c->line);
    json_free(&top);
}

START_TEST(answers)
{
    cases_run("providers/"
              "answers.cases",
              expect_meaning);
}
END_TEST

START_TEST(errors_of_the_way_back)
{
    static const struct {
        const char *error;
        enum provider_outcome outcome;
    } cases[] = {
        {"access_denied", PROVIDER_REFUSED},
        {"user_cancelled_login", PROVIDER_REFUSED},
        {"server_error", PROVIDER_AWAY},
        {"temporarily_unavailable", PROVIDER_AWAY},
        {"redirect_uri_mismatch", PROVIDER_NOT_SET_UP},
        {"application_suspended", PROVIDER_NOT_SET_UP},
        {"invalid_scope", PROVIDER_NOT_SET_UP},
        {"unauthorized_client", PROVIDER_NOT_SET_UP},
    };
    const char *why = "";

    for (size_t i = 0; i < N_OF(cases); i++) {
        ck_assert_int_eq(meaning_of_error(text_of(cases[i].error), &why), cases[i].outcome);
        ck_assert_str_eq(why, cases[i].error);
    }
    ck_assert_int_eq(meaning_of_error(text_of("<b>a\n"), &why), PROVIDER_REFUSED);
    ck_assert(!strchr(why, '<') && !strchr(why, '\n'));
}
END_TEST

Suite *gate_meaning_suite(void)
{
    Suite *suite = suite_create("gate/meaning");
    TCase *tests = tcase_create("meaning");

    tcase_add_test(tests, answers);
    tcase_add_test(tests, errors_of_the_way_back);
    suite_add_tcase(suite, tests);
    return suite;
}
