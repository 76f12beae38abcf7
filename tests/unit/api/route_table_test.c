/* SPDX-License-Identifier: MIT */
/* Tests of the route table. */
#include <check.h>
#include <string.h>

#include "api/api.h"
#include "model/key_kind.h"
#include "route_cases.h"
#include "suites.h"

static void check_path(const struct test_case *test)
{
    route_case_check(api_routes, test);
}

START_TEST(paths_of_case_file)
{
    cases_run("paths.cases", check_path);
}
END_TEST

/* Checks the columns of every row, so that no new row is laxer by mistake. */
START_TEST(columns_of_every_row)
{
    int n_rows = 0;

    for (const struct route *route = api_routes; route->method; route++) {
        bool is_public = strcmp(route->path, "/livez") == 0 ||
                         strcmp(route->path, "/readyz") == 0 ||
                         strcmp(route->path, "/metrics") == 0;
        bool is_get = strcmp(route->method, "GET") == 0;
        bool has_body = !is_get && strcmp(route->method, "DELETE") != 0;
        bool is_decision = strcmp(route->path, "/ssh_decisions") == 0;
        bool is_credential = strstr(route->path, "/ssh_credentials") != NULL;
        bool asks = is_decision || strcmp(route->path, "/oauth_admissions") == 0;

        ck_assert_ptr_nonnull(route->run);
        ck_assert_int_eq(route->is_public, is_public);
        ck_assert_int_eq(api_route_reads_only(route), is_get || asks);
        ck_assert_uint_eq(route->keys, is_public        ? KEYS_NONE
                                       : is_decision    ? KEYS_ASK
                                       : is_get || asks ? KEYS_READ
                                       : is_credential  ? KEYS_WRITE_OWN
                                                        : KEYS_WRITE);
        ck_assert_int_eq(route->checks_ids, strcmp(route->path, "/audit_events/{id}") == 0);
        ck_assert_int_eq(route->body != ROUTE_NO_BODY, has_body);
        ck_assert_int_eq(route->body == ROUTE_ANSWER_BODY,
                         has_body && strstr(route->path, "oauth"));
        ck_assert(!has_body || route->read);
        ck_assert_int_eq(route->query != NULL,
                         is_get && (strcmp(route->path, "/ssh_credentials") == 0 ||
                                    strcmp(route->path, "/audit_events") == 0 ||
                                    strstr(route->path, "_modules") != NULL));
        for (const struct route *other = api_routes; other < route; other++)
            ck_assert(strcmp(other->method, route->method) != 0 ||
                      strcmp(other->path, route->path) != 0);
        n_rows++;
    }
    ck_assert_int_gt(n_rows, 13);
}
END_TEST

START_TEST(table_fits)
{
    const char *which;

    ck_assert(route_table_fits(api_routes, &which));
}
END_TEST

Suite *route_table_suite(void)
{
    Suite *suite = suite_create("api/route_table");
    TCase *tcase = tcase_create("table");

    tcase_add_test(tcase, paths_of_case_file);
    tcase_add_test(tcase, columns_of_every_row);
    tcase_add_test(tcase, table_fits);
    suite_add_tcase(suite, tcase);
    return suite;
}
