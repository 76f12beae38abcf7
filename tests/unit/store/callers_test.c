/* SPDX-License-Identifier: MIT */
/* Tests of every operation with every kind of key, on a real PostgreSQL. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "store/account.h"
#include "store/api_key.h"
#include "store/audit_event.h"
#include "store/callers.h"
#include "store/gate.h"
#include "store/gateway.h"
#include "store/principal.h"
#include "store/tried.h"
#include "suites.h"

static void expect_key_error(const struct store_request *request, bool for_writes,
                             enum error_code code)
{
    for (size_t i = 0; i < callers_n_operations; i++) {
        if (!for_writes || callers_operations[i].writes)
            callers_expect_refusal(i, request, code);
    }
}

START_TEST(good_key_in_every_operation)
{
    callers_run_all(&tried.member);
}
END_TEST

/* The earlier form of keys. */
START_TEST(key_without_an_account_in_every_operation)
{
    struct store_request bare = tried.member;

    ck_assert_str_eq(bare.caller.account_id, tried.who.account[0]);
    bare.caller.account_id[0] = '\0';
    for (int i = 0; i < 2; i++) {
        struct store_request asking = bare;

        ck_assert(store_find_account(tried.store, &asking.caller, &tried.err));
        ck_assert_str_eq(asking.caller.account_id,
                         pg_is_by_account(tried.responder) ? tried.who.account[0] : "");
        callers_run_all(&asking);
        database_run(tried.owner, "DELETE FROM adit.ssh_credential");
    }
    bare.caller.digest[0] ^= 1;
    ck_assert(store_find_account(tried.store, &bare.caller, &tried.err));
    ck_assert_str_eq(bare.caller.account_id, "");
    expect_key_error(&bare, false, ERR_KEY_UNKNOWN);
}
END_TEST

START_TEST(bad_keys_in_every_operation)
{
    struct store_request unknown = tried.admin;
    struct store_request foreign = tried.admin;
    struct store_request expired = tried_issue(tried.who.admin, false, 1, NULL);
    char revoked_id[34];
    struct store_request revoked = tried_issue(tried.who.admin, false, 0, revoked_id);
    struct api_key_revoked gone;

    callers_make_needed();
    ck_assert(callers_oauth_put(&tried.admin) && callers_mutual_tls_put(&tried.admin));
    unknown.caller.digest[31] ^= 1;
    expect_key_error(&unknown, false, ERR_KEY_UNKNOWN);
    memcpy(foreign.caller.account_id, tried.who.account[1], IDENT_SIZE);
    expect_key_error(&foreign, false, ERR_KEY_UNKNOWN);
    expect_key_error(&tried.reader, true, ERR_KEY_READ_ONLY);
    /* The keys are valid first, so that the store has seen them.  Then revoke or expire them. */
    ck_assert(callers_oauth_put(&revoked) && callers_get(&revoked));
    ck_assert(api_key_revoke(tried.owner, text_of(revoked_id), text_of(NULL), &gone, &tried.err));
    ck_assert(gone.found);
    expect_key_error(&revoked, false, ERR_KEY_UNKNOWN);
    database_run(tried.owner,
                 "UPDATE adit.api_key SET expires_at = now() WHERE expires_at IS NOT NULL");
    expect_key_error(&expired, false, ERR_KEY_UNKNOWN);
}
END_TEST

/* A later version migrated the database and issued a key of a kind that this program does not know.
 */
START_TEST(kind_of_a_later_version_in_every_operation)
{
    char id[34];
    struct store_request later = tried_issue(tried.who.admin, false, 0, id);
    char sql[200];

    callers_make_needed();
    ck_assert(callers_oauth_put(&later) && callers_mutual_tls_put(&later));
    snprintf(sql, sizeof sql,
             "ALTER TABLE adit.api_key DROP CONSTRAINT api_key_scope;"
             "UPDATE adit.api_key SET scope = 'later' WHERE id = '%s'",
             id);
    database_run(tried.owner, sql);
    expect_key_error(&later, false, ERR_KEY_UNKNOWN);
}
END_TEST

/* Permission comes before existence and before conditions, and an admin's key for own credentials
 * names no other owner, not even where a full key of the same admin has used the Idempotency-Key.
 */
START_TEST(own_key_and_credentials_of_others)
{
    struct store_request own = callers_key(KEY_OWN, tried.who.admin);
    struct store_request member_own = callers_key(KEY_OWN, tried.who.member);
    struct store_request once = callers_on_route(&own, KEYS_WRITE_OWN);
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct ssh_credential_list list = {0};

    callers_make_needed();
    for (size_t i = 0; i < callers_n_operations; i++) {
        if (callers_operations[i].run == callers_update ||
            callers_operations[i].run == callers_delete)
            callers_expect_refusal(i, &member_own, ERR_KEY_OWN);
    }
    member_own = callers_on_route(&member_own, KEYS_WRITE_OWN);
    member_own.condition.match.given = true;
    ck_assert(!callers_update(&member_own) && tried.err.code == ERR_KEY_OWN);
    ck_assert(!callers_delete(&member_own) && tried.err.code == ERR_KEY_OWN);
    own.condition.match.given = true;
    ck_assert(!callers_update(&own) && tried.err.code == ERR_PRECONDITION_FAILED);
    ck_assert(!callers_delete(&own) && tried.err.code == ERR_PRECONDITION_FAILED);
    database_run(tried.owner, "DELETE FROM adit.ssh_credential");
    ck_assert(!callers_update(&member_own) && tried.err.code == ERR_CREDENTIAL_NOT_FOUND);
    ck_assert(!callers_delete(&member_own) && tried.err.code == ERR_CREDENTIAL_NOT_FOUND);

    input.owner_id = text_of(tried.who.member);
    once.once = (struct once){.key = text_of("again")};
    for (int i = 0; i < 2; i++) {
        struct store_request full = once;

        ck_assert(!store_ssh_credential_create(tried.store, &once, &input, &list, &tried.err));
        ck_assert_int_eq(tried.err.code, ERR_KEY_OWN);
        ck_assert_str_eq(tried.err.field, "owner_id");
        full.caller = tried.admin.caller;
        ck_assert(store_ssh_credential_create(tried.store, &full, &input, &list, &tried.err));
        ck_assert_int_eq(list.is_replay, i);
        ssh_credential_list_free(&list);
    }
}
END_TEST

START_TEST(audit_events_are_for_admins)
{
    const struct audit_event_page page = {
        .before = INT64_MAX, .limit = 100, .most_bytes = SIZE_MAX};
    struct audit_event_list list = {0};

    callers_make_needed();
    ck_assert(store_audit_event_list(tried.store, &tried.admin, &page, &list, &tried.err));
    ck_assert_uint_ge(list.n, 2);
    audit_event_list_free(&list);
    ck_assert(!store_audit_event_list(tried.store, &tried.member, &page, &list, &tried.err));
    ck_assert_int_eq(tried.err.code, ERR_AUDIT_NOT_ADMIN);
    ck_assert_uint_eq(list.n, 0);
    audit_event_list_free(&list);
}
END_TEST

static void expect_identity(const struct store_request *request, const char *key_id,
                            const char *account_id)
{
    callers_make_needed();
    for (size_t i = 0; i < callers_n_operations; i++) {
        struct caller_identity identity = {.key_id = ""};
        struct store_request asking = *request;

        asking.caller.identity = &identity;
        callers_operations[i].run(&asking);
        ck_assert_msg(strcmp(identity.key_id, key_id) == 0, "operation %zu: %s", i,
                      identity.key_id);
        ck_assert_str_eq(identity.account_id, account_id);
    }
    database_run(tried.owner, "DELETE FROM adit.ssh_credential");
}

/* A key that lacks the permission has an identity too.  An invalid key has none. */
START_TEST(identity_in_every_operation)
{
    char id[34];
    char reader_id[34];
    char revoked_id[34];
    struct store_request request = tried_issue(tried.who.admin, false, 0, id);
    struct store_request reader = tried_issue(tried.who.admin, true, 0, reader_id);
    struct store_request revoked = tried_issue(tried.who.admin, false, 0, revoked_id);
    struct api_key_revoked gone;

    ck_assert(api_key_revoke(tried.owner, text_of(revoked_id), text_of(NULL), &gone, &tried.err) &&
              gone.found);
    expect_identity(&request, id, tried.who.account[0]);
    expect_identity(&reader, reader_id, tried.who.account[0]);
    expect_identity(&revoked, "", "");
}
END_TEST

START_TEST(key_that_expires_later)
{
    struct store_request later = tried_issue(tried.who.admin, false, 3600, NULL);

    ck_assert_msg(callers_list(&later), "%s", tried.err.cause);
    ck_assert_int_eq(database_number(tried.owner, "SELECT count(*) FROM adit.api_key"
                                                  " WHERE expires_at - created_at = '1h'"),
                     1);
}
END_TEST

/* Each says that its statement failed, even if it is one that answers with nothing. */
static void expect_failures(struct pg *pg)
{
    const struct text account = text_of(tried.who.account[0]), id = text_of("x");
    const struct principal nobody = {id, "user"};
    const struct gate_row row = {.id = id, .key_id = id, .sealed = id};
    struct text ids[] = {id, id};
    struct gate_question question = {account, {id, id}, {ids, 2, true}};
    struct gateway_changes changes;
    struct gate_answer answer;
    struct principal_end end;
    struct account_rest rest;
    struct error *err = &tried.err;
    bool is;

    ck_assert(!store_gate_ask(pg, &question, &tried.arena, &answer, err));
    question.session_ids.n = 1;
    ck_assert(!store_gate_ask(pg, &question, &tried.arena, &answer, err));
    ck_assert(!store_gate_keep(pg, account, &(struct gate_write){.row = row}, &is, err));
    ck_assert(!store_gate_end(pg, account, id, 1000, err));
    ck_assert(!store_gate_use(pg, account, id, 1000, &is, err));
    ck_assert(!store_gate_purge(pg, &is, err));
    ck_assert(!store_gateway_changes(pg, &tried.arena, text_of(NULL), &changes, err));
    ck_assert(!account_rename(pg, id, id, &is, err));
    ck_assert(!account_delete(pg, id, &rest, err));
    ck_assert(!principal_rename(pg, &nobody, id, &is, err));
    ck_assert(!principal_disable(pg, &nobody, true, &end, err));
    ck_assert(!principal_delete(pg, &nobody, text_of(NULL), true, &end, err));
}

START_TEST(role_without_rights_in_every_operation)
{
    callers_make_needed();
    database_run(tried.owner, "REVOKE USAGE ON SCHEMA adit FROM adit_responder");
    expect_key_error(&tried.admin, false, ERR_SCHEMA_MISMATCH);
    expect_failures(tried.responder);
}
END_TEST

static void add_callers(Suite *suite, const char *name, SFun set_up_case)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up_case, tried_tear_down);
    tcase_add_test(tcase, good_key_in_every_operation);
    tcase_add_test(tcase, key_without_an_account_in_every_operation);
    tcase_add_test(tcase, bad_keys_in_every_operation);
    tcase_add_test(tcase, kind_of_a_later_version_in_every_operation);
    tcase_add_test(tcase, own_key_and_credentials_of_others);
    tcase_add_test(tcase, audit_events_are_for_admins);
    tcase_add_test(tcase, identity_in_every_operation);
    tcase_add_test(tcase, key_that_expires_later);
    tcase_add_test(tcase, role_without_rights_in_every_operation);
    suite_add_tcase(suite, tcase);
}

Suite *callers_suite(void)
{
    Suite *suite = suite_create("store/callers");

    add_callers(suite, "callers", tried_set_up);
    add_callers(suite, "distributed callers", tried_set_up_distributed);
    return suite;
}
