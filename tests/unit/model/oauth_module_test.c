/* SPDX-License-Identifier: MIT */
/* Tests of the bodies of OAuth modules, in and out. */
#include "model/resource.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>

#include "model/field_cases.h"
#include "providers.h"
#include "suites.h"

static const struct module_place ids = {.edge_id = {.s = "e", .len = 1},
                                        .route_id = {.s = "r", .len = 1}};

static struct oauth_module module;
static const struct resource_context context = {.names = &default_names};

static const void *read_module(const struct json_node *body, struct arena *arena, struct error *err)
{
    return oauth_module_read(body, &ids, &default_names, &(struct field_reader){.arena = arena},
                             &module, err)
               ? &module
               : NULL;
}

static const void *read_provider(const struct json_node *body, struct arena *arena,
                                 struct error *err)
{
    return oauth_module_read(body, &ids, &default_names, &(struct field_reader){.arena = arena},
                             &module, err)
               ? &module.config
               : NULL;
}

/* ---- fields ---- */

static struct field_table own_fields(void)
{
    return (struct field_table){
        .fields = oauth_module_fields + MODULE_N_WRAPPER_ROWS,
        .n_fields = oauth_module_n_fields - MODULE_N_WRAPPER_ROWS,
        .read = read_module,
    };
}

START_TEST(fields_of_a_flat_module)
{
    struct field_table table = own_fields();

    table.name = "oauth_module_fields";
    table.open = "{";
    table.close = "}";
    table.path = "";
    field_table_check(&table);
}
END_TEST

START_TEST(fields_of_a_wrapped_module)
{
    struct field_table table = own_fields();

    table.name = "oauth_module_fields, wrapped";
    table.open = "{\"edge_id\":\"e\",\"id\":\"r\",\"module\":{";
    table.close = "}}";
    table.path = "module.";
    field_table_check(&table);
}
END_TEST

/* client_id and client_secret need each other.  scopes need both. */
static const char *app_beside(const struct field *field, bool is_given)
{
    if (!is_given)
        return "";
    if (strcmp(field->name, "client_id") == 0)
        return "\"client_secret\":\"s\",";
    if (strcmp(field->name, "client_secret") == 0)
        return "\"client_id\":\"i\",";
    return strcmp(field->name, "scopes") == 0 ? "\"client_id\":\"i\",\"client_secret\":\"s\"," : "";
}

START_TEST(fields_of_every_provider)
{
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        char open[64];
        char path[64];
        const struct field_table table = {
            .name = default_names.providers[i],
            .fields = oauth_provider_fields,
            .n_fields = oauth_provider_n_fields_of(i + 1),
            .open = open,
            .close = "}}}",
            .path = path,
            .read = read_provider,
            .companions = app_beside,
        };

        snprintf(open, sizeof open, "{\"provider\":{\"%s\":{", default_names.providers[i]);
        snprintf(path, sizeof path, "provider.%s.", default_names.providers[i]);
        field_table_check(&table);
    }
}
END_TEST

START_TEST(hosting_fields_of_the_others)
{
    int n_cases = 0;

    for (size_t i = 0; i < OAUTH_N_HOSTING_FIELDS; i++) {
        const char *field = oauth_provider_fields[oauth_provider_n_fields - 1 - i].name;

        for (int j = 0; j < OAUTH_N_PROVIDERS; j++) {
            struct buf body = {0};
            struct arena arena = {0};
            struct json_node top;
            struct error err = {.code = ERR_NONE};

            if (identity_provider_at(j + 1)->has_teams)
                continue;
            buf_printf(&body, "{\"provider\":{\"%s\":{\"%s\":[]}}}", default_names.providers[j],
                       field);
            ck_assert(json_parse(body.data, body.len, &top, &err));
            ck_assert_msg(!read_module(&top, &arena, &err), "%s", body.data);
            ck_assert_int_eq(err.code, ERR_UNKNOWN_MEMBER);
            /* The message does not list the field either. */
            ck_assert_ptr_null(strstr(strstr(err.msg, "This object takes"), field));
            json_free(&top);
            arena_free(&arena);
            buf_free(&body);
            n_cases++;
        }
    }
    ck_assert_int_gt(n_cases, 0);
}
END_TEST

/* ---- rules ---- */

static const void *read_and_select(const struct json_node *body, struct arena *arena,
                                   struct error *err)
{
    return read_module(body, arena, err);
}

static void check_body(const struct test_case *test)
{
    static char ok[] = "ok";
    struct test_case plain = *test;
    char *provider = strncmp(test->expected, "ok", 2) == 0 ? test->expected + 2 : NULL;
    int wanted = 0;

    for (int i = 0; provider && i < OAUTH_N_PROVIDERS; i++) {
        if (*provider && strcmp(default_names.providers[i], provider + 1) == 0)
            wanted = i + 1;
    }
    ck_assert_msg(!provider || !*provider || wanted, "%s:%d: no such provider", test->file,
                  test->line);
    if (provider)
        plain.expected = ok;
    body_case_check(&plain, test->input, read_and_select);
    ck_assert_msg(!provider || module.provider == wanted, "%s:%d: provider %d (%s)", test->file,
                  test->line, module.provider, test->why);
}

START_TEST(bodies_of_case_file)
{
    cases_run("oauth_module.cases", check_body);
}
END_TEST

static void expect_message(const char *body, const char *msg)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err = {.code = ERR_NONE};

    ck_assert(json_parse(body, strlen(body), &top, &err));
    ck_assert_msg(!read_module(&top, &arena, &err), "%s", body);
    ck_assert_msg(strstr(err.msg, msg) != NULL, "%s", err.msg);
    json_free(&top);
    arena_free(&arena);
}

START_TEST(messages)
{
    expect_message("{\"provider\":{\"provider_c\":{\"email_domains\":[\"a\"]},\"provider_d\":{},"
                   "\"provider_a\":{\"teams\":[\"o/t\"]}}}",
                   "More than one identity provider is given: provider_a (GitHub), provider_c "
                   "(Microsoft).");
    expect_message(
        "{\"provider\":{\"github\":{}}}",
        "The member provider.github is unknown. GitHub is provider_a. This object takes: "
        "provider_a (GitHub), provider_b (Facebook), provider_c (Microsoft), ");
    expect_message("{\"provider\":{\"GitLab\":null}}", "GitLab is provider_f.");
    expect_message("{\"provider\":{\"githubs\":{}}}", "unknown. This object takes: provider_a (");
    expect_message("{\"provider\":\"github\"}",
                   "provider must be an object, with the member provider_a (GitHub): "
                   "{\"provider_a\": {}}.");
    expect_message("{\"provider\":\"provider_d\"}", "with the member provider_d (Google): ");
    expect_message("{\"provider\":\"okta\"}", "provider must be an object.");
    expect_message("{\"provider\":{\"provider_b\":{\"email_domain\":null}}}",
                   "This object takes: client_id, client_secret, scopes, email_addresses, "
                   "email_domains.");
}
END_TEST

static void expect_message_of_entry(const char *list, const char *entry, const char *wanted)
{
    struct buf body = {0};

    buf_printf(&body, "{\"provider\":{\"provider_b\":{\"%s\":[\"%s\"]}}}", list, entry);
    expect_message(buf_text(&body).s, wanted);
    buf_free(&body);
}

START_TEST(messages_say_what_was_meant)
{
    expect_message_of_entry("email_domains", "@a.example", "written example.org, without '@'.");
    expect_message_of_entry("email_domains", "u@a.example",
                            "an address is an entry of email_addresses.");
    expect_message_of_entry("email_domains", "*.a.example", "without '*'; give each subdomain");
    expect_message_of_entry("email_domains", "*", "without '*'");
    expect_message_of_entry("email_domains", "a.example.", "it ends with a dot.");
    expect_message_of_entry("email_addresses", "@a.example",
                            "a whole domain is an entry of email_domains.");
}
END_TEST

START_TEST(secret_is_not_quoted)
{
    struct buf body = {0};
    struct arena arena = {0};
    struct json_node top;
    struct error err = {.code = ERR_NONE};

    buf_puts(&body, "{\"provider\":{\"provider_b\":{\"client_id\":\"i\",\"client_secret\":\"");
    for (int i = 0; i < 300; i++)
        buf_puts(&body, "hush");
    buf_puts(&body, "\"}}}");
    ck_assert(json_parse(body.data, body.len, &top, &err));
    ck_assert(!read_module(&top, &arena, &err));
    ck_assert_int_eq(err.code, ERR_CLIENT_SECRET_TOO_LONG);
    ck_assert_ptr_null(strstr(err.msg, "hush"));
    ck_assert_ptr_null(strstr(err.cause, "hush"));
    json_free(&top);
    arena_free(&arena);
    buf_free(&body);
}
END_TEST

START_TEST(provider_names)
{
    static const char *const good[] = {"a",  "provider_a", "github",
                                       "a1", "a_",         "abcdefghijklmnopqrstuvwxyz012345"};
    static const char *const bad[] = {"",
                                      "A",
                                      "1a",
                                      "_a",
                                      "a-b",
                                      "a.b",
                                      "a b",
                                      "aB",
                                      "a\"",
                                      "\xC3",
                                      "abcdefghijklmnopqrstuvwxyz0123456"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(oauth_provider_name_valid(text_of(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!oauth_provider_name_valid(text_of(bad[i])), "%s", bad[i]);
    ck_assert(!oauth_provider_name_valid((struct text){0}));
}
END_TEST

/* ---- writing ---- */

/* Appends a text.  '#' stands for null of each provider from provider_c on. */
static const char *in_full(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text != '#') {
            buf_add(out, text, 1);
            continue;
        }
        for (size_t i = 2; i < OAUTH_N_PROVIDERS; i++)
            buf_printf(out, "%s\"%s\":null", i > 2 ? "," : "", default_names.providers[i]);
    }
    return out->data;
}

/* Reads a body, writes the result, and compares it. */
static void expect_written(const char *body, const char *wanted)
{
    struct arena arena = {0};
    struct json_node top;
    struct error err;
    struct buf out = {0}, sent = {0}, expected = {0};

    in_full(&sent, body);
    ck_assert_msg(json_parse(sent.data, sent.len, &top, &err), "%s", err.msg);
    ck_assert_msg(read_module(&top, &arena, &err) != NULL, "%s", err.msg);
    resource_write(&out, RESOURCE_OAUTH_MODULE, &module, &context);
    ck_assert_str_eq(out.data, in_full(&expected, wanted));
    buf_free(&out);
    buf_free(&sent);
    buf_free(&expected);
    json_free(&top);
    arena_free(&arena);
}

#define NULLS_FROM_C "#}"
#define DEFAULTS                                                                                   \
    ",\"options_passthrough\":false,\"cookie_prefix\":\"service.\",\"inactivity_timeout\":0,"      \
    "\"maximum_duration\":0,\"auth_check_interval\":0}"
#define NOTHING                                                                                    \
    "{\"enabled\":true,\"provider\":{\"provider_a\":null,\"provider_b\":null," NULLS_FROM_C DEFAULTS

START_TEST(defaults_written)
{
    expect_written("{}", NOTHING);
    expect_written("{\"module\":{}}", NOTHING);
    expect_written("{\"module\":null}", NOTHING);
    expect_written("{\"enabled\":null,\"provider\":null,\"options_passthrough\":null,"
                   "\"cookie_prefix\":null,\"inactivity_timeout\":null,\"maximum_duration\":null,"
                   "\"auth_check_interval\":null}",
                   NOTHING);
    expect_written("{\"cookie_prefix\":\"\"}", NOTHING);
    expect_written("{\"cookie_prefix\":\"service.\"}", NOTHING);
    expect_written("{\"provider\":{\"provider_a\":{},\"provider_b\":{\"client_id\":\"\"}}}",
                   NOTHING);
}
END_TEST

START_TEST(managed_application_written)
{
    expect_written("{\"provider\":{\"provider_a\":{}}}",
                   "{\"enabled\":true,\"provider\":{\"provider_a\":{\"client_id\":null,"
                   "\"client_secret\":null,\"scopes\":[],\"email_addresses\":[],"
                   "\"email_domains\":[],\"teams\":[],\"organizations\":[]},"
                   "\"provider_b\":null," NULLS_FROM_C DEFAULTS);
    expect_written("{\"provider\":{\"provider_b\":{\"client_id\":\"\",\"client_secret\":\"\"}}}",
                   "{\"enabled\":true,\"provider\":{\"provider_a\":null,"
                   "\"provider_b\":{\"client_id\":null,\"client_secret\":null,\"scopes\":[],"
                   "\"email_addresses\":[],\"email_domains\":[]}," NULLS_FROM_C DEFAULTS);
}
END_TEST

START_TEST(everything_written)
{
    expect_written(
        "{\"enabled\":false,\"provider\":{\"provider_a\":{\"organizations\":[\"o\",\"p\"],"
        "\"teams\":[\"o/t\"],\"email_domains\":[\"a.example\"],"
        "\"email_addresses\":[\"u@a.example\"],\"scopes\":[\"z\",\"a b\"],"
        "\"client_secret\":\"\\u0073\\/\\\"\",\"client_id\":\"\\u00e9\"}},"
        "\"options_passthrough\":true,\"cookie_prefix\":\"x.\",\"inactivity_timeout\":8.64E+4,"
        "\"maximum_duration\":4294967295,\"auth_check_interval\":1.0}",
        "{\"enabled\":false,\"provider\":{\"provider_a\":{\"client_id\":\"\xC3\xA9\","
        "\"client_secret\":\"s/\\\"\",\"scopes\":[\"z\",\"a b\"],"
        "\"email_addresses\":[\"u@a.example\"],\"email_domains\":[\"a.example\"],"
        "\"teams\":[\"o/t\"],\"organizations\":[\"o\",\"p\"]},"
        "\"provider_b\":null," NULLS_FROM_C
        ",\"options_passthrough\":true,\"cookie_prefix\":\"x.\",\"inactivity_timeout\":86400,"
        "\"maximum_duration\":4294967295,\"auth_check_interval\":1}");
}
END_TEST

/* A PUT of an answer's body changes nothing: clients read, change and write back. */
START_TEST(written_is_accepted)
{
    for (int i = 0; i < OAUTH_N_PROVIDERS; i++) {
        char body[128];
        struct arena arena = {0};
        struct json_node top;
        struct error err;
        struct buf out = {0};

        snprintf(body, sizeof body,
                 "{\"provider\":{\"%s\":{\"client_id\":\"i\",\"client_secret\":\"s\"}}}",
                 default_names.providers[i]);
        ck_assert(json_parse(body, strlen(body), &top, &err));
        ck_assert(read_module(&top, &arena, &err) != NULL);
        resource_write(&out, RESOURCE_OAUTH_MODULE, &module, &context);
        expect_written(out.data, out.data);
        ck_assert_int_eq(module.provider, i + 1);
        buf_free(&out);
        json_free(&top);
        arena_free(&arena);
    }
    expect_written(NOTHING, NOTHING);
}
END_TEST

Suite *oauth_module_suite(void)
{
    Suite *suite = suite_create("model/oauth_module");
    TCase *reading = tcase_create("reading");
    TCase *writing = tcase_create("writing");

    tcase_set_timeout(reading, 60);
    tcase_add_test(reading, fields_of_a_flat_module);
    tcase_add_test(reading, fields_of_a_wrapped_module);
    tcase_add_test(reading, fields_of_every_provider);
    tcase_add_test(reading, hosting_fields_of_the_others);
    tcase_add_test(reading, bodies_of_case_file);
    tcase_add_test(reading, messages);
    tcase_add_test(reading, messages_say_what_was_meant);
    tcase_add_test(reading, secret_is_not_quoted);
    tcase_add_test(reading, provider_names);
    tcase_add_test(writing, defaults_written);
    tcase_add_test(writing, managed_application_written);
    tcase_add_test(writing, everything_written);
    tcase_add_test(writing, written_is_accepted);
    suite_add_tcase(suite, reading);
    suite_add_tcase(suite, writing);
    return suite;
}
