/* SPDX-License-Identifier: MIT */
/* Tests of the driver for a database whose rows are on several nodes, before a scripted backend. */
#include <check.h>

#include "base/clock.h"
#include "pg/backend.h"
#include "pg/driver.h"
#include "pg/lane.h"
#include "suites.h"

/* Opens the session and prepares both statements. */
static void warm_up(void)
{
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get | 1:parse:put | 1:run:put |");
}

/* A node of the server is away: the session stays, and nothing runs again. */
START_TEST(node_that_is_away)
{
    pg_set_distributed(driver.pg, true);
    warm_up();
    backend_expect(ON_RUN, REFUSE, _i ? "57P03" : "08006", "connection to the remote node failed");
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_UNAVAILABLE);
    backend_sent("1:run:get |");
    backend_expect(ON_RUN, REFUSE, "08006", "connection to the remote node failed");
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    backend_sent("1:run:put |");
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:run:put |");
}
END_TEST

/* What one statement met says nothing about the next, which may be for another node. */
START_TEST(nothing_is_shed_among_nodes)
{
    pg_set_distributed(driver.pg, true);
    warm_up();
    backend_expect(ON_RUN, REFUSE, "57014", NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
}
END_TEST

/* While others wait long, a statement is given up early: a read is not sent again, and a write is
 * fenced. */
START_TEST(too_many_long_waits)
{
    struct pg_long_waits waits = {.n = 2, .most = 2};
    int64_t begin_ms;

    pg_limit_long_waits(driver.pg, &waits);
    warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    ck_assert_int_eq(driver_run(_i ? &driver_put : &driver_get),
                     _i ? ERR_OUTCOME_UNKNOWN : ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 100);
    backend_sent(_i ? "1:run:put 1:end 2:start 2:setup 2:terminate:1" : "1:run:get 1:end");
    ck_assert_int_eq(waits.n, 2);
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
}
END_TEST

/* One that may wait long leaves the count as it was. */
START_TEST(few_long_waits)
{
    struct pg_long_waits waits = {.n = 1, .most = 2};
    int64_t begin_ms;

    pg_limit_long_waits(driver.pg, &waits);
    warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    pg_start_request(driver.pg, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 4000);
    ck_assert_int_eq(waits.n, 1);
    waits.n = 0;
    pg_start_request(driver.pg, NULL, NULL);
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    ck_assert_int_eq(waits.n, 0);
}
END_TEST

Suite *pg_nodes_suite(void)
{
    Suite *suite = suite_create("pg/nodes");
    TCase *tcase = tcase_create("nodes");

    tcase_add_checked_fixture(tcase, driver_start, driver_stop);
    tcase_add_loop_test(tcase, node_that_is_away, 0, 2);
    tcase_add_test(tcase, nothing_is_shed_among_nodes);
    tcase_add_loop_test(tcase, too_many_long_waits, 0, 2);
    tcase_add_test(tcase, few_long_waits);
    suite_add_tcase(suite, tcase);
    return suite;
}
