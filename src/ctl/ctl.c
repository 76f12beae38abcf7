/* SPDX-License-Identifier: MIT */
/* aditctl: the operator's tool.  The table of commands, the command line, and the help made of it.
 */
#include "ctl/ctl.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_check.h"
#include "base/text.h"

/* A command of one or two words. */
struct command {
    const char *noun;
    const char *verb;     /* NULL: the noun is all */
    const char *options;  /* letters of those that it takes */
    const char *argument; /* what follows the options, or NULL */
    const char *summary;
    int (*run)(struct ctl *ctl);
};

static const struct command commands[] = {
    {"migrate", NULL, "", NULL, "bring the database's schema up to date", ctl_migrate},
    {"account", "create", "n", NULL, "create an account; prints its id", ctl_account_create},
    {"user", "create", "anA", NULL, "create a User; prints its id", ctl_user_create},
    {"bot", "create", "anA", NULL, "create a Bot; prints its id", ctl_bot_create},
    {"key", "issue", "fred", NULL, "issue an API key; prints it, once and alone", ctl_key_issue},
    {"key", "list", "", NULL, "list API keys, without their secrets", ctl_key_list},
    {"key", "revoke", "", "KEY-ID", "revoke an API key, from the next request on", ctl_key_revoke},
    {"secrets", "init", "", NULL, "make the key file that the settings name", ctl_secrets_init},
    {"doctor", NULL, "", NULL, "look at settings, database, schema, grants and clock", ctl_doctor},
};

#define N_COMMANDS (sizeof commands / sizeof commands[0])

/* An option of some commands, and its line of help. */
struct option_row {
    char letter;
    const char *name;
    const char *value; /* NULL: takes none */
    const char *help;
};

static const struct option_row option_rows[] = {
    {'a', "account", "ID", "the account (where there is only one: that one)"},
    {'n', "name", "TEXT", "a name to know it by"},
    {'A', "admin", NULL, "may name other owners of credentials"},
    {'f', "for", "ID", "the User or Bot that holds it (where there is only one: that one)"},
    {'r', "read-only", NULL, "may only read"},
    {'e', "expires", "TIME", "ends after this: a number and s, m, h, d or w, such as 90d"},
    {'d', "description", "TEXT", "what it is for"},
    {'c', "conf", "FILE", "settings (else $ADIT_CONF, the compiled-in path, beside the program)"},
    {'h', "help", NULL, "print this"},
};

#define N_OPTIONS (sizeof option_rows / sizeof option_rows[0])

/* Every command takes these. */
static const char common_options[] = "ch";

static int say(int status, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

static int say(int status, const char *format, va_list args)
{
    fputs("aditctl: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    return status;
}

int ctl_fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(CTL_FAILED, format, args);
    va_end(args);
    return CTL_FAILED;
}

int ctl_misuse(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(CTL_USAGE, format, args);
    va_end(args);
    return CTL_USAGE;
}

int ctl_fail_error(const struct error *err)
{
    if (err->code == ERR_SCHEMA_MISMATCH)
        return ctl_fail("the schema is missing or older than this program: run 'aditctl migrate'");
    return ctl_fail("%s", err->cause[0] ? err->cause : error_row(err->code)->text);
}

bool ctl_text_valid(const char *option, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    bool ok = len <= 255 && (!text || utf8_valid(text, len));

    for (size_t i = 0; ok && i < len; i++)
        ok = (unsigned char)text[i] >= 0x20 && text[i] != 0x7F;
    if (!ok)
        ctl_misuse("--%s takes at most 255 bytes of UTF-8 without control characters", option);
    return ok;
}

/* ---- help ---- */

static bool takes(const struct command *command, char letter)
{
    return strchr(common_options, letter) || (command && strchr(command->options, letter));
}

static void print_option(const struct option_row *row)
{
    char text[40];

    snprintf(text, sizeof text, "--%s%s%s", row->name, row->value ? " " : "",
             row->value ? row->value : "");
    printf("  -%c, %-20s %s\n", row->letter, text, row->help);
}

static void print_command_help(const struct command *command)
{
    printf("Usage: aditctl %s%s%s [OPTION]...%s%s\n%s.\n\n", command->noun,
           command->verb ? " " : "", command->verb ? command->verb : "",
           command->argument ? " " : "", command->argument ? command->argument : "",
           command->summary);
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (takes(command, option_rows[i].letter))
            print_option(&option_rows[i]);
    }
}

/* All commands, or those of a noun. */
static void print_help(const char *noun)
{
    printf("Usage: aditctl [-c FILE] %s [OPTION]...\n\nCommands:\n", noun ? noun : "COMMAND");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char words[24];

        if (noun && strcmp(noun, commands[i].noun) != 0)
            continue;
        snprintf(words, sizeof words, "%s %s", commands[i].noun,
                 commands[i].verb ? commands[i].verb : "");
        printf("  %-16s %s\n", words, commands[i].summary);
    }
    printf("\n'aditctl COMMAND --help' tells the options of a command.\n"
           "Exits with 0 when it is done, 1 when it failed, 2 when it was called wrongly.\n");
}

/* ---- the command line ---- */

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static bool known_noun(const char *word)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].noun, word) == 0)
            return true;
    }
    return false;
}

/* Finds the command of the words and moves *words behind it. */
static const struct command *find_command(char ***words)
{
    char **at = *words;

    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command *command = &commands[i];

        if (strcmp(at[0], command->noun) != 0)
            continue;
        if (!command->verb || (at[1] && strcmp(at[1], command->verb) == 0)) {
            *words = at + (command->verb ? 2 : 1);
            return command;
        }
    }
    return NULL;
}

static void set_option(struct ctl *ctl, int letter, const char *value)
{
    switch (letter) {
    case 'a':
        ctl->options.account = value;
        break;
    case 'n':
        ctl->options.name = value;
        break;
    case 'A':
        ctl->options.is_admin = true;
        break;
    case 'f':
        ctl->options.holder = value;
        break;
    case 'r':
        ctl->options.read_only = true;
        break;
    case 'e':
        ctl->options.expires = value;
        break;
    case 'd':
        ctl->options.description = value;
        break;
    case 'c':
        ctl->conf_path = value;
        break;
    default:
        break;
    }
}

/* Reads the options of a command; words[-1] stands where getopt expects the program's name. Returns
 * -1 to go on, or the exit status. */
static int read_options(struct ctl *ctl, const struct command *command, char **words)
{
    static char program[] = "aditctl";
    struct option known[N_OPTIONS + 1] = {{0}};
    char letters[2 * N_OPTIONS + 2] = "";
    int n_words = 0;
    size_t n = 0;
    int letter;

    for (size_t i = 0; i < N_OPTIONS; i++) {
        const struct option_row *row = &option_rows[i];

        if (!takes(command, row->letter))
            continue;
        known[n++] = (struct option){.name = row->name,
                                     .has_arg = row->value ? required_argument : no_argument,
                                     .val = row->letter};
        snprintf(letters + strlen(letters), sizeof letters - strlen(letters), "%c%s", row->letter,
                 row->value ? ":" : "");
    }
    words[-1] = program;
    while (words[n_words])
        n_words++;
    while ((letter = getopt_long(n_words + 1, words - 1, letters, known, NULL)) != -1) {
        if (letter == 'h') {
            print_command_help(command);
            return CTL_OK;
        }
        if (letter == '?')
            return CTL_USAGE;
        set_option(ctl, letter, optarg);
    }
    words += optind - 1;
    ctl->options.argument = *words;
    if (command->argument && !*words)
        return ctl_misuse("%s is missing", command->argument);
    if (*words && (!command->argument || words[1]))
        return ctl_misuse("unexpected argument '%s'", words[command->argument ? 1 : 0]);
    return -1;
}

static int run(struct ctl *ctl, const struct command *command)
{
    char reason[CONF_REASON_SIZE];
    int status;

    if (!conf_read(&ctl->conf, ctl->conf_path, reason)) {
        status = ctl_fail("%s", reason);
    } else {
        ctl->pg = pg_new(ctl->conf.admin_conninfo);
        status = ctl->pg ? command->run(ctl) : ctl_fail("out of memory");
    }
    pg_free(ctl->pg);
    conf_free(&ctl->conf);
    if (fflush(stdout) != 0 || ferror(stdout))
        status = ctl_fail("what was to be printed could not be written");
    return status;
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.conf_path = NULL};
    const struct command *command;
    char **words = argv + 1;
    int status;

    signal(SIGPIPE, SIG_IGN);
    if (argc > 2 && strcmp(words[0], "-c") == 0) {
        ctl.conf_path = words[1];
        words += 2;
    }
    if (!words[0]) {
        print_help(NULL);
        return CTL_USAGE;
    }
    if (strcmp(words[0], "--version") == 0) {
        puts("aditctl " PACKAGE_VERSION);
        return CTL_OK;
    }
    if (is_help(words[0]) || (words[1] && known_noun(words[0]) && is_help(words[1]))) {
        const struct command *found = is_help(words[0]) ? NULL : find_command(&words);

        if (found)
            print_command_help(found);
        else
            print_help(is_help(words[0]) ? NULL : words[0]);
        return CTL_OK;
    }
    command = find_command(&words);
    if (!command)
        return known_noun(words[0])
                   ? ctl_misuse("%s %s: no such command; try 'aditctl %s --help'", words[0],
                                words[1] ? words[1] : "", words[0])
                   : ctl_misuse("%s: no such command; try 'aditctl --help'", words[0]);
    status = read_options(&ctl, command, words);
    return status >= 0 ? status : run(&ctl, command);
}
