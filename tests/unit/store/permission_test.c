/* SPDX-License-Identifier: MIT */
/* Tests of what each kind of key may do, and that permission comes before work, on a real
 * PostgreSQL: a statement reads no row of a resource for a key that may not.  Otherwise the time
 * until its 403 would tell what rows hold. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "store/callers.h"
#include "store/explained.h"
#include "store/tried.h"
#include "suites.h"

/* Runs an operation that the key may not do: it reads nothing but keys and their holders. */
static void expect_no_reads(size_t i, const struct store_request *request, enum error_code code)
{
    struct explained explained;

    explained_forget();
    callers_expect_refusal(i, request, code);
    explained_take(&explained);
    ck_assert_msg(explained.n_plans > 0, "operation %zu explained nothing", i);
    ck_assert_msg(explained.n_rows == 0, "operation %zu reads rows before it says %s: %s", i,
                  error_row(code)->symbol, explained.where);
}

/* The counterpart: the same operations of a key that may do them read rows. */
static void expect_reads(const struct store_request *request)
{
    for (size_t i = 0; i < callers_n_operations; i++) {
        struct explained explained;

        explained_forget();
        ck_assert_msg(callers_operations[i].run(request), "operation %zu: %s", i, tried.err.cause);
        explained_take(&explained);
        ck_assert_msg(!callers_operations[i].finds || explained.n_rows > 0,
                      "operation %zu reads nothing", i);
    }
}

/* Every statement of a caller must have been among those that were explained. */
static void check_explained(const struct test_case *test)
{
    static const struct pg_statement find = {
        .name = "find_explained",
        .types = PG_TEXT,
        .sql = "SELECT s.name FROM pg_catalog.pg_prepared_statements AS s"
               " WHERE s.name ~ ('^' || $1::text || '_[0-9a-f]{16}$')",
    };
    struct pg_params params = {.n = 0};
    struct pg_result *result;

    if (strcmp(test->why, "a caller's") != 0)
        return;
    pg_add_text(&params, text_of(test->input));
    ck_assert_msg(pg_run(tried.responder, &find, &params, &result, &tried.err), "%s",
                  tried.err.cause);
    ck_assert_msg(pg_rows(result) == 1, "no operation here runs %s", test->input);
    pg_result_free(result);
}

/* Runs every operation with a key of the kind: those that it may not do read nothing. */
static void try_kind(enum key_kind kind)
{
    struct store_request request = callers_key(kind, tried.who.admin);

    database_run(tried.owner, "DELETE FROM adit.ssh_credential");
    callers_make_needed();
    for (size_t i = 0; i < callers_n_operations; i++) {
        enum error_code code = callers_forbidden(i, kind);

        if (code != ERR_NONE)
            expect_no_reads(i, &request, code);
        else
            ck_assert_msg(callers_operations[i].run(&request), "operation %zu: %s %s", i,
                          error_row(tried.err.code)->symbol, tried.err.cause);
    }
}

START_TEST(every_operation_with_every_kind_of_key)
{
    struct store_request gateway;

    explained_begin();
    for (enum key_kind kind = 0; kind < KEY_N_KINDS; kind++)
        try_kind(kind);
    database_run(tried.owner, "DELETE FROM adit.ssh_credential");
    callers_make_needed();
    gateway = callers_key(KEY_GATEWAY, tried.who.admin);
    ck_assert(callers_decide(&gateway) && callers_decide_many(&gateway));
    if (!pg_is_by_account(tried.responder))
        cases_run("statements.cases", check_explained);
    expect_reads(&tried.admin);
}
END_TEST

/* Whether there is such a User or Bot is not for keys that may not name it. */
START_TEST(owners_are_not_looked_for_in_vain)
{
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    const struct store_request *const refused[] = {&tried.reader, &tried.member};
    struct ssh_credential_list list = {0};
    struct explained explained;

    explained_begin();
    input.owner_id = text_of(tried.who.member);
    ck_assert(tried_create(&tried.admin, TRIED_ID("1"), &input, &list));
    ssh_credential_list_free(&list);
    input.owner_id = text_of(tried.who.admin);
    for (size_t i = 0; i < 2; i++) {
        explained_forget();
        ck_assert(!tried_create(refused[i], TRIED_ID("2"), &input, &list));
        ck_assert_int_eq(tried.err.code, i == 0 ? ERR_KEY_READ_ONLY : ERR_NOT_ADMIN);
        explained_take(&explained);
        ck_assert_msg(explained.n_plans > 0 && explained.n_rows == 0, "%s", explained.where);
        /* The member's own row, which says that it is no admin. */
        ck_assert_msg(explained.n_principals <= (double)i, "%g", explained.n_principals);
    }
}
END_TEST

START_TEST(events_of_others_are_not_read)
{
    struct explained explained;

    explained_begin();
    callers_make_needed();
    for (size_t i = 0; i < callers_n_operations; i++) {
        if (callers_operations[i].run != callers_audit_event_list &&
            callers_operations[i].run != callers_audit_get &&
            callers_operations[i].run != callers_audit_event_list_filtered)
            continue;
        explained_forget();
        tried.err = (struct error){.code = ERR_NONE};
        ck_assert_msg(callers_operations[i].run(&tried.member), "operation %zu: %s", i,
                      tried.err.cause);
        ck_assert_int_eq(tried.err.code, ERR_AUDIT_NOT_ADMIN);
        explained_take(&explained);
        ck_assert_msg(explained.n_plans > 0 && explained.n_rows == 0, "%s", explained.where);
    }
}
END_TEST

/* A User or Bot that is disabled gets no credential, in either form. */
START_TEST(disabled_owner_gets_nothing)
{
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct store_request once = tried.admin;
    const struct store_request *const ways[] = {&tried.admin, &once};
    struct ssh_credential_list list = {0};

    once.once = (struct once){.key = text_of("a key")};
    input.owner_id = text_of(tried.who.member);
    database_run(tried.owner, "UPDATE adit.principal SET disabled_at = now() WHERE kind = 'bot'");
    for (size_t i = 0; i < 2; i++) {
        ck_assert(!tried_create(ways[i], TRIED_ID("1"), &input, &list));
        ck_assert_int_eq(tried.err.code, ERR_OWNER_DISABLED);
        ck_assert_str_eq(tried.err.field, "owner_id");
    }
    database_run(tried.owner, "UPDATE adit.principal SET disabled_at = NULL");
    ck_assert(store_ssh_credential_create(tried.store, &once, &input, &list, &tried.err));
    ssh_credential_list_free(&list);
    /* The answer to a POST that was made stays. */
    database_run(tried.owner, "UPDATE adit.principal SET disabled_at = now() WHERE kind = 'bot'");
    ck_assert(store_ssh_credential_create(tried.store, &once, &input, &list, &tried.err));
    ck_assert(list.is_replay);
    ssh_credential_list_free(&list);
}
END_TEST

static void add_permission(Suite *suite, const char *name, SFun set_up_case)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up_case, tried_tear_down);
    tcase_add_test(tcase, every_operation_with_every_kind_of_key);
    tcase_add_test(tcase, owners_are_not_looked_for_in_vain);
    tcase_add_test(tcase, events_of_others_are_not_read);
    tcase_add_test(tcase, disabled_owner_gets_nothing);
    suite_add_tcase(suite, tcase);
}

Suite *store_permission_suite(void)
{
    Suite *suite = suite_create("store/permission");

    add_permission(suite, "permission", tried_set_up);
    add_permission(suite, "distributed permission", tried_set_up_distributed);
    return suite;
}
