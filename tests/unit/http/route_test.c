/* SPDX-License-Identifier: MIT */
/* Tests of matching paths, with a table of the interface's paths. */
#include "http/route.h"

#include <check.h>

#include "route_cases.h"
#include "suites.h"

#define OAUTH "/edges/https/{edge_id}/routes/{id}/oauth"
#define MUTUAL_TLS "/edges/tls/{id}/mutual_tls"

static const struct route routes[] = {
    {.method = "POST", .path = "/ssh_credentials"},
    {.method = "GET", .path = "/ssh_credentials"},
    {.method = "GET", .path = "/ssh_credentials/{id}"},
    {.method = "PATCH", .path = "/ssh_credentials/{id}"},
    {.method = "DELETE", .path = "/ssh_credentials/{id}"},
    {.method = "PUT", .path = OAUTH},
    {.method = "GET", .path = OAUTH},
    {.method = "DELETE", .path = OAUTH},
    {.method = "PUT", .path = MUTUAL_TLS},
    {.method = "GET", .path = MUTUAL_TLS},
    {.method = "DELETE", .path = MUTUAL_TLS},
    {.method = "GET", .path = "/oauth_modules"},
    {.method = "GET", .path = "/mutual_tls_modules"},
    {.method = "GET", .path = "/audit_events"},
    {.method = "GET", .path = "/audit_events/{id}"},
    {.method = "GET", .path = "/livez"},
    {.method = "GET", .path = "/readyz"},
    {.method = "GET", .path = "/metrics"},
    {.method = NULL},
};

static void check_path(const struct test_case *test)
{
    route_case_check(routes, test);
}

START_TEST(paths_of_case_file)
{
    cases_run("paths.cases", check_path);
}
END_TEST

START_TEST(empty_table)
{
    static const struct route none[] = {{.method = NULL}};
    struct route_match match;
    struct buf allow = {0};
    struct error err;

    ck_assert(!route_find(none, "GET", "/", &match, &allow, &err));
    ck_assert_int_eq(err.code, ERR_PATH_UNKNOWN);
    ck_assert_ptr_null(match.route);
    buf_free(&allow);
}
END_TEST

/* Identifiers point into the path.  One that is too long is malformed. */
START_TEST(identifiers_of_every_length)
{
    struct buf path = {0};

    for (size_t len = 1; len <= 300; len++) {
        struct route_match match;
        struct buf allow = {0};
        struct error err;

        buf_clear(&path);
        buf_puts(&path, "/ssh_credentials/");
        for (size_t i = 0; i < len; i++)
            buf_puts(&path, "a");
        ck_assert(route_find(routes, "GET", path.data, &match, &allow, &err));
        ck_assert_uint_eq(match.ids[0].len, len);
        ck_assert_ptr_eq(match.ids[0].s, path.data + path.len - len);
        ck_assert_ptr_null(match.ids[1].s);
        ck_assert_int_eq(route_check_ids(&match, &err), len <= 255);
        buf_free(&allow);
    }
    buf_free(&path);
}
END_TEST

static struct error fault_of(const char *path)
{
    struct route_match match;
    struct buf allow = {0};
    struct error err = {.code = ERR_NONE};

    ck_assert(route_find(routes, "GET", path, &match, &allow, &err));
    ck_assert_msg(!route_check_ids(&match, &err), "%s", path);
    ck_assert_int_eq(err.code, ERR_IDENTIFIER_MALFORMED);
    ck_assert(err.has_field);
    buf_free(&allow);
    return err;
}

/* The error names the first of several. */
START_TEST(malformed_identifiers_are_named)
{
    static const struct {
        const char *path;
        const char *field;
        const char *says[2];
    } cases[] = {
        {"/ssh_credentials/a b", "id", {"id in the path is 'a b',", "has a character"}},
        {"/ssh_credentials/..", "id", {"'..'", "reserved"}},
        {"/ssh_credentials/\xFF", "id", {"id in the path is not", "has a character"}},
        {"/edges/https/a!/routes/r/oauth", "edge_id", {"edge_id in the path is 'a!',", "has a"}},
        {"/edges/https/e/routes/a!/oauth", "id", {"id in the path is 'a!',", "has a"}},
        {"/edges/https/./routes/a!/oauth", "edge_id", {"edge_id in the path is '.',", "reserved"}},
        {"/edges/tls/a!/mutual_tls", "id", {"id in the path is 'a!',", "has a character"}},
    };
    char path[300] = "/ssh_credentials/";

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err = fault_of(cases[i].path);

        ck_assert_msg(strcmp(err.field, cases[i].field) == 0, "%s: %s", cases[i].path, err.field);
        for (int j = 0; j < 2; j++)
            ck_assert_msg(strstr(err.msg, cases[i].says[j]) != NULL, "%s: %s", cases[i].path,
                          err.msg);
    }
    memset(path + strlen(path), 'a', 256);
    ck_assert_ptr_nonnull(strstr(fault_of(path).msg, "longer than 255 characters"));
}
END_TEST

/* One identifier or parameter more than fits. */
START_TEST(table_that_does_not_fit)
{
    static const struct query_param full[QUERY_MAX_PARAMS + 1] = {
        {.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}, {.name = NULL}};
    static const struct query_param more[QUERY_MAX_PARAMS + 2] = {
        {.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}, {.name = "e"}, {.name = NULL}};
    static const struct {
        const char *path;
        const struct query_param *query;
        bool fits;
    } cases[] = {
        {"/", NULL, true},
        {"/{a}/{b}", full, true},
        {"/{fifteen_letters}", NULL, true},
        {"/{a}/{b}/{c}", NULL, false},
        {"/", more, false},
        {"/{sixteen__letters}", NULL, false},
    };
    const char *which;

    ck_assert(route_table_fits(routes, &which));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct route table[] = {
            {.method = "GET", .path = "/first"},
            {.method = "GET", .path = cases[i].path, .query = cases[i].query},
            {.method = NULL},
        };

        ck_assert_msg(route_table_fits(table, &which) == cases[i].fits, "%s", cases[i].path);
        ck_assert_str_eq(which, cases[i].path);
    }
}
END_TEST

Suite *route_suite(void)
{
    Suite *suite = suite_create("http/route");
    TCase *tcase = tcase_create("route");

    tcase_add_test(tcase, paths_of_case_file);
    tcase_add_test(tcase, empty_table);
    tcase_add_test(tcase, identifiers_of_every_length);
    tcase_add_test(tcase, malformed_identifiers_are_named);
    tcase_add_test(tcase, table_that_does_not_fit);
    suite_add_tcase(suite, tcase);
    return suite;
}
