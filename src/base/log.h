/* SPDX-License-Identifier: MIT */
/* The log: one JSON object a line. */
#ifndef ADIT_BASE_LOG_H
#define ADIT_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

/* Kinds of lines of log_often() in one process: an event at one of its levels, of one party.  More
 * share the last place. */
#define LOG_KINDS_MAX 48

/* Whose lines are limited apart from those of others. */
enum log_party {
    LOG_PARTY_PROGRAM,  /* the program itself, which has one source */
    LOG_PARTY_PLACE,    /* what the operator set up, such as a route: whoever provokes its lines */
    LOG_PARTY_KNOWN,    /* who has shown who it is */
    LOG_PARTY_STRANGER, /* anybody else */
    LOG_N_PARTIES
};

/* One of a party. */
struct log_source {
    enum log_party party;
    uint64_t id;
};

/* Returns the source that has a name, which may be absent. */
struct log_source log_source_of(enum log_party party, struct text name);

/* Adds another part of its name. */
void log_source_add(struct log_source *source, struct text name);

/* Returns the source of a stranger's lines: the IPv4 address, or the /48 of an IPv6 address, which
 * one client may have as a whole.  NULL, and what is no address: one source for all. */
struct log_source log_stranger(const char *address);

/* Sources of each party that have lines of their own limit at a time.  Strangers may have many
 * addresses, and fill the log together, so they have few. */
#define LOG_SOURCES_MAX 128
#define LOG_STRANGERS_MAX 16

/* The rate limit of log_often() in one process.  All zero: nothing was logged yet. */
struct log_limit {
    struct log_kind {
        const char *event; /* NULL: unused */
        enum log_level level;
        enum log_party party;
        unsigned long n_left_out;
        struct log_bucket {
            const struct log_kind *kind; /* NULL: of the kind that holds it, or unused */
            uint64_t id;
            int64_t since_ms; /* on the steady clock: lines before it have leaked */
            int n_written;
        } shared; /* by what has no bucket of its own */
    } kinds[LOG_KINDS_MAX];
    struct log_bucket of[LOG_N_PARTIES][LOG_SOURCES_MAX];
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
 * static.  After LOG_BURST lines of one event, level and source it writes one a second.  So whoever
 * provokes many lines suppresses none of another event or level, and none of another source, as
 * long as a party has few sources at a time: those beyond share a limit, and no party takes
 * another's room.  source: NULL: the program's own.  A line tells in "left_out" how many of
 * its event, level and party are missing before it.  Suppresses nothing if the log's level is
 * debug. */
#define LOG_BURST 10
void log_often(const struct log *log, enum log_level level, const char *event,
               const struct log_source *source, const struct log_pair *pairs);

/* Returns whether the log writes lines of that level. */
bool log_wants(const struct log *log, enum log_level level);

#endif
