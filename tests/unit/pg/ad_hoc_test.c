/* SPDX-License-Identifier: MIT */
/* Tests of ad hoc statements, before a scripted backend.  Each is sent in one piece with the
 * statement that sets its limit. */
#include <check.h>

#include "pg/backend.h"
#include "pg/driver.h"
#include "suites.h"

#define ONCE "parse:- 1:run:- 1:parse:- 1:run:- |"

/* The statement is gone afterwards. */
static enum error_code run(void)
{
    const struct pg_statement statement = {.name = "find",
                                           .sql = "SELECT made",
                                           .types = PG_BIGINT,
                                           .ad_hoc_ms = 3000,
                                           .on_slow = ERR_FILTER_TOO_SLOW};

    return driver_run(&statement);
}

static void open_session(void)
{
    ck_assert_int_eq(run(), ERR_NONE);
    backend_sent("1:start 1:setup 1:" ONCE);
}

START_TEST(one_round_trip_and_no_name)
{
    open_session();
    ck_assert_int_eq(run(), ERR_NONE);
    backend_sent("1:" ONCE);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:parse:get | 1:run:get |");
    ck_assert_int_eq(run(), ERR_NONE);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:" ONCE " 1:run:get |");
}
END_TEST

static const struct {
    const char *sqlstate;
    enum error_code code;
} errors[] = {
    {"57014", ERR_FILTER_TOO_SLOW},
    {"55P03", ERR_DATABASE_TIMEOUT},
    {"42P01", ERR_SCHEMA_MISMATCH},
    {"22012", ERR_INTERNAL},
};

/* The session stays, and the next statement is not refused. */
START_TEST(errors_that_are_final)
{
    open_session();
    backend_expect(ON_RUN, ANSWER, NULL, NULL);
    backend_expect(ON_RUN, REFUSE, errors[_i].sqlstate, NULL);
    ck_assert_int_eq(run(), errors[_i].code);
    ck_assert_str_eq(driver.err.sqlstate, errors[_i].sqlstate);
    backend_sent("1:" ONCE);
    if (errors[_i].code == ERR_DATABASE_TIMEOUT)
        clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:parse:get | 1:run:get |");
}
END_TEST

/* The server skips the statement itself. */
START_TEST(its_limit_cannot_be_set)
{
    open_session();
    backend_expect(ON_RUN, REFUSE, "42501", NULL);
    ck_assert_int_eq(run(), ERR_SCHEMA_MISMATCH);
    backend_sent("1:parse:- 1:run:- |");
    ck_assert_int_eq(run(), ERR_NONE);
    backend_sent("1:" ONCE);
}
END_TEST

START_TEST(malformed_text)
{
    open_session();
    backend_expect(ON_PARSE, ANSWER, NULL, NULL);
    backend_expect(ON_PARSE, REFUSE, "42601", NULL);
    ck_assert_int_eq(run(), ERR_INTERNAL);
    backend_sent("1:parse:- 1:run:- 1:parse:- |");
    ck_assert_int_eq(run(), ERR_NONE);
    backend_sent("1:" ONCE);
}
END_TEST

START_TEST(serialization_failure_is_run_again)
{
    open_session();
    backend_expect(ON_RUN, ANSWER, NULL, NULL);
    backend_expect(ON_RUN, REFUSE, "40001", NULL);
    ck_assert_int_eq(run(), ERR_NONE);
    backend_sent("1:" ONCE " 1:" ONCE);
}
END_TEST

START_TEST(wrong_server_is_left)
{
    open_session();
    backend_expect(ON_RUN, ANSWER, NULL, NULL);
    backend_expect(ON_RUN, REFUSE, "0A000", NULL);
    ck_assert_int_eq(run(), ERR_NONE);
    backend_sent("1:" ONCE " 1:end 2:start 2:setup 2:parse:- 2:run:- 2:parse:- 2:run:- |");
}
END_TEST

static const enum backend_act losses[] = {CLOSE, CUT};

START_TEST(lost_answer_is_asked_again)
{
    open_session();
    backend_expect(ON_RUN, ANSWER, NULL, NULL);
    backend_expect(ON_RUN, losses[_i], NULL, NULL);
    ck_assert_int_eq(run(), ERR_NONE);
    ck_assert_int_eq(run(), ERR_NONE);
}
END_TEST

/* All rows have come, but not the end of the transaction. */
START_TEST(lost_end_is_asked_again)
{
    open_session();
    backend_expect(ON_SYNC, CLOSE, NULL, NULL);
    ck_assert_int_eq(run(), ERR_NONE);
    ck_assert_int_eq(backend_n_sent("setup"), 1);
}
END_TEST

START_TEST(no_answer_ends_the_session)
{
    open_session();
    backend_expect(ON_RUN, ANSWER, NULL, NULL);
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    ck_assert_int_eq(run(), ERR_DATABASE_TIMEOUT);
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    ck_assert_int_eq(backend_n_sent("terminate:1"), 1);
}
END_TEST

START_TEST(other_columns_are_refused)
{
    open_session();
    backend_expect(ON_RUN, ANSWER, NULL, NULL);
    backend_expect(ON_RUN, OTHER_COLUMNS, NULL, NULL);
    ck_assert_int_eq(run(), ERR_SCHEMA_MISMATCH);
    backend_sent("1:" ONCE);
    ck_assert_int_eq(run(), ERR_NONE);
    backend_sent("1:" ONCE);
}
END_TEST

Suite *pg_ad_hoc_suite(void)
{
    Suite *suite = suite_create("pg/ad_hoc");
    TCase *tests = tcase_create("ad hoc statements");

    tcase_add_checked_fixture(tests, driver_start, driver_stop);
    tcase_add_test(tests, one_round_trip_and_no_name);
    tcase_add_loop_test(tests, errors_that_are_final, 0, sizeof errors / sizeof errors[0]);
    tcase_add_test(tests, its_limit_cannot_be_set);
    tcase_add_test(tests, malformed_text);
    tcase_add_test(tests, serialization_failure_is_run_again);
    tcase_add_test(tests, wrong_server_is_left);
    tcase_add_loop_test(tests, lost_answer_is_asked_again, 0, sizeof losses / sizeof losses[0]);
    tcase_add_test(tests, lost_end_is_asked_again);
    tcase_add_test(tests, no_answer_ends_the_session);
    tcase_add_test(tests, other_columns_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
