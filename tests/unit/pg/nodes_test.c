/* SPDX-License-Identifier: MIT */
/* Tests of the driver for a database whose rows are on several nodes, before a scripted backend. */
#include <check.h>

#include "base/clock.h"
#include "nodes/nodes.h"
#include "pg/backend.h"
#include "pg/driver.h"
#include "pg/lane.h"
#include "suites.h"

/* A node of the server is away: the session stays, and nothing runs again. */
START_TEST(node_that_is_away)
{
    nodes_place(driver.pg, true);
    driver_warm_up();
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

/* The server itself was killed.  Citus has no SQLSTATE for that. */
START_TEST(killed_while_it_waits_for_a_node)
{
    nodes_place(driver.pg, true);
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, "XX000", "postmaster was shut down, exiting");
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:run:get | 1:end 2:start 2:setup 2:parse:get | 2:run:get |");
    backend_expect(ON_RUN, REFUSE, "XX000", "postmaster was shut down, exiting");
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    backend_expect(ON_RUN, REFUSE, "XX000", "another bug");
    ck_assert_int_eq(driver_run(&driver_get), ERR_INTERNAL);
}
END_TEST

/* What one statement met says nothing about the next, which may be for another node. */
START_TEST(nothing_is_shed_among_nodes)
{
    nodes_place(driver.pg, true);
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, "57014", NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
}
END_TEST

/* By its name, the write has two settings on nodes (nodes/statements.c), and none in one database.
 */
static const struct pg_statement seal = {
    .name = "oauth_secret_seal", .sql = "INSERT", .types = PG_BIGINT, .writes = true};

/* A statement with settings gets a transaction of its own, or uses the one that there is. */
START_TEST(settings_of_a_statement)
{
    driver_warm_up();
    ck_assert_int_eq(driver_run(&seal), ERR_NONE);
    backend_sent("1:parse:oauth_secret_seal | 1:run:oauth_secret_seal |");
    nodes_place(driver.pg, true);
    ck_assert_int_eq(driver_run(&seal), ERR_NONE);
    backend_sent("1:query:BEGIN 1:query:SET 1:query:SET 1:parse:- 1:run:- | 1:query:COMMIT");
    ck_assert(pg_begin(driver.pg, "BEGIN", &driver.err));
    ck_assert_int_eq(driver_run(&seal), ERR_NONE);
    ck_assert(pg_commit(driver.pg, &driver.err));
    backend_sent("1:query:BEGIN 1:query:SET 1:query:SET 1:parse:- 1:run:- | 1:query:COMMIT");
}
END_TEST

/* Nothing is written without its settings. */
START_TEST(settings_that_are_refused)
{
    nodes_place(driver.pg, true);
    driver_warm_up();
    for (int i = 0; i < _i; i++)
        backend_expect(ON_QUERY, ANSWER, NULL, NULL);
    backend_expect(ON_QUERY, REFUSE, "57014", NULL);
    ck_assert_int_eq(driver_run(&seal), ERR_DATABASE_TIMEOUT);
    backend_sent(_i == 0   ? "1:query:BEGIN 1:query:ROLLBACK"
                 : _i == 1 ? "1:query:BEGIN 1:query:SET 1:query:ROLLBACK"
                           : "1:query:BEGIN 1:query:SET 1:query:SET 1:query:ROLLBACK");
}
END_TEST

/* How often patience was asked for, and for how often it lasts. */
struct patience {
    int n_asked;
    int lasts;
};

static bool goes_on(void *context)
{
    struct patience *patience = context;

    return ++patience->n_asked <= patience->lasts;
}

/* A statement is given up early: a read is not sent again, and a write is fenced. */
START_TEST(lost_patience)
{
    struct patience patience = {.lasts = _i / 2};
    int64_t begin_ms;
    bool writes = _i % 2;

    pg_ask_patience(driver.pg, goes_on, &patience);
    driver_warm_up();
    ck_assert_int_eq(patience.n_asked, 0);
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    ck_assert_int_eq(driver_run(writes ? &driver_put : &driver_get),
                     writes ? ERR_OUTCOME_UNKNOWN : ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, INT64_C(250) * (patience.lasts + 1));
    backend_sent(writes ? "1:run:put 1:end 2:start 2:setup 2:terminate:1" : "1:run:get 1:end");
    ck_assert_int_eq(patience.n_asked, patience.lasts + 1);
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
}
END_TEST

/* One that may wait meets its deadline. */
START_TEST(patience_that_lasts)
{
    struct patience patience = {.lasts = 100};
    int64_t begin_ms;

    pg_ask_patience(driver.pg, goes_on, &patience);
    driver_warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    pg_start_request(driver.pg, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 4000);
    ck_assert_int_eq(patience.n_asked, 15);
}
END_TEST

Suite *pg_nodes_suite(void)
{
    Suite *suite = suite_create("pg/nodes");
    TCase *tcase = tcase_create("nodes");

    tcase_add_checked_fixture(tcase, driver_start, driver_stop);
    tcase_add_loop_test(tcase, node_that_is_away, 0, 2);
    tcase_add_test(tcase, killed_while_it_waits_for_a_node);
    tcase_add_test(tcase, nothing_is_shed_among_nodes);
    tcase_add_test(tcase, settings_of_a_statement);
    tcase_add_loop_test(tcase, settings_that_are_refused, 0, 3);
    tcase_add_loop_test(tcase, lost_patience, 0, 4);
    tcase_add_test(tcase, patience_that_lasts);
    suite_add_tcase(suite, tcase);
    return suite;
}
