/* SPDX-License-Identifier: MIT */
/* Tests of what a late statement keeps from those who log in, over a real PostgreSQL. */
#include "gateway/judge.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/drivers.h"
#include "gateway/judge_edges.h"
#include "gateway/outage.h"
#include "store/database.h"
#include "suites.h"

#define SLOW "SHA256:0000000000000000000000000000000000000000000"
#define OTHER "SHA256:1111111111111111111111111111111111111111111"

static struct pg *owner;
static struct accounts who;
static struct gateway gateway;
static char conninfo[512];
static char edge_ids[] = "edge-1";
static char output[] = "/nonexistent";
static char none[] = "";

static void setup(void)
{
    char name[32];

    snprintf(name, sizeof name, "judge_%d", (int)getpid());
    owner = database_create(name);
    database_migrate(owner);
    database_run(owner, "DO $$ BEGIN CREATE ROLE adit_judge LOGIN IN ROLE adit_gateway;"
                        " EXCEPTION WHEN duplicate_object THEN NULL; END $$");
    database_fill(owner, &who);
    snprintf(conninfo, sizeof conninfo, "%s dbname=%s user=adit_judge connect_timeout=30",
             getenv("ADIT_TEST_CONNINFO"), name);
    gateway = (struct gateway){
        .conf = {.log.level = LOG_LEVEL_ERROR,
                 .gateway = {.account = who.account[0], .conninfo = conninfo},
                 .mutual_tls = {edge_ids, none, output, none, none}},
    };
    ck_assert(drivers_open(&gateway));
    gateway.edges = edges_new(&gateway.conf.mutual_tls, &gateway.conf.log);
    ck_assert_ptr_nonnull(gateway.edges);
}

static void teardown(void)
{
    edges_free(gateway.edges);
    drivers_close(&gateway);
    heavy_keys_free(&gateway.heavy_keys);
    heavy_keys_free(&gateway.light_keys);
    pg_free(owner);
}

/* Returns the verdict about a key, and in *why the reason. */
static enum judge_verdict judge(const char *fingerprint, const char **why)
{
    struct arena arena = {0};
    struct judge_grant grant;
    enum judge_verdict verdict =
        judge_key(&gateway, &arena, text_of(""), text_of(fingerprint), &grant, why);

    arena_free(&arena);
    return verdict;
}

/* Whoever logs in comes at once, and on the session that is open. */
static void expect_logins(int64_t n_opened)
{
    const char *why = "";

    ck_assert_msg(judge(OTHER, &why) == JUDGE_NONE, "%s", why);
    ck_assert(!outage_shuts(&gateway));
    ck_assert_int_eq(pg_n_opened(gateway.pg), n_opened);
}

START_TEST(a_late_statement_about_edges)
{
    expect_logins(1);
    database_run(owner, "BEGIN; LOCK TABLE adit.mutual_tls_module IN ACCESS EXCLUSIVE MODE");
    gateway.edges_are_marked = true;
    ck_assert(!judge_edges(&gateway));
    expect_logins(1);
    ck_assert(gateway.edges_are_unread);
    database_run(owner, "COMMIT");
    gateway.edges_read_at_ms = 0;
    while (judge_edges(&gateway)) {
    }
    ck_assert(!gateway.edges_are_unread);
    ck_assert_uint_eq(edges_count(gateway.edges).n_open, 1);
    expect_logins(1);
}
END_TEST

/* Gateways may see the key's row only after a while. */
static void have_slow_key(void)
{
    char sql[1024];

    snprintf(sql, sizeof sql,
             "INSERT INTO adit.ssh_credential"
             " (account_id, id, owner_id, public_key, key_type, fingerprint)"
             " VALUES ('%s', 'sshcr_000000000000000000000000001', '%s', 'ssh-ed25519 AAAA',"
             " 'ssh-ed25519', '" SLOW "');"
             " ALTER TABLE adit.ssh_credential ENABLE ROW LEVEL SECURITY;"
             " CREATE POLICY slow ON adit.ssh_credential USING"
             " (fingerprint <> '" SLOW "' OR pg_sleep(60) IS NOT NULL)",
             who.account[0], who.admin);
    database_run(owner, sql);
}

/* Only that key waits.  The session that is left to it is another's no more. */
START_TEST(a_late_key)
{
    const char *why = "";

    have_slow_key();
    expect_logins(1);
    ck_assert_int_eq(judge(SLOW, &why), JUDGE_AWAY);
    ck_assert_str_eq(why, "the key was not read in time; it is asked for again soon");
    expect_logins(2);
    ck_assert_int_eq(judge(SLOW, &why), JUDGE_AWAY);
    expect_logins(2);
}
END_TEST

Suite *judge_suite(void)
{
    Suite *suite = suite_create("whole/judge");
    TCase *tcase = tcase_create("judge");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_late_statement_about_edges);
    tcase_add_test(tcase, a_late_key);
    suite_add_tcase(suite, tcase);
    return suite;
}
