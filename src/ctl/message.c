/* SPDX-License-Identifier: MIT */
/* Messages, and the words in them. */
#include "ctl/message.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "ctl/terminal.h"

static void say(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void say(const char *format, va_list args)
{
    struct buf shown = {0};
    char *message;

    if (vasprintf(&message, format, args) < 0) {
        fputs("aditctl: out of memory\n", stderr);
        return;
    }
    terminal_put_message(&shown, text_of(message));
    fprintf(stderr, "aditctl: %s\n", shown.failed ? "out of memory" : buf_text(&shown).s);
    buf_free(&shown);
    free(message);
}

void ctl_note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
}

int ctl_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    return CTL_FAILED;
}

int ctl_misuse(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(format, args);
    va_end(args);
    return CTL_USAGE;
}

const char *ctl_reason(const struct error *err)
{
    static char reason[sizeof err->cause];
    size_t n = 0;

    if (!err->cause[0])
        return error_row(err->code)->text;
    for (const char *at = err->cause; *at; at++) {
        bool is_blank = strchr(" \t\r\n", *at) != NULL;

        if (!is_blank)
            reason[n++] = *at;
        else if (n > 0 && reason[n - 1] != ' ')
            reason[n++] = ' ';
    }
    while (n > 0 && reason[n - 1] == ' ')
        n--;
    reason[n] = '\0';
    return reason;
}

int ctl_fail_error(const struct error *err)
{
    /* Without a right (42501), it is the wrong role of the database that runs this. */
    if (err->code == ERR_SCHEMA_MISMATCH && strcmp(err->sqlstate, "42501") != 0)
        return ctl_fail("the database schema is missing or older than this program; run: aditctl "
                        "migrate");
    ctl_fail("%s", ctl_reason(err));
    if (err->code == ERR_DATABASE_UNAVAILABLE)
        ctl_fail("check conninfo and admin_conninfo in [database] of the settings; aditctl runs "
                 "here as the system user %s",
                 ctl_user_name());
    else if (err->code == ERR_OUTCOME_UNKNOWN)
        ctl_fail("the outcome is unknown: look whether the change was made before you run this "
                 "again");
    else if (strcmp(err->sqlstate, "42501") == 0)
        ctl_fail("run this as a system user who may connect as the owner of the tables, or set "
                 "admin_conninfo in [database] of the settings; aditctl runs here as the system "
                 "user %s",
                 ctl_user_name());
    return CTL_FAILED;
}

const char *ctl_user_name(void)
{
    static char number[24];
    const struct passwd *user = getpwuid(geteuid());

    snprintf(number, sizeof number, "%lu", (unsigned long)geteuid());
    return user ? user->pw_name : number;
}

const char *ctl_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}
