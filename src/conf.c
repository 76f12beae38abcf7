/* SPDX-License-Identifier: MIT */
/* Reading the settings file (libinih). */
#include "conf.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "http/names.h"
#include "wrap/pg.h"

#ifndef ADIT_CONF_PATH
#error "ADIT_CONF_PATH is to be given by the build"
#endif

#define FILE_NAME "adit.conf"

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
    return len > scheme ? NULL : "lacks a host";
}

static const char *check_conninfo(struct conf *conf, char *value)
{
    (void)conf;
    return pg_conninfo_valid(value) ? NULL : "is no connection string of PostgreSQL's";
}

static const char *check_any(struct conf *conf, char *value)
{
    (void)conf, (void)value;
    return NULL;
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
    {"database", "admin_conninfo", "", AT(admin_conninfo), check_conninfo,
     "How aditctl does, as a role that owns the tables. Empty: as conninfo says."},
    {"secrets", "key_file", "adit.key", AT(key_file), check_any,
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
    int line; /* number of the line that was read last */
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

/* libinih would cut a line that is longer than its buffer, and take the rest for another. */
static char *next_line(char *line, int size, void *context)
{
    struct reading *reading = context;

    if (!fgets(line, size, reading->file))
        return NULL;
    reading->line++;
    if (!strchr(line, '\n') && !feof(reading->file)) {
        wrong(reading, "the line is longer than %d bytes", size - 2);
        return NULL;
    }
    return line;
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

static int take(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    const char *wanted;

    for (size_t i = 0; i < N_SETTINGS; i++) {
        if (strcmp(settings[i].section, section) != 0 || strcmp(settings[i].key, key) != 0)
            continue;
        if (reading->seen[i])
            return wrong(reading, "[%s] %s is set twice", section, key);
        reading->seen[i] = true;
        wanted = set(reading->conf, &settings[i], value);
        return wanted ? wrong(reading, "[%s] %s %s", section, key, wanted) : 1;
    }
    return wrong(reading, "there is no setting %s in section [%s]", key, section);
}

static bool read_file(struct conf *conf, FILE *file, char *reason)
{
    struct reading reading = {.conf = conf, .file = file, .path = conf->path, .reason = reason};
    int first_wrong = ini_parse_stream(next_line, &reading, take, &reading);

    /* libinih goes on behind a line that it cannot read, and what follows may be wrong for that. */
    if (first_wrong > 0 && (!reading.failed || first_wrong < reading.failed_line)) {
        reading.failed = false;
        reading.line = first_wrong;
        wrong(&reading, "this is no '[section]', no 'key = value' and no '; comment'");
    } else if (first_wrong < 0) {
        wrong(&reading, "cannot be read: out of memory");
    }
    if (ferror(file))
        wrong(&reading, "cannot be read: %s", strerror(errno));
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

static char *beside_program(void)
{
    char program[4096];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);

    if (len <= 0)
        return NULL;
    program[len] = '\0';
    return beside(program, FILE_NAME);
}

/* Opens the settings file and sets conf->path.  Returns false with the reason where one was asked
 * for and cannot be opened; *file is NULL where there is none. */
static bool open_file(struct conf *conf, const char *path, FILE **file, char *reason)
{
    const char *wanted = path ? path : getenv("ADIT_CONF");

    if (wanted) {
        conf->path = strdup(wanted);
        *file = fopen(wanted, "re");
    } else {
        conf->path = strdup(ADIT_CONF_PATH);
        *file = fopen(ADIT_CONF_PATH, "re");
        if (!*file && errno == ENOENT) {
            free(conf->path);
            conf->path = beside_program();
            *file = conf->path ? fopen(conf->path, "re") : NULL;
        }
        if (!*file && errno == ENOENT) {
            free(conf->path);
            conf->path = NULL;
            return true;
        }
    }
    if (!*file)
        snprintf(reason, CONF_REASON_SIZE, "%s: cannot be opened: %s",
                 conf->path ? conf->path : FILE_NAME, strerror(errno));
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
    ok = !file || read_file(conf, file, reason);
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
