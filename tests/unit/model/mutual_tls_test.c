/* SPDX-License-Identifier: MIT */
/* Tests of the bodies of mutual TLS modules, in and out. */
#include "model/resource.h"

#include <check.h>

#include "model/field_cases.h"
#include "model/module.h"
#include "suites.h"

static struct mutual_tls_module module;

static const void *read_module(const struct json_node *body, struct arena *arena, struct error *err)
{
    const struct module_place place = {.edge_id = text_of("e")};
    const struct resource_reader reader = {.fields = &(struct field_reader){.arena = arena},
                                           .place = &place};

    return resource_read(RESOURCE_MUTUAL_TLS_MODULE, body, &reader, &module, err) ? &module : NULL;
}

/* The case file has cases for the members around a module. */
static struct field_table own_fields(void)
{
    return (struct field_table){
        .fields = mutual_tls_module_fields + MODULE_N_WRAPPER_ROWS,
        .n_fields = mutual_tls_module_n_fields - MODULE_N_WRAPPER_ROWS,
        .read = read_module,
    };
}

START_TEST(fields_of_a_flat_module)
{
    struct field_table table = own_fields();

    table.name = "mutual_tls_module_fields";
    table.open = "{";
    table.close = "}";
    table.path = "";
    field_table_check(&table);
}
END_TEST

START_TEST(fields_of_a_wrapped_module)
{
    struct field_table table = own_fields();

    table.name = "mutual_tls_module_fields, wrapped";
    table.open = "{\"edge_id\":\"e\",\"id\":\"e\",\"module\":{";
    table.close = "}}";
    table.path = "module.";
    field_table_check(&table);
}
END_TEST

static void check_body(const struct test_case *test)
{
    body_case_check(test, test->input, read_module);
}

/* The name in answers differs from the name in bodies. */
START_TEST(hint_at_the_right_name)
{
    static const char *const bodies[] = {
        "{\"certificate_authorities\":[{\"id\":\"a\"}]}",
        "{\"module\":{\"certificate_authorities\":null}}",
    };

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct json_node body;
        struct arena arena = {0};
        struct error err;

        ck_assert(json_parse(bodies[i], strlen(bodies[i]), &body, &err));
        ck_assert(!read_module(&body, &arena, &err));
        ck_assert_int_eq(err.code, ERR_UNKNOWN_MEMBER);
        ck_assert_msg(strstr(err.msg, "certificate_authorities is unknown. Give "
                                      "certificate_authority_ids instead.") != NULL,
                      "%s", err.msg);
        json_free(&body);
        arena_free(&arena);
    }
}
END_TEST

START_TEST(bodies_of_case_file)
{
    cases_run("mutual_tls_module.cases", check_body);
}
END_TEST

/* Reads a body and writes the result. */
static void expect_written(const char *body, const char *wanted)
{
    const struct resource_context context = {.base_url = text_of("https://h/api")};
    struct arena arena = {0};
    struct json_node top;
    struct error err;
    struct buf out = {0};

    ck_assert(json_parse(body, strlen(body), &top, &err));
    ck_assert(read_module(&top, &arena, &err) != NULL);
    resource_write(&out, RESOURCE_MUTUAL_TLS_MODULE, &module, &context);
    ck_assert_str_eq(out.data, wanted);
    buf_free(&out);
    json_free(&top);
    arena_free(&arena);
}

START_TEST(written)
{
    expect_written("{}", "{\"enabled\":true,\"certificate_authorities\":[]}");
    expect_written("{\"enabled\":null}", "{\"enabled\":true,\"certificate_authorities\":[]}");
    expect_written("{\"module\":{\"enabled\":false}}",
                   "{\"enabled\":false,\"certificate_authorities\":[]}");
    expect_written("{\"certificate_authority_ids\":[\"z\",\"a\"]}",
                   "{\"enabled\":true,\"certificate_authorities\":["
                   "{\"id\":\"z\",\"uri\":\"https://h/api/certificate_authorities/z\"},"
                   "{\"id\":\"a\",\"uri\":\"https://h/api/certificate_authorities/a\"}]}");
}
END_TEST

Suite *mutual_tls_suite(void)
{
    Suite *suite = suite_create("model/mutual_tls_module");
    TCase *tcase = tcase_create("mutual_tls_module");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, fields_of_a_flat_module);
    tcase_add_test(tcase, fields_of_a_wrapped_module);
    tcase_add_test(tcase, bodies_of_case_file);
    tcase_add_test(tcase, hint_at_the_right_name);
    tcase_add_test(tcase, written);
    suite_add_tcase(suite, tcase);
    return suite;
}
