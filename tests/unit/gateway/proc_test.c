/* SPDX-License-Identifier: MIT */
/* Tests of reading processes and signalling them. */
#include "gateway/proc.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gateway/faults.h"
#include "gateway/monitor.h"
#include "suites.h"

START_TEST(own_process)
{
    struct proc proc;

    ck_assert(proc_read(getpid(), &proc));
    ck_assert_int_eq(proc.pid, getpid());
    ck_assert_int_eq(proc.parent, getppid());
    ck_assert_uint_gt(proc.started, 0);
    ck_assert(proc.has_one_uid && proc.uid == getuid() && !proc.has_exited);
}
END_TEST

/* The name is in parentheses, among other fields. */
START_TEST(names_with_parentheses_and_blanks)
{
    static const char *const names[] = {"sshd", "a) Z 1 (b", ")",
                                        "((",   " 1 2 3",    "123456789012345"};
    struct proc proc;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        prctl(PR_SET_NAME, names[i]);
        ck_assert(proc_read(getpid(), &proc));
        ck_assert_str_eq(proc.name, names[i]);
        ck_assert_int_eq(proc.parent, getppid());
        ck_assert(!proc.has_exited);
    }
}
END_TEST

START_TEST(no_such_process)
{
    struct proc proc;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    ck_assert(!proc_read(pid, &proc));
    ck_assert(!proc_read(0, &proc));
    ck_assert(!proc_read(-1, &proc));
    ck_assert_int_eq(proc_open(pid, 1), -1);
    ck_assert_int_eq(proc_open_read(pid, &proc), -1);
    ck_assert_int_eq(proc_open_read(0, &proc), -1);
}
END_TEST

START_TEST(a_process_that_started_at_another_time_is_another_one)
{
    struct proc proc;
    int fd;

    ck_assert(proc_read(getpid(), &proc));
    ck_assert_int_eq(proc_open(getpid(), proc.started + 1), -1);
    ck_assert_int_eq(errno, ESRCH);
    fd = proc_open(getpid(), proc.started);
    ck_assert_int_ge(fd, 0);
    close(fd);
}
END_TEST

START_TEST(exited_processes_are_not_opened_or_signalled)
{
    struct monitor monitor;
    struct proc proc;
    int fd;

    monitor_start(&monitor, "sshd", false);
    ck_assert(proc_read(monitor.pid, &proc));
    fd = proc_open(monitor.pid, proc.started);
    ck_assert_int_ge(fd, 0);
    close(fd);
    fd = proc_open_read(monitor.pid, &proc);
    ck_assert_int_ge(fd, 0);
    ck_assert_str_eq(proc.name, "sshd");
    ck_assert_int_eq(proc.parent, getpid());
    ck_assert(proc.has_one_uid && proc.uid == getuid());
    kill(monitor.pid, SIGKILL);
    /* A zombie keeps its id until its parent collects it. */
    waitid(P_PID, (id_t)monitor.pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
    ck_assert_int_eq(proc_open(monitor.pid, proc.started), -1);
    ck_assert_int_eq(proc_open_read(monitor.pid, &proc), -1);
    waitpid(monitor.pid, NULL, 0);
    ck_assert(!proc_signal(fd, SIGTERM));
    ck_assert_int_eq(errno, ESRCH);
    close(fd);
    monitor_stop(&monitor);
}
END_TEST

START_TEST(children_of_a_process)
{
    struct monitor monitor;
    pid_t children[4];

    monitor_start(&monitor, "sshd", false);
    ck_assert(proc_tells_children());
    ck_assert_uint_eq(proc_children(monitor.pid, children, 4), 1);
    ck_assert_int_eq(children[0], monitor.child);
    ck_assert_uint_eq(proc_children(monitor.pid, children, 0), 0);
    ck_assert_uint_eq(proc_children(monitor.child, children, 4), 0);
    monitor_stop(&monitor);
}
END_TEST

/* As many as are wanted. */
START_TEST(children_are_searched)
{
    struct monitor monitor;
    pid_t children[4];

    monitor_start(&monitor, "sshd", false);
    faults_hide_children(true);
    ck_assert(!proc_tells_children());
    ck_assert_uint_eq(proc_children(monitor.pid, children, 4), 0);
    ck_assert_uint_eq(proc_search_children(monitor.pid, children, 4), 1);
    ck_assert_int_eq(children[0], monitor.child);
    ck_assert_uint_eq(proc_search_children(monitor.pid, children, 0), 0);
    ck_assert_uint_eq(proc_search_children(monitor.child, children, 4), 0);
    ck_assert_int_eq(errno, ESRCH);
    faults_hide_children(false);
    monitor_stop(&monitor);
}
END_TEST

START_TEST(boot_id)
{
    char a[PROC_BOOT_ID_SIZE];
    char b[PROC_BOOT_ID_SIZE];

    ck_assert(proc_boot_id(a) && proc_boot_id(b));
    ck_assert_uint_eq(strlen(a), 36);
    ck_assert_str_eq(a, b);
}
END_TEST

Suite *gateway_proc_suite(void)
{
    Suite *suite = suite_create("gateway/proc");
    TCase *tests = tcase_create("processes");

    tcase_add_test(tests, own_process);
    tcase_add_test(tests, names_with_parentheses_and_blanks);
    tcase_add_test(tests, no_such_process);
    tcase_add_test(tests, a_process_that_started_at_another_time_is_another_one);
    tcase_add_test(tests, exited_processes_are_not_opened_or_signalled);
    tcase_add_test(tests, children_of_a_process);
    tcase_add_test(tests, children_are_searched);
    tcase_add_test(tests, boot_id);
    suite_add_tcase(suite, tests);
    return suite;
}
