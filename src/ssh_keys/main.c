/* SPDX-License-Identifier: MIT */
/* adit-ssh-keys: sshd's AuthorizedKeysCommand.  It asks adit-gateway whether a key may log in. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/ascii.h"
#include "base/log.h"
#include "base/standard_fds.h"

/* sshd itself never gives up on the command. */
#define TIMEOUT_MS 1500

enum { EXIT_ANSWERED = 0, EXIT_CANNOT_TELL = 1, EXIT_USAGE = 2 };

#define N_ARGUMENTS 4

struct login {
    const char *account;
    const char *socket_path;
    const char *user;
    const char *fingerprint;
    const char *type;
    const char *key;
};

static const char usage[] =
    "Usage: adit-ssh-keys [OPTION]... USER FINGERPRINT TYPE KEY\n"
    "Prints the line of authorized_keys for a key that may log in, and nothing for another.\n"
    "sshd runs it:\n"
    "\n"
    "  AuthorizedKeysCommand PATH/adit-ssh-keys %u %f %t %k\n"
    "\n"
    "  -a, --account ID   account of the credentials (default: that of adit-gateway's settings)\n"
    "  -s, --socket PATH  adit-gateway's socket (default: " ADIT_GATEWAY_SOCKET_PATH ")\n"
    "  -h, --help         print this help\n"
    "  -V, --version      print the version\n"
    "\n"
    "Exit status: 0 answered, 1 cannot tell, 2 wrong arguments.\n";

static const struct log log_to_syslog = {.level = LOG_LEVEL_INFO, .target = LOG_TARGET_SYSLOG};

/* The gateway writes some of the reasons, and nothing in them may move the cursor. */
static void print_reason(const char *reason)
{
    fputs("adit-ssh-keys: ", stderr);
    for (; *reason; reason++)
        fputc(*reason == ' ' || ascii_is_visible(*reason) ? *reason : '?', stderr);
    fputc('\n', stderr);
}

/* Tells the log, and standard error for a person who runs it by hand.  sshd discards the latter. */
static int give_up(int status, const struct login *login, const char *reason)
{
    const struct log_pair pairs[] = {{"cause", reason},
                                     {"user", login->user},
                                     {"fingerprint", login->fingerprint},
                                     {NULL, NULL}};

    print_reason(reason);
    openlog("adit-ssh-keys", LOG_PID, LOG_AUTH);
    log_event(&log_to_syslog, LOG_LEVEL_ERROR, "cannot tell whether a key may log in", pairs);
    return status;
}

static bool is_word(const char *s)
{
    for (const char *at = s; *at; at++) {
        if (!ascii_is_visible(*at))
            return false;
    }
    return *s != '\0';
}

/* Returns -1 to continue, or the exit status. */
static int parse_arguments(int argc, char **argv, struct login *login)
{
    static const struct option known[] = {{"account", required_argument, NULL, 'a'},
                                          {"socket", required_argument, NULL, 's'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'V'},
                                          {NULL, 0, NULL, 0}};
    int option;

    /* "+": a user may be called "-x". */
    while ((option = getopt_long(argc, argv, "+a:s:hV", known, NULL)) != -1) {
        switch (option) {
        case 'a':
            login->account = optarg;
            break;
        case 's':
            login->socket_path = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            return EXIT_ANSWERED;
        case 'V':
            puts("adit-ssh-keys " PACKAGE_VERSION);
            return EXIT_ANSWERED;
        default:
            fputs("Try 'adit-ssh-keys --help'.\n", stderr);
            return EXIT_USAGE;
        }
    }
    if (!*login->socket_path)
        return give_up(EXIT_USAGE, login,
                       "--socket is empty; give the path of adit-gateway's socket");
    if (argc - optind != N_ARGUMENTS)
        return give_up(EXIT_USAGE, login,
                       "expected USER FINGERPRINT TYPE KEY: %u %f %t %k of sshd");
    login->user = argv[optind];
    login->fingerprint = argv[optind + 1];
    login->type = argv[optind + 2];
    login->key = argv[optind + 3];
    for (int i = optind; i < argc; i++) {
        if (!is_word(argv[i]))
            return give_up(EXIT_USAGE, login, "an argument is empty, or has blanks or other bytes");
    }
    return -1;
}

/* The options end with the first line break, so nothing in them can add a line. */
static int print_line(const struct login *login, struct text options)
{
    bool ok = printf("%.*s %s %s\n", (int)options.len, options.s, login->type, login->key) > 0 &&
              fflush(stdout) == 0;

    return ok ? EXIT_ANSWERED : give_up(EXIT_CANNOT_TELL, login, "cannot write to sshd");
}

static int cannot_ask(const struct login *login, enum ask_end end, const char *reason)
{
    char text[ASK_REASON_SIZE + 32];

    snprintf(text, sizeof text, "%s%s", reason,
             end == ASK_DOWN ? "; is adit-gateway running?" : "");
    return give_up(EXIT_CANNOT_TELL, login, text);
}

static int look_up(const struct login *login)
{
    const char *const question[] = {"keys",      login->account, login->user, login->fingerprint,
                                    login->type, login->key,     NULL};
    struct buf answer = {0};
    char reason[ASK_REASON_SIZE];
    struct text rest, word, line;
    enum ask_end end = ask_gateway(login->socket_path, question, TIMEOUT_MS, &answer, reason);
    int status;

    if (end != ASK_ANSWERED) {
        status = cannot_ask(login, end, reason);
        goto out;
    }
    rest = buf_text(&answer);
    word = ask_next_line(&rest);
    line = ask_next_line(&rest);
    snprintf(reason, sizeof reason, "%.*s", (int)line.len, line.s ? line.s : "");
    if (text_eq(word, text_of(ASK_OK)) && text_present(line))
        status = print_line(login, line);
    else if (text_eq(word, text_of(ASK_NONE)))
        status = EXIT_ANSWERED;
    else if (text_eq(word, text_of(ASK_MISUSE)))
        status = give_up(EXIT_USAGE, login, reason);
    else
        status = give_up(EXIT_CANNOT_TELL, login,
                         text_eq(word, text_of(ASK_AWAY)) ? reason : "the answer has another form");
out:
    buf_free(&answer);
    return status;
}

int main(int argc, char **argv)
{
    struct login login = {.account = "", .socket_path = ADIT_GATEWAY_SOCKET_PATH};
    int status = standard_fds_fill() ? parse_arguments(argc, argv, &login) : EXIT_CANNOT_TELL;

    return status >= 0 ? status : look_up(&login);
}
