/* SPDX-License-Identifier: MIT */
/* aditctl doctor: the checks of sshd on the machine of a gateway.  They find what sshd says only in
 * its log, and what it does not say at all. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ctl/doctor/doctor.h"

#define SSHD_CONFIG "/etc/ssh/sshd_config"
#define SSHD_CONFIG_FOLDER SSHD_CONFIG ".d"
#define HELPER "adit-ssh-keys"

/* What the helper has to be told, in this order. */
#define HELPER_ARGUMENTS "%u %f %t %k"

#define LINE_SIZE 4096
#define USER_SIZE 64
#define USERS_MAX 32
#define CONNECTION_SIZE 320
#define CONNECTIONS_MAX 32

/* As "sshd -T -C" takes it. */
#define LOOPBACK "host=localhost,addr=127.0.0.1,laddr=127.0.0.1,lport=22,rdomain="

/* ---- the helper ---- */

/* sshd runs the command only if nobody but root may replace it: safe_path() of OpenSSH. */
static bool is_safe(const char *path, const char **fault)
{
    struct stat file;

    if (stat(path, &file) != 0)
        *fault = strerror(errno);
    else if (file.st_uid != 0)
        *fault = "is not root's; run: chown root";
    else if (file.st_mode & (S_IWGRP | S_IWOTH))
        *fault = "is writable by its group or by others; run: chmod go-w";
    else
        return true;
    return false;
}

/* Checks the file and every folder above it. */
static void check_helper(struct findings *findings, const char *command)
{
    char path[PATH_MAX];
    char real[PATH_MAX];
    const char *fault;

    snprintf(path, sizeof path, "%.*s", (int)strcspn(command, " "), command);
    if (!realpath(path, real) || access(real, X_OK) != 0) {
        doctor_trouble(findings, "helper", "%s: %s; install the package adit-gateway", path,
                       strerror(errno));
        return;
    }
    for (char *end = real + strlen(real); end; end = strrchr(real, '/')) {
        *end = '\0';
        if (!is_safe(*real ? real : "/", &fault)) {
            doctor_trouble(findings, "helper", "sshd does not run %s: %s %s %s", path,
                           *real ? real : "/", fault, *real ? real : "/");
            return;
        }
    }
    doctor_line(findings, "ok", "helper", "%s", path);
}

/* ---- sshd ---- */

/* A directive of gateway/sshd.conf.in. */
struct directive {
    const char *name;  /* as sshd -T prints it */
    const char *value; /* that it has to have; NULL: another check looks at it */
    const char *line;  /* of the configuration, for such a value */
    const char *why;   /* another value, or another one for some connections, is wrong */
    bool is_minor;     /* it is no trouble */
};

#define GONE "clients that vanish keep their addresses for another time"

/* All that are there.  A block that changes one for some connections opens what it closes. */
static const struct directive directives[] = {
    {"gatewayports", "clientspecified", "GatewayPorts clientspecified",
     "sshd listens on other addresses than the rules name", false},
    {"authenticationmethods", "publickey", "AuthenticationMethods publickey",
     "other ways to log in know no rules", false},
    {"authorizedkeysfile", "none", "AuthorizedKeysFile none", "keys in files have no rules", false},
    {"trustedusercakeys", "none", "TrustedUserCAKeys none", "certificates have no rules", false},
    {"allowstreamlocalforwarding", "no", "AllowStreamLocalForwarding no",
     "rules do not cover Unix sockets", false},
    {"allowtcpforwarding", "remote", "AllowTcpForwarding remote",
     "tunnels need remote forwarding, and nothing needs the other kind", false},
    {"permitopen", "none", "PermitOpen none", "clients can reach this machine's network", false},
    {"maxsessions", "0", "MaxSessions 0", "clients get a shell", false},
    {"permittty", "no", "PermitTTY no", "clients get a terminal", false},
    {"allowagentforwarding", "no", "AllowAgentForwarding no", "clients can forward their agent",
     false},
    {"x11forwarding", "no", "X11Forwarding no", "clients can forward X11", false},
    {"permittunnel", "no", "PermitTunnel no", "clients can make network devices", false},
    {"permituserrc", "no", "PermitUserRC no", "sshd runs a file of the user", false},
    {"authorizedkeyscommand", NULL, NULL, "other rules hold", false},
    {"authorizedkeyscommanduser", NULL, NULL, "another user looks keys up", false},
    {"permitlisten", NULL, NULL, "sshd listens on other addresses", false},
    {"clientaliveinterval", NULL, NULL, GONE, true},
    {"clientalivecountmax", NULL, NULL, GONE, true},
};

#define N_DIRECTIVES (sizeof directives / sizeof *directives)

/* Appends what sshd's settings are for a user and a connection.  Returns false with its complaint
 * there. */
static bool ask_sshd(const char *user, const char *connection, struct buf *out)
{
    char who[USER_SIZE + CONNECTION_SIZE + 8];
    char *const arguments[] = {(char[]){MACHINE_SSHD}, (char[]){"-T"}, (char[]){"-C"}, who, NULL};

    snprintf(who, sizeof who, "user=%s,%s", user, connection);
    return machine_run(arguments, out);
}

/* What sshd's files say in lines "Match". */
struct matches {
    char names[USERS_MAX][USER_SIZE]; /* users */
    size_t n;
    char connections[CONNECTIONS_MAX][CONNECTION_SIZE]; /* one that each line is about */
    size_t n_connections;
};

static bool has_ending(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

static bool setting_is(struct text settings, const char *name, const char *value)
{
    return text_eq(machine_value(settings, name), text_of(value));
}

static void check_unix_user(struct findings *findings, const char *user, const char *setting)
{
    if (!getpwnam(user))
        doctor_trouble(findings, "sshd",
                       "user %s, whom %s names, does not exist; run: useradd --system %s", user,
                       setting, user);
}

/* Checks the user that the helper runs as: it may connect to the daemon's socket. */
static void check_helper_user(struct findings *findings, const char *user, struct text settings)
{
    struct text name = machine_value(settings, "authorizedkeyscommanduser");
    char helper_user[USER_SIZE];

    snprintf(helper_user, sizeof helper_user, "%.*s", (int)name.len, name.s ? name.s : "");
    if (strcmp(helper_user, "root") == 0 || strcmp(helper_user, user) == 0)
        doctor_trouble(findings, "sshd",
                       "user %s: AuthorizedKeysCommandUser is %s; write 'AuthorizedKeysCommandUser "
                       "%s' into its Match block",
                       user, helper_user, HELPER);
    else
        check_unix_user(findings, helper_user, "AuthorizedKeysCommandUser");
}

/* Returns whether a value for some connections may open more than that for others, which is as open
 * as can be if it is "any". */
static bool differs_elsewhere(const struct directive *directive, struct text usual,
                              struct text value)
{
    return !text_eq(value, usual) && !text_eq(usual, text_of("any")) &&
           !(directive->value && text_eq(value, text_of(directive->value)));
}

/* Reports a setting that a block before the user's own changes for some connections. */
static void check_elsewhere(struct findings *findings, const char *user, const char *connection,
                            struct text settings)
{
    struct buf out = {0};
    bool is_told = ask_sshd(user, connection, &out);

    for (size_t i = 0; is_told && i < N_DIRECTIVES; i++) {
        const struct directive *directive = &directives[i];
        struct text value = machine_value(buf_text(&out), directive->name);

        if (!differs_elsewhere(directive, machine_value(settings, directive->name), value))
            continue;
        findings->n_troubles += !directive->is_minor;
        doctor_line(findings, directive->is_minor ? "note" : "trouble", "sshd",
                    "user %s: with %s, %s is %.*s, so %s; put the Match block that says so behind "
                    "the user's",
                    user, connection, directive->name, (int)value.len, value.s ? value.s : "",
                    directive->why);
    }
    buf_free(&out);
}

/* Checks sshd's settings for a user whose keys the helper looks up. */
static void check_login(struct findings *findings, const char *user, struct text settings,
                        const char *command, const struct matches *matches)
{
    int before = findings->n_troubles;

    for (size_t i = 0; i < N_DIRECTIVES; i++) {
        const struct directive *wanted = &directives[i];
        struct text value = machine_value(settings, wanted->name);

        if (wanted->value && !text_eq(value, text_of(wanted->value)))
            doctor_trouble(findings, "sshd",
                           "user %s: %s is %.*s, so %s; write '%s' into its Match "
                           "block",
                           user, wanted->name, (int)value.len, value.s ? value.s : "", wanted->why,
                           wanted->line);
    }
    if (!has_ending(command, " " HELPER_ARGUMENTS))
        doctor_trouble(findings, "sshd", "user %s: AuthorizedKeysCommand does not end with '%s'",
                       user, HELPER_ARGUMENTS);
    for (size_t i = 0; i < matches->n_connections; i++)
        check_elsewhere(findings, user, matches->connections[i], settings);
    check_unix_user(findings, user, "Match");
    check_helper_user(findings, user, settings);
    if (setting_is(settings, "clientaliveinterval", "0"))
        doctor_line(findings, "note", "sshd",
                    "user %s: a client that vanishes keeps its addresses; write "
                    "'ClientAliveInterval 5' into its Match block",
                    user);
    if (findings->n_troubles == before)
        doctor_line(findings, "ok", "sshd", "user %s: sshd asks the gateway and obeys it", user);
}

/* ---- the lines "Match" ---- */

/* Leaves out patterns: sshd can tell the settings of one user only. */
static void add_user(struct matches *matches, struct text name)
{
    if (name.len == 0 || name.len >= USER_SIZE || matches->n == USERS_MAX ||
        memchr(name.s, '*', name.len) || memchr(name.s, '?', name.len) || name.s[0] == '!')
        return;
    for (size_t i = 0; i < matches->n; i++) {
        if (text_eq(text_of(matches->names[i]), name))
            return;
    }
    memcpy(matches->names[matches->n], name.s, name.len);
    matches->names[matches->n++][name.len] = '\0';
}

/* Takes the next item off a list with commas.  Absent: there is none. */
static struct text next_item(struct text *rest)
{
    const char *comma = rest->len > 0 ? memchr(rest->s, ',', rest->len) : NULL;
    size_t len = comma ? (size_t)(comma - rest->s) : rest->len;
    struct text item = {rest->len > 0 ? rest->s : NULL, len};

    *rest = text_part(*rest, comma ? len + 1 : len, rest->len);
    return item;
}

static void add_users(struct matches *matches, struct text list)
{
    for (struct text name; (name = next_item(&list)).s;)
        add_user(matches, name);
}

/* A criterion of "Match", what "sshd -T -C" calls it, and the value for a connection from this
 * machine. */
struct criterion {
    const char *name;
    const char *key;
    const char *value;
    char any; /* stands for a wildcard in a value that fits a pattern */
};

static const struct criterion criteria[] = {
    {"Host", "host", "localhost", 'x'},
    {"Address", "addr", "127.0.0.1", '1'},
    {"LocalAddress", "laddr", "127.0.0.1", '1'},
    {"LocalPort", "lport", "22", '1'},
    {"RDomain", "rdomain", "", 'x'},
};

#define N_CRITERIA (sizeof criteria / sizeof *criteria)
#define VALUE_SIZE (CONNECTION_SIZE / N_CRITERIA - 8)
#define PATTERN_MAX (VALUE_SIZE - sizeof ".1.1.1")

/* Writes a value that fits the first pattern of a list that is not negated.  Without one, the value
 * stays. */
static void fit(const struct criterion *criterion, struct text list, char value[VALUE_SIZE])
{
    static const char missing[] = ".1.1.1";
    struct text pattern;
    size_t n_dots = 0, len;

    do
        pattern = next_item(&list);
    while (pattern.len > 0 && pattern.s[0] == '!');
    if (pattern.len == 0 || pattern.len > PATTERN_MAX)
        return;
    snprintf(value, VALUE_SIZE, "%.*s", (int)pattern.len, pattern.s);
    len = strcspn(value, "/");
    value[len] = '\0';
    for (char *at = value; *at; at++) {
        *at = *at == '*' || *at == '?' ? criterion->any : *at;
        n_dots += *at == '.';
    }
    /* "10.*" is short for "10.*.*.*". */
    if (has_ending(criterion->name, "Address") && !strchr(value, ':') && n_dots < 3)
        snprintf(value + len, VALUE_SIZE - len, "%s", &missing[2 * n_dots]);
}

/* Adds the connection of the values, in the order of the table. */
static void add_connection(struct matches *matches, char (*values)[VALUE_SIZE])
{
    char connection[CONNECTION_SIZE] = "";
    size_t len = 0;

    for (size_t i = 0; i < N_CRITERIA; i++)
        len += (size_t)snprintf(connection + len, CONNECTION_SIZE - len, "%s%s=%s",
                                i > 0 ? "," : "", criteria[i].key, values[i]);
    if (matches->n_connections == CONNECTIONS_MAX || strcmp(connection, LOOPBACK) == 0)
        return;
    for (size_t i = 0; i < matches->n_connections; i++) {
        if (strcmp(matches->connections[i], connection) == 0)
            return;
    }
    memcpy(matches->connections[matches->n_connections++], connection, sizeof connection);
}

static bool next_word(const char **line, struct text *word)
{
    static const char blanks[] = " \t\r\n=\"";

    *line += strspn(*line, blanks);
    *word = (struct text){*line, strcspn(*line, blanks)};
    *line += word->len;
    return word->len > 0;
}

static bool word_is(struct text word, const char *name)
{
    return word.len == strlen(name) && strncasecmp(word.s, name, word.len) == 0;
}

/* Takes a line such as "Match Address 10.0.0.1 User a,b". */
static void take_match(struct matches *matches, const char *line)
{
    char values[N_CRITERIA][VALUE_SIZE];
    struct text name, value;

    for (size_t i = 0; i < N_CRITERIA; i++)
        snprintf(values[i], VALUE_SIZE, "%s", criteria[i].value);
    if (!next_word(&line, &name) || !word_is(name, "Match"))
        return;
    /* "all" and "invalid-user" have no value, and stand alone. */
    while (next_word(&line, &name) && next_word(&line, &value)) {
        if (word_is(name, "User"))
            add_users(matches, value);
        for (size_t i = 0; i < N_CRITERIA; i++) {
            if (word_is(name, criteria[i].name))
                fit(&criteria[i], value, values[i]);
        }
    }
    add_connection(matches, values);
}

static void read_matches(struct matches *matches, const char *path)
{
    FILE *file = fopen(path, "re");
    char line[LINE_SIZE];

    while (file && fgets(line, sizeof line, file))
        take_match(matches, line);
    if (file)
        fclose(file);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void find_matches(struct matches *matches)
{
    DIR *folder = opendir(SSHD_CONFIG_FOLDER);
    const struct dirent *entry;

    read_matches(matches, SSHD_CONFIG);
    while (folder && (entry = readdir(folder)) != NULL) {
        char path[PATH_MAX];

        snprintf(path, sizeof path, SSHD_CONFIG_FOLDER "/%s", entry->d_name);
        if (has_ending(path, ".conf"))
            read_matches(matches, path);
    }
    if (folder)
        closedir(folder);
    qsort(matches->names, matches->n, sizeof matches->names[0], by_name);
    qsort(matches->connections, matches->n_connections, sizeof matches->connections[0], by_name);
}

/* Reads the command that looks keys up.  Returns whether it is the helper. */
static bool read_command(struct text settings, char command[LINE_SIZE])
{
    struct text text = machine_value(settings, "authorizedkeyscommand");

    snprintf(command, LINE_SIZE, "%.*s", (int)text.len, text.s ? text.s : "");
    return strstr(command, HELPER) != NULL;
}

/* The users that the helper looks keys up for. */
struct ours {
    int n;                   /* -1 after a failure of sshd */
    char command[LINE_SIZE]; /* of the first one */
    bool has_accounts;       /* the command of another one differs: it names another account */
    const char *unbounded;   /* the first one without PermitListen, or NULL */
};

/* Checks the user if it is one of ours, and adds it to them. */
static void check_user(struct findings *findings, const char *user, struct text settings,
                       const struct matches *matches, struct ours *ours)
{
    char command[LINE_SIZE];

    if (!read_command(settings, command))
        return;
    if (ours->n++ == 0) {
        check_helper(findings, command);
        login_doctor_check(findings, settings);
        memcpy(ours->command, command, sizeof command);
    }
    ours->has_accounts = ours->has_accounts || strcmp(command, ours->command) != 0;
    if (!ours->unbounded && text_eq(machine_value(settings, "permitlisten"), text_of("any")))
        ours->unbounded = user;
    check_login(findings, user, settings, command, matches);
}

/* The rules of an account say nothing of the names and ports of others: whoever asks first has
 * them. */
static void check_bounds(struct findings *findings, const struct ours *ours)
{
    if (ours->has_accounts && ours->unbounded)
        doctor_line(
            findings, "note", "sshd",
            "user %s: nothing bounds what its account binds, so it can take names and ports "
            "of the accounts of other users; print its file with --domain, or set "
            "PermitListen",
            ours->unbounded);
}

static void check_users(struct findings *findings, const struct matches *matches, struct ours *ours)
{
    for (size_t i = 0; i < matches->n && ours->n >= 0; i++) {
        struct buf out = {0};
        struct text line;
        struct text rest;

        if (ask_sshd(matches->names[i], LOOPBACK, &out)) {
            check_user(findings, matches->names[i], buf_text(&out), matches, ours);
        } else {
            rest = buf_text(&out);
            line = ask_next_line(&rest);
            doctor_trouble(findings, "sshd", "'" MACHINE_SSHD " -T' fails: %.*s", (int)line.len,
                           line.s ? line.s : "");
            ours->n = -1;
        }
        buf_free(&out);
    }
}

bool sshd_doctor_has_users(void)
{
    struct matches matches = {.n = 0};
    bool found = false;

    if (access(MACHINE_SSHD, X_OK) != 0)
        return false;
    find_matches(&matches);
    for (size_t i = 0; i < matches.n && !found; i++) {
        char command[LINE_SIZE];
        struct buf out = {0};

        /* sshd refuses another user than root, and a configuration with a fault. */
        found =
            !ask_sshd(matches.names[i], LOOPBACK, &out) || read_command(buf_text(&out), command);
        buf_free(&out);
    }
    return found;
}

void sshd_doctor_offers(doctor_offer *found, void *context)
{
    struct matches matches = {.n = 0};

    if (geteuid() != 0 || access(MACHINE_SSHD, X_OK) != 0)
        return;
    find_matches(&matches);
    for (size_t i = 0; i < matches.n; i++) {
        char command[LINE_SIZE];
        struct buf out = {0};

        if (ask_sshd(matches.names[i], LOOPBACK, &out) && read_command(buf_text(&out), command))
            found(context, matches.names[i], machine_value(buf_text(&out), "permitlisten"));
        buf_free(&out);
    }
}

void sshd_doctor_check(struct findings *findings)
{
    struct matches matches = {.n = 0};
    struct ours ours = {.n = 0};

    if (access(MACHINE_SSHD, X_OK) != 0) {
        doctor_line(findings, "note", "sshd", "not checked: there is no " MACHINE_SSHD);
        return;
    }
    if (geteuid() != 0) {
        doctor_line(findings, "note", "sshd",
                    "not checked: only root may ask sshd for its settings");
        return;
    }
    find_matches(&matches);
    check_users(findings, &matches, &ours);
    check_bounds(findings, &ours);
    if (ours.n == 0)
        doctor_line(findings, "note", "sshd",
                    "no block 'Match User NAME' of " SSHD_CONFIG " and " SSHD_CONFIG_FOLDER
                    " runs " HELPER "; to print one, run: aditctl gateway-config sshd");
}
