/* SPDX-License-Identifier: MIT */
/* Tests of the matching of paths, on a table with the paths of the interface. */
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
    {.method = "GET", .path = "/livez"},
    {.method = "GET", .path = "/readyz"},
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

/* Identifiers point into the path, and what is longer than any can be is none. */
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
        ck_assert_int_eq(match.ids_valid, len <= 255);
        buf_free(&allow);
    }
    buf_free(&path);
}
END_TEST

Suite *route_suite(void)
{
    Suite *suite = suite_create("http/route");
    TCase *tcase = tcase_create("route");

    tcase_add_test(tcase, paths_of_case_file);
    tcase_add_test(tcase, empty_table);
    tcase_add_test(tcase, identifiers_of_every_length);
    suite_add_tcase(suite, tcase);
    return suite;
}
