/* SPDX-License-Identifier: MIT */
/* Tests of what gateways read, on a real PostgreSQL. */
#include "store/gateway.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "model/ssh_decision.h"
#include "store/tried.h"
#include "suites.h"

#define FINGERPRINT_0 TRIED_FINGERPRINT("0")
#define FINGERPRINT_1 TRIED_FINGERPRINT("1")

static void have(const struct store_request *request, const char *id, const char *fingerprint,
                 const char *rule)
{
    struct ssh_credential input = tried_input(fingerprint);
    struct text item = text_of(rule);
    struct ssh_credential_list list;

    if (rule)
        input.acl = (struct text_list){.items = &item, .n = 1, .given = true};
    ck_assert_msg(tried_create(request, id, &input, &list), "%s", tried.err.cause);
    ssh_credential_list_free(&list);
}

static struct gateway_key key_of(const char *account_id, const char *fingerprint)
{
    return (struct gateway_key){.account_id = text_of(account_id),
                                .fingerprint = text_of(fingerprint)};
}

static bool look_up(const struct gateway_key *key, struct gateway_credentials *out)
{
    tried.err = (struct error){.code = ERR_NONE};
    return store_gateway_look_up(tried.gateway, &tried.arena, key, out, &tried.err);
}

static struct gateway_glance *glance(const struct gateway_key *keys, size_t n)
{
    struct gateway_glance *glances;

    ck_assert_msg(store_gateway_glance(tried.gateway, &tried.arena, (struct gateway_keys){keys, n},
                                       &glances, &tried.err),
                  "%s", tried.err.cause);
    return glances;
}

/* ---- credentials ---- */

START_TEST(credentials_of_a_key)
{
    const struct gateway_key keys[] = {
        key_of(tried.who.account[1], FINGERPRINT_1),
        key_of(tried.who.account[0], FINGERPRINT_1),
        key_of(tried.who.account[0], FINGERPRINT_0),
        key_of("ac_unknown", FINGERPRINT_0),
    };
    const struct gateway_glance *glances;
    struct gateway_credentials found;

    have(&tried.admin, TRIED_ID("2"), FINGERPRINT_0, "bind:\"\\{,}:1");
    have(&tried.member, TRIED_ID("1"), FINGERPRINT_0, NULL);
    have(&tried.other, TRIED_ID("3"), FINGERPRINT_0, "bind:other:1");
    have(&tried.other, TRIED_ID("4"), FINGERPRINT_1, "bind:other:2");
    glances = glance(keys, 4);
    ck_assert_msg(look_up(&keys[0], &found), "%s", tried.err.cause);
    ck_assert_uint_eq(found.n, 1);
    ck_assert(!found.is_over);
    tried_expect_text(found.items[0].id, TRIED_ID("4"));
    tried_expect_text(found.account_id, tried.who.account[1]);
    ck_assert_uint_eq(found.items[0].acl.n, 1);
    tried_expect_text(found.items[0].acl.items[0], "bind:other:2");
    ck_assert_uint_eq(glances[0].n, 1);
    ck_assert(text_eq(found.digest, glances[0].digest));
    /* Of two owners, it has the rules. */
    tried_expect_text(glances[2].owner_id, tried.who.admin);
    ck_assert_ptr_null(glances[1].owner_id.s);
    ck_assert(look_up(&keys[1], &found));
    ck_assert_uint_eq(found.n, 0);
    ck_assert_uint_eq(glances[1].n, 0);
    ck_assert(look_up(&keys[2], &found));
    ck_assert_uint_eq(found.n, 2);
    tried_expect_text(found.items[0].id, TRIED_ID("1"));
    ck_assert_uint_eq(found.items[0].acl.n, 0);
    tried_expect_text(found.items[1].id, TRIED_ID("2"));
    tried_expect_text(found.items[1].acl.items[0], "bind:\"\\{,}:1");
    ck_assert_uint_eq(glances[2].n, 2);
    ck_assert(text_eq(found.digest, glances[2].digest));
    ck_assert_uint_eq(glances[3].n, 0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(glances[i].n_accounts, i < 3);
}
END_TEST

/* A glance shows each change. */
START_TEST(digests)
{
    const struct gateway_key key = key_of(tried.who.account[0], FINGERPRINT_0);
    const char *const changes[] = {
        "UPDATE adit.ssh_credential SET acl = '{bind:a}' WHERE id = '" TRIED_ID("1") "'",
        "UPDATE adit.ssh_credential SET acl = '{bind:b}' WHERE id = '" TRIED_ID("1") "'",
        "DELETE FROM adit.ssh_credential WHERE id = '" TRIED_ID("2") "'",
        "DELETE FROM adit.ssh_credential WHERE id = '" TRIED_ID("1") "'"};
    struct text before, after;

    have(&tried.admin, TRIED_ID("1"), FINGERPRINT_0, NULL);
    have(&tried.admin, TRIED_ID("2"), FINGERPRINT_0, NULL);
    before = glance(&key, 1)->digest;
    ck_assert(text_eq(before, glance(&key, 1)->digest));
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        database_run(tried.owner, changes[i]);
        after = glance(&key, 1)->digest;
        ck_assert(!text_eq(before, after));
        before = after;
    }
}
END_TEST

/* A copy of the credential n times, each with so many rules; the table refuses more of one key. */
static void have_many(int n, int n_rules)
{
    char sql[1024];

    snprintf(sql, sizeof sql,
             "ALTER TABLE adit.ssh_credential DISABLE TRIGGER USER;"
             "INSERT INTO adit.ssh_credential"
             " (account_id, id, owner_id, public_key, key_type, fingerprint, acl)"
             " SELECT account_id, 'sshcr_' || lpad(i::text, 27, '0'), owner_id, public_key,"
             " key_type, fingerprint,"
             " (SELECT array_agg('bind:a:' || r) FROM generate_series(1, %d) AS r)"
             " FROM adit.ssh_credential, generate_series(1, %d) AS i WHERE id = '" TRIED_ID(
                 "z") "'; ALTER TABLE adit.ssh_credential ENABLE TRIGGER USER",
             n_rules, n);
    database_run(tried.owner, sql);
}

/* Neither reads more of a key than a decision does. */
START_TEST(limits)
{
    const struct gateway_key key = key_of(tried.who.account[0], FINGERPRINT_0);
    struct gateway_credentials found;

    have(&tried.admin, TRIED_ID("z"), FINGERPRINT_0, "bind:a:1");
    have_many(_i ? 16 : SSH_GRANTS_MAX - 1, _i ? 1000 : 1);
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(!found.is_over);
    ck_assert_uint_eq(found.n, _i ? 17 : SSH_GRANTS_MAX);
    ck_assert_uint_eq(glance(&key, 1)->n, found.n);
    ck_assert(text_eq(found.digest, glance(&key, 1)->digest));
    if (_i)
        database_run(tried.owner,
                     "UPDATE adit.ssh_credential SET acl ="
                     " (SELECT array_agg('bind:a:' || r) FROM generate_series(1, 385) AS r)"
                     " WHERE id = '" TRIED_ID("z") "'");
    else
        database_run(tried.owner,
                     "ALTER TABLE adit.ssh_credential DISABLE TRIGGER USER;"
                     "INSERT INTO adit.ssh_credential"
                     " (account_id, id, owner_id, public_key, key_type, fingerprint, acl)"
                     " SELECT account_id, '" TRIED_ID(
                         "y") "', owner_id, public_key, key_type,"
                              " fingerprint, acl FROM adit.ssh_credential WHERE id = '" TRIED_ID(
                                  "z") "';"
                                       "ALTER TABLE adit.ssh_credential ENABLE TRIGGER USER");
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(found.is_over);
    ck_assert(text_eq(found.digest, glance(&key, 1)->digest));
    tried_expect_text(found.beyond.owner_id, tried.who.admin);
    ck_assert_uint_eq(found.beyond.n_rules, _i ? 16385 : SSH_GRANTS_MAX + 1);
    /* The oldest ones up to the limit. */
    ck_assert_uint_eq(found.n, _i ? 16 : SSH_GRANTS_MAX);
    tried_expect_text(found.items[0].id, "sshcr_000000000000000000000000001");
    tried_expect_text(found.items[found.n - 1].id, _i ? "sshcr_000000000000000000000000015"
                                                      : "sshcr_000000000000000000000000998");
    ck_assert_uint_eq(glance(&key, 1)->n, _i ? 17 : SSH_GRANTS_MAX + 1);
}
END_TEST

/* Of those that are named, the smallest come first, and larger ones push none of them out. */
START_TEST(named_credentials)
{
    struct gateway_key key = key_of(tried.who.account[0], FINGERPRINT_0);
    static char names[17][40];
    struct text ids[18] = {text_of(TRIED_ID("z"))};
    struct gateway_credentials found;

    have(&tried.admin, TRIED_ID("z"), FINGERPRINT_0, "bind:a:1");
    have(&tried.admin, TRIED_ID("x"), FINGERPRINT_1, "bind:x:1");
    have_many(17, 1000);
    for (int i = 0; i < 17; i++) {
        snprintf(names[i], sizeof names[i], "sshcr_%027d", i + 1);
        ids[i + 1] = text_of(names[i]);
    }
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(found.is_over);
    tried_expect_text(found.items[found.n - 1].id, names[15]);
    key.credential_ids = (struct text_list){.items = ids, .n = 18, .given = true};
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(found.is_over);
    ck_assert(text_eq(found.digest, glance(&key, 1)->digest));
    ck_assert_uint_eq(found.n, 17);
    tried_expect_text(found.items[0].id, names[0]);
    ck_assert_uint_eq(found.items[0].acl.n, 1000);
    tried_expect_text(found.items[9].id, TRIED_ID("z"));
    tried_expect_text(found.items[9].acl.items[0], "bind:a:1");
    /* One that is another key's by now, and one that is gone. */
    ids[1] = text_of(TRIED_ID("x"));
    ids[2] = text_of("sshcr_000000000000000000000000099");
    key.credential_ids.n = 3;
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(!found.is_over);
    ck_assert_uint_eq(found.n, 1);
    ck_assert(text_eq(found.digest, glance(&key, 1)->digest));
    key.credential_ids.items++;
    key.credential_ids.n = 2;
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert_uint_eq(found.n, 0);
    key.credential_ids.n = 0;
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert_uint_eq(found.n, 0);
}
END_TEST

/* Gives the member a credential of the key that is younger than all others, with such a rule. */
static void add_youngest(const char *rule)
{
    char sql[1024];

    snprintf(sql, sizeof sql,
             "ALTER TABLE adit.ssh_credential DISABLE TRIGGER USER;"
             "INSERT INTO adit.ssh_credential"
             " (account_id, id, owner_id, public_key, key_type, fingerprint, acl)"
             " SELECT account_id, 'sshcr_zzzzzzzzzzzzzzzzzzzzzzzzzzz', '%s', public_key, key_type,"
             " fingerprint, '{%s}' FROM adit.ssh_credential WHERE id = '" TRIED_ID(
                 "z") "'; ALTER TABLE adit.ssh_credential ENABLE TRIGGER USER",
             tried.who.member, rule);
    database_run(tried.owner, sql);
}

static void set_standing(const char *id, const char *standing)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "ALTER TABLE adit.ssh_credential DISABLE TRIGGER USER;"
             "UPDATE adit.ssh_credential SET standing = '%s' WHERE id = '%s';"
             "ALTER TABLE adit.ssh_credential ENABLE TRIGGER USER",
             standing, id);
    database_run(tried.owner, sql);
}

static void expect_owners(const struct gateway_key *key, const char *first, const char *second)
{
    struct gateway_credentials found;

    ck_assert_msg(look_up(key, &found), "%s", tried.err.cause);
    ck_assert_uint_eq(found.n, second ? 2 : 1);
    tried_expect_text(found.items[0].owner_id, first);
    if (second)
        tried_expect_text(found.items[1].owner_id, second);
}

/* What is superseded counts for nothing, not even for whoever glances. */
START_TEST(superseded_credentials)
{
    struct gateway_key key = key_of(tried.who.account[0], FINGERPRINT_0);
    struct gateway_credentials found;

    have(&tried.admin, TRIED_ID("z"), FINGERPRINT_0, "bind:a:1");
    add_youngest("bind:b:1");
    set_standing(TRIED_ID("z"), "own");
    expect_owners(&key, tried.who.admin, tried.who.member);
    ck_assert_uint_eq(glance(&key, 1)->n, 2);
    set_standing(TRIED_ID("z"), "superseded");
    expect_owners(&key, tried.who.member, NULL);
    ck_assert_uint_eq(glance(&key, 1)->n, 1);
    tried_expect_text(glance(&key, 1)->owner_id, tried.who.member);
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(text_eq(found.digest, glance(&key, 1)->digest));
    /* Nor does it come back once the others do not fit. */
    key.left_out = (struct ssh_left_out){.owner_ids = {text_of(tried.who.member)}, .n = 1};
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert_uint_eq(found.n, 0);
}
END_TEST

/* What an owner has hides nothing of others once the owner is left out: not by its rules, and not
 * by its number, even if a glance does not see the others. */
START_TEST(owners_are_left_out)
{
    struct gateway_key key = key_of(tried.who.account[0], FINGERPRINT_0);
    struct gateway_credentials found;

    have(&tried.admin, TRIED_ID("z"), FINGERPRINT_0, "bind:a:1");
    have_many(_i ? SSH_GRANTS_MAX + 100 : 20, _i ? 1 : 1000);
    add_youngest("bind:b:1");
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(found.is_over);
    tried_expect_text(found.items[0].owner_id, tried.who.admin);
    key.left_out = (struct ssh_left_out){.owner_ids = {text_of(tried.who.admin)}, .n = 1};
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert(!found.is_over);
    ck_assert_ptr_null(found.beyond.owner_id.s);
    ck_assert_uint_eq(found.n, 1);
    tried_expect_text(found.items[0].owner_id, tried.who.member);
    tried_expect_text(found.items[0].acl.items[0], "bind:b:1");
    /* A glance tells of a change only if it sees all. */
    if (_i)
        ck_assert_ptr_null(found.digest.s);
    else
        ck_assert(text_eq(found.digest, glance(&key, 1)->digest));
    database_run(tried.owner, "UPDATE adit.ssh_credential SET acl = '{bind:b,bind:c}'"
                              " WHERE id LIKE '%zzz'");
    for (key.most_rules = 1; key.most_rules <= 2; key.most_rules++) {
        ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
        ck_assert_int_eq(found.is_over, key.most_rules == 1);
    }
    key.left_out.owner_ids[key.left_out.n++] = text_of(tried.who.member);
    ck_assert_msg(look_up(&key, &found), "%s", tried.err.cause);
    ck_assert_uint_eq(found.n, 0);
    ck_assert_int_eq(found.n_accounts, 1);
}
END_TEST

static void forget_account(int i)
{
    char sql[512];

    snprintf(sql, sizeof sql,
             "DELETE FROM adit.ssh_credential WHERE account_id = '%s';"
             "DELETE FROM adit.mutual_tls_module WHERE account_id = '%s';"
             "DELETE FROM adit.api_key WHERE account_id = '%s';"
             "DELETE FROM adit.principal WHERE account_id = '%s';"
             "DELETE FROM adit.account WHERE id = '%s'",
             tried.who.account[i], tried.who.account[i], tried.who.account[i], tried.who.account[i],
             tried.who.account[i]);
    database_run(tried.owner, sql);
}

/* ---- mutual TLS ---- */

static void put_mutual_tls(const struct store_request *request, const char *edge_id, bool enabled)
{
    struct text items[] = {text_of("a"), text_of("b\"")};
    struct mutual_tls_module module = {
        .enabled = enabled,
        .certificate_authority_ids = {.items = items, .n = enabled ? 2 : 0, .given = true}};

    ck_assert_msg(store_resource_put(tried.store, request, RESOURCE_MUTUAL_TLS_MODULE,
                                     &(struct module_place){.edge_id = text_of(edge_id)}, &module,
                                     &tried.err),
                  "%s", tried.err.cause);
}

static bool read_edges(const char *account_id, struct gateway_edges *out)
{
    struct gateway_edges revisions;
    struct text items[] = {text_of("e2"), text_of("absent"), text_of("e1")};
    struct text_list edge_ids = {.items = items, .n = 3, .given = true};

    tried.err = (struct error){.code = ERR_NONE};
    if (!store_gateway_edge_revisions(tried.gateway, &tried.arena, text_of(account_id), edge_ids,
                                      &revisions, &tried.err) ||
        !store_gateway_mutual_tls(tried.gateway, &tried.arena, text_of(account_id), edge_ids, out,
                                  &tried.err))
        return false;
    ck_assert_int_eq(revisions.n_accounts, out->n_accounts);
    ck_assert_uint_eq(revisions.n, out->n);
    for (size_t i = 0; i < out->n; i++) {
        ck_assert(text_eq(revisions.items[i].edge_id, out->items[i].edge_id));
        ck_assert_int_eq(revisions.items[i].revision, out->items[i].revision);
    }
    return true;
}

START_TEST(modules_of_edges)
{
    struct gateway_edges edges;
    int64_t revision;

    put_mutual_tls(&tried.admin, "e1", true);
    put_mutual_tls(&tried.admin, "e2", false);
    put_mutual_tls(&tried.admin, "e3", true);
    put_mutual_tls(&tried.other, "absent", true);
    ck_assert_msg(read_edges(tried.who.account[0], &edges), "%s", tried.err.cause);
    ck_assert_uint_eq(edges.n, 2);
    tried_expect_text(edges.items[0].edge_id, "e1");
    ck_assert(edges.items[0].enabled);
    ck_assert_uint_eq(edges.items[0].certificate_authority_ids.n, 2);
    tried_expect_text(edges.items[0].certificate_authority_ids.items[1], "b\"");
    tried_expect_text(edges.items[1].edge_id, "e2");
    ck_assert(!edges.items[1].enabled);
    ck_assert_uint_eq(edges.items[1].certificate_authority_ids.n, 0);
    revision = edges.items[0].revision;
    ck_assert_int_ne(revision, edges.items[1].revision);
    put_mutual_tls(&tried.admin, "e1", false);
    ck_assert(read_edges(tried.who.account[0], &edges));
    ck_assert_int_ne(edges.items[0].revision, revision);
}
END_TEST

/* ---- the only account ---- */

START_TEST(account_that_is_not_named)
{
    const struct gateway_key keys[] = {key_of("", FINGERPRINT_0), key_of(NULL, FINGERPRINT_0)};
    struct gateway_credentials found;
    struct gateway_edges edges;

    have(&tried.admin, TRIED_ID("1"), FINGERPRINT_0, NULL);
    put_mutual_tls(&tried.admin, "e1", true);
    for (size_t i = 0; i < 2; i++) {
        ck_assert(look_up(&keys[i], &found));
        ck_assert_int_eq(found.n_accounts, 2);
        ck_assert_uint_eq(found.n, 0);
        ck_assert_int_eq(glance(&keys[i], 1)->n_accounts, 2);
    }
    ck_assert(read_edges(NULL, &edges));
    ck_assert_int_eq(edges.n_accounts, 2);
    ck_assert(read_edges("", &edges));
    ck_assert_int_eq(edges.n_accounts, 2);
    ck_assert_uint_eq(edges.n, 0);
    forget_account(1);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_msg(look_up(&keys[i], &found), "%s", tried.err.cause);
        ck_assert_int_eq(found.n_accounts, 1);
        ck_assert_uint_eq(found.n, 1);
        tried_expect_text(found.account_id, tried.who.account[0]);
    }
    ck_assert(read_edges(NULL, &edges));
    ck_assert_int_eq(edges.n_accounts, 1);
    ck_assert_uint_eq(edges.n, 1);
    forget_account(0);
    ck_assert(look_up(keys, &found));
    ck_assert_int_eq(found.n_accounts, 0);
    ck_assert_uint_eq(found.n, 0);
    ck_assert_int_eq(glance(keys, 1)->n_accounts, 0);
    ck_assert(read_edges("", &edges));
    ck_assert_int_eq(edges.n_accounts, 0);
    ck_assert_uint_eq(edges.n, 0);
}
END_TEST

/* An account that is named and does not exist. */
START_TEST(account_that_does_not_exist)
{
    const struct gateway_key keys[] = {key_of("ac_000000000000000000000000000", FINGERPRINT_0),
                                       key_of(tried.who.account[0], FINGERPRINT_0)};
    struct gateway_credentials found;
    struct gateway_edges edges;

    put_mutual_tls(&tried.admin, "e1", true);
    ck_assert(look_up(keys, &found));
    ck_assert_int_eq(found.n_accounts, 0);
    ck_assert(look_up(keys + 1, &found));
    ck_assert_int_eq(found.n_accounts, 1);
    ck_assert(read_edges("ac_000000000000000000000000000", &edges));
    ck_assert_int_eq(edges.n_accounts, 0);
    ck_assert_uint_eq(edges.n, 0);
    ck_assert(read_edges(tried.who.account[0], &edges));
    ck_assert_int_eq(edges.n_accounts, 1);
}
END_TEST

/* ---- changes ---- */

/* Reads on from *snapshot, and moves it. */
static struct gateway_changes changes_since(struct text *snapshot)
{
    struct gateway_changes changes;

    ck_assert_msg(
        store_gateway_changes(tried.gateway, &tried.arena, *snapshot, &changes, &tried.err), "%s",
        tried.err.cause);
    ck_assert(text_present(changes.snapshot));
    *snapshot = changes.snapshot;
    return changes;
}

START_TEST(changes_come_once)
{
    struct text snapshot = {.s = NULL};
    struct gateway_changes changes = changes_since(&snapshot);

    ck_assert(!changes.complete);
    ck_assert_uint_eq(changes.n, 0);
    changes = changes_since(&snapshot);
    ck_assert(changes.complete);
    ck_assert_uint_eq(changes.n, 0);
    put_mutual_tls(&tried.admin, "e1", true);
    have(&tried.other, TRIED_ID("1"), FINGERPRINT_0, NULL);
    changes = changes_since(&snapshot);
    ck_assert(changes.complete);
    ck_assert_uint_eq(changes.n, 2);
    tried_expect_text(changes.items[0].event, "mutual_tls_module_created");
    tried_expect_text(changes.items[0].account_id, tried.who.account[0]);
    tried_expect_text(changes.items[0].resource, "e1");
    tried_expect_text(changes.items[1].event, "ssh_credential_created");
    changes = changes_since(&snapshot);
    ck_assert(changes.complete);
    ck_assert_uint_eq(changes.n, 0);
}
END_TEST

/* The one that is too many stands for all that follow. */
START_TEST(more_changes_than_fit)
{
    struct text snapshot = {.s = NULL};

    changes_since(&snapshot);
    tried_have_many(GATEWAY_CHANGES_MAX + 9, FINGERPRINT_0, "'{}'");
    ck_assert_uint_eq(changes_since(&snapshot).n, GATEWAY_CHANGES_MAX + 1);
}
END_TEST

/* The server may have crashed, and use numbers of transactions again. */
START_TEST(changes_on_another_session)
{
    struct text snapshot = {.s = NULL};
    struct gateway_changes changes = changes_since(&snapshot);

    ck_assert(!changes.complete);
    database_run(tried.owner, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                              " WHERE datname = current_database()"
                              " AND usename = 'adit_tester_gateway'");
    put_mutual_tls(&tried.admin, "e1", true);
    changes = changes_since(&snapshot);
    ck_assert(!changes.complete);
    ck_assert_uint_eq(changes.n, 0);
    put_mutual_tls(&tried.admin, "e2", true);
    changes = changes_since(&snapshot);
    ck_assert(changes.complete);
    ck_assert_uint_eq(changes.n, 1);
}
END_TEST

START_TEST(snapshot_that_is_none)
{
    struct gateway_changes changes;

    ck_assert(
        !store_gateway_changes(tried.gateway, &tried.arena, text_of("x"), &changes, &tried.err));
    ck_assert_str_eq(tried.err.sqlstate, "22P02");
}
END_TEST

Suite *gateway_suite(void)
{
    Suite *suite = suite_create("store/gateway");
    TCase *tcase = tcase_create("gateway");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, tried_set_up, tried_tear_down);
    tcase_add_test(tcase, credentials_of_a_key);
    tcase_add_test(tcase, digests);
    tcase_add_loop_test(tcase, limits, 0, 2);
    tcase_add_test(tcase, named_credentials);
    tcase_add_test(tcase, superseded_credentials);
    tcase_add_loop_test(tcase, owners_are_left_out, 0, 2);
    tcase_add_test(tcase, modules_of_edges);
    tcase_add_test(tcase, account_that_is_not_named);
    tcase_add_test(tcase, account_that_does_not_exist);
    tcase_add_test(tcase, changes_come_once);
    tcase_add_test(tcase, more_changes_than_fit);
    tcase_add_test(tcase, changes_on_another_session);
    tcase_add_test(tcase, snapshot_that_is_none);
    suite_add_tcase(suite, tcase);
    return suite;
}
