/* SPDX-License-Identifier: MIT */
/* aditctl: the operator's tool.  Finds and runs the verb, and prints messages for the verbs. */
#include "ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invisible.h"
#include "base/number.h"
#include "base/standard.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "ctl/options.h"
#include "ctl/plain.h"
#include "ctl/progress.h"
#include "ctl/verbs.h"

#define TEXT_LEN_MAX 255

/* Ten years. */
#define DURATION_MAX_S (INT64_C(3660) * 24 * 3600)

#define MAX_TRIES 5
#define FIRST_PAUSE_MS 50L

/* ---- messages ---- */

static void say(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void say(const char *format, va_list args)
{
    struct buf shown = {0};
    char *message;

    if (vasprintf(&message, format, args) < 0) {
        fputs("aditctl: out of memory\n", stderr);
        return;
    }
    plain_put_message(&shown, text_of(message));
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

/* ---- values of options ---- */

bool ctl_text_valid(const char *option, const char *value)
{
    static const char accepted[] = "UTF-8 without control characters";
    size_t len = value ? strlen(value) : 0;

    if (len > TEXT_LEN_MAX)
        ctl_misuse("--%s has %zu bytes; at most %d are accepted", option, len, TEXT_LEN_MAX);
    else if (value && !utf8_valid(value, len))
        ctl_misuse("--%s is not valid UTF-8; expected %s", option, accepted);
    else if (value && utf8_find_control(value, len))
        ctl_misuse("--%s contains the control character U+%04X; expected %s", option,
                   (unsigned)utf8_find_control(value, len), accepted);
    else if (value && !invisible_shows(text_of(value)))
        ctl_misuse("--%s has no character that shows; give it a value", option);
    else
        return true;
    return false;
}

static bool read_duration(const char *s, int64_t *seconds)
{
    static const char units[] = "smhdw";
    static const int64_t unit_seconds[] = {1, 60, 3600, 86400, 604800};
    const char *end = s + strspn(s, "0123456789");
    const char *unit = *end ? strchr(units, *end) : NULL;
    struct text digits = {.s = s, .len = (size_t)(end - s)};
    uint64_t number;

    if (!unit || end[1] || !number_read(digits, 10, DURATION_MAX_S, &number) || number < 1)
        return false;
    *seconds = (int64_t)number * unit_seconds[unit - units];
    return *seconds <= DURATION_MAX_S;
}

bool ctl_read_duration(const char *option, const char *value, int64_t *seconds)
{
    if (read_duration(value, seconds))
        return true;
    ctl_misuse(
        "--%s '%s' is not accepted; expected a number and s, m, h, d or w, such as 90d, of at "
        "most 3660d",
        option, value);
    return false;
}

/* Reads "2026-01-31", "2026-01-31 23:59" and the like in UTC, and RFC 3339. */
static bool read_point(const char *value, int64_t *us)
{
    static const char pattern[] = "0000-00-00T00:00:00Z";
    char whole[sizeof pattern];
    size_t len = strlen(value);

    if (time_read(text_of(value), us))
        return true;
    if (len != strlen("2026-01-31") && len != strlen("2026-01-31 23:59") &&
        len != strlen("2026-01-31 23:59:59"))
        return false;
    snprintf(whole, sizeof whole, "%s%s", value, pattern + len);
    if (whole[10] == ' ')
        whole[10] = 'T';
    return time_read(text_of(whole), us);
}

bool ctl_read_time(const char *option, const char *value, int64_t *us)
{
    int64_t now_us = clock_wall_us();
    int64_t seconds;

    if (read_duration(value, &seconds))
        *us = now_us - seconds * TIME_SECOND_US;
    else if (!read_point(value, us)) {
        ctl_misuse("--%s '%s' is not accepted; expected a time such as 2026-01-31T23:59:59Z, a day "
                   "such as 2026-01-31 or '2026-01-31 23:59' (both UTC), or how long ago, such as "
                   "2h, of at most 3660d",
                   option, value);
        return false;
    }
    if (*us <= now_us)
        return true;
    ctl_misuse("--%s '%s' is in the future", option, value);
    return false;
}

/* ---- files ---- */

int ctl_open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

    /* Reading waits for a writer that is there. */
    if (flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- questions ---- */

bool ctl_may_ask(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int ctl_confirm(const struct ctl *ctl, const char *question)
{
    char answer[16];

    if (ctl->options.yes)
        return CTL_OK;
    if (!ctl_may_ask())
        return ctl_misuse("nothing was changed: without a terminal to ask on, this needs --yes");
    fprintf(stderr, "%s Type yes to go on: ", question);
    if (fgets(answer, sizeof answer, stdin) && strcmp(answer, "yes\n") == 0)
        return CTL_OK;
    return ctl_fail("nothing was changed");
}

/* ---- other sessions ---- */

bool ctl_is_beaten(const struct error *err)
{
    /* Serialization failure, deadlock, foreign key, unique key. */
    static const char *const states[] = {"40001", "40P01", "23503", "23505"};
    bool found = false;

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        found = found || strcmp(err->sqlstate, states[i]) == 0;
    return found && err->code != ERR_OUTCOME_UNKNOWN;
}

bool ctl_set_beaten(struct error *err)
{
    error_set(err, ERR_DATABASE_UNAVAILABLE);
    snprintf(err->sqlstate, sizeof err->sqlstate, "40001");
    return false;
}

bool ctl_try_again(const struct error *err, int *n_tries)
{
    struct timespec pause = {.tv_nsec = (FIRST_PAUSE_MS << *n_tries) * 1000000L};

    if ((err && !ctl_is_beaten(err)) || *n_tries == MAX_TRIES || ++*n_tries == MAX_TRIES)
        return false;
    nanosleep(&pause, NULL);
    return true;
}

/* ---- standard output ---- */

/* Writes out what was printed.  Returns whether all of it was written, or false after a message:
 * what became of a change follows the reason. */
static bool flush_output(const char *change)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    /* The reason of an earlier write is lost.  Another one has it, and may only add to what is cut.
     */
    if (errno == 0 && write(STDOUT_FILENO, "\n", 1) == 1)
        errno = 0;
    ctl_fail("cannot write to standard output%s%s%s", errno ? ": " : "",
             errno ? strerror(errno) : "", change);
    return false;
}

int ctl_flush(struct ctl *ctl)
{
    ctl->lost_output = !flush_output("; nothing was changed");
    return ctl->lost_output ? CTL_FAILED : CTL_OK;
}

int ctl_commit(struct ctl *ctl)
{
    struct error err;
    int status = ctl_flush(ctl);

    if (status != CTL_OK)
        pg_rollback(ctl->pg);
    else if (!pg_commit(ctl->pg, &err))
        status = ctl_fail_error(&err);
    return status;
}

/* ---- running a verb ---- */

static bool is_plain_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= TEXT_LEN_MAX && utf8_valid(name, len) && !utf8_find_control(name, len);
}

/* Returns the operator's name for the audit, static: the system user and who became it by sudo.
 * The audit stores UTF-8 only. */
static const char *operator_name(void)
{
    static char text[2 * TEXT_LEN_MAX + sizeof " (sudo by )"];
    const char *name = ctl_user_name();
    const char *by = getenv("SUDO_USER");

    if (!is_plain_name(name))
        snprintf(text, sizeof text, "%lu", (unsigned long)geteuid());
    else if (by && is_plain_name(by) && strcmp(by, name) != 0)
        snprintf(text, sizeof text, "%s (sudo by %s)", name, by);
    else
        snprintf(text, sizeof text, "%s", name);
    return text;
}

static int run_verb(struct ctl *ctl, const struct verb *verb)
{
    /* These failures come before the verb has an answer, or lose it. */
    bool answers = verb->run == ctl_permits || verb->run == ctl_diff;
    int failed = answers ? CTL_CANNOT_TELL : CTL_FAILED;
    struct progress_line line;
    const struct wait wait = progress_wait(ctl, &line);
    bool has_written = false;
    /* Only the owner of the tables may delete audit events. */
    bool as_owner = verb->role == VERB_AS_OWNER || ctl->options.audit_days;
    char reason[CONF_REASON_SIZE];
    int status;

    if (!conf_read(&ctl->conf, ctl->options.conf_path, reason)) {
        ctl_fail("%s", reason);
        status = failed;
    } else {
        ctl->pg = pg_new(as_owner ? ctl->conf.admin_conninfo : ctl->conf.conninfo, &wait);
        if (ctl->pg) {
            pg_name_operator(ctl->pg, operator_name());
            pg_set_distributed(ctl->pg, ctl->conf.is_distributed);
        } else {
            ctl_fail("out of memory");
        }
        status = ctl->pg ? verb->run(ctl) : failed;
        has_written = ctl->pg && pg_has_written(ctl->pg);
    }
    pg_free(ctl->pg);
    conf_free(&ctl->conf);
    if (ctl->lost_output || !flush_output(has_written ? "; the change was made" : ""))
        status = failed;
    return status;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* Prints help, or which verb is missing or unknown, for words that name no verb.  Returns the exit
 * status. */
static int answer_without_verb(char *const *words, bool asks_for_help)
{
    struct buf list = {0};
    int status = CTL_OK;

    if (!words[0]) {
        verb_print_all(asks_for_help ? stdout : stderr, NULL);
        status = asks_for_help ? CTL_OK : CTL_USAGE;
    } else if (!verb_noun_known(words[0])) {
        status = ctl_misuse("unknown command '%s'; choose one of: %s", words[0],
                            verb_list_names(NULL, &list));
    } else if (words[1] ? is_help(words[1]) : asks_for_help) {
        verb_print_all(stdout, words[0]);
    } else if (!words[1] || words[1][0] == '-') {
        status = ctl_misuse("'%s' needs a verb; choose one of: %s", words[0],
                            verb_list_names(words[0], &list));
    } else {
        status = ctl_misuse("'%s' has no verb '%s'; choose one of: %s", words[0], words[1],
                            verb_list_names(words[0], &list));
    }
    buf_free(&list);
    return status;
}

/* Runs the verb that the words begin with. */
static int run_words(struct ctl *ctl, char **words)
{
    int n_words = 0;
    const struct verb *verb = verb_find(words, &n_words);
    int status;

    if (!verb) {
        status = answer_without_verb(words, ctl->options.help);
        return flush_output("") ? status : CTL_FAILED;
    }
    words += n_words;
    status = options_read(&ctl->options, verb, &words);
    if (status != CTL_OK)
        return status;
    if (ctl->options.help) {
        verb_print(verb);
        return flush_output("") ? CTL_OK : CTL_FAILED;
    }
    status = options_read_argument(&ctl->options, verb, words);
    return status == CTL_OK ? run_verb(ctl, verb) : status;
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.pg = NULL};
    char **words = argv + 1;
    int status;

    if (!standard_fill())
        return CTL_CANNOT_TELL; /* also before 'permits', where CTL_FAILED is no */
    signal(SIGPIPE, SIG_IGN);
    if (argc < 1)
        return CTL_USAGE;
    status = options_refuse_keys(words);
    if (status == CTL_OK)
        status = options_read(&ctl.options, NULL, &words);
    if (status != CTL_OK)
        return status;
    if (ctl.options.version && !ctl.options.help) {
        puts("aditctl " PACKAGE_VERSION);
        return flush_output("") ? CTL_OK : CTL_FAILED;
    }
    if (words[0] && is_help(words[0])) {
        ctl.options.help = true;
        words++;
    }
    return run_words(&ctl, words);
}
