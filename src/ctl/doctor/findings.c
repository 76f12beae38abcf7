/* SPDX-License-Identifier: MIT */
/* Prints findings, or relays them to the parent. */
#include "ctl/doctor/findings.h"

#include <stdarg.h>
#include <string.h>

#include "ctl/terminal.h"

/* A message that a finding fits into. */
#define MESSAGE_SIZE 2048

/* Other programs write parts of a message, and a child that is a service's user the whole line. */
static void print_plain(const char *level, const char *what, const char *message)
{
    struct buf line = {0};
    struct buf plain = {0};

    buf_printf(&line, "%-8s %-9s %s", level, what, message);
    terminal_put(&plain, buf_text(&line));
    puts(line.failed || plain.failed ? "out of memory" : plain.data);
    buf_free(&line);
    buf_free(&plain);
}

static void print_finding(struct findings *findings, const char *level, const char *what,
                          const char *message)
{
    if (findings->relay)
        fprintf(findings->relay, "%s%c%s%c%s%c", level, 0, what, 0, message, 0);
    else if (findings->out.ctl->options.json)
        listing_add(&findings->out,
                    (struct text[]){text_of(level), text_of(what), text_of(message)});
    else
        print_plain(level, what, message);
}

void doctor_line(struct findings *findings, const char *level, const char *what, const char *format,
                 ...)
{
    char message[MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    print_finding(findings, level, what, message);
}

void doctor_trouble(struct findings *findings, const char *what, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;

    findings->n_troubles++;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    print_finding(findings, "trouble", what, message);
}

void doctor_relay(struct findings *findings, const char *level, const char *what,
                  const char *message)
{
    findings->n_troubles += strcmp(level, "trouble") == 0;
    print_finding(findings, level, what, message);
}

void doctor_say_time(char out[DOCTOR_TIME_SIZE], int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{INT64_C(86400000), "days"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}};

    snprintf(out, DOCTOR_TIME_SIZE, "%lld ms", (long long)ms);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ms < 5 * units[i].ms)
            continue;
        snprintf(out, DOCTOR_TIME_SIZE, "%lld %s",
                 (long long)((ms + units[i].ms / 2) / units[i].ms), units[i].unit);
        return;
    }
}
