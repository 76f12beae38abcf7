/* SPDX-License-Identifier: MIT */
/* The supervisor. */
#include "serve/workers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define STOP_TIMEOUT_MS 10000

/* A worker that ends within SHORT_LIFE_MS is replaced only after a pause: a fault that ends every
 * worker must not keep the CPU busy. */
#define SHORT_LIFE_MS 100
#define PAUSE_MS 50

struct child {
    pid_t pid; /* 0: none */
    int64_t started_ms;
};

struct workers {
    struct child all[WORKERS_MAX];
    int n;
    int (*run)(void *context);
    void *context;
    const struct log *log;
    sigset_t signals;
};

static void log_worker(const struct workers *workers, enum log_level level, const char *event,
                       pid_t pid, const char *how, int number)
{
    char pid_text[24];
    char how_text[48];
    struct log_pair pairs[] = {{"pid", pid_text}, {"cause", how_text}, {NULL, NULL}};

    snprintf(pid_text, sizeof pid_text, "%ld", (long)pid);
    snprintf(how_text, sizeof how_text, "%s %d", how, number);
    log_event(workers->log, level, event, pairs);
}

/* Returns false in the child, after run() has returned. */
static bool start_child(struct workers *workers, struct child *child, int *status)
{
    pid_t supervisor = getpid();
    pid_t pid = fork();

    child->started_ms = clock_steady_ms();
    if (pid > 0) {
        child->pid = pid;
        return true;
    }
    if (pid < 0) {
        log_worker(workers, LOG_LEVEL_ERROR, "cannot start a worker", 0, "errno", errno);
        child->pid = 0;
        return true;
    }
    /* Workers do not outlive their supervisor, however it ends. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    *status = getppid() == supervisor ? workers->run(workers->context) : 0;
    return false;
}

static bool start_missing(struct workers *workers, int *status)
{
    for (int i = 0; i < workers->n; i++) {
        if (workers->all[i].pid == 0 && !start_child(workers, &workers->all[i], status))
            return false;
    }
    return true;
}

static void note_end(struct workers *workers, pid_t pid, int how, bool expected)
{
    for (int i = 0; i < workers->n; i++) {
        struct child *child = &workers->all[i];

        if (child->pid != pid)
            continue;
        child->pid = 0;
        if (expected)
            return;
        if (WIFSIGNALED(how))
            log_worker(workers, LOG_LEVEL_ERROR, "worker ended", pid, "signal", WTERMSIG(how));
        else
            log_worker(workers, LOG_LEVEL_ERROR, "worker ended", pid, "status", WEXITSTATUS(how));
        if (clock_steady_ms() - child->started_ms < SHORT_LIFE_MS)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
    }
}

static void reap(struct workers *workers, bool expected)
{
    int how;
    pid_t pid;

    while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
        note_end(workers, pid, how, expected);
}

static int count(const struct workers *workers)
{
    int n = 0;

    for (int i = 0; i < workers->n; i++)
        n += workers->all[i].pid != 0;
    return n;
}

static void signal_all(const struct workers *workers, int signal)
{
    for (int i = 0; i < workers->n; i++) {
        if (workers->all[i].pid != 0)
            kill(workers->all[i].pid, signal);
    }
}

static void stop_all(struct workers *workers)
{
    int64_t deadline_ms = clock_steady_ms() + STOP_TIMEOUT_MS;

    signal_all(workers, SIGTERM);
    while (count(workers) > 0) {
        int left_ms = clock_left_ms(deadline_ms);
        struct timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1000000L};

        if (left_ms == 0) {
            signal_all(workers, SIGKILL);
            left.tv_sec = 1;
        }
        sigtimedwait(&workers->signals, NULL, &left);
        reap(workers, true);
    }
}

bool workers_run(int n, int (*run)(void *context), void *context, const struct log *log,
                 int *status)
{
    struct workers workers = {.n = n, .run = run, .context = context, .log = log};
    const struct timespec second = {.tv_sec = 1};

    sigemptyset(&workers.signals);
    sigaddset(&workers.signals, SIGCHLD);
    sigaddset(&workers.signals, SIGTERM);
    sigaddset(&workers.signals, SIGINT);
    sigaddset(&workers.signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &workers.signals, NULL);
    for (;;) {
        int signal;

        if (!start_missing(&workers, status))
            return false;
        signal = sigtimedwait(&workers.signals, NULL, &second);
        if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
            break;
        reap(&workers, false);
    }
    stop_all(&workers);
    *status = 0;
    return true;
}
