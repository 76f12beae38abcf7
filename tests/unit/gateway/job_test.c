/* SPDX-License-Identifier: MIT */
/* Tests of work in a child process: repeated, bounded, one at a time, and with nothing inherited.
 */
#include "gateway/job.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "folder.h"
#include "suites.h"

static const struct log quiet = {.level = LOG_LEVEL_ERROR, .target = LOG_TARGET_STDERR};

static struct job make_job(bool (*run)(void *context), void *context)
{
    struct job job = {.name = "job", .run = run, .context = context, .limit_ms = 50000};

    job_init(&job);
    return job;
}

/* Runs until the child that is wanted now has ended. */
static enum job_event run_once(struct job *job)
{
    enum job_event event;

    job_want(job, clock_steady_ms());
    ck_assert_int_eq(job_tick(job, clock_steady_ms(), &quiet), JOB_STARTED);
    while ((event = job_tick(job, clock_steady_ms(), &quiet)) == JOB_QUIET) {
        int64_t now_ms = clock_steady_ms();

        ck_assert_int_ge(job_next(job, now_ms), now_ms);
        poll(NULL, 0, 2);
    }
    return event;
}

static bool succeed(void *context)
{
    (void)context;
    puts("done");
    fflush(stdout);
    return true;
}

static bool fail_loudly(void *context)
{
    for (int i = 0; i < 100000; i++)
        fprintf(stderr, "%s %d\n", (const char *)context, i);
    return false;
}

START_TEST(success_and_failure)
{
    struct job job = make_job(succeed, NULL);

    ck_assert_int_eq(job_next(&job, 5), JOB_NEVER);
    ck_assert_int_eq(run_once(&job), JOB_SUCCEEDED);
    ck_assert_str_eq(job.output.data, "done\n");
    ck_assert_int_eq(job_next(&job, 5), JOB_NEVER);
    job.run = fail_loudly;
    job.context = (void *)"wrong";
    ck_assert_int_eq(run_once(&job), JOB_FAILED);
    ck_assert_uint_eq(job.output.len, 1000);
    ck_assert(text_begins(buf_text(&job.output), "wrong 0\nwrong 1\n"));
    job_free(&job);
}
END_TEST

START_TEST(failures_are_repeated_ever_more_slowly)
{
    static const int pauses[] = {250, 500, 1000, 2000, 4000, 5000, 5000};
    struct job job = make_job(fail_loudly, (void *)"");

    for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++) {
        int64_t before_ms = clock_steady_ms();
        int64_t due_in_ms;

        job.due_ms = JOB_NEVER;
        ck_assert_int_eq(run_once(&job), JOB_FAILED);
        due_in_ms = job_next(&job, clock_steady_ms()) - before_ms;
        ck_assert_int_ge(due_in_ms, pauses[i]);
        ck_assert_int_le(due_in_ms, pauses[i] + (clock_steady_ms() - before_ms));
    }
    job.run = succeed;
    ck_assert_int_eq(run_once(&job), JOB_SUCCEEDED);
    ck_assert_int_eq(job.pause_ms, 250);
    job_free(&job);
}
END_TEST

static bool hang(void *context)
{
    (void)context;
    signal(SIGTERM, SIG_IGN);
    return poll(NULL, 0, -1) == 0;
}

START_TEST(a_hanging_child_is_ended)
{
    struct job job = make_job(hang, NULL);
    pid_t pid;

    job.limit_ms = 50;
    job_want(&job, clock_steady_ms());
    ck_assert_int_eq(job_tick(&job, clock_steady_ms(), &quiet), JOB_STARTED);
    pid = job.pid;
    job_want(&job, clock_steady_ms());
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(job_tick(&job, job.end_ms - 1, &quiet), JOB_QUIET);
        ck_assert_int_eq(job.pid, pid); /* another one does not start beside it */
    }
    while (job_tick(&job, job.end_ms, &quiet) == JOB_QUIET)
        poll(NULL, 0, 2);
    ck_assert_int_eq(job.pid, 0);
    ck_assert_int_eq(kill(pid, 0), -1);
    ck_assert_int_lt(job.due_ms, JOB_NEVER);
    job_free(&job);
}
END_TEST

/* Fails with a message if the process has more than it should. */
static bool inspect(void *context)
{
    struct sigaction action;
    sigset_t blocked;

    (void)context;
    for (int fd = 3; fd < 256; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            return fprintf(stderr, "descriptor %d is open\n", fd) < 0;
    }
    for (int number = 1; number < SIGRTMIN; number++) {
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            return fprintf(stderr, "signal %d is not default\n", number) < 0;
    }
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    if (!sigisemptyset(&blocked) || getpgrp() != getpid())
        return fprintf(stderr, "a signal is blocked, or the group is another\n") < 0;
    return read(STDIN_FILENO, &blocked, 1) == 0;
}

START_TEST(nothing_is_inherited)
{
    struct job job = make_job(inspect, NULL);
    sigset_t some;

    ck_assert_int_ge(open("/dev/null", O_RDONLY), 0); /* without O_CLOEXEC */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, NULL);
    ck_assert_msg(run_once(&job) == JOB_SUCCEEDED, "%s", buf_text(&job.output).s);
    sigprocmask(SIG_BLOCK, NULL, &some);
    ck_assert_int_eq(sigismember(&some, SIGUSR1), 1);
    ck_assert_int_eq(sigismember(&some, SIGUSR2), 0);
    job_free(&job);
}
END_TEST

START_TEST(a_want_during_a_run_starts_another)
{
    struct job job = make_job(succeed, NULL);

    job_want(&job, 100);
    ck_assert_int_eq(job_next(&job, 0), 100);
    job_want(&job, 200);
    ck_assert_int_eq(job_next(&job, 0), 100);
    ck_assert_int_eq(job_tick(&job, 99, &quiet), JOB_QUIET);
    ck_assert_int_eq(job_tick(&job, 100, &quiet), JOB_STARTED);
    job_want(&job, 130);
    while (job_tick(&job, 120, &quiet) == JOB_QUIET)
        poll(NULL, 0, 2);
    ck_assert_int_eq(job_tick(&job, 129, &quiet), JOB_QUIET);
    ck_assert_int_eq(job_tick(&job, 130, &quiet), JOB_STARTED);
    while (job_tick(&job, 130, &quiet) == JOB_QUIET)
        poll(NULL, 0, 2);
    ck_assert_int_eq(job_next(&job, 130), JOB_NEVER);
    job_free(&job);
}
END_TEST

Suite *gateway_job_suite(void)
{
    Suite *suite = suite_create("gateway/job");
    TCase *tcase = tcase_create("job");

    tcase_add_test(tcase, success_and_failure);
    tcase_add_test(tcase, failures_are_repeated_ever_more_slowly);
    tcase_add_test(tcase, a_hanging_child_is_ended);
    tcase_add_test(tcase, nothing_is_inherited);
    tcase_add_test(tcase, a_want_during_a_run_starts_another);
    suite_add_tcase(suite, tcase);
    return suite;
}
