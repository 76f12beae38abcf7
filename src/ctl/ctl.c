/* SPDX-License-Identifier: MIT */
/* aditctl: the operator's tool.  Finds and runs the verb, and prints messages for the verbs. */
#include "ctl/ctl.h"

#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/text.h"
#include "base/utf8.h"
#include "ctl/options.h"
#include "ctl/verbs.h"

#define TEXT_LEN_MAX 255

/* Ten years. */
#define DURATION_MAX_S (INT64_C(3660) * 24 * 3600)

/* ---- messages ---- */

static void say(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void say(const char *format, va_list args)
{
    fputs("aditctl: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
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
    if (err->code == ERR_SCHEMA_MISMATCH)
        return ctl_fail("the database schema is missing or older than this program; run: aditctl "
                        "migrate");
    ctl_fail("%s", ctl_reason(err));
    if (err->code == ERR_DATABASE_UNAVAILABLE)
        ctl_fail("check conninfo and admin_conninfo in [database] of the settings; aditctl runs "
                 "here as the system user %s",
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

/* ---- values of options ---- */

static bool has_control_character(const char *value)
{
    for (; *value; value++) {
        if ((unsigned char)*value < 0x20 || *value == 0x7F)
            return true;
    }
    return false;
}

bool ctl_text_valid(const char *option, const char *value)
{
    static const char accepted[] = "UTF-8 without control characters";
    size_t len = value ? strlen(value) : 0;

    if (len > TEXT_LEN_MAX)
        ctl_misuse("--%s has %zu bytes; at most %d are accepted", option, len, TEXT_LEN_MAX);
    else if (value && !utf8_valid(value, len))
        ctl_misuse("--%s is not valid UTF-8; expected %s", option, accepted);
    else if (value && has_control_character(value))
        ctl_misuse("--%s contains a control character; expected %s", option, accepted);
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

/* ---- running a verb ---- */

static int run_verb(struct ctl *ctl, const struct verb *verb)
{
    /* Only the owner of the tables may delete audit events. */
    /* These failures come before the verb has an answer, or lose it. */
    int failed = verb->run == ctl_permits ? CTL_CANNOT_TELL : CTL_FAILED;
    bool as_owner = verb->role == VERB_AS_OWNER || ctl->options.audit_days;
    char reason[CONF_REASON_SIZE];
    int status;

    if (!conf_read(&ctl->conf, ctl->options.conf_path, reason)) {
        ctl_fail("%s", reason);
        status = failed;
    } else {
        ctl->pg = pg_new(as_owner ? ctl->conf.admin_conninfo : ctl->conf.conninfo, &wait_alone);
        status = ctl->pg ? verb->run(ctl) : failed;
        if (!ctl->pg)
            ctl_fail("out of memory");
    }
    pg_free(ctl->pg);
    conf_free(&ctl->conf);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        ctl_fail("cannot write to standard output");
        status = failed;
    }
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
        verb_print_all(NULL);
        status = asks_for_help ? CTL_OK : CTL_USAGE;
    } else if (!verb_noun_known(words[0])) {
        status = ctl_misuse("unknown command '%s'; choose one of: %s", words[0],
                            verb_list_names(NULL, &list));
    } else if (words[1] ? is_help(words[1]) : asks_for_help) {
        verb_print_all(words[0]);
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

    if (!verb)
        return answer_without_verb(words, ctl->options.help);
    words += n_words;
    status = options_read(&ctl->options, verb, &words);
    if (status != CTL_OK)
        return status;
    if (ctl->options.help) {
        verb_print(verb);
        return CTL_OK;
    }
    status = options_read_argument(&ctl->options, verb, words);
    return status == CTL_OK ? run_verb(ctl, verb) : status;
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.pg = NULL};
    char **words = argv + 1;
    int status;

    signal(SIGPIPE, SIG_IGN);
    if (argc < 1)
        return CTL_USAGE;
    status = options_read(&ctl.options, NULL, &words);
    if (status != CTL_OK)
        return status;
    if (ctl.options.version && !ctl.options.help) {
        puts("aditctl " PACKAGE_VERSION);
        return CTL_OK;
    }
    if (words[0] && is_help(words[0])) {
        ctl.options.help = true;
        words++;
    }
    return run_words(&ctl, words);
}
