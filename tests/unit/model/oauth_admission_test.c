/* SPDX-License-Identifier: MIT */
/* Tests of whom a module lets in, and of the table of providers. */
#include "model/oauth_admission.h"

#include <check.h>
#include <stdio.h>

#include "cases.h"
#include "json/tree.h"
#include "providers.h"
#include "suites.h"

/* The operator has an application at one provider. */
static enum oauth_application application_of(int provider)
{
    return provider == 2 ? OAUTH_APPLICATION_THERE : OAUTH_APPLICATION_MISSING;
}

static void check_admission(const struct test_case *test)
{
    const struct module_place none = {.edge_id = {.s = NULL}};
    struct arena arena = {0};
    struct json_node top;
    struct error err;
    struct oauth_module module;
    struct oauth_admission admission;
    struct buf text = {0};

    ck_assert_msg(json_parse(test->input, test->input_len, &top, &err), "line %d: %s", test->line,
                  err.msg);
    ck_assert_msg(oauth_module_read(&top, &none, &default_names,
                                    &(struct field_reader){.arena = &arena}, &module, &err),
                  "line %d: %s", test->line, err.msg);
    oauth_admission_find(&module, application_of(module.provider), &admission);
    buf_printf(&text, "%s ", oauth_admitted_word(admission.whom));
    oauth_admission_say(&text, &admission);
    ck_assert_msg(strcmp(buf_text(&text).s, test->expected) == 0, "line %d: %s (%s)", test->line,
                  buf_text(&text).s, test->why);
    ck_assert_int_eq(oauth_admission_has_flaw(&admission),
                     strstr(test->expected, "nobody ") || strstr(test->expected, "; nobody "));
    buf_free(&text);
    json_free(&top);
    arena_free(&arena);
}

START_TEST(admissions_of_case_file)
{
    cases_run("oauth_admission.cases", check_admission);
}
END_TEST

/* Without the settings of adit-gate, nobody knows whether the operator has an application. */
START_TEST(unknown_application)
{
    const struct oauth_module module = {.enabled = true, .provider = 1};
    struct oauth_admission admission;

    oauth_admission_find(&module, OAUTH_APPLICATION_UNKNOWN, &admission);
    ck_assert_int_eq(admission.whom, OAUTH_ADMITS_ANYONE);
    oauth_admission_find(&module, OAUTH_APPLICATION_MISSING, &admission);
    ck_assert_int_eq(admission.whom, OAUTH_ADMITS_NOBODY);
}
END_TEST

/* The interface and the table refuse teams at other providers. */
START_TEST(teams_of_a_provider_without)
{
    struct oauth_module module = {.enabled = true, .provider = 6, .config = {.teams = {.n = 1}}};
    struct oauth_admission admission;
    struct buf json = {0};

    module.config.client_id = text_of("i");
    module.config.organizations.n = 2;
    oauth_admission_find(&module, OAUTH_APPLICATION_MISSING, &admission);
    oauth_admission_write(&json, &admission);
    ck_assert_str_eq(json.data,
                     "{\"whom\":\"nobody\",\"lists\":[],\"flaws\":["
                     "{\"list\":\"teams\",\"why\":\"no_teams\"},"
                     "{\"list\":\"organizations\",\"why\":\"no_teams\"}],"
                     "\"text\":\"nobody passes by organizations: GitLab has no teams and "
                     "organizations; nobody passes by teams: GitLab has no teams and "
                     "organizations\"}");
    buf_free(&json);
}
END_TEST

START_TEST(admission_written)
{
    struct oauth_module module = {.enabled = true};
    struct oauth_admission admission;
    struct buf json = {0};

    oauth_admission_find(&module, OAUTH_APPLICATION_UNKNOWN, &admission);
    oauth_admission_write(&json, &admission);
    ck_assert_str_eq(json.data,
                     "{\"whom\":\"nobody\",\"lists\":[],\"flaws\":["
                     "{\"list\":null,\"why\":\"no_provider\"}],\"text\":\"nobody passes: "
                     "the module is enabled without a provider\"}");
    buf_clear(&json);
    module.provider = 4;
    module.config.email_domains.n = 3;
    oauth_admission_find(&module, OAUTH_APPLICATION_UNKNOWN, &admission);
    oauth_admission_write(&json, &admission);
    ck_assert_str_eq(json.data, "{\"whom\":\"listed\",\"lists\":[\"email_domains\"],\"flaws\":[],"
                                "\"text\":\"visitors pass by email_domains\"}");
    buf_free(&json);
}
END_TEST

/* ---- the table ---- */

START_TEST(titles)
{
    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        const char *title = identity_provider_at(position)->title;

        ck_assert_int_eq(identity_provider_called(text_of(title)), position);
    }
    ck_assert_int_eq(identity_provider_called(text_of("gITHUB")), PROVIDER_GITHUB);
    ck_assert_int_eq(identity_provider_called(text_of("amazon")), PROVIDER_AMAZON);
    ck_assert_int_eq(identity_provider_called(text_of("githu")), 0);
    ck_assert_int_eq(identity_provider_called(text_of("githubx")), 0);
    ck_assert_int_eq(identity_provider_called(text_of("")), 0);
    ck_assert_int_eq(identity_provider_called((struct text){.s = NULL}), 0);
}
END_TEST

START_TEST(name_and_title)
{
    struct buf out = {0};

    identity_provider_write(&out, "provider_a", 1);
    buf_puts(&out, ", ");
    identity_provider_write(&out, "github", 1);
    buf_puts(&out, ", ");
    identity_provider_write(&out, "github", 2);
    ck_assert_str_eq(out.data, "provider_a (GitHub), github, github (Facebook)");
    buf_free(&out);
}
END_TEST

START_TEST(stored_positions)
{
    ck_assert_int_eq(identity_provider_stored(0), 0);
    ck_assert_int_eq(identity_provider_stored(1), 1);
    ck_assert_int_eq(identity_provider_stored(OAUTH_N_PROVIDERS), OAUTH_N_PROVIDERS);
    ck_assert_int_eq(identity_provider_stored(OAUTH_N_PROVIDERS + 1), 0);
    ck_assert_int_eq(identity_provider_stored(-1), 0);
}
END_TEST

/* adit-gate reads these members of every row. */
START_TEST(complete_rows)
{
    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        const struct identity_provider *provider = identity_provider_at(position);

        ck_assert_ptr_nonnull(provider->scopes);
        ck_assert_ptr_nonnull(provider->authorize_url);
        ck_assert_ptr_nonnull(provider->token_url);
        ck_assert_ptr_nonnull(provider->user_url);
        ck_assert_ptr_nonnull(provider->subject_member);
        ck_assert_ptr_nonnull(provider->name_member);
        ck_assert_ptr_nonnull(provider->needed[IDENTITY_PROVIDER_USER]);
        ck_assert_int_eq(identity_provider_verifies(position),
                         provider->needed[IDENTITY_PROVIDER_EMAILS] != NULL);
    }
}
END_TEST

/* What adit-gate asks for suffices for all that a provider tells. */
START_TEST(own_scopes_suffice)
{
    for (int position = 1; position <= OAUTH_N_PROVIDERS; position++) {
        const struct identity_provider *provider = identity_provider_at(position);
        struct text items[] = {text_of(provider->scopes),
                               text_of(provider->team_scopes ? provider->team_scopes : "")};
        const struct text_list scopes = {.items = items, .n = 2};
        const struct text_list none = {.n = 0};

        for (int part = 0; part < IDENTITY_PROVIDER_N_PARTS; part++) {
            bool tells = provider->needed[part] != NULL;

            ck_assert_int_eq(
                identity_provider_tells(position, (enum identity_provider_part)part, &scopes),
                tells);
            ck_assert_int_eq(
                identity_provider_tells(position, (enum identity_provider_part)part, &none), tells);
        }
        ck_assert_int_eq(provider->needed[IDENTITY_PROVIDER_TEAMS] != NULL, provider->has_teams);
    }
}
END_TEST

Suite *oauth_admission_suite(void)
{
    Suite *suite = suite_create("model/oauth_admission");
    TCase *tcase = tcase_create("admission");
    TCase *table = tcase_create("providers");

    tcase_add_test(tcase, admissions_of_case_file);
    tcase_add_test(tcase, unknown_application);
    tcase_add_test(tcase, teams_of_a_provider_without);
    tcase_add_test(tcase, admission_written);
    tcase_add_test(table, titles);
    tcase_add_test(table, name_and_title);
    tcase_add_test(table, stored_positions);
    tcase_add_test(table, complete_rows);
    tcase_add_test(table, own_scopes_suffice);
    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, table);
    return suite;
}
