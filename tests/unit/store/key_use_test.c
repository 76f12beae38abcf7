/* SPDX-License-Identifier: MIT */
/* Tests of the last use of API keys: what is noted, when it is due, and what is stored, on a real
 * PostgreSQL and with the responder's rights. */
#include "nodes/nodes.h"
#include "store/key_use.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/api_key.h"
#include "store/tried.h"
#include "suites.h"

#define MINUTE_MS INT64_C(60000)
#define INTERVAL_MS (4 * MINUTE_MS)
#define PAUSE_MS INT64_C(10000)

static struct key_uses *uses;

static void set_up(void)
{
    tried_set_up();
    uses = key_uses_new();
    ck_assert_ptr_nonnull(uses);
}

static void set_up_distributed(void)
{
    set_up();
    tried_run_file("optional/distributed.sql");
    nodes_place(tried.responder, true);
}

static void tear_down(void)
{
    key_uses_free(uses);
    tried_tear_down();
}

/* ---- the table ---- */

/* Notes a use of the i-th of many keys. */
static void note_many(int i, int64_t at_ms)
{
    char id[34];

    snprintf(id, sizeof id, "ak_%027d", i);
    key_uses_note(uses, text_of(tried.who.account[0]), text_of(id), "192.0.2.1", at_ms);
}

START_TEST(due_after_an_interval)
{
    ck_assert_int_eq(key_uses_due_ms(uses), INT64_MAX);
    note_many(1, 1000);
    ck_assert_int_eq(key_uses_due_ms(uses), 1000 + INTERVAL_MS);
    note_many(1, 2000);
    note_many(2, 3000);
    ck_assert_int_eq(key_uses_due_ms(uses), 1000 + INTERVAL_MS);
}
END_TEST

START_TEST(many_keys_are_due_earlier)
{
    for (int i = 0; i < 511; i++)
        note_many(i, 1000);
    ck_assert_int_eq(key_uses_due_ms(uses), 1000 + INTERVAL_MS);
    note_many(511, 1000);
    ck_assert_int_eq(key_uses_due_ms(uses), 1000);
    /* But not at once after a write. */
    ck_assert(key_uses_write(uses, tried.responder, 5000, &tried.arena, &tried.err));
    ck_assert_int_eq(key_uses_due_ms(uses), INT64_MAX);
    for (int i = 0; i < 600; i++)
        note_many(i, 6000);
    ck_assert_int_eq(key_uses_due_ms(uses), 5000 + PAUSE_MS);
}
END_TEST

static int64_t n_stored(void)
{
    return database_number(tried.owner, "SELECT count(*) FROM adit.api_key_use");
}

static void make_many_keys(int n)
{
    char sql[512];

    snprintf(sql, sizeof sql,
             "INSERT INTO adit.api_key (account_id, id, principal_id, digest)"
             " SELECT '%s', 'ak_' || lpad(i::text, 27, '0'), '%s', sha256(i::text::bytea)"
             " FROM generate_series(0, %d) AS i",
             tried.who.account[0], tried.who.admin, n - 1);
    database_run(tried.owner, sql);
}

/* More keys than fit are noted after the next write. */
START_TEST(a_full_table)
{
    make_many_keys(KEY_USES_MAX + 50);
    for (int i = 0; i < KEY_USES_MAX + 50; i++)
        note_many(i, 1000);
    note_many(0, 2000);
    ck_assert(key_uses_write(uses, tried.responder, 3000, &tried.arena, &tried.err));
    ck_assert_int_eq(n_stored(), KEY_USES_MAX);
    note_many(KEY_USES_MAX, 4000);
    ck_assert(key_uses_write(uses, tried.responder, 5000, &tried.arena, &tried.err));
    ck_assert_int_eq(n_stored(), KEY_USES_MAX + 1);
}
END_TEST

/* ---- what is stored ---- */

static void write_at(int64_t now_ms)
{
    ck_assert_msg(key_uses_write(uses, tried.responder, now_ms, &tried.arena, &tried.err), "%s",
                  tried.err.cause);
}

/* The stored use of the first of many keys is about that old, and came from that address. */
static void expect_stored(int age_s, const char *address)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM adit.api_key_use WHERE api_key_id = 'ak_%027d'"
             " AND coalesce(host(client_address), '-') = '%s'"
             " AND abs(extract(epoch FROM now() - used_at) - %d) < 20",
             0, address, age_s);
    ck_assert_int_eq(database_number(tried.owner, sql), 1);
}

START_TEST(the_latest_use_is_stored)
{
    const struct text account = text_of(tried.who.account[0]);
    const struct text id = text_of("ak_000000000000000000000000000");
    struct key_uses *others = key_uses_new();

    make_many_keys(1);
    key_uses_note(uses, account, id, "192.0.2.1", 0);
    key_uses_note(uses, account, id, "2001:db8::1", 10 * MINUTE_MS);
    key_uses_note(uses, account, id, "192.0.2.2", 5 * MINUTE_MS);
    write_at(20 * MINUTE_MS);
    expect_stored(600, "2001:db8::1");
    /* Another worker noted an earlier one. */
    ck_assert_ptr_nonnull(others);
    key_uses_note(others, account, id, "192.0.2.3", 8 * MINUTE_MS);
    ck_assert(key_uses_write(others, tried.responder, 20 * MINUTE_MS, &tried.arena, &tried.err));
    key_uses_free(others);
    expect_stored(600, "2001:db8::1");
    /* 30 s are not worth a write. */
    key_uses_note(uses, account, id, "192.0.2.4", 10 * MINUTE_MS + 20000);
    write_at(20 * MINUTE_MS);
    expect_stored(600, "2001:db8::1");
    key_uses_note(uses, account, id, NULL, 15 * MINUTE_MS);
    write_at(20 * MINUTE_MS);
    expect_stored(300, "-");
}
END_TEST

/* Workers lock the rows in one order, or they would wait for each other. */
START_TEST(keys_are_stored_in_order)
{
    make_many_keys(100);
    for (int i = 99; i >= 0; i--)
        note_many(i, 1000);
    write_at(2000);
    ck_assert_int_eq(database_number(tried.owner,
                                     "SELECT count(*) FROM (SELECT api_key_id,"
                                     " lag(api_key_id) OVER (ORDER BY ctid) AS before"
                                     " FROM adit.api_key_use) AS u WHERE before < api_key_id"),
                     99);
}
END_TEST

/* Each account may have a place of its own. */
START_TEST(keys_of_two_accounts)
{
    char id[34];

    make_many_keys(1);
    tried_issue(tried.who.other_admin, false, 0, id);
    note_many(0, 1000);
    key_uses_note(uses, text_of(tried.who.account[1]), text_of(id), NULL, 1000);
    write_at(2000);
    ck_assert_int_eq(n_stored(), 2);
}
END_TEST

/* A key that is gone is left out, and the others are stored. */
START_TEST(a_key_that_is_gone)
{
    make_many_keys(2);
    note_many(0, 1000);
    note_many(1, 1000);
    note_many(2, 1000);
    write_at(2000);
    ck_assert_int_eq(n_stored(), 2);
    database_run(tried.owner,
                 "DELETE FROM adit.api_key WHERE id = 'ak_000000000000000000000000001'");
    ck_assert_int_eq(n_stored(), 1);
    note_many(1, 100000);
    write_at(100000);
    ck_assert_int_eq(n_stored(), 1);
}
END_TEST

/* What cannot be stored is kept, together with what was noted meanwhile. */
START_TEST(a_failure_keeps_the_uses)
{
    make_many_keys(2);
    note_many(0, 1000);
    note_many(1, 2000);
    database_run(tried.owner, "REVOKE INSERT ON adit.api_key_use FROM adit_responder");
    ck_assert(!key_uses_write(uses, tried.responder, 1000 + INTERVAL_MS, &tried.arena, &tried.err));
    ck_assert_str_eq(tried.err.sqlstate, "42501");
    ck_assert_int_eq(key_uses_due_ms(uses), 1000 + INTERVAL_MS + PAUSE_MS);
    database_run(tried.owner, "GRANT INSERT ON adit.api_key_use TO adit_responder");
    write_at(1000 + INTERVAL_MS + PAUSE_MS);
    ck_assert_int_eq(n_stored(), 2);
    expect_stored(250, "192.0.2.1");
    ck_assert_int_eq(key_uses_due_ms(uses), INT64_MAX);
}
END_TEST

/* ---- the store ---- */

START_TEST(only_good_keys_leave_something)
{
    struct store_request unknown = tried.admin;
    char id[34];
    struct store_request revoked = tried_issue(tried.who.admin, false, 0, id);
    struct api_key_revoked gone;

    store_note_uses(tried.store, uses);
    ck_assert(api_key_revoke(tried.owner, text_of(id), text_of(NULL), &gone, &tried.err) &&
              gone.found);
    unknown.caller.digest[31] ^= 1;
    ck_assert(!store_authenticate(tried.store, &unknown, &tried.err));
    ck_assert(!store_authenticate(tried.store, &revoked, &tried.err));
    ck_assert_int_eq(key_uses_due_ms(uses), INT64_MAX);
    tried.admin.client_address = "2001:db8::2";
    ck_assert(store_authenticate(tried.store, &tried.admin, &tried.err));
    /* A key is used also if it may not do what it asks. */
    ck_assert(!store_authorize(tried.store, &tried.reader, true, &tried.err));
    write_at(clock_steady_ms());
    ck_assert_int_eq(n_stored(), 2);
    ck_assert_int_eq(database_number(tried.owner, "SELECT count(*) FROM adit.api_key_use"
                                                  " WHERE client_address = '2001:db8::2'"
                                                  " AND now() - used_at < '1 min'"),
                     1);
}
END_TEST

static void add_tests(Suite *suite, const char *name, SFun set_up_case)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up_case, tear_down);
    tcase_add_test(tcase, due_after_an_interval);
    tcase_add_test(tcase, many_keys_are_due_earlier);
    tcase_add_test(tcase, a_full_table);
    tcase_add_test(tcase, the_latest_use_is_stored);
    tcase_add_test(tcase, keys_are_stored_in_order);
    tcase_add_test(tcase, keys_of_two_accounts);
    tcase_add_test(tcase, a_key_that_is_gone);
    tcase_add_test(tcase, a_failure_keeps_the_uses);
    tcase_add_test(tcase, only_good_keys_leave_something);
    suite_add_tcase(suite, tcase);
}

Suite *key_use_suite(void)
{
    Suite *suite = suite_create("store/key_use");

    add_tests(suite, "key use", set_up);
    add_tests(suite, "distributed key use", set_up_distributed);
    return suite;
}
