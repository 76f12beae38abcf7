/* SPDX-License-Identifier: MIT */
/* Starts child processes, reads what they print, and ends those that hang. */
#include "gateway/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define FIRST_PAUSE_MS 250
#define LONGEST_PAUSE_MS 5000

/* How often a child that runs is looked at. */
#define LOOK_MS 10

/* Bytes of output that are logged. */
#define OUTPUT_BYTES_MAX 1000

void job_init(struct job *job)
{
    job->due_ms = JOB_NEVER;
    job->pause_ms = FIRST_PAUSE_MS;
    job->output_fd = -1;
}

void job_want(struct job *job, int64_t at_ms)
{
    job->due_ms = clock_earlier(job->due_ms, at_ms);
}

/* ---- the child ---- */

static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Leaves the child nothing but /dev/null and the pipe.  Returns false if a step fails. */
static bool set_descriptors(int output_fd)
{
    int null_fd = open("/dev/null", O_RDWR);

    return null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
           dup2(output_fd, STDOUT_FILENO) >= 0 && dup2(output_fd, STDERR_FILENO) >= 0 &&
           close_range(3, ~0U, 0) == 0;
}

static __attribute__((noreturn)) void be_child(const struct job *job, int output_fd)
{
    bool ok;

    setpgid(0, 0);
    reset_signals();
    ok = set_descriptors(output_fd) && job->run(job->context);
    _exit(ok ? 0 : 1);
}

/* ---- the parent ---- */

static void log_end(const struct job *job, const struct log *log, const char *cause)
{
    const struct log_pair pairs[] = {
        {"job", job->name},
        {"cause", cause},
        {"output", buf_text(&job->output).s},
        {NULL, NULL},
    };

    if (cause)
        log_event(log, LOG_LEVEL_ERROR, "reload failed", pairs);
    else
        log_event(log, LOG_LEVEL_INFO, "reloaded", pairs);
}

static enum job_event note_failure(struct job *job, int64_t now_ms, const struct log *log,
                                   const char *cause)
{
    log_end(job, log, cause);
    job_want(job, now_ms + job->pause_ms);
    job->pause_ms = job->pause_ms * 2 < LONGEST_PAUSE_MS ? job->pause_ms * 2 : LONGEST_PAUSE_MS;
    return JOB_FAILED;
}

/* No handler of this process may run in the child before it resets them. */
static pid_t fork_child(const struct job *job, int output_fd)
{
    sigset_t all;
    sigset_t before;
    pid_t pid;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        be_child(job, output_fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static enum job_event start(struct job *job, int64_t now_ms, const struct log *log)
{
    int ends[2];

    job->due_ms = JOB_NEVER;
    job->is_late = false;
    buf_clear(&job->output);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return note_failure(job, now_ms, log, strerror(errno));
    /* The child does not expect that its output blocks. */
    fcntl(ends[1], F_SETFL, 0);
    job->pid = fork_child(job, ends[1]);
    close(ends[1]);
    if (job->pid < 0) {
        job->pid = 0;
        close(ends[0]);
        return note_failure(job, now_ms, log, strerror(errno));
    }
    setpgid(job->pid, job->pid); /* the child does the same; whoever is first */
    job->output_fd = ends[0];
    job->end_ms = now_ms + job->limit_ms;
    return JOB_STARTED;
}

/* Reads all that is there, so that the child does not wait, and keeps the beginning. */
static void read_output(struct job *job)
{
    char data[4096];
    ssize_t n;

    while ((n = read(job->output_fd, data, sizeof data)) > 0) {
        size_t room = OUTPUT_BYTES_MAX - job->output.len;

        buf_add(&job->output, data, (size_t)n < room ? (size_t)n : room);
    }
}

/* Handles the end of the child, with the status of waitpid(). */
static enum job_event finish(struct job *job, int status, int64_t now_ms, const struct log *log)
{
    char cause[64];

    read_output(job);
    close(job->output_fd);
    job->output_fd = -1;
    job->pid = 0;
    if (!job->is_late && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        job->pause_ms = FIRST_PAUSE_MS;
        log_end(job, log, NULL);
        return JOB_SUCCEEDED;
    }
    if (job->is_late)
        snprintf(cause, sizeof cause, "it took more than %d ms", job->limit_ms);
    else if (WIFSIGNALED(status))
        snprintf(cause, sizeof cause, "signal %d", WTERMSIG(status));
    else
        snprintf(cause, sizeof cause, "exit status %d", WEXITSTATUS(status));
    return note_failure(job, now_ms, log, cause);
}

enum job_event job_tick(struct job *job, int64_t now_ms, const struct log *log)
{
    int status = 0;
    pid_t ended;

    if (job->pid == 0)
        return now_ms >= job->due_ms ? start(job, now_ms, log) : JOB_QUIET;
    read_output(job);
    if (now_ms >= job->end_ms && !job->is_late) {
        job->is_late = true;
        kill(-job->pid, SIGKILL);
    }
    ended = waitpid(job->pid, &status, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR))
        return JOB_QUIET;
    /* Nobody knows how a child ended that another part of the process has collected. */
    return finish(job, ended < 0 ? W_EXITCODE(255, 0) : status, now_ms, log);
}

int64_t job_next(const struct job *job, int64_t now_ms)
{
    return job->pid > 0 ? now_ms + LOOK_MS : job->due_ms;
}

void job_free(struct job *job)
{
    if (job->output_fd >= 0)
        close(job->output_fd);
    buf_free(&job->output);
    job_init(job);
}
