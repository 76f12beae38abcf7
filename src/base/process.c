/* SPDX-License-Identifier: MIT */
/* What the programs do with their own process. */
#include "base/process.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

bool process_cannot_start(const struct log *log, const char *reason)
{
    const struct log_pair pairs[] = {{"cause", reason}, {NULL, NULL}};

    log_event(log, LOG_LEVEL_ERROR, "cannot start", pairs);
    return false;
}

bool process_fault(const struct log *log, const char *name, const char *what)
{
    char reason[512];

    snprintf(reason, sizeof reason, "%s: %s: %s", name, what, strerror(errno));
    return process_cannot_start(log, reason);
}

/* A limit below a page makes no file, and a limit of exactly 1 keeps the kernel from piping the
 * core to a program (coredump_pipe() in fs/coredump.c). */
void process_forbid_cores(void)
{
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = 1};

    setrlimit(RLIMIT_CORE, &limit); /* it fails only if the limit is 0 already */
}

void process_set_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t blocked;

    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGUSR1, &ignore, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
}

/* SCHED_BATCH: a worker that wakes up does not preempt PostgreSQL or the web server, which then
 * have more work for it when its turn comes.  Under load, this saves a sixth of its CPU time.
 * A service whose filter forbids the call sets the policy itself. */
void process_let_others_finish(void)
{
    const struct sched_param none = {.sched_priority = 0};

    if (sched_getscheduler(0) == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
}
