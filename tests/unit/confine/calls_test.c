/* SPDX-License-Identifier: MIT */
/* Tests of the filter of system calls: calls that it judges by their arguments, and numbers without
 * a name. */
#include "confine/calls.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
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

/* Without the filter, a kernel says EOPNOTSUPP. */
static int pair_netlink(void)
{
    int pair[2];

    return error_of(socketpair(AF_NETLINK, SOCK_RAW, 0, pair));
}

/* Without the filter, as pair_netlink(). */
static int pair_ip(void)
{
    int pair[2];

    return error_of(socketpair(AF_INET, SOCK_STREAM, 0, pair));
}

static int pair_unix(void)
{
    int pair[2];
    int error = error_of(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));

    if (error == 0) {
        close(pair[0]);
        close(pair[1]);
    }
    return error;
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
    ck_assert_int_eq(confined(pair_netlink), EAFNOSUPPORT);
    ck_assert_int_eq(confined(pair_ip), EAFNOSUPPORT);
    ck_assert_int_eq(confined(pair_unix), 0);
    ck_assert_int_eq(confined(resolve_name), 0);
}
END_TEST

/* Makes a socket, changes it by the function, and closes it. */
static int with_socket(int type, long (*change)(int fd))
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    int error = fd < 0 ? errno : error_of(change(fd));

    if (fd >= 0)
        close(fd);
    return error;
}

static long own_by_parent(int fd)
{
    return fcntl(fd, F_SETOWN, getppid());
}

static long own_by_kind(int fd)
{
    struct f_owner_ex owner = {.type = F_OWNER_PID, .pid = getppid()};

    return fcntl(fd, F_SETOWN_EX, &owner);
}

static long choose_signal(int fd)
{
    return fcntl(fd, F_SETSIG, SIGKILL);
}

static long own_by_ioctl(int fd)
{
    int pid = getppid();

    return ioctl(fd, FIOSETOWN, &pid);
}

static long group_by_ioctl(int fd)
{
    int pid = getppid();

    return ioctl(fd, SIOCSPGRP, &pid);
}

static long bind_to_any(int fd)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    return bind(fd, (const struct sockaddr *)&any, sizeof any);
}

static int own_descriptor(void)
{
    return with_socket(SOCK_DGRAM, own_by_parent);
}

static int own_descriptor_by_kind(void)
{
    return with_socket(SOCK_DGRAM, own_by_kind);
}

static int choose_its_signal(void)
{
    return with_socket(SOCK_DGRAM, choose_signal);
}

static int own_socket(void)
{
    return with_socket(SOCK_DGRAM, own_by_ioctl);
}

static int own_socket_as_group(void)
{
    return with_socket(SOCK_DGRAM, group_by_ioctl);
}

/* A terminal would be needed to succeed: without the filter, ENOTTY or EBADF. */
static int type_into_terminal(void)
{
    return error_of(ioctl(-1, TIOCSTI, "x"));
}

static int lease_file(void)
{
    int fd = open("/etc/hosts", O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? errno : error_of(fcntl(fd, F_SETLEASE, F_RDLCK));

    if (fd >= 0)
        close(fd);
    return error;
}

static int slow_parent(void)
{
    return error_of(setpriority(PRIO_PROCESS, (id_t)getppid(), getpriority(PRIO_PROCESS, 0)));
}

static int slow_group(void)
{
    return error_of(setpriority(PRIO_PGRP, 0, getpriority(PRIO_PROCESS, 0)));
}

static int slow_disk_of_parent(void)
{
    const int of_process = 1, no_class = 0;

    return error_of(syscall(SYS_ioprio_set, of_process, getppid(), no_class));
}

static int schedule_parent(void)
{
    const struct sched_param none = {0};

    return error_of(sched_setscheduler(getppid(), SCHED_OTHER, &none));
}

static int set_parents_priority(void)
{
    const struct sched_param none = {0};

    return error_of(sched_setparam(getppid(), &none));
}

/* Without the filter: EINVAL. */
static int schedule_parent_by_attributes(void)
{
    return error_of(syscall(SYS_sched_setattr, getppid(), NULL, 0));
}

static int pin_parent(void)
{
    cpu_set_t all;

    return sched_getaffinity(0, sizeof all, &all) < 0
               ? -1
               : error_of(sched_setaffinity(getppid(), sizeof all, &all));
}

static int group_parent(void)
{
    return error_of(setpgid(getppid(), getppid()));
}

/* Without the filter: ESRCH or ENODEV, since there is no such process. */
static int share_core(void)
{
    const int sched_core = 62, from = 3, pid = 0, thread = 0;

    return error_of(prctl(sched_core, from, pid, thread, 0));
}

static int move_parents_memory(void)
{
    return error_of(syscall(SYS_move_pages, getppid(), 0, NULL, NULL, NULL, 0));
}

/* Each of these would leave an object if it worked, so they ask for one that does not exist, and
 * fail with ENOENT. */
static const int absent_key = 0x0ad17;

static int share_memory(void)
{
    return error_of(shmget(absent_key, 1, 0));
}

static int share_semaphores(void)
{
    return error_of(semget(absent_key, 1, 0));
}

static int share_messages(void)
{
    return error_of(msgget(absent_key, 0));
}

static int share_queue(void)
{
    return error_of(syscall(SYS_mq_open, "adit-absent", O_RDONLY, 0, NULL));
}

static int add_key(void)
{
    const int own_thread = -1;

    return error_of(syscall(SYS_add_key, "user", "adit", "x", 1, own_thread));
}

static int request_key(void)
{
    return error_of(syscall(SYS_request_key, "user", "adit-absent", NULL, 0));
}

static int read_keys(void)
{
    const int get_id = 0, session = -3;

    return error_of(syscall(SYS_keyctl, get_id, session, 0));
}

static int bind_udp(void)
{
    return with_socket(SOCK_DGRAM, bind_to_any);
}

static int bind_tcp(void)
{
    return with_socket(SOCK_STREAM, bind_to_any);
}

static int batch_itself(void)
{
    const struct sched_param none = {0};

    return error_of(sched_setscheduler(0, SCHED_BATCH, &none));
}

static const struct {
    const char *name;
    int (*run)(void);
} of_others[] = {
    {"F_SETOWN", own_descriptor},
    {"F_SETOWN_EX", own_descriptor_by_kind},
    {"F_SETSIG", choose_its_signal},
    {"FIOSETOWN", own_socket},
    {"SIOCSPGRP", own_socket_as_group},
    {"TIOCSTI", type_into_terminal},
    {"F_SETLEASE", lease_file},
    {"setpriority", slow_parent},
    {"setpriority of a group", slow_group},
    {"ioprio_set", slow_disk_of_parent},
    {"sched_setscheduler", schedule_parent},
    {"sched_setparam", set_parents_priority},
    {"sched_setattr", schedule_parent_by_attributes},
    {"sched_setaffinity", pin_parent},
    {"setpgid", group_parent},
    {"PR_SCHED_CORE", share_core},
    {"move_pages", move_parents_memory},
    {"shmget", share_memory},
    {"semget", share_semaphores},
    {"msgget", share_messages},
    {"mq_open", share_queue},
    {"add_key", add_key},
    {"request_key", request_key},
    {"keyctl", read_keys},
    {"bind of UDP", bind_udp},
    {"bind of TCP", bind_tcp},
};

/* No Landlock: seccomp alone refuses these, on every kernel. */
START_TEST(what_reaches_others)
{
    int refused = confined(of_others[_i].run);

    if (refused < 0)
        return;
    ck_assert_msg(refused == EPERM, "%s: %d", of_others[_i].name, refused);
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
    ck_assert_int_eq(confined(batch_itself), 0);
}
END_TEST

Suite *confine_calls_suite(void)
{
    Suite *suite = suite_create("confine/calls");
    TCase *tcase = tcase_create("calls");

    tcase_add_test(tcase, other_processes);
    tcase_add_loop_test(tcase, what_reaches_others, 0, sizeof of_others / sizeof of_others[0]);
    tcase_add_test(tcase, newer_calls);
    tcase_add_test(tcase, sockets);
    suite_add_tcase(suite, tcase);
    return suite;
}
