/* SPDX-License-Identifier: MIT */
/* Finding and reading the settings file (libinih). */
#include "conf/conf.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/number.h"
#include "http/names.h"
#include "pg/pg.h"

#ifndef ADIT_CONF_PATH
#error "ADIT_CONF_PATH is to be given by the build"
#endif

#define FILE_NAME "adit.conf"

/* What libinih takes for blanks. */
#define BLANKS " \t\n\v\f\r"

/* A line may be as long as this, its end counted. */
#define LINE_BYTES_MAX 8000

#define NO_LINE "no '[section]', no 'key = value' and no '; comment'"

/* A row of the table.  check() may change the value in place; it returns what the value has to be,
 * or NULL where it is right. */
struct setting {
    const char *section;
    const char *key;
    const char *standard; /* the default */
    size_t offset;        /* of the char * in struct conf */
    const char *(*check)(struct conf *conf, char *value);
    const char *help;
};

static const char *check_name(struct conf *conf, char *value)
{
    (void)conf;
    return names_valid(text_of(value)) ? NULL
                                       : "has to be 1 to 32 lowercase letters and digits, a letter "
                                         "first";
}

static bool all_differ(const char *const *names)
{
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(names[i], names[j]) == 0)
                return false;
        }
    }
    return true;
}

static const char *check_providers(struct conf *conf, char *value)
{
    static const char wanted[] = "has to be eight different names of lowercase letters, digits and "
                                 "'_', with spaces between";
    char *rest = value;
    char *word;
    size_t n = 0;

    while ((word = strsep(&rest, " \t")) != NULL) {
        if (!*word)
            continue;
        if (n == OAUTH_N_PROVIDERS || !oauth_provider_name_valid(text_of(word)))
            return wanted;
        conf->provider_names[n++] = word;
    }
    return n == OAUTH_N_PROVIDERS && all_differ(conf->provider_names) ? NULL : wanted;
}

/* Where a port follows the host, which may be an IPv6 address in brackets, it is one. */
static bool port_valid(const char *host)
{
    const char *port = host + (*host == '[' ? strcspn(host, "]/") : 0);
    struct text digits;
    uint64_t value;

    port += strcspn(port, ":/");
    if (*port != ':')
        return true;
    port++;
    digits = (struct text){.s = port, .len = strcspn(port, "/")};
    return port[0] != '0' && number_read(digits, 10, 65535, &value);
}

static const char *check_base_url(struct conf *conf, char *value)
{
    size_t len = strlen(value);
    size_t scheme = strncmp(value, "https://", 8) == 0 ? 8 : 7;

    (void)conf;
    if (len == 0)
        return NULL;
    if (strncmp(value, "http://", 7) != 0 && scheme != 8)
        return "has to begin with http:// or https://";
    if (strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/[]%") !=
        len)
        return "may hold nothing but a scheme, a host, a port and a path";
    while (len > scheme && value[len - 1] == '/')
        value[--len] = '\0';
    if (len == scheme || strchr(":/", value[scheme]))
        return "lacks a host";
    return port_valid(value + scheme) ? NULL : "has a port that is not 1 to 65535";
}

static const char *check_conninfo(struct conf *conf, char *value)
{
    static char fault[240];
    char reason[160];

    (void)conf;
    if (pg_conninfo_valid(value))
        return NULL;
    pg_conninfo_reason(value, reason, sizeof reason);
    snprintf(fault, sizeof fault, "is no connection string of PostgreSQL's: %s", reason);
    return fault;
}

/* The responder reads the same file, so what breaks into a worker reads what stands here. */
static const char *check_admin_conninfo(struct conf *conf, char *value)
{
    const char *fault = check_conninfo(conf, value);

    if (fault || !pg_conninfo_has_password(value))
        return fault;
    return "holds a password, and the responder reads this file too: a compromised worker could "
           "read "
           "it and own the tables. Move it to a file that only aditctl's user may read, and name "
           "that: passfile=FILE or service=NAME; adit.conf(5) shows how";
}

static const char *check_path(struct conf *conf, char *value)
{
    (void)conf;
    return *value ? NULL : "has to be the path of a file";
}

static int find_word(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(words[i], word) == 0)
            return (int)i;
    }
    return -1;
}

static const char *check_level(struct conf *conf, char *value)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    int found = find_word(words, 4, value);

    conf->log.level = found < 0 ? LOG_LEVEL_INFO : (enum log_level)found;
    return found < 0 ? "has to be error, warning, info or debug" : NULL;
}

static const char *check_target(struct conf *conf, char *value)
{
    static const char *const words[] = {"stderr", "syslog"};
    int found = find_word(words, 2, value);

    conf->log.target = found < 0 ? LOG_TARGET_STDERR : (enum log_target)found;
    return found < 0 ? "has to be stderr or syslog" : NULL;
}

/* Values that are only checked, and kept elsewhere in the struct, have no place of their own. */
#define NO_PLACE SIZE_MAX
#define AT(member) offsetof(struct conf, member)

static const struct setting settings[] = {
    {"service", "name", "service", AT(service_name), check_name,
     "The service's name. It is part of the version header (Service-Version), the operation\n"
     "header, the default cookie prefix (service.) and error codes (ERR_SERVICE_600)."},
    {"service", "providers",
     "provider_a provider_b provider_c provider_d provider_e provider_f provider_g provider_h",
     AT(providers), check_providers,
     "Names of the eight identity providers, in their order: code hosting platform, social\n"
     "network, enterprise software vendor, web services company, professional network, DevOps\n"
     "platform, game streaming platform, online retailer. Modules are stored by position."},
    {"service", "base_url", "", AT(base_url), check_base_url,
     "What every uri in an answer begins with, such as https://adit.example/api. Empty: it is\n"
     "derived from each request's scheme, Host header and script name."},
    {"database", "conninfo", "dbname=adit", AT(conninfo), check_conninfo,
     "How the responder reaches PostgreSQL: a connection string of libpq's."},
    {"database", "admin_conninfo", "", AT(admin_conninfo), check_admin_conninfo,
     "How aditctl does, as a role that owns the tables. Empty: as conninfo says. No password: the\n"
     "responder reads this file too. Name a file of libpq's with passfile= or service=."},
    {"secrets", "key_file", "adit.key", AT(key_file), check_path,
     "The file of keys under which client secrets are sealed, made by 'aditctl secrets init'. A\n"
     "relative path starts from this file's folder."},
    {"log", "level", "info", NO_PLACE, check_level,
     "The least important events that are logged: error, warning, info or debug."},
    {"log", "target", "stderr", NO_PLACE, check_target, "Where the log goes: stderr or syslog."},
};

#define N_SETTINGS (sizeof settings / sizeof settings[0])

/* ---- reading ---- */

struct reading {
    struct conf *conf;
    FILE *file;
    const char *path;
    char *reason;
    char *text; /* the line that was read last */
    size_t text_size;
    int line;               /* its number */
    const char *long_value; /* in it, where libinih has no room for it; else NULL */
    bool failed;
    int failed_line;
    bool seen[N_SETTINGS];
};

/* Notes the first thing that is wrong.  Returns 0, libinih's word for it. */
static int wrong(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int wrong(struct reading *reading, const char *format, ...)
{
    va_list args;
    int len;

    if (reading->failed)
        return 0;
    reading->failed = true;
    reading->failed_line = reading->line;
    len = snprintf(reading->reason, CONF_REASON_SIZE, "%s:%d: ", reading->path, reading->line);
    if (len < 0 || len >= CONF_REASON_SIZE)
        return 0;
    va_start(args, format);
    vsnprintf(reading->reason + len, CONF_REASON_SIZE - (size_t)len, format, args);
    va_end(args);
    /* Names out of the file are in it, and the reason goes to a terminal. */
    for (char *at = reading->reason + len; *at; at++) {
        if (*at < ' ' || *at > '~')
            *at = '?';
    }
    return 0;
}

static bool is_blank(char c)
{
    return c && strchr(BLANKS, c);
}

/* Cuts a value to what libinih makes of it: without a comment, and without blanks around it. */
static char *trim_value(char *value)
{
    size_t len = 0;

    while (value[len] && !(value[len] == ';' && len > 0 && is_blank(value[len - 1])))
        len++;
    while (len > 0 && is_blank(value[len - 1]))
        len--;
    value[len] = '\0';
    return value + strspn(value, BLANKS);
}

/* Gives libinih as much of a long line as it has room for: the key.  The value goes round it. */
static bool shorten(struct reading *reading, char *line, size_t size)
{
    char *text = reading->text;
    size_t key_len = strcspn(text, "=:");
    bool is_nothing = strchr(";#", text[strspn(text, BLANKS)]) != NULL; /* a comment, or blank */

    if (!is_nothing && (!text[key_len] || key_len + sizeof "=" > size))
        return wrong(reading, "this is " NO_LINE);
    snprintf(line, size, "%.*s", is_nothing ? 0 : (int)key_len + 1, text);
    if (!is_nothing)
        reading->long_value = trim_value(text + key_len + 1);
    return true;
}

/* What libinih reads lines with.  It has 200 bytes for one, and would take the rest of a longer one
 * for another. */
static char *next_text_line(char *line, int size, void *context)
{
    struct reading *reading = context;
    ssize_t len = getline(&reading->text, &reading->text_size, reading->file);

    reading->long_value = NULL;
    if (len < 0)
        return NULL;
    reading->line++;
    if (memchr(reading->text, '\0', (size_t)len)) {
        wrong(reading, "there is a NUL byte in the line");
        return NULL;
    }
    if (len > LINE_BYTES_MAX) {
        wrong(reading, "the line is longer than %d bytes", LINE_BYTES_MAX);
        return NULL;
    }
    if (len < size)
        return memcpy(line, reading->text, (size_t)len + 1);
    return shorten(reading, line, (size_t)size) ? line : NULL;
}

static char **place_of(struct conf *conf, const struct setting *setting)
{
    return (char **)(void *)((char *)conf + setting->offset);
}

/* Takes a value over.  Returns NULL, or what the value has to be. */
static const char *set(struct conf *conf, const struct setting *setting, const char *value)
{
    char *copy = strdup(value);
    const char *wanted = copy ? setting->check(conf, copy) : "could not be kept: out of memory";

    if (setting->offset == NO_PLACE) {
        free(copy);
    } else {
        free(*place_of(conf, setting));
        *place_of(conf, setting) = copy;
    }
    return wanted;
}

/* No setting has this name here: it may have one elsewhere. */
static int wrong_place(struct reading *reading, const char *section, const char *key)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (strcmp(settings[i].key, key) != 0)
            continue;
        if (!section[0])
            return wrong(reading, "%s stands above any section; put it below [%s]", key,
                         settings[i].section);
        return wrong(reading, "there is no setting %s in section [%s]; put it below [%s]", key,
                     section, settings[i].section);
    }
    if (!section[0])
        return wrong(reading,
                     "%s stands above any section, and no section has a setting of that name", key);
    return wrong(reading, "there is no setting %s in section [%s]", key, section);
}

static int take_setting(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    const char *wanted;

    if (reading->long_value)
        value = reading->long_value;
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (strcmp(settings[i].section, section) != 0 || strcmp(settings[i].key, key) != 0)
            continue;
        if (reading->seen[i])
            return wrong(reading, "[%s] %s is set twice%s", section, key,
                         is_blank(reading->text[0])
                             ? " (an indented line goes on with the one before it)"
                             : "");
        reading->seen[i] = true;
        if (value[0] == '"' || value[0] == '\'')
            return wrong(reading, "[%s] %s begins with a quote; write the value without quotes",
                         section, key);
        wanted = set(reading->conf, &settings[i], value);
        return wanted ? wrong(reading, "[%s] %s %s", section, key, wanted) : 1;
    }
    return wrong_place(reading, section, key);
}

/* The file, as a folder cannot, or what is behind the line that was read last. */
static void cannot_read(struct reading *reading)
{
    if (reading->line > 0)
        wrong(reading, "cannot be read: %s", strerror(errno));
    else
        snprintf(reading->reason, CONF_REASON_SIZE, "%s: cannot be read: %s", reading->path,
                 strerror(errno));
    reading->failed = true;
}

static bool parse_file(struct conf *conf, FILE *file, char *reason)
{
    struct reading reading = {.conf = conf, .file = file, .path = conf->path, .reason = reason};
    int first_wrong = ini_parse_stream(next_text_line, &reading, take_setting, &reading);

    /* libinih goes on behind a line that it cannot read, and what follows may be wrong for that. */
    if (first_wrong > 0 && (!reading.failed || first_wrong < reading.failed_line)) {
        reading.failed = false;
        reading.line = first_wrong;
        wrong(&reading, "this is " NO_LINE);
    } else if (first_wrong < 0) {
        wrong(&reading, "cannot be read: out of memory");
    }
    /* Memory that runs out within a line is no error of the file's, and looks like its end. */
    if (!feof(file))
        cannot_read(&reading);
    free(reading.text);
    return !reading.failed;
}

/* ---- finding the file ---- */

/* Returns the path of a file name in the folder of another path; the caller frees it. */
static char *beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    struct buf out = {0};

    if (name[0] != '/' && slash)
        buf_add(&out, path, (size_t)(slash - path) + 1);
    buf_puts(&out, name);
    return out.failed ? NULL : out.data;
}

/* Returns the program's path without symbolic links, or NULL. */
static const char *program_path(char *path, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", path, size - 1);

    if (len <= 0)
        return NULL;
    path[len] = '\0';
    return path;
}

/* Returns the path of the settings of the tree that the program stands in, ROOT/etc/adit.conf for
 * ROOT/bin/aditctl and ROOT/libexec/adit/adit.fcgi; or NULL.  No other folder is guessed at: above
 * a program somewhere in /tmp, say, anybody may make one. */
static char *tree_file(const char *program)
{
    static const char *const places[] = {"/bin", "/libexec/adit"};
    const char *slash = program ? strrchr(program, '/') : NULL;
    size_t folder_len = slash ? (size_t)(slash - program) : 0;
    struct buf out = {0};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        size_t len = strlen(places[i]);

        if (folder_len < len || memcmp(slash - len, places[i], len) != 0)
            continue;
        buf_add(&out, program, folder_len - len);
        buf_puts(&out, "/etc/" FILE_NAME);
        return out.failed ? NULL : out.data;
    }
    return NULL;
}

/* Opens the file at a path, which it takes over, if it is there; returns whether the search is
 * over: a file that is there and cannot be opened is not passed over. */
static bool try_file(struct conf *conf, char *path, FILE **file)
{
    if (!path)
        return false;
    *file = fopen(path, "re");
    if (*file || errno != ENOENT) {
        conf->path = path;
        return true;
    }
    free(path);
    return false;
}

/* Looks where nobody has said where.  Returns false if there is no file, with *file NULL. */
static bool find_file(struct conf *conf, FILE **file)
{
    char buffer[4096];
    const char *program = program_path(buffer, sizeof buffer);

    return try_file(conf, tree_file(program), file) ||
           try_file(conf, strdup(ADIT_CONF_PATH), file) ||
           try_file(conf, program ? beside(program, FILE_NAME) : NULL, file);
}

/* Opens the settings file and sets conf->path; *file is NULL where there is none.  Returns false
 * with the reason where it cannot be opened. */
static bool open_file(struct conf *conf, const char *path, FILE **file, char *reason)
{
    const char *wanted = path ? path : getenv("ADIT_CONF");

    if (wanted) {
        conf->path = strdup(wanted);
        *file = fopen(wanted, "re");
    } else if (!find_file(conf, file)) {
        return true;
    }
    if (!*file)
        snprintf(reason, CONF_REASON_SIZE, "%s: cannot be opened: %s", conf->path ? conf->path : "",
                 strerror(errno));
    return *file != NULL;
}

static bool complete(struct conf *conf, char *reason)
{
    char *key_file = beside(conf->path ? conf->path : ADIT_CONF_PATH, conf->key_file);

    if (key_file) {
        free(conf->key_file);
        conf->key_file = key_file;
    }
    if (!conf->admin_conninfo[0]) {
        free(conf->admin_conninfo);
        conf->admin_conninfo = strdup(conf->conninfo);
    }
    if (key_file && conf->admin_conninfo)
        return true;
    snprintf(reason, CONF_REASON_SIZE, "out of memory");
    return false;
}

bool conf_read(struct conf *conf, const char *path, char reason[CONF_REASON_SIZE])
{
    FILE *file = NULL;
    bool ok;

    *conf = (struct conf){.path = NULL};
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (set(conf, &settings[i], settings[i].standard)) {
            snprintf(reason, CONF_REASON_SIZE, "out of memory");
            return false;
        }
    }
    if (!open_file(conf, path, &file, reason))
        return false;
    ok = !file || parse_file(conf, file, reason);
    if (file)
        fclose(file);
    return ok && complete(conf, reason);
}

void conf_free(struct conf *conf)
{
    free(conf->path);
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (settings[i].offset != NO_PLACE)
            free(*place_of(conf, &settings[i]));
    }
    *conf = (struct conf){.path = NULL};
}

/* ---- the sample ---- */

static void print_comment(FILE *out, const char *text)
{
    while (*text) {
        int len = (int)strcspn(text, "\n");

        fprintf(out, "; %.*s\n", len, text);
        text += len + (text[len] == '\n');
    }
}

void conf_print_sample(FILE *out)
{
    const char *section = "";

    fprintf(out, "; Settings of Adit.  What stands here are the defaults.\n");
    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (strcmp(section, settings[i].section) != 0)
            fprintf(out, "\n[%s]\n", settings[i].section);
        else
            fprintf(out, "\n");
        section = settings[i].section;
        print_comment(out, settings[i].help);
        fprintf(out, "%s = %s\n", settings[i].key, settings[i].standard);
    }
}
