/* SPDX-License-Identifier: MIT */
/* Fuzz target: the settings file.  The input is its content. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "conf/conf.h"
#include "conf/print.h"
#include "fuzz.h"
#include "http/names.h"
#include "json/check.h"

#define MAX_SIZE 16384

/* Bytes of the longest line that conf/parse.c reads. */
#define LINE_MAX_BYTES 8000

/* The password in the corpus and the dictionary. */
#define SECRET "hunter2"

static const char *const levels[] = {"error", "warning", "info", "debug"};
static const char *const targets[] = {"stderr", "syslog"};

/* Makes a file in memory of the content.  Returns its descriptor. */
static int make_file(const char *content, size_t size, char path[64])
{
    int fd = memfd_create("adit.conf", MFD_CLOEXEC);

    MUST(fd >= 0 && write(fd, content, size) == (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static bool read_settings(const char *content, size_t size, struct conf *conf, char *reason)
{
    char path[64];
    int fd = make_file(content, size, path);
    bool ok = conf_read(conf, path, reason);

    close(fd);
    return ok;
}

static void look_at_providers(const struct conf *conf)
{
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++) {
        MUST(oauth_provider_name_valid(text_of(conf->provider_names[i])));
        for (size_t j = 0; j < i; j++)
            MUST(strcmp(conf->provider_names[i], conf->provider_names[j]) != 0);
    }
}

static void look_at_conf(const struct conf *conf)
{
    const char *url = conf->base_url;
    struct buf body = {0};
    struct error err;

    MUST(conf->path && conf->conninfo && conf->admin_conninfo && conf->key_file);
    MUST(names_valid(text_of(conf->service_name)));
    look_at_providers(conf);
    MUST(conf->log.level <= LOG_LEVEL_DEBUG && conf->log.target <= LOG_TARGET_SYSLOG);
    MUST(!*url || strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0);
    MUST(!*url || url[strlen(url) - 1] != '/');
    /* Answers quote the URL unescaped. */
    buf_printf(&body, "{\"uri\":\"%s\"}", url);
    MUST(!body.failed && json_check(body.data, body.len, &err));
    buf_free(&body);
}

/* Writes the settings as a file. */
static void write_settings(struct buf *out, const struct conf *conf)
{
    buf_printf(out, "[service]\nname = %s\nproviders =", conf->service_name);
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        buf_printf(out, " %s", conf->provider_names[i]);
    buf_printf(out, "\nbase_url = %s\n[log]\nlevel = %s\ntarget = %s\n", conf->base_url,
               levels[conf->log.level], targets[conf->log.target]);
    MUST(!out->failed);
}

static void read_again(const struct conf *conf)
{
    char reason[CONF_REASON_SIZE];
    struct buf file = {0};
    struct conf again;

    write_settings(&file, conf);
    MUST(read_settings(file.data, file.len, &again, reason));
    MUST(strcmp(again.service_name, conf->service_name) == 0);
    MUST(strcmp(again.base_url, conf->base_url) == 0);
    for (size_t i = 0; i < OAUTH_N_PROVIDERS; i++)
        MUST(strcmp(again.provider_names[i], conf->provider_names[i]) == 0);
    MUST(again.log.level == conf->log.level && again.log.target == conf->log.target);
    conf_free(&again);
    buf_free(&file);
}

/* Writes the settings of a file as --print-settings --effective does. */
static void print_settings(struct buf *out, const char *content, size_t size)
{
    char reason[CONF_REASON_SIZE] = "";
    char path[64];
    int fd = make_file(content, size, path);
    FILE *stream = open_memstream(&out->data, &out->len);

    MUST(stream && conf_print(stream, path, true, reason));
    fclose(stream);
    close(fd);
}

/* Removes comments, which are lines, and returns the length of the longest line. */
static size_t remove_comments(struct buf *file)
{
    size_t longest = 0;
    size_t len = 0;

    for (char *line = file->data, *end; line < file->data + file->len; line = end) {
        end = (char *)memchr(line, '\n', (size_t)(file->data + file->len - line)) + 1;
        longest = longest < (size_t)(end - line) ? (size_t)(end - line) : longest;
        if (line[0] == ';')
            continue;
        memmove(file->data + len, line, (size_t)(end - line));
        len += (size_t)(end - line);
    }
    file->len = len;
    return longest;
}

/* What is printed reads as the same settings, unless a path that has become absolute or the escapes
 * of a conninfo make a line too long. */
static void print_again(const char *content, size_t size)
{
    struct buf once = {0};
    struct buf twice = {0};

    print_settings(&once, content, size);
    if (remove_comments(&once) <= LINE_MAX_BYTES) {
        print_settings(&twice, once.data, once.len);
        remove_comments(&twice);
        MUST(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    }
    free(once.data);
    free(twice.data);
}

/* Returns whether the secret is in the name of a section or a key, which messages may quote. */
static bool names_the_secret(const char *content, size_t size)
{
    while (size > 0) {
        const char *end = memchr(content, '\n', size);
        size_t len = end ? (size_t)(end - content) : size;
        size_t key_len = 0;

        if (len > 0 && memchr(content, '[', len))
            key_len = len;
        while (key_len < len && content[key_len] != '=' && content[key_len] != ':')
            key_len++;
        if (memmem(content, key_len, SECRET, strlen(SECRET)))
            return true;
        content += end ? len + 1 : len;
        size -= end ? len + 1 : len;
    }
    return false;
}

/* The reason is one plain line, and does not quote the secret. */
static void look_at_reason(const char *reason, const char *content, size_t size)
{
    MUST(memchr(reason, '\0', CONF_REASON_SIZE) && reason[0]);
    MUST(is_plain(text_of(reason)) && utf8_valid(reason, strlen(reason)));
    MUST(strncmp(reason, "/proc/self/fd/", 14) == 0);
    MUST(!strstr(reason, SECRET) || names_the_secret(content, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char reason[CONF_REASON_SIZE];
    struct conf conf;

    if (size > MAX_SIZE)
        return 0;
    memset(reason, 'x', sizeof reason);
    if (read_settings((const char *)data, size, &conf, reason)) {
        look_at_conf(&conf);
        read_again(&conf);
        print_again((const char *)data, size);
        accepted();
    } else {
        look_at_reason(reason, (const char *)data, size);
    }
    conf_free(&conf);
    return 0;
}
