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
#include "base/systemd.h"

#define STOP_TIMEOUT_MS 10000

/* While workers stop, the supervisor looks this often for connections that they pass on. */
#define RECEIVE_MS 5

/* systemd reads what it is told within microseconds. */
#define SETTLE_MS 2000

/* systemd gives the supervisor this much more, for the end itself. */
#define SPARE_MS 5000

/* A worker that ends within SHORT_LIFE_MS is replaced only after a pause: a fault that ends every
 * worker must not keep the CPU busy. */
#define SHORT_LIFE_MS 100
#define PAUSE_MS 50

#define DEFAULT_LEAST 2
#define DEFAULT_MOST 8

struct child {
    pid_t pid; /* 0: none */
    int64_t started_ms;
};

struct workers {
    const struct workers_plan *plan;
    struct child all[WORKERS_MAX];
    sigset_t signals;
};

static void log_fault(const struct workers *workers, const char *event, pid_t pid, const char *how,
                      int number)
{
    char pid_text[24];
    char how_text[48];
    struct log_pair pairs[] = {{"pid", pid_text}, {"cause", how_text}, {NULL, NULL}};

    snprintf(pid_text, sizeof pid_text, "%ld", (long)pid);
    snprintf(how_text, sizeof how_text, "%s %d", how, number);
    log_event(workers->plan->log, LOG_LEVEL_ERROR, event, pairs);
}

/* n_missing: workers to start, with this one.  Returns false in the child, after run() has
 * returned.
 */
static bool start_child(struct workers *workers, size_t which, size_t n_missing, int *status)
{
    struct child *child = &workers->all[which];
    pid_t supervisor = getpid();
    pid_t pid = fork();

    child->started_ms = clock_steady_ms();
    if (pid > 0) {
        child->pid = pid;
        kept_give(workers->plan->kept, n_missing);
        metrics_add(&workers->plan->metrics->workers_started, 1);
        return true;
    }
    if (pid < 0) {
        log_fault(workers, "cannot start a worker", 0, "errno", errno);
        child->pid = 0;
        return true;
    }
    /* Workers do not outlive their supervisor, however it ends. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    systemd_forget();
    kept_share(workers->plan->kept, n_missing);
    *status = getppid() == supervisor ? workers->plan->run(workers->plan->context, which) : 0;
    return false;
}

static size_t count(const struct workers *workers)
{
    size_t n = 0;

    for (size_t i = 0; i < workers->plan->n; i++)
        n += workers->all[i].pid != 0;
    return n;
}

static bool start_missing(struct workers *workers, int *status)
{
    size_t n_slots = workers->plan->n;
    size_t n_missing = n_slots - count(workers);

    kept_receive(workers->plan->kept);
    for (size_t i = 0; i < n_slots; i++) {
        if (workers->all[i].pid == 0 && !start_child(workers, i, n_missing--, status))
            return false;
    }
    return true;
}

static void note_end(struct workers *workers, pid_t pid, int how, bool expected)
{
    for (size_t i = 0; i < workers->plan->n; i++) {
        struct child *child = &workers->all[i];

        if (child->pid != pid)
            continue;
        child->pid = 0;
        metrics_end(&workers->plan->metrics->slots[i]);
        if (expected)
            return;
        metrics_add(&workers->plan->metrics->workers_ended, 1);
        if (WIFSIGNALED(how))
            log_fault(workers, "worker ended", pid, "signal", WTERMSIG(how));
        else
            log_fault(workers, "worker ended", pid, "status", WEXITSTATUS(how));
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

static void signal_all(const struct workers *workers, int signal)
{
    for (size_t i = 0; i < workers->plan->n; i++) {
        if (workers->all[i].pid != 0)
            kill(workers->all[i].pid, signal);
    }
}

/* Otherwise systemd would end the service after TimeoutStopSec. */
static void begin_to_drain(const struct workers *workers)
{
    int drain_ms = workers->plan->drain_ms;
    char duration[24];
    char state[64];
    struct log_pair pairs[] = {{"duration_ms", duration}, {NULL, NULL}};

    snprintf(duration, sizeof duration, "%d", drain_ms);
    snprintf(state, sizeof state, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld",
             (drain_ms + STOP_TIMEOUT_MS + SPARE_MS) * 1000LL);
    log_event(workers->plan->log, LOG_LEVEL_INFO, "draining", pairs);
    if (!systemd_notify(state))
        log_fault(workers, "cannot tell systemd", getpid(), "errno", errno);
}

/* Stores what workers pass on meanwhile.  Returns -1 without a signal. */
static int wait_for_signal(struct workers *workers, int most_ms)
{
    struct kept *kept = workers->plan->kept;
    int wait_ms = kept->pair[1] >= 0 && most_ms > RECEIVE_MS ? RECEIVE_MS : most_ms;
    struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};

    kept_receive(kept);
    kept_store(kept, workers->plan->log);
    return sigtimedwait(&workers->signals, NULL, &wait);
}

static void stop_all(struct workers *workers, int signal)
{
    int64_t deadline_ms = clock_steady_ms() + STOP_TIMEOUT_MS;

    if (signal == SIGTERM && workers->plan->drain_ms > 0) {
        deadline_ms += workers->plan->drain_ms;
        begin_to_drain(workers);
    }
    signal_all(workers, signal == SIGTERM ? SIGTERM : SIGINT);
    while (count(workers) > 0) {
        int left_ms = clock_left_ms(deadline_ms);

        if (left_ms == 0)
            signal_all(workers, SIGKILL);
        signal = wait_for_signal(workers, left_ms == 0 ? 1000 : left_ms);
        if (signal == SIGINT || signal == SIGHUP) {
            deadline_ms = clock_earlier(deadline_ms, clock_steady_ms() + STOP_TIMEOUT_MS);
            signal_all(workers, SIGINT);
        }
        reap(workers, true);
    }
    kept_receive(workers->plan->kept);
    kept_store(workers->plan->kept, workers->plan->log);
    if (workers->plan->kept->pair[1] >= 0)
        systemd_settle(SETTLE_MS);
}

/* Workers do not wait for the database, so one for each processor is enough.  With two, one goes on
 * while the other is replaced. */
size_t workers_default(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    if (n < DEFAULT_LEAST)
        return DEFAULT_LEAST;
    return n > DEFAULT_MOST ? DEFAULT_MOST : (size_t)n;
}

bool workers_run(const struct workers_plan *plan, int *status)
{
    struct workers workers = {.plan = plan};
    const struct timespec second = {.tv_sec = 1};
    int signal;

    sigemptyset(&workers.signals);
    sigaddset(&workers.signals, SIGCHLD);
    sigaddset(&workers.signals, SIGTERM);
    sigaddset(&workers.signals, SIGINT);
    sigaddset(&workers.signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &workers.signals, NULL);
    for (;;) {
        if (!start_missing(&workers, status))
            return false;
        signal = sigtimedwait(&workers.signals, NULL, &second);
        if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
            break;
        reap(&workers, false);
    }
    stop_all(&workers, signal);
    *status = 0;
    return true;
}
