/* SPDX-License-Identifier: MIT */
/* aditctl: the operator's tool.  Finds and runs the verb. */
#include "ctl/ctl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/standard_fds.h"
#include "base/utf8.h"
#include "conf/print.h"
#include "ctl/option_values.h"
#include "ctl/options.h"
#include "ctl/output.h"
#include "ctl/progress.h"
#include "ctl/verbs.h"
#include "nodes/nodes.h"

static bool is_plain_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= CTL_TEXT_MAX && utf8_valid(name, len) && !utf8_find_control(name, len);
}

/* Returns the operator's name for the audit, static: the system user and who became it by sudo.
 * The audit stores UTF-8 only. */
static const char *operator_name(void)
{
    static char text[2 * CTL_TEXT_MAX + sizeof " (sudo by )"];
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

void ctl_place(struct pg *pg, const struct conf *conf)
{
    nodes_place(pg, conf->is_by_account);
}

const struct schema_spread *ctl_spread(void)
{
    return &nodes_schema;
}

int ctl_refuse_by_account(const struct ctl *ctl, const char *verb, const char *instead)
{
    if (!ctl->conf.is_by_account)
        return CTL_OK;
    return ctl_fail("'aditctl %s' does not work where accounts are on several nodes; %s", verb,
                    instead);
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
            ctl_place(ctl->pg, &ctl->conf);
        } else {
            ctl_fail("out of memory");
        }
        status = ctl->pg ? verb->run(ctl) : failed;
        has_written = ctl->pg && pg_has_written(ctl->pg);
    }
    pg_free(ctl->pg);
    conf_free(&ctl->conf);
    if (ctl->lost_output || !ctl_flush_output(has_written ? "; the change was made" : ""))
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
        return ctl_flush_output("") ? status : CTL_FAILED;
    }
    words += n_words;
    status = options_read(&ctl->options, verb, &words);
    if (status != CTL_OK)
        return status;
    if (ctl->options.help) {
        verb_print(verb);
        return ctl_flush_output("") ? CTL_OK : CTL_FAILED;
    }
    status = options_read_argument(&ctl->options, verb, words);
    return status == CTL_OK ? run_verb(ctl, verb) : status;
}

static int print_settings(const struct ctl_options *options, const char *command)
{
    const struct conf_print asked = {options->print_settings, options->is_effective};

    if (command)
        return ctl_misuse("--print-settings takes no command, but got '%s'", command);
    if (options->json)
        return ctl_misuse("--print-settings prints a settings file, not JSON; leave out --json");
    return conf_print_asked("aditctl", &asked, options->conf_path);
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.pg = NULL};
    char **words = argv + 1;
    int status;

    if (!standard_fds_fill())
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
        return ctl_flush_output("") ? CTL_OK : CTL_FAILED;
    }
    if ((ctl.options.print_settings || ctl.options.is_effective) && !ctl.options.help)
        return print_settings(&ctl.options, words[0]);
    if (words[0] && is_help(words[0])) {
        ctl.options.help = true;
        words++;
    }
    return run_words(&ctl, words);
}
