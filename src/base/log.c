/* SPDX-License-Identifier: MIT */
/* The log. */
#include "base/log.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

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

/* A leaky bucket: it holds LOG_BURST lines, and one leaks each second. */
static bool may_write(struct log_bucket *bucket)
{
    int64_t now_ms = clock_steady_ms();
    int64_t leaked = (now_ms - bucket->since_ms) / 1000;

    if (bucket->n_written <= leaked) {
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

static struct log_bucket *find_bucket(struct log_limit *limit, enum log_level level,
                                      const char *event)
{
    struct log_bucket *bucket = limit->of;

    for (; bucket < &limit->of[LOG_EVENTS_MAX - 1] && bucket->event; bucket++) {
        if (bucket->level == level && strcmp(bucket->event, event) == 0)
            return bucket;
    }
    bucket->event = event;
    bucket->level = level;
    return bucket;
}

void log_often(const struct log *log, enum log_level level, const char *event,
               const struct log_pair *pairs)
{
    char n_left_out[24] = "";

    if (!log_wants(log, level))
        return;
    if (log->limit && log->level != LOG_LEVEL_DEBUG) {
        struct log_bucket *bucket = find_bucket(log->limit, level, event);

        if (!may_write(bucket)) {
            bucket->n_left_out++;
            return;
        }
        if (bucket->n_left_out > 0)
            snprintf(n_left_out, sizeof n_left_out, "%lu", bucket->n_left_out);
        bucket->n_left_out = 0;
    }
    write_line(log, level, event, pairs, n_left_out);
}
