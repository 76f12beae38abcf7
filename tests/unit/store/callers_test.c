/* SPDX-License-Identifier: MIT */
/* Tests of every operation with every kind of key, and of every statement against the server's
 * description of it, on a real PostgreSQL. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "pg/session.h"
#include "store/account.h"
#include "store/api_key.h"
#include "store/audit_event.h"
#include "store/credential_page.h"
#include "store/gateway.h"
#include "store/idempotency_key.h"
#include "store/oauth_secret.h"
#include "store/schema.h"
#include "store/ssh_decision.h"
#include "store/tried.h"
#include "suites.h"

/* ---- keys ---- */

static bool op_authenticate(const struct store_request *request)
{
    return store_authenticate(tried.store, request, &tried.err);
}

static bool op_authorize_to_read(const struct store_request *request)
{
    return store_authorize(tried.store, request, false, &tried.err);
}

static bool op_authorize_to_write(const struct store_request *request)
{
    return store_authorize(tried.store, request, true, &tried.err);
}

static bool op_create(const struct store_request *request)
{
    static char digit = 'b';
    struct ssh_credential_input input = tried_input(TRIED_FINGERPRINT("0"));
    struct ssh_credential_list list;
    char id[] = TRIED_ID("0");
    bool ok;

    id[sizeof id - 2] = digit++;
    ok = tried_create(request, id, &input, &list);
    ssh_credential_list_free(&list);
    return ok;
}

static bool op_create_once(const struct store_request *request)
{
    struct store_request once = *request;

    once.once = (struct once){.key = text_of("a key"), .base_url = text_of("https://x.example")};
    return op_create(&once);
}

static bool op_get(const struct store_request *request)
{
    struct ssh_credential_list list;
    bool ok = tried_get(request, TRIED_ID("1"), &list);

    ssh_credential_list_free(&list);
    return ok;
}

static bool op_update(const struct store_request *request)
{
    struct ssh_credential_input input = {.description = text_of("changed")};
    struct ssh_credential_list list = {0};
    bool ok = store_ssh_credential_update(tried.store, request, text_of(TRIED_ID("1")), &input,
                                          &list, &tried.err);

    ssh_credential_list_free(&list);
    return ok;
}

static bool op_delete(const struct store_request *request)
{
    return store_ssh_credential_delete(tried.store, request, text_of(TRIED_ID("2")), &tried.err);
}

static bool op_list(const struct store_request *request)
{
    struct ssh_credential_list list = {0};
    bool ok = store_ssh_credential_list(tried.store, request, &tried_all, &list, &tried.err);

    ssh_credential_list_free(&list);
    return ok;
}

static bool decide(const struct store_request *request, const char *fingerprint)
{
    struct store_request asking = *request;
    struct ssh_grant_list list = {0};
    bool ok;

    asking.for_gateways = true;
    ok = store_ssh_decision_find(tried.store, &asking, text_of(fingerprint), &list, &tried.err);
    ssh_grant_list_free(&list);
    return ok;
}

static bool op_decide(const struct store_request *request)
{
    return decide(request, TRIED_FINGERPRINT("0"));
}

static bool op_decide_many(const struct store_request *request)
{
    return decide(request, TRIED_FINGERPRINT("9"));
}

static bool op_oauth_put(const struct store_request *request)
{
    struct text items[5];
    struct oauth_module module = tried_full_module(items);

    return tried_put_oauth(request, &module);
}

static bool op_oauth_put_without_secret(const struct store_request *request)
{
    struct oauth_module module = {.enabled = true};

    return tried_put_oauth(request, &module);
}

static bool op_oauth_get(const struct store_request *request)
{
    struct oauth_module module;

    return tried_get_oauth(request, &module);
}

static bool op_oauth_delete(const struct store_request *request)
{
    return store_oauth_module_delete(tried.store, request, &tried_route, &tried.err);
}

static bool op_mutual_tls_put(const struct store_request *request)
{
    struct mutual_tls_module module = {.certificate_authority_ids = {.given = true}};

    return store_mutual_tls_module_put(tried.store, request, text_of("e"), &module, &tried.err);
}

static bool op_mutual_tls_get(const struct store_request *request)
{
    struct mutual_tls_module module;

    return tried_get_mutual_tls(request, &module);
}

static bool op_mutual_tls_delete(const struct store_request *request)
{
    return store_mutual_tls_module_delete(tried.store, request, text_of("e"), &tried.err);
}

/* Ordered so that each operation finds what it needs. */
static const struct operation {
    bool (*run)(const struct store_request *request);
    bool writes;
    bool for_gateways;
} operations[] = {
    {op_authenticate, false, true},
    {op_authorize_to_read, false, false},
    {op_authorize_to_write, true, false},
    {op_create, true, false},
    {op_create_once, true, false},
    {op_get, false, false},
    {op_update, true, false},
    {op_list, false, false},
    {op_delete, true, false},
    {op_decide, false, true},
    {op_decide_many, false, true},
    {op_oauth_put, true, false},
    {op_oauth_get, false, false},
    {op_oauth_put_without_secret, true, false},
    {op_oauth_delete, true, false},
    {op_mutual_tls_put, true, false},
    {op_mutual_tls_get, false, false},
    {op_mutual_tls_delete, true, false},
};

#define N_OPERATIONS (sizeof operations / sizeof operations[0])

/* A number that changes if a write changes anything. */
static int64_t fingerprint_of_all(void)
{
    static const char sql[] =
        "SELECT hashtextextended(coalesce((SELECT string_agg(c::text, '' ORDER BY c.id)"
        " FROM adit.ssh_credential AS c), '') || coalesce((SELECT string_agg(m::text, '')"
        " FROM adit.oauth_module AS m), '') || coalesce((SELECT string_agg(m::text, '')"
        " FROM adit.mutual_tls_module AS m), ''), 0)";
    static const struct pg_statement statement = {
        .name = "fingerprint", .types = PG_BIGINT, .sql = sql};
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    int64_t number;

    ck_assert_msg(pg_run(tried.owner, &statement, &params, &result, &tried.err), "%s",
                  tried.err.cause);
    number = pg_int(result, 0, 0);
    pg_result_free(result);
    return number;
}

static void expect_refusal(size_t i, const struct store_request *request, enum error_code code)
{
    int64_t before = fingerprint_of_all();

    tried.err = (struct error){.code = ERR_NONE};
    ck_assert_msg(!operations[i].run(request), "operation %zu", i);
    ck_assert_msg(tried.err.code == code, "operation %zu: %s", i,
                  error_row(tried.err.code)->symbol);
    ck_assert_msg(fingerprint_of_all() == before, "operation %zu changed something", i);
}

static void expect_key_error(const struct store_request *request, bool for_writes,
                             enum error_code code)
{
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        if (!for_writes || operations[i].writes)
            expect_refusal(i, request, code);
    }
}

static void make_what_operations_need(void)
{
    tried_have(&tried.admin, TRIED_ID("1"));
    tried_have(&tried.admin, TRIED_ID("2"));
    tried_have_many(9, TRIED_FINGERPRINT("9"), "'{}'");
}

START_TEST(good_key_in_every_operation)
{
    make_what_operations_need();
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        tried.err = (struct error){.code = ERR_NONE};
        ck_assert_msg(operations[i].run(&tried.member), "operation %zu: %s %s", i,
                      error_row(tried.err.code)->symbol, tried.err.cause);
    }
}
END_TEST

START_TEST(bad_keys_in_every_operation)
{
    struct store_request unknown = tried.admin;
    struct store_request expired = tried_issue(tried.who.admin, false, 1, NULL);
    char revoked_id[34];
    struct store_request revoked = tried_issue(tried.who.admin, false, 0, revoked_id);
    bool found = false;

    make_what_operations_need();
    ck_assert(op_oauth_put(&tried.admin) && op_mutual_tls_put(&tried.admin));
    unknown.caller.digest[31] ^= 1;
    expect_key_error(&unknown, false, ERR_KEY_UNKNOWN);
    expect_key_error(&tried.reader, true, ERR_KEY_READ_ONLY);
    /* The keys are valid first, so that the store has seen them.  Then revoke or expire them. */
    ck_assert(op_oauth_put(&revoked) && op_get(&revoked));
    ck_assert(api_key_revoke(tried.owner, text_of(revoked_id), &found, &tried.err));
    ck_assert(found);
    expect_key_error(&revoked, false, ERR_KEY_UNKNOWN);
    database_run(tried.owner,
                 "UPDATE adit.api_key SET expires_at = now() WHERE expires_at IS NOT NULL");
    expect_key_error(&expired, false, ERR_KEY_UNKNOWN);
}
END_TEST

/* The key is a full one first, so that the store has seen its account. */
START_TEST(gateway_key_in_every_operation)
{
    char id[34];
    struct store_request gateway = tried_issue(tried.who.admin, false, 0, id);
    char sql[160];

    make_what_operations_need();
    ck_assert(op_oauth_put(&gateway) && op_mutual_tls_put(&gateway));
    snprintf(sql, sizeof sql,
             "UPDATE adit.api_key SET scope = 'gateway', read_only = true WHERE id = '%s'", id);
    database_run(tried.owner, sql);
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        if (operations[i].for_gateways)
            ck_assert_msg(operations[i].run(&gateway), "operation %zu: %s", i, tried.err.cause);
        else
            expect_refusal(i, &gateway, ERR_KEY_GATEWAY);
    }
}
END_TEST

static void expect_identity(const struct store_request *request, const char *key_id,
                            const char *account_id)
{
    make_what_operations_need();
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        struct caller_identity identity = {.key_id = ""};
        struct store_request asking = *request;

        asking.caller.identity = &identity;
        operations[i].run(&asking);
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
    bool found;

    ck_assert(api_key_revoke(tried.owner, text_of(revoked_id), &found, &tried.err) && found);
    expect_identity(&request, id, tried.who.account[0]);
    expect_identity(&reader, reader_id, tried.who.account[0]);
    expect_identity(&revoked, "", "");
}
END_TEST

START_TEST(key_that_expires_later)
{
    struct store_request later = tried_issue(tried.who.admin, false, 3600, NULL);

    ck_assert_msg(op_list(&later), "%s", tried.err.cause);
    ck_assert_int_eq(database_number(tried.owner, "SELECT count(*) FROM adit.api_key"
                                                  " WHERE expires_at - created_at = '1h'"),
                     1);
}
END_TEST

/* ---- the statements ---- */

static struct pg *everything;
static int n_statements;

static void check_statement(const struct test_case *test)
{
    static const struct pg_statement find = {
        .name = "find_statement",
        .types = PG_TEXTS,
        .sql = "SELECT s.parameter_types::text[] FROM pg_catalog.pg_prepared_statements AS s"
               " WHERE s.name ~ ('^' || $1::text || '_[0-9a-f]{16}$') AND length(s.name) < 63",
    };
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct text_list types;
    struct buf shown = {0};

    pg_add_text(&params, text_of(test->input));
    ck_assert_msg(pg_run(everything, &find, &params, &result, &tried.err), "%s", tried.err.cause);
    ck_assert_msg(pg_rows(result) == 1, "%s:%d: %s was never prepared", test->file, test->line,
                  test->input);
    ck_assert(pg_texts(result, 0, 0, &tried.arena, &types));
    for (size_t i = 0; i < types.n; i++)
        buf_printf(&shown, "%s%s", i ? ", " : "", types.items[i].s);
    ck_assert_msg(strcmp(buf_text(&shown).s, test->expected) == 0, "%s:%d: %s takes: %s",
                  test->file, test->line, test->input, buf_text(&shown).s);
    pg_result_free(result);
    buf_free(&shown);
    n_statements++;
}

static void ignore_grant(void *context, const char *what, bool is_missing)
{
    (void)context, (void)what, (void)is_missing;
}

#define KEY_0 "0000000000000000000000000000000000000000000000000000000000000000"
#define KEY_1 "1111111111111111111111111111111111111111111111111111111111111111"

static void ignore_unreadable(struct text edge_id, struct text route_id, const char *cause)
{
    (void)edge_id, (void)route_id, (void)cause;
}

/* Puts a module through a store with this keyring. */
static void put_with(struct keyring *keyring)
{
    struct store *saved = tried.store;
    struct text items[5];
    struct oauth_module module = tried_full_module(items);

    tried.store = store_new(tried.owner, keyring);
    ck_assert(tried_put_oauth(&tried.admin, &module));
    store_free(tried.store);
    tried.store = saved;
}

static void rekey_and_purge(void)
{
    struct keyring *old = tried_keyring("old " KEY_0 "\n");
    struct keyring *both = tried_keyring("new " KEY_1 "\nold " KEY_0 "\n");
    struct oauth_secret_rekeying done;
    struct oauth_secret_counts counts;
    int64_t n;

    put_with(old);
    ck_assert(oauth_secret_count(tried.owner, both, &counts, &tried.err));
    ck_assert_uint_eq(counts.n_rows, 1);
    ck_assert_str_eq(counts.rows[0].key_id, "old");
    ck_assert_int_eq(counts.rows[0].n, 1);
    ck_assert(oauth_secret_rekey(tried.owner, both, ignore_unreadable, &done, &tried.err));
    ck_assert_int_eq(done.n_sealed, 1);
    ck_assert(oauth_secret_count(tried.owner, both, &counts, &tried.err));
    ck_assert_uint_eq(counts.n_rows, 0);
    /* Secrets under a key that the keyring lacks stay unchanged. */
    ck_assert(oauth_secret_rekey(tried.owner, old, ignore_unreadable, &done, &tried.err));
    ck_assert_int_eq(done.n_sealed, 0);
    ck_assert_int_eq(done.n_damaged, 0);
    for (int i = 0; i < 2; i++) {
        ck_assert(oauth_secret_count(tried.owner, i ? old : NULL, &counts, &tried.err));
        ck_assert_uint_eq(counts.n_rows, 1);
        ck_assert_str_eq(counts.rows[0].key_id, "new");
    }
    ck_assert(idempotency_key_purge(tried.owner, &n, &tried.err));
    ck_assert_int_eq(n, 0);
    ck_assert(audit_event_purge(tried.owner, 1, &n, &tried.err));
    ck_assert_int_eq(n, 0);
    keyring_free(old);
    keyring_free(both);
}

static void gateway_reads(void)
{
    const struct text account = text_of(tried.who.account[0]);
    const struct gateway_key key = {account, text_of(TRIED_FINGERPRINT("0"))};
    struct gateway_credentials credentials;
    struct gateway_changes changes;
    struct gateway_edges edges;

    ck_assert(store_gateway_look_up(tried.owner, &tried.arena, (struct gateway_keys){&key, 1},
                                    &credentials, &tried.err));
    ck_assert(
        store_gateway_changes(tried.owner, &tried.arena, text_of(NULL), &changes, &tried.err));
    ck_assert(store_gateway_mutual_tls(tried.owner, &tried.arena, account,
                                       (struct text_list){.n = 0}, &edges, &tried.err));
}

static void credential_pages(void)
{
    const struct text account = text_of(tried.who.account[0]);
    struct credential_page page = {.fingerprint = text_of(TRIED_FINGERPRINT("0"))};
    struct pg_result *result;
    bool has_owners;

    ck_assert(credential_page_read(tried.owner, &page, &result, &tried.err));
    pg_result_free(result);
    page = (struct credential_page){.account_id = account};
    ck_assert(credential_page_read(tried.owner, &page, &result, &tried.err));
    pg_result_free(result);
    ck_assert(credential_page_has_owners(tried.owner, account, &has_owners, &tried.err));
}

static void no_name(const char *name)
{
    (void)name;
}

/* A session that holds the migration lock blocks others.  The error names it. */
static void migrate_in_vain(void)
{
    const struct schema_migrating how = {.waiting = no_name, .applied = no_name};
    struct error err = {.code = ERR_NONE};
    int version;

    ck_assert(schema_check_server(tried.owner, &version, &err) && version >= 140000);
    database_run(tried.responder, "BEGIN; SELECT pg_advisory_xact_lock(1633970548)");
    ck_assert(!schema_migrate(tried.owner, &how, &err));
    ck_assert_msg(strstr(err.cause, "(adit) of adit_tester") != NULL, "%s", err.cause);
    database_run(tried.responder, "ROLLBACK");
}

/* Runs all statements over one connection, then asks the server for its prepared statements.  A
 * statement whose declared columns differ from the server's fails when it runs. */
START_TEST(statements_of_case_file)
{
    const struct schema_grants grants = {.role = SCHEMA_RESPONDER, .found = ignore_grant};
    struct store *saved = tried.store;
    struct pg_result *result;
    char id[34];
    int version;
    int64_t ms;
    bool found;

    everything = tried.owner;
    tried.store = store_new(tried.owner, tried.keyring);
    make_what_operations_need();
    for (size_t i = 0; i < N_OPERATIONS; i++)
        ck_assert(operations[i].run(&tried.admin));
    ck_assert(store_ready(tried.store, &tried.err));
    ck_assert(schema_version(tried.owner, &version, &tried.err) &&
              schema_clock(tried.owner, &ms, &tried.err));
    ck_assert(schema_check_grants(tried.owner, &grants, &tried.err) &&
              schema_has_role(tried.owner, SCHEMA_RESPONDER, &found, &tried.err));
    ck_assert(!account_find_only(tried.owner, id, &version, &tried.err));
    ck_assert(!principal_find_only(tried.owner, id, &version, &tried.err));
    ck_assert(api_key_list(tried.owner, &result, &tried.err));
    pg_result_free(result);
    ck_assert(account_list(tried.owner, &result, &tried.err));
    pg_result_free(result);
    ck_assert(principal_list(tried.owner, "user", &result, &tried.err));
    pg_result_free(result);
    ck_assert(api_key_revoke(tried.owner, text_of("ak_x"), &found, &tried.err));
    rekey_and_purge();
    gateway_reads();
    credential_pages();
    migrate_in_vain();
    cases_run("statements.cases", check_statement);
    ck_assert_int_eq(database_number(tried.owner, "SELECT count(*) - 2"
                                                  " FROM pg_catalog.pg_prepared_statements"),
                     n_statements);
    ck_assert_int_le(n_statements, PG_MAX_PREPARED);
    store_free(tried.store);
    tried.store = saved;
}
END_TEST

Suite *callers_suite(void)
{
    Suite *suite = suite_create("store/callers");
    TCase *tcase = tcase_create("callers");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, tried_set_up, tried_tear_down);
    tcase_add_test(tcase, good_key_in_every_operation);
    tcase_add_test(tcase, bad_keys_in_every_operation);
    tcase_add_test(tcase, gateway_key_in_every_operation);
    tcase_add_test(tcase, identity_in_every_operation);
    tcase_add_test(tcase, key_that_expires_later);
    tcase_add_test(tcase, statements_of_case_file);
    suite_add_tcase(suite, tcase);
    return suite;
}
