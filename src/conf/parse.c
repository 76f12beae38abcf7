/* SPDX-License-Identifier: MIT */
/* Reading the lines of a settings file (libinih). */
#include "conf/parse.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/invisible.h"
#include "conf/setting.h"

/* The characters that libinih takes for blanks. */
#define BLANKS " \t\n\v\f\r"

/* Bytes of the longest line, with its end. */
#define LINE_BYTES_MAX 8000

/* Bytes of a value that a message quotes. */
#define QUOTE_MAX 60

#define NO_LINE "'[section]', 'key = value' or '; comment'"

struct reading {
    struct conf *conf;
    FILE *file;
    const char *path;
    char *reason;
    char *text; /* the line read last */
    size_t text_size;
    int line;               /* its number */
    const char *long_value; /* its value, if it is too long for libinih; else NULL */
    bool failed;
    int failed_line;
};

/* Writes the reason of the first error.  Returns 0, which tells libinih of an error. */
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
    /* The reason has names from the file, and it goes to a terminal. */
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

/* Cuts a value as libinih does: removes a comment, and blanks around the value. */
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

/* Gives libinih only the key of a long line, and keeps the value in reading->long_value. */
static bool shorten(struct reading *reading, char *line, size_t size)
{
    char *text = reading->text;
    size_t key_len = strcspn(text, "=:");
    bool is_nothing = strchr(";#", text[strspn(text, BLANKS)]) != NULL; /* a comment or blank */

    if (!is_nothing && (!text[key_len] || key_len + sizeof "=" > size))
        return wrong(reading, "expected " NO_LINE);
    snprintf(line, size, "%.*s", is_nothing ? 0 : (int)key_len + 1, text);
    if (!is_nothing)
        reading->long_value = trim_value(text + key_len + 1);
    return true;
}

/* Returns how many bytes of the line are before its comment. */
static size_t before_comment(const char *line)
{
    size_t i = strspn(line, BLANKS);

    if (line[i] == ';' || line[i] == '#')
        return 0;
    while (line[i] && !(line[i] == ';' && i > 0 && is_blank(line[i - 1])))
        i++;
    return i;
}

/* Returns false if the line has a character outside of its comment that does not show.  libinih
 * takes the byte order mark of UTF-8 off the file itself. */
static bool shows_all(struct reading *reading, size_t len)
{
    struct text line = {.s = reading->text, .len = len};
    size_t skipped = reading->line == 1 && strncmp(reading->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    struct invisible found;

    line = text_part(line, skipped, len);
    if (!invisible_find(line, &found) || found.offset >= before_comment(line.s))
        return true;
    if (found.row == INVISIBLE_UTF16 && reading->line == 1)
        wrong(reading, "the file contains %s; save it as UTF-8", found.what);
    else
        wrong(reading, "the line " INVISIBLE_FORMAT, found.what);
    return false;
}

/* Reads a line for libinih, which has 200 bytes for one.  It would take the rest of a longer line
 * for another line. */
static char *next_text_line(char *line, int size, void *context)
{
    struct reading *reading = context;
    ssize_t len = getline(&reading->text, &reading->text_size, reading->file);

    reading->long_value = NULL;
    if (len < 0)
        return NULL;
    reading->line++;
    if (!shows_all(reading, (size_t)len))
        return NULL;
    if (memchr(reading->text, '\0', (size_t)len)) {
        wrong(reading, "the line contains a NUL byte");
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

/* Reports what a value has to be.  Quotes it, unless it may hold a password or the report quotes
 * the wrong part of it. */
static int wrong_value(struct reading *reading, const char *section, const char *key,
                       const char *value, const char *wanted)
{
    const char *dots = strlen(value) > QUOTE_MAX ? "..." : "";

    if (wanted == reading->conf->fault)
        return wrong(reading, "[%s] %s %s", section, key, wanted);
    return wrong(reading, "[%s] %s '%.*s%s' %s", section, key, QUOTE_MAX, value, dots, wanted);
}

/* Reports a setting that its section does not have, and names the section that has it. */
static int wrong_place(struct reading *reading, const char *section, const char *key)
{
    for (size_t i = 0; i < conf_n_settings; i++) {
        if (strcmp(conf_settings[i].key, key) != 0)
            continue;
        if (!section[0])
            return wrong(reading, "%s is above the first section; put it below [%s]", key,
                         conf_settings[i].section);
        return wrong(reading, "unknown setting %s in section [%s]; put it below [%s]", key, section,
                     conf_settings[i].section);
    }
    if (!section[0])
        return wrong(reading,
                     "%s is above the first section, and no section has a setting of that name",
                     key);
    return wrong(reading, "unknown setting %s in section [%s]; see adit.conf(5)", key, section);
}

/* Returns whether a section holds a setting, and sets which of the setting's values it is about. */
static bool section_has(const struct reading *reading, const char *section,
                        const struct conf_setting *setting, size_t *which)
{
    size_t prefix_len = strlen(CONF_PROVIDER_PREFIX);

    *which = 0;
    if (conf_n_values(setting) == 1)
        return strcmp(setting->section, section) == 0;
    if (strncmp(section, CONF_PROVIDER_PREFIX, prefix_len) != 0)
        return false;
    while (*which < OAUTH_N_PROVIDERS &&
           strcmp(reading->conf->provider_names[*which], section + prefix_len) != 0)
        ++*which;
    return *which < OAUTH_N_PROVIDERS;
}

/* Returns whether a section is a provider's whose name is not known, or not yet. */
static bool is_strange_provider(const struct reading *reading, const char *section)
{
    size_t prefix_len = strlen(CONF_PROVIDER_PREFIX);

    if (strncmp(section, CONF_PROVIDER_PREFIX, prefix_len) != 0)
        return false;
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        if (strcmp(reading->conf->provider_names[i], section + prefix_len) == 0)
            return false;
    }
    return true;
}

/* Returns the position of the provider that people call as the section is, or 0. */
static int provider_meant(const char *section)
{
    size_t prefix_len = strlen(CONF_PROVIDER_PREFIX);

    return strncmp(section, CONF_PROVIDER_PREFIX, prefix_len) == 0
               ? identity_provider_called(text_of(section + prefix_len))
               : 0;
}

/* Keeps the value of a setting, which is in this section and has not been set yet. */
static int keep_value(struct reading *reading, const char *section, size_t setting, size_t which,
                      const char *value)
{
    const char *key = conf_settings[setting].key;
    int *seen = &reading->conf->lines[setting][which];
    const char *wanted;

    if (*seen)
        return wrong(reading, "[%s] %s is set twice, in lines %d and %d; remove one of them%s",
                     section, key, *seen, reading->line,
                     is_blank(reading->text[0]) ? " (an indented line continues the line above it)"
                                                : "");
    *seen = reading->line;
    if (value[0] == '"' || value[0] == '\'')
        return wrong(reading, "[%s] %s begins with a quote; write the value without quotes",
                     section, key);
    wanted = conf_set(reading->conf, &conf_settings[setting], which, value);
    return wanted ? wrong_value(reading, section, key, value, wanted) : 1;
}

static int take_setting(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    size_t which;

    if (reading->long_value)
        value = reading->long_value;
    for (size_t i = 0; i < conf_n_settings; i++) {
        if (strcmp(conf_settings[i].key, key) == 0 &&
            section_has(reading, section, &conf_settings[i], &which))
            return keep_value(reading, section, i, which, value);
    }
    which = (size_t)provider_meant(section);
    if (is_strange_provider(reading, section) && which > 0)
        return wrong(reading,
                     "no provider has the name of section [%s]; %s is [%s%s], unless the setting "
                     "providers, above this section, gives it another name",
                     section, identity_provider_at((int)which)->title, CONF_PROVIDER_PREFIX,
                     reading->conf->provider_names[which - 1]);
    if (is_strange_provider(reading, section))
        return wrong(reading,
                     "no provider has the name of section [%s]; its name must be in the setting "
                     "providers, above this section",
                     section);
    return wrong_place(reading, section, key);
}

/* Reports an error of reading: of the file, if it is a folder, or of a later line. */
static void cannot_read(struct reading *reading)
{
    if (reading->line > 0)
        wrong(reading, "cannot be read: %s", strerror(errno));
    else
        snprintf(reading->reason, CONF_REASON_SIZE, "%s: cannot be read: %s", reading->path,
                 strerror(errno));
    reading->failed = true;
}

bool conf_parse(struct conf *conf, FILE *file, char reason[CONF_REASON_SIZE])
{
    struct reading reading = {.conf = conf, .file = file, .path = conf->path, .reason = reason};
    int first_wrong = ini_parse_stream(next_text_line, &reading, take_setting, &reading);

    /* libinih goes on after a line that it cannot read, which may make later lines look wrong. */
    if (first_wrong > 0 && (!reading.failed || first_wrong < reading.failed_line)) {
        reading.failed = false;
        reading.line = first_wrong;
        wrong(&reading, "expected " NO_LINE);
    } else if (first_wrong < 0) {
        wrong(&reading, "cannot be read: out of memory");
    }
    /* If memory runs out within a line, getline() fails as at the end, but feof() is not set. */
    if (!feof(file))
        cannot_read(&reading);
    free(reading.text);
    return !reading.failed;
}
