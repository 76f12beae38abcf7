/* SPDX-License-Identifier: MIT */
/* Tests of judging sessions of many keys, of which some have much or are late. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "gateway/crowd.h"
#include "gateway/fake_keys.h"
#include "gateway/judge.h"
#include "gateway/loop.h"
#include "gateway/marked.h"
#include "gateway/proc.h"
#include "gateway/watched.h"
#include "model/ssh_decision.h"
#include "suites.h"

static struct gateway gateway;

/* ---- the gateway ---- */

static void start(void)
{
    fake_keys_start(&gateway);
}

static void stop(void)
{
    fake_keys_stop(&gateway);
}

static struct ssh_session *add_session(size_t i, bool ends)
{
    return fake_keys_add_session(&gateway, i, ends);
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
    fake_database.n_glances = 0;
    for (size_t i = 0; i < N_KEYS; i++)
        fake_keys[i].n_look_ups = 0;
}

static int count_look_ups(void)
{
    int n = 0;

    for (size_t i = 0; i < N_KEYS; i++)
        n += fake_keys[i].n_look_ups;
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
    ck_assert_int_eq(fake_database.n_glances, 1);
    ck_assert_int_eq(fake_keys[0].n_look_ups, 0);
    snprintf(fake_keys[0].digest, sizeof fake_keys[0].digest, "another");
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_int_eq(fake_keys[0].n_look_ups, 1);
    for (size_t i = 0; i < gateway.sessions.n; i++) {
        ck_assert_int_eq(gateway.sessions.items[i]->mark, SSH_SESSION_JUDGED);
        ck_assert_str_eq(gateway.sessions.items[i]->digest, "another");
    }
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_int_eq(fake_keys[0].n_look_ups, 1);
}
END_TEST

START_TEST(only_changed_rules_are_read)
{
    for (size_t i = 0; i < N_KEYS; i++)
        add_session(i, false);
    begin();
    snprintf(fake_keys[7].digest, sizeof fake_keys[7].digest, "another");
    fake_keys[7].rule = "bind:*";
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_int_eq(fake_database.n_glances, 2);
    ck_assert_int_eq(count_look_ups(), 1);
    ck_assert_int_eq(fake_keys[7].n_look_ups, 1);
}
END_TEST

/* Somebody adds rules to credentials of the key that are older than those of a session. */
START_TEST(others_add_to_older_credentials)
{
    const struct ssh_session *own = add_session(2, false);
    struct ssh_session *other = add_session(2, true);
    struct text ids[] = {text_of("sshcr_1"), text_of("sshcr_3")};
    struct text rule = text_of("bind:c:1");

    ck_assert(ssh_session_set_lists(other, (struct text_list){ids, 2, true},
                                    (struct text_list){&rule, 1, true}));
    begin();
    fake_keys[2].own = fake_keys[2].rule;
    fake_keys[2].rule = _i == 0 ? "bind:b:1" : NULL;
    fake_key_exceed(&fake_keys[2], false);
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert(!own->is_ending);
    ck_assert_int_eq(own->mark, SSH_SESSION_JUDGED);
    ck_assert(other->is_ending);
    ck_assert(!gateway.is_away);
}
END_TEST

/* Over a limit, a key loses the sessions that the part that is read does not cover, and no others.
 */
START_TEST(a_key_is_over_the_limits)
{
    const struct ssh_session *others = add_session(0, false);
    const struct ssh_session *own[] = {add_session(2, true), add_session(2, true)};

    begin();
    fake_key_exceed(&fake_keys[2], _i % 2 == 0);
    fake_keys[2].rule = _i < 2 ? "bind:b:1" : NULL;
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert(own[0]->is_ending && own[1]->is_ending);
    ck_assert(!others->is_ending);
    ck_assert(!gateway.is_away);
    ck_assert_int_eq(fake_keys[2].n_look_ups, 1);
}
END_TEST

/* Who adds credentials with somebody else's key ends no session, and has it read only once. */
START_TEST(a_key_grows_over_the_limits)
{
    const struct ssh_session *session = add_session(2, false);

    begin();
    fake_key_exceed(&fake_keys[2], _i == 0);
    for (int i = 0; i < 3; i++) {
        judge_sweep(&gateway);
        judge_on(20);
        ck_assert(!session->is_ending);
        ck_assert_int_eq(session->mark, SSH_SESSION_JUDGED);
        ck_assert_int_eq(fake_keys[2].n_look_ups, 1);
    }
}
END_TEST

/* Over a limit, what the owners with little have covers their sessions, even where neither the part
 * that is read first does, nor what the session stood on. */
START_TEST(others_have_little_of_a_key)
{
    struct text rule = text_of("bind:b:1"), id = text_of("sshcr_gone");
    struct ssh_session *session = add_session(2, _i == 1);

    ck_assert(ssh_session_set_lists(session, (struct text_list){&id, 1, true},
                                    (struct text_list){&rule, 1, true}));
    begin();
    fake_key_exceed(&fake_keys[2], false);
    fake_keys[2].own = "bind:z:1";
    fake_keys[2].rest = _i == 0 ? "bind:b:1" : "bind:c:1";
    for (int i = 0; i < 3; i++) {
        judge_sweep(&gateway);
        judge_on(20);
        ck_assert_int_eq(session->is_ending, _i);
    }
    ck_assert_int_eq(fake_keys[2].n_look_ups, 1);
    ck_assert(_i || text_eq(session->credential_ids.items[0], text_of(REST_ID)));
    ck_assert(!gateway.is_away);
}
END_TEST

/* Whoever adds credentials to a key has its sessions take more, up to what the account may have:
 * beyond that, they know the key by what they knew. */
START_TEST(there_is_no_room_for_more_credentials)
{
    const struct ssh_session *session = add_session(2, false);
    const struct ssh_session *another = add_session(2, false);

    if (_i > 0)
        add_session(0, false)->list_bytes = CROWD_ACCOUNT_BYTES_MAX;
    begin();
    snprintf(fake_keys[2].credential_id, sizeof fake_keys[2].credential_id, "sshcr_longer");
    snprintf(fake_keys[2].digest, sizeof fake_keys[2].digest, "another");
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert(!session->is_ending && !another->is_ending);
    ck_assert_int_eq(session->mark, SSH_SESSION_JUDGED);
    ck_assert_str_eq(session->credential_ids.items[0].s, _i > 0 ? "sshcr_2" : "sshcr_longer");
    ck_assert_str_eq(another->credential_ids.items[0].s, _i > 0 ? "sshcr_2" : "sshcr_longer");
}
END_TEST

/* What is added to a login that goes on is its own, whether its owner's sessions have room or not.
 */
START_TEST(a_login_knows_more_credentials)
{
    struct ssh_session *login = add_session(2, false), *session = add_session(2, false);

    login->login_pid = 1;
    add_session(0, false)->list_bytes = _i == 0 ? CROWD_ACCOUNT_BYTES_MAX : 0;
    if (_i > 0) {
        struct ssh_session *another = add_session(1, false);

        another->list_bytes = CROWD_LOGINS_BYTES_MAX;
        another->login_pid = 1;
    }
    begin();
    snprintf(fake_keys[2].credential_id, sizeof fake_keys[2].credential_id, "sshcr_longer");
    snprintf(fake_keys[2].digest, sizeof fake_keys[2].digest, "another");
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_str_eq(login->credential_ids.items[0].s, _i == 0 ? "sshcr_longer" : "sshcr_2");
    ck_assert_str_eq(session->credential_ids.items[0].s, _i > 0 ? "sshcr_longer" : "sshcr_2");
}
END_TEST

static const char *credential_of(const struct ssh_session *session)
{
    return session->credential_ids.items[0].s;
}

/* Sessions of a key can count for several owners, of whom one has no room. */
START_TEST(one_owner_has_no_room)
{
    struct ssh_session *first = add_session(2, false), *second = add_session(2, false);
    struct ssh_session *full = _i == 0 ? first : second, *roomy = _i == 0 ? second : first;
    struct ssh_session *much = add_session(0, false);

    snprintf(full->owner_id, sizeof full->owner_id, "usr_1");
    snprintf(roomy->owner_id, sizeof roomy->owner_id, "usr_2");
    snprintf(much->owner_id, sizeof much->owner_id, "usr_1");
    much->list_bytes = CROWD_ACCOUNT_BYTES_MAX / 2;
    begin();
    snprintf(fake_keys[2].credential_id, sizeof fake_keys[2].credential_id, "sshcr_longer");
    snprintf(fake_keys[2].digest, sizeof fake_keys[2].digest, "another");
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert_str_eq(credential_of(full), "sshcr_2");
    ck_assert_str_eq(credential_of(roomy), "sshcr_longer");
}
END_TEST

/* What no glance tells of is read in each sweep, and its end seen. */
START_TEST(others_have_what_no_glance_sees)
{
    struct text rule = text_of("bind:b:1"), id = text_of(REST_ID);
    struct ssh_session *session = add_session(2, true);

    ck_assert(ssh_session_set_lists(session, (struct text_list){&id, 1, true},
                                    (struct text_list){&rule, 1, true}));
    begin();
    fake_key_exceed(&fake_keys[2], true);
    fake_keys[2].own = "bind:z:1";
    fake_keys[2].rest = "bind:b:1";
    fake_keys[2].rest_is_hidden = true;
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert(!session->is_ending);
    fake_keys[2].rest = NULL;
    judge_sweep(&gateway);
    judge_on(20);
    ck_assert(session->is_ending);
}
END_TEST

/* However soon the next sweep comes, all are judged. */
START_TEST(sweeps_come_before_the_last_is_done)
{
    const struct ssh_session *gone;

    for (size_t i = 0; i < N_KEYS; i++) {
        if (i != 90)
            add_session(i, false);
    }
    gone = add_session(90, true);
    begin();
    fake_database.takes_a_turn = true;
    fake_keys[90].n = 0;
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
    const struct ssh_session *gone;

    for (size_t i = 3; i < 10; i++)
        add_session(i, false);
    gone = add_session(2, true);
    begin();
    fake_database.takes_a_turn = true;
    fake_keys[2].n = 2;
    fake_keys[2].rule = "bind:b:1";
    snprintf(fake_keys[2].digest, sizeof fake_keys[2].digest, "another");
    for (int i = 0; i < 20 && !gone->is_ending; i++) {
        for (size_t j = 3; j < 10; j++)
            snprintf(fake_keys[j].digest, sizeof fake_keys[j].digest, "%d", i);
        judge_sweep(&gateway);
        judge();
    }
    ck_assert(gone->is_ending);
}
END_TEST

/* What the feed names is judged first, and does not wait for a key that is late. */
START_TEST(a_named_key_is_first)
{
    const struct ssh_session *gone;

    for (size_t i = 0; i < N_KEYS; i++) {
        if (i != 90)
            add_session(i, false);
    }
    gone = add_session(90, true);
    begin();
    fake_keys[1].is_late = true;
    judge_sweep(&gateway);
    fake_keys[90].n = 0;
    fake_database.named = &fake_keys[90];
    judge();
    ck_assert(gone->is_ending);
    ck_assert_int_eq(count_look_ups(), 0);
}
END_TEST

/* A key that is late alone loses its sessions, and all others are judged meanwhile. */
START_TEST(a_key_is_late)
{
    const struct ssh_session *late = add_session(1, true);
    const struct ssh_session *gone = add_session(90, true);

    for (size_t i = 0; i < N_KEYS; i++) {
        if (i != 1 && i != 90)
            add_session(i, false);
    }
    begin();
    fake_keys[1].is_late = true;
    judge_sweep(&gateway);
    fake_keys[90].n = 0;
    for (int i = 0; i < 3 * N_KEYS && !gone->is_ending; i++)
        judge();
    ck_assert(gone->is_ending);
    judge_on(3 * N_KEYS);
    ck_assert(late->is_ending);
    ck_assert_int_eq(gateway.is_away, false);
    for (size_t i = 0; i < gateway.sessions.n; i++) {
        const struct ssh_session *session = gateway.sessions.items[i];

        ck_assert_int_eq(session->is_ending, session == late || session == gone);
        ck_assert_int_eq(session->mark, SSH_SESSION_JUDGED);
    }
}
END_TEST

/* All that is read of a key is in time, but for what its sessions stand on. */
START_TEST(what_a_session_stands_on_is_late)
{
    const struct ssh_session *other = add_session(0, false);
    const struct ssh_session *late = add_session(2, true);

    begin();
    fake_key_exceed(&fake_keys[2], false);
    fake_keys[2].rule = "bind:b:1";
    fake_keys[2].own_is_late = true;
    judge_sweep(&gateway);
    judge_on(5 * MARKED_STRIKES_MAX);
    ck_assert(late->is_ending);
    ck_assert(!other->is_ending);
    ck_assert(!gateway.is_away);
}
END_TEST

/* What a session stands on does not say what became of its key. */
START_TEST(all_that_is_read_is_late)
{
    const struct ssh_session *session = add_session(1, false);

    begin();
    snprintf(fake_keys[1].digest, sizeof fake_keys[1].digest, "another");
    fake_keys[1].whole_is_late = true;
    judge_sweep(&gateway);
    judge();
    ck_assert(gateway.is_away);
    ck_assert_int_eq(session->mark, SSH_SESSION_CHANGED);
    ck_assert_int_eq(session->n_strikes, 1);
}
END_TEST

/* If the database answers for no key, it is at fault, and all sessions stay. */
START_TEST(the_database_is_late)
{
    const struct ssh_session *session = add_session(1, false);

    begin();
    fake_database.table_is_late = true;
    judge_sweep(&gateway);
    judge();
    ck_assert(gateway.is_away);
    for (int i = 1; i < 20; i++)
        judge();
    ck_assert(!session->is_ending);
    ck_assert(gateway.is_away);
    fake_database.table_is_late = false;
    judge_on(20);
    ck_assert(!session->is_ending);
    ck_assert_int_eq(session->mark, SSH_SESSION_JUDGED);
    ck_assert_int_eq(session->n_strikes, 0);
    /* It is asked about more keys at once again. */
    ck_assert_uint_gt(gateway.glance_max, 1);
}
END_TEST

/* The answer for another key waited for the same lock. */
START_TEST(a_lock_ends_during_the_last_question)
{
    const struct ssh_session *session = add_session(1, false);

    begin();
    fake_database.lock_is_held = true;
    judge_sweep(&gateway);
    for (int i = 0; i < MARKED_STRIKES_MAX; i++)
        judge();
    ck_assert(fake_database.lock_is_held);
    ck_assert_int_eq(session->n_strikes, MARKED_STRIKES_MAX);
    judge_on(20);
    ck_assert(!fake_database.lock_is_held);
    ck_assert(!session->is_ending);
    ck_assert_int_eq(session->mark, SSH_SESSION_JUDGED);
    ck_assert_int_eq(session->n_strikes, 0);
}
END_TEST

/* Logins that come together do not pay for a turn each. */
START_TEST(events_do_not_wait_for_judging)
{
    sigset_t stop_signal;
    int fds[31];

    for (size_t i = 0; i < N_KEYS; i++) {
        struct ssh_session *session = add_session(i, false);

        session->pid = getpid();
        session->fd = eventfd(0, EFD_CLOEXEC);
        ck_assert_int_ge(session->fd, 0);
    }
    gateway.epoll = epoll_create1(EPOLL_CLOEXEC);
    ck_assert_int_ge(gateway.epoll, 0);
    for (size_t i = 0; i < 31; i++) {
        fds[i] = eventfd(i > 0, EFD_CLOEXEC);
        ck_assert_int_ge(fds[i], 0);
        ck_assert(i == 0 || watched_add(gateway.epoll, fds[i], WATCHED_PROCESS));
    }
    gateway.conf.gateway.poll_ms = gateway.conf.gateway.sweep_ms = 60000;
    fake_database.takes_a_turn = true;
    /* It comes with the other events, and the loop ends after them. */
    ck_assert(sigemptyset(&stop_signal) == 0 && sigaddset(&stop_signal, SIGTERM) == 0 &&
              sigprocmask(SIG_BLOCK, &stop_signal, NULL) == 0 && raise(SIGTERM) == 0);
    ck_assert(loop_run(&gateway, fds[0]));
    ck_assert_int_eq(fake_database.n_polls, 1);
    ck_assert_int_eq(fake_database.n_glances, 1);
    for (size_t i = 0; i < 31; i++)
        close(fds[i]);
    close(gateway.epoll);
}
END_TEST

/* However many rules each session of a key was granted, a turn ends after the first. */
START_TEST(sessions_of_a_key_differ)
{
    static char rules[5][32];
    size_t n_judged = 0;

    for (size_t i = 0; i < 5; i++) {
        struct ssh_session *session = add_session(2, false);
        struct text id = text_of(fake_keys[2].credential_id), rule;

        snprintf(rules[i], sizeof rules[i], "bind:b%zu.a:1", i);
        rule = text_of(rules[i]);
        ck_assert(ssh_session_set_lists(session, (struct text_list){&id, 1, true},
                                        (struct text_list){&rule, 1, true}));
    }
    begin();
    fake_keys[2].rule = "bind:*";
    snprintf(fake_keys[2].digest, sizeof fake_keys[2].digest, "another");
    judge_sweep(&gateway);
    fake_database.takes_a_turn = true;
    ck_assert(!judge());
    for (size_t i = 0; i < 5; i++)
        n_judged += gateway.sessions.items[i]->mark == SSH_SESSION_JUDGED;
    ck_assert_uint_eq(n_judged, 1);
    judge_on(20);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(gateway.sessions.items[i]->mark, SSH_SESSION_JUDGED);
        ck_assert(!gateway.sessions.items[i]->is_ending);
    }
    ck_assert(!gateway.is_away);
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
    tcase_add_loop_test(tcase, others_have_little_of_a_key, 0, 2);
    tcase_add_loop_test(tcase, there_is_no_room_for_more_credentials, 0, 2);
    tcase_add_loop_test(tcase, one_owner_has_no_room, 0, 2);
    tcase_add_loop_test(tcase, a_login_knows_more_credentials, 0, 2);
    tcase_add_test(tcase, others_have_what_no_glance_sees);
    tcase_add_test(tcase, sweeps_come_before_the_last_is_done);
    tcase_add_test(tcase, others_change_all_the_time);
    tcase_add_test(tcase, a_named_key_is_first);
    tcase_add_test(tcase, a_key_is_late);
    tcase_add_test(tcase, what_a_session_stands_on_is_late);
    tcase_add_test(tcase, all_that_is_read_is_late);
    tcase_add_test(tcase, the_database_is_late);
    tcase_add_test(tcase, a_lock_ends_during_the_last_question);
    tcase_add_test(tcase, events_do_not_wait_for_judging);
    tcase_add_test(tcase, sessions_of_a_key_differ);
    suite_add_tcase(suite, tcase);
    return suite;
}
