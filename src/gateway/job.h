/* SPDX-License-Identifier: MIT */
/* Work in a child process that is repeated until it succeeds: a reload of a web server. */
#ifndef ADIT_GATEWAY_JOB_H
#define ADIT_GATEWAY_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/log.h"

/* A time that does not come. */
#define JOB_NEVER INT64_MAX

/* Zero it, set the first members, and call job_init(). */
struct job {
    const char *name;           /* in the log */
    bool (*run)(void *context); /* works in the child process; what it prints is logged */
    void *context;
    int limit_ms; /* a child that takes longer is ended */

    int64_t due_ms; /* when the next child starts; JOB_NEVER: none is wanted */
    int pause_ms;   /* after the next failure */
    pid_t pid;      /* of the child that runs; 0: none */
    int64_t end_ms; /* when it is ended */
    bool is_late;   /* it was ended */
    int output_fd;
    struct buf output; /* the beginning of what it printed */
};

/* What job_tick() did. */
enum job_event { JOB_QUIET, JOB_STARTED, JOB_SUCCEEDED, JOB_FAILED };

void job_init(struct job *job);

/* Wants the work done at that time, or earlier if it was wanted earlier.  If a child runs, another
 * one starts after it. */
void job_want(struct job *job, int64_t at_ms);

/* Starts a child that is due, or collects one that ended, and logs its end.  After a failure the
 * work is wanted again: after 250 ms, then 500 ms, ... up to 5 s.  At most one child runs.  The
 * child has default signals, no descriptors but /dev/null and its output, and a process group of
 * its own.  All times are on the steady clock. */
enum job_event job_tick(struct job *job, int64_t now_ms, const struct log *log);

/* Returns when job_tick() is due next, or JOB_NEVER. */
int64_t job_next(const struct job *job, int64_t now_ms);

/* Frees what the job owns.  A child that runs goes on. */
void job_free(struct job *job);

#endif
