/* SPDX-License-Identifier: MIT */
/* Tests of the statements of decisions, on a real PostgreSQL. */
#include "store/ssh_decision.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "store/explained.h"
#include "store/tried.h"
#include "suites.h"

#define SAME TRIED_FINGERPRINT("5")

static struct ssh_grant_list list;

static bool find(const struct store_request *request, const char *fingerprint)
{
    ssh_grant_list_free(&list);
    tried.err = (struct error){.code = ERR_NONE};
    return store_ssh_decision_find(tried.store, request, text_of(fingerprint), &list, &tried.err);
}

static void set_up(void)
{
    list = (struct ssh_grant_list){0};
    tried_set_up();
}

static void set_up_distributed(void)
{
    list = (struct ssh_grant_list){0};
    tried_set_up_distributed();
}

static void tear_down(void)
{
    ssh_grant_list_free(&list);
    tried_tear_down();
}

static void have(const struct store_request *request, const char *id, struct text_list acl)
{
    struct ssh_credential input = tried_input(SAME);
    struct ssh_credential_list made;

    input.acl = acl;
    ck_assert_msg(tried_create(request, id, &input, &made), "%s", tried.err.cause);
    ssh_credential_list_free(&made);
}

START_TEST(grants_of_the_account_by_id)
{
    struct text rules[] = {{"bind:a", 6}, {"bind:\xC3\xA9=\"{},\\", 13}};

    ck_assert(find(&tried.admin, SAME));
    ck_assert_uint_eq(list.n, 0);
    have(&tried.member, TRIED_ID("2"), (struct text_list){.given = true});
    have(&tried.admin, TRIED_ID("1"), (struct text_list){.items = rules, .n = 2, .given = true});
    have(&tried.other, TRIED_ID("0"), (struct text_list){.given = true});
    tried_have(&tried.admin, TRIED_ID("3")); /* another fingerprint */
    ck_assert_msg(find(&tried.reader, SAME), "%s", tried.err.cause);
    ck_assert_uint_eq(list.n, 2);
    tried_expect_text(list.items[0].id, TRIED_ID("1"));
    tried_expect_text(list.items[0].owner_id, tried.who.admin);
    ck_assert_uint_eq(list.items[0].acl.n, 2);
    tried_expect_text(list.items[0].acl.items[1], rules[1].s);
    tried_expect_text(list.items[1].id, TRIED_ID("2"));
    tried_expect_text(list.items[1].owner_id, tried.who.member);
    ck_assert_uint_eq(list.items[1].acl.n, 0);
    ck_assert(find(&tried.other, SAME));
    ck_assert_uint_eq(list.n, 1);
    tried_expect_text(list.items[0].id, TRIED_ID("0"));
}
END_TEST

/* One more than a way reads takes the next way, and the last one fails. */
START_TEST(numbers_of_grants)
{
    static const struct {
        int n;
        bool ok;
    } cases[] = {{8, true}, {9, true}, {1000, true}, {1001, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tried_have_many(cases[i].n, SAME, "array['bind:a' || i]");
        ck_assert_msg(find(&tried.admin, SAME) == cases[i].ok, "%d: %s", cases[i].n,
                      error_row(tried.err.code)->symbol);
        ck_assert(cases[i].ok || tried.err.code == ERR_GRANTS_TOO_MANY);
        for (size_t j = 0; cases[i].ok && j < list.n; j++) {
            ck_assert(j == 0 || text_cmp(list.items[j - 1].id, list.items[j].id) < 0);
            ck_assert_uint_eq(list.items[j].acl.n, 1);
        }
        ck_assert_uint_eq(list.n, cases[i].ok ? (size_t)cases[i].n : 0);
        database_run(tried.owner, "DELETE FROM adit.ssh_credential");
    }
}
END_TEST

/* 16 credentials of 1000 rules and one of 384. */
START_TEST(rules_of_grants)
{
    tried_have_many(17, SAME,
                    "array(SELECT 'bind:a' FROM generate_series(1, CASE i WHEN 17 THEN 384"
                    " ELSE 1000 END))");
    ck_assert_msg(find(&tried.admin, SAME), "%s", tried.err.cause);
    ck_assert_uint_eq(list.n, 17);
    database_run(tried.owner, "UPDATE adit.ssh_credential SET acl = acl || '{bind:b}'"
                              " WHERE id LIKE '%17'");
    ck_assert(!find(&tried.admin, SAME));
    ck_assert_int_eq(tried.err.code, ERR_GRANTS_TOO_MANY);
}
END_TEST

START_TEST(bytes_of_grants)
{
    tried_have_many(9, SAME,
                    "array(SELECT lpad(r::text, 200, '0') FROM generate_series(1, 500) AS r)");
    ck_assert_msg(find(&tried.admin, SAME), "%s", tried.err.cause);
    ck_assert_uint_eq(list.n, 9);
    database_run(tried.owner, "UPDATE adit.ssh_credential SET acl = acl || acl");
    ck_assert(!find(&tried.admin, SAME));
    ck_assert_int_eq(tried.err.code, ERR_GRANTS_TOO_MANY);
}
END_TEST

/* Whoever has a key in too many credentials, or in older ones, has those left out, and nobody
 * else's.
 */
START_TEST(owners_with_much)
{
    struct text rule = {"bind:b", 6};

    tried_have_many(_i ? 1100 : 20, SAME,
                    _i ? "'{bind:a}'" : "array(SELECT 'bind:a' FROM generate_series(1, 1000))");
    ck_assert(!find(&tried.admin, SAME));
    ck_assert_int_eq(tried.err.code, ERR_GRANTS_TOO_MANY);
    database_run(tried.owner, "ALTER TABLE adit.ssh_credential DISABLE TRIGGER limit_public_key");
    have(&tried.member, TRIED_ID("z"), (struct text_list){.items = &rule, .n = 1, .given = true});
    database_run(tried.owner, "ALTER TABLE adit.ssh_credential ENABLE TRIGGER limit_public_key");
    ck_assert_msg(find(&tried.admin, SAME), "%s", tried.err.cause);
    ck_assert_uint_eq(list.n, 1);
    tried_expect_text(list.items[0].owner_id, tried.who.member);
    ck_assert_uint_eq(list.items[0].acl.n, 1);
    tried_expect_text(list.items[0].acl.items[0], "bind:b");
    ck_assert_uint_eq(list.left_out.n, 1);
    tried_expect_text(list.left_out.owner_ids[0], tried.who.admin);
}
END_TEST

/* The rules of each credential are on pages of their own. */
START_TEST(too_many_grants_cost_few_pages)
{
    char digest[2 * CRYPT_SHA256_LEN + 1];
    char arguments[512];
    long n;

    tried_have_many(
        1001, SAME,
        "array(SELECT 'bind:' || md5(i || ' ' || j) FROM generate_series(1, 200) AS j)");
    ck_assert(!find(&tried.admin, SAME));
    ck_assert_int_eq(tried.err.code, ERR_GRANTS_TOO_MANY);
    for (size_t i = 0; i < CRYPT_SHA256_LEN; i++)
        snprintf(digest + 2 * i, 3, "%02x", tried.admin.caller.digest[i]);
    snprintf(arguments, sizeof arguments, "'\\x%s', '%s', '%s', 1000, 16384, 1048576, '{}'", digest,
             tried.who.account[0], SAME);
    n = explained_pages(tried.responder, "ssh_decision_many", arguments);
    ck_assert_msg(n < 2500, "%ld pages", n);
}
END_TEST

/* A fingerprint is a value, not a pattern or a part of the SQL. */
START_TEST(fingerprints_that_nobody_has)
{
    static const char *const others[] = {"", "%", "SHA256:%", "' OR true --", "SHA256:"};

    tried_have_many(1, SAME, "'{}'");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert(find(&tried.admin, others[i]));
        ck_assert_uint_eq(list.n, 0);
    }
}
END_TEST

/* The plan has no filter and no sort, so the credentials of others with the same key cost nothing.
 */
START_TEST(index_leads_to_the_grants)
{
    char sql[1024];

    tried_have_many(2000, SAME, "'{}'");
    snprintf(sql, sizeof sql,
             "UPDATE adit.ssh_credential"
             " SET fingerprint = 'SHA256:' || lpad(right(id, 23), 43, '0');"
             " ANALYZE adit.ssh_credential;"
             " DO $$ DECLARE plan text; BEGIN"
             " EXECUTE 'EXPLAIN (FORMAT JSON) SELECT id, acl FROM adit.ssh_credential"
             " WHERE account_id = ''%s'' AND fingerprint = ''" SAME "'' ORDER BY id LIMIT 9'"
             " INTO plan;"
             " IF plan !~ 'ssh_credential_fingerprint_account' OR plan ~ 'Sort|Filter' THEN"
             " RAISE EXCEPTION '%%', plan; END IF; END $$",
             tried.who.account[0]);
    database_run(tried.owner, sql);
}
END_TEST

static void add_tests(Suite *suite, const char *name, SFun set_up_case)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up_case, tear_down);
    tcase_add_test(tcase, grants_of_the_account_by_id);
    tcase_add_test(tcase, numbers_of_grants);
    tcase_add_test(tcase, rules_of_grants);
    tcase_add_test(tcase, bytes_of_grants);
    tcase_add_loop_test(tcase, owners_with_much, 0, 2);
    tcase_add_test(tcase, too_many_grants_cost_few_pages);
    tcase_add_test(tcase, fingerprints_that_nobody_has);
    tcase_add_test(tcase, index_leads_to_the_grants);
    suite_add_tcase(suite, tcase);
}

Suite *store_ssh_decision_suite(void)
{
    Suite *suite = suite_create("store/ssh_decision");

    add_tests(suite, "decisions", set_up);
    add_tests(suite, "distributed decisions", set_up_distributed);
    return suite;
}
