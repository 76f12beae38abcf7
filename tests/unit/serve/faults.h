/* SPDX-License-Identifier: MIT */
/* System calls that fail on demand, the steady clock, and the log's lines.  The linker puts them in
 * the place of the real ones (--wrap). */
#ifndef ADIT_TESTS_SERVE_FAULTS_H
#define ADIT_TESTS_SERVE_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: everything works. */
struct faults {
    int n_accept;         /* this many calls of accept4() fail, */
    int accept_errno;     /* with this error */
    int n_epoll_ctl;      /* this many calls that watch a descriptor fail with ENOMEM */
    int n_malloc;         /* this many calls of malloc() fail, */
    size_t least;         /* of those for at least so many bytes */
    bool no_mmap;         /* mmap() fails */
    bool interrupt_write; /* the next write to descriptor 1 fails with EINTR */
};

extern struct faults faults;

/* The log's lines since faults_clear(), one after the other. */
extern char logged[8192];

/* Lets everything work, and forgets the log. */
void faults_clear(void);

/* The steady clock runs, and stands still from clock_stop() until clock_run(): however long the
 * machine keeps the test waiting, no deadline comes.  Meanwhile clock_pass_ms() moves it. */
void clock_stop(void);
void clock_run(void);
void clock_pass_ms(int64_t ms);

/* Returns how often the text is in the log. */
int logged_times(const char *text);

#endif
