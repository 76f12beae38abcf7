/* SPDX-License-Identifier: MIT */
/* Tests of judging where accounts are on several nodes of Citus.  The database is functions of this
 * file: it has an account on each of two nodes. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gateway/by_account.h"
#include "gateway/fake_store.h"
#include "gateway/judge.h"
#include "gateway/monitor.h"
#include "gateway/proc.h"
#include "suites.h"

#define A "ac_000000000000000000000000001"
#define B "ac_000000000000000000000000002"
#define NOBODYS "ac_000000000000000000000000003"
#define FINGERPRINT "SHA256:0123456789012345678901234567890123456789012"

/* What the database has, and what it was asked. */
static struct node {
    const char *account_id;
    const char *credential_id;
    bool is_silent;    /* nothing is sent to it */
    bool fails;        /* it refuses each statement */
    bool has_key;      /* the account has the credential */
    bool is_complete;  /* the feed knows what changed */
    const char *event; /* of the credential; NULL: nothing changed */
    char since[16];    /* the mark that the last poll named */
    int n_polls;
    int n_look_ups; /* of rules */
} nodes[2];

static bool entry_fails;
static int n_pings;
static int n_edges_read;

static struct gateway gateway;
static char none[] = "";
static char edges_account[] = A;
static struct monitor monitors[2];

static struct node *node_of(struct text account_id)
{
    for (size_t i = 0; i < 2; i++) {
        if (text_eq(account_id, text_of(nodes[i].account_id)))
            return &nodes[i];
    }
    return NULL;
}

static bool refuse(struct error *err)
{
    return error_cause(err, ERR_DATABASE_UNAVAILABLE, "database: no such node");
}

/* ---- the database ---- */

bool pg_turn_to(struct pg *pg, const char *account_id, struct error *err)
{
    const struct node *node = node_of(text_of(account_id));

    (void)pg;
    return !node || !node->is_silent || refuse(err);
}

unsigned pg_turn_silent(const struct pg *pg)
{
    (void)pg;
    return 0;
}

void pg_turn_end(struct pg *pg, bool ok, const struct error *err)
{
    (void)pg, (void)ok, (void)err;
}

bool store_gateway_account_changes(struct pg *pg, struct arena *arena, struct text account_id,
                                   struct text mark, struct gateway_changes *out, struct error *err)
{
    struct node *node = node_of(account_id);

    (void)pg;
    *out = (struct gateway_changes){.n = 0};
    if (!node || node->fails)
        return refuse(err);
    snprintf(node->since, sizeof node->since, "%.*s", (int)mark.len, mark.len > 0 ? mark.s : "");
    node->n_polls++;
    out->snapshot = text_of("mark");
    out->complete = node->is_complete && mark.len > 0;
    out->items = arena_array(arena, 1, sizeof *out->items);
    ck_assert_ptr_nonnull(out->items);
    if (out->complete && node->event)
        out->items[out->n++] =
            (struct gateway_change){text_of(node->event), account_id, text_of(node->credential_id)};
    return true;
}

static bool glance(struct arena *arena, struct gateway_keys keys, struct gateway_glance *out,
                   struct error *err)
{
    const struct node *node = node_of(keys.items[0].account_id);

    (void)arena;
    if (node && node->fails)
        return refuse(err);
    for (size_t i = 0; i < keys.n; i++) {
        /* One statement is for one account. */
        ck_assert(text_eq(keys.items[i].account_id, keys.items[0].account_id));
        out[i] = (struct gateway_glance){.n = node && node->has_key,
                                         .digest = text_of(node && node->has_key ? "one" : "none"),
                                         .n_accounts = node ? 1 : 0};
    }
    return true;
}

static bool look_up(struct arena *arena, const struct gateway_key *key,
                    struct gateway_credentials *out, struct error *err)
{
    struct node *node = node_of(key->account_id);

    *out = (struct gateway_credentials){.n_accounts = node ? 1 : 0};
    if (node && node->fails)
        return refuse(err);
    if (!node)
        return true;
    node->n_look_ups++;
    out->account_id = key->account_id;
    out->digest = text_of("one");
    out->items = arena_array(arena, 1, sizeof *out->items);
    ck_assert_ptr_nonnull(out->items);
    if (node->has_key)
        out->items[out->n++] = (struct ssh_grant){.id = text_of(node->credential_id)};
    return true;
}

static bool edges_of_account(struct arena *arena, struct text_list ids, bool is_whole,
                             struct gateway_edges *out, struct error *err)
{
    (void)arena, (void)ids, (void)is_whole, (void)out, (void)err;
    n_edges_read++;
    return true;
}

static bool changes_of_all(struct arena *arena, struct text snapshot, struct gateway_changes *out,
                           struct error *err)
{
    (void)arena, (void)snapshot, (void)out;
    ck_abort_msg("nobody may ask all nodes");
    return refuse(err);
}

static bool ping(struct error *err)
{
    n_pings++;
    return !entry_fails || refuse(err);
}

/* ---- the gateway ---- */

static void start(void)
{
    static const struct conf_mutual_tls no_edges = {none, none, none, none, none};

    for (size_t i = 0; i < 2; i++)
        nodes[i] = (struct node){.account_id = i ? B : A,
                                 .credential_id = i ? "sshcr_2" : "sshcr_1",
                                 .has_key = true,
                                 .is_complete = true};
    fake_store = (struct fake_store){.ping = ping,
                                     .changes = changes_of_all,
                                     .glance = glance,
                                     .look_up = look_up,
                                     .edges = edges_of_account};
    entry_fails = false;
    n_pings = n_edges_read = 0;
    gateway = (struct gateway){.conf.log.level = LOG_LEVEL_ERROR, .conf.gateway.account = none};
    gateway.by_account = &by_account;
    gateway.unnamed_fault = "several nodes";
    gateway.turn_ms = 3600000; /* a slow machine judges all accounts in one turn, too */
    gateway.edges = edges_new(&no_edges, &gateway.conf.log);
    ck_assert_ptr_nonnull(gateway.edges);
}

static void stop(void)
{
    follows_free(&gateway.follows);
    ssh_sessions_free(&gateway.sessions);
    edges_free(gateway.edges);
}

/* Adds a session of each account. */
static void add_sessions(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct ssh_session *session;
        struct proc proc;
        int fd;

        monitor_start(&monitors[i], "sshd", false);
        ck_assert(proc_read(monitors[i].pid, &proc));
        fd = proc_open(monitors[i].pid, proc.started);
        ck_assert_int_ge(fd, 0);
        session = ssh_sessions_add(&gateway.sessions, monitors[i].pid, proc.started, fd);
        ck_assert_ptr_nonnull(session);
        snprintf(session->account_id, sizeof session->account_id, "%s", nodes[i].account_id);
        snprintf(session->fingerprint, sizeof session->fingerprint, FINGERPRINT);
    }
}

static void end_sessions(void)
{
    for (size_t i = 0; i < 2; i++)
        monitor_stop(&monitors[i]);
}

static bool is_ending(size_t i)
{
    return gateway.sessions.items[i]->is_ending;
}

static enum judge_verdict ask(const char *account_id, const char **why)
{
    struct arena arena = {0};
    struct judge_grant grant;
    enum judge_verdict verdict =
        judge_key(&gateway, &arena, text_of(account_id), text_of(FINGERPRINT), &grant, why);

    arena_free(&arena);
    return verdict;
}

/* ---- tests ---- */

START_TEST(each_account_has_its_feed)
{
    add_sessions();
    ck_assert(judge_changes(&gateway));
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(nodes[i].since, "");
        ck_assert_int_eq(nodes[i].n_look_ups, 1);
    }
    ck_assert(judge_changes(&gateway));
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(nodes[i].since, "mark");
        ck_assert_int_eq(nodes[i].n_look_ups, 1);
    }
    nodes[0].has_key = false;
    nodes[0].event = "ssh_credential_deleted";
    ck_assert(judge_changes(&gateway));
    ck_assert(is_ending(0) && !is_ending(1));
    ck_assert_int_eq(nodes[1].n_look_ups, 1);
    /* Nobody needs to know what changes there any more. */
    ck_assert(judge_changes(&gateway));
    ck_assert_uint_eq(gateway.follows.n, 1);
    ck_assert_int_eq(nodes[0].n_polls, 3);
    ck_assert_int_eq(nodes[1].n_polls, 4);
    end_sessions();
}
END_TEST

/* A feed that cannot tell what changed is no reason to judge other accounts. */
START_TEST(an_account_is_judged_anew)
{
    add_sessions();
    ck_assert(judge_changes(&gateway));
    nodes[0].is_complete = false;
    nodes[0].has_key = nodes[1].has_key = false;
    ck_assert(judge_changes(&gateway));
    ck_assert(is_ending(0) && !is_ending(1));
    end_sessions();
}
END_TEST

/* Its sessions stay and its logins are refused, and others go on.  Then it is judged anew. */
START_TEST(a_node_is_away)
{
    const char *why;

    add_sessions();
    ck_assert(judge_changes(&gateway));
    nodes[1].is_silent = _i == 0;
    nodes[1].fails = _i == 1;
    nodes[0].has_key = nodes[1].has_key = false;
    nodes[0].event = "ssh_credential_deleted";
    ck_assert(judge_changes(&gateway));
    ck_assert(is_ending(0) && !is_ending(1));
    ck_assert(!gateway.is_away);
    ck_assert(judge_changes(&gateway)); /* of the lost one alone: the other has no session left */
    ck_assert(gateway.is_away);
    ck_assert_int_eq(ask(B, &why), JUDGE_AWAY);
    ck_assert_ptr_nonnull(strstr(why, "the account's node"));
    ck_assert_int_eq(ask(A, &why), JUDGE_NONE);
    nodes[1].is_silent = nodes[1].fails = false;
    ck_assert(judge_changes(&gateway));
    ck_assert_str_eq(nodes[1].since, "");
    ck_assert(is_ending(1));
    ck_assert(!gateway.is_away);
    end_sessions();
}
END_TEST

/* The entry to the nodes is lost, and with it all accounts. */
START_TEST(one_line_counts_accounts)
{
    FILE *log = tmpfile();
    char line[1024];

    ck_assert_ptr_nonnull(log);
    add_sessions();
    ck_assert(judge_changes(&gateway));
    ck_assert_int_ge(dup2(fileno(log), STDERR_FILENO), 0);
    nodes[0].fails = nodes[1].fails = true;
    ck_assert(judge_changes(&gateway));
    ck_assert(judge_changes(&gateway));
    ck_assert_int_eq(fseek(log, 0, SEEK_SET), 0);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, log));
    ck_assert_ptr_nonnull(strstr(line, "\"accounts\":\"2\",\"account\":\"" A "\""));
    ck_assert_ptr_null(fgets(line, sizeof line, log));
    fclose(log);
    end_sessions();
}
END_TEST

START_TEST(the_account_of_the_edges)
{
    gateway.conf.gateway.account = edges_account;
    ck_assert(judge_changes(&gateway));
    ck_assert(gateway.edges_are_marked);
    ck_assert_int_eq(nodes[0].n_polls, 1);
    ck_assert_int_eq(nodes[1].n_polls, 0);
    judge_sweep(&gateway);
    ck_assert(judge_changes(&gateway));
    ck_assert_int_eq(n_edges_read, 0); /* no edge is configured */
}
END_TEST

START_TEST(nobody_to_ask_for)
{
    ck_assert(judge_changes(&gateway));
    ck_assert_int_eq(n_pings, 1);
    ck_assert(!gateway.is_away);
    entry_fails = true;
    ck_assert(judge_changes(&gateway));
    ck_assert(gateway.is_away);
}
END_TEST

START_TEST(a_key_is_looked_up_on_its_node)
{
    const char *why;

    ck_assert_int_eq(ask(A, &why), JUDGE_PERMITTED);
    ck_assert_int_eq(ask(B, &why), JUDGE_PERMITTED);
    ck_assert_int_eq(nodes[0].n_look_ups, 1);
    ck_assert_int_eq(nodes[1].n_look_ups, 1);
    nodes[1].has_key = false;
    ck_assert_int_eq(ask(B, &why), JUDGE_NONE);
    ck_assert_int_eq(nodes[1].n_look_ups, 1);
    ck_assert_int_eq(ask(NOBODYS, &why), JUDGE_FAULT);
    ck_assert_ptr_nonnull(strstr(why, "does not exist"));
    ck_assert_int_eq(ask("", &why), JUDGE_FAULT);
    ck_assert_ptr_nonnull(strstr(why, "several nodes"));
}
END_TEST

Suite *gateway_judge_nodes_suite(void)
{
    Suite *suite = suite_create("gateway/judge_nodes");
    TCase *tcase = tcase_create("judge_nodes");

    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, each_account_has_its_feed);
    tcase_add_test(tcase, an_account_is_judged_anew);
    tcase_add_loop_test(tcase, a_node_is_away, 0, 2);
    tcase_add_test(tcase, one_line_counts_accounts);
    tcase_add_test(tcase, the_account_of_the_edges);
    tcase_add_test(tcase, nobody_to_ask_for);
    tcase_add_test(tcase, a_key_is_looked_up_on_its_node);
    suite_add_tcase(suite, tcase);
    return suite;
}
