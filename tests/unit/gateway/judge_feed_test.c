/* SPDX-License-Identifier: MIT */
/* Tests of judging while the record of changes cannot be read. */
#include <check.h>

#include "gateway/fake_keys.h"
#include "gateway/fake_store.h"
#include "gateway/judge.h"
#include "gateway/outage.h"
#include "suites.h"

static struct gateway gateway;

static void start(void)
{
    fake_keys_start(&gateway);
}

static void stop(void)
{
    fake_keys_stop(&gateway);
}

/* One call after a pause. */
static void judge(void)
{
    gateway.shut_until_ms = 0;
    (void)judge_changes(&gateway);
}

/* Has everything read and judged. */
static void settle(void)
{
    for (int i = 0; i < 3; i++)
        judge();
    ck_assert(!gateway.is_away);
}

/* More changes than can be read in time would keep the feed from ever being read again. */
START_TEST(a_late_feed_begins_anew)
{
    struct ssh_session *session = fake_keys_add_session(&gateway, 0, true);

    settle();
    ck_assert_uint_gt(gateway.feed.snapshot.len, 0);
    fake_database.feed_is_late = fake_database.table_is_late = true;
    fake_keys[0].n = 0;
    judge();
    ck_assert(gateway.is_away && !session->is_ending);
    ck_assert(outage_shuts(&gateway));
    fake_database.feed_is_late = fake_database.table_is_late = false;
    settle();
    ck_assert(session->is_ending);
}
END_TEST

/* Judges as the loop does, without waiting for the end of a pause. */
static void judge_now(void)
{
    (void)judge_changes(&gateway);
    ck_assert(!gateway.is_away);
    ck_assert(!outage_shuts(&gateway));
}

/* Somebody holds a lock on the record of changes. */
START_TEST(a_feed_is_late_alone)
{
    const struct ssh_session *first = fake_keys_add_session(&gateway, 0, true),
                             *second = fake_keys_add_session(&gateway, 2, true);
    struct arena arena = {0};
    struct judge_grant grant;
    const char *why;

    settle();
    fake_database.feed_is_late = true;
    fake_database.n_polls = 0;
    fake_keys[0].n = 0;
    judge_now();
    ck_assert(first->is_ending && !second->is_ending);
    ck_assert_int_eq(
        judge_key(&gateway, &arena, text_of(A), text_of(fake_keys[4].fingerprint), &grant, &why),
        JUDGE_PERMITTED);
    ck_assert_uint_eq(gateway.textfile.polls_failed, 1);
    fake_keys[2].n = 0;
    judge_now();
    ck_assert(!second->is_ending);
    gateway.feed.anew_from_ms = 0;
    gateway.polled_ms = 0;
    judge_now();
    ck_assert(second->is_ending);
    ck_assert_int_gt(gateway.polled_ms, 0);
    ck_assert_int_eq(fake_database.n_polls, 1);
    arena_free(&arena);
}
END_TEST

/* A poll that begins anew succeeds while the record is locked, and so does one that finds nothing
 * new. */
START_TEST(a_late_feed_is_read_again)
{
    settle();
    fake_database.feed_is_late = true;
    judge_now();
    fake_database.feed_is_late = false;
    for (int i = 0; i < 2; i++) {
        gateway.feed.rest_to_ms = 0;
        judge_now();
        ck_assert(gateway.feed.is_late);
    }
    fake_database.snapshot = "another";
    judge_now();
    ck_assert(!gateway.feed.is_late);
}
END_TEST

/* Without sessions, only a question tells whether the database is back. */
START_TEST(the_database_goes_away_while_the_feed_rests)
{
    settle();
    fake_database.feed_is_late = true;
    judge_now();
    gateway.feed.anew_from_ms = 0;
    fake_database.table_is_late = true;
    for (int i = 0; i < 2; i++) {
        judge();
        ck_assert(gateway.is_away);
    }
    fake_database.table_is_late = false;
    judge();
    ck_assert(!gateway.is_away);
}
END_TEST

/* The timeouts of the pings, and how often something else was asked. */
static int timeouts_ms[8];
static size_t n_timeouts;
static int n_others;

/* The server accepts connections and says nothing. */
static bool hang(struct error *err)
{
    fake_clock_go(OUTAGE_LONG_MS);
    return error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: cannot connect");
}

static bool hanging_changes(struct arena *arena, struct text snapshot, struct gateway_changes *out,
                            struct error *err)
{
    (void)arena, (void)snapshot, (void)out;
    n_others++;
    return hang(err);
}

static bool hanging_ping(struct error *err)
{
    ck_assert_uint_lt(n_timeouts, 8);
    timeouts_ms[n_timeouts++] = fake_store.timeout_ms;
    return hang(err);
}

static enum judge_verdict offer_key(void)
{
    struct arena arena = {0};
    struct judge_grant grant;
    const char *why;
    enum judge_verdict verdict =
        judge_key(&gateway, &arena, text_of(A), text_of(fake_keys[0].fingerprint), &grant, &why);

    arena_free(&arena);
    return verdict;
}

/* Everything else in the loop would wait for each attempt to connect. */
START_TEST(the_database_hangs)
{
    const struct fake_store store = fake_store;

    settle();
    fake_database.n_glances = 0;
    fake_store.changes = hanging_changes;
    fake_store.ping = hanging_ping;
    for (int i = 0; i < 6; i++) {
        judge();
        ck_assert(gateway.is_away);
        ck_assert(outage_shuts(&gateway));
    }
    gateway.shut_until_ms = 0;
    ck_assert_int_eq(offer_key(), JUDGE_AWAY);
    ck_assert(outage_shuts(&gateway));
    ck_assert_int_eq(n_others, 1);
    ck_assert_int_eq(fake_database.n_glances, 0);
    ck_assert_uint_eq(n_timeouts, 6);
    for (size_t i = 0; i < n_timeouts; i++)
        ck_assert_int_eq(timeouts_ms[i], i % 2 == 0 ? OUTAGE_TIMEOUT_MS : OUTAGE_IMPATIENT_MS);
    fake_store = store;
    settle();
    ck_assert_uint_eq(gateway.n_late, 0);
    ck_assert_int_eq(fake_store.timeout_ms, OUTAGE_TIMEOUT_MS);
    ck_assert_int_eq(offer_key(), JUDGE_PERMITTED);
}
END_TEST

Suite *gateway_judge_feed_suite(void)
{
    Suite *suite = suite_create("gateway/judge_feed");
    TCase *tcase = tcase_create("judge_feed");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, a_late_feed_begins_anew);
    tcase_add_test(tcase, a_feed_is_late_alone);
    tcase_add_test(tcase, a_late_feed_is_read_again);
    tcase_add_test(tcase, the_database_goes_away_while_the_feed_rests);
    tcase_add_test(tcase, the_database_hangs);
    suite_add_tcase(suite, tcase);
    return suite;
}
