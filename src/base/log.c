/* SPDX-License-Identifier: MIT */
/* The log. */
#include "base/log.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/time.h"

/* Bytes of the longest line.  It goes out in one write() of at most PIPE_BUF bytes, so lines of
 * several processes do not mix in a pipe. */
#define LINE_SIZE 4096

struct line {
    char data[LINE_SIZE];
    size_t len;
};

static const char *const level_names[] = {"error", "warning", "info", "debug"};
static const int syslog_levels[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

/* Appends, and always leaves room for the end of a value and of the line ("\"}\n").  The line may
 * be one byte over that limit already, by the quote after a value that was cut. */
static bool add_bytes(struct line *line, const char *s, size_t len)
{
    if (line->len + len > sizeof line->data - 3)
        return false;
    memcpy(line->data + line->len, s, len);
    line->len += len;
    return true;
}

static void add_escaped_value(struct line *line, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        char code[8];
        int len = snprintf(code, sizeof code,
                           c == '"' || c == '\\'   ? "\\%c"
                           : c < 0x20 || c >= 0x7F ? "\\u%04x"
                                                   : "%c",
                           c);

        if (!add_bytes(line, code, (size_t)len))
            return;
    }
}

static void add_pair(struct line *line, const char *name, const char *value)
{
    size_t before = line->len;

    if (!value || !value[0])
        return;
    if (before > 1)
        add_bytes(line, ",", 1);
    if (!add_bytes(line, "\"", 1) || !add_bytes(line, name, strlen(name)) ||
        !add_bytes(line, "\":\"", 3)) {
        line->len = before;
        return;
    }
    add_escaped_value(line, value);
    line->data[line->len++] = '"';
}

bool log_wants(const struct log *log, enum log_level level)
{
    return level <= log->level;
}

static void write_line(const struct log *log, enum log_level level, const char *event,
                       const struct log_pair *pairs, const char *n_left_out)
{
    struct line line = {.data = "{", .len = 1};
    char time[TIME_SIZE] = "";

    if (!log_wants(log, level))
        return;
    time_write(time, clock_wall_ms() / 1000);
    add_pair(&line, "time", time);
    add_pair(&line, "level", level_names[level]);
    add_pair(&line, "event", event);
    add_pair(&line, "left_out", n_left_out);
    for (; pairs && pairs->name; pairs++)
        add_pair(&line, pairs->name, pairs->value);
    line.data[line.len++] = '}';
    if (log->target == LOG_TARGET_SYSLOG) {
        syslog(syslog_levels[level], "%.*s", (int)line.len, line.data);
        return;
    }
    line.data[line.len++] = '\n';
    if (write(STDERR_FILENO, line.data, line.len) < 0)
        return;
}

void log_event(const struct log *log, enum log_level level, const char *event,
               const struct log_pair *pairs)
{
    write_line(log, level, event, pairs, NULL);
}

/* ---- the limit ---- */

struct log_source log_source_of(enum log_party party, struct text name)
{
    return (struct log_source){.party = party, .id = text_hash(name)};
}

/* So that "ab" and "c" are not "a" and "bc". */
#define NAME_FACTOR 31

void log_source_add(struct log_source *source, struct text name)
{
    source->id = source->id * NAME_FACTOR + text_hash(name);
}

struct log_source log_stranger(const char *address)
{
    const struct address_network narrow = address_network_of(text_of(address));
    const struct address_network network =
        address_widen(&narrow, address_widths[ADDRESS_N_WIDTHS - 1].n_bytes);
    const struct text bytes = {.s = (const char *)network.bytes, .len = network.n_bytes};

    return log_source_of(LOG_PARTY_STRANGER, bytes);
}

/* A leaky bucket holds LOG_BURST lines, and one leaks each second. */
static int64_t leaked_lines(const struct log_bucket *bucket, int64_t now_ms)
{
    return (now_ms - bucket->since_ms) / 1000;
}

static bool is_empty_bucket(const struct log_bucket *bucket, int64_t now_ms)
{
    return bucket->n_written <= leaked_lines(bucket, now_ms);
}

static bool may_write(struct log_bucket *bucket, int64_t now_ms)
{
    int64_t leaked = leaked_lines(bucket, now_ms);

    if (is_empty_bucket(bucket, now_ms)) {
        bucket->n_written = 0;
        bucket->since_ms = now_ms;
    } else if (leaked > 0) {
        bucket->n_written -= (int)leaked;
        bucket->since_ms += leaked * 1000;
    }
    if (bucket->n_written == LOG_BURST)
        return false;
    bucket->n_written++;
    return true;
}

static struct log_kind *kind_of_line(struct log_limit *limit, enum log_level level,
                                     const char *event, enum log_party party)
{
    struct log_kind *kind = limit->kinds;

    for (; kind < &limit->kinds[LOG_KINDS_MAX - 1] && kind->event; kind++) {
        if (kind->level == level && kind->party == party && strcmp(kind->event, event) == 0)
            return kind;
    }
    kind->event = event;
    kind->level = level;
    kind->party = party;
    return kind;
}

/* With buckets of their own. */
static const size_t n_sources[LOG_N_PARTIES] = {[LOG_PARTY_PLACE] = LOG_SOURCES_MAX,
                                                [LOG_PARTY_KNOWN] = LOG_SOURCES_MAX,
                                                [LOG_PARTY_STRANGER] = LOG_STRANGERS_MAX};

/* Only an empty bucket becomes another source's: it holds nothing back that a new one would let
 * out. */
static struct log_bucket *find_bucket(struct log_limit *limit, struct log_kind *kind,
                                      const struct log_source *source, int64_t now_ms)
{
    struct log_bucket *free_one = NULL;

    for (size_t i = 0; i < n_sources[source->party]; i++) {
        struct log_bucket *bucket = &limit->of[source->party][i];

        if (bucket->kind == kind && bucket->id == source->id)
            return bucket;
        if (!free_one && is_empty_bucket(bucket, now_ms))
            free_one = bucket;
    }
    if (!free_one)
        return &kind->shared;
    *free_one = (struct log_bucket){.kind = kind, .id = source->id};
    return free_one;
}

void log_often(const struct log *log, enum log_level level, const char *event,
               const struct log_source *source, const struct log_pair *pairs)
{
    static const struct log_source program = {.party = LOG_PARTY_PROGRAM};
    char n_left_out[24] = "";

    if (!log_wants(log, level))
        return;
    if (!source)
        source = &program;
    if (log->limit && log->level != LOG_LEVEL_DEBUG) {
        struct log_kind *kind = kind_of_line(log->limit, level, event, source->party);
        int64_t now_ms = clock_steady_ms();

        if (!may_write(find_bucket(log->limit, kind, source, now_ms), now_ms)) {
            kind->n_left_out++;
            return;
        }
        if (kind->n_left_out > 0)
            snprintf(n_left_out, sizeof n_left_out, "%lu", kind->n_left_out);
        kind->n_left_out = 0;
    }
    write_line(log, level, event, pairs, n_left_out);
}
