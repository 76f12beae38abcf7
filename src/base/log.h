/* SPDX-License-Identifier: MIT */
/* The log: one JSON object a line, whatever is in it. */
#ifndef ADIT_BASE_LOG_H
#define ADIT_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

/* What log_often() remembers, of one process, by level: many lines of one level leave out none of
 * another.  All zero: nothing was logged yet. */
struct log_limit {
    struct log_bucket {
        int64_t since_ms; /* on the steady clock: until then, what was written has been counted */
        int n_written;
        unsigned long n_left_out;
    } of[LOG_LEVEL_DEBUG + 1];
};

struct log {
    enum log_level level; /* what is less important is not written */
    enum log_target target;
    struct log_limit *limit; /* NULL: log_often() leaves nothing out */
};

/* A name and its value in a line; the last pair of a line has the name NULL.  A pair whose value is
 * NULL or "" is left out. */
struct log_pair {
    const char *name;
    const char *value;
};

/* Writes one line with the time, the level, the event and the pairs.  Bytes that are not printable
 * ASCII are escaped, so that nothing can forge a line.  Never give it a secret.  What cannot be
 * written is lost. */
void log_event(const struct log *log, enum log_level level, const char *event,
               const struct log_pair *pairs);

/* The same for an event of which there may be thousands a second, all alike: of those of one level,
 * one a second is written, after the first LOG_BURST.  A line says how many of its level have been
 * left out before it.  At the level of debug, none is left out. */
#define LOG_BURST 10
void log_often(const struct log *log, enum log_level level, const char *event,
               const struct log_pair *pairs);

/* Returns whether a line of that level would be written. */
bool log_wants(const struct log *log, enum log_level level);

#endif
