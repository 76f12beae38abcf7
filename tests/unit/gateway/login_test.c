/* SPDX-License-Identifier: MIT */
/* Tests of sessions whose clients have not logged in yet. */
#include "gateway/login.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/crowd.h"
#include "gateway/faults.h"
#include "gateway/folder.h"
#include "gateway/monitor.h"
#include "gateway/proc.h"
#include "gateway/session_file.h"
#include "gateway/ssh_session.h"
#include "gateway/state.h"
#include "suites.h"

static const struct log quiet = {.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};

static struct ssh_session *add_session(struct ssh_sessions *sessions, const struct monitor *monitor)
{
    struct ssh_session *session;
    struct proc proc;
    int fd;

    ck_assert(proc_read(monitor->pid, &proc));
    fd = proc_open(proc.pid, proc.started);
    ck_assert_int_ge(fd, 0);
    session = ssh_sessions_add(sessions, proc.pid, proc.started, fd);
    ck_assert_ptr_nonnull(session);
    snprintf(session->account_id, sizeof session->account_id, "ac_000000000000000000000000001");
    snprintf(session->fingerprint, sizeof session->fingerprint,
             "SHA256:0123456789012345678901234567890123456789012");
    return session;
}

/* Registers a session whose client has not logged in yet. */
static struct ssh_session *add_login(struct ssh_sessions *sessions, const struct monitor *monitor)
{
    struct ssh_session *session = add_session(sessions, monitor);

    ck_assert(ssh_session_find_login(session, getpid()));
    ck_assert_int_eq(session->login_pid, monitor->child);
    return session;
}

/* The process that asks is below the monitor, too.  Not every kernel tells which processes are. */
START_TEST(a_login_goes_on_until_its_process_exits)
{
    struct ssh_sessions sessions = {0};
    struct ssh_session *session;
    struct monitor monitor;
    int fd, status = 0;

    monitor_start(&monitor, "sshd", false);
    faults_hide_children(_i > 0);
    session = add_session(&sessions, &monitor);
    ck_assert(ssh_session_find_login(session, monitor.child));
    ck_assert_int_eq(session->login_pid, 0);
    ssh_sessions_remove(&sessions, session);
    session = add_login(&sessions, &monitor);
    fd = session->children[0];
    ssh_sessions_track(&sessions);
    ck_assert_int_eq(session->children[0], fd);
    ck_assert_ptr_null(ssh_sessions_end_login(&sessions, fd));
    ck_assert_ptr_null(ssh_sessions_end_login(&sessions, session->fd));
    ck_assert_int_gt(session->login_pid, 0);
    kill(monitor.child, SIGKILL);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
    ssh_sessions_track(&sessions);
    ck_assert_ptr_eq(ssh_sessions_end_login(&sessions, fd), session);
    ck_assert_int_eq(session->login_pid, 0);
    ck_assert_ptr_null(ssh_sessions_end_login(&sessions, fd));
    ssh_sessions_free(&sessions);
    faults_hide_children(false);
    monitor_stop(&monitor);
}
END_TEST

/* Leaves so many free. */
static struct rlimit limit_descriptors(int n)
{
    struct rlimit before, low;
    int fd = dup(STDERR_FILENO);

    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = (rlim_t)fd + (rlim_t)n;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    return before;
}

/* Without descriptors nobody knows whether a login goes on: it does not count as proved. */
START_TEST(a_login_that_cannot_be_found_is_refused)
{
    struct gateway gateway = {.epoll = -1};
    struct ssh_session *session;
    struct monitor monitor;
    struct rlimit before;
    bool ok;

    monitor_start(&monitor, "sshd", false);
    session = add_session(&gateway.sessions, &monitor);
    faults_hide_children(_i >= 2);
    before = limit_descriptors(_i % 2);
    ok = login_begin(&gateway, session, getpid());
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert(!ok);
    ck_assert_int_eq(session->login_pid, 0);
    ssh_sessions_free(&gateway.sessions);
    faults_hide_children(false);
    monitor_stop(&monitor);
}
END_TEST

/* The loop hears of the process, but nothing has logged in. */
START_TEST(a_login_that_is_ended_does_not_succeed)
{
    struct ssh_sessions sessions = {0};
    struct ssh_session *session;
    struct monitor monitor;
    int status = 0;

    monitor_start(&monitor, "sshd", false);
    session = add_login(&sessions, &monitor);
    if (_i == 0)
        ssh_session_end(&sessions, session, SSH_SESSION_STOPPED, &quiet, clock_steady_ms());
    else
        kill(monitor.pid, SIGKILL);
    ck_assert_int_eq(session->login_pid > 0, _i > 0);
    kill(monitor.child, SIGKILL);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    ck_assert_ptr_null(ssh_sessions_end_login(&sessions, session->children[0]));
    ck_assert_int_eq(session->login_pid, 0);
    ssh_sessions_free(&sessions);
}
END_TEST

static int count_lines(FILE *log)
{
    char line[1024];
    int n = 0;

    ck_assert_int_eq(fseek(log, 0, SEEK_SET), 0);
    while (fgets(line, sizeof line, log))
        n++;
    return n;
}

/* A stranger can begin many of them; what has logged in has a line each. */
START_TEST(logins_that_end_do_not_fill_the_log)
{
    static struct log_limit limit;
    const struct log log = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_STDERR, .limit = &limit};
    struct ssh_sessions sessions = {0};
    struct ssh_session *session;
    struct monitor monitor;
    FILE *file = tmpfile();
    int status = 0;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(dup2(fileno(file), STDERR_FILENO), 0);
    monitor_start(&monitor, "sshd", false);
    session = add_login(&sessions, &monitor);
    for (int i = 0; i < 10 * LOG_BURST; i++) {
        session->is_ending = false;
        session->login_pid = _i == 0 ? monitor.child : 0;
        ssh_session_end(&sessions, session, SSH_SESSION_CROWD, &log, clock_steady_ms());
    }
    if (_i == 0)
        ck_assert_int_lt(count_lines(file), 5 * LOG_BURST);
    else
        ck_assert_int_eq(count_lines(file), 10 * LOG_BURST);
    kill(monitor.child, SIGKILL);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    ssh_sessions_free(&sessions);
    fclose(file);
}
END_TEST

/* What was a login before the daemon stopped still is one, unless its process has exited. */
START_TEST(a_login_is_taken_up_from_its_file)
{
    struct ssh_sessions before = {0}, after = {0};
    struct ssh_session *session;
    struct state state;
    struct monitor monitor;
    const char *what;
    int status = 0;

    folder_make();
    ck_assert_msg(state_open(&state, folder, &what), "%s", what);
    monitor_start(&monitor, "sshd", false);
    session = add_login(&before, &monitor);
    snprintf(session->owner_id, sizeof session->owner_id, "usr_1");
    ck_assert(session_file_write(&state, session));
    ck_assert(session_files_read(&state, &after, &quiet));
    session = after.items[0];
    ck_assert_int_eq(session->login_pid, monitor.child);
    ck_assert_uint_eq(session->owner_ids.n, 1);
    ck_assert_str_eq(session->owner_ids.items[0].s, "usr_1");
    ssh_sessions_free(&after);
    kill(monitor.child, SIGKILL);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
    ck_assert(session_files_read(&state, &after, &quiet));
    ck_assert_uint_eq(after.n, 1);
    ck_assert_int_eq(after.items[0]->login_pid, 0);
    ssh_sessions_free(&before);
    ssh_sessions_free(&after);
    monitor_stop(&monitor);
    state_close(&state);
    folder_remove();
}
END_TEST

/* Meanwhile another session has taken the last room of the first owner. */
START_TEST(a_login_is_judged_when_it_succeeds)
{
    struct text owners[] = {text_of("usr_1"), text_of("usr_2")};
    struct gateway gateway = {.conf = {.gateway = {.sessions_of_account = 2}, .log = quiet}};
    struct ssh_sessions *sessions = &gateway.sessions;
    struct ssh_session *session;
    struct monitor monitor, other;
    const char *what;
    int status = 0;

    folder_make();
    ck_assert_msg(state_open(&gateway.state, folder, &what), "%s", what);
    monitor_start(&monitor, "sshd", false);
    monitor_start(&other, "sshd", false);
    session = add_login(sessions, &monitor);
    snprintf(session->owner_id, sizeof session->owner_id, "usr_1");
    ck_assert(ssh_session_set_owners(session, (struct text_list){owners, _i == 0 ? 2 : 1, true}));
    snprintf(add_session(sessions, &other)->owner_id, IDENT_SIZE, "usr_1");
    login_end(&gateway, session->children[0]);
    ck_assert_str_eq(session->owner_id, "usr_1");
    kill(monitor.child, SIGKILL);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
    login_end(&gateway, session->children[0]);
    ck_assert_int_eq(session->is_ending, _i > 0);
    ck_assert_uint_eq(sessions->n_ended[SSH_SESSION_CROWD], _i > 0);
    ck_assert_str_eq(session->owner_id, _i == 0 ? "usr_2" : "usr_1");
    ck_assert_uint_eq(session->owner_ids.n, 0);
    ssh_sessions_free(sessions);
    monitor_stop(&monitor);
    monitor_stop(&other);
    state_close(&gateway.state);
    folder_remove();
}
END_TEST

/* Sets the limit so that one login may go on. */
static struct rlimit limit_logins(void)
{
    struct rlimit before, low;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = CROWD_OTHER_DESCRIPTORS + 2 * 4;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    return before;
}

/* The oldest login gives way, but not if its client has logged in, which no event has told yet. */
START_TEST(a_login_that_has_succeeded_gives_no_way)
{
    struct gateway gateway = {.conf = {.log = quiet}};
    struct ssh_sessions *sessions = &gateway.sessions;
    struct ssh_session *older, *newer;
    struct monitor monitors[2];
    struct rlimit before;
    const char *what;
    int status = 0;

    folder_make();
    ck_assert_msg(state_open(&gateway.state, folder, &what), "%s", what);
    monitor_start(&monitors[0], "sshd", false);
    monitor_start(&monitors[1], "sshd", false);
    older = add_login(sessions, &monitors[0]);
    newer = add_login(sessions, &monitors[1]);
    if (_i > 0) {
        kill(monitors[0].child, SIGKILL);
        ck_assert(monitor_wait_for_exit(monitors[0].child, &status));
    }
    before = limit_logins();
    login_make_room(&gateway, newer);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(older->is_ending, _i == 0);
    ck_assert_int_eq(older->login_pid, 0);
    ck_assert(!newer->is_ending);
    ck_assert_int_gt(newer->login_pid, 0);
    ssh_sessions_free(sessions);
    monitor_stop(&monitors[0]);
    monitor_stop(&monitors[1]);
    state_close(&gateway.state);
    folder_remove();
}
END_TEST

/* Ends the run of a gateway, and begins the next one. */
static void restart(struct gateway *gateway)
{
    ssh_sessions_free(&gateway->sessions);
    ck_assert(session_files_read(&gateway->state, &gateway->sessions, &quiet));
    login_judge_former(gateway);
}

/* Among those of the run before, of which each has been judged already. */
START_TEST(a_login_succeeds_while_no_daemon_runs)
{
    struct gateway gateway = {
        .conf = {.gateway = {.sessions_of_key = _i == 0 ? 1 : 2}, .log = quiet}};
    struct text owner = text_of("usr_1");
    struct ssh_session *session;
    struct monitor monitor, other;
    const char *what;
    int status = 0;

    folder_make();
    ck_assert_msg(state_open(&gateway.state, folder, &what), "%s", what);
    monitor_start(&monitor, "sshd", false);
    monitor_start(&other, "sshd", false);
    ck_assert(session_file_write(&gateway.state, add_login(&gateway.sessions, &monitor)));
    session = add_login(&gateway.sessions, &other);
    ck_assert(ssh_session_set_owners(session, (struct text_list){&owner, 1, true}));
    ck_assert(session_file_write(&gateway.state, session));
    kill(other.child, SIGKILL);
    ck_assert(monitor_wait_for_exit(other.child, &status));
    login_end(&gateway, session->children[0]);
    ck_assert(!session->is_ending);
    kill(monitor.child, SIGKILL);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
    restart(&gateway);
    ck_assert_uint_eq(gateway.sessions.n, 2);
    ck_assert_int_eq(ssh_sessions_find(&gateway.sessions, monitor.pid)->is_ending, _i == 0);
    ck_assert(!ssh_sessions_find(&gateway.sessions, other.pid)->is_ending);
    gateway.conf.gateway.sessions_of_key = 1;
    restart(&gateway);
    for (size_t i = 0; _i > 0 && i < gateway.sessions.n; i++)
        ck_assert(!gateway.sessions.items[i]->is_ending);
    ssh_sessions_free(&gateway.sessions);
    monitor_stop(&monitor);
    monitor_stop(&other);
    state_close(&gateway.state);
    folder_remove();
}
END_TEST

Suite *gateway_login_suite(void)
{
    Suite *suite = suite_create("gateway/login");
    TCase *tests = tcase_create("logins");

    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, a_login_goes_on_until_its_process_exits, 0, 2);
    tcase_add_loop_test(tests, a_login_that_cannot_be_found_is_refused, 0, 4);
    tcase_add_loop_test(tests, a_login_that_is_ended_does_not_succeed, 0, 2);
    tcase_add_loop_test(tests, logins_that_end_do_not_fill_the_log, 0, 2);
    tcase_add_test(tests, a_login_is_taken_up_from_its_file);
    tcase_add_loop_test(tests, a_login_is_judged_when_it_succeeds, 0, 2);
    tcase_add_loop_test(tests, a_login_that_has_succeeded_gives_no_way, 0, 2);
    tcase_add_loop_test(tests, a_login_succeeds_while_no_daemon_runs, 0, 2);
    suite_add_tcase(suite, tests);
    return suite;
}
