/* SPDX-License-Identifier: MIT */
/* Tests of a short absence that the database has announced: how long requests wait for it. */
#include "pg/outage.h"

#include <check.h>

#include "base/clock.h"
#include "pg/backend.h"
#include "pg/driver.h"
#include "suites.h"

static struct pg_outage outage;

static void start(void)
{
    driver_start();
    pg_share_outage(driver.pg, &outage);
}

/* Has the server refuse the next n sessions. */
static void refuse(int n, enum backend_act act, const char *sqlstate)
{
    for (int i = 0; i < n; i++)
        backend_expect(ON_STARTUP, act, sqlstate, "scripted");
}

/* Runs a statement as a request.  Returns how long it took. */
static int64_t ask(const struct pg_statement *statement, enum error_code code)
{
    int64_t begin_ms = clock_steady_ms();

    pg_start_request(driver.pg, NULL, NULL);
    ck_assert_int_eq(driver_run(statement), code);
    return clock_steady_ms() - begin_ms;
}

static void warm_up(void)
{
    ask(&driver_get, ERR_NONE);
    ask(&driver_put, ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get | 1:parse:put | 1:run:put |");
}

/* ---- waiting ---- */

static const struct {
    enum backend_act act;
    const char *sqlstate;
} announcements[] = {{REFUSE, "57P03"}, {REFUSE, "57P01"}, {STANDBY, NULL}};

/* Neither a read nor a write was sent before. */
START_TEST(statement_waits)
{
    const struct pg_statement *statement = _i % 2 ? &driver_put : &driver_get;
    int64_t took_ms;

    refuse(5, announcements[_i / 2].act, announcements[_i / 2].sqlstate);
    took_ms = ask(statement, ERR_NONE);
    ck_assert_int_ge(took_ms, 5 * 50);
    ck_assert_int_le(took_ms, 5 * 150);
    ck_assert_int_eq(backend_n_sent("start"), 6);
}
END_TEST

/* After an announcement, requests wait whatever becomes of their attempts: between the end of a
 * server and the begin of the next one nobody listens. */
START_TEST(other_refusals_are_waited_out)
{
    refuse(1, REFUSE, "57P03");
    refuse(2, CLOSE, NULL);
    refuse(1, REFUSE, "53300");
    ck_assert_int_ge(ask(&driver_put, ERR_NONE), 4 * 50);
}
END_TEST

static const struct {
    enum backend_act act;
    const char *sqlstate;
} failures[] = {{REFUSE, "53300"}, {REFUSE, "28P01"}};

START_TEST(other_refusals_fail_at_once)
{
    refuse(1, failures[_i].act, failures[_i].sqlstate);
    ck_assert_int_eq(ask(&driver_get, ERR_DATABASE_UNAVAILABLE), 0);
}
END_TEST

/* As a server does with connections that come while its last process ends. */
START_TEST(closed_without_a_word)
{
    refuse(1, CLOSE, NULL);
    ck_assert_int_ge(ask(_i ? &driver_put : &driver_get, ERR_NONE), 50);
}
END_TEST

START_TEST(closed_and_then_announced)
{
    refuse(1, CLOSE, NULL);
    refuse(8, REFUSE, "57P03");
    ck_assert_int_ge(ask(&driver_get, ERR_NONE), 9 * 50);
}
END_TEST

/* Once in all: it goes on. */
START_TEST(always_closed)
{
    refuse(60, CLOSE, NULL);
    ck_assert_int_le(ask(&driver_get, ERR_DATABASE_UNAVAILABLE), 200 + 150);
    for (int i = 0; i < 3; i++) {
        clock_pass_ms(200);
        ck_assert_int_eq(ask(&driver_get, ERR_DATABASE_UNAVAILABLE), 0);
    }
}
END_TEST

/* For 3 s in all, and not for 3 s each. */
START_TEST(waiting_is_bounded)
{
    int64_t took_ms;

    refuse(60, _i ? STANDBY : REFUSE, _i ? NULL : "57P03");
    took_ms = ask(&driver_get, _i ? ERR_DATABASE_READ_ONLY : ERR_DATABASE_UNAVAILABLE);
    ck_assert_int_ge(took_ms, 2850);
    ck_assert_int_le(took_ms, 3000);
    clock_pass_ms(200);
    for (int i = 0; i < 3; i++) {
        took_ms = ask(&driver_get, _i ? ERR_DATABASE_READ_ONLY : ERR_DATABASE_UNAVAILABLE);
        ck_assert_int_eq(took_ms, 0);
        clock_pass_ms(200);
    }
}
END_TEST

/* A request that began earlier has less time: a quarter of it is the statement's. */
START_TEST(a_quarter_of_the_time_is_left)
{
    int64_t begin_ms = clock_steady_ms();

    refuse(60, REFUSE, "57P03");
    pg_start_request(driver.pg, NULL, NULL);
    clock_pass_ms(1500);
    ck_assert_int_eq(driver_run(&driver_get), ERR_DATABASE_UNAVAILABLE);
    ck_assert_int_ge(clock_steady_ms() - begin_ms, 2850);
    ck_assert_int_le(clock_steady_ms() - begin_ms, 3000);
}
END_TEST

START_TEST(next_outage)
{
    pg_outage_announce(&outage, 1000);
    pg_outage_announce(&outage, 2500);
    ck_assert(pg_outage_is_on(&outage, 3999));
    pg_outage_announce(&outage, 4000);
    ck_assert(!pg_outage_is_on(&outage, 4000));
    pg_outage_note_open(&outage);
    ck_assert(!pg_outage_is_on(&outage, 4000));
    pg_outage_announce(&outage, 5000);
    ck_assert(pg_outage_is_on(&outage, 7999));
    pg_outage_note_open(&outage); /* other sessions may need another attempt */
    ck_assert(pg_outage_is_on(&outage, 7999));
    ck_assert(!pg_outage_is_on(&outage, 8000));
}
END_TEST

/* Aditctl and the gateway say at once what they meet. */
START_TEST(nobody_waits_unasked)
{
    pg_share_outage(driver.pg, NULL);
    refuse(1, REFUSE, "57P03");
    ck_assert_int_eq(ask(&driver_get, ERR_DATABASE_UNAVAILABLE), 0);
}
END_TEST

START_TEST(scripts_do_not_wait)
{
    refuse(1, REFUSE, "57P03");
    ck_assert(!pg_script(driver.pg, "BEGIN", 1000, &driver.err));
    ck_assert_int_eq(backend_n_sent("start"), 1);
}
END_TEST

START_TEST(clock_waits)
{
    int64_t ms;

    refuse(2, REFUSE, "57P03");
    ck_assert(pg_clock(driver.pg, &ms, &driver.err));
}
END_TEST

/* ---- the end of a session ---- */

/* The message that ends a session announces it too, however long nobody has asked: a read is sent
 * again, once. */
START_TEST(end_of_a_session)
{
    warm_up();
    clock_pass_ms(_i ? 60000 : 0);
    backend_expect(ON_RUN, REFUSE, "57P01", NULL);
    refuse(2, CLOSE, NULL);
    ck_assert_int_ge(ask(&driver_get, ERR_NONE), 2 * 50);
    backend_sent("1:run:get | 1:end 2:start 3:start 4:start 4:setup 4:parse:get | 4:run:get |");
}
END_TEST

/* It is old, and the database stays away: only the first request waits. */
START_TEST(old_end_of_a_session)
{
    warm_up();
    backend_end(1);
    refuse(60, REFUSE, "53300");
    ck_assert_int_ge(ask(&driver_put, ERR_DATABASE_UNAVAILABLE), 2850);
    clock_pass_ms(200);
    ck_assert_int_eq(ask(&driver_put, ERR_DATABASE_UNAVAILABLE), 0);
}
END_TEST

/* A write looks before it is sent. */
START_TEST(end_of_an_idle_session)
{
    warm_up();
    backend_end(1);
    refuse(2, CLOSE, NULL);
    ck_assert_int_ge(ask(&driver_put, ERR_NONE), 2 * 50);
    backend_sent("2:start 3:start 4:start 4:setup 4:parse:put | 4:run:put |");
}
END_TEST

/* Sent, and not answered. */
START_TEST(write_is_not_sent_again)
{
    warm_up();
    backend_expect(ON_RUN, REFUSE, "57P01", NULL);
    ck_assert_int_eq(ask(&driver_put, ERR_OUTCOME_UNKNOWN), 0);
    ck_assert_int_eq(backend_n_sent("run:put"), 1);
}
END_TEST

#define N(array) (int)(sizeof(array) / sizeof(array)[0])

Suite *pg_outage_suite(void)
{
    Suite *suite = suite_create("pg/outage");
    TCase *tcase = tcase_create("outage");

    tcase_add_checked_fixture(tcase, start, driver_stop);
    tcase_add_loop_test(tcase, statement_waits, 0, 2 * N(announcements));
    tcase_add_test(tcase, other_refusals_are_waited_out);
    tcase_add_loop_test(tcase, other_refusals_fail_at_once, 0, N(failures));
    tcase_add_loop_test(tcase, closed_without_a_word, 0, 2);
    tcase_add_test(tcase, closed_and_then_announced);
    tcase_add_test(tcase, always_closed);
    tcase_add_loop_test(tcase, waiting_is_bounded, 0, 2);
    tcase_add_test(tcase, a_quarter_of_the_time_is_left);
    tcase_add_test(tcase, next_outage);
    tcase_add_test(tcase, nobody_waits_unasked);
    tcase_add_test(tcase, scripts_do_not_wait);
    tcase_add_test(tcase, clock_waits);
    tcase_add_loop_test(tcase, end_of_a_session, 0, 2);
    tcase_add_test(tcase, old_end_of_a_session);
    tcase_add_test(tcase, end_of_an_idle_session);
    tcase_add_test(tcase, write_is_not_sent_again);
    suite_add_tcase(suite, tcase);
    return suite;
}
