/* SPDX-License-Identifier: MIT */
/* The progress of long work: one line on standard error, if that is a terminal.  It tells how much
 * is done, or else how long the database has been working. */
#ifndef ADIT_CTL_PROGRESS_H
#define ADIT_CTL_PROGRESS_H

#include "base/wait.h"
#include "ctl/ctl.h"
#include "store/long_work.h"

/* The line, of which a program has one. */
struct progress_line {
    bool is_wanted;
    bool is_counted; /* it tells how much is done */
};

/* Returns the wait for ctl->pg, which shows how many seconds each wait has taken, from the first
 * second on.  Sets ctl->line to the line, which must outlive both. */
struct wait progress_wait(struct ctl *ctl, struct progress_line *line);

struct progress {
    struct progress_line *line;
    const char *what; /* as in "1200 of 50000 WHAT" */
    int64_t total;    /* 0: unknown */
    bool is_wanted;
    int64_t next_ms; /* steady clock: show no number before */
};

/* Starts with nothing shown.  what is a plural, such as "credentials". */
void progress_start(struct progress *progress, const struct ctl *ctl, const char *what,
                    int64_t total);

/* As progress_start(), for a command whose output itself shows on a terminal how far it is: shows
 * nothing if standard output is a terminal. */
void progress_start_output(struct progress *progress, const struct ctl *ctl, const char *what);

/* Shows how much is done, at most 5 times a second and not in the first second.  Cheap otherwise.
 */
void progress_show(struct progress *progress, int64_t n_done);

/* Returns work that shows its progress here.  The progress must outlive it. */
struct long_work progress_work(struct progress *progress);

/* Erases the line: before other output on the terminal, and at the end. */
void progress_erase(struct progress *progress);

#endif
