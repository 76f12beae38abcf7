/* SPDX-License-Identifier: MIT */
/* Tests of every statement against the server's description of it, on a real PostgreSQL. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "nodes/nodes.h"
#include "pg/session.h"
#include "store/account.h"
#include "store/api_key.h"
#include "store/audit_purge.h"
#include "store/callers.h"
#include "store/credential_page.h"
#include "store/document_test.h"
#include "store/document_write.h"
#include "store/history_statements.h"
#include "store/gate.h"
#include "store/gate_review.h"
#include "store/gateway.h"
#include "store/idempotency_key.h"
#include "store/key_use.h"
#include "store/oauth_secret.h"
#include "store/principal.h"
#include "store/schema.h"
#include "store/tried.h"
#include "suites.h"

static struct pg *everything;
static int n_statements;
static struct buf texts; /* of all statements, as in the golden file */

/* Appends a statement as a person reads it, a clause a line. */
static void add_text(const char *name, const char *sql)
{
    static const char *const clauses[] = {
        "AND ",       "CROSS JOIN ", "FOR ",         "FROM ",     "GROUP BY ",  "JOIN ",
        "LEFT JOIN ", "LIMIT ",      "ON CONFLICT ", "ORDER BY ", "RETURNING ", "SELECT ",
        "SET ",       "UNION ALL ",  "USING ",       "VALUES ",   "WHERE "};

    buf_printf(&texts, "-- %s\n", name);
    while (*sql) {
        size_t len = 1;

        for (size_t i = 0; *sql == ' ' && i < sizeof clauses / sizeof clauses[0]; i++) {
            if (strncmp(sql + 1, clauses[i], strlen(clauses[i])) == 0) {
                buf_puts(&texts, "\n   ");
                len = strlen(clauses[i]);
                break;
            }
        }
        buf_add(&texts, sql, len);
        sql += len;
    }
    buf_puts(&texts, "\n\n");
}

/* Compares all texts with tests/cases/statements.golden, which a review sees changed.
 * ADIT_GOLDEN=write writes it anew. */
static void check_texts(void)
{
    const char *write = getenv("ADIT_GOLDEN");
    struct buf found = {0};
    char path[4096];
    char part[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/statements.golden", getenv("CASES_DIR"));
    if (write && strcmp(write, "write") == 0) {
        file = fopen(path, "w");
        ck_assert(file && fwrite(texts.data, 1, texts.len, file) == texts.len);
        ck_assert_int_eq(fclose(file), 0);
    }
    file = fopen(path, "r");
    ck_assert_msg(file != NULL, "there is no %s", path);
    while (!feof(file)) {
        size_t n = fread(part, 1, sizeof part, file);

        ck_assert(!ferror(file));
        buf_add(&found, part, n);
    }
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(strcmp(buf_text(&found).s, buf_text(&texts).s) == 0,
                  "statements differ from tests/cases/statements.golden; look at them with"
                  " ADIT_GOLDEN=write and git diff");
    buf_free(&found);
    buf_free(&texts);
}

static void check_statement(const struct test_case *test)
{
    static const struct pg_statement find = {
        .name = "find_statement",
        .types = PG_TEXTS PG_TEXT,
        .sql = "SELECT s.parameter_types::text[], s.statement FROM "
               "pg_catalog.pg_prepared_statements AS s"
               " WHERE s.name ~ ('^' || $1::text || '_[0-9a-f]{16}$') AND length(s.name) < 63",
    };
    struct pg_params params = {.n = 0};
    struct pg_result *result;
    struct text_list types;
    struct buf shown = {0};

    if (strcmp(test->why, "on nodes of Citus only") == 0)
        return;
    pg_add_text(&params, text_of(test->input));
    ck_assert_msg(pg_run(everything, &find, &params, &result, &tried.err), "%s", tried.err.cause);
    ck_assert_msg(pg_rows(result) == 1, "%s:%d: %s was never prepared", test->file, test->line,
                  test->input);
    ck_assert(pg_texts(result, 0, 0, &tried.arena, &types));
    for (size_t i = 0; i < types.n; i++)
        buf_printf(&shown, "%s%s", i ? ", " : "", types.items[i].s);
    ck_assert_msg(strcmp(buf_text(&shown).s, test->expected) == 0, "%s:%d: %s takes: %s",
                  test->file, test->line, test->input, buf_text(&shown).s);
    add_text(test->input, pg_text(result, 0, 1).s);
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

static void ignore_unreadable(void *context, const struct keyring_place *place, const char *cause)
{
    (void)context, (void)place, (void)cause;
}

static void ignore_sealed(void *context, int64_t n)
{
    (void)context, (void)n;
}

static const struct oauth_secret_calls ignoring = {.unreadable = ignore_unreadable,
                                                   .sealed = ignore_sealed};

/* Puts a module through a store with this keyring. */
static void put_with(struct keyring *keyring)
{
    struct store *saved = tried.store;
    struct text items[5];
    struct oauth_module module = tried_full_module(items);
    struct store_request if_there = tried.admin;

    if_there.condition.match = (struct revisions){.items = {-1}, .n = 1, .given = true};
    tried.store = store_new(tried.owner, keyring);
    ck_assert(tried_put_oauth(&tried.admin, &module));
    ck_assert(tried_put_oauth(&if_there, &module));
    store_free(tried.store);
    tried.store = saved;
}

/* Creates a credential for an owner by name, and changes it and a module under a condition. */
static void write_not_quickly(void)
{
    struct store_request if_there = tried.admin;
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct mutual_tls_module module = {.certificate_authority_ids = {.given = true}};
    struct ssh_credential_list list;

    input.owner_id = text_of(tried.who.member);
    ck_assert(tried_create(&tried.admin, TRIED_ID("7"), &input, &list));
    ssh_credential_list_free(&list);
    if_there.condition.match = (struct revisions){.items = {-1}, .n = 1, .given = true};
    ck_assert(store_ssh_credential_update(tried.store, &if_there, text_of(TRIED_ID("7")), &input,
                                          &list, &tried.err));
    ssh_credential_list_free(&list);
    ck_assert(store_resource_put(tried.store, &tried.admin, RESOURCE_MUTUAL_TLS_MODULE, &tried_edge,
                                 &module, &tried.err));
    ck_assert(store_resource_put(tried.store, &if_there, RESOURCE_MUTUAL_TLS_MODULE, &tried_edge,
                                 &module, &tried.err));
}

static void list_own(void)
{
    struct ssh_credential_list list;

    tried_list_own(1, &list);
    ssh_credential_list_free(&list);
}

static void prepare(const struct pg_statement *statement, const struct pg_params *params)
{
    struct pg_result *result;

    ck_assert_msg(pg_run(tried.owner, statement, params, &result, &tried.err), "%s",
                  tried.err.cause);
    pg_result_free(result);
}

static void rekey_and_purge(void)
{
    struct pg_params numbers = {.n = 0};
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
    ck_assert(oauth_secret_rekey(tried.owner, both, &ignoring, &done, &tried.err));
    ck_assert_int_eq(done.n_sealed, 1);
    ck_assert(oauth_secret_count(tried.owner, both, &counts, &tried.err));
    ck_assert_uint_eq(counts.n_rows, 0);
    /* Secrets under a key that the keyring lacks stay unchanged. */
    ck_assert(oauth_secret_rekey(tried.owner, old, &ignoring, &done, &tried.err));
    ck_assert_int_eq(done.n_sealed, 0);
    ck_assert_int_eq(done.n_damaged, 0);
    for (int i = 0; i < 2; i++) {
        ck_assert(oauth_secret_count(tried.owner, i ? old : NULL, &counts, &tried.err));
        ck_assert_uint_eq(counts.n_rows, 1);
        ck_assert_str_eq(counts.rows[0].key_id, "new");
    }
    ck_assert(idempotency_key_purge(tried.owner, NULL, &n, &tried.err));
    ck_assert_int_eq(n, 0);
    ck_assert(audit_purge(tried.owner, 1, NULL, &n, &tried.err));
    ck_assert_int_eq(n, 0);
    pg_add_int(&numbers, 0);
    pg_add_int(&numbers, 1);
    prepare(&idempotency_key_purge_statement, &numbers);
    prepare(&audit_purge_statement, &numbers);
    keyring_free(old);
    keyring_free(both);
}

static void gateway_reads(void)
{
    const struct text account = text_of(tried.who.account[0]);
    struct gateway_key key = {.account_id = account,
                              .fingerprint = text_of(TRIED_FINGERPRINT("0"))};
    struct gateway_credentials credentials;
    struct gateway_glance *glances;
    struct gateway_changes changes;
    struct gateway_edges edges;

    ck_assert(store_gateway_look_up(tried.owner, &tried.arena, &key, &credentials, &tried.err));
    ck_assert(store_gateway_glance(tried.owner, &tried.arena, (struct gateway_keys){&key, 1},
                                   &glances, &tried.err));
    ck_assert(
        store_gateway_changes(tried.owner, &tried.arena, text_of(NULL), &changes, &tried.err));
    ck_assert(store_gateway_ping(tried.owner, &tried.err));
    ck_assert(store_gateway_edge_revisions(tried.owner, &tried.arena, account,
                                           (struct text_list){.n = 0}, &edges, &tried.err));
    ck_assert(store_gateway_mutual_tls(tried.owner, &tried.arena, account,
                                       (struct text_list){.n = 0}, &edges, &tried.err));
    key.credential_ids.given = true;
    ck_assert(store_gateway_look_up(tried.owner, &tried.arena, &key, &credentials, &tried.err));
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

static void no_name(void *context, const char *name)
{
    (void)context;
    (void)name;
}

/* A session that holds the migration lock blocks others.  The error names it. */
static void migrate_in_vain(void)
{
    const struct schema_migrating how = {
        .spread = &nodes_schema, .waiting = no_name, .applied = no_name};
    struct error err = {.code = ERR_NONE};
    int version;

    ck_assert(schema_check_server(tried.owner, &version, &err) && version >= 140000);
    database_run(tried.responder, "BEGIN; SELECT pg_advisory_xact_lock(1633970548)");
    ck_assert(!schema_migrate(tried.owner, &how, &err));
    ck_assert_msg(strstr(err.cause, "(adit) of adit_tester") != NULL, "%s", err.cause);
    database_run(tried.responder, "ROLLBACK");
}

/* On names of nothing. */
static void document_statements(void)
{
    const struct pg_params none = {.n = 0};

    document_run_statements(tried.owner);
    ck_assert(document_supersede(tried.owner, &tried.err));
    prepare(&document_supersede_statement, &none);
}

static void about_people(void)
{
    const struct principal nobody = {text_of("usr_x"), "user"};
    struct pg_params params = {.n = 0};
    struct key_uses *uses = key_uses_new();
    struct pg_result *result;
    struct principal_end end;
    struct account_rest rest;
    struct error *err = &tried.err;
    bool found;
    int64_t n;

    ck_assert(principal_show(tried.owner, &nobody, &result, err) && pg_rows(result) == 0);
    pg_result_free(result);
    ck_assert(principal_rename(tried.owner, &nobody, text_of("x"), &found, err) && !found);
    ck_assert(principal_disable(tried.owner, &nobody, true, &end, err) && !end.found);
    ck_assert(principal_end_credentials(tried.owner, nobody.id, &end, err) && end.n_ended == 0);
    pg_add_text(&params, nobody.id);
    pg_add_text(&params, text_of("ac_x"));
    pg_add_int(&params, 1);
    prepare(&principal_end_credentials_statement, &params);
    ck_assert(principal_delete(tried.owner, &nobody, text_of(NULL), true, &end, err) && !end.found);
    ck_assert(account_rename(tried.owner, text_of("ac_x"), text_of("x"), &found, err) && !found);
    ck_assert(account_delete(tried.owner, text_of("ac_x"), &rest, err) && !rest.found);
    ck_assert(api_key_revoke_all(tried.owner, nobody.id, text_of(NULL), &found, &n, err) &&
              !found && n == 0);
    ck_assert_ptr_nonnull(uses);
    key_uses_note(uses, text_of("ac_x"), text_of("ak_x"), NULL, 0);
    ck_assert(key_uses_write(uses, tried.owner, 0, &tried.arena, err));
    key_uses_free(uses);
}

/* Asks in both ways: with a named account, and with any. */
static void gate_sees(struct text id, size_t n_rows, bool has_ended)
{
    struct text ids[] = {id};
    struct gate_question question = {.account_id = text_of(tried.who.account[0]),
                                     .route = {text_of("edge"), text_of("route")},
                                     .session_ids = {ids, 1, true}};

    for (int i = 0; i < 2; i++) {
        struct gate_answer answer;

        ck_assert(store_gate_ask(tried.owner, &question, &tried.arena, &answer, &tried.err));
        ck_assert_int_eq(answer.n_accounts, i == 0 ? 1 : 2);
        ck_assert(!answer.has_module);
        ck_assert_uint_eq(answer.n_rows, n_rows);
        for (size_t row = 0; row < n_rows; row++) {
            ck_assert(answer.rows[row].has_ended == has_ended);
            ck_assert(has_ended || text_eq(answer.rows[row].sealed, text_of("sealed")));
        }
        question.account_id = (struct text){.s = NULL};
    }
}

/* Whether a row is written. */
static void gate_keeps(const char *id, const char *before, const char *sealed, bool expected)
{
    const struct gate_write write = {
        .row = {.id = text_of(id), .key_id = text_of("k"), .sealed = text_of(sealed)},
        .before = text_of(before),
        .ends_at = 1000};
    bool is_kept = !expected;

    ck_assert(
        store_gate_keep(tried.owner, text_of(tried.who.account[0]), &write, &is_kept, &tried.err));
    ck_assert_int_eq(is_kept, expected);
}

/* Of many sessions, the answer has what the rows of the first ones hold. */
static void gate_sees_many(void)
{
    static char names[STORE_GATE_SESSIONS_MAX + 2][32];
    struct text ids[STORE_GATE_SESSIONS_MAX + 2];
    struct gate_question question = {.account_id = text_of(tried.who.account[0]),
                                     .route = {text_of("edge"), text_of("route")},
                                     .session_ids = {ids, STORE_GATE_SESSIONS_MAX + 2, true}};
    struct gate_answer answer;

    for (size_t i = 0; i < question.session_ids.n; i++) {
        snprintf(names[i], sizeof names[i], "%022zu", question.session_ids.n - i);
        ids[i] = text_of(names[i]);
        gate_keeps(names[i], NULL, "sealed", true);
    }
    ck_assert(store_gate_ask(tried.owner, &question, &tried.arena, &answer, &tried.err));
    ck_assert_uint_eq(answer.n_rows, question.session_ids.n);
    for (size_t i = 0; i < answer.n_rows; i++) {
        const struct gate_row *row = &answer.rows[i];

        ck_assert(!row->has_ended);
        ck_assert(!row->sealed.s == (text_eq(row->id, ids[STORE_GATE_SESSIONS_MAX]) ||
                                     text_eq(row->id, ids[STORE_GATE_SESSIONS_MAX + 1])));
    }
}

static void gate_asks(void)
{
    struct text id = text_of("AAAAAAAAAAAAAAAAAAAAAA");
    struct text other;
    const struct module_place route = {text_of("edge"), text_of("route")};
    const struct gate_question of_nobody = {.account_id = text_of("ac_x"), .route = route};
    const struct oauth_module module = {.provider = 1, .config.client_id = text_of("c")};
    struct gate_answer answer;
    struct gate_secret secret;
    bool is_done = false;
    bool is_first = false;

    gate_keeps(id.s, NULL, "sealed", true);
    gate_sees(id, 1, false);
    /* Only over what was read there. */
    gate_keeps(id.s, NULL, "two", false);
    gate_keeps(id.s, "none", "two", false);
    gate_keeps(id.s, "sealed", "two", true);
    gate_keeps(id.s, "sealed", "three", false);
    ck_assert(store_gate_end(tried.owner, text_of("ac"), id, 1000, &tried.err));
    /* What has ended stays so. */
    gate_keeps(id.s, NULL, "three", false);
    gate_keeps(id.s, "two", "three", false);
    gate_sees(id, 1, true);
    /* A state is used once, whether it has a row or not. */
    ck_assert(store_gate_use(tried.owner, text_of("ac"), id, 1000, &is_first, &tried.err));
    ck_assert(!is_first);
    other = text_of("BBBBBBBBBBBBBBBBBBBBBB");
    ck_assert(store_gate_use(tried.owner, text_of("ac"), other, 1000, &is_first, &tried.err));
    ck_assert(is_first);
    ck_assert(store_gate_use(tried.owner, text_of("ac"), other, 1000, &is_first, &tried.err));
    ck_assert(!is_first);
    other = text_of("CCCCCCCCCCCCCCCCCCCCCC");
    gate_keeps(other.s, NULL, "one", true);
    ck_assert(store_gate_use(tried.owner, text_of("ac"), other, 1000, &is_first, &tried.err));
    ck_assert(is_first);
    gate_sees(other, 1, true);
    gate_sees_many();
    ck_assert(store_gate_secret(tried.owner, text_of("ac"), &route, &module, &tried.arena, &secret,
                                &tried.err));
    ck_assert(!secret.is_found);
    ck_assert(store_gate_purge(tried.owner, &is_done, &tried.err));
    ck_assert(is_done);
    gate_sees(id, 0, false);
    ck_assert(store_gate_ask(tried.owner, &of_nobody, &tried.arena, &answer, &tried.err));
    ck_assert_int_eq(answer.n_accounts, 0);
}

static void gate_is_reviewed(void)
{
    const enum oauth_application applications[OAUTH_N_PROVIDERS] = {OAUTH_APPLICATION_THERE};
    struct gate_review review;
    struct gate_shared_cookies shared;
    int64_t n_ended;

    ck_assert(store_gate_review(tried.owner, applications, &tried.arena, &review, &tried.err));
    ck_assert(!review.has_more);
    ck_assert(store_gate_shared_cookies(tried.owner, &tried.arena, &shared, &tried.err));
    ck_assert_int_eq(shared.n, 0);
    ck_assert(store_gate_count_ended(tried.owner, &n_ended, &tried.err));
    ck_assert_int_eq(n_ended, 0);
}

/* A read may be sent again when its answer is lost.  So whatever changes a row, by itself or in a
 * function that it calls, must say that it writes: the driver then names the operator, and this
 * trigger refuses changes of nobody.  It lets the scripts of the tests pass. */
static void refuse_writes_of_reads(void)
{
    pg_name_operator(tried.owner, "tester");
    database_run(tried.owner,
                 "CREATE FUNCTION public.refuse_of_nobody() RETURNS trigger LANGUAGE plpgsql AS"
                 " $$BEGIN IF coalesce(current_setting('adit.operator', true), '') = '' AND EXISTS"
                 " (SELECT FROM pg_prepared_statements WHERE statement = current_query()) THEN"
                 " RAISE 'a statement writes % and does not say so', TG_TABLE_NAME; END IF;"
                 " RETURN NULL; END$$;"
                 " DO $$DECLARE it regclass; BEGIN FOR it IN SELECT c.oid FROM pg_class AS c"
                 " WHERE c.relnamespace = 'adit'::regnamespace AND c.relkind = 'r' LOOP"
                 " EXECUTE format('CREATE TRIGGER of_nobody BEFORE INSERT OR UPDATE OR DELETE ON %s"
                 " FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_of_nobody()', it);"
                 " END LOOP; END$$");
}

/* Runs all statements over one connection, then asks the server for its prepared statements.  A
 * statement whose declared columns differ from the server's fails when it runs. */
static void find_by_name(void)
{
    char id[34];

    ck_assert(account_find_named(tried.owner, text_of("none"), text_of(""), id, &tried.err));
    ck_assert(principal_find_named(tried.owner, text_of(tried.who.account[0]), text_of("none"),
                                   text_of(""), id, &tried.err));
}

START_TEST(statements_of_case_file)
{
    const struct schema_grants grants = {.role = SCHEMA_RESPONDER, .found = ignore_grant};
    struct store *saved = tried.store;
    struct pg_result *result;
    char id[34];
    int version;
    struct store_request unknown = tried.admin;
    struct api_key_revoked gone;
    int64_t n_revoked;
    char missing[512];
    int64_t ms;
    bool found;

    everything = tried.owner;
    refuse_writes_of_reads();
    tried.store = store_new(tried.owner, tried.keyring);
    callers_run_all(&tried.admin);
    list_own();
    ck_assert(store_ready(tried.store, &tried.err));
    ck_assert(schema_version(tried.owner, &version, &tried.err) &&
              schema_clock(tried.owner, &ms, &tried.err));
    ck_assert(schema_may_act_as_owner(tried.owner, &found, &tried.err) && found);
    ck_assert(nodes_find_functions(tried.owner, missing, sizeof missing, &found, &tried.err));
    ck_assert(strstr(missing, "note_caller") && !found);
    ck_assert(
        schema_check_grants(tried.owner, &grants, &tried.err) &&
        schema_has_role(tried.owner, SCHEMA_RESPONDER, &found, &tried.err) &&
        schema_find_members(tried.owner, SCHEMA_RESPONDER, missing, sizeof missing, &tried.err));
    ck_assert(!account_find_only(tried.owner, id, &version, &tried.err));
    ck_assert(!principal_find_only(tried.owner, text_of("x"), id, &version, &tried.err));
    find_by_name();
    ck_assert(api_key_list(tried.owner, text_of(NULL), &result, &tried.err));
    pg_result_free(result);
    ck_assert(account_list(tried.owner, &result, &tried.err));
    pg_result_free(result);
    ck_assert(principal_list(tried.owner, "user", &result, &tried.err));
    pg_result_free(result);
    unknown.caller.digest[0] ^= 1;
    unknown.caller.account_id[0] = '\0';
    nodes_place(tried.owner, true);
    ck_assert(store_find_account(tried.store, &unknown.caller, &tried.err));
    nodes_place(tried.owner, false);
    tried_issue(tried.who.member, true, 0, id);
    ck_assert(
        api_key_revoke(tried.owner, text_of(id), text_of(tried.who.account[1]), &gone, &tried.err));
    ck_assert(!gone.found);
    ck_assert(
        api_key_revoke(tried.owner, text_of(id), text_of(tried.who.account[0]), &gone, &tried.err));
    ck_assert(gone.found);
    tried_issue(tried.who.other_admin, true, 0, id);
    ck_assert(api_key_revoke_all(tried.owner, text_of(tried.who.other_admin), text_of(NULL), &found,
                                 &n_revoked, &tried.err));
    ck_assert(found && n_revoked > 0);
    about_people();
    write_not_quickly();
    rekey_and_purge();
    gateway_reads();
    gate_asks();
    gate_is_reviewed();
    credential_pages();
    document_statements();
    history_run_statements(tried.owner);
    migrate_in_vain();
    cases_run("statements.cases", check_statement);
    ck_assert_int_eq(database_number(tried.owner, "SELECT count(*) - 2"
                                                  " FROM pg_catalog.pg_prepared_statements"),
                     n_statements);
    ck_assert_int_le(n_statements, PG_MAX_PREPARED);
    check_texts();
    store_free(tried.store);
    tried.store = saved;
}
END_TEST

Suite *statements_suite(void)
{
    Suite *suite = suite_create("store/statements");
    TCase *tcase = tcase_create("statements");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, tried_set_up, tried_tear_down);
    tcase_add_test(tcase, statements_of_case_file);
    suite_add_tcase(suite, tcase);
    return suite;
}
