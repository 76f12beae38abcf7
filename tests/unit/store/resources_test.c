/* SPDX-License-Identifier: MIT */
/* Tests of how the store keeps the three resources, on a real PostgreSQL. */
#include <check.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/account.h"
#include "store/tried.h"
#include "suites.h"

START_TEST(the_only_account)
{
    char id[IDENT_SIZE];
    int n;

    database_run(tried.owner,
                 "DELETE FROM adit.api_key WHERE account_id <> (SELECT min(id) FROM adit.account);"
                 " DELETE FROM adit.principal"
                 " WHERE account_id <> (SELECT min(id) FROM adit.account);"
                 " DELETE FROM adit.account WHERE id <> (SELECT min(id) FROM adit.account)");
    memset(id, 'x', sizeof id);
    ck_assert(account_find_only(tried.owner, id, &n, &tried.err));
    ck_assert_int_eq(n, 1);
    ck_assert_uint_eq(strnlen(id, sizeof id), strlen(tried.who.account[0]));
}
END_TEST

/* ---- credentials ---- */

START_TEST(credential_of_every_column)
{
    struct text rules[] = {
        {.s = "*", .len = 1}, {.s = "a=\"\\,{}", .len = 7}, {.s = "NULL", .len = 4}};
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct ssh_credential_list list;

    input.description = text_of("d'");
    input.metadata = text_of("{\"m\":1}");
    input.acl = (struct text_list){.items = rules, .n = 3, .given = true};
    ck_assert_msg(tried_create(&tried.admin, TRIED_ID("1"), &input, &list), "%s", tried.err.cause);
    for (int i = 0; i < 2; i++) {
        const struct ssh_credential *credential = &list.items[0];

        ck_assert_uint_eq(list.n, 1);
        tried_expect_text(credential->id, TRIED_ID("1"));
        ck_assert_int_lt(llabs((long long)(credential->created_at - clock_wall_ms() / 1000)), 60);
        tried_expect_text(credential->description, "d'");
        tried_expect_text(credential->metadata, "{\"m\":1}");
        tried_expect_text(credential->public_key, "the key \xC3\xA9\n");
        tried_expect_text(credential->owner_id, tried.who.admin);
        ck_assert(credential->acl.given && credential->acl.n == 3);
        for (size_t j = 0; j < 3; j++)
            ck_assert(text_eq(credential->acl.items[j], rules[j]));
        ssh_credential_list_free(&list);
        ck_assert_msg(i || tried_get(&tried.member, TRIED_ID("1"), &list), "%s", tried.err.cause);
    }
    ck_assert_int_eq(database_number(tried.owner,
                                     "SELECT count(*) FROM adit.ssh_credential"
                                     " WHERE key_type = '" TRIED_TYPE "'"
                                     " AND fingerprint = '" TRIED_FINGERPRINT("0") "'"),
                     1);
}
END_TEST

START_TEST(credential_with_nothing_set)
{
    struct ssh_credential_list list;

    tried_have(&tried.member, TRIED_ID("1"));
    ck_assert(tried_get(&tried.admin, TRIED_ID("1"), &list));
    tried_expect_text(list.items[0].description, "");
    tried_expect_text(list.items[0].metadata, "");
    tried_expect_text(list.items[0].owner_id, tried.who.member);
    ck_assert(list.items[0].acl.given && list.items[0].acl.n == 0);
    ssh_credential_list_free(&list);
}
END_TEST

START_TEST(credential_changed_and_deleted)
{
    struct text rule = text_of("bind:a");
    struct ssh_credential input = {.description = text_of("d"),
                                   .acl = {.items = &rule, .n = 1, .given = true}};
    struct ssh_credential_list list;

    tried_have(&tried.admin, TRIED_ID("1"));
    tried_have(&tried.admin, TRIED_ID("2"));
    ck_assert(store_ssh_credential_update(tried.store, &tried.member, text_of(TRIED_ID("1")),
                                          &input, &list, &tried.err));
    tried_expect_text(list.items[0].description, "d");
    tried_expect_text(list.items[0].metadata, "");
    tried_expect_text(list.items[0].public_key, "the key \xC3\xA9\n");
    ck_assert_uint_eq(list.items[0].acl.n, 1);
    ssh_credential_list_free(&list);
    /* Absent members stay, empty ones are cleared. */
    input = (struct ssh_credential){.description = text_of(""), .metadata = text_of("m")};
    ck_assert(store_ssh_credential_update(tried.store, &tried.admin, text_of(TRIED_ID("1")), &input,
                                          &list, &tried.err));
    tried_expect_text(list.items[0].description, "");
    tried_expect_text(list.items[0].metadata, "m");
    ck_assert_uint_eq(list.items[0].acl.n, 1);
    ssh_credential_list_free(&list);
    input = (struct ssh_credential){.acl = {.given = true}};
    ck_assert(store_ssh_credential_update(tried.store, &tried.admin, text_of(TRIED_ID("1")), &input,
                                          &list, &tried.err));
    ck_assert_uint_eq(list.items[0].acl.n, 0);
    ssh_credential_list_free(&list);
    ck_assert(tried_get(&tried.admin, TRIED_ID("2"), &list));
    tried_expect_text(list.items[0].metadata, "");
    ssh_credential_list_free(&list);
    ck_assert(store_ssh_credential_delete(tried.store, &tried.member, text_of(TRIED_ID("1")),
                                          &tried.err));
    ck_assert(!store_ssh_credential_delete(tried.store, &tried.member, text_of(TRIED_ID("1")),
                                           &tried.err));
    ck_assert_int_eq(tried.err.code, ERR_CREDENTIAL_NOT_FOUND);
    ck_assert(!tried_get(&tried.admin, TRIED_ID("1"), &list));
    ck_assert_int_eq(tried.err.code, ERR_CREDENTIAL_NOT_FOUND);
    ssh_credential_list_free(&list);
    ck_assert(!store_ssh_credential_update(tried.store, &tried.admin, text_of(TRIED_ID("1")),
                                           &input, &list, &tried.err));
    ck_assert_int_eq(tried.err.code, ERR_CREDENTIAL_NOT_FOUND);
    ssh_credential_list_free(&list);
    ck_assert(tried_get(&tried.admin, TRIED_ID("2"), &list));
    ssh_credential_list_free(&list);
}
END_TEST

START_TEST(owners)
{
    const struct {
        const struct store_request *request;
        const char *owner_id;
        enum error_code code;
    } cases[] = {
        {&tried.admin, tried.who.admin, ERR_NONE},
        {&tried.admin, tried.who.member, ERR_NONE},
        {&tried.admin, tried.who.other_admin, ERR_OWNER_UNKNOWN},
        {&tried.admin, "usr_x", ERR_OWNER_UNKNOWN},
        {&tried.member, tried.who.member, ERR_NONE},
        {&tried.member, tried.who.admin, ERR_NOT_ADMIN},
        {&tried.member, tried.who.other_admin, ERR_NOT_ADMIN},
        {&tried.member, "usr_x", ERR_NOT_ADMIN},
        {&tried.other, tried.who.admin, ERR_OWNER_UNKNOWN},
        {&tried.reader, tried.who.admin, ERR_KEY_READ_ONLY},
        {&tried.reader, "usr_x", ERR_KEY_READ_ONLY},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
        struct ssh_credential_list list;
        char id[] = TRIED_ID("0");

        id[sizeof id - 2] = (char)('a' + i);
        input.owner_id = text_of(cases[i].owner_id);
        ck_assert_msg(tried_create(cases[i].request, id, &input, &list) ==
                          (cases[i].code == ERR_NONE),
                      "case %zu", i);
        ck_assert_msg(tried.err.code == cases[i].code, "case %zu: %s", i,
                      error_row(tried.err.code)->symbol);
        if (list.n)
            tried_expect_text(list.items[0].owner_id, cases[i].owner_id);
        ssh_credential_list_free(&list);
    }
}
END_TEST

/* Creates a credential with an estimate of the database's clock that is off by these days.  What is
 * then estimated may be ahead by as long as this took, so the next call waits for that. */
static void create_days_off(int days, char id[IDENT_SIZE])
{
    static int64_t took_ms;
    int64_t since_ms;
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct ssh_credential_list list;

    poll(NULL, 0, 50 + (int)took_ms);
    since_ms = clock_steady_ms();
    pg_note_time(tried.responder, clock_wall_us() + days * INT64_C(24) * 3600 * 1000000);
    ck_assert_msg(store_ssh_credential_create(tried.store, &tried.admin, &input, &list, &tried.err),
                  "%s", tried.err.cause);
    took_ms = clock_steady_ms() - since_ms;
    ck_assert_uint_lt(list.items[0].id.len, IDENT_SIZE);
    memcpy(id, list.items[0].id.s, list.items[0].id.len + 1);
    ssh_credential_list_free(&list);
}

/* The estimate may be wrong after days on a session, or after a clock was set. */
START_TEST(identifiers_follow_the_database)
{
    static const int days[] = {0, -1, 1, 0, 1, -1, 0};
    char older[IDENT_SIZE] = "";
    char newer[IDENT_SIZE];

    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        create_days_off(days[i], newer);
        ck_assert_msg(strcmp(newer, older) > 0, "%zu: %s, %s", i, older, newer);
        memcpy(older, newer, sizeof older);
    }
}
END_TEST

START_TEST(list_in_pages)
{
    static const char *const ids[] = {TRIED_ID("A"), TRIED_ID("1"), TRIED_ID("a"), TRIED_ID("B"),
                                      TRIED_ID("0")};
    static const char *const sorted[] = {TRIED_ID("a"), TRIED_ID("B"), TRIED_ID("A"), TRIED_ID("1"),
                                         TRIED_ID("0")};
    struct ssh_credential_page boundary = tried_all;
    struct ssh_credential_list list;

    ck_assert(store_ssh_credential_list(tried.store, &tried.reader, &tried_all, &list, &tried.err));
    ck_assert(list.n == 0 && !list.more);
    ssh_credential_list_free(&list);
    tried_have(&tried.other, TRIED_ID("C"));
    for (size_t i = 0; i < 5; i++)
        tried_have(&tried.admin, ids[i]);
    for (int limit = 1; limit <= 6; limit++) {
        struct ssh_credential_page page = {.limit = limit, .most_bytes = SIZE_MAX};
        size_t n = 0;
        bool more = true;

        while (more) {
            ck_assert(
                store_ssh_credential_list(tried.store, &tried.reader, &page, &list, &tried.err));
            ck_assert_uint_gt(list.n, 0);
            ck_assert_uint_le(list.n, (size_t)limit);
            for (size_t i = 0; i < list.n; i++)
                tried_expect_text(list.items[i].id, sorted[n++]);
            more = list.more;
            page.before_id = text_of(sorted[n - 1]);
            ssh_credential_list_free(&list);
        }
        ck_assert_uint_eq(n, 5);
    }
    /* Boundaries that match no credential: before all and after all. */
    boundary.before_id = text_of("~");
    ck_assert(store_ssh_credential_list(tried.store, &tried.admin, &boundary, &list, &tried.err));
    ck_assert_uint_eq(list.n, 5);
    ssh_credential_list_free(&list);
    boundary.before_id = text_of("-");
    ck_assert(store_ssh_credential_list(tried.store, &tried.admin, &boundary, &list, &tried.err));
    ck_assert_uint_eq(list.n, 0);
    ssh_credential_list_free(&list);
}
END_TEST

START_TEST(unique_public_keys)
{
    struct ssh_credential input = tried_input(TRIED_FINGERPRINT("0"));
    struct ssh_credential_list list;

    tried_run_file("optional/unique_public_keys.sql");
    tried_have(&tried.admin, TRIED_ID("1"));
    ck_assert(!tried_create(&tried.member, TRIED_ID("2"), &input, &list));
    ck_assert_int_eq(tried.err.code, ERR_PUBLIC_KEY_EXISTS);
    ssh_credential_list_free(&list);
    tried_have(&tried.other, TRIED_ID("3"));
    input = tried_input(TRIED_FINGERPRINT("1"));
    ck_assert(tried_create(&tried.member, TRIED_ID("2"), &input, &list));
    ssh_credential_list_free(&list);
}
END_TEST

/* ---- modules ---- */

static void expect_only(const struct text_list *list, const char *wanted)
{
    ck_assert(list->given && list->n == 1);
    tried_expect_text(list->items[0], wanted);
}

START_TEST(oauth_module_of_every_column)
{
    struct text items[5];
    struct oauth_module module = tried_full_module(items);
    struct oauth_module found;

    ck_assert(!tried_get_oauth(&tried.admin, &found));
    ck_assert_int_eq(tried.err.code, ERR_OAUTH_NOT_FOUND);
    ck_assert_msg(tried_put_oauth(&tried.admin, &module), "%s", tried.err.cause);
    ck_assert_msg(tried_get_oauth(&tried.admin, &found), "%s", tried.err.cause);
    ck_assert(found.enabled && found.options_passthrough);
    ck_assert_int_eq(found.provider, 1);
    tried_expect_text(found.config.client_id, "i");
    tried_expect_text(found.config.client_secret.plain, TRIED_SECRET);
    expect_only(&found.config.scopes, "scope");
    expect_only(&found.config.email_addresses, "address");
    expect_only(&found.config.email_domains, "domain");
    expect_only(&found.config.teams, "team");
    expect_only(&found.config.organizations, "organization");
    tried_expect_text(found.cookie_prefix, "c.");
    ck_assert_uint_eq(found.inactivity_timeout, 1);
    ck_assert_uint_eq(found.maximum_duration, UINT32_MAX);
    ck_assert_uint_eq(found.auth_check_interval, 3);
}
END_TEST

/* A read-only key gets no error for a damaged secret, since the store does not open it. */
START_TEST(secret_is_not_for_a_read_only_key)
{
    struct text items[5];
    struct oauth_module module = tried_full_module(items);
    struct oauth_module found;

    ck_assert(tried_put_oauth(&tried.admin, &module));
    for (int broken = 0; broken < 2; broken++) {
        ck_assert_msg(tried_get_oauth(&tried.reader, &found), "%s", tried.err.cause);
        tried_expect_text(found.config.client_id, "i");
        ck_assert_ptr_null(found.config.client_secret.plain.s);
        expect_only(&found.config.teams, "team");
        ck_assert_int_eq(found.revision, module.revision);
        database_run(tried.owner, "UPDATE adit.oauth_module SET client_secret_key_id = 'gone'");
        ck_assert(tried_get_oauth(&tried.admin, &found) == false);
        module.revision =
            database_number(tried.owner, "SELECT max(revision) FROM adit.oauth_module");
    }
}
END_TEST

START_TEST(oauth_module_replaced_and_deleted)
{
    struct text items[5];
    struct oauth_module module = tried_full_module(items);
    struct oauth_module found;

    ck_assert(tried_put_oauth(&tried.admin, &module));
    module = (struct oauth_module){.enabled = false};
    ck_assert_msg(tried_put_oauth(&tried.member, &module), "%s", tried.err.cause);
    ck_assert(tried_get_oauth(&tried.admin, &found));
    ck_assert(!found.enabled && !found.options_passthrough && found.provider == 0);
    ck_assert(!found.config.client_id.s && !found.config.client_secret.plain.s);
    ck_assert(found.config.scopes.n == 0 && found.config.teams.n == 0);
    ck_assert_ptr_null(found.cookie_prefix.s);
    ck_assert_uint_eq(found.maximum_duration, 0);
    /* A delete by another account changes nothing.  A repeated delete succeeds. */
    ck_assert(store_resource_delete(tried.store, &tried.other, RESOURCE_OAUTH_MODULE, &tried_route,
                                    &tried.err));
    ck_assert(tried_get_oauth(&tried.admin, &found));
    ck_assert(store_resource_delete(tried.store, &tried.member, RESOURCE_OAUTH_MODULE, &tried_route,
                                    &tried.err));
    ck_assert(!tried_get_oauth(&tried.admin, &found));
    ck_assert(store_resource_delete(tried.store, &tried.member, RESOURCE_OAUTH_MODULE, &tried_route,
                                    &tried.err));
}
END_TEST

/* The schema has room for providers of later programs. */
START_TEST(provider_that_has_no_row)
{
    struct oauth_module module = {.enabled = true, .provider = PROVIDER_FACEBOOK};
    struct oauth_module found;

    ck_assert(tried_put_oauth(&tried.admin, &module));
    database_run(tried.owner, "UPDATE adit.oauth_module SET provider = 32");
    ck_assert_msg(tried_get_oauth(&tried.admin, &found), "%s", tried.err.cause);
    ck_assert_int_eq(found.provider, 0);
}
END_TEST

START_TEST(secret_at_rest)
{
    struct text items[5];
    struct oauth_module module = tried_full_module(items);
    struct oauth_module found;

    ck_assert(tried_put_oauth(&tried.admin, &module));
    ck_assert_int_eq(database_number(tried.owner, "SELECT count(*) FROM adit.oauth_module AS m"
                                                  " WHERE m::text LIKE '%hush%'"
                                                  " OR position('hush'::bytea IN"
                                                  " m.client_secret_sealed) > 0"),
                     0);
    ck_assert_int_eq(database_number(tried.owner,
                                     "SELECT octet_length(client_secret_sealed)::bigint"
                                     " FROM adit.oauth_module"),
                     (int)strlen(TRIED_SECRET) + CRYPT_SEAL_OVERHEAD);
    /* A secret moved to another provider, route or account does not open. */
    database_run(tried.owner, "UPDATE adit.oauth_module SET teams = '{}', organizations = '{}',"
                              " provider = 2");
    ck_assert(!tried_get_oauth(&tried.admin, &found));
    ck_assert_int_eq(tried.err.code, ERR_SECRET_UNREADABLE);
    database_run(tried.owner, "UPDATE adit.oauth_module SET provider = 1");
    ck_assert(tried_get_oauth(&tried.admin, &found));
    database_run(tried.owner, "UPDATE adit.oauth_module AS m SET account_id ="
                              " (SELECT a.id FROM adit.account AS a WHERE a.id <> m.account_id)");
    ck_assert(!tried_get_oauth(&tried.other, &found));
    ck_assert_int_eq(tried.err.code, ERR_SECRET_UNREADABLE);
    ck_assert_ptr_null(strstr(tried.err.cause, "hush"));
}
END_TEST

/* The store guesses a secret's account from earlier requests.  The account is right for the first
 * request, and after requests of other accounts. */
START_TEST(secret_for_the_right_account)
{
    struct text items[5];
    struct oauth_module module = tried_full_module(items);
    struct oauth_module found;
    const struct store_request *requests[] = {&tried.other, &tried.admin, &tried.member,
                                              &tried.other, &tried.admin};

    for (size_t i = 0; i < 5; i++) {
        ck_assert_msg(tried_put_oauth(requests[i], &module), "%s", tried.err.cause);
        ck_assert_msg(tried_get_oauth(requests[i], &found), "%s", tried.err.cause);
        tried_expect_text(found.config.client_secret.plain, TRIED_SECRET);
    }
    /* Fill the cache of accounts with keys of both. */
    for (int i = 0; i < 100; i++) {
        struct store_request key =
            tried_issue(i % 2 ? tried.who.admin : tried.who.other_admin, false, 0, NULL);

        ck_assert_msg(tried_put_oauth(&key, &module), "%s", tried.err.cause);
        ck_assert_msg(tried_get_oauth(i % 2 ? &tried.member : &tried.other, &found), "%s",
                      tried.err.cause);
    }
    ck_assert_int_eq(database_number(tried.owner, "SELECT count(*) FROM adit.oauth_module"), 2);
}
END_TEST

START_TEST(mutual_tls_module_from_birth_to_death)
{
    struct text ids[] = {{.s = "z", .len = 1}, {.s = "a", .len = 1}};
    struct mutual_tls_module module = {
        .enabled = true, .certificate_authority_ids = {.items = ids, .n = 2, .given = true}};
    struct mutual_tls_module found;

    ck_assert(!tried_get_mutual_tls(&tried.admin, &found));
    ck_assert_int_eq(tried.err.code, ERR_MUTUAL_TLS_NOT_FOUND);
    ck_assert_msg(store_resource_put(tried.store, &tried.admin, RESOURCE_MUTUAL_TLS_MODULE,
                                     &tried_edge, &module, &tried.err),
                  "%s", tried.err.cause);
    ck_assert(tried_get_mutual_tls(&tried.reader, &found));
    ck_assert(found.enabled && found.certificate_authority_ids.n == 2);
    tried_expect_text(found.certificate_authority_ids.items[0], "z");
    tried_expect_text(found.certificate_authority_ids.items[1], "a");
    module = (struct mutual_tls_module){.certificate_authority_ids = {.given = true}};
    ck_assert(store_resource_put(tried.store, &tried.member, RESOURCE_MUTUAL_TLS_MODULE,
                                 &tried_edge, &module, &tried.err));
    ck_assert(tried_get_mutual_tls(&tried.admin, &found));
    ck_assert(!found.enabled && found.certificate_authority_ids.n == 0);
    ck_assert(!tried_get_mutual_tls(&tried.other, &found));
    ck_assert(store_resource_delete(tried.store, &tried.other, RESOURCE_MUTUAL_TLS_MODULE,
                                    &tried_edge, &tried.err));
    ck_assert(tried_get_mutual_tls(&tried.admin, &found));
    ck_assert(store_resource_delete(tried.store, &tried.admin, RESOURCE_MUTUAL_TLS_MODULE,
                                    &tried_edge, &tried.err));
    ck_assert(!tried_get_mutual_tls(&tried.admin, &found));
    ck_assert(store_resource_delete(tried.store, &tried.admin, RESOURCE_MUTUAL_TLS_MODULE,
                                    &tried_edge, &tried.err));
}
END_TEST

static void add_credentials(Suite *suite, const char *name, SFun set_up_case)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up_case, tried_tear_down);
    tcase_add_test(tcase, the_only_account);
    tcase_add_test(tcase, credential_of_every_column);
    tcase_add_test(tcase, credential_with_nothing_set);
    tcase_add_test(tcase, credential_changed_and_deleted);
    tcase_add_test(tcase, owners);
    tcase_add_test(tcase, identifiers_follow_the_database);
    tcase_add_test(tcase, list_in_pages);
    tcase_add_test(tcase, unique_public_keys);
    suite_add_tcase(suite, tcase);
}

static void add_modules(Suite *suite, const char *name, SFun set_up_case)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up_case, tried_tear_down);
    tcase_add_test(tcase, oauth_module_of_every_column);
    tcase_add_test(tcase, secret_is_not_for_a_read_only_key);
    tcase_add_test(tcase, oauth_module_replaced_and_deleted);
    tcase_add_test(tcase, provider_that_has_no_row);
    tcase_add_test(tcase, secret_at_rest);
    tcase_add_test(tcase, secret_for_the_right_account);
    tcase_add_test(tcase, mutual_tls_module_from_birth_to_death);
    suite_add_tcase(suite, tcase);
}

Suite *resources_suite(void)
{
    Suite *suite = suite_create("store/resources");

    add_credentials(suite, "credentials", tried_set_up);
    add_credentials(suite, "distributed credentials", tried_set_up_distributed);
    add_modules(suite, "modules", tried_set_up);
    add_modules(suite, "distributed modules", tried_set_up_distributed);
    return suite;
}
