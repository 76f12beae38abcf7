/* SPDX-License-Identifier: MIT */
/* aditctl: the operator's tool.  The table of commands, the command line, and the help made of it.
 */
#include "ctl/ctl.h"

#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "base/text.h"
#include "base/utf8.h"

/* Ten years, as the longest time that makes sense to write down. */
#define EXPIRES_MAX_S (INT64_C(3660) * 24 * 3600)

/* Whom a command connects to the database as. */
enum ctl_role { AS_OWNER, AS_RESPONDER };

/* A command of one or two words. */
struct command {
    const char *noun;
    const char *verb;     /* NULL: the noun is all */
    const char *options;  /* letters of those that it takes */
    const char *argument; /* what follows the options, or NULL */
    const char *summary;
    int (*run)(struct ctl *ctl);
    enum ctl_role role;
};

static const struct command commands[] = {
    {"migrate", NULL, "w", NULL, "bring the database's schema up to date", ctl_migrate, AS_OWNER},
    {"account", "create", "n", NULL, "create an account; prints its id", ctl_account_create,
     AS_OWNER},
    {"account", "list", "", NULL, "list accounts", ctl_account_list, AS_OWNER},
    {"user", "create", "anA", NULL, "create a User; prints its id", ctl_user_create, AS_OWNER},
    {"user", "list", "", NULL, "list Users, and how many keys each may use", ctl_user_list,
     AS_OWNER},
    {"bot", "create", "anA", NULL, "create a Bot; prints its id", ctl_bot_create, AS_OWNER},
    {"bot", "list", "", NULL, "list Bots, and how many keys each may use", ctl_bot_list, AS_OWNER},
    {"key", "issue", "fred", NULL, "issue an API key; prints it, once and alone", ctl_key_issue,
     AS_OWNER},
    {"key", "list", "", NULL, "list API keys, without their secrets", ctl_key_list, AS_OWNER},
    {"key", "revoke", "", "KEY-ID", "revoke an API key, from the next request on", ctl_key_revoke,
     AS_OWNER},
    {"secrets", "init", "", NULL, "make the key file that the settings name", ctl_secrets_init,
     AS_OWNER},
    {"secrets", "add-key", "", NULL, "put a new key in front of the key file's, to seal with",
     ctl_secrets_add_key, AS_OWNER},
    {"secrets", "rekey", "", NULL, "seal every secret anew under the key file's first key",
     ctl_secrets_rekey, AS_RESPONDER},
    {"purge", NULL, "k", NULL, "forget Idempotency-Keys that are older than a day", ctl_purge,
     AS_RESPONDER},
    {"openapi", NULL, "", "FILE",
     "print the OpenAPI document in FILE under this deployment's names", ctl_openapi, AS_OWNER},
    {"doctor", NULL, "", NULL, "look at settings, database, schema, grants and clock", ctl_doctor,
     AS_RESPONDER},
    {"web-server", NULL, "pDsP",
     "nginx|nginx-keepalive|nginx-upstream|apache-fcgid|apache-proxy-fcgi|apache-cgid",
     "print a web server's configuration", ctl_web_server, AS_OWNER},
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
    {'k', "audit-days", "DAYS", "remove changes recorded before that, too (as the tables' owner)"},
    {'w', "wait", "TIME", "how long to wait for locks of others in all (5m)"},
    {'p', "prefix", "/PATH", "the path that the interface lives under (else the root of the host)"},
    {'D', "docs", "PATH", "the folder of the reference (" ADIT_DOCS_PATH ")"},
    {'s', "socket", "PATH", "the responder's unix socket (" ADIT_SOCKET_PATH ")"},
    {'P', "program", "PATH", "the program (" ADIT_PROGRAM_PATH ")"},
    {'c', "conf", "FILE",
     "settings (else $ADIT_CONF, etc/adit.conf of its tree, the compiled-in path)"},
    {'h', "help", NULL, "print this"},
    {'V', "version", NULL, "print the version"},
};

#define N_OPTIONS (sizeof option_rows / sizeof option_rows[0])

/* Every command takes these, and they may stand in front of it, as may those of aditctl itself. */
static const char common_options[] = "ch";
static const char own_options[] = "chV";

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
        return ctl_fail("the schema is missing or older than this program: run 'aditctl migrate'");
    ctl_fail("%s", ctl_reason(err));
    if (err->code == ERR_DATABASE_UNAVAILABLE)
        ctl_fail("it connects as [database] conninfo or admin_conninfo says; on this machine it "
                 "runs as the user %s",
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

bool ctl_read_duration(const char *s, int64_t *seconds)
{
    static const char units[] = "smhdw";
    static const int64_t unit_seconds[] = {1, 60, 3600, 86400, 604800};
    const char *end = s + strspn(s, "0123456789");
    const char *unit = *end ? strchr(units, *end) : NULL;
    struct text digits = {.s = s, .len = (size_t)(end - s)};
    uint64_t number;

    if (!unit || end[1] || !number_read(digits, 10, EXPIRES_MAX_S, &number) || number < 1)
        return false;
    *seconds = (int64_t)number * unit_seconds[unit - units];
    return *seconds <= EXPIRES_MAX_S;
}

/* ---- help ---- */

/* NULL: aditctl itself. */
static bool takes(const struct command *command, char letter)
{
    return command ? strchr(common_options, letter) || strchr(command->options, letter)
                   : strchr(own_options, letter) != NULL;
}

static void print_option(const struct option_row *row)
{
    char text[40];

    snprintf(text, sizeof text, "--%s%s%s", row->name, row->value ? " " : "",
             row->value ? row->value : "");
    printf("  -%c, %-20s %s\n", row->letter, text, row->help);
}

static void print_options(const struct command *command)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (takes(command, option_rows[i].letter))
            print_option(&option_rows[i]);
    }
}

static void print_command_help(const struct command *command)
{
    printf("Usage: aditctl %s%s%s [OPTION]...%s%s\n%c%s.\n\n", command->noun,
           command->verb ? " " : "", command->verb ? command->verb : "",
           command->argument ? " " : "", command->argument ? command->argument : "",
           command->summary[0] - 'a' + 'A', command->summary + 1);
    print_options(command);
}

/* All commands, or those of a noun. */
static void print_help(const char *noun)
{
    printf("Usage: aditctl %s%sCOMMAND [OPTION]...\n\nCommands:\n", noun ? noun : "",
           noun ? " " : "");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char words[24];

        if (noun && strcmp(noun, commands[i].noun) != 0)
            continue;
        snprintf(words, sizeof words, "%s %s", commands[i].noun,
                 commands[i].verb ? commands[i].verb : "");
        printf("  %-16s %s\n", words, commands[i].summary);
    }
    printf("\nOptions:\n");
    print_options(NULL);
    printf("\n'aditctl COMMAND --help' tells the options of a command.\n"
           "Exits with 0 when it is done, 1 when it failed, 2 when it was called wrongly.\n");
}

/* Answers --help or --version. */
static void print_about(const struct command *command, int letter)
{
    if (letter == 'V')
        puts("aditctl " PACKAGE_VERSION);
    else if (command)
        print_command_help(command);
    else
        print_help(NULL);
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
    case 'k':
        ctl->options.audit_days = value;
        break;
    case 'w':
        ctl->options.wait = value;
        break;
    case 'p':
        ctl->options.prefix = value;
        break;
    case 'D':
        ctl->options.docs = value;
        break;
    case 's':
        ctl->options.socket = value;
        break;
    case 'P':
        ctl->options.program = value;
        break;
    case 'c':
        ctl->conf_path = value;
        break;
    default:
        break;
    }
}

/* Returns the letter of the option that the word is in its long form, or 0. */
static int letter_of(const char *word)
{
    size_t len = strcspn(word, "=");

    for (size_t i = 0; len > 2 && i < N_OPTIONS; i++) {
        const char *name = option_rows[i].name;

        if (strncmp(word + 2, name, len - 2) == 0 && !name[len - 2])
            return option_rows[i].letter;
    }
    return 0;
}

/* getopt has said what is wrong with the word; this says what to do. */
static int misused_option(const struct command *command, const char *word)
{
    if (!command)
        return ctl_misuse("try 'aditctl --help'");
    if (command->run == ctl_key_revoke && (optopt ? optopt : letter_of(word)) == 'f')
        return ctl_misuse("key revoke takes a key's id and no --for: 'aditctl key list' shows the "
                          "keys of each holder; then run: aditctl key revoke KEY-ID");
    return ctl_misuse("try 'aditctl %s%s%s --help'", command->noun, command->verb ? " " : "",
                      command->verb ? command->verb : "");
}

/* Reads the options of a command, or with NULL those in front of it; words[-1] stands where getopt
 * expects the program's name.  Returns -1 to go on, with *words behind what was read, or the exit
 * status. */
static int read_options(struct ctl *ctl, const struct command *command, char ***words)
{
    static char program[] = "aditctl";
    struct option known[N_OPTIONS + 1] = {{0}};
    char letters[2 * N_OPTIONS + 2] = "";
    char **at = *words;
    int n_words = 0;
    size_t n = 0;
    int letter;

    /* Options of the command are not looked for in front of it. */
    if (!command)
        snprintf(letters, sizeof letters, "+");
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
    at[-1] = program;
    while (at[n_words])
        n_words++;
    optind = 0; /* glibc's way to begin anew */
    while ((letter = getopt_long(n_words + 1, at - 1, letters, known, NULL)) != -1) {
        if (letter == 'h' || letter == 'V') {
            print_about(command, letter);
            return CTL_OK;
        }
        if (letter == '?')
            return misused_option(command, at[optind - 2]);
        set_option(ctl, letter, optarg);
    }
    *words = at + optind - 1;
    return -1;
}

static int read_argument(struct ctl *ctl, const struct command *command, char **words)
{
    ctl->options.argument = *words;
    if (command->argument && !*words)
        return ctl_misuse("%s is missing; try 'aditctl %s%s%s --help'",
                          strchr(command->argument, '|') ? "an argument" : command->argument,
                          command->noun, command->verb ? " " : "",
                          command->verb ? command->verb : "");
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
        /* What has been recorded is the owner's alone to remove. */
        bool as_owner = command->role == AS_OWNER || ctl->options.audit_days;

        ctl->pg = pg_new(as_owner ? ctl->conf.admin_conninfo : ctl->conf.conninfo, &wait_alone);
        status = ctl->pg ? command->run(ctl) : ctl_fail("out of memory");
    }
    pg_free(ctl->pg);
    conf_free(&ctl->conf);
    if (fflush(stdout) != 0 || ferror(stdout))
        status = ctl_fail("what was to be printed could not be written");
    return status;
}

/* Finds the command of the words, or answers for one of its nouns.  Returns NULL with the status to
 * exit with. */
static const struct command *choose_command(char ***words, int *status)
{
    char **at = *words;
    const struct command *command = find_command(words);

    *status = CTL_OK;
    if (command)
        return command;
    if (is_help(at[0]))
        print_help(NULL);
    else if (!known_noun(at[0]))
        *status = ctl_misuse("%s: no such command; try 'aditctl --help'", at[0]);
    else if (!at[1])
        *status = ctl_misuse("%s: what to do is missing; try 'aditctl %s --help'", at[0], at[0]);
    else if (is_help(at[1]))
        print_help(at[0]);
    else
        *status =
            ctl_misuse("%s %s: no such command; try 'aditctl %s --help'", at[0], at[1], at[0]);
    return NULL;
}

int main(int argc, char **argv)
{
    struct ctl ctl = {.conf_path = NULL};
    const struct command *command;
    char **words = argv + 1;
    int status;

    signal(SIGPIPE, SIG_IGN);
    if (argc < 1)
        return CTL_USAGE;
    status = read_options(&ctl, NULL, &words);
    if (status >= 0)
        return status;
    if (!words[0]) {
        print_help(NULL);
        return CTL_USAGE;
    }
    command = choose_command(&words, &status);
    if (!command)
        return status;
    status = read_options(&ctl, command, &words);
    if (status < 0)
        status = read_argument(&ctl, command, words);
    return status >= 0 ? status : run(&ctl, command);
}
