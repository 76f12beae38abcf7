/* SPDX-License-Identifier: MIT */
/* Tests of sessions: how they are ended, and the files that outlive the daemon. */
#include "gateway/ssh_session.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "faults.h"
#include "gateway/monitor.h"
#include "gateway/session_file.h"
#include "gateway/state.h"
#include "suites.h"

#define ACCOUNT "ac_000000000000000000000000001"
#define FINGERPRINT "SHA256:0123456789012345678901234567890123456789012"

static const struct state no_files = {.folder = -1, .lock = -1};
static const struct log quiet = {.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};

static char folder[64];
static struct state state;

static void open_state(void)
{
    const char *what;

    snprintf(folder, sizeof folder, "/tmp/adit-state.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_msg(state_open(&state, folder, &what), "%s", what);
}

static void close_state(void)
{
    DIR *files = opendir(folder);
    struct dirent *entry;

    ck_assert_ptr_nonnull(files);
    while ((entry = readdir(files)) != NULL)
        unlinkat(state.folder, entry->d_name, 0);
    closedir(files);
    state_close(&state);
    ck_assert_int_eq(rmdir(folder), 0);
}

static struct text_list list_of(struct text *items, const char *const *words)
{
    struct text_list list = {.items = items, .given = true};

    for (; words[list.n]; list.n++)
        items[list.n] = text_of(words[list.n]);
    return list;
}

/* Registers a process as a session. */
static struct ssh_session *add_session(struct ssh_sessions *sessions, pid_t pid)
{
    static const char *const ids[] = {"sshcr_1", "sshcr_2", NULL};
    static const char *const rules[] = {"bind:a.example:80", "bind:*.b.example", NULL};
    struct text id_items[2], rule_items[2];
    struct ssh_session *session;
    struct proc proc;
    int fd;

    ck_assert(proc_read(pid, &proc));
    fd = proc_open(pid, proc.started);
    ck_assert_int_ge(fd, 0);
    session = ssh_sessions_add(sessions, pid, proc.started, fd);
    ck_assert_ptr_nonnull(session);
    snprintf(session->account_id, sizeof session->account_id, ACCOUNT);
    snprintf(session->fingerprint, sizeof session->fingerprint, FINGERPRINT);
    ck_assert(ssh_session_set_lists(session, list_of(id_items, ids), list_of(rule_items, rules)));
    return session;
}

/* Goes on until no session is left, and frees the table. */
static void finish(struct ssh_sessions *sessions, const struct state *files)
{
    int64_t deadline_ms = clock_steady_ms() + 50000;

    while (sessions->n > 0) {
        ck_assert_int_gt(clock_left_ms(deadline_ms), 0);
        ssh_sessions_go_on(sessions, files, &quiet, clock_steady_ms());
        usleep(2000);
    }
    ssh_sessions_free(sessions);
}

/* ---- the table ---- */

START_TEST(sessions_are_found_and_removed)
{
    struct ssh_sessions sessions = {0};
    struct monitor monitors[3];

    for (size_t i = 0; i < 3; i++) {
        monitor_start(&monitors[i], "sshd", false);
        add_session(&sessions, monitors[i].pid);
    }
    ssh_sessions_remove(&sessions, ssh_sessions_find(&sessions, monitors[0].pid));
    ck_assert_ptr_null(ssh_sessions_find(&sessions, monitors[0].pid));
    for (size_t i = 1; i < 3; i++)
        ck_assert_int_eq(ssh_sessions_find(&sessions, monitors[i].pid)->pid, monitors[i].pid);
    ssh_sessions_free(&sessions);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(kill(monitors[i].pid, 0), 0);
        monitor_stop(&monitors[i]);
    }
}
END_TEST

START_TEST(sessions_of_a_credential_are_marked)
{
    struct ssh_sessions sessions = {0};
    struct ssh_session *session = add_session(&sessions, getpid());

    ck_assert(!ssh_sessions_mark(&sessions, text_of("sshcr_3")));
    ck_assert_int_eq(session->mark, SSH_SESSION_JUDGED);
    ck_assert(ssh_sessions_mark(&sessions, text_of("sshcr_2")));
    ck_assert_int_eq(session->mark, SSH_SESSION_NAMED);
    ssh_sessions_free(&sessions);
}
END_TEST

static void names(const struct ssh_session *session, size_t n, const char *first)
{
    ck_assert_uint_eq(session->n_named, n);
    if (n > 0)
        ck_assert_str_eq(session->named_ids[0], first);
}

/* Those that are gone say more than those that were changed. */
START_TEST(a_session_knows_what_it_lost)
{
    struct text ids[] = {text_of("a"), text_of("b"), text_of("c"), text_of("d"), text_of("e")};
    const struct text_list all = {ids, 5, true}, most = {ids, 4, true}, none = {ids, 0, true};
    struct ssh_sessions sessions = {0};
    struct ssh_session *session = add_session(&sessions, getpid());

    ck_assert(ssh_session_set_lists(session, all, none));
    names(session, 0, NULL);
    for (int i = 0; i < 2; i++)
        ck_assert(ssh_sessions_mark(&sessions, text_of("c")));
    names(session, 1, "c");
    ssh_session_note_gone(session, all);
    names(session, 1, "c");
    ssh_session_note_gone(session, most);
    names(session, 1, "e");
    ssh_session_note_gone(session, none);
    names(session, SSH_SESSION_NAMED_MAX, "a");
    ssh_session_note_judged(session);
    ck_assert_int_eq(session->mark, SSH_SESSION_JUDGED);
    names(session, 0, NULL);
    ssh_sessions_free(&sessions);
}
END_TEST

/* A session may be given the lists that it has. */
START_TEST(lists_are_copied)
{
    struct ssh_sessions sessions = {0};
    struct ssh_session *session = add_session(&sessions, getpid());

    ck_assert(ssh_session_set_lists(session, session->credential_ids, session->granted));
    ck_assert_uint_eq(session->granted.n, 2);
    ck_assert_str_eq(session->granted.items[1].s, "bind:*.b.example");
    ck_assert_str_eq(session->credential_ids.items[0].s, "sshcr_1");
    ssh_sessions_free(&sessions);
}
END_TEST

/* ---- ending ---- */

/* The monitor gets SIGTERM and never SIGKILL: what is below it would go on. */
START_TEST(both_processes_end)
{
    struct ssh_sessions sessions = {0};
    struct monitor monitor;
    int status = 0;

    monitor_start(&monitor, "sshd", _i == 1);
    ssh_session_end(&sessions, add_session(&sessions, monitor.pid), SSH_SESSION_STOPPED, &quiet,
                    clock_steady_ms());
    finish(&sessions, &no_files);
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGTERM);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
}
END_TEST

START_TEST(a_stopped_monitor_ends)
{
    struct ssh_sessions sessions = {0};
    struct monitor monitor;
    int status = 0;

    monitor_start(&monitor, "sshd", false);
    kill(monitor.pid, SIGSTOP);
    ssh_session_end(&sessions, add_session(&sessions, monitor.pid), SSH_SESSION_STOPPED, &quiet,
                    clock_steady_ms());
    finish(&sessions, &no_files);
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    ck_assert_int_eq(WTERMSIG(status), SIGTERM);
    monitor_stop(&monitor);
}
END_TEST

/* Somebody has killed the monitor: what is below it goes on until it is ended, too. */
START_TEST(processes_of_a_killed_monitor_end)
{
    struct ssh_sessions sessions = {0};
    struct ssh_session *session;
    struct monitor monitor;
    int status = 0;

    monitor_start(&monitor, "sshd", _i == 1);
    session = add_session(&sessions, monitor.pid);
    ck_assert(!ssh_session_has_child(session));
    ssh_sessions_track(&sessions);
    ck_assert(ssh_session_has_child(session));
    kill(monitor.pid, SIGKILL);
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    ck_assert(ssh_session_has_child(session));
    ssh_session_end(&sessions, session, SSH_SESSION_STOPPED, &quiet, clock_steady_ms());
    finish(&sessions, &no_files);
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
}
END_TEST

/* ---- files ---- */

START_TEST(a_session_is_taken_up_from_its_file)
{
    struct ssh_sessions before = {0}, after = {0};
    struct ssh_session *session;
    struct monitor monitor;

    open_state();
    monitor_start(&monitor, "sshd", false);
    session = add_session(&before, monitor.pid);
    session->since_s = 1700000000;
    snprintf(session->owner_id, sizeof session->owner_id, "usr_1");
    ck_assert(session_file_write(&state, session));
    ck_assert(session_files_read(&state, &after, &quiet));
    ck_assert_uint_eq(after.n, 1);
    session = after.items[0];
    ck_assert_int_eq(session->pid, monitor.pid);
    ck_assert_int_eq((int)session->since_s, 1700000000);
    ck_assert_str_eq(session->account_id, ACCOUNT);
    ck_assert_str_eq(session->owner_id, "usr_1");
    ck_assert_str_eq(session->fingerprint, FINGERPRINT);
    ck_assert_uint_eq(session->credential_ids.n, 2);
    ck_assert_str_eq(session->credential_ids.items[1].s, "sshcr_2");
    ck_assert_uint_eq(session->granted.n, 2);
    ck_assert_str_eq(session->granted.items[0].s, "bind:a.example:80");
    ssh_sessions_free(&before);
    ssh_sessions_free(&after);
    monitor_stop(&monitor);
    close_state();
}
END_TEST

/* Writes a file by hand. */
static void write_by_hand(pid_t pid, const char *text)
{
    char path[96];
    FILE *file;

    snprintf(path, sizeof path, "%s/%d", folder, (int)pid);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static bool file_exists(pid_t pid)
{
    char path[96];

    snprintf(path, sizeof path, "%s/%d", folder, (int)pid);
    return access(path, F_OK) == 0;
}

/* Also if the loop does not hear of the exit first. */
START_TEST(the_file_goes_with_its_session)
{
    struct ssh_sessions sessions = {0};
    struct ssh_session *session;
    struct monitor monitor;
    int status = 0;

    open_state();
    monitor_start(&monitor, "sshd", false);
    session = add_session(&sessions, monitor.pid);
    ck_assert(session_file_write(&state, session));
    ck_assert(file_exists(monitor.pid));
    ssh_session_end(&sessions, session, SSH_SESSION_STOPPED, &quiet, clock_steady_ms());
    finish(&sessions, &state);
    ck_assert(!file_exists(monitor.pid));
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    ck_assert(monitor_wait_for_exit(monitor.child, &status));
    close_state();
}
END_TEST

/* Fills in what every file has; "change" is a letter for what is wrong. */
static void forge(const struct proc *proc, char change)
{
    char text[1024];

    snprintf(text, sizeof text,
             "%s\n%s%s\nstarted %llu\nsince 1\naccount %s\nfingerprint %s\n"
             "credential sshcr_1\nrule bind:a.example:80\n%s",
             change == 'h' ? "adit-session 2" : "adit-session 1", change == 'n' ? "" : "boot ",
             change == 'b' ? "00000000-0000-0000-0000-000000000000" : state.boot_id,
             (unsigned long long)proc->started + (change == 's'), ACCOUNT,
             change == 'f' ? "SHA256:short" : FINGERPRINT, change == 'e' ? "" : "end\n");
    write_by_hand(proc->pid, text);
}

/* Files of another boot, and of another process that had the id. */
START_TEST(other_files_name_no_session)
{
    static const char changes[] = "bs";
    struct ssh_sessions sessions = {0};
    struct monitor monitor;
    struct proc proc;

    open_state();
    monitor_start(&monitor, "sshd", false);
    ck_assert(proc_read(monitor.pid, &proc));
    for (const char *change = changes; *change; change++) {
        forge(&proc, *change);
        ck_assert(session_files_read(&state, &sessions, &quiet));
        ck_assert_msg(sessions.n == 0, "change %c", *change);
        ck_assert(!file_exists(monitor.pid));
    }
    forge(&proc, '-');
    ck_assert(session_files_read(&state, &sessions, &quiet));
    ck_assert_uint_eq(sessions.n, 1);
    ck_assert(!sessions.items[0]->is_ending);
    ssh_sessions_free(&sessions);
    monitor_stop(&monitor);
    close_state();
}
END_TEST

/* What a session of this boot stands on is not known: it ends. */
START_TEST(a_file_without_sense_ends_its_session)
{
    struct ssh_sessions sessions = {0};
    struct monitor monitor;
    struct proc proc;
    int status = 0;

    open_state();
    monitor_start(&monitor, "sshd", false);
    ck_assert(proc_read(monitor.pid, &proc));
    forge(&proc, "hnfe"[_i]);
    ck_assert(session_files_read(&state, &sessions, &quiet));
    ck_assert_uint_eq(sessions.n, 1);
    ck_assert(sessions.items[0]->is_ending);
    finish(&sessions, &state);
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    ck_assert(!file_exists(monitor.pid));
    close_state();
}
END_TEST

/* A file that an earlier version wrote and that is too large for this one. */
START_TEST(a_file_that_is_too_large_ends_its_session)
{
    struct ssh_sessions sessions = {0};
    struct monitor monitor;
    struct proc proc;
    char path[96];
    int status = 0;

    open_state();
    monitor_start(&monitor, "sshd", false);
    ck_assert(proc_read(monitor.pid, &proc));
    forge(&proc, '-');
    snprintf(path, sizeof path, "%s/%d", folder, (int)monitor.pid);
    ck_assert_int_eq(truncate(path, 4 * 1024 * 1024 + 1), 0);
    ck_assert(session_files_read(&state, &sessions, &quiet));
    ck_assert_uint_eq(sessions.n, 1);
    ck_assert(sessions.items[0]->is_ending);
    ck_assert_str_eq(sessions.items[0]->fingerprint, FINGERPRINT);
    finish(&sessions, &state);
    ck_assert(monitor_wait_for_exit(monitor.pid, &status));
    close_state();
}
END_TEST

/* A file that names nothing but an id ends a process of sshd below another one, and no other: the
 * daemon of sshd may have that id after a boot. */
START_TEST(an_id_alone_names_a_process_below_sshd)
{
    static const char *const names[][2] = {{"sshd", "sshd"}, {"init", "sshd"}, {"sshd", "bash"}};
    struct ssh_sessions sessions = {0};
    int pipes[2];
    pid_t parent, child = 0;

    open_state();
    ck_assert_int_eq(pipe(pipes), 0);
    parent = fork();
    if (parent == 0) {
        prctl(PR_SET_NAME, names[_i][0]);
        child = fork();
        if (child == 0) {
            signal(SIGTERM, SIG_DFL);
            prctl(PR_SET_NAME, names[_i][1]);
            child = getpid();
            if (write(pipes[1], &child, sizeof child) == (ssize_t)sizeof child)
                pause();
            _exit(0);
        }
        pause();
        _exit(0);
    }
    ck_assert_int_eq((int)read(pipes[0], &child, sizeof child), (int)sizeof child);
    write_by_hand(child, "");
    ck_assert(session_files_read(&state, &sessions, &quiet));
    ck_assert_uint_eq(sessions.n, _i == 0 ? 1 : 0);
    if (_i == 0)
        ck_assert(sessions.items[0]->is_ending);
    else
        ck_assert(!file_exists(child));
    kill(parent, SIGKILL);
    kill(child, SIGKILL);
    waitpid(parent, NULL, 0);
    ssh_sessions_free(&sessions);
    close(pipes[0]);
    close(pipes[1]);
    close_state();
}
END_TEST

/* What could not be read back is not written: the next run would not know of the session. */
START_TEST(what_cannot_be_read_back_is_not_written)
{
    static char rule[4096];
    static struct text rules[1025];
    struct text id = text_of("sshcr_1"), broken = text_of("bind:a\nend");
    struct text_list ids = {&id, 1, true}, granted = {&broken, 1, true};
    struct ssh_sessions sessions = {0};
    struct ssh_session *session = add_session(&sessions, getpid());

    open_state();
    memset(rule, 'x', sizeof rule - 1);
    for (size_t i = 0; i < 1025; i++)
        rules[i] = text_of(rule);
    if (_i > 0)
        granted = (struct text_list){rules, 1025, true};
    ck_assert(ssh_session_set_lists(session, ids, granted));
    ck_assert(!session_file_write(&state, session));
    ck_assert_int_eq(errno, EFBIG);
    ck_assert(!file_exists(getpid()));
    granted.n = _i > 0 ? 1000 : 0;
    ck_assert(ssh_session_set_lists(session, ids, granted));
    ck_assert(session_file_write(&state, session));
    ssh_sessions_free(&sessions);
    close_state();
}
END_TEST

/* A session that is forgotten would never end. */
START_TEST(a_file_that_cannot_be_read_stays)
{
    struct ssh_sessions sessions = {0};
    struct monitor monitor;

    open_state();
    monitor_start(&monitor, "sshd", false);
    ck_assert(session_file_write(&state, add_session(&sessions, monitor.pid)));
    ssh_sessions_free(&sessions);
    faults_fail_at(2); /* the folder is opened first */
    ck_assert(!session_files_read(&state, &sessions, &quiet));
    ck_assert(faults_stop());
    ck_assert(file_exists(monitor.pid));
    ck_assert_uint_eq(sessions.n, 0);
    ck_assert(session_files_read(&state, &sessions, &quiet));
    ck_assert_uint_eq(sessions.n, 1);
    ssh_sessions_free(&sessions);
    monitor_stop(&monitor);
    close_state();
}
END_TEST

START_TEST(other_programs_are_no_session)
{
    static const char *const names[] = {"sshd2", "bash", "sshd-auth", "ssh", "(sshd)", " sshd"};
    struct ssh_sessions sessions = {0};

    open_state();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct monitor monitor;
        struct proc proc;

        monitor_start(&monitor, names[i], false);
        ck_assert(proc_read(monitor.pid, &proc));
        forge(&proc, '-');
        ck_assert(session_files_read(&state, &sessions, &quiet));
        ck_assert_msg(sessions.n == 0, "%s", names[i]);
        monitor_stop(&monitor);
    }
    close_state();
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_not_there)
{
    struct ssh_sessions sessions = {0};
    struct ssh_session *session = add_session(&sessions, getpid());
    struct state broken = {.folder = open("/proc/self", O_RDONLY | O_DIRECTORY), .lock = -1};

    ck_assert(!session_file_write(&broken, session));
    ck_assert_int_ne(errno, 0);
    state_close(&broken);
    ssh_sessions_free(&sessions);
}
END_TEST

START_TEST(a_folder_that_others_may_write_to_is_refused)
{
    struct state other;
    const char *what = "";

    open_state();
    ck_assert_int_eq(chmod(folder, 0770), 0);
    ck_assert(!state_open(&other, folder, &what));
    ck_assert_int_eq(strncmp(what, "others may write", 16), 0);
    state_close(&other);
    ck_assert_int_eq(chmod(folder, 0700), 0);
    close_state();
}
END_TEST

START_TEST(a_folder_has_one_daemon)
{
    struct state other;
    const char *what = "";

    open_state();
    ck_assert(!state_open(&other, folder, &what));
    ck_assert_str_eq(what, "another adit-gateway uses the folder");
    state_close(&other);
    close_state();
}
END_TEST

Suite *gateway_ssh_session_suite(void)
{
    Suite *suite = suite_create("gateway/ssh_session");
    TCase *tests = tcase_create("sessions");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, sessions_are_found_and_removed);
    tcase_add_test(tests, sessions_of_a_credential_are_marked);
    tcase_add_test(tests, a_session_knows_what_it_lost);
    tcase_add_test(tests, lists_are_copied);
    tcase_add_loop_test(tests, both_processes_end, 0, 2);
    tcase_add_test(tests, a_stopped_monitor_ends);
    tcase_add_loop_test(tests, processes_of_a_killed_monitor_end, 0, 2);
    tcase_add_test(tests, a_session_is_taken_up_from_its_file);
    tcase_add_test(tests, the_file_goes_with_its_session);
    tcase_add_test(tests, other_files_name_no_session);
    tcase_add_loop_test(tests, a_file_without_sense_ends_its_session, 0, 4);
    tcase_add_test(tests, a_file_that_is_too_large_ends_its_session);
    tcase_add_loop_test(tests, an_id_alone_names_a_process_below_sshd, 0, 3);
    tcase_add_loop_test(tests, what_cannot_be_read_back_is_not_written, 0, 2);
    tcase_add_test(tests, a_file_that_cannot_be_read_stays);
    tcase_add_test(tests, other_programs_are_no_session);
    tcase_add_test(tests, a_file_that_cannot_be_written_is_not_there);
    tcase_add_test(tests, a_folder_that_others_may_write_to_is_refused);
    tcase_add_test(tests, a_folder_has_one_daemon);
    suite_add_tcase(suite, tests);
    return suite;
}
