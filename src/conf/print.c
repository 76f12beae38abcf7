/* SPDX-License-Identifier: MIT */
/* The sample of a settings file, and the settings in effect. */
#include "conf/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/setting.h"
#include "pg/pg.h"

enum { EXIT_MISUSE = 2 };

/* ---- the sample ---- */

static void print_comment(FILE *out, const char *text)
{
    while (*text) {
        int len = (int)strcspn(text, "\n");

        fprintf(out, "; %.*s\n", len, text);
        text += len + (text[len] == '\n');
    }
}

/* Each setting is a comment, so that a section which is added below sets it for the first time.
 * The section of a provider is a comment, too, because its name is the operator's choice. */
static void print_sample(FILE *out)
{
    const char *section = "";

    fprintf(out, "; Settings of Adit.  Each is a comment with its default.  To set one, remove\n"
                 "; the \"; \" in front of it, or add its section and the setting at the end.\n");
    for (size_t i = 0; i < conf_n_settings; i++) {
        if (strcmp(section, conf_settings[i].section) != 0)
            fprintf(out, "\n%s[%s]\n", conf_n_values(&conf_settings[i]) > 1 ? "; " : "",
                    conf_settings[i].section);
        else
            fprintf(out, "\n");
        section = conf_settings[i].section;
        print_comment(out, conf_settings[i].help);
        fprintf(out, "; %s = %s\n", conf_settings[i].key, conf_settings[i].standard);
    }
}

/* ---- the settings in effect ---- */

/* Prints the path on one line, whatever is in it. */
static void print_path(FILE *out, const char *path)
{
    for (; *path; path++)
        fputc((unsigned char)*path < ' ' || *path == 0x7F ? '?' : *path, out);
}

static void print_origin(FILE *out, const struct conf *conf, int line)
{
    fputs("; ", out);
    if (line > 0) {
        print_path(out, conf->path);
        fprintf(out, ":%d", line);
    } else {
        fputs("default", out);
    }
}

static bool print_value(FILE *out, const struct conf *conf, const struct conf_setting *setting,
                        size_t which)
{
    const char *value = conf_value(conf, setting, which);
    char *shown = setting->secrecy == CONF_WITHOUT_PASSWORD ? pg_conninfo_without_password(value)
                                                            : strdup(value);
    bool hides = shown && strcmp(shown, value) != 0;

    print_origin(out, conf, conf->lines[setting - conf_settings][which]);
    fprintf(out, "%s\n%s =", hides ? "; the password is not shown" : "", setting->key);
    if (shown && shown[0])
        fprintf(out, "%s%s", shown[0] == ';' ? "" : " ", shown); /* " ;" begins a comment */
    fputs("\n", out);
    free(shown);
    return shown != NULL;
}

/* Prints a section: the settings from first to before end.  which: of the providers'. */
static bool print_section(FILE *out, const struct conf *conf, const struct conf_setting *first,
                          const struct conf_setting *end, size_t which)
{
    bool ok = true;

    if (conf_n_values(first) > 1)
        fprintf(out, "\n[" CONF_PROVIDER_PREFIX "%s]\n", conf->provider_names[which]);
    else
        fprintf(out, "\n[%s]\n", first->section);
    for (; first < end; first++)
        ok = print_value(out, conf, first, which) && ok;
    return ok;
}

static bool print_effective(FILE *out, const struct conf *conf)
{
    const struct conf_setting *end = conf_settings;
    bool ok = true;

    fputs("; Settings of Adit that are in effect.  The file: ", out);
    print_path(out, conf->path ? conf->path : "none");
    fputs("\n", out);
    while (end < conf_settings + conf_n_settings) {
        const struct conf_setting *first = end;

        while (end < conf_settings + conf_n_settings && strcmp(end->section, first->section) == 0)
            end++;
        for (size_t which = 0; which < conf_n_values(first); which++)
            ok = print_section(out, conf, first, end, which) && ok;
    }
    return ok;
}

static bool read_and_print(FILE *out, const char *path, char reason[CONF_REASON_SIZE])
{
    struct conf conf;
    bool ok = conf_read(&conf, path, reason);

    if (ok && !print_effective(out, &conf)) {
        snprintf(reason, CONF_REASON_SIZE, "out of memory");
        ok = false;
    }
    conf_free(&conf);
    return ok;
}

bool conf_print(FILE *out, const char *path, bool is_effective, char reason[CONF_REASON_SIZE])
{
    if (!is_effective)
        print_sample(out);
    else if (!read_and_print(out, path, reason))
        return false;
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return true;
    snprintf(reason, CONF_REASON_SIZE, "cannot write to standard output%s%s", errno ? ": " : "",
             errno ? strerror(errno) : "");
    return false;
}

int conf_print_asked(const char *program, const struct conf_print *asked, const char *path)
{
    char reason[CONF_REASON_SIZE];

    if (!asked->is_asked && !asked->is_effective)
        return -1;
    if (!asked->is_asked) {
        fprintf(stderr, "%s: --effective needs --print-settings\n", program);
        return EXIT_MISUSE;
    }
    if (conf_print(stdout, path, asked->is_effective, reason))
        return EXIT_SUCCESS;
    fprintf(stderr, "%s: %s\n", program, reason);
    return EXIT_FAILURE;
}
