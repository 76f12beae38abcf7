/* SPDX-License-Identifier: MIT */
/* Tests of the driver on sessions of its own, before a scripted backend. */
#include "pg/pg.h"

#include <check.h>

#include "base/clock.h"
#include "pg/backend.h"
#include "pg/driver.h"
#include "suites.h"

/* ---- good answers ---- */

START_TEST(prepares_once)
{
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get |");
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:run:get |");
}
END_TEST

START_TEST(failed_parameters_are_not_sent)
{
    struct pg_params params = {.failed = true};
    struct pg_result *result;

    ck_assert(!pg_run(driver.pg, &driver_get, &params, &result, &driver.err));
    ck_assert_int_eq(driver.err.code, ERR_OUT_OF_MEMORY);
    backend_sent("");
}
END_TEST

/* ---- errors ---- */

static const struct {
    const struct pg_statement *statement;
    const char *sqlstate, *detail;
    enum error_code code;
} errors[] = {
    {&driver_put, "23505", "thing_key", ERR_PUBLIC_KEY_EXISTS},
    {&driver_put, "23505", "other_key", ERR_INTERNAL},
    {&driver_put, "23505", "thing_limit", ERR_INTERNAL},
    {&driver_put, "23514", "thing_limit", ERR_KEY_FULL},
    {&driver_put, "23514", "thing_of_others", ERR_KEY_OF_OTHERS},
    {&driver_put, "23514", "thing_key", ERR_INTERNAL},
    {&driver_get, "22012", NULL, ERR_INTERNAL},
    {&driver_get, "42P01", NULL, ERR_SCHEMA_MISMATCH},
    {&driver_get, "42703", NULL, ERR_SCHEMA_MISMATCH},
    {&driver_get, "42804", NULL, ERR_SCHEMA_MISMATCH},
    {&driver_get, "42501", NULL, ERR_SCHEMA_MISMATCH},
    {&driver_get, "53100", NULL, ERR_DATABASE_READ_ONLY},
    {&driver_put, "54000", NULL, ERR_DATABASE_READ_ONLY},
    {&driver_get, "57014", NULL, ERR_DATABASE_TIMEOUT},
    {&driver_put, "55P03", NULL, ERR_DATABASE_TIMEOUT},
    {&driver_get, "53300", NULL, ERR_DATABASE_UNAVAILABLE},
    {&driver_get, "58030", NULL, ERR_DATABASE_UNAVAILABLE},
};

/* Final, and the session stays. */
START_TEST(errors_that_are_final)
{
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, errors[_i].sqlstate, errors[_i].detail);
    ck_assert_int_eq(driver_run(errors[_i].statement), errors[_i].code);
    ck_assert_str_eq(driver.err.sqlstate, errors[_i].sqlstate);
    backend_sent(errors[_i].statement == &driver_get ? "1:run:get |" : "1:run:put |");
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(errors[_i].statement), ERR_NONE);
    backend_sent(errors[_i].statement == &driver_get ? "1:run:get |" : "1:run:put |");
}
END_TEST

/* No effect: run again, writes too. */
START_TEST(deadlock_is_run_again)
{
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, "40P01", NULL);
    backend_expect(ON_RUN, REFUSE, "40001", NULL);
    backend_expect(ON_RUN, REFUSE, "23503", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:run:put | 1:run:put | 1:run:put | 1:run:put |");
}
END_TEST

START_TEST(attempts_are_limited)
{
    driver_warm_up();
    for (int i = 0; i < 4; i++)
        backend_expect(ON_RUN, REFUSE, "40001", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_DATABASE_UNAVAILABLE);
    backend_sent("1:run:put | 1:run:put | 1:run:put | 1:run:put |");
}
END_TEST

START_TEST(lost_name_is_prepared_again)
{
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, "26000", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:run:put | 1:parse:put | 1:run:put |");
}
END_TEST

/* Behind a pooler that hands out another session each time. */
START_TEST(names_are_not_used_after_three_losses)
{
    driver_warm_up();
    for (int i = 0; i < 3; i++)
        backend_expect(ON_RUN, REFUSE, "26000", NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("1:run:get | 1:parse:get | 1:run:get | 1:parse:get | 1:run:get | "
                 "1:parse:- 1:run:- |");
}
END_TEST

START_TEST(name_that_is_taken_is_used)
{
    backend_expect(ON_PARSE, REFUSE, "42P05", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:put | 1:run:put |");
}
END_TEST

/* The server's error names the state in its text only: text decides nothing. */
START_TEST(text_of_an_error_decides_nothing)
{
    backend_expect(ON_PARSE, REFUSE, "42601", "it is not 42P05 at all");
    ck_assert_int_eq(driver_run(&driver_put), ERR_INTERNAL);
    backend_sent("1:start 1:setup 1:parse:put |");
}
END_TEST

START_TEST(prepare_that_is_lost_had_no_effect)
{
    backend_expect(ON_PARSE, CLOSE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:put "
                 "2:start 2:setup 2:terminate:1 2:parse:put | 2:run:put |");
}
END_TEST

/* A standby, and a plan for a schema that has changed. */
START_TEST(wrong_server_is_left)
{
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, _i ? "0A000" : "25006", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:run:put | 1:end 2:start 2:setup 2:parse:put | 2:run:put |");
}
END_TEST

START_TEST(other_columns)
{
    driver_warm_up();
    backend_expect(ON_RUN, _i ? NO_COLUMNS : OTHER_COLUMNS, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_SCHEMA_MISMATCH);
    backend_expect(ON_RUN, _i ? NO_COLUMNS : OTHER_COLUMNS, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    backend_sent("1:run:get | 1:run:put |");
}
END_TEST

/* ---- lost connections ---- */

static const struct {
    enum backend_act act;
    const char *sqlstate;
    bool may_run; /* the server has not said that the statement has ended */
} losses[] = {{CLOSE, NULL, true},      {CUT, NULL, true},        {NO_RESULT, NULL, false},
              {REFUSE, "57P01", false}, {REFUSE, "57P03", false}, {REFUSE, "08006", false}};

START_TEST(lost_read_is_run_again)
{
    driver_warm_up();
    backend_expect(ON_RUN, losses[_i].act, losses[_i].sqlstate, NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    ck_assert_int_eq(backend_n_sent("run:get"), 2);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
}
END_TEST

START_TEST(lost_write_is_never_run_again)
{
    driver_warm_up();
    backend_expect(ON_RUN, losses[_i].act, losses[_i].sqlstate, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(backend_n_sent("run:put"), 1);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent(losses[_i].may_run ? "2:parse:get | 2:run:get |"
                                    : "2:start 2:setup 2:parse:get | 2:run:get |");
}
END_TEST

START_TEST(lost_repeatable_write_is_run_again)
{
    struct pg_statement again = driver_put;

    again.is_repeatable = true;
    driver_warm_up();
    backend_expect(ON_RUN, losses[_i].act, losses[_i].sqlstate, NULL);
    ck_assert_int_eq(driver_run(&again), ERR_NONE);
    ck_assert_int_eq(backend_n_sent("run:put"), 2);
    ck_assert(pg_has_written(driver.pg));
}
END_TEST

START_TEST(idle_session_that_was_closed)
{
    driver_warm_up();
    ck_assert_int_eq(pg_n_opened(driver.pg), 1);
    backend_close(1);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    ck_assert_int_eq(pg_n_opened(driver.pg), 2);
    backend_sent("2:start 2:setup 2:parse:put | 2:run:put |");
    backend_close(2);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("3:start 3:setup 3:parse:get | 3:run:get |");
}
END_TEST

START_TEST(idle_session_with_a_notice_is_kept)
{
    driver_warm_up();
    backend_notice(1);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:run:put |");
}
END_TEST

/* Running a repeatable write again would not wait for the standby: it finds nothing to change. */
START_TEST(commit_without_the_standby)
{
    struct pg_statement again = driver_put;

    driver_warm_up();
    again.is_repeatable = true;
    for (int i = 0; i < 2; i++) {
        backend_expect(ON_RUN, WARN, NULL, "SyncRepWaitForLSN");
        ck_assert_int_eq(driver_run(i ? &again : &driver_put), ERR_OUTCOME_UNKNOWN);
        ck_assert_int_eq(backend_n_sent("run:put"), 1);
    }
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_expect(ON_RUN, WARN, NULL, "other_function");
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
}
END_TEST

static bool gone(void *peer)
{
    return *(bool *)peer;
}

START_TEST(no_write_for_a_peer_that_is_gone)
{
    bool is_gone = true;

    pg_start_request(driver.pg, gone, &is_gone);
    ck_assert_int_eq(driver_run(&driver_put), ERR_CLIENT_GONE);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    is_gone = false;
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get | 1:parse:put | 1:run:put |");
}
END_TEST

/* ---- time ---- */

/* The time of a read is over: its session is given up, and ended by the next one. */
START_TEST(late_read)
{
    pg_start_request(driver.pg, NULL, NULL);
    driver_warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    backend_sent("1:run:get 1:end");
    pg_start_request(driver.pg, NULL, NULL);
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("2:start 2:setup 2:terminate:1 2:parse:get | 2:run:get |");
}
END_TEST

START_TEST(no_time_is_left)
{
    pg_start_request(driver.pg, NULL, NULL);
    driver_warm_up();
    clock_pass_ms(4000);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    backend_sent("");
}
END_TEST

/* It bounds a statement, connecting, and a request.  Half of it is left for another attempt. */
START_TEST(time_that_is_set)
{
    int64_t begin_ms;

    pg_set_timeout(driver.pg, 1000);
    backend_expect(ON_STARTUP, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_UNAVAILABLE);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 1000);
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_expect(ON_RUN, CLOSE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 1000);
    pg_start_request(driver.pg, NULL, NULL);
    clock_pass_ms(1000);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
}
END_TEST

/* What waited behind a late read is refused at once; behind a late write, writes only. */
START_TEST(late_statement_sheds)
{
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, "57014", NULL);
    ck_assert_int_eq(driver_run(_i ? &driver_put : &driver_get), ERR_DATABASE_TIMEOUT);
    backend_sent(_i ? "1:run:put |" : "1:run:get |");
    ck_assert_int_eq(driver_run(&driver_put), ERR_DATABASE_TIMEOUT);
    ck_assert_str_eq(driver.err.sqlstate, "");
    backend_sent("");
    ck_assert_int_eq(driver_run(&driver_get), _i ? ERR_NONE : ERR_DATABASE_TIMEOUT);
    clock_pass_ms(3);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
}
END_TEST

/* Whoever owns the driver may ask at once. */
START_TEST(late_statement_that_sheds_nothing)
{
    pg_refuse_nothing(driver.pg);
    driver_warm_up();
    backend_expect(ON_RUN, REFUSE, "57014", NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_TIMEOUT);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
}
END_TEST

/* ---- connecting ---- */

START_TEST(pause_after_a_refused_connection)
{
    backend_expect(ON_STARTUP, REFUSE, "57P03", "starting up");
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_UNAVAILABLE);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_UNAVAILABLE);
    backend_sent("1:start");
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("2:start 2:setup 2:parse:get | 2:run:get |");
}
END_TEST

START_TEST(standby_is_read_only)
{
    backend_expect(ON_STARTUP, STANDBY, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_READ_ONLY);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_READ_ONLY); /* in the pause */
    backend_sent("1:start 1:end");
}
END_TEST

static const struct {
    enum backend_act act;
    const char *sqlstate;
    enum error_code code;
} setups[] = {{CLOSE, NULL, ERR_DATABASE_UNAVAILABLE},
              {SILENCE, NULL, ERR_DATABASE_TIMEOUT},
              {REFUSE, "42704", ERR_INTERNAL},
              {REFUSE, "57P01", ERR_DATABASE_UNAVAILABLE}};

START_TEST(setup_that_fails)
{
    backend_expect(ON_SETUP, setups[_i].act, setups[_i].sqlstate, NULL);
    ck_assert_int_eq(driver_run(&driver_put), setups[_i].code);
    ck_assert_int_eq(driver_run(&driver_put), setups[_i].code); /* in the pause */
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
}
END_TEST

/* ---- scripts and the clock ---- */

START_TEST(scripts)
{
    ck_assert(pg_script(driver.pg, "BEGIN; COMMIT", 1000, &driver.err));
    backend_expect(ON_QUERY, REFUSE, "55P03", NULL);
    ck_assert(!pg_script(driver.pg, "LOCK", 1000, &driver.err));
    ck_assert_str_eq(driver.err.sqlstate, "55P03");
    pg_rollback(driver.pg);
    backend_expect(ON_QUERY, SILENCE, NULL, NULL);
    ck_assert(!pg_script(driver.pg, "LOCK", 1000, &driver.err));
    ck_assert_int_eq(driver.err.code, ERR_DATABASE_TIMEOUT);
    backend_sent("1:start 1:setup 1:query:BEGIN; 1:query:LOCK 1:query:ROLLBACK 1:query:LOCK 1:end");
    backend_expect(ON_STARTUP, CLOSE, NULL, NULL);
    ck_assert(!pg_script(driver.pg, "LOCK", 1000, &driver.err));
    ck_assert_int_eq(driver.err.code, ERR_DATABASE_UNAVAILABLE);
    pg_rollback(driver.pg); /* there is no session: nothing to do */
    backend_sent("2:start");
}
END_TEST

START_TEST(clock_of_the_database)
{
    const int64_t ahead_us = INT64_C(5000000);
    int64_t ms;

    backend_set_ahead(ahead_us);
    ck_assert(pg_clock(driver.pg, &ms, &driver.err));
    ck_assert_int_eq(ms, clock_wall_ms() + ahead_us / 1000);
    backend_sent("1:start 1:setup");
    clock_pass_ms(1000);
    ck_assert(pg_clock(driver.pg, &ms, &driver.err));
    ck_assert_int_eq(ms, clock_wall_ms() + ahead_us / 1000);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    pg_note_time(driver.pg, clock_wall_us() - ahead_us);
    ck_assert(pg_clock(driver.pg, &ms, &driver.err));
    ck_assert_int_eq(ms, clock_wall_ms() - ahead_us / 1000);
}
END_TEST

START_TEST(no_clock_without_a_database)
{
    int64_t ms;

    backend_expect(ON_STARTUP, CLOSE, NULL, NULL);
    ck_assert(!pg_clock(driver.pg, &ms, &driver.err));
    ck_assert_int_eq(driver.err.code, ERR_DATABASE_UNAVAILABLE);
}
END_TEST

static TCase *case_of(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, driver_start, driver_stop);
    suite_add_tcase(suite, tcase);
    return tcase;
}

#define N(array) (int)(sizeof(array) / sizeof(array)[0])

Suite *pg_driver_suite(void)
{
    Suite *suite = suite_create("pg/driver");
    TCase *tcase = case_of(suite, "answers");

    tcase_add_test(tcase, prepares_once);
    tcase_add_test(tcase, failed_parameters_are_not_sent);
    tcase_add_loop_test(tcase, errors_that_are_final, 0, N(errors));
    tcase_add_test(tcase, deadlock_is_run_again);
    tcase_add_test(tcase, attempts_are_limited);
    tcase_add_test(tcase, lost_name_is_prepared_again);
    tcase_add_test(tcase, names_are_not_used_after_three_losses);
    tcase_add_test(tcase, name_that_is_taken_is_used);
    tcase_add_test(tcase, text_of_an_error_decides_nothing);
    tcase_add_test(tcase, prepare_that_is_lost_had_no_effect);
    tcase_add_loop_test(tcase, wrong_server_is_left, 0, 2);
    tcase_add_loop_test(tcase, other_columns, 0, 2);
    tcase = case_of(suite, "losses");
    tcase_add_loop_test(tcase, lost_read_is_run_again, 0, N(losses));
    tcase_add_loop_test(tcase, lost_write_is_never_run_again, 0, N(losses));
    tcase_add_loop_test(tcase, lost_repeatable_write_is_run_again, 0, N(losses));
    tcase_add_test(tcase, idle_session_that_was_closed);
    tcase_add_test(tcase, idle_session_with_a_notice_is_kept);
    tcase_add_test(tcase, commit_without_the_standby);
    tcase_add_test(tcase, no_write_for_a_peer_that_is_gone);
    tcase = case_of(suite, "time");
    tcase_add_test(tcase, late_read);
    tcase_add_test(tcase, no_time_is_left);
    tcase_add_test(tcase, time_that_is_set);
    tcase_add_loop_test(tcase, late_statement_sheds, 0, 2);
    tcase_add_test(tcase, late_statement_that_sheds_nothing);
    tcase = case_of(suite, "connecting");
    tcase_add_test(tcase, pause_after_a_refused_connection);
    tcase_add_test(tcase, standby_is_read_only);
    tcase_add_loop_test(tcase, setup_that_fails, 0, N(setups));
    tcase_add_test(tcase, scripts);
    tcase_add_test(tcase, clock_of_the_database);
    tcase_add_test(tcase, no_clock_without_a_database);
    return suite;
}
