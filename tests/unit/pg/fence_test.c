/* SPDX-License-Identifier: MIT */
/* Tests of the fence, which ends a session that may still run its last statement. */
#include "pg/fence.h"

#include <check.h>

#include "base/clock.h"
#include "pg/backend.h"
#include "pg/driver.h"
#include "suites.h"

START_TEST(late_write_is_fenced)
{
    int64_t begin_ms;

    driver_warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 4000);
    backend_sent("1:run:put 1:end 2:start 2:setup 2:terminate:1");
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("2:parse:get | 2:run:get |");
}
END_TEST

/* A proxy may have ended the connection: then the server still runs it. */
START_TEST(lost_write_is_fenced)
{
    driver_warm_up();
    backend_expect(ON_RUN, CLOSE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    backend_sent("1:run:put 2:start 2:setup 2:terminate:1");
    backend_expect(ON_RUN, CLOSE, NULL, NULL);
    backend_expect(ON_STARTUP, REFUSE, "53300", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent("2:parse:put | 2:run:put 3:start 4:start 4:setup 4:terminate:2 "
                 "4:parse:get | 4:run:get |");
}
END_TEST

/* The server may still run a COMMIT whose connection was lost. */
START_TEST(lost_commit_is_fenced)
{
    ck_assert(pg_begin(driver.pg, "BEGIN", &driver.err));
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    (void)backend_n_sent("run");
    backend_expect(ON_QUERY, CLOSE, NULL, NULL);
    ck_assert(!pg_commit(driver.pg, &driver.err));
    ck_assert_int_eq(driver.err.code, ERR_OUTCOME_UNKNOWN);
    backend_sent("1:query:COMMIT 2:start 2:setup 2:terminate:1");
}
END_TEST

/* Where the server is silent, the next session tries again, and no statement runs before. */
START_TEST(fence_that_is_lost)
{
    int64_t begin_ms;

    driver_warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    backend_expect(ON_QUERY, SILENCE, NULL, NULL);
    backend_expect(ON_QUERY, CLOSE, NULL, NULL);
    begin_ms = clock_steady_ms();
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 4700);
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_UNAVAILABLE);
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_get), ERR_NONE);
    backend_sent(
        "1:run:put 1:end 2:start 2:setup 2:terminate:1 2:end 3:start 3:setup 3:terminate:1 "
        "4:start 4:setup 4:terminate:1 4:parse:get | 4:run:get |");
}
END_TEST

static void connect_slowly(struct lane *lane)
{
    (void)lane;
    clock_pass_ms(500);
}

static void connect_slowly_next(struct lane *lane)
{
    lane->on_io = connect_slowly;
}

/* The session that fences has to be opened in the same time. */
START_TEST(fence_after_a_slow_connection)
{
    int64_t begin_ms;

    driver_warm_up();
    driver.lane.on_io = connect_slowly_next;
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    backend_expect(ON_QUERY, SILENCE, NULL, NULL);
    begin_ms = clock_steady_ms();
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 4700);
    backend_sent("1:run:put 1:end 2:start 2:setup 2:terminate:1 2:end");
}
END_TEST

/* The fence's own failure: nothing more can be done. */
START_TEST(fence_that_is_refused)
{
    driver_warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    backend_expect(ON_QUERY, REFUSE, "42501", NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:run:put 1:end 2:start 2:setup 2:terminate:1 2:parse:put | 2:run:put |");
}
END_TEST

/* A session that cannot be opened leaves the one that was given up as it is. */
START_TEST(fence_after_a_refused_connection)
{
    driver_warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    backend_expect(ON_STARTUP, REFUSE, "53300", NULL);
    backend_expect(ON_SETUP, CLOSE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_put), ERR_DATABASE_UNAVAILABLE);
    clock_pass_ms(200);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent(
        "1:run:put 1:end 2:start 3:start 3:setup 4:start 4:setup 4:terminate:1 4:parse:put | "
        "4:run:put |");
}
END_TEST

/* Behind a pooler the identity is unknown: nothing can be ended. */
START_TEST(late_session_of_a_pooler_is_closed)
{
    backend_expect(ON_SETUP, POOLED, NULL, NULL);
    driver_warm_up();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    ck_assert_int_eq(driver_run(&driver_put), ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(driver_run(&driver_put), ERR_DATABASE_TIMEOUT);
    clock_pass_ms(100);
    ck_assert_int_eq(driver_run(&driver_put), ERR_NONE);
    backend_sent("1:run:put 1:end 2:start 2:setup 2:parse:put | 2:run:put |");
}
END_TEST

Suite *pg_fence_suite(void)
{
    Suite *suite = suite_create("pg/fence");
    TCase *tcase = tcase_create("fence");

    tcase_add_checked_fixture(tcase, driver_start, driver_stop);
    tcase_add_test(tcase, late_write_is_fenced);
    tcase_add_test(tcase, lost_write_is_fenced);
    tcase_add_test(tcase, lost_commit_is_fenced);
    tcase_add_test(tcase, fence_that_is_lost);
    tcase_add_test(tcase, fence_after_a_slow_connection);
    tcase_add_test(tcase, fence_that_is_refused);
    tcase_add_test(tcase, fence_after_a_refused_connection);
    tcase_add_test(tcase, late_session_of_a_pooler_is_closed);
    suite_add_tcase(suite, tcase);
    return suite;
}
