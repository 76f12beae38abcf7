/* SPDX-License-Identifier: MIT */
/* Tests of the plans of lists, on a real PostgreSQL: a page reads about as many rows as it shows,
 * however many the account has.  They count rows instead of naming costs, so statistics do not
 * matter: there are none in the first half of each test. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/audit_event.h"
#include "store/callers.h"
#include "store/explained.h"
#include "store/tried.h"
#include "suites.h"

/* One more than a page shows tells that another page follows.  A node may add the caller's row. */
#define PAGE_ROWS 101
#define MOST_ROWS (PAGE_ROWS + 1)

#define LIMIT 100
#define ROWS "5000"

/* Half of the rows are of another account, and lie between those of this one. */
static void have_rows(void)
{
    char sql[2048];

    snprintf(sql, sizeof sql,
             "SET session_replication_role = replica;"
             " INSERT INTO adit.audit_event (account_id, event, resource, at)"
             " SELECT a, 'account_created', 'r' || i, now()"
             " FROM generate_series(1, " ROWS ") AS i, unnest('{%s,%s}'::text[]) AS a;"
             " INSERT INTO adit.oauth_module (account_id, edge_id, route_id, enabled,"
             " scopes, email_addresses, email_domains, teams, organizations, options_passthrough,"
             " inactivity_timeout, maximum_duration, auth_check_interval)"
             " SELECT a, 'e', 'r' || i, true, '{}', '{}', '{}', '{}', '{}', false, 0, 0, 0"
             " FROM generate_series(1, " ROWS ") AS i, unnest('{%s,%s}'::text[]) AS a;"
             " INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled,"
             " certificate_authority_ids)"
             " SELECT a, 'r' || i, true, '{}'"
             " FROM generate_series(1, " ROWS ") AS i, unnest('{%s,%s}'::text[]) AS a;"
             " INSERT INTO adit.ssh_credential (account_id, id, owner_id, public_key, key_type,"
             " fingerprint, description, metadata, acl)"
             " SELECT a, 'sshcr_' || lpad(i::text, 27, '0'),"
             " CASE WHEN i < " ROWS " / 2 THEN '%s' ELSE 'other' END, 'k', 'ssh-ed25519',"
             " '" TRIED_FINGERPRINT("1") "', '', '', '{}'"
                                         " FROM generate_series(1, " ROWS
                                         ") AS i, unnest('{%s,%s}'::text[]) AS a;"
                                         " SET session_replication_role = origin",
             tried.who.account[0], tried.who.account[1], tried.who.account[0], tried.who.account[1],
             tried.who.account[0], tried.who.account[1], tried.who.admin, tried.who.account[0],
             tried.who.account[1]);
    database_run(tried.owner, sql);
}

/* Returns the number after a word of a line of the plan; -1: the line has no such word. */
static long number_after(const char *line, const char *word)
{
    const char *at = strstr(line, word);

    return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

/* Runs a statement as the responder does, with that account after the digest and then these
 * arguments, and looks at what each node of its plan has read. */
static void expect_few_rows_of(const char *account, const char *name, const char *arguments,
                               const char *index)
{
    struct pg_result *prepared = explained_find(tried.responder, name);
    /* The driver tells statements apart by their addresses. */
    struct pg_statement *explain = arena_array(&tried.arena, 1, sizeof *explain);
    struct pg_params params = {.n = 0};
    char digest[2 * CRYPT_SHA256_LEN + 1];
    bool has_index = false;
    bool has_page = false;
    struct pg_result *plan;
    char sql[512];

    for (size_t i = 0; i < CRYPT_SHA256_LEN; i++)
        snprintf(digest + 2 * i, 3, "%02x", tried.admin.caller.digest[i]);
    snprintf(sql, sizeof sql,
             "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE %s ('\\x%s', %s, %s)",
             pg_text(prepared, 0, 0).s, digest, account, arguments);
    ck_assert_ptr_nonnull(explain);
    *explain = (struct pg_statement){.name = "explain", .types = PG_TEXT, .sql = sql};
    ck_assert_msg(pg_run(tried.responder, explain, &params, &plan, &tried.err), "%s",
                  tried.err.cause);
    for (int row = 0; row < pg_rows(plan); row++) {
        const char *line = pg_text(plan, row, 0).s;

        has_index = has_index || strstr(line, index);
        has_page = has_page || number_after(line, "actual rows=") == PAGE_ROWS;
        ck_assert_msg(number_after(line, "actual rows=") <= MOST_ROWS &&
                          number_after(line, "Rows Removed by Filter: ") <= MOST_ROWS,
                      "%s(%s): %s", name, arguments, line);
    }
    ck_assert_msg(has_index && has_page, "%s(%s) does not read a page by %s", name, arguments,
                  index);
    pg_result_free(plan);
    pg_result_free(prepared);
}

/* The same for a key of either form. */
static void expect_few_rows(const char *name, const char *arguments, const char *index)
{
    char account[IDENT_SIZE + 2];

    snprintf(account, sizeof account, "'%s'", tried.who.account[0]);
    expect_few_rows_of("NULL", name, arguments, index);
    expect_few_rows_of(account, name, arguments, index);
}

/* Reads by a key begin at its digest, whether or not the key names its account. */
static void expect_digest(const char *name, const char *arguments)
{
    for (int is_of_account = 0; is_of_account < 2; is_of_account++) {
        struct pg_result *prepared = explained_find(tried.responder, name);
        struct pg_statement *explain = arena_array(&tried.arena, 1, sizeof *explain);
        struct pg_params params = {.n = 0};
        struct pg_result *plan;
        bool has_index = false;
        char sql[512];

        snprintf(sql, sizeof sql, "EXPLAIN (COSTS OFF) EXECUTE %s ('\\x00', %s%s%s%s)",
                 pg_text(prepared, 0, 0).s, is_of_account ? "'" : "",
                 is_of_account ? tried.who.account[0] : "NULL", is_of_account ? "'" : "",
                 arguments);
        ck_assert_ptr_nonnull(explain);
        *explain = (struct pg_statement){.name = "explain", .types = PG_TEXT, .sql = sql};
        ck_assert_msg(pg_run(tried.responder, explain, &params, &plan, &tried.err), "%s",
                      tried.err.cause);
        for (int row = 0; row < pg_rows(plan); row++) {
            const char *line = pg_text(plan, row, 0).s;

            has_index = has_index || strstr(line, "Index Scan using api_key_digest_unique");
            ck_assert_msg(!strstr(line, "Seq Scan on api_key"), "%s: %s", name, line);
        }
        ck_assert_msg(has_index, "%s does not find the key by its digest", name);
        pg_result_free(plan);
        pg_result_free(prepared);
    }
}

/* Runs each list once, so that its statement is prepared. */
static void prepare_all(void)
{
    static const struct audit_event_page events = {
        .before = INT64_MAX, .limit = LIMIT, .most_bytes = 1 << 20};
    static const struct resource_page routes = {.limit = LIMIT, .most_bytes = 1 << 20};
    static const struct resource_page edges = {.limit = LIMIT, .most_bytes = 1 << 20};
    static const struct ssh_credential_page credentials = {.limit = LIMIT, .most_bytes = 1 << 20};
    struct audit_event_list event_list = {0};
    struct resource_list route_list;
    struct resource_list edge_list;
    struct ssh_credential_list credential_list = {0};

    ck_assert(store_audit_event_list(tried.store, &tried.admin, &events, &event_list, &tried.err));
    ck_assert(event_list.n == LIMIT && event_list.more);
    ck_assert(store_resource_list(tried.store, &tried.admin, RESOURCE_OAUTH_MODULE, &routes,
                                  &route_list, &tried.err));
    ck_assert(store_resource_list(tried.store, &tried.admin, RESOURCE_MUTUAL_TLS_MODULE, &edges,
                                  &edge_list, &tried.err));
    ck_assert(store_ssh_credential_list(tried.store, &tried.admin, &credentials, &credential_list,
                                        &tried.err));
    audit_event_list_free(&event_list);
    ssh_credential_list_free(&credential_list);
    tried_list_own(LIMIT, &credential_list);
    ck_assert(credential_list.n == LIMIT && credential_list.more);
    ssh_credential_list_free(&credential_list);
}

/* The first page, and one far behind. */
START_TEST(page_reads_a_page)
{
    char of_owner[64];

    have_rows();
    for (int is_analyzed = 0; is_analyzed < 2; is_analyzed++) {
        if (is_analyzed)
            database_run(tried.owner, "ANALYZE");
        prepare_all();
        expect_few_rows("audit_event_list", "9223372036854775807, 101", "audit_event_account");
        expect_few_rows("audit_event_list", ROWS ", 101", "audit_event_account");
        expect_few_rows("oauth_module_list", "'', '', 101", "oauth_module_pkey");
        expect_few_rows("oauth_module_list", "'e', 'r3', 101", "oauth_module_pkey");
        expect_few_rows("mutual_tls_module_list", "'', 101", "mutual_tls_module_pkey");
        expect_few_rows("mutual_tls_module_list", "'r3', 101", "mutual_tls_module_pkey");
        expect_few_rows("ssh_credential_list", "'~', 101", "ssh_credential_pkey");
        expect_few_rows("ssh_credential_list", "'sshcr_000000000000000000000002500', 101",
                        "ssh_credential_pkey");
        snprintf(of_owner, sizeof of_owner, "'~', 101, '%s'", tried.who.admin);
        expect_few_rows("ssh_credential_owner_list", of_owner, "ssh_credential_owner_id");
    }
}
END_TEST

START_TEST(keys_are_found_by_their_digest)
{
    database_run(tried.owner, "SET session_replication_role = replica;"
                              "INSERT INTO adit.api_key (account_id, id, principal_id, digest)"
                              " SELECT account_id, 'ak_' || substr(md5(id || i), 1, 27), id,"
                              " sha256((id || i)::bytea)"
                              " FROM adit.principal, generate_series(1, 1000) AS i;"
                              "SET session_replication_role = origin; ANALYZE");
    callers_run_all(&tried.admin);
    ck_assert(store_authenticate(tried.store, &tried.admin, &tried.err));
    expect_digest("authenticate", "");
    expect_digest("ssh_credential_get", ", 'x'");
    expect_digest("oauth_module_get", ", 'x', 'x'");
    expect_digest("mutual_tls_module_get", ", 'x'");
    expect_digest("ssh_decision_few", ", 'x', 9");
    expect_digest("audit_event_get", ", 1");
    expect_digest("ssh_credential_quick_update", ", 'x', 'x', 'x', 'x', '{}', true");
    expect_digest("ssh_credential_delete", ", 'x', 'x', NULL, NULL");
    expect_digest("mutual_tls_module_quick_put", ", 'x', 'x', true, '{}'");
}
END_TEST

Suite *store_plans_suite(void)
{
    Suite *suite = suite_create("store/plans");
    TCase *tests = tcase_create("plans");

    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, tried_set_up, tried_tear_down);
    tcase_add_test(tests, page_reads_a_page);
    tcase_add_test(tests, keys_are_found_by_their_digest);
    suite_add_tcase(suite, tests);
    return suite;
}
