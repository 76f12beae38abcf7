/* SPDX-License-Identifier: MIT */
/* The log: one JSON object a line. */
#ifndef ADIT_BASE_LOG_H
#define ADIT_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

/* The rate limit of log_often() in one process.  Each level has a bucket of its own, so many lines
 * of one level suppress none of another.  All zero: nothing was logged yet. */
struct log_limit {
    struct log_bucket {
        int64_t since_ms; /* on the steady clock: lines before it have leaked */
        int n_written;
        unsigned long n_left_out;
    } of[LOG_LEVEL_DEBUG + 1];
};

struct log {
    enum log_level level; /* less important lines are not written */
    enum log_target target;
    struct log_limit *limit; /* NULL: log_often() suppresses nothing */
};

/* A name and its value.  The last pair of an array has the name NULL.  Pairs whose value is NULL or
 * "" are left out. */
struct log_pair {
    const char *name;
    const char *value;
};

/* Writes one line with the time, the level, the event and the pairs.  Escapes all bytes but
 * printable ASCII, so that no value can forge a line.  Cuts lines at 4096 bytes.  Never pass a
 * secret.  A line that cannot be written is lost. */
void log_event(const struct log *log, enum log_level level, const char *event,
               const struct log_pair *pairs);

/* Does the same for events that may come thousands of times a second.  After LOG_BURST lines of one
 * level it writes one a second.  A line tells in "left_out" how many of its level are missing
 * before it.  Suppresses nothing if the log's level is debug. */
#define LOG_BURST 10
void log_often(const struct log *log, enum log_level level, const char *event,
               const struct log_pair *pairs);

/* Returns whether the log writes lines of that level. */
bool log_wants(const struct log *log, enum log_level level);

#endif
