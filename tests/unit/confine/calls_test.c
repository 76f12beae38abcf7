/* SPDX-License-Identifier: MIT */
/* Tests of the filter of system calls: calls that it judges by their arguments, and numbers without
 * a name. */
#include "confine/calls.h"

#include <check.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suites.h"

struct trial {
    int (*run)(void);
    int result; /* what it does, or -1 without a filter */
};

static void *try_confined(void *argument)
{
    struct trial *trial = argument;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && confine_calls())
        trial->result = trial->run();
    return NULL;
}

/* Runs a function in a thread, which alone has the filter: the process can still write its counters
 * of coverage.  Returns what the function returns, or -1 without a filter. */
static int confined(int (*run)(void))
{
    struct trial trial = {.run = run, .result = -1};
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, try_confined, &trial), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    return trial.result;
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

/* Newer than the headers of most builds.  Without the filter, a kernel that has it says EBADF. */
static int change_mode(void)
{
    const long fchmodat2 = 452;

    return error_of(syscall(fchmodat2, -1, "x", 0600, 0));
}

/* Without the filter, a kernel that has it says EFAULT. */
static int start_process(void)
{
    const long clone3 = 435;

    return error_of(syscall(clone3, NULL, 64));
}

/* A number that no kernel has. */
static int call_nothing(void)
{
    return error_of(syscall(4000));
}

START_TEST(newer_calls)
{
    int refused = confined(change_mode);

    if (refused < 0)
        return;
    ck_assert_int_eq(refused, ENOSYS);
    ck_assert_int_eq(confined(start_process), ENOSYS);
    ck_assert_int_eq(confined(call_nothing), ENOSYS);
}
END_TEST

static int ask_for_addresses(void)
{
    return error_of(socket(AF_NETLINK, SOCK_RAW, 0));
}

/* The socket by which the resolver asks for the machine's addresses. */
static int resolve_name(void)
{
    struct addrinfo hints = {.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo("localhost", "5432", &hints, &found);

    if (error == 0)
        freeaddrinfo(found);
    return error == 0 ? 0 : 1;
}

START_TEST(sockets)
{
    int refused = confined(ask_for_addresses);

    if (refused < 0)
        return;
    ck_assert_int_eq(refused, EAFNOSUPPORT);
    ck_assert_int_eq(confined(resolve_name), 0);
}
END_TEST

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
    Suite *suite = suite_create("confine/calls");
    TCase *tcase = tcase_create("calls");

    tcase_add_test(tcase, other_processes);
    tcase_add_test(tcase, newer_calls);
    tcase_add_test(tcase, sockets);
    suite_add_tcase(suite, tcase);
    return suite;
}
