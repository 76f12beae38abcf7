/* SPDX-License-Identifier: MIT */
/* Tests of what the filter of system calls tells apart by a call's arguments. */
#include "wrap/confine_calls.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suites.h"

/* Runs a function in a process with the filter.  Returns what it does, or -1 without a filter. */
static int confined(int (*run)(void))
{
    int how;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !confine_calls())
            _exit(255);
        _exit(run());
    }
    ck_assert_int_eq(waitpid(pid, &how, 0), pid);
    ck_assert_msg(WIFEXITED(how), "ended by signal %d", WTERMSIG(how));
    return WEXITSTATUS(how) == 255 ? -1 : WEXITSTATUS(how);
}

static int error_of(long result)
{
    return result < 0 ? errno : 0;
}

static int signal_parent(void)
{
    return error_of(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int signal_itself(void)
{
    return error_of(syscall(SYS_tgkill, getpid(), getpid(), 0));
}

static int limit_parent(void)
{
    struct rlimit limit;

    return error_of(prlimit(getppid(), RLIMIT_CPU, NULL, &limit));
}

static int limit_itself(void)
{
    struct rlimit limit;
    int error = error_of(getrlimit(RLIMIT_CPU, &limit));

    return error ? error : error_of(prlimit(getpid(), RLIMIT_CPU, NULL, &limit));
}

START_TEST(other_processes)
{
    int refused = confined(signal_parent);

    if (refused < 0)
        return; /* no filter on this processor, or none in this kernel */
    ck_assert_int_eq(refused, EPERM);
    ck_assert_int_eq(confined(signal_itself), 0);
    ck_assert_int_eq(confined(limit_parent), EPERM);
    ck_assert_int_eq(confined(limit_itself), 0);
}
END_TEST

Suite *confine_calls_suite(void)
{
    Suite *suite = suite_create("wrap/confine_calls");
    TCase *tcase = tcase_create("arguments");

    tcase_add_test(tcase, other_processes);
    suite_add_tcase(suite, tcase);
    return suite;
}
