/* SPDX-License-Identifier: MIT */
/* Tests of judging sessions of many keys, of which some have much or are late.  The database is
 * functions of this file. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "gateway/fake_store.h"
#include "gateway/judge.h"
#include "gateway/loop.h"
#include "gateway/marked.h"
#include "gateway/monitor.h"
#include "gateway/proc.h"
#include "model/ssh_decision.h"
#include "suites.h"

#define A "ac_000000000000000000000000001"
#define B "ac_000000000000000000000000002"
#define N_KEYS 100
#define N_ACCOUNTS 2

/* What a key has, and how the database fares with it. */
static struct key {
    char account_id[IDENT_SIZE];
    char fingerprint[PUBLIC_KEY_FINGERPRINT_SIZE];
    char credential_id[32];
    char digest[SESSION_DIGEST_SIZE];
    size_t n;         /* its credentials */
    bool is_over;     /* they have too many rules */
    bool is_late;     /* a statement that names it is not answered */
    const char *rule; /* of each, as far as they are read; NULL: not even the first */
    const char *own;  /* of those that are named; NULL: the same */
    int n_look_ups;
} keys[N_KEYS];

static bool table_is_late; /* no statement for keys is answered */
static bool lock_is_held;  /* nor here, until it is asked for nobody's key */
static bool takes_a_turn;  /* each statement for keys does */
static int n_polls;
static bool is_complete;
static struct key *named; /* by the next poll */
static int n_glances;

static struct gateway gateway;
static char none[] = "";
static struct monitor monitors[8];
static size_t n_monitors;

static void take_time(void)
{
    const struct timespec turn = {.tv_nsec = JUDGE_TURN_MS * 1000000L};

    if (takes_a_turn)
        nanosleep(&turn, NULL);
}

static struct key *find(const struct gateway_key *asked)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (text_eq(asked->fingerprint, text_of(keys[i].fingerprint)) &&
            text_eq(asked->account_id, text_of(keys[i].account_id)))
            return &keys[i];
    }
    return NULL;
}

/* The pause of JUDGE_PAUSE_MS is not what is tested. */
static bool is_late(struct error *err)
{
    return error_cause(err, ERR_DATABASE_TIMEOUT, "database: no answer");
}

static bool changes(struct arena *arena, struct text snapshot, struct gateway_changes *out,
                    struct error *err)
{
    (void)err;
    n_polls++;
    out->snapshot = text_of("snapshot");
    out->complete = is_complete && snapshot.len > 0;
    out->items = arena_array(arena, 1, sizeof *out->items);
    ck_assert_ptr_nonnull(out->items);
    if (out->complete && named)
        out->items[out->n++] =
            (struct gateway_change){text_of("ssh_credential_deleted"), text_of(named->account_id),
                                    text_of(named->credential_id)};
    named = NULL;
    return true;
}

static bool glance(struct arena *arena, struct gateway_keys asked, struct gateway_glance *out,
                   struct error *err)
{
    (void)arena;
    n_glances++;
    take_time();
    if (asked.items[0].fingerprint.len == 0)
        lock_is_held = false;
    ck_assert_uint_le(asked.n, MARKED_GLANCE_MAX);
    for (size_t i = 0; i < asked.n; i++) {
        const struct key *key = find(&asked.items[i]);

        if (table_is_late || lock_is_held || (key && key->is_late))
            return is_late(err);
        for (size_t j = 0; j < i; j++)
            ck_assert_ptr_ne(find(&asked.items[j]), key);
        out[i] = (struct gateway_glance){key ? key->n : 0, text_of(key ? key->digest : "")};
    }
    return true;
}

static bool look_up(struct arena *arena, const struct gateway_key *asked,
                    struct gateway_credentials *out, struct error *err)
{
    struct key *key = find(asked);
    struct text *rule;

    ck_assert_ptr_nonnull(key);
    key->n_look_ups += !asked->credential_ids.given;
    take_time();
    out->n_accounts = 1;
    if (table_is_late || lock_is_held || key->is_late)
        return is_late(err);
    out->is_over = key->is_over || key->n > SSH_GRANTS_MAX;
    if (!out->is_over)
        out->digest = text_of(key->digest);
    out->items = arena_array(arena, 1, sizeof *out->items);
    rule = arena_array(arena, 1, sizeof *rule);
    ck_assert(out->items && rule);
    *rule = text_of(asked->credential_ids.given && key->own ? key->own : key->rule);
    if (asked->credential_ids.given)
        out->digest = text_of(NULL);
    if (key->n > 0 && rule->s)
        out->items[out->n++] = (struct gateway_credential){text_of(key->credential_id),
                                                           text_of(key->account_id),
                                                           {.items = rule, .n = 1, .given = true}};
    return true;
}

/* ---- the gateway ---- */

static void start(void)
{
    static const struct conf_mutual_tls no_edges = {none, none, none, none, none};

    for (int i = 0; i < N_KEYS; i++) {
        keys[i] = (struct key){.n = 1, .rule = "bind:a:1"};
        snprintf(keys[i].account_id, sizeof keys[i].account_id, "%s", i % N_ACCOUNTS ? B : A);
        snprintf(keys[i].fingerprint, sizeof keys[i].fingerprint, "SHA256:%043d", i);
        snprintf(keys[i].credential_id, sizeof keys[i].credential_id, "sshcr_%d", i);
        snprintf(keys[i].digest, sizeof keys[i].digest, "digest of %d", i);
    }
    table_is_late = lock_is_held = takes_a_turn = false;
    is_complete = true;
    named = NULL;
    n_glances = n_polls = 0;
    n_monitors = 0;
    fake_store = (struct fake_store){.changes = changes, .glance = glance, .look_up = look_up};
    gateway = (struct gateway){.conf.log.level = LOG_LEVEL_ERROR,
                               .conf.gateway.account = none,
                               .conf.gateway.metrics = none};
    gateway.edges = edges_new(&no_edges, &gateway.conf.log);
    ck_assert_ptr_nonnull(gateway.edges);
}

static void stop(void)
{
    for (size_t i = 0; i < n_monitors; i++)
        monitor_stop(&monitors[i]);
    sessions_free(&gateway.sessions);
    buf_free(&gateway.snapshot);
    edges_free(gateway.edges);
}

/* Adds a session of a key.  It has a process if it is to end. */
static struct session *add_session(size_t i, bool ends)
{
    struct text id = text_of(keys[i].credential_id), rule = text_of(keys[i].rule);
    struct proc proc = {.pid = 1};
    struct session *session;
    int fd = -1;

    if (ends) {
        struct monitor *monitor = &monitors[n_monitors++];

        monitor_start(monitor, "sshd", false);
        ck_assert(proc_read(monitor->pid, &proc));
        fd = proc_open(monitor->pid, proc.started);
        ck_assert_int_ge(fd, 0);
    }
    session = sessions_add(&gateway.sessions, proc.pid, proc.started, fd);
    ck_assert_ptr_nonnull(session);
    snprintf(session->account_id, sizeof session->account_id, "%s", keys[i].account_id);
    snprintf(session->fingerprint, sizeof session->fingerprint, "%s", keys[i].fingerprint);
    snprintf(session->digest, sizeof session->digest, "%s", keys[i].digest);
    ck_assert(session_set_lists(session, (struct text_list){&id, 1, true},
                                (struct text_list){&rule, 1, true}));
    return session;
}

/* One call after a pause. */
static bool judge(void)
{
    gateway.shut_until_ms = 0;
    return judge_changes(&gateway);
}

/* Until nothing is left, or so often. */
static void judge_on(int n)
{
    bool is_done = false;

    while (n-- > 0 && !is_done)
        is_done = judge() && !gateway.is_away;
}

static void begin(void)
{
    judge_on(20);
    n_glances = 0;
    for (size_t i = 0; i < N_KEYS; i++)
        keys[i].n_look_ups = 0;
}

static int count_look_ups(void)
{
    int n = 0;

    for (size_t i = 0; i < N_KEYS; i++)
        n += keys[i].n_look_ups;
    return n;
}

/* ---- tests ---- */

/* A fleet that shares a key is one key. */
START_TEST(sessions_share_a_key)
{
    for (int i = 0; i < 500; i++)
        add_session(0, false);
    begin();
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_int_eq(n_glances, 1);
    ck_assert_int_eq(keys[0].n_look_ups, 0);
    snprintf(keys[0].digest, sizeof keys[0].digest, "another");
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_int_eq(keys[0].n_look_ups, 1);
    for (size_t i = 0; i < gateway.sessions.n; i++) {
        ck_assert_int_eq(gateway.sessions.items[i]->mark, SESSION_JUDGED);
        ck_assert_str_eq(gateway.sessions.items[i]->digest, "another");
    }
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_int_eq(keys[0].n_look_ups, 1);
}
END_TEST

START_TEST(only_changed_rules_are_read)
{
    for (size_t i = 0; i < N_KEYS; i++)
        add_session(i, false);
    begin();
    snprintf(keys[7].digest, sizeof keys[7].digest, "another");
    keys[7].rule = "bind:*";
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_int_eq(n_glances, 2);
    ck_assert_int_eq(count_look_ups(), 1);
    ck_assert_int_eq(keys[7].n_look_ups, 1);
}
END_TEST

static void be_over(struct key *key, bool has_many)
{
    snprintf(key->digest, sizeof key->digest, "another");
    if (has_many)
        key->n = SSH_GRANTS_MAX + 1;
    else
        key->is_over = true;
}

/* Somebody adds rules to credentials of the key that are older than those of a session. */
START_TEST(others_add_to_older_credentials)
{
    const struct session *own = add_session(2, false);
    struct session *other = add_session(2, true);
    struct text ids[] = {text_of("sshcr_1"), text_of("sshcr_3")};
    struct text rule = text_of("bind:c:1");

    ck_assert(session_set_lists(other, (struct text_list){ids, 2, true},
                                (struct text_list){&rule, 1, true}));
    begin();
    keys[2].own = keys[2].rule;
    keys[2].rule = _i == 0 ? "bind:b:1" : NULL;
    be_over(&keys[2], false);
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert(!own->is_ending);
    ck_assert_int_eq(own->mark, SESSION_JUDGED);
    ck_assert(other->is_ending);
    ck_assert(!gateway.is_away);
}
END_TEST

/* Over a limit, a key loses the sessions that the part that is read does not cover, and no others.
 */
START_TEST(a_key_is_over_the_limits)
{
    const struct session *others = add_session(0, false);
    const struct session *own[] = {add_session(2, true), add_session(2, true)};

    begin();
    be_over(&keys[2], _i % 2 == 0);
    keys[2].rule = _i < 2 ? "bind:b:1" : NULL;
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert(own[0]->is_ending && own[1]->is_ending);
    ck_assert(!others->is_ending);
    ck_assert(!gateway.is_away);
    ck_assert_int_eq(keys[2].n_look_ups, 1);
}
END_TEST

/* Who adds credentials with somebody else's key ends no session, and has it read only once. */
START_TEST(a_key_grows_over_the_limits)
{
    const struct session *session = add_session(2, false);

    begin();
    be_over(&keys[2], _i == 0);
    for (int i = 0; i < 3; i++) {
        judge_sweep(&gateway);
        judge_on(20);
        ck_assert(!session->is_ending);
        ck_assert_int_eq(session->mark, SESSION_JUDGED);
        ck_assert_int_eq(keys[2].n_look_ups, 1);
    }
}
END_TEST

/* However soon the next sweep comes, all are judged. */
START_TEST(sweeps_come_before_the_last_is_done)
{
    const struct session *gone;

    for (size_t i = 0; i < N_KEYS; i++) {
        if (i != 90)
            add_session(i, false);
    }
    gone = add_session(90, true);
    begin();
    takes_a_turn = true;
    keys[90].n = 0;
    for (int i = 0; i < 3 && !gone->is_ending; i++) {
        judge_sweep(&gateway);
        judge();
    }
    ck_assert(gone->is_ending);
}
END_TEST

/* Keys that change all the time, and have fewer credentials, keep none from its turn. */
START_TEST(others_change_all_the_time)
{
    const struct session *gone;

    for (size_t i = 3; i < 10; i++)
        add_session(i, false);
    gone = add_session(2, true);
    begin();
    takes_a_turn = true;
    keys[2].n = 2;
    keys[2].rule = "bind:b:1";
    snprintf(keys[2].digest, sizeof keys[2].digest, "another");
    for (int i = 0; i < 20 && !gone->is_ending; i++) {
        for (size_t j = 3; j < 10; j++)
            snprintf(keys[j].digest, sizeof keys[j].digest, "%d", i);
        judge_sweep(&gateway);
        judge();
    }
    ck_assert(gone->is_ending);
}
END_TEST

/* What the feed names is judged first, and does not wait for a key that is late. */
START_TEST(a_named_key_is_first)
{
    const struct session *gone;

    for (size_t i = 0; i < N_KEYS; i++) {
        if (i != 90)
            add_session(i, false);
    }
    gone = add_session(90, true);
    begin();
    keys[1].is_late = true;
    judge_sweep(&gateway);
    keys[90].n = 0;
    named = &keys[90];
    judge();
    ck_assert(gone->is_ending);
    ck_assert_int_eq(count_look_ups(), 0);
}
END_TEST

/* A key that is late alone loses its sessions, and all others are judged meanwhile. */
START_TEST(a_key_is_late)
{
    const struct session *late = add_session(1, true);
    const struct session *gone = add_session(90, true);

    for (size_t i = 0; i < N_KEYS; i++) {
        if (i != 1 && i != 90)
            add_session(i, false);
    }
    begin();
    keys[1].is_late = true;
    judge_sweep(&gateway);
    keys[90].n = 0;
    for (int i = 0; i < 3 * N_KEYS && !gone->is_ending; i++)
        judge();
    ck_assert(gone->is_ending);
    judge_on(3 * N_KEYS);
    ck_assert(late->is_ending);
    ck_assert_int_eq(gateway.is_away, false);
    for (size_t i = 0; i < gateway.sessions.n; i++) {
        const struct session *session = gateway.sessions.items[i];

        ck_assert_int_eq(session->is_ending, session == late || session == gone);
        ck_assert_int_eq(session->mark, SESSION_JUDGED);
    }
}
END_TEST

/* If the database answers for no key, it is at fault, and all sessions stay. */
START_TEST(the_database_is_late)
{
    const struct session *session = add_session(1, false);

    begin();
    table_is_late = true;
    judge_sweep(&gateway);
    for (int i = 0; i < 20; i++)
        judge();
    ck_assert(!session->is_ending);
    ck_assert(gateway.is_away);
    table_is_late = false;
    judge_on(20);
    ck_assert(!session->is_ending);
    ck_assert_int_eq(session->mark, SESSION_JUDGED);
    ck_assert_int_eq(session->n_strikes, 0);
}
END_TEST

/* The answer for another key waited for the same lock. */
START_TEST(a_lock_ends_during_the_last_question)
{
    const struct session *session = add_session(1, false);

    begin();
    lock_is_held = true;
    judge_sweep(&gateway);
    for (int i = 0; i < MARKED_STRIKES_MAX; i++)
        judge();
    ck_assert(lock_is_held);
    ck_assert_int_eq(session->n_strikes, MARKED_STRIKES_MAX);
    judge_on(20);
    ck_assert(!lock_is_held);
    ck_assert(!session->is_ending);
    ck_assert_int_eq(session->mark, SESSION_JUDGED);
    ck_assert_int_eq(session->n_strikes, 0);
}
END_TEST

/* Logins that come together do not pay for a turn each. */
START_TEST(events_do_not_wait_for_judging)
{
    sigset_t stop_signal;
    int fds[31];

    for (size_t i = 0; i < N_KEYS; i++) {
        struct session *session = add_session(i, false);

        session->pid = getpid();
        session->fd = eventfd(0, EFD_CLOEXEC);
        ck_assert_int_ge(session->fd, 0);
    }
    gateway.epoll = epoll_create1(EPOLL_CLOEXEC);
    ck_assert_int_ge(gateway.epoll, 0);
    for (size_t i = 0; i < 31; i++) {
        fds[i] = eventfd(i > 0, EFD_CLOEXEC);
        ck_assert_int_ge(fds[i], 0);
        ck_assert(i == 0 || loop_watch(gateway.epoll, fds[i], LOOP_PROCESS));
    }
    gateway.conf.gateway.poll_ms = gateway.conf.gateway.sweep_ms = 60000;
    takes_a_turn = true;
    /* It comes with the other events, and the loop ends after them. */
    ck_assert(sigemptyset(&stop_signal) == 0 && sigaddset(&stop_signal, SIGTERM) == 0 &&
              sigprocmask(SIG_BLOCK, &stop_signal, NULL) == 0 && raise(SIGTERM) == 0);
    ck_assert(loop_run(&gateway, fds[0]));
    ck_assert_int_eq(n_polls, 1);
    ck_assert_int_eq(n_glances, 1);
    for (size_t i = 0; i < 31; i++)
        close(fds[i]);
    close(gateway.epoll);
}
END_TEST

START_TEST(an_offered_key_is_over_the_limits)
{
    struct arena arena = {0};
    struct judge_grant grant;
    const char *why;

    keys[0].is_over = true;
    ck_assert_int_eq(
        judge_key(&gateway, &arena, text_of(A), text_of(keys[0].fingerprint), &grant, &why),
        JUDGE_OVER);
    ck_assert_str_eq(why, GRANT_OVER);
    ck_assert(!gateway.is_away);
    arena_free(&arena);
}
END_TEST

Suite *gateway_judge_volume_suite(void)
{
    Suite *suite = suite_create("gateway/judge_volume");
    TCase *tcase = tcase_create("judge_volume");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, start, stop);
    tcase_add_test(tcase, sessions_share_a_key);
    tcase_add_test(tcase, only_changed_rules_are_read);
    tcase_add_loop_test(tcase, others_add_to_older_credentials, 0, 2);
    tcase_add_loop_test(tcase, a_key_is_over_the_limits, 0, 4);
    tcase_add_loop_test(tcase, a_key_grows_over_the_limits, 0, 2);
    tcase_add_test(tcase, sweeps_come_before_the_last_is_done);
    tcase_add_test(tcase, others_change_all_the_time);
    tcase_add_test(tcase, a_named_key_is_first);
    tcase_add_test(tcase, a_key_is_late);
    tcase_add_test(tcase, the_database_is_late);
    tcase_add_test(tcase, a_lock_ends_during_the_last_question);
    tcase_add_test(tcase, events_do_not_wait_for_judging);
    tcase_add_test(tcase, an_offered_key_is_over_the_limits);
    suite_add_tcase(suite, tcase);
    return suite;
}
