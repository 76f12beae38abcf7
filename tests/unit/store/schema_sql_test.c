/* SPDX-License-Identifier: MIT */
/* Tests of migrations, of grants and of the operator's statements, on a real PostgreSQL. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "store/account.h"
#include "store/api_key.h"
#include "store/database.h"
#include "store/migrations.h"
#include "store/principal.h"
#include "store/schema.h"
#include "suites.h"

static struct error err;

/* ---- migrations ---- */

static int n_applied;

static void count_applied(void *context, const char *name)
{
    (void)context;
    ck_assert_str_eq(name, migrations[n_applied].name);
    n_applied++;
}

static void ignore_holder(void *context, const char *holder)
{
    (void)context;
    (void)holder;
}

static const struct schema_migrating counted = {
    .patience_ms = 20000, .waiting = ignore_holder, .applied = count_applied};

START_TEST(migrated_from_nothing)
{
    struct pg *pg = database_create("from_nothing");
    int version = -1;

    ck_assert(schema_version(pg, &version, &err));
    ck_assert_int_eq(version, 0);
    ck_assert_msg(schema_migrate(pg, &counted, &err), "%s", err.cause);
    ck_assert_int_eq(n_applied, migrations_n);
    ck_assert(schema_version(pg, &version, &err));
    ck_assert_int_eq(version, migrations_latest);
    /* A second run applies nothing. */
    n_applied = 0;
    ck_assert_msg(schema_migrate(pg, &counted, &err), "%s", err.cause);
    ck_assert_int_eq(n_applied, 0);
    pg_free(pg);
}
END_TEST

START_TEST(everything_has_a_comment)
{
    struct pg *pg = database_create("comments");

    database_migrate(pg);
    ck_assert_int_gt(database_number(pg, "SELECT count(*) FROM information_schema.columns"
                                         " WHERE table_schema = 'adit'"),
                     40);
    ck_assert_int_eq(
        database_number(pg, "SELECT count(*) FROM pg_class AS c JOIN pg_attribute AS a"
                            " ON a.attrelid = c.oid AND a.attnum >= 0 AND NOT a.attisdropped"
                            " WHERE c.relnamespace = 'adit'::regnamespace AND c.relkind = 'r'"
                            " AND col_description(c.oid, a.attnum) IS NULL"),
        0);
    ck_assert_int_eq(
        database_number(pg, "SELECT count(*) FROM pg_class AS c"
                            " WHERE c.relnamespace = 'adit'::regnamespace AND c.relkind = 'r'"
                            " AND obj_description(c.oid, 'pg_class') IS NULL"),
        0);
    pg_free(pg);
}
END_TEST

#define N_MIGRATORS 4

/* Exits with the number of migrations that it applied. */
static void migrate_in_child(void)
{
    struct pg *pg = database_connect("at_once", "postgres");

    if (!schema_migrate(pg, &counted, &err)) {
        fprintf(stderr, "%s\n", err.cause);
        _exit(100);
    }
    _exit(n_applied);
}

START_TEST(migrated_by_several_at_once)
{
    pid_t children[N_MIGRATORS];
    int n_in_all = 0;

    pg_free(database_create("at_once"));
    for (int i = 0; i < N_MIGRATORS; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0)
            migrate_in_child();
    }
    for (int i = 0; i < N_MIGRATORS; i++) {
        int status;

        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert(WIFEXITED(status));
        ck_assert_int_lt(WEXITSTATUS(status), 100);
        n_in_all += WEXITSTATUS(status);
    }
    ck_assert_int_eq(n_in_all, migrations_n);
}
END_TEST

/* A migration that fails half-way leaves no trace. */
START_TEST(migration_that_fails)
{
    struct pg *pg = database_create("half_way");
    int version = -1;

    database_run(pg, "CREATE SCHEMA adit; CREATE TABLE adit.mutual_tls_module ()");
    ck_assert(!schema_migrate(pg, &counted, &err));
    ck_assert_int_ne(err.code, ERR_NONE);
    ck_assert_int_eq(n_applied, 0);
    ck_assert(schema_version(pg, &version, &err));
    ck_assert_int_eq(version, 0);
    ck_assert_int_eq(database_number(pg, "SELECT count(*) FROM pg_catalog.pg_tables"
                                         " WHERE schemaname = 'adit'"),
                     1);
    pg_free(pg);
}
END_TEST

/* As CREATE INDEX CONCURRENTLY leaves it if it fails. */
START_TEST(invalid_index_is_not_accepted)
{
    struct pg *pg = database_create("invalid_index");

    database_migrate(pg);
    database_run(pg, "UPDATE pg_catalog.pg_index SET indisvalid = false"
                     " WHERE indexrelid = 'adit.audit_event_account'::regclass");
    ck_assert(!schema_migrate(pg, &counted, &err));
    ck_assert_str_eq(err.sqlstate, "55000");
    ck_assert_msg(strstr(err.cause, "DROP INDEX adit.audit_event_account,") != NULL, "%s",
                  err.cause);
    pg_free(pg);
}
END_TEST

/* REINDEX CONCURRENTLY keeps the index that it was to replace. */
START_TEST(leftover_of_reindex_is_accepted)
{
    struct pg *pg = database_create("leftover");

    database_migrate(pg);
    database_run(pg, "CREATE INDEX audit_event_account_ccnew ON adit.audit_event (account_id, id);"
                     "UPDATE pg_catalog.pg_index SET indisvalid = false"
                     " WHERE indexrelid = 'adit.audit_event_account_ccnew'::regclass");
    ck_assert_msg(schema_migrate(pg, &counted, &err), "%s", err.cause);
    pg_free(pg);
}
END_TEST

/* A role without superuser and CREATEROLE, as on a shared host. */
START_TEST(migrated_by_an_ordinary_role)
{
    struct pg *pg = database_create("shared_host");
    struct pg *ordinary;
    bool has = true;

    database_run(pg, "CREATE ROLE ordinary LOGIN; ALTER DATABASE shared_host OWNER TO ordinary");
    ordinary = database_connect("shared_host", "ordinary");
    ck_assert_msg(schema_migrate(ordinary, &counted, &err), "%s", err.cause);
    ck_assert_int_eq(n_applied, migrations_n);
    ck_assert(schema_has_role(ordinary, SCHEMA_RESPONDER, &has, &err) && !has);
    ck_assert(schema_may_act_as_owner(ordinary, &has, &err) && has);
    pg_free(ordinary);
    database_run(pg, "CREATE ROLE another LOGIN; GRANT ALL ON SCHEMA adit TO another;"
                     "GRANT ALL ON ALL TABLES IN SCHEMA adit TO another");
    ordinary = database_connect("shared_host", "another");
    ck_assert(schema_may_act_as_owner(ordinary, &has, &err) && !has);
    pg_free(ordinary);
    pg_free(pg);
}
END_TEST

static void expect_ready(struct pg *pg, enum error_code code)
{
    struct store *store = store_new(pg, NULL);

    err = (struct error){.code = ERR_NONE};
    ck_assert_int_eq(store_ready(store, &err), code == ERR_NONE);
    ck_assert_msg(err.code == code, "%s", err.cause);
    store_free(store);
}

START_TEST(readiness)
{
    struct pg *pg = database_create("readiness");
    struct pg *late;

    expect_ready(pg, ERR_SCHEMA_MISMATCH);
    database_migrate(pg);
    expect_ready(pg, ERR_NONE);
    database_run(pg, "INSERT INTO adit.migration (version, name) VALUES (9999, 'of the future')");
    expect_ready(pg, ERR_NONE);
    database_run(pg, "DELETE FROM adit.migration");
    expect_ready(pg, ERR_SCHEMA_MISMATCH);
    database_run(pg, "ALTER DATABASE readiness SET default_transaction_read_only = on");
    late = database_connect("readiness", "postgres");
    expect_ready(late, ERR_DATABASE_READ_ONLY);
    pg_free(late);
    pg_free(pg);
    pg = database_connect("no_such_database", "postgres");
    expect_ready(pg, ERR_DATABASE_UNAVAILABLE);
    pg_free(pg);
}
END_TEST

START_TEST(clock_of_the_database)
{
    struct pg *pg = database_connect("postgres", "postgres");
    int64_t ms = 0;

    ck_assert(schema_clock(pg, &ms, &err));
    ck_assert_int_lt(llabs((long long)(ms - clock_wall_ms())), 5000);
    pg_free(pg);
}
END_TEST

/* The error of the estimate stays within the bounds of the latest answer. */
START_TEST(estimate_of_the_clock)
{
    const int64_t day_us = INT64_C(24) * 3600 * 1000000;
    struct pg *pg = database_connect("postgres", "postgres");
    int64_t ms = 0;

    ck_assert_msg(pg_clock(pg, &ms, &err), "%s", err.cause);
    ck_assert_int_lt(llabs((long long)(ms - clock_wall_ms())), 5000);
    for (int days = -1; days <= 1; days++) {
        pg_note_time(pg, clock_wall_us() + days * day_us);
        ck_assert(pg_clock(pg, &ms, &err));
        ck_assert_int_lt(llabs((long long)(ms - clock_wall_ms() - days * day_us / 1000)), 5000);
    }
    pg_free(pg);
    pg = database_connect("no_such_database", "postgres");
    ck_assert(!pg_clock(pg, &ms, &err));
    ck_assert_int_eq(err.code, ERR_DATABASE_UNAVAILABLE);
    pg_free(pg);
}
END_TEST

/* ---- the operator's statements ---- */

START_TEST(accounts_and_principals)
{
    struct pg *pg = database_create("operator");
    char id[34];
    char found[34];
    int n = -1;

    database_migrate(pg);
    ck_assert(!account_find_only(pg, found, &n, &err) && n == 0);
    ck_assert(account_create(pg, text_of("a'"), id, &err));
    ck_assert(account_find_only(pg, found, &n, &err) && n == 1);
    ck_assert_str_eq(found, id);
    ck_assert(!principal_find_only(pg, text_of(NULL), found, &n, &err) && n == 0);
    ck_assert(principal_create(
        pg, &(struct principal_new){text_of("ac_x"), "user", text_of("n"), false}, id, &err));
    ck_assert_str_eq(id, "");
    ck_assert(account_find_only(pg, found, &n, &err));
    ck_assert(principal_create(
        pg, &(struct principal_new){text_of(found), "bot", text_of("n"), false}, id, &err));
    ck_assert_int_eq(strncmp(id, "bot_", 4), 0);
    ck_assert(principal_find_only(pg, text_of(NULL), found, &n, &err) && n == 1);
    ck_assert_str_eq(found, id);
    ck_assert(account_create(pg, text_of(""), id, &err));
    ck_assert(!account_find_only(pg, found, &n, &err) && n == 2);
    pg_free(pg);
}
END_TEST

static void expect_column(const struct pg_result *result, int column, const char *wanted)
{
    struct text value = pg_text(result, 0, column);

    ck_assert_msg(text_eq(value, text_of(wanted)), "'%s' is not '%s'", value.s, wanted);
}

START_TEST(list_of_keys)
{
    struct pg *pg = database_create("keys");
    struct accounts accounts;
    struct pg_result *result;
    char id[34];
    struct api_key_revoked gone;

    database_migrate(pg);
    database_fill(pg, &accounts);
    database_issue(pg, accounts.admin, true, 60, id);
    ck_assert(api_key_list(pg, text_of(NULL), &result, &err));
    ck_assert_int_eq(pg_rows(result), 1);
    expect_column(result, API_KEY_ID, id);
    expect_column(result, API_KEY_ACCOUNT_ID, accounts.account[0]);
    expect_column(result, API_KEY_PRINCIPAL_ID, accounts.admin);
    expect_column(result, API_KEY_STATE, "active");
    expect_column(result, API_KEY_MODE, "read-only");
    expect_column(result, API_KEY_DESCRIPTION, "test");
    ck_assert_uint_eq(pg_text(result, 0, API_KEY_CREATED_AT).len, 20);
    ck_assert_uint_eq(pg_text(result, 0, API_KEY_EXPIRES_AT).len, 20);
    pg_result_free(result);
    ck_assert(api_key_revoke(pg, text_of("ak_x"), text_of(NULL), &gone, &err) && !gone.found);
    ck_assert(api_key_revoke(pg, text_of(id), text_of(NULL), &gone, &err) && gone.found);
    ck_assert_str_eq(gone.earlier, "");
    ck_assert(api_key_revoke(pg, text_of(id), text_of(NULL), &gone, &err) && gone.found);
    ck_assert_uint_eq(strlen(gone.earlier), 20);
    ck_assert(api_key_list(pg, text_of(NULL), &result, &err));
    expect_column(result, API_KEY_STATE, "revoked");
    pg_result_free(result);
    database_run(pg, "UPDATE adit.api_key SET revoked_at = NULL, expires_at = now(),"
                     " scope = 'gateway'");
    ck_assert(api_key_list(pg, text_of(NULL), &result, &err));
    expect_column(result, API_KEY_STATE, "expired");
    expect_column(result, API_KEY_MODE, "gateway");
    pg_result_free(result);
    pg_free(pg);
}
END_TEST

START_TEST(keys_of_each_kind)
{
    struct pg *pg = database_create("kinds");
    struct accounts accounts;
    struct pg_result *result;

    database_migrate(pg);
    database_fill(pg, &accounts);
    for (enum key_kind kind = 0; kind < KEY_N_KINDS; kind++) {
        const struct api_key_order order = {.principal_id = text_of(accounts.admin), .kind = kind};
        struct api_key_issued issued;

        database_run(pg, "DELETE FROM adit.api_key");
        ck_assert_msg(api_key_issue(pg, &order, &issued, &err), "%s", err.cause);
        ck_assert(api_key_list(pg, text_of(NULL), &result, &err));
        expect_column(result, API_KEY_MODE, key_kind_row(kind)->word);
        pg_result_free(result);
    }
    pg_free(pg);
}
END_TEST

START_TEST(key_for_nobody)
{
    struct pg *pg = database_create("nobody");
    const struct api_key_order order = {.principal_id = text_of("usr_x")};
    struct api_key_issued issued;

    database_migrate(pg);
    ck_assert_msg(api_key_issue(pg, &order, &issued, &err), "%s", err.cause);
    ck_assert_str_eq(issued.id, "");
    pg_free(pg);
}
END_TEST

/* ---- grants ---- */

static int n_missing;
static int n_excess;

static void count_grant(void *context, const char *what, bool is_missing)
{
    ck_assert_ptr_null(context);
    ck_assert_msg(strstr(what, "adit") != NULL, "%s", what);
    if (is_missing)
        n_missing++;
    else
        n_excess++;
}

/* Where the roles are, and what they are compared with. */
static const char *compared_in;
static const char *compared_with;

static void expect_grants(const char *role, bool missing, bool excess)
{
    const struct schema_grants rights = {.role = compared_with, .found = count_grant};
    struct pg *pg = database_connect(compared_in, role);

    n_missing = n_excess = 0;
    ck_assert_msg(schema_check_grants(pg, &rights, &err), "%s: %s", role, err.cause);
    ck_assert_msg((n_missing > 0) == missing, "%s: %d missing", role, n_missing);
    ck_assert_msg((n_excess > 0) == excess, "%s: %d too many", role, n_excess);
    pg_free(pg);
}

/* A role counts only if it has USAGE on the schema of this database. */
START_TEST(roles)
{
    static const char *const names[] = {SCHEMA_RESPONDER, SCHEMA_GATEWAY};
    const char *role = names[_i];
    struct pg *pg = database_create(_i ? "roles_1" : "roles_0");
    bool has = false;
    char sql[128];

    database_migrate(pg);
    ck_assert(schema_has_role(pg, role, &has, &err) && has);
    snprintf(sql, sizeof sql, "REVOKE ALL ON SCHEMA adit FROM %s", role);
    database_run(pg, sql);
    ck_assert(schema_has_role(pg, role, &has, &err) && !has);
    database_migrate(pg);
    ck_assert(schema_has_role(pg, role, &has, &err) && has);
    pg_free(pg);
}
END_TEST

START_TEST(grants)
{
    struct pg *pg = database_create("grants");

    database_migrate(pg);
    database_run(pg, "CREATE ROLE grants_none LOGIN;"
                     "CREATE ROLE grants_right LOGIN IN ROLE adit_responder;"
                     "CREATE ROLE grants_excess LOGIN IN ROLE adit_responder;"
                     "GRANT INSERT ON adit.api_key TO grants_excess;"
                     "CREATE ROLE grants_keys LOGIN IN ROLE adit_responder;"
                     "GRANT UPDATE (edge_id) ON adit.mutual_tls_module TO grants_keys");
    compared_in = "grants";
    compared_with = SCHEMA_RESPONDER;
    expect_grants("grants_none", true, false);
    expect_grants("grants_right", false, false);
    expect_grants("grants_excess", false, true);
    expect_grants("grants_keys", false, true);
    expect_grants("postgres", false, true);
    /* The check notices one revoked right. */
    database_run(pg, "REVOKE UPDATE (acl) ON adit.ssh_credential FROM adit_responder");
    expect_grants("grants_right", true, false);
    database_run(pg, "GRANT UPDATE (acl) ON adit.ssh_credential TO adit_responder;"
                     "REVOKE UPDATE (scopes) ON adit.oauth_module FROM adit_responder");
    expect_grants("grants_right", true, false);
    database_migrate(pg);
    expect_grants("grants_right", false, false);
    /* Nobody may update a column that the grants do not name. */
    database_run(pg, "ALTER TABLE adit.ssh_credential ADD COLUMN extra text");
    expect_grants("grants_right", false, false);
    database_run(pg, "GRANT UPDATE (extra) ON adit.ssh_credential TO adit_responder");
    expect_grants("grants_right", false, true);
    database_run(pg, "REVOKE UPDATE (extra) ON adit.ssh_credential FROM adit_responder");
    pg_free(pg);
}
END_TEST

START_TEST(grants_of_a_gateway)
{
    struct pg *pg = database_create("grants_gateway");

    database_migrate(pg);
    database_run(pg, "CREATE ROLE gateway_none LOGIN;"
                     "CREATE ROLE gateway_right LOGIN IN ROLE adit_gateway;"
                     "CREATE ROLE gateway_secret LOGIN IN ROLE adit_gateway;"
                     "GRANT SELECT (client_secret_sealed) ON adit.oauth_module TO gateway_secret;"
                     "CREATE ROLE gateway_writes LOGIN IN ROLE adit_gateway;"
                     "GRANT UPDATE ON adit.ssh_credential TO gateway_writes;"
                     "CREATE ROLE gateway_responder LOGIN IN ROLE adit_responder");
    compared_in = "grants_gateway";
    compared_with = SCHEMA_GATEWAY;
    expect_grants("gateway_none", true, false);
    expect_grants("gateway_right", false, false);
    expect_grants("gateway_secret", false, true);
    expect_grants("gateway_writes", false, true);
    expect_grants("gateway_responder", true, true);
    expect_grants("postgres", false, true);
    database_run(pg, "REVOKE SELECT (fingerprint) ON adit.ssh_credential FROM adit_gateway");
    expect_grants("gateway_right", true, false);
    database_run(pg, "GRANT SELECT (fingerprint) ON adit.ssh_credential TO adit_gateway;"
                     "REVOKE EXECUTE ON FUNCTION adit.changes FROM adit_gateway");
    expect_grants("gateway_right", true, false);
    database_migrate(pg);
    expect_grants("gateway_right", false, false);
    pg_free(pg);
}
END_TEST

static void expect_forbidden(struct pg *pg, const char *const *forbidden, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(!pg_script(pg, forbidden[i], 5000, &err), "%s", forbidden[i]);
        ck_assert_msg(strstr(err.cause, "42501") != NULL, "%s: %s", forbidden[i], err.cause);
    }
}

START_TEST(gateway_may_no_more_than_it_needs)
{
    static const char *const forbidden[] = {
        "SELECT * FROM adit.ssh_credential",
        "SELECT public_key FROM adit.ssh_credential",
        "SELECT description, metadata FROM adit.ssh_credential",
        "UPDATE adit.ssh_credential SET acl = '{}'",
        "DELETE FROM adit.ssh_credential",
        "SELECT * FROM adit.oauth_module",
        "UPDATE adit.mutual_tls_module SET enabled = false",
        "SELECT name FROM adit.account",
        "SELECT * FROM adit.principal",
        "SELECT * FROM adit.api_key",
        "SELECT * FROM adit.idempotency_key",
        "SELECT * FROM adit.audit_event",
        "SELECT * FROM adit.audit",
        "SELECT * FROM adit.audit_pruned",
        "INSERT INTO adit.audit_event (event, account_id, resource) VALUES ('a', 'b', 'c')",
        "UPDATE adit.audit_pruned SET transaction = '1'",
        "DELETE FROM adit.migration",
        "CREATE TABLE adit.x ()",
    };
    struct pg *pg = database_create("gateway_no_more");
    struct pg *gateway;

    database_migrate(pg);
    database_run(pg, "CREATE ROLE gateway_no_more LOGIN IN ROLE adit_gateway");
    gateway = database_connect("gateway_no_more", "gateway_no_more");
    expect_forbidden(gateway, forbidden, sizeof forbidden / sizeof forbidden[0]);
    pg_free(gateway);
    pg_free(pg);
}
END_TEST

START_TEST(responder_may_no_more_than_it_needs)
{
    static const char *const forbidden[] = {
        "INSERT INTO adit.account (id) VALUES ('ac_000000000000000000000000000')",
        "UPDATE adit.principal SET is_admin = true",
        "DELETE FROM adit.api_key",
        "UPDATE adit.api_key SET read_only = false",
        "UPDATE adit.api_key SET scope = 'account'",
        "UPDATE adit.ssh_credential SET public_key = 'x'",
        "UPDATE adit.ssh_credential SET owner_id = 'x'",
        "UPDATE adit.ssh_credential SET account_id = 'x'",
        "UPDATE adit.oauth_module SET route_id = 'x'",
        "UPDATE adit.mutual_tls_module SET edge_id = 'x'",
        "TRUNCATE adit.ssh_credential",
        "SELECT * FROM adit.account",
        "SELECT * FROM adit.changes(NULL)",
        "DELETE FROM adit.migration",
        "CREATE TABLE adit.x ()",
        "DROP TABLE adit.oauth_module",
    };
    struct pg *pg = database_create("no_more");
    struct pg *responder;

    database_migrate(pg);
    database_run(pg, "CREATE ROLE no_more LOGIN IN ROLE adit_responder");
    responder = database_connect("no_more", "no_more");
    expect_forbidden(responder, forbidden, sizeof forbidden / sizeof forbidden[0]);
    pg_free(responder);
    pg_free(pg);
}
END_TEST

Suite *schema_sql_suite(void)
{
    Suite *suite = suite_create("store/schema_sql");
    TCase *schema = tcase_create("schema");

    tcase_set_timeout(schema, 60);
    tcase_add_test(schema, migrated_from_nothing);
    tcase_add_test(schema, everything_has_a_comment);
    tcase_add_test(schema, migrated_by_several_at_once);
    tcase_add_test(schema, migration_that_fails);
    tcase_add_test(schema, invalid_index_is_not_accepted);
    tcase_add_test(schema, leftover_of_reindex_is_accepted);
    tcase_add_test(schema, migrated_by_an_ordinary_role);
    tcase_add_test(schema, readiness);
    tcase_add_test(schema, clock_of_the_database);
    tcase_add_test(schema, estimate_of_the_clock);
    tcase_add_test(schema, accounts_and_principals);
    tcase_add_test(schema, list_of_keys);
    tcase_add_test(schema, keys_of_each_kind);
    tcase_add_test(schema, key_for_nobody);
    tcase_add_test(schema, grants);
    tcase_add_test(schema, grants_of_a_gateway);
    tcase_add_loop_test(schema, roles, 0, 2);
    tcase_add_test(schema, gateway_may_no_more_than_it_needs);
    tcase_add_test(schema, responder_may_no_more_than_it_needs);
    suite_add_tcase(suite, schema);
    return suite;
}
