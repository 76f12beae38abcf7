/* SPDX-License-Identifier: MIT */
/* Tests of the transaction that documents are read and written in, on a real PostgreSQL. */
#include "store/document_test.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "store/document_lock.h"
#include "store/document_write.h"
#include "store/tried.h"
#include "suites.h"

#define NAME "SELECT count(*) FROM adit.account WHERE name = 'another'"

void document_run_statements(struct pg *pg)
{
    struct document_keys keys = {.ids = {.given = true},
                                 .second = {.given = true},
                                 .fingerprints = {.given = true},
                                 .descriptions = {.given = true}};
    struct arena arena_of_keys = {0};
    struct pg_result *shared;
    struct error err;
    bool is_alone;

    for (enum document_kind kind = DOCUMENT_ACCOUNT; kind < DOCUMENT_N_KINDS; kind++) {
        struct document_scan scan = {.pg = pg, .kind = kind};
        struct document_row row;
        struct pg_result *result;
        struct arena arena = {0};

        ck_assert_msg(document_scan_next(&scan, &row, &err), "%s", err.cause);
        ck_assert_msg(document_find(pg, kind, text_of(""), &keys, &arena, &result, &err), "%s",
                      err.cause);
        ck_assert_int_eq(pg_rows(result), 0);
        pg_result_free(result);
        document_scan_free(&scan);
        arena_free(&arena);
        ck_assert_msg(document_lock_rows(pg, kind, text_of("ac_x"), &keys, &err), "%s", err.cause);
        for (enum document_verb verb = DOCUMENT_CREATE; verb <= DOCUMENT_DELETE; verb++) {
            if (kind != DOCUMENT_ACCOUNT || verb != DOCUMENT_DELETE)
                ck_assert_msg(document_write(pg, kind, verb, NULL, 0, &err), "%s", err.cause);
        }
    }
    ck_assert(document_lock(pg, &is_alone, &err) && is_alone);
    ck_assert(document_hold_owners(pg, NULL, 0, &shared, &err));
    ck_assert_int_eq(pg_rows(shared), 0);
    pg_result_free(shared);
    ck_assert(document_lock_leavers(pg, text_of("ac_x"), keys.ids, &err));
    ck_assert(document_find_unique_keys(pg, text_of("ac_x"), keys.fingerprints, &arena_of_keys,
                                        &shared, &err));
    ck_assert_int_eq(pg_rows(shared), 0);
    pg_result_free(shared);
    arena_free(&arena_of_keys);
}

/* Gives the account another name. */
static bool rename_account(struct pg *pg, struct error *err)
{
    struct text id = text_of(tried.who.account[0]);
    struct document_change change = {
        .row = {.account_id = id,
                .entry = {.kind = DOCUMENT_ACCOUNT,
                          .of.account_entry = {.id = id, .name = text_of("another")}}}};
    const struct document_change *changes[] = {&change};

    return document_write(pg, DOCUMENT_ACCOUNT, DOCUMENT_UPDATE, changes, 1, err);
}

static bool scan_accounts(struct pg *pg, struct error *err)
{
    struct document_scan scan = {.pg = pg, .kind = DOCUMENT_ACCOUNT};
    struct document_row row;
    bool ok = document_scan_next(&scan, &row, err);

    document_scan_free(&scan);
    return ok;
}

START_TEST(takes_effect_at_the_end)
{
    struct pg *other;

    ck_assert(document_begin(tried.owner, DOCUMENT_WRITE, &tried.err));
    ck_assert(scan_accounts(tried.owner, &tried.err));
    ck_assert(rename_account(tried.owner, &tried.err));
    other = tried_connect();
    ck_assert_int_eq(database_number(other, NAME), 0);
    pg_free(other);
    ck_assert(pg_commit(tried.owner, &tried.err));
    ck_assert_int_eq(database_number(tried.owner, NAME), 1);
    /* There is no transaction any more. */
    ck_assert(!pg_commit(tried.owner, &tried.err));
}
END_TEST

START_TEST(has_no_effect_after_a_rollback)
{
    ck_assert(document_begin(tried.owner, DOCUMENT_WRITE, &tried.err));
    ck_assert(rename_account(tried.owner, &tried.err));
    pg_rollback(tried.owner);
    ck_assert_int_eq(database_number(tried.owner, NAME), 0);
}
END_TEST

/* A transaction that reads cannot write. */
START_TEST(reads_only)
{
    ck_assert(document_begin(tried.owner, DOCUMENT_READ, &tried.err));
    ck_assert(!rename_account(tried.owner, &tried.err));
    ck_assert_str_eq(tried.err.sqlstate, "25006");
    ck_assert(!scan_accounts(tried.owner, &tried.err));
    ck_assert(!pg_commit(tried.owner, &tried.err));
    pg_rollback(tried.owner);
    ck_assert(scan_accounts(tried.owner, &tried.err));
}
END_TEST

/* After a failure, nothing of the transaction takes effect, and no statement runs outside of it. */
START_TEST(ends_with_a_failure)
{
    ck_assert(document_begin(tried.owner, DOCUMENT_WRITE, &tried.err));
    ck_assert(rename_account(tried.owner, &tried.err));
    ck_assert(!pg_script(tried.owner, "SELECT 1 / 0", 1000, &tried.err));
    ck_assert(!scan_accounts(tried.owner, &tried.err));
    ck_assert(!rename_account(tried.owner, &tried.err));
    ck_assert(!pg_commit(tried.owner, &tried.err));
    ck_assert_int_ne(tried.err.code, ERR_OUTCOME_UNKNOWN);
    pg_rollback(tried.owner);
    ck_assert_int_eq(database_number(tried.owner, NAME), 0);
}
END_TEST

/* The next session must not run the rest by itself. */
START_TEST(ends_with_its_session)
{
    ck_assert(document_begin(tried.owner, DOCUMENT_WRITE, &tried.err));
    ck_assert(rename_account(tried.owner, &tried.err));
    ck_assert(
        !pg_script(tried.owner, "SELECT pg_terminate_backend(pg_backend_pid())", 5000, &tried.err));
    for (int i = 0; i < 2; i++) {
        ck_assert(!rename_account(tried.owner, &tried.err));
        ck_assert_int_eq(tried.err.code, ERR_DATABASE_UNAVAILABLE);
    }
    ck_assert(!pg_commit(tried.owner, &tried.err));
    ck_assert_int_ne(tried.err.code, ERR_OUTCOME_UNKNOWN);
    ck_assert_int_eq(database_number(tried.owner, NAME), 0);
    ck_assert(rename_account(tried.owner, &tried.err));
}
END_TEST

/* A change of another session since the transaction began is not overwritten. */
START_TEST(meets_another_change)
{
    struct pg *other = tried_connect();

    ck_assert(document_begin(tried.owner, DOCUMENT_WRITE, &tried.err));
    ck_assert(scan_accounts(tried.owner, &tried.err));
    ck_assert(rename_account(other, &tried.err));
    ck_assert(!rename_account(tried.owner, &tried.err));
    ck_assert_str_eq(tried.err.sqlstate, "40001");
    pg_rollback(tried.owner);
    pg_free(other);
}
END_TEST

/* A change of another session before the rows are locked is seen, and none comes after that. */
START_TEST(locks_before_it_looks)
{
    struct pg *other = tried_connect();
    struct text id = text_of(tried.who.account[0]);
    struct document_keys keys = {.ids = {.items = &id, .n = 1, .given = true}};

    ck_assert(document_begin(tried.owner, DOCUMENT_WRITE_LOCKED, &tried.err));
    ck_assert(scan_accounts(tried.owner, &tried.err));
    ck_assert(rename_account(other, &tried.err));
    ck_assert(document_lock_rows(tried.owner, DOCUMENT_ACCOUNT, id, &keys, &tried.err));
    ck_assert_int_eq(database_number(tried.owner, NAME), 1);
    ck_assert(!rename_account(other, &tried.err));
    ck_assert_str_eq(tried.err.sqlstate, "55P03");
    ck_assert(rename_account(tried.owner, &tried.err));
    ck_assert(pg_commit(tried.owner, &tried.err));
    pg_free(other);
}
END_TEST

START_TEST(writes_alone)
{
    struct pg *other = tried_connect();
    bool is_alone;

    ck_assert(document_begin(tried.owner, DOCUMENT_WRITE, &tried.err));
    ck_assert(document_lock(tried.owner, &is_alone, &tried.err) && is_alone);
    ck_assert(document_lock(other, &is_alone, &tried.err) && !is_alone);
    ck_assert(pg_commit(tried.owner, &tried.err));
    ck_assert(document_lock(other, &is_alone, &tried.err) && is_alone);
    pg_free(other);
}
END_TEST

Suite *store_document_suite(void)
{
    Suite *suite = suite_create("store/document");
    TCase *tcase = tcase_create("document");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, tried_set_up, tried_tear_down);
    tcase_add_test(tcase, takes_effect_at_the_end);
    tcase_add_test(tcase, has_no_effect_after_a_rollback);
    tcase_add_test(tcase, reads_only);
    tcase_add_test(tcase, ends_with_a_failure);
    tcase_add_test(tcase, ends_with_its_session);
    tcase_add_test(tcase, meets_another_change);
    tcase_add_test(tcase, locks_before_it_looks);
    tcase_add_test(tcase, writes_alone);
    suite_add_tcase(suite, tcase);
    return suite;
}
