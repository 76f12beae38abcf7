/* SPDX-License-Identifier: MIT */
/* Processes that look like those of sshd. */
#include "gateway/monitor.h"

#include <check.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/proc.h"

static void run_child(int ready, bool is_stubborn)
{
    const pid_t self = getpid();

    signal(SIGTERM, is_stubborn ? SIG_IGN : SIG_DFL);
    if (write(ready, &self, sizeof self) == (ssize_t)sizeof self)
        pause();
    _exit(0);
}

void monitor_start(struct monitor *monitor, const char *name, bool child_is_stubborn)
{
    int ready[2];

    ck_assert_int_eq(pipe(ready), 0);
    monitor->pid = fork();
    if (monitor->pid == 0) {
        /* Check's handler would end the test. */
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_NAME, name);
        if (fork() == 0)
            run_child(ready[1], child_is_stubborn);
        pause();
        _exit(0);
    }
    ck_assert_int_gt(monitor->pid, 0);
    ck_assert_int_eq(read(ready[0], &monitor->child, sizeof monitor->child),
                     (int)sizeof monitor->child);
    close(ready[0]);
    close(ready[1]);
}

void monitor_stop(const struct monitor *monitor)
{
    kill(monitor->pid, SIGKILL);
    kill(monitor->child, SIGKILL);
    waitpid(monitor->pid, NULL, 0);
}

bool monitor_wait_for_exit(pid_t pid, int *status)
{
    const struct timespec pause_time = {.tv_nsec = 2000000};
    int64_t deadline_ms = clock_steady_ms() + 50000;
    struct proc proc;

    while (clock_left_ms(deadline_ms) > 0) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return true;
        if (!proc_read(pid, &proc) || (proc.has_exited && proc.parent != getpid()))
            return true;
        nanosleep(&pause_time, NULL);
    }
    return false;
}
