/* SPDX-License-Identifier: MIT */
/* Runs every operation of callers. */
#include "store/callers.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "store/audit_event.h"
#include "store/ssh_decision.h"
#include "store/tried.h"

static bool op_authenticate(const struct store_request *request)
{
    return store_authenticate(tried.store, request, &tried.err);
}

static bool op_authorize_to_read(const struct store_request *request)
{
    return store_authorize(tried.store, request, false, &tried.err);
}

/* Writes and decisions run as on their routes; reads as tried_issue() says. */
struct store_request callers_on_route(const struct store_request *request, unsigned keys)
{
    struct store_request asking = *request;

    asking.keys = keys;
    return asking;
}

static bool op_authorize_to_write(const struct store_request *request)
{
    struct store_request asking = callers_on_route(request, KEYS_WRITE);

    return store_authorize(tried.store, &asking, true, &tried.err);
}

static bool op_create(const struct store_request *request)
{
    static char digit = 'b';
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct store_request asking = callers_on_route(request, KEYS_WRITE_OWN);
    struct ssh_credential_list list;
    char id[] = TRIED_ID("0");
    bool ok;

    id[sizeof id - 2] = digit++;
    ok = tried_create(&asking, id, &input, &list);
    ssh_credential_list_free(&list);
    return ok;
}

bool callers_create_once(const struct store_request *request)
{
    struct store_request once = *request;

    once.once = (struct once){.key = text_of("a key")};
    return op_create(&once);
}

bool callers_get(const struct store_request *request)
{
    struct ssh_credential_list list;
    bool ok = tried_get(request, TRIED_ID("1"), &list);

    ssh_credential_list_free(&list);
    return ok;
}

bool callers_update(const struct store_request *request)
{
    struct ssh_credential input = {.description = text_of("changed")};
    struct ssh_credential_list list = {0};
    struct store_request asking = callers_on_route(request, KEYS_WRITE_OWN);
    bool ok = store_ssh_credential_update(tried.store, &asking, text_of(TRIED_ID("1")), &input,
                                          &list, &tried.err);

    ssh_credential_list_free(&list);
    return ok;
}

bool callers_delete(const struct store_request *request)
{
    struct store_request asking = callers_on_route(request, KEYS_WRITE_OWN);

    return store_ssh_credential_delete(tried.store, &asking, text_of(TRIED_ID("2")), &tried.err);
}

bool callers_list(const struct store_request *request)
{
    struct ssh_credential_list list = {0};
    bool ok = store_ssh_credential_list(tried.store, request, &tried_all, &list, &tried.err);

    ssh_credential_list_free(&list);
    return ok;
}

static const struct filter_node *parse_filter(const char *source,
                                              const struct filter_member *members)
{
    const struct filter_node *filter;

    ck_assert_msg(filter_parse(text_of(source), members, 0, &tried.arena, &filter, &tried.err),
                  "%s: %s", source, tried.err.msg);
    return filter;
}

static bool list_filtered(const struct store_request *request, const char *source)
{
    const struct ssh_credential_page page = {
        .limit = 100,
        .most_bytes = SIZE_MAX,
        .filter = parse_filter(source, ssh_credential_filter_members)};
    struct ssh_credential_list list = {0};
    bool ok = store_ssh_credential_list(tried.store, request, &page, &list, &tried.err);

    ssh_credential_list_free(&list);
    return ok;
}

static bool op_list_of_owner(const struct store_request *request)
{
    char source[64];

    snprintf(source, sizeof source, "obj.owner_id == '%s'", tried.who.admin);
    return list_filtered(request, source);
}

static bool op_list_filtered(const struct store_request *request)
{
    return list_filtered(request, "obj.created_at > timestamp('2001-01-01T00:00:00Z') &&"
                                  " obj.created_at < timestamp('2101-01-01T00:00:00Z') &&"
                                  " obj.description.contains('')");
}

static bool decide(const struct store_request *request, const char *fingerprint)
{
    struct store_request asking = callers_on_route(request, KEYS_ASK);
    struct ssh_grant_list list = {0};
    bool ok;

    ok = store_ssh_decision_find(tried.store, &asking, text_of(fingerprint), &list, &tried.err);
    ssh_grant_list_free(&list);
    return ok;
}

bool callers_decide(const struct store_request *request)
{
    return decide(request, TRIED_FINGERPRINT("0"));
}

bool callers_decide_many(const struct store_request *request)
{
    return decide(request, TRIED_FINGERPRINT("9"));
}

bool callers_oauth_put(const struct store_request *request)
{
    struct text items[5];
    struct oauth_module module = tried_full_module(items);
    struct store_request asking = callers_on_route(request, KEYS_WRITE);

    return tried_put_oauth(&asking, &module);
}

static bool op_oauth_put_without_secret(const struct store_request *request)
{
    struct oauth_module module = {.enabled = true};
    struct store_request asking = callers_on_route(request, KEYS_WRITE);

    return tried_put_oauth(&asking, &module);
}

static bool op_oauth_get(const struct store_request *request)
{
    struct oauth_module module;

    return tried_get_oauth(request, &module);
}

static bool op_oauth_delete(const struct store_request *request)
{
    struct store_request asking = callers_on_route(request, KEYS_WRITE);

    return store_resource_delete(tried.store, &asking, RESOURCE_OAUTH_MODULE, &tried_route,
                                 &tried.err);
}

static bool list_oauth(const struct store_request *request, const struct filter_node *filter)
{
    static const struct oauth_names names = {.providers = {"a", "b", "c", "d", "e", "f", "g", "h"}};
    static const enum oauth_application applications[OAUTH_N_PROVIDERS];
    const struct resource_page page = {.limit = 1,
                                       .most_bytes = SIZE_MAX,
                                       .filter = filter,
                                       .names = &names,
                                       .applications = applications};
    struct resource_list list;

    return store_resource_list(tried.store, request, RESOURCE_OAUTH_MODULE, &page, &list,
                               &tried.err);
}

static bool op_oauth_list(const struct store_request *request)
{
    return list_oauth(request, NULL);
}

static bool op_oauth_list_filtered(const struct store_request *request)
{
    return list_oauth(request, parse_filter("obj.provider != 'x' && obj.admits != 'x'",
                                            store_resource_filter(RESOURCE_OAUTH_MODULE)));
}

bool callers_mutual_tls_put(const struct store_request *request)
{
    struct mutual_tls_module module = {.certificate_authority_ids = {.given = true}};
    struct store_request asking = callers_on_route(request, KEYS_WRITE);

    return store_resource_put(tried.store, &asking, RESOURCE_MUTUAL_TLS_MODULE, &tried_edge,
                              &module, &tried.err);
}

static bool op_mutual_tls_get(const struct store_request *request)
{
    struct mutual_tls_module module;

    return tried_get_mutual_tls(request, &module);
}

static bool list_mutual_tls(const struct store_request *request, const struct filter_node *filter)
{
    const struct resource_page page = {.limit = 1, .most_bytes = SIZE_MAX, .filter = filter};
    struct resource_list list;

    return store_resource_list(tried.store, request, RESOURCE_MUTUAL_TLS_MODULE, &page, &list,
                               &tried.err);
}

static bool op_mutual_tls_list(const struct store_request *request)
{
    return list_mutual_tls(request, NULL);
}

static bool op_mutual_tls_list_filtered(const struct store_request *request)
{
    return list_mutual_tls(
        request, parse_filter("obj.enabled", store_resource_filter(RESOURCE_MUTUAL_TLS_MODULE)));
}

static bool op_mutual_tls_delete(const struct store_request *request)
{
    struct store_request asking = callers_on_route(request, KEYS_WRITE);

    return store_resource_delete(tried.store, &asking, RESOURCE_MUTUAL_TLS_MODULE, &tried_edge,
                                 &tried.err);
}

/* Only admins get events.  That others get none is for audit_events_are_for_admins. */
static bool list_audit(const struct store_request *request, const struct filter_node *filter)
{
    const struct audit_event_page page = {
        .before = INT64_MAX, .limit = 1, .most_bytes = SIZE_MAX, .filter = filter};
    struct audit_event_list list = {0};
    bool ok = store_audit_event_list(tried.store, request, &page, &list, &tried.err);

    audit_event_list_free(&list);
    return ok || tried.err.code == ERR_AUDIT_NOT_ADMIN;
}

bool callers_audit_event_list(const struct store_request *request)
{
    return list_audit(request, NULL);
}

bool callers_audit_event_list_filtered(const struct store_request *request)
{
    return list_audit(request, parse_filter("obj.event != 'x'", audit_event_filter_members));
}

/* An event of the first account. */
static int64_t event_number;

static void find_event(void)
{
    /* Another connection: a test counts the statements of the owner's. */
    struct pg *pg = tried_connect();
    static char sql[128];

    snprintf(sql, sizeof sql,
             "SELECT max(e.id) FROM adit.audit_event AS e WHERE e.account_id = '%s'",
             tried.who.account[0]);
    event_number = database_number(pg, sql);
    pg_free(pg);
}

bool callers_audit_get(const struct store_request *request)
{
    struct audit_event_list list = {0};
    bool ok = store_audit_event_get(tried.store, request, event_number, &list, &tried.err);

    audit_event_list_free(&list);
    return ok || tried.err.code == ERR_AUDIT_NOT_ADMIN;
}

/* Ordered so that each operation finds what it needs. */
const struct callers_operation callers_operations[] = {
    {op_authenticate, false, ~0U, false},
    {op_authorize_to_read, false, KEYS_READ, false},
    {op_authorize_to_write, true, KEYS_WRITE, false},
    {op_create, true, KEYS_WRITE_OWN, false},
    {callers_create_once, true, KEYS_WRITE_OWN, false},
    {callers_get, false, KEYS_READ, true},
    {callers_update, true, KEYS_WRITE_OWN, true},
    {callers_list, false, KEYS_READ, true},
    {op_list_of_owner, false, KEYS_READ, true},
    {op_list_filtered, false, KEYS_READ, true},
    {callers_delete, true, KEYS_WRITE_OWN, true},
    {callers_decide, false, KEYS_ASK, true},
    {callers_decide_many, false, KEYS_ASK, true},
    {callers_oauth_put, true, KEYS_WRITE, false},
    {op_oauth_get, false, KEYS_READ, true},
    {op_oauth_list, false, KEYS_READ, true},
    {op_oauth_list_filtered, false, KEYS_READ, true},
    {op_oauth_put_without_secret, true, KEYS_WRITE, false},
    {op_oauth_delete, true, KEYS_WRITE, true},
    {callers_mutual_tls_put, true, KEYS_WRITE, false},
    {op_mutual_tls_get, false, KEYS_READ, true},
    {op_mutual_tls_list, false, KEYS_READ, true},
    {op_mutual_tls_list_filtered, false, KEYS_READ, true},
    {op_mutual_tls_delete, true, KEYS_WRITE, true},
    {callers_audit_event_list, false, KEYS_READ, true},
    {callers_audit_event_list_filtered, false, KEYS_READ, true},
    {callers_audit_get, false, KEYS_READ, true},
};

const size_t callers_n_operations = sizeof callers_operations / sizeof callers_operations[0];

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

struct store_request callers_key(enum key_kind kind, const char *principal_id)
{
    char id[34];
    struct store_request request = tried_issue(principal_id, false, 0, id);
    char sql[160];

    ck_assert(callers_create_once(&request) && callers_oauth_put(&request) &&
              callers_mutual_tls_put(&request));
    snprintf(sql, sizeof sql,
             "UPDATE adit.api_key SET scope = '%s', read_only = %s WHERE id = '%s'",
             key_kind_row(kind)->scope, key_kind_is_read_only(kind) ? "true" : "false", id);
    database_run(tried.owner, sql);
    return request;
}

enum error_code callers_forbidden(size_t i, enum key_kind kind)
{
    const struct callers_operation *operation = &callers_operations[i];

    return key_kind_forbids(kind, operation->keys, operation->writes, KEY_WHOSE_OWN);
}

void callers_expect_refusal(size_t i, const struct store_request *request, enum error_code code)
{
    int64_t before = fingerprint_of_all();

    tried.err = (struct error){.code = ERR_NONE};
    ck_assert_msg(!callers_operations[i].run(request), "operation %zu", i);
    ck_assert_msg(tried.err.code == code, "operation %zu: %s", i,
                  error_row(tried.err.code)->symbol);
    ck_assert_msg(fingerprint_of_all() == before, "operation %zu changed something", i);
}

void callers_make_needed(void)
{
    tried_have(&tried.admin, TRIED_ID("1"));
    tried_have(&tried.admin, TRIED_ID("2"));
    tried_have_many(9, TRIED_FINGERPRINT("9"), "'{}'");
    find_event();
}

void callers_run_all(const struct store_request *request)
{
    callers_make_needed();
    for (size_t i = 0; i < callers_n_operations; i++) {
        tried.err = (struct error){.code = ERR_NONE};
        ck_assert_msg(callers_operations[i].run(request), "operation %zu: %s %s", i,
                      error_row(tried.err.code)->symbol, tried.err.cause);
    }
}
