/* SPDX-License-Identifier: MIT */
/* The log: one JSON object a line. */
#ifndef ADIT_BASE_LOG_H
#define ADIT_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

/* Events of log_often() in one process, each at each of its levels.  More share the last place. */
#define LOG_EVENTS_MAX 32

/* The rate limit of log_often() in one process.  Each event has a bucket of its own at each level,
 * so whoever provokes many lines of one kind suppresses none of another.  All zero: nothing was
 * logged yet. */
struct log_limit {
    struct log_bucket {
        const char *event; /* NULL: unused */
        enum log_level level;
        int64_t since_ms; /* on the steady clock: lines before it have leaked */
        int n_written;
        unsigned long n_left_out;
    } of[LOG_EVENTS_MAX];
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

/* Does the same for events that may come thousands of times a second; the event's text must be
 * static.  After LOG_BURST lines of one event and level it writes one a second.  A line tells in
 * "left_out" how many like it are missing before it.  Suppresses nothing if the log's level is
 * debug. */
#define LOG_BURST 10
void log_often(const struct log *log, enum log_level level, const char *event,
               const struct log_pair *pairs);

/* Returns whether the log writes lines of that level. */
bool log_wants(const struct log *log, enum log_level level);

#endif
