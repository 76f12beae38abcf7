/* SPDX-License-Identifier: MIT */
/* Tests of writes that name the operator, before a scripted backend. */
#include <check.h>

#include "nodes/nodes.h"
#include "pg/backend.h"
#include "pg/driver.h"
#include "suites.h"

static void start(void)
{
    driver_start();
    pg_name_operator(driver.pg, "ada");
}

#define NAMED "1:query:BEGIN 1:parse:- 1:run:- | "

/* The name and the search path hold for the statement's own transaction: a pooler lends the session
 * to others. */
START_TEST(statements_are_the_operators)
{
    driver_warm_up();
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent(NAMED "1:run:put | 1:query:COMMIT");
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:query:BEGIN; 1:run:get | 1:query:COMMIT");
}
END_TEST

/* Nodes learn of a setting only by SET LOCAL. */
START_TEST(nodes_learn_the_operator)
{
    nodes_place(driver.pg, true);
    driver_warm_up();
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:query:BEGIN 1:query:SET 1:run:put | 1:query:COMMIT");
}
END_TEST

START_TEST(named_write_that_is_refused)
{
    driver_warm_up();
    backend_expect(ON_RUN, ANSWER, NULL, NULL);
    backend_expect(ON_RUN, REFUSE, "23505", "thing_key");
    ck_assert_int_eq(driver_run(&driver_put), ERR_PUBLIC_KEY_EXISTS);
    backend_sent(NAMED "1:run:put | 1:query:ROLLBACK");
}
END_TEST

/* A name that is lost costs nothing: the write was not sent. */
START_TEST(operator_that_is_not_named)
{
    driver_warm_up();
    backend_expect(ON_RUN, CLOSE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    ck_assert_int_eq(backend_n_sent("run:put"), 1);
}
END_TEST

/* Behind a pooler, somebody else has prepared the statement on the same session.  The error ends
 * the transaction. */
START_TEST(named_write_whose_name_is_taken)
{
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    (void)backend_n_sent("run");
    backend_expect(ON_PARSE, ANSWER, NULL, NULL);
    backend_expect(ON_PARSE, REFUSE, "42P05", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent(NAMED "1:parse:put | 1:query:ROLLBACK " NAMED
                       "1:parse:- 1:run:- | 1:query:COMMIT");
}
END_TEST

START_TEST(named_write_whose_commit_fails)
{
    driver_warm_up();
    backend_expect(ON_QUERY, ANSWER, NULL, NULL);
    backend_expect(ON_QUERY, REFUSE, "53100", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_DATABASE_READ_ONLY);
    (void)backend_n_sent("run");
    backend_expect(ON_QUERY, ANSWER, NULL, NULL);
    backend_expect(ON_QUERY, CLOSE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    backend_sent(NAMED "1:run:put | 1:query:COMMIT 2:start 2:setup 2:terminate:1");
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    (void)backend_n_sent("run");
    backend_expect(ON_QUERY, ANSWER, NULL, NULL);
    backend_expect(ON_QUERY, WARN, NULL, "SyncRepWaitForLSN");
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
}
END_TEST

START_TEST(named_write_that_may_run_again)
{
    struct pg_statement again = driver_put;

    again.is_repeatable = true;
    driver_warm_up();
    backend_expect(ON_QUERY, ANSWER, NULL, NULL);
    backend_expect(ON_QUERY, CLOSE, NULL, NULL);
    ck_assert_int_eq(driver_run(&again), ERR_NONE);
    backend_sent("1:query:BEGIN 1:parse:- 1:run:- | 1:parse:put | 1:run:put | 1:query:COMMIT "
                 "2:start 2:setup 2:query:BEGIN 2:parse:- 2:run:- | 2:parse:put | 2:run:put | "
                 "2:query:COMMIT");
}
END_TEST

Suite *pg_operator_suite(void)
{
    Suite *suite = suite_create("pg/operator");
    TCase *tcase = tcase_create("operator");

    tcase_add_checked_fixture(tcase, start, driver_stop);
    tcase_add_test(tcase, statements_are_the_operators);
    tcase_add_test(tcase, nodes_learn_the_operator);
    tcase_add_test(tcase, named_write_that_is_refused);
    tcase_add_test(tcase, operator_that_is_not_named);
    tcase_add_test(tcase, named_write_whose_name_is_taken);
    tcase_add_test(tcase, named_write_whose_commit_fails);
    tcase_add_test(tcase, named_write_that_may_run_again);
    suite_add_tcase(suite, tcase);
    return suite;
}
