/* SPDX-License-Identifier: MIT */
/* Tests of the route table. */
#include <check.h>
#include <stdio.h>
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

/* By this, the loop puts requests into line.  What is as long as a method or a path may be is
 * known. */
START_TEST(work_of_requests)
{
    static const struct {
        const char *method;
        int path_len; /* of zeros, if it is no path */
        const char *path, *query;
        enum request_work work;
    } cases[] = {
        {"GET", 0, "/ssh_credentials", "", REQUEST_LONG},
        {"GET", 0, "/ssh_credentials", "filter=1", REQUEST_SCAN},
        {"GET", 0, "/ssh_credentials/x", "filter=1", REQUEST_SHORT},
        {"POST", 0, "/ssh_credentials", "filter=1", REQUEST_LONG},
        {"GET", 0, "/readyz", "", REQUEST_PROBE},
        {"GET", 0, "/livez", "", REQUEST_INSTANT},
        {"0123456789abcdef", 0, "/ssh_credentials", "", REQUEST_INSTANT},
        {"0123456789abcdefg", 0, "/ssh_credentials", "", REQUEST_LONG},
        {"GET", 1024, NULL, "", REQUEST_INSTANT},
        {"GET", 1025, NULL, "", REQUEST_LONG},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char zeros[1026];
        enum request_work work;

        snprintf(zeros, sizeof zeros, "%0*d", cases[i].path_len, 0);
        work = api_work(text_of(cases[i].method), text_of(cases[i].path ? cases[i].path : zeros),
                        text_of(cases[i].query));
        ck_assert_msg(work == cases[i].work, "%s %s: %d", cases[i].method,
                      cases[i].path ? cases[i].path : "zeros", work);
    }
}
END_TEST

Suite *route_table_suite(void)
{
    Suite *suite = suite_create("api/route_table");
    TCase *tcase = tcase_create("table");

    tcase_add_test(tcase, paths_of_case_file);
    tcase_add_test(tcase, columns_of_every_row);
    tcase_add_test(tcase, table_fits);
    tcase_add_test(tcase, work_of_requests);
    suite_add_tcase(suite, tcase);
    return suite;
}
