/* SPDX-License-Identifier: MIT */
/* Tests of the shared session, before a scripted backend. */
#include "pg/pipeline.h"

#include <check.h>

#include "base/clock.h"
#include "pg/answer.h"
#include "pg/backend.h"
#include "pg/lane.h"
#include "pg/outage.h"
#include "suites.h"

static const struct pg_statement get = {
    .name = "get", .sql = "SELECT 42", .types = PG_BIGINT, .is_short = true};
static const struct pg_statement put = {
    .name = "put", .sql = "INSERT", .types = PG_BIGINT, .writes = true};

/* Two lanes of a worker and what they share. */
static struct pg_pipeline *pipeline;
static struct lane lanes[2];
static struct pg *pgs[2];
static enum error_code other_code;

static void start(void)
{
    backend_start();
    pipeline = pg_pipeline_new(backend_conninfo());
    ck_assert_ptr_nonnull(pipeline);
    for (int i = 0; i < 2; i++) {
        struct wait wait;

        lanes[i].pipeline = pipeline;
        wait = lane_wait(&lanes[i]);
        pgs[i] = pg_new(backend_conninfo(), &wait);
        ck_assert_ptr_nonnull(pgs[i]);
        pg_use_pipeline(pgs[i], pipeline);
    }
}

static void stop(void)
{
    pg_free(pgs[0]);
    pg_free(pgs[1]);
    pg_pipeline_free(pipeline);
    backend_stop();
}

static enum error_code run(int lane, const struct pg_statement *statement)
{
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct error err;

    if (!pg_run(pgs[lane], statement, &params, &result, &err))
        return err.code;
    ck_assert_int_eq(pg_int(result, 0, 0), 42);
    pg_result_free(result);
    return ERR_NONE;
}

/* What the other lane does while the first one waits. */
static void other_reads(struct lane *lane)
{
    (void)lane;
    other_code = run(1, &get);
}

static void leave(struct lane *lane)
{
    pg_pipeline_leave(lane->pipeline);
}

/* The first read goes to the lane's own session: it tells whether a server is there. */
static void warm_up(void)
{
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get |");
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("2:start 2:setup 2:parse:get 2:run:get |");
}

START_TEST(short_reads_share_a_session)
{
    warm_up();
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(run(1, &get), ERR_NONE);
    backend_sent("2:run:get | 2:run:get |");
    ck_assert_int_eq(run(0, &put), ERR_NONE);
    backend_sent("1:parse:put | 1:run:put |");
}
END_TEST

START_TEST(reads_of_two_lanes_are_sent_in_one_piece)
{
    warm_up();
    lanes[0].on_wait = other_reads;
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(other_code, ERR_NONE);
    backend_sent("2:run:get 2:run:get |");
}
END_TEST

/* ---- failures ---- */

static const struct {
    enum backend_on on;
    enum backend_act act;
    const char *sqlstate;
} failures[] = {
    {ON_RUN, REFUSE, "26000"},  {ON_RUN, REFUSE, "57P01"}, {ON_RUN, OTHER_COLUMNS, NULL},
    {ON_RUN, NO_COLUMNS, NULL}, {ON_RUN, CLOSE, NULL},     {ON_RUN, CUT, NULL},
    {ON_RUN, SILENCE, NULL},
};

/* The session is closed, and the read runs on the lane's own; for 5 s all reads do. */
START_TEST(failed_read_runs_on_its_own_session)
{
    warm_up();
    backend_expect(failures[_i].on, failures[_i].act, failures[_i].sqlstate, NULL);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(backend_n_sent("run:get"), 2);
    clock_pass_ms(4500);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:run:get |");
    clock_pass_ms(1000);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("3:start 3:setup 3:parse:get 3:run:get |");
}
END_TEST

/* Only the first of two reads that were sent fails, but neither may get the other's rows. */
START_TEST(failure_fails_all_that_wait)
{
    warm_up();
    ck_assert_int_eq(run(1, &put), ERR_NONE);
    backend_sent("3:start 3:setup 2:end 3:parse:put | 3:run:put |");
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("4:start 4:setup 4:parse:get 4:run:get |");
    backend_expect(ON_RUN, REFUSE, "57014", NULL);
    lanes[0].on_wait = other_reads;
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(other_code, ERR_NONE);
    backend_sent("4:run:get | 3:parse:get | 4:end 3:run:get | 1:run:get |");
}
END_TEST

/* A lane without a session of its own would find nothing but a closed door. */
START_TEST(end_of_the_server_is_told)
{
    struct pg_outage outage = {.until_ms = 0};

    pg_pipeline_share_outage(pipeline, &outage);
    warm_up();
    if (_i == 0) { /* while nobody reads */
        backend_end(2);
        pg_pipeline_receive(pipeline); /* the message */
        pg_pipeline_receive(pipeline); /* the end */
    } else {
        backend_expect(ON_RUN, REFUSE, "57P01", NULL);
        ck_assert_int_eq(run(0, &get), ERR_NONE);
    }
    ck_assert(pg_outage_is_on(&outage, clock_steady_ms()));
}
END_TEST

START_TEST(other_ends_are_not_told)
{
    struct pg_outage outage = {.until_ms = 0};

    pg_pipeline_share_outage(pipeline, &outage);
    warm_up();
    backend_notice(2);
    pg_pipeline_receive(pipeline);
    backend_expect(ON_RUN, REFUSE, "57014", NULL);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert(!pg_outage_is_on(&outage, clock_steady_ms()));
}
END_TEST

START_TEST(slow_read_takes_250_ms_at_most)
{
    int64_t begin_ms;

    warm_up();
    begin_ms = clock_steady_ms();
    backend_expect(ON_RUN, SILENCE, NULL, NULL);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, 250);
    backend_sent("2:run:get 1:run:get | 2:end");
}
END_TEST

/* The rows have come, but not the end of the answer. */
START_TEST(answer_without_an_end)
{
    warm_up();
    backend_expect(ON_SYNC, SILENCE, NULL, NULL);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_close(2);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
}
END_TEST

START_TEST(read_with_little_time_runs_on_its_own_session)
{
    warm_up();
    pg_start_request(pgs[0], NULL, NULL);
    clock_pass_ms(3800);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:run:get |");
}
END_TEST

START_TEST(prepare_that_fails)
{
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get |");
    backend_expect(ON_PARSE, REFUSE, "42P05", NULL);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("2:start 2:setup 2:parse:get | 1:run:get | 2:end");
}
END_TEST

/* ---- opening ---- */

static const struct {
    enum backend_on on;
    enum backend_act act;
    int64_t takes_ms;
} refusals[] = {{ON_STARTUP, REFUSE, 0},
                {ON_STARTUP, SILENCE, 1000},
                {ON_SETUP, REFUSE, 0},
                {ON_SETUP, SILENCE, 1000},
                {ON_SETUP, CLOSE, 0}};

START_TEST(session_that_does_not_open)
{
    int64_t begin_ms;

    ck_assert_int_eq(run(0, &get), ERR_NONE);
    begin_ms = clock_steady_ms();
    backend_expect(refusals[_i].on, refusals[_i].act, "53300", NULL);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(clock_steady_ms() - begin_ms, refusals[_i].takes_ms);
    ck_assert_int_eq(backend_n_sent("run:get"), 2);
    clock_pass_ms(4900);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:run:get |");
    clock_pass_ms(200);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("3:start 3:setup 3:parse:get 3:run:get |");
}
END_TEST

START_TEST(session_that_the_loop_cannot_watch)
{
    lanes[0].refuses_watch = true;
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get | 2:start 2:setup 1:run:get | 2:end");
}
END_TEST

/* Another lane finds that the server is gone while the shared session opens. */
START_TEST(session_is_left_while_it_opens)
{
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    lanes[0].on_io = leave;
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get | 2:start 2:setup 1:run:get | 2:end");
}
END_TEST

/* The other lane does not wait for the session to open. */
START_TEST(nobody_else_waits_while_it_opens)
{
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(run(1, &put), ERR_NONE);
    backend_sent("1:start 1:setup 1:parse:get | 1:run:get | "
                 "2:start 2:setup 2:parse:put | 2:run:put |");
    lanes[0].on_io = other_reads;
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    ck_assert_int_eq(other_code, ERR_NONE);
    backend_sent("2:parse:get | 2:run:get | 3:start 3:setup 3:parse:get 3:run:get |");
}
END_TEST

/* ---- leaving ---- */

START_TEST(session_is_left_while_a_read_waits)
{
    warm_up();
    lanes[0].on_wait = leave;
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("2:end 1:run:get |");
    ck_assert_int_eq(run(0, &get), ERR_NONE); /* at once: there was no failure */
    backend_sent("3:start 3:setup 3:parse:get 3:run:get |");
}
END_TEST

/* An own session that finds its server gone has the shared one closed too. */
START_TEST(lost_own_session_leaves_the_shared_one)
{
    warm_up();
    backend_expect(ON_RUN, CLOSE, NULL, NULL);
    ck_assert_int_eq(run(0, &put), ERR_OUTCOME_UNKNOWN);
    backend_sent("1:parse:put | 1:run:put 2:end 3:start 3:setup 3:terminate:1");
}
END_TEST

/* Closing an own session is its own affair. */
START_TEST(closed_own_session_leaves_the_shared_one_open)
{
    warm_up();
    ck_assert_int_eq(run(1, &get), ERR_NONE);
    pg_free(pgs[0]);
    pgs[0] = NULL;
    backend_sent("2:run:get | 1:end");
    ck_assert_int_eq(run(1, &get), ERR_NONE);
    backend_sent("2:run:get |");
}
END_TEST

START_TEST(idle_shared_session)
{
    warm_up();
    backend_notice(2);
    pg_pipeline_receive(pipeline);
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("2:run:get |");
    backend_close(2);
    pg_pipeline_receive(pipeline);
    pg_pipeline_receive(pipeline); /* it is closed: nothing to take */
    ck_assert_int_eq(run(0, &get), ERR_NONE);
    backend_sent("1:run:get |");
}
END_TEST

static TCase *case_of(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, start, stop);
    suite_add_tcase(suite, tcase);
    return tcase;
}

#define N(array) (int)(sizeof(array) / sizeof(array)[0])

Suite *pg_pipeline_suite(void)
{
    Suite *suite = suite_create("pg/pipeline");
    TCase *tcase = case_of(suite, "reads");

    tcase_add_test(tcase, short_reads_share_a_session);
    tcase_add_test(tcase, reads_of_two_lanes_are_sent_in_one_piece);
    tcase_add_loop_test(tcase, failed_read_runs_on_its_own_session, 0, N(failures));
    tcase_add_test(tcase, failure_fails_all_that_wait);
    tcase_add_loop_test(tcase, end_of_the_server_is_told, 0, 2);
    tcase_add_test(tcase, other_ends_are_not_told);
    tcase_add_test(tcase, slow_read_takes_250_ms_at_most);
    tcase_add_test(tcase, answer_without_an_end);
    tcase_add_test(tcase, read_with_little_time_runs_on_its_own_session);
    tcase_add_test(tcase, prepare_that_fails);
    tcase = case_of(suite, "sessions");
    tcase_add_loop_test(tcase, session_that_does_not_open, 0, N(refusals));
    tcase_add_test(tcase, session_that_the_loop_cannot_watch);
    tcase_add_test(tcase, session_is_left_while_it_opens);
    tcase_add_test(tcase, nobody_else_waits_while_it_opens);
    tcase_add_test(tcase, session_is_left_while_a_read_waits);
    tcase_add_test(tcase, lost_own_session_leaves_the_shared_one);
    tcase_add_test(tcase, closed_own_session_leaves_the_shared_one_open);
    tcase_add_test(tcase, idle_shared_session);
    return suite;
}
